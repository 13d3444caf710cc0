//! Tests of the exact posterior.

extern crate std;
use super::*;
use crate::kernel::{Matern12, SquaredExponential, Stationary, StationaryKernel};
use crate::random::{Stream, normal};
use std::vec;
use std::vec::Vec;

type Gp<T> = ExactGp<T, SquaredExponential<T>, Vec<T>>;

fn gp<T: Scalar>(lengthscale: f64, noise_variance: f64, dim: usize, capacity: usize) -> Gp<T> {
    let kernel = SquaredExponential::new(T::from_f64(lengthscale), T::ONE).unwrap();
    let storage = vec![T::ZERO; storage_len(dim, capacity)];
    ExactGp::new(kernel, T::from_f64(noise_variance), dim, capacity, storage).unwrap()
}

fn data(n: usize, dim: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut stream = Stream::from_seed(seed);
    let points = (0..n * dim).map(|_| stream.unit()).collect();
    let mut y = vec![0.0; n];
    normal::fill(&mut stream, &mut y);
    (points, y)
}

fn filled(points: &[f64], y: &[f64], dim: usize, noise: f64) -> Gp<f64> {
    let mut gp = gp(0.2, noise, dim, y.len().max(1));
    for (x, y) in points.chunks(dim).zip(y) {
        gp.observe(x, *y).unwrap();
    }
    gp
}

fn difference(a: &mut Gp<f64>, b: &mut Gp<f64>) -> f64 {
    let mut worst = 0.0f64;
    for i in 0..50 {
        let x = [f64::from(i) / 49.0, f64::from(i * 7 % 50) / 49.0];
        let p = a.posterior(&x[..a.dim]).unwrap();
        let q = b.posterior(&x[..b.dim]).unwrap();
        worst = worst
            .max((p.mean - q.mean).abs())
            .max((p.variance - q.variance).abs());
    }
    worst
}

#[test]
fn storage_is_as_stated() {
    assert_eq!(storage_len(2, 64) * 4, 10_112);
}

#[test]
fn batch_and_point_predictions_have_the_same_bits() {
    let (points, y) = data(37, 2, 1);
    let (tests, _) = data(41, 2, 2);
    for shape in Stationary::ALL {
        for prior_mean in [0.0, -1.5] {
            let kernel = StationaryKernel::with_shape(shape, 0.3, 1.3).unwrap();
            let mut gp = ExactGp::new(kernel, 1e-6, 2, 37, vec![0.0; storage_len(2, 37)])
                .unwrap()
                .with_prior_mean(prior_mean)
                .unwrap();
            for n in 0..=37 {
                let mut mean = vec![0.0; 41];
                let mut variance = vec![0.0; 41];
                let mut scratch = vec![f64::NAN; batch_scratch_len(n)];
                gp.posteriors(&tests, &mut mean, &mut variance, &mut scratch)
                    .unwrap();
                for (i, x) in tests.chunks(2).enumerate() {
                    let one = gp.posterior(x).unwrap();
                    assert_eq!(one.mean.to_bits(), mean[i].to_bits());
                    assert_eq!(one.variance.to_bits(), variance[i].to_bits());
                }
                if n < 37 {
                    gp.observe(&points[2 * n..2 * n + 2], y[n]).unwrap();
                }
            }
        }
    }
}

#[test]
fn appending_equals_refitting_after_a_thousand_points() {
    let (points, y) = data(1000, 2, 3);
    let mut appended = filled(&points, &y, 2, 0.01);
    let mut matrix = vec![0.0; packed_len(1000)];
    for i in 0..1000 {
        let row = lower::row_mut(&mut matrix, i);
        let x = &points[2 * i..2 * i + 2];
        appended.kernel.covariances(x, &points, row);
        row[i] += 0.01;
    }
    lower::factor(&mut matrix, 1000, 0.0).unwrap();
    let mut alpha = y.clone();
    lower::solve(&matrix, &mut alpha);
    lower::solve_transposed(&matrix, &mut alpha);
    for i in 0..20 {
        let x = [f64::from(i) / 19.0, 0.3];
        let mut k = vec![0.0; 1000];
        appended.kernel.covariances(&x, &points, &mut k);
        let mean = dot(&k, &alpha);
        lower::solve(&matrix, &mut k);
        let found = appended.posterior(&x).unwrap();
        assert!(
            (found.mean - mean).abs() < 1e-10
                && (found.variance - (1.0 - dot(&k, &k))).abs() < 1e-10
        );
    }
    // Factored anew in its own storage; other parameters and back.
    let kernel = *appended.kernel();
    let mut storage = appended.clone().into_storage();
    let other = SquaredExponential::new(0.3, 1.0).unwrap();
    let mut scratch = vec![0.0; refactor_scratch_len(1000)];
    for (kernel, noise) in [(&other, 0.02), (&kernel, 0.01)] {
        refactor(
            kernel,
            noise,
            0.0,
            2,
            1000,
            1000,
            &mut storage,
            &mut scratch,
        )
        .unwrap();
    }
    let mut refactored = ExactGp::resume(kernel, 0.01, 2, 1000, 1000, storage).unwrap();
    assert!(difference(&mut appended, &mut refactored) < 1e-10);
}

#[test]
fn delete_then_add_equals_never_added() {
    let (points, y) = data(60, 2, 4);
    let mut plain = filled(&points[..80], &y[..40], 2, 0.01);
    let mut other = filled(&points, &y, 2, 0.01);
    // 20 of the later ones go, from the middle, the end and again.
    while other.len() > 40 {
        other
            .remove(40 + (other.len() * 7) % (other.len() - 40))
            .unwrap();
    }
    assert!(difference(&mut plain, &mut other) < 1e-12);
    // Negative control: one more deletion is seen.
    other.remove(0).unwrap();
    assert!(difference(&mut plain, &mut other) > 1e-6);
    assert_eq!(
        other.remove(39),
        Err(SurrogateError::Index { index: 39, len: 39 })
    );
}

#[test]
fn a_window_slides_and_equals_the_model_of_its_points() {
    let (points, y) = data(200, 2, 5);
    let mut window = gp::<f64>(0.2, 0.01, 2, 16).when_full(WhenFull::DropOldest);
    for (x, y) in points.chunks(2).zip(&y) {
        window.observe(x, *y).unwrap();
    }
    let mut plain = filled(&points[2 * 184..], &y[184..], 2, 0.01);
    assert!(difference(&mut plain, &mut window) < 1e-11);
    let mut strict = gp::<f64>(0.2, 0.01, 2, 1);
    strict.observe(&[0.1, 0.1], 0.0).unwrap();
    assert_eq!(
        strict.observe(&[0.9, 0.1], 0.0),
        Err(SurrogateError::Full { capacity: 1 })
    );
    assert_eq!(
        gp::<f64>(0.2, 0.01, 1, 0).observe(&[0.0], 1.0),
        Err(SurrogateError::Full { capacity: 0 })
    );
}

#[test]
fn twenty_duplicates_at_vanishing_noise_give_their_mean() {
    for noise_std in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 0.0] {
        let mut gp = gp::<f64>(0.3, noise_std * noise_std, 1, 24);
        gp.observe(&[0.1], -0.4).unwrap();
        let mut sum = 0.0;
        for i in 0..20 {
            let y = 1.0 + 0.01 * f64::from(i % 5);
            gp.observe(&[0.5], y).unwrap();
            sum += y / 20.0;
        }
        let found = gp.posterior(&[0.5]).unwrap();
        assert!(
            (found.mean - sum).abs() < 1e-6,
            "{noise_std}: {found:?} {sum}"
        );
        assert!(found.variance >= 0.0 && found.variance <= noise_std * noise_std + 1e-12);
        // Other points are unharmed.
        assert!((gp.posterior(&[0.1]).unwrap().mean + 0.4).abs() < 1e-6);
    }
}

#[test]
fn twenty_duplicates_in_single_precision_and_on_a_list() {
    let (kernel, number) = (SquaredExponential::new(0.3f32, 1.0).unwrap(), |i: u32| {
        1.0 + 0.01 * (i % 5) as f32
    });
    for noise_std in [1e-2f32, 1e-4, 1e-9, 0.0] {
        let mut gp = gp::<f32>(0.3, f64::from(noise_std * noise_std), 1, 24);
        let storage = vec![0.0; crate::surrogate::candidates::storage_len(2, 24)];
        let noise = noise_std * noise_std;
        let mut list =
            crate::surrogate::CandidateGp::new(kernel, noise, 1, [0.1, 0.5], 24, storage).unwrap();
        let mut refused = 0;
        for i in 0..20 {
            gp.observe(&[0.5], number(i)).unwrap();
            match list.observe(1, number(i)) {
                Ok(_) => {}
                Err(SurrogateError::Singular(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        let found = gp.posterior(&[0.5]).unwrap();
        let shrunk = 1.02 / (1.0 + noise / 20.0);
        assert!(
            (found.mean - shrunk).abs() < 1e-5 && found.variance >= 0.0,
            "{noise_std}: {found:?}"
        );
        // The list has no merging: a candidate that is known is refused, and what is there stays
        // finite and near.
        let listed = list.posterior(1).unwrap();
        assert!(
            (listed.mean - 1.02).abs() < 0.03 && listed.variance >= 0.0,
            "{noise_std}: {listed:?}"
        );
        assert_eq!(refused > 0, noise_std < 1e-3, "{noise_std}: {refused}");
    }
}

#[test]
fn merged_repeats_equal_appended_ones() {
    // The same repeats, once as rows of their own and once averaged by force: one posterior.
    let (points, y) = data(6, 1, 6);
    let mut rows = gp::<f64>(0.2, 0.05, 1, 30);
    let mut merged = gp::<f64>(0.2, 0.05, 1, 30);
    for (x, y) in points.iter().zip(&y) {
        rows.observe(&[*x], *y).unwrap();
        merged.observe(&[*x], *y).unwrap();
    }
    for i in [0, 3, 3, 5, 1, 3] {
        rows.observe(&points[i..=i], 0.7).unwrap();
        assert_eq!(merged.merge(i, 0.7), Ok(Observed::Merged { index: i }));
    }
    assert_eq!((rows.len(), merged.len()), (12, 6));
    assert!(difference(&mut rows, &mut merged) < 1e-12);
    assert_eq!(merged.nearest(&points[2..3], 1e-9), Some(2));
    assert_eq!(merged.nearest(&[points[2] + 1e-3], 1e-9), None);
    assert_eq!(merged.counts(), [2.0, 2.0, 1.0, 4.0, 1.0, 2.0]);
    // Nothing is lost to the likelihood either.
    assert!((rows.log_marginal_likelihood() - merged.log_marginal_likelihood()).abs() < 1e-10);
}

#[test]
fn repeats_can_be_refused_and_determined_points_are_never_merged() {
    let mut strict = gp::<f64>(0.3, 0.0, 1, 8).when_repeated(WhenRepeated::Refuse);
    strict.observe(&[0.5], 1.0).unwrap();
    assert!(matches!(
        strict.observe(&[0.5], 2.0),
        Err(SurrogateError::Singular(_))
    ));
    assert_eq!(strict.posterior(&[0.5]).unwrap().mean, 1.0);
    // Noiseless and very smooth: at some point a new point is determined by the others, not equal
    // to one of them.
    let mut smooth = gp::<f64>(1.0, 0.0, 1, 60);
    let mut refused = 0;
    for i in 0..60 {
        let x = f64::from(i * 37 % 61) / 61.0;
        match smooth.observe(&[x], libm::sin(3.0 * x)) {
            Ok(_) => {}
            Err(SurrogateError::Singular(error)) => {
                assert!(error.pivot <= error.threshold);
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 30);
    for i in 0..=100 {
        let x = f64::from(i) / 100.0;
        let found = smooth.posterior(&[x]).unwrap();
        assert!(
            (found.mean - libm::sin(3.0 * x)).abs() < 1e-4,
            "{x} {found:?}"
        );
    }
}

#[test]
fn nonsense_is_refused_and_changes_nothing() {
    let mut gp = gp::<f64>(0.3, 0.01, 2, 4);
    gp.observe(&[0.2, 0.3], 1.0).unwrap();
    let before = gp.posterior(&[0.3, 0.3]).unwrap();
    assert!(matches!(
        gp.observe(&[f64::NAN, 0.0], 1.0),
        Err(SurrogateError::NonFinite { .. })
    ));
    assert!(matches!(
        gp.observe(&[0.5, 0.0], f64::INFINITY),
        Err(SurrogateError::NonFinite { .. })
    ));
    assert!(matches!(
        gp.observe(&[0.5, 0.0], 1e300),
        Err(SurrogateError::NonFinite { .. })
    ));
    assert_eq!(
        gp.observe(&[0.5], 1.0),
        Err(SurrogateError::Dimension {
            expected: 2,
            given: 1
        })
    );
    assert!(gp.posterior(&[0.1, 0.2, 0.3]).is_err() && gp.posterior(&[0.1, f64::NAN]).is_err());
    assert!(
        gp.posteriors(&[0.1; 3], &mut [0.0; 2], &mut [0.0; 2], &mut [0.0; 16])
            .is_err()
    );
    assert!(matches!(
        gp.posteriors(&[0.1; 4], &mut [0.0; 2], &mut [0.0; 2], &mut [0.0; 15]),
        Err(SurrogateError::Storage {
            needed: 16,
            given: 15
        })
    ));
    assert_eq!(gp.posterior(&[0.3, 0.3]).unwrap(), before);
    let kernel = Matern12::new(0.1, 1.0).unwrap();
    assert!(ExactGp::new(kernel, f64::NAN, 1, 4, vec![0.0; 100]).is_err());
    assert!(ExactGp::new(kernel, -1.0, 1, 4, vec![0.0; 100]).is_err());
    assert!(ExactGp::new(kernel, 0.1, 0, 4, vec![0.0; 100]).is_err());
    assert!(ExactGp::new(kernel, 0.1, 1, 4, vec![0.0; 33]).is_err());
    assert!(ExactGp::resume(kernel, 0.1, 1, 4, 5, vec![0.0; 100]).is_err());
    assert!(ExactGp::resume(kernel, 0.1, 1, 4, 2, vec![f64::NAN; 100]).is_err());
}

#[test]
fn resuming_has_the_same_bits() {
    let (points, y) = data(10, 2, 7);
    let mut whole = filled(&points, &y, 2, 0.1);
    let mut half = gp::<f64>(0.2, 0.1, 2, 10);
    for (x, y) in points.chunks(2).zip(&y).take(5) {
        half.observe(x, *y).unwrap();
    }
    let storage = half.into_storage();
    let kernel = SquaredExponential::new(0.2, 1.0).unwrap();
    let mut half = ExactGp::resume(kernel, 0.1, 2, 10, 5, storage).unwrap();
    for (x, y) in points.chunks(2).zip(&y).skip(5) {
        half.observe(x, *y).unwrap();
    }
    assert_eq!(
        whole.posterior(&[0.4, 0.4]).unwrap(),
        half.posterior(&[0.4, 0.4]).unwrap()
    );
    assert_eq!(
        whole.log_marginal_likelihood().to_bits(),
        half.log_marginal_likelihood().to_bits()
    );
}

#[test]
fn a_refused_refactorisation_changes_nothing() {
    let (points, y) = data(30, 1, 21);
    let kernel = SquaredExponential::new(1.0f32, 1.0).unwrap();
    let mut gp = ExactGp::new(kernel, 1e-3, 1, 30, vec![0.0f32; storage_len(1, 30)]).unwrap();
    for (x, y) in points.iter().zip(&y) {
        gp.observe(&[*x as f32], *y as f32).unwrap();
    }
    let mut storage = gp.into_storage();
    let before = storage.clone();
    let mut scratch = vec![0.0; refactor_scratch_len(30)];
    // Thirty points on a tenth of a lengthscale without noise: no factor in this format.
    let error = refactor(&kernel, 0.0, 0.0, 1, 30, 30, &mut storage, &mut scratch).unwrap_err();
    assert!(matches!(error, SurrogateError::Singular(_)), "{error}");
    assert_eq!(storage, before);
    assert!(
        refactor(
            &kernel,
            1e-3,
            0.0,
            1,
            30,
            30,
            &mut storage,
            &mut scratch[1..]
        )
        .is_err()
    );
    assert!(
        refactor(
            &kernel,
            1e-3,
            f32::NAN,
            1,
            30,
            30,
            &mut storage,
            &mut scratch
        )
        .is_err()
    );
    assert_eq!(storage, before);
    // In place it has the same bits, and those of the rows appended one by one.
    refactor(&kernel, 1e-3, 0.0, 1, 30, 30, &mut storage, &mut scratch).unwrap();
    assert_eq!(storage, before);
    refactor_in_place(&kernel, 1e-3, 0.0, 1, 30, 30, &mut storage).unwrap();
    assert_eq!(storage, before);
}

#[test]
fn many_repeats_do_not_bring_a_row_below_the_floor() {
    const N: usize = 24;
    let kernel = SquaredExponential::new(1.0f32, 1.0).unwrap();
    let floor = crate::surrogate::noise::least_resolved::<f32>(N);
    for (floor, resolved) in [(floor, true), (0.0, false)] {
        let gp = ExactGp::new(kernel, 1e-4, 1, N + 1, vec![0.0f32; storage_len(1, N + 1)]).unwrap();
        let mut gp = gp.with_noise_floor(floor).unwrap();
        for i in 0..N {
            gp.observe(&[i as f32 / N as f32], 1.0).unwrap();
        }
        for repeat in 0..300 * N {
            let index = repeat % N;
            assert_eq!(
                gp.observe(&[index as f32 / N as f32], 1.0),
                Ok(Observed::Merged { index })
            );
        }
        assert_eq!((0..N).all(|i| gp.row_noise(i) == floor), resolved);
        let mut storage = gp.into_storage();
        // Negative control: without the floor rows of 301 observations are rounding errors.
        let again = refactor_in_place(&kernel, 1e-4, floor, 1, N + 1, N, &mut storage);
        assert_eq!(again.is_ok(), resolved, "{again:?}");
    }
    let gp = ExactGp::new(kernel, 1e-4, 1, N, vec![0.0f32; storage_len(1, N)]).unwrap();
    assert!(gp.with_noise_floor(-1.0).is_err());
}
