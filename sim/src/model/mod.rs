//! Experiments of the trust models beside `federated`, whose runs have no rounds of broadcasts: one frame for all.
//!
//! A scenario reads itself, executes itself and hands back what is shown and written; `sordino run` does the rest.
//!
//! | module | trust model |
//! |---|---|
//! | [`local`] | nobody trusted: every user perturbs the own reward |
//! | [`outsourced`] | a curator's inputs, a modeler that sees them transformed |
//! | [`output`] | one party tunes and publishes: private releases beside the best and a random candidate |

pub mod federated;
pub mod local;
pub mod output;
pub mod outsourced;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::journal::jobs;
use crate::scenario::Trust;
use crate::scenario::local::LocalScenario;
use crate::scenario::output::OutputScenario;
use crate::scenario::outsourced::OutsourcedScenario;
use crate::scenario::reader::{Problem, Section};

/// What every scenario has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Head {
    /// The trust model.
    pub trust: Trust,
    /// Name in tables and folders.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Seed of everything that is simulated.
    pub seed: u64,
    /// Number of runs, at least 1.
    pub runs: u32,
}

impl Head {
    /// Takes the keys that every scenario has.
    fn read(trust: Trust, root: &mut Section) -> Result<Head, Problem> {
        root.text("trust")?;
        Ok(Head {
            trust,
            name: root.text("name")?,
            description: root.text("description")?,
            seed: root.integer("seed", 0..=i64::MAX as u64, Some(0))?,
            runs: root.integer("runs", 1..=100_000, Some(10))? as u32,
        })
    }
}

/// Reads a scenario of a trust model other than `federated`.
pub(crate) fn read(trust: Trust, mut root: Section) -> Result<Box<dyn Experiment>, Problem> {
    let head = Head::read(trust, &mut root)?;
    match head.trust {
        Trust::Local => Ok(Box::new(LocalScenario::read(head, root)?)),
        Trust::Outsourced => Ok(Box::new(OutsourcedScenario::read(head, root)?)),
        Trust::Output => Ok(Box::new(OutputScenario::read(head, root)?)),
        // Its scenarios are another type, read elsewhere.
        Trust::Federated => Err(Problem::Value {
            key: "trust".into(),
            value: format!("\"{}\"", trust.name()),
            admissible: "\"outsourced\", \"local\", \"output\"".into(),
        }),
    }
}

/// How to execute; none of it changes a result.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads for arithmetic; `None` is all cores.
    pub threads: Option<NonZeroUsize>,
    /// File or folder of scenarios that read data.
    pub data: Option<PathBuf>,
    /// Where finished jobs are kept.
    pub journal: Option<Arc<jobs::Journal>>,
    /// Set from outside: no further job is begun.
    pub stop: Option<Arc<AtomicBool>>,
}

/// Told how far an execution has come: (jobs done, jobs in all, what was done last). Called from any thread.
pub type Progress<'a> = &'a (dyn Fn(u64, u64, &str) + Sync);

/// What an execution leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The text on the terminal.
    pub table: String,
    /// The same for programs.
    pub summary: serde_json::Value,
    /// Further files of the run folder: (name, text).
    pub files: Vec<(&'static str, String)>,
}

/// Why an execution ended early; says so in one line.
#[derive(Debug)]
pub enum ExperimentError {
    /// The scenario, its settings or its data do not fit: exit code 2.
    Input(String),
    /// Anything else.
    Failure(String),
    /// Somebody asked for it; finished jobs are in the journal.
    Interrupted,
}

impl std::fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExperimentError::Input(text) | ExperimentError::Failure(text) => f.write_str(text),
            ExperimentError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for ExperimentError {}

/// Who is protected from whom: sentences under four questions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Who is protected from whom.
    pub protected: Vec<String>,
    /// Which inputs are compared.
    pub relation: Vec<String>,
    /// What is not protected.
    pub not_protected: Vec<String>,
    /// What it costs.
    pub cost: Vec<String>,
}

/// A scenario that is ready to be executed.
pub trait Experiment: std::fmt::Debug + Send + Sync {
    /// Name, seed, runs.
    fn head(&self) -> &Head;

    /// The scenario with every default written out: TOML that reads back as the same scenario.
    fn resolved(&self) -> String;

    /// Executes all runs of all methods.
    ///
    /// **Errors**: [`ExperimentError`]; the first that occurred ends the execution.
    fn execute(&self, options: &Options, progress: Progress<'_>) -> Result<Outcome, ExperimentError>;

    /// What its releases promise, in plain words.
    fn explain(&self) -> Explanation;

    /// What `--data` must name; nothing if no data are read.
    fn reads(&self) -> Option<&'static str> {
        None
    }

    /// The scenario as one of trust model `local`, if it is.
    fn as_local(&self) -> Option<&LocalScenario> {
        None
    }
}
