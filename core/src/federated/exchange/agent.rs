//! The agent's side: what it has, what it owes, when it asks.

use core::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::agreement::{Agreement, header};
use super::{Have, Millis, Reply, Seal, after};
use crate::digest::Digest;
use crate::federated::AgentState;
use crate::federated::prior::MemberState;
use crate::math::Scalar;
use crate::snapshot::{Stored, varint_max};
use crate::wire::{Header, Kind, Payload, prefix};

/// What became of the agent's answer to the last round it has the frame of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Mine {
    /// There is none: nothing has begun, or the round was missed.
    None,
    /// The agent is at work on it.
    InTheMaking,
    /// It is there and not known to have arrived.
    Owed,
    /// The server has it, or no longer wants it.
    Settled,
}

/// One agent's exchange with its server: a few words, stored beside the
/// [`AgentState`](super::super::AgentState) and in one piece with it. Restored from any of its past
/// states it asks again for what it lacks.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentExchange {
    agent: u32,
    deployment: u64,
    agreement: Digest,
    rounds: u32,
    have: Have,
    attempt: u16,
    mine: Mine,
    /// Not before this moment; a clock does not survive a restart.
    #[serde(skip)]
    not_before: Millis,
    #[serde(skip)]
    refused: bool,
}

impl AgentExchange {
    // Agent, deployment, agreement, rounds; frames, chain and seal of what it has; attempt, whose
    // turn it is.
    const BODY_MAX: usize = varint_max(32)
        + varint_max(64)
        + 32
        + varint_max(32)
        + varint_max(32)
        + 32
        + 16
        + varint_max(16)
        + 1;
}

/// An agent and its exchange, in one piece: a state without the frame that it follows would
/// contradict what was sent.
impl Stored for (AgentState, AgentExchange) {
    const KIND: u8 = 0xae;
    const BODY_MAX: usize = AgentState::BODY_MAX + AgentExchange::BODY_MAX;
}

/// A member of a federated prior and its exchange.
impl<T: Scalar + Serialize + DeserializeOwned> Stored for (MemberState<T>, AgentExchange) {
    const KIND: u8 = if T::BYTES == 4 { 0xa5 } else { 0xa9 };
    const BODY_MAX: usize = MemberState::<T>::BODY_MAX + AgentExchange::BODY_MAX;
}

/// What the agent wants to do next.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Ask: what comes after this?
    Ask(Have),
    /// Let the agent work until it uploads, waits or is done, then say [`AgentExchange::made`].
    Work,
    /// Send the answer under this header: the vector of
    /// [`Agent::repeat`](super::super::Agent::repeat), or no numbers if there is none.
    Give(Header),
    /// Do nothing before this moment.
    Wait(Millis),
    /// The federation is over for this agent.
    Done,
    /// The server does not know this agent, or no longer: nothing will change that.
    Refused,
}

/// What a frame means for the agent.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The round is open: hand the broadcast to the agent.
    Enter,
    /// The round is over already: [`Input::Missed`](super::super::Input::Missed).
    Missed,
    /// The server lacks the answer to this round; it will be given again.
    Again,
}

/// Why a frame of the server was refused. The exchange is as before.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrameError {
    /// Of another run, under another agreement, or none that a server sends.
    Foreign,
    /// Of a round that was not asked for.
    Round {
        /// Round that stands in the frame.
        found: u32,
        /// The round after what the agent has.
        expected: u32,
    },
    /// Two histories: it does not continue what the agent knows. **Nothing more should be sent to
    /// this server.**
    Fork {
        /// The round at which they differ.
        round: u32,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Foreign => write!(f, "a frame of another run, agreement or kind"),
            FrameError::Round { found, expected } => {
                write!(f, "a frame of round {found}, {expected} was asked for")
            }
            FrameError::Fork { round } => {
                write!(
                    f,
                    "the frame of round {round} does not continue the broadcasts that were received before"
                )
            }
        }
    }
}

impl core::error::Error for FrameError {}

impl AgentExchange {
    /// Agent `agent` before its first request.
    pub fn new(agreement: &Agreement, agent: u32) -> Self {
        let digest = agreement.digest();
        AgentExchange {
            agent,
            deployment: agreement.deployment,
            agreement: digest,
            rounds: agreement.protocol.epochs(),
            have: Have {
                frames: 0,
                chain: digest,
                seal: Seal::default(),
            },
            attempt: 0,
            mine: Mine::None,
            not_before: Millis(0),
            refused: false,
        }
    }

    /// Whether it was made under this agreement, for this agent.
    pub fn belongs_to(&self, agreement: &Agreement, agent: u32) -> bool {
        self.agent == agent && self.agreement == agreement.digest()
    }

    /// What the agent has received and stored.
    pub fn have(&self) -> &Have {
        &self.have
    }

    /// What to do at this moment.
    pub fn want(&self, now: Millis) -> Want {
        let over = self.have.frames > self.rounds;
        match self.mine {
            _ if self.refused => Want::Refused,
            Mine::InTheMaking => Want::Work,
            Mine::None | Mine::Settled if over => Want::Done,
            _ if now < self.not_before => Want::Wait(self.not_before),
            Mine::Owed => Want::Give(self.marks()),
            Mine::None | Mine::Settled => Want::Ask(self.have),
        }
    }

    fn marks(&self) -> Header {
        let round = self.have.frames.saturating_sub(1);
        let marks = header(
            self.deployment,
            &self.agreement,
            Kind::Upload,
            self.agent,
            round,
        );
        Header {
            attempt: self.attempt,
            chain: prefix(&self.have.chain),
            ..marks
        }
    }

    /// A frame arrived. `current` is the round that the server is in, `seal` what came with the
    /// frame.
    ///
    /// The first round is never left out: its frame is entered although it may be over.
    ///
    /// **Errors**: [`FrameError`]; nothing changed then.
    pub fn frame(
        &mut self,
        header: &Header,
        payload: &Payload<'_>,
        current: u32,
        seal: Seal,
    ) -> Result<Heard, FrameError> {
        let known =
            header.deployment == self.deployment && header.config == prefix(&self.agreement);
        if !known || !matches!(header.kind, Kind::Broadcast | Kind::NoBroadcast) {
            return Err(FrameError::Foreign);
        }
        let round = header.round;
        let expected = self.have.frames;
        if round.checked_add(1) == Some(expected) {
            if header.chain != prefix(&self.have.chain) {
                return Err(FrameError::Fork { round });
            }
            self.attempt = header.attempt;
            if self.mine == Mine::Settled {
                self.mine = Mine::Owed;
            }
            return Ok(Heard::Again);
        }
        if round != expected {
            return Err(FrameError::Round {
                found: round,
                expected,
            });
        }
        let chain = after(&self.have.chain, header, payload);
        if prefix(&chain) != header.chain {
            return Err(FrameError::Fork { round });
        }
        self.have = Have {
            frames: expected + 1,
            chain,
            seal,
        };
        self.attempt = header.attempt;
        let missed = current > round && round > 0;
        self.mine = if missed {
            Mine::None
        } else {
            Mine::InTheMaking
        };
        Ok(if missed { Heard::Missed } else { Heard::Enter })
    }

    /// The agent has finished its round: its answer can be given.
    pub fn made(&mut self) {
        if self.mine == Mine::InTheMaking {
            self.mine = Mine::Owed;
        }
    }

    /// What the server said to an answer of `round`. What belongs to another round than the last is
    /// left aside: it was under way for too long.
    pub fn told(&mut self, round: u32, reply: Reply, now: Millis) {
        if round.checked_add(1) != Some(self.have.frames) || self.mine != Mine::Owed {
            return;
        }
        match reply {
            Reply::Taken | Reply::Already | Reply::Over => self.mine = Mine::Settled,
            Reply::NotYou => self.refused = true,
            Reply::Later { after_ms } => self.later(after_ms, now),
        }
    }

    /// The server asks to be left alone for this long, or was not reached.
    pub fn later(&mut self, after_ms: u64, now: Millis) {
        self.not_before = now.after(after_ms);
    }

    /// The server says that it does not know this agent.
    pub fn not_you(&mut self) {
        self.refused = true;
    }
}
