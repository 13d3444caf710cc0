//! Why an agent or a server refused an input.

use core::fmt;

use super::messages::{Phase, ServerPhase};
use super::partial::PartialError;
use super::prior::PriorError;
use crate::domain::DomainError;
use crate::parameter::StateError;
use crate::privacy::encode::EncodeError;
use crate::privacy::mechanism::gaussian::GaussianError;
use crate::random::{NoiseError, SourceKind};
use crate::surrogate::weights::WeightsError;

/// Why an agent was not put together, or refused an input. Its state is as before unless the
/// variant says otherwise.
///
/// **Example**: that of [`super::Agent`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AgentError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the agent stands.
        phase: Phase,
        /// Name of the input.
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
        /// Index of the first such number.
        index: usize,
    },
    /// The argmax that came with a broadcast is not a candidate.
    BroadcastMaximum {
        /// Maximum that came with the broadcast.
        found: u32,
        /// How many candidates there are.
        candidates: u32,
    },
    /// The weights to upload are NaN or infinite: observations or public numbers are beyond what
    /// the format computes with. **The observation was taken and the round is over**: nothing is
    /// sent, the agent has contributed nothing and waits for the next round, in phase
    /// [`Phase::Waiting`].
    UploadNotFinite {
        /// Index of the first such number.
        index: usize,
    },
    /// The agent's own draw for the next round is NaN or infinite, and there is no query to make
    /// from it. It goes on waiting; [`Input::Missed`](super::Input::Missed) leaves the round out.
    DrawNotFinite {
        /// Index of the first such number.
        index: usize,
    },
    /// Slices shorter than [`storage_len`](super::storage_len), [`log_len`](super::log_len) or
    /// [`workspace_len`](super::workspace_len).
    Storage {
        /// Name of the slice.
        what: &'static str,
        /// Length of the slice given.
        len: usize,
        /// Numbers needed.
        expected: usize,
    },
    /// An agent that is not enrolled.
    NotEnrolled {
        /// Index of the agent.
        agent: u32,
        /// Number of agents N.
        agents: u32,
    },
    /// A stored state that no agent of this configuration can be in.
    State(StateError),
    /// An entry of the log that is not an observation.
    Log {
        /// Index of the entry in the log, 0-based.
        entry: u32,
        /// How many candidates there are: the entry must be the index of one and a finite value.
        candidates: u32,
    },
    /// A public number that the format computed with does not hold.
    Number {
        /// Name of the number.
        field: &'static str,
        /// The number as given.
        value: f64,
        /// The format, `"f32"` or `"f64"`.
        format: &'static str,
        /// The range it must lie in after rounding.
        admissible: &'static str,
    },
    /// A posterior could not be set up.
    Posterior(WeightsError),
    /// The domain has no region.
    Domain(DomainError),
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AgentError::UnexpectedInput { phase, input } => {
                write!(f, "{input} does not belong to phase {phase:?}")
            }
            AgentError::ObservationNotFinite { round } => {
                write!(f, "observation of round {round} is not finite")
            }
            AgentError::BroadcastLength { len, expected } => {
                write!(f, "broadcast of {len} numbers, {expected} expected")
            }
            AgentError::BroadcastNotFinite { index } => {
                write!(f, "broadcast number {index} is not finite")
            }
            AgentError::BroadcastMaximum { found, candidates } => {
                write!(
                    f,
                    "broadcast with argmax {found}, there are {candidates} candidates"
                )
            }
            AgentError::UploadNotFinite { index } => {
                write!(
                    f,
                    "upload number {index} is not finite; nothing is sent, the round is over"
                )
            }
            AgentError::DrawNotFinite { index } => {
                write!(f, "number {index} of the agent's own draw is not finite")
            }
            AgentError::Storage {
                what,
                len,
                expected,
            } => {
                write!(f, "agent {what} of {len} numbers, {expected} needed")
            }
            AgentError::NotEnrolled { agent, agents } => {
                write!(f, "agent {agent} is not among the {agents} enrolled")
            }
            AgentError::State(error) => write!(f, "{error}"),
            AgentError::Log { entry, candidates } => write!(
                f,
                "log entry {entry} is no observation: the index of one of {candidates} candidates and a finite value"
            ),
            AgentError::Number {
                field,
                value,
                format,
                admissible,
            } => {
                write!(
                    f,
                    "{field} = {value} is outside {admissible} when it is rounded to {format}"
                )
            }
            AgentError::Posterior(error) => write!(f, "{error}"),
            AgentError::Domain(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            AgentError::State(error) => error.source(),
            AgentError::Posterior(error) => error.source(),
            AgentError::Domain(error) => error.source(),
            _ => None,
        }
    }
}

/// Why the server refused an input. Its state is as before, and nothing left.
///
/// **Example**: that of [`super::Server`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ServerError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the server stands.
        phase: ServerPhase,
        /// Name of the input.
        input: &'static str,
    },
    /// An upload of an agent that is not enrolled.
    UnknownAgent {
        /// Index of the agent as given.
        agent: u32,
        /// Number of agents N.
        agents: u32,
    },
    /// A second upload of one agent for one broadcast; the first stands.
    DuplicateUpload {
        /// Index of the agent.
        agent: u32,
        /// Index of the broadcast that has its upload.
        broadcast: u32,
    },
    /// An upload for another broadcast than the one collected.
    WrongBroadcast {
        /// Index of the agent.
        agent: u32,
        /// Broadcast that the upload was for.
        found: u32,
        /// Broadcast that is collected.
        expected: u32,
    },
    /// A vector that does not have M entries.
    VectorLength {
        /// Index of the agent.
        agent: u32,
        /// Entries received.
        len: usize,
        /// Number of features M.
        expected: usize,
    },
    /// A partial sum that was not made for this opening, or cannot be what its agents sent.
    Partial(PartialError),
    /// Agents that are not all enrolled.
    Range {
        /// The first of these agents.
        first: u32,
        /// One past the last of these agents.
        end: u32,
        /// Number of agents N.
        agents: u32,
    },
    /// Somebody has not answered, so the round does not end before its deadline.
    NotEverybody {
        /// Uploads that were taken.
        received: u32,
        /// Number of agents N.
        agents: u32,
    },
    /// Another configuration than the one the broadcast was opened under.
    Reconfigured {
        /// Index of the broadcast that is open.
        broadcast: u32,
    },
    /// A receipt for another opening or another cost. It is spent; close again to name the charge
    /// again.
    OtherReceipt {
        /// Index of the broadcast that is open.
        broadcast: u32,
    },
    /// Noise that was drawn for another opening.
    OtherPool {
        /// Index of the broadcast that is open.
        broadcast: u32,
    },
    /// Answers of a helper that are not those of the release: two servers need one, one server
    /// none.
    Answers {
        /// Index of the broadcast that is open.
        broadcast: u32,
        /// Answers that there would be.
        found: u32,
        /// Answers that the release needs.
        expected: u32,
    },
    /// A stored state that no run of this configuration can have been in.
    State {
        /// The next broadcast, according to the state.
        broadcast: u32,
        /// Releases made, according to the state.
        releases: u32,
        /// T: admissible are releases ≤ broadcast ≤ T.
        rounds: u32,
    },
    /// Coins and noise of different kinds of source: secret noise over a public sample is charged
    /// as a secret sample.
    MixedSources {
        /// How the sample was drawn.
        coins: SourceKind,
        /// How the noise would be drawn.
        noise: SourceKind,
    },
    /// A slice of the wrong length.
    Storage {
        /// Name of the slice.
        what: &'static str,
        /// Length of the slice given.
        len: usize,
        /// The length needed.
        expected: usize,
    },
    /// The entropy source failed: an error of the round, whatever the data.
    Noise(NoiseError),
    /// The mechanism refused; never depends on a vector.
    Mechanism(GaussianError),
    /// The federated prior refused a plan, a context or a release; never depends on a vector.
    Prior(PriorError),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ServerError::UnexpectedInput { phase, input } => {
                write!(f, "{input} does not belong to phase {phase:?}")
            }
            ServerError::UnknownAgent { agent, agents } => {
                write!(f, "agent {agent} is not among the {agents} enrolled")
            }
            ServerError::DuplicateUpload { agent, broadcast } => {
                write!(
                    f,
                    "agent {agent} already uploaded for broadcast {broadcast}"
                )
            }
            ServerError::WrongBroadcast {
                agent,
                found,
                expected,
            } => {
                write!(
                    f,
                    "agent {agent} uploaded for broadcast {found}, {expected} is collected"
                )
            }
            ServerError::VectorLength {
                agent,
                len,
                expected,
            } => {
                write!(
                    f,
                    "agent {agent} uploaded {len} numbers, {expected} expected"
                )
            }
            ServerError::Partial(ref error) => write!(f, "{error}"),
            ServerError::Range { first, end, agents } => {
                write!(
                    f,
                    "agents {first} to {end} are not all among the {agents} enrolled"
                )
            }
            ServerError::NotEverybody { received, agents } => {
                write!(
                    f,
                    "{received} of {agents} agents have answered: the round ends at its deadline"
                )
            }
            ServerError::Reconfigured { broadcast } => {
                write!(
                    f,
                    "broadcast {broadcast} was opened under another configuration"
                )
            }
            ServerError::OtherReceipt { broadcast } => {
                write!(
                    f,
                    "a receipt for something else than this opening of broadcast {broadcast}"
                )
            }
            ServerError::OtherPool { broadcast } => {
                write!(
                    f,
                    "noise that was drawn for another opening than this one of broadcast {broadcast}"
                )
            }
            ServerError::Answers {
                broadcast,
                found,
                expected,
            } => {
                write!(
                    f,
                    "broadcast {broadcast}: {found} answers of a helper, {expected} needed"
                )
            }
            ServerError::State {
                broadcast,
                releases,
                rounds,
            } => write!(
                f,
                "stored server: {releases} releases before broadcast {broadcast} of {rounds}; admissible is \
                 releases <= broadcast <= {rounds}"
            ),
            ServerError::MixedSources { coins, noise } => {
                write!(f, "the sample is by {coins}, the noise by {noise}")
            }
            ServerError::Storage {
                what,
                len,
                expected,
            } => {
                write!(f, "server {what}: {len} entries, {expected} needed")
            }
            ServerError::Noise(ref error) => write!(f, "{error}"),
            ServerError::Mechanism(ref error) => write!(f, "{error}"),
            ServerError::Prior(ref error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ServerError::Partial(error) => error.source(),
            ServerError::Noise(error) => error.source(),
            ServerError::Mechanism(error) => error.source(),
            ServerError::Prior(error) => error.source(),
            _ => None,
        }
    }
}

impl From<PartialError> for ServerError {
    fn from(error: PartialError) -> Self {
        ServerError::Partial(error)
    }
}

impl From<PriorError> for ServerError {
    fn from(error: PriorError) -> Self {
        ServerError::Prior(error)
    }
}

impl From<NoiseError> for ServerError {
    fn from(error: NoiseError) -> Self {
        ServerError::Noise(error)
    }
}

impl From<GaussianError> for ServerError {
    fn from(error: GaussianError) -> Self {
        match error {
            GaussianError::Noise(error) => ServerError::Noise(error),
            other => ServerError::Mechanism(other),
        }
    }
}

impl From<EncodeError> for ServerError {
    fn from(error: EncodeError) -> Self {
        ServerError::Mechanism(error.into())
    }
}
