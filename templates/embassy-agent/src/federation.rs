//! Scenario `embassy-agent`, method `dp-fts-de`, for a device: written by `sordino export`, not by hand.
//!
//! Seeds. Public: feature seed 0 (run 0), from which every party draws the same
//! features, and deployment a28468ea2ad3f1d8, a random number drawn once for the federation.
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
pub const DIM: usize = 2;
/// M, shared features.
pub const FEATURES: usize = 32;
/// P, sub-regions, a vector of a broadcast for each.
pub const REGIONS: usize = 2;
/// N_init + T, observations of a whole run.
pub const OBSERVATIONS: usize = 9;
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
    0x44, 0xbc, 0x88, 0x75, 0x82, 0xed, 0xb0, 0x94, 0x64, 0xc3, 0xe3, 0x3e, 0x26, 0x34, 0x64, 0xfd,
    0x3e, 0xb8, 0x0e, 0xc4, 0x5e, 0x27, 0x88, 0x12, 0xa4, 0xc9, 0x7c, 0x2a, 0x54, 0xb5, 0x23, 0x8f,
];
/// The agreement, as `Agreement::from_bytes` reads it.
#[rustfmt::skip]
pub const AGREEMENT: [u8; 158] = [
    0x00, 0x14, 0x02, 0x02, 0x01, 0x06, 0x03, 0x00, 0x20, 0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84,
    0x3f, 0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2e, 0x40, 0x0a, 0x1e, 0x02, 0x9a, 0x99,
    0x99, 0x99, 0x99, 0x99, 0x21, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd0, 0x3f, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x14, 0x00, 0x00, 0x00, 0x00, 0x9a, 0x99, 0x99, 0x99, 0x99,
    0x99, 0xc9, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x01, 0x3a, 0x8c, 0x30, 0xe2,
    0x8e, 0x79, 0x45, 0x3e, 0xd5, 0xfe, 0x37, 0x24, 0xf8, 0x50, 0x53, 0xae, 0x50, 0x42, 0x35, 0xcf,
    0xef, 0x88, 0x88, 0x98, 0x4e, 0x72, 0xc9, 0x1d, 0xa5, 0xc7, 0xd2, 0x0e, 0x6f, 0xcc, 0xbf, 0xfb,
    0x65, 0x48, 0x76, 0x2c, 0x02, 0x00, 0xd8, 0xe3, 0xcf, 0xd6, 0xa2, 0x9d, 0x9a, 0xc2, 0xa2, 0x01,
    0x00, 0x4b, 0xd8, 0x15, 0x46, 0x19, 0xf9, 0xa2, 0x3f, 0x80, 0xae, 0xa6, 0x0a, 0x00,
];
/// Points along one axis of the grid of candidates.
pub const POINTS_PER_AXIS: u32 = 16;

/// The points that may be queried. **Errors**: none for these numbers.
pub fn candidates() -> Result<Candidates<'static, Number>, DomainError> {
    Candidates::grid(POINTS_PER_AXIS, DIM)
}

/// What all parties agree on. **Errors**: none for the bytes above.
pub fn agreement() -> Result<Agreement, AgreementError> {
    Agreement::from_bytes(&AGREEMENT)
}
