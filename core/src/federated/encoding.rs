//! How an upload becomes integers of bounded norm, and what a release of their sum costs.
//!
//! The release itself (open, share, collect, merge, close, charge, receipt, noise, release, wipe)
//! is written once, in [`Server`](super::Server) and [`Collector`](super::Collector), for every
//! method.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::math::Scalar;
use crate::privacy::encode::{EncodeError, Outcome};
use crate::privacy::mechanism::gaussian::GridGaussian;

/// Counts of one broadcast. **Not releasable**: they depend on private vectors and on the secret
/// sample.
///
/// **Example**: that of [`super::Collector`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Uploads taken; public, because everybody uploads in every round.
    pub received: u32,
    /// Agents whose coin came up.
    pub selected: u32,
    /// Selected vectors longer than the clipping radius.
    pub clipped: u32,
    /// Selected vectors that were not finite, or too long to measure: they count as zero.
    pub zeroed: u32,
}

impl Counters {
    pub(super) const ZERO: Self = Counters {
        received: 0,
        selected: 0,
        clipped: 0,
        zeroed: 0,
    };

    /// Adds those of other agents; nothing if a count leaves 32 bits.
    #[cfg(feature = "alloc")]
    pub(super) fn add(&mut self, other: &Counters) -> Option<()> {
        for (own, more) in [
            (&mut self.received, other.received),
            (&mut self.selected, other.selected),
            (&mut self.clipped, other.clipped),
            (&mut self.zeroed, other.zeroed),
        ] {
            *own = own.checked_add(more)?;
        }
        Some(())
    }
}

pub(super) const SELECTED: u8 = 1;
pub(super) const UPLOADED: u8 = 2;

/// How the upload of one agent becomes integers of bounded norm, for one release: public numbers,
/// the same for a server and all of its collectors.
///
/// **Privacy**: a release is charged what [`Encoding::mechanism`] costs, and that holds only if the
/// integers of one agent have a norm of at most [`GridGaussian::radius`]. Encodings therefore live
/// in this crate, next to their proofs; nobody else can implement the trait. **Example**: that of
/// [`Draws`](super::Draws).
pub trait Encoding: sealed::Sealed {
    /// Number of agents N, present or not.
    fn agents(&self) -> u32;

    /// Numbers in one upload.
    fn upload_len(&self) -> usize;

    /// Numbers in the sums, and in what is released.
    fn sums_len(&self) -> usize;

    /// Digest of what the integers depend on, next to the release's number: a partial sum made with
    /// other numbers is refused.
    fn configuration(&self) -> Digest;

    /// Whether it is that of this release. What the configuration alone does not tell is told here.
    fn is_of(&self, _broadcast: u32) -> bool {
        true
    }

    /// The mechanism of the release; nothing for a mean, which protects nobody.
    fn mechanism(&self) -> Option<&GridGaussian>;

    /// What one agent changes of the decoded sum at most, in L2, under zero-out neighbours.
    fn l2_sensitivity(&self) -> f64;

    /// How many servers each add the whole noise of the mechanism: two where one of them is
    /// trusted, whichever it is ([`super::shares`]).
    fn noises(&self) -> u32 {
        1
    }

    /// Standard deviation of the noise on every released number, that of all servers; 0 without a
    /// mechanism.
    fn noise_std(&self) -> f64 {
        let one = self
            .mechanism()
            .map_or(0.0, |mechanism| mechanism.noise_std(self.l2_sensitivity()));
        one * Scalar::sqrt(f64::from(self.noises()))
    }

    /// Adds what `agent` uploaded to `sums`, clipped and checked in integers, if it is `selected`;
    /// the same work if not. Returns what became of it: **not releasable**.
    ///
    /// **Errors**: none for a vector of [`Encoding::upload_len`] numbers, whatever they are.
    fn add_if<T: Scalar>(
        &self,
        selected: bool,
        agent: u32,
        vector: &[T],
        sums: &mut [i64],
    ) -> Result<Outcome, EncodeError>;

    /// Whether vectors are summed at all: not in an ablation that releases noise alone.
    fn carries_vectors(&self) -> bool {
        true
    }

    /// The largest number in the sums of `uploaded` agents; asked only of an encoding without a
    /// mechanism.
    fn mean_limit(&self, _uploaded: u32) -> u64 {
        0
    }

    /// Decodes the sums of a mean that protects nobody; asked only of an encoding without a
    /// mechanism.
    fn decode_mean<T: Scalar>(&self, _sums: &[i64], out: &mut [T]) {
        out.fill(T::ZERO);
    }
}

pub(super) mod sealed {
    /// Implemented in this crate alone.
    pub trait Sealed {}
}
