//! A user's program that is started once and asked many times: a line in, a line out.
//!
//! It runs under `sh -c` in a process group of its own, which ends with it, and with the process
//! that started it, however that ends. Its standard error is read, and the last line is quoted if
//! it fails; `PYTHONUNBUFFERED` is set, so that a Python program need not flush its answers.

use std::io::{BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::watch::Watch;
use crate::words::{LINE_MAX, WORDS_MAX, Words, how, next_line, said};

/// The most lines that wait to be read; a program that writes more is made to wait.
const LINES_MAX: usize = 16;
/// How long to listen, before every question, for lines that nobody asked for.
const HUSH: Duration = Duration::from_millis(1);
/// How long the last line of a program that has ended may be on its way.
const HUSH_OF_WORDS: Duration = Duration::from_millis(20);
/// How long a program whose output ended may take to end itself.
const GRACE: Duration = Duration::from_secs(2);

/// Why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The system could not start it.
    #[error("could not be started")]
    NotStarted(#[source] std::io::Error),
    /// It took longer than allowed and was killed.
    #[error(
        "gave no answer within {} s and was killed; does it flush its output after every line?{}",
        .seconds, said(.words)
    )]
    TimeOut {
        /// How long it may take, in seconds.
        seconds: f64,
        /// Last line of its standard error.
        words: String,
    },
    /// It ended instead of answering.
    #[error("{} instead of answering{}", how(.code), said(.words))]
    Ended {
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// Last line of its standard error.
        words: String,
    },
    /// It closed its standard input or output, so that no answer can come, and did not end.
    #[error("closed its input or output and goes on, instead of answering{}", said(.words))]
    Closed {
        /// Last line of its standard error.
        words: String,
    },
    /// The system does not say whether it ended.
    #[error("gave no answer, and the system does not say how it ended")]
    Unknown(#[source] std::io::Error),
    /// It wrote a line before it was asked: what it says next would be taken for the answer to
    /// another question.
    #[error(
        "wrote a line that nobody asked for: {line:?}; standard output holds one answer for each question, the rest goes to \
         standard error. Its answer before may be wrong as well"
    )]
    Unasked {
        /// The beginning of that line.
        line: String,
    },
    /// A line that does not end.
    #[error("answered with a line longer than {LINE_MAX} bytes, or with no text")]
    Line,
}

/// A program that was started. Dropping it kills it, with everything it started in its group.
#[derive(Debug)]
pub struct Program {
    child: Child,
    _watch: Watch,
    group: Pid,
    stdin: ChildStdin,
    lines: Receiver<String>,
    words: Words,
}

impl Program {
    /// Starts `sh -c command`.
    ///
    /// **Errors**: [`ProgramError::NotStarted`].
    pub fn start(command: &str) -> Result<Self, ProgramError> {
        let mut child = Command::new("sh")
            .args(["-c", command])
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(ProgramError::NotStarted)?;
        let group = Pid::from_child(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ProgramError::NotStarted(std::io::Error::other("no pipes")));
        };
        let watch = watched(&mut child, group).map_err(ProgramError::NotStarted)?;
        let (sender, lines) = mpsc::sync_channel(LINES_MAX);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            // Ends with the program's output, or when the asking side goes away.
            while let Some(line) = next_line(&mut reader) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let words = Words::of(stderr);
        Ok(Program {
            child,
            _watch: watch,
            group,
            stdin,
            lines,
            words,
        })
    }

    /// Sends one line and waits for one; empty lines are not answers.
    ///
    /// **Errors**: [`ProgramError`]; the program is of no use afterwards and should be dropped. A
    /// line that comes between question and answer is taken for the answer; the real answer is then
    /// refused, before the next question, as a line that nobody asked for.
    pub fn ask(&mut self, question: &str, time_max: Duration) -> Result<String, ProgramError> {
        let start = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(HUSH) {
            if !line.trim().is_empty() {
                return Err(ProgramError::Unasked {
                    line: line.trim().chars().take(WORDS_MAX).collect(),
                });
            }
        }
        let sent = self
            .stdin
            .write_all(format!("{question}\n").as_bytes())
            .and_then(|()| self.stdin.flush());
        if sent.is_err() {
            return Err(self.ended());
        }
        loop {
            let left = time_max.saturating_sub(start.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.len() as u64 >= LINE_MAX => return Err(ProgramError::Line),
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => return Ok(line.trim().to_owned()),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(ProgramError::TimeOut {
                        seconds: time_max.as_secs_f64(),
                        words: self.words.last(),
                    });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            }
        }
    }

    /// Its input or output is over: how it ended, once it has.
    fn ended(&mut self) -> ProgramError {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return ProgramError::Ended {
                        code: status.code(),
                        words: self.words.last_after(HUSH_OF_WORDS),
                    };
                }
                Ok(None) if start.elapsed() < GRACE => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => {
                    return ProgramError::Closed {
                        words: self.words.last(),
                    };
                }
                Err(error) => return ProgramError::Unknown(error),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // No such group: it has ended by itself.
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Starts what ends the group when our process has ended; without it there is no program.
fn watched(program: &mut Child, group: Pid) -> std::io::Result<Watch> {
    let watch = Watch::over(group);
    if watch.is_err() {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = program.wait();
    }
    watch
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn one_program_answers_many_questions() {
        let mut program =
            Program::start("n=0; while read x; do n=$((n+1)); echo; echo $n:$x; done").unwrap();
        for i in 1..200 {
            assert_eq!(program.ask("why", LONG).unwrap(), format!("{i}:why"));
        }
    }

    #[test]
    fn what_goes_wrong_is_named() {
        let ask = |command: &str, time_max| {
            Program::start(command)
                .unwrap()
                .ask("x", time_max)
                .unwrap_err()
                .to_string()
        };
        let said = ask("read x; echo 'no such file' >&2; exit 3", LONG);
        assert_eq!(
            said,
            "ended with exit code 3 instead of answering; its last words: no such file"
        );
        assert!(ask("kill -9 $$", LONG).contains("by a signal"));
        // No signal ends a program that closes its output and goes on.
        let closed = "read x; echo 'no more' >&2; exec 1>&-; exec sleep 60";
        assert_eq!(
            ask(closed, LONG),
            "closed its input or output and goes on, instead of answering; its last words: no more"
        );
        assert!(ask("sleep 60", Duration::from_millis(50)).contains("no answer within 0.05 s"));
        // It is asked before it writes, or found writing before it is asked.
        let endless = ask("head -c 100000 /dev/zero", LONG);
        assert!(
            endless.contains("longer than 65536 bytes") || endless.contains("nobody asked for"),
            "{endless}"
        );
    }

    /// A program that says more than its answers is found out before it is asked again, and fills
    /// no memory.
    #[test]
    fn a_line_that_nobody_asked_for_is_an_error() {
        // Both lines in one write, and time for the thread that reads them: on a busy machine it
        // may be late by itself.
        let mut program = Program::start("while read x; do printf '12345\\n.5\\n'; done").unwrap();
        assert_eq!(program.ask("1", LONG).unwrap(), "12345");
        std::thread::sleep(Duration::from_millis(500));
        let error = program.ask("2", LONG).unwrap_err().to_string();
        assert!(
            error.contains("nobody asked for: \".5\"") && error.contains("standard error"),
            "{error}"
        );
        let mut endless = Program::start("yes 1").unwrap();
        assert!(
            (0..100).any(|_| matches!(endless.ask("1", LONG), Err(ProgramError::Unasked { .. })))
        );
    }

    #[test]
    fn what_it_started_ends_with_it() {
        let folder = std::env::temp_dir().join(format!("sordino-program-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let late = folder.join("late");
        let command = format!(
            "(sleep 1; touch {}) & while read x; do echo $x; done",
            late.display()
        );
        let mut program = Program::start(&command).unwrap();
        assert_eq!(program.ask("1", LONG).unwrap(), "1");
        drop(program);
        std::thread::sleep(Duration::from_millis(1300));
        assert!(!late.exists(), "its group was killed");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A process that is killed runs no destructor: what it had started went on without it, for as
    /// long as one training takes. Control: nothing was killed before, because the program had
    /// answered.
    #[test]
    fn it_ends_with_a_process_that_is_killed() {
        const FOLDER: &str = "SORDINO_TEST_KILLED";
        if let Some(folder) = std::env::var_os(FOLDER) {
            let late = std::path::Path::new(&folder).join("late");
            let command = format!(
                "(sleep 2; touch {}) & while read x; do echo $x; done",
                late.display()
            );
            let mut program = Program::start(&command).unwrap();
            std::fs::write(
                late.with_file_name("answer"),
                program.ask("1", LONG).unwrap(),
            )
            .unwrap();
            rustix::process::kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
        }
        let folder = std::env::temp_dir().join(format!("sordino-killed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let name = "program::tests::it_ends_with_a_process_that_is_killed";
        let mut again = Command::new(std::env::current_exe().unwrap());
        let ended = again
            .args([name, "--exact"])
            .env(FOLDER, &folder)
            .output()
            .unwrap()
            .status;
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&ended),
            Some(9)
        );
        assert_eq!(std::fs::read_to_string(folder.join("answer")).unwrap(), "1");
        std::thread::sleep(Duration::from_millis(2500));
        assert!(!folder.join("late").exists(), "it lives on");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
