//! The numbers of a server in memory of their own.
#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::config::Config;
use super::server::{ServerStorage, storage_lens};
use super::wiped::Wiped;
use crate::math::Scalar;

/// What a server takes on a computer with a heap, made once and lent as often as it is attached. Integer sums, noise and
/// flags are wiped when it is dropped; the broadcast is public. Prints lengths.
///
/// ```
/// use sordino_core::federated::{Server, ServerNumbers, ServerState};
/// # use sordino_core::{domain::Regions, federated::*};
/// # let config = Config::new(Parameters::usual(4, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
///
/// // `config` as in its example, of four agents: P·M = 16.
/// let (mut numbers, mut state) = (ServerNumbers::<f64>::new(&config), ServerState::new());
/// let server = Server::attach(&config, &mut state, numbers.lend())?;
/// assert_eq!((server.state().broadcast(), numbers.vectors().len()), (0, 16));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct ServerNumbers<T> {
    sums: Wiped<i64>,
    noise: Wiped<i64>,
    flags: Wiped<u8>,
    vectors: Vec<T>,
}

impl<T: Scalar> ServerNumbers<T> {
    /// Zeros, as many as [`storage_lens`] says.
    pub fn new(config: &Config) -> Self {
        let (sums, noise, flags, vectors) = storage_lens(config);
        let (sums, noise, flags) = (Wiped::zeros(sums), Wiped::zeros(noise), Wiped::zeros(flags));
        ServerNumbers { sums, noise, flags, vectors: vec![T::ZERO; vectors] }
    }

    /// The numbers, for [`Server::attach`](super::Server::attach).
    pub fn lend(&mut self) -> ServerStorage<'_, T> {
        ServerStorage {
            sums: self.sums.numbers_mut(),
            noise: self.noise.numbers_mut(),
            flags: self.flags.numbers_mut(),
            vectors: &mut self.vectors,
        }
    }

    /// The last broadcast, P·M; zeros before the first.
    pub fn vectors(&self) -> &[T] {
        &self.vectors
    }
}

impl<T> fmt::Debug for ServerNumbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerNumbers {{ coordinates: {} }}", self.vectors.len())
    }
}
