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

use super::experiment::{Experiment, ExperimentError, Options};
use crate::progress::JobProgress;
use crate::record::{Explanation, Outcome};
use crate::scenario::Head;
use crate::scenario::outsourced::OutsourcedScenario;

impl Experiment for OutsourcedScenario {
    fn head(&self) -> &Head {
        &self.head
    }

    fn resolved(&self) -> String {
        OutsourcedScenario::resolved(self)
    }

    fn execute(&self, options: &Options, progress: JobProgress<'_>) -> Result<Outcome, ExperimentError> {
        let source = table::Source::load(self, options.data.as_deref())?;
        let runs = run::run(self, &source, options, progress)?;
        report::outcome(self, &source, &runs)
    }

    fn explain(&self) -> Explanation {
        explain::explain(self)
    }
}
