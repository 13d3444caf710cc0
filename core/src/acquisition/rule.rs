//! What makes a point worth asking: a value with one method, of mean, variance and the best mean so
//! far.
//!
//! To add one, write a variant of [`Acquisition`] here: name, number and formula. The optimiser,
//! the library for C and the module for Python find it by these. A rule of your own needs no
//! variant: every function of (mean, variance, best) is a [`Rule`].
//!
//! ```
//! use sordino_core::acquisition::{Acquisition, Rule};
//! let optimistic = Acquisition::UpperConfidenceBound { width: 2.0 };
//! assert_eq!(optimistic.value(1.0, 9.0, 0.0), 1.0 + 2.0 * 3.0);
//! // The probability that it is better, say, up to something that increases with it.
//! let own = |mean: f64, variance: f64, best: f64| (mean - best) / variance.sqrt();
//! assert_eq!(own.value(1.0, 4.0, 0.0), 0.5);
//! ```

use serde::{Deserialize, Serialize};

use super::{log_expected_improvement, upper_confidence_bound};
use crate::math::Scalar;

/// An acquisition function: the larger it is at a point, the sooner that point is asked.
///
/// **Example**: that of [`rule`](self).
pub trait Rule<T: Scalar> {
    /// The value at a point of this posterior `mean` (unit y) and `variance` (y², not negative);
    /// `best` is the largest posterior mean at an observed point. −∞ or NaN: not to be asked. It
    /// should be smooth in mean and variance: a local search follows its slopes.
    fn value(&self, mean: T, variance: T, best: T) -> T;

    /// A number that the value is not above, and that costs less; +∞ where there is none. Where
    /// points of a list are compared on a host, one whose bound is below the best value so far is
    /// passed over.
    fn bound(&self, _mean: T, _variance: T, _best: T) -> T {
        T::INFINITY
    }
}

impl<T: Scalar, F: Fn(T, T, T) -> T> Rule<T> for F {
    fn value(&self, mean: T, variance: T, best: T) -> T {
        self(mean, variance, best)
    }
}

/// What is maximised to find the next point, by name.
///
/// **Example**: that of [`rule`](self).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Acquisition {
    /// The logarithm of the expected improvement over the best posterior mean at an observed point.
    ExpectedImprovement,
    /// Mean + width · standard deviation.
    UpperConfidenceBound {
        /// Multiplies the standard deviation; 2 is usual.
        width: f64,
    },
}

impl Acquisition {
    /// Number of acquisitions that have one.
    pub const COUNT: u32 = 2;

    /// By number, as programs in C choose: 0 expected improvement, 1 upper confidence bound.
    /// `width` is used by those that have one.
    pub const fn numbered(number: u32, width: f64) -> Option<Self> {
        match number {
            0 => Some(Acquisition::ExpectedImprovement),
            1 => Some(Acquisition::UpperConfidenceBound { width }),
            _ => None,
        }
    }

    /// The field's name of number `number`, as users of Python choose.
    pub const fn name(number: u32) -> Option<&'static str> {
        match number {
            0 => Some("expected-improvement"),
            1 => Some("upper-confidence-bound"),
            _ => None,
        }
    }
}

impl<T: Scalar> Rule<T> for Acquisition {
    #[inline]
    fn value(&self, mean: T, variance: T, best: T) -> T {
        match self {
            Acquisition::ExpectedImprovement => {
                log_expected_improvement::value(mean, variance, best)
            }
            Acquisition::UpperConfidenceBound { width } => {
                upper_confidence_bound::bound(mean, variance, T::from_f64(*width))
            }
        }
    }

    #[inline]
    fn bound(&self, mean: T, variance: T, best: T) -> T {
        match self {
            Acquisition::ExpectedImprovement => {
                log_expected_improvement::bound(mean, variance, best)
            }
            Acquisition::UpperConfidenceBound { .. } => T::INFINITY,
        }
    }
}

/// Slopes of a rule with respect to mean and variance, by central differences that follow the
/// standard deviation.
///
/// **Numerics**: steps of a thirty-second of the standard deviation (`f32`; `f64` 2⁻¹²) and of the
/// variance: the error is of second order in that, which a local search that compares values does
/// not feel.
pub(crate) fn slopes<T: Scalar>(rule: &impl Rule<T>, mean: T, variance: T, best: T) -> (T, T) {
    let share = T::from_f64(if T::BYTES == 4 {
        1.0 / 32.0
    } else {
        1.0 / 4096.0
    });
    let up = T::ONE + share;
    let down = T::ONE - share;
    let step = variance.sqrt() * share;
    let of_mean = (rule.value(mean + step, variance, best)
        - rule.value(mean - step, variance, best))
        / (step + step);
    let of_variance = (rule.value(mean, variance * up, best)
        - rule.value(mean, variance * down, best))
        / (variance * (share + share));
    (of_mean, of_variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_name_and_an_acquisition() {
        for number in 0..Acquisition::COUNT {
            assert!(
                Acquisition::numbered(number, 2.0).is_some() && Acquisition::name(number).is_some()
            );
        }
        assert!(
            Acquisition::numbered(Acquisition::COUNT, 2.0).is_none()
                && Acquisition::name(Acquisition::COUNT).is_none()
        );
    }

    #[test]
    fn slopes_of_expected_improvement_are_those_of_the_formula() {
        // ∂ ln EI/∂mean = Φ(u)/EI, ∂ ln EI/∂variance = φ(u)/(2σ·EI).
        for (mean, variance, best) in [(0.3f64, 0.5, 0.7), (-1.0, 0.04, 0.2), (2.0, 1.0, 0.0)] {
            let std = libm::sqrt(variance);
            let u = (mean - best) / std;
            let density = libm::exp(-0.5 * u * u) / libm::sqrt(core::f64::consts::TAU);
            let below = 0.5 * crate::math::erfc(-u * core::f64::consts::FRAC_1_SQRT_2);
            let gain = std * (density + u * below);
            let (of_mean, of_variance) =
                slopes(&Acquisition::ExpectedImprovement, mean, variance, best);
            assert!((of_mean / (below / gain) - 1.0).abs() < 1e-5, "{of_mean}");
            assert!(
                (of_variance / (density / (2.0 * std * gain)) - 1.0).abs() < 1e-5,
                "{of_variance}"
            );
            let single = slopes(
                &Acquisition::ExpectedImprovement,
                mean as f32,
                variance as f32,
                best as f32,
            );
            assert!(
                (f64::from(single.0) / of_mean - 1.0).abs() < 1e-2,
                "{single:?}"
            );
            assert!(
                (f64::from(single.1) / of_variance - 1.0).abs() < 1e-2,
                "{single:?}"
            );
        }
    }
}
