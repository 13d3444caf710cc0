//! What federations get of data of one name is added up before anything is sent, and a kill at any
//! moment never counts too little.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_core::random::Stream;
use sordino_host::ledger::contributions::Contributions;
use sordino_host::ledger::{Accounting, CounterPlace, Ledger, Options, Terms};
use sordino_net::data::Data;
use sordino_net::invitation::Invitation;
use sordino_net::join::{JoinError, Joined, Joining, join};

use super::util::{Federation, PATIENCE, Place, Process, bounded, program, runtime, said};

const SPACE: &str = "goal = \"minimize\"\n[parameters.depth]\nlow = 1\nhigh = 8\ninteger = true\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n";

fn campaign(name: &str, agents: u32, more: &[&str]) -> Federation {
    let usual = [
        ["--epsilon", "1"],
        ["--features", "12"],
        ["--deadline", "60s"],
        ["--linger", "2s"],
        ["--delay", "10ms"],
    ];
    let usual = usual
        .iter()
        .filter(|[option, _]| !more.contains(option))
        .flatten()
        .copied();
    Federation::campaign(
        name,
        agents,
        SPACE,
        &usual
            .chain(["--close-early"])
            .chain(more.iter().copied())
            .collect::<Vec<_>>(),
    )
}

/// The arguments of a site whose counts are here.
fn site(
    federation: &Federation,
    invitation: &Invitation,
    counts: &Place,
    more: &[&str],
) -> Vec<String> {
    let folder = federation.joining(invitation).folder.display().to_string();
    let counter = counts.0.display().to_string();
    let fixed = [
        "join",
        &invitation.to_string(),
        "--folder",
        &folder,
        "--counter",
        &counter,
    ]
    .map(String::from);
    let command = ["--command", "echo $SORDINO_RATE", "--evaluations", "11"].map(String::from);
    fixed
        .into_iter()
        .chain(command)
        .chain(more.iter().map(|word| word.to_string()))
        .collect()
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// What a refused join says. Its server knows nothing of it.
fn refused(federation: &Federation, invitation: &Invitation, arguments: &[String]) -> String {
    let output = said(&words(arguments));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let enrolled = std::fs::read_to_string(federation.place.server().join("enrolled.jsonl"))
        .unwrap_or_default();
    assert!(
        !enrolled.contains(&format!("\"slot\":{}", invitation.slot)),
        "{enrolled}"
    );
    assert!(
        !federation.has_begun(invitation) && !told.contains(" agrees: "),
        "{told}"
    );
    told
}

/// Runs sites to their end and returns what each said.
fn ended(sites: Vec<(Process, PathBuf)>) -> Vec<String> {
    let told = |(process, log): (Process, PathBuf)| {
        let status = process.ended();
        let told = std::fs::read_to_string(&log).unwrap();
        assert!(status.success(), "{told}");
        told
    };
    sites.into_iter().map(told).collect()
}

fn begun(
    federation: &Federation,
    invitation: &Invitation,
    arguments: &[String],
) -> (Process, PathBuf) {
    let log = federation
        .place
        .0
        .join(format!("site-{}.log", invitation.slot));
    let file = std::fs::File::create(&log).unwrap();
    let mut command = program(&words(arguments));
    command.stdout(file.try_clone().unwrap()).stderr(file);
    (Process::start(command), log)
}

/// A ledger of what was published of this data, counted where sites count.
fn published(counts: &Place, data: &str) {
    let event = Event::Gaussian {
        noise_multiplier: 4.0,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    let terms = Terms {
        data: data.into(),
        unit: "study".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: Some(4.0),
        delta: 1e-5,
    };
    let options = Options {
        counter: CounterPlace::under(&counts.0).unwrap(),
        another: false,
        next: vec![event],
    };
    let path = counts.0.join("published.jsonl");
    let mut ledger = Ledger::open_secret(&path, &terms, &options).unwrap();
    ledger.charge(0, &[event]).unwrap();
}

#[test]
fn two_federations_of_one_name_are_added_up_before_anything_is_sent() {
    bounded(|| {
        let first = campaign("dataset-first", 2, &[]);
        let second = campaign("dataset-second", 2, &[]);
        let counts = Place::new("dataset-counts");
        published(&counts, "Ward 7");
        let server = first.serve();
        let other = second.serve();
        let ours = first.invite();
        let theirs = second.invite();
        let limit = ["--max-epsilon", "1.1"];
        let named = |name| [&limit[..], &["--dataset", name]].concat();
        let arguments = [&ours[0], &ours[1]].map(|invitation| {
            let name = if invitation.slot == 0 {
                "ward 7"
            } else {
                "ward 8"
            };
            site(&first, invitation, &counts, &named(name))
        });
        let sites: Vec<_> = ours
            .iter()
            .zip(&arguments)
            .map(|(invitation, site)| begun(&first, invitation, site))
            .collect();
        for (slot, told) in ended(sites).into_iter().enumerate() {
            assert!(
                told.contains(" agrees: ") && !told.contains("other federation"),
                "{told}"
            );
            // Of its own name alone, and in no sum.
            let holds = "published.jsonl holds ε 0.9264 at δ = 0.00001, from `publish`, `tune` or a server, which is not in this sum";
            assert_eq!(told.contains(holds), slot == 0, "{told}");
            assert!(told.contains("sent to 2 rounds"), "{told}");
        }
        assert!(server.ended().success(), "{}", first.heard());
        // Each alone is within 1.1, both are √2 in μ: refused, with what was spent, what it would
        // be, and what admits it.
        let told = refused(
            &second,
            &theirs[1],
            &site(&second, &theirs[1], &counts, &named("Ward  7")),
        );
        for part in [
            "nothing was sent: data set \"Ward  7\" gave, or agreed to give, ε = 1.0",
            "to 1 other federation, and with this one it is ε = 1.4",
            "where at most ε = 1.100 is admitted",
            "--max-epsilon 1.4",
            "--dataset NAME",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        // One data set is one agent of a federation.
        let twice = site(
            &second,
            &theirs[0],
            &counts,
            &["--max-epsilon", "9", "--dataset", "ward 7"],
        );
        let (process, log) = begun(&second, &theirs[0], &twice);
        let start = std::time::Instant::now();
        while !std::fs::read_to_string(&log).unwrap().contains(" agrees: ") {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(20));
        }
        let told = std::fs::read_to_string(&log).unwrap();
        assert!(
            told.contains("data set \"ward 7\" gave, or agreed to give, ε = 1.0"),
            "{told}"
        );
        let told = refused(
            &second,
            &theirs[1],
            &site(
                &second,
                &theirs[1],
                &counts,
                &["--max-epsilon", "9", "--dataset", "ward 7"],
            ),
        );
        assert!(
            told.contains("takes part in this federation as agent 0 already"),
            "{told}"
        );
        // Other data are not added up; without a limit of its own the sum is held against 1.
        let told = refused(
            &second,
            &theirs[1],
            &site(&second, &theirs[1], &counts, &["--dataset", "ward 8"]),
        );
        assert!(
            told.contains("where at most ε = 1.000 is admitted"),
            "{told}"
        );
        let last = site(&second, &theirs[1], &counts, &named("ward 9"));
        let told = ended(vec![begun(&second, &theirs[1], &last), (process, log)]);
        assert!(
            told.iter().all(|told| told.contains("sent to 2 rounds")),
            "{told:?}"
        );
        assert!(other.ended().success(), "{}", second.heard());
        // An agent keeps the name that it was begun with.
        let renamed = said(&words(&site(
            &second,
            &theirs[1],
            &counts,
            &named("ward 10"),
        )));
        let told = String::from_utf8_lossy(&renamed.stderr).into_owned();
        assert!(
            told.contains("this agent was begun with the data set \"ward 9\""),
            "{told}"
        );
    });
}

#[test]
fn federations_joined_without_a_name_are_added_up_too() {
    bounded(|| {
        let first = campaign("unnamed-first", 2, &[]);
        let second = campaign("unnamed-second", 2, &[]);
        let counts = Place::new("unnamed-counts");
        let server = first.serve();
        let _other = second.serve();
        let ours = first.invite();
        let theirs = second.invite();
        // Two sites on one machine, at the default limit: agents of one federation are different
        // data.
        let sites = ours
            .iter()
            .map(|invitation| begun(&first, invitation, &site(&first, invitation, &counts, &[])));
        ended(sites.collect());
        assert!(server.ended().success(), "{}", first.heard());
        let told = refused(
            &second,
            &theirs[1],
            &site(&second, &theirs[1], &counts, &[]),
        );
        assert!(
            told.contains("data without a name, of this folder, gave, or agreed to give, ε = 1.0"),
            "{told}"
        );
        let name = site(
            &second,
            &theirs[1],
            &counts,
            &["--dataset", "p\u{430}tients"],
        );
        assert!(refused(&second, &theirs[1], &name).contains("looks like another character"));
    });
}

/// Waits until a site that was begun has agreed.
fn agreed(log: &Path) {
    let start = std::time::Instant::now();
    while !std::fs::read_to_string(log).unwrap().contains(" agrees: ") {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The name was kept and the place was not: a site that left out the name it had begun with counted
/// in another folder, where nothing of its data was known.
#[test]
fn a_site_that_leaves_its_name_out_keeps_its_budget() {
    bounded(|| {
        let first = campaign("nameless-first", 2, &[]);
        let second = campaign("nameless-second", 2, &[]);
        let counts = Place::new("nameless-counts");
        let server = first.serve();
        let _other = second.serve();
        let ours = first.invite();
        let theirs = second.invite();
        let sites = ours.iter().zip(["ward 7", "ward 8"]).map(|(own, name)| {
            let arguments = site(&first, own, &counts, &["--dataset", name]);
            begun(&first, own, &arguments)
        });
        ended(sites.collect());
        assert!(server.ended().success(), "{}", first.heard());
        // It gives nothing, which needs nobody's leave, and then all, without its name.
        let nothing = ["--dataset", "ward 7", "--max-epsilon", "1e-6"];
        let (mut site_of_nothing, log) = begun(
            &second,
            &theirs[0],
            &site(&second, &theirs[0], &counts, &nothing),
        );
        agreed(&log);
        site_of_nothing.kill();
        let all = site(&second, &theirs[0], &counts, &["--max-epsilon", "1.1"]);
        let output = said(&words(&all));
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains("data set \"ward 7\" gave, or agreed to give, ε = 1.0")
                && told.contains("with this one it is ε = 1.4"),
            "{told}"
        );
        assert!(
            !unnamed(&counts.0).exists(),
            "data with a name is counted by its name"
        );
    });
}

/// The second start was refused, and had written that the first one gives nothing.
#[test]
fn who_comes_second_with_an_invitation_takes_nothing_from_who_is_in() {
    bounded(|| {
        let federation = campaign("second-folder", 2, &[]);
        let counts = Place::new("second-folder-counts");
        let server = federation.serve();
        let invitations = federation.invite();
        let arguments = [0, 1].map(|slot| {
            let name = ["ward 7", "ward 8"][slot];
            site(
                &federation,
                &invitations[slot],
                &counts,
                &["--dataset", name],
            )
        });
        let first = begun(&federation, &invitations[0], &arguments[0]);
        let start = std::time::Instant::now();
        while !federation.has_begun(&invitations[0]) {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut again = arguments[0].clone();
        let folder = again.iter().position(|word| word == "--folder").unwrap() + 1;
        again[folder] += "-again";
        again.extend(["--max-epsilon", "1e-6"].map(String::from));
        let output = said(&words(&again));
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && told.contains(" agrees: "),
            "{told}"
        );
        let second = begun(&federation, &invitations[1], &arguments[1]);
        for told in ended(vec![first, second]) {
            assert!(told.contains("sent to 2 rounds"), "{told}");
        }
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(
            federation
                .heard()
                .contains("made of the contributions of 2 of 2 agents"),
            "{}",
            federation.heard()
        );
    });
}

/// Where data without a name is counted that sites are joined with from here.
fn unnamed(counts: &Path) -> PathBuf {
    sordino_net::data::of_folder(
        &counts.join("contributions"),
        &std::env::current_dir().unwrap(),
    )
}

/// What the other federations of unnamed data cost, to somebody who asks from a third one.
fn counted(counts: &Path) -> f64 {
    let third = Contributions::open(&unnamed(counts), None, "a third", 0).unwrap();
    third.weigh(&[], 1e-5).unwrap().before
}

#[test]
fn a_site_that_is_killed_at_any_moment_counts_what_it_sent_and_once() {
    bounded(|| {
        let federation = campaign("dataset-kills", 3, &["--delay", "150ms"]);
        let counts = Place::new("dataset-kills-counts");
        let server = federation.serve();
        let invitations = federation.invite();
        let arguments: Vec<_> = invitations
            .iter()
            .map(|invitation| site(&federation, invitation, &counts, &[]))
            .collect();
        let begin = |slot: usize| begun(&federation, &invitations[slot], &arguments[slot]);
        let mut sites: Vec<_> = (0..3).map(begin).collect();
        let mut stream = Stream::from_seed(11);
        let mut kills = 0;
        for _ in 0..30 {
            std::thread::sleep(Duration::from_millis(u64::from(10 + stream.below(70))));
            let slot = stream.below(3) as usize;
            if !sites[slot].0.is_over() {
                sites[slot].0.kill();
                sites[slot] = begin(slot);
                kills += 1;
            }
        }
        for told in ended(sites) {
            assert!(told.contains("sent to 2 rounds"), "{told}");
        }
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(kills >= 10, "only {kills} kills");
        let spent = counted(&counts.0);
        assert!(
            spent > 0.99 && spent <= 1.0,
            "{spent}: all of the plan, and nothing twice"
        );
    });
}

async fn takes_part(joining: Joining) -> Result<Joined, JoinError> {
    join(&joining, |query| std::future::ready(Ok(query.point[0]))).await
}

/// An older copy of an agent's folder, as a backup brings it back, gives again what it gave: the
/// count has it once.
#[test]
fn an_older_copy_of_a_site_s_folder_is_refused_or_gives_what_it_gave() {
    bounded(|| {
        let federation = campaign("dataset-copies", 2, &["--linger", "20s"]);
        let counts = Place::new("dataset-copies-counts");
        let _server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let joining = |slot: usize| {
            let mut joining = federation.joining(&invitations[slot]);
            joining.data = Some(Data {
                name: None,
                place: counts.0.join("contributions"),
                here: std::env::current_dir().unwrap(),
            });
            joining.evaluations = Some(11);
            joining
        };
        // A copy of the time before anything was given: the first site has begun, the second is not
        // there.
        let early = runtime.spawn(takes_part(joining(0)));
        let start = std::time::Instant::now();
        let folder = joining(0).folder;
        while !folder.join("agent.bin").exists() {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(5));
        }
        early.abort();
        assert!(runtime.block_on(early).is_err());
        let old = federation.place.0.join("old");
        std::fs::create_dir(&old).unwrap();
        for file in [
            "agent.bin",
            "agent.journal",
            "agent.key",
            "terms.bin",
            "data.json",
        ] {
            std::fs::copy(folder.join(file), old.join(file)).unwrap();
        }
        let both: Vec<_> = (0..2)
            .map(|slot| runtime.spawn(takes_part(joining(slot))))
            .collect();
        let both: Vec<_> = both
            .into_iter()
            .map(|site| runtime.block_on(site).unwrap().unwrap())
            .collect();
        let spent = counted(&counts.0);
        assert!(spent > 0.99 && spent <= 1.0, "{spent}");
        for file in ["agent.bin", "agent.journal"] {
            std::fs::copy(old.join(file), folder.join(file)).unwrap();
        }
        let again = runtime
            .block_on(async { tokio::time::timeout(PATIENCE, takes_part(joining(0))).await });
        let again = again.expect("it hangs");
        assert_eq!(counted(&counts.0), spent, "{again:?}");
        // What it sends to a release that is over comes too late.
        if let Ok(joined) = again {
            assert!(
                joined
                    .given
                    .iter()
                    .all(|round| both[0].given.contains(round)),
                "{joined:?}"
            );
            assert_eq!(
                (joined.chain, both[0].given.as_slice()),
                (both[0].chain, &[0, 1][..])
            );
        }
    });
}

/// Ten measurements of two seconds each, in a round of ten: no release has them, and the site is
/// told so.
#[test]
fn a_site_whose_contribution_came_too_late_is_told() {
    bounded(|| {
        let federation = campaign("dataset-late", 2, &["--deadline", "10s", "--linger", "30s"]);
        let counts = Place::new("dataset-late-counts");
        let server = federation.serve();
        let invitations = federation.invite();
        let sites = [0, 1].map(|slot| {
            let invitation = &invitations[slot];
            let mut arguments = site(&federation, invitation, &counts, &[]);
            for word in &mut arguments {
                if slot == 1 && word.starts_with("echo ") {
                    word.insert_str(0, "sleep 2; ");
                }
            }
            begun(&federation, invitation, &arguments)
        });
        let told = ended(sites.into());
        let late = "round 1 was over when its contribution arrived";
        assert!(told[1].contains(late), "{}", told[1]);
        assert!(!told[0].contains("was over"), "{}", told[0]);
        assert!(server.ended().success(), "{}", federation.heard());
    });
}

/// The lines of `invite` with these options.
fn invited(federation: &Federation, more: &[&str]) -> String {
    let folder = federation.place.server().display().to_string();
    let output = said(&[&["invite", &folder], more].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_site_that_lost_its_folder_comes_again_and_an_invitation_ends() {
    bounded(|| {
        let federation = campaign("dataset-again", 2, &[]);
        let counts = Place::new("dataset-again-counts");
        let server = federation.serve();
        let invitations = federation.invite();
        let (lost, log) = begun(
            &federation,
            &invitations[0],
            &site(&federation, &invitations[0], &counts, &[]),
        );
        let folder = federation.joining(&invitations[0]).folder;
        let start = std::time::Instant::now();
        while !folder.join("agent.bin").exists() {
            assert!(
                start.elapsed() < PATIENCE,
                "{}",
                std::fs::read_to_string(&log).unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(lost);
        std::fs::remove_dir_all(&folder).unwrap();
        // Another key: its own line is no use any more, and a new one of the usual kind neither.
        let usual: Invitation = invited(&federation, &["--agents", "0"])
            .trim()
            .parse()
            .unwrap();
        for line in [&invitations[0], &usual] {
            let output = said(&words(&site(&federation, line, &counts, &[])));
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.code() == Some(1)
                    && told.contains("403: another folder has joined with this slot"),
                "{told}"
            );
        }
        let again: Invitation = invited(&federation, &["--agents", "0", "--again"])
            .trim()
            .parse()
            .unwrap();
        // The other's line ends before it is used.
        let soon = std::time::SystemTime::now() + Duration::from_secs(2);
        let soon = soon
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs()
            .to_string();
        let ended_line: Invitation = invited(&federation, &["--agents", "1", "--until", &soon])
            .trim()
            .parse()
            .unwrap();
        std::thread::sleep(Duration::from_millis(3100));
        let output = said(&words(&site(&federation, &ended_line, &counts, &[])));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(1) && told.contains("403: the invitation has ended"),
            "{told}"
        );
        let server_folder = federation.place.server().display().to_string();
        let past = said(&[
            "invite",
            &server_folder,
            "--agents",
            "1",
            "--until",
            "1700000000",
        ]);
        assert!(
            String::from_utf8_lossy(&past.stderr).contains("a moment in the future is expected")
        );
        let both = [&again, &invitations[1]]
            .map(|line| begun(&federation, line, &site(&federation, line, &counts, &[])));
        for told in ended(both.into()) {
            assert!(told.contains("sent to 2 rounds"), "{told}");
        }
        assert!(server.ended().success(), "{}", federation.heard());
        let spent = counted(&counts.0);
        assert!(
            spent > 0.99 && spent <= 1.0,
            "{spent}: what was agreed to twice is given once"
        );
    });
}

#[test]
fn what_was_agreed_to_with_an_invitation_that_is_refused_does_not_count() {
    bounded(|| {
        let federation = campaign("dataset-refused", 2, &[]);
        let counts = Place::new("dataset-refused-counts");
        let server = federation.serve();
        let invitations = federation.invite();
        let named = |invitation, name| site(&federation, invitation, &counts, &["--dataset", name]);
        let first = begun(
            &federation,
            &invitations[0],
            &named(&invitations[0], "ward 1"),
        );
        let start = std::time::Instant::now();
        while !federation
            .joining(&invitations[0])
            .folder
            .join("agent.bin")
            .exists()
        {
            assert!(
                start.elapsed() < PATIENCE,
                "{}",
                std::fs::read_to_string(&first.1).unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        // Another site with the same invitation: it agrees, and is not let in.
        let mut other = named(&invitations[0], "ward 2");
        other[3] = federation
            .place
            .0
            .join("another folder")
            .display()
            .to_string();
        let output = said(&words(&other));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            told.contains(" agrees: ")
                && told.contains("403: another folder has joined with this slot"),
            "{told}"
        );
        // Its data are free for the invitation that was meant, which was refused as a second agent
        // of the same data.
        let second = begun(
            &federation,
            &invitations[1],
            &named(&invitations[1], "ward 2"),
        );
        for told in ended(vec![first, second]) {
            assert!(told.contains("sent to 2 rounds"), "{told}");
        }
        assert!(server.ended().success(), "{}", federation.heard());
    });
}

/// What holds a thread, here a lock, keeps the site from hearing anything: the end that comes all
/// the same said nothing.
#[test]
fn a_site_that_is_ended_while_it_waits_for_the_count_says_so() {
    bounded(|| {
        let federation = campaign("dataset-locked", 2, &[]);
        let counts = Place::new("dataset-locked-counts");
        let place = counts.0.join("contributions");
        Contributions::open(&place, Some("patients"), "another", 0).unwrap();
        let data = std::fs::read_dir(&place).unwrap().next().unwrap().unwrap();
        let lock = std::fs::File::create(data.path().join("lock")).unwrap();
        lock.lock().unwrap();
        let _server = federation.serve();
        let invitation = &federation.invite()[0];
        let more = ["--dataset", "patients", "--log", "json"];
        let (process, log) = begun(
            &federation,
            invitation,
            &site(&federation, invitation, &counts, &more),
        );
        let terms = federation.joining(invitation).folder.join("terms.bin");
        let start = std::time::Instant::now();
        while !terms.exists() {
            assert!(start.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(500));
        let id = process.id().to_string();
        let kill = std::process::Command::new("kill").arg(id).status();
        assert!(kill.unwrap().success());
        assert_eq!(process.ended().code(), Some(143));
        let told = std::fs::read_to_string(&log).unwrap();
        let last = told.lines().last().expect("it says nothing");
        assert!(
            last.contains("\"event\":\"stopped\"") && last.contains("stopped by SIGTERM"),
            "{told}"
        );
    });
}
