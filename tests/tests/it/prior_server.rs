//! The server of the federated prior: the same bits as the loop, one charge a release, nothing
//! without a receipt.

use sordino_core::federated::prior::{
    Config, Filter, JointVectors, Mechanism, Observations, Parameters, Plan, PublicState,
    contribution, contribution_scratch_len, event, repeats, scratch_len, storage_len,
};
use sordino_core::federated::{
    Collector, CollectorStorage, Counters, PartialError, Server, ServerError, ServerInput,
    ServerOutput, ServerPhase, ServerState, ServerStorage,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::Event;
use sordino_core::random::{Party, Purpose, RunSeed, Simulated};
use sordino_tests::prior::{M, N, POINTS, World, logs, small};
use sordino_tests::receipts::receipt;

const ROUNDS: [u32; 3] = [0, 0, 4];
const MULTIPLIERS: [f64; 3] = [1.5, 1.5, 0.8];
const PLAN: Plan<'static> = Plan {
    rounds: &ROUNDS,
    noise_multipliers: &MULTIPLIERS,
};

/// A server's numbers, owned.
struct Numbers {
    sums: Vec<i64>,
    noise: Vec<i64>,
    flags: Vec<u8>,
    released: Vec<f64>,
    scratch: Vec<f64>,
}

type Attached<'a> = Server<'a, f64, Filter<'a, f64, Vec<f64>>>;

impl Numbers {
    fn new() -> Self {
        Numbers {
            sums: vec![7; M + 1],
            noise: vec![7; M + 1],
            flags: vec![7; N as usize],
            released: vec![7.0; M + 1],
            scratch: vec![7.0; scratch_len(M, POINTS as usize)],
        }
    }

    /// A server of the federated prior over these numbers.
    fn attach<'a>(
        &'a mut self,
        plan: Plan<'a>,
        world: &'a World<f64>,
        state: &'a mut ServerState,
        posterior: &'a mut PublicState<f64, Vec<f64>>,
    ) -> Result<Attached<'a>, ServerError> {
        let Numbers {
            sums,
            noise,
            flags,
            released,
            scratch,
        } = self;
        let filter = Filter::new(plan, world.public(true), posterior, scratch)?;
        Server::attach(
            filter,
            state,
            ServerStorage {
                sums,
                noise,
                flags,
                vectors: released,
            },
        )
    }
}

fn source(j: u32) -> Simulated {
    Simulated::new(RunSeed::new(3, 1).stream(Party::Server, Purpose::Release, j))
}

fn vector(world: &World<f64>, state: &PublicState<f64, Vec<f64>>, log: &[f64]) -> Vec<f64> {
    let observations = Observations::new(log, world.candidates as usize).unwrap();
    let mut scratch = vec![0.0; contribution_scratch_len(observations.len())];
    let mut out = vec![0.0; M + 1];
    let terms = state.terms().unwrap();
    let w = state.weights();
    contribution(
        &world.public(true),
        &terms,
        w,
        &observations,
        &mut scratch,
        &mut out,
    )
    .unwrap();
    out
}

fn fresh(world: &World<f64>) -> PublicState<f64, Vec<f64>> {
    PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap()
}

/// The whole plan through the machine, uploads in an order that `reversed` chooses, agents below
/// `absent` silent.
fn machine(world: &World<f64>, reversed: bool, absent: usize) -> (Vec<f64>, Vec<Event>) {
    let logs = logs(world, RunSeed::new(3, 1), 0.3);
    let mut state = ServerState::new();
    let mut posterior = fresh(world);
    let mut numbers = Numbers::new();
    let mut charged = Vec::new();
    for j in 0..3 {
        let source = &mut source(j);
        let mut server = numbers
            .attach(PLAN, world, &mut state, &mut posterior)
            .unwrap();
        let _ = server.handle(ServerInput::Open, source).unwrap();
        let mut uploads: Vec<(u32, Vec<f64>)> = (0..N)
            .zip(
                logs.iter()
                    .map(|log| vector(world, server.method().posterior(), log)),
            )
            .skip(absent)
            .collect();
        if reversed {
            uploads.reverse();
        }
        for (agent, vector) in &uploads {
            let input = ServerInput::Upload {
                agent: *agent,
                broadcast: j,
                vector,
            };
            assert_eq!(server.handle(input, source), Ok(ServerOutput::Wait));
        }
        let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
            panic!("a release is charged")
        };
        charged.extend_from_slice(charge.events());
        match server
            .handle(ServerInput::Charged(receipt(charge)), source)
            .unwrap()
        {
            ServerOutput::Broadcast { broadcast, release } => {
                assert_eq!(
                    (broadcast, release.event()),
                    (j, event(MULTIPLIERS[j as usize])),
                    "what was charged, unsampled"
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(
            (server.state().releases(), server.state().broadcast()),
            (j + 1, j + 1)
        );
    }
    assert!(
        numbers.sums.iter().chain(&numbers.noise).all(|x| *x == 0)
            && numbers.flags == [0; N as usize]
    );
    (
        posterior
            .weights()
            .iter()
            .chain(posterior.covariance())
            .copied()
            .collect(),
        charged,
    )
}

/// The same as straight lines.
fn straight(world: &World<f64>, absent: usize) -> Vec<f64> {
    let logs = logs(world, RunSeed::new(3, 1), 0.3);
    let mut state = fresh(world);
    let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
    for j in 0..3 {
        let terms = state.prepare(&world.public(true), &mut scratch).unwrap();
        let mechanism = Mechanism::new(&world.config, &terms, MULTIPLIERS[j]).unwrap();
        let mut sums = vec![0; M + 1];
        for log in &logs[absent..] {
            mechanism
                .encoder()
                .unwrap()
                .add(&vector(world, &state, log), &[1.0], &mut sums)
                .unwrap();
        }
        let mut noise = vec![0; M + 1];
        let mut out = vec![0.0; M + 1];
        let source = &mut source(j as u32);
        let pool = mechanism.grid().fill_noise(source, &mut noise).unwrap();
        let sample = mechanism.grid().everybody().unwrap();
        let delta = mechanism.l2_sensitivity();
        let released = mechanism
            .grid()
            .release(&mut sums, sample, pool, delta, &mut out)
            .unwrap();
        let c = repeats(&ROUNDS, j);
        state
            .update(released.value(), mechanism.noise_std(), c, &mut scratch)
            .unwrap();
    }
    state
        .weights()
        .iter()
        .chain(state.covariance())
        .copied()
        .collect()
}

#[test]
fn the_machine_is_its_loop_in_any_order_and_charges_every_release() {
    let world = small(N);
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for absent in [0, 5, N as usize] {
        let (found, charged) = machine(&world, false, absent);
        assert_eq!(bits(&found), bits(&straight(&world, absent)));
        assert_eq!(
            bits(&found),
            bits(&machine(&world, true, absent).0),
            "the order of uploads changes nothing"
        );
        assert_eq!(
            charged,
            MULTIPLIERS.map(event),
            "unsampled Gaussians, zero-out"
        );
    }
    // Negative control: one agent less is seen.
    assert_ne!(
        bits(&machine(&world, false, 0).0),
        bits(&machine(&world, false, 1).0)
    );
}

#[test]
fn nothing_leaves_without_its_own_receipt() {
    let world = small(N);
    let mut state = ServerState::new();
    let mut posterior = fresh(&world);
    let mut numbers = Numbers::new();
    let mut other = ServerState::new();
    let mut other_posterior = fresh(&world);
    let mut other_numbers = Numbers::new();
    let source = &mut source(0);
    // The receipt of another opening.
    let foreign = {
        let source = &mut self::source(9);
        let mut server = other_numbers
            .attach(PLAN, &world, &mut other, &mut other_posterior)
            .unwrap();
        let _ = server.handle(ServerInput::Open, source).unwrap();
        let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
            panic!("charged")
        };
        receipt(charge)
    };
    let mut server = numbers
        .attach(PLAN, &world, &mut state, &mut posterior)
        .unwrap();
    let zeros = [0.0; M + 1];
    let upload = |agent, release| ServerInput::Upload {
        agent,
        broadcast: release,
        vector: &zeros,
    };
    assert!(matches!(
        server.handle(upload(0, 0), source),
        Err(ServerError::UnexpectedInput {
            phase: ServerPhase::Idle,
            input: "Upload"
        })
    ));
    let _ = server.handle(ServerInput::Open, source).unwrap();
    assert_eq!(server.handle(upload(0, 0), source), Ok(ServerOutput::Wait));
    let refused = |error: ServerError| Err(error);
    assert_eq!(
        server.handle(upload(0, 0), source),
        refused(ServerError::DuplicateUpload {
            agent: 0,
            broadcast: 0
        })
    );
    assert_eq!(
        server.handle(upload(N, 0), source),
        refused(ServerError::UnknownAgent {
            agent: N,
            agents: N
        })
    );
    assert_eq!(
        server.handle(upload(1, 1), source),
        refused(ServerError::WrongBroadcast {
            agent: 1,
            found: 1,
            expected: 0
        })
    );
    let short = ServerInput::Upload {
        agent: 1,
        broadcast: 0,
        vector: &[0.0; M],
    };
    assert_eq!(
        server.handle(short, source),
        refused(ServerError::VectorLength {
            agent: 1,
            len: M,
            expected: M + 1
        })
    );
    // A vector of nonsense is taken without a word, and counts as zero.
    let hostile = ServerInput::Upload {
        agent: 1,
        broadcast: 0,
        vector: &[f64::NAN; M + 1],
    };
    assert_eq!(server.handle(hostile, source), Ok(ServerOutput::Wait));
    let Ok(ServerOutput::Charge(first)) = server.handle(ServerInput::Close, source) else {
        panic!("charged")
    };
    assert_eq!(
        server.handle(ServerInput::Charged(foreign), source),
        refused(ServerError::OtherReceipt { broadcast: 0 })
    );
    let Ok(ServerOutput::Charge(again)) = server.handle(ServerInput::Close, source) else {
        panic!("charged again")
    };
    assert_eq!(first, again);
    assert!(matches!(
        server.handle(ServerInput::Charged(receipt(again)), source),
        Ok(ServerOutput::Broadcast { broadcast: 0, .. })
    ));
    // The budget refuses the second; the third is the last.
    assert_eq!(
        server.handle(ServerInput::Skip, source),
        Ok(ServerOutput::NoBroadcast { broadcast: 1 })
    );
    let _ = server.handle(ServerInput::Open, source).unwrap();
    let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
        panic!("charged")
    };
    assert_eq!((charge.release(), charge.events()), (1, &[event(0.8)][..]));
    let _ = server
        .handle(ServerInput::Charged(receipt(charge)), source)
        .unwrap();
    assert_eq!(server.state().phase(), ServerPhase::Done);
    assert!(server.handle(ServerInput::Open, source).is_err());
}

/// A server that was stored inside a release begins it again; its old receipt is worth nothing; its
/// posterior goes on with the same bits.
#[test]
fn a_restored_server_is_charged_again() {
    let world = small(N);
    let mut state = ServerState::new();
    let mut posterior = fresh(&world);
    let mut numbers = Numbers::new();
    let source = &mut source(0);
    let old = {
        let mut server = numbers
            .attach(PLAN, &world, &mut state, &mut posterior)
            .unwrap();
        let _ = server.handle(ServerInput::Open, source).unwrap();
        let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
            panic!("charged")
        };
        assert_eq!(server.state().phase(), ServerPhase::Charging);
        receipt(charge)
    };
    let mut state: ServerState =
        postcard::from_bytes(&postcard::to_allocvec(&state).unwrap()).unwrap();
    let mut stored = vec![0.0; storage_len(M)];
    stored[..M].copy_from_slice(posterior.weights());
    stored[M..M + M * M].copy_from_slice(posterior.covariance());
    let h = posterior.heterogeneity();
    let clip = posterior.clip_factor();
    let mut posterior = PublicState::resume(world.config, h, clip, stored.clone()).unwrap();
    for (place, value) in [(0, f64::NAN), (M, 0.0), (M + 1, f64::INFINITY)] {
        let mut bad = stored.clone();
        bad[place] = value;
        assert!(
            PublicState::resume(world.config, h, clip, bad).is_err(),
            "{place}"
        );
    }
    assert!(PublicState::resume(world.config, -1.0, clip, stored.clone()).is_err());
    assert!(PublicState::resume(world.config, h, 1.5, stored).is_err());
    let source = &mut self::source(1);
    let mut server = numbers
        .attach(PLAN, &world, &mut state, &mut posterior)
        .unwrap();
    assert_eq!(server.state().phase(), ServerPhase::Idle);
    let _ = server.handle(ServerInput::Open, source).unwrap();
    let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
        panic!("charged")
    };
    assert!(server.handle(ServerInput::Charged(old), source).is_err());
    assert!(
        server
            .handle(ServerInput::Charged(receipt(charge)), source)
            .is_ok()
    );
    // A state that no run can be in.
    let mut impossible: ServerState = postcard::from_bytes(&[0, 1, 2]).unwrap();
    let refused = numbers.attach(PLAN, &world, &mut impossible, &mut posterior);
    assert!(matches!(
        refused.err(),
        Some(ServerError::State { releases: 2, .. })
    ));
}

/// Shards with collectors of their own: the same release to the last bit; what was not made for
/// this opening, or cannot be what its agents sent, is refused.
#[test]
fn partial_sums_are_the_server_and_are_not_believed() {
    let world = small(N);
    let logs = logs(&world, RunSeed::new(3, 1), 0.3);
    let mut state = ServerState::new();
    let mut posterior = fresh(&world);
    let mut numbers = Numbers::new();
    let partial = |server: &Attached<'_>, agents: std::ops::Range<u32>, z: f64| {
        let share = server.share(agents.clone()).unwrap();
        let terms = server.method().posterior().terms().unwrap();
        let mut sums = vec![3; M + 1];
        let mut flags = vec![9; agents.len()];
        let mut counters = Counters::default();
        let storage = CollectorStorage {
            sums: &mut sums,
            flags: &mut flags,
            counters: &mut counters,
        };
        let mut collector = Collector::new(
            JointVectors::new(&world.config, &terms, z)?,
            &share,
            storage,
        )?;
        for agent in agents.rev() {
            let vector = vector(&world, server.method().posterior(), &logs[agent as usize]);
            collector.upload(agent, share.broadcast(), &vector)?;
            assert!(
                collector.upload(agent, share.broadcast(), &vector).is_err(),
                "a second one is refused"
            );
        }
        Ok::<_, ServerError>(collector.finish().to_owned())
    };
    let mut earlier = None;
    for j in 0..3 {
        let source = &mut source(j);
        let z = MULTIPLIERS[j as usize];
        let mut server = numbers
            .attach(PLAN, &world, &mut state, &mut posterior)
            .unwrap();
        assert!(server.share(0..N).is_err(), "nothing is collected yet");
        let _ = server.handle(ServerInput::Open, source).unwrap();
        let reconfigured = |e: &ServerError| matches!(e, ServerError::Reconfigured { .. });
        assert!(
            partial(&server, 0..N, z * 1.5)
                .err()
                .is_some_and(|e| reconfigured(&e))
        );
        let parts = [7..N, 0..3, 3..7].map(|agents| partial(&server, agents, z).unwrap());
        if let Some(earlier) = &earlier {
            assert!(matches!(
                server.merge(earlier),
                Err(ServerError::Partial(_))
            ));
        }
        for part in &parts {
            server.merge(part).unwrap();
            let counted = PartialError::Counted {
                agent: part.agents().start,
            };
            assert_eq!(server.merge(part), Err(ServerError::Partial(counted)));
        }
        let [_, part, _] = parts;
        earlier = Some(part);
        let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
            panic!("a release is charged")
        };
        let _ = server
            .handle(ServerInput::Charged(receipt(charge)), source)
            .unwrap();
    }
    let found: Vec<f64> = posterior
        .weights()
        .iter()
        .chain(posterior.covariance())
        .copied()
        .collect();
    assert_eq!(found, machine(&world, false, 0).0);
}

/// Before the mend a release whose sums were collected at multiplier 1.5 was charged, by a server
/// that was put together again with a plan that says 15, as one of multiplier 15: the sums were on
/// a grid of ten times the radius. A coarser grid exponent did the same.
#[test]
fn a_release_is_charged_on_the_grid_that_it_was_collected_on() {
    let world = small(N);
    let mut state = ServerState::new();
    let mut posterior = fresh(&world);
    let mut numbers = Numbers::new();
    let source = &mut source(0);
    let cheap = Plan {
        noise_multipliers: &[15.0, 1.5, 0.8],
        ..PLAN
    };
    let later = Plan {
        noise_multipliers: &[1.5, 15.0, 0.8],
        ..PLAN
    };
    let reconfigured = ServerError::Reconfigured { broadcast: 0 };
    let mut coarse_world = small(N);
    coarse_world.config = Config::new(Parameters {
        grid_exponent: 16,
        ..*world.config.parameters()
    })
    .unwrap();
    assert_ne!(coarse_world.config, world.config);
    let mut coarse = fresh(&coarse_world);
    coarse
        .prepare(
            &coarse_world.public(true),
            &mut vec![0.0; scratch_len(M, POINTS as usize)],
        )
        .unwrap();
    let mut server = numbers
        .attach(PLAN, &world, &mut state, &mut posterior)
        .unwrap();
    let _ = server.handle(ServerInput::Open, source).unwrap();
    assert_eq!(
        server.handle(
            ServerInput::Upload {
                agent: 0,
                broadcast: 0,
                vector: &[1e3; M + 1]
            },
            source
        ),
        Ok(ServerOutput::Wait)
    );
    for phase in [ServerPhase::Collecting, ServerPhase::Charging] {
        for (plan, world, posterior) in [
            (cheap, &world, &mut posterior),
            (PLAN, &coarse_world, &mut coarse),
        ] {
            let refused = numbers.attach(plan, world, &mut state, posterior).err();
            assert_eq!(refused, Some(reconfigured), "{phase:?}");
        }
        // Negative control: what the plan says of a later release is no matter of this one.
        let mut server = numbers
            .attach(later, &world, &mut state, &mut posterior)
            .unwrap();
        assert_eq!(server.state().phase(), phase);
        let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
            panic!("charged")
        };
        assert_eq!(charge.events(), [event(1.5)]);
        if phase == ServerPhase::Charging {
            let released = server.handle(ServerInput::Charged(receipt(charge)), source);
            assert!(matches!(
                released,
                Ok(ServerOutput::Broadcast { broadcast: 0, .. })
            ));
        }
    }
}

/// A release whose numbers are finite and whose posterior would not be is refused, and the next one
/// still counts: what a device stores after a release is what it can read after a reset.
#[test]
fn a_release_that_would_leave_no_posterior_changes_nothing() {
    let config = small(N).config;
    let world = World::<f32>::new(*config.parameters(), 40, 0.2, RunSeed::new(7, 0));
    let public = world.public(true);
    let mut state = PublicState::new(world.config, vec![0.0f32; storage_len(M)]).unwrap();
    let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
    let _ = state.prepare(&public, &mut scratch).unwrap();
    let numbers = |state: &PublicState<f32, Vec<f32>>| {
        let all = state.weights().iter().chain(state.covariance());
        all.copied()
            .chain([state.heterogeneity(), state.clip_factor()])
            .collect::<Vec<f32>>()
    };
    let before = numbers(&state);
    for sign in [1.0f32, -1.0] {
        let poisoned = [sign * 3e38; M + 1];
        assert!(state.update(&poisoned, 1e-30, 1, &mut scratch).is_err());
        assert!(numbers(&state) == before && state.terms().is_some());
    }
    state.update(&[0.1; M + 1], 0.5, 1, &mut scratch).unwrap();
    let h = state.heterogeneity();
    let clip = state.clip_factor();
    let storage = numbers(&state)[..M + M * M].to_vec();
    assert!(numbers(&state) != before);
    let mut whole = vec![0.0f32; storage_len(M)];
    whole[..storage.len()].copy_from_slice(&storage);
    assert!(PublicState::resume(world.config, h, clip, whole).is_ok());
}

/// The heterogeneity after every release of one population: of twenty agents only the first answers
/// `starved` times, then all do `fed` times. Whoever keeps the posterior, a server or a member,
/// computes this.
fn starved<T: Scalar>(
    parameters: Parameters,
    lengthscale: f64,
    starved: u32,
    fed: u32,
) -> Vec<f64> {
    let agents = parameters.agents as usize;
    let seed = RunSeed::new(3, 1);
    let logs = logs(
        &World::<f64>::new(parameters, 40, lengthscale, RunSeed::new(7, 0)),
        seed,
        0.3,
    );
    let world = World::<T>::new(parameters, 40, lengthscale, RunSeed::new(7, 0));
    let public = world.public(true);
    let length = M + 1;
    let mut state = PublicState::new(world.config, vec![T::ZERO; storage_len(M)]).unwrap();
    let mut scratch = vec![T::ZERO; scratch_len(M, parameters.initial_points as usize)];
    let mut found = Vec::new();
    for j in 0..starved + fed {
        let case = |error| {
            panic!(
                "release {j} in {} bytes at {lengthscale}: {error}",
                T::BYTES
            )
        };
        let terms = state.prepare(&public, &mut scratch).unwrap_or_else(case);
        let mechanism = Mechanism::new(&world.config, &terms, 0.407).unwrap();
        let mut sums = vec![0; length];
        let mut noise = vec![0; length];
        let mut out = vec![T::ZERO; length];
        for log in &logs[..if j < starved { 1 } else { agents }] {
            let log: Vec<T> = log.iter().map(|x| T::from_f64(*x)).collect();
            let observations = Observations::new(&log, 40).unwrap();
            let mut scratch = vec![T::ZERO; contribution_scratch_len(observations.len())];
            contribution(
                &public,
                &terms,
                state.weights(),
                &observations,
                &mut scratch,
                &mut out,
            )
            .unwrap();
            mechanism
                .encoder()
                .unwrap()
                .add(&out, &[1.0], &mut sums)
                .unwrap();
        }
        let pool = mechanism
            .grid()
            .fill_noise(&mut source(j), &mut noise)
            .unwrap();
        let sample = mechanism.grid().everybody().unwrap();
        let released = mechanism
            .grid()
            .release(
                &mut sums,
                sample,
                pool,
                mechanism.l2_sensitivity(),
                &mut out,
            )
            .unwrap();
        let std = T::from_f64(mechanism.noise_std());
        state
            .update(released.value(), std, 1, &mut scratch)
            .unwrap_or_else(|error| {
                panic!(
                    "release {j} in {} bytes at {lengthscale}: {error}",
                    T::BYTES
                );
            });
        found.push(state.heterogeneity().to_f64());
    }
    found
}

/// Before the mend h went 17, 1,771, 177,132 where hardly anybody answered, and members in single
/// precision stopped for good: the ridge was lost in the rounding of the matrix that it is added
/// to.
#[test]
fn members_go_on_after_releases_that_hardly_anybody_answers() {
    let usual = Parameters {
        designs: 32,
        ..Parameters::usual(20, M as u32, 10, 0.01)
    };
    let projected = Parameters {
        designs: 32,
        ..Parameters::own_units(20, M as u32, 10)
    };
    for parameters in [
        usual,
        projected,
        Parameters {
            noise_variance: 1e-4,
            ..usual
        },
    ] {
        for lengthscale in [0.1, 0.2, 0.5] {
            let single = starved::<f32>(parameters, lengthscale, 6, 4);
            let double = starved::<f64>(parameters, lengthscale, 6, 4);
            let most = 20.0 / f64::from(f32::EPSILON);
            for (a, b) in single.iter().zip(&double) {
                // From some thousands on the ridge of single precision is another.
                let near = if *b < 1e4 { 0.01 } else { 0.1 };
                assert!(
                    *a <= most && (a - b).abs() <= near * (1.0 + b),
                    "{lengthscale}: {single:?}, {double:?}"
                );
            }
            // Without the bound h would be some 1e11: the test shows something.
            assert!(
                double[5] == most && double[9] == most,
                "{lengthscale}: {double:?}"
            );
        }
    }
}
