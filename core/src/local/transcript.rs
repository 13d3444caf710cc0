//! What a run of a learner is, as a chain of digests.

use crate::digest::Digest;
use crate::math::Scalar;

/// The next link: round, candidate, report. Reports are finite: a learner refuses others.
pub fn link<T: Scalar>(chain: &Digest, round: u32, candidate: u32, report: T) -> Digest {
    let mut frame = chain.frame();
    frame.u32(round);
    frame.u32(candidate);
    frame.scalars(&[report]);
    frame.end()
}
