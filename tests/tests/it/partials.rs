//! The seam between a server and its collectors, attacked: partial sums of other configurations and
//! earlier openings, forged sums, flags and counters. Each is refused by name and leaves the server
//! as it was; what is not forged is taken.

use serde_json::Value;
use sordino_core::federated::*;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::privacy::{NoiseMultiplier, NoiseSource, SamplingProbability, Secret};
use sordino_core::random::{Party, Purpose, Simulated};
use sordino_tests::federation::*;
use sordino_tests::receipts::server_paid;
use sordino_tests::secret::{Generator, secret_of};

type Owned = Partial<Wiped<u8>, Wiped<i64>>;

/// A server with its numbers, so that a test can let it die and come back.
struct Desk {
    config: Config,
    state: ServerState,
    numbers: ServerNumbers<f64>,
}

impl Desk {
    fn new(config: Config) -> Desk {
        Desk {
            numbers: ServerNumbers::new(&config),
            state: ServerState::new(),
            config,
        }
    }

    fn server(&mut self) -> Server<'_, f64> {
        Server::attach(&self.config, &mut self.state, self.numbers.lend()).unwrap()
    }

    /// Sums, flags and counters, to be compared.
    fn held(&mut self) -> (Vec<i64>, Vec<u8>, Counters) {
        let storage = self.numbers.lend();
        (
            storage.sums.to_vec(),
            storage.flags.to_vec(),
            self.state.counters(),
        )
    }

    /// What the collectors of agents 0..N get.
    fn open<S: NoiseSource>(&mut self, source: &mut S) -> Share<Wiped<u8>> {
        let mut server = self.server();
        server.handle(ServerInput::Open, source).unwrap();
        server.share(0..N).unwrap().to_owned()
    }

    fn merge(&mut self, partial: &Owned) -> Result<(), ServerError> {
        self.server().merge(partial)
    }

    fn release<S: NoiseSource>(&mut self, source: &mut S) -> Vec<f64> {
        let mut server = self.server();
        let paid = server_paid(server.handle(ServerInput::Close, source).unwrap());
        match server.handle(paid, source).unwrap() {
            ServerOutput::Broadcast { release, .. } => release.value().to_vec(),
            other => panic!("{other:?}"),
        }
    }
}

fn config() -> Config {
    Config::new(Parameters {
        aggregation: private(S, 0.5),
        ..parameters(OwnDraw::Features)
    })
    .unwrap()
}

/// The same federation with a tenth of the noise: its integer radius is ten times as large.
fn loud() -> Config {
    let mut p = config().parameters().clone();
    if let Aggregation::Private {
        noise_multiplier, ..
    } = &mut p.aggregation
    {
        *noise_multiplier = NoiseMultiplier::new(noise_multiplier.value() / 10.0).unwrap();
    }
    Config::new(p).unwrap()
}

/// What a collector under `config` takes when all agents of the share upload `vector`.
fn collect<F: AsRef<[u8]>>(config: &Config, share: &Share<F>, vector: [f64; M]) -> Owned {
    let agents = share.agents();
    let mut sums = vec![0; config.broadcast_len()];
    let mut flags = vec![0; agents.len()];
    let mut counters = Counters::default();
    let storage = CollectorStorage {
        sums: &mut sums,
        flags: &mut flags,
        counters: &mut counters,
    };
    let mut collector = Collector::new(
        Draws::new(config, share.broadcast()).unwrap(),
        share,
        storage,
    )
    .unwrap();
    agents.for_each(|agent| collector.upload(agent, share.broadcast(), &vector).unwrap());
    collector.finish().to_owned()
}

fn simulated(seed: u32) -> Simulated {
    Simulated::new(run_seed().stream(Party::Server, Purpose::Release, seed))
}

/// The same partial with one field changed, through its stored form.
fn forged(partial: &Owned, change: impl FnOnce(&mut Value)) -> Owned {
    let mut value = serde_json::to_value(partial).unwrap();
    change(&mut value);
    serde_json::from_value(value).unwrap()
}

fn refused(desk: &mut Desk, partial: &Owned) -> PartialError {
    let before = desk.held();
    let error = match desk.merge(partial) {
        Err(ServerError::Partial(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(desk.held(), before, "{error}");
    error
}

#[test]
fn what_a_collector_took_counts_once_stored_or_not() {
    let mut desk = Desk::new(config());
    let mut alone = Desk::new(config());
    let share = desk.open(&mut simulated(1));
    for part in [0..2, 2..N] {
        let partial = collect(&config(), &share.part(part).unwrap(), [0.5; M]);
        let stored: Owned =
            postcard::from_bytes(&postcard::to_allocvec(&partial).unwrap()).unwrap();
        assert!(
            !format!("{partial:?}").contains("[0"),
            "numbers are not printed"
        );
        desk.merge(&stored).unwrap();
        assert!(matches!(
            refused(&mut desk, &partial),
            PartialError::Counted { .. }
        ));
    }
    assert_eq!(desk.state.counters().received, N);
    alone.open(&mut simulated(1));
    for agent in 0..N {
        let upload = ServerInput::Upload {
            agent,
            broadcast: 0,
            vector: &[0.5; M],
        };
        alone.server().handle(upload, &mut simulated(1)).unwrap();
    }
    assert_eq!(
        desk.release(&mut simulated(2)),
        alone.release(&mut simulated(2))
    );
    // Out of the enrolled range there is no share.
    desk.open(&mut simulated(3));
    let range = ServerError::Range {
        first: 2,
        end: N + 1,
        agents: N,
    };
    assert_eq!(desk.server().share(2..N + 1).map(|_| ()), Err(range));
}

/// Before the mend: merged, and one agent moved the release by 100 standard deviations of its
/// noise.
#[test]
fn a_collector_of_another_configuration_is_refused() {
    let mut desk = Desk::new(config());
    let share = desk.open(&mut secret_of(7));
    let mut sums = vec![0; loud().broadcast_len()];
    let mut flags = vec![0; N as usize];
    let mut counters = Counters::default();
    let storage = CollectorStorage {
        sums: &mut sums,
        flags: &mut flags,
        counters: &mut counters,
    };
    let opened = Collector::new(Draws::new(&loud(), 0).unwrap(), &share, storage).err();
    assert_eq!(
        opened,
        Some(ServerError::Reconfigured { broadcast: 0 }),
        "not even begun"
    );
    // One that lies about its share: a server of the loud configuration opened it.
    let mut other = Desk::new(loud());
    let foreign = other.open(&mut secret_of(7));
    let partial = collect(&loud(), &foreign, [0.5; M]);
    assert_eq!(refused(&mut desk, &partial), PartialError::Configuration);
    other.merge(&partial).unwrap();
}

/// Before the mend: a partial from before a restart was taken after the broadcast was opened again,
/// and the second release was made from the first sample.
#[test]
fn a_partial_of_an_earlier_opening_is_refused() {
    let mut desk = Desk::new(config());
    let mut source: Secret<Generator> = secret_of(9);
    let stored = postcard::to_allocvec(&desk.state).unwrap();
    let share = desk.open(&mut source);
    let partial = collect(&config(), &share, [0.5; M]);
    desk.merge(&partial).unwrap();
    desk.release(&mut source);
    // The machine died before the state after the release was durable.
    desk.state = postcard::from_bytes(&stored).unwrap();
    assert!(matches!(
        desk.merge(&partial),
        Err(ServerError::UnexpectedInput {
            phase: ServerPhase::Idle,
            ..
        })
    ));
    let again = desk.open(&mut source);
    assert_eq!(refused(&mut desk, &partial), PartialError::Opening);
    desk.merge(&collect(&config(), &again, [0.5; M])).unwrap();
    // Of another broadcast altogether.
    desk.release(&mut source);
    desk.open(&mut source);
    assert_eq!(
        refused(&mut desk, &partial),
        PartialError::Broadcast {
            found: 0,
            expected: 1
        }
    );
}

/// Before the mend: i64::MAX − 5 was merged, and repeating `Charged` until it succeeded conditioned
/// the noise.
#[test]
fn sums_beyond_what_the_sample_can_send_are_refused() {
    let mut desk = Desk::new(config());
    let share = desk.open(&mut simulated(1));
    let honest = collect(&config(), &share, [0.5; M]);
    let selected = share
        .agents()
        .filter(|agent| selected(&honest, *agent))
        .count() as i64;
    assert!(
        0 < selected && selected < i64::from(N),
        "{selected}: the sample of this seed tells cases apart"
    );
    let q = SamplingProbability::new(0.5).unwrap();
    let radius = GridGaussian::new(GRID_EXPONENT, Z, q, N).unwrap().radius() as i64;
    for (sum, fits) in [
        (selected * radius, true),
        (selected * radius + 1, false),
        (i64::MAX - 5, false),
        (i64::MIN, false),
    ] {
        let partial = forged(&honest, |value| {
            let sums = value["sums"].as_array_mut().unwrap();
            sums.iter_mut().for_each(|x| *x = 0.into());
            sums[3] = sum.into();
        });
        if fits {
            let mut desk = Desk::new(config());
            desk.open(&mut simulated(1));
            desk.merge(&partial).unwrap();
        } else {
            assert_eq!(refused(&mut desk, &partial), PartialError::Bound, "{sum}");
        }
    }
    // Each coordinate within its bound, the norm beyond it.
    let spread = forged(&honest, |value| {
        value["sums"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|x| *x = (selected * radius).into());
    });
    assert_eq!(refused(&mut desk, &spread), PartialError::Bound);
    desk.merge(&honest).unwrap();
}

fn selected(partial: &Owned, agent: u32) -> bool {
    let value = serde_json::to_value(partial).unwrap();
    value["flags"][agent as usize].as_u64().unwrap() & 1 == 1
}

/// Before the mend: a sum of an agent whose coin was tails was taken, and counters were believed.
#[test]
fn flags_and_counters_are_the_servers_own() {
    let mut desk = Desk::new(config());
    let share = desk.open(&mut simulated(1));
    let honest = collect(&config(), &share, [0.5; M]);
    let outside = share
        .agents()
        .find(|agent| !selected(&honest, *agent))
        .unwrap();
    // An agent outside the sample that claims to be inside.
    let joined = forged(&honest, |value| value["flags"][outside as usize] = 3.into());
    assert_eq!(refused(&mut desk, &joined), PartialError::Sample);
    // Alone, and truthful about its coin: it may answer, and its sum must be zero.
    let alone = |sum: i64| {
        forged(&honest, |value| {
            for agent in 0..N as usize {
                let flag = value["flags"][agent].as_u64().unwrap() & 1;
                value["flags"][agent] =
                    (flag + if agent == outside as usize { 2 } else { 0 }).into();
            }
            value["counters"]["received"] = 1.into();
            value["sums"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .for_each(|x| *x = 0.into());
            value["sums"][0] = sum.into();
        })
    };
    assert_eq!(refused(&mut desk, &alone(1)), PartialError::Bound);
    for (field, lie) in [("received", N + 1), ("clipped", N), ("zeroed", u32::MAX)] {
        let liar = forged(&honest, |value| value["counters"][field] = lie.into());
        assert_eq!(refused(&mut desk, &liar), PartialError::Counters, "{field}");
    }
    let short = forged(&honest, |value| {
        drop(value["sums"].as_array_mut().unwrap().pop())
    });
    assert!(matches!(
        refused(&mut desk, &short),
        PartialError::Length { .. }
    ));
    let shifted = forged(&honest, |value| value["first"] = 1.into());
    assert!(matches!(
        refused(&mut desk, &shifted),
        PartialError::Agents { .. } | PartialError::Sample
    ));
    desk.merge(&alone(0)).unwrap();
}

/// A round does not end before its deadline unless everybody has answered, and then by a word of
/// its own.
#[test]
fn closing_early_is_a_choice_of_its_own() {
    let mut desk = Desk::new(config());
    let share = desk.open(&mut simulated(1));
    desk.merge(&collect(
        &config(),
        &share.part(0..N - 1).unwrap(),
        [0.5; M],
    ))
    .unwrap();
    let early = desk
        .server()
        .handle(ServerInput::CloseEarly, &mut simulated(1))
        .map(|_| ());
    assert_eq!(
        early,
        Err(ServerError::NotEverybody {
            received: N - 1,
            agents: N
        })
    );
    desk.merge(&collect(
        &config(),
        &share.part(N - 1..N).unwrap(),
        [0.5; M],
    ))
    .unwrap();
    assert!(matches!(
        desk.server()
            .handle(ServerInput::CloseEarly, &mut simulated(1)),
        Ok(ServerOutput::Charge(_))
    ));
}

/// The sample, the noise and the counters of a broadcast do not outlive it, and are never stored.
#[test]
fn the_sample_is_wiped_with_its_round() {
    let mut desk = Desk::new(config());
    let share = desk.open(&mut simulated(1));
    desk.merge(&collect(&config(), &share, [0.5; M])).unwrap();
    let stored = serde_json::to_string(&desk.state).unwrap();
    assert!(
        !stored.contains("counters") && !stored.contains("nonce"),
        "{stored}"
    );
    desk.release(&mut simulated(1));
    let ServerStorage {
        sums, noise, flags, ..
    } = desk.numbers.lend();
    assert!(
        flags.iter().all(|flag| *flag == 0) && noise.iter().chain(sums.iter()).all(|x| *x == 0)
    );
    assert_eq!(
        desk.state.counters(),
        Counters::default(),
        "nobody is told how many were selected"
    );
    assert!(matches!(
        desk.server().share(0..N),
        Err(ServerError::UnexpectedInput { .. })
    ));
}

/// Stored states that no run can have been in.
#[test]
fn a_stored_server_is_judged() {
    let config = config();
    let mut numbers = ServerNumbers::<f64>::new(&config);
    for (phase, broadcast, releases, fits) in [
        ("Idle", 0, 0, true),
        ("Idle", T - 1, T - 1, true),
        ("Idle", 2, 0, true),
        ("Done", T, T, true),
        ("Idle", T, T, false),
        ("Idle", T + 7, 3, false),
        ("Done", 3, 3, false),
        ("Idle", 2, 3, false),
    ] {
        let text =
            format!("{{\"phase\":\"{phase}\",\"broadcast\":{broadcast},\"releases\":{releases}}}");
        let mut state: ServerState = serde_json::from_str(&text).unwrap();
        match Server::attach(&config, &mut state, numbers.lend()) {
            Ok(_) => assert!(fits, "{text}"),
            Err(error) => {
                assert!(!fits, "{text}");
                assert_eq!(
                    error,
                    ServerError::State {
                        broadcast,
                        releases,
                        rounds: T
                    }
                );
                assert!(error.to_string().contains("admissible"), "{error}");
            }
        }
    }
}
