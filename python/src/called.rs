//! A Python function that is asked from the simulator's threads and called in one: the thread that called `run`, as a
//! program expects of its libraries. An exception, or Ctrl-C, ends the run; every answer until then is kept.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use sordino_sim::world::ObjectiveError;
use sordino_sim::world::oracle::{Oracle, Question};

/// Between two looks at Python's signals.
const LOOK: Duration = Duration::from_millis(50);

/// No further question is answered: the exception that ended the run is told by the thread that has it.
#[derive(Debug, thiserror::Error)]
#[error("the call ended with an exception")]
struct Ended;

struct Asked {
    question: Question,
    answer: Sender<f64>,
}

/// The simulator's end.
struct Caller(Mutex<Sender<Asked>>);

impl Oracle for Caller {
    fn ask(&self, question: &Question) -> Result<f64, ObjectiveError> {
        let (answer, answered) = channel();
        let asked = Asked { question: question.clone(), answer };
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner).send(asked).is_ok();
        let found = if sent { answered.recv().ok() } else { None };
        found.ok_or_else(|| ObjectiveError::Function { question: question.to_string(), error: Box::new(Ended) })
    }
}

/// The thread's end, at which the function is.
pub struct Door(Mutex<Receiver<Asked>>);

/// Both ends. The door closes when the simulator's end is dropped.
pub fn open() -> (Arc<dyn Oracle>, Door) {
    let (sender, receiver) = channel();
    (Arc::new(Caller(Mutex::new(sender))), Door(Mutex::new(receiver)))
}

impl Door {
    /// Answers with `function` until the other end is dropped; `stop` is called once, at the first exception, after which
    /// nothing is answered. The exception, if there was one.
    pub fn serve(
        &self,
        py: Python<'_>,
        function: Option<&Bound<'_, PyAny>>,
        noisy: bool,
        stop: impl Fn(),
    ) -> PyResult<()> {
        let mut ended: PyResult<()> = Ok(());
        loop {
            let asked = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
            let told = match (asked, function) {
                (Err(RecvTimeoutError::Disconnected), _) => return ended,
                (Err(RecvTimeoutError::Timeout), _) => py.check_signals(),
                (Ok(asked), Some(function)) if ended.is_ok() => {
                    call(function, &asked.question, noisy).map(|answer| {
                        // A simulator that ended meanwhile does not wait for it.
                        let _ = asked.answer.send(answer);
                    })
                }
                (Ok(_), _) => Ok(()),
            };
            if let (Ok(()), Err(error)) = (&ended, told) {
                ended = Err(error);
                stop();
            }
        }
    }
}

/// The function's answer to a question: `function(agent, x)`, and the observation's number where answers differ.
fn call(function: &Bound<'_, PyAny>, question: &Question, noisy: bool) -> PyResult<f64> {
    let x = PyDict::new(function.py());
    for (name, value) in &question.x {
        match value {
            Value::String(text) => x.set_item(name, text)?,
            Value::Number(number) => match number.as_i64() {
                Some(whole) => x.set_item(name, whole)?,
                None => x.set_item(name, number.as_f64())?,
            },
            _ => {}
        }
    }
    let answer = if noisy {
        function.call1((question.agent, x, question.observation))?
    } else {
        function.call1((question.agent, x))?
    };
    let refused =
        || format!("the objective, asked for {question}, answered {answer}; admissible: a finite number up to 1e12");
    let value: f64 = answer.extract().map_err(|_| PyTypeError::new_err(refused()))?;
    if Question::admits(value) { Ok(value) } else { Err(PyValueError::new_err(refused())) }
}
