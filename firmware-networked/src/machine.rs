//! What a [`Party`](crate::party::Party) asks of the agents of either method: beside what a member
//! does on a link, what it keeps.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::{self, JointVectors, MemberState};
use sordino_core::federated::{Agent, AgentState, Member};
use sordino_core::snapshot::Stored;

use crate::fatal::Fatal;

/// The first slot of the log, behind the agent, its masks and its releases.
pub const LOG: usize = 12;

/// Bytes that postcard takes for a u32 at most.
pub const WORD: usize = 5;

/// What an agent keeps beside its log.
pub trait State: Clone + Serialize + DeserializeOwned {
    /// Tells it, with its exchange, from what other methods store.
    const KIND: u8;
    /// Bytes of its postcard form at most.
    const BODY_MAX: usize;

    /// Index of the agent.
    fn agent(&self) -> u32;

    /// Observations in its log.
    fn observations(&self) -> u32;
}

impl State for AgentState {
    const KIND: u8 = 0x50;
    const BODY_MAX: usize = <AgentState as Stored>::BODY_MAX;

    fn agent(&self) -> u32 {
        AgentState::agent(self)
    }

    fn observations(&self) -> u32 {
        AgentState::observations(self)
    }
}

impl State for MemberState<f32> {
    const KIND: u8 = 0x51;
    const BODY_MAX: usize = <Self as Stored>::BODY_MAX;

    fn agent(&self) -> u32 {
        MemberState::agent(self).agent()
    }

    fn observations(&self) -> u32 {
        MemberState::agent(self).observations()
    }
}

/// What a site of a campaign keeps beside its log: its releases stay with the server.
#[derive(Clone, Serialize, Deserialize)]
pub struct SiteState {
    /// Index of the agent.
    pub agent: u32,
    /// Points that were measured.
    pub observations: u32,
    /// The last release that was answered, and the first 64 bits of a digest of the answer: another
    /// is never given.
    pub answered: Option<(u32, u64)>,
}

impl State for SiteState {
    const KIND: u8 = 0x52;
    // Two counts; whether there is an answer, its release, a number of 64 bits.
    const BODY_MAX: usize = 2 * WORD + 1 + WORD + 10;

    fn agent(&self) -> u32 {
        self.agent
    }

    fn observations(&self) -> u32 {
        self.observations
    }
}

/// An agent that a party drives.
pub trait Machine: Member<f32> {
    /// What it keeps beside its log.
    type State: State;
    /// Whether its numbers are a function of the releases, which the device therefore keeps.
    const KEEPS_RELEASES: bool;

    /// The state that it works on.
    fn state(&self) -> &Self::State;

    /// How its contribution to the release of its epoch becomes integers; nothing where its method
    /// knows no shares.
    ///
    /// **Errors**: the machine's.
    fn encoding(&mut self) -> Result<Option<JointVectors>, Fatal>;
}

impl Machine for Agent<'_, f32> {
    type State = AgentState;
    const KEEPS_RELEASES: bool = false;

    fn state(&self) -> &AgentState {
        Agent::state(self)
    }

    fn encoding(&mut self) -> Result<Option<JointVectors>, Fatal> {
        Ok(None)
    }
}

impl Machine for prior::Member<'_, f32> {
    type State = MemberState<f32>;
    const KEEPS_RELEASES: bool = true;

    fn state(&self) -> &MemberState<f32> {
        prior::Member::state(self)
    }

    fn encoding(&mut self) -> Result<Option<JointVectors>, Fatal> {
        Ok(prior::Member::encoding(self)?)
    }
}
