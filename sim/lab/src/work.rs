//! The work of an execution: its units, each one scenario in a folder of its own, and their jobs.
//!
//! A run has one unit, a sweep one for each point. Jobs are counted through all units, and `--part`
//! takes some of them: a filter, not another kind of work.

use sordino_engine::{Model, Part, Share, jobs};

use crate::sweep::{GridError, Plan};

/// One scenario in a folder of its own.
#[derive(Clone, Debug)]
pub struct Unit {
    /// 0-based place in the sweep.
    pub number: usize,
    /// Name of its folder under `runs/`; empty for a run, which has the execution's own folder.
    pub folder: String,
    /// Number of its first job in the whole execution.
    pub first: u64,
    /// Number of its jobs.
    pub jobs: u64,
    /// Steps of progress in one job.
    pub steps: u64,
}

/// All units of an execution.
#[derive(Clone, Debug)]
pub struct Work {
    /// Name of the scenario.
    pub scenario: String,
    /// What steps of progress are, in the plural.
    pub counted_in: &'static str,
    /// Every unit, in order.
    pub units: Vec<Unit>,
    /// Why the jobs of some unit cannot be done by several processes.
    pub indivisible: Option<&'static str>,
}

impl Unit {
    fn new(number: usize, folder: String, first: u64, model: &dyn Model) -> Self {
        let jobs = jobs::names(model, None).len() as u64;
        Unit {
            number,
            folder,
            first,
            jobs,
            steps: model.steps().count / jobs.max(1),
        }
    }

    /// The jobs of `part` in it; `None` if the whole is done here.
    pub fn share(&self, part: Option<Part>) -> Option<Share> {
        part.map(|part| Share {
            part,
            first: self.first,
        })
    }

    /// How many of its jobs are done here.
    pub fn own(&self, part: Option<Part>) -> u64 {
        match self.share(part) {
            Some(share) => (0..self.jobs).filter(|job| share.takes(*job)).count() as u64,
            None => self.jobs,
        }
    }
}

impl Work {
    /// The work of a run.
    pub fn of_run(model: &dyn Model) -> Self {
        Work {
            scenario: model.head().name,
            counted_in: model.steps().unit,
            units: vec![Unit::new(0, String::new(), 0, model)],
            indivisible: model.indivisible(),
        }
    }

    /// The work of a sweep.
    ///
    /// **Errors**: a scenario that is refused.
    pub fn of_sweep(plan: &Plan) -> Result<Self, GridError> {
        let mut work = Work {
            scenario: String::new(),
            counted_in: "jobs",
            units: Vec::new(),
            indivisible: None,
        };
        let mut first = 0;
        let points = plan.points();
        for cell in points.chunks(plan.seeds.len().max(1)) {
            // The seed decides nothing of this.
            let model = plan.load(&cell[0])?;
            let head = Self::of_run(&*model);
            (work.scenario, work.counted_in) = (head.scenario, head.counted_in);
            work.indivisible = work.indivisible.or(head.indivisible);
            for point in cell {
                let unit = Unit::new(point.number, plan.folder(point), first, &*model);
                first += unit.jobs;
                work.units.push(unit);
            }
        }
        Ok(work)
    }

    /// The units that have jobs of the part.
    pub(crate) fn units_of(&self, part: Part) -> Vec<&Unit> {
        let units = self.units.iter();
        units.filter(|unit| unit.own(Some(part)) > 0).collect()
    }

    /// Jobs of the whole execution.
    pub fn jobs(&self) -> u64 {
        self.units.iter().map(|unit| unit.jobs).sum()
    }

    /// Steps of progress of what is done here.
    pub fn steps(&self, part: Option<Part>) -> u64 {
        let steps = self.units.iter().map(|unit| unit.own(part) * unit.steps);
        steps.sum()
    }
}
