//! This device's own numbers. What the federation has agreed on is in
//! [`federation`](crate::federation), which `sordino export` writes; the parties read both and know
//! no others.
#![cfg_attr(
    not(all(feature = "agent", feature = "reporter")),
    allow(dead_code, reason = "one party reads its own")
)]

use crate::federation::FEATURES;

/// Its place among the agents enrolled, from 0 on: the slot of its invitation.
pub const AGENT: u32 = 3;
/// Its user, for the reporter.
pub const USER: u32 = 7;
/// ε that this user pays for one report, and for all of them together.
pub const EACH: f64 = 0.5;
/// See [`EACH`].
pub const BUDGET: f64 = 2.0;
/// Reports lie in [−BOUND, BOUND]; what is measured beyond it is cut off.
pub const BOUND: f64 = 1.5;

/// The format of numbers in frames.
#[cfg(not(site))]
pub type Scalar = f32;
/// The format of numbers in frames.
#[cfg(site)]
pub type Scalar = f64;
/// Frames after the first at most.
#[cfg(not(site))]
pub const ROUNDS: usize = crate::federation::OBSERVATIONS;
/// Frames after the first.
#[cfg(site)]
pub const ROUNDS: usize = crate::federation::RELEASES;

/// Numbers of the longest frame down.
#[cfg(not(any(member, site)))]
pub const NUMBERS: usize = FEATURES * crate::federation::REGIONS;
/// Numbers of a release, and of a contribution to one.
#[cfg(any(member, site))]
pub const NUMBERS: usize = FEATURES + 1;

/// Bytes of the longest message in either direction.
#[cfg(not(site))]
pub const FRAME: usize = if UP > BROADCAST_BYTES {
    UP
} else {
    BROADCAST_BYTES
};
#[cfg(not(site))]
use crate::federation::BROADCAST_BYTES;
/// Bytes of the longest message up.
#[cfg(not(any(two_servers, site)))]
const UP: usize = crate::federation::UPLOAD_BYTES;
/// Bytes of the longest message up: a frame without numbers, and what is hidden behind it.
#[cfg(two_servers)]
const UP: usize = sordino_core::wire::frame_len_max(sordino_core::wire::ScalarTag::F32, 0)
    + crate::federation::HIDDEN_BYTES;

#[cfg(site)]
pub use of_a_site::{FILE_BYTES, FILE_NUMBERS, FRAME, OPENING, QUESTIONS};

/// Sizes of a site of a campaign.
#[cfg(site)]
mod of_a_site {
    use sordino_core::federated::prior::opening_len;
    use sordino_core::prior::numbers_len;
    use sordino_core::wire::{ScalarTag, frame_len_max};

    use crate::federation::{DIM, FEATURES};

    /// Points that it measures with the file.
    pub const QUESTIONS: usize = 8;
    /// Numbers of what a release is made with.
    pub const OPENING: usize = opening_len(FEATURES);
    /// Bytes of the longest message but the file: what a release is made with.
    pub const FRAME: usize = frame_len_max(ScalarTag::F64, OPENING);
    /// Numbers of the file.
    pub const FILE_NUMBERS: usize = numbers_len(FEATURES, DIM);
    /// Bytes of the file.
    pub const FILE_BYTES: usize = frame_len_max(ScalarTag::F32, FILE_NUMBERS);
}
