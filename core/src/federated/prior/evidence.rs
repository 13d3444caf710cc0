//! How far an agent's own data bear out each model: factors that grow by a row an observation, and
//! weights.
//!
//! **Equation**: ln weight of model (α, s²) = ln prior − ½‖L⁻¹(yₙ − αmₙ)‖² − Σ ln Lᵢᵢ with LLᵀ =
//! s²Kₙ + λI, up to one constant. The factor of n observations is the factor of the first n − 1 and
//! one row more, so an agent that keeps its factors pays n² a query for each distinct s², one that
//! rebuilds them n³/3, with the same bits.

use super::contribution::{Observations, kernel_row};
use super::error::PriorError;
use super::public::Public;
use crate::linalg::slice::{self, part, part_mut};
use crate::linalg::{NotPositiveDefinite, lower, packed_len, sum_of_squares};
use crate::math::Scalar;

/// The most models of one query.
pub const MODELS_MAX: usize = 16;

/// How an agent's function may relate to the common draw m: αm + s·g.
///
/// **Example**: that of [`super::Query`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model<T> {
    /// α ≥ 0: 0 ignores the common draw, 1 trusts it.
    pub trust: T,
    /// s² > 0: variance of what is the agent's own, in units of the kernel's.
    pub variance: T,
    /// ln of its prior weight, up to a constant.
    pub log_prior: T,
}

/// The usual models: (0, 1) and (1, s²) for s² in 1, .3, .1, .03, .01; prior weight ∝ s^`power`: 0
/// for even weights, 1 or 2 for a smaller price where nothing can be shared.
pub fn models<T: Scalar>(power: u32) -> [Model<T>; 6] {
    [
        (0.0, 1.0),
        (1.0, 1.0),
        (1.0, 0.3),
        (1.0, 0.1),
        (1.0, 0.03),
        (1.0, 0.01),
    ]
    .map(|(trust, variance)| Model {
        trust: T::from_f64(trust),
        variance: T::from_f64(variance),
        log_prior: T::from_f64(0.5 * f64::from(power) * Scalar::ln(variance)),
    })
}

/// Factors that a list of models needs: one for every s² that differs from the one before it; 5 for
/// [`models`].
pub fn levels<T: Scalar>(models: &[Model<T>]) -> usize {
    models.chunk_by(same_level).count()
}

fn same_level<T: Scalar>(a: &Model<T>, b: &Model<T>) -> bool {
    a.variance == b.variance
}

/// Numbers of [`Factors`] for at most this number of observations and [`levels`].
pub const fn factors_len(observations: usize, levels: usize) -> usize {
    levels * (packed_len(observations) + 1)
}

/// The factors of s²K + λI over an agent's observations, one for each level of its models, and half
/// their ln det.
///
/// **Example**: that of [`super::Query`].
#[derive(Debug)]
pub struct Factors<'a, T> {
    capacity: usize,
    rows: &'a mut u32,
    storage: &'a mut [T],
}

impl<'a, T: Scalar> Factors<'a, T> {
    /// Factors of at most `capacity` observations in `storage` of [`factors_len`] numbers, of which
    /// those of the first `rows` observations are there already; 0 if the content is anything else,
    /// or of other models or candidates.
    pub fn new(capacity: usize, rows: &'a mut u32, storage: &'a mut [T]) -> Self {
        Factors {
            capacity,
            rows,
            storage,
        }
    }

    /// Appends the rows of the observations that are not there yet; `row` is scratch of n numbers.
    ///
    /// **Errors**: [`PriorError::Length`], [`PriorError::Number`] for a model out of range,
    /// [`PriorError::Singular`]; what is there stays then.
    pub(super) fn extend(
        &mut self,
        public: &Public<'_, T>,
        noise_variance: T,
        models: &[Model<T>],
        observations: &Observations<'_, T>,
        row: &mut [T],
    ) -> Result<(), PriorError> {
        check(models)?;
        let n = observations.len();
        let len = self.storage.len();
        let expected = factors_len(self.capacity, levels(models));
        if n > self.capacity || len < expected || *self.rows as usize > n {
            return Err(PriorError::Length {
                what: "factors",
                len,
                expected,
            });
        }
        if *self.rows == 0 {
            for level in 0..levels(models) {
                self.level_mut(level).1.fill(T::ZERO);
            }
        }
        for i in *self.rows as usize..n {
            let kernel = slice::head_mut(row, i + 1);
            kernel_row(public, observations, kernel);
            for (level, models) in models.chunk_by(same_level).enumerate() {
                let Some(Model { variance, .. }) = models.first() else {
                    continue;
                };
                let (factor, _) = self.level_mut(level);
                let grown = lower::row_mut(factor, i);
                grown
                    .iter_mut()
                    .zip(&*kernel)
                    .for_each(|(to, k)| *to = *variance * *k);
                if let Some(diagonal) = grown.last_mut() {
                    *diagonal += noise_variance;
                }
            }
            self.append_rows(levels(models), i)?;
            // Only now that every level has the row: an error before leaves sums and count as they
            // were.
            for level in 0..levels(models) {
                let (factor, ln_det) = self.level_mut(level);
                let pivot = lower::row(factor, i)
                    .last()
                    .map_or(T::ZERO, |pivot| pivot.ln());
                ln_det.iter_mut().for_each(|sum| *sum += pivot);
            }
            *self.rows += 1;
        }
        Ok(())
    }

    /// Factors row i of every level.
    fn append_rows(&mut self, levels: usize, i: usize) -> Result<(), NotPositiveDefinite> {
        // A device has no registers for several at once.
        if cfg!(feature = "dispatch") {
            self.solve_row(levels, i);
        }
        for level in 0..levels {
            let (factor, _) = self.level_mut(level);
            if cfg!(feature = "dispatch") {
                lower::finish_row(lower::row_mut(factor, i), T::ZERO)?;
            } else {
                lower::append_row(factor, i, T::ZERO)?;
            }
        }
        Ok(())
    }

    /// Row n of every level ← L⁻¹ of it, L the factor of the first n rows.
    fn solve_row(&mut self, levels: usize, n: usize) {
        let stride = self.stride();
        lower::solve_side_by_side(slice::head_mut(self.storage, levels * stride), stride, n);
    }

    const fn stride(&self) -> usize {
        factors_len(self.capacity, 1)
    }

    /// The factor of a level, and Σ ln Lᵢᵢ as a slice of one number.
    fn level_mut(&mut self, level: usize) -> (&mut [T], &mut [T]) {
        let stride = self.stride();
        let len = packed_len(self.capacity);
        slice::split(part_mut(self.storage, level * stride, stride), len)
    }

    /// As [`Factors::level_mut`], to read.
    fn level(&self, level: usize) -> (&[T], T) {
        let stride = self.stride();
        let len = packed_len(self.capacity);
        let both = part(self.storage, level * stride, stride);
        (slice::head(both, len), slice::at(both, len))
    }

    /// The factor that model `index` uses.
    pub(super) fn of(&self, models: &[Model<T>], index: usize) -> &[T] {
        self.level(levels(slice::head(models, index + 1)).saturating_sub(1))
            .0
    }

    /// ln of every model's weight, up to one constant; `common` is m at the observed points,
    /// `residual` scratch, n each.
    pub(super) fn log_weights(
        &mut self,
        models: &[Model<T>],
        common: &[T],
        observations: &Observations<'_, T>,
        residual: &mut [T],
    ) -> [T; MODELS_MAX] {
        let n = residual.len();
        let half = T::from_f64(0.5);
        let mut weights = [T::ZERO; MODELS_MAX];
        let fill = |trust: T, residual: &mut [T]| {
            for ((r, common), (_, y)) in residual.iter_mut().zip(common).zip(observations.iter()) {
                *r = y - trust * *common;
            }
        };
        // The row that the next observation will take is free, so the first model of every level is
        // solved for there, all of them side by side. A device would need more stack for it than
        // its bound.
        let beside = cfg!(feature = "dispatch") && n < self.capacity;
        if beside {
            for (level, models) in models.chunk_by(same_level).enumerate() {
                let trust = models.first().map_or(T::ZERO, |model| model.trust);
                fill(
                    trust,
                    slice::head_mut(lower::row_mut(self.level_mut(level).0, n), n),
                );
            }
            self.solve_row(levels(models), n);
        }
        let mut places = weights.iter_mut();
        for (level, models) in models.chunk_by(same_level).enumerate() {
            let (factor, ln_det) = self.level(level);
            for (i, (model, weight)) in models.iter().zip(places.by_ref()).enumerate() {
                let squares = if beside && i == 0 {
                    sum_of_squares(slice::head(lower::row(factor, n), n))
                } else {
                    fill(model.trust, residual);
                    lower::solve(factor, residual);
                    sum_of_squares(residual)
                };
                *weight = model.log_prior - half * (squares + (ln_det + ln_det));
            }
        }
        weights
    }
}

/// 1 to [`MODELS_MAX`] models of numbers that a model can have.
fn check<T: Scalar>(models: &[Model<T>]) -> Result<(), PriorError> {
    if models.is_empty() || models.len() > MODELS_MAX {
        return Err(PriorError::Length {
            what: "models",
            len: models.len(),
            expected: MODELS_MAX,
        });
    }
    for Model {
        trust,
        variance,
        log_prior,
    } in models
    {
        if !(*variance > T::ZERO
            && variance.is_finite()
            && trust.is_finite()
            && log_prior.is_finite())
        {
            return Err(PriorError::Number {
                what: "variance of a model",
                value: variance.to_f64(),
                admissible: "(0, inf), trust and prior finite",
            });
        }
    }
    Ok(())
}

/// The first model at which the sum of weights passes `unit` times the whole.
pub(super) fn pick<T: Scalar>(log_weights: &[T], unit: T) -> usize {
    let largest = log_weights
        .iter()
        .fold(-T::INFINITY, |largest, w| largest.max(*w));
    let weight = |w: &T| (*w - largest).exp();
    let mut total = T::ZERO;
    for w in log_weights {
        total += weight(w);
    }
    let mut sum = T::ZERO;
    let target = unit * total;
    for (i, w) in log_weights.iter().enumerate() {
        sum += weight(w);
        if sum > target {
            return i;
        }
    }
    log_weights.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_drawn_by_weight_however_small_the_evidence() {
        let shift = |by: f64| [0.25f64, 0.5, 0.25].map(|p| p.ln() + by);
        for by in [0.0, -1e5, 1e5] {
            let picked = [0.0, 0.2, 0.3, 0.7, 0.8, 0.999].map(|u| pick(&shift(by), u));
            assert_eq!(picked, [0, 0, 1, 1, 2, 2], "{by}");
        }
        // Nothing to choose from, one that is impossible, single precision.
        assert_eq!(pick(&[-f64::INFINITY, 0.0], 0.0), 1);
        assert_eq!(pick(&[-3e4f32, -3e4], 0.6), 1);
        assert_eq!(models::<f64>(0).map(|model| model.log_prior), [0.0; 6]);
        assert!((models::<f64>(2)[5].log_prior - 0.01f64.ln()).abs() < 1e-15);
        assert_eq!(
            [0, 1, 2, 6].map(|n| levels(&models::<f32>(0)[..n])),
            [0, 1, 1, 5]
        );
    }
}
