//! Real data of many agents, compiled in: where private sharing pays and where it does not
//! (`docs/real-data.md`).
//!
//! Bands are loose and test both sides: sharing pays over the paper's agents only if the method
//! beats both `ts` and its pure-noise twin. `alone` and `vote` stand beside them, without a band:
//! what is said of sharing is said against `alone`.

use sordino_experiment::scenario::Method;
use sordino_experiment::scenario::method::{
    ALONE, DP_FTS_DE, DP_PRIOR, PRIOR, PRIOR_NOISE, TS, VOTE,
};

use super::variants::{Comparison, variant};
use super::{Band, Experiment, Options, Outcome, ReproduceError};

/// The catalogue's entries.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "real/employment",
        description: "133 industries tune their forecasts: private sharing pays, below ε = 1 too (10 runs, a minute)",
        runs: 10,
        reads_data: false,
        measure: employment,
    },
    Experiment {
        name: "real/planes",
        description: "1,084 planes tune how they train a model: private sharing pays, below ε = 1 too (10 runs, minutes)",
        runs: 10,
        reads_data: false,
        measure: planes,
    },
    Experiment {
        name: "real/wages",
        description: "1,155 women's forecasts: sharing brings little or nothing (10 runs, minutes)",
        runs: 10,
        reads_data: false,
        measure: wages,
    },
];

const ALL: &[Method] = &[ALONE, TS, VOTE, DP_FTS_DE, PRIOR, PRIOR_NOISE, DP_PRIOR];
const PRIVATE: &[Method] = &[VOTE, DP_FTS_DE, PRIOR_NOISE, DP_PRIOR];
/// The variant whose ε is below 1.
const BELOW_ONE: &str = "ε < 1";

fn employment(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let first = [(0.2, 0.65), (0.2, 0.7)];
    let below_one = [(0.3, 0.85), (0.4, 0.9)];
    measured(
        "employment",
        &["privacy.noise_multiplier=4"],
        options,
        runs,
        [first, below_one],
    )
}

fn planes(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let bands = [(0.6, 0.9), (0.6, 0.92)];
    measured(
        "planes",
        &["privacy.noise_multiplier=6"],
        options,
        runs,
        [bands, bands],
    )
}

fn wages(options: &Options, runs: u32) -> Result<Outcome, ReproduceError> {
    let first = [(0.8, 1.0), (0.95, 1.05)];
    let below_one = [(0.8, 1.0), (0.92, 1.03)];
    measured(
        "wages",
        &["privacy.noise_multiplier=6"],
        options,
        runs,
        [first, below_one],
    )
}

/// Where a method was executed: one that releases nothing, in the first variant alone.
fn at(variant: &str, method: Method) -> (&str, Method) {
    let is_first = [ALONE, TS].contains(&method);
    (if is_first { "" } else { variant }, method)
}

/// Bands on the regret of `dp-prior` over that of `ts` and of `prior-noise`, in the scenario as it
/// is and below ε = 1; `alone` and `ts`, which release nothing, are taken from the first variant.
fn measured(
    scenario: &'static str,
    below_one: &'static [&'static str],
    options: &Options,
    runs: u32,
    bounds: [[(f64, f64); 2]; 2],
) -> Result<Outcome, ReproduceError> {
    let variants = [
        variant("", &[], ALL),
        variant(BELOW_ONE, below_one, PRIVATE),
    ];
    let all = Comparison::execute(scenario, &variants, options, runs)?;
    let mut bands = Vec::new();
    for (variant, bounds) in ["", BELOW_ONE].into_iter().zip(bounds) {
        for (method, (low, high)) in [TS, PRIOR_NOISE].into_iter().zip(bounds) {
            let (name, ratio) = all.ratio((variant, DP_PRIOR), at(variant, method));
            bands.push(Band::within(name, ratio, low, high));
        }
    }
    bands.extend(["", BELOW_ONE].map(|variant| all.equal_loss_band(variant, DP_PRIOR, DP_FTS_DE)));
    let rivals = [ALONE, VOTE, TS, PRIOR_NOISE, DP_FTS_DE];
    let pairs = ["", BELOW_ONE]
        .into_iter()
        .flat_map(|variant| rivals.map(|of| (variant, of)));
    let mut remarks: Vec<String> = pairs
        .map(|(variant, of)| all.difference((variant, DP_PRIOR), at(variant, of)))
        .collect();
    remarks.push(all.difference(("", DP_PRIOR), ("", PRIOR)));
    remarks.push(
        "Runs differ in coins and initial points, never in data: no statement about other agents."
            .to_owned(),
    );
    let chart = all.curves(scenario, false);
    Ok(all.outcome(
        &format!("Real data: {scenario}"),
        bands,
        remarks,
        vec![chart],
    ))
}
