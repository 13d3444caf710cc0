//! What all audits have in common: a release that is played again and again for both neighbours,
//! with noise of a seed or of the system, and the scores that are held against a claim.

use sordino_core::privacy::{Simulated, SourceKind};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::entropy;

use super::claim::Claim;
use super::error::{AuditError, check_error};
use super::judge::judge;
use super::ledger::Foreseen;
use super::outcome::Report;
use super::workers::gather_both;

/// What is audited, with its storage, to be played again and again.
pub(super) trait Play {
    /// Party whose stream simulated noise comes from.
    const PARTY: Party = Party::Server;
    /// Round of that stream.
    const ROUND: u32 = 1;

    /// Plays all releases of one run; returns the summed log-likelihood ratio of the claimed
    /// mechanism.
    fn play<S: Foreseen>(
        &mut self,
        run: u32,
        present: bool,
        source: &mut S,
    ) -> Result<f64, AuditError>;
}

/// How hard an audit looks.
pub(super) struct Size {
    /// Runs for each of the two neighbours.
    pub(super) runs: u32,
    /// Probability that a correct mechanism is rejected.
    pub(super) error: f64,
    /// Seed of simulated noise.
    pub(super) seed: u64,
    /// Number of threads.
    pub(super) threads: usize,
}

impl Size {
    /// Plays what `make` makes as often as asked for, with noise of this kind, and holds the
    /// scores against the claim.
    pub(super) fn judged<P: Play>(
        &self,
        claim: &Claim,
        kind: SourceKind,
        make: &(impl Fn() -> Result<P, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        match kind {
            SourceKind::Simulation => self.judged_with(claim, make, &|present, run| {
                let seed = RunSeed::new(
                    self.seed.wrapping_mul(2).wrapping_add(u64::from(present)),
                    run,
                );
                Ok(Simulated::new(seed.stream(
                    P::PARTY,
                    Purpose::Release,
                    P::ROUND,
                )))
            }),
            SourceKind::Secret => self.judged_with(claim, make, &|_, _| {
                entropy::system().map_err(AuditError::Entropy)
            }),
        }
    }

    /// The same with the source that `source` makes for each neighbour and run.
    pub(super) fn judged_with<P: Play, S: Foreseen>(
        &self,
        claim: &Claim,
        make: &(impl Fn() -> Result<P, AuditError> + Sync),
        source: &(impl Fn(bool, u32) -> Result<S, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        check_error(self.error)?;
        let [present, absent] = gather_both(self.runs, self.threads, &|present, part| {
            let mut played = make()?;
            part.map(|run| played.play(run, present, &mut source(present, run)?))
                .collect()
        })?;
        Ok(judge(&present, &absent, &claim.0, self.error))
    }
}
