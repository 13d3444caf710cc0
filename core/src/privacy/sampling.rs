//! Exact coins for Poisson sampling.
//!
//! **Example**: that of [`SamplingProbability`].

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::random::{NoiseError, NoiseSource};

/// The probability with which each record enters a sample, as an exact multiple of 2⁻⁶⁴.
///
/// **Privacy**: the probability asked for is rounded *up*, so what is accounted is never below what
/// is used.
///
/// ```
/// use sordino_core::privacy::{SamplingProbability, Simulated};
/// use sordino_core::random::Stream;
///
/// let third = SamplingProbability::new(1.0 / 3.0)?;
/// assert!(third.value() >= 1.0 / 3.0);
/// let source = &mut Simulated::new(Stream::from_seed(1)); // a deployment flips the coins of a `Secret`
/// let mut heads = 0;
/// for _ in 0..3_000 {
///     heads += i32::from(third.coin(source)?);
/// }
/// // 1000 are expected, with a standard deviation of √(3000·⅓·⅔) = 25.8; five of them:
/// assert!((heads - 1_000).abs() < 130);
/// assert!(SamplingProbability::new(1.5).is_err()); // `NotAProbability`
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct SamplingProbability {
    /// Words below this are heads; 2⁶⁴ itself is [`SamplingProbability::ONE`].
    threshold: u128,
}

/// A number that is not a probability.
///
/// **Example**: that of [`SamplingProbability`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotAProbability {
    /// The number as given.
    pub value: f64,
}

impl fmt::Display for NotAProbability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sampling_probability {} is not in [0, 1]", self.value)
    }
}

impl core::error::Error for NotAProbability {}

const WORDS: u128 = 1 << 64;

impl SamplingProbability {
    /// Probability 0: no record is ever in the sample.
    pub const ZERO: Self = SamplingProbability { threshold: 0 };
    /// Probability 1: every record is always in the sample.
    pub const ONE: Self = SamplingProbability { threshold: WORDS };

    /// The smallest multiple of 2⁻⁶⁴ that is not below `value`.
    ///
    /// **Errors**: [`NotAProbability`] if `value` is NaN or outside [0, 1].
    pub fn new(value: f64) -> Result<Self, NotAProbability> {
        if !(0.0..=1.0).contains(&value) {
            return Err(NotAProbability { value });
        }
        let scaled = value * 18_446_744_073_709_551_616.0; // exact: a power of two
        let mut threshold = scaled as u128;
        if (threshold as f64) < scaled {
            threshold += 1;
        }
        Ok(SamplingProbability { threshold })
    }

    /// The probability as a number, rounded up (exact for everything ≥ 2⁻¹¹ made from an `f64`).
    pub fn value(self) -> f64 {
        let rounded = self.threshold as f64;
        let up = if (rounded as u128) < self.threshold {
            rounded.next_up()
        } else {
            rounded
        };
        up * (1.0 / 18_446_744_073_709_551_616.0)
    }

    /// Words below this value are heads, out of 2⁶⁴.
    pub const fn threshold(self) -> u128 {
        self.threshold
    }

    /// One coin. **Cost**: exactly one word, whatever the probability.
    pub fn coin<S: NoiseSource>(self, source: &mut S) -> Result<bool, NoiseError> {
        Ok(u128::from(source.word()?) < self.threshold)
    }
}

impl TryFrom<f64> for SamplingProbability {
    type Error = NotAProbability;
    fn try_from(value: f64) -> Result<Self, NotAProbability> {
        Self::new(value)
    }
}

impl From<SamplingProbability> for f64 {
    fn from(probability: SamplingProbability) -> f64 {
        probability.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Simulated, Stream};

    #[test]
    fn rounds_up_and_refuses_nonsense() {
        for q in [0.0, 0.25, 0.1, 0.35, 1.0 - f64::EPSILON / 2.0, 1.0, 4.9e-4] {
            assert_eq!(SamplingProbability::new(q).unwrap().value(), q);
        }
        let small = SamplingProbability::new(1e-4).unwrap().value();
        assert!((1e-4..1e-4 + 1e-19).contains(&small));
        // Below the grid: rounded up to its first step, and a subnormal too.
        for q in [1e-30, f64::MIN_POSITIVE, 5e-324] {
            assert_eq!(SamplingProbability::new(q).unwrap().threshold(), 1);
        }
        let between = SamplingProbability::new(3.0e-19).unwrap();
        assert!(between.value() >= 3.0e-19 && between.threshold() == 6);
        assert_eq!(
            SamplingProbability::new(-0.0).unwrap(),
            SamplingProbability::ZERO
        );
        for q in [f64::NAN, -1e-300, 1.0 + f64::EPSILON, f64::INFINITY, -1.0] {
            assert!(SamplingProbability::new(q).is_err());
        }
    }

    #[test]
    fn coins_come_as_often_as_they_should_and_the_test_can_fail() {
        let mut source = Simulated::new(Stream::from_seed(9));
        let n = 200_000;
        for q in [0.0, 0.25, 0.35, 1.0] {
            let probability = SamplingProbability::new(q).unwrap();
            let hits = (0..n)
                .filter(|_| probability.coin(&mut source).unwrap())
                .count() as f64;
            // Level 6e-5; 0.3 in place of 0.25 is 50 standard deviations away.
            let z = |p: f64| {
                (hits - p * f64::from(n)).abs() / (f64::from(n) * p * (1.0 - p)).sqrt().max(1e-9)
            };
            assert!(z(q) < 4.0, "{q}");
            assert!(z(q + 0.05) > 4.0);
        }
    }
}
