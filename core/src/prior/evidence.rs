//! What the observations say about one hypothesis: factor, scale in closed form, log weight, best
//! visited point.

use super::hypothesis::Hypothesis;
use super::storage::FitParts;
use crate::linalg::slice::{self, at, head, head_mut};
use crate::linalg::{axpy, dot, lower, packed_len, sum_of_squares};
use crate::math::Scalar;

/// The observations, and what the file says about them.
pub(super) struct Rows<'a, T> {
    pub(super) dim: usize,
    /// Points of all candidates, row-major.
    pub(super) points: &'a [T],
    /// Candidate of each row.
    pub(super) asked: &'a [T],
    /// Value of each row; infinite of one that failed.
    pub(super) values: &'a [T],
    /// m at each of them.
    pub(super) means: &'a [T],
    /// φᵢᵀΣφⱼ, packed.
    pub(super) shared: &'a [T],
    /// Unit and zero of the model's values.
    pub(super) unit: Unit<T>,
    /// ν, the noise variance as a fraction of A².
    pub(super) noise: T,
}

impl<'a, T: Scalar> Rows<'a, T> {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether a candidate was told, or failed.
    pub(super) fn is_visited(&self, candidate: usize) -> bool {
        let candidate = T::from_u32(candidate as u32);
        self.asked.contains(&candidate)
    }

    /// Whether a candidate failed, once or always.
    pub(super) fn has_failed(&self, candidate: usize) -> bool {
        self.failed(T::from_u32(candidate as u32))
    }

    /// Whether a candidate, as a number, failed.
    fn failed(&self, candidate: T) -> bool {
        let mut rows = self.asked.iter().zip(self.values);
        rows.any(|(asked, value)| !value.is_finite() && *asked == candidate)
    }

    /// Whether none is left among those asked that did not fail.
    pub(super) fn all_failed(&self) -> bool {
        self.asked.iter().all(|asked| self.failed(*asked))
    }

    /// Coordinates of a candidate.
    pub(super) fn candidate(&self, candidate: usize) -> &'a [T] {
        slice::part(self.points, candidate * self.dim, self.dim)
    }

    /// Coordinates of observation i.
    pub(super) fn point(&self, i: usize) -> &'a [T] {
        self.candidate(at(self.asked, i).to_u32() as usize)
    }

    /// (y − y₁)/range of row i, 0 where the range is; of one that failed with the worst y.
    fn target(&self, i: usize) -> T {
        let unit = &self.unit;
        let value = at(self.values, i);
        let value = if value.is_finite() { value } else { unit.worst };
        if unit.range > T::ZERO {
            (value - unit.first) / unit.range
        } else {
            T::ZERO
        }
    }
}

/// What the model's values are counted in, and from where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit<T> {
    /// y₁, the first value told; 0 if none was.
    pub(super) first: T,
    /// The smallest value told.
    worst: T,
    /// The largest |y − y₁|; 0 if all values are equal.
    pub(super) range: T,
}

impl<T: Scalar> Unit<T> {
    /// Of the values of rows, which are infinite where one failed.
    pub(super) fn of(values: &[T]) -> Self {
        let told = || values.iter().copied().filter(|y| y.is_finite());
        let first = told().next().unwrap_or(T::ZERO);
        let farther = |largest: T, y: T| largest.max((y - first).abs());
        Unit {
            first,
            worst: told().fold(first, T::min),
            range: told().fold(T::ZERO, farther),
        }
    }
}

/// The numbers of a hypothesis; the others stand in [`FitParts`]. Values in units of the range,
/// from y₁ on.
#[derive(Clone, Debug)]
pub(super) struct Fitted<T> {
    /// A, in units of the range.
    pub(super) scale: T,
    /// β, in units of the range from y₁ on.
    pub(super) level: T,
    /// a₁·a₁, the precision of β at A = 1.
    pub(super) precision: T,
    pub(super) log_weight: T,
    /// Whether no squared pivot was below ν.
    pub(super) holds: bool,
}

/// Mean and variance at a candidate: posterior ones in units of the range, or m and φᵀΣφ in the
/// unit of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments<T> {
    pub(super) mean: T,
    pub(super) variance: T,
}

/// Factors the covariance of the observations under a hypothesis and weighs it. One observation or
/// more.
///
/// **Cost**: n³/6 + 3n²/2 multiply-adds, n²/2 exponentials.
pub(super) fn fit<T: Scalar>(
    rows: &Rows<'_, T>,
    hypothesis: &Hypothesis<T>,
    correlated: &mut Option<usize>,
    parts: &mut FitParts<'_, T>,
) -> Fitted<T> {
    let n = rows.len();
    keep(rows, hypothesis, correlated, parts.spare);
    let correlations = correlated.map(|_| &*parts.spare);
    let holds = factor(rows, hypothesis, correlations, parts.factor);
    let ones = head_mut(parts.ones, n);
    let residual = head_mut(parts.residual, n);
    let model = head_mut(parts.scratch, n);
    ones.fill(T::ONE);
    residual
        .iter_mut()
        .enumerate()
        .for_each(|(i, y)| *y = rows.target(i));
    lower::solve(parts.factor, ones);
    lower::solve(parts.factor, residual);
    let precision = sum_of_squares(ones);
    // Without their parts along a₁ the products are ⟨·,·⟩.
    let value_level = project(residual, ones, precision);
    let mut model_level = T::ZERO;
    model.fill(T::ZERO);
    if hypothesis.trusts {
        slice::copy(rows.means, model);
        lower::solve(parts.factor, model);
        model_level = project(model, ones, precision);
    }
    let products = [
        sum_of_squares(residual),
        dot(residual, model),
        sum_of_squares(model),
    ];
    let inverse = if rows.unit.range > T::ZERO {
        inverse_scale(products, n)
    } else {
        T::ONE
    };
    let scale = T::ONE / inverse;
    axpy(-scale, model, residual);
    let mut fitted = Fitted {
        scale,
        level: value_level - scale * model_level,
        precision,
        log_weight: T::ZERO,
        holds,
    };
    fitted.log_weight = hypothesis.ln_prior;
    if n > 1 {
        fitted.log_weight += log_evidence(products, inverse, n, precision, parts.factor);
    }
    fitted
}

/// Has k of all observations in `spare` for the hypotheses of one kernel, if there is room.
/// `correlated` says of which kernel they are.
fn keep<T: Scalar>(
    rows: &Rows<'_, T>,
    hypothesis: &Hypothesis<T>,
    correlated: &mut Option<usize>,
    spare: &mut [T],
) {
    if *correlated == Some(hypothesis.family) {
        return;
    }
    *correlated = None;
    if spare.len() < packed_len(rows.len()) {
        return;
    }
    *correlated = Some(hypothesis.family);
    for j in 0..rows.len() {
        if let Some((own, before)) = lower::row_mut(spare, j).split_last_mut() {
            let point = rows.point(j);
            let kernel = &hypothesis.kernel;
            kernel.covariances(T::ONE, point, rows.points, rows.asked, before);
            *own = T::ONE;
        }
    }
}

/// L of Q + νI. A squared pivot is ν at least, but for rounding; whether each one was. Where it was
/// not, as with a file whose numbers contradict each other, it is ν. `correlations` are k of all
/// observations, if they are at hand.
fn factor<T: Scalar>(
    rows: &Rows<'_, T>,
    hypothesis: &Hypothesis<T>,
    correlations: Option<&[T]>,
    factor: &mut [T],
) -> bool {
    let n = rows.len();
    let mut holds = true;
    if let Some(all) = correlations {
        // Triangles of one form: all numbers in one loop.
        let pairs = head_mut(factor, packed_len(n)).iter_mut().zip(all);
        if hypothesis.trusts {
            let sum = |((q, k), s): ((&mut T, &T), &T)| *q = hypothesis.own * *k + *s;
            pairs.zip(rows.shared).for_each(sum);
        } else {
            pairs.for_each(|(q, k)| *q = hypothesis.own * *k);
        }
    }
    for j in 0..n {
        let row = lower::row_mut(factor, j);
        if correlations.is_none() {
            let point = rows.point(j);
            let kernel = &hypothesis.kernel;
            kernel.covariances(hypothesis.own, point, rows.points, rows.asked, row);
            if hypothesis.trusts {
                axpy(T::ONE, lower::row(rows.shared, j), row);
            }
        }
        if let Some(diagonal) = row.last_mut() {
            *diagonal += rows.noise;
        }
        if lower::append_row(factor, j, rows.noise).is_err()
            && let Some(pivot) = lower::row_mut(factor, j).last_mut()
        {
            *pivot = rows.noise.sqrt();
            holds = false;
        }
    }
    holds
}

/// Takes the part along a₁ out of a and returns its coefficient, a·a₁/(a₁·a₁).
fn project<T: Scalar>(a: &mut [T], ones: &[T], precision: T) -> T {
    let coefficient = dot(a, ones) / precision;
    axpy(-coefficient, ones, a);
    coefficient
}

/// u = (X + √(X² + 4fY))/(2Y), written so that nothing cancels where X < 0; 1 for one observation.
fn inverse_scale<T: Scalar>([y, x, _]: [T; 3], n: usize) -> T {
    let free = T::from_u32(n.saturating_sub(1) as u32);
    let two = T::ONE + T::ONE;
    let root = (x * x + two * two * free * y).sqrt();
    let inverse = if x < T::ZERO {
        two * free / (root - x)
    } else {
        (x + root) / (two * y)
    };
    // Not where Y is 0.
    if inverse > T::ZERO && inverse.is_finite() {
        inverse
    } else {
        T::ONE
    }
}

/// f ln u − ½(u²Y − 2uX + Z) − Σ ln L_jj − ½ ln(a₁·a₁) − ½ ln(2f + uX).
fn log_evidence<T: Scalar>([y, x, z]: [T; 3], u: T, n: usize, precision: T, factor: &[T]) -> T {
    let half = T::from_f64(0.5);
    let free = T::from_u32(n as u32 - 1);
    let misfit = u * u * y - (u * x + u * x) + z;
    let curvature = free + free + u * x;
    free * u.ln() - half * (misfit + lower::ln_det(factor, n) + precision.ln() + curvature.ln())
}

impl<T: Scalar> Fitted<T> {
    /// The row of largest posterior mean among candidates that did not fail, among all if each one
    /// did, and that mean: y' − ν·K⁻¹(y' − β − Aτm).
    pub(super) fn best_visited(
        &self,
        rows: &Rows<'_, T>,
        parts: &mut FitParts<'_, T>,
    ) -> (usize, T) {
        let n = rows.len();
        let alpha = head_mut(parts.scratch, n);
        slice::copy(parts.residual, alpha);
        lower::solve_transposed(parts.factor, alpha);
        let any = rows.all_failed();
        let mut best = (0, -T::INFINITY);
        for (i, a) in alpha.iter().enumerate() {
            let mean = rows.target(i) - rows.noise * *a;
            if mean > best.1 && (any || !rows.failed(at(rows.asked, i))) {
                best = (i, mean);
            }
        }
        best
    }

    /// Mean and variance at a point: `shared` holds φᵢᵀΣφ(x), `file` m and φᵀΣφ there.
    ///
    /// **Cost**: n²/2 + 3n multiply-adds, n exponentials.
    pub(super) fn moments(
        &self,
        hypothesis: &Hypothesis<T>,
        rows: &Rows<'_, T>,
        point: &[T],
        shared: &[T],
        file: Moments<T>,
        parts: &mut FitParts<'_, T>,
    ) -> Moments<T> {
        let n = rows.len();
        let ones = head(parts.ones, n);
        let residual = head(parts.residual, n);
        let column = head_mut(parts.scratch, n);
        hypothesis
            .kernel
            .covariances(hypothesis.own, point, rows.points, rows.asked, column);
        let mut mean = self.level;
        let mut variance = hypothesis.own;
        if hypothesis.trusts {
            axpy(T::ONE, shared, column);
            mean += self.scale * file.mean;
            variance += file.variance;
        }
        lower::solve(parts.factor, column);
        let rest = T::ONE - dot(column, ones);
        mean += dot(column, residual);
        variance += rest * rest / self.precision - sum_of_squares(column);
        Moments {
            mean,
            variance: self.scale * self.scale * variance.max(T::from_f64(1e-9)),
        }
    }
}
