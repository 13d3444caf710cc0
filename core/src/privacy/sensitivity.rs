//! The L2 sensitivity of a weighted sum in several blocks, round by round: tight, and the paper's.
//!
//! **Setting** (distributed exploration): the server releases, for blocks i = 1..P, Σ_{n selected}
//! φ_n⁽ⁱ⁾·ω̂_n with ‖ω̂_n‖ ≤ S/√P; weights, N, P and S are public. Neighbours are zero-out: agent
//! n's vector becomes 0, its slot and all weights stay.
//!
//! **Theorem.** The joint sensitivity is exactly C = max_n ‖(φ_n⁽¹⁾, …, φ_n⁽ᴾ⁾)‖₂ · S/√P.
//!
//! **Proof.** Only agent n's term changes, in all blocks at once, and if it is selected the change
//! is the vector (φ_n⁽¹⁾ω̂, …, φ_n⁽ᴾ⁾ω̂), the tensor product φ_n ⊗ ω̂, of norm ‖φ_n‖₂·‖ω̂‖₂ ≤
//! ‖φ_n‖₂·S/√P. Equality holds for ‖ω̂‖ = S/√P and the n of largest ‖φ_n‖₂, so the bound cannot be
//! lowered. The divisor 1/q multiplies signal and noise alike and drops out of the noise
//! multiplier. ∎
//!
//! **Against the paper**: Dai, Low, Jaillet 2021 bound each block by φ_max·S/√P and add P squares:
//! φ_max·S. Since ‖φ_n‖₂ ≤ √P·φ_max, theirs is never smaller; it is larger by up to √P (at
//! temperature 1, where φ_n has one large entry, by nearly √P: 1.41 at P = 2, 2 at P = 4), and
//! equal only if some φ_n is constant over the blocks at the maximum. Two readings of one fact: the
//! same ε at less noise ([`tight`]), or the paper's noise at a smaller ε
//! ([`multiplier_of_paper_noise`]).
//!
//! As the temperature moves, so do the weights: C is recomputed each round and the multiplier z
//! stays. Adversarial check: the audit uses the worst neighbour, ω̂ = S/√P·e of the agent of
//! largest ‖φ_n‖₂.
//!
//! ```
//! use sordino_core::privacy::sensitivity::{multiplier_of_paper_noise, paper, tight, weight_norm_max};
//!
//! // Two agents, two blocks, S = 11: the largest weight is 0.8, the longest row has norm 1.
//! let rows = [[0.8, 0.6], [0.2, 0.4]];
//! let norm = weight_norm_max(rows.iter().map(|row| &row[..]));
//! assert!((norm - 1.0).abs() < 1e-15);
//! assert!((tight(norm, 11.0, 2) - 11.0 / 2f64.sqrt()).abs() < 1e-14);
//! assert_eq!(paper(0.8, 11.0), 0.8 * 11.0);
//! // The paper's noise of z = 1 is the tight bound's of √2·0.8.
//! assert!((multiplier_of_paper_noise(1.0, 0.8, norm, 2) - 0.8 * 2f64.sqrt()).abs() < 1e-15);
//! ```

use crate::math::Scalar;

/// Largest ‖φ_n‖₂ over all enrolled agents, present or not. Rows: one agent's weights in all
/// blocks.
pub fn weight_norm_max<'a>(rows: impl IntoIterator<Item = &'a [f64]>) -> f64 {
    let mut largest = 0.0;
    for row in rows {
        let mut squares = 0.0;
        row.iter().for_each(|w| squares += w * w);
        largest = Scalar::max(largest, squares);
    }
    Scalar::sqrt(largest)
}

/// The tight sensitivity, max_n ‖φ_n‖₂·S/√P.
pub fn tight(weight_norm_max: f64, clipping_norm: f64, blocks: u32) -> f64 {
    weight_norm_max * clipping_norm / Scalar::sqrt(f64::from(blocks))
}

/// The paper's bound on the sensitivity, φ_max·S.
pub fn paper(weight_max: f64, clipping_norm: f64) -> f64 {
    weight_max * clipping_norm
}

/// The multiplier truly in force when noise of std z·φ_max·S is added: z·φ_max·√P/max_n‖φ_n‖₂ ≥ z.
///
/// It differs from round to round: compose round by round, convert once.
pub fn multiplier_of_paper_noise(
    noise_multiplier: f64,
    weight_max: f64,
    weight_norm_max: f64,
    blocks: u32,
) -> f64 {
    noise_multiplier * weight_max * Scalar::sqrt(f64::from(blocks)) / weight_norm_max
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn never_above_the_paper_and_attained() {
        let mut stream = Stream::from_seed(2);
        for _ in 0..1000 {
            let rows: [[f64; 3]; 4] =
                core::array::from_fn(|_| core::array::from_fn(|_| stream.unit()));
            let norm = weight_norm_max(rows.iter().map(|row| &row[..]));
            let most = rows.iter().flatten().copied().fold(0.0, f64::max);
            let ours = tight(norm, 5.0, 3);
            let theirs = paper(most, 5.0);
            assert!(ours <= theirs * (1.0 + 1e-15));
            // Attained: that agent's vector at the clipping norm, all of it in one coordinate.
            let attained = rows
                .iter()
                .map(|row| {
                    row.iter()
                        .map(|w| (w * 5.0 / 3f64.sqrt()).powi(2))
                        .sum::<f64>()
                        .sqrt()
                })
                .fold(0.0, f64::max);
            assert!((attained / ours - 1.0).abs() < 1e-14);
            assert!(multiplier_of_paper_noise(1.0, most, norm, 3) >= 1.0 - 1e-15);
        }
        // Equal when all weights are.
        assert!((tight(weight_norm_max([&[0.2; 4][..]]), 1.0, 4) - paper(0.2, 1.0)).abs() < 1e-16);
    }
}
