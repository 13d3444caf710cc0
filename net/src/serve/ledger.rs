//! The ledger of a federation: what it is for, and whether it may begin.

use std::path::Path;

use sordino_host::ledger::{CounterPlace, Ledger, Options};

use super::error::ServeError;
use crate::admission::{self, Inadmissible};
use crate::terms::Terms;

/// What the ledger of these terms is for; `data` is the name of the data set.
///
/// **Errors**: [`Inadmissible`] for releases that have no cost.
pub(crate) fn about(
    terms: &Terms,
    data: &str,
) -> Result<sordino_host::ledger::Terms, Inadmissible> {
    let agreement = &terms.agreement;
    Ok(sordino_host::ledger::Terms {
        data: data.to_owned(),
        unit: "agent".into(),
        records: Some(u64::from(agreement.protocol.agents())),
        accounting: admission::cost(terms)?.accounting(),
        epsilon_max: agreement.announced.epsilon_max,
        delta: agreement.announced.delta,
    })
}

/// The same, and how it is opened.
pub(super) fn of(
    terms: &Terms,
    data: &str,
    counter: &CounterPlace,
) -> Result<(sordino_host::ledger::Terms, Options), ServeError> {
    let about = about(terms, data)?;
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
