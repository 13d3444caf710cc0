//! Four devices whose power may be cut at every step: an agent, an agent of a federated prior, a
//! reporter, an optimizer.
//!
//! Each is what a device runs from its boot on: it finds in flash where it stood, goes on from
//! there, and writes before it acts. What lies outside survives a cut: the [`Flash`], and the
//! [`World`] that is measured and that hears what is sent. On a host a cut is an error that ends
//! the program, and a test cuts at every byte; on the emulated device it is a reset of the
//! processor. `docs/reset.md` says the contract in words.

pub mod agent;
pub mod optimizer;
pub mod prior;
pub mod reporter;

use sordino_core::digest::{Digest, Frame};
use sordino_core::random::Stream;
use sordino_core::snapshot::{self, SnapshotError, Stored};

/// The power was cut. Where a reset is real, nobody ever sees this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

/// Why a device did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its power was cut: boot it again.
    Cut,
    /// What it found in flash is refused.
    Stored(SnapshotError),
    /// A party of the core refused, or the world did not.
    Refused(&'static str),
}

impl From<Cut> for Stop {
    fn from(_: Cut) -> Self {
        Stop::Cut
    }
}

impl From<SnapshotError> for Stop {
    fn from(error: SnapshotError) -> Self {
        Stop::Stored(error)
    }
}

/// Slots of the flash of these four, and bytes of each: the largest that is stored is the state of
/// an agent on a network.
pub const SLOTS: usize = 24;
/// Bytes of a slot.
pub const SLOT: usize = 192;

/// Flash and the power that writes it: every step asks `power` first.
pub struct Flash<'a> {
    /// The slots, one after the other: a multiple of [`SLOT`], [`SLOTS`] of them for these four.
    pub bytes: &'a mut [u8],
    /// Bytes that are written in one step.
    pub grain: usize,
    /// Asked before every step.
    pub power: &'a mut dyn FnMut() -> Result<(), Cut>,
}

impl Flash<'_> {
    /// The bytes of one slot.
    pub fn slot(&self, index: usize) -> &[u8] {
        &self.bytes[index * SLOT..(index + 1) * SLOT]
    }

    /// Whether nothing was ever written to a slot, or all of it was erased.
    pub fn is_blank(&self, index: usize) -> bool {
        self.slot(index).iter().all(|byte| matches!(byte, 0 | 0xff))
    }

    /// One step that writes nothing: a measurement, a frame on the air.
    ///
    /// **Errors**: [`Cut`].
    pub fn step(&mut self) -> Result<(), Cut> {
        (self.power)()
    }

    /// Erases a slot, then writes it, a few bytes a step.
    fn put(&mut self, index: usize, bytes: &[u8]) -> Result<(), Cut> {
        (self.power)()?;
        self.bytes[index * SLOT..(index + 1) * SLOT].fill(0xff);
        for (i, chunk) in bytes.chunks(self.grain).enumerate() {
            (self.power)()?;
            let start = index * SLOT + i * self.grain;
            self.bytes[start..start + chunk.len()].copy_from_slice(chunk);
        }
        Ok(())
    }

    /// Writes one entry of a log, and reads it back: a page that took nothing must not count as
    /// written.
    ///
    /// **Errors**: [`Stop::Cut`], [`Stop::Stored`], [`Stop::Refused`].
    pub fn write<S: Stored>(
        &mut self,
        slot: usize,
        item: &S,
        number: u32,
        agreement: &Digest,
    ) -> Result<(), Stop> {
        let mut bytes = [0; SLOT];
        let len = snapshot::write(item, number, agreement, &mut bytes)?;
        self.put(slot, &bytes[..len])?;
        // Read from memory, not from what the compiler knows was written. A board's driver reads
        // the page.
        if core::hint::black_box(self.slot(slot))[..len] == bytes[..len] {
            Ok(())
        } else {
            Err(Stop::Refused("flash did not take what was written"))
        }
    }

    /// Writes a state into the slots 0 and 1, one after the other.
    ///
    /// **Errors**: as [`Flash::write`].
    pub fn save<S: Stored>(
        &mut self,
        state: &S,
        number: &mut u32,
        agreement: &Digest,
    ) -> Result<(), Stop> {
        self.save_at(0, state, number, agreement)
    }

    /// The same into the slots `first` and `first` + 1, for a device that keeps more than one
    /// state.
    ///
    /// **Errors**: as [`Flash::write`].
    pub fn save_at<S: Stored>(
        &mut self,
        first: usize,
        state: &S,
        number: &mut u32,
        agreement: &Digest,
    ) -> Result<(), Stop> {
        *number += 1;
        self.write(first, state, *number, agreement)?;
        self.write(first + 1, state, *number, agreement)
    }

    /// The state of slots 0 and 1, or `first`, which is then written.
    ///
    /// **Errors**: as [`Flash::write`].
    pub fn load<S: Stored>(&mut self, first: S, agreement: &Digest) -> Result<(u32, S), Stop> {
        self.load_at(0, first, agreement)
    }

    /// The same of the slots `at` and `at` + 1.
    ///
    /// **Errors**: as [`Flash::write`].
    pub fn load_at<S: Stored>(
        &mut self,
        at: usize,
        first: S,
        agreement: &Digest,
    ) -> Result<(u32, S), Stop> {
        match snapshot::newest_or_first([self.slot(at), self.slot(at + 1)], agreement) {
            Ok(Some((number, state))) => {
                // A cut may have left one slot torn, erased or old. The next write begins by
                // erasing the first, so before anything is done both hold the state again.
                for slot in [at, at + 1] {
                    let found = snapshot::read::<S>(self.slot(slot), agreement);
                    if !matches!(found, Ok(Some((same, _))) if same == number) {
                        self.write(slot, &state, number, agreement)?;
                    }
                }
                Ok((number, state))
            }
            // Nothing was written yet, or the very first write was cut off and nothing was done on
            // its ground.
            Ok(None) => {
                let mut number = 0;
                self.save_at(at, &first, &mut number, agreement)?;
                Ok((number, first))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What entry `number` of a log holds, if it is whole and of that number.
    pub fn entry<S: Stored>(&self, slot: usize, number: u32, agreement: &Digest) -> Option<S> {
        match snapshot::read(self.slot(slot), agreement) {
            Ok(Some((found, entry))) if found == number => Some(entry),
            _ => None,
        }
    }
}

/// Things the world may be asked for or told in a run of any of the four.
const EVENTS: usize = 24;

/// What lies outside the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct World {
    /// Whether a measurement that is made again comes out differently, as a sensor's does.
    pub noisy: bool,
    /// Measurements so far.
    pub measured: u32,
    /// What was heard under each number; all zero: nothing yet.
    heard: [Digest; EVENTS],
}

impl World {
    /// A world that has heard nothing.
    pub const fn new(noisy: bool) -> Self {
        World {
            noisy,
            measured: 0,
            heard: [Digest([0; 32]); EVENTS],
        }
    }

    /// The function at a point of the unit square, and what is added by the sensor.
    fn measure(&mut self, at: u32, point: &[f32]) -> f32 {
        self.measured += 1;
        let address = if self.noisy { self.measured } else { at };
        let noise = Stream::from_seed(u64::from(address)).unit::<f32>() - 0.5;
        -point.iter().map(|x| (x - 0.4) * (x - 0.4)).sum::<f32>() + 0.1 * noise
    }

    /// Hears `frame` under `number`; hearing it again is nothing new.
    ///
    /// **Errors**: [`Stop::Refused`] if it is not what was heard before.
    fn hear(&mut self, number: usize, frame: Frame) -> Result<(), Stop> {
        let digest = frame.end();
        match self.heard.get_mut(number) {
            Some(heard) if *heard == Digest::default() => *heard = digest,
            Some(heard) if *heard == digest => {}
            Some(_) => {
                return Err(Stop::Refused(
                    "something else was said under the same number",
                ));
            }
            None => return Err(Stop::Refused("more was said than a run holds")),
        }
        Ok(())
    }

    /// Whether something was heard under `number`.
    fn has(&self, number: usize) -> bool {
        self.heard
            .get(number)
            .is_some_and(|heard| *heard != Digest::default())
    }

    /// How many numbers something was heard under.
    pub fn said(&self) -> usize {
        self.heard
            .iter()
            .filter(|heard| **heard != Digest::default())
            .count()
    }

    /// Digest of all that was heard.
    pub fn digest(&self) -> Digest {
        sordino_core::digest::combine(self.heard.iter())
    }
}
