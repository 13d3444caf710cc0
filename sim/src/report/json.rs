//! The summary for programs: one object on standard output and in the run folder. Its keys are stable.
//!
//! Whatever a simulation writes as JSON carries the key `noise` with [`noise`] beside its losses: a guarantee without it
//! would read as one that protects somebody.

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use sordino_core::privacy::NeighboringRelation;

use super::told_rounds;
#[cfg(doc)]
use crate::metrics::SMALL_DELTA;
use crate::metrics::Summary;
use crate::record::noise;
use crate::scenario::{Guarantee, Scenario};

/// The whole answer of `sordino run --format json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunJson {
    scenario: String,
    seed: u64,
    runs: u32,
    noise: String,
    digest: String,
    methods: Vec<MethodJson>,
}

#[derive(Clone, Debug, Serialize)]
struct MethodJson {
    name: &'static str,
    digest: String,
    summed_regret: SummedRegret,
    #[serde(serialize_with = "in_order")]
    regret_at: Vec<(u32, f64)>,
    guarantee: Guarantee,
    neighboring_relation: Option<NeighboringRelation>,
    epsilon: Option<EpsilonJson>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SummedRegret {
    mean: f64,
    standard_error: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct EpsilonJson {
    /// By privacy-loss distributions, at `delta`.
    pld: Option<f64>,
    delta: f64,
    /// The same at [`SMALL_DELTA`].
    #[serde(rename = "pld_at_1e-5")]
    pld_small: Option<f64>,
}

fn in_order<S: Serializer>(pairs: &[(u32, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (round, regret) in pairs {
        map.serialize_entry(&round.to_string(), regret)?;
    }
    map.end()
}

/// The summary as JSON values.
pub fn summary(scenario: &Scenario, summary: &Summary) -> RunJson {
    let told = told_rounds(scenario.federation.rounds);
    let methods = summary.methods.iter().map(|method| MethodJson {
        name: method.method.name(),
        digest: method.digest.to_string(),
        summed_regret: SummedRegret {
            mean: method.summed_regret.mean,
            standard_error: method.summed_regret.standard_error,
        },
        regret_at: told
            .iter()
            .filter_map(|round| method.curve.get(*round as usize).map(|at| (*round, at.mean)))
            .collect(),
        guarantee: method.guarantee(),
        neighboring_relation: method.losses.map(|[loss, _]| loss.relation),
        epsilon: method.losses.map(|[loss, small]| EpsilonJson {
            pld: loss.tight,
            delta: loss.delta,
            pld_small: small.tight,
        }),
    });
    RunJson {
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        runs: scenario.runs,
        noise: noise(),
        digest: summary.digest.to_string(),
        methods: methods.collect(),
    }
}
