//! The same parties as tasks: tokio for control, a rayon pool of a fixed size for arithmetic.
//!
//! One future for each (run, method) drives its server; in every round each shard of agents is handed to the pool and
//! comes back with its uploads as wire frames, which the server takes in the order of arrival. Nothing of that order
//! reaches a result: sums are integers, leaves are hashed in agent order, regret is summed in agent order.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use rayon::ThreadPool;
use sordino_core::federated::Aggregation;
use sordino_core::math::Scalar;
use tokio::sync::oneshot;

use super::context::MethodContext;
use super::host::{Books, ServerHost};
use super::shard::{RoundStart, Shard};
use super::{DriverError, MethodRun, Progress};

/// Runs `work` on the pool and waits for its result without blocking a thread.
pub async fn on_pool<R: Send + 'static>(
    pool: &ThreadPool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, DriverError> {
    let (sender, receiver) = oneshot::channel();
    pool.spawn(move || {
        // The receiver is gone only if the execution was given up; then nobody misses the result.
        let _ = sender.send(work());
    });
    receiver.await.map_err(|_| DriverError::WorkerLost)
}

/// Splits N agents into at most `shards` runs of consecutive agents of nearly equal length.
pub fn split<T: Scalar>(method: &MethodContext<T>, shards: u32) -> Result<Vec<Shard<T>>, DriverError> {
    let agents = method.config.parameters().agents;
    let shards = shards.clamp(1, agents);
    let edge = |i: u32| (u64::from(agents) * u64::from(i) / u64::from(shards)) as u32;
    (0..shards).map(|i| Shard::new(method, edge(i), edge(i + 1) - edge(i))).collect()
}

/// Runs one method from beginning to end on `pool`, its agents in `shards` parts.
pub async fn run_method<T: Scalar>(
    pool: &ThreadPool,
    method: Arc<MethodContext<T>>,
    shards: u32,
    progress: &dyn Progress,
) -> Result<MethodRun, DriverError> {
    let (rounds, shared) = {
        let parameters = method.config.parameters();
        (parameters.rounds, parameters.aggregation != Aggregation::None)
    };
    let mut shards = split(&method, shards)?;
    let mut server = ServerHost::new(&method)?;
    let mut books = Books::new(&method);
    for round in 0..=rounds {
        let (last, broadcast) = (round == rounds, server.broadcast().map(Arc::<[T]>::from));
        let collecting = shared && !last;
        if collecting {
            server.open(&method)?;
        }
        let mut working = FuturesUnordered::new();
        let count = shards.len();
        for (position, mut shard) in shards.drain(..).enumerate() {
            let (method, broadcast) = (method.clone(), broadcast.clone());
            working.push(on_pool(pool, move || {
                let start = match (&broadcast, round) {
                    (_, 0) => RoundStart::First,
                    (Some(vectors), _) => RoundStart::Broadcast(vectors),
                    (None, _) => RoundStart::NoBroadcast,
                };
                shard.advance(&method, start).map(|()| (position, shard))
            }));
        }
        let mut back: Vec<Option<Shard<T>>> = (0..count).map(|_| None).collect();
        while let Some(arrived) = working.next().await {
            let (position, shard) = arrived??;
            back[position] = if collecting {
                let method = method.clone();
                let (result, host, shard) = on_pool(pool, move || {
                    let result = server.collect(&method, &shard);
                    (result, server, shard)
                })
                .await?;
                server = host;
                result?;
                Some(shard)
            } else {
                Some(shard)
            };
        }
        shards = back.into_iter().flatten().collect();
        let (result, host, all, book) = {
            let method = method.clone();
            on_pool(pool, move || {
                let result = if collecting { server.close(&method) } else { Ok(()) };
                books.end_round(&method, &shards, &server, last);
                (result, server, shards, books)
            })
            .await?
        };
        result?;
        (server, shards, books) = (host, all, book);
        progress.advance(method.run.index, method.method, round, "agents");
    }
    Ok(books.close())
}
