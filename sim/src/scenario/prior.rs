//! The section `[prior]`: when the federated prior releases, through which features, at which total ε.

use serde::Serialize;
use sordino_core::federated::NOISE_MULTIPLIER;
use sordino_core::federated::prior::{mu_spent, shares};
use sordino_core::privacy::accountant::pld::calibrate;
use sordino_core::privacy::accountant::{Accountant, PldAccountant};
use sordino_core::privacy::calibrate::Target;
use sordino_core::privacy::{Event, NeighboringRelation, SamplingProbability};

use super::federated::{FederationConfig, ObjectiveConfig, PrivacyConfig};
use super::reader::{Problem, Section};

/// Rounds after which the note's releases are made, as far as the run has them.
const RELEASES: [u32; 6] = [0, 0, 0, 4, 8, 16];
/// What may be asked of all releases together.
const EPSILON: (f64, f64, &str) = (0.01, 1e6, "a number from 0.01 to 1e6");

/// What the methods of the federated prior share. Public, and nothing of it fitted to private data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorConfig {
    /// Release j is made after round `releases[j]`; not decreasing, every one below T.
    pub releases: Vec<u32>,
    /// Share of the budget that release j spends, of Σ 1/z², up to one factor.
    pub shares: Vec<f64>,
    /// Inducing points of the Nyström features in each dimension: M is this to the power D.
    pub points_per_axis: u32,
    /// ε of all releases together at `privacy.delta`, by privacy-loss distributions.
    pub epsilon: f64,
    /// z_j of every release: what `epsilon` and `shares` come to.
    #[serde(skip)]
    pub noise_multipliers: Vec<f64>,
}

impl PriorConfig {
    /// What the first `releases` releases cost together: unsampled Gaussians of multipliers z_j are one of 1/√Σ1/z_j²
    /// (the theorem of `core/src/federated/prior/plan.rs`). Nothing before the first.
    pub fn event(&self, releases: u32) -> Option<Event> {
        let made = self.noise_multipliers.get(..releases as usize).filter(|made| !made.is_empty())?;
        let relation = NeighboringRelation::ReplaceSpecial;
        Some(Event::Gaussian { noise_multiplier: 1.0 / mu_spent(made), relation })
    }

    /// Releases made after round `round` or before.
    pub fn releases_after(&self, round: u32) -> u32 {
        self.releases.iter().filter(|at| **at <= round).count() as u32
    }
}

/// Reads the section. `required` if a method needs it; nothing if neither a key nor a method asks for it.
pub(super) fn prior(
    mut section: Section,
    required: bool,
    objective: &ObjectiveConfig,
    federation: &FederationConfig,
    privacy: &PrivacyConfig,
) -> Result<Option<PriorConfig>, Problem> {
    section.only(&["releases", "shares", "points_per_axis", "epsilon"])?;
    if !required && section.is_empty() {
        return Ok(None);
    }
    let releases = releases(&mut section, federation.rounds)?;
    let path = section.path_of("shares");
    let given = section.numbers("shares", Some(releases.len()), 1e-3..=1e3, "a number from 0.001 to 1000")?;
    let shares_of = given.unwrap_or_else(|| vec![1.0; releases.len()]);
    let (most, usual) = match objective {
        ObjectiveConfig::GpSample(config) if config.dim == 1 => (512, 50),
        _ => (22, 7),
    };
    let points_per_axis = section.integer("points_per_axis", 2..=most, Some(usual))? as u32;
    let epsilon = epsilon(&mut section, federation, privacy)?;
    section.finish()?;
    let noise_multipliers = multipliers(epsilon, privacy.delta, &shares_of).ok_or_else(|| Problem::Value {
        key: path,
        value: format!("{shares_of:?}"),
        admissible: format!(
            "shares that give every release a noise multiplier from {} to {} at ε = {epsilon} and δ = {:e}",
            NOISE_MULTIPLIER.start(),
            NOISE_MULTIPLIER.end(),
            privacy.delta
        ),
    })?;
    Ok(Some(PriorConfig { releases, shares: shares_of, points_per_axis, epsilon, noise_multipliers }))
}

fn releases(section: &mut Section, rounds: u32) -> Result<Vec<u32>, Problem> {
    let last = rounds.saturating_sub(1);
    let (key, admissible) = ("releases", format!("whole rounds from 0 to {last}, none before the one it follows"));
    let path = section.path_of(key);
    let Some(found) = section.numbers(key, None, 0.0..=f64::from(last), &admissible)? else {
        return Ok(RELEASES.into_iter().filter(|round| *round < rounds).collect());
    };
    let whole = found.iter().all(|x| x.fract() == 0.0) && found.windows(2).all(|pair| pair[0] <= pair[1]);
    if !whole {
        let admissible = format!("a list of 1 to 64 {admissible}");
        return Err(Problem::Value { key: path, value: format!("{found:?}"), admissible });
    }
    Ok(found.into_iter().map(|x| x as u32).collect())
}

/// ε as given, or that of `dp-fts-de` at the scenario's (q, z, T, δ), at least the least admissible.
fn epsilon(section: &mut Section, federation: &FederationConfig, privacy: &PrivacyConfig) -> Result<f64, Problem> {
    let (low, high, admissible) = EPSILON;
    if let Some(epsilon) = section.optional_number("epsilon", low..=high, admissible)? {
        return Ok(epsilon);
    }
    let event = Event::PoissonSampledGaussian {
        sampling_probability: privacy.sampling_probability,
        noise_multiplier: privacy.noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    };
    let mut accountant = PldAccountant::new();
    let spent = accountant.compose(&event, federation.rounds).and_then(|()| accountant.epsilon(privacy.delta));
    match spent {
        Ok(spent) if spent.epsilon <= high => Ok(spent.epsilon.max(low)),
        spent => Err(Problem::MissingKey {
            key: section.path_of("epsilon"),
            admissible: format!(
                "{admissible}; its default is what dp-fts-de spends, which is {} here",
                spent.map_or("not finite".to_owned(), |spent| format!("{}", spent.epsilon))
            ),
        }),
    }
}

/// z_j by shares, so that all together stay within (ε, δ) by privacy-loss distributions; no less noise than the search's
/// least multiplier, .05, however large ε is.
fn multipliers(epsilon: f64, delta: f64, weights: &[f64]) -> Option<Vec<f64>> {
    let target = Target::new(epsilon, delta).ok()?;
    let together = calibrate::noise_multiplier(&target, SamplingProbability::ONE, 1).ok()?;
    let mut multipliers = vec![0.0; weights.len()];
    shares((1.0 / together).next_down(), weights, &mut multipliers).ok()?;
    multipliers.iter().all(|z| NOISE_MULTIPLIER.contains(z)).then_some(multipliers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The note's setting: as much ε as 40 sampled releases of multiplier 1, in six that are not sampled.
    #[test]
    fn the_budget_is_spent_and_never_more() {
        let delta = 200f64.powf(-1.1);
        for (epsilon, weights) in [(7.054, vec![1.0; 6]), (0.91, vec![3.0, 3.0, 3.0, 1.0, 1.0, 1.0])] {
            let noise_multipliers = multipliers(epsilon, delta, &weights).unwrap();
            let releases = vec![0; weights.len()];
            let config = PriorConfig { releases, shares: weights, points_per_axis: 50, epsilon, noise_multipliers };
            let spent = |releases: u32| {
                let mut accountant = PldAccountant::new();
                config.event(releases).iter().for_each(|event| accountant.compose(event, 1).unwrap());
                accountant.epsilon(delta).unwrap().epsilon
            };
            assert!(spent(6) <= epsilon && spent(6) > 0.999 * epsilon, "{} {epsilon}", spent(6));
            // Release by release, by the same accountant: the theorem costs nothing and hides nothing.
            let mut accountant = PldAccountant::new();
            for z in &config.noise_multipliers {
                let relation = NeighboringRelation::ReplaceSpecial;
                accountant.compose(&Event::Gaussian { noise_multiplier: *z, relation }, 1).unwrap();
            }
            let singly = accountant.epsilon(delta).unwrap().epsilon;
            assert!((singly / spent(6) - 1.0).abs() < 1e-3, "{singly}");
            assert!((1..6).all(|made| spent(made) < spent(made + 1)) && config.event(0).is_none());
        }
        assert!(multipliers(1e-9, delta, &[1.0]).is_none() && multipliers(7.0, delta, &[1e-3, 1e3]).is_none());
    }
}
