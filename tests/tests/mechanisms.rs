//! Mechanisms and the analytic formulas against independent values.

use std::collections::BTreeMap;

use sordino_core::privacy::accountant::{MomentsAccountant, RdpAccountant, analytic, fixed_size, order, poisson};
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::mechanism::selection::Selection;
use sordino_core::privacy::{Epsilon, Event, NeighboringRelation, Simulated};
use sordino_core::random::{Stream, laplace};
use sordino_tests::{number, numbers, vectors, vectors_table};

fn close(ours: f64, truth: f64, relative: f64) -> bool {
    (ours - truth).abs() <= relative * truth.abs()
}

fn list<'a>(file: &'a serde_json::Value, name: &str) -> &'a Vec<serde_json::Value> {
    file[name].as_array().unwrap_or_else(|| panic!("{name} is missing"))
}

#[test]
fn vectors_mechanisms_gaussian() {
    let file = vectors("mechanisms.json");
    for case in list(&file, "gaussian_classic") {
        let [l2, eps, delta, sigma] = ["l2", "eps", "delta", "sigma"].map(|name| number(&case[name]));
        assert!(close(l2 * analytic::classical_noise_multiplier(eps, delta), sigma, 1e-9), "{case}");
    }
    for case in list(&file, "gaussian_exact_delta") {
        let [l2, eps, delta, sigma] = ["l2", "eps", "delta", "sigma"].map(|name| number(&case[name]));
        let ours = analytic::delta(sigma / l2, eps);
        assert!(close(ours, delta, 1e-9) && ours >= delta * (1.0 - 1e-15), "{case}: {ours}");
    }
    for case in list(&file, "gaussian_analytic") {
        let [l2, eps, delta, sigma] = ["l2", "eps", "delta", "sigma"].map(|name| number(&case[name]));
        let ours = l2 * analytic::noise_multiplier(eps, delta).unwrap();
        assert!(close(ours, sigma, 1e-8), "{case}: {ours}");
        assert!(analytic::delta(ours / l2, eps) <= delta);
    }
}

#[test]
fn vectors_mechanisms_accounting() {
    let file = vectors("mechanisms.json");
    for case in list(&file, "subsampled_gaussian_rdp") {
        let [q, z, a, rdp] = ["q", "z", "order", "rdp"].map(|name| number(&case[name]));
        assert!(close(poisson::divergence(q, z, a), rdp, 1e-9), "{case}");
    }
    for case in list(&file, "moments_accountant") {
        let [q, z, steps, delta] = ["q", "z", "T", "delta"].map(|name| number(&case[name]));
        let event = Event::PoissonSampledGaussian {
            sampling_probability: q,
            noise_multiplier: z,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let mut accountant = MomentsAccountant::new();
        accountant.compose(&event, steps as u32).unwrap();
        let ours = accountant.epsilon(delta).unwrap();
        assert!(close(ours.epsilon, number(&case["eps_classic_integer_orders_2_to_33"]), 1e-9), "{case}");
        assert_eq!(ours.order, Some(number(&case["order"])));
        let improved = (2..=33u8)
            .map(f64::from)
            .map(|a| order::epsilon(a, steps * poisson::divergence(q, z, a), delta))
            .fold(f64::INFINITY, f64::min);
        assert!(close(improved, number(&case["eps_improved_conversion"]), 1e-9), "{case}: {improved}");
    }
}

#[test]
fn vectors_mechanisms_laplace() {
    for case in list(&vectors("mechanisms.json"), "laplace") {
        let [sensitivity, eps, scale, variance] =
            ["sensitivity", "eps", "scale", "variance"].map(|name| number(&case[name]));
        // The clamp's whole range, 2b, is the sensitivity.
        let m = ClampedLaplace::new(sensitivity / 2.0, 12, Epsilon::new(eps).unwrap()).unwrap();
        assert!(close(m.scale(), scale, 1e-12), "{case}");
        // Quantiles and variance of the exact sampler, n = 200,000: level 1e-5 each (4.4 standard deviations of the
        // share below a quantile); a scale 3 % off must be seen at one of them.
        let n = 200_000;
        let mut source = Simulated::new(Stream::from_seed(31));
        let draws: Vec<f64> = (0..n).map(|_| *m.privatize(0.0f64, &mut source).unwrap().value()).collect();
        let mut floating = Stream::from_seed(32);
        let paper: Vec<f64> = (0..n).map(|_| laplace::draw(&mut floating, scale)).collect();
        let worst = |draws: &[f64], factor: f64| {
            let deviation = |(p, x): (f64, f64)| {
                let below = draws.iter().filter(|d| **d * factor < x).count() as f64;
                (below - p * f64::from(n)).abs() / (f64::from(n) * p * (1.0 - p)).sqrt()
            };
            let quantiles = case["quantiles"].as_object().unwrap();
            quantiles.iter().map(|(p, x)| deviation((p.parse().unwrap(), number(x)))).fold(0.0, f64::max)
        };
        for draws in [&draws, &paper] {
            assert!(worst(draws, 1.0) < 4.4, "{case}: {}", worst(draws, 1.0));
            assert!(worst(draws, 1.03) > 4.4, "{case}: {}", worst(draws, 1.03));
            let measured = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
            // Var(x²) = 20·scale⁴ for Laplace.
            assert!((measured - variance).abs() < 4.4 * 20f64.sqrt() * scale * scale / f64::from(n).sqrt());
        }
    }
}

#[test]
fn vectors_mechanisms_exponential() {
    for case in list(&vectors("mechanisms.json"), "exponential") {
        // Utilities and sensitivity as whole multiples of one half.
        let utilities: Vec<i64> = numbers(&case["q"]).iter().map(|u| (u * 2.0) as i64).collect();
        let sensitivity = (number(&case["sensitivity"]) * 2.0) as u64;
        let truth = numbers(&case["probs"]);
        let epsilon = Epsilon::new(number(&case["eps"])).unwrap();
        let m = Selection::new(sensitivity, epsilon, NeighboringRelation::ReplaceOne).unwrap();
        let mut source = Simulated::new(Stream::from_seed(8));
        let n = 200_000;
        let mut count = vec![0u32; utilities.len()];
        for _ in 0..n {
            count[*m.exponential(&utilities, &mut source).unwrap().value() as usize] += 1;
        }
        // Up to 2 degrees of freedom: 99.999 % quantile 23.0.
        let chi2 = |truth: &[f64]| -> f64 {
            let n = f64::from(n);
            let cell = |(c, p): (&u32, &f64)| (f64::from(*c) - n * p).powi(2) / (n * p).max(1e-3);
            count.iter().zip(truth).map(cell).sum()
        };
        assert!(chi2(&truth) < 23.0, "{case}: {count:?}");
        // Negative control: 2 % of the first candidate's probability moved.
        let mut moved = truth.clone();
        let shift = moved[0] * 0.05;
        (moved[0], moved[1]) = (moved[0] - shift, moved[1] + shift);
        assert!(chi2(&moved) > 23.0);
    }
}

#[test]
fn vectors_accountant_exact_gaussian_column() {
    let mut rows = 0;
    for row in vectors_table("accountant.csv") {
        let get = |name: &str| row[name].parse::<f64>().ok();
        let (Some(truth), Some(z), Some(steps), Some(delta)) =
            (get("eps_exact_gaussian"), get("z"), get("steps"), get("delta"))
        else {
            continue;
        };
        // T releases are one of multiplier z/√T.
        let ours = analytic::epsilon(z / steps.sqrt(), delta).unwrap();
        assert!((ours - truth).abs() <= 1e-9 * (1.0 + truth), "{row:?}: {ours}");
        rows += 1;
    }
    assert!(rows > 0);
}

#[test]
fn vectors_accountant_fixed_size_column() {
    let orders: Vec<f64> = (2..=64u32).chain([128, 256]).map(f64::from).collect();
    let mut cache: BTreeMap<(u64, u64), Vec<f64>> = BTreeMap::new();
    let (mut lower, mut rows) = (0, 0);
    for row in vectors_table("accountant.csv") {
        let get = |name: &str| row[name].parse::<f64>().ok();
        let [q, z, steps, delta] = ["q", "z", "steps", "delta"].map(|name| get(name).unwrap());
        let Some(truth) = get("eps_rdp_wor_replace") else { continue };
        let divergences = cache.entry((q.to_bits(), z.to_bits())).or_insert_with(|| {
            let mut out = vec![0.0; orders.len()];
            fixed_size::divergences(q, z, &orders, &mut out);
            out
        });
        let ours = orders
            .iter()
            .zip(divergences.iter())
            .map(|(a, r)| order::epsilon(*a, steps * r, delta))
            .fold(f64::INFINITY, f64::min);
        // Where the two differ ours is the lower: the column's alternating sums cancel at large z (checked with 120
        // digits), and it does not use that sampling never hurts. Both are upper bounds.
        let error = (ours - truth) / (1.0 + truth);
        assert!(error <= 1e-8, "q {q} z {z} steps {steps} delta {delta}: {ours} against {truth}");
        lower += u32::from(error < -1e-8);
        rows += 1;
    }
    println!("{lower} of {rows} rows lower");
    assert!(rows > 0 && lower * 20 < rows);
}

#[test]
fn events_of_all_kinds_compose_under_one_relation() {
    let relation = NeighboringRelation::ReplaceOne;
    let mut accountant = RdpAccountant::new();
    for event in [
        Event::Gaussian { noise_multiplier: 4.0, relation },
        Event::FixedSizeSampledGaussian { sampled: 50, population: 200, noise_multiplier: 2.0 },
        Event::PureEpsilon { epsilon: 0.1, relation },
        Event::ApproximateEpsilon { epsilon: 0.1, delta: 1e-7, relation },
    ] {
        let before = accountant.epsilon(1e-5).unwrap().epsilon;
        accountant.compose(&event, 1).unwrap();
        assert!(accountant.epsilon(1e-5).unwrap().epsilon > before, "{event:?}");
    }
}
