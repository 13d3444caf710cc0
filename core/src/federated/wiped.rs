//! Shares and partial sums in memory of their own, which is wiped when they are dropped.
#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::partial::{Partial, Share};

/// Numbers of the trust boundary in memory of their own, wiped when they are dropped. Prints their
/// number.
///
/// ```
/// use sordino_core::federated::{Share, Wiped};
/// # use sordino_core::{domain::Regions, federated::*, privacy::Simulated, random::Stream};
/// # let config = Config::new(Parameters::usual(4, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let (mut all, mut noise, mut agents, mut out) = ([0; 16], [0; 16], [0; 4], [0.0; 16]);
/// # let storage = ServerStorage { sums: &mut all, noise: &mut noise, flags: &mut agents, vectors: &mut out };
/// # let mut state = ServerState::new();
/// # let mut server = Server::attach(&config, &mut state, storage)?;
/// # server.handle(ServerInput::Open, &mut Simulated::new(Stream::from_seed(1)))?;
///
/// // A server that was opened, as in its example; the share goes to another thread, and is wiped when that drops it.
/// let share: Share<Wiped<u8>> = server.share(2..4)?.to_owned();
/// assert_eq!(share.agents(), 2..4);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct Wiped<T: Zeroize>(Vec<T>);

impl<T: Zeroize + Clone + Default> Wiped<T> {
    /// So many zeros, to be filled.
    pub(super) fn zeros(count: usize) -> Self {
        Wiped(vec![T::default(); count])
    }

    /// The numbers, to be filled.
    pub(super) fn numbers_mut(&mut self) -> &mut [T] {
        &mut self.0
    }

    /// Drops what is behind the first `count` numbers, which must be zeros.
    pub(super) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }
}

impl<T: Zeroize> AsRef<[T]> for Wiped<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Zeroize> AsMut<[T]> for Wiped<T> {
    fn as_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Zeroize> From<Vec<T>> for Wiped<T> {
    /// Takes the memory; what the vector held before it grew is its owner's affair.
    fn from(numbers: Vec<T>) -> Self {
        Wiped(numbers)
    }
}

impl<T: Zeroize> Drop for Wiped<T> {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl<T: Zeroize> fmt::Debug for Wiped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wiped {{ numbers: {} }}", self.0.len())
    }
}

impl<F: AsRef<[u8]>> Share<F> {
    /// The same share with its flags in memory of its own, which is wiped when it is dropped.
    pub fn to_owned(&self) -> Share<Wiped<u8>> {
        Share {
            opening: self.opening,
            first: self.first,
            flags: Wiped(self.flags.as_ref().to_vec()),
        }
    }
}

impl<F: AsRef<[u8]>, S: AsRef<[i64]>> Partial<F, S> {
    /// The same partial with its numbers in memory of its own, which is wiped when it is dropped.
    pub fn to_owned(&self) -> Partial<Wiped<u8>, Wiped<i64>> {
        Partial {
            opening: self.opening,
            first: self.first,
            flags: Wiped(self.flags.as_ref().to_vec()),
            sums: Wiped(self.sums.as_ref().to_vec()),
            counters: self.counters,
        }
    }
}
