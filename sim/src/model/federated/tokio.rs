//! The same parties as tasks: tokio for control, a rayon pool of a fixed size for arithmetic.
//!
//! Agents are cut into shards; in every round each shard is handed to the pool and comes back with its partial sums,
//! in the order in which shards finish. Nothing of that order reaches a result: sums are integers, leaves are hashed
//! and regret is summed in agent order.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use rayon::ThreadPool;
use sordino_core::math::Scalar;
use tokio::sync::oneshot;

use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Fabric, Order, Partial, Snapshot};
use super::shard::Shard;
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
pub struct Pooled<'p, T> {
    pool: &'p ThreadPool,
    method: Arc<MethodContext<T>>,
    shards: Vec<Shard<T>>,
    progress: &'p dyn Progress,
}

impl<'p, T: Scalar> Pooled<'p, T> {
    /// At most `shards` parts of nearly equal length, fresh or as they were.
    pub fn new(
        pool: &'p ThreadPool,
        method: &Arc<MethodContext<T>>,
        shards: u32,
        snapshot: Option<&Snapshot>,
        progress: &'p dyn Progress,
    ) -> Result<Self, DriverError> {
        let agents = method.config.parameters().agents;
        let parts = shards.clamp(1, agents);
        let edge = |i: u32| (u64::from(agents) * u64::from(i) / u64::from(parts)) as u32;
        let build = |i: u32| {
            let (first, count) = (edge(i), edge(i + 1) - edge(i));
            match snapshot {
                None => Shard::new(method, first, count),
                Some(snapshot) => Shard::restore(method, first, count, snapshot),
            }
        };
        let shards = (0..parts).map(build).collect::<Result<_, _>>()?;
        Ok(Pooled { pool, method: method.clone(), shards, progress })
    }
}

impl<T: Scalar> Fabric<T> for Pooled<'_, T> {
    type Error = DriverError;

    fn members(&self) -> Vec<std::ops::Range<u32>> {
        self.shards.iter().map(Shard::range).collect()
    }

    async fn round(&mut self, order: Order<T>) -> Result<Vec<Partial>, DriverError> {
        let of = self.method.config.parameters().agents;
        let (mut done, parts, round) = (0, self.shards.len(), order.round);
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
                self.progress.advance(&self.method.step(round, Stage::Agents { done, of }));
            }
            self.shards.push(shard);
            partials.push(partial?);
        }
        Ok(partials)
    }

    async fn snapshot(&mut self) -> Result<Vec<Snapshot>, DriverError> {
        Ok(self.shards.iter().map(Shard::snapshot).collect())
    }
}
