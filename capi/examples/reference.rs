//! What `device.c` does, by core alone and without the functions for C: the same lines, or one of
//! the two is wrong.

use std::error::Error;

use sordino_core::domain::{BoxDomain, Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::exchange::{
    AgentExchange, Agreement, Heard, Millis, Pace, Period, Protocol, Seal, ServerExchange, Want,
    after,
};
use sordino_core::federated::prior::{
    self as common, ContextStorage, MemberSizes, MemberState, MemberStorage, context,
};
use sordino_core::federated::shares::{
    AgentKey, Attempts, Contribution, Modulus, SecretKey, Store,
};
use sordino_core::federated::*;
use sordino_core::kernel::{Stationary, StationaryKernel};
use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::optimizer::{self, Optimizer, Settings};
use sordino_core::prior::{self, Newcomer, NewcomerSettings, PriorNumbers, PublicPrior};
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Charge, Epsilon, Ledger, Private};
use sordino_core::rand_core::{TryCryptoRng, TryRng};
use sordino_core::random::{RunSeed, Secret};
use sordino_core::surrogate::exact::{self, ExactGp, WhenFull};
use sordino_core::wire::{self, fragments, frame_len_max};

/// The federation of `federation.h`, as `sordino export` writes it for Rust.
#[allow(dead_code)]
#[path = "../../sim/tests/it/exported.rs"]
mod exported;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// FNV-1a over the bits of numbers.
struct Fold(u64);

impl Fold {
    fn new() -> Self {
        Fold(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, numbers: &[f32]) {
        numbers.iter().for_each(|x| self.bytes(&x.to_le_bytes()));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// NOT a generator: consecutive numbers, stirred.
struct Counter(u32);

impl TryRng for Counter {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)
            .map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)
            .map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for byte in bytes {
            self.0 += 1;
            *byte = (self.0.wrapping_mul(2_654_435_761) >> 24) as u8;
        }
        Ok(())
    }
}

impl TryCryptoRng for Counter {}

fn process() -> Outcome<u64> {
    let kernel = StationaryKernel::with_shape(Stationary::Matern52, 0.3f32, 1.0)?;
    let gp = ExactGp::new(kernel, 0.01, 2, 12, vec![0.0; exact::storage_len(2, 12)])?;
    let mut gp = gp.with_prior_mean(0.25)?.when_full(WhenFull::DropOldest);
    let mut fold = Fold::new();
    for i in 0..15u16 {
        let point = [i * 7 % 15, i * 4 % 15].map(|x| f32::from(x) / 15.0);
        gp.observe(&point, point[0] - point[1] * point[1])?;
        for j in 0..4u8 {
            let posterior = gp.posterior(&[f32::from(j) / 4.0, 0.5])?;
            fold.add(&[posterior.mean, posterior.variance]);
        }
    }
    fold.add(&[gp.log_marginal_likelihood()]);
    Ok(fold.0)
}

fn optimizer() -> Outcome<u64> {
    let domain = BoxDomain::new(&[(0.0, 3.0), (-1.0, 1.0)])?;
    let storage = vec![0.0f32; optimizer::storage_len(2, 14)];
    let mut optimizer = Optimizer::new(domain, Settings::default(), 14, storage)?;
    let mut fold = Fold::new();
    for i in 0..14 {
        if i == 9 {
            optimizer.fit()?;
        }
        let point = optimizer.suggest()?;
        fold.add(&point);
        let away = point[0] - 2.0;
        optimizer.observe(&point, -away * away - point[1] * point[1])?;
    }
    let (best, mean) = optimizer.best().ok_or("nothing observed")?;
    fold.add(&best);
    fold.add(&[mean]);
    Ok(fold.0)
}

const LANDMARKS: usize = 8;
const TOLD: usize = 10;

/// Questions, values and what is best.
fn search(list: &[f32], prior: Option<&PublicPrior<'_, f32>>, fold: &mut Fold) -> Outcome {
    let storage = vec![0.0; prior::storage_len(prior.map_or(0, PublicPrior::count), TOLD, 7)];
    let mut newcomer = Newcomer::new(list, 2, prior, NewcomerSettings::default(), TOLD, storage)?;
    for _ in 0..TOLD {
        let candidate = newcomer.suggest();
        let away = list[2 * candidate] - 0.3;
        let value = 700.0 - 30.0 * away * away - 20.0 * list[2 * candidate + 1];
        newcomer.observe(candidate, value)?;
        fold.add(&[candidate as f32, value]);
    }
    let (best, mean) = newcomer.best().ok_or("nothing observed")?;
    fold.add(&[best as f32, mean]);
    fold.add(&[newcomer.trust()]);
    Ok(())
}

/// A search with a prior file and one without.
fn prior_file() -> Outcome<u64> {
    let points = |count: u8, first: u8, second: u8| -> Vec<f32> {
        let at = |i: u8, step: u8| {
            (f32::from((u16::from(i) * u16::from(step) % u16::from(count)) as u8) + 0.5)
                / f32::from(count)
        };
        (0..count)
            .flat_map(|i| [at(i, first), at(i, second)])
            .collect()
    };
    let landmarks = points(LANDMARKS as u8, 3, 5);
    let list = points(20, 7, 3);
    let weights: Vec<f32> = (0..LANDMARKS as u8)
        .map(|i| f32::from(i * 7 % 8) * 0.25 - 0.75)
        .collect();
    let entry = |i: usize, j: usize| match i - j {
        0 => 0.125,
        1 => 0.015625,
        _ => 0.0,
    };
    let covariance: Vec<f32> = (0..LANDMARKS)
        .flat_map(|i| (0..=i).map(move |j| entry(i, j)))
        .collect();
    let numbers = PriorNumbers {
        dim: 2,
        landmarks: &landmarks,
        lengthscale: 0.3,
        weights: &weights,
        covariance: &covariance,
        self_test: 4.0,
    };
    let mut storage = vec![0.0; prior::attach_len(LANDMARKS)];
    let prior = PublicPrior::attach(numbers, &mut storage)?;
    let mut fold = Fold::new();
    search(&list, Some(&prior), &mut fold)?;
    search(&list, None, &mut fold)?;
    fold.add(prior.factor());
    let mut moments = vec![0.0; list.len()];
    prior.moments(&list, &mut moments, &mut [0.0; LANDMARKS])?;
    fold.add(&moments);
    Ok(fold.0)
}

/// A ledger for what nobody sees.
struct Forgetful;

impl Ledger<Private> for Forgetful {
    type Error = core::convert::Infallible;

    fn write(&mut self, _: &Charge<Private>) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn reporter() -> Outcome<u64> {
    let mechanism = ClampedLaplace::new(1.5, 20, Epsilon::new(0.5)?)?;
    let mut state = ReporterState::new(7, Epsilon::new(1.0)?);
    let source = &mut Secret::new(Counter(0));
    let mut fold = Fold::new();
    for i in 0..2u8 {
        let mut input = ReporterInput::Query {
            candidate: u32::from(i),
        };
        loop {
            input = match Reporter::attach(&mechanism, &mut state).handle(input, source)? {
                ReporterOutput::Charge(charge) => ReporterInput::Charged(Forgetful.append(charge)?),
                ReporterOutput::Evaluate { .. } => ReporterInput::Reward(0.8 - f32::from(i)),
                ReporterOutput::Report(release) => break fold.add(&[*release.value()]),
            };
        }
    }
    fold.add(&[state.budget().spent() as f32]);
    Ok(fold.0)
}

/// What the agent of `device.c` agreed on.
fn config() -> Outcome<Config> {
    let private = Aggregation::private(10.0, 0.5, 1.0)?;
    let usual = Parameters::usual(6, Regions::new(&[2, 1])?, 5, 16, private);
    Ok(Config::new(Parameters {
        initial_points: 3,
        ..usual
    })?)
}

/// The first round of agent 2 and its server: the frame that opens it, the answer, which the server
/// takes, the same in 16 bits and in packets of 51 bytes.
fn frames() -> Outcome<u64> {
    let agreement = exported::agreement()?;
    let mut server = ServerExchange::new(
        &agreement,
        Pace {
            ask_again_ms: 1,
            spread_ms: 0,
        },
        [0; 8],
    );
    let mut agent = AgentExchange::new(&agreement, 2);
    let mut fold = Fold::new();
    let mut bytes = [0; frame_len_max(wire::ScalarTag::F32, exported::FEATURES)];
    let (len, chain) = server.frame(0, 0, &agreement.digest(), None::<&[f32]>, &mut bytes)?;
    server.begin(
        0,
        0,
        chain,
        Period {
            opened: Millis(0),
            deadline: Millis(1),
            may_close_early: true,
        },
    );
    fold.bytes(&bytes[..len]);
    // For `opening` in `device.c`, whenever the agreement becomes another one.
    eprintln!("opening {:02x?}", &bytes[..len]);
    let (header, payload) = wire::decode(&bytes[..len], 0)?;
    assert_eq!(
        agent.frame(&header, &payload, 0, Seal::default())?,
        Heard::Enter
    );
    agent.made();
    let Want::Give(header) = agent.want(Millis(0)) else {
        return Err("nothing to give".into());
    };
    fold.bytes(&chain.0);
    let weights: Vec<f32> = (0..exported::FEATURES as u16)
        .map(|i| f32::from(i % 7) * 0.25 - 0.75)
        .collect();
    let len = wire::encode(header, &weights, &mut bytes)?;
    assert_eq!(
        server.given(2, &wire::decode(&bytes[..len], 64)?.0, Millis(0)),
        None,
        "taken"
    );
    fold.bytes(&bytes[..len]);
    let mut packet = [0; 51];
    for index in 0..fragments::count(len, packet.len()).ok_or("too many pieces")? {
        let used = fragments::piece(&bytes[..len], index, &mut packet)?;
        fold.bytes(&packet[..used]);
    }
    let len = small::encode(
        &agreement.protocol.draws().ok_or("draws")?.config,
        header,
        &weights,
        &mut bytes,
    )?;
    fold.bytes(&bytes[..len]);
    Ok(fold.0)
}

/// The whole run of agent 2.
fn whole_run(config: &Config, public: &Public<'_, f32>) -> Outcome<u64> {
    let mut state = AgentState::new(2, RunSeed::new(9, 0));
    let mut storage = vec![0.0; storage_len(public)];
    let mut agent = Agent::attach(
        public,
        &mut state,
        AgentStorage::split(public, &mut storage)?,
    )?;
    let mut fold = Fold::new();
    let mut round = 0;
    fold.bytes(&config.digest().0);
    let mut vectors = vec![0.0; config.broadcast_len()];
    let mut input = Input::Start;
    loop {
        input = match agent.handle(input)? {
            Output::Evaluate {
                candidate, point, ..
            } => {
                fold.add(&[1.0]);
                fold.add(point);
                if round == 3 {
                    fold.add(&[candidate as f32]);
                }
                Input::Observed(point.iter().product())
            }
            Output::Upload(weights) => {
                fold.add(&[2.0]);
                fold.add(weights);
                round += 1;
                vectors
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, x)| *x = ((i * 5 + round) % 11) as f32 - 5.0);
                Input::Broadcast {
                    vectors: &vectors,
                    maximum: None,
                }
            }
            Output::Wait => return Err("an agent of a private federation uploads".into()),
            Output::Done => return Ok(fold.0),
        };
    }
}

fn agent() -> Outcome<u64> {
    let config = config()?;
    let mut numbers = vec![0.0; random_fourier::storage_len(2, 16)];
    random_fourier::draw(5, 0, Stationary::Matern52, &[0.2], 2, 16, &mut numbers)?;
    let features = RandomFourier::new(2, 16, 1.0, true, &numbers[..])?;
    whole_run(
        &config,
        &Public::streamed(&config, Candidates::grid(10, 2)?, features)?,
    )
}

/// An agent of `federation.h`, from the agreement, which the agent of C does not read.
fn written() -> Outcome<u64> {
    let agreement = exported::agreement()?;
    let mut numbers = [0.0; exported::FEATURES_LEN];
    let draws = agreement.protocol.draws().ok_or("draws")?;
    let features = draws
        .features
        .draw(exported::DIM, exported::FEATURES, &mut numbers)?;
    whole_run(
        &draws.config,
        &Public::streamed(&draws.config, exported::candidates()?, features)?,
    )
}

/// The agreement that a header for C holds, and the points of an axis of its candidates and
/// landmarks.
fn header(text: &str) -> Outcome<(Agreement, [u32; 2])> {
    let number = |name: &str| -> Outcome<u32> {
        let (_, rest) = text
            .split_once(&format!("#define SORDINO_{name} "))
            .ok_or("no such constant")?;
        Ok(rest.split('u').next().unwrap_or_default().parse()?)
    };
    Ok((
        Agreement::from_bytes(&bytes_of(text, "SORDINO_AGREEMENT")?)?,
        [number("POINTS_PER_AXIS")?, number("LANDMARKS_PER_AXIS")?],
    ))
}

/// A member of the federation of a header, without a reset. With a key it hides each contribution
/// twice, as a device that was reset in between.
fn member(text: &str, key: Option<&AgentKey>) -> Outcome<u64> {
    let (agreement, points) = header(text)?;
    let dim = agreement.dim as usize;
    let protocol = agreement.protocol.prior().ok_or("a federated prior")?;
    let candidates = Candidates::grid(points[0], dim)?;
    let landmarks = Candidates::grid(points[1], dim)?;
    let p = protocol.config.parameters();
    let counts = [
        p.feature_count,
        p.initial_points,
        protocol.rounds,
        p.designs,
    ]
    .map(|count| count as usize);
    let sizes = MemberSizes::new(
        candidates.count() as usize,
        counts[0],
        counts[1],
        counts[2],
        counts[3],
    );
    let mut numbers = vec![0.0f32; sizes.context() + sizes.storage()];
    let mut designs = vec![0; sizes.designs_len()];
    let storage = ContextStorage {
        numbers: &mut numbers,
        designs: &mut designs,
    };
    let (public, rest) = context(
        &agreement,
        [&candidates, &landmarks],
        storage,
        &mut vec![0.0; sizes.doubles(dim)],
    )?;
    let models = protocol.models();
    let mut state = MemberState::new(2, RunSeed::new(9, 0));
    let storage = MemberStorage::split(protocol, &public, rest)?;
    let mut member = common::Member::attach(protocol, public, &models, &mut state, storage)?;
    let grid = Candidates::<f32>::grid(points[0], dim)?;
    let mut point = vec![0.0; dim];
    let mut attempts = Attempts::new(agreement.digest());
    let mut fold = Fold::new();
    let len = protocol.config.contribution_len();
    let mut integers = vec![0; len];
    let mut hidden = vec![0; Modulus::Bits64.hidden_len(len)];
    for round in 0..=protocol.releases() {
        let mut released: Vec<f32> = (0..len as u32)
            .map(|i| (((i * 5 + round) % 11) as f32 - 5.0) * 0.0625)
            .collect();
        released[len - 1] = 1.75;
        member.enter(if round == 0 {
            Frame::Start
        } else {
            Frame::Released(&released)
        })?;
        while let Next::Query { candidate, .. } = member.next()? {
            grid.point(candidate, &mut point);
            fold.add(&[1.0, candidate as f32]);
            fold.add(&point);
            member.observed(1.0 - point[0])?;
        }
        let Next::Give(given) = member.next()? else {
            return Err("a query more".into());
        };
        let epoch = round;
        let given = given.to_vec();
        match (key, member.encoding()?) {
            (_, None) => assert!(given.is_empty() && round == protocol.releases()),
            (None, Some(_)) => {
                fold.add(&[2.0, 0.0]);
                fold.add(&given);
            }
            (Some(key), Some(encoding)) => {
                fold.add(&[4.0, 0.0]);
                for _ in 0..2 {
                    let contribution = Contribution {
                        epoch,
                        encoding: &encoding,
                        numbers: &given,
                    };
                    let used = key.hide(
                        contribution,
                        &mut attempts,
                        &mut Forgetful,
                        &mut integers,
                        &mut hidden,
                    );
                    fold.bytes(&hidden[..used.map_err(|error| format!("{error:?}"))?]);
                }
            }
        }
    }
    Ok(fold.0)
}

impl Store for Forgetful {
    type Error = core::convert::Infallible;

    fn store(&mut self, _: &Attempts) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The entries of an array of a header.
fn entries<'t>(text: &'t str, name: &str) -> Outcome<impl Iterator<Item = &'t str>> {
    let from = text
        .find(&format!(" {name}["))
        .ok_or(format!("{name} is missing"))?;
    let (_, rest) = text[from..]
        .split_once("{\n")
        .ok_or("an array begins with {")?;
    let (body, _) = rest.split_once("};").ok_or("an array ends with }")?;
    Ok(body
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty()))
}

fn bytes_of(text: &str, name: &str) -> Outcome<Vec<u8>> {
    entries(text, name)?
        .map(|entry| Ok(u8::from_str_radix(entry.trim_start_matches("0x"), 16)?))
        .collect()
}

fn array<T: std::str::FromStr<Err = std::num::ParseFloatError>>(
    text: &str,
    name: &str,
) -> Outcome<Vec<T>> {
    entries(text, name)?
        .map(|entry| Ok(entry.trim_end_matches('f').parse()?))
        .collect()
}

/// A site of the campaign of `campaign.h`.
fn site() -> Outcome<u64> {
    let campaign = include_str!("campaign.h");
    let server = include_str!("campaign_frames.h");
    let agreement = Agreement::from_bytes(&bytes_of(campaign, "SORDINO_AGREEMENT")?)?;
    let Protocol::Campaign(protocol) = &agreement.protocol else {
        return Err("a campaign".into());
    };
    let landmarks = array(campaign, "SORDINO_LANDMARKS")?;
    let all = array::<f32>(campaign, "SORDINO_POINTS")?;
    let site = common::Site::new(protocol, &landmarks, 2)?;
    let n = protocol.config.parameters().initial_points as usize;
    let points: Vec<f64> = (0..n)
        .flat_map(|i| [0, 1].map(|axis| f64::from(all[(37 * i + 5) * 2 + axis])))
        .collect();
    let values: Vec<f64> = (0..n)
        .map(|i| -(2000.0 + 0.25 * ((7 * i) % 11) as f64))
        .collect();
    let m = site.features();
    let mut storage = vec![0.0; common::own_points_len(n, m)];
    let mut scratch = vec![0.0; common::own_points_scratch_len(n, m)];
    let own = common::OwnPoints::compute(site, &points, &values, &mut storage, &mut scratch)?;
    let mut history = agreement.digest();
    let mut fold = Fold::new();
    let mut out = vec![0.0; m + 1];
    let mut frame = vec![0; frame_len_max(wire::ScalarTag::F64, m + 1)];
    for round in 0..protocol.releases() {
        let sent = bytes_of(server, &format!("FRAME_{round}"))?;
        let (header, payload) = wire::decode(&sent, 100)?;
        history = after(&history, &header, &payload);
        let opening = bytes_of(server, &format!("OPENING_{round}"))?;
        let (_, payload) = wire::decode(&opening, 100)?;
        let mut numbers = vec![0.0; common::opening_len(m)];
        payload.read(&mut numbers)?;
        own.contribution(&common::Opening::read(&numbers)?, &mut scratch, &mut out)?;
        let header = wire::Header {
            kind: wire::Kind::Upload,
            agent: 3,
            chain: wire::prefix(&history),
            ..header
        };
        let used = wire::encode(header, &out, &mut frame)?;
        fold.bytes(&frame[..used]);
    }
    let file = bytes_of(server, "FILE_2")?;
    let (header, payload) = wire::decode(&file, 1000)?;
    let mut numbers = vec![0f32; header.len as usize];
    payload.read(&mut numbers)?;
    fold.bytes(&file);
    fold.add(PriorNumbers::read(agreement.dim as usize, &numbers)?.weights);
    let version = wire::VERSION;
    let kind = wire::Kind::Upload;
    let scalar = wire::ScalarTag::F32;
    let round = protocol.releases();
    let none = wire::Header {
        version,
        kind,
        scalar,
        round,
        deployment: 0,
        config: 0,
        chain: 0,
        agent: 0,
        attempt: 0,
        len: 0,
    };
    let used = wire::encode::<f32>(none, &[], &mut frame)?;
    fold.bytes(&frame[..used]);
    Ok(fold.0)
}

fn main() -> Outcome {
    println!("gp {:016x}", process()?);
    println!("optimizer {:016x}", optimizer()?);
    println!("prior {:016x}", prior_file()?);
    println!("reporter {:016x}", reporter()?);
    println!("agent {:016x}", agent()?);
    println!("exported {:016x}", written()?);
    println!("frames {:016x}", frames()?);
    println!(
        "one-server {:016x}",
        member(include_str!("one_server.h"), None)?
    );
    let mut own = [0; 32];
    let mut helper = [0; 32];
    own[..3].copy_from_slice(&[1, 2, 3]);
    helper[..3].copy_from_slice(&[4, 5, 6]);
    let key = SecretKey::new(own).with_helper(&SecretKey::new(helper).public_key())?;
    println!(
        "two-servers {:016x}",
        member(include_str!("two_servers.h"), Some(&key))?
    );
    println!("site {:016x}", site()?);
    Ok(())
}
