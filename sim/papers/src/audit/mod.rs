//! An audit that can fail: does the *shipped* release path lose more than is claimed?
//!
//! | module | what it holds |
//! |---|---|
//! | `federation` | the sampled Gaussian: a server, collectors, partials, receipts, and one agent that is present or absent |
//! | `prior` | the releases of a federated prior: a server, collectors, and one joint vector that is present or absent |
//! | `publication` | the publication of a prior file, from studies to the file |
//! | `vote` | the one release of a vote |
//! | `shares` | one release of two servers, seen by the leader or by the helper |
//! | `local` | one local report: a reporter with one reward or the other |
//! | `release` | one release of an audited federation, the same steps for every method |
//! | `play` | what all audits have in common: many runs with seeded or secret noise, judged |
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
mod play;
mod prior;
mod publication;
mod release;
mod shares;
mod vote;
mod workers;

use sordino_core::privacy::SourceKind;
use sordino_core::privacy::accountant::pld::{self, Options};

use federation::Federation;
use play::Size;

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
        let size = self.size(threads);
        size.judged(claim, kind, &|| Federation::new(self, defect))
    }

    /// How hard the audit looks, on `threads` cores.
    fn size(&self, threads: usize) -> Size {
        Size {
            runs: self.runs,
            error: self.error,
            seed: self.seed,
            threads,
        }
    }
}

#[cfg(test)]
mod tests;
