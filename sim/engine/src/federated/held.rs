//! The agents' side of a federation over a [`super::super::hub::Hub`]: lots that this process holds
//! for others.
//!
//! A holder is told which lots to hold, carries out orders on them and answers with their
//! snapshots. It keeps no records and draws no coins of a server: everything it computes is a
//! function of the scenario, its data and the orders.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rayon::ThreadPool;
use rayon::prelude::*;
use sordino_core::math::Scalar;
use sordino_experiment::scenario::{ScalarKind, Scenario};
use sordino_experiment::world::{self, Family};

use super::super::contract::Options;
use super::super::hub::Task;
use super::brought::Brought;
use super::collective::Partial;
use super::context::RunContext;
use super::error::{DriverError, RemoteError};
use super::job::{Context, Job};
use super::remote::may_travel;
use super::shard::Shard;
use super::wired::{Travels, answer, decode, encode};

/// Agents of one task, held for others.
pub trait HeldAgents {
    /// Holds these agents from now on: fresh, or as in their snapshot.
    ///
    /// **Errors**: agents that are not enrolled, or are held already; a snapshot that is not
    /// theirs.
    fn hold(&mut self, agents: Range<u32>, snapshot: Option<&[u8]>) -> Result<(), DriverError>;

    /// Gives up the lot that begins with this agent.
    fn leave(&mut self, first: u32);

    /// Takes lots, by their first agents, through an order, on the threads of the pool.
    ///
    /// **Returns** one answer for all of them.
    ///
    /// **Errors**: [`DriverError::Snapshot`] for a lot that is not held; the agents' own.
    fn advance(
        &mut self,
        common: &[u8],
        parts: &[(u32, &[u8])],
        pool: &ThreadPool,
    ) -> Result<Vec<u8>, DriverError>;

    /// The state of a lot's agents.
    ///
    /// **Errors**: [`DriverError::Snapshot`] if it is not held.
    fn snapshot(&self, first: u32) -> Result<Vec<u8>, DriverError>;

    /// Number of agents held.
    fn agents(&self) -> u32;
}

/// A scenario on this machine, whose tasks can be taken up.
pub trait Site {
    /// Takes up a task; no agents are held yet.
    ///
    /// **Errors**: a run or a method that the scenario does not have; what its contexts refuse.
    fn open(&self, task: &Task) -> Result<Box<dyn HeldAgents>, DriverError>;
}

/// Builds what all tasks of a scenario share, and hands it to `work`. `data` is what the scenario
/// reads.
///
/// **Errors**: as [`super::run()`]; [`RemoteError::Stays`].
pub fn with_site<R>(
    scenario: &Scenario,
    data: Option<&Path>,
    work: impl FnOnce(&dyn Site) -> R,
) -> Result<R, DriverError> {
    may_travel(scenario)?;
    let family = world::load(scenario, data)?;
    Ok(match scenario.surrogate.scalar {
        ScalarKind::F64 => work(&Open::<f64>::new(scenario, &*family)?),
        ScalarKind::F32 => work(&Open::<f32>::new(scenario, &*family)?),
    })
}

/// The number of a run, and the contexts of its methods.
type OpenRun<T> = (u32, Vec<Arc<RunContext<T>>>);

/// A scenario that is open; the contexts of the run it was asked for last are kept for its other
/// methods.
struct Open<'s, T> {
    scenario: &'s Scenario,
    family: &'s dyn Family,
    job: Job<'s, T>,
    run: RefCell<Option<OpenRun<T>>>,
}

impl<'s, T: Scalar> Open<'s, T> {
    fn new(scenario: &'s Scenario, family: &'s dyn Family) -> Result<Self, DriverError> {
        let job = Job::new(scenario, family, Brought::NOTHING, &Options::default())?;
        Ok(Open {
            scenario,
            family,
            job,
            run: RefCell::new(None),
        })
    }
}

impl<T: Scalar> Site for Open<'_, T> {
    fn open(&self, task: &Task) -> Result<Box<dyn HeldAgents>, DriverError> {
        let method = self
            .scenario
            .methods()
            .find(|method| method.name() == task.method);
        let method = method
            .filter(|_| task.run < self.scenario.runs)
            .ok_or_else(|| {
                RemoteError::stays(
                    format!("method `{}` in run {}", task.method, task.run + 1),
                    "the scenario has no such method or run",
                    "methods and runs of the scenario",
                )
            })?;
        let mut kept = self.run.borrow_mut();
        let runs = match kept.take() {
            Some((index, runs)) if index == task.run => runs,
            _ => self.job.run(
                task.run,
                self.family.realize(self.scenario.run_seed(task.run)),
            )?,
        };
        let context = self.job.context(method, &runs)?;
        *kept = Some((task.run, runs));
        Ok(match context {
            Context::Draws(context) => Box::new(Lots::<Shard<_>>::new(context)),
            Context::Prior(context) => Box::new(Lots::<Shard<_>>::new(context)),
            Context::Vote(context) => Box::new(Lots::<Shard<_>>::new(context)),
            Context::Campaign(context) => Box::new(Lots::<Shard<_>>::new(context)),
            Context::Custom(context) => Box::new(Lots::<Shard<_>>::new(context)),
        })
    }
}

/// Lots of one federation, by their first agents.
struct Lots<C: Travels> {
    context: Arc<C::Context>,
    groups: BTreeMap<u32, C>,
}

impl<C: Travels> Lots<C> {
    fn new(context: Arc<C::Context>) -> Self {
        Lots {
            context,
            groups: BTreeMap::new(),
        }
    }
}

impl<C: Travels> HeldAgents for Lots<C> {
    fn hold(&mut self, agents: Range<u32>, snapshot: Option<&[u8]>) -> Result<(), DriverError> {
        let overlaps =
            |group: &C| group.range().start < agents.end && agents.start < group.range().end;
        if agents.is_empty()
            || agents.end > C::enrolled(&self.context)
            || self.groups.values().any(overlaps)
        {
            return Err(DriverError::Snapshot {
                agent: agents.start,
            });
        }
        let mut snapshot = snapshot
            .map(|bytes| decode("a snapshot", bytes))
            .transpose()?;
        let group = C::build(&self.context, agents.clone(), snapshot.as_mut())?;
        self.groups.insert(agents.start, group);
        Ok(())
    }

    fn leave(&mut self, first: u32) {
        self.groups.remove(&first);
    }

    fn advance(
        &mut self,
        common: &[u8],
        parts: &[(u32, &[u8])],
        pool: &ThreadPool,
    ) -> Result<Vec<u8>, DriverError> {
        let common = C::open(common)?;
        let told: BTreeMap<u32, &[u8]> = parts.iter().copied().collect();
        if let Some(agent) = told.keys().find(|first| !self.groups.contains_key(first)) {
            return Err(DriverError::Snapshot { agent: *agent });
        }
        let groups: Vec<(&mut C, &[u8])> = self
            .groups
            .iter_mut()
            .filter_map(|(first, group)| Some((group, *told.get(first)?)))
            .collect();
        let partials: Vec<Result<Partial, DriverError>> = pool.install(|| {
            groups
                .into_par_iter()
                .with_max_len(1)
                .map(|(group, part)| group.advance(&C::order(&common, part)?))
                .collect()
        });
        Ok(answer(partials.into_iter().collect::<Result<_, _>>()?)?)
    }

    fn snapshot(&self, first: u32) -> Result<Vec<u8>, DriverError> {
        let group = self
            .groups
            .get(&first)
            .ok_or(DriverError::Snapshot { agent: first })?;
        Ok(encode(&group.lent())?)
    }

    fn agents(&self) -> u32 {
        self.groups
            .values()
            .map(|group| group.range().len() as u32)
            .sum()
    }
}
