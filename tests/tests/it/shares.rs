//! Two servers: known answers of an independent program (`tests/vectors/shares.py`), sums that
//! open, and a leader whose release has the noise of both.

use sordino_core::digest::Digest;
use sordino_core::federated::prior::{
    Filter, Parameters, Plan, PublicState, scratch_len, storage_len,
};
use sordino_core::federated::shares::{
    Attempts, Contributor, HelperRelease, Modulus, Opened, SecretKey, ShareError, ShareSum, Store,
    Trust,
};
use sordino_core::federated::{
    Encoding, Estimator, PartialError, Server, ServerError, ServerInput, ServerOutput, ServerState,
    ServerStorage,
};
use sordino_core::math::erfc;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, Stream};
use sordino_tests::prior::{M, N, POINTS, World, small};
use sordino_tests::receipts::receipt;

const ANSWERS: &str = include_str!("../../vectors/shares.txt");
const PLAN: Plan<'static> = Plan {
    rounds: &[0],
    noise_multipliers: &[1.5],
};

/// A store that never fails.
pub(super) struct Kept;

impl Store for Kept {
    type Error = std::convert::Infallible;
    fn store(&mut self, _: &Attempts) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    text.split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect()
}

/// What a helper answers for one agent, without its noise: the noise is drawn again and taken away.
fn masks(
    len: usize,
    key: (SecretKey, SecretKey),
    run: Digest,
    at: [u32; 2],
    modulus: Modulus,
) -> Vec<u8> {
    let [epoch, attempt] = at;
    let mechanism = GridGaussian::unsampled(20, 1.0, 1).unwrap();
    let source = || Simulated::new(Stream::from_seed(5));
    let mut sums = vec![0; len];
    let mut noise = vec![0; len];
    let mut answer = vec![0; modulus.share_len(len)];
    let (agent, helper) = key;
    let key = helper.with_agent(&agent.public_key()).unwrap();
    let source_of_answer = &mut source();
    let mut open = HelperRelease::open(
        mechanism,
        run,
        epoch,
        modulus,
        source_of_answer,
        &mut sums,
        &mut noise,
    )
    .unwrap();
    open.add(Contributor { agent: 0, attempt }, &key).unwrap();
    let (charge, charged) = open.close(0);
    charged
        .answer(receipt(charge), source_of_answer, &mut answer)
        .unwrap();
    let mut drawn = vec![0; len];
    std::mem::forget(mechanism.fill_noise(&mut source(), &mut drawn).unwrap());
    assert!(
        drawn.iter().any(|noise| *noise != 0),
        "there is noise in an answer"
    );
    let word = modulus.word_len();
    for (bytes, noise) in answer.chunks_exact_mut(word).zip(drawn) {
        let mut all = [0; 8];
        all[..word].copy_from_slice(bytes);
        bytes.copy_from_slice(
            &u64::from_le_bytes(all)
                .wrapping_sub(noise as u64)
                .to_le_bytes()[..word],
        );
    }
    answer
}

/// Shares and masks of the independent program.
#[test]
fn shares_and_masks_are_those_of_an_independent_program() {
    let mut seen = 0;
    for line in ANSWERS.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [head, integers, keys, share, masked] = parts[..] else {
            panic!("{line}")
        };
        let [agent, helper, run, epoch, attempt, bits] = numbers::<u32>(head)[..] else {
            panic!("{head}")
        };
        let secret = |byte: u32| SecretKey::new([byte as u8; 32]);
        let keys: Vec<Vec<u8>> = keys.split(' ').map(bytes).collect();
        let publics = [
            secret(agent).public_key().0.to_vec(),
            secret(helper).public_key().0.to_vec(),
        ];
        assert_eq!(publics.to_vec(), keys);
        let run = Digest([run as u8; 32]);
        let modulus = if bits == 32 {
            Modulus::Bits32
        } else {
            Modulus::Bits64
        };
        // An agent that stored `attempt` as the next of this epoch.
        let state = postcard::to_allocvec(&(run, epoch, attempt)).unwrap();
        let mut attempts: Attempts = postcard::from_bytes(&state).unwrap();
        let mut integers: Vec<i64> = numbers(integers);
        let count = integers.len();
        let mut out = vec![0; modulus.share_len(count)];
        let key = secret(agent)
            .with_helper(&secret(helper).public_key())
            .unwrap();
        let mask = key.mask(attempts.reserve(epoch, &mut Kept).unwrap(), modulus);
        assert_eq!(mask.split(&mut integers, &mut out), Ok(attempt));
        assert_eq!(
            (out, integers),
            (bytes(share), vec![0; count]),
            "the share, and the integers are wiped"
        );
        let answer = masks(
            count,
            (secret(agent), secret(helper)),
            run,
            [epoch, attempt],
            modulus,
        );
        assert_eq!(answer, bytes(masked));
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// A share of integers that nobody checked.
fn share(agent: u32, epoch: u32, modulus: Modulus, integers: &[i64]) -> (Vec<u8>, u32) {
    let key = SecretKey::new([agent as u8 + 10; 32])
        .with_helper(&SecretKey::new([1; 32]).public_key())
        .unwrap();
    let mut out = vec![0; modulus.share_len(integers.len())];
    let attempt = Attempts::new(Digest([3; 32]))
        .reserve(epoch, &mut Kept)
        .unwrap();
    let attempt = key
        .mask(attempt, modulus)
        .split(&mut integers.to_vec(), &mut out)
        .unwrap();
    (out, attempt)
}

/// What the helper of [`share`] answers to a set.
fn answer(
    mechanism: GridGaussian,
    modulus: Modulus,
    set: &[u32],
    len: usize,
    source: &mut Simulated,
) -> Vec<u8> {
    let mut sums = vec![7; len];
    let mut noise = vec![7; len];
    let mut out = vec![0; modulus.share_len(len)];
    let mut open = HelperRelease::open(
        mechanism,
        Digest([3; 32]),
        0,
        modulus,
        source,
        &mut sums,
        &mut noise,
    )
    .unwrap();
    for agent in set {
        let public = SecretKey::new([*agent as u8 + 10; 32]).public_key();
        let key = SecretKey::new([1; 32]).with_agent(&public).unwrap();
        open.add(
            Contributor {
                agent: *agent,
                attempt: 0,
            },
            &key,
        )
        .unwrap();
    }
    let (charge, charged) = open.close(0);
    charged.answer(receipt(charge), source, &mut out).unwrap();
    assert!(
        sums.iter().all(|sum| *sum == 0) && noise.iter().all(|x| *x == 0),
        "wiped"
    );
    out
}

fn helper_source(seed: u64) -> Simulated {
    Simulated::new(RunSeed::new(seed, 1).stream(Party::Helper, Purpose::Release, 0))
}

#[test]
fn what_opens_is_the_sum_and_the_noise_of_the_helper() {
    for (modulus, largest) in [(Modulus::Bits32, 1 << 20), (Modulus::Bits64, 1 << 30)] {
        let mechanism = GridGaussian::unsampled(20, 1.0, 9).unwrap();
        let mut stream = Stream::from_seed(8);
        let vectors: Vec<Vec<i64>> = (0..5)
            .map(|_| {
                (0..70)
                    .map(|_| (stream.word() % (2 * largest)) as i64 - largest as i64)
                    .collect()
            })
            .collect();
        let mut words = vec![0; 70];
        let mut sum = ShareSum::new(&mut words, modulus);
        for (agent, vector) in (0..5).zip(&vectors) {
            sum.add(&share(agent, 0, modulus, vector).0).unwrap();
        }
        let answer = answer(
            mechanism,
            modulus,
            &[0, 1, 2, 3, 4],
            70,
            &mut helper_source(1),
        );
        let mut drawn = vec![0; 70];
        std::mem::forget(
            mechanism
                .fill_noise(&mut helper_source(1), &mut drawn)
                .unwrap(),
        );
        let mut out = vec![0; 70];
        let opened = Opened::new(&sum, &answer, 0, 5, &mut out).unwrap();
        for (at, found) in opened.sums().iter().enumerate() {
            assert_eq!(
                *found,
                vectors.iter().map(|vector| vector[at]).sum::<i64>() + drawn[at]
            );
        }
        // What was sent and what was answered look like nothing: no word of a share is a number of
        // its vector.
        let (share, _) = share(2, 0, modulus, &vectors[2]);
        let held = share
            .chunks(modulus.word_len())
            .zip(&vectors[2])
            .filter(|(bytes, x)| **bytes == x.to_le_bytes()[..modulus.word_len()]);
        assert_eq!(held.count(), 0);
        drop(opened);
        assert_eq!(out, [0; 70], "wiped");
    }
}

#[test]
fn a_set_names_an_agent_once_and_a_mask_of_another_epoch_opens_nothing() {
    let mechanism = GridGaussian::unsampled(20, 4.0, 9).unwrap();
    let mut sums = [0; 3];
    let mut noise = [0; 3];
    let source = &mut helper_source(2);
    let mut open = HelperRelease::open(
        mechanism,
        Digest([3; 32]),
        0,
        Modulus::Bits32,
        source,
        &mut sums,
        &mut noise,
    )
    .unwrap();
    let key = SecretKey::new([1; 32])
        .with_agent(&SecretKey::new([13; 32]).public_key())
        .unwrap();
    open.add(
        Contributor {
            agent: 3,
            attempt: 0,
        },
        &key,
    )
    .unwrap();
    for agent in [3, 2] {
        let refused = open.add(Contributor { agent, attempt: 1 }, &key);
        assert_eq!(refused, Err(ShareError::Order { before: 3, agent }));
    }
    drop(open);
    let sampled = GridGaussian::new(
        20,
        4.0,
        sordino_core::privacy::SamplingProbability::new(0.5).unwrap(),
        9,
    )
    .unwrap();
    let refused = HelperRelease::open(
        sampled,
        Digest([3; 32]),
        0,
        Modulus::Bits32,
        source,
        &mut sums,
        &mut noise,
    );
    assert_eq!(refused.err(), Some(ShareError::Sampled));
    // Simulated coins and noise are of one opening: a receipt of another does not pay.
    let open = |source: &mut Simulated, sums, noise| {
        HelperRelease::open(
            mechanism,
            Digest([3; 32]),
            0,
            Modulus::Bits32,
            source,
            sums,
            noise,
        )
        .unwrap()
    };
    let mut other_sums = [0; 3];
    let mut other_noise = [0; 3];
    let (charge, _) = open(&mut helper_source(9), &mut other_sums, &mut other_noise).close(0);
    let (_, charged) = {
        let (charge, charged) =
            open(source, &mut sums, &mut noise).close::<sordino_core::random::Simulation>(0);
        (charge, charged)
    };
    let mut out = [0; 12];
    assert_eq!(
        charged.answer(receipt(charge), source, &mut out),
        Err(ShareError::OtherReceipt)
    );
    assert_eq!(out, [0; 12]);
}

/// The small world of other tests, under two servers.
pub(super) fn shared() -> World<f64> {
    let world = small(N);
    let parameters = Parameters {
        trust: Trust::TwoServers,
        ..*world.config.parameters()
    };
    World {
        config: sordino_core::federated::prior::Config::new(parameters).unwrap(),
        ..world
    }
}

/// A leader through one release; `act` hands it what it takes. Returns the released numbers and the
/// noise it learned by.
fn lead(
    world: &World<f64>,
    vectors: &[Vec<f64>],
    act: impl FnOnce(&mut Server<'_, f64, Filter<'_, f64, Vec<f64>>>) -> Result<(), ServerError>,
) -> Result<Vec<f64>, ServerError> {
    lead_from(1, world, vectors, act)
}

/// The same with noise of another run.
fn lead_from(
    run: u32,
    world: &World<f64>,
    vectors: &[Vec<f64>],
    act: impl FnOnce(&mut Server<'_, f64, Filter<'_, f64, Vec<f64>>>) -> Result<(), ServerError>,
) -> Result<Vec<f64>, ServerError> {
    let mut sums = vec![0; M + 1];
    let mut noise = vec![0; M + 1];
    let mut flags = vec![0; N as usize];
    let mut released = vec![0.0; M + 1];
    let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
    let mut posterior = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
    let mut state = ServerState::new();
    let filter = Filter::new(PLAN, world.public(true), &mut posterior, &mut scratch).unwrap();
    let storage = ServerStorage {
        sums: &mut sums,
        noise: &mut noise,
        flags: &mut flags,
        vectors: &mut released,
    };
    let mut server = Server::attach(filter, &mut state, storage)?;
    let source =
        &mut Simulated::new(RunSeed::new(3, run).stream(Party::Server, Purpose::Release, 0));
    let _ = server.handle(ServerInput::Open, source)?;
    for (agent, vector) in (0..).zip(vectors) {
        server.handle(
            ServerInput::Upload {
                agent,
                broadcast: 0,
                vector,
            },
            source,
        )?;
    }
    act(&mut server)?;
    let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)? else {
        panic!("charged")
    };
    let _ = server.handle(ServerInput::Charged(receipt(charge)), source)?;
    Ok(released)
}

fn vectors() -> Vec<Vec<f64>> {
    (0..N)
        .map(|agent| {
            (0..=M)
                .map(|i| 0.1 * f64::from(agent) - 0.2 * i as f64)
                .collect()
        })
        .collect()
}

/// The integers of the vectors above, as each agent encodes them, their encoding and the standard
/// deviation it states.
fn encoded(world: &World<f64>) -> (Vec<Vec<i64>>, GridGaussian, f64, f64) {
    let mut scratch = vec![0.0; scratch_len(M, POINTS as usize)];
    let mut posterior = PublicState::new(world.config, vec![0.0; storage_len(M)]).unwrap();
    let mut filter = Filter::new(PLAN, world.public(true), &mut posterior, &mut scratch).unwrap();
    filter.prepare(0).unwrap();
    let encoding = filter.encoding(0).unwrap().unwrap();
    let vectors = vectors();
    let integers = vectors.iter().map(|vector| {
        let mut sums = vec![0; M + 1];
        encoding.add_if(true, 0, vector, &mut sums).unwrap();
        sums
    });
    let mechanism = *encoding.mechanism().unwrap();
    (
        integers.collect(),
        mechanism,
        mechanism.decode_unit(encoding.l2_sensitivity()).unwrap(),
        encoding.noise_std(),
    )
}

/// Nobody but an agent's own device sees its norm. A share in which every number is twice as large
/// as all agents together could make one is beyond what they can have sent; it is found by the
/// release, which is charged, and not when the release is learned.
#[test]
fn a_share_that_is_long_in_all_numbers_is_refused_by_the_release() {
    let world = shared();
    let (honest, mechanism, ..) = encoded(&world);
    let modulus = Modulus::fitting(&mechanism, N);
    let most = i64::from(N) * mechanism.radius() as i64;
    let everybody = (0..N).collect::<Vec<u32>>();
    let bytes = answer(mechanism, modulus, &everybody, M + 1, &mut helper_source(4));
    let led = |integers: [i64; M + 1]| {
        let mut words = vec![0; M + 1];
        let mut out = vec![0; M + 1];
        let mut sum = ShareSum::new(&mut words, modulus);
        for agent in 0..N {
            let own = if agent == 0 {
                &integers[..]
            } else {
                &[0; M + 1]
            };
            sum.add(&share(agent, 0, modulus, own).0).unwrap();
        }
        lead(&world, &[], |leader| {
            let opened = Opened::new(&sum, &bytes, 0, N, &mut out).unwrap();
            assert_eq!(
                leader.take(opened),
                Ok(()),
                "nothing is judged before the charge"
            );
            Ok(())
        })
    };
    let mut alone = [0; M + 1];
    alone[0] = most;
    for integers in [alone, honest[3].clone().try_into().unwrap()] {
        assert!(
            led(integers).is_ok(),
            "what all can have sent together is released, whoever sent it: {integers:?}"
        );
    }
    for integers in [[2 * most; M + 1], [-2 * most; M + 1]] {
        assert_eq!(
            led(integers),
            Err(ServerError::Partial(PartialError::Bound)),
            "{integers:?}"
        );
    }
}

/// A helper knows every mask, so it chooses what opens: Σx + T for any T. Whether that is refused
/// is seen, and must not compare x with T but for the leader's noise. T stands where one unit more
/// is refused.
#[test]
fn whether_a_release_is_refused_tells_a_helper_no_more_than_its_noise_allows() {
    let world = shared();
    let (honest, mechanism, ..) = encoded(&world);
    let modulus = Modulus::fitting(&mechanism, N);
    assert_eq!(modulus, Modulus::Bits32);
    let room = mechanism.radius() as i64 + (16 << mechanism.grid_exponent());
    let largest = *honest[3].iter().max_by_key(|x| x.abs()).unwrap();
    let place = honest[3].iter().position(|x| *x == largest).unwrap();
    // What a helper learns at best by noise of that size about numbers that differ by so much.
    let std = (1u64 << mechanism.grid_exponent()) as f64;
    let allowed = 1.0 - erfc(largest.abs() as f64 / std / 8f64.sqrt());
    assert!(allowed < 0.9, "{allowed}");
    for edge in [room, -room] {
        let runs = 300;
        let mut refused = [0u32; 2];
        for (contributed, refused) in [false, true].into_iter().zip(&mut refused) {
            for run in 0..runs {
                let mut words = vec![0; M + 1];
                let mut out = vec![0; M + 1];
                let mut sum = ShareSum::new(&mut words, modulus);
                let own = if contributed {
                    &honest[3][..]
                } else {
                    &[0; M + 1]
                };
                sum.add(&share(3, 0, modulus, own).0).unwrap();
                // The mask of agent 3, and T in place of noise.
                let mut words = vec![0; M + 1];
                let mut masks = ShareSum::new(&mut words, modulus);
                masks.add(&share(3, 0, modulus, &[0; M + 1]).0).unwrap();
                let mut bytes = vec![0; modulus.share_len(M + 1)];
                for (i, (bytes, mask)) in bytes.chunks_exact_mut(4).zip(masks.words()).enumerate() {
                    let chosen = if i == place { edge } else { 0 };
                    let word = (chosen as u32).wrapping_sub(*mask as u32);
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
                let released = lead_from(run, &world, &[], |leader| {
                    leader.take(Opened::new(&sum, &bytes, 0, 1, &mut out).unwrap())
                });
                match released {
                    Ok(_) => {}
                    Err(ServerError::Partial(PartialError::Bound)) => *refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
        }
        let [without, with] = refused.map(|count| f64::from(count) / f64::from(runs));
        // Four standard errors of a difference of two frequencies.
        let error = 4.0 * (0.5 / f64::from(runs)).sqrt();
        assert!(
            (with - without).abs() <= allowed + error,
            "{edge}: {without} without agent 3, {with} with it; {allowed} allowed"
        );
        assert!(
            without > 0.2,
            "{edge}: {without}: the edge is where it should be"
        );
    }
}

#[test]
fn a_leader_releases_what_one_server_would_and_the_noise_of_its_helper() {
    let world = shared();
    let (integers, mechanism, unit, std) = encoded(&world);
    let (_, _, _, alone) = encoded(&small(N));
    assert!(
        (std / alone - 2f64.sqrt()).abs() < 1e-12,
        "the noise of two, {std} against {alone}"
    );
    let modulus = Modulus::fitting(&mechanism, N);
    let mut words = vec![0; M + 1];
    let everybody = (0..N).collect::<Vec<u32>>();
    let mut sum = ShareSum::new(&mut words, modulus);
    for (agent, integers) in (0..).zip(&integers) {
        sum.add(&share(agent, 0, modulus, integers).0).unwrap();
    }
    let bytes = answer(mechanism, modulus, &everybody, M + 1, &mut helper_source(4));
    let mut drawn = vec![0; M + 1];
    std::mem::forget(
        mechanism
            .fill_noise(&mut helper_source(4), &mut drawn)
            .unwrap(),
    );
    let mut out = vec![0; M + 1];
    let found = lead(&world, &[], |leader| {
        leader.take(Opened::new(&sum, &bytes, 0, N, &mut out).unwrap())?;
        // A second answer, or an answer to one server alone, would be noise that nobody states.
        let again = leader.take(Opened::new(&sum, &bytes, 0, 0, &mut [0; M + 1]).unwrap());
        assert_eq!(
            again,
            Err(ServerError::Answers {
                broadcast: 0,
                found: 2,
                expected: 1
            })
        );
        Ok(())
    })
    .unwrap();
    let one = lead(&small(N), &vectors(), |_| Ok(())).unwrap();
    for ((two, one), noise) in found.iter().zip(&one).zip(&drawn) {
        assert!(
            (two - one - *noise as f64 * unit).abs() < 1e-9 * std,
            "{two} {one} {noise}"
        );
    }
    // What a leader does not take.
    let open = |broadcast, agents| {
        Opened::new(
            &sum,
            &bytes,
            broadcast,
            agents,
            Box::leak(vec![0; M + 1].into()),
        )
        .unwrap()
    };
    let refused = |opened| lead(&world, &[], |leader| leader.take(opened)).unwrap_err();
    assert_eq!(
        refused(open(1, N)),
        ServerError::Partial(PartialError::Broadcast {
            found: 1,
            expected: 0
        })
    );
    let many = PartialError::Agents {
        end: N as usize + 1,
        agents: N as usize,
    };
    assert_eq!(refused(open(0, N + 1)), ServerError::Partial(many));
    let missing = ServerError::Answers {
        broadcast: 0,
        found: 0,
        expected: 1,
    };
    assert_eq!(
        lead(&world, &[], |_| Ok(())),
        Err(missing),
        "without a helper nothing is released"
    );
    let unasked = ServerError::Answers {
        broadcast: 0,
        found: 1,
        expected: 0,
    };
    assert_eq!(
        lead(&small(N), &[], |leader| leader.take(open(0, N))),
        Err(unasked)
    );
    // A mask is missing: what opens is no sum of contributions.
    let less = answer(
        mechanism,
        modulus,
        &everybody[1..],
        M + 1,
        &mut helper_source(4),
    );
    let wrong = Opened::new(&sum, &less, 0, N, &mut out).unwrap();
    assert_eq!(refused(wrong), ServerError::Partial(PartialError::Bound));
}
