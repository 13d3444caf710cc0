//! A server as a process of its own, agents as tasks of the test. Loopback only; every wait has an
//! end, and so has every test: [`bounded`].

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sordino_core::random::RunSeed;
use sordino_net::agent::HostAgent;
use sordino_net::invitation::Invitation;
use sordino_net::join::{JoinError, Joined, Joining, join};
use sordino_net::party::{Draws, Served as _};
use sordino_net::terms::Terms;

/// No test waits longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// No test lasts longer, whatever it waits for;
const LIMIT: Duration = Duration::from_secs(180);
/// a flood that was asked for by `SORDINO_BODIES`, or a crowd by `SORDINO_SHARE_AGENTS`, no longer
/// than this.
const LIMIT_OF_A_FLOOD: Duration = Duration::from_secs(3600);

/// Processes that were started and not waited for.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn running(change: impl FnOnce(&mut Vec<u32>)) {
    change(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
}

/// A test that ends: after 180 s its processes are killed and the whole program of tests fails, by
/// the name of the test. A task that never yields, which keeps a runtime from being dropped, is
/// stopped in no other way.
pub fn bounded(body: impl FnOnce() + Send + 'static) {
    let (running_on, over) = channel::<()>();
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let thread = std::thread::Builder::new()
        .name(name.clone())
        .spawn(move || {
            let _until_here = running_on;
            body();
        });
    let thread = thread.unwrap();
    let is_asked_for = ["SORDINO_BODIES", "SORDINO_SHARE_AGENTS"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    let limit = if is_asked_for {
        LIMIT_OF_A_FLOOD
    } else {
        LIMIT
    };
    if over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
        running(|children| {
            for child in children.iter() {
                drop(
                    Command::new("kill")
                        .args(["-9", &child.to_string()])
                        .status(),
                );
            }
        });
        // Past what libtest captures.
        drop(std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("{name}: not over within {limit:?}\n").as_bytes(),
        ));
        std::process::exit(101);
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A process that ends with the test, at the latest.
pub struct Process(Child);

impl Process {
    pub fn start(mut command: Command) -> Process {
        let child = command.spawn().unwrap();
        running(|children| children.push(child.id()));
        Process(child)
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&mut self) {
        let id = self.0.id();
        running(|children| children.retain(|child| *child != id));
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// How it ended by itself, within the patience.
    pub fn ended(mut self) -> ExitStatus {
        let start = Instant::now();
        while !self.is_over() {
            assert!(
                start.elapsed() < PATIENCE,
                "a process did not end within {PATIENCE:?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        self.0.wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A folder of a test, empty, and removed when it is dropped.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        // In memory where there is such a folder: a server syncs about ten times in a round, and on
        // a disk that others keep busy a sync takes longer than the deadlines of these tests.
        let memory = PathBuf::from("/dev/shm");
        let root = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let path = root.join(format!("sordino-net-{name}-{}", std::process::id()));
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
    command.args(arguments).stdin(Stdio::null());
    // Nothing of a test is counted among what this user's data gave.
    if let Some(at) = arguments
        .iter()
        .position(|argument| *argument == "--folder")
    {
        command.env("XDG_STATE_HOME", format!("{}.state", arguments[at + 1]));
    }
    command
}

/// What a short command says.
pub fn said(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// A private federation that is small and quick: `agents` agents in single precision.
pub struct Federation {
    pub place: Place,
    pub agents: u32,
    arguments: Vec<String>,
}

impl Federation {
    /// With these further arguments of `serve`, and rounds that go by the clock whoever is there:
    /// what a server waits for has tests of its own.
    pub fn new(name: &str, agents: u32, rounds: u32, more: &[&str]) -> Federation {
        Federation::waiting(
            name,
            agents,
            rounds,
            &[more, &["--min-agents", "0"]].concat(),
        )
    }

    /// With these further arguments of `serve` and no others.
    pub fn waiting(name: &str, agents: u32, rounds: u32, more: &[&str]) -> Federation {
        let place = Place::new(name);
        let mut arguments = served(&place, "firmware");
        for setting in [
            format!("federation.agents={agents}"),
            format!("federation.rounds={rounds}"),
            "federation.initial_points=2".into(),
            "surrogate.features=16".into(),
            "privacy.max_epsilon=100".into(),
            "privacy.delta=0.00001".into(),
        ] {
            // A key is set once: what is asked for takes the place of what is usual here.
            let key = setting.split_inclusive('=').next().unwrap_or_default();
            if !more.iter().any(|asked| asked.starts_with(key)) {
                arguments.extend(["--set".into(), setting]);
            }
        }
        arguments.extend(["--ask-again".into(), "200ms".into()]);
        if !more.contains(&"--delay") {
            arguments.extend(["--delay".into(), "1ms".into()]);
        }
        arguments.extend(more.iter().map(|argument| argument.to_string()));
        Federation {
            place,
            agents,
            arguments,
        }
    }

    /// A campaign that searches this space, with these further arguments of `serve`.
    pub fn campaign(name: &str, agents: u32, space: &str, more: &[&str]) -> Federation {
        let place = Place::new(name);
        let path = place.0.join("space.toml");
        std::fs::write(&path, space).unwrap();
        let mut arguments = served(&place, &path.display().to_string());
        arguments
            .extend(["--agents", &agents.to_string(), "--ask-again", "200ms"].map(String::from));
        arguments.extend(more.iter().map(|argument| argument.to_string()));
        Federation {
            place,
            agents,
            arguments,
        }
    }

    /// Where it listens.
    pub fn listens(&self) -> String {
        let at = self
            .arguments
            .iter()
            .position(|argument| argument == "--listen")
            .unwrap();
        self.arguments[at + 1].clone()
    }

    /// Starts the server, which may be running for a moment before it listens; what it says goes to
    /// a file.
    pub fn serve(&self) -> Process {
        self.serve_as(program(&[]))
    }

    /// Starts it with these further arguments.
    pub fn serve_and(&self, more: &[&str]) -> Process {
        let more = more.iter().map(|argument| argument.to_string());
        let arguments: Vec<String> = self.arguments.iter().cloned().chain(more).collect();
        self.start(program(&[]), &arguments)
    }

    /// Starts it with this program in front of its arguments.
    pub fn serve_as(&self, command: Command) -> Process {
        self.start(command, &self.arguments)
    }

    /// The same with another value of an option that it has.
    pub fn serve_with(&self, command: Command, [option, value]: &[&str; 2]) -> Process {
        let mut arguments = self.arguments.clone();
        let at = arguments
            .iter()
            .position(|argument| argument == option)
            .unwrap();
        arguments[at + 1] = value.to_string();
        self.start(command, &arguments)
    }

    fn start(&self, mut command: Command, arguments: &[String]) -> Process {
        let log = || {
            File::options()
                .create(true)
                .append(true)
                .open(self.log())
                .unwrap()
        };
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log());
        Process::start(command)
    }

    /// The command of its server.
    pub fn command_of(&self) -> Command {
        let mut command = program(&[]);
        command.args(&self.arguments);
        command
    }

    fn log(&self) -> PathBuf {
        self.place.0.join("server.log")
    }

    /// Everything that servers said so far.
    pub fn heard(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap()
    }

    /// Starts a server that must refuse: its last line.
    pub fn refused(&self) -> String {
        let status = self.serve().ended();
        assert_eq!(status.code(), Some(1), "{}", self.heard());
        self.heard().lines().last().unwrap_or_default().to_owned()
    }

    /// Waits until the server has begun its folder, then invites everybody.
    pub fn invite(&self) -> Vec<Invitation> {
        let start = Instant::now();
        while !self.place.server().join("round.bin").exists() {
            assert!(
                start.elapsed() < PATIENCE,
                "the server did not begin: {}",
                self.heard()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let folder = self.place.server().display().to_string();
        let range = format!("0..{}", self.agents);
        let output = said(&["invite", &folder, "--agents", &range]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let lines = String::from_utf8(output.stdout).unwrap();
        let invitations: Vec<Invitation> =
            lines.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(invitations.len(), self.agents as usize);
        invitations
    }

    pub fn command(&self, name: &str) -> Output {
        said(&[name, &self.place.server().display().to_string()])
    }

    /// What `replay` says of the folder, which must be whole.
    pub fn replay(&self) -> String {
        let output = self.command("replay");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        said
    }

    /// The terms that an agent fetched.
    pub fn terms(&self, invitation: &Invitation) -> Terms {
        let bytes = std::fs::read(self.joining(invitation).folder.join("terms.bin")).unwrap();
        Terms::from_bytes(&bytes, Some(&invitation.terms)).unwrap()
    }

    /// Whether the agent has written anything down.
    pub fn has_begun(&self, invitation: &Invitation) -> bool {
        self.joining(invitation).folder.join("agent.bin").is_file()
    }

    /// The agent as its file has it.
    pub fn agent(&self, invitation: &Invitation) -> HostAgent<f32, Draws<f32>> {
        let shared = Draws::new(&self.terms(invitation)).unwrap();
        let file = self.joining(invitation).folder.join("agent.bin");
        assert!(self.has_begun(invitation));
        HostAgent::open(&shared, invitation.slot, RunSeed::new(0, 0), Some(file)).unwrap()
    }

    /// Rounds that the agent gave an upload to, as its file has it.
    pub fn given(&self, invitation: &Invitation) -> Vec<u32> {
        self.agent(invitation).given().to_vec()
    }

    /// Takes part as an agent with a quick function.
    pub fn joining(&self, invitation: &Invitation) -> Joining {
        let folder = self.place.0.join(format!("agent-{}", invitation.slot));
        Joining {
            invitation: invitation.clone(),
            folder,
            certified: None,
            epsilon_max: Some(100.0),
            asked: None,
            delta_max: None,
            evaluations: None,
            data: None,
            wait: Duration::from_secs(5),
            give_up: None,
        }
    }

    /// Waits for the death of a server: until a frame more is whole if it `gets_on`, and then for a
    /// while. True when the `last` frame is there, after which nobody may die: agents that have it
    /// are gone.
    pub fn lives(&self, last: u32, gets_on: bool, longer: Duration) -> bool {
        let folder = self.place.server();
        let last = folder.join(format!("frames/{last:06}.frame"));
        let before = whole_frames(&folder);
        let start = Instant::now();
        while gets_on && whole_frames(&folder) == before && !last.exists() {
            assert!(
                start.elapsed() < PATIENCE,
                "the server does not get on: {}",
                self.heard()
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(longer);
        last.exists()
    }
}

/// The arguments of a server of this scenario or space, in a folder of this place.
fn served(place: &Place, what: &str) -> Vec<String> {
    let folder = place.server().display().to_string();
    let counter = place.0.join("counter").display().to_string();
    let listen = format!("127.0.0.1:{}", free_port());
    [
        "serve",
        what,
        "--folder",
        &folder,
        "--counter",
        &counter,
        "--listen",
        &listen,
    ]
    .map(String::from)
    .into()
}

/// How many frames a server's folder has, those that are being written left out; none before there
/// is a folder.
pub fn whole_frames(folder: &Path) -> usize {
    let Ok(files) = std::fs::read_dir(folder.join("frames")) else {
        return 0;
    };
    files
        .filter(|file| {
            file.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|end| end == "frame")
        })
        .count()
}

/// A quick function of one input.
pub async fn take_part(joining: Joining) -> Result<Joined, JoinError> {
    join(&joining, |query| {
        std::future::ready(Ok(1.0 - (query.point[0] - 0.3).powi(2)))
    })
    .await
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
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &place);
        } else {
            std::fs::copy(&path, &place).unwrap();
        }
    }
}
