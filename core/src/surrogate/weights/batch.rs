//! Mean and variance at a point and at a list of points.

use super::{Form, WeightPosterior, WeightsError, split_dual, split_primal};
use crate::linalg::block::{self, WIDTH};
use crate::linalg::{dot, matvec, sum_of_squares};
use crate::math::Scalar;
use crate::surrogate::{Posterior, clamp};

/// Numbers of scratch for [`WeightPosterior::posterior`] and [`WeightPosterior::posteriors`] with
/// `m` features.
pub const fn batch_scratch_len(m: usize) -> usize {
    m + m * WIDTH
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> WeightPosterior<T, S> {
    /// Mean φ·ν and variance at a point given by its features.
    ///
    /// **Parameters**: `scratch` of [`batch_scratch_len`].
    ///
    /// **Errors**: [`WeightsError::Features`], [`WeightsError::Storage`].
    ///
    /// **Cost**: a mean and a variance: where several points are asked for, ask for them together.
    pub fn posterior(
        &mut self,
        phi: &[T],
        scratch: &mut [T],
    ) -> Result<Posterior<T>, WeightsError> {
        let m = self.feature_count;
        let (len, expected) = (scratch.len(), batch_scratch_len(self.feature_count));
        if phi.len() != m {
            return Err(WeightsError::Features {
                len: phi.len(),
                expected: m,
            });
        }
        let Some((nu, copy)) = scratch
            .get_mut(..2 * m)
            .and_then(|both| both.split_at_mut_checked(m))
        else {
            return Err(WeightsError::Storage { len, expected });
        };
        self.mean(nu);
        copy.iter_mut()
            .zip(phi)
            .for_each(|(copy, phi)| *copy = *phi);
        Ok(Posterior {
            mean: dot(phi, nu),
            variance: self.variance(copy),
        })
    }

    /// Means φᵢ·ν and variances at a list of points given by their features, rows of M numbers,
    /// with the bits of [`WeightPosterior::posterior`].
    ///
    /// **Parameters**: `scratch` of [`batch_scratch_len`].
    ///
    /// **Errors**: [`WeightsError::Features`] unless `rows` are `mean.len()` = `variance.len()`
    /// whole rows; [`WeightsError::Storage`]. Nothing is written then.
    ///
    /// **Cost**: one mean; then for each point M multiply-adds and one variance, 16 points side by
    /// side.
    pub fn posteriors(
        &mut self,
        rows: &[T],
        mean: &mut [T],
        variance: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), WeightsError> {
        let m = self.feature_count;
        let n = self.observations;
        let form = self.form();
        let lambda = self.regularization;
        if rows.len() != mean.len() * m || mean.len() != variance.len() {
            return Err(WeightsError::Features {
                len: rows.len(),
                expected: mean.len() * m,
            });
        }
        let len = scratch.len();
        let expected = batch_scratch_len(m);
        let Some((nu, rest)) = scratch
            .get_mut(..expected)
            .and_then(|scratch| scratch.split_at_mut_checked(m))
        else {
            return Err(WeightsError::Storage { len, expected });
        };
        self.mean(nu);
        matvec(rows, nu, mean);
        let block = rest.as_chunks_mut::<WIDTH>().0;
        for (rows, variance) in rows
            .chunks((WIDTH * m).max(1))
            .zip(variance.chunks_mut(WIDTH))
        {
            match form {
                Form::Dual => {
                    let dual = split_dual(self.storage.as_mut(), m);
                    let Some(block) = block.get_mut(..n) else {
                        continue;
                    };
                    for (column, row) in block.iter_mut().zip(dual.rows.chunks_exact(m.max(1))) {
                        matvec(rows, row, column);
                    }
                    block::solve(dual.factor, block);
                    let explained = block::sum_of_squares(block);
                    for ((phi, variance), explained) in
                        rows.chunks_exact(m.max(1)).zip(variance).zip(explained)
                    {
                        *variance =
                            clamp(sum_of_squares(phi) - explained, &mut self.variance_clamps);
                    }
                }
                Form::Primal => {
                    let primal = split_primal(self.storage.as_mut(), m);
                    for (w, phi) in rows.chunks_exact(m.max(1)).enumerate() {
                        for (column, phi) in block.iter_mut().zip(phi) {
                            if let Some(entry) = column.get_mut(w) {
                                *entry = *phi;
                            }
                        }
                    }
                    block::solve_root_transposed(primal.root, block);
                    for (variance, square) in variance.iter_mut().zip(block::sum_of_squares(block))
                    {
                        *variance = lambda * square;
                    }
                }
            }
        }
        Ok(())
    }
}
