//! What an execution of any trust model amounts to, in the terms that all have: methods, measures with standard errors,
//! losses. Read from a summary, so that tables and pictures need not know whose it is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::metrics::Summary;

/// A mean over runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// As in `final_regret`.
    pub name: String,
    /// The mean.
    pub mean: f64,
    /// Its standard error; unknown from a single run.
    pub standard_error: Option<f64>,
}

/// What the releases of a method cost, or a parameter of that statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// As in `epsilon_pld`; `delta` is the δ of those that name none.
    pub name: String,
    /// Nothing if there is no finite bound.
    pub value: Option<f64>,
}

/// One method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodOutline {
    /// Its name.
    pub name: String,
    /// Digest over its runs.
    pub digest: Option<String>,
    /// What it reached; the first is what pictures show.
    pub measures: Vec<Measure>,
    /// What it cost; empty if nothing is claimed.
    pub losses: Vec<Loss>,
}

/// All methods of an execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// Digest over all runs and methods.
    pub digest: Option<String>,
    /// In the order of the scenario.
    pub methods: Vec<MethodOutline>,
}

/// Names in the order of their first occurrence.
pub fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

impl MethodOutline {
    /// A measure by its name.
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// A loss by its name; `None` if nothing is claimed.
    pub fn loss(&self, name: &str) -> Option<&Loss> {
        self.losses.iter().find(|loss| loss.name == name)
    }
}

impl From<&Summary> for Outline {
    fn from(summary: &Summary) -> Self {
        let methods = summary.methods.iter().map(|method| {
            let measure = |name: &str, estimate: crate::metrics::Estimate| Measure {
                name: name.into(),
                mean: estimate.mean,
                standard_error: estimate.standard_error,
            };
            let last = method.curve.last().copied().unwrap_or_default();
            let loss = |name: &str, value| Loss { name: name.into(), value };
            MethodOutline {
                name: method.method.name().into(),
                digest: Some(method.digest.to_string()),
                measures: vec![measure("final_regret", last), measure("summed_regret", method.summed_regret)],
                losses: method.losses.map_or(Vec::new(), |[at, small]| {
                    vec![
                        loss("epsilon_pld", at.tight),
                        loss("delta", Some(at.delta)),
                        loss("epsilon_pld_at_1e-5", small.tight),
                    ]
                }),
            }
        });
        Outline { digest: Some(summary.digest.to_string()), methods: methods.collect() }
    }
}

impl Outline {
    /// From `summary.json` of any trust model: in `methods`, every object with a `mean` is a measure, every number whose
    /// key begins with `epsilon` (or is `delta`) a loss, also inside an object `epsilon`.
    pub fn from_summary(summary: &Value) -> Self {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        // Trust model `output` has releases: methods at several ε.
        let methods = summary.get("methods").or_else(|| summary.get("releases"));
        let methods = methods.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let methods = methods.iter().map(|method| {
            let name = text(method, "name").or_else(|| text(method, "method")).unwrap_or_else(|| "method".into());
            let at = method.get("epsilon").and_then(Value::as_f64).filter(|_| summary.get("releases").is_some());
            let mut found = MethodOutline {
                name: at.map_or(name.clone(), |epsilon| format!("{name} at ε = {epsilon}")),
                digest: text(method, "digest"),
                measures: Vec::new(),
                losses: Vec::new(),
            };
            for (key, value) in method.as_object().into_iter().flatten() {
                collect(&mut found, key, value);
            }
            found
        });
        Outline { digest: text(summary, "digest"), methods: methods.collect() }
    }
}

fn collect(into: &mut MethodOutline, key: &str, value: &Value) {
    let is_loss = |key: &str| key.starts_with("epsilon") || key == "delta";
    if let Some(mean) = value.get("mean").and_then(Value::as_f64) {
        let standard_error = value.get("standard_error").and_then(Value::as_f64);
        into.measures.push(Measure { name: key.to_owned(), mean, standard_error });
    } else if let (true, Some(object)) = (key == "epsilon", value.as_object()) {
        for (inner, value) in object {
            let name = if inner == "delta" { inner.clone() } else { format!("epsilon_{inner}") };
            into.losses.push(Loss { name, value: value.as_f64() });
        }
    } else if is_loss(key) && value.is_number() {
        into.losses.push(Loss { name: key.to_owned(), value: value.as_f64() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_other_trust_models_are_understood() {
        let summary = serde_json::json!({
            "digest": "ab",
            "methods": [
                {"name": "random", "cumulative_regret": {"mean": 2.5, "standard_error": null}, "epsilon_per_user": null},
                {"name": "m", "cumulative_regret": {"mean": 1.5, "standard_error": 0.5}, "epsilon_per_user": 1.0,
                 "epsilon": {"pld": null, "delta": 0.1}, "note": "x"},
            ],
        });
        let outline = Outline::from_summary(&summary);
        assert_eq!(outline.methods[0].measures[0].mean, 2.5);
        assert!(outline.methods[0].losses.is_empty());
        assert_eq!(outline.methods[1].measure("cumulative_regret").unwrap().standard_error, Some(0.5));
        assert_eq!(outline.methods[1].loss("epsilon_pld").unwrap().value, None);
        assert_eq!(outline.methods[1].loss("delta").unwrap().value, Some(0.1));
        assert_eq!(Outline::from_summary(&Value::Null), Outline::default());
        let releases = serde_json::json!({"releases": [
            {"method": "worst-case", "epsilon": 0.5, "regret": {"mean": 1.0, "standard_error": 0.1}},
            {"method": "plain", "epsilon": null, "regret": {"mean": 0.5, "standard_error": 0.1}},
        ]});
        let outline = Outline::from_summary(&releases);
        assert_eq!((&*outline.methods[0].name, &*outline.methods[1].name), ("worst-case at ε = 0.5", "plain"));
    }
}
