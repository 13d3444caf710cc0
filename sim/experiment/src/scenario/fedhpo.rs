//! Keys of a table of federated trainings: `kind = "fedhpo"`.

use sordino_core::domain::DIM_MAX;

use super::keys::keys;
use super::outsourced::Goal;
use super::reader::{Problem, Section};
use super::rule::{Ruled, number, whole};
use super::space::SpaceConfig;

keys! {
    /// A benchmark of federated training: what a training with some hyper-parameters reached, round
    /// by round.
    pub struct FedhpoConfig {
        /// Whether to use the small synthetic table that is compiled in
        /// (`sim/experiment/data/fedhpo.py`) in place of `--data`.
        shipped: bool [is false];
        /// What is optimised: an entry of the dictionary in the column `result`; without that
        /// column, a column of a table with one row for each `round`.
        metric: String [given "val_avg_loss_fair"];
        /// Columns whose values together name an agent. If there are none, `metric` holds a list
        /// with one number for each client in every round, and the clients are the agents.
        agent_columns: Vec<String> [is Vec::new()] in String::RULE.list(0, 16).different();
        /// The rows that count, `column=value` each; other rows are left out.
        only: Vec<String> [is Vec::new()] in String::RULE.list(0, 16).different();
        /// The last round that counts; in `result` the place in a list, from 1. If missing, all
        /// rounds count.
        last_round: Option<u32> [none 20] in whole(1, 1_000_000);
        /// The entry or column that is smallest in the round whose value is used. If missing, the
        /// last round is used.
        selected_by: Option<String> [none "val_avg_loss"];
        /// The value of a training of which no round has a number. If missing, such a training is
        /// refused.
        diverged: Option<f64> [none 10.0] in number(-1e12, 1e12);
        /// The hyper-parameters in their own units.
        space: SpaceConfig [group "" DIM_MAX];
        /// Variance of the normal noise that is added to a value for every observation.
        noise_variance: f64 [is 0.0] in number(0.0, 1e6);
        /// Whether larger or smaller values are better.
        goal: Goal [given "minimize"];
        /// SHA-256 of the file, filled in from `--data`: a run folder says which table it was made
        /// from.
        digest: Option<String> [none "the 64 hexadecimal digits"];
    }
}

impl FedhpoConfig {
    /// Checks what no single key can know.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.space.check(DIM_MAX)?;
        if let Some(one) = self.only.iter().find(|one| split_condition(one).is_none()) {
            return Err(Problem::value(
                "objective.only",
                one,
                "`column=value`, as in \"seed=1\"",
            ));
        }
        if let Some(name) = self
            .agent_columns
            .iter()
            .find(|name| self.space.inputs.contains(name))
        {
            return Err(Problem::value(
                "objective.agent_columns",
                name,
                "columns that are not among `inputs`",
            ));
        }
        if self.shipped && !self.agent_columns.is_empty() {
            let said = self.agent_columns.join(", ");
            return Err(Problem::value(
                "objective.agent_columns",
                said,
                "none: agents of the shipped table are its clients",
            ));
        }
        Ok(())
    }

    /// The columns of `only` with their values.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.only.iter().filter_map(|one| split_condition(one))
    }
}

/// Splits `column=value` into column and value.
fn split_condition(text: &str) -> Option<(&str, &str)> {
    let (column, value) = text.split_once('=')?;
    let column = column.trim();
    let value = value.trim();
    (!column.is_empty() && !value.is_empty()).then_some((column, value))
}
