//! A user's own program, asked for the value of one setting for one agent.
//!
//! **Protocol**: the program is started once for every thread and reads lines of JSON,
//! `{"agent": 3, "observation": 0, "x": {"rate": 0.01, "optimizer": "adam"}}`; it answers each with one line, a number.
//! Observation 0 asks for the value that tables and regret count; if answers to one setting differ (`noisy`), an agent's
//! k-th observation is asked for as observation k, from 1.
//!
//! Every answer is written down before it is used, in a table beside the run; what stands there is never asked again. A
//! program that fails is started again; if it fails too often, the run ends with one error and keeps every answer.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use sordino_core::random::{Party, Purpose, RunSeed, normal};
use sordino_host::program::{Program, ProgramError};

use super::objective::Answer;
use super::points::settings;
use super::rows::{Rows, line};
use super::space::{self, Setting, shown};
use super::{Family, Objective, ObjectiveError};
use crate::files::read_bounded;
use crate::scenario::CommandConfig;
use crate::scenario::outsourced::Goal;

/// Name of the table of answers in a run folder.
pub const FILE: &str = "values.csv";
/// The table of answers is read up to this length.
const BYTES_MAX: u64 = 1 << 30;

/// What is asked: agent, candidate, observation.
type Question = (u32, u32, u32);

/// A program and what it has answered.
pub struct Commands(Arc<Shared>);

struct Shared {
    config: CommandConfig,
    agents: u32,
    settings: Vec<Vec<Setting>>,
    points: Vec<f64>,
    /// Programs that wait for a question.
    idle: Mutex<Vec<Program>>,
    answers: Mutex<Answers>,
}

/// What is known, and where it is written down.
struct Answers {
    known: BTreeMap<Question, f64>,
    file: Option<File>,
}

impl Commands {
    /// The program of a scenario over the candidates of its design or of `data`; `answers` is the table beside the run,
    /// read if it is there.
    ///
    /// **Errors**: malformed candidates; a table of answers that cannot be read or written, or is another scenario's.
    pub fn new(
        config: &CommandConfig,
        agents: u32,
        data: Option<&Path>,
        answers: Option<&Path>,
    ) -> Result<Self, ObjectiveError> {
        let settings = settings(&config.space, &config.points, data)?;
        let points = space::points(&config.space, &settings);
        let kept = answers.map_or(Ok(Answers { known: BTreeMap::new(), file: None }), |path| {
            let of = |setting: &Vec<Setting>| setting.iter().map(shown).collect::<Vec<_>>();
            let places = (0..).zip(&settings).map(|(place, setting)| (of(setting), place)).collect();
            Answers::open(path, config, agents, &places)
        })?;
        let (config, idle) = (config.clone(), Mutex::new(Vec::new()));
        Ok(Commands(Arc::new(Shared { config, agents, settings, points, idle, answers: Mutex::new(kept) })))
    }
}

/// The table of answers as it is left behind: in the order of agents, settings as they are written, observations.
///
/// **Errors**: the system's; a table that is malformed.
pub fn ordered(config: &CommandConfig, path: &Path) -> Result<String, ObjectiveError> {
    let rows = Rows::parse(path, &whole_lines(path)?)?;
    let columns = columns(config).iter().map(|name| rows.column(name)).collect::<Result<Vec<_>, _>>()?;
    let (mut lines, seen) = (Vec::new(), columns[columns.len() - 2]);
    for row in rows.iter() {
        let agent = row.number(columns[0], |x| x >= 0.0, "the number of an agent")? as u64;
        let observation = row.number(seen, |x| x >= 0.0, "the number of an observation")? as u64;
        let inputs: Vec<&str> = columns[1..columns.len() - 2].iter().map(|column| row.text(*column)).collect();
        lines.push(((agent, inputs, observation), columns.iter().map(|column| row.text(*column)).collect::<Vec<_>>()));
    }
    lines.sort();
    Ok(line(&self::columns(config)) + &lines.iter().map(|(_, fields)| line(fields)).collect::<String>())
}

fn columns(config: &CommandConfig) -> Vec<String> {
    let inputs = config.space.inputs.iter().cloned();
    ["agent".to_owned()].into_iter().chain(inputs).chain(["observation".to_owned(), "value".to_owned()]).collect()
}

/// The file up to its last whole line: a process that was killed may have left half of one.
fn whole_lines(path: &Path) -> Result<Vec<u8>, ObjectiveError> {
    let unreadable = |error| ObjectiveError::Unreadable { path: path.to_owned(), error };
    let mut bytes = read_bounded(path, BYTES_MAX).map_err(unreadable)?;
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
    Ok(bytes)
}

impl Answers {
    /// Reads what was answered, and opens the table for more.
    fn open(
        path: &Path,
        config: &CommandConfig,
        agents: u32,
        places: &BTreeMap<Vec<String>, u32>,
    ) -> Result<Self, ObjectiveError> {
        let unwritable = |error| ObjectiveError::Unreadable { path: path.to_owned(), error };
        let mut known = BTreeMap::new();
        let bytes = if path.exists() { whole_lines(path)? } else { Vec::new() };
        if !bytes.is_empty() {
            let rows = Rows::parse(path, &bytes)?;
            let columns = columns(config).iter().map(|name| rows.column(name)).collect::<Result<Vec<_>, _>>()?;
            for row in rows.iter() {
                let whole = |x: f64| x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x);
                let agent = row.number(columns[0], |x| whole(x) && x < f64::from(agents), "the number of an agent")?;
                let inputs = columns.len() - 3;
                let setting = columns[1..=inputs].iter().map(|column| row.text(*column).to_owned()).collect::<Vec<_>>();
                let candidate =
                    places.get(&setting).ok_or_else(|| row.refuse(columns[1], "the inputs of a candidate"))?;
                let observation = row.number(columns[inputs + 1], whole, "the number of an observation")?;
                let value = row.number(columns[inputs + 2], |_| true, "a number")?;
                known.insert((agent as u32, *candidate, observation as u32), value);
            }
        }
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(unwritable)?;
        // Half a line is written over.
        file.set_len(bytes.len() as u64).map_err(unwritable)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(unwritable)?;
        if bytes.is_empty() {
            file.write_all(line(&columns(config)).as_bytes()).map_err(unwritable)?;
        }
        Ok(Answers { known, file: Some(file) })
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The answer to a question: known, or asked for and written down. What was written first holds.
    fn answer(&self, question: Question) -> Result<f64, ObjectiveError> {
        if let Some(value) = held(&self.answers).known.get(&question) {
            return Ok(*value);
        }
        let value = self.ask(question)?;
        let mut answers = held(&self.answers);
        if let Some(first) = answers.known.get(&question) {
            return Ok(*first);
        }
        if let Some(file) = &mut answers.file {
            let (agent, candidate, observation) = question;
            let mut fields = vec![agent.to_string()];
            fields.extend(self.settings[candidate as usize].iter().map(shown));
            fields.extend([observation.to_string(), value.to_string()]);
            let unwritable = |error| ObjectiveError::Unreadable { path: PathBuf::from("the table of answers"), error };
            // A checkpoint never knows of more than this file.
            file.write_all(line(&fields).as_bytes()).and_then(|()| file.sync_data()).map_err(unwritable)?;
        }
        answers.known.insert(question, value);
        Ok(value)
    }

    /// The question as the program reads it.
    fn line(&self, (agent, candidate, observation): Question) -> String {
        let named = self.config.space.inputs.iter().zip(&self.settings[candidate as usize]);
        let x: Map<String, Json> = named
            .map(|(name, setting)| {
                let value = match setting {
                    // Whole numbers as such, as Python tells them apart.
                    Setting::Number(x) if self.config.space.integer_inputs.contains(name) => json!(*x as i64),
                    Setting::Number(x) => json!(x),
                    Setting::Name(text) => json!(text),
                };
                (name.clone(), value)
            })
            .collect();
        json!({"agent": agent, "observation": observation, "x": x}).to_string()
    }

    /// Asks a program, started again after each failure but one: it said more than it was asked for.
    fn ask(&self, question: Question) -> Result<f64, ObjectiveError> {
        let (question, time_max) = (self.line(question), Duration::from_secs_f64(self.config.time_limit));
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.ask_once(&question, time_max) {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(answer)) => ObjectiveError::Answer { question: question.clone(), answer, tries },
                Err(error) => ObjectiveError::Program { question: question.clone(), tries, error },
            };
            // Started again, it would say too much again, and its first line would pass for the answer.
            let unasked = matches!(error, ObjectiveError::Program { error: ProgramError::Unasked { .. }, .. });
            if unasked || tries > self.config.retries {
                return Err(error);
            }
        }
    }

    /// A number, or what was said in its place: a program that says something else is ended, because its number may be
    /// on its way and would be taken for the answer to the next question.
    fn ask_once(&self, line: &str, time_max: Duration) -> Result<Result<f64, String>, ProgramError> {
        let waiting = held(&self.idle).pop();
        let mut program = waiting.map_or_else(|| Program::start(&self.config.command), Ok)?;
        let answer = program.ask(line, time_max)?;
        match answer.parse::<f64>() {
            Ok(value) if value.is_finite() && value.abs() <= 1e12 => {
                held(&self.idle).push(program);
                Ok(Ok(value))
            }
            _ => Ok(Err(answer)),
        }
    }

    fn sign(&self) -> f64 {
        if self.config.goal == Goal::Minimize { -1.0 } else { 1.0 }
    }
}

impl Family for Commands {
    fn realize(&self, run: RunSeed) -> Box<dyn Objective> {
        Box::new(Asked { shared: Arc::clone(&self.0), run })
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
    fn candidate_count(&self) -> u32 {
        self.shared.settings.len() as u32
    }
    /// What is known: NaN where it was not asked for. Agents ask by [`Objective::query`].
    fn value(&self, agent: u32, candidate: u32) -> f64 {
        let known = held(&self.shared.answers).known.get(&(agent, candidate, 0)).copied();
        known.map_or(f64::NAN, |value| self.shared.sign() * value)
    }
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64 {
        self.query(agent, candidate, observation).map_or(f64::NAN, |answer| answer.y)
    }
    fn query(&self, agent: u32, candidate: u32, observation: u32) -> Result<Answer, ObjectiveError> {
        let shared = &self.shared;
        let value = shared.answer((agent, candidate, 0))?;
        let seen = if shared.config.noisy { shared.answer((agent, candidate, observation + 1))? } else { value };
        let mut stream = self.run.stream(Party::Agent(agent), Purpose::ObservationNoise, observation);
        let noise = shared.config.noise_variance.sqrt() * normal::draw::<f64>(&mut stream);
        Ok(Answer { y: shared.sign() * seen + noise, value: shared.sign() * value })
    }
    fn optimum(&self, _agent: u32) -> f64 {
        self.shared.sign() * self.shared.config.optimum
    }
    fn regret_name(&self) -> &'static str {
        "distance to `optimum`"
    }
}
