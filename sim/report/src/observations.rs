//! Every observation of a federation, and every agent's best, as tables for programs.
//!
//! Simulation only: *not releasable*. A federation exists to protect its observations.

use std::path::Path;

use sordino_experiment::files::{read_to_string_bounded, write_atomically};
use sordino_experiment::record::{MethodRun, Observed};
use sordino_experiment::scenario::ObjectiveConfig;
use sordino_experiment::scenario::space::Input;
use sordino_experiment::world::space;

use super::read::ReadError;
use super::rows::{csv, number};

/// A longer list of candidates is not read.
const BYTES_MAX: u64 = 1 << 30;

/// Writes down the points of the candidates, one on each line, unless they are there already from
/// another run.
///
/// **Errors**: the system's.
pub fn keep_candidates(path: &Path, points: &[f64], dim: usize) -> Result<(), ReadError> {
    if path.exists() {
        return Ok(());
    }
    let mut text = String::new();
    for point in points.chunks_exact(dim.max(1)) {
        let point: Vec<String> = point.iter().map(|x| format!("{x:?}")).collect();
        text += &(point.join(",") + "\n");
    }
    write_atomically(path, text.as_bytes()).map_err(|error| ReadError::Unwritable {
        path: path.to_owned(),
        error,
    })
}

/// Writes down the names of agents, one on each line as JSON, unless they are there already from
/// another run.
///
/// **Errors**: the system's.
pub fn keep_names(path: &Path, names: &[String]) -> Result<(), ReadError> {
    if names.is_empty() || path.exists() {
        return Ok(());
    }
    let lines: serde_json::Result<Vec<String>> = names.iter().map(serde_json::to_string).collect();
    let written = lines
        .map_err(Into::into)
        .and_then(|lines| write_atomically(path, (lines.join("\n") + "\n").as_bytes()));
    written.map_err(|error| ReadError::Unwritable {
        path: path.to_owned(),
        error,
    })
}

/// What [`keep_candidates`] and [`keep_names`] wrote down.
struct Kept<'p> {
    /// The file of candidates.
    path: &'p Path,
    /// Each candidate's coordinates, as they stand in the file.
    points: Vec<Vec<String>>,
    /// Names of agents; empty where they have none.
    names: Vec<String>,
}

impl<'p> Kept<'p> {
    /// **Errors**: the system's; a line that is no point, or no name.
    fn read(path: &'p Path, names: &Path) -> Result<Self, ReadError> {
        let text = read_to_string_bounded(path, BYTES_MAX)
            .map_err(|error| ReadError::unreadable(path, error))?;
        let points: Vec<Vec<String>> = text
            .lines()
            .map(|line| line.split(',').map(str::to_owned).collect())
            .collect();
        let dim = points.first().map_or(0, Vec::len);
        for (point, line) in points.iter().zip(1..) {
            let is_number = |x: &String| x.parse::<f64>().is_ok_and(f64::is_finite);
            if point.len() != dim || !point.iter().all(is_number) {
                return Err(ReadError::line(path, line, format!("not {dim} numbers")));
            }
        }
        Ok(Kept {
            path,
            points,
            names: read_names(names)?,
        })
    }

    fn point(&self, candidate: u32) -> Result<&[String], ReadError> {
        let point = self.points.get(candidate as usize).map(Vec::as_slice);
        point.ok_or_else(|| {
            let count = self.points.len();
            let message = format!("candidate {candidate} was observed, and {count} are there");
            ReadError::inconsistent(self.path, message)
        })
    }

    /// The column of agents' names, where they have names, right of their numbers.
    fn with_names(&self, head: &mut Vec<String>) {
        if !self.names.is_empty() {
            head.insert(3, "agent_name".to_owned());
        }
    }

    /// The number of an agent and, where agents have names, its name.
    fn told(&self, agent: u32) -> impl Iterator<Item = String> {
        let name = self.names.get(agent as usize).cloned();
        let name = name.or_else(|| (!self.names.is_empty()).then(String::new));
        std::iter::once(agent.to_string()).chain(name)
    }
}

fn read_names(path: &Path) -> Result<Vec<String>, ReadError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_to_string_bounded(path, BYTES_MAX)
        .map_err(|error| ReadError::unreadable(path, error))?;
    text.lines()
        .map(|line| {
            serde_json::from_str(line).map_err(|error| ReadError::unreadable(path, error.into()))
        })
        .collect()
}

/// `observations.csv` and `agents.csv`, with what was kept in these two files.
///
/// **Errors**: the system's; a kept line that is no point or no name; a candidate that was observed
/// and is not among those kept.
pub fn tables(
    candidates: &Path,
    names: &Path,
    results: &[MethodRun],
    objective: &ObjectiveConfig,
) -> Result<[(&'static str, String); 2], ReadError> {
    let kept = Kept::read(candidates, names)?;
    Ok([
        ("observations.csv", all(results, &kept, objective)?),
        ("agents.csv", best(results, &kept, objective)?),
    ])
}

/// The user's own units of an objective, where it has them.
struct Own<'s> {
    inputs: Vec<(&'s str, Input<'s>)>,
    sign: f64,
}

impl<'s> Own<'s> {
    fn of(objective: &'s ObjectiveConfig) -> Option<Self> {
        let (space, goal) = match objective {
            ObjectiveConfig::Table(config) => (&config.space, config.goal),
            ObjectiveConfig::Fedhpo(config) => (&config.space, config.goal),
            ObjectiveConfig::Command(config) => (&config.space, config.goal),
            _ => return None,
        };
        Some(Own {
            inputs: space.all(),
            sign: goal.sign(),
        })
    }

    /// Names of the inputs; a name that is already a column's is made different.
    fn columns(&self, taken: &[String]) -> Vec<String> {
        let free =
            |name: &str| match taken.iter().any(|column| column == name) || OWN.contains(&name) {
                true => format!("{name}_input"),
                false => name.to_owned(),
            };
        self.inputs.iter().map(|(name, _)| free(name)).collect()
    }

    fn fields(&self, point: &[String]) -> Vec<String> {
        let numbers: Vec<f64> = point.iter().filter_map(|x| x.parse().ok()).collect();
        space::restore(&self.inputs, &numbers)
            .iter()
            .map(space::shown)
            .collect()
    }
}

/// Columns for the observed and the true value in the user's own units.
const OWN: [&str; 2] = ["own_y", "own_value"];

/// A line for each observation: run, method, agent and its name, if it has one, round, who chose
/// it, candidate, its point in the unit box, y, value; then inputs, y and value in the user's own
/// units, where the objective has them.
fn all(
    results: &[MethodRun],
    kept: &Kept<'_>,
    objective: &ObjectiveConfig,
) -> Result<String, ReadError> {
    let dim = kept.points.first().map_or(0, Vec::len);
    let own = Own::of(objective);
    let mut head = ["run", "method", "agent", "round", "source", "candidate"]
        .map(str::to_owned)
        .to_vec();
    kept.with_names(&mut head);
    head.extend((1..=dim).map(|axis| format!("x{axis}")));
    head.extend(["y", "value"].map(str::to_owned));
    if let Some(own) = &own {
        head.extend(own.columns(&head));
        head.extend(OWN.map(str::to_owned));
    }
    let restored: Vec<Vec<String>> = own
        .iter()
        .flat_map(|own| kept.points.iter().map(|point| own.fields(point)))
        .collect();
    let seen = results
        .iter()
        .flat_map(|result| result.observations.iter().map(move |seen| (result, seen)));
    let rows = seen.map(|(result, seen)| -> Result<Vec<String>, ReadError> {
        let address = [result.run.to_string(), result.method.to_string()].into_iter();
        let address = address
            .chain(kept.told(seen.agent))
            .chain([seen.round.to_string()]);
        let point = kept.point(seen.candidate)?.iter().cloned();
        let chosen = [seen.source.name().to_owned(), seen.candidate.to_string()];
        let found = [number(Some(seen.y)), number(Some(seen.value))];
        let inputs = restored
            .get(seen.candidate as usize)
            .cloned()
            .unwrap_or_default();
        let in_own = own
            .iter()
            .flat_map(|own| [seen.y, seen.value].map(|x| number(Some(own.sign * x))));
        Ok(address
            .chain(chosen)
            .chain(point)
            .chain(found)
            .chain(inputs)
            .chain(in_own)
            .collect())
    });
    let rows: Vec<Vec<String>> = rows.collect::<Result<_, _>>()?;
    Ok(csv(head.iter().map(String::as_str), rows))
}

/// A line for each agent of each method and run: its name, if it has one, its number of
/// observations, the best candidate it met with its value, and both in the user's own units, where
/// the objective has them.
fn best(
    results: &[MethodRun],
    kept: &Kept<'_>,
    objective: &ObjectiveConfig,
) -> Result<String, ReadError> {
    let own = Own::of(objective);
    let mut head = [
        "run",
        "method",
        "agent",
        "observations",
        "best_round",
        "best_candidate",
        "best_value",
    ]
    .map(str::to_owned)
    .to_vec();
    kept.with_names(&mut head);
    if let Some(own) = &own {
        head.extend(own.columns(&head));
        head.push(OWN[1].to_owned());
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for result in results {
        let mut seen: Vec<&Observed> = result.observations.iter().collect();
        seen.sort_by_key(|seen| seen.agent);
        for of_agent in seen.chunk_by(|a, b| a.agent == b.agent) {
            // The first of equals.
            let best = of_agent.iter().fold(of_agent[0], |best, seen| {
                if seen.value > best.value { seen } else { best }
            });
            let mut row = vec![result.run.to_string(), result.method.to_string()];
            row.extend(kept.told(best.agent));
            row.extend([
                of_agent.len().to_string(),
                best.round.to_string(),
                best.candidate.to_string(),
            ]);
            row.push(number(Some(best.value)));
            if let Some(own) = &own {
                row.extend(own.fields(kept.point(best.candidate)?));
                row.push(number(Some(own.sign * best.value)));
            }
            rows.push(row);
        }
    }
    Ok(csv(head.iter().map(String::as_str), rows))
}
