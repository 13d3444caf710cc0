//! Standard normal draws for simulation and features, by Marsaglia's polar method in the format
//! asked for.
//!
//! Not for private releases: the low bits of a floating-point draw betray what it was added to
//! (Mironov 2012).
//!
//! ```
//! use sordino_core::random::{Stream, normal};
//!
//! let mut draws = vec![0f64; 10_000];
//! normal::fill(&mut Stream::from_seed(1), &mut draws);
//! let mean = draws.iter().sum::<f64>() / 1e4;
//! assert!(mean.abs() < 0.05); // five standard deviations of 1/√10000
//! ```

use super::Stream;
use crate::math::Scalar;

/// Fills `out` with independent N(0, 1) draws.
///
/// **Equation**: (u, v) uniform on the square (−1, 1)², accepted if 0 < s = u² + v² < 1; the pair
/// is u·f, v·f with f = √(−2 ln s / s).
///
/// **Cost**: 4/π attempts a pair; an attempt takes one word (`f32`) or two (`f64`). The second
/// value of the last pair is dropped if the length is odd.
///
/// **Source**: Marsaglia and Bray 1964.
pub fn fill<T: Scalar>(stream: &mut Stream, out: &mut [T]) {
    for pair in out.chunks_mut(2) {
        let (first, second) = draw_pair(stream);
        pair[0] = first;
        if let Some(x) = pair.get_mut(1) {
            *x = second;
        }
    }
}

/// One N(0, 1) draw, the first of a pair.
pub fn draw<T: Scalar>(stream: &mut Stream) -> T {
    draw_pair(stream).0
}

fn draw_pair<T: Scalar>(stream: &mut Stream) -> (T, T) {
    let two = T::ONE + T::ONE;
    loop {
        let (u, v) = T::unit_pair(|| stream.word());
        let u = u * two - T::ONE;
        let v = v * two - T::ONE;
        let s = u * u + v * v;
        if s > T::ZERO && s < T::ONE {
            let f = (-(two * s.ln()) / s).sqrt();
            return (u * f, v * f);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;

    /// Cells of probability 1/8 each; quantiles of N(0, 1).
    const EDGES: [f64; 7] = [
        -1.150_349_380_376,
        -0.674_489_750_196,
        -0.318_639_363_964,
        0.0,
        0.318_639_363_964,
        0.674_489_750_196,
        1.150_349_380_376,
    ];

    fn chi2(draws: impl Iterator<Item = f64>) -> f64 {
        let mut count = [0.0; 8];
        let mut n = 0.0;
        for x in draws {
            count[EDGES.iter().filter(|edge| x > **edge).count()] += 1.0;
            n += 1.0;
        }
        count
            .iter()
            .map(|c| (c - n / 8.0) * (c - n / 8.0) / (n / 8.0))
            .sum()
    }

    /// 7 degrees of freedom: 99.99 % quantile 29.9.
    const LIMIT: f64 = 29.9;

    #[test]
    fn is_standard_normal_in_both_formats_and_the_test_can_fail() {
        let mut stream = Stream::from_seed(11);
        let mut wide = vec![0.0f64; 200_000];
        fill(&mut stream, &mut wide);
        assert!(chi2(wide.iter().copied()) < LIMIT);
        let mut narrow = vec![0.0f32; 200_000];
        fill(&mut stream, &mut narrow);
        assert!(chi2(narrow.iter().map(|x| f64::from(*x))) < LIMIT);
        // Negative control: 2 % too wide is seen.
        assert!(chi2(wide.iter().map(|x| x * 1.02)) > LIMIT);
    }

    #[test]
    fn values_are_stable() {
        let mut out = [0.0f64; 3];
        fill(&mut Stream::from_seed(1), &mut out);
        let mut single = [0.0f32; 3];
        fill(&mut Stream::from_seed(1), &mut single);
        assert_eq!((out.map(f64::to_bits), single.map(f32::to_bits)), FROZEN);
    }
    const FROZEN: ([u64; 3], [u32; 3]) = (
        [
            13822400442486748453,
            13826212842682363470,
            13830872014332794255,
        ],
        [1067824663, 3210527587, 1054504655],
    );
}
