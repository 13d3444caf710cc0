//! Tests of the newcomer's half: worlds that the tests share.

extern crate std;

mod failed;
mod reference;
mod refusals;
mod regret;
mod screened;
mod uses;

use std::vec;
use std::vec::Vec;

use super::*;
use crate::domain::sobol::coordinate;
use crate::kernel::{Kernel, SquaredExponential};
use crate::linalg::{lower, packed_len};
use crate::math::Scalar;
use crate::random::Stream;
use crate::random::normal::draw as standard;

/// A file that owns its numbers.
#[derive(Clone, Debug)]
struct File {
    dim: usize,
    landmarks: Vec<f64>,
    lengthscale: f64,
    weights: Vec<f64>,
    covariance: Vec<f64>,
    self_test: f64,
}

impl File {
    fn numbers(&self) -> PriorNumbers<'_, f64> {
        let File {
            dim,
            lengthscale,
            self_test,
            ..
        } = *self;
        let landmarks = &self.landmarks;
        let weights = &self.weights;
        let covariance = &self.covariance;
        PriorNumbers {
            dim,
            landmarks,
            lengthscale,
            weights,
            covariance,
            self_test,
        }
    }

    fn storage(&self) -> Vec<f64> {
        vec![0.0; attach_len(self.weights.len())]
    }

    /// The file that knows `values` of all candidates up to noise of this variance: at most `count`
    /// greedy landmarks.
    fn of(
        candidates: &[f64],
        dim: usize,
        values: &[f64],
        lengthscale: f64,
        count: usize,
        variance: f64,
    ) -> File {
        let total = values.len();
        let kernel = SquaredExponential::new(lengthscale, 1.0).unwrap();
        let point = |i: usize| &candidates[i * dim..][..dim];
        // Greedy: the point of largest residual variance next.
        let mut columns = vec![Vec::<f64>::new(); total];
        let mut residual = vec![1.0; total];
        let mut pivots = Vec::new();
        while pivots.len() < count {
            let pivot = (0..total)
                .max_by(|a, b| f64::total_cmp(&residual[*a], &residual[*b]))
                .unwrap();
            if residual[pivot] < 1e-6 {
                break;
            }
            let row = columns[pivot].clone();
            let root = f64::sqrt(residual[pivot]);
            for i in 0..total {
                let value = (kernel.covariance(point(i), point(pivot))
                    - crate::linalg::dot(&columns[i], &row))
                    / root;
                columns[i].push(value);
                residual[i] -= value * value;
            }
            pivots.push(pivot);
        }
        let landmarks: Vec<f64> = pivots.iter().flat_map(|i| point(*i).to_vec()).collect();
        let mut factor = vec![0.0; packed_len(pivots.len())];
        for (row, i) in pivots.iter().enumerate() {
            kernel.covariances(point(*i), &landmarks, lower::row_mut(&mut factor, row));
            lower::append_row(&mut factor, row, 0.0).unwrap();
        }
        let mut weights: Vec<f64> = pivots.iter().map(|i| values[*i]).collect();
        lower::solve(&factor, &mut weights);
        let mut covariance = vec![0.0; packed_len(pivots.len())];
        (0..pivots.len()).for_each(|i| covariance[packed_len(i) + i] = variance);
        File {
            dim,
            landmarks,
            lengthscale,
            weights,
            covariance,
            self_test: 5.0,
        }
    }
}

/// Points that cover the unit box.
fn points(count: usize, dim: usize) -> Vec<f64> {
    (0..count as u32)
        .flat_map(|i| (0..dim).map(move |axis| coordinate(i, axis, 5)))
        .collect()
}

/// Draws of a squared exponential process on the candidates.
struct Draws {
    factor: Vec<f64>,
    count: usize,
}

impl Draws {
    fn new(candidates: &[f64], dim: usize, lengthscale: f64) -> Draws {
        let count = candidates.len() / dim;
        let kernel = SquaredExponential::new(lengthscale, 1.0).unwrap();
        let mut factor = vec![0.0; packed_len(count)];
        for row in 0..count {
            let point = &candidates[row * dim..][..dim];
            kernel.covariances(
                point,
                &candidates[..(row + 1) * dim],
                lower::row_mut(&mut factor, row),
            );
            *lower::row_mut(&mut factor, row).last_mut().unwrap() += 1e-6;
            lower::append_row(&mut factor, row, 0.0).unwrap();
        }
        Draws { factor, count }
    }

    fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        let normals: Vec<f64> = (0..self.count).map(|_| standard(stream)).collect();
        (0..self.count)
            .map(|i| crate::linalg::dot(lower::row(&self.factor, i), &normals))
            .collect()
    }
}

/// A search with room for `capacity` observations and blocks of `width`.
fn search<'a>(
    candidates: &'a [f64],
    dim: usize,
    prior: Option<&'a PublicPrior<'a, f64>>,
    (capacity, width): (usize, usize),
) -> Newcomer<'a, f64, Vec<f64>> {
    let storage = vec![0.0; storage_len(prior.map_or(0, PublicPrior::count), capacity, width)];
    Newcomer::new(
        candidates,
        dim,
        prior,
        NewcomerSettings::default(),
        capacity,
        storage,
    )
    .unwrap()
}

/// The first `count` questions, with these values of the candidates.
fn questions<T: Scalar, S: AsRef<[T]> + AsMut<[T]>>(
    search: &mut Newcomer<'_, T, S>,
    values: &[T],
    count: usize,
) -> Vec<usize> {
    let ask = |_| {
        let candidate = search.suggest();
        search.observe(candidate, values[candidate]).unwrap();
        candidate
    };
    (0..count).map(ask).collect()
}
