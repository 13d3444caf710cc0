//! Known answers for confidence widths, thresholds and mixing probabilities (`tests/vectors/schedules.json`) and for
//! information gains (`info_gain.json`).

use serde_json::Value;
use sordino_core::kernel::{Stationary, StationaryKernel};
use sordino_core::schedule::confidence::{self, LocalNoise};
use sordino_core::schedule::{Mixing, federated_confidence_width};
use sordino_core::surrogate::{FiniteGp, finite, information_gain};
use sordino_tests::{numbers, rows, vectors};

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("{key} in {case}"))
}

fn count(case: &Value, key: &str) -> u64 {
    case[key].as_u64().unwrap_or_else(|| panic!("{key} in {case}"))
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{what}: {found} instead of {expected}");
}

fn list<'a>(file: &'a Value, key: &str) -> &'a Vec<Value> {
    file[key].as_array().unwrap_or_else(|| panic!("{key}"))
}

#[test]
fn vectors_schedules_finite_widths() {
    let file = vectors("schedules.json");
    for case in list(&file, "po_gp_ucb_beta") {
        let width = confidence::finite_width(count(case, "n"), count(case, "t"), number(case, "delta_prime"));
        close(width * width, number(case, "beta"), "po_gp_ucb_beta");
    }
    for case in list(&file, "kusner_beta") {
        let width = confidence::tuning_width(count(case, "n"), count(case, "t"), number(case, "delta"));
        close(width * width, number(case, "beta"), "kusner_beta");
    }
}

#[test]
fn vectors_schedules_federated() {
    let file = vectors("schedules.json");
    for case in list(&file, "fts_beta") {
        let gain = number(case, "gamma_prev");
        let width = federated_confidence_width(number(case, "B"), number(case, "sigma"), gain, number(case, "delta"));
        close(width, number(case, "beta"), "fts_beta");
    }
    for case in list(&file, "fts_p_t") {
        let t = count(case, "t") as u32;
        close(Mixing::InverseSqrt.own_draw_probability(t), number(case, "p_sqrt"), "p_sqrt");
        close(Mixing::Inverse.own_draw_probability(t), number(case, "p_inverse"), "p_inverse");
    }
}

#[test]
fn vectors_schedules_local() {
    let file = vectors("schedules.json");
    for case in list(&file, "ldp") {
        let noise = LocalNoise {
            norm_bound: number(case, "B"),
            noise_bound: number(case, "R"),
            epsilon: number(case, "privacy_eps"),
        };
        let (accuracy, lambda, delta) = (number(case, "nystrom_accuracy"), number(case, "lam"), number(case, "delta"));
        let (rounds, alpha) = (count(case, "T"), number(case, "alpha"));
        close(noise.laplace_scale(), number(case, "laplace_scale"), "laplace_scale");
        close(noise.second_moment(), number(case, "v"), "v");
        close(noise.central_moment(), number(case, "c"), "c");
        close(noise.squared_bound(), number(case, "K"), "K");
        close(confidence::nystrom_inflation(accuracy, rounds, delta), number(case, "q"), "q");
        for row in list(case, "tgp") {
            let t = count(row, "t");
            close(confidence::tgp_threshold(&noise, t), number(row, "b_t"), "tgp b_t");
            let width = confidence::tgp_width(&noise, t, number(row, "gamma_prev"), lambda, delta);
            close(width, number(row, "beta_t"), "tgp beta_t");
        }
        for row in list(case, "ata") {
            let m = count(row, "m");
            close(confidence::ata_threshold(&noise, m, rounds, delta), number(row, "b_t"), "ata b_t");
            let width = confidence::ata_width(&noise, m, rounds, accuracy, lambda, delta);
            close(width, number(row, "beta_next"), "ata beta_next");
        }
        let moma = &case["moma"];
        let k = confidence::moma_epoch_len(rounds, delta);
        assert_eq!((k, rounds / k), (count(moma, "k"), count(moma, "N")));
        for row in list(moma, "beta_next") {
            let (c, m, n) = (noise.central_moment(), count(row, "m"), count(row, "n"));
            let width = confidence::moma_width(noise.norm_bound, c, alpha, m, n, accuracy, lambda);
            close(width, number(row, "value"), "moma beta_next");
        }
    }
}

#[test]
fn vectors_info_gain() {
    let file = vectors("info_gain.json");
    for case in list(&file, "cases") {
        let shape = match case["kernel"].as_str().unwrap() {
            "se" => Stationary::SquaredExponential,
            "matern12" => Stationary::Matern12,
            "matern32" => Stationary::Matern32,
            "matern52" => Stationary::Matern52,
            other => panic!("unknown kernel {other}"),
        };
        let kernel =
            StationaryKernel::with_shape(shape, number(case, "lengthscale"), number(case, "variance")).unwrap();
        let points = rows(&case["X"]);
        let (n, dim) = (points.len(), points[0].len());
        let storage = vec![0.0; finite::storage_len(n)];
        let mut gp = FiniteGp::new(&kernel, number(case, "lam"), dim, &points.concat(), storage).unwrap();
        let steps = count(case, "T") as usize;
        let (mut gains, mut indices) = (vec![0.0; steps], vec![0; steps]);
        information_gain::greedy(&mut gp, &mut gains, &mut indices).unwrap();
        let expected: Vec<u32> = numbers(&case["greedy_indices"]).iter().map(|i| *i as u32).collect();
        assert_eq!(indices, expected);
        let exact = numbers(&case["exact_gamma_with_repeats"]);
        for (t, (found, expected)) in gains.iter().zip(numbers(&case["greedy_gain"])).enumerate() {
            close(*found, expected, "greedy gain");
            assert!(*found <= exact[t] * (1.0 + 1e-12) && information_gain::upper_bound(*found) >= exact[t]);
        }
    }
}
