//! A part of a sweep: some of the jobs of each of its points.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use sordino_engine::{self as model, Model, ModelError, Part, Share};
use sordino_experiment::files::FolderLock;
use sordino_experiment::journal::Journal;
use sordino_experiment::pool::pool;
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_experiment::text::first_three;

use super::error::PartError;
use super::mark::{self, Mark};
use crate::execute::{self, Place};
use crate::sweep::run::{Ended, Options, caught, failed, spread};
use crate::sweep::{Plan, SweepError, SweepFolder};

/// One point of a sweep, as a part sees it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// 0-based place in the sweep.
    pub number: usize,
    /// Name of its folder under `runs/`.
    pub folder: String,
    /// The part's jobs in it.
    pub share: Share,
    /// Number of the part's jobs in it.
    pub own: u64,
    /// Number of all jobs of the point.
    pub jobs: u64,
    /// Steps of progress in one job.
    pub steps: u64,
}

/// A sweep in pieces.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Name of the scenario.
    pub scenario: String,
    /// Unit of the steps of progress, in the plural.
    pub unit: &'static str,
    /// Every point, including those without a job of the part.
    pub pieces: Vec<Piece>,
}

impl Layout {
    /// Counts the jobs of all points.
    ///
    /// **Errors**: a scenario that is refused or cannot be cut.
    pub fn new(plan: &Plan, part: Part) -> Result<Self, PartError> {
        let mut layout = Layout {
            scenario: String::new(),
            unit: "jobs",
            pieces: Vec::new(),
        };
        let mut first = 0;
        let points = plan.points();
        for cell in points.chunks(plan.seeds.len().max(1)) {
            // The seed decides nothing of this.
            let model = plan.load(&cell[0])?;
            mark::divisible(&*model)?;
            let head = model.head();
            let told = model.jobs();
            (layout.scenario, layout.unit) = (head.name, told.unit);
            let jobs = u64::from(head.runs) * model.work().len() as u64;
            for point in cell {
                let share = Share { part, first };
                let own = (0..jobs).filter(|job| share.takes(*job)).count() as u64;
                let steps = told.count / jobs.max(1);
                layout.pieces.push(Piece {
                    number: point.number,
                    folder: plan.folder(point),
                    share,
                    own,
                    jobs,
                    steps,
                });
                first += jobs;
            }
        }
        Ok(layout)
    }

    /// Jobs of the whole sweep.
    pub fn jobs(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.jobs).sum()
    }
}

/// A part of a sweep in its folder, which is locked as long as this value lives.
#[derive(Debug)]
pub struct Begun {
    folder: SweepFolder,
    /// Which part of which execution it is.
    pub mark: Mark,
    /// The points of the sweep.
    pub layout: Layout,
}

/// Begins in a new folder, or goes on in one (`resume`); `None` if the part there is complete.
///
/// **Errors**: [`PartError`]: a folder that is taken, holds another part or something else.
pub fn begin(
    path: &Path,
    resume: bool,
    part: Part,
    plan: Plan,
) -> Result<Option<Begun>, PartError> {
    let layout = Layout::new(&plan, part)?;
    let mark = Mark::of_sweep(part, &plan, layout.scenario.clone(), layout.jobs())?;
    if path.exists() && !resume {
        return Err(SweepError::Exists(path.to_owned()).into());
    }
    std::fs::create_dir_all(path).map_err(|error| PartError::Io {
        path: path.to_owned(),
        error,
    })?;
    let lock = FolderLock::take(path).map_err(SweepError::from)?;
    // Before the sweep's own files: a folder that has them and no mark is a whole sweep's.
    let complete = mark.claim(path)?;
    let folder = SweepFolder::go_on(path, plan, lock)?;
    Ok((!complete).then_some(Begun {
        folder,
        mark,
        layout,
    }))
}

/// Does the jobs of the part that are not done yet, all points on all cores, and marks the part
/// complete. A point that fails is reported, and the others go on.
///
/// **Errors**: [`PartError::Failed`] with the points that failed; [`PartError::Interrupted`].
pub fn execute(
    begun: Begun,
    options: &Options,
    writer: &ProgressWriter,
) -> Result<Mark, PartError> {
    let plan = &begun.folder.plan;
    let points = begun.folder.plan.points();
    let pool = pool(options.threads).map_err(SweepError::Threads)?;
    let jobs: Vec<usize> = begun
        .layout
        .pieces
        .iter()
        .filter(|piece| piece.own > 0)
        .map(|piece| piece.number)
        .collect();
    let failures: Mutex<Vec<String>> = Mutex::default();
    let work = |number: usize| -> Result<(), SweepError> {
        let piece = &begun.layout.pieces[number];
        let ended = caught(|| {
            let model = plan.load(&points[number]).map_err(failed)?;
            let how = options.of_run(&pool, Some(piece.share));
            let path = begun.folder.run(&piece.folder);
            let Place::Open(folder, journal) = options.place(&path, &*model)? else {
                let message = format!("{}: holds a whole run, not a part of one", path.display());
                return Err(failed(message));
            };
            let ended = one(&*model, piece, &journal, how, writer);
            drop(folder);
            ended
        });
        if let Err(Ended::Failed(error)) = ended {
            let said = format!("{}: {error}", piece.folder);
            writer.note(&said);
            failures
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(said);
        }
        Ok(())
    };
    spread(pool.current_num_threads(), &jobs, &options.stop, work)?;
    let failures = failures
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if !failures.is_empty() {
        let said: Vec<&str> = failures.iter().map(String::as_str).collect();
        let named = first_three(&said, "; ");
        return Err(PartError::Failed {
            failed: failures.len(),
            of: jobs.len(),
            named,
        });
    }
    if options.stop.load(Ordering::Relaxed) {
        return Err(PartError::Interrupted);
    }
    begun.mark.complete(begun.folder.path())
}

/// Does the part's jobs in one point.
fn one(
    model: &dyn Model,
    piece: &Piece,
    journal: &Arc<Journal>,
    options: model::Options,
    writer: &ProgressWriter,
) -> Result<(), Ended> {
    let done = journal.finished_parts().map_err(failed)?;
    if mark::own(model, piece.share)
        .iter()
        .all(|name| done.contains(name))
    {
        writer.found(piece.own * piece.steps);
        return Ok(());
    }
    let told = writer.of_folder(&piece.folder);
    execute::share(model, journal, options, &told).map_err(|error| match error {
        ModelError::Interrupted => Ended::Interrupted,
        error => failed(error),
    })
}
