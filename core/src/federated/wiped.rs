//! Shares and partial sums in memory of their own, which is wiped when they are dropped.
#![cfg(feature = "alloc")]

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::partial::{Partial, Share};

/// Numbers of the trust boundary in memory of their own, wiped when they are dropped. Prints their number.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub struct Wiped<T: Zeroize>(Vec<T>);

impl<T: Zeroize> AsRef<[T]> for Wiped<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
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
        Share { opening: self.opening, first: self.first, flags: Wiped(self.flags.as_ref().to_vec()) }
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
