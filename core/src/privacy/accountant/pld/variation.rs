//! δ at ε = 0, the total variation between two neighbours: how well anybody can guess.

#![cfg(feature = "alloc")]

use super::grid::{Direction, Grid};
use super::kinds::{Compared, Kind};
use super::{Options, Problem, Rounds};
use crate::math::{self, Scalar};
use crate::privacy::accountant::{AccountantError, analytic};

/// Part of the answer, and an absolute part, by which a smaller step may still lower it.
const TOLERANCE: (f64, f64) = (1e-4, 1e-6);
/// How often the step is halved at most.
const HALVINGS: usize = 8;

/// δ at ε = 0 of any sequence of releases, never below the truth; at most 1.
///
/// **Equation**: ½∫|p − p′| of the two worlds that the events' relation compares.
///
/// **Errors**: as [`super::epsilon`].
///
/// **Numerics**: closed forms for Gaussians and for one sampled release. Otherwise the
/// distributions of [`super`] at ε = 0: steps are halved until that changes less than 1e-4 of the
/// answer and 1e-6. Where the grid has no cells left for that, (e^ε − 1 + 2δ)/(e^ε + 1) is an upper
/// bound too, for every (ε, δ) that holds: the smallest of three is taken, if it is smaller.
///
/// ```
/// use sordino_core::privacy::accountant::pld::{Options, total_variation};
/// use sordino_core::privacy::accountant::analytic;
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let event = Event::Gaussian { noise_multiplier: 2.0, relation: NeighboringRelation::ReplaceSpecial };
/// let four = total_variation(&[(event, 4)], &Options::default())?;
/// assert!((four - analytic::delta(1.0, 0.0)).abs() < 1e-12);
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
pub fn total_variation(rounds: &[Rounds], options: &Options) -> Result<f64, AccountantError> {
    // This δ only says how much mass may be given up to infinity, and it is counted.
    let mut problem = match Problem::new(rounds, MASS, Compared::Neighbours) {
        Err(AccountantError::NoFiniteEpsilon { delta_spent, .. }) if delta_spent >= 1.0 => {
            return Ok(1.0);
        }
        Err(AccountantError::NoFiniteEpsilon { .. }) => {
            Problem::new(rounds, 1.0 - f64::EPSILON, Compared::Neighbours)?
        }
        made => made?,
    };
    let mut aside = 0.0;
    rounds.iter().for_each(|(event, times)| {
        aside += f64::from(*times) * Kind::delta_of(event, Compared::Neighbours)
    });
    problem
        .rounds
        .retain(|(kind, times)| *times > 0 && !kind.is_nothing());
    problem.delta = MASS;
    let variation = match &problem.rounds[..] {
        [] => 0.0,
        [(Kind::Sampled { q, z }, 1)] => q * analytic::delta(*z, 0.0) * (1.0 + 1e-15),
        kinds if kinds.iter().all(|(kind, _)| kind.unsampled().is_some()) => {
            let mut precision = 0.0;
            for (kind, times) in kinds {
                let z = kind.unsampled().unwrap_or(f64::INFINITY);
                precision += f64::from(*times) / (z * z);
            }
            analytic::delta(1.0 / Scalar::sqrt(precision), 0.0)
        }
        _ => match numerical(&problem, options) {
            (found, true) => found,
            (found, false) => Scalar::min(found, bound(rounds, options)?),
        },
    };
    Ok(Scalar::min(variation + aside, 1.0))
}

/// The δ for which grids are made.
const MASS: f64 = 1e-2;

/// No pair of worlds with these losses is further apart: of every (ε, δ), the one that separates
/// them most has total variation (e^ε − 1 + 2δ)/(e^ε + 1).
fn bound(rounds: &[Rounds], options: &Options) -> Result<f64, AccountantError> {
    let mut least = 1.0;
    for delta in [1e-3, 1e-6, 1e-9] {
        let epsilon = match super::epsilon(rounds, delta, options) {
            Ok(loss) => loss.epsilon,
            Err(AccountantError::NoFiniteEpsilon { .. }) => continue,
            Err(error) => return Err(error),
        };
        // tanh(ε/2) = (e^ε − 1)/(e^ε + 1), without cancellation at small ε.
        let grown = math::exp_m1(epsilon);
        if grown.is_finite() {
            let separated = (grown + 2.0 * delta) / (grown + 2.0) * (1.0 + 1e-14);
            least = Scalar::min(least, separated);
        }
    }
    Ok(least)
}

/// The answer, and whether smaller steps would no longer lower it.
fn numerical(problem: &Problem, options: &Options) -> (f64, bool) {
    // A first grid tells the deviation of the sum, and so the tilt and the step: 1/50 of the
    // deviation of one release.
    let (grid, _) = at(problem, 1e-2, 1.0, options);
    let centre = grid.moment(Direction::Remove, 1e-3);
    let std = Scalar::sqrt(Scalar::max(centre.variance, 1e-12));
    let tilt = Scalar::min(1.0 / std, 1.0);
    let mut step = 0.02 * std / Scalar::sqrt(Scalar::max(problem.count, 1.0));
    let mut best = 1.0;
    let mut before = f64::INFINITY;
    for _ in 0..HALVINGS {
        let (grid, cells) = at(problem, step, tilt, options);
        let now = grid.variation(Direction::Remove, tilt, cells);
        best = Scalar::min(best, now);
        if grid.capped || cells >= options.cells_max {
            break;
        }
        if before - now <= TOLERANCE.0 * now + TOLERANCE.1 {
            return (best, true);
        }
        (before, step) = (now, 0.5 * grid.step);
    }
    (best, false)
}

/// A grid, and the window in which images of the mass on either side are below 1e-13.
fn at(problem: &Problem, step: f64, tilt: f64, options: &Options) -> (Grid, usize) {
    let grid = problem.grid(step, tilt, 1.0, options.cells_max);
    let centre = grid.moment(Direction::Remove, tilt);
    let width = Scalar::max(
        30.0 / tilt,
        centre.mean + 14.0 * Scalar::sqrt(Scalar::max(centre.variance, 0.0)),
    );
    let cells = math::ceil(Scalar::max(width, 0.0) / grid.step);
    (grid, Scalar::min(cells, options.cells_max as f64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Event;

    /// A billion releases with next to nobody in each: the grid has no cells for that many. By the
    /// central limit theorem their total variation is 9.2e-5.
    #[test]
    fn where_the_grid_ends_epsilon_bounds_the_guess() {
        let rounds = [(Event::sampled(1e-9, 0.5), 1_000_000_000)];
        let found = total_variation(&rounds, &Options::default()).unwrap();
        assert!(9e-5 < found && found < 5e-4, "{found}");
        // No such bound is smaller than what is exact.
        let one = [(Event::sampled(1.0, 1.0), 1)];
        let exact = analytic::delta(1.0, 0.0);
        assert!(bound(&one, &Options::default()).unwrap() > exact);
    }
}
