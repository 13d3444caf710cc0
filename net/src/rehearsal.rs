//! A federation of the simulator over a real network: the same server, the same agents, the same functions, on
//! loopback. Its digest is the one that `sordino run` prints; that equality is the acceptance test of everything below.
//!
//! Agents compute from the published terms alone. What only a simulation knows (an agent's leaf of the transcript, its best
//! value without noise) follows each upload.

mod agents;
pub mod device;
mod error;
mod network;
mod options;
mod place;
mod second;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sordino_core::digest::{Digest, combine};
use sordino_core::federated::exchange::{Announced, Pace};
use sordino_core::federated::shares::Trust;
use sordino_core::random::RunSeed;
use sordino_host::entropy::deployment;
use sordino_sim::model::federated::context::{RunContext, ScenarioContext};
use sordino_sim::model::federated::run::{Surroundings, run_method};
use sordino_sim::model::federated::shard::Agents as _;
use sordino_sim::scenario::{Method, Scenario};
use sordino_sim::world::Objective;
use tokio::sync::mpsc;

pub use self::error::RehearsalError;
use self::network::{Network, Simulated};
pub use self::options::Options;
use self::place::{Agents, Place};
use self::second::Second;
use crate::agent::{SLOT_BYTES, slots};
use crate::party::{Number, dispatch};
use crate::rounds::{QUEUE, Rounds};
use crate::shares;
use crate::terms::Terms;

/// How long a device may ask again after its last answer.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// What a rehearsal gave: of all runs together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The digest, as `sordino run` prints it.
    pub digest: Digest,
    /// N, the enrolled agents of one run.
    pub agents: u32,
    /// Frames that every agent received.
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

impl Outcome {
    /// Adds what one more run gave.
    fn add(&mut self, run: Outcome) {
        self.agents = run.agents;
        self.rounds += run.rounds;
        self.cuts += run.cuts;
        self.repeated += run.repeated;
        self.deaths += run.deaths;
        self.round_times.extend(run.round_times);
    }
}

/// Rehearses one method of all runs of a scenario, one after the other, each a federation of its own.
///
/// **Errors**: [`RehearsalError`].
pub async fn rehearse(scenario: &Scenario, method: Method, options: Options) -> Result<Outcome, RehearsalError> {
    if scenario.runs > 1 && options.device.is_some() {
        return Err(RehearsalError::DeviceRuns { runs: scenario.runs });
    }
    let mut all = Outcome::default();
    let mut digests = Vec::new();
    for run in 0..scenario.runs {
        let mut options = options.clone();
        if let Some(folder) = options.deaths.as_mut().filter(|_| scenario.runs > 1) {
            folder.push(run.to_string());
            std::fs::create_dir_all(&*folder).map_err(RehearsalError::Deaths)?;
        }
        let functions: Arc<dyn Objective> =
            sordino_sim::world::load(scenario, None)?.realize(RunSeed::new(scenario.seed, run)).into();
        let (candidates, dim) = (functions.candidates(), functions.dim());
        let announced = announced(scenario, &options);
        let terms = Terms::of_run(scenario, method, run, candidates, dim, deployment()?, announced)?;
        let world = World { scenario, method, run, functions, terms };
        let outcome = dispatch!(scenario world.terms.agreement, rehearse_run(&world, options).await)?;
        digests.push(outcome.digest);
        all.add(outcome);
    }
    // As `sordino run` does: methods into a run, runs into an execution.
    let runs: Vec<Digest> = digests.iter().map(|digest| combine([*digest].iter())).collect();
    Ok(Outcome { digest: combine(runs.iter()), ..all })
}

fn announced(scenario: &Scenario, options: &Options) -> Announced {
    Announced {
        epsilon_max: scenario.privacy.max_epsilon,
        delta: scenario.privacy.delta,
        deadline_ms: options.deadline.as_millis() as u64,
        may_close_early: true,
    }
}

/// One run of a scenario, and the terms under which it is rehearsed.
struct World<'s> {
    scenario: &'s Scenario,
    method: Method,
    run: u32,
    functions: Arc<dyn Objective>,
    terms: Terms,
}

async fn rehearse_run<T: Number, P: Simulated<T>>(
    world: &World<'_>,
    options: Options,
) -> Result<Outcome, RehearsalError> {
    let World { scenario, method, run, functions, terms } = world;
    let shared = Arc::new(ScenarioContext::<T>::new(scenario, functions.candidates(), functions.dim())?);
    let run = Arc::new(RunContext::new(scenario, shared.clone(), *run, functions.clone())?);
    let simulated = P::simulated(scenario, *method, run, shared)?;
    let base = simulated.base();
    if !base.faults.is_none() {
        return Err(RehearsalError::Faults);
    }
    let (deadline_ms, slots) = (options.deadline.as_millis() as u64, slots(&terms.agreement.protocol));
    let two = shares::trust(&terms.agreement.protocol) == Trust::TwoServers;
    if two && options.device.is_some() {
        return Err(RehearsalError::DeviceTrust);
    }
    let (mut place, listener) = Place::open(terms, &options).await?;
    let second = Second::open(terms, base, &mut place, options.chaos).await?;
    let helper = second.as_ref().map(|second| second.key);
    let (sender, requests) = mpsc::channel(QUEUE);
    let door = place.door(terms, listener, sender)?;
    let pace = Pace { ask_again_ms: 1000, spread_ms: 100 };
    let mut rounds = Rounds::new(&terms.agreement, pace, place.sealer(terms), slots * SLOT_BYTES, requests);
    let serving = tokio::spawn(door);
    let first = match &options.device {
        Some(path) => {
            device::write(path, base, &place.invitation(terms, device::SLOT)?)?;
            device::SLOT + 1
        }
        None => 0,
    };
    let mut agents = agents::all::<T, P>(&place, terms, &base.run, helper, options.deaths, first)?;
    let mut network = Network::new(simulated.clone(), &terms.agreement.protocol, &mut rounds, deadline_ms, second);
    let (stop, nobody) = (AtomicBool::new(false), &());
    let around = Surroundings { progress: nobody, journal: None, interval: Duration::MAX, stop: &stop };
    let running = run_method(simulated, around, |_| Ok(&mut network));
    // An agent that ends before the run does has failed, and the run would wait for it.
    let finished = tokio::select! {
        finished = running => finished,
        error = first_failure(&mut agents) => return Err(error),
    };
    let (failed, round_times) = (network.failed.take(), std::mem::take(&mut network.times));
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
        digest: run.digest,
        agents: terms.agreement.protocol.agents(),
        rounds: round_times.len() as u32,
        cuts: place.cuts.load(Ordering::Relaxed),
        repeated: rounds.status().borrow().repeated,
        deaths: place.deaths.load(Ordering::Relaxed),
        round_times,
    })
}

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
