//! The engine that knows that its candidates are a grid, against the one that does not.

use super::*;
use crate::kernel::{Matern32, Product, Table};
use crate::surrogate::grid::{self, Side};

type Pair<T, A, B> = (
    GridGp<T, A, Vec<T>, B, Vec<T>, Vec<T>>,
    CandidateGp<T, Product<A, B>, Vec<T>, Vec<T>>,
);

/// The same prior in both engines.
fn pair<T: Scalar, A: Kernel<T> + Copy, B: Kernel<T> + Copy>(
    first: Side<A, Vec<T>>,
    second: Side<B, Vec<T>>,
    noise: T,
    capacity: usize,
) -> Pair<T, A, B> {
    let rows = first.points.len() / first.dim;
    let columns = second.points.len() / second.dim;
    let points = first.points.chunks(first.dim).flat_map(|a| {
        second
            .points
            .chunks(second.dim)
            .flat_map(|b| a.iter().chain(b).copied().collect::<Vec<T>>())
    });
    let points: Vec<T> = points.collect();
    let kernel = Product::new(first.dim, first.kernel, second.kernel);
    let storage = vec![T::ZERO; candidates::storage_len(rows * columns, capacity)];
    let list = CandidateGp::new(
        kernel,
        noise,
        first.dim + second.dim,
        points,
        capacity,
        storage,
    )
    .unwrap();
    let storage = vec![T::ZERO; grid::storage_len(rows, columns, capacity)];
    (
        GridGp::new(first, second, noise, capacity, storage).unwrap(),
        list,
    )
}

/// The largest differences of mean and variance, and of one candidate's covariances, after
/// `observations`.
fn compare<T: Scalar, A: Kernel<T> + Copy, B: Kernel<T> + Copy>(
    (mut gp, mut list): Pair<T, A, B>,
    observations: usize,
    stream: &mut Stream,
) -> [f64; 3] {
    let count = gp.candidates();
    for t in 0..observations {
        // Every fifth is a repeat.
        let i = if t % 5 == 4 {
            count / 2
        } else {
            stream.below(count as u32) as usize
        };
        let y = stream.unit::<T>() - T::from_f64(0.3);
        assert_eq!(gp.observe(i, y), Ok(Observed::Appended));
        list.observe(i, y).unwrap();
    }
    let mut ours = vec![T::INFINITY; count];
    let mut theirs = vec![T::ZERO; count];
    gp.covariances(count / 3, &mut ours).unwrap();
    list.covariances(count / 3, &mut theirs).unwrap();
    let worst = |a: &[T], b: &[T]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (*a - *b).abs().to_f64())
            .fold(0.0, f64::max)
    };
    [
        worst(gp.mean(), list.mean()),
        worst(gp.variance(), list.variance()),
        worst(&ours, &theirs),
    ]
}

/// A side of `count` random points.
fn side<K>(kernel: K, dim: usize, count: usize, seed: u64) -> Side<K, Vec<f64>> {
    Side {
        kernel,
        dim,
        points: points(count, dim, seed),
    }
}

#[test]
fn a_grid_has_the_posterior_of_the_list_of_its_points() {
    let mut stream = Stream::from_seed(41);
    let smooth = SquaredExponential::new(0.25, 1.4).unwrap();
    let rough = Matern32::new(0.4, 1.0).unwrap();
    // Shapes on both sides of every tile's edge.
    for rows in [1, 3, 4, 5, 9] {
        for columns in [1, 4, 7, 15, 16, 17, 20, 33] {
            for n in [0, 1, 5, 40] {
                let both = pair(
                    side(smooth, 1, rows, 1),
                    side(rough, 2, columns, 2),
                    0.01,
                    n,
                );
                let worst = compare(both, n, &mut stream);
                assert!(
                    worst.iter().all(|worst| *worst < 1e-11),
                    "{rows} × {columns}, {n}: {worst:?}"
                );
            }
        }
    }
}

#[test]
fn one_side_may_be_a_table_of_tasks() {
    let tasks = Table::new(3, [1.0, 0.6, 0.1, 0.6, 2.0, 0.3, 0.1, 0.3, 1.0]).unwrap();
    let first = Side {
        kernel: tasks,
        dim: 1,
        points: vec![0.0, 1.0, 2.0],
    };
    let second = side(SquaredExponential::new(0.2, 1.0).unwrap(), 1, 25, 3);
    let (gp, list) = pair(first, second, 0.1, 30);
    assert_eq!(gp.point(26), (&[1.0][..], &points(25, 1, 3)[1..2]));
    assert_eq!((gp.point(75).0.len(), gp.point(75).1.len()), (0, 0));
    assert!(
        compare((gp, list), 30, &mut Stream::from_seed(42))
            .iter()
            .all(|worst| *worst < 1e-12)
    );
}

/// The documented bound, from moderate noise down to the least that is accepted, against double
/// precision.
#[test]
fn single_precision_is_off_by_no_more_than_is_said() {
    let mut largest: f64 = 0.0;
    for (case, noise) in [1e-2f32, 1e-3, 2e-4, 1024.5 * f32::EPSILON]
        .into_iter()
        .enumerate()
    {
        for (smooth, n) in [(0.05, 30), (0.2, 50), (0.6, 80), (2.0, 120)] {
            let mut stream = Stream::from_seed(43 + case as u64);
            let mut again = Stream::from_seed(43 + case as u64);
            let axis: Vec<f32> = (0..12).map(|i| i as f32 / 11.0).collect();
            let of = |kernel| Side {
                kernel,
                dim: 1,
                points: axis.clone(),
            };
            let kernel = SquaredExponential::new(smooth, 1.0).unwrap();
            let storage = vec![0.0; grid::storage_len(12, 12, n)];
            let mut single = GridGp::new(of(kernel), of(kernel), noise, n, storage).unwrap();
            let kernel = SquaredExponential::new(f64::from(smooth), 1.0).unwrap();
            let axis: Vec<f64> = axis.iter().map(|x| f64::from(*x)).collect();
            let of = || Side {
                kernel,
                dim: 1,
                points: axis.clone(),
            };
            let (_, mut double) = pair(of(), of(), f64::from(noise), n);
            let mut observed = 0;
            for _ in 0..n {
                let i = stream.below(144) as usize;
                let y = stream.unit::<f32>();
                assert_eq!(again.below(144) as usize, i);
                let _ = again.unit::<f32>();
                if single.observe(i, y).is_ok() {
                    double.observe(i, f64::from(y)).unwrap();
                    observed += 1;
                }
            }
            assert!(observed > n / 2, "{observed} of {n}");
            let k_over_noise = 1.0 / f64::from(noise);
            let allowed = (8.0 + k_over_noise) * f64::from(f32::EPSILON);
            for (ours, exact) in single.variance().iter().zip(double.variance()) {
                largest = largest.max((f64::from(*ours) - exact).abs() / allowed);
            }
        }
    }
    std::println!("largest share {largest}");
    assert!(largest <= 1.0 && largest > 0.01, "{largest}");
}

#[test]
fn a_grid_refuses_and_stays_as_it_was() {
    let kernel = SquaredExponential::new(0.2, 1.0).unwrap();
    let make = |noise, dim, points: Vec<f64>, storage| {
        GridGp::new(
            Side {
                kernel,
                dim,
                points,
            },
            side(kernel, 1, 3, 1),
            noise,
            2,
            vec![0.0; storage],
        )
    };
    let storage = grid::storage_len(2, 3, 2);
    let mut gp = make(0.1, 1, vec![0.0, 1.0], storage).unwrap();
    gp.observe(1, 2.0).unwrap();
    let before = (gp.mean().to_vec(), gp.variance().to_vec());
    for y in [f64::NAN, f64::INFINITY, f64::MAX] {
        assert!(
            matches!(gp.observe(0, y), Err(SurrogateError::NonFinite { .. })),
            "{y}"
        );
    }
    assert_eq!(
        gp.observe(6, 0.0),
        Err(SurrogateError::Index { index: 6, len: 6 })
    );
    assert_eq!(
        gp.posterior(6),
        Err(SurrogateError::Index { index: 6, len: 6 })
    );
    assert_eq!(
        gp.covariances(6, &mut [0.0; 6]),
        Err(SurrogateError::Index { index: 6, len: 6 })
    );
    assert_eq!(
        gp.covariances(0, &mut [0.0; 5]),
        Err(SurrogateError::Dimension {
            expected: 6,
            given: 5
        })
    );
    assert_eq!(
        (gp.mean(), gp.variance(), gp.len()),
        (&before.0[..], &before.1[..], 1)
    );
    gp.observe(0, 1.0).unwrap();
    assert_eq!(
        gp.observe(0, 0.0),
        Err(SurrogateError::Full { capacity: 2 })
    );
    gp.clear();
    assert!(gp.is_empty() && gp.mean().iter().all(|mean| *mean == 0.0));
    gp.observe(1, 2.0).unwrap();
    assert_eq!((gp.mean(), gp.variance()), (&before.0[..], &before.1[..]));
    let refused = |made: Result<GridGp<_, _, _, _, _, _>, _>| made.err();
    assert_eq!(
        refused(make(0.1, 1, vec![0.0, 1.0], storage - 1)),
        Some(SurrogateError::Storage {
            needed: storage,
            given: storage - 1
        })
    );
    let smallest = 1024.0 * f64::EPSILON;
    assert_eq!(
        refused(make(1e-15, 1, vec![0.0, 1.0], storage)),
        Some(SurrogateError::Unresolved {
            noise_variance: 1e-15,
            smallest
        })
    );
    assert_eq!(
        refused(make(-1.0, 1, vec![0.0], storage)),
        Some(SurrogateError::NoiseVariance { value: -1.0 })
    );
    for (dim, points) in [(0, vec![0.0]), (1, vec![]), (2, vec![0.0; 3])] {
        assert!(matches!(
            refused(make(0.1, dim, points, storage)),
            Some(SurrogateError::Dimension { .. })
        ));
    }
    assert!(matches!(
        refused(make(0.1, 1, vec![f64::NAN], storage)),
        Some(SurrogateError::NonFinite { .. })
    ));
}
