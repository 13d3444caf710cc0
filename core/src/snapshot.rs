//! What a party leaves in flash, so that a reset at any instruction finds the whole of it, the one
//! before, or nothing.
//!
//! **Layout** (little-endian), the same for a state and for an entry of a log:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | [`VERSION`] |
//! | 1 | [`Stored::KIND`]: whose state it is |
//! | 4 | number: how often the state was written, or the place of an entry in its log |
//! | 8 | [`prefix`] of the digest of what the party agreed on: of another federation, another setting, it is refused |
//! | 2 | length of the body |
//! | ≤ [`Stored::BODY_MAX`] | postcard form |
//! | 4 | CRC-32C of all before |
//!
//! Bytes after the checksum are ignored: a slot may be larger than what it holds. The checksum
//! finds accidents, not adversaries: anyone who can write to a device's flash owns the device.
//!
//! **Order** for a state with two slots ([`newest`]), which lie in different erase units: write one
//! slot, then the other, then act (send, measure). A cut in the first write leaves the state before
//! in the second slot, and nothing was done on its ground; a cut in the second leaves the new one
//! in the first; a slot that rots later has its like beside it. **At boot, write the slot that does
//! not hold the newest state again, before anything else**: the next write begins by erasing a
//! slot, and the other one must be whole by then. The page `docs/reset.md` says it for each party.
//! A cut in the *very first* write is told apart from a loss: [`SnapshotError::FirstWrite`],
//! [`newest_or_first`].
//!
//! ```
//! use sordino_core::digest::Digest;
//! use sordino_core::local::ReporterState;
//! use sordino_core::privacy::Epsilon;
//! use sordino_core::snapshot::{max_bytes, newest, write};
//!
//! const LEN: usize = max_bytes::<ReporterState>();
//! let (mut first, mut second) = ([0xff_u8; LEN], [0xff_u8; LEN]); // erased flash
//! let agreement = Digest::of(&("thermostat", 1)); // whatever must not change under a stored state
//! assert!(newest::<ReporterState>([&first, &second], &agreement)?.is_none());
//!
//! let state = ReporterState::new(7, Epsilon::new(1.0)?);
//! write(&state, 1, &agreement, &mut first)?;
//! write(&state, 1, &agreement, &mut second)?;
//! first[9] ^= 4; // rot
//! let (number, found) = newest([&first, &second], &agreement)?.expect("one is whole");
//! assert_eq!((number, found), (1, state));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::digest::Digest;
use crate::wire::{checksum, prefix};

/// The only layout this code reads and writes.
pub const VERSION: u8 = 1;

/// Bytes beside the body.
pub const OVERHEAD: usize = HEADER + CHECKSUM;
const HEADER: usize = 16;
const CHECKSUM: usize = 4;

/// What can be stored: the state of a party, or an entry of its log.
pub trait Stored: Serialize + DeserializeOwned {
    /// Tells it from what other parties store. 0x00 and 0xff are erased flash.
    const KIND: u8;
    /// Bytes of its postcard form at most.
    const BODY_MAX: usize;
}

/// Bytes that hold any `S`, a multiple of 4: the size of a slot.
pub const fn max_bytes<S: Stored>() -> usize {
    (OVERHEAD + S::BODY_MAX).next_multiple_of(4)
}

/// The most bytes that postcard takes for an integer of `bits` bits: seven bits a byte.
pub(crate) const fn varint_max(bits: usize) -> usize {
    bits.div_ceil(7)
}

/// Why nothing was stored, or why what is stored is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SnapshotError {
    /// A slot too small for what it is to hold.
    Slot {
        /// How many bytes it has.
        len: usize,
        /// Bytes that are needed.
        needed: usize,
    },
    /// A layout of another version.
    Version {
        /// First byte, which is the version.
        found: u8,
    },
    /// Something else was stored there.
    Kind {
        /// The number found.
        found: u8,
        /// What was looked for.
        expected: u8,
    },
    /// It belongs to another agreement: another federation, configuration or setting.
    Agreement {
        /// First 64 bits of the digest it was stored under.
        found: u64,
        /// First 64 bits of the one it is read under.
        expected: u64,
    },
    /// Bytes were changed, or the write was cut off.
    Checksum,
    /// Of two slots: the first is torn under number 1, or before its number, and every byte of the
    /// second is erased. That is what a cut in the very first write leaves, on whose ground nothing
    /// was done; see [`newest_or_first`].
    FirstWrite,
    /// The bytes are whole, and no admissible state: stored by a program that disagrees with this
    /// one.
    Body,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SnapshotError::Slot { len, needed } => write!(f, "a slot of {len} bytes, {needed} are needed"),
            SnapshotError::Version { found } => {
                write!(f, "stored in layout {found}, this program reads layout {VERSION}")
            }
            SnapshotError::Kind { found, expected } => {
                write!(f, "something of kind {found:#04x} is stored, kind {expected:#04x} was looked for")
            }
            SnapshotError::Agreement { found, expected } => {
                write!(f, "stored under agreement {found:016x}, this is {expected:016x}")
            }
            SnapshotError::Checksum => f.write_str("the stored bytes were changed, or their writing was cut off"),
            SnapshotError::FirstWrite => {
                f.write_str("the first slot is torn and the second erased, as after a cut in the very first write")
            }
            SnapshotError::Body => f.write_str("the stored bytes are whole and no admissible state"),
        }
    }
}

impl core::error::Error for SnapshotError {}

/// Writes `item` and returns how many bytes were written.
///
/// **Parameters**: `number`, of a state how often it was written, 1 the first time, of an entry its
/// place in the log; `agreement`, digest of all that must not change under what is stored.
///
/// **Errors**: [`SnapshotError::Slot`]. The slot's content is undefined then, and reads as torn.
pub fn write<S: Stored>(
    item: &S,
    number: u32,
    agreement: &Digest,
    slot: &mut [u8],
) -> Result<usize, SnapshotError> {
    let len = slot.len();
    let short = SnapshotError::Slot {
        len,
        needed: max_bytes::<S>(),
    };
    let (header, rest) = slot.split_first_chunk_mut::<HEADER>().ok_or(short)?;
    let body = postcard::to_slice(item, rest).map_err(|_| short)?.len();
    let length = u16::try_from(body).map_err(|_| short)?;
    header[0] = VERSION;
    header[1] = S::KIND;
    header[2..6].copy_from_slice(&number.to_le_bytes());
    header[6..14].copy_from_slice(&prefix(agreement).to_le_bytes());
    header[14..].copy_from_slice(&length.to_le_bytes());
    let end = HEADER + body;
    let sum = checksum(slot.get(..end).ok_or(short)?).to_le_bytes();
    slot.get_mut(end..end + CHECKSUM)
        .ok_or(short)?
        .copy_from_slice(&sum);
    Ok(end + CHECKSUM)
}

/// Reads what [`write()`] wrote, with its number; nothing from erased flash (all bytes of the
/// header 0xff, or all 0).
///
/// **Errors**: every variant of [`SnapshotError`]; [`SnapshotError::Slot`] for a slot that ends
/// before its content.
pub fn read<S: Stored>(slot: &[u8], agreement: &Digest) -> Result<Option<(u32, S)>, SnapshotError> {
    let short = |needed| SnapshotError::Slot {
        len: slot.len(),
        needed,
    };
    let (header, rest) = slot.split_first_chunk::<HEADER>().ok_or(short(OVERHEAD))?;
    if header.iter().all(|byte| *byte == 0xff) || header.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let [version, kind, a, b, c, d, agreed @ .., low, high] = *header;
    let body = usize::from(u16::from_le_bytes([low, high]));
    let (body, rest) = rest.split_at_checked(body).ok_or(SnapshotError::Checksum)?;
    let (sum, _) = rest
        .split_first_chunk::<CHECKSUM>()
        .ok_or(SnapshotError::Checksum)?;
    let whole = slot
        .get(..HEADER + body.len())
        .ok_or(SnapshotError::Checksum)?;
    if checksum(whole) != u32::from_le_bytes(*sum) {
        return Err(SnapshotError::Checksum);
    }
    if version != VERSION {
        return Err(SnapshotError::Version { found: version });
    }
    if kind != S::KIND {
        return Err(SnapshotError::Kind {
            found: kind,
            expected: S::KIND,
        });
    }
    let found = u64::from_le_bytes(agreed);
    let expected = prefix(agreement);
    if found != expected {
        return Err(SnapshotError::Agreement { found, expected });
    }
    match postcard::take_from_bytes(body) {
        Ok((item, [])) => Ok(Some((u32::from_le_bytes([a, b, c, d]), item))),
        _ => Err(SnapshotError::Body),
    }
}

/// The whole one of two slots with the greater number; nothing if both are erased.
///
/// **Errors**: [`SnapshotError::FirstWrite`] if the first is torn and the second erased in a way
/// that a cut in the very first write leaves. Otherwise, if neither is whole and one is not erased,
/// why the first that is not erased was refused: a party that forgot what it spent would spend it
/// twice.
pub fn newest<S: Stored>(
    slots: [&[u8]; 2],
    agreement: &Digest,
) -> Result<Option<(u32, S)>, SnapshotError> {
    match slots.map(|slot| read(slot, agreement)) {
        [Ok(Some(first)), Ok(Some(second))] => {
            Ok(Some(if second.0 > first.0 { second } else { first }))
        }
        [Ok(Some(one)), _] | [_, Ok(Some(one))] => Ok(Some(one)),
        [Ok(None), Ok(None)] => Ok(None),
        [Err(SnapshotError::Checksum), Ok(None)] if first_was_cut(slots) => {
            Err(SnapshotError::FirstWrite)
        }
        [Err(error), _] | [_, Err(error)] => Err(error),
    }
}

/// As [`newest`], and nothing as well after a cut in the very first write, so that the device
/// begins again.
///
/// For a party that writes the first slot, then the second, then acts, and whose first write has
/// number 1.
///
/// **Privacy**: one accident alone never looks like a first write. A state is forgotten only if a
/// cut leaves the *second* slot erased, the first rots before the next boot, and either that rot
/// makes its number 1, or the state had been written once and the second slot was being mended
/// because it had rotted too. A party for which that is too likely takes [`newest`] and refuses.
///
/// **Errors**: as [`newest`], without [`SnapshotError::FirstWrite`].
///
/// ```
/// # use sordino_core::{digest::Digest, local::ReporterState, privacy::Epsilon};
/// use sordino_core::snapshot::{SnapshotError, max_bytes, newest, newest_or_first, write};
///
/// const LEN: usize = max_bytes::<ReporterState>();
/// let (mut first, second) = ([0xff_u8; LEN], [0xff_u8; LEN]); // erased flash
/// let agreement = Digest::of(&("thermostat", 1));
/// write(&ReporterState::new(7, Epsilon::new(1.0)?), 1, &agreement, &mut first)?;
/// first[9..].fill(0xff); // the power was cut after nine bytes
/// assert_eq!(newest::<ReporterState>([&first, &second], &agreement), Err(SnapshotError::FirstWrite));
/// assert!(newest_or_first::<ReporterState>([&first, &second], &agreement)?.is_none()); // begin again
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub fn newest_or_first<S: Stored>(
    slots: [&[u8]; 2],
    agreement: &Digest,
) -> Result<Option<(u32, S)>, SnapshotError> {
    match newest(slots, agreement) {
        Err(SnapshotError::FirstWrite) => Ok(None),
        found => found,
    }
}

/// Whether a torn first slot is one of number 1, as far as its number was written, and the second
/// is erased to its end. What was acted on, before a later write erased the second slot, was
/// replaced in the first by a number of 2 or more.
fn first_was_cut([first, second]: [&[u8]; 2]) -> bool {
    let erased = |bytes: &[u8]| {
        bytes.iter().all(|byte| *byte == 0xff) || bytes.iter().all(|byte| *byte == 0)
    };
    let one = 1_u32.to_le_bytes();
    let number = first.get(2..6) == Some(&one[..])
        || (0..4).any(|len| {
            first.get(2..2 + len) == one.get(..len) && first.get(2 + len..).is_some_and(erased)
        });
    number && erased(second)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use serde::Deserialize;
    use std::vec::Vec;

    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    struct Item(u32, u64);
    impl Stored for Item {
        const KIND: u8 = 0x42;
        const BODY_MAX: usize = varint_max(32) + varint_max(64);
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Other(u32, u64);
    impl Stored for Other {
        const KIND: u8 = 0x43;
        const BODY_MAX: usize = Item::BODY_MAX;
    }

    const ITEM: Item = Item(3, u64::MAX);

    fn agreement() -> Digest {
        Digest::of(&"agreed")
    }

    fn written(number: u32) -> Vec<u8> {
        let mut slot = std::vec![0xff; max_bytes::<Item>()];
        write(&ITEM, number, &agreement(), &mut slot).unwrap();
        slot
    }

    #[test]
    fn the_largest_item_fits_and_the_layout_is_frozen() {
        let mut slot = std::vec![0xff; max_bytes::<Item>()];
        let largest = Item(u32::MAX, u64::MAX);
        assert_eq!(
            write(&largest, u32::MAX, &agreement(), &mut slot),
            Ok(OVERHEAD + Item::BODY_MAX)
        );
        assert_eq!(read(&slot, &agreement()), Ok(Some((u32::MAX, largest))));
        let slot = written(7);
        assert_eq!(slot[..6], [VERSION, 0x42, 7, 0, 0, 0]);
        assert_eq!(slot[6..14], prefix(&agreement()).to_le_bytes());
        assert_eq!(slot[14..16], [11, 0]);
        let short = SnapshotError::Slot {
            len: 20,
            needed: max_bytes::<Item>(),
        };
        assert_eq!(write(&ITEM, 1, &agreement(), &mut [0; 20]), Err(short));
    }

    /// Whatever the power did: no cut and no changed bit is taken for a state, and nothing is taken
    /// for another's.
    #[test]
    fn every_cut_and_every_bit_flip_is_refused() {
        let slot = written(7);
        let used = OVERHEAD + 11;
        for cut in 1..used {
            for rest in [0x00, 0xff] {
                let mut torn = slot.clone();
                torn[cut..].fill(rest);
                if torn[..used] == slot[..used] {
                    continue;
                }
                assert!(read::<Item>(&torn, &agreement()).is_err(), "{cut} {rest}");
            }
        }
        for bit in 0..8 * used {
            let mut flipped = slot.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read::<Item>(&flipped, &agreement()).is_err(), "{bit}");
        }
        assert_eq!(
            read::<Other>(&slot, &agreement()),
            Err(SnapshotError::Kind {
                found: Item::KIND,
                expected: Other::KIND
            })
        );
        let other = Digest::of(&"another");
        let refused = SnapshotError::Agreement {
            found: prefix(&agreement()),
            expected: prefix(&other),
        };
        assert_eq!(read::<Item>(&slot, &other), Err(refused));
    }

    #[test]
    fn of_two_slots_the_newest_whole_one_counts_and_doubt_is_an_error() {
        let erased = [0xff; 40];
        let zeroed = [0; 40];
        let mut torn = written(9);
        torn[20] ^= 1;
        let newest = |a: &[u8], b: &[u8]| newest::<Item>([a, b], &agreement());
        assert_eq!(newest(&erased, &zeroed), Ok(None));
        assert_eq!(newest(&written(3), &erased), Ok(Some((3, ITEM))));
        assert_eq!(newest(&written(3), &written(4)), Ok(Some((4, ITEM))));
        assert_eq!(newest(&written(4), &written(3)), Ok(Some((4, ITEM))));
        assert_eq!(newest(&torn, &written(3)), Ok(Some((3, ITEM))));
        assert_eq!(newest(&torn, &erased), Err(SnapshotError::Checksum));
        assert_eq!(newest(&erased, &torn), Err(SnapshotError::Checksum));
        assert_eq!(newest(&torn, &torn), Err(SnapshotError::Checksum));
    }

    /// Wherever the very first write is cut, the device begins again; whatever else is torn is
    /// refused.
    #[test]
    fn a_first_write_that_was_cut_off_at_any_byte_may_begin_again() {
        let cut = |number, at: usize, rest: u8| {
            let mut torn = written(number);
            torn[at..].fill(rest);
            torn
        };
        let newest = |a: &[u8], b: &[u8]| newest::<Item>([a, b], &agreement());
        let or_first = |a: &[u8], b: &[u8]| newest_or_first::<Item>([a, b], &agreement());
        let used = OVERHEAD + 11;
        for rest in [0xff, 0x00] {
            let erased = std::vec![rest; max_bytes::<Item>()];
            for at in 1..used {
                let torn = cut(1, at, rest);
                if torn[..used] == written(1)[..used] {
                    continue;
                }
                assert_eq!(
                    newest(&torn, &erased),
                    Err(SnapshotError::FirstWrite),
                    "{at} {rest}"
                );
                assert_eq!(or_first(&torn, &erased), Ok(None), "{at} {rest}");
                // What a first write never leaves: the second slot torn, not erased to its end, or
                // in the first one's place.
                let mut marked = erased.clone();
                *marked.last_mut().unwrap() ^= 1;
                for (a, b) in [(&torn, &torn), (&torn, &marked), (&erased, &torn)] {
                    assert_eq!(or_first(a, b), Err(SnapshotError::Checksum), "{at} {rest}");
                }
                assert_eq!(or_first(&torn, &written(4)), Ok(Some((4, ITEM))));
            }
        }
        // A state that was acted on, and rotted while a cut had left the second slot erased: no bit
        // of it passes for a start, but for one that makes its number 1.
        let erased = std::vec![0xff; max_bytes::<Item>()];
        for number in [0, 2, 3, 9, 257, 65_537] {
            for bit in 0..8 * used {
                let mut rotten = written(number);
                rotten[bit / 8] ^= 1 << (bit % 8);
                let first = (16..48).contains(&bit) && number ^ (1 << (bit - 16)) == 1;
                let expected = if first {
                    Ok(None)
                } else {
                    Err(SnapshotError::Checksum)
                };
                assert_eq!(or_first(&rotten, &erased), expected, "{number} {bit}");
            }
        }
    }
}
