//! # sordino-sim
//!
//! The simulator of sordino: its command-line program, and what a program of your own needs to run
//! scenarios, over functions and with methods of your own.
//!
//! | to … | names |
//! |---|---|
//! | read a scenario, a shipped one or your own TOML | [`Shipped`], [`Scenario`], [`parse`] |
//! | bring functions | [`Family`], [`Objective`]; [`Oracle`] for values alone, asked by [`Question`]; candidates by [`points`] |
//! | bring methods | [`Custom`] of a [`Chooser`] and an [`Aggregator`], which see [`Sight`], [`Ground`], [`Message`] |
//! | join both with a scenario | [`Own`] |
//! | execute in a folder, and go on after an interruption | [`run_in`], with [`Options`] and [`Progress`] |
//! | have a folder's files in memory | [`executed`] |
//! | have the numbers alone | [`Own::results`], [`MethodRun`] |
//! | be the program | [`main`], [`program`] |
//!
//! `examples/own_objective.rs`, `own_method.rs` and `own_posterior.rs` are whole programs. These
//! are all the names that are meant for others. The packages beneath, `sordino-experiment`,
//! `sordino-report`, `sordino-engine`, `sordino-lab` and `sordino-papers`, are rooms of this house:
//! their names change as it does.

mod cli;

pub use cli::{PROGRAMS, Program, main, program};
pub use sordino_engine::federated::custom::{
    Aggregator, Chooser, Custom, CustomError, Ground, Message, Sight,
};
pub use sordino_engine::federated::{DriverError, Own};
pub use sordino_engine::{DriverKind, Model, ModelError, Options, parse};
pub use sordino_experiment::benchmark::design::{Design, points};
pub use sordino_experiment::progress::{Progress, Stage, Step};
pub use sordino_experiment::record::{MethodRun, Record, Summary};
pub use sordino_experiment::scenario::{Scenario, ScenarioError, Shipped};
pub use sordino_experiment::world::oracle::{Oracle, Question};
pub use sordino_experiment::world::{Family, Objective, ObjectiveError};
pub use sordino_lab::execute::{ExecuteError, executed, run_in};
