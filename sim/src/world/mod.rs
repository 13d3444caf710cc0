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

use crate::scenario::{ObjectiveConfig, Scenario};

pub mod auc;
mod error;
pub mod fault;
pub mod gp_sample;
pub mod landmine;
mod objective;
pub mod tuning;
pub mod winequality;

pub use error::ObjectiveError;
pub use objective::{Family, Objective};

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
