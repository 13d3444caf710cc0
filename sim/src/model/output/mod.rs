//! Scenarios of the trust model `output`: one party tunes on its own records and publishes a candidate and its score.
//!
//! `worst-case`, the default, is private for every data set. `prior-conditional` is **private only under the GP prior**:
//! for a given data set it promises nothing, and every table and file says so.
//!
//! | module | what it holds |
//! |---|---|
//! | [`problem`] | draws of the prior; a support vector machine on red wines |
//! | [`mod@run`] | tuner and publisher of one run, many releases at every ε, all runs in parallel |
//! | [`report`] | table, CSV, JSON, the picture of utility over ε |
//! | [`explain`] | who is protected from whom |

pub mod explain;
pub mod problem;
pub mod report;
pub mod run;

use super::experiment::{Experiment, ExperimentError, Options};
use crate::progress::JobProgress;
use crate::record::{Explanation, Outcome};
use crate::scenario::Head;
use crate::scenario::output::OutputScenario;

impl Experiment for OutputScenario {
    fn head(&self) -> &Head {
        &self.head
    }

    fn resolved(&self) -> String {
        OutputScenario::resolved(self)
    }

    fn execute(&self, options: &Options, progress: JobProgress<'_>) -> Result<Outcome, ExperimentError> {
        let runs = run::run(self, options, progress)?;
        Ok(report::outcome(self, &runs))
    }

    fn explain(&self) -> Explanation {
        explain::explain(self)
    }
}
