//! # sordino-experiment
//!
//! What is to be run, and what a run leaves: scenarios, objectives, progress, records.
//! [`sordino-sim`] is the simulator.
//!
//! | module | what it holds |
//! |---|---|
//! | [`text`] | user input as messages quote it |
//! | [`mod@pool`] | threads for arithmetic |
//! | [`benchmark`] | test functions by the field's names, designs of points |
//! | [`student`] | the distribution of T, by which paired differences are judged |
//! | [`files`] | bounded reads, atomic writes, one writer to a folder |
//! | [`scenario`] | TOML to plain data: the only home of keys, of all four trust models, of methods |
//! | [`world`] | objectives and faults: who answers queries |
//! | [`progress`] | reports of progress, and who receives them |
//! | [`journal`] | what survives a kill |
//! | [`record`] | what one method did in one run, what an execution leaves |
//! | [`metrics`] | numbers from records |
//! | [`command_line`] | how every program of this family begins, prints and ends |
//!
//! [`sordino-sim`]: https://docs.rs/sordino-sim

#![forbid(unsafe_code)]

pub mod benchmark;
pub mod command_line;
pub mod files;
pub mod journal;
pub mod metrics;
pub mod pool;
pub mod progress;
pub mod record;
pub mod scenario;
pub mod student;
pub mod text;
pub mod world;
