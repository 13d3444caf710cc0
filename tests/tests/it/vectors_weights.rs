//! Known answers for the posterior over weights and for Fourier features
//! (`tests/vectors/weight_space.json`).

use serde_json::Value;
use sordino_core::features::RandomFourier;
use sordino_core::kernel::{Linear, Table};
use sordino_core::linalg::{dot, lower, packed_len, root};
use sordino_core::random::{Stream, normal};
use sordino_core::surrogate::exact::{self, WhenRepeated};
use sordino_core::surrogate::weights::{self, Form, Regularization, WeightPosterior};
use sordino_core::surrogate::{ExactGp, finite};
use sordino_core::surrogate::{FiniteGp, SurrogateError};
use sordino_tests::{number, numbers, rows, vectors};

/// Each number to 1e-9 of itself; one below a thousandth of the largest, to 1e-9 of that.
fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: as many numbers");
    let largest = expected
        .iter()
        .fold(0.0f64, |largest, x| largest.max(x.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let tolerance = 1e-9 * expected.abs().max(1e-3 * largest);
        assert!(
            (found - expected).abs() <= tolerance,
            "{what}[{i}]: {found} instead of {expected}"
        );
    }
}

/// A case as it stands in the file.
struct Case {
    name: String,
    phi: Vec<Vec<f64>>,
    y: Vec<f64>,
    lambda: f64,
    sigma: Vec<Vec<f64>>,
    nu: Vec<f64>,
    covariance: Vec<Vec<f64>>,
    factor: Vec<Vec<f64>>,
    tests: Vec<Vec<f64>>,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl Case {
    fn read(index: usize, case: &Value) -> Self {
        Case {
            name: format!("case {index}"),
            phi: rows(&case["Phi"]),
            y: numbers(&case["y"]),
            lambda: number(&case["lam"]),
            sigma: rows(&case["Sigma"]),
            nu: numbers(&case["nu"]),
            covariance: rows(&case["posterior_cov"]),
            factor: rows(&case["chol_lower_of_posterior_cov"]),
            tests: rows(&case["Phi_s"]),
            mean: numbers(&case["mean"]),
            variance: numbers(&case["var"]),
        }
    }

    /// The posterior in this form, whatever the numbers of rows and features: rows of zeros are
    /// observations that say nothing, features that are always zero leave the law of the others
    /// alone.
    fn posterior(&self, form: Form) -> (usize, WeightPosterior<f64, Vec<f64>>) {
        let n = self.y.len();
        let m = self.nu.len();
        let (count, width) = match form {
            Form::Dual => (n, m.max(2 * n)),
            Form::Primal => (n.max(m / 2 + 1), m),
        };
        let storage = vec![0.0; weights::storage_len(width)];
        let lambda = Regularization::new(self.lambda).unwrap();
        let mut posterior = WeightPosterior::new(width, lambda, storage).unwrap();
        posterior.extend(count, |i, out| {
            out.fill(0.0);
            if let Some(row) = self.phi.get(i) {
                out[..m].copy_from_slice(row);
            }
            self.y.get(i).copied().unwrap_or(0.0)
        });
        assert_eq!(posterior.form(), form);
        (width, posterior)
    }
}

/// Moments at the weights themselves and at `Phi_s`, in one form.
fn moments(case: &Case, form: Form) {
    let (m, what) = (case.nu.len(), |part: &str| {
        format!("{}, {form:?}: {part}", case.name)
    });
    let (width, mut posterior) = case.posterior(form);
    let mut nu = vec![0.0; width];
    posterior.mean(&mut nu);
    assert!(nu[m..].iter().all(|weight| *weight == 0.0));
    close(&nu[..m], &case.nu, &what("nu"));

    // Cov(ωᵢ, ωⱼ) from variances of sums and differences.
    let mut along = |i: usize, j: usize, sign: f64| {
        let mut phi = vec![0.0; width];
        phi[i] += 1.0;
        phi[j] += sign;
        posterior.variance(&mut phi)
    };
    let covariance: Vec<f64> = (0..m * m)
        .map(|e| (along(e / m, e % m, 1.0) - along(e / m, e % m, -1.0)) / 4.0)
        .collect();
    close(
        &covariance,
        &case.covariance.concat(),
        &what("posterior_cov"),
    );
    let mut packed: Vec<f64> = (0..m)
        .flat_map(|i| covariance[i * m..i * m + i + 1].to_vec())
        .collect();
    lower::factor(&mut packed, m, 0.0).unwrap();
    close(
        &square(&packed, m),
        &case.factor.concat(),
        &what("chol_lower_of_posterior_cov"),
    );

    let padded: Vec<f64> = case
        .tests
        .iter()
        .flat_map(|row| [&row[..], &vec![0.0; width - m]].concat())
        .collect();
    let mut mean = vec![0.0; case.tests.len()];
    let mut variance = vec![0.0; case.tests.len()];
    posterior
        .posteriors(
            &padded,
            &mut mean,
            &mut variance,
            &mut vec![0.0; weights::batch_scratch_len(width)],
        )
        .unwrap();
    close(&mean, &case.mean, &what("mean"));
    close(&variance, &case.variance, &what("var"));
}

/// The rows of a packed lower triangle, filled up with zeros.
fn square(packed: &[f64], m: usize) -> Vec<f64> {
    (0..m)
        .flat_map(|i| [lower::row(packed, i), &vec![0.0; m - 1 - i]].concat())
        .collect()
}

/// A draw is an exact function of its normals: primal, R(ω − ν) = √λz with RᵀR = Σ; dual, Σ(ω −
/// ν) = λw − √λΦᵀz.
fn draws(case: &Case, form: Form) {
    let n = case.y.len();
    let m = case.nu.len();
    let (width, mut posterior) = case.posterior(form);
    for seed in 0..4 {
        let mut omega = vec![0.0; width];
        posterior.draw(&mut Stream::from_seed(seed), &mut omega);
        let mut stream = Stream::from_seed(seed);
        let mut w = vec![0.0; width];
        let mut z = vec![0.0; n];
        normal::fill(&mut stream, &mut w);
        normal::fill(&mut stream, &mut z);
        let expected: Vec<f64> = match form {
            Form::Primal => {
                // ω = ν + √λR⁻¹z, and R is the transposed Cholesky factor of Σ.
                let mut factor: Vec<f64> =
                    (0..m).flat_map(|i| case.sigma[i][..=i].to_vec()).collect();
                lower::factor(&mut factor, m, 0.0).unwrap();
                lower::solve_transposed(&factor, &mut w);
                w.iter()
                    .zip(&case.nu)
                    .map(|(w, nu)| nu + case.lambda.sqrt() * w)
                    .collect()
            }
            Form::Dual => {
                let mut right: Vec<f64> = w[..m].iter().map(|w| case.lambda * w).collect();
                for (row, z) in case.phi.iter().zip(&z) {
                    right
                        .iter_mut()
                        .zip(row)
                        .for_each(|(r, phi)| *r -= case.lambda.sqrt() * z * phi);
                }
                // Σ⁻¹ is the covariance over λ.
                let solved = case
                    .covariance
                    .iter()
                    .map(|row| dot(row, &right) / case.lambda);
                solved.zip(&case.nu).map(|(d, nu)| nu + d).collect()
            }
        };
        close(
            &omega[..m],
            &expected,
            &format!("{}, {form:?}: draw {seed}", case.name),
        );
    }
}

/// Σ, ν from the square-root form that a device carries.
fn information(case: &Case) {
    let m = case.nu.len();
    let mut packed = vec![0.0; packed_len(m)];
    let mut right = vec![0.0; m];
    root::reset(&mut packed, &mut right, case.lambda);
    for (row, y) in case.phi.iter().zip(&case.y) {
        root::rotate_in(&mut packed, &mut right, &mut row.clone(), *y);
    }
    let mut start = 0;
    let upper: Vec<Vec<f64>> = (0..m)
        .map(|i| {
            let row = [vec![0.0; i], packed[start..start + m - i].to_vec()].concat();
            start += m - i;
            row
        })
        .collect();
    let sigma: Vec<f64> = (0..m * m)
        .map(|e| upper.iter().map(|row| row[e / m] * row[e % m]).sum())
        .collect();
    close(
        &sigma,
        &case.sigma.concat(),
        &format!("{}: Sigma", case.name),
    );
    root::solve(&packed, &mut right);
    close(&right, &case.nu, &format!("{}: nu by the root", case.name));
}

/// The same moments by Gaussian-process regression: the linear kernel on the features as inputs,
/// and the matrix ΦΦᵀ of all rows as a table, both with noise variance λ.
fn regression(case: &Case) {
    let n = case.y.len();
    let m = case.nu.len();
    let storage = vec![0.0; exact::storage_len(m, n)];
    let kernel = Linear::new([1.0], 1.0).unwrap();
    let mut gp = ExactGp::new(kernel, case.lambda, m, n, storage)
        .unwrap()
        .when_repeated(WhenRepeated::Refuse);
    for (row, y) in case.phi.iter().zip(&case.y) {
        match gp.observe(row, *y) {
            Ok(_) => {}
            // λ is then below what rounding does to the kernel matrix.
            Err(SurrogateError::Singular(_)) => return assert!(case.lambda < 1e-12),
            Err(other) => panic!("{other}"),
        }
    }
    let found: Vec<_> = case
        .tests
        .iter()
        .map(|row| gp.posterior(row).unwrap())
        .collect();
    let what = |part: &str| format!("{}: {part} by regression", case.name);
    close(
        &found.iter().map(|p| p.mean).collect::<Vec<f64>>(),
        &case.mean,
        &what("mean"),
    );
    close(
        &found.iter().map(|p| p.variance).collect::<Vec<f64>>(),
        &case.variance,
        &what("var"),
    );

    let all: Vec<&Vec<f64>> = case.phi.iter().chain(&case.tests).collect();
    let gram: Vec<f64> = all
        .iter()
        .flat_map(|a| all.iter().map(|b| dot(a, b)))
        .collect();
    let indices: Vec<f64> = (0..all.len()).map(|i| i as f64).collect();
    let kernel = Table::new(all.len(), gram).unwrap();
    let mut gp = FiniteGp::new(
        &kernel,
        case.lambda,
        1,
        &indices,
        vec![0.0; finite::storage_len(all.len())],
    )
    .unwrap();
    for (i, y) in case.y.iter().enumerate() {
        gp.observe(i, *y).unwrap();
    }
    let mut variance = vec![0.0; all.len()];
    gp.variances(&mut variance);
    close(&gp.mean()[n..], &case.mean, &what("mean on a table"));
    close(&variance[n..], &case.variance, &what("var on a table"));
}

#[test]
fn vectors_weight_space() {
    let file = vectors("weight_space.json");
    let cases = file["cases"].as_array().expect("cases");
    assert!(!cases.is_empty());
    for (index, case) in cases.iter().enumerate() {
        let case = Case::read(index, case);
        information(&case);
        regression(&case);
        for form in [Form::Dual, Form::Primal] {
            moments(&case, form);
            draws(&case, form);
        }
    }
}

#[test]
fn vectors_weight_space_fourier_features() {
    let file = vectors("weight_space.json");
    let cases = file["fourier_features"]
        .as_array()
        .expect("fourier_features");
    assert!(!cases.is_empty());
    for (index, case) in cases.iter().enumerate() {
        let frequencies = rows(&case["s"]);
        let phases = numbers(&case["b"]);
        let variance = number(&case["variance"]);
        let m = phases.len();
        let dim = frequencies[0].len();
        let storage = [frequencies.concat(), phases].concat();
        for (field, unit_norm) in [("phi", false), ("phi_unit", true)] {
            let map = RandomFourier::new(dim, m, variance, unit_norm, &storage[..]).unwrap();
            let points = rows(&case["X"]);
            let expected = rows(&case[field]);
            assert_eq!(points.len(), expected.len());
            for (x, expected) in points.iter().zip(&expected) {
                let mut phi = vec![0.0; m];
                map.features(x, &mut phi);
                assert_eq!(phi.len(), expected.len());
                for (found, expected) in phi.iter().zip(expected) {
                    let wrong = (found - expected).abs() > 1e-13;
                    assert!(
                        !wrong,
                        "feature case {index}, {field}: {found} instead of {expected}"
                    );
                }
            }
        }
    }
}
