//! What a federation over HTTPS costs on this machine, for `cargo xtask net-bench`: rounds of the simulator's agents with
//! mutual TLS, fresh handshakes, memory of a connection that waits. Loopback, both ends on the same cores.
//!
//! `load [AGENTS]`: how many agents take part in the large rehearsal (9,000).

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sordino_core::random::RunSeed;
use sordino_net::door::{self, Counts, Door, Limits};
use sordino_net::enrolment::Enrolment;
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::keys;
use sordino_net::link::Link;
use sordino_net::rehearsal::{Options, rehearse};
use sordino_net::terms::Terms;
use sordino_sim::scenario::{Scenario, Shipped, method};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// How long handshakes are counted.
const HANDSHAKES: Duration = Duration::from_secs(5);
/// Tasks that make them.
const CALLERS: usize = 16;
/// Connections that wait while memory is looked at.
const WAITING: u32 = 4_000;
/// A process that was started answers within this time.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> Result<(), Failed> {
    let agents: u32 = std::env::args().nth(1).map_or(Ok(9_000), |count| count.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        rounds("default", scenario("default", &[])?).await?;
        let settings = [format!("federation.agents={agents}"), "federation.rounds=5".into()];
        rounds("fleet", scenario("fleet", &settings)?).await?;
        handshakes().await?;
        memory().await
    })
}

fn scenario(name: &str, settings: &[String]) -> Result<Scenario, Failed> {
    Ok(Shipped::find(name).ok_or("no such scenario")?.parse(settings)?)
}

async fn rounds(name: &str, scenario: Scenario) -> Result<(), Failed> {
    let options = Options::default();
    let outcome = rehearse(&scenario, method::DP_FTS_DE, options).await?;
    // All agents connect in the first round.
    let mut times = outcome.round_times.into_iter().skip(1).collect::<Vec<_>>();
    times.sort();
    let total: f64 = times.iter().map(Duration::as_secs_f64).sum();
    let rate = f64::from(outcome.agents) * times.len() as f64 / total;
    println!(
        "{name}: {} agents with mutual TLS, {} rounds, median {:.1} ms, {rate:.0} client-rounds/s, digest {}",
        outcome.agents,
        outcome.rounds,
        times[times.len() / 2].as_secs_f64() * 1e3,
        outcome.digest
    );
    Ok(())
}

/// Connections with a handshake each, and one request.
async fn handshakes() -> Result<(), Failed> {
    let scenario = scenario("firmware", &[])?;
    let functions = sordino_sim::world::load(&scenario, None)?.realize(RunSeed::new(scenario.seed, 0));
    let announced = sordino_core::federated::exchange::Announced {
        epsilon_max: None,
        delta: scenario.privacy.delta,
        deadline_ms: 1000,
        may_close_early: true,
    };
    let terms = Terms::new(&scenario, method::DP_FTS_DE, functions.candidates(), functions.dim(), 1, announced)?;
    let (identity, listener) = (Identity::generate()?, TcpListener::bind(("127.0.0.1", 0)).await?);
    let address = listener.local_addr()?.to_string();
    let (requests, _queue) = mpsc::channel(1);
    let everybody = Limits::default().connections;
    let door = Door {
        deployment: 1,
        file: tokio::sync::watch::channel(bytes::Bytes::new()).1,
        terms: terms.to_bytes()?.into(),
        body_max: terms.upload_bytes_max(),
        enrolment: Arc::new(Enrolment::in_memory()),
        authority: None,
        tells_joined: false,
        requests,
        limits: Limits { strangers: everybody, ..Limits::default() },
        counts: Arc::new(Counts::default()),
    };
    tokio::spawn(door::serve(listener, keys::always(&identity)?, door));
    let (start, count, pins) = (Instant::now(), Arc::new(AtomicU64::new(0)), [identity.fingerprint()?]);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (tls, address, count) = (Identity::generate()?.client(&pins)?, address.clone(), count.clone());
        callers.spawn(async move {
            while start.elapsed() < HANDSHAKES {
                let mut link = Link::new(&address, 1, tls.clone(), Duration::from_secs(1));
                // A place of this key that is not free yet is tried again.
                if link.terms().await.is_ok() {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    callers.join_all().await;
    let rate = count.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    println!("handshakes: {rate:.0}/s, mutual TLS 1.3, one request each");
    Ok(())
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// How much memory a server needs for agents that are connected and wait.
async fn memory() -> Result<(), Failed> {
    let own = std::env::current_exe()?;
    let program = own.ancestors().nth(2).ok_or("no folder")?.join("sordino-net");
    let place = std::env::temp_dir().join(format!("sordino-net-load-{}", std::process::id()));
    let (folder, counter) = (place.join("server").display().to_string(), place.join("counter").display().to_string());
    let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let mut serve = Command::new(&program);
    serve.args(["serve", "firmware", "--folder", &folder, "--counter", &counter, "--deadline", "1h"]);
    serve.args(["--listen", &format!("127.0.0.1:{port}"), "--set", "privacy.max_epsilon=100"]);
    serve.args(["--set", &format!("federation.agents={WAITING}")]).stderr(Stdio::null());
    let server = Server(serve.spawn()?);
    let start = Instant::now();
    while !place.join("server/round.bin").exists() {
        if start.elapsed() > PATIENCE {
            return Err("the server does not begin".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let range = format!("0..{WAITING}");
    let invited = Command::new(&program).args(["invite", &folder, "--agents", &range]).output()?;
    let invitations = String::from_utf8(invited.stdout)?;
    let before = resident_kib(server.0.id())?;
    let mut links = Vec::new();
    for line in invitations.lines() {
        let invitation: Invitation = line.parse()?;
        let tls = Identity::generate()?.client(&invitation.pins)?;
        let mut link = Link::new(&invitation.address, invitation.deployment, tls, Duration::from_secs(1));
        link.enrol(invitation.slot, invitation.token.as_ref()).await?;
        link.terms().await?;
        links.push(link);
    }
    let after = resident_kib(server.0.id())?;
    let each = (after - before) as f64 / links.len() as f64;
    println!("memory: {each:.1} KiB of the server for each of {} connections with its agent", links.len());
    std::fs::remove_dir_all(&place)?;
    Ok(())
}

/// Resident memory of a process, in KiB.
fn resident_kib(process: u32) -> Result<u64, Failed> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
