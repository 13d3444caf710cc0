//! Running commands and saying at the end what ran.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// No command may take longer: a hung emulator must not hang CI.
const LIMIT: Duration = Duration::from_secs(1800);
/// The environment's name of a whole run's end, in seconds after 1970: what is not over by then is
/// stopped, and what was to follow is not begun. `.ci/run` sets it, because who is stopped from
/// outside prints no table.
const END: &str = "SORDINO_XTASK_END";

struct Row {
    name: String,
    passed: bool,
    note: String,
    seconds: f64,
    /// Of processors, which a busy machine does not make more; nothing where it is not known.
    worked: Option<f64>,
}

/// What ran and how it ended.
#[derive(Default)]
pub struct Report(Vec<Row>);

impl Report {
    /// How a line of the table begins whose step failed.
    const FAILED: &str = "FAILED ";

    /// Runs one step and records it. `Ok` holds a note for the table, `Err` what went wrong.
    pub fn step(&mut self, name: &str, work: impl FnOnce() -> Result<String, String>) {
        println!("\n== {name}");
        let start = Instant::now();
        let before = worked();
        let (passed, note) = match work() {
            Ok(note) => (true, note),
            Err(error) => {
                println!("FAILED: {error}");
                (false, error.lines().next().unwrap_or_default().to_owned())
            }
        };
        self.0.push(Row {
            name: name.to_owned(),
            passed,
            note,
            seconds: start.elapsed().as_secs_f64(),
            worked: before.zip(worked()).map(|(before, after)| after - before),
        });
    }

    /// Prints the table and the closing line; failure if any step failed or none ran.
    pub fn finish(self) -> ExitCode {
        println!("\n{:<6} {:>7} {:>7}  step", "", "seconds", "of CPU");
        for row in &self.0 {
            let mark = if row.passed {
                "ok"
            } else {
                Self::FAILED.trim_end()
            };
            let note = if row.note.is_empty() {
                String::new()
            } else {
                format!(" ({})", row.note)
            };
            let worked = row
                .worked
                .map_or(String::new(), |worked| format!("{worked:.1}"));
            println!(
                "{mark:<6} {:>7.1} {worked:>7}  {}{note}",
                row.seconds, row.name
            );
        }
        let seconds: f64 = self.0.iter().map(|row| row.seconds).sum();
        println!("{:<6} {seconds:>7.1} {:>7}  all", "", "");
        let passed = self.0.iter().filter(|row| row.passed).count();
        let failed = self.0.len() - passed;
        println!("\n{passed} passed, {failed} failed");
        if failed == 0 && passed > 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// Seconds of processors that ended commands of this program have taken, with all that they had
/// started and waited for, what is built ahead among them. Linux says it in hundredths.
fn worked() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program stands in brackets and may hold anything: fields are counted from its
    // end, where the third begins.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(16 - 3);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}

/// Lowers the priority of this thread and of what it starts, where the system can.
pub fn step_aside() {
    let thread = std::fs::read_link("/proc/thread-self");
    if let Some(id) = thread.ok().as_deref().and_then(Path::file_name) {
        let mut renice = Command::new("renice");
        renice
            .args(["-n", "10", "-p"])
            .arg(id)
            .stdout(Stdio::null());
        // Without it the same work is done, less politely.
        let _ = renice.status();
    }
}

/// The folder of the workspace, wherever the command was called from.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

/// Where cargo puts what it builds.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Where tools of this repository are kept.
pub fn tools_folder() -> PathBuf {
    target_folder().join("tools")
}

/// `cargo` with these arguments, at the root.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// What the firmware printed on one target.
pub struct Output {
    /// The target triple.
    pub target: &'static str,
    /// Everything on standard output.
    pub text: String,
}

impl Output {
    /// What the firmware said at its end.
    pub fn last_line(&self) -> String {
        self.text
            .lines()
            .rev()
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned()
    }
}

/// Runs a command without standard input, shows its output as it comes and returns what it wrote to
/// standard output.
///
/// **Errors**: it cannot be started, ends with a code other than 0, or outlives the limit.
pub fn run(command: &mut Command) -> Result<String, String> {
    output_of(run_keeping(command))
}

/// As [`run`], for a command that is stopped after this time, with everything that it has started.
///
/// **Errors**: as [`run`]; the time, if it was not over by then.
pub fn run_within(limit: Duration, command: &mut Command) -> Result<String, String> {
    output_of(keeping(limit, command, true))
}

/// As [`run`], without showing an output that nobody reads.
///
/// **Errors**: as [`run`].
pub fn run_quietly(command: &mut Command) -> Result<String, String> {
    run_unseen(command.stderr(Stdio::null()))
}

/// As [`run`], with what it writes to standard error alone.
///
/// **Errors**: as [`run`].
pub fn run_unseen(command: &mut Command) -> Result<String, String> {
    output_of(keeping(LIMIT, command, false))
}

/// What a command wrote that did not fail.
fn output_of(ended: (String, Result<(), String>)) -> Result<String, String> {
    ended.1.map(|()| ended.0)
}

/// As [`run`], with the output also of a command that failed.
pub fn run_keeping(command: &mut Command) -> (String, Result<(), String>) {
    keeping(LIMIT, command, true)
}

fn keeping(limit: Duration, command: &mut Command, shown: bool) -> (String, Result<(), String>) {
    let line = describe(command);
    println!("$ {line}");
    match watch(limit, command, shown) {
        Ok((output, status)) if status.success() => (output, Ok(())),
        Ok((output, status)) => (output, Err(format!("{line}: {status}"))),
        Err(error) => (String::new(), Err(format!("{line}: {error}"))),
    }
}

/// How long a command may take that begins at a time, counted from 1970, if a whole run has an end.
fn left(end: Option<&OsStr>, now: Duration) -> Result<Duration, String> {
    let Some(end) = end else {
        return Ok(Duration::MAX);
    };
    let number = end.to_str().and_then(|end| end.parse().ok());
    let end = number.ok_or_else(|| format!("{END}: {end:?} is no number of seconds"))?;
    match Duration::from_secs(end).checked_sub(now) {
        Some(left) if !left.is_zero() => Ok(left),
        _ => Err(format!(
            "not begun: the time of the whole run is over ({END})"
        )),
    }
}

/// Stops a command and all that it has started: of `cargo test`, cargo alone would be stopped
/// otherwise, and what loops would loop on.
fn stop(child: &mut Child) {
    let all = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
    let all = all.map_or(String::new(), |all| {
        String::from_utf8_lossy(&all.stdout).into_owned()
    });
    let pairs: Vec<(&str, &str)> = all
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .map(|(process, parent)| (process, parent.trim()))
        .collect();
    let first = child.id().to_string();
    let mut found = vec![first.as_str()];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = pairs.iter().filter(|(_, of)| *of == parent);
        found.extend(children.map(|(process, _)| *process));
        next += 1;
    }
    let _ = Command::new("kill").arg("-KILL").args(&found).status();
    let _ = child.kill();
    let _ = child.wait();
}

/// Another command of this program that runs beside this one, with its output in a file until it
/// has ended.
pub struct Beside {
    name: &'static str,
    child: Child,
    output: PathBuf,
}

impl Beside {
    /// Starts `cargo xtask NAME`.
    ///
    /// **Errors**: it cannot be started, or its file not be written.
    pub fn start(name: &'static str) -> Result<Self, String> {
        let output = target_folder().join(format!("xtask-{name}.txt"));
        let file = std::fs::File::create(&output);
        let file = file.map_err(|error| format!("{}: {error}", output.display()))?;
        let both = file.try_clone().and_then(|other| {
            let program = std::env::current_exe()?;
            Command::new(program)
                .arg(name)
                .stdin(Stdio::null())
                .stdout(other)
                .stderr(file)
                .spawn()
        });
        let child = both.map_err(|error| format!("cargo xtask {name}: {error}"))?;
        Ok(Self {
            name,
            child,
            output,
        })
    }

    /// Waits for its end and prints its output; what its table says of the steps that failed, or
    /// how many there were.
    ///
    /// **Errors**: as those of [`run`]; one step failed.
    pub fn ended(mut self) -> Result<String, String> {
        // Each of its commands has a limit, so it ends by itself.
        let status = self.child.wait();
        let said = std::fs::read(&self.output).map_or(String::new(), |bytes| {
            String::from_utf8_lossy(&bytes).into_owned()
        });
        println!("$ cargo xtask {}\n{said}", self.name);
        let last = said.lines().last().unwrap_or_default();
        match status {
            Ok(status) if status.success() => Ok(last.to_owned()),
            Ok(status) => {
                let failed = said.lines().filter(|line| line.starts_with(Report::FAILED));
                let rows: Vec<&str> = failed.collect();
                Err(format!("{last}; {status}; {}", rows.join("; ")))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

fn watch(
    limit: Duration,
    command: &mut Command,
    shown: bool,
) -> Result<(String, ExitStatus), String> {
    let end = std::env::var_os(END);
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let limit = limit.min(left(end.as_deref(), since)?);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start: {error}"))?;
    let stdout = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut all = String::new();
        for bytes in stdout
            .into_iter()
            .flat_map(|out| BufReader::new(out).split(b'\n'))
            .map_while(Result::ok)
        {
            let text = String::from_utf8_lossy(&bytes);
            if shown {
                // A closed terminal is no reason to stop the run.
                let _ = writeln!(std::io::stdout(), "{text}");
            }
            all.push_str(&text);
            all.push('\n');
        }
        all
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                stop(&mut child);
                return Err(format!(
                    "not over within {} s; stopped, with all that it had started",
                    limit.as_secs()
                ));
            }
            Err(error) => return Err(error.to_string()),
        }
    };
    Ok((reader.join().unwrap_or_default(), status))
}

/// The text of a file; an error names the file.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The number of tests before a word of a line; 0 if there is none.
fn tests_before(line: &str, word: &str) -> u32 {
    let before = line.split(word).next().unwrap_or_default();
    before
        .trim_end()
        .rsplit(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// The sum of the numbers before a word in the `test result:` lines of `cargo test`.
fn summed(output: &str, word: &str) -> u32 {
    let lines = output.lines();
    let results = lines.filter(|line| line.starts_with("test result:"));
    results.map(|line| tests_before(line, word)).sum()
}

/// Whether a test passed, by the output of `cargo test`.
pub fn has_passed(output: &str, name: &str) -> bool {
    let passed = format!("test {name} ... ok");
    output.lines().any(|line| line == passed)
}

/// How many tests of `cargo test` failed, as its programs count them.
pub fn count_failed(output: &str) -> u32 {
    summed(output, "failed")
}

/// How many tests of `cargo test` passed and were ignored, in words.
pub fn count_tests(output: &str) -> String {
    let passed = summed(output, "passed");
    let ignored = summed(output, "ignored");
    if ignored == 0 {
        format!("{passed} tests")
    } else {
        format!("{passed} tests, {ignored} ignored")
    }
}

/// A test that failed.
#[derive(Debug, PartialEq)]
pub struct FailedTest<'a> {
    /// Its name, with its modules.
    pub name: &'a str,
    /// The beginning of what it said where it panicked, in one line.
    pub said: String,
}

/// The tests that failed, from the output of `cargo test`.
pub fn failed_tests(output: &str) -> Vec<FailedTest<'_>> {
    let failed = output.lines().filter_map(|line| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        let all = output.split_once(&format!("---- {name} stdout ----\n"));
        let said = all.map_or("", |(_, said)| said).lines();
        let said = said.take_while(|line| !line.starts_with("---- "));
        let said: Vec<&str> = said.map(str::trim).collect();
        let panicked = said.iter().position(|line| line.contains("panicked at"));
        // Without a panic, the test is of a harness of its own.
        let said = said.iter().skip(panicked.unwrap_or(0)).take(3).copied();
        let said: Vec<&str> = said.collect();
        Some(FailedTest {
            name,
            said: said.join(" ").chars().take(400).collect(),
        })
    });
    failed.collect()
}

/// Names of tests and what they said, for the table: of a long run often its last lines alone are
/// left.
pub fn told(failed: &[FailedTest<'_>]) -> String {
    let each = failed
        .iter()
        .map(|test| format!("{}: {}", test.name, test.said));
    each.collect::<Vec<String>>().join("; ")
}

fn describe(command: &Command) -> String {
    let mut words = Vec::new();
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!(
                "{}={:?}",
                key.to_string_lossy(),
                value.to_string_lossy()
            ));
        }
    }
    let program = Path::new(command.get_program());
    words.push(
        program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    );
    words.extend(
        command
            .get_args()
            .map(|argument| argument.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn who_steps_aside_does_it_alone() {
        let nice = || {
            run_quietly(&mut Command::new("nice"))
                .unwrap()
                .trim()
                .parse::<i32>()
        };
        let before = nice().unwrap();
        let aside = thread::spawn(move || {
            step_aside();
            nice().unwrap()
        });
        assert!(aside.join().unwrap() >= 10);
        assert_eq!(nice().unwrap(), before);
    }

    #[test]
    fn counts_the_tests_of_several_binaries() {
        let output = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\nx\ntest result: ok. 3 passed; 0 failed; 0 ignored;\n";
        assert_eq!(count_tests(output), "15 tests, 1 ignored");
    }

    #[test]
    fn names_the_tests_that_failed() {
        let output = "test a::b ... FAILED\ntest c ... ok\n\nfailures:\n\n---- a::b stdout ----\n\n\
                      thread 'a::b' (7) panicked at x.rs:1:2:\nassertion failed: no\nnote: run\n";
        assert_eq!(
            told(&failed_tests(output)),
            "a::b: thread 'a::b' (7) panicked at x.rs:1:2: assertion failed: no note: run"
        );
        let unharnessed = "test a.md ... FAILED\n\n---- a.md stdout ----\na.md:3: ends with 2\n";
        assert_eq!(
            told(&failed_tests(unharnessed)),
            "a.md: a.md:3: ends with 2"
        );
        assert_eq!(failed_tests("test c ... ok\n"), []);
    }

    /// A doctest looped for an hour: cargo was stopped, and what cargo had started was not.
    #[test]
    fn what_a_command_has_started_is_over_with_it() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).env("LC_ALL", "C");
            command
        };
        // The number of the process, and then a wait for it that nobody would sit out.
        let start = Instant::now();
        let file = std::env::temp_dir().join(format!("sordino-xtask-{}", std::process::id()));
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let error = run_within(Duration::from_secs(1), &mut shell(&script)).unwrap_err();
        assert!(
            error.contains("not over within 1 s") && error.contains("sleep 600"),
            "{error}"
        );
        assert!(start.elapsed() < Duration::from_secs(60));
        let started = std::fs::read_to_string(&file).unwrap();
        let stat =
            |id: &str| std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // It is gone, or dead and not yet buried.
        while stat(started.trim()).contains("(sleep)") && !stat(started.trim()).contains(") Z") {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "process {started} runs on"
            );
            thread::sleep(Duration::from_millis(10));
        }
        std::fs::remove_file(file).unwrap();
        // In time, it is as without a limit.
        assert_eq!(
            run_within(Duration::from_secs(60), &mut shell("echo done")).unwrap(),
            "done\n"
        );
        let error = run_within(Duration::from_secs(60), &mut shell("exit 3")).unwrap_err();
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn a_run_that_has_an_end_begins_nothing_after_it() {
        let at = |end: &str, now| left(Some(OsStr::new(end)), Duration::from_secs(now));
        assert_eq!(left(None, Duration::MAX), Ok(Duration::MAX));
        assert_eq!(at("70", 60), Ok(Duration::from_secs(10)));
        assert!(at("70", 70).is_err_and(|error| error.contains("not begun")));
        assert!(at("70", 71).is_err());
        assert!(at("soon", 0).is_err_and(|error| error.contains("soon")));
    }

    #[test]
    fn what_commands_have_worked_is_known_when_they_end() {
        let loops = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let before = worked().unwrap();
        run(Command::new("sh").args(["-c", loops])).unwrap();
        assert!(worked().unwrap() > before);
    }

    #[test]
    fn a_failing_command_is_an_error() {
        assert!(run(&mut cargo(&["no-such-command"])).is_err());
    }
}
