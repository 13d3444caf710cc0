//! Scrambled Sobol points: every prefix covers the box more evenly than random points, another seed
//! gives others.
//!
//! **Equation**: coordinate d of element i is ⊕ of the direction numbers v_{d,b} over the bits b of
//! i; the first axis is the van der Corput sequence. The scrambling is Owen's nested one: each bit
//! is flipped by a function of the bits above it, here the hash of Laine and Karras of the mirrored
//! word. It maps elementary intervals to elementary intervals, so what the sequence covers evenly
//! it still does.
//!
//! **Source**: directions of Joe and Kuo 2008 (new-joe-kuo-6.21201, the first 16 axes); Owen 1995;
//! Laine and Karras 2011, with the constants of Vegdahl 2021.
//!
//! ```
//! use sordino_core::domain::sobol::coordinate;
//! // Sixteen points: one in each sixteenth of every axis, whatever the seed.
//! for axis in 0..16 {
//!     let mut seen = [false; 16];
//!     (0..16).for_each(|i| seen[(16.0 * coordinate::<f64>(i, axis, 7)) as usize] = true);
//!     assert!(seen.iter().all(|seen| *seen));
//! }
//! ```

use super::DIM_MAX;
use crate::math::Scalar;

/// Degree s, coefficients a and first direction numbers m of the primitive polynomial of an axis
/// from the second on.
const POLYNOMIALS: [(usize, u32, [u32; 6]); DIM_MAX - 1] = [
    (1, 0, [1, 0, 0, 0, 0, 0]),
    (2, 1, [1, 3, 0, 0, 0, 0]),
    (3, 1, [1, 3, 1, 0, 0, 0]),
    (3, 2, [1, 1, 1, 0, 0, 0]),
    (4, 1, [1, 1, 3, 3, 0, 0]),
    (4, 4, [1, 3, 5, 13, 0, 0]),
    (5, 2, [1, 1, 5, 5, 17, 0]),
    (5, 4, [1, 1, 5, 5, 5, 0]),
    (5, 7, [1, 1, 7, 11, 19, 0]),
    (5, 11, [1, 1, 5, 1, 1, 0]),
    (5, 13, [1, 1, 1, 3, 11, 0]),
    (5, 14, [1, 3, 5, 5, 31, 0]),
    (6, 1, [1, 3, 3, 9, 7, 49]),
    (6, 13, [1, 1, 1, 15, 21, 21]),
    (6, 16, [1, 3, 1, 13, 27, 49]),
];

const BITS: usize = 32;

const DIRECTIONS: [[u32; BITS]; DIM_MAX] = directions();

/// m_k = 2a₁m_{k−1} ⊕ 4a₂m_{k−2} ⊕ … ⊕ 2ˢm_{k−s} ⊕ m_{k−s}, stored with its point: v_k =
/// m_k·2^{31−k}.
const fn directions() -> [[u32; BITS]; DIM_MAX] {
    let mut all = [[0; BITS]; DIM_MAX];
    let mut k = 0;
    while k < BITS {
        all[0][k] = 1 << (BITS - 1 - k);
        k += 1;
    }
    let mut axis = 1;
    while axis < DIM_MAX {
        let (degree, coefficients, first) = POLYNOMIALS[axis - 1];
        let mut k = 0;
        while k < BITS {
            if k < degree {
                all[axis][k] = first[k] << (BITS - 1 - k);
            } else {
                let before = all[axis][k - degree];
                let mut v = before ^ (before >> degree);
                let mut j = 1;
                while j < degree {
                    if coefficients >> (degree - 1 - j) & 1 == 1 {
                        v ^= all[axis][k - j];
                    }
                    j += 1;
                }
                all[axis][k] = v;
            }
            k += 1;
        }
        axis += 1;
    }
    all
}

/// Element `index` of the sequence on `axis`, as a fraction of 2³².
fn word(index: u32, axis: usize) -> u32 {
    // Never beyond the list, and the compiler sees it.
    let Some(directions) = DIRECTIONS.get(axis % DIM_MAX) else {
        return 0;
    };
    let mut rest = index;
    let mut word = 0;
    for direction in directions {
        if rest == 0 {
            break;
        }
        if rest & 1 == 1 {
            word ^= direction;
        }
        rest >>= 1;
    }
    word
}

/// A word whose bits are all functions of all bits of `x`: the finaliser of MurmurHash3.
pub(crate) const fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// Owen's scrambling by a hash whose bits depend on lower bits only, of the mirrored word.
fn scrambled(word: u32, seed: u32) -> u32 {
    let mut x = word.reverse_bits();
    x ^= x.wrapping_mul(0x3d20_adea);
    x = x.wrapping_add(seed);
    x = x.wrapping_mul((seed >> 16) | 1);
    x ^= x.wrapping_mul(0x0552_6c56);
    x ^= x.wrapping_mul(0x53a2_2864);
    x.reverse_bits()
}

/// Coordinate `axis` (below [`DIM_MAX`]) of point `index` of the sequence scrambled by `seed`, in
/// (0, 1).
///
/// **Numerics**: of `f32` the upper 23 bits and a half, so that no point lies on the border; of
/// `f64` all 32 and a half.
///
/// **Cost**: some 60 integer operations.
pub fn coordinate<T: Scalar>(index: u32, axis: usize, seed: u32) -> T {
    let of_axis = hash(seed ^ hash(axis as u32 + 1));
    centre(scrambled(word(index, axis), of_axis))
}

/// The middle of the interval that the upper bits of a word name, in (0, 1).
pub(crate) fn centre<T: Scalar>(word: u32) -> T {
    let half = T::from_f64(0.5);
    if T::BYTES == 4 {
        (T::from_u32(word >> 9) + half) * T::from_f64(1.0 / 8_388_608.0) // 2⁻²³
    } else {
        (T::from_u32(word) + half) * T::from_f64(1.0 / 4_294_967_296.0) // 2⁻³²
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;

    /// Whether the 2ᵏ points from `start` on have one in each elementary interval of 2⁻ᵃ × 2^{a−k}
    /// of two axes.
    fn is_net(
        k: u32,
        start: u32,
        axes: (usize, usize),
        a: u32,
        of: &impl Fn(u32, usize) -> f64,
    ) -> bool {
        let mut seen = vec![false; 1 << k];
        for i in start..start + (1 << k) {
            let x = (of(i, axes.0) * f64::from(1u32 << a)) as usize;
            let y = (of(i, axes.1) * f64::from(1u32 << (k - a))) as usize;
            seen[x << (k - a) | y] = true;
        }
        seen.iter().all(|seen| *seen)
    }

    /// The largest t such that some pair is only a (t, k, 2)-net: intervals of area 2^{t−k} hold 2ᵗ
    /// points each.
    fn quality(k: u32, start: u32, axes: (usize, usize), of: &impl Fn(u32, usize) -> f64) -> u32 {
        (0..=k)
            .find(|t| {
                (0..=k - t).all(|a| {
                    let b = k - t - a;
                    let mut count = vec![0u32; 1 << (k - t)];
                    for i in start..start + (1 << k) {
                        let x = (of(i, axes.0) * f64::from(1u32 << a)) as usize;
                        let y = (of(i, axes.1) * f64::from(1u32 << b)) as usize;
                        count[x << b | y] += 1;
                    }
                    count.iter().all(|count| *count == 1 << t)
                })
            })
            .unwrap_or(k)
    }

    #[test]
    fn every_block_of_a_power_of_two_is_even_in_each_axis_and_in_pairs() {
        for seed in [0, 1, 0xdead_beef] {
            let of = |i, axis| coordinate::<f64>(i, axis, seed);
            for k in [1, 3, 6, 9] {
                for block in 0..4u32 {
                    for axis in 0..DIM_MAX {
                        assert!(
                            is_net(k, block << k, (axis, axis), k, &|i, axis| of(i, axis)),
                            "{k} {block} {axis}"
                        );
                    }
                    // The first two axes are a (0, 2)-sequence.
                    assert!((0..=k).all(|a| is_net(k, block << k, (0, 1), a, &of)));
                }
            }
            // t of a pair of axes is at most the sum of (degree − 1), by Sobol's theorem.
            for first in 1..DIM_MAX {
                for second in first + 1..DIM_MAX {
                    let bound = (POLYNOMIALS[first - 1].0 + POLYNOMIALS[second - 1].0 - 2) as u32;
                    assert!(
                        quality(9, 0, (first, second), &of) <= bound.min(9),
                        "{first} {second}"
                    );
                }
            }
        }
        // Negative controls: a direction number that is even, and random points.
        let random = |i: u32, axis: usize| f64::from(hash(i * 16 + axis as u32)) / 4_294_967_296.0;
        assert!(!is_net(6, 0, (3, 3), 6, &random));
        assert!(
            !(0..=6).all(|a| is_net(6, 0, (3, 4), a, &|i, axis| coordinate::<f64>(
                i,
                axis.min(3),
                0
            )))
        );
    }

    #[test]
    fn first_numbers_are_odd_and_small_enough_and_seeds_differ() {
        for (degree, _, first) in POLYNOMIALS {
            for (k, m) in first.iter().enumerate() {
                assert!(if k < degree {
                    m % 2 == 1 && *m < 2 << k
                } else {
                    *m == 0
                });
            }
        }
        let point = |seed| core::array::from_fn::<f32, 16, _>(|axis| coordinate(5, axis, seed));
        assert!(point(1) != point(2) && point(1) == point(1));
        assert!(point(3).iter().all(|x| *x > 0.0 && *x < 1.0));
        let single = coordinate::<f32>(77, 5, 9);
        assert!((f64::from(single) - coordinate::<f64>(77, 5, 9)).abs() < 1e-6);
    }

    /// The unscrambled points of an independent program (scipy.stats.qmc.Sobol), which counts in
    /// Gray code: the same sets.
    #[test]
    fn directions_are_those_of_joe_and_kuo() {
        let sixth = [
            536870912u32,
            268435456,
            402653184,
            201326592,
            838860800,
            150994944,
            360710144,
            1052770304,
        ];
        assert_eq!(
            core::array::from_fn::<u32, 8, _>(|k| DIRECTIONS[5][k] >> 2),
            sixth
        );
        let last = [
            536870912u32,
            805306368,
            134217728,
            872415232,
            905969664,
            822083584,
            293601280,
            557842432,
        ];
        assert_eq!(
            core::array::from_fn::<u32, 8, _>(|k| DIRECTIONS[15][k] >> 2),
            last
        );
    }
}
