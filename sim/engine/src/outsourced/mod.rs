//! Scenarios of the trust model `outsourced`: a curator's inputs, a modeler that sees them
//! transformed, simple regret.
//!
//! **The paper's projection is not differentially private**; every table, file and picture says so.
//! `gaussian-projection` is private for a shift of one row by at most 1 in prepared units, and for
//! nothing else.
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | grids, Branin's function, named columns of a CSV file; preparation with public constants |
//! | `machines` | curator and modeler from beginning to end |
//! | `run` | all runs of all methods in parallel |
//! | `report` | table, CSV, JSON, the picture |
//! | `explain` | who is protected from whom |

pub(crate) mod explain;
pub(crate) mod machines;
pub(crate) mod report;
pub(crate) mod run;
pub mod table;

pub use machines::{Method, Problem};

use sordino_experiment::journal::Journal;
use sordino_experiment::progress::Progress;
use sordino_experiment::record::{Explanation, Record};
use sordino_experiment::scenario::Head;
use sordino_experiment::scenario::outsourced::OutsourcedScenario;
use sordino_experiment::scenario::unused::Unused;
use sordino_report::read::RunFiles;
use sordino_report::results::Results;
use sordino_report::view::View;

use super::contract::{Model, ModelError, Options, TrustModel};
use super::jobs;

/// A curator holds the inputs; the party that optimises sees a projection of them.
pub const TRUST: TrustModel = TrustModel {
    name: "outsourced",
    description: "a curator holds the inputs; whoever optimises is not trusted",
    sections: OutsourcedScenario::sections,
    read: |root| Ok(Box::new(OutsourcedScenario::read(root)?)),
};

impl Model for OutsourcedScenario {
    fn head(&self) -> Head {
        self.head.clone()
    }

    fn resolved(&self) -> String {
        OutsourcedScenario::resolved(self)
    }

    fn reads(&self) -> Option<&'static str> {
        self.objective.reads()
    }

    fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        OutsourcedScenario::unused(self, keys)
    }

    fn jobs(&self) -> Vec<String> {
        run::Compared::of(self)
            .iter()
            .map(run::Compared::name)
            .collect()
    }

    fn compute(&self, options: &Options, progress: &dyn Progress) -> Result<Record, ModelError> {
        let source = table::Source::load(self, options.data.as_deref())?;
        let runs = run::run(self, &source, options, progress)?;
        Ok(report::record(self, &source, &runs))
    }

    fn view(&self, files: RunFiles<'_>) -> Result<View, ModelError> {
        report::view(self, &Results::read(files).map_err(ModelError::input)?)
    }

    fn explain(&self) -> Result<Explanation, ModelError> {
        Ok(explain::explain(self))
    }

    fn finished(&self, journal: &Journal) -> Result<Option<Box<dyn Model>>, ModelError> {
        jobs::finished(self, journal, |shorter| &mut shorter.head)
    }
}
