//! A user's own table of values: what every agent would see at every candidate.
//!
//! **Format**: a CSV file with the columns `agent`, every input, `value`. Agents are named by any
//! text and numbered in the order of their first row; candidates are the different settings, in the
//! order of their first row; every agent has one value at every candidate.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sordino_core::digest::{Digest, Frame};
use sordino_core::random::RunSeed;

use super::objective::noise;
use super::rows::{Row, Rows};
use super::space::{self, Setting, shown};
use super::{Family, Objective, ObjectiveError};
use crate::benchmark::Measured;
use crate::scenario::TableConfig;
use crate::scenario::outsourced::Goal;
use crate::scenario::space::SpaceConfig;
use crate::text::Quoted;

/// The most candidates: every agent weighs all of them in every query.
const CANDIDATES_MAX: usize = 20_000;
/// The most agents.
const AGENTS_MAX: usize = 1_000_000;

/// What a scenario must know about its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Number of different names in the column `agent`.
    pub agents: u32,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// The first row that counts: its line, and its agent's name.
    pub first: Option<(u64, String)>,
}

/// Counts the agents of a table.
///
/// **Errors**: a file that cannot be read, or without the column `agent`.
pub fn facts(path: &Path) -> Result<Facts, ObjectiveError> {
    let rows = Rows::read(path)?;
    let column = rows.column("agent")?;
    let (agents, _) = numbered(rows.iter().map(|row| row.text(column).to_owned()));
    let first = rows
        .iter()
        .next()
        .map(|row| (row.line(), row.text(column).to_owned()));
    Ok(Facts {
        agents: agents as u32,
        digest: *rows.digest(),
        first,
    })
}

/// SHA-256 of a CSV file.
///
/// **Errors**: a file that cannot be read.
pub fn digest(path: &Path) -> Result<Digest, ObjectiveError> {
    Ok(*Rows::read(path)?.digest())
}

/// How many different things there are, and the number of each in the order of first occurrence.
pub(super) fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> (usize, Vec<usize>) {
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
    /// Their names, where the table has them.
    names: Vec<String>,
    dim: usize,
    points: Vec<f64>,
    /// Agent by agent, with signs such that more is better.
    values: Vec<f64>,
    noise_std: f64,
}

impl Table {
    /// Reads the table that a scenario of `agents` agents was made for.
    ///
    /// **Errors**: a malformed file, with line, column and what is admissible; another number of
    /// agents or another digest than the scenario says; two values, or none, for one agent at one
    /// candidate.
    pub fn new(config: &TableConfig, agents: u32, path: &Path) -> Result<Self, ObjectiveError> {
        let rows = Rows::read(path)?;
        rows.check_digest("objective.digest", rows.digest(), config.digest.as_deref())?;
        let agent = rows.column("agent")?;
        let value = rows.column("value")?;
        let settings = space::of_rows(&config.space, &rows, rows.iter())?;
        let cells = rows.iter().zip(&settings).map(|(row, setting)| Cell {
            row,
            agent: row.text(agent).into(),
            setting,
        });
        let cells: Vec<Cell<'_>> = cells.collect();
        Self::filled(&Shape::of(config), &rows, agents, &cells, |cell, _| {
            cell.row
                .number(value, |x| x.abs() <= 1e12, "a number up to 1e12")
        })
    }

    /// A table of cells, whose values `value` gives by their places.
    ///
    /// **Errors**: another number of agents than the scenario says; too few or too many settings;
    /// two values, or none, of one agent at one setting; those of `value`.
    pub(super) fn filled<'r>(
        shape: &Shape<'_>,
        rows: &Rows,
        agents: u32,
        cells: &[Cell<'r>],
        value: impl Fn(&Cell<'r>, usize) -> Result<f64, ObjectiveError>,
    ) -> Result<Self, ObjectiveError> {
        let (count, candidate_of) = numbered(cells.iter().map(|cell| {
            cell.setting
                .iter()
                .map(|one| shown(one).replace('\u{1f}', " "))
                .collect::<Vec<_>>()
                .join("\u{1f}")
        }));
        let (agents_found, agent_of) = numbered(cells.iter().map(|cell| &*cell.agent));
        if !(1..=AGENTS_MAX).contains(&agents_found) || agents_found != agents as usize {
            let message = format!("{agents_found} agents; federation.agents = {agents}");
            return Err(rows.error(message));
        }
        if !(2..=CANDIDATES_MAX).contains(&count) {
            return Err(rows.count_error(count, "2 to 20000 different settings of the inputs"));
        }
        let mut values = vec![f64::NAN; agents_found * count];
        let mut lines = vec![0; agents_found * count];
        let sign = shape.goal.sign();
        for (number, cell) in cells.iter().enumerate() {
            let place = agent_of[number] * count + candidate_of[number];
            let line = cell.row.line();
            let value = value(cell, number)?;
            if !values[place].is_nan() {
                let again = format!(
                    "lines {} and {line} are one agent at the same inputs",
                    lines[place]
                );
                return Err(rows.error(again));
            }
            (values[place], lines[place]) = (sign * value, line);
        }
        if let Some(hole) = values.iter().position(|value| value.is_nan()) {
            let candidate = first_of(cells, &candidate_of, hole % count);
            let candidate = candidate.map_or(0, |cell| cell.row.line());
            let agent = first_of(cells, &agent_of, hole / count);
            let name = agent.map_or("", |cell| &*cell.agent);
            return Err(rows.error(format!(
                "agent `{}` has no value at the inputs of line {candidate}",
                Quoted(name)
            )));
        }
        let mut distinct: Vec<Option<&[Setting]>> = vec![None; count];
        candidate_of
            .iter()
            .zip(cells)
            .for_each(|(candidate, cell)| distinct[*candidate] = Some(cell.setting));
        let distinct: Vec<Vec<Setting>> =
            distinct.into_iter().flatten().map(<[_]>::to_vec).collect();
        let mut names = vec![""; agents_found];
        agent_of
            .iter()
            .zip(cells)
            .for_each(|(agent, cell)| names[*agent] = &cell.agent);
        Ok(Self::of(
            shape,
            names.into_iter().map(str::to_owned).collect(),
            agents,
            &distinct,
            values,
        ))
    }

    /// A table that is compiled in.
    ///
    /// **Errors**: inputs, or ranges of inputs, that the table does not have; another digest than
    /// the scenario says.
    pub fn shipped(config: &TableConfig, table: Measured) -> Result<Self, ObjectiveError> {
        let rows = Rows::parse(Path::new(table.file()), table.settings().as_bytes())?;
        let mut digest = Frame::leaf();
        digest.bytes(table.settings().as_bytes());
        digest.bytes(table.bytes());
        rows.check_digest("objective.digest", &digest.end(), config.digest.as_deref())?;
        let sign = config.goal.sign();
        let values = table
            .values()
            .into_iter()
            .map(|value| sign * value)
            .collect();
        let settings = space::of_rows(&config.space, &rows, rows.iter())?;
        Ok(Self::of(
            &Shape::of(config),
            Vec::new(),
            table.agents(),
            &settings,
            values,
        ))
    }

    fn of(
        shape: &Shape<'_>,
        names: Vec<String>,
        agents: u32,
        settings: &[Vec<Setting>],
        values: Vec<f64>,
    ) -> Self {
        Table(Arc::new(Shared {
            agents,
            names,
            dim: shape.space.dim(),
            points: space::points(shape.space, settings),
            values,
            noise_std: shape.noise_variance.sqrt(),
        }))
    }
}

/// What a scenario says about a table, whatever its file looks like.
pub(super) struct Shape<'s> {
    pub(super) space: &'s SpaceConfig,
    pub(super) noise_variance: f64,
    pub(super) goal: Goal,
}

impl<'s> Shape<'s> {
    fn of(config: &'s TableConfig) -> Self {
        Shape {
            space: &config.space,
            noise_variance: config.noise_variance,
            goal: config.goal,
        }
    }
}

/// One agent at one setting, as a row has it.
pub(super) struct Cell<'r> {
    pub(super) row: Row<'r>,
    pub(super) agent: Cow<'r, str>,
    pub(super) setting: &'r [Setting],
}

/// The first cell of those with this number.
fn first_of<'c, 'r>(
    cells: &'c [Cell<'r>],
    numbers: &[usize],
    number: usize,
) -> Option<&'c Cell<'r>> {
    let place = numbers.iter().position(|other| *other == number)?;
    cells.get(place)
}

impl Family for Table {
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        Box::new(Values {
            shared: Arc::clone(&self.0),
            run,
        })
    }
}

/// The table under the noise of one run.
struct Values {
    shared: Arc<Shared>,
    run: RunSeed,
}

impl Objective for Values {
    fn agents(&self) -> u32 {
        self.shared.agents
    }
    fn agent_names(&self) -> &[String] {
        &self.shared.names
    }
    fn dim(&self) -> usize {
        self.shared.dim
    }
    fn candidates(&self) -> &[f64] {
        &self.shared.points
    }
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        self.shared.values[agent as usize * self.candidate_count() as usize + candidate as usize]
    }
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        self.value(agent, candidate) + noise(self.run, agent, observation, self.shared.noise_std)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{ObjectiveConfig, Scenario, Shipped};

    fn parse(settings: &[&str]) -> Scenario {
        let settings: Vec<String> = settings
            .iter()
            .map(|setting| (*setting).to_owned())
            .collect();
        Shipped::find("employment")
            .unwrap()
            .parse(&settings)
            .unwrap()
    }

    fn load(scenario: &Scenario) -> Result<Table, ObjectiveError> {
        match &scenario.objective {
            ObjectiveConfig::Table(config) => Table::shipped(config, config.shipped.unwrap()),
            _ => panic!("a table"),
        }
    }

    #[test]
    fn a_table_that_is_compiled_in_has_its_agents_settings_and_values() {
        let scenario = parse(&[]);
        let objective = load(&scenario).unwrap().realize(RunSeed::new(0, 0));
        assert_eq!(
            (
                objective.agents(),
                objective.dim(),
                objective.candidate_count()
            ),
            (133, 3, 343)
        );
        assert_eq!(scenario.federation.agents, 133);
        // Its first two values, as `od -td2` shows them, and the corners of the box.
        assert_eq!(
            [0, 1].map(|candidate| objective.value(0, candidate)),
            [-0.7236, -0.701]
        );
        assert_eq!(objective.candidates()[..3], [0.0; 3]);
        assert_eq!(objective.candidates()[3 * 342..], [1.0; 3]);
        assert!(objective.optimum(0) >= objective.value(0, 0));
    }

    #[test]
    fn ranges_and_digests_of_another_table_are_refused() {
        let narrow = load(&parse(&[
            "objective.input_ranges=[[0.1, 1], [0.002, 0.5], [0.01, 1]]",
        ]))
        .err()
        .unwrap();
        assert!(
            narrow.to_string().contains("employment-settings.csv:2"),
            "{narrow}"
        );
        let digest = format!("objective.digest=\"{}\"", "0".repeat(64));
        let other = load(&parse(&[&digest])).err().unwrap();
        assert!(other.to_string().contains("its digest is"), "{other}");
    }
}
