//! Makes a prior file of studies that one party holds: contributions, charges, noise, posterior,
//! label.
//!
//! A study is one contributor. Each release goes the way of every release here: joint vectors
//! through the integer encoding of [`ServerHost`], a charge that the ledger holds before anything
//! leaves, noise of the system. What is public (candidates, landmarks, virtual designs) is a
//! function of the space and of numbers in this file alone.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::ServerError;
use sordino_core::federated::prior::{Parameters, Plan, PriorError, Terms, shares, total_mu};
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::privacy::mechanism::gaussian::{GaussianError, GridGaussian};
use sordino_core::privacy::{NeighboringRelation, NoiseSource, SourceKind};
use sordino_core::space::Space as CoreSpace;

use super::context::{Context, ContextError, Contributor, Learned};
use super::error::unsearchable;
use super::label::{ACCOUNTANT, CONTRIBUTORS_MAX, KERNEL, Label, SELF_TEST_MAX, check_text, cost};
use super::{PriorFile, PriorFileError, refuse};
use crate::ledger::{Budgeted, LedgerError, meant};
use crate::server::{HostError, Population, ServerHost, Sources};
use crate::signature::KeyError;
use crate::space::{Goal, Space};
use crate::text::significant_up;

mod checked;

pub use super::context::CANDIDATES;
pub use checked::{Checked, Cost};
/// The fewest points of a study.
pub use sordino_core::federated::prior::POINTS_MIN;
/// The most points of a study.
pub const POINTS_MAX: usize = 2000;
/// The least δ that is refused is this share of 1/N.
const DELTA_SHARE: f64 = 0.1;

/// What one contributor knows: points in the space's numbers, one a parameter, and a value for
/// each.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name among the others; not published.
    pub name: String,
    /// Points and values, as the user counts.
    pub values: Vec<(Vec<f64>, f64)>,
}

/// What is to be published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// What was searched.
    pub space: Space,
    /// Which values are better.
    pub goal: Goal,
    /// What a value is, in words.
    pub value: Option<String>,
    /// ε that the releases may cost together.
    pub epsilon: f64,
    /// The δ it is counted at.
    pub delta: f64,
    /// Number of releases: two, or one for studies that answer once.
    pub releases: u32,
    /// The most features M; 100, or 50 for small devices.
    pub features: u32,
    /// Name of the data.
    pub dataset: String,
    /// Who publishes, in words.
    pub by: Option<String>,
    /// Free words of the publisher.
    pub note: Option<String>,
    /// The day, as YYYY-MM-DD.
    pub published: Option<String>,
}

/// Why nothing was published. Unless it says so, nothing was charged.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Something that was asked is not admissible.
    #[error(transparent)]
    Refused(#[from] PriorFileError),
    /// A study that cannot be used.
    #[error("study {study}: {what}; admissible: {admissible}")]
    Study {
        /// Name of the study.
        study: String,
        /// What is wrong with it.
        what: String,
        /// What is admissible.
        admissible: String,
    },
    /// Two studies of one name: one contributor would be in the sum twice.
    #[error(
        "study {study}: its name is there twice{}; admissible: a study of each name, where case and white space make no other name; \
             rows of one contributor have one spelling, and stand in one study",
        spelled(study, other)
    )]
    SameName {
        /// Name of the second study.
        study: String,
        /// Name of the first, as it is spelled there.
        other: String,
    },
    /// No noise for this budget.
    #[error("no noise for this epsilon and delta")]
    Budget(#[from] AccountantError),
    /// The ledger refuses.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The budget of the data set has no room for the releases.
    #[error(
        "release {release} does not fit the budget of the data set; {charged} releases were charged"
    )]
    OverBudget {
        /// The first release that does not fit.
        release: u32,
        /// Releases that were charged before it.
        charged: u32,
    },
    /// A step of the method.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// The server of the releases.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The method's mechanism.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The file could not be signed; its releases were charged.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// How the other of two names is spelled, if it is spelled otherwise.
fn spelled(study: &str, other: &str) -> String {
    if study == other {
        return String::new();
    }
    format!(", also as {other:?}")
}

impl PublishError {
    /// A study that cannot be used, by its name.
    fn study(study: &Study, what: String, admissible: &str) -> Self {
        PublishError::Study {
            study: study.name.clone(),
            what,
            admissible: admissible.into(),
        }
    }
}

impl From<ContextError> for PublishError {
    fn from(error: ContextError) -> Self {
        match error {
            ContextError::Refused(error) => PublishError::Refused(error),
            ContextError::Prior(error) => PublishError::Prior(error),
            ContextError::Server(error) => PublishError::Server(error),
        }
    }
}

/// Checks what is to be published by so many contributors, before anything is computed.
///
/// **Errors**: [`PriorFileError`] naming the first number or text that is not admissible.
pub(crate) fn check_publication(
    publication: &Publication,
    contributors: usize,
) -> Result<(), PriorFileError> {
    let delta = publication.delta;
    let most = DELTA_SHARE / contributors as f64;
    if contributors >= 2 && !(delta > 0.0 && delta <= most) {
        let admissible =
            format!("above 0 and at most {most}, a tenth of 1 by the number of studies");
        return Err(refuse("delta", delta, &admissible));
    }
    check_simulated(publication, contributors)
}

/// The same where nobody's data are published, at any δ.
///
/// **Errors**: as [`check_publication`].
pub(crate) fn check_simulated(
    publication: &Publication,
    contributors: usize,
) -> Result<(), PriorFileError> {
    if contributors < 2 || contributors > CONTRIBUTORS_MAX as usize {
        return Err(refuse(
            "number of studies",
            contributors,
            "2 to 16777216: of one alone a file is its data",
        ));
    }
    if !(publication.epsilon > 0.0 && publication.epsilon.is_finite()) {
        return Err(refuse("epsilon", publication.epsilon, "a positive number"));
    }
    if !(1..=64).contains(&publication.releases) {
        return Err(refuse(
            "releases",
            publication.releases,
            "1 to 64; 2 is usual",
        ));
    }
    if !(2..=super::FEATURES_MAX as u32).contains(&publication.features) {
        return Err(refuse(
            "features",
            publication.features,
            "2 to 1024; 100 is usual",
        ));
    }
    // Before anything is charged: a label that is refused afterwards would be paid for.
    for (what, text) in [
        ("value", &publication.value),
        ("by", &publication.by),
        ("note", &publication.note),
        ("published", &publication.published),
        ("dataset", &Some(publication.dataset.clone())),
    ] {
        check_text(what, text.as_deref())?;
    }
    publication.space.core().map_err(unsearchable)?;
    Ok(())
}

/// Checks studies and numbers before anything is computed.
///
/// **Errors**: [`PublishError::Refused`], [`PublishError::Study`], [`PublishError::SameName`].
fn check(publication: &Publication, studies: &[Study]) -> Result<(), PublishError> {
    check_publication(publication, studies.len())?;
    let core = publication.space.core().map_err(unsearchable)?;
    let mut names = HashMap::new();
    for study in studies {
        // A contributor that is in the sum twice is protected half as well as the label says.
        if let Some(other) = names.insert(meant(&study.name), &study.name) {
            let (study, other) = (study.name.clone(), other.clone());
            return Err(PublishError::SameName { study, other });
        }
        check_study(&core, study)?;
    }
    Ok(())
}

/// Checks what one contributor knows.
fn check_study(core: &CoreSpace, study: &Study) -> Result<(), PublishError> {
    let points = study.values.len();
    if !(POINTS_MIN..=POINTS_MAX).contains(&points) {
        let what = format!("{points} points");
        return Err(PublishError::study(study, what, "3 to 2000"));
    }
    for (place, (numbers, value)) in study.values.iter().enumerate() {
        let row = place + 1;
        if core.check(numbers).is_err() {
            let what = format!("row {row}: the point {numbers:?}");
            return Err(PublishError::study(study, what, "a point of the space"));
        }
        if !value.is_finite() {
            let what = format!("row {row}: the value {value}");
            return Err(PublishError::study(study, what, "a finite number"));
        }
    }
    Ok(())
}

/// Noise multipliers of the releases, equal shares of (ε, δ); what they cost, computed back from
/// them, is at most ε.
///
/// **Errors**: [`PublishError::Budget`]; [`PublishError::Refused`] for noise that the mechanism of
/// a release does not have: known before anything is made.
pub(crate) fn noise_multipliers(
    publication: &Publication,
    contributors: usize,
) -> Result<Vec<f64>, PublishError> {
    let multipliers =
        equal_noise_multipliers(publication.epsilon, publication.delta, publication.releases)?;
    let parameters = Parameters::own_units(contributors as u32, publication.features, 0);
    for multiplier in &multipliers {
        let grid = parameters.grid_exponent;
        let made = GridGaussian::unsampled(grid, *multiplier, parameters.agents);
        made.map_err(|error| off_grid(*multiplier, &error))?;
    }
    Ok(multipliers)
}

/// The refusal of noise that the grid of releases does not have, with what changes it.
fn off_grid(noise_multiplier: f64, error: &GaussianError) -> PriorFileError {
    let other = if noise_multiplier > 1.0 {
        "fewer releases, a larger epsilon or a larger delta"
    } else {
        "a smaller epsilon or a smaller delta"
    };
    let admissible = format!("what the integers of a release hold: {other}");
    refuse("noise of a release", error, &admissible)
}

/// The same for so many releases that cost ε at δ together.
///
/// **Errors**: [`PublishError::Budget`]; [`PublishError::Refused`] for no release.
pub fn equal_noise_multipliers(
    epsilon: f64,
    delta: f64,
    releases: u32,
) -> Result<Vec<f64>, PublishError> {
    if releases == 0 {
        return Err(refuse("releases", releases, "1 to 64; 2 is usual").into());
    }
    let mu = total_mu(epsilon, delta)?;
    let mut out = vec![0.0; releases as usize];
    shares(mu, &vec![1.0; releases as usize], &mut out)?;
    // Rounding may lead beyond ε by a few parts in 10¹⁶; a budget of exactly ε would refuse the
    // file for it.
    let mut more = f64::EPSILON;
    while cost(&out, delta)?.0 > epsilon && more < 1e-6 {
        out.iter_mut()
            .for_each(|multiplier| *multiplier *= 1.0 + more);
        more *= 2.0;
    }
    Ok(out)
}

/// Refuses a budget that the releases alone exceed, before there is a ledger of it.
///
/// **Errors**: [`PublishError::Refused`], [`PublishError::Budget`].
fn check_budget(
    multipliers: &[f64],
    delta: f64,
    epsilon_max: Option<f64>,
) -> Result<(), PublishError> {
    let epsilon = cost(multipliers, delta)?.0;
    match epsilon_max.filter(|most| *most < epsilon) {
        Some(most) => Err(refuse(
            "max_epsilon",
            most,
            &format!(
                "at least {}, what this file costs, or a smaller ε for the file",
                significant_up(epsilon, 4)
            ),
        )
        .into()),
        None => Ok(()),
    }
}

/// What is public of a publication before anybody contributes: a function of the space and of
/// numbers, no study's.
pub struct Prepared {
    publication: Publication,
    contributors: usize,
    multipliers: Vec<f64>,
    context: Arc<Context>,
}

/// A release as everybody may know it: what it was made with, and what it said.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// Its terms, which fix the clip.
    pub terms: Terms<f64>,
    /// Weights of the posterior before it, M numbers.
    pub weights: Vec<f64>,
    /// The released sum of joint vectors, M + 1 numbers.
    pub sum: Vec<f64>,
}

/// A file with all that left on the way to it.
pub struct Published<L> {
    /// The file, not signed and without its ledger's head.
    pub file: PriorFile,
    /// The releases it is made of, in their order.
    pub releases: Vec<Release>,
    /// The ledger in which they were charged.
    pub ledger: L,
}

impl Prepared {
    /// Prepares a publication of so many enrolled contributors.
    ///
    /// **Errors**: [`PublishError`].
    ///
    /// **Cost**: that of [`Context::new`].
    pub fn new(publication: &Publication, contributors: usize) -> Result<Self, PublishError> {
        let Publication {
            space, features, ..
        } = publication;
        Self::of(publication, contributors, || {
            Context::new(space, *features, contributors as u32)
        })
    }

    /// The same where all points are among these of the space, of which each contributor has so
    /// many ([`Context::among`]).
    ///
    /// **Errors, Cost**: as [`Prepared::new`].
    pub fn among(
        publication: &Publication,
        contributors: usize,
        candidates: Vec<Vec<f64>>,
        points: u32,
    ) -> Result<Self, PublishError> {
        let Publication {
            space, features, ..
        } = publication;
        Self::of(publication, contributors, || {
            let trust = sordino_core::federated::shares::Trust::OneServer;
            Context::among(
                space,
                *features,
                contributors as u32,
                trust,
                candidates,
                points,
            )
        })
    }

    fn of(
        publication: &Publication,
        contributors: usize,
        context: impl FnOnce() -> Result<Context, ContextError>,
    ) -> Result<Self, PublishError> {
        check_publication(publication, contributors)?;
        let multipliers = noise_multipliers(publication, contributors)?;
        Ok(Prepared {
            publication: publication.clone(),
            contributors,
            multipliers,
            context: Arc::new(context()?),
        })
    }

    /// Candidates, landmarks, lengthscale, virtual designs.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// What is searched.
    pub fn space(&self) -> &Space {
        &self.publication.space
    }

    /// Noise multiplier of each release.
    pub fn noise_multipliers(&self) -> &[f64] {
        &self.multipliers
    }

    /// Publishes what the enrolled know; who is enrolled and has nothing to say is `None`, and
    /// counts as nothing.
    ///
    /// **Errors**: [`PublishError`]; [`PublishError::Refused`] for another number of contributors
    /// than was prepared for.
    pub fn publish<S: Sources, L>(
        &self,
        enrolled: &[Option<&Study>],
        sources: S,
        ledger: L,
        mut progress: impl FnMut(&str),
    ) -> Result<Published<L>, PublishError>
    where
        L: Budgeted
            + sordino_core::privacy::Ledger<
                <S::Source as NoiseSource>::Provenance,
                Error = LedgerError,
            >,
    {
        if enrolled.len() != self.contributors {
            let admissible = format!(
                "{}, for which the publication was prepared",
                self.contributors
            );
            return Err(refuse("number of studies", enrolled.len(), &admissible).into());
        }
        let context = &*self.context;
        let multipliers = &self.multipliers[..];
        let space = &self.publication.space;
        let core = space.core().map_err(unsearchable)?;
        let all = enrolled
            .iter()
            .map(|study| match study {
                Some(study) => {
                    check_study(&core, study)?;
                    Ok(Some(contributor(study, context, self.publication.goal)?))
                }
                None => Ok(None),
            })
            .collect::<Result<Vec<_>, PublishError>>()?;
        let rounds = vec![0; multipliers.len()];
        let plan = Plan {
            rounds: &rounds,
            noise_multipliers: multipliers,
        };
        let mut host = ServerHost::new(
            Population::new(self.context.clone(), plan)?,
            sources,
            ledger,
            None,
        )?;
        let mut releases = Vec::new();
        for release in 0..self.publication.releases {
            releases.push(self.release(&mut host, release, &all)?);
            progress(&format!(
                "release {} of {} is charged and made",
                release + 1,
                self.publication.releases
            ));
        }
        let released: Vec<f64> = releases
            .iter()
            .flat_map(|release| &release.sum)
            .copied()
            .collect();
        let learned = context.replayed(plan, &released)?;
        let file = file(
            &self.publication,
            context,
            multipliers,
            &learned,
            host.kind(),
        )?;
        Ok(Published {
            file,
            releases,
            ledger: host.into_ledger(),
        })
    }

    /// Opens a release, collects, charges, releases.
    fn release<S: Sources, L>(
        &self,
        host: &mut ServerHost<f64, S, L, Population<f64, Arc<Context>>>,
        index: u32,
        all: &[Option<Contributor>],
    ) -> Result<Release, PublishError>
    where
        L: Budgeted
            + sordino_core::privacy::Ledger<
                <S::Source as NoiseSource>::Provenance,
                Error = LedgerError,
            >,
    {
        if !host.open()? {
            return Err(PublishError::OverBudget {
                release: index,
                charged: index,
            });
        }
        let Some((terms, _)) = host.method().open_terms(index) else {
            return Err(PriorError::NotPrepared.into());
        };
        let weights = host.method().posterior().weights().to_vec();
        for (agent, contributor) in all.iter().enumerate() {
            let Some(contributor) = contributor else {
                continue;
            };
            if let Some(vector) = contributor.vector(&self.context, &terms, &weights)? {
                host.upload(agent as u32, index, &vector)?;
            }
        }
        let _counts = host.close()?;
        let sum = host
            .last_release()
            .map(|(_, numbers)| numbers.to_vec())
            .unwrap_or_default();
        Ok(Release {
            terms,
            weights,
            sum,
        })
    }
}

/// A study as a contributor, in a publication with this goal.
///
/// **Errors**: [`ContextError::Prior`].
pub fn contributor(
    study: &Study,
    context: &Context,
    goal: Goal,
) -> Result<Contributor, ContextError> {
    let points: Vec<f64> = study
        .values
        .iter()
        .flat_map(|(numbers, _)| context.encoding().coordinates(numbers))
        .collect();
    let values: Vec<f64> = study
        .values
        .iter()
        .map(|(_, value)| goal.sign() * value)
        .collect();
    Contributor::new(context, &points, &values)
}

/// Numbers as a file has them, in single precision.
fn narrow(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|x| *x as f32).collect()
}

/// Bytes of the file that a publication is going to be, to within some dozens: numbers that are
/// made of releases are written with as many digits as they need.
///
/// **Errors**: as [`file()`].
fn size(
    publication: &Publication,
    context: &Context,
    multipliers: &[f64],
) -> Result<usize, PublishError> {
    let config = context.config();
    let m = config.features();
    let mut label = label(
        publication,
        context,
        multipliers,
        Said::PLACEHOLDER,
        SourceKind::Secret,
    )?;
    label.ledger = Some("0".repeat(64));
    let covariance = vec![0.0; m * (m + 1) / 2];
    let landmarks = narrow(context.landmarks());
    let file = PriorFile::new(label, landmarks, vec![0.0; m], covariance)?;
    Ok(file.to_bytes().len())
}

/// The file of the releases that were learned, which may be the first of those that are planned.
///
/// **Errors**: [`PublishError::Refused`] for a text or a number that no label has;
/// [`PublishError::Budget`].
pub fn file(
    publication: &Publication,
    context: &Context,
    multipliers: &[f64],
    learned: &Learned,
    source: SourceKind,
) -> Result<PriorFile, PublishError> {
    let m = context.config().features();
    let posterior = &learned.posterior;
    let made = &multipliers[..multipliers.len().min(learned.releases as usize)];
    let said = Said {
        heterogeneity: posterior.heterogeneity(),
        self_test: learned.self_test,
    };
    let label = label(publication, context, made, said, source)?;
    let rows = posterior.covariance().chunks_exact(m);
    let covariance = rows.enumerate().flat_map(|(i, row)| narrow(&row[..=i]));
    let landmarks = narrow(context.landmarks());
    Ok(PriorFile::new(
        label,
        landmarks,
        narrow(posterior.weights()),
        covariance.collect(),
    )?)
}

/// What releases say of their contributors, beside the posterior.
struct Said {
    heterogeneity: f64,
    self_test: f64,
}

impl Said {
    /// For a label whose length alone counts: no release was made.
    const PLACEHOLDER: Said = Said {
        heterogeneity: 0.01,
        self_test: 0.0,
    };
}

/// The label of a file of these releases.
fn label(
    publication: &Publication,
    context: &Context,
    made: &[f64],
    said: Said,
    source: SourceKind,
) -> Result<Label, PublishError> {
    let config = context.config();
    let (exact, replace_epsilon) = cost(made, publication.delta)?;
    // The multipliers were found for this ε and certified at it; what is computed back from them is
    // rounded up.
    let epsilon = exact.min(publication.epsilon);
    Ok(Label {
        space: publication.space.clone(),
        goal: publication.goal,
        value: publication.value.clone(),
        kernel: KERNEL.into(),
        lengthscale: context.lengthscale() as f32,
        noise_fraction: config.parameters().noise_variance,
        heterogeneity: said.heterogeneity,
        self_test: said.self_test.clamp(-SELF_TEST_MAX, SELF_TEST_MAX),
        contributors: config.parameters().agents,
        releases: made.len() as u32,
        noise_multipliers: made.to_vec(),
        epsilon,
        delta: publication.delta,
        replace_epsilon,
        neighboring_relation: NeighboringRelation::ReplaceSpecial.to_string(),
        accountant: ACCOUNTANT.into(),
        trust: config.parameters().trust,
        simulated: source == SourceKind::Simulation,
        dataset: publication.dataset.clone(),
        by: publication.by.clone(),
        note: publication.note.clone(),
        published: publication.published.clone(),
        ledger: None,
    })
}

#[cfg(test)]
mod tests;
