//! How a server runs, and when it begins.

use std::time::{Duration, SystemTime};

use sordino_core::federated::exchange::Pace;
use sordino_host::ledger::CounterPlace;

use crate::help::address::HelperAddress;
use crate::identity::Certified;

/// How a server runs; what is promised to agents is in the terms.
pub struct Serving {
    /// Where it listens, `HOST:PORT`.
    pub listen: String,
    /// Where metrics are served, if anywhere; never open it to agents.
    pub admin: Option<String>,
    /// Name of the data set in the ledger.
    pub data: String,
    /// Where the second count of the ledger is kept.
    pub counter: CounterPlace,
    /// From the end of a round to the announcement of the next: longer than a release takes, so
    /// that the time of the release does not show.
    pub delay: Duration,
    /// When agents are told to come back.
    pub pace: Pace,
    /// Who must be there before anything is released.
    pub begin: Begin,
    /// The helper, where the terms name two servers; needed once, then what the folder says is
    /// enough.
    pub helper: Option<HelperAddress>,
    /// The certificate that says that this server is the helper's leader, where an authority of the
    /// helper's owner does.
    pub certified: Option<Certified>,
    /// How long the server stays after the last frame: at most this long if the terms let rounds
    /// close early, otherwise exactly this long.
    pub linger: Duration,
    /// What people are told once it listens and its ledger is open, line by line.
    pub welcome: Vec<String>,
}

/// Before what nothing is announced, and nothing released. The numbers are public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// Agents that must have joined before the first round is announced, and that must have
    /// contributed to a round before it is released. If none, all that were not shut out must have
    /// joined, and every round is released at its deadline.
    ///
    /// **Privacy**: whether a round is held shows whether so many have contributed, which no ε
    /// covers. Without a number the deadline alone decides, and silence shows nothing.
    pub agents: Option<u32>,
    /// The first round is not announced before this moment, whoever is there.
    pub at: Option<SystemTime>,
}

impl Begin {
    /// Agents that must have joined, of so many of whom some were shut out.
    pub(super) fn joined(&self, agents: u32, revoked: u32) -> u32 {
        self.agents.unwrap_or(agents.saturating_sub(revoked).max(1))
    }

    /// Contributions without which a round is not released.
    pub(super) fn contributions(&self) -> u32 {
        self.agents.unwrap_or(0)
    }
}
