//! SIGINT, SIGTERM, SIGHUP and SIGQUIT, which end a training command in an orderly way instead of
//! leaving it behind.
//!
//! A training command runs in a process group of its own, so that no signal of the terminal reaches
//! it: the process that started it must pass the signal on. A handler writes to a pipe and does
//! nothing else; a thread reads it. No signal is blocked, because a command would inherit that and
//! hear of no wish to end. Handlers are not inherited.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;

use crate::files::read_bounded;

/// What a shell adds to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;

/// How often a stop was requested, and by which signal first.
#[derive(Debug, Default)]
pub struct Stop {
    wishes: AtomicU32,
    signal: AtomicI32,
}

impl Stop {
    /// A stop that no signal requests.
    pub fn never() -> Arc<Stop> {
        Arc::default()
    }

    /// Takes over the four signals for the rest of the program; one that is ignored stays ignored
    /// (`nohup`). The first asks commands to end, the second kills them, the third ends this
    /// program on the spot.
    ///
    /// **Errors**: those of the system.
    pub fn on_signals() -> io::Result<Arc<Stop>> {
        Self::on_signals_telling(|stop| match stop.wishes() {
            0..=2 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(stop.exit_code()),
        })
    }

    /// The same for a program that decides by itself what follows: `told` is told of each request,
    /// and what it breaks with is the exit code with which the program ends on the spot. It runs on
    /// the thread that hears them: while it waits for anything, the next one is not heard.
    ///
    /// **Errors**: those of the system.
    pub fn on_signals_telling(
        told: impl Fn(&Stop) -> ControlFlow<u8> + Send + 'static,
    ) -> io::Result<Arc<Stop>> {
        let ignored = ignored();
        let heard = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
        let heard = heard
            .into_iter()
            .filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let mut signals = Signals::new(heard)?;
        let stop = Arc::new(Stop::default());
        let wished = stop.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in signals.forever() {
                    let first = wished.signal.load(Ordering::Relaxed);
                    if first == 0 {
                        wished.signal.store(signal, Ordering::Relaxed);
                    }
                    wished.wish();
                    if let ControlFlow::Break(code) = told(&wished) {
                        std::process::exit(i32::from(code));
                    }
                }
            })?;
        Ok(stop)
    }

    /// The exit code of a program that a signal ended, as shells have it: 130 for Ctrl-C, 143 for
    /// SIGTERM; 1 if no signal did.
    pub fn exit_code(&self) -> u8 {
        match self.signal.load(Ordering::Relaxed) {
            0 => 1,
            signal => u8::try_from(BY_SIGNAL + signal).unwrap_or(1),
        }
    }

    /// What people call the signal that came first: Ctrl-C, or its name. None if no signal did.
    pub fn signal(&self) -> Option<&'static str> {
        match self.signal.load(Ordering::Relaxed) {
            SIGINT => Some("Ctrl-C"),
            signal => signal_name(signal),
        }
    }

    /// Requests a stop.
    pub fn wish(&self) {
        // Whoever sees the request sees the signal that came with it.
        self.wishes.fetch_add(1, Ordering::Release);
    }

    /// Number of requests so far: at 1 commands are asked to end, from 2 on they are killed.
    pub fn wishes(&self) -> u32 {
        self.wishes.load(Ordering::Acquire)
    }
}

/// Signals that this process ignores, one bit each; none where the system does not say.
fn ignored() -> u64 {
    let status = read_bounded("/proc/self/status".as_ref(), 1 << 16).unwrap_or_default();
    let text = String::from_utf8_lossy(&status);
    let line = text.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_has_a_name_and_an_exit_code() {
        let by = |signal: i32| {
            let stop = Stop::default();
            stop.signal.store(signal, Ordering::Relaxed);
            (stop.signal(), stop.exit_code())
        };
        assert_eq!(by(SIGINT), (Some("Ctrl-C"), 130));
        assert_eq!(by(SIGTERM), (Some("SIGTERM"), 143));
        assert_eq!(by(SIGHUP), (Some("SIGHUP"), 129));
        assert_eq!(by(0), (None, 1), "no signal");
    }

    /// A second SIGTERM ended a server with 143, for which the first one is the way to end well.
    #[test]
    fn who_hears_it_decides_the_exit_code() {
        const AGAIN: &str = "SORDINO_TEST_STOP";
        if std::env::var_os(AGAIN).is_some() {
            let code = |stop: &Stop| match (stop.wishes(), stop.signal()) {
                (2, Some("SIGTERM")) => ControlFlow::Break(7),
                _ => ControlFlow::Continue(()),
            };
            let stop = Stop::on_signals_telling(code).unwrap();
            for sent in 1.. {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, rustix::process::Signal::TERM).unwrap();
                while stop.wishes() < sent {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
        }
        let name = "tune::stop::tests::who_hears_it_decides_the_exit_code";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output = again.args([name, "--exact"]).env(AGAIN, "1").output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(7), "{output:?}");
    }
}
