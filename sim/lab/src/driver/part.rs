//! A part of an execution: some of the jobs of a run, or of every unit of a sweep.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use sordino_engine::{Model, ModelError, Options, Part};
use sordino_experiment::journal::{self, JournalError};
use sordino_experiment::progress::Progress;
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::text::first_three;
use sordino_report::folder::RunFolder;

use super::{Ended, Execution, drive};
use crate::execute::{self, ExecuteError, OpenRun, Place};
use crate::parts::{Mark, PartError};
use crate::sweep::{Plan, SweepError, SweepFolder};
use crate::work::{Unit, Work};

/// A part in its folder, which is locked as long as this value lives.
#[derive(Debug)]
pub struct Begun<'m> {
    /// Which part of which execution it is.
    pub mark: Mark,
    /// The work of the whole execution.
    pub work: Work,
    place: PartPlace<'m>,
}

/// The folder of a part.
#[derive(Debug)]
enum PartPlace<'m> {
    Run(&'m dyn Model, OpenRun),
    Sweep(SweepFolder),
}

/// Begins a part of a run in a new folder, or goes on in one (`resume`); `None` if the part there
/// is complete.
///
/// **Errors**: [`PartError`]: a folder that is taken, holds another part or something else.
pub fn begin_run<'m>(
    path: &Path,
    resume: bool,
    part: Part,
    model: &'m dyn Model,
    data: Option<&Path>,
) -> Result<Option<Begun<'m>>, PartError> {
    let work = Work::of_run(model);
    let mark = Mark::of_run(part, model, &work)?;
    // Before a folder is made and marked: data that cannot be read are refused.
    journal::head(&model.resolved(), data)?;
    let folder = if resume {
        RunFolder::open(path)?
    } else {
        RunFolder::create(path)?
    };
    if mark.claim(path)? {
        return Ok(None);
    }
    match execute::begin_in(folder, model, data)? {
        Place::Open(open) => Ok(Some(Begun {
            mark,
            work,
            place: PartPlace::Run(model, open),
        })),
        // Somebody made a whole of the part's folder.
        Place::Complete => Err(JournalError::NothingToResume {
            path: path.to_owned(),
        }
        .into()),
    }
}

/// Begins a part of a sweep in a new folder, or goes on in one (`resume`); `None` if the part there
/// is complete.
///
/// **Errors**: as [`begin_run`].
pub fn begin_sweep(
    path: &Path,
    resume: bool,
    part: Part,
    plan: Plan,
) -> Result<Option<Begun<'static>>, PartError> {
    let work = Work::of_sweep(&plan)?;
    let mark = Mark::of_sweep(part, &plan, &work)?;
    let lock = SweepFolder::take(path, resume)?;
    // Before the sweep's own files: a folder that has them and no mark is a whole sweep's.
    let complete = mark.claim(path)?;
    let place = PartPlace::Sweep(SweepFolder::go_on(path, plan, lock)?);
    Ok((!complete).then_some(Begun { mark, work, place }))
}

impl Begun<'_> {
    /// Does the jobs of the part that are not done yet, all units on all cores, and marks the part
    /// complete. A unit of a sweep that fails is reported, and the others go on.
    ///
    /// **Errors**: [`PartError::Failed`] with the units that failed; [`PartError::Interrupted`],
    /// after which journals hold the finished jobs; those of a run's model.
    pub fn execute(self, options: &Options, writer: &ProgressWriter) -> Result<Mark, PartError> {
        let Begun { mark, work, place } = self;
        let part = mark.part();
        match place {
            PartPlace::Run(model, open) => {
                let unit = &work.units[0];
                let options = Options {
                    share: unit.share(Some(part)),
                    ..options.clone()
                };
                if let Err(error) = share(&open, unit, model, &options, writer) {
                    let is_empty = !matches!(error, ExecuteError::Model(ModelError::Interrupted))
                        && open.drop_empty_journal();
                    if is_empty {
                        // It could not begin, for want of its data say, and may be begun again.
                        mark.give_up(open.path());
                        open.discard_if_empty();
                    }
                    return Err(error.into());
                }
                mark.complete(open.path())
            }
            PartPlace::Sweep(folder) => {
                let own = work.units_of(part);
                let shares = Shares {
                    part,
                    writer,
                    failures: Mutex::default(),
                };
                drive(&folder, &own, &shares, options, writer)?;
                shares.none_failed(own.len())?;
                if options.stop.load(Ordering::Relaxed) {
                    return Err(PartError::Interrupted);
                }
                mark.complete(folder.path())
            }
        }
    }
}

/// Does what is left of a share.
fn share(
    open: &OpenRun,
    unit: &Unit,
    model: &dyn Model,
    options: &Options,
    told: &dyn Progress,
) -> Result<(), ExecuteError> {
    if open.is_done(model, options.share)? {
        let part = options.share.map(|share| share.part);
        told.found(unit.own(part) * unit.steps);
        return Ok(());
    }
    Ok(open.share(model, options, told)?)
}

/// The jobs of a part in the units of a sweep; keeps why units failed, and says it at once.
struct Shares<'w> {
    part: Part,
    writer: &'w ProgressWriter,
    failures: Mutex<Vec<String>>,
}

impl Execution for Shares<'_> {
    type Done = ();

    fn part(&self) -> Option<Part> {
        Some(self.part)
    }

    fn execute(
        &self,
        unit: &Unit,
        model: &dyn Model,
        place: Place,
        options: &Options,
        told: &dyn Progress,
    ) -> Result<(), Ended> {
        match place {
            Place::Open(open) => Ok(share(&open, unit, model, options, told)?),
            Place::Complete => Err(Ended::failed("holds a whole run, not a part of one")),
        }
    }

    fn ends(&self, unit: &Unit, ended: Result<(), Ended>) -> Result<(), SweepError> {
        if let Err(Ended::Failed(error)) = ended {
            let said = format!("{}: {error}", unit.folder);
            self.writer.note(&said);
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            failures.push(said);
        }
        Ok(())
    }
}

impl Shares<'_> {
    /// **Errors**: [`PartError::Failed`] if any unit failed.
    fn none_failed(self, of: usize) -> Result<(), PartError> {
        let failures = self
            .failures
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if failures.is_empty() {
            return Ok(());
        }
        let named: Vec<&str> = failures.iter().map(String::as_str).collect();
        Err(PartError::Failed {
            failed: failures.len(),
            of,
            named: first_three(&named, "; "),
        })
    }
}
