//! TGP-UCB: truncated rewards in an exact Gaussian-process posterior.
//!
//! **Equation**: ŷ_t = y_t if |y_t| ≤ b_t, else 0; x_{t+1} = argmax μ_t + β_{t+1}σ_t with the
//! posterior of ŷ under regularisation λ, its variance starting from k(x, x).
//!
//! A report is truncated once, when it arrives, so the posterior over the N candidates is updated
//! and never recomputed: N² flops a round, whatever t. No heap: this learner runs where there is
//! none.
//!
//! ```
//! use sordino_core::kernel::SquaredExponential;
//! use sordino_core::local::{Input, Learner, Output, TgpUcb, tgp};
//! # use sordino_core::local::{Config, Constants, FirstQuery, Parameters, Rewards};
//! # use sordino_core::random::RunSeed;
//! # let config = Config::new(Parameters {
//! #     candidates: 10,
//! #     rounds: 20,
//! #     rewards: Rewards::Bounded { norm_bound: 1.0, noise_bound: 0.1, epsilon: Some(2.0) },
//! #     constants: Constants::OrderWise,
//! #     width_factor: 0.1,
//! #     regularization: 1.0,
//! #     failure_probability: 0.1,
//! #     accuracy: 0.1,
//! #     first_query: FirstQuery::Random,
//! #     epoch_len: None,
//! #     nystrom_inflation: None,
//! #     stride: 1,
//! # })?;
//!
//! // `config`: ten candidates, 20 rounds, rewards within ±1.1, ε = 2 a report.
//! let points: Vec<f64> = (0..10).map(|i| f64::from(i) / 9.0).collect();
//! let (kernel, storage) = (SquaredExponential::new(0.2, 1.0)?, vec![0.0; tgp::storage_len(10)]);
//! let mut learner = TgpUcb::new(config, RunSeed::new(1, 0), &kernel, 1, &points, storage)?;
//! let (mut input, mut reports) = (Input::Start, 0);
//! while let Output::Query { candidate, .. } = learner.handle(input)? {
//!     reports += 1;
//!     input = Input::Report(f64::from(candidate)); // what a user's device sends, perturbed
//! }
//! assert_eq!((reports, learner.mean().len()), (20, 10));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use super::config::Config;
use super::learner::{
    Input, Learner, LearnerError, Output, Rounds, check_count, first_query, maximize,
};
use crate::kernel::Kernel;
use crate::linalg::lower;
use crate::math::Scalar;
use crate::random::RunSeed;
use crate::surrogate::finite;
use crate::surrogate::information_gain::RunGain;
use crate::surrogate::{FiniteGp, Posterior};

/// Numbers that [`TgpUcb`] needs for N candidates.
pub const fn storage_len(candidates: usize) -> usize {
    finite::storage_len(candidates)
}

/// The learner TGP-UCB.
///
/// **Source**: Zhou, Tan 2021, Algorithm 2. Deviations: line 6 prints μ̃ where μ̂ is meant; line
/// 10's first term is k(x, x), not k_t(x, x); γ is the run's information gain, which the bound
/// admits and which is smaller.
#[derive(Clone, Debug)]
pub struct TgpUcb<T, S> {
    config: Config,
    seed: RunSeed,
    rounds: Rounds,
    gp: FiniteGp<T, S>,
    gain: RunGain,
    truncated: u32,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> TgpUcb<T, S> {
    /// A learner over `points` (row-major, `dim` columns), with [`storage_len`] numbers of storage.
    ///
    /// **Errors**: [`LearnerError::Candidates`], [`LearnerError::Surrogate`]. A kernel that is not
    /// positive semidefinite shows as variances that had to be clamped
    /// ([`TgpUcb::variance_clamps`]); hosts check it before.
    pub fn new<K: Kernel<T>>(
        config: Config,
        seed: RunSeed,
        kernel: &K,
        dim: usize,
        points: &[T],
        storage: S,
    ) -> Result<Self, LearnerError> {
        let p = config.parameters();
        let gp = FiniteGp::new(kernel, T::from_f64(p.regularization), dim, points, storage)?;
        check_count(&config, gp.count())?;
        let gain = RunGain::new(p.regularization)?;
        let rounds = Rounds::new(p.rounds);
        Ok(TgpUcb {
            config,
            seed,
            rounds,
            gp,
            gain,
            truncated: 0,
        })
    }

    /// Line 5 to 8: truncate, observe.
    fn learn(&mut self, y: T) -> Result<(), LearnerError> {
        let candidate = self.rounds.candidate() as usize;
        let threshold = T::from_f64(self.config.tgp_threshold(self.rounds.round()));
        let far = !(y.abs() <= threshold);
        let variance = self.gp.posterior(candidate)?.variance;
        self.gp.observe(candidate, if far { T::ZERO } else { y })?;
        self.gain.play(variance);
        self.truncated += u32::from(far);
        Ok(())
    }

    /// Line 4: the next query.
    fn propose(&self) -> u32 {
        let width = T::from_f64(
            self.config
                .tgp_width(self.rounds.round() + 1, self.gain.value()),
        );
        let covariance = self.gp.covariance();
        maximize(
            self.gp
                .mean()
                .iter()
                .enumerate()
                .map(|(i, mean)| (*mean, lower::row(covariance, i)[i])),
            width,
        )
    }

    /// Mean and variance of a candidate.
    ///
    /// **Errors**: [`LearnerError::Surrogate`] if there is no such candidate.
    pub fn posterior(&self, candidate: usize) -> Result<Posterior<T>, LearnerError> {
        Ok(self.gp.posterior(candidate)?)
    }

    /// Reports that were replaced by 0.
    pub fn truncated(&self) -> u32 {
        self.truncated
    }

    /// Information gain γ of the run so far.
    pub fn information_gain(&self) -> f64 {
        self.gain.value()
    }

    /// Variances that came out negative and were set to 0.
    pub fn variance_clamps(&self) -> u32 {
        self.gp.variance_clamps()
    }
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Learner<T> for TgpUcb<T, S> {
    fn handle(&mut self, input: Input<T>) -> Result<Output, LearnerError> {
        let candidate = match self.rounds.accept(input)? {
            None => first_query(&self.config, self.seed),
            Some(y) => {
                self.learn(y)?;
                if self.rounds.is_last() {
                    0
                } else {
                    self.propose()
                }
            }
        };
        Ok(self.rounds.next(candidate))
    }

    fn mean(&self) -> &[T] {
        self.gp.mean()
    }
}
