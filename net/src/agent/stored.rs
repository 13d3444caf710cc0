//! What is stored of an agent: its file, beside the journal whose lines it counts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{AgentExchange, Agreement};
use sordino_core::math::{read_all_le, write_all_le};
use sordino_core::random::RunSeed;
use sordino_host::files::{read_bounded, write_privately};
use sordino_host::prior::PriorFile;

use super::{AgentEnd, HostAgent};
use crate::beside::beside;
use crate::folder::{PRIOR, TERMS};
use crate::journal::{Journal, Mark, Step};
use crate::party::{Number, Party};
use crate::progress::note;
use crate::stored;
use crate::terms::{Difference, TERMS_BYTES_MAX, Terms};

/// What the file is called in its first line.
const NAME: &str = "agent";
/// An agent's file is read up to this length.
const BYTES_MAX: u64 = 1 << 30;

/// The stored form, behind its version; the SHA-256 of both follows.
#[derive(Serialize, Deserialize)]
struct Stored<S> {
    terms: Digest,
    state: S,
    exchange: AgentExchange,
    log: Vec<u8>,
    given: Vec<u32>,
    journal: Mark,
}

/// In what an agent's file differs from who goes on with it. The terms that it was begun under lie
/// beside it.
fn differs(
    file: &Path,
    [begun, now]: [u32; 2],
    terms: &Digest,
    agreement: &Agreement,
) -> Option<Difference> {
    if begun != now {
        let [then, now] = [begun, now].map(|agent| agent.to_string());
        return Some(Difference {
            field: "agent".to_owned(),
            then,
            now,
        });
    }
    if *terms == agreement.digest() {
        return None;
    }
    let beside = read_bounded(&file.with_file_name(TERMS), TERMS_BYTES_MAX).ok();
    let begun = beside
        .and_then(|bytes| Terms::from_bytes(&bytes, None).ok())
        .map(|begun| begun.agreement);
    let known = begun
        .filter(|begun| begun.digest() == *terms)
        .and_then(|begun| Difference::of(&begun, agreement));
    // Without them their digest is all that is known.
    Some(known.unwrap_or_else(|| Difference::of_digests(terms, &agreement.digest())))
}

/// Whether the file of what all have learned is there: whatever happens to the server, it is not
/// lost. It is no part of what the agent needs, so the agent goes on where it cannot be written,
/// and tries again with its next step.
fn is_stored(learned: &PriorFile, path: &Path) -> bool {
    if PriorFile::load(path).is_ok_and(|there| there.digest() == learned.digest()) {
        return true;
    }
    let written = write_privately(path, &learned.to_bytes());
    written
        .inspect_err(|error| {
            note(&format!(
                "{error}: the file of what all have learned; it is tried again"
            ))
        })
        .is_ok()
}

impl<T: Number, P: Party<T>> HostAgent<T, P> {
    /// Goes on from this file, or begins it and its journal, `.journal` in place of the file's
    /// extension.
    ///
    /// The file is stored as soon as the journal has its first line: a journal with more lines and
    /// no file beside it is one that lost its file, and is not written over.
    pub(super) fn keep(&mut self, file: PathBuf, seed: RunSeed) -> Result<(), AgentEnd> {
        let path = file.with_extension("journal");
        match read_bounded(&file, BYTES_MAX) {
            Ok(bytes) => {
                let mark = self.restore(&file, &bytes)?;
                self.journal = Some(Journal::resume(&path, mark)?);
                self.file = Some(file);
                Ok(())
            }
            Err(error) if error.is_missing() => {
                match read_bounded(&path, BYTES_MAX) {
                    Ok(bytes) if bytes.iter().filter(|byte| **byte == b'\n').count() > 1 => {
                        return Err(AgentEnd::NotOurs {
                            what: "is missing, and its journal is there: restore both",
                        });
                    }
                    Err(error) if !error.is_missing() => return Err(error.into()),
                    _ => {}
                }
                let mut journal = Journal::resume(&path, Mark::default())?;
                let agreement = self.shared.agreement().digest().to_string();
                let agent = self.standing().agent;
                journal.write(&Step::Begin {
                    agreement,
                    agent,
                    seed,
                })?;
                (self.journal, self.file) = (Some(journal), Some(file));
                self.store()
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes over what a file holds.
    fn restore(&mut self, file: &Path, bytes: &[u8]) -> Result<Mark, AgentEnd> {
        let broken = AgentEnd::NotOurs {
            what: "does not decode, or was cut off",
        };
        let Some((body, sum)) = bytes
            .len()
            .checked_sub(32)
            .and_then(|at| bytes.split_at_checked(at))
        else {
            return Err(broken);
        };
        if Sha256::digest(body)[..] != *sum {
            return Err(broken);
        }
        let (body, _) = stored::content(NAME, body)?;
        let Ok((stored, [])) = postcard::take_from_bytes::<Stored<P::State>>(body) else {
            return Err(AgentEnd::NotOurs {
                what: "does not decode, or was cut off",
            });
        };
        let agreement = self.shared.agreement();
        let agent = self.standing().agent;
        let begun = P::standing(&stored.state).agent;
        if let Some(difference) = differs(file, [begun, agent], &stored.terms, agreement) {
            return Err(AgentEnd::OtherTerms {
                path: file.to_owned(),
                difference,
            });
        }
        if !stored.exchange.belongs_to(agreement, agent)
            || stored.log.len() > self.log.len() * T::BYTES
        {
            return Err(AgentEnd::NotOurs {
                what: "its parts do not belong together",
            });
        }
        for (x, known) in self.log.iter_mut().zip(read_all_le(&stored.log)) {
            *x = known;
        }
        (self.state, self.exchange, self.given) = (stored.state, stored.exchange, stored.given);
        self.learned_is_stored = false;
        Ok(stored.journal)
    }

    /// Makes everything durable that a restart needs: the journal first, then the file that counts
    /// its lines. What is durable already is not written again: a server that says nothing new
    /// costs no write.
    pub(super) fn store(&mut self) -> Result<(), AgentEnd> {
        let used = 2 * self.standing().observations as usize;
        let (Some(path), Some(journal)) = (&self.file, &mut self.journal) else {
            return Ok(());
        };
        let mut log = vec![0; used * T::BYTES];
        write_all_le(&self.log, &mut log);
        let terms = self.shared.agreement().digest();
        let state = self.state.clone();
        let exchange = self.exchange.clone();
        let stored = Stored {
            terms,
            state,
            exchange,
            log,
            given: self.given.clone(),
            journal: journal.mark(),
        };
        let body = postcard::to_allocvec(&stored).map_err(|_| AgentEnd::NotOurs {
            what: "cannot be written",
        })?;
        let mut bytes = stored::with_version(NAME, &body);
        let sum = Sha256::digest(&bytes);
        if self.learned_is_stored && self.stored == Some(sum.into()) {
            return Ok(());
        }
        bytes.extend_from_slice(&sum);
        let learned = if self.learned_is_stored {
            None
        } else {
            self.shared.learned(&self.state)?
        };
        self.learned_is_stored = beside(|| -> Result<bool, AgentEnd> {
            journal.flush()?;
            write_privately(path, &bytes)?;
            Ok(learned.is_none_or(|learned| is_stored(&learned, &path.with_file_name(PRIOR))))
        })?;
        self.stored = Some(sum.into());
        Ok(())
    }

    /// The journal of an agent that has a file: how much of it counts.
    pub(super) fn journal_mark(&self) -> Option<Mark> {
        self.journal.as_ref().map(Journal::mark)
    }
}
