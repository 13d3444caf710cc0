//! Ctrl-C, SIGTERM, SIGHUP and SIGQUIT of a publication: before the ledger is opened they end it at
//! once, with nothing charged. From then on its releases are charged one after the other, and a
//! file that is not written would be paid for and lost: the publication ends when it is written.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::progress::log::note;
use sordino_host::tune::stop::Stop;

/// How long it may take to say why the process ends: a full pipe that nobody reads keeps who
/// writes.
const SAYING: Duration = Duration::from_secs(1);

/// Whether the publication may end at once, and how a signal ends it: the lock is held while it
/// does, so that nothing is charged in the meantime.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was charged.
    Free,
    /// Releases are charged, or about to be.
    Charged,
    /// The file is written.
    Written,
}

/// The signals that a publication hears.
pub struct Signals {
    phase: Arc<Mutex<Phase>>,
    stop: Arc<Stop>,
}

impl Signals {
    /// Hears signals from now on.
    ///
    /// **Errors**: those of the system.
    pub fn heard() -> io::Result<Signals> {
        let phase = Arc::new(Mutex::new(Phase::Free));
        let hearing = phase.clone();
        let stop = Stop::on_signals_telling(move |stop| hears(stop, &hearing))?;
        Ok(Signals { phase, stop })
    }

    /// From now on releases may be charged. A signal that came before ends the process.
    pub fn charging(&self) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = Phase::Charged;
    }

    /// The file is written: a signal that came in the meantime ends the publication here.
    ///
    /// **Errors**: it was interrupted; exit code 130 for Ctrl-C, 143 for SIGTERM.
    pub fn written(&self, file: &Path) -> Result<(), CliError> {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = Phase::Written;
        if self.stop.wishes() == 0 {
            return Ok(());
        }
        let why = format!(
            "interrupted; the releases are charged, and {0} is written: sordino prior show {0}",
            file.display()
        );
        Err(CliError::interrupted(why, self.stop.exit_code()))
    }
}

/// What a signal does, on the thread that hears it.
fn hears(stop: &Stop, phase: &Mutex<Phase>) -> ControlFlow<u8> {
    let phase = phase.lock().unwrap_or_else(PoisonError::into_inner);
    if *phase == Phase::Charged {
        if stop.wishes() == 1 {
            drop(phase);
            said("interrupted: a release is charged: this ends when the file is written");
        }
        return ControlFlow::Continue(());
    }
    said(match *phase {
        Phase::Written => "interrupted; the releases are charged, and the file is written",
        _ => "interrupted: nothing was charged; nothing was published",
    });
    // The lock is not given back: whoever waits for it would charge.
    std::process::exit(i32::from(stop.exit_code()))
}

/// Says it, and waits no longer than [`SAYING`] for who reads it.
fn said(what: &'static str) {
    let (done, ended) = mpsc::channel::<()>();
    let saying = std::thread::Builder::new().spawn(move || {
        note(what);
        drop(done);
    });
    // Nobody sends: it was said, or the time is over. Without a thread it is not said.
    if saying.is_ok() {
        let _ = ended.recv_timeout(SAYING);
    }
}
