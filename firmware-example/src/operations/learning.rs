//! Rows of kernels, features, posteriors and proposals.

use sordino_core::acquisition::{log_expected_improvement, thompson, upper_confidence_bound};
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::kernel::{Kernel, Matern52, SquaredExponential, Stationary, StationaryKernel};
use sordino_core::math::Scalar;
use sordino_core::random::{Stream, normal};
use sordino_core::schedule::{
    Mixing, WeightConcentration, federated_confidence_width, region_weight,
};
use sordino_core::surrogate::candidates::{self, CandidateGp};
use sordino_core::surrogate::exact::{self, ExactGp, WhenFull};
use sordino_core::surrogate::finite::{self, FiniteGp};
use sordino_core::surrogate::grid::{self, GridGp, Side};
use sordino_core::surrogate::weights::{self, Regularization, WeightPosterior};

use super::{Emit, Fold};

const DIM: usize = 2;
/// Features; small, because the rows are about bits and not about cost.
const M: usize = 16;

pub(super) fn rows(emit: Emit<'_>) {
    emit("kernel f64", &kernels::<f64>);
    emit("kernel f32", &kernels::<f32>);
    emit("features f64", &features::<f64>);
    emit("features f32", &features::<f32>);
    emit("surrogate::exact f64", &exact_posterior::<f64>);
    emit("surrogate::exact f32", &exact_posterior::<f32>);
    emit("surrogate::candidates f64", &candidate_posterior::<f64>);
    emit("surrogate::candidates f32", &candidate_posterior::<f32>);
    emit("surrogate::grid f64", &grid_posterior::<f64>);
    emit("surrogate::grid f32", &grid_posterior::<f32>);
    emit("surrogate::finite f64", &finite_posterior::<f64>);
    emit("surrogate::finite f32", &finite_posterior::<f32>);
    emit("surrogate::weights f64", &weight_posterior::<f64>);
    emit("surrogate::weights f32", &weight_posterior::<f32>);
    emit("acquisition::thompson f64", &maxima::<f64>);
    emit("acquisition::thompson f32", &maxima::<f32>);
    emit("acquisition f64", &acquisitions::<f64>);
    emit("acquisition f32", &acquisitions::<f32>);
    emit("schedule f64", &schedules);
}

fn points<T: Scalar>() -> [T; 2 * DIM * 8] {
    let mut stream = Stream::from_seed(20);
    core::array::from_fn(|_| stream.unit())
}

fn kernels<T: Scalar>(fold: &mut Fold) {
    let points = points::<T>();
    let mut out = [T::ZERO; 16];
    let lengthscales = [T::from_f64(0.3), T::from_f64(0.7)];
    for shape in Stationary::ALL {
        let Ok(isotropic) = StationaryKernel::with_shape(shape, T::from_f64(0.2), T::from_f64(1.3))
        else {
            return;
        };
        let Ok(ard) = StationaryKernel::ard_with_shape(shape, lengthscales, T::from_f64(0.8))
        else {
            return;
        };
        for x in points.chunks_exact(DIM) {
            isotropic.covariances(x, &points, &mut out);
            fold.all(&out);
            ard.covariances(x, &points, &mut out);
            fold.all(&out);
        }
    }
}

/// Frequencies and phases of Matérn 5/2 features.
fn storage<T: Scalar>() -> [T; random_fourier::storage_len(DIM, M)] {
    let mut storage = [T::ZERO; random_fourier::storage_len(DIM, M)];
    // A refusal would leave zeros, which the table would show.
    let _ = random_fourier::draw(
        9,
        1,
        Stationary::Matern52,
        &[0.3, 0.2],
        DIM,
        M,
        &mut storage,
    );
    storage
}

fn features<T: Scalar>(fold: &mut Fold) {
    for shape in Stationary::ALL {
        let mut drawn = [T::ZERO; random_fourier::storage_len(DIM, M)];
        let _ = random_fourier::draw(7, 2, shape, &[0.3, 0.2], DIM, M, &mut drawn);
        fold.all(&drawn);
    }
    let storage = storage::<T>();
    let mut phi = [T::ZERO; M];
    for unit_norm in [false, true] {
        let Ok(map) = RandomFourier::new(DIM, M, T::from_f64(1.5), unit_norm, &storage[..]) else {
            return;
        };
        for x in points::<T>().chunks_exact(DIM) {
            map.features(x, &mut phi);
            fold.all(&phi);
        }
    }
}

/// A value for observation i, between −1 and 0.2.
fn value<T: Scalar>(i: usize) -> T {
    T::from_u32(i as u32 % 5) * T::from_f64(0.3) - T::ONE
}

/// Appending, a repeated point, a sliding window, predictions one by one and in a batch.
fn exact_posterior<T: Scalar>(fold: &mut Fold) {
    const CAPACITY: usize = 10;
    let points = points::<T>();
    let Ok(smooth) = SquaredExponential::new(T::from_f64(0.3), T::ONE) else {
        return;
    };
    let Ok(rough) = Matern52::new(T::from_f64(0.4), T::from_f64(1.2)) else {
        return;
    };
    exact_with(
        fold,
        &points,
        smooth,
        [T::ZERO; exact::storage_len(DIM, CAPACITY)],
    );
    exact_with(
        fold,
        &points,
        rough,
        [T::ZERO; exact::storage_len(DIM, CAPACITY)],
    );

    fn exact_with<T: Scalar, K: Kernel<T>, S: AsRef<[T]> + AsMut<[T]>>(
        fold: &mut Fold,
        points: &[T],
        kernel: K,
        storage: S,
    ) {
        let Ok(gp) = ExactGp::new(kernel, T::from_f64(0.01), DIM, CAPACITY, storage) else {
            return;
        };
        let mut gp = gp.when_full(WhenFull::DropOldest);
        for (i, x) in points.chunks_exact(DIM).enumerate() {
            let refused = gp.observe(x, value(i)).is_err();
            let again = i == 5 && gp.observe(x, T::ONE).is_err();
            fold.word(u64::from(refused) + u64::from(again));
            fold.all(gp.factor());
            if let Ok(posterior) = gp.posterior(&points[..DIM]) {
                fold.all(&[
                    posterior.mean,
                    posterior.variance,
                    gp.log_marginal_likelihood(),
                ]);
            }
        }
        let mut mean = [T::ZERO; 16];
        let mut variance = [T::ZERO; 16];
        let mut scratch = [T::ZERO; exact::batch_scratch_len(CAPACITY)];
        if gp
            .posteriors(points, &mut mean, &mut variance, &mut scratch)
            .is_ok()
        {
            fold.all(&mean);
            fold.all(&variance);
        }
    }
}

fn candidate_posterior<T: Scalar>(fold: &mut Fold) {
    const COUNT: usize = 16;
    let points = points::<T>();
    let storage = [T::ZERO; candidates::storage_len(COUNT, 12)];
    let Ok(kernel) = SquaredExponential::new(T::from_f64(0.3), T::ONE) else {
        return;
    };
    let Ok(mut gp) = CandidateGp::new(kernel, T::from_f64(0.01), DIM, &points[..], 12, storage)
    else {
        return;
    };
    for i in 0..12 {
        fold.word(u64::from(gp.observe(i * 5 % COUNT, value(i)).is_err()));
        fold.all(gp.mean());
        fold.all(gp.variance());
    }
}

/// Tiles that are wide, narrow and cut, on sides of different kernels.
fn grid_posterior<T: Scalar>(fold: &mut Fold) {
    const ROWS: usize = 6;
    const COLUMNS: usize = 21;
    let rows: [T; ROWS] = core::array::from_fn(|i| T::from_u32(i as u32) * T::from_f64(0.2));
    let columns: [T; COLUMNS] = core::array::from_fn(|i| T::from_u32(i as u32) * T::from_f64(0.05));
    let (Ok(rough), Ok(smooth)) = (
        Matern52::new(T::from_f64(0.4), T::from_f64(1.2)),
        SquaredExponential::new(T::from_f64(0.3), T::ONE),
    ) else {
        return;
    };
    let first = Side {
        kernel: rough,
        dim: 1,
        points: rows,
    };
    let second = Side {
        kernel: smooth,
        dim: 1,
        points: columns,
    };
    let storage = [T::ZERO; grid::storage_len(ROWS, COLUMNS, 12)];
    let Ok(mut gp) = GridGp::new(first, second, T::from_f64(0.01), 12, storage) else {
        return;
    };
    for i in 0..12 {
        fold.word(u64::from(
            gp.observe(i * 37 % (ROWS * COLUMNS), value(i)).is_err(),
        ));
        fold.all(gp.mean());
        fold.all(gp.variance());
    }
    let mut covariances = [T::ZERO; ROWS * COLUMNS];
    fold.word(u64::from(gp.covariances(50, &mut covariances).is_err()));
    fold.all(&covariances);
}

fn finite_posterior<T: Scalar>(fold: &mut Fold) {
    const COUNT: usize = 16;
    let points = points::<T>();
    let storage = [T::ZERO; finite::storage_len(COUNT)];
    let Ok(kernel) = Matern52::new(T::from_f64(0.3), T::ONE) else {
        return;
    };
    let Ok(mut gp) = FiniteGp::new(&kernel, T::from_f64(0.01), DIM, &points, storage) else {
        return;
    };
    for i in 0..12 {
        fold.word(u64::from(gp.observe(i * 5 % COUNT, value(i)).is_err()));
        fold.all(gp.mean());
        fold.all(gp.covariance());
    }
}

fn acquisitions<T: Scalar>(fold: &mut Fold) {
    let number = T::from_f64;
    for i in 0..64 {
        let mean = T::from_u32(i) * number(0.2) - number(9.0);
        let variance = number(0.1) + T::from_u32(i % 7);
        fold.add(log_expected_improvement::value(mean, variance, number(0.5)));
        fold.add(upper_confidence_bound::bound(mean, variance, number(2.5)));
    }
}

/// Dual until 8 observations, primal afterwards; mean, draw and variance at every count.
fn weight_posterior<T: Scalar>(fold: &mut Fold) {
    let storage = storage::<T>();
    let points = points::<T>();
    let Ok(map) = RandomFourier::new(DIM, M, T::ONE, true, &storage[..]) else {
        return;
    };
    let numbers = [T::ZERO; weights::storage_len(M)];
    let Ok(lambda) = Regularization::<T>::from_f64(0.01) else {
        return;
    };
    let Ok(mut posterior) = WeightPosterior::new(M, lambda, numbers) else {
        return;
    };
    let mut stream = Stream::from_seed(21);
    let mut out = [T::ZERO; M];
    for count in 0..=points.len() / DIM {
        posterior.extend(count, |i, phi| {
            map.features(&points[i * DIM..][..DIM], phi);
            value(i)
        });
        posterior.mean(&mut out);
        fold.all(&out);
        posterior.draw(&mut stream, &mut out);
        fold.all(&out);
        map.features(&points[..DIM], &mut out);
        fold.add(posterior.variance(&mut out));
    }
}

fn maxima<T: Scalar>(fold: &mut Fold) {
    let storage = storage::<T>();
    let mut scratch = [T::ZERO; DIM + M];
    let Ok(map) = RandomFourier::new(DIM, M, T::ONE, true, &storage[..]) else {
        return;
    };
    let (Ok(grid), Ok(regions)) = (Candidates::grid(9, DIM), Regions::new(&[2, 1])) else {
        return;
    };
    let mut stream = Stream::from_seed(22);
    for _ in 0..8 {
        let mut omega = [T::ZERO; 2 * M];
        normal::fill(&mut stream, &mut omega);
        let best = thompson::maximize_streamed(&grid, &map, &regions, &omega, &mut scratch);
        fold.add(T::from_u32(best.candidate));
        fold.add(best.value);
    }
}

fn schedules(fold: &mut Fold) {
    for t in 0..45 {
        fold.add(Mixing::InverseSqrt.own_draw_probability(t));
        fold.add(Mixing::Inverse.own_draw_probability(t));
        let a = WeightConcentration::PAPER.at(t);
        fold.all(&[
            a,
            region_weight(a, 200, 100, true),
            region_weight(a, 29, 7, false),
        ]);
        fold.add(federated_confidence_width(
            1.5,
            0.1,
            f64::from(t) * 0.3,
            0.05,
        ));
    }
}
