//! Who takes the agents of a method through an order: this thread, a pool, or other processes.
//!
//! In this process agents lie in shards of consecutive indices. In one thread there is one of them:
//! the reference. Over a pool every shard is handed out in every round and comes back with its
//! partial sums, in the order in which shards finish; tokio waits, rayon computes. Nothing of that
//! order reaches a result: sums are integers, leaves are hashed and regret is summed in agent
//! order.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rayon::ThreadPool;
use sordino_core::math::Scalar;
use sordino_experiment::progress::{Progress, Stage};
use sordino_experiment::record::MethodRun;
use tokio::sync::mpsc;

use super::super::hub::{Hub, Task};
use super::collective::{AgentGroup, Collective, Partial, Snapshot, edge};
use super::context::MethodContext;
use super::error::DriverError;
use super::lent::Snapshots;
use super::remote::Remote;
use super::run::{self, Surroundings};
use super::shard::Shard;
use super::wired::Travels;

/// Who advances the agents of a method.
#[derive(Clone, Copy)]
pub enum Driver<'p> {
    /// This thread, which holds all agents in one shard.
    Lockstep,
    /// A pool, in at most this many shards.
    Pool(&'p ThreadPool, u32),
    /// Other processes, reached through a hub.
    Hub(&'p dyn Hub),
}

impl<'p> Driver<'p> {
    /// What it advances: fresh agents, or agents as they are in the snapshot.
    ///
    /// **Errors**: as [`AgentGroup::build`], and a hub's.
    pub fn agents<C: Travels>(
        self,
        task: &Task,
        context: &Arc<C::Context>,
        snapshot: Option<&mut Snapshot<C::State>>,
        progress: &'p dyn Progress,
    ) -> Result<Driven<'p, C>, DriverError> {
        Ok(match self {
            Driver::Lockstep => Driven::Here(Shards::new(None, context, snapshot, progress)?),
            Driver::Pool(pool, shards) => {
                let pool = Some((pool, shards));
                Driven::Here(Shards::new(pool, context, snapshot, progress)?)
            }
            Driver::Hub(hub) => Driven::There(Remote::new(hub, task, context, snapshot, progress)?),
        })
    }
}

/// The agents of a method with those who advance them.
pub enum Driven<'p, C: Travels> {
    /// In this process.
    Here(Shards<'p, C>),
    /// In other processes.
    There(Remote<'p, C>),
}

impl<C: Travels> Collective<C> for Driven<'_, C> {
    type Error = DriverError;

    async fn round(&mut self, order: C::Order) -> Result<Vec<Partial>, DriverError> {
        match self {
            Driven::Here(agents) => agents.round(order).await,
            Driven::There(agents) => agents.round(order).await,
        }
    }

    async fn snapshot(&mut self) -> Result<Snapshots<'_, C::State>, DriverError> {
        match self {
            Driven::Here(agents) => agents.snapshot().await,
            Driven::There(agents) => agents.snapshot().await,
        }
    }
}

/// Agents of this process, in shards of nearly equal length.
pub struct Shards<'p, C: AgentGroup> {
    /// This thread if there is none.
    pool: Option<&'p ThreadPool>,
    context: Arc<C::Context>,
    shards: Vec<C>,
    progress: &'p dyn Progress,
}

impl<'p, C: AgentGroup> Shards<'p, C> {
    /// One shard in this thread, or at most so many on a pool, fresh or as they are in the
    /// snapshot.
    ///
    /// **Errors**: as [`AgentGroup::build`].
    fn new(
        pool: Option<(&'p ThreadPool, u32)>,
        context: &Arc<C::Context>,
        mut snapshot: Option<&mut Snapshot<C::State>>,
        progress: &'p dyn Progress,
    ) -> Result<Self, DriverError> {
        let agents = C::enrolled(context);
        let most = pool.map_or(1, |(_, shards)| shards);
        let parts = most.min(agents).max(1);
        let mut shards = Vec::with_capacity(parts as usize);
        // Each takes its agents off the end of the snapshot.
        for i in (0..parts).rev() {
            let range = edge(agents, i, parts)..edge(agents, i + 1, parts);
            shards.push(C::build(context, range, snapshot.as_deref_mut())?);
        }
        shards.reverse();
        Ok(Shards {
            pool: pool.map(|(pool, _)| pool),
            context: context.clone(),
            shards,
            progress,
        })
    }

    /// A round on a pool.
    ///
    /// **Errors**: a shard's; [`DriverError::WorkerLost`] if a worker died.
    async fn round_on(
        &mut self,
        pool: &ThreadPool,
        order: C::Order,
    ) -> Result<Vec<Partial>, DriverError> {
        let of = C::enrolled(&self.context);
        let mut done = 0;
        let parts = self.shards.len();
        let (sender, mut arrivals) = mpsc::unbounded_channel();
        for mut shard in std::mem::take(&mut self.shards) {
            let order = order.clone();
            let sender = sender.clone();
            pool.spawn(move || {
                let partial = shard.advance(&order);
                // The receiver is gone only if the execution was given up; then nobody misses the
                // result.
                let _ = sender.send((shard, partial));
            });
        }
        drop(sender);
        let mut partials = Vec::new();
        // The channel ends when every worker has sent, or died.
        while let Some((shard, partial)) = arrivals.recv().await {
            done += shard.range().len() as u32;
            if parts > 1 {
                self.progress
                    .advance(&C::step(&self.context, &order, Stage::Agents { done, of }));
            }
            self.shards.push(shard);
            partials.push(partial?);
        }
        if partials.len() == parts {
            Ok(partials)
        } else {
            Err(DriverError::WorkerLost)
        }
    }
}

impl<C: AgentGroup> Collective<C> for Shards<'_, C> {
    type Error = DriverError;

    async fn round(&mut self, order: C::Order) -> Result<Vec<Partial>, DriverError> {
        match self.pool {
            Some(pool) => self.round_on(pool, order).await,
            None => self
                .shards
                .iter_mut()
                .map(|shard| shard.advance(&order))
                .collect(),
        }
    }

    async fn snapshot(&mut self) -> Result<Snapshots<'_, C::State>, DriverError> {
        Ok(Snapshots::lent(self.shards.iter().map(C::lent)))
    }
}

/// Runs one method in this thread, keeping nothing.
///
/// **Errors**: [`DriverError`].
pub fn run_method<T: Scalar>(
    method: &Arc<MethodContext<T>>,
    progress: &dyn Progress,
) -> Result<MethodRun, DriverError> {
    let around = Surroundings {
        progress,
        journal: None,
        interval: Duration::ZERO,
        stop: &AtomicBool::new(false),
        failure: None,
    };
    let build = |snapshot: Option<&mut _>| {
        Shards::<Shard<MethodContext<T>>>::new(None, method, snapshot, progress)
    };
    // One shard in one thread never waits for another.
    let run = pin!(run::run_method(method.clone(), around, build));
    match run.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(DriverError::WorkerLost),
    }
}
