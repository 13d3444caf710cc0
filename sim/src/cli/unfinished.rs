//! What `sordino report` says about a folder that is not complete: how to go on, and a page of what
//! is there.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sordino_engine::{self as model, Model, ModelError, Options};
use sordino_experiment::files::{FolderLock, read_to_string_bounded};
use sordino_experiment::journal::{Journal, SUMMARY};
use sordino_experiment::progress::log;
use sordino_experiment::scenario::method::CUSTOM;
use sordino_experiment::scenario::{ObjectiveConfig, OwnMethod, Scenario};
use sordino_lab::execute;
use sordino_lab::parts::mark::refuse_part;
use sordino_lab::sweep::{Index, Status, SweepFolder};
use sordino_report::folder::FolderError;
use sordino_report::view::PAGE;

use sordino_experiment::command_line::error::CliError;
use sordino_lab::command::interrupt::quoted;

/// A longer scenario is not read.
const BYTES_MAX: u64 = 1 << 22;

/// A run folder that is not complete.
struct Unfinished {
    model: Box<dyn Model>,
    /// How to go on with it.
    again: String,
    /// Nobody writes into it meanwhile.
    _lock: FolderLock,
}

/// What is unfinished here; nothing if the folder is complete or no run folder.
///
/// **Errors**: a folder that another process writes into; a scenario that cannot be read.
fn found(folder: &Path) -> Result<Option<Unfinished>, CliError> {
    let file = Journal::scenario_file(folder);
    if !file.exists() || folder.join(SUMMARY).exists() {
        return Ok(None);
    }
    let lock = FolderLock::take(folder).map_err(FolderError::Lock)?;
    let name = file.display().to_string();
    let text = read_to_string_bounded(&file, BYTES_MAX)
        .map_err(|error| CliError::input(format!("{name}: cannot be read: {error}")))?;
    let model = model::parse(&name, &text, &[])?;
    let data = if model.reads().is_some() {
        " --data PATH"
    } else {
        ""
    };
    let again = match brought(&name, &text) {
        Some(what) => format!(
            "only the program that brings {what} can do that; run it again over this folder"
        ),
        None => {
            format!(
                "sordino run {}{data} --out {} --resume",
                quoted(&name),
                quoted(&folder.display().to_string())
            )
        }
    };
    Ok(Some(Unfinished {
        model,
        again,
        _lock: lock,
    }))
}

/// The page of what is finished in an unfinished run folder, and on standard error how to go on.
/// Nothing if the folder is complete or no run folder.
///
/// **Errors**: nothing is finished yet; the error says how to go on, too. A folder that another
/// process writes into.
pub fn page(folder: &Path) -> Result<Option<String>, CliError> {
    let Some(Unfinished {
        model,
        again,
        _lock,
    }) = found(folder)?
    else {
        return Ok(None);
    };
    match drawn(folder, &*model)? {
        Some(page) => {
            log::note(&format!(
                "{}: unfinished, what is finished is drawn; to go on: {again}",
                folder.display()
            ));
            Ok(Some(page))
        }
        None => Err(CliError::input(format!(
            "{}: unfinished, and nothing in it can be drawn yet; to go on: {again}",
            folder.display()
        ))),
    }
}

/// What another program brings to a scenario, its functions or a method: sordino alone cannot run
/// it.
fn brought(name: &str, text: &str) -> Option<String> {
    let scenario = Scenario::parse(name, text, &[]).ok()?;
    let custom =
        |own: &&OwnMethod<Scenario>| own.method.base().is_some_and(|base| base.name() == CUSTOM);
    match (&scenario.objective, scenario.own.iter().find(custom)) {
        (ObjectiveConfig::Custom(_), _) => Some("its functions".to_owned()),
        (_, Some(own)) => Some(format!("the method `{}`", own.method)),
        _ => None,
    }
}

/// Refuses a folder of which a complete run is wanted, if it is a sweep, a part or an unfinished
/// run: what it is and how to go on.
pub fn refuse(folder: &Path) -> Result<(), CliError> {
    if SweepFolder::is_one(folder) {
        let shown = folder.display();
        return Err(CliError::input(format!(
            "{shown}: is a sweep; name run folders of it, which are in {shown}/runs"
        )));
    }
    refuse_part(folder)?;
    refuse_unfinished(folder)
}

/// Refuses an unfinished run: what is wanted needs all of it, and how to go on.
pub fn refuse_unfinished(folder: &Path) -> Result<(), CliError> {
    match found(folder)? {
        None => Ok(()),
        Some(Unfinished { again, .. }) => Err(CliError::input(format!(
            "{}: unfinished; `sordino report` without --table and --figure draws what is finished; to go on: {again}",
            folder.display()
        ))),
    }
}

fn drawn(folder: &Path, model: &dyn Model) -> Result<Option<String>, CliError> {
    let journal = Arc::new(Journal::look(folder, &model.resolved())?);
    let Some(finished) = model.finished(&journal)? else {
        return Ok(None);
    };
    // Stopped from the beginning: what is not in the journal is not done either.
    let stop = Arc::new(AtomicBool::new(true));
    let options = Options {
        journal: Some(journal),
        stop,
        ..Options::default()
    };
    match execute::executed(&*finished, &options, &()) {
        Ok(record) => Ok(Some(record.file(PAGE).to_owned())),
        Err(ModelError::Interrupted) => Ok(None),
        // Without their data most of them cannot be drawn.
        Err(ModelError::Input(_)) if model.reads().is_some() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// How to go on with an unfinished sweep.
pub fn sweep(folder: &SweepFolder, index: &Index) -> String {
    let plan = &folder.plan;
    let settings: String = plan
        .axes
        .iter()
        .map(|axis| {
            format!(
                " --set {}",
                quoted(&format!("{}={}", axis.key, axis.values.join(",")))
            )
        })
        .collect();
    let seeds: Vec<String> = plan.seeds.iter().map(u64::to_string).collect();
    let loaded = plan
        .points()
        .first()
        .and_then(|point| plan.load(point).ok());
    let data = if loaded.is_some_and(|scenario| scenario.reads().is_some()) {
        " --data PATH"
    } else {
        ""
    };
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
