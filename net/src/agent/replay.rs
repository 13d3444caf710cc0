//! A journal replayed: the same frames in, the same queries and uploads out.
//!
//! Terms, seed, frames and values come from the folder; every query and every upload is computed
//! again and compared, as is the agent's file at the end. The first line that differs is named.
//! Nothing is written.

use std::path::{Path, PathBuf};

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Seal;
use sordino_core::random::RunSeed;
use sordino_host::files::{FileError, read_bounded};

use super::{AgentEnd, HostAgent, digest_of};
use crate::folder::TERMS;
use crate::identity::io_at;
use crate::journal::{JournalError, Step, parse, read};
use crate::party::{Number, Party, Served, dispatch};
use crate::terms::{TERMS_BYTES_MAX, Terms, TermsError};
use sordino_host::hex::bytes_of;

/// The file of an agent in its folder.
pub const AGENT: &str = "agent.bin";

/// Why a folder does not replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The terms cannot be used.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The agent's file.
    #[error("{}: {error}", path.display())]
    Agent {
        /// Path of the folder.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: Box<AgentEnd>,
    },
    /// A step that the agent refuses.
    #[error("{}: line {line}: {error}", path.display())]
    Refused {
        /// Path of the journal.
        path: PathBuf,
        /// Its number, from 1.
        line: u32,
        /// What the agent says.
        #[source]
        error: Box<AgentEnd>,
    },
    /// A step that the agent does not make.
    #[error("{}: line {line}: the journal has {found}, the replay {expected}", path.display())]
    Differs {
        /// Path of the journal.
        path: PathBuf,
        /// Its number, from 1.
        line: u32,
        /// What the line says.
        found: String,
        /// What came out instead.
        expected: String,
    },
    /// The journal does not lead to what the agent's file holds.
    #[error("{}: {what} is not what the journal leads to", path.display())]
    Elsewhere {
        /// Path of the agent's file.
        path: PathBuf,
        /// What differs, in words.
        what: &'static str,
    },
}

/// What was replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Index of the agent.
    pub agent: u32,
    /// Lines of the journal.
    pub lines: u32,
    /// Number of frames that it received.
    pub frames: u32,
    /// How many of these were of rounds that it missed.
    pub missed: u32,
    /// Queries that came out again.
    pub queries: u32,
    /// Uploads that came out again.
    pub uploads: u32,
    /// The digest of all frames.
    pub chain: Digest,
}

/// Replays the folder of an agent.
///
/// **Errors**: [`ReplayError`], which names the line or the file.
pub fn replay(folder: &Path) -> Result<Replayed, ReplayError> {
    let terms = Terms::from_bytes(&read_bounded(&folder.join(TERMS), TERMS_BYTES_MAX)?, None)?;
    dispatch!(terms.agreement, replay_in(folder, &terms))
}
/// The refusal of a journal that leads elsewhere than the agent's file.
fn elsewhere<R>(file: &Path, what: &'static str) -> Result<R, ReplayError> {
    Err(ReplayError::Elsewhere {
        path: file.to_owned(),
        what,
    })
}

fn replay_in<T: Number, P: Served<T>>(
    folder: &Path,
    terms: &Terms,
) -> Result<Replayed, ReplayError> {
    let file = folder.join(AGENT);
    let shared = P::new(terms)?;
    // Missing it would be begun.
    read_bounded(&file, 1 << 30)?;
    let journal = file.with_extension("journal");
    let mut replayed: Option<(HostAgent<T, P>, Replayed)> = None;
    let agent = first_agent(&journal)?;
    let unused = RunSeed::new(0, 0);
    let known = HostAgent::open(&shared, agent, unused, Some(file.clone()));
    let known = known.map_err(|error| ReplayError::Agent {
        path: folder.to_owned(),
        error: Box::new(error),
    })?;
    let mark = known.journal_mark().unwrap_or_default();
    read(&journal, &mark, |line, bytes| {
        let step = parse(&journal, line, bytes)?;
        let place = Line {
            path: &journal,
            line,
        };
        match (&mut replayed, step) {
            (
                None,
                Step::Begin {
                    agreement,
                    agent,
                    seed,
                },
            ) => {
                let ours = shared.agreement().digest().to_string();
                place.same("an agent under", agreement, ours)?;
                let mut machine =
                    HostAgent::open(&shared, agent, seed, None).map_err(place.refused())?;
                // The journal says how many there were.
                machine.evaluate(u32::MAX).map_err(place.refused())?;
                let chain = machine.exchange().have().chain;
                let counts = Replayed {
                    agent,
                    lines: 0,
                    frames: 0,
                    missed: 0,
                    queries: 0,
                    uploads: 0,
                    chain,
                };
                replayed = Some((machine, counts));
                Ok(())
            }
            (Some((machine, counts)), step) => machine.again(&place, step, counts),
            (None, _) => Err(place.differs("a step", "the beginning".into())),
        }
    })?;
    let Some((machine, counts)) = replayed else {
        return elsewhere(&file, "a journal without a line");
    };
    let have = machine.exchange.have();
    let stored = known.exchange.have();
    let used = 2 * machine.standing().observations as usize;
    if machine.state != known.state {
        elsewhere(&file, "its state")
    } else if machine.bits(used) != known.bits(used) {
        elsewhere(&file, "a value that was measured")
    } else if machine.given != known.given {
        elsewhere(&file, "the list of rounds that it gave an upload to")
    } else if (have.frames, have.chain) != (stored.frames, stored.chain) {
        elsewhere(&file, "its history")
    } else {
        Ok(Replayed {
            lines: mark.lines,
            chain: have.chain,
            ..counts
        })
    }
}

/// Whose journal it is, as its first line says.
fn first_agent(journal: &Path) -> Result<u32, ReplayError> {
    let bytes = read_head(journal)?;
    let step = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .and_then(|line| line.get(65..))
        .unwrap_or_default();
    match parse(journal, 1, step)? {
        Step::Begin { agent, .. } => Ok(agent),
        _ => Err(Line {
            path: journal,
            line: 1,
        }
        .differs("a step", "the beginning".into())),
    }
}

/// The first bytes of a journal, among which is its first line.
fn read_head(journal: &Path) -> Result<Vec<u8>, ReplayError> {
    use std::io::Read;
    let file = sordino_host::files::open_regular(journal, std::fs::OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    let read = file.take(1 << 12).read_to_end(&mut bytes);
    read.map_err(io_at(journal))?;
    Ok(bytes)
}

/// A line of a journal, for messages.
struct Line<'a> {
    path: &'a Path,
    line: u32,
}

impl Line<'_> {
    fn differs(&self, found: impl Into<String>, expected: String) -> ReplayError {
        ReplayError::Differs {
            path: self.path.to_owned(),
            line: self.line,
            found: found.into(),
            expected,
        }
    }

    fn same(&self, what: &str, found: String, expected: String) -> Result<(), ReplayError> {
        if found == expected {
            Ok(())
        } else {
            Err(self.differs(format!("{what} {found}"), expected))
        }
    }

    fn refused(&self) -> impl FnOnce(AgentEnd) -> ReplayError {
        let path = self.path.to_owned();
        let line = self.line;
        move |error| ReplayError::Refused {
            path,
            line,
            error: Box::new(error),
        }
    }
}

impl<T: Number, P: Party<T>> HostAgent<T, P> {
    /// The bits of the first numbers of its log.
    fn bits(&self, count: usize) -> Vec<u64> {
        self.log
            .iter()
            .take(count)
            .map(|x| x.to_f64().to_bits())
            .collect()
    }

    /// One step again.
    fn again(
        &mut self,
        place: &Line<'_>,
        step: Step,
        counts: &mut Replayed,
    ) -> Result<(), ReplayError> {
        match step {
            Step::Begin { .. } => {
                Err(place.differs("a second beginning", "the steps of the first".into()))
            }
            Step::Frame {
                round,
                missed,
                bytes,
            } => {
                let bytes = bytes_of(&bytes)
                    .ok_or_else(|| place.differs("a frame", "hexadecimal digits".into()))?;
                let current = round.saturating_add(u32::from(missed));
                let expected = self.exchange.have().frames;
                place.same("a frame of round", round.to_string(), expected.to_string())?;
                let entered = self
                    .enter(&bytes, current, Seal::default())
                    .map_err(place.refused())?;
                if !entered || self.exchange.have().frames != expected + 1 {
                    return Err(place.differs(
                        format!("a frame of round {round}"),
                        "the frame of another round".into(),
                    ));
                }
                counts.frames += 1;
                counts.missed += u32::from(missed);
                Ok(())
            }
            Step::Value {
                number,
                candidate,
                value,
            } => {
                let query = self.query().map_err(place.refused())?;
                let expected = query.map_or("no query".into(), |query| {
                    format!("{} at {}", query.number, query.candidate)
                });
                place.same("value", format!("{number} at {candidate}"), expected)?;
                self.observed(T::from_f64(value)).map_err(place.refused())?;
                counts.queries += 1;
                Ok(())
            }
            Step::Upload { round, sha256 } => {
                let open = self.exchange.have().frames.saturating_sub(1);
                place.same("an upload of round", round.to_string(), open.to_string())?;
                let upload = self.upload().map_err(place.refused())?;
                place.same("an upload", sha256, digest_of(&upload))?;
                self.given.push(round);
                counts.uploads += 1;
                Ok(())
            }
        }
    }
}
