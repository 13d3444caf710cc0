//! The search of a fit, a few evaluations at a time.

use core::task::Poll;

use super::{Ending, Fit, FitConfig, Observations, PARAMETERS_MAX, halton, likelihood};
use crate::kernel::LogGradient;
use crate::linalg::slice::{at, head, head_mut, set};
use crate::math::Scalar;
use crate::surrogate::SurrogateError;

/// A fit under way: [`maximize`](super::maximize) in slices of a number of evaluations, with the
/// same bits. `N` is the most parameters it holds, at most [`PARAMETERS_MAX`]; it takes about 7N
/// numbers.
///
/// Data, floor and the function that makes the kernel must be the same at every step; the scratch
/// may be any.
///
/// ```
/// use core::task::Poll;
/// use sordino_core::kernel::{Stationary, StationaryKernel};
/// use sordino_core::surrogate::fit::{FitConfig, Fitting, Observations, maximize, scratch_len};
///
/// # let (x, y) = ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.9, 0.7, -0.4, -1.0, -0.3]);
/// # let (data, mut scratch) = (Observations::single(&x, &y), [0.0; scratch_len(6)]);
/// # let kernel = |p: &[f64]| StationaryKernel::with_shape(Stationary::Matern52, p[0], p[1]).ok();
/// let bounds = &[(0.05, 2.0), (0.1, 10.0), (1e-4, 1.0)];
/// let config = FitConfig { bounds, starts: 2, evaluations_per_start: 40 };
/// let mut at_once = [0.5, 1.0, 0.1];
/// maximize(&config, &mut at_once, &data, &mut scratch, kernel)?; // as in the example of `FitConfig`
/// let mut fitting = Fitting::<f64, 3>::begin(&config, &[0.5, 1.0, 0.1])?;
/// while fitting.step(5, 0.0, &data, &mut scratch, kernel).is_pending() {
///     // A device does something else here.
/// }
/// assert_eq!(fitting.parameters(), at_once);
/// # Ok::<(), sordino_core::surrogate::SurrogateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fitting<T, const N: usize> {
    count: usize,
    starts: u32,
    budget: u32,
    bounds: [(T, T); N],
    /// The bounds' logarithms.
    low: [T; N],
    high: [T; N],
    first: [T; N],
    /// The start that is searched from.
    start: u32,
    search: Search<T, N>,
    best: Option<(Fit<T>, [T; N])>,
    failed: SurrogateError,
    evaluations: u32,
    /// The best values seen, once it has ended.
    values: [T; N],
}

/// iRprop⁻ from one start. A point where the likelihood cannot be computed is left again by half
/// the step.
#[derive(Clone, Debug, PartialEq)]
struct Search<T, const N: usize> {
    /// The best point seen, or the first one.
    theta: [T; N],
    at: [T; N],
    previous: [T; N],
    step: [T; N],
    best: Option<T>,
    evaluated: u32,
}

impl<T: Scalar, const N: usize> Fitting<T, N> {
    /// Nothing evaluated yet; `parameters` are the first start.
    ///
    /// **Errors**: those that [`maximize`](super::maximize) has for bounds and parameters.
    pub fn begin(config: &FitConfig<'_, T>, parameters: &[T]) -> Result<Self, SurrogateError> {
        let count = parameters.len();
        if count == 0 || count > N.min(PARAMETERS_MAX) || config.bounds.len() != count {
            return Err(SurrogateError::Dimension {
                expected: config.bounds.len(),
                given: count,
            });
        }
        let zero = [T::ZERO; N];
        let mut bounds = [(T::ZERO, T::ZERO); N];
        let mut low = zero;
        let mut high = zero;
        let mut first = zero;
        for (i, ((a, b), value)) in config.bounds.iter().zip(parameters).enumerate() {
            if let Some(bad) = [*a, *b, *value]
                .iter()
                .find(|x| !(**x > T::ZERO && x.is_finite()))
            {
                return Err(SurrogateError::NonFinite {
                    value: bad.to_f64(),
                });
            }
            if !(*a <= *b) {
                return Err(SurrogateError::NonFinite { value: b.to_f64() });
            }
            set(&mut bounds, i, (*a, *b));
            set(&mut low, i, a.ln());
            set(&mut high, i, b.ln());
            set(&mut first, i, value.ln().max(at(&low, i)).min(at(&high, i)));
        }
        let starts = config.starts.max(1);
        let budget = config.evaluations_per_start.max(1);
        let failed = SurrogateError::Index { index: 0, len: 0 };
        let search = Search::new(first);
        let best = None;
        Ok(Fitting {
            count,
            starts,
            budget,
            bounds,
            low,
            high,
            first,
            start: 0,
            search,
            best,
            failed,
            evaluations: 0,
            values: zero,
        })
    }

    /// At most `evaluations` more (at least one) of likelihood and gradient, of a model whose rows
    /// have a noise variance of at least `floor` times the prior's; what was found when it is
    /// found, and again if asked again.
    ///
    /// **Errors**: when it has ended, as [`maximize`](super::maximize). **Cost**: n³ flops an
    /// evaluation.
    pub fn step<K: LogGradient<T>>(
        &mut self,
        evaluations: u32,
        floor: T,
        data: &Observations<'_, T>,
        scratch: &mut [T],
        mut kernel: impl FnMut(&[T]) -> Option<K>,
    ) -> Poll<Result<Fit<T>, SurrogateError>> {
        let mut left = evaluations.max(1);
        while self.start < self.starts {
            if left == 0 {
                return Poll::Pending;
            }
            left -= 1;
            self.evaluations = self.evaluations.saturating_add(1);
            let values = self.values_at(&self.search.at);
            let mut gradient = [T::ZERO; N];
            let count = self.count;
            let evaluated = match (
                head(&values, count).split_last(),
                kernel(head(&values, count.saturating_sub(1))),
            ) {
                (Some((noise, _)), Some(kernel)) => likelihood(
                    &kernel,
                    *noise,
                    floor,
                    data,
                    head_mut(&mut gradient, count),
                    scratch,
                ),
                _ => Err(SurrogateError::NonFinite {
                    value: at(&values, 0).to_f64(),
                }),
            };
            let bounds = (&self.low, &self.high);
            if let Some(ended) =
                self.search
                    .advance(count, bounds, self.budget, evaluated, &mut gradient)
            {
                self.end_start(ended);
            }
        }
        Poll::Ready(match &self.best {
            Some((fit, _)) => Ok(Fit {
                evaluations: self.evaluations,
                ..*fit
            }),
            None => Err(self.failed),
        })
    }

    /// The parameters that were found, not their logarithms; zeros before the end.
    pub fn parameters(&self) -> &[T] {
        head(&self.values, self.count)
    }

    /// Keeps what a start found if it is the best, and goes to the next start, or to the end.
    fn end_start(&mut self, ended: Result<(T, Ending), SurrogateError>) {
        match ended {
            Ok((value, ending)) => {
                if self
                    .best
                    .as_ref()
                    .is_none_or(|(best, _)| value > best.log_marginal_likelihood)
                {
                    let theta = self.search.theta;
                    let on = |i: &usize| {
                        at(&theta, *i) <= at(&self.low, *i) || at(&theta, *i) >= at(&self.high, *i)
                    };
                    let at_bound = (0..self.count).filter(on).count() as u32;
                    self.best = Some((
                        Fit {
                            log_marginal_likelihood: value,
                            evaluations: 0,
                            ending,
                            at_bound,
                        },
                        theta,
                    ));
                }
            }
            Err(error) => self.failed = error,
        }
        self.start += 1;
        let mut theta = self.first;
        for (i, theta) in theta.iter_mut().enumerate().take(self.count) {
            let low = at(&self.low, i);
            *theta = low + halton::<T>(self.start, i) * (at(&self.high, i) - low);
        }
        self.search = Search::new(theta);
        if self.start == self.starts
            && let Some((_, theta)) = self.best
        {
            self.values = self.values_at(&theta);
        }
    }

    /// exp θ; exp(ln bound) may leave the bounds by a rounding.
    fn values_at(&self, theta: &[T; N]) -> [T; N] {
        let mut values = [T::ZERO; N];
        for ((value, theta), (low, high)) in values
            .iter_mut()
            .zip(theta)
            .zip(&self.bounds)
            .take(self.count)
        {
            *value = theta.exp().max(*low).min(*high);
        }
        values
    }
}

impl<T: Scalar, const N: usize> Search<T, N> {
    fn new(theta: [T; N]) -> Self {
        let previous = [T::ZERO; N];
        let step = [T::from_f64(0.3); N];
        Search {
            theta,
            at: theta,
            previous,
            step,
            best: None,
            evaluated: 0,
        }
    }

    /// Takes in what the likelihood is at `at`, and moves on; how the search ended, if it has.
    fn advance(
        &mut self,
        count: usize,
        (low, high): (&[T; N], &[T; N]),
        budget: u32,
        evaluated: Result<T, SurrogateError>,
        gradient: &mut [T; N],
    ) -> Option<Result<(T, Ending), SurrogateError>> {
        self.evaluated += 1;
        let used_up = self.evaluated >= budget;
        let value = match (evaluated, self.best) {
            (Ok(value), _) => value,
            (Err(error), None) => return Some(Err(error)),
            (Err(_), Some(best)) => {
                self.at = self.theta;
                self.step
                    .iter_mut()
                    .for_each(|step| *step *= T::from_f64(0.5));
                self.previous = [T::ZERO; N];
                return used_up.then_some(Ok((best, Ending::Budget)));
            }
        };
        let mut best = value;
        match self.best {
            Some(before) if !(value > before) => best = before,
            _ => self.theta = self.at,
        }
        self.best = Some(best);
        let largest = self.move_on(count, low, high, gradient);
        if !(largest > T::from_f64(1e-4)) {
            return Some(Ok((best, Ending::Converged)));
        }
        used_up.then_some(Ok((best, Ending::Budget)))
    }

    /// One step of every parameter against its bounds; the largest step that moved one.
    fn move_on(&mut self, count: usize, low: &[T; N], high: &[T; N], gradient: &mut [T; N]) -> T {
        let mut largest = T::ZERO;
        let parameters = self
            .at
            .iter_mut()
            .zip(&mut self.step)
            .zip(&mut self.previous)
            .zip(gradient);
        for ((((at, step), previous), gradient), (low, high)) in
            parameters.zip(low.iter().zip(high)).take(count)
        {
            let product = *gradient * *previous;
            if product > T::ZERO {
                *step = (*step * T::from_f64(1.2)).min(T::from_f64(1.0));
            } else if product < T::ZERO {
                *step *= T::from_f64(0.5);
                *gradient = T::ZERO;
            }
            *previous = *gradient;
            let wanted = if *gradient > T::ZERO {
                *at + *step
            } else if *gradient < T::ZERO {
                *at - *step
            } else {
                *at
            };
            let next = wanted.max(*low).min(*high);
            // A parameter that is pushed against its bound does not keep the search alive.
            if next != *at || product < T::ZERO {
                largest = largest.max(*step);
            }
            *at = next;
        }
        largest
    }
}
