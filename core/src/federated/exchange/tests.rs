//! The exchange under random interleavings, losses, duplicates, restarts; its refusals by name.

extern crate std;

use std::cell::Cell;
use std::vec::Vec;

use proptest::collection::vec;
use proptest::sample::select;
use proptest::test_runner::{Config as Settings, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use proptest::{prop_assert, prop_assert_eq};

use super::*;
use crate::domain::Regions;
use crate::federated::{
    AgentState, Aggregation, Config, InitialRegion, OwnDraw, Parameters, Signal,
};
use crate::kernel::Stationary;
use crate::privacy::{ClippingNorm, NoiseMultiplier};
use crate::random::{RunSeed, Stream};
use crate::schedule::{Mixing, WeightConcentration};
use crate::snapshot::{self, max_bytes};
use crate::wire::{self, ScalarTag};

const ROUNDS: u32 = 5;

fn agreement(agents: u32) -> Agreement {
    let config = Config::new(Parameters {
        agents,
        regions: Regions::new(&[1]).unwrap(),
        rounds: ROUNDS,
        initial_points: 1,
        initial_region: InitialRegion::Own,
        feature_count: 3,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        concentration: WeightConcentration::PAPER,
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(1.0).unwrap(),
            sampling_probability: 0.5,
            noise_multiplier: NoiseMultiplier::new(1.0).unwrap(),
            grid_exponent: 16,
            signal: Signal::Vectors,
        },
    })
    .unwrap();
    let features = PublicFeatures {
        seed: 3,
        run: 0,
        kernel: Stationary::Matern52,
        lengthscale: 0.2,
        signal_variance: 1.0,
        unit_norm: true,
        prior_tolerance: 1e-3,
    };
    let announced = Announced {
        epsilon_max: Some(8.0),
        delta: 1e-5,
        deadline_ms: 1000,
        may_close_early: true,
    };
    let candidates = Digest::default();
    let protocol = Protocol::Draws(DrawsProtocol { config, features });
    Agreement {
        protocol,
        candidates,
        dim: 1,
        scalar: ScalarTag::F64,
        deployment: 77,
        announced,
    }
}

/// A server on a link: its exchange, its history, its frames, what it took.
struct Server {
    exchange: ServerExchange<Vec<u8>>,
    history: Vec<Digest>,
    frames: Vec<Vec<u8>>,
    /// Of the attempt that is open: (agent, first number).
    taken: Vec<(u32, f64)>,
    attempt: u16,
}

const PACE: Pace = Pace {
    ask_again_ms: 50,
    spread_ms: 20,
};

impl Server {
    fn new(agreement: &Agreement, agents: u32) -> Self {
        let exchange = ServerExchange::new(agreement, PACE, std::vec![0; agents as usize]);
        let history = std::vec![agreement.digest()];
        Server {
            exchange,
            history,
            frames: Vec::new(),
            taken: Vec::new(),
            attempt: 0,
        }
    }

    /// Begins a round, again if its frame is there.
    fn begin(&mut self, round: u32, now: Millis) {
        let numbers: Vec<f64> = if round % 3 == 2 {
            Vec::new()
        } else {
            (0..3).map(|i| f64::from(round + i)).collect()
        };
        let broadcast = (!numbers.is_empty()).then_some(&numbers[..]);
        let period = Period {
            opened: now,
            deadline: now.after(1000),
            may_close_early: true,
        };
        let before = self.history[round as usize];
        let mut frame = std::vec![0; wire::frame_len_max(ScalarTag::F64, 3)];
        let (used, chain) = self
            .exchange
            .frame(round, self.attempt, &before, broadcast, &mut frame)
            .unwrap();
        frame.truncate(used);
        let (header, payload) = wire::decode(&frame, 3).unwrap();
        assert_eq!(
            (header.round, header.attempt, header.chain),
            (round, self.attempt, wire::prefix(&chain))
        );
        assert_eq!(
            chain,
            after(&before, &header, &payload),
            "what is sent is what is hashed"
        );
        self.exchange.begin(round, self.attempt, chain, period);
        self.history.truncate(round as usize + 1);
        self.frames.truncate(round as usize);
        self.history.push(chain);
        self.frames.push(frame);
        self.taken.clear();
    }

    fn restart(&mut self, now: Millis) {
        self.attempt += 1;
        self.begin(self.exchange.round(), now);
    }
}

/// What an agent would upload: the same whenever it is drawn.
fn mine(agent: u32, round: u32) -> [f64; 3] {
    [f64::from(agent * 100 + round), 1.0, -1.0]
}

#[derive(Clone)]
enum Message {
    Ask(u32, Have),
    Frame(u32, Vec<u8>, u32, Seal),
    Later(u32, u64),
    Give(u32, Vec<u8>),
    Said(u32, u32, Reply),
}

struct World {
    server: Server,
    agents: Vec<AgentExchange>,
    /// As they were stored: the last time at which all that counts was on the disk.
    stored: Vec<AgentExchange>,
    /// Rounds entered.
    entered: Vec<Vec<u32>>,
    air: Vec<Message>,
    now: Millis,
}

impl World {
    fn act(&mut self, n: u32) {
        let agent = &mut self.agents[n as usize];
        match agent.want(self.now) {
            Want::Ask(have) => self.air.push(Message::Ask(n, have)),
            Want::Work => agent.made(),
            Want::Give(header) => {
                let numbers = mine(n, header.round);
                let payload = if header.round < ROUNDS {
                    &numbers[..]
                } else {
                    &[]
                };
                let mut frame = std::vec![0; wire::frame_len_max(ScalarTag::F64, 3)];
                let used = wire::encode(header, payload, &mut frame).unwrap();
                self.air.push(Message::Give(n, frame[..used].to_vec()));
            }
            Want::Wait(_) | Want::Done => {}
            Want::Refused => panic!("agent {n} was refused"),
        }
        self.stored[n as usize] = agent.clone();
    }

    fn deliver(&mut self, message: Message) {
        let now = self.now;
        let server = &mut self.server;
        match message {
            Message::Ask(n, have) => match server.exchange.asked(n, &have, &server.history, now) {
                Answer::Frame { round } => {
                    let frame = server.frames[round as usize].clone();
                    self.air.push(Message::Frame(
                        n,
                        frame,
                        server.exchange.round(),
                        [round as u8; 16],
                    ));
                }
                Answer::Later { after_ms } => self.air.push(Message::Later(n, after_ms)),
                other => panic!("agent {n} with {have:?} is told {other:?}"),
            },
            Message::Give(n, frame) => {
                let (header, payload) = wire::decode(&frame, 3).unwrap();
                let reply = server.exchange.given(n, &header, now).unwrap_or_else(|| {
                    let mut numbers = [0.0; 3];
                    if header.round < ROUNDS {
                        payload.read(&mut numbers).unwrap();
                        assert_eq!(numbers, mine(n, header.round));
                    }
                    server.taken.push((n, numbers[0]));
                    server.exchange.took(n);
                    Reply::Taken
                });
                self.air.push(Message::Said(n, header.round, reply));
            }
            Message::Frame(n, frame, current, seal) => {
                let (header, payload) = wire::decode(&frame, 3).unwrap();
                // A frame that was overtaken is refused by name; nothing else may be.
                match self.agents[n as usize].frame(&header, &payload, current, seal) {
                    Ok(Heard::Enter) => self.entered[n as usize].push(header.round),
                    Ok(Heard::Again | Heard::Missed) | Err(FrameError::Round { .. }) => {}
                    Err(error) => panic!("agent {n}: {error}"),
                }
            }
            Message::Later(n, after_ms) => self.agents[n as usize].later(after_ms, now),
            Message::Said(n, round, reply) => self.agents[n as usize].told(round, reply, now),
        }
    }

    fn finish_round(&mut self) -> bool {
        // After the last frame nothing is collected: an agent that was told "taken" is done, and a
        // server that restarts then waits for its deadline.
        if self
            .agents
            .iter()
            .all(|agent| agent.want(self.now) == Want::Done)
        {
            return true;
        }
        let due = self.server.exchange.due(self.now);
        if due != Due::CloseEarly {
            return false;
        }
        let round = self.server.exchange.round();
        let mut taken = self.server.taken.clone();
        taken.sort_by(f64_order);
        let expected: Vec<(u32, f64)> = (0..self.agents.len() as u32)
            .map(|n| {
                (
                    n,
                    if round < ROUNDS {
                        mine(n, round)[0]
                    } else {
                        0.0
                    },
                )
            })
            .collect();
        assert_eq!(taken, expected, "round {round}");
        self.server.exchange.close();
        if round < ROUNDS {
            self.server.attempt = 0;
            self.server.begin(round + 1, self.now);
        }
        false
    }
}

fn f64_order(a: &(u32, f64), b: &(u32, f64)) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// Messages under way at most.
const AIR_MAX: usize = 40;

/// What happens next: as it is written down, then as a stream has it, which lets every run end.
struct Course {
    written: Vec<u32>,
    next: usize,
    stream: Stream,
}

impl Course {
    fn below(&mut self, n: u32) -> u32 {
        self.next += 1;
        self.written
            .get(self.next - 1)
            .map_or_else(|| self.stream.below(n), |word| word % n)
    }
}

/// Losses and duplicates happen with these chances in per cent, restarts in per mille.
fn run(count: u32, course: &[u32], [loss, double, restart]: [u32; 3]) -> World {
    let mut stream = Course {
        written: course.to_vec(),
        next: 0,
        stream: Stream::from_seed(0),
    };
    let terms = agreement(count);
    let agents: Vec<AgentExchange> = (0..count).map(|n| AgentExchange::new(&terms, n)).collect();
    let mut world = World {
        server: Server::new(&terms, count),
        stored: agents.clone(),
        entered: std::vec![Vec::new(); agents.len()],
        agents,
        air: Vec::new(),
        now: Millis(0),
    };
    world.server.begin(0, Millis(0));
    for _ in 0..200_000 {
        world.now = world.now.after(u64::from(stream.below(3) == 0));
        // Time stands still long enough for no deadline to pass: this is about messages.
        if world.now >= Millis(900) {
            world.now = Millis(0);
            world
                .agents
                .iter_mut()
                .for_each(|agent| agent.later(0, Millis(0)));
            world.server.restart(Millis(0));
        }
        match stream.below(3) {
            0 => world.act(stream.below(count)),
            _ if world.air.is_empty() => {}
            _ => {
                let at = stream.below(world.air.len() as u32) as usize;
                let message = world.air.swap_remove(at);
                if stream.below(100) < double {
                    world.air.push(message.clone());
                }
                if stream.below(100) >= loss {
                    world.deliver(message);
                }
            }
        }
        // A link holds so much; what stands in it for long is lost.
        while world.air.len() > AIR_MAX {
            let at = stream.below(world.air.len() as u32) as usize;
            world.air.swap_remove(at);
        }
        if stream.below(1000) < restart {
            match stream.below(2) {
                0 => world.server.restart(world.now),
                _ => {
                    let n = stream.below(count) as usize;
                    // A clock does not survive.
                    world.agents[n] = world.stored[n].clone();
                    world.agents[n].later(0, world.now);
                }
            }
        }
        if world.finish_round() {
            return world;
        }
    }
    panic!("round {} never ended", world.server.exchange.round());
}

#[test]
fn every_interleaving_ends_with_one_history_and_every_answer_once() {
    let chances = [
        select([0, 10, 40].to_vec()),
        select([0, 30].to_vec()),
        select([0, 5, 20].to_vec()),
    ];
    let course = vec(0..1000u32, 0..2000);
    let config = Settings {
        cases: 150,
        failure_persistence: None,
        ..Settings::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let quiet = Cell::new(0);
    let held = runner.run(&(1..=6u32, course, chances), |(count, course, chances)| {
        // The checks inside of a run panic; what they say becomes the case's failure, so that it
        // shrinks.
        let world = std::panic::catch_unwind(|| run(count, &course, chances));
        let world = world.map_err(|_| TestCaseError::fail("a check inside of the run"))?;
        for (agent, entered) in world.agents.iter().zip(&world.entered) {
            prop_assert_eq!(
                agent.have().chain,
                world.server.history[ROUNDS as usize + 1]
            );
            prop_assert!(
                (0..=ROUNDS).all(|round| entered.contains(&round)),
                "{:?}",
                entered
            );
        }
        if chances[0] == 0 && chances[2] == 0 {
            // Without losses and restarts nothing is entered twice.
            quiet.set(quiet.get() + 1);
            prop_assert!(
                world
                    .entered
                    .iter()
                    .all(|entered| entered.len() == ROUNDS as usize + 1)
            );
        }
        Ok(())
    });
    held.unwrap();
    assert!(
        quiet.get() > 5,
        "{} runs without losses and restarts",
        quiet.get()
    );
}

fn first_frame(server: &Server) -> (Header, Vec<u8>) {
    let (header, payload) = wire::decode(&server.frames[0], 3).unwrap();
    (header, payload.bytes().to_vec())
}

#[test]
fn a_fork_and_a_foreign_frame_are_refused_by_name() {
    let terms = agreement(2);
    let mut server = Server::new(&terms, 2);
    server.begin(0, Millis(0));
    let (header, _) = first_frame(&server);
    let mut agent = AgentExchange::new(&terms, 1);
    let before = agent.clone();
    let mut hear = |marks: Header, numbers: &[f64]| {
        let mut frame = std::vec![0; wire::frame_len_max(ScalarTag::F64, 3)];
        let used = wire::encode(marks, numbers, &mut frame).unwrap();
        let (header, payload) = wire::decode(&frame[..used], 3).unwrap();
        agent.frame(&header, &payload, 0, [0; 16])
    };
    let numbers = [0.0, 1.0, 2.0];
    let foreign = Err(FrameError::Foreign);
    assert_eq!(
        hear(
            Header {
                deployment: 78,
                ..header
            },
            &numbers
        ),
        foreign
    );
    assert_eq!(
        hear(
            Header {
                config: 0,
                ..header
            },
            &numbers
        ),
        foreign
    );
    assert_eq!(
        hear(
            Header {
                kind: Kind::Upload,
                ..header
            },
            &numbers
        ),
        foreign
    );
    assert_eq!(
        hear(Header { round: 3, ..header }, &numbers),
        Err(FrameError::Round {
            found: 3,
            expected: 0
        })
    );
    assert_eq!(
        hear(header, &[0.0, 1.0, 2.5]),
        Err(FrameError::Fork { round: 0 })
    );
    assert_eq!(
        hear(
            Header {
                chain: header.chain ^ 1,
                ..header
            },
            &numbers
        ),
        Err(FrameError::Fork { round: 0 })
    );
    assert_eq!(hear(header, &numbers), Ok(Heard::Enter));
    assert_eq!(
        hear(
            Header {
                chain: header.chain ^ 1,
                ..header
            },
            &numbers
        ),
        Err(FrameError::Fork { round: 0 })
    );
    assert_eq!(hear(header, &numbers), Ok(Heard::Again));
    assert_ne!(agent, before);
}

#[test]
fn a_server_with_an_older_disk_is_told() {
    let terms = agreement(2);
    let mut server = Server::new(&terms, 2);
    server.begin(0, Millis(0));
    server.begin(1, Millis(0));
    let asked = |server: &Server, who, frames: u32, chain| {
        server.exchange.asked(
            who,
            &Have {
                frames,
                chain,
                seal: [0; 16],
            },
            &server.history,
            Millis(10),
        )
    };
    let chain = server.history.clone();
    assert_eq!(asked(&server, 0, 0, chain[0]), Answer::Frame { round: 0 });
    assert_eq!(asked(&server, 0, 1, chain[1]), Answer::Frame { round: 1 });
    // The current one again: the answer is missing.
    assert_eq!(asked(&server, 0, 2, chain[2]), Answer::Frame { round: 1 });
    server.exchange.took(0);
    assert_eq!(
        asked(&server, 0, 2, chain[2]),
        Answer::Later {
            after_ms: PACE.ask_again_ms
        }
    );
    assert_eq!(asked(&server, 0, 2, chain[1]), Answer::Fork { frames: 2 });
    assert_eq!(asked(&server, 2, 0, chain[0]), Answer::NotYou);
    assert_eq!(asked(&server, 0, 3, chain[2]), Answer::Ahead { frames: 3 });
}

#[test]
fn answers_have_their_names_and_the_deadline_is_the_time() {
    let terms = agreement(2);
    let mut server = Server::new(&terms, 2);
    server.begin(0, Millis(0));
    let mut agent = AgentExchange::new(&terms, 1);
    let (header, payload) = wire::decode(&server.frames[0], 3).unwrap();
    assert_eq!(agent.frame(&header, &payload, 0, [0; 16]), Ok(Heard::Enter));
    assert_eq!(agent.want(Millis(0)), Want::Work);
    agent.made();
    let Want::Give(marks) = agent.want(Millis(0)) else {
        panic!("nothing to give")
    };
    let given =
        |server: &Server, who, marks: &Header, now| server.exchange.given(who, marks, Millis(now));
    assert_eq!(given(&server, 1, &marks, 999), None);
    assert_eq!(given(&server, 1, &marks, 1000), Some(Reply::Over));
    assert_eq!(given(&server, 0, &marks, 0), Some(Reply::NotYou));
    assert_eq!(
        given(
            &server,
            1,
            &Header {
                deployment: 1,
                ..marks
            },
            0
        ),
        Some(Reply::NotYou)
    );
    assert_eq!(
        given(
            &server,
            1,
            &Header {
                attempt: 1,
                ..marks
            },
            0
        ),
        Some(Reply::Over)
    );
    assert_eq!(
        given(&server, 1, &Header { chain: 1, ..marks }, 0),
        Some(Reply::Over)
    );
    server.exchange.took(1);
    assert_eq!(given(&server, 1, &marks, 0), Some(Reply::Already));
    assert_eq!(
        (server.exchange.answered(), server.exchange.due(Millis(0))),
        (1, Due::At(Millis(1000)))
    );
    assert_eq!(server.exchange.due(Millis(1000)), Due::Close);
    // An answer to an earlier question changes nothing; the agent's own word about the round does.
    agent.told(7, Reply::NotYou, Millis(0));
    agent.told(0, Reply::Later { after_ms: 5 }, Millis(0));
    assert_eq!(agent.want(Millis(0)), Want::Wait(Millis(5)));
    agent.told(0, Reply::Taken, Millis(5));
    assert!(matches!(
        agent.want(Millis(5)),
        Want::Ask(Have { frames: 1, .. })
    ));
    agent.not_you();
    assert_eq!(agent.want(Millis(5)), Want::Refused);
}

fn with_seed(seed: u64, protocol: &Protocol) -> Protocol {
    let draws = protocol.draws().unwrap().clone();
    Protocol::Draws(DrawsProtocol {
        features: PublicFeatures {
            seed,
            ..draws.features
        },
        ..draws
    })
}

#[test]
fn a_stored_exchange_goes_on_and_agreements_differ_by_every_number() {
    let terms = agreement(2);
    let agent = AgentExchange::new(&terms, 1);
    let mut bytes = [0; 200];
    let bytes = postcard::to_slice(&agent, &mut bytes).unwrap();
    assert_eq!(postcard::from_bytes::<AgentExchange>(bytes).unwrap(), agent);
    // With its agent, in a slot of the size that is told beforehand.
    let both = (AgentState::new(1, RunSeed::new(7, 0)), agent.clone());
    let mut slot = [0xff; max_bytes::<(AgentState, AgentExchange)>()];
    snapshot::write(&both, 3, &terms.digest(), &mut slot).unwrap();
    assert_eq!(snapshot::read(&slot, &terms.digest()), Ok(Some((3, both))));
    assert!(
        snapshot::read::<AgentState>(&slot, &terms.digest()).is_err(),
        "not an agent alone"
    );
    assert!(agent.belongs_to(&terms, 1) && !agent.belongs_to(&terms, 0));
    let others = [
        Agreement {
            dim: 2,
            ..terms.clone()
        },
        Agreement {
            deployment: 78,
            ..terms.clone()
        },
        Agreement {
            scalar: ScalarTag::F32,
            ..terms.clone()
        },
        Agreement {
            candidates: Digest([1; 32]),
            ..terms.clone()
        },
        Agreement {
            protocol: with_seed(4, &terms.protocol),
            ..terms.clone()
        },
        Agreement {
            announced: Announced {
                delta: 1e-6,
                ..terms.announced
            },
            ..terms.clone()
        },
        agreement(3),
    ];
    assert!(others.iter().all(|other| !agent.belongs_to(other, 1)));
}

/// A round that too few had answered ended at its deadline.
#[test]
fn a_round_that_is_held_stays_open_with_the_answers_it_has() {
    let terms = agreement(2);
    let mut server = Server::new(&terms, 2);
    server.begin(0, Millis(0));
    let marks = |agent| Header {
        agent,
        chain: wire::prefix(&server.history[1]),
        ..super::agreement::header(
            terms.deployment,
            &terms.digest(),
            wire::Kind::Upload,
            agent,
            0,
        )
    };
    let marks = [marks(0), marks(1)];
    server.exchange.took(0);
    let given = |server: &Server, who: u32, now| {
        server
            .exchange
            .given(who, &marks[who as usize], Millis(now))
    };
    assert_eq!(
        (server.exchange.due(Millis(1000)), given(&server, 1, 1000)),
        (Due::Close, Some(Reply::Over))
    );
    server.exchange.postpone(Millis(2000));
    assert_eq!(server.exchange.due(Millis(1000)), Due::At(Millis(2000)));
    assert_eq!(
        (given(&server, 1, 1999), given(&server, 0, 1999)),
        (None, Some(Reply::Already))
    );
    assert_eq!(
        (given(&server, 1, 2000), server.exchange.answered()),
        (Some(Reply::Over), 1)
    );
    // A deadline never comes earlier than it was said.
    server.exchange.postpone(Millis(1500));
    assert_eq!(server.exchange.due(Millis(1999)), Due::At(Millis(2000)));
    // A round that begins has nothing of it.
    server.begin(1, Millis(3000));
    assert_eq!(
        (
            server.exchange.answered(),
            server.exchange.due(Millis(4000))
        ),
        (0, Due::Close)
    );
}

/// Agreements that were stored before there were more methods are read as they were.
#[test]
fn the_first_byte_of_an_agreement_names_its_method() {
    let first = |protocol: Protocol| {
        let mut bytes = [0; 512];
        postcard::to_slice(
            &Agreement {
                protocol,
                ..agreement(2)
            },
            &mut bytes,
        )
        .unwrap()[0]
    };
    let Protocol::Draws(draws) = agreement(2).protocol else {
        panic!("another method")
    };
    let ballot = draws.config.clone();
    let digest = Digest::default();
    let vote = VoteProtocol {
        ballot,
        rounds: 4,
        feature_count: 3,
        features: draws.features,
    };
    let own = OwnProtocol {
        agents: 2,
        rounds: 4,
        initial_points: 1,
        offset: 0.0,
        message_len: 1,
        released_max: 9,
        digest,
    };
    assert_eq!(
        [
            Protocol::Draws(draws),
            Protocol::Vote(vote),
            Protocol::Own(own)
        ]
        .map(first),
        [0, 3, 4]
    );
}
