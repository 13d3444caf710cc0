//! The same parties as tasks: tokio for control, a rayon pool of a fixed size for arithmetic.
//!
//! Agents are cut into shards; in every round each shard is handed to the pool and comes back with its partial sums,
//! in the order in which shards finish. Nothing of that order reaches a result: sums are integers, leaves are hashed
//! and regret is summed in agent order.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use rayon::ThreadPool;
use tokio::sync::oneshot;

use super::error::DriverError;
use super::fabric::{Crew, Fabric, Partial, Snapshot};
use crate::progress::{Progress, Stage};

/// Runs `work` on the pool and waits for its result without blocking a thread.
pub async fn on_pool<R: Send + 'static>(
    pool: &ThreadPool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, DriverError> {
    let (sender, receiver) = oneshot::channel();
    pool.spawn(move || {
        // The receiver is gone only if the execution was given up; then nobody misses the result.
        let _ = sender.send(work());
    });
    receiver.await.map_err(|_| DriverError::WorkerLost)
}

/// Agents in shards of consecutive indices, advanced on a pool.
pub struct Pooled<'p, C: Crew> {
    pool: &'p ThreadPool,
    context: Arc<C::Context>,
    shards: Vec<C>,
    progress: &'p dyn Progress,
}

impl<'p, C: Crew> Pooled<'p, C> {
    /// At most `shards` parts of nearly equal length, fresh or as they were.
    ///
    /// **Errors**: as [`Crew::muster`].
    pub fn new(
        pool: &'p ThreadPool,
        context: &Arc<C::Context>,
        shards: u32,
        snapshot: Option<&Snapshot<C::State>>,
        progress: &'p dyn Progress,
    ) -> Result<Self, DriverError> {
        let agents = C::enrolled(context);
        let parts = shards.clamp(1, agents);
        let edge = |i: u32| (u64::from(agents) * u64::from(i) / u64::from(parts)) as u32;
        let build = |i: u32| C::muster(context, edge(i)..edge(i + 1), snapshot);
        let shards = (0..parts).map(build).collect::<Result<_, _>>()?;
        Ok(Pooled { pool, context: context.clone(), shards, progress })
    }
}

impl<C: Crew> Fabric<C> for Pooled<'_, C> {
    type Error = DriverError;

    fn members(&self) -> Vec<std::ops::Range<u32>> {
        self.shards.iter().map(C::range).collect()
    }

    async fn round(&mut self, order: C::Order) -> Result<Vec<Partial>, DriverError> {
        let of = C::enrolled(&self.context);
        let (mut done, parts) = (0, self.shards.len());
        let mut working: FuturesUnordered<_> = std::mem::take(&mut self.shards)
            .into_iter()
            .map(|mut shard| {
                let order = order.clone();
                on_pool(self.pool, move || {
                    let partial = shard.advance(&order);
                    (shard, partial)
                })
            })
            .collect();
        let mut partials = Vec::new();
        while let Some(arrived) = working.next().await {
            let (shard, partial) = arrived?;
            done += shard.range().len() as u32;
            if parts > 1 {
                self.progress.advance(&C::step(&self.context, &order, Stage::Agents { done, of }));
            }
            self.shards.push(shard);
            partials.push(partial?);
        }
        Ok(partials)
    }

    async fn snapshot(&mut self) -> Result<Vec<Snapshot<C::State>>, DriverError> {
        Ok(self.shards.iter().map(C::snapshot).collect())
    }
}
