//! The publication of a prior file as it is shipped: studies in, standardised, projected, clipped,
//! charged, released, a file out.
//!
//! There are three enrolled contributors and a space of three settings. Two have studies whose
//! values are all alike, which standardise to zeros. Contributor 1 has a study whose innovation is
//! as long as the clip lets it be, or it has nothing to say. It is [`Prepared::publish`] that runs,
//! which programs, Python and a reader of this text call alike.
//!
//! **What the observer knows**: all but contributor 1's study. It reads the file and every release
//! before it, takes the vectors of the others off, and compares what is left with contributor 1's
//! vector, computed at the terms of that release. Where the file's space or landmarks are other
//! ones than without contributor 1, it is certain.
//!
//! The claim is exact: J Gaussians of multiplier z equal one Gaussian of multiplier z/√J.

use sordino_core::federated::prior::{PriorError, l2_sensitivity};
use sordino_core::math::Scalar;
use sordino_core::privacy::accountant::analytic;
use sordino_core::privacy::{
    Charge, Event, Ledger as Charged, NoiseSource, Provenance, SourceKind,
};
use sordino_host::ledger::{Accounting, Budgeted, Ledger, LedgerError, Mark, Terms};
use sordino_host::prior::PriorFileError;
use sordino_host::prior::context::{Context, Contributor};
use sordino_host::prior::label::{cost, event};
use sordino_host::prior::publish::{
    Prepared, Publication, PublishError, Published, Release, Study, contributor,
};
use sordino_host::server::Sources;
use sordino_host::space::{Goal, Parameter, Space, Values};

use super::claim::Claim;
use super::defect::Defect;
use super::error::{AuditError, RunError};
use super::outcome::{EPSILONS, Report};
use super::play::{Play, Size};

/// The audited contributor among three.
const AUDITED: usize = 1;
const CONTRIBUTORS: usize = 3;
/// Settings that the audited contributor evaluated, and the values it saw. Two values of one
/// setting contradict each other just so far that the vector is as long as the clip admits, which a
/// test measures.
const WORST: [(f64, f64); 4] = [(1.0, 1.58), (1.0, -1.58), (0.0, 1.0), (2.0, -1.0)];
/// Name of the invented data.
const DATA: &str = "audit";
/// The largest setting.
const SETTING_MAX: f64 = 2.0;
/// The score of an observer who is certain.
const CERTAIN: f64 = 1e6;

/// A claim about the publication of a file, and how hard the audit looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublicationAudit {
    /// ε that is published with.
    pub epsilon: f64,
    /// The δ it is counted at.
    pub delta: f64,
    /// Number of releases claimed.
    pub releases: u32,
    /// Runs for each of the two neighbours.
    pub runs: u32,
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
    /// Seed of simulated noise.
    pub seed: u64,
}

impl PublicationAudit {
    /// The usual two releases, together 2.8-GDP, where a little less noise moves δ most.
    pub const fn standard(seed: u64) -> Self {
        PublicationAudit {
            epsilon: 12.0,
            delta: 1e-3,
            releases: 2,
            runs: 20_000,
            error: 1e-6,
            seed,
        }
    }

    /// One release as dear as those two: contributor 1's vector is then as long as Δ admits (after
    /// a second release it is 3 % shorter, because the others cannot know beforehand where it will
    /// be), and 200,000 runs see the 3 % that the clip coordinate adds to Δ.
    pub const fn one_upload(seed: u64) -> Self {
        PublicationAudit {
            releases: 1,
            ..Self::standard(seed)
        }
    }

    /// The claimed cost.
    ///
    /// **Errors**: [`AuditError::Publication`] for an ε without noise.
    pub fn claim(&self) -> Result<Claim, AuditError> {
        let all = self.noise_multiplier()? / Scalar::sqrt(f64::from(self.releases));
        Ok(Claim(EPSILONS.map(|epsilon| analytic::delta(all, epsilon))))
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
        size.judged(&self.claim()?, kind, &|| Campaign::new(self, defect))
    }

    /// What is published, in a space of settings up to this one.
    fn publication(&self, most: f64) -> Result<Publication, PublishError> {
        let values = Values::Number {
            low: 0.0,
            high: most,
            log: false,
            integer: true,
        };
        let space = Space::new(vec![Parameter {
            name: "setting".into(),
            values,
            context: false,
        }]);
        let space = space.map_err(|error| {
            PublishError::Refused(PriorFileError {
                what: "largest setting".into(),
                found: format!("{most}: {error}"),
                admissible: "a whole number above 0".into(),
            })
        })?;
        Ok(Publication {
            space,
            goal: Goal::Maximize,
            value: None,
            epsilon: self.epsilon,
            delta: self.delta,
            releases: self.releases,
            features: 100,
            dataset: DATA.into(),
            by: None,
            note: None,
            published: None,
        })
    }

    /// What everybody knows before a run, in the space of settings up to this one.
    fn prepared(&self, most: f64) -> Result<Prepared, AuditError> {
        let prepared = self
            .publication(most)
            .and_then(|publication| Prepared::new(&publication, CONTRIBUTORS));
        prepared.map_err(failed(0))
    }

    /// The noise multiplier of every release.
    fn noise_multiplier(&self) -> Result<f64, AuditError> {
        Ok(self
            .prepared(SETTING_MAX)?
            .noise_multipliers()
            .iter()
            .copied()
            .fold(f64::NAN, f64::min))
    }

    /// What a defect publishes in the place of what is claimed.
    fn broken(&self, defect: Defect) -> Result<Self, AuditError> {
        let z = self.noise_multiplier()?;
        let gamma = self
            .prepared(SETTING_MAX)?
            .context()
            .config()
            .parameters()
            .clip_weight;
        let (z, releases) = match defect {
            Defect::None => return Ok(*self),
            Defect::SpaceOfPrivateData => return Ok(*self),
            Defect::NoiseFactor(factor) => (z * factor, self.releases),
            Defect::Uncharged => (z, self.releases + 1),
            // Noise for C alone, under vectors of norm C√(1 + γ²).
            Defect::ClipCoordinateLeftOut => (z / Scalar::sqrt(1.0 + gamma * gamma), self.releases),
            other => return Err(AuditError::NoSuchControl(other)),
        };
        let epsilon = cost(&vec![z; releases as usize], self.delta)
            .map_err(AuditError::Claim)?
            .0;
        Ok(PublicationAudit {
            epsilon,
            releases,
            ..*self
        })
    }
}

/// The error of a run.
fn failed<E: Into<PublishError>>(run: u32) -> impl Fn(E) -> AuditError {
    move |error| AuditError::Publication {
        run,
        error: Box::new(error.into()),
    }
}

/// The study of settings and the values that were seen there.
fn study(name: &str, values: &[(f64, f64)]) -> Study {
    Study {
        name: name.into(),
        values: values
            .iter()
            .map(|(setting, value)| (vec![*setting], *value))
            .collect(),
    }
}

/// A contributor's vector at the terms of a release.
fn vector(
    who: &Contributor,
    context: &Context,
    release: &Release,
) -> Result<Vec<f64>, PublishError> {
    let vector = who.vector(context, &release.terms, &release.weights)?;
    vector.ok_or(PublishError::Prior(PriorError::NotPrepared))
}

/// Public numbers of both neighbours and three studies, to be published again and again.
struct Campaign {
    /// z and number of releases that are claimed.
    claimed: (f64, u32),
    defect: Defect,
    with: Prepared,
    without: Prepared,
    terms: Terms,
    audited: Study,
    others: Study,
}

impl Campaign {
    /// The publication of a claim, or the defective one in its place.
    fn new(audit: &PublicationAudit, defect: Defect) -> Result<Self, AuditError> {
        let run = audit.broken(defect)?;
        // A range that is read off the points of those who are there.
        let others_most = if defect == Defect::SpaceOfPrivateData {
            1.0
        } else {
            SETTING_MAX
        };
        Ok(Campaign {
            claimed: (audit.noise_multiplier()?, audit.releases),
            defect,
            with: run.prepared(SETTING_MAX)?,
            without: run.prepared(others_most)?,
            terms: Terms {
                data: DATA.into(),
                unit: "study".into(),
                records: None,
                accounting: Accounting::Gaussian,
                epsilon_max: None,
                delta: audit.delta,
            },
            audited: study("audited", &WORST),
            others: study("other", &[(0.0, 7.0), (1.0, 7.0), (0.0, 7.0)]),
        })
    }

    /// The ledger after a run holds what is claimed, event by event, and the file's label says so.
    fn check(&self, published: &Published<AuditedLedger>) -> Result<(), RunError> {
        let (z, releases) = self.claimed;
        let charged = published.ledger.inner.entries();
        let label = &published.file.label;
        if charged.len() != releases as usize || label.releases as usize != charged.len() {
            return Err(RunError::Answer {
                expected: "one charge for each release, and a label that says so",
            });
        }
        let claimed = event(z);
        match charged
            .iter()
            .flat_map(|entry| &entry.events)
            .find(|found| **found != claimed)
        {
            Some(found) => Err(RunError::Charge {
                found: *found,
                claimed,
            }),
            None => Ok(()),
        }
    }

    /// ln of how much likelier what was published is with the audited contributor than without, by
    /// the claimed mechanism.
    fn score(&self, published: &Published<AuditedLedger>) -> Result<f64, PublishError> {
        let context = self.without.context();
        let landmarks = published.file.landmarks.iter().map(|x| f64::from(*x));
        if published.file.label.space != *self.without.space()
            || !landmarks.eq(context.landmarks().iter().copied())
        {
            return Ok(CERTAIN);
        }
        let audited = contributor(&self.audited, context, Goal::Maximize)?;
        let other = contributor(&self.others, context, Goal::Maximize)?;
        let mut total = 0.0;
        for release in &published.releases {
            let own = vector(&audited, context, release)?;
            let other = vector(&other, context, release)?;
            let others = (CONTRIBUTORS - 1) as f64;
            let left = release
                .sum
                .iter()
                .zip(&other)
                .map(|(sum, other)| sum - others * other);
            let along: f64 = left.zip(&own).map(|(left, own)| left * own).sum();
            let norm2: f64 = own.iter().map(|x| x * x).sum();
            let std = self.claimed.0 * l2_sensitivity(context.config(), &release.terms);
            total += (2.0 * along - norm2) / (2.0 * std * std);
        }
        Ok(total)
    }
}

impl Play for Campaign {
    fn play<S: NoiseSource>(
        &mut self,
        run: u32,
        present: bool,
        source: &mut S,
    ) -> Result<f64, AuditError> {
        let prepared = if present { &self.with } else { &self.without };
        let mut enrolled = [Some(&self.others); CONTRIBUTORS];
        enrolled[AUDITED] = present.then_some(&self.audited);
        let inner = Ledger::in_memory(&self.terms).map_err(failed(run))?;
        let kept = if self.defect == Defect::Uncharged {
            self.claimed.1
        } else {
            u32::MAX
        };
        let ledger = AuditedLedger { inner, kept };
        let published = prepared
            .publish(&enrolled, One(source), ledger, |_| {})
            .map_err(failed(run))?;
        if self.defect == Defect::None {
            self.check(&published).map_err(AuditError::in_run(run, 0))?;
        }
        let score = self.score(&published).map_err(failed(run))?;
        if score.is_finite() {
            Ok(score)
        } else {
            Err(AuditError::in_run(run, 0)(RunError::NotFinite(score)))
        }
    }
}

/// One source for all releases of a run.
struct One<'s, S>(&'s mut S);

impl<S: NoiseSource> Sources for One<'_, S> {
    type Source = S;
    fn of_broadcast(&mut self, _: u32) -> &mut S {
        self.0
    }
}

/// The shipped ledger in memory, which takes secret noise too, because all of it is about invented
/// studies. A control's ledger writes down no more than so many charges, and gives receipts for
/// all.
struct AuditedLedger {
    inner: Ledger,
    kept: u32,
}

impl<P: Provenance> Charged<P> for AuditedLedger {
    type Error = LedgerError;
    fn write(&mut self, charge: &Charge<P>) -> Result<(), LedgerError> {
        if self.inner.len() >= self.kept as usize {
            return Ok(());
        }
        self.inner.charge(charge.release(), charge.events())
    }
}

impl Budgeted for AuditedLedger {
    fn admits_release(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError> {
        if self.inner.len() >= self.kept as usize {
            Ok(())
        } else {
            self.inner.admits_release(release, events)
        }
    }

    fn mark(&self) -> Mark {
        self.inner.mark()
    }

    fn holds(&self, mark: &Mark) -> Result<bool, LedgerError> {
        self.inner.holds(mark)
    }

    fn sync(&mut self) -> Result<(), LedgerError> {
        self.inner.sync()
    }
}

#[cfg(test)]
mod tests {
    use sordino_core::privacy::Simulated;
    use sordino_core::random::{Party, Purpose, RunSeed};

    use super::*;

    fn run(defect: Defect, runs: u32, kind: SourceKind) -> Report {
        PublicationAudit {
            runs,
            ..PublicationAudit::standard(1)
        }
        .run(defect, kind, 2)
        .unwrap()
    }

    fn source(run: u32) -> Simulated {
        Simulated::new(RunSeed::new(1, run).stream(Party::Server, Purpose::Release, 1))
    }

    /// A shorter vector would be an audit of less than the worst case.
    #[test]
    fn the_audited_vector_is_as_long_as_the_clip_admits() {
        let audit = PublicationAudit::standard(1);
        let campaign = Campaign::new(&audit, Defect::None).unwrap();
        let context = campaign.with.context();
        let own = contributor(&campaign.audited, context, Goal::Maximize).unwrap();
        let mut second = 0.0;
        for run in 0..50 {
            let enrolled = [&campaign.others, &campaign.audited, &campaign.others].map(Some);
            let ledger = AuditedLedger {
                inner: Ledger::in_memory(&campaign.terms).unwrap(),
                kept: u32::MAX,
            };
            let published = campaign
                .with
                .publish(&enrolled, One(&mut source(run)), ledger, |_| {})
                .unwrap();
            let lengths = published.releases.iter().map(|release| {
                let vector = own
                    .vector(context, &release.terms, &release.weights)
                    .unwrap()
                    .unwrap();
                let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
                norm / l2_sensitivity(context.config(), &release.terms)
            });
            let lengths: Vec<f64> = lengths.collect();
            assert!(
                lengths[0] > 0.9995 && lengths.iter().all(|length| *length <= 1.0 + 1e-12),
                "{lengths:?}"
            );
            second += lengths[1] / 50.0;
        }
        println!("in the mean {second} after a second release");
        assert!(second > 0.95, "{second}");
    }

    #[test]
    fn the_shipped_publication_passes_and_the_broken_are_rejected() {
        assert!(!run(Defect::None, 2_000, SourceKind::Simulation).rejected());
        assert!(!run(Defect::None, 1_000, SourceKind::Secret).rejected());
        for (defect, runs) in [
            (Defect::NoiseFactor(0.6), 2_000),
            (Defect::SpaceOfPrivateData, 1_000),
            (Defect::Uncharged, 5_000),
        ] {
            let report = run(defect, runs, SourceKind::Simulation);
            println!("{defect:?}: {:+.4}", report.margin());
            assert!(report.rejected(), "{defect:?}: {report:?}");
        }
        let audit = PublicationAudit {
            runs: 1_000,
            ..PublicationAudit::standard(1)
        };
        let refused = audit
            .run(Defect::KnownCoins, SourceKind::Simulation, 1)
            .unwrap_err();
        assert!(
            matches!(refused, AuditError::NoSuchControl(Defect::KnownCoins)),
            "{refused}"
        );
    }

    /// The ledger of the shipped path holds what is claimed; one that keeps less is found before
    /// any statistics.
    #[test]
    fn what_a_publication_charges_is_what_is_claimed() {
        let audit = PublicationAudit {
            runs: 1_000,
            ..PublicationAudit::one_upload(1)
        };
        assert!(
            !audit
                .run(Defect::None, SourceKind::Simulation, 2)
                .unwrap()
                .rejected()
        );
        let mut campaign = Campaign::new(&audit, Defect::Uncharged).unwrap();
        campaign.defect = Defect::None;
        match campaign.play(0, true, &mut source(0)) {
            Err(AuditError::Run {
                error: RunError::Answer { .. },
                ..
            }) => {}
            other => panic!("{other:?}"),
        }
        let mut campaign = Campaign::new(&audit, Defect::NoiseFactor(0.9)).unwrap();
        campaign.defect = Defect::None;
        match campaign.play(0, true, &mut source(0)) {
            Err(AuditError::Run {
                error: RunError::Charge { claimed, .. },
                ..
            }) => {
                assert_eq!(claimed, event(audit.noise_multiplier().unwrap()));
            }
            other => panic!("{other:?}"),
        }
    }
}
