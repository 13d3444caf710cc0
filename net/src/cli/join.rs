//! `sordino-net join`: takes part, with a command of the user's for measuring.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Args;
use sordino_host::files::{read_text, write_privately};
use sordino_sim::cli::error::CliError;
use sordino_sim::cli::print;
use sordino_sim::text::significant;

use super::common;
use crate::agent::Query;
use crate::invitation::{Invitation, NoInvitation};
use crate::join::{Certified, Joining, WAIT_MAX, join};
use crate::progress::note;

/// An invitation is read up to this length.
const INVITATION_BYTES_MAX: u64 = 4096;

/// Arguments of `join`.
#[derive(Clone, Debug, Args)]
pub struct Join {
    /// The whole line that `sordino invite` printed; @FILE or - (standard input) keeps its token from others on this
    /// machine, who may read the arguments of every process
    #[arg(value_name = "INVITATION|@FILE|-")]
    invitation: String,
    /// Command that measures a point, run by `sh`: {x0}, {x1}, … are replaced by coordinates in [0, 1]; the last line it
    /// prints is the value, larger is better
    #[arg(long)]
    command: String,
    /// Where key and state are kept; start again with the same folder to go on [default: ./sordino-agent-RUN-SLOT]
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
    /// Print every point and its value: these are observations, so not for a log that others read
    #[arg(long)]
    show_values: bool,
}

/// Executes the command.
pub fn execute(arguments: &Join) -> Result<(), CliError> {
    if arguments.max_epsilon.is_some_and(|most| !(most > 0.0 && most.is_finite())) {
        return Err(CliError::input("--max-epsilon: a number above 0 is expected"));
    }
    let invitation = invitation(&arguments.invitation)?;
    let beside = || PathBuf::from(format!("sordino-agent-{:016x}-{}", invitation.deployment, invitation.slot));
    let folder = arguments.folder.clone().unwrap_or_else(beside);
    let certified = arguments.certificate.clone().zip(arguments.key.clone());
    let certified = certified.map(|(certificate, key)| Certified { certificate, key });
    if let Some(mode) = certified.as_ref().and_then(|certified| read_by_others(&certified.key)) {
        let key = certified.as_ref().map(|certified| certified.key.display().to_string()).unwrap_or_default();
        note(&format!("{key}: others on this machine may read the key (mode {mode:o}, 600 is expected)"));
    }
    let show = arguments.show_values;
    let joining = Joining { invitation, folder, certified, epsilon_max: arguments.max_epsilon, wait: WAIT_MAX };
    let joined =
        common::wait(join(&joining, |query| measure(&arguments.command, query, show)))?.map_err(CliError::failure)?;
    let told = match &joined.best {
        Some(best) if show => format!("best: {} at ({}), point {}\n", best.value, shown(&best.point), best.number + 1),
        Some(best) => {
            let (path, text) =
                (joining.folder.join("best.json"), serde_json::to_string(best).map_err(CliError::failure)?);
            write_privately(&path, format!("{text}\n").as_bytes()).map_err(CliError::failure)?;
            format!("best: in {}\n", path.display())
        }
        None => String::new(),
    };
    print(&format!(
        "agent {}: {} points measured, {} rounds contributed to, chain {}\n{told}",
        joined.agent,
        joined.observations,
        joined.given.len(),
        joined.chain
    ))
}

/// The invitation that an argument is, or names.
fn invitation(argument: &str) -> Result<Invitation, CliError> {
    let line = match (argument, argument.strip_prefix('@')) {
        ("-", _) => {
            let mut line = String::new();
            std::io::stdin().take(INVITATION_BYTES_MAX).read_to_string(&mut line).map_err(CliError::failure)?;
            line
        }
        (_, Some(path)) => read_text(Path::new(path), INVITATION_BYTES_MAX).map_err(CliError::failure)?,
        (line, None) => line.to_owned(),
    };
    line.parse().map_err(|error: NoInvitation| CliError::input(format!("invitation: {error}")))
}

/// Coordinates as people read them.
fn shown(point: &[f64]) -> String {
    point.iter().map(|x| significant(*x, 4)).collect::<Vec<_>>().join(", ")
}

/// The mode of a file that others than its owner may read or write.
fn read_by_others(path: &Path) -> Option<u32> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Runs the command for one point.
async fn measure(command: &str, query: Query, show: bool) -> Result<f64, String> {
    let mut text = command.to_owned();
    // The braces keep {x1} apart from {x10}, so any order would do.
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
            let what = if show { format!(" at ({}): {value}", shown(&query.point)) } else { " measured".into() };
            note(&format!("agent {}: point {}{what}", query.agent, query.number + 1));
            Ok(value)
        }
        _ => Err(format!("`{text}` printed {last:?} last, a finite number is expected")),
    }
}
