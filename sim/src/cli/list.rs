//! `sordino list`: the scenarios that need no file, by trust model.

use super::error::CliError;
use super::print;
use crate::scenario::{SHIPPED, Trust};

/// Prints one line for each.
pub fn execute() -> Result<(), CliError> {
    let width = SHIPPED.iter().map(|shipped| shipped.name.len()).max().unwrap_or(0);
    let scenarios: Vec<_> = SHIPPED
        .iter()
        .map(|shipped| shipped.load(&[]).map(|scenario| (shipped.name, scenario)))
        .collect::<Result<_, _>>()?;
    let mut text = String::new();
    for trust in Trust::ALL {
        let mut lines = scenarios.iter().filter(|(_, scenario)| scenario.trust() == trust).peekable();
        if lines.peek().is_some() {
            let blank = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{blank}# {}: {}\n", trust.name(), trust.description()));
        }
        for (name, scenario) in lines {
            text.push_str(&format!("{name:width$}  {}\n", scenario.head().description));
        }
    }
    print(&text)
}
