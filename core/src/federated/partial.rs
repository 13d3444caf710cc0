//! The seam between a server and its collectors: a share of the secret sample goes out, a partial
//! sum comes back.
//!
//! Both are inside the trust boundary: a share says who was selected, a partial holds unnoised
//! sums. What comes back is still not believed. [`super::Server::merge`] takes a partial only if it
//! was made for this very opening (a nonce that is drawn at `Open` and never restored), under this
//! configuration, from this sample, of agents that nobody counted yet, and if its sums can be what
//! those agents sent:
//!
//! **Equation**: every contribution is an integer vector of norm ≤ K, so the sum of n of them has
//! ‖Σu‖₂ ≤ n·K. The check is exact, in integers.
//!
//! A partial that was stored or sent comes through the same door: it deserialises into a
//! [`Partial`], and nothing about it is trusted.

use core::fmt;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use super::encoding::{Counters, Encoding, SELECTED, UPLOADED};
use crate::digest::Digest;
use crate::random::Nonce;

/// Which opening of which broadcast, under which configuration.
///
/// Carried by a [`Share`] and a [`Partial`]; nobody else makes or reads one. **Example**: that of
/// [`super::Collector`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    pub(super) nonce: Nonce,
    pub(super) broadcast: u32,
    pub(super) configuration: Digest,
}

/// The secret sample of consecutive agents for one opening, for a collector inside the trust
/// boundary. Prints its range, never the sample.
///
/// **Privacy**: against anyone who sees it the amplification by sampling is lost. Hand a collector
/// the share of its own agents ([`Share::part`]) and no more; devices get none.
///
/// **Example**: that of [`super::Collector`].
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Share<F> {
    pub(super) opening: Opening,
    pub(super) first: u32,
    pub(super) flags: F,
}

impl<F: AsRef<[u8]>> Share<F> {
    /// The index s of the broadcast it was opened for.
    pub fn broadcast(&self) -> u32 {
        self.opening.broadcast
    }

    /// The agents it covers.
    pub fn agents(&self) -> Range<u32> {
        self.first..self.first.saturating_add(self.flags.as_ref().len() as u32)
    }

    /// The share of some of its agents; nothing if the range is not within its own.
    pub fn part(&self, agents: Range<u32>) -> Option<Share<&[u8]>> {
        let start = agents.start.checked_sub(self.first)? as usize;
        let end = agents.end.checked_sub(self.first)? as usize;
        Some(Share {
            opening: self.opening,
            first: agents.start,
            flags: self.flags.as_ref().get(start..end)?,
        })
    }
}

impl<F: AsRef<[u8]>> fmt::Debug for Share<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Share {{ broadcast: {}, agents: {:?} }}",
            self.broadcast(),
            self.agents()
        )
    }
}

/// What a collector took: integer sums, and whose. Only [`super::Collector::finish`] makes one; its
/// fields are not to be had. Prints its range, never what it holds.
///
/// **Example**: that of [`super::Collector`].
#[derive(PartialEq, Serialize, Deserialize)]
#[must_use = "a partial that no server merges counts for nothing"]
pub struct Partial<F, S> {
    pub(super) opening: Opening,
    pub(super) first: u32,
    pub(super) flags: F,
    pub(super) sums: S,
    pub(super) counters: Counters,
}

impl<F: AsRef<[u8]>, S: AsRef<[i64]>> Partial<F, S> {
    /// The agents it covers.
    pub fn agents(&self) -> Range<u32> {
        self.first..self.first.saturating_add(self.flags.as_ref().len() as u32)
    }

    /// The same, its slices taken once.
    pub(super) fn borrowed(&self) -> Partial<&[u8], &[i64]> {
        Partial {
            opening: self.opening,
            first: self.first,
            flags: self.flags.as_ref(),
            sums: self.sums.as_ref(),
            counters: self.counters,
        }
    }
}

impl Partial<&[u8], &[i64]> {
    /// Judges it against the server's own opening, flags and encoding; the range of its agents if
    /// it may be merged.
    pub(super) fn judge<E: Encoding>(
        &self,
        encoding: &E,
        opening: &Opening,
        own: &[u8],
    ) -> Result<Range<usize>, PartialError> {
        let flags = self.flags;
        let sums = self.sums;
        let len = encoding.sums_len();
        if self.opening.broadcast != opening.broadcast {
            let found = self.opening.broadcast;
            let expected = opening.broadcast;
            return Err(PartialError::Broadcast { found, expected });
        }
        if self.opening.configuration != opening.configuration {
            return Err(PartialError::Configuration);
        }
        if self.opening.nonce != opening.nonce {
            return Err(PartialError::Opening);
        }
        if sums.len() != len {
            return Err(PartialError::Length {
                len: sums.len(),
                expected: len,
            });
        }
        let first = self.first as usize;
        let range = first..first.saturating_add(flags.len());
        let Some(own) = own.get(range.clone()) else {
            return Err(PartialError::Agents {
                end: range.end,
                agents: own.len(),
            });
        };
        if own
            .iter()
            .zip(flags)
            .any(|(own, part)| (own ^ part) & !UPLOADED != 0)
        {
            return Err(PartialError::Sample);
        }
        if let Some(agent) = own
            .iter()
            .zip(flags)
            .position(|(own, part)| own & part & UPLOADED != 0)
        {
            return Err(PartialError::Counted {
                agent: self.first + agent as u32,
            });
        }
        let uploaded = flags.iter().filter(|flag| **flag & UPLOADED != 0).count() as u32;
        let contributed = flags
            .iter()
            .filter(|flag| **flag & (SELECTED | UPLOADED) == SELECTED | UPLOADED)
            .count();
        let told = &self.counters;
        if told.received != uploaded
            || told.clipped.saturating_add(told.zeroed) > contributed as u32
        {
            return Err(PartialError::Counters);
        }
        within(encoding, sums, contributed as u64, uploaded).map(|()| range)
    }
}

/// Whether sums can be what `uploaded` agents sent, of whom `contributed` are in the sample.
fn within<E: Encoding>(
    encoding: &E,
    sums: &[i64],
    contributed: u64,
    uploaded: u32,
) -> Result<(), PartialError> {
    let Some(mechanism) = encoding.mechanism() else {
        let limit = encoding.mean_limit(uploaded);
        let fits = sums.iter().all(|sum| sum.unsigned_abs() <= limit);
        return if fits {
            Ok(())
        } else {
            Err(PartialError::Bound)
        };
    };
    let contributed = if encoding.carries_vectors() {
        contributed
    } else {
        0
    };
    norm_within(sums, contributed, mechanism.radius())
}

/// ‖Σu‖₂ ≤ n·K, exactly. n·K < 2⁶² by the mechanism's configuration, so its square is below 2¹²⁴
/// and one more square never overflows.
fn norm_within(sums: &[i64], contributed: u64, radius: u64) -> Result<(), PartialError> {
    let limit = u128::from(contributed * radius).pow(2);
    let mut squares = 0u128;
    for sum in sums {
        let size = u128::from(sum.unsigned_abs());
        squares += size * size;
        if squares > limit {
            return Err(PartialError::Bound);
        }
    }
    Ok(())
}

impl<F: AsRef<[u8]>, S: AsRef<[i64]>> fmt::Debug for Partial<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Partial {{ broadcast: {}, agents: {:?} }}",
            self.opening.broadcast,
            self.agents()
        )
    }
}

/// Why a partial sum was not merged. The server is as before.
///
/// **Example**: that of [`super::Collector`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PartialError {
    /// It is of another broadcast than the one collected.
    Broadcast {
        /// Broadcast that it was made for.
        found: u32,
        /// Broadcast that is collected.
        expected: u32,
    },
    /// Its collector had another configuration: other weights, clipping or noise.
    Configuration,
    /// It is of an earlier opening of this broadcast, whose sample was charged by itself.
    Opening,
    /// Its sums are not as many as the release has numbers.
    Length {
        /// Number of sums given.
        len: usize,
        /// Numbers of a release.
        expected: usize,
    },
    /// Its agents are not all enrolled.
    Agents {
        /// One past its last agent.
        end: usize,
        /// Number of agents N.
        agents: usize,
    },
    /// It believes another secret sample than the one that was drawn.
    Sample,
    /// An agent of it was counted before, here or by another collector.
    Counted {
        /// The first such agent.
        agent: u32,
    },
    /// What it says it took does not fit its flags.
    Counters,
    /// Its sums exceed what its selected agents can have sent.
    Bound,
}

impl fmt::Display for PartialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("partial sum refused: ")?;
        match *self {
            PartialError::Broadcast { found, expected } => {
                write!(f, "it is of broadcast {found}, {expected} is collected")
            }
            PartialError::Configuration => f.write_str("its collector had another configuration"),
            PartialError::Opening => f.write_str("it is of an earlier opening of this broadcast"),
            PartialError::Length { len, expected } => write!(f, "{len} sums, {expected} expected"),
            PartialError::Agents { end, agents } => {
                write!(f, "its agents end at {end}, {agents} are enrolled")
            }
            PartialError::Sample => f.write_str("it believes another secret sample"),
            PartialError::Counted { agent } => write!(f, "agent {agent} was counted before"),
            PartialError::Counters => f.write_str("its counters do not fit its flags"),
            PartialError::Bound => f.write_str("its sums exceed what its agents can have sent"),
        }
    }
}

impl core::error::Error for PartialError {}
