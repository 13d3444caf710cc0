//! An agent of a federated prior: log in slots 2 and up, state in slots 0 and 1.

use sordino_core::digest::{Digest, Frame};
use sordino_core::federated::prior::agent::{
    Agent, AgentState, Input, Output, log_len, workspace_len,
};
use sordino_core::federated::prior::{Config, Draw, Parameters, Public, Tables, Terms, models};
use sordino_core::federated::{Entry, Phase, Workspace};
use sordino_core::random::{RunSeed, Stream, normal};

use super::{Flash, Stop, World};

const M: usize = 6;
const CANDIDATES: usize = 16;
const INITIAL: usize = 3;
const ROUNDS: usize = 5;
const FIRST: usize = 2;
const LOG: usize = log_len(INITIAL, ROUNDS);
const WORKSPACE: usize = workspace_len(INITIAL + ROUNDS, M, M, 5);

/// Numbers of memory it takes.
pub const STORAGE: usize = LOG + WORKSPACE + CANDIDATES * M;

/// Numbers that everybody makes of a public seed.
fn public_numbers(seed: u64, out: &mut [f32]) {
    normal::fill(&mut Stream::from_seed(seed), out);
    out.iter_mut().for_each(|x| *x *= 0.5);
}

/// Rounds before which a release is made: the server wants a contribution.
fn releases(round: u32) -> bool {
    round.is_multiple_of(2)
}

/// Says something under a number, and hears nothing of it.
fn send(
    flash: &mut Flash<'_>,
    world: &mut World,
    number: usize,
    vector: &[f32],
) -> Result<(), Stop> {
    let mut frame = Frame::leaf();
    frame.scalars(vector);
    flash.step()?;
    world.hear(number, frame)?;
    flash.step()?;
    Ok(())
}

/// What the sensor reads there: from flash, or measured and written down.
fn observe(
    flash: &mut Flash<'_>,
    world: &mut World,
    state: &AgentState,
    agreement: &Digest,
) -> Result<f32, Stop> {
    let number = state.observations();
    let candidate = state.pending();
    let slot = FIRST + number as usize;
    match flash.entry::<Entry<f32>>(slot, number, agreement) {
        Some(entry) if entry.candidate == candidate => Ok(entry.value),
        _ => {
            flash.step()?;
            let value = world.measure(number, &[candidate as f32 / CANDIDATES as f32]);
            flash.write(slot, &Entry { candidate, value }, number, agreement)?;
            Ok(value)
        }
    }
}

/// From the boot to the end of the run.
///
/// **Errors**: [`Stop`].
pub fn boot(
    flash: &mut Flash<'_>,
    world: &mut World,
    memory: &mut [f32; STORAGE],
) -> Result<(), Stop> {
    let parameters = Parameters::usual(200, M as u32, INITIAL as u32, 0.01);
    let config = Config::new(parameters).map_err(|_| Stop::Refused("configuration"))?;
    let agreement = Digest::of(&("agent of a prior", parameters));
    let (log, rest) = memory.split_at_mut(LOG);
    let (workspace, feature_rows) = rest.split_at_mut(WORKSPACE);
    public_numbers(0, feature_rows);
    let public = Public::new(&config, feature_rows, Tables::NONE)
        .map_err(|_| Stop::Refused("public context"))?;
    let (mut number, mut state) = flash.load(AgentState::new(7, RunSeed::new(9, 0)), &agreement)?;
    for i in 0..state.observations() {
        let entry: Entry<f32> = flash
            .entry(FIRST + i as usize, i, &agreement)
            .ok_or(Stop::Refused("log"))?;
        entry
            .put(i, 0.0, log)
            .map_err(|_| Stop::Refused("log is full"))?;
    }
    let models = models(1);
    let workspace = Workspace::Owned(workspace);
    let mut agent = Agent::attach(&public, &models, ROUNDS as u32, &mut state, log, workspace)
        .map_err(|_| Stop::Refused("agent"))?;
    let mut weights = [0.0; M];
    loop {
        // One input; what comes of it is stored before it is acted upon, and acted upon in the next
        // turn.
        let round = agent.state().round();
        public_numbers(1 + u64::from(round), &mut weights);
        let told = match agent.state().phase() {
            Phase::Fresh => agent.handle(Input::Start),
            Phase::Initial | Phase::Evaluating => {
                let value = observe(flash, world, agent.state(), &agreement)?;
                agent.handle(Input::Observed(value))
            }
            Phase::Waiting if releases(round) && !world.has(round as usize) => {
                let terms = Terms {
                    ridge: 0.02,
                    clip_radius: 3.0,
                    response: 8.0,
                };
                match agent.handle(Input::Terms {
                    terms,
                    weights: &weights,
                }) {
                    Ok(Output::Upload(vector)) => send(flash, world, round as usize, vector)?,
                    _ => return Err(Stop::Refused("contribution")),
                }
                continue;
            }
            Phase::Waiting => agent.handle(Input::Draw(Draw {
                weights: &weights,
                values: &[],
            })),
            Phase::Done => {
                return send(flash, world, ROUNDS, &[agent.state().observations() as f32]);
            }
        };
        let _ = told.map_err(|_| Stop::Refused("input"))?;
        flash.save(agent.state(), &mut number, &agreement)?;
    }
}
