//! What a file is worth: a simulation on its own posterior, which costs no privacy.
//!
//! Newcomers' functions are drawn as a search that reads the file assumes them
//! ([`sordino_core::prior`]): f = τφᵀv + √ρ·g. What all have in common is v ~ N(w, Σ + hI), and
//! counts for 19 in 20 (τ = 1). What is a newcomer's own is g, a Gaussian process whose lengthscale
//! and share ρ are drawn from the prior of that search. Each function is searched on the same
//! candidates with the file and without one.
//!
//! The file's first questions save a newcomer as many evaluations as its search without the file
//! needs beyond them to come as near to the best candidate. That differs much from newcomer to
//! newcomer, so what is told is what the middle half of them save ([`Worth::quartiles`]).

use serde_json::{Value, json};
use sordino_core::linalg::{dot, lower, packed_len};
use sordino_core::math::Scalar;
use sordino_core::prior::{
    Newcomer, NewcomerError, NewcomerSettings, PublicPrior, Reading, storage_len,
};
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};

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
/// Lengthscales of a newcomer's own part, in √D: the isotropic ones of a search with a file.
const LENGTHSCALES: [f64; 7] = [0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0];
/// Lengthscales up to this are for one dimension only.
const SHORT: f64 = 0.08;
/// How often a newcomer has nothing in common with the file, as a search that trusts it assumes.
const STRANGERS: f64 = 0.05;
/// ρ of the newcomers whom the file describes, as likely each.
const SHARES: [f64; 2] = [0.1, 1.0];
/// Added to the kernel's diagonal, so that rounding leaves it positive.
const NUGGET: f64 = 1e-6;

/// What [`worth`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// Mean regret after 1, 2, … questions with the file, in standard deviations of a contributor's
    /// values.
    pub with: Vec<f64>,
    /// The same without.
    pub without: Vec<f64>,
    /// Evaluations that each simulated newcomer saves, ascending: those that its search without the
    /// file needs beyond [`WITH`] to come as near as with it, 0 where it needs no more.
    /// [`WITHOUT`] − [`WITH`] stands for that many or more.
    pub each: Vec<usize>,
}

/// What the middle half of simulated newcomers save, in evaluations: a quarter of them save `lower`
/// or less, and a quarter `upper` or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quartiles {
    /// The lower quartile.
    pub lower: usize,
    /// The median, the lower one of two.
    pub median: usize,
    /// The upper quartile.
    pub upper: usize,
}

impl Worth {
    /// Evaluations saved by the mean regret of all newcomers, in which those with a large regret
    /// count most: 0 says that the file is worth nothing. [`WITHOUT`] − [`WITH`] stands for that
    /// many or more.
    pub fn saved(&self) -> usize {
        needed(&self.with, &self.without)
    }

    /// What the middle half of newcomers save.
    pub fn quartiles(&self) -> Quartiles {
        let last = self.each.len().saturating_sub(1);
        let at = |place: usize| self.each.get(place).copied().unwrap_or(0);
        let quarter = self.each.len() / 4;
        Quartiles {
            lower: at(quarter),
            median: at(last / 2),
            upper: at(last - quarter),
        }
    }
}

/// Evaluations beyond [`WITH`] that a search without a file needs to come as near as one with it,
/// from the regrets after each question; [`WITHOUT`] − [`WITH`] if it never does.
pub fn needed(with: &[f64], without: &[f64]) -> usize {
    let reached = with.last().copied().unwrap_or(f64::INFINITY);
    let needed = without
        .iter()
        .position(|regret| *regret <= reached)
        .map_or(WITHOUT, |place| place + 1);
    needed.saturating_sub(WITH)
}

/// What newcomers have of their own, at the candidates.
struct Own {
    /// For each lengthscale its prior density, not normalised, and a factor of its kernel.
    kernels: Vec<(f64, Vec<f64>)>,
    candidates: usize,
}

impl Own {
    /// **Errors**: [`GuideError`] for a kernel that rounding left without a factor.
    fn new(coordinates: &[f64], dim: usize) -> Result<Self, GuideError> {
        let candidates = coordinates.len() / dim;
        let root = (dim as f64).sqrt();
        let lengthscales = LENGTHSCALES.iter().filter(|l| dim == 1 || **l > SHORT);
        let kernels = lengthscales.map(|fraction| {
            let lengthscale = fraction * root;
            // ln ℓ ~ N(√2 + ½ ln D, 3), as core has it.
            let distance =
                Scalar::ln(lengthscale) - std::f64::consts::SQRT_2 - 0.5 * Scalar::ln(dim as f64);
            let density = Scalar::exp(-distance * distance / 6.0);
            Ok((density, kernel(coordinates, dim, lengthscale)?))
        });
        Ok(Own {
            kernels: kernels.collect::<Result<_, GuideError>>()?,
            candidates,
        })
    }

    /// Adds one newcomer's own part to what it has in common with the others.
    fn add(&self, stream: &mut Stream, values: &mut [f64]) {
        let mass: f64 = self.kernels.iter().map(|(density, _)| density).sum();
        let mut left = stream.unit::<f64>() * mass;
        let chosen = self.kernels.iter().position(|(density, _)| {
            left -= density;
            left < 0.0
        });
        let kind = stream.unit::<f64>();
        let described = (kind - STRANGERS) / (1.0 - STRANGERS);
        let (trusts, share) = match described {
            ..0.0 => (0.0, 1.0),
            ..0.5 => (1.0, SHARES[0]),
            _ => (1.0, SHARES[1]),
        };
        let mut drawn = vec![0.0; self.candidates];
        normal::fill(stream, &mut drawn);
        let (_, factor) = &self.kernels[chosen.unwrap_or(self.kernels.len() - 1)];
        for (i, value) in values.iter_mut().enumerate() {
            *value = trusts * *value + share.sqrt() * dot(lower::row(factor, i), &drawn[..=i]);
        }
    }
}

/// A factor of the squared exponential kernel of variance 1 at these points.
fn kernel(coordinates: &[f64], dim: usize, lengthscale: f64) -> Result<Vec<f64>, GuideError> {
    let points: Vec<&[f64]> = coordinates.chunks_exact(dim).collect();
    let mut factor = Vec::with_capacity(packed_len(points.len()));
    for (i, point) in points.iter().enumerate() {
        for other in &points[..=i] {
            let squares = point.iter().zip(*other).map(|(x, y)| (x - y) * (x - y));
            let exponent = -0.5 * squares.sum::<f64>() / (lengthscale * lengthscale);
            factor.push(Scalar::exp(exponent));
        }
        *factor.last_mut().unwrap_or(&mut 0.0) += NUGGET;
    }
    lower::factor(&mut factor, points.len(), 0.0)
        .map_err(|_| refuse("candidates", "too close", "points of the space"))?;
    Ok(factor)
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
        each: Vec::new(),
    };
    let own = Own::new(&coordinates, dim)?;
    for newcomer in 0..NEWCOMERS {
        let mut stream = RunSeed::new(0, newcomer).stream(Party::World, Purpose::InitialPoints, 0);
        let mut drawn = vec![0.0; m];
        normal::fill(&mut stream, &mut drawn);
        let weights: Vec<f64> = (0..m)
            .map(|i| guide.weights[i] + dot(lower::row(&factor, i), &drawn[..=i]))
            .collect();
        let mut values: Vec<f64> = features
            .chunks_exact(m)
            .map(|phi| dot(phi, &weights))
            .collect();
        own.add(&mut stream, &mut values);
        let [with, without] = [(Some(&prior), WITH), (None, WITHOUT)].map(|(prior, questions)| {
            searched(&coordinates, dim, prior, newcomer, &values, questions).map_err(wrong)
        });
        let (with, without) = (with?, without?);
        sums.each.push(needed(&with, &without));
        for (sums, regrets) in [(&mut sums.with, with), (&mut sums.without, without)] {
            sums.iter_mut()
                .zip(regrets)
                .for_each(|(sum, regret)| *sum += regret / f64::from(NEWCOMERS));
        }
    }
    sums.each.sort_unstable();
    Ok(sums)
}

/// The label as JSON, with what only the numbers say: digest, features, how a search reads the
/// file, what it is worth. The file of a simulation has null for what its noise would promise if it
/// were secret, and the numbers in `if_noise_were_secret`.
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
    if file.label.simulated {
        // Noise that can be predicted promises nothing: what secret noise of its size would cost.
        let would = PROMISES.map(|name| (name.to_owned(), facts[name].take()));
        facts["if_noise_were_secret"] = would.into_iter().collect();
    }
    facts["digest"] = json!(file.digest());
    facts["signed_by"] = json!(file.signer());
    facts["features"] = json!(file.features());
    facts["reading"] = json!(reading(file));
    facts["evaluations_saved"] = json!(worth.saved());
    let Quartiles {
        lower,
        median,
        upper,
    } = worth.quartiles();
    // The last is the largest number that is counted: it stands for that many or more.
    facts["evaluations_saved_quartiles"] =
        json!({"lower": lower, "median": median, "upper": upper, "counted": WITHOUT - WITH});
    facts["simulated_regret"] = json!({"with": worth.with, "without": worth.without});
    Ok(facts)
}

/// What a label promises, which that of a simulation does not.
const PROMISES: [&str; 3] = ["epsilon", "replace_epsilon", "best_guess"];

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
    fn the_middle_half_of_newcomers_is_told() {
        let mut worth = Worth {
            with: vec![3.0, 2.0, 1.0],
            without: vec![2.0; WITHOUT],
            each: (0..24).collect(),
        };
        let Quartiles {
            lower,
            median,
            upper,
        } = worth.quartiles();
        assert_eq!((lower, median, upper), (6, 11, 17));
        // By the mean of regrets nobody comes as near; without newcomers nothing is saved.
        assert_eq!(worth.saved(), WITHOUT - WITH);
        worth.each.clear();
        assert_eq!(worth.quartiles().upper, 0);
        assert_eq!(needed(&[1.0], &[2.0, 1.5, 1.0, 0.5]), 0);
        assert_eq!(needed(&[1.0], &[2.0, 1.5, 1.1, 1.05, 1.0]), 2);
    }

    /// A population that every newcomer shares to the last digit has a range of one number;
    /// newcomers differ in what is their own.
    #[test]
    fn newcomers_differ_by_a_part_of_their_own() {
        let coordinates: Vec<f64> = (0..50).map(|i| f64::from(i) / 49.0).collect();
        let own = Own::new(&coordinates, 1).unwrap();
        assert_eq!(own.kernels.len(), LENGTHSCALES.len());
        assert_eq!(Own::new(&coordinates, 2).unwrap().kernels.len(), 5);
        let mut squares = 0.0;
        for newcomer in 0..400 {
            let mut stream =
                RunSeed::new(0, newcomer).stream(Party::World, Purpose::InitialPoints, 1);
            let mut values = [100.0; 50];
            own.add(&mut stream, &mut values);
            let common = if values[0] > 50.0 { 100.0 } else { 0.0 };
            squares += (values[25] - common).powi(2) / 400.0;
        }
        // .05·1 + .95·(.1 + 1)/2 = .5725; a standard error is .055.
        assert!((squares - 0.5725).abs() < 0.2, "{squares}");
    }

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
