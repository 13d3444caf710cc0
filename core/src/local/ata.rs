//! ATA-GP-UCB: adaptive truncation in the coordinates of Nyström features.
//!
//! **Equation**: u_i the rows of V^{−1/2}Φᵀ (symmetric roots: the truncation depends on the basis);
//! r̂_i = Σ_τ u_{i,τ}y_τ·[|u_{i,τ}y_τ| ≤ b], θ = V^{−1/2}r̂, μ̃ = φ·θ.
//!
//! The paper recomputes all of it in every round, with today's b and u for the whole history. Two
//! things make that cheap: u_{i,τ} depends on τ only through the point played, and for one point
//! the reports that survive a threshold are a prefix of its reports in order of magnitude. So a
//! round costs N·m·log t for the truncation, whatever t, and two symmetric roots, which dominate:
//! about 9|D|³ + 9m³.
//!
//! **Stride**: everything is recomputed in every round while t < 64, then every ⌊t/64⌋ rounds, at
//! most every `stride` rounds. In between the variances are updated exactly for the dictionary
//! there is; the means stay. `stride = 1` is the paper's.
//!
//! **Example**: that of [`super::tgp`], with a [`super::KernelMatrix`] in place of kernel, points
//! and storage.

#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;

use super::config::Config;
use super::dictionary::{Dictionary, DictionaryPosterior, KernelMatrix, resample};
use super::learner::{
    Input, Learner, LearnerError, Output, Rounds, check_count, first_query, maximize,
};
use crate::linalg::{dot, lower};
use crate::parameter::ConfigError;
use crate::random::{Party, Purpose, RunSeed};
use crate::surrogate::FiniteGp;
use crate::surrogate::finite;

/// The reports on one point in order of magnitude, with their running sums.
#[derive(Clone, Debug, Default)]
pub struct Magnitudes {
    reports: Vec<f64>,
    sums: Vec<f64>,
}

impl Magnitudes {
    /// Adds a report, after equal ones.
    pub fn insert(&mut self, y: f64) {
        let at = self.reports.partition_point(|other| other.abs() <= y.abs());
        self.reports.insert(at, y);
        self.sums.truncate(at);
    }

    /// Brings the running sums up to date.
    fn settle(&mut self) {
        let mut sum = self.sums.last().copied().unwrap_or(0.0);
        for y in &self.reports[self.sums.len()..] {
            sum += y;
            self.sums.push(sum);
        }
    }

    /// Σ y over the reports with |u·y| ≤ b, in order of magnitude. **Cost**: O(log n).
    fn kept(&self, u: f64, b: f64) -> f64 {
        match self.reports.partition_point(|y| (u * y).abs() <= b) {
            0 => 0.0,
            kept => self.sums.get(kept - 1).copied().unwrap_or(0.0),
        }
    }
}

/// μ̃ of every candidate, and the truncated correlations r̂ (|D| numbers).
pub fn truncated_mean(
    dictionary: &Dictionary,
    posterior: &DictionaryPosterior,
    reports: &mut [Magnitudes],
    threshold: f64,
) -> (Vec<f64>, Vec<f64>) {
    let size = dictionary.members().len();
    let count = reports.len();
    let mut u = vec![0.0; count * size];
    for (x, u) in u.chunks_exact_mut(size.max(1)).enumerate() {
        dictionary.in_symmetric_basis(posterior.row(x), u);
    }
    let mut r_hat = vec![0.0; size];
    for (u, reports) in u
        .chunks_exact(size.max(1))
        .zip(reports.iter_mut())
        .filter(|(_, r)| !r.reports.is_empty())
    {
        reports.settle();
        for (r, u) in r_hat.iter_mut().zip(u) {
            *r += u * reports.kept(*u, threshold);
        }
    }
    // φ·V^{−1/2}r̂ = (V^{−1/2}φ)·r̂.
    let mean = u
        .chunks_exact(size.max(1))
        .map(|u| dot(u, &r_hat))
        .collect();
    (mean, r_hat)
}

/// The learner ATA-GP-UCB.
///
/// **Source**: Zhou, Tan 2021, Algorithm 3; Chowdhury and Gopalan 2019. Deviation: line 9 prints
/// b_τ, the threshold of the time of a report, where the theorem and the authors' code use the
/// current one.
#[derive(Clone, Debug)]
pub struct AtaGpUcb {
    config: Config,
    seed: RunSeed,
    rounds: Rounds,
    kernel: KernelMatrix,
    plays: Vec<u32>,
    reports: Vec<Magnitudes>,
    dictionary: Dictionary,
    missing: Vec<f64>,
    /// λφᵀV⁻¹φ' for all pairs: the posterior of the features' weights over the candidates.
    weights: FiniteGp<f64, Vec<f64>>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Round of the last estimate.
    estimated: u32,
    estimates: u32,
}

impl AtaGpUcb {
    /// A learner over the candidates of a kernel matrix.
    ///
    /// **Errors**: [`LearnerError::Candidates`]; [`LearnerError::Config`] if moments of another
    /// order than 2 are given.
    pub fn new(config: Config, seed: RunSeed, kernel: KernelMatrix) -> Result<Self, LearnerError> {
        check_count(&config, kernel.count())?;
        let p = config.parameters();
        if let super::config::Rewards::HeavyTailed { moment_order, .. } = p.rewards
            && moment_order != 1.0
        {
            let admissible = "[1, 1] (ATA-GP-UCB takes second moments)";
            return Err(ConfigError {
                field: "moment_order",
                value: moment_order,
                admissible,
            }
            .into());
        }
        let count = kernel.count();
        let rounds = Rounds::new(p.rounds);
        let weights = prior(&[], 0, p.regularization, count)?;
        Ok(AtaGpUcb {
            seed,
            rounds,
            plays: vec![0; count],
            reports: vec![Magnitudes::default(); count],
            dictionary: Dictionary::new(&kernel, Vec::new()),
            missing: (0..count).map(|x| kernel.variance(x)).collect(),
            weights,
            mean: vec![0.0; count],
            variance: (0..count).map(|x| kernel.variance(x)).collect(),
            estimated: 0,
            estimates: 0,
            config,
            kernel,
        })
    }

    /// Whether the report of this round is followed by a new estimate.
    fn is_due(&self) -> bool {
        let round = self.rounds.round();
        let stride = (round / 64).clamp(1, self.config.parameters().stride);
        round - self.estimated >= stride
    }

    /// Lines 5 to 12: dictionary, V, truncation, estimate.
    fn estimate(&mut self) -> Result<(), LearnerError> {
        let round = self.rounds.round();
        let last = self.rounds.candidate();
        let lambda = self.config.parameters().regularization;
        let stream = &mut self.seed.stream(Party::Server, Purpose::Projection, round);
        let members = resample(
            &self.plays,
            self.config.nystrom_inflation(),
            &self.variance,
            last,
            stream,
        );
        if members != self.dictionary.members() {
            self.dictionary = Dictionary::new(&self.kernel, members);
        }
        let posterior = DictionaryPosterior::new(&self.dictionary, &self.plays, lambda);
        let threshold = self.config.ata_threshold(self.dictionary.rank() as u32);
        (self.mean, _) = truncated_mean(&self.dictionary, &posterior, &mut self.reports, threshold);
        self.variance.copy_from_slice(posterior.variance());
        let rank = self.dictionary.rank();
        let count = self.plays.len();
        let rows: Vec<f64> = (0..count).flat_map(|x| posterior.row(x)).copied().collect();
        self.weights = prior(&rows, rank, lambda, count)?;
        for (x, missing) in self.missing.iter_mut().enumerate() {
            *missing = self.variance[x] - self.weights.posterior(x)?.variance;
        }
        (self.estimated, self.estimates) = (round, self.estimates + 1);
        Ok(())
    }

    /// Between estimates: the variances of one more play, exactly.
    fn update_variance(&mut self, candidate: usize) -> Result<(), LearnerError> {
        self.weights.observe(candidate, 0.0)?;
        for (x, variance) in self.variance.iter_mut().enumerate() {
            let left = self.missing[x] + lower::row(self.weights.covariance(), x)[x];
            *variance = if left > 0.0 { left } else { 0.0 };
        }
        Ok(())
    }

    /// σ̃² of every candidate.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// The dictionary of the last estimate.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// How many times everything was estimated again.
    pub fn estimates(&self) -> u32 {
        self.estimates
    }
}

/// λ·A·Aᵀ as a posterior that further plays reduce; A has `rank` columns.
fn prior(
    rows: &[f64],
    rank: usize,
    lambda: f64,
    count: usize,
) -> Result<FiniteGp<f64, Vec<f64>>, LearnerError> {
    let storage = vec![0.0; finite::storage_len(count)];
    let gp = FiniteGp::with_prior(lambda, count, storage, |covariance| {
        for i in 0..count.min(rows.len() / rank.max(1)) {
            let a = &rows[i * rank..][..rank];
            for (b, out) in rows.chunks_exact(rank).zip(lower::row_mut(covariance, i)) {
                *out = lambda * dot(a, b);
            }
        }
    })?;
    Ok(gp)
}

impl Learner<f64> for AtaGpUcb {
    fn handle(&mut self, input: Input<f64>) -> Result<Output, LearnerError> {
        let Some(y) = self.rounds.accept(input)? else {
            let first = first_query(&self.config, self.seed);
            return Ok(self.rounds.next(first));
        };
        let candidate = self.rounds.candidate() as usize;
        self.plays[candidate] += 1;
        self.reports[candidate].insert(y);
        if self.is_due() {
            self.estimate()?;
        } else {
            self.update_variance(candidate)?;
        }
        if self.rounds.is_last() {
            return Ok(self.rounds.next(0));
        }
        let width = self.config.ata_width(self.dictionary.rank() as u32);
        let moments = self
            .mean
            .iter()
            .zip(&self.variance)
            .map(|(mean, variance)| (*mean, *variance));
        Ok(self.rounds.next(maximize(moments, width)))
    }

    fn mean(&self) -> &[f64] {
        &self.mean
    }
}
