//! Methods written in Python: an object with `choose` and, with a server, `message_len`, `message`
//! and `aggregate`.
//!
//! They run as every method of base `custom`: both drivers, faults, checkpoints, tables and
//! pictures. Nothing is claimed for them: no ε is computed for noise that a program adds by itself.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sordino_core::random::Stream;
use sordino_engine::federated::custom::{Aggregator, Chooser, Custom, Ground, Message, Sight};

use crate::called::Caller;
use crate::error::InputError;

/// Longer messages are no summary of anything.
const MESSAGE_MAX: usize = 65_536;

/// One method's object and the way to it.
#[derive(Clone)]
struct Party {
    name: Arc<str>,
    caller: Caller,
    object: Arc<Py<PyAny>>,
    /// The candidates as Python has them, made once.
    candidates: Arc<OnceLock<Py<PyAny>>>,
}

/// The refusal of a method of this name.
fn refused<T>(name: &str, what: &str) -> PyResult<T> {
    Err(InputError::new_err(format!("methods[\"{name}\"]: {what}")))
}

/// Whether an object has a method of this name.
fn has(object: &Bound<'_, PyAny>, name: &str) -> bool {
    object.getattr(name).is_ok_and(|found| found.is_callable())
}

/// The method of an object, under the name of its table.
///
/// **Errors**: an object without `version` or `choose`, or with half a server.
pub fn custom(name: &str, object: Bound<'_, PyAny>, caller: Caller) -> PyResult<Custom> {
    if !has(&object, "choose") {
        return refused(
            name,
            "admissible: an object with a method choose(sight) that returns a candidate's index",
        );
    }
    let Ok(version) = object
        .getattr("version")
        .and_then(|version| version.extract::<String>())
    else {
        return refused(
            name,
            "admissible: an attribute `version`, a text that changes whenever the method does, so that no folder of \
             one version goes on with another",
        );
    };
    let server = (
        has(&object, "aggregate"),
        has(&object, "message"),
        object.getattr("message_len").ok(),
    );
    let message_len = match server {
        (false, false, None) => None,
        (true, true, Some(len)) => match len.extract::<usize>() {
            Ok(len) if (1..=MESSAGE_MAX).contains(&len) => Some(len),
            _ => {
                let what = format!(
                    "message_len is {len}; admissible: a whole number from 1 to {MESSAGE_MAX}"
                );
                return refused(name, &what);
            }
        },
        _ => {
            return refused(
                name,
                "admissible: all of message_len, message(sight) and aggregate(messages, kept, seed), or none",
            );
        }
    };
    let party = Party {
        name: name.into(),
        caller,
        object: Arc::new(object.unbind()),
        candidates: Arc::default(),
    };
    Ok(match message_len {
        Some(len) => Custom::with_server(&version, party.clone(), Server { party, len }),
        None => Custom::alone(&version, party),
    })
}

/// What one agent sees, on its way to Python's thread.
struct Seen {
    party: Party,
    agent: u32,
    round: u32,
    log: Vec<(u32, f64)>,
    broadcast: Option<Vec<f64>>,
    /// All points one after the other, until Python has them.
    points: Vec<f64>,
    dim: usize,
    count: u32,
    /// For a generator of the method's own: the same in every driver.
    seed: u64,
}

impl Seen {
    fn new(party: &Party, sight: &Sight<'_>, coins: &mut Stream) -> Self {
        let known = party.candidates.get().is_some();
        Seen {
            party: party.clone(),
            agent: sight.agent,
            round: sight.round,
            log: sight.log.to_vec(),
            broadcast: sight.broadcast.map(<[f64]>::to_vec),
            points: if known {
                Vec::new()
            } else {
                sight.ground.candidates.clone()
            },
            dim: sight.ground.dim,
            count: sight.ground.count(),
            seed: coins.word(),
        }
    }

    /// Calls a method of the object with this as its `Sight`.
    fn ask<'py>(&self, py: Python<'py>, method: &str) -> PyResult<Bound<'py, PyAny>> {
        let module = py.import("sordino._methods")?;
        if self.party.candidates.get().is_none() {
            let made = module
                .getattr("candidates")?
                .call1((&self.points[..], self.dim))?;
            let _ = self.party.candidates.set(made.unbind());
        }
        let told = PyDict::new(py);
        told.set_item("agent", self.agent)?;
        told.set_item("round", self.round)?;
        told.set_item("log", &self.log)?;
        told.set_item("broadcast", self.broadcast.as_deref())?;
        told.set_item("candidates", self.party.candidates.get())?;
        told.set_item("seed", self.seed)?;
        let sight = module.getattr("Sight")?.call((), Some(&told))?;
        self.party.object.bind(py).call_method1(method, (sight,))
    }
}

impl Chooser for Party {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        let seen = Seen::new(self, sight, coins);
        let chosen = self.caller.call(move |py| {
            let answer = seen.ask(py, "choose")?;
            let Seen { party, agent, round, count, .. } = &seen;
            answer.extract::<u32>().ok().filter(|candidate| candidate < count).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "method \"{}\", agent {agent}, round {round}: choose returned {answer}; admissible: a whole number \
                     below {count}",
                    party.name
                ))
            })
        });
        // Without an answer the run is over: what is no candidate ends it before anything is
        // stored.
        chosen.unwrap_or(u32::MAX)
    }

    fn message(&self, sight: &Sight<'_>, coins: &mut Stream) -> Vec<f64> {
        let seen = Seen::new(self, sight, coins);
        let sent = self
            .caller
            .call(move |py| numbers(&seen.party.name, "message", &seen.ask(py, "message")?));
        sent.unwrap_or_else(|| vec![f64::NAN])
    }
}

/// The server of a method.
struct Server {
    party: Party,
    len: usize,
}

impl Aggregator for Server {
    fn message_len(&self, _: &Ground) -> usize {
        self.len
    }

    fn combine(
        &self,
        _: &Ground,
        messages: &[Message],
        kept: &mut Vec<f64>,
        coins: &mut Stream,
    ) -> Vec<f64> {
        let party = self.party.clone();
        let before = kept.clone();
        let seed = coins.word();
        let told: Vec<(u32, Vec<f64>)> = messages
            .iter()
            .map(|message| (message.agent, message.numbers.clone()))
            .collect();
        let answered = self.party.caller.call(move |py| {
            let memory = before.into_pyobject(py)?;
            let answer = party
                .object
                .bind(py)
                .call_method1("aggregate", (told, &memory, seed))?;
            let sent = if answer.is_none() {
                Vec::new()
            } else {
                numbers(&party.name, "aggregate", &answer)?
            };
            Ok((
                sent,
                numbers(&party.name, "what aggregate keeps", memory.as_any())?,
            ))
        });
        match answered {
            Some((sent, after)) => {
                *kept = after;
                sent
            }
            // The run is over: what is not finite ends it before anything is stored.
            None => vec![f64::NAN],
        }
    }
}

/// A list of numbers.
fn numbers(name: &str, what: &str, answer: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    answer.extract::<Vec<f64>>().map_err(|_| {
        PyTypeError::new_err(format!(
            "method \"{name}\": {what} is {answer}; admissible: a list of finite numbers"
        ))
    })
}
