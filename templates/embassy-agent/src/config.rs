//! This device's own numbers. What the federation has agreed on is in [`federation`](crate::federation), which
//! `sordino export` writes; the parties read both and know no others.
#![cfg_attr(not(all(feature = "agent", feature = "reporter")), allow(dead_code, reason = "one party reads its own"))]

use crate::federation::{BROADCAST_BYTES, UPLOAD_BYTES};

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

/// Bytes of the longest frame in either direction.
pub const FRAME: usize = if UPLOAD_BYTES > BROADCAST_BYTES { UPLOAD_BYTES } else { BROADCAST_BYTES };
