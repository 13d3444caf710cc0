//! `sordino-net join`: takes part with a command of the user's that measures.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Args;
use sordino_sim::cli::error::CliError;
use sordino_sim::text::significant;

use super::common;
use crate::agent::Query;
use crate::invitation::Invitation;
use crate::join::{Certified, Joining, WAIT_MAX, join};
use crate::progress::note;

/// Arguments of `join`.
#[derive(Clone, Debug, Args)]
pub struct Join {
    /// The whole line that `sordino-net invite` printed
    invitation: Invitation,
    /// What measures a point, run by `sh`: {x0}, {x1}, … are replaced by coordinates in [0, 1]; the last line it prints
    /// is the value, larger is better
    #[arg(long)]
    command: String,
    /// Where key and state are kept; the same folder continues [default: ./sordino-agent-RUN-SLOT]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// A certificate that the authority in the terms signed, in PEM, for a federation served with --ca
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Contribute to no more than this ε, and go on with what others share [default: what the terms say]
    #[arg(long, value_name = "EPSILON")]
    max_epsilon: Option<f64>,
}

/// Executes the command.
pub fn execute(arguments: &Join) -> Result<(), CliError> {
    if arguments.max_epsilon.is_some_and(|most| !(most > 0.0 && most.is_finite())) {
        return Err(CliError::input("--max-epsilon: a number above 0 is expected"));
    }
    let invitation = arguments.invitation.clone();
    let beside = || PathBuf::from(format!("sordino-agent-{:016x}-{}", invitation.deployment, invitation.slot));
    let folder = arguments.folder.clone().unwrap_or_else(beside);
    let certified = arguments.certificate.clone().zip(arguments.key.clone());
    let certified = certified.map(|(certificate, key)| Certified { certificate, key });
    if let Some(mode) = certified.as_ref().and_then(|certified| read_by_others(&certified.key)) {
        let key = certified.as_ref().map(|certified| certified.key.display().to_string()).unwrap_or_default();
        note(&format!("{key}: others on this machine may read the key (mode {mode:o}, 600 is expected)"));
    }
    let joining = Joining { invitation, folder, certified, epsilon_max: arguments.max_epsilon, wait: WAIT_MAX };
    let joined =
        common::wait(join(&joining, |query| measure(&arguments.command, query)))?.map_err(CliError::failure)?;
    println!(
        "agent {}: {} points measured, {} rounds contributed to, chain {}",
        joined.agent,
        joined.observations,
        joined.given.len(),
        joined.chain
    );
    Ok(())
}

/// The mode of a file that others than its owner may read or write.
fn read_by_others(path: &Path) -> Option<u32> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Runs the command for one point.
async fn measure(command: &str, query: Query) -> Result<f64, String> {
    let mut text = command.to_owned();
    // From the last: {x1} is no beginning of {x10}, but the other way round it would not matter either.
    for (i, x) in query.point.iter().enumerate().rev() {
        text = text.replace(&format!("{{x{i}}}"), &x.to_string());
    }
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", &text]).stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let output = shell.output().await.map_err(|error| format!("sh: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{text}` ended with {}", output.status));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let last = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match last.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => {
            let point: Vec<String> = query.point.iter().map(|x| significant(*x, 4)).collect();
            note(&format!("agent {}: point {} at ({}): {value}", query.agent, query.number + 1, point.join(", ")));
            Ok(value)
        }
        _ => Err(format!("`{text}` printed {last:?} last, a finite number is expected")),
    }
}
