//! What is asked of agents that share draws, and what their server makes of the answers.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sordino_core::federated::Aggregation;
use sordino_core::math::{Scalar, read_all_le};
use sordino_experiment::progress::Stage;
use sordino_host::server::{SimulatedSources, StoredServer};

use super::super::collective::{Order, Partial};
use super::super::context::MethodContext;
use super::super::error::DriverError;
use super::super::host::{self, ServerHost};
use super::super::run::{Federated, Released};

impl<T: Scalar> MethodContext<T> {
    /// Whether uploads are collected at the end of round t: nobody uploads what nobody will read.
    fn collects(&self, round: u32) -> bool {
        let p = self.config.parameters();
        p.aggregation != Aggregation::None && round < p.rounds
    }
}

impl<T: Scalar> Federated for MethodContext<T> {
    type Server = ServerHost<T>;
    /// The server, and the vectors of its last broadcast, little-endian.
    type Stored = (StoredServer, Vec<u8>);

    fn server(
        self: &Arc<Self>,
        path: Option<&Path>,
        stored: Option<(StoredServer, Vec<u8>)>,
    ) -> Result<ServerHost<T>, DriverError> {
        let ledger = host::ledger(self, path)?;
        let sources = SimulatedSources::new(self.run.seed);
        let (stored, broadcast) = stored.unzip();
        let broadcast: Vec<T> = read_all_le(&broadcast.unwrap_or_default()).collect();
        let stored = stored.map(|server| (server, &broadcast[..]));
        Ok(ServerHost::new(
            Arc::new(self.config.clone()),
            sources,
            ledger,
            stored,
        )?)
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
            maximum = Some(
                self.public()?
                    .maximize(regions, vectors, &mut point)
                    .candidate,
            );
        }
        let share = host::opened(server, self.collects(round))?;
        Ok(Order {
            round,
            broadcast,
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
        host::spent(self, server.ledger(), server.state().releases())
    }

    fn sync(&self, server: &mut ServerHost<T>) -> Result<(), DriverError> {
        Ok(server.sync()?)
    }
}
