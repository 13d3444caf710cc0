//! The folder of a sweep.
//!
//! `sweep.toml` says what is swept and never changes. `runs/` holds a run folder for each run. A
//! run that has ended leaves its entry in `state/`, written under another name, synced and renamed;
//! the index is made from the entries.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sordino_engine::Model;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::files::{
    FolderLock, LOCK, LockError, read_to_string_bounded, write_atomically, write_durably,
};
use sordino_experiment::journal::{PART, SUMMARY};
use sordino_experiment::text;
use sordino_report::differing::differing;
use sordino_report::folder::{SCENARIO, pretty};
use sordino_report::read::{ReadError, RunFiles};
use sordino_report::results::Results;
use sordino_report::view::PAGE;

use super::compared::Compared;
use super::grid::Plan;
use super::index::{Entry, FORMAT, FORMAT_READ, Index, Kept, Status, VERSION};
use super::paired;

const README: &str = include_str!("folder.md");
const PLAN: &str = "sweep.toml";
const INDEX: &str = "index.json";
const STATE: &str = "state";
const DROPPED: &str = "state.dropped";
/// A file longer than this is not read.
const BYTES_MAX: u64 = 1 << 30;

/// Why a sweep's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// Something exists at this path already.
    #[error(
        "--out {0}: exists already; name a new folder, nothing is overwritten (--resume goes on with a sweep)"
    )]
    Exists(PathBuf),
    /// The folder belongs to another sweep.
    #[error("{path} belongs to another sweep ({difference})")]
    Other {
        /// Path of the folder.
        path: PathBuf,
        /// Lines that differ: `-` in the folder, `+` in the sweep given now.
        difference: String,
    },
    /// The folder was begun by another version, whose bits may differ.
    #[error(
        "{path}: was begun by sordino {there}, this is {VERSION}; go on with that version, or name a new folder"
    )]
    Version {
        /// Path of the folder.
        path: PathBuf,
        /// The version that wrote its index.
        there: String,
    },
    /// The folder holds something else.
    #[error("{0}: holds no sweep (no {PLAN}); name a new folder")]
    NoSweep(PathBuf),
    /// A file that is not as the sweep wrote it.
    #[error("{path}: {message}")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The folder of a run that is not as the run left it.
    #[error(transparent)]
    Run(Box<ReadError>),
    /// The system refused.
    #[error("{path}: {error}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// Another process writes into the folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There are no threads to run on.
    #[error(transparent)]
    Threads(#[from] sordino_experiment::pool::PoolError),
    /// A worker ended without a result: it panicked.
    #[error("a worker ended without a result")]
    WorkerLost,
    /// Stopped from outside; what was finished is in the index.
    #[error("interrupted")]
    Interrupted,
}

impl SweepError {
    /// What is wrong with a file that a sweep would not write so.
    fn damaged(path: &Path, what: impl std::fmt::Display) -> Self {
        SweepError::Damaged {
            path: path.to_owned(),
            message: what.to_string(),
        }
    }
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> SweepError + '_ {
    |error| SweepError::Io {
        path: path.to_owned(),
        error,
    }
}

/// A sweep and its folder.
#[derive(Debug)]
pub struct SweepFolder {
    path: PathBuf,
    /// What is swept, from the scenario and the axes.
    pub plan: Plan,
    /// Held by a process that executes runs; a reader needs no lock.
    _lock: Option<FolderLock>,
}

impl SweepFolder {
    /// Begins in a new folder, or goes on (`resume`) with the same sweep.
    ///
    /// **Errors**: those of [`SweepFolder::take`] and [`SweepFolder::go_on`].
    pub fn begin(path: &Path, plan: Plan, resume: bool) -> Result<Self, SweepError> {
        let lock = Self::take(path, resume)?;
        Self::go_on(path, plan, lock)
    }

    /// The lock of the folder at `path`, which is made if it does not exist.
    ///
    /// **Errors**: [`SweepError::Exists`] unless `resume`; [`SweepError::Lock`] if another process
    /// works on the sweep.
    pub fn take(path: &Path, resume: bool) -> Result<FolderLock, SweepError> {
        if path.exists() && !resume {
            return Err(SweepError::Exists(path.to_owned()));
        }
        fs::create_dir_all(path).map_err(io_at(path))?;
        Ok(FolderLock::take(path)?)
    }

    /// Goes on with the same sweep, or begins in a new or empty folder, whose lock the caller has.
    ///
    /// **Errors**: [`SweepError::Other`] with the difference, [`SweepError::NoSweep`].
    pub fn go_on(path: &Path, plan: Plan, lock: FolderLock) -> Result<Self, SweepError> {
        let file = path.join(PLAN);
        if !file.exists() {
            let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
            // Killed at the very beginning: empty, as the lock has cleared away a plan that was not
            // yet renamed.
            let foreign =
                entries.any(|entry| entry.file_name() != LOCK && entry.file_name() != PART);
            return if foreign {
                Err(SweepError::NoSweep(path.to_owned()))
            } else {
                Self::fill(path, plan, lock)
            };
        }
        let there = read_plan(&file)?;
        if let Some(difference) = difference(&there, &plan) {
            return Err(SweepError::Other {
                path: path.to_owned(),
                difference,
            });
        }
        Ok(SweepFolder {
            path: path.to_owned(),
            plan,
            _lock: Some(lock),
        })
    }

    /// Opens an existing folder for reading.
    pub fn open(path: &Path) -> Result<Self, SweepError> {
        Ok(SweepFolder {
            path: path.to_owned(),
            plan: read_plan(&path.join(PLAN))?,
            _lock: None,
        })
    }

    /// True if this is the folder of a sweep.
    pub fn is_one(path: &Path) -> bool {
        path.join(PLAN).exists()
    }

    /// Whether a sweep leaves a file, or a folder, of this name.
    pub fn has(name: &str) -> bool {
        let tables = ["index.csv", "summary.csv", "paired.csv", "README.md"];
        let others = [PLAN, INDEX, STATE, DROPPED, PART, LOCK, PAGE, "runs"];
        tables.contains(&name) || others.contains(&name)
    }

    fn fill(path: &Path, plan: Plan, lock: FolderLock) -> Result<Self, SweepError> {
        let file = path.join(PLAN);
        let text = toml::to_string(&plan).map_err(|error| SweepError::damaged(&file, error))?;
        write_atomically(&file, text.as_bytes()).map_err(io_at(&file))?;
        Ok(SweepFolder {
            path: path.to_owned(),
            plan,
            _lock: Some(lock),
        })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a run.
    pub fn run(&self, folder: &str) -> PathBuf {
        self.path.join("runs").join(folder)
    }

    /// The index of all runs as far as they are known.
    ///
    /// **Errors**: an index or an entry that is not of this sweep.
    pub fn index(&self) -> Result<Index, SweepError> {
        let mut index = self.fresh()?;
        let path = self.path.join(INDEX);
        if path.exists() {
            let there: Index = read_json(&path)?;
            let format = there.format;
            if !(FORMAT_READ..=FORMAT).contains(&format) {
                let what = format!(
                    "format {format} is unknown; this program reads formats {FORMAT_READ} to {FORMAT}"
                );
                return Err(SweepError::damaged(&path, what));
            }
            for entry in there
                .entries
                .into_iter()
                .filter(|entry| entry.status != Status::Waiting)
            {
                take(&mut index, &self.plan, entry, &path)?;
            }
        }
        for file in fs::read_dir(self.path.join(STATE))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = file.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                take(&mut index, &self.plan, read_json(&path)?, &path)?;
            }
        }
        // An index of an earlier version has no numbers of single runs; their folders have.
        for entry in &mut index.entries {
            if entry.status == Status::Done && entry.compared.is_none() {
                entry.compared = Compared::read(&self.run(&entry.folder));
            }
        }
        index.seal();
        Ok(index)
    }

    /// The index, which agrees with the folders of its runs that are still there: of a run, one of
    /// its files may not say a smaller ε than another.
    ///
    /// **Errors**: as [`SweepFolder::index`]; an entry that says other numbers than the run's
    /// summary, or than its rounds; a folder that cannot be read.
    pub fn checked_index(&self) -> Result<Index, SweepError> {
        let index = self.index()?;
        let path = self.path.join(INDEX);
        for entry in &index.entries {
            let folder = self.run(&entry.folder);
            // Of what was removed to save space the index alone is left.
            let files = [SUMMARY, SCENARIO, "rounds.csv"];
            if entry.status != Status::Done || files.iter().all(|file| !folder.join(file).exists())
            {
                continue;
            }
            let other = |what: String| {
                let what = format!("{what}: one of these files was changed after the sweep");
                SweepError::damaged(&path, what)
            };
            let written = RunFiles::Folder(&folder).summary().map_err(unread)?.methods;
            if let Some(found) = differing(&entry.methods, &written) {
                return Err(other(format!(
                    "it has {} in {}, whose summary.json has {}",
                    found.first, entry.folder, found.second
                )));
            }
            // What was taken out of it, and the run still has.
            if let Some(found) = differing(&written, &entry.methods) {
                return Err(other(format!(
                    "it has {} where summary.json of {} has {}",
                    found.second, entry.folder, found.first
                )));
            }
            if files.iter().any(|file| !folder.join(file).exists()) {
                continue;
            }
            let results = Results::open(&folder).map_err(unread)?;
            let there = Compared::of_results(&results);
            if entry
                .compared
                .as_ref()
                .is_some_and(|own| !own.is_same(&there))
            {
                return Err(other(format!(
                    "it has other numbers of single runs than rounds.csv of {}",
                    entry.folder
                )));
            }
        }
        Ok(index)
    }

    /// Refuses to go on with what another version began: its runs may differ in their last bits.
    ///
    /// **Errors**: [`SweepError::Version`]; an index that cannot be read.
    pub fn of_this_version(&self) -> Result<(), SweepError> {
        let path = self.path.join(INDEX);
        if !path.exists() {
            return Ok(());
        }
        let there: Index = read_json(&path)?;
        if there.version == VERSION {
            return Ok(());
        }
        Err(SweepError::Version {
            path: self.path.clone(),
            there: there.version,
        })
    }

    fn fresh(&self) -> Result<Index, SweepError> {
        let points = self.plan.points();
        let mut entries = Vec::with_capacity(points.len());
        let mut head = None;
        let mut runs = 0;
        let mut kept = Vec::new();
        for point in &points {
            // The seed decides nothing of this.
            if point.number % self.plan.seeds.len() == 0 {
                let scenario = self.plan.load(point);
                let scenario =
                    scenario.map_err(|error| SweepError::damaged(&self.path.join(PLAN), error))?;
                let read = scenario.head();
                runs = read.runs;
                keep(&mut kept, &self.plan, &*scenario);
                head.get_or_insert((read.name, read.description, read.trust));
            }
            entries.push(Entry::waiting(&self.plan, point, runs));
        }
        let (scenario, description, trust) = head.unwrap_or_default();
        let axes = self.plan.varying();
        let settings = self.plan.fixed();
        let seeds = self.plan.seeds.clone();
        let version = VERSION.to_owned();
        let noise = sordino_experiment::record::noise();
        Ok(Index {
            format: FORMAT,
            version,
            scenario,
            description,
            trust,
            noise,
            axes,
            settings,
            seeds,
            digest: None,
            entries,
            kept,
            paired: Vec::new(),
        })
    }

    /// Writes down the outcome of a run: durable when this returns.
    pub fn record(&self, entry: &Entry) -> Result<(), SweepError> {
        let state = self.path.join(STATE);
        fs::create_dir_all(&state).map_err(io_at(&state))?;
        let path = state.join(format!("{:05}.json", entry.number));
        write_json(&path, entry)
    }

    /// Writes the index as it is now.
    pub(crate) fn write_index(&self, index: &Index) -> Result<(), SweepError> {
        let path = self.path.join(INDEX);
        write_json(&path, index)
    }

    /// Writes everything that is made from the index, including its `page`.
    pub(crate) fn condense(&self, index: &Index, page: &str) -> Result<(), SweepError> {
        self.write_index(index)?;
        self.write("index.csv", &index.csv())?;
        self.write("summary.csv", &index.summary_csv())?;
        self.write("paired.csv", &paired::exact(index, &index.paired))?;
        self.write("README.md", README)?;
        self.write(PAGE, page)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), SweepError> {
        let path = self.path.join(name);
        write_durably(&path, text.as_bytes()).map_err(io_at(&path))
    }

    /// Drops the state: the index holds everything.
    pub fn complete(&self) -> Result<(), SweepError> {
        let state = self.path.join(STATE);
        let dropped = self.path.join(DROPPED);
        let _ = fs::remove_dir_all(&dropped);
        match fs::rename(&state, &dropped) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result.map_err(io_at(&state))?,
        }
        fs::remove_dir_all(&dropped).map_err(io_at(&dropped))
    }

    /// True if everything is done and written, and no state is left: a program may die while it
    /// drops the state.
    pub fn is_complete(&self, index: &Index) -> bool {
        let left = [STATE, DROPPED]
            .iter()
            .any(|name| self.path.join(name).exists());
        index.count(Status::Done) == index.entries.len() && !left
    }
}

fn unread(error: ReadError) -> SweepError {
    SweepError::Run(Box::new(error))
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), SweepError> {
    let written = pretty(value).and_then(|text| write_atomically(path, text.as_bytes()));
    written.map_err(io_at(path))
}

fn read(path: &Path) -> Result<String, SweepError> {
    read_to_string_bounded(path, BYTES_MAX).map_err(io_at(path))
}

fn read_json<V: for<'de> serde::Deserialize<'de>>(path: &Path) -> Result<V, SweepError> {
    serde_json::from_str(&read(path)?).map_err(|error| SweepError::damaged(path, error))
}

fn read_plan(path: &Path) -> Result<Plan, SweepError> {
    let plan: Plan = toml::from_str(&read(path)?)
        .map_err(|error| SweepError::damaged(path, error.to_string().replace('\n', "; ")))?;
    let settings: Vec<String> = plan
        .axes
        .iter()
        .map(|axis| format!("{}={}", axis.key, axis.values.join(",")))
        .collect();
    // Made by the same rules as one from the command line: what this program would not write it
    // does not read.
    match Plan::new(
        &plan.source,
        &plan.scenario,
        &settings,
        Some(plan.seeds.clone()),
    ) {
        Ok(again) if again == plan && !plan.seeds.is_empty() => Ok(plan),
        Ok(_) => Err(SweepError::damaged(path, "is not as a sweep writes it")),
        Err(error) => Err(SweepError::damaged(path, error)),
    }
}

/// Puts an entry into its place in the index. One of format 2 has a value for each of the plan's
/// axes.
fn take(index: &mut Index, plan: &Plan, mut entry: Entry, path: &Path) -> Result<(), SweepError> {
    let told = plan.told(&entry.values);
    match index.entries.get_mut(entry.number) {
        Some(place)
            if (&place.folder, place.seed) == (&entry.folder, entry.seed)
                && [&entry.values, &told].contains(&&place.values) =>
        {
            entry.values = place.values.clone();
            *place = entry;
            Ok(())
        }
        _ => {
            let what = format!("run {} is not of this sweep", entry.number);
            Err(SweepError::damaged(path, what))
        }
    }
}

/// Adds the keys that the scenario's methods keep fixed along the axes of the sweep.
fn keep(kept: &mut Vec<Kept>, plan: &Plan, scenario: &dyn Model) {
    for axis in plan.axes.iter().filter(|axis| axis.varies()) {
        for (method, value) in scenario.kept(&axis.key) {
            match kept
                .iter_mut()
                .find(|known| known.method == method && known.key == axis.key)
            {
                Some(known) if known.value.as_ref() != Some(&value) => known.value = None,
                Some(_) => {}
                None => kept.push(Kept {
                    method,
                    key: axis.key.clone(),
                    value: Some(value),
                }),
            }
        }
    }
}

/// The difference between two plans: keys, values, seeds, then lines of the scenario. The
/// scenario's source is ignored.
pub fn difference(there: &Plan, here: &Plan) -> Option<String> {
    text::difference(&told(there), &told(here))
}

/// What a plan says, line by line: keys with their values, seeds, the scenario.
fn told(plan: &Plan) -> String {
    let axes = plan
        .axes
        .iter()
        .map(|axis| format!("{} = {}\n", axis.key, axis.values.join(", ")));
    let seeds: Vec<String> = plan.seeds.iter().map(u64::to_string).collect();
    let scenario = &plan.scenario;
    format!(
        "{}seeds {}\n{scenario}",
        axes.collect::<String>(),
        seeds.join(",")
    )
}

impl From<SweepError> for CliError {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Exists(_)
            | SweepError::Other { .. }
            | SweepError::NoSweep(_)
            | SweepError::Version { .. }
            | SweepError::Damaged { .. }
            | SweepError::Run(_) => CliError::input(error),
            SweepError::Threads(_)
            | SweepError::WorkerLost
            | SweepError::Io { .. }
            | SweepError::Lock(_)
            | SweepError::Interrupted => CliError::failure(error),
        }
    }
}
