//! The arguments of `sordino tune`, and what they mean together.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sordino_core::output::{FailureRule, ScoreScale, WorstCase};
use sordino_core::privacy::Epsilon;
use sordino_host::tune::score::{Reading, decimals_needed, records_covered};

use crate::cli::ledger::LedgerArguments;
use sordino_experiment::command_line::Format;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::{in_range, whole};

/// `sordino tune`.
///
/// Every candidate of a public list is evaluated; one is chosen and its score published, with
/// differential privacy for one record of the data that the score is computed on. The training data
/// must be public or disjoint from those records.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Training command, run by `sh -c`; reads parameters as JSON on standard input and as
    /// `SORDINO_<NAME>`, prints the score on the last line. Processes that it starts end with it
    #[arg(long, value_name = "COMMAND")]
    pub command: String,
    /// TOML file with the parameters and their ranges; --help shows one
    #[arg(long, value_name = "FILE")]
    pub space: PathBuf,
    /// Name of the data set that is scored. The ledger is for this one alone, and a second ledger
    /// for it is refused; also if its name differs only in case or in the width of white space. No
    /// white space at either end, and no characters that look like others
    #[arg(long, value_name = "NAME")]
    pub dataset: String,
    /// Privacy loss of the whole release
    #[arg(long, value_name = "E", value_parser = epsilon)]
    pub epsilon: f64,
    /// The most that all releases of this data set may cost together: written into a new ledger,
    /// which needs it, and compared with that of an existing one
    #[arg(long, value_name = "E", value_parser = epsilon_max)]
    pub max_epsilon: Option<f64>,
    /// Share of epsilon spent on the score, the rest on which candidate
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    pub value_share: f64,
    /// Range of the score, as G for 0 to G or LOW,HIGH; scores outside are clamped. Chosen without
    /// the data; 0 to 1 unless you say otherwise, which is told before anything runs
    #[arg(long, value_name = "G|LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    pub score_range: Option<(f64, f64)>,
    /// YOUR PROMISE, which nothing here can check: the score is a mean over this many records, each
    /// clamped to the range, so that one record moves it by at most (range)/(records). Without it
    /// one record may move the score through the whole range
    #[arg(long, value_name = "M", value_parser = whole::<u32>(1, u64::from(u32::MAX)))]
    pub records: Option<u32>,
    /// How the score is printed: a number, or a fraction COUNT/M with the M of --records, which is
    /// exact
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub score: ScoreForm,
    /// With --records: every score is printed with at least this many decimals, zeros included; one
    /// with fewer is a failed candidate. At least, and by default, the fewest whose last place is
    /// not above (range)/(records); more of them need less noise
    #[arg(long, value_name = "D", value_parser = whole::<u32>(0, 300))]
    pub decimals: Option<u32>,
    /// Lower scores are better; without it larger ones are
    #[arg(long)]
    pub minimize: bool,
    /// Seconds after which a run is killed
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    pub timeout: f64,
    /// Number of candidates that are evaluated at a time; changes no result
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<u16>(1, 1024))]
    pub jobs: u16,
    /// What a failed candidate means; `lowest` (counts as the worst score) only without --records
    #[arg(long, value_enum, default_value_t)]
    pub on_failure: OnFailure,
    /// Where charges are written.
    #[command(flatten)]
    pub ledger: LedgerArguments,
    /// Write the result, as JSON, to this new file as well
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Let the command's standard error through and say which candidate failed and how. Both are
    /// facts about the data that nothing accounts for (scores, exit codes the data may choose): for
    /// your eyes, not for publication
    #[arg(long)]
    pub show_errors: bool,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What a failed candidate means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnFailure {
    /// Release nothing. That it was aborted is visible and not accounted
    #[default]
    Abort,
    /// Count it as the worst score; accounted exactly
    Lowest,
}

/// How a score is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ScoreForm {
    /// A finite number
    #[default]
    Number,
    /// COUNT/M: COUNT of the M records count, each once
    Fraction,
}

fn epsilon(text: &str) -> Result<f64, String> {
    in_range(text, 1e-5, 256.0, "a number from 1e-5 to 256")
}

fn epsilon_max(text: &str) -> Result<f64, String> {
    in_range(text, 1e-5, 1e6, "a number from 1e-5 to 1e6")
}

fn share(text: &str) -> Result<f64, String> {
    in_range(text, 0.01, 0.99, "a number from 0.01 to 0.99")
}

fn seconds(text: &str) -> Result<f64, String> {
    in_range(text, 0.01, 1e7, "a number of seconds from 0.01 to 1e7")
}

/// A number that an end of a range may be.
fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|x| x.abs() <= 1e12)
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let pair = match text.split_once(',') {
        Some((low, high)) => number(low).zip(number(high)),
        None => number(text).map(|high| (0.0, high)),
    };
    pair.filter(|(low, high)| low < high)
        .ok_or_else(|| "admissible: G > 0, or LOW,HIGH with LOW < HIGH".into())
}

/// The range of a fraction COUNT/M, and of a number unless another is given.
const FRACTION: (f64, f64) = (0.0, 1.0);

impl Arguments {
    /// Lowest and highest score: what was asked for, or 0 to 1.
    pub fn range(&self) -> (f64, f64) {
        self.score_range.unwrap_or(FRACTION)
    }

    /// Width of the score's range.
    pub fn width(&self) -> f64 {
        self.range().1 - self.range().0
    }

    /// How the last line of a command is read: public, fixed before anything runs.
    ///
    /// **Errors**: arguments that contradict each other.
    pub fn reading(&self) -> Result<Reading, CliError> {
        match (self.score, self.records) {
            (ScoreForm::Number, None) if self.decimals.is_some() => Err(CliError::input(
                "--decimals is for a score with --records; nothing was run",
            )),
            (ScoreForm::Number, None) => Ok(Reading::Number),
            (ScoreForm::Number, Some(records)) => {
                let needed = decimals_needed(self.width(), records);
                match self.decimals {
                    Some(fewer) if fewer < needed => Err(CliError::input(format!(
                        "--decimals {fewer}: admissible: {needed} or more, because the {fewer}th decimal is above \
                         (range)/(records); nothing was run"
                    ))),
                    chosen => Ok(Reading::Decimals(chosen.unwrap_or(needed))),
                }
            }
            (ScoreForm::Fraction, None) => Err(CliError::input(
                "--score fraction needs --records, the M of COUNT/M; nothing was run",
            )),
            (ScoreForm::Fraction, Some(_))
                if self.decimals.is_some() || self.range() != FRACTION =>
            {
                Err(CliError::input(
                    "--score fraction goes without --decimals and --score-range; nothing was run",
                ))
            }
            (ScoreForm::Fraction, Some(records)) => Ok(Reading::Fraction(records)),
        }
    }

    /// The mechanism for this many candidates.
    ///
    /// **Errors**: constants out of range, in one line.
    pub fn mechanism(&self, count: u32) -> Result<WorstCase, CliError> {
        let (low, high) = self.range();
        // Lower is better: the same with the sign of everything turned.
        let (low, high) = if self.minimize {
            (-high, -low)
        } else {
            (low, high)
        };
        let scale = match (self.reading()?, self.records) {
            (Reading::Fraction(records), _) => ScoreScale::per_record(1, records),
            (Reading::Decimals(decimals), Some(records)) => {
                // The step of the last decimal is part of what one record moves.
                ScoreScale::promised_mean(
                    low,
                    high,
                    records_covered((low, high), records, decimals),
                )
            }
            _ => ScoreScale::opaque(low, high),
        };
        // Both shares are rounded down to multiples of 2⁻²⁰: their sum never exceeds what was asked
        // for.
        let value = Epsilon::new(self.epsilon * self.value_share).map_err(CliError::input)?;
        let candidate = Epsilon::new(self.epsilon - value.value()).map_err(CliError::input)?;
        let failure = match self.on_failure {
            OnFailure::Abort => FailureRule::Abort,
            OnFailure::Lowest => FailureRule::Lowest,
        };
        WorstCase::new(
            count,
            scale.map_err(CliError::input)?,
            candidate,
            value,
            failure,
        )
        .map_err(CliError::input)
    }
}
