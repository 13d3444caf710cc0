//! `--data`: what a scenario takes from it and does not state itself.

use std::path::{Path, PathBuf};

use sordino_core::digest::Digest;
use sordino_engine::{Model, local};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::scenario::local::{LocalObjective, ReadingsConfig};
use sordino_experiment::scenario::{
    ObjectiveConfig, Problem, Scenario, ScenarioError, table as table_of,
};
use sordino_experiment::text::Quoted;
use sordino_experiment::world::{fault, fedhpo, landmine, table};
use toml::Value;

/// What a scenario takes from its data.
#[derive(Debug)]
pub struct Taken {
    /// The settings that were given, and after them what was taken: a table's number of agents and
    /// digest, a list's digest.
    pub settings: Vec<String>,
    /// What the table has, if the number of agents is taken from it.
    table: Option<(PathBuf, table::Facts)>,
}

impl Taken {
    /// The refusal of a scenario. Where the table's number of agents is refused, it tells of the
    /// table: nobody set it.
    pub fn refused(&self, error: ScenarioError) -> CliError {
        self.tells(&error)
            .map_or_else(|| error.into(), CliError::input)
    }

    /// What is said of the table, if a scenario is refused because of its number of agents.
    pub fn tells(&self, error: &ScenarioError) -> Option<String> {
        let Problem::Value {
            key, admissible, ..
        } = &error.problem
        else {
            return None;
        };
        let (path, facts) = self.table.as_ref().filter(|_| key == "federation.agents")?;
        let path = path.display();
        Some(match (&facts.first, facts.agents) {
            (Some((line, name)), 1) => {
                format!(
                    "{path}:{line}: `{}` is the only agent of this table; admissible: {admissible}",
                    Quoted(name)
                )
            }
            (_, agents) => {
                format!("{path}: this table has {agents} agents; admissible: {admissible}")
            }
        })
    }
}

/// The digest of a file as this key of the objective. Without a file the objective says what it
/// reads.
fn digest_of(data: Option<&Path>, key: &str) -> Result<Option<String>, CliError> {
    let digest = data.map(table::digest).transpose();
    let digest = digest.map_err(CliError::input)?;
    Ok(digest.map(|digest| format!("objective.{key}=\"{digest}\"")))
}

/// What a scenario takes from its data and does not state itself, beside the settings it has.
///
/// **Errors**: a table that is not named or cannot be read.
pub fn of_data(text: &str, given: &[String], data: Option<&Path>) -> Result<Taken, CliError> {
    let mut taken = Taken {
        settings: given.to_vec(),
        table: None,
    };
    // A text or a setting that is none is refused by who reads the scenario next.
    let table = table_of("", text, given).unwrap_or_default();
    let said = |section: &str, key: &str| -> Option<String> {
        Some(match table.get(section)?.get(key)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let missing = |section: &str, key: &str| said(section, key).is_none();
    if let Some(trace) = said("faults", "trace").filter(|_| missing("faults", "trace_digest")) {
        taken.settings.extend(of_trace(Path::new(&trace))?);
    }
    if said("objective", "design").as_deref() == Some("list") && missing("objective", "list_digest")
    {
        taken.settings.extend(digest_of(data, "list_digest")?);
        return Ok(taken);
    }
    let kind = said("objective", "kind").unwrap_or_default();
    let shipped = said("objective", "shipped").is_some_and(|shipped| shipped != "false");
    let agents = missing("federation", "agents");
    let digest = missing("objective", "digest");
    match kind.as_str() {
        "csv" if digest => {
            taken.settings.extend(digest_of(data, "digest")?);
            return Ok(taken);
        }
        "landmine" | "light-sensor" | "stocks" if digest => {
            let digest = data.map(|data| of_paper(&kind, data)).transpose()?;
            let digest = digest.map(|digest| format!("objective.digest=\"{digest}\""));
            taken.settings.extend(digest);
            return Ok(taken);
        }
        "table" | "fedhpo" if !shipped && (agents || digest) => {}
        _ => return Ok(taken),
    }
    let path = data.ok_or_else(|| {
        CliError::input("this scenario reads a CSV table; name it with --data PATH")
    })?;
    if !path.exists() {
        return Err(CliError::input(format!(
            "--data {}: there is no such file",
            path.display()
        )));
    }
    let facts = if kind == "fedhpo" {
        of_trainings(text, given, path)?
    } else {
        Some(table::facts(path)?)
    };
    // A scenario that is wrong is refused by who reads it next.
    let Some(facts) = facts else {
        return Ok(taken);
    };
    if facts.agents == 0 {
        return Err(CliError::input(format!(
            "{}: no rows; a table has a row below its header",
            path.display()
        )));
    }
    let number = agents.then(|| format!("federation.agents={}", facts.agents));
    let digest = digest.then(|| format!("objective.digest=\"{}\"", facts.digest));
    taken.settings.extend(number.into_iter().chain(digest));
    taken.table = agents.then(|| (path.to_owned(), facts));
    Ok(taken)
}

/// The digest of a trace, as a setting; none of several, which a sweep tries one after the other.
///
/// **Errors**: a file that cannot be read.
fn of_trace(path: &Path) -> Result<Option<String>, CliError> {
    match fault::trace_digest(path) {
        Ok(digest) => Ok(Some(format!("faults.trace_digest=\"{digest}\""))),
        Err(_several) if path.as_os_str().as_encoded_bytes().contains(&b',') => Ok(None),
        Err(error) => Err(CliError::input(error)),
    }
}

/// The digest of the files that an objective of a paper reads.
///
/// **Errors**: a file that cannot be read.
fn of_paper(kind: &str, data: &Path) -> Result<Digest, CliError> {
    let readings = ReadingsConfig { digest: None };
    let objective = match kind {
        "light-sensor" => LocalObjective::LightSensor(readings),
        "stocks" => LocalObjective::Stocks(readings),
        _ => return landmine::digest(data).map_err(CliError::input),
    };
    Ok(local::digest(&objective, data)?)
}

/// What there is to take from a table of federated trainings; the scenario says what agents are.
/// Nothing for a wrong scenario.
fn of_trainings(
    text: &str,
    settings: &[String],
    path: &Path,
) -> Result<Option<table::Facts>, CliError> {
    // Any number of agents: that of the table is what is looked for.
    let most = [settings, &["federation.agents=1000000".to_owned()]].concat();
    match Scenario::parse("", text, &most).map(|scenario| scenario.objective) {
        Ok(ObjectiveConfig::Fedhpo(config)) => Ok(Some(fedhpo::facts(&config, path)?)),
        _ => Ok(None),
    }
}

/// Refuses `--data` for scenarios that do not read it: a user who gives it believes that it
/// matters.
pub fn check_data<'s>(
    scenarios: impl IntoIterator<Item = &'s dyn Model>,
    data: Option<&Path>,
) -> Result<(), CliError> {
    let mut scenarios = scenarios.into_iter().peekable();
    let name = scenarios.peek().map_or(String::new(), |scenario| {
        format!(" `{}`", scenario.head().name)
    });
    match data {
        Some(path) if scenarios.all(|scenario| scenario.reads().is_none()) => {
            Err(CliError::input(format!(
                "--data {}: scenario{name} reads no data; omit --data, or run one that does (see sordino list)",
                path.display()
            )))
        }
        _ => Ok(()),
    }
}
