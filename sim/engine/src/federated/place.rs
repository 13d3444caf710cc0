//! Where the agents of a method are held: one collective, whatever the place.

use std::ops::Range;
use std::sync::Arc;

use rayon::ThreadPool;
use sordino_experiment::progress::Progress;

use super::super::hub::{Hub, Task};
use super::collective::{Collective, Partial, Snapshot};
use super::error::DriverError;
use super::lent::Snapshots;
use super::lockstep::Lockstep;
use super::remote::Remote;
use super::tokio::Pooled;
use super::wired::Travels;

/// Where the agents of a method are held.
#[derive(Clone, Copy)]
pub enum Place<'p> {
    /// One member in this thread.
    Here,
    /// Members on a pool, at most this many.
    Pool(&'p ThreadPool, u32),
    /// Other processes, reached through a hub.
    Elsewhere(&'p dyn Hub),
}

impl<'p> Place<'p> {
    /// Its collective: fresh agents, or agents as they are in the snapshot.
    ///
    /// **Errors**: as [`build`](super::collective::AgentGroup::build), and a hub's.
    pub fn collective<C: Travels>(
        self,
        task: &Task,
        context: &Arc<C::Context>,
        snapshot: Option<&mut Snapshot<C::State>>,
        progress: &'p dyn Progress,
    ) -> Result<Held<'p, C>, DriverError> {
        Ok(match self {
            Place::Here => Held::Here(Lockstep::new(context, snapshot)?),
            Place::Pool(pool, shards) => {
                Held::Pool(Pooled::new(pool, context, shards, snapshot, progress)?)
            }
            Place::Elsewhere(hub) => {
                Held::Elsewhere(Remote::new(hub, task, context, snapshot, progress)?)
            }
        })
    }
}

/// The collective of a place.
pub enum Held<'p, C: Travels> {
    /// All of them in this thread.
    Here(Lockstep<C>),
    /// In shards on a pool.
    Pool(Pooled<'p, C>),
    /// In other processes.
    Elsewhere(Remote<'p, C>),
}

impl<C: Travels> Collective<C> for Held<'_, C> {
    type Error = DriverError;

    fn members(&self) -> Vec<Range<u32>> {
        match self {
            Held::Here(collective) => collective.members(),
            Held::Pool(collective) => collective.members(),
            Held::Elsewhere(collective) => collective.members(),
        }
    }

    async fn round(&mut self, order: C::Order) -> Result<Vec<Partial>, DriverError> {
        match self {
            Held::Here(collective) => collective.round(order).await,
            Held::Pool(collective) => collective.round(order).await,
            Held::Elsewhere(collective) => collective.round(order).await,
        }
    }

    async fn snapshot(&mut self) -> Result<Snapshots<'_, C::State>, DriverError> {
        match self {
            Held::Here(collective) => collective.snapshot().await,
            Held::Pool(collective) => collective.snapshot().await,
            Held::Elsewhere(collective) => collective.snapshot().await,
        }
    }
}
