//! In which settings of `serve` a folder was begun with others, by the names of the options.

use std::path::Path;

use serde_json::Value;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::shares::Trust;
use sordino_experiment::command_line::error::CliError;

use crate::folder::{Folder, FolderError};
use crate::shares;
use crate::terms::Terms;

/// A setting: its option, and its value in some terms.
type Setting = (&'static str, String);

/// Why a folder cannot be served with these terms: every setting that differs, where it was begun
/// with others.
pub fn refused(path: &Path, error: FolderError, asked: &Terms) -> CliError {
    let differing = match &error {
        FolderError::OtherTerms { .. } => Folder::open(path)
            .map(|folder| differing(&folder.terms, asked))
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    if differing.is_empty() {
        return CliError::failure(error);
    }
    CliError::failure(format!(
        "{}: begun with other settings, which agents agreed to: {}; serve it with what it was begun with, or serve another folder",
        path.display(),
        differing.join("; ")
    ))
}

/// Every setting that differs, with the folder's value and the new one.
fn differing(begun: &Terms, asked: &Terms) -> Vec<String> {
    let [begun, asked] = [begun, asked].map(settings);
    if !begun.iter().map(name).eq(asked.iter().map(name)) {
        // A campaign and a scenario, or two methods.
        return Vec::new();
    }
    begun
        .into_iter()
        .zip(asked)
        .filter(|(then, now)| then.1 != now.1)
        .map(|((option, then), (_, now))| format!("{option} {then}, now {now}"))
        .collect()
}

fn name(setting: &Setting) -> &'static str {
    setting.0
}

/// All settings of these terms that an option names.
fn settings(terms: &Terms) -> Vec<Setting> {
    let agreement = &terms.agreement;
    let announced = agreement.announced;
    let protocol = &agreement.protocol;
    let agents = protocol.agents().to_string();
    let epsilon = or_none(announced.epsilon_max);
    let delta = announced.delta.to_string();
    let mut settings = match terms.publication().ok().flatten() {
        Some(publication) => vec![
            ("--agents", agents),
            ("--epsilon", epsilon),
            ("--delta", delta),
            ("--releases", publication.releases.to_string()),
            ("--features", publication.features.to_string()),
            ("--by", or_none(publication.by.map(Value::from))),
            ("--dataset", Value::from(publication.dataset).to_string()),
            (
                "the goal of the space",
                format!("{:?}", publication.goal).to_lowercase(),
            ),
            (
                "the value of the space",
                or_none(publication.value.map(Value::from)),
            ),
            (
                "the parameters of the space",
                serde_json::to_string(publication.space.parameters()).unwrap_or_default(),
            ),
        ],
        None => vec![
            ("--method", method(protocol).to_owned()),
            ("--set federation.agents", agents),
            ("--set federation.rounds", protocol.rounds().to_string()),
            ("--set privacy.max_epsilon", epsilon),
            ("--set privacy.delta", delta),
        ],
    };
    let authority = terms.authority.as_ref();
    settings.extend([
        ("--deadline", time(announced.deadline_ms)),
        ("--close-early", yes(announced.may_close_early)),
        (
            "two servers (--helper)",
            yes(shares::trust(protocol) == Trust::TwoServers),
        ),
        (
            "--ca",
            authority.map_or_else(
                || "none".to_owned(),
                |der| format!("a certificate of {} bytes", der.len()),
            ),
        ),
    ]);
    settings
}

fn method(protocol: &Protocol) -> &'static str {
    match protocol {
        Protocol::Draws(_) => "draws",
        Protocol::Prior(_) => "dp-prior",
        Protocol::Campaign(_) => "campaign",
        Protocol::Vote(_) => "vote",
        Protocol::Own(_) => "own",
    }
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// A time as the options take it, exactly.
fn time(ms: u64) -> String {
    for (unit, length) in [("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if ms.is_multiple_of(length) {
            return format!("{}{unit}", ms / length);
        }
    }
    format!("{ms}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_options_take_them() {
        for (ms, told) in [
            (21_600_000, "6h"),
            (5_400_000, "90m"),
            (90_000, "90s"),
            (250, "250ms"),
        ] {
            assert_eq!(time(ms), told);
        }
    }
}
