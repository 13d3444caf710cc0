//! The model of a search with a file once it has many values: the optimizer's own, of what the file
//! does not explain.
//!
//! A file has one list of kernels for everybody. With enough values of its own a search does better
//! to fit a lengthscale for each axis, and to keep of the file where it is high and where it is
//! low.

use super::newcomer::Newcomer;
use crate::acquisition::log_expected_improvement;
use crate::domain::{BoxDomain, DIM_MAX};
use crate::linalg::block::WIDTH;
use crate::linalg::slice::{head, head_mut, part};
use crate::math::Scalar;
use crate::optimizer::{Optimizer, OptimizerError, Settings};

/// The least values with which a search goes on with its own model.
const VALUES_MIN: usize = 15;

/// Values from which on a search of so many axes goes on with its own model: 15, and not fewer than
/// the points that fill the space in a search without a file, 2·axes + 2.
pub const fn own_model_from(axes: usize) -> usize {
    let first = 2 * axes + 2;
    if first > VALUES_MIN {
        first
    } else {
        VALUES_MIN
    }
}

/// y = β + A·m(x) + g(x): m the mean of the file, A ≥ 0 by least squares, β + g the posterior of an
/// [`Optimizer`] that was told y − A·m.
///
/// ```
/// use sordino_core::optimizer;
/// use sordino_core::prior::{
///     Newcomer, NewcomerSettings, OwnModel, PriorNumbers, PublicPrior, attach_len, own_model_from, storage_len,
/// };
/// # let covariance = &[0.1, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.1];
/// // A file that says: high around .3.
/// let numbers = PriorNumbers {
///     dim: 1,
///     landmarks: &[0.1, 0.3, 0.5, 0.7, 0.9],
///     lengthscale: 0.15,
///     weights: &[0.0, 2.0, 0.0, 0.0, 0.0],
///     covariance, // LLᵀ, packed
///     self_test: 9.0,
/// };
/// let mut factor = [0f64; attach_len(5)];
/// let prior = PublicPrior::attach(numbers, &mut factor)?;
/// let candidates: Vec<f64> = (0..100).map(|i| f64::from(i) / 99.0).collect();
/// let storage = vec![0.0; storage_len(5, 20, 16)];
/// let mut search = Newcomer::new(&candidates, 1, Some(&prior), NewcomerSettings::default(), 20, storage)?;
/// // High around .3 it is, and a little higher around .8, which no other site has.
/// let value = |x: f64| (-40.0 * (x - 0.3).powi(2)).exp() + 1.1 * (-40.0 * (x - 0.8).powi(2)).exp();
/// let mut own = vec![0.0; optimizer::storage_len(1, 20)];
/// for number in 0..20 {
///     let candidate = if number < own_model_from(1) {
///         search.suggest()
///     } else {
///         OwnModel::fit(&search, &mut own[..])?.suggest(&mut search)?
///     };
///     search.observe(candidate, value(candidates[candidate]))?;
/// }
/// let best = search.log().filter_map(|entry| entry.value()).fold(0.0, f64::max);
/// assert!(best > 1.05, "{best}");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnModel<T, S> {
    slope: T,
    optimizer: Optimizer<T, S>,
    /// The largest posterior mean at a point of which a value is known.
    incumbent: T,
}

impl<T: Scalar, S: AsRef<[T]> + AsMut<[T]>> OwnModel<T, S> {
    /// Fits it to all that a search was told, at least one value or failure, in storage of
    /// [`optimizer::storage_len`](crate::optimizer::storage_len) numbers for as many.
    ///
    /// **Errors**: [`OptimizerError`]. A fit of the lengthscales that fails is none: they are the
    /// usual ones then.
    ///
    /// **Cost**: that of [`Optimizer::fit`], at most 48 n³ flops.
    pub fn fit<N: AsRef<[T]> + AsMut<[T]>>(
        search: &Newcomer<'_, T, N>,
        storage: S,
    ) -> Result<Self, OptimizerError> {
        let dim = search.dim();
        let n = search.rows;
        let domain = BoxDomain::new(head(&[(0.0, 1.0); DIM_MAX], dim))?;
        let settings = Settings {
            initial_points: n as u32,
            seed: search.settings().seed,
            ..Settings::default()
        };
        let slope = slope(search);
        let mut optimizer = Optimizer::new(domain, settings, n, storage)?;
        for (candidate, value, mean) in search.told() {
            optimizer.observe(search.point(candidate), value - slope * mean)?;
        }
        // One that fails leaves the parameters as they were.
        let _fitted = optimizer.fit();
        let mut incumbent = -T::INFINITY;
        for (candidate, _, mean) in search.told() {
            let (residual, _) = optimizer.predict(search.point(candidate))?;
            incumbent = incumbent.max(residual + slope * mean);
        }
        Ok(OwnModel {
            slope,
            optimizer,
            incumbent,
        })
    }

    /// The candidate of largest expected improvement among those that the search did not visit;
    /// ties: lowest index. Once every one was visited, the first that did not fail. The candidates
    /// may be others than those that it was fitted with.
    ///
    /// **Errors**: [`OptimizerError`].
    ///
    /// **Cost**: n² flops a candidate, and what the file's mean there takes.
    pub fn suggest<N: AsRef<[T]> + AsMut<[T]>>(
        &mut self,
        search: &mut Newcomer<'_, T, N>,
    ) -> Result<usize, OptimizerError> {
        let mut best = -T::INFINITY;
        let mut chosen = None;
        let mut moments = [(T::ZERO, T::ZERO); WIDTH];
        let count = search.count();
        let dim = search.dim();
        for start in (0..count).step_by(WIDTH) {
            let width = WIDTH.min(count - start);
            let points = part(search.candidates(), start * dim, width * dim);
            self.optimizer
                .predict_all(points, head_mut(&mut moments, width))?;
            for (candidate, (residual, deviation)) in (start..start + width).zip(moments) {
                if search.is_visited(candidate) {
                    continue;
                }
                let (mean, _) = search.file_at(candidate);
                let mean = residual + self.slope * mean;
                let variance = deviation * deviation;
                if log_expected_improvement::bound(mean, variance, self.incumbent) < best {
                    continue;
                }
                let gain = log_expected_improvement::value(mean, variance, self.incumbent);
                if chosen.is_none() || gain > best {
                    (best, chosen) = (gain, Some(candidate));
                }
            }
        }
        let sound = chosen.or_else(|| (0..count).find(|candidate| !search.has_failed(*candidate)));
        Ok(sound.unwrap_or(0))
    }
}

/// The slope of values over the file's means by least squares, at least 0; 0 where the means are
/// all one.
fn slope<T: Scalar, N: AsRef<[T]> + AsMut<[T]>>(search: &Newcomer<'_, T, N>) -> T {
    let count = T::from_u32(search.rows as u32);
    let sum = |of: fn((usize, T, T)) -> T| search.told().map(of).fold(T::ZERO, |sum, x| sum + x);
    let [mean, value] = [
        sum(|(_, _, mean)| mean) / count,
        sum(|(_, value, _)| value) / count,
    ];
    let mut both = T::ZERO;
    let mut own = T::ZERO;
    for (_, y, m) in search.told() {
        both += (m - mean) * (y - value);
        own += (m - mean) * (m - mean);
    }
    if own > T::ZERO {
        (both / own).max(T::ZERO)
    } else {
        T::ZERO
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::optimizer;
    use crate::prior::{NewcomerSettings, PriorNumbers, PublicPrior, attach_len, storage_len};

    const LANDMARKS: [f64; 4] = [0.1, 0.4, 0.7, 1.0];
    const COVARIANCE: [f64; 10] = [0.1, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1];

    /// What `act` finds of a search over the landmarks that was told these values, with a file of
    /// these weights; its storage was in use.
    fn of<R>(
        weights: &[f64; 4],
        values: &[f64],
        act: impl FnOnce(&mut Newcomer<'_, f64, Vec<f64>>) -> R,
    ) -> R {
        let dim = 1;
        let lengthscale = 0.2;
        let self_test = 5.0;
        let numbers = PriorNumbers {
            dim,
            landmarks: &LANDMARKS,
            lengthscale,
            weights,
            covariance: &COVARIANCE,
            self_test,
        };
        let mut factor = [0.0; attach_len(4)];
        let prior = PublicPrior::attach(numbers, &mut factor).unwrap();
        told(Some(&prior), values, 7e9, act)
    }

    fn told<R>(
        prior: Option<&PublicPrior<'_, f64>>,
        values: &[f64],
        before: f64,
        act: impl FnOnce(&mut Newcomer<'_, f64, Vec<f64>>) -> R,
    ) -> R {
        let storage = vec![before; storage_len(4, 4, 1)];
        let settings = NewcomerSettings::default();
        let mut search = Newcomer::new(&LANDMARKS, 1, prior, settings, 4, storage).unwrap();
        for (place, value) in values.iter().enumerate() {
            search.observe(place, *value).unwrap();
        }
        act(&mut search)
    }

    fn means(weights: &[f64; 4]) -> Vec<f64> {
        of(weights, &[0.0; 4], |search| {
            search.told().map(|(_, _, mean)| mean).collect()
        })
    }

    #[test]
    fn what_the_values_do_not_follow_has_no_slope() {
        let weights = [1.0, -0.5, 2.0, 0.3];
        let means = means(&weights);
        let along = |a: f64, b: f64| means.iter().map(|m| a + b * m).collect::<Vec<f64>>();
        let found = |values: &[f64]| of(&weights, values, |search| slope(search));
        assert!((found(&along(2.5, 2.0)) - 2.0).abs() < 1e-12);
        assert_eq!(
            found(&along(0.0, -1.0)),
            0.0,
            "a file that is wrong is not turned round"
        );
        assert_eq!(
            of(&[0.0; 4], &[0.0, 7.0, 1.0, 2.0], |search| slope(search)),
            0.0,
            "a file that says nothing"
        );
        // Least squares by hand, of values that follow the means in part.
        let values = [1.0, 0.0, 3.0, -1.0];
        let [m, y] = [&means[..], &values].map(|numbers| numbers.iter().sum::<f64>() / 4.0);
        let both: f64 = means
            .iter()
            .zip(values)
            .map(|(mean, value)| (mean - m) * (value - y))
            .sum();
        let own: f64 = means.iter().map(|mean| (mean - m) * (mean - m)).sum();
        assert!(both > 0.0 && (found(&values) - both / own).abs() < 1e-12);
    }

    /// Where no file is read it is the optimizer's model of the values, whatever was in the storage
    /// before.
    #[test]
    fn without_a_file_nothing_is_read_that_was_in_the_storage() {
        let values = [1.0, 4.0, 2.0];
        let asked = |before: f64| {
            told(None, &values, before, |search| {
                let own = vec![0.0; optimizer::storage_len(1, 3)];
                let mut own = OwnModel::fit(search, own).unwrap();
                (own.slope, own.incumbent, own.suggest(search).unwrap())
            })
        };
        let (slope, incumbent, candidate) = asked(0.0);
        assert_eq!(asked(7e9), (slope, incumbent, candidate));
        assert_eq!(asked(f64::NAN), (slope, incumbent, candidate));
        // The one that is left.
        assert!(
            slope == 0.0 && candidate == 3 && (incumbent - 4.0).abs() < 1.0,
            "{incumbent}"
        );
    }

    #[test]
    fn of_no_value_there_is_no_model_and_of_no_open_candidate_the_first_is_asked() {
        let fitted = |values: &[f64]| {
            told(None, values, 0.0, |search| {
                let own = vec![0.0; optimizer::storage_len(1, 4)];
                OwnModel::fit(search, own).and_then(|mut own| own.suggest(search))
            })
        };
        assert!(fitted(&[]).is_err());
        assert_eq!(fitted(&[1.0, 4.0, 2.0, 3.0]), Ok(0));
        assert_eq!([0, 6, 7, 20].map(own_model_from), [15, 15, 16, 42]);
    }
}
