//! An audit that can fail: does the *shipped* release path lose more than is claimed?
//!
//! | module | what it holds |
//! |---|---|
//! | `federation` | the sampled Gaussian: a server, collectors, partials, receipts, and one agent that is present or absent |
//! | `prior` | the releases of a federated prior: a server, collectors, and one joint vector that is present or absent |
//! | `publication` | the publication of a prior file, from studies to the file |
//! | `vote` | the one release of a vote |
//! | `shares` | one release of two servers, seen by the leader or by the helper |
//! | `unsampled` | what audits of releases that everybody is in have in common |
//! | `local` | one local report: a reporter with one reward or the other |
//! | `ledger` | the ledger of an audit, which pays only for what is claimed |
//! | `workers` | many runs, none of which may be lost |
//! | `claim`, `defect` | what is claimed; what is broken on purpose |
//! | `judge`, `outcome` | scores in, lower bounds on δ(ε) out, a report |
//! | `error` | why an audit has no outcome |
//!
//! **Method** (hockey-stick audit). Worst neighbours: the agent of largest weight sends its whole
//! clipping norm in one coordinate, or nothing; all others send zeros, so that the rest of the
//! release is the shipped noise. Each run is `rounds` broadcasts of a
//! [`Server`](sordino_core::federated::Server), every other one with a collector and a merge; its
//! score is the log-likelihood ratio of the *claimed* mechanism, summed: the best statistic there
//! is. Half the runs choose a threshold for each ε, the other half measure P₁(score > t) −
//! e^ε·P₀(score > t) with Clopper–Pearson bounds, in both directions. The mechanism is rejected if
//! that lower bound exceeds the claimed δ(ε) at some ε of [`EPSILONS`].
//!
//! **What it says**: a rejection is a proof, up to the stated error, that the code leaks more than
//! claimed. Passing proves nothing; it only means no defect of the stated size. Small ε give the
//! power.
//!
//! **It fails closed**: a run that is refused, panics, releases no number or charges something
//! other than claimed is an [`AuditError`]. If it were left out or counted as zero, it would look
//! like a mechanism that leaks nothing.
//!
//! **Noise**: from named streams, which a seed repeats, or secret from the system, as a deployment
//! draws it. The error probability holds for both; with secret noise every audit measures other
//! values.
//!
//! **Negative controls** ([`Defect`]) break the same path on purpose; an audit that does not reject
//! them has no power.

mod claim;
mod defect;
mod error;
mod federation;
mod judge;
mod ledger;
mod local;
mod outcome;
mod prior;
mod publication;
mod release;
mod shares;
mod unsampled;
mod vote;
mod workers;

use sordino_core::privacy::accountant::pld::{self, Options};
use sordino_core::privacy::{Simulated, SourceKind};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::entropy;

use error::check_error;
use federation::Federation;
use ledger::Foreseen;

pub use claim::{Claim, GaussianAudit};
pub use defect::Defect;
pub use error::{AuditError, RunError};
pub use local::LocalAudit;
pub use outcome::{EPSILONS, Line, Report};
pub use prior::PriorAudit;
pub use publication::PublicationAudit;
pub use shares::{Auditor, SharesAudit};
pub use vote::VoteAudit;
pub use workers::RUNS_MIN;

impl GaussianAudit {
    /// The claimed cost of all rounds, by the tight accountant. Takes seconds; holds for any number
    /// of runs and seed.
    ///
    /// **Errors**: [`AuditError::Claim`].
    pub fn claim(&self) -> Result<Claim, AuditError> {
        let options = Options {
            tolerance: 1e-4,
            ..Options::default()
        };
        let mut deltas = [1.0; EPSILONS.len()];
        for (delta, epsilon) in deltas.iter_mut().zip(EPSILONS) {
            *delta = pld::delta(&[(self.event(), self.rounds)], epsilon, &options)
                .map_err(AuditError::Claim)?;
        }
        Ok(Claim(deltas))
    }

    /// Runs the audit against a claim, with coins and noise of this kind, on `threads` cores.
    ///
    /// **Errors**: [`AuditError`].
    pub fn run(
        &self,
        claim: &Claim,
        defect: Defect,
        kind: SourceKind,
        threads: usize,
    ) -> Result<Report, AuditError> {
        match kind {
            SourceKind::Simulation => self.run_with(claim, defect, threads, &|present, run| {
                let seed = RunSeed::new(
                    self.seed.wrapping_mul(2).wrapping_add(u64::from(present)),
                    run,
                );
                Ok(Simulated::new(seed.stream(
                    Party::Server,
                    Purpose::Release,
                    0,
                )))
            }),
            SourceKind::Secret => self.run_with(claim, defect, threads, &|_, _| {
                entropy::system().map_err(AuditError::Entropy)
            }),
        }
    }

    /// Runs the audit with the source that `source` makes for each neighbour and run.
    fn run_with<S: Foreseen>(
        &self,
        claim: &Claim,
        defect: Defect,
        threads: usize,
        source: &(impl Fn(bool, u32) -> Result<S, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        check_error(self.error)?;
        let [present, absent] = workers::gather_both(self.runs, threads, &|present, part| {
            let mut federation = Federation::new(self, defect)?;
            part.map(|run| federation.play(run, present, &mut source(present, run)?))
                .collect()
        })?;
        Ok(judge::judge(&present, &absent, &claim.0, self.error))
    }
}

#[cfg(test)]
mod tests;
