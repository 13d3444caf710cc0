//! Mechanisms and the analytic formulas against independent values.

use std::collections::BTreeMap;

use sordino_core::output::NoisyTuning;
use sordino_core::privacy::accountant::{
    MomentsAccountant, RdpAccountant, analytic, fixed_size, order, poisson,
};
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::mechanism::selection::Selection;
use sordino_core::privacy::{Epsilon, Event, NeighboringRelation, Simulated};
use sordino_core::random::{Stream, laplace};
use sordino_tests::{cases, cell, number, numbers, vectors, vectors_table};

fn close(ours: f64, truth: f64, relative: f64) -> bool {
    (ours - truth).abs() <= relative * truth.abs()
}

#[test]
fn vectors_mechanisms_gaussian() {
    let file = vectors("mechanisms.json");
    for case in cases(&file, "gaussian_classic") {
        let [l2, eps, delta, sigma] =
            ["l2", "eps", "delta", "sigma"].map(|name| number(&case[name]));
        assert!(
            close(
                l2 * analytic::classical_noise_multiplier(eps, delta),
                sigma,
                1e-9
            ),
            "{case}"
        );
    }
    for case in cases(&file, "gaussian_exact_delta") {
        let [l2, eps, delta, sigma] =
            ["l2", "eps", "delta", "sigma"].map(|name| number(&case[name]));
        let ours = analytic::delta(sigma / l2, eps);
        assert!(
            close(ours, delta, 1e-9) && ours >= delta * (1.0 - 1e-15),
            "{case}: {ours}"
        );
    }
    for case in cases(&file, "gaussian_analytic") {
        let [l2, eps, delta, sigma] =
            ["l2", "eps", "delta", "sigma"].map(|name| number(&case[name]));
        let ours = l2 * analytic::noise_multiplier(eps, delta).unwrap();
        assert!(close(ours, sigma, 1e-8), "{case}: {ours}");
        assert!(analytic::delta(ours / l2, eps) <= delta);
    }
}

#[test]
fn vectors_mechanisms_accounting() {
    let file = vectors("mechanisms.json");
    for case in cases(&file, "subsampled_gaussian_rdp") {
        let [q, z, a, rdp] = ["q", "z", "order", "rdp"].map(|name| number(&case[name]));
        assert!(close(poisson::divergence(q, z, a), rdp, 1e-9), "{case}");
    }
    for case in cases(&file, "moments_accountant") {
        let [q, z, steps, delta] = ["q", "z", "T", "delta"].map(|name| number(&case[name]));
        let event = Event::PoissonSampledGaussian {
            sampling_probability: q,
            noise_multiplier: z,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let mut accountant = MomentsAccountant::new();
        accountant.compose(&event, steps as u32).unwrap();
        let ours = accountant.epsilon(delta).unwrap();
        assert!(
            close(
                ours.epsilon,
                number(&case["eps_classic_integer_orders_2_to_33"]),
                1e-9
            ),
            "{case}"
        );
        assert_eq!(ours.order, Some(number(&case["order"])));
        let improved = (2..=33u8)
            .map(f64::from)
            .map(|a| order::epsilon(a, steps * poisson::divergence(q, z, a), delta))
            .fold(f64::INFINITY, f64::min);
        assert!(
            close(improved, number(&case["eps_improved_conversion"]), 1e-9),
            "{case}: {improved}"
        );
    }
}

#[test]
fn vectors_mechanisms_laplace() {
    for case in cases(&vectors("mechanisms.json"), "laplace") {
        let [sensitivity, eps, scale, variance] =
            ["sensitivity", "eps", "scale", "variance"].map(|name| number(&case[name]));
        // The clamp's whole range, 2b, is the sensitivity; ε is rounded down to a multiple of 2⁻²⁰,
        // the scale so up.
        let epsilon = Epsilon::new(eps).unwrap();
        let m = ClampedLaplace::new(sensitivity / 2.0, 16, epsilon).unwrap();
        let asked = m.scale() * epsilon.value() / eps;
        assert!(
            close(asked, scale, 1e-9) && close(2.0 * asked * asked, variance, 1e-9),
            "{case}"
        );
        let mut quantiles = Vec::new();
        for (p, x) in case["quantiles"].as_object().unwrap() {
            let p: f64 = p.parse().unwrap();
            let x: f64 = number(x);
            let law = asked
                * if p < 0.5 {
                    (2.0 * p).ln()
                } else {
                    -(2.0 - 2.0 * p).ln()
                };
            assert!((law - x).abs() <= 1e-9 * scale.max(x.abs()), "{case}: {p}");
            quantiles.push((p, x));
        }
        // Quantiles and variance of the exact sampler, n = 200,000: level 1e-5 each (4.4 standard
        // deviations of the share below a quantile); a scale 3 % off must be seen at 1/20, where it
        // moves the share by 7 of them.
        let n = 200_000;
        let mut source = Simulated::new(Stream::from_seed(31));
        let draws: Vec<f64> = (0..n)
            .map(|_| *m.privatize(0.0f64, &mut source).unwrap().value())
            .collect();
        let mut floating = Stream::from_seed(32);
        let paper: Vec<f64> = (0..n)
            .map(|_| laplace::draw(&mut floating, scale))
            .collect();
        let worst = |quantiles: &[(f64, f64)], draws: &[f64], factor: f64| {
            let deviation = |(p, x): (f64, f64)| {
                let below = draws.iter().filter(|d| **d * factor < x).count() as f64;
                (below - p * f64::from(n)).abs() / (f64::from(n) * p * (1.0 - p)).sqrt()
            };
            quantiles.iter().copied().map(deviation).fold(0.0, f64::max)
        };
        for draws in [&draws, &paper] {
            assert!(
                worst(&quantiles, draws, 1.0) < 4.4,
                "{case}: {}",
                worst(&quantiles, draws, 1.0)
            );
            let control = [(0.05, scale * 0.1f64.ln()), (0.95, -scale * 0.1f64.ln())];
            assert!(
                worst(&control, draws, 1.0) < 4.4 && worst(&control, draws, 1.03) > 4.4,
                "{case}"
            );
            let measured = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
            // Var(x²) = 20·scale⁴ for Laplace.
            assert!(
                (measured - variance).abs()
                    < 4.4 * 20f64.sqrt() * scale * scale / f64::from(n).sqrt()
            );
        }
    }
}

/// 99.999 % quantile of chi-square (Wilson and Hilferty; within 1 % from one degree of freedom on).
fn chi_square_limit(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 4.265 * spread.sqrt()).powi(3)
}

#[test]
fn vectors_mechanisms_exponential() {
    for case in cases(&vectors("mechanisms.json"), "exponential") {
        let utilities = numbers(&case["q"]);
        let truth = numbers(&case["probs"]);
        let sensitivity = number(&case["sensitivity"]);
        let eps = number(&case["eps"]);
        let epsilon = Epsilon::new(eps).unwrap();
        // The law as the reports print it. It belongs to another sensitivity and to ε as rounded:
        // utilities in its units.
        let tuning = NoisyTuning {
            candidates: utilities.len() as u32,
            rounds: 2,
            noise_std: 1.0,
            similarity: 0.5,
            information_gain: 1.0,
            epsilon,
            delta: 0.1,
        };
        let unit = tuning.candidate_sensitivity() / sensitivity * eps / epsilon.value();
        let scaled: Vec<f64> = utilities.iter().map(|u| u * unit).collect();
        let mut law = vec![0.0; scaled.len()];
        tuning.probabilities(&scaled, &mut law);
        assert_eq!(law.len(), truth.len(), "{case}");
        assert!(
            law.iter().zip(&truth).all(|(p, q)| close(*p, *q, 1e-9)),
            "{case}: {law:?}"
        );

        // The sampler's utilities are integers: in units of a 2²⁰th of the sensitivity.
        let integers: Vec<i64> = utilities
            .iter()
            .map(|u| (u / sensitivity * 1_048_576.0).round() as i64)
            .collect();
        let m = Selection::new(1 << 20, epsilon, NeighboringRelation::ReplaceOne).unwrap();
        let mut source = Simulated::new(Stream::from_seed(8));
        let n = 200_000;
        let mut count = vec![0u32; utilities.len()];
        for _ in 0..n {
            count[*m.exponential(&integers, &mut source).unwrap().value() as usize] += 1;
        }
        // Level 1e-5; candidates expected less than ten times are one cell with the likeliest, and
        // those expected less than once in 10⁶ repetitions of this test are never drawn.
        let n = f64::from(n);
        let likeliest =
            (0..truth.len()).fold(0, |best, i| if truth[i] > truth[best] { i } else { best });
        let cell = |i: usize| if n * truth[i] < 10.0 { likeliest } else { i };
        assert!(
            (0..truth.len()).all(|i| n * truth[i] > 1e-6 || count[i] == 0),
            "{case}: {count:?}"
        );
        let pooled = |values: &[f64]| {
            let mut out = vec![0.0; values.len()];
            values
                .iter()
                .enumerate()
                .for_each(|(i, x)| out[cell(i)] += x);
            out
        };
        let found = pooled(&count.iter().map(|c| f64::from(*c)).collect::<Vec<f64>>());
        let chi2 = |found: &[f64], law: &[f64]| -> f64 {
            let term = |(c, p): (&f64, f64)| {
                if p > 0.0 {
                    (c - n * p).powi(2) / (n * p)
                } else {
                    0.0
                }
            };
            found.iter().zip(pooled(law)).map(term).sum()
        };
        let cells = (0..truth.len()).filter(|i| cell(*i) == *i).count();
        if cells < 2 {
            assert_eq!(found[likeliest], n);
            continue;
        }
        let limit = chi_square_limit(cells as f64 - 1.0);
        assert!(chi2(&found, &truth) < limit, "{case}: {count:?}");
        // Negative control: the law without the 2 in 2Δ, wherever it is far enough from this one to
        // be told apart.
        let weights: Vec<f64> = truth.iter().map(|p| p * p).collect();
        let wrong: Vec<f64> = weights
            .iter()
            .map(|w| w / weights.iter().sum::<f64>())
            .collect();
        let expected: Vec<f64> = pooled(&truth).iter().map(|p| n * p).collect();
        if chi2(&expected, &wrong) > 4.0 * limit {
            assert!(chi2(&found, &wrong) > limit, "{case}");
        }
    }
}

#[test]
fn vectors_accountant_exact_gaussian_column() {
    for row in vectors_table("accountant.csv") {
        let [q, z, steps, delta] =
            ["q", "z", "steps", "delta"].map(|name| cell(&row, name).unwrap());
        let Some(truth) = cell(&row, "eps_exact_gaussian") else {
            assert!(
                q < 1.0,
                "{row:?}: the value is known where everybody is sampled"
            );
            continue;
        };
        // T releases are one of multiplier z/√T.
        let ours = analytic::epsilon(z / steps.sqrt(), delta).unwrap();
        assert!(
            q == 1.0 && (ours - truth).abs() <= 1e-9 * (1.0 + truth),
            "{row:?}: {ours}"
        );
    }
}

#[test]
fn vectors_accountant_fixed_size_column() {
    let orders: Vec<f64> = (2..=64u32).chain([128, 256]).map(f64::from).collect();
    let mut cache: BTreeMap<(u64, u64), Vec<f64>> = BTreeMap::new();
    for row in vectors_table("accountant.csv") {
        let [q, z, steps, delta] =
            ["q", "z", "steps", "delta"].map(|name| cell(&row, name).unwrap());
        let Some(truth) = cell(&row, "eps_rdp_wor_replace") else {
            continue;
        };
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
        // Where the two differ ours is the lower: the column's alternating sums cancel at large z
        // (checked with 120 digits), and it does not use that sampling never hurts. Both are upper
        // bounds.
        let unsampled = orders
            .iter()
            .map(|a| order::epsilon(*a, steps * a / (2.0 * z * z), delta))
            .fold(f64::INFINITY, f64::min);
        let error = (ours - truth) / (1.0 + truth);
        let least = if z > 5.0 || (q < 1.0 && ours >= unsampled * (1.0 - 1e-9)) {
            -0.1
        } else {
            -1e-8
        };
        let name = format!("q {q} z {z} steps {steps} delta {delta}");
        assert!(
            least <= error && error <= 1e-8,
            "{name}: {ours} against {truth}"
        );
    }
}

#[test]
fn events_of_all_kinds_compose_under_one_relation() {
    let relation = NeighboringRelation::ReplaceOne;
    let mut accountant = RdpAccountant::new();
    for event in [
        Event::Gaussian {
            noise_multiplier: 4.0,
            relation,
        },
        Event::FixedSizeSampledGaussian {
            sampled: 50,
            population: 200,
            noise_multiplier: 2.0,
        },
        Event::PureEpsilon {
            epsilon: 0.1,
            relation,
        },
        Event::ApproximateEpsilon {
            epsilon: 0.1,
            delta: 1e-7,
            relation,
        },
    ] {
        let before = accountant.epsilon(1e-5).unwrap().epsilon;
        accountant.compose(&event, 1).unwrap();
        assert!(
            accountant.epsilon(1e-5).unwrap().epsilon > before,
            "{event:?}"
        );
    }
}
