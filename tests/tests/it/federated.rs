//! The federated protocol under bad input and under transformations that must not matter.

use sordino_core::federated::*;
use sordino_core::privacy::{Provenance, Simulation};
use sordino_core::random::{Party, Purpose, Simulated};
use sordino_tests::federation::*;
use sordino_tests::receipts::server_paid;

fn honest() -> Transcript {
    run(&shared(), parameters(OwnDraw::Features), true, |_, _, _| ())
}

#[test]
fn every_release_is_charged_once_and_there_are_exactly_t() {
    let transcript = honest();
    assert_eq!(
        (transcript.charges.len(), transcript.broadcasts.len()),
        (T as usize, T as usize)
    );
    assert_eq!(transcript.queries.len(), (N * (N_INIT + T)) as usize);
}

/// A vector without a finite norm counts as zero: exactly as if the agent had sent zeros, with no
/// word to anybody.
#[test]
fn non_finite_and_overflowing_vectors_count_as_zero() {
    let shared = shared();
    let with = |values: [f64; 2]| {
        run(
            &shared,
            parameters(OwnDraw::Features),
            true,
            |t, n, vector| {
                if t == 2 && n < 3 {
                    vector.fill(0.0);
                    vector[0] = values[0];
                    vector[M - 1] = values[1];
                }
            },
        )
    };
    let zero = with([0.0, -0.0]);
    for bad in [
        [f64::NAN, 1.0],
        [1.0, f64::INFINITY],
        [f64::NEG_INFINITY, f64::INFINITY],
        [1e308, 1e308],
        [-1e200, 0.0],
    ] {
        assert_eq!(with(bad), zero, "{bad:?}");
    }
    // Negative control: a finite vector does count (somebody among three is selected with this
    // seed).
    assert_ne!(with([1.0, 1.0]), zero);
    // Huge but measurable: clipped, not zeroed.
    assert_eq!(
        with([1e150, 0.0]).broadcasts[2],
        with([7.0, 0.0]).broadcasts[2]
    );
}

/// When every vector is clipped the broadcast scales with S, noise and all, and no argmax moves.
#[test]
fn halving_a_small_clipping_norm_changes_no_query() {
    let shared = shared();
    let with = |clipping_norm| {
        let aggregation = private(clipping_norm, Q);
        run(
            &shared,
            Parameters {
                aggregation,
                ..parameters(OwnDraw::Features)
            },
            true,
            |_, _, _| (),
        )
    };
    let small = with(1e-2);
    let half = with(5e-3);
    assert_eq!(small.queries, half.queries);
    for (a, b) in small
        .broadcasts
        .iter()
        .flatten()
        .zip(half.broadcasts.iter().flatten())
    {
        assert_eq!(*a, 2.0 * b);
    }
    // Negative control: above the norms of the vectors S does matter.
    assert_ne!(with(400.0).queries, small.queries);
}

#[test]
fn an_empty_sample_releases_pure_noise_and_is_charged() {
    let shared = shared();
    let nobody = Parameters {
        aggregation: private(S, 1e-15),
        ..parameters(OwnDraw::Features)
    };
    let transcript = run(&shared, nobody.clone(), true, |_, _, _| ());
    assert_eq!(transcript.charges.len(), T as usize);
    assert!(
        transcript
            .broadcasts
            .iter()
            .all(|b| b.iter().any(|x| *x != 0.0))
    );
    // Nothing of any vector is in it.
    let tampered = run(&shared, nobody, true, |_, _, vector| vector.fill(1.0));
    assert_eq!(tampered.broadcasts, transcript.broadcasts);
}

/// Two neighbouring simulated runs with one seed differ by exactly the contribution: why seeds are
/// secret.
#[test]
fn one_seed_on_neighbouring_data_cancels_the_noise() {
    let config = Config::new(Parameters {
        aggregation: private(S, 1.0),
        ..parameters(OwnDraw::Features)
    })
    .unwrap();
    let release = |vector: &[f64]| {
        with_server(&config, |server, source| {
            server.handle(ServerInput::Open, source).unwrap();
            server
                .handle(
                    ServerInput::Upload {
                        agent: 0,
                        broadcast: 0,
                        vector,
                    },
                    source,
                )
                .unwrap();
            released(server, source)
        })
    };
    let present = release(&[0.5; M]);
    let absent = release(&[0.0; M]);
    let weight = config.weight(15.0, 0, 0);
    for (a, b) in present[..M].iter().zip(&absent) {
        assert!((a - b - weight * 0.5).abs() < 1e-4, "{}", a - b);
    }
}

/// Everything that a sender can do wrong is a named error to it, and the round goes on as if it had
/// not happened.
#[test]
fn wrong_uploads_are_refused_by_name_and_nothing_is_lost() {
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let upload = |agent, broadcast, vector| ServerInput::Upload {
        agent,
        broadcast,
        vector,
    };
    let round = |bad: bool| {
        with_server(&config, |server, source| {
            server.handle(ServerInput::Open, source).unwrap();
            for agent in 0..N {
                server.handle(upload(agent, 0, &[0.1; M]), source).unwrap();
                if bad {
                    let refused = [
                        (
                            upload(agent, 0, &[9.0; M]),
                            ServerError::DuplicateUpload {
                                agent,
                                broadcast: 0,
                            },
                        ),
                        (
                            upload(N, 0, &[9.0; M]),
                            ServerError::UnknownAgent {
                                agent: N,
                                agents: N,
                            },
                        ),
                        (
                            upload(agent, 1, &[9.0; M]),
                            ServerError::WrongBroadcast {
                                agent,
                                found: 1,
                                expected: 0,
                            },
                        ),
                        (
                            upload(agent, 0, &[9.0; 3]),
                            ServerError::VectorLength {
                                agent,
                                len: 3,
                                expected: M,
                            },
                        ),
                    ];
                    for (input, error) in refused {
                        assert_eq!(server.handle(input, source), Err(error));
                    }
                    let charged = server.handle(elsewhere(), source);
                    assert!(matches!(charged, Err(ServerError::UnexpectedInput { .. })));
                }
            }
            let paid = server_paid(server.handle(ServerInput::Close, source).unwrap());
            let late = server.handle(upload(0, 0, &[9.0; M]), source);
            assert!(matches!(late, Err(ServerError::UnexpectedInput { .. })));
            broadcast_of(server.handle(paid, source).unwrap())
        })
    };
    assert_eq!(round(true), round(false));
}

#[test]
fn the_order_of_uploads_does_not_matter() {
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let round = |order: &[u32]| {
        with_server(&config, |server, source| {
            server.handle(ServerInput::Open, source).unwrap();
            for agent in order {
                let vector = [0.3 * f64::from(*agent) - 0.7; M];
                server
                    .handle(
                        ServerInput::Upload {
                            agent: *agent,
                            broadcast: 0,
                            vector: &vector,
                        },
                        source,
                    )
                    .unwrap();
            }
            released(server, source)
        })
    };
    assert_eq!(round(&[0, 1, 2, 3, 4, 5]), round(&[4, 0, 5, 3, 1, 2]));
}

/// A refused budget skips the broadcast; the machine goes on.
#[test]
fn a_skipped_broadcast_releases_nothing() {
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    with_server(&config, |server, source| {
        assert_eq!(
            server.handle(ServerInput::Skip, source),
            Ok(ServerOutput::NoBroadcast { broadcast: 0 })
        );
        server.handle(ServerInput::Open, source).unwrap();
        server.handle(ServerInput::Close, source).unwrap();
        assert_eq!(
            server.handle(ServerInput::Skip, source),
            Ok(ServerOutput::NoBroadcast { broadcast: 1 })
        );
        assert_eq!(
            (server.state().releases(), server.state().broadcast()),
            (0, 2)
        );
    });
}

#[test]
fn agents_refuse_what_does_not_belong() {
    let shared = shared();
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let public = public(&shared, &config, &[]);
    let mut state = AgentState::new(0, run_seed());
    let mut short = vec![0.0; storage_len(&public) - 1];
    assert!(matches!(
        AgentStorage::split(&public, &mut short),
        Err(AgentError::Storage { .. })
    ));
    let mut storage = vec![0.0; storage_len(&public)];
    let mut stranger = AgentState::new(N, run_seed());
    let whole = AgentStorage::split(&public, &mut storage).unwrap();
    let refused = Agent::attach(&public, &mut stranger, whole).err();
    assert_eq!(
        refused,
        Some(AgentError::NotEnrolled {
            agent: N,
            agents: N
        })
    );

    let whole = AgentStorage::split(&public, &mut storage).unwrap();
    let mut agent = Agent::attach(&public, &mut state, whole).unwrap();
    assert!(matches!(
        agent.handle(Input::Observed(1.0)),
        Err(AgentError::UnexpectedInput { .. })
    ));
    agent.handle(Input::Start).unwrap();
    let before = agent.state().clone();
    for y in [f64::NAN, f64::INFINITY] {
        assert_eq!(
            agent.handle(Input::Observed(y)),
            Err(AgentError::ObservationNotFinite { round: 0 })
        );
    }
    assert_eq!(*agent.state(), before);
    for _ in 0..N_INIT {
        agent.handle(Input::Observed(0.5)).unwrap();
    }
    let before = agent.state().clone();
    let expected = P as usize * M;
    assert_eq!(
        agent.handle(Input::Broadcast {
            vectors: &[0.0; 3],
            maximum: None
        }),
        Err(AgentError::BroadcastLength { len: 3, expected })
    );
    let mut nan = vec![0.0; expected];
    nan[7] = f64::NAN;
    assert_eq!(
        agent.handle(Input::Broadcast {
            vectors: &nan,
            maximum: None
        }),
        Err(AgentError::BroadcastNotFinite { index: 7 })
    );
    assert_eq!(*agent.state(), before);
    assert!(matches!(
        agent.handle(Input::NoBroadcast),
        Ok(Output::Evaluate { .. })
    ));
}

#[test]
fn configurations_name_what_is_wrong() {
    let refuse = |change: fn(&mut Parameters), field: &str| {
        let mut p = parameters(OwnDraw::Features);
        change(&mut p);
        let error = Config::new(p).unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.to_string().contains(error.admissible), "{error}");
    };
    refuse(|p| p.agents = 0, "agents");
    refuse(|p| p.rounds = 0, "rounds");
    refuse(|p| p.initial_points = 0, "initial_points");
    refuse(|p| p.feature_count = 0, "feature_count");
    refuse(|p| p.regularization = 0.0, "regularization");
    refuse(|p| p.noise_variance = f64::NAN, "noise_variance");
    refuse(|p| p.offset = f64::INFINITY, "offset");
    refuse(|p| p.concentration.start = -1.0, "concentration.start");
    refuse(|p| p.aggregation = private(S, 1.5), "sampling_probability");
    refuse(
        |p| p.aggregation = private(S, f64::NAN),
        "sampling_probability",
    );
}

/// A receipt that another server's charge was given.
fn elsewhere<'i>() -> ServerInput<'i, f64, Simulation> {
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    with_server(&config, |server, _| {
        let source = &mut Simulated::new(run_seed().stream(Party::Server, Purpose::Release, 99));
        server.handle(ServerInput::Open, source).unwrap();
        server_paid(server.handle(ServerInput::Close, source).unwrap())
    })
}

fn broadcast_of<P: Provenance>(output: ServerOutput<'_, f64, P>) -> Vec<f64> {
    match output {
        ServerOutput::Broadcast { release, .. } => release.value().to_vec(),
        other => panic!("{other:?}"),
    }
}

/// Closes, charges, releases.
fn released(server: &mut Server<'_, f64>, source: &mut Simulated) -> Vec<f64> {
    let paid = server_paid(server.handle(ServerInput::Close, source).unwrap());
    broadcast_of(server.handle(paid, source).unwrap())
}

fn with_server<R>(
    config: &Config,
    act: impl FnOnce(&mut Server<'_, f64>, &mut Simulated) -> R,
) -> R {
    let mut state = ServerState::new();
    let mut numbers = ServerNumbers::new(config);
    let mut server = Server::attach(config, &mut state, numbers.lend()).unwrap();
    act(
        &mut server,
        &mut Simulated::new(run_seed().stream(Party::Server, Purpose::Release, 0)),
    )
}

/// Whoever goes on from a state that was stored inside a broadcast begins it again: new coins,
/// empty sums, a new charge. A second release from the first sample would be charged as if the
/// sample were new.
#[test]
fn a_state_stored_inside_a_broadcast_begins_it_again() {
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let mut stored = Vec::new();
    with_server(&config, |server, source| {
        server.handle(ServerInput::Open, source).unwrap();
        let upload = ServerInput::Upload {
            agent: 2,
            broadcast: 0,
            vector: &[0.5; M],
        };
        assert_eq!(format!("{upload:?}"), "Upload");
        server.handle(upload, source).unwrap();
        stored.push(serde_json::to_string(server.state()).unwrap());
        assert!(matches!(
            server.handle(ServerInput::Close, source),
            Ok(ServerOutput::Charge(_))
        ));
        stored.push(serde_json::to_string(server.state()).unwrap());
        assert!(!format!("{:?}", server.state()).contains("selected"));
    });
    let mut numbers = ServerNumbers::<f64>::new(&config);
    for stored in stored {
        let mut state: ServerState = serde_json::from_str(&stored).unwrap();
        // The numbers are as they were: a host that stored them too.
        let storage = numbers.lend();
        storage.sums.fill(1);
        storage.flags.fill(1);
        let mut server = Server::attach(&config, &mut state, storage).unwrap();
        let source = &mut Simulated::new(run_seed().stream(Party::Server, Purpose::Release, 7));
        for early in [elsewhere(), ServerInput::Close] {
            assert!(matches!(
                server.handle(early, source),
                Err(ServerError::UnexpectedInput { .. })
            ));
        }
        server.handle(ServerInput::Open, source).unwrap();
        assert_eq!(server.state().counters().received, 0, "nobody has uploaded");
        let after = released(&mut server, source);
        // Nothing of what was there before the restore is in it: a server that never saw an upload
        // says the same.
        let fresh = with_server(&config, |server, _| {
            let source = &mut Simulated::new(run_seed().stream(Party::Server, Purpose::Release, 7));
            server.handle(ServerInput::Open, source).unwrap();
            released(server, source)
        });
        assert_eq!(after, fresh);
    }
}

/// Coins, sums and noise of a broadcast belong together.
#[test]
fn a_broadcast_is_of_one_configuration_and_one_kind_of_source() {
    let config = Config::new(parameters(OwnDraw::Features)).unwrap();
    let mut numbers = ServerNumbers::new(&config);
    let mut state = ServerState::new();
    let mut simulated = Simulated::new(run_seed().stream(Party::Server, Purpose::Release, 0));
    let mut secret = sordino_tests::secret::secret_of(1);
    macro_rules! server {
        ($config:expr) => {
            Server::<f64>::attach($config, &mut state, numbers.lend())
        };
    }
    server!(&config)
        .unwrap()
        .handle(ServerInput::Open, &mut simulated)
        .unwrap();
    // Sums made on one grid are not noised on another.
    let mut other = parameters(OwnDraw::Features);
    if let Aggregation::Private { grid_exponent, .. } = &mut other.aggregation {
        *grid_exponent = 16;
    }
    let other = Config::new(other).unwrap();
    assert_eq!(
        server!(&other).err(),
        Some(ServerError::Reconfigured { broadcast: 0 })
    );
    let paid = server_paid(
        server!(&config)
            .unwrap()
            .handle(ServerInput::Close, &mut simulated)
            .unwrap(),
    );
    // Secret noise over a sample that a seed tells would pass for more than it is: the charge is
    // named again for the other kind of source, and still nothing is released.
    let secretly = server_paid(
        server!(&config)
            .unwrap()
            .handle(ServerInput::Close, &mut secret)
            .unwrap(),
    );
    let refused = server!(&config)
        .unwrap()
        .handle(secretly, &mut secret)
        .map(|_| ());
    assert!(matches!(refused, Err(ServerError::MixedSources { .. })));
    assert_eq!(
        (state.phase(), state.releases()),
        (ServerPhase::Charging, 0)
    );
    let released = server!(&config)
        .unwrap()
        .handle(paid, &mut simulated)
        .map(|_| ());
    assert_eq!((released, state.releases()), (Ok(()), 1));
    // Between broadcasts another configuration is another run's business, not refused here.
    assert!(server!(&other).is_ok());
}

#[test]
fn noise_serves_the_mechanism_that_drew_it_and_no_other() {
    use sordino_core::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
    use sordino_core::privacy::sampling::SamplingProbability;
    let mechanism = |m| GridGaussian::new(m, 1.0, SamplingProbability::ONE, 10).unwrap();
    let source = &mut Simulated::new(run_seed().stream(Party::Server, Purpose::Release, 0));
    let mut pool = [0i64; 3];
    let mut sums = [7i64; 3];
    let mut out = [0.0f64; 3];
    let noise = mechanism(10).fill_noise(source, &mut pool).unwrap();
    assert_eq!(format!("{noise:?}"), "NoisePool { coordinates: 3 }");
    let sample = mechanism(20).sample(source, &mut [0; 2]).unwrap();
    let refused = mechanism(20)
        .release(&mut sums, sample, noise, 1.0, &mut out)
        .unwrap_err();
    assert_eq!(
        refused,
        GaussianError::OtherNoise {
            drawn: 10,
            expected: 20
        }
    );
    assert_eq!((sums, out), ([7; 3], [0.0; 3]));
}
