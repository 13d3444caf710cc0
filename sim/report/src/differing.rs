//! Whether two files say the same of the methods of a run.

use sordino_experiment::record::MethodSummary;
use sordino_experiment::text::significant;

/// Where two summaries of the same methods differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// What the first says, as `epsilon_pld = 1.000 of dp-fts-de`.
    pub first: String,
    /// What the second says of the same.
    pub second: String,
}

/// The first number, of what methods reached and what it cost, in which these differ by more than
/// rounding: what the second does not have at all differs as well.
pub fn differing(first: &[MethodSummary], second: &[MethodSummary]) -> Option<Differing> {
    first.iter().find_map(|method| {
        let other = second.iter().find(|other| other.name == method.name);
        let other = other.map_or(Vec::new(), numbers);
        let mut pairs = numbers(method).into_iter().map(|number| {
            let same_name = other.iter().find(|other| other.name == number.name);
            let none = Number {
                value: None,
                ..number
            };
            (number, same_name.copied().unwrap_or(none))
        });
        let (a, b) = pairs.find(|(a, b)| !a.is_same(*b))?;
        Some(Differing {
            first: format!("{} = {} of {}", a.name, told(a.value), method.name),
            second: told(b.value),
        })
    })
}

/// A number of a method.
#[derive(Clone, Copy)]
struct Number<'a> {
    name: &'a str,
    value: Option<f64>,
    /// How far it may be off, relatively.
    within: f64,
}

impl Number<'_> {
    fn is_same(self, other: Number<'_>) -> bool {
        match (self.value, other.value) {
            (Some(x), Some(y)) => x == y || (x - y).abs() <= self.within * x.abs().max(y.abs()),
            (x, y) => x == y,
        }
    }
}

/// What a method reached and what it cost. Accountants of two versions differ in the fourth digit.
fn numbers(method: &MethodSummary) -> Vec<Number<'_>> {
    let measures = method.measures.iter().map(|measure| Number {
        name: &measure.name,
        value: Some(measure.mean),
        within: 1e-6,
    });
    let losses = method.losses.iter().map(|loss| Number {
        name: &loss.name,
        value: loss.value,
        within: 1e-3,
    });
    measures.chain(losses).collect()
}

fn told(number: Option<f64>) -> String {
    number.map_or("none".to_owned(), |x| significant(x, 4))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::slice::from_ref;

    use serde_json::Map;
    use sordino_experiment::record::{Loss, Measure};

    use super::*;

    fn method(name: &str, regret: f64, losses: &[(&str, Option<f64>)]) -> MethodSummary {
        let measure = Measure {
            name: "regret".into(),
            mean: regret,
            standard_error: None,
        };
        let losses = losses.iter().map(|(name, value)| Loss::new(name, *value));
        MethodSummary {
            name: name.into(),
            guarantee: "dp".into(),
            digest: None,
            neighboring_relation: None,
            measures: vec![measure],
            regret_at: BTreeMap::new(),
            losses: losses.collect(),
            facts: Map::new(),
        }
    }

    /// In words, both ways.
    fn both(first: &MethodSummary, second: &MethodSummary) -> [String; 2] {
        [(first, second), (second, first)].map(|(one, other)| {
            differing(from_ref(one), from_ref(other)).map_or(String::new(), |found| {
                format!("{}; {}", found.first, found.second)
            })
        })
    }

    #[test]
    fn what_one_says_and_the_other_does_not_differs_one_way() {
        let own = method("ts", 2.0, &[("epsilon_pld", Some(1.0))]);
        assert_eq!(both(&own, &own), ["", ""]);
        let without = method("ts", 2.0, &[]);
        assert_eq!(
            both(&own, &without),
            ["epsilon_pld = 1.000 of ts; none", ""]
        );
        let smaller = method("ts", 2.0, &[("epsilon_pld", Some(0.5))]);
        assert_eq!(
            both(&own, &smaller),
            [
                "epsilon_pld = 1.000 of ts; 0.5000",
                "epsilon_pld = 0.5000 of ts; 1.000"
            ]
        );
        let better = method("ts", 1.0, &[("epsilon_pld", Some(1.0))]);
        assert_eq!(both(&own, &better)[0], "regret = 2.000 of ts; 1.000");
        // Another method altogether.
        let other = method("fts", 2.0, &[]);
        assert_eq!(
            both(&without, &other),
            ["regret = 2.000 of ts; none", "regret = 2.000 of fts; none"]
        );
        // What rounding and another accountant's last digits do is no difference.
        let rounded = method("ts", 2.0 + 1e-7, &[("epsilon_pld", Some(1.0005))]);
        assert_eq!(both(&own, &rounded), ["", ""]);
        let none = method("ts", 2.0, &[("epsilon_pld", None)]);
        assert_eq!(both(&own, &none)[1], "epsilon_pld = none of ts; 1.000");
    }
}
