//! `sordino ledger`: what ledgers hold, for who answers for the data. Nothing is locked or written.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use sordino_core::privacy::Event;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};
use sordino_experiment::text::{significant, significant_down, significant_up};
use sordino_host::ledger::{Contents, CounterPlace, Entry, LedgerError, contradicted};
use sordino_host::text::plain;

/// `sordino ledger`.
///
/// Shows what ledgers of data sets hold: every release with its day and its ε, what all of them
/// cost together, and what is left of the budget. A ledger that holds less than the second count of
/// this machine says is an older copy: it is shown with a warning.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Ledgers, each read as it is, with a warning if this machine's second count knows of more
    /// charges
    #[arg(value_name = "FILE", default_value = "sordino-ledger.jsonl")]
    ledgers: Vec<PathBuf>,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads all ledgers and shows them.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let mut ledgers = Vec::new();
    for path in &arguments.ledgers {
        let contents = Contents::counted(path).map_err(CliError::input)?;
        let mut facts = facts(&path.display().to_string(), &contents).map_err(CliError::failure)?;
        // Without a state folder nothing was counted.
        let counter = CounterPlace::of_user().unwrap_or(CounterPlace::Nowhere);
        facts["warning"] = json!(contradicted(path, &counter).map_err(CliError::input)?);
        ledgers.push((facts, contents));
    }
    if arguments.format == Format::Json {
        let facts: Vec<Value> = ledgers.into_iter().map(|(facts, _)| facts).collect();
        return print_json(&json!({ "ledgers": facts }));
    }
    let texts = ledgers
        .iter()
        .map(|(facts, contents)| text(facts, contents));
    print(&texts.collect::<Vec<_>>().join("\n"))
}

/// A ledger as JSON. Numbers of ε are at its δ; one that is not known is null.
fn facts(path: &str, contents: &Contents) -> Result<Value, LedgerError> {
    let terms = &contents.terms;
    let events: Vec<Event> = contents.events().copied().collect();
    let charges = contents
        .entries
        .iter()
        .map(|entry| charge(contents, entry))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(json!({
        "ledger": path,
        "dataset": terms.data,
        "unit": terms.unit,
        "neighboring_relation": events.first().map(|event| event.relation().to_string()),
        "delta": terms.delta,
        "max_epsilon": terms.epsilon_max,
        "epsilon": contents.spent.epsilon,
        "replace_epsilon": contents.between(&events)?,
        "left": contents.left()?,
        "completed": contents.completed,
        "releases": charges.len(),
        "charges": charges,
    }))
}

/// One charge as JSON.
fn charge(contents: &Contents, entry: &Entry) -> Result<Value, LedgerError> {
    Ok(json!({
        "charge": entry.sequence + 1,
        "release": entry.release,
        "day": entry.day,
        "epsilon": contents.cost(entry)?,
        "replace_epsilon": contents.between(&entry.events)?,
        "note": entry.note,
    }))
}

/// The same in words.
fn text(facts: &Value, contents: &Contents) -> String {
    let terms = &contents.terms;
    let mut lines = Vec::new();
    let unit = &terms.unit;
    lines.push((
        "data set",
        format!("{}; each {unit} is protected", terms.data),
    ));
    lines.push(("ledger", words(&facts["ledger"])));
    if let Some(warning) = facts["warning"].as_str() {
        lines.push(("WARNING", warning.to_owned()));
    }
    let most = terms
        .epsilon_max
        .map_or(String::new(), |most| format!(" of {most}"));
    let delta = significant(terms.delta, 3);
    let compared = match facts["neighboring_relation"].as_str() {
        None => String::new(),
        Some(_) if facts["replace_epsilon"].is_number() => {
            format!(": whether one {unit} was used or counted as nothing")
        }
        Some(relation) => format!(": {relation}"),
    };
    lines.push((
        "spent",
        format!("ε {}{most} at δ = {delta}{compared}", up(&facts["epsilon"])),
    ));
    if !contents.entries.is_empty() && facts["replace_epsilon"].is_number() {
        lines.push((
            "",
            format!(
                "ε {} at the same δ: between any two things that one {unit} may have contributed",
                up(&facts["replace_epsilon"])
            ),
        ));
    }
    if let Some(left) = facts["left"].as_f64() {
        lines.push((
            "left",
            format!("at most ε {} at the same δ", significant_down(left, 3)),
        ));
    }
    lines.push(("releases", contents.entries.len().to_string()));
    if contents.completed {
        lines.push((
            "",
            "the last was cut off in the ledger, and counts as charged".into(),
        ));
    }
    for charge in facts["charges"].as_array().into_iter().flatten() {
        let day = charge["day"].as_str().unwrap_or("no day written");
        let between = match charge["replace_epsilon"].is_number() {
            true => format!(", {} between any two", up(&charge["replace_epsilon"])),
            false => String::new(),
        };
        let note = charge["note"]
            .as_str()
            .map_or(String::new(), |note| format!("; {note}"));
        lines.push((
            "",
            format!(
                "{}: {day}, ε {} alone{between}{note}",
                charge["charge"],
                up(&charge["epsilon"])
            ),
        ));
    }
    let lines = lines.iter();
    lines
        .map(|(name, what)| format!("{name:<10} {}\n", plain(what)))
        .collect()
}

/// A text of the facts.
fn words(text: &Value) -> String {
    text.as_str().unwrap_or_default().to_owned()
}

/// A number of the facts, rounded up.
fn up(number: &Value) -> String {
    number
        .as_f64()
        .map_or_else(|| "unknown".into(), |x| significant_up(x, 4))
}
