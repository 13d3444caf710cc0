//! `sordino-net replay`, `verify`: a server's, a helper's or an agent's folder, checked; the
//! signature of a promise, too.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_experiment::text::significant_up;
use sordino_host::files::read_text;
use sordino_host::ledger::Spent;

use super::audit::{self, Held};
use crate::agent::replay::{self, Replayed};
use crate::folder::{self, FolderError};
use crate::help::folder::HelpFolder;
use sordino_host::hex::bytes_of;
use sordino_host::signature::{Fingerprint, verified};

/// Arguments of `replay`.
#[derive(Clone, Debug, Args)]
pub struct Replay {
    /// The server's folder, or an agent's
    folder: PathBuf,
}

/// Checks a server's folder (history, charges and loss), or repeats an agent's queries and uploads.
pub fn replay(arguments: &Replay) -> Result<(), CliError> {
    let [file, journal] =
        [replay::AGENT, "agent.journal"].map(|name| arguments.folder.join(name).exists());
    if HelpFolder::is_one(&arguments.folder) {
        return replay_helper(&arguments.folder);
    }
    if file || journal {
        replay_agent(&arguments.folder)
    } else {
        replay_server(&arguments.folder)
    }
}

fn replay_agent(folder: &Path) -> Result<(), CliError> {
    let Replayed {
        agent,
        lines,
        frames,
        missed,
        queries,
        uploads,
        chain,
    } = replay::replay(folder).map_err(CliError::failure)?;
    print(&format!(
        "agent {agent}: {lines} lines, {frames} frames of which {missed} were missed, {queries} queries and {uploads} uploads, \
         all reproduced\nchain {chain}\n"
    ))
}

/// Compares history, charges and loss: every frame must continue the ones before, every broadcast
/// must have one charge; ε is computed from the charges in the ledger.
fn replay_server(folder: &Path) -> Result<(), CliError> {
    let folder = folder::Folder::open(folder).map_err(CliError::failure)?;
    let Held {
        frames,
        broadcasts,
        spent,
        chain,
        refused,
    } = audit::held(&folder)?;
    let Some(Spent {
        epsilon, charges, ..
    }) = spent
    else {
        return Err(CliError::failure(format!(
            "{}: no ledger and no frame yet: there is nothing to replay",
            folder.path().display()
        )));
    };
    let spent = at(epsilon, folder.terms.agreement.announced.delta);
    print(&format!(
        "frames {frames}, broadcasts {broadcasts}, charges {charges}, {spent}\nchain {chain}\n"
    ))?;
    if charges == broadcasts {
        return Ok(());
    }
    // A release that was refused stays charged, and is the last.
    if refused && charges == broadcasts + 1 {
        let why = match folder.stopped() {
            Err(FolderError::Stopped { why, .. }) => why,
            _ => "its server died before it wrote down why".into(),
        };
        return print(&format!(
            "the last charge is of a release that was refused: {why}\n"
        ));
    }
    let told = if charges < broadcasts {
        "a release was not charged"
    } else {
        "a broadcast is missing"
    };
    Err(CliError::failure(format!(
        "{broadcasts} broadcasts and {charges} charges: {told}"
    )))
}

/// What was spent, rounded up, at a δ.
fn at(epsilon: f64, delta: f64) -> String {
    format!("ε {} at δ = {delta:.2e}", significant_up(epsilon, 4))
}

/// Compares answers, charges and loss: every answer must have one charge.
fn replay_helper(folder: &Path) -> Result<(), CliError> {
    let books = HelpFolder::open(folder)
        .and_then(|folder| folder.books())
        .map_err(CliError::failure)?;
    let (answers, charges, spent) = books.map_or((0, 0, String::new()), |(answers, ledger)| {
        let spent = ledger.spent;
        let told = at(spent.epsilon, ledger.terms.delta);
        (answers, spent.charges, format!(", {told}"))
    });
    print(&format!(
        "helper: answers {answers}, charges {charges}{spent}\n"
    ))?;
    if answers == charges {
        return Ok(());
    }
    Err(CliError::failure(format!(
        "{answers} answers and {charges} charges: one of them was exchanged, edited or set back"
    )))
}

/// Arguments of `verify`.
#[derive(Clone, Debug, Args)]
pub struct Verify {
    /// What `promise` printed; - for standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// The key that must have signed it, 64 hexadecimal digits: a `pin` of an invitation
    #[arg(long, value_name = "FINGERPRINT")]
    key: Option<Fingerprint>,
}

/// A promise is read up to this length.
const PROMISE_BYTES_MAX: u64 = 1 << 16;

/// Whether a promise is signed by the key that it names, and that key is the one that was asked
/// for.
pub fn verify(arguments: &Verify) -> Result<(), CliError> {
    let text = if arguments.file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin()
            .take(PROMISE_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(CliError::failure)?;
        text
    } else {
        read_text(&arguments.file, PROMISE_BYTES_MAX).map_err(CliError::failure)?
    };
    let mut lines = text.lines();
    let (Some(promise), Some(signed), Some(public)) = (lines.next(), lines.next(), lines.next())
    else {
        return Err(CliError::input(
            "three lines are expected: the promise, its signature, the public key",
        ));
    };
    let signature = signed.rsplit(' ').next().and_then(bytes_of);
    let public = public.strip_prefix("public key ").and_then(bytes_of);
    let (Some(signature), Some(public)) = (signature, public) else {
        return Err(CliError::input(
            "a signature and a public key in hexadecimal digits are expected",
        ));
    };
    let Some(key) = verified(&public, promise.as_bytes(), &signature) else {
        return Err(CliError::failure(
            "the promise is not signed by this key: it was changed, or its signature",
        ));
    };
    match arguments.key {
        Some(expected) if expected != key => Err(CliError::failure(format!(
            "the promise is signed by {key}, not by {expected}"
        ))),
        Some(_) => print(&format!("signed by {key}, as expected\n")),
        None => print(&format!(
            "signed by {key}; compare it with a pin of an invitation, or say --key\n"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ledger had 2.0412 and a replay said 2.041.
    #[test]
    fn what_was_spent_is_never_told_smaller_than_it_is() {
        assert_eq!(at(2.0412, 0.0029), "ε 2.042 at δ = 2.90e-3");
        assert_eq!(at(2.041, 1e-5), "ε 2.041 at δ = 1.00e-5");
    }
}
