//! The posterior over weights: both forms, their law, the window, bad input.

extern crate std;
use super::*;
use crate::linalg::dot;
use std::vec;
use std::vec::Vec;

const M: usize = 8;

fn lambda<T: Scalar>(value: T) -> Regularization<T> {
    Regularization::new(value).unwrap()
}

fn data(n: usize) -> (Vec<[f64; M]>, Vec<f64>) {
    let mut stream = Stream::from_seed(4);
    let rows = (0..n)
        .map(|_| {
            let mut row = [0.0; M];
            normal::fill(&mut stream, &mut row);
            row.map(|x| x / 3.0)
        })
        .collect();
    (rows, (0..n).map(|i| 0.3 * i as f64 - 1.0).collect())
}

fn posterior(n: usize, step: usize) -> WeightPosterior<f64, Vec<f64>> {
    let (rows, y) = data(n);
    let mut posterior = WeightPosterior::new(M, lambda(0.1), vec![0.0; storage_len(M)]).unwrap();
    for count in (0..=n).step_by(step).chain([n]) {
        posterior.extend(count, |i, phi| {
            phi.copy_from_slice(&rows[i]);
            y[i]
        });
    }
    posterior
}

#[test]
fn mean_solves_the_normal_equations_in_both_forms() {
    for n in [0, 1, 4, 5, 9] {
        let (rows, y) = data(n);
        let mut nu = [0.0; M];
        posterior(n, 1).mean(&mut nu);
        for j in 0..M {
            let residual: f64 = 0.1 * nu[j]
                + rows
                    .iter()
                    .zip(&y)
                    .map(|(row, y)| row[j] * (dot(row, &nu) - y))
                    .sum::<f64>();
            assert!(residual.abs() < 1e-12, "{n} {residual}");
        }
    }
}

#[test]
fn one_by_one_and_rebuilt_have_the_same_bits() {
    for n in [3, 4, 5, 9] {
        let mut a = [0.0; M];
        let mut b = [0.0; M];
        posterior(n, 1).draw(&mut Stream::from_seed(9), &mut a);
        posterior(n, 100).draw(&mut Stream::from_seed(9), &mut b);
        assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits), "{n}");
    }
}

/// z-scores of the mean and variance of φ·ω over 4,000 draws against the exact law; `wrong` scales
/// the draw's spread.
fn moments(n: usize, wrong: f64) -> (f64, f64) {
    let draws = 4000.0;
    let mut posterior = posterior(n, 1);
    let phi: [f64; M] = core::array::from_fn(|i| 0.5 - 0.1 * i as f64);
    let mut nu = [0.0; M];
    let mut omega = [0.0; M];
    posterior.mean(&mut nu);
    let mean = dot(&phi, &nu);
    let variance = posterior.variance(&mut phi.clone());
    let mut stream = Stream::from_seed(21);
    let mut sum = 0.0;
    let mut squares = 0.0;
    for _ in 0..4000 {
        posterior.draw(&mut stream, &mut omega);
        let d = wrong * (dot(&phi, &omega) - mean);
        sum += d / draws;
        squares += d * d / draws;
    }
    (
        sum / Scalar::sqrt(variance / draws),
        (squares / variance - 1.0) / Scalar::sqrt(2.0 / draws),
    )
}

#[test]
fn draws_have_the_posterior_law_in_both_forms_and_the_test_can_fail() {
    for n in [0, 3, 9] {
        let (mean, variance) = moments(n, 1.0);
        assert!(
            mean.abs() < 4.0 && variance.abs() < 4.0,
            "{n}: {mean} {variance}"
        );
        // Negative control: 7 % too wide is 14 % too much variance, 6 standard errors.
        assert!(moments(n, 1.07).1.abs() > 4.0);
    }
}

#[test]
fn duplicates_at_vanishing_regularization_stay_finite() {
    let mut posterior =
        WeightPosterior::new(M, lambda(1e-12f32), vec![0.0; storage_len(M)]).unwrap();
    let mut omega = [0.0f32; M];
    for count in 1..=10 {
        posterior.extend(count, |_, phi| {
            phi.fill(0.35);
            1.0
        });
        posterior.draw(&mut Stream::from_seed(1), &mut omega);
        assert!(omega.iter().all(|x| f32::is_finite(*x)));
    }
}

#[test]
fn lists_and_points_have_the_same_bits() {
    // More points than go side by side, and a rest; both forms.
    const POINTS: usize = 37;
    let (rows, _) = data(POINTS);
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for n in 0..=12 {
        let mut posterior = posterior(n, 1);
        let mut mean = [0.0; POINTS];
        let mut variance = [0.0; POINTS];
        let mut nu = [0.0; M];
        let mut scratch = [f64::NAN; batch_scratch_len(M)];
        posterior
            .posteriors(rows.as_flattened(), &mut mean, &mut variance, &mut scratch)
            .unwrap();
        posterior.mean(&mut nu);
        for (i, row) in rows.iter().enumerate() {
            let one = posterior.posterior(row, &mut scratch).unwrap();
            assert_eq!(
                bits(&[mean[i], variance[i]]),
                bits(&[one.mean, one.variance]),
                "{n}"
            );
            assert_eq!(
                bits(&[one.mean, one.variance]),
                bits(&[dot(row, &nu), posterior.variance(&mut row.clone())]),
                "{n}"
            );
        }
        let before = bits(&mean);
        for (rows, places, scratch) in [
            (3 * M, 2, 8 * M),
            (3 * M + 1, 3, 64 * M),
            (3 * M, 3, batch_scratch_len(M) - 1),
        ] {
            let wrong = &vec![0.0; rows];
            let error = posterior.posteriors(
                wrong,
                &mut mean[..places],
                &mut variance[..places],
                &mut vec![0.0; scratch],
            );
            assert!(error.is_err());
        }
        assert!(posterior.posterior(&[0.0; M - 1], &mut scratch).is_err());
        assert!(posterior.posterior(&[0.0; M], &mut [0.0; M]).is_err());
        assert_eq!(bits(&mean), before);
    }
}

/// A window of w slides over all data; its mean is that of a posterior that never saw the rest.
#[test]
fn a_sliding_window_is_as_if_the_rest_had_never_been() {
    const ALL: usize = 40;
    let (rows, y) = data(ALL);
    for window in [1, 3, 4, 5, 9] {
        let mut posterior =
            WeightPosterior::new(M, lambda(0.1), vec![0.0; storage_len(M)]).unwrap();
        let mut rebuilt = 0;
        for end in 1..=ALL {
            let start = end.saturating_sub(window);
            if end > window {
                let mut oldest = rows[start - 1];
                let first = start;
                let again = |i: usize, phi: &mut [f64]| {
                    phi.copy_from_slice(&rows[first + i]);
                    y[first + i]
                };
                rebuilt += usize::from(
                    posterior.forget_oldest(&mut oldest, y[start - 1], again) == Forgotten::Rebuilt,
                );
            }
            posterior.extend(end - start, |i, phi| {
                phi.copy_from_slice(&rows[start + i]);
                y[start + i]
            });
            let mut fresh =
                WeightPosterior::new(M, lambda(0.1), vec![0.0; storage_len(M)]).unwrap();
            fresh.extend(end - start, |i, phi| {
                phi.copy_from_slice(&rows[start + i]);
                y[start + i]
            });
            let mut slid = [0.0; M];
            let mut never = [0.0; M];
            posterior.mean(&mut slid);
            fresh.mean(&mut never);
            assert!(
                slid.iter().zip(never).all(|(a, b)| (a - b).abs() < 1e-9),
                "{window} {end}"
            );
        }
        // Only where removing an observation changes the form is the window rebuilt every time.
        assert_eq!(rebuilt > 0, window == M / 2 + 1, "{window}: {rebuilt}");
    }
    // In single precision at tiny λ an undone rotation would lose its digits: rebuilt, and finite.
    let mut posterior =
        WeightPosterior::new(M, lambda(1e-9f32), vec![0.0; storage_len(M)]).unwrap();
    let row = |i: usize| rows[i].map(|x| x as f32);
    let replay = |from: usize| {
        move |i: usize, phi: &mut [f32]| {
            phi.copy_from_slice(&row(from + i));
            1.0
        }
    };
    posterior.extend(6, replay(0));
    let mut oldest = row(0);
    posterior.forget_oldest(&mut oldest, 1.0, replay(1));
    let mut nu = [0.0f32; M];
    posterior.mean(&mut nu);
    assert!(nu.iter().all(|x| f32::is_finite(*x)));
}

#[test]
fn refuses_nonsense() {
    let storage = [0.0f64; 3];
    assert_eq!(
        WeightPosterior::new(0, lambda(1.0), storage),
        Err(WeightsError::NoFeatures)
    );
    let expected = storage_len(4);
    assert_eq!(
        WeightPosterior::new(4, lambda(1.0), storage),
        Err(WeightsError::Storage { len: 3, expected })
    );
}

/// λ is judged in the format computed with: what `f64` holds may be 0 or infinite in `f32`.
#[test]
fn lambda_is_checked_in_the_format_computed_with() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Regularization::<f64>::from_f64(value).unwrap_err();
        assert!(
            matches!(refused, WeightsError::Regularization { value: found } if found.to_bits() == value.to_bits())
        );
    }
    for value in [1e-50, 1e50] {
        assert_eq!(
            Regularization::<f32>::from_f64(value),
            Err(WeightsError::Regularization { value })
        );
        assert_eq!(
            Regularization::<f64>::from_f64(value).unwrap().value(),
            value
        );
    }
}

#[test]
fn digesting_in_slices_gives_the_same_bits() {
    const M: usize = 10;
    let mut stream = Stream::from_seed(31);
    let mut rows = [0.0f64; 20 * M];
    normal::fill(&mut stream, &mut rows);
    let replay = |i: usize, phi: &mut [f64]| {
        phi.copy_from_slice(&rows[i * M..][..M]);
        i as f64 * 0.1 - 0.5
    };
    let lambda = Regularization::new(0.02).unwrap();
    let new = || WeightPosterior::new(M, lambda, [f64::NAN; storage_len(M)]).unwrap();
    // Within the dual form, to the first primal count, over it, and in two stages.
    for counts in [&[4][..], &[6], &[20], &[5, 6], &[3, 12, 20]] {
        for slice in [1, 2, 5, 100] {
            let mut whole = new();
            let mut sliced = new();
            for count in counts {
                whole.extend(*count, replay);
                let mut steps = 0;
                loop {
                    let mut left = slice;
                    steps += 1;
                    let step = sliced.extend_step(*count, &mut left, replay);
                    assert!(left < slice);
                    if step.is_ready() {
                        break;
                    }
                    assert!(left == 0 && sliced.observations() < *count);
                }
                assert!(slice < 100 || steps == 1);
                let mut a = [0.0; M];
                let mut b = [0.0; M];
                whole.draw(&mut Stream::from_seed(32), &mut a);
                sliced.draw(&mut Stream::from_seed(32), &mut b);
                assert_eq!(
                    (a.map(f64::to_bits), sliced.observations()),
                    (b.map(f64::to_bits), *count)
                );
            }
        }
    }
    // A rebuild that is given up for a smaller count.
    let mut whole = new();
    let mut sliced = new();
    assert!(sliced.extend_step(8, &mut 3, replay).is_pending());
    assert_eq!(sliced.observations(), 0);
    sliced.extend(4, replay);
    whole.extend(4, replay);
    let mut a = [0.0; M];
    let mut b = [0.0; M];
    whole.mean(&mut a);
    sliced.mean(&mut b);
    assert_eq!(a, b);
}
