//! The collective of a federation over a [`Hub`]: the server's side. All agents are elsewhere.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use sordino_core::federated::transcript::BLOCK;
use sordino_experiment::progress::{Progress, Stage};
use sordino_experiment::scenario::method::Kind;
use sordino_experiment::scenario::{ObjectiveConfig, Scenario};

use super::super::hub::{EncodedOrder, Heard, Hub, Task};
use super::arena::State;
use super::collective::{AgentGroup, Collective, Partial, Snapshot, edge};
use super::error::{DriverError, RemoteError};
use super::lent::Snapshots;
use super::wired::{Travels, answered, decode, encode};

/// A federation is cut into at most this many lots, so no more threads and machines than this can
/// share it.
const LOTS_MAX: u32 = 4096;
/// A federation of fewer blocks is cut between agents.
const BLOCKS_MIN: u32 = 16;

/// The lots of a federation: consecutive agents of nearly equal number; whole blocks of the
/// transcript if there are enough.
pub fn lots(agents: u32) -> Vec<Range<u32>> {
    let blocks = agents.div_ceil(BLOCK);
    let (unit, units, count) = if blocks < BLOCKS_MIN {
        (1, agents, agents.min(BLOCKS_MIN))
    } else {
        (BLOCK, blocks, blocks.min(LOTS_MAX))
    };
    (0..count)
        .map(|i| {
            let end = edge(units, i + 1, count).saturating_mul(unit);
            edge(units, i, count) * unit..end.min(agents)
        })
        .collect()
}

/// Refuses, by name, what cannot be written down for others: code and programs of the caller's.
///
/// **Errors**: [`RemoteError::Stays`].
pub fn may_travel(scenario: &Scenario) -> Result<(), RemoteError> {
    match &scenario.objective {
        ObjectiveConfig::Command(_) => {
            return Err(RemoteError::stays(
                "an objective of kind `command`",
                "the answers of a program are kept in one table",
                "any other kind; `--part` for many runs of it",
            ));
        }
        ObjectiveConfig::Custom(_) => {
            return Err(RemoteError::stays(
                "an objective of kind `custom`",
                "its functions are code of one program",
                "a kind that the scenario describes by itself",
            ));
        }
        _ => {}
    }
    if let Some(method) = scenario
        .methods()
        .find(|method| method.parts().kind == Kind::Custom)
    {
        return Err(RemoteError::stays(
            format!("method `{}` of base `custom`", method.name()),
            "its parties are code of one program",
            "methods that the program has by itself, and those made of their parts",
        ));
    }
    if let Some(trace) = &scenario.faults.trace {
        return Err(RemoteError::stays(
            format!("the trace `{}` in faults.trace", trace.display()),
            "it is a file of one machine",
            "the other keys of [faults]",
        ));
    }
    Ok(())
}

/// All agents of one federation, held by others.
pub struct Remote<'h, C: AgentGroup> {
    hub: &'h dyn Hub,
    context: Arc<C::Context>,
    lots: Vec<Range<u32>>,
    progress: &'h dyn Progress,
    group: PhantomData<fn() -> C>,
}

impl<'h, C: Travels> Remote<'h, C> {
    /// Fresh agents, or agents as they are in the snapshot.
    ///
    /// **Errors**: a snapshot that is not of all agents; the hub's.
    pub fn new(
        hub: &'h dyn Hub,
        task: &Task,
        context: &Arc<C::Context>,
        snapshot: Option<&mut Snapshot<C::State>>,
        progress: &'h dyn Progress,
    ) -> Result<Self, DriverError> {
        let lots = lots(C::enrolled(context));
        let snapshots = match snapshot {
            Some(whole) => {
                let parts = cut(whole, &lots)?;
                let encoded: Result<Vec<_>, _> = parts.iter().map(encode).collect();
                Some(encoded?)
            }
            None => None,
        };
        hub.begin(task, &lots, snapshots)
            .map_err(RemoteError::from)?;
        Ok(Remote {
            hub,
            context: context.clone(),
            lots,
            progress,
            group: PhantomData,
        })
    }
}

impl<C: Travels> Collective<C> for Remote<'_, C> {
    type Error = DriverError;

    async fn round(&mut self, order: C::Order) -> Result<Vec<Partial>, DriverError> {
        let of = C::enrolled(&self.context);
        let encoded: EncodedOrder = C::write(&order, &self.lots)?;
        let answers = self.hub.round(encoded, &mut |heard: &Heard| {
            let done = heard.done;
            let step = C::step(&self.context, &order, Stage::Agents { done, of });
            self.progress.awaits(&step, &heard.awaited);
        });
        let answers = answers.map_err(RemoteError::from)?;
        let mut partials = Vec::new();
        for answer in answers {
            partials.extend(answered(&answer)?);
        }
        let found: u64 = partials
            .iter()
            .map(|partial: &Partial| partial.agents.len() as u64)
            .sum();
        if found == u64::from(of) {
            Ok(partials)
        } else {
            Err(RemoteError::Agents {
                found,
                expected: of,
            }
            .into())
        }
    }

    async fn snapshot(&mut self) -> Result<Snapshots<'_, C::State>, DriverError> {
        let snapshots = self.hub.snapshot().map_err(RemoteError::from)?;
        let read = snapshots
            .iter()
            .map(|bytes| decode("a snapshot", bytes))
            .collect::<Result<_, RemoteError>>();
        Ok(Snapshots::own(read?))
    }
}

/// How many observations agents in these states have made.
fn observations<S: State>(states: &[S]) -> usize {
    states
        .iter()
        .map(|state| state.observations() as usize)
        .sum()
}

/// Cuts the snapshot of all agents at the edges of lots.
///
/// **Errors**: [`DriverError::Snapshot`] with the first agent that it does not hold.
fn cut<S: State>(
    whole: &Snapshot<S>,
    lots: &[Range<u32>],
) -> Result<Vec<Snapshot<S>>, DriverError> {
    // Every observation is a pair of numbers of one format.
    let width = match observations(&whole.states) {
        0 => 0,
        all if whole.logs.len().is_multiple_of(all) => whole.logs.len() / all,
        _ => return Err(DriverError::Snapshot { agent: whole.first }),
    };
    let mut parts = Vec::with_capacity(lots.len());
    let mut logs = &whole.logs[..];
    for lot in lots {
        let range = lot
            .start
            .checked_sub(whole.first)
            .zip(lot.end.checked_sub(whole.first))
            .map(|(start, end)| start as usize..end as usize)
            .ok_or(DriverError::Snapshot { agent: lot.start })?;
        let held = whole.states.len().min(whole.best.len()) as u32;
        let agent = whole.first.saturating_add(held);
        let states = whole
            .states
            .get(range.clone())
            .ok_or(DriverError::Snapshot { agent })?;
        let best = whole
            .best
            .get(range)
            .ok_or(DriverError::Snapshot { agent })?;
        let (own, rest) = logs
            .split_at_checked(width * observations(states))
            .ok_or(DriverError::Snapshot { agent: lot.start })?;
        logs = rest;
        parts.push(Snapshot {
            first: lot.start,
            states: states.to_vec(),
            logs: own.to_vec(),
            best: best.to_vec(),
            late: whole
                .late
                .iter()
                .filter(|(agent, _)| lot.contains(agent))
                .cloned()
                .collect(),
        });
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_are_all_agents_and_whole_blocks_if_there_are_many() {
        for agents in [
            1,
            2,
            15,
            16,
            17,
            200,
            1024,
            15 * 1024,
            15 * 1024 + 1,
            100_000,
            1_000_000,
            100_000_000,
        ] {
            let lots = lots(agents);
            assert_eq!(
                (lots[0].start, lots[lots.len() - 1].end),
                (0, agents),
                "{agents}"
            );
            assert!(
                lots.windows(2).all(|pair| pair[0].end == pair[1].start)
                    && lots.iter().all(|lot| !lot.is_empty())
            );
            assert!(lots.len() as u32 <= LOTS_MAX);
            if agents.div_ceil(BLOCK) >= BLOCKS_MIN {
                assert!(lots.iter().all(|lot| lot.start % BLOCK == 0), "{agents}");
            }
        }
        assert_eq!(lots(100_000).len(), 98);
        assert_eq!(lots(5), [0..1, 1..2, 2..3, 3..4, 4..5]);
    }

    #[test]
    fn code_and_programs_of_the_callers_stay() {
        let named = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
            let scenario = sordino_experiment::scenario::Shipped::find("default")
                .unwrap()
                .parse(&settings)
                .unwrap();
            may_travel(&scenario).map_err(|error| error.to_string())
        };
        assert_eq!(named(&[]), Ok(()));
        let refused = named(&["faults.trace=\"away.csv\""]).unwrap_err();
        assert!(
            refused.contains("away.csv") && refused.contains("faults.trace"),
            "{refused}"
        );
    }
}
