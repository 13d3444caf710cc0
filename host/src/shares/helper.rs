//! The helper's side: it answers once for a run and an epoch, and says its last answer again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::shares::{HelperKey, HelperRelease, Modulus, ShareError};
use sordino_core::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
use sordino_core::privacy::{Event, Ledger as _, NoiseSource};

use super::collection::{Collection, Question};
use crate::entropy::NoEntropy;
use crate::files::{FileError, write_privately};
use crate::ledger::{Budgeted, Deferred, Ledger, LedgerError, Mark, Planned};
use crate::server::Sources;

/// What a helper agreed on: public numbers, its own copy of them. No number of a question is
/// believed.
#[derive(Clone, Debug, PartialEq)]
pub struct HelperPlan {
    run: Digest,
    agents: u32,
    numbers: usize,
    mechanisms: Vec<GridGaussian>,
}

impl HelperPlan {
    /// A plan of one release for each multiplier z_j.
    ///
    /// **Parameters**: `run` the digest of what all parties agreed on; `numbers` in a contribution.
    ///
    /// **Errors**: [`GaussianError`] as of [`GridGaussian::unsampled`].
    pub fn new(
        run: Digest,
        agents: u32,
        numbers: usize,
        grid_exponent: u32,
        noise_multipliers: &[f64],
    ) -> Result<Self, GaussianError> {
        let made = noise_multipliers
            .iter()
            .map(|z| GridGaussian::unsampled(grid_exponent, *z, agents));
        Ok(HelperPlan {
            run,
            agents,
            numbers,
            mechanisms: made.collect::<Result<_, _>>()?,
        })
    }

    /// The modulus of an epoch's shares; nothing beyond the last.
    pub fn modulus(&self, epoch: u32) -> Option<Modulus> {
        self.mechanisms
            .get(epoch as usize)
            .map(|mechanism| Modulus::fitting(mechanism, self.agents))
    }

    /// Before the first share of an epoch; nothing beyond the last.
    pub fn collection(&self, epoch: u32) -> Option<Collection> {
        let modulus = self.modulus(epoch)?;
        Some(Collection::new(
            self.run,
            epoch,
            self.agents,
            self.numbers,
            modulus,
        ))
    }

    /// What each answer costs.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.mechanisms.iter().map(GridGaussian::event)
    }
}

/// Why a helper does not answer. Nothing left it then.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The question is about another run, or an epoch that the plan does not have.
    #[error("epoch {epoch} of another run, or beyond the plan")]
    OtherRun {
        /// Epoch asked for.
        epoch: u32,
    },
    /// The epoch was answered for another set.
    #[error("epoch {epoch} was answered for another set; it is answered once")]
    OtherSet {
        /// Epoch asked for.
        epoch: u32,
    },
    /// An epoch before one that was answered, or not the next: releases are made in their order.
    #[error("epoch {epoch} is asked for, the next is {next}")]
    OutOfOrder {
        /// Epoch asked for.
        epoch: u32,
        /// The first that was not answered.
        next: u32,
    },
    /// An agent that has no key here.
    #[error("agent {agent} is not enrolled with this helper")]
    Unknown {
        /// Index of the agent.
        agent: u32,
    },
    /// A set that names an agent twice, or something else that shares do not allow.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The ledger refused: the budget, or the disk.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The system gave no seed.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// What was answered could not be stored.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is stored cannot be read.
    #[error("what this helper stored cannot be read: {0}")]
    Stored(#[from] serde_json::Error),
    /// The stored answers are not those that the ledger charges.
    #[error(
        "{answers} stored answers, {charges} charges in the ledger: one of them was exchanged, edited or set back"
    )]
    OtherLedger {
        /// Answers that are stored.
        answers: u64,
        /// Charges that the ledger holds.
        charges: u64,
    },
    /// An earlier answer could not be stored; the helper must be opened again.
    #[error("an earlier answer could not be stored: the helper must be opened again")]
    Broken,
}

/// Where a helper keeps what it answered.
pub trait Keep {
    /// Stores it whole or not at all. An `Ok` is a promise: a helper that is opened again begins
    /// with these bytes.
    ///
    /// **Errors**: [`FileError`]; the helper sends nothing then.
    fn keep(&mut self, stored: &[u8]) -> Result<(), FileError>;
}

/// A file that is replaced atomically, for its owner alone.
#[derive(Clone, Debug)]
pub struct Kept(pub PathBuf);

impl Keep for Kept {
    fn keep(&mut self, stored: &[u8]) -> Result<(), FileError> {
        write_privately(&self.0, stored)
    }
}

/// An answer as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    question: Digest,
    bytes: Vec<u8>,
}

/// What a helper stores, in one step.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    run: Digest,
    /// Answer e is that of epoch e.
    answers: Vec<Answer>,
    mark: Mark,
    planned: Option<Planned>,
}

/// What a helper stored, as far as anybody may read it without its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The run, by the digest of what its parties agreed on.
    pub run: Digest,
    /// Digests of the questions that were answered; the first is that of epoch 0.
    pub questions: Vec<Digest>,
    /// The charge of the last answer, which the ledger may not hold yet.
    pub planned: Option<Planned>,
}

impl Answered {
    /// Reads what [`Keep`] was given.
    ///
    /// **Errors**: [`HelperError::Stored`].
    pub fn read(stored: &[u8]) -> Result<Self, HelperError> {
        let Stored {
            run,
            answers,
            planned,
            ..
        } = serde_json::from_slice(stored)?;
        Ok(Answered {
            run,
            questions: answers.into_iter().map(|answer| answer.question).collect(),
            planned,
        })
    }
}

/// The helper of one run: plan, keys, sources, ledger, and what it answered.
pub struct Helper<S, K> {
    plan: HelperPlan,
    keys: Vec<Option<HelperKey>>,
    answers: Vec<Answer>,
    sources: S,
    ledger: Deferred,
    keep: K,
    broken: bool,
}

impl<S: Sources, K: Keep> Helper<S, K>
where
    Deferred:
        sordino_core::privacy::Ledger<<S::Source as NoiseSource>::Provenance, Error = LedgerError>,
{
    /// A helper that never answered, or as it stored itself.
    ///
    /// **Parameters**: `keys`, one for each agent that is enrolled.
    ///
    /// **Errors**: [`HelperError::Stored`], [`HelperError::OtherRun`]; [`HelperError::OtherLedger`]
    /// unless the ledger holds a charge for each stored answer and no other; those of the ledger.
    pub fn open(
        plan: HelperPlan,
        keys: Vec<Option<HelperKey>>,
        sources: S,
        ledger: Ledger,
        keep: K,
        stored: Option<&[u8]>,
    ) -> Result<Self, HelperError> {
        let stored: Option<Stored> = stored.map(serde_json::from_slice).transpose()?;
        let planned = stored.as_ref().and_then(|stored| stored.planned.as_ref());
        let ledger = Deferred::new(ledger, planned)?;
        let charges = ledger.mark().charges();
        let answers = match stored {
            None => Vec::new(),
            Some(stored) if stored.run != plan.run => {
                return Err(HelperError::OtherRun { epoch: 0 });
            }
            Some(stored) if !ledger.holds(&stored.mark)? => {
                return Err(HelperError::OtherLedger {
                    answers: stored.answers.len() as u64,
                    charges,
                });
            }
            Some(stored) => stored.answers,
        };
        if answers.len() as u64 != charges {
            return Err(HelperError::OtherLedger {
                answers: answers.len() as u64,
                charges,
            });
        }
        Ok(Helper {
            plan,
            keys,
            answers,
            sources,
            ledger,
            keep,
            broken: false,
        })
    }

    /// Makes the key of an agent known that was not enrolled when this helper was opened; of one
    /// that was, the key stays.
    ///
    /// **Parameters**: `key` made of a public key that no other agent has ([`Helper`] sees no
    /// public keys, so the caller compares them).
    ///
    /// **Privacy**: two agents with one public key have one mask, so a leader that enrolled one
    /// agent's key a second time would see that agent's contribution at twice the norm that is
    /// charged.
    ///
    /// **Errors**: [`HelperError::Unknown`] for an agent that the plan does not have.
    pub fn enrol(&mut self, agent: u32, key: HelperKey) -> Result<(), HelperError> {
        if agent >= self.plan.agents {
            return Err(HelperError::Unknown { agent });
        }
        let at = agent as usize;
        if self.keys.len() <= at {
            self.keys.resize_with(at + 1, || None);
        }
        if let Some(place) = self.keys.get_mut(at).filter(|place| place.is_none()) {
            *place = Some(key);
        }
        Ok(())
    }

    /// The answer to a question: of the last epoch the one that was given before, of the next a new
    /// one that is charged and stored before it is returned.
    ///
    /// **Errors**: [`HelperError`]; a refusal of a question, or by the budget, charges nothing.
    pub fn answer(&mut self, question: &Question) -> Result<Vec<u8>, HelperError> {
        if self.broken {
            return Err(HelperError::Broken);
        }
        let epoch = question.epoch;
        let digest = question.digest();
        if question.run != self.plan.run || epoch as usize >= self.plan.mechanisms.len() {
            return Err(HelperError::OtherRun { epoch });
        }
        let next = self.answers.len() as u32;
        // A leader that goes on asks the last epoch again, or the next. One before them is asked by
        // an older copy of its folder, which would add other noise to the same sum.
        if epoch.saturating_add(1) < next {
            return Err(HelperError::OutOfOrder { epoch, next });
        }
        if let Some(answer) = self.answers.get(epoch as usize) {
            let same = answer.question == digest;
            return if same {
                Ok(answer.bytes.clone())
            } else {
                Err(HelperError::OtherSet { epoch })
            };
        }
        if next != epoch {
            return Err(HelperError::OutOfOrder { epoch, next });
        }
        let bytes = self.release(question)?;
        self.answers.push(Answer {
            question: digest,
            bytes: bytes.clone(),
        });
        // Until it is stored, nobody knows whether it was.
        self.broken = true;
        self.keep.keep(&self.stored()?)?;
        self.ledger.sync()?;
        self.broken = false;
        Ok(bytes)
    }

    /// Sums the masks, plans the charge, draws the noise. Nothing of it is known to anybody yet.
    fn release(&mut self, question: &Question) -> Result<Vec<u8>, HelperError> {
        let epoch = question.epoch;
        let release = self.answers.len() as u64;
        let beyond = HelperError::OtherRun { epoch };
        let (mechanism, modulus) = match (
            self.plan.mechanisms.get(epoch as usize),
            self.plan.modulus(epoch),
        ) {
            (Some(mechanism), Some(modulus)) => (*mechanism, modulus),
            _ => return Err(beyond),
        };
        self.ledger.admits_release(release, &[mechanism.event()])?;
        self.sources.renew()?;
        let mut sums = vec![0; self.plan.numbers];
        let mut noise = vec![0; self.plan.numbers];
        let source = self.sources.of_broadcast(epoch);
        let run = self.plan.run;
        let mut open = HelperRelease::open(
            mechanism, run, epoch, modulus, source, &mut sums, &mut noise,
        )?;
        for contributor in &question.set {
            let agent = contributor.agent;
            let key = self
                .keys
                .get(agent as usize)
                .and_then(Option::as_ref)
                .ok_or(HelperError::Unknown { agent })?;
            open.add(*contributor, key)?;
        }
        let (charge, charged) = open.close(release);
        let receipt = self.ledger.append(charge)?;
        let mut bytes = vec![0; modulus.share_len(self.plan.numbers)];
        // A failure from here on leaves a planned charge that was never stored, beside an answer
        // that nobody saw.
        self.broken = true;
        charged.answer(receipt, source, &mut bytes)?;
        self.broken = false;
        Ok(bytes)
    }

    fn stored(&self) -> Result<Vec<u8>, HelperError> {
        let planned = self.ledger.planned().cloned();
        let stored = Stored {
            run: self.plan.run,
            answers: self.answers.clone(),
            mark: self.ledger.mark(),
            planned,
        };
        Ok(serde_json::to_vec(&stored)?)
    }

    /// Answers given so far, each charged once.
    pub fn answered(&self) -> u32 {
        self.answers.len() as u32
    }

    /// Its ledger, to be read.
    pub fn ledger(&self) -> &Ledger {
        self.ledger.ledger()
    }
}
