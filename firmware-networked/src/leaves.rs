//! What a rehearsal wants to know of an epoch besides its answer: the leaves of the transcript, of
//! which the simulator's digest is made.

use firmware_example::reset::Flash;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::digest::Digest;
use sordino_core::federated::Entry;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::transcript::{AgentLeaf, Step, steps, steps_max};
use sordino_core::math::Scalar;

use crate::fatal::Fatal;
use crate::machine::LOG;

/// What follows an upload for each step of its epoch: the agent's leaf of the transcript and its
/// best value.
const STEP: usize = 40;

/// Bytes that follow an upload.
pub fn trailer_len(protocol: &Protocol) -> usize {
    STEP * steps_max(protocol)
}

/// Appends the leaves of an epoch behind `used` bytes: how many bytes there are then. `counts` says
/// what a value in the log counts as in the transcript.
///
/// **Errors**: [`Fatal::Given`].
pub fn append<T: Scalar + Serialize + DeserializeOwned>(
    (protocol, digest, agent): (&Protocol, &Digest, u32),
    (flash, counts): (&Flash<'_>, impl Fn(T) -> T),
    (epoch, upload): (u32, &[T]),
    (used, out): (usize, &mut [u8]),
) -> Result<usize, Fatal> {
    let end = used + trailer_len(protocol);
    let places = out
        .get_mut(used..end)
        .ok_or(Fatal::Given("an answer too long"))?;
    // The best value without noise, which no device knows, stays 0: it is in no digest.
    places.fill(0);
    for (place, step) in places.chunks_exact_mut(STEP).zip(steps(protocol, epoch)) {
        let Step {
            round,
            observations: (from, until),
            gives,
        } = step;
        let mut leaf = AgentLeaf::new(agent, round, until - from);
        for number in from..until {
            let entry: Option<Entry<T>> = flash.entry(LOG + number as usize, number, digest);
            let entry = entry.ok_or(Fatal::Given("an observation is missing in its log"))?;
            leaf.observation(entry.candidate, counts(entry.value));
        }
        place[..32].copy_from_slice(&leaf.end(if gives { upload } else { &[] }).0);
    }
    Ok(end)
}
