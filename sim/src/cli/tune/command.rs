//! One run of the user's own command: parameters in, one number out, or what went wrong.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The end of the output that is kept: the score is its last line.
const TAIL: usize = 1 << 16;
/// How long descendants of a command that has ended may hold its output open.
const GRACE: Duration = Duration::from_secs(2);

/// Why a run gave no score.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The system could not start it.
    NotStarted(String),
    /// It ran longer than allowed and was killed, with everything it had started in its process group.
    TimeOut,
    /// It ended with this code; none if a signal ended it.
    Exit(Option<i32>),
    /// The last line of its output is no number, or there is none.
    NoNumber,
    /// The last line is NaN or infinite.
    NotFinite,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::NotStarted(error) => write!(f, "could not be started: {error}"),
            Failure::TimeOut => f.write_str("ran out of time and was killed"),
            Failure::Exit(Some(code)) => write!(f, "ended with exit code {code}"),
            Failure::Exit(None) => f.write_str("was ended by a signal"),
            Failure::NoNumber => f.write_str("ended without a number on the last line of its output"),
            Failure::NotFinite => f.write_str("ended with NaN or an infinity on the last line of its output"),
        }
    }
}

/// Runs `sh -c command` in a process group of its own.
///
/// **Parameters**: `input` goes to its standard input; `variables` into its environment; its standard error is thrown
/// away unless `show_errors`, because training programs tell scores there.
pub fn run(
    command: &str,
    input: &str,
    variables: &[(String, String)],
    time_max: Duration,
    show_errors: bool,
) -> Result<f64, Failure> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(if show_errors { Stdio::inherit() } else { Stdio::null() })
        .process_group(0)
        .spawn()
        .map_err(|error| Failure::NotStarted(error.to_string()))?;
    let start = Instant::now();
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // A command may ignore its input; whoever never reads must not block us.
        std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    let (sender, output) = mpsc::channel();
    if let Some(mut stdout) = child.stdout.take() {
        std::thread::spawn(move || drop(sender.send(tail(&mut stdout))));
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < time_max => std::thread::sleep(pause(start.elapsed())),
            _ => {
                kill(&mut child);
                return Err(Failure::TimeOut);
            }
        }
    };
    if !status.success() {
        return Err(Failure::Exit(status.code()));
    }
    let Ok(text) = output.recv_timeout(GRACE) else {
        // Something it started still holds the output open.
        kill(&mut child);
        return Err(Failure::TimeOut);
    };
    score(&text)
}

/// Short looks at first, longer ones for long commands.
fn pause(elapsed: Duration) -> Duration {
    (elapsed / 20).clamp(Duration::from_millis(2), Duration::from_millis(100))
}

/// Kills the whole process group, so that nothing a command started goes on. The group is the command's own.
fn kill(child: &mut Child) {
    let group = format!("kill -KILL -{}", child.id());
    let _ = Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
    let _ = child.wait();
}

fn tail(stdout: &mut impl Read) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 8192]);
    while let Ok(count) = stdout.read(&mut buffer) {
        if count == 0 {
            break;
        }
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 2 * TAIL {
            kept.drain(..kept.len() - TAIL);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The number on the last line that is not empty.
fn score(text: &str) -> Result<f64, Failure> {
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).ok_or(Failure::NoNumber)?;
    match last.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        Ok(_) => Err(Failure::NotFinite),
        Err(_) => Err(Failure::NoNumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Result<f64, Failure> {
        let variables = [("SORDINO_X".to_owned(), "0.25".to_owned())];
        run(command, "{\"x\":0.25}", &variables, Duration::from_secs(20), false)
    }

    #[test]
    fn a_score_is_the_last_line() {
        assert_eq!(of("echo epoch 1; echo 0.5; echo; echo ' 0.75 '; echo"), Ok(0.75));
        assert_eq!(of("echo $SORDINO_X"), Ok(0.25));
        assert_eq!(of("grep -o '0.25'"), Ok(0.25));
        assert_eq!(
            of(
                "i=0; while [ $i -lt 3000 ]; do echo 'a long line of a log, a long line of a log'; i=$((i+1)); done; echo 7"
            ),
            Ok(7.0)
        );
    }

    #[test]
    fn what_goes_wrong_has_a_name() {
        assert_eq!(of("exit 3"), Err(Failure::Exit(Some(3))));
        assert_eq!(of("echo 0.5; exit 1"), Err(Failure::Exit(Some(1))));
        assert_eq!(of("kill -KILL $$"), Err(Failure::Exit(None)));
        assert_eq!(of("echo nan"), Err(Failure::NotFinite));
        assert_eq!(of("echo -inf"), Err(Failure::NotFinite));
        assert_eq!(of("echo 0.5; echo done"), Err(Failure::NoNumber));
        assert_eq!(of("true"), Err(Failure::NoNumber));
        assert_eq!(of("printf '\\377\\376'"), Err(Failure::NoNumber));
        assert_eq!(of("no-such-program-at-all"), Err(Failure::Exit(Some(127))));
    }

    /// A command that hangs is killed with what it started: its child would write a file otherwise.
    #[test]
    fn a_hanging_command_is_killed_with_its_children() {
        let file = std::env::temp_dir().join(format!("sordino-hang-{}", std::process::id()));
        let command = format!("(sleep 2; echo alive > {}) & sleep 600", file.display());
        let hung = run(&command, "{}", &[], Duration::from_millis(300), false);
        assert_eq!(hung, Err(Failure::TimeOut));
        std::thread::sleep(Duration::from_secs(3));
        assert!(!file.exists());
    }

    #[test]
    fn endless_output_and_an_output_held_open_end_too() {
        assert_eq!(run("yes", "{}", &[], Duration::from_millis(300), false), Err(Failure::TimeOut));
        assert_eq!(of("sleep 600 & echo 1"), Err(Failure::TimeOut));
    }
}
