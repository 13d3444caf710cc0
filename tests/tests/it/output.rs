//! The output trust model: known answers, coverage of the paper's utility theorems with stated
//! power, the tuner's loop beside its machine.

use sordino_core::kernel::SquaredExponential;
use sordino_core::linalg::{dot, pivoted_cholesky};
use sordino_core::output::*;
use sordino_core::privacy::{Epsilon, Event, Simulated};
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};
use sordino_core::schedule::confidence::tuning_width;
use sordino_core::surrogate::{ExactGp, FiniteGp, exact, finite, information_gain};
use sordino_tests::{cases, list, number, numbers, vectors, whole};

#[track_caller]
fn relative(ours: f64, truth: &serde_json::Value) {
    let truth = number(truth);
    assert!(
        (ours - truth).abs() <= 1e-12 * truth.abs().max(1e-12),
        "{ours} instead of {truth}"
    );
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

#[test]
fn vectors_kusner() {
    let file = vectors("kusner.json");
    for case in cases(&file, "cases") {
        let whole = |key: &str| whole(&case[key]) as u32;
        let real = |key: &str| number(&case[key]);
        let tuning = NoisyTuning {
            candidates: whole("Lambda"),
            rounds: whole("T"),
            noise_std: real("sigma"),
            similarity: real("k1"),
            information_gain: real("gamma_T"),
            epsilon: epsilon(real("eps")),
            delta: real("delta"),
        };
        let tuning = tuning.checked().unwrap();
        // ε is a multiple of 2⁻²⁰: what is divided by the one in use is compared after going back
        // to the one asked for.
        let used = tuning.epsilon.value() / real("eps");
        let width = |round| tuning_width(u64::from(tuning.candidates), round, tuning.delta);
        relative(width(u64::from(tuning.rounds)).powi(2), &case["beta_T"]);
        relative(
            width(u64::from(tuning.rounds) + 1).powi(2),
            &case["beta_T_plus_1"],
        );
        let squared_regret =
            f64::from(tuning.rounds) * number(&case["beta_T"]) * tuning.information_gain;
        relative(
            tuning.regret_bound().powi(2),
            &(number(&case["C1"]) * squared_regret).into(),
        );
        relative(tuning.neighbor_distance(), &case["c"]);
        relative(tuning.noise_distance(), &case["q"]);
        relative(tuning.regret_bound(), &case["Omega"]);
        relative(
            tuning.regret_bound() / f64::from(tuning.rounds),
            &case["Omega_over_T"],
        );
        relative(
            tuning.candidate_sensitivity(),
            &case["exponential_sensitivity"],
        );
        relative(tuning.value_sensitivity(), &case["laplace_sensitivity_v"]);
        relative(tuning.value_scale() * used, &case["laplace_scale_v"]);
        let a = real("a");
        relative(tuning.candidate_gap(a) * used, &case["theorem2_gap"]);
        relative(
            1.0 - tuning.delta - (-a).exp(),
            &case["theorem2_probability"],
        );
        relative(tuning.value_gap(a * used), &case["theorem4_gap"]);
        let mu: Vec<f64> = numbers(&case["mu"]).iter().map(|mu| mu / used).collect();
        let mut probabilities = vec![0.0; mu.len()];
        tuning.probabilities(&mu, &mut probabilities);
        let truth = list(&case["exponential_probs"]);
        assert_eq!(truth.len(), mu.len());
        probabilities
            .iter()
            .zip(truth)
            .for_each(|(p, q)| relative(*p, q));
        let second = &case["alg2"];
        let free = NoiseFreeTuning {
            candidates: tuning.candidates,
            rounds: tuning.rounds,
            similarity: tuning.similarity,
            rate_constant: number(&second["A"]),
            rate: number(&second["tau"]),
            dim: sordino_tests::whole(&second["d"]) as u32,
            epsilon: tuning.epsilon,
            delta: tuning.delta,
        };
        relative(free.neighbor_distance(), &second["c"]);
        relative(free.regret_term(), &second["regret_term"]);
        relative(free.value_sensitivity(), &second["laplace_sensitivity"]);
        relative(free.value_scale() * used, &second["laplace_scale"]);
        relative(free.value_gap(a * used), &second["theorem6_gap"]);
    }
}

#[test]
fn vectors_kusner_lipschitz() {
    let file = vectors("kusner.json");
    for case in cases(&file, "alg3") {
        let tuning = LipschitzTuning {
            loss_max: number(&case["g_star"]),
            records: whole(&case["m"]) as u32,
            lipschitz: number(&case["L"]),
            regularization_min: number(&case["lambda_min"]),
            regularization_max: number(&case["lambda_max"]),
            epsilon: epsilon(number(&case["eps"])),
        };
        let tuning = tuning.checked().unwrap();
        let used = tuning.epsilon.value() / number(&case["eps"]);
        // Ours is clamped at g*; as printed it is not.
        let printed = tuning.paper_sensitivity() / tuning.sensitivity() * used;
        relative(tuning.paper_sensitivity(), &case["sensitivity"]);
        relative(tuning.scale() * printed, &case["laplace_scale"]);
        relative(
            tuning.gap(number(&case["a"])) * printed,
            &case["theorem8_gap"],
        );
        // Ours never exceeds the clamp.
        assert!(tuning.sensitivity() <= tuning.loss_max.min(tuning.paper_sensitivity()));
    }
}

const POINTS: usize = 200;
const SIGMA: f64 = 0.1;

fn kernel() -> SquaredExponential<f64> {
    SquaredExponential::new(0.1, 1.0).unwrap()
}

fn points() -> Vec<f64> {
    (0..POINTS)
        .map(|i| i as f64 / (POINTS - 1) as f64)
        .collect()
}

/// A draw of the prior.
fn function(run: u32) -> Vec<f64> {
    use sordino_core::kernel::Kernel;
    let points = points();
    let rank = 60;
    let mut factor = vec![0.0; POINTS * rank];
    let mut diagonal = vec![0.0; POINTS];
    pivoted_cholesky(POINTS, rank, &mut factor, &mut diagonal, 1e-9, |i, j| {
        kernel().covariance(&points[i..=i], &points[j..=j])
    });
    let mut z = vec![0.0; rank];
    normal::fill(
        &mut RunSeed::new(4, run).stream(Party::World, Purpose::Objective, 0),
        &mut z,
    );
    factor.chunks_exact(rank).map(|row| dot(row, &z)).collect()
}

struct Tuned {
    queries: Vec<u32>,
    mean: Vec<f64>,
    best: f64,
}

fn noise(run: u32, t: u32) -> f64 {
    SIGMA
        * normal::draw::<f64>(&mut RunSeed::new(4, run).stream(
            Party::World,
            Purpose::ObservationNoise,
            t,
        ))
}

fn tune(f: &[f64], rounds: u32, run: u32) -> Tuned {
    let points = points();
    let mut state = TunerState::new();
    let mut log = vec![0.0; log_len(rounds)];
    let mut workspace = vec![0.0; workspace_len(POINTS as u32, rounds)];
    let variance = SIGMA * SIGMA;
    let mut tuner = Tuner::attach(
        kernel(),
        variance,
        &points,
        1,
        rounds,
        0.1,
        &mut state,
        &mut log,
        &mut workspace,
    )
    .unwrap();
    let mut input = TunerInput::Start;
    let mut queries = Vec::new();
    while let TunerOutput::Evaluate { candidate } = tuner.handle(input).unwrap() {
        queries.push(candidate);
        input = TunerInput::Observed(f[candidate as usize] + noise(run, queries.len() as u32));
    }
    Tuned {
        queries,
        mean: tuner.mean().to_vec(),
        best: tuner.best_value(),
    }
}

/// γ_T: the upper bound with λ = σ².
fn gain(rounds: usize) -> f64 {
    let prior = FiniteGp::new(
        &kernel(),
        SIGMA * SIGMA,
        1,
        &points(),
        vec![0.0; finite::storage_len(POINTS)],
    );
    let mut gains = vec![0.0; rounds];
    information_gain::greedy(&mut prior.unwrap(), &mut gains, &mut []).unwrap();
    information_gain::upper_bound(gains[rounds - 1])
}

fn setting(eps: f64, rounds: u32) -> Checked<NoisyTuning> {
    NoisyTuning {
        candidates: POINTS as u32,
        rounds,
        noise_std: SIGMA,
        similarity: 0.99,
        information_gain: gain(rounds as usize),
        epsilon: epsilon(eps),
        delta: 0.1,
    }
    .checked()
    .unwrap()
}

#[test]
fn gp_ucb_is_its_loop() {
    let f = function(0);
    let points = points();
    let mut queries: Vec<u32> = Vec::new();
    for t in 1..=25u32 {
        let storage = vec![0.0; exact::storage_len(1, 30)];
        let mut gp = ExactGp::new(kernel(), SIGMA * SIGMA, 1, 30, storage).unwrap();
        for (i, x) in queries.iter().enumerate() {
            gp.observe(
                &points[*x as usize..][..1],
                f[*x as usize] + noise(0, i as u32 + 1),
            )
            .unwrap();
        }
        let pi = std::f64::consts::PI;
        let beta = 2.0 * (POINTS as f64 * f64::from(t * t) * pi * pi / (3.0 * 0.1)).ln();
        let bound = |i: usize| {
            let posterior = gp.clone().posterior(&points[i..=i]).unwrap();
            posterior.mean + beta.sqrt() * posterior.variance.sqrt()
        };
        let mut best = (f64::NEG_INFINITY, 0);
        for i in 0..POINTS {
            let value = bound(i);
            if value > best.0 {
                best = (value, i as u32);
            }
        }
        queries.push(best.1);
    }
    assert_eq!(tune(&f, 25, 0).queries, queries);
    // Negative control: another function leads elsewhere.
    assert_ne!(tune(&function(1), 25, 0).queries, queries);
}

/// Share allowed to fail: δ + e^{−a} and three binomial standard errors for n independent runs.
fn allowed(a: f64, n: f64) -> f64 {
    let p = 0.1 + (-a).exp();
    p + 3.0 * (p * (1.0 - p) / n).sqrt()
}

/// Theorem 2 where it says something (ε = 100): the exact probability that the candidate drawn lies
/// farther below the best mean than stated, averaged over 30 functions: no chance but theirs.
/// Power: a mechanism that spends a tenth of ε fails with probability 0.276 where 0.235 is allowed
/// (a = 2), and is caught. The bound is loose: a fifth of ε fails with 0.171 and keeps it, so
/// nothing finer can be caught by this theorem; the sampler is held to its law below.
#[test]
fn theorem_2_covers_the_candidate() {
    let claimed = setting(100.0, 50);
    let weak = setting(10.0, 50);
    for a in [0.5, 2.0] {
        let fail = |mechanism: &Checked<NoisyTuning>| {
            let mut sum = 0.0;
            for run in 0..30 {
                let mean = tune(&function(run), 50, run).mean;
                let best = mean.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let mut p = vec![0.0; POINTS];
                mechanism.probabilities(&mean, &mut p);
                let far = mean
                    .iter()
                    .zip(&p)
                    .filter(|(mu, _)| **mu < best - claimed.candidate_gap(a));
                sum += far.map(|(_, p)| p).sum::<f64>();
            }
            sum / 30.0
        };
        // Probabilities are exact: no allowance for chance.
        let allowed = 0.1 + f64::exp(-a);
        assert!(fail(&claimed) <= allowed, "{}", fail(&claimed));
        if a == 0.5 {
            // At a = 0.5 the theorem allows 0.71: nothing can be caught there.
            continue;
        }
        assert!(
            fail(&weak) > allowed,
            "a weak mechanism fails with probability {}",
            fail(&weak)
        );
    }
    // The sampler draws what the probabilities say: 6 cells of the list, 20,000 draws, 5 degrees of
    // freedom, 99.99 %.
    let mean = tune(&function(0), 50, 0).mean;
    let mut p = vec![0.0; POINTS];
    claimed.probabilities(&mean, &mut p);
    let mut count = [0.0; 6];
    let mut scratch = vec![0; POINTS];
    let mut source = Simulated::new(Stream::from_seed(2));
    for _ in 0..20_000 {
        let drawn = claimed
            .release_candidate(&mean, &mut scratch, &mut source)
            .unwrap();
        count[*drawn.value() as usize * 6 / POINTS] += 1.0;
    }
    let chi2 = |law: &[f64]| {
        let cell = |i: usize| {
            law.iter()
                .enumerate()
                .filter(|(k, _)| k * 6 / POINTS == i)
                .map(|(_, p)| p)
                .sum::<f64>()
        };
        (0..6)
            .map(|i| (count[i] - 2e4 * cell(i)).powi(2) / (2e4 * cell(i)))
            .sum::<f64>()
    };
    assert!(chi2(&p) < 25.7, "{}", chi2(&p));
    assert!(chi2(&[1.0 / POINTS as f64; POINTS]) > 25.7);
}

/// Theorem 4: 300 independent functions, one release each, so that the binomial allowance is one.
/// Level: if the theorem held with equality, more failures than allowed (0.309) had probability
/// 0.002. Power: a quarter of the ε, four times the noise, fails for half of the functions, 6.6
/// standard errors above what is allowed. The stated ε fails for 7 %: Ω/T is slack, and less than
/// about twice the noise cannot be told apart.
#[test]
fn theorem_4_covers_the_value() {
    let claimed = setting(1.0, 50);
    let weak = setting(0.25, 50);
    let mut source = Simulated::new(Stream::from_seed(4));
    let mut failures = 0;
    let mut weak_failures = 0;
    for run in 0..300 {
        let f = function(run);
        let maximum = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = tune(&f, 50, run).best;
        let mut fails = |mechanism: &Checked<NoisyTuning>| {
            let value = *mechanism.release_value(best, &mut source).unwrap().value();
            u32::from((value - maximum).abs() > claimed.value_gap(2.0))
        };
        failures += fails(&claimed);
        weak_failures += fails(&weak);
    }
    assert!(
        f64::from(failures) / 300.0 <= allowed(2.0, 300.0),
        "{failures}"
    );
    assert!(
        f64::from(weak_failures) / 300.0 > allowed(2.0, 300.0),
        "{weak_failures}"
    );
}

/// Theorem 6, whose premise (the sampler's rate) is granted: 5,000 independent releases. Level: at
/// equality 0.002. Power: twice the noise fails with probability of about 0.37 where 0.253 is
/// allowed, 17 standard errors.
#[test]
fn theorem_6_covers_the_noise_free_value() {
    let setting = |eps| NoiseFreeTuning {
        candidates: 200,
        rounds: 30,
        similarity: 0.99,
        rate_constant: 2.0,
        rate: 0.3,
        dim: 1,
        epsilon: epsilon(eps),
        delta: 0.1,
    };
    let claimed = setting(1.0).checked().unwrap();
    let mut source = Simulated::new(Stream::from_seed(6));
    let mut fail = |mechanism: Checked<NoiseFreeTuning>| {
        let far = (0..5000).filter(|i| {
            let value = 3.0 - claimed.regret_term() * f64::from(*i) / 5000.0;
            (mechanism.release_value(value, &mut source).unwrap().value() - 3.0).abs()
                > claimed.value_gap(2.0)
        });
        far.count() as f64 / 5000.0
    };
    let share = fail(claimed);
    assert!(share <= allowed(2.0, 5000.0), "{share}");
    assert!(fail(setting(0.5).checked().unwrap()) > allowed(2.0, 5000.0));
}

/// Theorem 8 is an equality: e^{−a}. 20,000 releases, four standard errors on both sides: level
/// 6e-5 each. Power: a tenth more noise lies 8.2 (a = 0.5) and 11 (a = 2) standard errors away,
/// missed with probability below 3e-5.
#[test]
fn theorem_8_is_exact() {
    let setting = |eps| LipschitzTuning {
        loss_max: 1.0,
        records: 40,
        lipschitz: 0.25,
        regularization_min: 0.5,
        regularization_max: 2.0,
        epsilon: epsilon(eps),
    };
    let claimed = setting(1.0).checked().unwrap();
    let mut source = Simulated::new(Stream::from_seed(8));
    for a in [0.5, 2.0f64] {
        let mut z = |mechanism: Checked<LipschitzTuning>| {
            let far = (0..20_000).filter(|_| {
                let (value, event) = mechanism
                    .release_value(0.3, &mut source)
                    .unwrap()
                    .into_parts();
                assert!(matches!(event, Event::PureEpsilon { .. }));
                (value - 0.3).abs() > claimed.gap(a)
            });
            let share = far.count() as f64 / 2e4;
            let p = (-a).exp();
            (share - p).abs() / (p * (1.0 - p) / 2e4).sqrt()
        };
        assert!(z(claimed) < 4.0);
        assert!(z(setting(1.0 / 1.1).checked().unwrap()) > 4.0);
    }
}

#[test]
fn bad_input_is_a_typed_error() {
    let good = setting(1.0, 2);
    assert!(NoisyTuning { rounds: 1, ..*good }.checked().is_err());
    assert!(
        NoisyTuning {
            noise_std: 0.0,
            ..*good
        }
        .checked()
        .is_err()
    );
    assert!(
        NoisyTuning {
            similarity: 1.1,
            ..*good
        }
        .checked()
        .is_err()
    );
    assert!(
        NoisyTuning {
            information_gain: f64::NAN,
            ..*good
        }
        .checked()
        .is_err()
    );
    assert!(
        NoisyTuning {
            delta: 1.0,
            ..*good
        }
        .checked()
        .is_err()
    );
    let mut source = Simulated::new(Stream::from_seed(1));
    let mut mean = vec![0.0; POINTS];
    assert!(
        good.release_candidate(&mean[1..], &mut vec![0; POINTS], &mut source)
            .is_err()
    );
    mean[7] = f64::NAN;
    let refused = good
        .release_candidate(&mean, &mut vec![0; POINTS], &mut source)
        .unwrap_err();
    assert_eq!(
        refused,
        prior_conditional::ReleaseError::NotFinite { index: 7 }
    );
    assert!(good.release_value(f64::NEG_INFINITY, &mut source).is_err());
    assert!(ScoreScale::opaque(1.0, 1.0).is_err() && ScoreScale::opaque(f64::NAN, 1.0).is_err());
    assert!(ScoreScale::promised_mean(0.0, f64::INFINITY, 5).is_err());
    assert!(
        ScoreScale::promised_mean(0.0, 1.0, 0).is_err() && ScoreScale::per_record(0, 5).is_err()
    );
    let opaque = ScoreScale::opaque(0.0, 1.0).unwrap();
    assert!(WorstCase::new(0, opaque, epsilon(1.0), epsilon(1.0), FailureRule::Abort).is_err());
    assert!(
        good.release_value(1.0, &mut source)
            .unwrap()
            .to_string()
            .contains("under the GP prior only")
    );
}
