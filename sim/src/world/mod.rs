//! Who answers queries: a family of functions, one for each agent, over one finite candidate list; and what goes wrong
//! on the way.
//!
//! | module | functions |
//! |---|---|
//! | [`gp_sample`] | a draw of a Gaussian process on a grid, perturbed for each agent |
//! | [`tuning`] | test AUC of a support vector machine over (C, γ), one data set for each agent |
//! | [`landmine`] | the data sets of 29 mine fields, read from a CSV file |
//! | [`winequality`] | the data sets of 16 buyers of red wine, compiled in |
//! | [`fault`] | what goes wrong on links and machines |
//! | [`auc`] | area under the ROC curve |

use std::path::Path;

use sordino_core::random::RunSeed;

use crate::scenario::{ObjectiveConfig, Scenario};

pub mod auc;
mod error;
pub mod fault;
pub mod gp_sample;
pub mod landmine;
pub mod tuning;
pub mod winequality;

pub use error::ObjectiveError;

/// A family of functions, one for each agent, over a shared finite candidate list in the unit box. We maximise.
pub trait Objective: Send + Sync {
    /// Number of agents, hence of functions.
    fn agents(&self) -> u32;
    /// Dimension D of a candidate.
    fn dim(&self) -> usize;
    /// The candidates, row-major, n·D numbers in [0, 1].
    fn candidates(&self) -> &[f64];
    /// The number of candidates n.
    fn candidate_count(&self) -> u32;
    /// Noise-free value. Kept once it is known where it is expensive.
    ///
    /// **Panics**: if there is no such candidate or agent.
    fn value(&self, agent: u32, candidate: u32) -> f64;
    /// What the agent sees in its observation number `observation`. The noise is keyed by (run seed, agent,
    /// observation), so that methods are paired.
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64;
    /// The value regret is measured against: the largest of the agent's own noise-free values over the candidates, or
    /// where that is not known the largest possible value. **Cost**: may be O(n); ask once for each agent.
    fn optimum(&self, agent: u32) -> f64;
    /// What the regret is called in tables.
    fn regret_name(&self) -> &'static str;
}

/// What all runs of a scenario share: data sets, tables of known values, the factor of a prior. Built once.
pub trait Family: Send + Sync {
    /// The functions of one run.
    fn realize(&self, run: RunSeed) -> Box<dyn Objective>;
}

/// Loads what all runs of a scenario share.
///
/// **Errors**: the data file is missing, unreadable or malformed; the message names line, column and what is
/// admissible. A grid on which the kernel is too rough for a factor of [`gp_sample::RANK_MAX`] columns.
pub fn load(scenario: &Scenario, data: Option<&Path>) -> Result<Box<dyn Family>, ObjectiveError> {
    Ok(match &scenario.objective {
        ObjectiveConfig::GpSample(config) => Box::new(gp_sample::GpSamples::new(config, scenario.federation.agents)?),
        ObjectiveConfig::Landmine(config) => {
            let path = data.ok_or(ObjectiveError::NoData { file: landmine::FILE })?;
            Box::new(tuning::Tuning::new(landmine::read(path)?, config.candidates))
        }
        ObjectiveConfig::Winequality(config) => Box::new(tuning::Tuning::new(winequality::tasks(), config.candidates)),
    })
}
