//! What goes wrong in a federation: probabilities and a trace.

use std::path::PathBuf;

use super::design::hexadecimal;
use super::keys::keys;
use super::reader::{Problem, Section};
use super::rule::{number, whole};

keys! {
    /// What goes wrong on links and machines; every key may be missing.
    #[derive(Default)]
    pub struct FaultConfig {
        /// Probability that an agent is away for one round: no query, no upload.
        dropout: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that all agents of a region are away for one round.
        outage: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that an agent crashes and is away for `crash_rounds` rounds.
        crash: f64 [is 0.0] in number(0.0, 1.0);
        /// Number of rounds that a crash lasts, that of the crash included.
        crash_rounds: u32 [is 3] in whole(1, 64);
        /// Probability that an upload misses the deadline; it arrives in the next round and is
        /// refused as stale.
        straggler: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that an upload is lost.
        loss: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that a broadcast does not reach an agent.
        broadcast_loss: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that an upload arrives twice; the second is refused.
        duplicate: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that one bit of an upload's frame flips; the checksum refuses it.
        corrupt: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that a frame promises more numbers than are admitted; it is refused unread.
        oversize: f64 [is 0.0] in number(0.0, 1.0);
        /// Probability that an upload arrives after those of its neighbours.
        reorder: f64 [is 0.0] in number(0.0, 1.0);
        /// File of the rounds in which agents are there, relative to where `sordino` is started.
        trace: Option<PathBuf> [none "trace.csv"];
        /// SHA-256 of that file, filled in where it is read: a run folder says which one it was
        /// made with.
        trace_digest: Option<String> [none "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"];
    }
}

impl FaultConfig {
    /// Checks what no rule of a key says.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let digest = self.trace_digest.as_deref();
        digest.map_or(Ok(()), |digest| hexadecimal("faults.trace_digest", digest))
    }

    /// Whether nothing ever goes wrong.
    pub fn is_none(&self) -> bool {
        *self
            == FaultConfig {
                crash_rounds: self.crash_rounds,
                ..FaultConfig::default()
            }
    }
}
