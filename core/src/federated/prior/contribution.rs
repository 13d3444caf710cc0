//! Release step 2: what an agent contributes, and the mechanism it goes through.
//!
//! **Equation**: d = Φₙᵀ(Kₙ + κI)⁻¹(yₙ − Φₙw) over all its observations; u = min(1, C/‖d‖); the
//! contribution is the joint vector (u·d, γCu) of M + 1 numbers. Where nobody knows the constant
//! P(Kₙ + κI) takes the place of the inverse ([`Constant::Projected`]).
//!
//! **Theorem.** Under zero-out neighbours
//! ([`NeighboringRelation::ReplaceSpecial`](crate::privacy::NeighboringRelation)) the sum of
//! contributions has L2 sensitivity at most Δ = C√(1 + γ²), and its release through the integer
//! grid at multiplier z is a Gaussian mechanism of multiplier at least z, *whatever* an agent
//! sends.
//!
//! **Proof.** (a) An honest vector: ‖(u·d, γCu)‖² = u²‖d‖² + γ²C²u² ≤ C² + γ²C², because u‖d‖ ≤ C
//! and u ≤ 1, with equality for ‖d‖ = C. So Δ is the least bound that leaves honest vectors as they
//! are. (b) Any vector at all, hostile or not finite: [`Encoder`] clips the *joint* vector of M + 1
//! entries, one block of weight 1, to Δ, maps Δ to K grid units and checks Σu² ≤ K² in exact
//! integers, else it contributes zero. Zero-out neighbours differ in one such integer vector, whose
//! norm is at most K. (c) The theorem of [`crate::privacy::mechanism::gaussian`] without sampling:
//! the released integers are a function of X + 2ᵐG with sensitivity K, a Gaussian of multiplier
//! 2ᵐ/K ≥ z. (d) C, w, κ and Δ are functions of earlier *releases* and public constants; given
//! those, (a) to (c) hold, and [`super::event`] composes adaptively (see [`super::total_mu`]'s
//! module). ∎
//!
//! No step uses what the numbers of (u·d, γCu) were computed from. So standardising, projecting,
//! wrong or invented data change no bound.
//!
//! **What breaks it**: the clip coordinate left out of Δ (the joint norm is then up to √(1 + γ²)
//! times what is charged); clipping d and the coordinate apart from each other; a C computed from
//! private innovations. The first two cannot happen behind the integer check, which is over the
//! joint vector; tests keep all of it that way.
//!
//! Sending γC(u − ½) would make Δ smaller, C√(1 + γ²/4), with an absent agent counted as u = ½. It
//! is not done: absent agents send nothing, ḡ then measures their absence too, and H = ḡĀ stays
//! true.

use super::config::Config;
use super::constant::{Constant, ones_solved};
use super::error::{PriorError, at_least, exactly};
use super::public::Public;
use super::state::Terms;
use crate::dispatch;
use crate::linalg::rows::{add_rows_here, dots_here};
use crate::linalg::slice::{self, head_mut, part};
use crate::linalg::{lower, packed_len, sum_of_squares};
use crate::math::Scalar;
use crate::privacy::encode::{EncodeError, Encoder};
use crate::privacy::event::Event;
use crate::privacy::mechanism::gaussian::{GaussianError, GridGaussian};

/// An agent's observations, as its log keeps them: (candidate, value) pairs of numbers, checked.
///
/// ```
/// use sordino_core::federated::prior::{Observations, PriorError};
///
/// let observations = Observations::new(&[0.0, 1.5, 3.0, -1.0], 4)?; // of candidates 0 and 3
/// assert!(observations.iter().eq([(0, 1.5), (3, -1.0)]));
/// assert_eq!(Observations::new(&[4.0, 1.5], 4), Err(PriorError::Candidate { entry: 0, candidates: 4 }));
/// # Ok::<(), PriorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observations<'a, T>(&'a [[T; 2]]);

impl<'a, T: Scalar> Observations<'a, T> {
    /// A log of pairs: a candidate's index as a whole number, and a finite value.
    ///
    /// **Errors**: [`PriorError::Length`] for half a pair; [`PriorError::Candidate`],
    /// [`PriorError::Number`].
    pub fn new(log: &'a [T], candidates: usize) -> Result<Self, PriorError> {
        let (pairs, rest) = log.as_chunks();
        exactly("log", log.len(), log.len() - rest.len())?;
        for (entry, [candidate, value]) in pairs.iter().enumerate() {
            let index = candidate.to_u32();
            if index as usize >= candidates || T::from_u32(index) != *candidate {
                return Err(PriorError::Candidate { entry, candidates });
            }
            if !value.is_finite() {
                return Err(PriorError::Number {
                    what: "observation",
                    value: value.to_f64(),
                    admissible: "(-inf, inf)",
                });
            }
        }
        Ok(Observations(pairs))
    }

    /// Number of observations.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no observations.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Candidates and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, T)> + 'a {
        self.0
            .iter()
            .map(|[candidate, value]| (candidate.to_u32(), *value))
    }
}

/// Numbers of scratch [`contribution()`] needs for n observations.
pub const fn contribution_scratch_len(observations: usize) -> usize {
    packed_len(observations) + observations
}

/// The joint vector (u·d, γCu) of an agent into `out`, M + 1 numbers; returns u.
///
/// **Parameters**: `terms` of the release and `weights` w, both public; `scratch` of
/// [`contribution_scratch_len`].
///
/// **Errors**: [`PriorError::Length`]; [`PriorError::Singular`], after which the agent sends
/// nothing this time.
///
/// **Cost**: n³/3 + n²R + 2nM flops for n observations and a prior factor of R columns; nM + 2n²
/// more where the constant is projected out.
pub fn contribution<T: Scalar>(
    public: &Public<'_, T>,
    terms: &Terms<T>,
    weights: &[T],
    observations: &Observations<'_, T>,
    scratch: &mut [T],
    out: &mut [T],
) -> Result<T, PriorError> {
    let config = public.config();
    let m = config.features();
    let n = observations.len();
    exactly("weights", weights.len(), m)?;
    exactly("contribution", out.len(), m + 1)?;
    at_least("scratch", scratch.len(), contribution_scratch_len(n))?;
    let (factor, residual) = slice::split(scratch, packed_len(n));
    let residual = head_mut(residual, n);
    for i in 0..n {
        let row = lower::row_mut(factor, i);
        kernel_row(public, observations, row);
        if let Some(diagonal) = row.last_mut() {
            *diagonal += terms.ridge;
        }
        lower::append_row(factor, i, T::ZERO)?;
    }
    let rows = || {
        observations
            .iter()
            .map(|(candidate, _)| public.feature_row(m, candidate))
    };
    let constant = match config.parameters().constant {
        Constant::Known => None,
        Constant::Projected => Some(constant_of(public, weights, observations, factor, residual)),
    };
    dispatch::run_short(
        #[inline(always)]
        |width| {
            dots_here(
                width,
                rows(),
                weights,
                residual.iter_mut().zip(observations.iter()),
                |(r, (_, y)), known| *r = y - known,
            )
        },
    );
    if let Some(constant) = constant {
        residual.iter_mut().for_each(|r| *r -= constant);
    }
    lower::solve(factor, residual);
    lower::solve_transposed(factor, residual);
    out.fill(T::ZERO);
    let (innovation, coordinate) = slice::split(out, m);
    dispatch::run_short(
        #[inline(always)]
        |_| add_rows_here(residual.iter().copied().zip(rows()), innovation),
    );
    let norm = sum_of_squares(innovation).sqrt();
    let clip = if norm > terms.clip_radius {
        terms.clip_radius / norm
    } else {
        T::ONE
    };
    innovation.iter_mut().for_each(|x| *x *= clip);
    slice::set(
        coordinate,
        0,
        T::from_f64(config.parameters().clip_weight) * terms.clip_radius * clip,
    );
    Ok(clip)
}

/// The generalised least squares estimate c = 1ᵀK⁻¹r/(1ᵀK⁻¹1) of the constant that residuals r = y
/// − Φw are around; `ones` is scratch of n numbers.
fn constant_of<T: Scalar>(
    public: &Public<'_, T>,
    weights: &[T],
    observations: &Observations<'_, T>,
    factor: &[T],
    ones: &mut [T],
) -> T {
    let m = public.config().features();
    let total = ones_solved(factor, ones);
    let rows = observations
        .iter()
        .map(|(candidate, _)| public.feature_row(m, candidate));
    let mut sum = T::ZERO;
    dispatch::run_short(
        #[inline(always)]
        |width| {
            dots_here(
                width,
                rows,
                weights,
                ones.iter().zip(observations.iter()),
                |(one, (_, y)), known| sum += *one * (y - known),
            )
        },
    );
    sum / total
}

/// Row i of K over the observed points, for `out` of i + 1 numbers.
pub(super) fn kernel_row<T: Scalar>(
    public: &Public<'_, T>,
    observations: &Observations<'_, T>,
    out: &mut [T],
) {
    let (rows, width) = public.prior();
    let prior = |candidate: u32| part(rows, candidate as usize * width, width);
    let Some((newest, _)) = observations.iter().nth(out.len().saturating_sub(1)) else {
        return;
    };
    let rows = observations.iter().map(|(other, _)| prior(other));
    dispatch::run_short(
        #[inline(always)]
        |width| {
            dots_here(width, rows, prior(newest), out.iter_mut(), |k, sum| {
                *k = sum
            })
        },
    );
}

/// Δ = C√(1 + γ²): the largest norm of a joint vector, the clip coordinate included.
pub fn l2_sensitivity<T: Scalar>(config: &Config, terms: &Terms<T>) -> f64 {
    config.l2_sensitivity(terms.clip_radius.to_f64())
}

/// The Gaussian mechanism of one release: everybody, one joint vector each, on the integer grid.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mechanism {
    grid: GridGaussian,
    l2_sensitivity: f64,
}

impl Mechanism {
    /// The mechanism of a release at multiplier z with these terms.
    ///
    /// **Errors**: [`GaussianError`] for a multiplier the grid cannot hold, or a Δ that is not a
    /// positive number.
    pub fn new<T: Scalar>(
        config: &Config,
        terms: &Terms<T>,
        noise_multiplier: f64,
    ) -> Result<Self, GaussianError> {
        let p = config.parameters();
        let grid = GridGaussian::unsampled(p.grid_exponent, noise_multiplier, p.agents)?;
        let l2_sensitivity = l2_sensitivity(config, terms);
        grid.decode_unit(l2_sensitivity)?;
        Ok(Mechanism {
            grid,
            l2_sensitivity,
        })
    }

    /// The grid: noise, release and decoding at Δ.
    pub const fn grid(&self) -> &GridGaussian {
        &self.grid
    }

    /// L2 sensitivity Δ of the sum to one agent.
    pub const fn l2_sensitivity(&self) -> f64 {
        self.l2_sensitivity
    }

    /// What the release costs: [`super::event`] at z, a Gaussian without sampling.
    pub fn event(&self) -> Event {
        self.grid.event()
    }

    /// Standard deviation of the noise on every coordinate of the decoded sum: Δ·2ᵐ/K.
    pub fn noise_std(&self) -> f64 {
        self.l2_sensitivity * self.grid.effective_noise_multiplier()
    }

    /// The encoder of joint vectors, radius K for Δ; add them with one block of weight 1.
    ///
    /// **Errors**: none after [`Mechanism::new`] succeeded.
    pub fn encoder(&self) -> Result<Encoder, EncodeError> {
        self.grid.encoder(self.l2_sensitivity, self.l2_sensitivity)
    }
}
