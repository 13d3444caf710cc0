//! What two contributions of one agent may be told apart by, where events compare a contribution
//! with *nothing*.
//!
//! Under zero-out ([`ReplaceSpecial`](crate::privacy::NeighboringRelation::ReplaceSpecial)) ε
//! compares "used" with "counted as nothing". Between two different things that the agent may have
//! sent more can be told: its noise multiplier is z, and the two may lie 2 sensitivities apart.
//!
//! | accountant | ε between two contributions, at the same δ | |
//! |---|---|---|
//! | [`super::GaussianAccountant`] | that of half the multiplier: μ becomes 2μ | exact |
//! | `PldAccountant` (feature `alloc`) | privacy-loss distributions of the pair below | tight |
//! | [`super::RdpAccountant`], [`super::MomentsAccountant`] | 2ε′, where δ(ε′)·(1 + e^ε′) ≤ δ | upper |
//!
//! # The pair for sampled Gaussians
//! Given all earlier releases, and the coins and vectors of everybody else, release t is a
//! constant + B·u + z·G in units of the sensitivity: B a secret coin of probability q, G normal in
//! d dimensions, ‖u‖ ≤ 1 what the agent sent. Write n_u for the density of N(u, z²), p_u = (1 −
//! q)n₀ + q·n_u, H_α(p, p′) = ∫(p − α·p′)₊.
//!
//! **Theorem.** H_α(p_u, p_v) ≤ H_α(p_e, p₋ₑ) for all u, v of norm ≤ 1, all α ≥ 0, and any e of
//! norm 1.
//!
//! **Proof.** *α ≥ 1.* p_u − α·p_v = q·n_u − αq·n_v − (1 − q)(α − 1)·n₀. Divide by q·n_u: H_α(p_u,
//! p_v) = q·E\[(1 − Y)₊\], Y = α·exp(g₁ − C₁₁/2) + c·exp(g₂ − C₂₂/2), c = (1 − q)(α − 1)/q ≥ 0,
//! where (g₁, g₂) are the centred normal variables (v − u)·G/z, −u·G/z. Their covariances are C₁₁ =
//! ‖u − v‖²/z², C₂₂ = ‖u‖²/z², C₁₂ = (‖u‖² − u·v)/z². Each of the three is largest at v = −u, ‖u‖ =
//! 1, where they are 4, 1 and 2 over z². Kahane's inequality: if C ≤ C′ in every entry, E f(Σ
//! cᵢ·exp(gᵢ − Cᵢᵢ/2)) ≤ E f(Σ cᵢ·exp(g′ᵢ − C′ᵢᵢ/2)) for convex f, cᵢ ≥ 0; and y ↦ (1 − y)₊ is
//! convex. (It follows by interpolation: along √(1 − t)·g + √t·g′ the derivative is ½Σ(C′ −
//! C)ᵢⱼcᵢcⱼE\[WᵢWⱼf″\] ≥ 0, W the exponentials.) *α < 1*: H_α(p, p′) = 1 − α + α·H_{1/α}(p′, p),
//! and the pair is its own mirror image. ∎
//!
//! *Everybody else*: both worlds share the law of what was conditioned on, and H_α of mixtures is
//! at most the mixture of H_α. *Rounds*: domination at all α survives adaptive composition (Zhu,
//! Dong, Wang 2022, Theorem 10), so T releases are dominated by T independent copies of the pair.
//! *q rounded up*: p at q′ < q is a mixture of n₀ and p at q, the same for both worlds, so the
//! bound rises with q; rounding to integers is post-processing. *v = 0* is a contribution too: what
//! is computed here is never below ε against nothing.
//!
//! # Without a pair
//! H at α = e^(2ε) between two contributions is at most δ(ε) + e^ε·δ(ε), by way of "nothing". So
//! between two things that an agent may have sent, 2ε holds at a δ that is 1 + e^ε times as large,
//! for every event; pure ε doubles as it is.
//!
//! **Source**: J.-P. Kahane, *Sur le chaos multiplicatif*, Ann. Sci. Math. Québec 9 (1985), for the
//! inequality. The argument above is ours. The same pair is what dp-accounting uses for
//! replace-one; Lebeda, Regehr, Kamath, Steinke 2024 discuss how it differs from add-or-remove.
//!
//! ```
//! use sordino_core::privacy::accountant::{Accountant, GaussianAccountant, analytic};
//! use sordino_core::privacy::{Event, NeighboringRelation};
//!
//! let mut accountant = GaussianAccountant::new();
//! let relation = NeighboringRelation::ReplaceSpecial;
//! accountant.compose(&Event::Gaussian { noise_multiplier: 4.0, relation }, 4)?; // together 2
//! let between = accountant.replace_epsilon(1e-5)?.epsilon;
//! assert!((between / analytic::epsilon(1.0, 1e-5)? - 1.0).abs() < 1e-9);
//! assert!(between > 2.0 * accountant.epsilon(1e-5)?.epsilon); // more than twice, at the same δ
//! # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
//! ```

use super::order::ROUND_UP;
use crate::math::{self, Scalar};

/// ln(1 − q + q·e^x) for q in (0, 1), without overflow.
pub(super) fn ln_mixture(q: f64, x: f64) -> f64 {
    if x > 0.0 {
        x + Scalar::ln(q + (1.0 - q) * Scalar::exp(-x))
    } else {
        math::ln_1p(q * math::exp_m1(x))
    }
}

/// The most nodes of the rule in [`divergence`]; where it needs more, the unsampled Gaussian's
/// divergence is taken.
const NODES_MAX: f64 = 32_768.0;

/// Rényi divergence of order α > 1 of the pair (1 − q)N(0) + qN(1) against (1 − q)N(0) + qN(−1),
/// standard deviation z; rounded up.
///
/// **Equation**: ln A/(α − 1), A = E_{x∼N(0,z²)}\[a^α·b^(1−α)\], a = 1 − q + q·e^((2x−1)/(2z²)),
/// b = a(−x). Never above 2α/z², that of q = 1.
///
/// **Numerics**: trapezoid rule over [−14z, 2α − 1 + 14z]; outside the integrand is below e^(−98)
/// of its values at 0 and 2α − 1. In the strip |Im x| ≤ d ≤ πz²/2 it is analytic, with |a| at most
/// its real value, |b| at least 1/√2 of it, and |e^(−x²/(2z²))| at most e^(d²/(2z²)) times its
/// value: the error is below 2·2^(α/2)·e^(d²/(2z²) − 2πd/h), relative, and h makes that e^(−39).
/// What rounding may take is added: 1e-10 of the largest exponent, and 1e-11.
///
/// ```
/// use sordino_core::privacy::accountant::{poisson, replace};
///
/// let (q, z, order) = (0.25, 1.0, 3.0);
/// let between = replace::divergence(q, z, order);
/// assert!(between > poisson::divergence(q, z, order) && between < 2.0 * order / (z * z));
/// assert!((replace::divergence(1.0, z, order) / 6.0 - 1.0).abs() < 1e-9);
/// ```
pub fn divergence(sampling_probability: f64, noise_multiplier: f64, order: f64) -> f64 {
    let q = sampling_probability;
    let z = noise_multiplier;
    if !(order > 1.0) || !(z > 0.0) || !(0.0..=1.0).contains(&q) {
        return f64::INFINITY;
    }
    if q == 0.0 {
        return 0.0;
    }
    let most = 2.0 * order / (z * z) * ROUND_UP;
    let d = Scalar::min(core::f64::consts::FRAC_PI_2 * z * z, 6.0 * z);
    let step = 2.0 * core::f64::consts::PI * d / (41.0 + 0.35 * order + d * d / (2.0 * z * z));
    let nodes = math::ceil((2.0 * order - 1.0 + 28.0 * z) / step);
    if q == 1.0 || !(nodes <= NODES_MAX) {
        return most;
    }
    let half = 0.5 / (z * z);
    let exponent = |i: u32| {
        let x = f64::from(i) * step - 14.0 * z;
        let up = ln_mixture(q, (2.0 * x - 1.0) * half);
        let down = ln_mixture(q, (-2.0 * x - 1.0) * half);
        order * up + (1.0 - order) * down - x * x * half
    };
    let mut top = f64::NEG_INFINITY;
    let mut sum = 0.0;
    for i in 0..=nodes as u32 {
        let now = exponent(i);
        if now > top {
            sum = sum * Scalar::exp(top - now) + 1.0;
            top = now;
        } else {
            sum += Scalar::exp(now - top);
        }
    }
    // ln of the normalisation: step/(z√2π).
    let ln_a = top + Scalar::ln(sum * step / z) - 0.918_938_533_204_672_8;
    let divergence = (ln_a + 1e-10 * top.abs() + 1e-11) / (order - 1.0);
    Scalar::max(Scalar::min(divergence, most), 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::{
        Accountant, AccountantError, GaussianAccountant, MomentsAccountant, Quality, RdpAccountant,
        analytic, poisson,
    };
    use super::*;
    use crate::privacy::{Event, NeighboringRelation};

    /// A at order 2 by a sum over cells a hundredth of a deviation wide, in another arrangement:
    /// E_Q[(P/Q)²].
    #[test]
    fn divergences_are_those_of_a_plain_sum() {
        for (q, z) in [(0.25, 1.0), (0.05, 0.6), (0.9, 3.0), (0.5, 0.3)] {
            let density = |x: f64, at: f64| {
                (-(x - at) * (x - at) / (2.0 * z * z)).exp() / (z * 2.506_628_274_631_000_2)
            };
            let width = z / 400.0;
            let mut sum = 0.0;
            for i in -12_000..24_000i32 {
                let x = f64::from(i) * width;
                let p = (1.0 - q) * density(x, 0.0) + q * density(x, 1.0);
                let other = (1.0 - q) * density(x, 0.0) + q * density(x, -1.0);
                if other > 0.0 {
                    sum += p * p / other * width;
                }
            }
            let found = divergence(q, z, 2.0);
            let truth = sum.ln();
            assert!(
                found >= truth * (1.0 - 1e-9) && found <= truth * (1.0 + 1e-6) + 1e-8,
                "{q} {z}: {found} {truth}"
            );
            assert!(
                found >= poisson::divergence(q, z, 2.0),
                "against nothing it is less"
            );
        }
        // Where the rule is too long: that of everybody.
        assert!((divergence(0.5, 0.01, 3.0) / 6e4 - 1.0).abs() < 1e-9);
        assert!(
            divergence(0.5, 1.0, 1.0).is_infinite() && divergence(f64::NAN, 1.0, 2.0).is_infinite()
        );
        assert_eq!(divergence(0.0, 1.0, 2.0), 0.0);
    }

    #[test]
    fn between_two_contributions_costs_more_than_against_nothing() {
        let relation = NeighboringRelation::ReplaceSpecial;
        let event = Event::Gaussian {
            noise_multiplier: 3.0,
            relation,
        };
        let mut exact = GaussianAccountant::new();
        let mut upper = RdpAccountant::new();
        let mut paper = MomentsAccountant::new();
        let all: [&mut dyn Accountant; 3] = [&mut exact, &mut upper, &mut paper];
        let mut before = 0.0;
        for accountant in all {
            assert_eq!(
                accountant.replace_epsilon(1e-5).unwrap().epsilon,
                0.0,
                "nothing was sent"
            );
            accountant.compose(&event, 9).unwrap(); // together multiplier 1
            let between = accountant.replace_epsilon(1e-5).unwrap();
            // μ doubles, and no bound is below that.
            let truth = analytic::epsilon(0.5, 1e-5).unwrap();
            assert!(
                between.epsilon >= truth * (1.0 - 1e-12) && between.epsilon >= before,
                "{between:?}"
            );
            assert!(between.epsilon > 2.0 * accountant.epsilon(1e-5).unwrap().epsilon);
            assert_eq!((between.releases, between.delta), (9, 1e-5));
            let guess = accountant.best_guess().unwrap();
            assert!(
                (0.691_462_461_274..=1.0).contains(&guess),
                "Φ(½) at least: {guess}"
            );
            before = between.epsilon;
        }
        assert_eq!(exact.replace_epsilon(1e-5).unwrap().quality, Quality::Exact);
        assert!(
            (exact.replace_epsilon(1e-5).unwrap().epsilon / analytic::epsilon(0.5, 1e-5).unwrap()
                - 1.0)
                .abs()
                < 1e-9
        );
        assert!((exact.best_guess().unwrap() - 0.691_462_461_274).abs() < 1e-9);
    }

    #[test]
    fn what_compares_two_contributions_already_is_not_doubled_and_a_shift_is_refused() {
        let unit = crate::privacy::ShiftUnit::new(1.0).unwrap();
        for (relation, wanted) in [
            (NeighboringRelation::ReplaceOne, Ok(1.0)),
            (NeighboringRelation::AddOrRemoveOne, Ok(0.5)),
            (
                NeighboringRelation::ShiftOne { unit },
                Err(AccountantError::OneUnitOnly),
            ),
        ] {
            let event = Event::Gaussian {
                noise_multiplier: 1.0,
                relation,
            };
            let mut exact = GaussianAccountant::new();
            let mut upper = RdpAccountant::new();
            exact.compose(&event, 1).unwrap();
            upper.compose(&event, 1).unwrap();
            let found = exact.replace_epsilon(1e-5).map(|spent| spent.epsilon);
            match wanted {
                Err(error) => {
                    assert_eq!(
                        (found, upper.replace_epsilon(1e-5)),
                        (Err(error), Err(error))
                    );
                }
                Ok(z) => {
                    let truth = analytic::epsilon(z, 1e-5).unwrap();
                    assert!((found.unwrap() / truth - 1.0).abs() < 1e-9);
                    assert!(upper.replace_epsilon(1e-5).unwrap().epsilon >= truth);
                }
            }
        }
    }

    /// Pure ε doubles: randomised response twice, by way of nothing, at a δ that pure events do not
    /// need.
    #[test]
    fn pure_events_at_most_double_and_a_little() {
        let relation = NeighboringRelation::ReplaceSpecial;
        let mut accountant = RdpAccountant::new();
        accountant
            .compose(
                &Event::PureEpsilon {
                    epsilon: 0.5,
                    relation,
                },
                1,
            )
            .unwrap();
        let between = accountant.replace_epsilon(1e-9).unwrap().epsilon;
        assert!(between > 0.9 && between < 1.2, "{between}");
    }
}
