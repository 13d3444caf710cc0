//! The server with its numbers, its budget and its ledger.

use std::sync::Arc;

use sordino_core::federated::{
    Aggregation, Counters, Server, ServerInput, ServerOutput, ServerState, ServerStorage, storage_lens,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::accountant::RdpAccountant;
use sordino_core::privacy::budget::{BudgetError, Filter};
use sordino_core::random::{Party, Purpose, Simulated};

use super::context::MethodContext;
use super::{DriverError, Stage};
use crate::fabric::Partial;
use crate::ledger::Ledger;

/// The server of one federation, owning its numbers.
pub struct ServerHost<T> {
    method: Arc<MethodContext<T>>,
    state: ServerState,
    sums: Vec<i64>,
    noise: Vec<i64>,
    flags: Vec<u8>,
    vectors: Vec<T>,
    source: Simulated,
    filter: Filter,
    open: bool,
    ledger: Ledger,
}

impl<T: Scalar> ServerHost<T> {
    /// A server before broadcast 0, with the budget of its scenario.
    pub fn new(method: &Arc<MethodContext<T>>, ledger: Ledger) -> Result<Self, DriverError> {
        Self::resume(method, ledger, ServerState::new(), RdpAccountant::new(), None)
    }

    /// A server between rounds, as it was; `broadcast` the vectors of the last round. The budget is that of the scenario,
    /// of which `spent` is spent.
    ///
    /// **Errors**: [`DriverError::Check`] if a release is in the state and not in the ledger or in what is spent.
    pub fn resume(
        method: &Arc<MethodContext<T>>,
        ledger: Ledger,
        state: ServerState,
        spent: RdpAccountant,
        broadcast: Option<&[T]>,
    ) -> Result<Self, DriverError> {
        let (epsilon_max, delta) = method.budget;
        let filter = Filter::new(epsilon_max, delta).map_err(DriverError::Budget)?.resume(spent);
        let releases = u64::from(state.releases());
        if (ledger.len() as u64) < releases || filter.accountant().releases() != releases {
            return Err(DriverError::Check("a release of the checkpoint is missing in the ledger or the budget"));
        }
        let (sums, noise, flags, vectors) = storage_lens(&method.config);
        let mut vectors = vec![T::ZERO; vectors];
        vectors.iter_mut().zip(broadcast.unwrap_or(&[])).for_each(|(to, from)| *to = *from);
        Ok(ServerHost {
            source: release_source(method, 0),
            open: broadcast.is_some(),
            sums: vec![0; sums],
            noise: vec![0; noise],
            flags: vec![0; flags],
            method: method.clone(),
            vectors,
            state,
            filter,
            ledger,
        })
    }

    /// Its state between rounds.
    pub fn state(&self) -> &ServerState {
        &self.state
    }

    /// Its budget.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The end of a round as it is told: what was spent, and of how much.
    pub fn spent(&self) -> Stage {
        let private = self.filter.accountant().releases() > 0;
        let epsilon = private.then(|| self.filter.spent().ok()).flatten().map(|spent| spent.epsilon);
        Stage::Done { epsilon, epsilon_max: Some(self.filter.epsilon_max()).filter(|epsilon| epsilon.is_finite()) }
    }

    /// Its ledger.
    pub fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// The vectors of the last round's broadcast; nothing if it did not take place.
    pub fn broadcast(&self) -> Option<&[T]> {
        self.open.then_some(&self.vectors[..])
    }

    fn with_server<R>(
        &mut self,
        act: impl FnOnce(&mut Server<'_, T>, &mut Simulated) -> Result<R, sordino_core::federated::ServerError>,
    ) -> Result<R, DriverError> {
        let storage = ServerStorage {
            sums: &mut self.sums,
            noise: &mut self.noise,
            flags: &mut self.flags,
            vectors: &mut self.vectors,
        };
        let mut server = Server::attach(&self.method.config, &mut self.state, storage).map_err(DriverError::Server)?;
        act(&mut server, &mut self.source).map_err(DriverError::Server)
    }

    /// Opens the next broadcast with its own stream of coins and noise and tells the secret sample, unless the budget
    /// refuses it: then nothing is drawn, and the agents will go on alone.
    pub fn open(&mut self) -> Result<Option<Arc<[u8]>>, DriverError> {
        self.source = release_source(&self.method, self.state.broadcast());
        let event = self.with_server(|server, _| Ok(server.event()))?;
        self.open = match event.map(|event| self.filter.admits(&event)) {
            None | Some(Ok(())) => true,
            Some(Err(BudgetError::Exhausted { .. })) => false,
            Some(Err(error)) => return Err(DriverError::Budget(error)),
        };
        let open = self.open;
        self.with_server(|server, source| {
            server.handle(if open { ServerInput::Open } else { ServerInput::Skip }, source)?;
            Ok(open.then(|| server.selection().into()))
        })
    }

    /// Merges what a member took. Members answer in any order.
    pub fn merge(&mut self, partial: &Partial) -> Result<(), DriverError> {
        if !self.open {
            return Ok(());
        }
        self.with_server(|server, _| {
            server.merge(partial.round, partial.first, &partial.flags, &partial.sums, &partial.counters)
        })
    }

    /// Closes the broadcast: charge, write down, release. Returns what happened to the vectors: not releasable.
    pub fn close(&mut self) -> Result<Counters, DriverError> {
        if !self.open {
            return Ok(Counters::default());
        }
        self.check_norm()?;
        let charge = self.with_server(|server, source| match server.handle(ServerInput::Close, source)? {
            ServerOutput::Charge(event) => Ok(Some(event)),
            _ => Ok(None),
        })?;
        if let Some(event) = charge {
            self.filter.charge(&event).map_err(DriverError::Budget)?;
            self.ledger.append(u64::from(self.state.releases()), event)?;
            self.with_server(|server, source| server.handle(ServerInput::Charged, source).map(|_| ()))?;
            self.check_charges()?;
        }
        Ok(self.state.counters())
    }

    /// Always on: no coordinate of the sum exceeds what the selected may contribute.
    fn check_norm(&self) -> Result<(), DriverError> {
        let Aggregation::Private { noise_multiplier, grid_exponent, .. } = self.method.config.parameters().aggregation
        else {
            return Ok(());
        };
        let radius = (f64::from(1u32 << grid_exponent) / noise_multiplier) as i64;
        let bound = i64::from(self.state.counters().selected).saturating_mul(radius);
        match self.sums.iter().position(|sum| sum.abs() > bound) {
            None => Ok(()),
            Some(_) => Err(DriverError::Check("a sum exceeds the integer norm bound of the selected")),
        }
    }

    /// Always on: every release was charged once, and the budget holds.
    fn check_charges(&self) -> Result<(), DriverError> {
        let charged = self.filter.accountant().releases();
        if charged != u64::from(self.state.releases()) {
            return Err(DriverError::Check("releases and charges differ in number"));
        }
        match self.filter.spent() {
            Ok(spent) if spent.epsilon > self.filter.epsilon_max() => Err(DriverError::Check("the budget is exceeded")),
            _ => Ok(()),
        }
    }
}

/// Coins and noise of broadcast s: simulation, not private.
fn release_source<T>(method: &MethodContext<T>, broadcast: u32) -> Simulated {
    Simulated::new(method.run.seed.stream(Party::Server, Purpose::Release, broadcast))
}
