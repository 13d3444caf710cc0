//! What the rows say about mean, scale and the best point so far.

use super::Point;
use super::failed::failed_at;
use super::layout::{Model, Solved};
use super::surface::put;
use super::work::Level;
use crate::domain::collected;
use crate::kernel::Kernel;
use crate::linalg::slice::{self, head_mut};
use crate::linalg::{dot, lower};
use crate::math::Scalar;
use crate::surrogate::{map, mark};

/// Mean and scale where the likelihood is largest given the rest, see [`map`]; the observed point
/// of largest posterior mean yᵢ − σᵢ²αᵢ, σᵢ² the row's noise, among those that did not fail.
pub(super) fn level<T: Scalar>(
    gp: &mut Model<'_, T>,
    solved: &mut Solved<'_, T>,
    given: Option<&[T]>,
) -> Level<T> {
    let n = gp.len();
    let whitened = head_mut(solved.whitened, n);
    let ones = head_mut(solved.column, n);
    let alpha = head_mut(solved.alpha, n);
    slice::copy(gp.targets(), whitened);
    let (center, _) = map::moments(gp.targets());
    let mut observations = T::from_u32(n as u32);
    let mut scatter = T::ZERO;
    for (count, own) in mark::repeats(gp.counts(), gp.scatters()) {
        (observations, scatter) = (observations + (count - T::ONE), scatter + own);
    }
    let scatter = scatter / gp.noise_variance();
    let found = map::scale(gp.factor(), center, scatter, observations, whitened, ones);
    slice::copy(whitened, alpha);
    lower::solve_transposed(gp.factor(), alpha);
    let variance = found.variance.max(T::EPSILON * (found.mean * found.mean));
    let mut level = Level {
        mean: found.mean,
        variance,
        incumbent: 0,
        value: -T::INFINITY,
    };
    let any_failed = gp.any_failed();
    // Of the incumbent: any first row is better than none.
    let mut is_failed = true;
    let rows = slice::rows(gp.inputs(), gp.dim());
    for (i, (row, (y, alpha_i))) in rows.zip(gp.targets().iter().zip(alpha.iter())).enumerate() {
        // A row failed itself, or the same choice failed under the context that is asked for.
        let mut failed = any_failed && (gp.has_failed(i) || failed_at(gp, row));
        let value = match given {
            None => *y - gp.row_noise(i) * *alpha_i,
            Some(given) => {
                let mut asked: Point<T> = collected(row.iter().copied());
                put(given, &mut asked);
                failed |= any_failed && failed_at(gp, &asked);
                gp.kernel().covariances(&asked, gp.inputs(), ones);
                level.mean + dot(ones, alpha)
            }
        };
        // A row that did not fail is better than any that did.
        let better = if failed == is_failed {
            value > level.value
        } else {
            is_failed
        };
        if better {
            (level.incumbent, level.value) = (i, value);
            is_failed = failed;
        }
    }
    level
}
