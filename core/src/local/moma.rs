//! MoMA-GP-UCB: the median of means over epochs.
//!
//! **Equation**: an epoch plays one point k times. With one row of Φ for each epoch, θ_j = V⁻¹Σ_i
//! y_{i,j}φ(x_i) for j = 1..k; r_j the median over s ≠ j of ‖θ_j − θ_s‖_V; the θ of smallest r
//! (ties: lowest j) is the estimate. ‖θ_j − θ_s‖_V = ‖V^{−1/2}(b_j − b_s)‖ with b_j = Σ_i
//! y_{i,j}φ(x_i), and μ̃ = (V^{−1/2}φ)·(V^{−1/2}b).
//!
//! So only one report in k enters the estimate; the other k − 1 choose it. That is what the median
//! pays for its robustness.
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
use crate::linalg::{axpy, dot, squared_distance};
use crate::math::Scalar;
use crate::random::{Party, Purpose, RunSeed};

/// What [`median_of_means`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct MedianOfMeans {
    /// Index j* of the chosen estimate, 0-based.
    pub chosen: usize,
    /// Medians r_j of the distances to the other estimates.
    pub medians: Vec<f64>,
    /// μ̃ of every candidate, of the chosen estimate.
    pub mean: Vec<f64>,
}

/// Chooses among the k estimates of `sums`: for every candidate k numbers, Σ y_{i,j} over the
/// epochs i that played it.
///
/// A median of an even number of distances is the mean of the middle two; of none it is 0.
///
/// **Cost**: N·m·k + m²k + mk²/2 flops, k sorts.
pub fn median_of_means(
    dictionary: &Dictionary,
    posterior: &DictionaryPosterior,
    plays: &[u32],
    sums: &[f64],
    k: usize,
) -> MedianOfMeans {
    let rank = dictionary.rank();
    let mut correlations = vec![0.0; k * rank];
    let mut whitened = vec![0.0; k * rank];
    for (x, sums) in sums
        .chunks_exact(k.max(1))
        .enumerate()
        .filter(|(x, _)| plays[*x] > 0)
    {
        for (b, y) in correlations.chunks_exact_mut(rank.max(1)).zip(sums) {
            axpy(*y, dictionary.row(x), b);
        }
    }
    for (b, out) in correlations
        .chunks_exact(rank.max(1))
        .zip(whitened.chunks_exact_mut(rank.max(1)))
    {
        posterior.whiten(b, out);
    }
    let estimate = |j: usize| &whitened[j * rank..][..rank];
    let mut distances = vec![0.0; k * k];
    for j in 0..k {
        for s in 0..j {
            let distance = Scalar::sqrt(squared_distance(estimate(j), estimate(s)));
            (distances[j * k + s], distances[s * k + j]) = (distance, distance);
        }
    }
    let mut others = Vec::with_capacity(k);
    let medians: Vec<f64> = (0..k)
        .map(|j| {
            others.clear();
            others.extend((0..k).filter(|s| *s != j).map(|s| distances[j * k + s]));
            median(&mut others)
        })
        .collect();
    let chosen = (0..k).fold(
        0,
        |best, j| if medians[j] < medians[best] { j } else { best },
    );
    let mean = (0..plays.len())
        .map(|x| dot(posterior.row(x), estimate(chosen)))
        .collect();
    MedianOfMeans {
        chosen,
        medians,
        mean,
    }
}

fn median(list: &mut [f64]) -> f64 {
    list.sort_unstable_by(f64::total_cmp);
    let half = list.len() / 2;
    match list.len() {
        0 => 0.0,
        n if n % 2 == 1 => list[half],
        _ => 0.5 * (list[half - 1] + list[half]),
    }
}

/// The learner MoMA-GP-UCB.
///
/// **Source**: Zhou, Tan 2021, Algorithm 4. Deviations: k is a parameter, because the theorem's
/// leaves 29 epochs of T = 10⁴; left-over rounds, which the paper does not mention, replay the
/// point that would be played next.
#[derive(Clone, Debug)]
pub struct MomaGpUcb {
    config: Config,
    seed: RunSeed,
    rounds: Rounds,
    kernel: KernelMatrix,
    k: u32,
    /// Reports of the epoch that is running.
    column: u32,
    epochs: u32,
    /// Epochs that played each candidate.
    plays: Vec<u32>,
    sums: Vec<f64>,
    dictionary: Dictionary,
    mean: Vec<f64>,
    variance: Vec<f64>,
    chosen: usize,
}

impl MomaGpUcb {
    /// A learner over the candidates of a kernel matrix.
    ///
    /// **Errors**: [`LearnerError::Candidates`]; [`LearnerError::EpochTooLong`] if T < k.
    pub fn new(config: Config, seed: RunSeed, kernel: KernelMatrix) -> Result<Self, LearnerError> {
        check_count(&config, kernel.count())?;
        let k = config.epoch_len();
        let rounds = config.parameters().rounds;
        if rounds < k {
            return Err(LearnerError::EpochTooLong {
                epoch_len: k,
                rounds,
            });
        }
        let count = kernel.count();
        Ok(MomaGpUcb {
            seed,
            rounds: Rounds::new(rounds),
            k,
            column: 0,
            epochs: 0,
            plays: vec![0; count],
            sums: vec![0.0; count * k as usize],
            dictionary: Dictionary::new(&kernel, Vec::new()),
            mean: vec![0.0; count],
            variance: (0..count).map(|x| kernel.variance(x)).collect(),
            chosen: 0,
            config,
            kernel,
        })
    }

    /// The end of an epoch: dictionary, V, k estimates, the chosen one.
    fn estimate(&mut self, candidate: usize) {
        self.epochs += 1;
        self.plays[candidate] += 1;
        let stream = &mut self
            .seed
            .stream(Party::Server, Purpose::Projection, self.epochs);
        let inflation = self.config.nystrom_inflation();
        let members = resample(
            &self.plays,
            inflation,
            &self.variance,
            candidate as u32,
            stream,
        );
        if members != self.dictionary.members() {
            self.dictionary = Dictionary::new(&self.kernel, members);
        }
        let lambda = self.config.parameters().regularization;
        let posterior = DictionaryPosterior::new(&self.dictionary, &self.plays, lambda);
        let found = median_of_means(
            &self.dictionary,
            &posterior,
            &self.plays,
            &self.sums,
            self.k as usize,
        );
        self.variance.copy_from_slice(posterior.variance());
        (self.mean, self.chosen) = (found.mean, found.chosen);
    }

    /// The next epoch's point.
    fn propose(&self) -> u32 {
        let width = self
            .config
            .moma_width(self.dictionary.rank() as u32, self.epochs);
        let moments = self
            .mean
            .iter()
            .zip(&self.variance)
            .map(|(mean, variance)| (*mean, *variance));
        maximize(moments, width)
    }

    /// σ̃² of every candidate.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// Epochs that are complete.
    pub fn epochs(&self) -> u32 {
        self.epochs
    }

    /// Which of the k estimates was chosen last, 0-based.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// The dictionary of the last epoch.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }
}

impl Learner<f64> for MomaGpUcb {
    fn handle(&mut self, input: Input<f64>) -> Result<Output, LearnerError> {
        let Some(y) = self.rounds.accept(input)? else {
            let first = first_query(&self.config, self.seed);
            return Ok(self.rounds.next(first));
        };
        let candidate = self.rounds.candidate();
        let total = self.config.parameters().rounds / self.k;
        if self.epochs == total {
            // Left over: nothing is learnt from less than an epoch.
            return Ok(self.rounds.next(candidate));
        }
        self.sums[candidate as usize * self.k as usize + self.column as usize] += y;
        self.column += 1;
        if self.column < self.k {
            return Ok(self.rounds.next(candidate));
        }
        self.column = 0;
        self.estimate(candidate as usize);
        let next = self.propose();
        Ok(self.rounds.next(next))
    }

    fn mean(&self) -> &[f64] {
        &self.mean
    }
}
