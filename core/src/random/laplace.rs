//! Laplace draws for simulation, in floating point.
//!
//! Not for private releases: inverting the distribution function reaches a porous set of numbers
//! that betrays the true value (Mironov 2012). The private mechanism draws discrete Laplace noise
//! on an integer grid.
//!
//! ```
//! use sordino_core::random::{Stream, laplace};
//!
//! let stream = &mut Stream::from_seed(1);
//! let mean = (0..10_000).map(|_| f64::abs(laplace::draw(stream, 2.0))).sum::<f64>() / 1e4;
//! assert!((mean - 2.0).abs() < 0.1); // E|X| is the scale; five standard deviations of 2/√10000
//! ```

use super::Stream;
use crate::math::Scalar;

/// One draw of density e^(−|x|/scale)/(2·scale), scale > 0.
///
/// **Equation**: sign · (−scale · ln(1 − u)), u uniform on [0, 1). **Cost**: two words.
pub fn draw<T: Scalar>(stream: &mut Stream, scale: T) -> T {
    let magnitude = -(T::ONE - stream.unit::<T>()).ln() * scale;
    if stream.word() >> 63 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_moments_of_its_scale_and_the_test_can_fail() {
        let mut stream = Stream::from_seed(2);
        let n = 200_000;
        let mut absolute = 0.0;
        let mut signed = 0.0;
        for _ in 0..n {
            let x: f64 = draw(&mut stream, 2.0);
            absolute += x.abs() / f64::from(n);
            signed += x / f64::from(n);
        }
        // E|x| = scale, standard error scale/√n = 0.0045; E x = 0, standard error √2·scale/√n =
        // 0.0063.
        let z = |scale: f64| (absolute - scale).abs() / 0.0045;
        assert!(
            z(2.0) < 4.0 && signed.abs() < 4.0 * 0.0063,
            "{absolute} {signed}"
        );
        assert!(z(2.06) > 4.0, "3 % off must be seen");
    }
}
