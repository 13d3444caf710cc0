//! One method of one run, some agents at a time: core's parties with simulated noise, as the
//! simulator runs them.

use std::convert::Infallible;

use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::random_fourier::{self, RandomFourier};
use sordino_core::federated::transcript::{AgentLeaf, block_leaves, link};
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Aggregation, CandidateRows, Config, InitialRegion, Input,
    Output, OwnDraw, Parameters, Public, Server, ServerInput, ServerNumbers, ServerOutput,
    ServerState, Signal, Tables, storage_len,
};
use sordino_core::kernel::Stationary;
use sordino_core::privacy::{Charge, ClippingNorm, Event, Ledger, NoiseMultiplier};
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, Simulation};
use sordino_core::schedule::{Mixing, WeightConcentration};

use crate::WebError;
use crate::world::{NOISE_VARIANCE, World};

/// Lengthscale of kernel and features.
pub const LENGTHSCALE: f64 = 0.08;
const FEATURES: usize = 48;
const INITIAL_POINTS: u32 = 5;
const CLIPPING_NORM: f64 = 10.5;
const GRID_EXPONENT: u32 = 20;
/// Agents of a slice: some milliseconds.
const SLICE: usize = 16;

/// What is moved on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dials {
    /// N, enrolled agents.
    pub agents: u32,
    /// T, rounds after the initial points.
    pub rounds: u32,
    /// q, the probability that an agent is in the sample of a round.
    pub sampling_probability: f64,
    /// z, noise standard deviation over sensitivity.
    pub noise_multiplier: f64,
    /// Of functions and all noise.
    pub seed: u64,
}

/// Charges in memory: simulated ones, for which no ledger has to last.
#[derive(Default)]
struct Charges(Vec<Event>);

impl Ledger<Simulation> for Charges {
    type Error = Infallible;
    fn write(&mut self, charge: &Charge<Simulation>) -> Result<(), Infallible> {
        self.0.extend_from_slice(charge.events());
        Ok(())
    }
}

/// What the server computes with, its source of simulated coins and noise, and what is written down
/// of the round.
struct Desk {
    numbers: ServerNumbers<f64>,
    source: Simulated,
    leaves: Vec<Digest>,
}

/// A federation between two slices of a round.
pub struct Federation {
    config: Config,
    run: RunSeed,
    features: Vec<f64>,
    rows: Vec<f64>,
    region_of: Vec<u32>,
    states: Vec<AgentState>,
    storages: Vec<Vec<f64>>,
    best: Vec<f64>,
    server: ServerState,
    charges: Charges,
    desk: Desk,
    broadcast: Vec<f64>,
    round: u32,
    chain: Digest,
}

impl Federation {
    /// Agents that share nothing (`ts`), or `dp-fts-de` with two regions if `private`; before the
    /// initial points.
    ///
    /// **Errors**: dials out of range.
    pub fn new(dials: &Dials, index: u32, private: bool, world: &World) -> Result<Self, WebError> {
        let config = Config::new(parameters(dials, private)?)?;
        let mut features = vec![0.0; random_fourier::storage_len(1, FEATURES)];
        let shape = Stationary::SquaredExponential;
        random_fourier::draw(0, index, shape, &[LENGTHSCALE], 1, FEATURES, &mut features)?;
        let map = RandomFourier::new(1, FEATURES, 1.0, true, &features[..])?;
        let mut rows = vec![0.0; world.points().len() * FEATURES];
        rows.chunks_exact_mut(FEATURES)
            .zip(world.points())
            .for_each(|(row, x)| map.features(&[*x], row));
        let regions = &config.parameters().regions;
        let region_of: Vec<u32> = world
            .points()
            .iter()
            .map(|x| regions.region_of(&[*x]))
            .collect();
        let tables = CandidateRows {
            features: &rows,
            region_of: &region_of,
        };
        let length = storage_len(&public(&config, world, &features, tables)?);
        let run = RunSeed::new(dials.seed, index);
        let desk = Desk {
            numbers: ServerNumbers::new(&config),
            source: Simulated::new(run.stream(Party::Server, Purpose::Release, 0)),
            leaves: Vec::new(),
        };
        Ok(Federation {
            run,
            features,
            rows,
            region_of,
            states: (0..dials.agents)
                .map(|agent| AgentState::new(agent, run))
                .collect(),
            storages: vec![vec![0.0; length]; dials.agents as usize],
            best: vec![f64::NEG_INFINITY; dials.agents as usize],
            server: ServerState::new(),
            charges: Charges::default(),
            desk,
            broadcast: Vec::new(),
            round: 0,
            chain: Digest::default(),
            config,
        })
    }

    /// Whether all rounds are over.
    pub fn is_over(&self) -> bool {
        self.round > self.config.parameters().rounds
    }

    /// The digest of everything that was decided: the simulator's for the same functions and
    /// numbers.
    pub fn digest(&self) -> Digest {
        self.chain
    }

    /// Releases that were charged.
    pub fn charges(&self) -> &[Event] {
        &self.charges.0
    }

    /// Some agents of a round: they query, and upload; after the last the server releases. At the
    /// end of the round, mean over agents of the best-so-far noise-free regret.
    ///
    /// **Errors**: a party's; none for a federation that was begun.
    pub fn step(&mut self, world: &World) -> Result<Option<f64>, WebError> {
        let p = self.config.parameters();
        let t = self.round;
        let collecting = p.aggregation != Aggregation::None && t < p.rounds;
        let Desk {
            numbers,
            source,
            leaves,
        } = &mut self.desk;
        let mut server = Server::attach(&self.config, &mut self.server, numbers.lend())?;
        if leaves.is_empty() {
            *source = Simulated::new(self.run.stream(Party::Server, Purpose::Release, t));
            if collecting {
                server.handle(ServerInput::Open, source)?;
            }
        }
        let rows = CandidateRows {
            features: &self.rows,
            region_of: &self.region_of,
        };
        let public = public(&self.config, world, &self.features, rows)?;
        let first = leaves.len();
        let parties = self
            .states
            .iter_mut()
            .zip(&mut self.storages)
            .zip(&mut self.best);
        for (n, ((state, storage), best)) in (0..).zip(parties).skip(first).take(SLICE) {
            let storage = AgentStorage::split(&public, storage)?;
            let mut agent = Agent::attach(&public, state, storage)?;
            let mut input = match t {
                0 => Input::Start,
                _ if self.broadcast.is_empty() => Input::NoBroadcast,
                _ => Input::Broadcast {
                    vectors: &self.broadcast,
                    maximum: None,
                },
            };
            let mut leaf = AgentLeaf::new(n, t, if t == 0 { p.initial_points } else { 1 });
            leaves.push(loop {
                match agent.handle(input)? {
                    Output::Evaluate {
                        candidate, number, ..
                    } => {
                        let y = world.observe(self.run, n, candidate, number);
                        *best = best.max(world.of(n)[candidate as usize]);
                        leaf.observation(candidate, y);
                        input = Input::Observed(y);
                    }
                    Output::Upload(vector) => {
                        server.handle(
                            ServerInput::Upload {
                                agent: n,
                                broadcast: t,
                                vector,
                            },
                            source,
                        )?;
                        break leaf.end(vector);
                    }
                    Output::Wait | Output::Done => break leaf.end::<f64>(&[]),
                }
            });
        }
        if leaves.len() < self.states.len() {
            return Ok(None);
        }
        self.broadcast.clear();
        if collecting
            && let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)?
        {
            let receipt = match self.charges.append(charge) {
                Ok(receipt) => receipt,
                Err(never) => match never {},
            };
            if let ServerOutput::Broadcast { release, .. } =
                server.handle(ServerInput::Charged(receipt), source)?
            {
                self.broadcast.extend_from_slice(release.value());
            }
        }
        self.end_round(world).map(Some)
    }

    /// The round joins the chain.
    fn end_round(&mut self, world: &World) -> Result<f64, WebError> {
        self.chain = link(
            &self.chain,
            self.round,
            block_leaves(&self.desk.leaves),
            &self.broadcast,
        );
        self.desk.leaves.clear();
        self.round += 1;
        let regrets = (0..).zip(&self.best).map(|(n, best)| {
            let values = world.of(n).iter().copied();
            values.fold(f64::NEG_INFINITY, f64::max) - best
        });
        Ok(regrets.sum::<f64>() / self.best.len() as f64)
    }
}

fn parameters(dials: &Dials, private: bool) -> Result<Parameters, WebError> {
    Ok(Parameters {
        agents: dials.agents,
        regions: Regions::new(&[if private { 2 } else { 1 }])?,
        rounds: dials.rounds,
        initial_points: INITIAL_POINTS,
        initial_region: InitialRegion::Own,
        feature_count: FEATURES as u32,
        regularization: NOISE_VARIANCE,
        noise_variance: NOISE_VARIANCE,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        concentration: if private {
            WeightConcentration::PAPER
        } else {
            WeightConcentration::UNIFORM
        },
        aggregation: if private {
            Aggregation::Private {
                clipping_norm: ClippingNorm::new(CLIPPING_NORM)?,
                sampling_probability: dials.sampling_probability,
                noise_multiplier: NoiseMultiplier::new(dials.noise_multiplier)?,
                grid_exponent: GRID_EXPONENT,
                signal: Signal::Vectors,
            }
        } else {
            Aggregation::None
        },
    })
}

fn public<'a>(
    config: &'a Config,
    world: &'a World,
    features: &'a [f64],
    rows: CandidateRows<'a, f64>,
) -> Result<Public<'a, f64>, WebError> {
    let features = RandomFourier::new(1, FEATURES, 1.0, true, features)?;
    let tables = Tables {
        rows: Some(rows),
        ..Tables::NONE
    };
    Ok(Public::new(
        config,
        Candidates::list(world.points(), 1)?,
        features,
        tables,
    )?)
}
