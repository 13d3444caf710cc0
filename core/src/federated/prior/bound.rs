//! How long a release can be: a public bound of its norm, beyond which nobody learns from it.
//!
//! A member takes released numbers from a server that it need not trust with its posterior. Finite
//! numbers alone are no protection: one release of 1e38 would move w further than all later ones
//! can bring it back.
//!
//! **Equation**: ‖r‖ ≤ (N·Δ + σ(√(M + 1) + 9))·(1 + 2⁻⁹), with Δ = C√(1 + γ²) and σ the noise of a
//! released number, that of all servers together.
//!
//! **Theorem.** A release of honest servers exceeds it with probability at most e^(−81/2) <
//! 2.6e-18, *whatever* the agents of one server send, and whatever honest agents of two servers
//! have observed.
//!
//! **Proof.** C is the server's to the last bit, because a member computes the terms itself, in the
//! format of its federation. (a) The integers of an agent have a norm of at most K, by the exact
//! check of [`Encoder`](crate::privacy::encode::Encoder), and K decodes to Δ. Truncation to the
//! grid goes toward zero and makes nothing longer. So the sum of at most N agents has a norm of at
//! most N·Δ. (b) The norm is 1-Lipschitz and E‖G‖ ≤ √n for a standard normal G of n = M + 1
//! numbers. Hence ‖G‖ > √n + t with probability at most e^(−t²/2) (Boucheron, Lugosi, Massart 2013,
//! theorem 5.6), here t = 9. The noises of two servers add up to one normal vector. (c) Each server
//! rounds its noise down by less than one grid unit, σ/2ᵐ for one server and σ/(√2·2ᵐ) for each of
//! two. In norm that is at most √2·σ√n/2ᵐ, and m ≥ 16: at most 2.2e-5 of the second term. (d) The
//! numbers and σ are rounded to the member's format, in `f32` by 6e-8 of themselves each. Both are
//! far below 2⁻⁹. ∎
//!
//! The bound is public: all of it follows from the configuration and from earlier releases. It is
//! computed in `f64` for every format, in which no square of an `f32` overflows or vanishes.

use super::config::Config;
use super::error::PriorError;
use crate::math::Scalar;

/// t: how many standard deviations the norm of the noise may lie above √(M + 1).
const DEVIATIONS: f64 = 9.0;

/// What rounding to the grid and to the member's format may add.
const ROUNDING: f64 = 1.0 + 1.0 / 512.0;

/// Refuses a release that is not finite, or longer than N contributions and their noise can be.
///
/// **Parameters**: `clip_radius` C of its terms; `released` M + 1 numbers; `noise_std` σ of each.
///
/// **Errors**: [`PriorError::Number`], [`PriorError::Norm`]. **Cost**: M + 1 multiply-adds and two
/// roots in `f64`.
pub(super) fn judge_release<T: Scalar>(
    config: &Config,
    clip_radius: T,
    released: &[T],
    noise_std: T,
) -> Result<(), PriorError> {
    if let Some(value) = released.iter().chain([&noise_std]).find(|x| !x.is_finite()) {
        return Err(PriorError::Number {
            what: "release",
            value: value.to_f64(),
            admissible: "(-inf, inf)",
        });
    }
    let value = norm(released);
    let largest = norm_max(config, clip_radius.to_f64(), noise_std.to_f64());
    // A norm that overflows is none, also where the bound does.
    if !(value <= largest && value.is_finite()) {
        return Err(PriorError::Norm {
            what: "release",
            value,
            largest,
        });
    }
    Ok(())
}

/// (N·Δ + σ(√(M + 1) + 9))·(1 + 2⁻⁹).
fn norm_max(config: &Config, clip_radius: f64, noise_std: f64) -> f64 {
    let contributions = f64::from(config.parameters().agents) * config.l2_sensitivity(clip_radius);
    let noise = noise_std * (Scalar::sqrt(config.contribution_len() as f64) + DEVIATIONS);
    (contributions + noise) * ROUNDING
}

/// The norm ‖x‖₂, in `f64` for every format.
fn norm<T: Scalar>(x: &[T]) -> f64 {
    let mut squares = 0.0;
    for x in x {
        let x = x.to_f64();
        squares += x * x;
    }
    Scalar::sqrt(squares)
}

#[cfg(test)]
mod tests;
