//! Agent 0 of a rehearsal as a separate device: everything it must be given before its first boot, in one file.
//!
//! `firmware-networked` reads it. An emulated device has neither a sensor nor a source of randomness, so the file also holds
//! what a real one has itself: its secret, and the value of every candidate at each of its observations.

use std::path::Path;

use serde::Serialize;
use sordino_core::federated::log_len;
use sordino_core::math::Scalar;
use sordino_core::random::RunSeed;
use sordino_engine::federated::context::MethodContext;
use sordino_host::files::{FileError, write_privately};

use crate::invitation::Invitation;

/// Which agent the device is.
pub const SLOT: u32 = 0;

/// What a device in QEMU's user network calls this machine.
const HOST: &str = "10.0.2.2";

/// As the device reads it, in postcard form.
#[derive(Serialize)]
struct Provision {
    invitation: String,
    secret: [u8; 32],
    seed: RunSeed,
    /// Digests of what was observed follow every answer, for the comparison with the simulator.
    rehearses: bool,
    /// `f32`, little-endian: the value of the first observation at each candidate, then of the second, …
    sensor: Vec<u8>,
}

/// Why the file was not written.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its content has no binary form.
    #[error("what the device is given cannot be written: {0}")]
    Format(#[from] postcard::Error),
    /// The system gives no randomness.
    #[error("no randomness from the system: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// Writes the file, readable by its owner alone: anyone who reads it can be the device. The invitation's host is replaced by
/// the emulator's name for this machine.
///
/// **Errors**: [`DeviceError`].
pub fn write<T: Scalar>(path: &Path, context: &MethodContext<T>, invitation: &Invitation) -> Result<(), DeviceError> {
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
    let provision = Provision { invitation, secret, seed: run.seed, rehearses: true, sensor };
    Ok(write_privately(path, &postcard::to_allocvec(&provision)?)?)
}
