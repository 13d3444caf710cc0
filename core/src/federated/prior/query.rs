//! The query of a round: how far an agent's own data bear out the common draw, and where to look
//! next.
//!
//! **Equation**, with m = Φw_t for the common draw w_t of the round and K = FFᵀ: under model (α,
//! s²) the agent's function is αm + s·g, g ~ GP(0, K). Its weight is ∝ e^{prior}·N(yₙ; αmₙ, A), A =
//! s²Kₙ + λI. One model is drawn by weight; then f = αm + F(sζ + s²Fₙᵀa), a = A⁻¹(yₙ − αmₙ − sFₙζ −
//! e), ζ ~ N(0, I), e ~ N(0, λI) (Matheron's rule), and the query is the argmax of f; ties: lowest
//! index.
//!
//! [`super::Factors`] hold L of LLᵀ = A for every s²; see there for the weights.
//!
//! **Numerics**: weights are formed in log space from the largest. With s² = .01 the covariance A
//! is the best conditioned of all; with s² = 1 it is that of the agent's own Gaussian process, so
//! `f32` suffices where it does there.
//!
//! **Privacy**: an agent's own data and public numbers; the query itself is visible to those who
//! evaluate it.
//!
//! **Source**: Wilson et al. 2020 for the update; the mixture of models is ours.

use super::contribution::Observations;
use super::error::{PriorError, at_least, exactly};
use super::evidence::{Factors, Model, pick};
use super::public::Public;
use crate::acquisition::{Maximum, thompson};
use crate::dispatch;
use crate::linalg::rows::{add_rows_here, dots_here};
use crate::linalg::slice::{self, head_mut, part};
use crate::linalg::{dot, lower, matvec};
use crate::math::Scalar;
use crate::random::{Stream, normal};

/// The common draw of a round, one for all agents.
///
/// **Example**: that of [`Query`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw<'d, T> {
    /// w_t, M numbers ([`super::PublicState::draw`]).
    pub weights: &'d [T],
    /// m = Φw_t, D numbers ([`Draw::values_of`]), or none: a host that runs many agents computes it
    /// once a round, a device never. The query is the same to the last bit.
    pub values: &'d [T],
}

impl<'d, T: Scalar> Draw<'d, T> {
    /// Φw_t into `out`, D numbers. **Cost**: D·M multiply-adds. **Errors**: [`PriorError::Length`].
    pub fn values_of(
        public: &Public<'_, T>,
        weights: &[T],
        out: &mut [T],
    ) -> Result<(), PriorError> {
        exactly("draw", weights.len(), public.config().features())?;
        exactly("values of the draw", out.len(), public.candidates())?;
        matvec(public.feature_rows(), weights, out);
        Ok(())
    }

    /// Its lengths, and that every number is finite.
    fn check(&self, m: usize, candidates: usize) -> Result<(), PriorError> {
        exactly("draw", self.weights.len(), m)?;
        if !self.values.is_empty() {
            exactly("values of the draw", self.values.len(), candidates)?;
        }
        match self
            .weights
            .iter()
            .chain(self.values)
            .find(|x| !x.is_finite())
        {
            Some(value) => Err(PriorError::Number {
                what: "draw",
                value: value.to_f64(),
                admissible: "(-inf, inf)",
            }),
            None => Ok(()),
        }
    }

    /// m at a candidate.
    fn at(&self, public: &Public<'_, T>, candidate: u32) -> T {
        match self.values.get(candidate as usize) {
            Some(value) => *value,
            None => dot(
                public.feature_row(self.weights.len(), candidate),
                self.weights,
            ),
        }
    }
}

/// What a query decided.
///
/// ```
/// use sordino_core::federated::prior::{
///     Draw, Factors, Model, Observations, Query, factors_len, levels, models, query, query_scratch_len,
/// };
/// # use sordino_core::{federated::prior::{Config, Parameters, Public, Tables}, random::Stream};
/// # let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
/// # let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0];
/// # let public = Public::new(&config, &feature_rows, Tables::NONE)?;
///
/// // `config` and `public` of the example of `Public`: two features, four candidates. w_t is the draw of the round.
/// let (weights, mut values) = ([0.9, -0.1], [0f64; 4]);
/// Draw::values_of(&public, &weights, &mut values)?;
/// assert!((values[1] - (0.8 * 0.9 - 0.6 * 0.1)).abs() < 1e-15);
/// let observations = Observations::new(&[0.0, 1.0, 3.0, -1.0], 4)?;
/// let models: [Model<f64>; 6] = models(0);
/// let next = |values| -> Result<Query<f64>, _> {
///     let (mut rows, mut numbers) = (0, vec![0.0; factors_len(2, levels(&models))]);
///     let (factors, scratch) = (&mut Factors::new(2, &mut rows, &mut numbers), &mut [0.0; query_scratch_len(2, 2)]);
///     let draw = Draw { weights: &weights, values };
///     query(&public, &models, Some(&draw), &observations, &mut Stream::from_seed(1), factors, scratch)
/// };
/// // A device that never holds all values of the draw asks the same.
/// assert_eq!(next(&values)?, next(&[])?);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query<T> {
    /// Index of the candidate to evaluate.
    pub candidate: u32,
    /// Value of the drawn function at that candidate.
    pub value: T,
    /// Which model was drawn. The agent's own affair.
    pub model: usize,
}

/// Numbers of scratch [`query()`] needs for n observations and a prior factor of R columns (M where
/// there is none). At its end it leaves sζ + s²Fₙᵀa, R numbers (αw_t added where there is no
/// factor).
pub const fn query_scratch_len(observations: usize, rank: usize) -> usize {
    3 * observations + rank
}

/// The query of one agent.
///
/// **Parameters**: `models` 1 to [`super::MODELS_MAX`]; `draw` of the round, or none: then the
/// first model of trust 0 is used; `stream` the agent's own of the round: one word for the model, R
/// normals for ζ, n for e; `factors` of earlier observations, which this extends; `scratch` of
/// [`query_scratch_len`].
///
/// **Errors**: [`PriorError::Length`], [`PriorError::Number`], [`PriorError::Singular`].
///
/// **Cost**: nR + n²/2 multiply-adds for every observation and level that `factors` lacks, n²/2 for
/// every model, n² and 2nR for the draw; D·(M + R), D·R with the draw's values, D·M where there is
/// no factor F.
pub fn query<T: Scalar>(
    public: &Public<'_, T>,
    models: &[Model<T>],
    draw: Option<&Draw<'_, T>>,
    observations: &Observations<'_, T>,
    stream: &mut Stream,
    factors: &mut Factors<'_, T>,
    scratch: &mut [T],
) -> Result<Query<T>, PriorError> {
    let config = public.config();
    let m = config.features();
    let n = observations.len();
    let (rows, width) = public.prior();
    if let Some(draw) = draw {
        draw.check(m, public.candidates())?;
    }
    at_least("scratch", scratch.len(), query_scratch_len(n, width))?;
    let (common, rest) = slice::split(scratch, n);
    let (residual, rest) = slice::split(rest, n);
    let (noise, rest) = slice::split(rest, n);
    let zeta = head_mut(rest, width);
    let noise_variance = T::from_f64(config.parameters().noise_variance);
    factors.extend(public, noise_variance, models, observations, residual)?;
    for (value, (candidate, _)) in common.iter_mut().zip(observations.iter()) {
        *value = draw.map_or(T::ZERO, |draw| draw.at(public, candidate));
    }
    let unit = stream.unit();
    let chosen = match draw {
        Some(_) => {
            let weights = factors.log_weights(models, common, observations, residual);
            Some(pick(slice::head(&weights, models.len()), unit))
        }
        None => models.iter().position(|model| model.trust == T::ZERO),
    };
    let Some((
        chosen,
        Model {
            trust, variance, ..
        },
    )) = chosen.and_then(|i| Some((i, *models.get(i)?)))
    else {
        return Err(PriorError::Length {
            what: "models with trust 0",
            len: 0,
            expected: 1,
        });
    };
    // A sample of the chosen model.
    let std = variance.sqrt();
    let noise_std = noise_variance.sqrt();
    normal::fill(stream, zeta);
    zeta.iter_mut().for_each(|z| *z = std * *z);
    normal::fill(stream, noise);
    let prior = |candidate: u32| part(rows, candidate as usize * width, width);
    let given = observations.iter().zip(&*common).zip(&*noise);
    let rows = observations.iter().map(|(candidate, _)| prior(candidate));
    dispatch::run_short(
        #[inline(always)]
        |width| {
            dots_here(
                width,
                rows,
                zeta,
                residual.iter_mut().zip(given),
                |(r, (((_, y), common), noise)), drawn| {
                    *r = y - trust * *common - drawn - noise_std * *noise;
                },
            );
        },
    );
    let factor = factors.of(models, chosen);
    lower::solve(factor, residual);
    lower::solve_transposed(factor, residual);
    let rows = residual
        .iter()
        .zip(observations.iter())
        .map(|(a, (candidate, _))| (variance * *a, prior(candidate)));
    dispatch::run_short(
        #[inline(always)]
        |_| add_rows_here(rows, zeta),
    );
    let Maximum { candidate, value } = maximize(public, draw, trust, zeta);
    Ok(Query {
        candidate,
        value,
        model: chosen,
    })
}

/// argmax over the candidates of α·m(x) + F(x)·own. Without a factor F the draw's weights are added
/// to `own`, which is one product instead of two.
fn maximize<T: Scalar>(
    public: &Public<'_, T>,
    draw: Option<&Draw<'_, T>>,
    trust: T,
    own: &mut [T],
) -> Maximum<T> {
    let (weights, known) = draw.map_or((&[][..], &[][..]), |draw| (draw.weights, draw.values));
    if public.prior_rows().is_empty() {
        own.iter_mut()
            .zip(weights)
            .for_each(|(to, from)| *to = trust * *from + *to);
        return thompson::maximize_rows(public.feature_rows(), own.len(), &[], own);
    }
    /// Values computed before they are compared.
    const BLOCK: usize = 64;
    let width = own.len().max(1);
    let m = weights.len();
    let mut common = [T::ZERO; BLOCK];
    let mut values = [T::ZERO; BLOCK];
    let mut best = Maximum::none();
    for (block, rows) in public.prior_rows().chunks(BLOCK * width).enumerate() {
        let start = block * BLOCK;
        let count = rows.len() / width;
        let common = head_mut(&mut common, count);
        let values = head_mut(&mut values, count);
        match known.get(start..start + count) {
            Some(known) => slice::copy(known, common),
            None => matvec(
                part(public.feature_rows(), start * m, count * m),
                weights,
                common,
            ),
        }
        matvec(rows, own, values);
        values
            .iter_mut()
            .zip(&*common)
            .for_each(|(own, m)| *own = trust * *m + *own);
        best.look(start as u32, values);
    }
    best
}
