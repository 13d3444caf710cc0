//! # sordino-lab
//!
//! Many runs of [`sordino-sim`], and what they say beside each other.
//!
//! | module | what it holds |
//! |---|---|
//! | [`compare`] | run folders compared |
//! | [`mod@execute`] | one scenario into one run folder |
//! | [`newcomers`] | what a prior file is worth to newcomers, beside its twins |
//! | [`sweep`] | grids of scenarios, each run in a folder of its own |
//! | [`parts`] | one execution by several processes, put together |
//! | [`command`] | `sordino run`: arguments in, a table and a folder out |
//!
//! [`sordino-sim`]: https://docs.rs/sordino-sim

#![forbid(unsafe_code)]

pub mod command;
pub mod compare;
pub mod execute;
pub mod newcomers;
pub mod parts;
pub mod sweep;
