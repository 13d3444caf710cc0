//! Frames in pieces, for links whose packets are smaller than a frame.
//!
//! **Layout** (little-endian), [`OVERHEAD`] bytes and a piece:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | [`FORMAT`], which no frame begins with |
//! | 4 | CRC-32C of the whole frame, which is also its name |
//! | 2 | bytes of the whole frame |
//! | 1 | count of pieces, 1..=[`COUNT_MAX`] |
//! | 1 | index of this one, from 0 |
//! | … | bytes [i·w, min((i+1)·w, all)) of the frame, w = ⌈all/count⌉ |
//!
//! Where a piece lies follows from (index, count) and the length of the whole, so pieces may come
//! in any order, twice, or again after a loss. There are no acknowledgements: what lacks is asked
//! for by saying the whole again, as the exchange does anyway. One [`Reassembly`] is for one
//! sender; pieces of another frame are refused by name, and the owner decides when to give up the
//! frame under way. Ordinary frames end in a CRC-32C of their own, and the checksum of a text with
//! its checksum behind it is one number for all texts of a length: pieces of two such frames are
//! told apart by their lengths alone, and where these are equal by the frame's checksum in the end,
//! so the owner gives one up before it takes the next.
//!
//! **Example**: that of [`count`].

use core::fmt;
use core::task::Poll;

use super::checksum;

/// First byte of a fragment.
pub const FORMAT: u8 = 0x82;
/// Bytes beside the piece.
pub const OVERHEAD: usize = 9;
/// The most pieces of a frame.
pub const COUNT_MAX: usize = 128;
/// The longest frame that is sent in pieces.
pub const FRAME_MAX: usize = u16::MAX as usize;

/// Pieces of a frame of `frame_len` bytes in packets of `packet` bytes; nothing if they are too
/// many or too long.
///
/// ```
/// use sordino_core::wire::fragments::count;
/// assert_eq!(count(545, 51), Some(13)); // a broadcast of two vectors at LoRaWAN's slowest rate
/// ```
pub const fn count(frame_len: usize, packet: usize) -> Option<usize> {
    if packet <= OVERHEAD || frame_len == 0 || frame_len > FRAME_MAX {
        return None;
    }
    let count = frame_len.div_ceil(packet - OVERHEAD);
    if count <= COUNT_MAX {
        Some(count)
    } else {
        None
    }
}

/// Why a fragment was not made or not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FragmentError {
    /// A frame that is empty, too long, or has no piece of this index in packets of this size.
    Piece {
        /// Bytes of the frame.
        frame: usize,
        /// Bytes of the packet.
        packet: usize,
        /// Index asked for.
        index: usize,
    },
    /// No fragment: another first byte, or numbers that do not fit each other.
    Format,
    /// A frame longer than the buffer.
    Buffer {
        /// How many bytes the buffer has.
        len: usize,
        /// Bytes of the frame.
        needed: usize,
    },
    /// A piece of another frame than the one under way, which is kept: [`Reassembly::clear`] gives
    /// it up.
    Foreign {
        /// Name of the frame it belongs to.
        found: u32,
        /// Name of the frame under way.
        expected: u32,
    },
    /// All pieces came, and the whole is not what was sent: it was given up.
    Checksum,
}

impl fmt::Display for FragmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FragmentError::Piece {
                frame,
                packet,
                index,
            } => {
                write!(
                    f,
                    "a frame of {frame} bytes in packets of {packet} has no piece {index} (at most {COUNT_MAX})"
                )
            }
            FragmentError::Format => {
                f.write_str("no fragment, or one whose numbers do not fit each other")
            }
            FragmentError::Buffer { len, needed } => {
                write!(f, "a buffer of {len} bytes, {needed} are needed")
            }
            FragmentError::Foreign { found, expected } => {
                write!(
                    f,
                    "a piece of frame {found:08x}, {expected:08x} is under way"
                )
            }
            FragmentError::Checksum => {
                f.write_str("all pieces came, and the whole was changed on its way")
            }
        }
    }
}

impl core::error::Error for FragmentError {}

/// Writes piece `index` of a frame into a packet and returns its length; there are [`count`] of
/// them.
///
/// **Parameters**: `packet` as long as the link's packets may be.
///
/// **Errors**: [`FragmentError::Piece`].
pub fn piece(frame: &[u8], index: usize, packet: &mut [u8]) -> Result<usize, FragmentError> {
    let refused = FragmentError::Piece {
        frame: frame.len(),
        packet: packet.len(),
        index,
    };
    let count = count(frame.len(), packet.len())
        .filter(|count| index < *count)
        .ok_or(refused)?;
    let name = Name {
        sum: checksum(frame),
        all: frame.len() as u16,
        count: count as u8,
    };
    let part = name
        .place(index)
        .and_then(|(start, len)| frame.get(start..start + len))
        .ok_or(refused)?;
    let [s0, s1, s2, s3] = name.sum.to_le_bytes();
    let [a0, a1] = name.all.to_le_bytes();
    let head = [FORMAT, s0, s1, s2, s3, a0, a1, name.count, index as u8];
    let all = OVERHEAD + part.len();
    head.iter()
        .chain(part)
        .zip(packet)
        .for_each(|(from, to)| *to = *from);
    Ok(all)
}

/// Which frame a piece belongs to, and into how many it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name {
    sum: u32,
    all: u16,
    count: u8,
}

impl Name {
    /// Beginning and length of a piece; nothing if there is no such piece, or it would be empty.
    fn place(self, index: usize) -> Option<(usize, usize)> {
        let all = usize::from(self.all);
        let count = usize::from(self.count);
        if index >= count || count > COUNT_MAX {
            return None;
        }
        let width = all.checked_add(count - 1)?.checked_div(count)?;
        let start = index * width;
        let len = width.min(all.checked_sub(start)?);
        if len > 0 { Some((start, len)) } else { None }
    }
}

/// A frame under way, in a buffer of the caller's.
#[derive(Debug)]
pub struct Reassembly<'b> {
    buffer: &'b mut [u8],
    name: Option<Name>,
    /// A bit for each piece that came.
    have: [u32; COUNT_MAX / 32],
}

impl<'b> Reassembly<'b> {
    /// Begins with nothing; `buffer` holds the longest frame.
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Reassembly {
            buffer,
            name: None,
            have: [0; _],
        }
    }

    /// Gives up the frame under way: its sender went on to another, or is silent.
    pub const fn clear(&mut self) {
        (self.name, self.have) = (None, [0; _]);
    }

    /// Takes a piece; the whole frame when none lacks, also for a piece that comes once more after
    /// that.
    ///
    /// **Errors**: [`FragmentError`]; but for [`FragmentError::Checksum`] all is as it was.
    pub fn push(&mut self, packet: &[u8]) -> Result<Poll<&[u8]>, FragmentError> {
        let (head, part) = packet
            .split_first_chunk::<OVERHEAD>()
            .ok_or(FragmentError::Format)?;
        let [format, s0, s1, s2, s3, a0, a1, count, index] = *head;
        let found = Name {
            sum: u32::from_le_bytes([s0, s1, s2, s3]),
            all: u16::from_le_bytes([a0, a1]),
            count,
        };
        let (start, len) = found
            .place(usize::from(index))
            .ok_or(FragmentError::Format)?;
        // Of more pieces than the frame has bytes for, the last would be awaited for ever.
        let complete = usize::from(count)
            .checked_sub(1)
            .and_then(|last| found.place(last));
        if format != FORMAT || part.len() != len || complete.is_none() {
            return Err(FragmentError::Format);
        }
        if let Some(expected) = self.name.filter(|expected| *expected != found) {
            return Err(FragmentError::Foreign {
                found: found.sum,
                expected: expected.sum,
            });
        }
        let len = self.buffer.len();
        let needed = usize::from(found.all);
        if len < needed {
            return Err(FragmentError::Buffer { len, needed });
        }
        // Of an index below the count, which is at most COUNT_MAX, there is a bit.
        let have = self
            .have
            .get_mut(usize::from(index / 32))
            .ok_or(FragmentError::Format)?;
        self.name = Some(found);
        if *have & (1 << (index % 32)) == 0 {
            self.buffer
                .iter_mut()
                .skip(start)
                .zip(part)
                .for_each(|(to, from)| *to = *from);
            *have |= 1 << (index % 32);
        }
        if self.have.iter().map(|have| have.count_ones()).sum::<u32>() < u32::from(count) {
            return Ok(Poll::Pending);
        }
        match self.buffer.get(..needed) {
            Some(frame) if checksum(frame) == found.sum => Ok(Poll::Ready(frame)),
            _ => {
                (self.name, self.have) = (None, [0; _]);
                Err(FragmentError::Checksum)
            }
        }
    }
}

#[cfg(test)]
mod tests;
