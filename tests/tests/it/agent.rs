//! An agent fails closed: numbers that its format does not hold, stored states that cannot be, a
//! reboot at every step, draws that are not finite, an argmax that is no candidate.

use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::*;
use sordino_core::kernel::Stationary;
use sordino_core::random::RunSeed;
use sordino_core::schedule::{Mixing, WeightConcentration};

const M: usize = 8;
const T: u32 = 12;
const INIT: u32 = 10;
const GRID: u32 = 16;
const AGENT: u32 = 3;
const SEED: RunSeed = RunSeed::new(1234, 0);

fn parameters(own_draw: OwnDraw) -> Parameters {
    Parameters {
        agents: 20,
        regions: Regions::new(&[2]).unwrap(),
        rounds: T,
        initial_points: INIT,
        initial_region: InitialRegion::Own,
        feature_count: M as u32,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw,
        concentration: WeightConcentration::PAPER,
        aggregation: Aggregation::Mean,
    }
}

fn features() -> Vec<f32> {
    let mut numbers = vec![0.0; random_fourier::storage_len(1, M)];
    random_fourier::draw(
        7,
        0,
        Stationary::SquaredExponential,
        &[0.2],
        1,
        M,
        &mut numbers,
    )
    .unwrap();
    numbers
}

/// The prior is diagonal: candidates that know nothing of each other.
fn tried<'a>(
    config: &'a Config,
    features: &'a [f32],
    tables: Tables<'a, f32>,
) -> Result<Public<'a, f32>, PublicError> {
    let features = RandomFourier::new(1, M, 1.0, true, features).unwrap();
    Public::new(config, Candidates::grid(GRID, 1).unwrap(), features, tables)
}

fn public<'a>(config: &'a Config, features: &'a [f32], prior_rows: &'a [f32]) -> Public<'a, f32> {
    tried(
        config,
        features,
        Tables {
            prior_rows,
            ..Tables::NONE
        },
    )
    .unwrap()
}

fn identity() -> Vec<f32> {
    let n = GRID as usize;
    (0..n * n)
        .map(|i| if i / n == i % n { 1.0 } else { 0.0 })
        .collect()
}

fn sensor(candidate: u32) -> f32 {
    let x = candidate as f32 / GRID as f32 - 0.3;
    1.0 - 4.0 * x * x
}

/// Refusal of a fresh agent whose numbers lie in memory full of sevens.
fn refused_number(change: impl FnOnce(&mut Parameters)) -> Option<AgentError> {
    let features = features();
    let mut p = parameters(OwnDraw::Features);
    change(&mut p);
    let config = Config::new(p).unwrap();
    let public = public(&config, &features, &[]);
    let mut numbers = vec![7.0; storage_len(&public)];
    let storage = AgentStorage::split(&public, &mut numbers).unwrap();
    Agent::attach(&public, &mut AgentState::new(AGENT, SEED), storage).err()
}

/// Before the mend the agent of the first line was put together and uploaded `[7.0, 7.0, 7.0]` in
/// every round.
#[test]
fn a_number_that_the_format_does_not_hold_is_refused_at_the_door() {
    let number = |field, value, admissible| {
        Some(AgentError::Number {
            field,
            value,
            format: "f32",
            admissible,
        })
    };
    let positive = "(0, inf)";
    let tiny = refused_number(|p| p.regularization = 1e-50);
    assert_eq!(tiny, number("regularization", 1e-50, positive));
    let text = tiny.unwrap().to_string();
    assert_eq!(
        text,
        format!(
            "regularization = {} is outside (0, inf) when it is rounded to f32",
            1e-50
        )
    );
    let refused = refused_number(|p| p.noise_variance = 1e50);
    assert_eq!(refused, number("noise_variance", 1e50, positive));
    assert_eq!(
        refused_number(|p| p.offset = -1e300),
        number("offset", -1e300, "(-inf, inf)")
    );
    // Negative control: the same number where the format holds it.
    assert_eq!(refused_number(|p| p.regularization = 1e-30), None);
}

/// What does not fit is refused when configuration, candidates, features and tables are joined, by
/// name.
#[test]
fn a_public_context_that_does_not_fit_does_not_exist() {
    let features = features();
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let refused = |tables| tried(&config, &features, tables).err();
    let widths = |confidence_widths| {
        refused(Tables {
            confidence_widths,
            ..Tables::NONE
        })
    };
    assert_eq!(
        widths(&[1.0, -0.5]),
        Some(PublicError::Width {
            round: 2,
            found: -0.5
        })
    );
    assert!(matches!(
        widths(&[f32::NAN]),
        Some(PublicError::Width { round: 1, .. })
    ));
    let length = |what, found, expected| {
        Some(PublicError::Length {
            what,
            found,
            expected,
        })
    };
    // Rows of features and regions are one table: as many regions as candidates, and of regions
    // that exist.
    let n = GRID as usize;
    let phi = vec![0.5; n * M];
    let in_two = [1; 16];
    let in_three = [2; 16];
    let rows = |features, region_of| {
        refused(Tables {
            rows: Some(CandidateRows {
                features,
                region_of,
            }),
            ..Tables::NONE
        })
    };
    assert_eq!(
        rows(&phi[1..], &in_two),
        length("feature rows", n * M - 1, n * M)
    );
    assert_eq!(
        rows(&phi, &in_two[1..]),
        length("candidate regions", n - 1, n)
    );
    assert_eq!(
        rows(&phi, &in_three),
        Some(PublicError::Region {
            candidate: 0,
            found: 2,
            regions: 2
        })
    );
    // A joint draw needs a factor with columns, and as many for every candidate.
    let joint = Config::new(parameters(OwnDraw::Joint)).unwrap();
    for (prior_rows, expected) in [(&[0.0; 0][..], n), (&[1.0; GRID as usize + 1], n)] {
        let refused = tried(
            &joint,
            &features,
            Tables {
                prior_rows,
                ..Tables::NONE
            },
        )
        .err();
        assert_eq!(refused, length("prior factor", prior_rows.len(), expected));
    }
    let wide = Config::new(Parameters {
        feature_count: 9,
        ..parameters(OwnDraw::Features)
    })
    .unwrap();
    assert_eq!(
        tried(&wide, &features, Tables::NONE).err(),
        length("features", M, 9)
    );
    let text = length("features", M, 9).unwrap().to_string();
    assert_eq!(text, "public context: features has 8 entries, 9 expected");
    // Negative control: what fits.
    assert_eq!(widths(&[0.0, 2.0]), None);
    assert_eq!(rows(&phi, &in_two), None);
}

fn stored(phase: Phase, round: u32, observations: u32, pending: u32) -> Vec<u8> {
    postcard::to_allocvec(&(0xa1u8, AGENT, SEED, phase, round, observations, pending)).unwrap()
}

fn attach(bytes: &[u8], log: &mut [f32]) -> Result<Result<(), AgentError>, postcard::Error> {
    let features = features();
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let public = public(&config, &features, &[]);
    let mut workspace = vec![0.0; workspace_len(&public)];
    let mut state: AgentState = postcard::from_bytes(bytes)?;
    let storage = AgentStorage {
        log,
        workspace: Workspace::Owned(&mut workspace),
    };
    Ok(Agent::attach(&public, &mut state, storage).map(|_| ()))
}

/// Before the mend all of these were put together, forty zero bytes as agent 0 with seed 0.
#[test]
fn a_stored_agent_that_cannot_be_is_refused() {
    let mut log = vec![0.0; 2 * (INIT + T) as usize];
    let out = |phase, field, found, range: std::ops::RangeInclusive<u64>| {
        let least = *range.start();
        let most = *range.end();
        Ok(Err(AgentError::State(StateError {
            phase,
            field,
            found,
            least,
            most,
        })))
    };
    let count = "number of observations";
    let impossible = [
        (
            stored(Phase::Waiting, 99, 10, 0),
            out("Waiting", "round", 99, 0..=11),
        ),
        (
            stored(Phase::Waiting, 1, 1000, 0),
            out("Waiting", count, 1000, 10..=11),
        ),
        (
            stored(Phase::Waiting, 5, 9, 0),
            out("Waiting", count, 9, 10..=15),
        ),
        (stored(Phase::Fresh, 0, 5, 0), out("Fresh", count, 5, 0..=0)),
        (
            stored(Phase::Fresh, 1, 0, 0),
            out("Fresh", "round", 1, 0..=0),
        ),
        (
            stored(Phase::Initial, 0, 10, 0),
            out("Initial", count, 10, 0..=9),
        ),
        (
            stored(Phase::Evaluating, 0, 10, 0),
            out("Evaluating", "round", 0, 1..=12),
        ),
        (
            stored(Phase::Evaluating, 3, 13, 0),
            out("Evaluating", count, 13, 10..=12),
        ),
        (
            stored(Phase::Evaluating, 3, 12, 77),
            out("Evaluating", "candidate", 77, 0..=15),
        ),
        (
            stored(Phase::Done, 3, 13, 0),
            out("Done", "round", 3, 12..=12),
        ),
        (
            stored(Phase::Done, 12, 23, 0),
            out("Done", count, 23, 10..=22),
        ),
    ];
    for (bytes, refusal) in impossible {
        assert_eq!(attach(&bytes, &mut log), refusal);
    }
    // Erased flash in both polarities, and the form before the tag, which ends with counts of what
    // was digested.
    let old = postcard::to_allocvec(&(AGENT, SEED, Phase::Waiting, 1u32, 5u32, 0u32, 20u32, 0u32))
        .unwrap();
    for erased in [vec![0; 40], vec![0xff; 40], old] {
        assert!(attach(&erased, &mut log).is_err());
    }
    let zeros = [0; 40];
    let message = serde_json::from_str::<AgentState>(
        r#"{"tag":0,"agent":0,"seed":0,"phase":"Fresh","round":0,"observations":0,"pending":0}"#,
    );
    assert!(
        message
            .unwrap_err()
            .to_string()
            .starts_with("stored agent: begins with 0, 161 is expected")
    );
    assert!(postcard::from_bytes::<AgentState>(&zeros).is_err());
    // A log that does not hold what the state counts.
    for (entry, wrong) in [
        (4, [f32::NAN, 0.0]),
        (0, [0.0, f32::INFINITY]),
        (9, [16.0, 0.0]),
        (1, [0.5, 0.0]),
    ] {
        let mut log = log.clone();
        log[2 * entry..2 * entry + 2].copy_from_slice(&wrong);
        let refusal = AgentError::Log {
            entry: entry as u32,
            candidates: GRID,
        };
        assert_eq!(
            attach(&stored(Phase::Waiting, 0, 10, 0), &mut log),
            Ok(Err(refusal))
        );
        // What is not counted is not read.
        let (phase, counted) = if entry == 0 {
            (Phase::Fresh, 0)
        } else {
            (Phase::Initial, entry as u32)
        };
        assert_eq!(attach(&stored(phase, 0, counted, 0), &mut log), Ok(Ok(())));
    }
    // Negative control: what an agent can be, to both ends.
    for (phase, round, observations) in [
        (Phase::Fresh, 0, 0),
        (Phase::Initial, 0, 9),
        (Phase::Waiting, 0, 10),
        (Phase::Waiting, 11, 10),
        (Phase::Waiting, 11, 21),
        (Phase::Evaluating, 1, 10),
        (Phase::Evaluating, 12, 21),
        (Phase::Done, 12, 10),
        (Phase::Done, 12, 22),
    ] {
        assert_eq!(
            attach(&stored(phase, round, observations, 0), &mut log),
            Ok(Ok(())),
            "{phase:?} {round}"
        );
    }
}

/// Everything an agent does, with this done to state and workspace before every step.
fn play(
    own_draw: OwnDraw,
    mut between: impl FnMut(&mut AgentState, &mut [f32]),
    lent: bool,
) -> (Vec<u32>, Vec<u32>) {
    let features = features();
    let prior = identity();
    let config = Config::new(parameters(own_draw)).unwrap();
    let tables = Tables {
        prior_rows: &prior,
        confidence_widths: &[1.5; T as usize],
        ..Tables::NONE
    };
    let public = tried(&config, &features, tables).unwrap();
    let mut log = vec![0.0; log_len(&config)];
    let mut workspace = vec![0.0; workspace_len(&public)];
    let mut state = AgentState::new(AGENT, SEED);
    let mut queries = Vec::new();
    let mut uploads = Vec::new();
    loop {
        between(&mut state, &mut workspace);
        let workspace = if lent {
            Workspace::Borrowed(&mut workspace)
        } else {
            Workspace::Owned(&mut workspace)
        };
        let storage = AgentStorage {
            log: &mut log,
            workspace,
        };
        let mut agent = Agent::attach(&public, &mut state, storage).unwrap();
        let input = match agent.state().phase() {
            Phase::Fresh => Input::Start,
            Phase::Waiting if agent.state().round() == 4 => Input::Missed,
            Phase::Waiting => Input::NoBroadcast,
            _ => Input::Observed(sensor(agent.state().pending())),
        };
        match agent.handle(input).unwrap() {
            Output::Evaluate { candidate, .. } => queries.push(candidate),
            Output::Upload(weights) => uploads.extend(weights.iter().map(|x| x.to_bits())),
            Output::Wait => {}
            Output::Done => return (queries, uploads),
        }
    }
}

/// A reboot at every step: the state comes back from its bytes, the workspace holds anything.
/// Before the mend the second upload was `[NaN, NaN, NaN]`.
#[test]
fn a_restored_agent_rebuilds_its_posteriors() {
    for own_draw in [OwnDraw::Features, OwnDraw::Joint] {
        let steady = play(own_draw, |_, _| (), false);
        assert_eq!(steady.0.len(), (INIT + T - 1) as usize);
        assert!(steady.1.iter().all(|x| f32::from_bits(*x).is_finite()));
        for rubbish in [0.0, f32::NAN, 7.0] {
            let reboot = |state: &mut AgentState, workspace: &mut [f32]| {
                let bytes = postcard::to_allocvec(state).unwrap();
                assert!(bytes.len() <= 18, "{}", bytes.len());
                *state = postcard::from_bytes(&bytes).unwrap();
                workspace.fill(rubbish);
            };
            assert_eq!(play(own_draw, reboot, false), steady);
            // A copy knows as little of a workspace.
            let copied = |state: &mut AgentState, workspace: &mut [f32]| {
                *state = state.clone();
                workspace.fill(rubbish);
            };
            assert_eq!(play(own_draw, copied, false), steady);
            assert_eq!(
                play(own_draw, |_, workspace| workspace.fill(rubbish), true),
                steady
            );
        }
        // Negative control: the very state, told that its workspace was kept where it was not.
        let spoilt =
            std::panic::catch_unwind(|| play(own_draw, |_, workspace| workspace.fill(7.0), false));
        assert!(spoilt.map_or(true, |spoilt| spoilt != steady));
    }
}

/// Observations beyond what `f32` computes with. Before the mend three NaN left as an upload.
#[test]
fn an_upload_that_is_not_finite_stays_on_the_device() {
    let features = features();
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let public = public(&config, &features, &[]);
    let mut numbers = vec![0.0; storage_len(&public)];
    let mut state = AgentState::new(AGENT, SEED);
    let storage = AgentStorage::split(&public, &mut numbers).unwrap();
    let mut agent = Agent::attach(&public, &mut state, storage).unwrap();
    agent.handle(Input::Start).unwrap();
    for _ in 1..INIT {
        agent.handle(Input::Observed(3e38)).unwrap();
    }
    assert_eq!(
        agent.handle(Input::Observed(3e38)),
        Err(AgentError::UploadNotFinite { index: 0 })
    );
    // The observation is taken and the round is over; the agent waits as if it had uploaded.
    let waiting = agent.state().clone();
    assert_eq!(
        (waiting.phase(), waiting.round(), waiting.observations()),
        (Phase::Waiting, 0, INIT)
    );
    // Alone it has no query to make; a broadcast or a round left out takes it on, to the end.
    assert_eq!(
        agent.handle(Input::NoBroadcast),
        Err(AgentError::DrawNotFinite { index: 0 })
    );
    assert_eq!(*agent.state(), waiting);
    let mut followed = 0;
    let mut left_out = 0;
    let vectors = [0.5; 2 * M];
    loop {
        match agent.handle(Input::Broadcast {
            vectors: &vectors,
            maximum: None,
        }) {
            Ok(Output::Evaluate { .. }) => followed += 1,
            Err(AgentError::DrawNotFinite { .. }) => {
                left_out += 1;
                match agent.handle(Input::Missed).unwrap() {
                    Output::Wait => continue,
                    Output::Done => break,
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
        match agent.handle(Input::Observed(0.5)) {
            Err(AgentError::UploadNotFinite { index: 0 }) => {}
            Ok(Output::Done) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(agent.state().phase() == Phase::Done && followed > 0 && left_out > 0);
    assert_eq!(
        (followed + left_out, agent.state().observations()),
        (T, INIT + followed)
    );
    // The difference to the offset may be infinite where the value is not.
    let config = Config::new(Parameters {
        offset: -3e38,
        ..parameters(OwnDraw::Features)
    })
    .unwrap();
    let public = self::public(&config, &features, &[]);
    let mut state = AgentState::new(AGENT, SEED);
    let storage = AgentStorage::split(&public, &mut numbers).unwrap();
    let mut agent = Agent::attach(&public, &mut state, storage).unwrap();
    agent.handle(Input::Start).unwrap();
    assert_eq!(
        agent.handle(Input::Observed(3e38)),
        Err(AgentError::ObservationNotFinite { round: 0 })
    );
}

/// Before the mend an agent of 16 candidates evaluated candidate 99, at the point that lay in its
/// memory.
#[test]
fn an_argmax_beyond_the_candidates_is_refused() {
    let features = features();
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let public = public(&config, &features, &[]);
    let mut found = 0;
    for n in 0..20 {
        let mut numbers = vec![0.0; storage_len(&public)];
        let mut state = AgentState::new(n, SEED);
        let storage = AgentStorage::split(&public, &mut numbers).unwrap();
        let mut agent = Agent::attach(&public, &mut state, storage).unwrap();
        agent.handle(Input::Start).unwrap();
        for _ in 0..INIT {
            agent.handle(Input::Observed(0.5)).unwrap();
        }
        let before = agent.state().clone();
        let vectors = [1.0; 2 * M];
        for found in [GRID, 99, u32::MAX] {
            let refused = Err(AgentError::BroadcastMaximum {
                found,
                candidates: GRID,
            });
            assert_eq!(
                agent.handle(Input::Broadcast {
                    vectors: &vectors,
                    maximum: Some(found)
                }),
                refused
            );
        }
        assert_eq!(*agent.state(), before);
        // Negative control: the last candidate is one.
        let last = agent
            .handle(Input::Broadcast {
                vectors: &vectors,
                maximum: Some(GRID - 1),
            })
            .unwrap();
        found +=
            u32::from(matches!(last, Output::Evaluate { candidate, .. } if candidate == GRID - 1));
    }
    assert!(found > 0, "no agent followed the broadcast");
}

/// What an agent said last, with the point or the vector to the bit.
fn said(output: &Output<'_, f32>) -> (Option<u32>, Vec<u32>) {
    match output {
        Output::Evaluate {
            candidate, point, ..
        } => (
            Some(*candidate),
            point.iter().map(|x| x.to_bits()).collect(),
        ),
        Output::Upload(vector) => (None, vector.iter().map(|x| x.to_bits()).collect()),
        Output::Wait | Output::Done => (None, Vec::new()),
    }
}

/// At every step a machine that was put together again from what was stored repeats what it said
/// last, in a workspace of its own, and goes on as if nothing had happened.
#[test]
fn an_agent_that_was_restarted_repeats_its_last_word() {
    for own_draw in [OwnDraw::Features, OwnDraw::Joint] {
        let features = features();
        let config = Config::new(parameters(own_draw)).unwrap();
        let rows = identity();
        let public = public(
            &config,
            &features,
            if own_draw == OwnDraw::Joint {
                &rows
            } else {
                &[]
            },
        );
        let mut numbers = vec![0.0; storage_len(&public)];
        let mut state = AgentState::new(AGENT, SEED);
        let vectors = vec![0.25f32; config.broadcast_len()];
        let mut input = Input::Start;
        let mut uploads = 0;
        let mut points = 0;
        loop {
            let storage = AgentStorage::split(&public, &mut numbers).unwrap();
            let mut agent = Agent::attach(&public, &mut state, storage).unwrap();
            let output = agent.handle(input).unwrap();
            let first = said(&output);
            let done = output == Output::Done;
            let bytes = postcard::to_allocvec(agent.state()).unwrap();
            let mut restored: AgentState = postcard::from_bytes(&bytes).unwrap();
            let mut log = numbers[..log_len(&config)].to_vec();
            let mut workspace = vec![9.0; workspace_len(&public)];
            let storage = AgentStorage {
                log: &mut log,
                workspace: Workspace::Borrowed(&mut workspace),
            };
            let mut again = Agent::attach(&public, &mut restored, storage).unwrap();
            for _ in 0..2 {
                assert_eq!(said(&again.repeat().unwrap()), first);
            }
            assert_eq!(restored, state);
            if done {
                break;
            }
            input = match first {
                (Some(candidate), _) => {
                    points += 1;
                    Input::Observed(sensor(candidate))
                }
                (None, vector) => {
                    assert_eq!(vector.len(), M);
                    uploads += 1;
                    Input::Broadcast {
                        vectors: &vectors,
                        maximum: None,
                    }
                }
            };
        }
        assert_eq!((points, uploads), (INIT + T, T));
    }
    let config = Config::new(Parameters {
        aggregation: Aggregation::None,
        ..parameters(OwnDraw::Features)
    })
    .unwrap();
    let features = features();
    let public = public(&config, &features, &[]);
    let mut numbers = vec![0.0; storage_len(&public)];
    let mut state = AgentState::new(AGENT, SEED);
    let storage = AgentStorage::split(&public, &mut numbers).unwrap();
    let mut agent = Agent::attach(&public, &mut state, storage).unwrap();
    assert_eq!(agent.repeat(), Ok(Output::Wait), "nothing was said yet");
    agent.handle(Input::Start).unwrap();
    while agent.state().phase() == Phase::Initial {
        agent.handle(Input::Observed(0.5)).unwrap();
    }
    assert_eq!(agent.repeat(), Ok(Output::Wait), "nothing is ever uploaded");
}
