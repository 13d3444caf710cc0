//! Which masks were used: stored before the mask exists.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::snapshot::{Stored, varint_max};

/// The next mask of an agent in a run that was not used yet. An agent stores it ([`Store`]) and
/// goes on from there.
///
/// Not `Clone`: two copies would give the same mask to two vectors.
///
/// ```compile_fail,E0599
/// # fn twice(attempts: sordino_core::federated::shares::Attempts) {
/// let second = attempts.clone();
/// # }
/// ```
///
/// **Privacy**: the difference of two shares under one mask is the difference of two contributions,
/// without any noise. An agent whose storage is set back to an older state must take a new key.
///
/// **Example**: that of [the module](super).
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempts {
    run: Digest,
    epoch: u32,
    next: u32,
}

impl Stored for Attempts {
    const KIND: u8 = 0xac;
    // Run, epoch, next attempt.
    const BODY_MAX: usize = 32 + 2 * varint_max(32);
}

/// Where an agent keeps its [`Attempts`].
///
/// **Example**: that of [the module](super).
pub trait Store {
    /// Why nothing could be stored.
    type Error;

    /// Stores what [`Attempts`] says now. An `Ok` is a promise: whatever happens to this machine,
    /// it never goes on from an earlier one.
    ///
    /// **Errors**: the store's own; the attempt is not used then.
    fn store(&mut self, attempts: &Attempts) -> Result<(), Self::Error>;
}

/// The right to one mask. Made by [`Attempts::reserve`] alone, after it was stored; spent by
/// [`AgentKey::mask`](super::AgentKey::mask).
///
/// ```compile_fail,E0382
/// # use sordino_core::federated::shares::{AgentKey, Attempt, Modulus};
/// # fn twice(key: AgentKey, attempt: Attempt) {
/// let first = key.mask(attempt, Modulus::Bits32);
/// let second = key.mask(attempt, Modulus::Bits32);
/// # }
/// ```
///
/// **Example**: that of [the module](super).
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an attempt that no mask is made of is lost"]
pub struct Attempt {
    pub(super) run: Digest,
    pub(super) epoch: u32,
    pub(super) number: u32,
}

/// Why there is no mask.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveError<E> {
    /// An epoch before the last one that had a mask.
    Past {
        /// Epoch asked for.
        epoch: u32,
        /// Epoch of the last mask.
        last: u32,
    },
    /// 2³² − 1 attempts for one epoch.
    Exhausted,
    /// It could not be stored.
    Store(E),
}

impl<E: fmt::Display> fmt::Display for ReserveError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReserveError::Past { epoch, last } => {
                write!(f, "a mask for epoch {epoch} after one for epoch {last}")
            }
            ReserveError::Exhausted => f.write_str("no attempt is left for this epoch"),
            ReserveError::Store(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for ReserveError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ReserveError::Store(error) => error.source(),
            _ => None,
        }
    }
}

impl Attempts {
    /// Before the first mask of a run.
    pub const fn new(run: Digest) -> Self {
        Attempts {
            run,
            epoch: 0,
            next: 0,
        }
    }

    /// The same once more, for a [`Store`] that keeps it. What is read back takes the place of this
    /// one.
    pub const fn again(&self) -> Self {
        Attempts {
            run: self.run,
            epoch: self.epoch,
            next: self.next,
        }
    }

    /// The run whose masks these are.
    pub const fn run(&self) -> &Digest {
        &self.run
    }

    /// The next attempt for an epoch, once it is stored that it is used.
    ///
    /// **Errors**: [`ReserveError`]. After [`ReserveError::Store`] the attempt counts as used here
    /// too.
    pub fn reserve<S: Store>(
        &mut self,
        epoch: u32,
        store: &mut S,
    ) -> Result<Attempt, ReserveError<S::Error>> {
        let number = match epoch.checked_sub(self.epoch) {
            None => {
                return Err(ReserveError::Past {
                    epoch,
                    last: self.epoch,
                });
            }
            Some(0) => self.next,
            Some(_) => 0,
        };
        let next = number.checked_add(1).ok_or(ReserveError::Exhausted)?;
        (self.epoch, self.next) = (epoch, next);
        store.store(self).map_err(ReserveError::Store)?;
        Ok(Attempt {
            run: self.run,
            epoch,
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// Keeps everything, and may be full.
    struct Kept(Vec<Attempts>, bool);

    impl Store for Kept {
        type Error = &'static str;
        fn store(&mut self, attempts: &Attempts) -> Result<(), &'static str> {
            if self.1 {
                return Err("no space left");
            }
            self.0.push(attempts.again());
            Ok(())
        }
    }

    #[test]
    fn no_attempt_comes_back_whenever_the_machine_dies() {
        let mut store = Kept(Vec::new(), false);
        let mut attempts = Attempts::new(Digest::of(&1));
        let mut taken = Vec::new();
        for (step, epoch) in [0, 0, 1, 1, 1, 4].into_iter().enumerate() {
            // It dies after every second one and goes on from what was stored.
            if step % 2 == 0 {
                attempts = store
                    .0
                    .last()
                    .map_or(Attempts::new(Digest::of(&1)), Attempts::again);
            }
            let attempt = attempts.reserve(epoch, &mut store).unwrap();
            assert_eq!(
                store.0.last(),
                Some(&attempts),
                "stored before it is handed out"
            );
            taken.push((attempt.epoch, attempt.number));
        }
        assert_eq!(taken, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (4, 0)]);
        assert_eq!(
            attempts.reserve(3, &mut store),
            Err(ReserveError::Past { epoch: 3, last: 4 })
        );
        // What could not be stored is not used, and not used again either: it may have been stored
        // after all.
        store.1 = true;
        assert_eq!(
            attempts.reserve(4, &mut store),
            Err(ReserveError::Store("no space left"))
        );
        store.1 = false;
        assert_eq!(attempts.reserve(4, &mut store).unwrap().number, 2);
        attempts.next = u32::MAX;
        assert_eq!(
            attempts.reserve(4, &mut store),
            Err(ReserveError::Exhausted)
        );
    }
}
