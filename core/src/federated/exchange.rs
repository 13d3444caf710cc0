//! The exchange of a federation, whatever carries it: who asks, who answers, and what is said
//! again.
//!
//! A history is cut into epochs, each with one frame of the server and at most one answer of each
//! agent; how many rounds of queries lie in one is the method's ([`Protocol`]). Headers call their
//! number the round.
//!
//! Two requests, both of the agent: "what comes after what I have?" and "here is mine". Both may be
//! lost, doubled or overtaken on any link, and either party may restart at any moment: a request
//! that is repeated has no effect beyond the first, and the server's answer to the first tells the
//! agent what the server lacks. So nothing below needs to remember anything: no sessions, no
//! queues, no acknowledged deliveries.
//!
//! | who | asks or gives | is answered |
//! |---|---|---|
//! | [`AgentExchange`] | [`Want::Ask`]: [`Have`] n frames | the next frame; the current one again, because yours is missing; [`Answer::Later`] |
//! | | [`Want::Give`]: the answer to a round | [`Reply`]: taken, already, over, not you, later |
//! | [`ServerExchange`] | [`ServerExchange::asked`], [`ServerExchange::given`], [`ServerExchange::due`] | |
//!
//! Pure state machines: no socket, no clock. Time is an input, in [`Millis`] of a clock that never
//! goes back.
//!
//! **One history.** Frames carry the first 64 bits of the digest of all broadcasts ([`after`]);
//! both parties keep all
//! 256. An agent refuses a frame that does not continue what it knows. A server that is asked by an
//!      agent with *more*
//! frames than it has made itself was restored from an older disk, and must stop
//! ([`Answer::Ahead`]): it would charge and release these rounds a second time. That a hostile
//! agent does not say so falsely is the carrier's to check, by the [`Seal`] that it gave out with
//! every frame.
//!
//! **Identity** is the link's: `who` is what the carrier authenticated, never what a frame says.
//!
//! One round between one agent and its server, both in one process:
//!
//! ```
//! use sordino_core::federated::exchange::*;
//! use sordino_core::wire::{self, Header};
//! # use sordino_core::domain::{Candidates, Regions};
//! # use sordino_core::federated::{Aggregation, Config, Parameters};
//! # use sordino_core::{digest::Digest, kernel::Stationary, wire::ScalarTag};
//! # let agreement = Agreement {
//! #     protocol: Protocol::Draws(DrawsProtocol {
//! #         config: Config::new(Parameters::usual(1, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?,
//! #         features: PublicFeatures::new(7, Stationary::SquaredExponential, 0.2, 1.0),
//! #     }),
//! #     candidates: candidates_digest(&Candidates::<f64>::grid(50, 1)?, &mut [0.0]),
//! #     dim: 1,
//! #     scalar: ScalarTag::F32,
//! #     deployment: 0x5eed_1e55,
//! #     announced: Announced { epsilon_max: Some(4.0), delta: 1e-5, deadline_ms: 60_000, may_close_early: true },
//! # };
//!
//! let mut agent = AgentExchange::new(&agreement, 0); // the agreement of the example of `Agreement`
//! let pace = Pace { ask_again_ms: 5_000, spread_ms: 100 };
//! let mut server = ServerExchange::new(&agreement, pace, [0; 1]);
//! // The frame of round 0 holds no broadcast yet. The history goes on with it, and the round begins.
//! let mut bytes = [0; 64];
//! let (len, chain) = server.frame(0, 0, &agreement.digest(), None::<&[f32]>, &mut bytes)?;
//! let history = [agreement.digest(), chain];
//! let (now, deadline) = (Millis(0), Millis(60_000));
//! server.begin(0, 0, history[1], Period { opened: now, deadline, may_close_early: true });
//!
//! let Want::Ask(have) = agent.want(now) else { unreachable!() };
//! assert_eq!(have, Have { frames: 0, chain: history[0], seal: Seal::default() });
//! assert_eq!(server.asked(0, &have, &history, now), Answer::Frame { round: 0 });
//! let (frame, payload) = wire::decode(&bytes[..len], 0)?;
//! let foreign = Header { deployment: 1, ..frame };
//! assert_eq!(agent.frame(&foreign, &payload, 0, Seal::default()), Err(FrameError::Foreign));
//! assert_eq!(agent.frame(&frame, &payload, 0, Seal::default()), Ok(Heard::Enter));
//! assert_eq!(agent.want(now), Want::Work);
//! agent.made(); // the machine of the agent has an upload
//! let Want::Give(upload) = agent.want(now) else { unreachable!() };
//! assert_eq!(server.given(0, &upload, now), None); // to be taken
//! server.took(0);
//! agent.told(0, Reply::Taken, now);
//! assert_eq!(server.given(0, &upload, now), Some(Reply::Already)); // said again, it has no effect
//! assert_eq!(server.due(now), Due::CloseEarly); // everybody has answered
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod agent;
mod agreement;
mod features;
mod own;
mod protocol;
mod server;
#[cfg(test)]
mod tests;
mod vote;

use core::fmt;

use serde::{Deserialize, Serialize};

pub use agent::{AgentExchange, FrameError, Heard, Want};
pub use agreement::{Agreement, AgreementError, Announced, candidates_digest};
pub use features::PublicFeatures;
pub use own::OwnProtocol;
pub use protocol::{DrawsProtocol, Protocol};
pub use server::{Answer, Due, Pace, Period, Reply, ServerExchange};
pub use vote::VoteProtocol;

use crate::digest::Digest;
use crate::wire::{Header, Kind, Payload};

/// Milliseconds of a clock that never goes back; where it starts is its owner's business.
///
/// ```
/// use sordino_core::federated::exchange::Millis;
///
/// assert_eq!(Millis(500).after(250), Millis(750));
/// assert_eq!((Millis(750).since(Millis(500)), Millis(500).since(Millis(750))), (250, 0));
/// ```
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

/// What a server gives out with a frame, so that it can tell later that it made the frame itself: a
/// keyed digest, to everybody else 16 random bytes.
pub type Seal = [u8; 16];

/// How much of the history an agent has.
///
/// **Example**: that of [the module](self).
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Have {
    /// Frames: those of rounds `0..frames`.
    pub frames: u32,
    /// Digest of the history after them.
    pub chain: Digest,
    /// The seal that came with the last one.
    pub seal: Seal,
}

impl fmt::Debug for Have {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Have {{ frames: {}, chain: {} }}",
            self.frames, self.chain
        )
    }
}

/// The history after one more frame of a server.
///
/// **Equation**: c₀ is the digest of the agreement, c_{t+1} = SHA-256(c_t ‖ t ‖ kind ‖ number of
/// numbers ‖ numbers), 32-bit words little-endian; kind is 1 for a broadcast and 0 for a round
/// without one. Attempts and addressees are left out: the same broadcast in another envelope is the
/// same history.
pub fn after(chain: &Digest, header: &Header, payload: &Payload<'_>) -> Digest {
    let mut frame = chain.frame();
    frame.u32(header.round);
    frame.u32(u32::from(header.kind == Kind::Broadcast));
    frame.u32(header.len);
    frame.bytes(payload.bytes());
    frame.end()
}
