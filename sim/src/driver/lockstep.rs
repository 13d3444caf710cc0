//! The reference: one thread, virtual time, parties in index order.

use sordino_core::federated::Aggregation;
use sordino_core::math::Scalar;

use super::context::MethodContext;
use super::host::{Books, ServerHost};
use super::shard::{RoundStart, Shard};
use super::{DriverError, MethodRun, Progress};

/// Runs one method from beginning to end.
pub fn run_method<T: Scalar>(method: &MethodContext<T>, progress: &dyn Progress) -> Result<MethodRun, DriverError> {
    let parameters = method.config.parameters();
    let shared = parameters.aggregation != Aggregation::None;
    let mut shards = [Shard::new(method, 0, parameters.agents)?];
    let mut server = ServerHost::new(method)?;
    let mut books = Books::new(method);
    for round in 0..=parameters.rounds {
        let start = match round {
            0 => RoundStart::First,
            _ => server.broadcast().map_or(RoundStart::NoBroadcast, RoundStart::Broadcast),
        };
        shards[0].advance(method, start)?;
        let last = round == parameters.rounds;
        if shared && !last {
            server.open(method)?;
            server.collect(method, &shards[0])?;
            server.close(method)?;
        }
        books.end_round(method, &shards, &server, last);
        progress.advance(method.run.index, method.method, round, "agents");
    }
    Ok(books.close())
}
