//! What a search over candidates is resumed from.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::math::Scalar;
use crate::optimizer::CANDIDATES_MAX;
use crate::snapshot::{Stored, varint_max};

/// One line of the log that [`Newcomer::resume`](super::Newcomer::resume) reads. A device writes it
/// to flash before it tells the search the same.
///
/// A stored index means what the file and the list of candidates make of it, so the agreement of
/// [`snapshot`](crate::snapshot) is the constant `DIGEST` that `sordino prior export` writes.
///
/// ```
/// use sordino_core::digest::Digest;
/// use sordino_core::prior::LogEntry;
/// use sordino_core::snapshot::{SnapshotError, max_bytes, read, write};
/// let mut slots = [[0xff; max_bytes::<LogEntry<f32>>()]; 3]; // erased flash
/// let agreement = Digest([7; 32]); // the `DIGEST` of an exported file
/// write(&LogEntry::Told { candidate: 40, value: -1.5f32 }, 0, &agreement, &mut slots[0])?;
/// write(&LogEntry::<f32>::Failed { candidate: 41 }, 1, &agreement, &mut slots[1])?;
/// assert_eq!(read(&slots[1], &agreement)?, Some((1, LogEntry::<f32>::Failed { candidate: 41 })));
/// assert_eq!(read::<LogEntry<f32>>(&slots[2], &agreement)?, None);
/// // Another file: index 40 is another setting there.
/// let other = read::<LogEntry<f32>>(&slots[0], &Digest([8; 32]));
/// assert!(matches!(other, Err(SnapshotError::Agreement { .. })));
/// # Ok::<(), SnapshotError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LogEntry<T> {
    /// What [`Newcomer::observe`](super::Newcomer::observe) was told.
    Told {
        /// Index of the candidate.
        candidate: usize,
        /// Its value, larger is better.
        value: T,
    },
    /// What [`Newcomer::fail`](super::Newcomer::fail) was told.
    Failed {
        /// Index of the candidate.
        candidate: usize,
    },
}

impl<T> LogEntry<T> {
    /// Index of the candidate.
    pub fn candidate(&self) -> usize {
        match self {
            LogEntry::Told { candidate, .. } | LogEntry::Failed { candidate } => *candidate,
        }
    }

    /// The value told; nothing of a candidate that failed.
    pub fn value(self) -> Option<T> {
        match self {
            LogEntry::Told { value, .. } => Some(value),
            LogEntry::Failed { .. } => None,
        }
    }
}

/// A candidate and its value.
impl<T> From<(usize, T)> for LogEntry<T> {
    fn from((candidate, value): (usize, T)) -> Self {
        LogEntry::Told { candidate, value }
    }
}

impl<T: Scalar + Serialize + DeserializeOwned> Stored for LogEntry<T> {
    const KIND: u8 = if T::BYTES == 4 { 0xc4 } else { 0xc8 };
    // Which entry, an index of at most CANDIDATES_MAX, the value.
    const BODY_MAX: usize = 1 + varint_max(CANDIDATES_MAX.ilog2() as usize + 1) + T::BYTES;
}
