//! Gaussian projection: a public projection of each row plus Gaussian noise, calibrated exactly.
//!
//! **Equation**: Z = g·(⌊X·P/g⌋ + ⌊2^m·G⌋), P public, d×r with orthonormal columns (r ≤ d) or the
//! identity; the grid step g is chosen so that noise of std 2^m·g has exactly the multiplier asked
//! for.
//!
//! **Theorem.** For two tables that differ in one row, by at most 1 in L2, the release of all rows
//! is (ε, δ)-private.
//!
//! **Proof.** Projection onto a ball (the public `norm_max`) does not lengthen a difference, nor
//! does P. So one row of X·P moves by at most 1, its floating-point value by at most s = 1 + 2√r·e
//! with e the rounding error of a row of norm ≤ norm_max. Flooring on the grid adds at most 1 per
//! coordinate: in grid units the row moves by at most s/g + √r. With g = s/(2^m/z − √r) this is
//! 2^m/z: the noise, ⌊X + 2^m·G⌋ = X + ⌊2^m·G⌋ on integers, is post-processing of a continuous
//! Gaussian of multiplier z, and z solves the exact condition (Balle, Wang 2018). ∎
//!
//! **Assumed**: centring and scaling constants are public: with the data's own mean *every* row
//! moves. **Protected**: a shift of one row by ≤ 1, which is [`ShiftUnit`] for the owner of the
//! table. Not: y, which rows are asked for, n, hyper-parameters fitted on the data.
//!
//! **Source**: Kenthapadi, Korolova, Mironov, Mishra 2013. The projection of Kharkovskii, Dai, Low
//! 2020, noise-free with a secret random matrix, is *not* differentially private: see
//! `docs/privacy.md` and the attack in the tests.
//!
//! **Example**: that of [`GaussianProjection`].

use core::fmt;

use crate::math::{self, Scalar};
use crate::privacy::accountant::{AccountantError, analytic};
use crate::privacy::event::{Event, NeighboringRelation, Release};
use crate::privacy::shift::ShiftUnit;
use crate::random::exact::Bits;
use crate::random::{NoiseError, NoiseSource};

/// Why a projection cannot be configured or released. Only [`ProjectionError::NotFinite`] is about
/// the data: a table that is refused at the door, before anything was drawn.
///
/// **Example**: that of [`GaussianProjection`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ProjectionError {
    /// The target is not a valid (ε, δ).
    Target(AccountantError),
    /// Dimensions are zero, or r > d, or a slice does not fit them.
    Shape {
        /// Length of the slice given.
        found: usize,
        /// Entries expected.
        expected: usize,
    },
    /// PᵀP is not the identity to 1e-6.
    NotOrthonormal {
        /// Largest deviation.
        deviation: f64,
    },
    /// The grid exponent is outside 10..=24.
    GridExponent(u32),
    /// The bound on the norm of rows is not in (0, 10⁶].
    NormMax(f64),
    /// The noise is too small for the grid: 2^m/z ≤ √r.
    Grid {
        /// The noise multiplier.
        noise_multiplier: f64,
    },
    /// A number of the table is not finite.
    NotFinite {
        /// Index of the row.
        row: usize,
    },
    /// The source of noise failed; nothing leaves.
    Noise(NoiseError),
}

impl fmt::Display for ProjectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProjectionError::Target(e) => e.fmt(f),
            ProjectionError::Shape { found, expected } => {
                write!(f, "{found} entries where {expected} belong")
            }
            ProjectionError::NotOrthonormal { deviation } => {
                write!(
                    f,
                    "the columns of the projection are not orthonormal: off by {deviation}"
                )
            }
            ProjectionError::GridExponent(m) => write!(f, "grid_exponent {m} is not in 10..=24"),
            ProjectionError::NormMax(x) => write!(f, "norm_max {x} is not in (0, 1e6]"),
            ProjectionError::Grid { noise_multiplier } => {
                write!(
                    f,
                    "noise_multiplier {noise_multiplier} leaves no grid: raise grid_exponent"
                )
            }
            ProjectionError::NotFinite { row } => {
                write!(f, "row {row} holds a number that is not finite")
            }
            ProjectionError::Noise(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for ProjectionError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ProjectionError::Target(error) => error.source(),
            ProjectionError::Noise(error) => error.source(),
            _ => None,
        }
    }
}

impl From<NoiseError> for ProjectionError {
    fn from(e: NoiseError) -> Self {
        ProjectionError::Noise(e)
    }
}

/// The mechanism; borrows the public projection.
///
/// ```
/// use sordino_core::privacy::Simulated;
/// use sordino_core::privacy::accountant::analytic;
/// use sordino_core::privacy::mechanism::projection::{GaussianProjection, ProjectionError};
/// use sordino_core::random::Stream;
///
/// let mechanism = GaussianProjection::identity(2, 1.0, 1e-5, 10.0, 20)?; // d, ε, δ, longest row, grid
/// let z = analytic::noise_multiplier(1.0, 1e-5)?;
/// assert_eq!(mechanism.noise_multiplier(), z);
/// assert!(z < mechanism.noise_std() && mechanism.noise_std() < 1.001 * z); // the grid costs next to nothing
/// let (table, mut pool, mut out) = ([0.0, 1.0, 2.0, 3.0], [0; 4], [0.0; 4]); // two rows
/// let release = mechanism.release(&table, &mut Simulated::new(Stream::from_seed(1)), &mut pool, &mut out)?;
/// assert_eq!((release.event(), release.value().len()), (mechanism.event(), 4));
/// assert!(matches!(GaussianProjection::identity(0, 1.0, 1e-5, 10.0, 20), Err(ProjectionError::Shape { .. })));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GaussianProjection<'p> {
    /// d×r row by row; nothing for the identity.
    projection: Option<&'p [f64]>,
    dim: usize,
    out_dim: usize,
    grid_exponent: u32,
    noise_multiplier: f64,
    norm_max: f64,
    step: f64,
    unit: ShiftUnit,
}

impl<'p> GaussianProjection<'p> {
    /// The identity: r = d, P = I.
    pub fn identity(
        dim: usize,
        epsilon: f64,
        delta: f64,
        norm_max: f64,
        grid_exponent: u32,
    ) -> Result<Self, ProjectionError> {
        Self::build(None, dim, dim, epsilon, delta, norm_max, grid_exponent)
    }

    /// A public projection, `dim`×`out_dim` row by row, orthonormal columns, out_dim ≤ dim.
    ///
    /// **Parameters**: (ε, δ) of the whole release; `norm_max` public bound on the norm of rows,
    /// longer rows are pulled back; `grid_exponent` m in 10..=24.
    pub fn new(
        projection: &'p [f64],
        dim: usize,
        out_dim: usize,
        epsilon: f64,
        delta: f64,
        norm_max: f64,
        grid_exponent: u32,
    ) -> Result<Self, ProjectionError> {
        let expected = dim.saturating_mul(out_dim);
        if projection.len() != expected || out_dim > dim {
            return Err(ProjectionError::Shape {
                found: projection.len(),
                expected,
            });
        }
        Self::build(
            Some(projection),
            dim,
            out_dim,
            epsilon,
            delta,
            norm_max,
            grid_exponent,
        )
    }

    fn build(
        projection: Option<&'p [f64]>,
        dim: usize,
        out_dim: usize,
        epsilon: f64,
        delta: f64,
        norm_max: f64,
        grid_exponent: u32,
    ) -> Result<Self, ProjectionError> {
        if dim == 0 || out_dim == 0 {
            return Err(ProjectionError::Shape {
                found: 0,
                expected: 1,
            });
        }
        if !(10..=24).contains(&grid_exponent) {
            return Err(ProjectionError::GridExponent(grid_exponent));
        }
        if !(norm_max > 0.0 && norm_max <= 1e6) {
            return Err(ProjectionError::NormMax(norm_max));
        }
        let deviation = projection.map_or(0.0, |p| deviation(p, dim, out_dim));
        if !(deviation <= 1e-6) {
            return Err(ProjectionError::NotOrthonormal { deviation });
        }
        let noise_multiplier =
            analytic::noise_multiplier(epsilon, delta).map_err(ProjectionError::Target)?;
        let root = Scalar::sqrt(out_dim as f64);
        // The largest singular value of P, and the rounding of a row: a dot product of d terms, the
        // pull-back, P itself.
        let singular = Scalar::sqrt(1.0 + out_dim as f64 * deviation);
        let rounding = (dim as f64 + 16.0) * f64::EPSILON * norm_max;
        let sensitivity = singular * (1.0 + 2.0 * root * rounding);
        let units = (1u64 << grid_exponent) as f64 / noise_multiplier - root;
        let step = sensitivity / units * (1.0 + 1e-12);
        if !(units >= 1.0 && step.is_finite()) {
            return Err(ProjectionError::Grid { noise_multiplier });
        }
        Ok(GaussianProjection {
            projection,
            dim,
            out_dim,
            grid_exponent,
            noise_multiplier,
            norm_max,
            step,
            unit: ShiftUnit::ONE,
        })
    }

    /// Number of coordinates d of a row.
    pub const fn dim(&self) -> usize {
        self.dim
    }

    /// Number of coordinates r of a released row.
    pub const fn out_dim(&self) -> usize {
        self.out_dim
    }

    /// Std of the noise on each released number, in units of the input.
    pub fn noise_std(&self) -> f64 {
        self.step * (1u64 << self.grid_exponent) as f64
    }

    /// Noise std ÷ sensitivity, the exact condition's solution.
    pub const fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// The same mechanism for a table of which a distance of 1 is this for its owner.
    pub const fn in_units_of(self, unit: ShiftUnit) -> Self {
        GaussianProjection { unit, ..self }
    }

    /// What the release of the whole table costs. The relation's replaced row lies within distance
    /// 1 of the table given, which is the event's unit for its owner.
    pub const fn event(&self) -> Event {
        let relation = NeighboringRelation::ShiftOne { unit: self.unit };
        Event::Gaussian {
            noise_multiplier: self.noise_multiplier,
            relation,
        }
    }

    /// Releases a table of n rows. `pool` and `out` hold n·out_dim numbers.
    ///
    /// All noise is drawn before the first row is touched.
    pub fn release<'o, S: NoiseSource>(
        &self,
        table: &[f64],
        source: &mut S,
        pool: &mut [i64],
        out: &'o mut [f64],
    ) -> Result<Release<&'o [f64], S::Provenance>, ProjectionError> {
        let rows = table.len() / self.dim;
        for (found, expected) in [
            (table.len(), rows * self.dim),
            (pool.len(), rows * self.out_dim),
            (out.len(), rows * self.out_dim),
        ] {
            if found != expected {
                return Err(ProjectionError::Shape { found, expected });
            }
        }
        if let Some(i) = table.iter().position(|x| !x.is_finite()) {
            return Err(ProjectionError::NotFinite { row: i / self.dim });
        }
        let mut bits = Bits::new(source);
        for noise in pool.iter_mut() {
            *noise = bits.normal_floor(self.grid_exponent)?;
        }
        for ((row, noise), out) in table
            .chunks_exact(self.dim)
            .zip(pool.chunks_exact_mut(self.out_dim))
            .zip(out.chunks_exact_mut(self.out_dim))
        {
            self.release_row(row, noise, out);
        }
        Ok(Release::new(out, self.event()))
    }

    fn release_row(&self, row: &[f64], noise: &mut [i64], out: &mut [f64]) {
        // A row so long that its norm overflows is pulled back from its largest entry's scale.
        let mut largest = 0.0;
        row.iter()
            .for_each(|x| largest = Scalar::max(largest, x.abs()));
        let unit = if largest > 1e150 { largest } else { 1.0 };
        let mut squares = 0.0;
        row.iter().for_each(|x| squares += (x / unit) * (x / unit));
        let norm = Scalar::sqrt(squares);
        let shrink = if norm > self.norm_max / unit {
            self.norm_max / norm
        } else {
            unit
        };
        for (k, (noise, out)) in noise.iter_mut().zip(out.iter_mut()).enumerate() {
            let value = match self.projection {
                None => row[k] / unit * shrink,
                Some(p) => {
                    let mut sum = 0.0;
                    for (j, x) in row.iter().enumerate() {
                        sum += x / unit * shrink * p[j * self.out_dim + k];
                    }
                    sum
                }
            };
            let index = (math::floor(value / self.step) as i64).saturating_add(*noise);
            *noise = 0;
            *out = index as f64 * self.step;
        }
    }
}

/// Largest |PᵀP − I|; NaN if P holds one.
fn deviation(p: &[f64], dim: usize, out_dim: usize) -> f64 {
    let mut worst = 0.0;
    for a in 0..out_dim {
        for b in 0..out_dim {
            let mut dot = if a == b { -1.0 } else { 0.0 };
            for j in 0..dim {
                dot += p[j * out_dim + a] * p[j * out_dim + b];
            }
            if !(dot.abs() <= worst) {
                worst = dot.abs();
            }
            if worst.is_nan() {
                return worst;
            }
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::random::{Simulated, Stream};
    use std::vec;
    use std::vec::Vec;

    const ROOT_HALF: f64 = core::f64::consts::FRAC_1_SQRT_2;

    #[test]
    fn the_noise_is_the_analytic_one() {
        // notes/privacy.md §3.1: δ = 1e-5: ε = 1: 3.73; e^1.1: 1.389; e^1.5: 0.980.
        for (epsilon, std) in [(1.0, 3.7306), (1.1f64.exp(), 1.389), (1.5f64.exp(), 0.980)] {
            let m = GaussianProjection::identity(2, epsilon, 1e-5, 25.0, 20).unwrap();
            assert!((m.noise_std() - std).abs() < 1e-3, "{}", m.noise_std());
            assert!(m.noise_std() >= m.noise_multiplier());
        }
    }

    #[test]
    fn neighbours_move_by_no_more_than_the_grid_allows() {
        let p = [ROOT_HALF, 0.5, ROOT_HALF, -0.5, 0.0, ROOT_HALF];
        let m = GaussianProjection::new(&p, 3, 2, 1.0, 1e-5, 25.0, 12).unwrap();
        let limit = 4096.0 / m.noise_multiplier();
        let mut stream = Stream::from_seed(5);
        let index = |row: &[f64]| {
            let mut noise = [0i64; 2];
            let mut out = [0.0; 2];
            m.release_row(row, &mut noise, &mut out);
            out.map(|x| x / m.step)
        };
        let mut worst = 0.0f64;
        for _ in 0..20_000 {
            let scale = [1.0, 25.0, 1e160][stream.below(3) as usize];
            let row: [f64; 3] = core::array::from_fn(|_| (stream.unit::<f64>() - 0.5) * scale);
            let shift: [f64; 3] = core::array::from_fn(|_| stream.unit::<f64>() - 0.5);
            let norm = shift.iter().map(|x| x * x).sum::<f64>().sqrt();
            let moved: [f64; 3] = core::array::from_fn(|j| row[j] + shift[j] / norm);
            let a = index(&row);
            let b = index(&moved);
            worst = worst.max(((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt());
        }
        assert!(worst <= limit && worst > 0.9 * limit, "{worst} {limit}");
    }

    #[test]
    fn a_release_has_its_noise_and_its_door() {
        let m = GaussianProjection::identity(2, 1.0, 1e-5, 25.0, 16).unwrap();
        let table: Vec<f64> = vec![1.0; 4000];
        let mut pool = vec![0; 4000];
        let mut out = vec![0.0; 4000];
        let mut source = Simulated::new(Stream::from_seed(4));
        let release = m.release(&table, &mut source, &mut pool, &mut out).unwrap();
        let variance = release
            .value()
            .iter()
            .map(|z| (z - 1.0).powi(2))
            .sum::<f64>()
            / 4000.0;
        // Standard error of the ratio √(2/4000) = 0.022.
        assert!((variance / m.noise_std().powi(2) - 1.0).abs() < 0.1);
        assert!(pool.iter().all(|noise| *noise == 0));
        let bad = [1.0, f64::NAN];
        assert_eq!(
            m.release(&bad, &mut source, &mut pool[..2], &mut out[..2])
                .unwrap_err(),
            ProjectionError::NotFinite { row: 0 }
        );
        assert!(
            m.release(&table[..3], &mut source, &mut pool[..2], &mut out[..2])
                .is_err()
        );
    }

    #[test]
    fn refuses_nonsense() {
        assert!(matches!(
            GaussianProjection::new(&[1.0, 0.1], 2, 1, 1.0, 1e-5, 25.0, 20),
            Err(ProjectionError::NotOrthonormal { .. })
        ));
        assert!(matches!(
            GaussianProjection::new(&[f64::NAN, 0.0], 2, 1, 1.0, 1e-5, 25.0, 20),
            Err(ProjectionError::NotOrthonormal { .. })
        ));
        assert!(GaussianProjection::new(&[1.0, 0.0], 1, 2, 1.0, 1e-5, 25.0, 20).is_err());
        for (epsilon, delta) in [(-1.0, 1e-5), (f64::NAN, 1e-5), (1.0, 0.0), (1.0, 1.0)] {
            assert!(matches!(
                GaussianProjection::identity(2, epsilon, delta, 25.0, 20),
                Err(ProjectionError::Target(_))
            ));
        }
        assert!(GaussianProjection::identity(0, 1.0, 1e-5, 25.0, 20).is_err());
        assert!(GaussianProjection::identity(2, 1.0, 1e-5, 0.0, 20).is_err());
        assert!(matches!(
            GaussianProjection::identity(4, 1e-4, 1e-9, 25.0, 10),
            Err(ProjectionError::Grid { .. })
        ));
    }
}
