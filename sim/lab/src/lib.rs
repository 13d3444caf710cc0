//! # sordino-lab
//!
//! Runs of [`sordino-sim`]: one, as a command; many, and what they say beside each other.
//!
//! | module | what it holds |
//! |---|---|
//! | [`compare`] | run folders compared |
//! | [`mod@execute`] | one scenario in one run folder |
//! | [`newcomers`] | what a prior file is worth to newcomers, beside its twins |
//! | [`privacy`] | what releases cost, by every accountant |
//! | [`sweep`] | grids of scenarios, each run in a folder of its own |
//! | [`work`] | what is to be done of a run or a sweep: units, jobs, and whose they are |
//! | [`parts`] | one execution by several processes, put together |
//! | [`driver`] | does it on all cores: a sweep, or a part of anything |
//! | [`command`] | `sordino run`: arguments in, a table and a folder out |
//!
//! [`sordino-sim`]: https://docs.rs/sordino-sim

#![forbid(unsafe_code)]

pub mod command;
pub mod compare;
pub mod driver;
pub mod execute;
pub mod newcomers;
pub mod parts;
pub mod privacy;
pub mod sweep;
pub mod work;
