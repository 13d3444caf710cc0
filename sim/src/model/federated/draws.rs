//! Methods that share draws, or nothing: what is asked of their agents, and what their server makes of the answers.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sordino_core::federated::Aggregation;
use sordino_core::math::Scalar;
use sordino_host::server::{SimulatedSources, StoredServer};

use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Order, Partial};
use super::host::{self, ServerHost};
use super::run::{Federated, Released};
use super::shard::Shard;
use crate::progress::Stage;

impl<T: Scalar> MethodContext<T> {
    /// Whether uploads are collected at the end of round t: nobody uploads what nobody will read.
    fn collects(&self, round: u32) -> bool {
        let p = self.config.parameters();
        p.aggregation != Aggregation::None && round < p.rounds
    }
}

impl<T: Scalar> Federated for MethodContext<T> {
    type Number = T;
    type Crew = Shard<T>;
    type Server = ServerHost<T>;
    /// The server, and the vectors of its last broadcast, little-endian.
    type Stored = (StoredServer, Vec<u8>);

    fn base(&self) -> &MethodContext<T> {
        self
    }

    fn server(
        self: &Arc<Self>,
        path: Option<&Path>,
        stored: Option<(StoredServer, Vec<u8>)>,
    ) -> Result<ServerHost<T>, DriverError> {
        let sources = SimulatedSources::new(self.run.seed);
        let (stored, broadcast) = stored.unzip();
        let broadcast: Vec<T> = broadcast.unwrap_or_default().chunks_exact(T::BYTES).map(T::read_le).collect();
        let stored = stored.map(|server| (server, &broadcast[..]));
        Ok(ServerHost::new(Arc::new(self.config.clone()), sources, host::ledger(self, path)?, stored)?)
    }

    fn releases_after(&self, _: &ServerHost<T>, round: u32) -> bool {
        self.collects(round)
    }

    fn query(&self, server: &mut ServerHost<T>, round: u32) -> Result<Order<T>, DriverError> {
        let regions = &self.config.parameters().regions;
        let broadcast: Option<Arc<[T]>> = server.broadcast().map(Arc::from);
        let mut maximum = None;
        if let Some(vectors) = &broadcast {
            let mut point = vec![T::ZERO; self.config.broadcast_len() + regions.splits().len()];
            maximum = Some(self.public()?.maximize(regions, vectors, &mut point).candidate);
        }
        let share = if self.collects(round) && server.open()? { Some(server.share()?) } else { None };
        Ok(Order { round, broadcast, maximum, share, source: server.kind() })
    }

    fn close<'s>(
        &self,
        server: &'s mut ServerHost<T>,
        round: u32,
        partials: &mut [Partial],
    ) -> Result<Released<'s, T>, DriverError> {
        if !self.collects(round) {
            return Ok(None);
        }
        host::merge(server, partials)?;
        let counters = server.close()?;
        Ok(server.broadcast().map(|vectors| (vectors, counters)))
    }

    fn store(&self, server: &mut ServerHost<T>) -> Result<impl Serialize, DriverError> {
        let vectors = server.broadcast().unwrap_or_default();
        let mut broadcast = vec![0; vectors.len() * T::BYTES];
        broadcast.chunks_exact_mut(T::BYTES).zip(vectors).for_each(|(bytes, x)| x.write_le(bytes));
        Ok((server.store()?, broadcast))
    }

    fn spent(&self, server: &ServerHost<T>) -> Stage {
        host::spent(self, server.ledger(), server.state().releases())
    }

    fn sync(&self, server: &mut ServerHost<T>) -> Result<(), DriverError> {
        Ok(server.sync()?)
    }
}
