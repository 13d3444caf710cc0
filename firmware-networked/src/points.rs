//! What a site of a campaign measures: which point of its list is one of its first, what that is
//! worth, and what flash says of it.

use bytemuck::Pod;
use firmware_example::reset::{Flash, Stop};
use sordino_core::digest::Digest;
use sordino_core::federated::Entry;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed};

use crate::fatal::Fatal;
use crate::machine::LOG;
use crate::plant;
use crate::provision::Given;

/// Where the values of a site come from.
pub enum Sensor<'s> {
    /// A plant, at points that are the site's choice: those of this slot.
    Plant(u32),
    /// A table of `f64`: the first observation at each candidate, then the second, and so on.
    Table(&'s [u8]),
}

/// How a site chooses its first points.
#[derive(Clone, Copy)]
pub enum First {
    /// Along the list: sites have different ones as long as there are enough. Of this slot, with so
    /// many each.
    Listed(u32, u32),
    /// Each drawn among all, as simulated sites do: of this run and this agent.
    Drawn(RunSeed, u32),
}

impl First {
    /// Which point of so many it measures as this number.
    pub fn place(self, number: u32, count: u32) -> u32 {
        match self {
            First::Listed(slot, first) => {
                let place = u64::from(slot) * u64::from(first) + u64::from(number);
                (place % u64::from(count.max(1))) as u32
            }
            First::Drawn(seed, agent) => seed
                .stream(Party::Agent(agent), Purpose::InitialPoints, number)
                .below(count.max(1)),
        }
    }
}

impl Sensor<'_> {
    fn shows<T: Scalar + Pod>(
        &self,
        given: &Given<'_, T>,
        number: u32,
        place: u32,
    ) -> Result<f64, Fatal> {
        match self {
            Sensor::Plant(slot) => Ok(f64::from(plant::shows(*slot, given.point(place)?))),
            Sensor::Table(values) => {
                let at = 8 * (number as usize * given.count() as usize + place as usize);
                let shown = values.get(at..).and_then(|rest| rest.first_chunk());
                shown
                    .map(|bytes| f64::from_le_bytes(*bytes))
                    .ok_or(Fatal::Given("its sensor has no such value"))
            }
        }
    }
}

/// What is measured there as this number, from flash if it was measured before: it is there before
/// anybody learns of it.
///
/// **Errors**: [`Fatal`].
pub fn measured<T: Scalar + Pod>(
    flash: &mut Flash<'_>,
    agreement: &Digest,
    (given, sensor): (&Given<'_, T>, &Sensor<'_>),
    (number, place): (u32, u32),
) -> Result<Entry<f64>, Fatal> {
    let at = LOG + number as usize;
    match flash.entry::<Entry<f64>>(at, number, agreement) {
        // Measured before, perhaps with another file or none: it costs something to measure.
        Some(entry) => Ok(entry),
        None => {
            flash.step().map_err(Stop::from)?;
            let value = sensor.shows(given, number, place)?;
            if !value.is_finite() {
                return Err(Fatal::Given("its sensor says no number"));
            }
            let entry = Entry {
                candidate: place,
                value,
            };
            flash.write(at, &entry, number, agreement)?;
            Ok(entry)
        }
    }
}

/// What was measured as this number, which is in flash.
///
/// **Errors**: [`Fatal::Given`].
pub fn known(flash: &Flash<'_>, agreement: &Digest, number: u32) -> Result<Entry<f64>, Fatal> {
    flash
        .entry(LOG + number as usize, number, agreement)
        .ok_or(Fatal::Given("an observation is missing in its log"))
}
