//! A sweep: every combination of some keys' values, under every seed, each in a run folder of its
//! own.
//!
//! | module | what it holds |
//! |---|---|
//! | [`grid`] | which runs there are; refused as a whole if one of them is not admissible |
//! | [`index`] | their outcomes: `index.json`, `index.csv`, `summary.csv` |
//! | `folder` | the sweep's folder: new, resumed, or another sweep's |
//! | `compared`, [`paired`] | every method minus the first, run by run, in every combination |
//! | `panels` | what its pictures share |
//! | [`table`], [`pictures`], [`page`] | its table and pictures as files; all of it on one page |
//!
//! Runs of equal seed are paired over the whole grid: run i meets the same functions, initial
//! points and coins wherever the keys leave them the same. Nothing in the folder depends on
//! threads, on the order in which runs end, or on interruptions.

pub(crate) mod compared;
pub(crate) mod folder;
pub mod grid;
pub mod index;
pub mod page;
pub mod paired;
mod panels;
pub mod pictures;
pub mod table;

pub use folder::{SweepError, SweepFolder};
pub use grid::{Axis, GridError, Plan, Point};
pub use index::{Entry, Index, Kept, Status};
