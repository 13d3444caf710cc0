//! A scenario into a run folder, as `sordino run --resume` does it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use sordino_engine::federated::Own;
use sordino_engine::{DriverKind, Model, ModelError, Options};
use sordino_experiment::command_line::{chosen, number};
use sordino_experiment::progress::Progress;
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::scenario::{ObjectiveConfig, SHIPPED, Scenario};
use sordino_lab::command::data as from;
use sordino_lab::execute::{self, ExecuteError, Place};

use crate::called::{self, Caller, Function};
use crate::error::{self, RunError};
use crate::methods;

/// Source and text of a scenario: a shipped name, a path, or TOML, which has line breaks.
fn scenario_text(scenario: &str) -> PyResult<(String, String)> {
    if scenario.contains('\n') {
        return Ok(("scenario".to_owned(), scenario.to_owned()));
    }
    chosen::scenario_text(scenario).map_err(error::ended)
}

/// Names of the shipped scenarios.
#[pyfunction]
pub fn scenarios() -> Vec<&'static str> {
    SHIPPED.iter().map(|shipped| shipped.name).collect()
}

/// What a scenario promises to whom: the JSON of `sordino privacy explain`.
#[pyfunction]
pub fn explain(py: Python<'_>, scenario: &str, settings: Vec<String>) -> PyResult<String> {
    let (source, text) = scenario_text(scenario)?;
    let model = sordino_engine::parse(&source, &text, &settings).map_err(error::ended)?;
    let explanation = py.detach(|| model.explain()).map_err(error::ended)?;
    serde_json::to_string(&explanation).map_err(error::failure)
}

/// What a run folder says of a function in the place of a program.
const PROGRAM: &str = "a Python function: sordino.run(objective=...)";

/// Whether one of the settings begins with this key.
fn sets(settings: &[String], key: &str) -> bool {
    settings
        .iter()
        .any(|setting| setting.trim_start().starts_with(key))
}

/// The scenario that is run, with the function and the methods that were handed in.
fn model(
    (source, text): (String, String),
    settings: Vec<String>,
    data: Option<&PathBuf>,
    caller: &Caller,
    function: Option<Py<PyAny>>,
    methods: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<Box<dyn Model>> {
    let taken =
        from::of_data(&text, &settings, data.map(PathBuf::as_path)).map_err(error::ended)?;
    let mut all = [&settings[..], &taken.settings[..]].concat();
    let refused = |problem| error::ended(taken.refused(problem));
    let customs = methods
        .into_iter()
        .map(|(name, object)| Ok((methods::custom(&name, object, caller.clone())?, name)))
        .collect::<PyResult<Vec<_>>>()?;
    let handed_in = || {
        customs
            .iter()
            .map(|(custom, name)| (&name[..], custom.clone()))
    };
    let Some(function) = function else {
        if customs.is_empty() {
            return sordino_engine::parse(&source, &text, &all).map_err(refused);
        }
        let scenario = Scenario::parse(&source, &text, &all).map_err(refused)?;
        return Ok(Box::new(
            Own::methods(scenario, handed_in()).map_err(error::input)?,
        ));
    };
    // Only where neither names a program, which may be the same function's: then this folder is the
    // program's, too.
    let parsed: toml::Table = text.parse().unwrap_or_default();
    let objective = parsed.get("objective");
    let kind = objective
        .and_then(|objective| objective.get("kind"))
        .and_then(toml::Value::as_str);
    let asked = kind == Some("command") || sets(&all, "objective.kind") || sets(&all, "objective=");
    if !asked {
        let kind = kind.unwrap_or("none");
        return Err(error::InputError::new_err(format!(
            "objective: the functions of scenario `{source}` are its own (objective.kind is {kind}); admissible: a \
             scenario with objective.kind = \"command\", or inputs={{...}} in place of its [objective]"
        )));
    }
    let command = objective.and_then(|objective| objective.get("command"));
    if command.is_none() && !sets(&all, "objective.command") && !sets(&all, "objective=") {
        all.push(format!("objective.command=\"{PROGRAM}\""));
    }
    let scenario = Scenario::parse(&source, &text, &all).map_err(refused)?;
    let noisy = matches!(&scenario.objective, ObjectiveConfig::Command(config) if config.noisy);
    let function = Arc::new(Function::new(caller.clone(), function, noisy));
    let own = Own::asking(scenario, function).map_err(error::input)?;
    Ok(Box::new(
        own.with_methods(handed_in()).map_err(error::input)?,
    ))
}

/// Executes into the folder `out`, which is new, unfinished or complete; true if it was complete.
/// Nothing is overwritten.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    scenario: &str,
    settings: Vec<String>,
    out: PathBuf,
    objective: Option<Bound<'_, PyAny>>,
    methods: Vec<(String, Bound<'_, PyAny>)>,
    data: Option<PathBuf>,
    threads: Option<i64>,
    lockstep: bool,
    checkpoint_every: f64,
    progress: bool,
) -> PyResult<bool> {
    let (caller, door) = called::open();
    let function = objective.map(Bound::unbind);
    let model = model(
        scenario_text(scenario)?,
        settings,
        data.as_ref(),
        &caller,
        function,
        methods,
    )?;
    let threads = threads
        .map(|threads| error::whole("threads", threads, 1, number::THREADS_MAX))
        .transpose()?;
    let every = number::seconds(&format!("{checkpoint_every:?}")).map_err(|admissible| {
        error::InputError::new_err(format!(
            "checkpoint_every is {checkpoint_every}; {admissible}"
        ))
    })?;
    from::check_data([&*model], data.as_deref()).map_err(error::ended)?;
    let place = execute::begin_or_resume(&out, &*model, data.as_deref()).map_err(error::ended)?;
    let Place::Open(run) = place else {
        return Ok(true);
    };
    let stop = Arc::new(AtomicBool::new(false));
    let options = Options {
        threads: threads.and_then(|threads| NonZeroUsize::new(threads as usize)),
        driver: if lockstep {
            DriverKind::Lockstep
        } else {
            DriverKind::Tokio
        },
        data,
        interval: Duration::from_secs_f64(every),
        stop: stop.clone(),
        ..Options::default()
    };
    // The arithmetic has a thread of its own, so that this one answers for the function and hears
    // Ctrl-C.
    let worker = thread::Builder::new()
        .name("sordino".to_owned())
        .spawn(move || {
            // The door stays open until the end, also where nothing is asked.
            let _open = caller;
            let head = model.head();
            let steps = model.steps();
            let writer =
                progress.then(|| ProgressWriter::new("run", &head.name, steps.unit, steps.count));
            let told: &dyn Progress = writer.as_ref().map_or(&(), |writer| writer);
            run.execute(&*model, &options, told).map(|_| ())
        });
    let worker = worker.map_err(error::failure)?;
    let served = door.serve(py, || stop.store(true, Ordering::Relaxed));
    let result = py.detach(|| worker.join());
    // The exception comes back as it is; what else went wrong after it went wrong because of it.
    served?;
    match result {
        Ok(Ok(())) => Ok(false),
        Ok(Err(ExecuteError::Model(ModelError::Interrupted))) => {
            Err(RunError::new_err("interrupted"))
        }
        Ok(Err(error)) => Err(error::ended(error)),
        Err(_) => Err(RunError::new_err(
            "the simulator panicked, which is a bug; what it said is on standard error",
        )),
    }
}
