//! Makes a prior file of studies that one party holds: contributions, charges, noise, posterior, label.
//!
//! A study is one contributor. Each release goes the way of every release here: joint vectors through the integer encoding
//! of [`ServerHost`], a charge that the ledger holds before anything leaves, noise of the system. What is public (candidates,
//! landmarks, virtual designs) is a function of the space and of numbers in this file alone.

use sordino_core::federated::ServerError;
use sordino_core::federated::prior::{
    Config, Filter, Observations, Parameters, Plan, PriorError, Public, PublicState, Tables, choose_landmarks,
    contribution, contribution_scratch_len, draw_distinct_designs, gram, kernel_rows, landmark_rows,
    landmark_rows_scratch_len, landmarks_scratch_len, scratch_len, self_test_scratch_len, shares, standardise,
    storage_len, total_mu,
};
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::privacy::{NeighboringRelation, NoiseSource};
use sordino_core::random::RunSeed;

use super::label::{ACCOUNTANT, CONTRIBUTORS_MAX, KERNEL, Label, check_text, cost};
use super::{PriorFile, PriorFileError, refuse};
use crate::ledger::{Budgeted, Ledger, LedgerError};
use crate::server::{HostError, Population, ServerHost, Sources, WithPublic};
use crate::space::{Encoding, Goal, Space};

/// Public candidates that the file is computed on.
pub const CANDIDATES: u32 = 1000;
/// Points of a virtual design: what a contributor is expected to have.
const DESIGN_POINTS: u32 = 10;
/// The fewest points of a study: of two, one says nothing but the constant.
pub const POINTS_MIN: usize = 3;
/// The most points of a study.
pub const POINTS_MAX: usize = 2000;
/// The least δ that is refused is this share of 1/N.
const DELTA_SHARE: f64 = 0.1;

/// What one contributor knows: points in the space's numbers, one a parameter, and a value for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name among the others; not published.
    pub name: String,
    /// Points and values, as the user counts.
    pub values: Vec<(Vec<f64>, f64)>,
}

/// What is to be published.
#[derive(Clone, Debug, PartialEq)]
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
    /// No noise for this budget.
    #[error("no noise for this epsilon and delta")]
    Budget(#[from] AccountantError),
    /// The ledger refuses.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The budget of the data set has no room for the releases.
    #[error("release {release} does not fit the budget of the data set; {charged} releases were charged")]
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
}

/// What everybody knows beforehand, and what follows from it.
struct Context {
    config: Config,
    lengthscale: f64,
    dim: usize,
    landmarks: Vec<f64>,
    rows: Vec<f64>,
    prior_rows: Vec<f64>,
    gram: Vec<f64>,
    designs: Vec<u32>,
}

impl WithPublic<f64> for &Context {
    fn public(&self) -> Result<Public<'_, f64>, PriorError> {
        let tables = Tables { prior_rows: &self.prior_rows, gram: &self.gram, designs: &self.designs };
        Public::new(&self.config, &self.rows, tables)
    }
}

/// A number that `f32` holds, so that every reader of the file computes with the same.
fn held(x: f64) -> f64 {
    f64::from(x as f32)
}

impl Context {
    fn new(publication: &Publication, contributors: u32) -> Result<(Self, Encoding), PublishError> {
        let space = &publication.space;
        let core = space.core().map_err(|error| refuse("space", error, "a space that can be searched"))?;
        let encoding = Encoding::new(&core);
        let covering = super::points(space, CANDIDATES)?;
        let (dim, points) = (
            encoding.dim(),
            covering.iter().flat_map(|numbers| encoding.coordinates(numbers)).map(held).collect::<Vec<f64>>(),
        );
        let count = points.len() / dim;
        let most = (publication.features as usize).min(count);
        let (mut pivots, mut rows) = (vec![0; most], vec![0.0; count * most]);
        let chosen =
            choose_landmarks(&points, dim, &mut pivots, &mut rows, &mut vec![0.0; landmarks_scratch_len(count)])?;
        rows.truncate(count * chosen.count);
        let landmarks: Vec<f64> = pivots[..chosen.count]
            .iter()
            .flat_map(|pivot| &points[*pivot as usize * dim..(*pivot as usize + 1) * dim])
            .copied()
            .collect();
        let design_len = DESIGN_POINTS.min(count as u32);
        let config = Config::new(Parameters::own_units(contributors, chosen.count as u32, design_len))
            .map_err(|error| refuse(error.field, "not admissible", error.admissible))?;
        let (mut square, mut scratch) = (vec![0.0; count * count], vec![0.0; count]);
        let rank = kernel_rows(chosen.lengthscale, &points, dim, &mut square, &mut scratch)?;
        let prior_rows = square.chunks_exact(count).flat_map(|row| &row[..rank]).copied().collect();
        let mut mean = vec![0.0; chosen.count * chosen.count];
        gram(&config, &rows, &mut mean)?;
        let mut designs = vec![0; (config.parameters().designs * design_len) as usize];
        draw_distinct_designs(&config, RunSeed::new(0, 0), count as u32, &mut designs)?;
        let lengthscale = chosen.lengthscale;
        Ok((Context { config, lengthscale, dim, landmarks, rows, prior_rows, gram: mean, designs }, encoding))
    }
}

/// A study as the method sees it.
struct Contributor {
    /// Features of its points.
    rows: Vec<f64>,
    /// A factor of the kernel over its points.
    prior_rows: Vec<f64>,
    /// Pairs of the number of a point and its standardised value, larger is better.
    log: Vec<f64>,
}

impl Contributor {
    fn new(study: &Study, context: &Context, encoding: &Encoding, goal: Goal) -> Result<Self, PublishError> {
        let (n, m) = (study.values.len(), context.config.features());
        let points: Vec<f64> = study.values.iter().flat_map(|(numbers, _)| encoding.coordinates(numbers)).collect();
        let mut rows = vec![0.0; n * m];
        let mut scratch = vec![0.0; landmark_rows_scratch_len(m)];
        landmark_rows(context.lengthscale, &context.landmarks, context.dim, &points, &mut rows, &mut scratch)?;
        let mut prior_rows = vec![0.0; n * n];
        kernel_rows(context.lengthscale, &points, context.dim, &mut prior_rows, &mut vec![0.0; n])?;
        let values: Vec<f64> = study.values.iter().map(|(_, value)| goal.sign() * value).collect();
        let mut standardised = vec![0.0; n];
        standardise(&values, &mut standardised)?;
        let log = standardised.iter().enumerate().flat_map(|(place, z)| [place as f64, *z]).collect();
        Ok(Contributor { rows, prior_rows, log })
    }
}

/// Checks studies and numbers before anything is computed.
///
/// **Errors**: [`PublishError::Refused`], [`PublishError::Study`].
pub fn check(publication: &Publication, studies: &[Study]) -> Result<(), PublishError> {
    let count = studies.len();
    if count < 2 || count > CONTRIBUTORS_MAX as usize {
        return Err(refuse("number of studies", count, "2 to 16777216: of one alone a file is its data").into());
    }
    let (delta, most) = (publication.delta, DELTA_SHARE / count as f64);
    if !(delta > 0.0 && delta <= most) {
        let admissible = format!("above 0 and at most {most}, a tenth of 1 by the number of studies");
        return Err(refuse("delta", delta, &admissible).into());
    }
    if !(publication.epsilon > 0.0 && publication.epsilon.is_finite()) {
        return Err(refuse("epsilon", publication.epsilon, "a positive number").into());
    }
    if !(1..=64).contains(&publication.releases) {
        return Err(refuse("releases", publication.releases, "1 to 64; 2 is usual").into());
    }
    if !(2..=super::FEATURES_MAX as u32).contains(&publication.features) {
        return Err(refuse("features", publication.features, "2 to 1024; 100 is usual").into());
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
    let core = publication.space.core().map_err(|error| refuse("space", error, "a space that can be searched"))?;
    for study in studies {
        let wrong = |what: String, admissible: &str| {
            Err(PublishError::Study { study: study.name.clone(), what, admissible: admissible.into() })
        };
        let points = study.values.len();
        if !(POINTS_MIN..=POINTS_MAX).contains(&points) {
            return wrong(format!("{points} points"), "3 to 2000");
        }
        for (numbers, value) in &study.values {
            if core.check(numbers).is_err() {
                return wrong(format!("the point {numbers:?}"), "a point of the space");
            }
            if !value.is_finite() {
                return wrong(format!("the value {value}"), "a finite number");
            }
        }
    }
    Ok(())
}

/// Noise multipliers of the releases, equal shares of (ε, δ); what they cost, computed back from them, is at most ε.
///
/// **Errors**: [`PublishError::Budget`].
pub fn noise_multipliers(publication: &Publication) -> Result<Vec<f64>, PublishError> {
    let mu = total_mu(publication.epsilon, publication.delta)?;
    let releases = publication.releases as usize;
    let mut out = vec![0.0; releases];
    shares(mu, &vec![1.0; releases], &mut out)?;
    // Rounding may lead beyond ε by a few parts in 10¹⁶; a budget of exactly ε would refuse the file for it.
    let mut more = f64::EPSILON;
    while cost(&out, publication.delta)?.0 > publication.epsilon && more < 1e-6 {
        out.iter_mut().for_each(|multiplier| *multiplier *= 1.0 + more);
        more *= 2.0;
    }
    Ok(out)
}

/// Refuses a budget that the releases alone exceed, before there is a ledger of it.
///
/// **Errors**: [`PublishError::Refused`], [`PublishError::Budget`].
pub fn check_budget(multipliers: &[f64], delta: f64, epsilon_max: Option<f64>) -> Result<(), PublishError> {
    let epsilon = cost(multipliers, delta)?.0;
    match epsilon_max.filter(|most| *most < epsilon) {
        Some(most) => Err(refuse("max_epsilon", most, &format!("at least {epsilon}, what this file costs")).into()),
        None => Ok(()),
    }
}

/// Publishes: `progress` is told each release that is made. The file is not written.
///
/// **Privacy**: the posterior is a function of the releases, which cost what the label says; each is charged before it is
/// drawn. What this returns besides (errors, the number of studies) is public: N is.
///
/// **Errors**: [`PublishError`].
///
/// **Cost**: 128 virtual designs and N contributions a release, some seconds at M = 100.
pub fn publish<S: Sources, L>(
    publication: &Publication,
    studies: &[Study],
    sources: S,
    ledger: L,
    mut progress: impl FnMut(&str),
) -> Result<(PriorFile, L), PublishError>
where
    L: Budgeted + sordino_core::privacy::Ledger<<S::Source as NoiseSource>::Provenance, Error = LedgerError>,
{
    check(publication, studies)?;
    let contributors = studies.len() as u32;
    let multipliers = noise_multipliers(publication)?;
    let (context, encoding) = Context::new(publication, contributors)?;
    progress(&format!("{} landmarks, lengthscale {}", context.config.features(), context.lengthscale));
    let all = studies
        .iter()
        .map(|study| Contributor::new(study, &context, &encoding, publication.goal))
        .collect::<Result<Vec<_>, _>>()?;
    let rounds = vec![0; multipliers.len()];
    let plan = Plan { rounds: &rounds, noise_multipliers: &multipliers };
    let mut host = ServerHost::new(Population::new(&context, plan)?, sources, ledger, None)?;
    let mut released = Vec::new();
    for release in 0..publication.releases {
        if !host.open()? {
            return Err(PublishError::OverBudget { release, charged: release });
        }
        for (agent, contributor) in all.iter().enumerate() {
            if let Some(vector) = vector(contributor, &context, host.method(), release)? {
                host.upload(agent as u32, release, &vector)?;
            }
        }
        let _counts = host.close()?;
        let made = host.last_release().map(|(_, numbers)| numbers.to_vec());
        released.extend(made.unwrap_or_default());
        progress(&format!("release {} of {} is charged and made", release + 1, publication.releases));
    }
    let (posterior, self_test) = replayed(&context, plan, &released)?;
    let simulated = host.kind() == sordino_core::privacy::SourceKind::Simulation;
    let file = file(publication, &context, &multipliers, &posterior, self_test, contributors, simulated)?;
    Ok((file, host.into_ledger()))
}

/// The joint vector of a contributor for an open release; nothing where its numbers have no factor.
fn vector<C: WithPublic<f64>>(
    contributor: &Contributor,
    context: &Context,
    population: &Population<f64, C>,
    release: u32,
) -> Result<Option<Vec<f64>>, PublishError> {
    let Some((terms, _)) = population.open_terms(release) else { return Err(PriorError::NotPrepared.into()) };
    let tables = Tables { prior_rows: &contributor.prior_rows, ..Tables::NONE };
    let public = Public::new(&context.config, &contributor.rows, tables)?;
    let n = contributor.log.len() / 2;
    let observations = Observations::new(&contributor.log, n)?;
    let mut scratch = vec![0.0; contribution_scratch_len(n)];
    let mut out = vec![0.0; context.config.contribution_len()];
    match contribution(&public, &terms, population.posterior().weights(), &observations, &mut scratch, &mut out) {
        Ok(_clip) => Ok(Some(out)),
        Err(PriorError::Singular(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The posterior of these releases, and the self-test: as any reader of them computes both.
fn replayed(
    context: &Context,
    plan: Plan<'_>,
    released: &[f64],
) -> Result<(PublicState<f64, Vec<f64>>, f64), PublishError> {
    let (m, n) = (context.config.features(), context.config.design_len());
    let mut posterior = PublicState::new(context.config, vec![0.0; storage_len(m)])?;
    let mut scratch = vec![0.0; scratch_len(m, n)];
    let public = context.public()?;
    let mut filter = Filter::new(plan, public, &mut posterior, &mut scratch)?;
    let self_test = filter.replay(released, &mut vec![0.0; self_test_scratch_len(m, n)])?;
    Ok((posterior, self_test))
}

fn file(
    publication: &Publication,
    context: &Context,
    multipliers: &[f64],
    posterior: &PublicState<f64, Vec<f64>>,
    self_test: f64,
    contributors: u32,
    simulated: bool,
) -> Result<PriorFile, PublishError> {
    let m = context.config.features();
    let (exact, replace_epsilon) = cost(multipliers, publication.delta)?;
    // The multipliers were found for this ε and certified at it; what is computed back from them is rounded up.
    let epsilon = exact.min(publication.epsilon);
    let narrow = |numbers: &[f64]| numbers.iter().map(|x| *x as f32).collect::<Vec<_>>();
    let covariance = posterior.covariance().chunks_exact(m).enumerate().flat_map(|(i, row)| narrow(&row[..=i]));
    let label = Label {
        space: publication.space.clone(),
        goal: publication.goal,
        value: publication.value.clone(),
        kernel: KERNEL.into(),
        lengthscale: context.lengthscale as f32,
        noise_fraction: context.config.parameters().noise_variance,
        heterogeneity: posterior.heterogeneity(),
        self_test,
        contributors,
        releases: publication.releases,
        noise_multipliers: multipliers.to_vec(),
        epsilon,
        delta: publication.delta,
        replace_epsilon,
        neighboring_relation: NeighboringRelation::ReplaceSpecial.to_string(),
        accountant: ACCOUNTANT.into(),
        simulated,
        dataset: publication.dataset.clone(),
        by: publication.by.clone(),
        note: publication.note.clone(),
        published: publication.published.clone(),
        ledger: None,
    };
    let landmarks = narrow(&context.landmarks);
    Ok(PriorFile::new(label, landmarks, narrow(posterior.weights()), covariance.collect())?)
}

/// The file with the head of the ledger that its releases were charged in; to be signed after that.
#[must_use]
pub fn with_ledger(mut file: PriorFile, ledger: &Ledger) -> PriorFile {
    file.signed = None;
    file.label.ledger = Some(ledger.mark().chain());
    file
}

#[cfg(test)]
mod tests;
