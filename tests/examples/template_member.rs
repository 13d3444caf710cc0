//! What the template for devices ends with as a member of a federated prior, computed here without
//! flash, link or reset, and with the servers of `sordino-host`: `cargo xtask template` compares.
//! The argument is the module that `sordino export` wrote.

use std::error::Error;
use std::sync::Arc;

use sordino_core::digest::{Digest, Frame as Fold};
use sordino_core::domain::Candidates;
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::{
    ContextStorage, JointVectors, Member, MemberSizes, MemberState, MemberStorage, PriorError,
    PriorProtocol, Public, context,
};
use sordino_core::federated::shares::{
    ATTEMPT_LEN, Attempts, Contribution, Modulus, Opened, SecretKey, Store, Trust,
};
use sordino_core::federated::{Frame, Member as _, Next};
use sordino_core::random::RunSeed;
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::server::{Population, ServerHost, SimulatedSources, WithPublic};
use sordino_host::shares::{Collection, Helper, HelperPlan, Keep};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The device, and the seeds of its draws and of the servers' noise: `src/config.rs` and
/// `src/board` of the template.
const AGENT: u32 = 3;
const OWN: RunSeed = RunSeed::new(1, 0);
const NOISE: RunSeed = RunSeed::new(9, 0);

/// An array of bytes of a module, and one of its numbers.
struct Module(String);

impl Module {
    fn agreement(&self) -> Outcome<Agreement> {
        let (_, array) = self
            .0
            .split_once("AGREEMENT: [u8; ")
            .ok_or("no agreement")?;
        let (array, _) = array
            .split_once("];\n")
            .ok_or("an agreement without an end")?;
        let bytes: Result<Vec<u8>, _> = array
            .split("0x")
            .skip(1)
            .map(|x| u8::from_str_radix(&x[..2], 16))
            .collect();
        Ok(Agreement::from_bytes(&bytes?)?)
    }

    fn points(&self, name: &str, dim: usize) -> Outcome<Candidates<'static, f64>> {
        let (_, rest) = self
            .0
            .split_once(&format!("{name}: u32 = "))
            .ok_or("no such grid")?;
        Ok(Candidates::grid(
            rest.split(';').next().unwrap_or_default().parse()?,
            dim,
        )?)
    }
}

/// The public numbers of all parties.
struct Shared<'a>(Public<'a, f32>);

impl WithPublic<f32> for Shared<'_> {
    fn public(&self) -> Result<Public<'_, f32>, PriorError> {
        Ok(self.0)
    }
}

/// A device that is never reset, and a helper that is never started again.
struct Forgetful;

impl Store for Forgetful {
    type Error = std::convert::Infallible;
    fn store(&mut self, _: &Attempts) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl Keep for Forgetful {
    fn keep(&mut self, _: &[u8]) -> Result<(), sordino_host::files::FileError> {
        Ok(())
    }
}

/// The ledger of one server, which admits everything.
fn ledger(whose: &str) -> Outcome<Ledger> {
    let data = format!("template, {whose}");
    let unit = "agent".to_owned();
    let accounting = Accounting::Gaussian;
    Ok(Ledger::in_memory(&Terms {
        data,
        unit,
        records: None,
        accounting,
        epsilon_max: None,
        delta: 1e-5,
    })?)
}

/// What stands between the member and the first server where there are two.
struct Second {
    run: Digest,
    own: SecretKey,
    attempts: Attempts,
    secret: SecretKey,
    helper: Helper<SimulatedSources, Forgetful>,
}

impl Second {
    fn new(run: Digest, protocol: &PriorProtocol) -> Outcome<Self> {
        let p = protocol.config.parameters();
        let len = protocol.config.contribution_len();
        let multipliers = &protocol.noise_multipliers;
        let plan = HelperPlan::new(run, p.agents, len, p.grid_exponent, multipliers)?;
        let own = SecretKey::new([1; 32]);
        let secret = SecretKey::new([2; 32]);
        let mut keys: Vec<_> = (0..p.agents).map(|_| None).collect();
        keys[AGENT as usize] = Some(secret.with_agent(&own.public_key())?);
        let sources = SimulatedSources::of_helper(NOISE);
        let ledger = ledger("helper")?;
        let helper = Helper::open(plan, keys, sources, ledger, Forgetful, None)?;
        Ok(Second {
            run,
            own,
            attempts: Attempts::new(run),
            secret,
            helper,
        })
    }

    /// Hides a contribution, opens it with the helper's noise in it, and gives it to the first
    /// server.
    fn give(
        &mut self,
        (epoch, encoding, numbers): (u32, &JointVectors, &[f32]),
        agents: u32,
        mut take: impl FnMut(Opened<'_>) -> Outcome,
    ) -> Outcome {
        let modulus = Modulus::of(encoding).ok_or("no mechanism")?;
        let mut integers = vec![0; numbers.len()];
        let mut hidden = vec![0; modulus.hidden_len(numbers.len())];
        let contribution = Contribution {
            epoch,
            encoding,
            numbers,
        };
        let key = self.own.with_helper(&self.secret.public_key())?;
        key.hide(
            contribution,
            &mut self.attempts,
            &mut Forgetful,
            &mut integers,
            &mut hidden,
        )?;
        let (attempt, share) = hidden
            .split_first_chunk::<ATTEMPT_LEN>()
            .ok_or("an attempt")?;
        let mut collection = Collection::new(self.run, epoch, agents, numbers.len(), modulus);
        collection.add(AGENT, u32::from_le_bytes(*attempt), share)?;
        let asked = collection.ask();
        let answer = self.helper.answer(asked.question())?;
        take(asked.open(&answer, &mut integers)?)
    }
}

fn main() -> Outcome {
    let module = Module(std::fs::read_to_string(
        std::env::args().nth(1).ok_or("which module?")?,
    )?);
    let agreement = module.agreement()?;
    let dim = agreement.dim as usize;
    let protocol = agreement.protocol.prior().ok_or("a federated prior")?;
    let candidates = module.points("POINTS_PER_AXIS", dim)?;
    let landmarks = module.points("LANDMARKS_PER_AXIS", dim)?;
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
    let mut state = MemberState::new(AGENT, OWN);
    let mut member = Member::attach(
        protocol,
        public,
        &models,
        &mut state,
        MemberStorage::split(protocol, &public, rest)?,
    )?;

    let hosted = Population::new(Arc::new(Shared(public)), protocol.plan())?.that_sends_sums();
    let mut server = ServerHost::new(
        hosted,
        SimulatedSources::new(NOISE),
        ledger("server")?,
        None,
    )?;
    let mut second = match p.trust {
        Trust::OneServer => None,
        Trust::TwoServers => Some(Second::new(agreement.digest(), protocol)?),
    };
    let mut released: Option<Vec<f32>> = None;
    for epoch in 0..=protocol.releases() {
        member.enter(
            released
                .as_ref()
                .map_or(Frame::Start, |numbers| Frame::Released(numbers)),
        )?;
        let given = loop {
            match member.next()? {
                Next::Query { candidate, .. } => {
                    let mut point = vec![0.0; dim];
                    candidates.point(candidate, &mut point);
                    member.observed(1.0 - point.iter().map(|x| *x as f32).product::<f32>())?;
                }
                Next::Give(numbers) => break numbers.to_vec(),
            }
        };
        if epoch == protocol.releases() {
            break;
        }
        server.open()?;
        match (&mut second, member.encoding()?) {
            (Some(second), Some(encoding)) => {
                second.give((epoch, &encoding, &given), p.agents, |opened| {
                    Ok(server.take(opened)?)
                })?;
            }
            _ => server.upload(AGENT, epoch, &given)?,
        }
        server.close()?;
        released = server.broadcast().map(<[f32]>::to_vec);
    }
    let mut end = Fold::leaf();
    end.digest(&Digest::of(Member::state(&member)));
    for (candidate, value) in member.observations() {
        end.u32(candidate);
        end.scalars(&[value]);
    }
    println!(
        "member: {}\nagent: {}",
        end.end(),
        member.observations().count()
    );
    Ok(())
}
