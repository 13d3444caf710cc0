//! In which settings of `serve` a folder was begun with others, by the names of the options.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::shares::Trust;
use sordino_experiment::command_line::error::CliError;
use sordino_host::hex::hex;

use crate::folder::{Folder, FolderError};
use crate::shares;
use crate::terms::{Difference, Terms};

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

/// Every setting that differs, with the folder's value and the new one, and what else of the terms
/// differs: what has no option here, or follows from one.
fn differing(begun: &Terms, asked: &Terms) -> Vec<String> {
    let mut agreed = asked.agreement.clone();
    agreed.deployment = begun.agreement.deployment;
    let rest = Difference::all(&begun.agreement, &agreed);
    let [begun, asked] = [begun, asked].map(settings);
    if !begun.iter().map(name).eq(asked.iter().map(name)) {
        // A campaign and a scenario.
        return Vec::new();
    }
    let pairs = begun.into_iter().zip(asked);
    let (options, values): (Vec<_>, Vec<_>) = pairs
        .filter(|(then, now)| then.1 != now.1)
        .map(|((option, then), (_, now))| (option, (then, now)))
        .unzip();
    let mut said: Vec<String> = options
        .iter()
        .zip(&values)
        .map(|(option, (then, now))| format!("{option} {then}, now {now}"))
        .collect();
    said.extend(others(&rest, &values));
    said
}

/// What differs in the terms beside these pairs of values, in words; the announcement has options
/// for all that is in it.
fn others(rest: &[Difference], told: &[(String, String)]) -> Option<String> {
    let mut rest = rest.iter().filter(|field| {
        let is_told = |(then, now): &(String, String)| (then, now) == (&field.then, &field.now);
        !field.field.starts_with("announced.") && !told.iter().any(is_told)
    });
    let first = rest.next()?;
    Some(match rest.count() {
        0 => format!("of the terms {first}"),
        1 => format!("of the terms {first}, and one more field, which may follow from these"),
        more => {
            format!("of the terms {first}, and {more} more fields, which may follow from these")
        }
    })
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
            ("what agents share:", shared(protocol).to_owned()),
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
                |der| format!("SHA-256 {}", hex(&Sha256::digest(der))),
            ),
        ),
    ]);
    settings
}

/// What agents share, in words: the terms have the numbers of a method, and not its name.
fn shared(protocol: &Protocol) -> &'static str {
    match protocol {
        Protocol::Draws(_) => "random draws",
        Protocol::Prior(_) => "a prior of all",
        Protocol::Campaign(_) => "a file",
        Protocol::Vote(_) => "one vote",
        Protocol::Own(_) => "what its author says",
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

    fn field(name: &str, then: &str, now: &str) -> Difference {
        Difference {
            field: name.to_owned(),
            then: then.to_owned(),
            now: now.to_owned(),
        }
    }

    /// With one option that differed, all that had none was left out.
    #[test]
    fn what_differs_beside_the_options_is_said() {
        let told = [("3".to_owned(), "4".to_owned())];
        let mut rest = vec![
            field("announced.delta", "0.1", "0.2"),
            field("protocol.Draws.agents", "3", "4"),
        ];
        assert_eq!(others(&rest, &told), None);
        rest.push(field("protocol.Draws.features", "16", "32"));
        assert_eq!(
            others(&rest, &told).unwrap(),
            "of the terms protocol.Draws.features: then 16, now 32"
        );
        rest.push(field("protocol.Draws.seed", "1", "2"));
        let said = others(&rest, &told).unwrap();
        assert!(
            said.ends_with("now 32, and one more field, which may follow from these"),
            "{said}"
        );
    }

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
