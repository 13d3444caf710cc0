//! A campaign: what is asked of its agents, and what its server releases.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sordino_core::federated::{ServerError, ServerPhase, ServerState};
use sordino_core::math::Scalar;
use sordino_core::privacy::SourceKind;
use sordino_experiment::progress::Stage;
use sordino_experiment::record::Left;
use sordino_host::ledger::Ledger;
use sordino_host::prior::context::Context;
use sordino_host::server::{
    Population, ServerHost, SimulatedSources, StoredPosterior, StoredServer,
};

use super::super::collective::Partial;
use super::super::error::DriverError;
use super::super::host;
use super::super::run::{Federated, Released};
use super::context::CampaignContext;
use super::shard::CampaignOrder;

type Host = ServerHost<f64, SimulatedSources, Ledger, Population<f64, Arc<Context>>>;

/// The server of one campaign, with what it released.
pub struct Server<T> {
    host: Host,
    /// Sums of all releases so far, M + 1 numbers each.
    released: Arc<[f64]>,
    /// Those of the last, in the format of the scenario.
    last: Vec<T>,
}

impl<T: Scalar> Federated for CampaignContext<T> {
    type Server = Server<T>;
    /// The server, and the sums of its releases.
    type Stored = (StoredServer<ServerState, StoredPosterior>, Vec<f64>);

    fn server(
        self: &Arc<Self>,
        path: Option<&Path>,
        stored: Option<Self::Stored>,
    ) -> Result<Server<T>, DriverError> {
        let sources = SimulatedSources::new(self.base.run.seed);
        let ledger = host::ledger(&self.base, path)?;
        let context = self.releases().context().clone();
        let population =
            Population::new(context, self.releases().plan()).map_err(ServerError::from)?;
        let (stored, released) = stored.unzip();
        let host = ServerHost::new(
            population,
            sources,
            ledger,
            stored.map(|server| (server, &[][..])),
        )?;
        let released: Arc<[f64]> = released.unwrap_or_default().into();
        if released.len() != host.state().releases() as usize * self.contribution_len() {
            return Err(DriverError::Check(
                "a stored campaign without the sums of its releases",
            ));
        }
        Ok(Server {
            host,
            released,
            last: Vec::new(),
        })
    }

    fn releases_after(&self, server: &Server<T>, round: u32) -> bool {
        next_round(&server.host) == Some(round)
    }

    fn query(&self, server: &mut Server<T>, round: u32) -> Result<CampaignOrder, DriverError> {
        Ok(CampaignOrder {
            round,
            released: server.released.clone(),
            release: None,
        })
    }

    fn contribute(
        &self,
        server: &mut Server<T>,
        round: u32,
    ) -> Result<Option<CampaignOrder>, DriverError> {
        let Server { host, released, .. } = server;
        while next_round(host) == Some(round) {
            let release = host.state().broadcast();
            // A release that the budget refuses does not take place; the server then stands before
            // the next.
            if host.open()? {
                let share = Some(host.share()?);
                let release = Some((release, share, host.kind()));
                return Ok(Some(CampaignOrder {
                    round,
                    released: released.clone(),
                    release,
                }));
            }
        }
        Ok(None)
    }

    /// Nothing comes with the answers to a query: releases have orders of their own.
    fn close<'s>(
        &self,
        server: &'s mut Server<T>,
        _: u32,
        partials: &mut [Partial],
    ) -> Result<Released<'s, T>, DriverError> {
        let Server {
            host,
            released,
            last,
        } = server;
        if host.state().phase() != ServerPhase::Collecting {
            return Ok(None);
        }
        host::merge(host, partials)?;
        let counters = host.close()?;
        let Some(sums) = host.broadcast() else {
            return Ok(None);
        };
        *released = [released, sums].concat().into();
        *last = sums.iter().map(|x| T::from_f64(*x)).collect();
        Ok(Some((last, counters)))
    }

    fn store(&self, server: &mut Server<T>) -> Result<impl Serialize, DriverError> {
        Ok((server.host.store()?, server.released.to_vec()))
    }

    fn leaves(
        &self,
        server: &Server<T>,
        _: &[f64],
    ) -> Result<Option<Result<Left, String>>, DriverError> {
        let file = match self
            .releases()
            .file(&server.released, SourceKind::Simulation)
        {
            Ok(Some(file)) => Ok(file),
            Ok(None) => Err("no release took place".to_owned()),
            Err(error) => Err(format!(
                "its numbers make none: {}",
                sordino_host::text::chain(&error)
            )),
        };
        Ok(Some(file.map(|file| Left {
            digest: file.digest(),
            bytes: file.to_bytes(),
        })))
    }

    fn spent(&self, server: &Server<T>) -> Result<Stage, DriverError> {
        host::spent(
            &self.base,
            server.host.ledger(),
            server.host.state().releases(),
        )
    }

    fn sync(&self, server: &mut Server<T>) -> Result<(), DriverError> {
        Ok(server.host.sync()?)
    }
}

/// The round after which the next release is made; nothing after the last.
fn next_round(host: &Host) -> Option<u32> {
    host.method().round_of(host.state().broadcast())
}
