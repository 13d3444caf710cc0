//! The model of a search with a file once it has many values: the optimizer's own, of what the file does not explain.
//!
//! A file has one list of kernels for everybody. With enough values of its own a search does better to fit a lengthscale for
//! each axis, and to keep of the file where it is high and where it is low.

use sordino_core::acquisition::log_expected_improvement;
use sordino_core::optimizer::Optimizer;

use super::error::SearchError;
use crate::prior::guide::Guide;
use crate::space::Encoding;

/// The optimizer of a search.
pub(super) type Inner = Optimizer<f64, Vec<f64>>;
/// A point and its value, larger is better.
pub(super) type Known<'a> = (&'a [f64], f64);

/// Points to choose from, with the file's mean and variance at each, pair after pair, where these are known already.
#[derive(Clone, Copy)]
pub(super) struct Among<'a> {
    /// The points in the space's numbers.
    pub(super) points: &'a [Vec<f64>],
    /// Two numbers a point.
    pub(super) moments: Option<&'a [f64]>,
}

/// y = β + A·m(x) + g(x): m the mean of the file, A ≥ 0 by least squares, β + g the optimizer's model of y − A·m.
pub(super) struct Residual<'a> {
    guide: &'a Guide,
    encoding: &'a Encoding,
    slope: f64,
    optimizer: Inner,
    /// The largest posterior mean at a point of which a value is known.
    incumbent: f64,
}

impl<'a> Residual<'a> {
    /// Fits an optimizer without values, that has room for these.
    pub(super) fn fit(
        guide: &'a Guide,
        encoding: &'a Encoding,
        mut optimizer: Inner,
        known: &[Known],
    ) -> Result<Self, SearchError> {
        let points: Vec<Vec<f64>> = known.iter().map(|(numbers, _)| numbers.to_vec()).collect();
        let means = means(guide, &points)?;
        let slope = slope(&means, known);
        for ((numbers, value), mean) in known.iter().zip(&means) {
            optimizer.observe(&encoding.coordinates(numbers), value - slope * mean)?;
        }
        // One that fails leaves the parameters as they were.
        let _fitted = optimizer.fit();
        let mut model = Residual { guide, encoding, slope, optimizer, incumbent: f64::NEG_INFINITY };
        for (mean, _) in model.moments(&points, &means)? {
            model.incumbent = model.incumbent.max(mean);
        }
        Ok(model)
    }

    /// Mean and standard deviation at points where the file's means are `means`.
    fn moments(&mut self, points: &[Vec<f64>], means: &[f64]) -> Result<Vec<(f64, f64)>, SearchError> {
        let coordinates: Vec<f64> = points.iter().flat_map(|point| self.encoding.coordinates(point)).collect();
        let mut found = vec![(0.0, 0.0); points.len()];
        self.optimizer.predict_all(&coordinates, &mut found)?;
        found.iter_mut().zip(means).for_each(|((residual, _), mean)| *residual += self.slope * mean);
        Ok(found)
    }

    /// The place of the point with the largest expected improvement; 0 of none.
    pub(super) fn choose(&mut self, among: Among) -> Result<usize, SearchError> {
        let means = match among.moments {
            Some(moments) => moments.iter().step_by(2).copied().collect(),
            None => means(self.guide, among.points)?,
        };
        let mut best = (f64::NEG_INFINITY, 0);
        for (place, (mean, deviation)) in self.moments(among.points, &means)?.into_iter().enumerate() {
            let variance = deviation * deviation;
            if log_expected_improvement::bound(mean, variance, self.incumbent) < best.0 {
                continue;
            }
            let gain = log_expected_improvement::value(mean, variance, self.incumbent);
            if gain > best.0 {
                best = (gain, place);
            }
        }
        Ok(best.1)
    }
}

/// What the file says of each point.
fn means(guide: &Guide, points: &[Vec<f64>]) -> Result<Vec<f64>, SearchError> {
    Ok(guide.believed(points)?.iter().map(|believed| believed.mean).collect())
}

/// The slope of values over the file's means by least squares, at least 0; 0 where the means are all one.
fn slope(means: &[f64], known: &[Known]) -> f64 {
    let n = known.len() as f64;
    let [mean, value] = [means.iter().sum::<f64>() / n, known.iter().map(|(_, value)| value).sum::<f64>() / n];
    let mut both = 0.0;
    let mut own = 0.0;
    for (m, (_, y)) in means.iter().zip(known) {
        both += (m - mean) * (y - value);
        own += (m - mean) * (m - mean);
    }
    if own > 0.0 { (both / own).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn what_the_values_do_not_follow_has_no_slope() {
        let means = [0.0, 1.0, 2.0, 5.0];
        let of = |values: [f64; 4]| slope(&means, &values.map(|value| (&[][..], value)));
        assert!((of(means.map(|m| 3.0 - 0.5 + 2.0 * m)) - 2.0).abs() < 1e-12);
        assert_eq!(of(means.map(|m| -m)), 0.0, "a file that is wrong is not turned round");
        assert_eq!(slope(&[1.0; 2], &[(&[][..], 0.0), (&[][..], 7.0)]), 0.0, "a file that says nothing");
        // Least squares by hand: Σ(m − 2)(y − 1)/Σ(m − 2)² = (−2·−1 + −1·1 + 0·1 + 3·−1)/14 is below 0, turned round above it.
        assert_eq!(of([0.0, 2.0, 2.0, 0.0]), 0.0);
        assert!((of([0.0, -2.0, -2.0, 0.0]) - 2.0 / 14.0).abs() < 1e-12);
    }
}
