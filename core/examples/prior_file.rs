//! What a prior file is worth: regret summed over the first twenty evaluations, with a file,
//! without one, and with the optimiser that fits its own lengthscales, on the same candidates and
//! functions.
//!
//! `cargo run --release -p sordino-core --example prior_file [FUNCTIONS]`. Functions are draws of a
//! Gaussian process; the file knows each of them at its landmarks. A last block gives files of
//! other functions, which know nothing of use.

use sordino_core::domain::{BoxDomain, sobol::coordinate};
use sordino_core::kernel::{Kernel, SquaredExponential};
use sordino_core::linalg::{dot, lower, packed_len};
use sordino_core::math::Scalar;
use sordino_core::optimizer::{self, Optimizer, Settings};
use sordino_core::prior::{
    Newcomer, NewcomerSettings, PriorNumbers, PublicPrior, attach_len, storage_len,
};
use sordino_core::random::{Stream, normal};

const EVALUATIONS: usize = 20;
const CANDIDATES: usize = 256;
const LANDMARKS: usize = 50;

type Failure = Box<dyn core::error::Error>;

/// Functions on candidates of a box, and the landmarks that a file of them has.
struct World {
    dim: usize,
    lengthscale: f64,
    candidates: Vec<f64>,
    /// Of the covariance over the candidates.
    factor: Vec<f64>,
    /// Candidates that are landmarks.
    pivots: Vec<usize>,
}

impl World {
    fn new(dim: usize, lengthscale: f64) -> Result<World, Failure> {
        let candidates: Vec<f64> = (0..CANDIDATES as u32)
            .flat_map(|i| (0..dim).map(move |axis| coordinate(i, axis, 11)))
            .collect();
        let kernel = SquaredExponential::new(lengthscale, 1.0)?;
        let mut factor = vec![0.0; packed_len(CANDIDATES)];
        for (row, point) in candidates.chunks(dim).enumerate() {
            kernel.covariances(point, &candidates, lower::row_mut(&mut factor, row));
            lower::row_mut(&mut factor, row)[row] += 1e-6;
            lower::append_row(&mut factor, row, 0.0)?;
        }
        let pivots = greedy(&kernel, &candidates, dim);
        Ok(World {
            dim,
            lengthscale,
            candidates,
            factor,
            pivots,
        })
    }

    fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        let mut normals = vec![0.0; CANDIDATES];
        normal::fill(stream, &mut normals);
        (0..CANDIDATES)
            .map(|i| dot(lower::row(&self.factor, i), &normals))
            .collect()
    }

    /// Questions with a file of `known`, or without one.
    fn search(&self, values: &[f64], known: Option<(&[f64], f64)>) -> Result<Vec<usize>, Failure> {
        let count = self.pivots.len();
        let dim = self.dim;
        let point = |i: usize| self.candidates[i * dim..][..dim].to_vec();
        let landmarks: Vec<f64> = self.pivots.iter().flat_map(|i| point(*i)).collect();
        let (function, self_test) = known.unwrap_or((values, 5.0));
        let mut covariance = vec![0.0; packed_len(count)];
        (0..count).for_each(|i| covariance[packed_len(i) + i] = 1e-3);
        // w = L⁻¹f(P): the file is right at its landmarks.
        let mut weights: Vec<f64> = self.pivots.iter().map(|i| function[*i]).collect();
        let mut factor = vec![0.0; packed_len(count)];
        for row in 0..count {
            let kernel = SquaredExponential::new(self.lengthscale, 1.0)?;
            kernel.covariances(
                &landmarks[row * dim..][..dim],
                &landmarks,
                lower::row_mut(&mut factor, row),
            );
            lower::append_row(&mut factor, row, 0.0)?;
        }
        lower::solve(&factor, &mut weights);
        let landmarks = &landmarks[..];
        let weights = &weights[..];
        let covariance = &covariance[..];
        let numbers = PriorNumbers {
            dim,
            landmarks,
            lengthscale: self.lengthscale,
            weights,
            covariance,
            self_test,
        };
        let mut storage = vec![0.0; attach_len(count)];
        let prior = PublicPrior::attach(numbers, &mut storage)?;
        let room = vec![0.0; storage_len(count, EVALUATIONS, 64)];
        let read = known.map(|_| &prior);
        let mut search = Newcomer::new(
            &self.candidates,
            dim,
            read,
            NewcomerSettings::default(),
            EVALUATIONS,
            room,
        )?;
        let mut asked = Vec::new();
        for _ in 0..EVALUATIONS {
            let candidate = search.suggest();
            search.observe(candidate, values[candidate])?;
            asked.push(candidate);
        }
        Ok(asked)
    }

    /// Questions of [`Optimizer::suggest_among`].
    fn optimize(&self, values: &[f64]) -> Result<Vec<usize>, Failure> {
        let domain = BoxDomain::new(&vec![(0.0, 1.0); self.dim])?;
        let room = vec![0.0; optimizer::storage_len(self.dim, EVALUATIONS)];
        let mut optimizer = Optimizer::new(domain, Settings::default(), EVALUATIONS, room)?;
        let mut asked = Vec::new();
        for _ in 0..EVALUATIONS {
            let candidate = optimizer.suggest_among(&self.candidates)?;
            optimizer.observe(
                &self.candidates[candidate * self.dim..][..self.dim],
                values[candidate],
            )?;
            asked.push(candidate);
        }
        Ok(asked)
    }
}

/// At most [`LANDMARKS`] candidates, the one of largest residual variance next.
fn greedy(kernel: &SquaredExponential<f64>, candidates: &[f64], dim: usize) -> Vec<usize> {
    let point = |i: usize| &candidates[i * dim..][..dim];
    let mut columns = vec![Vec::<f64>::new(); CANDIDATES];
    let mut residual = vec![1.0f64; CANDIDATES];
    let mut pivots = Vec::new();
    while pivots.len() < LANDMARKS {
        let Some(pivot) = (0..CANDIDATES).max_by(|a, b| residual[*a].total_cmp(&residual[*b]))
        else {
            break;
        };
        if residual[pivot] < 1e-6 {
            break;
        }
        let row = columns[pivot].clone();
        let root = Scalar::sqrt(residual[pivot]);
        for i in 0..CANDIDATES {
            let value = (kernel.covariance(point(i), point(pivot)) - dot(&columns[i], &row)) / root;
            columns[i].push(value);
            residual[i] -= value * value;
        }
        pivots.push(pivot);
    }
    pivots
}

/// Regret of the best so far, summed over the evaluations.
fn regret(values: &[f64], asked: &[usize]) -> f64 {
    let best = values.iter().fold(f64::NEG_INFINITY, |best, y| y.max(best));
    let so_far = asked.iter().scan(f64::NEG_INFINITY, |so_far, candidate| {
        *so_far = so_far.max(values[*candidate]);
        Some(best - *so_far)
    });
    so_far.sum()
}

/// Mean and standard error.
fn mean(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, Scalar::sqrt(variance / n))
}

fn main() -> Result<(), Failure> {
    let functions: usize = std::env::args()
        .nth(1)
        .map_or(Ok(24), |word| word.parse())?;
    println!(
        "regret summed over {EVALUATIONS} evaluations of {CANDIDATES} candidates, {functions} functions (standard error)"
    );
    for (dim, lengthscale) in [(1, 0.03), (2, 0.1), (2, 0.3)] {
        let world = World::new(dim, lengthscale)?;
        let mut stream = Stream::from_seed(77);
        let mut columns = vec![Vec::new(); 5];
        for _ in 0..functions {
            let values = world.draw(&mut stream);
            let other = world.draw(&mut stream);
            columns[0].push(regret(
                &values,
                &world.search(&values, Some((&values, 5.0)))?,
            ));
            columns[1].push(regret(&values, &world.search(&values, None)?));
            columns[2].push(regret(&values, &world.optimize(&values)?));
            columns[3].push(regret(
                &values,
                &world.search(&values, Some((&other, 0.5)))?,
            ));
            columns[4].push(regret(
                &values,
                &world.search(&values, Some((&other, 5.0)))?,
            ));
        }
        println!(
            "{dim}-D, lengthscale {lengthscale}, {} landmarks",
            world.pivots.len()
        );
        let names = [
            "exact file",
            "no file",
            "Optimizer::suggest_among",
            "file of another function, B .5",
            "the same, B 5",
        ];
        for (name, column) in names.iter().zip(&columns) {
            let (of, error) = mean(column);
            let differences: Vec<f64> =
                column.iter().zip(&columns[1]).map(|(a, b)| a - b).collect();
            let (difference, its_error) = mean(&differences);
            let share = of / mean(&columns[1]).0;
            println!(
                "  {name:32} {of:6.2} ({error:.2}), {share:.3} of no file, paired {difference:+.2} ({its_error:.2})"
            );
        }
    }
    Ok(())
}
