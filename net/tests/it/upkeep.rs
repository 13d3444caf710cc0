//! What operators of a server meet: versions of stored files, signals, restarts after the end,
//! metrics that many ask for, images.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hyper::Method;
use sordino_net::stored::with_version;

use super::statuses::Hostile;
use super::util::{
    Federation, PATIENCE, Process, bounded, free_port, program, runtime, said, take_part,
};

/// A file without its first line, as the version before wrote it; an agent's file has a digest of
/// all at its end.
fn without_version(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    assert!(
        bytes.starts_with(b"sordino ") && bytes[..end].ends_with(b" 2\n"),
        "{}",
        path.display()
    );
    fs::write(path, signed(path, bytes[end..].to_vec())).unwrap();
}

/// The bytes with the digest that an agent's file ends with; other files as they are.
fn signed(path: &Path, mut bytes: Vec<u8>) -> Vec<u8> {
    if path.ends_with("agent.bin") {
        use sha2::{Digest, Sha256};
        bytes.truncate(bytes.len() - 32);
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
    }
    bytes
}

/// round.bin, terms.bin and agent.bin carried no version, and unknown fields passed in silence.
#[test]
fn files_of_the_version_before_are_read_and_newer_ones_refused_by_name() {
    bounded(|| {
        let more = ["--close-early", "--deadline", "60s", "--linger", "5s"];
        let federation = Federation::new("versions", 2, 400, &more);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let begin = || {
            invitations
                .iter()
                .map(|line| runtime.spawn(take_part(federation.joining(line))))
                .collect::<Vec<_>>()
        };
        let agents = begin();
        let given = || federation.given(&invitations[0]).len();
        let reach = |count: usize| {
            let start = Instant::now();
            while !federation.has_begun(&invitations[0]) || given() < count {
                assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        reach(3);
        for agent in agents {
            agent.abort();
            drop(runtime.block_on(agent));
        }
        server.kill();
        let folders = [
            federation.place.server(),
            federation.joining(&invitations[0]).folder,
        ];
        let names: [&[&str]; 2] = [&["round.bin", "terms.bin"], &["agent.bin", "terms.bin"]];
        let files: Vec<PathBuf> = folders
            .iter()
            .zip(names)
            .flat_map(|(folder, names)| names.iter().map(|name| folder.join(name)))
            .collect();
        files.iter().for_each(|path| without_version(path));
        // As before there were versions: both go on.
        let before = given();
        let mut server = federation.serve();
        let agents = begin();
        reach(before + 3);
        for agent in agents {
            agent.abort();
            drop(runtime.block_on(agent));
        }
        server.kill();
        assert!(
            fs::read(&files[0])
                .unwrap()
                .starts_with(b"sordino round 2\n"),
            "what is written next has a version"
        );
        // Of a version to come, of another file, with a field that nobody knows.
        for path in &files {
            let folder = path.parent().unwrap().display().to_string();
            let whole = fs::read(path).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let end = if whole.starts_with(b"sordino ") {
                whole.iter().position(|b| *b == b'\n').unwrap() + 1
            } else {
                0
            };
            for (head, expected) in [
                (
                    format!("sordino {name} 3\n"),
                    format!("{name}: version 3, this program (sordino-net "),
                ),
                (
                    "sordino other 2\n".into(),
                    format!("{name}: is \"other 2\""),
                ),
            ] {
                fs::write(
                    path,
                    signed(path, [head.as_bytes(), &whole[end..]].concat()),
                )
                .unwrap();
                let output = said(&["replay", &folder]);
                let told = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(
                    !output.status.success() && told.contains(&expected),
                    "{expected}: {told}"
                );
            }
            fs::write(path, &whole).unwrap();
        }
        let path = &files[0];
        let whole = fs::read(&files[0]).unwrap();
        let text = whole
            .windows(9)
            .position(|window| window == b"{\"round\":")
            .unwrap();
        let unknown = [&whole[..text], b"{\"colour\":1,", &whole[text + 1..]].concat();
        fs::write(path, unknown).unwrap();
        let told = federation.command("replay");
        assert!(
            String::from_utf8_lossy(&told.stderr).contains("unknown field `colour`"),
            "{told:?}"
        );
        fs::write(path, whole).unwrap();
        // Negative control: as they were, both folders are whole.
        federation.replay();
        assert!(
            said(&["replay", &folders[1].display().to_string()])
                .status
                .success()
        );
        assert!(with_version("agent", b"x").starts_with(b"sordino agent 2\n"));
    });
}

/// Every answer names program and version, those to nonsense as well.
#[test]
fn every_answer_names_the_program_and_its_version() {
    bounded(|| {
        let federation = Federation::new("named", 2, 2, &["--deadline", "60s"]);
        let _server = federation.serve();
        let hostile = Hostile::new(&federation.invite()[0]);
        runtime().block_on(async {
            for path in [
                format!("/v1/{}/agreement", hostile.run()),
                "/v1/0/agreement".into(),
                "/else".into(),
            ] {
                let mut sender = hostile.connect().await;
                let request = hyper::Request::builder()
                    .method(Method::GET)
                    .uri(&path)
                    .header("host", "x");
                let request = request
                    .body(http_body_util::Full::new(bytes::Bytes::new()))
                    .unwrap();
                let answer = sender.send_request(request).await.unwrap();
                let name = answer
                    .headers()
                    .get("server")
                    .map(|name| name.to_str().unwrap().to_owned());
                assert_eq!(
                    name.as_deref(),
                    Some(concat!("sordino-net/", env!("CARGO_PKG_VERSION"))),
                    "{path}"
                );
            }
        });
    });
}

fn terminate(process: &Process) {
    assert!(
        Command::new("kill")
            .args(["-TERM", &process.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// The first process of a container gets no SIGTERM that it did not ask for; here it ended both
/// without a word.
#[test]
fn sigterm_ends_server_and_agent_cleanly_with_what_the_agent_started() {
    bounded(|| {
        let federation = Federation::new("terminated", 2, 2, &["--deadline", "60s"]);
        let server = federation.serve();
        let invitation = federation.invite().remove(0);
        let folder = federation.joining(&invitation).folder.display().to_string();
        let line = invitation.to_string();
        let started = federation.place.0.join("started");
        let late = federation.place.0.join("late");
        let command = format!(
            "touch {}; (sleep 2; touch {}); echo 1",
            started.display(),
            late.display()
        );
        // As the first process of its own, where that is allowed: a signal without a handler never
        // comes there.
        let mut alone = Command::new("unshare");
        let inside = Command::new("unshare")
            .args(["--user", "--pid", "--fork", "true"])
            .status();
        let is_first = inside.is_ok_and(|status| status.success());
        let agent = if is_first {
            alone.args([
                "--user",
                "--map-root-user",
                "--pid",
                "--fork",
                "--kill-child",
                env!("CARGO_BIN_EXE_sordino-net"),
            ]);
            alone.args([
                "join",
                &line,
                "--folder",
                &folder,
                "--max-epsilon",
                "100",
                "--command",
                &command,
            ]);
            Process::start(alone)
        } else {
            Process::start(program(&[
                "join",
                &line,
                "--folder",
                &folder,
                "--max-epsilon",
                "100",
                "--command",
                &command,
            ]))
        };
        let start = Instant::now();
        while !started.exists() {
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(10));
        }
        if is_first {
            let of = format!("/proc/{0}/task/{0}/children", agent.id());
            let child = fs::read_to_string(of).unwrap().trim().to_owned();
            assert!(
                Command::new("kill")
                    .args(["-TERM", &child])
                    .status()
                    .unwrap()
                    .success()
            );
        } else {
            terminate(&agent);
        }
        let ended = agent.ended();
        assert_eq!(
            ended.code(),
            Some(143),
            "{ended:?}, first process: {is_first}"
        );
        terminate(&server);
        assert_eq!(server.ended().code(), Some(0), "{}", federation.heard());
        assert!(
            federation
                .heard()
                .contains("begins again: the same command goes on"),
            "{}",
            federation.heard()
        );
        std::thread::sleep(Duration::from_millis(2500));
        assert!(!late.exists(), "what the agent had started lives on");
    });
}

/// A server of a federation that was over stayed for all of --linger, an hour, whenever it started.
#[test]
fn a_finished_server_that_starts_again_stays_for_the_rest_of_its_time() {
    bounded(|| {
        let federation = Federation::new("over", 2, 1, &["--deadline", "50ms", "--linger", "3s"]);
        let server = federation.serve();
        federation.invite();
        let last = federation.place.server().join("last");
        assert!(server.ended().success(), "{}", federation.heard());
        let said: u64 = fs::read_to_string(&last).unwrap().trim().parse().unwrap();
        // As if that had been long ago, under a --linger of an hour.
        fs::write(&last, format!("{}\n", said - 7200)).unwrap();
        let mut again = Command::new(env!("CARGO_BIN_EXE_sordino-net"));
        again.env("RUST_BACKTRACE", "0");
        let start = Instant::now();
        let server = federation.serve_with(again, &["--linger", "1h"]);
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{:?}",
            start.elapsed()
        );
        assert!(
            federation
                .heard()
                .contains("it stays for the rest of --linger, 3 s"),
            "{}",
            federation.heard()
        );
        // Negative control: of an announcement just now the hour is not over.
        fs::remove_file(&last).unwrap();
        let mut server = federation.serve_with(
            Command::new(env!("CARGO_BIN_EXE_sordino-net")),
            &["--linger", "1h"],
        );
        std::thread::sleep(Duration::from_secs(8));
        assert!(!server.is_over(), "{}", federation.heard());
    });
}

/// Connections to the metrics were without a bound, of number and of time.
#[test]
fn connections_to_the_metrics_are_bounded() {
    bounded(|| {
        let admin = format!("127.0.0.1:{}", free_port());
        let federation =
            Federation::new("metrics", 2, 2, &["--deadline", "60s", "--admin", &admin]);
        let server = federation.serve();
        federation.invite();
        let silent: Vec<TcpStream> = (0..100)
            .map(|_| TcpStream::connect(&admin).unwrap())
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        let handles = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap();
        let sockets = handles.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        let sockets = sockets
            .filter(|to| to.to_string_lossy().starts_with("socket:"))
            .count();
        // Beside them two that listen, those of agents, and the pairs by which signals are heard.
        assert!(sockets <= 16 + 8, "{sockets} sockets are open");
        // They are hung up on, and then there is an answer again.
        let start = Instant::now();
        let mut stream = TcpStream::connect(&admin).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
        drop(silent);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.0 200") && answer.ends_with("ok\n"),
            "{answer}"
        );
        assert!(start.elapsed() < PATIENCE);
        numbers_have_names(&admin);
        let answered = |host: &str| {
            let mut stream = TcpStream::connect(&admin).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let asked =
                format!("GET /status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(asked.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        // A page of another name that stands for 127.0.0.1 read how the federation stands.
        let refused = answered("page.example:9464");
        assert!(
            refused.starts_with("HTTP/1.1 421") && !refused.contains("enrolled"),
            "{refused}"
        );
        assert!(
            answered(&admin).starts_with("HTTP/1.1 200") && answered("localhost").contains("{"),
            "asked by a name of this machine"
        );
    });
}

/// What was there had no help, and N, T, who has joined and the version were not there.
fn numbers_have_names(admin: &str) {
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    for needed in [
        "sordino_agents 2",
        "sordino_rounds 2",
        "sordino_enrolled 0",
        "sordino_round 0",
        "sordino_delta 0.00001",
    ] {
        assert!(text.lines().any(|line| line == needed), "{needed}: {text}");
    }
    assert!(
        text.contains(concat!(
            "sordino_build_info{version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"} 1\n"
        )),
        "{text}"
    );
    let types: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let helps: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next())
        .collect();
    assert!(
        types == helps && types.len() >= 16,
        "every number has a line that says what it is: {text}"
    );
}

/// `COPY . .` took every folder of a server along, with its keys.
#[test]
fn an_image_is_built_from_what_it_needs_and_no_folder_with_keys() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let rules = fs::read_to_string(root.join(".dockerignore")).unwrap();
    let rules: Vec<&str> = rules
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert_eq!(rules[0], "*", "everything is left out that is not named");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = manifest
        .lines()
        .find(|line| line.starts_with("members = "))
        .unwrap();
    // A package inside of another one comes along with it.
    let whole = |member: &&str| !member.contains('/');
    let mut needed: Vec<&str> = members
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(whole)
        .collect();
    needed.extend(["Cargo.toml", "Cargo.lock"]);
    let mut named: Vec<&str> = rules
        .iter()
        .filter_map(|rule| rule.strip_prefix('!'))
        .collect();
    needed.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, needed, "the members of the workspace, and no more");
    // What a server or an agent writes is left out wherever it lies, and after what is named.
    for secret in [
        "**/*.key",
        "**/agent.bin",
        "**/agent.journal",
        "**/round.bin",
        "**/invitations.jsonl",
        "**/enrolled.jsonl",
    ] {
        assert!(rules.contains(&secret), "{secret}");
    }
    let containerfile = fs::read_to_string(root.join("net/deploy/Containerfile")).unwrap();
    assert!(containerfile.contains("COPY . .") && containerfile.contains("HEALTHCHECK"));
}

/// No command verified a promise, and only a digest of its key was printed.
#[test]
fn a_promise_is_verified_and_any_change_of_it_noticed() {
    bounded(|| {
        let federation = Federation::new("promise", 2, 2, &["--deadline", "60s"]);
        let _server = federation.serve();
        let pins = federation.invite()[0].pins.clone();
        let promise = String::from_utf8(federation.command("promise").stdout).unwrap();
        let path = federation.place.0.join("promise.txt");
        let verify = |text: &str, more: &[&str]| {
            fs::write(&path, text).unwrap();
            let output = said(&[&["verify", &path.display().to_string()], more].concat());
            (
                output.status.code(),
                String::from_utf8([output.stdout, output.stderr].concat()).unwrap(),
            )
        };
        let [present, next] = [0, 1].map(|i: usize| pins[i].to_string());
        assert_eq!(
            verify(&promise, &["--key", &present]),
            (Some(0), format!("signed by {present}, as expected\n"))
        );
        assert!(verify(&promise, &[]).1.contains(&present));
        assert!(
            verify(&promise, &["--key", &next]).1.contains("not by"),
            "another key"
        );
        // One character of each line, and a line less.
        for (from, to) in [
            ("\"agents\":2", "\"agents\":3"),
            ("): 30", "): 31"),
            ("public key 3059", "public key 3058"),
        ] {
            assert!(promise.contains(from), "{from}: {promise}");
            let (code, told) = verify(&promise.replacen(from, to, 1), &["--key", &present]);
            assert!(
                code == Some(1) && told.contains("not signed by this key"),
                "{from}: {told}"
            );
        }
        let (code, told) = verify(promise.lines().next().unwrap(), &[]);
        assert!(code == Some(2) && told.contains("three lines"), "{told}");
    });
}
