//! The features that all parties of a federation share, by the numbers from which everybody draws
//! the same.

use serde::{Deserialize, Serialize};

use crate::features::{FeatureError, RandomFourier, random_fourier};
use crate::kernel::Stationary;
use crate::math::Scalar;

/// Where the shared features come from.
///
/// **Example**: that of [`Agreement`](super::Agreement).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublicFeatures {
    /// The public seed, as [`crate::features::random_fourier::draw`] takes it.
    pub seed: u64,
    /// The index of the run under that seed.
    pub run: u32,
    /// The shape of the kernel.
    pub kernel: Stationary,
    /// Its lengthscale on the unit box, > 0.
    pub lengthscale: f64,
    /// s², > 0, unit y².
    pub signal_variance: f64,
    /// Whether every φ(x) is rescaled to norm s.
    pub unit_norm: bool,
    /// Share of the prior variance that the factor of joint own draws may lack, in [0, 1).
    pub prior_tolerance: f64,
}

impl PublicFeatures {
    /// The usual ones: of run 0, all of norm s, with a factor that lacks nothing.
    pub const fn new(
        seed: u64,
        kernel: Stationary,
        lengthscale: f64,
        signal_variance: f64,
    ) -> Self {
        PublicFeatures {
            seed,
            run: 0,
            kernel,
            lengthscale,
            signal_variance,
            unit_norm: true,
            prior_tolerance: 0.0,
        }
    }

    /// Draws the features of a domain of `dim` axes into `storage` and puts the map around them.
    ///
    /// **Parameters**: `count` M; `storage` of [`random_fourier::storage_len`] numbers.
    ///
    /// **Errors**: [`FeatureError`].
    pub fn draw<'f, T: Scalar>(
        &self,
        dim: usize,
        count: usize,
        storage: &'f mut [T],
    ) -> Result<RandomFourier<T, &'f [T]>, FeatureError> {
        random_fourier::draw(
            self.seed,
            self.run,
            self.kernel,
            &[self.lengthscale],
            dim,
            count,
            storage,
        )?;
        self.map(dim, count, storage)
    }

    /// The map around features that were drawn before.
    ///
    /// **Errors**: [`FeatureError`].
    pub fn map<'f, T: Scalar>(
        &self,
        dim: usize,
        count: usize,
        storage: &'f [T],
    ) -> Result<RandomFourier<T, &'f [T]>, FeatureError> {
        RandomFourier::new(
            dim,
            count,
            T::from_f64(self.signal_variance),
            self.unit_norm,
            storage,
        )
    }
}
