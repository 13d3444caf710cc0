//! Numbers that move with the round: mixing probabilities, weights of agents, confidence widths.
//!
//! Each is a plain function of public quantities, named after what it multiplies and citing the
//! paper's symbol.
//!
//! ```
//! use sordino_core::schedule::{Mixing, WeightConcentration, region_weight};
//!
//! assert_eq!(Mixing::InverseSqrt.own_draw_probability(4), 0.5); // 1 − 1/√4
//! assert_eq!(WeightConcentration::PAPER.at(9), 15.0);
//! // Ten agents, of whom four explore the region: their weights add up to one.
//! let (inside, outside) = (region_weight(2.0, 10, 4, true), region_weight(2.0, 10, 4, false));
//! assert!((4.0 * inside + 6.0 * outside - 1.0).abs() < 1e-15 && inside > outside);
//! ```

pub mod confidence;

use serde::{Deserialize, Serialize};

use crate::math::Scalar;

/// How often an agent trusts the server: with probability 1 − pₜ in round t it maximises the
/// broadcast vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mixing {
    /// 1 − pₜ = 1/√t, the synthetic experiments of Dai, Low, Jaillet 2021.
    InverseSqrt,
    /// 1 − pₜ = 1/t, their experiments on real data.
    Inverse,
}

impl Mixing {
    /// pₜ, the probability of the agent's own posterior draw in round t ≥ 1 (0 is read as 1).
    /// p₁ = 0.
    pub fn own_draw_probability(self, round: u32) -> f64 {
        let t = f64::from(round.max(1));
        match self {
            Mixing::InverseSqrt => 1.0 - 1.0 / Scalar::sqrt(t),
            Mixing::Inverse => 1.0 - 1.0 / t,
        }
    }

    /// Whether the coin of a random word says "own draw" in round t ≥ 1 (0 is read as 1): u < pₜ
    /// for u = the top 53 bits of `word` over 2⁵³, decided in integers, hence exactly and without
    /// `f64` arithmetic on a device.
    ///
    /// **Equation**: with v = 2⁵³(1 − u), t·v > 2⁵³ for 1/t, t·v² > 2¹⁰⁶ for 1/√t.
    pub fn own_draw(self, round: u32, word: u64) -> bool {
        let t = u128::from(round.max(1));
        let v = u128::from((1u64 << 53) - (word >> 11));
        match self {
            // Rounds are below 2²², so nothing overflows; if they were not, the larger side stays
            // the larger.
            Mixing::InverseSqrt => t.saturating_mul(v * v) > 1 << 106,
            Mixing::Inverse => t * v > 1 << 53,
        }
    }
}

/// Concentration a_s of the softmax that weighs agents of a region against all others, by broadcast
/// index s.
///
/// **Equation**: `start` for s < `hold`; start·(1 − (s − hold)/(decay − 1)) for hold ≤ s < hold +
/// decay; then 0. The paper's temperature is start/a_s, its schedule here the authors' (hold 10,
/// decay 30, start 15), where the text says only "from 1 to infinity".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightConcentration {
    /// a₀ ≥ 0; 0 makes all weights 1/N.
    pub start: f64,
    /// Broadcasts at full concentration.
    pub hold: u32,
    /// Broadcasts over which it falls to 0.
    pub decay: u32,
}

impl WeightConcentration {
    /// The authors' schedule.
    pub const PAPER: Self = WeightConcentration {
        start: 15.0,
        hold: 10,
        decay: 30,
    };
    /// Every agent weighs 1/N in every region, always.
    pub const UNIFORM: Self = WeightConcentration {
        start: 0.0,
        hold: 0,
        decay: 0,
    };

    /// Concentration a_s of one broadcast.
    pub fn at(&self, broadcast: u32) -> f64 {
        if broadcast < self.hold {
            return self.start;
        }
        let k = broadcast - self.hold;
        if k >= self.decay {
            return 0.0;
        }
        self.start * (1.0 - f64::from(k) / f64::from((self.decay - 1).max(1)))
    }
}

/// Weight of one agent in one region.
///
/// **Equation**: φ = softmax over agents of a·\[agent explores the region\]: 1/(n + (N − n)e^{−a})
/// for the n agents that explore it, e^{−a} times that for the other N − n; dividing by e^a keeps
/// every a ≥ 0 finite. The weights of a region sum to 1.
///
/// **Source**: Dai, Low, Jaillet 2021, equation (3), with a the paper's a over its temperature.
pub fn region_weight(concentration: f64, agents: u32, explorers: u32, explores: bool) -> f64 {
    let outside = Scalar::exp(-concentration);
    let inside = 1.0 / (f64::from(explorers) + f64::from(agents - explorers.min(agents)) * outside);
    if explores { inside } else { inside * outside }
}

/// Confidence width of federated Thompson sampling, used as it is (it multiplies σₜ).
///
/// **Equation**: B + σ√(2(γₜ₋₁ + 1 + ln(4/δ))), B the bound on the function's norm, σ the noise's
/// sub-Gaussian constant, γ the greedy information gain.
///
/// **Source**: Dai, Low, Jaillet 2021; their β_{t+1} in line 6 is a misprint, and their code uses
/// no width at all.
pub fn federated_confidence_width(
    norm_bound: f64,
    noise_std: f64,
    information_gain: f64,
    delta: f64,
) -> f64 {
    norm_bound + noise_std * Scalar::sqrt(2.0 * (information_gain + 1.0 + Scalar::ln(4.0 / delta)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_query_always_uses_the_server() {
        assert_eq!(Mixing::InverseSqrt.own_draw_probability(1), 0.0);
        assert_eq!(Mixing::Inverse.own_draw_probability(1), 0.0);
        assert_eq!(Mixing::InverseSqrt.own_draw_probability(16), 0.75);
    }

    #[test]
    fn coins_in_integers_say_what_the_probability_says() {
        let mut stream = crate::random::Stream::from_seed(24);
        for mixing in [Mixing::InverseSqrt, Mixing::Inverse] {
            let mut own = 0;
            for i in 0..40_000u32 {
                let round = i % 200;
                let word = stream.word();
                let coin = mixing.own_draw(round, word);
                assert_eq!(
                    coin,
                    f64::unit(word) < mixing.own_draw_probability(round),
                    "{round} {word}"
                );
                own += u32::from(coin);
            }
            assert!(own > 20_000 && own < 40_000);
            assert!(
                !mixing.own_draw(1, u64::MAX) && !mixing.own_draw(1, 0) && !mixing.own_draw(0, 0)
            );
            assert!(mixing.own_draw(u32::MAX, 0) && !mixing.own_draw(1 << 20, u64::MAX));
        }
        // On the border itself, p₄ = 1/2: the coin 1/2 is not below it, the one before is.
        assert!(
            !Mixing::InverseSqrt.own_draw(4, 1 << 63)
                && Mixing::InverseSqrt.own_draw(4, (1 << 63) - 1)
        );
    }

    #[test]
    fn weights_of_a_region_sum_to_one() {
        for a in [0.0, 1.0, 15.0, 1e4] {
            let sum = 7.0 * region_weight(a, 29, 7, true) + 22.0 * region_weight(a, 29, 7, false);
            assert!((sum - 1.0).abs() < 1e-14, "{a}: {sum}");
        }
    }

    #[test]
    fn concentration_follows_the_authors_schedule() {
        let a = WeightConcentration::PAPER;
        assert_eq!(
            (a.at(0), a.at(9), a.at(10), a.at(39), a.at(40)),
            (15.0, 15.0, 15.0, 0.0, 0.0)
        );
        assert!((a.at(24) - 15.0 * (1.0 - 14.0 / 29.0)).abs() < 1e-14);
        assert_eq!(WeightConcentration::UNIFORM.at(3), 0.0);
    }
}
