//! # sordino-sim
//!
//! The simulator of sordino, and its command-line program.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cli`] | arguments in, exit code out |
//!
//! All else stands in packages of its own and is named here again, lowest first:
//!
//! | package | modules | what they hold |
//! |---|---|---|
//! | `sordino-experiment` | [`text`], [`mod@pool`], [`benchmark`], [`files`], [`scenario`], [`world`], [`progress`], [`journal`], [`record`], [`metrics`], [`student`], [`command_line`] | what is to be run, and what a run leaves |
//! | `sordino-report` | [`report`], [`paired`] | a function of records: folder, page, figures, tables |
//! | `sordino-engine` | [`model`] | the four trust models: each runs core's parties in a world and leaves a record |
//! | `sordino-lab`, `sordino-papers` | [`study`] | many runs and a judgement: execute, sweep, reproduce, audit |

pub mod cli;

pub use sordino_engine as model;
pub use sordino_experiment::{
    benchmark, command_line, files, journal, metrics, pool, progress, record, scenario, student,
    text, world,
};
pub use sordino_report as report;
pub use sordino_report::paired;

/// Studies: many runs and a judgement.
pub mod study {
    pub use sordino_lab::{command, compare, driver, execute, newcomers, parts, sweep, work};
    pub use sordino_papers::{audit, reproduce};
}
