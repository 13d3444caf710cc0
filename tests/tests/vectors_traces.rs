//! Whole runs of the other papers' modelers and learners with explicit noise (`tests/vectors/traces.json`), as loops that
//! read like the algorithms. What only the loops need (the weight posterior over a changing dictionary) is spelled out.

use serde_json::Value;
use sordino_core::acquisition::upper_confidence_bound;
use sordino_core::features::{Nystrom, nystrom};
use sordino_core::kernel::{Kernel, Stationary, StationaryKernel};
use sordino_core::linalg::{dot, lower, packed_len};
use sordino_core::schedule::confidence::{self, LocalNoise};
use sordino_core::surrogate::information_gain::RunGain;
use sordino_core::surrogate::{CandidateGp, ExactGp, FiniteGp, candidates, exact, finite};
use sordino_tests::{numbers, rows, vectors};

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("{key} in {case}"))
}

fn indices(value: &Value) -> Vec<usize> {
    numbers(value).iter().map(|x| *x as usize).collect()
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{what}: {found} instead of {expected}");
    }
}

fn cases(of: &str) -> Vec<Value> {
    let file = vectors("traces.json");
    let found: Vec<Value> = file["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["algorithm"].as_str().unwrap().starts_with(of))
        .cloned()
        .collect();
    assert!(!found.is_empty(), "no trace of {of}");
    found
}

/// PO-GP-UCB, the modeler's loop, with an engine that offers `observe` and the moments of all candidates.
fn modeler(
    case: &Value,
    mut observe: impl FnMut(usize, f64) -> (Vec<f64>, Vec<f64>),
) -> (Vec<usize>, Vec<f64>, Vec<f64>) {
    let f = numbers(&case["f"]);
    let (mut mean, mut variance) = (Vec::new(), Vec::new());
    for i in indices(&case["init_indices"]) {
        (mean, variance) = observe(i, f[i]);
    }
    let mut queries = Vec::new();
    for t in 1..=case["queries"].as_array().unwrap().len() {
        let width = confidence::finite_width(f.len() as u64, t as u64, number(case, "delta_prime"));
        let x = upper_confidence_bound::maximize(&mean, &variance, width).candidate as usize;
        queries.push(x);
        (mean, variance) = observe(x, f[x]);
    }
    (queries, mean, variance)
}

#[test]
fn vectors_traces_modeler_with_three_engines() {
    for case in cases("po_gp_ucb") {
        let points = rows(&case["Z"]);
        let (n, dim, z) = (points.len(), points[0].len(), points.concat());
        let shape = Stationary::SquaredExponential;
        let kernel =
            StationaryKernel::with_shape(shape, number(&case, "lengthscale"), number(&case, "variance")).unwrap();
        let noise = number(&case, "noise_variance");
        let steps = case["queries"].as_array().unwrap().len() + case["init_indices"].as_array().unwrap().len();
        let mut list =
            CandidateGp::new(kernel, noise, dim, &z[..], steps, vec![0.0; candidates::storage_len(n, steps)]).unwrap();
        let mut full = FiniteGp::new(&kernel, noise, dim, &z, vec![0.0; finite::storage_len(n)]).unwrap();
        let mut rows = ExactGp::new(kernel, noise, dim, steps, vec![0.0; exact::storage_len(dim, steps)]).unwrap();
        let runs = [
            modeler(&case, |i, y| {
                list.observe(i, y).unwrap();
                (list.mean().to_vec(), list.variance().to_vec())
            }),
            modeler(&case, |i, y| {
                full.observe(i, y).unwrap();
                let mut variance = vec![0.0; n];
                full.variances(&mut variance);
                (full.mean().to_vec(), variance)
            }),
            modeler(&case, |i, y| {
                rows.observe(&z[i * dim..(i + 1) * dim], y).unwrap();
                let (mut mean, mut variance) = (vec![0.0; n], vec![0.0; n]);
                let mut scratch = vec![0.0; exact::batch_scratch_len(rows.len())];
                rows.posteriors(&z, &mut mean, &mut variance, &mut scratch).unwrap();
                (mean, variance)
            }),
        ];
        for (queries, mean, variance) in runs {
            assert_eq!(queries, indices(&case["queries"]));
            close(&mean, &numbers(&case["final_mu"]), "final_mu");
            close(&variance, &numbers(&case["final_var"]), "final_var");
        }
    }
}

/// The factor by which the traces shrink every confidence width.
const SHRUNK: f64 = 0.02;

fn local_noise(case: &Value) -> LocalNoise {
    LocalNoise { norm_bound: number(case, "B"), noise_bound: number(case, "R"), epsilon: number(case, "privacy_eps") }
}

fn local_kernel(case: &Value) -> StationaryKernel<f64> {
    assert_eq!(case["kernel"], "se");
    StationaryKernel::with_shape(Stationary::SquaredExponential, number(case, "lengthscale"), 1.0).unwrap()
}

#[test]
fn vectors_traces_tgp() {
    for case in cases("ldp_tgp") {
        let (x, f, noise) = (rows(&case["X"]).concat(), numbers(&case["f"]), numbers(&case["total_noise_by_round"]));
        let (local, lambda, delta) = (local_noise(&case), number(&case, "lam"), number(&case, "delta"));
        let storage = vec![0.0; finite::storage_len(x.len())];
        let mut gp = FiniteGp::new(&local_kernel(&case), lambda, 1, &x, storage).unwrap();
        let mut gain = RunGain::new(lambda).unwrap();
        let (mut queries, mut truncated, mut variance) = (Vec::new(), Vec::new(), vec![0.0; x.len()]);
        for t in 1..=noise.len() as u64 {
            gp.variances(&mut variance);
            let width = SHRUNK * confidence::tgp_width(&local, t, gain.value(), lambda, delta);
            let query = if t == 1 {
                1
            } else {
                upper_confidence_bound::maximize(gp.mean(), &variance, width).candidate as usize
            };
            let reward = f[query] + noise[t as usize - 1];
            let far = reward.abs() > confidence::tgp_threshold(&local, t);
            gain.play(variance[query]);
            gp.observe(query, if far { 0.0 } else { reward }).unwrap();
            queries.push(query);
            truncated.push(far);
        }
        assert_eq!(queries, indices(&case["queries"]));
        let expected: Vec<bool> = case["truncated"].as_array().unwrap().iter().map(|t| t.as_bool().unwrap()).collect();
        assert_eq!(truncated, expected);
        gp.variances(&mut variance);
        close(&[gain.value()], &[number(&case, "information_gain")], "information_gain");
        close(gp.mean(), &numbers(&case["final_mu"]), "final_mu");
        close(&variance, &numbers(&case["final_var"]), "final_var");
    }
}

/// A dictionary's features of all points, and V = Σ φφᵀ + λI over the plays, factored.
struct Dictionary {
    phi: Vec<Vec<f64>>,
    factor: Vec<f64>,
    rank: usize,
}

impl Dictionary {
    fn new(kernel: StationaryKernel<f64>, x: &[f64], points: &[usize], plays: &[usize], lambda: f64) -> Self {
        let m = points.len();
        let dictionary: Vec<f64> = points.iter().map(|i| x[*i]).collect();
        let (root, mut scratch) = (vec![0.0; nystrom::storage_len(m)], vec![0.0; nystrom::scratch_len(m)]);
        let map = Nystrom::new(kernel, 1, &dictionary[..], root, &mut scratch).unwrap();
        let phi: Vec<Vec<f64>> = x
            .iter()
            .map(|x| {
                let mut phi = vec![0.0; m];
                map.features(&[*x], &mut phi, &mut scratch);
                phi
            })
            .collect();
        let mut factor = vec![0.0; packed_len(m)];
        for i in 0..m {
            for (j, out) in lower::row_mut(&mut factor, i).iter_mut().enumerate() {
                *out = plays.iter().map(|p| phi[*p][i] * phi[*p][j]).sum::<f64>() + if i == j { lambda } else { 0.0 };
            }
        }
        lower::factor(&mut factor, m, 0.0).unwrap();
        Dictionary { phi, factor, rank: map.rank() }
    }

    /// V⁻¹ Σ yφ over the plays.
    fn weights(&self, plays: &[usize], y: &[f64]) -> Vec<f64> {
        let mut theta = vec![0.0; self.phi[0].len()];
        for (p, y) in plays.iter().zip(y) {
            theta.iter_mut().zip(&self.phi[*p]).for_each(|(t, phi)| *t += phi * y);
        }
        lower::solve(&self.factor, &mut theta);
        lower::solve_transposed(&self.factor, &mut theta);
        theta
    }

    /// σ̃² = k(x, x) − φ·φ + λφᵀV⁻¹φ.
    fn variance(&self, x: usize, lambda: f64) -> f64 {
        let mut phi = self.phi[x].clone();
        let missing = 1.0 - dot(&phi, &phi);
        lower::solve(&self.factor, &mut phi);
        missing + lambda * dot(&phi, &phi)
    }

    /// ‖θ − θ'‖ in the V norm: ‖Lᵀ(θ − θ')‖.
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut sum = 0.0;
        for column in 0..a.len() {
            let along: f64 =
                (column..a.len()).map(|row| lower::row(&self.factor, row)[column] * (a[row] - b[row])).sum();
            sum += along * along;
        }
        sum.sqrt()
    }
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    let half = list.len() / 2;
    if list.len() % 2 == 1 { list[half] } else { 0.5 * (list[half - 1] + list[half]) }
}

/// The estimate whose median distance to the others is smallest; ties to the lowest index.
fn median_of_means(dictionary: &Dictionary, estimates: &[Vec<f64>]) -> usize {
    let spread: Vec<f64> = (0..estimates.len())
        .map(|j| {
            let others = (0..estimates.len()).filter(|s| *s != j);
            median(others.map(|s| dictionary.distance(&estimates[j], &estimates[s])).collect())
        })
        .collect();
    (0..spread.len()).fold(0, |best, j| if spread[j] < spread[best] { j } else { best })
}

#[test]
fn vectors_traces_moma() {
    for case in cases("ldp_moma") {
        let (x, f, noise) = (rows(&case["X"]).concat(), numbers(&case["f"]), rows(&case["total_noise"]));
        let (local, lambda, accuracy) = (local_noise(&case), number(&case, "lam"), number(&case, "nystrom_accuracy"));
        let (kernel, k) = (local_kernel(&case), case["k"].as_u64().unwrap() as usize);
        let (mut plays, mut y) = (vec![1], Vec::new());
        let (mut chosen, mut mean, mut variance) = (Vec::new(), Vec::new(), Vec::new());
        for epoch in 1..=case["epochs"].as_u64().unwrap() as usize {
            let query = plays[epoch - 1];
            y.push((0..k).map(|j| f[query] + noise[epoch - 1][j]).collect::<Vec<f64>>());
            let mut points = plays.clone();
            points.sort_unstable();
            points.dedup();
            let dictionary = Dictionary::new(kernel, &x, &points, &plays, lambda);
            let estimates: Vec<Vec<f64>> =
                (0..k).map(|j| dictionary.weights(&plays, &y.iter().map(|row| row[j]).collect::<Vec<f64>>())).collect();
            let star = median_of_means(&dictionary, &estimates);
            chosen.push(star);
            mean = dictionary.phi.iter().map(|phi| dot(phi, &estimates[star])).collect();
            variance = (0..x.len()).map(|i| dictionary.variance(i, lambda)).collect();
            let width = SHRUNK
                * confidence::moma_width(
                    local.norm_bound,
                    local.central_moment(),
                    1.0,
                    dictionary.rank as u64,
                    epoch as u64,
                    accuracy,
                    lambda,
                );
            plays.push(upper_confidence_bound::maximize(&mean, &variance, width).candidate as usize);
        }
        plays.pop();
        assert_eq!(plays, indices(&case["queries"]));
        assert_eq!(chosen, indices(&case["k_star"]));
        close(&mean, &numbers(&case["final_mu"]), "final_mu");
        close(&variance, &numbers(&case["final_sigma_sq"]), "final_sigma_sq");
    }
}

/// Nyström features and the dictionary posterior against `ldp_estimators.json`; features are compared by their Gram
/// matrix, which no rotation changes, and where the vectors have them by the symmetric root itself.
#[test]
fn vectors_nystrom_features() {
    let file = vectors("ldp_estimators.json");
    let shape = |case: &Value| match case["kernel"].as_str().unwrap() {
        "se" => Stationary::SquaredExponential,
        "matern12" => Stationary::Matern12,
        "matern32" => Stationary::Matern32,
        _ => Stationary::Matern52,
    };
    let gram = |dictionary: &Dictionary| -> Vec<f64> {
        dictionary.phi.iter().flat_map(|a| dictionary.phi.iter().map(|b| dot(a, b))).collect()
    };
    for case in file["cases"].as_array().unwrap() {
        let x = rows(&case["X"]).concat();
        if x.len() != case["X"].as_array().unwrap().len() || number(case, "variance") != 1.0 {
            continue; // The helper above is for one dimension and unit variance.
        }
        let kernel = StationaryKernel::with_shape(shape(case), number(case, "lengthscale"), 1.0).unwrap();
        let (points, plays, lambda) = (indices(&case["dictionary"]), indices(&case["played"]), number(case, "lam"));
        let dictionary = Dictionary::new(kernel, &x, &points, &plays, lambda);
        close(&dictionary.phi.concat(), &rows(&case["features_symmetric"]).concat(), "features_symmetric");
        close(&gram(&dictionary), &rows(&case["gram_of_features"]).concat(), "gram");
        let variance: Vec<f64> = (0..x.len()).map(|i| dictionary.variance(i, lambda)).collect();
        close(&variance, &numbers(&case["sigma_tilde_sq"]), "sigma_tilde_sq");
        let moma = &case["moma"];
        let y = rows(&moma["Y"]);
        let columns: Vec<Vec<f64>> = (0..moma["k"].as_u64().unwrap() as usize)
            .map(|j| dictionary.weights(&plays, &y.iter().map(|row| row[j]).collect::<Vec<f64>>()))
            .collect();
        assert_eq!(median_of_means(&dictionary, &columns) as u64, moma["k_star"].as_u64().unwrap());
    }
    for case in file["duplicates"].as_array().unwrap() {
        let x = rows(&case["X"]).concat();
        let kernel = StationaryKernel::with_shape(shape(case), number(case, "lengthscale"), 1.0).unwrap();
        let points = indices(&case["dictionary_with_duplicates"]);
        let dictionary = Dictionary::new(kernel, &x, &points, &points, 1.0);
        assert_eq!(dictionary.rank, case["distinct"].as_array().unwrap().len());
        close(&gram(&dictionary), &rows(&case["gram_of_features"]).concat(), "gram with duplicates");
        assert!(kernel.covariance(&x[..1], &x[..1]) == 1.0);
    }
}
