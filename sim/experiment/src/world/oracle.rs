//! What answers questions about a user's functions: a program, started once for every thread, or
//! code of a program that uses this library.
//!
//! **Protocol** of a program: it reads lines of JSON,
//! `{"agent": 3, "observation": 0, "x": {"rate": 0.01, "optimizer": "adam"}}`, and answers each
//! with one line, a number. A program that fails is started again; if it fails too often, the run
//! ends with one error.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sordino_host::program::{Program, ProgramError};

use super::ObjectiveError;
use crate::scenario::CommandConfig;
use crate::text::chain;

/// What is asked; shown as a program reads it, in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Index of the agent whose function is asked.
    pub agent: u32,
    /// 0 for the value that regret counts; k ≥ 1 for the agent's k-th observation, where answers
    /// differ.
    pub observation: u32,
    /// The setting: inputs by name, numbers in the user's units, texts for categories.
    pub x: Map<String, Value>,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        json!({"agent": self.agent, "observation": self.observation, "x": self.x}).fmt(f)
    }
}

/// A source of values. Called from any thread, and never again for a question that it has answered.
pub trait Oracle: Send + Sync {
    /// The answer: finite, at most 1e12 in magnitude ([`Question::admits`]).
    ///
    /// **Errors**: why there is no value; [`ObjectiveError::Function`] for the caller's functions.
    /// The run ends with it.
    fn ask(&self, question: &Question) -> Result<f64, ObjectiveError>;
}

impl Question {
    /// Whether a number can be an answer: finite, at most 1e12 in magnitude.
    pub fn admits(answer: f64) -> bool {
        answer.abs() <= 1e12
    }
}

/// A user's program, started as many times as threads ask at once.
pub(super) struct Programs {
    config: CommandConfig,
    /// Started programs that wait for a question.
    idle: Mutex<Vec<Program>>,
    /// How often a program failed and the question was asked again.
    again: AtomicU32,
}

/// Receives failures that another try may mend: this module lies below those that talk to people.
static TOLD: OnceLock<fn(&str)> = OnceLock::new();

/// Sends the failures after which a program is asked again to this function from now on; only the
/// first call counts.
pub(crate) fn tell_failures(to: fn(&str)) {
    TOLD.get_or_init(|| to);
}

fn tell(text: &str) {
    if let Some(to) = TOLD.get() {
        to(text);
    }
}

/// This many failures are reported one by one; the rest are counted at the end.
const AGAIN_TOLD: u32 = 3;

impl Drop for Programs {
    fn drop(&mut self) {
        let again = *self.again.get_mut();
        if again > AGAIN_TOLD {
            tell(&format!(
                "objective.command: failed and was asked again {again} times in all"
            ));
        }
    }
}

impl Programs {
    /// The programs of a scenario, of which none is started yet.
    pub(super) fn new(config: &CommandConfig) -> Self {
        Programs {
            config: config.clone(),
            idle: Mutex::new(Vec::new()),
            again: AtomicU32::new(0),
        }
    }

    /// The started programs that wait for a question.
    fn idle(&self) -> MutexGuard<'_, Vec<Program>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number, or what the program said in its place. A program that says something else is
    /// ended, because its number may still be on its way and would be taken for the answer to the
    /// next question.
    fn ask_once(
        &self,
        line: &str,
        time_max: Duration,
    ) -> Result<Result<f64, String>, ProgramError> {
        let waiting = self.idle().pop();
        let mut program = waiting.map_or_else(|| Program::start(&self.config.command), Ok)?;
        let answer = program.ask(line, time_max)?;
        match answer.parse::<f64>() {
            Ok(value) if Question::admits(value) => {
                self.idle().push(program);
                Ok(Ok(value))
            }
            _ => Ok(Err(answer)),
        }
    }
}

impl Oracle for Programs {
    /// Asks a program, which is started again after each failure but one: saying more than it was
    /// asked for.
    fn ask(&self, question: &Question) -> Result<f64, ObjectiveError> {
        let question = question.to_string();
        let time_max = Duration::from_secs_f64(self.config.time_limit);
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.ask_once(&question, time_max) {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(answer)) => ObjectiveError::Answer {
                    question: question.clone(),
                    answer,
                    tries,
                },
                Err(error) => ObjectiveError::Program {
                    question: question.clone(),
                    tries,
                    error,
                },
            };
            // Started again, it would say too much again, and its first line would pass for the
            // answer.
            let unasked = matches!(
                error,
                ObjectiveError::Program {
                    error: ProgramError::Unasked { .. },
                    ..
                }
            );
            if unasked || tries > self.config.retries {
                return Err(error);
            }
            let again = self.again.fetch_add(1, Ordering::Relaxed) + 1;
            if again <= AGAIN_TOLD {
                tell(&format!(
                    "{}; it is asked again (failure {again} of this run)",
                    chain(&error)
                ));
            }
        }
    }
}
