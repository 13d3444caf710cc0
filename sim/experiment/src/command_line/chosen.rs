//! The scenario and the method that a command line names.

use std::path::Path;

use sordino_host::text::nearest;

use super::error::CliError;
use crate::files::read_to_string_bounded;
use crate::scenario::{Method, MethodName, SHIPPED, Scenario, Shipped, method};

/// Scenario files are read up to this length.
const BYTES_MAX: u64 = 1 << 20;

/// Name and text of a shipped scenario or of a file.
pub fn scenario_text(name: &str) -> Result<(String, String), CliError> {
    if let Some(shipped) = Shipped::find(name) {
        return Ok((shipped.name.to_owned(), shipped.text.to_owned()));
    }
    let path = Path::new(name);
    if !name.contains(['/', '\\', '.']) && !path.exists() {
        let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        let near = nearest(name, &names)
            .map_or(".".to_owned(), |near| format!("; did you mean `{near}`?"));
        return Err(CliError::input(format!(
            "there is no scenario `{name}`{near} Shipped are {}; a file is named by its path",
            names.join(", ")
        )));
    }
    let unreadable =
        |error: std::io::Error| CliError::input(format!("{name}: cannot be read: {error}"));
    Ok((
        name.to_owned(),
        read_to_string_bounded(path, BYTES_MAX).map_err(unreadable)?,
    ))
}

/// The one method that is asked for (`dp-fts-de` if none is and the scenario has several), and the
/// scenario reduced to that method.
///
/// **Errors**: a name that is not a method's.
pub fn one_method(scenario: &Scenario, name: Option<&str>) -> Result<(Scenario, Method), CliError> {
    let method = match (name, scenario.federation.methods.as_slice()) {
        (Some(name), _) => scenario.method(MethodName::new(name)).ok_or_else(|| {
            CliError::input(format!(
                "--method {name}: no such method; the book names them (researcher.md)"
            ))
        })?,
        (None, [only]) => scenario.method(*only).unwrap_or(method::DP_FTS_DE),
        (None, _) => method::DP_FTS_DE,
    };
    Ok((scenario.of(method).clone(), method))
}
