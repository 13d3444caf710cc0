//! # sordino-sim
//!
//! The simulator of sordino: scenarios, objectives, drivers, reports. The command line `sordino` is a thin layer over
//! this library.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scenario`] | TOML read once into valid values; the shipped scenarios |
//! | [`objective`] | the functions that are optimised |
//! | [`fault`] | what goes wrong on links and machines |
//! | [`fabric`] | the one collective: an order to all members, partial sums back |
//! | [`driver`] | who executes the parties |
//! | [`files`] | bounded reads, atomic writes, one writer to a folder |
//! | [`checkpoint`] | what outlives the program |
//! | [`mod@execute`] | one scenario into one run folder |
//! | [`sweep`] | grids of scenarios, each run in a folder of its own |
//! | [`experiment`] | scenarios of the other trust models: one frame for all |
//! | [`metrics`] | what the runs amount to |
//! | [`privacy`] | the audit of the shipped release path |
//! | [`report`] | tables, JSON, figures, the run folder |
//! | [`reproduce`] | what of the papers comes out |
//! | [`text`] | what users wrote, quoted in messages |
//! | [`cli`] | arguments, progress, logging; `sordino tune` with its durable ledger |

pub mod checkpoint;
pub mod cli;
pub mod driver;
pub mod execute;
pub mod experiment;
pub mod fabric;
pub mod fault;
pub mod files;
pub mod metrics;
pub mod objective;
pub mod privacy;
pub mod report;
pub mod reproduce;
pub mod scenario;
pub mod sweep;
pub mod text;
