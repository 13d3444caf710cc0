//! Agents side by side: an agent is a few words of state and a slice of the logs; no allocation, no
//! task of its own.

use std::ops::Range;

use sordino_core::federated::prior::agent::AgentState as PriorState;
use sordino_core::federated::{AgentState, Workspace};
use sordino_core::math::{Scalar, read_all_le, write_all_le};

use super::collective::Snapshot;
use super::context::MethodContext;
use super::error::DriverError;
use super::lent::{Lent, Logs, Stop};
use super::link::Frames;

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

/// Consecutive agents of one federation: states, logs, and either a workspace for each or one for
/// all.
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
        self.states
            .iter()
            .map(|state| 2 * state.observations() as usize * T::BYTES)
            .sum()
    }

    fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        let mut bytes = Vec::with_capacity(self.log * T::BYTES);
        for (state, log) in self.states.iter().zip(self.logs.chunks_exact(self.log)) {
            let filled = &log[..2 * state.observations() as usize];
            bytes.resize(filled.len() * T::BYTES, 0);
            write_all_le(filled, &mut bytes);
            take(&bytes)?;
        }
        Ok(())
    }
}

impl<S: State> Snapshot<S> {
    /// Checks that it has these agents, with logs of at most `log` numbers of `width` bytes, and no
    /// bytes but those.
    ///
    /// **Errors**: [`DriverError::Snapshot`] with the first agent that it does not hold.
    fn holds(&self, agents: &Range<u32>, width: usize, log: usize) -> Result<(), DriverError> {
        let end = self
            .first
            .saturating_add(self.states.len().min(self.best.len()) as u32);
        let mut left = self.logs.len();
        let short = (self.first..).zip(&self.states).find(|(_, state)| {
            let filled = 2 * state.observations() as usize;
            let rest = left.checked_sub(filled * width);
            left = rest.unwrap_or(left);
            rest.is_none() || filled > log
        });
        match short {
            _ if agents.start < self.first => Err(DriverError::Snapshot {
                agent: agents.start,
            }),
            _ if end < agents.end => Err(DriverError::Snapshot { agent: end }),
            Some((agent, _)) => Err(DriverError::Snapshot { agent }),
            None if left > 0 || self.states.len() != self.best.len() => {
                Err(DriverError::Snapshot { agent: end })
            }
            None => Ok(()),
        }
    }

    /// The last agent, its state, and its best value.
    fn last(&self) -> Option<(u32, &S, f64)> {
        let (state, best) = self.states.last().zip(self.best.last())?;
        Some((self.first + (self.states.len() - 1) as u32, state, *best))
    }

    /// Drops the last agent, whose log begins at the byte `log`.
    fn drop_last(&mut self, log: usize) {
        self.states.pop();
        self.best.pop();
        self.logs.truncate(log);
        give_back(&mut self.states);
        give_back(&mut self.best);
        give_back(&mut self.logs);
    }
}

/// Gives back memory as soon as a sixteenth is not used: seldom enough where an allocator must copy
/// the rest.
fn give_back<V>(list: &mut Vec<V>) {
    if list.len() <= list.capacity() / 16 * 15 {
        list.shrink_to_fit();
    }
}

/// What one agent of an arena borrows.
pub struct AgentSlot<'a, T, S> {
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
    /// These agents, `states` before their first point or as they are in the snapshot, of which
    /// only those before them are left: an agent is never in memory twice. `log` and `workspace`
    /// count the numbers of one agent; workspaces are kept if those of all enrolled agents fit into
    /// the method's bytes.
    ///
    /// **Errors**: [`DriverError::Snapshot`] with the first agent that the snapshot does not hold.
    pub fn new(
        method: &MethodContext<T>,
        agents: Range<u32>,
        [log, workspace]: [usize; 2],
        states: Vec<S>,
        snapshot: Option<&mut Snapshot<S>>,
    ) -> Result<Self, DriverError> {
        let count = agents.len();
        let enrolled = method.config.parameters().agents as usize;
        let kept = workspace * size_of::<T>() * enrolled <= method.workspace_bytes;
        let mut arena = Arena {
            first: agents.start,
            states,
            logs: vec![T::ZERO; log * count],
            log,
            workspaces: vec![T::ZERO; workspace * if kept { count } else { 1 }],
            workspace,
            kept,
            best: vec![f64::NEG_INFINITY; count],
            late: Vec::new(),
        };
        if let Some(snapshot) = snapshot {
            arena.restore(agents, snapshot)?;
        }
        Ok(arena)
    }

    fn restore(
        &mut self,
        agents: Range<u32>,
        snapshot: &mut Snapshot<S>,
    ) -> Result<(), DriverError> {
        snapshot.holds(&agents, T::BYTES, self.log)?;
        self.late = snapshot
            .late
            .iter()
            .filter(|(agent, _)| agents.contains(agent))
            .cloned()
            .collect();
        // From the last to the first: the snapshot becomes shorter as the logs here are filled.
        while let Some((agent, state, best)) =
            snapshot.last().filter(|(agent, ..)| *agent >= agents.start)
        {
            let log = snapshot.logs.len() - 2 * state.observations() as usize * T::BYTES;
            if agents.contains(&agent) {
                let place = (agent - agents.start) as usize;
                let own = &mut self.logs[place * self.log..];
                for (x, stored) in own.iter_mut().zip(read_all_le(&snapshot.logs[log..])) {
                    *x = stored;
                }
                // A copy knows nothing of a workspace: its posteriors are rebuilt once.
                self.states[place] = state.clone();
                self.best[place] = best;
            }
            snapshot.drop_last(log);
        }
        Ok(())
    }

    /// The state of its agents, lent.
    pub fn lent(&self) -> Lent<'_, S> {
        Lent {
            first: self.first,
            states: &self.states,
            logs: self,
            best: &self.best,
            late: &self.late,
        }
    }

    /// The indices of its agents.
    pub fn range(&self) -> Range<u32> {
        self.first..self.first + self.states.len() as u32
    }

    /// Number of its agents.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// What the agent at this place borrows, 0-based.
    pub fn slot(&mut self, place: usize) -> AgentSlot<'_, T, S> {
        let workspace = if self.kept {
            let begin = place * self.workspace;
            Workspace::Owned(&mut self.workspaces[begin..begin + self.workspace])
        } else {
            Workspace::Borrowed(&mut self.workspaces)
        };
        AgentSlot {
            agent: self.first + place as u32,
            state: &mut self.states[place],
            log: &mut self.logs[place * self.log..(place + 1) * self.log],
            workspace,
            best: &mut self.best[place],
        }
    }

    /// What each agent still lacks of its own optimum: that less the best it has found.
    pub fn regrets(&self, method: &MethodContext<T>) -> Vec<f64> {
        (self.first..)
            .zip(&self.best)
            .map(|(agent, best)| method.run.optimum(agent) - best)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sordino_experiment::scenario::{Shipped, method};

    use super::super::context::{RunContext, ScenarioContext};
    use super::super::lent::Snapshots;
    use super::*;

    const AGENTS: u32 = 1000;

    impl State for u32 {
        fn observations(&self) -> u32 {
            *self
        }
    }

    fn method() -> MethodContext<f32> {
        let scenario = Shipped::find("firmware")
            .unwrap()
            .parse(&[format!("federation.agents={AGENTS}")])
            .unwrap();
        let seed = scenario.run_seed(0);
        let functions = sordino_experiment::world::load(&scenario, None)
            .unwrap()
            .realize(seed);
        let shared =
            ScenarioContext::new(&scenario, functions.candidates(), functions.dim()).unwrap();
        let run = Arc::new(RunContext::new(&scenario, Arc::new(shared), 0, functions).unwrap());
        MethodContext::new(&scenario, method::DP_FTS_DE, run, None).unwrap()
    }

    fn snapshot() -> Snapshot<u32> {
        let states: Vec<u32> = (0..AGENTS).map(|agent| agent % 5).collect();
        let numbers = 0..2 * states.iter().sum::<u32>();
        Snapshot {
            first: 0,
            logs: numbers.flat_map(|x| (x as f32).to_le_bytes()).collect(),
            best: (0..AGENTS).map(f64::from).collect(),
            late: vec![(7, vec![1]), (900, vec![2])],
            states,
        }
    }

    fn arena(
        agents: Range<u32>,
        log: usize,
        from: &mut Snapshot<u32>,
    ) -> Result<Arena<f32, u32>, DriverError> {
        let fresh = vec![0; agents.len()];
        Arena::new(&method(), agents, [log, 1], fresh, Some(from))
    }

    /// An agent is in memory once: what an arena took is no longer in the snapshot.
    #[test]
    fn a_snapshot_becomes_shorter_as_it_is_restored() {
        let bytes = |arenas: &[Arena<f32, u32>]| {
            postcard::to_allocvec(&Snapshots::lent(arenas.iter().map(Arena::lent))).unwrap()
        };
        let expected = postcard::to_allocvec(&snapshot()).unwrap();
        let mut left = snapshot();
        let last = arena(300..AGENTS, 8, &mut left).unwrap();
        let logs = 300 / 5 * (1 + 2 + 3 + 4) * 2 * 4;
        assert_eq!(
            (left.states.len(), left.best.len(), left.logs.len()),
            (300, 300, logs)
        );
        for (len, capacity) in [(300, left.states.capacity()), (logs, left.logs.capacity())] {
            assert!(
                capacity <= len / 15 * 16 + 16,
                "{len} of {capacity} are in use"
            );
        }
        let first = arena(0..300, 8, &mut left).unwrap();
        assert!(left.states.is_empty() && left.logs.capacity() < 64);
        assert_eq!(bytes(&[first, last]), expected);
        assert_eq!(
            bytes(&[arena(0..AGENTS, 8, &mut snapshot()).unwrap()]),
            expected
        );
        // Agents behind those that are asked for are dropped.
        assert_eq!(
            arena(0..5, 8, &mut snapshot()).unwrap().states,
            [0, 1, 2, 3, 4]
        );
    }

    #[test]
    fn a_snapshot_of_others_is_refused() {
        let refused = |agents, log, change: fn(&mut Snapshot<u32>)| {
            let mut changed = snapshot();
            change(&mut changed);
            match arena(agents, log, &mut changed).err() {
                Some(DriverError::Snapshot { agent }) => agent,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(refused(0..AGENTS + 1, 8, |_| {}), AGENTS);
        assert_eq!(refused(0..5, 8, |snapshot| snapshot.first = 2), 0);
        assert_eq!(refused(0..AGENTS, 6, |_| {}), 4, "a log that is too long");
        assert_eq!(
            refused(0..AGENTS, 8, |snapshot| snapshot
                .logs
                .truncate(snapshot.logs.len() - 1)),
            AGENTS - 1
        );
        assert_eq!(
            refused(0..AGENTS, 8, |snapshot| snapshot.logs.push(0)),
            AGENTS,
            "bytes of nobody"
        );
        assert_eq!(
            refused(0..AGENTS, 8, |snapshot| snapshot
                .best
                .truncate(snapshot.best.len() - 1)),
            AGENTS - 1
        );
    }
}
