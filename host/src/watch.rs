//! What ends a command's process group when our process has ended, however that ends.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// Waits in the group for the end of our process, also by `kill -9`: no signal handler, and no
/// destructor, runs then. Its standard input is a pipe of which nobody else has the other end.
const WATCH: &str = "read -r line; kill -KILL 0";

/// A process in the group of a command that ends the group with ours. Dropped, it ends the group as
/// well.
#[derive(Debug)]
pub(crate) struct Watch(Child);

impl Watch {
    /// Begins to watch. Whoever gets an error ends the group.
    pub fn over(group: Pid) -> std::io::Result<Watch> {
        let watch = Command::new("sh")
            .args(["-c", WATCH])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(group.as_raw_pid())
            .spawn();
        Ok(Watch(watch?))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Closes the pipe: if the group was not killed yet, it is now.
        let _ = self.0.wait();
    }
}
