//! A server's folder, or its helper's, held against its own terms: the chain of its frames, its
//! ledger, and what the terms themselves admit.

use serde::de::IgnoredAny;
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Protocol;
use sordino_core::wire::{self, Kind};
use sordino_experiment::command_line::error::CliError;
use sordino_host::ledger;
use sordino_host::ledger::{Contents, Spent};

use crate::admission;
use crate::admission::ledger_of;
use crate::folder::{Folder, LEDGER, TERMS};
use crate::help::folder::HelpFolder;
use crate::terms::Terms;

/// What a server's folder holds.
pub(super) struct Held {
    /// Frames, and how many of them are broadcasts.
    pub frames: usize,
    pub broadcasts: u64,
    /// What the ledger counts; none where there is no ledger and no frame yet.
    pub spent: Option<Spent>,
    /// The digest of all frames.
    pub chain: Digest,
    /// Whether the last charge is of a release that was refused after its noise was added.
    pub refused: bool,
}

/// Reads a server's folder: every frame must continue the ones before, from the terms on, and the
/// ledger must be of these terms.
///
/// **Errors**: what contradicts what.
pub(super) fn held(folder: &Folder) -> Result<Held, CliError> {
    let numbers = folder.terms.agreement.frame_numbers_max();
    let found = folder.found::<IgnoredAny>().map_err(CliError::failure)?;
    let (frames, history, planned) = match &found {
        Some(found) => (
            &found.frames[..],
            &found.history[..],
            found.open.planned.as_ref(),
        ),
        None => (&[][..], &[][..], None),
    };
    let mut broadcasts = 0;
    for frame in frames {
        let (header, _) = wire::decode(frame, numbers).map_err(CliError::failure)?;
        broadcasts += u64::from(header.kind == Kind::Broadcast);
    }
    let path = folder.path().join(LEDGER);
    // It is begun after the folder and before the first frame.
    let spent = if frames.is_empty() && !path.exists() {
        None
    } else {
        let contents = Contents::read(&path, planned).map_err(CliError::failure)?;
        of_terms(&contents, &folder.terms)?;
        Some(contents.spent)
    };
    Ok(Held {
        frames: frames.len(),
        broadcasts,
        spent,
        chain: history.last().copied().unwrap_or_default(),
        refused: found.is_some_and(|found| found.open.is_refused()),
    })
}

/// Refuses to promise what a server's folder contradicts.
///
/// **Errors**: as [`held`]; terms that nobody serves; a release that was not charged.
pub(super) fn promised(folder: &Folder) -> Result<(), CliError> {
    admissible(&folder.terms)?;
    let held = held(folder)?;
    // While the server runs its ledger may be ahead of the frames that were read before it.
    let charges = held.spent.map_or(0, |spent| spent.charges);
    if charges < held.broadcasts {
        return Err(CliError::failure(format!(
            "{} broadcasts and {charges} charges: a release was not charged",
            held.broadcasts
        )));
    }
    Ok(())
}

/// The same of a helper's folder.
///
/// **Errors**: as [`promised`].
pub(super) fn promised_by_helper(folder: &HelpFolder, terms: &Terms) -> Result<(), CliError> {
    admissible(terms)?;
    let books = folder.books().map_err(CliError::failure)?;
    books.map_or(Ok(()), |(_, contents)| of_terms(&contents, terms))
}

/// Refuses terms that no server of this program serves, and a campaign's whose numbers do not
/// follow from its text.
fn admissible(terms: &Terms) -> Result<(), CliError> {
    admission::admit(terms).map_err(CliError::failure)?;
    if let Protocol::Campaign(_) = terms.agreement.protocol {
        terms.campaign().map_err(CliError::failure)?;
    }
    Ok(())
}

/// Refuses a ledger that was begun for something else than these terms.
fn of_terms(contents: &Contents, terms: &Terms) -> Result<(), CliError> {
    let found = &contents.terms;
    let expected = ledger_of(terms, &found.data).map_err(CliError::failure)?;
    if *found == expected {
        return Ok(());
    }
    let [found, expected] = [found, &expected].map(told);
    Err(CliError::failure(format!(
        "{LEDGER} is not of {TERMS}: the ledger has {found}, the terms {expected}"
    )))
}

/// What a ledger is for, without the name of the data.
fn told(terms: &ledger::Terms) -> String {
    let ledger::Terms {
        unit,
        records,
        accounting,
        epsilon_max,
        delta,
        ..
    } = terms;
    let records = records.map_or("any number of".to_owned(), |records| records.to_string());
    let most = epsilon_max.map_or("none".to_owned(), |most| most.to_string());
    format!("{records} records of unit {unit:?}, {accounting:?}, max_epsilon {most}, delta {delta}")
}
