//! Agent 0 of a rehearsal as a separate device: everything it must be given before its first boot,
//! in one file.
//!
//! `firmware-networked` reads it. An emulated device has neither a sensor nor a source of
//! randomness, so the file also holds what a real one has itself: its secret, and the value of
//! every candidate at each of its observations.

use std::path::Path;

use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::log_len;
use sordino_core::federated::prior::CampaignProtocol;
use sordino_core::math::Scalar;
use sordino_core::wire::{self, ScalarTag};
use sordino_engine::federated::context::MethodContext;
use sordino_host::campaign::{Campaign, search_seed};
use sordino_host::files::write_privately;

use crate::agent::SLOT_BYTES;
use crate::invitation::Invitation;
use crate::provision::{self, BYTES_MAX, Provision, ProvisionError};
use crate::terms::Terms;

/// Which agent the device is.
pub const SLOT: u32 = 0;

/// What a device in QEMU's user network calls this machine.
const HOST: &str = "10.0.2.2";

/// Values that `firmware-networked` keeps of a site, and bytes of its longest answer.
const VALUES_MAX: usize = 32;
const ANSWER_MAX: usize = 1024;

/// Evaluations after its first points that a device makes in a rehearsal: it keeps them all, and
/// its last answer has a leaf of each.
fn rounds_max(protocol: &CampaignProtocol) -> usize {
    let config = &protocol.config;
    let frame = wire::frame_len_max(ScalarTag::F64, config.contribution_len());
    let kept = VALUES_MAX.saturating_sub(config.parameters().initial_points as usize);
    kept.min(ANSWER_MAX.saturating_sub(frame) / SLOT_BYTES)
}

/// What the site of a rehearsal is given, if a device has memory for it and room in its answers.
fn site(campaign: &Campaign, seed: u64) -> Result<provision::Site, ProvisionError> {
    let site = provision::Site::new(campaign, seed, true)?;
    let rounds = campaign.protocol().rounds;
    let most = rounds_max(campaign.protocol());
    if rounds as usize > most {
        return Err(ProvisionError::Rounds { rounds, most });
    }
    Ok(site)
}

/// Writes the file, readable by its owner alone: anyone who reads it can be the device. The
/// invitation's host is replaced by the emulator's name for this machine.
///
/// **Errors**: [`ProvisionError`].
pub fn write<T: Scalar>(
    path: &Path,
    context: &MethodContext<T>,
    terms: &Terms,
    invitation: &Invitation,
) -> Result<(), ProvisionError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    let port = invitation.address.rsplit(':').next().unwrap_or_default();
    let invitation = Invitation {
        address: format!("{HOST}:{port}"),
        ..invitation.clone()
    };
    let run = &context.run;
    let observations = log_len(&context.config) / 2;
    let campaign = match &terms.agreement.protocol {
        Protocol::Campaign(_) => Some(terms.rehearsed()?),
        _ => None,
    };
    let site = match &campaign {
        Some(campaign) => Some(site(campaign, search_seed(run.seed, SLOT))?),
        None => None,
    };
    let candidates = run.objective.candidates().len() / run.objective.dim();
    let shown = (0..observations as u32)
        .flat_map(|number| (0..candidates as u32).map(move |place| (number, place)));
    let shown = shown.map(|(number, place)| run.objective.observe(SLOT, place, number));
    let sensor = match &campaign {
        // A site computes as hosts do, with all digits of what it is shown, in its space's unit.
        Some(campaign) => shown
            .flat_map(|value| (campaign.publication().goal.sign() * value).to_le_bytes())
            .collect(),
        None => shown
            .flat_map(|value| (value as f32).to_le_bytes())
            .collect(),
    };
    let given = Provision {
        invitation: invitation.to_string(),
        secret,
        seed: run.seed,
        rehearses: true,
        sensor,
        site: None,
    };
    let bytes = given.bytes(site)?;
    if bytes.len() > BYTES_MAX {
        return Err(ProvisionError::Long { bytes: bytes.len() });
    }
    Ok(write_privately(path, &bytes)?)
}
