//! The section `[prior]`: when the federated prior releases, through which features, at which total
//! ε.

use serde::Serialize;
use sordino_core::federated::prior::{RELEASES_MAX, mu_spent, shares as spread};
use sordino_core::privacy::accountant::pld::calibrate;
use sordino_core::privacy::accountant::{Accountant, PldAccountant};
use sordino_core::privacy::calibrate::Target;
use sordino_core::privacy::{Event, NeighboringRelation, NoiseMultiplier, SamplingProbability};

use sordino_host::prior::FEATURES_MAX;
use sordino_host::prior::publish::equal_noise_multipliers;

use super::keys::keys;
use super::method::Method;
use super::reader::{Problem, Section};
use super::rule::{number, whole};
use crate::benchmark::design::{self, Design};

/// Rounds after which releases are made unless the scenario says otherwise; later rounds than the
/// run has are left out.
const RELEASES: [u32; 6] = [0, 0, 0, 4, 8, 16];
/// Inducing points in more than two dimensions unless the scenario says otherwise.
const INDUCING_POINTS: u32 = 128;
/// Releases of a campaign, both before the first question.
pub const CAMPAIGN_RELEASES: u32 = 2;
/// The least ε that a plan may have for all releases together.
const EPSILON_MIN: f64 = 0.01;
/// The largest ε that a plan may have.
const EPSILON_MAX: f64 = 1e6;

keys! {
    /// When the federated prior releases, through which features, at which ε: for `dp-prior` and
    /// its variants, in which everybody contributes to every release.
    pub struct PriorPlan(dim: usize, rounds: u32, spent: Option<f64>) {
        /// Release j is made after the queries of this round; rounds must not decrease.
        releases: Vec<u32> [like "0, 0, 0, 4, 8, 16 as far as there are rounds" usual(rounds)]
            in whole(0, 9_999).list(1, RELEASES_MAX)
            => whole(0, u64::from(rounds.saturating_sub(1))).list(1, RELEASES_MAX);
        /// How Σ 1/z² is divided over the releases, up to one factor.
        shares: Vec<f64> [like "all 1" vec![1.0; releases.len()]] in number(1e-3, 1e3).list(1, RELEASES_MAX).each("release")
            => number(1e-3, 1e3).list(releases.len(), releases.len()).each("release");
        /// In one or two dimensions: inducing points of the Nyström features along each, at most 22
        /// in two; M is their total.
        points_per_axis: u32 [like "50 (two dimensions: 7)" if dim == 1 { 50 } else { 7 }]
            in whole(2, 512) => whole(2, if dim == 1 { 512 } else { 22 });
        /// In more than two dimensions: number M of inducing points, from a Sobol' sequence; 128
        /// unless given.
        inducing_points: Option<u32> [none 128] in whole(2, 512);
        /// The most landmarks of a campaign's file; 100 unless given, 50 for sites on small
        /// devices.
        features: Option<u32> [none 100] in whole(2, FEATURES_MAX as u64);
        /// ε of all releases together at `privacy.delta`, by privacy-loss distributions; the
        /// multipliers follow.
        epsilon: f64 [given 1.0, "what `dp-fts-de` spends in this scenario, at least 0.01" spent]
            in number(EPSILON_MIN, EPSILON_MAX).because("its default is what dp-fts-de spends, which is more here");
    }
}

fn usual(rounds: u32) -> Vec<u32> {
    RELEASES
        .into_iter()
        .filter(|round| *round < rounds)
        .collect()
}

/// ε of `dp-fts-de` at the scenario's (q, z, T, δ), raised to the least admissible ε; `None` if it
/// is not admissible.
fn spent(event: &Event, rounds: u32, delta: f64) -> Option<f64> {
    let mut accountant = PldAccountant::new();
    accountant.compose(event, rounds).ok()?;
    let spent = accountant.epsilon(delta).ok()?.epsilon;
    (spent <= EPSILON_MAX).then_some(spent.max(EPSILON_MIN))
}

/// Settings that the methods of the federated prior share. Public, and none of them fitted to
/// private data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorConfig {
    /// The plan as keys of the scenario.
    #[serde(flatten)]
    pub plan: PriorPlan,
    /// `epsilon` is given, and is not what samples cost.
    #[serde(skip)]
    pub epsilon_is_given: bool,
    /// z_j of every release, computed from `epsilon` and `shares`.
    #[serde(skip)]
    pub noise_multipliers: Vec<f64>,
    /// z of each release of a campaign, computed from `epsilon` alone, as that of real sites is.
    #[serde(skip)]
    pub campaign: Vec<f64>,
}

impl PriorPlan {
    /// The inducing points in [0, 1]^dim, row-major.
    pub fn inducing(&self, dim: usize) -> Vec<f64> {
        match dim {
            1 | 2 => design::grid(self.points_per_axis, dim),
            _ => design::points(
                Design::Sobol,
                self.inducing_points.unwrap_or(INDUCING_POINTS),
                dim,
                0,
            ),
        }
    }
}

impl PriorConfig {
    /// Reads the section; `None` if neither a key nor a method (`required`) asks for it. `event` is
    /// one of the `rounds` releases of `dp-fts-de`.
    pub(super) fn read(
        section: Section,
        required: bool,
        dim: usize,
        (event, rounds, delta): (&Event, u32, f64),
    ) -> Result<Option<Self>, Problem> {
        if section.is_empty() && !required {
            return Ok(None);
        }
        let usual = spent(event, rounds, delta);
        let plan = PriorPlan::read(section, dim, rounds, usual)?;
        if !plan.releases.is_sorted() {
            let admissible = "rounds none of which is before the one it follows";
            return Err(Problem::value(
                "prior.releases",
                format!("{:?}", plan.releases),
                admissible,
            ));
        }
        let campaign = equal_noise_multipliers(plan.epsilon, delta, CAMPAIGN_RELEASES).ok();
        let planned = multipliers(plan.epsilon, delta, &plan.shares);
        let Some((noise_multipliers, campaign)) = planned.zip(campaign) else {
            let (low, high) = NoiseMultiplier::RANGE;
            let admissible = format!(
                "an ε that at δ = {delta:e} and with these shares gives every release a noise multiplier from {low} to {high}"
            );
            return Err(Problem::value("prior.epsilon", plan.epsilon, admissible));
        };
        Ok(Some(PriorConfig {
            epsilon_is_given: usual != Some(plan.epsilon),
            plan,
            noise_multipliers,
            campaign,
        }))
    }

    /// The cost of the first `releases` releases together: unsampled Gaussians with multipliers z_j
    /// equal one Gaussian with multiplier 1/√Σ1/z_j² (the theorem of
    /// `core/src/federated/prior/plan.rs`). `None` before the first.
    pub fn event(&self, releases: u32) -> Option<Event> {
        first(&self.noise_multipliers, releases)
    }

    /// What the first `releases` releases of a method cost together: by the plan, or of a campaign.
    pub fn spent_by(&self, method: Method, releases: u32) -> Option<Event> {
        if method.is_campaign() {
            first(&self.campaign, releases)
        } else {
            self.event(releases)
        }
    }

    /// The noise multiplier of one release that costs as much as all of the plan together: what a
    /// vote is made with.
    pub fn together(&self) -> Option<NoiseMultiplier> {
        NoiseMultiplier::new(1.0 / mu_spent(&self.noise_multipliers)).ok()
    }

    /// Number of releases made after round `round` or earlier.
    pub fn releases_after(&self, round: u32) -> u32 {
        self.plan.releases.iter().filter(|at| **at <= round).count() as u32
    }
}

/// The cost of the first releases with these multipliers.
fn first(noise_multipliers: &[f64], releases: u32) -> Option<Event> {
    let made = noise_multipliers
        .get(..releases as usize)
        .filter(|made| !made.is_empty())?;
    let relation = NeighboringRelation::ReplaceSpecial;
    Some(Event::Gaussian {
        noise_multiplier: 1.0 / mu_spent(made),
        relation,
    })
}

/// z_j by shares, so that all releases together stay within (ε, δ) by privacy-loss distributions.
/// However large ε is, the noise is never less than the search's least multiplier, .05.
fn multipliers(epsilon: f64, delta: f64, weights: &[f64]) -> Option<Vec<f64>> {
    let target = Target::new(epsilon, delta).ok()?;
    let together = calibrate::noise_multiplier(&target, SamplingProbability::ONE, 1).ok()?;
    let mut multipliers = vec![0.0; weights.len()];
    spread((1.0 / together).next_down(), weights, &mut multipliers).ok()?;
    multipliers
        .iter()
        .all(|z| NoiseMultiplier::new(*z).is_ok())
        .then_some(multipliers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The note's setting: six unsampled releases spend as much ε as 40 sampled releases of
    /// multiplier 1.
    #[test]
    fn the_budget_is_spent_and_never_more() {
        let delta = 200f64.powf(-1.1);
        for (epsilon, weights) in [
            (7.054, vec![1.0; 6]),
            (0.91, vec![3.0, 3.0, 3.0, 1.0, 1.0, 1.0]),
        ] {
            let noise_multipliers = multipliers(epsilon, delta, &weights).unwrap();
            let releases = vec![0; weights.len()];
            let plan = PriorPlan {
                releases,
                shares: weights,
                points_per_axis: 50,
                inducing_points: None,
                features: None,
                epsilon,
            };
            let campaign = Vec::new();
            let config = PriorConfig {
                epsilon_is_given: true,
                plan,
                noise_multipliers,
                campaign,
            };
            let spent = |releases: u32| {
                let mut accountant = PldAccountant::new();
                config
                    .event(releases)
                    .iter()
                    .for_each(|event| accountant.compose(event, 1).unwrap());
                accountant.epsilon(delta).unwrap().epsilon
            };
            assert!(
                spent(6) <= epsilon && spent(6) > 0.999 * epsilon,
                "{} {epsilon}",
                spent(6)
            );
            // Release by release, by the same accountant: the theorem costs nothing and hides
            // nothing.
            let mut accountant = PldAccountant::new();
            for z in &config.noise_multipliers {
                let relation = NeighboringRelation::ReplaceSpecial;
                accountant
                    .compose(
                        &Event::Gaussian {
                            noise_multiplier: *z,
                            relation,
                        },
                        1,
                    )
                    .unwrap();
            }
            let singly = accountant.epsilon(delta).unwrap().epsilon;
            assert!((singly / spent(6) - 1.0).abs() < 1e-3, "{singly}");
            assert!((1..6).all(|made| spent(made) < spent(made + 1)) && config.event(0).is_none());
        }
        assert!(
            multipliers(1e-9, 1e-9, &[1.0]).is_none()
                && multipliers(7.0, delta, &[1e-5, 1e5]).is_none()
        );
    }
}
