//! The upper confidence bound: mean + confidence width · standard deviation.
//!
//! ```
//! use sordino_core::acquisition::upper_confidence_bound::maximize;
//!
//! let (mean, variance) = ([0.0, 1.0], [9.0, 1.0]);
//! let best = maximize(&mean, &variance, 2.0); // 0 + 2·3 against 1 + 2·1
//! assert_eq!((best.candidate, best.value), (0, 6.0));
//! ```

use super::Maximum;
use crate::dispatch;
use crate::linalg::slice;
use crate::math::Scalar;

/// argmax of meanᵢ + width·√varianceᵢ; ties go to the lowest index.
///
/// **Parameters**: `confidence_width` multiplies the posterior *standard deviation*; papers whose β
/// multiplies the variance are used as √β. Negative variances count as 0, a NaN never wins.
///
/// **Numerics**: a candidate whose bound is below the best one by more than rounding is passed over
/// without a square root; the result is that of computing every bound.
///
/// **Cost**: O(N), few square roots. Without a candidate the result is candidate 0 at −∞.
pub fn maximize<T: Scalar>(mean: &[T], variance: &[T], confidence_width: T) -> Maximum<T> {
    let mut best = Maximum {
        candidate: 0,
        value: -T::INFINITY,
    };
    // width²·variance·(1 + 16ε) < (best − mean)² leaves no doubt whatever the roundings of both
    // sides.
    let generous = confidence_width * confidence_width * (T::ONE + T::from_f64(16.0) * T::EPSILON);
    let mut done = 0;
    if cfg!(feature = "dispatch") {
        dispatch::run(
            #[inline(always)]
            |_| {
                for (means, variances) in mean.as_chunks().0.iter().zip(variance.as_chunks().0) {
                    if !none_reaches(best.value, generous, means, variances) {
                        look(
                            &mut best,
                            generous,
                            confidence_width,
                            done,
                            means,
                            variances,
                        );
                    }
                    done += SKIP;
                }
            },
        );
    }
    look(
        &mut best,
        generous,
        confidence_width,
        done,
        slice::tail(mean, done),
        slice::tail(variance, done),
    );
    best
}

/// Candidates that are passed over together, where vectors are at hand.
const SKIP: usize = 16;

/// Whether every bound is below `best` without a doubt; no branch within.
#[inline(always)]
fn none_reaches<T: Scalar>(best: T, generous: T, mean: &[T; SKIP], variance: &[T; SKIP]) -> bool {
    let mut below = true;
    for i in 0..SKIP {
        let gap = best - mean[i];
        below &= (gap > T::ZERO) & (generous * variance[i] < gap * gap);
    }
    below
}

/// The maximum of `best` and these candidates, of which the first is `start`.
#[inline(always)]
fn look<T: Scalar>(
    best: &mut Maximum<T>,
    generous: T,
    confidence_width: T,
    start: usize,
    mean: &[T],
    variance: &[T],
) {
    for (i, (mean, variance)) in mean.iter().zip(variance).enumerate() {
        let gap = best.value - *mean;
        if gap > T::ZERO && generous * *variance < gap * gap {
            continue;
        }
        let value = bound(*mean, *variance, confidence_width);
        if value > best.value {
            *best = Maximum {
                candidate: (start + i) as u32,
                value,
            };
        }
    }
}

/// mean + width·√variance; a negative variance counts as 0.
#[inline]
pub fn bound<T: Scalar>(mean: T, variance: T, confidence_width: T) -> T {
    mean + confidence_width * variance.max(T::ZERO).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn skipping_changes_nothing() {
        let mut stream = Stream::from_seed(8);
        for round in 0..2000 {
            let mean: [f64; 40] = core::array::from_fn(|_| stream.unit::<f64>() * 4.0 - 2.0);
            // Half the rounds put everything on one bound, so that only rounding decides.
            let variance: [f64; 40] = core::array::from_fn(|i| {
                if round % 2 == 0 {
                    let std = (3.0 - mean[i]) / 1.7;
                    std * std
                } else {
                    stream.unit()
                }
            });
            let mut plain = Maximum {
                candidate: 0,
                value: f64::NEG_INFINITY,
            };
            for i in 0..40 {
                let value = bound(mean[i], variance[i], 1.7);
                if value > plain.value {
                    plain = Maximum {
                        candidate: i as u32,
                        value,
                    };
                }
            }
            assert_eq!(maximize(&mean, &variance, 1.7), plain);
        }
    }

    #[test]
    fn ties_zeros_and_nan() {
        assert_eq!(maximize(&[0.0; 3], &[1.0f32; 3], 2.0).candidate, 0);
        assert_eq!(
            maximize(&[0.5, 1.0], &[0.0, -1.0f64], 3.0),
            Maximum {
                candidate: 1,
                value: 1.0
            }
        );
        assert_eq!(
            maximize(&[f64::NAN, 0.1], &[1.0, f64::NAN], 1.0).value,
            f64::NEG_INFINITY
        );
        assert_eq!(
            maximize(&[f64::NAN, 0.1, 0.0], &[1.0, 0.0, 0.0], 1.0).candidate,
            1
        );
    }
}
