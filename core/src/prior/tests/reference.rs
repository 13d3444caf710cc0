//! The model against the note's equations in their most naive form: dense matrices, inverses by
//! elimination.

use super::*;
use crate::prior::evidence::{Moments, fit};

type Matrix = Vec<Vec<f64>>;

/// The inverse and ln |det|, by elimination with row exchanges.
fn inverse(matrix: &Matrix) -> (Matrix, f64) {
    let n = matrix.len();
    let mut rows: Matrix = matrix.clone();
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend((0..n).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    let mut ln_det = 0.0;
    for i in 0..n {
        let pivot = (i..n)
            .max_by(|a, b| rows[*a][i].abs().total_cmp(&rows[*b][i].abs()))
            .unwrap();
        rows.swap(i, pivot);
        let by = rows[i][i];
        ln_det += by.abs().ln();
        rows[i].iter_mut().for_each(|x| *x /= by);
        for j in (0..n).filter(|j| *j != i) {
            let factor = rows[j][i];
            let row = rows[i].clone();
            rows[j]
                .iter_mut()
                .zip(&row)
                .for_each(|(x, y)| *x -= factor * y);
        }
    }
    (
        rows.into_iter().map(|row| row[n..].to_vec()).collect(),
        ln_det,
    )
}

fn product(a: &[f64], matrix: &Matrix, b: &[f64]) -> f64 {
    a.iter()
        .zip(matrix)
        .map(|(x, row)| x * row.iter().zip(b).map(|(m, y)| m * y).sum::<f64>())
        .sum()
}

fn squared_exponential(a: &[f64], b: &[f64], lengthscales: &[f64]) -> f64 {
    let r2: f64 = a
        .iter()
        .zip(b)
        .zip(lengthscales)
        .map(|((x, y), l)| ((x - y) / l).powi(2))
        .sum();
    (-0.5 * r2).exp()
}

/// m and φᵀΣφ' of the file: φ = L⁻¹k with the textbook factor.
struct Naive {
    file: File,
    inverse_factor: Matrix,
}

impl Naive {
    fn new(file: &File) -> Naive {
        let count = file.weights.len();
        let mut l: Matrix = vec![vec![0.0; count]; count];
        for i in 0..count {
            for j in 0..=i {
                let at = |i: usize| &file.landmarks[i * file.dim..][..file.dim];
                let k = squared_exponential(at(i), at(j), &vec![file.lengthscale; file.dim]);
                let rest = k - (0..j).map(|c| l[i][c] * l[j][c]).sum::<f64>();
                l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
            }
        }
        Naive {
            file: file.clone(),
            inverse_factor: inverse(&l).0,
        }
    }

    fn features(&self, x: &[f64]) -> Vec<f64> {
        let lengthscales = vec![self.file.lengthscale; self.file.dim];
        let column: Vec<f64> = self
            .file
            .landmarks
            .chunks(self.file.dim)
            .map(|p| squared_exponential(p, x, &lengthscales))
            .collect();
        self.inverse_factor
            .iter()
            .map(|row| row.iter().zip(&column).map(|(a, b)| a * b).sum())
            .collect()
    }

    fn mean(&self, x: &[f64]) -> f64 {
        self.features(x)
            .iter()
            .zip(&self.file.weights)
            .map(|(a, b)| a * b)
            .sum()
    }

    fn covariance(&self, x: &[f64], y: &[f64]) -> f64 {
        let count = self.file.weights.len();
        let entry = |i: usize, j: usize| self.file.covariance[packed_len(i.max(j)) + i.min(j)];
        let sigma: Matrix = (0..count)
            .map(|i| (0..count).map(|j| entry(i, j)).collect())
            .collect();
        product(&self.features(x), &sigma, &self.features(y))
    }
}

/// The note's list, typed again: lengthscales, τ, ρ and ln prior.
fn listed(dim: usize, self_test: Option<f64>) -> Vec<(Vec<f64>, f64, f64, f64)> {
    let root = (dim as f64).sqrt();
    let mut kernels: Vec<Vec<f64>> = [0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0]
        .map(|l| vec![l * root; dim])
        .to_vec();
    kernels.retain(|l| dim == 1 || l[0] > 0.08);
    if (2..=4).contains(&dim) {
        for (a, b) in [(0.15, 0.6), (0.3, 1.2)] {
            for pattern in 1..(1 << dim) - 1 {
                kernels.push(
                    (0..dim)
                        .map(|axis| root * if pattern >> axis & 1 == 1 { b } else { a })
                        .collect(),
                );
            }
        }
    }
    let mut all = Vec::new();
    for lengthscales in kernels {
        let term =
            |l: &f64| ((l.ln() - 2f64.sqrt() - 0.5 * (dim as f64).ln()) / 3f64.sqrt()).powi(2);
        let ln_prior = -0.5 * lengthscales.iter().map(term).sum::<f64>() / dim as f64;
        let Some(b) = self_test else {
            all.push((lengthscales, 0.0, 1.0, ln_prior));
            continue;
        };
        let odds = 19.0 * b.min(0.0).exp();
        let p = if b >= 1.0 { 0.95 } else { odds / (1.0 + odds) };
        all.push((lengthscales.clone(), 0.0, 1.0, ln_prior + (1.0 - p).ln()));
        for own in [0.1, 1.0] {
            all.push((lengthscales.clone(), 1.0, own, ln_prior + (p / 2.0).ln()));
        }
    }
    all
}

/// Scale A, log weight, and mean and variance at every candidate in the user's unit.
fn naive(
    file: Option<&Naive>,
    candidates: &[Vec<f64>],
    log: &[(usize, f64)],
    (lengthscales, trust, own, ln_prior): &(Vec<f64>, f64, f64, f64),
) -> (f64, f64, Vec<(f64, f64)>) {
    let q = |x: &[f64], y: &[f64]| {
        own * squared_exponential(x, y, lengthscales)
            + trust * file.map_or(0.0, |file| file.covariance(x, y))
    };
    let m = |x: &[f64]| trust * file.map_or(0.0, |file| file.mean(x));
    let asked: Vec<&[f64]> = log
        .iter()
        .map(|(candidate, _)| &candidates[*candidate][..])
        .collect();
    let n = asked.len();
    let noise = |i: usize, j: usize| if i == j { 1e-3 } else { 0.0 };
    let k: Matrix = (0..n)
        .map(|i| {
            (0..n)
                .map(|j| q(asked[i], asked[j]) + noise(i, j))
                .collect()
        })
        .collect();
    let (k_inverse, ln_det) = inverse(&k);
    let ones = vec![1.0; n];
    let y: Vec<f64> = log.iter().map(|(_, value)| value - log[0].1).collect();
    let means: Vec<f64> = asked.iter().map(|x| m(x)).collect();
    let s = product(&ones, &k_inverse, &ones);
    let pair = |a: &[f64], b: &[f64]| {
        product(a, &k_inverse, b)
            - product(a, &k_inverse, &ones) * product(b, &k_inverse, &ones) / s
    };
    let yy = pair(&y, &y);
    let xx = pair(&y, &means);
    let zz = pair(&means, &means);
    let f = (n - 1) as f64;
    let u = if n == 1 || yy < 1e-10 {
        1.0
    } else {
        (xx + (xx * xx + 4.0 * f * yy).sqrt()) / (2.0 * yy)
    };
    let mut log_weight = *ln_prior;
    if n > 1 {
        log_weight +=
            f * u.ln() - 0.5 * (u * u * yy - 2.0 * u * xx + zz) - 0.5 * ln_det - 0.5 * s.ln();
        log_weight -= 0.5 * (2.0 * f + u * xx).ln();
    }
    let scale = 1.0 / u;
    let residual: Vec<f64> = y.iter().zip(&means).map(|(y, m)| y - scale * m).collect();
    let level = product(&ones, &k_inverse, &residual) / s;
    let residual: Vec<f64> = residual.iter().map(|r| r - level).collect();
    let moments = candidates.iter().map(|x| {
        let column: Vec<f64> = asked.iter().map(|other| q(x, other)).collect();
        let mean = log[0].1 + level + scale * m(x) + product(&column, &k_inverse, &residual);
        let rest = 1.0 - product(&column, &k_inverse, &ones);
        let variance = q(x, x) - product(&column, &k_inverse, &column) + rest * rest / s;
        (mean, scale * scale * variance)
    });
    (scale, log_weight, moments.collect())
}

/// A file of four landmarks with a covariance that is not diagonal.
fn four(dim: usize, self_test: f64) -> File {
    let landmarks = points(4, dim);
    let root = [
        [0.5, 0.0, 0.0, 0.0],
        [0.2, 0.4, 0.0, 0.0],
        [-0.3, 0.1, 0.6, 0.0],
        [0.1, -0.2, 0.2, 0.3],
    ];
    let entry = |i: usize, j: usize| (0..4).map(|c| root[i][c] * root[j][c]).sum::<f64>();
    let covariance = (0..4)
        .flat_map(|i| (0..=i).map(move |j| entry(i, j)))
        .collect();
    File {
        dim,
        landmarks,
        lengthscale: 0.3,
        weights: vec![1.2, -0.7, 0.4, 0.9],
        covariance,
        self_test,
    }
}

/// The largest relative difference between the model and its naive form, over hypotheses and
/// candidates.
fn worst(dim: usize, self_test: Option<f64>, log: &[(usize, f64)]) -> f64 {
    let flat = points(9, dim);
    let file = four(dim, self_test.unwrap_or(0.0));
    let candidates: Vec<Vec<f64>> = flat.chunks(dim).map(<[f64]>::to_vec).collect();
    let mut storage = file.storage();
    let attached = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
    let prior = self_test.map(|_| &attached);
    let naive_file = prior.map(|_| Naive::new(&file));
    let mut search = search(&flat, dim, prior, (6, 9));
    log.iter()
        .for_each(|(candidate, value)| search.observe(*candidate, *value).unwrap());
    let list = listed(dim, self_test);
    assert_eq!(search.hypotheses.count(), list.len());
    // First: it works in the block that is filled below.
    let mut predicted = [0.0; 9];
    search.predict(0, &mut predicted).unwrap();
    let (rows, mut parts, mut block, file) = search.parts();
    for (place, point) in candidates.iter().enumerate() {
        block.means[place] = 0.0;
        block.variances[place] = 0.0;
        file.load(place, point, rows.len(), &mut parts, &mut block, place);
    }
    let mut worst = 0.0f64;
    let mut compare = |found: f64, expected: f64| {
        worst = worst.max((found - expected).abs() / (1.0 + expected.abs()))
    };
    let mut weights = [0.0; 2];
    let mut kept = None;
    // Of the hypothesis of largest weight, of which there may be several.
    let mut likeliest: Vec<(f64, f64)> = Vec::new();
    for (index, hypothesis) in list.iter().enumerate() {
        let (scale, log_weight, moments) = naive(naive_file.as_ref(), &candidates, log, hypothesis);
        weights[usize::from(hypothesis.1 > 0.0)] += log_weight.exp();
        let means = moments.iter().zip(predicted);
        let away = means.map(|((mean, _), found)| (found - mean).abs() / (1.0 + mean.abs()));
        likeliest.push((log_weight, away.fold(0.0, f64::max)));
        let own = search.hypotheses.get(index);
        let (rows, mut parts, block, _) = search.parts();
        let fitted = fit(&rows, &own, &mut kept, &mut parts);
        let range = if rows.unit.range > 0.0 {
            rows.unit.range
        } else {
            1.0
        };
        compare(fitted.scale * range, scale);
        compare(
            fitted.log_weight - (log.len() - 1) as f64 * range.ln(),
            log_weight,
        );
        let visited = fitted.best_visited(&rows, &mut parts).1;
        let expected = log
            .iter()
            .map(|(candidate, _)| moments[*candidate].0)
            .fold(f64::NEG_INFINITY, f64::max);
        compare(log[0].1 + range * visited, expected);
        for (place, (mean, variance)) in moments.into_iter().enumerate() {
            let file = Moments {
                mean: block.means[place],
                variance: block.variances[place],
            };
            let found = fitted.moments(
                &own,
                &rows,
                &candidates[place],
                &block.shared[place * 6..][..log.len()],
                file,
                &mut parts,
            );
            compare(log[0].1 + range * found.mean, mean);
            compare(range * range * found.variance, variance);
        }
    }
    let largest = likeliest.iter().map(|(weight, _)| *weight);
    let largest = largest.fold(f64::NEG_INFINITY, f64::max);
    let away = likeliest
        .iter()
        .filter(|(weight, _)| *weight > largest - 1e-9);
    compare(
        away.map(|(_, away)| *away).fold(f64::INFINITY, f64::min),
        0.0,
    );
    let read = self_test.is_some_and(|b| b >= -1.0);
    compare(
        search.trust(),
        if read {
            weights[1] / (weights[0] + weights[1])
        } else {
            0.0
        },
    );
    worst
}

const LOG: [(usize, f64); 6] = [(0, 3.1), (4, 1.9), (7, 2.6), (2, 4.4), (8, 2.9), (5, 3.3)];

#[test]
fn moments_scale_and_weights_are_those_of_the_equations() {
    for dim in [1, 2] {
        for self_test in [None, Some(4.0), Some(0.5), Some(-0.7)] {
            for n in 1..=6 {
                let found = worst(dim, self_test, &LOG[..n]);
                assert!(found < 1e-9, "{dim} {self_test:?} {n}: {found:e}");
            }
        }
        // A repetition, and values that are all equal.
        assert!(worst(dim, Some(4.0), &[(0, 3.1), (4, 1.9), (0, 3.3), (0, 2.8)]) < 1e-9);
        assert!(worst(dim, Some(4.0), &[(0, 7.0), (4, 7.0), (6, 7.0)]) < 1e-9);
    }
}

#[test]
fn before_the_first_value_the_file_is_what_is_expected() {
    let candidates = points(9, 2);
    let file = four(2, 4.0);
    let naive = Naive::new(&file);
    let mut storage = file.storage();
    let attached = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
    let mut means = [0.0; 6];
    search(&candidates, 2, Some(&attached), (6, 9))
        .predict(3, &mut means)
        .unwrap();
    for (mean, point) in means.iter().zip(candidates.chunks(2).skip(3)) {
        assert!((mean - naive.mean(point)).abs() < 1e-9, "{mean}");
    }
    assert!(means.iter().any(|mean| mean.abs() > 0.1));
}

#[test]
fn kernels_are_those_of_the_list_at_every_dimension() {
    for dim in 1..=16 {
        for self_test in [None, Some(2.0), Some(-0.3)] {
            let own = hypothesis::Hypotheses::<f64>::new(dim, self_test);
            let list = listed(dim, self_test);
            assert_eq!(own.count(), list.len(), "{dim}");
            for (index, (lengthscales, trust, rho, ln_prior)) in list.iter().enumerate() {
                let found = own.get(index);
                assert_eq!((found.trusts, found.own), (*trust == 1.0, *rho));
                assert!((found.ln_prior - ln_prior).abs() < 1e-12, "{dim} {index}");
                for (axis, lengthscale) in lengthscales.iter().enumerate() {
                    assert!(
                        (found.kernel.scales[axis] * lengthscale * lengthscale + 0.5).abs() < 1e-12
                    );
                }
            }
        }
    }
}

/// The standard normal density and distribution; the latter by Simpson's rule.
fn expected_improvement(mean: f64, variance: f64, incumbent: f64) -> f64 {
    let std = variance.sqrt();
    let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
    // ∫ max(mean + std·t − incumbent, 0) φ(t) dt over ±10.
    let from = ((incumbent - mean) / std).clamp(-10.0, 10.0);
    let steps = 4000;
    let width = (10.0 - from) / f64::from(steps);
    let of = |t: f64| (mean + std * t - incumbent).max(0.0) * density(t);
    (0..steps)
        .map(|i| from + f64::from(i) * width)
        .map(|t| width / 6.0 * (of(t) + 4.0 * of(t + width / 2.0) + of(t + width)))
        .sum()
}

#[test]
fn questions_are_the_largest_improvement_of_the_equations() {
    let mut differing = 0;
    for (dim, self_test) in [
        (1, None),
        (2, None),
        (1, Some(0.5)),
        (2, Some(-0.7)),
        (1, Some(4.0)),
        (2, Some(4.0)),
    ] {
        let flat = points(9, dim);
        let file = four(dim, self_test.unwrap_or(0.0));
        let candidates: Vec<Vec<f64>> = flat.chunks(dim).map(<[f64]>::to_vec).collect();
        let mut storage = file.storage();
        let attached = PublicPrior::attach(file.numbers(), &mut storage).unwrap();
        let prior = self_test.map(|_| &attached);
        let naive_file = prior.map(|_| Naive::new(&file));
        for n in 3..=6 {
            let log = &LOG[..n];
            let mut search = search(&flat, dim, prior, (6, 2));
            log.iter()
                .for_each(|(candidate, value)| search.observe(*candidate, *value).unwrap());
            let fits: Vec<_> = listed(dim, self_test)
                .iter()
                .map(|h| naive(naive_file.as_ref(), &candidates, log, h))
                .collect();
            let largest = fits
                .iter()
                .map(|fit| fit.1)
                .fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = fits.iter().map(|fit| (fit.1 - largest).exp()).sum();
            let mut gains = [0.0; 9];
            for (_, log_weight, moments) in &fits {
                let weight = (log_weight - largest).exp() / total;
                let counts = if self_test == Some(4.0) {
                    *log_weight == largest
                } else {
                    weight >= 0.002
                };
                let visited = log
                    .iter()
                    .map(|(candidate, _)| moments[*candidate].0)
                    .fold(f64::NEG_INFINITY, f64::max);
                for ((mean, variance), gain) in moments.iter().zip(&mut gains).filter(|_| counts) {
                    *gain += weight * expected_improvement(*mean, *variance, visited);
                }
            }
            let fresh = (0..9).filter(|candidate| log.iter().all(|(asked, _)| asked != candidate));
            let expected = fresh
                .max_by(|a, b| gains[*a].total_cmp(&gains[*b]))
                .unwrap();
            assert_eq!(
                search.suggest(),
                expected,
                "{dim} {self_test:?} {n}: {gains:?}"
            );
            differing += usize::from(
                expected
                    != (0..9)
                        .find(|c| log.iter().all(|(asked, _)| asked != c))
                        .unwrap(),
            );
        }
    }
    assert!(differing > 5, "the lowest index would do");
}
