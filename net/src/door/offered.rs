//! What a door has for anybody, and what it counts.

use std::sync::atomic::AtomicU64;

use axum::body::Bytes;

/// What anybody may fetch, a function of what was announced: it costs nobody anything more, whoever reads it.
#[derive(Clone, Debug, Default)]
pub struct Offered {
    /// The file of a campaign's releases so far; empty if there is none.
    pub file: Bytes,
    /// Its numbers, a frame in single precision; empty if there is none.
    pub numbers: Bytes,
    /// What the release that is open is made with, a frame, and its round; nothing after the last, and of other methods.
    pub opening: Option<(u32, Bytes)>,
}

/// What a door counts, for metrics.
#[derive(Debug, Default)]
pub struct Counts {
    /// Handshakes that failed.
    pub tls_failures: AtomicU64,
    /// Requests by the first digit of their status: 2, 4, 5.
    pub requests: [AtomicU64; 3],
}
