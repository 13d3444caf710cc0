//! The tight accountant: privacy-loss distributions, convolved. Pessimistic by construction.
//!
//! **Equation**: with p_t the distribution of the loss of release t, P_T = p_1 ∗ p_2 ∗ … ∗ p_T, and
//! δ(ε) = Σ_{l > ε} (1 − e^(ε−l))·P_T(l).
//!
#![doc = include_str!("../../../../equations/privacy_loss.html")]
//!
//! | step | what | why it errs upwards |
//! |---|---|---|
//! | cells | the loss L = ln(dP/dQ) of one release on a grid of step h; each cell's P- and Q-mass is split onto its two ends so that both are kept | the hockey-stick curve is the old one's chord between grid points (Doroshenko et al. 2022, "connect the dots"); rounding moves mass to the upper end only |
//! | tilt | masses times e^(λL)/M(λ), λ near the best Rényi order, or where the window is shortest | every digit of a δ of 1e-10 is kept: the tail becomes the bulk |
//! | invert | δ at a grid point as a sum over Fourier coefficients to the power T, few or all | images of a finite window only add; a *derived* bound on rounding and on what is left out is added |
//! | read | ε at δ in closed form between grid points | |
//!
//! Both directions of add-or-remove (mixture against Gaussian, Gaussian against mixture) are
//! computed; the second is skipped where a Rényi bound on its own cells already certifies the
//! first. Zero-out has the same pair.
//!
//! **Step**: the discretisation adds ln M_h(λ) − ln M(λ) to the log moment, and M is known exactly
//! (it is the Rényi divergence): h is first guessed from that. Then ε at 2h against ε at h tells
//! whether the tolerance is met, the error being of order h², taken for h^(3/2) where h is not
//! small compared with q; if it is not met, h shrinks.
//!
//! **Window**: the best Rényi order may owe its loss to rare large losses that δ does not see (q =
//! 1e-4): its tilt lifts them, and a window had to reach up to them. So a long window is chosen a
//! second time, after a first answer, for the tilt that needs the shortest; and a window so short
//! that its images exceed δ is doubled.
//!
//! **Cost**: cells·frequencies where a few frequencies suffice (many rounds), else O(n log n), n =
//! window/h; below a millisecond at 1e-4 in the common cases. δ far below what is tilted (q = 1e-4,
//! δ = 1e-10) takes pairs of numbers and up to a second. Memory: about 60 bytes a cell of a window,
//! capped ([`Options::cells_max`]); at the cap the answer is marked [`Quality::Upper`], still no
//! guarantee below the truth.
//!
//! **Rounding** is bounded, not estimated: the derivation is in `spectrum` and [`fourier`]. It
//! assumes IEEE arithmetic, sine, cosine, exponential and logarithm good to 1.5 units, and erfc to
//! two. Above ε = 709 the larger P(L > ε) stands in for δ: up to 1 too large, as in other
//! libraries.
//!
//! **Source**: Koskela, Jälkö, Honkela 2020; Gopi, Lee, Wutschitz 2021; Doroshenko et al. 2022.
//!
//! | module | what it holds |
//! |---|---|
//! | `compose` | [`PldAccountant`]: events one after the other, as other accountants take them |
//! | [`calibrate`] | parameters for a target (ε, δ), by this accountant |
//! | `cells` | the losses of one release on a grid |
//! | `grid` | sums of them: tilted, read at δ |
//! | `kinds` | events as losses, compared with nothing or between two contributions |
//! | `masses` | masses on a grid, and how a cell's is split |
//! | `opposed` | the loss between two opposed contributions |
//! | `options` | how far a computation goes |
//! | `spectrum` | δ on the grid from Fourier coefficients, with a bound on every error |
//! | [`double`] | the numbers the transform calculates with, one or a pair |
//! | [`fourier`] | the transform where all coefficients are needed |
//! | `variation` | δ at ε = 0 |
//!
//! **Example**: that of [`PldAccountant`].

#![cfg(feature = "alloc")]

use super::order::{self, ORDERS, Row};
use super::{AccountantError, analytic, rdp};

pub use super::Quality;
use crate::math::{self, Scalar};
use crate::privacy::Event;
use alloc::vec::Vec;
pub use compose::PldAccountant;

pub mod calibrate;
mod cells;
mod compose;
pub mod double;
pub mod fourier;
mod grid;
mod kinds;
mod masses;
mod opposed;
mod options;
mod spectrum;
#[cfg(test)]
mod tests;
mod variation;

use cells::{cells, loss_range, reach};
use grid::{Direction, Grid, Reading, Tilts};
use kinds::{Compared, Kind};
use masses::Weight;
pub use options::Options;
pub use variation::total_variation;

/// ε, with what it took.
///
/// ```
/// use sordino_core::privacy::accountant::pld::{self, Loss, Options};
/// use sordino_core::privacy::accountant::{Quality, analytic};
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// // Gaussians without sampling need no grid: four of multiplier 2 are one of 1.
/// let event = Event::Gaussian { noise_multiplier: 2.0, relation: NeighboringRelation::ReplaceOne };
/// let Loss { epsilon, quality, cells, .. } = pld::epsilon(&[(event, 4)], 1e-5, &Options::default())?;
/// assert_eq!((quality, cells), (Quality::Exact, 0));
/// assert!((epsilon - analytic::epsilon(1.0, 1e-5)?).abs() < 1e-10);
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// ε, never below the truth.
    pub epsilon: f64,
    /// How close; an upper bound if the memory cap or the refinement limit was met.
    pub quality: Quality,
    /// Step of the grid; 0 where none was used.
    pub step: f64,
    /// Cells of the window.
    pub cells: usize,
}

impl Loss {
    const fn exact(epsilon: f64) -> Self {
        Loss {
            epsilon,
            quality: Quality::Exact,
            step: 0.0,
            cells: 0,
        }
    }
}

/// One kind of round and how often it comes.
pub type Rounds = (Event, u32);

/// ε at δ of any sequence of releases, each kind with its count.
///
/// **Errors**: [`AccountantError::InvalidEvent`]; [`AccountantError::UnsupportedEvent`] for
/// fixed-size samples; [`AccountantError::MixedRelations`]; [`AccountantError::Delta`];
/// [`AccountantError::NoFiniteEpsilon`].
pub fn epsilon(rounds: &[Rounds], delta: f64, options: &Options) -> Result<Loss, AccountantError> {
    Problem::new(rounds, delta, Compared::Neighbours)?.solve(options)
}

/// ε at δ between any two contributions that an agent may have sent ([`super::replace`]); what
/// [`epsilon`] says where the events compare two contributions already.
///
/// **Errors**: as [`epsilon`]; [`AccountantError::OneUnitOnly`] where replacing is not covered.
///
/// ```
/// use sordino_core::privacy::accountant::pld::{self, Options};
/// use sordino_core::privacy::Event;
///
/// let event = Event::sampled(0.25, 1.0);
/// let [against_nothing, between] = [pld::epsilon, pld::replace_epsilon]
///     .map(|loss| loss(&[(event, 40)], 1e-5, &Options::default()).unwrap().epsilon);
/// assert!(between > 1.5 * against_nothing);
/// ```
pub fn replace_epsilon(
    rounds: &[Rounds],
    delta: f64,
    options: &Options,
) -> Result<Loss, AccountantError> {
    Problem::new(rounds, delta, Compared::Contributions)?.solve(options)
}

/// δ at ε of any sequence of releases: the smallest found by bisection for which [`epsilon`] stays
/// below; never below the truth, to 1e-3 relative.
pub fn delta(rounds: &[Rounds], target: f64, options: &Options) -> Result<f64, AccountantError> {
    if !(target >= 0.0) {
        return Err(AccountantError::Epsilon(target));
    }
    let mut low = -700.0;
    let mut high = 0.0f64;
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        match epsilon(rounds, Scalar::exp(middle), options) {
            Ok(loss) if loss.epsilon <= target => high = middle,
            Ok(_) | Err(AccountantError::NoFiniteEpsilon { .. }) => low = middle,
            Err(error) => return Err(error),
        }
    }
    Ok(Scalar::min(Scalar::exp(high), 1.0))
}

struct Problem {
    rounds: Vec<(Kind, u32)>,
    delta: f64,
    /// Number of releases.
    count: f64,
    /// Σ of the divergences at [`ORDERS`]; nothing between two contributions, where each is dear.
    row: Option<Row>,
}

impl Problem {
    fn new(rounds: &[Rounds], delta: f64, compared: Compared) -> Result<Self, AccountantError> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(AccountantError::Delta(delta));
        }
        let mut total = Row::ZERO;
        let mut count = 0.0;
        let mut spent = 0.0;
        let mut relation = None;
        let mut kinds = Vec::with_capacity(rounds.len());
        for (event, times) in rounds {
            let mut row = Row::ZERO;
            rdp::divergences(event, &mut row)?;
            kinds.push((Kind::of(event, compared)?, *times));
            event.relation().adds_to(relation)?;
            relation = Some(event.relation());
            let times = f64::from(*times);
            total
                .0
                .iter_mut()
                .zip(&row.0)
                .for_each(|(sum, r)| *sum += times * r);
            count += times;
            let aside = Kind::delta_of(event, compared);
            if aside > 0.0 {
                spent += times * aside;
            }
        }
        let left = if spent > 0.0 {
            (delta - spent).next_down()
        } else {
            delta
        };
        if !(left > 0.0) {
            return Err(AccountantError::NoFiniteEpsilon {
                delta,
                delta_spent: spent,
            });
        }
        let row = (compared == Compared::Neighbours).then_some(total);
        Ok(Problem {
            rounds: kinds,
            delta: left,
            count,
            row,
        })
    }

    fn solve(&self, options: &Options) -> Result<Loss, AccountantError> {
        match self.closed_form()? {
            Some(exact) => Ok(exact),
            None => self.numerical(options),
        }
    }

    /// Nothing at all, Gaussians alone, one sampled Gaussian: no grid is needed.
    fn closed_form(&self) -> Result<Option<Loss>, AccountantError> {
        let live = || self.rounds.iter().filter(|(_, times)| *times > 0);
        let mut precision = 0.0;
        let gaussian = live().all(|(kind, times)| {
            let Some(z) = kind.unsampled() else {
                return false;
            };
            precision += f64::from(*times) / (z * z);
            true
        });
        if gaussian {
            if precision == 0.0 {
                return Ok(Some(Loss::exact(0.0)));
            }
            return Ok(Some(Loss::exact(analytic::epsilon(
                1.0 / Scalar::sqrt(precision),
                self.delta,
            )?)));
        }
        let mut all = live();
        if let (Some((kind, 1)), None) = (all.next(), all.next())
            && let Some(epsilon) = kind.once(self.delta)
        {
            return Ok(Some(Loss::exact(epsilon?)));
        }
        Ok(None)
    }

    /// The best Rényi order and its ε: integers between the grid's large orders are tried too.
    fn best_order(&self) -> (f64, f64) {
        let at = |order: f64, divergence: f64| order::epsilon(order, divergence, self.delta);
        let value = |order: f64| at(order, self.divergence(order));
        let Some(row) = &self.row else {
            return best_of_any(value);
        };
        let mut best = (ORDERS[0], f64::INFINITY);
        for (order, divergence) in ORDERS.iter().zip(&row.0) {
            let epsilon = at(*order, *divergence);
            if epsilon < best.1 {
                best = (*order, epsilon);
            }
        }
        if best.0 < 63.0 {
            return best;
        }
        // ε is unimodal in the order: ternary search on integers, up to 2¹⁵.
        let mut low = best.0 / 2.0;
        let mut high = if best.0 == 1024.0 {
            32_768.0
        } else {
            best.0 * 2.0
        };
        while high - low > 2.0 {
            let a = math::floor(low + (high - low) / 3.0);
            let b = math::ceil(high - (high - low) / 3.0);
            if value(a) <= value(b) {
                high = b;
            } else {
                low = a;
            }
            if b - a < 1.0 || high - low <= 3.0 {
                break;
            }
        }
        let middle = math::floor((low + high) / 2.0);
        let refined = value(middle);
        if refined < best.1 {
            (middle, refined)
        } else {
            best
        }
    }

    /// Σ T·r(order) at any order.
    fn divergence(&self, order: f64) -> f64 {
        self.rounds
            .iter()
            .map(|(kind, times)| f64::from(*times) * kind.divergence(order))
            .sum()
    }

    fn numerical(&self, options: &Options) -> Result<Loss, AccountantError> {
        let (order, bound) = self.best_order();
        if bound == 0.0 {
            return Ok(Loss::exact(0.0));
        }
        if !bound.is_finite() {
            return Err(AccountantError::NoFiniteEpsilon {
                delta: self.delta,
                delta_spent: 0.0,
            });
        }
        let tolerance = Scalar::max(options.tolerance, 1e-12);
        Ok(Search {
            problem: self,
            options: *options,
            tolerance,
            tilt: order - 1.0,
            bound,
        }
        .refine())
    }

    /// The smallest sampling probability above 0.
    fn rarest(&self) -> f64 {
        self.rounds
            .iter()
            .fold(1.0, |least, (kind, _)| match *kind {
                Kind::Sampled { q, .. } | Kind::Opposed { q, .. } if q > 0.0 => {
                    Scalar::min(least, q)
                }
                _ => least,
            })
    }

    fn grid(&self, step: f64, tilt: f64, level: f64, cells_max: usize) -> Grid {
        // Tail mass that is given up to infinity: all of it together is 1e-8 of δ.
        let mass = 1e-8 * self.delta / Scalar::max(self.count, 1.0);
        let live = || {
            self.rounds
                .iter()
                .copied()
                .filter(|(kind, times)| *times > 0 && !kind.is_nothing())
        };
        let widest = live().fold(0.0, |widest, (kind, _)| {
            Scalar::max(widest, loss_range(kind, reach(kind, mass)))
        });
        let least = widest / cells_max as f64;
        let capped = step < least;
        let step = if capped { least } else { step };
        let kinds = live().map(|(kind, times)| {
            let moment = tilt * kind.divergence(tilt + 1.0) + Scalar::ln(level);
            (
                cells(kind, step, reach(kind, mass), Weight { tilt, moment }),
                times,
            )
        });
        Grid {
            kinds: kinds.collect(),
            step,
            capped,
        }
    }
}

/// The best order above 1 without a table: sections of ln(order − 1). Whatever order is found, its
/// ε is a bound.
fn best_of_any(value: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut low = -4.0;
    let mut high = 9.0;
    let order = |ln: f64| 1.0 + Scalar::exp(ln);
    for _ in 0..16 {
        let a = low + (high - low) / 3.0;
        let b = high - (high - low) / 3.0;
        if value(order(a)) <= value(order(b)) {
            high = b
        } else {
            low = a
        }
    }
    let found = order(0.5 * (low + high));
    (found, value(found))
}

/// How often the step is refined before what was found is called an upper bound.
const REFINEMENTS: usize = 10;

/// The search for a step that is fine enough.
struct Search<'p> {
    problem: &'p Problem,
    options: Options,
    tolerance: f64,
    /// Best Rényi order less one, and its ε.
    tilt: f64,
    bound: f64,
}

/// A grid, and what was read from it in each direction; nothing where too much is given up to
/// infinity.
struct Look {
    grid: Grid,
    remove: Option<Reading>,
}

impl Search<'_> {
    fn grid(&self, step: f64, level: f64) -> Grid {
        self.problem
            .grid(step, self.tilt, level, self.options.cells_max)
    }

    fn read(&self, grid: &Grid, direction: Direction, tilts: Tilts) -> Option<Reading> {
        grid.read(
            direction,
            tilts,
            self.problem.delta,
            &self.options,
            self.bound,
        )
    }

    /// A step whose error of the log moment, which is known exactly, is about the tolerance:
    /// nothing is convolved yet.
    fn first_step(&self) -> f64 {
        let tilt = self.tilt;
        let bound = self.bound;
        let tolerance = self.tolerance;
        let exact_moment = tilt * self.problem.divergence(tilt + 1.0);
        let mut step = self.step_guess();
        for _ in 0..6 {
            let grid = self.grid(step, 1.0);
            step = grid.step;
            let error = (grid.moment(Direction::Remove, tilt).value - exact_moment) / tilt;
            if error <= 4.0 * tolerance * bound || grid.capped {
                break;
            }
            step *= Scalar::sqrt(tolerance * bound / error);
        }
        step
    }

    /// Splitting a cell adds h²/6 of variance at most on average: ΔK = T·λ(λ+1)/2·h²/6.
    fn step_guess(&self) -> f64 {
        Scalar::sqrt(
            12.0 * self.tolerance * 0.7 * self.bound / ((self.tilt + 1.0) * self.problem.count),
        )
    }

    /// Twice the step, one direction: what halving it gains tells what is left. Where δ sits far
    /// from the tilted bulk, cells must be narrow there: the first answers tell. With it the tilts
    /// and the level to go on with.
    fn first_look(&self, step: &mut f64) -> (Look, Tilts, f64) {
        let delta = self.problem.delta;
        let bound = self.bound;
        let mut level = 1.0;
        let mut grid = self.grid(2.0 * *step, level);
        let mut tilts = Tilts::both(grid.best_tilt(Direction::Remove, self.tilt, delta));
        let mut remove = self.read(&grid, Direction::Remove, tilts);
        for _ in 0..4 {
            let Some(found) = &remove else { break };
            let now = grid.level(Direction::Remove, self.tilt, delta, found.epsilon);
            let narrower = Scalar::sqrt(Scalar::max(found.epsilon, 1e-3 * bound) / bound);
            let target = Scalar::min(*step, self.step_guess() * narrower * 2.0);
            if !(now < 0.1 * level || target < 0.5 * *step) || grid.capped {
                break;
            }
            (level, *step) = (Scalar::min(now, level), target);
            grid = self.grid(2.0 * *step, level);
            tilts = grid.shorter(Direction::Remove, tilts, delta, found);
            remove = self.read(&grid, Direction::Remove, tilts);
        }
        (Look { grid, remove }, tilts, level)
    }

    /// Smaller and smaller steps until what is left is within the tolerance.
    fn refine(&self) -> Loss {
        let mut step = self.first_step();
        let (mut before, mut tilts, level) = self.first_look(&mut step);
        // The Rényi bound is a bound too.
        let mut best = Loss {
            epsilon: self.bound,
            quality: Quality::Upper,
            step,
            cells: 0,
        };
        for _ in 0..REFINEMENTS {
            if let Some(found) = &before.remove {
                tilts = before
                    .grid
                    .shorter(Direction::Remove, tilts, self.problem.delta, found);
            }
            let grid = self.grid(step, level);
            step = grid.step;
            let remove = self.read(&grid, Direction::Remove, tilts);
            let now = Look { grid, remove };
            let mut error = self.error(&before.remove, &now.remove, [before.grid.step, step]);
            let capped = now.grid.capped || now.remove.as_ref().is_some_and(|found| found.capped);
            let epsilon = now
                .remove
                .as_ref()
                .map_or(f64::INFINITY, |found| found.epsilon);
            let wanted = self.tolerance * epsilon + 1e-12;
            if error <= wanted || capped {
                let (loss, other) = self.with_add(&before, &now);
                if loss.epsilon == 0.0 {
                    return Loss {
                        quality: Quality::Tight,
                        ..loss
                    };
                }
                error = Scalar::max(error, other);
                if loss.epsilon <= best.epsilon {
                    best = loss;
                }
                if error <= wanted && best == loss {
                    return Loss {
                        quality: Quality::Tight,
                        ..best
                    };
                }
                if capped {
                    return best;
                }
            }
            let gain = Scalar::sqrt(0.6 * wanted / error).clamp(0.05, 0.7);
            step *= if error.is_finite() && epsilon > 0.0 {
                gain
            } else {
                0.25
            };
            before = now;
        }
        best
    }

    /// What a smaller step gained tells what is left: the error is of order h², and of order h
    /// where the cell below zero holds the bulk of a release, at h ≫ q; between them it is taken
    /// for h^(3/2). Infinite for what says nothing.
    fn error(&self, before: &Option<Reading>, now: &Option<Reading>, steps: [f64; 2]) -> f64 {
        let ratio = steps[0] / steps[1];
        let power = if steps[0] <= 0.1 * self.problem.rarest() {
            ratio * ratio
        } else {
            ratio * Scalar::sqrt(ratio)
        };
        match (before, now) {
            (Some(before), Some(now)) if !now.capped => {
                Scalar::max(before.epsilon - now.epsilon, 0.0) / (power - 1.0)
            }
            _ => f64::INFINITY,
        }
    }

    /// The larger of both directions, and what is left of the second where that is the one.
    fn with_add(&self, before: &Look, now: &Look) -> (Loss, f64) {
        let delta = self.problem.delta;
        let (epsilon, cells) = now
            .remove
            .as_ref()
            .map_or((f64::INFINITY, 0), |found| (found.epsilon, found.cells));
        let loss = |epsilon: f64, cells: usize| Loss {
            epsilon: Scalar::min(epsilon, self.bound),
            quality: Quality::Upper,
            step: now.grid.step,
            cells,
        };
        if !epsilon.is_finite()
            || now
                .grid
                .certified(Direction::Add, self.tilt, delta, epsilon)
        {
            return (loss(epsilon, cells), 0.0);
        }
        let tilts = Tilts::both(now.grid.best_tilt(Direction::Add, self.tilt, delta));
        let Some(found) = now.remove.as_ref() else {
            return (loss(self.bound, cells), f64::INFINITY);
        };
        let tilts = now.grid.shorter(Direction::Add, tilts, delta, found);
        let second = self.read(&now.grid, Direction::Add, tilts);
        let Some(add) = &second else {
            return (loss(self.bound, cells), f64::INFINITY);
        };
        let larger = loss(Scalar::max(epsilon, add.epsilon), cells.max(add.cells));
        if add.epsilon <= epsilon {
            return (larger, 0.0);
        }
        let first = self.read(&before.grid, Direction::Add, tilts);
        let error = self.error(&first, &second, [before.grid.step, now.grid.step]);
        (larger, error)
    }
}
