//! The confidence widths and truncation thresholds of the papers, each as it is printed (misprints
//! corrected).
//!
//! Every `…_width` multiplies the posterior *standard deviation*. Where a paper's β multiplies the
//! variance, the width is √β. `f64`, natural logarithms.
//!
//! | function | paper |
//! |---|---|
//! | [`finite_width`] | Kharkovskii, Dai, Low 2020: β = 2 ln(nt²π²/(6δ′)); Srinivas et al. 2010 |
//! | [`tuning_width`] | Kusner et al. 2015: β = 2 ln(\|Λ\|t²π²/(3δ)) |
//! | [`LocalNoise`] | Zhou, Tan 2021: constants of bounded rewards under Laplace noise |
//! | [`tgp_threshold`], [`tgp_width`] | their TGP-UCB |
//! | [`ata_threshold`], [`ata_width`] | their ATA-GP-UCB |
//! | [`moma_epoch_len`], [`moma_width`] | their MoMA-GP-UCB |
//! | [`order_wise`] | the same without constants, as their experiments use them |
//! | [`heavy_tailed`] | the non-private case, only moments bounded |
//!
//! The width of federated Thompson sampling is [`super::federated_confidence_width`].
//!
//! ```
//! use sordino_core::schedule::confidence::{LocalNoise, finite_width};
//!
//! // 2 ln(n·t²π²/(6δ′)) with nπ²/(6δ′) = e² is β = 4 in round 1.
//! let delta = core::f64::consts::PI.powi(2) / (6.0 * 2f64.exp());
//! assert!((finite_width(1, 1, delta) - 2.0).abs() < 1e-12);
//! let noise = LocalNoise { norm_bound: 1.0, noise_bound: 0.5, epsilon: 2.0 };
//! assert_eq!(noise.laplace_scale(), 1.5); // 2(B + R)/ε
//! ```

use crate::math::{Scalar, ceil, pow};

const PI_SQUARED: f64 = core::f64::consts::PI * core::f64::consts::PI;

fn ln(x: f64) -> f64 {
    Scalar::ln(x)
}

fn sqrt(x: f64) -> f64 {
    Scalar::sqrt(x)
}

/// √(2 ln(nt²π²/(6δ′))) for n points, round t ≥ 1 (0 is read as 1), failure probability δ′.
///
/// **Source**: Kharkovskii, Dai, Low 2020, algorithm 2, with δ′ = δ_ucb/2; Srinivas et al. 2010,
/// theorem 1, with δ.
pub fn finite_width(points: u64, round: u64, delta: f64) -> f64 {
    let t = round.max(1) as f64;
    sqrt((2.0 * ln(points as f64 * t * t * PI_SQUARED / (6.0 * delta))).max(0.0))
}

/// √(2 ln(|Λ|t²π²/(3δ))) for |Λ| candidates, round t ≥ 1 (0 is read as 1).
///
/// **Source**: Kusner et al. 2015, algorithm 1.
pub fn tuning_width(candidates: u64, round: u64, delta: f64) -> f64 {
    finite_width(candidates, round, 0.5 * delta)
}

/// Bounded rewards under local Laplace noise: |f| ≤ B, |noise of the observation| ≤ R, ε per
/// report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalNoise {
    /// Bound B of the function's norm.
    pub norm_bound: f64,
    /// Bound R of the noise.
    pub noise_bound: f64,
    /// ε, the privacy of one report; infinity for none.
    pub epsilon: f64,
}

impl LocalNoise {
    /// L = 2(B + R)/ε, the scale of the Laplace noise.
    pub fn laplace_scale(&self) -> f64 {
        2.0 * (self.norm_bound + self.noise_bound) / self.epsilon
    }

    /// v = B² + R² + 8(B + R)²/ε², which bounds the second moment of a report.
    pub fn second_moment(&self) -> f64 {
        self.norm_bound * self.norm_bound + self.central_moment()
    }

    /// c = R² + 8(B + R)²/ε², which bounds the second moment of a report's noise.
    pub fn central_moment(&self) -> f64 {
        let sum = self.norm_bound + self.noise_bound;
        self.noise_bound * self.noise_bound + 8.0 * sum * sum / (self.epsilon * self.epsilon)
    }

    /// K = B² + R² + 2L².
    pub fn squared_bound(&self) -> f64 {
        let scale = self.laplace_scale();
        self.norm_bound * self.norm_bound
            + self.noise_bound * self.noise_bound
            + 2.0 * scale * scale
    }
}

/// q_N = 6ρ ln(4T/δ)/accuracy², ρ = (1 + accuracy)/(1 − accuracy): inflation of the sampling
/// probabilities of the dictionary. `accuracy` in (0, 1) is that of the Nyström approximation, not
/// a privacy parameter.
pub fn nystrom_inflation(accuracy: f64, rounds: u64, delta: f64) -> f64 {
    6.0 * (1.0 + accuracy) / (1.0 - accuracy) * ln(4.0 * rounds as f64 / delta)
        / (accuracy * accuracy)
}

/// b_t = B + R + L ln t, t ≥ 1 (0 is read as 1): a reward beyond it is replaced by 0.
pub fn tgp_threshold(noise: &LocalNoise, round: u64) -> f64 {
    noise.norm_bound + noise.noise_bound + noise.laplace_scale() * ln(round.max(1) as f64)
}

/// β_t = B + (2√2/√λ)·b_{t−1}·√(γ_{t−1} + ln(1/δ)) + √(K(ln(t−1) + 1))/√λ, with ln 0 and b₀ read
/// at 1.
///
/// **Parameters**: `information_gain` is γ_{t−1} of the run.
pub fn tgp_width(
    noise: &LocalNoise,
    round: u64,
    information_gain: f64,
    regularization: f64,
    delta: f64,
) -> f64 {
    let before = round.saturating_sub(1).max(1);
    let root = sqrt(regularization);
    let bias = sqrt(noise.squared_bound() * (ln(before as f64) + 1.0)) / root;
    let threshold = tgp_threshold(noise, before);
    let martingale = 2.0 * core::f64::consts::SQRT_2 / root
        * threshold
        * sqrt(information_gain + ln(1.0 / delta));
    noise.norm_bound + martingale + bias
}

/// b_t = √(v/ln(4mT/δ)) for m features.
pub fn ata_threshold(noise: &LocalNoise, features: u64, rounds: u64, delta: f64) -> f64 {
    heavy_tailed::ata_threshold(noise.second_moment(), features, rounds, delta)
}

/// β_{t+1} = B(1 + 1/√(1 − accuracy)) + 4√(ln(4mT/δ)vm/λ).
pub fn ata_width(
    noise: &LocalNoise,
    features: u64,
    rounds: u64,
    accuracy: f64,
    regularization: f64,
    delta: f64,
) -> f64 {
    let moment = noise.second_moment();
    heavy_tailed::ata_width(
        noise.norm_bound,
        moment,
        features,
        rounds,
        accuracy,
        regularization,
        delta,
    )
}

fn ata_log(features: u64, rounds: u64, delta: f64) -> f64 {
    ln(4.0 * features as f64 * rounds as f64 / delta)
}

/// β₁ = B(1 + 1/√(1 − accuracy)) of ATA and MoMA, before anything is observed.
pub fn dictionary_width(norm_bound: f64, accuracy: f64) -> f64 {
    norm_bound * (1.0 + 1.0 / sqrt(1.0 - accuracy))
}

/// k = ⌈24 ln(4eT/δ)⌉ plays of one point make an epoch.
pub fn moma_epoch_len(rounds: u64, delta: f64) -> u64 {
    ceil(24.0 * ln(4.0 * core::f64::consts::E * rounds as f64 / delta)) as u64
}

/// β_{n+1} = B(1 + 1/√(1 − accuracy)) + 3λ^{−1/2}(9mc)^{1/(1+α)} n^{(1−α)/(2(1+α))} after n epochs.
///
/// **Parameters**: `moment_order` α in (0, 1], `central_moment` c of order 1 + α.
/// **Source**: Zhou, Tan 2021, theorem 4; the exponent of n in the corollary is a misprint.
pub fn moma_width(
    norm_bound: f64,
    central_moment: f64,
    moment_order: f64,
    features: u64,
    epochs: u64,
    accuracy: f64,
    regularization: f64,
) -> f64 {
    let moments = pow(
        9.0 * features as f64 * central_moment,
        1.0 / (1.0 + moment_order),
    );
    let growth = pow(
        epochs as f64,
        (1.0 - moment_order) / (2.0 * (1.0 + moment_order)),
    );
    dictionary_width(norm_bound, accuracy) + 3.0 / sqrt(regularization) * moments * growth
}

/// The widths without their constants, as the experiments of Zhou and Tan 2021 use them (λ = 1, α =
/// 1).
pub mod order_wise {
    use super::{LocalNoise, ceil, ln, sqrt, tgp_threshold};

    /// β_t = B + b_{t−1}√(γ + ln(1/δ)) + √(K(ln(t−1) + 1)).
    pub fn tgp_width(noise: &LocalNoise, round: u64, information_gain: f64, delta: f64) -> f64 {
        let before = round.saturating_sub(1).max(1);
        let bias = sqrt(noise.squared_bound() * (ln(before as f64) + 1.0));
        noise.norm_bound
            + tgp_threshold(noise, before) * sqrt(information_gain + ln(1.0 / delta))
            + bias
    }

    /// b = √(v/ln(mT/δ)).
    pub fn ata_threshold(noise: &LocalNoise, features: u64, rounds: u64, delta: f64) -> f64 {
        ata_threshold_of(noise.second_moment(), features, rounds, delta)
    }

    /// [`ata_threshold`] of a second moment v.
    pub fn ata_threshold_of(moment: f64, features: u64, rounds: u64, delta: f64) -> f64 {
        sqrt(moment / ln(features as f64 * rounds as f64 / delta))
    }

    /// β = B + √(vm ln(mT/δ)).
    pub fn ata_width(noise: &LocalNoise, features: u64, rounds: u64, delta: f64) -> f64 {
        ata_width_of(
            noise.norm_bound,
            noise.second_moment(),
            features,
            rounds,
            delta,
        )
    }

    /// [`ata_width`] of a bound B and a second moment v.
    pub fn ata_width_of(
        norm_bound: f64,
        moment: f64,
        features: u64,
        rounds: u64,
        delta: f64,
    ) -> f64 {
        norm_bound + sqrt(moment * features as f64 * ln(features as f64 * rounds as f64 / delta))
    }

    /// Confidence width β = B + √(mc).
    pub fn moma_width(norm_bound: f64, central_moment: f64, features: u64) -> f64 {
        norm_bound + sqrt(features as f64 * central_moment)
    }

    /// Length of an epoch k = ⌈ln(T/δ)⌉.
    pub fn moma_epoch_len(rounds: u64, delta: f64) -> u64 {
        ceil(ln(rounds as f64 / delta)) as u64
    }

    /// Inflation of the dictionary q_N = ln(T/δ).
    pub fn nystrom_inflation(rounds: u64, delta: f64) -> f64 {
        ln(rounds as f64 / delta)
    }
}

/// Heavy tails without privacy: E|y|^{1+α} ≤ v only. TGP-UCB of Chowdhury and Gopalan 2019 as Zhou
/// and Tan run it.
pub mod heavy_tailed {
    use super::{ata_log, dictionary_width, ln, pow, sqrt};

    /// b = √(v/ln(4mT/δ)) of ATA-GP-UCB for second moments, α = 1.
    pub fn ata_threshold(moment: f64, features: u64, rounds: u64, delta: f64) -> f64 {
        sqrt(moment / ata_log(features, rounds, delta))
    }

    /// β = B(1 + 1/√(1 − accuracy)) + 4√(ln(4mT/δ)vm/λ) of ATA-GP-UCB for second moments, α = 1.
    pub fn ata_width(
        norm_bound: f64,
        moment: f64,
        features: u64,
        rounds: u64,
        accuracy: f64,
        regularization: f64,
        delta: f64,
    ) -> f64 {
        let spread = ata_log(features, rounds, delta) * moment * features as f64 / regularization;
        dictionary_width(norm_bound, accuracy) + 4.0 * sqrt(spread)
    }

    /// b_t = v^{1/(1+α)} t^{1/(2(1+α))}; for α = 1 that is √v·t^{1/4}.
    pub fn tgp_threshold(moment: f64, moment_order: f64, round: u64) -> f64 {
        let exponent = 1.0 / (1.0 + moment_order);
        pow(moment, exponent) * pow(round.max(1) as f64, 0.5 * exponent)
    }

    /// β_t = B + b_{t−1}√(γ_{t−1} + ln(1/δ)), b₀ read as b₁.
    pub fn tgp_width(
        norm_bound: f64,
        moment: f64,
        moment_order: f64,
        round: u64,
        information_gain: f64,
        delta: f64,
    ) -> f64 {
        let threshold = tgp_threshold(moment, moment_order, round.saturating_sub(1).max(1));
        norm_bound + threshold * sqrt(information_gain + ln(1.0 / delta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_by_hand() {
        let noise = LocalNoise {
            norm_bound: 3.0,
            noise_bound: 1.0,
            epsilon: 1.0,
        };
        assert_eq!((noise.laplace_scale(), noise.second_moment()), (8.0, 138.0));
        assert_eq!(
            (noise.central_moment(), noise.squared_bound()),
            (129.0, 138.0)
        );
        assert_eq!(
            (tgp_threshold(&noise, 1), tgp_threshold(&noise, 0)),
            (4.0, 4.0)
        );
        assert_eq!(
            (
                order_wise::moma_epoch_len(10_000, 0.1),
                moma_epoch_len(10_000, 0.1)
            ),
            (12, 334)
        );
        let student = heavy_tailed::tgp_threshold(7.0, 1.0, 16);
        assert!((student - 2.0 * sqrt(7.0)).abs() < 1e-12);
        // A certain event on one point needs no width, and no NaN.
        assert_eq!(finite_width(1, 1, 10.0), 0.0);
    }
}
