//! Scenario `firmware`, method `dp-fts-de`, for a device: written by `sordino export`, not by hand.
//!
//! Seeds. Public: feature seed 0 (run 0), from which every party draws the same
//! features, and deployment aa9017f143eb1b4f, a random number drawn once for the federation.
//! Secret: the seed of the agent's own draws (RunSeed::new(word, 0)). Draw its word from the
//! device's entropy once in its life and store it with the state; never take it from a scenario,
//! a serial number or another device, and never send it: who knows it knows what of an upload is
//! data and what is noise of the draw. The privacy of a release does not rest on it: that noise
//! is the server's. Coins of mixing and initial points come from the same seed: nothing else is
//! random on a device.

use sordino_core::domain::{Candidates, DomainError};
use sordino_core::features::random_fourier::storage_len;
use sordino_core::federated::exchange::{Agreement, AgreementError};
use sordino_core::federated::{AgentState, Entry, Sizes, small};
use sordino_core::snapshot::max_bytes;
use sordino_core::wire::{ScalarTag, frame_len_max};

/// The format that agents compute with and frames carry.
pub type Number = f32;
/// D, axes of the domain.
pub const DIM: usize = 1;
/// M, shared features.
pub const FEATURES: usize = 64;
/// P, sub-regions, a vector of a broadcast for each.
pub const REGIONS: usize = 2;
/// N_init + T, observations of a whole run.
pub const OBSERVATIONS: usize = 36;
/// Memory of the agent.
pub const SIZES: Sizes = Sizes::new(DIM, FEATURES, OBSERVATIONS);
/// Numbers of the features, drawn once a boot.
pub const FEATURES_LEN: usize = storage_len(DIM, FEATURES);
/// Bytes of the longest upload.
pub const UPLOAD_BYTES: usize = frame_len_max(ScalarTag::F32, FEATURES);
/// Bytes of an upload in 16 bits a number.
pub const SMALL_UPLOAD_BYTES: usize = small::frame_len(FEATURES);
/// Bytes of the longest broadcast.
pub const BROADCAST_BYTES: usize = frame_len_max(ScalarTag::F32, FEATURES * REGIONS);
/// Bytes of a stored state.
pub const STATE_BYTES: usize = max_bytes::<AgentState>();
/// Bytes of a stored observation.
pub const ENTRY_BYTES: usize = max_bytes::<Entry<Number>>();
/// Digest of the agreement; frames carry its first 64 bits.
#[rustfmt::skip]
pub const DIGEST: [u8; 32] = [
    0x58, 0x86, 0x4f, 0x7b, 0x41, 0x36, 0x4b, 0x9c, 0x58, 0xe4, 0xd8, 0x96, 0x3e, 0x44, 0xd1, 0x97,
    0x5a, 0x8f, 0xac, 0xaf, 0x8f, 0x0a, 0x98, 0x85, 0x79, 0x35, 0x6d, 0xaa, 0x94, 0x92, 0xcc, 0x53,
];
/// The agreement, as `Agreement::from_bytes` reads it.
#[rustfmt::skip]
pub const AGREEMENT: [u8; 157] = [
    0x00, 0x08, 0x01, 0x02, 0x06, 0x1e, 0x00, 0x40, 0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84, 0x3f,
    0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2e, 0x40, 0x0a, 0x1e, 0x02, 0x2f, 0x28, 0xbf,
    0x70, 0xe1, 0xe3, 0x28, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd0, 0x3f, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0xf0, 0x3f, 0x14, 0x00, 0x00, 0x00, 0x00, 0x9a, 0x99, 0x99, 0x99, 0x99, 0x99,
    0xb9, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x01, 0x3a, 0x8c, 0x30, 0xe2, 0x8e,
    0x79, 0x45, 0x3e, 0xf5, 0x2b, 0x9d, 0x61, 0x75, 0x92, 0x0d, 0x69, 0x06, 0x9f, 0x8a, 0xa3, 0x85,
    0x26, 0x48, 0xcb, 0x40, 0xd1, 0x43, 0xab, 0x00, 0xb1, 0xbf, 0xdd, 0x64, 0x20, 0x3a, 0x60, 0x65,
    0x6d, 0x00, 0x1a, 0x01, 0x00, 0xcf, 0xb6, 0xac, 0x9f, 0x94, 0xfe, 0x85, 0xc8, 0xaa, 0x01, 0x00,
    0x3c, 0x53, 0xce, 0xbc, 0xf8, 0xfd, 0xb9, 0x3f, 0x80, 0xae, 0xa6, 0x0a, 0x00,
];
/// Points along one axis of the grid of candidates.
pub const POINTS_PER_AXIS: u32 = 64;

/// The points that may be queried. **Errors**: none for these numbers.
pub fn candidates() -> Result<Candidates<'static, Number>, DomainError> {
    Candidates::grid(POINTS_PER_AXIS, DIM)
}

/// What all parties agree on. **Errors**: none for the bytes above.
pub fn agreement() -> Result<Agreement, AgreementError> {
    Agreement::from_bytes(&AGREEMENT)
}
