//! One run of the user's own command: parameters in, the last line of its output out, or what went
//! wrong.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::stop::Stop;
use crate::watch::Watch;
use crate::words::{Words, how, said};

/// The end of the output that is kept: the score is its last line.
const TAIL: usize = 1 << 16;
/// How long the descendants of a command that has ended may hold its output open, and how long a
/// command that is asked to end may take.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last line of a command that has ended may be on its way.
const HUSH: Duration = Duration::from_millis(20);

/// Why a run gave no score.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The system could not start it.
    #[error("could not be started: {0}")]
    NotStarted(String),
    /// It ran longer than allowed and was killed, with everything it had started in its process
    /// group.
    #[error("ran out of time and was killed")]
    TimeOut,
    /// It ended with this code; none if a signal ended it.
    #[error("{}{}", how(.code), said(.words))]
    Exit {
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// Last line of its standard error, where that is quoted.
        words: String,
    },
    /// The last line of its output is not a number, or is missing.
    #[error("ended without a number on the last line of its output")]
    NoNumber,
    /// The last line is NaN or infinite.
    #[error("ended with NaN or an infinity on the last line of its output")]
    NotFinite,
    /// The last line has too few decimals for what was promised.
    #[error(
        "ended with a score of {found} decimals where {needed} are needed: print a fixed number of them, zeros included"
    )]
    Decimals {
        /// Decimals found; trailing zeros count.
        found: i64,
        /// Decimals needed.
        needed: u32,
    },
    /// The last line is not `COUNT/RECORDS` with the promised number of records.
    #[error("ended without COUNT/{records} on the last line of its output")]
    NoFraction {
        /// The promised number.
        records: u32,
    },
    /// It was stopped on request.
    #[error("was interrupted")]
    Interrupted,
}

impl Failure {
    /// The system could not start it, or not wait for it.
    fn not_started(error: std::io::Error) -> Self {
        Failure::NotStarted(error.to_string())
    }
}

/// One run of the command: what is run, with which input, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Run by `sh -c`.
    pub command: &'a str,
    /// Goes to its standard input.
    pub input: &'a str,
    /// Go into its environment, beside our own.
    pub variables: &'a [(String, String)],
    /// How long it may take.
    pub time_max: Duration,
    /// What becomes of its standard error.
    pub errors: Errors,
}

/// What becomes of a command's standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// It is discarded, because training programs print scores there.
    Discarded,
    /// It goes where ours goes.
    Shown,
    /// Its last line is quoted if the command fails.
    Quoted,
}

/// Runs a command in a process group of its own, which ends with it, and with our process, however
/// that ends; gives the last line of its standard output that is not empty.
///
/// The command stays unreaped until its group was killed: until then the system gives the group's
/// number to nobody else. What leaves the group (`setsid`) is out of reach.
///
/// **Errors**: [`Failure`].
pub fn run(job: &Job<'_>, stop: &Stop) -> Result<String, Failure> {
    let mut child = Command::new("sh")
        .args(["-c", job.command])
        .envs(job.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(match job.errors {
            Errors::Shown => Stdio::inherit(),
            Errors::Discarded => Stdio::null(),
            Errors::Quoted => Stdio::piped(),
        })
        .process_group(0)
        .spawn()
        .map_err(Failure::not_started)?;
    let group = Pid::from_child(&child);
    // It ends the group, at the latest when this function returns.
    let mut watch = match Watch::over(group) {
        Ok(watch) => watch,
        Err(error) => {
            end(&mut child, group).map_err(Failure::not_started)?;
            return Err(Failure::not_started(error));
        }
    };
    let start = Instant::now();
    if let Some(mut stdin) = child.stdin.take() {
        let input = job.input.to_owned();
        // A command may ignore its input; one that never reads must not block us.
        std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    let (sender, output) = mpsc::channel();
    if let Some(mut stdout) = child.stdout.take() {
        std::thread::spawn(move || drop(sender.send(tail(&mut stdout))));
    }
    let words = child.stderr.take().map(Words::of);
    let ended = wait(group, start, job.time_max, stop);
    let text = match ended {
        // Descendants may hold the output open for a moment.
        Ok(()) => output.recv_timeout(GRACE).ok(),
        Err(Failure::Interrupted) => {
            ask_to_end(group, &mut watch, &output, stop);
            None
        }
        Err(_) => None,
    };
    let status = end(&mut child, group).map_err(Failure::not_started)?;
    ended?;
    if !status.success() {
        // Its group is gone, and its last line may still be on its way.
        let words = words.map_or(String::new(), |words| words.last_after(HUSH));
        return Err(Failure::Exit {
            code: status.code(),
            words,
        });
    }
    // Something it had started still held the output open.
    let text = text.ok_or(Failure::TimeOut)?;
    let last = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    last.map(str::to_owned).ok_or(Failure::NoNumber)
}

/// Waits for the end of a command, which stays unreaped.
fn wait(command: Pid, start: Instant, time_max: Duration, stop: &Stop) -> Result<(), Failure> {
    loop {
        if has_ended(command) {
            return Ok(());
        }
        if stop.wishes() > 0 {
            return Err(Failure::Interrupted);
        }
        if start.elapsed() >= time_max {
            return Err(Failure::TimeOut);
        }
        std::thread::sleep(pause(start.elapsed()));
    }
}

fn has_ended(command: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // An error means that there is nothing to wait for.
    !matches!(
        waitid(WaitId::Pid(command), look),
        Ok(None) | Err(rustix::io::Errno::INTR)
    )
}

/// Lets a command clean up, with everything that it has started, unless a stop is requested twice:
/// the shell that runs it may end at once where the program that it has started does not.
fn ask_to_end(group: Pid, watch: &mut Watch, output: &Receiver<String>, stop: &Stop) {
    let start = Instant::now();
    while !watch.is_set() && start.elapsed() < GRACE {
        std::thread::sleep(pause(start.elapsed()));
    }
    // No such group: it has ended by itself.
    let _ = kill_process_group(group, Signal::TERM);
    let mut is_closed = false;
    while stop.wishes() < 2 && start.elapsed() < GRACE {
        is_closed |= !matches!(output.try_recv(), Err(TryRecvError::Empty));
        if has_ended(group) && !watch.has_company(group).unwrap_or(!is_closed) {
            return;
        }
        std::thread::sleep(pause(start.elapsed()));
    }
}

/// Kills what is left of the group, then reaps the command.
fn end(child: &mut Child, group: Pid) -> std::io::Result<std::process::ExitStatus> {
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()
}

/// Short looks at first, longer ones for long commands.
fn pause(elapsed: Duration) -> Duration {
    (elapsed / 20).clamp(Duration::from_millis(2), Duration::from_millis(100))
}

fn tail(stdout: &mut impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        match stdout.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => kept.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A pipe that cannot be read is at its end: the score is then missing or what came
            // before.
            Err(_) => return String::new(),
        }
        if kept.len() > 2 * TAIL {
            kept.drain(..kept.len() - TAIL);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::score::{Reading, Value};

    fn run_for(command: &str, time_max: Duration) -> Result<Value, Failure> {
        let variables = [("SORDINO_X".to_owned(), "0.25".to_owned())];
        let job = Job {
            command,
            input: "{\"x\":0.25}",
            variables: &variables,
            time_max,
            errors: Errors::Discarded,
        };
        Reading::Number.read(&run(&job, &Stop::never())?)
    }

    fn of(command: &str) -> Result<f64, Failure> {
        run_for(command, Duration::from_secs(20)).map(|value| match value {
            Value::Number(number) => number,
            Value::Count(_) => f64::NAN,
        })
    }

    #[test]
    fn a_score_is_the_last_line() {
        assert_eq!(
            of("echo epoch 1; echo 0.5; echo; echo ' 0.75 '; echo"),
            Ok(0.75)
        );
        assert_eq!(of("echo $SORDINO_X"), Ok(0.25));
        assert_eq!(of("grep -o '0.25'"), Ok(0.25));
        assert_eq!(
            of(
                "i=0; while [ $i -lt 3000 ]; do echo 'a long line of a log, a long line of a log'; i=$((i+1)); done; echo 7"
            ),
            Ok(7.0)
        );
    }

    fn exit(code: Option<i32>) -> Failure {
        let words = String::new();
        Failure::Exit { code, words }
    }

    #[test]
    fn the_last_line_of_what_failed_is_quoted_where_it_may_be() {
        let command = "echo first >&2; echo 'no such file' >&2; echo >&2; exit 3";
        let variables = [];
        let mut job = Job {
            command,
            input: "",
            variables: &variables,
            time_max: Duration::from_secs(20),
            errors: Errors::Quoted,
        };
        let said = run(&job, &Stop::never()).unwrap_err().to_string();
        assert_eq!(said, "ended with exit code 3; its last words: no such file");
        job.errors = Errors::Discarded;
        assert_eq!(run(&job, &Stop::never()), Err(exit(Some(3))));
    }

    #[test]
    fn what_goes_wrong_has_a_name() {
        assert_eq!(of("exit 3"), Err(exit(Some(3))));
        assert_eq!(of("echo 0.5; exit 1"), Err(exit(Some(1))));
        assert_eq!(of("kill -KILL $$"), Err(exit(None)));
        assert_eq!(of("echo nan"), Err(Failure::NotFinite));
        assert_eq!(of("echo -inf"), Err(Failure::NotFinite));
        assert_eq!(of("echo 0.5; echo done"), Err(Failure::NoNumber));
        assert_eq!(of("true"), Err(Failure::NoNumber));
        assert_eq!(of("printf '\\377\\376'"), Err(Failure::NoNumber));
        assert_eq!(of("no-such-program-at-all"), Err(exit(Some(127))));
    }

    /// A command that hangs is killed with what it started: its child would write a file otherwise.
    #[test]
    fn a_hanging_command_is_killed_with_its_children() {
        let file = std::env::temp_dir().join(format!("sordino-hang-{}", std::process::id()));
        let command = format!("(sleep 2; echo alive > {}) & sleep 600", file.display());
        let hung = run_for(&command, Duration::from_millis(300));
        assert_eq!(hung, Err(Failure::TimeOut));
        std::thread::sleep(Duration::from_secs(3));
        assert!(!file.exists());
    }

    #[test]
    fn endless_output_and_an_output_held_open_end_too() {
        assert_eq!(
            run_for("yes", Duration::from_millis(300)),
            Err(Failure::TimeOut)
        );
        assert_eq!(of("sleep 600 & echo 1"), Err(Failure::TimeOut));
    }

    /// Hygiene 15: the group was killed by a number that could already belong to another. And what
    /// a command leaves in the background ends with it, also if nobody waits for its output.
    #[test]
    fn the_group_ends_with_its_command() {
        let file = std::env::temp_dir().join(format!("sordino-left-{}", std::process::id()));
        let command = format!(
            "(sleep 2; echo alive > {}) >/dev/null 2>&1 & echo 1",
            file.display()
        );
        assert_eq!(of(&command), Ok(1.0));
        std::thread::sleep(Duration::from_secs(3));
        assert!(!file.exists());
    }

    #[test]
    fn a_command_that_is_asked_to_end_may_clean_up() {
        let file = std::env::temp_dir().join(format!("sordino-clean-{}", std::process::id()));
        let command = format!(
            "trap 'echo clean > {}; exit 0' TERM; sleep 600 & wait",
            file.display()
        );
        let job = Job {
            command: &command,
            input: "",
            variables: &[],
            time_max: GRACE * 10,
            errors: Errors::Discarded,
        };
        let stop = Stop::never();
        let wisher = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            wisher.wish();
        });
        assert_eq!(run(&job, &stop), Err(Failure::Interrupted));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "clean\n");
        std::fs::remove_file(&file).unwrap();
    }

    /// The shell that ran it ended at once, and what it had started was killed with it: only a
    /// command that had replaced the shell could clean up.
    #[test]
    fn a_program_that_is_asked_to_end_may_clean_up_after_its_shell_has_ended() {
        let name = format!("sordino-slow-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let script =
            "trap 'sleep 0.5; : >clean; exit 0' TERM; : >begun; while :; do sleep 0.05; done";
        std::fs::write(folder.join("slow.sh"), script).unwrap();
        let [begun, clean] = ["begun", "clean"].map(|name| folder.join(name));
        let cd = format!("cd {}", folder.display());
        for run_it in [
            "sh slow.sh",
            "exec sh slow.sh",
            "sh slow.sh >log 2>&1; cat log",
        ] {
            let command = format!("{cd} && {run_it}");
            let job = Job {
                command: &command,
                input: "",
                variables: &[],
                time_max: GRACE * 10,
                errors: Errors::Discarded,
            };
            let stop = Stop::never();
            std::thread::scope(|scope| {
                let run = scope.spawn(|| run(&job, &stop));
                wait_for(&begun);
                stop.wish();
                assert_eq!(run.join().unwrap(), Err(Failure::Interrupted));
            });
            assert!(clean.exists(), "{run_it}");
            for file in [&begun, &clean] {
                std::fs::remove_file(file).unwrap();
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// What a process that this test starts again is told: where to work.
    const FOLDER: &str = "SORDINO_TEST_COMMAND";

    /// Starts this test again, in a folder, as a process that a signal ends: the folder.
    fn again(test: &str, by: i32) -> std::path::PathBuf {
        let name = format!("sordino-command-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let name = format!("tune::command::tests::{test}");
        let output = Command::new(std::env::current_exe().unwrap())
            .args([&name, "--exact", "--nocapture"])
            .env(FOLDER, &folder)
            .output()
            .unwrap();
        let ended = std::os::unix::process::ExitStatusExt::signal(&output.status);
        assert_eq!(ended, Some(by), "{output:?}");
        folder
    }

    /// The folder of a process that a test has started; none in that test.
    fn is_again() -> Option<std::path::PathBuf> {
        std::env::var_os(FOLDER).map(std::path::PathBuf::from)
    }

    fn wait_for(file: &std::path::Path) {
        while !file.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn send(signal: Signal) {
        rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
    }

    /// A process that is killed runs no destructor: its command trained on without it.
    #[test]
    fn a_command_ends_with_a_process_that_is_killed() {
        if let Some(folder) = is_again() {
            let [begun, late] = ["begun", "late"].map(|name| folder.join(name));
            let command = format!(
                "touch {}; sleep 2; touch {}",
                begun.display(),
                late.display()
            );
            std::thread::spawn(move || run_for(&command, GRACE * 10));
            wait_for(&begun);
            // It was begun before it is watched.
            std::thread::sleep(Duration::from_millis(200));
            send(Signal::KILL);
        }
        let folder = again("a_command_ends_with_a_process_that_is_killed", 9);
        std::thread::sleep(Duration::from_millis(2500));
        assert!(folder.join("begun").exists());
        assert!(!folder.join("late").exists(), "it lives on");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// What asked the command to end, ended the watch: a second Ctrl-C left a command behind that
    /// does not end when asked.
    #[test]
    fn a_command_that_does_not_end_when_asked_ends_with_its_process() {
        if let Some(folder) = is_again() {
            let [begun, late] = ["begun", "late"].map(|name| folder.join(name));
            let command = format!(
                "trap '' TERM; touch {}; sleep 1.9; touch {}",
                begun.display(),
                late.display()
            );
            let job = Job {
                command: &command,
                input: "",
                variables: &[],
                time_max: GRACE * 10,
                errors: Errors::Discarded,
            };
            let stop = Stop::never();
            std::thread::scope(|scope| {
                scope.spawn(|| run(&job, &stop));
                wait_for(&begun);
                stop.wish();
                std::thread::sleep(GRACE / 4);
                send(Signal::KILL);
            });
        }
        let folder = again(
            "a_command_that_does_not_end_when_asked_ends_with_its_process",
            9,
        );
        std::thread::sleep(GRACE);
        assert!(folder.join("begun").exists());
        assert!(!folder.join("late").exists(), "it lives on");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Signals that are blocked are blocked in what is started too. A shell hides that, because it
    /// unblocks them in what it starts itself: here nothing is between.
    #[test]
    fn a_command_hears_what_asks_it_to_end() {
        if let Some(folder) = is_again() {
            let stop = Stop::on_signals().unwrap();
            let read = |command: &str| {
                let job = Job {
                    command,
                    input: "",
                    variables: &[],
                    time_max: GRACE * 10,
                    errors: Errors::Discarded,
                };
                run(&job, &stop)
            };
            if cfg!(target_os = "linux") {
                let blocked = read("exec grep SigBlk: /proc/self/status").unwrap();
                assert_eq!(blocked, "SigBlk:\t0000000000000000");
            }
            let [begun, clean] = ["begun", "clean"].map(|name| folder.join(name));
            let command = format!(
                "exec sh -c 'trap \"echo clean >{}; exit 0\" TERM; : >{}; while :; do :; done'",
                clean.display(),
                begun.display()
            );
            std::thread::scope(|scope| {
                let run = scope.spawn(|| read(&command));
                wait_for(&begun);
                send(Signal::TERM);
                assert_eq!(run.join().unwrap(), Err(Failure::Interrupted));
            });
            assert_eq!(stop.signal(), Some("SIGTERM"));
            // As the process that started it expects.
            send(Signal::KILL);
        }
        let folder = again("a_command_hears_what_asks_it_to_end", 9);
        let clean = std::fs::read_to_string(folder.join("clean"));
        assert_eq!(clean.unwrap(), "clean\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
