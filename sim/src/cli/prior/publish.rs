//! `sordino prior publish`.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use serde_json::json;
use sordino_experiment::progress::log::note;
use sordino_experiment::text::significant_up;
use sordino_host::day::Day;
use sordino_host::files::{create, folder_of, read_text};
use sordino_host::ledger::is_of_ledger;
use sordino_host::prior::publish::{Checked, Publication, PublishError};
use sordino_host::prior::{PriorFile, PriorFileError};
use sordino_host::server::SystemSources;
use sordino_host::signature::{KeyError, SigningKey};
use sordino_host::space::{BYTES_MAX, Goal, SpaceFile};

pub use super::arguments::Arguments;
use super::label::{facts, text};
use super::signals::Signals;
use super::{dry, studies};
use crate::cli::ledger::MAX_EPSILON;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::{Format, print, print_json};

/// What every refusal ends with.
const NOTHING: &str = "nothing was published";

/// Reads, checks, charges, releases, writes.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let signals = Signals::heard().map_err(CliError::failure)?;
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
    let checked = Checked::new(&publication, &studies, arguments.max_epsilon);
    let checked = checked.map_err(|error| told(named(error)))?;
    let signing = arguments.sign.as_deref().map(SigningKey::find).transpose();
    let key = signing.map_err(unsigned)?.flatten();
    room_for(arguments, file.space.parameters().len()).map_err(input)?;
    let terms = checked.terms();
    let ledger = &arguments.ledger;
    let preview = ledger.preview(&terms, checked.events(), checked.first(), NOTHING)?;
    let doubts = checked.doubts();
    doubts.iter().for_each(|told| note(told));
    if arguments.strict && !doubts.is_empty() {
        let many = if doubts.len() == 1 { "" } else { "s" };
        let count = doubts.len();
        return Err(input(format!(
            "--strict: {count} warning{many}, as told before this line"
        )));
    }
    // How many evaluations there are is not public.
    note(&format!("{} studies", studies.len()));
    if arguments.dry_run {
        ledger.told(preview.notes());
        let cost = checked.cost(&preview).map_err(CliError::failure)?;
        return dry::show(arguments, &cost);
    }
    let sources = SystemSources::new().map_err(CliError::failure)?;
    let prepared = checked.prepare(note).map_err(told)?;
    // The ledger is made when all that is slow is done: one without a charge would bind its place
    // to this data set.
    signals.charging();
    let ledger = ledger.open(&preview, &terms, checked.events(), checked.first(), NOTHING)?;
    let ledger = ledger.on(Day::today());
    // A key that is missing is made once nothing else is refused.
    let key = match (key, &arguments.sign) {
        (None, Some(path)) => Some(new_key(path)?),
        (key, _) => key,
    };
    let made = checked.publish(&prepared, sources, ledger, key.as_ref(), note);
    let (file, ledger) = made.map_err(begun)?;
    saved(&file, &arguments.out)?;
    signals.written(&arguments.out)?;
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

/// Makes the key that signs, because there is none, and says so: a name that was mistyped is
/// noticed.
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
    let unmade = |error: std::io::Error| {
        let out = arguments.out.display();
        format!("{out}: no file can be made there: {error}")
    };
    let mut made = std::fs::File::create_new(&trial).map_err(unmade)?;
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
        PublishError::Refused(_)
        | PublishError::Study { .. }
        | PublishError::SameName { .. }
        | PublishError::Budget(_) => CliError::input(format!(
            "{}; {NOTHING}",
            sordino_experiment::text::chain(&error)
        )),
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
    let ledger = arguments.ledger.path();
    let sign = arguments.sign.as_deref();
    if let Some(key) = sign
        && is_of_ledger(key, ledger).map_err(|error| error.to_string())?
    {
        return Err(format!(
            "--sign {}: is the ledger or its lock",
            key.display()
        ));
    }
    if is_of_ledger(path, ledger).map_err(|error| error.to_string())?
        || sign.is_some_and(|key| is_same(key, path))
    {
        return Err(format!(
            "--out {}: is the ledger, its lock or the key",
            path.display()
        ));
    }
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(format!("{}: exists already", path.display()));
    }
    if !folder_of(path).is_dir() {
        return Err(format!("{}: not in a folder that exists", path.display()));
    }
    Ok(())
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
