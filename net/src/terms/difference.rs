//! The field in which terms differ: those of a folder from those that are served, joined or helped
//! now.

use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Agreement;
use sordino_host::text::plain;

/// The first field in which terms differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it is in the agreement, the names of its fields joined by dots.
    pub field: String,
    /// What was agreed to, or begun with.
    pub then: String,
    /// What is asked for now.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Texts in terms are a stranger's.
        let [then, now] = [&self.then, &self.now].map(|text| plain(text));
        write!(f, "{}: then {then}, now {now}", self.field)
    }
}

impl Difference {
    /// The first field in which two agreements differ; none of equal ones.
    pub(crate) fn of(then: &Agreement, now: &Agreement) -> Option<Self> {
        if then == now {
            return None;
        }
        let found = Difference::all(then, now).into_iter().next();
        // What JSON cannot tell apart, or cannot hold, is refused all the same.
        Some(found.unwrap_or_else(|| Difference::of_digests(&then.digest(), &now.digest())))
    }

    /// Every field in which two agreements differ, as far as JSON can tell.
    pub(crate) fn all(then: &Agreement, now: &Agreement) -> Vec<Self> {
        let mut found = Vec::new();
        if let (Ok(then), Ok(now)) = (serde_json::to_value(then), serde_json::to_value(now)) {
            within(&then, &now, String::new(), &mut found);
        }
        found
    }

    /// That of agreements of which no more is known than their digests.
    pub(crate) fn of_digests(then: &Digest, now: &Digest) -> Self {
        Difference {
            field: "digest of the agreement".to_owned(),
            then: then.to_string(),
            now: now.to_string(),
        }
    }

    /// The difference between who signs for agents, then and now; none of the same.
    pub(crate) fn of_authorities([then, now]: [Option<&[u8]>; 2]) -> Option<Self> {
        if then == now {
            return None;
        }
        // Told apart without its text.
        let [then, now] = [then, now].map(|der| {
            der.map_or_else(
                || "none".to_owned(),
                |der| format!("SHA-256 {}", Digest(Sha256::digest(der).into())),
            )
        });
        Some(Difference {
            field: "authority".to_owned(),
            then,
            now,
        })
    }
}

/// Every leaf below these values that differs, or the value itself where their shapes do.
fn within(then: &Value, now: &Value, field: String, found: &mut Vec<Difference>) {
    let below = |name: &str| {
        if field.is_empty() {
            name.to_owned()
        } else {
            format!("{field}.{name}")
        }
    };
    match (then, now) {
        _ if then == now => {}
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            for ((name, a), b) in a.iter().zip(b.values()) {
                within(a, b, below(name), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() && digest(then).is_none() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                within(a, b, below(&at.to_string()), found);
            }
        }
        _ => found.push(Difference {
            field,
            then: said(then),
            now: said(now),
        }),
    }
}

/// A value in words.
fn said(value: &Value) -> String {
    if value.is_null() {
        "none".to_owned()
    } else {
        digest(value).unwrap_or_else(|| value.to_string())
    }
}

/// The digest that these 32 bytes are, hexadecimal; none of another value.
fn digest(value: &Value) -> Option<String> {
    let bytes = value.as_array().filter(|bytes| bytes.len() == 32)?;
    let bytes: Option<Vec<u8>> = bytes
        .iter()
        .map(|byte| u8::try_from(byte.as_u64()?).ok())
        .collect();
    Some(Digest(bytes?.try_into().ok()?).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_field_that_differs_is_named_with_both_numbers() {
        let first = |then: &Value, now: &Value, field: &str| {
            let mut found = Vec::new();
            within(then, now, field.to_owned(), &mut found);
            found.into_iter().next()
        };
        let then = json!({ "announced": { "delta": 1e-5, "epsilon_max": null }, "dim": 2, "plan": [1, 2] });
        let differs = |pointer: &str, now: Value| {
            let mut other = then.clone();
            *other.pointer_mut(pointer).unwrap() = now;
            first(&then, &other, "").unwrap().to_string()
        };
        assert_eq!(first(&then, &then, ""), None);
        assert_eq!(
            differs("/announced/epsilon_max", json!(2.5)),
            "announced.epsilon_max: then none, now 2.5"
        );
        assert_eq!(differs("/dim", json!(3)), "dim: then 2, now 3");
        assert_eq!(differs("/plan/1", json!(4)), "plan.1: then 2, now 4");
        assert_eq!(differs("/plan", json!([1])), "plan: then [1,2], now [1]");
        let [one, two] = [vec![1u8; 32], vec![2; 32]]
            .map(|bytes| first(&json!([0]), &json!(bytes), "d").unwrap().now);
        assert_eq!((one, two), ("01".repeat(32), "02".repeat(32)));
        let digests = first(&json!(vec![1u8; 32]), &json!(vec![2u8; 32]), "candidates").unwrap();
        assert_eq!(
            (digests.field.as_str(), digests.now),
            ("candidates", "02".repeat(32))
        );
        let mut all = Vec::new();
        let other = json!({ "announced": { "delta": 1e-6, "epsilon_max": null }, "dim": 2, "plan": [3, 4] });
        within(&then, &other, String::new(), &mut all);
        let fields: Vec<&str> = all.iter().map(|found| found.field.as_str()).collect();
        assert_eq!(fields, ["announced.delta", "plan.0", "plan.1"]);
    }

    #[test]
    fn authorities_are_told_apart_by_their_digests() {
        let of = |then, now| {
            Difference::of_authorities([then, now]).map(|found| (found.then, found.now))
        };
        let a: &[u8] = b"a";
        let b: &[u8] = b"b";
        assert_eq!((of(None, None), of(Some(a), Some(a))), (None, None));
        let (then, now) = of(None, Some(a)).unwrap();
        assert_eq!((then.as_str(), now.starts_with("SHA-256 ")), ("none", true));
        assert!(of(Some(a), Some(b)).is_some_and(|(then, now)| then != now));
    }
}
