//! Versioned frames: what goes over a link.
//!
//! **Layout**: header (postcard, the version byte first), payload (little-endian numbers, borrowed
//! on reading), CRC-32C of both (little-endian). Serial links wrap a frame in COBS; nothing here
//! needs it. Integrity against accidents only: a link that must resist an adversary brings its own
//! authentication.
//!
//! Lengths are bounded before anything is read: a frame promises its payload's length in the
//! header, and a reader says beforehand how long it may be.
//!
//! ```
//! use sordino_core::wire::{Header, Kind, ScalarTag, VERSION, decode, encode, frame_len_max};
//!
//! let (version, kind, scalar) = (VERSION, Kind::Upload, ScalarTag::F32);
//! let header = Header { version, kind, scalar, deployment: 5, config: 6, chain: 7, agent: 1, round: 2, attempt: 0, len: 3 };
//! let mut bytes = [0; frame_len_max(ScalarTag::F32, 3)];
//! let len = encode(header, &[0.5f32, 1.0, -2.0], &mut bytes)?;
//! let (read, payload) = decode(&bytes[..len], 3)?;
//! let mut numbers = [0f32; 3];
//! payload.read(&mut numbers)?;
//! assert_eq!((read, numbers), (header, [0.5, 1.0, -2.0]));
//! bytes[3] ^= 1;
//! assert!(decode(&bytes[..len], 3).is_err()); // changed on its way
//! # Ok::<(), sordino_core::wire::WireError>(())
//! ```

pub mod fragments;

use core::fmt;

use crc::{CRC_32_ISCSI, Crc, Table};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::math::{Scalar, read_all_le, write_all_le};

/// The only version this code speaks.
pub const VERSION: u8 = 2;
/// Bytes no header exceeds.
pub const HEADER_MAX: usize = 53;
const CRC_LEN: usize = 4;
/// Bytes of a checksum that are looked up together: on a host sixteen, with 16 kB of tables; on a
/// device one, with 1 kB.
const CRC_STEP: usize = if cfg!(feature = "dispatch") { 16 } else { 1 };
static CRC32C: Crc<u32, Table<CRC_STEP>> = Crc::<u32, Table<CRC_STEP>>::new(&CRC_32_ISCSI);

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Kind {
    /// What an agent contributes to a release: M weights, a joint vector of M + 1 numbers, or no
    /// numbers if it has nothing to give.
    Upload,
    /// What a release made known: P·M numbers of draws, or the M + 1 sums of a federated prior.
    Broadcast,
    /// The server says that there is no release before this epoch; no numbers.
    NoBroadcast,
    /// A reporter's privatised value.
    Report,
    /// A learner's or modeler's query.
    Query,
    /// What a release of a campaign is made with, for agents that do not compute it: κ, C and M
    /// weights.
    Opening,
    /// A prior file for those who read no safetensors: what
    /// [`PriorNumbers::read`](crate::prior::PriorNumbers::read) reads.
    Prior,
}

/// Format of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ScalarTag {
    /// Single precision, 4 bytes each.
    F32,
    /// Double precision, 8 bytes each.
    F64,
    /// 8 bytes each, integers on a grid.
    I64,
}

impl ScalarTag {
    /// The tag of a scalar type.
    pub fn of<T: Scalar>() -> Self {
        if T::BYTES == 4 {
            ScalarTag::F32
        } else {
            ScalarTag::F64
        }
    }

    /// Bytes of one number.
    pub const fn bytes(self) -> usize {
        match self {
            ScalarTag::F32 => 4,
            ScalarTag::F64 | ScalarTag::I64 => 8,
        }
    }
}

/// What precedes the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format, [`VERSION`].
    pub version: u8,
    /// Kind of message that follows.
    pub kind: Kind,
    /// Format of the numbers that follow.
    pub scalar: ScalarTag,
    /// Random number of this deployment, public, so that frames of another one are refused. A
    /// server draws it once when it is set up, from entropy. **Never a seed**: anybody who sees a
    /// frame would know every draw that follows from it.
    pub deployment: u64,
    /// [`config_id`] of what both sides agreed on.
    pub config: u64,
    /// First 64 bits of the digest of all broadcasts, this one among them; of an upload, of those
    /// its sender knows. Two histories under one name are found out by it. 0 where there is no
    /// history.
    pub chain: u64,
    /// Sender or addressee; a broadcast carries 0.
    pub agent: u32,
    /// The round it belongs to.
    pub round: u32,
    /// How often the round was begun before: a server that restarts inside a round begins it again.
    pub attempt: u16,
    /// Numbers that follow.
    pub len: u32,
}

/// Why a frame was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum WireError {
    /// Fewer bytes than header, payload and checksum need.
    Truncated {
        /// Number of bytes given.
        len: usize,
        /// Bytes needed at least.
        needed: usize,
    },
    /// More bytes than the frame promises.
    TrailingBytes {
        /// Bytes too many.
        extra: usize,
    },
    /// A frame of another version.
    Version {
        /// First byte, which is the version.
        found: u8,
    },
    /// A header that does not decode.
    Header,
    /// More numbers than the reader admits, or than the address space of this machine holds.
    TooLong {
        /// Count of numbers that the header announces.
        len: u32,
        /// The most numbers that are admitted.
        max: u32,
    },
    /// A checksum that does not match.
    Checksum {
        /// Checksum of the bytes received.
        computed: u32,
        /// Checksum that stands in the frame.
        received: u32,
    },
    /// Numbers in another format or number than asked for.
    Payload {
        /// Format received.
        scalar: ScalarTag,
        /// Numbers received.
        len: u32,
    },
    /// An output buffer too small.
    Buffer {
        /// Length of the buffer given.
        len: usize,
        /// The length needed.
        needed: usize,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WireError::Truncated { len, needed } => {
                write!(f, "frame of {len} bytes, at least {needed} needed")
            }
            WireError::TrailingBytes { extra } => {
                write!(f, "{extra} bytes after the end of the frame")
            }
            WireError::Version { found } => {
                write!(f, "frame version {found}, this program speaks {VERSION}")
            }
            WireError::Header => write!(f, "frame header does not decode"),
            WireError::TooLong { len, max } => {
                write!(f, "frame promises {len} numbers, at most {max} admitted")
            }
            WireError::Checksum { computed, received } => {
                write!(f, "frame checksum {received:08x}, computed {computed:08x}")
            }
            WireError::Payload { scalar, len } => {
                write!(
                    f,
                    "payload of {len} {scalar:?} does not fit what was asked for"
                )
            }
            WireError::Buffer { len, needed } => {
                write!(f, "buffer of {len} bytes, {needed} needed")
            }
        }
    }
}

impl core::error::Error for WireError {}

/// Bytes a frame of `len` numbers takes at most; [`usize::MAX`], which no buffer has, where the
/// address space ends.
pub const fn frame_len_max(scalar: ScalarTag, len: usize) -> usize {
    scalar
        .bytes()
        .saturating_mul(len)
        .saturating_add(HEADER_MAX + CRC_LEN)
}

/// Bytes of a frame with a header of `header_len` bytes and `len` numbers.
///
/// **Errors**: [`WireError::TooLong`] with the most numbers that fit, if the frame exceeds
/// `bytes_max`, the end of the address space: 2³² − 1 on most devices, where 2²⁹ numbers of 8 bytes
/// would otherwise count as none.
fn frame_len(
    header_len: usize,
    scalar: ScalarTag,
    len: u32,
    bytes_max: usize,
) -> Result<usize, WireError> {
    // 53 + 8·(2³² − 1) + 4 at most: far from the end of 64 bits.
    let around = (header_len + CRC_LEN) as u64;
    let each = scalar.bytes() as u64;
    let limit = bytes_max as u64;
    let needed = around + each * u64::from(len);
    if needed > limit {
        let max = limit.saturating_sub(around) / each;
        return Err(WireError::TooLong {
            len,
            max: u32::try_from(max).unwrap_or(u32::MAX),
        });
    }
    // Exact: at most `bytes_max`, which is a usize.
    Ok(needed as usize)
}

/// Writes a frame and returns its length. `header.len` and `header.scalar` are set from the
/// payload.
///
/// **Errors**: [`WireError::Buffer`], [`WireError::TooLong`].
pub fn encode<T: Scalar>(
    header: Header,
    payload: &[T],
    out: &mut [u8],
) -> Result<usize, WireError> {
    let Ok(len) = u32::try_from(payload.len()) else {
        return Err(WireError::TooLong {
            len: u32::MAX,
            max: u32::MAX,
        });
    };
    let header = Header {
        version: VERSION,
        scalar: ScalarTag::of::<T>(),
        len,
        ..header
    };
    let have = out.len();
    let needed = frame_len_max(header.scalar, payload.len());
    let short = WireError::Buffer { len: have, needed };
    let used = postcard::to_slice(&header, out).map_err(|_| short)?.len();
    let total = frame_len(used, header.scalar, len, usize::MAX)?;
    let frame = out.get_mut(..total).ok_or(short)?;
    // Forms without a panic, here and in `decode`: devices frame what they send.
    let (front, sum) = frame.split_last_chunk_mut::<CRC_LEN>().ok_or(short)?;
    write_all_le(payload, front.get_mut(used..).ok_or(short)?);
    *sum = checksum(front).to_le_bytes();
    Ok(total)
}

/// Reads a frame of at most `len_max` numbers; the payload stays where it is.
///
/// **Errors**: every variant but [`WireError::Buffer`].
pub fn decode(bytes: &[u8], len_max: u32) -> Result<(Header, Payload<'_>), WireError> {
    let len = bytes.len();
    match bytes.first() {
        None => {
            return Err(WireError::Truncated {
                len,
                needed: 1 + CRC_LEN,
            });
        }
        Some(&version) if version != VERSION => return Err(WireError::Version { found: version }),
        Some(_) => {}
    }
    let (header, rest) =
        postcard::take_from_bytes::<Header>(bytes).map_err(|_| WireError::Header)?;
    if header.len > len_max {
        return Err(WireError::TooLong {
            len: header.len,
            max: len_max,
        });
    }
    let header_len = len - rest.len();
    let needed = frame_len(header_len, header.scalar, header.len, usize::MAX)?;
    if len < needed {
        return Err(WireError::Truncated { len, needed });
    }
    if len > needed {
        return Err(WireError::TrailingBytes {
            extra: len - needed,
        });
    }
    // `needed` bytes are there, header and checksum among them.
    let (front, sum) = bytes
        .split_last_chunk::<CRC_LEN>()
        .ok_or(WireError::Truncated { len, needed })?;
    let payload = front.get(header_len..).ok_or(WireError::Header)?;
    let computed = checksum(front);
    let received = u32::from_le_bytes(*sum);
    if computed != received {
        return Err(WireError::Checksum { computed, received });
    }
    Ok((
        header,
        Payload {
            scalar: header.scalar,
            bytes: payload,
        },
    ))
}

/// The numbers of a frame, still in the receiver's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'b> {
    scalar: ScalarTag,
    bytes: &'b [u8],
}

impl Payload<'_> {
    /// The bytes of the numbers as they came, little-endian: what a digest of them is made of.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Copies the numbers into `out`, which must have their number and format. The numbers are not
    /// judged: whether NaN is an error or a silent zero is the receiving party's rule.
    ///
    /// **Errors**: [`WireError::Payload`]; `out` is untouched then.
    pub fn read<T: Scalar>(&self, out: &mut [T]) -> Result<(), WireError> {
        let len = self.bytes.len() / self.scalar.bytes();
        if self.scalar != ScalarTag::of::<T>() || len != out.len() {
            return Err(WireError::Payload {
                scalar: self.scalar,
                len: len as u32,
            });
        }
        for (x, read) in out.iter_mut().zip(read_all_le(self.bytes)) {
            *x = read;
        }
        Ok(())
    }
}

/// CRC-32C of frames and of what is stored.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    CRC32C.checksum(bytes)
}

/// First 64 bits of the digest of a value's postcard form: both sides of a link compare it before
/// anything else.
pub fn config_id<V: Serialize>(value: &V) -> u64 {
    prefix(&Digest::of(value))
}

/// First 64 bits of a digest, as frames carry them: enough to tell accidents, and never the only
/// comparison.
pub fn prefix(digest: &Digest) -> u64 {
    digest
        .0
        .iter()
        .take(8)
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn header() -> Header {
        Header {
            version: VERSION,
            kind: Kind::Upload,
            scalar: ScalarTag::F64,
            deployment: u64::MAX,
            config: 7,
            chain: u64::MAX,
            agent: 3,
            round: 40,
            attempt: u16::MAX,
            len: 0,
        }
    }

    fn frame() -> Vec<u8> {
        let mut out = [0; 128];
        let len = encode(header(), &[1.5f32, -2.0, f32::MAX], &mut out).unwrap();
        out[..len].to_vec()
    }

    #[test]
    fn round_trips_and_is_frozen() {
        let bytes = frame();
        let (got, payload) = decode(&bytes, 3).unwrap();
        assert_eq!(
            got,
            Header {
                scalar: ScalarTag::F32,
                len: 3,
                ..header()
            }
        );
        let mut out = [0.0f32; 3];
        payload.read(&mut out).unwrap();
        assert_eq!(out, [1.5, -2.0, f32::MAX]);
        assert_eq!(
            payload.read(&mut [0.0f64; 3]),
            Err(WireError::Payload {
                scalar: ScalarTag::F32,
                len: 3
            })
        );
        let hex: std::string::String = bytes.iter().map(|b| std::format!("{b:02x}")).collect();
        assert_eq!(hex, FROZEN);
        assert!(bytes.len() <= frame_len_max(ScalarTag::F32, 3));
    }
    const FROZEN: &str = "020000ffffffffffffffffff0107ffffffffffffffffff010328ffff03030000c03f000000c0ffff7f7fd5c7b8cf";

    #[test]
    fn every_truncation_extension_and_bit_flip_is_refused() {
        let bytes = frame();
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len], 3).is_err());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(
            decode(&longer, 3),
            Err(WireError::TrailingBytes { extra: 1 })
        );
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped, u32::MAX).is_err(), "bit {bit}");
        }
        assert_eq!(
            decode(&bytes, 2),
            Err(WireError::TooLong { len: 3, max: 2 })
        );
        assert_eq!(decode(&[9], 2), Err(WireError::Version { found: 9 }));
        assert!(matches!(
            encode(header(), &[1.0f64; 9], &mut [0; 50]),
            Err(WireError::Buffer { .. })
        ));
    }

    #[test]
    fn lengths_do_not_wrap_on_32_bits() {
        const END: usize = u32::MAX as usize;
        let too_long = |len, max| Err(WireError::TooLong { len, max });
        for (scalar, most) in [
            (ScalarTag::F64, 536_870_909),
            (ScalarTag::I64, 536_870_909),
            (ScalarTag::F32, 1 << 30),
        ] {
            // 2³²/bytes: the product alone is 0 in 32 bits.
            let wraps = (1u64 << 32) / scalar.bytes() as u64;
            for len in [wraps as u32, wraps as u32 + 1, u32::MAX] {
                assert!(frame_len(17, scalar, len, END).is_err(), "{scalar:?} {len}");
                assert_eq!(
                    frame_len(17, scalar, len, usize::MAX),
                    Ok(17 + scalar.bytes() * len as usize + 4)
                );
            }
            let most = most.min((END - 21) / scalar.bytes()) as u32;
            assert_eq!(
                frame_len(17, scalar, most, END),
                Ok(21 + scalar.bytes() * most as usize)
            );
            // The product fits, the sum does not.
            assert_eq!(
                frame_len(17, scalar, most + 1, END),
                too_long(most + 1, most)
            );
        }
        assert_eq!(frame_len(40, ScalarTag::F64, 3, END), Ok(68));
        assert_eq!(frame_len(40, ScalarTag::F64, 3, 67), too_long(3, 2));
        assert_eq!(frame_len(40, ScalarTag::F64, 3, 43), too_long(3, 0));
        assert_eq!(
            frame_len_max(ScalarTag::F64, usize::MAX / 8 + 1),
            usize::MAX
        );
        assert_eq!(frame_len_max(ScalarTag::F64, usize::MAX / 8), usize::MAX);
    }
}
