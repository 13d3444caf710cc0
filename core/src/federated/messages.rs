//! What an agent is told, what it answers, and why it refuses.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::public::PublicError;

/// Where an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing happened yet.
    Fresh,
    /// An initial point is being evaluated.
    Initial,
    /// The round's query is being evaluated.
    Evaluating,
    /// The round is over; the next broadcast is awaited.
    Waiting,
    /// All T rounds are over.
    Done,
}

/// One thing that happens to an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input<'i, T> {
    /// Begin with the first initial point.
    Start,
    /// The value of the point last asked for.
    Observed(T),
    /// The server's vectors of the round before, P·M numbers.
    Broadcast(&'i [T]),
    /// There is no broadcast: budget spent, message lost, or nothing is ever released.
    NoBroadcast,
    /// The agent was away for a round: nothing queried, nothing uploaded.
    Missed,
}

impl<T> Input<'_, T> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Input::Start => "Start",
            Input::Observed(_) => "Observed",
            Input::Broadcast(_) => "Broadcast",
            Input::NoBroadcast => "NoBroadcast",
            Input::Missed => "Missed",
        }
    }
}

/// What an agent wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output<'o, T> {
    /// Evaluate the function here and answer [`Input::Observed`].
    Evaluate {
        /// Index of the candidate.
        candidate: u32,
        /// Its coordinates, in the unit box.
        point: &'o [T],
        /// How many observations the agent made before this one.
        number: u32,
    },
    /// Send these M weights to the server, then wait for its broadcast.
    Upload(&'o [T]),
    /// Wait for the next round.
    Wait,
    /// The run is over.
    Done,
}

/// Why an agent refused an input. Its state is as before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AgentError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the agent stands.
        phase: Phase,
        /// What it was given.
        input: &'static str,
    },
    /// An observation that is NaN or infinite; evaluate again or stop.
    ObservationNotFinite {
        /// The round it belongs to.
        round: u32,
    },
    /// A broadcast of the wrong length.
    BroadcastLength {
        /// Numbers received.
        len: usize,
        /// Numbers expected: P·M.
        expected: usize,
    },
    /// A broadcast with a NaN or an infinity.
    BroadcastNotFinite {
        /// Index of the first one.
        index: usize,
    },
    /// Slices shorter than [`log_len`](super::log_len) or [`workspace_len`](super::workspace_len).
    Storage {
        /// Numbers given.
        len: usize,
        /// Numbers needed.
        expected: usize,
    },
    /// An agent that is not enrolled.
    NotEnrolled {
        /// Its index.
        agent: u32,
        /// N.
        agents: u32,
    },
    /// The public context does not fit the configuration.
    Public(PublicError),
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AgentError::UnexpectedInput { phase, input } => write!(f, "{input} does not belong to phase {phase:?}"),
            AgentError::ObservationNotFinite { round } => write!(f, "observation of round {round} is not finite"),
            AgentError::BroadcastLength { len, expected } => {
                write!(f, "broadcast of {len} numbers, {expected} expected")
            }
            AgentError::BroadcastNotFinite { index } => write!(f, "broadcast number {index} is not finite"),
            AgentError::Storage { len, expected } => write!(f, "agent storage of {len} numbers, {expected} needed"),
            AgentError::NotEnrolled { agent, agents } => write!(f, "agent {agent} is not among the {agents} enrolled"),
            AgentError::Public(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for AgentError {}
