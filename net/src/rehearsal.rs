//! A federation of the simulator over a real network: the same server, the same agents, the same
//! functions, on loopback. Its digest is the one that `sordino run` prints; that equality is the
//! acceptance test of everything below.
//!
//! Agents compute from the published terms alone. What only a simulation knows (an agent's leaf of
//! the transcript, its best value without noise) follows each upload.

mod agents;
pub(crate) mod device;
mod error;
mod network;
mod options;
mod place;
mod second;
mod simulated;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sordino_core::digest::{Digest, combine};
use sordino_core::federated::exchange::{Announced, Pace, Protocol};
use sordino_core::federated::transcript::steps_max;
use sordino_core::random::RunSeed;
use sordino_engine::Options as Executing;
use sordino_engine::federated::campaign::context::campaign_of;
use sordino_engine::federated::context::{RunContext, ScenarioContext};
use sordino_engine::federated::custom::Custom;
use sordino_engine::federated::custom::context::CustomContext;
use sordino_engine::federated::run::{Surroundings, run_method};
use sordino_engine::federated::{DriverError, Own, agreement};
use sordino_experiment::scenario::{Method, ScalarKind, Scenario};
use sordino_experiment::world::Objective;
use sordino_host::entropy::deployment;
use tokio::sync::{mpsc, watch};

pub use self::error::RehearsalError;
use self::network::{Network, Offer};
pub use self::options::Options;
use self::place::{Agents, Place};
use self::second::Second;
use self::simulated::{Rehearsed, Simulated};
use crate::agent::SLOT_BYTES;
use crate::door::{OfferError, Offered, Offering};
use crate::party::{Number, OwnParty, Party, dispatch};
use crate::rounds::{QUEUE, Rounds};
use crate::terms::{Terms, TermsError};

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

/// Rehearses one method of all runs of a scenario, one after the other, each a federation of its
/// own.
///
/// **Errors**: [`RehearsalError`].
pub async fn rehearse(
    scenario: &Scenario,
    method: Method,
    options: Options,
) -> Result<Outcome, RehearsalError> {
    let family = sordino_experiment::world::load(scenario, None)?;
    let runs = runs(scenario, &options)?
        .into_iter()
        .map(|(run, options)| (run, options, &family));
    let mut outcomes = Vec::new();
    for (run, options, family) in runs {
        let functions: Arc<dyn Objective> = family.realize(scenario.run_seed(run)).into();
        let world = World {
            scenario,
            method,
            run,
            functions,
        };
        let terms = world.terms(announced(scenario, &options))?;
        outcomes.push(dispatch!(
            terms.agreement,
            rehearse_run(&world, &terms, options).await
        )?);
    }
    Ok(together(outcomes))
}

/// Rehearses a method of somebody's own, of all runs: its agents and its server are what was handed
/// in. Nothing is claimed for it, and no real federation has it.
///
/// **Errors**: [`RehearsalError`]; [`RehearsalError::NotOwn`] for a method that was not handed in.
pub async fn rehearse_own(
    own: &Own,
    method: Method,
    options: Options,
) -> Result<Outcome, RehearsalError> {
    let custom = own
        .handed_in(method)
        .map_err(DriverError::from)?
        .ok_or(RehearsalError::NotOwn(method))?;
    let all = own.scenario();
    let family = own.family(&Executing::default())?;
    let scenario = all.of(method);
    let mut outcomes = Vec::new();
    for (run, options) in runs(all, &options)? {
        let functions: Arc<dyn Objective> = family.realize(RunSeed::new(all.seed, run)).into();
        let world = World {
            scenario,
            method,
            run,
            functions,
        };
        outcomes.push(match scenario.surrogate.scalar {
            ScalarKind::F32 => rehearse_custom::<f32>(&world, &custom, options).await,
            ScalarKind::F64 => rehearse_custom::<f64>(&world, &custom, options).await,
        }?);
    }
    Ok(together(outcomes))
}

/// The runs of a scenario, with the options of each.
fn runs(scenario: &Scenario, options: &Options) -> Result<Vec<(u32, Options)>, RehearsalError> {
    if scenario.runs > 1 && options.device.is_some() {
        return Err(RehearsalError::DeviceRuns {
            runs: scenario.runs,
        });
    }
    (0..scenario.runs)
        .map(|run| {
            let mut options = options.clone();
            if let Some(folder) = options.deaths.as_mut().filter(|_| scenario.runs > 1) {
                folder.push(run.to_string());
                std::fs::create_dir_all(&*folder).map_err(RehearsalError::Deaths)?;
            }
            Ok((run, options))
        })
        .collect()
}

/// All runs together, as `sordino run` does it: methods into a run, runs into an execution.
fn together(outcomes: Vec<Outcome>) -> Outcome {
    let mut all = Outcome::default();
    let digests: Vec<Digest> = outcomes
        .iter()
        .map(|run| combine([run.digest].iter()))
        .collect();
    outcomes.into_iter().for_each(|run| all.add(run));
    Outcome {
        digest: combine(digests.iter()),
        ..all
    }
}

fn announced(scenario: &Scenario, options: &Options) -> Announced {
    Announced {
        epsilon_max: scenario.privacy.max_epsilon,
        delta: scenario.privacy.delta,
        deadline_ms: options.deadline.as_millis() as u64,
        may_close_early: true,
    }
}

/// One run of a scenario.
struct World<'s> {
    scenario: &'s Scenario,
    method: Method,
    run: u32,
    functions: Arc<dyn Objective>,
}

/// What all parties of a run borrow in the simulator, and what all runs share.
type Borrowed<T> = (Arc<RunContext<T>>, Arc<ScenarioContext<T>>);

impl World<'_> {
    /// What its agents agree to. That of a campaign is none that a real site takes part in.
    fn terms(&self, announced: Announced) -> Result<Terms, RehearsalError> {
        let World {
            scenario,
            method,
            run,
            functions,
        } = self;
        let candidates = functions.candidates();
        let dim = functions.dim();
        let deployment = deployment()?;
        if !method.is_campaign() {
            return Ok(Terms::of_run(
                scenario, *method, *run, candidates, dim, deployment, announced,
            )?);
        }
        if !method.parts().signal {
            return Err(RehearsalError::NoSignal(*method));
        }
        if scenario.surrogate.scalar != ScalarKind::F64 {
            return Err(TermsError::Scalar.into());
        }
        let campaign = campaign_of(scenario, *method, candidates, dim)?;
        let designed = campaign.protocol().config.design_len();
        let asked = scenario.federation.initial_points;
        if designed != asked as usize {
            return Err(RehearsalError::Design { designed, asked });
        }
        Ok(Terms::of_campaign(&campaign, deployment, announced)?)
    }

    fn borrowed<T: Number>(&self) -> Result<Borrowed<T>, DriverError> {
        let World {
            scenario,
            run,
            functions,
            ..
        } = self;
        let shared = Arc::new(ScenarioContext::<T>::new(
            scenario,
            functions.candidates(),
            functions.dim(),
        )?);
        let run = Arc::new(RunContext::new(
            scenario,
            shared.clone(),
            *run,
            functions.clone(),
        )?);
        Ok((run, shared))
    }
}

/// A run of a method that real federations have.
async fn rehearse_run<T: Number, P: Simulated<T>>(
    world: &World<'_>,
    terms: &Terms,
    options: Options,
) -> Result<Outcome, RehearsalError> {
    let (run, shared) = world.borrowed::<T>()?;
    let simulated = P::simulated(world.scenario, world.method, run, shared)?;
    federation(terms, P::party(terms)?, simulated, options).await
}

/// A run of a method that was handed in.
async fn rehearse_custom<T: Number>(
    world: &World<'_>,
    custom: &Custom,
    options: Options,
) -> Result<Outcome, RehearsalError> {
    let (run, _) = world.borrowed::<T>()?;
    let context = CustomContext::new(world.scenario, world.method, run, custom.clone(), None)?;
    let agreement = agreement::own(&context, deployment()?, announced(world.scenario, &options))?;
    let party = OwnParty::<T>::of(agreement.clone(), context.ground.clone(), custom.clone());
    let terms = Terms::of_own(agreement, world.functions.candidates());
    federation(&terms, party, Arc::new(context), options).await
}

/// A federation on loopback: these agents, and the simulator's server.
async fn federation<T: Number, P: Party<T>, M: Rehearsed<T>>(
    terms: &Terms,
    party: Arc<P>,
    simulated: Arc<M>,
    options: Options,
) -> Result<Outcome, RehearsalError> {
    let base = simulated.base();
    if !base.faults.is_none() {
        return Err(RehearsalError::Faults);
    }
    if options.device.is_some()
        && matches!(
            terms.agreement.protocol,
            Protocol::Vote(_) | Protocol::Own(_)
        )
    {
        return Err(RehearsalError::DeviceMethod(base.method));
    }
    let deadline_ms = options.deadline.as_millis() as u64;
    let slots = steps_max(&terms.agreement.protocol);
    let (mut place, listener) = Place::open(terms, &options).await?;
    let second = Second::open(terms, base, &mut place, options.chaos).await?;
    let helper = second.as_ref().map(|second| second.key);
    let (sender, requests) = mpsc::channel(QUEUE);
    let (offer, offered) = watch::channel(Some(Offered::default()));
    let door = place.door(terms, listener, sender, offered)?;
    let pace = Pace {
        ask_again_ms: 1000,
        spread_ms: 100,
    };
    let mut rounds = Rounds::new(
        &terms.agreement,
        pace,
        place.sealer(terms),
        slots * SLOT_BYTES,
        requests,
    );
    let serving = tokio::spawn(door);
    let first = match &options.device {
        Some(path) => {
            device::write(
                path,
                base,
                terms,
                &place.invitation(terms, device::SLOT, helper)?,
            )?;
            device::SLOT + 1
        }
        None => 0,
    };
    let mut agents = agents::all(&place, &party, &base.run, helper, options.deaths, first)?;
    let protocol = &terms.agreement.protocol;
    let beside = (offers(&*party, offer)?, second);
    let mut network = Network::new(
        simulated.clone(),
        protocol,
        &mut rounds,
        deadline_ms,
        beside,
    );
    let never = AtomicBool::new(false);
    let nobody = &();
    let around = Surroundings {
        progress: nobody,
        journal: None,
        interval: Duration::MAX,
        stop: &never,
        failure: None,
    };
    let running = run_method(simulated, around, |_| Ok(&mut network));
    // An agent that ends before the run does has failed, and the run would wait for it.
    let finished = tokio::select! {
        finished = running => finished,
        error = first_failure(&mut agents) => return Err(error),
    };
    let failed = network.failed.take();
    let round_times = std::mem::take(&mut network.times);
    drop(network);
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

/// What makes public what follows from the releases of a campaign, as its server does. Nobody
/// fetches the file itself.
fn offers<'p, T: Number, P: Party<T>>(
    party: &'p P,
    offer: watch::Sender<Option<Offered>>,
) -> Result<Offer<'p>, OfferError> {
    let mut offering = Offering::resumed(party, &[])?;
    Ok(Box::new(move |frame| {
        let (offered, _file) = offering.after(party, frame)?;
        offer.send_replace(Some(offered));
        Ok(())
    }))
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
