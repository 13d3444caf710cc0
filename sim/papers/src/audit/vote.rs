//! The one release of a vote: a real server with the ballot of a scenario, and one agent whose vote
//! is present or absent.
//!
//! There are three agents and two candidates. If present, agent 1 votes for the second candidate, a
//! billion times over, which the clip reduces to one vote. If absent, it sends something that is
//! not a number. The others send zeros.

use sordino_core::federated::{
    Config, Counters, Server, ServerNumbers, ServerState, l2_sensitivity,
};
use sordino_core::privacy::accountant::analytic;
use sordino_core::privacy::{Event, NeighboringRelation, NoiseMultiplier, NoiseSource, SourceKind};
use sordino_engine::federated::DriverError;
use sordino_engine::federated::vote::context::ballot;

use super::claim::{Claim, GaussianAudit};
use super::defect::Defect;
use super::error::{AuditError, RunError};
use super::federation;
use super::ledger::AuditLedger;
use super::outcome::{EPSILONS, Report};
use super::play::{Play, Size};
use super::release::{Shard, Step};

/// The audited agent.
const AUDITED: u32 = 1;
/// The agent that a control lets vote as the audited one does.
const TWIN: u32 = 2;
const CANDIDATES: u32 = 2;
/// The candidate that it votes for.
const CHOSEN: usize = 1;
const GRID_EXPONENT: u32 = 16;

/// A claim about the release of a vote, and how hard the audit looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoteAudit {
    /// Noise multiplier claimed.
    pub noise_multiplier: f64,
    /// Runs for each of the two neighbours.
    pub runs: u32,
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
    /// Seed of the scenario.
    pub seed: u64,
}

impl VoteAudit {
    /// 2-GDP, where 5 % less noise moves δ most: 120,000 runs see it. The default scenario's vote
    /// has a multiplier of .491.
    pub const fn standard(seed: u64) -> Self {
        VoteAudit {
            noise_multiplier: 0.5,
            runs: 120_000,
            error: 1e-6,
            seed,
        }
    }

    /// The event that the release is claimed to cost: a sample in which everybody is.
    pub const fn event(&self) -> Event {
        Event::PoissonSampledGaussian {
            sampling_probability: 1.0,
            noise_multiplier: self.noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }

    /// The claimed cost.
    pub fn claim(&self) -> Claim {
        Claim(EPSILONS.map(|epsilon| analytic::delta(self.noise_multiplier, epsilon)))
    }

    /// Runs the audit with noise of this kind on `threads` cores.
    ///
    /// **Errors**: [`AuditError`].
    pub fn run(
        &self,
        defect: Defect,
        kind: SourceKind,
        threads: usize,
    ) -> Result<Report, AuditError> {
        let size = Size {
            runs: self.runs,
            error: self.error,
            seed: self.seed,
            threads,
        };
        size.judged(&self.claim(), kind, &|| Ballots::new(self, defect))
    }
}

/// A vote with its storage, to be held again and again.
struct Ballots {
    ballot: Config,
    claimed: f64,
    charged: Option<Event>,
    twice: bool,
    numbers: ServerNumbers<f64>,
    shard: Shard,
}

impl Ballots {
    /// The vote of a claim, or the defective one that is held instead.
    fn new(audit: &VoteAudit, defect: Defect) -> Result<Self, AuditError> {
        let factor = match defect {
            Defect::None | Defect::CountedTwice => 1.0,
            Defect::NoiseFactor(factor) => factor,
            other => return Err(AuditError::NoSuchControl(other)),
        };
        let noise =
            NoiseMultiplier::new(factor * audit.noise_multiplier).map_err(AuditError::Config)?;
        let agents = federation::config(&GaussianAudit::standard(audit.seed), Defect::None)?;
        let ballot =
            ballot(&agents, CANDIDATES, noise, GRID_EXPONENT).map_err(|error| match error {
                DriverError::Config(error) => AuditError::Config(error),
                _ => AuditError::Run {
                    run: 0,
                    round: 0,
                    error: RunError::Answer {
                        expected: "a ballot",
                    },
                },
            })?;
        let others = ballot.parameters().agents as usize - 1;
        Ok(Ballots {
            claimed: audit.noise_multiplier,
            charged: (factor == 1.0).then(|| audit.event()),
            twice: defect == Defect::CountedTwice,
            numbers: ServerNumbers::new(&ballot),
            shard: (
                vec![0; ballot.broadcast_len()],
                vec![0; others],
                Counters::default(),
            ),
            ballot,
        })
    }
}

/// What every agent sends: its vote, zeros, or no numbers.
fn votes(present: bool, twice: bool) -> impl Fn(u32) -> Option<[f64; CANDIDATES as usize]> {
    let mut vote = [0.0; CANDIDATES as usize];
    vote[CHOSEN] = 1e9;
    move |agent| match agent {
        AUDITED if present => Some(vote),
        AUDITED => Some([f64::NAN; CANDIDATES as usize]),
        TWIN if present && twice => Some(vote),
        _ => Some([0.0; CANDIDATES as usize]),
    }
}

impl Play for Ballots {
    fn play<S: NoiseSource>(
        &mut self,
        run: u32,
        present: bool,
        source: &mut S,
    ) -> Result<f64, AuditError> {
        let sensitivity = l2_sensitivity(&self.ballot, 0).unwrap_or(f64::NAN);
        let mut state = ServerState::new();
        let mut ledger = AuditLedger::new(self.charged);
        let attached = Server::attach(&self.ballot, &mut state, self.numbers.lend());
        let mut server = attached.map_err(AuditError::in_run(run, 0))?;
        let mut step = Step {
            server: &mut server,
            index: 0,
            source,
        };
        let votes = votes(present, self.twice);
        step.open()
            .and_then(|()| step.collect(&mut self.shard, votes))
            .map_err(AuditError::in_run(run, 0))?;
        // The share of one vote is the sensitivity: 1 in these units.
        let x = step
            .release(&mut ledger, |shares| shares[CHOSEN] / sensitivity)
            .map_err(AuditError::in_run(run, 0))?;
        match ledger.charges() {
            1 => Ok((2.0 * x - 1.0) / (2.0 * self.claimed * self.claimed)),
            _ => Err(AuditError::in_run(run, 0)(RunError::Answer {
                expected: "one charge",
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(defect: Defect, runs: u32, kind: SourceKind) -> Report {
        VoteAudit {
            runs,
            ..VoteAudit::standard(1)
        }
        .run(defect, kind, 2)
        .unwrap()
    }

    #[test]
    fn the_shipped_vote_passes_and_the_broken_are_rejected() {
        let shipped = run(Defect::None, 120_000, SourceKind::Simulation);
        assert!(!shipped.rejected(), "{shipped:?}");
        assert!(!run(Defect::None, 5_000, SourceKind::Secret).rejected());
        for (defect, runs) in [
            (Defect::NoiseFactor(0.95), 120_000),
            (Defect::CountedTwice, 5_000),
        ] {
            let report = run(defect, runs, SourceKind::Simulation);
            println!("{defect:?}: {:+.4}", report.margin());
            assert!(report.rejected(), "{defect:?}: {report:?}");
        }
        let audit = VoteAudit {
            runs: 1_000,
            ..VoteAudit::standard(1)
        };
        let refused = audit
            .run(Defect::KnownCoins, SourceKind::Simulation, 1)
            .unwrap_err();
        assert!(
            matches!(refused, AuditError::NoSuchControl(Defect::KnownCoins)),
            "{refused}"
        );
    }
}
