//! A user's own table of values: what every agent would see at every candidate.
//!
//! **Format**: a CSV file with the columns `agent`, every input, `value`. Agents are named by any text, in the order of
//! their first row; candidates are the different settings, in the order of their first row; every agent has one value at
//! every candidate.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sordino_core::digest::Digest;
use sordino_core::random::{Party, Purpose, RunSeed, normal};

use super::rows::{Row, Rows};
use super::space::{self, Setting, shown};
use super::{Family, Objective, ObjectiveError};
use crate::scenario::TableConfig;
use crate::scenario::outsourced::Goal;
use crate::text::Quoted;

/// The most candidates: every agent weighs all of them in every query.
const CANDIDATES_MAX: usize = 20_000;
/// The most agents.
const AGENTS_MAX: usize = 1_000_000;

/// What a scenario must know of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Number of different names in the column `agent`.
    pub agents: u32,
    /// SHA-256 of the file.
    pub digest: Digest,
}

/// Counts the agents of a table.
///
/// **Errors**: a file that cannot be read, or without the column `agent`.
pub fn facts(path: &Path) -> Result<Facts, ObjectiveError> {
    let rows = Rows::read(path)?;
    let column = rows.column("agent")?;
    let (agents, _) = numbered(rows.iter().map(|row| row.text(column).to_owned()));
    Ok(Facts { agents: agents as u32, digest: *rows.digest() })
}

/// Numbers of things in the order of their first occurrence, and how many different ones there are.
fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> (usize, Vec<usize>) {
    let mut known: BTreeMap<K, usize> = BTreeMap::new();
    let numbers = keys
        .map(|key| {
            let next = known.len();
            *known.entry(key).or_insert(next)
        })
        .collect();
    (known.len(), numbers)
}

/// A table that was read and checked.
pub struct Table(Arc<Shared>);

struct Shared {
    agents: u32,
    dim: usize,
    points: Vec<f64>,
    /// Agent by agent, turned so that more is better.
    values: Vec<f64>,
    noise_std: f64,
}

impl Table {
    /// Reads the table that a scenario of `agents` agents was made for.
    ///
    /// **Errors**: a malformed file, with line, column and what is admissible; another number of agents or another digest
    /// than the scenario says; two values, or none, of one agent at one candidate.
    pub fn new(config: &TableConfig, agents: u32, path: &Path) -> Result<Self, ObjectiveError> {
        let rows = Rows::read(path)?;
        let found = rows.digest().to_string();
        if let Some(wanted) = config.digest.as_ref().filter(|wanted| **wanted != found) {
            return Err(rows.error(format!(
                "its digest is {found}, the scenario was made for a table of digest {wanted}; give that file, or leave \
                 objective.digest away"
            )));
        }
        let (agent, value) = (rows.column("agent")?, rows.column("value")?);
        let inputs = config.space.all();
        let columns = inputs.iter().map(|(name, _)| rows.column(name)).collect::<Result<Vec<_>, _>>()?;
        let settings: Vec<Vec<Setting>> = rows
            .iter()
            .map(|row| {
                let of = |((_, input), column): (&(&str, _), &usize)| {
                    space::read(input, row.text(*column)).map_err(|admissible| row.refuse(*column, &admissible))
                };
                inputs.iter().zip(&columns).map(of).collect()
            })
            .collect::<Result<_, _>>()?;
        let (count, candidate_of) = numbered(settings.iter().map(|setting| {
            setting.iter().map(|one| shown(one).replace('\u{1f}', " ")).collect::<Vec<_>>().join("\u{1f}")
        }));
        let (agents_found, agent_of) = numbered(rows.iter().map(|row| row.text(agent)));
        if !(1..=AGENTS_MAX).contains(&agents_found) || agents_found != agents as usize {
            let message = format!("{agents_found} agents in the column `agent`; federation.agents = {agents}");
            return Err(rows.error(message));
        }
        if !(2..=CANDIDATES_MAX).contains(&count) {
            return Err(rows.count_error(count, "2 to 20000 different settings of the inputs"));
        }
        let places = agent_of.iter().zip(&candidate_of).map(|(agent, candidate)| agent * count + candidate).collect();
        let values = values(&rows, value, places, agents_found * count, config.goal)?;
        if let Some(hole) = values.iter().position(|value| value.is_nan()) {
            let first = |of: &[usize], number| of.iter().position(|other| *other == number);
            let line = |place: Option<usize>| place.and_then(|place| rows.iter().nth(place));
            let candidate = line(first(&candidate_of, hole % count)).map_or(0, |row| row.line());
            let name = line(first(&agent_of, hole / count)).map_or("", |row| row.text(agent));
            return Err(rows.error(format!("agent `{}` has no value at the inputs of line {candidate}", Quoted(name))));
        }
        let mut distinct: Vec<Option<&Vec<Setting>>> = vec![None; count];
        candidate_of.iter().zip(&settings).for_each(|(candidate, setting)| distinct[*candidate] = Some(setting));
        let distinct: Vec<Vec<Setting>> = distinct.into_iter().flatten().cloned().collect();
        Ok(Table(Arc::new(Shared {
            agents,
            dim: config.space.dim(),
            points: space::points(&config.space, &distinct),
            values,
            noise_std: config.noise_variance.sqrt(),
        })))
    }
}

/// The values by places; NaN where there is none.
fn values(
    rows: &Rows,
    column: usize,
    places: Vec<usize>,
    count: usize,
    goal: Goal,
) -> Result<Vec<f64>, ObjectiveError> {
    let (mut values, mut lines) = (vec![f64::NAN; count], vec![0; count]);
    let sign = if goal == Goal::Minimize { -1.0 } else { 1.0 };
    for (row, place) in rows.iter().zip(places) {
        let value = Row::number(&row, column, |x| x.abs() <= 1e12, "a number up to 1e12")?;
        if !values[place].is_nan() {
            let again = format!("lines {} and {} are one agent at the same inputs", lines[place], row.line());
            return Err(rows.error(again));
        }
        (values[place], lines[place]) = (sign * value, row.line());
    }
    Ok(values)
}

impl Family for Table {
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        Box::new(Values { shared: Arc::clone(&self.0), run })
    }
}

/// The table under the noise of one run.
struct Values {
    shared: Arc<Shared>,
    run: RunSeed,
}

impl Values {
    fn count(&self) -> usize {
        self.shared.points.len() / self.shared.dim
    }
}

impl Objective for Values {
    fn agents(&self) -> u32 {
        self.shared.agents
    }
    fn dim(&self) -> usize {
        self.shared.dim
    }
    fn candidates(&self) -> &[f64] {
        &self.shared.points
    }
    fn candidate_count(&self) -> u32 {
        self.count() as u32
    }
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        self.shared.values[agent as usize * self.count() + candidate as usize]
    }
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        let mut stream = self.run.stream(Party::Agent(agent), Purpose::ObservationNoise, observation);
        self.value(agent, candidate) + self.shared.noise_std * normal::draw::<f64>(&mut stream)
    }
    fn optimum(&self, agent: u32) -> f64 {
        let own = &self.shared.values[agent as usize * self.count()..][..self.count()];
        own.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
    fn regret_name(&self) -> &'static str {
        "regret"
    }
}
