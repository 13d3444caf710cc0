//! A mask: as many words of ChaCha20 as a contribution has numbers, for one vector.
//!
//! **Source**: RFC 8439, block counter from 0, a nonce of zeros: the key serves one mask. Words are
//! little-endian.

use core::fmt;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use zeroize::Zeroize;

use super::error::ShareError;
use super::sum::Modulus;

/// Bytes of the key stream that are made at a time: one block.
const BLOCK: usize = 64;

/// The mask of one (run, epoch, attempt). It serves one vector, by which it is spent.
///
/// ```compile_fail,E0382
/// # fn twice(mask: sordino_core::federated::shares::Mask) {
/// let (mut first, mut second, mut share) = ([1], [2], [0; 4]);
/// mask.split(&mut first, &mut share);
/// mask.split(&mut second, &mut share);
/// # }
/// ```
///
/// ```compile_fail,E0599
/// # fn twice(mask: sordino_core::federated::shares::Mask) {
/// let second = mask.clone();
/// # }
/// ```
///
/// **Example**: that of [the module](super).
#[must_use = "a mask that hides nothing is lost"]
pub struct Mask {
    stream: ChaCha20,
    attempt: u32,
    modulus: Modulus,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mask {{ attempt: {} }}", self.attempt)
    }
}

impl Mask {
    pub(super) fn new(key: &[u8; 32], attempt: u32, modulus: Modulus) -> Self {
        Mask {
            stream: ChaCha20::new(key.into(), &[0; 12].into()),
            attempt,
            modulus,
        }
    }

    /// x − r into `share`, little-endian; returns the attempt, which goes with it. The integers are
    /// wiped.
    ///
    /// **Parameters**: `integers` the contribution, as the agent's own encoder checked it; `share`
    /// of [`Modulus::share_len`] bytes.
    ///
    /// **Errors**: [`ShareError::Length`], [`ShareError::TooLarge`]; the mask is spent and the
    /// integers are wiped all the same.
    pub fn split(self, integers: &mut [i64], share: &mut [u8]) -> Result<u32, ShareError> {
        let attempt = self.attempt;
        let split = self.hide(integers, share);
        integers.zeroize();
        split.map(|()| attempt)
    }

    fn hide(self, integers: &[i64], share: &mut [u8]) -> Result<(), ShareError> {
        let modulus = self.modulus;
        let expected = self.modulus.share_len(integers.len());
        if share.len() != expected {
            return Err(ShareError::Length {
                what: "share",
                len: share.len(),
                expected,
            });
        }
        if !integers.iter().fold(true, |all, x| all & modulus.holds(*x)) {
            return Err(ShareError::TooLarge);
        }
        let numbers = integers
            .iter()
            .zip(share.chunks_exact_mut(modulus.word_len()));
        self.each(numbers, |(x, bytes), r| {
            modulus.write((*x as u64).wrapping_sub(r), bytes)
        });
        Ok(())
    }

    /// Adds the mask to sums, as the helper does.
    pub(super) fn add_to(self, sums: &mut [u64]) {
        self.each(sums.iter_mut(), |sum, r| *sum = sum.wrapping_add(r));
    }

    fn each<I>(mut self, numbers: impl Iterator<Item = I>, mut act: impl FnMut(I, u64)) {
        let word = self.modulus.word_len();
        let mut block = [0u8; BLOCK];
        let mut at = BLOCK;
        for number in numbers {
            if at == BLOCK {
                block = [0; BLOCK];
                self.stream.apply_keystream(&mut block);
                at = 0;
            }
            act(number, self.modulus.read(&block[at..at + word]));
            at += word;
        }
        block.zeroize();
    }
}
