//! The same observations under another kernel or noise variance.

use super::storage::{split, storage_len};
use crate::kernel::Kernel;
use crate::linalg::slice::{self, at, head, head_mut, set};
use crate::linalg::{lower, packed_len, sum_of_squares};
use crate::math::Scalar;
use crate::surrogate::SurrogateError;
use crate::surrogate::noise::RowNoise;

/// Numbers of scratch that [`refactor`] needs for `len` rows: n(n + 1)/2 + n.
pub const fn refactor_scratch_len(len: usize) -> usize {
    packed_len(len) + len
}

/// Factors the first `len` rows of a storage again, for another kernel or noise variance: inputs,
/// values, counts and scatters stay.
///
/// **Parameters**: `noise_floor` as in
/// [`ExactGp::with_noise_floor`](super::ExactGp::with_noise_floor); `scratch` of
/// [`refactor_scratch_len`], where the new factor is made before the old one is given up.
///
/// **Errors**: [`SurrogateError::Storage`]; [`SurrogateError::NoiseVariance`];
/// [`SurrogateError::Singular`]; [`SurrogateError::NonFinite`] if the values are so large that
/// squares overflow. Nothing has changed then.
///
/// **Cost**: n³/3 flops, n²/2 covariances.
pub fn refactor<T: Scalar, K: Kernel<T>>(
    kernel: &K,
    noise_variance: T,
    noise_floor: T,
    dim: usize,
    capacity: usize,
    len: usize,
    storage: &mut [T],
    scratch: &mut [T],
) -> Result<(), SurrogateError> {
    let noise = checked(noise_variance, noise_floor, dim, capacity, len, storage)?;
    let needed = refactor_scratch_len(len);
    let given = scratch.len();
    if given < needed {
        return Err(SurrogateError::Storage { needed, given });
    }
    let parts = split(storage, dim, capacity);
    let (factor, rest) = slice::split(scratch, packed_len(len));
    let whitened = head_mut(rest, len);
    let rows = Rows {
        inputs: head(parts.inputs, len * dim),
        counts: parts.counts,
        targets: parts.targets,
        dim,
    };
    rows.factor(kernel, noise, factor, whitened)?;
    slice::copy(factor, head_mut(parts.factor, packed_len(len)));
    slice::copy(whitened, head_mut(parts.whitened, len));
    Ok(())
}

/// The least count of a row that fades: it says next to nothing, and its noise variance is still a
/// number in every format.
const FADED: f64 = 1e-12;

/// Multiplies how often the first `len` rows were repeated, and their scatters, by `kept` ≤ 1:
/// older observations count less, the noise variance of a row grows, at most to 10¹² times what it
/// was. The factor is another then: [`refactor_in_place`].
pub(crate) fn fade<T: Scalar>(kept: T, dim: usize, capacity: usize, len: usize, storage: &mut [T]) {
    let parts = split(storage, dim, capacity);
    for (count, scatter) in head_mut(parts.counts, len)
        .iter_mut()
        .zip(head_mut(parts.scatters, len))
    {
        let least = T::from_f64(FADED);
        (*count, *scatter) = ((*count * kept).max(least), *scatter * kept);
    }
}

/// [`refactor`] without scratch, with the same bits, for a storage that nobody uses if this fails.
///
/// **Errors**: as there; the factor then belongs to neither kernel.
pub(crate) fn refactor_in_place<T: Scalar, K: Kernel<T>>(
    kernel: &K,
    noise_variance: T,
    noise_floor: T,
    dim: usize,
    capacity: usize,
    len: usize,
    storage: &mut [T],
) -> Result<(), SurrogateError> {
    let noise = checked(noise_variance, noise_floor, dim, capacity, len, storage)?;
    let parts = split(storage, dim, capacity);
    let rows = Rows {
        inputs: head(parts.inputs, len * dim),
        counts: parts.counts,
        targets: parts.targets,
        dim,
    };
    rows.factor(kernel, noise, parts.factor, head_mut(parts.whitened, len))
}

fn checked<T: Scalar>(
    noise_variance: T,
    noise_floor: T,
    dim: usize,
    capacity: usize,
    len: usize,
    storage: &[T],
) -> Result<RowNoise<T>, SurrogateError> {
    let needed = storage_len(dim, capacity);
    let given = storage.len();
    if given < needed || len > capacity || dim == 0 {
        return Err(SurrogateError::Storage { needed, given });
    }
    RowNoise::new(noise_variance, noise_floor)
}

/// The rows that stay while the factor is made again.
struct Rows<'a, T> {
    inputs: &'a [T],
    counts: &'a [T],
    targets: &'a [T],
    dim: usize,
}

impl<T: Scalar> Rows<'_, T> {
    /// Row by row as [`ExactGp::observe`](super::ExactGp::observe) appends them.
    fn factor<K: Kernel<T>>(
        &self,
        kernel: &K,
        noise: RowNoise<T>,
        factor: &mut [T],
        whitened: &mut [T],
    ) -> Result<(), SurrogateError> {
        for (i, x) in self.inputs.chunks_exact(self.dim.max(1)).enumerate() {
            let row = lower::row_mut(factor, i);
            kernel.covariances(x, self.inputs, row);
            let diagonal = kernel.variance(x) + noise.of(at(self.counts, i));
            set(row, i, diagonal);
            let threshold = T::from_u32(i as u32 + 8) * T::EPSILON * diagonal;
            lower::append_row(factor, i, threshold).map_err(SurrogateError::Singular)?;
        }
        slice::copy(self.targets, whitened);
        lower::solve(factor, whitened);
        let squares = sum_of_squares(whitened);
        if squares.is_finite() {
            Ok(())
        } else {
            Err(SurrogateError::NonFinite {
                value: squares.to_f64(),
            })
        }
    }
}
