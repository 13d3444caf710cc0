//! Scenarios of the trust model `local`: locally private rewards, three learners, cumulative regret.
//!
//! | module | what it holds |
//! |---|---|
//! | [`explain`] | who is protected from whom |
//! | [`problem`] | sums of kernels, light sensors, stocks |
//! | [`mod@run`] | reporter and learner of one run, all runs in parallel |
//! | [`report`] | table, CSV, the picture of the paper's figure 2 |

pub mod explain;
pub mod problem;
pub mod report;
pub mod run;

pub use run::{LocalRun, run};

use super::experiment::{Experiment, ExperimentError, Options};
use crate::progress::JobProgress;
use crate::record::{Explanation, Outcome};
use crate::scenario::Head;
use crate::scenario::local::LocalScenario;

impl Experiment for LocalScenario {
    fn head(&self) -> &Head {
        &self.head
    }

    fn resolved(&self) -> String {
        LocalScenario::resolved(self)
    }

    fn execute(&self, options: &Options, progress: JobProgress<'_>) -> Result<Outcome, ExperimentError> {
        let runs = run(self, options, progress)?;
        Ok(report::outcome(self, &runs))
    }

    fn explain(&self) -> Explanation {
        explain::explain(self)
    }
}
