//! The agreement with its candidates, as it is published, and everything both sides compute from
//! it.
//!
//! What is published: the agreement and the candidates in postcard, of a campaign what is searched
//! and published, then the certificate of an authority in DER, where there is one
//! ([`crate::authority`]). Without an authority the digest in invitations is that of the agreement.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::domain::DomainError;
use sordino_core::features::FeatureError;
use sordino_core::federated::exchange::{Agreement, Announced, Protocol};
use sordino_core::federated::prior::{CampaignProtocol, Config, PriorError};
use sordino_core::federated::shares::Trust;
use sordino_core::federated::{ConfigError, OwnDraw, PublicError};
use sordino_core::kernel::{KernelError, Stationary, StationaryKernel};
use sordino_core::wire::{ScalarTag, frame_len_max};
use sordino_engine::federated::DriverError;
use sordino_engine::federated::agreement::agreement;
use sordino_engine::federated::context::prior_factor_within;
use sordino_experiment::scenario::{Method, Scenario};
use sordino_host::campaign::{Campaign, SiteError, points_digest};
use sordino_host::prior::publish::Publication;

use crate::authority::{self, Authority, AuthorityError};
use crate::shares;
use crate::stored::{self, VersionError};

mod constants;
mod difference;
mod text;

pub use constants::ConstantsError;
pub use difference::Difference;
pub use text::TextError;

/// What stored terms are called in their first line.
const NAME: &str = "terms";
/// Published terms are read up to this length: 2²⁴ candidates would be more, and no device holds
/// them.
pub(crate) const TERMS_BYTES_MAX: u64 = 64 << 20;
/// The most numbers that an agent keeps of one kind, such as the feature rows of all candidates: 1
/// GiB in double precision.
const ROWS_MAX: usize = 1 << 27;
/// The most numbers in the factor of the prior for joint draws: 512 MiB in double precision.
const FACTOR_NUMBERS_MAX: usize = 1 << 26;
/// The most multiply-adds for that factor, n·columns², or for a release: a minute or two of one
/// core.
const FACTOR_WORK_MAX: f64 = 1e11;
/// All queries of an agent of a vote together may take so many times that: they come one by one,
/// hours apart.
const QUERIES_WORK: f64 = 100.0;
/// From this many candidates on, the work for the factor is told before it begins.
const FACTOR_TOLD: usize = 2000;

/// Why terms were refused.
#[derive(Debug, thiserror::Error)]
pub enum TermsError {
    /// They were stored by a newer program, or are another file.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The bytes do not decode.
    #[error("the terms do not decode: {0}")]
    Format(#[source] postcard::Error),
    /// More numbers than an agent should keep.
    #[error(
        "an agent would keep {numbers} numbers (candidates × features, or its own); at most {max} are admissible"
    )]
    Rows {
        /// Numbers that the terms ask for.
        numbers: usize,
        /// The most that are admissible.
        max: usize,
    },
    /// More work for one release than an agent should do.
    #[error(
        "one release needs {work:.0e} multiply-adds of every agent; at most {max:.0e} are admissible"
    )]
    Work {
        /// Multiply-adds of a release.
        work: f64,
        /// The most that are admissible.
        max: f64,
    },
    /// Joint draws over so many candidates, with so rough a kernel, are more work than an agent
    /// should do.
    #[error(
        "joint draws over {points} candidates need a factor of the prior with more than {columns} columns, which is the most for \
         so many ({numbers} numbers, {work:.0e} multiply-adds); use fewer candidates, a larger surrogate.prior_tolerance, or \
         surrogate.own_draw = \"features\""
    )]
    Factor {
        /// Candidates in the list.
        points: usize,
        /// The most columns for so many candidates.
        columns: usize,
        /// Numbers of a factor with so many columns.
        numbers: usize,
        /// Multiply-adds for it.
        work: f64,
    },
    /// The candidates are not those of the agreement.
    #[error("the candidates are not those of the agreement")]
    Candidates,
    /// The authority that signs for agents.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The terms are not those that were expected.
    #[error("the terms have digest {found}, {expected} was expected")]
    Other {
        /// The digest of what came.
        found: Digest,
        /// The digest that was expected.
        expected: Digest,
    },
    /// The candidates are not admissible.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// The kernel is not admissible.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The features are not admissible.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The parts do not fit together.
    #[error(transparent)]
    Public(#[from] PublicError),
    /// They are of another method than the one asked for.
    #[error("the terms are those of another method")]
    Method,
    /// The landmarks are not those of the agreement.
    #[error("the landmarks are not those of the agreement")]
    Landmarks,
    /// The public numbers of a federated prior do not fit together.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// The public numbers of a vote do not fit together.
    #[error(transparent)]
    Vote(#[from] ConfigError),
    /// The scenario has no such federation.
    #[error(transparent)]
    Scenario(#[from] DriverError),
    /// What is to be searched and published is not admissible, or the numbers do not follow from
    /// it.
    #[error(transparent)]
    Campaign(#[from] Box<SiteError>),
    /// What is searched and published is too long, or not what the agreement names.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A campaign in a number format that it is not computed in.
    #[error("a campaign in 32-bit numbers: 64-bit ones are admissible")]
    Scalar,
}

impl From<SiteError> for TermsError {
    fn from(error: SiteError) -> Self {
        TermsError::Campaign(Box::new(error))
    }
}

/// What everybody may know: the agreement, the list of points that it names by a digest, and the
/// authority, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The agreement that is published.
    pub agreement: Agreement,
    /// All candidates in the unit box, count × D.
    pub candidates: Vec<f64>,
    /// The landmarks of a federated prior's features, M × D; none of other methods.
    pub landmarks: Vec<f64>,
    /// What a campaign searches and publishes, as its agreement names it; empty of other methods.
    pub publication: String,
    /// The certificate of the authority that signs those of agents, in DER; none where tokens bind
    /// agents to keys.
    pub authority: Option<Vec<u8>>,
}

/// What agents make their own draws of: a kernel, and how much of its variance a factor may lack.
struct OwnDraws {
    own_draw: OwnDraw,
    kernel: Stationary,
    lengthscale: f64,
    signal_variance: f64,
    tolerance: f64,
}

/// The beginning of published terms; what is published follows for a campaign, and a certificate
/// where there is an authority.
#[derive(Serialize, Deserialize)]
struct Published<A, C> {
    agreement: A,
    candidates: C,
    landmarks: C,
}

/// Refuses more numbers than an agent should keep.
fn few(numbers: usize) -> Result<(), TermsError> {
    if numbers > ROWS_MAX {
        return Err(TermsError::Rows {
            numbers,
            max: ROWS_MAX,
        });
    }
    Ok(())
}

/// Refuses more work than an agent should do.
fn little(work: f64) -> Result<(), TermsError> {
    if work > FACTOR_WORK_MAX {
        return Err(TermsError::Work {
            work,
            max: FACTOR_WORK_MAX,
        });
    }
    Ok(())
}

/// The work of preparing one release: the designs of n observations each, in m features.
fn release_work(config: &Config) -> f64 {
    let m = config.features() as f64;
    let n = config.design_len() as f64;
    let designs = f64::from(config.parameters().designs);
    designs * n * (2.5 * m * m + n * m) + 6.5 * m * m * m
}

impl Terms {
    /// The terms of one method of a scenario's first run, over these candidates.
    ///
    /// **Errors**: [`TermsError::Scenario`], for a method that no network carries too;
    /// [`TermsError::Domain`].
    pub fn new(
        scenario: &Scenario,
        method: Method,
        candidates: &[f64],
        dim: usize,
        deployment: u64,
        announced: Announced,
    ) -> Result<Self, TermsError> {
        Self::of_run(scenario, method, 0, candidates, dim, deployment, announced)
    }

    /// The same for a later run, which only a simulation has.
    ///
    /// **Errors**: as [`Terms::new`].
    pub fn of_run(
        scenario: &Scenario,
        method: Method,
        run: u32,
        candidates: &[f64],
        dim: usize,
        deployment: u64,
        announced: Announced,
    ) -> Result<Self, TermsError> {
        let (agreement, landmarks) = agreement(
            scenario, method, run, candidates, dim, deployment, announced,
        )?;
        let publication = String::new();
        Ok(Terms {
            agreement,
            candidates: candidates.to_vec(),
            landmarks,
            publication,
            authority: None,
        })
    }

    /// What a method of somebody's own is rehearsed under. Nobody serves or joins it.
    pub(crate) fn of_own(agreement: Agreement, candidates: &[f64]) -> Self {
        let landmarks = Vec::new();
        let publication = String::new();
        Terms {
            agreement,
            candidates: candidates.to_vec(),
            landmarks,
            publication,
            authority: None,
        }
    }

    /// The terms of a campaign.
    ///
    /// **Errors**: [`TermsError::Domain`].
    pub fn of_campaign(
        campaign: &Campaign,
        deployment: u64,
        announced: Announced,
    ) -> Result<Self, TermsError> {
        let context = campaign.context();
        let dim = context.encoding().dim();
        let candidates = campaign.coordinates().to_vec();
        let agreement = Agreement {
            protocol: Protocol::Campaign(campaign.protocol().clone()),
            candidates: points_digest(&candidates, dim)?,
            dim: dim as u32,
            scalar: ScalarTag::F64,
            deployment,
            announced,
        };
        let landmarks = context.landmarks().to_vec();
        let publication = campaign.text().to_owned();
        Ok(Terms {
            agreement,
            candidates,
            landmarks,
            publication,
            authority: None,
        })
    }

    /// What a campaign searches and publishes; nothing of other methods.
    ///
    /// **Errors**: [`TermsError::Campaign`] for a text that is none, [`TermsError::Text`] for one
    /// that is too long.
    pub fn publication(&self) -> Result<Option<Publication>, TermsError> {
        match &self.agreement.protocol {
            Protocol::Campaign(_) => {
                text::few_bytes(&self.publication)?;
                let publication =
                    serde_json::from_str(&self.publication).map_err(SiteError::Text)?;
                text::few_choices(&publication)?;
                Ok(Some(publication))
            }
            Protocol::Draws(_) | Protocol::Prior(_) | Protocol::Vote(_) | Protocol::Own(_) => {
                Ok(None)
            }
        }
    }

    /// The campaign of these terms, all of whose numbers follow from what is published.
    ///
    /// **Errors**: [`TermsError::Method`], [`TermsError::Campaign`], [`TermsError::Candidates`].
    pub fn campaign(&self) -> Result<Campaign, TermsError> {
        self.campaign_by(Campaign::parse)
    }

    /// The same of a campaign that is rehearsed, which is none for real sites.
    ///
    /// **Errors**: as [`Terms::campaign`].
    pub(crate) fn rehearsed(&self) -> Result<Campaign, TermsError> {
        self.campaign_by(Campaign::parse_rehearsed)
    }

    fn campaign_by(
        &self,
        parse: impl FnOnce(&str, &CampaignProtocol) -> Result<Campaign, SiteError>,
    ) -> Result<Campaign, TermsError> {
        let Protocol::Campaign(agreed) = &self.agreement.protocol else {
            return Err(TermsError::Method);
        };
        if self.agreement.scalar != ScalarTag::F64 {
            return Err(TermsError::Scalar);
        }
        let campaign = parse(&self.publication, agreed)?;
        let dim = campaign.context().encoding().dim();
        let candidates = points_digest(campaign.coordinates(), dim)?;
        let same = (self.agreement.dim as usize, self.agreement.candidates) == (dim, candidates);
        if same {
            Ok(campaign)
        } else {
            Err(TermsError::Candidates)
        }
    }

    /// Candidates in the list.
    pub fn points(&self) -> usize {
        self.candidates.len() / (self.agreement.dim as usize).max(1)
    }

    /// Refuses terms with more numbers, or more work, than an agent should agree to: the feature
    /// rows of all candidates, and of a federated prior the agent's own numbers, its designs, and
    /// the preparation of one release.
    ///
    /// **Errors**: [`TermsError::Rows`], [`TermsError::Work`], [`TermsError::Prior`],
    /// [`TermsError::Vote`]; [`TermsError::Method`] for a method of somebody's own.
    pub fn bounded(&self) -> Result<(), TermsError> {
        let points = self.points();
        match &self.agreement.protocol {
            Protocol::Draws(draws) => {
                let features = draws.config.parameters().feature_count as usize;
                few(points.saturating_mul(features))
            }
            Protocol::Prior(prior) => {
                prior.check()?;
                let features = prior.config.features();
                let inputs = prior.config.design_len();
                let designs = prior.config.parameters().designs as usize;
                let observations = inputs + prior.rounds as usize;
                few(points.saturating_mul(features))?;
                few(designs * inputs)?;
                // A factor of n(n + 1)/2 numbers for each model at most, beside the posterior.
                let factors = prior.models::<f64>().len() * observations * observations / 2;
                few(factors + 8 * features * features)?;
                little(release_work(&prior.config))
            }
            Protocol::Vote(vote) => {
                vote.check(points)?;
                let columns = match vote.ballot.parameters().own_draw {
                    OwnDraw::Joint => factor_max(points).0,
                    OwnDraw::Features => vote.feature_count as usize,
                };
                few(points.saturating_mul(columns))?;
                // The winner is computed from a row for each candidate, a query from one for each
                // observation.
                let queries =
                    vote.ballot.parameters().initial_points as usize + vote.rounds as usize;
                little(points.max(queries) as f64 * (columns as f64).powi(2))?;
                // Each query solves for all observations before it anew.
                let all =
                    queries as f64 * queries as f64 * columns as f64 * queries.min(columns) as f64;
                little(all / QUERIES_WORK)
            }
            Protocol::Own(_) => Err(TermsError::Method),
            Protocol::Campaign(campaign) => {
                campaign.check()?;
                few(points.saturating_mul(points.max(campaign.config.features())))?;
                little(release_work(&campaign.config))
            }
        }
    }

    /// What agents make their joint draws of; nothing where they draw by features, or not at all.
    fn own_draws(&self) -> Option<OwnDraws> {
        let made = match &self.agreement.protocol {
            Protocol::Campaign(_) | Protocol::Own(_) => return None,
            Protocol::Vote(vote) => OwnDraws {
                own_draw: vote.ballot.parameters().own_draw,
                kernel: vote.features.kernel,
                lengthscale: vote.features.lengthscale,
                signal_variance: vote.features.signal_variance,
                tolerance: vote.features.prior_tolerance,
            },
            Protocol::Draws(draws) => OwnDraws {
                own_draw: draws.config.parameters().own_draw,
                kernel: draws.features.kernel,
                lengthscale: draws.features.lengthscale,
                signal_variance: draws.features.signal_variance,
                tolerance: draws.features.prior_tolerance,
            },
            Protocol::Prior(prior) => OwnDraws {
                own_draw: prior.own_draw,
                kernel: prior.kernel,
                lengthscale: prior.lengthscale,
                signal_variance: prior.signal_variance,
                tolerance: prior.prior_tolerance,
            },
        };
        Some(made).filter(|made| made.own_draw == OwnDraw::Joint)
    }

    /// The work that joint draws are at the most, for people; none where agents draw by features,
    /// or where it is done at once.
    pub fn work(&self) -> Option<String> {
        let points = self.points();
        if self.own_draws().is_none() || points < FACTOR_TOLD {
            return None;
        }
        let (columns, numbers, work) = factor_max(points);
        Some(format!(
            "joint draws over {points} candidates: a factor of the prior with at most {columns} columns, which is {} MB and \
             {work:.0e} multiply-adds at the most; beyond that these terms are refused",
            numbers / 125_000
        ))
    }

    /// The factor of the prior over all candidates, row-major, for agents that draw jointly; empty
    /// where they draw by features.
    ///
    /// **Errors**: [`TermsError::Kernel`]; [`TermsError::Factor`] if it needs more columns than
    /// admissible: 2²⁶ numbers, 10¹¹ multiply-adds.
    pub fn factor(&self) -> Result<Vec<f64>, TermsError> {
        let Some(OwnDraws {
            kernel,
            lengthscale,
            signal_variance,
            tolerance,
            ..
        }) = self.own_draws()
        else {
            return Ok(Vec::new());
        };
        let points = self.points();
        let kernel = StationaryKernel::with_shape(kernel, lengthscale, signal_variance)
            .map_err(TermsError::Kernel)?;
        let (columns, numbers, work) = factor_max(points);
        let dim = self.agreement.dim as usize;
        let within = prior_factor_within(&kernel, &self.candidates, dim, tolerance, columns);
        let (factor, _) = within.ok_or(TermsError::Factor {
            points,
            columns,
            numbers,
            work,
        })?;
        Ok(factor)
    }

    /// Bytes of the longest request that an agent has a reason to send: an upload, or a token.
    pub fn upload_bytes_max(&self) -> usize {
        let numbers = self.agreement.protocol.upload_len();
        let protocol = &self.agreement.protocol;
        match shares::trust(protocol) {
            Trust::OneServer => frame_len_max(self.agreement.scalar, numbers).max(64),
            Trust::TwoServers => shares::message_len_max(numbers),
        }
    }

    /// The terms as they are stored: as they are published, behind their version.
    ///
    /// **Errors**: [`TermsError::Format`].
    pub fn to_stored(&self) -> Result<Vec<u8>, TermsError> {
        Ok(stored::with_version(NAME, &self.to_bytes()?))
    }

    /// The terms as they are published.
    ///
    /// **Errors**: [`TermsError::Format`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, TermsError> {
        let Terms {
            agreement,
            candidates,
            landmarks,
            publication,
            ..
        } = self;
        let published = Published {
            agreement,
            candidates,
            landmarks,
        };
        let mut bytes = postcard::to_allocvec(&published).map_err(TermsError::Format)?;
        if let Protocol::Campaign(_) = agreement.protocol {
            bytes.extend(postcard::to_allocvec(publication).map_err(TermsError::Format)?);
        }
        bytes.extend_from_slice(self.authority.as_deref().unwrap_or_default());
        Ok(bytes)
    }

    /// What invitations name: the digest of the agreement, and of the authority where there is one.
    pub fn digest(&self) -> Digest {
        let agreement = self.agreement.digest();
        self.authority.as_deref().map_or(agreement, |certificate| {
            authority::digest(&agreement, certificate)
        })
    }

    /// The first field in which other terms differ from these; nothing of the same.
    pub fn difference(&self, now: &Terms) -> Option<Difference> {
        let authorities = [self.authority.as_deref(), now.authority.as_deref()];
        Difference::of(&self.agreement, &now.agreement)
            .or_else(|| Difference::of_authorities(authorities))
    }

    /// The authority that signs for agents, if there is one.
    ///
    /// **Errors**: [`TermsError::Authority`].
    pub fn authority(&self) -> Result<Option<Arc<Authority>>, TermsError> {
        let run = self.agreement.deployment;
        let agents = self.agreement.protocol.agents();
        let made = self
            .authority
            .as_deref()
            .map(|certificate| Authority::new(certificate, run, agents));
        Ok(made.transpose()?)
    }

    /// Reads them back, published or stored. Compares the candidates and what is published with the
    /// agreement, and the digest of all with `expected` if it is given.
    ///
    /// **Errors**: [`TermsError`].
    pub fn from_bytes(bytes: &[u8], expected: Option<&Digest>) -> Result<Self, TermsError> {
        let (bytes, _) = stored::content(NAME, bytes)?;
        let (
            Published {
                agreement,
                candidates,
                landmarks,
            },
            rest,
        ) = postcard::take_from_bytes::<Published<Agreement, Vec<f64>>>(bytes)
            .map_err(TermsError::Format)?;
        let (publication, rest) = match agreement.protocol {
            Protocol::Campaign(_) => postcard::take_from_bytes(rest).map_err(TermsError::Format)?,
            Protocol::Draws(_) | Protocol::Prior(_) | Protocol::Vote(_) | Protocol::Own(_) => {
                (String::new(), rest)
            }
        };
        let authority = (!rest.is_empty()).then(|| rest.to_vec());
        let terms = Terms {
            agreement,
            candidates,
            landmarks,
            publication,
            authority,
        };
        terms.authority()?;
        let found = terms.digest();
        if let Some(expected) = expected.filter(|expected| **expected != found) {
            return Err(TermsError::Other {
                found,
                expected: *expected,
            });
        }
        text::agreed(&terms.publication, &terms.agreement.protocol)?;
        if points_digest(&terms.candidates, terms.agreement.dim as usize)?
            != terms.agreement.candidates
        {
            return Err(TermsError::Candidates);
        }
        let agreed = match &terms.agreement.protocol {
            Protocol::Draws(_) | Protocol::Vote(_) | Protocol::Own(_)
                if terms.landmarks.is_empty() =>
            {
                return Ok(terms);
            }
            Protocol::Draws(_) | Protocol::Vote(_) | Protocol::Own(_) => None,
            Protocol::Prior(prior) => Some(prior.landmarks),
            Protocol::Campaign(campaign) => Some(campaign.landmarks),
        };
        if agreed
            != Some(points_digest(
                &terms.landmarks,
                terms.agreement.dim as usize,
            )?)
        {
            return Err(TermsError::Landmarks);
        }
        Ok(terms)
    }
}

/// The largest factor over this many candidates: its columns, its numbers, and the multiply-adds
/// for it.
fn factor_max(points: usize) -> (usize, usize, f64) {
    let n = points.max(1);
    let by_work = (FACTOR_WORK_MAX / n as f64).sqrt() as usize;
    let columns = n.min(FACTOR_NUMBERS_MAX / n).min(by_work).max(1);
    (columns, n * columns, n as f64 * (columns as f64).powi(2))
}
