//! The ledger of a data set, as commands that release something open it.

use std::path::{Path, PathBuf};

use clap::Args;
use sordino_core::privacy::Event;
use sordino_host::ledger::{CounterPlace, Ledger, LedgerError, Options, Terms};

use sordino_experiment::command_line::error::CliError;

/// The options of a command that keeps a ledger.
#[derive(Clone, Debug, Args)]
pub struct LedgerArguments {
    /// File in which every charge is written, durably, before anything is released
    #[arg(long, value_name = "FILE", default_value = "sordino-ledger.jsonl")]
    pub ledger: PathBuf,
    /// Begin or use this ledger although the data set has charges in another one: their losses add
    /// up, and neither budget knows the other. Remembered for this ledger alone; two at a time are
    /// refused all the same
    #[arg(long)]
    pub another_ledger: bool,
    /// Keep no second count of charges in the state folder ($XDG_STATE_HOME/sordino, else
    /// ~/.local/state/sordino): then nothing notices an older copy of the ledger, nor that another
    /// ledger spends, or has spent, the budget of the same data set
    #[arg(long)]
    pub no_counter: bool,
}

impl LedgerArguments {
    /// The ledger of secret noise for these terms, which says what is unusual about it. The next
    /// charge costs `next`.
    ///
    /// **Errors**: the ledger's, with the option that helps; `nothing` ends each.
    pub fn open(&self, terms: &Terms, next: &[Event], nothing: &str) -> Result<Ledger, CliError> {
        let counter = if self.no_counter {
            Ok(CounterPlace::Nowhere)
        } else {
            CounterPlace::of_user()
        };
        let options = Options {
            counter: counter.map_err(|error| refused(error, nothing))?,
            another: self.another_ledger,
            next: next.to_vec(),
        };
        let ledger = Ledger::open_secret(&self.ledger, terms, &options)
            .map_err(|error| refused(error, nothing))?;
        for note in ledger.notes() {
            eprintln!("{}: {note}", self.path().display());
        }
        Ok(ledger)
    }

    /// Path of its file.
    pub fn path(&self) -> &Path {
        &self.ledger
    }
}

/// What the ledger refused, and which option helps.
pub fn refused(error: LedgerError, nothing: &str) -> CliError {
    let hint = match error {
        LedgerError::Terms {
            key: "epsilon_max", ..
        } => "; name it by --max-epsilon",
        LedgerError::Counter { .. } | LedgerError::NoStateFolder => {
            "; --no-counter goes on without it, and neither an older copy of the ledger nor another ledger of the data \
             set is then noticed"
        }
        LedgerError::Mismatch {
            key: "data set", ..
        } => "; --ledger names a file of its own for another data set",
        LedgerError::Mismatch { .. } => "; what a ledger began with holds for all its charges",
        LedgerError::OtherLedger { .. } => "; --another-ledger goes on all the same",
        _ => "",
    };
    CliError::input(format!("{error}{hint}; {nothing}"))
}
