//! The ledger of a data set, as commands that release something open it.

use std::path::{Path, PathBuf};

use clap::Args;
use sordino_core::privacy::Event;
use sordino_experiment::progress::log::note;
use sordino_host::ledger::contributions::given;
use sordino_host::ledger::{
    CounterPlace, Ledger, LedgerError, Options, Preview, Terms, means_the_same,
};

use sordino_experiment::command_line::error::CliError;

/// What the budget of a ledger is called on the command line.
pub const MAX_EPSILON: &str = "--max-epsilon";

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
    /// What opening the ledger for these terms would find, once it is known that these events fit
    /// its budget; nothing is made or written. The next charge costs `next`. Says what federations
    /// got of the same data, which is not in the budget.
    ///
    /// **Errors**: the ledger's, with the option that helps; `nothing` ends each.
    pub fn preview(
        &self,
        terms: &Terms,
        events: &[Event],
        next: &[Event],
        nothing: &str,
    ) -> Result<Preview, CliError> {
        let options = self
            .options(next)
            .map_err(|error| refused(error, nothing))?;
        let preview = Preview::of(&self.ledger, terms, &options)
            .and_then(|mut preview| preview.admits(events).map(|()| preview))
            .map_err(|error| refused(error, nothing))?;
        let given = given(&options.counter, &terms.data);
        let given = given.map_err(|error| CliError::input(format!("{error}; {nothing}")))?;
        given.iter().for_each(|told| note(told));
        Ok(preview)
    }

    /// The ledger of secret noise for these terms, with room for these events, which says what is
    /// unusual about it. The next charge costs `next`. `seen` is what [`LedgerArguments::preview`]
    /// found for the same terms and events: what it refuses leaves nothing behind.
    ///
    /// **Errors**: as [`LedgerArguments::preview`], of what happened since.
    pub fn open(
        &self,
        seen: &Preview,
        terms: &Terms,
        events: &[Event],
        next: &[Event],
        nothing: &str,
    ) -> Result<Ledger, CliError> {
        let mut ledger = self
            .options(next)
            .and_then(|options| Ledger::open_secret(seen.path(), terms, &options))
            .map_err(|error| refused(error, nothing))?;
        ledger
            .admits(events)
            .map_err(|error| refused(error, nothing))?;
        self.told(ledger.notes());
        Ok(ledger)
    }

    /// Says what is unusual about a ledger.
    pub fn told(&self, notes: &[String]) {
        let path = self.path().display();
        for told in notes {
            note(&format!("{path}: {told}"));
        }
        if self.no_counter {
            note(&format!(
                "{path}: --no-counter: nothing notices whether charges are missing in this ledger, or are in another one of \
                 the same data set"
            ));
        }
    }

    fn options(&self, next: &[Event]) -> Result<Options, LedgerError> {
        let counter = if self.no_counter {
            CounterPlace::Nowhere
        } else {
            CounterPlace::of_user()?
        };
        Ok(Options {
            counter,
            another: self.another_ledger,
            next: next.to_vec(),
        })
    }

    /// Path of its file.
    pub fn path(&self) -> &Path {
        &self.ledger
    }
}

/// What the ledger refused, and which option helps.
pub fn refused(error: LedgerError, nothing: &str) -> CliError {
    let hint = match &error {
        // For the second count both are one data set, so another ledger would be refused.
        LedgerError::Mismatch {
            key: "data set",
            ledger,
            asked,
            ..
        } if means_the_same(ledger, asked) => {
            "; the names differ only in case or white space and mean the same data set: write it as the ledger does"
        }
        LedgerError::Counter { .. } | LedgerError::NoStateFolder => {
            "; --no-counter goes on without it, and neither an older copy of the ledger nor another ledger of the data \
             set is then noticed"
        }
        LedgerError::Mismatch {
            key: "data set", ..
        } => {
            "; if these are the same data, write the name as the ledger does; else --ledger names a file of its own"
        }
        LedgerError::Mismatch { .. } => "; what a ledger began with holds for all its charges",
        LedgerError::OtherLedger {
            gone: false,
            other: Some(_),
            ..
        } => {
            "; --another-ledger begins or uses one of its own, and the data then give what both budgets admit together"
        }
        LedgerError::OtherLedger { .. } => "; --another-ledger goes on all the same",
        _ => "",
    };
    CliError::input(format!("{}{hint}; {nothing}", named(error)))
}

/// A refusal with the name that the budget has on the command line.
fn named(error: LedgerError) -> LedgerError {
    match error {
        LedgerError::Terms {
            key: "max_epsilon",
            admissible,
        } => LedgerError::Terms {
            key: MAX_EPSILON,
            admissible,
        },
        LedgerError::Mismatch {
            key: "max_epsilon",
            path,
            ledger,
            asked,
        } => LedgerError::Mismatch {
            key: MAX_EPSILON,
            path,
            ledger,
            asked,
        },
        other => other,
    }
}
