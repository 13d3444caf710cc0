//! `sordino prior publish --dry-run`: what a file would cost, from what is public of it.

use serde_json::json;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};
use sordino_experiment::text::{significant, significant_down, significant_up};
use sordino_host::prior::publish::Cost;

use super::arguments::Arguments;

/// Says what the file would cost, what would be left, and how large it would be.
pub fn show(arguments: &Arguments, cost: &Cost) -> Result<(), CliError> {
    let file = arguments.out.display();
    if arguments.format == Format::Json {
        let mut facts = json!(cost);
        facts["dry_run"] = json!(true);
        facts["file"] = json!(file.to_string());
        return print_json(&facts);
    }
    let budget = cost
        .max_epsilon
        .map_or(String::new(), |most| format!(" of {most}"));
    let left = cost.left_after.map_or(String::new(), |left| {
        format!("; at most ε {} would still fit", significant_down(left, 3))
    });
    print(&format!(
        "a dry run: nothing was charged, and nothing was written\n\
         the file would cost ε {} at δ = {}: whether a study was used or counted as nothing\n\
         and ε {} at the same δ: between any two things a study may hold\n\
         the data set {:?} is named in the ledger {}: ε {} now, {}{budget} after it{left}\n\
         {file} would be about {} bytes; what it is worth, only its releases say\n",
        significant_up(cost.epsilon, 4),
        significant(cost.delta, 3),
        significant_up(cost.replace_epsilon, 4),
        cost.dataset,
        cost.ledger,
        significant_up(cost.spent, 4),
        significant_up(cost.spent_after, 4),
        cost.bytes,
    ))
}
