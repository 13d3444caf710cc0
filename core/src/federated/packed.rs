//! Shares and partial sums on their way between members inside the trust boundary: two bits for
//! each agent, and the partials of neighbours as one.
#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::encoding::{Counters, SELECTED, UPLOADED};
use super::partial::{Partial, Share};
use super::wiped::Wiped;

/// Agents in a byte.
const IN_A_BYTE: usize = 4;

/// Flags of consecutive agents, two bits each, wiped when they are dropped. Prints their number.
///
/// What arrives is not believed: bytes that are not those of this number of agents do not unpack.
///
/// ```
/// use sordino_core::federated::{Packed, Share, Wiped};
/// # use sordino_core::{domain::Regions, federated::*, privacy::Simulated, random::Stream};
/// # let config = Config::new(Parameters::usual(4, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let (mut all, mut noise, mut agents, mut out) = ([0; 16], [0; 16], [0; 4], [0.0; 16]);
/// # let storage = ServerStorage { sums: &mut all, noise: &mut noise, flags: &mut agents, vectors: &mut out };
/// # let mut state = ServerState::new();
/// # let mut server = Server::attach(&config, &mut state, storage)?;
/// # server.handle(ServerInput::Open, &mut Simulated::new(Stream::from_seed(1)))?;
///
/// // A server of four agents that was opened, as in its example: the share travels in one byte, and arrives as it left.
/// let share: Share<Wiped<u8>> = server.share(0..4)?.to_owned();
/// let packed: Share<Packed> = share.packed().ok_or("not the flags of a share")?;
/// assert!(packed.unpacked().is_some_and(|arrived| arrived == share));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    count: u32,
    bytes: Vec<u8>,
}

impl Packed {
    /// Packs flags; nothing if one of them is none of a share or a partial.
    fn new(flags: &[u8]) -> Option<Self> {
        let mut packed = Packed {
            count: u32::try_from(flags.len()).ok()?,
            bytes: vec![0; flags.len().div_ceil(IN_A_BYTE)],
        };
        for (byte, flags) in packed.bytes.iter_mut().zip(flags.chunks(IN_A_BYTE)) {
            for (place, flag) in flags.iter().enumerate() {
                if flag & !(SELECTED | UPLOADED) != 0 {
                    return None;
                }
                *byte |= flag << (2 * place);
            }
        }
        Some(packed)
    }

    /// The flags; nothing if the bytes are not those of this number of agents.
    fn flags(&self) -> Option<Wiped<u8>> {
        let count = self.count as usize;
        let mut flags = Wiped::<u8>::zeros(self.bytes.len().checked_mul(IN_A_BYTE)?);
        for (flags, byte) in flags
            .numbers_mut()
            .chunks_exact_mut(IN_A_BYTE)
            .zip(&self.bytes)
        {
            flags
                .iter_mut()
                .enumerate()
                .for_each(|(place, flag)| *flag = (byte >> (2 * place)) & (SELECTED | UPLOADED));
        }
        let fits = self.bytes.len() == count.div_ceil(IN_A_BYTE);
        (fits && flags.as_ref().iter().skip(count).all(|flag| *flag == 0)).then(|| {
            flags.truncate(count);
            flags
        })
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed {{ agents: {} }}", self.count)
    }
}

impl<F: AsRef<[u8]>> Share<F> {
    /// The same share with two bits for each agent; nothing if its flags are none of a share.
    pub fn packed(&self) -> Option<Share<Packed>> {
        Some(Share {
            opening: self.opening,
            first: self.first,
            flags: Packed::new(self.flags.as_ref())?,
        })
    }
}

impl Share<Packed> {
    /// The share that was packed; nothing if it is none.
    pub fn unpacked(&self) -> Option<Share<Wiped<u8>>> {
        Some(Share {
            opening: self.opening,
            first: self.first,
            flags: self.flags.flags()?,
        })
    }
}

impl Partial<Packed, Wiped<i64>> {
    /// The partial that was packed; nothing if it is none. It is still judged by the server that
    /// merges it.
    pub fn unpacked(self) -> Option<Partial<Wiped<u8>, Wiped<i64>>> {
        let Partial {
            opening,
            first,
            flags,
            sums,
            counters,
        } = self;
        Some(Partial {
            opening,
            first,
            flags: flags.flags()?,
            sums,
            counters,
        })
    }
}

impl Partial<Wiped<u8>, Wiped<i64>> {
    /// The same partial with two bits for each agent; nothing if its flags are none of a partial.
    pub fn packed(self) -> Option<Partial<Packed, Wiped<i64>>> {
        let Partial {
            opening,
            first,
            flags,
            sums,
            counters,
        } = self;
        Some(Partial {
            opening,
            first,
            flags: Packed::new(flags.as_ref())?,
            sums,
            counters,
        })
    }

    /// Partials of neighbours as the one that a single collector of all their agents would have
    /// finished with.
    ///
    /// **Returns** nothing if there are none, if they are not of one opening and in the order of
    /// agents without a gap, or if a sum leaves 64 bits.
    pub fn join(parts: &[Self]) -> Option<Self> {
        let first = parts.first()?;
        let agents = parts.iter().map(|part| part.flags.as_ref().len()).sum();
        let mut flags = Wiped::<u8>::zeros(agents);
        let mut sums = Wiped::<i64>::zeros(first.sums.as_ref().len());
        let mut counters = Counters::ZERO;
        let mut end = 0;
        for part in parts {
            let here = part.flags.as_ref();
            let own = part.sums.as_ref();
            let follows = part.agents().start as usize == first.first as usize + end;
            if !follows || part.opening != first.opening || own.len() != sums.as_ref().len() {
                return None;
            }
            flags.numbers_mut()[end..end + here.len()].copy_from_slice(here);
            for (sum, more) in sums.numbers_mut().iter_mut().zip(own) {
                *sum = sum.checked_add(*more)?;
            }
            counters.add(&part.counters)?;
            end += here.len();
        }
        Some(Partial {
            opening: first.opening,
            first: first.first,
            flags,
            sums,
            counters,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::partial::Opening;
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn flags_come_out_as_they_went_in_and_nothing_else_does() {
        for count in 0..=9usize {
            let flags: Vec<u8> = (0..count).map(|i| (i * 7 % 4) as u8).collect();
            let packed = Packed::new(&flags).unwrap();
            assert_eq!(
                (packed.bytes.len(), packed.flags().unwrap().as_ref()),
                (count.div_ceil(4), &flags[..])
            );
        }
        assert!(Packed::new(&[0, 4]).is_none(), "no flag of ours");
        // Bytes of more or fewer agents than are said, and bits behind the last agent.
        for (count, bytes) in [
            (5, vec![0]),
            (3, vec![0, 0]),
            (u32::MAX, vec![1]),
            (3, vec![0b0100_0000]),
            (1, vec![4]),
        ] {
            assert!(
                Packed {
                    count,
                    bytes: bytes.clone()
                }
                .flags()
                .is_none(),
                "{count} {bytes:?}"
            );
        }
    }

    type Owned = Partial<Wiped<u8>, Wiped<i64>>;

    /// Agents `first..` with these flags; `opening` as a number.
    fn partial(opening: u8, first: u32, flags: &[u8], sums: &[i64]) -> Owned {
        let nonce = postcard::from_bytes(&[opening, 0]).unwrap();
        let opening = Opening {
            nonce,
            broadcast: 0,
            configuration: Digest::default(),
        };
        let counters = Counters {
            received: flags.len() as u32,
            ..Counters::default()
        };
        Partial {
            opening,
            first,
            flags,
            sums,
            counters,
        }
        .to_owned()
    }

    #[test]
    fn neighbours_are_joined_and_nobody_else() {
        let parts = [
            partial(1, 4, &[3, 2], &[5, -7]),
            partial(1, 6, &[2, 2, 3], &[1, i64::MAX]),
        ];
        let joined = Owned::join(&parts).unwrap();
        assert_eq!(
            (joined.agents(), joined.flags.as_ref()),
            (4..9, &[3, 2, 2, 2, 3][..])
        );
        assert_eq!(
            (joined.sums.as_ref(), joined.counters.received),
            (&[6, i64::MAX - 7][..], 5)
        );
        // There and back over two bits for each agent.
        assert!(joined.packed().unwrap().unpacked().unwrap() == Owned::join(&parts).unwrap());
        assert!(Owned::join(&parts[..1]).unwrap() == parts[0]);
        // Negative controls: nobody, a gap, the wrong order, another opening, other lengths, a sum
        // beyond 64 bits.
        assert!(Owned::join(&[]).is_none());
        for second in [
            partial(1, 7, &[2], &[0, 0]),
            partial(1, 3, &[2], &[0, 0]),
            partial(2, 6, &[2], &[0, 0]),
            partial(1, 6, &[2], &[0]),
            partial(1, 6, &[2], &[0, i64::MIN]),
        ] {
            let parts = [partial(1, 4, &[3, 2], &[5, -7]), second];
            assert!(Owned::join(&parts).is_none());
        }
    }
}
