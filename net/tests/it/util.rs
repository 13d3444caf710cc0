//! A server as a process of its own, agents as tasks of the test. Loopback only; every wait has an end.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use sordino_net::invitation::Invitation;
use sordino_net::join::{JoinError, Joined, Joining, join};

/// No test waits longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A folder of a test, empty, and removed when it is dropped.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("sordino-net-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    pub fn server(&self) -> PathBuf {
        self.0.join("server")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino-net"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// A private federation that is small and quick: `agents` agents in single precision.
pub struct Federation {
    pub place: Place,
    pub agents: u32,
    arguments: Vec<String>,
}

impl Federation {
    /// With these further arguments of `serve`.
    pub fn new(name: &str, agents: u32, rounds: u32, more: &[&str]) -> Federation {
        let (place, port) = (Place::new(name), free_port());
        let folder = place.server().display().to_string();
        let counter = place.0.join("counter").display().to_string();
        let mut arguments: Vec<String> =
            ["serve", "firmware", "--folder", &folder, "--counter", &counter].map(String::from).into();
        arguments.extend(["--listen".into(), format!("127.0.0.1:{port}")]);
        for setting in [
            format!("federation.agents={agents}"),
            format!("federation.rounds={rounds}"),
            "federation.initial_points=2".into(),
            "surrogate.features=16".into(),
            "privacy.max_epsilon=100".into(),
            "privacy.delta=0.00001".into(),
        ] {
            arguments.extend(["--set".into(), setting]);
        }
        arguments.extend(["--ask-again".into(), "200ms".into(), "--delay".into(), "1ms".into()]);
        arguments.extend(more.iter().map(|argument| argument.to_string()));
        Federation { place, agents, arguments }
    }

    /// Starts the server; it may be running for a moment before it listens.
    pub fn serve(&self) -> Child {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        program(&arguments).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Starts the server and gives what it says when it has ended.
    pub fn serve_to_end(&self) -> Output {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        ended(program(&arguments).spawn().unwrap())
    }

    /// Waits until the server has begun its folder, then invites everybody.
    pub fn invite(&self) -> Vec<Invitation> {
        let start = Instant::now();
        while !self.place.server().join("round.bin").exists() {
            assert!(start.elapsed() < PATIENCE, "the server did not begin");
            std::thread::sleep(Duration::from_millis(10));
        }
        let folder = self.place.server().display().to_string();
        let range = format!("0..{}", self.agents);
        let output = ended(program(&["invite", &folder, "--agents", &range]).spawn().unwrap());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        let invitations: Vec<Invitation> = lines.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(invitations.len(), self.agents as usize);
        invitations
    }

    pub fn command(&self, name: &str) -> Output {
        ended(program(&[name, &self.place.server().display().to_string()]).spawn().unwrap())
    }

    /// Takes part as an agent with a quick function.
    pub fn joining(&self, invitation: &Invitation) -> Joining {
        let folder = self.place.0.join(format!("agent-{}", invitation.slot));
        Joining { invitation: invitation.clone(), folder, epsilon_max: None, wait: Duration::from_secs(5) }
    }
}

/// A quick function of one input.
pub async fn take_part(joining: Joining) -> Result<Joined, JoinError> {
    join(&joining, |query| std::future::ready(Ok(1.0 - (query.point[0] - 0.3).powi(2)))).await
}

/// Waits for a process, within the patience, and gives what it said.
pub fn ended(mut child: Child) -> Output {
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                child.kill().unwrap();
                panic!("a process did not end within {PATIENCE:?}");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    if let Some(mut out) = child.stdout.take() {
        out.read_to_end(&mut stdout).unwrap();
    }
    if let Some(mut err) = child.stderr.take() {
        err.read_to_end(&mut stderr).unwrap();
    }
    Output { status, stdout, stderr }
}

/// Whether any file below the folder holds these bytes.
pub fn holds(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        // A file may be renamed under us.
        std::fs::read(&path).is_ok_and(|all| all.windows(bytes.len()).any(|window| window == bytes))
    })
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
