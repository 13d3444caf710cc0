//! `sordino list`: the scenarios that need no file, by trust model.

use sordino_engine::{self as model, MODELS};
use sordino_experiment::scenario::SHIPPED;

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;

/// Prints one line for each.
pub fn execute() -> Result<(), CliError> {
    let width = SHIPPED
        .iter()
        .map(|shipped| shipped.name.len())
        .max()
        .unwrap_or(0);
    let scenarios: Vec<_> = SHIPPED
        .iter()
        .map(|shipped| {
            Ok((
                shipped.name,
                model::parse(shipped.name, shipped.text, &[])?.head(),
            ))
        })
        .collect::<Result<_, CliError>>()?;
    let mut text = String::new();
    for trust in MODELS {
        let mut lines = scenarios
            .iter()
            .filter(|(_, head)| head.trust == trust.name)
            .peekable();
        if lines.peek().is_some() {
            let blank = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{blank}# {}: {}\n", trust.name, trust.description));
        }
        for (name, head) in lines {
            text.push_str(&format!("{name:width$}  {}\n", head.description));
        }
    }
    print(&text)
}
