//! Information gain I(A) = ½ ln det(I + K_A/λ): how much observations of the points A say about the
//! function.
//!
//! Three numbers that papers all call γ, named apart:
//! * *greedy*: what the greedy choice of t points gains, [`greedy`]; at most the true maximum;
//! * *upper bound*: [`upper_bound`] = greedy/(1 − 1/e), at least the true maximum (Nemhauser,
//!   Wolsey and Fisher 1978);
//! * *of the run*: over the points actually played, [`RunGain`].
//!
//! **Example**: that of [`RunGain`].

use super::SurrogateError;
use super::finite::FiniteGp;
use crate::math::{Scalar, ln_1p};

/// Two variances count as tied when they differ by less than this many units in the last place of
/// the largest prior variance: points that are equal by symmetry stay equal under rounding.
const TIE: f64 = 64.0;

/// Observes `gains.len()` times the point of largest variance (repeats allowed, ties to the lowest
/// index) and writes I after each into `gains`, the points into `indices` if it holds that many.
///
/// **Parameters**: `posterior` is a fresh [`FiniteGp`] whose noise variance is λ; it ends as the
/// posterior of a run of zeros at the chosen points.
///
/// **Errors**: those of [`FiniteGp::observe`]; gains before it are valid.
///
/// **Cost**: N² flops a point.
pub fn greedy<T: Scalar, S: AsRef<[T]> + AsMut<[T]>>(
    posterior: &mut FiniteGp<T, S>,
    gains: &mut [T],
    indices: &mut [u32],
) -> Result<(), SurrogateError> {
    let mut gain = RunGain::new(posterior.noise_variance())?;
    let tie = T::from_f64(TIE) * T::EPSILON;
    let mut scale = None;
    for (t, out) in gains.iter_mut().enumerate() {
        let mut best = 0;
        let mut variance = -T::ONE;
        let at = |i: usize| {
            posterior
                .posterior(i)
                .map_or(T::ZERO, |posterior| posterior.variance)
        };
        let largest = (0..posterior.count()).fold(T::ZERO, |largest, i| largest.max(at(i)));
        let slack = tie * *scale.get_or_insert(largest);
        for i in 0..posterior.count() {
            if at(i) >= largest - slack {
                (best, variance) = (i, at(i));
                break;
            }
        }
        gain.play(variance);
        *out = T::from_f64(gain.value());
        posterior.observe(best, T::ZERO)?;
        if let Some(index) = indices.get_mut(t) {
            *index = best as u32;
        }
    }
    Ok(())
}

/// An upper bound of the largest information gain of t points, from the greedy one: greedy/(1 −
/// 1/e).
pub fn upper_bound<T: Scalar>(greedy: T) -> T {
    greedy / T::from_f64(1.0 - core::f64::consts::E.recip())
}

/// The information gain of a run: ½ Σ ln(1 + σ²_{t−1}(xₜ)/λ) over the points played.
///
/// ```
/// use sordino_core::surrogate::information_gain::RunGain;
///
/// let mut gain = RunGain::new(0.5)?; // λ
/// for variance in [1.0, 0.5] {
///     gain.play(variance);
/// }
/// assert!((gain.value() - 0.5 * (3f64.ln() + 2f64.ln())).abs() < 1e-15); // ½ Σ ln(1 + σ²/λ)
/// # Ok::<(), sordino_core::surrogate::SurrogateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunGain {
    regularization: f64,
    value: f64,
}

impl RunGain {
    /// Nothing played yet; `regularization` is λ > 0.
    ///
    /// **Errors**: [`SurrogateError::NoiseVariance`] unless positive and finite.
    pub fn new<T: Scalar>(regularization: T) -> Result<Self, SurrogateError> {
        let regularization = regularization.to_f64();
        if !(regularization > 0.0 && regularization.is_finite()) {
            return Err(SurrogateError::NoiseVariance {
                value: regularization,
            });
        }
        Ok(RunGain {
            regularization,
            value: 0.0,
        })
    }

    /// A point is played whose posterior variance was `variance` before; NaN and negative numbers
    /// count as 0.
    pub fn play<T: Scalar>(&mut self, variance: T) {
        let variance = variance.to_f64();
        if variance > 0.0 {
            self.value += 0.5 * ln_1p(variance / self.regularization);
        }
    }

    /// The gain so far.
    pub fn value(&self) -> f64 {
        self.value
    }
}
