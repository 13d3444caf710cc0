//! An isotropic kernel.

use sordino_core::kernel::{KernelError, Stationary, StationaryKernel};
use sordino_core::math::Scalar;

use super::keys::keys;
use super::reader::{Problem, Section};
use super::rule::number;

/// The part of a kernel that is known before its keys are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KernelDefault {
    /// The kernel, if all of it is known.
    pub kernel: Option<KernelConfig>,
    /// Its signal variance, if only that is known.
    pub variance: Option<f64>,
}

impl KernelDefault {
    /// Nothing is known; the signal variance then defaults to 1.
    pub const NONE: Self = KernelDefault {
        kernel: None,
        variance: None,
    };

    fn signal_variance(&self) -> f64 {
        self.kernel
            .map(|kernel| kernel.signal_variance)
            .or(self.variance)
            .unwrap_or(1.0)
    }
}

keys! {
    /// An isotropic kernel.
    #[derive(Copy)]
    pub struct KernelConfig(default: KernelDefault) {
        /// The covariance function.
        kernel: Stationary [like "`squared-exponential`" default.kernel.map_or(Stationary::SquaredExponential, |k| k.kernel)];
        /// Distance over which values stay alike.
        lengthscale: f64 [given 0.1, "" default.kernel.map(|k| k.lengthscale)]
            in number(1e-3, 1e3).unit("units of the unit box");
        /// Variance at a point, unit y².
        signal_variance: f64 [like "1" default.signal_variance()] in number(1e-6, 1e9);
    }
}

impl KernelConfig {
    /// The kernel in the format asked for.
    ///
    /// **Errors**: none for a configuration that was read from a scenario, whose ranges are inside
    /// the kernel's.
    pub fn build<T: Scalar>(&self) -> Result<StationaryKernel<T>, KernelError> {
        StationaryKernel::with_shape(
            self.kernel,
            T::from_f64(self.lengthscale),
            T::from_f64(self.signal_variance),
        )
    }
}
