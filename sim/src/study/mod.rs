//! Studies: many runs and a judgement.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@execute`] | one scenario into one run folder |
//! | [`sweep`] | grids of scenarios, each run in a folder of its own |
//! | [`compare`] | run folders compared |
//! | [`newcomers`] | what a prior file is worth to newcomers, beside its twins |
//! | [`reproduce`] | results of the papers, reproduced |
//! | [`audit`] | does the shipped release path lose more than is claimed? |

pub mod audit;
pub mod compare;
pub mod execute;
pub mod newcomers;
pub mod parts;
pub mod reproduce;
pub mod sweep;
