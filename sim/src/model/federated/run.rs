//! One method of one run from beginning to end, over whatever fabric holds its agents.
//!
//! A round: the last broadcast goes out; agents query and upload; the deadline closes the collection; the release is
//! charged, written down, noised; the books are closed; if it is time, a checkpoint is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sordino_core::federated::Aggregation;
use sordino_core::math::Scalar;

use super::books::Books;
use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Fabric, Order, Snapshot};
use super::saved::Saved;
use super::shard::Shard;
use super::{host, ledger};
use crate::journal::{Journal, Pace};
use crate::progress::{Progress, Stage};
use crate::record::{MethodRun, stored_name};

/// What a federation is executed with, besides its fabric.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    /// Whom to tell about progress.
    pub progress: &'s dyn Progress,
    /// Where to keep checkpoints and the ledger.
    pub journal: Option<&'s Journal>,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// Set from outside to stop at the end of a round.
    pub stop: &'s AtomicBool,
}

/// Runs one method. `build` makes the fabric: for fresh agents, or from a snapshot.
pub async fn run_method<T: Scalar, F: Fabric<Shard<T>>>(
    method: Arc<MethodContext<T>>,
    around: Surroundings<'_>,
    build: impl FnOnce(Option<&mut Snapshot>) -> Result<F, DriverError>,
) -> Result<MethodRun, DriverError>
where
    DriverError: From<F::Error>,
{
    let name = stored_name(method.run.index, method.method.name());
    if let Some(done) = around.journal.map_or(Ok(None), |journal| journal.finished(&name))? {
        return Ok(done);
    }
    let saved = around.journal.map_or(Ok(None), |journal| journal.latest::<Saved>(&name))?;
    let ledger = around.journal.map(|journal| ledger::path(journal, &name));
    let p = method.config.parameters();
    let shared = p.aggregation != Aggregation::None;
    let (mut fabric, mut server, mut books) = match saved {
        None => (build(None)?, host::server(&method, ledger.as_deref(), None)?, Books::new(&method)),
        Some(mut saved) => {
            let fabric = build(Some(&mut saved.agents))?;
            let broadcast = saved.broadcast::<T>();
            let server = host::server(&method, ledger.as_deref(), Some((saved.server, &broadcast)))?;
            (fabric, server, Books::resume(saved.books))
        }
    };
    let mut point = vec![T::ZERO; method.config.broadcast_len() + p.regions.splits().len()];
    let mut pace = Pace::new(around.interval);
    for round in books.read().regret.len() as u32..=p.rounds {
        let tell = |stage| around.progress.advance(&method.step(round, stage));
        let collecting = shared && round < p.rounds;
        let broadcast: Option<Arc<[T]>> = server.broadcast().map(Arc::from);
        let maximum = match &broadcast {
            Some(vectors) => Some(method.public()?.maximize(&p.regions, vectors, &mut point).candidate),
            None => None,
        };
        let share = if collecting && server.open()? { Some(server.share()?) } else { None };
        tell(Stage::Agents { done: 0, of: p.agents });
        let mut partials = fabric.round(Order { round, broadcast, maximum, share, source: server.kind() }).await?;
        let mut counters = None;
        if collecting {
            tell(Stage::Release);
            for collected in partials.iter().filter_map(|partial| partial.collected.as_ref()) {
                server.merge(collected)?;
            }
            counters = Some(server.close()?);
        }
        let released = counters.and_then(|counters| server.broadcast().map(|vectors| (vectors, counters)));
        books.end_round(&method, &mut partials, released)?;
        let stop = around.stop.load(Ordering::Relaxed);
        if let Some(journal) = around.journal.filter(|_| round < p.rounds && (stop || pace.is_due())) {
            tell(Stage::Checkpoint);
            let agents = fabric.snapshot().await?;
            let broadcast = server.broadcast().unwrap_or_default().to_vec();
            let state = Saved::new(server.store()?, &broadcast, books.read(), agents);
            journal.save(&name, books.read().regret.len(), &state)?;
            pace = Pace::new(around.interval);
        }
        tell(host::spent(&method, server.ledger(), server.state().releases()));
        if stop && round < p.rounds {
            return Err(DriverError::Interrupted);
        }
    }
    server.sync()?;
    let finished = books.close();
    if let Some(journal) = around.journal {
        journal.finish(&name, &finished)?;
    }
    Ok(finished)
}
