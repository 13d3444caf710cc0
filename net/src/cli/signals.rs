//! SIGTERM, Ctrl-C, hangups and quits: what a command says when one of them ends it, and with which
//! exit code.
//!
//! A thread of its own hears them from the command's first moment on, so that none is lost while
//! something is computed. The first one ends what is awaited, and with it the command that measures.
//! A second one ends the process at once; so does the first one before there is anything to end, and
//! after [`GRACE`] whatever is computed. None of these costs anything: a process may be killed at
//! any moment. What `nohup` or a script's `&` ignores stays ignored.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sordino_experiment::command_line::error::CliError;
use sordino_host::tune::stop::Stop;
use tokio::sync::Notify;

use super::common;
use crate::progress::event;

/// How long what is computed may take to end after the first signal.
const GRACE: Duration = Duration::from_secs(5);
/// The exit code of shells after SIGTERM.
const TERMINATED: u8 = 143;

/// For whom SIGTERM is the way to end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// A server: supervisors and containers end it so, with exit code 0.
    Well,
    /// A command that has something to bring to an end: 143, as shells have it.
    Unfinished,
}

/// What is heard of signals.
struct Ear {
    ends: Ends,
    kept: Box<dyn Fn() -> String + Send + Sync>,
    /// Somebody waits for `heard`.
    is_awaited: AtomicBool,
    has_said: AtomicBool,
    heard: Notify,
}

impl Ear {
    /// Says by what the command was stopped, once: the exit code.
    fn says(&self, stop: &Stop) -> u8 {
        if !self.has_said.swap(true, Ordering::AcqRel) {
            let by = stop.signal().unwrap_or("a signal");
            let kept = (self.kept)();
            event("stopped", &format!("stopped by {by}; {kept}"), []);
        }
        code(stop.exit_code(), self.ends)
    }

    /// Hears one signal, on the thread of signals.
    fn hears(self: Arc<Self>, stop: &Stop) {
        let code = code(stop.exit_code(), self.ends);
        if !self.is_awaited.load(Ordering::Acquire) {
            self.says(stop);
            std::process::exit(i32::from(code));
        }
        self.heard.notify_one();
        std::thread::spawn(move || {
            std::thread::sleep(GRACE);
            std::process::exit(i32::from(code));
        });
    }
}

/// The exit code of a command that a signal ended, `heard` being that of shells.
fn code(heard: u8, ends: Ends) -> u8 {
    match (heard, ends) {
        (TERMINATED, Ends::Well) => 0,
        _ => heard,
    }
}

/// The signals that end a command.
pub struct Signals {
    ear: Arc<Ear>,
    stop: Arc<Stop>,
}

impl Signals {
    /// Hears signals from now on; to be called before any other thread exists. `kept` says what is
    /// kept, and how to go on.
    ///
    /// **Errors**: the system does not let us.
    pub fn of(
        ends: Ends,
        kept: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, CliError> {
        let ear = Arc::new(Ear {
            ends,
            kept: Box::new(kept),
            is_awaited: AtomicBool::new(false),
            has_said: AtomicBool::new(false),
            heard: Notify::new(),
        });
        let hearing = ear.clone();
        let stop = Stop::on_signals_telling(1, move |stop| hearing.clone().hears(stop))
            .map_err(|error| CliError::failure(format!("signals: {error}")))?;
        Ok(Signals { ear, stop })
    }

    /// Waits for this to end, or for a signal: then it says so, and gives the exit code.
    ///
    /// **Errors**: the system gives no threads.
    pub fn or_done<R>(
        &self,
        work: impl Future<Output = R>,
    ) -> Result<ControlFlow<ExitCode, R>, CliError> {
        self.ear.is_awaited.store(true, Ordering::Release);
        let done = common::wait(async {
            tokio::select! {
                // Signals are heard before the work says anything.
                biased;
                () = self.ear.heard.notified() => None,
                done = work => Some(done),
            }
        })?;
        self.ear.is_awaited.store(false, Ordering::Release);
        Ok(match done {
            Some(done) => ControlFlow::Continue(done),
            None => ControlFlow::Break(ExitCode::from(self.ear.says(&self.stop))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that had done nothing yet ended with 0, as if it had.
    #[test]
    fn only_a_server_ends_well_by_sigterm() {
        assert_eq!(code(143, Ends::Well), 0);
        assert_eq!(code(143, Ends::Unfinished), 143);
        for heard in [129, 130, 131] {
            assert_eq!(code(heard, Ends::Well), heard);
            assert_eq!(code(heard, Ends::Unfinished), heard);
        }
    }
}
