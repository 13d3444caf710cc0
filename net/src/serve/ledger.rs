//! The ledger of a federation: what it is for, and whether it may begin.

use std::path::Path;

use sordino_host::ledger::{CounterPlace, Ledger, Options};

use super::error::ServeError;
use crate::admission;
use crate::terms::Terms;

/// What the ledger of these terms is for, and how it is opened; `data` is the name of the data set.
///
/// **Errors**: as [`admission::ledger_of`].
pub(super) fn of(
    terms: &Terms,
    data: &str,
    counter: &CounterPlace,
) -> Result<(sordino_host::ledger::Terms, Options), ServeError> {
    let about = admission::ledger_of(terms, data)?;
    let options = Options {
        counter: counter.clone(),
        another: false,
        next: terms.agreement.protocol.event(0)?.into_iter().collect(),
    };
    Ok((about, options))
}

/// Refuses terms whose ledger could not be begun at this path. Nothing is made, so that a server
/// can refuse before it begins its folder.
///
/// **Errors**: [`ServeError::Ledger`], [`ServeError::Inadmissible`].
pub fn may_begin(
    path: &Path,
    terms: &Terms,
    data: &str,
    counter: &CounterPlace,
) -> Result<(), ServeError> {
    let (about, options) = of(terms, data, counter)?;
    Ok(Ledger::may_begin(path, &about, &options)?)
}
