//! `part.json`: which part of which execution a folder holds, and whether it is complete.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sordino_core::digest::{Digest, Frame};
use sordino_engine::{Model, Part};
use sordino_experiment::files::{LOCK, read_to_string_bounded, write_atomically};
use sordino_experiment::journal::PART;

use super::error::PartError;
use crate::sweep::Plan;
use crate::sweep::index::VERSION;
use crate::work::Work;

/// Version of the format of [`Mark`].
const FORMAT: u32 = 1;
/// A longer `part.json` is not read.
const BYTES_MAX: u64 = 1 << 16;

/// What is cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One scenario: its runs and methods.
    Run,
    /// Many scenarios: their points, runs and methods.
    Sweep,
}

/// Content of `part.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Version of this format.
    pub format: u32,
    /// Version of the program that executes the part.
    pub version: String,
    /// What is cut into parts.
    pub kind: Kind,
    /// Name of the scenario.
    pub scenario: String,
    /// Digest of what is executed: the scenario with every key written out, or the sweep.
    pub digest: String,
    /// Number i of the part, from 1 on.
    pub part: u32,
    /// n, the number of all parts.
    pub of: u32,
    /// Jobs of this part: methods of runs.
    pub jobs: u64,
    /// Jobs of the whole execution.
    pub jobs_in_all: u64,
    /// Whether all jobs of this part are done.
    pub complete: bool,
}

/// Digest of the texts that define an execution.
fn digest(texts: &[&str]) -> String {
    let mut frame = Frame::leaf();
    texts.iter().for_each(|text| frame.bytes(text.as_bytes()));
    let digest: Digest = frame.end();
    digest.to_string()
}

impl Mark {
    /// The mark for a part of a run.
    ///
    /// **Errors**: [`PartError::Nothing`], [`PartError::Indivisible`].
    pub fn of_run(part: Part, model: &dyn Model, work: &Work) -> Result<Self, PartError> {
        Self::new(part, Kind::Run, work, digest(&[&model.resolved()]))
    }

    /// The mark for a part of a sweep.
    ///
    /// **Errors**: [`PartError::Nothing`], [`PartError::Indivisible`].
    pub fn of_sweep(part: Part, plan: &Plan, work: &Work) -> Result<Self, PartError> {
        let axes = plan
            .axes
            .iter()
            .map(|axis| format!("{} = {:?}", axis.key, axis.values))
            .collect::<Vec<_>>();
        let texts = [
            plan.scenario.clone(),
            axes.join("\n"),
            format!("{:?}", plan.seeds),
        ];
        let digest = digest(&texts.each_ref().map(String::as_str));
        Self::new(part, Kind::Sweep, work, digest)
    }

    fn new(part: Part, kind: Kind, work: &Work, digest: String) -> Result<Self, PartError> {
        if let Some(why) = work.indivisible {
            let scenario = work.scenario.clone();
            return Err(PartError::Indivisible { scenario, why });
        }
        let all = work.jobs();
        let own = work.units.iter().map(|unit| unit.own(Some(part))).sum();
        if own == 0 {
            return Err(PartError::Nothing { part, jobs: all });
        }
        Ok(Mark {
            format: FORMAT,
            version: VERSION.to_owned(),
            kind,
            scenario: work.scenario.clone(),
            digest,
            part: part.number(),
            of: part.of(),
            jobs: own,
            jobs_in_all: all,
            complete: false,
        })
    }

    /// The part of a folder, if it holds one.
    ///
    /// **Errors**: [`PartError::Damaged`]; the system's.
    pub fn read(folder: &Path) -> Result<Option<Self>, PartError> {
        let path = folder.join(PART);
        let text = match read_to_string_bounded(&path, BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| PartError::Io {
                path: path.clone(),
                error,
            })?,
        };
        let mark: Mark =
            serde_json::from_str(&text).map_err(|error| PartError::damaged(&path, error))?;
        if mark.format != FORMAT {
            let format = mark.format;
            let what = format!("format {format} is unknown; this program reads format {FORMAT}");
            return Err(PartError::damaged(&path, what));
        }
        match Part::new(mark.part, mark.of) {
            Ok(_) => Ok(Some(mark)),
            Err(error) => Err(PartError::damaged(&path, error)),
        }
    }

    /// The part that the mark names.
    ///
    /// **Panics**: never for what [`Mark::read`] or a constructor gave.
    pub fn part(&self) -> Part {
        Part::new(self.part, self.of).expect("checked where it was made")
    }

    /// Claims a folder for this part, or goes on in it; `true` if the part there is complete. The
    /// caller holds the folder's lock.
    ///
    /// **Errors**: [`PartError::Holds`] another part; [`PartError::Foreign`];
    /// [`PartError::Version`]; anything else that lies there.
    pub fn claim(&self, folder: &Path) -> Result<bool, PartError> {
        let Some(there) = Self::read(folder)? else {
            let mut names = std::fs::read_dir(folder).into_iter().flatten().flatten();
            if names.any(|entry| entry.file_name() != LOCK) {
                let cure = "name a new folder";
                return Err(PartError::None {
                    path: folder.to_owned(),
                    cure,
                });
            }
            return self.write(folder).map(|()| false);
        };
        let path = folder.to_owned();
        let part = there.part();
        if there.version != self.version {
            return Err(PartError::Version {
                path,
                part,
                there: there.version,
                here: VERSION,
            });
        }
        if (there.part, there.of) != (self.part, self.of) {
            return Err(PartError::Holds { path, there: part });
        }
        if (&there.digest, there.kind) != (&self.digest, self.kind) {
            let difference = "another scenario, other settings or other seeds".to_owned();
            return Err(PartError::Foreign {
                first: path.clone(),
                path,
                part,
                difference,
            });
        }
        Ok(there.complete)
    }

    /// Takes the mark away from a folder in which nothing was done.
    pub fn give_up(&self, folder: &Path) {
        let _ = std::fs::remove_file(folder.join(PART));
    }

    /// Writes down that all jobs of the part are done.
    ///
    /// **Errors**: the system's.
    pub fn complete(self, folder: &Path) -> Result<Self, PartError> {
        let mark = Mark {
            complete: true,
            ..self
        };
        mark.write(folder).map(|()| mark)
    }

    fn write(&self, folder: &Path) -> Result<(), PartError> {
        let path = folder.join(PART);
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other);
        text.and_then(|text| write_atomically(&path, (text + "\n").as_bytes()))
            .map_err(|error| PartError::Io { path, error })
    }
}

/// Refuses to treat the folder of a part as the folder of a whole execution.
///
/// **Errors**: [`PartError::Holds`]; a `part.json` that cannot be read.
pub fn refuse_part(folder: &Path) -> Result<(), PartError> {
    match Mark::read(folder)? {
        Some(mark) => Err(PartError::Holds {
            path: folder.to_owned(),
            there: mark.part(),
        }),
        None => Ok(()),
    }
}
