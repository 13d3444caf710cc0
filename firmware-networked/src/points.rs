//! What a site of a campaign measures: which point of its list, what that is worth, and what flash says of it.

use firmware_example::reset::{Flash, Stop};
use sordino_core::digest::Digest;
use sordino_core::federated::Entry;

use crate::fatal::Fatal;
use crate::party::LOG;
use crate::plant;
use crate::provision::Given;

/// Which point of the list a site measures as this number: sites have different ones as long as there are enough.
pub fn first_place(slot: u32, number: u32, first: u32, points: u32) -> u32 {
    let place = u64::from(slot) * u64::from(first) + u64::from(number);
    (place % u64::from(points.max(1))) as u32
}

/// What a value counts as: larger is better.
pub fn worth(given: &Given<'_>, value: f32) -> f32 {
    if given.minimises { -value } else { value }
}

/// What is measured there, from flash if it was measured before: it is there before anybody learns of it.
///
/// **Errors**: [`Fatal`].
pub fn measured(
    flash: &mut Flash<'_>,
    agreement: &Digest,
    (slot, number, place): (u32, u32, u32),
    point: &[f32],
) -> Result<Entry<f32>, Fatal> {
    let at = LOG + number as usize;
    match flash.entry::<Entry<f32>>(at, number, agreement) {
        Some(entry) if entry.candidate == place => Ok(entry),
        _ => {
            flash.step().map_err(Stop::from)?;
            let value = plant::shows(slot, point);
            if !value.is_finite() {
                return Err(Fatal::Given("its sensor says no number"));
            }
            let entry = Entry { candidate: place, value };
            flash.write(at, &entry, number, agreement)?;
            Ok(entry)
        }
    }
}
