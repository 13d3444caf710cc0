//! Every number of a project, in this one place. The parties read them from here and know no others.
#![cfg_attr(not(all(feature = "agent", feature = "reporter")), allow(dead_code, reason = "one party reads its own"))]

use sordino_core::wire::{ScalarTag, frame_len_max};

// What the federation has agreed on: those who run the server tell you. One number that differs, and the server refuses
// this device's frames.

/// Random number of the deployment, from the server.
pub const DEPLOYMENT: u64 = 1;
/// Agents enrolled.
pub const AGENTS: u32 = 20;
/// Axes of the domain, each from 0 to 1.
pub const DIM: usize = 2;
/// Parts of the domain along each axis.
pub const SPLITS: [u32; DIM] = [2, 1];
/// Points of the grid of candidates along each axis.
pub const POINTS_PER_AXIS: u32 = 16;
/// Points that an agent measures before its first upload.
pub const INITIAL: u32 = 3;
/// Rounds after that.
pub const ROUNDS: u32 = 6;
/// M, shared features, and the public seed that all parties draw them from.
pub const FEATURES: usize = 32;
/// See [`FEATURES`].
pub const FEATURE_SEED: u64 = 7;
/// Lengthscale of their kernel, a fraction of an axis.
pub const LENGTHSCALE: f64 = 0.2;
/// S, the bound on one upload: 1.1·√(M·P) cuts off next to nothing.
pub const CLIPPING_NORM: f64 = 8.8;
/// q, the probability of being in a round's secret sample.
pub const SAMPLING_PROBABILITY: f64 = 0.25;
/// z, the standard deviation of the server's noise over the sensitivity.
pub const NOISE_MULTIPLIER: f64 = 1.0;

// This device.

/// Its place among the agents enrolled, from 0 on.
pub const AGENT: u32 = 3;
/// Its user, for the reporter.
pub const USER: u32 = 7;
/// ε that this user pays for one report, and for all of them together.
pub const EACH: f64 = 0.5;
/// See [`EACH`].
pub const BUDGET: f64 = 2.0;
/// Reports lie in [−BOUND, BOUND]; what is measured beyond it is cut off.
pub const BOUND: f64 = 1.5;

// What follows from them.

/// P, parts of the domain, a vector of a broadcast for each.
pub const REGIONS: usize = (SPLITS[0] * SPLITS[1]) as usize;
/// Bytes of the longest frame in either direction.
pub const FRAME: usize = frame_len_max(ScalarTag::F32, FEATURES * REGIONS);
