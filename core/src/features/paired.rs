//! Paired Fourier features: cosine and sine of the same frequency, norm exactly √s².
//!
//! ```
//! use sordino_core::features::{FeatureMap, PairedFourier};
//!
//! let map = PairedFourier::new(1, 2, 3.0, [0.7, 5.0])?; // two frequencies, s² = 3
//! let mut phi = [0f64; 4];
//! map.features(&[0.4], &mut phi);
//! assert!((phi.iter().map(|x| x * x).sum::<f64>() - 3.0).abs() < 1e-12); // cos² + sin² = 1
//! # Ok::<(), sordino_core::features::FeatureError>(())
//! ```

use super::{FeatureError, FeatureMap};
use crate::math::Scalar;

/// φ₂ⱼ(x) = √(2s²/M)·cos(sⱼ·x), φ₂ⱼ₊₁(x) = √(2s²/M)·sin(sⱼ·x), j = 1..M/2.
///
/// The variance of φ(x)·φ(x') is smaller than that of M phased cosines for all but distant points,
/// and φ(x)·φ(x) = s².
///
/// **Source**: Rahimi and Recht 2007; Sutherland and Schneider 2015 for the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedFourier<T, S> {
    dim: usize,
    pairs: usize,
    amplitude: T,
    frequencies: S,
}

impl<T: Scalar, S: AsRef<[T]>> PairedFourier<T, S> {
    /// `frequencies`: `pairs`·`dim` numbers, row-major, as
    /// [`random_fourier::draw`](super::random_fourier::draw) or
    /// [`orthogonal::draw`](super::orthogonal::draw) leaves them at the front of their storage;
    /// what follows is ignored.
    ///
    /// **Errors**: [`FeatureError`].
    pub fn new(
        dim: usize,
        pairs: usize,
        signal_variance: T,
        frequencies: S,
    ) -> Result<Self, FeatureError> {
        if dim == 0 || pairs == 0 {
            return Err(FeatureError::Empty {
                count: 2 * pairs,
                dim,
            });
        }
        if !(signal_variance > T::ZERO && signal_variance.is_finite()) {
            return Err(FeatureError::SignalVariance {
                value: signal_variance.to_f64(),
            });
        }
        let len = frequencies.as_ref().len();
        let expected = pairs * dim;
        if len < expected {
            return Err(FeatureError::Storage { len, expected });
        }
        Ok(PairedFourier {
            dim,
            pairs,
            amplitude: (signal_variance / T::from_u32(pairs as u32)).sqrt(),
            frequencies,
        })
    }
}

impl<T: Scalar, S: AsRef<[T]>> FeatureMap<T> for PairedFourier<T, S> {
    fn count(&self) -> usize {
        2 * self.pairs
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn features(&self, x: &[T], out: &mut [T]) {
        let rows = self
            .frequencies
            .as_ref()
            .chunks_exact(self.dim)
            .take(self.pairs);
        for (pair, frequency) in out.chunks_exact_mut(2).zip(rows) {
            let mut angle = T::ZERO;
            for (s, x) in frequency.iter().zip(x) {
                angle += *s * *x;
            }
            pair[0] = self.amplitude * angle.cos();
            pair[1] = self.amplitude * angle.sin();
        }
    }
}
