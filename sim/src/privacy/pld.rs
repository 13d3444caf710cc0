//! The tight accountant: privacy-loss distributions, convolved. Pessimistic by construction.
//!
//! | step | what | why it errs upwards |
//! |---|---|---|
//! | cells | the loss L = ln(dP/dQ) of one release on a grid of step h; each cell's P- and Q-mass is split onto its two ends so that both are kept | the hockey-stick curve is the old one's chord between grid points (Doroshenko et al. 2022, "connect the dots"); rounding moves mass to the upper end only |
//! | tilt | masses times e^(λL)/M(λ), λ near the best Rényi order | every digit of a δ of 1e-10 is kept: the tail becomes the bulk |
//! | convolve | powers of Fourier coefficients, one factor for each kind of round | what wraps past the window's top is added back by a Chernoff bound; rounding by a factor and a floor |
//! | read | ε at δ in closed form between grid points | |
//!
//! Both directions of add-or-remove (mixture against Gaussian, Gaussian against mixture) are computed; the second is
//! skipped where a Rényi bound on its own cells already certifies the first. Zero-out has the same pair.
//!
//! **Step**: the discretisation adds ln M_h(λ) − ln M(λ) to the log moment, and M is known exactly (it is the Rényi
//! divergence): h is first guessed from that. Then ε at 2h against ε at h, the error being of order h², tells whether the
//! tolerance is met; if not, h shrinks.
//!
//! **Cost**: O(n log n), n = window/h; a few milliseconds for T = 10,000 at 1e-4. Memory: about 60 bytes a cell, cells
//! capped ([`Options::cells_max`]); at the cap h grows and the answer is marked [`Quality::Upper`], still no guarantee
//! below the truth.
//!
//! **Not certified**: that floating-point rounding in the transform stays below the inflation used (1e-9 relative, and
//! 1e-15·log₂ n·(1 + T/100) of the tilted mass): it is an estimate with a margin, not a proof. Above ε = 709 the answer
//! leaves out a term and is up to 1 too large.
//!
//! **Source**: Koskela, Jälkö, Honkela 2020; Gopi, Lee, Wutschitz 2021; Doroshenko et al. 2022.

use sordino_core::math::{self, Scalar};
use sordino_core::privacy::Event;
use sordino_core::privacy::accountant::order::{self, ORDERS, Row};
use sordino_core::privacy::accountant::{AccountantError, analytic, poisson, rdp};

use super::fourier::Plan;

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Relative accuracy of ε asked for.
    pub tolerance: f64,
    /// Largest number of cells of a window; memory is about 60 bytes each.
    pub cells_max: usize,
}

impl Default for Options {
    /// 1e-4 and a million cells.
    fn default() -> Self {
        Options { tolerance: 1e-4, cells_max: 1 << 20 }
    }
}

/// How close to the truth an answer is. None is below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// Closed form.
    Exact,
    /// Within the tolerance.
    Tight,
    /// An upper bound; the memory cap or the refinement limit was met.
    Upper,
}

impl Quality {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Quality::Exact => "exact",
            Quality::Tight => "tight",
            Quality::Upper => "upper",
        }
    }
}

/// ε, with what it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// ε, never below the truth.
    pub epsilon: f64,
    /// How close.
    pub quality: Quality,
    /// Step of the grid; 0 where none was used.
    pub step: f64,
    /// Cells of the window.
    pub cells: usize,
}

impl Loss {
    const fn exact(epsilon: f64) -> Self {
        Loss { epsilon, quality: Quality::Exact, step: 0.0, cells: 0 }
    }
}

/// One kind of round and how often it comes.
pub type Rounds = (Event, u32);

/// ε at δ of any sequence of releases, each kind with its count.
///
/// **Errors**: [`AccountantError::InvalidEvent`]; [`AccountantError::UnsupportedEvent`] for fixed-size samples;
/// [`AccountantError::MixedRelations`]; [`AccountantError::Delta`]; [`AccountantError::NoFiniteEpsilon`].
pub fn epsilon(rounds: &[Rounds], delta: f64, options: &Options) -> Result<Loss, AccountantError> {
    let problem = Problem::new(rounds, delta)?;
    if let Some(exact) = problem.closed_form()? {
        return Ok(exact);
    }
    problem.numerical(options)
}

/// δ at ε of any sequence of releases: the smallest found by bisection for which [`epsilon`] stays below; never below
/// the truth, to 1e-3 relative.
pub fn delta(rounds: &[Rounds], target: f64, options: &Options) -> Result<f64, AccountantError> {
    if !(target >= 0.0) {
        return Err(AccountantError::Epsilon(target));
    }
    let (mut low, mut high) = (-700.0, 0.0f64);
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

/// The loss of one release on the grid of one step.
struct Pmf {
    /// Grid index of the first cell.
    first: i64,
    mass: Vec<f64>,
    /// Mass of infinite loss.
    infinity: f64,
}

/// Which of the two neighbours the data is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    Remove,
    Add,
}

struct Problem<'r> {
    rounds: &'r [Rounds],
    delta: f64,
    /// δ spent by (ε, δ) events, taken off `delta` already.
    count: f64,
    row: Row,
}

impl<'r> Problem<'r> {
    fn new(rounds: &'r [Rounds], delta: f64) -> Result<Self, AccountantError> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(AccountantError::Delta(delta));
        }
        let (mut total, mut count, mut spent) = (Row::ZERO, 0.0, 0.0);
        let mut relation = None;
        for (event, times) in rounds {
            let mut row = Row::ZERO;
            rdp::divergences(event, &mut row)?;
            if matches!(event, Event::FixedSizeSampledGaussian { .. }) {
                return Err(AccountantError::UnsupportedEvent(*event));
            }
            match relation {
                Some(before) if before != event.relation() => {
                    return Err(AccountantError::MixedRelations { before, now: event.relation() });
                }
                _ => relation = Some(event.relation()),
            }
            let times = f64::from(*times);
            total.0.iter_mut().zip(&row.0).for_each(|(sum, r)| *sum += times * r);
            count += times;
            if let Event::ApproximateEpsilon { delta, .. } = event {
                spent += times * delta;
            }
        }
        let left = if spent > 0.0 { (delta - spent).next_down() } else { delta };
        if !(left > 0.0) {
            return Err(AccountantError::NoFiniteEpsilon { delta, delta_spent: spent });
        }
        Ok(Problem { rounds, delta: left, count, row: total })
    }

    /// Nothing at all, Gaussians alone, one sampled Gaussian: no grid is needed.
    fn closed_form(&self) -> Result<Option<Loss>, AccountantError> {
        let live = || self.rounds.iter().filter(|(_, times)| *times > 0);
        let mut precision = 0.0;
        let gaussian = live().all(|(event, times)| {
            let z = match *event {
                Event::Gaussian { noise_multiplier, .. } => noise_multiplier,
                Event::PoissonSampledGaussian { sampling_probability: 0.0, .. } => f64::INFINITY,
                Event::PoissonSampledGaussian { sampling_probability: 1.0, noise_multiplier, .. } => noise_multiplier,
                _ => return false,
            };
            precision += f64::from(*times) / (z * z);
            true
        });
        if gaussian {
            if precision == 0.0 {
                return Ok(Some(Loss::exact(0.0)));
            }
            return Ok(Some(Loss::exact(analytic::epsilon(1.0 / Scalar::sqrt(precision), self.delta)?)));
        }
        let mut all = live();
        if let (Some((Event::PoissonSampledGaussian { sampling_probability, noise_multiplier, .. }, 1)), None) =
            (all.next(), all.next())
        {
            return Ok(Some(Loss::exact(single(*sampling_probability, *noise_multiplier, self.delta)?)));
        }
        Ok(None)
    }

    /// The best Rényi order and its ε: integers between the grid's large orders are tried too.
    fn best_order(&self) -> (f64, f64) {
        let at = |order: f64, divergence: f64| order::epsilon(order, divergence, self.delta);
        let mut best = (ORDERS[0], f64::INFINITY);
        for (order, divergence) in ORDERS.iter().zip(&self.row.0) {
            let epsilon = at(*order, *divergence);
            if epsilon < best.1 {
                best = (*order, epsilon);
            }
        }
        if best.0 < 63.0 {
            return best;
        }
        // ε is unimodal in the order: ternary search on integers, up to 2¹⁵.
        let (mut low, mut high) = (best.0 / 2.0, if best.0 == 1024.0 { 32_768.0 } else { best.0 * 2.0 });
        let value = |order: f64| at(order, self.divergence(order));
        while high - low > 2.0 {
            let (a, b) = (math::floor(low + (high - low) / 3.0), math::ceil(high - (high - low) / 3.0));
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
        if refined < best.1 { (middle, refined) } else { best }
    }

    /// Σ T·r(order) at any order.
    fn divergence(&self, order: f64) -> f64 {
        self.rounds.iter().fold(0.0, |sum, (event, times)| {
            let one = match *event {
                Event::Gaussian { noise_multiplier: z, .. } => order / (2.0 * z * z),
                Event::PoissonSampledGaussian { sampling_probability, noise_multiplier, .. } => {
                    poisson::divergence(sampling_probability, noise_multiplier, order)
                }
                Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => {
                    rdp::pure_divergence(epsilon, order)
                }
                Event::FixedSizeSampledGaussian { .. } => f64::INFINITY,
            };
            sum + f64::from(*times) * one
        })
    }

    fn numerical(&self, options: &Options) -> Result<Loss, AccountantError> {
        let (order, bound) = self.best_order();
        if bound == 0.0 {
            return Ok(Loss::exact(0.0));
        }
        if !bound.is_finite() {
            return Err(AccountantError::NoFiniteEpsilon { delta: self.delta, delta_spent: 0.0 });
        }
        let tilt = order - 1.0;
        let exact_moment = tilt * self.divergence(order);
        let tolerance = if options.tolerance > 1e-12 { options.tolerance } else { 1e-12 };
        // Splitting a cell adds h²/6 of variance at most on average: ΔK = T·λ(λ+1)/2·h²/6.
        let mut step = Scalar::sqrt(12.0 * tolerance * 0.7 * bound / (order * self.count));
        // A first look at the error of the log moment, before anything is convolved.
        for _ in 0..6 {
            let grid = self.grid(step, options.cells_max);
            step = grid.step;
            let error = (grid.moment(Direction::Remove, tilt).value - exact_moment) / tilt;
            if error <= 4.0 * tolerance * bound || grid.capped {
                break;
            }
            step *= Scalar::sqrt(tolerance * bound / error);
        }
        // Twice the step, one direction: what halving it gains tells what is left.
        let mut coarse = self.grid(2.0 * step, options.cells_max);
        let mut last = coarse.read(Direction::Remove, tilt, self.delta, options, bound);
        let mut best: Option<Loss> = None;
        for _ in 0..6 {
            let grid = self.grid(step, options.cells_max);
            step = grid.step;
            let first = grid.read(Direction::Remove, tilt, self.delta, options, bound);
            let (mut epsilon, mut cells, mut capped) = (f64::INFINITY, 0, grid.capped);
            let mut error = f64::INFINITY;
            if let Some(first) = &first {
                (epsilon, cells) = (first.epsilon, first.cells);
                capped |= first.capped;
                if let Some(last) = &last {
                    let ratio = coarse.step / step;
                    error = Scalar::max(last.epsilon - epsilon, 0.0) / (ratio * ratio - 1.0);
                }
            }
            let tight = error.is_finite() && error <= tolerance * epsilon + 1e-12;
            if tight || capped {
                if epsilon.is_finite() && !grid.certified(Direction::Add, tilt, self.delta, epsilon) {
                    let add_tilt = grid.best_tilt(Direction::Add, tilt, self.delta);
                    let second = grid.read(Direction::Add, add_tilt, self.delta, options, bound);
                    epsilon = second.as_ref().map_or(f64::INFINITY, |second| Scalar::max(epsilon, second.epsilon));
                    cells = cells.max(second.map_or(0, |second| second.cells));
                }
                // The Rényi bound is a bound too.
                let epsilon = Scalar::min(epsilon, bound);
                let quality = if tight && !capped { Quality::Tight } else { Quality::Upper };
                return Ok(Loss { epsilon, quality, step, cells });
            }
            best = Some(Loss { epsilon: bound, quality: Quality::Upper, step, cells });
            let gain = if error.is_finite() && epsilon > 0.0 {
                Scalar::sqrt(0.6 * tolerance * epsilon / error).clamp(0.05, 0.7)
            } else {
                0.25
            };
            (coarse, last) = (grid, first);
            step *= gain;
        }
        best.ok_or(AccountantError::NoFiniteEpsilon { delta: self.delta, delta_spent: 0.0 })
    }

    fn grid(&self, step: f64, cells_max: usize) -> Grid {
        // Tail mass of one release that is given up to infinity: all of it together is 1e-8 of δ.
        let reach = Scalar::sqrt(2.0 * Scalar::ln(1e8 * Scalar::max(self.count, 1.0) / self.delta));
        let mut widest = 0.0f64;
        for (event, _) in self.rounds {
            widest = Scalar::max(widest, loss_range(event, reach));
        }
        let least = widest / cells_max as f64;
        let capped = step < least;
        let step = if capped { least } else { step };
        let kinds = self
            .rounds
            .iter()
            .filter(|(event, times)| {
                *times > 0 && !matches!(event, Event::PoissonSampledGaussian { sampling_probability: 0.0, .. })
            })
            .map(|(event, times)| (cells(event, step, reach), *times))
            .collect();
        Grid { kinds, step, capped }
    }
}

/// ε of one Poisson-sampled Gaussian: δ(ε) = q·δ_Gauss(ln(1 + (e^ε − 1)/q)), which for ε ≥ 0 is the larger direction.
fn single(q: f64, z: f64, target: f64) -> Result<f64, AccountantError> {
    if q == 0.0 || target >= q {
        return Ok(0.0);
    }
    let inner = analytic::epsilon(z, target / q)?;
    // ε = ln(1 + q(e^inner − 1)), rounded up.
    let epsilon = if inner > 700.0 { inner + Scalar::ln(q) } else { math::ln_1p(q * math::exp_m1(inner)) };
    Ok(Scalar::max(epsilon * (1.0 + 1e-12), 0.0))
}

/// The finite losses of one event span at most this.
fn loss_range(event: &Event, reach: f64) -> f64 {
    match *event {
        Event::Gaussian { noise_multiplier: z, .. } => 2.0 * reach / z + 1.0 / (z * z),
        Event::PoissonSampledGaussian { sampling_probability: q, noise_multiplier: z, .. } => {
            let top = (1.0 + 2.0 * reach * z) / (2.0 * z * z);
            let top = if top > 700.0 { top + Scalar::ln(q) } else { math::ln_1p(q * math::exp_m1(top)) };
            let bottom = if q < 1.0 { -math::ln_1p(-q) } else { top };
            top + bottom
        }
        Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => 2.0 * epsilon,
        Event::FixedSizeSampledGaussian { .. } => 0.0,
    }
}

/// Both directions of one event.
fn cells(event: &Event, step: f64, reach: f64) -> [Pmf; 2] {
    match *event {
        Event::Gaussian { noise_multiplier, .. } => sampled_gaussian(1.0, noise_multiplier, step, reach),
        Event::PoissonSampledGaussian { sampling_probability, noise_multiplier, .. } => {
            sampled_gaussian(sampling_probability, noise_multiplier, step, reach)
        }
        Event::PureEpsilon { epsilon, .. } | Event::ApproximateEpsilon { epsilon, .. } => {
            [randomized_response(epsilon, step), randomized_response(epsilon, step)]
        }
        Event::FixedSizeSampledGaussian { .. } => [empty(), empty()],
    }
}

fn empty() -> Pmf {
    Pmf { first: 0, mass: vec![0.0], infinity: 1.0 }
}

/// Losses ±ε of probability e^ε/(1+e^ε) and 1/(1+e^ε), each split onto its cell's ends.
fn randomized_response(epsilon: f64, step: f64) -> Pmf {
    let first = math::floor(-epsilon / step) as i64;
    let last = math::ceil(epsilon / step) as i64;
    let mut mass = vec![0.0; (last - first + 2) as usize];
    let likely = 1.0 / (1.0 + Scalar::exp(-epsilon));
    for (loss, p) in [(epsilon, likely), (-epsilon, 1.0 - likely)] {
        let low = math::floor(loss / step);
        let part = -math::exp_m1(-(loss - low * step)) / -math::exp_m1(-step) + 1e-14;
        let upper = p * Scalar::min(part, 1.0);
        let at = (low as i64 - first) as usize;
        mass[at] += p - upper;
        mass[at + 1] += upper;
    }
    Pmf { first, mass, infinity: 0.0 }
}

/// The smaller tail at a point of a normal, and which it is.
#[derive(Clone, Copy)]
struct Tail {
    value: f64,
    upper: bool,
}

fn tail(x: f64) -> Tail {
    Tail { value: 0.5 * math::erfc(x.abs() * std::f64::consts::FRAC_1_SQRT_2), upper: x > 0.0 }
}

/// Mass between two points, and a bound on its rounding error.
fn between(a: Tail, b: Tail) -> (f64, f64) {
    let mass = match (a.upper, b.upper) {
        (true, true) => a.value - b.value,
        (false, false) => b.value - a.value,
        _ => 1.0 - a.value - b.value,
    };
    let slack = if a.upper == b.upper { Scalar::max(a.value, b.value) } else { 1.0 };
    (Scalar::max(mass, 0.0), 6e-16 * slack)
}

/// Cells of L = ln(1 − q + q·e^((2x−1)/(2z²))), under the mixture (remove) and of −L under the Gaussian (add).
fn sampled_gaussian(q: f64, z: f64, step: f64, reach: f64) -> [Pmf; 2] {
    let variance = z * z;
    // Where the loss crosses ε.
    let cross = |excess: f64| variance * math::ln_1p(excess / q) + 0.5;
    let top = (1.0 + 2.0 * reach * z) / (2.0 * variance);
    let top = if top > 700.0 { top + Scalar::ln(q) } else { math::ln_1p(q * math::exp_m1(top)) };
    let bottom = if q < 1.0 { math::ln_1p(-q) } else { -(1.0 + 2.0 * reach * z) / (2.0 * variance) };
    let (first, last) = (math::floor(bottom / step) as i64, math::ceil(top / step) as i64 + 1);
    let n = (last - first) as usize;
    let (mut remove, mut add) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    let share = 1.0 / -math::exp_m1(-step);
    let edge = |i: i64| {
        let epsilon = i as f64 * step;
        let excess = math::exp_m1(epsilon);
        let x = if excess > -q {
            if epsilon > 700.0 { variance * (epsilon - Scalar::ln(q)) + 0.5 } else { cross(excess) }
        } else {
            f64::NEG_INFINITY
        };
        (excess + 1.0, tail(x / z), tail((x - 1.0) / z))
    };
    let (mut ratio_low, mut t0, mut t1) = edge(first);
    // What lies below the first edge (q = 1 only): up to it in one direction, infinite loss in the other.
    let below = |t: Tail| if t.upper { 1.0 - t.value } else { t.value };
    let (below_0, below_1) = (below(t0), below(t1));
    remove[0] += (1.0 - q) * below_0 + q * below_1;
    let mut add_infinity = 0.0;
    if q == 1.0 {
        add_infinity = below_0;
    }
    for i in 0..n {
        let (ratio_high, u0, u1) = edge(first + i as i64 + 1);
        let ((outside, slack_0), (inside, slack_1)) = (between(t0, u0), between(t1, u1));
        let mixture = (1.0 - q) * outside + q * inside;
        let slack = (1.0 - q) * slack_0 + q * slack_1;
        if mixture > 0.0 {
            // 1 − r, r = Q·e^low/P, rounded so that mass goes up.
            let rest = 1.0 - outside * ratio_low / mixture + 2e-15 + (slack_0 * ratio_low + slack) / mixture;
            let upper = mixture * Scalar::min(Scalar::max(rest * share, 0.0), 1.0);
            remove[i + 1] += upper;
            remove[i] += mixture - upper;
        }
        if outside > 0.0 {
            // The same cell seen from the other side: losses −high .. −low.
            let rest = 1.0 - mixture / (ratio_high * outside) + 2e-15 + (slack / ratio_high + slack_0) / outside;
            let upper = outside * Scalar::min(Scalar::max(rest * share, 0.0), 1.0);
            add[n - i] += upper;
            add[n - i - 1] += outside - upper;
        }
        (ratio_low, t0, t1) = (ratio_high, u0, u1);
    }
    let above = |t: Tail| if t.upper { t.value } else { 1.0 - t.value };
    let remove_infinity = (1.0 - q) * above(t0) + q * above(t1);
    add[0] += above(t0);
    [Pmf { first, mass: remove, infinity: remove_infinity }, Pmf { first: -last, mass: add, infinity: add_infinity }]
}

/// ln M and its first two derivatives: tilted mean and variance.
#[derive(Clone, Copy, Default)]
struct Moment {
    value: f64,
    mean: f64,
    variance: f64,
}

struct Reading {
    epsilon: f64,
    cells: usize,
    capped: bool,
}

struct Grid {
    kinds: Vec<([Pmf; 2], u32)>,
    step: f64,
    capped: bool,
}

/// How far the product of exponentials runs before it is set right again.
const RESYNC: usize = 32;

impl Pmf {
    /// Calls `visit(loss, mass·e^(tilt·loss − shift))` for every cell.
    fn tilted(&self, step: f64, tilt: f64, shift: f64, mut visit: impl FnMut(usize, f64)) {
        let ratio = Scalar::exp(tilt * step);
        for (block, masses) in self.mass.chunks(RESYNC).enumerate() {
            let start = self.first + (block * RESYNC) as i64;
            let mut factor = Scalar::exp(tilt * (start as f64 * step) - shift);
            for (i, mass) in masses.iter().enumerate() {
                visit(block * RESYNC + i, mass * factor);
                factor *= ratio;
            }
        }
    }

    fn moment(&self, step: f64, tilt: f64) -> Moment {
        // A shift that keeps the largest exponent finite.
        let mut shift = f64::NEG_INFINITY;
        for (i, mass) in self.mass.iter().enumerate().step_by(16) {
            if *mass > 0.0 {
                let exponent = tilt * ((self.first + i as i64) as f64 * step) + Scalar::ln(*mass);
                shift = Scalar::max(shift, exponent);
            }
        }
        if !shift.is_finite() {
            shift = 0.0;
        }
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        let origin = self.first as f64 * step;
        self.tilted(step, tilt, shift, |i, p| {
            let loss = i as f64 * step;
            sum += p;
            first += p * loss;
            second += p * loss * loss;
        });
        let mean = first / sum;
        Moment { value: shift + Scalar::ln(sum), mean: origin + mean, variance: second / sum - mean * mean }
    }
}

impl Grid {
    fn pmfs(&self, direction: Direction) -> impl Iterator<Item = (&Pmf, u32)> {
        self.kinds.iter().map(move |(pair, times)| (&pair[direction as usize], *times))
    }

    fn moment(&self, direction: Direction, tilt: f64) -> Moment {
        let mut all = Moment::default();
        for (pmf, times) in self.pmfs(direction) {
            let one = pmf.moment(self.step, tilt);
            all.value += f64::from(times) * one.value;
            all.mean += f64::from(times) * one.mean;
            all.variance += f64::from(times) * one.variance;
        }
        all
    }

    fn infinity(&self, direction: Direction) -> f64 {
        self.pmfs(direction).fold(0.0, |sum, (pmf, times)| sum + f64::from(times) * pmf.infinity)
    }

    /// A Rényi bound on the grid's own cells certifies that this direction is within δ at ε.
    fn certified(&self, direction: Direction, tilt: f64, delta: f64, epsilon: f64) -> bool {
        let infinity = self.infinity(direction);
        // No finite loss of this direction exceeds ε at all.
        let largest: i64 =
            self.pmfs(direction).map(|(pmf, times)| i64::from(times) * (pmf.first + pmf.mass.len() as i64 - 1)).sum();
        if largest as f64 * self.step <= epsilon && infinity <= delta {
            return true;
        }
        [1.0, 1.2, 1.5, 0.8, 2.0].iter().any(|factor| {
            let order = 1.0 + tilt * factor;
            let bound = order::delta(order, self.moment(direction, order - 1.0).value / (order - 1.0), epsilon);
            bound + infinity <= delta
        })
    }

    /// The tilt that a Rényi accountant of this direction would choose.
    fn best_tilt(&self, direction: Direction, start: f64, delta: f64) -> f64 {
        let value = |tilt: f64| order::epsilon(1.0 + tilt, self.moment(direction, tilt).value / tilt, delta);
        let mut best = (start, value(start));
        for factor in [2.0, 1.5, 1.2, 1.1] {
            for tilt in [best.0 * factor, best.0 / factor] {
                let epsilon = value(tilt);
                if epsilon < best.1 {
                    best = (tilt, epsilon);
                }
            }
        }
        best.0
    }

    /// ε at δ in one direction; nothing if the mass given up to infinity exceeds δ.
    fn read(&self, direction: Direction, tilt: f64, delta: f64, options: &Options, bound: f64) -> Option<Reading> {
        let mut tilt = tilt;
        // The answer is mostly above half the Rényi bound; a window that starts there is the shortest.
        let mut floor = 0.5 * bound;
        for _ in 0..20 {
            match self.read_at(direction, tilt, delta, floor, options)? {
                Ok(reading) => return Some(reading),
                // The window lies above the answer: lower it to 0, then tilt less.
                Err(()) if floor > 0.0 => floor = -2.0 * self.step,
                Err(()) => tilt *= 0.75,
            }
        }
        Some(Reading { epsilon: bound, cells: 0, capped: true })
    }

    fn read_at(
        &self,
        direction: Direction,
        tilt: f64,
        delta: f64,
        floor: f64,
        options: &Options,
    ) -> Option<Result<Reading, ()>> {
        let step = self.step;
        let centre = self.moment(direction, tilt);
        // Chernoff bounds: less than 1e-6 of the tilted sum lies above the window.
        const CUT: f64 = 14.0;
        let small = Scalar::ln(delta) - CUT;
        let mut untilted = (centre.value - small) / tilt;
        let spread = Scalar::sqrt(2.0 * CUT / Scalar::max(centre.variance, 1e-300));
        let (mut high, mut high_tilt) = (f64::INFINITY, tilt);
        let mut high_moment = centre.value;
        // (K(λ+η) − K(λ) + CUT)/η has one minimum in η; for a normal sum it is at `spread`, for rare large losses below.
        let mut eta = spread;
        for _ in 0..40 {
            let up = self.moment(direction, tilt + eta);
            let candidate = (up.value - centre.value + CUT) / eta;
            untilted = Scalar::min(untilted, (up.value - small) / (tilt + eta));
            if candidate < high {
                (high, high_tilt, high_moment) = (candidate, tilt + eta, up.value);
            } else if high.is_finite() {
                break;
            }
            eta *= 0.5;
        }
        // And less than 1e-6·δ of the sum itself.
        high = Scalar::max(high, untilted);
        // Mass below the window lands e^(−λ·width) times its own size at the top: at most 1e-6·δ in all. Or there is so
        // little of it (the moments at 0 and −1 are those of probabilities, ln M ≤ 0) that it does not matter.
        let low = Scalar::max(high + small / tilt, (centre.value - CUT) / (tilt + 1.0));
        let low = Scalar::min(low, floor);
        high = Scalar::max(high, low + 16.0 * step);
        let (mut first, mut last) = (0i64, 0i64);
        for (pmf, times) in self.pmfs(direction) {
            first += i64::from(times) * pmf.first;
            last += i64::from(times) * (pmf.first + pmf.mass.len() as i64 - 1);
        }
        let low_index = (math::floor(low / step) as i64).max(first);
        let high_index = (math::ceil(high / step) as i64).min(last);
        let wanted = (high_index - low_index + 1).max(4) as usize;
        let capped = wanted > options.cells_max;
        let mut plan = Plan::new(wanted.min(options.cells_max));
        let n = plan.len();
        let top_index = low_index + n as i64 - 1;
        // Mass above the window wraps into it from below: it is added back by Chernoff's bound at its own tilt.
        let top = (top_index + 1) as f64 * step;
        let above = if top_index >= last {
            0.0
        } else {
            let chernoff = Scalar::min(high_moment - high_tilt * top, centre.value - tilt * top);
            Scalar::exp(Scalar::min(chernoff, (untilted - top) * tilt + small))
        };
        let given_up = self.infinity(direction) + above;
        if !(self.infinity(direction) < delta) {
            return None;
        }
        if !(given_up < delta) {
            return Some(Err(()));
        }
        let mut spectrum: Vec<super::fourier::Complex> = Vec::new();
        let mut buffer = vec![0.0; n];
        for (pmf, times) in self.pmfs(direction) {
            buffer.fill(0.0);
            let shift = pmf.moment(step, tilt).value;
            let start = pmf.first.rem_euclid(n as i64) as usize;
            pmf.tilted(step, tilt, shift, |i, p| buffer[(start + i) % n] += p);
            let mut one = plan.forward(&buffer);
            one.iter_mut().for_each(|c| *c = c.power(times));
            if spectrum.is_empty() {
                spectrum = one;
            } else {
                spectrum.iter_mut().zip(one).for_each(|(a, b)| *a = a.times(b));
            }
        }
        let tilted = plan.inverse(&spectrum);
        let count: f64 = self.pmfs(direction).map(|(_, times)| f64::from(times)).sum();
        let rounding = 1e-15 * f64::from(n.trailing_zeros()) * (1.0 + count * 1e-2) / n as f64;
        // From the top down: δ at a grid point is Σ p(1 − e^(ε−l)) over the losses above it.
        let target = (delta - given_up) * (1.0 - 1e-9);
        let shrink = Scalar::exp(-step);
        let (mut sum, mut weighted, mut unsure) = (0.0, 0.0, 0.0);
        let mut index = top_index;
        while index >= low_index.min(-1) {
            let loss = index as f64 * step;
            if index < low_index {
                return Some(Err(()));
            }
            // Above 709 the second term is left out: a bound within 1 of the truth, and what other libraries print.
            let overflow = loss > 709.7;
            let here = if overflow { sum } else { sum - weighted };
            if here > target || index < 0 {
                // So far below the tilted bulk only rounding is left: another tilt.
                if unsure > 2e-4 * target {
                    return Some(Err(()));
                }
                // Between this grid point and the one above: e^ε = (Σp − δ)/Σp·e^(−l).
                let epsilon = if overflow {
                    loss + step
                } else if sum > target {
                    loss + Scalar::ln((sum - target) / weighted)
                } else {
                    0.0
                };
                let epsilon = Scalar::min(Scalar::max(epsilon, 0.0), (index + 1) as f64 * step);
                let epsilon = Scalar::max(epsilon, 0.0) * (1.0 + 1e-10);
                return Some(Ok(Reading { epsilon, cells: n, capped }));
            }
            let at = index.rem_euclid(n as i64) as usize;
            let factor = Scalar::exp(centre.value - tilt * loss);
            let p = (Scalar::max(tilted[at], 0.0) + rounding) * factor;
            unsure += rounding * factor;
            sum += p;
            // Σ p·e^(l′−l) for the next grid point l′ below.
            weighted = (weighted + p) * shrink;
            index -= 1;
        }
        Some(Ok(Reading { epsilon: 0.0, cells: n, capped }))
    }
}
