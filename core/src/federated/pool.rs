//! Noise that is drawn ahead of its release, beside the server and not by it.
//!
//! How long a sampler takes goes with what it draws ([`crate::random::exact`]). A server that draws
//! after its deadline shows that time to everybody who waits for the broadcast.
//! [`Server::recipe`](super::Server::recipe) says what the open broadcast needs; another thread
//! draws it while uploads come in; [`Server::release_with`](super::Server::release_with) adds it,
//! which takes a time that depends on no number.
//!
//! A pool is of one opening, which a random nonce names, is consumed by its release, and is wiped
//! when it is dropped, whatever became of it. It can be neither copied nor stored: a program that
//! dies loses it, and the opening that it was of is over as well.
#![cfg(feature = "alloc")]

use alloc::vec;
use core::fmt;
use core::marker::PhantomData;

use super::errors::ServerError;
use super::partial::Opening;
use super::wiped::Wiped;
use crate::privacy::mechanism::gaussian::{GridGaussian, NoisePool};
use crate::random::{NoiseSource, Provenance};

/// What the noise of one opening is drawn by: public numbers, for a thread that knows nothing else.
///
/// ```
/// use sordino_core::federated::{Pool, Recipe, ServerInput, ServerOutput};
/// use sordino_core::privacy::{Simulated, charge::Unwritten};
/// # use sordino_core::{domain::Regions, federated::*, random::Stream};
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let (mut all, mut noise, mut agents, mut out) = ([0; 16], [0; 16], [0; 2], [0.0; 16]);
/// # let storage = ServerStorage { sums: &mut all, noise: &mut noise, flags: &mut agents, vectors: &mut out };
/// # let mut state = ServerState::new();
/// # let mut server = Server::attach(&config, &mut state, storage)?;
/// # let source = &mut Simulated::new(Stream::from_seed(1));
///
/// server.handle(ServerInput::Open, source)?; // the server of its example
/// let recipe: Recipe = server.recipe()?.ok_or("releases are not private")?;
/// let pool: Pool<_> = recipe.draw(source)?; // on another thread, while uploads come in
/// server.admits(&pool)?;
/// let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, source)? else { unreachable!() };
/// let release = server.release_with(Unwritten::receipt(charge), pool)?;
/// assert!(matches!(release, ServerOutput::Broadcast { broadcast: 0, .. }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Recipe {
    pub(super) opening: Opening,
    pub(super) mechanism: GridGaussian,
    pub(super) len: usize,
}

/// Noise of one opening that was drawn and not yet used. Prints its length, never what it holds.
///
/// **Example**: that of [`Recipe`].
#[must_use]
pub struct Pool<P: Provenance> {
    pub(super) opening: Opening,
    noise: Wiped<i64>,
    grid_exponent: u32,
    provenance: PhantomData<P>,
}

impl<P: Provenance> fmt::Debug for Pool<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Pool {{ broadcast: {}, coordinates: {} }}",
            self.opening.broadcast,
            self.noise.as_ref().len()
        )
    }
}

impl Recipe {
    /// Draws P·M numbers ⌊2^m·G⌋.
    ///
    /// **Errors**: [`ServerError::Noise`]; what was drawn is wiped.
    pub fn draw<S: NoiseSource>(self, source: &mut S) -> Result<Pool<S::Provenance>, ServerError> {
        let mut noise = Wiped::from(vec![0; self.len]);
        // It would wipe what it borrows; that is its owner's to do now.
        core::mem::forget(self.mechanism.fill_noise(source, noise.as_mut())?);
        let grid_exponent = self.mechanism.grid_exponent();
        Ok(Pool {
            opening: self.opening,
            noise,
            grid_exponent,
            provenance: PhantomData,
        })
    }
}

impl<P: Provenance> Pool<P> {
    /// The noise, for the one release that takes the pool.
    pub(super) fn noise(&mut self) -> NoisePool<'_, P> {
        NoisePool {
            noise: self.noise.as_mut(),
            grid_exponent: self.grid_exponent,
            provenance: PhantomData,
        }
    }
}
