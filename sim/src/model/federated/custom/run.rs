//! One handed-in method from beginning to end, over whatever fabric holds its agents.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use sordino_core::federated::Counters;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose};

use super::super::books::Books;
use super::super::error::DriverError;
use super::super::fabric::{Fabric, Snapshot};
use super::super::run::Surroundings;
use super::Message;
use super::context::CustomContext;
use super::shard::{AgentState, CustomOrder, CustomShard, sendable};
use crate::journal::Pace;
use crate::progress::Stage;
use crate::record::{MethodRun, stored_name};

/// A method between two rounds.
#[derive(Serialize, Deserialize)]
struct Saved<S = Server, B = MethodRun, A = Snapshot<AgentState>> {
    server: S,
    books: B,
    agents: A,
}

/// The state of its server: what it keeps, and what it sent last.
#[derive(Default, Serialize, Deserialize)]
struct Server {
    kept: Vec<f64>,
    /// Empty if nothing was sent.
    broadcast: Vec<f64>,
}

/// Runs one method. `build` makes the fabric: for fresh agents, or from a snapshot.
///
/// **Errors**: [`DriverError`]; [`DriverError::Interrupted`] after a checkpoint.
pub async fn run_method<T: Scalar, F: Fabric<CustomShard<T>>>(
    context: Arc<CustomContext<T>>,
    around: Surroundings<'_>,
    build: impl FnOnce(Option<&mut Snapshot<AgentState>>) -> Result<F, DriverError>,
) -> Result<MethodRun, DriverError>
where
    DriverError: From<F::Error>,
{
    let (base, rounds) = (&context.base, context.ground.rounds);
    let name = stored_name(base.run.index, base.method.name());
    if let Some(done) = around.journal.map_or(Ok(None), |journal| journal.finished(&name))? {
        return Ok(done);
    }
    let saved = around.journal.map_or(Ok(None), |journal| journal.latest::<Saved>(&name))?;
    let (mut fabric, mut server, mut books) = match saved {
        None => (build(None)?, Server::default(), Books::new(base)),
        Some(Saved { server, books, mut agents }) => (build(Some(&mut agents))?, server, Books::resume(books)),
    };
    let mut pace = Pace::new(around.interval);
    for round in books.read().regret.len() as u32..=rounds {
        let tell = |stage| around.progress.advance(&base.step(round, stage));
        tell(Stage::Agents { done: 0, of: context.ground.agents });
        let collecting = context.server().is_some() && round < rounds;
        let broadcast = Some(std::mem::take(&mut server.broadcast)).filter(|sent| !sent.is_empty()).map(Arc::from);
        let mut partials = fabric.round(CustomOrder { round, broadcast, collecting }).await?;
        let mut messages: Vec<Message> = partials.iter_mut().flat_map(|partial| partial.messages.drain(..)).collect();
        let sent = if collecting { server.combine(&context, round, &mut messages)? } else { Vec::new() };
        let released = Some((&sent[..], Counters::default())).filter(|(sent, _)| !sent.is_empty());
        books.end_round::<T>(base, &mut partials, released)?;
        let (stop, last) = (around.stop.load(Ordering::Relaxed), round == rounds);
        if let Some(journal) = around.journal.filter(|_| !last && (stop || pace.is_due())) {
            tell(Stage::Checkpoint);
            let (books, agents) = (books.read(), fabric.snapshot().await?);
            journal.save(&name, books.regret.len(), &Saved { server: &server, books, agents })?;
            pace = Pace::new(around.interval);
        }
        tell(Stage::Done { epsilon: None, budget: None });
        if stop && !last {
            return Err(DriverError::Interrupted);
        }
    }
    let finished = books.close();
    if let Some(journal) = around.journal {
        journal.finish(&name, &finished)?;
    }
    Ok(finished)
}

impl Server {
    /// What goes out after a round, in the format of the agents; empty if nothing does.
    fn combine<T: Scalar>(
        &mut self,
        context: &CustomContext<T>,
        round: u32,
        messages: &mut [Message],
    ) -> Result<Vec<T>, DriverError> {
        let Some(server) = context.server() else { return Ok(Vec::new()) };
        messages.sort_by_key(|message| (message.agent, message.round));
        let mut coins = context.base.run.seed.stream(Party::Server, Purpose::RandomPolicy, round);
        let numbers = server.combine(&context.ground, messages, &mut self.kept, &mut coins);
        sendable(context, round, &numbers, None, || "the server".to_owned())?;
        let sent: Vec<T> = numbers.into_iter().map(T::from_f64).collect();
        self.broadcast = sent.iter().map(|x| x.to_f64()).collect();
        Ok(sent)
    }
}
