//! What a site does with the file of its campaign: it is fetched once into flash, and the search goes on with it.

use cortex_m_semihosting::hprintln;
use firmware_example::reset::Flash;
use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::Entry;
use sordino_core::federated::exchange::{Agreement, FrameError};
use sordino_core::prior::{
    Newcomer, NewcomerSettings, PriorNumbers, PublicPrior, attach_len, numbers_len, storage_len,
};
use sordino_core::snapshot::Stored;
use sordino_core::wire::{self, Kind, ScalarTag, prefix};

use crate::fatal::Fatal;
use crate::machine::WORD;
use crate::party::LOG;
use crate::points::{first_place, measured, worth};
use crate::provision::Given;

/// Points that are measured with the file.
pub const QUESTIONS: u32 = 8;
/// The slot that says how long the file in flash is: where masks stand in other methods, of which a site has none.
const FILE: usize = 2;
const NONE: Fatal = Fatal::Given("its campaign ended without one, or the server before it came");
const SHORT: Fatal = Fatal::Given("a file with more numbers than this device has memory for");

/// Bytes of the file that is whole in flash.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Fetched(u32);

impl Stored for Fetched {
    const KIND: u8 = 0x53;
    const BODY_MAX: usize = WORD;
}

/// Whether a file of M landmarks in `dim` dimensions and the search with it fit this device: found out before anything is contributed to it.
pub fn fits((landmarks, dim, first): (usize, usize, u32), memory: &[f64], file: &[u8]) -> bool {
    let numbers = numbers_len(landmarks, dim);
    let search = attach_len(landmarks) + storage_len(landmarks, (first + QUESTIONS) as usize, 1);
    numbers + search <= 2 * memory.len() && wire::frame_len_max(ScalarTag::F32, numbers) <= file.len()
}

/// The file of the campaign, if all of it is in flash and whole; nothing of it where it ended without one.
pub fn stored<'f>(file: &'f [u8], slots: &Flash<'_>, agreement: &Digest) -> Option<Option<&'f [u8]>> {
    match slots.entry(FILE, 0, agreement)? {
        Fetched(0) => Some(None),
        Fetched(len) => file.get(..len as usize).filter(|file| wire::decode(file, u32::MAX).is_ok()).map(Some),
    }
}

/// Takes a file that was written into flash, once it is whole and of this history; false for an older one. No bytes are a
/// campaign that ended without a file.
///
/// **Errors**: [`Fatal`].
pub fn keep(file: &[u8], slots: &mut Flash<'_>, agreement: &Agreement, history: &Digest) -> Result<bool, Fatal> {
    let digest = agreement.digest();
    if !file.is_empty() {
        let (header, _) = wire::decode(file, u32::MAX)?;
        if (header.deployment, header.config, header.kind) != (agreement.deployment, prefix(&digest), Kind::Prior) {
            return Err(Fatal::Frame(FrameError::Foreign));
        }
        if header.chain != prefix(history) {
            return Ok(false);
        }
    }
    slots.write(FILE, &Fetched(file.len() as u32), 0, &digest)?;
    Ok(true)
}

/// Searches on with the file, or alone where there is none: how many points were measured in all. Every value is in flash before the next question.
///
/// **Errors**: [`Fatal`].
pub fn go_on(
    (agreement, slot): (&Agreement, u32),
    given: &Given<'_>,
    file: &[u8],
    slots: &mut Flash<'_>,
    memory: &mut [f32],
) -> Result<u32, Fatal> {
    let dim = agreement.dim as usize;
    let first = agreement.protocol.initial_points();
    let digest = agreement.digest();
    let file = stored(file, slots, &digest).flatten();
    let features = given.landmarks.len() / dim;
    let (prior, rest) = match file.map(|file| attached((dim, features), file, &mut *memory)) {
        Some(Ok((prior, rest))) => (Some(prior), rest),
        refused => {
            // What is no file, or none that this device has memory for, helps nobody.
            hprintln!("no file: {}", refused.and_then(Result::err).unwrap_or(NONE));
            (None, memory)
        }
    };
    let landmarks = prior.as_ref().map_or(0, PublicPrior::count);
    let capacity = (first + QUESTIONS) as usize;
    let storage = rest.get_mut(..storage_len(landmarks, capacity, 1)).ok_or(SHORT)?;
    let settings = NewcomerSettings::default();
    let mut search = Newcomer::new(given.points, dim, prior.as_ref(), settings, capacity, storage)?;
    let count = (given.points.len() / dim) as u32;
    for number in 0..first + QUESTIONS {
        let place = match number < first {
            true => first_place(slot, number, first, count),
            false => search.suggest() as u32,
        };
        let entry = measured(slots, &digest, (slot, number, place), given.point(place, dim)?)?;
        search.observe(place as usize, worth(given, entry.value))?;
    }
    let trust = search.trust();
    for (what, numbers) in [("first points", 0..first), ("with the file", first..first + QUESTIONS)] {
        let entries = numbers.filter_map(|number| slots.entry::<Entry<f32>>(LOG + number as usize, number, &digest));
        let best = entries.max_by(|a, b| worth(given, a.value).total_cmp(&worth(given, b.value))).ok_or(SHORT)?;
        hprintln!("{}: {} at {:?}", what, best.value, given.point(best.candidate, dim)?);
    }
    hprintln!("trust in the file: {}", trust);
    Ok(first + QUESTIONS)
}

/// The file with its numbers in memory, and what is left of that: of so many dimensions and landmarks.
fn attached<'m>(
    (dim, features): (usize, usize),
    file: &[u8],
    memory: &'m mut [f32],
) -> Result<(PublicPrior<'m, f32>, &'m mut [f32]), Fatal> {
    let (header, payload) = wire::decode(file, u32::MAX)?;
    if header.len as usize != numbers_len(features, dim) {
        return Err(Fatal::Given("a file with other landmarks than its campaign"));
    }
    let (numbers, rest) = memory.split_at_mut_checked(header.len as usize).ok_or(SHORT)?;
    payload.read(numbers)?;
    let numbers = PriorNumbers::read(dim, numbers)?;
    let (factor, rest) = rest.split_at_mut_checked(attach_len(features)).ok_or(SHORT)?;
    Ok((PublicPrior::attach(numbers, factor)?, rest))
}
