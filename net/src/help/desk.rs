//! What a helper does, behind its door: it takes terms once, keys of agents, and questions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sordino_core::federated::shares::{SecretKey, ShareError};
use sordino_core::privacy::NoiseSource;
use sordino_core::privacy::mechanism::gaussian::GaussianError;
use sordino_experiment::text::{significant, significant_up};
use sordino_host::files::{FileError, write_privately};
use sordino_host::ledger::{Deferred, LedgerError};
use sordino_host::server::Sources;
use sordino_host::shares::{Helper, HelperError, Keep, Question};
use sordino_host::signature::Fingerprint;

use super::gate::LedBy;
use crate::admission::Inadmissible;
use crate::shares::MaskKey;
use crate::terms::{Difference, TermsError};

/// An agent with the key of its masks, as the leader tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolling {
    /// Index of the agent.
    pub agent: u32,
    /// The public half of its key.
    pub key: MaskKey,
}

/// Why a helper refuses a request. Nothing left it, and nothing was charged.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// No terms were handed over yet.
    #[error("this helper has no terms yet")]
    NoTerms,
    /// The terms differ from those that it has.
    #[error("this helper has other terms ({difference}): it helps one federation")]
    OtherTerms {
        /// The first field that differs.
        difference: Difference,
    },
    /// Another server leads it.
    #[error("this helper has another leader: it helps one federation")]
    Led,
    /// The caller's certificate is that of another run's leader.
    #[error("the terms are those of run {run:016x}, and the certificate is {}", .caller)]
    OtherRun {
        /// The run of the terms.
        run: u64,
        /// Whom the certificate names.
        caller: LedBy,
    },
    /// The terms cannot be used.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// Nobody should agree to the terms.
    #[error(transparent)]
    Inadmissible(#[from] Inadmissible),
    /// The terms trust one server.
    #[error("the terms trust one server, which needs no helper")]
    OneServer,
    /// The releases cost more than the helper's owner admits.
    #[error("all releases cost ε = {} at δ = {}, and this helper was told to agree to at most ε = {most}",
        significant_up(*.epsilon, 4), significant(*.delta, 3))]
    Epsilon {
        /// ε of all releases.
        epsilon: f64,
        /// δ of the terms.
        delta: f64,
        /// The most that its owner admits.
        most: f64,
    },
    /// There is no mechanism for a release.
    #[error(transparent)]
    Mechanism(#[from] GaussianError),
    /// An agent with another key than before.
    #[error("agent {agent} has another key of its masks here: it stays as it was")]
    OtherKey {
        /// Index of the agent.
        agent: u32,
    },
    /// Two agents with one key.
    #[error(
        "agents {first} and {second} have one key of their masks: one of them would count twice"
    )]
    OneKey {
        /// The agent that had it first.
        first: u32,
        /// The agent that came with it again.
        second: u32,
    },
    /// Agents of a set that its owner shut out.
    #[error("shut out by this helper's owner: {agents:?}")]
    ShutOut {
        /// Indices of these agents.
        agents: Vec<u32>,
    },
    /// A key that agrees on no secret.
    #[error("agent {agent}: {error}")]
    Key {
        /// Index of the agent.
        agent: u32,
        /// What is wrong with it.
        #[source]
        error: ShareError,
    },
    /// The helper does not answer.
    #[error(transparent)]
    Helper(#[from] HelperError),
    /// Something could not be stored.
    #[error(transparent)]
    File(#[from] FileError),
    /// What it keeps or needs for these terms cannot be used.
    #[error("{0}")]
    Unusable(String),
}

impl Refused {
    /// Whether the helper must end: it does not know any more what is on its disk, or cannot write
    /// to it.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Refused::File(_) | Refused::Unusable(_) => true,
            Refused::Helper(error) => match error {
                HelperError::Broken
                | HelperError::File(_)
                | HelperError::Stored(_)
                | HelperError::OtherLedger { .. }
                | HelperError::Entropy(_) => true,
                HelperError::Ledger(error) => !matches!(error, LedgerError::OverBudget { .. }),
                _ => false,
            },
            _ => false,
        }
    }
}

/// What a door hands over; the caller is the leader.
pub trait Help: Send {
    /// Takes the terms, as they are published, from this caller, and says which key the helper's
    /// masks are made with. The same terms may come again.
    ///
    /// **Errors**: [`Refused`].
    fn begin(&mut self, terms: &[u8], caller: &LedBy) -> Result<MaskKey, Refused>;

    /// Takes note of the keys by which the leader recognises this helper.
    ///
    /// **Errors**: [`Refused::File`].
    fn knows(&mut self, pins: &[Fingerprint]) -> Result<(), Refused>;

    /// Takes the keys of agents: all of them or none.
    ///
    /// **Errors**: [`Refused`].
    fn enrol(&mut self, agents: &[Enrolling]) -> Result<(), Refused>;

    /// Answers a question, once.
    ///
    /// **Errors**: [`Refused`].
    fn answer(&mut self, question: &Question) -> Result<Vec<u8>, Refused>;
}

/// The helper of one run with the keys of its agents.
pub struct Desk<S, K> {
    secret: SecretKey,
    helper: Helper<S, K>,
    agents: u32,
    known: BTreeMap<u32, MaskKey>,
    /// Where the keys are kept; nowhere in a rehearsal.
    file: Option<PathBuf>,
}

impl<S: Sources, K: Keep> Desk<S, K>
where
    Deferred:
        sordino_core::privacy::Ledger<<S::Source as NoiseSource>::Provenance, Error = LedgerError>,
{
    /// A helper with this key, and the agents that it knows.
    ///
    /// **Errors**: [`Refused::Key`], [`Refused::OneKey`], for keys that were stored too.
    pub fn new(
        secret: SecretKey,
        helper: Helper<S, K>,
        agents: u32,
        known: BTreeMap<u32, MaskKey>,
        file: Option<PathBuf>,
    ) -> Result<Self, Refused> {
        let mut desk = Desk {
            secret,
            helper,
            agents,
            known: BTreeMap::new(),
            file,
        };
        let known: Vec<Enrolling> = known
            .into_iter()
            .map(|(agent, key)| Enrolling { agent, key })
            .collect();
        let fresh = desk.judged(&known)?;
        desk.take(fresh)?;
        Ok(desk)
    }

    /// Those of these agents that are new.
    fn judged(&self, agents: &[Enrolling]) -> Result<BTreeMap<u32, MaskKey>, Refused> {
        let mut owners: BTreeMap<MaskKey, u32> = self
            .known
            .iter()
            .map(|(agent, key)| (*key, *agent))
            .collect();
        let mut fresh = BTreeMap::new();
        for Enrolling { agent, key } in agents {
            if *agent >= self.agents {
                return Err(HelperError::Unknown { agent: *agent }.into());
            }
            if self
                .known
                .get(agent)
                .or(fresh.get(agent))
                .is_some_and(|known| known != key)
            {
                return Err(Refused::OtherKey { agent: *agent });
            }
            let owner = *owners.entry(*key).or_insert(*agent);
            if owner != *agent {
                return Err(Refused::OneKey {
                    first: owner,
                    second: *agent,
                });
            }
            if !self.known.contains_key(agent) {
                fresh.insert(*agent, *key);
            }
        }
        Ok(fresh)
    }

    fn take(&mut self, fresh: BTreeMap<u32, MaskKey>) -> Result<(), Refused> {
        for (agent, key) in fresh {
            let common = self
                .secret
                .with_agent(&key.public())
                .map_err(|error| Refused::Key { agent, error })?;
            self.helper.enrol(agent, common)?;
            self.known.insert(agent, key);
        }
        Ok(())
    }

    /// The key of its masks.
    pub fn key(&self) -> MaskKey {
        self.secret.public_key().into()
    }

    /// Takes the keys of agents, stored before they are used.
    ///
    /// **Errors**: [`Refused`].
    pub fn enrol(&mut self, agents: &[Enrolling]) -> Result<(), Refused> {
        let fresh = self.judged(agents)?;
        if fresh.is_empty() {
            return Ok(());
        }
        for (agent, key) in &fresh {
            self.secret
                .with_agent(&key.public())
                .map_err(|error| Refused::Key {
                    agent: *agent,
                    error,
                })?;
        }
        if let Some(path) = &self.file {
            let all: BTreeMap<u32, MaskKey> = self
                .known
                .iter()
                .chain(&fresh)
                .map(|(agent, key)| (*agent, *key))
                .collect();
            let text =
                serde_json::to_vec(&all).map_err(|error| Refused::Unusable(error.to_string()))?;
            write_privately(path, &text)?;
        }
        self.take(fresh)
    }

    /// Answers a question, once.
    ///
    /// **Errors**: [`Refused::Helper`].
    pub fn answer(&mut self, question: &Question) -> Result<Vec<u8>, Refused> {
        Ok(self.helper.answer(question)?)
    }

    /// Answers given so far.
    pub fn answered(&self) -> u32 {
        self.helper.answered()
    }

    /// Its helper, to be read.
    pub fn helper(&self) -> &Helper<S, K> {
        &self.helper
    }
}
