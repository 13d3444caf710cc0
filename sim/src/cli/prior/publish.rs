//! `sordino prior publish`.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use sordino_experiment::progress::log::note;
use sordino_experiment::text::significant_up;
use sordino_host::day::Day;
use sordino_host::files::{create, read_text};
use sordino_host::ledger::{Accounting, Terms};
use sordino_host::prior::label::event;
use sordino_host::prior::publish::{
    Publication, PublishError, check, check_budget, noise_multipliers, publish, with_ledger,
};
use sordino_host::prior::{PriorFile, PriorFileError};
use sordino_host::server::SystemSources;
use sordino_host::signature::{KeyError, SigningKey};
use sordino_host::space::{BYTES_MAX, Goal, SpaceFile};

use super::label::{facts, text};
use super::{dry, studies, warned};
use crate::cli::ledger::{LedgerArguments, MAX_EPSILON};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::{in_range, whole};
use sordino_experiment::command_line::{Format, print, print_json};

/// What every refusal ends with.
const NOTHING: &str = "nothing was published";

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

/// Reads, checks, charges, releases, writes.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let text_of_space = read_text(&arguments.space, BYTES_MAX).map_err(input)?;
    let file =
        SpaceFile::parse(&arguments.space.display().to_string(), &text_of_space).map_err(input)?;
    let Some(goal) = file.goal else {
        let path = arguments.space.display();
        return Err(input(format!(
            "{path}: `goal`: admissible: \"minimize\", \"maximize\"; a file has one"
        )));
    };
    new_file(arguments).map_err(input)?;
    let studies = studies::read(&arguments.from, &file.space)?;
    let publication = publication(arguments, &file, goal)?;
    check(&publication, &studies).map_err(told)?;
    let multipliers = noise_multipliers(&publication).map_err(told)?;
    check_budget(&multipliers, arguments.delta, arguments.max_epsilon)
        .map_err(|error| told(named(error)))?;
    let events: Vec<_> = multipliers
        .iter()
        .map(|multiplier| event(*multiplier))
        .collect();
    let signing = arguments.sign.as_deref().map(SigningKey::find).transpose();
    let key = signing.map_err(unsigned)?.flatten();
    room_for(arguments, file.space.parameters().len()).map_err(input)?;
    let terms = terms(arguments);
    let ledger = &arguments.ledger;
    // All of them, so that no release is paid for whose file cannot be finished.
    let preview = ledger.preview(&terms, &events, &events[..1], NOTHING)?;
    warned::before(arguments, &studies);
    // How many evaluations there are is not public.
    note(&format!("{} studies", studies.len()));
    if arguments.dry_run {
        ledger.told(preview.notes());
        return dry::execute(arguments, &publication, studies.len(), &preview);
    }
    let key = match (key, &arguments.sign) {
        (None, Some(path)) => Some(new_key(path)?),
        (key, _) => key,
    };
    let ledger = ledger.open(&terms, &events, &events[..1], NOTHING)?;
    let ledger = ledger.on(Day::today());
    let sources = SystemSources::new().map_err(CliError::failure)?;
    let (file, ledger) = publish(&publication, &studies, sources, ledger, note).map_err(begun)?;
    let file = with_ledger(file, &ledger);
    let file = match &key {
        Some(key) => file.sign(key).map_err(CliError::failure)?,
        None => file,
    };
    saved(&file, &arguments.out)?;
    let spent = ledger.spent().map_err(CliError::failure)?.epsilon;
    let mut facts = facts(&file)?;
    facts["file"] = json!(arguments.out.display().to_string());
    facts["spent"] = json!(spent);
    if arguments.format == Format::Json {
        return print_json(&facts);
    }
    let out = arguments.out.display();
    let spent = significant_up(spent, 4);
    let most = ledger
        .terms()
        .epsilon_max
        .map_or(String::new(), |most| format!(" of {most}"));
    print(&format!(
        "{}\n{out} is written; the ledger holds ε {spent}{most} at the same δ\n",
        text(&file)?
    ))
}

/// A key that cannot be used.
fn unsigned(error: KeyError) -> CliError {
    input(format!("--sign: {error}"))
}

/// Makes the key that signs, because there is none, and says so: a name that was mistyped is noticed.
fn new_key(path: &Path) -> Result<SigningKey, CliError> {
    let key = SigningKey::open(path).map_err(unsigned)?;
    note(&format!(
        "--sign: there was no key, so a new one was made: {}, fingerprint {}",
        path.display(),
        key.fingerprint()
    ));
    Ok(key)
}

/// A refusal with the name that the budget has on the command line.
fn named(error: PublishError) -> PublishError {
    match error {
        PublishError::Refused(PriorFileError {
            what,
            found,
            admissible,
        }) if what == "max_epsilon" => PublishError::Refused(PriorFileError {
            what: MAX_EPSILON.into(),
            found,
            admissible,
        }),
        other => other,
    }
}

/// Refuses a disk without room before anything is charged: writes as much as the file may have, and
/// takes it away.
fn room_for(arguments: &Arguments, parameters: usize) -> Result<(), String> {
    let m = arguments.features as usize;
    // A category of many choices has many coordinates; the label is a few kB.
    let numbers = m * 16 * parameters + m + m * (m + 1) / 2;
    let trial = arguments
        .out
        .with_extension(format!("{}.room", std::process::id()));
    let told =
        |error: std::io::Error| format!("{}: no room for the file: {error}", trial.display());
    let mut made = std::fs::File::create_new(&trial).map_err(told)?;
    let written = made
        .write_all(&vec![1; 4 * numbers + (64 << 10)])
        .and_then(|()| made.sync_all());
    written.and(std::fs::remove_file(&trial)).map_err(told)
}

/// Writes the file; where its place fails after all, beside the system's temporary files, because
/// it is paid for.
fn saved(file: &PriorFile, out: &Path) -> Result<(), CliError> {
    // A name that somebody took in the meantime, another publication or this one's ledger, is left
    // alone.
    let error = match create(out, &file.to_bytes()) {
        Ok(true) => return Ok(()),
        Ok(false) => format!("{}: exists by now", out.display()),
        Err(error) => error.to_string(),
    };
    let other = std::env::temp_dir().join(format!("{}.safetensors", file.digest()));
    let rescued = match file.save(&other) {
        Ok(()) => format!("it is at {} instead", other.display()),
        Err(second) => format!("nor there: {second}; it is lost"),
    };
    Err(CliError::failure(format!(
        "{error}; the releases are charged; {rescued}"
    )))
}

/// Wrong input, found before anything was charged.
fn input(why: impl Display) -> CliError {
    CliError::input(format!("{why}; {NOTHING}"))
}

/// An error of the library as one of this command: input unless something was charged.
fn told(error: PublishError) -> CliError {
    match error {
        PublishError::Refused(_) | PublishError::Study { .. } | PublishError::Budget(_) => {
            CliError::input(format!(
                "{}; {NOTHING}",
                sordino_experiment::text::chain(&error)
            ))
        }
        _ => CliError::failure(error),
    }
}

/// An error once releases may have been charged.
fn begun(error: PublishError) -> CliError {
    let why = sordino_experiment::text::chain(&error);
    CliError::failure(format!(
        "{why}; no file was written, and releases that were charged stay charged"
    ))
}

/// Whether two paths name the same place.
fn is_same(a: &Path, b: &Path) -> bool {
    std::path::absolute(a).ok() == std::path::absolute(b).ok()
}

/// Refuses a file that is there, so that an older release that was paid for stays.
fn new_file(arguments: &Arguments) -> Result<(), String> {
    let path = &arguments.out;
    if path
        .extension()
        .is_none_or(|extension| extension != "safetensors")
    {
        return Err(format!(
            "--out {}: admissible: a name that ends with .safetensors",
            path.display()
        ));
    }
    let kept = [Some(arguments.ledger.path()), arguments.sign.as_deref()];
    if kept.into_iter().flatten().any(|kept| is_same(kept, path)) {
        return Err(format!(
            "--out {}: is the ledger or the key",
            path.display()
        ));
    }
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(format!("{}: exists already", path.display()));
    }
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) if !folder.is_dir() => {
            Err(format!("{}: not in a folder that exists", path.display()))
        }
        _ => Ok(()),
    }
}

fn publication(
    arguments: &Arguments,
    file: &SpaceFile,
    goal: Goal,
) -> Result<Publication, CliError> {
    Ok(Publication {
        space: file.space.clone(),
        goal,
        value: file.value.clone(),
        epsilon: arguments.epsilon,
        delta: arguments.delta,
        releases: arguments.releases,
        features: arguments.features,
        dataset: arguments.dataset.clone(),
        by: arguments.by.clone(),
        note: arguments.note.clone(),
        published: arguments.date.map(|day| day.to_string()),
    })
}

/// What the ledger of the data set is for.
fn terms(arguments: &Arguments) -> Terms {
    Terms {
        data: arguments.dataset.clone(),
        unit: "study".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: arguments.max_epsilon,
        delta: arguments.delta,
    }
}
