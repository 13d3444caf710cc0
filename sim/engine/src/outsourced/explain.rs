//! Who is protected from whom in a scenario of the trust model `outsourced`.

use sordino_experiment::record::Explanation;
use sordino_experiment::scenario::outsourced::{Kind, OutsourcedObjective, OutsourcedScenario};
use sordino_experiment::text::significant;

use super::run::compares;
use super::table::{ends, scale};

/// What leaves the curator, and what it tells.
pub fn explain(scenario: &OutsourcedScenario) -> Explanation {
    let epsilon = scenario.curator.epsilon;
    let delta = scenario.curator.delta;
    let mut protected = Vec::new();
    let mut relation = Vec::new();
    let mut cost = Vec::new();
    if compares(scenario, Kind::GaussianProjection) {
        protected.push(
            "With gaussian-projection: where each single row of inputs lies, up to a shift of length 1 in prepared units, \
             is protected from the modeler, whatever it knows about the other rows."
                .to_owned(),
        );
        relation.push(format!(
            "Two tables that differ in one row, by at most 1 in prepared units, where half the diagonal of the box of public \
             ranges is {}: neither adding nor removing a row, nor moving it across the box.",
            significant(scenario.curator.largest_norm, 4)
        ));
        relation.push(format!(
            "One unit is, for each input moved alone: {}. The charge names it: what is released again at another scale is \
             refused as another relation, never added.",
            units(scenario)
        ));
        cost.push(format!(
            "gaussian-projection: ε = {epsilon} at δ = {delta:e}, once: rows are released a single time."
        ));
        cost.push(format!(
            "A row moved by k units is protected by the k-fold: (kε, ke^((k−1)ε)δ). Across the whole box ε does not say \
             anything useful at these numbers: {} units.",
            significant(2.0 * scenario.curator.largest_norm, 3)
        ));
    }
    if compares(scenario, Kind::PaperProjection) {
        protected.push(
            "With paper-projection: nobody. It is not differentially private, whatever ε stands in the paper: one look tells two \
             candidate tables apart, and if r is at least the number of inputs, who knows one row more than there are inputs \
             computes every other row."
                .to_owned(),
        );
        cost.push(
            "paper-projection: no loss is bounded; its ε only sets how it transforms.".to_owned(),
        );
    }
    if compares(scenario, Kind::GpUcb) {
        protected.push("With gp-ucb: nobody; the modeler sees the inputs themselves.".to_owned());
    }
    if compares(scenario, Kind::Random) {
        protected.push(
            "With random: no inputs leave the curator; only rows drawn at random are evaluated."
                .to_owned(),
        );
    }
    if relation.is_empty() {
        relation.push("None: no method of this scenario is private.".to_owned());
    }
    if cost.is_empty() {
        cost.push("No loss is bounded.".to_owned());
    }
    let not_protected = vec![
        "The values y of the rows that are asked for: the modeler gets them as they are.".to_owned(),
        "Which rows are asked for, how many rows there are, and how many inputs.".to_owned(),
        "Ranges, lengthscales, variances and mean: they must be public, and void the guarantee if they were fitted to the \
         rows."
            .to_owned(),
        "Whatever else is released about the same rows: losses add.".to_owned(),
    ];
    Explanation {
        protected,
        relation,
        not_protected,
        cost,
    }
}

/// How far one prepared unit reaches in each input.
fn units(scenario: &OutsourcedScenario) -> String {
    let lengthscales = &scenario.modeler.lengthscales;
    let (names, ranges): (Vec<String>, Vec<[f64; 2]>) = match &scenario.objective {
        OutsourcedObjective::Csv(columns) => {
            let names = columns
                .inputs
                .iter()
                .map(|name| match columns.log_inputs.contains(name) {
                    true => format!("ln {name}"),
                    false => name.clone(),
                });
            (names.collect(), ends(columns))
        }
        other => (0..other.dim())
            .map(|i| (format!("input {} of the unit box", i + 1), [0.0, 1.0]))
            .unzip(),
    };
    let (factor, _) = scale(&ranges, lengthscales, scenario.curator.largest_norm);
    names
        .iter()
        .zip(lengthscales)
        .map(|(name, lengthscale)| format!("{} in {name}", significant(lengthscale / factor, 3)))
        .collect::<Vec<_>>()
        .join(", ")
}
