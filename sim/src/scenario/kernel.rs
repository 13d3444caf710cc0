//! An isotropic kernel.

use serde::Serialize;
use sordino_core::kernel::{KernelError, Stationary, StationaryKernel};
use sordino_core::math::Scalar;

use super::reader::{Problem, Section};

/// An isotropic kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelConfig {
    /// Which one.
    pub kernel: Stationary,
    /// Lengthscale, in units of the unit box.
    pub lengthscale: f64,
    /// Variance at a point.
    pub signal_variance: f64,
}

impl KernelConfig {
    /// The kernel in the format asked for.
    ///
    /// **Errors**: none for a configuration that was read from a scenario, whose ranges are inside the kernel's.
    pub fn build<T: Scalar>(&self) -> Result<StationaryKernel<T>, KernelError> {
        StationaryKernel::with_shape(self.kernel, T::from_f64(self.lengthscale), T::from_f64(self.signal_variance))
    }
}

pub(super) fn kernel(section: &mut Section, default: Option<KernelConfig>) -> Result<KernelConfig, Problem> {
    let kinds = Stationary::ALL.map(|kind| (kind.name(), kind));
    Ok(KernelConfig {
        kernel: section.choice("kernel", &kinds, Some(default.map_or(Stationary::SquaredExponential, |k| k.kernel)))?,
        lengthscale: section.number(
            "lengthscale",
            1e-3..=1e3,
            "a number from 0.001 to 1000, in units of the unit box",
            default.map(|k| k.lengthscale),
        )?,
        signal_variance: section.number(
            "signal_variance",
            1e-6..=1e6,
            "a number from 1e-6 to 1e6",
            Some(default.map_or(1.0, |k| k.signal_variance)),
        )?,
    })
}
