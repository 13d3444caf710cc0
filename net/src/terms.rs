//! The agreement with its candidates, as it is published, and everything both sides compute from it.
//!
//! What is published: the agreement and the candidates in postcard, then the certificate of an authority in DER, where there
//! is one ([`crate::authority`]). Without an authority the digest in invitations is that of the agreement.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, DomainError};
use sordino_core::features::{FeatureError, random_fourier};
use sordino_core::federated::exchange::{Agreement, Announced, candidates_digest};
use sordino_core::federated::{CandidateRows, OwnDraw, Public, PublicError, Tables};
use sordino_core::kernel::{KernelError, StationaryKernel};
use sordino_core::math::Scalar;
use sordino_core::wire::frame_len_max;
use sordino_sim::model::federated::DriverError;
use sordino_sim::model::federated::context::{agreement, prior_factor_within};
use sordino_sim::scenario::method::Kind;
use sordino_sim::scenario::{Method, Scenario};

use crate::authority::{self, Authority, AuthorityError};
use crate::stored::{self, VersionError};

/// What stored terms are called in their first line.
const NAME: &str = "terms";
/// Published terms are read up to this length: 2²⁴ candidates would be more, and no device holds them.
pub const TERMS_BYTES_MAX: u64 = 64 << 20;
/// The most numbers in the feature rows of all candidates: 1 GiB in double precision.
const ROWS_MAX: usize = 1 << 27;
/// The most numbers in the factor of the prior for joint draws: 512 MiB in double precision.
const FACTOR_NUMBERS_MAX: usize = 1 << 26;
/// The most multiply-adds for that factor, n·columns²: a minute or two of one core.
const FACTOR_WORK_MAX: f64 = 1e11;
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
    /// More numbers than an agent should keep: candidates × features.
    #[error("candidates × features are {numbers} numbers; at most {max} are admissible")]
    Rows {
        /// Numbers that the terms ask for.
        numbers: usize,
        /// The most that are admissible.
        max: usize,
    },
    /// Joint draws over so many candidates, with so rough a kernel, are more work than an agent should do.
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
    /// The federated prior, and methods whose parties are handed in: no network carries their frames.
    #[error("method {}: runs in the simulator only; ts, fts, dp-fts and their variants run over a network, the federated prior does not", .0.name())]
    Prior(Method),
    /// The scenario has no such federation.
    #[error(transparent)]
    Scenario(#[from] DriverError),
}

/// What everybody may know: the agreement, the list of points that it names by a digest, and the authority, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The agreement that is published.
    pub agreement: Agreement,
    /// All candidates in the unit box, count × D.
    pub candidates: Vec<f64>,
    /// The certificate of the authority that signs those of agents, in DER; none where tokens bind agents to keys.
    pub authority: Option<Vec<u8>>,
}

/// The beginning of published terms; a certificate follows where there is an authority.
#[derive(Serialize, Deserialize)]
struct Published<A, C> {
    agreement: A,
    candidates: C,
}

impl Terms {
    /// The terms of one method of a scenario's first run, over these candidates.
    ///
    /// **Errors**: [`TermsError::Prior`], [`TermsError::Scenario`], [`TermsError::Domain`].
    pub fn new(
        scenario: &Scenario,
        method: Method,
        candidates: &[f64],
        dim: usize,
        deployment: u64,
        announced: Announced,
    ) -> Result<Self, TermsError> {
        if !matches!(method.parts().kind, Kind::Alone | Kind::Draws) {
            return Err(TermsError::Prior(method));
        }
        let agreement = agreement(scenario, method, candidates, dim, deployment, announced)?;
        Ok(Terms { agreement, candidates: candidates.to_vec(), authority: None })
    }

    /// Candidates in the list.
    pub fn points(&self) -> usize {
        self.candidates.len() / (self.agreement.dim as usize).max(1)
    }

    /// Refuses terms with more numbers in the feature rows of all candidates than an agent should keep.
    ///
    /// **Errors**: [`TermsError::Rows`].
    pub fn bounded(&self) -> Result<(), TermsError> {
        let count = self.agreement.config.parameters().feature_count as usize;
        match self.points().saturating_mul(count) {
            numbers if numbers > ROWS_MAX => Err(TermsError::Rows { numbers, max: ROWS_MAX }),
            _ => Ok(()),
        }
    }

    /// The work that joint draws are at the most, for people; none where agents draw by features, or where it is done at once.
    pub fn work(&self) -> Option<String> {
        let points = self.points();
        if self.agreement.config.parameters().own_draw != OwnDraw::Joint || points < FACTOR_TOLD {
            return None;
        }
        let (columns, numbers, work) = factor_max(points);
        Some(format!(
            "joint draws over {points} candidates: a factor of the prior with at most {columns} columns, which is {} MB and \
             {work:.0e} multiply-adds at the most; beyond that these terms are refused",
            numbers / 125_000
        ))
    }

    /// The factor of the prior over all candidates, row-major, for agents that draw jointly; empty where they draw by features.
    ///
    /// **Errors**: [`TermsError::Kernel`]; [`TermsError::Factor`] if it needs more columns than admissible: 2²⁶ numbers, 10¹¹
    /// multiply-adds.
    pub fn factor(&self) -> Result<Vec<f64>, TermsError> {
        let (public, dim, points) = (self.agreement.features, self.agreement.dim as usize, self.points());
        if self.agreement.config.parameters().own_draw != OwnDraw::Joint {
            return Ok(Vec::new());
        }
        let kernel = StationaryKernel::with_shape(public.kernel, public.lengthscale, public.signal_variance)
            .map_err(TermsError::Kernel)?;
        let (columns, numbers, work) = factor_max(points);
        let within = prior_factor_within(&kernel, &self.candidates, dim, public.prior_tolerance, columns);
        let (factor, _) = within.ok_or(TermsError::Factor { points, columns, numbers, work })?;
        Ok(factor)
    }

    /// Bytes of the longest request that an agent has a reason to send: an upload, or a token.
    pub fn upload_bytes_max(&self) -> usize {
        let numbers = self.agreement.config.parameters().feature_count as usize;
        frame_len_max(self.agreement.scalar, numbers).max(64)
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
        let published = Published { agreement: &self.agreement, candidates: &self.candidates };
        let mut bytes = postcard::to_allocvec(&published).map_err(TermsError::Format)?;
        bytes.extend_from_slice(self.authority.as_deref().unwrap_or_default());
        Ok(bytes)
    }

    /// What invitations name: the digest of the agreement, and of the authority where there is one.
    pub fn digest(&self) -> Digest {
        let agreement = self.agreement.digest();
        self.authority.as_deref().map_or(agreement, |certificate| authority::digest(&agreement, certificate))
    }

    /// The authority that signs for agents, if there is one.
    ///
    /// **Errors**: [`TermsError::Authority`].
    pub fn authority(&self) -> Result<Option<Arc<Authority>>, TermsError> {
        let (run, agents) = (self.agreement.deployment, self.agreement.config.parameters().agents);
        let made = self.authority.as_deref().map(|certificate| Authority::new(certificate, run, agents));
        Ok(made.transpose()?)
    }

    /// Reads them back, published or stored. Compares the candidates with the agreement, and the digest of all with `expected` if it is given.
    ///
    /// **Errors**: [`TermsError`].
    pub fn from_bytes(bytes: &[u8], expected: Option<&Digest>) -> Result<Self, TermsError> {
        let (bytes, _) = stored::content(NAME, bytes)?;
        let (Published { agreement, candidates }, rest) =
            postcard::take_from_bytes::<Published<Agreement, Vec<f64>>>(bytes).map_err(TermsError::Format)?;
        let authority = (!rest.is_empty()).then(|| rest.to_vec());
        let terms = Terms { agreement, candidates, authority };
        terms.authority()?;
        let found = terms.digest();
        if let Some(expected) = expected.filter(|expected| **expected != found) {
            return Err(TermsError::Other { found, expected: *expected });
        }
        if digest_of(&terms.candidates, terms.agreement.dim as usize)? != terms.agreement.candidates {
            return Err(TermsError::Candidates);
        }
        Ok(terms)
    }
}

/// The largest factor over this many candidates: its columns, its numbers, and the multiply-adds for it.
fn factor_max(points: usize) -> (usize, usize, f64) {
    let n = points.max(1);
    let by_work = (FACTOR_WORK_MAX / n as f64).sqrt() as usize;
    let columns = n.min(FACTOR_NUMBERS_MAX / n).min(by_work).max(1);
    (columns, n * columns, n as f64 * (columns as f64).powi(2))
}

fn digest_of(candidates: &[f64], dim: usize) -> Result<Digest, DomainError> {
    Ok(candidates_digest(&Candidates::list(candidates, dim)?, &mut vec![0.0; dim]))
}

/// What agents compute with, built from the terms alone.
pub struct Shared<T> {
    /// The agreement that is published.
    pub agreement: Agreement,
    points: Vec<T>,
    features: Vec<T>,
    feature_rows: Vec<T>,
    region_of: Vec<u32>,
    prior_rows: Vec<T>,
}

impl<T: Scalar> Shared<T> {
    /// Draws the features, evaluates them at every candidate, and factors the prior if agents draw from it jointly.
    ///
    /// **Errors**: [`TermsError`].
    pub fn new(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        let agreement = terms.agreement.clone();
        let (public, p, dim) = (agreement.features, agreement.config.parameters(), agreement.dim as usize);
        let count = p.feature_count as usize;
        terms.bounded()?;
        let points: Vec<T> = terms.candidates.iter().map(|x| T::from_f64(*x)).collect();
        Candidates::list(&points, dim)?;
        let mut features = vec![T::ZERO; random_fourier::storage_len(dim, count)];
        let map = public.draw(dim, count, &mut features)?;
        let mut feature_rows = vec![T::ZERO; points.len() / dim * count];
        for (row, point) in feature_rows.chunks_exact_mut(count).zip(points.chunks_exact(dim)) {
            map.features(point, row);
        }
        let region_of = points.chunks_exact(dim).map(|point| p.regions.region_of(point)).collect();
        let prior_rows = terms.factor()?.into_iter().map(T::from_f64).collect();
        let shared = Shared { agreement, points, features, feature_rows, region_of, prior_rows };
        shared.public()?;
        Ok(Arc::new(shared))
    }

    /// The point of a candidate, in [0, 1]^D.
    pub fn point(&self, candidate: u32) -> Vec<f64> {
        let dim = self.agreement.dim as usize;
        self.points.iter().skip(candidate as usize * dim).take(dim).map(|x| x.to_f64()).collect()
    }

    /// The public context of the agents.
    ///
    /// **Errors**: none for terms that [`Shared::new`] admitted.
    pub fn public(&self) -> Result<Public<'_, T>, TermsError> {
        let (dim, count) = (self.agreement.dim as usize, self.agreement.config.parameters().feature_count as usize);
        let features = self.agreement.features.map(dim, count, &self.features)?;
        let rows = Some(CandidateRows { features: &self.feature_rows, region_of: &self.region_of });
        let tables = Tables { rows, prior_rows: &self.prior_rows, ..Tables::NONE };
        Ok(Public::new(&self.agreement.config, Candidates::List { points: &self.points, dim }, features, tables)?)
    }
}
