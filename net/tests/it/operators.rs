//! What people who operate a server or a site are told: before anything is made, when a server is
//! gone, how a command was stopped, what differs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use sordino_core::federated::exchange::Pace;
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_host::ledger::{Accounting, CounterPlace, Ledger, Options, Terms};
use sordino_net::identity::Sealer;
use sordino_net::rounds::{Given, QUEUE, Request, Rounds};
use tokio::sync::{mpsc, oneshot};

use super::bodies::terms;
use super::util::{Federation, PATIENCE, Place, Process, bounded, program, runtime, said};

const SPACE: &str =
    "goal = \"minimize\"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n";

fn campaign(name: &str, agents: u32, more: &[&str]) -> Federation {
    let usual = ["--epsilon", "20", "--features", "20", "--close-early"];
    Federation::campaign(name, agents, SPACE, &[&usual, more].concat())
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The events of a log in JSON, one a line.
fn events(log: &str) -> Vec<Value> {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["event"] == name)
        .collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether what this test starts ignores a signal: `nohup` and the `&` of a script make it so.
fn is_ignored(name: &str) -> bool {
    let number = match name {
        "-HUP" => 1,
        "-INT" => 2,
        "-QUIT" => 3,
        _ => 15,
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

/// Sends a signal; SIGTERM in the place of one that is ignored. Returns the exit code of shells.
fn signal(process: &Process, name: &str) -> i32 {
    let name = if is_ignored(name) { "-TERM" } else { name };
    let id = process.id().to_string();
    assert!(
        Command::new("kill")
            .args([name, &id])
            .status()
            .unwrap()
            .success()
    );
    match name {
        "-HUP" => 129,
        "-INT" => 130,
        "-QUIT" => 131,
        _ => 143,
    }
}

/// A ledger elsewhere, in which data of this name has a charge.
fn charged_elsewhere(place: &Place, data: &str) {
    charged_at(place, &place.0.join("elsewhere.jsonl"), data);
}

/// A ledger at this path, in which data of this name has a charge.
fn charged_at(place: &Place, path: &Path, data: &str) {
    let terms = Terms {
        data: data.into(),
        unit: "agent".into(),
        records: Some(3),
        accounting: Accounting::Gaussian,
        epsilon_max: Some(50.0),
        delta: 1e-5,
    };
    let options = Options {
        counter: CounterPlace::Folder(place.0.join("counter")),
        another: false,
        next: Vec::new(),
    };
    let mut ledger = Ledger::open_secret(path, &terms, &options).unwrap();
    let event = Event::Gaussian {
        noise_multiplier: 5.0,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    ledger.charge(0, &[event]).unwrap();
}

/// It said "serving", and left keys in its folder, and then its ledger refused.
#[test]
fn a_server_whose_ledger_refuses_says_nothing_else_and_makes_nothing() {
    bounded(|| {
        let federation = campaign("refused-ledger", 3, &["--dataset", "ward 7"]);
        charged_elsewhere(&federation.place, "Ward 7");
        let output = federation.command_of().output().unwrap();
        let said = told(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("has 1 charges in another ledger"), "{said}");
        assert!(
            said.contains("--dataset gives them a name of their own"),
            "{said}"
        );
        assert!(!said.contains("serving"), "{said}");
        assert!(!federation.place.server().exists(), "nothing is made");
        // Negative control: data of another name.
        let mut server = federation.serve_with(program(&[]), &["--dataset", "ward 8"]);
        wait_until("another name", || federation.heard().contains("serving "));
        server.kill();
    });
}

/// A ledger that is gone looked like another folder's, and another name for the data like a way
/// out.
#[test]
fn a_server_whose_ledger_is_gone_says_so() {
    bounded(|| {
        let federation = campaign("gone-ledger", 3, &["--dataset", "ward 7"]);
        let server = federation.place.server();
        fs::create_dir(&server).unwrap();
        let ledger = server.join("ledger.jsonl");
        charged_at(&federation.place, &ledger, "ward 7");
        fs::remove_file(&ledger).unwrap();
        let output = federation.command_of().output().unwrap();
        let said = told(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in ["ledger.jsonl and is gone", "put its newest copy back"] {
            assert!(said.contains(part), "{part}\n{said}");
        }
        assert!(!said.contains("--dataset gives"), "{said}");
    });
}

/// The second of two servers left a folder with keys, because the first had no charge yet; and one
/// that was started twice changed the address in invitations before it was refused.
#[test]
fn a_second_server_is_refused_before_it_changes_anything() {
    bounded(|| {
        let federation = campaign("second", 3, &["--dataset", "ward 7"]);
        let mut server = federation.serve();
        wait_until("it serves", || federation.heard().contains("serving "));
        let address = federation.place.server().join("address");
        let before = fs::read_to_string(&address).unwrap();
        let again = federation.serve_and(&["--address", "elsewhere.example:1"]);
        assert_eq!(again.ended().code(), Some(1), "{}", federation.heard());
        let said = federation.heard();
        assert!(
            said.contains("another server runs in this folder"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&address).unwrap(), before);
        let other = federation.place.0.join("other");
        let folder = other.display().to_string();
        let beside = federation.serve_with(program(&[]), &["--folder", &folder]);
        assert_eq!(beside.ended().code(), Some(1), "{}", federation.heard());
        let said = federation.heard();
        assert!(said.contains("is in use by another process"), "{said}");
        assert!(!other.exists(), "nothing is made");
        server.kill();
    });
}

/// `--dataset` and `--data-name` were two names of one thing.
#[test]
fn a_scenario_takes_the_name_of_its_data_by_the_option_of_a_campaign() {
    bounded(|| {
        let federation = Federation::new("scenario-data", 2, 2, &["--dataset", "ward 7"]);
        let mut server = federation.serve();
        federation.invite();
        server.kill();
        let ledger = fs::read_to_string(federation.place.server().join("ledger.jsonl")).unwrap();
        assert!(
            ledger.lines().next().unwrap().contains("\"ward 7\""),
            "{ledger}"
        );
    });
}

/// A folder said `announced.deadline_ms` and nothing of the other settings.
#[test]
fn a_folder_says_every_setting_that_differs_by_its_option() {
    bounded(|| {
        let federation = campaign("differs", 3, &["--deadline", "90s"]);
        let mut server = federation.serve();
        federation.invite();
        server.kill();
        let mut again = federation.command_of();
        // The last one counts.
        let more = ["--agents", "4", "--epsilon", "2", "--deadline", "2h"];
        let words: Vec<String> = again
            .get_args()
            .map(|word| word.to_str().unwrap().to_owned())
            .collect();
        again = program(&[]);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let value = more.chunks(2).find(|pair| pair[0] == word);
            again.arg(&word);
            if let Some(pair) = value {
                words.next();
                again.arg(pair[1]);
            }
        }
        let output = again.output().unwrap();
        let said = told(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in [
            "begun with other settings, which agents agreed to: --agents 3, now 4; --epsilon 20, now 2; ",
            "--deadline 90s, now 2h",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
        assert!(
            !said.contains("--close-early") && !said.contains("_ms"),
            "{said}"
        );
    });
}

#[test]
fn a_folder_that_is_none_says_what_it_should_be() {
    let place = Place::new("no-folder");
    let folder = place.0.display().to_string();
    for command in [
        &["invite", &folder, "--agents", "0"][..],
        &["promise", &folder],
    ] {
        let output = said(command);
        let said = told(&output);
        assert!(!output.status.success());
        assert!(
            said.contains("no folder of a server, which has a file terms.bin"),
            "{said}"
        );
        assert!(said.contains("`sordino serve … --folder "), "{said}");
    }
    // A site's has a terms.bin too.
    std::fs::write(place.0.join("terms.bin"), "").unwrap();
    std::fs::write(place.0.join("agent.key"), "").unwrap();
    let output = said(&["status", &folder]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the folder of a site"), "{said}");
}

/// A promise of a campaign had 190 rounds.
#[test]
fn a_promise_of_a_campaign_has_its_releases_for_rounds() {
    bounded(|| {
        let federation = campaign("promised", 3, &[]);
        let mut server = federation.serve();
        federation.invite();
        let word = federation.place.server().join("status.json");
        while !word.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let standing = || String::from_utf8(federation.command("status").stdout).unwrap();
        assert!(!standing().contains("no server"), "negative control");
        server.kill();
        // Who waits for agents was told for 90 s after the server's end.
        let said = standing();
        assert!(
            said.contains("server    no server runs in this folder: "),
            "{said}"
        );
        assert!(said.contains("none is open\n"), "{said}");
        let output = federation.command("promise");
        let said = String::from_utf8(output.stdout).unwrap();
        let promise: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        assert_eq!(promise["rounds"], 2, "{said}");
        assert_eq!(promise["releases"], 2, "{said}");
        assert_eq!(promise["accountant"], "one Gaussian, exact");
        let others = promise["accountant_of_these"].as_str().unwrap();
        assert!(
            others.starts_with("epsilon_between_contributions and best_guess: "),
            "{others}"
        );
    });
}

/// The agent of this slot as a process, whose lines go to a file.
fn site(federation: &Federation, slot: u32, more: &[&str]) -> Process {
    let invitation = federation
        .place
        .0
        .join("invitations")
        .join(format!("{slot}.txt"));
    let folder = federation
        .place
        .0
        .join(format!("site-{slot}"))
        .display()
        .to_string();
    let line = format!("@{}", invitation.display());
    let folder = match more.iter().position(|word| *word == "--folder") {
        Some(at) => more[at + 1].to_owned(),
        None => folder,
    };
    let more: Vec<&str> = more
        .chunks(2)
        .filter(|pair| pair[0] != "--folder")
        .flatten()
        .copied()
        .collect();
    let mut command = program(&[
        "join",
        &line,
        "--folder",
        &folder,
        "--max-epsilon",
        "100",
        "--evaluations",
        "12",
    ]);
    if !more.contains(&"--command") {
        command.args([
            "--command",
            "echo a line of training >&2; echo $SORDINO_RATE",
        ]);
    }
    command.args(more);
    let log = File::options()
        .create(true)
        .append(true)
        .open(log_of(federation, slot));
    command.stderr(log.unwrap());
    Process::start(command)
}

fn log_of(federation: &Federation, slot: u32) -> std::path::PathBuf {
    federation.place.0.join(format!("site-{slot}.log"))
}

fn heard(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn invitations(federation: &Federation) {
    federation.invite();
    let server = federation.place.server().display().to_string();
    let out = federation.place.0.join("invitations").display().to_string();
    let range = format!("0..{}", federation.agents);
    let output = said(&["invite", &server, "--agents", &range, "--out", &out]);
    assert!(output.status.success(), "{}", told(&output));
}

/// A log ended with a round 2 of a campaign of two, and no event said that it was done.
#[test]
fn the_log_of_a_campaign_ends_with_done_and_has_no_round_too_many() {
    bounded(|| {
        let more = [
            "--deadline",
            "60s",
            "--delay",
            "100ms",
            "--linger",
            "2s",
            "--log",
            "json",
        ];
        let federation = campaign("log-json", 2, &more);
        let server = federation.serve();
        invitations(&federation);
        let sites: Vec<Process> = (0..2)
            .map(|slot| site(&federation, slot, &["--log", "json"]))
            .collect();
        for (slot, site) in (0..).zip(sites) {
            assert!(
                site.ended().success(),
                "{}",
                heard(&log_of(&federation, slot))
            );
        }
        assert!(server.ended().success(), "{}", federation.heard());
        let log = federation.heard();
        let events = events(&log);
        let rounds = named(&events, "round");
        assert!(
            !rounds.is_empty() && rounds.iter().all(|event| event["round"].as_u64() < Some(2)),
            "{log}"
        );
        assert!(!named(&events, "over").is_empty(), "{log}");
        let done = named(&events, "done");
        assert_eq!(done.len(), 1, "{log}");
        let message = done[0]["message"].as_str().unwrap();
        assert!(
            message.contains("sordino replay ")
                && message.contains("prior.safetensors is the file"),
            "{message}"
        );
        assert_eq!(
            done[0]["out"],
            federation.place.server().display().to_string()
        );
        assert_eq!(events.last().unwrap()["event"], "done", "{log}");
        let site = heard(&log_of(&federation, 0));
        assert!(site.contains("agent 0: point 12 of 12 measured"), "{site}");
        // Every line is an object, whatever the command writes, and the last one says the end.
        let lines = site.lines().map(serde_json::from_str);
        let events: Vec<Value> = lines.collect::<Result<_, _>>().expect(&site);
        let last = events.last().unwrap();
        assert_eq!(last["event"], "done", "{site}");
        assert!(
            last["out"].as_str().unwrap().ends_with("site-0")
                && last["message"]
                    .as_str()
                    .unwrap()
                    .contains("12 points measured"),
            "{site}"
        );
    });
}

/// A site whose server was gone said so once and waited for ever.
#[test]
fn a_site_says_that_its_server_is_gone_and_that_it_is_back_and_may_give_up() {
    bounded(|| {
        let federation = campaign("gone", 2, &["--deadline", "60s"]);
        let mut server = federation.serve();
        invitations(&federation);
        let log = log_of(&federation, 0);
        let waiting = site(&federation, 0, &["--log", "json"]);
        wait_until("it waits", || {
            heard(&log).contains("waiting for the first round")
        });
        server.kill();
        wait_until("it is lost", || {
            !named(&events(&heard(&log)), "server_lost").is_empty()
        });
        let lost = events(&heard(&log));
        let lost = named(&lost, "server_lost");
        assert_eq!(lost.len(), 1, "not at every attempt: {lost:?}");
        assert_eq!(lost[0]["agent"], 0);
        assert_eq!(lost[0]["server"], federation.listens());
        let message = lost[0]["message"].as_str().unwrap();
        assert!(
            message.contains("which has not answered for ")
                && message.contains("later ones every 10 s, or as the server asks: "),
            "{message}"
        );
        server = federation.serve();
        wait_until("it is back", || {
            !named(&events(&heard(&log)), "server_back").is_empty()
        });
        // Ctrl-C is asked for: an event of its own, and the exit code of shells.
        let code = signal(&waiting, "-INT");
        assert_eq!(waiting.ended().code(), Some(code), "{}", heard(&log));
        let said = heard(&log);
        let last = events(&said);
        assert_eq!(last.last().unwrap()["event"], "stopped", "{said}");
        assert!(
            said.contains("has what was measured: the same command goes on"),
            "{said}"
        );
        assert!(named(&last, "error").is_empty(), "{said}");
        server.kill();
        // And an owner who does not wait for ever.
        let never = site(&federation, 0, &["--give-up-after", "1s"]);
        assert_eq!(never.ended().code(), Some(1));
        let said = heard(&log);
        assert!(
            said.contains("has not answered for")
                && said.contains("as long as --give-up-after says"),
            "{said}"
        );
        assert!(said.contains("waiting for the server at "), "{said}");
    });
}

/// A closed terminal left the training running, and the same `join` measured the same point beside
/// it; and SIGTERM of a site that had measured nothing was a success.
#[test]
fn a_site_that_a_signal_ends_leaves_no_command_behind_and_says_so() {
    bounded(|| {
        let more = ["--deadline", "60s", "--min-agents", "0"];
        let federation = campaign("hangup", 2, &more);
        let mut server = federation.serve();
        invitations(&federation);
        let log = log_of(&federation, 0);
        for name in ["-HUP", "-QUIT", "-TERM"] {
            let [begun, alive] = ["begun", "alive"].map(|file| {
                let file = federation.place.0.join(format!("{file}{name}"));
                (file.display().to_string(), file)
            });
            let command = format!(
                "(sleep 3; touch {}) & touch {}; sleep 600",
                alive.0, begun.0
            );
            let site = site(&federation, 0, &["--command", &command]);
            wait_until("it measures", || begun.1.exists());
            let code = signal(&site, name);
            assert_eq!(site.ended().code(), Some(code), "{}", heard(&log));
            let said = heard(&log);
            let last = said.lines().last().unwrap();
            assert!(
                last.starts_with("stopped by ") && last.contains("goes on"),
                "{said}"
            );
            std::thread::sleep(Duration::from_millis(3500));
            assert!(!alive.1.exists(), "{name}: it lives on");
        }
        server.kill();
        // Nothing was measured, and there is no folder that would have it.
        let place = federation.place.0.join("nowhere").display().to_string();
        let site = site(&federation, 0, &["--folder", &place]);
        wait_until("it waits", || {
            heard(&log).contains("waiting for the server")
        });
        let code = signal(&site, "-TERM");
        assert_eq!(site.ended().code(), Some(code), "{}", heard(&log));
        let said = heard(&log);
        let last = said.lines().last().unwrap();
        assert!(last.contains("nothing was measured yet"), "{said}");
    });
}

/// A contribution that came before the first round made the round look open.
#[test]
fn a_round_is_open_from_its_announcement_on() {
    bounded(|| {
        let terms = terms();
        let (sender, requests) = mpsc::channel(QUEUE);
        let pace = Pace {
            ask_again_ms: 1000,
            spread_ms: 100,
        };
        let sealer = Sealer::new(&[7; 32]);
        let mut rounds = Rounds::new(&terms.agreement, pace, sealer, 0, requests);
        let status = rounds.status();
        assert!(status.borrow().is_waiting);
        let (reply, answer) = oneshot::channel();
        let frame = vec![0; 8].into();
        let early = Request::Give {
            who: 1,
            frame,
            reply,
        };
        assert!(sender.try_send(early).is_ok());
        let mut looks = 0;
        let waited = rounds.wait(|| {
            looks += 1;
            looks > 1
        });
        runtime().block_on(waited).unwrap();
        assert!(matches!(answer.blocking_recv().unwrap(), Given::Refused(_)));
        assert_eq!(status.borrow().refused, 1);
        assert!(status.borrow().is_waiting);
        // All that is said of a round is said at once.
        rounds.was_over();
        assert!(!status.borrow().was_over);
        let (frame, chain) = rounds.frame::<f32>(0, 0, None).unwrap();
        rounds.announce(0, 0, frame, chain, 1000, true).unwrap();
        let now = *status.borrow();
        assert!(!now.is_waiting && now.was_over, "{now:?}");
        // Who was shut out counted as having answered.
        rounds.excuse([1]);
        assert_eq!(status.borrow().answered, 0);
        // A round of which nothing was heard since it was told closed later and later.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let now = *status.borrow();
        assert!(now.closes_in() < std::time::Duration::from_millis(now.closes_in_ms));
    });
}

/// Ctrl-C of a server was an error with exit code 1.
#[test]
fn a_server_that_is_stopped_says_what_is_kept() {
    bounded(|| {
        let federation = campaign("stopped", 2, &["--log", "json"]);
        for (starts, name) in (1..).zip(["-INT", "-TERM"]) {
            let server = federation.serve();
            federation.invite();
            wait_until("it serves", || {
                federation.heard().matches("no round is open").count() == starts
            });
            // SIGTERM is how a server ends well.
            let code = Some(signal(&server, name)).filter(|code| *code != 143);
            let ended = server.ended().code();
            assert_eq!(ended, Some(code.unwrap_or(0)), "{}", federation.heard());
            let log = federation.heard();
            let last = events(&log);
            let last = last.last().unwrap();
            assert_eq!(last["event"], "stopped", "{log}");
            let message = last["message"].as_str().unwrap();
            assert!(
                message.ends_with("begins again: the same command goes on"),
                "{message}"
            );
        }
    });
}
