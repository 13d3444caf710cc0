//! The folder of `sordino optimize`: what happened, line by line, and what is made of it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sordino_experiment::files::{FolderLock, LOCK, read_bounded, write_atomically};
use sordino_host::files::{create_folders_privately, folder_of};
use sordino_host::prior::PriorFile;
use sordino_host::search::{Event, Head, Search, SearchError};
use sordino_host::space::{BYTES_MAX, Point};

use super::picture::{self, so_far};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::progress::log::note;
use sordino_experiment::text::{Quoted, chain, first_three};

/// What was asked and answered: a line of JSON each, durable before anything is made of it.
pub const STORE: &str = "search.jsonl";
/// The store is read up to this length.
const STORE_MAX: u64 = 1 << 30;

/// The folder of a search, which this process alone writes into.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    store: File,
    _lock: FolderLock,
}

impl Folder {
    /// The folder at `path` and the search in it: a new one, or, to go on, the one that is there.
    ///
    /// **Errors**: a folder that holds something else; a folder with a search where none is to be
    /// gone on with; a search of another space, goal or seed; a line that is none, by its number;
    /// those of the system.
    pub fn open(
        path: &Path,
        head: &Head,
        prior: Option<&PriorFile>,
        resume: bool,
    ) -> Result<(Self, Search), CliError> {
        let shown = path.display();
        // Before anything is made: a file of another search is refused.
        let begun = match prior {
            None => Search::new(head.clone()),
            Some(file) => Search::guided(head.clone(), file),
        };
        let begun = begun.map_err(|error| match error {
            SearchError::Guide(error) => {
                CliError::input(format!("--prior: {}; nothing was run", chain(&error)))
            }
            other => CliError::input(other),
        })?;
        let head = begun.head().clone();
        is_own(path)?;
        // What was measured is its owner's; some of it may be published one day, with an ε.
        create_folders_privately(path).map_err(|error| failed(path, error.into()))?;
        let lock = FolderLock::take(path).map_err(CliError::failure)?;
        let place = path.join(STORE);
        let text = if place.exists() {
            whole_lines(&place)?
        } else {
            String::new()
        };
        if !text.is_empty() && !resume {
            return Err(CliError::input(format!(
                "{shown}: holds a search already; --resume goes on with it, --out names another folder; nothing was run"
            )));
        }
        if resume && text.is_empty() {
            let others = searches_beside(path);
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let beside = match others.len() {
                0 => String::new(),
                _ => format!("; beside it lie those of {}", first_three(&others, ", ")),
            };
            note(&format!("{shown}: holds no search yet; one begins{beside}"));
        }
        let search = if text.is_empty() {
            begun
        } else {
            let read = match prior {
                None => Search::parse(&text),
                Some(file) => Search::parse_guided(&text, file),
            };
            let search = read.map_err(|error| {
                CliError::input(format!(
                    "{}: {}; nothing was run",
                    place.display(),
                    chain(&error)
                ))
            })?;
            if let Some(what) = search.head().differs(&head) {
                return Err(CliError::input(format!(
                    "{shown}: holds a search with another {what}; name another folder by --out, or give the same {what}; \
                     nothing was run"
                )));
            }
            search
        };
        let mut store = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&place)
            .map_err(|error| failed(path, error))?;
        // Half a line of a process that was killed is written over.
        store
            .set_len(text.len() as u64)
            .and_then(|()| store.seek(SeekFrom::End(0)))
            .map_err(|error| failed(path, error))?;
        let mut folder = Folder {
            path: path.to_owned(),
            store,
            _lock: lock,
        };
        if text.is_empty() {
            folder.append(&Search::head_line(&head))?;
        }
        Ok((folder, search))
    }

    /// Writes down what happened last, and waits until it is on the disk.
    ///
    /// **Errors**: those of the system.
    pub fn record(&mut self, search: &Search) -> Result<(), CliError> {
        search
            .events()
            .last()
            .map_or(Ok(()), |event: &Event| self.append(&Search::line(event)))
    }

    fn append(&mut self, line: &str) -> Result<(), CliError> {
        let written = self
            .store
            .write_all(line.as_bytes())
            .and_then(|()| self.store.sync_data());
        written.map_err(|error| failed(&self.path.join(STORE), error))
    }

    /// Writes `best.json`, `history.csv` and the picture anew.
    ///
    /// **Errors**: those of the system.
    pub fn publish(
        &self,
        search: &Search,
        context: &Value,
        value: Option<&str>,
    ) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(&result(search, context, value)?)
            .map_err(CliError::failure)?
            + "\n";
        let mut files = vec![("best.json", text), ("history.csv", history(search))];
        if let Some(picture) = picture::best_so_far(search, value) {
            files.push(("best.svg", picture));
        }
        for (name, text) in files {
            let path = self.path.join(name);
            write_atomically(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }
}

/// Folders beside this one that hold a search, by name: who wrote a name wrongly meant one of them.
fn searches_beside(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder_of(path))
        .into_iter()
        .flatten()
        .flatten();
    let found = entries.filter(|entry| entry.path().join(STORE).is_file());
    let own = path.file_name();
    let names = found.filter(|entry| Some(&*entry.file_name()) != own);
    let mut names: Vec<String> = names
        .map(|entry| Quoted(&entry.file_name().to_string_lossy()).to_string())
        .collect();
    names.sort();
    names
}

/// Refuses a folder that holds something and no search: files there may have the names of ours.
///
/// **Errors**: such a folder; those of the system.
fn is_own(path: &Path) -> Result<(), CliError> {
    let store = path.join(STORE);
    // Of one without a whole line the search is lost, and its results may be there.
    if store.exists() && !whole_lines(&store)?.is_empty() {
        return Ok(());
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(path, error)),
    };
    for entry in entries {
        let name = entry.map_err(|error| failed(path, error))?.file_name();
        // All that is left of a process that was killed before it wrote.
        if name != LOCK && name != STORE {
            return Err(CliError::input(format!(
                "--out {}: holds {} and no search; name a new folder, nothing is overwritten; nothing was run",
                path.display(),
                Quoted(&name.to_string_lossy())
            )));
        }
    }
    Ok(())
}

/// What the system refused about a file or a folder.
pub(super) fn failed(path: &Path, error: std::io::Error) -> CliError {
    CliError::failure(format!("{}: {error}", path.display()))
}

/// Why a store cannot be read.
fn unreadable(path: &Path, error: impl std::fmt::Display) -> CliError {
    CliError::input(format!("{}: {error}; nothing was run", path.display()))
}

/// The store up to its last whole line.
fn whole_lines(path: &Path) -> Result<String, CliError> {
    let mut bytes =
        read_bounded(path, STORE_MAX.max(BYTES_MAX)).map_err(|error| unreadable(path, error))?;
    // Half a line may end within a character.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    bytes.truncate(whole.map_or(0, |last| last + 1));
    String::from_utf8(bytes).map_err(|error| unreadable(path, error))
}

/// A point with its value, as JSON.
fn pair((point, value): (Point, f64)) -> Value {
    json!({"point": Value::Object(point), "value": value})
}

/// A value of a parameter, as a field of a table.
fn field(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Values below which nothing is fitted to them, so that nothing is expected but them.
const MODEL_FROM: usize = 3;

/// The point to use where these values are given, and what the model expects there; nothing before
/// there is a model.
///
/// No deviation stands beside it: the model's is that of its one fit of noise and lengthscales.
/// With noise, its ±2 deviations held the function in 1, 26 and 37 of 40 searches of 8, 25 and 50
/// values, in 40 without noise.
///
/// **Errors**: the surrogate's.
pub fn recommended(search: &Search, context: &Value) -> Result<Option<(Point, f64)>, CliError> {
    if search.len() < MODEL_FROM {
        return Ok(None);
    }
    let found = search.recommend_given(context);
    let found = found.map_err(CliError::failure)?;
    Ok(found.map(|(point, estimate)| (point, estimate.mean)))
}

/// All that was learned, as one JSON object; what is best and what is recommended are of the values
/// that are given.
///
/// **Errors**: the surrogate's.
pub fn result(search: &Search, context: &Value, value: Option<&str>) -> Result<Value, CliError> {
    let recommended = recommended(search, context)?;
    let best = search.best_given(context).map_err(CliError::failure)?;
    Ok(json!({
        "given": context,
        "best": best.map(pair),
        "recommended": recommended.map(|(point, mean)| {
            json!({"point": Value::Object(point), "mean": mean})
        }),
        "goal": search.head().goal,
        "value": value,
        "seed": search.head().seed,
        "prior": search.head().prior,
        "reads_prior": search.reads_file(),
        "evaluations": search.len(),
        "failed": search.failed(),
        "history": search.history().map(pair).collect::<Vec<_>>(),
    }))
}

/// The values in the order in which they were learned, with the best so far.
fn history(search: &Search) -> String {
    let names = search
        .head()
        .space
        .parameters()
        .iter()
        .map(|parameter| parameter.name.clone());
    let header: Vec<String> = ["evaluation".to_owned()]
        .into_iter()
        .chain(names)
        .chain(["value".to_owned(), "best".to_owned()])
        .collect();
    let mut text = sordino_experiment::world::rows::line(&header);
    for (place, (point, value, best)) in so_far(search).into_iter().enumerate() {
        let inputs = search.head().space.parameters().iter();
        let inputs =
            inputs.map(|parameter| point.get(&parameter.name).map(field).unwrap_or_default());
        let fields: Vec<String> = [(place + 1).to_string()]
            .into_iter()
            .chain(inputs)
            .chain([value.to_string(), best.to_string()])
            .collect();
        text.push_str(&sordino_experiment::world::rows::line(&fields));
    }
    text
}
