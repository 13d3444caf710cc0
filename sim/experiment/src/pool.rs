//! Threads for arithmetic.

use std::num::NonZeroUsize;
use std::sync::Arc;

/// The threads could not be started.
#[derive(Debug, thiserror::Error)]
#[error("no threads: {0}")]
pub struct PoolError(#[source] rayon::ThreadPoolBuildError);

/// A pool of this number of threads; of all cores if no number is given.
///
/// **Errors**: [`PoolError`].
pub fn pool(threads: Option<NonZeroUsize>) -> Result<Arc<rayon::ThreadPool>, PoolError> {
    let threads = threads
        .or(std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(PoolError)?;
    Ok(Arc::new(pool))
}
