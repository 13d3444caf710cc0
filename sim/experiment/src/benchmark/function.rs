//! Test functions under the names that the field gives them, each over its usual box mapped to [0,
//! 1]^D.
//!
//! **Source**: formulas and boxes as in Surjanovic and Bingham, *Virtual Library of Simulation
//! Experiments*; the box of Rosenbrock is [−2.048, 2.048]^D. All are minimised there; here values
//! are negated, because we maximise.
//!
//! **Numerics**: sines, cosines, exponentials and roots are core's, so that values are the same on
//! every platform.

use core::f64::consts::{E, PI};

use serde::{Deserialize, Serialize};
use sordino_core::math::Scalar;

use super::design::{Design, points};

/// A test function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TestFunction {
    /// Three equal optima in two dimensions.
    #[serde(rename = "branin")]
    Branin,
    /// Four wells in three dimensions.
    #[serde(rename = "hartmann3")]
    Hartmann3,
    /// Four wells in six dimensions.
    #[serde(rename = "hartmann6")]
    Hartmann6,
    /// One deep hole in a plain with ripples, any dimension.
    #[serde(rename = "ackley")]
    Ackley,
    /// Ripples along a valley, any dimension.
    #[serde(rename = "levy")]
    Levy,
    /// A bent valley, two dimensions and more.
    #[serde(rename = "rosenbrock")]
    Rosenbrock,
}

const HARTMANN_WEIGHTS: [f64; 4] = [1.0, 1.2, 3.0, 3.2];
const HARTMANN3_SCALES: [[f64; 3]; 4] = [
    [3.0, 10.0, 30.0],
    [0.1, 10.0, 35.0],
    [3.0, 10.0, 30.0],
    [0.1, 10.0, 35.0],
];
const HARTMANN3_CENTRES: [[f64; 3]; 4] = [
    [0.3689, 0.1170, 0.2673],
    [0.4699, 0.4387, 0.7470],
    [0.1091, 0.8732, 0.5547],
    [0.0381, 0.5743, 0.8828],
];
const HARTMANN6_SCALES: [[f64; 6]; 4] = [
    [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
    [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
    [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
    [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
];
const HARTMANN6_CENTRES: [[f64; 6]; 4] = [
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
];
/// Points at which the public constants of a function are taken.
const SURVEY: u32 = 1024;

impl TestFunction {
    /// Its dimension, where it has one of its own.
    pub const fn dim(self) -> Option<usize> {
        match self {
            TestFunction::Branin => Some(2),
            TestFunction::Hartmann3 => Some(3),
            TestFunction::Hartmann6 => Some(6),
            TestFunction::Ackley | TestFunction::Levy | TestFunction::Rosenbrock => None,
        }
    }

    /// The fewest dimensions in which it makes sense.
    pub(crate) const fn dim_min(self) -> usize {
        match self {
            TestFunction::Rosenbrock => 2,
            _ => 1,
        }
    }

    /// The usual box of one axis.
    fn ends(self, axis: usize) -> (f64, f64) {
        match self {
            TestFunction::Branin if axis == 0 => (-5.0, 10.0),
            TestFunction::Branin => (0.0, 15.0),
            TestFunction::Hartmann3 | TestFunction::Hartmann6 => (0.0, 1.0),
            TestFunction::Ackley => (-32.768, 32.768),
            TestFunction::Levy => (-10.0, 10.0),
            TestFunction::Rosenbrock => (-2.048, 2.048),
        }
    }

    /// Minus the function at `unit`, D coordinates of the unit box; the formula continues outside
    /// the box.
    pub fn value(self, unit: &[f64]) -> f64 {
        let x: Vec<f64> = unit
            .iter()
            .enumerate()
            .map(|(axis, u)| {
                let (low, high) = self.ends(axis);
                low + u * (high - low)
            })
            .collect();
        -match self {
            TestFunction::Branin => branin(&x),
            TestFunction::Hartmann3 => hartmann(&x, &HARTMANN3_SCALES, &HARTMANN3_CENTRES),
            TestFunction::Hartmann6 => hartmann(&x, &HARTMANN6_SCALES, &HARTMANN6_CENTRES),
            TestFunction::Ackley => ackley(&x),
            TestFunction::Levy => levy(&x),
            TestFunction::Rosenbrock => rosenbrock(&x),
        }
    }

    /// Mean and variance over the box, to two digits: constants of the formula, so they may be
    /// public.
    pub fn constants(self, dim: usize) -> (f64, f64) {
        let survey = points(Design::Sobol, SURVEY, dim, 0);
        let values: Vec<f64> = survey
            .chunks_exact(dim.max(1))
            .map(|point| self.value(point))
            .collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / n;
        (two_digits(mean), two_digits(variance))
    }
}

/// The number rounded to two significant digits.
fn two_digits(x: f64) -> f64 {
    format!("{x:.1e}").parse().unwrap_or(x)
}

fn branin(x: &[f64]) -> f64 {
    let bowl = x[1] - 5.1 / (4.0 * PI * PI) * x[0] * x[0] + 5.0 / PI * x[0] - 6.0;
    bowl * bowl + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * Scalar::cos(x[0]) + 10.0
}

fn hartmann<const D: usize>(x: &[f64], scales: &[[f64; D]; 4], centres: &[[f64; D]; 4]) -> f64 {
    -(0..4)
        .map(|i| {
            let inner: f64 = (0..D)
                .map(|j| scales[i][j] * (x[j] - centres[i][j]) * (x[j] - centres[i][j]))
                .sum();
            HARTMANN_WEIGHTS[i] * Scalar::exp(-inner)
        })
        .sum::<f64>()
}

fn ackley(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let squares: f64 = x.iter().map(|x| x * x).sum();
    let waves: f64 = x.iter().map(|x| Scalar::cos(2.0 * PI * x)).sum();
    -20.0 * Scalar::exp(-0.2 * Scalar::sqrt(squares / n)) - Scalar::exp(waves / n) + 20.0 + E
}

fn levy(x: &[f64]) -> f64 {
    let w: Vec<f64> = x.iter().map(|x| 1.0 + (x - 1.0) / 4.0).collect();
    let Some((last, rest)) = w.split_last() else {
        return 0.0;
    };
    let inner: f64 = rest
        .iter()
        .map(|w| (w - 1.0) * (w - 1.0) * (1.0 + 10.0 * sine_squared(PI * w + 1.0)))
        .sum();
    sine_squared(PI * w[0])
        + inner
        + (last - 1.0) * (last - 1.0) * (1.0 + sine_squared(2.0 * PI * last))
}

/// sin² of an angle in radians.
fn sine_squared(x: f64) -> f64 {
    Scalar::sin(x) * Scalar::sin(x)
}

fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2)
        .map(|pair| {
            let bend = pair[1] - pair[0] * pair[0];
            100.0 * bend * bend + (1.0 - pair[0]) * (1.0 - pair[0])
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Optima as the library prints them, in its own units.
    #[test]
    fn optima_are_the_published_ones() {
        let at = |function: TestFunction, x: &[f64]| {
            let unit = |(axis, x): (usize, &f64)| {
                let (low, high) = function.ends(axis);
                (x - low) / (high - low)
            };
            function.value(&x.iter().enumerate().map(unit).collect::<Vec<_>>())
        };
        for (function, x, optimum, within) in [
            (TestFunction::Branin, &[PI, 2.275][..], -0.397887, 1e-6),
            (TestFunction::Branin, &[-PI, 12.275], -0.397887, 1e-6),
            (
                TestFunction::Hartmann3,
                &[0.114614, 0.555649, 0.852547],
                3.86278,
                1e-5,
            ),
            (
                TestFunction::Hartmann6,
                &[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573],
                3.32237,
                1e-5,
            ),
            (TestFunction::Ackley, &[0.0; 5], 0.0, 1e-12),
            (TestFunction::Levy, &[1.0; 5], 0.0, 1e-12),
            (TestFunction::Rosenbrock, &[1.0; 5], 0.0, 1e-12),
        ] {
            assert!(
                (at(function, x) - optimum).abs() < within,
                "{function:?}: {}",
                at(function, x)
            );
            // Elsewhere it is worse.
            let near: Vec<f64> = x.iter().map(|x| x + 0.01).collect();
            assert!(at(function, &near) < at(function, x), "{function:?}");
        }
        // By hand: levy of one zero is sin²(.75π) + (.25)²·(1 + sin²(1.5π)).
        assert!((at(TestFunction::Levy, &[0.0]) + 0.5 + 0.0625 * 2.0).abs() < 1e-12);
        assert_eq!(at(TestFunction::Rosenbrock, &[0.0, 1.0]), -101.0);
    }

    #[test]
    fn constants_have_two_digits() {
        let (mean, variance) = TestFunction::Hartmann6.constants(6);
        assert!(
            (0.2..0.3).contains(&mean) && (0.1..0.2).contains(&variance),
            "{mean} {variance}"
        );
        assert_eq!((two_digits(-54.37), two_digits(0.0012345)), (-54.0, 0.0012));
        for function in [
            TestFunction::Ackley,
            TestFunction::Levy,
            TestFunction::Rosenbrock,
        ] {
            for dim in [2, 16] {
                let (mean, variance) = function.constants(dim);
                assert!(
                    mean < 0.0 && (1e-6..1e9).contains(&variance),
                    "{function:?} {dim}: {mean} {variance}"
                );
            }
        }
    }
}
