//! Uploads in 16 bits a number, for radios whose packets are small.
//!
//! The server clips every vector to r = S/√P and rounds it to integers before it adds it up
//! (`privacy::encode`). A device may do the first of that itself: it clips to r, truncates to
//! multiples of r/32767 and sends the multiples.
//!
//! **Equation**: qⱼ = trunc(32767·c·ωⱼ/r), c = 1/max(1, ‖ω‖/r); the server goes on with ω̃ⱼ =
//! qⱼ·r/32767.
//!
//! **Layout** (little-endian), [`OVERHEAD`] + 2M bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | [`FORMAT`], which no ordinary frame begins with |
//! | 4 | tag: first 32 bits of SHA-256 over deployment, configuration and chain, 64 bits each |
//! | 4 | agent |
//! | 4 | round |
//! | 2 | attempt |
//! | 2 | M |
//! | 2M | q₁ … q_M, signed |
//! | 4 | CRC-32C of all before |
//!
//! **Privacy**: the sensitivity of a release is what it is for ordinary frames, whatever a device
//! sends. *Proof.* Let the bytes be any. Either they are refused, and the upload counts as not
//! received; or they decode to M numbers qⱼ·r/32767 with |qⱼ| ≤ 2¹⁵, all finite, a function of
//! these bytes and of public constants. The server gives them to the same
//! [`Encoder`](crate::privacy::encode::Encoder) as any other vector, and what that adds is an
//! integer vector u with Σu² ≤ K², checked exactly, or zero. Hence replacing the bytes by nothing
//! moves the sums by at most K in L2. Nothing of this uses that the device clipped, truncated or
//! was honest; the clip on the device only keeps the 16 bits from being spent on what the server
//! would cut off. ∎
//!
//! **Numerics**: |ω̃ⱼ − c·ωⱼ| ≤ r/32767. Truncation goes toward zero, so ‖ω̃‖ ≤ ‖c·ω‖ up to
//! rounding and the server clips no vector that it would have kept. All in `f64`: devices that hold
//! the same numbers send the same bytes.
//!
//! ```
//! use sordino_core::federated::small::{self, OVERHEAD, SmallError};
//! use sordino_core::wire::{Header, Kind, ScalarTag, VERSION};
//! # use sordino_core::{domain::Regions, federated::{Aggregation, Config, Parameters}};
//! # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
//!
//! let marks = (VERSION, Kind::Upload, ScalarTag::F32);
//! let (version, kind, scalar) = marks;
//! let (deployment, config_id, chain) = (5, 6, 7); // of the federation
//! let header = Header { version, kind, scalar, deployment, config: config_id, chain, agent: 1, round: 2, attempt: 0, len: 16 };
//! let (weights, mut bytes, mut read) = ([0.25f32; 16], [0; small::frame_len(16)], [0f32; 16]);
//! assert_eq!(small::encode(&config, header, &weights, &mut bytes)?, OVERHEAD + 2 * 16);
//! let found = small::decode(&config, header, &bytes, &mut read)?;
//! assert_eq!((found.agent, found.round), (1, 2));
//! let step = 6.0 / 32_767.0; // r = S/√P = 6, of two agents and one region
//! assert!(read.iter().zip(weights).all(|(read, sent)| (read - sent).abs() <= step));
//! bytes[20] ^= 1;
//! assert_eq!(small::decode(&config, header, &bytes, &mut read), Err(SmallError::Checksum));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use core::fmt;

use super::config::{Aggregation, Config};
use crate::digest::Frame;
use crate::math::Scalar;
use crate::privacy::encode::clip_factor;
use crate::wire::{self, Header, Kind, WireError, checksum};

/// The first byte. An ordinary frame begins with its version, which stays below 128.
pub const FORMAT: u8 = 0x81;
/// Bytes beside the numbers.
pub const OVERHEAD: usize = HEADER + 4;
const HEADER: usize = 17;
/// Multiples of the grid's step that the clipping radius is.
const STEPS: f64 = 32_767.0;

/// Bytes of a small frame of M = `features` numbers.
pub const fn frame_len(features: usize) -> usize {
    features.saturating_mul(2).saturating_add(OVERHEAD)
}

/// Why a small frame was not made or not taken.
///
/// **Example**: that of [the module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SmallError {
    /// The configuration clips nothing, so there is no grid: a mean that protects nobody, or no
    /// uploads at all.
    Unclipped,
    /// An entry that is not finite, or a vector too long to measure.
    NotFinite,
    /// A vector or a buffer for one of another length than M, or more numbers than a frame can say.
    Features {
        /// How many numbers there are.
        len: usize,
        /// What the frame or the configuration says, at most 65,535.
        expected: usize,
    },
    /// A buffer too small for the frame.
    Buffer {
        /// How many bytes it has.
        len: usize,
        /// Bytes that are needed.
        needed: usize,
    },
    /// The first byte is wrong, or no frame has this length.
    Format,
    /// Bytes were changed on the way.
    Checksum,
    /// Another federation, configuration or history: the tag is another.
    Tag {
        /// The tag that came.
        found: u32,
        /// That of the header that was expected.
        expected: u32,
    },
    /// The ordinary frame cannot be written.
    Wire(WireError),
}

impl fmt::Display for SmallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SmallError::Unclipped => {
                f.write_str("a configuration without clipping_norm has no 16-bit uploads")
            }
            SmallError::NotFinite => {
                f.write_str("a vector that is not finite, or too long to measure")
            }
            SmallError::Features { len, expected } => {
                write!(f, "{len} numbers, {expected} (at most 65535) are expected")
            }
            SmallError::Buffer { len, needed } => {
                write!(f, "a buffer of {len} bytes, {needed} are needed")
            }
            SmallError::Format => {
                f.write_str("no 16-bit upload: another first byte, or another length")
            }
            SmallError::Checksum => f.write_str("the frame was changed on its way"),
            SmallError::Tag { found, expected } => {
                write!(
                    f,
                    "a frame of another federation or history: tag {found:08x}, {expected:08x} was expected"
                )
            }
            SmallError::Wire(error) => write!(f, "{error}"),
        }
    }
}

impl core::error::Error for SmallError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            SmallError::Wire(error) => error.source(),
            _ => None,
        }
    }
}

/// Writes an upload as a small frame and returns its length, [`frame_len`].
///
/// **Parameters**: `header` as for an ordinary frame; `weights` the M numbers of
/// [`Output::Upload`](super::Output::Upload); `out` of [`frame_len`] bytes.
///
/// **Errors**: [`SmallError::Unclipped`], [`SmallError::Features`], [`SmallError::NotFinite`],
/// [`SmallError::Buffer`].
pub fn encode<T: Scalar>(
    config: &Config,
    header: Header,
    weights: &[T],
    out: &mut [u8],
) -> Result<usize, SmallError> {
    let radius = radius(config)?;
    let expected = config.parameters().feature_count as usize;
    let (Ok(len), true) = (u16::try_from(weights.len()), weights.len() == expected) else {
        return Err(SmallError::Features {
            len: weights.len(),
            expected,
        });
    };
    let factor = clip_factor(weights, radius).ok_or(SmallError::NotFinite)?;
    let have = out.len();
    let needed = frame_len(weights.len());
    let frame = out
        .get_mut(..needed)
        .ok_or(SmallError::Buffer { len: have, needed })?;
    let mut bytes = frame.iter_mut();
    let mut put = |field: &[u8]| {
        field
            .iter()
            .zip(&mut bytes)
            .for_each(|(from, to)| *to = *from)
    };
    put(&[FORMAT]);
    put(&tag(&header).to_le_bytes());
    put(&header.agent.to_le_bytes());
    put(&header.round.to_le_bytes());
    put(&header.attempt.to_le_bytes());
    put(&len.to_le_bytes());
    for x in weights {
        // At most 32,767 and a rounding; the cast truncates toward zero and saturates.
        put(&((STEPS * (factor * x.to_f64() / radius)) as i16).to_le_bytes());
    }
    if let Some((front, sum)) = frame.split_last_chunk_mut::<4>() {
        *sum = checksum(front).to_le_bytes();
    }
    Ok(needed)
}

/// Reads a small frame: the vector as the server goes on with it, and the header of the ordinary
/// frame.
///
/// **Parameters**: `expected` the header of an upload of this federation with the chain that the
/// sender should know, of which agent, round and attempt do not count; `weights` M numbers.
///
/// **Errors**: [`SmallError`], all but [`SmallError::NotFinite`] and [`SmallError::Wire`];
/// `weights` is as it was, and so should the server be: such an upload was not received.
pub fn decode<T: Scalar>(
    config: &Config,
    expected: Header,
    bytes: &[u8],
    weights: &mut [T],
) -> Result<Header, SmallError> {
    let radius = radius(config)?;
    let m = config.parameters().feature_count as usize;
    let (front, sum) = bytes.split_last_chunk::<4>().ok_or(SmallError::Format)?;
    let (head, numbers) = front
        .split_first_chunk::<HEADER>()
        .ok_or(SmallError::Format)?;
    let [
        format,
        t0,
        t1,
        t2,
        t3,
        a0,
        a1,
        a2,
        a3,
        r0,
        r1,
        r2,
        r3,
        b0,
        b1,
        l0,
        l1,
    ] = *head;
    let len = usize::from(u16::from_le_bytes([l0, l1]));
    if format != FORMAT || numbers.len() != 2 * len {
        return Err(SmallError::Format);
    }
    if checksum(front) != u32::from_le_bytes(*sum) {
        return Err(SmallError::Checksum);
    }
    let found = u32::from_le_bytes([t0, t1, t2, t3]);
    let wanted = tag(&expected);
    if found != wanted {
        return Err(SmallError::Tag {
            found,
            expected: wanted,
        });
    }
    if len != m || weights.len() != m {
        return Err(SmallError::Features {
            len: if len == m { weights.len() } else { len },
            expected: m,
        });
    }
    for (x, pair) in weights.iter_mut().zip(numbers.as_chunks::<2>().0) {
        *x = T::from_f64(f64::from(i16::from_le_bytes(*pair)) * (radius / STEPS));
    }
    let agent = u32::from_le_bytes([a0, a1, a2, a3]);
    let round = u32::from_le_bytes([r0, r1, r2, r3]);
    Ok(Header {
        kind: Kind::Upload,
        agent,
        round,
        attempt: u16::from_le_bytes([b0, b1]),
        ..expected
    })
}

/// Makes the ordinary frame of a small one, for a gateway between a radio and a server: returns its
/// length.
///
/// **Parameters**: as of [`decode`]; `weights` M numbers of scratch; `out` of
/// [`wire::frame_len_max`] bytes.
///
/// **Errors**: those of [`decode`], [`SmallError::Wire`].
pub fn widen<T: Scalar>(
    config: &Config,
    expected: Header,
    bytes: &[u8],
    weights: &mut [T],
    out: &mut [u8],
) -> Result<usize, SmallError> {
    let header = decode(config, expected, bytes, weights)?;
    wire::encode(header, weights, out).map_err(SmallError::Wire)
}

/// The clipping radius r = S/√P of one vector.
fn radius(config: &Config) -> Result<f64, SmallError> {
    match config.parameters().aggregation {
        Aggregation::Private { clipping_norm, .. } => {
            Ok(clipping_norm.value() / Scalar::sqrt(config.region_count() as f64))
        }
        _ => Err(SmallError::Unclipped),
    }
}

/// What stands for deployment, configuration and chain: against accidents, not adversaries, as the
/// whole frame.
fn tag(header: &Header) -> u32 {
    let mut frame = Frame::leaf();
    frame.u64(header.deployment);
    frame.u64(header.config);
    frame.u64(header.chain);
    let [a, b, c, d, ..] = frame.end().0;
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests;
