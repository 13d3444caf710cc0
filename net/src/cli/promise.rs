//! `sordino-net promise`: what is promised to agents, signed by the server, or by the helper of
//! two.

use std::path::{Path, PathBuf};

use clap::Args;
use sordino_core::federated::Aggregation;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::shares::Trust;
use sordino_core::privacy::accountant::Accountant;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_experiment::metrics::SMALL_DELTA;
use sordino_experiment::text::MEANING;
use sordino_host::hex::hex;

use super::audit;
use crate::cost::Cost;
use crate::folder::Folder;
use crate::help::folder::HelpFolder;
use crate::identity::Identity;
use crate::serve::leader::KnownHelper;
use crate::shares;
use crate::terms::Terms;

/// Arguments of `promise`.
#[derive(Clone, Debug, Args)]
pub struct Promise {
    /// The server's folder, or its helper's
    folder: PathBuf,
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

/// Rounds that the server announces. A site of a campaign goes on alone after the last release:
/// what it evaluates then is no round.
fn rounds(protocol: &Protocol) -> u32 {
    match protocol {
        Protocol::Campaign(campaign) => campaign.releases(),
        Protocol::Draws(_) | Protocol::Prior(_) | Protocol::Vote(_) | Protocol::Own(_) => {
            protocol.rounds()
        }
    }
}

/// What the mechanism is, in the words of its method.
fn mechanism(protocol: &Protocol) -> serde_json::Value {
    match protocol {
        Protocol::Draws(draws) => match draws.config.parameters().aggregation {
            Aggregation::Private {
                clipping_norm,
                sampling_probability,
                noise_multiplier,
                ..
            } => serde_json::json!({
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
        Protocol::Vote(vote) => match vote.ballot.parameters().aggregation {
            Aggregation::Private {
                clipping_norm,
                sampling_probability,
                noise_multiplier,
                ..
            } => serde_json::json!({
                "method": "vote", "sampling_probability": sampling_probability, "noise_multiplier": noise_multiplier,
                "clipping_norm": clipping_norm,
            }),
            _ => serde_json::json!({"method": "vote"}),
        },
        // Nobody promises anything for it: its releases have no cost.
        Protocol::Own(own) => {
            serde_json::json!({"method": "own", "digest": own.digest.to_string()})
        }
    }
}

/// Who sees what in the place of [`NOT_COVERED`]'s first lines, where there are two servers.
const NOT_COVERED_BY_TWO: [&str; 5] = [
    "leader and helper together: whoever has the keys and the disks of both sees every agent's vectors",
    "a helper that reads the traffic between agents and leader, or a leader that holds the helper's key of masks",
    "that the honest one of the two does what it says: an agent believes it about δ and the noise that is added",
    "an agent whose disk was set back: a mask that serves two vectors shows their difference",
    "the result, against agents that lie about their vectors: nobody but their own device sees the norm",
];

/// What is signed, and by whom.
struct Signed {
    terms: Terms,
    identity: Identity,
    /// Which of the servers signs, in words, and the key of the helper's masks; nothing where there
    /// is one server.
    role: Option<(&'static str, String)>,
}

impl Signed {
    /// What a server's folder, or a helper's, promises: nothing that the folder itself contradicts.
    fn of(path: &Path) -> Result<Self, CliError> {
        if HelpFolder::is_one(path) {
            let folder = HelpFolder::open(path).map_err(CliError::failure)?;
            let terms = folder.terms().map_err(CliError::failure)?;
            let terms = terms.ok_or_else(|| {
                CliError::failure("this helper has no terms yet: it promises nothing")
            })?;
            audit::promised_by_helper(&folder, &terms)?;
            let masks = folder.mask_key().map_err(CliError::failure)?.to_string();
            return Ok(Signed {
                terms,
                identity: folder.identity,
                role: Some(("helper", masks)),
            });
        }
        let folder = Folder::open(path).map_err(CliError::failure)?;
        audit::promised(&folder)?;
        let identity = Identity::read_file(&path.join("server.key")).map_err(CliError::failure)?;
        let role = match shares::trust(&folder.terms.agreement.protocol) {
            Trust::OneServer => None,
            Trust::TwoServers => {
                let known = KnownHelper::read(path).map_err(CliError::failure)?;
                let known =
                    known.ok_or_else(|| CliError::failure("the helper was not reached yet"))?;
                Some(("leader", known.masks.to_string()))
            }
        };
        Ok(Signed {
            terms: folder.terms,
            identity,
            role,
        })
    }

    /// Who is trusted, and what is not covered, added to a promise.
    fn trusted(&self, text: &mut serde_json::Value) {
        match &self.role {
            None => {
                text["trusted"] = "the server: it sees every agent's vectors".into();
                text["not_covered"] = NOT_COVERED.to_vec().into();
            }
            Some((role, masks)) => {
                text["trust"] = Trust::TwoServers.to_string().into();
                text["signed_by"] = (*role).into();
                text["helper_masks_key"] = masks.clone().into();
                text["trusted"] =
                    "either one of two servers, leader and helper: neither sees an agent's vectors unless both work together".into();
                text["noise"] =
                    "each server adds the whole noise of its mechanism: a reader sees both".into();
                text["not_covered"] = [&NOT_COVERED_BY_TWO[..], &NOT_COVERED[2..]].concat().into();
            }
        }
    }
}

/// Prints what is promised to agents, and the server's signature of it.
pub fn promise(arguments: &Promise) -> Result<(), CliError> {
    let signed = Signed::of(&arguments.folder)?;
    let agreement = &signed.terms.agreement;
    let cost = Cost::of(&agreement.protocol)
        .map_err(CliError::failure)?
        .ok_or_else(|| CliError::failure("this method's releases protect nobody"))?;
    let delta = agreement.announced.delta;
    let most = agreement.announced.epsilon_max;
    let releases = cost.releases();
    let tight = cost.tight(releases).map_err(CliError::failure)?;
    let epsilon = |delta| cost.epsilon(releases, delta).map_err(CliError::failure);
    let between = |delta| {
        cost.between(releases, delta)
            .map(finite)
            .map_err(CliError::failure)
    };
    let mut text = mechanism(&agreement.protocol);
    let promised = serde_json::json!({
        "agreement": agreement.digest().to_string(),
        "run": format!("{:016x}", agreement.deployment),
        "unit": "agent: all contributions of one enrolled agent",
        "relation": "zero-out: one agent's vectors replaced by zero; N and weights public",
        "agents": agreement.protocol.agents(), "rounds": rounds(&agreement.protocol), "releases": releases,
        "delta": delta,
        "epsilon_of_all_rounds": epsilon(delta)?, "epsilon_max": most,
        "epsilon_of_all_rounds_at_1e-5": epsilon(SMALL_DELTA)?,
        "accountant": cost.accountant(),
        "epsilon_between_contributions": between(delta)?,
        "epsilon_between_contributions_at_1e-5": between(SMALL_DELTA)?,
        "best_guess": tight.best_guess().map_err(CliError::failure)?,
        "accountant_of_these": "epsilon_between_contributions and best_guess: privacy-loss distributions, never below the truth",
        "meaning": MEANING,
        "round_deadline_ms": agreement.announced.deadline_ms,
        "closes_early": agreement.announced.may_close_early,
    });
    if let (Some(text), serde_json::Value::Object(promised)) = (text.as_object_mut(), promised) {
        text.extend(promised);
    }
    signed.trusted(&mut text);
    // Without an authority the terms are the agreement, and so is their digest.
    if signed.terms.authority.is_some() {
        text["terms"] = signed.terms.digest().to_string().into();
    }
    let text = text.to_string();
    let signature = signed
        .identity
        .sign(text.as_bytes())
        .map_err(CliError::failure)?;
    let key = signed.identity.fingerprint().map_err(CliError::failure)?;
    let public = hex(&signed.identity.public_key().map_err(CliError::failure)?);
    print(&format!(
        "{text}\nsigned by {key} (ECDSA P-256, SHA-256, of the line above): {}\npublic key {public}\n",
        hex(&signature)
    ))
}
