//! The workloads by what the registry offers: friedrich, egobox-gp, nalgebra.

use std::panic::{AssertUnwindSafe, catch_unwind};

use egobox_gp::correlation_models::SquaredExponentialCorr;
use egobox_gp::mean_models::ConstantMean;
use egobox_gp::{GaussianProcess as EgoboxGp, ThetaTuning};
use friedrich::gaussian_process::GaussianProcess as FriedrichGp;
use friedrich::kernel::Gaussian;
use friedrich::prior::ZeroPrior;
use linfa::Dataset;
use linfa::traits::Fit;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use ndarray::{Array1, Array2};

use crate::timer::median;
use crate::workload::{SplitMix, argmax, candidates, data, features, grid, objective};

type Friedrich = FriedrichGp<Gaussian, ZeroPrior>;
type Egobox = EgoboxGp<f64, ConstantMean, SquaredExponentialCorr>;

/// Points egobox is fitted on before it can be updated.
const FIRST: usize = 5;

fn rows(x: &[f64]) -> Vec<Vec<f64>> {
    x.chunks(2).map(<[f64]>::to_vec).collect()
}

fn friedrich(x: &[f64], y: &[f64]) -> Friedrich {
    FriedrichGp::new(
        ZeroPrior {},
        Gaussian::new(0.2, 1.0),
        0.1,
        None,
        rows(x),
        y.to_vec(),
    )
}

fn matrix(x: &[f64]) -> Array2<f64> {
    Array2::from_shape_vec((x.len() / 2, 2), x.to_vec()).unwrap()
}

fn egobox(x: &[f64], y: &[f64]) -> Egobox {
    let data = Dataset::new(matrix(x), Array1::from(y.to_vec()));
    EgoboxGp::<f64, ConstantMean, SquaredExponentialCorr>::params(
        ConstantMean::default(),
        SquaredExponentialCorr::default(),
    )
    .theta_tuning(ThetaTuning::Fixed(Array1::from(vec![1.4434, 1.4434])))
    .nugget(0.01)
    .fit(&data)
    .unwrap()
}

pub fn incremental_friedrich(n: usize, repetitions: usize) -> (f64, f64) {
    let (x, y) = data(n);
    median(repetitions, || {
        let mut gp = friedrich(&x[..2], &y[..1]);
        for (x, y) in x.chunks(2).zip(&y).skip(1) {
            gp.add_samples(&x.to_vec(), y);
        }
        let (mean, variance) = gp.predict_mean_variance(&vec![0.5, 0.5]);
        mean + variance
    })
}

pub fn incremental_egobox(n: usize, repetitions: usize) -> (f64, f64) {
    let (x, y) = data(n);
    median(repetitions, || {
        let mut gp = egobox(&x[..2 * FIRST], &y[..FIRST]);
        for (x, y) in x.chunks(2).zip(&y).skip(FIRST) {
            gp = gp.update(&matrix(x), &Array1::from(vec![*y])).unwrap();
        }
        let (mean, variance) = gp.predict_valvar(&matrix(&[0.5, 0.5])).unwrap();
        mean[0] + variance[0]
    })
}

/// A squared exponential of lengthscale 0.2 in two dimensions.
fn k(a: &[f64], b: &[f64]) -> f64 {
    let d = a[0] - b[0];
    let e = a[1] - b[1];
    (-(d * d + e * e) / 0.08).exp()
}

/// nalgebra's factor, grown by `insert_column`; solves for z at the end.
pub fn incremental_nalgebra(n: usize, repetitions: usize) -> (f64, f64) {
    let (x, y) = data(n);
    median(repetitions, || {
        let mut factor = Cholesky::new(DMatrix::from_element(1, 1, 1.01)).unwrap();
        for i in 1..n {
            let at = &x[2 * i..2 * i + 2];
            let column = DVector::from_fn(i + 1, |j, _| {
                if i == j {
                    1.01
                } else {
                    k(at, &x[2 * j..2 * j + 2])
                }
            });
            factor = factor.insert_column(i, column);
        }
        let alpha = factor.solve(&DVector::from_column_slice(&y));
        let column = DVector::from_fn(n, |j, _| k(&[0.5, 0.5], &x[2 * j..2 * j + 2]));
        column.dot(&alpha) + 1.0 - column.dot(&factor.solve(&column))
    })
}

pub fn predict_friedrich(n: usize, repetitions: usize) -> (f64, f64) {
    let (x, y) = data(n);
    let grid = rows(&grid());
    let gp = friedrich(&x, &y);
    median(repetitions, || {
        let (mean, variance) = gp.predict_mean_variance(&grid);
        mean.iter()
            .zip(&variance)
            .map(|(mean, variance)| mean + variance.sqrt())
            .sum()
    })
}

pub fn predict_egobox(n: usize, repetitions: usize) -> (f64, f64) {
    let (x, y) = data(n);
    let grid = matrix(&grid());
    let gp = egobox(&x, &y);
    median(repetitions, || {
        let (mean, variance) = gp.predict_valvar(&grid).unwrap();
        mean.iter()
            .zip(&variance)
            .map(|(mean, variance)| mean + variance.sqrt())
            .sum()
    })
}

pub fn optimise_friedrich(repetitions: usize) -> (f64, f64) {
    let (grid, points) = (grid(), rows(&grid()));
    median(repetitions, || {
        let mut noise = SplitMix::new(7);
        let mut check = 0.0;
        // All bounds are equal before the first observation: index 0.
        let mut gp = friedrich(&grid[..2], &[objective(&grid[..2]) + 0.1 * noise.normal()]);
        for _ in 1..50 {
            let (mean, variance) = gp.predict_mean_variance(&points);
            let best = argmax(&mean, |i| variance[i]);
            check += best as f64;
            gp.add_samples(
                &points[best],
                &(objective(&points[best]) + 0.1 * noise.normal()),
            );
        }
        check
    })
}

pub fn optimise_egobox(repetitions: usize) -> (f64, f64) {
    let (grid, points) = (grid(), matrix(&grid()));
    median(repetitions, || {
        let mut noise = SplitMix::new(7);
        let first: Vec<usize> = (0..FIRST).map(|i| i * 2211).collect();
        let x: Vec<f64> = first
            .iter()
            .flat_map(|i| grid[2 * i..2 * i + 2].to_vec())
            .collect();
        let y: Vec<f64> = x
            .chunks(2)
            .map(|x| objective(x) + 0.1 * noise.normal())
            .collect();
        let mut gp = egobox(&x, &y);
        let mut check = 0.0;
        for _ in FIRST..50 {
            let (mean, variance) = gp.predict_valvar(&points).unwrap();
            let best = argmax(mean.as_slice().unwrap(), |i| variance[i]);
            check += best as f64;
            let x = &grid[2 * best..2 * best + 2];
            gp = gp
                .update(
                    &matrix(x),
                    &Array1::from(vec![objective(x) + 0.1 * noise.normal()]),
                )
                .unwrap();
        }
        check
    })
}

/// `rank_one_update`, a solve for the mean, a back substitution for the draw.
pub fn weights_nalgebra(m: usize, repetitions: usize) -> (f64, f64) {
    let (rows, normals, y) = features(m);
    let rows: Vec<DVector<f64>> = rows.into_iter().map(DVector::from_vec).collect();
    let normals: Vec<DVector<f64>> = normals.into_iter().map(DVector::from_vec).collect();
    median(repetitions, || {
        let mut factor: Cholesky<f64, Dyn> =
            Cholesky::new(DMatrix::from_diagonal_element(m, m, 0.01)).unwrap();
        let mut rhs = DVector::zeros(m);
        let mut check = 0.0;
        for ((phi, z), y) in rows.iter().zip(&normals).zip(&y) {
            factor.rank_one_update(phi, 1.0);
            rhs.axpy(*y, phi, 1.0);
            let mut omega = z.clone();
            factor.l_dirty().tr_solve_lower_triangular_mut(&mut omega);
            omega *= 0.1;
            omega += factor.solve(&rhs);
            check = omega.sum();
        }
        check
    })
}

/// Milliseconds of one joint draw at 1,000 candidates, or `None` if the peer panics.
pub fn joint_friedrich(n: usize) -> Option<f64> {
    let (x, y) = data(n);
    let points = rows(&candidates());
    let gp = friedrich(&x, &y);
    catch_unwind(AssertUnwindSafe(|| median(1, || gp.sample_at(&points)).0)).ok()
}

pub fn joint_egobox(n: usize) -> Option<f64> {
    let (x, y) = data(n);
    let points = matrix(&candidates());
    let gp = egobox(&x, &y);
    catch_unwind(AssertUnwindSafe(|| {
        median(1, || gp.sample_chol(&points, 1)).0
    }))
    .ok()
}
