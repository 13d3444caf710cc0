//! One method of one run from beginning to end, over whatever collective holds its agents.
//!
//! A round: agents query, with the last broadcast as a hint, and upload; the deadline closes the
//! collection; the release is charged, written down, noised; the recorder ends the round; releases
//! that have an order of their own follow; if it is time, a checkpoint is written. What is the same
//! for all methods is here, once; what a method adds is its [`Federated`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sordino_core::federated::Counters;
use sordino_experiment::journal::{Journal, Pace};
use sordino_experiment::progress::{Progress, Stage};
use sordino_experiment::record::{Left, MethodRun, stored_name};

use super::collective::{Collective, Partial, Snapshot};
use super::error::DriverError;
use super::ledger;
use super::recorder::Recorder;
use super::shard::{Agents, Shard};
use crate::jobs::FirstFailure;

/// What a federation is executed with, besides its collective.
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
    /// Which method of which run has failed, and the place of this one among them: where one
    /// before it failed it stops, too. `None` for a method alone.
    pub failure: Option<(&'s FirstFailure, u64)>,
}

impl Surroundings<'_> {
    /// True if no further round is to be begun.
    pub(super) fn ends_early(&self) -> bool {
        let is_over = |(failure, place): (&FirstFailure, u64)| failure.is_before(place);
        self.stop.load(Ordering::Relaxed) || self.failure.is_some_and(is_over)
    }
}

/// What was released after a round, and what happened to the uploads in it.
pub type Released<'s, T> = Option<(&'s [T], Counters)>;

/// The server's half of a method in one run: what is asked of agents, and what it makes of the
/// answers.
pub trait Federated: Agents {
    /// Its server, with ledger and sources.
    type Server;
    /// Its server as it was stored between two rounds.
    type Stored: DeserializeOwned;

    /// A server before its first release, or as it was stored; its ledger is at `path`, in memory
    /// if there is none.
    ///
    /// **Errors**: a ledger that cannot be used or does not belong to the stored server.
    fn server(
        self: &Arc<Self>,
        path: Option<&Path>,
        stored: Option<Self::Stored>,
    ) -> Result<Self::Server, DriverError>;

    /// Whether a release is made after round t.
    fn releases_after(&self, server: &Self::Server, round: u32) -> bool;

    /// The order of round t; opens the release to which the answers contribute, if there is one.
    ///
    /// **Errors**: the server's.
    fn query(&self, server: &mut Self::Server, round: u32) -> Result<Self::Order, DriverError>;

    /// Takes what came with the answers of round t, and releases. Nothing if nothing leaves.
    ///
    /// **Errors**: the server's.
    fn close<'s>(
        &self,
        server: &'s mut Self::Server,
        round: u32,
        partials: &mut [Partial],
    ) -> Result<Released<'s, Self::Number>, DriverError>;

    /// The order of the next release after round t that is not part of its queries, opened; nothing
    /// after the last.
    ///
    /// **Errors**: the server's.
    fn contribute(
        &self,
        server: &mut Self::Server,
        round: u32,
    ) -> Result<Option<Self::Order>, DriverError> {
        let _ = (server, round);
        Ok(None)
    }

    /// The server as it is to be stored, its charges durable.
    ///
    /// **Errors**: the ledger's.
    fn store(&self, server: &mut Self::Server) -> Result<impl Serialize, DriverError>;

    /// What a finished run leaves for those who come later, of the sums that were `released`: a
    /// file, or why there is none. Nothing for a method that learns nothing in public.
    ///
    /// **Errors**: [`DriverError::Check`] for a server that learned something else from these sums.
    fn leaves(
        &self,
        server: &Self::Server,
        released: &[f64],
    ) -> Result<Option<Result<Left, String>>, DriverError> {
        let _ = (server, released);
        Ok(None)
    }

    /// The end of a round as it is reported: what was spent, and what the budget leaves.
    ///
    /// **Errors**: the accountant's.
    fn spent(&self, server: &Self::Server) -> Result<Stage, DriverError>;

    /// Makes every charge durable.
    ///
    /// **Errors**: the ledger's.
    fn sync(&self, server: &mut Self::Server) -> Result<(), DriverError>;
}

/// A method between two rounds: written from borrowed state, read into owned state.
#[derive(Serialize, Deserialize)]
struct Saved<V, B, A> {
    server: V,
    recorder: B,
    agents: A,
}

/// The same, as it is read.
type Found<M> = Saved<<M as Federated>::Stored, MethodRun, Snapshot<<M as Agents>::State>>;

/// Runs one method. `build` makes the collective: for fresh agents, or from a snapshot.
///
/// **Errors**: [`DriverError`]; [`DriverError::Interrupted`] after a checkpoint.
pub async fn run_method<M: Federated, F: Collective<Shard<M>>>(
    method: Arc<M>,
    around: Surroundings<'_>,
    build: impl FnOnce(Option<&mut Snapshot<M::State>>) -> Result<F, DriverError>,
) -> Result<MethodRun, DriverError>
where
    DriverError: From<F::Error>,
{
    let base = method.base();
    let name = stored_name(base.run.index, base.method.name());
    let journal = around.journal;
    let path = journal.map(|journal| ledger::path(journal, &name));
    let done = journal.map(|journal| journal.finished::<MethodRun>(&name));
    if let Some(done) = done.transpose()?.flatten() {
        around.progress.found(done.regret.len() as u64);
        return Ok(done);
    }
    let saved = journal.map(|journal| journal.latest::<Found<M>>(&name));
    let (stored, mut recorder, mut agents) = match saved.transpose()?.flatten() {
        Some(saved) => {
            let recorder = Recorder::resume(saved.recorder);
            (Some(saved.server), recorder, Some(saved.agents))
        }
        None => (None, Recorder::new(base), None),
    };
    let mut collective = build(agents.as_mut())?;
    drop(agents);
    let mut server = method.server(path.as_deref(), stored)?;
    let parameters = base.config.parameters();
    around.progress.found(recorder.read().regret.len() as u64);
    let mut pace = Pace::new(around.interval);
    for round in recorder.read().regret.len() as u32..=parameters.rounds {
        let tell = |stage| around.progress.advance(&base.step(round, stage));
        let order = method.query(&mut server, round)?;
        tell(Stage::Agents {
            done: 0,
            of: parameters.agents,
        });
        let mut partials = collective.round(order).await?;
        if method.releases_after(&server, round) {
            tell(Stage::Release);
        }
        let released = method.close(&mut server, round, &mut partials)?;
        recorder.end_round(base, &mut partials, released)?;
        while let Some(order) = method.contribute(&mut server, round)? {
            let mut partials = collective.round(order).await?;
            let released = method.close(&mut server, round, &mut partials)?;
            recorder.add_release(
                base,
                &mut partials,
                released.map_or(&[], |(released, _)| released),
            )?;
        }
        let stop = around.ends_early();
        let last = round == parameters.rounds;
        if let Some(journal) = journal
            && !last
            && (stop || pace.is_due())
        {
            tell(Stage::Checkpoint);
            let agents = collective.snapshot().await?;
            let state = Saved {
                server: method.store(&mut server)?,
                recorder: recorder.read(),
                agents,
            };
            journal.save(&name, recorder.read().regret.len(), &state)?;
            pace = Pace::new(around.interval);
        }
        tell(method.spent(&server)?);
        if stop && !last {
            return Err(DriverError::Interrupted);
        }
    }
    method.sync(&mut server)?;
    let left = if base.run.index == 0 {
        method.leaves(&server, &recorder.read().released)?
    } else {
        None
    };
    let finished = recorder.close(left);
    if let Some(journal) = journal {
        journal.finish(&name, &finished)?;
    }
    Ok(finished)
}
