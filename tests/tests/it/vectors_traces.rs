//! Whole runs of the other papers' modelers and learners with explicit noise
//! (`tests/vectors/traces.json`), as loops that read like the algorithms. What only the loops need
//! (the weight posterior over a changing dictionary) is spelled out.

use serde_json::Value;
use sordino_core::acquisition::upper_confidence_bound;
use sordino_core::features::{Nystrom, nystrom};
use sordino_core::kernel::{Kernel, StationaryKernel};
use sordino_core::linalg::{dot, lower, packed_len};
use sordino_core::schedule::confidence::{self, LocalNoise};
use sordino_core::surrogate::information_gain::RunGain;
use sordino_core::surrogate::{CandidateGp, ExactGp, FiniteGp, candidates, exact, finite};
use sordino_tests::{indices, kernel, list, numbers, rows, vectors, whole};

fn number(case: &Value, key: &str) -> f64 {
    case[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {case}"))
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: as many numbers");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-9,
            "{what}: {found} instead of {expected}"
        );
    }
}

/// The algorithms there are traces of.
const ALGORITHMS: [&str; 3] = ["po_gp_ucb", "ldp_tgp", "ldp_moma"];

fn cases(of: &str) -> Vec<Value> {
    let file = vectors("traces.json");
    let all = sordino_tests::cases(&file, "cases");
    let name = |case: &Value| {
        case["algorithm"]
            .as_str()
            .unwrap_or_else(|| panic!("algorithm in {case}"))
            .to_string()
    };
    for case in all {
        assert!(
            ALGORITHMS.iter().any(|known| name(case).starts_with(known)),
            "nobody follows {}",
            name(case)
        );
    }
    all.iter()
        .filter(|case| name(case).starts_with(of))
        .cloned()
        .collect()
}

/// How far the best value lies above the second best.
fn margin(mean: &[f64], variance: &[f64], width: f64) -> f64 {
    let mut values: Vec<f64> = mean
        .iter()
        .zip(variance)
        .map(|(m, v)| m + width * v.sqrt())
        .collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
        .get(1)
        .map_or(f64::INFINITY, |second| values[0] - second)
}

/// Margins and the smallest of them.
#[track_caller]
fn check_margins(case: &Value, margins: &[f64]) {
    close(margins, &numbers(&case["argmax_margins"]), "argmax_margins");
    close(
        &[margins.iter().copied().fold(f64::INFINITY, f64::min)],
        &[number(case, "smallest_margin")],
        "smallest_margin",
    );
}

/// What a modeler did.
struct Trace {
    queries: Vec<usize>,
    margins: Vec<f64>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    regret: f64,
}

/// PO-GP-UCB, the modeler's loop, with an engine that offers `observe` and the moments of all
/// candidates.
fn modeler(case: &Value, mut observe: impl FnMut(usize, f64) -> (Vec<f64>, Vec<f64>)) -> Trace {
    let f = numbers(&case["f"]);
    let mut mean = Vec::new();
    let mut variance = Vec::new();
    let mut best = f64::NEG_INFINITY;
    for i in indices(&case["init_indices"]) {
        (mean, variance) = observe(i, f[i]);
        best = best.max(f[i]);
    }
    let mut queries = Vec::new();
    let mut margins = Vec::new();
    for t in 1..=list(&case["queries"]).len() {
        let width = confidence::finite_width(f.len() as u64, t as u64, number(case, "delta_prime"));
        let x = upper_confidence_bound::maximize(&mean, &variance, width).candidate as usize;
        margins.push(margin(&mean, &variance, width));
        queries.push(x);
        best = best.max(f[x]);
        (mean, variance) = observe(x, f[x]);
    }
    let regret = f.iter().copied().fold(f64::NEG_INFINITY, f64::max) - best;
    Trace {
        queries,
        margins,
        mean,
        variance,
        regret,
    }
}

#[test]
fn vectors_traces_modeler_with_three_engines() {
    for case in cases("po_gp_ucb") {
        let points = rows(&case["Z"]);
        let n = points.len();
        let dim = points[0].len();
        let z = points.concat();
        // No kernel is named: squared exponential.
        let mut named = case.clone();
        named["kernel"] = "se".into();
        let kernel = kernel(if case["kernel"].is_null() {
            &named
        } else {
            &case
        });
        let noise = number(&case, "noise_variance");
        let steps = list(&case["queries"]).len() + list(&case["init_indices"]).len();
        let mut list = CandidateGp::new(
            kernel,
            noise,
            dim,
            &z[..],
            steps,
            vec![0.0; candidates::storage_len(n, steps)],
        )
        .unwrap();
        let mut full =
            FiniteGp::new(&kernel, noise, dim, &z, vec![0.0; finite::storage_len(n)]).unwrap();
        let mut rows = ExactGp::new(
            kernel,
            noise,
            dim,
            steps,
            vec![0.0; exact::storage_len(dim, steps)],
        )
        .unwrap();
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
                let mut mean = vec![0.0; n];
                let mut variance = vec![0.0; n];
                let mut scratch = vec![0.0; exact::batch_scratch_len(rows.len())];
                rows.posteriors(&z, &mut mean, &mut variance, &mut scratch)
                    .unwrap();
                (mean, variance)
            }),
        ];
        for trace in runs {
            assert_eq!(trace.queries, indices(&case["queries"]));
            check_margins(&case, &trace.margins);
            close(&trace.mean, &numbers(&case["final_mu"]), "final_mu");
            close(&trace.variance, &numbers(&case["final_var"]), "final_var");
            close(
                &[trace.regret],
                &[number(&case, "simple_regret")],
                "simple_regret",
            );
        }
    }
}

/// The factor by which the traces shrink every confidence width.
const SHRUNK: f64 = 0.02;

fn local_noise(case: &Value) -> LocalNoise {
    LocalNoise {
        norm_bound: number(case, "B"),
        noise_bound: number(case, "R"),
        epsilon: number(case, "privacy_eps"),
    }
}

#[test]
fn vectors_traces_tgp() {
    for case in cases("ldp_tgp") {
        let points = rows(&case["X"]);
        let f = numbers(&case["f"]);
        let noise = numbers(&case["total_noise_by_round"]);
        let count = points.len();
        let dim = points[0].len();
        let local = local_noise(&case);
        let lambda = number(&case, "lam");
        let delta = number(&case, "delta");
        let storage = vec![0.0; finite::storage_len(count)];
        let mut gp = FiniteGp::new(&kernel(&case), lambda, dim, &points.concat(), storage).unwrap();
        let mut gain = RunGain::new(lambda).unwrap();
        let mut queries = Vec::new();
        let mut truncated = Vec::new();
        let mut margins = Vec::new();
        let mut variance = vec![0.0; count];
        for t in 1..=noise.len() as u64 {
            gp.variances(&mut variance);
            let width = SHRUNK * confidence::tgp_width(&local, t, gain.value(), lambda, delta);
            let query = if t == 1 {
                1
            } else {
                margins.push(margin(gp.mean(), &variance, width));
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
        let expected: Vec<bool> = list(&case["truncated"])
            .iter()
            .map(|t| t.as_bool().unwrap())
            .collect();
        assert_eq!(truncated, expected);
        check_margins(&case, &margins);
        gp.variances(&mut variance);
        close(
            &[gain.value()],
            &[number(&case, "information_gain")],
            "information_gain",
        );
        close(gp.mean(), &numbers(&case["final_mu"]), "final_mu");
        close(&variance, &numbers(&case["final_var"]), "final_var");
    }
}

/// A dictionary's features of all points, and V = Σ φφᵀ + λI over the plays, factored.
struct Dictionary {
    phi: Vec<Vec<f64>>,
    prior: Vec<f64>,
    factor: Vec<f64>,
    rank: usize,
}

impl Dictionary {
    fn new(
        kernel: StationaryKernel<f64>,
        x: &[Vec<f64>],
        points: &[usize],
        plays: &[usize],
        lambda: f64,
    ) -> Self {
        let m = points.len();
        let dictionary: Vec<f64> = points.iter().flat_map(|i| x[*i].clone()).collect();
        let root = vec![0.0; nystrom::storage_len(m)];
        let mut scratch = vec![0.0; nystrom::scratch_len(m)];
        let map = Nystrom::new(kernel, x[0].len(), &dictionary[..], root, &mut scratch).unwrap();
        let phi: Vec<Vec<f64>> = x
            .iter()
            .map(|x| {
                let mut phi = vec![0.0; m];
                map.features(x, &mut phi, &mut scratch);
                phi
            })
            .collect();
        let mut factor = vec![0.0; packed_len(m)];
        for i in 0..m {
            for (j, out) in lower::row_mut(&mut factor, i).iter_mut().enumerate() {
                *out = plays.iter().map(|p| phi[*p][i] * phi[*p][j]).sum::<f64>()
                    + if i == j { lambda } else { 0.0 };
            }
        }
        lower::factor(&mut factor, m, 0.0).unwrap();
        let prior = x.iter().map(|x| kernel.variance(x)).collect();
        Dictionary {
            phi,
            prior,
            factor,
            rank: map.rank(),
        }
    }

    /// V⁻¹ Σ yφ over the plays.
    fn weights(&self, plays: &[usize], y: &[f64]) -> Vec<f64> {
        let mut theta = vec![0.0; self.phi[0].len()];
        for (p, y) in plays.iter().zip(y) {
            theta
                .iter_mut()
                .zip(&self.phi[*p])
                .for_each(|(t, phi)| *t += phi * y);
        }
        lower::solve(&self.factor, &mut theta);
        lower::solve_transposed(&self.factor, &mut theta);
        theta
    }

    /// σ̃² = k(x, x) − φ·φ + λφᵀV⁻¹φ.
    fn variance(&self, x: usize, lambda: f64) -> f64 {
        let mut phi = self.phi[x].clone();
        let missing = self.prior[x] - dot(&phi, &phi);
        lower::solve(&self.factor, &mut phi);
        missing + lambda * dot(&phi, &phi)
    }

    /// ‖θ − θ'‖ in the V norm: ‖Lᵀ(θ − θ')‖.
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut sum = 0.0;
        for column in 0..a.len() {
            let along: f64 = (column..a.len())
                .map(|row| lower::row(&self.factor, row)[column] * (a[row] - b[row]))
                .sum();
            sum += along * along;
        }
        sum.sqrt()
    }
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    let half = list.len() / 2;
    if list.len() % 2 == 1 {
        list[half]
    } else {
        0.5 * (list[half - 1] + list[half])
    }
}

/// The estimate whose median distance to the others is smallest; ties to the lowest index.
fn median_of_means(dictionary: &Dictionary, estimates: &[Vec<f64>]) -> usize {
    let spread: Vec<f64> = (0..estimates.len())
        .map(|j| {
            let others = (0..estimates.len()).filter(|s| *s != j);
            median(
                others
                    .map(|s| dictionary.distance(&estimates[j], &estimates[s]))
                    .collect(),
            )
        })
        .collect();
    (0..spread.len()).fold(0, |best, j| if spread[j] < spread[best] { j } else { best })
}

#[test]
fn vectors_traces_moma() {
    for case in cases("ldp_moma") {
        let x = rows(&case["X"]);
        let f = numbers(&case["f"]);
        let noise = rows(&case["total_noise"]);
        let local = local_noise(&case);
        let lambda = number(&case, "lam");
        let accuracy = number(&case, "nystrom_accuracy");
        let kernel = kernel(&case);
        let k = whole(&case["k"]) as usize;
        let mut plays = vec![1];
        let mut y = Vec::new();
        let mut chosen = Vec::new();
        let mut margins = Vec::new();
        let mut mean = Vec::new();
        let mut variance = Vec::new();
        for epoch in 1..=whole(&case["epochs"]) as usize {
            let query = plays[epoch - 1];
            y.push(
                (0..k)
                    .map(|j| f[query] + noise[epoch - 1][j])
                    .collect::<Vec<f64>>(),
            );
            let mut points = plays.clone();
            points.sort_unstable();
            points.dedup();
            let dictionary = Dictionary::new(kernel, &x, &points, &plays, lambda);
            let estimates: Vec<Vec<f64>> = (0..k)
                .map(|j| {
                    dictionary.weights(&plays, &y.iter().map(|row| row[j]).collect::<Vec<f64>>())
                })
                .collect();
            let star = median_of_means(&dictionary, &estimates);
            chosen.push(star);
            mean = dictionary
                .phi
                .iter()
                .map(|phi| dot(phi, &estimates[star]))
                .collect();
            variance = (0..x.len())
                .map(|i| dictionary.variance(i, lambda))
                .collect();
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
            plays
                .push(upper_confidence_bound::maximize(&mean, &variance, width).candidate as usize);
            margins.push(margin(&mean, &variance, width));
        }
        // What would be played next is no longer part of the trace.
        plays.pop();
        margins.pop();
        assert_eq!(plays, indices(&case["queries"]));
        assert_eq!(chosen, indices(&case["k_star"]));
        check_margins(&case, &margins);
        close(&mean, &numbers(&case["final_mu"]), "final_mu");
        close(
            &variance,
            &numbers(&case["final_sigma_sq"]),
            "final_sigma_sq",
        );
    }
}

/// Nyström features and the dictionary posterior against `ldp_estimators.json`; features are
/// compared by their Gram matrix, which no rotation changes, and where the vectors have them by the
/// symmetric root itself.
#[test]
fn vectors_nystrom_features() {
    let file = vectors("ldp_estimators.json");
    let gram = |dictionary: &Dictionary| -> Vec<f64> {
        dictionary
            .phi
            .iter()
            .flat_map(|a| dictionary.phi.iter().map(|b| dot(a, b)))
            .collect()
    };
    for case in sordino_tests::cases(&file, "cases") {
        let x = rows(&case["X"]);
        let kernel = kernel(case);
        let lambda = number(case, "lam");
        let points = indices(&case["dictionary"]);
        let plays = indices(&case["played"]);
        let covariance: Vec<f64> = points
            .iter()
            .flat_map(|a| points.iter().map(|b| kernel.covariance(&x[*a], &x[*b])))
            .collect();
        close(&covariance, &rows(&case["K_D"]).concat(), "K_D");
        let dictionary = Dictionary::new(kernel, &x, &points, &plays, lambda);
        close(
            &dictionary.phi.concat(),
            &rows(&case["features_symmetric"]).concat(),
            "features_symmetric",
        );
        close(
            &gram(&dictionary),
            &rows(&case["gram_of_features"]).concat(),
            "gram",
        );
        // K_D^{−1/2} takes the covariances with the dictionary to the features.
        let root = rows(&case["K_D_inv_sqrt_symmetric"]);
        let all = &x;
        for (x, phi) in all.iter().zip(&dictionary.phi) {
            let covariances: Vec<f64> = points
                .iter()
                .map(|i| kernel.covariance(x, &all[*i]))
                .collect();
            let product: Vec<f64> = root.iter().map(|row| dot(row, &covariances)).collect();
            close(phi, &product, "K_D_inv_sqrt_symmetric");
        }
        let size = points.len();
        let entry = |i: usize, j: usize| {
            let (i, j) = (i.max(j), i.min(j));
            dot(
                &lower::row(&dictionary.factor, i)[..=j],
                lower::row(&dictionary.factor, j),
            )
        };
        let v: Vec<f64> = (0..size * size)
            .map(|e| entry(e / size, e % size))
            .collect();
        close(&v, &rows(&case["V"]).concat(), "V");
        let variance: Vec<f64> = (0..x.len())
            .map(|i| dictionary.variance(i, lambda))
            .collect();
        close(
            &variance,
            &numbers(&case["sigma_tilde_sq"]),
            "sigma_tilde_sq",
        );
        let untruncated = dictionary.weights(&plays, &numbers(&case["ata"]["y"]));
        let mean: Vec<f64> = dictionary
            .phi
            .iter()
            .map(|phi| dot(phi, &untruncated))
            .collect();
        close(&mean, &numbers(&case["untruncated_mu"]), "untruncated_mu");
        let moma = &case["moma"];
        let y = rows(&moma["Y"]);
        let columns: Vec<Vec<f64>> = (0..whole(&moma["k"]) as usize)
            .map(|j| dictionary.weights(&plays, &y.iter().map(|row| row[j]).collect::<Vec<f64>>()))
            .collect();
        close(
            &columns.concat(),
            &rows(&moma["theta_columns"]).concat(),
            "theta_columns",
        );
        let distances: Vec<f64> = columns
            .iter()
            .flat_map(|a| {
                columns
                    .iter()
                    .map(|b| dictionary.distance(a, b))
                    .collect::<Vec<f64>>()
            })
            .collect();
        close(&distances, &rows(&moma["distances"]).concat(), "distances");
        let star = median_of_means(&dictionary, &columns);
        assert_eq!(star as u64, whole(&moma["k_star"]));
        let mean: Vec<f64> = dictionary
            .phi
            .iter()
            .map(|phi| dot(phi, &columns[star]))
            .collect();
        close(&mean, &numbers(&moma["mu"]), "moma.mu");
    }
    for case in sordino_tests::cases(&file, "duplicates") {
        let x = rows(&case["X"]);
        let points = indices(&case["dictionary_with_duplicates"]);
        let distinct = indices(&case["distinct"]);
        let dictionary = Dictionary::new(kernel(case), &x, &points, &points, 1.0);
        assert_eq!(dictionary.rank, distinct.len());
        assert!(
            points.iter().all(|x| distinct.contains(x))
                && distinct.iter().all(|x| points.contains(x))
        );
        close(
            &gram(&dictionary),
            &rows(&case["gram_of_features"]).concat(),
            "gram with duplicates",
        );
        let alone = Dictionary::new(kernel(case), &x, &distinct, &distinct, 1.0);
        close(
            &gram(&alone),
            &rows(&case["gram_of_features"]).concat(),
            "gram of the distinct points",
        );
    }
}
