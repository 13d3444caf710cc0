//! The server's key changes while it runs: agents of old and new invitations go on, and so do
//! seals.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sordino_host::signature::Fingerprint;
use sordino_net::identity::{Identity, IdentityError};
use sordino_net::invitation::Invitation;
use sordino_net::keys::{self, Keys};
use sordino_net::link::{Link, LinkError};

use super::util::{Federation, PATIENCE, Place, Process, bounded, runtime, said, take_part};

/// Tells this program of tests, started again, to rotate: what the next key should be, in which
/// folder, as which of two.
const TOLD: [&str; 3] = [
    "SORDINO_TEST_EXPECTED",
    "SORDINO_TEST_FOLDER",
    "SORDINO_TEST_WHO",
];

/// Runs `rotate`: whether it was done, and what it said.
fn rotate(federation: &Federation, more: &[&str]) -> (bool, String) {
    let folder = federation.place.server().display().to_string();
    let output = said(&[&["rotate", &folder], more].concat());
    let says = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(says).unwrap())
}

/// Whether the server shows one of these keys now.
fn is_known(invitation: &Invitation, pins: &[sordino_host::signature::Fingerprint]) -> bool {
    runtime().block_on(async {
        let tls = Identity::generate().unwrap().client(pins).unwrap();
        let mut link = Link::new(
            &invitation.address,
            invitation.deployment,
            tls,
            Duration::from_secs(1),
        );
        match link.terms().await {
            Ok(_) => true,
            Err(LinkError::Connect(error)) => {
                assert!(error.to_string().contains("certificate"), "{error}");
                false
            }
            Err(error) => panic!("{error}"),
        }
    })
}

fn wait_until(federation: &Federation, what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}: {}", federation.heard());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn agents_of_old_and_new_invitations_go_on_through_a_rotation() {
    bounded(|| {
        // More rounds than the test has time for.
        let federation = Federation::new(
            "rotation",
            3,
            600,
            &["--deadline", "300ms", "--linger", "30s"],
        );
        let mut server = federation.serve();
        let old = federation.invite();
        let runtime = runtime();
        let early = runtime.spawn(take_part(federation.joining(&old[0])));
        wait_until(&federation, "the first agent", || {
            federation.has_begun(&old[0])
        });
        let [first, second] = old[0].pins[..] else {
            panic!("two pins are expected")
        };
        assert!(is_known(&old[0], &[first]) && !is_known(&old[0], &[second]));
        let (done, says) = rotate(&federation, &[]);
        assert!(done && says.contains(&second.to_string()), "{says}");
        // Without a restart, and while the first agent is at work.
        wait_until(&federation, "the new key", || is_known(&old[0], &[second]));
        assert!(!is_known(&old[0], &[first]), "the old key is shown no more");
        assert!(
            federation
                .heard()
                .contains(&format!("connections are shown the key {second}")),
            "{}",
            federation.heard()
        );
        // An agent that comes with an old invitation, one with a new one, and the one that was
        // there.
        let late = runtime.spawn(take_part(federation.joining(&old[1])));
        let new = federation.invite().remove(2);
        assert_eq!((new.pins[0], new.pins.contains(&first)), (second, false));
        let fresh = runtime.spawn(take_part(federation.joining(&new)));
        wait_until(&federation, "the agents of both lines", || {
            [&old[1], &new]
                .iter()
                .all(|line| federation.has_begun(line) && !federation.given(line).is_empty())
        });
        let was = federation.given(&old[0]).len();
        wait_until(&federation, "the agent that was there", || {
            federation.given(&old[0]).len() > was
        });
        // A second rotation would leave behind who has the old line alone: agents 0 and 1 were
        // invited again as well.
        let again = federation.invite();
        let (done, says) = rotate(&federation, &[]);
        assert!(done, "{says}");
        wait_until(&federation, "the third key", || {
            is_known(&again[0], &[again[0].pins[1]])
        });
        // Their connections last, but a new one is refused: the new line brings them back, with
        // their folder and key.
        let [early, late, fresh] = [early, late, fresh].map(|agent| {
            agent.abort();
            runtime.block_on(agent).is_err()
        });
        assert!(early && late && fresh, "all were at work until now");
        let given = || {
            again
                .iter()
                .map(|line| federation.given(line).len())
                .collect::<Vec<usize>>()
        };
        let before = given();
        let agents: Vec<_> = again
            .iter()
            .map(|line| runtime.spawn(take_part(federation.joining(line))))
            .collect();
        wait_until(&federation, "contributions after two rotations", || {
            given()
                .iter()
                .zip(&before)
                .all(|(now, before)| now > before)
        });
        assert!(
            agents.iter().all(|agent| !agent.is_finished()) && !server.is_over(),
            "{}",
            federation.heard()
        );
        agents.iter().for_each(|agent| agent.abort());
        // A restart finds the same keys, and the histories that agents have under seals of before
        // the rotations.
        server.kill();
        let mut server = federation.serve();
        let before = given();
        let agents: Vec<_> = again
            .iter()
            .map(|line| runtime.spawn(take_part(federation.joining(line))))
            .collect();
        wait_until(&federation, "contributions after a restart", || {
            given()
                .iter()
                .zip(&before)
                .all(|(now, before)| now > before)
        });
        agents.iter().for_each(|agent| agent.abort());
        server.kill();
    });
}

#[test]
fn a_rotation_that_leaves_agents_behind_says_whom() {
    bounded(|| {
        let federation = Federation::new("behind", 2, 3, &["--deadline", "60s"]);
        let _server = federation.serve();
        let first = federation.invite();
        let (done, says) = rotate(&federation, &[]);
        assert!(done, "{says}");
        // Agent 1 is invited again, agent 0 is not.
        let folder = federation.place.server().display().to_string();
        assert!(said(&["invite", &folder, "--agents", "1"]).status.success());
        let (done, says) = rotate(&federation, &[]);
        assert!(
            !done && says.contains("agent 0 was given no invitation with the next key"),
            "{says}"
        );
        assert!(is_known(&first[0], &first[0].pins), "nothing was done");
        // Who is shut out need not be asked.
        assert!(said(&["revoke", &folder, "0"]).status.success());
        let (done, says) = rotate(&federation, &[]);
        assert!(done, "{says}");
        let (done, _) = rotate(&federation, &[]);
        assert!(!done, "agent 1 has no line with the fourth key");
        let (done, says) = rotate(&federation, &["--leave-behind"]);
        assert!(done, "{says}");
    });
}

/// One of two processes: waits until both are there, rotates, and leaves what became of it beside
/// the folder.
fn rotates(expected: &str, folder: &Path, who: &str) {
    let beside = |name: &str| folder.with_file_name(name);
    std::fs::write(beside(&format!("ready-{who}")), "").unwrap();
    let start = Instant::now();
    while !beside("go").exists() {
        assert!(start.elapsed() < PATIENCE, "nobody says go");
        std::thread::yield_now();
    }
    let told = match keys::rotate(folder, expected.parse().unwrap()) {
        Ok([now, next]) => format!("rotated {now} {next}"),
        Err(IdentityError::Rotated { expected, found }) => format!("refused {expected} {found}"),
        Err(error) => panic!("{error}"),
    };
    std::fs::write(beside(&format!("told-{who}")), told).unwrap();
}

/// A process that rotates as soon as `go` lies beside the folder, and is ready to.
fn rotating(folder: &Path, expected: Fingerprint, who: usize) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "rotations::of_two_processes_that_rotate_at_one_time_one_does",
    ]);
    let values = [
        expected.to_string(),
        folder.display().to_string(),
        who.to_string(),
    ];
    command
        .envs(TOLD.into_iter().zip(values))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let process = Process::start(command);
    let start = Instant::now();
    while !folder.with_file_name(format!("ready-{who}")).exists() {
        assert!(start.elapsed() < PATIENCE, "process {who} did not start");
        std::thread::sleep(Duration::from_millis(1));
    }
    process
}

/// Two processes that rotate at one time, and what became of each.
fn rotate_at_once(folder: &Path, expected: [Fingerprint; 2]) -> [String; 2] {
    let beside = |name: String| folder.with_file_name(name);
    let names = ["ready-0", "ready-1", "told-0", "told-1", "go"];
    names
        .iter()
        .for_each(|name| drop(std::fs::remove_file(beside(name.to_string()))));
    let processes = [0, 1].map(|who| rotating(folder, expected[who], who));
    std::fs::write(beside("go".into()), "").unwrap();
    for process in processes {
        assert!(process.ended().success());
    }
    [0, 1].map(|who| std::fs::read_to_string(beside(format!("told-{who}"))).unwrap())
}

#[test]
fn of_two_processes_that_rotate_at_one_time_one_does() {
    if let [Ok(expected), Ok(folder), Ok(who)] = TOLD.map(std::env::var) {
        return rotates(&expected, Path::new(&folder), &who);
    }
    bounded(|| {
        let place = Place::new("two-rotate");
        let folder = place.server();
        std::fs::create_dir(&folder).unwrap();
        Keys::begin(&folder).unwrap();
        let open = || Keys::open(&folder).unwrap();
        let seal = || open().sealer().seal(3, &Default::default());
        let sealed = seal();
        let mut pins = open().pins().unwrap();
        for turn in 0..10 {
            // The key that is shown was the next one before the last rotation: an expectation that
            // is stale from the start.
            let stale = turn % 2 == 1;
            let told = rotate_at_once(&folder, [pins[usize::from(!stale)], pins[1]]);
            let now = open().pins().unwrap();
            assert!(
                now[0] == pins[1] && !pins.contains(&now[1]),
                "{turn}: one rotation, {told:?}"
            );
            let done = format!("rotated {} {}", now[0], now[1]);
            let late = format!("refused {} {}", pins[1], now[1]);
            if stale {
                // Refused whether it came first or second.
                let [first, second] =
                    [pins[1], now[1]].map(|found| format!("refused {} {found}", pins[0]));
                assert!(
                    told[1] == done && [first, second].contains(&told[0]),
                    "{turn}: {told:?}"
                );
            } else {
                let mut told = told.clone();
                told.sort();
                assert_eq!(told, [late, done], "{turn}");
            }
            assert_eq!(seal(), sealed, "{turn}: seals stay");
            let files = std::fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap());
            let mut files: Vec<(String, u32)> = files
                .map(|file| {
                    (
                        file.file_name().into_string().unwrap(),
                        file.metadata().unwrap().permissions().mode() & 0o777,
                    )
                })
                .collect();
            files.sort();
            let whole = [".keys.lock", "seal.key", "server.key", "server.next.key"];
            assert_eq!(
                files,
                whole.map(|name| (name.to_owned(), 0o600)),
                "{turn}: nothing is left over"
            );
            pins = now;
        }
    });
}

/// The lock, by itself: the two processes of the test above may miss each other.
#[test]
fn a_rotation_waits_for_who_holds_the_lock_and_reads_the_keys_afterwards() {
    bounded(|| {
        let places = [Place::new("rotate-held"), Place::new("rotate-free")];
        let [held, free] = places.each_ref().map(|place| {
            let folder = place.server();
            std::fs::create_dir(&folder).unwrap();
            let pins = Keys::begin(&folder).unwrap().pins().unwrap();
            let lock = std::fs::File::options()
                .write(true)
                .open(folder.join(".keys.lock"))
                .unwrap();
            lock.lock().unwrap();
            (folder, pins, lock)
        });
        // Negative control: a lock that nobody meets any more excludes nobody, as if none were
        // taken.
        std::fs::remove_file(free.0.join(".keys.lock")).unwrap();
        let [waits, rotates] = [&held, &free].map(|(folder, pins, _)| rotating(folder, pins[1], 0));
        let (start, key) = (Instant::now(), || {
            std::fs::read(held.0.join("server.key")).unwrap()
        });
        let before = key();
        for (folder, ..) in [&held, &free] {
            std::fs::write(folder.with_file_name("go"), "").unwrap();
        }
        let told = |folder: &Path| folder.with_file_name("told-0");
        assert!(rotates.ended().success());
        let said = std::fs::read_to_string(told(&free.0)).unwrap();
        assert!(
            said.starts_with(&format!("rotated {}", free.1[1])),
            "{said}"
        );
        // As long again as the other one took, and some more.
        std::thread::sleep(start.elapsed() + Duration::from_millis(100));
        assert!(
            !told(&held.0).exists() && key() == before,
            "it did not wait"
        );
        // Who holds the lock rotates; what waits finds the keys as they are now, not as they were
        // when it began.
        std::fs::copy(held.0.join("server.next.key"), held.0.join("server.key")).unwrap();
        drop(held.2);
        assert!(waits.ended().success());
        let now = Keys::open(&held.0).unwrap().pins().unwrap();
        assert_eq!(now[0], held.1[1]);
        let said = std::fs::read_to_string(told(&held.0)).unwrap();
        assert_eq!(said, format!("refused {} {}", held.1[1], now[1]));
    });
}
