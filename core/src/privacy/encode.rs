//! From one party's vector to integers of bounded norm.
//!
//! | step | what | exact? |
//! |---|---|---|
//! | refuse | a non-finite entry, or a norm that overflows: the whole vector counts as zero, *before* clipping | yes |
//! | clip | ω̂ = ω / max(1, ‖ω‖/clipping_norm) | floating point |
//! | scale, truncate | u = trunc((K/C)·φ⁽ⁱ⁾·ω̂) toward zero, all blocks i of the joint vector | floating point |
//! | check | Σu² ≤ K², once over the joint vector; else shrink once and check again; else zero | **integers** |
//! | add | into 64-bit sums | **integers** |
//!
//! **Time.** A vector costs the same whether its party is in the secret sample or not: the same
//! reads, the same writes to the same addresses, the same instructions ([`Encoder::add_if`]). That
//! is counted on three processors (`tests/tests/it/upload_work.rs`,
//! `firmware-example/src/device/uploads.rs`), because no language rule forbids an optimiser to
//! leave out work that is thrown away. What the vector itself costs may depend on the vector.
//!
//! **Privacy** rests on the check alone: whatever the steps before it did, the contribution is an
//! integer vector of norm ≤ K or zero, and it is a function of one party's vector and of public
//! constants only. Truncation goes toward zero because |trunc x| ≤ |x|: under zero-out neighbours
//! the sensitivity does not grow by rounding. The bias is below one grid step, C/K, per coordinate.
//!
//! **Example**: that of [`Encoder`].

use core::fmt;
use core::hint::black_box;

use crate::math::Scalar;

/// What became of a vector. **Never leaves the server**: in simulator traces it is marked not
/// releasable.
///
/// **Example**: that of [`Encoder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Encoded as it was.
    Kept,
    /// Longer than the clipping norm: scaled down to it.
    Clipped,
    /// The integer check failed once (rounding): scaled down a little more.
    Shrunk,
    /// Not finite, or beyond repair: contributes zero.
    Zeroed,
}

/// Why an encoder cannot be made, or a vector has no place. None of these depends on a protected
/// value.
///
/// **Example**: that of [`Encoder`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum EncodeError {
    /// The integer radius is outside 1..2³¹.
    Radius(u64),
    /// The L2 sensitivity is not a positive finite number.
    Sensitivity(f64),
    /// The clipping norm is not a positive finite number.
    ClippingNorm(f64),
    /// `sums.len()` is not `vector.len() · weights.len()`.
    Length {
        /// Entries of the sums.
        sums: usize,
        /// Entries of the vector.
        vector: usize,
        /// Number of blocks that the weights name.
        weights: usize,
    },
    /// A 64-bit sum would overflow: more contributions than the configuration admits.
    SumOverflow,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Radius(k) => write!(f, "integer radius {k} is not in 1..2147483648"),
            EncodeError::Sensitivity(x) => {
                write!(f, "l2_sensitivity {x} is not a positive finite number")
            }
            EncodeError::ClippingNorm(x) => {
                write!(f, "clipping_norm {x} is not a positive finite number")
            }
            EncodeError::Length {
                sums,
                vector,
                weights,
            } => {
                write!(
                    f,
                    "{sums} sums cannot hold a vector of {vector} entries in {weights} blocks"
                )
            }
            EncodeError::SumOverflow => {
                f.write_str("more contributions than the sums were configured for")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

/// The public constants of one encoding.
///
/// ```
/// use sordino_core::privacy::encode::{EncodeError, Encoder, Outcome};
///
/// let encoder = Encoder::new(1024, 2.0, 1.0)?; // K = 1024 units stand for a norm of C = 2; vectors are clipped to 1
/// let mut sums = [0; 2];
/// // Norm 5, clipped to (0.6, 0.8), times K/C = 512, truncated:
/// assert_eq!(encoder.add(&[3.0, 4.0], &[1.0], &mut sums)?, Outcome::Clipped);
/// assert_eq!(sums, [307, 409]);
/// assert_eq!(encoder.add(&[f64::NAN, 4.0], &[1.0], &mut sums)?, Outcome::Zeroed);
/// assert_eq!(sums, [307, 409]);
/// assert_eq!(Encoder::new(0, 2.0, 1.0), Err(EncodeError::Radius(0)));
/// # Ok::<(), EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoder {
    radius: u64,
    scale: f64,
    clipping_norm: f64,
}

/// What a violated check multiplies the scale by: far more than rounding can have added, far less
/// than a bit of signal.
const SHRINK: f64 = 1.0 - 1.0 / 1_073_741_824.0; // 1 − 2⁻³⁰

impl Encoder {
    /// An encoder.
    ///
    /// **Parameters**: `radius` K, the integer norm bound, 1 ≤ K < 2³¹; `l2_sensitivity` C > 0, the
    /// norm of the joint vector that becomes K; `clipping_norm` > 0, the largest norm of a party's
    /// own vector.
    pub fn new(radius: u64, l2_sensitivity: f64, clipping_norm: f64) -> Result<Self, EncodeError> {
        if radius == 0 || radius >= 1 << 31 {
            return Err(EncodeError::Radius(radius));
        }
        let scale = radius as f64 / l2_sensitivity;
        if !(l2_sensitivity > 0.0 && l2_sensitivity.is_finite() && scale.is_finite()) {
            return Err(EncodeError::Sensitivity(l2_sensitivity));
        }
        if !(clipping_norm > 0.0 && clipping_norm.is_finite()) {
            return Err(EncodeError::ClippingNorm(clipping_norm));
        }
        Ok(Encoder {
            radius,
            scale,
            clipping_norm,
        })
    }

    /// The integer norm bound K.
    pub const fn radius(&self) -> u64 {
        self.radius
    }

    /// Adds one party's contribution to the sums: entry j of block i at `sums[i·vector.len() + j]`.
    ///
    /// **Parameters**: `vector` the party's own, any numbers at all; `weights` its public weight in
    /// each block (one block of weight 1 for a plain sum); `sums` as long as the product of the
    /// two.
    ///
    /// **Errors**: [`EncodeError::Length`], sums untouched; [`EncodeError::SumOverflow`], which no
    /// configuration with contributors·K < 2⁶² can meet.
    ///
    /// **Cost**: two passes of `sums.len()` multiplications and truncations; no temporary.
    pub fn add<T: Scalar>(
        &self,
        vector: &[T],
        weights: &[f64],
        sums: &mut [i64],
    ) -> Result<Outcome, EncodeError> {
        self.add_if(true, vector, weights, sums)
    }

    /// [`Encoder::add`], or the same work with nothing added: what a party outside the sample costs
    /// does not tell that it is outside.
    ///
    /// **Numerics**: contributions are masked, and the mask is hidden from the optimiser; one that
    /// knows it to be 0 or −1 makes two loops of one and computes nothing in the second. Discarding
    /// into a second accumulator would oblige the optimiser too, but the address written to would
    /// then depend on the coin, and a cache tells addresses.
    ///
    /// **Privacy**: *not* hidden is what depends on the vector alone. One that is not finite, or
    /// fails the check for good, goes through the whole sum with scale zero; one that fails the
    /// check costs one pass of it more; without a floating-point unit every operation costs what
    /// its numbers make it cost. [`EncodeError::SumOverflow`] can only meet a selected vector, and
    /// no configuration that was checked.
    pub fn add_if<T: Scalar>(
        &self,
        selected: bool,
        vector: &[T],
        weights: &[f64],
        sums: &mut [i64],
    ) -> Result<Outcome, EncodeError> {
        let mask = black_box(-i64::from(selected));
        if vector.is_empty()
            || weights.is_empty()
            || vector.len().checked_mul(weights.len()) != Some(sums.len())
        {
            return Err(EncodeError::Length {
                sums: sums.len(),
                vector: vector.len(),
                weights: weights.len(),
            });
        }
        let (clip, finite) = clip(vector, self.clipping_norm);
        // With scale zero every entry, also one that is not a number, becomes 0.
        let mut scale = if finite { self.scale * clip } else { 0.0 };
        let mut outcome = match (finite, clip < 1.0) {
            (false, _) => Outcome::Zeroed,
            (true, true) => Outcome::Clipped,
            (true, false) => Outcome::Kept,
        };
        if !self.fits(vector, weights, scale) {
            scale *= SHRINK;
            outcome = Outcome::Shrunk;
            if !self.fits(vector, weights, scale) {
                scale = 0.0;
                outcome = Outcome::Zeroed;
            }
        }
        for (block, weight) in sums.chunks_exact_mut(vector.len()).zip(weights) {
            for (sum, x) in block.iter_mut().zip(vector) {
                *sum = sum
                    .checked_add(entry(scale * weight, *x) & mask)
                    .ok_or(EncodeError::SumOverflow)?;
            }
        }
        Ok(outcome)
    }

    /// The exact check Σu² ≤ K², always to the end of the vector.
    fn fits<T: Scalar>(&self, vector: &[T], weights: &[f64], scale: f64) -> bool {
        let mut sum = 0u64;
        for weight in weights {
            for x in vector {
                // K + 1 stands for everything beyond K: one such entry is too much, and its square
                // is at most 2⁶².
                let u = entry(scale * weight, *x)
                    .unsigned_abs()
                    .min(self.radius + 1);
                sum = sum.saturating_add(u * u);
            }
        }
        sum <= self.radius * self.radius
    }
}

/// One grid coordinate. The cast truncates toward zero, saturates, and sends NaN to 0: always an
/// integer.
#[inline]
fn entry<T: Scalar>(scale: f64, x: T) -> i64 {
    (scale * x.to_f64()) as i64
}

/// 1/max(1, ‖ω‖₂/clipping_norm) in `f64`; nothing if an entry is not finite or ‖ω‖² overflows.
///
/// `1f64.max(NaN)` is 1: without this refusal a NaN would pass the clip unchanged and be seen in
/// every sum.
pub fn clip_factor<T: Scalar>(vector: &[T], clipping_norm: f64) -> Option<f64> {
    let (factor, finite) = clip(vector, clipping_norm);
    finite.then_some(factor)
}

/// The factor of [`clip_factor`] and whether the norm is finite, by the same work for all vectors.
fn clip<T: Scalar>(vector: &[T], clipping_norm: f64) -> (f64, bool) {
    let mut squares = 0.0;
    for x in vector {
        let x = x.to_f64();
        squares += x * x;
    }
    // One non-finite entry makes the sum non-finite: no separate pass is needed.
    let finite = squares.is_finite();
    let ratio = Scalar::sqrt(if finite { squares } else { 0.0 }) / clipping_norm;
    (1.0 / if ratio > 1.0 { ratio } else { 1.0 }, finite)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::collection::vec;
    use proptest::sample::select;
    use proptest::strategy::Just;
    use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
    use proptest::{prop_assert, prop_oneof};
    use std::cell::Cell;
    use std::string::ToString;
    use std::vec;

    fn norm2(sums: &[i64]) -> u128 {
        sums.iter()
            .map(|u| u128::from(u.unsigned_abs()).pow(2))
            .sum()
    }

    #[test]
    fn encodes_by_the_formula() {
        let encoder = Encoder::new(1 << 20, 2.0, 5.0).unwrap();
        let mut sums = [1i64; 4];
        assert_eq!(
            encoder.add(&[0.5, -1.25], &[1.0, 0.5], &mut sums),
            Ok(Outcome::Kept)
        );
        assert_eq!(sums, [1 + 262_144, 1 - 655_360, 1 + 131_072, 1 - 327_680]);
        // Clipped from norm 10 to norm 5: scaled by one half.
        let mut sums = [0i64; 2];
        let encoder = Encoder::new(1 << 20, 5.0, 5.0).unwrap();
        assert_eq!(
            encoder.add(&[6.0, 8.0], &[1.0], &mut sums),
            Ok(Outcome::Clipped)
        );
        assert_eq!(sums, [629_145, 838_860]);
    }

    #[test]
    fn whatever_comes_the_integer_norm_holds() {
        // Entries from the whole zoo; weights above the declared sensitivity too, as if the
        // configuration were wrong.
        let zoo = [
            0.0,
            -0.0,
            5e-324,
            1e-308,
            1.0,
            -1.0,
            11.0,
            -3e7,
            1e154,
            -1e155,
            1e308,
            -1e308,
            f64::MAX,
        ];
        let vector = prop_oneof![vec(select(zoo.to_vec()), 1..=6), vec(-20.0..20.0, 1..=6)];
        let sensitivity = prop_oneof![9 => Just(1.0), 1 => Just(0.5)];
        let input = (vector, [1e-3..1.0, 1e-3..1.0], sensitivity, 1u64..=1 << 20);
        let seen = Cell::new([false; 4]);
        let config = Config {
            cases: 20_000,
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner =
            TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let held = runner.run(&input, |(vector, weights, share, radius)| {
            let [a, b]: [f64; 2] = weights;
            let tight = (a * a + b * b).sqrt() * 7.0;
            let encoder = Encoder::new(radius, tight * share, 7.0)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            let mut sums = vec![0i64; 2 * vector.len()];
            let outcome = encoder.add(&vector, &weights, &mut sums);
            let outcome = outcome.map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert!(norm2(&sums) <= u128::from(encoder.radius()).pow(2));
            prop_assert!(outcome != Outcome::Zeroed || sums.iter().all(|u| *u == 0));
            let mut so_far = seen.get();
            so_far[outcome as usize] = true;
            seen.set(so_far);
            Ok(())
        });
        held.unwrap();
        let seen = seen.get();
        assert!(seen[0] && seen[1] && seen[3], "{seen:?}");
    }

    #[test]
    fn not_finite_counts_as_zero_in_both_formats() {
        let encoder = Encoder::new(1 << 16, 1.0, 1.0).unwrap();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308] {
            let mut sums = [7i64; 3];
            assert_eq!(
                encoder.add(&[0.1, bad, 0.2], &[1.0], &mut sums),
                Ok(Outcome::Zeroed)
            );
            assert_eq!(sums, [7; 3]);
        }
        let mut sums = [0i64; 2];
        assert_eq!(
            encoder.add(&[0.1, f32::NAN], &[1.0], &mut sums),
            Ok(Outcome::Zeroed)
        );
        assert_eq!(
            encoder.add(&[0.0, f32::MAX], &[1.0], &mut sums),
            Ok(Outcome::Clipped)
        );
        assert!(norm2(&sums) <= 1 << 32);
        // Weights that are not finite cannot pass the check either.
        assert_eq!(
            encoder.add(&[0.5, 0.5], &[f64::INFINITY], &mut [0i64; 2]),
            Ok(Outcome::Zeroed)
        );
        assert_eq!(
            encoder.add(&[0.5, 0.5], &[f64::NAN], &mut [0i64; 2]),
            Ok(Outcome::Kept)
        );
    }

    #[test]
    fn refuses_what_cannot_be_configured() {
        assert!(Encoder::new(0, 1.0, 1.0).is_err() && Encoder::new(1 << 31, 1.0, 1.0).is_err());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Encoder::new(1, bad, 1.0).is_err() && Encoder::new(1, 1.0, bad).is_err());
        }
        assert_eq!(
            Encoder::new(1 << 20, 1e-310, 1.0).unwrap_err(),
            EncodeError::Sensitivity(1e-310)
        );
        let encoder = Encoder::new(1 << 20, 1.0, 1.0).unwrap();
        assert!(matches!(
            encoder.add(&[1.0], &[1.0, 1.0], &mut [0; 3]),
            Err(EncodeError::Length { .. })
        ));
        assert_eq!(
            encoder.add(&[1.0], &[1.0], &mut [i64::MAX]),
            Err(EncodeError::SumOverflow)
        );
    }
}
