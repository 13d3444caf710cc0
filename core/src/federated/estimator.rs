//! What the releases of a method mean to its server.

use super::encoding::Encoding;
use super::errors::ServerError;
use crate::math::Scalar;
use crate::privacy::event::Event;

/// What the releases of a method mean to its server: how many there are, how each is encoded, and
/// what is learned from it.
///
/// The machine that makes the releases is [`Server`](super::Server). A [`Config`](super::Config) is
/// the estimator of the methods whose release is itself what agents are sent;
/// [`prior::Filter`](super::prior::Filter) keeps a posterior.
///
/// ```
/// use sordino_core::federated::{Encoding, Estimator};
/// # use sordino_core::{domain::Regions, federated::{Aggregation, Config, Parameters, ServerError}};
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
///
/// fn cost<T: sordino_core::math::Scalar, M: Estimator<T>>(method: &M) -> Result<f64, ServerError> {
///     let encoding = method.encoding(0)?.expect("draws need no preparation");
///     Ok(encoding.mechanism().map_or(f64::INFINITY, |mechanism| 1.0 / mechanism.noise_multiplier()))
/// }
/// assert_eq!(cost::<f64, _>(&&config)?, 1.0); // `config` of the example of `Config`: its noise multiplier is 1
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub trait Estimator<T: Scalar> {
    /// How uploads become integers.
    type Encoding: Encoding;

    /// Number of agents N, present or not.
    fn agents(&self) -> u32;

    /// Number of releases of a whole run.
    fn releases(&self) -> u32;

    /// Numbers in one release.
    fn released_len(&self) -> usize;

    /// What release `index` costs, a public number fixed beforehand; nothing if it is not private.
    ///
    /// **Errors**: [`ServerError::Mechanism`] if there is no mechanism for it.
    fn event(&self, index: u32) -> Result<Option<Event>, ServerError>;

    /// Computes what release `index` is made with, from earlier releases and public numbers alone.
    ///
    /// **Errors**: the method's.
    fn prepare(&mut self, _index: u32) -> Result<(), ServerError> {
        Ok(())
    }

    /// How the uploads to release `index` are encoded; nothing before it is prepared.
    ///
    /// **Errors**: [`ServerError::Mechanism`] if the sums could overflow.
    fn encoding(&self, index: u32) -> Result<Option<Self::Encoding>, ServerError>;

    /// Takes in what was released, with the standard deviation of the noise on every number.
    ///
    /// **Errors**: the method's. The release then counts as not made, and its charge as spent.
    fn learn(&mut self, _index: u32, _released: &[T], _noise_std: f64) -> Result<(), ServerError> {
        Ok(())
    }
}
