//! What a federation over HTTPS costs on this machine, for `cargo xtask net-bench`: rounds of the
//! simulator's agents with mutual TLS, fresh handshakes, memory of a connection that waits, a
//! campaign of 1,000 contributors. Loopback, both ends on the same cores.
//!
//! `load [AGENTS]`: how many agents take part in the large rehearsal (9,000).
//! `load campaign [CONTRIBUTORS]`: the campaign alone.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sordino_experiment::scenario::{Scenario, Shipped, method};
use sordino_net::agent::Query;
use sordino_net::door::{self, Counts, Door, Limits};
use sordino_net::enrolment::Enrolment;
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::join::{Joining, join};
use sordino_net::keys;
use sordino_net::link::Link;
use sordino_net::rehearsal::{Options, rehearse};
use sordino_net::terms::Terms;
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
/// Contributors of a campaign, and the releases that each gives to.
const CONTRIBUTORS: u32 = 1_000;
const RELEASES: u32 = 3;
/// A campaign takes no longer than this.
const CAMPAIGN: Duration = Duration::from_secs(1800);
/// Clock ticks of `/proc/PID/stat` in a second, on every Linux there is.
const TICKS: f64 = 100.0;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if let [first, rest @ ..] = &arguments[..]
        && first == "campaign"
    {
        return runtime.block_on(campaign(
            rest.first()
                .map_or(Ok(CONTRIBUTORS), |count| count.parse())?,
        ));
    }
    let agents: u32 = arguments.first().map_or(Ok(9_000), |count| count.parse())?;
    runtime.block_on(async {
        rounds("default", scenario("default", &[])?).await?;
        let settings = [
            format!("federation.agents={agents}"),
            "federation.rounds=5".into(),
        ];
        rounds("fleet", scenario("fleet", &settings)?).await?;
        handshakes().await?;
        memory().await?;
        campaign(CONTRIBUTORS).await
    })
}

fn scenario(name: &str, settings: &[String]) -> Result<Scenario, Failed> {
    Ok(Shipped::find(name)
        .ok_or("no such scenario")?
        .parse(settings)?)
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
    let functions = sordino_experiment::world::load(&scenario, None)?.realize(scenario.run_seed(0));
    let announced = sordino_core::federated::exchange::Announced {
        epsilon_max: None,
        delta: scenario.privacy.delta,
        deadline_ms: 1000,
        may_close_early: true,
    };
    let terms = Terms::new(
        &scenario,
        method::DP_FTS_DE,
        functions.candidates(),
        functions.dim(),
        1,
        announced,
    )?;
    let identity = Identity::generate()?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?.to_string();
    let (requests, _queue) = mpsc::channel(1);
    let everybody = Limits::default().connections;
    let door = Door {
        deployment: 1,
        offered: tokio::sync::watch::channel(Some(sordino_net::door::Offered::default())).1,
        terms: terms.to_bytes()?.into(),
        body_max: terms.upload_bytes_max(),
        enrolment: Arc::new(Enrolment::in_memory()),
        authority: None,
        tells_joined: false,
        requests,
        limits: Limits {
            strangers: everybody,
            ..Limits::default()
        },
        counts: Arc::new(Counts::default()),
    };
    tokio::spawn(door::serve(listener, keys::always(&identity)?, door));
    let start = Instant::now();
    let count = Arc::new(AtomicU64::new(0));
    let pins = [identity.fingerprint()?];
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let tls = Identity::generate()?.client(&pins)?;
        let address = address.clone();
        let count = count.clone();
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

/// A server as a process of its own, in a folder that is thrown away.
struct Place {
    path: PathBuf,
    server: Server,
}

impl Place {
    /// Starts it, and waits until it has a round.
    fn serve(what: &str, more: &[&str]) -> Result<Place, Failed> {
        let path = std::env::temp_dir().join(format!("sordino-net-load-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        let folder = path.join("server");
        let counter = path.join("counter");
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
            .local_addr()?
            .port();
        let mut serve = Command::new(program()?);
        serve
            .args(["serve", what, "--listen", &format!("127.0.0.1:{port}")])
            .args(more)
            .stderr(Stdio::null());
        serve
            .arg("--folder")
            .arg(&folder)
            .arg("--counter")
            .arg(&counter);
        let place = Place {
            server: Server(serve.spawn()?),
            path,
        };
        let start = Instant::now();
        while !folder.join("round.bin").exists() {
            if start.elapsed() > PATIENCE {
                return Err("the server does not begin".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(place)
    }

    fn invitations(&self, agents: u32) -> Result<Vec<Invitation>, Failed> {
        let mut invite = Command::new(program()?);
        invite
            .arg("invite")
            .arg(self.path.join("server"))
            .args(["--agents", &format!("0..{agents}")]);
        let lines = String::from_utf8(invite.output()?.stdout)?;
        Ok(lines.lines().map(str::parse).collect::<Result<_, _>>()?)
    }

    /// What the system says of the server's process; an error once it has ended.
    fn told(&self, what: &str) -> Result<String, Failed> {
        Ok(std::fs::read_to_string(format!(
            "/proc/{}/{what}",
            self.server.0.id()
        ))?)
    }

    /// A size in its `status`, in KiB.
    fn kib(&self, size: &str) -> Result<u64, Failed> {
        let status = self.told("status")?;
        let line = status
            .lines()
            .find(|line| line.starts_with(size))
            .ok_or("no such size")?;
        Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
    }

    /// Seconds of processor time so far, in the program and in the system for it.
    fn processor_time(&self) -> Result<f64, Failed> {
        let stat = self.told("stat")?;
        // The name in brackets may hold spaces; the 12th and 13th word behind it are ticks.
        let words: Vec<&str> = stat
            .rsplit(')')
            .next()
            .ok_or("no name")?
            .split_whitespace()
            .collect();
        let ticks = |word: usize| {
            words
                .get(word)
                .ok_or("too short")
                .map(|ticks| ticks.parse::<f64>())
        };
        Ok((ticks(11)?? + ticks(12)??) / TICKS)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left is in the folder for temporary things.
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// The program beside this example.
fn program() -> Result<PathBuf, Failed> {
    Ok(std::env::current_exe()?
        .ancestors()
        .nth(2)
        .ok_or("no folder")?
        .join("sordino-net"))
}

/// How much memory a server needs for agents that are connected and wait.
async fn memory() -> Result<(), Failed> {
    let agents = format!("federation.agents={WAITING}");
    let place = Place::serve(
        "firmware",
        &[
            "--deadline",
            "1h",
            "--set",
            "privacy.max_epsilon=100",
            "--set",
            &agents,
        ],
    )?;
    let invitations = place.invitations(WAITING)?;
    let before = place.kib("VmRSS:")?;
    let mut links = Vec::new();
    for invitation in invitations {
        let tls = Identity::generate()?.client(&invitation.pins)?;
        let mut link = Link::new(
            &invitation.address,
            invitation.deployment,
            tls,
            Duration::from_secs(1),
        );
        link.enrol(invitation.slot, invitation.token.as_ref())
            .await?;
        link.terms().await?;
        links.push(link);
    }
    let each = (place.kib("VmRSS:")? - before) as f64 / links.len() as f64;
    println!(
        "memory: {each:.1} KiB of the server for each of {} connections with its agent",
        links.len()
    );
    Ok(())
}

/// A whole campaign of contributors that evaluate at once, as tasks of this process: what it costs
/// its server.
async fn campaign(contributors: u32) -> Result<(), Failed> {
    const SPACE: &str = "goal = \"minimize\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n\
                         [parameters.depth]\nlow = 1\nhigh = 8\ninteger = true\n[parameters.width]\nlow = 0\nhigh = 1\n";
    let space = std::env::temp_dir().join(format!("sordino-net-load-{}.toml", std::process::id()));
    std::fs::write(&space, SPACE)?;
    let count = contributors.to_string();
    let releases = RELEASES.to_string();
    let usual = ["--epsilon", "1", "--deadline", "30m", "--close-early"];
    let more = [&usual[..], &["--agents", &count, "--releases", &releases]].concat();
    let place = Place::serve(&space.display().to_string(), &more)?;
    let mut sites = tokio::task::JoinSet::new();
    let start = Instant::now();
    for invitation in place.invitations(contributors)? {
        let folder = place.path.join(format!("site-{}", invitation.slot));
        let joining = Joining {
            invitation,
            folder,
            certified: None,
            epsilon_max: Some(1.0),
            asked: None,
            delta_max: None,
            evaluations: Some(20),
            data: None,
            wait: Duration::from_secs(60),
            give_up: None,
        };
        sites.spawn(async move {
            let loss = |query: Query| {
                let [depth, rate, width] = ["depth", "rate", "width"].map(|name| {
                    query
                        .named
                        .as_ref()
                        .and_then(|point| point[name].as_f64())
                        .unwrap_or(f64::NAN)
                });
                let value = (rate.log10() + 2.0).powi(2) + 0.15 * (depth - 3.0).powi(2) + width;
                std::future::ready(Ok(f64::from(1 + query.agent % 7) * value))
            };
            join(&joining, loss).await
        });
    }
    let mut given = 0;
    let mut server = 0.0;
    let mut most = 0;
    while let Some(joined) = tokio::time::timeout(CAMPAIGN, sites.join_next()).await? {
        given += joined??.given.len();
        // It may be over before the last sites have written their files.
        if let (Ok(time), Ok(size)) = (place.processor_time(), place.kib("VmHWM:")) {
            (server, most) = (time, size);
        }
    }
    let wall = start.elapsed().as_secs_f64();
    std::fs::remove_file(&space)?;
    println!(
        "campaign: {contributors} contributors, {RELEASES} releases, {given} contributions in {wall:.1} s ({:.0}/s, sites on the same \
         cores); server {server:.2} s of processor time, {:.2} ms each, {:.1} MiB at most",
        given as f64 / wall,
        1e3 * server / given as f64,
        most as f64 / 1024.0
    );
    Ok(())
}
