//! `sordino tune`: tunes the user's own training command and publishes one private result.
//!
//! | module | what it holds |
//! |---|---|
//! | `arguments` | what is asked |
//! | `told` | what is told: before, and at the end |
//! | [`sordino_host::tune`] | candidates, commands, scores, signals |
//! | [`sordino_host::ledger`] | the ledger on disk |
//!
//! Standard output carries the release and nothing else; progress on standard error shows counts:
//! neither scores nor, as long as `--show-errors` is not given, which candidate failed and how. The
//! guarantee is that of [`sordino_core::output::worst_case`], and its table says what it rests on.

use std::time::Duration;

use sordino_core::output::publisher::{PublisherInput, PublisherOutput, Score};
use sordino_core::output::{Publisher, PublisherState};
use sordino_core::privacy::{Event, Ledger as _, NoiseSource};
use sordino_host::day::Day;
use sordino_host::entropy;
use sordino_host::files::{folder_of, read_text};
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::space::{BYTES_MAX, Goal};
use sordino_host::tune::command::Failure;
use sordino_host::tune::score::Value;
use sordino_host::tune::space::{CandidateList, EXAMPLE};
use sordino_host::tune::stop::Stop;
use sordino_host::tune::{Outcome, Plan};

use sordino_experiment::command_line::error::CliError;
use sordino_experiment::progress::log;

mod arguments;
mod told;

pub use arguments::Arguments;
pub use told::PRECONDITION;
use told::{Release, announce, publish};

/// The δ that all releases of a data set may spend: 1e-300 each, and only beyond about 1024/ε
/// records.
const DELTA_MAX: f64 = 1e-290;

/// The end of the long help: the precondition, and a space file.
pub fn long_help() -> String {
    format!(
        "{PRECONDITION}\n\nA failed candidate (crash, time limit, no number, too few decimals) releases nothing at all; \
         that this happened is visible and not accounted.\n\nA space file:\n\n{EXAMPLE}"
    )
}

/// Evaluates all candidates, charges, releases.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let stop =
        Stop::on_signals().map_err(|error| CliError::failure(format!("signals: {error}")))?;
    let text = read_text(&arguments.space, BYTES_MAX).map_err(CliError::input)?;
    let space = CandidateList::parse(&arguments.space.display().to_string(), &text)
        .map_err(CliError::input)?;
    let arguments = &directed(arguments, &space)?;
    let count = space.count() as u32;
    let reading = arguments.reading()?;
    let mechanism = arguments.mechanism(count)?;
    check_out(arguments)?;
    let mut ledger = open(arguments, &mechanism.events())?;
    announce(arguments, &mechanism, reading, count);
    // The generator exists before anything is run: a system without entropy is found out now.
    let mut source = entropy::system().map_err(CliError::failure)?;
    let plan = Plan {
        space: &space,
        command: &arguments.command,
        reading,
        time_max: Duration::from_secs_f64(arguments.timeout),
        show_errors: arguments.show_errors,
        jobs: arguments.jobs.into(),
    };
    let outcomes = plan.evaluate(&stop, &|done, failure| {
        // Which one failed and how may depend on a record: by default the line is that of a
        // success.
        progress(done, count, failure.filter(|_| arguments.show_errors));
    });
    let outcomes = outcomes.map_err(|_| {
        CliError::interrupted(
            "interrupted: every command was ended, nothing was charged and nothing is released; run the same command \
             again to begin again",
            stop.exit_code(),
        )
    })?;
    let mut state = PublisherState::new();
    let mut levels = vec![0; count as usize];
    let mut order = vec![0; count as usize];
    let mut publisher = Publisher::attach(&mechanism, &mut state, &mut levels, &mut order)
        .map_err(CliError::failure)?;
    for (candidate, outcome) in (0..).zip(&outcomes) {
        let score = score(arguments, outcome);
        publisher
            .handle(PublisherInput::Scored { candidate, score }, &mut source)
            .map_err(CliError::failure)?;
    }
    match release(&mut publisher, &mut ledger, &mut source)? {
        PublisherOutput::Released { candidate, score } => {
            let kind = score.kind();
            let candidate = *candidate.value();
            let score = *score.value();
            let score = match (arguments.minimize, arguments.score) {
                (false, _) => score,
                (true, arguments::ScoreForm::Number) => -score,
                (true, arguments::ScoreForm::Fraction) => 1.0 - score,
            };
            let release = Release {
                parameters: space.json(candidate as usize),
                score,
                kind: kind.to_string(),
            };
            publish(
                arguments,
                &mechanism,
                &mechanism.events(),
                &ledger,
                &release,
            )
        }
        other => Err(CliError::failure(format!("nothing is released: {other:?}"))),
    }
}

/// Says how many candidates are evaluated, and how the last one failed.
fn progress(done: usize, count: u32, failure: Option<&Failure>) {
    let how = failure.map(|failure| format!("; this one {failure}"));
    log::say(&format!(
        "{done} of {count} candidates evaluated{}",
        how.unwrap_or_default()
    ));
}

/// The arguments with the goal of the space file, which may say it in the place of `--minimize`.
///
/// **Errors**: both say something, and it is not the same.
fn directed(arguments: &Arguments, space: &CandidateList) -> Result<Arguments, CliError> {
    if arguments.minimize && space.goal == Some(Goal::Maximize) {
        let path = arguments.space.display();
        return Err(CliError::input(format!(
            "--minimize, but {path} says goal = \"maximize\"; nothing was run"
        )));
    }
    if let Some(value) = &space.value {
        log::say(&format!("the score: {value}"));
    }
    Ok(Arguments {
        minimize: arguments.minimize || space.goal == Some(Goal::Minimize),
        ..arguments.clone()
    })
}

/// Closes, charges, and only then draws.
fn release<S: NoiseSource>(
    publisher: &mut Publisher<'_>,
    ledger: &mut Ledger,
    source: &mut S,
) -> Result<PublisherOutput<S::Provenance>, CliError> {
    let receipt = match publisher
        .handle(PublisherInput::Close, source)
        .map_err(CliError::failure)?
    {
        PublisherOutput::Charge(charge) => ledger
            .append(charge)
            .map_err(|error| CliError::failure(format!("{error}; nothing is released")))?,
        _ => {
            return Err(CliError::failure(
                "a candidate failed: by the public rule nothing is released and nothing was charged; --show-errors says \
                 which one and how",
            ));
        }
    };
    publisher
        .handle(PublisherInput::Charged(receipt), source)
        .map_err(CliError::failure)
}

/// A result file is new: an earlier release was paid for.
fn check_out(arguments: &Arguments) -> Result<(), CliError> {
    let Some(path) = &arguments.out else {
        return Ok(());
    };
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(CliError::input(format!(
            "{}: exists already; nothing was run",
            path.display()
        )));
    }
    if path.file_name().is_none() || !folder_of(path).is_dir() {
        return Err(CliError::input(format!(
            "{}: not a file in a folder that exists; nothing was run",
            path.display()
        )));
    }
    Ok(())
}

/// The ledger of the data set, in which there is room for these events.
fn open(arguments: &Arguments, events: &[Event]) -> Result<Ledger, CliError> {
    let terms = Terms {
        data: arguments.dataset.clone(),
        unit: "scored record".into(),
        records: arguments.records.map(u64::from),
        accounting: Accounting::Sum,
        epsilon_max: arguments.max_epsilon,
        delta: DELTA_MAX,
    };
    let nothing = "nothing was run";
    let ledger = &arguments.ledger;
    let seen = ledger.preview(&terms, events, events, nothing)?;
    let ledger = ledger.open(&seen, &terms, events, events, nothing)?;
    Ok(ledger.on(Day::today()))
}

fn score(arguments: &Arguments, outcome: &Outcome) -> Score {
    match outcome {
        Ok(Value::Number(number)) => {
            Score::Number(if arguments.minimize { -number } else { *number })
        }
        Ok(Value::Count(count)) => {
            let against = arguments.records.unwrap_or(0).saturating_sub(*count);
            Score::Sum(u64::from(if arguments.minimize { against } else { *count }))
        }
        Err(_) => Score::Failed,
    }
}
