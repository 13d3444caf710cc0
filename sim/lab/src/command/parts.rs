//! `--part i/n` of `sordino run` and `sordino sweep`.

use std::path::Path;

use crate::driver::part::Begun;
use crate::parts::{Kind, Mark, PartError};
use sordino_engine::{Options, Part};
use sordino_experiment::progress::log;
use sordino_experiment::progress::writer::ProgressWriter;

use super::interrupt;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};

/// A part of a run or a sweep, of which `begun` is `None` if it is complete; `command` is what
/// the user said.
pub fn run(
    command: &str,
    part: Part,
    path: &Path,
    begun: Option<Begun<'_>>,
    options: &Options,
    format: Format,
) -> Result<(), CliError> {
    let Some(begun) = begun else {
        return complete(path, part);
    };
    let work = &begun.work;
    let scenario = &work.scenario;
    let steps = work.steps(Some(part));
    let mut writer = ProgressWriter::new(command, scenario, work.counted_in, steps);
    if begun.mark.kind == Kind::Sweep {
        let all = work.units.len();
        let own = work.units_of(part).len();
        writer.note(&format!(
            "{scenario}: part {part}, jobs in {own} of {all} runs"
        ));
    }
    let result = begun.execute(options, &writer);
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
