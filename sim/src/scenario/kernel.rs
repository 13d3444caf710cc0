//! An isotropic kernel.

use sordino_core::kernel::{KernelError, Stationary, StationaryKernel};
use sordino_core::math::Scalar;

use super::keys::keys;
use super::reader::{Problem, Section};
use super::rule::number;

keys! {
    /// An isotropic kernel.
    pub struct KernelConfig(default: Option<KernelConfig>) {
        /// The covariance function.
        kernel: Stationary [like "`squared-exponential`" default.map_or(Stationary::SquaredExponential, |k| k.kernel)];
        /// Distance over which values stay alike.
        lengthscale: f64 [given 0.1, "" default.map(|k| k.lengthscale)]
            in number(1e-3, 1e3).unit("units of the unit box");
        /// Variance at a point, unit y².
        signal_variance: f64 [like "1" default.map_or(1.0, |k| k.signal_variance)] in number(1e-6, 1e6);
    }
}

impl Copy for KernelConfig {}

impl KernelConfig {
    /// The kernel in the format asked for.
    ///
    /// **Errors**: none for a configuration that was read from a scenario, whose ranges are inside the kernel's.
    pub fn build<T: Scalar>(&self) -> Result<StationaryKernel<T>, KernelError> {
        StationaryKernel::with_shape(self.kernel, T::from_f64(self.lengthscale), T::from_f64(self.signal_variance))
    }
}
