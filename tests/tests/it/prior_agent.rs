//! A whole federation of prior agents and their server: the same decisions as straight lines over
//! the same functions, also when storage is lent, states are stored, rounds are missed.

use sordino_core::federated::prior::agent::{
    Agent, AgentError, AgentState, Input, Output, log_len, workspace_len,
};
use sordino_core::federated::prior::{
    Draw, Factors, Observations, PriorError, PublicState, Terms, contribution,
    contribution_scratch_len, factors_len, levels, models, query, query_scratch_len, scratch_len,
    storage_len,
};
use sordino_core::federated::{Phase, Workspace};
use sordino_core::linalg::packed_len;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, normal};
use sordino_tests::prior::{M, N, POINTS, World, small};

const ROUNDS: u32 = 5;
const SEED: RunSeed = RunSeed::new(21, 0);

fn observe(common: &[f64], agent: u32, candidate: u32, number: u32) -> f64 {
    let mut stream = SEED.stream(Party::Agent(agent), Purpose::ObservationNoise, number);
    common[candidate as usize] + 0.2 * normal::draw::<f64>(&mut stream)
}

/// The round's common draw after one release of exact sums.
fn draws<T: Scalar>(uploads: &[Vec<T>], state: &mut PublicState<T, Vec<T>>, round: u32) -> Vec<T> {
    let mut scratch = vec![T::ZERO; scratch_len(M, POINTS as usize)];
    if state.terms().is_some() {
        let mut sums = vec![T::ZERO; M + 1];
        uploads
            .iter()
            .for_each(|v| sums.iter_mut().zip(v).for_each(|(sum, x)| *sum += *x));
        state
            .update(&sums, T::from_f64(0.3), 1, &mut scratch)
            .unwrap();
    }
    let mut draw = vec![T::ZERO; M];
    let mut factor = vec![T::ZERO; packed_len(M)];
    state
        .draw(
            &mut SEED.stream(Party::World, Purpose::WeightDraw, round),
            &mut factor,
            &mut draw,
        )
        .unwrap();
    draw
}

fn prepared<T: Scalar>(world: &World<T>, state: &mut PublicState<T, Vec<T>>) -> Terms<T> {
    let mut scratch = vec![T::ZERO; scratch_len(M, POINTS as usize)];
    state.prepare(&world.public(true), &mut scratch).unwrap()
}

/// Every agent's log by straight lines: initial points, then per round a release, the draw, a
/// query.
fn as_a_loop(world: &World<f64>) -> Vec<Vec<f64>> {
    let common = world.function(SEED, Party::World);
    let mut logs: Vec<Vec<f64>> = Vec::new();
    for n in 0..N {
        let mut log = Vec::new();
        for i in 0..POINTS {
            let x = SEED
                .stream(Party::Agent(n), Purpose::InitialPoints, i)
                .below(world.candidates);
            log.extend([f64::from(x), observe(&common, n, x, i)]);
        }
        logs.push(log);
    }
    let mut state = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
    for round in 1..=ROUNDS {
        let terms = prepared(world, &mut state);
        let public = world.public(true);
        let uploads: Vec<Vec<f64>> = logs
            .iter()
            .map(|log| {
                let seen = Observations::new(log, 40).unwrap();
                let mut work = vec![0.0; contribution_scratch_len(seen.len())];
                let mut out = vec![0.0; M + 1];
                contribution(&public, &terms, state.weights(), &seen, &mut work, &mut out).unwrap();
                out
            })
            .collect();
        let draw = draws(&uploads, &mut state, round);
        for (n, log) in (0..N).zip(&mut logs) {
            let seen = Observations::new(log, 40).unwrap();
            let mut work = vec![0.0; query_scratch_len(seen.len(), world.rank)];
            let mut rows = 0;
            let mut numbers = vec![0.0; factors_len(seen.len(), levels(&models::<f64>(0)))];
            let factors = &mut Factors::new(seen.len(), &mut rows, &mut numbers);
            let draw = Some(&Draw {
                weights: &draw,
                values: &[],
            });
            let stream = &mut SEED.stream(Party::Agent(n), Purpose::OwnDraw, round);
            let next = query(&public, &models(0), draw, &seen, stream, factors, &mut work).unwrap();
            let y = observe(&common, n, next.candidate, POINTS + round - 1);
            log.extend([f64::from(next.candidate), y]);
        }
    }
    logs
}

/// How machines are run.
#[derive(Clone, Copy, PartialEq)]
enum Run {
    /// One workspace for all; between inputs every state is stored and read again.
    Lent,
    /// Each agent its own.
    Kept,
    /// Each agent its own, and states are stored and read again now and then.
    Restored,
}

/// The same by machines.
fn by_machines(world: &World<f64>, run: Run) -> Vec<Vec<f64>> {
    let common = world.function(SEED, Party::World);
    let public = world.public(true);
    let models = models::<f64>(0);
    let len = log_len(POINTS as usize, ROUNDS as usize);
    let needed = workspace_len(len / 2, M, world.rank, levels(&models));
    let mut workspaces =
        vec![vec![f64::NAN; needed]; if run == Run::Lent { 1 } else { N as usize }];
    let mut told = 0;
    let mut states: Vec<AgentState> = (0..N).map(|n| AgentState::new(n, SEED)).collect();
    let mut logs = vec![vec![0.0; len]; N as usize];
    let mut tell =
        |n: usize, input: Input<'_, f64>, states: &mut [AgentState], logs: &mut [Vec<f64>]| {
            told += 1;
            if run == Run::Lent || (run == Run::Restored && told % 7 == 0) {
                states[n] =
                    postcard::from_bytes(&postcard::to_allocvec(&states[n]).unwrap()).unwrap();
            }
            let workspace = match &mut workspaces[..] {
                [one] => Workspace::Borrowed(one),
                own => Workspace::Owned(&mut own[n]),
            };
            let state = &mut states[n];
            let log = &mut logs[n][..];
            let mut agent = Agent::attach(&public, &models, ROUNDS, state, log, workspace).unwrap();
            match agent.handle(input).unwrap() {
                Output::Evaluate(candidate) => (Some(candidate), Vec::new()),
                Output::Upload(vector) => (None, vector.to_vec()),
                Output::Wait | Output::Done => (None, Vec::new()),
            }
        };
    for n in 0..N as usize {
        let (mut next, _) = tell(n, Input::Start, &mut states, &mut logs);
        let mut number = 0;
        while let Some(candidate) = next {
            let y = observe(&common, n as u32, candidate, number);
            next = tell(n, Input::Observed(y), &mut states, &mut logs).0;
            number += 1;
        }
        assert_eq!((states[n].phase(), number), (Phase::Waiting, POINTS));
    }
    let mut state = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
    for round in 1..=ROUNDS {
        let terms = prepared(world, &mut state);
        let weights = state.weights().to_vec();
        let uploads: Vec<Vec<f64>> = (0..N as usize)
            .map(|n| {
                tell(
                    n,
                    Input::Terms {
                        terms,
                        weights: &weights,
                    },
                    &mut states,
                    &mut logs,
                )
                .1
            })
            .collect();
        let draw = draws(&uploads, &mut state, round);
        let mut values = vec![0.0; world.candidates as usize];
        Draw::values_of(&public, &draw, &mut values).unwrap();
        for n in 0..N as usize {
            let draw = Draw {
                weights: &draw,
                values: if run == Run::Kept { &values } else { &[] },
            };
            let candidate = tell(n, Input::Draw(draw), &mut states, &mut logs)
                .0
                .unwrap();
            let y = observe(&common, n as u32, candidate, POINTS + round - 1);
            let _ = tell(n, Input::Observed(y), &mut states, &mut logs);
        }
    }
    assert!(states.iter().all(|state| state.phase() == Phase::Done));
    logs
}

#[test]
fn agents_are_their_loop() {
    let world = small(N);
    let straight = as_a_loop(&world);
    let bits = |logs: &[Vec<f64>]| {
        logs.concat()
            .iter()
            .map(|x| x.to_bits())
            .collect::<Vec<_>>()
    };
    for run in [Run::Lent, Run::Kept, Run::Restored] {
        assert_eq!(bits(&straight), bits(&by_machines(&world, run)));
    }
    // Negative control: agents do not all look at the same points.
    assert!(
        straight
            .windows(2)
            .any(|pair| pair[0][2 * POINTS as usize] != pair[1][2 * POINTS as usize])
    );
}

#[test]
fn an_agent_refuses_what_does_not_belong_and_goes_on_alone() {
    let world = small(N);
    let public = world.public(true);
    let models = models::<f64>(0);
    let len = log_len(POINTS as usize, ROUNDS as usize);
    let mut log = vec![0.0; len];
    let mut workspace = vec![0.0; workspace_len(len / 2, M, world.rank, levels(&models))];
    let mut state = AgentState::new(0, SEED);
    let mut agent = Agent::attach(
        &public,
        &models,
        ROUNDS,
        &mut state,
        &mut log,
        Workspace::Borrowed(&mut workspace),
    )
    .unwrap();
    assert_eq!(
        agent.handle(Input::NoDraw),
        Err(AgentError::UnexpectedInput {
            phase: Phase::Fresh,
            input: "no draw"
        })
    );
    let _ = agent.handle(Input::Start).unwrap();
    assert!(agent.handle(Input::Observed(f64::NAN)).is_err());
    for _ in 0..POINTS {
        let _ = agent.handle(Input::Observed(0.5)).unwrap();
    }
    assert!(
        agent
            .handle(Input::Draw(Draw {
                weights: &[0.0; M - 1],
                values: &[]
            }))
            .is_err()
    );
    assert!(
        agent
            .handle(Input::Draw(Draw {
                weights: &[f64::INFINITY; M],
                values: &[]
            }))
            .is_err()
    );
    let terms = Terms {
        ridge: f64::NAN,
        clip_radius: 1.0,
        response: 1.0,
    };
    assert!(matches!(
        agent.handle(Input::Terms {
            terms,
            weights: &[0.0; M]
        }),
        Err(AgentError::Prior(PriorError::Number { what: "ridge", .. }))
    ));
    assert_eq!(agent.state().phase(), Phase::Waiting);
    assert_eq!(agent.handle(Input::Missed), Ok(Output::Wait));
    while agent.state().phase() != Phase::Done {
        assert!(
            matches!(agent.handle(Input::NoDraw), Ok(Output::Evaluate(candidate)) if candidate < 40)
        );
        let _ = agent.handle(Input::Observed(0.1)).unwrap();
    }
    assert_eq!(agent.state().observations(), POINTS + ROUNDS - 1);
    // Stored states and logs that cannot be.
    log[0] = 40.5;
    assert!(
        Agent::attach(
            &public,
            &models,
            ROUNDS,
            &mut state,
            &mut log,
            Workspace::Borrowed(&mut workspace)
        )
        .is_err()
    );
    log[0] = 1.0;
    assert!(
        Agent::attach(
            &public,
            &models[1..],
            ROUNDS,
            &mut state,
            &mut log,
            Workspace::Borrowed(&mut workspace)
        )
        .is_err()
    );
    let mut stranger = AgentState::new(N, SEED);
    let refused = Agent::attach(
        &public,
        &models,
        ROUNDS,
        &mut stranger,
        &mut log,
        Workspace::Borrowed(&mut workspace),
    );
    assert_eq!(
        refused.err(),
        Some(AgentError::NotEnrolled {
            agent: N,
            agents: N
        })
    );
}
