//! The budget of a federated prior: unsampled Gaussian releases of unequal multipliers.
//!
//! **Theorem.** Releases j = 1..J of multipliers z_j, fixed beforehand, each a Gaussian mechanism
//! of sensitivity Δ_j and noise std z_jΔ_j where Δ_j may depend on earlier *releases*, are together
//! μ-Gaussian differentially private with μ² = Σ 1/z_j²: exactly what one Gaussian of multiplier
//! 1/μ costs.
//!
//! **Proof.** Given the releases before it, release j divided by Δ_j is a Gaussian mechanism of
//! sensitivity 1 and std z_j, hence 1/z_j-GDP whatever those releases were; adaptive composition
//! adds squares (Dong, Roth, Su 2022, corollary 2). ∎ Multipliers that are *chosen* from releases
//! need a filter instead; see [`crate::privacy::budget`].
//!
//! **Relation**: zero-out, [`NeighboringRelation::ReplaceSpecial`]: one agent's contributions are
//! nothing in every release. Other agents act on releases and on their own data alone, so given the
//! releases they contribute the same in both worlds.

use super::error::{PriorError, exactly};
use crate::math::Scalar;
use crate::privacy::accountant::{AccountantError, analytic};
use crate::privacy::event::{Event, NeighboringRelation};

/// What one release of multiplier z costs: Gaussian noise on everything, nobody sampled.
pub const fn event(noise_multiplier: f64) -> Event {
    Event::Gaussian {
        noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

/// The largest μ, from below, whose Gaussian is (ε, δ)-private.
///
/// **Errors**: those of [`analytic::noise_multiplier`].
pub fn total_mu(epsilon: f64, delta: f64) -> Result<f64, AccountantError> {
    Ok((1.0 / analytic::noise_multiplier(epsilon, delta)?).next_down())
}

/// What the plan spends of Gaussian privacy, μ = √Σ 1/z_j².
pub fn mu_spent(multipliers: &[f64]) -> f64 {
    let mut squares = 0.0;
    for z in multipliers {
        squares += 1.0 / (z * z);
    }
    Scalar::sqrt(squares)
}

/// Multipliers that spend μ in shares ∝ `weights`: z_j = √(Σw/w_j)/μ, from above, so that Σ 1/z_j²
/// ≤ μ².
///
/// **Parameters**: μ > 0; `weights` > 0, equal ones for equal shares; `out` as long.
///
/// **Errors**: [`PriorError::Length`], [`PriorError::Number`].
pub fn shares(mu: f64, weights: &[f64], out: &mut [f64]) -> Result<(), PriorError> {
    exactly("multipliers", out.len(), weights.len())?;
    let admissible = "(0, inf)";
    let positive = |x: f64| x > 0.0 && x.is_finite();
    if !positive(mu) {
        return Err(PriorError::Number {
            what: "mu",
            value: mu,
            admissible,
        });
    }
    let mut sum = 0.0;
    for weight in weights {
        if !positive(*weight) {
            return Err(PriorError::Number {
                what: "share of a release",
                value: *weight,
                admissible,
            });
        }
        sum += *weight;
    }
    for (z, weight) in out.iter_mut().zip(weights) {
        *z = Scalar::sqrt(sum / *weight) / mu;
        // Where z² is 0 or infinite no factor brings the sum below μ².
        if !positive(*z) || !positive(1.0 / (*z * *z)) {
            return Err(PriorError::Number {
                what: "noise_multiplier",
                value: *z,
                admissible,
            });
        }
    }
    // Rounding is a few units in the last place; each turn adds four.
    while mu_spent(out) > mu {
        out.iter_mut().for_each(|z| *z *= 1.0 + 4.0 * f64::EPSILON);
    }
    Ok(())
}

/// How often the data of release `index` are released: releases at the same round, itself included.
pub fn repeats(rounds: &[u32], index: usize) -> u32 {
    match rounds.get(index) {
        Some(round) => rounds.iter().filter(|other| *other == round).count() as u32,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::accountant::RdpAccountant;

    #[test]
    fn shares_spend_the_budget_and_never_more() {
        for (epsilon, delta) in [(0.2, 1e-5), (0.91, 0.00295), (7.06, 0.00295), (10.0, 1e-9)] {
            let mu = total_mu(epsilon, delta).unwrap();
            assert!(analytic::delta(1.0 / mu, epsilon) <= delta, "certified");
            assert!(
                analytic::delta(1.0 / (mu * 1.000_001), epsilon) > delta,
                "tight"
            );
            let weights = [3.0, 3.0, 3.0, 1.0, 1.0, 1.0];
            for weights in [&[1.0; 6][..], &weights, &[1.0]] {
                let mut z = [0.0; 6];
                let z = &mut z[..weights.len()];
                shares(mu, weights, z).unwrap();
                assert!(
                    mu_spent(z) <= mu && mu_spent(z) > mu * (1.0 - 1e-12),
                    "{mu} {z:?}"
                );
            }
        }
        let mut z = [0.0; 2];
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                shares(bad, &[1.0, 1.0], &mut z).is_err()
                    && shares(1.0, &[1.0, bad], &mut z).is_err()
            );
        }
        assert!(shares(1.0, &[1.0], &mut z).is_err());
        // Before the mend the first of these never returned: z² is 0, and the sum stayed infinite.
        assert!(
            shares(1e200, &[1.0, 1.0], &mut z).is_err()
                && shares(1e-200, &[1.0, 1.0], &mut z).is_err()
        );
        assert_eq!(
            [0, 3, 4, 9].map(|j| repeats(&[0, 0, 0, 4, 8], j)),
            [3, 1, 1, 1]
        );
    }

    /// A Poisson sample of probability 1, as the other server charges everybody, costs what the
    /// event charged here costs.
    #[test]
    fn everybody_is_a_gaussian() {
        let q_is_one = Event::sampled(1.0, 2.5);
        let epsilon = |event: &Event| {
            let mut accountant = RdpAccountant::new();
            accountant.compose(event, 6).unwrap();
            accountant.epsilon(1e-5).unwrap().epsilon
        };
        assert_eq!(epsilon(&event(2.5)), epsilon(&q_is_one));
        // Rényi is an upper bound of the exact composition.
        let exact = analytic::epsilon(2.5 / Scalar::sqrt(6.0), 1e-5).unwrap();
        assert!(epsilon(&event(2.5)) >= exact && epsilon(&event(2.5)) < 1.2 * exact);
    }
}
