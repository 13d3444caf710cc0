//! Sums of shares: the modulus, what a leader adds up, and what it opens.

use serde::{Deserialize, Serialize};

use super::super::encoding::Encoding;
use super::super::partial::PartialError;
use super::error::ShareError;
use crate::privacy::mechanism::gaussian::GridGaussian;

/// Standard deviations of one server's noise that a sum leaves room for, eleven of both servers'. A
/// noised sum beyond it wraps around, with probability below 10⁻²⁷ a number; that spoils the
/// release and costs no privacy.
const NOISE_ROOM: u128 = 16;

/// The largest number in the sum of so many contributions and both servers' noise.
const fn room(mechanism: &GridGaussian, contributors: u32) -> u128 {
    contributors as u128 * mechanism.radius() as u128 + (NOISE_ROOM << mechanism.grid_exponent())
}

/// 2t², t = 9: the norm of both servers' noise in k numbers, of standard deviation √2·2ᵐ each, is
/// above √2·2ᵐ(√k + t) with probability at most e^(−81/2) < 2.6e-18.
const NORM_ROOM: u128 = 2 * 81;

/// The largest norm of the sum of so many contributions and both servers' noise, n·K + √2·2ᵐ(√k +
/// 9) of k numbers. Each noise is rounded down by less than one unit a number; roots are rounded
/// up.
const fn norm_room(mechanism: &GridGaussian, contributors: u32, numbers: usize) -> u128 {
    let exponent = 2 * mechanism.grid_exponent();
    let numbers = numbers as u128;
    contributors as u128 * mechanism.radius() as u128
        + ((2 * numbers) << exponent).isqrt()
        + (NORM_ROOM << exponent).isqrt()
        + 2 * (numbers.isqrt() + 2)
}

/// Whether these noised sums can be those of so many contributions and both servers' noise.
///
/// **Privacy**: asked of sums that hold the leader's own noise and are charged, never before.
/// Whoever chose a helper's answer would else compare what agents sent with it, without noise.
pub(in super::super) fn can_be_noised(
    mechanism: &GridGaussian,
    contributors: u32,
    sums: &[i64],
) -> bool {
    let largest = room(mechanism, contributors);
    let norm = norm_room(mechanism, contributors, sums.len());
    // A number is at most 2⁶³ and the norm is below it: the squares of both fit together.
    let mut squares = 0u128;
    sums.iter().all(|sum| {
        let size = u128::from(sum.unsigned_abs());
        squares += size * size;
        size <= largest && squares <= norm * norm
    })
}

/// What integers are summed modulo: 2³² where the sums of a release fit, else 2⁶⁴.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Modulus {
    /// 2³², four bytes a number.
    Bits32,
    /// 2⁶⁴, eight bytes a number; enough for every mechanism on the grid.
    Bits64,
}

impl Modulus {
    /// The modulus for `contributors` agents under this mechanism: N·K and sixteen standard
    /// deviations of one server's noise must fit, with their sign. All parties compute it from what
    /// they agreed on.
    pub const fn fitting(mechanism: &GridGaussian, contributors: u32) -> Self {
        if room(mechanism, contributors) < 1 << 31 {
            Modulus::Bits32
        } else {
            Modulus::Bits64
        }
    }

    /// Bits of a number.
    pub const fn bits(self) -> u32 {
        match self {
            Modulus::Bits32 => 32,
            Modulus::Bits64 => 64,
        }
    }

    /// Bytes of a number.
    pub const fn word_len(self) -> usize {
        self.bits() as usize / 8
    }

    /// Bytes of a share, or of an answer, of so many numbers.
    pub const fn share_len(self, numbers: usize) -> usize {
        numbers * self.word_len()
    }

    pub(super) const fn holds(self, x: i64) -> bool {
        match self {
            Modulus::Bits32 => x == x as i32 as i64,
            Modulus::Bits64 => true,
        }
    }

    /// The representative in −2ᵇ⁻¹ … 2ᵇ⁻¹ − 1.
    pub(in super::super) const fn centred(self, word: u64) -> i64 {
        match self {
            Modulus::Bits32 => word as u32 as i32 as i64,
            Modulus::Bits64 => word as i64,
        }
    }

    /// A word of so many bytes, little-endian; missing ones are 0.
    pub(super) fn read(self, bytes: &[u8]) -> u64 {
        bytes
            .iter()
            .take(self.word_len())
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    pub(super) fn write(self, word: u64, bytes: &mut [u8]) {
        bytes
            .iter_mut()
            .zip(word.to_le_bytes())
            .for_each(|(to, from)| *to = from);
    }
}

/// An agent in the set U of a sum, with the attempt whose share was added.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contributor {
    /// Index of the agent.
    pub agent: u32,
    /// The attempt that its share came with.
    pub attempt: u32,
}

impl Contributor {
    /// Whether this may follow `before` in a set: agents increase, so that each is in it once.
    ///
    /// **Errors**: [`ShareError::Order`].
    ///
    /// **Privacy**: an agent that is in a set twice contributes twice, at twice the norm that is
    /// charged. A helper checks it; [`super::HelperRelease::add`] does.
    pub fn follows(self, before: Option<Contributor>) -> Result<(), ShareError> {
        match before {
            Some(before) if self.agent <= before.agent => Err(ShareError::Order {
                before: before.agent,
                agent: self.agent,
            }),
            _ => Ok(()),
        }
    }
}

/// The leader's sum of shares: random numbers to whoever does not know the masks.
///
/// **Example**: that of [the module](super).
#[derive(Debug)]
pub struct ShareSum<'a> {
    words: &'a mut [u64],
    modulus: Modulus,
}

impl<'a> ShareSum<'a> {
    /// A sum of shares, from zeros or as it was stored.
    pub const fn new(words: &'a mut [u64], modulus: Modulus) -> Self {
        ShareSum { words, modulus }
    }

    /// Adds a share.
    ///
    /// **Errors**: [`ShareError::Length`]; nothing was added.
    pub fn add(&mut self, share: &[u8]) -> Result<(), ShareError> {
        self.check("share", share.len())?;
        // Words of a length that the compiler knows: a leader reads every number of every agent
        // here.
        match self.modulus {
            Modulus::Bits32 => {
                self.plus(
                    share
                        .as_chunks()
                        .0
                        .iter()
                        .map(|bytes| u64::from(u32::from_le_bytes(*bytes))),
                );
            }
            Modulus::Bits64 => self.plus(
                share
                    .as_chunks()
                    .0
                    .iter()
                    .map(|bytes| u64::from_le_bytes(*bytes)),
            ),
        }
        Ok(())
    }

    fn plus(&mut self, words: impl Iterator<Item = u64>) {
        self.words
            .iter_mut()
            .zip(words)
            .for_each(|(sum, word)| *sum = sum.wrapping_add(word));
    }

    /// The sums, to be stored.
    pub const fn words(&self) -> &[u64] {
        self.words
    }

    fn check(&self, what: &'static str, len: usize) -> Result<(), ShareError> {
        let expected = self.modulus.share_len(self.words.len());
        if len == expected {
            Ok(())
        } else {
            Err(ShareError::Length {
                what,
                len,
                expected,
            })
        }
    }
}

/// What a leader opened for one broadcast, Σx + ⌊2ᵐG_h⌋ of some agents if its helper is honest.
/// [`Server::take`](crate::federated::Server::take) takes it once. Prints no number of it.
///
/// **Privacy**: it holds the noise of the helper alone. To everybody else it is not releasable
/// before the leader's own charge and noise.
///
/// **Example**: that of [the module](super).
pub struct Opened<'a> {
    modulus: Modulus,
    broadcast: u32,
    agents: u32,
    sums: &'a mut [i64],
}

impl core::fmt::Debug for Opened<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "Opened {{ broadcast: {}, agents: {} }}",
            self.broadcast, self.agents
        )
    }
}

impl<'a> Opened<'a> {
    /// Puts shares and answer together, centred modulo 2³² or 2⁶⁴.
    ///
    /// **Parameters**: `broadcast` that the shares were sent for; `agents`, how many shares; `out`
    /// as long as the sum.
    ///
    /// **Errors**: [`ShareError::Length`].
    pub fn new(
        shares: &ShareSum<'_>,
        answer: &[u8],
        broadcast: u32,
        agents: u32,
        out: &'a mut [i64],
    ) -> Result<Self, ShareError> {
        let modulus = shares.modulus;
        let expected = shares.words.len();
        shares.check("answer", answer.len())?;
        if out.len() != expected {
            return Err(ShareError::Length {
                what: "opened sums",
                len: out.len(),
                expected,
            });
        }
        let masks = answer
            .chunks_exact(modulus.word_len())
            .map(|bytes| modulus.read(bytes));
        for ((out, share), mask) in out.iter_mut().zip(shares.words.iter()).zip(masks) {
            *out = modulus.centred(share.wrapping_add(mask));
        }
        Ok(Opened {
            modulus,
            broadcast,
            agents,
            sums: out,
        })
    }

    /// Judges what is public of it against the release that is collected, of which `left` agents
    /// are not counted yet. Its numbers are judged when they hold the leader's noise, by
    /// [`can_be_noised`].
    pub(in super::super) fn judge<E: Encoding>(
        &self,
        broadcast: u32,
        left: u32,
        encoding: &E,
    ) -> Result<(), PartialError> {
        let found = self.broadcast;
        let len = self.sums.len();
        let expected = encoding.sums_len();
        let modulus = encoding
            .mechanism()
            .map(|mechanism| Modulus::fitting(mechanism, encoding.agents()));
        if found != broadcast {
            return Err(PartialError::Broadcast {
                found,
                expected: broadcast,
            });
        }
        if len != expected {
            return Err(PartialError::Length { len, expected });
        }
        if self.agents > left {
            return Err(PartialError::Agents {
                end: self.agents as usize,
                agents: left as usize,
            });
        }
        if modulus != Some(self.modulus) {
            return Err(PartialError::Configuration);
        }
        Ok(())
    }

    /// The broadcast that it was opened for.
    pub const fn broadcast(&self) -> u32 {
        self.broadcast
    }

    /// How many agents are in it.
    pub const fn agents(&self) -> u32 {
        self.agents
    }

    /// The numbers. **Not releasable.**
    pub const fn sums(&self) -> &[i64] {
        self.sums
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut *self.sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modulus_is_the_smallest_that_holds_the_sums_and_the_noise() {
        let at = |z, contributors| {
            Modulus::fitting(
                &GridGaussian::unsampled(20, z, contributors).unwrap(),
                contributors,
            )
        };
        // K = 2¹⁸: N·2¹⁸ + 2²⁴ < 2³¹ up to N = 8127.
        assert_eq!(
            [at(4.0, 50), at(4.0, 8127), at(4.0, 8128), at(0.5, 10_000)].map(Modulus::bits),
            [32, 32, 64, 64]
        );
        assert_eq!(
            (
                Modulus::Bits32.share_len(51),
                Modulus::Bits64.share_len(101)
            ),
            (204, 808)
        );
        for x in [0, 1, -1, i64::from(i32::MAX), i64::from(i32::MIN)] {
            for modulus in [Modulus::Bits32, Modulus::Bits64] {
                let mut bytes = [0; 8];
                modulus.write(x as u64, &mut bytes[..modulus.word_len()]);
                assert_eq!(modulus.centred(modulus.read(&bytes)), x);
                assert!(modulus.holds(x));
            }
        }
        assert!(!Modulus::Bits32.holds(1 << 31) && Modulus::Bits64.holds(i64::MIN));
    }
}
