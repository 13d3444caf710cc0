//! Random kernels, sizes and data: no NaN, no panic, lists equal points; in both formats.

use super::*;
use crate::features::{RandomFourier, random_fourier};
use crate::surrogate::weights::WeightsError;

/// 10^u, u uniform between `low` and `high`.
fn power<T: Scalar>(stream: &mut Stream, low: f64, high: f64) -> T {
    T::from_f64(crate::math::pow(
        10.0,
        low + stream.unit::<f64>() * (high - low),
    ))
}

fn same<T: Scalar>(a: T, b: T) -> bool {
    a.to_f64().to_bits() == b.to_f64().to_bits()
}

/// One case of data and a model.
struct Case<T> {
    dim: usize,
    kernel: StationaryKernel<T>,
    signal: T,
    noise: T,
    /// Inputs, every third a repeat, exact or nearly.
    x: Vec<T>,
    y: Vec<T>,
    tests: Vec<T>,
}

const TESTS: usize = 19;

impl<T: Scalar> Case<T> {
    fn random(stream: &mut Stream, number: u32) -> Self {
        let dim = 1 + stream.below(3) as usize;
        let n = stream.below(24) as usize;
        let shape = Stationary::ALL[stream.below(4) as usize];
        let lengthscale = power(stream, -3.0, 3.0);
        let signal = power(stream, -6.0, 6.0);
        let noise = if number.is_multiple_of(4) {
            T::ZERO
        } else {
            power(stream, -20.0, 2.0)
        };
        let scale: T = power(stream, -6.0, 6.0);
        let mut x: Vec<T> = Vec::new();
        for i in 0..n {
            if i % 3 == 2 {
                let first =
                    x[0] * (T::ONE + T::from_u32(i as u32 % 2) * T::EPSILON * T::from_u32(8));
                x.push(first);
                x.extend_from_within(1..dim);
            } else {
                x.extend((0..dim).map(|_| scale * stream.unit::<T>()));
            }
        }
        let y = (0..n).map(|_| power::<T>(stream, -6.0, 6.0)).collect();
        let tests = (0..TESTS * dim).map(|_| stream.unit()).collect();
        let kernel = StationaryKernel::with_shape(shape, lengthscale, signal).unwrap();
        Case {
            dim,
            kernel,
            signal,
            noise,
            x,
            y,
            tests,
        }
    }

    fn n(&self) -> usize {
        self.y.len()
    }

    /// A posterior of rows; how many observations were refused as determined by others.
    fn rows(&self, number: u32) -> (ExactGp<T, StationaryKernel<T>, Vec<T>>, u32) {
        let storage = vec![T::ZERO; exact::storage_len(self.dim, self.n())];
        let mut gp = ExactGp::new(self.kernel, self.noise, self.dim, self.n(), storage).unwrap();
        let mut refused = 0;
        for (i, (x, y)) in self.x.chunks(self.dim).zip(&self.y).enumerate() {
            match gp.observe(x, *y) {
                Ok(_) => {}
                Err(SurrogateError::Singular(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
            if number.is_multiple_of(7) && i % 5 == 4 && !gp.is_empty() {
                gp.remove(gp.len() / 2).unwrap();
            }
        }
        (gp, refused)
    }
}

fn rows_are_sound<T: Scalar>(
    case: &Case<T>,
    gp: &mut ExactGp<T, StationaryKernel<T>, Vec<T>>,
    stream: &mut Stream,
) {
    let mut mean = [T::ZERO; TESTS];
    let mut variance = [T::ZERO; TESTS];
    let mut scratch = vec![T::ZERO; exact::batch_scratch_len(gp.len())];
    gp.posteriors(&case.tests, &mut mean, &mut variance, &mut scratch)
        .unwrap();
    let most = case.signal * (T::ONE + T::EPSILON * T::from_u32(64));
    for (x, (mean, variance)) in case.tests.chunks(case.dim).zip(mean.iter().zip(variance)) {
        let found = gp.posterior(x).unwrap();
        assert!(
            found.mean.is_finite() && found.variance >= T::ZERO && found.variance <= most,
            "{found:?}"
        );
        assert!(same(found.mean, *mean) && same(found.variance, variance));
    }
    assert!(gp.log_marginal_likelihood().is_finite());
    let mut gradient = [T::ZERO; 3];
    let mut scratch = vec![T::ZERO; fit::scratch_len(gp.len())];
    if fit::log_marginal_likelihood(
        gp.kernel(),
        case.noise,
        &gp.observations(),
        &mut gradient,
        &mut scratch,
    )
    .is_ok()
    {
        assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
    }
    let mut factor = vec![T::ZERO; packed_len(TESTS)];
    let mut out = [T::ZERO; TESTS];
    let mut scratch = vec![T::ZERO; TESTS * gp.len() + TESTS];
    match joint::draw_exact(gp, &case.tests, stream, &mut factor, &mut scratch, &mut out) {
        Ok(_) => assert!(out.iter().all(|f| f.is_finite())),
        Err(SurrogateError::Singular(_)) => {}
        Err(other) => panic!("{other}"),
    }
}

/// A drawn function, and a posterior over weights, on the same random features.
fn features_are_sound<T: Scalar>(
    case: &Case<T>,
    gp: &ExactGp<T, StationaryKernel<T>, Vec<T>>,
    stream: &mut Stream,
) {
    let n = gp.len();
    let m = 1 + stream.below(24) as usize;
    let shape = *case.kernel.shape();
    let mut frequencies = vec![T::ZERO; random_fourier::storage_len(case.dim, m)];
    let lengthscale = case.kernel.lengthscale(0).to_f64();
    random_fourier::draw(1, 0, shape, &[lengthscale], case.dim, m, &mut frequencies).unwrap();
    let map = RandomFourier::new(case.dim, m, case.signal, false, &frequencies[..]).unwrap();
    let mut weights = vec![T::ZERO; m];
    let mut update = vec![T::ZERO; n];
    let mut scratch =
        vec![T::ZERO; pathwise::batch_scratch_len(m, n).max(pathwise::scratch_len(m, n))];
    let draw =
        pathwise::PathwiseDraw::new(gp, &map, stream, &mut weights, &mut update, &mut scratch)
            .unwrap();
    let mut values = [T::ZERO; TESTS];
    draw.values(gp, &map, &case.tests, &mut values, &mut scratch)
        .unwrap();
    for (x, value) in case.tests.chunks(case.dim).zip(values) {
        let one = draw.value(gp, &map, x, &mut scratch).unwrap();
        assert!(one.is_finite() && same(one, value), "{one}");
    }
    let phi = |x: &[T]| {
        let mut phi = vec![T::ZERO; m];
        map.features(x, &mut phi);
        phi
    };
    let lambda = case.noise.max(T::from_f64(1e-14));
    let regularization = weights::Regularization::new(lambda).unwrap();
    let mut posterior =
        WeightPosterior::new(m, regularization, vec![T::ZERO; weights::storage_len(m)]).unwrap();
    let rows: Vec<T> = case.tests.chunks(case.dim).flat_map(phi).collect();
    let mut mean = [T::ZERO; TESTS];
    let mut variance = [T::ZERO; TESTS];
    let mut scratch = vec![T::ZERO; weights::batch_scratch_len(m)];
    for count in 0..=case.n() {
        posterior.extend(count, |i, out| {
            out.copy_from_slice(&phi(&case.x[i * case.dim..][..case.dim]));
            case.y[i]
        });
        let mut omega = vec![T::ZERO; m];
        posterior.draw(stream, &mut omega);
        assert!(
            omega.iter().all(|w| w.is_finite()),
            "a draw after {count} of {m}, λ = {lambda}"
        );
        posterior
            .posteriors(&rows, &mut mean, &mut variance, &mut scratch)
            .unwrap();
        for (row, (mean, variance)) in rows.chunks(m).zip(mean.iter().zip(variance)) {
            let one = posterior.posterior(row, &mut scratch).unwrap();
            assert!(
                one.mean.is_finite() && one.variance >= T::ZERO && one.variance.is_finite(),
                "{one:?}"
            );
            assert!(same(one.mean, *mean) && same(one.variance, variance));
        }
    }
    assert!(matches!(
        posterior.posterior(&rows, &mut scratch),
        Err(WeightsError::Features { .. })
    ));
}

/// Both engines of a known list, observed at random.
fn lists_are_sound<T: Scalar>(case: &Case<T>, stream: &mut Stream) {
    let n = case.n();
    let count = case.x.len() / case.dim;
    if count == 0 {
        return;
    }
    let storage = vec![T::ZERO; candidates::storage_len(count, n)];
    let mut list =
        CandidateGp::new(case.kernel, case.noise, case.dim, &case.x[..], n, storage).unwrap();
    let least = case
        .noise
        .max(T::from_f64(1024.001) * T::EPSILON * case.signal);
    let storage = vec![T::ZERO; finite::storage_len(count)];
    let mut full = FiniteGp::new(&case.kernel, least, case.dim, &case.x, storage).unwrap();
    // Its points times the tests, with the same kernel twice.
    let side = |points| crate::surrogate::grid::Side {
        kernel: case.kernel,
        dim: case.dim,
        points,
    };
    let least = case
        .noise
        .max(T::from_f64(1024.001) * T::EPSILON * case.signal * case.signal);
    let storage =
        vec![T::ZERO; crate::surrogate::grid::storage_len(count, case.tests.len() / case.dim, n)];
    let mut product =
        GridGp::new(side(&case.x[..]), side(&case.tests[..]), least, n, storage).unwrap();
    for _ in 0..n {
        let i = stream.below(count as u32) as usize;
        let _ = list.observe(i, T::ONE);
        let _ = full.observe(i, T::ONE);
        let _ = product.observe(i, T::ONE);
    }
    let all = list
        .mean()
        .iter()
        .chain(list.variance())
        .chain(full.mean())
        .chain(full.covariance());
    let all = all.chain(product.mean()).chain(product.variance());
    assert!(all.into_iter().all(|x| x.is_finite()));
    let mut factor = vec![T::ZERO; packed_len(count)];
    let mut out = vec![T::ZERO; count];
    match joint::draw_finite(&full, stream, &mut factor, &mut out) {
        Ok(_) => assert!(out.iter().all(|x| x.is_finite())),
        Err(SurrogateError::Singular(_)) => {}
        Err(other) => panic!("{other}"),
    }
}

fn check<T: Scalar>(cases: u32) {
    let mut stream = Stream::from_seed(12);
    let mut refused = 0;
    let mut seen = 0;
    for number in 0..cases {
        let case = Case::<T>::random(&mut stream, number);
        let (mut gp, singular) = case.rows(number);
        (refused, seen) = (refused + singular, seen + case.n() as u32);
        rows_are_sound(&case, &mut gp, &mut stream);
        features_are_sound(&case, &gp, &mut stream);
        lists_are_sound(&case, &mut stream);
    }
    // Half of the observations at least were of use.
    assert!(
        seen > 8 * cases && refused < seen / 2,
        "{refused} of {seen}"
    );
}

#[test]
fn random_kernels_sizes_and_data_give_no_nan_and_no_panic() {
    check::<f64>(400);
}

#[test]
fn random_kernels_sizes_and_data_give_no_nan_and_no_panic_in_single_precision() {
    check::<f32>(400);
}

#[test]
fn numbers_that_are_none_are_refused_by_every_engine() {
    let kernel = SquaredExponential::new(0.3f32, 1.0).unwrap();
    let mut gp = ExactGp::new(kernel, 0.1, 1, 4, vec![0.0; exact::storage_len(1, 4)]).unwrap();
    let mut list = CandidateGp::new(
        kernel,
        0.1,
        1,
        [0.0, 1.0],
        4,
        vec![0.0; candidates::storage_len(2, 4)],
    )
    .unwrap();
    let mut full = FiniteGp::new(
        &kernel,
        0.1,
        1,
        &[0.0, 1.0],
        vec![0.0; finite::storage_len(2)],
    )
    .unwrap();
    for bad in [f32::NAN, f32::INFINITY, -f32::INFINITY] {
        assert!(
            gp.observe(&[0.0], bad).is_err()
                && list.observe(0, bad).is_err()
                && full.observe(0, bad).is_err()
        );
        assert!(gp.observe(&[bad], 0.0).is_err());
    }
    assert!(gp.is_empty() && list.is_empty() && full.observations() == 0);
}
