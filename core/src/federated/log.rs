//! One observation as a device stores it, and back into the log that an agent computes with.

use core::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::math::Scalar;
use crate::snapshot::{Stored, varint_max};

/// What an agent was asked and what it saw: written *before* the agent is told, so that nothing is
/// measured twice.
///
/// After a reset, an agent that asks for observation `number` of `candidate` is told what is stored
/// there, if the candidate is the same; otherwise it is stale, and overwritten.
///
/// ```
/// use sordino_core::federated::{Entry, LogFull};
///
/// let (entry, mut log) = (Entry { candidate: 7, value: 2.5 }, [0.0; 4]);
/// entry.put(1, 0.5, &mut log)?; // observation 1, offset 0.5
/// assert_eq!(log, [0.0, 0.0, 7.0, 2.0]);
/// assert_eq!(entry.put(2, 0.5, &mut log), Err(LogFull { number: 2, capacity: 2 }));
/// # Ok::<(), LogFull>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<T> {
    /// The candidate that [`Output::Evaluate`](super::Output::Evaluate) named.
    pub candidate: u32,
    /// What was observed there, in its own unit, before the offset c₀ is taken off. **Finite**:
    /// judge it before it is stored, because an agent refuses another one, at every boot.
    pub value: T,
}

impl<T: Scalar + Serialize + DeserializeOwned> Stored for Entry<T> {
    const KIND: u8 = if T::BYTES == 4 { 0xe4 } else { 0xe8 };
    const BODY_MAX: usize = varint_max(32) + T::BYTES;
}

/// A log that has no place for an observation of this number.
///
/// **Example**: that of [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LogFull {
    /// Number of the observation, from 0.
    pub number: u32,
    /// Observations the log holds.
    pub capacity: usize,
}

impl fmt::Display for LogFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "observation {} has no place in a log of {}",
            self.number, self.capacity
        )
    }
}

impl core::error::Error for LogFull {}

impl<T: Scalar> Entry<T> {
    /// Puts observation `number` (from 0) into a log of pairs, as the agent itself did: candidate,
    /// value − `offset`. `offset` is [`Parameters::offset`](super::Parameters::offset), and 0 for
    /// the agent of [`super::prior`]. [`Agent::attach`](super::Agent::attach) judges what is there.
    ///
    /// **Errors**: [`LogFull`].
    pub fn put(&self, number: u32, offset: f64, log: &mut [T]) -> Result<(), LogFull> {
        let capacity = log.len() / 2;
        let (pairs, _) = log.as_chunks_mut::<2>();
        let pair = pairs
            .get_mut(number as usize)
            .ok_or(LogFull { number, capacity })?;
        *pair = [
            T::from_u32(self.candidate),
            self.value - T::from_f64(offset),
        ];
        Ok(())
    }
}
