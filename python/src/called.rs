//! Python objects that are asked from the simulator's threads and called in one: the thread that
//! called `run`, as a program expects of its libraries. An exception, or Ctrl-C, ends the run;
//! every answer until then is kept.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use sordino_experiment::world::ObjectiveError;
use sordino_experiment::world::oracle::{Oracle, Question};

/// Between two looks at Python's signals.
const LOOK: Duration = Duration::from_millis(50);

/// No further question is answered: the exception that ended the run is told by the thread that has
/// it.
#[derive(Debug, thiserror::Error)]
#[error("the call ended with an exception")]
struct Ended;

/// What is to be done in Python's thread; it sends its answer itself.
type Job = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// The simulator's end.
#[derive(Clone)]
pub struct Caller(Arc<Mutex<Sender<Job>>>);

impl Caller {
    /// Calls `job` in Python's thread and waits. Nothing if the run has ended, there or by an
    /// exception.
    pub fn call<R: Send + 'static>(
        &self,
        job: impl FnOnce(Python<'_>) -> PyResult<R> + Send + 'static,
    ) -> Option<R> {
        let (answer, answered) = channel();
        let job: Job = Box::new(move |py| {
            // A simulator that ended meanwhile does not wait for it.
            let _ = answer.send(job(py)?);
            Ok(())
        });
        let sent = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .send(job)
            .is_ok();
        if sent { answered.recv().ok() } else { None }
    }
}

/// The thread's end, at which Python's objects are called.
pub struct Door(Mutex<Receiver<Job>>);

/// Both ends. The door closes when the last copy of the simulator's end is dropped.
pub fn open() -> (Caller, Door) {
    let (sender, receiver) = channel();
    (
        Caller(Arc::new(Mutex::new(sender))),
        Door(Mutex::new(receiver)),
    )
}

impl Door {
    /// Does what is asked for until the other end is dropped; `stop` is called once, at the first
    /// exception, after which nothing is answered. The exception, if there was one.
    pub fn serve(&self, py: Python<'_>, stop: impl Fn()) -> PyResult<()> {
        let mut ended: PyResult<()> = Ok(());
        loop {
            let asked = py.detach(|| {
                self.0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .recv_timeout(LOOK)
            });
            let told = match asked {
                Err(RecvTimeoutError::Disconnected) => return ended,
                Err(RecvTimeoutError::Timeout) => py.check_signals(),
                Ok(job) if ended.is_ok() => job(py),
                Ok(_) => Ok(()),
            };
            if let (Ok(()), Err(error)) = (&ended, told) {
                ended = Err(error);
                stop();
            }
        }
    }
}

/// A Python function as the objective of a scenario.
pub struct Function {
    caller: Caller,
    function: Arc<Py<PyAny>>,
    noisy: bool,
}

impl Function {
    /// `function(agent, x)`, and the observation's number where answers differ.
    pub fn new(caller: Caller, function: Py<PyAny>, noisy: bool) -> Self {
        Function {
            caller,
            function: Arc::new(function),
            noisy,
        }
    }
}

impl Oracle for Function {
    fn ask(&self, question: &Question) -> Result<f64, ObjectiveError> {
        let function = self.function.clone();
        let asked = question.clone();
        let noisy = self.noisy;
        let found = self
            .caller
            .call(move |py| call(function.bind(py), &asked, noisy));
        found.ok_or_else(|| ObjectiveError::Function {
            question: question.to_string(),
            error: Box::new(Ended),
        })
    }
}

/// The function's answer to a question.
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
    let refused = || {
        format!(
            "the objective, asked for {question}, answered {answer}; admissible: a finite number up to 1e12"
        )
    };
    let value: f64 = answer
        .extract()
        .map_err(|_| PyTypeError::new_err(refused()))?;
    if Question::admits(value) {
        Ok(value)
    } else {
        Err(PyValueError::new_err(refused()))
    }
}
