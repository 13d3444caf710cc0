//! The trust model `local`: known answers, the law of a report, bad input.

use serde_json::Value;
use sordino_core::kernel::{KernelError, Table};
use sordino_core::local::ata::{Magnitudes, truncated_mean};
use sordino_core::local::dictionary::{Dictionary, DictionaryPosterior};
use sordino_core::local::moma::median_of_means;
use sordino_core::local::*;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Simulated};
use sordino_core::random::{RunSeed, Stream};
use sordino_tests::local::*;
use sordino_tests::receipts::reporter_paid;
use sordino_tests::{cases, kernel as kernel_of, list, number, numbers, rows, vectors, whole};

fn matrix_of(case: &Value) -> KernelMatrix {
    let points = rows(&case["X"]);
    KernelMatrix::new(&kernel_of::<f64>(case), points[0].len(), &points.concat()).unwrap()
}

fn indices(value: &Value) -> Vec<u32> {
    sordino_tests::indices(value)
        .into_iter()
        .map(|x| x as u32)
        .collect()
}

fn close(ours: &[f64], truth: &[f64], what: &str) {
    assert_eq!(ours.len(), truth.len(), "{what}");
    for (a, b) in ours.iter().zip(truth) {
        assert!((a - b).abs() < 1e-9, "{what}: {a} against {b}");
    }
}

/// The plays of a case, counted; ATA's reports; MoMA's sums, k for each candidate.
fn history(case: &Value, count: usize) -> (Vec<u32>, Vec<Magnitudes>, Vec<f64>, usize) {
    let mut plays = vec![0; count];
    let mut reports = vec![Magnitudes::default(); count];
    let columns = rows(&case["moma"]["Y"]);
    let k = whole(&case["moma"]["k"]) as usize;
    let mut sums = vec![0.0; count * k];
    for ((x, y), column) in indices(&case["played"])
        .into_iter()
        .zip(numbers(&case["ata"]["y"]))
        .zip(columns)
    {
        plays[x as usize] += 1;
        reports[x as usize].insert(y);
        sums[x as usize * k..][..k]
            .iter_mut()
            .zip(column)
            .for_each(|(sum, y)| *sum += y);
    }
    (plays, reports, sums, k)
}

#[test]
fn vectors_ldp_estimators() {
    let file = vectors("ldp_estimators.json");
    for case in cases(&file, "cases") {
        let kernel = matrix_of(case);
        let dictionary = Dictionary::new(&kernel, indices(&case["dictionary"]));
        let (plays, mut reports, sums, k) = history(case, kernel.count());
        let size = dictionary.members().len();
        let phi: Vec<Vec<f64>> = (0..kernel.count())
            .map(|x| {
                let mut phi = vec![0.0; size];
                dictionary.in_symmetric_basis(dictionary.row(x), &mut phi);
                phi
            })
            .collect();
        close(
            &phi.concat(),
            &rows(&case["features_symmetric"]).concat(),
            "features_symmetric",
        );
        let posterior = DictionaryPosterior::new(&dictionary, &plays, number(&case["lam"]));
        close(
            posterior.variance(),
            &numbers(&case["sigma_tilde_sq"]),
            "sigma_tilde_sq",
        );
        let (mean, r_hat) = truncated_mean(
            &dictionary,
            &posterior,
            &mut reports,
            number(&case["ata"]["b_t"]),
        );
        close(&r_hat, &numbers(&case["ata"]["r_hat"]), "r_hat");
        close(&mean, &numbers(&case["ata"]["mu"]), "ata.mu");
        truncation(case, &dictionary, &posterior, &r_hat);
        let (mean, _) = truncated_mean(&dictionary, &posterior, &mut reports, f64::INFINITY);
        close(&mean, &numbers(&case["untruncated_mu"]), "untruncated_mu");
        let found = median_of_means(&dictionary, &posterior, &plays, &sums, k);
        close(&found.medians, &numbers(&case["moma"]["r"]), "moma.r");
        assert_eq!(found.chosen as u64, whole(&case["moma"]["k_star"]));
        close(&found.mean, &numbers(&case["moma"]["mu"]), "moma.mu");
    }
}

/// What stands between the reports and the truncated mean: u, which of them are kept, θ, all in the
/// symmetric basis.
fn truncation(
    case: &Value,
    dictionary: &Dictionary,
    posterior: &DictionaryPosterior,
    r_hat: &[f64],
) {
    let ata = &case["ata"];
    let size = dictionary.members().len();
    let y = numbers(&ata["y"]);
    let b = number(&ata["b_t"]);
    let symmetric = |psi: &[f64]| {
        let mut out = vec![0.0; size];
        dictionary.in_symmetric_basis(psi, &mut out);
        out
    };
    let plays = indices(&case["played"]);
    let columns: Vec<Vec<f64>> = plays
        .iter()
        .map(|x| symmetric(posterior.row(*x as usize)))
        .collect();
    let truth = rows(&ata["u_rows"]);
    assert_eq!(truth.len(), size);
    let mut nearest = f64::INFINITY;
    let mut kept = Vec::new();
    for (i, row) in truth.iter().enumerate() {
        close(
            &columns.iter().map(|u| u[i]).collect::<Vec<f64>>(),
            row,
            "u_rows",
        );
        for (u, y) in columns.iter().zip(&y) {
            kept.push((u[i] * y).abs() <= b);
            nearest = nearest.min(((u[i] * y).abs() - b).abs());
        }
    }
    let expected: Vec<bool> = list(&ata["kept"])
        .iter()
        .flat_map(list)
        .map(|kept| kept.as_bool().expect("a truth value"))
        .collect();
    assert_eq!(kept, expected);
    close(
        &[nearest],
        &[number(&ata["smallest_distance_to_threshold"])],
        "smallest_distance_to_threshold",
    );
    // θ = V^{−1/2}r̂: V is known in the coordinates of ψ, whose axes are the columns of Q.
    let axes = (0..dictionary.rank()).map(|k| {
        let mut axis = vec![0.0; dictionary.rank()];
        axis[k] = 1.0;
        symmetric(&axis)
    });
    let in_psi: Vec<f64> = axes
        .map(|q| q.iter().zip(r_hat).map(|(q, r)| q * r).sum())
        .collect();
    let mut whitened = vec![0.0; dictionary.rank()];
    posterior.whiten(&in_psi, &mut whitened);
    close(&symmetric(&whitened), &numbers(&ata["theta"]), "theta");
}

/// The factor by which the traces shrink every confidence width.
const SHRUNK: f64 = 0.02;

fn traced(case: &Value, rounds: u32) -> Parameters {
    Parameters {
        candidates: list(&case["X"]).len() as u32,
        rounds,
        rewards: Rewards::Bounded {
            norm_bound: number(&case["B"]),
            noise_bound: number(&case["R"]),
            epsilon: Some(number(&case["privacy_eps"])),
        },
        constants: Constants::Theorem,
        width_factor: SHRUNK,
        regularization: number(&case["lam"]),
        failure_probability: case["delta"].as_f64().unwrap_or(0.1),
        accuracy: case["nystrom_accuracy"].as_f64().unwrap_or(0.5),
        first_query: FirstQuery::Candidate(1),
        epoch_len: (!case["k"].is_null()).then(|| whole(&case["k"]) as u32),
        // Every point that was played is in the dictionary.
        nystrom_inflation: Some(1e100),
        stride: 1,
    }
}

#[test]
fn vectors_traces_of_the_machines() {
    for case in cases(&vectors("traces.json"), "cases") {
        let name = case["algorithm"].as_str().unwrap();
        let f = case["f"]
            .as_array()
            .map(|_| numbers(&case["f"]))
            .unwrap_or_default();
        let seed = RunSeed::new(0, 0);
        if name.starts_with("ldp_tgp") {
            let noise = numbers(&case["total_noise_by_round"]);
            let points = rows(&case["X"]);
            let config = Config::new(traced(case, noise.len() as u32)).unwrap();
            let storage = vec![0.0; tgp::storage_len(points.len())];
            let mut learner = TgpUcb::new(
                config,
                seed,
                &kernel_of::<f64>(case),
                points[0].len(),
                &points.concat(),
                storage,
            )
            .unwrap();
            let queries = follow(&mut learner, |round, x| f[x] + noise[round - 1]);
            assert_eq!(queries, indices(&case["queries"]), "{name}");
            close(learner.mean(), &numbers(&case["final_mu"]), "final_mu");
            close(
                &[learner.information_gain()],
                &[number(&case["information_gain"])],
                "information_gain",
            );
            let truncated = list(&case["truncated"])
                .iter()
                .filter(|t| t.as_bool().unwrap())
                .count();
            assert_eq!(learner.truncated() as usize, truncated);
        } else if name.starts_with("ldp_moma") {
            let noise = rows(&case["total_noise"]);
            let k = noise[0].len();
            let config = Config::new(traced(case, (noise.len() * k) as u32)).unwrap();
            let mut learner = MomaGpUcb::new(config, seed, matrix_of(case)).unwrap();
            let queries = follow(&mut learner, |round, x| {
                f[x] + noise[(round - 1) / k][(round - 1) % k]
            });
            let epochs: Vec<u32> = queries.chunks_exact(k).map(|epoch| epoch[0]).collect();
            assert_eq!(epochs, indices(&case["queries"]), "{name}");
            assert_eq!(
                Some(&(learner.chosen() as u32)),
                indices(&case["k_star"]).last()
            );
            close(learner.mean(), &numbers(&case["final_mu"]), "final_mu");
            close(
                learner.variance(),
                &numbers(&case["final_sigma_sq"]),
                "final_sigma_sq",
            );
        }
    }
}

/// Runs a learner to its end with these reports; its queries.
fn follow(learner: &mut dyn Learner<f64>, report: impl Fn(usize, usize) -> f64) -> Vec<u32> {
    let mut queries = Vec::new();
    let mut input = Input::Start;
    while let Output::Query { round, candidate } = learner.handle(input).unwrap() {
        queries.push(candidate);
        input = Input::Report(report(round as usize, candidate as usize));
    }
    queries
}

/// The law of a report: the distribution function of y + Laplace(2(B + R)/ε) at nine points, n =
/// 100,000, level 1e-4 for all together (Kolmogorov: 2.23/√n), for a reward inside the bounds and
/// for one far outside, which must be that of the bound itself. Negative control: the same test
/// rejects noise without the clamp.
#[test]
fn the_law_of_a_report_is_the_clamped_rewards_laplace_law() {
    let bound = B + R;
    let epsilon = Epsilon::new(1.0).unwrap();
    let n = 100_000;
    let mechanism = ClampedLaplace::new(bound, 20, epsilon).unwrap();
    let distance = |reward: f64, centre: f64, clamp: bool| {
        let source = &mut Simulated::new(Stream::from_seed(17));
        let mut state = ReporterState::new(0, Epsilon::new(256.0).unwrap());
        let mut reports: Vec<f64> = (0..n)
            .map(|i| {
                if i % 200 == 0 {
                    state = ReporterState::new(i, Epsilon::new(256.0).unwrap());
                }
                let mut reporter = Reporter::attach(&mechanism, &mut state);
                let charge = reporter
                    .handle::<f64, _>(ReporterInput::Query { candidate: 0 }, source)
                    .unwrap();
                reporter
                    .handle::<f64, _>(reporter_paid(charge), source)
                    .unwrap();
                let sent = if clamp { reward } else { 0.0 };
                match reporter
                    .handle(ReporterInput::Reward(sent), source)
                    .unwrap()
                {
                    ReporterOutput::Report(release) => {
                        release.value() + if clamp { 0.0 } else { reward }
                    }
                    other => panic!("{other:?}"),
                }
            })
            .collect();
        reports.sort_by(f64::total_cmp);
        let law = |x: f64| {
            let z = (x - centre) / mechanism.scale();
            if z < 0.0 {
                0.5 * z.exp()
            } else {
                1.0 - 0.5 * (-z).exp()
            }
        };
        let gaps = reports
            .iter()
            .enumerate()
            .map(|(i, x)| (law(*x) - (f64::from(i as u32) + 0.5) / f64::from(n)).abs());
        gaps.fold(0.0, f64::max)
    };
    let critical = 2.23 / f64::from(n).sqrt();
    assert!(distance(0.3, 0.3, true) < critical);
    assert!(
        distance(5.0, bound, true) < critical
            && distance(f64::NEG_INFINITY, -bound, true) < critical
    );
    assert!(distance(f64::NAN, 0.0, true) < critical);
    // Negative controls: no clamp, and a centre that is 2 % of the range off.
    assert!(distance(5.0, bound, false) > critical);
    assert!(distance(0.3, 0.36, true) > critical);
}

#[test]
fn nonsense_is_refused_by_name() {
    let seed = run_seed();
    // Not positive semidefinite, not symmetric, not square, not finite.
    let table = KernelMatrix::from_table(2, vec![1.0, 2.0, 2.0, 1.0]).unwrap_err();
    assert!(
        matches!(table, LearnerError::NotPositiveSemidefinite { eigenvalue, .. } if (eigenvalue + 1.0).abs() < 1e-12)
    );
    for bad in [
        vec![1.0, 0.5, 0.4, 1.0],
        vec![1.0; 3],
        vec![1.0, f64::NAN, f64::NAN, 1.0],
        vec![-1.0, 0.0, 0.0, 1.0],
    ] {
        assert!(matches!(
            KernelMatrix::from_table(2, bad).unwrap_err(),
            LearnerError::Kernel(_)
        ));
    }
    let empty = KernelMatrix::from_table(0, Vec::new()).unwrap_err();
    assert!(matches!(
        empty,
        LearnerError::Kernel(KernelError::TableLength { .. })
    ));
    // Without the check the exact posterior clamps what comes out negative, and counts it.
    let bad = Table::new(2, vec![1.0, 2.0, 2.0, 1.0]).unwrap();
    let config = Config::new(Parameters {
        candidates: 2,
        ..parameters()
    })
    .unwrap();
    let mut learner = TgpUcb::new(
        config,
        seed,
        &bad,
        1,
        &[0.0, 1.0],
        vec![0.0; tgp::storage_len(2)],
    )
    .unwrap();
    follow(&mut learner, |_, _| 0.1);
    assert!(learner.variance_clamps() > 0);
    // One epoch is longer than the run.
    let matrix = KernelMatrix::new(&kernel(), 1, &points()).unwrap();
    let config = Config::new(Parameters {
        rounds: 6,
        ..parameters()
    })
    .unwrap();
    let error = MomaGpUcb::new(config, seed, matrix.clone()).unwrap_err();
    assert_eq!(
        error,
        LearnerError::EpochTooLong {
            epoch_len: 7,
            rounds: 6
        }
    );
    // Another number of candidates.
    let config = Config::new(Parameters {
        candidates: 9,
        ..parameters()
    })
    .unwrap();
    assert_eq!(
        AtaGpUcb::new(config, seed, matrix.clone()).unwrap_err(),
        LearnerError::Candidates {
            count: 25,
            expected: 9
        }
    );
    // Moments that ATA cannot use.
    let rewards = Rewards::HeavyTailed {
        norm_bound: 1.0,
        moment: 2.0,
        central_moment: 1.0,
        moment_order: 0.5,
    };
    let config = Config::new(Parameters {
        rewards,
        ..parameters()
    })
    .unwrap();
    assert!(matches!(
        AtaGpUcb::new(config, seed, matrix),
        Err(LearnerError::Config(ConfigError {
            field: "moment_order",
            ..
        }))
    ));
}

#[test]
fn reports_that_are_no_numbers_change_nothing() {
    let matrix = KernelMatrix::new(&kernel(), 1, &points()).unwrap();
    let config = Config::new(parameters()).unwrap();
    let storage = vec![0.0; tgp::storage_len(N as usize)];
    let mut learners: Vec<Box<dyn Learner<f64>>> = vec![
        Box::new(
            TgpUcb::new(config.clone(), run_seed(), &kernel(), 1, &points(), storage).unwrap(),
        ),
        Box::new(AtaGpUcb::new(config.clone(), run_seed(), matrix.clone()).unwrap()),
        Box::new(MomaGpUcb::new(config, run_seed(), matrix).unwrap()),
    ];
    for learner in &mut learners {
        let plain = run_disturbed(&mut **learner);
        assert_eq!(plain.len(), T as usize);
        assert!(learner.mean().iter().all(|mean| mean.is_finite()));
        let unexpected = LearnerError::UnexpectedInput {
            phase: Phase::Done,
            input: "Report",
        };
        assert_eq!(learner.handle(Input::Report(0.0)), Err(unexpected));
    }
}

/// Every report is preceded by three that are refused, and huge ones are taken.
fn run_disturbed(learner: &mut dyn Learner<f64>) -> Vec<u32> {
    let mut queries = Vec::new();
    let mut input = Input::Start;
    while let Output::Query { round, candidate } = learner.handle(input).unwrap() {
        for bad in [f64::NAN, f64::INFINITY, -1e101] {
            assert_eq!(
                learner.handle(Input::Report(bad)),
                Err(LearnerError::ReportNotFinite { round })
            );
        }
        assert!(learner.handle(Input::Start).is_err());
        queries.push(candidate);
        input = Input::Report(if round % 10 == 0 { 1e100 } else { 0.2 });
    }
    queries
}
