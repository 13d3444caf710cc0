//! A prior file that a visitor of the page opened: checked as every reader checks one, then what it
//! believes along each axis.
//!
//! The page takes the header apart, which is JSON; what is computed of it is computed here, by
//! core.

use sordino_core::domain::DIM_MAX;
use sordino_core::domain::sobol::coordinate;
use sordino_core::federated::prior::event;
use sordino_core::prior::{PriorNumbers, PublicPrior, PublicPriorError, Reading, attach_len};
use sordino_core::privacy::accountant::{Accountant, GaussianAccountant};

use crate::WebError;

/// Points at which a curve is known.
pub const POINTS: usize = 101;
/// Points among which the best one is looked for.
const LOOKED: u32 = 1000;
/// The most features and releases of a file.
const FEATURES_MAX: usize = 1024;
const RELEASES_MAX: usize = 64;
/// What is told may be rounded up, and no more than that is rounding.
const ROUNDED: f64 = 1.0 - 1e-12;

/// Lengths of what the page hands over.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of the label's text.
    pub label: usize,
    /// Number of features M.
    pub features: usize,
    /// Number of coordinates D.
    pub dim: usize,
    /// Parameters of the space.
    pub parameters: usize,
    /// Number of releases.
    pub releases: usize,
}

impl Shape {
    /// Numbers of the tensors.
    fn numbers(&self) -> usize {
        self.features * self.dim + self.features + attach_len(self.features)
    }

    /// Bytes that the page hands over: label, tensors in single precision, then numbers in double
    /// precision.
    pub fn bytes(&self) -> usize {
        self.label + 4 * self.numbers() + self.told_bytes()
    }

    /// Bytes of the numbers behind label and tensors.
    pub fn told_bytes(&self) -> usize {
        8 * (TOLD + self.releases + self.parameters)
    }
}

/// Lengthscale, self-test, δ and both ε, before the noise multipliers.
const TOLD: usize = 5;

/// What a file believes.
pub struct Opened {
    /// Mean and standard deviation at the points of each parameter's axis, others at the best
    /// point.
    curves: Vec<[(f64, f64); POINTS]>,
    /// Coordinates of the best point.
    best: Vec<f64>,
    best_guess: f64,
    reading: Reading,
}

fn none(error: PublicPriorError) -> WebError {
    WebError::File(error.to_string())
}

fn refused(what: &str, admissible: &str) -> WebError {
    WebError::File(format!("{what}; admissible: {admissible}"))
}

impl Opened {
    /// Checks what the page took out of a file, and computes what it believes.
    ///
    /// **Errors**: [`WebError`] naming what cannot be: lengths, numbers, an ε below what the noise
    /// multipliers cost.
    pub fn new(shape: Shape, bytes: &[u8]) -> Result<Self, WebError> {
        let Shape {
            features,
            dim,
            parameters,
            releases,
            ..
        } = shape;
        if !(1..=FEATURES_MAX).contains(&features) || !(1..=RELEASES_MAX).contains(&releases) {
            return Err(refused("features or releases", "1 to 1024, and 1 to 64"));
        }
        if !(1..=DIM_MAX).contains(&dim) || !(1..=DIM_MAX).contains(&parameters) {
            return Err(refused("coordinates or parameters", "1 to 16"));
        }
        if shape.label > bytes.len() || bytes.len() != shape.bytes() {
            return Err(refused("the number of bytes", &shape.bytes().to_string()));
        }
        let numbers = bytes[shape.label..][..4 * shape.numbers()].as_chunks().0;
        let numbers: Vec<f64> = numbers
            .iter()
            .map(|four| f32::from_le_bytes(*four).into())
            .collect();
        let told = bytes[bytes.len() - shape.told_bytes()..].as_chunks().0;
        let told: Vec<f64> = told
            .iter()
            .map(|eight| f64::from_le_bytes(*eight))
            .collect();
        let [
            lengthscale,
            self_test,
            delta,
            epsilon,
            between,
            ref lists @ ..,
        ] = told[..]
        else {
            return Err(refused("the label", "all of its numbers"));
        };
        let best_guess = check_cost(&lists[..releases], delta, [epsilon, between])?;
        let widths: Vec<usize> = lists[releases..]
            .iter()
            .map(|width| *width as usize)
            .collect();
        if widths.contains(&0) || widths.iter().sum::<usize>() != dim {
            return Err(refused(
                "the space",
                "parameters of as many coordinates as a landmark has",
            ));
        }
        let coordinates = features * dim;
        let file = PriorNumbers {
            dim,
            landmarks: &numbers[..coordinates],
            lengthscale,
            weights: &numbers[coordinates..][..features],
            covariance: &numbers[coordinates + features..],
            self_test,
        };
        let mut storage = vec![0.0; attach_len(features)];
        let prior = PublicPrior::attach(file, &mut storage).map_err(none)?;
        let best = best(&prior, &widths)?;
        let curves = along(&prior, &widths, &best)?;
        Ok(Opened {
            curves,
            best,
            best_guess,
            reading: Reading::of(Some(self_test)),
        })
    }

    /// Mean at a point of a parameter's axis; NaN where there is none.
    pub fn mean(&self, parameter: usize, point: usize) -> f64 {
        self.at(parameter, point).0
    }

    /// Standard deviation there.
    pub fn std(&self, parameter: usize, point: usize) -> f64 {
        self.at(parameter, point).1
    }

    fn at(&self, parameter: usize, point: usize) -> (f64, f64) {
        let curve = self.curves.get(parameter);
        curve
            .and_then(|curve| curve.get(point))
            .copied()
            .unwrap_or((f64::NAN, f64::NAN))
    }

    /// A coordinate of the best point; NaN beyond the last.
    pub fn best(&self, coordinate: usize) -> f64 {
        self.best.get(coordinate).copied().unwrap_or(f64::NAN)
    }

    /// How often a reader who guesses whether one contributor was used is right at most.
    pub fn best_guess(&self) -> f64 {
        self.best_guess
    }

    /// How a search reads it: 0 not at all, 1 after questions of its own, 2 from the first question
    /// on, below a self-test of 3 without the second one.
    pub fn reading(&self) -> u32 {
        match self.reading {
            Reading::Trusted => 2,
            other => u32::from(other.uses_file()),
        }
    }
}

/// Refuses a label that claims a smaller ε than its multipliers cost; how often the best guess is
/// right at most.
fn check_cost(multipliers: &[f64], delta: f64, claimed: [f64; 2]) -> Result<f64, WebError> {
    let accounted = |share: f64| {
        let mut accountant = GaussianAccountant::new();
        multipliers
            .iter()
            .try_for_each(|z| accountant.compose(&event(share * z), 1))
            .map(|()| accountant)
    };
    // Two vectors of one contributor may be opposite: twice as far from each other as from nothing.
    for (share, claimed) in [1.0, 0.5].into_iter().zip(claimed) {
        let least = accounted(share)?.epsilon(delta)?.epsilon;
        if !(claimed >= least * ROUNDED && claimed.is_finite()) {
            return Err(refused(
                &format!("an epsilon of {claimed}"),
                &format!("at least {least}, what its noise costs"),
            ));
        }
    }
    Ok(accounted(1.0)?.best_guess()?)
}

/// Coordinates of one of many points that cover the space: a choice has a coordinate for each of
/// what it may be.
fn covering(index: u32, widths: &[usize]) -> Vec<f64> {
    let mut point = Vec::new();
    for (axis, width) in widths.iter().enumerate() {
        let u = coordinate::<f64>(index, axis, 0);
        match width {
            1 => point.push(u),
            _ => point.extend(
                (0..*width)
                    .map(|choice| f64::from(u8::from(choice == (u * *width as f64) as usize))),
            ),
        }
    }
    point
}

/// The point with the largest mean among those that cover the space.
fn best(prior: &PublicPrior<'_, f64>, widths: &[usize]) -> Result<Vec<f64>, WebError> {
    let mut scratch = vec![0.0; prior.count()];
    let mut found = (f64::NEG_INFINITY, Vec::new());
    for index in 0..LOOKED {
        let point = covering(index, widths);
        let mean = prior.mean(&point, &mut scratch).map_err(none)?;
        if mean > found.0 {
            found = (mean, point);
        }
    }
    Ok(found.1)
}

/// Mean and standard deviation along each parameter that is one coordinate, the others at `best`.
fn along(
    prior: &PublicPrior<'_, f64>,
    widths: &[usize],
    best: &[f64],
) -> Result<Vec<[(f64, f64); POINTS]>, WebError> {
    let mut scratch = vec![0.0; prior.count()];
    let mut curves = Vec::new();
    let mut begin = 0;
    for width in widths {
        let mut curve = [(f64::NAN, f64::NAN); POINTS];
        let mut point = best.to_vec();
        for (place, here) in curve.iter_mut().enumerate().filter(|_| *width == 1) {
            point[begin] = place as f64 / (POINTS - 1) as f64;
            let mean = prior.mean(&point, &mut scratch).map_err(none)?;
            let variance = prior.variance(&point, &mut scratch).map_err(none)?;
            *here = (mean, variance.max(0.0).sqrt());
        }
        curves.push(curve);
        begin += width;
    }
    Ok(curves)
}
