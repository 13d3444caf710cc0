//! The workloads by sordino-core. Storage is allocated outside the clock and reused: that is the
//! product's shape.

use sordino_core::acquisition::upper_confidence_bound;
use sordino_core::features::{PairedFourier, random_fourier};
use sordino_core::kernel::{SquaredExponential, Stationary};
use sordino_core::linalg::{packed_len, root};
use sordino_core::random::Stream;
use sordino_core::surrogate::grid::{self, Side};
use sordino_core::surrogate::pathwise::{self, PathwiseDraw};
use sordino_core::surrogate::{
    CandidateGp, ExactGp, FiniteGp, GridGp, candidates, exact, finite, joint,
};

use crate::timer::median;
use crate::workload::{self, SplitMix, data, features, objective};

type Gp = ExactGp<f64, SquaredExponential<f64>, Vec<f64>>;

fn kernel() -> SquaredExponential<f64> {
    SquaredExponential::new(0.2, 1.0).unwrap()
}

fn model(n: usize) -> Gp {
    let mut gp = ExactGp::new(kernel(), 0.01, 2, n, vec![0.0; exact::storage_len(2, n)]).unwrap();
    let (x, y) = data(n);
    for (x, y) in x.chunks(2).zip(&y) {
        gp.observe(x, *y).unwrap();
    }
    gp
}

/// W1: n points one by one, then one query. The check is mean + variance.
pub fn incremental(n: usize, repetitions: usize) -> (f64, f64) {
    let (x, y) = data(n);
    let mut gp = ExactGp::new(kernel(), 0.01, 2, n, vec![0.0; exact::storage_len(2, n)]).unwrap();
    median(repetitions, || {
        gp.clear();
        for (x, y) in x.chunks(2).zip(&y) {
            gp.observe(x, *y).unwrap();
        }
        let found = gp.posterior(&[0.5, 0.5]).unwrap();
        found.mean + found.variance
    })
}

/// W2: mean and variance at 10,000 points. The check is Σ mean + std.
pub fn predict(n: usize, repetitions: usize) -> (f64, f64) {
    let mut gp = model(n);
    let grid = workload::grid();
    let mut mean = vec![0.0; 10_000];
    let mut variance = vec![0.0; 10_000];
    let mut scratch = vec![0.0; exact::batch_scratch_len(n)];
    median(repetitions, || {
        gp.posteriors(&grid, &mut mean, &mut variance, &mut scratch)
            .unwrap();
        mean.iter()
            .zip(&variance)
            .map(|(mean, variance)| mean + variance.sqrt())
            .sum()
    })
}

/// W2 with one point at a time.
pub fn predict_points(n: usize, repetitions: usize) -> (f64, f64) {
    let mut gp = model(n);
    let grid = workload::grid();
    median(repetitions, || {
        grid.chunks(2)
            .map(|x| {
                let found = gp.posterior(x).unwrap();
                found.mean + found.variance.sqrt()
            })
            .sum()
    })
}

/// W3: 50 steps of GP-UCB on the grid. The check is the sum of the chosen indices.
pub fn optimise_candidates(repetitions: usize) -> (f64, f64) {
    let grid = workload::grid();
    let storage = vec![0.0; candidates::storage_len(10_000, 50)];
    let mut gp = CandidateGp::new(kernel(), 0.01, 2, &grid[..], 50, storage).unwrap();
    median(repetitions, || {
        gp.clear();
        let mut noise = SplitMix::new(7);
        let mut check = 0.0;
        for _ in 0..50 {
            let best =
                upper_confidence_bound::maximize(gp.mean(), gp.variance(), 2.0).candidate as usize;
            check += best as f64;
            gp.observe(
                best,
                objective(&grid[2 * best..2 * best + 2]) + 0.1 * noise.normal(),
            )
            .unwrap();
        }
        check
    })
}

/// W3 with the engine that knows that the grid is a product of its axes.
pub fn optimise_grid(repetitions: usize) -> (f64, f64) {
    let grid = workload::grid();
    let axis: Vec<f64> = (0..100).map(|i| grid[2 * i + 1]).collect();
    let side = || Side {
        kernel: kernel(),
        dim: 1,
        points: &axis[..],
    };
    let mut gp = GridGp::new(
        side(),
        side(),
        0.01,
        50,
        vec![0.0; grid::storage_len(100, 100, 50)],
    )
    .unwrap();
    median(repetitions, || {
        gp.clear();
        let mut noise = SplitMix::new(7);
        let mut check = 0.0;
        for _ in 0..50 {
            let best =
                upper_confidence_bound::maximize(gp.mean(), gp.variance(), 2.0).candidate as usize;
            check += best as f64;
            gp.observe(
                best,
                objective(&grid[2 * best..2 * best + 2]) + 0.1 * noise.normal(),
            )
            .unwrap();
        }
        check
    })
}

/// W3 with the engine that appends rows and predicts the grid in every step.
pub fn optimise_rows(repetitions: usize) -> (f64, f64) {
    let grid = workload::grid();
    let mut gp = ExactGp::new(kernel(), 0.01, 2, 50, vec![0.0; exact::storage_len(2, 50)]).unwrap();
    let mut mean = vec![0.0; 10_000];
    let mut variance = vec![0.0; 10_000];
    let mut scratch = vec![0.0; exact::batch_scratch_len(50)];
    median(repetitions, || {
        gp.clear();
        let mut noise = SplitMix::new(7);
        let mut check = 0.0;
        for _ in 0..50 {
            gp.posteriors(&grid, &mut mean, &mut variance, &mut scratch)
                .unwrap();
            let best = upper_confidence_bound::maximize(&mean, &variance, 2.0).candidate as usize;
            check += best as f64;
            let x = &grid[2 * best..2 * best + 2];
            gp.observe(x, objective(x) + 0.1 * noise.normal()).unwrap();
        }
        check
    })
}

/// One step of the finite-domain engine with N points, in microseconds.
pub fn finite_step(n: usize, repetitions: usize) -> f64 {
    let (x, y) = data(n);
    let mut gp = FiniteGp::new(&kernel(), 0.01, 2, &x, vec![0.0; finite::storage_len(n)]).unwrap();
    let mut t = 0;
    let (time, ()) = median(repetitions, || {
        for _ in 0..20 {
            gp.observe(t * 7 % n, y[t * 7 % n]).unwrap();
            t += 1;
        }
    });
    time / 20.0 * 1e3
}

/// W4: 200 × (update, draw) with M features. The check is the sum of the last draw.
pub fn weights(m: usize, repetitions: usize) -> (f64, f64) {
    let (rows, normals, y) = features(m);
    let mut factor = vec![0.0; packed_len(m)];
    let mut rhs = vec![0.0; m];
    let mut phi = vec![0.0; m];
    let mut omega = vec![0.0; m];
    median(repetitions, || {
        root::reset(&mut factor, &mut rhs, 0.01);
        for ((row, z), y) in rows.iter().zip(&normals).zip(&y) {
            phi.copy_from_slice(row);
            root::rotate_in(&mut factor, &mut rhs, &mut phi, *y);
            for ((omega, c), z) in omega.iter_mut().zip(&rhs).zip(z) {
                *omega = c + 0.1 * z;
            }
            root::solve(&factor, &mut omega);
        }
        omega.iter().sum()
    })
}

/// W5: one posterior function at 1,000 candidates by M features and an exact update. The check is
/// its mean value.
pub fn pathwise(n: usize, m: usize, repetitions: usize) -> (f64, f64) {
    let gp = model(n);
    let points = crate::workload::candidates();
    let mut frequencies = vec![0.0; random_fourier::storage_len(2, m / 2)];
    random_fourier::draw(
        1,
        0,
        Stationary::SquaredExponential,
        &[0.2],
        2,
        m / 2,
        &mut frequencies,
    )
    .unwrap();
    let map = PairedFourier::new(2, m / 2, 1.0, frequencies).unwrap();
    let mut weights = vec![0.0; m];
    let mut update = vec![0.0; n];
    let mut scratch = vec![0.0; pathwise::scratch_len(m, n)];
    let mut stream = Stream::from_seed(1);
    let mut out = vec![0.0; 1000];
    median(repetitions, || {
        let draw = PathwiseDraw::new(
            &gp,
            &map,
            &mut stream,
            &mut weights,
            &mut update,
            &mut scratch,
        )
        .unwrap();
        for (x, out) in points.chunks(2).zip(&mut out) {
            *out = draw.value(&gp, &map, x, &mut scratch).unwrap();
        }
        out.iter().sum::<f64>() / 1000.0
    })
}

/// W5 by the exact joint posterior.
pub fn exact_draw(n: usize, repetitions: usize) -> (f64, f64) {
    let gp = model(n);
    let points = crate::workload::candidates();
    let mut factor = vec![0.0; packed_len(1000)];
    let mut scratch = vec![0.0; 1000 * n + 1000];
    let mut stream = Stream::from_seed(1);
    let mut out = vec![0.0; 1000];
    median(repetitions, || {
        joint::draw_exact(
            &gp,
            &points,
            &mut stream,
            &mut factor,
            &mut scratch,
            &mut out,
        )
        .unwrap();
        out.iter().sum::<f64>() / 1000.0
    })
}
