//! The numbers of a server in memory of their own.
#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::config::Config;
use super::server::ServerStorage;
use super::wiped::Wiped;
use crate::math::Scalar;

/// What a server takes on a computer with a heap, made once and lent as often as it is attached.
/// Integer sums, noise and flags are wiped when it is dropped; the broadcast is public. Prints
/// lengths.
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
    /// Zeros, as many as random draws under this configuration ask for.
    pub fn new(config: &Config) -> Self {
        Self::sized(config.broadcast_len(), config.parameters().agents)
    }

    /// Zeros, as many as releases of `released` numbers of this number of agents ask for.
    pub fn sized(released: usize, agents: u32) -> Self {
        let sums = Wiped::zeros(released);
        let noise = Wiped::zeros(released);
        ServerNumbers {
            sums,
            noise,
            flags: Wiped::zeros(agents as usize),
            vectors: vec![T::ZERO; released],
        }
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

    /// The numbers of the last release; zeros before the first.
    pub fn vectors(&self) -> &[T] {
        &self.vectors
    }
}

impl<T> fmt::Debug for ServerNumbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerNumbers {{ coordinates: {} }}", self.vectors.len())
    }
}
