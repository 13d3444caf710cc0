//! SIGTERM, Ctrl-C, hangups and quits: what a command says when one of them ends it, and with which
//! exit code.
//!
//! A thread of its own hears them from the command's first moment on, so that none is lost while
//! something is computed. The first one ends what is awaited, and with it the command that
//! measures. A second one ends the process at once; so does the first one before there is anything
//! to end, and after [`GRACE`] whatever is computed. Each says so, as far as somebody reads it
//! within [`SAYING`]. None of these costs anything: a process may be killed at any moment. What
//! `nohup` or a script's `&` ignores stays ignored.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use sordino_experiment::command_line::error::CliError;
use sordino_host::tune::stop::Stop;
use tokio::sync::Notify;

use super::common;
use crate::progress::event;

/// How long what is computed may take to end after the first signal.
const GRACE: Duration = Duration::from_secs(5);
/// How long it may take to say why the process ends: a full pipe that nobody reads keeps who
/// writes.
const SAYING: Duration = Duration::from_secs(1);
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
    /// Held while it is said: who ends the process waits for that.
    has_said: Mutex<bool>,
    heard: Notify,
}

impl Ear {
    fn new(ends: Ends, kept: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Ear {
            ends,
            kept: Box::new(kept),
            is_awaited: AtomicBool::new(false),
            has_said: Mutex::new(false),
            heard: Notify::new(),
        }
    }

    /// Says by what the command was stopped, once.
    fn says(&self, by: Option<&str>) {
        let mut has_said = self.has_said.lock().unwrap_or_else(PoisonError::into_inner);
        if !*has_said {
            let by = by.unwrap_or("a signal");
            let kept = (self.kept)();
            event("stopped", &format!("stopped by {by}; {kept}"), []);
            *has_said = true;
        }
    }

    /// The same, no longer than [`SAYING`].
    fn says_in_time(self: &Arc<Self>, by: Option<&'static str>) {
        let ear = self.clone();
        let (said, ended) = mpsc::channel::<()>();
        let saying = thread::Builder::new().spawn(move || {
            ear.says(by);
            drop(said);
        });
        // Nobody sends: it has said so, there is no thread, or the time is over.
        if saying.is_ok() {
            let _ = ended.recv_timeout(SAYING);
        }
    }

    /// Hears one signal, on the thread of signals; breaks with the exit code if the process is to
    /// end on the spot.
    fn hears(self: &Arc<Self>, stop: &Stop) -> ControlFlow<u8> {
        let code = code(stop.exit_code(), self.ends);
        let by = stop.signal();
        if stop.wishes() > 1 || !self.is_awaited.load(Ordering::Acquire) {
            self.says_in_time(by);
            return ControlFlow::Break(code);
        }
        self.heard.notify_one();
        let ear = self.clone();
        let ends = thread::Builder::new().spawn(move || {
            thread::sleep(GRACE);
            ear.says_in_time(by);
            std::process::exit(i32::from(code));
        });
        match ends {
            Ok(_) => ControlFlow::Continue(()),
            Err(_none) => ControlFlow::Break(code),
        }
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
    /// Hears signals from now on. `kept` says what is kept, and how to go on.
    ///
    /// **Errors**: the system does not let us.
    pub fn of(
        ends: Ends,
        kept: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, CliError> {
        let ear = Arc::new(Ear::new(ends, kept));
        let hearing = ear.clone();
        let stop = Stop::on_signals_telling(move |stop| hearing.hears(stop))
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
            None => {
                self.ear.says(self.stop.signal());
                ControlFlow::Break(code(self.stop.exit_code(), self.ear.ends).into())
            }
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

    /// What a signal is said with, if standard error is a full pipe that nobody reads: it never
    /// ends.
    fn unread() -> String {
        loop {
            thread::park();
        }
    }

    /// The thread that hears signals wrote to standard error itself, and was deaf from then on.
    #[test]
    fn what_nobody_reads_keeps_no_signal_from_ending_the_process() {
        let stop = Stop::never();
        stop.wish();
        let ear = Arc::new(Ear::new(Ends::Unfinished, unread));
        let begun = ear.hears(&stop);
        assert_eq!(begun, ControlFlow::Break(1), "nothing is awaited");
        ear.is_awaited.store(true, Ordering::Release);
        stop.wish();
        assert_eq!(ear.hears(&stop), ControlFlow::Break(1), "the second one");
    }
}
