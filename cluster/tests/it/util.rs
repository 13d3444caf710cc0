//! Heads and workers as processes of a test. Loopback only; every wait has an end, and every
//! process ends with the test.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

pub use crate::tree::{files, scratch};

/// No test waits longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An endpoint at a port that was free a moment ago.
pub fn endpoint() -> String {
    format!(
        "tcp/{}",
        TcpListener::bind(("127.0.0.1", 0))
            .unwrap()
            .local_addr()
            .unwrap()
    )
}

/// What `sordino run` leaves of a scenario.
pub fn reference(folder: &Path, scenario: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let out = folder.join("reference");
    let line = ["sordino", "run"]
        .iter()
        .chain(scenario)
        .chain(&["--out"])
        .map(OsString::from);
    let code = sordino_sim::main(line.chain([out.clone().into_os_string()]));
    assert_eq!(
        format!("{code:?}"),
        format!("{:?}", std::process::ExitCode::SUCCESS)
    );
    files(&out)
}

/// The same files with the same bytes; the first that differs is named.
pub fn assert_same(
    found: &BTreeMap<PathBuf, Vec<u8>>,
    expected: &BTreeMap<PathBuf, Vec<u8>>,
    what: &str,
) {
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>(),
        "{what}"
    );
    for (name, bytes) in found {
        assert!(
            *bytes == expected[name],
            "{what}: {} differs",
            name.display()
        );
    }
}

/// A process that ends with the test, and the lines of its log.
pub struct Process {
    child: Child,
    lines: Receiver<Value>,
    heard: Vec<Value>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sordino-cluster"));
        command.args(arguments).args(["--log", "json"]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let said = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Process {
            child,
            lines,
            heard: Vec::new(),
        }
    }

    /// Waits for a line of the log.
    pub fn until(&mut self, what: &str, is: impl Fn(&Value) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("{what} did not happen: {:#?}", self.heard));
            let found = is(&line);
            self.heard.push(line);
            if found {
                return;
            }
        }
    }

    pub fn until_round(&mut self, round: u64) {
        self.until(&format!("round {round}"), |line| {
            line["round"].as_u64().is_some_and(|there| there >= round)
        });
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended by itself: its exit code and everything it said.
    pub fn ended(mut self) -> (Option<i32>, Vec<Value>) {
        let end = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(
                Instant::now() < end,
                "a process did not end within {PATIENCE:?}: {:#?}",
                self.heard
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let code = self.child.wait().unwrap().code();
        self.heard.extend(self.lines.iter());
        (code, std::mem::take(&mut self.heard))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A cluster of one test: an endpoint, a folder, a scenario.
pub struct Cluster {
    pub endpoint: String,
    pub out: PathBuf,
    scenario: Vec<String>,
}

impl Cluster {
    pub fn new(out: PathBuf, scenario: &[&str]) -> Cluster {
        Cluster {
            endpoint: endpoint(),
            out,
            scenario: scenario.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    pub fn head(&self, workers: usize, more: &[&str]) -> Process {
        let workers = workers.to_string();
        let out = self.out.to_str().unwrap();
        let mut words = vec!["cluster"];
        words.extend(self.scenario.iter().map(String::as_str));
        words.extend([
            "--listen",
            &self.endpoint,
            "--workers",
            &workers,
            "--out",
            out,
        ]);
        Process::start(&[&words, more].concat())
    }

    pub fn worker(&self, name: &str) -> Process {
        Process::start(&[
            "worker",
            "--connect",
            &self.endpoint,
            "--threads",
            "1",
            "--name",
            name,
        ])
    }

    pub fn workers(&self, count: usize) -> Vec<Process> {
        (0..count).map(|i| self.worker(&format!("w{i}"))).collect()
    }
}

/// The head is done, and so are all workers: with code 0.
pub fn all_done(head: Process, workers: impl IntoIterator<Item = Process>) -> Vec<Value> {
    let (code, said) = head.ended();
    assert_eq!(code, Some(0), "{said:#?}");
    for worker in workers {
        let (code, said) = worker.ended();
        assert_eq!(code, Some(0), "{said:#?}");
    }
    said
}

/// Milliseconds in which losses were made good, from the head's log.
pub fn recoveries(said: &[Value]) -> Vec<u64> {
    let messages = said.iter().filter_map(|line| line["message"].as_str());
    let of = |message: &str| {
        message
            .split("was made good in ")
            .nth(1)?
            .split(' ')
            .next()?
            .parse()
            .ok()
    };
    messages.filter_map(of).collect()
}
