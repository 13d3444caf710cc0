//! `--part i/n` of `sordino run` and `sordino sweep`.

use std::path::Path;

use crate::parts::{Mark, PartError, many, single};
use crate::sweep::Plan;
use crate::sweep::run::Options as SweepOptions;
use sordino_engine::{Model, Options, Part};
use sordino_experiment::progress::log;
use sordino_experiment::progress::writer::ProgressWriter;

use super::interrupt;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};

/// One part of a run.
pub fn run(
    part: Part,
    path: &Path,
    resume: bool,
    model: &dyn Model,
    options: Options,
    format: Format,
) -> Result<(), CliError> {
    let Some(begun) = single::begin(path, resume, part, model, options.data.as_deref())? else {
        return complete(path, part);
    };
    let head = model.head();
    let told = model.jobs();
    let mark = &begun.mark;
    let total = told.count / mark.jobs_in_all * mark.jobs;
    let mut writer = ProgressWriter::new("run", &head.name, told.unit, total);
    let result = single::execute(begun, model, options, &writer);
    writer.finish();
    done(path, result, format)
}

/// One part of a sweep.
pub fn part_of_sweep(
    part: Part,
    path: &Path,
    resume: bool,
    plan: Plan,
    options: &SweepOptions,
    format: Format,
) -> Result<(), CliError> {
    let Some(begun) = many::begin(path, resume, part, plan)? else {
        return complete(path, part);
    };
    let layout = &begun.layout;
    let total = layout
        .pieces
        .iter()
        .map(|piece| piece.own * piece.steps)
        .sum();
    let mut writer = ProgressWriter::new("sweep", &layout.scenario, layout.unit, total);
    let points = layout.pieces.iter().filter(|piece| piece.own > 0).count();
    let all = layout.pieces.len();
    writer.note(&format!(
        "{}: part {part}, jobs in {points} of {all} runs",
        layout.scenario
    ));
    let result = many::execute(begun, options, &writer);
    writer.finish();
    done(path, result, format)
}

fn complete(path: &Path, part: Part) -> Result<(), CliError> {
    log::note(&format!(
        "{}: part {part} is complete already; nothing to resume",
        path.display()
    ));
    Ok(())
}

/// What a part came to.
fn done(path: &Path, result: Result<Mark, PartError>, format: Format) -> Result<(), CliError> {
    let mark = match result {
        Err(PartError::Interrupted) => return Err(interrupt::ended(interrupt::KEPT, path)),
        result => result?,
    };
    let part = mark.part();
    let scenario = &mark.scenario;
    let shown = path.display();
    match format {
        Format::Json => print_json(&mark)?,
        Format::Text => print(&format!(
            "{scenario}: part {part} is done, {} of {} jobs, in {shown}; with all parts: sordino merge DIR… --out WHOLE\n",
            mark.jobs, mark.jobs_in_all
        ))?,
    }
    log::done(Some(path), None);
    Ok(())
}
