//! A federation of the simulator over a real network: the same server, the same agents, the same functions, on
//! loopback. Its digest is the one that `sordino run` prints; that equality is the acceptance test of everything below.
//!
//! Agents compute from the published terms alone. What only a simulation knows (an agent's leaf of the transcript, its best
//! value without noise) follows each upload.

pub mod device;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sordino_core::digest::{Digest, combine};
use sordino_core::federated::exchange::{Announced, Pace};
use sordino_core::federated::{AgentState, Collector, CollectorStorage, Counters, Draws};
use sordino_core::math::Scalar;
use sordino_core::random::{RunSeed, Stream};
use sordino_host::entropy::{NoEntropy, deployment};
use sordino_sim::model::federated::DriverError;
use sordino_sim::model::federated::blocks;
use sordino_sim::model::federated::context::{MethodContext, RunContext, ScenarioContext};
use sordino_sim::model::federated::fabric::{Fabric, Order, Partial};
use sordino_sim::model::federated::lent::Snapshots;
use sordino_sim::model::federated::run::{Surroundings, run_method};
use sordino_sim::model::federated::shard::Shard;
use sordino_sim::model::federated::tally::Tally;
use sordino_sim::scenario::{Method, ScalarKind, Scenario};
use sordino_sim::world::ObjectiveError;
use sordino_sim::world::fault::FaultCounts;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::device::DeviceError;
use crate::agent::{AgentEnd, HostAgent, Query, TRAILER};
use crate::chaos;
use crate::door::{self, Counts, Door, Limits};
use crate::enrolment::Enrolment;
use crate::identity::{Identity, IdentityError, Sealer};
use crate::invitation::Invitation;
use crate::keys;
use crate::link::{Link, LinkError};
use crate::rounds::{QUEUE, Rounds, Stop};
use crate::terms::{Shared, Terms, TermsError};

/// Agents that enrol at one time.
const ENROLLING_MAX: usize = 64;
/// An agent that dies lives for at least this long,
const LIFE_MIN_MS: u64 = 1;
/// and for this much longer at most.
const LIFE_MORE_MS: u32 = 30;

/// How long a device may ask again after its last answer.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How to rehearse; none of it changes a digest.
#[derive(Clone, Debug)]
pub struct Options {
    /// Cut every connection after a few kilobytes, and delay some.
    pub chaos: bool,
    /// A round that is not complete after this long ends the rehearsal.
    pub deadline: Duration,
    /// Let agents die at any moment they wait in, and go on from their files in this folder.
    pub deaths: Option<PathBuf>,
    /// Leave agent 0 to a device, and write what the device needs into this file ([`device`]).
    pub device: Option<PathBuf>,
    /// Carry every connection over this broker.
    #[cfg(feature = "mqtt")]
    pub broker: Option<crate::bridge::Broker>,
}

impl Default for Options {
    /// All agents in this process, on a good network, ten minutes for a round.
    fn default() -> Self {
        Options {
            chaos: false,
            deadline: Duration::from_secs(600),
            deaths: None,
            device: None,
            #[cfg(feature = "mqtt")]
            broker: None,
        }
    }
}

/// What a rehearsal gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The digest, as `sordino run` prints it.
    pub digest: Digest,
    /// N, the enrolled agents.
    pub agents: u32,
    /// Frames that every agent received: T + 1.
    pub rounds: u32,
    /// Connections that were cut.
    pub cuts: u64,
    /// Uploads that had been taken before.
    pub repeated: u64,
    /// Agents that died, each time.
    pub deaths: u64,
    /// From announcement to last answer, for each round.
    pub round_times: Vec<Duration>,
}

/// Why a rehearsal has no digest.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The scenario has faults of its own: a network needs no others.
    #[error("the scenario has faults of its own; rehearse it with faults switched off")]
    Faults,
    /// The functions cannot be built.
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    /// The public number of the run.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The terms of the federation.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// A key cannot be made.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The system's entropy.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// What a device is given cannot be written.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// No listener on loopback.
    #[error("cannot listen on loopback: {0}")]
    Listen(#[source] std::io::Error),
    /// The server's side.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// An agent was not enrolled.
    #[error("agent {agent} was not enrolled: {error}")]
    Enrol {
        /// Index of the agent.
        agent: u32,
        /// Why it was not enrolled.
        #[source]
        error: LinkError,
    },
    /// An agent ended early.
    #[error("agent {agent}: {error}")]
    Agent {
        /// Index of the agent.
        agent: u32,
        /// Why it ended early.
        #[source]
        error: AgentEnd,
    },
    /// A task was lost: it panicked.
    #[error("a task was lost")]
    Lost,
    /// The deadline passed while answers were missing.
    #[error("round {round}: only {answered} agents answered before the deadline")]
    Deadline {
        /// The round it happened in.
        round: u32,
        /// Answers that came.
        answered: u32,
    },
}

/// Rehearses one method of the first run of a scenario.
///
/// **Errors**: [`RehearsalError`].
pub async fn rehearse(scenario: &Scenario, method: Method, options: Options) -> Result<Outcome, RehearsalError> {
    match scenario.surrogate.scalar {
        ScalarKind::F32 => rehearse_in::<f32>(scenario, method, options).await,
        ScalarKind::F64 => rehearse_in::<f64>(scenario, method, options).await,
    }
}

async fn rehearse_in<T: Scalar>(
    scenario: &Scenario,
    method: Method,
    options: Options,
) -> Result<Outcome, RehearsalError> {
    let functions = sordino_sim::world::load(scenario, None)?.realize(RunSeed::new(scenario.seed, 0));
    let deadline_ms = options.deadline.as_millis() as u64;
    let announced = Announced {
        epsilon_max: scenario.privacy.max_epsilon,
        delta: scenario.privacy.delta,
        deadline_ms,
        may_close_early: true,
    };
    let (candidates, dim) = (functions.candidates(), functions.dim());
    let terms = Terms::new(scenario, method, candidates, dim, deployment()?, announced)?;
    let shared = Arc::new(ScenarioContext::<T>::new(scenario, candidates, dim)?);
    let run = Arc::new(RunContext::new(scenario, shared, 0, functions)?);
    let context = Arc::new(MethodContext::new(scenario, method, run, None)?);
    if !context.faults.is_none() {
        return Err(RehearsalError::Faults);
    }
    let (place, listener) = Place::open(&terms, &options).await?;
    let (sender, requests) = mpsc::channel(QUEUE);
    let door = place.door(&terms, listener, sender)?;
    let pace = Pace { ask_again_ms: 1000, spread_ms: 100 };
    let mut rounds = Rounds::new(&terms.agreement, pace, place.sealer(&terms), TRAILER, requests);
    let serving = tokio::spawn(door);
    let first = match &options.device {
        Some(path) => {
            device::write(path, &context, &place.invitation(&terms, device::SLOT)?)?;
            device::SLOT + 1
        }
        None => 0,
    };
    let mut agents = place.agents::<T>(&terms, &context, options.deaths, first)?;
    let times = Vec::with_capacity(scenario.federation.rounds as usize + 1);
    let mut fabric = Network { context: context.clone(), rounds: &mut rounds, deadline_ms, times, failed: None };
    let (stop, nobody) = (AtomicBool::new(false), &());
    let around = Surroundings { progress: nobody, journal: None, interval: Duration::MAX, stop: &stop };
    let running = run_method(context, around, |_| Ok(&mut fabric));
    // An agent that ends before the run does has failed, and the run would wait for it.
    let finished = tokio::select! {
        finished = running => finished,
        error = first_failure(&mut agents) => return Err(error),
    };
    let (failed, round_times) = (fabric.failed.take(), std::mem::take(&mut fabric.times));
    let run = finished.map_err(|error| failed.unwrap_or(RehearsalError::Driver(error)))?;
    tokio::select! {
        stop = rounds.linger() => return Err(stop.into()),
        all = all_done(&mut agents) => all?,
    }
    if options.device.is_some() {
        // Its last answer was taken; that it was, it may not have heard.
        if let Ok(stop) = tokio::time::timeout(LAST_WORDS, rounds.linger()).await {
            return Err(stop.into());
        }
    }
    serving.abort();
    Ok(Outcome {
        // As `sordino run` does: methods into a run, runs into an execution.
        digest: combine([combine([run.digest].iter())].iter()),
        agents: scenario.federation.agents,
        rounds: scenario.federation.rounds + 1,
        cuts: place.cuts.load(Ordering::Relaxed),
        repeated: rounds.status().borrow().repeated,
        deaths: place.deaths.load(Ordering::Relaxed),
        round_times,
    })
}

type Agents = JoinSet<Result<(), RehearsalError>>;

async fn first_failure(agents: &mut Agents) -> RehearsalError {
    while let Some(ended) = agents.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error,
            Err(_) => return RehearsalError::Lost,
        }
    }
    std::future::pending().await
}

async fn all_done(agents: &mut Agents) -> Result<(), RehearsalError> {
    while let Some(ended) = agents.join_next().await {
        ended.map_err(|_| RehearsalError::Lost)??;
    }
    Ok(())
}

/// Where a rehearsal takes place: a server's key, a list of keys, and what lies between.
struct Place {
    identity: Identity,
    enrolment: Arc<Enrolment>,
    /// What agents call: the listener, or the bad network in front of it.
    address: String,
    cuts: Arc<AtomicU64>,
    deaths: Arc<AtomicU64>,
}

impl Place {
    async fn open(terms: &Terms, options: &Options) -> Result<(Place, TcpListener), RehearsalError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(RehearsalError::Listen)?;
        let mut address = listener.local_addr().map_err(RehearsalError::Listen)?;
        let cuts = Arc::new(AtomicU64::new(0));
        if options.chaos {
            let front = TcpListener::bind(("127.0.0.1", 0)).await.map_err(RehearsalError::Listen)?;
            let back = std::mem::replace(&mut address, front.local_addr().map_err(RehearsalError::Listen)?);
            tokio::spawn(chaos::cut(front, back, cuts.clone()));
        }
        #[cfg(feature = "mqtt")]
        if let Some(broker) = &options.broker {
            let front = TcpListener::bind(("127.0.0.1", 0)).await.map_err(RehearsalError::Listen)?;
            let back = std::mem::replace(&mut address, front.local_addr().map_err(RehearsalError::Listen)?);
            tokio::spawn(crate::bridge::far(back.to_string(), broker.clone()));
            tokio::spawn(crate::bridge::near(front, broker.clone()));
        }
        let enrolment = Arc::new(Enrolment::in_memory());
        for slot in 0..terms.agreement.config.parameters().agents {
            enrolment.admit(slot, &token(slot));
        }
        let (address, deaths) = (address.to_string(), Arc::new(AtomicU64::new(0)));
        let place = Place { identity: Identity::generate()?, enrolment, address, cuts, deaths };
        Ok((place, listener))
    }

    fn door(
        &self,
        terms: &Terms,
        listener: TcpListener,
        requests: mpsc::Sender<crate::rounds::Request>,
    ) -> Result<impl Future<Output = ()> + Send + use<>, RehearsalError> {
        let agreement = &terms.agreement;
        let door = Door {
            deployment: agreement.deployment,
            terms: terms.to_bytes()?.into(),
            body_max: terms.upload_bytes_max() + TRAILER,
            enrolment: self.enrolment.clone(),
            authority: None,
            tells_joined: false,
            requests,
            limits: Limits { per_key: 64, strangers: Limits::default().connections, ..Limits::default() },
            counts: Arc::new(Counts::default()),
        };
        Ok(door::serve(listener, keys::always(&self.identity)?, door))
    }

    fn sealer(&self, terms: &Terms) -> Sealer {
        // Nothing of a rehearsal is secret, and it has no folder.
        Sealer::new(&terms.agreement.digest().0)
    }

    fn invitation(&self, terms: &Terms, slot: u32) -> Result<Invitation, RehearsalError> {
        let (address, deployment) = (self.address.clone(), terms.agreement.deployment);
        let (pins, token) = (vec![self.identity.fingerprint()?], Some(token(slot)));
        Ok(Invitation { address, deployment, slot, terms: terms.digest(), pins, token })
    }

    /// All agents from `first` on as tasks, each with a key of its own.
    fn agents<T: Scalar>(
        &self,
        terms: &Terms,
        context: &Arc<MethodContext<T>>,
        folder: Option<PathBuf>,
        first: u32,
    ) -> Result<Agents, RehearsalError> {
        let (shared, free) = (Shared::<T>::new(terms)?, Arc::new(Semaphore::new(ENROLLING_MAX)));
        let (pins, deployment) = ([self.identity.fingerprint()?], terms.agreement.deployment);
        let mut agents = JoinSet::new();
        for agent in first..terms.agreement.config.parameters().agents {
            let (tls, address) = (Identity::generate()?.client(&pins)?, self.address.clone());
            let line = move || Link::new(&address, deployment, tls.clone(), Duration::from_secs(10));
            let (shared, context, free) = (shared.clone(), context.clone(), free.clone());
            let file = folder.as_ref().map(|folder| folder.join(format!("{agent}.bin")));
            let deaths = self.deaths.clone();
            agents.spawn(async move {
                let permit = free.acquire().await;
                enrol(&mut line(), agent).await.map_err(|error| RehearsalError::Enrol { agent, error })?;
                drop(permit);
                let mut lives = Stream::from_seed(u64::from(agent));
                loop {
                    let life = live(&shared, &context, agent, file.clone(), line());
                    let Some(_file) = &file else { return life.await };
                    let length = Duration::from_millis(LIFE_MIN_MS + u64::from(lives.below(LIFE_MORE_MS)));
                    match tokio::time::timeout(length, life).await {
                        Ok(ended) => return ended,
                        Err(_elapsed) => deaths.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
        Ok(agents)
    }
}

/// One agent from what its file holds to the end, on a line of its own.
async fn live<T: Scalar>(
    shared: &Arc<Shared<T>>,
    context: &Arc<MethodContext<T>>,
    agent: u32,
    file: Option<PathBuf>,
    mut line: Link,
) -> Result<(), RehearsalError> {
    let failed = |error| RehearsalError::Agent { agent, error };
    let mut party = HostAgent::open(shared, agent, context.run.seed, file).map_err(failed)?;
    let (best, objective) = (context.clone(), &context.run.objective);
    let value = Box::new(move |candidate| best.run.objective.value(agent, candidate));
    party.watch(value, |candidate, number| objective.observe(agent, candidate, number));
    let observe = |query: Query| std::future::ready(Ok(objective.observe(agent, query.candidate, query.number)));
    party.run(&mut line, observe).await.map_err(failed)
}

/// A token for a rehearsal; it protects nothing.
fn token(slot: u32) -> [u8; 16] {
    let mut token = [0; 16];
    token[..4].copy_from_slice(&slot.to_le_bytes());
    token
}

/// Shows the token until it was seen.
async fn enrol(link: &mut Link, agent: u32) -> Result<(), LinkError> {
    loop {
        match link.enrol(agent, Some(&token(agent))).await {
            Err(LinkError::Connect(_) | LinkError::Http(_) | LinkError::Silence | LinkError::Body) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other,
        }
    }
}

/// The collective of the simulator over a network: one member, which holds all agents by their doors.
struct Network<'r, T> {
    context: Arc<MethodContext<T>>,
    rounds: &'r mut Rounds,
    deadline_ms: u64,
    times: Vec<Duration>,
    failed: Option<RehearsalError>,
}

impl<T: Scalar> Network<'_, T> {
    async fn take_round(&mut self, order: Order<T>) -> Result<Partial, RehearsalError> {
        let config = &self.context.config;
        let (count, m) = (config.parameters().agents, config.parameters().feature_count as usize);
        let (frame, chain) = self.rounds.frame(order.round, 0, order.broadcast.as_deref())?;
        let (mut sums, mut counters) = (vec![0; config.broadcast_len()], Counters::default());
        let mut flags = vec![0; if order.share.is_some() { count as usize } else { 0 }];
        let share = order.share.as_ref().and_then(|share| share.part(0..count));
        let mut collector = match &share {
            Some(share) => {
                let storage = CollectorStorage { sums: &mut sums, flags: &mut flags, counters: &mut counters };
                let draws = Draws::new(config, share.broadcast()).map_err(DriverError::Server)?;
                Some(Collector::new(draws, share, storage).map_err(DriverError::Server)?)
            }
            None => None,
        };
        let mut leaves = vec![Digest::default(); count as usize];
        let mut best = vec![f64::NEG_INFINITY; count as usize];
        let mut incoming = vec![T::ZERO; m];
        let start = Instant::now();
        self.rounds.announce(order.round, 0, frame, chain, self.deadline_ms, true)?;
        let complete = self.rounds.collect(self.deadline_ms, |who, header, payload, trailer| {
            if let Some(collector) = collector.as_mut().filter(|_| header.len > 0) {
                payload.read(&mut incoming).map_err(|error| error.to_string())?;
                collector.upload(who, header.round, &incoming).map_err(|error| error.to_string())?;
            }
            let (leaf, value) = trailer.split_at(32);
            leaves[who as usize].0.copy_from_slice(leaf);
            best[who as usize] = f64::from_le_bytes(value.try_into().map_err(|_| "a trailer of another length")?);
            Ok(())
        });
        let complete = complete.await?;
        self.times.push(start.elapsed());
        if !complete {
            let answered = self.rounds.status().borrow().answered;
            return Err(RehearsalError::Deadline { round: order.round, answered });
        }
        let collected = collector.map(|collector| collector.finish().to_owned());
        let regrets: Vec<f64> = (0..).zip(&best).map(|(agent, best)| self.context.run.optimum(agent) - best).collect();
        let pieces = blocks::cut(0, count, &leaves, &regrets);
        Ok(Partial {
            agents: 0..count,
            collected,
            pieces,
            regrets: Tally::of(&regrets),
            faults: FaultCounts::default(),
            observations: Vec::new(),
            messages: Vec::new(),
        })
    }
}

impl<T: Scalar> Fabric<Shard<MethodContext<T>>> for &mut Network<'_, T> {
    type Error = DriverError;

    fn members(&self) -> Vec<Range<u32>> {
        let all = 0..self.context.config.parameters().agents;
        vec![all]
    }

    async fn round(&mut self, order: Order<T>) -> Result<Vec<Partial>, DriverError> {
        match self.take_round(order).await {
            Ok(partial) => Ok(vec![partial]),
            Err(RehearsalError::Driver(error)) => Err(error),
            Err(error) => {
                self.failed = Some(error);
                Err(DriverError::WorkerLost)
            }
        }
    }

    async fn snapshot(&mut self) -> Result<Snapshots<'_, AgentState>, DriverError> {
        Err(DriverError::Check("agents of a network keep their own state"))
    }
}
