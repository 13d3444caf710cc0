//! # sordino-papers
//!
//! What papers say, and whether it holds: by [`sordino-sim`], which has the commands.
//!
//! | module | what it holds |
//! |---|---|
//! | [`reproduce`] | results of the papers, reproduced |
//! | [`audit`] | does the shipped release path lose more than is claimed? |
//!
//! [`sordino-sim`]: https://docs.rs/sordino-sim

#![forbid(unsafe_code)]

pub mod audit;
pub mod reproduce;
