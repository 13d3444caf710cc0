//! Slices of work: the same transcript as in one go, also where work is given up half way.

extern crate std;

use super::super::config::{Aggregation, InitialRegion, OwnDraw, Parameters, Signal};
use super::super::messages::Input;
use super::super::public::Tables;
use super::*;
use crate::domain::Candidates;
use crate::features::{RandomFourier, random_fourier};
use crate::kernel::Stationary;
use crate::privacy::{ClippingNorm, NoiseMultiplier};
use crate::random::{RunSeed, Stream, normal};
use crate::schedule::{Mixing, WeightConcentration};
use std::vec;
use std::vec::Vec;

const M: usize = 12;
const ROUNDS: u32 = 14;

fn config() -> Config {
    Config::new(Parameters {
        agents: 5,
        regions: Regions::new(&[2, 2]).unwrap(),
        rounds: ROUNDS,
        // Seven observations are the first in the primal form.
        initial_points: 3,
        initial_region: InitialRegion::Own,
        feature_count: M as u32,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.25,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        concentration: WeightConcentration::PAPER,
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(5.0).unwrap(),
            sampling_probability: 0.5,
            noise_multiplier: NoiseMultiplier::new(1.0).unwrap(),
            grid_exponent: 16,
            signal: Signal::Vectors,
        },
    })
    .unwrap()
}

/// What goes wrong between slices.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    /// The agent is dropped and joined again with its kept workspace.
    Rejoined,
    /// State and log are stored and read again; the workspace is lost.
    Restarted,
    /// It is told that there is no broadcast, and then that there is one after all.
    Interrupted,
}

/// Everything an agent says in a run, as numbers, in slices of `candidates` (all at once if 0), and
/// the number of slices.
fn run<T: Scalar>(candidates: u32, trouble: Trouble) -> (Vec<f64>, u32) {
    let config = config();
    let mut numbers = vec![T::ZERO; random_fourier::storage_len(2, M)];
    random_fourier::draw(5, 0, Stationary::Matern52, &[0.3], 2, M, &mut numbers).unwrap();
    let features = RandomFourier::new(2, M, T::ONE, true, &numbers[..]).unwrap();
    let wide = Tables {
        confidence_widths: &[T::from_f64(1.5); 5],
        ..Tables::NONE
    };
    let public = Public::new(&config, Candidates::grid(9, 2).unwrap(), features, wide).unwrap();
    let mut log = vec![T::ZERO; log_len(&config)];
    let mut workspace = vec![T::ZERO; workspace_len(&public)];
    let mut state = AgentState::new(2, RunSeed::new(9, 0));
    let mut said = Vec::new();
    let mut slices = 0;
    let mut stream = Stream::from_seed(40);
    let mut vectors = vec![T::ZERO; 4 * M];
    let mut y = T::ZERO;
    while state.phase() != Phase::Done {
        let input = match state.phase() {
            Phase::Fresh => Input::Start,
            Phase::Waiting if state.round() == 5 => Input::NoBroadcast,
            Phase::Waiting => {
                normal::fill(&mut stream, &mut vectors);
                Input::Broadcast {
                    vectors: &vectors,
                    maximum: None,
                }
            }
            _ => Input::Observed(y),
        };
        let mut pieces = 0;
        loop {
            let numbers = AgentStorage {
                log: &mut log,
                workspace: Workspace::Owned(&mut workspace),
            };
            let mut agent = Agent::attach(&public, &mut state, numbers).unwrap();
            // A change of agents gives up what was begun, so the slices grow until they hold all of
            // it.
            let effort = if trouble == Trouble::None {
                candidates
            } else {
                candidates << pieces.min(12)
            };
            let mut step = if candidates == 0 {
                agent.handle(input).map(Poll::Ready)
            } else {
                agent.handle_slice(input, effort)
            };
            while trouble == Trouble::None && step == Ok(Poll::Pending) {
                slices += 1;
                step = agent.handle_slice(input, candidates);
            }
            if step == Ok(Poll::Pending) {
                (slices, pieces) = (slices + 1, pieces + 1);
                if trouble == Trouble::Interrupted && matches!(input, Input::Broadcast { .. }) {
                    let _ = agent
                        .handle_slice(Input::NoBroadcast, 1)
                        .unwrap()
                        .is_pending();
                    let answer = agent.handle(input).unwrap();
                    say(answer, &mut said, &mut y);
                    break;
                }
                if trouble == Trouble::Restarted {
                    let mut bytes = [0; 64];
                    let bytes = postcard::to_slice(&state, &mut bytes).unwrap();
                    state = postcard::from_bytes(bytes).unwrap();
                    workspace.fill(T::from_f64(f64::NAN));
                }
                continue;
            }
            let Ok(Poll::Ready(answer)) = step else {
                panic!("refused")
            };
            say(answer, &mut said, &mut y);
            break;
        }
        slices += 1;
    }
    (said, slices)
}

fn say<T: Scalar>(answer: Output<'_, T>, said: &mut Vec<f64>, y: &mut T) {
    match answer {
        Output::Evaluate {
            candidate,
            point,
            number,
        } => {
            said.extend([f64::from(candidate), f64::from(number)]);
            *y = point[0] - point[1] * point[1] + T::from_f64(0.1 * f64::from(number % 3));
        }
        Output::Upload(weights) => said.extend(weights.iter().map(|x| x.to_f64())),
        Output::Wait => said.push(-1.0),
        Output::Done => said.push(-2.0),
    }
}

#[test]
fn slices_of_any_size_say_what_one_go_says() {
    let double = run::<f64>(0, Trouble::None);
    let single = run::<f32>(0, Trouble::None);
    // 3 + 14 queries, an upload after the initial points and after every round but the last.
    assert_eq!(double.0.len(), 2 * 17 + 14 * M + 1);
    for candidates in [1, 2, 7, 40, 1000] {
        let a = run::<f64>(candidates, Trouble::None);
        let b = run::<f32>(candidates, Trouble::None);
        assert_eq!((&a.0, &b.0), (&double.0, &single.0), "{candidates}");
        assert!(
            candidates > 40 || (a.1 > double.1 + 14 && b.1 > single.1 + 14),
            "{candidates}: {} {}",
            a.1,
            b.1
        );
    }
}

#[test]
fn work_that_is_given_up_leaves_nothing_behind() {
    let whole = run::<f32>(0, Trouble::None);
    for trouble in [Trouble::Rejoined, Trouble::Restarted, Trouble::Interrupted] {
        for candidates in [1, 3, 10] {
            let (said, slices) = run::<f32>(candidates, trouble);
            assert_eq!(said, whole.0);
            assert!(slices > whole.1 + 14);
        }
    }
}

#[test]
fn an_observation_counts_only_when_it_is_digested() {
    let config = config();
    let mut numbers = vec![0.0f32; random_fourier::storage_len(2, M)];
    random_fourier::draw(5, 0, Stationary::Matern52, &[0.3], 2, M, &mut numbers).unwrap();
    let features = RandomFourier::new(2, M, 1.0, true, &numbers[..]).unwrap();
    let public = Public::streamed(&config, Candidates::grid(9, 2).unwrap(), features).unwrap();
    // Two agents observe 7 last; one of them is told 900 first, for one slice, and then restarted.
    let upload = |troubled: bool| {
        let mut storage = vec![0.0; storage_len(&public)];
        let mut state = AgentState::new(2, RunSeed::new(9, 0));
        let mut numbers = AgentStorage::split(&public, &mut storage).unwrap();
        let mut agent = Agent::attach(&public, &mut state, numbers).unwrap();
        agent.handle(Input::Start).unwrap();
        agent.handle(Input::Observed(1.0)).unwrap();
        agent.handle(Input::Observed(2.0)).unwrap();
        if troubled {
            let mut slices = 0;
            while agent.shared.observations() < 3 {
                assert!(
                    agent
                        .handle_slice(Input::Observed(900.0), 1)
                        .unwrap()
                        .is_pending()
                );
                slices += 1;
            }
            assert!(
                slices == 3
                    && agent.state().observations() == 2
                    && agent.state().phase() == Phase::Initial
            );
            assert_eq!(agent.observations().count(), 2);
        }
        drop(agent);
        numbers = AgentStorage::split(&public, &mut storage).unwrap();
        let mut agent = Agent::attach(&public, &mut state, numbers).unwrap();
        match agent.handle(Input::Observed(7.0)).unwrap() {
            Output::Upload(weights) => weights.to_vec(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(upload(false), upload(true));
}
