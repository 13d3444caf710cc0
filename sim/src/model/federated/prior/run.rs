//! One method of the federated prior from beginning to end, over whatever fabric holds its agents.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::agent::AgentState;
use sordino_core::federated::prior::{Draw, PriorError};
use sordino_core::federated::{ServerError, ServerState};
use sordino_core::linalg::packed_len;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose};
use sordino_host::ledger::Ledger;
use sordino_host::server::{Population, ServerHost, SimulatedSources, StoredPosterior, StoredServer};

use super::super::books::Books;
use super::super::error::DriverError;
use super::super::fabric::{Fabric, Snapshot};
use super::super::run::Surroundings;
use super::super::{host, ledger};
use super::context::PriorContext;
use super::shard::{CommonDraw, PriorOrder, PriorShard};
use crate::journal::Pace;
use crate::progress::Stage;
use crate::record::{MethodRun, stored_name};
use crate::scenario::Guarantee;

/// The server of one simulated federated prior.
type Host<T> = ServerHost<T, SimulatedSources, Ledger, Population<T, Arc<PriorContext<T>>>>;

/// A method between two rounds.
#[derive(Serialize, Deserialize)]
struct Saved<S = ServerState, B = MethodRun, A = Snapshot<AgentState>> {
    server: StoredServer<S, StoredPosterior>,
    books: B,
    agents: A,
}

/// A server before release 0 with the budget of its scenario, or as it was stored.
fn server<T: Scalar>(
    context: &Arc<PriorContext<T>>,
    path: Option<&Path>,
    stored: Option<StoredServer<ServerState, StoredPosterior>>,
) -> Result<Host<T>, DriverError> {
    let (sources, ledger) = (SimulatedSources::new(context.base.run.seed), host::ledger(&context.base, path)?);
    let population = Population::new(context.clone(), context.plan()).map_err(ServerError::from)?;
    Ok(ServerHost::new(population, sources, ledger, stored.map(|stored| (stored, &[][..])))?)
}

/// The round after which the next release is made; nothing after the last.
fn next_round<T: Scalar>(server: &Host<T>) -> Option<u32> {
    server.method().round_of(server.state().broadcast())
}

/// The common draw w_t of round t, from a public stream, and Φw_t; nothing in round 0 and before the first release.
fn draw<T: Scalar>(
    context: &PriorContext<T>,
    server: &Host<T>,
    round: u32,
) -> Result<Option<CommonDraw<T>>, DriverError> {
    if round == 0 || server.state().releases() == 0 {
        return Ok(None);
    }
    let refused = |error: PriorError| DriverError::from(ServerError::from(error));
    let posterior = server.method().posterior();
    let mut draw = posterior.weights().to_vec();
    if context.base.method.parts().follows_draws {
        let stream = &mut context.base.run.seed.stream(Party::World, Purpose::WeightDraw, round);
        let mut scratch = vec![T::ZERO; packed_len(draw.len())];
        posterior.draw(stream, &mut scratch, &mut draw).map_err(refused)?;
    }
    let public = context.public()?;
    let mut values = vec![T::ZERO; public.candidates()];
    Draw::values_of(&public, &draw, &mut values).map_err(refused)?;
    Ok(Some(Arc::new((draw, values))))
}

/// Runs one method. `build` makes the fabric: for fresh agents, or from a snapshot.
///
/// **Errors**: [`DriverError`]; [`DriverError::Interrupted`] after a checkpoint.
pub async fn run_method<T: Scalar, F: Fabric<PriorShard<T>>>(
    context: Arc<PriorContext<T>>,
    around: Surroundings<'_>,
    build: impl FnOnce(Option<&mut Snapshot<AgentState>>) -> Result<F, DriverError>,
) -> Result<MethodRun, DriverError>
where
    DriverError: From<F::Error>,
{
    let base = &context.base;
    let name = stored_name(base.run.index, base.method.name());
    if let Some(done) = around.journal.map_or(Ok(None), |journal| journal.finished(&name))? {
        return Ok(done);
    }
    let saved = around.journal.map_or(Ok(None), |journal| journal.latest::<Saved>(&name))?;
    let path = around.journal.map(|journal| ledger::path(journal, &name));
    let (mut fabric, mut server, mut books) = match saved {
        None => (build(None)?, server(&context, path.as_deref(), None)?, Books::new(base)),
        Some(Saved { server: stored, books, mut agents }) => {
            let server = server(&context, path.as_deref(), Some(stored))?;
            (build(Some(&mut agents))?, server, Books::resume(books))
        }
    };
    let mut pace = Pace::new(around.interval);
    for round in books.read().regret.len() as u32..=context.rounds() {
        let tell = |stage| around.progress.advance(&base.step(round, stage));
        tell(Stage::Agents { done: 0, of: context.config().parameters().agents });
        let order = PriorOrder::Query { round, draw: draw(&context, &server, round)? };
        let mut partials = fabric.round(order).await?;
        books.end_round::<T>(base, &mut partials, None)?;
        if next_round(&server) == Some(round) {
            tell(Stage::Release);
        }
        while next_round(&server) == Some(round) {
            release(&context, &mut fabric, &mut server, &mut books, round).await?;
        }
        let stop = around.stop.load(Ordering::Relaxed);
        let last = round == context.rounds();
        if let Some(journal) = around.journal.filter(|_| !last && (stop || pace.is_due())) {
            tell(Stage::Checkpoint);
            let (books, agents) = (books.read(), fabric.snapshot().await?);
            journal.save(&name, books.regret.len(), &Saved { server: server.store()?, books, agents })?;
            pace = Pace::new(around.interval);
        }
        let private = context.base.method.guarantee() == Guarantee::DifferentialPrivacy;
        let releases = if private { server.state().releases() } else { 0 };
        tell(host::spent(&context.base, server.ledger(), releases));
        if stop && !last {
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

/// One release: terms, joint vectors, charge, noise, posterior. If the budget refuses it, nothing is released.
async fn release<T: Scalar, F: Fabric<PriorShard<T>>>(
    context: &PriorContext<T>,
    fabric: &mut F,
    server: &mut Host<T>,
    books: &mut Books,
    round: u32,
) -> Result<(), DriverError>
where
    DriverError: From<F::Error>,
{
    let release = server.state().broadcast();
    if !server.open()? {
        return Ok(());
    }
    let unopened = DriverError::Check("a release that is open without its terms");
    let (terms, noise_multiplier) = server.method().open_terms(release).ok_or(unopened)?;
    let (share, weights) = (Some(server.share()?), Arc::from(server.method().posterior().weights()));
    let order = PriorOrder::Release { round, release, terms, weights, noise_multiplier, share, source: server.kind() };
    let mut partials = fabric.round(order).await?;
    for collected in partials.iter().filter_map(|partial| partial.collected.as_ref()) {
        server.merge(collected)?;
    }
    server.close()?;
    books.add_release(&context.base, &mut partials, server.broadcast().unwrap_or_default())
}
