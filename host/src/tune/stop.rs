//! SIGINT, SIGTERM, SIGHUP and SIGQUIT, which end a training command in an orderly way instead of
//! leaving it behind.
//!
//! A training command runs in a process group of its own, so that no signal of the terminal reaches
//! it: the process that started it must pass the signal on. The signals are blocked in every thread
//! and awaited by one, so nothing runs inside a signal handler. Children do not inherit the mask:
//! the standard library clears it before it starts them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{SigSet, Signal};

use crate::files::read_bounded;

/// How often a stop was requested.
#[derive(Debug, Default)]
pub struct Stop(AtomicU32);

impl Stop {
    /// A stop that no signal requests.
    pub fn never() -> Arc<Stop> {
        Arc::default()
    }

    /// Takes over the four signals for the rest of the program; one that is ignored stays ignored
    /// (`nohup`). To be called before any other thread exists. The first asks commands to end, the
    /// second kills them, the third ends this program on the spot.
    ///
    /// **Errors**: those of the system.
    pub fn on_signals() -> io::Result<Arc<Stop>> {
        let mut signals = SigSet::empty();
        let ignored = ignored();
        for signal in [
            Signal::SIGINT,
            Signal::SIGTERM,
            Signal::SIGHUP,
            Signal::SIGQUIT,
        ] {
            if ignored >> (signal as u32 - 1) & 1 == 0 {
                signals.add(signal);
            }
        }
        signals.thread_block()?;
        let stop = Arc::new(Stop::default());
        let told = stop.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                while signals.wait().is_ok() {
                    told.wish();
                    if told.wishes() > 2 {
                        std::process::exit(1);
                    }
                }
            })?;
        Ok(stop)
    }

    /// Requests a stop.
    pub fn wish(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of requests so far: at 1 commands are asked to end, from 2 on they are killed.
    pub fn wishes(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
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
