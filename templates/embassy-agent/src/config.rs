//! This device's own numbers. What the federation has agreed on is in [`federation`](crate::federation), which
//! `sordino export` writes; the parties read both and know no others.
#![cfg_attr(not(all(feature = "agent", feature = "reporter")), allow(dead_code, reason = "one party reads its own"))]

use crate::federation::{BROADCAST_BYTES, FEATURES};

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

/// Numbers of the longest frame down.
#[cfg(not(member))]
pub const NUMBERS: usize = FEATURES * crate::federation::REGIONS;
/// Numbers of a release, and of a contribution to one.
#[cfg(member)]
pub const NUMBERS: usize = FEATURES + 1;

/// Bytes of the longest message up.
#[cfg(not(two_servers))]
const UP: usize = crate::federation::UPLOAD_BYTES;
/// Bytes of the longest message up: a frame without numbers, and what is hidden behind it.
#[cfg(two_servers)]
const UP: usize =
    sordino_core::wire::frame_len_max(sordino_core::wire::ScalarTag::F32, 0) + crate::federation::HIDDEN_BYTES;
/// Bytes of the longest message in either direction.
pub const FRAME: usize = if UP > BROADCAST_BYTES { UP } else { BROADCAST_BYTES };
