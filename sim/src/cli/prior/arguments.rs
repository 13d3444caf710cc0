//! The arguments of `sordino prior publish`.

use std::path::PathBuf;

use clap::Args;
use sordino_host::day::Day;

use crate::cli::ledger::LedgerArguments;
use sordino_experiment::command_line::Format;
use sordino_experiment::command_line::number::{in_range, whole};

/// `sordino prior publish`.
///
/// Makes a file of what many studies have in common, for those who search the same parameters next.
/// Each study is one contributor and is protected, whatever its evaluations are; the noise is the
/// system's.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// CSV file with the columns `study`, one for each parameter, and `value`; three evaluations of
    /// a study or more, ten are good
    #[arg(long, value_name = "FILE")]
    pub(super) from: PathBuf,
    /// TOML file with the parameters and their ranges, as for `sordino optimize`. Write it without
    /// looking at the studies
    #[arg(long, value_name = "FILE")]
    pub(super) space: PathBuf,
    /// Privacy loss of the file: whatever an observer looks for is at most e^ε times as likely,
    /// plus δ, where a study is used as where it counts as nothing, and the other way round
    #[arg(long, value_name = "E", value_parser = epsilon)]
    pub(super) epsilon: f64,
    /// The δ of that sentence; at most a tenth of 1 by the number of studies, and the same in all
    /// files of a ledger
    #[arg(long, value_name = "D", default_value = "1e-5", value_parser = delta)]
    pub(super) delta: f64,
    /// Name of the data set. The ledger is for this one alone, and a second ledger for it is
    /// refused. Another name is another budget: that both are the same data, only you know
    #[arg(long, value_name = "NAME")]
    pub(super) dataset: String,
    /// The most that all releases of this data set may cost together: written into a new ledger,
    /// which needs it, and compared with that of an existing one
    #[arg(long, value_name = "E", value_parser = epsilon_max)]
    pub(super) max_epsilon: Option<f64>,
    /// Number of Gaussian releases, 1 to 64: two are enough
    #[arg(long, value_name = "J", default_value = "2", value_parser = whole::<u32>(1, 64))]
    pub(super) releases: u32,
    /// The most features, 2 to 1024: 100, or 50 for a file of 6 kB; 1000 take minutes
    #[arg(long, value_name = "M", default_value = "100", value_parser = whole::<u32>(2, 1024))]
    pub(super) features: u32,
    /// Who publishes, in words, for the label
    #[arg(long, value_name = "WORDS")]
    pub(super) by: Option<String>,
    /// The day, for the label, as in 2026-11-23
    #[arg(long, value_name = "DAY", value_parser = day)]
    pub(super) date: Option<Day>,
    /// Free words for the label
    #[arg(long, value_name = "WORDS")]
    pub(super) note: Option<String>,
    /// Sign the file with the key in this one (P-256, PKCS #8 in DER), which is made if it is not
    /// there. Keep it, and tell others its fingerprint
    #[arg(long, value_name = "FILE")]
    pub(super) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(super) ledger: LedgerArguments,
    /// Check everything and say what the file would cost, what would be left and how large it would
    /// be; nothing is charged, made or written
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Refuse, before anything is charged, what there would be a warning of
    #[arg(long)]
    pub(super) strict: bool,
    /// The file, which must not exist yet: its name ends with .safetensors
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

fn epsilon(text: &str) -> Result<f64, String> {
    in_range(text, 1e-5, 256.0, "a number from 1e-5 to 256")
}

fn epsilon_max(text: &str) -> Result<f64, String> {
    in_range(text, 1e-5, 1e6, "a number from 1e-5 to 1e6")
}

fn day(text: &str) -> Result<Day, String> {
    text.parse().map_err(|what| format!("admissible: {what}"))
}

fn delta(text: &str) -> Result<f64, String> {
    let admissible = "a number in (0, 1)";
    in_range(text, 1e-300, 1.0 - f64::EPSILON, admissible)
}
