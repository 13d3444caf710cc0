//! The simulated server: the host of every server, with simulated coins and noise and a ledger that
//! says so.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sordino_core::federated::{ServerPhase, Share, Wiped};
use sordino_core::math::{Scalar, write_all_le};
use sordino_experiment::progress::{BudgetLeft, Stage};
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::server::{Hosted, SimulatedSources};

use super::collective::Partial;
use super::context::{Budget, MethodContext};
use super::error::DriverError;
use super::run::Released;

/// The server of one simulated federation.
pub type ServerHost<T> = sordino_host::server::ServerHost<T, SimulatedSources>;

/// Adds what the members of a collective collected to the open release of a server.
///
/// **Errors**: a partial sum that was not made for it, or cannot be what its agents sent.
pub fn merge<T: Scalar, M: Hosted<T>>(
    server: &mut sordino_host::server::ServerHost<T, SimulatedSources, Ledger, M>,
    partials: &[Partial],
) -> Result<(), DriverError> {
    for collected in partials
        .iter()
        .filter_map(|partial| partial.collected.as_ref())
    {
        server.merge(collected)?;
    }
    Ok(())
}

/// What agents need to share in the release of a round that `collects`; nothing if it does not, or
/// if the budget refuses its release.
///
/// **Errors**: a ledger that cannot be kept.
pub fn opened<T: Scalar>(
    server: &mut ServerHost<T>,
    collects: bool,
) -> Result<Option<Arc<Share<Wiped<u8>>>>, DriverError> {
    Ok(if collects && server.open()? {
        Some(server.share()?)
    } else {
        None
    })
}

/// Closes the release that is open with what the members of a collective collected: the numbers
/// that it publishes, and its counters. Nothing where none is open: of a round that collects
/// nothing, or whose release the budget refused.
///
/// **Errors**: those of [`merge`], also for sums where nothing is open; a ledger that cannot be
/// kept.
pub fn close<'s, T: Scalar>(
    server: &'s mut ServerHost<T>,
    partials: &[Partial],
) -> Result<Released<'s, T>, DriverError> {
    // It refuses sums that nobody asked for.
    merge(server, partials)?;
    if server.state().phase() != ServerPhase::Collecting {
        return Ok(None);
    }
    let counters = server.close()?;
    Ok(server.broadcast().map(|numbers| (numbers, counters)))
}

/// What a server goes on with, and the bytes of what it published last.
///
/// **Errors**: a ledger that cannot be kept.
pub fn stored<T: Scalar>(server: &mut ServerHost<T>) -> Result<impl Serialize, DriverError> {
    let numbers = server.broadcast().unwrap_or_default();
    let mut bytes = vec![0; numbers.len() * T::BYTES];
    write_all_le(numbers, &mut bytes);
    Ok((server.store()?, bytes))
}

/// The ledger of one method with the budget of its scenario, in memory if there is no path.
///
/// **Errors**: a ledger that cannot be used.
pub fn ledger<T>(method: &MethodContext<T>, path: Option<&Path>) -> Result<Ledger, DriverError> {
    let Budget { epsilon_max, delta } = method.budget;
    let terms = Terms {
        data: format!("run {}, {}", method.run.index, method.method),
        unit: "agent".into(),
        records: Some(u64::from(method.config.parameters().agents)),
        accounting: if method.method.samples() {
            Accounting::Renyi
        } else {
            Accounting::Gaussian
        },
        epsilon_max: Some(epsilon_max).filter(|epsilon| epsilon.is_finite()),
        delta,
    };
    Ok(match path {
        Some(path) => Ledger::open_simulated(path, &terms)?,
        None => Ledger::in_memory(&terms)?,
    })
}

/// The end of a round as it is reported: what `releases` private releases cost, and what the budget
/// leaves.
///
/// **Errors**: the accountant's.
pub fn spent<T: Scalar>(
    method: &MethodContext<T>,
    ledger: &Ledger,
    releases: u32,
) -> Result<Stage, DriverError> {
    let epsilon = if releases > 0 {
        method.run.shared.epsilon(method.method, releases)
    } else {
        None
    };
    let mut budget = None;
    if let Some(most) = ledger.terms().epsilon_max {
        let spent = if ledger.is_empty() {
            0.0
        } else {
            ledger.spent()?.epsilon
        };
        budget = Some(BudgetLeft {
            left: (most - spent).max(0.0),
            most,
        });
    }
    Ok(Stage::Done { epsilon, budget })
}
