//! Known answers for confidence widths, thresholds and mixing probabilities
//! (`tests/vectors/schedules.json`) and for information gains (`info_gain.json`).

use serde_json::Value;
use sordino_core::kernel::Kernel;
use sordino_core::linalg::{lower, packed_len};
use sordino_core::schedule::confidence::{self, LocalNoise};
use sordino_core::schedule::{Mixing, federated_confidence_width};
use sordino_core::surrogate::{FiniteGp, finite, information_gain};
use sordino_tests::{cases, indices, kernel, list, numbers, rows, vectors, whole};

#[track_caller]
fn number(case: &Value, key: &str) -> f64 {
    case[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {case}"))
}

#[track_caller]
fn count(case: &Value, key: &str) -> u64 {
    whole(&case[key])
}

#[track_caller]
fn close(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-12 * expected.abs().max(1e-3),
        "{what}: {found} instead of {expected}"
    );
}

#[test]
fn vectors_schedules_finite_widths() {
    let file = vectors("schedules.json");
    for case in cases(&file, "po_gp_ucb_beta") {
        let width = confidence::finite_width(
            count(case, "n"),
            count(case, "t"),
            number(case, "delta_prime"),
        );
        close(width * width, number(case, "beta"), "po_gp_ucb_beta");
    }
    for case in cases(&file, "kusner_beta") {
        let width =
            confidence::tuning_width(count(case, "n"), count(case, "t"), number(case, "delta"));
        close(width * width, number(case, "beta"), "kusner_beta");
    }
}

#[test]
fn vectors_schedules_federated() {
    let file = vectors("schedules.json");
    for case in cases(&file, "fts_beta") {
        let gain = number(case, "gamma_prev");
        let width = federated_confidence_width(
            number(case, "B"),
            number(case, "sigma"),
            gain,
            number(case, "delta"),
        );
        close(width, number(case, "beta"), "fts_beta");
    }
    for case in cases(&file, "fts_p_t") {
        let t = count(case, "t") as u32;
        close(
            Mixing::InverseSqrt.own_draw_probability(t),
            number(case, "p_sqrt"),
            "p_sqrt",
        );
        close(
            Mixing::Inverse.own_draw_probability(t),
            number(case, "p_inverse"),
            "p_inverse",
        );
    }
}

#[test]
fn vectors_schedules_local() {
    let file = vectors("schedules.json");
    for case in cases(&file, "ldp") {
        let noise = LocalNoise {
            norm_bound: number(case, "B"),
            noise_bound: number(case, "R"),
            epsilon: number(case, "privacy_eps"),
        };
        let accuracy = number(case, "nystrom_accuracy");
        let lambda = number(case, "lam");
        let delta = number(case, "delta");
        let rounds = count(case, "T");
        let alpha = number(case, "alpha");
        close(
            noise.laplace_scale(),
            number(case, "laplace_scale"),
            "laplace_scale",
        );
        close(noise.second_moment(), number(case, "v"), "v");
        close(noise.central_moment(), number(case, "c"), "c");
        close(noise.squared_bound(), number(case, "K"), "K");
        close(
            confidence::nystrom_inflation(accuracy, rounds, delta),
            number(case, "q"),
            "q",
        );
        let log = (4.0 * rounds as f64 / delta).ln();
        close(
            confidence::nystrom_inflation(accuracy, rounds, delta) * accuracy * accuracy
                / (6.0 * log),
            number(case, "rho"),
            "rho",
        );
        for row in cases(case, "tgp") {
            let t = count(row, "t");
            close(
                confidence::tgp_threshold(&noise, t),
                number(row, "b_t"),
                "tgp b_t",
            );
            let width = confidence::tgp_width(&noise, t, number(row, "gamma_prev"), lambda, delta);
            close(width, number(row, "beta_t"), "tgp beta_t");
        }
        for row in cases(case, "ata") {
            let m = count(row, "m");
            close(
                confidence::ata_threshold(&noise, m, rounds, delta),
                number(row, "b_t"),
                "ata b_t",
            );
            let width = confidence::ata_width(&noise, m, rounds, accuracy, lambda, delta);
            close(width, number(row, "beta_next"), "ata beta_next");
        }
        let moma = &case["moma"];
        let k = confidence::moma_epoch_len(rounds, delta);
        assert_eq!((k, rounds / k), (count(moma, "k"), count(moma, "N")));
        for row in cases(moma, "beta_next") {
            let c = noise.central_moment();
            let m = count(row, "m");
            let n = count(row, "n");
            let width =
                |lambda| confidence::moma_width(noise.norm_bound, c, alpha, m, n, accuracy, lambda);
            close(width(lambda), number(row, "value"), "moma beta_next");
            close(
                width(1.0),
                number(row, "value_without_lambda"),
                "moma beta_next, as printed",
            );
        }
    }
}

/// Sets of so many points at most, so that trying them all takes no time.
const SETS: f64 = 50_000.0;

/// The largest gain of the multisets of rising indices that begin with `chosen`, of `left` more
/// points: all are tried.
///
/// `factor` is the Cholesky factor of I + K/λ over the chosen ones, with rows to spare.
fn largest_gain(
    a: &[Vec<f64>],
    factor: &mut [f64],
    chosen: &mut Vec<usize>,
    left: usize,
    repeats: bool,
) -> f64 {
    if left == 0 {
        return 0.5 * lower::ln_det(factor, chosen.len());
    }
    let first = chosen
        .last()
        .map_or(0, |last| if repeats { *last } else { last + 1 });
    let mut largest = f64::NEG_INFINITY;
    for i in first..a.len() {
        append(a, factor, chosen, i);
        largest = largest.max(largest_gain(a, factor, chosen, left - 1, repeats));
        chosen.pop();
    }
    largest
}

fn append(a: &[Vec<f64>], factor: &mut [f64], chosen: &mut Vec<usize>, i: usize) {
    let n = chosen.len();
    let row = lower::row_mut(factor, n);
    chosen
        .iter()
        .zip(row.iter_mut())
        .for_each(|(j, entry)| *entry = a[i][*j]);
    row[n] = 1.0 + a[i][i];
    lower::append_row(factor, n, 0.0).unwrap();
    chosen.push(i);
}

#[test]
fn vectors_info_gain() {
    let file = vectors("info_gain.json");
    for case in cases(&file, "cases") {
        let kernel = kernel::<f64>(case);
        let points = rows(&case["X"]);
        let lambda = number(case, "lam");
        let n = points.len();
        let dim = points[0].len();
        let steps = count(case, "T") as usize;
        let storage = vec![0.0; finite::storage_len(n)];
        let mut gp = FiniteGp::new(&kernel, lambda, dim, &points.concat(), storage).unwrap();
        let mut gains = vec![0.0; steps];
        let mut chosen = vec![0; steps];
        information_gain::greedy(&mut gp, &mut gains, &mut chosen).unwrap();
        let chosen: Vec<usize> = chosen.into_iter().map(|i| i as usize).collect();
        assert_eq!(chosen, indices(&case["greedy_indices"]));
        let greedy = numbers(&case["greedy_gain"]);
        let exact = numbers(&case["exact_gamma_with_repeats"]);
        assert_eq!((greedy.len(), exact.len()), (steps, steps));
        for ((found, greedy), exact) in gains.iter().zip(&greedy).zip(&exact) {
            close(*found, *greedy, "greedy gain");
            assert!(
                *found <= exact * (1.0 + 1e-12) && information_gain::upper_bound(*found) >= *exact
            );
        }
        let covariance = |x: &Vec<f64>| {
            points
                .iter()
                .map(|z| kernel.covariance(x, z) / lambda)
                .collect()
        };
        let a: Vec<Vec<f64>> = points.iter().map(covariance).collect();
        let mut factor = vec![0.0; packed_len(steps)];
        for (gamma, best, repeats) in [
            (
                "exact_gamma_with_repeats",
                "exact_argmax_with_repeats",
                true,
            ),
            (
                "exact_gamma_without_repeats",
                "exact_argmax_without_repeats",
                false,
            ),
        ] {
            let values = numbers(&case[gamma]);
            let sets = list(&case[best]);
            assert_eq!(values.len(), sets.len());
            let mut sets_tried = 1.0;
            for (t, (value, set)) in values.iter().zip(sets).enumerate() {
                let mut one = Vec::new();
                indices(set)
                    .into_iter()
                    .for_each(|i| append(&a, &mut factor, &mut one, i));
                close(0.5 * lower::ln_det(&factor, one.len()), *value, best);
                let pool = if repeats { n + t } else { n.saturating_sub(t) };
                sets_tried *= pool as f64 / (t + 1) as f64;
                if (1.0..SETS).contains(&sets_tried) {
                    close(
                        largest_gain(&a, &mut factor, &mut Vec::new(), t + 1, repeats),
                        *value,
                        gamma,
                    );
                }
            }
        }
    }
}
