//! The attack on the paper's transformation, as a program: anyone who knows d + 1 rows in general
//! position knows them all.
//!
//! Z = XA for one matrix A (d×r), so Z determines an affine map back to X wherever r ≥ d; d + 1
//! known rows fix it. No noise has to be averaged out and ε does not enter. The other attack needs
//! no known coordinates: the columns of Z lie in the column space of X, so of two candidate tables
//! only one fits ([`residual`]).
//!
//! ```
//! use sordino_core::outsourced::attack::recover_row;
//!
//! // Rows (1, 0), (0, 1), (0, 0) and (0.3, 0.7), seen through a matrix that nobody else knows: z = (2a + b, a − b).
//! let released = [2.0, 1.0, 1.0, -1.0, 0.0, 0.0, 1.3, -0.4];
//! let known: [(usize, &[f64]); 3] = [(0, &[1.0, 0.0]), (1, &[0.0, 1.0]), (2, &[0.0, 0.0])];
//! let row = recover_row(&released, 2, &known, 3).ok_or("the known rows are too few")?;
//! assert!((row[0] - 0.3).abs() < 1e-12 && (row[1] - 0.7).abs() < 1e-12);
//! # Ok::<(), &str>(())
//! ```
#![cfg(feature = "alloc")]

use alloc::vec::Vec;

use nalgebra::{DMatrix, DVector};

/// Row `target` of X, from the released rows and the known ones by least squares; `None` if the
/// known rows do not determine it.
///
/// **Parameters**: `released` n×r row by row; `known` pairs of row number and its d coordinates.
pub fn recover_row(
    released: &[f64],
    out_dim: usize,
    known: &[(usize, &[f64])],
    target: usize,
) -> Option<Vec<f64>> {
    let row = |i: usize| released.get(i * out_dim..(i + 1) * out_dim);
    let (first, rest) = known.split_first()?;
    let origin_z = row(first.0)?;
    let origin_x = first.1;
    let dim = origin_x.len();
    // Differences to the first known row: ΔX = ΔZ·W, W = pinv(ΔZ)·ΔX.
    let mut differences = DMatrix::zeros(rest.len(), out_dim);
    let mut images = DMatrix::zeros(rest.len(), dim);
    for (i, (at, x)) in rest.iter().enumerate() {
        let z = row(*at)?;
        (0..out_dim).for_each(|k| differences[(i, k)] = z[k] - origin_z[k]);
        (0..dim).for_each(|j| images[(i, j)] = x[j] - origin_x[j]);
    }
    let svd = differences.try_svd(true, true, f64::EPSILON, 1000)?;
    let largest = svd
        .singular_values
        .iter()
        .fold(0.0, |a, b| if *b > a { *b } else { a });
    let map = svd.solve(&images, 1e-12 * largest).ok()?;
    let z = row(target)?;
    Some(
        (0..dim)
            .map(|j| {
                origin_x[j] + (0..out_dim).fold(0.0, |x, k| x + (z[k] - origin_z[k]) * map[(k, j)])
            })
            .collect(),
    )
}

/// ‖Z − QQᵀZ‖/‖Z‖ with Q an orthonormal basis of the columns of `candidate` (n×d): rounding if Z
/// was made from it, larger by many orders if one row was another.
pub fn residual(released: &[f64], out_dim: usize, candidate: &[f64], dim: usize) -> f64 {
    let rows = candidate.len() / dim.max(1);
    let q = DMatrix::from_row_slice(rows, dim, &candidate[..rows * dim])
        .qr()
        .q();
    let mut left = 0.0;
    let mut all = 0.0;
    for k in 0..out_dim {
        let z = DVector::from_iterator(rows, (0..rows).map(|i| released[i * out_dim + k]));
        let rest = &z - &q * (q.transpose() * &z);
        left += rest.norm_squared();
        all += z.norm_squared();
    }
    crate::math::Scalar::sqrt(left / all)
}
