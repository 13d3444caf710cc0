//! Scenarios of the trust model `outsourced`: a curator's inputs, a modeler that sees them transformed, simple regret.
//!
//! **Not differentially private**: the paper's projection, in every table, file and picture. Private:
//! `gaussian-projection`, for a shift of one row by at most 1 in prepared units, and nothing else.
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | grids, Branin's function, named columns of a CSV file; preparation with public constants |
//! | [`machines`] | curator and modeler from beginning to end |
//! | [`mod@run`] | all runs of all methods in parallel |
//! | [`report`] | table, CSV, JSON, the picture |
//! | [`explain`] | who is protected from whom |

pub mod explain;
pub mod machines;
pub mod report;
pub mod run;
pub mod table;

pub use machines::{Method, Problem};

use super::{Experiment, ExperimentError, Explanation, Head, Options, Outcome, Progress};
use crate::scenario::outsourced::OutsourcedScenario;

impl Experiment for OutsourcedScenario {
    fn head(&self) -> &Head {
        &self.head
    }

    fn resolved(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}"))
    }

    fn execute(&self, options: &Options, progress: Progress<'_>) -> Result<Outcome, ExperimentError> {
        let source = table::Source::load(self, options.data.as_deref())?;
        let runs = run::run(self, &source, options, progress)?;
        report::outcome(self, &source, &runs)
    }

    fn explain(&self) -> Explanation {
        explain::explain(self)
    }

    fn reads(&self) -> Option<&'static str> {
        matches!(self.objective, crate::scenario::outsourced::OutsourcedObjective::Csv(_)).then_some("a CSV file")
    }
}
