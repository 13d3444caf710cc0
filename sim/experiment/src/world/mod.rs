//! Who answers queries: a family of functions, one for each agent, over one finite candidate list;
//! and what goes wrong on the way.
//!
//! | module | functions |
//! |---|---|
//! | `objective`, `error` | what all of them are, a [`Family`]; why one could not be built |
//! | [`gp_sample`] | a draw of a Gaussian process on a grid, perturbed for each agent |
//! | [`function`] | a test function of the field, moved and scaled for each agent |
//! | [`table`] | a user's own table of values |
//! | [`fedhpo`], `literal` | a table of federated trainings; dictionaries as Python prints them |
//! | [`command`], [`oracle`] | a user's own program, or a function of a program that uses this library |
//! | [`custom`] | functions over a list of points, brought along by a program |
//! | [`spread`] | where all values lie, and whether a scenario's constants admit them |
//! | `points`, [`space`], [`rows`] | candidates; settings in a user's units; CSV files |
//! | [`tuning`] | test AUC of a support vector machine over (C, γ), one data set for each agent |
//! | [`landmine`] | the data sets of 29 mine fields, read from a CSV file |
//! | [`winequality`] | the data sets of 16 buyers of red wine, compiled in |
//! | [`fault`] | what goes wrong on links and machines |
//! | [`per_agent`] | values made for the agents that are asked for |
//! | `auc` | area under the ROC curve |

use std::path::Path;

use crate::scenario::{ObjectiveConfig, Scenario};

pub(crate) mod auc;
pub mod command;
pub mod custom;
mod error;
pub mod fault;
pub mod fedhpo;
pub mod function;
pub mod gp_sample;
pub mod landmine;
mod literal;
mod objective;
pub mod oracle;
pub mod per_agent;
pub(crate) mod points;
pub mod rows;
pub mod space;
pub mod spread;
pub mod table;
pub mod tuning;
pub mod winequality;

pub use error::ObjectiveError;
pub use literal::LiteralError;
pub use objective::{Answer, Family, Objective};

/// Loads what all runs of a scenario share.
///
/// **Errors**: the data file is missing, unreadable or malformed; the message names line, column
/// and what is admissible. A grid on which the kernel is too rough for a factor of
/// [`gp_sample::RANK_MAX`] columns.
pub fn load(scenario: &Scenario, data: Option<&Path>) -> Result<Box<dyn Family>, ObjectiveError> {
    load_beside(scenario, data, None)
}

/// The same; the answers of a user's program are kept in the table `answers` and not asked for
/// again.
///
/// **Errors**: as [`load`]; a table of answers that cannot be used.
pub fn load_beside(
    scenario: &Scenario,
    data: Option<&Path>,
    answers: Option<&Path>,
) -> Result<Box<dyn Family>, ObjectiveError> {
    Ok(match &scenario.objective {
        ObjectiveConfig::GpSample(config) => Box::new(gp_sample::GpSamples::new(
            config,
            scenario.federation.agents,
        )?),
        ObjectiveConfig::Function(config) => {
            let points = points::candidates(&config.points, config.dim, data)?;
            Box::new(function::Functions::new(
                config,
                scenario.federation.agents,
                points,
            ))
        }
        ObjectiveConfig::Table(config) => {
            let agents = scenario.federation.agents;
            Box::new(match config.shipped {
                Some(shipped) => table::Table::shipped(config, shipped)?,
                None => {
                    let path = data.ok_or(ObjectiveError::NoData {
                        file: "a CSV table",
                    })?;
                    table::Table::new(config, agents, path)?
                }
            })
        }
        ObjectiveConfig::Fedhpo(config) => {
            Box::new(fedhpo::load(config, scenario.federation.agents, data)?)
        }
        ObjectiveConfig::Command(config) => Box::new(command::Commands::new(
            config,
            scenario.federation.agents,
            data,
            answers,
        )?),
        ObjectiveConfig::Custom(config) => {
            return Err(ObjectiveError::Custom {
                function: config.function.clone(),
            });
        }
        ObjectiveConfig::Landmine(config) => {
            let path = data.ok_or(ObjectiveError::NoData {
                file: landmine::FILE,
            })?;
            Box::new(tuning::Tuning::new(
                landmine::read(path, config.digest.as_deref())?,
                config.candidates,
            ))
        }
        ObjectiveConfig::Winequality(config) => {
            Box::new(tuning::Tuning::new(winequality::tasks(), config.candidates))
        }
    })
}
