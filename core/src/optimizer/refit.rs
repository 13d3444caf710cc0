//! Lengthscale and noise from the data, in one go or in slices.

use core::task::Poll;

use super::work::{Refit, Work};
use super::{Optimizer, OptimizerError, Parameters, fit_scratch_len, least_resolved, split};
use crate::kernel::{Stationary, StationaryKernel};
use crate::linalg::slice;
use crate::math::Scalar;
use crate::surrogate::SurrogateError;
use crate::surrogate::exact;
use crate::surrogate::fit::{Fit, FitConfig, Fitting, Observations};

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// Refits lengthscale and noise by maximum marginal likelihood: three starts of 40 evaluations.
    ///
    /// **Parameters**: `scratch` of [`fit_scratch_len`].
    ///
    /// **Errors**: [`OptimizerError::Fit`], [`SurrogateError::Storage`]; parameters and model are as they were. Fewer than
    /// three observations, or values that are all the same, change nothing and give `None`.
    ///
    /// **Numerics**: what is fitted is the model as it is used, with no row's noise below the floor.
    ///
    /// **Cost**: up to 120 n³ flops. [`Optimizer::fit_step`] makes them n³ at a time.
    pub fn fit(&mut self, scratch: &mut [T]) -> Result<Option<Fit<T>>, OptimizerError> {
        loop {
            if let Poll::Ready(found) = self.fit_step(u32::MAX, scratch)? {
                return Ok(found);
            }
        }
    }

    /// [`Optimizer::fit`] in slices: at most `evaluations` more of the likelihood (at least one). The same parameters, bit
    /// for bit, whatever the slices are. The model is as it was until the fit has ended; an observation or a suggestion in
    /// between begins it again.
    ///
    /// **Parameters**: `scratch` of [`fit_scratch_len`], whatever it holds.
    ///
    /// **Errors**: as [`Optimizer::fit`], which ends it. **Cost**: `evaluations` of n³ flops each, in the last slice n³/3
    /// more.
    pub fn fit_step(&mut self, evaluations: u32, scratch: &mut [T]) -> Result<Poll<Option<Fit<T>>>, OptimizerError> {
        let (n, least) = (self.len, least_resolved::<T>(self.capacity));
        let work = core::mem::replace(&mut self.work, Work::None);
        if n < 3 {
            self.fitted = true;
            return Ok(Poll::Ready(None));
        }
        let (needed, given) = (fit_scratch_len(n), scratch.len());
        if given < needed {
            return Err(SurrogateError::Storage { needed, given }.into());
        }
        let (y, scratch) = slice::split(scratch, n);
        let (scatters, scratch) = slice::split(scratch, n);
        if !self.standardize(y, scatters)? {
            self.fitted = true;
            return Ok(Poll::Ready(None));
        }
        let mut fitting = match work {
            Work::Fit(fitting) => fitting,
            Work::None | Work::Suggest(_) => self.begin_fit()?,
        };
        let (gp, _) = self.parts()?;
        let shape = *gp.kernel().shape();
        let data = Observations { points: gp.inputs(), y, counts: gp.counts(), scatters };
        match fitting.step(evaluations, least, &data, scratch, |p| kernel(shape, p)) {
            Poll::Pending => {
                self.work = Work::Fit(fitting);
                Ok(Poll::Pending)
            }
            Poll::Ready(found) => {
                let found = found.map_err(OptimizerError::Fit)?;
                self.take_over(fitting.parameters(), scratch)?;
                Ok(Poll::Ready(Some(found)))
            }
        }
    }

    fn begin_fit(&mut self) -> Result<Refit<T>, OptimizerError> {
        let number = T::from_f64;
        let floor = number(if T::BYTES == 4 { 1e-4 } else { 1e-8 });
        let bounds = [(number(0.02), number(4.0)), (number(0.05), number(20.0)), (floor, T::ONE)];
        let config = FitConfig { bounds: &bounds, starts: 3, evaluations_per_start: 40 };
        let (gp, _) = self.parts()?;
        let parameters = [gp.kernel().lengthscale(0), T::ONE, gp.noise_variance().max(floor)];
        Fitting::begin(&config, &parameters).map_err(OptimizerError::Fit)
    }

    /// The values with mean 0 and variance 1, and the scatters of repeats in the same unit; false if all are the same.
    fn standardize(&mut self, y: &mut [T], scatters: &mut [T]) -> Result<bool, OptimizerError> {
        let (gp, _) = self.parts()?;
        let count = T::from_u32(gp.len() as u32);
        let mean = gp.targets().iter().fold(T::ZERO, |sum, y| sum + *y / count);
        let deviation = gp.targets().iter().fold(T::ZERO, |sum, y| sum + (*y - mean) * (*y - mean) / count).sqrt();
        if !(deviation > T::ZERO) {
            return Ok(false);
        }
        if !deviation.is_finite() {
            return Err(OptimizerError::Fit(SurrogateError::NonFinite { value: deviation.to_f64() }));
        }
        y.iter_mut().zip(gp.targets()).for_each(|(out, y)| *out = (*y - mean) / deviation);
        scatters.iter_mut().zip(gp.scatters()).for_each(|(out, scatter)| *out = *scatter / deviation / deviation);
        Ok(true)
    }

    /// The same observations under fitted parameters: rows are factored again, averages of repeats stay rows. The old
    /// factor stands until the new one is there.
    fn take_over(&mut self, fitted: &[T], scratch: &mut [T]) -> Result<(), OptimizerError> {
        let (dim, capacity, n, least) = (self.domain.dim(), self.capacity, self.len, least_resolved(self.capacity));
        let &[lengthscale, signal, noise] = fitted else {
            return Err(OptimizerError::Fit(SurrogateError::Dimension { expected: 3, given: fitted.len() }));
        };
        let fitted = Parameters { lengthscale, noise_fraction: (noise / signal).max(least) };
        let kernel = StationaryKernel::with_shape(self.settings.shape, lengthscale, T::ONE)?;
        let model = split(self.storage.as_mut(), dim, capacity).model;
        exact::refactor(&kernel, fitted.noise_fraction, least, dim, capacity, n, model, scratch)
            .map_err(OptimizerError::Fit)?;
        (self.parameters, self.fitted) = (fitted, true);
        Ok(())
    }
}

/// The kernel of a lengthscale and a signal variance.
fn kernel<T: Scalar>(shape: Stationary, parameters: &[T]) -> Option<StationaryKernel<T>> {
    match *parameters {
        [lengthscale, signal] => StationaryKernel::with_shape(shape, lengthscale, signal).ok(),
        _ => None,
    }
}
