//! `sordino-net replay`, `promise`: a server's or an agent's folder, checked; what was promised, signed.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::de::IgnoredAny;
use sordino_core::federated::Aggregation;
use sordino_core::federated::exchange::Protocol;
use sordino_core::privacy::accountant::Accountant;
use sordino_core::wire::{self, Kind};
use sordino_host::files::read_text;
use sordino_host::ledger::{Contents, Spent};
use sordino_sim::cli::error::CliError;
use sordino_sim::cli::print;
use sordino_sim::metrics::SMALL_DELTA;
use sordino_sim::text::MEANING;

use crate::agent::replay::{self, Replayed};
use crate::cost::Cost;
use crate::folder;
use sordino_host::hex::{bytes_of, hex};
use sordino_host::signature::{Fingerprint, verified};

/// Arguments of `promise`.
#[derive(Clone, Debug, Args)]
pub struct Folder {
    /// The server's folder
    folder: PathBuf,
}

/// Arguments of `replay`.
#[derive(Clone, Debug, Args)]
pub struct Replay {
    /// The server's folder, or an agent's
    folder: PathBuf,
}

/// Checks a server's folder (history, charges and loss), or repeats an agent's queries and uploads.
pub fn replay(arguments: &Replay) -> Result<(), CliError> {
    let [file, journal] = [replay::AGENT, "agent.journal"].map(|name| arguments.folder.join(name).exists());
    if file || journal { replay_agent(&arguments.folder) } else { replay_server(&arguments.folder) }
}

fn replay_agent(folder: &Path) -> Result<(), CliError> {
    let Replayed { agent, lines, frames, missed, queries, uploads, chain } =
        replay::replay(folder).map_err(CliError::failure)?;
    print(&format!(
        "agent {agent}: {lines} lines, {frames} frames of which {missed} were missed, {queries} queries and {uploads} uploads, \
         all reproduced\nchain {chain}\n"
    ))
}

/// Compares history, charges and loss: every frame must continue the ones before, every broadcast must have one charge; ε
/// is computed from the charges in the ledger.
fn replay_server(folder: &Path) -> Result<(), CliError> {
    let folder = folder::Folder::open(folder).map_err(CliError::failure)?;
    let numbers = folder.terms.agreement.frame_numbers_max();
    let found = folder.found::<IgnoredAny>().map_err(CliError::failure)?;
    let (frames, history, planned) = match &found {
        Some(found) => (&found.frames[..], &found.history[..], found.open.planned.as_ref()),
        None => (&[][..], &[][..], None),
    };
    let mut broadcasts = 0;
    for frame in frames {
        let (header, _) = wire::decode(frame, numbers).map_err(CliError::failure)?;
        broadcasts += u64::from(header.kind == Kind::Broadcast);
    }
    let ledger = Contents::read(&folder.path().join("ledger.jsonl"), planned).map_err(CliError::failure)?;
    let Spent { epsilon, charges, .. } = ledger.spent;
    let chain = history.last().copied().unwrap_or_default();
    let frames = frames.len();
    print(&format!("frames {frames}, broadcasts {broadcasts}, charges {charges}, ε {epsilon:.3}\nchain {chain}\n"))?;
    if charges == broadcasts {
        return Ok(());
    }
    let told = if charges < broadcasts { "a release was not charged" } else { "a broadcast is missing" };
    Err(CliError::failure(format!("{broadcasts} broadcasts and {charges} charges: {told}")))
}

/// What a promise does not cover; docs/privacy.md says more about each.
const NOT_COVERED: [&str; 21] = [
    "the server, which sees every agent's vectors; whoever has its key and its disk is the server",
    "that the server does what it says: an agent believes it about q, z, δ and the noise that is added",
    "that an agent is enrolled, how many there are, their weights and regions",
    "who takes part and when, which the network shows",
    "an agent's own queries, seen by those who evaluate them",
    "what is true of many agents alike, which is what is published",
    "anything fitted to the agents' data and used as public: constants, lengthscale, variances, ranges, candidates, clipping norm",
    "losses elsewhere: another run, server or program with the same data has its own, and they add up",
    "two agents that one person enrols: they are two units",
    "the secret sample, if the server tells it: ε counts on its secrecy",
    "rounds that close early: they show that nobody was absent, and how many have joined",
    "rounds that are held until a number of agents have answered: they show whether so many have",
    "a revoked agent where rounds close early",
    "a round that takes longer than its deadline and delay: that shows",
    "a process on the server's machine that sees when noise is drawn",
    "copies of a running server (a snapshot with its memory): both draw the same sample and noise",
    "swap, memory dumps and permissions of files that somebody made readable",
    "a ledger and its second count that are restored together from a backup",
    "an agent's own disk: its observations and the seed of its draws are not encrypted",
    "an invitation that somebody else shows first, or an authority that signs for somebody else",
    "randomness that can be guessed: the guarantee is as good as the system's generator",
];

/// None where there is no finite bound.
fn finite(epsilon: f64) -> Option<f64> {
    epsilon.is_finite().then_some(epsilon)
}

/// What the mechanism is, in the words of its method.
fn mechanism(protocol: &Protocol) -> serde_json::Value {
    match protocol {
        Protocol::Draws(draws) => match draws.config.parameters().aggregation {
            Aggregation::Private { clipping_norm, sampling_probability, noise_multiplier, .. } => serde_json::json!({
                "method": "draws", "sampling_probability": sampling_probability, "noise_multiplier": noise_multiplier,
                "clipping_norm": clipping_norm,
            }),
            _ => serde_json::json!({"method": "draws"}),
        },
        Protocol::Prior(prior) => serde_json::json!({
            "method": "federated prior", "sampling_probability": 1.0, "noise_multipliers": prior.noise_multipliers,
            "releases_after_rounds": prior.release_rounds,
        }),
        Protocol::Campaign(campaign) => serde_json::json!({
            "method": "campaign", "sampling_probability": 1.0, "noise_multipliers": campaign.noise_multipliers,
            "publication": campaign.publication.to_string(),
        }),
    }
}

/// Prints what is promised to agents, and the server's signature of it.
pub fn promise(arguments: &Folder) -> Result<(), CliError> {
    let folder = folder::Folder::open(&arguments.folder).map_err(CliError::failure)?;
    let agreement = &folder.terms.agreement;
    let unprotected = || CliError::failure("this method's releases protect nobody");
    let cost = Cost::of(&agreement.protocol).map_err(CliError::failure)?.ok_or_else(unprotected)?;
    let (delta, most, releases) = (agreement.announced.delta, agreement.announced.epsilon_max, cost.releases());
    let tight = cost.tight(releases).map_err(CliError::failure)?;
    let epsilon = |delta| cost.epsilon(releases, delta).map_err(CliError::failure);
    let between = |delta| cost.between(releases, delta).map(finite).map_err(CliError::failure);
    let mut text = mechanism(&agreement.protocol);
    let promised = serde_json::json!({
        "agreement": agreement.digest().to_string(),
        "run": format!("{:016x}", agreement.deployment),
        "unit": "agent: all contributions of one enrolled agent",
        "relation": "zero-out: one agent's vectors replaced by zero; N and weights public",
        "agents": agreement.protocol.agents(), "rounds": agreement.protocol.rounds(), "releases": releases,
        "delta": delta,
        "epsilon_of_all_rounds": epsilon(delta)?, "epsilon_max": most,
        "epsilon_of_all_rounds_at_1e-5": epsilon(SMALL_DELTA)?,
        "accountant": cost.accountant(),
        "epsilon_between_contributions": between(delta)?,
        "epsilon_between_contributions_at_1e-5": between(SMALL_DELTA)?,
        "best_guess": tight.best_guess().map_err(CliError::failure)?,
        "accountant_of_these": "privacy-loss distributions, never below the truth",
        "meaning": MEANING,
        "round_deadline_ms": agreement.announced.deadline_ms,
        "closes_early": agreement.announced.may_close_early,
        "trusted": "the server: it sees every agent's vectors",
        "not_covered": NOT_COVERED,
    });
    if let (Some(text), serde_json::Value::Object(promised)) = (text.as_object_mut(), promised) {
        text.extend(promised);
    }
    // Without an authority the terms are the agreement, and so is their digest.
    if folder.terms.authority.is_some() {
        text["terms"] = folder.terms.digest().to_string().into();
    }
    let text = text.to_string();
    let signature = folder.keys.present.sign(text.as_bytes()).map_err(CliError::failure)?;
    let key = folder.keys.present.fingerprint().map_err(CliError::failure)?;
    let public = hex(&folder.keys.present.public_key().map_err(CliError::failure)?);
    print(&format!(
        "{text}\nsigned by {key} (ECDSA P-256, SHA-256, of the line above): {}\npublic key {public}\n",
        hex(&signature)
    ))
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

/// Whether a promise is signed by the key that it names, and that key is the one that was asked for.
pub fn verify(arguments: &Verify) -> Result<(), CliError> {
    let text = if arguments.file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().take(PROMISE_BYTES_MAX).read_to_string(&mut text).map_err(CliError::failure)?;
        text
    } else {
        read_text(&arguments.file, PROMISE_BYTES_MAX).map_err(CliError::failure)?
    };
    let mut lines = text.lines();
    let (Some(promise), Some(signed), Some(public)) = (lines.next(), lines.next(), lines.next()) else {
        return Err(CliError::input("three lines are expected: the promise, its signature, the public key"));
    };
    let signature = signed.rsplit(' ').next().and_then(bytes_of);
    let public = public.strip_prefix("public key ").and_then(bytes_of);
    let (Some(signature), Some(public)) = (signature, public) else {
        return Err(CliError::input("a signature and a public key in hexadecimal digits are expected"));
    };
    let Some(key) = verified(&public, promise.as_bytes(), &signature) else {
        return Err(CliError::failure("the promise is not signed by this key: it was changed, or its signature"));
    };
    match arguments.key {
        Some(expected) if expected != key => {
            Err(CliError::failure(format!("the promise is signed by {key}, not by {expected}")))
        }
        Some(_) => print(&format!("signed by {key}, as expected\n")),
        None => print(&format!("signed by {key}; compare it with a pin of an invitation, or say --key\n")),
    }
}
