//! A publication that was checked and is not begun: what it would cost, and the way to its file.

use serde::Serialize;
use sordino_core::privacy::Event;

use super::{
    Prepared, Publication, PublishError, Study, check, check_budget, noise_multipliers, size,
};
use crate::ledger::{Accounting, Ledger, Preview, Terms};
use crate::prior::PriorFile;
use crate::prior::doubts::doubts;
use crate::prior::label::{cost, event};
use crate::prior::worth::bound;
use crate::server::Sources;
use crate::signature::SigningKey;

/// A publication of studies that are admissible, and whose releases alone fit the budget that was
/// asked for. Nothing was charged.
///
/// All who publish take the same steps: look at the ledger ([`Preview`]), tell the
/// [doubts](Checked::doubts), [prepare](Checked::prepare), open the ledger for
/// [all releases](Checked::events), and [publish](Checked::publish). What is refused or stopped
/// before the ledger is opened leaves nothing behind: what takes long comes before it.
pub struct Checked<'a> {
    publication: &'a Publication,
    studies: &'a [Study],
    epsilon_max: Option<f64>,
    multipliers: Vec<f64>,
    events: Vec<Event>,
}

/// What a publication would cost, and what would be left: known before anything is charged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Studies, each one contributor.
    pub contributors: usize,
    /// Number of releases.
    pub releases: usize,
    /// Number of features M.
    pub features: usize,
    /// ε of the file: a study is used, or counts as nothing. Rounded up.
    pub epsilon: f64,
    /// ε between any two things that a study may hold, at the same δ. Rounded up.
    pub replace_epsilon: f64,
    /// The δ that both are counted at.
    pub delta: f64,
    /// Name of the data.
    pub dataset: String,
    /// File of the charges.
    pub ledger: String,
    /// Charges in it so far.
    pub charges: u64,
    /// ε that they cost.
    pub spent: f64,
    /// ε once the file is charged too.
    pub spent_after: f64,
    /// The most that all releases of the data may cost; nothing where the ledger has no budget.
    pub max_epsilon: Option<f64>,
    /// ε, from below, that would still fit after the file.
    pub left_after: Option<f64>,
    /// Bytes of the file, to within some dozens, without a signature.
    pub bytes: usize,
}

impl<'a> Checked<'a> {
    /// Checks all that can be known without a ledger; `epsilon_max` is the budget of a new one.
    ///
    /// **Errors**: [`PublishError::Refused`], [`PublishError::Study`], [`PublishError::SameName`],
    /// [`PublishError::Budget`].
    pub fn new(
        publication: &'a Publication,
        studies: &'a [Study],
        epsilon_max: Option<f64>,
    ) -> Result<Self, PublishError> {
        check(publication, studies)?;
        let multipliers = noise_multipliers(publication, studies.len())?;
        check_budget(&multipliers, publication.delta, epsilon_max)?;
        let events = multipliers.iter().map(|z| event(*z)).collect();
        Ok(Checked {
            publication,
            studies,
            epsilon_max,
            multipliers,
            events,
        })
    }

    /// What the ledger of the data set is for.
    pub fn terms(&self) -> Terms {
        Terms {
            data: self.publication.dataset.clone(),
            unit: "study".into(),
            records: None,
            accounting: Accounting::Gaussian,
            epsilon_max: self.epsilon_max,
            delta: self.publication.delta,
        }
    }

    /// What all releases cost. The ledger has to have room for all of them, so that none is paid
    /// for whose file cannot be finished.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What the first charge costs.
    pub fn first(&self) -> &[Event] {
        &self.events[..1]
    }

    /// What speaks against the file, a sentence each, for the publisher alone.
    pub fn doubts(&self) -> Vec<String> {
        doubts(self.publication, self.studies)
    }

    /// What the file would cost, and what would be left in the ledger that was looked at.
    ///
    /// **Errors**: [`PublishError`].
    ///
    /// **Cost**: that of [`Prepared::new`].
    pub fn cost(&self, ledger: &Preview) -> Result<Cost, PublishError> {
        let prepared = Prepared::new(self.publication, self.studies.len())?;
        let (exact, between) = cost(&self.multipliers, self.publication.delta)?;
        let spent = ledger.spent()?;
        Ok(Cost {
            contributors: self.studies.len(),
            releases: self.multipliers.len(),
            features: prepared.context().config().features(),
            // As in the label: the multipliers were found for this ε and certified at it.
            epsilon: bound(exact.min(self.publication.epsilon)),
            replace_epsilon: bound(between),
            delta: self.publication.delta,
            dataset: self.publication.dataset.clone(),
            ledger: ledger.path().display().to_string(),
            charges: spent.charges,
            spent: spent.epsilon,
            spent_after: ledger.spent_after(&self.events)?.epsilon,
            max_epsilon: ledger.terms().epsilon_max,
            left_after: ledger.left(&self.events)?,
            bytes: size(self.publication, prepared.context(), &self.multipliers)?,
        })
    }

    /// Computes what is public of the publication, before there is a ledger. `progress` is told
    /// what was found.
    ///
    /// **Errors**: [`PublishError`]; nothing was charged.
    ///
    /// **Cost**: that of [`Prepared::new`], 128 virtual designs, some seconds at M = 100.
    pub fn prepare(&self, mut progress: impl FnMut(&str)) -> Result<Prepared, PublishError> {
        let prepared = Prepared::new(self.publication, self.studies.len())?;
        let context = prepared.context();
        progress(&format!(
            "{} landmarks, lengthscale {}",
            context.config().features(),
            context.lengthscale()
        ));
        Ok(prepared)
    }

    /// Charges and makes all releases of what was [prepared](Checked::prepare); returns their file,
    /// which names its ledger and is signed if there is a key. `progress` is told each release that
    /// is made. The file is not written.
    ///
    /// **Privacy**: the posterior is a function of the releases, which cost what the label says;
    /// each is charged before it is drawn. What this returns besides (errors, the number of
    /// studies) is public: N is.
    ///
    /// **Errors**: [`PublishError`]; releases may have been charged, and stay so.
    ///
    /// **Cost**: N contributions a release.
    pub fn publish(
        &self,
        prepared: &Prepared,
        sources: impl Sources,
        ledger: Ledger,
        key: Option<&SigningKey>,
        progress: impl FnMut(&str),
    ) -> Result<(PriorFile, Ledger), PublishError> {
        let enrolled: Vec<Option<&Study>> = self.studies.iter().map(Some).collect();
        let published = prepared.publish(&enrolled, sources, ledger, progress)?;
        let mut file = published.file;
        file.label.ledger = Some(published.ledger.mark().chain());
        let file = match key {
            Some(key) => file.sign(key)?,
            None => file,
        };
        Ok((file, published.ledger))
    }
}
