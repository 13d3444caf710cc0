//! The reference: one thread, virtual time, one member that holds all agents.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt;
use sordino_core::math::Scalar;

use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Fabric, Order, Partial, Snapshot};
use super::run::{self, Surroundings};
use super::shard::Shard;
use crate::progress::Progress;
use crate::record::MethodRun;

/// All agents in this thread.
pub struct Lockstep<T>(Shard<T>);

impl<T: Scalar> Lockstep<T> {
    /// Fresh agents, or agents as they were.
    pub fn new(method: &Arc<MethodContext<T>>, snapshot: Option<&Snapshot>) -> Result<Self, DriverError> {
        let agents = method.config.parameters().agents;
        Ok(Lockstep(match snapshot {
            None => Shard::new(method, 0, agents)?,
            Some(snapshot) => Shard::restore(method, 0, agents, snapshot)?,
        }))
    }
}

/// Runs one method in this thread, keeping nothing.
pub fn run_method<T: Scalar>(
    method: &Arc<MethodContext<T>>,
    progress: &dyn Progress,
) -> Result<MethodRun, DriverError> {
    let around = Surroundings { progress, journal: None, interval: Duration::ZERO, stop: &AtomicBool::new(false) };
    let build = |snapshot: Option<&_>| Lockstep::new(method, snapshot);
    // One member in one thread never waits for another.
    run::run_method(method.clone(), around, build).now_or_never().unwrap_or(Err(DriverError::WorkerLost))
}

impl<T: Scalar> Fabric<T> for Lockstep<T> {
    type Error = DriverError;

    fn members(&self) -> Vec<std::ops::Range<u32>> {
        vec![self.0.range()]
    }

    async fn round(&mut self, order: Order<T>) -> Result<Vec<Partial>, DriverError> {
        Ok(vec![self.0.advance(&order)?])
    }

    async fn snapshot(&mut self) -> Result<Vec<Snapshot>, DriverError> {
        Ok(vec![self.0.snapshot()])
    }
}
