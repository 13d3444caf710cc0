//! `--data`: what a scenario takes from it and does not state itself.

use std::path::Path;

use super::error::CliError;
use crate::model::Model;
use crate::scenario::{ObjectiveConfig, Scenario};
use crate::world::{fedhpo, table};

/// What a scenario takes from its data and does not state itself, as settings: a table's number of agents and digest, a
/// list's digest.
///
/// **Errors**: a table that is not named or cannot be read.
pub fn of_data(text: &str, settings: &[String], data: Option<&Path>) -> Result<Vec<String>, CliError> {
    let parsed: toml::Table = text.parse().unwrap_or_default();
    let said = |section: &str, key: &str| {
        let set = settings.iter().rev().filter_map(|setting| setting.split_once('='));
        let set = set.filter(|(name, _)| name.trim() == format!("{section}.{key}")).map(|(_, value)| value.trim());
        let written = parsed.get(section).and_then(|section| section.get(key)).map(ToString::to_string);
        set.map(str::to_owned).next().or(written).map(|value| value.trim_matches('"').to_owned())
    };
    let missing = |section: &str, key: &str| said(section, key).is_none();
    let digest_of = |key: &str| {
        // Without a file the objective says what it reads.
        let digest = data.map(table::digest).transpose().map_err(CliError::input)?;
        Ok(digest.map(|digest| format!("objective.{key}=\"{digest}\"")).into_iter().collect())
    };
    if said("objective", "design").as_deref() == Some("list") && missing("objective", "list_digest") {
        return digest_of("list_digest");
    }
    let kind = said("objective", "kind").unwrap_or_default();
    let shipped = said("objective", "shipped").is_some_and(|shipped| shipped != "false");
    let (agents, digest) = (missing("federation", "agents"), missing("objective", "digest"));
    match kind.as_str() {
        "csv" if digest => return digest_of("digest"),
        "table" | "fedhpo" if !shipped && (agents || digest) => {}
        _ => return Ok(Vec::new()),
    }
    let path = data.ok_or_else(|| CliError::input("this scenario reads a CSV table; name it with --data PATH"))?;
    if !path.exists() {
        return Err(CliError::input(format!("--data {}: there is no such file", path.display())));
    }
    let facts = if kind == "fedhpo" { of_trainings(text, settings, path)? } else { Some(table::facts(path)?) };
    // A scenario that is wrong is refused by who reads it next.
    let Some(facts) = facts else { return Ok(Vec::new()) };
    if facts.agents == 0 {
        return Err(CliError::input(format!("{}: no rows; a table has a row below its header", path.display())));
    }
    let agents = agents.then(|| format!("federation.agents={}", facts.agents));
    let digest = digest.then(|| format!("objective.digest=\"{}\"", facts.digest));
    Ok(agents.into_iter().chain(digest).collect())
}

/// The same for a table of federated trainings; there the scenario says what the agents are. Nothing for a wrong scenario.
fn of_trainings(text: &str, settings: &[String], path: &Path) -> Result<Option<table::Facts>, CliError> {
    // Any number of agents: that of the table is what is looked for.
    let most = [settings, &["federation.agents=1000000".to_owned()]].concat();
    match Scenario::parse("", text, &most).map(|scenario| scenario.objective) {
        Ok(ObjectiveConfig::Fedhpo(config)) => Ok(Some(fedhpo::facts(&config, path)?)),
        _ => Ok(None),
    }
}

/// Refuses `--data` for scenarios that do not read it: a user who gives it believes that it matters.
pub fn check_data<'s>(scenarios: impl IntoIterator<Item = &'s dyn Model>, data: Option<&Path>) -> Result<(), CliError> {
    let mut scenarios = scenarios.into_iter().peekable();
    let name = scenarios.peek().map_or(String::new(), |scenario| format!(" `{}`", scenario.head().name));
    match data {
        Some(path) if scenarios.all(|scenario| scenario.reads().is_none()) => Err(CliError::input(format!(
            "--data {}: scenario{name} reads no data; omit --data, or run one that does (see sordino list)",
            path.display()
        ))),
        _ => Ok(()),
    }
}
