//! Agents side by side: an agent is a few words of state and a slice of the logs; no allocation, no task of its own.

use std::ops::Range;

use sordino_core::digest::Digest;
use sordino_core::federated::prior::agent::AgentState as PriorState;
use sordino_core::federated::{self, AgentState, Workspace};
use sordino_core::math::Scalar;

use super::blocks;
use super::context::MethodContext;
use super::error::DriverError;
use super::fabric::{Partial, Snapshot};
use super::lent::{Lent, Logs, Stop};
use super::link::Frames;
use super::tally::Tally;
use crate::world::fault::FaultCounts;

/// The state of an agent, whatever its method.
pub trait State: Clone {
    /// Observations in its log.
    fn observations(&self) -> u32;
}

impl State for AgentState {
    fn observations(&self) -> u32 {
        AgentState::observations(self)
    }
}

impl State for PriorState {
    fn observations(&self) -> u32 {
        PriorState::observations(self)
    }
}

/// Consecutive agents of one federation: states, logs, and either a workspace for each or one for all.
pub struct Arena<T, S> {
    first: u32,
    states: Vec<S>,
    logs: Vec<T>,
    log: usize,
    workspaces: Vec<T>,
    workspace: usize,
    kept: bool,
    best: Vec<f64>,
    /// Frames that missed the last deadline, with their senders.
    pub late: Frames,
}

impl<T: Scalar, S: State> Logs for Arena<T, S> {
    fn bytes(&self) -> usize {
        self.states.iter().map(|state| 2 * state.observations() as usize * T::BYTES).sum()
    }

    fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        let mut bytes = Vec::with_capacity(self.log * T::BYTES);
        for (state, log) in self.states.iter().zip(self.logs.chunks_exact(self.log)) {
            let filled = &log[..2 * state.observations() as usize];
            bytes.resize(filled.len() * T::BYTES, 0);
            bytes.chunks_exact_mut(T::BYTES).zip(filled).for_each(|(bytes, x)| x.write_le(bytes));
            take(&bytes)?;
        }
        Ok(())
    }
}

/// What one agent of an arena borrows.
pub struct Seat<'a, T, S> {
    /// Its index among the enrolled.
    pub agent: u32,
    /// What it keeps between inputs.
    pub state: &'a mut S,
    /// Pairs of candidate and value.
    pub log: &'a mut [T],
    /// Its own workspace, or the one that all share.
    pub workspace: Workspace<'a, T>,
    /// Its best noise-free value so far.
    pub best: &'a mut f64,
}

impl<T: Scalar, S: State> Arena<T, S> {
    /// These agents before their first point, or as they are in the snapshot, which may hold more agents. `log` and
    /// `workspace` count the numbers of one agent; workspaces are kept if those of all enrolled agents fit into the
    /// method's bytes.
    ///
    /// **Errors**: [`DriverError::Snapshot`] with the first agent that the snapshot does not hold.
    pub fn new(
        method: &MethodContext<T>,
        agents: Range<u32>,
        [log, workspace]: [usize; 2],
        fresh: impl Fn(u32) -> S,
        snapshot: Option<&Snapshot<S>>,
    ) -> Result<Self, DriverError> {
        let (count, enrolled) = (agents.len(), method.config.parameters().agents as usize);
        let kept = workspace * size_of::<T>() * enrolled <= method.workspace_bytes;
        let mut arena = Arena {
            first: agents.start,
            states: agents.clone().map(fresh).collect(),
            logs: vec![T::ZERO; log * count],
            log,
            workspaces: vec![T::ZERO; workspace * if kept { count } else { 1 }],
            workspace,
            kept,
            best: vec![f64::NEG_INFINITY; count],
            late: Vec::new(),
        };
        snapshot.map_or(Ok(()), |snapshot| arena.restore(agents, snapshot))?;
        Ok(arena)
    }

    fn restore(&mut self, agents: Range<u32>, snapshot: &Snapshot<S>) -> Result<(), DriverError> {
        let mut bytes = &snapshot.logs[..];
        let end = snapshot.first.saturating_add(snapshot.states.len() as u32);
        if agents.start < snapshot.first || end < agents.end {
            let agent = if agents.start < snapshot.first { agents.start } else { end };
            return Err(DriverError::Snapshot { agent });
        }
        for (agent, state) in (snapshot.first..).zip(&snapshot.states) {
            let lacks = DriverError::Snapshot { agent };
            let filled = 2 * state.observations() as usize;
            let split = bytes.split_at_checked(filled * T::BYTES).filter(|_| filled <= self.log);
            let Some((log, rest)) = split else { return Err(lacks) };
            bytes = rest;
            if !agents.contains(&agent) {
                continue;
            }
            let place = (agent - agents.start) as usize;
            for (x, bytes) in self.logs[place * self.log..].iter_mut().zip(log.chunks_exact(T::BYTES)) {
                *x = T::read_le(bytes);
            }
            // A copy knows nothing of a workspace: its posteriors are rebuilt once.
            self.states[place] = state.clone();
            self.best[place] = *snapshot.best.get((agent - snapshot.first) as usize).ok_or(lacks)?;
        }
        self.late = snapshot.late.iter().filter(|(agent, _)| agents.contains(agent)).cloned().collect();
        Ok(())
    }

    /// The state of its agents, lent.
    pub fn lent(&self) -> Lent<'_, S> {
        Lent { first: self.first, states: &self.states, logs: self, best: &self.best, late: &self.late }
    }

    /// The indices of its agents.
    pub fn range(&self) -> Range<u32> {
        self.first..self.first + self.states.len() as u32
    }

    /// Calls `take` with every agent in turn.
    ///
    /// **Errors**: the first that `take` returns.
    pub fn each(&mut self, mut take: impl FnMut(Seat<'_, T, S>) -> Result<(), DriverError>) -> Result<(), DriverError> {
        let logs = self.logs.chunks_exact_mut(self.log);
        let seats = (self.first..).zip(&mut self.states).zip(logs).zip(&mut self.best);
        for (place, (((agent, state), log), best)) in seats.enumerate() {
            let workspace = if self.kept {
                Workspace::Kept(&mut self.workspaces[place * self.workspace..(place + 1) * self.workspace])
            } else {
                Workspace::Lent(&mut self.workspaces)
            };
            take(Seat { agent, state, log, workspace, best })?;
        }
        Ok(())
    }

    /// The answer to an order: the agents' leaves and regrets in blocks, and how often each regret occurs at
    /// report rounds.
    pub fn partial(
        &self,
        method: &MethodContext<T>,
        leaves: &[Digest],
        faults: FaultCounts,
        report: bool,
        collected: Option<federated::Partial<federated::Wiped<u8>, federated::Wiped<i64>>>,
    ) -> Partial {
        let agents = self.range();
        let optimum = |agent| method.run.optimum(agent);
        let regrets: Vec<f64> = (agents.start..).zip(&self.best).map(|(agent, best)| optimum(agent) - best).collect();
        let pieces = blocks::cut(agents.start, method.config.parameters().agents, leaves, &regrets);
        let regrets = if report { Tally::of(&regrets) } else { Tally::default() };
        Partial { agents, collected, pieces, regrets, faults, observations: Vec::new(), messages: Vec::new() }
    }
}
