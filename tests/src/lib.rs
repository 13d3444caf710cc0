//! What the cross-crate tests share: where the known answers lie and how a number is compared.

pub mod dense;
pub mod drawings;
pub mod federation;
pub mod firmware_script;
pub mod fuzz;
pub mod houses;
pub mod local;
pub mod outsourced;
pub mod prior;
pub mod publication;
pub mod receipts;
pub mod secret;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sordino_core::kernel::{Stationary, StationaryKernel};
use sordino_core::math::Scalar;

/// Path of a file of known answers: in `tests/vectors/`, or in the folder that `SORDINO_VECTORS`
/// names, absolute or as seen from the workspace.
pub fn vectors_path(name: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    match std::env::var_os("SORDINO_VECTORS")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
    {
        None => package.join("vectors").join(name),
        // Tests run in their package's folder, but people name folders from the workspace's.
        Some(folder) if folder.is_relative() && !folder.exists() => {
            package.join("..").join(folder).join(name)
        }
        Some(folder) => folder.join(name),
    }
}

/// The known answers in a JSON file.
///
/// **Panics**: if the file is missing or no JSON; the message names it.
#[track_caller]
pub fn vectors(name: &str) -> Value {
    let path = vectors_path(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The known answers in a CSV file without quoting: for each row, the field of each column.
///
/// **Panics**: if the file is missing; the message names it.
#[track_caller]
pub fn vectors_table(name: &str) -> Vec<BTreeMap<String, String>> {
    let path = vectors_path(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let found: Vec<BTreeMap<String, String>> = lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            assert_eq!(fields.len(), names.len(), "{}: {line}", path.display());
            names
                .iter()
                .zip(fields)
                .map(|(k, v)| (k.trim().to_string(), v.to_string()))
                .collect()
        })
        .collect();
    assert!(!found.is_empty(), "{}: no rows", path.display());
    found
}

/// A number of a row of [`vectors_table`]; none where the cell is empty.
///
/// **Panics**: if there is no such column, or the cell holds something else.
#[track_caller]
pub fn cell(row: &BTreeMap<String, String>, column: &str) -> Option<f64> {
    let text = row
        .get(column)
        .unwrap_or_else(|| panic!("no column {column}"));
    (!text.is_empty()).then(|| text.parse().unwrap_or_else(|_| panic!("{column}: {text}")))
}

/// A JSON number.
///
/// **Panics**: if it is none, where it is asked for; so do the others.
#[track_caller]
pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} where a number belongs"))
}

/// A JSON integer, 0 or more.
#[track_caller]
pub fn whole(value: &Value) -> u64 {
    // Written 3 or 3.0.
    let real = value
        .as_f64()
        .filter(|x| *x >= 0.0 && x.fract() == 0.0 && *x < 9e15)
        .map(|x| x as u64);
    value
        .as_u64()
        .or(real)
        .unwrap_or_else(|| panic!("{value} where a whole number belongs"))
}

/// The items of a JSON list.
#[track_caller]
pub fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("{value} where a list belongs"))
}

/// The cases of a file under a name: a list that is not empty, so that no test passes because there
/// was nothing to read.
#[track_caller]
pub fn cases<'a>(file: &'a Value, name: &str) -> &'a [Value] {
    let found = list(&file[name]);
    assert!(!found.is_empty(), "no {name}");
    found
}

/// A JSON list of numbers.
#[track_caller]
pub fn numbers(value: &Value) -> Vec<f64> {
    let mut found = Vec::new();
    for entry in list(value) {
        found.push(number(entry));
    }
    found
}

/// A JSON list of whole numbers.
#[track_caller]
pub fn indices(value: &Value) -> Vec<usize> {
    let mut found = Vec::new();
    for entry in list(value) {
        found.push(whole(entry) as usize);
    }
    found
}

/// A JSON list of lists of numbers.
#[track_caller]
pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    for row in list(value) {
        found.push(numbers(row));
    }
    found
}

/// The covariance function that a case names: `kernel`, `lengthscale` and, where it is not 1,
/// `variance`.
#[track_caller]
pub fn kernel<T: Scalar>(case: &Value) -> StationaryKernel<T> {
    let shape = match case["kernel"].as_str() {
        Some("se") => Stationary::SquaredExponential,
        Some("matern12") => Stationary::Matern12,
        Some("matern32") => Stationary::Matern32,
        Some("matern52") => Stationary::Matern52,
        other => panic!("unknown kernel {other:?}"),
    };
    let variance = if case["variance"].is_null() {
        1.0
    } else {
        number(&case["variance"])
    };
    let lengthscale = T::from_f64(number(&case["lengthscale"]));
    let variance = T::from_f64(variance);
    StationaryKernel::with_shape(shape, lengthscale, variance).expect("constants in range")
}

/// The README's Rust is compiled and run with the other examples.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;

/// The book's Rust as well; `tests/it/front_door.rs` looks that no other chapter has any.
#[doc = include_str!("../../docs/book/src/embedding.md")]
#[cfg(doctest)]
pub struct Book;
