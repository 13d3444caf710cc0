//! Rows of the other kernels and features, of fits and draws, and of the optimiser.

use sordino_core::acquisition::maximize::BoxSearch;
use sordino_core::domain::BoxDomain;
use sordino_core::features::{
    FeatureMap, Nystrom, PairedFourier, QuadratureFourier, RandomFourier, nystrom, orthogonal,
    quadrature, random_fourier,
};
use sordino_core::kernel::{
    Kernel, Linear, LogGradient, Matern32, Matern52, Product, Scaled, SquaredExponential,
    Stationary, StationaryKernel, Table,
};
use sordino_core::linalg::packed_len;
use sordino_core::math::Scalar;
use sordino_core::optimizer::{self, Acquisition, LogEntry, Optimizer, Settings};
use sordino_core::random::Stream;
use sordino_core::surrogate::fit::{self, FitConfig, Observations};
use sordino_core::surrogate::pathwise::{self, PathwiseDraw};
use sordino_core::surrogate::weights::{self, Regularization, WeightPosterior};
use sordino_core::surrogate::{ExactGp, FiniteGp, exact, finite, information_gain, joint};

use super::{Emit, Fold};

const DIM: usize = 2;
/// Points and observations.
const N: usize = 16;
/// Features of a draw.
const M: usize = 12;

pub(super) fn rows(emit: Emit<'_>) {
    emit("kernel::linear f64", &linear::<f64>);
    emit("kernel::linear f32", &linear::<f32>);
    emit("kernel::table f64", &table::<f64>);
    emit("kernel::table f32", &table::<f32>);
    emit("kernel::scaled f64", &scaled::<f64>);
    emit("kernel::scaled f32", &scaled::<f32>);
    emit("kernel::gradient f64", &gradients::<f64>);
    emit("kernel::gradient f32", &gradients::<f32>);
    emit("features::orthogonal f64", &orthogonal_features::<f64>);
    emit("features::orthogonal f32", &orthogonal_features::<f32>);
    emit("features::paired f64", &paired::<f64>);
    emit("features::paired f32", &paired::<f32>);
    emit("features::quadrature f64", &quadrature_features::<f64>);
    emit("features::quadrature f32", &quadrature_features::<f32>);
    emit("features::nystrom f64", &nystrom_features::<f64>);
    emit("features::nystrom f32", &nystrom_features::<f32>);
    emit("surrogate::repeats f64", &repeats::<f64>);
    emit("surrogate::repeats f32", &repeats::<f32>);
    emit("surrogate::fit f64", &fits::<f64>);
    emit("surrogate::fit f32", &fits::<f32>);
    emit("surrogate::joint f64", &joint_draws::<f64>);
    emit("surrogate::joint f32", &joint_draws::<f32>);
    emit("surrogate::pathwise f64", &pathwise_draws::<f64>);
    emit("surrogate::pathwise f32", &pathwise_draws::<f32>);
    emit("surrogate::weights list f64", &weight_lists::<f64>);
    emit("surrogate::weights list f32", &weight_lists::<f32>);
    emit("surrogate::gain f64", &gains::<f64>);
    emit("surrogate::gain f32", &gains::<f32>);
    emit("optimizer f64", &optimise::<f64>);
    emit("optimizer f32", &optimise::<f32>);
    emit("optimizer repeats f64", &optimise_repeats::<f64>);
    emit("optimizer repeats f32", &optimise_repeats::<f32>);
}

fn points<T: Scalar>() -> [T; DIM * N] {
    let mut stream = Stream::from_seed(60);
    core::array::from_fn(|_| stream.unit())
}

fn value<T: Scalar>(i: usize) -> T {
    T::from_u32(i as u32 * 7 % 11) * T::from_f64(0.2) - T::ONE
}

/// All covariances of a kernel between the points.
fn covariances<T: Scalar>(fold: &mut Fold, kernel: &impl Kernel<T>, points: &[T], dim: usize) {
    let mut out = [T::ZERO; N];
    for x in points.chunks_exact(dim) {
        kernel.covariances(x, points, &mut out);
        fold.all(&out);
        fold.add(kernel.variance(x));
    }
}

fn linear<T: Scalar>(fold: &mut Fold) {
    let Ok(kernel) = Linear::new([T::from_f64(0.7), T::from_f64(1.9)], T::from_f64(1.3)) else {
        return;
    };
    covariances(fold, &kernel, &points::<T>(), DIM);
}

fn table<T: Scalar>(fold: &mut Fold) {
    let matrix: [T; N * N] =
        core::array::from_fn(|i| T::ONE / T::from_u32(1 + (i / N).abs_diff(i % N) as u32));
    let Ok(kernel) = Table::new(N, matrix) else {
        return;
    };
    let indices: [T; N] = core::array::from_fn(|i| T::from_u32(i as u32 * 3 % 17));
    covariances(fold, &kernel, &indices, 1);
}

fn scaled<T: Scalar>(fold: &mut Fold) {
    let first = SquaredExponential::new(T::from_f64(0.3), T::ONE);
    let second = Matern32::new(T::from_f64(0.5), T::ONE);
    let (Ok(first), Ok(second)) = (first, second) else {
        return;
    };
    let Ok(second) = Scaled::new(T::from_f64(0.6), second) else {
        return;
    };
    covariances(fold, &Product::new(1, first, second), &points::<T>(), DIM);
}

fn gradients<T: Scalar>(fold: &mut Fold) {
    let points = points::<T>();
    let lengthscales = [T::from_f64(0.3), T::from_f64(0.7)];
    for shape in Stationary::ALL {
        let Ok(kernel) = StationaryKernel::ard_with_shape(shape, lengthscales, T::from_f64(1.4))
        else {
            return;
        };
        for pair in points.chunks_exact(2 * DIM) {
            let mut out = [T::ZERO; DIM + 1];
            kernel.add_log_gradient(&pair[..DIM], &pair[DIM..], T::from_f64(0.9), &mut out);
            fold.all(&out);
        }
    }
}

fn features<T: Scalar>(fold: &mut Fold, map: &impl FeatureMap<T>) {
    let mut phi = [T::ZERO; 144];
    for x in points::<T>().chunks_exact(DIM) {
        map.features(x, &mut phi);
        fold.all(phi.get(..map.count()).unwrap_or(&[]));
    }
}

/// Orthogonal frequencies and phases of Matérn 5/2.
fn frequencies<T: Scalar>() -> [T; random_fourier::storage_len(DIM, M)] {
    let mut storage = [T::ZERO; random_fourier::storage_len(DIM, M)];
    let mut scratch = [0.0; DIM * DIM + DIM];
    // A refusal would leave zeros, which the table would show.
    let _ = orthogonal::draw(
        8,
        1,
        Stationary::Matern52,
        &[0.3, 0.2],
        DIM,
        M,
        &mut storage,
        &mut scratch,
    );
    storage
}

fn orthogonal_features<T: Scalar>(fold: &mut Fold) {
    let storage = frequencies::<T>();
    fold.all(&storage);
    let Ok(map) = RandomFourier::new(DIM, M, T::from_f64(1.5), false, storage) else {
        return;
    };
    features(fold, &map);
}

fn paired<T: Scalar>(fold: &mut Fold) {
    let Ok(map) = PairedFourier::new(DIM, M, T::from_f64(1.5), frequencies::<T>()) else {
        return;
    };
    features(fold, &map);
}

fn quadrature_features<T: Scalar>(fold: &mut Fold) {
    const NODES: usize = 12;
    let storage = [T::ZERO; quadrature::storage_len(DIM, NODES)];
    let map = QuadratureFourier::new::<T>(DIM, NODES, &[0.3, 0.4], 1.5, 1.0, 0.1, storage);
    // Too few nodes: the refusal names the error and what would do.
    let few = QuadratureFourier::new::<T>(DIM, 4, &[0.3, 0.4], 1.5, 1.0, 0.1, storage)
        .map(|map| map.kernel_error());
    fold.word(u64::from(few.is_err()));
    let Ok(map) = map else { return };
    fold.add(map.kernel_error());
    features(fold, &map);
}

/// A dictionary with a repeated point.
fn nystrom_features<T: Scalar>(fold: &mut Fold) {
    const POINTS: usize = 6;
    let points = points::<T>();
    let mut scratch = [T::ZERO; nystrom::scratch_len(POINTS)];
    let mut dictionary: [T; DIM * POINTS] = core::array::from_fn(|i| points[i]);
    dictionary.copy_within(..DIM, 4 * DIM);
    let Ok(kernel) = Matern52::new(T::from_f64(0.4), T::ONE) else {
        return;
    };
    let root = [T::ZERO; nystrom::storage_len(POINTS)];
    let Ok(map) = Nystrom::new(kernel, DIM, dictionary, root, &mut scratch) else {
        return;
    };
    fold.word(map.rank() as u64);
    let mut phi = [T::ZERO; POINTS];
    for x in points.chunks_exact(DIM) {
        map.features(x, &mut phi, &mut scratch);
        fold.all(&phi);
    }
}

/// Observations of noise so small that repeats are merged.
fn repeats<T: Scalar>(fold: &mut Fold) {
    let points = points::<T>();
    let Ok(kernel) = Matern32::new(T::from_f64(0.3), T::ONE) else {
        return;
    };
    let storage = [T::ZERO; exact::storage_len(DIM, 8)];
    let Ok(mut gp) = ExactGp::new(kernel, T::from_f64(1e-14), DIM, 8, storage) else {
        return;
    };
    for i in 0..N {
        fold.word(u64::from(
            gp.observe(&points[i % 5 * DIM..][..DIM], value(i)).is_err(),
        ));
    }
    fold.all(gp.counts());
    fold.all(gp.scatters());
    fold.all(gp.targets());
    fold.add(gp.log_marginal_likelihood());
}

fn fits<T: Scalar>(fold: &mut Fold) {
    let points = points::<T>();
    let number = T::from_f64;
    let (y, mut counts, mut scatters) = (
        core::array::from_fn::<T, N, _>(value),
        [T::ONE; N],
        [T::ZERO; N],
    );
    (counts[3], scatters[3]) = (number(4.0), number(0.3));
    let data = Observations {
        points: &points,
        y: &y,
        counts: &counts,
        scatters: &scatters,
    };
    let bounds = [
        (number(0.05), number(2.0)),
        (number(0.05), number(2.0)),
        (number(0.1), number(10.0)),
        (number(1e-3), T::ONE),
    ];
    let config = FitConfig {
        bounds: &bounds,
        starts: 2,
        evaluations_per_start: 12,
    };
    let mut parameters = [number(0.4), number(0.4), T::ONE, number(0.1)];
    let mut scratch = [T::ZERO; fit::scratch_len(N)];
    let found = fit::maximize(
        &config,
        &mut parameters,
        &data,
        &mut scratch,
        |p| match *p {
            [a, b, signal] => {
                StationaryKernel::ard_with_shape(Stationary::Matern52, [a, b], signal).ok()
            }
            _ => None,
        },
    );
    let Ok(found) = found else { return };
    fold.word(u64::from(found.evaluations));
    fold.all(&parameters);
    fold.add(found.log_marginal_likelihood);
}

/// Half of the points observed.
fn posterior<T: Scalar>() -> Option<ExactGp<T, Matern52<T>, [T; exact::storage_len(DIM, N / 2)]>> {
    let kernel = Matern52::new(T::from_f64(0.3), T::ONE).ok()?;
    let storage = [T::ZERO; exact::storage_len(DIM, N / 2)];
    let mut gp = ExactGp::new(kernel, T::from_f64(0.01), DIM, N / 2, storage).ok()?;
    for (i, x) in points::<T>().chunks_exact(DIM).take(N / 2).enumerate() {
        gp.observe(x, value(i)).ok()?;
    }
    Some(gp)
}

fn joint_draws<T: Scalar>(fold: &mut Fold) {
    let (Some(gp), points, mut stream) = (posterior::<T>(), points::<T>(), Stream::from_seed(61))
    else {
        return;
    };
    let mut factor = [T::ZERO; packed_len(N)];
    let mut scratch = [T::ZERO; N * N / 2 + N];
    let mut out = [T::ZERO; N];
    // The last points are the first again, so that the ladder of jitter is climbed.
    let mut points = points;
    points.copy_within(..4 * DIM, (N - 4) * DIM);
    for _ in 0..4 {
        let jitter = joint::draw_exact(
            &gp,
            &points,
            &mut stream,
            &mut factor,
            &mut scratch,
            &mut out,
        );
        jitter
            .into_iter()
            .for_each(|jitter| fold.all(&[jitter.relative, jitter.absolute]));
        fold.all(&out);
    }
    let storage = [T::ZERO; finite::storage_len(N)];
    let Ok(mut gp) = FiniteGp::new(gp.kernel(), T::from_f64(0.01), DIM, &points, storage) else {
        return;
    };
    fold.word(u64::from(gp.observe(3, T::ONE).is_err()));
    let jitter = joint::draw_finite(&gp, &mut stream, &mut factor, &mut out);
    jitter
        .into_iter()
        .for_each(|jitter| fold.add(jitter.relative));
    fold.all(&out);
}

fn pathwise_draws<T: Scalar>(fold: &mut Fold) {
    let (Some(gp), points, mut stream) = (posterior::<T>(), points::<T>(), Stream::from_seed(62))
    else {
        return;
    };
    let Ok(map) = RandomFourier::new(DIM, M, T::ONE, false, frequencies::<T>()) else {
        return;
    };
    let mut weights = [T::ZERO; M];
    let mut update = [T::ZERO; N / 2];
    let mut out = [T::ZERO; N];
    let mut scratch = [T::ZERO; pathwise::batch_scratch_len(M, N / 2)];
    for _ in 0..4 {
        let Ok(draw) = PathwiseDraw::new(
            &gp,
            &map,
            &mut stream,
            &mut weights,
            &mut update,
            &mut scratch,
        ) else {
            return;
        };
        fold.word(u64::from(
            draw.values(&gp, &map, &points, &mut out, &mut scratch)
                .is_err(),
        ));
        fold.all(&out);
    }
}

/// Means and variances of all points, in both forms.
fn weight_lists<T: Scalar>(fold: &mut Fold) {
    let points = points::<T>();
    let mut rows = [T::ZERO; N * M];
    let Ok(map) = RandomFourier::new(DIM, M, T::ONE, true, frequencies::<T>()) else {
        return;
    };
    points
        .chunks_exact(DIM)
        .zip(rows.chunks_exact_mut(M))
        .for_each(|(x, phi)| map.features(x, phi));
    let storage = [T::ZERO; weights::storage_len(M)];
    let Ok(lambda) = Regularization::from_f64(0.01) else {
        return;
    };
    let Ok(mut posterior) = WeightPosterior::new(M, lambda, storage) else {
        return;
    };
    let mut mean = [T::ZERO; N];
    let mut variance = [T::ZERO; N];
    for count in 0..N {
        posterior.extend(count, |i, phi| {
            phi.copy_from_slice(&rows[i * M..][..M]);
            value(i)
        });
        let mut scratch = [T::ZERO; weights::batch_scratch_len(M)];
        fold.word(u64::from(
            posterior
                .posteriors(&rows, &mut mean, &mut variance, &mut scratch)
                .is_err(),
        ));
        fold.all(&mean);
        fold.all(&variance);
    }
}

fn gains<T: Scalar>(fold: &mut Fold) {
    let Ok(kernel) = Matern52::new(T::from_f64(0.3), T::ONE) else {
        return;
    };
    let storage = [T::ZERO; finite::storage_len(N)];
    let Ok(mut gp) = FiniteGp::new(&kernel, T::from_f64(0.1), DIM, &points::<T>(), storage) else {
        return;
    };
    let mut gains = [T::ZERO; N];
    let mut indices = [0; N];
    let _ = information_gain::greedy(&mut gp, &mut gains, &mut indices);
    fold.all(&gains);
    indices
        .iter()
        .for_each(|index| fold.word(u64::from(*index)));
    fold.add(information_gain::upper_bound(gains[N - 1]));
}

/// Ask and tell, with the fits that come by themselves.
fn optimise<T: Scalar>(fold: &mut Fold) {
    const ROUNDS: usize = 12;
    let Ok(domain) = BoxDomain::new(&[(-5.0, 10.0), (0.0, 15.0)]) else {
        return;
    };
    let storage = [T::ZERO; optimizer::storage_len(DIM, ROUNDS)];
    let Ok(mut optimizer) = Optimizer::new(domain, Settings::default(), ROUNDS, storage) else {
        return;
    };
    for _ in 0..ROUNDS {
        let Ok(x) = optimizer.suggest() else { return };
        fold.all(&x);
        let a = x[0] - T::from_f64(3.0);
        let b = x[1] - T::from_f64(2.0);
        fold.word(u64::from(optimizer.observe(&x, -(a * a) - b * b).is_err()));
        fold.all(optimizer.lengthscales());
        fold.add(optimizer.noise_fraction());
    }
}

/// Ask and tell at a quantised value with a plateau, fits and a refusal on the way, and resumed
/// from its log at the end: the last number is 0 if no observation but the infinite one and no fit
/// was refused and the resumed one asks for the same point.
fn optimise_repeats<T: Scalar>(fold: &mut Fold) {
    const ROUNDS: usize = 18;
    let acquisition = Acquisition::UpperConfidenceBound { width: 2.0 };
    let search = Some(BoxSearch {
        scan: 32,
        near: 12,
        climbs: 1,
        evaluations_per_climb: 12,
    });
    let settings = Settings {
        acquisition,
        search,
        shape: Stationary::SquaredExponential,
        ..Settings::default()
    };
    let Ok(domain) = BoxDomain::new(&[(0.0, 1.0)]) else {
        return;
    };
    let storage = || [T::ZERO; optimizer::storage_len(1, ROUNDS)];
    let Ok(mut optimizer) = Optimizer::new(domain.clone(), settings, ROUNDS, storage()) else {
        return;
    };
    let mut log = [const { None::<LogEntry<T>> }; 2 * ROUNDS];
    let mut unfitted = 0;
    for round in 0..ROUNDS {
        let Ok(x) = optimizer.suggest() else { return };
        fold.all(&x);
        let away = x[0] - T::from_f64(0.3);
        // Whole numbers, none below 0 or above 60.
        let level = T::from_f64(64.0) * (T::ONE - T::from_f64(4.0) * away * away);
        let y = if round == 9 {
            T::INFINITY
        } else {
            T::from_u32((level.to_f64() as u32).min(60))
        };
        let _ = optimizer.observe(&x, y);
        log[2 * round] = LogEntry::told(&x, y).ok();
        if round % 6 == 5 {
            match optimizer.fit() {
                Ok(_) => log[2 * round + 1] = optimizer.take_fit(),
                Err(_) => unfitted += 1,
            }
            fold.all(optimizer.lengthscales());
            fold.add(optimizer.noise_fraction());
        }
    }
    let resumed = Optimizer::resume(
        domain,
        settings,
        ROUNDS,
        storage(),
        log.into_iter().flatten(),
    );
    let Ok(mut resumed) = resumed else { return };
    let (Ok(a), Ok(b)) = (optimizer.suggest(), resumed.suggest()) else {
        return;
    };
    fold.all(&a);
    let refused = optimizer.refused().abs_diff(1) + unfitted;
    fold.word(u64::from(refused) + u64::from(a != b));
}
