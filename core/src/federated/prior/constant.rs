//! What the method knows of the constant that values are around, and units that every party makes
//! its own.
//!
//! **Equation**: for an unknown constant K⁻¹ is replaced by
//! P(K) = K⁻¹ − K⁻¹11ᵀK⁻¹/(1ᵀK⁻¹1), in an agent's innovation and in the virtual designs alike.
//!
//! **Theorem.** P(K) is the limit of (K + τ²11ᵀ)⁻¹ for τ → ∞, and P(K)1 = 0. **Proof.** By Sherman
//! and Morrison (K + τ²11ᵀ)⁻¹ = K⁻¹ − K⁻¹11ᵀK⁻¹/(τ⁻² + 1ᵀK⁻¹1). The second claim is a line. ∎ So a
//! constant that is added to all of an agent's values changes nothing that it sends. Computed as
//! K⁻¹(r − c1) with c = 1ᵀK⁻¹r/(1ᵀK⁻¹1), the generalised least squares estimate of the constant:
//! what is subtracted is small before it is solved for.

use serde::{Deserialize, Serialize};

use super::error::{PriorError, exactly};
use crate::linalg::{dot, largest_magnitude, lower, sum_of_squares};
use crate::math::Scalar;

/// The smallest mean variance that the ridge κ is computed with where the constant is projected
/// out.
const VARIANCE_MIN: f64 = 1e-3;

/// What is known of the constant that values are around: a public choice, the same for all parties.
///
/// ```
/// use sordino_core::federated::prior::{Config, Constant, Parameters};
///
/// let usual = Parameters::usual(66, 50, 10, 0.01);
/// assert_eq!(usual.constant, Constant::Known);
/// let projected = Config::new(Parameters { constant: Constant::Projected, ..usual })?;
/// assert_ne!(projected, Config::new(usual)?);
/// # Ok::<(), sordino_core::parameter::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Constant {
    /// It is known and was subtracted from all values: they have mean 0.
    #[default]
    Known,
    /// Nobody knows it: it is projected out, so that adding a constant to an agent's values changes
    /// nothing. Values are in the agent's own units ([`standardise`]), and κ = λ/max(p, 1e-3), with
    /// p the mean variance. Nobody knows how much agents have in common either: R takes an own part
    /// of 1 for granted.
    Projected,
}

/// What an agent's own part is believed to be where agents have units of their own, in prior
/// variances of a weight: as much as the population's before any release.
const OWN_PART: f64 = 1.0;

impl Constant {
    /// a, the variance of an agent's own weights that a release's covariance R is made with, for
    /// the h that clipping has shown.
    pub(super) fn own_part<T: Scalar>(self, h: T) -> T {
        match self {
            Constant::Known => h,
            Constant::Projected => h.max(T::from_f64(OWN_PART)),
        }
    }

    /// κ = λ/p for the mean variance p of a function under the posterior.
    pub(super) fn ridge<T: Scalar>(self, noise_variance: T, variance: T) -> T {
        noise_variance
            / match self {
                Constant::Known => variance,
                Constant::Projected => variance.max(T::from_f64(VARIANCE_MIN)),
            }
    }
}

/// K⁻¹1 into `ones` for the packed factor of K; returns 1ᵀK⁻¹1.
pub(super) fn ones_solved<T: Scalar>(factor: &[T], ones: &mut [T]) -> T {
    ones.fill(T::ONE);
    lower::solve(factor, ones);
    let total = sum_of_squares(ones);
    lower::solve_transposed(factor, ones);
    total
}

/// b ← P(K)b, for `ones` and `total` of [`ones_solved`].
pub(super) fn project_solve<T: Scalar>(factor: &[T], ones: &[T], total: T, b: &mut [T]) {
    let constant = dot(ones, b) / total;
    b.iter_mut().for_each(|x| *x -= constant);
    lower::solve(factor, b);
    lower::solve_transposed(factor, b);
}

/// An agent's own units: centre and scale of the values it began with.
///
/// ```
/// use sordino_core::federated::prior::Units;
///
/// let units = Units::of(&[101.0f64, 99.0, 101.0, 99.0])?;
/// assert_eq!([units.standardised(101.0), units.standardised(100.0), units.standardised(104.0)], [1.0, 0.0, 4.0]);
/// # Ok::<(), sordino_core::federated::prior::PriorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units<T> {
    /// Largest magnitude of a value, by which all are divided so that neither sum nor squares
    /// overflow.
    largest: T,
    /// Mean of the divided values.
    mean: T,
    /// Standard deviation of the divided values; 0 where they have no scale.
    std: T,
}

impl<T: Scalar> Units<T> {
    /// Mean and standard deviation (divisor n) of n values. Values that agree within four units in
    /// the last place of the largest have no scale: all become 0.
    ///
    /// **Errors**: [`PriorError::Number`] for a value that is not finite.
    pub fn of(values: &[T]) -> Result<Self, PriorError> {
        if let Some(value) = values.iter().find(|y| !y.is_finite()) {
            return Err(PriorError::Number {
                what: "value",
                value: value.to_f64(),
                admissible: "(-inf, inf)",
            });
        }
        let largest = largest_magnitude(values);
        let mut units = Units {
            largest,
            mean: T::ZERO,
            std: T::ZERO,
        };
        if !(largest > T::ZERO) {
            return Ok(units);
        }
        let count = T::from_u32(values.len() as u32);
        let mut sum = T::ZERO;
        let mut squares = T::ZERO;
        values.iter().for_each(|y| sum += *y / largest);
        units.mean = sum / count;
        for y in values {
            let difference = *y / largest - units.mean;
            squares += difference * difference;
        }
        let std = (squares / count).sqrt();
        if std > T::from_f64(4.0) * T::EPSILON {
            units.std = std;
        }
        Ok(units)
    }

    /// A value in these units, also one that came later.
    pub fn standardised(&self, value: T) -> T {
        if self.std > T::ZERO {
            (value / self.largest - self.mean) / self.std
        } else {
            T::ZERO
        }
    }
}

/// An agent's values in units of its own, into `out`: zᵢ = (yᵢ − mean y)/sd y, by [`Units::of`] the
/// values. What follows from them is the same for a·y + b with any a > 0 and b, up to rounding.
///
/// **Parameters**: `values` y and `out` z, n numbers each.
///
/// **Errors**: [`PriorError::Length`]; [`PriorError::Number`] for a value that is not finite. `out`
/// is unchanged then.
///
/// **Privacy**: computed by the agent of its own data alone. No bound rests on it: what is sent is
/// clipped.
///
/// ```
/// use sordino_core::federated::prior::standardise;
///
/// let mut z = [0f64; 4];
/// standardise(&[101.0, 99.0, 101.0, 99.0], &mut z)?;
/// assert_eq!(z, [1.0, -1.0, 1.0, -1.0]);
/// standardise(&[7.3; 4], &mut z)?;
/// assert_eq!(z, [0.0; 4]);
/// # Ok::<(), sordino_core::federated::prior::PriorError>(())
/// ```
pub fn standardise<T: Scalar>(values: &[T], out: &mut [T]) -> Result<(), PriorError> {
    exactly("standardised values", out.len(), values.len())?;
    let units = Units::of(values)?;
    for (z, y) in out.iter_mut().zip(values) {
        *z = units.standardised(*y);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::packed_len;

    /// Rows of a matrix: 1 at the diagonal and more, products of neighbours that are alike.
    fn factor<const N: usize>(constant: f64) -> [f64; 21] {
        let mut packed = [0.0; 21];
        for i in 0..N {
            for (j, k) in lower::row_mut(&mut packed, i).iter_mut().enumerate() {
                let d = (i as f64 - j as f64) / 1.7;
                *k = (-0.5 * d * d).exp_nonpositive() + constant + if i == j { 0.3 } else { 0.0 };
            }
        }
        lower::factor(&mut packed[..packed_len(N)], N, 0.0).unwrap();
        packed
    }

    #[test]
    fn the_projection_is_the_limit_of_a_vague_constant() {
        let b = [2.3, 1.0, 4.0, 2.7, 2.1, 1.6];
        let exact = factor::<6>(0.0);
        let mut ones = [0.0; 6];
        let mut projected = b;
        let total = ones_solved(&exact, &mut ones);
        project_solve(&exact, &ones, total, &mut projected);
        let vague = |variance: f64| {
            let factor = factor::<6>(variance);
            let mut x = b;
            lower::solve(&factor, &mut x);
            lower::solve_transposed(&factor, &mut x);
            x.iter()
                .zip(projected)
                .fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()))
        };
        assert!(vague(1e6) < 1e-5, "{}", vague(1e6));
        assert!(
            vague(1e3) > vague(1e6) && vague(0.0) > 0.1,
            "it is the limit, and not K⁻¹"
        );
        // Constants vanish, in b and in the answer.
        assert!(projected.iter().sum::<f64>().abs() < 1e-14);
        let mut moved = b.map(|x| x + 5e3);
        project_solve(&exact, &ones, total, &mut moved);
        assert!(
            moved
                .iter()
                .zip(projected)
                .all(|(a, b)| (a - b).abs() < 1e-11)
        );
    }

    #[test]
    fn units_do_not_matter_and_a_constant_has_none() {
        let y = [0.2f64, -1.3, 4.0, 2.2, 2.1];
        let mut z = [0.0; 5];
        let mut other = [0.0; 5];
        standardise(&y, &mut z).unwrap();
        assert!(z.iter().sum::<f64>().abs() < 1e-14 && (sum_of_squares(&z) - 5.0).abs() < 1e-13);
        for (scale, offset) in [(1e-300, 0.0), (3e5, -1e6), (1.0, 1e9), (1e307, 0.0)] {
            standardise(&y.map(|y| scale * y + offset), &mut other).unwrap();
            let lost = 1e-14 + f64::EPSILON * offset.abs() / scale;
            assert!(
                z.iter().zip(other).all(|(a, b)| (a - b).abs() < 4.0 * lost),
                "{scale} {offset}: {other:?}"
            );
        }
        for constant in [0.0, 0.1, 1e300, 5e-324] {
            standardise(&[constant; 5], &mut other).unwrap();
            assert_eq!(other, [0.0; 5], "{constant}");
        }
        let before = z;
        assert!(matches!(
            standardise(&[1.0, f64::NAN], &mut z[..2]),
            Err(PriorError::Number { what: "value", .. })
        ));
        assert!(matches!(
            standardise(&y, &mut z[..4]),
            Err(PriorError::Length {
                len: 4,
                expected: 5,
                ..
            })
        ));
        assert_eq!(z, before);
        // A scale of the first values alone serves the later ones.
        let units = Units::of(&y[..3]).unwrap();
        standardise(&y[..3], &mut other[..3]).unwrap();
        assert_eq!(
            y[..3]
                .iter()
                .map(|y| units.standardised(*y))
                .collect::<heapless::Vec<_, 3>>(),
            other[..3]
        );
    }
}
