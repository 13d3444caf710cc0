//! An agent of a federation: log in slots 2 and up, state in slots 0 and 1.

use sordino_core::digest::{Digest, Frame};
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Aggregation, Config, Entry, InitialRegion, Input, Output,
    OwnDraw, Parameters, Phase, Public, Signal, storage_len,
};
use sordino_core::kernel::Stationary;
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::random::{RunSeed, Stream, normal};
use sordino_core::schedule::{Mixing, WeightConcentration};

use super::{Flash, Stop, World};

const M: usize = 8;
const ROUNDS: u32 = 5;
const INITIAL: u32 = 2;
const FIRST: usize = 2;

/// Numbers of memory it takes.
pub const STORAGE: usize = 700;

/// What the device is to do when what it stored is stored.
#[derive(Clone, Copy)]
enum Act {
    Evaluate {
        candidate: u32,
        number: u32,
        point: [f32; 2],
    },
    Send(Digest),
    Wait,
    Done,
}

fn act(output: Output<'_, f32>) -> Act {
    match output {
        Output::Evaluate {
            candidate,
            point,
            number,
        } => Act::Evaluate {
            candidate,
            number,
            point: [point[0], point[1]],
        },
        Output::Upload(weights) => {
            let mut frame = Frame::leaf();
            frame.scalars(weights);
            Act::Send(frame.end())
        }
        Output::Wait => Act::Wait,
        Output::Done => Act::Done,
    }
}

fn config() -> Option<Config> {
    let parameters = Parameters {
        agents: 5,
        regions: Regions::new(&[2, 1]).ok()?,
        rounds: ROUNDS,
        initial_points: INITIAL,
        initial_region: InitialRegion::Own,
        feature_count: M as u32,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.25,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        concentration: WeightConcentration::PAPER,
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(5.0).ok()?,
            sampling_probability: 0.5,
            noise_multiplier: NoiseMultiplier::new(1.0).ok()?,
            grid_exponent: 16,
            signal: Signal::Vectors,
        },
    };
    Config::new(parameters).ok()
}

/// What the server says after round t: the same to whoever asks again.
fn broadcast(round: u32) -> [f32; 2 * M] {
    let mut vectors = [0.0; 2 * M];
    normal::fill(&mut Stream::from_seed(u64::from(round)), &mut vectors);
    vectors
}

/// From the boot to the end of the run.
///
/// **Errors**: [`Stop`].
pub fn boot(
    flash: &mut Flash<'_>,
    world: &mut World,
    memory: &mut [f32; STORAGE],
) -> Result<(), Stop> {
    let config = config().ok_or(Stop::Refused("configuration"))?;
    let agreement = config.digest();
    let mut numbers = [0.0; random_fourier::storage_len(2, M)];
    random_fourier::draw(5, 0, Stationary::Matern52, &[0.3], 2, M, &mut numbers)
        .map_err(|_| Stop::Refused("draw"))?;
    let candidates = Candidates::grid(9, 2).map_err(|_| Stop::Refused("grid"))?;
    let features =
        RandomFourier::new(2, M, 1.0, true, &numbers[..]).map_err(|_| Stop::Refused("features"))?;
    let public = Public::streamed(&config, candidates, features)
        .map_err(|_| Stop::Refused("public context"))?;
    let (mut number, mut state) = flash.load(AgentState::new(2, RunSeed::new(9, 0)), &agreement)?;
    let memory = memory
        .get_mut(..storage_len(&public))
        .ok_or(Stop::Refused("memory"))?;
    let storage = AgentStorage::split(&public, memory).map_err(|_| Stop::Refused("storage"))?;
    for i in 0..state.observations() {
        let entry: Entry<f32> = flash
            .entry(FIRST + i as usize, i, &agreement)
            .ok_or(Stop::Refused("log"))?;
        entry
            .put(i, config.parameters().offset, storage.log)
            .map_err(|_| Stop::Refused("log is full"))?;
    }
    let mut agent =
        Agent::attach(&public, &mut state, storage).map_err(|_| Stop::Refused("agent"))?;
    let mut next = act(agent.repeat().map_err(|_| Stop::Refused("repeat"))?);
    loop {
        // One input; what comes of it is stored before it is acted upon, and acted upon at the head
        // of the next turn.
        let round = agent.state().round() as usize;
        let output = match next {
            Act::Evaluate {
                candidate,
                number,
                point,
            } => {
                let slot = FIRST + number as usize;
                let entry = match flash.entry::<Entry<f32>>(slot, number, &agreement) {
                    Some(entry) if entry.candidate == candidate => entry,
                    _ => {
                        flash.step()?;
                        let entry = Entry {
                            candidate,
                            value: world.measure(number, &point),
                        };
                        flash.write(slot, &entry, number, &agreement)?;
                        entry
                    }
                };
                agent.handle(Input::Observed(entry.value))
            }
            Act::Send(digest) => {
                flash.step()?;
                let mut frame = Frame::leaf();
                frame.digest(&digest);
                world.hear(round, frame)?;
                // Heard, and the power is cut before the answer comes.
                flash.step()?;
                next = Act::Wait;
                continue;
            }
            Act::Wait if agent.state().phase() == Phase::Fresh => agent.handle(Input::Start),
            // The server goes on only when it has what it waits for.
            Act::Wait if !world.has(round) => return Err(Stop::Refused("nothing was uploaded")),
            Act::Wait => agent.handle(Input::Broadcast {
                vectors: &broadcast(round as u32),
                maximum: None,
            }),
            Act::Done => {
                let mut frame = Frame::leaf();
                agent.observations().for_each(|(candidate, value)| {
                    frame.u32(candidate);
                    frame.scalars(&[value]);
                });
                return world.hear(ROUNDS as usize, frame);
            }
        };
        next = act(output.map_err(|_| Stop::Refused("input"))?);
        flash.save(agent.state(), &mut number, &agreement)?;
    }
}
