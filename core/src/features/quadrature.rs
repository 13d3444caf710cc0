//! Quadrature Fourier features of the squared exponential kernel: Gauss-Hermite nodes in place of
//! random frequencies.
//!
//! **Equation**: e^(−d²/2ℓ²) = E cos(ωd), ω ~ N(0, 1/ℓ²), by n nodes per axis; the nodes of D axes
//! are multiplied, pairs ±ω folded into one cosine and one sine: M = n^D features, n even.
//!
//! The error falls exponentially once n grows past the domain in lengthscales (ℓ = 0.2 on \[0,
//! 1\]²: 0.3 at n = 10, 0.1 at 12, 5e-5 at 20), and below that the features repeat periodically:
//! distant points seem correlated, and a posterior claims to know what it never saw. Such a count
//! is refused, with the error and the distance where it occurs.
//!
//! **Source**: Mutny and Krause 2018.
//!
//! ```
//! use sordino_core::features::{FeatureMap, QuadratureFourier, quadrature::storage_len};
//!
//! let map = QuadratureFourier::new::<f64>(1, 16, &[0.5], 1.0, 1.0, 1e-3, vec![0.0; storage_len(1, 16)])?;
//! let (mut a, mut b) = (vec![0f64; FeatureMap::<f64>::count(&map)], vec![0.0; FeatureMap::<f64>::count(&map)]);
//! map.features(&[0.2], &mut a);
//! map.features(&[0.7], &mut b);
//! let product: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
//! assert!((product - (-0.5f64).exp()).abs() <= map.kernel_error() + 1e-12); // k = e^(−r²/2) at r = 1
//! # Ok::<(), sordino_core::features::FeatureError>(())
//! ```

use core::f64::consts::PI;

use super::{FeatureError, FeatureMap};
use crate::math::{Scalar, pow};

/// The largest number of nodes per axis.
pub const NODES_MAX: usize = 64;
/// The most axes: M grows as a power of them.
pub const DIM_MAX: usize = 3;

/// Numbers that [`QuadratureFourier`] needs for `nodes` per axis: frequencies and one weight for
/// each of nodes^dim / 2.
pub const fn storage_len(dim: usize, nodes: usize) -> usize {
    nodes.pow(dim as u32) / 2 * (dim + 1)
}

/// φ with φ(x)·φ(x') ≈ s² e^(−r²/2) on a box, to a stated error.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadratureFourier<S> {
    dim: usize,
    pairs: usize,
    error: f64,
    storage: S,
}

impl<S> QuadratureFourier<S> {
    /// Features for a box of side `extent` (1 for the unit box).
    ///
    /// **Parameters**: `lengthscales` one for all axes or one an axis; `nodes` per axis, even,
    /// 2..=64; `tolerance`: the largest kernel error that is accepted, as a fraction of s² (0.1
    /// keeps posterior standard deviations within a few per cent).
    ///
    /// **Errors**: [`FeatureError::Aliasing`] if the kernel error within the box exceeds
    /// `tolerance`, with the smallest number of nodes that would do; [`FeatureError::Nodes`];
    /// [`FeatureError::Empty`] for no axis or more than three; [`FeatureError::Lengthscale`];
    /// [`FeatureError::SignalVariance`]; [`FeatureError::Storage`].
    ///
    /// **Cost**: O(n²) for the nodes, 512 n for the check.
    pub fn new<T: Scalar>(
        dim: usize,
        nodes: usize,
        lengthscales: &[f64],
        signal_variance: f64,
        extent: f64,
        tolerance: f64,
        mut storage: S,
    ) -> Result<Self, FeatureError>
    where
        S: AsRef<[T]> + AsMut<[T]>,
    {
        if dim == 0 || dim > DIM_MAX {
            return Err(FeatureError::Empty { count: nodes, dim });
        }
        if !(2..=NODES_MAX).contains(&nodes) || nodes % 2 == 1 {
            return Err(FeatureError::Nodes { nodes });
        }
        let pairs = nodes.pow(dim as u32) / 2;
        super::random_fourier::check_lengthscales(lengthscales, dim)?;
        if !(signal_variance > 0.0 && signal_variance.is_finite()) {
            return Err(FeatureError::SignalVariance {
                value: signal_variance,
            });
        }
        let len = storage.as_ref().len();
        let expected = storage_len(dim, nodes);
        if len < expected {
            return Err(FeatureError::Storage { len, expected });
        }
        // |Π aᵢ − Π bᵢ| ≤ Σ |aᵢ − bᵢ| for factors of at most 1.
        let scale = |axis: usize| {
            lengthscales
                .get(axis)
                .or(lengthscales.first())
                .copied()
                .unwrap_or(1.0)
        };
        let total = |nodes: usize| {
            let rule = Rule::new(nodes);
            (0..dim).fold((0.0, 0.0), |(sum, worst), axis| {
                let (error, at) = rule.kernel_error(extent / scale(axis));
                (
                    sum + error,
                    if error * dim as f64 >= sum {
                        at * scale(axis)
                    } else {
                        worst
                    },
                )
            })
        };
        let (error, distance) = total(nodes);
        if !(error <= tolerance) {
            let enough = (nodes / 2 + 1..=NODES_MAX / 2)
                .map(|half| 2 * half)
                .find(|n| total(*n).0 <= tolerance);
            return Err(FeatureError::Aliasing {
                nodes,
                error,
                distance,
                enough,
            });
        }
        let rule = Rule::new(nodes);
        for (index, entry) in storage
            .as_mut()
            .chunks_exact_mut(dim + 1)
            .take(pairs)
            .enumerate()
        {
            // The first axis takes only its positive nodes, the others all.
            let mut rest = index;
            let mut weight = 2.0 * signal_variance;
            for axis in (0..dim).rev() {
                let per_axis = if axis == 0 { nodes / 2 } else { nodes };
                let node = rest % per_axis;
                rest /= per_axis;
                entry[axis] = T::from_f64(rule.frequency(node) / scale(axis));
                weight *= rule.weight(node);
            }
            entry[dim] = T::from_f64(Scalar::sqrt(weight));
        }
        Ok(QuadratureFourier {
            dim,
            pairs,
            error,
            storage,
        })
    }

    /// Bound of the kernel error within the box, as a fraction of s².
    pub fn kernel_error(&self) -> f64 {
        self.error
    }
}

impl<T: Scalar, S: AsRef<[T]>> FeatureMap<T> for QuadratureFourier<S> {
    fn count(&self) -> usize {
        2 * self.pairs
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn features(&self, x: &[T], out: &mut [T]) {
        let entries = self
            .storage
            .as_ref()
            .chunks_exact(self.dim + 1)
            .take(self.pairs);
        for (pair, entry) in out.chunks_exact_mut(2).zip(entries) {
            let mut angle = T::ZERO;
            for (s, x) in entry[..self.dim].iter().zip(x) {
                angle += *s * *x;
            }
            let weight = entry[self.dim];
            pair[0] = weight * angle.cos();
            pair[1] = weight * angle.sin();
        }
    }
}

/// Gauss-Hermite nodes for the standard normal density: the positive half, largest first.
struct Rule {
    half: usize,
    node: [f64; NODES_MAX / 2],
    weight: [f64; NODES_MAX / 2],
}

impl Rule {
    /// `n` even. Newton's method on the orthonormal Hermite functions from asymptotic starts (Press
    /// et al., `gauher`).
    fn new(n: usize) -> Self {
        let half = n / 2;
        let mut rule = Rule {
            half,
            node: [0.0; NODES_MAX / 2],
            weight: [0.0; NODES_MAX / 2],
        };
        let size = n as f64;
        let mut z = 0.0;
        for i in 0..half {
            z = match i {
                0 => Scalar::sqrt(2.0 * size + 1.0) - 1.855_75 * pow(2.0 * size + 1.0, -0.166_67),
                1 => z - 1.14 * pow(size, 0.426) / z,
                2 => 1.86 * z - 0.86 * rule.node[0],
                3 => 1.91 * z - 0.91 * rule.node[1],
                _ => 2.0 * z - rule.node[i - 2],
            };
            let mut slope = 1.0;
            for _ in 0..60 {
                // π^(−1/4)
                let mut p1 = 0.751_125_544_464_943;
                let mut p2 = 0.0;
                for j in 0..n {
                    let k = j as f64;
                    let p3 = p2;
                    p2 = p1;
                    p1 = z * Scalar::sqrt(2.0 / (k + 1.0)) * p2 - Scalar::sqrt(k / (k + 1.0)) * p3;
                }
                slope = Scalar::sqrt(2.0 * size) * p2;
                let step = p1 / slope;
                z -= step;
                if Scalar::abs(step) < 1e-14 {
                    break;
                }
            }
            rule.node[i] = z;
            // 2/slope² integrates e^(−z²); over √π it is a probability.
            rule.weight[i] = 2.0 / (slope * slope) / Scalar::sqrt(PI);
        }
        rule
    }

    /// Node `index` of all n as a frequency of unit lengthscale: positive ones first.
    fn frequency(&self, index: usize) -> f64 {
        let value = core::f64::consts::SQRT_2 * self.node[index % self.half];
        if index < self.half { value } else { -value }
    }

    fn weight(&self, index: usize) -> f64 {
        self.weight[index % self.half]
    }

    /// Largest |Σ w cos(ωd) − e^(−d²/2)| for d in [0, extent], and where, on 512 distances.
    fn kernel_error(&self, extent: f64) -> (f64, f64) {
        let mut worst = (0.0, 0.0);
        for step in 0..=512 {
            let d = extent * f64::from(step) / 512.0;
            let mut sum = 0.0;
            for i in 0..self.half {
                sum += 2.0
                    * self.weight[i]
                    * Scalar::cos(core::f64::consts::SQRT_2 * self.node[i] * d);
            }
            let error = Scalar::abs(sum - Scalar::exp(-0.5 * d * d));
            if error > worst.0 {
                worst = (error, d);
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::kernel::{Kernel, SquaredExponential};
    use crate::linalg::dot;
    use std::vec;

    #[test]
    fn nodes_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 25.10, n = 4 and 20, weights over √π.
        let four = Rule::new(4);
        assert!((four.node[1] - 0.524_647_623_275_290).abs() < 1e-14);
        assert!((four.node[0] - 1.650_680_123_885_785).abs() < 1e-14);
        assert!((four.weight[1] * Scalar::sqrt(PI) - 0.804_914_090_005_513).abs() < 1e-13);
        let twenty = Rule::new(20);
        assert!((twenty.node[0] - 5.387_480_890_011_233).abs() < 1e-13);
        assert!((twenty.weight[0] * Scalar::sqrt(PI) - 2.229_393_645_534e-13).abs() < 1e-24);
        for n in (2..=NODES_MAX).step_by(2) {
            let sum: f64 = Rule::new(n).weight[..n / 2].iter().sum();
            assert!((2.0 * sum - 1.0).abs() < 1e-12, "{n}: {sum}");
        }
    }

    #[test]
    fn the_kernel_is_met_to_the_stated_error() {
        for dim in 1..=3 {
            let lengthscales = [0.3, 0.45, 0.6];
            let nodes = 14;
            let storage = vec![0.0; storage_len(dim, nodes)];
            let map = QuadratureFourier::new::<f64>(
                dim,
                nodes,
                &lengthscales[..dim],
                2.0,
                1.0,
                0.1,
                storage,
            )
            .unwrap();
            let kernel = SquaredExponential::ard(&lengthscales[..dim], 2.0).unwrap();
            let m = nodes.pow(dim as u32);
            assert_eq!(FeatureMap::<f64>::count(&map), m);
            let mut a = vec![0.0; m];
            let mut b = vec![0.0; m];
            for i in 0..=10 {
                let x = [0.0, 0.1, 0.0];
                let y = [0.1 * f64::from(i), 1.0 - 0.09 * f64::from(i), 0.5];
                map.features(&x[..dim], &mut a);
                map.features(&y[..dim], &mut b);
                let error = (dot(&a, &b) - kernel.covariance(&x[..dim], &y[..dim])).abs();
                assert!(
                    error <= 2.0 * map.kernel_error() + 1e-12,
                    "{dim} {i}: {error}"
                );
            }
        }
    }

    #[test]
    fn aliasing_counts_are_refused_with_the_reason() {
        let error = QuadratureFourier::new::<f64>(2, 8, &[0.2], 1.0, 1.0, 0.1, vec![0.0; 1000])
            .unwrap_err();
        let FeatureError::Aliasing {
            nodes: 8,
            error,
            distance,
            enough: Some(enough),
        } = error
        else {
            panic!("{error:?}")
        };
        assert!(
            error > 0.3 && distance > 0.5 && (12..=16).contains(&enough),
            "{error} {distance} {enough}"
        );
        let storage = vec![0.0; storage_len(2, enough)];
        assert!(QuadratureFourier::new::<f64>(2, enough, &[0.2], 1.0, 1.0, 0.1, storage).is_ok());
        for (dim, nodes) in [(0, 8), (4, 8), (1, 7), (1, 0), (1, 66)] {
            assert!(
                QuadratureFourier::new::<f64>(dim, nodes, &[0.5], 1.0, 1.0, 0.1, vec![0.0; 4096])
                    .is_err()
            );
        }
        assert!(QuadratureFourier::new::<f64>(1, 8, &[0.5], 1.0, 1.0, 0.1, vec![0.0; 7]).is_err());
        assert!(
            QuadratureFourier::new::<f64>(1, 8, &[f64::NAN], 1.0, 1.0, 0.1, vec![0.0; 8]).is_err()
        );
    }
}
