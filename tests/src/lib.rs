//! What the cross-crate tests share: where the known answers lie and how a number is compared.

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

/// A JSON list of numbers.
pub fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// A JSON list of lists of numbers.
pub fn rows(value: &serde_json::Value) -> Vec<Vec<f64>> {
    value.as_array().expect("a list of lists").iter().map(numbers).collect()
}
