//! The server of a federated prior as a program runs it: core's machine with its posterior and storage, its noise, and its
//! ledger. A release takes the same steps as [`super::ServerHost`]; everybody contributes, so no sample is drawn.
//!
//! A budget that refuses one release refuses all that follow, even cheaper ones: the releases made are then the first of
//! the plan, as tables state.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::server::{Input, Output, Plan, ReleaseError, Server, ServerState};
use sordino_core::federated::prior::{Config, Public, PublicState, ServerNumbers, Terms, storage_len};
use sordino_core::federated::{Partial, Share, Wiped};
use sordino_core::math::Scalar;
use sordino_core::privacy::{Provenance, SourceKind};

use super::{HostError, Made, Sources};
use crate::ledger::{Budgeted, Ledger, LedgerError, Mark};

/// A prior's server between two releases: its state, how far its ledger was written, and its posterior.
#[derive(Serialize, Deserialize)]
pub struct StoredPrior<S = ServerState> {
    state: S,
    mark: Mark,
    heterogeneity: f64,
    clip_factor: f64,
    /// w and Σ, little-endian.
    posterior: Vec<u8>,
}

/// The server of one federated prior: plan, state, posterior, numbers, sources, ledger. Its sums and noise are wiped when
/// it is dropped.
pub struct PriorHost<T, S: Sources, L = Ledger> {
    rounds: Vec<u32>,
    noise_multipliers: Vec<f64>,
    state: ServerState,
    posterior: PublicState<T, Vec<T>>,
    numbers: ServerNumbers<T>,
    sources: S,
    ledger: L,
}

impl<T: Scalar, S: Sources, L: Budgeted> PriorHost<T, S, L>
where
    L: sordino_core::privacy::Ledger<Made<S>, Error = LedgerError>,
{
    /// A server before release 0 of a plan, or as it was stored.
    ///
    /// **Errors**: [`HostError::OtherLedger`]; [`HostError::Prior`] for an inconsistent plan, context or stored
    /// posterior.
    pub fn new(
        config: Config,
        plan: Plan<'_>,
        public: Public<'_, T>,
        sources: S,
        ledger: L,
        stored: Option<StoredPrior>,
    ) -> Result<Self, HostError> {
        let m = config.features();
        let mut numbers = vec![T::ZERO; storage_len(m)];
        let (state, posterior) = match stored {
            None => (ServerState::new(), PublicState::new(config, numbers).map_err(ReleaseError::from)?),
            Some(StoredPrior { state, mark, heterogeneity, clip_factor, posterior }) => {
                let (releases, charges) = (state.made(), ledger.mark().charges());
                if mark.charges() < u64::from(releases) || !ledger.holds(&mark)? {
                    return Err(HostError::OtherLedger { releases, charges });
                }
                let expected = m + m * m;
                if posterior.len() != expected * T::BYTES {
                    return Err(HostError::NoVectors { found: posterior.len() / T::BYTES, expected });
                }
                let stored = posterior.chunks_exact(T::BYTES).map(T::read_le);
                numbers.iter_mut().zip(stored).for_each(|(to, from)| *to = from);
                let (h, clip) = (T::from_f64(heterogeneity), T::from_f64(clip_factor));
                (state, PublicState::resume(config, h, clip, numbers).map_err(ReleaseError::from)?)
            }
        };
        let mut host = PriorHost {
            rounds: plan.rounds.to_vec(),
            noise_multipliers: plan.noise_multipliers.to_vec(),
            state,
            posterior,
            numbers: ServerNumbers::new(&config),
            sources,
            ledger,
        };
        // What is wrong with the plan or the context is found out now.
        host.with_server(public, |_, _| Ok(()))?;
        Ok(host)
    }

    /// The server between two releases, to be stored. Its charges are made durable first.
    ///
    /// **Errors**: the ledger's.
    pub fn store(&mut self) -> Result<StoredPrior<&ServerState>, HostError> {
        self.ledger.sync()?;
        let (weights, covariance) = (self.posterior.weights(), self.posterior.covariance());
        let mut posterior = vec![0; (weights.len() + covariance.len()) * T::BYTES];
        let numbers = weights.iter().chain(covariance);
        posterior.chunks_exact_mut(T::BYTES).zip(numbers).for_each(|(bytes, x)| x.write_le(bytes));
        Ok(StoredPrior {
            state: &self.state,
            mark: self.ledger.mark(),
            heterogeneity: self.posterior.heterogeneity().to_f64(),
            clip_factor: self.posterior.clip_factor().to_f64(),
            posterior,
        })
    }

    /// State of the server, to be stored.
    pub fn state(&self) -> &ServerState {
        &self.state
    }

    /// The public posterior.
    pub fn posterior(&self) -> &PublicState<T, Vec<T>> {
        &self.posterior
    }

    /// Its ledger, to be read.
    pub fn ledger(&self) -> &L {
        &self.ledger
    }

    /// Makes every charge durable; those of secret noise already are.
    ///
    /// **Errors**: the ledger's.
    pub fn sync(&mut self) -> Result<(), HostError> {
        Ok(self.ledger.sync()?)
    }

    /// The round after which the next release is made; nothing after the last.
    pub fn next_round(&self) -> Option<u32> {
        self.rounds.get(self.state.release() as usize).copied()
    }

    fn with_server<R>(
        &mut self,
        public: Public<'_, T>,
        act: impl FnOnce(&mut Server<'_, T, Vec<T>>, &mut S::Source) -> Result<R, ReleaseError>,
    ) -> Result<R, HostError> {
        let source = self.sources.of_broadcast(self.state.release());
        let storage = self.numbers.lend();
        let plan = Plan { rounds: &self.rounds, noise_multipliers: &self.noise_multipliers };
        let mut server = Server::attach(plan, public, &mut self.state, &mut self.posterior, storage)?;
        Ok(act(&mut server, source)?)
    }

    /// Opens the next release and returns its terms and its multiplier. None if the budget refuses it: then nothing is
    /// drawn, and what was released before stays.
    ///
    /// **Errors**: [`HostError`]; the budget's refusal is not one.
    pub fn open(&mut self, public: Public<'_, T>) -> Result<Option<(Terms<T>, f64)>, HostError> {
        let (release, made) = (self.state.release(), self.state.made());
        let plan = Plan { rounds: &self.rounds, noise_multipliers: &self.noise_multipliers };
        let multiplier = self.noise_multipliers.get(release as usize).copied();
        let admitted = match plan.event(release).filter(|_| made == release) {
            Some(event) => match self.ledger.admits_release(u64::from(made), &[event]) {
                Ok(()) => true,
                Err(LedgerError::OverBudget { .. }) => false,
                Err(error) => return Err(error.into()),
            },
            None => false,
        };
        self.sources.renew()?;
        self.with_server(public, |server, source| {
            match server.handle(if admitted { Input::Open } else { Input::Skip }, source)? {
                Output::Terms { terms, .. } => Ok(multiplier.map(|z| (terms, z))),
                _ => Ok(None),
            }
        })
    }

    /// The opening of all agents, for collectors. There is no secret sample in it.
    ///
    /// **Errors**: [`HostError::Prior`] unless a release is open.
    pub fn share(&mut self, public: Public<'_, T>) -> Result<Arc<Share<Wiped<u8>>>, HostError> {
        let agents = self.posterior.config().parameters().agents;
        self.with_server(public, |server, _| server.share(0..agents).map(|share| Arc::new(share.to_owned())))
    }

    /// Takes one agent's joint vector.
    ///
    /// **Errors**: [`HostError::Prior`]; nothing changed then.
    pub fn upload(&mut self, public: Public<'_, T>, agent: u32, release: u32, vector: &[T]) -> Result<(), HostError> {
        let upload = Input::Upload { agent, release, vector };
        self.with_server(public, |server, source| server.handle(upload, source).map(|_| ()))
    }

    /// Adds a collector's partial sum. Collectors answer in any order.
    ///
    /// **Errors**: [`HostError::Prior`]; nothing changed then.
    pub fn merge<F: AsRef<[u8]>, N: AsRef<[i64]>>(
        &mut self,
        public: Public<'_, T>,
        partial: &Partial<F, N>,
    ) -> Result<(), HostError> {
        self.with_server(public, |server, _| server.merge(partial))
    }

    /// The deadline has passed: charges, writes down, releases. The posterior is then up to date, and what was released is
    /// returned: M + 1 noised sums.
    ///
    /// A ledger that fails leaves the server where it is; closing again charges again.
    ///
    /// **Errors**: [`HostError`]; nothing is released then.
    pub fn close(&mut self, public: Public<'_, T>) -> Result<&[T], HostError> {
        let charge = self.with_server(public, |server, source| match server.handle(Input::Close, source)? {
            Output::Charge(charge) => Ok(Some(charge)),
            _ => Ok(None),
        })?;
        if let Some(charge) = charge {
            let receipt = self.ledger.append(charge)?;
            self.with_server(public, |server, source| server.handle(Input::Charged(receipt), source).map(|_| ()))?;
        }
        Ok(self.numbers.released())
    }

    /// How coins and noise are made.
    pub const fn kind(&self) -> SourceKind {
        <Made<S> as Provenance>::KIND
    }
}
