//! One local report: a reporter whose reward is one bound, against a reporter whose reward is the
//! other. The former is the neighbour with the audited agent present.

use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::accountant::pure;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Epsilon, Event, Ledger, NeighboringRelation, NoiseSource, SourceKind};
use sordino_core::random::Party;

use super::claim::Claim;
use super::defect::Defect;
use super::error::{AuditError, RunError};
use super::ledger::AuditLedger;
use super::outcome::{EPSILONS, Report};
use super::play::{Play, Size};

/// A claim about one clamped report, and how hard the audit looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalAudit {
    /// Pure ε claimed.
    pub epsilon: f64,
    /// Reports for each of the two neighbours.
    pub runs: u32,
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
    /// Seed of the scenario.
    pub seed: u64,
}

impl LocalAudit {
    /// The claimed cost of the report.
    ///
    /// **Errors**: [`AuditError::Epsilon`].
    pub(super) fn claim(&self) -> Result<Claim, AuditError> {
        let claimed = Epsilon::new(self.epsilon).map_err(AuditError::Epsilon)?;
        // The hockey-stick of randomised response bounds every pure-ε mechanism.
        let deltas = EPSILONS.map(|epsilon| pure::optimal_delta(claimed.value(), 1, epsilon));
        Ok(Claim(deltas))
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
        let size = self.size(threads);
        size.judged(&self.claim()?, kind, &|| Reports::new(self, defect))
    }

    /// How hard the audit looks, on `threads` cores.
    pub(super) fn size(&self, threads: usize) -> Size {
        Size {
            runs: self.runs,
            error: self.error,
            seed: self.seed,
            threads,
        }
    }
}

/// A mechanism whose reports are made again and again.
pub(super) struct Reports {
    /// ε as it is claimed.
    claimed: f64,
    /// The event that the ledger pays for; `None`, in a control, is any event.
    charged: Option<Event>,
    defect: Defect,
    mechanism: ClampedLaplace,
}

impl Reports {
    /// The mechanism of a claim, or the defective one that is run instead.
    pub(super) fn new(audit: &LocalAudit, defect: Defect) -> Result<Self, AuditError> {
        // Half the sensitivity is half the noise: the mechanism of twice the ε.
        let used = match defect {
            Defect::None | Defect::NoClamp(_) => audit.epsilon,
            Defect::SensitivityFactor(factor) => audit.epsilon * factor,
            Defect::NoiseFactor(factor) => audit.epsilon / factor,
            other => return Err(AuditError::NoSuchControl(other)),
        };
        let used = Epsilon::new(used).map_err(AuditError::Epsilon)?;
        let claimed = Epsilon::new(audit.epsilon).map_err(AuditError::Epsilon)?;
        let charged = Event::PureEpsilon {
            epsilon: claimed.value(),
            relation: NeighboringRelation::ReplaceOne,
        };
        Ok(Reports {
            claimed: audit.epsilon,
            charged: (defect == Defect::None).then_some(charged),
            defect,
            mechanism: ClampedLaplace::new(1.0, 16, used).map_err(AuditError::Laplace)?,
        })
    }
}

impl Play for Reports {
    const PARTY: Party = Party::Agent(0);
    const ROUND: u32 = 0;

    fn play<S: NoiseSource>(
        &mut self,
        run: u32,
        present: bool,
        source: &mut S,
    ) -> Result<f64, AuditError> {
        let x = report(&self.mechanism, self.defect, present, self.charged, source)
            .map_err(AuditError::in_run(run, 0))?;
        // ln of the ratio of two Laplace densities at ±1, scale 2/ε; ties are broken, so that
        // quantiles exist.
        Ok(((x + 1.0).abs() - (x - 1.0).abs()) * self.claimed / 2.0 + x * 1e-9)
    }
}

/// Makes one report through query, charge, receipt and reward.
fn report<S: NoiseSource>(
    mechanism: &ClampedLaplace,
    defect: Defect,
    high: bool,
    charged: Option<Event>,
    source: &mut S,
) -> Result<f64, RunError> {
    let mut state = ReporterState::new(0, mechanism.mechanism().epsilon());
    let mut reporter = Reporter::attach(mechanism, &mut state);
    let ReporterOutput::Charge(charge) =
        reporter.handle::<f64, _>(ReporterInput::Query { candidate: 0 }, source)?
    else {
        return Err(RunError::Answer {
            expected: "a charge",
        });
    };
    let receipt = AuditLedger::new(charged).append(charge)?;
    let ReporterOutput::Evaluate { .. } =
        reporter.handle::<f64, _>(ReporterInput::Charged(receipt), source)?
    else {
        return Err(RunError::Answer {
            expected: "a candidate",
        });
    };
    // Honestly, a reward at the bound or far beyond it, which is the same; without the clamp it is
    // added outside.
    let reward = if high { 1.0 } else { -1.0 };
    let (inside, outside) = match defect {
        Defect::NoClamp(factor) => (0.0, reward * factor),
        _ => (reward * 1e6, 0.0),
    };
    let ReporterOutput::Report(release) = reporter.handle(ReporterInput::Reward(inside), source)?
    else {
        return Err(RunError::Answer {
            expected: "a report",
        });
    };
    let x = *release.value() + outside;
    if x.is_finite() {
        Ok(x)
    } else {
        Err(RunError::NotFinite(x))
    }
}
