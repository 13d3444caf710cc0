//! The head: the plan over the link, as a hub of the simulator. It computes for no agent.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_engine::hub::{EncodedOrder, Heard, Hub, HubError, Task};
use sordino_experiment::progress::log::{self, Line, Log};

use crate::link::{Event, HeadLink, LinkError};
use crate::message::{Answer, Ask, MessageError, Question, Reply, State, decode, encode};
use crate::plan::{News, Plan, PlanError};

/// Between two looks whether somebody asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two lines about who is awaited before a run begins, and about each worker.
const SAY_EVERY: Duration = Duration::from_secs(5);
/// How long workers are given to hear that the run is complete.
const FAREWELL: Duration = Duration::from_secs(2);
/// Before a worker is asked again that is there and did not answer.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// What the head begins with.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Where it listens, such as `tcp/0.0.0.0:7447`.
    pub listen: String,
    /// How many workers it waits for before the first order.
    pub workers: u32,
    /// The scenario with every key written out.
    pub scenario: String,
    /// Digest of program version, scenario and data.
    pub identity: [u8; 32],
}

/// Why a head gave up.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// The network, or its address.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// What arrived is no message of this version.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A worker failed in a way that every other worker would.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<HeadError> for HubError {
    fn from(error: HeadError) -> Self {
        match error {
            HeadError::Interrupted => HubError::Interrupted,
            error => HubError::Failed(Box::new(error)),
        }
    }
}

/// Bytes on the network, in messages, without what zenoh and TCP add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the head, without broadcasts.
    pub down: u64,
    /// From the head, the part that is the same for every worker.
    pub broadcast: u64,
    /// Bytes of answers, to the head.
    pub up: u64,
    /// Steps of agents: each one agent in one order.
    pub steps: u64,
}

/// A head that listens. When it is dropped, its workers notice and wait for the next.
pub struct Head {
    terms: Terms,
    stop: Arc<AtomicBool>,
    inner: Mutex<Inner>,
}

struct Inner {
    mark: u64,
    link: HeadLink,
    plan: Plan,
    traffic: Traffic,
    /// Workers whose lots are being taken over, and since when.
    lost: Option<(String, Instant)>,
    recoveries: Vec<Duration>,
    said: Instant,
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("listen", &self.terms.listen)
            .finish_non_exhaustive()
    }
}

impl Head {
    /// Listens. `stop` ends the wait for workers that do not come.
    ///
    /// **Errors**: [`HeadError::Link`].
    pub fn listen(terms: Terms, stop: Arc<AtomicBool>) -> Result<Self, HeadError> {
        let link = HeadLink::listen(&terms.listen)?;
        log::note(&format!("listening at {}", terms.listen));
        let plan = Plan::new(Ask::Scenario {
            text: terms.scenario.clone(),
            identity: terms.identity,
        });
        // Any number that another head of the same run does not have.
        let mark = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |now| now.as_nanos() as u64);
        let traffic = Traffic::default();
        let now = Instant::now();
        let inner = Inner {
            mark,
            link,
            plan,
            traffic,
            lost: None,
            recoveries: Vec::new(),
            said: now,
        };
        Ok(Head {
            terms,
            stop,
            inner: Mutex::new(inner),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all workers that the run is complete, and prints what each has done.
    ///
    /// **Errors**: the network's.
    pub fn farewell(&self) -> Result<(), HeadError> {
        let inner = self.inner();
        inner.say_workers("worker_done");
        let Inner {
            traffic,
            recoveries,
            ..
        } = &*inner;
        let [down, up] = [traffic.down, traffic.up]
            .map(|bytes| bytes as f64 / (traffic.steps.max(1) as f64 / 1024.0));
        log::note(&format!(
            "{down:.0} bytes down and {up:.0} up for 1,024 agents and order, {} bytes of broadcasts; {} losses made good{}",
            traffic.broadcast,
            recoveries.len(),
            recoveries
                .iter()
                .max()
                .map_or(String::new(), |most| format!(
                    " in at most {} ms",
                    most.as_millis()
                )),
        ));
        let end = Instant::now() + FAREWELL;
        let bytes = encode(&Question {
            head: inner.mark,
            ask: Ask::Done,
        })?;
        let mut open: BTreeSet<String> =
            inner.plan.workers().map(|(name, _)| name.clone()).collect();
        for name in &open {
            inner.link.ask(name, 0, bytes.clone())?;
        }
        while !open.is_empty() && Instant::now() < end {
            if let Some(Event::Over(name, 0) | Event::Lost(name)) = inner.link.hear(LOOK_EVERY) {
                open.remove(&name);
            }
        }
        Ok(())
    }
}

impl Inner {
    /// Asks and hears until the plan has reached its goal.
    fn pump(&mut self, stop: &AtomicBool, mut tell: impl FnMut(&Plan)) -> Result<(), HeadError> {
        while !self.plan.is_reached() {
            self.ask()?;
            tell(&self.plan);
            if stop.load(Ordering::Relaxed) && self.plan.workers().next().is_none() {
                return Err(HeadError::Interrupted);
            }
            if let Some(event) = self.link.hear(LOOK_EVERY) {
                self.heard(event)?;
            }
            self.say_now_and_then();
        }
        Ok(())
    }

    fn ask(&mut self) -> Result<(), HeadError> {
        for (name, number, ask) in self.plan.asks() {
            let shared = match &ask {
                Ask::Order(told) => told.common.len(),
                _ => 0,
            };
            self.traffic.steps += match &ask {
                Ask::Order(told) => self
                    .plan
                    .agents_of(told.parts.iter().map(|(first, _)| *first)),
                _ => 0,
            };
            let counts = matches!(ask, Ask::Order(_));
            let bytes = encode(&Question {
                head: self.mark,
                ask,
            })?;
            if counts {
                self.traffic.broadcast += shared as u64;
                self.traffic.down += (bytes.len() - shared) as u64;
            }
            self.link.ask(&name, number, bytes)?;
        }
        Ok(())
    }

    fn heard(&mut self, event: Event) -> Result<(), HeadError> {
        match event {
            Event::Joined(name) => self.plan.joined(&name),
            Event::Lost(name) => self.lose(&name),
            Event::Answered(name, number, bytes) => {
                let Reply { state, answer } = decode(&bytes)?;
                if matches!(answer, Answer::Partials(_)) {
                    self.traffic.up += bytes.len() as u64;
                }
                self.answered(&name, number, state, answer)?;
            }
            Event::Over(name, number) => {
                // It is there and did not answer: it was not reached, and begins afresh.
                if self.plan.awaits(&name, number) {
                    std::thread::sleep(ASK_AGAIN_AFTER);
                    self.lose(&name);
                    self.plan.joined(&name);
                }
            }
        }
        Ok(())
    }

    fn lose(&mut self, name: &str) {
        let called = self.plan.called(name);
        let agents = self.plan.agents_held(name);
        if self.plan.lost(name) {
            if agents > 0 {
                self.lost.get_or_insert((called.clone(), Instant::now()));
            }
            say(
                "worker_lost",
                &called,
                Some(agents),
                None,
                &format!("worker {called} is lost with {agents} agents"),
            );
        }
    }

    fn answered(
        &mut self,
        name: &str,
        number: u64,
        state: State,
        answer: Answer,
    ) -> Result<(), HeadError> {
        let news = self.plan.answered(name, number, state, answer)?;
        let called = self.plan.called(name);
        match news {
            News::Nothing => {}
            News::Joined => {
                let threads = self
                    .plan
                    .workers()
                    .find(|(own, _)| *own == name)
                    .map_or(0, |(_, state)| state.threads);
                say(
                    "worker_joined",
                    &called,
                    None,
                    None,
                    &format!("worker {called} joined with {threads} threads"),
                );
            }
            News::Afresh => log::note(&format!("worker {called} starts over")),
            News::Other(why) => log::note(&format!("worker {called} takes no part: {why}")),
            News::TookOver(agents) => {
                let text = format!("worker {called} took over {agents} agents");
                say("worker_took_over", &called, Some(agents), None, &text);
            }
        }
        if self.plan.all_are_held()
            && let Some((who, since)) = self.lost.take()
        {
            let took = since.elapsed();
            self.recoveries.push(took);
            log::note(&format!(
                "the loss of worker {who} was made good in {} ms",
                took.as_millis()
            ));
        }
        Ok(())
    }

    fn say_now_and_then(&mut self) {
        if self.said.elapsed() >= SAY_EVERY {
            self.said = Instant::now();
            if Log::chosen() == Log::Json {
                self.say_workers("worker");
            }
        }
    }

    fn say_workers(&self, event: &str) {
        for (_, state) in self.plan.workers() {
            let rate = if state.busy > 0.0 {
                state.steps as f64 / state.busy
            } else {
                0.0
            };
            let memory = state.memory.map_or(String::new(), |(now, most)| {
                let [now, most] = [now, most].map(|bytes| bytes as f64 / 1_048_576.0);
                format!(", {now:.0} MiB in use, {most:.0} at most")
            });
            let text = format!(
                "worker {}: {} agents, {rate:.0} steps a second{memory}",
                state.name, state.agents
            );
            say(
                event,
                &state.name,
                Some(state.agents),
                Some((rate, state.memory)),
                &text,
            );
        }
    }
}

/// A line about a worker: for people its text, for programs its fields.
fn say(
    event: &str,
    worker: &str,
    agents: Option<u32>,
    work: Option<(f64, Option<(u64, u64)>)>,
    text: &str,
) {
    match Log::chosen() {
        Log::Text => log::note(text),
        Log::Json => Line {
            event,
            worker: Some(worker),
            agents,
            rate: work.map(|(rate, _)| rate.round()),
            memory_bytes: work.and_then(|(_, memory)| memory).map(|(now, _)| now),
            message: Some(text),
            ..Line::default()
        }
        .write(),
    }
}

impl Hub for Head {
    fn begin(
        &self,
        task: &Task,
        lots: &[Range<u32>],
        snapshots: Option<Vec<Vec<u8>>>,
    ) -> Result<(), HubError> {
        let mut inner = self.inner();
        let mut said = None::<(usize, Instant)>;
        loop {
            let there = inner.plan.workers().count();
            if there as u32 >= self.terms.workers || inner.plan.has_task() && there > 0 {
                break;
            }
            if said.is_none_or(|(count, at)| count != there || at.elapsed() >= SAY_EVERY) {
                said = Some((there, Instant::now()));
                let all = self.terms.workers;
                let listen = &self.terms.listen;
                log::note(&format!(
                    "waiting for workers at {listen}: {there} of {all} are there"
                ));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(HubError::Interrupted);
            }
            inner.ask()?;
            if let Some(event) = inner.link.hear(LOOK_EVERY) {
                inner.heard(event)?;
            }
        }
        inner.plan.begin(task.clone(), lots, snapshots);
        Ok(inner.pump(&self.stop, |_| ())?)
    }

    fn round(
        &self,
        encoded: EncodedOrder,
        tell: &mut dyn FnMut(&Heard),
    ) -> Result<Vec<Vec<u8>>, HubError> {
        let mut inner = self.inner();
        // Who has joined meanwhile is heard now.
        while let Some(event) = inner.link.hear(Duration::ZERO) {
            inner.heard(event)?;
        }
        inner.plan.even_out();
        inner.pump(&self.stop, |_| ())?;
        inner.plan.order(encoded);
        let mut last = None;
        inner.pump(&self.stop, |plan| {
            let now = Heard {
                done: plan.done(),
                awaited: plan.awaited(),
            };
            if last.as_ref() != Some(&now) {
                tell(&now);
                last = Some(now);
            }
        })?;
        Ok(inner.plan.answers())
    }

    fn snapshot(&self) -> Result<Vec<Vec<u8>>, HubError> {
        let mut inner = self.inner();
        inner.plan.take_snapshots();
        inner.pump(&self.stop, |_| ())?;
        Ok(inner.plan.snapshots())
    }
}
