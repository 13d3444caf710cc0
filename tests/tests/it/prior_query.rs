//! The query of the federated prior against dense computations: the law of its draws, and whom it
//! trusts.

use sordino_core::federated::prior::{
    Draw, Factors, Model, Observations, factors_len, levels, models, query, query_scratch_len,
};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_tests::dense::*;
use sordino_tests::prior::{M, N, World, logs, small};

/// Under one model the query's function is a draw of N(αm + s²K(s²K + λI)⁻¹(y − αm), …): seen at
/// its own argmax by the mean of 4,000 draws, for a candidate list of one point. Level: 5 standard
/// errors.
#[test]
fn a_draw_follows_its_model_and_the_notes_reading_does_not() {
    let world = small(N);
    let log = logs(&world, RunSeed::new(5, 0), 1.0).remove(0);
    let observations = Observations::new(&log, 40).unwrap();
    let w: Vec<f64> = (0..M).map(|i| 0.3 - 0.1 * i as f64).collect();
    let lambda = world.config.parameters().noise_variance;
    let phi = matrix(&world.feature_rows, M);
    let f = matrix(&world.prior_rows, world.rank);
    let at = log[0] as usize;
    let alone = World {
        feature_rows: world.feature_rows.clone(),
        prior_rows: world.prior_rows.clone(),
        ..small(N)
    };
    for (trust, variance) in [(0.0, 1.0), (1.0, 0.1)] {
        let seen: Vec<usize> = log.chunks(2).map(|e| e[0] as usize).collect();
        let rows: Matrix = seen.iter().map(|x| f[*x].clone()).collect();
        let k = product(&rows, &transposed(&rows));
        let a = inverse(&combined(variance, &k, lambda, &identity(seen.len(), 1.0)));
        let common: Vec<f64> = phi
            .iter()
            .map(|row| trust * row.iter().zip(&w).map(|(a, b)| a * b).sum::<f64>())
            .collect();
        let residual: Vec<f64> = log
            .chunks(2)
            .map(|e| e[1] - common[e[0] as usize])
            .collect();
        let cross: Matrix = vec![
            rows.iter()
                .map(|r| variance * r.iter().zip(&f[at]).map(|(a, b)| a * b).sum::<f64>())
                .collect(),
        ];
        let moved = product(&product(&cross, &a), &column(&residual))[0][0];
        let own = variance * f[at].iter().map(|x| x * x).sum::<f64>();
        let spread = own - product(&product(&cross, &a), &transposed(&cross))[0][0];
        // All candidates but one are as low as can be: no function reaches it there.
        let list = alone.public(true);
        let one_phi = &world.feature_rows[at * M..][..M];
        let one_prior = &world.prior_rows[at * world.rank..][..world.rank];
        let draws = 4000;
        let mut sum = 0.0;
        for i in 0..draws {
            let model = [Model {
                trust,
                variance,
                log_prior: 0.0,
            }];
            let mut scratch = vec![0.0; query_scratch_len(observations.len(), world.rank)];
            let stream = &mut RunSeed::new(1, i).stream(Party::Agent(0), Purpose::OwnDraw, 1);
            let mut rows = 0;
            let mut numbers = vec![f64::NAN; factors_len(observations.len(), 1)];
            let factors = &mut Factors::new(observations.len(), &mut rows, &mut numbers);
            let draw = Some(&Draw {
                weights: &w,
                values: &[],
            });
            let drawn = query(
                &list,
                &model,
                draw,
                &observations,
                stream,
                factors,
                &mut scratch,
            )
            .unwrap();
            // The function of this draw: its own weights are what the scratch ends with.
            let zeta = &scratch[3 * observations.len()..];
            let value = |phi: &[f64], prior: &[f64]| -> f64 {
                trust * phi.iter().zip(&w).map(|(a, b)| a * b).sum::<f64>()
                    + prior.iter().zip(zeta).map(|(a, b)| a * b).sum::<f64>()
            };
            let best = (0..40)
                .map(|x| value(&phi[x], &f[x]))
                .fold(f64::MIN, f64::max);
            assert!((best - drawn.value).abs() < 1e-9);
            sum += value(one_phi, one_prior);
        }
        let error = 5.0 * (spread / f64::from(draws)).sqrt();
        let mean = sum / f64::from(draws);
        assert!(
            (mean - common[at] - moved).abs() < error,
            "{mean} {} {error}",
            common[at] + moved
        );
        if variance < 1.0 {
            // Negative control: a draw conditioned on unscaled residuals, times s, is another
            // function.
            assert!((mean - common[at] - variance.sqrt() * moved).abs() > error);
        }
    }
}

/// An agent whose data agree with the common draw trusts it, one whose data contradict it does not;
/// and weights are the densities of a dense computation.
#[test]
fn evidence_decides_whom_to_trust() {
    let world = small(N);
    let log = logs(&world, RunSeed::new(5, 0), 0.0).remove(0);
    let observations = Observations::new(&log, 40).unwrap();
    let lambda = world.config.parameters().noise_variance;
    let phi = matrix(&world.feature_rows, M);
    let f = matrix(&world.prior_rows, world.rank);
    let seen: Vec<usize> = log.chunks(2).map(|e| e[0] as usize).collect();
    let rows: Matrix = seen.iter().map(|x| f[*x].clone()).collect();
    let common = world.function(RunSeed::new(5, 0), Party::World);
    // Weights that give the common function: the least squares of it.
    let normal_matrix = combined(
        1.0,
        &product(&transposed(&phi), &phi),
        1e-8,
        &identity(M, 1.0),
    );
    let w: Vec<f64> = product(
        &inverse(&normal_matrix),
        &product(&transposed(&phi), &column(&common)),
    )
    .into_iter()
    .flatten()
    .collect();
    for sign in [1.0, -1.0] {
        let draw: Vec<f64> = w.iter().map(|x| sign * x).collect();
        let models = models::<f64>(0);
        let density = |model: &Model<f64>| {
            let covariance = combined(
                model.variance,
                &product(&rows, &transposed(&rows)),
                lambda,
                &identity(seen.len(), 1.0),
            );
            let residual: Vec<f64> = log
                .chunks(2)
                .map(|e| {
                    e[1] - model.trust
                        * phi[e[0] as usize]
                            .iter()
                            .zip(&draw)
                            .map(|(a, b)| a * b)
                            .sum::<f64>()
                })
                .collect();
            let quadratic = product(
                &transposed(&column(&residual)),
                &product(&inverse(&covariance), &column(&residual)),
            );
            (-0.5 * quadratic[0][0]).exp() / determinant(&covariance).sqrt()
        };
        let densities: Vec<f64> = models.iter().map(density).collect();
        let total: f64 = densities.iter().sum();
        let mut counts = [0.0; 6];
        let runs = 4000;
        for i in 0..runs {
            let stream = &mut RunSeed::new(2, i).stream(Party::Agent(0), Purpose::OwnDraw, 1);
            let mut scratch = vec![0.0; query_scratch_len(observations.len(), world.rank)];
            let public = world.public(true);
            let mut rows = 0;
            let mut numbers = vec![f64::NAN; factors_len(observations.len(), levels(&models))];
            let factors = &mut Factors::new(observations.len(), &mut rows, &mut numbers);
            let draw = Some(&Draw {
                weights: &draw,
                values: &[],
            });
            let drawn = query(
                &public,
                &models,
                draw,
                &observations,
                stream,
                factors,
                &mut scratch,
            )
            .unwrap();
            counts[drawn.model] += 1.0;
        }
        for (count, density) in counts.iter().zip(&densities) {
            let p = density / total;
            let error = 5.0 * (p * (1.0 - p) / f64::from(runs)).sqrt() + 2.0 / f64::from(runs);
            assert!(
                (count / f64::from(runs) - p).abs() < error,
                "{sign}: {counts:?} {densities:?}"
            );
        }
        let trusting = 1.0 - densities[0] / total;
        assert!(
            if sign > 0.0 {
                trusting > 0.9
            } else {
                trusting < 0.7
            },
            "{sign}: {trusting}"
        );
    }
}

/// Factors that grow, factors that are rebuilt, values of the draw that are given and that are not,
/// with a prior factor and without: the same queries to the last bit. A factor that fails leaves
/// what is there.
#[test]
fn what_is_kept_and_what_is_shared_changes_no_bit() {
    let world = small(N);
    let log = logs(&world, RunSeed::new(5, 0), 0.5).concat();
    let w: Vec<f64> = (0..M).map(|i| 0.3 - 0.1 * i as f64).collect();
    let models = models::<f64>(1);
    let capacity = 24;
    let mut chosen = [0; 6];
    for with_factor in [true, false] {
        let public = world.public(with_factor);
        let mut values = vec![0.0; world.candidates as usize];
        Draw::values_of(&public, &w, &mut values).unwrap();
        let mut ask = |n: usize, values: &[f64], rows: &mut u32, numbers: &mut [f64]| {
            let observations = Observations::new(&log[..2 * n], world.candidates as usize).unwrap();
            let stream =
                &mut RunSeed::new(1, n as u32).stream(Party::Agent(0), Purpose::OwnDraw, 1);
            let mut scratch = vec![f64::NAN; query_scratch_len(capacity, world.rank)];
            let draw = Draw {
                weights: &w,
                values,
            };
            let factors = &mut Factors::new(capacity, rows, numbers);
            let drawn = query(
                &public,
                &models,
                Some(&draw),
                &observations,
                stream,
                factors,
                &mut scratch,
            );
            drawn.map(|query| {
                chosen[query.model] += 1;
                (query.candidate, query.value.to_bits(), query.model)
            })
        };
        let mut rows = 0;
        let mut kept = vec![f64::NAN; factors_len(capacity, levels(&models))];
        for n in 0..capacity {
            let grown = ask(n, &values, &mut rows, &mut kept).unwrap();
            assert_eq!(rows as usize, n);
            assert_eq!(
                grown,
                ask(n, &[], &mut 0, &mut vec![f64::NAN; kept.len()]).unwrap()
            );
        }
        // More observations than fit, fewer than the factors hold, numbers that are missing.
        let before = (rows, kept.clone());
        assert!(ask(capacity + 1, &values, &mut rows, &mut kept).is_err());
        assert!(ask(3, &values, &mut rows, &mut kept).is_err());
        assert!(ask(capacity, &values[1..], &mut rows, &mut kept).is_err());
        let short = kept.len() - 1;
        assert!(ask(capacity, &values, &mut rows, &mut kept[..short]).is_err());
        assert!(
            rows == before.0
                && kept
                    .iter()
                    .zip(&before.1)
                    .all(|(a, b)| a.to_bits() == b.to_bits())
        );
        // Negative control: rows of other observations are another posterior.
        let mut wrong = before.1;
        wrong[0] *= 1.5;
        let right = ask(capacity, &values, &mut 0, &mut kept);
        assert!(right.is_ok() && ask(capacity, &values, &mut rows, &mut wrong) != right);
    }
    assert!(
        chosen.iter().filter(|count| **count > 0).count() >= 3,
        "{chosen:?}"
    );
}
