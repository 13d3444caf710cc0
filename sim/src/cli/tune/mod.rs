//! `sordino tune`: tunes the user's own training command and publishes one private result.
//!
//! | module | what it holds |
//! |---|---|
//! | [`space`] | the public list of candidates |
//! | [`command`] | one run of the command: a score, or what went wrong |
//! | [`charges`] | the ledger on disk |
//!
//! Standard output carries the release and nothing else; progress on standard error shows counts: neither scores nor, as
//! long as `--show-errors` is not given, which candidate failed and how. The guarantee is that of
//! [`sordino_core::output::worst_case`], and its table says what it rests on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use clap::{Args, ValueEnum};
use sordino_core::output::worst_case::{PublisherInput, PublisherOutput, Score};
use sordino_core::output::{FailureRule, Publisher, PublisherState, ScoreScale, WorstCase};
use sordino_core::privacy::{Epsilon, Event, Secret};

use super::error::CliError;
use super::{Format, print, print_json};
use crate::report::significant;

pub mod charges;
pub mod command;
pub mod space;

use charges::Ledger;
use space::Space;

/// Space files are read up to this length.
const BYTES_MAX: u64 = 1 << 20;
/// Probability with which the stated distance to the best candidate may be exceeded.
const GAP_FAILURE: f64 = 0.05;

/// `sordino tune`.
///
/// Every candidate of a public list is evaluated; one is chosen and its score published, with differential privacy for
/// one record of the data that the score is computed on. The training data must be public or disjoint from those records.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Training command, run by `sh -c`; reads parameters as JSON on standard input and as `SORDINO_<NAME>`, prints the
    /// score on the last line
    #[arg(long, value_name = "COMMAND")]
    command: String,
    /// TOML file with the parameters and their ranges
    #[arg(long, value_name = "FILE")]
    space: PathBuf,
    /// Privacy loss of the whole release
    #[arg(long, value_name = "E", value_parser = epsilon)]
    epsilon: f64,
    /// Share of epsilon spent on the score, the rest on which candidate
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    value_share: f64,
    /// Range of the score, as G for 0 to G or LOW,HIGH; scores outside are clamped
    #[arg(long, value_name = "G|LOW,HIGH", default_value = "1", value_parser = range, allow_hyphen_values = true)]
    score_range: (f64, f64),
    /// YOUR PROMISE, which nothing here can check: the score *as printed, rounding included* is a mean over this many
    /// records, each clamped to the range, so that one record moves it by at most (range)/(records): print all digits,
    /// because a rounded score may jump by its last decimal. Without it one record may move the score through the
    /// whole range
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    records: Option<u32>,
    /// Lower scores are better
    #[arg(long)]
    minimize: bool,
    /// Seconds after which a run is killed
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    timeout: f64,
    /// What a failed candidate means; `lowest` (counts as the worst score) only without --records
    #[arg(long, value_enum, default_value_t)]
    on_failure: OnFailure,
    /// File in which every charge is written, durably, before anything is released
    #[arg(long, value_name = "FILE", default_value = "sordino-ledger.jsonl")]
    ledger: PathBuf,
    /// Refuse if the ledger would exceed this
    #[arg(long, value_name = "E", value_parser = epsilon)]
    max_epsilon: Option<f64>,
    /// Let the command's standard error through and say which candidate failed and how. Both are facts about the data
    /// that nothing accounts for (scores, exit codes the data may choose): for your eyes, not for publication
    #[arg(long)]
    show_errors: bool,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OnFailure {
    /// Release nothing. That it was aborted is visible and not accounted
    #[default]
    Abort,
    /// Count it as the worst score; accounted exactly
    Lowest,
}

fn epsilon(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if (1e-5..=256.0).contains(&x) => Ok(x),
        _ => Err("admissible: a number from 1e-5 to 256".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if (0.01..=0.99).contains(&x) => Ok(x),
        _ => Err("admissible: a number from 0.01 to 0.99".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if (0.01..=1e7).contains(&x) => Ok(x),
        _ => Err("admissible: a number of seconds from 0.01 to 1e7".into()),
    }
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.abs() <= 1e12);
    let pair = match text.split_once(',') {
        Some((low, high)) => number(low).zip(number(high)),
        None => number(text).map(|high| (0.0, high)),
    };
    pair.filter(|(low, high)| low < high).ok_or_else(|| "admissible: G > 0, or LOW,HIGH with LOW < HIGH".into())
}

/// Evaluates all candidates, charges, releases.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let space = read_space(&arguments.space)?;
    let count = space.count() as u32;
    let mechanism = mechanism(arguments, count)?;
    let mut ledger = Ledger::open(&arguments.ledger).map_err(CliError::input)?;
    let events = mechanism.events();
    let cost: f64 = events.iter().filter_map(charges::loss).sum();
    if let Some(max) = arguments.max_epsilon.filter(|max| ledger.epsilon() + cost > *max) {
        return Err(CliError::input(format!(
            "the ledger {} holds epsilon {}; {cost} more would exceed {max}; nothing was run",
            arguments.ledger.display(),
            ledger.epsilon()
        )));
    }
    announce(arguments, &mechanism, count);
    // The generator exists before anything is run: a system without entropy is found out now.
    let mut seed = [0u8; 32];
    getrandom::fill(&mut seed).map_err(|error| CliError::failure(format!("no entropy from the system: {error}")))?;
    let mut source = Secret::new(ChaCha20Rng::from_seed(seed));
    seed.fill(0);
    let mut state = PublisherState::new();
    let (mut levels, mut order) = (vec![0; count as usize], vec![0; count as usize]);
    let mut publisher =
        Publisher::attach(&mechanism, &mut state, &mut levels, &mut order).map_err(CliError::failure)?;
    for candidate in 0..count {
        let score = evaluate(arguments, &space, candidate, count);
        publisher.handle(PublisherInput::Scored { candidate, score }, &mut source).map_err(CliError::failure)?;
    }
    match publisher.handle(PublisherInput::Close, &mut source).map_err(CliError::failure)? {
        PublisherOutput::Charge(events) => ledger.charge(&events).map_err(CliError::failure)?,
        _ => {
            return Err(CliError::failure(
                "a candidate failed: by the public rule nothing is released and nothing was charged; --show-errors says \
                 which one and how",
            ));
        }
    }
    match publisher.handle(PublisherInput::Charged, &mut source).map_err(CliError::failure)? {
        PublisherOutput::Released { candidate, score, kind } => {
            let score = if arguments.minimize { -score } else { score };
            let release = Release { parameters: space.json(candidate as usize), score, kind: kind.to_string() };
            publish(arguments, &mechanism, &events, release)
        }
        other => Err(CliError::failure(format!("nothing is released: {other:?}"))),
    }
}

fn read_space(path: &Path) -> Result<Space, CliError> {
    let unreadable = |error: std::io::Error| CliError::input(format!("{}: cannot be read: {error}", path.display()));
    let text = crate::files::read_to_string_bounded(path, BYTES_MAX).map_err(unreadable)?;
    Space::parse(&path.display().to_string(), &text).map_err(CliError::input)
}

fn mechanism(arguments: &Arguments, count: u32) -> Result<WorstCase, CliError> {
    let (low, high) = arguments.score_range;
    // Lower is better: the same with the sign of everything turned.
    let (low, high) = if arguments.minimize { (-high, -low) } else { (low, high) };
    let scale = match arguments.records {
        Some(records) => ScoreScale::promised_mean(low, high, records),
        None => ScoreScale::opaque(low, high),
    };
    // Both shares are rounded down to multiples of 2⁻²⁰: their sum never exceeds what was asked for.
    let value = Epsilon::new(arguments.epsilon * arguments.value_share).map_err(CliError::input)?;
    let candidate = Epsilon::new(arguments.epsilon - value.value()).map_err(CliError::input)?;
    let failure = match arguments.on_failure {
        OnFailure::Abort => FailureRule::Abort,
        OnFailure::Lowest => FailureRule::Lowest,
    };
    WorstCase::new(count, scale.map_err(CliError::input)?, candidate, value, failure).map_err(CliError::input)
}

/// What can be hoped for, from public constants alone.
fn announce(arguments: &Arguments, mechanism: &WorstCase, count: u32) {
    let (low, high) = arguments.score_range;
    let sensitivity = significant(mechanism.scale().sensitivity(), 3);
    match arguments.records {
        Some(records) => eprintln!(
            "one of {records} records moves a printed score, rounding included, by at most {sensitivity}: that is your \
             promise; if it is false, the guarantee is void"
        ),
        None => eprintln!("one record may move a score through its whole range, {sensitivity}; see --records"),
    }
    let share = arguments.epsilon * (1.0 - arguments.value_share);
    let gap = mechanism.candidate_gap(share, GAP_FAILURE);
    eprintln!(
        "{count} candidates; the chosen one scores within {} of the best with probability 95 %; noise of scale {} on \
         its score",
        significant(gap, 3),
        significant(mechanism.noise_scale(), 3)
    );
    if gap >= high - low {
        eprintln!("that is the whole range: at this epsilon the choice is nearly a uniform draw");
    }
}

fn evaluate(arguments: &Arguments, space: &Space, candidate: u32, count: u32) -> Score {
    let input = space.json(candidate as usize).to_string();
    let variables = space.environment(candidate as usize);
    let time_max = Duration::from_secs_f64(arguments.timeout);
    let score = command::run(&arguments.command, &input, &variables, time_max, arguments.show_errors);
    match score {
        Ok(score) => {
            eprintln!("{} of {count} candidates evaluated", candidate + 1);
            Score::Number(if arguments.minimize { -score } else { score })
        }
        Err(failure) => {
            // Which one failed and with what code may depend on a record: by default the line is that of a success.
            let told = if arguments.show_errors { format!("; this one {failure}") } else { String::new() };
            eprintln!("{} of {count} candidates evaluated{told}", candidate + 1);
            Score::Failed
        }
    }
}

/// What leaves.
struct Release {
    parameters: serde_json::Value,
    score: f64,
    kind: String,
}

fn publish(
    arguments: &Arguments,
    mechanism: &WorstCase,
    events: &[Event; 2],
    release: Release,
) -> Result<(), CliError> {
    let epsilon: f64 = events.iter().filter_map(charges::loss).sum();
    let delta: f64 =
        events.iter().map(|event| if let Event::ApproximateEpsilon { delta, .. } = event { *delta } else { 0.0 }).sum();
    let basis = match arguments.records {
        Some(records) => format!("replacing one of {records} records, if the score is a mean over them as promised"),
        None => "replacing any record".to_owned(),
    };
    match arguments.format {
        Format::Json => print_json(&serde_json::json!({
            "parameters": release.parameters,
            "score": release.score,
            "noise_scale": mechanism.noise_scale(),
            "epsilon": epsilon,
            "delta": delta,
            "neighboring_relation": "replace_one",
            "records_promised": arguments.records,
            "noise": release.kind,
        })),
        Format::Text => {
            let mut text = String::new();
            for (name, value) in release.parameters.as_object().into_iter().flatten() {
                text.push_str(&format!("{name} = {value}\n"));
            }
            text.push_str(&format!(
                "score = {} (noise of scale {})\nepsilon = {epsilon}, delta = {delta:e}, under {basis}; {}\n",
                significant(release.score, 6),
                significant(mechanism.noise_scale(), 3),
                release.kind
            ));
            print(&text)
        }
    }
}
