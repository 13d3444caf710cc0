//! Finite feature maps φ with φ(x)·φ(x') ≈ k(x, x').
//!
//! | module | features | best when |
//! |---|---|---|
//! | [`paired`] | cosine and sine of each frequency | the norm must be the kernel's own |
//! | [`orthogonal`] | the same maps, frequencies at right angles | eight dimensions and more |
//! | [`quadrature`] | cosines and sines at Gauss-Hermite nodes | squared exponential in at most three dimensions: nearly exact |
//! | [`nystrom`] | the kernel as a dictionary of points sees it | any kernel; few points matter |
//! | [`random_fourier`] | cosines at random frequencies | any stationary kernel, any dimension; shared by all agents of a federation |
//!
//! **Example**: that of [`random_fourier`].

pub mod nystrom;
pub mod orthogonal;
pub mod paired;
pub mod quadrature;
pub mod random_fourier;

pub use nystrom::Nystrom;
pub use paired::PairedFourier;
pub use quadrature::QuadratureFourier;
pub use random_fourier::{FeatureError, RandomFourier};

use crate::math::Scalar;

/// A finite feature map: φ(x)·φ(x') ≈ k(x, x').
pub trait FeatureMap<T: Scalar> {
    /// Number of features M.
    fn count(&self) -> usize;

    /// Number of input coordinates D.
    fn dim(&self) -> usize;

    /// Writes φ(x) into the first M numbers of `out`.
    fn features(&self, x: &[T], out: &mut [T]);
}

impl<T: Scalar, S: AsRef<[T]>> FeatureMap<T> for RandomFourier<T, S> {
    fn count(&self) -> usize {
        RandomFourier::count(self)
    }
    fn dim(&self) -> usize {
        RandomFourier::dim(self)
    }
    fn features(&self, x: &[T], out: &mut [T]) {
        RandomFourier::features(self, x, out);
    }
}
