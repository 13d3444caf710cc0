//! Discrete Laplace noise on integers: exact pure ε.
//!
//! **Equation**: release = clamp(clamp(j, low, high) + X, low − B, high + B), X discrete Laplace of
//! scale Δ/ε.
//!
//! **Theorem.** For inputs whose clamped integers differ by at most Δ the release is ε-private,
//! exactly.
//!
//! **Proof.** P(X = x) ∝ e^(−|x|ε/Δ) on *all* integers, so shifting by k ≤ Δ changes every
//! probability by at most e^(kε/Δ) ≤ e^ε. The sampler saturates X at 1024 scales; B is chosen so
//! that every saturated draw lands on the outer clamp whatever the input, so the law after the
//! clamp is that of the untruncated noise: the support does not move with the input. ∎
//!
//! **Assumed**: the *inner* clamp is what the guarantee rests on; it is done in integers, and a NaN
//! becomes a public value before it. Coins exact up to 2⁻²⁹⁰ (bounded loops), far below any
//! generator's own security. **Not closed**: the sampler's time is correlated with |X| (0.77): draw
//! ahead of the data, send on a fixed schedule.
//!
//! **Example**: that of [`ClampedLaplace`].

use core::fmt;
use core::marker::PhantomData;

use crate::math::Scalar;
use crate::privacy::epsilon::Epsilon;
use crate::privacy::event::{Event, NeighboringRelation, Release};
use crate::random::exact::{Bits, LAPLACE_SCALES_MAX};
use crate::random::{NoiseError, NoiseSource, Provenance};

/// Why a Laplace mechanism cannot be configured. None depends on a protected value.
///
/// **Example**: that of [`ClampedLaplace`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LaplaceError {
    /// The sensitivity is outside 1..=2³².
    Sensitivity(u64),
    /// low > high, or the range is wider than the noise can hide (1024 scales) or than 2⁵⁰.
    Range {
        /// Smallest input.
        low: i64,
        /// Largest input as given.
        high: i64,
    },
    /// The grid exponent is outside 4..=24.
    GridExponent(u32),
    /// The bound on the input is not positive and finite.
    Bound(f64),
}

impl fmt::Display for LaplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaplaceError::Sensitivity(x) => write!(f, "sensitivity {x} is not in 1..=4294967296"),
            LaplaceError::Range { low, high } => {
                write!(f, "input range {low}..={high} is empty or too wide")
            }
            LaplaceError::GridExponent(m) => write!(f, "grid_exponent {m} is not in 4..=24"),
            LaplaceError::Bound(x) => write!(f, "bound {x} is not positive and finite"),
        }
    }
}

impl core::error::Error for LaplaceError {}

/// The mechanism on integers.
///
/// ```
/// use sordino_core::privacy::mechanism::laplace::{DiscreteLaplace, LaplaceNoise};
/// use sordino_core::privacy::{Epsilon, Event, NeighboringRelation, Simulated};
/// use sordino_core::random::Stream;
///
/// // A count between 0 and 100, which one person changes by at most 1.
/// let (epsilon, relation) = (Epsilon::new(0.5)?, NeighboringRelation::AddOrRemoveOne);
/// let mechanism = DiscreteLaplace::new(1, epsilon, 0, 100, relation)?;
/// assert_eq!(mechanism.scale(), 2.0); // Δ/ε
/// let source = &mut Simulated::new(Stream::from_seed(1));
/// let noise: LaplaceNoise<_> = mechanism.draw_noise(source)?; // before the data is touched
/// let release = mechanism.release(42, noise);
/// assert_eq!(release.event(), Event::PureEpsilon { epsilon: 0.5, relation });
/// assert!((release.value() - 42).abs() < 100); // a draw of 50 scales has probability e^(−50)
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscreteLaplace {
    sensitivity: u64,
    epsilon: Epsilon,
    low: i64,
    high: i64,
    margin: i64,
    wide: bool,
    relation: NeighboringRelation,
}

/// What a [`DiscreteLaplace::wide`] release adds to its ε: above 2(1 + e^256)e^(−1024).
const WIDE_DELTA: f64 = 1e-300;

/// One draw that was made and not yet used. It remembers its scale: in a release of another scale
/// it becomes noise of the largest magnitude. Never prints what it holds.
///
/// **Example**: that of [`DiscreteLaplace`].
#[must_use]
pub struct LaplaceNoise<P: Provenance> {
    noise: i64,
    scale: (u64, u64),
    provenance: PhantomData<P>,
}

impl<P: Provenance> fmt::Debug for LaplaceNoise<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LaplaceNoise(..)")
    }
}

impl DiscreteLaplace {
    /// A mechanism for integers clamped to `low..=high` that change by at most `sensitivity` under
    /// `relation`.
    pub fn new(
        sensitivity: u64,
        epsilon: Epsilon,
        low: i64,
        high: i64,
        relation: NeighboringRelation,
    ) -> Result<Self, LaplaceError> {
        if sensitivity == 0 || sensitivity > 1 << 32 {
            return Err(LaplaceError::Sensitivity(sensitivity));
        }
        let width = high
            .checked_sub(low)
            .filter(|width| (0..1 << 50).contains(width));
        match (width, largest(sensitivity, epsilon)) {
            (Some(width), Some(largest))
                if width <= largest
                    && low.unsigned_abs() < 1 << 50
                    && high.unsigned_abs() < 1 << 50 =>
            {
                Ok(DiscreteLaplace {
                    sensitivity,
                    epsilon,
                    low,
                    high,
                    margin: largest - width,
                    wide: false,
                    relation,
                })
            }
            _ => Err(LaplaceError::Range { low, high }),
        }
    }

    /// The same for ranges of any width below 2⁵⁰. Where [`DiscreteLaplace::new`] refuses a range
    /// wider than 1024 scales, draws that saturate (probability e^(−1024)) no longer land on one
    /// clamp for all inputs: such a release is charged δ = 1e-300 besides ε, which bounds (1 + e^ε)
    /// times twice that probability for every admissible ε.
    pub fn wide(
        sensitivity: u64,
        epsilon: Epsilon,
        low: i64,
        high: i64,
        relation: NeighboringRelation,
    ) -> Result<Self, LaplaceError> {
        match (
            Self::new(sensitivity, epsilon, low, high, relation),
            largest(sensitivity, epsilon),
        ) {
            (Err(LaplaceError::Range { .. }), Some(largest))
                if low <= high && low.unsigned_abs().max(high.unsigned_abs()) < 1 << 49 =>
            {
                Ok(DiscreteLaplace {
                    sensitivity,
                    epsilon,
                    low,
                    high,
                    margin: largest,
                    wide: true,
                    relation,
                })
            }
            (narrow, _) => narrow,
        }
    }

    /// ε of one release.
    pub const fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The integer sensitivity Δ.
    pub const fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// Δ/ε, in grid units.
    pub fn scale(&self) -> f64 {
        self.sensitivity as f64 / self.epsilon.value()
    }

    /// What one release costs.
    pub fn event(&self) -> Event {
        let epsilon = self.epsilon.value();
        let relation = self.relation;
        if self.wide {
            return Event::ApproximateEpsilon {
                epsilon,
                delta: WIDE_DELTA,
                relation,
            };
        }
        Event::PureEpsilon { epsilon, relation }
    }

    /// Draws the noise, before the data is touched.
    pub fn draw_noise<S: NoiseSource>(
        &self,
        source: &mut S,
    ) -> Result<LaplaceNoise<S::Provenance>, NoiseError> {
        let t = self.sensitivity * Epsilon::DENOMINATOR; // ≤ 2⁵²
        let noise = Bits::new(source).discrete_laplace(self.epsilon.numerator(), t)?;
        Ok(LaplaceNoise {
            noise,
            scale: (self.sensitivity, self.epsilon.numerator()),
            provenance: PhantomData,
        })
    }

    /// Clamps, adds, clamps. Cannot fail, whatever the value: noise that was drawn for another
    /// scale is replaced by the largest there is, and the release says nothing.
    pub fn release<P: Provenance>(&self, value: i64, noise: LaplaceNoise<P>) -> Release<i64, P> {
        let inside = value.max(self.low).min(self.high);
        let own = noise.scale == (self.sensitivity, self.epsilon.numerator());
        let noised = if own {
            inside.saturating_add(noise.noise)
        } else {
            i64::MAX
        };
        let out = noised
            .max(self.low.saturating_sub(self.margin))
            .min(self.high.saturating_add(self.margin));
        Release::new(out, self.event())
    }
}

/// ⌊1024·t/s⌋, the magnitude of a saturated draw, < 2⁶².
fn largest(sensitivity: u64, epsilon: Epsilon) -> Option<i64> {
    let scaled = LAPLACE_SCALES_MAX
        .checked_mul(sensitivity)?
        .checked_mul(Epsilon::DENOMINATOR)?;
    scaled
        .checked_div(epsilon.numerator())
        .map(|largest| largest as i64)
}

/// One reward of one user, made private on the user's own device ("curious-to-learner" mechanism,
/// CTL).
///
/// **Equation**: g = 2b/2^m; j = ⌊(clamp(y, ±b) + b)/g⌋ in 0..=2^m; release −b + g·(j + X), X
/// discrete Laplace of scale 2^m/ε. NaN becomes the public value 0.
///
/// **Privacy**: exact pure ε for one report, under replacing the reward by any other: the
/// sensitivity is the whole range, 2^m. Unbounded observation noise is accepted and biased by the
/// clamp. Not protected: that the user takes part, the point, the time. k reports cost k·ε
/// ([`crate::privacy::epsilon::PureBudget`]).
///
/// **Source**: Zhou, Tan 2021, Algorithm 1 (CTL), which assumes |y| ≤ b where this enforces it.
///
/// ```
/// use sordino_core::privacy::mechanism::laplace::{ClampedLaplace, LaplaceError};
/// use sordino_core::privacy::{Epsilon, Event, NeighboringRelation, Simulated};
/// use sordino_core::random::Stream;
///
/// let device = ClampedLaplace::new(1.0, 16, Epsilon::new(0.5)?)?; // rewards in [−1, 1]
/// assert_eq!(device.scale(), 4.0); // 2b/ε
/// let report = device.privatize(0.7, &mut Simulated::new(Stream::from_seed(1)))?;
/// assert_eq!(report.event(), Event::PureEpsilon { epsilon: 0.5, relation: NeighboringRelation::ReplaceOne });
/// assert_eq!(ClampedLaplace::new(0.0, 16, Epsilon::new(0.5)?), Err(LaplaceError::Bound(0.0)));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClampedLaplace {
    mechanism: DiscreteLaplace,
    bound: f64,
    grid_exponent: u32,
}

impl ClampedLaplace {
    /// A mechanism: `bound` b = B + R > 0, public; `grid_exponent` m in 4..=24.
    pub fn new(bound: f64, grid_exponent: u32, epsilon: Epsilon) -> Result<Self, LaplaceError> {
        if !(4..=24).contains(&grid_exponent) {
            return Err(LaplaceError::GridExponent(grid_exponent));
        }
        if !(1e-100..=1e100).contains(&bound) {
            return Err(LaplaceError::Bound(bound));
        }
        let levels = 1u64 << grid_exponent;
        let mechanism = DiscreteLaplace::new(
            levels,
            epsilon,
            0,
            levels as i64,
            NeighboringRelation::ReplaceOne,
        )?;
        Ok(ClampedLaplace {
            mechanism,
            bound,
            grid_exponent,
        })
    }

    /// The mechanism on grid indices.
    pub const fn mechanism(&self) -> &DiscreteLaplace {
        &self.mechanism
    }

    /// 2b/ε, the scale of the noise in units of the reward.
    pub fn scale(&self) -> f64 {
        2.0 * self.bound / self.mechanism.epsilon().value()
    }

    /// What one report costs.
    pub fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// Draws the noise of one report and then touches the reward.
    pub fn privatize<T: Scalar, S: NoiseSource>(
        &self,
        reward: T,
        source: &mut S,
    ) -> Result<Release<T, S::Provenance>, NoiseError> {
        let noise = self.mechanism.draw_noise(source)?;
        let (index, event) = self
            .mechanism
            .release(self.index(reward), noise)
            .into_parts();
        Ok(Release::new(self.decode(index), event))
    }

    /// The grid index of a reward; the clamp that counts is done again in integers.
    fn index<T: Scalar>(&self, reward: T) -> i64 {
        let y = reward.to_f64();
        let y = match y {
            _ if y.is_nan() => 0.0,
            _ if y < -self.bound => -self.bound,
            _ if y > self.bound => self.bound,
            _ => y,
        };
        ((y + self.bound) / self.step()) as i64
    }

    fn decode<T: Scalar>(&self, index: i64) -> T {
        T::from_f64(index as f64 * self.step() - self.bound)
    }

    fn step(&self) -> f64 {
        2.0 * self.bound / (1u64 << self.grid_exponent) as f64
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::random::{Simulated, Simulation, Stream};
    use std::vec::Vec;

    fn mechanism(epsilon: f64) -> ClampedLaplace {
        ClampedLaplace::new(2.0, 10, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    #[test]
    fn every_input_gives_a_finite_report_on_the_grid() {
        let mut source = Simulated::new(Stream::from_seed(1));
        for y in [
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e308,
            -1e308,
            5e-324,
            2.0,
            -2.0,
        ] {
            for _ in 0..100 {
                let release = mechanism(1.0).privatize(y, &mut source).unwrap();
                let steps = (release.value() + 2.0) / (4.0 / 1024.0);
                assert!(release.value().is_finite() && steps == steps.round());
            }
        }
        assert_eq!(mechanism(1.0).index(f64::NAN), 512);
        assert_eq!(
            (
                mechanism(1.0).index(f64::INFINITY),
                mechanism(1.0).index(-1e308)
            ),
            (1024, 0)
        );
        assert_eq!(
            (mechanism(1.0).index(2.0f32), mechanism(1.0).index(-2.0f32)),
            (1024, 0)
        );
    }

    #[test]
    fn the_loss_is_epsilon_and_the_clamp_is_what_it_rests_on() {
        // Pr(report ≥ b) under y = +b against −b, n = 60,000: the true ratio is e^ε, and ten times
        // the reward changes nothing with the clamp. Level: 5 standard deviations of the log ratio.
        let n = 60_000;
        let share = |y: f64, clamp: bool, seed: u64| {
            let mut source = Simulated::new(Stream::from_seed(seed));
            let m = mechanism(1.0);
            let hits = (0..n)
                .filter(|_| {
                    if clamp {
                        *m.privatize(y, &mut source).unwrap().value() >= 2.0
                    } else {
                        // Negative control: the same noise on the raw reward.
                        let (noise, _) = m.privatize(0.0, &mut source).unwrap().into_parts();
                        y + noise >= 2.0
                    }
                })
                .count();
            hits as f64 / f64::from(n)
        };
        let ratio = |clamp| (share(20.0, clamp, 2) / share(-20.0, clamp, 3)).ln();
        let tolerance = 5.0 * (2.0f64 / (0.18 * f64::from(n))).sqrt();
        assert!((ratio(true) - 1.0).abs() < tolerance, "{}", ratio(true));
        assert!(
            ratio(false) > 4.0,
            "without the clamp the loss is ten times as large: {}",
            ratio(false)
        );
    }

    #[test]
    fn saturated_noise_ends_on_the_outer_clamp_for_every_input() {
        let m = mechanism(1.0).mechanism;
        let largest = (LAPLACE_SCALES_MAX << 10) as i64;
        for sign in [-1, 1] {
            let outs: Vec<i64> = [0, 1, 512, 1024, i64::MAX, i64::MIN]
                .map(|j| {
                    let noise = LaplaceNoise::<Simulation> {
                        noise: sign * largest,
                        scale: (m.sensitivity, m.epsilon.numerator()),
                        provenance: PhantomData,
                    };
                    *m.release(j, noise).value()
                })
                .to_vec();
            assert!(outs.iter().all(|out| *out == outs[0]), "{outs:?}");
        }
    }

    #[test]
    fn refuses_nonsense() {
        let one = Epsilon::new(1.0).unwrap();
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
            assert!(ClampedLaplace::new(bad, 20, one).is_err());
        }
        assert!(
            ClampedLaplace::new(1.0, 3, one).is_err() && ClampedLaplace::new(1.0, 25, one).is_err()
        );
        let relation = NeighboringRelation::ReplaceOne;
        assert!(DiscreteLaplace::new(0, one, 0, 1, relation).is_err());
        assert!(DiscreteLaplace::new(1, one, 2, 1, relation).is_err());
        assert!(DiscreteLaplace::new(1, one, i64::MIN, i64::MAX, relation).is_err());
        assert!(
            DiscreteLaplace::new(1, Epsilon::new(256.0).unwrap(), 0, 100, relation).is_err(),
            "4 < 100"
        );
        assert!(ClampedLaplace::new(1.0, 24, Epsilon::new(256.0).unwrap()).is_ok());
    }
}
