//! Lengthscales and noise from the data: when, in one go or in slices.

use core::task::Poll;

use super::layout::{Parts, split};
use super::work::Work;
use super::{LogEntry, Optimizer, OptimizerError, least_resolved};
use crate::linalg::slice::{at, part};
use crate::math::Scalar;
use crate::surrogate::SurrogateError;
use crate::surrogate::map::{self, MapFit, Rows};

/// What a fit found.
///
/// ```
/// use sordino_core::{domain::BoxDomain, optimizer::{self, Fit, Optimizer, Settings}};
/// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
/// let mut optimizer = Optimizer::new(domain, Settings::default(), 8, vec![0.0; optimizer::storage_len(1, 8)])?;
/// for i in 0..8 {
///     optimizer.observe(&[0.1 * f64::from(i)], f64::from(i * i))?;
/// }
/// let Some(Fit { evaluations, .. }) = optimizer.fit()? else { return Err("nothing to fit".into()) };
/// assert!((2..=48).contains(&evaluations));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit<T> {
    /// ln of the posterior density of the parameters, up to a constant.
    pub log_posterior: T,
    /// Evaluations of it.
    pub evaluations: u32,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Optimizer<T, S> {
    /// Refits lengthscales and noise now, by maximum a posteriori from two starts (the parameters
    /// in use, the mode of the prior) of 24 evaluations at most. Nobody needs to call it:
    /// suggestions refit when it is due, see the [module](super). A fit that was asked for belongs
    /// into a log ([`Optimizer::take_fit`]).
    ///
    /// **Errors**: [`OptimizerError::Fit`]; parameters are as they were. Fewer than three rows, or
    /// values that are all the same, change nothing and give `None`.
    ///
    /// **Numerics**: what is fitted is the model as it is used, with no row's noise below the
    /// floor.
    ///
    /// **Cost**: up to 48 n³ flops. [`Optimizer::fit_step`] makes them n³ at a time.
    ///
    /// ```
    /// use sordino_core::domain::BoxDomain;
    /// use sordino_core::optimizer::{self, Optimizer, Settings};
    /// let domain = BoxDomain::new(&[(0.0, 1.0), (0.0, 1.0)])?;
    /// let mut optimizer = Optimizer::new(domain, Settings::default(), 20, vec![0.0; optimizer::storage_len(2, 20)])?;
    /// for i in 0..15 {
    ///     let (a, b) = (f64::from(i) / 15.0, f64::from(i * 4 % 15) / 15.0);
    ///     optimizer.observe(&[a, b], (9.0 * a).sin())?;
    /// }
    /// let found = optimizer.fit()?.ok_or("nothing to fit")?;
    /// // The value depends on the first axis alone.
    /// assert!(optimizer.lengthscales()[1] > 4.0 * optimizer.lengthscales()[0] && found.evaluations <= 48);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn fit(&mut self) -> Result<Option<Fit<T>>, OptimizerError> {
        loop {
            if let Poll::Ready(found) = self.fit_step(u32::MAX)? {
                return Ok(found);
            }
        }
    }

    /// [`Optimizer::fit`] in slices: at most `evaluations` more (at least one). The same
    /// parameters, bit for bit, whatever the slices are; an observation in between makes the rest
    /// of it.
    ///
    /// **Errors**: as [`Optimizer::fit`], which ends it. **Cost**: `evaluations` of n³ flops each,
    /// in the last slice n³/3 more.
    pub fn fit_step(&mut self, evaluations: u32) -> Result<Poll<Option<Fit<T>>>, OptimizerError> {
        let dim = self.space.dim();
        let n = self.len;
        let capacity = self.capacity;
        let parts = split(self.storage.as_mut(), dim, capacity);
        let (mean, deviation) = map::moments(part(parts.model, capacity * dim, n));
        // Nothing, but for the rounding of their mean.
        if n < 3 || deviation <= T::from_f64(4.0) * T::EPSILON * mean.abs() {
            self.end_fit();
            return Ok(Poll::Ready(None));
        }
        if !deviation.is_finite() {
            self.end_fit();
            return Err(OptimizerError::Fit(SurrogateError::NonFinite {
                value: deviation.to_f64(),
            }));
        }
        let floor = least_resolved::<T>(capacity);
        let mut fitting = match self.work {
            Work::Fit(fitting) => fitting,
            _ => {
                // What drifts has noise: of a row without any nothing would ever be forgotten.
                let least = if self.settings.half_life > 0 {
                    floor.max(T::from_f64(0.01))
                } else {
                    floor
                };
                MapFit::begin(
                    &self.parameters.lengthscales,
                    self.parameters.noise_fraction,
                    least,
                    parts.rest.search,
                )
            }
        };
        self.factored = false;
        let Parts { model, rest, .. } = parts;
        let mut rows = Rows {
            model,
            dim,
            capacity,
            len: n,
            shape: self.settings.shape,
            categories: super::categories(&self.space),
            floor,
            values: rest.solved.whitened,
            ones: rest.solved.column,
            alpha: rest.solved.alpha,
        };
        for _ in 0..evaluations.max(1) {
            if !fitting.step(&mut rows, rest.search) {
                let found = self.take_over(&fitting);
                self.end_fit();
                return found.map(|fit| Poll::Ready(Some(fit)));
            }
        }
        self.work = Work::Fit(fitting);
        Ok(Poll::Pending)
    }

    /// The parameters that were found become those in use.
    fn take_over(&mut self, fitting: &MapFit<T>) -> Result<Fit<T>, OptimizerError> {
        let dim = self.space.dim();
        let floor = self.noise_floor();
        let Some((log_posterior, evaluations)) = fitting.found() else {
            return Err(OptimizerError::Fit(SurrogateError::NonFinite {
                value: f64::NAN,
            }));
        };
        let Parts { rest, .. } = split(self.storage.as_mut(), dim, self.capacity);
        let theta = fitting.parameters(dim, rest.search);
        for (lengthscale, theta) in self.parameters.lengthscales.iter_mut().zip(theta) {
            *lengthscale = theta.exp();
        }
        self.parameters.noise_fraction = at(theta, dim).exp().max(floor);
        self.untaken = true;
        Ok(Fit {
            log_posterior,
            evaluations,
        })
    }

    /// Whatever it came to, the next one is due later; the factor is made again.
    fn end_fit(&mut self) {
        (self.work, self.gain) = (Work::None, None);
        self.parameters.told = self.told;
        // Rows that were taken one by one may be too alike for a factor at once: more noise always
        // has one.
        for _ in 0..8 {
            if self.factor().is_ok() {
                break;
            }
            self.parameters.noise_fraction =
                (self.parameters.noise_fraction * T::from_f64(10.0)).min(T::ONE);
        }
    }

    /// Whether a fit is due: as many values as there are initial points are told, and enough was
    /// told since the last fit. The next suggestion begins with it, or [`Optimizer::fit_step`]
    /// makes it now.
    pub fn fit_is_due(&self) -> bool {
        let dense = 2 * self.space.dim() as u32 + 8;
        let fitted = self.parameters.told;
        let beyond = fitted.saturating_sub(dense);
        let gap = beyond / 4;
        let next = fitted.saturating_add(gap.max(1));
        self.is_begun() && self.told >= next && self.len >= 3
    }

    /// Makes the fit that is due, if one is: what is fitted depends on what was told and in which
    /// order, not on when somebody asked. One that fails leaves the parameters.
    pub(super) fn catch_up(&mut self) {
        while self.fit_is_due() {
            match self.fit_step(u32::MAX) {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(_)) | Err(_) => return,
            }
        }
    }

    /// The entry of a fit that was made since this was last asked, for a log, where it belongs
    /// before the next observation: with it [`Optimizer::resume`] need not make the fit again. Fits
    /// that nobody asked for may be left out, those of [`Optimizer::fit`] may not.
    ///
    /// ```
    /// use sordino_core::{domain::BoxDomain, optimizer::{self, LogEntry, Optimizer, Settings}};
    /// let domain = BoxDomain::new(&[(0.0, 1.0)])?;
    /// let storage = || vec![0.0f32; optimizer::storage_len(1, 20)];
    /// let (mut optimizer, mut log) = (Optimizer::new(domain.clone(), Settings::default(), 20, storage())?, vec![]);
    /// for _ in 0..9 {
    ///     let x = optimizer.suggest()?;
    ///     log.extend(optimizer.take_fit());
    ///     let y = -(x[0] - 0.4) * (x[0] - 0.4);
    ///     log.push(LogEntry::told(&x, y)?);
    ///     optimizer.observe(&x, y)?;
    /// }
    /// // With the entries or without them, the next question is the same.
    /// let told: Vec<_> = log.iter().filter(|entry| matches!(entry, LogEntry::Told { .. })).cloned().collect();
    /// assert!(told.len() == 9 && log.len() > 9);
    /// let mut with = Optimizer::resume(domain.clone(), Settings::default(), 20, storage(), log)?;
    /// let mut without = Optimizer::resume(domain, Settings::default(), 20, storage(), told)?;
    /// assert!(with.suggest()? == optimizer.suggest()? && without.suggest()? == optimizer.suggest()?);
    /// # Ok::<(), optimizer::OptimizerError>(())
    /// ```
    pub fn take_fit(&mut self) -> Option<LogEntry<T>> {
        core::mem::take(&mut self.untaken).then(|| LogEntry::Fitted(self.parameters.clone()))
    }
}
