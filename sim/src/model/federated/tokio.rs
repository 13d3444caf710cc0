//! The same parties as tasks: tokio for control, a rayon pool of a fixed size for arithmetic.
//!
//! Agents are cut into shards; in every round each shard is handed to the pool and comes back with its partial sums,
//! in the order in which shards finish. Nothing of that order reaches a result: sums are integers, leaves are hashed
//! and regret is summed in agent order.

use std::sync::Arc;

use rayon::ThreadPool;
use sordino_core::math::Scalar;
use tokio::sync::mpsc;

use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Fabric, Order, Partial, Snapshot};
use super::shard::Shard;
use crate::progress::{Progress, Stage};

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
        let (sender, mut arrivals) = mpsc::unbounded_channel();
        for mut shard in std::mem::take(&mut self.shards) {
            let (order, sender) = (order.clone(), sender.clone());
            self.pool.spawn(move || {
                let partial = shard.advance(&order);
                // The receiver is gone only if the execution was given up; then nobody misses the result.
                let _ = sender.send((shard, partial));
            });
        }
        drop(sender);
        let mut partials = Vec::new();
        // The channel ends when every worker has sent, or died.
        while let Some((shard, partial)) = arrivals.recv().await {
            done += shard.range().len() as u32;
            if parts > 1 {
                self.progress.advance(&self.method.step(round, Stage::Agents { done, of }));
            }
            self.shards.push(shard);
            partials.push(partial?);
        }
        if partials.len() == parts { Ok(partials) } else { Err(DriverError::WorkerLost) }
    }

    async fn snapshot(&mut self) -> Result<Vec<Snapshot>, DriverError> {
        Ok(self.shards.iter().map(Shard::snapshot).collect())
    }
}
