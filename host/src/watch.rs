//! What ends a command's process group when our process has ended, however that ends.

use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::Pid;

/// Waits in the group for the end of our process, also by `kill -9`: no signal handler, and no
/// destructor, runs then. Its standard input is a pipe of which nobody else has the other end.
///
/// It is in the group that is asked to end, and a command may take that for no reason to end: the
/// watch ignores what asks it, and closes its output once it does.
const WATCH: &str = "trap '' HUP INT QUIT TERM; exec >&-; read -r line; kill -KILL 0";

/// A process in the group of a command that ends the group with ours. Dropped, it ends the group as
/// well.
#[derive(Debug)]
pub(crate) struct Watch {
    process: Child,
    /// At its end once the watch is set; read without waiting.
    output: ChildStdout,
}

impl Watch {
    /// Begins to watch. Whoever gets an error ends the group.
    pub fn over(group: Pid) -> std::io::Result<Watch> {
        let mut process = Command::new("sh")
            .args(["-c", WATCH])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(group.as_raw_pid())
            .spawn()?;
        let output = process.stdout.take();
        let output = output.ok_or_else(|| std::io::Error::other("no pipe"))?;
        fcntl_setfl(&output, OFlags::NONBLOCK)?;
        Ok(Watch { process, output })
    }

    /// Whether the group may be asked to end, which the watch does not take for itself any more. A
    /// shell needs a millisecond to begin.
    pub fn is_set(&mut self) -> bool {
        let end = self.output.read(&mut [0]);
        !end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// Whether another process of the group runs; nothing where that cannot be seen, outside Linux.
    /// The kernel answers for the group as long as its leader is not reaped, and for the watch.
    pub fn has_company(&self, group: Pid) -> Option<bool> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let group = group.as_raw_pid().to_string();
        let watch = self.process.id().to_string();
        let mut others = std::fs::read_dir("/proc").ok()?.filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let is_other = name.starts_with(|first: char| first.is_ascii_digit()) && name != watch;
            // A process that has ended meanwhile is not there.
            is_other.then(|| std::fs::read(format!("/proc/{name}/stat")).ok())?
        });
        Some(others.any(|stat| runs_in(&stat, &group)))
    }
}

/// Whether a line of `/proc/PID/stat` is of a process of this group that has not ended: `PID (NAME)
/// STATE PARENT GROUP …`, with any byte in the name.
fn runs_in(stat: &[u8], group: &str) -> bool {
    let after = stat.iter().rposition(|byte| *byte == b')').unwrap_or(0);
    let text = String::from_utf8_lossy(&stat[after..]);
    let mut fields = text.split_ascii_whitespace().skip(1);
    let has_ended = matches!(fields.next(), None | Some("Z" | "X"));
    !has_ended && fields.nth(1) == Some(group)
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Closes the pipe: if the group was not killed yet, it is now.
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::time::Duration;

    use rustix::process::{Signal, kill_process_group};

    use super::*;

    #[test]
    fn a_process_of_the_group_is_told_by_its_line() {
        assert!(runs_in(b"7 (a) Z 9 9) S 1 42 42 0", "42"));
        assert!(!runs_in(b"7 (sh) S 1 43 42 0", "42"), "another group");
        assert!(!runs_in(b"7 (sh) Z 1 42 42 0", "42"), "it has ended");
        assert!(!runs_in(b"", "42"));
    }

    /// It was in the group that was asked to end, and ended: who was killed before the command had
    /// ended left the command behind.
    #[test]
    fn it_outlives_what_asks_the_group_to_end_as_soon_as_it_is_set() {
        for _ in 0..20 {
            let mut command = Command::new("sh")
                .args(["-c", "trap '' TERM; read -r line"])
                .stdin(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            let group = Pid::from_child(&command);
            let mut watch = Watch::over(group).unwrap();
            while !watch.is_set() {
                std::thread::sleep(Duration::from_millis(1));
            }
            for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
                kill_process_group(group, signal).unwrap();
            }
            // It ends at the end of the pipe, by what it is there to do.
            let ended = watch.process.wait().unwrap();
            assert_eq!(ended.signal(), Some(Signal::KILL.as_raw()));
            command.wait().unwrap();
        }
    }
}
