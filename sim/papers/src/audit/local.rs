//! One local report: a reporter whose reward is one bound, against a reporter whose reward is the
//! other.

use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::accountant::pure;
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{
    Epsilon, Event, Ledger, NeighboringRelation, NoiseSource, Simulated, SourceKind,
};
use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::entropy;

use super::defect::Defect;
use super::error::{AuditError, RunError, check_error};
use super::judge::judge;
use super::ledger::AuditLedger;
use super::outcome::{EPSILONS, Report};
use super::workers::gather_both;

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
    /// Runs the audit with noise of this kind on `threads` cores.
    ///
    /// **Errors**: [`AuditError`].
    pub fn run(
        &self,
        defect: Defect,
        kind: SourceKind,
        threads: usize,
    ) -> Result<Report, AuditError> {
        match kind {
            SourceKind::Simulation => self.run_with(defect, threads, &|high, run| {
                let seed =
                    RunSeed::new(self.seed.wrapping_mul(2).wrapping_add(u64::from(high)), run);
                Ok(Simulated::new(seed.stream(
                    Party::Agent(0),
                    Purpose::Release,
                    0,
                )))
            }),
            SourceKind::Secret => self.run_with(defect, threads, &|_, _| {
                entropy::system().map_err(AuditError::Entropy)
            }),
        }
    }

    /// Runs the audit with the source that `source` makes for each neighbour and run.
    pub(super) fn run_with<S: NoiseSource>(
        &self,
        defect: Defect,
        threads: usize,
        source: &(impl Fn(bool, u32) -> Result<S, AuditError> + Sync),
    ) -> Result<Report, AuditError> {
        check_error(self.error)?;
        let claimed = Epsilon::new(self.epsilon).map_err(AuditError::Epsilon)?;
        // Half the sensitivity is half the noise: the mechanism of twice the ε.
        let used = match defect {
            Defect::None | Defect::NoClamp(_) => self.epsilon,
            Defect::SensitivityFactor(factor) => self.epsilon * factor,
            Defect::NoiseFactor(factor) => self.epsilon / factor,
            other => return Err(AuditError::NoSuchControl(other)),
        };
        let used = Epsilon::new(used).map_err(AuditError::Epsilon)?;
        let mechanism = ClampedLaplace::new(1.0, 16, used).map_err(AuditError::Laplace)?;
        let charged = Event::PureEpsilon {
            epsilon: claimed.value(),
            relation: NeighboringRelation::ReplaceOne,
        };
        let charged = (defect == Defect::None).then_some(charged);
        let [high, low] = gather_both(self.runs, threads, &|high, part| {
            part.map(|run| {
                let x = report(&mechanism, defect, high, charged, &mut source(high, run)?)
                    .map_err(AuditError::in_run(run, 0))?;
                // ln of the ratio of two Laplace densities at ±1, scale 2/ε; ties are broken,
                // so that quantiles exist.
                Ok(((x + 1.0).abs() - (x - 1.0).abs()) * self.epsilon / 2.0 + x * 1e-9)
            })
            .collect()
        })?;
        // The hockey-stick of randomised response bounds every pure-ε mechanism.
        let deltas = EPSILONS.map(|epsilon| pure::optimal_delta(claimed.value(), 1, epsilon));
        Ok(judge(&high, &low, &deltas, self.error))
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
