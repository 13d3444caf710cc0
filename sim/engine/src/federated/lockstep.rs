//! The reference: one thread, virtual time, one member that holds all agents.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sordino_core::math::Scalar;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::MethodRun;

use super::collective::{AgentGroup, Collective, Partial, Snapshot};
use super::context::MethodContext;
use super::error::DriverError;
use super::lent::Snapshots;
use super::run::{self, Surroundings};
use super::shard::Shard;

/// All agents in this thread.
pub struct Lockstep<C>(C);

impl<C: AgentGroup> Lockstep<C> {
    /// Fresh agents, or agents as they are in the snapshot.
    ///
    /// **Errors**: as [`AgentGroup::build`].
    pub fn new(
        context: &Arc<C::Context>,
        snapshot: Option<&mut Snapshot<C::State>>,
    ) -> Result<Self, DriverError> {
        C::build(context, 0..C::enrolled(context), snapshot).map(Lockstep)
    }
}

/// Runs one method in this thread, keeping nothing.
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
    let build =
        |snapshot: Option<&mut _>| Lockstep::<Shard<MethodContext<T>>>::new(method, snapshot);
    // One member in one thread never waits for another.
    let run = pin!(run::run_method(method.clone(), around, build));
    match run.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(DriverError::WorkerLost),
    }
}

impl<C: AgentGroup> Collective<C> for Lockstep<C> {
    type Error = DriverError;

    fn members(&self) -> Vec<std::ops::Range<u32>> {
        vec![self.0.range()]
    }

    async fn round(&mut self, order: C::Order) -> Result<Vec<Partial>, DriverError> {
        Ok(vec![self.0.advance(&order)?])
    }

    async fn snapshot(&mut self) -> Result<Snapshots<'_, C::State>, DriverError> {
        Ok(Snapshots::lent(std::iter::once(self.0.lent())))
    }
}
