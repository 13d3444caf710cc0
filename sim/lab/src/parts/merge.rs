//! The whole, put together from all parts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sordino_engine::{self as model, Model, Options, Part, jobs};
use sordino_experiment::journal::{Journal, JournalError};
use sordino_experiment::progress::Progress;
use sordino_experiment::record::Record;
use sordino_experiment::text;
use sordino_report::folder::RunFolder;

use super::error::PartError;
use super::mark::{Kind, Mark};
use crate::execute::OpenRun;
use crate::sweep::index::VERSION;
use crate::sweep::{self, Plan, SweepFolder};
use crate::work::{Unit, Work};

/// The most missing parts that are named.
const NAMED_MAX: usize = 8;

/// All parts of one execution, each once, complete and in order.
#[derive(Debug)]
pub struct Whole {
    parts: Vec<(PathBuf, Mark)>,
}

impl Whole {
    /// Checks the folders given, in any order.
    ///
    /// **Errors**: the first folder that holds no part, a part of another version, of another
    /// execution or cut, or an incomplete one; a part that is given twice; missing parts.
    pub fn new(folders: &[PathBuf]) -> Result<Self, PartError> {
        let mut parts: Vec<(PathBuf, Mark)> = Vec::new();
        for path in folders {
            let cure = "name the folders that were given to --out with --part";
            let mark = Mark::read(path)?.ok_or_else(|| PartError::None {
                path: path.clone(),
                cure,
            })?;
            let part = mark.part();
            if mark.version != VERSION {
                let path = path.clone();
                let there = mark.version;
                return Err(PartError::Version {
                    path,
                    part,
                    there,
                    here: VERSION,
                });
            }
            if let Some((first, known)) = parts.first()
                && let Some(difference) = differs((first, known), (path, &mark))?
            {
                return Err(PartError::Foreign {
                    path: path.clone(),
                    part,
                    first: first.clone(),
                    difference,
                });
            }
            if let Some((first, _)) = parts.iter().find(|(_, known)| known.part == mark.part) {
                return Err(PartError::Twice {
                    part,
                    first: first.clone(),
                    second: path.clone(),
                });
            }
            if !mark.complete {
                return Err(PartError::Unfinished {
                    path: path.clone(),
                    part,
                });
            }
            parts.push((path.clone(), mark));
        }
        parts.sort_by_key(|(_, mark)| mark.part);
        let of = parts.first().map_or(0, |(_, mark)| mark.of);
        let given: BTreeSet<u32> = parts.iter().map(|(_, mark)| mark.part).collect();
        let missing: Vec<String> = (1..=of)
            .filter(|i| !given.contains(i))
            .map(|i| format!("{i}/{of}"))
            .collect();
        if !missing.is_empty() || parts.is_empty() {
            let more = if missing.len() > NAMED_MAX {
                ", …"
            } else {
                ""
            };
            let named = format!(
                "{}{more}",
                missing[..missing.len().min(NAMED_MAX)].join(", ")
            );
            return Err(PartError::Missing {
                count: missing.len(),
                of,
                named,
            });
        }
        Ok(Whole { parts })
    }

    /// The kind of execution that was cut into parts.
    pub fn kind(&self) -> Kind {
        self.parts[0].1.kind
    }

    /// The scenario of a run's parts.
    ///
    /// **Errors**: a scenario that cannot be read.
    pub fn model(&self) -> Result<Box<dyn Model>, PartError> {
        let first = &self.parts[0].0;
        let text = Journal::scenario(first)?;
        let source = Journal::scenario_file(first);
        model::parse(&source.display().to_string(), &text, &[])
            .map_err(|error| PartError::damaged(&source, error))
    }

    /// Puts the parts of a run together in a new folder, which is removed again if that fails.
    ///
    /// **Errors**: a part whose jobs do not match its number, a damaged file; the system's.
    pub fn run(
        &self,
        model: &dyn Model,
        out: &Path,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Record, PartError> {
        let unit = &Work::of_run(model).units[0];
        for (path, mark) in &self.parts {
            holds_its_jobs(path, path, mark.part(), model, unit)?;
        }
        let folder = RunFolder::create(out)?;
        let from: Vec<PathBuf> = self.parts.iter().map(|(path, _)| path.clone()).collect();
        Journal::gather(out, &from, options.data.as_deref())
            .map_err(PartError::from)
            .and_then(
                |journal| Ok(OpenRun::new(folder, journal).execute(model, options, progress)?),
            )
            .inspect_err(|_| drop(std::fs::remove_dir_all(out)))
    }

    /// What the parts of a sweep are parts of.
    ///
    /// **Errors**: a plan that cannot be read.
    pub fn plan(&self) -> Result<Plan, PartError> {
        Ok(SweepFolder::open(&self.parts[0].0)?.plan)
    }

    /// Puts the results of a sweep's parts into a new folder, whose runs then find every job done.
    ///
    /// **Errors**: as [`Whole::run`].
    pub fn sweep(
        &self,
        plan: Plan,
        out: &Path,
        data: Option<&Path>,
    ) -> Result<SweepFolder, PartError> {
        let work = Work::of_sweep(&plan)?;
        let folder = SweepFolder::begin(out, plan, false)?;
        self.gather(&folder, &work, data)
            .inspect_err(|_| drop(std::fs::remove_dir_all(out)))?;
        Ok(folder)
    }

    /// Puts the journals of every unit into its folder.
    fn gather(
        &self,
        folder: &SweepFolder,
        work: &Work,
        data: Option<&Path>,
    ) -> Result<(), PartError> {
        for (unit, point) in work.units.iter().zip(folder.plan.points()) {
            let model = folder.plan.load(&point)?;
            let mut from = Vec::new();
            for (path, mark) in &self.parts {
                let part = mark.part();
                if unit.own(Some(part)) > 0 {
                    let run = path.join("runs").join(&unit.folder);
                    holds_its_jobs(path, &run, part, &*model, unit)?;
                    from.push(run);
                }
            }
            let place = folder.run(&unit.folder);
            std::fs::create_dir_all(&place).map_err(|error| PartError::Io {
                path: place.clone(),
                error,
            })?;
            Journal::gather(&place, &from, data.filter(|_| model.reads().is_some()))?;
        }
        Ok(())
    }
}

/// The difference between the executions of two parts; `None` if both belong to the same one.
fn differs(first: (&Path, &Mark), other: (&Path, &Mark)) -> Result<Option<String>, PartError> {
    let (first, known) = first;
    let (path, mark) = other;
    if known.kind != mark.kind {
        return Ok(Some("one is of a run, the other of a sweep".into()));
    }
    if known.digest != mark.digest {
        let said = match known.kind {
            Kind::Run => text::difference(&Journal::scenario(first)?, &Journal::scenario(path)?),
            Kind::Sweep => {
                let there = SweepFolder::open(first)?.plan;
                let here = SweepFolder::open(path)?.plan;
                sweep::folder::difference(&there, &here)
            }
        };
        return Ok(Some(said.unwrap_or_else(|| "another execution".into())));
    }
    Ok((known.of != mark.of)
        .then(|| format!("it is cut into {} parts, not into {}", mark.of, known.of)))
}

/// Checks that a part holds the results of its jobs in one scenario, and no others.
fn holds_its_jobs(
    path: &Path,
    run: &Path,
    part: Part,
    model: &dyn Model,
    unit: &Unit,
) -> Result<(), PartError> {
    let own = jobs::names(model, unit.share(Some(part)));
    let own: BTreeSet<String> = own.into_iter().collect();
    let found: BTreeSet<String> = match Journal::look(run, &model.resolved()) {
        Err(JournalError::NothingToResume { .. }) => BTreeSet::new(),
        journal => journal?.finished_jobs()?.into_iter().collect(),
    };
    let lacks = own.difference(&found).next().map(|job| ("lacks", job));
    let foreign = found.difference(&own).next();
    let foreign = foreign.map(|job| ("holds another part's", job));
    match lacks.or(foreign) {
        None => Ok(()),
        Some((fault, job)) => Err(PartError::Jobs {
            path: path.to_owned(),
            part,
            fault,
            job: job.clone(),
        }),
    }
}
