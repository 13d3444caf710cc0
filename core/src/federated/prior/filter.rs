//! The server's half of a federated prior: what its releases are made with, and what they mean.
//!
//! The releases themselves are those of every method, by [`Server`](crate::federated::Server).
//! Everybody contributes: there are no coins. A [`Filter`] computes the public terms of a release
//! before it is opened, and takes the released sums into the posterior of the population when it is
//! over.

use core::fmt;

use super::super::encoding::Encoding;
use super::super::errors::ServerError;
use super::super::estimator::Estimator;
use super::error::{PriorError, exactly};
use super::joint::JointVectors;
use super::plan;
use super::public::Public;
use super::state::{PublicState, Terms, scratch_len};
use crate::math::Scalar;
use crate::privacy::budget::{BudgetError, GaussianFilter};
use crate::privacy::event::Event;

/// When releases are made and at which multipliers: public, fixed beforehand.
///
/// **Example**: that of [`Filter`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan<'a> {
    /// Release j is made before the queries of round `rounds[j]` + 1; not decreasing.
    pub rounds: &'a [u32],
    /// Noise multipliers z_j, one for each release.
    pub noise_multipliers: &'a [f64],
}

impl Plan<'_> {
    /// What release j costs; nothing beyond the last.
    pub fn event(&self, index: u32) -> Option<Event> {
        self.noise_multipliers
            .get(index as usize)
            .copied()
            .map(plan::event)
    }

    /// Whether a contribution to release `index` fits a budget of (ε, δ) that its server announced.
    /// All releases of the plan up to it count, whether the member gave to them or not, so that no
    /// reset and no missed epoch refills the budget.
    ///
    /// **Errors**: [`BudgetError`], but for a budget that is exhausted.
    pub fn affords(&self, index: u32, epsilon_max: f64, delta: f64) -> Result<bool, BudgetError> {
        let mut filter = GaussianFilter::new(epsilon_max, delta)?;
        for release in 0..=index {
            let Some(event) = self.event(release) else {
                return Ok(false);
            };
            match filter.charge(&event) {
                Ok(()) => {}
                Err(BudgetError::Exhausted { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    pub(super) fn check(&self) -> Result<(), PriorError> {
        exactly(
            "multipliers",
            self.noise_multipliers.len(),
            self.rounds.len(),
        )?;
        match self.rounds.windows(2).find(|pair| pair[1] < pair[0]) {
            Some(pair) => {
                let value = f64::from(pair[1]);
                Err(PriorError::Number {
                    what: "round of a release",
                    value,
                    admissible: "from the one before on",
                })
            }
            None => Ok(()),
        }
    }
}

/// The Kalman filter of a federated prior: plan, public context and posterior, as the [`Estimator`]
/// of a server.
///
/// ```
/// use sordino_core::federated::prior::{Filter, JointVectors, Plan, PublicState, scratch_len, storage_len};
/// use sordino_core::federated::{
///     Collector, CollectorStorage, Counters, Server, ServerInput, ServerOutput, ServerPhase, ServerState, ServerStorage,
/// };
/// use sordino_core::privacy::{Simulated, charge::Unwritten};
/// # use sordino_core::federated::prior::{Config, Parameters, Public, Tables, draw_designs, gram};
/// # use sordino_core::random::{RunSeed, Stream};
/// # let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
/// # let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0];
/// # let (mut mean, mut designs) = ([0.0; 4], [0; 8 * 3]);
/// # gram(&config, &feature_rows, &mut mean)?;
/// # draw_designs(&config, RunSeed::new(7, 0), 4, &mut designs)?;
/// # let public = Public::new(&config, &feature_rows, Tables { gram: &mean, designs: &designs, ..Tables::NONE })?;
/// # let (mut sums, mut noise, mut flags, mut vectors) = ([0; 3], [0; 3], [0; 2], [0.0; 3]);
/// # let mut scratch = vec![0.0; scratch_len(2, 3)];
/// # let storage = ServerStorage { sums: &mut sums, noise: &mut noise, flags: &mut flags, vectors: &mut vectors };
///
/// // `config` and `public` of the example of `Public`; one release, before the first query, at multiplier 1.
/// let plan = Plan { rounds: &[0], noise_multipliers: &[1.0] };
/// let (mut posterior, mut state) = (PublicState::new(config, vec![0.0; storage_len(2)])?, ServerState::new());
/// let filter = Filter::new(plan, public, &mut posterior, &mut scratch)?;
/// let mut server = Server::attach(filter, &mut state, storage)?;
/// let source = &mut Simulated::new(Stream::from_seed(1));
/// let _ = server.handle(ServerInput::Open, source)?;
/// let terms = server.method().terms().ok_or("a release that is open has terms")?;
/// server.handle(ServerInput::Upload { agent: 0, broadcast: 0, vector: &[0.1, 0.2, 0.1] }, source)?;
/// // A shard takes the upload of agent 1.
/// let (mut sums, mut flags, mut counters) = ([0; 3], [0; 1], Counters::default());
/// let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
/// let encoding = JointVectors::new(&config, &terms, 1.0)?;
/// let mut shard = Collector::new(encoding, &server.share(1..2)?, storage)?;
/// shard.upload(1, 0, &[0.1, -0.2, 0.1])?;
/// server.merge(&shard.finish())?;
/// let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)? else { unreachable!() };
/// let paid = server.handle(ServerInput::Charged(Unwritten::receipt(charge)), source)?;
/// assert!(matches!(paid, ServerOutput::Broadcast { broadcast: 0, .. }));
/// assert_eq!((server.state().releases(), server.state().phase()), (1, ServerPhase::Done));
/// assert!(server.method().posterior().covariance()[0] < 1.0); // Σ was I: a measurement makes it smaller
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Filter<'a, T, S> {
    plan: Plan<'a>,
    public: Public<'a, T>,
    posterior: &'a mut PublicState<T, S>,
    scratch: &'a mut [T],
}

impl<T, S> fmt::Debug for Filter<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Filter<'a, T, S> {
    /// Joins plan, context and posterior.
    ///
    /// **Parameters**: `scratch` of [`scratch_len`].
    ///
    /// **Errors**: [`PriorError::Length`], [`PriorError::Number`], [`PriorError::OtherConfig`] for
    /// a plan, a context or scratch that do not fit.
    pub fn new(
        plan: Plan<'a>,
        public: Public<'a, T>,
        posterior: &'a mut PublicState<T, S>,
        scratch: &'a mut [T],
    ) -> Result<Self, PriorError> {
        plan.check()?;
        let config = posterior.config();
        public.update(config)?;
        exactly(
            "scratch",
            scratch.len(),
            scratch_len(config.features(), config.design_len()),
        )?;
        Ok(Filter {
            plan,
            public,
            posterior,
            scratch,
        })
    }

    /// The public posterior.
    pub fn posterior(&self) -> &PublicState<T, S> {
        self.posterior
    }

    /// The terms of the release that is open, for everybody; nothing between releases.
    pub fn terms(&self) -> Option<Terms<T>> {
        self.posterior.terms()
    }

    /// Takes in all releases of the plan at once, as a server would that makes them, and returns
    /// the self-test B: what anybody does who has the releases and will believe neither a posterior
    /// nor a B. The posterior, which must be new, is then the server's, to the last bit.
    ///
    /// **Parameters**: `released`, the M + 1 decoded numbers of each release, one after the other;
    /// `scratch` of [`self_test_scratch_len`](super::self_test_scratch_len).
    ///
    /// **Errors**: [`PriorError::Length`] for other than one release for each multiplier; those of
    /// [`PublicState::prepare`], [`PublicState::self_test`] and [`PublicState::update`];
    /// [`ServerError::Mechanism`]. The posterior is then that of the releases before.
    pub fn replay(&mut self, released: &[T], scratch: &mut [T]) -> Result<T, ServerError> {
        let len = self.released_len();
        let releases = self.plan.noise_multipliers.len();
        exactly("releases", released.len(), len * releases)?;
        self.replay_first(released, scratch)
    }

    /// The same of the first releases of the plan, as many as there are so far: none leave the
    /// posterior as it is, with B = 0.
    ///
    /// **Errors**: as [`Filter::replay`], for more releases than the plan has and for a part of
    /// one.
    pub fn replay_first(&mut self, released: &[T], scratch: &mut [T]) -> Result<T, ServerError> {
        let len = self.released_len();
        let releases = self.plan.noise_multipliers.len();
        let whole = (released.len() / len).min(releases);
        exactly("releases", released.len(), len * whole)?;
        let mut sum = T::ZERO;
        for (index, released) in released.chunks_exact(len).enumerate() {
            let index = index as u32;
            self.prepare(index)?;
            let Some(encoding) = self.encoding(index)? else {
                return Err(PriorError::NotPrepared.into());
            };
            let noise_std = encoding.noise_std();
            sum += self.posterior.self_test(
                &self.public,
                released,
                T::from_f64(noise_std),
                plan::repeats(self.plan.rounds, index as usize),
                scratch,
            )?;
            self.learn(index, released, noise_std)?;
        }
        Ok(sum)
    }
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Estimator<T> for Filter<'_, T, S> {
    type Encoding = JointVectors;

    fn agents(&self) -> u32 {
        self.posterior.config().parameters().agents
    }

    fn releases(&self) -> u32 {
        self.plan.rounds.len() as u32
    }

    fn released_len(&self) -> usize {
        self.posterior.config().contribution_len()
    }

    fn event(&self, index: u32) -> Result<Option<Event>, ServerError> {
        match self.plan.event(index) {
            Some(event) => Ok(Some(event)),
            None => Err(self.beyond(index).into()),
        }
    }

    fn prepare(&mut self, _: u32) -> Result<(), ServerError> {
        self.posterior.prepare(&self.public, self.scratch)?;
        Ok(())
    }

    fn encoding(&self, index: u32) -> Result<Option<JointVectors>, ServerError> {
        let Some(terms) = self.posterior.terms() else {
            return Ok(None);
        };
        match self.plan.noise_multipliers.get(index as usize) {
            Some(z) => JointVectors::new(self.posterior.config(), &terms, *z).map(Some),
            None => Ok(None),
        }
    }

    fn learn(&mut self, index: u32, released: &[T], noise_std: f64) -> Result<(), ServerError> {
        let repeats = plan::repeats(self.plan.rounds, index as usize);
        self.posterior
            .update(released, T::from_f64(noise_std), repeats, self.scratch)?;
        Ok(())
    }
}

impl<T, S> Filter<'_, T, S> {
    /// A release that the plan does not have.
    fn beyond(&self, index: u32) -> PriorError {
        let len = self.plan.noise_multipliers.len();
        PriorError::Length {
            what: "multipliers",
            len,
            expected: index as usize + 1,
        }
    }
}
