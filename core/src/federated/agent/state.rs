//! What an agent is apart from its numbers: a few words, what of them is stored, and which stored
//! ones are admissible.

use core::fmt;
use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::super::config::Config;
use super::super::errors::AgentError;
use super::super::messages::Phase;
use crate::parameter::{StateError, stored};
use crate::random::RunSeed;
use crate::snapshot::{self, varint_max};

/// What an agent is, apart from its numbers: a few words.
///
/// Stored, it begins with a tag that neither zeroed nor erased flash holds, and reads as an error
/// where the tag is missing; [`Agent::attach`](super::Agent::attach) judges the rest against
/// configuration and log. What its workspace holds is not part of it: a restored state and a copy
/// rebuild their posteriors from the log.
///
/// ```
/// use sordino_core::federated::{AgentState, Phase};
/// use sordino_core::random::RunSeed;
///
/// let state = AgentState::new(3, RunSeed::new(1, 0));
/// assert_eq!((state.agent(), state.phase(), state.observations()), (3, Phase::Fresh, 0));
/// let mut bytes = [0; 64];
/// let stored = postcard::to_slice(&state, &mut bytes).unwrap();
/// assert_eq!(postcard::from_bytes::<AgentState>(stored), Ok(state));
/// assert!(postcard::from_bytes::<AgentState>(&[0xff; 64]).is_err()); // erased flash is no agent
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct AgentState {
    pub(super) agent: u32,
    pub(super) seed: RunSeed,
    pub(super) phase: Phase,
    pub(super) round: u32,
    pub(super) observations: u32,
    pub(super) pending: u32,
    pub(super) digested: Digested,
}

/// How many observations the posteriors in the workspace hold.
///
/// Only the very state that was joined with that workspace knows it. A copy may be joined with
/// another workspace, or with the same after the original went on: it begins with nothing, and
/// equality does not look here.
#[derive(Debug, Default)]
pub(super) struct Digested {
    pub(super) shared: u32,
    pub(super) own: u32,
}

impl Clone for Digested {
    fn clone(&self) -> Self {
        Digested::default()
    }
}

impl PartialEq for Digested {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Digested {}

/// "An agent, first form". Erased flash is 0x00 or 0xff.
const TAG: u8 = 0xa1;

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Stored {
    tag: u8,
    agent: u32,
    seed: RunSeed,
    phase: Phase,
    round: u32,
    observations: u32,
    pending: u32,
}

/// Bytes that hold no agent.
struct WrongTag(u8);

impl fmt::Display for WrongTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "stored agent: begins with {}, {TAG} is expected: erased, or not an agent of this version",
            self.0
        )
    }
}

impl From<AgentState> for Stored {
    fn from(state: AgentState) -> Self {
        let AgentState {
            agent,
            seed,
            phase,
            round,
            observations,
            pending,
            digested: _,
        } = state;
        Stored {
            tag: TAG,
            agent,
            seed,
            phase,
            round,
            observations,
            pending,
        }
    }
}

impl TryFrom<Stored> for AgentState {
    type Error = WrongTag;
    fn try_from(stored: Stored) -> Result<Self, WrongTag> {
        let Stored {
            tag,
            agent,
            seed,
            phase,
            round,
            observations,
            pending,
        } = stored;
        if tag != TAG {
            return Err(WrongTag(tag));
        }
        Ok(AgentState {
            agent,
            seed,
            phase,
            round,
            observations,
            pending,
            digested: Digested::default(),
        })
    }
}

impl snapshot::Stored for AgentState {
    const KIND: u8 = TAG;
    // Tag, agent, seed, phase, round, observations, candidate.
    const BODY_MAX: usize = 1 + varint_max(32) + varint_max(64) + 1 + 3 * varint_max(32);
}

impl AgentState {
    /// Agent `agent` before its first point. `seed` drives its own draws, never a release: in a
    /// deployment `RunSeed::new(bits, 0)` with 64 bits of the agent's own entropy, drawn once in
    /// its life and kept with this state.
    pub fn new(agent: u32, seed: RunSeed) -> Self {
        let phase = Phase::Fresh;
        let digested = Digested::default();
        AgentState {
            agent,
            seed,
            phase,
            round: 0,
            observations: 0,
            pending: 0,
            digested,
        }
    }

    /// Its index among the enrolled agents.
    pub fn agent(&self) -> u32 {
        self.agent
    }

    /// The round it is in: 0 during the initial points, then 1..=T.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The phase it is in.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Observations in its log.
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// The candidate being evaluated.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Whether an agent of this configuration, with this number of candidates, can be in this
    /// state.
    ///
    /// The initial points are never left out; every later round adds one observation, or none to an
    /// agent that was away.
    pub(super) fn judge(&self, config: &Config, candidates: u32) -> Result<(), AgentError> {
        let p = config.parameters();
        let first = p.initial_points;
        let last = p.rounds;
        let round = self.round;
        let (rounds, observations): (RangeInclusive<u32>, RangeInclusive<u32>) = match self.phase {
            Phase::Fresh => (0..=0, 0..=0),
            Phase::Initial => (0..=0, 0..=first - 1),
            Phase::Waiting => (0..=last - 1, first..=first.saturating_add(round)),
            Phase::Evaluating => (
                1..=last,
                first..=first.saturating_add(round.saturating_sub(1)),
            ),
            Phase::Done => (last..=last, first..=first.saturating_add(round)),
        };
        let candidates = if self.phase == Phase::Fresh {
            0..=0
        } else {
            0..=candidates.saturating_sub(1)
        };
        let judged = |field, found: u32, admissible: RangeInclusive<u32>| {
            let admissible = u64::from(*admissible.start())..=u64::from(*admissible.end());
            stored(self.phase.name(), field, u64::from(found), admissible)
        };
        judged("round", round, rounds)
            .and_then(|()| judged("number of observations", self.observations, observations))
            .and_then(|()| judged("candidate", self.pending, candidates))
            .map_err(|error: StateError| AgentError::State(error))
    }
}
