//! Scenarios of the trust model `local`: locally private rewards, three learners, cumulative
//! regret.
//!
//! | module | what it holds |
//! |---|---|
//! | `explain` | who is protected from whom |
//! | `problem` | sums of kernels, light sensors, stocks |
//! | `run` | reporter and learner of one run, all runs in parallel |
//! | [`report`] | table, CSV, the picture of the paper's figure 2 |

pub(crate) mod explain;
pub(crate) mod problem;
pub mod report;
pub(crate) mod run;

pub use problem::digest;
pub use run::{LocalRun, run};

use sordino_experiment::journal::Journal;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, Record};
use sordino_experiment::scenario::Head;
use sordino_experiment::scenario::local::LocalScenario;
use sordino_experiment::scenario::unused::Unused;
use sordino_report::read::RunFiles;
use sordino_report::results::Results;
use sordino_report::view::View;

use super::contract::{Model, ModelError, Options, TrustModel};
use super::jobs;

/// No party is trusted: every user perturbs its own reward.
pub const TRUST: TrustModel = TrustModel {
    name: "local",
    description: "nobody is trusted: every user perturbs its own reward",
    sections: LocalScenario::sections,
    read: |root| Ok(Box::new(LocalScenario::read(root)?)),
};

impl Model for LocalScenario {
    fn head(&self) -> Head {
        self.head.clone()
    }

    fn resolved(&self) -> String {
        LocalScenario::resolved(self)
    }

    fn reads(&self) -> Option<&'static str> {
        self.objective.reads()
    }

    fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        LocalScenario::unused(self, keys)
    }

    fn jobs(&self) -> Vec<String> {
        self.learning
            .methods
            .iter()
            .map(|method| method.name().to_owned())
            .collect()
    }

    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        let runs = run(self, options, progress)?;
        Ok(report::record(self, &runs))
    }

    fn view(&self, files: RunFiles<'_>) -> Result<View, ModelError> {
        let results = Results::read(files).map_err(ModelError::input)?;
        report::view(self, &results).map_err(ModelError::input)
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        Ok(explain::explain(self))
    }

    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        jobs::finished(self, journal, |shorter| &mut shorter.head)
    }
}
