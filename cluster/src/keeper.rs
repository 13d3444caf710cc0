//! A worker without a network: it holds lots of agents for a head, and carries out orders on them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use rayon::ThreadPool;
use sordino_engine::federated::DriverError;
use sordino_engine::federated::held::{HeldAgents, Site, with_site};
use sordino_experiment::journal;
use sordino_experiment::scenario::Scenario;
use sordino_experiment::text::chain;

use crate::message::{Answer, Ask, Lot, Question, Reply, State, Told};

/// What a worker holds, and what it says about itself.
pub struct Keeper<'s> {
    site: &'s dyn Site,
    pool: &'s ThreadPool,
    head: u64,
    held: Option<Box<dyn HeldAgents>>,
    /// Number of agents of each lot, by its first.
    lots: BTreeMap<u32, u32>,
    state: State,
}

/// What a worker does after it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It waits for the next question.
    Listen,
    /// The question is one for a worker without a scenario: it is to be asked again.
    Afresh,
    /// The run is complete.
    End,
}

/// Whether a question is the first of a run: the scenario's text, and the answer if this worker
/// cannot take part.
///
/// **Errors**: why not, in words: another version, other data, a scenario that this program does
/// not read.
pub fn takes_part(
    text: &str,
    identity: &[u8; 32],
    data: Option<&Path>,
) -> Result<Scenario, String> {
    let own = journal::head(text, data).map_err(|error| chain(&error))?;
    if own.0 != *identity {
        return Err(format!(
            "its scenario, data (--data) or version of the program ({}) are not those of the head",
            env!("CARGO_PKG_VERSION")
        ));
    }
    let scenario =
        Scenario::parse("the head's scenario", text, &[]).map_err(|error| chain(&error))?;
    if scenario.resolved() == text {
        Ok(scenario)
    } else {
        Err("it reads the head's scenario as another one".into())
    }
}

/// Answers the questions about one scenario: `serve` is given a keeper and gets the next questions
/// from the network.
///
/// **Errors**: a scenario that cannot be opened here, in words.
pub fn with_keeper<R>(
    scenario: &Scenario,
    data: Option<&Path>,
    head: u64,
    (pool, state): (&ThreadPool, State),
    serve: impl FnOnce(Keeper<'_>) -> R,
) -> Result<R, String> {
    with_site(scenario, data, |site| {
        serve(Keeper {
            site,
            pool,
            head,
            held: None,
            lots: BTreeMap::new(),
            state,
        })
    })
    .map_err(|error| chain(&error))
}

impl Keeper<'_> {
    /// What this worker says about itself.
    pub fn state(&self) -> State {
        let memory = memory();
        State {
            agents: self.held.as_ref().map_or(0, |held| held.agents()),
            memory,
            ..self.state.clone()
        }
    }

    /// Takes a question.
    pub fn take(&mut self, question: &Question) -> (Reply, Next) {
        let (answer, next) = match &question.ask {
            Ask::Done => (Answer::Yes, Next::End),
            // Only the worker without a scenario opens one.
            Ask::Scenario { .. } => (Answer::Afresh, Next::Afresh),
            _ if question.head != self.head => (Answer::Afresh, Next::Listen),
            ask => (self.answer(ask), Next::Listen),
        };
        (
            Reply {
                state: self.state(),
                answer,
            },
            next,
        )
    }

    fn answer(&mut self, ask: &Ask) -> Answer {
        let answer = match ask {
            Ask::Task(task) => {
                self.lots.clear();
                self.site.open(task).map(|held| {
                    self.held = Some(held);
                    Answer::Yes
                })
            }
            Ask::Hold { lots, orders } => self.hold(lots, orders),
            Ask::Order(told) => self.advance(told).map(Answer::Partials),
            Ask::Snapshot(firsts) | Ask::Give(firsts) if !self.holds(firsts) => {
                return Answer::Afresh;
            }
            Ask::Snapshot(firsts) => self.snapshots(firsts),
            Ask::Give(firsts) => self.snapshots(firsts).inspect(|_| {
                for first in firsts {
                    self.lots.remove(first);
                    self.held.iter_mut().for_each(|held| held.leave(*first));
                }
            }),
            Ask::Scenario { .. } | Ask::Done => return Answer::Afresh,
        };
        match answer {
            Ok(answer) => answer,
            Err(DriverError::Snapshot { .. }) => Answer::Afresh,
            Err(error) => Answer::Cannot(chain(&error)),
        }
    }

    fn holds(&self, firsts: &[u32]) -> bool {
        self.held.is_some() && firsts.iter().all(|first| self.lots.contains_key(first))
    }

    fn hold(&mut self, lots: &[Lot], orders: &[Told]) -> Result<Answer, DriverError> {
        let Some(held) = &mut self.held else {
            return Ok(Answer::Afresh);
        };
        for lot in lots {
            held.hold(lot.agents.clone(), lot.snapshot.as_deref())?;
            self.lots
                .insert(lot.agents.start, lot.agents.end - lot.agents.start);
        }
        // What the lost holder answered has been heard, or will be asked for.
        orders
            .iter()
            .try_for_each(|told| self.advance(told).map(drop))?;
        Ok(Answer::Yes)
    }

    fn advance(&mut self, told: &Told) -> Result<Vec<u8>, DriverError> {
        let nobody = DriverError::Snapshot { agent: 0 };
        let Some(held) = &mut self.held else {
            return Err(nobody);
        };
        let parts: Vec<(u32, &[u8])> = told
            .parts
            .iter()
            .map(|(first, part)| (*first, &part[..]))
            .collect();
        let start = Instant::now();
        let answer = held.advance(&told.common, &parts, self.pool)?;
        self.state.busy += start.elapsed().as_secs_f64();
        let steps = parts
            .iter()
            .filter_map(|(first, _)| self.lots.get(first))
            .map(|count| u64::from(*count));
        self.state.steps += steps.sum::<u64>();
        Ok(answer)
    }

    fn snapshots(&self, firsts: &[u32]) -> Result<Answer, DriverError> {
        let Some(held) = &self.held else {
            return Ok(Answer::Afresh);
        };
        Ok(Answer::Snapshots(
            firsts
                .iter()
                .map(|first| held.snapshot(*first))
                .collect::<Result<_, _>>()?,
        ))
    }
}

/// The number of a line of `/proc/self/status`, in KiB.
fn kib(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Bytes of memory in use and the most there were, as Linux counts them.
pub fn memory() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some((
        kib(&status, "VmRSS:")? * 1024,
        kib(&status, "VmHWM:")? * 1024,
    ))
}
