//! The exchange of a federation, whatever carries it: who asks, who answers, and what is said again.
//!
//! Two requests, both of the agent: "what comes after what I have?" and "here is mine". Both may be lost, doubled or
//! overtaken on any link, and either party may restart at any moment: a request that is repeated has no effect beyond the
//! first, and the server's answer to the first tells the agent what the server lacks. So nothing below needs to remember
//! anything: no sessions, no queues, no acknowledged deliveries.
//!
//! | who | asks or gives | is answered |
//! |---|---|---|
//! | [`AgentExchange`] | [`Want::Ask`]: [`Have`] n frames | the next frame; the current one again, because yours is missing; [`Answer::Later`] |
//! | | [`Want::Give`]: the answer to a round | [`Reply`]: taken, already, over, not you, later |
//! | [`ServerExchange`] | [`ServerExchange::asked`], [`ServerExchange::given`], [`ServerExchange::due`] | |
//!
//! Pure state machines: no socket, no clock. Time is an input, in [`Millis`] of a clock that never goes back.
//!
//! **One history.** Frames carry the first 64 bits of the digest of all broadcasts ([`after`]); both parties keep all
//! 256. An agent refuses a frame that does not continue what it knows. A server that is asked by an agent with *more*
//! frames than it has made itself was restored from an older disk, and must stop ([`Answer::Ahead`]): it would charge
//! and release these rounds a second time. That a hostile agent does not say so falsely is the carrier's to check, by the
//! [`Seal`] that it gave out with every frame.
//!
//! **Identity** is the link's: `who` is what the carrier authenticated, never what a frame says.

mod agent;
mod agreement;
mod server;
#[cfg(test)]
mod tests;

use core::fmt;

use serde::{Deserialize, Serialize};

pub use agent::{AgentExchange, FrameError, Heard, Want};
pub use agreement::{Agreement, Announced, PublicFeatures, candidates_digest};
pub use server::{Answer, Due, Pace, Period, Reply, ServerExchange};

use crate::digest::Digest;
use crate::wire::{Header, Kind, Payload};

/// Milliseconds of a clock that never goes back; where it starts is its owner's business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Millis(pub u64);

impl Millis {
    /// This much later; the end of time if that is beyond it.
    pub const fn after(self, millis: u64) -> Self {
        Millis(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this moment; 0 if it is not earlier.
    pub const fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// What a server gives out with a frame, so that it can tell later that it made the frame itself: a keyed digest, to
/// everybody else 16 random bytes.
pub type Seal = [u8; 16];

/// How much of the history an agent has.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Have {
    /// Frames: those of rounds `0..frames`.
    pub frames: u32,
    /// The digest after them.
    pub chain: Digest,
    /// What came with the last one.
    pub seal: Seal,
}

impl fmt::Debug for Have {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Have {{ frames: {}, chain: {} }}", self.frames, self.chain)
    }
}

/// The history after one more frame of a server.
///
/// **Equation**: c₀ is the digest of the agreement, c_{t+1} = SHA-256(c_t ‖ t ‖ kind ‖ number of numbers ‖ numbers), 32-bit
/// words little-endian; kind is 1 for a broadcast and 0 for a round without one. Attempts and addressees are left out:
/// the same broadcast in another envelope is the same history.
pub fn after(chain: &Digest, header: &Header, payload: &Payload<'_>) -> Digest {
    let mut frame = chain.frame();
    frame.u32(header.round);
    frame.u32(u32::from(header.kind == Kind::Broadcast));
    frame.u32(header.len);
    frame.bytes(payload.bytes());
    frame.end()
}
