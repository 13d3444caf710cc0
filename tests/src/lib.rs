//! What the cross-crate tests share: where the known answers lie and how a number is compared.

pub mod federation;
pub mod firmware_script;
pub mod local;
pub mod outsourced;

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Path of a file of known answers: in `tests/vectors/`, or in the folder that `SORDINO_VECTORS` names.
pub fn vectors_path(name: &str) -> PathBuf {
    let folder = std::env::var_os("SORDINO_VECTORS").map(PathBuf::from);
    folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors")).join(name)
}

/// The known answers in a JSON file.
///
/// **Panics**: if the file is missing or no JSON; the message names it.
pub fn vectors(name: &str) -> serde_json::Value {
    let path = vectors_path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The known answers in a CSV file without quoting: for each row, the field of each column.
///
/// **Panics**: if the file is missing; the message names it.
pub fn vectors_table(name: &str) -> Vec<BTreeMap<String, String>> {
    let path = vectors_path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| names.iter().zip(line.split(',')).map(|(k, v)| (k.to_string(), v.to_string())).collect())
        .collect()
}

/// A JSON number.
pub fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().expect("a number")
}

/// A JSON list of numbers.
pub fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

/// A JSON list of lists of numbers.
pub fn rows(value: &serde_json::Value) -> Vec<Vec<f64>> {
    value.as_array().expect("a list of lists").iter().map(numbers).collect()
}

/// The README's Rust is compiled and run with the other examples.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;
