//! What an agent does without a break when it is given its work in slices.

use core::hint::black_box;

use sordino_core::domain::{Candidates, Regions};
use sordino_core::federated::{
    Agent, AgentState, AgentStorage, Aggregation, Config, InitialRegion, Input, Output, OwnDraw,
    Parameters, Phase, Public, Signal,
};
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::random::RunSeed;
use sordino_core::schedule::{Mixing, WeightConcentration};

use super::basics::map;
use super::{DIM, Memory, Operation, Probe};

const M: usize = 64;
/// Candidates of a slice.
const SLICE: u32 = 12;
/// 10,000 candidates; fewer where an instruction set without floating point would take minutes. A
/// slice costs the same.
const PER_AXIS: u32 = if cfg!(target_abi = "eabihf") { 100 } else { 16 };
/// Numbers of log and workspace.
const AGENT: usize = 4096;

pub(super) const TABLE: &[Operation] = &[Operation::new(
    "agent, 10,000 candidates, M features: dearest slice of 12 candidates",
    &[(M, 100_000, 2_800_000)],
    |_| 4 * AGENT,
    slices,
)];

fn config() -> Option<Config> {
    Config::new(Parameters {
        agents: 20,
        regions: Regions::new(&[2, 2]).ok()?,
        rounds: 3,
        // The round after the next is digested in the primal form, which is built from
        // observation 0.
        initial_points: M as u32 / 2,
        initial_region: InitialRegion::Own,
        feature_count: M as u32,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        concentration: WeightConcentration::PAPER,
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(17.6).ok()?,
            sampling_probability: 0.25,
            noise_multiplier: NoiseMultiplier::new(1.0).ok()?,
            grid_exponent: 20,
            signal: Signal::Vectors,
        },
    })
    .ok()
}

/// A whole run without broadcasts: initial points of a quarter of the domain, uploads, own draws.
fn slices(memory: &mut Memory, probe: &mut Probe, m: usize) {
    let (Some(config), Some(features)) = (config(), map(&mut memory.features, m)) else {
        return;
    };
    let Ok(candidates) = Candidates::grid(PER_AXIS, DIM) else {
        return;
    };
    let Ok(public) = Public::streamed(&config, candidates, features) else {
        return;
    };
    let mut state = AgentState::new(3, RunSeed::new(1, 0));
    let Ok(numbers) = AgentStorage::split(&public, &mut memory.numbers[..AGENT]) else {
        return;
    };
    let Ok(mut agent) = Agent::attach(&public, &mut state, numbers) else {
        return;
    };
    let mut y = 0.0;
    let mut most = 0;
    while agent.state().phase() != Phase::Done {
        let input = match agent.state().phase() {
            Phase::Fresh => Input::Start,
            Phase::Waiting => Input::NoBroadcast,
            _ => Input::Observed(y),
        };
        let mut refused = false;
        probe.dearest(|| match agent.handle_slice(black_box(input), SLICE) {
            Ok(step) => step
                .map(|output| {
                    if let Output::Evaluate { point, .. } = output {
                        y = point.iter().sum::<f32>();
                    }
                })
                .is_ready(),
            Err(_) => {
                refused = true;
                true
            }
        });
        most = probe.result.max(most);
        if refused {
            most = u32::MAX;
            break;
        }
    }
    probe.result = most;
}
