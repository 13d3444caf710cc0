//! Who holds which agents, and what must be asked next: a state machine without a clock or a
//! network.
//!
//! A federation is cut into lots of agents. A lot has a holder, or is looking for one; a new holder
//! gets its last snapshot and the orders since, and is then in the state of the lost holder, to the
//! bit. The snapshots and these orders are all that a plan remembers; the server's state and ledger
//! are elsewhere.
//!
//! | what happens | what follows |
//! |---|---|
//! | a worker joins | [`Plan::asks`]: scenario, task; then lots that look for a holder, or at the next round a fair part of all |
//! | a worker is lost | its lots look for a holder; its answers so far still count |
//! | an order | every lot once; all answers, some of them from workers that took over |
//! | a snapshot of all | the orders before it are forgotten |

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::ops::Range;

use sordino_engine::hub::{EncodedOrder, Task};

use crate::message::{Answer, Ask, Lot, State, Told};

/// The most agents in one question about snapshots, so that no message grows with the federation.
const AGENTS_AT_ONCE: u32 = 1 << 16;

/// A worker as the network names it.
pub type Name = String;

/// What was asked of a worker and not answered yet.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    Scenario,
    Task,
    /// Lots, and how many orders they will have taken.
    Hold(Vec<usize>, usize),
    Order(Vec<usize>),
    Snapshot(Vec<usize>),
    Give(Vec<usize>),
    /// Something about a task that is over; the answer is ignored.
    Past,
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    New,
    Scenario,
    Ready,
}

struct Member {
    stage: Stage,
    /// With the number of the question.
    asked: Option<(u64, Asked)>,
    state: State,
}

impl Member {
    /// Threads that it computes with, at least one.
    fn threads(&self) -> usize {
        self.state.threads.max(1) as usize
    }
}

/// One lot: where it is, how far it has come.
struct Place {
    agents: Range<u32>,
    holder: Option<Name>,
    /// Whether the holder has it, rather than being told to take it.
    held: bool,
    /// Whether a holder was lost since somebody had it.
    missed: bool,
    /// Orders since the snapshots that the holder has taken it through.
    taken: usize,
    answered: bool,
    /// What it was after `taken` orders: on its way from one holder to another, or to be the next
    /// snapshot.
    carried: Option<Vec<u8>>,
    snapshot: Option<Vec<u8>>,
}

/// What the plan works towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// All lots through all orders.
    Orders,
    /// Lots are where they belong.
    Even,
    /// A snapshot of every lot.
    Snapshots,
}

/// A fault that no other worker can mend.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A worker cannot do what it was asked, and would not be able to a second time.
    #[error("worker {worker}: {why}")]
    Cannot {
        /// Machine and process.
        worker: String,
        /// Its reason, in words.
        why: String,
    },
    /// Its answer does not fit the question.
    #[error("worker {worker} answered what it was not asked")]
    Confused {
        /// Machine and process.
        worker: String,
    },
}

/// What an answer changed, besides what is asked next.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Nothing to tell.
    Nothing,
    /// The worker is there, with the scenario taken up.
    Joined,
    /// It has taken over these lots after a loss, agents in all.
    TookOver(u32),
    /// It must start over.
    Afresh,
    /// It has other data or another program, as it says, and takes no part.
    Other(String),
}

/// Lots, workers, orders since the last snapshots. It does not print: orders and snapshots hold
/// secrets of the run.
pub struct Plan {
    task: Option<Task>,
    scenario: Ask,
    lots: Vec<Place>,
    orders: Vec<EncodedOrder>,
    members: BTreeMap<Name, Member>,
    /// Workers that take no part, until they are lost.
    refused: BTreeSet<Name>,
    answers: Vec<Vec<u8>>,
    goal: Goal,
    questions: u64,
}

impl Plan {
    /// Without a task; `scenario` is what every worker is asked first.
    pub fn new(scenario: Ask) -> Self {
        Plan {
            task: None,
            scenario,
            lots: Vec::new(),
            orders: Vec::new(),
            members: BTreeMap::new(),
            refused: BTreeSet::new(),
            answers: Vec::new(),
            goal: Goal::Even,
            questions: 0,
        }
    }

    /// Begins a task with these lots, fresh or as in their snapshots; the goal is that all are
    /// held.
    pub fn begin(&mut self, task: Task, lots: &[Range<u32>], snapshots: Option<Vec<Vec<u8>>>) {
        let mut snapshots = snapshots.map(Vec::into_iter);
        self.lots = lots
            .iter()
            .map(|agents| Place {
                agents: agents.clone(),
                holder: None,
                held: false,
                missed: false,
                taken: 0,
                answered: true,
                carried: None,
                snapshot: snapshots.as_mut().and_then(Iterator::next),
            })
            .collect();
        self.orders.clear();
        self.answers.clear();
        (self.task, self.goal) = (Some(task), Goal::Even);
        for member in self
            .members
            .values_mut()
            .filter(|member| member.stage > Stage::New)
        {
            member.stage = Stage::Scenario;
            member.asked = member.asked.take().map(|(number, _)| (number, Asked::Past));
        }
    }

    /// An order for all lots.
    pub fn order(&mut self, encoded: EncodedOrder) {
        self.orders.push(encoded);
        self.answers.clear();
        self.lots.iter_mut().for_each(|lot| lot.answered = false);
        self.goal = Goal::Orders;
    }

    /// Lots are to be where they belong, before the next order.
    pub fn even_out(&mut self) {
        self.goal = Goal::Even;
    }

    /// Snapshots of all lots are to be taken.
    pub fn take_snapshots(&mut self) {
        self.lots.iter_mut().for_each(|lot| lot.carried = None);
        self.goal = Goal::Snapshots;
    }

    /// Whether the goal is reached.
    pub fn is_reached(&self) -> bool {
        match self.goal {
            Goal::Orders => self.lots.iter().all(|lot| lot.answered),
            Goal::Even => self.all_are_held() && self.moves().is_empty() && !self.is_moving(),
            Goal::Snapshots => self
                .lots
                .iter()
                .all(|lot| lot.held && lot.carried.is_some()),
        }
    }

    fn is_moving(&self) -> bool {
        self.members
            .values()
            .any(|member| matches!(member.asked, Some((_, Asked::Give(_)))))
    }

    /// The answers to the last order.
    pub fn answers(&mut self) -> Vec<Vec<u8>> {
        take(&mut self.answers)
    }

    /// The snapshots of all lots; they replace the older ones, and the orders before them are
    /// forgotten.
    pub fn snapshots(&mut self) -> Vec<Vec<u8>> {
        self.orders.clear();
        for lot in &mut self.lots {
            (lot.snapshot, lot.taken) = (lot.carried.take(), 0);
        }
        self.lots
            .iter()
            .filter_map(|lot| lot.snapshot.clone())
            .collect()
    }

    /// A worker is there. One that is there already has begun afresh.
    pub fn joined(&mut self, name: &str) {
        self.lost(name);
        self.members.insert(
            name.to_owned(),
            Member {
                stage: Stage::New,
                asked: None,
                state: State::default(),
            },
        );
    }

    /// A worker is not there any more; whether it took part.
    pub fn lost(&mut self, name: &str) -> bool {
        for lot in self
            .lots
            .iter_mut()
            .filter(|lot| lot.holder.as_deref() == Some(name))
        {
            (lot.holder, lot.missed) = (None, lot.missed || lot.held);
            lot.held = false;
            if lot.carried.is_none() {
                lot.taken = 0;
            }
        }
        self.refused.remove(name);
        self.members.remove(name).is_some()
    }

    /// Workers that have the scenario.
    pub fn workers(&self) -> impl Iterator<Item = (&Name, &State)> {
        let there = self
            .members
            .iter()
            .filter(|(_, member)| member.stage > Stage::New);
        there.map(|(name, member)| (name, &member.state))
    }

    /// How people know a worker.
    pub fn called(&self, name: &str) -> String {
        let state = self
            .members
            .get(name)
            .map(|member| member.state.name.as_str());
        state
            .filter(|called| !called.is_empty())
            .unwrap_or(name)
            .to_owned()
    }

    /// Agents whose lots have answered the last order.
    pub fn done(&self) -> u32 {
        self.lots
            .iter()
            .filter(|lot| lot.answered)
            .map(|lot| lot.agents.end - lot.agents.start)
            .sum()
    }

    /// Agents of the lots that begin with these.
    pub fn agents_of(&self, firsts: impl Iterator<Item = u32>) -> u64 {
        let firsts: BTreeSet<u32> = firsts.collect();
        let own = self
            .lots
            .iter()
            .map(|lot| &lot.agents)
            .filter(|agents| firsts.contains(&agents.start));
        own.map(|agents| u64::from(agents.end - agents.start)).sum()
    }

    /// Agents that a worker has.
    pub fn agents_held(&self, name: &str) -> u32 {
        self.held_by(name)
            .into_iter()
            .map(|i| self.lots[i].agents.end - self.lots[i].agents.start)
            .sum()
    }

    /// Whether every lot has a holder that has it.
    pub fn all_are_held(&self) -> bool {
        self.lots.iter().all(|lot| lot.held)
    }

    /// Whether a task has begun.
    pub fn has_task(&self) -> bool {
        self.task.is_some()
    }

    /// Whether this question to a worker has no answer yet.
    pub fn awaits(&self, name: &str, number: u64) -> bool {
        let asked = self
            .members
            .get(name)
            .and_then(|member| member.asked.as_ref());
        asked.is_some_and(|(asked, _)| *asked == number)
    }

    /// Which workers are awaited, in words.
    pub fn awaited(&self) -> String {
        if self.workers().next().is_none() {
            return "a worker to join".to_owned();
        }
        let behind = self.lots.iter().filter(|lot| !lot.answered || !lot.held);
        let holders: BTreeSet<&str> = behind
            .clone()
            .filter_map(|lot| lot.holder.as_deref())
            .collect();
        let named: Vec<String> = holders
            .iter()
            .take(3)
            .map(|name| self.called(name))
            .collect();
        match (
            holders.len(),
            behind.filter(|lot| lot.holder.is_none()).count(),
        ) {
            (0, 0) => "nobody".to_owned(),
            (0, lots) => format!("a holder of {lots} lots"),
            (1, _) => format!("worker {}", named.join("")),
            (count, _) if count > named.len() => {
                format!("{count} workers, {} among them", named.join(", "))
            }
            _ => format!("workers {}", named.join(", ")),
        }
    }

    /// What to ask now of workers that have nothing else to answer.
    pub fn asks(&mut self) -> Vec<(Name, u64, Ask)> {
        self.place();
        let mut asks = Vec::new();
        let names: Vec<Name> = self.idle().cloned().collect();
        let moves = if self.goal == Goal::Even {
            self.moves()
        } else {
            BTreeMap::new()
        };
        for name in names {
            if let Some((asked, ask)) = self.next(&name, &moves)
                && let Some(member) = self.members.get_mut(&name)
            {
                self.questions += 1;
                member.asked = Some((self.questions, asked));
                asks.push((name, self.questions, ask));
            }
        }
        asks
    }

    fn idle(&self) -> impl Iterator<Item = &Name> {
        let idle = self
            .members
            .iter()
            .filter(|(name, member)| member.asked.is_none() && !self.refused.contains(*name));
        idle.map(|(name, _)| name)
    }

    fn next(&self, name: &str, moves: &BTreeMap<Name, Vec<usize>>) -> Option<(Asked, Ask)> {
        match self.members.get(name)?.stage {
            Stage::New => return Some((Asked::Scenario, self.scenario.clone())),
            Stage::Scenario => return self.task.clone().map(|task| (Asked::Task, Ask::Task(task))),
            Stage::Ready => {}
        }
        let own =
            || (0..self.lots.len()).filter(move |i| self.lots[*i].holder.as_deref() == Some(name));
        if let Some(first) = own().find(|i| !self.lots[*i].held) {
            // One question takes up those that have come equally far.
            let goal = |i: usize| self.orders.len() - usize::from(!self.lots[i].answered);
            let key = |i: usize| (self.lots[i].taken, goal(i));
            let taken = self.few(own().filter(|i| !self.lots[*i].held && key(*i) == key(first)));
            return Some((
                Asked::Hold(taken.clone(), goal(first)),
                self.hold(&taken, goal(first)),
            ));
        }
        match self.goal {
            Goal::Orders => {
                let open: Vec<usize> = own().filter(|i| !self.lots[*i].answered).collect();
                let order = (!open.is_empty()).then(|| self.orders.len() - 1)?;
                let told = self.told(order, &open);
                Some((Asked::Order(open), Ask::Order(told)))
            }
            Goal::Even => {
                let lots = self.few(moves.get(name)?.iter().copied());
                let ask = Ask::Give(self.firsts(&lots));
                Some((Asked::Give(lots), ask))
            }
            Goal::Snapshots => {
                let lots = self.few(own().filter(|i| self.lots[*i].carried.is_none()));
                let ask = Ask::Snapshot(self.firsts(&lots));
                (!lots.is_empty()).then_some((Asked::Snapshot(lots), ask))
            }
        }
    }

    /// The first agents of lots.
    fn firsts(&self, lots: &[usize]) -> Vec<u32> {
        lots.iter().map(|i| self.lots[*i].agents.start).collect()
    }

    /// The first of them, of not too many agents.
    fn few(&self, lots: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut agents = 0;
        lots.take_while(|i| {
            let more = agents < AGENTS_AT_ONCE;
            agents += self.lots[*i].agents.len() as u32;
            more
        })
        .collect()
    }

    fn told(&self, order: usize, lots: &[usize]) -> Told {
        let encoded = &self.orders[order];
        Told {
            common: encoded.common.clone(),
            parts: lots
                .iter()
                .map(|i| (self.lots[*i].agents.start, encoded.parts[*i].clone()))
                .collect(),
        }
    }

    /// Lots that have come equally far, and the orders up to `until` that they have missed.
    fn hold(&self, lots: &[usize], until: usize) -> Ask {
        let from = lots.first().map_or(until, |i| self.lots[*i].taken);
        let held = lots.iter().map(|i| {
            let Place {
                agents,
                carried,
                snapshot,
                ..
            } = &self.lots[*i];
            Lot {
                agents: agents.clone(),
                snapshot: carried.clone().or_else(|| snapshot.clone()),
            }
        });
        Ask::Hold {
            lots: held.collect(),
            orders: (from..until).map(|order| self.told(order, lots)).collect(),
        }
    }

    /// What a worker answered.
    ///
    /// **Errors**: [`PlanError`], after which the run cannot go on.
    pub fn answered(
        &mut self,
        name: &str,
        number: u64,
        state: State,
        answer: Answer,
    ) -> Result<News, PlanError> {
        let Some(member) = self.members.get_mut(name) else {
            return Ok(News::Nothing);
        };
        let Some((_, asked)) = member.asked.take_if(|(asked, _)| *asked == number) else {
            return Ok(News::Nothing);
        };
        member.state = state;
        let worker = member.state.name.clone();
        match (asked, answer) {
            (_, Answer::Cannot(why)) => return Err(PlanError::Cannot { worker, why }),
            (_, Answer::Other(why)) => {
                self.refused.insert(name.to_owned());
                return Ok(News::Other(why));
            }
            (_, Answer::Afresh) => {
                self.joined(name);
                return Ok(News::Afresh);
            }
            (Asked::Scenario, Answer::Yes) => {
                member.stage = Stage::Scenario;
                return Ok(News::Joined);
            }
            (Asked::Past, _) => {}
            (Asked::Task, Answer::Yes) => member.stage = Stage::Ready,
            (Asked::Hold(lots, taken), Answer::Yes) => return Ok(self.has_taken(&lots, taken)),
            (Asked::Order(lots), Answer::Partials(bytes)) => {
                for i in lots {
                    (self.lots[i].answered, self.lots[i].taken) = (true, self.orders.len());
                }
                self.answers.push(bytes);
            }
            (Asked::Snapshot(lots), Answer::Snapshots(bytes)) if lots.len() == bytes.len() => {
                lots.iter()
                    .zip(bytes)
                    .for_each(|(i, bytes)| self.lots[*i].carried = Some(bytes));
            }
            (Asked::Give(lots), Answer::Snapshots(bytes)) if lots.len() == bytes.len() => {
                for (i, bytes) in lots.into_iter().zip(bytes) {
                    let lot = &mut self.lots[i];
                    (lot.carried, lot.holder, lot.held) = (Some(bytes), None, false);
                }
            }
            _ => return Err(PlanError::Confused { worker }),
        }
        Ok(News::Nothing)
    }

    fn has_taken(&mut self, lots: &[usize], taken: usize) -> News {
        let mut again = 0;
        for i in lots {
            let lot = &mut self.lots[*i];
            if take(&mut lot.missed) {
                again += lot.agents.end - lot.agents.start;
            }
            (lot.held, lot.taken) = (true, taken);
            if self.goal != Goal::Snapshots {
                lot.carried = None;
            }
        }
        if again == 0 {
            News::Nothing
        } else {
            News::TookOver(again)
        }
    }
}

mod fair;
#[cfg(test)]
mod tests;
