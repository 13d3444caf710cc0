//! The second count: what was last seen of a ledger, kept outside it, so that an older copy is
//! noticed.
//!
//! One small file for each ledger, named after the ledger's random id, in the user's state folder.
//! It is written *before* the ledger's own line and holds that line in full. So after a crash
//! between the two the ledger is one line behind at most, and the missing or torn line is known to
//! the last byte.
//!
//! The same folder records which data sets have charges in which ledger. A lock for each data set,
//! `data-` and the digest of its name, is held while one of its ledgers is open, so that what the
//! other counts say stays true until the charge.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::LedgerError;
use super::line::{Entry, unseal};
use super::log::Log;
use super::place::lock;
use crate::files::{
    create_folders_privately, if_there, io_at, may_be_made, open_regular, read_bounded,
    write_privately,
};

/// Counters are read up to this length.
const BYTES_MAX: u64 = 1 << 20;
/// Version of the format; a reader refuses every other.
const VERSION: u16 = 1;
/// The folder of second counts in a state folder.
pub(super) const LEDGERS: &str = "ledgers";

/// Where second counts are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterPlace {
    /// In this folder, which is created if it does not exist.
    Folder(PathBuf),
    /// Nowhere: an older copy of the ledger then passes for the newest.
    Nowhere,
}

impl CounterPlace {
    /// The user's: `$XDG_STATE_HOME/sordino/ledgers`, or `~/.local/state/sordino/ledgers`.
    ///
    /// **Errors**: [`LedgerError::NoStateFolder`].
    pub fn of_user() -> Result<Self, LedgerError> {
        let state =
            absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
        Ok(CounterPlace::Folder(
            state
                .ok_or(LedgerError::NoStateFolder)?
                .join("sordino")
                .join(LEDGERS),
        ))
    }

    /// In this state folder, beside what its data gave to federations: its folder `ledgers`. A
    /// folder that holds counts itself, as earlier programs had it, goes on as it is.
    ///
    /// **Errors**: [`LedgerError::Counter`] for a folder that cannot be read.
    pub fn under(state: &Path) -> Result<Self, LedgerError> {
        let own = state.join(LEDGERS);
        let entries = match fs::read_dir(state).map_err(io_at(state)) {
            Ok(entries) => entries,
            Err(error) if error.is_missing() => return Ok(CounterPlace::Folder(own)),
            Err(error) => return Err(LedgerError::counter(error)),
        };
        for entry in entries {
            let entry = entry.map_err(io_at(state)).map_err(LedgerError::counter)?;
            if entry.path().extension().is_some_and(|end| end == "json") {
                return Ok(CounterPlace::Folder(state.to_owned()));
            }
        }
        Ok(CounterPlace::Folder(own))
    }

    /// The counter of the ledger at `ledger` for `data`; both the counter and the data set are
    /// locked. A caller that says `another` once is not asked again whether the data set has
    /// charges elsewhere.
    ///
    /// **Errors**: [`LedgerError::Busy`], [`LedgerError::DataSetBusy`],
    /// [`LedgerError::OtherLedger`], [`LedgerError::Counter`], [`LedgerError::CounterDamaged`].
    pub(super) fn open(
        &self,
        id: &str,
        ledger: &Path,
        data: &str,
        another: bool,
    ) -> Result<Option<Counter>, LedgerError> {
        let CounterPlace::Folder(folder) = self else {
            return Ok(None);
        };
        create_folders_privately(folder).map_err(LedgerError::counter)?;
        let held = hold(&folder.join(format!("{id}.json.lock")))?;
        let held_data = hold(&lock_of(folder, data)).map_err(|error| busy(data, error))?;
        let mut counter = Counter::read(folder, id, ledger, data, another)?;
        counter._held = vec![held, held_data];
        counter.refuse_others()?;
        Ok(Some(counter))
    }

    /// The same for those who only look: nothing is locked or made.
    ///
    /// **Errors**: as [`CounterPlace::open`], without those of locks.
    pub(super) fn look(
        &self,
        id: &str,
        ledger: &Path,
        data: &str,
        another: bool,
    ) -> Result<Option<Counter>, LedgerError> {
        let CounterPlace::Folder(folder) = self else {
            return Ok(None);
        };
        let counter = Counter::read(folder, id, ledger, data, another)?;
        may_be_made(&folder.join("new")).map_err(LedgerError::counter)?;
        // Where there is no folder, nobody has counted yet; opening makes it.
        let is_there = folder.try_exists().map_err(io_at(folder));
        if is_there.map_err(LedgerError::counter)? {
            counter.refuse_others()?;
        }
        Ok(Some(counter))
    }

    /// What a person should know who begins the first ledger that is counted here.
    pub(super) fn first(&self) -> Option<String> {
        let CounterPlace::Folder(folder) = self else {
            return None;
        };
        (!folder.exists()).then(|| {
            "no ledger was counted on this account before; charges to the same data by other users, on other machines or under other state \
             folders are not known"
                .into()
        })
    }

    /// Refuses data of which another ledger is open at this moment, whether it has charges or not.
    /// Nothing is made, and nothing stays locked.
    ///
    /// **Errors**: [`LedgerError::DataSetBusy`], [`LedgerError::Counter`].
    pub(super) fn is_free(&self, data: &str) -> Result<(), LedgerError> {
        let CounterPlace::Folder(folder) = self else {
            return Ok(());
        };
        let path = lock_of(folder, data);
        let there = open_regular(&path, OpenOptions::new().write(true));
        match there {
            Ok(there) => lock(&there, &path).map_err(|error| busy(data, error)),
            // Nobody has opened any.
            Err(error) if error.is_missing() => Ok(()),
            Err(error) => Err(LedgerError::counter(error)),
        }
    }
}

/// The path in an environment variable, if it is absolute.
fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// The file whose lock a ledger of this data holds.
fn lock_of(folder: &Path, data: &str) -> PathBuf {
    folder.join(format!("data-{}.lock", digest(data)))
}

/// The refusal of data that another process has open.
fn busy(data: &str, error: LedgerError) -> LedgerError {
    match error {
        LedgerError::Busy { path } => LedgerError::DataSetBusy {
            data: data.to_owned(),
            path,
        },
        other => other,
    }
}

/// Takes the lock at `path`.
fn hold(path: &Path) -> Result<File, LedgerError> {
    let held = open_regular(
        path,
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600),
    )
    .map_err(LedgerError::counter)?;
    lock(&held, path)?;
    Ok(held)
}

/// The data set, or the study, that a name means: names that differ only by a typing slip are the
/// same. Each is in lower case, with one blank between words; ς, which is σ at the end of a word,
/// is σ, as the lower case of Σ depends on what stands beside it.
pub(crate) fn meant(data: &str) -> String {
    data.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
        .replace('ς', "σ")
}

/// Whether two names are one data set to the second counts: they differ in nothing but case and
/// white space.
pub fn means_the_same(one: &str, other: &str) -> bool {
    meant(one) == meant(other)
}

/// A file name for what a name means.
pub(super) fn digest(data: &str) -> String {
    Sha256::digest(meant(data))
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What the counter keeps on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    sordino_counter: u16,
    ledger: String,
    data: String,
    path: String,
    charges: u64,
    line: String,
    /// That others hold charges for the same data set was accepted once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    another: bool,
}

fn read(path: &Path) -> Result<Option<Kept>, LedgerError> {
    let found = if_there(read_bounded(path, BYTES_MAX)).map_err(LedgerError::counter)?;
    let Some(bytes) = found else {
        return Ok(None);
    };
    let kept = serde_json::from_slice::<Kept>(&bytes)
        .ok()
        .filter(|kept| kept.sordino_counter == VERSION);
    kept.map(Some).ok_or_else(|| LedgerError::CounterDamaged {
        path: path.to_owned(),
    })
}

/// Ledgers with charges for this data that are counted in a folder, with their number of charges.
///
/// **Errors**: [`LedgerError::Counter`], [`LedgerError::CounterDamaged`].
pub(super) fn ledgers_of(folder: &Path, data: &str) -> Result<Vec<(PathBuf, u64)>, LedgerError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LedgerError::counter(io_at(folder)(error))),
    };
    let data = meant(data);
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(io_at(folder)).map_err(LedgerError::counter)?;
        let path = path.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let kept = read(&path)?.filter(|kept| meant(&kept.data) == data && kept.charges > 0);
        found.extend(kept.map(|kept| (PathBuf::from(kept.path), kept.charges)));
    }
    found.sort();
    Ok(found)
}

/// The second count of one ledger.
pub(super) struct Counter {
    path: PathBuf,
    data: String,
    another: bool,
    kept: Option<Kept>,
    /// Where its ledger is.
    ledger: PathBuf,
    _held: Vec<File>,
}

impl Counter {
    /// What is kept of one ledger; nothing is locked.
    pub fn read(
        folder: &Path,
        id: &str,
        ledger: &Path,
        data: &str,
        another: bool,
    ) -> Result<Counter, LedgerError> {
        let path = folder.join(format!("{id}.json"));
        let kept = read(&path)?.filter(|kept| kept.ledger == id);
        let another = another || kept.as_ref().is_some_and(|kept| kept.another);
        Ok(Counter {
            path,
            data: data.to_owned(),
            another,
            kept,
            ledger: ledger.to_owned(),
            _held: Vec::new(),
        })
    }

    /// What a person should know about a ledger that was begun before.
    pub fn notes(&self) -> Vec<String> {
        let Some(kept) = &self.kept else {
            return vec![
                "this ledger is seen for the first time here; an older copy cannot be noticed yet"
                    .into(),
            ];
        };
        let before = Path::new(&kept.path);
        if before == self.ledger {
            return Vec::new();
        }
        let before = before.display();
        vec![format!(
            "this ledger was last seen at {before}: of copies of one ledger go on with one alone"
        )]
    }

    /// Refuses if another ledger holds charges for the same data set, unless that was accepted
    /// before.
    ///
    /// **Errors**: [`LedgerError::OtherLedger`], [`LedgerError::Counter`],
    /// [`LedgerError::CounterDamaged`].
    pub fn refuse_others(&self) -> Result<(), LedgerError> {
        if self.another {
            return Ok(());
        }
        let data = meant(&self.data);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let entries = fs::read_dir(folder).map_err(io_at(folder));
        for entry in entries.map_err(LedgerError::counter)? {
            let entry = entry.map_err(io_at(folder));
            let path = entry.map_err(LedgerError::counter)?.path();
            if path == self.path || path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            if let Some(kept) =
                read(&path)?.filter(|kept| meant(&kept.data) == data && kept.charges > 0)
            {
                let charges = kept.charges;
                let ledger = PathBuf::from(kept.path);
                let gone = ledger == self.ledger;
                return Err(LedgerError::OtherLedger {
                    gone,
                    data: kept.data.into(),
                    other: None,
                    path: ledger,
                    charges,
                    counter: path.into(),
                });
            }
        }
        Ok(())
    }

    /// The refusal of a ledger that has fewer charges than were counted, or others.
    fn rolled_back(&self, kept: &Kept, log: &Log) -> LedgerError {
        LedgerError::RolledBack {
            path: log.path.clone(),
            found: log.entries.len() as u64,
            known: kept.charges,
            seen: PathBuf::from(&kept.path),
            counter: self.path.clone(),
        }
    }

    /// Compares the ledger with what is known about it. Returns the line that is known but missing
    /// there, at most one.
    ///
    /// **Errors**: [`LedgerError::RolledBack`] if it holds less, or other lines.
    pub fn compare(&self, log: &Log) -> Result<Option<&str>, LedgerError> {
        let Some(kept) = &self.kept else {
            return Ok(None);
        };
        let found = log.entries.len() as u64;
        if let Some(line) = log.lines.get(kept.charges as usize) {
            return if *line == kept.line {
                Ok(None)
            } else {
                Err(self.rolled_back(kept, log))
            };
        }
        if kept.charges != found + 1 {
            return Err(self.rolled_back(kept, log));
        }
        match unseal::<Entry>(log.chain, &kept.line) {
            Ok((entry, _)) if entry.sequence == found => Ok(Some(&kept.line)),
            _ => Err(self.rolled_back(kept, log)),
        }
    }

    /// Writes down durably that the ledger at `ledger` has this many charges, of which `line` is
    /// the last.
    pub fn write(
        &mut self,
        id: &str,
        ledger: &Path,
        charges: u64,
        line: &str,
    ) -> Result<(), LedgerError> {
        let kept = Kept {
            sordino_counter: VERSION,
            ledger: id.to_owned(),
            data: self.data.clone(),
            path: ledger.display().to_string(),
            charges,
            line: line.to_owned(),
            another: self.another,
        };
        if self.kept.as_ref() == Some(&kept) {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(&kept)
            .map_err(|error| LedgerError::counter(io_at(&self.path)(error.into())))?;
        write_privately(&self.path, &text).map_err(LedgerError::counter)?;
        self.kept = Some(kept);
        Ok(())
    }
}
