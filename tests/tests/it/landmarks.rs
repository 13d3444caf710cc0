//! Landmarks and lengthscale of a prior file, against an independent pivoting of the whole matrix.

use sordino_core::dispatch::Width;
use sordino_core::federated::prior::{
    LENGTHSCALES, PriorError, choose_landmarks, landmark_rows, landmark_rows_scratch_len,
    landmarks_scratch_len,
};
use sordino_core::math::Scalar;

/// A regular grid of `side` points an axis.
pub fn grid(dim: usize, side: usize) -> Vec<f64> {
    let place =
        |i: usize, axis: usize| (i / side.pow(axis as u32) % side) as f64 / (side - 1) as f64;
    (0..side.pow(dim as u32))
        .flat_map(|i| (0..dim).map(move |axis| place(i, axis)))
        .collect()
}

/// Mean residual variance of these pivots in turn, from the whole matrix that is left; and by how
/// much a pivot was not the largest.
fn naive(
    points: &[f64],
    dim: usize,
    lengthscale: f64,
    m: usize,
    pivots: Option<&[u32]>,
) -> (f64, f64) {
    let list: Vec<&[f64]> = points.chunks(dim).collect();
    let k = |a: &[f64], b: &[f64]| {
        let d: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        (-d / (2.0 * lengthscale * lengthscale)).exp()
    };
    let mut left: Vec<Vec<f64>> = list
        .iter()
        .map(|a| list.iter().map(|b| k(a, b)).collect())
        .collect();
    let mut worst: f64 = 0.0;
    for step in 0..m {
        let largest = (0..list.len())
            .max_by(|a, b| left[*a][*a].total_cmp(&left[*b][*b]).then(b.cmp(a)))
            .unwrap();
        if left[largest][largest] < 1e-6 {
            break;
        }
        let pivot = pivots.map_or(largest, |pivots| pivots[step] as usize);
        worst = worst.max(left[largest][largest] - left[pivot][pivot]);
        let column: Vec<f64> = left.iter().map(|row| row[pivot]).collect();
        for (row, a) in left.iter_mut().zip(&column) {
            row.iter_mut()
                .zip(&column)
                .for_each(|(x, b)| *x -= a * b / column[pivot]);
        }
    }
    (
        (0..list.len()).map(|i| left[i][i].max(0.0)).sum::<f64>() / list.len() as f64,
        worst,
    )
}

fn chosen<T: Scalar>(points: &[f64], dim: usize, m: usize) -> (f64, Vec<u32>, Vec<f64>) {
    let points: Vec<T> = points.iter().map(|x| T::from_f64(*x)).collect();
    let count = points.len() / dim;
    let mut pivots = vec![0; m];
    let mut rows = vec![T::ZERO; count * m];
    let mut scratch = vec![T::ZERO; landmarks_scratch_len(count)];
    let chosen = choose_landmarks(&points, dim, &mut pivots, &mut rows, &mut scratch).unwrap();
    pivots.truncate(chosen.count);
    (
        chosen.lengthscale.to_f64(),
        pivots,
        rows[..count * chosen.count]
            .iter()
            .map(|x| x.to_f64())
            .collect(),
    )
}

#[test]
fn the_lengthscale_is_the_shortest_that_the_landmarks_carry() {
    for (dim, side, m) in [(1, 200, 12), (1, 300, 30), (2, 18, 25), (3, 7, 30)] {
        let points = grid(dim, side);
        let (lengthscale, pivots, rows) = chosen::<f64>(&points, dim, m);
        assert_eq!(pivots.len(), m);
        let (left, worst) = naive(&points, dim, lengthscale, m, Some(&pivots));
        assert!(
            worst < 1e-9,
            "{dim}-D: a pivot was {worst} below the largest"
        );
        assert!(left <= 0.05, "{dim}-D: {left} is left at {lengthscale}");
        let shorter =
            LENGTHSCALES[LENGTHSCALES.iter().position(|l| *l == lengthscale).unwrap() - 1];
        let without = naive(&points, dim, shorter, m, None).0;
        assert!(
            without > 0.05,
            "{dim}-D: {without} would be left at {shorter}"
        );
        // φ is L⁻¹k(P, x).
        let landmarks: Vec<f64> = pivots
            .iter()
            .flat_map(|i| points[*i as usize * dim..][..dim].to_vec())
            .collect();
        let mut again = vec![0.0; rows.len()];
        let mut scratch = vec![0.0; landmark_rows_scratch_len(m)];
        landmark_rows(
            lengthscale,
            &landmarks,
            dim,
            &points,
            &mut again,
            &mut scratch,
        )
        .unwrap();
        let furthest = rows
            .iter()
            .zip(&again)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(furthest < 1e-7, "{dim}-D: {furthest}");
    }
    // Wide vectors compute the same bits.
    let points = grid(2, 18);
    let bits = |width: Width| {
        width.limit();
        let (lengthscale, pivots, rows) = chosen::<f64>(&points, 2, 25);
        (
            lengthscale,
            pivots,
            rows.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        )
    };
    assert!(
        Width::ALL
            .into_iter()
            .all(|width| bits(width) == bits(Width::Baseline))
    );
    Width::widest().limit();
    // Single precision chooses the same lengthscale, and a candidate twice changes nothing.
    let wide = chosen::<f64>(&points, 2, 25);
    let single = chosen::<f32>(&points, 2, 25);
    assert!((wide.0 - single.0).abs() < 1e-6);
    let twice = [&points[..], &points].concat();
    assert_eq!(
        (
            chosen::<f64>(&twice, 2, 25).0,
            chosen::<f64>(&twice, 2, 25).1
        ),
        (wide.0, wide.1)
    );
}

/// Where all candidates can be landmarks every lengthscale keeps everything. The shortest was
/// chosen, neighbours shared nothing, and ninety sites that agreed made a file that was worth
/// nothing.
#[test]
fn neighbours_of_a_small_grid_share_something() {
    for (dim, side, m) in [
        (2, 9, 100),
        (2, 9, 60),
        (2, 5, 100),
        (1, 7, 50),
        (3, 4, 100),
    ] {
        let points = grid(dim, side);
        let count = points.len() / dim;
        let (lengthscale, pivots, _) = chosen::<f64>(&points, dim, m);
        let half = count.div_ceil(2);
        assert!((half..=m.min(count)).contains(&pivots.len()));
        let left = naive(&points, dim, lengthscale, half, None).0;
        assert!(
            left <= 0.05 || lengthscale == 0.5,
            "{dim}-D, {side}: {left}"
        );
        let place = LENGTHSCALES.iter().position(|l| *l == lengthscale).unwrap();
        let without = naive(&points, dim, LENGTHSCALES[place - 1], half, None).0;
        assert!(without > 0.05, "{dim}-D, {side}: {without}");
        // Neighbours of a line, and no choices as far apart as the box is wide.
        let shared = |distance: f64| (-0.5 * (distance / lengthscale).powi(2)).exp();
        let apart = 1.0 / (side as f64 - 1.0);
        assert!(shared(apart) > 0.5 && shared(1.0) < 0.14, "{lengthscale}");
    }
    // Four axes of three choices without an order, and room for fifty landmarks of eighty-one: half
    // of them say little of the other half at ½, and the file is not blind for that.
    let choices: Vec<f64> = (0..81)
        .flat_map(|i| {
            (0..12)
                .map(move |at| [3, 9, 27, 81].map(|side| i % side / (side / 3))[at / 3] == at % 3)
        })
        .map(f64::from)
        .collect();
    let (lengthscale, pivots, _) = chosen::<f64>(&choices, 12, 50);
    let left = naive(&choices, 12, lengthscale, 50, Some(&pivots)).0;
    assert!(lengthscale > 0.5 && left <= 0.05, "{lengthscale}: {left}");
}

#[test]
fn fewer_candidates_than_landmarks_are_all_landmarks_and_nonsense_is_refused() {
    let (lengthscale, pivots, rows) = chosen::<f64>(&[0.0, 0.5, 0.5, 1.0], 1, 20);
    assert_eq!((lengthscale, pivots.len(), rows.len()), (0.5, 3, 12));
    assert_eq!(pivots, [0, 3, 1], "ties go to the lowest index");
    // Nothing in the list is long enough for one landmark in five dimensions: the longest, and its
    // share is told.
    let corners = grid(5, 2);
    let mut rows = vec![0.0; 32];
    let mut scratch = vec![0.0; 32];
    let blind = choose_landmarks(&corners, 5, &mut [0], &mut rows, &mut scratch).unwrap();
    assert!(
        blind.lengthscale == LENGTHSCALES[11] && blind.kept < 0.95 && blind.kept > 0.0,
        "{blind:?}"
    );
    let refused = |points: &[f64], dim| {
        choose_landmarks(points, dim, &mut [0; 2], &mut [0.0; 6], &mut [0.0; 3]).err()
    };
    let coordinate = |x: f64| {
        Some(PriorError::Number {
            what: "coordinate",
            value: x,
            admissible: "[0, 1]",
        })
    };
    assert_eq!(refused(&[0.0, 1.5, 0.1], 1), coordinate(1.5));
    assert!(matches!(
        refused(&[0.0, f64::NAN, 0.1], 1),
        Some(PriorError::Number {
            what: "coordinate",
            ..
        })
    ));
    for (points, dim) in [
        (&[][..], 1),
        (&[0.1, 0.2, 0.3][..], 0),
        (&[0.1, 0.2, 0.3][..], 2),
        (&[0.1; 4][..], 1),
    ] {
        assert!(
            matches!(refused(points, dim), Some(PriorError::Length { .. })),
            "{points:?} {dim}"
        );
    }
    let mut rows = [0.0; 4];
    let same = landmark_rows(0.2, &[0.5, 0.5], 1, &[0.1, 0.2], &mut rows, &mut [0.0; 3]);
    assert!(matches!(same, Err(PriorError::Singular(_))), "{same:?}");
    let none = landmark_rows(0.0, &[0.2, 0.5], 1, &[0.1, 0.2], &mut rows, &mut [0.0; 3]);
    assert!(matches!(
        none,
        Err(PriorError::Number {
            what: "lengthscale",
            ..
        })
    ));
}
