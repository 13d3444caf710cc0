//! The numbers of a server of the federated prior in memory of their own.
#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::super::wiped::Wiped;
use super::config::Config;
use super::scratch_len;
use super::server::ServerStorage;
use crate::math::Scalar;

/// What a server takes on a computer with a heap, made once and lent as often as it is attached. Integer sums, noise and
/// flags are wiped when it is dropped; the released numbers are public. Prints lengths.
///
/// **Example**: as [`ServerNumbers`](crate::federated::ServerNumbers) of the other methods.
pub struct ServerNumbers<T> {
    sums: Wiped<i64>,
    noise: Wiped<i64>,
    flags: Wiped<u8>,
    released: Vec<T>,
    scratch: Vec<T>,
}

impl<T: Scalar> ServerNumbers<T> {
    /// Zeros, as many as a server of this configuration asks for.
    pub fn new(config: &Config) -> Self {
        let (len, agents) = (config.contribution_len(), config.parameters().agents as usize);
        let (sums, noise, flags) = (Wiped::zeros(len), Wiped::zeros(len), Wiped::zeros(agents));
        let scratch = vec![T::ZERO; scratch_len(config.features(), config.design_len())];
        ServerNumbers { sums, noise, flags, released: vec![T::ZERO; len], scratch }
    }

    /// The numbers, for [`Server::attach`](super::server::Server::attach).
    pub fn lend(&mut self) -> ServerStorage<'_, T> {
        ServerStorage {
            sums: self.sums.numbers_mut(),
            noise: self.noise.numbers_mut(),
            flags: self.flags.numbers_mut(),
            released: &mut self.released,
            scratch: &mut self.scratch,
        }
    }

    /// The last released numbers, M + 1; zeros before the first.
    pub fn released(&self) -> &[T] {
        &self.released
    }
}

impl<T> fmt::Debug for ServerNumbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerNumbers {{ coordinates: {} }}", self.released.len())
    }
}
