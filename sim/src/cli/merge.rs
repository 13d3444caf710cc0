//! `sordino merge`: the whole from all parts.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sordino_engine::Options;
use sordino_experiment::progress::log::{self, Log};
use sordino_experiment::progress::writer::ProgressWriter;
use sordino_lab::driver::sweep::run;
use sordino_lab::parts::Kind;
use sordino_lab::parts::merge::Whole;
use sordino_lab::work::Work;

use super::sweep;
use sordino_experiment::command_line::Format;
use sordino_experiment::command_line::error::CliError;
use sordino_lab::command::data::check_data;
use sordino_lab::command::run::{check_chain, show};

/// `sordino merge`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example:\n  sordino run default --runs 30 --part 1/3 --out part-1    # 2/3 and 3/3 elsewhere\n  \
                        sordino merge part-1 part-2 part-3 --out whole\n  docs/clusters.md has templates for Slurm, Kubernetes, \
                        GNU parallel and ssh"
)]
pub struct Arguments {
    /// The folders of all parts of a run or of a sweep, in any order
    #[arg(value_name = "DIR", required = true)]
    parts: Vec<PathBuf>,
    /// Folder to write, which must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Data file of scenarios that read one, or folder of data files: compared with what the parts
    /// read; the parts of a sweep need it, those of a run do not
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Keep the digest after every round in transcript.jsonl, as `sordino run --chain` does
    #[arg(long)]
    chain: bool,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Progress on standard error, for people or as JSON lines
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

/// Checks all parts, and writes the folder of the undivided run or sweep.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    arguments.log.begin();
    let whole = Whole::new(&arguments.parts)?;
    if std::fs::symlink_metadata(&arguments.out).is_ok() {
        return Err(CliError::input(format!(
            "--out {}: exists already, and nothing is overwritten: name a new folder, or remove this one if a merge was ended \
             in it; the parts stay as they are",
            arguments.out.display()
        )));
    }
    match whole.kind() {
        Kind::Run => merge_run(arguments, &whole),
        Kind::Sweep => merge_sweep(arguments, &whole),
    }
}

fn merge_run(arguments: &Arguments, whole: &Whole) -> Result<(), CliError> {
    let model = whole.model()?;
    check_data([&*model], arguments.data.as_deref())?;
    let head = model.head();
    check_chain(arguments.chain, &head)?;
    let options = Options {
        data: arguments.data.clone(),
        chain: arguments.chain,
        ..Options::default()
    };
    let record = whole.run(&*model, &arguments.out, &options, &())?;
    show(&head, &record, arguments.format)?;
    log::done(Some(&arguments.out), Some(&record.summary.digest));
    Ok(())
}

fn merge_sweep(arguments: &Arguments, whole: &Whole) -> Result<(), CliError> {
    if arguments.chain {
        return Err(CliError::input(
            "--chain: a sweep leaves no transcript.jsonl; omit --chain",
        ));
    }
    let plan = whole.plan()?;
    let points = plan.points();
    let models = points.iter().map(|point| plan.load(point));
    let models = models
        .collect::<Result<Vec<_>, _>>()
        .map_err(CliError::input)?;
    check_data(
        models.iter().map(|model| &**model),
        arguments.data.as_deref(),
    )?;
    let reads = models.iter().find_map(|model| model.reads());
    if let (Some(file), None) = (reads, &arguments.data) {
        return Err(CliError::input(format!(
            "these parts read {file}; name it with --data PATH"
        )));
    }
    let folder = whole.sweep(plan, &arguments.out, arguments.data.as_deref())?;
    let index = folder.index()?;
    let work = Work::of_sweep(&folder.plan).map_err(CliError::input)?;
    let steps = work.steps(None);
    let mut writer = ProgressWriter::new("merge", &index.scenario, work.counted_in, steps);
    let options = Options {
        data: arguments.data.clone(),
        interval: Duration::MAX,
        ..Options::default()
    };
    let result = run(&folder, index, &work, &options, &writer);
    writer.finish();
    sweep::show(&folder, &result?, arguments.format)
}
