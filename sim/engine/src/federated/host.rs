//! The simulated server: the host of every server, with simulated coins and noise and a ledger that
//! says so.

use std::path::Path;

use sordino_core::math::Scalar;
use sordino_experiment::progress::Stage;
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::server::{Hosted, SimulatedSources};

use super::collective::Partial;
use super::context::MethodContext;
use super::error::DriverError;

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

/// The ledger of one method with the budget of its scenario, in memory if there is no path.
///
/// **Errors**: a ledger that cannot be used.
pub fn ledger<T>(method: &MethodContext<T>, path: Option<&Path>) -> Result<Ledger, DriverError> {
    let (epsilon_max, delta) = method.budget;
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
pub fn spent<T: Scalar>(method: &MethodContext<T>, ledger: &Ledger, releases: u32) -> Stage {
    let epsilon = if releases > 0 {
        method.run.shared.epsilon(method.method, releases)
    } else {
        None
    };
    let budget = ledger.terms().epsilon_max.and_then(|most| {
        let spent = if ledger.is_empty() {
            0.0
        } else {
            ledger.spent().ok()?.epsilon
        };
        Some(((most - spent).max(0.0), most))
    });
    Stage::Done { epsilon, budget }
}
