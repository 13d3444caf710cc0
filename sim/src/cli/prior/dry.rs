//! `sordino prior publish --dry-run`: what a file would cost, from what is public of it.

use serde_json::json;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};
use sordino_experiment::text::{significant, significant_down, significant_up};
use sordino_host::ledger::Preview;
use sordino_host::prior::label::{cost, event};
use sordino_host::prior::publish::{Prepared, Publication, size};
use sordino_host::prior::worth::bound;

use super::arguments::Arguments;

/// Says what the file of so many studies would cost, what would be left, and how large it would be.
pub fn execute(
    arguments: &Arguments,
    publication: &Publication,
    studies: usize,
    ledger: &Preview,
) -> Result<(), CliError> {
    let prepared = Prepared::new(publication, studies).map_err(CliError::failure)?;
    let multipliers = prepared.noise_multipliers();
    let bytes = size(publication, prepared.context(), multipliers).map_err(CliError::failure)?;
    let delta = publication.delta;
    let (exact, between) = cost(multipliers, delta).map_err(CliError::failure)?;
    let epsilon = exact.min(publication.epsilon);
    let events: Vec<_> = multipliers.iter().map(|z| event(*z)).collect();
    let spent = ledger.spent().map_err(CliError::failure)?;
    let after = ledger.spent_after(&events).map_err(CliError::failure)?;
    let left = ledger.left(&events).map_err(CliError::failure)?;
    let path = ledger.path().display().to_string();
    let most = ledger.terms().epsilon_max;
    if arguments.format == Format::Json {
        return print_json(&json!({
            "dry_run": true,
            "contributors": studies,
            "releases": multipliers.len(),
            "features": prepared.context().config().features(),
            "epsilon": bound(epsilon),
            "replace_epsilon": bound(between),
            "delta": delta,
            "dataset": arguments.dataset,
            "ledger": path,
            "charges": spent.charges,
            "spent": spent.epsilon,
            "spent_after": after.epsilon,
            "max_epsilon": most,
            "left_after": left,
            "bytes": bytes,
            "file": arguments.out.display().to_string(),
        }));
    }
    let budget = most.map_or(String::new(), |most| format!(" of {most}"));
    let left = left.map_or(String::new(), |left| {
        format!("; at most ε {} would still fit", significant_down(left, 3))
    });
    print(&format!(
        "a dry run: nothing was charged, and nothing was written\n\
         the file would cost ε {} at δ = {}: whether a study was used or counted as nothing\n\
         and ε {} at the same δ: between any two things a study may hold\n\
         the data set {:?} is named in the ledger {path}: ε {} now, {}{budget} after it{left}\n\
         {} would be about {bytes} bytes; what it is worth, only its releases say\n",
        significant_up(epsilon, 4),
        significant(delta, 3),
        significant_up(between, 4),
        arguments.dataset,
        significant_up(spent.epsilon, 4),
        significant_up(after.epsilon, 4),
        arguments.out.display(),
    ))
}
