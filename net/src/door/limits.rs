//! What a door allows.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bounds of a door.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at one time.
    pub connections: usize,
    /// Connections of one key: one more ends its oldest.
    pub per_key: u32,
    /// The share of all connections for keys that are not enrolled, so that nobody can fill the
    /// door with new keys.
    pub strangers: usize,
    /// A handshake, a header, a request that stands still: no longer than this.
    pub patience: Duration,
    /// The longest that a question is kept waiting.
    pub wait_max: Duration,
    /// A connection of an enrolled key, whatever happens on it, is over after this; a stranger's
    /// after three times the patience.
    pub session: Duration,
}

/// File handles that no connection may take: ledger, frames, locks, listeners, metrics.
const HANDLES_KEPT: u64 = 256;
/// A server with fewer file handles does not start.
const HANDLES_MIN: u64 = 512;

/// The process may open too few files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this process may open {handles} files, {HANDLES_MIN} are needed at least: raise ulimit -n, or LimitNOFILE"
)]
pub struct TooFewHandles {
    /// Files that it may open.
    pub handles: u64,
}

impl Limits {
    /// These limits in a process that may open this many files: connections never take the handles
    /// that a release needs.
    ///
    /// **Errors**: [`TooFewHandles`] below 512.
    pub fn within(self, handles: u64) -> Result<Self, TooFewHandles> {
        if handles < HANDLES_MIN {
            return Err(TooFewHandles { handles });
        }
        let connections = usize::try_from(handles - HANDLES_KEPT)
            .map_or(self.connections, |most| self.connections.min(most));
        Ok(Limits {
            connections,
            strangers: self.strangers.min(connections / 4),
            ..self
        })
    }

    /// How many files this process may open, after raising its limit as far as these limits need.
    pub fn handles(&self) -> u64 {
        let now = getrlimit(Resource::Nofile);
        let wanted = self.connections as u64 + HANDLES_KEPT;
        // None is no limit.
        let soft = now.current.unwrap_or(u64::MAX);
        let hard = now.maximum.unwrap_or(u64::MAX);
        let raised = wanted.min(hard);
        if soft >= raised {
            return soft;
        }
        match setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(raised),
                maximum: now.maximum,
            },
        ) {
            Ok(()) => raised,
            Err(_refused) => soft,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let patience = Duration::from_secs(20);
        let wait_max = Duration::from_secs(30);
        let session = Duration::from_secs(3600);
        Limits {
            connections: 20_000,
            per_key: 2,
            strangers: 5_000,
            patience,
            wait_max,
            session,
        }
    }
}
