//! What two servers cost of processor time in a release of 10,000 contributions of 51 numbers, for
//! `cargo xtask net-bench`: a server alone, then a leader and its helper on the same terms, in one
//! thread. Connections and noise are left out: they are the same with a helper and without, but for
//! the connection between the two.
//!
//! `two_servers [SITES]`: how many sites contribute (10,000).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sordino_core::federated::Estimator as _;
use sordino_core::federated::exchange::Announced;
use sordino_core::federated::shares::{
    Attempts, Contribution, Contributor, Modulus, SecretKey, Store, Trust,
};
use sordino_core::random::{Stream, normal};
use sordino_core::wire::{self, Header, Kind, ScalarTag, VERSION};
use sordino_host::campaign::Campaign;
use sordino_host::ledger::{
    Accounting, CounterPlace, Deferred, Ledger, Options, Terms as LedgerTerms,
};
use sordino_host::prior::publish::Publication;
use sordino_host::server::{Hosted as _, ServerHost, SystemSources};
use sordino_host::shares::{Collection, Helper, Kept, Question};
use sordino_host::space::SpaceFile;
use sordino_net::help::desk::{Desk, Enrolling};
use sordino_net::help::told::Told;
use sordino_net::party::{CampaignParty, Served};
use sordino_net::shares::{self, MaskKey, Shared};
use sordino_net::terms::Terms;

type Failed = Box<dyn std::error::Error + Send + Sync>;

const SPACE: &str = "goal = \"minimize\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n[parameters.width]\nlow = 0\n\
                     high = 1\n";
const FEATURES: u32 = 50;
const RELEASES: u32 = 2;
/// Room for all of it.
const EPSILON_MAX: f64 = 2.0;
/// Measured so often; the median counts.
const TIMES: usize = 5;

fn main() -> Result<(), Failed> {
    let sites: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |count| count.parse())?;
    let mut alone = Vec::new();
    let mut leader = Vec::new();
    let mut helper = Vec::new();
    let mut telling = Vec::new();
    let mut enrolment = Vec::new();
    let mut bytes = [0; 2];
    for time in 0..TIMES {
        // In turn, on the same machine within seconds.
        let place = Place::new(time)?;
        let (took, len) = one_server(sites, &place.0)?;
        alone.push(took);
        bytes[0] = len;
        let two = two_servers(sites, &place.0)?;
        leader.push(two.leader);
        helper.push(two.helper);
        telling.push(two.telling);
        enrolment.push(two.enrolment);
        bytes[1] = two.bytes;
    }
    let [alone, leader, helper, telling, enrolment] =
        [alone, leader, helper, telling, enrolment].map(median);
    println!(
        "one release of {sites} contributions of {} numbers, ms of processor time, medians of {TIMES}:",
        FEATURES + 1
    );
    println!("one server: {alone:.1}, messages of {} bytes", bytes[0]);
    println!(
        "two servers: leader {leader:.1}, {:+.0} %, messages of {} bytes",
        100.0 * (leader / alone - 1.0),
        bytes[1]
    );
    println!("two servers: helper {helper:.1}");
    println!(
        "once in a run, for the keys of all sites: leader {telling:.1}, helper {enrolment:.1}"
    );
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A folder that is thrown away.
struct Place(PathBuf);

impl Place {
    fn new(time: usize) -> Result<Self, Failed> {
        let path =
            std::env::temp_dir().join(format!("sordino-two-servers-{}-{time}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Place(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left is in the folder for temporary things.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Processor time of this thread so far, in milliseconds.
fn now() -> Result<f64, Failed> {
    // Linux brings the count up to date when a thread yields; otherwise at its ticks, which are 4
    // ms apart.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(told
        .split_whitespace()
        .next()
        .ok_or("no processor time")?
        .parse::<f64>()?
        / 1e6)
}

fn terms(sites: u32, trust: Trust) -> Result<Terms, Failed> {
    let file = SpaceFile::parse("space.toml", SPACE)?;
    let publication = Publication {
        space: file.space,
        goal: file.goal.ok_or("no goal")?,
        value: None,
        epsilon: 1.0,
        delta: 1e-6,
        releases: RELEASES,
        features: FEATURES,
        dataset: "two servers".into(),
        by: None,
        note: None,
        published: None,
    };
    let campaign = Campaign::trusting(publication, sites, trust)?;
    let announced = Announced {
        epsilon_max: Some(EPSILON_MAX),
        delta: 1e-6,
        deadline_ms: 60_000,
        may_close_early: true,
    };
    Ok(Terms::of_campaign(&campaign, 1, announced)?)
}

/// A ledger of its own in this folder.
fn ledger(terms: &Terms, place: &Path, name: &str) -> Result<Deferred, Failed> {
    Ok(Deferred::new(undeferred(terms, place, name)?, None)?)
}

fn undeferred(terms: &Terms, place: &Path, name: &str) -> Result<Ledger, Failed> {
    let agreement = &terms.agreement;
    let of_ledger = LedgerTerms {
        data: name.into(),
        unit: "agent".into(),
        records: Some(u64::from(agreement.protocol.agents())),
        accounting: Accounting::Gaussian,
        epsilon_max: agreement.announced.epsilon_max,
        delta: agreement.announced.delta,
    };
    let next = agreement.protocol.event(0)?.into_iter().collect();
    let options = Options {
        counter: CounterPlace::Folder(place.join(format!("{name}-counter"))),
        another: false,
        next,
    };
    Ok(Ledger::open_secret(
        &place.join(name),
        &of_ledger,
        &options,
    )?)
}

type Host = ServerHost<f64, SystemSources, Deferred, <CampaignParty as Served<f64>>::Hosted>;

/// A server with its first release open.
fn opened(terms: &Terms, place: &Path, name: &str) -> Result<Host, Failed> {
    let party = CampaignParty::new(terms)?;
    let mut host = Host::new(
        party.hosted()?,
        SystemSources::new()?,
        ledger(terms, place, name)?,
        None,
    )?;
    if !host.open()? {
        return Err("the first release is not made".into());
    }
    Ok(host)
}

fn header(terms: &Terms, agent: u32, len: usize) -> Header {
    Header {
        version: VERSION,
        kind: Kind::Upload,
        scalar: ScalarTag::F64,
        deployment: terms.agreement.deployment,
        config: 1,
        chain: 0,
        agent,
        round: 0,
        attempt: 0,
        len: len as u32,
    }
}

fn frame(header: Header, numbers: &[f64]) -> Result<Vec<u8>, Failed> {
    let mut bytes = vec![0; wire::frame_len_max(ScalarTag::F64, numbers.len())];
    let used = wire::encode(header, numbers, &mut bytes)?;
    bytes.truncate(used);
    Ok(bytes)
}

/// What a site contributes: most of them longer than the clip.
fn vector(terms: &Terms, agent: u32) -> Vec<f64> {
    let mut vector = vec![0.0; terms.agreement.protocol.upload_len()];
    normal::fill(&mut Stream::from_seed(u64::from(agent)), &mut vector);
    vector
}

/// Milliseconds that a server alone takes to read, clip, encode and add everything; bytes of a
/// message.
fn one_server(sites: u32, place: &Path) -> Result<(f64, usize), Failed> {
    let terms = terms(sites, Trust::OneServer)?;
    let mut host = opened(&terms, place, "alone")?;
    let numbers = terms.agreement.protocol.upload_len();
    let frames =
        (0..sites).map(|agent| frame(header(&terms, agent, numbers), &vector(&terms, agent)));
    let frames: Vec<_> = frames.collect::<Result<_, _>>()?;
    let start = now()?;
    let mut read = vec![0.0; numbers];
    for frame in &frames {
        let (header, payload) = wire::decode(frame, numbers as u32)?;
        payload.read(&mut read)?;
        host.upload(header.agent, header.round, &read)?;
    }
    Ok((
        now()? - start,
        frames.iter().map(Vec::len).max().unwrap_or(0),
    ))
}

/// A store that is not part of what is measured.
struct Nowhere;

impl Store for Nowhere {
    type Error = std::convert::Infallible;
    fn store(&mut self, _: &Attempts) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Milliseconds of processor time of the two servers; bytes of a message.
struct Two {
    leader: f64,
    helper: f64,
    /// Once in a run: the leader tells all keys.
    telling: f64,
    /// Once in a run: the helper reads, judges and stores them.
    enrolment: f64,
    bytes: usize,
}

fn secret(agent: u32) -> SecretKey {
    let mut bytes = [7; 32];
    // Past the bits that X25519 clears.
    bytes[8..12].copy_from_slice(&agent.to_le_bytes());
    SecretKey::new(bytes)
}

/// Messages of all sites, as they encode and mask them themselves.
fn messages(terms: &Terms, helper: &SecretKey) -> Result<Vec<Vec<u8>>, Failed> {
    let agreement = &terms.agreement;
    let public = helper.public_key();
    let mut hosted = CampaignParty::new(terms)?.hosted()?;
    let mut releases = hosted.estimator()?;
    releases.prepare(0)?;
    let encoding = releases.encoding(0)?.ok_or("no release")?;
    let modulus = Modulus::of(&encoding).ok_or("no release")?;
    let message = |agent: u32| {
        let numbers = &vector(terms, agent)[..];
        let mut integers = vec![0; numbers.len()];
        let mut hidden = vec![0; modulus.hidden_len(numbers.len())];
        let contribution = Contribution {
            epoch: 0,
            encoding: &encoding,
            numbers,
        };
        let mut attempts = Attempts::new(agreement.digest());
        let key = secret(agent).with_helper(&public)?;
        key.hide(
            contribution,
            &mut attempts,
            &mut Nowhere,
            &mut integers,
            &mut hidden,
        )?;
        Ok([frame(header(terms, agent, 0), &[])?, hidden].concat())
    };
    (0..agreement.protocol.agents()).map(message).collect()
}

fn two_servers(sites: u32, place: &Path) -> Result<Two, Failed> {
    let terms = terms(sites, Trust::TwoServers)?;
    let mut host = opened(&terms, place, "leader")?;
    let run = terms.agreement.digest();
    let numbers = terms.agreement.protocol.upload_len();
    let plan = shares::plan(&terms.agreement)?.ok_or("one server")?;
    let modulus = plan.modulus(0).ok_or("no release")?;
    let key = || SecretKey::new([1; 32]);
    let messages = messages(&terms, &key())?;
    let keys: BTreeMap<u32, MaskKey> = (0..sites)
        .map(|agent| (agent, MaskKey::from(secret(agent).public_key())))
        .collect();
    let keep = Kept(place.join("answers.json"));
    let helper = Helper::open(
        plan,
        Vec::new(),
        SystemSources::new()?,
        undeferred(&terms, place, "helper")?,
        keep,
        None,
    )?;
    let mut desk = Desk::new(
        key(),
        helper,
        sites,
        BTreeMap::new(),
        Some(place.join("agents.json")),
    )?;
    let mut told = Told::default();
    let mut telling = 0.0;
    let mut enrolment = 0.0;
    // Once in a run, and once more in the release that is measured: then nothing is left to tell.
    let tell = |told: &mut Told, set: &[Contributor]| -> Result<Option<Vec<u8>>, Failed> {
        let untold = told.untold(set);
        if untold.is_empty() {
            return Ok(None);
        }
        let agents: Vec<Enrolling> = untold
            .iter()
            .map(|agent| Enrolling {
                agent: *agent,
                key: keys[agent],
            })
            .collect();
        told.add(&agents);
        Ok(Some(serde_json::to_vec(&agents)?))
    };
    let everybody: Vec<Contributor> = (0..sites)
        .map(|agent| Contributor { agent, attempt: 0 })
        .collect();
    let start = now()?;
    let request = tell(&mut told, &everybody)?.ok_or("nothing to tell")?;
    telling += now()? - start;
    let start = now()?;
    desk.enrol(&serde_json::from_slice::<Vec<_>>(&request)?)?;
    enrolment += now()? - start;
    // The leader, up to the question, as it is stored and sent.
    let start = now()?;
    let mut collection = Collection::new(run, 0, sites, numbers, modulus);
    for message in &messages {
        let (front, behind) = shares::split(message)?;
        let (header, _) = wire::decode(front, numbers as u32)?;
        let Shared { attempt, share } = Shared::read(behind).ok_or("no share")?;
        collection.add(header.agent, attempt, share)?;
    }
    let asked = collection.ask();
    sordino_host::files::write_privately(&place.join("asked.json"), &serde_json::to_vec(&asked)?)?;
    if tell(&mut told, &asked.question().set)?.is_some() {
        return Err("keys are told twice".into());
    }
    let question = serde_json::to_vec(asked.question())?;
    let before = now()? - start;
    // The helper, from the bytes of the question to its answer, stored and charged.
    let start = now()?;
    let question: Question = serde_json::from_slice(&question)?;
    let answer = desk.answer(&question)?;
    let helper = now()? - start;
    // The leader again.
    let start = now()?;
    let mut sums = vec![0; numbers];
    host.take(asked.open(&answer, &mut sums)?)?;
    let leader = before + now()? - start;
    Ok(Two {
        leader,
        helper,
        telling,
        enrolment,
        bytes: messages.iter().map(Vec::len).max().unwrap_or(0),
    })
}
