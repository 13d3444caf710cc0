//! A user's own program, or a function of a program that uses this library, which is asked for the
//! value of one setting for one agent.
//!
//! Observation 0 is the value that tables and regret count; if answers to one setting differ
//! (`noisy`), an agent's k-th observation is asked for as observation k, from 1.
//!
//! Every answer is written down before it is used, in a table beside the run. A question answered
//! there is never asked again, so a run that ended with an error goes on where it stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use sordino_core::random::RunSeed;

use super::objective::{Answer, noise};
use super::oracle::{Oracle, Programs, Question};
use super::points::settings;
use super::rows::{Rows, line};
use super::space::{self, Setting, shown};
use super::{Family, Objective, ObjectiveError};
use crate::files::read_bounded;
use crate::scenario::CommandConfig;

/// Name of the table of answers in a run folder.
pub const FILE: &str = "values.csv";
/// The table of answers is read up to this length.
const BYTES_MAX: u64 = 1 << 30;

/// Where an answer belongs: agent, candidate, observation.
type Place = (u32, u32, u32);

/// A program and what it has answered.
pub struct Commands(Arc<Shared>);

struct Shared {
    config: CommandConfig,
    agents: u32,
    settings: Vec<Vec<Setting>>,
    points: Vec<f64>,
    oracle: Arc<dyn Oracle>,
    answers: Mutex<Answers>,
    /// Notified whenever a question is no longer under way.
    answered: Condvar,
}

/// The answers known so far, and where they are written down.
struct Answers {
    known: BTreeMap<Place, f64>,
    /// Questions that some thread is asking right now.
    open: BTreeSet<Place>,
    file: Option<(PathBuf, File)>,
}

impl Commands {
    /// The program of a scenario over the candidates of its design or of `data`; `answers` is the
    /// table beside the run, read if it is there.
    ///
    /// **Errors**: malformed candidates; a table of answers that cannot be read or written, or
    /// belongs to another scenario.
    pub fn new(
        config: &CommandConfig,
        agents: u32,
        data: Option<&Path>,
        answers: Option<&Path>,
    ) -> Result<Self, ObjectiveError> {
        Self::asking(
            config,
            agents,
            data,
            answers,
            Arc::new(Programs::new(config)),
        )
    }

    /// The same, with a function of the caller's asked in place of the program.
    ///
    /// **Errors**: as [`Commands::new`].
    pub fn asking(
        config: &CommandConfig,
        agents: u32,
        data: Option<&Path>,
        answers: Option<&Path>,
        oracle: Arc<dyn Oracle>,
    ) -> Result<Self, ObjectiveError> {
        let settings = settings(&config.space, &config.points, data)?;
        let points = space::points(&config.space, &settings);
        let kept = answers.map_or(
            Ok(Answers {
                known: BTreeMap::new(),
                open: BTreeSet::new(),
                file: None,
            }),
            |path| {
                let places = (0..)
                    .zip(&settings)
                    .map(|(place, setting)| (setting.iter().map(shown).collect(), place))
                    .collect();
                Answers::open(path, config, agents, &places)
            },
        )?;
        let config = config.clone();
        let answers = Mutex::new(kept);
        let answered = Condvar::new();
        Ok(Commands(Arc::new(Shared {
            config,
            agents,
            settings,
            points,
            oracle,
            answers,
            answered,
        })))
    }
}

/// The table of answers in its final order: by agent, by setting as written, by observation.
///
/// **Errors**: the system's; a table that is malformed.
pub fn ordered(config: &CommandConfig, path: &Path) -> Result<String, ObjectiveError> {
    let rows = Rows::parse(path, &whole_lines(path)?)?;
    let columns = columns(config)
        .iter()
        .map(|name| rows.column(name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut lines = Vec::new();
    let seen = columns[columns.len() - 2];
    for row in rows.iter() {
        let agent = row.number(columns[0], is_count, "the number of an agent")? as u64;
        let observation = row.number(seen, is_count, "the number of an observation")? as u64;
        let inputs: Vec<&str> = columns[1..columns.len() - 2]
            .iter()
            .map(|column| row.text(*column))
            .collect();
        lines.push((
            (agent, inputs, observation),
            columns
                .iter()
                .map(|column| row.text(*column))
                .collect::<Vec<_>>(),
        ));
    }
    lines.sort();
    Ok(line(&self::columns(config))
        + &lines
            .iter()
            .map(|(_, fields)| line(fields))
            .collect::<String>())
}

/// What a program has answered so far, in the table of its answers; nothing if there is no such
/// table.
///
/// **Errors**: as [`values`].
pub fn answers(path: &Path) -> Result<Vec<f64>, ObjectiveError> {
    if path.exists() {
        values(path)
    } else {
        Ok(Vec::new())
    }
}

/// The values that tables count (observation 0), in the order in which they were answered.
///
/// **Errors**: as [`ordered`].
pub fn values(path: &Path) -> Result<Vec<f64>, ObjectiveError> {
    let rows = Rows::parse(path, &whole_lines(path)?)?;
    let seen = rows.column("observation")?;
    let value = rows.column("value")?;
    let counted = rows.iter().filter(|row| row.text(seen) == "0");
    counted
        .map(|row| row.number(value, |x| x.abs() <= 1e12, "a number up to 1e12"))
        .collect()
}

fn columns(config: &CommandConfig) -> Vec<String> {
    let inputs = config.space.inputs.iter().cloned();
    ["agent".to_owned()]
        .into_iter()
        .chain(inputs)
        .chain(["observation".to_owned(), "value".to_owned()])
        .collect()
}

/// The file up to its last whole line: a process that was killed may have left half of one.
fn whole_lines(path: &Path) -> Result<Vec<u8>, ObjectiveError> {
    let mut bytes =
        read_bounded(path, BYTES_MAX).map_err(|error| ObjectiveError::unreadable(path, error))?;
    bytes.truncate(
        bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1),
    );
    Ok(bytes)
}

/// Whether a number counts something in 32 bits.
fn is_count(x: f64) -> bool {
    x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x)
}

impl Answers {
    /// Reads the answers so far, and opens the table for more.
    fn open(
        path: &Path,
        config: &CommandConfig,
        agents: u32,
        places: &BTreeMap<Vec<String>, u32>,
    ) -> Result<Self, ObjectiveError> {
        let mut known = BTreeMap::new();
        let bytes = if path.exists() {
            whole_lines(path)?
        } else {
            Vec::new()
        };
        if !bytes.is_empty() {
            let rows = Rows::parse(path, &bytes)?;
            let columns = columns(config)
                .iter()
                .map(|name| rows.column(name))
                .collect::<Result<Vec<_>, _>>()?;
            for row in rows.iter() {
                let agent = row.number(
                    columns[0],
                    |x| is_count(x) && x < f64::from(agents),
                    "the number of an agent",
                )?;
                let inputs = columns.len() - 3;
                let setting = columns[1..=inputs]
                    .iter()
                    .map(|column| row.text(*column).to_owned())
                    .collect::<Vec<_>>();
                let candidate = places
                    .get(&setting)
                    .ok_or_else(|| row.refuse(columns[1], "the inputs of a candidate"))?;
                let observation = row.number(
                    columns[inputs + 1],
                    is_count,
                    "the number of an observation",
                )?;
                let value = row.number(columns[inputs + 2], |_| true, "a number")?;
                known.insert((agent as u32, *candidate, observation as u32), value);
            }
        }
        let file = Self::append(path, bytes.len() as u64, config)
            .map_err(|error| ObjectiveError::unwritable(path, error))?;
        Ok(Answers {
            known,
            open: BTreeSet::new(),
            file: Some((path.to_owned(), file)),
        })
    }

    /// Opens the table for lines behind its first `length` bytes; a new one gets its header.
    fn append(path: &Path, length: u64, config: &CommandConfig) -> io::Result<File> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        // Half a line is written over.
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        if length == 0 {
            file.write_all(line(&columns(config)).as_bytes())?;
        }
        Ok(file)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A question under way; threads that wait for it look again when it ends, whether or not it was
/// answered.
struct Open<'s> {
    shared: &'s Shared,
    place: Place,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        held(&self.shared.answers).open.remove(&self.place);
        self.shared.answered.notify_all();
    }
}

impl Shared {
    /// The answer to a question: already known, awaited from another thread, or asked for here and
    /// written down.
    fn answer(&self, place: Place) -> Result<f64, ObjectiveError> {
        let mut answers = held(&self.answers);
        loop {
            if let Some(value) = answers.known.get(&place) {
                return Ok(*value);
            }
            if answers.open.insert(place) {
                break;
            }
            answers = self
                .answered
                .wait(answers)
                .unwrap_or_else(PoisonError::into_inner);
        }
        drop(answers);
        let _open = Open {
            shared: self,
            place,
        };
        let value = self.ask(place)?;
        let mut answers = held(&self.answers);
        if let Some((path, file)) = &mut answers.file {
            let (agent, candidate, observation) = place;
            let mut fields = vec![agent.to_string()];
            fields.extend(self.settings[candidate as usize].iter().map(shown));
            fields.extend([observation.to_string(), value.to_string()]);
            // A checkpoint never knows of more than this file.
            file.write_all(line(&fields).as_bytes())
                .and_then(|()| file.sync_data())
                .map_err(|error| ObjectiveError::unwritable(path, error))?;
        }
        answers.known.insert(place, value);
        Ok(value)
    }

    /// Asks, with the inputs by their names.
    fn ask(&self, (agent, candidate, observation): Place) -> Result<f64, ObjectiveError> {
        let named = self
            .config
            .space
            .inputs
            .iter()
            .zip(&self.settings[candidate as usize]);
        let x = named.map(|(name, setting)| {
            let value = match setting {
                // Whole numbers as such, as Python tells them apart.
                Setting::Number(x) if self.config.space.integer_inputs.contains(name) => {
                    json!(*x as i64)
                }
                Setting::Number(x) => json!(x),
                Setting::Name(text) => json!(text),
            };
            (name.clone(), value)
        });
        self.oracle.ask(&Question {
            agent,
            observation,
            x: x.collect(),
        })
    }

    fn sign(&self) -> f64 {
        self.config.goal.sign()
    }
}

impl Family for Commands {
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        Box::new(Asked {
            shared: Arc::clone(&self.0),
            run,
        })
    }
}

/// The program under the noise of one run.
struct Asked {
    shared: Arc<Shared>,
    run: RunSeed,
}

impl Objective for Asked {
    fn agents(&self) -> u32 {
        self.shared.agents
    }
    fn dim(&self) -> usize {
        self.shared.config.space.dim()
    }
    fn candidates(&self) -> &[f64] {
        &self.shared.points
    }
    /// The value if it is known, NaN if it was never asked for. Agents ask by [`Objective::query`].
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        let known = held(&self.shared.answers)
            .known
            .get(&(agent, candidate, 0))
            .copied();
        known.map_or(f64::NAN, |value| self.shared.sign() * value)
    }
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        self.query(agent, candidate, observation)
            .map_or(f64::NAN, |answer| answer.y)
    }
    fn query(
        &self,
        agent: u32,
        candidate: u32,
        observation: u32,
    ) -> Result<Answer, ObjectiveError> {
        let shared = &self.shared;
        let value = shared.answer((agent, candidate, 0))?;
        let seen = if shared.config.noisy {
            shared.answer((agent, candidate, observation + 1))?
        } else {
            value
        };
        let noise = noise(
            self.run,
            agent,
            observation,
            shared.config.noise_variance.sqrt(),
        );
        Ok(Answer {
            y: shared.sign() * seen + noise,
            value: shared.sign() * value,
        })
    }
    fn optimum(&self, _agent: u32) -> f64 {
        self.shared.sign() * self.shared.config.optimum
    }
}
