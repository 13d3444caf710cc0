//! What several commands read: scenarios, methods, times, ranges of agents; and the runtime they
//! use.

use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sordino_experiment::command_line::chosen::{one_method, scenario_text};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::scenario::unused::keys_of;
use sordino_experiment::scenario::{Method, Scenario};
use sordino_experiment::text::chain;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::authority;
use crate::identity::Certified;
use crate::progress::note;
pub use sordino_experiment::command_line::number::duration;

/// A federated scenario by its name or file, reduced to the one method that is asked for, and that
/// method.
pub fn scenario(
    name: &str,
    settings: &[String],
    method: Option<&str>,
) -> Result<(Scenario, Method), CliError> {
    let (source, text) = scenario_text(name)?;
    let scenario = Scenario::parse(&source, &text, settings)?;
    one_method(&scenario, method)
}

/// Tells which of these settings the one method does not use.
pub fn tell_unused(scenario: &Scenario, method: Method, settings: &[String]) {
    let mut only = scenario.clone();
    // The keys of a method of the scenario's own are those of the scenario by now.
    let base = method.base().filter(|_| method.place().is_some());
    only.federation.methods = vec![base.unwrap_or(method.named())];
    only.unused(&keys_of(settings))
        .iter()
        .for_each(|unused| note(&format!("warning: {unused}.")));
}

/// Seconds since 1970 from which on a number is taken for a moment: September 2001.
const SECONDS_LEAST: i64 = 1_000_000_000;

/// `2026-12-01T08:00:00Z`, or seconds since 1970: a moment, the same one however often it is read.
pub fn moment(text: &str) -> Result<SystemTime, String> {
    let moment = match text.parse::<i64>() {
        Ok(seconds) if seconds < SECONDS_LEAST => {
            return Err(format!(
                "{seconds} seconds since 1970 are long over; a moment is expected, which a server that starts again reads in \
                 the same way, as in \"$(date -d '+30 seconds' +%s)\""
            ));
        }
        Ok(seconds) => {
            OffsetDateTime::from_unix_timestamp(seconds).map_err(|error| error.to_string())?
        }
        Err(_no_number) => OffsetDateTime::parse(text, &Rfc3339).map_err(|error| {
            format!("{error}; as in 2026-12-01T08:00:00Z, or seconds since 1970")
        })?,
    };
    Ok(moment.into())
}

/// The number of an agent.
fn agent(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not an agent; as in 3 or 0..200"))
}

/// `3` or `0..200`.
pub fn agents(text: &str) -> Result<Range<u32>, String> {
    let range = match text.split_once("..") {
        Some((first, end)) => agent(first)?..agent(end)?,
        None => agent(text).map(|one| one..one.saturating_add(1))?,
    };
    if range.is_empty() {
        Err("no agent is in this range".to_owned())
    } else {
        Ok(range)
    }
}

/// The certificate of the authority that --ca names.
pub fn authority(path: &Path) -> Result<Vec<u8>, CliError> {
    authority::read(path)
        .map_err(|error| CliError::input(format!("--ca {}: {}", path.display(), chain(&error))))
}

/// A certificate and its key, as the arguments name them. If others on this machine may read the
/// key, that is told.
pub fn certified(certificate: Option<&PathBuf>, key: Option<&PathBuf>) -> Option<Certified> {
    let certificate = certificate?.clone();
    let key = key?.clone();
    let mode = std::fs::metadata(&key)
        .ok()
        .map(|found| found.permissions().mode() & 0o777);
    if let Some(mode) = mode.filter(|mode| mode & 0o077 != 0) {
        note(&format!(
            "{}: others on this machine may read the key (mode {mode:o}, 600 is expected)",
            key.display()
        ));
    }
    Some(Certified { certificate, key })
}

/// Waits for this to end, on two threads.
pub fn wait<R>(work: impl Future<Output = R>) -> Result<R, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(CliError::failure)?;
    let done = runtime.block_on(work);
    // A thread that draws noise is not waited for.
    runtime.shutdown_background();
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_or_refused() {
        let seconds = |text| {
            moment(text).map(|at| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
        };
        assert_eq!(seconds("2033-05-18T03:33:20Z"), Ok(2_000_000_000));
        assert_eq!(seconds("2033-05-18T05:33:20+02:00"), Ok(2_000_000_000));
        assert_eq!(seconds("2000000000"), Ok(2_000_000_000));
        for bad in [
            "30",
            "-5",
            "tomorrow",
            "2033-05-18",
            "2033-05-18T03:33:20",
            "99999999999999",
        ] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_and_ranges_are_read_or_refused() {
        let ms = |text| duration(text).map(|time| time.as_millis() as u64);
        assert_eq!(
            (ms("90"), ms("15m"), ms("6h"), ms("250ms")),
            (Ok(90_000), Ok(900_000), Ok(21_600_000), Ok(250))
        );
        for bad in ["", "0s", "5w", "-3s", "366d", "1.5h", "h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!((agents("0..3"), agents("7")), (Ok(0..3), Ok(7..8)));
        for bad in ["", "3..3", "5..2", "a", "1..", "-1"] {
            assert!(agents(bad).is_err(), "{bad}");
        }
    }
}
