//! The numbers of a prior file, checked once.

use super::error::PublicPriorError;
use super::rough::isotropic_sums;
use super::storage::{LANDMARKS_MAX, attach_len, numbers_len};
use crate::domain::DIM_MAX;
use crate::kernel::{Kernel, SquaredExponential};
use crate::linalg::slice::{self, head, head_mut};
use crate::linalg::{dot, lower, packed_len, sum_of_squares};
use crate::math::Scalar;

/// A squared pivot of k(P, P) is larger in both formats: 2⁻²¹. Publishers stop at 10⁻⁶.
const PIVOT_MIN: f64 = 1.0 / 2_097_152.0;
/// What is added to the diagonal of Σ for its check, in units of the mean of the diagonal.
const JITTER: f64 = 1e-6;
/// Weights, covariances and self-test are at most this large: no square overflows.
const MAGNITUDE_MAX: f64 = 1e6;

/// What a prior file holds, as it was read: nothing is checked yet.
///
/// **Example**: that of [`PublicPrior`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorNumbers<'a, T> {
    /// Number of coordinates D.
    pub dim: usize,
    /// P, M × D numbers in \[0, 1], landmark by landmark.
    pub landmarks: &'a [T],
    /// ℓ of the file's kernel, unit of the box.
    pub lengthscale: T,
    /// w, M numbers, one for each landmark.
    pub weights: &'a [T],
    /// Σ, the lower triangle row by row, M(M + 1)/2 numbers.
    pub covariance: &'a [T],
    /// B, the self-test.
    pub self_test: T,
}

impl<'a, T: Scalar> PriorNumbers<'a, T> {
    /// The numbers of a file in one row, as frames of the kind [`Prior`](crate::wire::Kind::Prior)
    /// and devices have them: ℓ, B, landmarks, weights, covariance.
    ///
    /// **Errors**: [`PublicPriorError::Dimension`]; [`PublicPriorError::Numbers`] for a length that
    /// is that of no file.
    ///
    /// ```
    /// use sordino_core::prior::{PriorNumbers, PublicPriorError, numbers_len};
    /// let row: [f32; numbers_len(2, 1)] = [0.2, 4.0, 0.2, 0.8, 1.0, -0.5, 0.1, 0.0, 0.3];
    /// let numbers = PriorNumbers::read(1, &row)?;
    /// assert_eq!((numbers.lengthscale, numbers.self_test, numbers.landmarks), (0.2, 4.0, &[0.2, 0.8][..]));
    /// assert_eq!((numbers.weights, numbers.covariance), (&[1.0, -0.5][..], &[0.1, 0.0, 0.3][..]));
    /// assert!(matches!(PriorNumbers::read(1, &row[1..]), Err(PublicPriorError::Numbers { len: 8, dim: 1 })));
    /// # Ok::<(), PublicPriorError>(())
    /// ```
    pub fn read(dim: usize, numbers: &'a [T]) -> Result<Self, PublicPriorError> {
        if !(1..=DIM_MAX).contains(&dim) {
            return Err(PublicPriorError::Dimension { dim });
        }
        let len = numbers.len();
        let known = (1..=LANDMARKS_MAX)
            .take_while(|count| numbers_len(*count, dim) <= len)
            .last();
        let count = known.filter(|count| numbers_len(*count, dim) == len);
        let count = count.ok_or(PublicPriorError::Numbers { len, dim })?;
        let (landmarks, rest) = slice::tail(numbers, 2)
            .split_at_checked(count * dim)
            .unwrap_or_default();
        let (weights, covariance) = rest.split_at_checked(count).unwrap_or_default();
        let lengthscale = slice::at(numbers, 0);
        let self_test = slice::at(numbers, 1);
        Ok(PriorNumbers {
            dim,
            landmarks,
            lengthscale,
            weights,
            covariance,
            self_test,
        })
    }
}

/// A prior file that was checked: m(x) = φ(x)·w and its uncertainty φ(x)ᵀΣφ(x), φ(x) = L⁻¹k(P, x),
/// L = chol k(P, P).
///
/// The numbers stay where they are, in flash say; L is kept in storage that the caller lends.
///
/// ```
/// use sordino_core::prior::{PriorNumbers, PublicPrior, PublicPriorError, attach_len};
/// let numbers = PriorNumbers {
///     dim: 1,
///     landmarks: &[0.2, 0.8],
///     lengthscale: 0.2,
///     weights: &[1.0, -0.5],
///     covariance: &[0.1, 0.0, 0.3], // Σ₁₁; Σ₂₁, Σ₂₂
///     self_test: 4.0,
/// };
/// let mut storage = [0.0; attach_len(2)];
/// let prior = PublicPrior::attach(numbers, &mut storage)?;
/// let scratch = &mut [0f64; 2];
/// // φ of the first landmark is (1, 0).
/// assert!((prior.mean(&[0.2], scratch)? - 1.0).abs() < 1e-12);
/// assert!((prior.variance(&[0.2], scratch)? - 0.1).abs() < 1e-12);
///
/// // A covariance that is none, and two landmarks at one place.
/// let refused = PublicPrior::attach(PriorNumbers { covariance: &[0.1, 0.4, 0.3], ..numbers }, &mut [0.0; 3]).err();
/// assert!(matches!(refused, Some(PublicPriorError::Covariance(_))));
/// let refused = PublicPrior::attach(PriorNumbers { landmarks: &[0.2, 0.2], ..numbers }, &mut [0.0; 3]).err();
/// assert!(matches!(refused, Some(PublicPriorError::Singular(_))));
/// # Ok::<(), PublicPriorError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PublicPrior<'a, T> {
    numbers: PriorNumbers<'a, T>,
    kernel: SquaredExponential<T>,
    /// L, packed by rows.
    factor: &'a [T],
}

impl<'a, T: Scalar> PublicPrior<'a, T> {
    /// Checks everything once and keeps L in `storage` of [`attach_len`] numbers, which also serves
    /// as scratch.
    ///
    /// **Errors**: [`PublicPriorError`] names the number, its place and the admissible range. A
    /// landmark is refused whose squared pivot in k(P, P) is at most 2⁻²¹, a covariance with a
    /// diagonal that is not positive, or without a factor once 10⁻⁶ of its mean diagonal was added.
    ///
    /// **Cost**: 2·M³/6 multiply-adds, M²/2 exponentials.
    pub fn attach(
        numbers: PriorNumbers<'a, T>,
        storage: &'a mut [T],
    ) -> Result<Self, PublicPriorError> {
        let count = check_lengths(&numbers, storage.len())?;
        let kernel = check_numbers(&numbers)?;
        check_covariance(
            numbers.covariance,
            count,
            head_mut(storage, packed_len(count)),
        )?;
        let dim = numbers.dim;
        let points = numbers.landmarks;
        for row in 0..count {
            let point = slice::part(points, row * dim, dim);
            kernel.covariances(
                point,
                head(points, (row + 1) * dim),
                lower::row_mut(storage, row),
            );
            lower::append_row(storage, row, T::from_f64(PIVOT_MIN))
                .map_err(PublicPriorError::Singular)?;
        }
        Ok(PublicPrior {
            numbers,
            kernel,
            factor: storage,
        })
    }

    /// The same file with L where the caller has it, in flash say, and not in storage: `factor` is
    /// what [`PublicPrior::factor`] of it says, on whatever machine, in the same format. `scratch`
    /// of [`attach_len`] numbers is free afterwards, for a search say.
    ///
    /// **Errors**: as [`PublicPrior::attach`]; a factor that differs from the file's by a bit is
    /// [`PublicPriorError::Number`]. **Cost**: as there.
    ///
    /// ```
    /// # use sordino_core::prior::{PriorNumbers, PublicPrior, attach_len};
    /// # let (landmarks, weights, covariance) = (&[0.2, 0.8], &[1.0, -0.5], &[0.1, 0.0, 0.3]);
    /// let numbers = PriorNumbers { dim: 1, landmarks, lengthscale: 0.2f32, weights, covariance, self_test: 4.0 };
    /// let mut storage = [0.0; attach_len(2)];
    /// // Once, on a host; then it is a constant.
    /// let factor = PublicPrior::attach(numbers, &mut storage)?.factor().to_vec();
    /// let prior = PublicPrior::attach_with_factor(numbers, &factor, &mut storage)?;
    /// storage.fill(0.0);
    /// assert!((prior.mean(&[0.2], &mut [0.0; 2])? - 1.0).abs() < 1e-6);
    /// assert!(PublicPrior::attach_with_factor(numbers, &[1.0, 0.0, 1.0], &mut storage).is_err());
    /// # Ok::<(), sordino_core::prior::PublicPriorError>(())
    /// ```
    pub fn attach_with_factor(
        numbers: PriorNumbers<'a, T>,
        factor: &'a [T],
        scratch: &mut [T],
    ) -> Result<Self, PublicPriorError> {
        let kernel = {
            let computed = PublicPrior::attach(numbers, scratch)?;
            let len = factor.len();
            let expected = computed.factor().len();
            if len != expected {
                return Err(PublicPriorError::Length {
                    what: "factor",
                    len,
                    expected,
                });
            }
            let differs = |(given, own): (&T, &T)| !(*given == *own);
            if let Some(index) = factor.iter().zip(computed.factor()).position(differs) {
                let value = slice::at(factor, index).to_f64();
                return Err(PublicPriorError::Number {
                    what: "factor",
                    index,
                    value,
                    admissible: "that of the landmarks",
                });
            }
            computed.kernel
        };
        Ok(PublicPrior {
            numbers,
            kernel,
            factor,
        })
    }

    /// The same file with the L that [`PublicPrior::attach`] made of these very numbers before, in
    /// the same program. Of both the lengths are held against each other and no number is judged
    /// again: other numbers, or another L, give false moments.
    ///
    /// **Errors**: [`PublicPriorError`] for lengths and for a lengthscale that is none. **Cost**:
    /// none.
    ///
    /// ```
    /// # use sordino_core::prior::{PriorNumbers, PublicPrior, attach_len};
    /// # let (landmarks, weights, covariance) = (&[0.2, 0.8], &[1.0, -0.5], &[0.1, 0.0, 0.3]);
    /// let numbers = PriorNumbers { dim: 1, landmarks, lengthscale: 0.2, weights, covariance, self_test: 4.0 };
    /// let mut storage = [0.0; attach_len(2)];
    /// let mean = PublicPrior::attach(numbers, &mut storage)?.mean(&[0.3], &mut [0.0; 2])?;
    /// let again = PublicPrior::attach_again(numbers, &storage)?;
    /// assert_eq!(again.mean(&[0.3], &mut [0.0; 2])?, mean);
    /// assert!(PublicPrior::attach_again(numbers, &storage[1..]).is_err());
    /// # Ok::<(), sordino_core::prior::PublicPriorError>(())
    /// ```
    pub fn attach_again(
        numbers: PriorNumbers<'a, T>,
        factor: &'a [T],
    ) -> Result<Self, PublicPriorError> {
        check_lengths(&numbers, factor.len())?;
        Ok(PublicPrior {
            numbers,
            kernel: kernel_of(&numbers)?,
            factor,
        })
    }

    /// L, the factor of k(P, P), packed by rows: [`attach_len`] numbers.
    ///
    /// **Example**: that of [`PublicPrior::attach_with_factor`].
    pub fn factor(&self) -> &'a [T] {
        head(self.factor, packed_len(self.count()))
    }

    /// Number of coordinates D.
    pub fn dim(&self) -> usize {
        self.numbers.dim
    }

    /// Number of landmarks M, which is that of features.
    pub fn count(&self) -> usize {
        self.numbers.weights.len()
    }

    /// B, the file's self-test.
    pub fn self_test(&self) -> T {
        self.numbers.self_test
    }

    /// The numbers as they were given.
    pub fn numbers(&self) -> &PriorNumbers<'a, T> {
        &self.numbers
    }

    /// φ(x) into `out`, M numbers. **Errors**: [`PublicPriorError::Length`] of the point or of
    /// `out`.
    ///
    /// **Cost**: M²/2 multiply-adds, M exponentials.
    pub fn features(&self, x: &[T], out: &mut [T]) -> Result<(), PublicPriorError> {
        for (what, len, expected) in [
            ("point", x.len(), self.dim()),
            ("features", out.len(), self.count()),
        ] {
            if len != expected {
                return Err(PublicPriorError::Length {
                    what,
                    len,
                    expected,
                });
            }
        }
        self.kernel_row(x, out);
        self.whiten(out);
        Ok(())
    }

    /// m(x) = φ(x)·w, in the file's own unit; `scratch` holds M numbers.
    ///
    /// **Errors** and **Cost**: as [`PublicPrior::features`].
    pub fn mean(&self, x: &[T], scratch: &mut [T]) -> Result<T, PublicPriorError> {
        self.features(x, scratch)?;
        Ok(self.mean_at(scratch))
    }

    /// φ(x)ᵀΣφ(x) ≥ 0, in the file's own unit, squared; `scratch` holds M numbers.
    ///
    /// **Errors**: as [`PublicPrior::features`]. **Cost**: M² multiply-adds, M exponentials.
    pub fn variance(&self, x: &[T], scratch: &mut [T]) -> Result<T, PublicPriorError> {
        self.features(x, scratch)?;
        Ok(self.variance_at(scratch))
    }

    /// φᵀΣφ' of two points, given by their features; numbers beyond M count as 0.
    ///
    /// ```
    /// # use sordino_core::prior::{PriorNumbers, PublicPrior, attach_len};
    /// # let (landmarks, weights) = (&[0.2, 0.8], &[1.0, -0.5]);
    /// let covariance = &[0.1, 0.05, 0.3];
    /// let numbers = PriorNumbers { dim: 1, landmarks, lengthscale: 0.2, weights, covariance, self_test: 4.0 };
    /// let mut storage = [0.0; attach_len(2)];
    /// let prior = PublicPrior::attach(numbers, &mut storage)?;
    /// assert_eq!(prior.covariance(&[1.0, 0.0], &[0.0, 1.0]), 0.05f64);
    /// # Ok::<(), sordino_core::prior::PublicPriorError>(())
    /// ```
    pub fn covariance(&self, features: &[T], others: &[T]) -> T {
        let mut sum = T::ZERO;
        for i in 0..self.count() {
            let Some((diagonal, row)) = lower::row(self.numbers.covariance, i).split_last() else {
                break;
            };
            let x = slice::at(features, i);
            let y = slice::at(others, i);
            sum += x * dot(row, others) + y * dot(row, features) + x * *diagonal * y;
        }
        sum
    }

    /// m(x) and φ(x)ᵀΣφ(x) of every candidate, pair after pair: what
    /// [`super::Newcomer::with_moments`] reads. A device that keeps them, in flash say, answers a
    /// few times faster.
    ///
    /// **Parameters**: `candidates` C × D numbers, `out` 2C, `scratch` M. **Errors**:
    /// [`PublicPriorError::Length`]. **Cost**: C·M² multiply-adds, C·M exponentials.
    pub fn moments(
        &self,
        candidates: &[T],
        out: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), PublicPriorError> {
        let count = candidates.len() / self.dim().max(1);
        let dim = self.dim();
        let lengths = [
            ("candidates", candidates.len(), count * dim),
            ("moments", out.len(), 2 * count),
            ("scratch", scratch.len(), self.count()),
        ];
        for (what, len, expected) in lengths {
            if len != expected {
                return Err(PublicPriorError::Length {
                    what,
                    len,
                    expected,
                });
            }
        }
        for ([mean, variance], point) in out
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .zip(slice::rows(candidates, dim))
        {
            self.features(point, scratch)?;
            (*mean, *variance) = (self.mean_at(scratch), self.variance_at(scratch));
        }
        Ok(())
    }

    /// k(P, x) into `out`, M numbers.
    pub(super) fn kernel_row(&self, x: &[T], out: &mut [T]) {
        self.kernel.covariances(x, self.numbers.landmarks, out);
    }

    /// −log₂e/2ℓ², of which 2 to the power is k.
    fn binary_scale(&self) -> T {
        let lengthscale = self.numbers.lengthscale;
        T::from_f64(-0.5 * core::f64::consts::LOG2_E) / (lengthscale * lengthscale)
    }

    /// 0, 0 and −log₂e|p|²/2ℓ² of every landmark p; log₂e·D/ℓ², the largest magnitude of any part
    /// of the exponent of a point of the box.
    pub(super) fn squares(&self, out: &mut [[T; 3]]) -> T {
        let scale = self.binary_scale();
        for (out, point) in out
            .iter_mut()
            .zip(slice::rows(self.numbers.landmarks, self.dim()))
        {
            *out = [T::ZERO, T::ZERO, scale * sum_of_squares(point)];
        }
        (scale + scale).abs() * T::from_u32(self.dim() as u32)
    }

    /// Products of k(P, x) with two rows, by exponentials of four digits.
    pub(super) fn rough_sums(&self, x: &[T], weights: &[[T; 3]]) -> (T, T) {
        isotropic_sums(self.binary_scale(), x, self.numbers.landmarks, weights)
    }

    /// k(P, x) becomes φ(x).
    pub(super) fn whiten(&self, row: &mut [T]) {
        lower::solve(self.factor, row);
    }

    /// φ·w, the file's mean at a point of these features.
    pub(super) fn mean_at(&self, features: &[T]) -> T {
        dot(features, self.numbers.weights)
    }

    /// φᵀΣφ, row by row of the triangle; rounding below 0 is 0.
    pub(super) fn variance_at(&self, features: &[T]) -> T {
        let mut sum = T::ZERO;
        for (i, x) in features.iter().enumerate() {
            let Some((diagonal, row)) = lower::row(self.numbers.covariance, i).split_last() else {
                break;
            };
            let before = dot(row, features);
            sum += *x * (before + before + *diagonal * *x);
        }
        sum.max(T::ZERO)
    }

    /// g = L⁻ᵀΣφ into `out`: then φᵀΣφ(x) = g·k(P, x) for every x.
    pub(super) fn link(&self, features: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        for (i, x) in features.iter().enumerate() {
            let Some((diagonal, row)) = lower::row(self.numbers.covariance, i).split_last() else {
                break;
            };
            let sum = dot(row, features) + *diagonal * *x;
            crate::linalg::axpy(*x, row, out);
            if let Some(place) = out.get_mut(i) {
                *place += sum;
            }
        }
        lower::solve_transposed(self.factor, out);
    }
}

/// The number of landmarks M, if every slice has the length that it asks for.
fn check_lengths<T: Scalar>(
    numbers: &PriorNumbers<'_, T>,
    storage: usize,
) -> Result<usize, PublicPriorError> {
    let dim = numbers.dim;
    let len = numbers.landmarks.len();
    if dim == 0 || dim > DIM_MAX {
        return Err(PublicPriorError::Dimension { dim });
    }
    let count = len / dim;
    if count == 0 || count > LANDMARKS_MAX || !len.is_multiple_of(dim) {
        return Err(PublicPriorError::Landmarks { len, dim });
    }
    let exact = [
        ("weights", numbers.weights.len(), count),
        ("covariance", numbers.covariance.len(), packed_len(count)),
        ("storage", storage.min(attach_len(count)), attach_len(count)),
    ];
    match exact.into_iter().find(|(_, len, expected)| len != expected) {
        Some((what, len, expected)) => Err(PublicPriorError::Length {
            what,
            len,
            expected,
        }),
        None => Ok(count),
    }
}

/// The kernel, if every number is in its range.
fn check_numbers<T: Scalar>(
    numbers: &PriorNumbers<'_, T>,
) -> Result<SquaredExponential<T>, PublicPriorError> {
    let unit = |x: T| x >= T::ZERO && x <= T::ONE;
    let bounded = |x: T| x.abs() <= T::from_f64(MAGNITUDE_MAX);
    inside("landmarks", numbers.landmarks, "[0, 1]", unit)?;
    inside("weights", numbers.weights, "[-1e6, 1e6]", bounded)?;
    inside("covariance", numbers.covariance, "[-1e6, 1e6]", bounded)?;
    inside(
        "self-test",
        &[numbers.self_test],
        "(-inf, inf)",
        T::is_finite,
    )?;
    kernel_of(numbers)
}

fn kernel_of<T: Scalar>(
    numbers: &PriorNumbers<'_, T>,
) -> Result<SquaredExponential<T>, PublicPriorError> {
    SquaredExponential::new(numbers.lengthscale, T::ONE).map_err(|_| PublicPriorError::Number {
        what: "lengthscale",
        index: 0,
        value: numbers.lengthscale.to_f64(),
        admissible: "(0, inf), its square and inverse square too",
    })
}

fn inside<T: Scalar>(
    what: &'static str,
    numbers: &[T],
    admissible: &'static str,
    holds: impl Fn(T) -> bool,
) -> Result<(), PublicPriorError> {
    match numbers.iter().enumerate().find(|(_, x)| !holds(**x)) {
        Some((index, x)) => Err(PublicPriorError::Number {
            what,
            index,
            value: x.to_f64(),
            admissible,
        }),
        None => Ok(()),
    }
}

/// Σ is a covariance as far as a factorisation can tell; `scratch` as long as it is.
fn check_covariance<T: Scalar>(
    covariance: &[T],
    count: usize,
    scratch: &mut [T],
) -> Result<(), PublicPriorError> {
    let mut trace = T::ZERO;
    for row in 0..count {
        let index = packed_len(row) + row;
        let value = slice::at(covariance, index);
        if !(value > T::ZERO) {
            return Err(PublicPriorError::Number {
                what: "covariance",
                index,
                value: value.to_f64(),
                admissible: "(0, 1e6] on the diagonal",
            });
        }
        trace += value;
    }
    let jitter = T::from_f64(JITTER) * trace / T::from_u32(count as u32);
    slice::copy(covariance, scratch);
    for row in 0..count {
        if let Some(diagonal) = lower::row_mut(scratch, row).last_mut() {
            *diagonal += jitter;
        }
        lower::append_row(scratch, row, T::ZERO).map_err(PublicPriorError::Covariance)?;
    }
    Ok(())
}
