//! Draws of whole functions: a prior draw made of features plus the exact update that the
//! observations ask of it.
//!
//! **Equation**: f(x) = φ(x)·w + k(x)·(K + σ²I)⁻¹(y − Φw − e), w ~ N(0, I), e ~ N(0, σ²I)
//! (Matheron's rule). The features approximate only the prior part; what the data say is exact. One
//! draw costs a solve, one value M + n.
//!
//! **Source**: Wilson et al. 2020 and 2021.
//!
//! **Example**: that of [`PathwiseDraw`].

use super::{ExactGp, SurrogateError};
use crate::features::FeatureMap;
use crate::kernel::Kernel;
use crate::linalg::block::{self, WIDTH};
use crate::linalg::dot;
use crate::linalg::slice::{self, head_mut};
use crate::math::Scalar;
use crate::random::{Stream, normal};

/// Numbers of scratch a draw or a value needs: the larger of features and observations.
pub const fn scratch_len(features: usize, observations: usize) -> usize {
    if features > observations {
        features
    } else {
        observations
    }
}

/// Numbers of scratch that [`PathwiseDraw::values`] needs.
pub const fn batch_scratch_len(features: usize, observations: usize) -> usize {
    features + observations * WIDTH
}

/// One drawn function, in two slices of the caller: `weights` (M numbers) and `update` (one number
/// per observation).
///
/// It is a function of the model as it was when it was drawn; after another observation, draw a new
/// one.
///
/// ```
/// use sordino_core::features::{RandomFourier, random_fourier};
/// use sordino_core::kernel::{SquaredExponential, Stationary};
/// use sordino_core::random::Stream;
/// use sordino_core::surrogate::{ExactGp, exact, pathwise, pathwise::PathwiseDraw};
///
/// let mut frequencies = [0f64; random_fourier::storage_len(1, 64)];
/// random_fourier::draw(7, 0, Stationary::SquaredExponential, &[0.2], 1, 64, &mut frequencies)?;
/// let features = RandomFourier::new(1, 64, 1.0, false, &frequencies[..])?;
/// let storage = vec![0.0; exact::storage_len(1, 4)];
/// let mut gp = ExactGp::new(SquaredExponential::new(0.2, 1.0)?, 0.0, 1, 4, storage)?; // no noise
/// gp.observe(&[0.5], 1.25)?;
/// let (mut weights, mut update, mut scratch) = ([0.0; 64], [0.0; 1], [0.0; pathwise::scratch_len(64, 1)]);
/// let stream = &mut Stream::from_seed(1);
/// let function = PathwiseDraw::new(&gp, &features, stream, &mut weights, &mut update, &mut scratch)?;
/// // Whatever was drawn, it passes through what was observed.
/// assert!((function.value(&gp, &features, &[0.5], &mut scratch)? - 1.25).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PathwiseDraw<'a, T> {
    weights: &'a [T],
    update: &'a [T],
}

impl<'a, T: Scalar> PathwiseDraw<'a, T> {
    /// Draws a function from the posterior of `gp`; the features must be those of its kernel.
    ///
    /// **Errors**: [`SurrogateError::Storage`] if `weights`, `update` or `scratch`
    /// ([`scratch_len`]) is too short; [`SurrogateError::Dimension`] if features and model differ
    /// in it.
    ///
    /// **Cost**: n(M features) + 2n² flops; M normals for w, then n for e.
    pub fn new<K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>, F: FeatureMap<T>>(
        gp: &ExactGp<T, K, S>,
        features: &F,
        stream: &mut Stream,
        weights: &'a mut [T],
        update: &'a mut [T],
        scratch: &mut [T],
    ) -> Result<Self, SurrogateError> {
        let m = features.count();
        let n = gp.len();
        if features.dim() != gp.dim() {
            return Err(SurrogateError::Dimension {
                expected: gp.dim(),
                given: features.dim(),
            });
        }
        for (needed, given) in [
            (m, weights.len()),
            (n, update.len()),
            (scratch_len(m, n), scratch.len()),
        ] {
            if given < needed {
                return Err(SurrogateError::Storage { needed, given });
            }
        }
        let weights = head_mut(weights, m);
        let update = head_mut(update, n);
        let phi = head_mut(scratch, m);
        normal::fill(stream, weights);
        normal::fill(stream, update);
        let observations = gp
            .inputs()
            .chunks_exact(gp.dim().max(1))
            .zip(gp.targets())
            .zip(gp.counts());
        for (e, ((x, y), count)) in update.iter_mut().zip(observations) {
            features.features(x, phi);
            // An average of c observations has noise variance σ²/c.
            *e = *y - dot(phi, weights) - *e * (gp.noise_variance() / *count).sqrt();
        }
        gp.solve(update)?;
        Ok(PathwiseDraw { weights, update })
    }

    /// The drawn function at x; `gp` and `features` are those it was drawn from.
    ///
    /// **Errors**: as [`PathwiseDraw::new`]. **Cost**: M features and n covariances.
    pub fn value<K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>, F: FeatureMap<T>>(
        &self,
        gp: &ExactGp<T, K, S>,
        features: &F,
        x: &[T],
        scratch: &mut [T],
    ) -> Result<T, SurrogateError> {
        let m = self.weights.len();
        let n = self.update.len();
        if x.len() != gp.dim() || n != gp.len() || m != features.count() {
            return Err(SurrogateError::Dimension {
                expected: gp.dim(),
                given: x.len(),
            });
        }
        let needed = scratch_len(m, n);
        let given = scratch.len();
        if given < needed {
            return Err(SurrogateError::Storage { needed, given });
        }
        let phi = head_mut(scratch, m);
        features.features(x, phi);
        let prior = dot(phi, self.weights);
        let column = head_mut(scratch, n);
        gp.kernel().covariances(x, gp.inputs(), column);
        Ok(gp.prior_mean() + prior + dot(column, self.update))
    }
    /// The drawn function at a row-major list of points, as many as `out` holds, with the bits of
    /// [`PathwiseDraw::value`].
    ///
    /// **Parameters**: `scratch` of [`batch_scratch_len`].
    ///
    /// **Errors**: as [`PathwiseDraw::new`]; nothing is written then. **Cost**: that of as many
    /// values, 16 side by side.
    pub fn values<K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>, F: FeatureMap<T>>(
        &self,
        gp: &ExactGp<T, K, S>,
        features: &F,
        points: &[T],
        out: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), SurrogateError> {
        let m = self.weights.len();
        let n = self.update.len();
        let dim = gp.dim();
        if points.len() != out.len() * dim || n != gp.len() || m != features.count() {
            return Err(SurrogateError::Dimension {
                expected: out.len() * dim,
                given: points.len(),
            });
        }
        let needed = batch_scratch_len(m, n);
        let given = scratch.len();
        let Some((phi, rest)) = scratch.split_at_mut_checked(m) else {
            return Err(SurrogateError::Storage { needed, given });
        };
        let Some(block) = rest.as_chunks_mut::<WIDTH>().0.get_mut(..n) else {
            return Err(SurrogateError::Storage { needed, given });
        };
        for (points, out) in points
            .chunks((WIDTH * dim).max(1))
            .zip(out.chunks_mut(WIDTH))
        {
            for (input, row) in gp.inputs().chunks_exact(dim.max(1)).zip(block.iter_mut()) {
                let (row, unused) = slice::split(row, out.len());
                unused.fill(T::ZERO);
                gp.kernel().covariances(input, points, row);
            }
            let updates = block::dot(self.update, block);
            for ((x, out), update) in points.chunks_exact(dim.max(1)).zip(out).zip(updates) {
                features.features(x, phi);
                *out = gp.prior_mean() + dot(phi, self.weights) + update;
            }
        }
        Ok(())
    }
}
