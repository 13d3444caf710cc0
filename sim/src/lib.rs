//! # sordino-sim
//!
//! The simulator of sordino: scenarios, objectives, drivers, reports. The command-line program `sordino` is a thin
//! layer over this library.
//!
//! | module | what it holds |
//! |---|---|
//! | [`text`] | user input as messages quote it |
//! | [`mod@pool`] | threads for arithmetic |
//! | [`benchmark`] | test functions by the field's names, designs of points |
//! | [`paired`] | tests of paired differences |
//! | [`files`] | bounded reads, atomic writes, one writer to a folder |
//! | [`scenario`] | TOML to plain data: the only home of keys, of all four trust models, of methods |
//! | [`world`] | objectives and faults: who answers queries |
//! | [`progress`] | reports of progress, and who receives them |
//! | [`record`] | what one method did in one run, what an execution leaves |
//! | [`metrics`] | numbers from records |
//! | [`journal`] | what survives a kill |
//! | [`report`] | a function of records: folder, page, figures, tables |
//! | [`model`] | the four trust models: each runs core's parties in a world and leaves a record |
//! | [`study`] | many runs and a judgement: execute, sweep, reproduce, audit |
//! | [`cli`] | arguments in, exit code out |

pub mod benchmark;
pub mod cli;
pub mod files;
pub mod journal;
pub mod metrics;
pub mod model;
pub mod paired;
pub mod pool;
pub mod progress;
pub mod record;
pub mod report;
pub mod scenario;
pub mod study;
pub mod text;
pub mod world;
