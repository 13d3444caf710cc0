//! What a site does with the file of its campaign: it is fetched once into flash, and the search
//! goes on with it, by the rule of hosts' sites: with the file as long as values speak for it, from
//! fifteen values on with a model of its own beside it, else alone.

use core::fmt;

use bytemuck::Pod;
use cortex_m_semihosting::hprintln;
use firmware_example::reset::Flash;
use heapless::Vec;
use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::domain::{BoxDomain, DIM_MAX};
use sordino_core::federated::exchange::{Agreement, FrameError};
use sordino_core::math::Scalar;
use sordino_core::optimizer::{self, Optimizer, Settings};
use sordino_core::prior::{
    Newcomer, NewcomerSettings, OwnModel, PriorNumbers, PublicPrior, attach_len, numbers_len,
    own_model_from, storage_len,
};
use sordino_core::snapshot::Stored;
use sordino_core::wire::{self, Kind, ScalarTag, prefix};

use crate::fatal::Fatal;
use crate::machine::WORD;
use crate::points::{First, Sensor, known, measured};
use crate::provision::Given;

/// Points that are measured with the file, where a rehearsal does not say how many.
pub const QUESTIONS: u32 = 8;
/// Values of a site at most.
pub const VALUES_MAX: usize = 32;
/// Values that a search without a file has room for: as many as a host's has, on which its numbers
/// may depend.
const ALONE: usize = 64;
/// The slot that says how long the file in flash is: where masks stand in other methods, of which a
/// site has none.
const FILE: usize = 2;
const SHORT: Fatal = Fatal::Given("a file with more numbers than this device has memory for");

/// Bytes of the file that is whole in flash.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Fetched(u32);

impl Stored for Fetched {
    const KIND: u8 = 0x53;
    const BODY_MAX: usize = WORD;
}

/// What asks for a point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The file of its campaign.
    File,
    /// A model of the site's own beside the file.
    OwnModel,
    /// A search without the file.
    Alone,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Asked::File => "with the file",
            Asked::OwnModel => "with a model of its own",
            Asked::Alone => "alone",
        })
    }
}

/// Candidate and value of all observations; larger is better.
pub type Log<T> = Vec<(usize, T), VALUES_MAX>;

/// Whether a file of M landmarks and the search with it, or without, fit this device: found out
/// before anything is contributed to it.
pub fn fits<T: Scalar>(
    (landmarks, dim, values): (usize, usize, usize),
    memory: &[f64],
    file: &[u8],
) -> bool {
    let numbers = numbers_len(landmarks, dim);
    let beside = storage_len(landmarks, values, 1) + optimizer::storage_len(dim, values);
    let search = (numbers + attach_len(landmarks) + beside).max(optimizer::storage_len(dim, ALONE));
    values <= VALUES_MAX
        && search * T::BYTES <= size_of_val(memory)
        && wire::frame_len_max(ScalarTag::F32, numbers) <= file.len()
}

/// The file of the campaign, if all of it is in flash and whole; nothing of it where it ended
/// without one.
pub fn stored<'f>(
    file: &'f [u8],
    slots: &Flash<'_>,
    agreement: &Digest,
) -> Option<Option<&'f [u8]>> {
    match slots.entry(FILE, 0, agreement)? {
        Fetched(0) => Some(None),
        Fetched(len) => file
            .get(..len as usize)
            .filter(|file| wire::decode(file, u32::MAX).is_ok())
            .map(Some),
    }
}

/// Takes a file that was written into flash, once it is whole and of this history; false for an
/// older one. No bytes are a campaign that ended without a file.
///
/// **Errors**: [`Fatal`].
pub fn keep(
    file: &[u8],
    slots: &mut Flash<'_>,
    agreement: &Agreement,
    history: &Digest,
) -> Result<bool, Fatal> {
    let digest = agreement.digest();
    if !file.is_empty() {
        let header = wire::decode(file, u32::MAX)?.0;
        if (header.deployment, header.config, header.kind)
            != (agreement.deployment, prefix(&digest), Kind::Prior)
        {
            return Err(Fatal::Frame(FrameError::Foreign));
        }
        if header.chain != prefix(history) {
            return Ok(false);
        }
    }
    slots.write(FILE, &Fetched(file.len() as u32), 0, &digest)?;
    Ok(true)
}

/// Searches on with the file, or alone where there is none: how many points were measured in all.
/// Every value is in flash before the next question.
///
/// **Errors**: [`Fatal`].
pub fn go_on<T: Scalar + Pod>(
    (agreement, slot): (&Agreement, u32),
    given: &Given<'_, T>,
    file: &[u8],
    slots: &mut Flash<'_>,
    memory: &mut [f64],
) -> Result<u32, Fatal> {
    let first = agreement.protocol.initial_points();
    let digest = agreement.digest();
    let file = stored(file, slots, &digest).flatten();
    if file.is_none() {
        hprintln!("no file: its campaign ended without one, or the server before it came");
    }
    let order = First::Listed(slot, first);
    let sensor = Sensor::Plant(slot);
    let mut log = Log::new();
    let mut guided = 0;
    for number in 0..first + QUESTIONS {
        let place = match number < first {
            true => order.place(number, given.count()),
            false => {
                let (place, asked) = next(given, file, (first, &log), memory)?;
                guided += u32::from(asked != Asked::Alone);
                place
            }
        };
        let entry = measured(slots, &digest, (given, &sensor), (number, place))?;
        let value = T::from_f64(given.worth(entry.value));
        log.push((entry.candidate as usize, value))
            .map_err(|_| SHORT)?;
    }
    for (what, numbers) in [
        ("first points", 0..first),
        ("with the file", first..first + QUESTIONS),
    ] {
        let mut best = None;
        for number in numbers {
            let entry = known(slots, &digest, number)?;
            if best.is_none_or(|(_, worth)| given.worth(entry.value) > worth) {
                best = Some((entry, given.worth(entry.value)));
            }
        }
        let (best, _) = best.ok_or(SHORT)?;
        hprintln!(
            "{}: {} at {:?}",
            what,
            best.value as f32,
            given.point(best.candidate)?
        );
    }
    hprintln!("asked with the file: {} of {}", guided, QUESTIONS);
    Ok(first + QUESTIONS)
}

/// Which point of the list is measured next after these values, of which the first ones were no
/// questions, and what asks for it.
///
/// **Errors**: [`Fatal`].
pub fn next<T: Scalar + Pod>(
    given: &Given<'_, T>,
    file: Option<&[u8]>,
    (first, log): (u32, &Log<T>),
    memory: &mut [f64],
) -> Result<(u32, Asked), Fatal> {
    let is_own = log.len() >= own_model_from(given.parameters);
    let mut chosen = None;
    with_file(given, file, log, memory, |search, rest| {
        if search.is_borne_out() {
            chosen = Some(match is_own {
                true => (
                    OwnModel::fit(search, rest)?.suggest(search)? as u32,
                    Asked::OwnModel,
                ),
                false => (search.suggest() as u32, Asked::File),
            });
        }
        Ok(())
    })?;
    match chosen {
        Some(chosen) => Ok(chosen),
        None => Ok((
            alone(given, (first, log), bytemuck::cast_slice_mut(memory))?,
            Asked::Alone,
        )),
    }
}

/// What a search without the file asks, that was told the same.
fn alone<T: Scalar + Pod>(
    given: &Given<'_, T>,
    (first, log): (u32, &Log<T>),
    memory: &mut [T],
) -> Result<u32, Fatal> {
    let sides = [(0.0, 1.0); DIM_MAX];
    let domain = BoxDomain::new(sides.get(..given.dim).unwrap_or_default());
    let settings = Settings {
        seed: given.seed,
        ..Settings::of_parameters(given.parameters, first)
    };
    let mut optimizer = Optimizer::new(domain.map_err(|_| SHORT)?, settings, ALONE, memory)?;
    for (place, value) in log {
        optimizer.observe(given.point(*place as u32)?, *value)?;
    }
    Ok(optimizer.suggest_among(given.points)? as u32)
}

/// A search with the file that was told these values, and memory that it leaves; nothing where
/// there is no file, or none that this device can read.
fn with_file<T: Scalar + Pod>(
    given: &Given<'_, T>,
    file: Option<&[u8]>,
    log: &Log<T>,
    memory: &mut [f64],
    act: impl FnOnce(&mut Newcomer<'_, T, &mut [T]>, &mut [T]) -> Result<(), Fatal>,
) -> Result<(), Fatal> {
    let landmarks = given.landmarks.len() / given.dim.max(1);
    let Some(file) = file else { return Ok(()) };
    let (prior, rest) = match attached(
        (given.dim, landmarks),
        file,
        bytemuck::cast_slice_mut(memory),
    ) {
        Ok(attached) => attached,
        Err(refused) => {
            // What is no file, or none that this device has memory for, helps nobody.
            hprintln!("no file: {}", refused);
            return Ok(());
        }
    };
    let capacity = log.len().max(1);
    let (storage, rest) = rest
        .split_at_mut_checked(storage_len(landmarks, capacity, 1))
        .ok_or(SHORT)?;
    let settings = NewcomerSettings {
        seed: given.seed,
        ..NewcomerSettings::default()
    };
    let mut search = Newcomer::new(
        given.points,
        given.dim,
        Some(&prior),
        settings,
        capacity,
        storage,
    )?;
    for (place, value) in log {
        search.observe(*place, *value)?;
    }
    act(&mut search, rest)
}

/// The file with its numbers in memory, and what is left of that: of so many dimensions and
/// landmarks.
fn attached<'m, T: Scalar>(
    (dim, features): (usize, usize),
    file: &[u8],
    memory: &'m mut [T],
) -> Result<(PublicPrior<'m, T>, &'m mut [T]), Fatal> {
    let (header, payload) = wire::decode(file, u32::MAX)?;
    if header.len as usize != numbers_len(features, dim) || header.scalar != ScalarTag::F32 {
        return Err(Fatal::Given(
            "a file with other landmarks than its campaign",
        ));
    }
    let (numbers, rest) = memory
        .split_at_mut_checked(header.len as usize)
        .ok_or(SHORT)?;
    for (number, bytes) in numbers.iter_mut().zip(payload.bytes().as_chunks().0) {
        *number = T::from_f64(f64::from(f32::from_le_bytes(*bytes)));
    }
    let numbers = PriorNumbers::read(dim, numbers)?;
    let (factor, rest) = rest
        .split_at_mut_checked(attach_len(features))
        .ok_or(SHORT)?;
    Ok((PublicPrior::attach(numbers, factor)?, rest))
}
