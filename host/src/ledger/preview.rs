//! What opening a ledger of secret noise would find, for those who only look: nothing is locked,
//! made, completed or written.
//!
//! A command looks first, so that one that is refused leaves nothing behind; what it then opens is
//! checked again, under the locks.

use std::path::{Path, PathBuf};

use sordino_core::privacy::{Event, SourceKind};

use super::budget::{Budget, Spent};
use super::counter::{Counter, CounterPlace};
use super::log::Log;
use super::place::{BYTES_MAX, is_begun, resolved};
use super::{
    COMPLETED, Entry, LedgerError, Options, Terms, completion, explained, may_begin, with_line,
};
use crate::files::{may_be_made, read_bounded};

/// What is seen; once more if the ledger contradicts its second count. Nothing is locked, and a
/// program that charges between the two readings makes the ledger look older than it is.
fn unless_it_grew<R>(mut see: impl FnMut() -> Result<R, LedgerError>) -> Result<R, LedgerError> {
    match see() {
        Err(LedgerError::RolledBack { .. }) => see(),
        seen => seen,
    }
}

/// Why a ledger is not what its second count knows of it: an older copy, or one that lacks its last
/// charge. Nothing is locked, made or written; `None` also where nothing was counted.
///
/// **Errors**: as [`Preview::of`].
pub fn contradicted(path: &Path, counter: &CounterPlace) -> Result<Option<String>, LedgerError> {
    let CounterPlace::Folder(folder) = counter else {
        return Ok(None);
    };
    let seen = unless_it_grew(|| {
        let path = resolved(path)?;
        let log = Log::parse(&path, &read_bounded(&path, BYTES_MAX)?, SourceKind::Secret)?;
        let data = log.terms(SourceKind::Secret)?.data;
        let id = log.head.as_ref().and_then(|head| head.id.clone());
        let counter = Counter::read(folder, &id.unwrap_or_default(), &path, &data, true)?;
        Ok(counter.compare(&log)?.is_some())
    });
    match seen {
        Ok(false) => Ok(None),
        Ok(true) => Ok(Some(MISSING.into())),
        Err(error @ (LedgerError::RolledBack { .. } | LedgerError::CounterDamaged { .. })) => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// Said of a ledger whose last charge only the second count has.
const MISSING: &str = "its last charge, which the second count knows, is missing or was cut off here; the next command that \
                       charges it adds it";

/// A ledger as it would be opened.
pub struct Preview {
    path: PathBuf,
    terms: Terms,
    entries: Vec<Entry>,
    budget: Budget,
    notes: Vec<String>,
}

impl Preview {
    /// Looks at what [`Ledger::open_secret`](super::Ledger::open_secret) would open.
    ///
    /// **Errors**: as there, without those of locks.
    pub fn of(path: &Path, terms: &Terms, options: &Options) -> Result<Preview, LedgerError> {
        unless_it_grew(|| Preview::seen(path, terms, options))
    }

    fn seen(path: &Path, terms: &Terms, options: &Options) -> Result<Preview, LedgerError> {
        terms.check()?;
        let path = resolved(path)?;
        if !is_begun(&path)? {
            may_begin(&path, terms, options)?;
            may_be_made(&path)?;
            let notes = options.counter.first().into_iter().collect();
            return Preview::new(path, terms.clone(), Vec::new(), notes);
        }
        let kind = SourceKind::Secret;
        let bytes = read_bounded(&path, BYTES_MAX)?;
        let mut log = Log::parse(&path, &bytes, kind)?;
        let terms = log.check_head(terms, kind)?;
        let id = log.head.as_ref().and_then(|head| head.id.clone());
        let counter = options
            .counter
            .look(&id.unwrap_or_default(), &path, &terms.data, options.another)
            .map_err(|error| explained(error, &terms))?;
        let mut notes = counter
            .as_ref()
            .map_or_else(Vec::new, |counter| counter.notes());
        let missing = counter
            .as_ref()
            .map(|counter| counter.compare(&log))
            .transpose()?
            .flatten();
        if let Some(line) = completion(&log, missing, &options.next)? {
            log = Log::parse(&path, &with_line(&bytes[..log.valid], &line), kind)?;
            notes.push(COMPLETED.into());
        }
        Preview::new(path, terms, log.entries, notes)
    }

    fn new(
        path: PathBuf,
        terms: Terms,
        entries: Vec<Entry>,
        notes: Vec<String>,
    ) -> Result<Preview, LedgerError> {
        let budget = Budget::replay(&terms, entries.iter().flat_map(|entry| &entry.events))?;
        Ok(Preview {
            path,
            terms,
            entries,
            budget,
            notes,
        })
    }

    /// Refuses events that do not all fit the budget.
    ///
    /// **Errors**: [`LedgerError::NoRoom`], which says what would; [`LedgerError::Accountant`].
    pub fn admits(&mut self, events: &[Event]) -> Result<(), LedgerError> {
        let charged = self.entries.iter().flat_map(|entry| &entry.events);
        match self.budget.admits(&self.terms, charged, events) {
            Err(LedgerError::OverBudget {
                epsilon,
                epsilon_max,
                delta,
                delta_max,
            }) if delta <= delta_max => Err(LedgerError::NoRoom {
                path: self.path.clone(),
                data: self.terms.data.clone(),
                spent: self.spent()?.epsilon,
                epsilon,
                epsilon_max,
                delta,
                left: self.left(&[])?,
            }),
            found => found,
        }
    }

    /// ε, from below, that further releases may cost once these events are charged; none where that
    /// depends on what is released.
    ///
    /// **Errors**: [`LedgerError::Accountant`].
    pub fn left(&self, more: &[Event]) -> Result<Option<f64>, LedgerError> {
        let charged = self.entries.iter().flat_map(|entry| &entry.events);
        let after = Budget::replay(&self.terms, charged.clone().chain(more))?;
        after.left(&self.terms, charged.chain(more))
    }

    /// What was spent so far.
    ///
    /// **Errors**: [`LedgerError::Accountant`] if no finite ε holds at the ledger's δ.
    pub fn spent(&self) -> Result<Spent, LedgerError> {
        let (epsilon, delta) = self.budget.spent()?;
        Ok(Spent {
            epsilon,
            delta,
            charges: self.entries.len() as u64,
        })
    }

    /// What was spent once these events are charged.
    ///
    /// **Errors**: as [`Preview::spent`].
    pub fn spent_after(&self, more: &[Event]) -> Result<Spent, LedgerError> {
        let charged = self.entries.iter().flat_map(|entry| &entry.events);
        let (epsilon, delta) = Budget::replay(&self.terms, charged.chain(more))?.spent()?;
        Ok(Spent {
            epsilon,
            delta,
            charges: self.entries.len() as u64 + 1,
        })
    }

    /// What it is for; records and ε_max as its first line says.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Its file, links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a person should know about how it was found, in sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that charged twice between the two readings made a ledger look like an older copy.
    #[test]
    fn what_contradicts_itself_is_read_once_more() {
        let older = || LedgerError::RolledBack {
            path: PathBuf::from("ledger"),
            found: 1,
            known: 3,
            seen: PathBuf::from("ledger"),
            counter: PathBuf::from("counter"),
        };
        let mut readings = vec![Ok(3), Err(older())];
        assert!(matches!(unless_it_grew(|| readings.pop().unwrap()), Ok(3)));
        // One that is older stays so, and nothing else is read again.
        let mut readings = vec![Ok(3), Err(older()), Err(older())];
        assert!(unless_it_grew(|| readings.pop().unwrap()).is_err());
        let mut readings = vec![Ok(3), Err(LedgerError::Broken)];
        assert!(unless_it_grew(|| readings.pop().unwrap()).is_err());
        assert_eq!(readings.len(), 1);
    }
}
