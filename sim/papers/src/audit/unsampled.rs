//! Audits of Gaussians that everybody is in: nothing but noise is drawn, so any source of noise
//! will do.

use sordino_core::privacy::{NoiseSource, Simulated, SourceKind};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::entropy;

use super::claim::Claim;
use super::error::{AuditError, check_error};
use super::judge::judge;
use super::outcome::Report;
use super::workers::gather_both;

/// A federation with its storage, to be played again and again.
pub(super) trait Play {
    /// Plays all releases of one run; returns the summed log-likelihood ratio of the claimed
    /// mechanism.
    fn play<S: NoiseSource>(
        &mut self,
        run: u32,
        present: bool,
        source: &mut S,
    ) -> Result<f64, AuditError>;
}

/// How hard an audit looks, and with which noise.
pub(super) struct Size {
    /// Runs for each of the two neighbours.
    pub(super) runs: u32,
    /// Probability that a correct mechanism is rejected.
    pub(super) error: f64,
    /// Seed of simulated noise.
    pub(super) seed: u64,
    pub(super) kind: SourceKind,
    pub(super) threads: usize,
}

impl Size {
    /// Plays what `make` makes as often as asked for and holds the scores against the claim.
    pub(super) fn judged<P: Play>(
        &self,
        claim: &Claim,
        make: &(impl Fn() -> Result<P, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        match self.kind {
            SourceKind::Simulation => self.judged_with(claim, make, &|present, run| {
                let seed = RunSeed::new(
                    self.seed.wrapping_mul(2).wrapping_add(u64::from(present)),
                    run,
                );
                Ok(Simulated::new(seed.stream(
                    Party::Server,
                    Purpose::Release,
                    1,
                )))
            }),
            SourceKind::Secret => self.judged_with(claim, make, &|_, _| {
                entropy::system().map_err(AuditError::Entropy)
            }),
        }
    }

    fn judged_with<P: Play, S: NoiseSource>(
        &self,
        claim: &Claim,
        make: &(impl Fn() -> Result<P, AuditError> + Sync),
        source: &(impl Fn(bool, u32) -> Result<S, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        check_error(self.error)?;
        let [present, absent] = gather_both(self.runs, self.threads, &|present, part| {
            let mut federation = make()?;
            part.map(|run| federation.play(run, present, &mut source(present, run)?))
                .collect()
        })?;
        Ok(judge(&present, &absent, &claim.0, self.error))
    }
}
