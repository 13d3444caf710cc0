//! An audit that can fail: does the *shipped* release path lose more than is claimed?
//!
//! | module | what it holds |
//! |---|---|
//! | `federation` | the sampled Gaussian: a server, collectors, partials, receipts, and one agent that is there or is not |
//! | `local` | one local report: a reporter with one reward or the other |
//! | `ledger` | the ledger of an audit, which pays for what is claimed and for nothing else |
//! | `workers` | many runs, none of which may be lost |
//! | `judge` | scores in, lower bounds on δ(ε) out |
//! | `error` | why an audit has no outcome |
//!
//! **Method** (hockey-stick audit). Worst neighbours: the agent of largest weight sends its whole clipping norm in one
//! coordinate, against nothing; everybody else sends zeros, so that the release is the shipped noise. Each run is
//! `rounds` broadcasts of a [`Server`](sordino_core::federated::Server), every other one with a collector and a merge;
//! its score is the log-likelihood ratio of the *claimed* mechanism, summed: the best statistic there is. Half the runs
//! choose a threshold for each ε, the other half measure P₁(score > t) − e^ε·P₀(score > t) with Clopper–Pearson bounds,
//! in both directions. The mechanism is rejected if that lower bound exceeds the claimed δ(ε) at some ε of [`EPSILONS`].
//!
//! **What it says**: a rejection is a proof, up to the stated error, that the code leaks more than claimed. Passing
//! proves nothing; it only means no defect of the stated size. Small ε give the power.
//!
//! **It fails closed**: whatever refuses, panics, releases no number or charges something else than is claimed is an
//! [`AuditError`]. A run that is left out, or counts as zero, would look like a mechanism that leaks nothing.
//!
//! **Noise**: from named streams, which a seed repeats, or secret from the system, as a deployment draws it. The error
//! probability holds for both; with secret noise every audit measures something else.
//!
//! **Negative controls** ([`Defect`]) break the same path on purpose; an audit that does not reject them has no power.

mod error;
mod federation;
mod judge;
mod ledger;
mod local;
mod workers;

use sordino_core::privacy::accountant::pld::{self, Options};
use sordino_core::privacy::{Event, NeighboringRelation, Simulated, SourceKind};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::entropy;

use federation::Federation;
use ledger::Foreseen;

pub use error::{AuditError, RunError};
pub use local::LocalAudit;
pub use workers::RUNS_MIN;

/// The ε at which the claim is tested.
pub const EPSILONS: [f64; 8] = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// Nothing: the shipped path.
    None,
    /// The noise is this fraction of what it should be.
    NoiseFactor(f64),
    /// Coins fall with this probability.
    SampledWith(f64),
    /// More or fewer rounds are run than are claimed.
    RoundsRun(u32),
    /// The agent's contribution is counted a second time, as that of another agent of the sample: twice the sensitivity.
    CountedTwice,
    /// The observer knows the seed of the coins, though not that of the noise.
    KnownCoins,
    /// The host looks at the noise and releases only when it points the agent's way.
    NoiseOfOneSign,
    /// The reward spans this many times the sensitivity that is claimed (a local report).
    SensitivityFactor(f64),
    /// The reward is not clamped, this many times the bound (a local report).
    NoClamp(f64),
}

impl Defect {
    /// Whether it knows coins or noise before they are drawn.
    const fn foresees(self) -> bool {
        matches!(self, Defect::CountedTwice | Defect::KnownCoins | Defect::NoiseOfOneSign)
    }
}

/// A claim about the sampled Gaussian, and how hard to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianAudit {
    /// Sampling probability claimed.
    pub sampling_probability: f64,
    /// Noise multiplier claimed.
    pub noise_multiplier: f64,
    /// Releases claimed.
    pub rounds: u32,
    /// Runs for each of the two neighbours.
    pub runs: u32,
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
    /// Scenario seed.
    pub seed: u64,
}

/// δ claimed at each of [`EPSILONS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim([f64; EPSILONS.len()]);

/// One ε of the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// ε.
    pub epsilon: f64,
    /// δ claimed there.
    pub delta_claimed: f64,
    /// Lower bound measured, the larger of both directions.
    pub delta_measured: f64,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// One line for each ε.
    pub lines: Vec<Line>,
    /// Runs for each neighbour.
    pub runs: u32,
    /// Error of the whole.
    pub error: f64,
}

impl Report {
    /// More leaked than claimed.
    pub fn rejected(&self) -> bool {
        !(self.margin() <= 0.0)
    }

    /// Largest measured − claimed; NaN if one of them is no number.
    pub fn margin(&self) -> f64 {
        let worse = |worst: f64, margin: f64| if worst >= margin || worst.is_nan() { worst } else { margin };
        self.lines.iter().map(|line| line.delta_measured - line.delta_claimed).fold(f64::NEG_INFINITY, worse)
    }
}

impl GaussianAudit {
    /// The size asked for in the notes: 200,000 runs of 40 rounds at q = 0.25, z = 1.
    pub const fn standard(seed: u64) -> Self {
        GaussianAudit {
            sampling_probability: 0.25,
            noise_multiplier: 1.0,
            rounds: 40,
            runs: 200_000,
            error: 1e-6,
            seed,
        }
    }

    /// What one round is claimed to cost.
    pub const fn event(&self) -> Event {
        Event::PoissonSampledGaussian {
            sampling_probability: self.sampling_probability,
            noise_multiplier: self.noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }

    /// What all rounds are claimed to cost, by the tight accountant. It takes seconds and holds for any runs and seed.
    ///
    /// **Errors**: [`AuditError::Claim`].
    pub fn claim(&self) -> Result<Claim, AuditError> {
        let options = Options { tolerance: 1e-4, ..Options::default() };
        let mut deltas = [1.0; EPSILONS.len()];
        for (delta, epsilon) in deltas.iter_mut().zip(EPSILONS) {
            *delta = pld::delta(&[(self.event(), self.rounds)], epsilon, &options).map_err(AuditError::Claim)?;
        }
        Ok(Claim(deltas))
    }

    /// Runs the audit against a claim, with coins and noise of this kind; `threads` cores.
    ///
    /// **Errors**: [`AuditError`].
    pub fn run(&self, claim: &Claim, defect: Defect, kind: SourceKind, threads: usize) -> Result<Report, AuditError> {
        match kind {
            SourceKind::Simulation => self.run_with(claim, defect, threads, &|present, run| {
                let seed = RunSeed::new(self.seed.wrapping_mul(2).wrapping_add(u64::from(present)), run);
                Ok(Simulated::new(seed.stream(Party::Server, Purpose::Release, 0)))
            }),
            SourceKind::Secret => {
                self.run_with(claim, defect, threads, &|_, _| entropy::system().map_err(AuditError::Entropy))
            }
        }
    }

    /// The audit with the source that `source` makes for each neighbour and run.
    fn run_with<S: Foreseen>(
        &self,
        claim: &Claim,
        defect: Defect,
        threads: usize,
        source: &(impl Fn(bool, u32) -> Result<S, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        check_error(self.error)?;
        let scores = |present: bool| {
            workers::gather(self.runs, threads, &|part| {
                let mut federation = Federation::new(self, defect)?;
                part.map(|run| federation.play(run, present, &mut source(present, run)?)).collect()
            })
        };
        Ok(judge::judge(&scores(true)?, &scores(false)?, &claim.0, self.error))
    }
}

/// Without this no bound would exceed anything.
fn check_error(error: f64) -> Result<(), AuditError> {
    if error > 0.0 && error < 1.0 { Ok(()) } else { Err(AuditError::ErrorProbability(error)) }
}

#[cfg(test)]
mod tests;
