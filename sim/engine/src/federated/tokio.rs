//! The same parties as tasks: tokio for control, a rayon pool of a fixed size for arithmetic.
//!
//! Agents are cut into shards; in every round each shard is handed to the pool and comes back with
//! its partial sums, in the order in which shards finish. Nothing of that order reaches a result:
//! sums are integers, leaves are hashed and regret is summed in agent order.

use std::sync::Arc;

use rayon::ThreadPool;
use sordino_experiment::progress::{Progress, Stage};
use tokio::sync::mpsc;

use super::collective::{AgentGroup, Collective, Partial, Snapshot, edge};
use super::error::DriverError;
use super::lent::Snapshots;

/// Agents in shards of consecutive indices, advanced on a pool.
pub struct Pooled<'p, C: AgentGroup> {
    pool: &'p ThreadPool,
    context: Arc<C::Context>,
    shards: Vec<C>,
    progress: &'p dyn Progress,
}

impl<'p, C: AgentGroup> Pooled<'p, C> {
    /// At most `shards` parts of nearly equal length, fresh or as they are in the snapshot.
    ///
    /// **Errors**: as [`AgentGroup::build`].
    pub fn new(
        pool: &'p ThreadPool,
        context: &Arc<C::Context>,
        shards: u32,
        mut snapshot: Option<&mut Snapshot<C::State>>,
        progress: &'p dyn Progress,
    ) -> Result<Self, DriverError> {
        let agents = C::enrolled(context);
        let parts = shards.clamp(1, agents);
        let mut shards = Vec::with_capacity(parts as usize);
        // Each takes its agents off the end of the snapshot.
        for i in (0..parts).rev() {
            let range = edge(agents, i, parts)..edge(agents, i + 1, parts);
            shards.push(C::build(context, range, snapshot.as_deref_mut())?);
        }
        shards.reverse();
        Ok(Pooled {
            pool,
            context: context.clone(),
            shards,
            progress,
        })
    }
}

impl<C: AgentGroup> Collective<C> for Pooled<'_, C> {
    type Error = DriverError;

    fn members(&self) -> Vec<std::ops::Range<u32>> {
        self.shards.iter().map(C::range).collect()
    }

    async fn round(&mut self, order: C::Order) -> Result<Vec<Partial>, DriverError> {
        let of = C::enrolled(&self.context);
        let mut done = 0;
        let parts = self.shards.len();
        let (sender, mut arrivals) = mpsc::unbounded_channel();
        for mut shard in std::mem::take(&mut self.shards) {
            let order = order.clone();
            let sender = sender.clone();
            self.pool.spawn(move || {
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

    async fn snapshot(&mut self) -> Result<Snapshots<'_, C::State>, DriverError> {
        Ok(Snapshots::lent(self.shards.iter().map(C::lent)))
    }
}
