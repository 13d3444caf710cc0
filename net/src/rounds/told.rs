//! What agents, people and metrics are told of the rounds.

use std::time::Duration;

use bytes::Bytes;
use sordino_core::federated::exchange::{Reply, Seal};
use sordino_core::wire::{Header, Payload, WireError};
use tokio::time::Instant;

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// The frame that comes next.
    Frame {
        /// The bytes of the frame.
        bytes: Bytes,
        /// The round that is open.
        current: u32,
        /// The seal of the history up to this frame.
        seal: Seal,
    },
    /// Nothing yet: come back.
    Later {
        /// After this many milliseconds.
        after_ms: u64,
    },
    /// Not an enrolled agent.
    NotYou,
    /// What the agent has is not what was sent.
    Fork,
    /// A history that this server has not made: its seal is missing.
    Unsealed,
}

/// The answer to an upload.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// As the exchange says.
    Reply(Reply),
    /// The bytes are no frame, or one that does not fit, and why.
    Refused(String),
}

/// What an agent sent to the round that is open; frame and sender were judged.
#[derive(Clone, Copy, Debug)]
pub struct Upload<'a> {
    /// Index of the agent.
    pub who: u32,
    /// The header of its frame.
    pub header: &'a Header,
    /// The numbers in it: none where there are two servers, and of an agent that has nothing to
    /// give.
    pub payload: &'a Payload<'a>,
    /// What follows the frame where there are two servers ([`crate::shares`]); else nothing.
    pub share: &'a [u8],
    /// What follows in a rehearsal.
    pub trailer: &'a [u8],
}

/// Whether an upload was taken; if not, why, as its sender is told.
pub type Taken = Result<(), String>;

/// Why collecting ended without a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// An agent has this many frames, sealed by this server, which has fewer: its disk was restored
    /// from an older copy.
    #[error(
        "an agent has {theirs} frames sealed by this server, which knows of {ours}: its folder is older than what it \
         released, so the rounds from {ours} on would be released a second time; restore the newest folder, or begin a \
         new federation"
    )]
    OlderDisk {
        /// Frames that the agent has.
        theirs: u32,
        /// Frames that this server has.
        ours: u32,
    },
    /// An agent has a history that this server sealed and does not have: it was restored from an
    /// older copy, and has made other frames since.
    #[error(
        "an agent has {frames} frames sealed by this server, which has others: its folder was restored from an older copy \
         and has released other broadcasts since; both histories were released, and nothing more is: begin a new federation"
    )]
    Forked {
        /// Frames that the agent has.
        frames: u32,
    },
    /// A round is to follow on frames that are not there: the program is wrong.
    #[error("round {round} was to follow on {frames} frames")]
    History {
        /// The round that was to follow.
        round: u32,
        /// Frames that there are.
        frames: u32,
    },
    /// All doors are closed.
    #[error("no door is open any longer")]
    NoDoor,
    /// The broadcast does not fit in a frame.
    #[error("the broadcast does not fit in a frame")]
    Frame(#[source] WireError),
}

/// What people and metrics are told about the open round. Never who was selected, clipped or
/// zeroed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The round that is open.
    pub round: u32,
    /// No round was announced since this server started, so that none is open.
    pub is_waiting: bool,
    /// All rounds were over when this server started: agents that had the last frame before do not
    /// count among those that have answered.
    pub was_over: bool,
    /// The round is closed, and waits for the answer of the server's helper.
    pub awaits_helper: bool,
    /// Agents that have answered, without those that were shut out and that nobody waits for.
    pub answered: u32,
    /// Milliseconds until it closed, when this was told.
    pub closes_in_ms: u64,
    /// When this was told.
    pub told_at: Option<Instant>,
    /// Milliseconds since it was opened.
    pub open_for_ms: u64,
    /// How often a deadline has passed, since the start, at which too few had contributed for a
    /// release.
    pub held: u64,
    /// Agents that had contributed at the last of them.
    pub held_with: u32,
    /// Contributions that were needed.
    pub needed: u32,
    /// Questions that wait for the next frame.
    pub waiting: u32,
    /// Answers that were taken since the start.
    pub taken: u64,
    /// Answers that had been taken before.
    pub repeated: u64,
    /// Requests that were refused.
    pub refused: u64,
}

impl Status {
    /// In how much time the open round closes, from now on: nothing may have happened since this
    /// was told.
    pub fn closes_in(&self) -> Duration {
        let since = self.told_at.map_or(Duration::ZERO, |at| at.elapsed());
        Duration::from_millis(self.closes_in_ms).saturating_sub(since)
    }
}
