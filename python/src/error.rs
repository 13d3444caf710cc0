//! The two exceptions: what was given does not fit, and anything else; and the warning of what is
//! unusual about a ledger. Their texts are the command line's.

use std::error::Error;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::text::chain;

create_exception!(
    sordino,
    InputError,
    PyValueError,
    "What was given does not fit; says what, and what is admissible."
);
create_exception!(
    sordino,
    RunError,
    PyRuntimeError,
    "What was given fits, and yet it went wrong."
);

create_exception!(
    sordino,
    LedgerWarning,
    PyUserWarning,
    "A note on the counts of a data set: the first ledger of an account, an older copy, what federations got."
);

/// What was given does not fit.
pub fn input(why: impl Into<Box<dyn Error + Send + Sync>>) -> PyErr {
    InputError::new_err(chain(&*why.into()))
}

/// Anything else that went wrong.
pub fn failure(why: impl Into<Box<dyn Error + Send + Sync>>) -> PyErr {
    RunError::new_err(chain(&*why.into()))
}

/// As the command line would end: exit code 2 is the first exception, 1 the second.
pub fn ended(error: impl Into<CliError>) -> PyErr {
    let error = error.into();
    if error.is_input() {
        InputError::new_err(error.to_string())
    } else {
        RunError::new_err(error.to_string())
    }
}

/// A number in the range of an argument of the command line, or its name, the number and the range.
pub fn number(name: &str, value: f64, parser: fn(&str) -> Result<f64, String>) -> PyResult<f64> {
    // Every digit, which reads back as the same number.
    parser(&format!("{value:?}"))
        .map_err(|admissible| InputError::new_err(format!("{name} is {value}; {admissible}")))
}

/// A whole number from `least` to `most`, or its name, the number and the range.
pub fn whole(name: &str, value: i64, least: u32, most: u32) -> PyResult<u32> {
    u32::try_from(value)
        .ok()
        .filter(|value| (least..=most).contains(value))
        .ok_or_else(|| {
            InputError::new_err(format!(
                "{name} is {value}; admissible: a whole number from {least} to {most}"
            ))
        })
}

/// One of some names, or its name, the text and the names.
pub fn named<T: Copy>(name: &str, value: &str, names: &[(&str, T)]) -> PyResult<T> {
    names
        .iter()
        .find(|(known, _)| *known == value)
        .map(|(_, meant)| *meant)
        .ok_or_else(|| {
            let known: Vec<String> = names
                .iter()
                .map(|(known, _)| format!("\"{known}\""))
                .collect();
            InputError::new_err(format!(
                "{name} is {value:?}; admissible: {}",
                known.join(", ")
            ))
        })
}
