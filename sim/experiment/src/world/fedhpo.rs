//! A benchmark of federated training: what each training reached with its hyper-parameters, round
//! by round.
//!
//! **Format**: one of two, told apart by the column `result`:
//!
//! | with `result` | without |
//! |---|---|
//! | a line for each training (`tabular.csv` of FedHPO-Bench, unpacked) | a line for each round of a training |
//! | hyper-parameters, fidelities such as `sample_client`, `seed` | the same, and the column `round` |
//! | `result`: a dictionary as Python prints it; an entry is a list with one value for each evaluation | `metric` and `selected_by` are columns |
//! | an entry may have, for each evaluation, a list of one value for each client (`val_avg_loss_fair`) | a client is the value of a column |
//!
//! **Value** of a training: of the rounds up to `last_round`, the metric in the one with the least
//! `selected_by` (or in the last one), as that benchmark reads its tables. Rounds without a number
//! do not count.
//!
//! **Source**: Wang, Kuang, Zhang, Ding, Li (2022), *FedHPO-B: A Benchmark Suite for Federated
//! Hyperparameter Optimization*.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use super::literal::{self, Literal};
use super::rows::{Row, Rows};
use super::space::{self, Setting, shown};
use super::table::{Cell, Facts, Shape, Table, numbered};
use super::{Family, ObjectiveError};
use crate::benchmark::fedhpo::{FILE, TABLE};
use crate::scenario::FedhpoConfig;

/// The column of dictionaries.
const RESULT: &str = "result";
/// The column of rounds, where there is no dictionary.
const ROUND: &str = "round";
/// Largest absolute value that is accepted as a number of a training.
const VALUE_MAX: f64 = 1e12;

/// Reads the table that a scenario of `agents` agents was made for, or the one that is compiled in.
///
/// **Errors**: no file, a file of another shape, with line and column; another number of agents or
/// another digest than the scenario says; two trainings, or none, of one agent with the same
/// hyper-parameters.
pub fn load(
    config: &FedhpoConfig,
    agents: u32,
    data: Option<&Path>,
) -> Result<impl Family + use<>, ObjectiveError> {
    let rows = match data {
        _ if config.shipped => Rows::parse(Path::new(FILE), TABLE.as_bytes())?,
        Some(path) => Rows::read(path)?,
        None => {
            return Err(ObjectiveError::NoData {
                file: "a CSV table of federated trainings",
            });
        }
    };
    rows.check_digest("objective.digest", rows.digest(), config.digest.as_deref())?;
    let kept = kept(config, &rows)?;
    let settings = space::of_rows(&config.space, &rows, kept.iter().copied())?;
    let found = trainings(config, &rows, &kept, &settings)?;
    let shape = Shape {
        space: &config.space,
        noise_variance: config.noise_variance,
        goal: config.goal,
    };
    let (cells, values): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    Table::filled(&shape, &rows, agents, &cells, |cell, number| {
        values[number].or(config.diverged).ok_or_else(|| {
            let found = "has no number in the rounds that count".to_owned();
            let admissible = "a number up to 1e12, or objective.diverged for what has none";
            Told::refuse(
                rows.path(),
                cell.row.line(),
                &config.metric,
                found,
                admissible,
            )
        })
    })
}

/// Counts the agents of a table.
///
/// **Errors**: as [`load`], except those about the scenario's agents and digest.
pub fn facts(config: &FedhpoConfig, path: &Path) -> Result<Facts, ObjectiveError> {
    let rows = Rows::read(path)?;
    let kept = kept(config, &rows)?;
    let settings = space::of_rows(&config.space, &rows, kept.iter().copied())?;
    let found = trainings(config, &rows, &kept, &settings)?;
    let (agents, _) = numbered(found.iter().map(|(cell, _)| &*cell.agent));
    let first = found
        .first()
        .map(|(cell, _)| (cell.row.line(), cell.agent.clone().into_owned()));
    Ok(Facts {
        agents: agents as u32,
        digest: *rows.digest(),
        first,
    })
}

/// Whether two fields are the same number, or the same text.
fn alike(found: &str, wanted: &str) -> bool {
    match (found.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(found), Ok(wanted)) => found == wanted,
        _ => found == wanted,
    }
}

/// The rows that meet every condition of `only`; at least one.
fn kept<'r>(config: &FedhpoConfig, rows: &'r Rows) -> Result<Vec<Row<'r>>, ObjectiveError> {
    let conditions = config
        .conditions()
        .map(|(column, value)| Ok((rows.column(column)?, value)))
        .collect::<Result<Vec<_>, _>>()?;
    let kept: Vec<Row<'r>> = rows
        .iter()
        .filter(|row| {
            conditions
                .iter()
                .all(|(column, value)| alike(row.text(*column), value))
        })
        .collect();
    if kept.is_empty() {
        let wanted = if config.only.is_empty() {
            "any".to_owned()
        } else {
            config.only.join(", ")
        };
        return Err(rows.error(format!("no row has {wanted}")));
    }
    Ok(kept)
}

/// One agent's training, and its value, if it has one.
type Training<'r> = (Cell<'r>, Option<f64>);

fn trainings<'r>(
    config: &FedhpoConfig,
    rows: &'r Rows,
    kept: &[Row<'r>],
    settings: &'r [Vec<Setting>],
) -> Result<Vec<Training<'r>>, ObjectiveError> {
    let columns = config
        .agent_columns
        .iter()
        .map(|name| rows.column(name))
        .collect::<Result<Vec<_>, _>>()?;
    if rows.has(RESULT) {
        let result = rows.column(RESULT)?;
        let mut found = Vec::new();
        let mut clients = None;
        for (row, setting) in kept.iter().zip(settings) {
            let told = Told::read(config, rows, row, result)?;
            if config.agent_columns.is_empty() {
                let values = told.by_client(&mut clients)?;
                let names = (0..).map(|client: u32| Cow::Owned(client.to_string()));
                found.extend(names.zip(values).map(|(agent, value)| {
                    (
                        Cell {
                            row: *row,
                            agent,
                            setting,
                        },
                        value,
                    )
                }));
            } else {
                found.push((
                    Cell {
                        row: *row,
                        agent: agent(row, &columns),
                        setting,
                    },
                    told.of_all()?,
                ));
            }
        }
        return Ok(found);
    }
    if columns.is_empty() {
        let why = "has no column `result`, so objective.agent_columns must name the columns that tell agents apart";
        return Err(rows.error(why.to_owned()));
    }
    by_rounds(config, rows, kept, settings, &columns)
}

/// The agent that a row names in these columns.
fn agent<'r>(row: &Row<'r>, columns: &[usize]) -> Cow<'r, str> {
    match columns {
        [only] => Cow::Borrowed(row.text(*only)),
        _ => Cow::Owned(
            columns
                .iter()
                .map(|column| row.text(*column))
                .collect::<Vec<_>>()
                .join(", "),
        ),
    }
}

/// Trainings of a table with a line for each round.
fn by_rounds<'r>(
    config: &FedhpoConfig,
    rows: &'r Rows,
    kept: &[Row<'r>],
    settings: &'r [Vec<Setting>],
    agent_columns: &[usize],
) -> Result<Vec<Training<'r>>, ObjectiveError> {
    let round = rows.column(ROUND)?;
    let metric = rows.column(&config.metric)?;
    let selected_by = config
        .selected_by
        .as_ref()
        .map(|name| rows.column(name))
        .transpose()?;
    let (count, training_of) = numbered(kept.iter().zip(settings).map(|(row, setting)| {
        let inputs: Vec<String> = setting.iter().map(shown).collect();
        (agent(row, agent_columns), inputs)
    }));
    let mut rounds: Vec<Vec<(u32, f64, f64)>> = vec![Vec::new(); count];
    let mut cells: Vec<Option<Cell<'r>>> = (0..count).map(|_| None).collect();
    let mut seen = BTreeSet::new();
    for ((row, setting), training) in kept.iter().zip(settings).zip(&training_of) {
        let at = row.number(
            round,
            |x| x.fract() == 0.0 && (0.0..=1e6).contains(&x),
            "a whole number from 0 to 1000000",
        )?;
        let by = selected_by.map_or(Ok(0.0), |column| number_or_nan(row, column))?;
        if !seen.insert((*training, at as u32)) {
            let twice = "a round that this training does not have yet; tell agents apart by objective.agent_columns, or leave \
                         rows out by objective.only";
            return Err(row.refuse(round, twice));
        }
        rounds[*training].push((at as u32, number_or_nan(row, metric)?, by));
        cells[*training].get_or_insert(Cell {
            row: *row,
            agent: agent(row, agent_columns),
            setting,
        });
    }
    let values = rounds
        .into_iter()
        .map(|rounds| chosen(config, rounds.into_iter()));
    Ok(cells.into_iter().flatten().zip(values).collect())
}

/// The field of a column as a number, which may be none.
fn number_or_nan(row: &Row<'_>, column: usize) -> Result<f64, ObjectiveError> {
    row.text(column)
        .parse()
        .map_err(|_| row.refuse(column, "a number, or nan"))
}

/// The metric in the round that counts, of (round, metric, what rounds are selected by).
fn chosen(config: &FedhpoConfig, rounds: impl Iterator<Item = (u32, f64, f64)>) -> Option<f64> {
    let last = config.last_round.unwrap_or(u32::MAX);
    let numbers =
        rounds.filter(|(round, x, by)| *round <= last && x.abs() <= VALUE_MAX && !by.is_nan());
    // Of rounds that are equally good the first counts; without a selector the last.
    let best = numbers.min_by(|a, b| match config.selected_by {
        Some(_) => a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)),
        None => b.0.cmp(&a.0),
    });
    best.map(|(_, x, _)| x)
}

/// What the field `result` of one row says.
struct Told<'t> {
    config: &'t FedhpoConfig,
    path: &'t Path,
    line: u64,
    metric: Vec<Literal>,
    selected_by: Option<Vec<Literal>>,
}

impl<'t> Told<'t> {
    fn read(
        config: &'t FedhpoConfig,
        rows: &'t Rows,
        row: &Row<'_>,
        column: usize,
    ) -> Result<Self, ObjectiveError> {
        let path = rows.path();
        let line = row.line();
        let dictionary =
            literal::read(row.text(column)).map_err(|error| ObjectiveError::Literal {
                path: path.to_owned(),
                line,
                column: RESULT,
                error,
            })?;
        let Literal::Dictionary(entries) = dictionary else {
            return Err(row.refuse(column, "a dictionary of lists, as Python prints it"));
        };
        let metric = Self::list(path, line, &entries, &config.metric)?;
        let selected_by = config
            .selected_by
            .as_deref()
            .map(|name| Self::list(path, line, &entries, name))
            .transpose()?;
        if let (Some(by), Some(name)) = (&selected_by, &config.selected_by)
            && by.len() != metric.len()
        {
            let found = format!(
                "has {} values, `{}` has {}",
                by.len(),
                config.metric,
                metric.len()
            );
            return Err(Self::refuse(
                path,
                line,
                name,
                found,
                "as many values as the metric",
            ));
        }
        Ok(Told {
            config,
            path,
            line,
            metric,
            selected_by,
        })
    }

    /// The list that a dictionary has under a name.
    fn list(
        path: &Path,
        line: u64,
        entries: &[(String, Literal)],
        name: &str,
    ) -> Result<Vec<Literal>, ObjectiveError> {
        let found = match entries.iter().find(|(key, _)| key == name) {
            Some((_, Literal::List(list))) => return Ok(list.clone()),
            Some(_) => "is no list".to_owned(),
            None => {
                let there: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
                format!("is missing; there are {}", there.join(", "))
            }
        };
        let admissible = "a list with a value for each evaluation";
        Err(Self::refuse(path, line, name, found, admissible))
    }

    fn refuse(
        path: &Path,
        line: u64,
        entry: &str,
        found: String,
        admissible: &str,
    ) -> ObjectiveError {
        let path = path.to_owned();
        let entry = entry.to_owned();
        let admissible = admissible.to_owned();
        ObjectiveError::Entry {
            path,
            line,
            entry,
            found,
            admissible,
        }
    }

    fn no_number(&self, entry: &str, found: &str, admissible: &str) -> ObjectiveError {
        Self::refuse(self.path, self.line, entry, found.to_owned(), admissible)
    }

    /// The value where every evaluation has one number.
    fn of_all(&self) -> Result<Option<f64>, ObjectiveError> {
        let admissible = "one number for each evaluation, or no objective.agent_columns: then the clients in these lists \
                          are the agents";
        let numbers = self.metric.iter().map(Literal::number);
        let Some(numbers) = numbers.collect::<Option<Vec<_>>>() else {
            return Err(self.no_number(&self.config.metric, "has lists", admissible));
        };
        self.value(&numbers)
    }

    /// The value of each client, where every evaluation has a list of as many as in the row before.
    fn by_client(&self, clients: &mut Option<usize>) -> Result<Vec<Option<f64>>, ObjectiveError> {
        let name = &self.config.metric;
        let mut values: Vec<Vec<f64>> = Vec::new();
        for evaluation in &self.metric {
            let Literal::List(of) = evaluation else {
                let admissible = "for each evaluation a list with one number for each client, or objective.agent_columns: \
                                  columns whose values name an agent";
                return Err(self.no_number(name, "has one number for each evaluation", admissible));
            };
            let wanted = *clients.get_or_insert(of.len());
            if of.len() != wanted || wanted == 0 {
                let admissible = format!("the same number of clients everywhere, {wanted}");
                return Err(self.no_number(
                    name,
                    &format!("has a list of {} clients", of.len()),
                    &admissible,
                ));
            }
            let Some(numbers) = of.iter().map(Literal::number).collect() else {
                let found = "has something else than numbers in its lists";
                return Err(self.no_number(name, found, "a number for each client"));
            };
            values.push(numbers);
        }
        (0..clients.unwrap_or(0))
            .map(|client| self.value(&values.iter().map(|of| of[client]).collect::<Vec<_>>()))
            .collect()
    }

    /// The value of the evaluation that counts.
    fn value(&self, metric: &[f64]) -> Result<Option<f64>, ObjectiveError> {
        let by = match &self.selected_by {
            None => vec![0.0; metric.len()],
            Some(all) => all
                .iter()
                .map(|of| match (of, &self.config.selected_by) {
                    (Literal::Number(x), _) => Ok(*x),
                    (_, name) => {
                        let name = name.as_deref().unwrap_or_default();
                        Err(self.no_number(
                            name,
                            "has something else than numbers",
                            "one number for each evaluation",
                        ))
                    }
                })
                .collect::<Result<_, _>>()?,
        };
        let rounds = (1..)
            .zip(metric)
            .zip(by)
            .map(|((round, x), by)| (round, *x, by));
        Ok(chosen(self.config, rounds))
    }
}
