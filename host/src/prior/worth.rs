//! What a file is worth: a simulation on its own posterior, which costs no privacy.
//!
//! Newcomers' functions are drawn as the file believes them, f = φᵀv with v ~ N(w, Σ + hI). Each is
//! searched on the same candidates with the file and without one. The file's first questions are
//! worth as many evaluations as a search without it needs to come as near to the best candidate, on
//! average.

use serde_json::{Value, json};
use sordino_core::linalg::{dot, lower, packed_len};
use sordino_core::prior::{
    Newcomer, NewcomerError, NewcomerSettings, PublicPrior, Reading, storage_len,
};
use sordino_core::random::{Party, Purpose, RunSeed, normal};

use super::guide::{Guide, GuideError, wrong};
use super::label::best_guess;
use super::{PriorFile, refuse};
use crate::text::significant_up;

/// Newcomers that are simulated.
const NEWCOMERS: u32 = 24;
/// Candidates that they search.
const CANDIDATES: u32 = 200;
/// Questions with the file whose worth is counted.
pub const WITH: usize = 3;
/// Questions without the file, the most that is counted.
pub const WITHOUT: usize = 24;
/// Candidates that are looked at together.
const WIDTH: usize = 32;

/// What [`worth`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// Mean regret after 1, 2, … questions with the file, in standard deviations of a contributor's
    /// values.
    pub with: Vec<f64>,
    /// The same without.
    pub without: Vec<f64>,
}

impl Worth {
    /// Evaluations saved: those that a search without the file needs beyond [`WITH`] to come as
    /// near as the file does with that many; 0 if it does so with no more. [`WITHOUT`] − [`WITH`]
    /// stands for that many or more.
    pub fn saved(&self) -> usize {
        let reached = self.with.last().copied().unwrap_or(f64::INFINITY);
        let needed = self
            .without
            .iter()
            .position(|regret| *regret <= reached)
            .map_or(WITHOUT, |place| place + 1);
        needed.saturating_sub(WITH)
    }
}

/// Simulates newcomers who search with the file and without it, from a public seed.
///
/// **Errors**: [`GuideError`] for a file whose numbers are no posterior.
///
/// **Cost**: some tens of searches over two hundred candidates, a second at M = 100.
pub fn worth(file: &PriorFile) -> Result<Worth, GuideError> {
    let guide = Guide::new(file, &file.label.space, file.label.goal)?;
    let prior = guide.attached()?;
    let points = super::points(&file.label.space, CANDIDATES)?;
    let coordinates: Vec<f64> = points
        .iter()
        .flat_map(|numbers| guide.encoding.coordinates(numbers))
        .collect();
    let dim = guide.encoding.dim();
    let m = guide.weights.len();
    let mut features = vec![0.0; points.len() * m];
    for (point, row) in coordinates
        .chunks_exact(dim)
        .zip(features.chunks_exact_mut(m))
    {
        prior.features(point, row).map_err(GuideError::Numbers)?;
    }
    let factor = spread(&guide, file.label.heterogeneity)?;
    let mut sums = Worth {
        with: vec![0.0; WITH],
        without: vec![0.0; WITHOUT],
    };
    for newcomer in 0..NEWCOMERS {
        let mut stream = RunSeed::new(0, newcomer).stream(Party::World, Purpose::InitialPoints, 0);
        let mut drawn = vec![0.0; m];
        normal::fill(&mut stream, &mut drawn);
        let weights: Vec<f64> = (0..m)
            .map(|i| guide.weights[i] + dot(lower::row(&factor, i), &drawn[..=i]))
            .collect();
        let values: Vec<f64> = features
            .chunks_exact(m)
            .map(|phi| dot(phi, &weights))
            .collect();
        for (prior, sums) in [(Some(&prior), &mut sums.with), (None, &mut sums.without)] {
            let regrets =
                searched(&coordinates, dim, prior, newcomer, &values, sums.len()).map_err(wrong)?;
            sums.iter_mut()
                .zip(regrets)
                .for_each(|(sum, regret)| *sum += regret / f64::from(NEWCOMERS));
        }
    }
    Ok(sums)
}

/// The label as JSON, with what only the numbers say: digest, features, how a search reads the
/// file, what it is worth.
///
/// **Errors**: as [`worth`].
pub fn facts(file: &PriorFile) -> Result<Value, GuideError> {
    let worth = worth(file)?;
    let mut facts = serde_json::to_value(&file.label).unwrap_or_default();
    // Refused with the label, if these were no multipliers.
    facts["best_guess"] = json!(best_guess(&file.label.noise_multipliers).unwrap_or(1.0));
    // As bounds: not .9999999999999999 of a file that was made for 1.
    facts["epsilon"] = json!(bound(file.label.epsilon));
    facts["replace_epsilon"] = json!(bound(file.label.replace_epsilon));
    facts["digest"] = json!(file.digest());
    facts["signed_by"] = json!(file.signer());
    facts["features"] = json!(file.features());
    facts["reading"] = json!(reading(file));
    facts["evaluations_saved"] = json!(worth.saved());
    facts["simulated_regret"] = json!({"with": worth.with, "without": worth.without});
    Ok(facts)
}

/// A loss as programs are told it, of a file and of one that is yet to be made: with twelve digits,
/// rounded up.
pub fn bound(loss: f64) -> f64 {
    significant_up(loss, 12).parse().unwrap_or(loss)
}

/// How a search reads the file, in a word.
pub fn reading(file: &PriorFile) -> &'static str {
    match Reading::of(Some(file.label.self_test as f32)) {
        Reading::Trusted => "trusted",
        Reading::Doubted => "weighed",
        _ => "not read",
    }
}

/// A factor of Σ + hI, with as much on its diagonal as rounding to single precision may have taken.
fn spread(guide: &Guide, heterogeneity: f64) -> Result<Vec<f64>, GuideError> {
    let m = guide.weights.len();
    let trace: f64 = (0..m).map(|i| lower::row(&guide.covariance, i)[i]).sum();
    let jitter = heterogeneity + 1e-6 * trace / m as f64;
    let mut factor = guide.covariance.clone();
    debug_assert_eq!(factor.len(), packed_len(m));
    (0..m).for_each(|i| lower::row_mut(&mut factor, i)[i] += jitter);
    lower::factor(&mut factor, m, 0.0)
        .map_err(|_| refuse("covariance", "not positive", "a covariance"))?;
    Ok(factor)
}

/// Regret after each question of one search.
fn searched(
    coordinates: &[f64],
    dim: usize,
    prior: Option<&PublicPrior<'_, f64>>,
    seed: u32,
    values: &[f64],
    questions: usize,
) -> Result<Vec<f64>, NewcomerError> {
    let landmarks = prior.map_or(0, PublicPrior::count);
    let storage = vec![0.0; storage_len(landmarks, questions, WIDTH)];
    let settings = NewcomerSettings {
        seed,
        ..NewcomerSettings::default()
    };
    let mut search = Newcomer::new(coordinates, dim, prior, settings, questions, storage)?;
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut best = f64::NEG_INFINITY;
    let mut regrets = Vec::with_capacity(questions);
    for _ in 0..questions {
        let asked = search.suggest();
        search.observe(asked, values[asked])?;
        best = best.max(values[asked]);
        regrets.push(most - best);
    }
    Ok(regrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_told_without_what_rounding_left() {
        assert_eq!(bound(0.9999999999999999), 1.0);
        assert_eq!(bound(2.0), 2.0);
        for loss in [
            1.513_804_212_345_678,
            0.1 + 0.2,
            1_234.567_890_123_456_7,
            3e-7,
        ] {
            assert!(
                bound(loss) >= loss && bound(loss) < loss * (1.0 + 1e-10),
                "{loss}"
            );
        }
    }
}
