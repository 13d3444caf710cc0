//! `sordino list`: the scenarios that need no file.

use super::error::CliError;
use super::print;
use crate::scenario::SHIPPED;

/// Prints one line for each.
pub fn execute() -> Result<(), CliError> {
    let width = SHIPPED.iter().map(|shipped| shipped.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for shipped in SHIPPED {
        let scenario = shipped.parse(&[])?;
        text.push_str(&format!("{:width$}  {}\n", shipped.name, scenario.description));
    }
    print(&text)
}
