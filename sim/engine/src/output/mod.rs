//! Scenarios of the trust model `output`: one party tunes on its own records and publishes a
//! candidate and its score.
//!
//! `worst-case`, the default, is private for every data set. `prior-conditional` is **private only
//! under the GP prior**: for a given data set it promises nothing, and every table and file says
//! so.
//!
//! | module | what it holds |
//! |---|---|
//! | [`problem`] | draws of the prior; a support vector machine on red wines |
//! | [`mod@run`] | tuner and publisher of one run, many releases at every ε, all runs in parallel |
//! | [`report`] | table, CSV, JSON, the picture of utility over ε |
//! | [`explain`] | who is protected from whom |

pub(crate) mod explain;
pub(crate) mod problem;
pub(crate) mod report;
pub(crate) mod run;

use sordino_experiment::journal::Journal;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, Record};
use sordino_experiment::scenario::Head;
use sordino_experiment::scenario::output::OutputScenario;
use sordino_experiment::scenario::unused::Unused;
use sordino_report::read::RunFiles;
use sordino_report::results::Results;
use sordino_report::view::View;

use super::contract::{Model, ModelError, Options, TrustModel};
use super::jobs;

/// One party tunes on its own data and publishes the result.
pub const TRUST: TrustModel = TrustModel {
    name: "output",
    description: "one party tunes on its own data; readers of the result are not trusted",
    sections: OutputScenario::sections,
    read: |root| Ok(Box::new(OutputScenario::read(root)?)),
};

impl Model for OutputScenario {
    fn head(&self) -> Head {
        self.head.clone()
    }

    fn resolved(&self) -> String {
        OutputScenario::resolved(self)
    }

    fn reads(&self) -> Option<&'static str> {
        None
    }

    fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        OutputScenario::unused(self, keys)
    }

    fn jobs(&self) -> Vec<String> {
        vec![run::JOB.to_owned()]
    }

    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        let runs = run::run(self, options, progress)?;
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
