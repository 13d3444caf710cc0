//! What `sordino report` says of a folder that is not complete: how to go on, and a page of what is there.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::error::CliError;
use super::interrupt::quoted;
use crate::files::{FolderLock, read_to_string_bounded};
use crate::journal::checkpoint::{SUMMARY, Store};
use crate::journal::jobs::Journal;
use crate::metrics::summarize;
use crate::model::experiment::{ExperimentError, Options};
use crate::model::{Engine, engine};
use crate::progress::log;
use crate::record::MethodRun;
use crate::report::folder::FolderError;
use crate::report::html;
use crate::report::read::RunRecord;
use crate::scenario::{AnyScenario, Head, Method, Scenario};
use crate::study::sweep::{Index, Status, SweepFolder};

/// A longer scenario is not read.
const BYTES_MAX: u64 = 1 << 22;

/// The page of what is finished in an unfinished run folder, and on standard error how to go on. Nothing if the folder
/// is complete or no run folder.
///
/// **Errors**: nothing is finished yet; the error says how to go on, too. A folder that another process writes into.
pub fn page(folder: &Path) -> Result<Option<String>, CliError> {
    let files = [Store::scenario_file(folder), Journal::scenario_file(folder)];
    let Some(file) = files.iter().find(|file| file.exists()).filter(|_| !folder.join(SUMMARY).exists()) else {
        return Ok(None);
    };
    let _lock = FolderLock::take(folder).map_err(FolderError::Lock)?;
    let name = file.display().to_string();
    let text = read_to_string_bounded(file, BYTES_MAX)
        .map_err(|error| CliError::input(format!("{name}: cannot be read: {error}")))?;
    let scenario = AnyScenario::parse(&name, &text, &[])?;
    let data = if scenario.reads().is_some() { " --data PATH" } else { "" };
    let again = format!("sordino run {}{data} --out {} --resume", quoted(&name), quoted(&folder.display().to_string()));
    let drawn = match &scenario {
        AnyScenario::Federated(scenario) => federated(folder, scenario)?,
        // Without their data nothing of them can be drawn.
        experiment if experiment.reads().is_some() => None,
        experiment => other(folder, &name, &text, &experiment.head())?,
    };
    match drawn {
        Some(page) => {
            log::note(&format!("{}: unfinished, what is finished is drawn; to go on: {again}", folder.display()));
            Ok(Some(page))
        }
        None => Err(CliError::input(format!(
            "{}: unfinished, and nothing in it can be drawn yet; to go on: {again}",
            folder.display()
        ))),
    }
}

fn federated(folder: &Path, scenario: &Scenario) -> Result<Option<String>, CliError> {
    let store = Store::resume(folder, &scenario.resolved(), Duration::ZERO)?;
    let finished = store.all_finished()?;
    let Some((scenario, results)) = comparable(scenario, finished) else {
        return Ok(None);
    };
    let summary = summarize(&scenario, &results).map_err(CliError::failure)?;
    let regret_name = scenario.objective.regret_name();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Some(html::page(&RunRecord { scenario, version, results, summary }, regret_name)))
}

/// What may be compared of the finished methods: all methods of the runs in which all are finished; if there is no such
/// run, the methods of the run that got furthest. Runs are numbered anew.
fn comparable(scenario: &Scenario, finished: Vec<MethodRun>) -> Option<(Scenario, Vec<MethodRun>)> {
    let of = |run: u32| finished.iter().filter(move |result| result.run == run).count();
    let whole: Vec<u32> = (0..scenario.runs).filter(|run| of(*run) == scenario.federation.methods.len()).collect();
    let mut shown = scenario.clone();
    let (runs, said) = if whole.is_empty() {
        let best = (0..scenario.runs).rev().max_by_key(|run| of(*run)).filter(|run| of(*run) > 0)?;
        let is_done = |method: &Method| finished.iter().any(|result| result.run == best && result.method == *method);
        shown.federation.methods.retain(is_done);
        (vec![best], format!("{} of {} methods of one run", of(best), scenario.federation.methods.len()))
    } else {
        let said = format!("{} of {} runs", whole.len(), scenario.runs);
        (whole, said)
    };
    shown.runs = runs.len() as u32;
    shown.description = unfinished(&said, &scenario.description);
    let place = |run: u32| runs.iter().position(|kept| *kept == run);
    let results = finished
        .into_iter()
        .filter_map(|result| place(result.run).map(|place| MethodRun { run: place as u32, ..result }))
        .collect();
    Some((shown, results))
}

fn unfinished(said: &str, description: &str) -> String {
    format!("Unfinished: {said}. {description}")
}

/// The page of the first runs of which every job is in the journal: fewer runs are a prefix of more.
fn other(folder: &Path, name: &str, text: &str, head: &Head) -> Result<Option<String>, CliError> {
    let journal = Arc::new(Journal::open(folder, text, None)?);
    let stop = Arc::new(AtomicBool::new(true));
    let page = |count: u32| -> Result<Option<String>, CliError> {
        let description = unfinished(&format!("{count} of {} runs", head.runs), &head.description);
        let settings = [format!("runs={count}"), format!("description={}", toml::Value::String(description))];
        let Engine::Jobs(first) = engine(AnyScenario::parse(name, text, &settings)?) else {
            return Ok(None);
        };
        // Stopped from the beginning: what is not in the journal is not done either.
        let options = Options { journal: Some(journal.clone()), stop: Some(stop.clone()), ..Options::default() };
        match first.execute(&options, &|_, _, _| ()) {
            Ok(outcome) => Ok(outcome.files.into_iter().find(|file| file.0 == "report.html").map(|file| file.1)),
            Err(ExperimentError::Interrupted) => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    // The most runs that can be drawn lie between what can and what cannot.
    let (mut drawn, mut can, mut cannot) = (None, 0, head.runs + 1);
    while cannot - can > 1 {
        let middle = can + (cannot - can) / 2;
        match page(middle)? {
            Some(page) => (drawn, can) = (Some(page), middle),
            None => cannot = middle,
        }
    }
    Ok(drawn)
}

/// How to go on with an unfinished sweep.
pub fn sweep(folder: &SweepFolder, index: &Index) -> String {
    let plan = &folder.plan;
    let settings: String = plan
        .axes
        .iter()
        .map(|axis| format!(" --set {}", quoted(&format!("{}={}", axis.key, axis.values.join(",")))))
        .collect();
    let seeds: Vec<String> = plan.seeds.iter().map(u64::to_string).collect();
    let loaded = plan.points().first().and_then(|point| plan.load(point).ok());
    let data = if loaded.is_some_and(|scenario| scenario.reads().is_some()) { " --data PATH" } else { "" };
    format!(
        "{}: unfinished, {} of {} runs are done; to go on: sordino sweep {}{settings} --seeds {}{data} --out {} --resume",
        folder.path().display(),
        index.count(Status::Done),
        index.entries.len(),
        quoted(&plan.source),
        seeds.join(","),
        quoted(&folder.path().display().to_string())
    )
}
