//! A vote: what is asked of agents, and the one release that its server makes of their ballots.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sordino_core::math::{Scalar, read_all_le};
use sordino_experiment::progress::Stage;
use sordino_host::server::{SimulatedSources, StoredServer};

use super::super::collective::{Order, Partial};
use super::super::context::wide;
use super::super::error::DriverError;
use super::super::host::{self, ServerHost};
use super::super::run::{Federated, Released};
use super::context::VoteContext;

impl<T: Scalar> VoteContext<T> {
    /// Whether ballots are collected at the end of round t: of the initial points alone, and only
    /// if somebody will hear of it.
    pub(super) fn collects(&self, round: u32) -> bool {
        round == 0 && self.base.config.parameters().rounds > 0
    }
}

impl<T: Scalar> Federated for VoteContext<T> {
    type Server = ServerHost<T>;
    /// The server, and the shares it released, little-endian.
    type Stored = (StoredServer, Vec<u8>);

    fn server(
        self: &Arc<Self>,
        path: Option<&Path>,
        stored: Option<Self::Stored>,
    ) -> Result<ServerHost<T>, DriverError> {
        let sources = SimulatedSources::new(self.base.run.seed);
        let ledger = host::ledger(&self.base, path)?;
        let (stored, shares) = stored.unzip();
        let shares: Vec<T> = read_all_le(&shares.unwrap_or_default()).collect();
        let stored = stored.map(|server| (server, &shares[..]));
        Ok(ServerHost::new(
            self.ballot.clone(),
            sources,
            ledger,
            stored,
        )?)
    }

    fn releases_after(&self, _: &ServerHost<T>, round: u32) -> bool {
        self.collects(round)
    }

    fn query(&self, server: &mut ServerHost<T>, round: u32) -> Result<Order<T>, DriverError> {
        let shares: Option<Arc<[T]>> = server.broadcast().filter(|_| round == 1).map(Arc::from);
        let maximum = shares
            .as_deref()
            .map(|shares| self.voter.winner(&self.ground, &wide(shares)));
        let share = host::opened(server, self.collects(round))?;
        // The winner is public, and all that an agent here needs of the shares; an agent on a
        // network finds it by itself.
        Ok(Order {
            round,
            broadcast: shares,
            maximum,
            share,
            source: server.kind(),
        })
    }

    fn close<'s>(
        &self,
        server: &'s mut ServerHost<T>,
        _: u32,
        partials: &mut [Partial],
    ) -> Result<Released<'s, T>, DriverError> {
        host::close(server, partials)
    }

    fn store(&self, server: &mut ServerHost<T>) -> Result<impl Serialize, DriverError> {
        host::stored(server)
    }

    fn spent(&self, server: &ServerHost<T>) -> Result<Stage, DriverError> {
        host::spent(&self.base, server.ledger(), server.state().releases())
    }

    fn sync(&self, server: &mut ServerHost<T>) -> Result<(), DriverError> {
        Ok(server.sync()?)
    }
}
