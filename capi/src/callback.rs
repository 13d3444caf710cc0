//! What a device lends to the library: words of its generator, and slots of its flash.

use core::ffi::c_void;
use core::fmt;

use rand_core::{TryCryptoRng, TryRng};
use sordino_core::digest::Digest;
use sordino_core::snapshot::{Stored, max_bytes, newest_or_first, read, write};

use crate::memory::{Plain, Word};
use crate::status::{Refused, Status};

/// A cryptographic generator: fills `len` bytes at `bytes` and returns 0, or anything else if it
/// cannot.
///
/// What it gives must be unpredictable to everybody: a tested hardware generator, or a cipher
/// seeded by one. Noise made of a counter or of rand() protects nobody.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Entropy {
    /// Handed to the callback as it is.
    pub context: *mut c_void,
    /// Fills the bytes it is given.
    // SAFETY: a pointer of C, called in `Source` alone.
    pub fill: Option<unsafe extern "C" fn(context: *mut c_void, bytes: *mut u8, len: usize) -> i32>,
}

/// Slots of flash, which keep what an object must not forget. Both callbacks return 0, or anything
/// else if they cannot.
///
/// `read` copies the first `len` bytes of slot `slot` to `bytes`; erased flash may read 0xff or 0.
/// `write` erases the slot, writes the bytes and returns when they are durable. Slots 0 and 1 must
/// lie in different erase units, and so must 2 and 3 of a member. What was written is read back at
/// once: `read` gives what `write` left.
///
/// A slot whose writing was cut off reads as some bytes. Where the chip refuses to read it (flash
/// with error correction: STM32 G4, H7, L4, U5), return 0 and fill `bytes` with 0xa5: 0xff and 0
/// mean erased, and another result than 0 means a flash that ends or is broken. A power cut in the
/// very first write of an object is then SORDINO_STATUS_STORED_DAMAGED, and its slots are erased by
/// hand.
///
/// Slots of a log may share an erase unit if no power cut takes the others of it: write what is
/// erased without erasing the unit, and where one slot has to be written again (after a write that
/// was cut off, or an erase), copy the unit to a spare one first. What reads a unit, erases it and
/// writes it back loses all of them to a cut in between, which looks like a device that never
/// measured. The slots of a state (0 and 1, of a member 2 and 3) are written in turn at every
/// change: give each an erase unit of its own.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Flash {
    /// Handed to the callbacks as it is.
    pub context: *mut c_void,
    /// Reads the beginning of a slot.
    // SAFETY: a pointer of C, called in `Flash::get` alone.
    pub read: Option<
        unsafe extern "C" fn(context: *mut c_void, slot: u32, bytes: *mut u8, len: usize) -> i32,
    >,
    /// Erases and writes a slot.
    // SAFETY: a pointer of C, called in `Flash::put` alone.
    pub write: Option<
        unsafe extern "C" fn(context: *mut c_void, slot: u32, bytes: *const u8, len: usize) -> i32,
    >,
}

// SAFETY: a pointer and an optional function pointer.
unsafe impl Plain for Entropy {}
// SAFETY: a pointer and two optional function pointers.
unsafe impl Plain for Flash {}

/// The generator behind the callback.
pub(crate) struct Source {
    lent: Entropy,
}

impl Source {
    /// The generator that C lends, if there is one.
    pub(crate) fn new(word: Word, at: *const Entropy) -> Result<Self, Status> {
        let lent = word.read(at)?;
        if lent.fill.is_some() {
            Ok(Source { lent })
        } else {
            Err(Status::Null)
        }
    }
}

/// The generator failed.
#[derive(Debug)]
pub(crate) struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the entropy callback failed")
    }
}

impl core::error::Error for Failed {}

impl TryRng for Source {
    type Error = Failed;

    fn try_next_u32(&mut self) -> Result<u32, Failed> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Failed> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Failed> {
        let Entropy {
            context,
            fill: Some(fill),
        } = self.lent
        else {
            return Err(Failed);
        };
        // SAFETY: the callback writes `len` bytes at most, all of which are ours; that it does what
        // its doc says is part of the word that `new` was given.
        match unsafe { fill(context, bytes.as_mut_ptr(), bytes.len()) } {
            0 => Ok(()),
            _ => Err(Failed),
        }
    }
}

impl TryCryptoRng for Source {}

/// Bytes of the largest slot.
pub(crate) const SLOT_MAX: usize = 96;

impl Flash {
    /// Both callbacks are there, or neither; `required`: nothing else will do.
    pub(crate) fn admit(self, required: bool) -> Result<Option<Self>, Status> {
        match (self.read, self.write) {
            (Some(_), Some(_)) => Ok(Some(self)),
            (None, None) if !required => Ok(None),
            _ => Err(Status::Null),
        }
    }

    pub(crate) fn get(&self, slot: u32, bytes: &mut [u8]) -> Result<(), Status> {
        let read = self.read.ok_or(Status::Null)?;
        // SAFETY: the callback writes `len` bytes at most, all of which are ours; the rest is the C
        // program's word.
        match unsafe { read(self.context, slot, bytes.as_mut_ptr(), bytes.len()) } {
            0 => Ok(()),
            _ => Err(Status::Flash),
        }
    }

    pub(crate) fn put(&self, slot: u32, bytes: &[u8]) -> Result<(), Status> {
        let write = self.write.ok_or(Status::Null)?;
        // SAFETY: the callback reads `len` bytes, all of which are there; the rest is the C
        // program's word.
        match unsafe { write(self.context, slot, bytes.as_ptr(), bytes.len()) } {
            0 => Ok(()),
            _ => Err(Status::Flash),
        }
    }

    /// Writes one item into one slot, and reads it back: what a slot did not take must not count as
    /// written.
    pub(crate) fn store<S: Stored>(
        &self,
        slot: u32,
        item: &S,
        number: u32,
        agreement: &Digest,
    ) -> Result<(), Refused> {
        const { assert!(max_bytes::<S>() <= SLOT_MAX) };
        let mut bytes = [0xff; SLOT_MAX];
        write(item, number, agreement, &mut bytes)?;
        let (used, _) = bytes
            .split_at_checked(max_bytes::<S>())
            .ok_or(Status::TooShort)?;
        self.put(slot, used)?;
        let mut taken = [0; SLOT_MAX];
        let taken = taken.get_mut(..used.len()).ok_or(Status::TooShort)?;
        self.get(slot, taken)?;
        if taken == used {
            Ok(())
        } else {
            Err(Status::Flash.into())
        }
    }

    /// What one slot holds, if it is whole and of that number.
    pub(crate) fn entry<S: Stored>(
        &self,
        slot: u32,
        number: u32,
        agreement: &Digest,
    ) -> Result<Option<S>, Status> {
        let found = self.numbered(slot, agreement)?;
        Ok(found
            .filter(|(found, _)| *found == number)
            .map(|(_, entry)| entry))
    }

    /// What one slot holds and its number, if it is whole.
    pub(crate) fn numbered<S: Stored>(
        &self,
        slot: u32,
        agreement: &Digest,
    ) -> Result<Option<(u32, S)>, Status> {
        let mut bytes = [0xff; SLOT_MAX];
        let Some(bytes) = bytes.get_mut(..max_bytes::<S>()) else {
            return Err(Status::TooShort);
        };
        self.get(slot, bytes)?;
        Ok(read(bytes, agreement).unwrap_or_default())
    }

    /// Writes a state into slots 0 and 1, one after the other.
    pub(crate) fn save<S: Stored>(
        &self,
        state: &S,
        number: &mut u32,
        agreement: &Digest,
    ) -> Result<(), Refused> {
        self.save_at(0, state, number, agreement)
    }

    /// The same into the slots `at` and `at` + 1, for an object that keeps more than one state.
    pub(crate) fn save_at<S: Stored>(
        &self,
        at: u32,
        state: &S,
        number: &mut u32,
        agreement: &Digest,
    ) -> Result<(), Refused> {
        *number += 1;
        self.store(at, state, *number, agreement)?;
        self.store(at.saturating_add(1), state, *number, agreement)
    }

    /// The state of slots 0 and 1, or `first`; in both slots when this returns, because the next
    /// write begins by erasing one of them.
    pub(crate) fn load<S: Stored>(
        &self,
        first: S,
        agreement: &Digest,
    ) -> Result<(u32, S), Refused> {
        self.load_at(0, first, agreement)
    }

    /// The same of the slots `at` and `at` + 1.
    pub(crate) fn load_at<S: Stored>(
        &self,
        at: u32,
        first: S,
        agreement: &Digest,
    ) -> Result<(u32, S), Refused> {
        match self.find_at(at, agreement)? {
            Some(found) => Ok(found),
            // Nothing was written yet, or the very first write was cut off and nothing was done on
            // its ground.
            None => {
                let mut number = 0;
                self.save_at(at, &first, &mut number, agreement)?;
                Ok((number, first))
            }
        }
    }

    /// The state of the slots `at` and `at` + 1, in both of them when this returns; nothing if none
    /// was written.
    pub(crate) fn find_at<S: Stored>(
        &self,
        at: u32,
        agreement: &Digest,
    ) -> Result<Option<(u32, S)>, Refused> {
        let mut slots = [[0xff; SLOT_MAX]; 2];
        let [one, two] = &mut slots;
        let (Some(one), Some(two)) = (
            one.get_mut(..max_bytes::<S>()),
            two.get_mut(..max_bytes::<S>()),
        ) else {
            return Err(Status::TooShort.into());
        };
        self.get(at, one)?;
        self.get(at.saturating_add(1), two)?;
        let Some((number, state)) = newest_or_first([one, two], agreement)? else {
            return Ok(None);
        };
        for (slot, bytes) in (at..).zip([one, two]) {
            let found = read::<S>(bytes, agreement);
            if !matches!(found, Ok(Some((same, _))) if same == number) {
                self.store(slot, &state, number, agreement)?;
            }
        }
        Ok(Some((number, state)))
    }

    /// Whether the first `len` bytes of a slot are erased.
    pub(crate) fn is_blank(&self, slot: u32, len: usize) -> Result<bool, Status> {
        let mut bytes = [0xff; SLOT_MAX];
        let Some(bytes) = bytes.get_mut(..len) else {
            return Err(Status::TooShort);
        };
        self.get(slot, bytes)?;
        Ok(bytes.iter().all(|byte| *byte == 0xff) || bytes.iter().all(|byte| *byte == 0))
    }
}
