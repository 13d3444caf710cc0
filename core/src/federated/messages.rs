//! What the parties are told and what they answer: the agent, then the server.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::privacy::{Charge, Provenance, Receipt, Release};

/// Where an agent stands.
///
/// **Example**: that of [`super::Agent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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

impl Phase {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Phase::Fresh => "Fresh",
            Phase::Initial => "Initial",
            Phase::Evaluating => "Evaluating",
            Phase::Waiting => "Waiting",
            Phase::Done => "Done",
        }
    }
}

/// One thing that happens to an agent.
///
/// **Example**: that of [`super::Agent`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input<'i, T> {
    /// Begin with the first initial point.
    Start,
    /// The value of the point last asked for.
    Observed(T),
    /// The server's vectors of the round before.
    Broadcast {
        /// The vectors of all regions, P·M numbers.
        vectors: &'i [T],
        /// Their argmax over the candidates, [`Public::maximize`](super::Public::maximize), if a
        /// host found it once for all its agents. It is believed: another candidate is another run.
        maximum: Option<u32>,
    },
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
            Input::Broadcast { .. } => "Broadcast",
            Input::NoBroadcast => "NoBroadcast",
            Input::Missed => "Missed",
        }
    }
}

/// What an agent wants next.
///
/// **Example**: that of [`super::Agent`].
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
    /// Send these M weights to the server, then wait for its broadcast. They are in the clear, for
    /// the trusted server's eyes alone: the server clips them and adds the noise.
    Upload(&'o [T]),
    /// Wait for the next round.
    Wait,
    /// The run is over.
    Done,
}

/// Where the server stands.
///
/// **Example**: that of [`super::Server`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ServerPhase {
    /// Between broadcasts.
    Idle,
    /// Uploads are accepted.
    Collecting,
    /// The charge is being written down.
    Charging,
    /// All T broadcasts are over.
    Done,
}

/// One thing that happens to the server. Prints its name, never a vector.
///
/// **Example**: that of [`super::Server`].
#[derive(PartialEq)]
pub enum ServerInput<'i, T, P: Provenance> {
    /// Begin collecting the next broadcast: the secret sample is drawn.
    Open,
    /// An agent's weights.
    Upload {
        /// Index of the agent that uploads.
        agent: u32,
        /// Broadcast that it is for: t = 0 after the initial points, then the round's number.
        broadcast: u32,
        /// M numbers, any at all.
        vector: &'i [T],
    },
    /// No further uploads: the deadline that was announced before the round has passed, even if
    /// some agents have not answered.
    ///
    /// Said again while the charge is being written down, it names the charge again, for a ledger
    /// that failed.
    Close,
    /// No further uploads, before the deadline, because every enrolled agent has answered.
    ///
    /// **Privacy**: that a round ended early tells everybody that *nobody was absent*, and one that
    /// did not end early that somebody was. Absence is part of what zero-out neighbours differ in,
    /// and no ε covers this. An option for deployments in which presence is public anyway.
    CloseEarly,
    /// The charge is durable, and here is the ledger's receipt: release.
    Charged(Receipt<P>),
    /// The budget refuses: this broadcast does not take place, nothing is drawn for it any more,
    /// agents go on alone.
    ///
    /// Admitted in place of [`ServerInput::Open`], when [`Server::event`](super::Server::event)
    /// does not fit the budget, and after [`ServerInput::Close`] in place of
    /// [`ServerInput::Charged`], when the ledger refuses after all. While uploads are accepted,
    /// close first.
    Skip,
}

impl<T, P: Provenance> ServerInput<'_, T, P> {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            ServerInput::Open => "Open",
            ServerInput::Upload { .. } => "Upload",
            ServerInput::Close => "Close",
            ServerInput::CloseEarly => "CloseEarly",
            ServerInput::Charged(_) => "Charged",
            ServerInput::Skip => "Skip",
        }
    }
}

impl<T, P: Provenance> fmt::Debug for ServerInput<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the server answers. `P` says how coins and noise were made: a deployment takes
/// `ServerOutput<'_, T, `[`Private`](crate::privacy::Private)`>`, and a simulated release does not
/// compile there.
///
/// **Example**: that of [`super::Server`].
#[derive(Debug, PartialEq)]
pub enum ServerOutput<'o, T, P: Provenance> {
    /// Nothing yet. The same whatever the vector was.
    Wait,
    /// Let a ledger write this down ([`crate::privacy::Ledger::append`]) and answer
    /// [`ServerInput::Charged`] with its receipt; or do not, and nothing is released.
    Charge(Charge<P>),
    /// Send these P·M numbers to everybody.
    Broadcast {
        /// Index s of the broadcast, 0-based.
        broadcast: u32,
        /// The vectors ω⁽¹⁾ … ω⁽ᴾ⁾ with what they cost.
        release: Release<&'o [T], P>,
    },
    /// Send these P·M numbers to everybody. They are a plain mean, which **protects nobody**.
    Unprotected {
        /// Index s of the broadcast, 0-based.
        broadcast: u32,
        /// The vectors ω⁽¹⁾ … ω⁽ᴾ⁾.
        vectors: &'o [T],
    },
    /// Tell everybody that broadcast s does not take place.
    NoBroadcast {
        /// Index s of the broadcast, 0-based.
        broadcast: u32,
    },
}
