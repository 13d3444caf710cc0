//! Designs of points in the unit box: public lists of candidates.

use serde::{Deserialize, Serialize};
use sordino_core::domain::DIM_MAX;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed};

/// How points are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Design {
    /// The first points of a Sobol' sequence, shifted by bits of the seed.
    #[serde(rename = "sobol")]
    Sobol,
    /// One point in each of n slices of every axis.
    #[serde(rename = "latin-hypercube")]
    LatinHypercube,
    /// The largest regular grid with no more points than asked for, both ends included.
    #[serde(rename = "grid")]
    Grid,
    /// Points from a file.
    #[serde(rename = "list")]
    List,
}

impl Design {
    /// Whether a seed decides where the points are.
    pub fn has_seed(self) -> bool {
        matches!(self, Design::Sobol | Design::LatinHypercube)
    }
}

/// Degree, coefficients and first direction numbers of axes 2 to 16: Joe and Kuo 2008,
/// `new-joe-kuo-6.21201`.
const DIRECTIONS: [(u32, u32, &[u32]); DIM_MAX - 1] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
];

/// Points of a design in [0, 1]^dim, row-major: `count` of them, or for a grid the most that do not
/// exceed `count`. None for [`Design::List`].
///
/// **Parameters**: `dim` from 1 to 16; `seed` decides the shift of a Sobol' sequence and the slices
/// of a hypercube.
pub fn points(design: Design, count: u32, dim: usize, seed: u64) -> Vec<f64> {
    match design {
        Design::Sobol => sobol(count, dim, seed),
        Design::LatinHypercube => latin_hypercube(count, dim, seed),
        Design::Grid => grid(per_axis(count, dim), dim),
        Design::List => Vec::new(),
    }
}

/// All points of a regular grid over [0, 1]^dim, both ends included, the last coordinate fastest.
pub fn grid(points_per_axis: u32, dim: usize) -> Vec<f64> {
    let n = points_per_axis as usize;
    let count = n.pow(dim as u32);
    let mut points = Vec::with_capacity(count * dim);
    for index in 0..count {
        let mut stride = count;
        for _ in 0..dim {
            stride /= n;
            points.push((index / stride % n) as f64 / (n - 1) as f64);
        }
    }
    points
}

/// The largest n with nᴰ ≤ `count`, at least 2.
fn per_axis(count: u32, dim: usize) -> u32 {
    (2..=count)
        .take_while(|n| {
            u64::from(*n)
                .checked_pow(dim as u32)
                .is_some_and(|points| points <= u64::from(count))
        })
        .last()
        .unwrap_or(2)
}

/// **Equation**: x_{k,d} = (⊕_{bits i of k} v_{d,i} ⊕ s_d + ½)/2³², s_d a word of the seed. The
/// shift keeps every property of the net and takes the first point out of the corner.
fn sobol(count: u32, dim: usize, seed: u64) -> Vec<f64> {
    let directions: Vec<[u32; 32]> = (0..dim).map(direction_numbers).collect();
    let seed = RunSeed::new(seed, 0);
    let mut state: Vec<u32> = (0..dim as u32)
        .map(|axis| (seed.word(Party::World, Purpose::Candidates, axis) >> 32) as u32)
        .collect();
    let mut points = Vec::with_capacity(count as usize * dim);
    for k in 0..count {
        points.extend(
            state
                .iter()
                .map(|word| (f64::from(*word) + 0.5) / 4_294_967_296.0),
        );
        // Gray code: the next point differs by one direction.
        let bit = (k + 1).trailing_zeros() as usize % 32;
        state
            .iter_mut()
            .zip(&directions)
            .for_each(|(word, directions)| *word ^= directions[bit]);
    }
    points
}

fn direction_numbers(axis: usize) -> [u32; 32] {
    let mut v = [0; 32];
    let Some((degree, coefficients, first)) =
        axis.checked_sub(1).and_then(|axis| DIRECTIONS.get(axis))
    else {
        (0..32).for_each(|i| v[i] = 1 << (31 - i));
        return v;
    };
    let s = *degree as usize;
    for i in 0..32 {
        v[i] = match first.get(i) {
            Some(m) => m << (31 - i),
            None => {
                let chosen = (1..s).filter(|k| coefficients >> (s - 1 - k) & 1 == 1);
                chosen.fold(v[i - s] ^ v[i - s] >> s, |word, k| word ^ v[i - k])
            }
        };
    }
    v
}

fn latin_hypercube(count: u32, dim: usize, seed: u64) -> Vec<f64> {
    let mut points = vec![0.0; count as usize * dim];
    for axis in 0..dim {
        let mut stream =
            RunSeed::new(seed, 0).stream(Party::World, Purpose::Candidates, axis as u32);
        let mut slices: Vec<u32> = (0..count).collect();
        // Fisher and Yates.
        for last in (1..count as usize).rev() {
            let other = (f64::unit(stream.word()) * (last + 1) as f64) as usize;
            slices.swap(last, other.min(last));
        }
        for (i, slice) in slices.into_iter().enumerate() {
            points[i * dim + axis] =
                (f64::from(slice) + f64::unit(stream.word())) / f64::from(count);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the shift, the first points are those printed for the sequence of Joe and Kuo.
    #[test]
    fn directions_are_the_published_ones() {
        let mut state = [0u32; 4];
        let directions: Vec<_> = (0..4).map(direction_numbers).collect();
        let mut rows = Vec::new();
        for k in 0..7u32 {
            (0..4).for_each(|d| state[d] ^= directions[d][(k + 1).trailing_zeros() as usize]);
            rows.push(state.map(|word| f64::from(word) / 4_294_967_296.0));
        }
        let expected = [
            [0.5, 0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25, 0.25],
            [0.25, 0.75, 0.75, 0.75],
            [0.375, 0.375, 0.625, 0.875],
            [0.875, 0.875, 0.125, 0.375],
            [0.625, 0.125, 0.875, 0.625],
            [0.125, 0.625, 0.375, 0.125],
        ];
        assert_eq!(rows, expected);
    }

    /// 2ᵏ points of a Sobol' sequence, and n of a hypercube, have one in every slice of every axis.
    /// The sequence's two-dimensional projections are nets: 2⁸ points, one in nearly every cell of
    /// 16 by 16.
    #[test]
    fn every_axis_is_covered_in_every_dimension() {
        for (design, count) in [(Design::Sobol, 256u32), (Design::LatinHypercube, 250)] {
            for seed in [0, 7] {
                let points = points(design, count, DIM_MAX, seed);
                assert_eq!(points.len(), count as usize * DIM_MAX);
                for axis in 0..DIM_MAX {
                    let mut slices: Vec<u32> = (0..count as usize)
                        .map(|i| (points[i * DIM_MAX + axis] * f64::from(count)) as u32)
                        .collect();
                    slices.sort_unstable();
                    assert_eq!(
                        slices,
                        (0..count).collect::<Vec<_>>(),
                        "{design:?} axis {axis}"
                    );
                }
            }
        }
        let points = points(Design::Sobol, 256, 2, 3);
        let mut cells: Vec<(u32, u32)> = points
            .chunks_exact(2)
            .map(|p| ((p[0] * 16.0) as u32, (p[1] * 16.0) as u32))
            .collect();
        cells.sort_unstable();
        cells.dedup();
        assert_eq!(cells.len(), 256);
    }

    #[test]
    fn seeds_make_other_designs_and_grids_fit() {
        for design in [Design::Sobol, Design::LatinHypercube] {
            assert_ne!(points(design, 50, 3, 0), points(design, 50, 3, 1));
            assert_eq!(points(design, 50, 3, 1), points(design, 50, 3, 1));
        }
        assert_eq!(points(Design::Grid, 1000, 1, 0).len(), 1000);
        assert_eq!(points(Design::Grid, 1000, 2, 0).len(), 2 * 31 * 31);
        assert_eq!(points(Design::Grid, 1000, 6, 0).len(), 6 * 729);
        assert_eq!(
            grid(3, 2),
            [
                0.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.5, 0.0, 0.5, 0.5, 0.5, 1.0, 1.0, 0.0, 1.0, 0.5,
                1.0, 1.0
            ]
        );
    }
}
