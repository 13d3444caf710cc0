//! The helper's side of one epoch: masks are summed, the charge is written down, and only then is
//! noise drawn.

use core::fmt;

use zeroize::Zeroize;

use super::error::ShareError;
use super::key::HelperKey;
use super::sum::{Contributor, Modulus};
use crate::digest::Digest;
use crate::privacy::mechanism::gaussian::GridGaussian;
use crate::privacy::{Charge, Receipt};
use crate::random::{NoiseSource, Nonce, Provenance, SourceKind};

/// A helper that adds up the masks of one epoch. Its sums and its noise are wiped when it is
/// dropped.
///
/// **Privacy**: the caller answers **once** for a run and an epoch: it stores the answer before it
/// sends it, and sends the same again. A second answer with other noise, or for another set, is
/// another release of the same contributions.
///
/// **Example**: that of [the module](super).
pub struct HelperRelease<'a> {
    mechanism: GridGaussian,
    run: Digest,
    epoch: u32,
    modulus: Modulus,
    opening: (Nonce, SourceKind),
    last: Option<Contributor>,
    members: u64,
    sums: &'a mut [u64],
    noise: &'a mut [i64],
}

impl fmt::Debug for HelperRelease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HelperRelease {{ epoch: {}, members: {} }}",
            self.epoch, self.members
        )
    }
}

impl<'a> HelperRelease<'a> {
    /// Before the first agent, in storage that may hold anything.
    ///
    /// **Parameters**: `mechanism` of the epoch as the helper knows it, not as a leader says;
    /// `sums` and `noise` as long as a contribution.
    ///
    /// **Errors**: [`ShareError::Sampled`], [`ShareError::Length`], [`ShareError::Noise`].
    pub fn open<S: NoiseSource>(
        mechanism: GridGaussian,
        run: Digest,
        epoch: u32,
        modulus: Modulus,
        source: &mut S,
        sums: &'a mut [u64],
        noise: &'a mut [i64],
    ) -> Result<Self, ShareError> {
        if mechanism.flips_coins() {
            return Err(ShareError::Sampled);
        }
        if sums.len() != noise.len() {
            return Err(ShareError::Length {
                what: "noise",
                len: noise.len(),
                expected: sums.len(),
            });
        }
        let opening = (source.nonce()?, source.kind());
        sums.fill(0);
        Ok(HelperRelease {
            mechanism,
            run,
            epoch,
            modulus,
            opening,
            last: None,
            members: 0,
            sums,
            noise,
        })
    }

    /// Adds the mask of an agent in the leader's set.
    ///
    /// **Errors**: [`ShareError::Order`] for an agent that does not come after those before it;
    /// nothing was added.
    pub fn add(&mut self, contributor: Contributor, key: &HelperKey) -> Result<(), ShareError> {
        contributor.follows(self.last)?;
        key.mask(&self.run, self.epoch, contributor.attempt, self.modulus)
            .add_to(self.sums);
        (self.last, self.members) = (Some(contributor), self.members + 1);
        Ok(())
    }

    /// No further agents: what the answer costs, release number `release` of this helper (from 0).
    pub fn close<P: Provenance>(self, release: u64) -> (Charge<P>, ChargedHelper<'a>) {
        let charge = Charge::one(self.opening.0, release, self.mechanism.event());
        (charge, ChargedHelper(self))
    }
}

impl Drop for HelperRelease<'_> {
    fn drop(&mut self) {
        self.sums.zeroize();
        self.noise.zeroize();
    }
}

/// A helper that has named its charge and waits for the receipt.
///
/// **Example**: that of [the module](super).
#[derive(Debug)]
#[must_use = "what was charged is not answered yet"]
pub struct ChargedHelper<'a>(HelperRelease<'a>);

impl ChargedHelper<'_> {
    /// Draws the noise and writes Σr + ⌊2ᵐG⌋, little-endian. The receipt is spent, also by a
    /// refusal.
    ///
    /// **Parameters**: `answer` of [`Modulus::share_len`] bytes.
    ///
    /// **Errors**: [`ShareError::Length`], [`ShareError::OtherReceipt`], [`ShareError::Noise`];
    /// nothing was written then.
    pub fn answer<S: NoiseSource>(
        self,
        receipt: Receipt<S::Provenance>,
        source: &mut S,
        answer: &mut [u8],
    ) -> Result<(), ShareError> {
        let ChargedHelper(mut open) = self;
        let modulus = open.modulus;
        let expected = open.modulus.share_len(open.sums.len());
        if answer.len() != expected {
            return Err(ShareError::Length {
                what: "answer",
                len: answer.len(),
                expected,
            });
        }
        let paid = receipt.pays(open.opening.0, &[open.mechanism.event()]);
        if !paid || open.opening.1 != S::Provenance::KIND {
            return Err(ShareError::OtherReceipt);
        }
        let HelperRelease {
            mechanism,
            sums,
            noise,
            ..
        } = &mut open;
        let noise = mechanism.fill_noise(source, noise)?;
        mechanism.release_modulo(sums, noise)?;
        for (bytes, sum) in answer
            .chunks_exact_mut(modulus.word_len())
            .zip(open.sums.iter())
        {
            modulus.write(*sum, bytes);
        }
        Ok(())
    }
}
