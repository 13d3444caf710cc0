//! Work that waits for the disk.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Waits for the disk, which may take as long as a round, without holding up other tasks if the
/// runtime has more than one thread.
pub(crate) fn beside<R>(work: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
