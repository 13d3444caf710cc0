//! The leader's side: shares of one epoch, the question that it asks, and what it opens.

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::shares::{Contributor, Modulus, Opened, ShareError, ShareSum};

/// What a leader asks its helper: the masks of which agents, of which attempts, for which epoch of
/// which run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The run, by the digest of what its parties agreed on.
    pub run: Digest,
    /// The epoch, which is the index of a release.
    pub epoch: u32,
    /// U: the agents whose shares were added up, increasing.
    pub set: Vec<Contributor>,
}

impl Question {
    /// What a helper remembers of it.
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

/// Why a share was not added.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum QuestionError {
    /// The agent is not enrolled.
    #[error("agent {agent} is not among the {agents} enrolled")]
    Unknown {
        /// Index of the agent.
        agent: u32,
        /// Number of agents N.
        agents: u32,
    },
    /// A second share of one agent; the first stands.
    #[error("agent {agent} already has a share in epoch {epoch}")]
    Duplicate {
        /// Index of the agent.
        agent: u32,
        /// The epoch that is collected.
        epoch: u32,
    },
    /// A share of the wrong length.
    #[error(transparent)]
    Share(#[from] ShareError),
}

/// The shares of one epoch as they come in: their sum, and whose they are. No share is kept.
///
/// **Cost**: 8 bytes for each agent that is enrolled; a share is added without a search or an
/// allocation.
pub struct Collection {
    run: Digest,
    epoch: u32,
    modulus: Modulus,
    words: Vec<u64>,
    /// The attempt of each agent's share, by its index.
    attempts: Vec<Option<u32>>,
    count: usize,
}

impl Collection {
    /// Before the first share of an epoch in which `agents` are enrolled and contribute `numbers`
    /// each.
    pub fn new(run: Digest, epoch: u32, agents: u32, numbers: usize, modulus: Modulus) -> Self {
        let attempts = vec![None; agents as usize];
        Collection {
            run,
            epoch,
            modulus,
            words: vec![0; numbers],
            attempts,
            count: 0,
        }
    }

    /// Adds an agent's share.
    ///
    /// **Errors**: [`QuestionError`]; nothing changed then.
    pub fn add(&mut self, agent: u32, attempt: u32, share: &[u8]) -> Result<(), QuestionError> {
        let epoch = self.epoch;
        let agents = self.attempts.len() as u32;
        let Some(place) = self.attempts.get_mut(agent as usize) else {
            return Err(QuestionError::Unknown { agent, agents });
        };
        if place.is_some() {
            return Err(QuestionError::Duplicate { agent, epoch });
        }
        ShareSum::new(&mut self.words, self.modulus).add(share)?;
        *place = Some(attempt);
        self.count += 1;
        Ok(())
    }

    /// Number of agents whose shares were added.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no share yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// No further shares: what is stored before the helper is asked.
    pub fn ask(self) -> Asked {
        let contributors = (0..)
            .zip(self.attempts)
            .filter_map(|(agent, attempt)| attempt.map(|attempt| Contributor { agent, attempt }));
        let question = Question {
            run: self.run,
            epoch: self.epoch,
            set: contributors.collect(),
        };
        Asked {
            question,
            modulus: self.modulus,
            words: self.words,
        }
    }
}

/// A question that was asked, or is about to be, with the sum of its shares. A leader stores it
/// before it asks, and asks the same again when it was restarted: the helper answers no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    question: Question,
    modulus: Modulus,
    words: Vec<u64>,
}

impl Asked {
    /// What the helper is asked.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Puts shares and answer together: for [`ServerHost::take`](crate::server::ServerHost::take).
    ///
    /// **Parameters**: `out` as long as a contribution.
    ///
    /// **Errors**: [`ShareError::Length`].
    pub fn open<'o>(&self, answer: &[u8], out: &'o mut [i64]) -> Result<Opened<'o>, ShareError> {
        let mut words = self.words.clone();
        let sum = ShareSum::new(&mut words, self.modulus);
        Opened::new(
            &sum,
            answer,
            self.question.epoch,
            self.question.set.len() as u32,
            out,
        )
    }
}
