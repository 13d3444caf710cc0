//! What an agent did, line by line: its seed, the frames it received or missed, the values it
//! measured, its uploads.
//!
//! Everything else follows from these and the terms, so that a replay of the journal
//! ([`crate::agent::replay`]) makes the same queries and the same uploads. A line is the digest of
//! all lines so far, 64 hexadecimal digits, a blank, and a step in JSON:
//!
//! **Equation**: d₀ = 0, dᵢ = SHA-256(dᵢ₋₁ ‖ step i).
//!
//! Lines are appended and synced before the agent's state, which says how many of them count
//! ([`Mark`]): lines beyond these, left by a crash, were never acted upon and are overwritten. A
//! line that was changed, left out or cut off is refused by its number. The digests contain no key:
//! anyone who can write to the folder can write another journal, and another state beside it, but
//! cannot make frames that continue the federation's history.
//!
//! A journal holds what its agent must not show: observations, and the seed of its draws. Only its
//! owner may read it (0600). It is about twice as long as all broadcasts together.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::random::RunSeed;
use sordino_host::files::{FileError, open_regular, sync_folder};

use sordino_host::hex::{from_hex, hex};

use crate::identity::io_at;

/// A line is read up to this length: a frame of 64 regions of 2¹⁴ numbers, in hexadecimal digits.
const LINE_BYTES_MAX: u64 = 2 * (64 << 17) + (1 << 12);

/// The digits of a digest, and the blank after them.
const PREFIX: usize = 65;

/// One step of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// It began, under these terms.
    Begin {
        /// The digest of the agreement.
        agreement: String,
        /// Index of the agent.
        agent: u32,
        /// The seed of its own draws.
        seed: RunSeed,
    },
    /// It heard a frame.
    Frame {
        /// The round of the frame.
        round: u32,
        /// Whether the round was over already.
        missed: bool,
        /// The bytes of the frame, in hexadecimal digits.
        bytes: String,
    },
    /// It measured a value.
    Value {
        /// How many observations were made before.
        number: u32,
        /// Index of the candidate.
        candidate: u32,
        /// What was measured, rounded to the scalar of the federation.
        value: f64,
    },
    /// It gave an upload: written before it was sent, once for each round, however often it was
    /// sent.
    Upload {
        /// The round it belongs to.
        round: u32,
        /// SHA-256 of its numbers, little-endian.
        sha256: String,
    },
}

/// How much of a journal counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its length in bytes.
    pub bytes: u64,
    /// The number of its lines.
    pub lines: u32,
    /// The digest of them.
    pub digest: Digest,
}

impl Mark {
    /// With one more step.
    fn after(&self, step: &[u8]) -> Mark {
        let mut hash = Sha256::new();
        hash.update(self.digest.0);
        hash.update(step);
        let bytes = self.bytes + (PREFIX + step.len() + 1) as u64;
        Mark {
            bytes,
            lines: self.lines + 1,
            digest: Digest(hash.finalize().into()),
        }
    }
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line that cannot be read.
    #[error("{}: line {line}: {what}", path.display())]
    Line {
        /// Path of the journal.
        path: PathBuf,
        /// Its number, from 1.
        line: u32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is further ahead of the agent's state than a crash can leave it.
    #[error(
        "{}: {rounds} rounds stand behind those that agent.bin knows of: it is an older copy, and would contribute to them \
         uncounted; restore both together",
        path.display()
    )]
    Ahead {
        /// Path of the journal.
        path: PathBuf,
        /// Rounds behind the lines that count.
        rounds: u32,
    },
    /// A step that cannot be read.
    #[error("{}: line {line}: {error}", path.display())]
    Step {
        /// Path of the journal.
        path: PathBuf,
        /// Its number, from 1.
        line: u32,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// It ends before the agent's state says.
    #[error("{}: ends after line {found}, {expected} lines are expected: it was cut off", path.display())]
    Short {
        /// Path of the journal.
        path: PathBuf,
        /// Lines that are there.
        found: u32,
        /// Lines that should be.
        expected: u32,
    },
    /// Its lines are not those beside which the agent's state was stored.
    #[error("{}: its {lines} lines are not those beside which the agent's state was stored", path.display())]
    Other {
        /// Path of the journal.
        path: PathBuf,
        /// Lines that were compared.
        lines: u32,
    },
    /// A step that cannot be written.
    #[error("{}: a step cannot be written: {error}", path.display())]
    Write {
        /// Path of the journal.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// What is in the file and counts.
    written: Mark,
    /// With what waits to be written.
    mark: Mark,
    waiting: Vec<u8>,
}

impl Journal {
    /// A journal whose first lines are those of `mark`. What follows them is overwritten, provided
    /// that it is no more than a crash between journal and file can leave: the steps of one round.
    ///
    /// **Errors**: [`JournalError`] unless these lines are there, unchanged;
    /// [`JournalError::Ahead`].
    pub fn resume(path: &Path, mark: Mark) -> Result<Self, JournalError> {
        if mark.lines > 0 {
            read(path, &mark, |_, _| Ok::<(), JournalError>(()))?;
            let rounds = frames_behind(path, mark)?;
            if rounds > 1 {
                return Err(JournalError::Ahead {
                    path: path.to_owned(),
                    rounds,
                });
            }
        }
        Ok(Journal {
            path: path.to_owned(),
            written: mark,
            mark,
            waiting: Vec::new(),
        })
    }

    /// How much of it counts, with what waits.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// Adds a step, to be written by [`Journal::flush`].
    ///
    /// **Errors**: [`JournalError::Write`].
    pub fn write(&mut self, step: &Step) -> Result<(), JournalError> {
        let text = serde_json::to_vec(step).map_err(|error| JournalError::Write {
            path: self.path.clone(),
            error,
        })?;
        self.mark = self.mark.after(&text);
        self.waiting
            .extend_from_slice(hex(&self.mark.digest.0).as_bytes());
        self.waiting.push(b' ');
        self.waiting.extend_from_slice(&text);
        self.waiting.push(b'\n');
        Ok(())
    }

    /// Writes what waits behind what was written, and makes it durable.
    fn append(&self) -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.path)?;
        file.set_len(self.written.bytes)?;
        file.seek(SeekFrom::Start(self.written.bytes))?;
        file.write_all(&self.waiting)?;
        file.sync_all()
    }

    /// Makes every waiting step durable.
    ///
    /// **Errors**: [`JournalError::File`]; they wait still, and no state may be stored that counts
    /// them.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let is_new = self.written.bytes == 0;
        self.append().map_err(io_at(&self.path))?;
        if is_new {
            sync_folder(&self.path)?;
        }
        self.written = self.mark;
        self.waiting.clear();
        Ok(())
    }
}

/// Reads the lines that count, in order, each with its number from 1; what follows them is ignored.
///
/// **Errors**: [`JournalError`], or what `each` says.
pub fn read<E: From<JournalError>>(
    path: &Path,
    until: &Mark,
    mut each: impl FnMut(u32, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let file: File =
        open_regular(path, OpenOptions::new().read(true)).map_err(JournalError::from)?;
    let mut reader = BufReader::new(file);
    let mut mark = Mark::default();
    let mut line = Vec::new();
    let wrong = |line, what| JournalError::Line {
        path: path.to_owned(),
        line,
        what,
    };
    while mark.lines < until.lines {
        let number = mark.lines + 1;
        line.clear();
        let mut bounded = reader.by_ref().take(LINE_BYTES_MAX);
        bounded
            .read_until(b'\n', &mut line)
            .map_err(|error| JournalError::from(io_at(path)(error)))?;
        if line.is_empty() {
            let found = mark.lines;
            let expected = until.lines;
            return Err(JournalError::Short {
                path: path.to_owned(),
                found,
                expected,
            }
            .into());
        }
        let whole = line
            .strip_suffix(b"\n")
            .ok_or_else(|| wrong(number, "too long, or cut off"))?;
        let parts = parts(whole);
        let (digest, step) = parts
            .ok_or_else(|| wrong(number, "no digest of 64 hexadecimal digits before a step"))?;
        mark = mark.after(step);
        if digest != mark.digest.0 {
            return Err(wrong(
                number,
                "does not continue the lines before it: it was changed, or one before it",
            )
            .into());
        }
        each(number, step)?;
    }
    if mark == *until {
        Ok(())
    } else {
        Err(JournalError::Other {
            path: path.to_owned(),
            lines: mark.lines,
        }
        .into())
    }
}

/// Digest and step of a line without its end.
fn parts(whole: &[u8]) -> Option<([u8; 32], &[u8])> {
    let (prefix, step) = whole.split_at_checked(PREFIX)?;
    let digest = std::str::from_utf8(prefix.strip_suffix(b" ")?)
        .ok()
        .and_then(from_hex)?;
    Some((digest, step))
}

/// Frames in the whole lines that continue those that count.
fn frames_behind(path: &Path, mut mark: Mark) -> Result<u32, JournalError> {
    let mut reader = BufReader::new(open_regular(path, OpenOptions::new().read(true))?);
    reader
        .seek(SeekFrom::Start(mark.bytes))
        .map_err(io_at(path))?;
    let mut frames = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        reader
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)
            .map_err(io_at(path))?;
        let Some((digest, step)) = line.strip_suffix(b"\n").and_then(parts) else {
            return Ok(frames);
        };
        mark = mark.after(step);
        if digest != mark.digest.0 {
            return Ok(frames);
        }
        frames += u32::from(matches!(
            serde_json::from_slice(step),
            Ok(Step::Frame { .. })
        ));
    }
}

/// A step as its line holds it.
///
/// **Errors**: [`JournalError::Step`].
pub fn parse(path: &Path, line: u32, step: &[u8]) -> Result<Step, JournalError> {
    serde_json::from_slice(step).map_err(|error| JournalError::Step {
        path: path.to_owned(),
        line,
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(number: u32) -> Step {
        Step::Value {
            number,
            candidate: 3,
            value: 0.1 + f64::from(number),
        }
    }

    fn steps(path: &Path, mark: &Mark) -> Result<Vec<Step>, JournalError> {
        let mut steps = Vec::new();
        read(path, mark, |line, step| {
            steps.push(parse(path, line, step)?);
            Ok::<(), JournalError>(())
        })?;
        Ok(steps)
    }

    #[test]
    fn a_death_leaves_what_counts_and_every_change_is_named() {
        let folder =
            std::env::temp_dir().join(format!("sordino-net-journal-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("agent.journal");
        let mut journal = Journal::resume(&path, Mark::default()).unwrap();
        for number in 0..3 {
            journal.write(&value(number)).unwrap();
        }
        journal.flush().unwrap();
        let three = journal.mark();
        // A line that no state counts, and half of another.
        journal.write(&value(9)).unwrap();
        journal.flush().unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        assert_eq!(
            steps(&path, &three).unwrap(),
            [value(0), value(1), value(2)]
        );
        let mut again = Journal::resume(&path, three).unwrap();
        again.write(&value(3)).unwrap();
        again.flush().unwrap();
        let mark = again.mark();
        assert_eq!(
            steps(&path, &mark).unwrap(),
            [value(0), value(1), value(2), value(3)]
        );
        // Every byte counts.
        let kept = std::fs::read(&path).unwrap();
        for at in 0..kept.len() {
            let mut changed = kept.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(Journal::resume(&path, mark).is_err(), "byte {at}");
        }
        for end in 0..kept.len() {
            std::fs::write(&path, &kept[..end]).unwrap();
            assert!(Journal::resume(&path, mark).is_err(), "{end} bytes");
        }
        // A line that is missing, by its number; another journal, whole in itself.
        let text = String::from_utf8(kept.clone()).unwrap();
        let without: Vec<&str> = text
            .lines()
            .enumerate()
            .filter(|(i, _)| *i != 1)
            .map(|(_, line)| line)
            .collect();
        std::fs::write(&path, without.join("\n") + "\n").unwrap();
        assert!(matches!(
            Journal::resume(&path, mark),
            Err(JournalError::Line { line: 2, .. })
        ));
        std::fs::remove_file(&path).unwrap();
        let mut other = Journal::resume(&path, Mark::default()).unwrap();
        (0..4).for_each(|_| other.write(&value(7)).unwrap());
        other.flush().unwrap();
        assert!(matches!(
            Journal::resume(&path, mark),
            Err(JournalError::Other { lines: 4, .. })
        ));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// The proof of later contributions was written over when an older agent.bin was restored
    /// beside it.
    #[test]
    fn a_journal_that_is_ahead_of_its_file_is_not_written_over() {
        let path =
            std::env::temp_dir().join(format!("sordino-net-ahead-{}.journal", std::process::id()));
        drop(std::fs::remove_file(&path));
        let frame = |round| Step::Frame {
            round,
            missed: false,
            bytes: String::new(),
        };
        let upload = |round| Step::Upload {
            round,
            sha256: String::new(),
        };
        let mut journal = Journal::resume(&path, Mark::default()).unwrap();
        let mut marks = Vec::new();
        for round in 0..3 {
            journal.write(&frame(round)).unwrap();
            journal.write(&upload(round)).unwrap();
            journal.flush().unwrap();
            marks.push(journal.mark());
        }
        let whole = std::fs::read(&path).unwrap();
        let ahead = Journal::resume(&path, marks[0]).unwrap_err();
        assert!(
            matches!(ahead, JournalError::Ahead { rounds: 2, .. }),
            "{ahead}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        // What a death between journal and file leaves, whole or torn, is written over.
        assert!(
            Journal::resume(&path, marks[1]).is_ok() && Journal::resume(&path, marks[2]).is_ok()
        );
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(Journal::resume(&path, marks[1]).is_ok());
        std::fs::remove_file(path).unwrap();
    }
}
