//! Known answers for kernels and posteriors (`tests/vectors/gp_posterior.json`, computed with 60 decimal digits).

use serde_json::Value;
use sordino_core::kernel::{Kernel, Stationary, StationaryKernel};
use sordino_core::linalg::{dot, lower};
use sordino_core::math::Scalar;
use sordino_core::surrogate::exact::{self, WhenRepeated};
use sordino_core::surrogate::{ExactGp, SurrogateError};
use sordino_tests::{numbers, rows, vectors};

fn kernel<T: Scalar>(case: &Value) -> StationaryKernel<T> {
    let shape = match case["kernel"].as_str().unwrap() {
        "se" => Stationary::SquaredExponential,
        "matern12" => Stationary::Matern12,
        "matern32" => Stationary::Matern32,
        "matern52" => Stationary::Matern52,
        other => panic!("unknown kernel {other}"),
    };
    let number = |key: &str| T::from_f64(case[key].as_f64().unwrap());
    StationaryKernel::with_shape(shape, number("lengthscale"), number("variance")).unwrap()
}

/// Largest absolute errors of mean and covariance, and the relative one of the likelihood; `None` if the matrix is
/// singular at the working precision and the model said so.
fn errors<T: Scalar>(case: &Value) -> Option<(f64, f64, f64)> {
    let number = |key: &str| T::from_f64(case[key].as_f64().unwrap());
    let list = |row: &Vec<f64>| row.iter().map(|x| T::from_f64(*x)).collect::<Vec<T>>();
    let (x, y) = (rows(&case["X"]), numbers(&case["y"]));
    let tests: Vec<Vec<T>> = rows(&case["Xs"]).iter().map(list).collect();
    let (n, dim, kernel) = (y.len(), tests[0].len(), kernel::<T>(case));
    let storage = vec![T::ZERO; exact::storage_len(dim, n)];
    let mut gp =
        ExactGp::new(kernel, number("noise_variance"), dim, n, storage).unwrap().when_repeated(WhenRepeated::Refuse);
    for (x, y) in x.iter().zip(&y) {
        match gp.observe(&list(x), T::from_f64(*y)) {
            Ok(_) => {}
            Err(SurrogateError::Singular(_)) => return None,
            Err(other) => panic!("{other}"),
        }
    }
    let (mean, var, cov) = (numbers(&case["mean"]), numbers(&case["var"]), rows(&case["cov"]));
    let columns: Vec<Vec<T>> = tests
        .iter()
        .map(|test| {
            let mut v = vec![T::ZERO; n];
            kernel.covariances(test, gp.inputs(), &mut v);
            lower::solve(gp.factor(), &mut v);
            v
        })
        .collect();
    let (mut mean_error, mut cov_error) = (0.0f64, 0.0f64);
    for (i, test) in tests.iter().enumerate() {
        let found = gp.posterior(test).unwrap();
        mean_error = mean_error.max((found.mean.to_f64() - mean[i]).abs());
        cov_error = cov_error.max((found.variance.to_f64() - var[i]).abs());
        for (j, other) in tests.iter().enumerate() {
            let c = kernel.covariance(test, other) - dot(&columns[i], &columns[j]);
            cov_error = cov_error.max((c.to_f64() - cov[i][j]).abs());
        }
    }
    let likelihood = case["log_marginal_likelihood"].as_f64().unwrap();
    let error = (gp.log_marginal_likelihood().to_f64() - likelihood).abs();
    Some((mean_error, cov_error, if error == 0.0 { 0.0 } else { error / likelihood.abs() }))
}

#[test]
fn vectors_gp_posterior() {
    let file = vectors("gp_posterior.json");
    for case in file["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let tolerance = if name.contains("near_duplicates") { 1e-9 } else { 1e-10 };
        let (mean, cov, likelihood) = errors::<f64>(case).unwrap();
        assert!(mean < tolerance && cov < tolerance && likelihood < 1e-8, "{name}: {mean:e} {cov:e} {likelihood:e}");
    }
}

/// Single precision: errors grow with the condition of K + σ²I, at most n·(prior variance)/(noise variance).
#[test]
fn vectors_gp_posterior_in_single_precision() {
    let file = vectors("gp_posterior.json");
    for case in file["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let (n, number) = (case["y"].as_array().unwrap().len(), |key: &str| case[key].as_f64().unwrap());
        let condition = 1.0 + n as f64 * number("variance") / number("noise_variance");
        let bound = f64::from(f32::EPSILON) * condition;
        let Some((mean, cov, likelihood)) = errors::<f32>(case) else {
            let rounding = 2.0 * (n as f64 + 8.0) * f64::from(f32::EPSILON) * number("variance");
            assert!(number("noise_variance") < rounding, "{name}: refused without need");
            continue;
        };
        assert!(mean < bound && cov < bound && likelihood < bound, "{name}: {mean:e} {cov:e} {likelihood:e} {bound:e}");
    }
}
