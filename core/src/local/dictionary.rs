//! The Nyström dictionary of ATA and MoMA over a finite domain, and the posterior it gives.
//!
//! **Equation**: φ(x) = K_D^{−1/2}k_D(x) with the symmetric root and a pseudo-inverse; with K_D =
//! QΛQᵀ over its m eigenvalues above 1e−10 of the largest, φ(x) = Qψ(x), ψ(x) = Λ^{−1/2}Qᵀk_D(x) ∈
//! Rᵐ. Everything is computed in the m coordinates of ψ; Q takes part only where a result depends
//! on the basis (ATA's truncation). V = Σ n_x φφᵀ + λI, σ̃² = k(x, x) − φ·φ + λφᵀV⁻¹φ.
//!
//! The same features as [`crate::features::nystrom`], whose Jacobi rotations need no heap; here a
//! dictionary changes in every round, and nalgebra's tridiagonal method is an order of magnitude
//! faster at a hundred points.
//!
//! ```
//! use sordino_core::kernel::SquaredExponential;
//! use sordino_core::local::dictionary::{Dictionary, DictionaryPosterior, KernelMatrix};
//!
//! let matrix = KernelMatrix::new(&SquaredExponential::new(0.2, 1.0)?, 1, &[0.0, 0.5, 1.0])?;
//! let dictionary = Dictionary::new(&matrix, vec![0, 1, 2]); // every point
//! assert_eq!((matrix.count(), dictionary.rank()), (3, 3));
//! let posterior = DictionaryPosterior::new(&dictionary, &[2, 0, 0], 0.5); // the first was played twice, λ = ½
//! assert!((posterior.variance()[0] - 0.5 / 2.5).abs() < 0.01); // λ/(2 + λ), but for what the others say
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;

use nalgebra::{DMatrix, SymmetricEigen};

use super::learner::LearnerError;
use crate::kernel::{Kernel, KernelError, Table};
use crate::linalg::{axpy, dot, matvec, symmetric};
use crate::math::{Scalar, pow};
use crate::random::Stream;

/// Eigenvalues of a dictionary up to this share of the largest count as 0.
const RELATIVE_RANK: f64 = 1e-10;
/// A kernel matrix may have eigenvalues down to minus this share of the largest: rounding.
const RELATIVE_NEGATIVE: f64 = 1e-9;
/// Iterations after which nalgebra gives up on a matrix; it needs about two for each row.
const ITERATIONS_MAX: usize = 100_000;

/// Eigenvalues in no particular order, and the eigenvectors as the rows of a matrix.
fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    if n == 0 {
        return (Vec::new(), Vec::new());
    }
    let symmetric = DMatrix::from_row_slice(n, n, matrix);
    match SymmetricEigen::try_new(symmetric, f64::EPSILON, ITERATIONS_MAX) {
        // Columns of a column-major matrix are rows of a row-major one.
        Some(found) => (
            found.eigenvalues.as_slice().to_vec(),
            found.eigenvectors.as_slice().to_vec(),
        ),
        None => {
            let mut values = vec![0.0; n];
            let mut vectors = vec![0.0; n * n];
            symmetric::eigen(&mut matrix.to_vec(), &mut values, &mut vectors);
            (values, vectors)
        }
    }
}

/// The covariances of all candidates: a checked matrix.
#[derive(Clone, Debug)]
pub struct KernelMatrix {
    table: Table<f64, Vec<f64>>,
    entries: Vec<f64>,
    count: usize,
}

impl KernelMatrix {
    /// The matrix of a kernel over `points`, row-major, `dim` columns.
    ///
    /// **Errors**: as [`KernelMatrix::from_table`].
    pub fn new<K: Kernel<f64>>(
        kernel: &K,
        dim: usize,
        points: &[f64],
    ) -> Result<Self, LearnerError> {
        let count = points.len() / dim.max(1);
        let mut entries = vec![0.0; count * count];
        for (x, row) in points
            .chunks_exact(dim.max(1))
            .zip(entries.chunks_exact_mut(count.max(1)))
        {
            kernel.covariances(x, points, row);
        }
        Self::from_table(count, entries)
    }

    /// A matrix given as it is: size × size numbers, row-major.
    ///
    /// **Errors**: [`LearnerError::Kernel`] if it is empty, not square, not finite, not symmetric
    /// to the bit or has a diagonal entry that is not positive;
    /// [`LearnerError::NotPositiveSemidefinite`].
    pub fn from_table(size: usize, entries: Vec<f64>) -> Result<Self, LearnerError> {
        let table = Table::new(size, entries.clone())
            .map_err(|error: KernelError| LearnerError::Kernel(error))?;
        let (values, _) = eigen(&entries, size);
        let largest = values
            .iter()
            .fold(0.0, |most: f64, x| if *x > most { *x } else { most });
        let smallest = values.iter().fold(
            f64::INFINITY,
            |least, x| if *x < least { *x } else { least },
        );
        let admissible = -RELATIVE_NEGATIVE * largest;
        if !(smallest >= admissible) {
            return Err(LearnerError::NotPositiveSemidefinite {
                eigenvalue: smallest,
                admissible,
            });
        }
        Ok(KernelMatrix {
            table,
            entries,
            count: size,
        })
    }

    /// Number of candidates N.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The matrix as a kernel on indices.
    pub fn as_kernel(&self) -> &Table<f64, Vec<f64>> {
        &self.table
    }

    /// Row k(x, ·) of the matrix, N numbers.
    pub fn row(&self, x: usize) -> &[f64] {
        &self.entries[x * self.count..][..self.count]
    }

    /// Prior variance k(x, x) on the diagonal.
    pub fn variance(&self, x: usize) -> f64 {
        self.entries[x * self.count + x]
    }
}

/// The distinct points kept when every play so far is sampled again: a play of x with probability
/// min(q_N·variance(x), 1), independently; x is kept if one of its plays is. If none is, the last
/// play.
///
/// One uniform for each point that was played, in order of points: 1 − (1 − p)ⁿ for n plays.
pub fn resample(
    plays: &[u32],
    inflation: f64,
    variance: &[f64],
    last: u32,
    stream: &mut Stream,
) -> Vec<u32> {
    let mut kept = Vec::new();
    for (x, (n, variance)) in plays
        .iter()
        .zip(variance)
        .enumerate()
        .filter(|(_, (n, _))| **n > 0)
    {
        let u: f64 = stream.unit();
        let p = Scalar::min(inflation * variance, 1.0);
        if u < 1.0 - pow(1.0 - p, f64::from(*n)) {
            kept.push(x as u32);
        }
    }
    if kept.is_empty() {
        kept.push(last);
    }
    kept
}

/// A dictionary of distinct candidates and the features it gives all of them.
#[derive(Clone, Debug)]
pub struct Dictionary {
    members: Vec<u32>,
    /// Q: m columns, stored as rows of |D| numbers.
    basis: Vec<f64>,
    /// ψ of every candidate, N rows of m numbers.
    rows: Vec<f64>,
    /// k(x, x) − φ(x)·φ(x).
    missing: Vec<f64>,
    rank: usize,
}

impl Dictionary {
    /// The features of `members`, distinct indices below N, at least one.
    ///
    /// **Cost**: about 9|D|³ + N·m·|D| flops. Indices that are too large are left out.
    pub fn new(kernel: &KernelMatrix, members: Vec<u32>) -> Self {
        let members: Vec<u32> = members
            .into_iter()
            .filter(|x| (*x as usize) < kernel.count)
            .collect();
        let size = members.len();
        let column = |x: usize| members.iter().map(move |d| kernel.row(x)[*d as usize]);
        let matrix: Vec<f64> = members.iter().flat_map(|d| column(*d as usize)).collect();
        let (values, vectors) = eigen(&matrix, size);
        let largest = values
            .iter()
            .fold(0.0, |most: f64, x| if *x > most { *x } else { most });
        let mut basis = Vec::new();
        let mut scales = Vec::new();
        for (value, vector) in values.iter().zip(vectors.chunks_exact(size.max(1))) {
            if *value > RELATIVE_RANK * largest {
                basis.extend_from_slice(vector);
                scales.push(1.0 / Scalar::sqrt(*value));
            }
        }
        let rank = scales.len();
        let count = kernel.count;
        let mut rows = vec![0.0; count * rank];
        let mut missing: Vec<f64> = (0..count).map(|x| kernel.variance(x)).collect();
        let mut covariances = vec![0.0; size];
        for (x, (row, missing)) in rows
            .chunks_exact_mut(rank.max(1))
            .zip(&mut missing)
            .enumerate()
        {
            covariances
                .iter_mut()
                .zip(column(x))
                .for_each(|(to, from)| *to = from);
            matvec(&basis, &covariances, row);
            row.iter_mut()
                .zip(&scales)
                .for_each(|(psi, scale)| *psi *= scale);
            *missing -= dot(row, row);
        }
        Dictionary {
            members,
            basis,
            rows,
            missing,
            rank,
        }
    }

    /// The points, in rising order if they were given so.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// m, the numerical rank of K_D.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// ψ of a candidate, m numbers.
    pub fn row(&self, x: usize) -> &[f64] {
        &self.rows[x * self.rank..][..self.rank]
    }

    /// φ = Qψ, |D| numbers: the coordinates in which the symmetric roots live.
    pub fn in_symmetric_basis(&self, psi: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (column, psi) in self.basis.chunks_exact(self.members.len().max(1)).zip(psi) {
            axpy(*psi, column, out);
        }
    }
}

/// V of a dictionary after plays, as its symmetric inverse root.
#[derive(Clone, Debug)]
pub struct DictionaryPosterior {
    /// V^{−1/2} in the coordinates of ψ, m × m.
    inverse_root: Vec<f64>,
    /// V^{−1/2}ψ of every candidate, N rows of m numbers.
    rows: Vec<f64>,
    variance: Vec<f64>,
    rank: usize,
    variance_clamps: u32,
}

impl DictionaryPosterior {
    /// The posterior after `plays[x]` plays of every candidate x, regularised by λ > 0.
    ///
    /// **Cost**: about 9m³ + 2Nm² flops.
    pub fn new(dictionary: &Dictionary, plays: &[u32], regularization: f64) -> Self {
        let rank = dictionary.rank;
        let count = plays.len();
        let mut v = vec![0.0; rank * rank];
        for (x, n) in plays.iter().enumerate().filter(|(_, n)| **n > 0) {
            let psi = dictionary.row(x);
            for (psi_i, row) in psi.iter().zip(v.chunks_exact_mut(rank.max(1))) {
                axpy(f64::from(*n) * psi_i, psi, row);
            }
        }
        for i in 0..rank {
            v[i * rank + i] += regularization;
            // Rounding of n·ψᵢ·ψⱼ depends on which comes first.
            for j in 0..i {
                v[i * rank + j] = v[j * rank + i];
            }
        }
        let (values, vectors) = eigen(&v, rank);
        let mut inverse_root = vec![0.0; rank * rank];
        for (value, vector) in values.iter().zip(vectors.chunks_exact(rank.max(1))) {
            // V ≥ λI.
            let scale = 1.0 / Scalar::sqrt(Scalar::max(*value, regularization));
            for (x, row) in vector.iter().zip(inverse_root.chunks_exact_mut(rank)) {
                axpy(scale * x, vector, row);
            }
        }
        let mut rows = vec![0.0; count * rank];
        let mut variance = vec![0.0; count];
        let mut variance_clamps = 0;
        for x in 0..count {
            let row = &mut rows[x * rank..][..rank];
            matvec(&inverse_root, dictionary.row(x), row);
            let left = dictionary.missing[x] + regularization * dot(row, row);
            variance_clamps += u32::from(left < 0.0);
            variance[x] = Scalar::max(left, 0.0);
        }
        DictionaryPosterior {
            inverse_root,
            rows,
            variance,
            rank,
            variance_clamps,
        }
    }

    /// σ̃² of every candidate.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// V^{−1/2}ψ of a candidate.
    pub fn row(&self, x: usize) -> &[f64] {
        &self.rows[x * self.rank..][..self.rank]
    }

    /// V^{−1/2}·(a vector in the coordinates of ψ).
    pub fn whiten(&self, vector: &[f64], out: &mut [f64]) {
        matvec(&self.inverse_root, vector, out);
    }

    /// Variances that came out negative and were set to 0.
    pub fn variance_clamps(&self) -> u32 {
        self.variance_clamps
    }
}
