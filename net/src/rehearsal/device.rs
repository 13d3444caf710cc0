//! Agent 0 of a rehearsal as a separate device: everything it must be given before its first boot, in one file.
//!
//! `firmware-networked` reads it. An emulated device has neither a sensor nor a source of randomness, so the file also holds
//! what a real one has itself: its secret, and the value of every candidate at each of its observations.

use std::path::Path;

use sordino_core::federated::log_len;
use sordino_core::math::Scalar;
use sordino_engine::federated::context::MethodContext;
use sordino_host::files::write_privately;

use crate::invitation::Invitation;
use crate::provision::{Provision, ProvisionError};

/// Which agent the device is.
pub const SLOT: u32 = 0;

/// What a device in QEMU's user network calls this machine.
const HOST: &str = "10.0.2.2";

/// Writes the file, readable by its owner alone: anyone who reads it can be the device. The invitation's host is replaced by
/// the emulator's name for this machine.
///
/// **Errors**: [`ProvisionError`].
pub fn write<T: Scalar>(
    path: &Path,
    context: &MethodContext<T>,
    invitation: &Invitation,
) -> Result<(), ProvisionError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    let port = invitation.address.rsplit(':').next().unwrap_or_default();
    let invitation = Invitation { address: format!("{HOST}:{port}"), ..invitation.clone() }.to_string();
    let (run, observations) = (&context.run, log_len(&context.config) / 2);
    let candidates = run.objective.candidates().len() / run.objective.dim();
    let mut sensor = Vec::with_capacity(4 * observations * candidates);
    for number in 0..observations as u32 {
        for candidate in 0..candidates as u32 {
            let value = run.objective.observe(SLOT, candidate, number) as f32;
            sensor.extend_from_slice(&value.to_le_bytes());
        }
    }
    let provision = Provision { invitation, secret, seed: run.seed, rehearses: true, sensor, site: None };
    Ok(write_privately(path, &postcard::to_allocvec(&provision)?)?)
}
