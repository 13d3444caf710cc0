//! Two servers: a rehearsal is the simulator's, a helper answers once, and neither
//! server ever holds a vector.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Announced;
use sordino_core::federated::shares::{Contributor, SecretKey, Trust};
use sordino_core::federated::{Encoding, Frame, Member, Next};
use sordino_experiment::scenario::{Scenario, method};
use sordino_host::campaign::{Campaign, Site, SiteState};
use sordino_host::prior::publish::Publication;
use sordino_host::shares::Question;
use sordino_host::space::SpaceFile;
use sordino_net::agent::Query;
use sordino_net::help::address::HelperAddress;
use sordino_net::help::line::{Line, LineError};
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::join::{JoinError, Joined, Joining, join};
use sordino_net::journal::Step;
use sordino_net::link::LinkError;
use sordino_net::rehearsal::{Options, Outcome, rehearse};
use sordino_net::shares::MaskKey;
use sordino_net::terms::Terms;

use super::rehearsals::{scenario, simulated};
use super::util::{
    Federation, PATIENCE, Place, Process, bounded, free_port, holds, program, runtime, said,
};

const AGENTS: u32 = 5;
const RELEASES: u32 = 2;
const SPACE: &str = "goal = \"minimize\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n[parameters.depth]\nlow = 1\n\
                     high = 8\ninteger = true\n";

/// A plan with releases one after the other, after one round and after many.
const PRIOR: [&str; 6] = [
    "federation.methods=[\"dp-prior\"]",
    "federation.agents=12",
    "federation.rounds=10",
    "objective.points_per_axis=60",
    "prior.points_per_axis=12",
    "privacy.trust=\"two-servers\"",
];

fn rehearsed(scenario: &Scenario, options: Options) -> Outcome {
    let options = Options {
        deadline: Duration::from_secs(120),
        ..options
    };
    runtime()
        .block_on(rehearse(scenario, method::DP_PRIOR, options))
        .unwrap()
}

#[test]
fn a_rehearsal_of_two_servers_is_the_simulator_s_in_both_formats_on_a_bad_network_and_with_deaths()
{
    bounded(|| {
        let place = Place::new("shares-deaths");
        let whole = scenario("default", &PRIOR);
        let expected = simulated(&whole, method::DP_PRIOR);
        for (format, chaos, deaths) in [
            ("f64", false, false),
            ("f32", true, false),
            ("f64", false, true),
        ] {
            let format = format!("surrogate.scalar=\"{format}\"");
            let scenario = scenario("default", &[&PRIOR[..], &[&format]].concat());
            let deaths = deaths.then(|| place.0.clone());
            let options = Options {
                chaos,
                deaths: deaths.clone(),
                ..Options::default()
            };
            let outcome = rehearsed(&scenario, options);
            assert_eq!(
                outcome.digest,
                simulated(&scenario, method::DP_PRIOR),
                "{format} {chaos}"
            );
            assert_eq!(
                (outcome.cuts > 0, outcome.deaths > 0),
                (chaos, deaths.is_some())
            );
        }
        // Negative control: one server adds its noise alone.
        let one = scenario("default", &PRIOR[..5]);
        assert_ne!(rehearsed(&one, Options::default()).digest, expected);
        // A budget that ends inside the plan ends it for both.
        let mut short = whole;
        short.privacy.max_epsilon = Some(short.prior.as_ref().unwrap().plan.epsilon / 2.0);
        assert_eq!(
            rehearsed(&short, Options::default()).digest,
            simulated(&short, method::DP_PRIOR)
        );
    });
}

/// A helper as a process of its own.
pub(super) struct Second {
    place: Place,
    port: u16,
}

impl Second {
    pub(super) fn new(name: &str) -> Self {
        Second {
            place: Place::new(&format!("{name}-helper")),
            port: free_port(),
        }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.place.0.join("helper")
    }

    pub(super) fn start(&self, more: &[&str]) -> Process {
        let [folder, counter] =
            [self.folder(), self.place.0.join("counter")].map(|path| path.display().to_string());
        let listen = format!("127.0.0.1:{}", self.port);
        let usual = [
            "help-serve",
            &folder,
            "--listen",
            &listen,
            "--counter",
            &counter,
            "--linger",
            "60s",
        ];
        let mut command = program(&usual);
        let log = || {
            fs::File::options()
                .create(true)
                .append(true)
                .open(self.place.0.join("helper.log"))
                .unwrap()
        };
        command.args(more).stdout(log()).stderr(log());
        let process = Process::start(command);
        let start = Instant::now();
        while !self.folder().join("url").exists() {
            assert!(start.elapsed() < PATIENCE, "{}", self.heard());
            std::thread::sleep(Duration::from_millis(5));
        }
        process
    }

    pub(super) fn heard(&self) -> String {
        fs::read_to_string(self.place.0.join("helper.log")).unwrap_or_default()
    }

    pub(super) fn address(&self) -> HelperAddress {
        fs::read_to_string(self.folder().join("url"))
            .unwrap()
            .parse()
            .unwrap()
    }

    /// What a command says of its folder.
    pub(super) fn said(&self, command: &str) -> String {
        let output = said(&[command, &self.folder().display().to_string()]);
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{told}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        told
    }
}

fn campaign(name: &str, second: &Second, more: &[&str]) -> Federation {
    campaign_of(
        name,
        AGENTS,
        second,
        &[&["--deadline", "60s", "--linger", "2s"], more].concat(),
    )
}

pub(super) fn campaign_of(name: &str, agents: u32, second: &Second, more: &[&str]) -> Federation {
    let url = format!("@{}", second.folder().join("url").display());
    let usual = ["--epsilon", "20", "--features", "20", "--close-early"];
    Federation::campaign(
        name,
        agents,
        SPACE,
        &[&usual[..], &["--helper", &url], more].concat(),
    )
}

fn loss(query: &Query) -> f64 {
    let point = query.named.as_ref().unwrap();
    let depth = point["depth"].as_i64().unwrap();
    let rate = point["rate"].as_f64().unwrap();
    f64::from(1 + query.agent)
        * ((rate.log10() + 2.0).powi(2) + 0.15 * (depth as f64 - 3.0).powi(2))
}

pub(super) async fn site(joining: Joining) -> Result<Joined, JoinError> {
    join(&joining, |query| std::future::ready(Ok(loss(&query)))).await
}

/// A campaign's terms, as a server makes them.
fn terms(trust: Trust) -> Terms {
    let file = SpaceFile::parse("space.toml", SPACE).unwrap();
    let publication = Publication {
        space: file.space,
        goal: file.goal.unwrap(),
        value: None,
        epsilon: 1.0,
        delta: 1e-5,
        releases: RELEASES,
        features: 20,
        dataset: "wards".into(),
        by: None,
        note: None,
        published: None,
    };
    let campaign = Campaign::trusting(publication, AGENTS, trust).unwrap();
    let announced = Announced {
        epsilon_max: Some(1.0),
        delta: 1e-5,
        deadline_ms: 60_000,
        may_close_early: true,
    };
    Terms::of_campaign(&campaign, 0x5eed, announced).unwrap()
}

fn question(run: Digest, epoch: u32, set: &[(u32, u32)]) -> Question {
    let set = set
        .iter()
        .map(|(agent, attempt)| Contributor {
            agent: *agent,
            attempt: *attempt,
        })
        .collect();
    Question { run, epoch, set }
}

/// Agents whose keys are made of a byte.
fn enrolling(agents: &[(u32, u8)]) -> Vec<(u32, MaskKey)> {
    agents
        .iter()
        .map(|(agent, byte)| (*agent, key(*byte)))
        .collect()
}

/// The keys of those that are asked for.
fn of(known: &[(u32, MaskKey)]) -> impl Fn(&[u32]) -> Vec<(u32, MaskKey)> + '_ {
    |agents| {
        known
            .iter()
            .filter(|(agent, _)| agents.contains(agent))
            .copied()
            .collect()
    }
}

fn key(byte: u8) -> MaskKey {
    SecretKey::new([byte; 32]).public_key().into()
}

fn status<E: Into<LineError>>(result: Result<impl std::fmt::Debug, E>) -> (u16, String) {
    match result.map_err(Into::into) {
        Err(LineError::Link(LinkError::Status { status, reason })) => (status, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_helper_hears_its_leader_alone_and_answers_one_set_also_after_kill_9() {
    bounded(|| {
        let second = Second::new("shares-once");
        let quick = ["--delay", "1ms", "--max-epsilon", "2"];
        let mut helper = second.start(&quick);
        let address = second.address();
        let terms = terms(Trust::TwoServers);
        let runtime = runtime();
        let run = terms.agreement.digest();
        let bytes = bytes::Bytes::from(terms.to_bytes().unwrap());
        let [leader, stranger] = [(); 2].map(|()| Identity::generate().unwrap());
        let line = |identity: &Identity| {
            Line::new(&address.address, &address.pins, 0x5eed, identity).unwrap()
        };
        let mut leading = line(&leader);
        let mut strange = line(&stranger);
        let all = enrolling(&[(0, 10), (1, 11), (2, 12)]);
        runtime.block_on(async {
            assert_eq!(
                status(strange.begin(Some(&[0; 16]), bytes.clone()).await).0,
                403,
                "not its token"
            );
            let first = question(run, 0, &[(0, 0), (2, 3)]);
            assert_eq!(
                status(leading.answered(&first, of(&all)).await).0,
                403,
                "nobody leads it yet"
            );
            let one = bytes::Bytes::from(self::terms(Trust::OneServer).to_bytes().unwrap());
            assert_eq!(
                status(leading.begin(address.token.as_ref(), one).await).0,
                422,
                "one server needs no helper"
            );
            let masks = leading.begun(address.token.as_ref(), &bytes).await.unwrap();
            assert_eq!(
                leading.begun(address.token.as_ref(), &bytes).await.unwrap(),
                masks,
                "the same terms again"
            );
            assert_eq!(
                status(strange.begin(address.token.as_ref(), bytes.clone()).await).0,
                403,
                "it has a leader"
            );
            assert_eq!(status(strange.answered(&first, of(&all)).await).0, 403);
            // An agent's key a second time would count it twice; another key opens nothing.
            let twice = enrolling(&[(0, 10), (1, 10)]);
            let (code, why) = status(
                leading
                    .answered(&question(run, 0, &[(0, 0), (1, 0)]), of(&twice))
                    .await,
            );
            assert!(
                code == 409 && why.contains("agents 0 and 1 have one key"),
                "{why}"
            );
            let answer = leading.answered(&first, of(&all)).await.unwrap();
            assert_eq!(answer.len(), 4 * terms.agreement.protocol.upload_len());
            let (code, why) = status(
                line(&leader)
                    .answered(&first, of(&enrolling(&[(0, 13)])))
                    .await,
            );
            assert!(
                code == 409 && why.contains("agent 0 has another key"),
                "{why}"
            );
            helper.kill();
            helper = second.start(&quick);
            assert_eq!(
                leading.answered(&first, of(&all)).await.unwrap(),
                answer,
                "other noise would be another release"
            );
            for other in [
                &[(0, 0)][..],
                &[(0, 0), (2, 4)],
                &[(0, 0), (1, 0), (2, 3)],
                &[],
            ] {
                let (code, why) =
                    status(leading.answered(&question(run, 0, other), of(&all)).await);
                assert!(
                    code == 409 && why.contains("answered for another set"),
                    "{why}"
                );
            }
            assert_eq!(
                status(
                    leading
                        .answered(&question(run, 1, &[(1, 0), (1, 1)]), of(&all))
                        .await
                )
                .0,
                422,
                "twice"
            );
            assert_eq!(
                status(
                    leading
                        .answered(&question(run, 1, &[(4, 0)]), of(&all))
                        .await
                )
                .0,
                428,
                "no key"
            );
            assert_eq!(
                status(
                    leading
                        .answered(&question(Digest([1; 32]), 1, &[]), of(&all))
                        .await
                )
                .0,
                422,
                "another run"
            );
        });
        assert!(
            second
                .said("replay")
                .contains("helper: answers 1, charges 1")
        );
        assert!(second.said("promise").contains("\"signed_by\":\"helper\""));
        // An older copy of what it answered answers nothing more.
        helper.kill();
        fs::remove_file(second.folder().join("answers.json")).unwrap();
        assert_eq!(second.start(&quick).ended().code(), Some(1));
        assert!(
            second
                .heard()
                .contains("0 stored answers, 1 charges in the ledger"),
            "{}",
            second.heard()
        );
        // Its owner says what it agrees to.
        let third = Second::new("shares-owner");
        let _helper = third.start(&["--max-epsilon", "0.5"]);
        let address = third.address();
        let mut line = Line::new(&address.address, &address.pins, 0x5eed, &leader).unwrap();
        let (code, why) = status(runtime.block_on(line.begun(address.token.as_ref(), &bytes)));
        assert!(code == 422 && why.contains("at most ε = 0.5"), "{why}");
    });
}

#[test]
fn keys_are_told_once_and_a_helper_that_lost_them_is_told_all_of_them_again() {
    bounded(|| {
        let second = Second::new("shares-lost");
        let quick = ["--delay", "1ms"];
        let mut helper = second.start(&quick);
        let address = second.address();
        let terms = terms(Trust::TwoServers);
        let runtime = runtime();
        let run = terms.agreement.digest();
        let bytes = bytes::Bytes::from(terms.to_bytes().unwrap());
        let leader = Identity::generate().unwrap();
        let line = || Line::new(&address.address, &address.pins, 0x5eed, &leader).unwrap();
        let all = enrolling(&[(0, 10), (1, 11), (2, 12), (3, 13)]);
        let told = RefCell::new(Vec::new());
        let keys = |agents: &[u32]| {
            told.borrow_mut().push(agents.to_vec());
            of(&all)(agents)
        };
        let kept = second.folder().join("agents.json");
        let first = question(run, 0, &[(0, 0), (2, 0)]);
        let next = question(run, 1, &[(0, 0), (1, 0), (2, 0)]);
        let mut leading = line();
        runtime.block_on(async {
            leading.begun(address.token.as_ref(), &bytes).await.unwrap();
            let answer = leading.answered(&first, keys).await.unwrap();
            assert_eq!(leading.answered(&first, keys).await.unwrap(), answer);
            assert_eq!(told.take(), [[0, 2]], "once");
            // One that has the answer needs no key to say it again.
            helper.kill();
            fs::remove_file(&kept).unwrap();
            helper = second.start(&quick);
            assert_eq!(leading.answered(&first, keys).await.unwrap(), answer);
            assert_eq!(told.take(), [[0; 0]; 0]);
            // Of the next set it lacks two that the leader takes for told. A leader without their
            // keys gets nothing.
            let (code, why) = status(leading.answered(&next, |_| Vec::new()).await);
            assert!(
                code == 428 && why.contains("agent 0 is not enrolled with this helper"),
                "{why}"
            );
            leading.answered(&first, keys).await.unwrap();
            helper.kill();
            fs::remove_file(&kept).unwrap_or_default();
            helper = second.start(&quick);
            told.take();
            let answer = leading.answered(&next, keys).await.unwrap();
            // The connection that broke may cost an attempt.
            let mut heard = told.take();
            heard.dedup();
            assert_eq!(heard, [vec![1], vec![0, 1, 2]], "what it lacks, then all");
            // A leader that was restarted tells what its set needs, which changes nothing.
            assert_eq!(line().answered(&next, keys).await.unwrap(), answer);
            assert_eq!(told.take(), [[0, 1, 2]], "a new line");
        });
        assert!(
            second
                .said("replay")
                .contains("helper: answers 2, charges 2")
        );
        drop(helper);
    });
}

/// A site as its owner runs it.
fn process(federation: &Federation, invitation: &Invitation) -> Process {
    let joining = federation.joining(invitation);
    let line = invitation.to_string();
    let folder = joining.folder.display().to_string();
    let command = "echo $((1 + $(echo $SORDINO_RATE | cksum | cut -c 1-4))).$SORDINO_DEPTH";
    let mut started = program(&[
        "join",
        &line,
        "--folder",
        &folder,
        "--max-epsilon",
        "20",
        "--evaluations",
        "12",
    ]);
    started.args(["--command", command]);
    let log = || {
        fs::File::options()
            .create(true)
            .append(true)
            .open(folder.clone() + ".log")
            .unwrap()
    };
    started.stdout(log()).stderr(log());
    Process::start(started)
}

/// The steps of a site's journal.
fn steps(folder: &Path) -> Vec<Step> {
    let text = fs::read_to_string(folder.join("agent.journal")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line.get(65..)?).ok())
        .collect()
}

/// What this site contributed to the first release, computed again from its journal: numbers, and
/// integers.
fn contributed(terms: &Terms, folder: &Path) -> (Vec<f64>, Vec<i64>) {
    let campaign = terms.campaign().unwrap();
    let steps = steps(folder);
    let Some(Step::Begin { agent, seed, .. }) = steps.first().cloned() else {
        panic!("no beginning")
    };
    let mut state = SiteState::new(agent, seed);
    let mut log = vec![0.0; campaign.log_len()];
    let mut upload = vec![0.0; terms.agreement.protocol.upload_len()];
    let mut site = Site::attach(&campaign, &mut state, &mut log, &mut upload).unwrap();
    site.enter(Frame::Start).unwrap();
    for step in &steps {
        if let Step::Value { value, .. } = step {
            assert!(matches!(site.next().unwrap(), Next::Query { .. }));
            site.observed(*value).unwrap();
        }
    }
    let Next::Give(numbers) = site.next().unwrap() else {
        panic!("a query is open")
    };
    let numbers = numbers.to_vec();
    let mut integers = vec![0; numbers.len()];
    site.encoding()
        .unwrap()
        .unwrap()
        .add_if(true, 0, &numbers, &mut integers)
        .unwrap();
    (numbers, integers)
}

/// Parts of a vector as a computer may hold them: doubles, and integers of 4 and 8 bytes.
fn needles((numbers, integers): &(Vec<f64>, Vec<i64>)) -> [Vec<u8>; 3] {
    // Three numbers, none of which is small: 12 bytes that nothing else has by chance.
    let at = integers
        .windows(3)
        .position(|part| part.iter().all(|x| x.unsigned_abs() > 1 << 8))
        .unwrap();
    let numbers = &numbers[at..at + 3];
    let integers = &integers[at..at + 3];
    [
        numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
        integers
            .iter()
            .flat_map(|x| (*x as i32).to_le_bytes())
            .collect(),
        integers.iter().flat_map(|x| x.to_le_bytes()).collect(),
    ]
}

/// Whether the memory of a process that runs holds these bytes.
fn remembers(process: &Process, bytes: &[u8]) -> bool {
    use std::os::unix::fs::FileExt;
    let id = process.id();
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
    let memory = format!("/proc/{id}/mem");
    let memory = fs::File::open(memory).unwrap();
    maps.lines()
        .filter(|line| {
            line.split(' ')
                .nth(1)
                .is_some_and(|mode| mode.starts_with("rw"))
        })
        .any(|line| {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'))
                .unwrap();
            let [from, to] = [range.0, range.1].map(|end| u64::from_str_radix(end, 16).unwrap());
            let mut part = vec![0; (to - from).min(1 << 28) as usize];
            // A mapping that is gone by now holds nothing.
            let read = memory.read_at(&mut part, from).unwrap_or(0);
            part[..read]
                .windows(bytes.len())
                .any(|window| window == bytes)
        })
}

#[test]
fn neither_server_holds_a_vector_on_its_disk_or_in_its_memory() {
    bounded(|| {
        let second = Second::new("shares-search");
        let helper = second.start(&["--delay", "1ms"]);
        let federation = campaign("shares-search", &second, &["--delay", "3s"]);
        let server = federation.serve();
        let invitations = federation.invite();
        let sites: Vec<Process> = invitations
            .iter()
            .map(|invitation| process(&federation, invitation))
            .collect();
        let folder = federation.joining(&invitations[1]).folder;
        let start = Instant::now();
        while !steps(&folder)
            .iter()
            .any(|step| matches!(step, Step::Upload { round: 0, .. }))
        {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(2));
        }
        let needles = needles(&contributed(&federation.terms(&invitations[1]), &folder));
        let clean = |when: &str| {
            for (needle, what) in
                needles
                    .iter()
                    .zip(["doubles", "integers of 4 bytes", "integers of 8 bytes"])
            {
                for (place, name) in [
                    (federation.place.server(), "leader"),
                    (second.folder(), "helper"),
                ] {
                    assert!(
                        !holds(&place, needle),
                        "{when}: {what} on the disk of the {name}"
                    );
                }
                assert!(
                    !remembers(&server, needle),
                    "{when}: {what} in the memory of the leader"
                );
                assert!(
                    !remembers(&helper, needle),
                    "{when}: {what} in the memory of the helper"
                );
            }
        };
        // The search finds what is there: the vector in the memory of its own site, the run in that
        // of both servers. The site goes on after the release, so it is looked at first.
        assert!(
            remembers(&sites[1], &needles[0]),
            "the site itself holds its vector"
        );
        clean("while shares come in");
        let run = federation.terms(&invitations[1]).agreement.digest();
        assert!(remembers(&server, &run.0) && remembers(&helper, &run.0));
        while !federation
            .place
            .server()
            .join("frames/000001.frame")
            .exists()
        {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(federation.place.server().join("asked.json").exists());
        clean("after the first release");
    });
}

#[test]
fn terms_say_who_is_trusted_and_a_line_without_the_helper_is_refused() {
    bounded(|| {
        let second = Second::new("shares-terms");
        let _helper = second.start(&[]);
        let federation = campaign("shares-terms", &second, &[]);
        let _server = federation.serve();
        let invitations = federation.invite();
        let line = invitations[0].to_string();
        let told = String::from_utf8(said(&["terms", &line]).stdout).unwrap();
        let masks = invitations[0].helper.unwrap();
        for part in [
            "two servers, neither of which sees your vectors, unless both work together",
            &masks.to_string(),
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let bare = Invitation {
            helper: None,
            ..invitations[0].clone()
        };
        let refused = runtime().block_on(site(federation.joining(&bare)));
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("nothing is sent to one server alone"), "{why}");
        let other = said(&[
            "join",
            &line,
            "--command",
            "echo 1",
            "--helper-key",
            &"00".repeat(32),
        ]);
        assert_eq!(
            other.status.code(),
            Some(2),
            "{}",
            String::from_utf8_lossy(&other.stderr)
        );
        // Two servers without the second, and a second that nothing would use.
        for (more, part) in [
            (
                &[
                    "--set",
                    "federation.methods=[\"dp-prior\"]",
                    "--set",
                    "privacy.trust=\"two-servers\"",
                ][..],
                "--helper is missing",
            ),
            (
                &["--helper", "https://127.0.0.1:1/00#00"],
                "not the address of a helper",
            ),
        ] {
            let federation = Federation::new("shares-refused", 4, 20, more);
            assert_eq!(
                federation.serve().ended().code(),
                Some(2),
                "{}",
                federation.heard()
            );
            assert!(
                federation.heard().contains(part),
                "{part}: {}",
                federation.heard()
            );
        }
    });
}
