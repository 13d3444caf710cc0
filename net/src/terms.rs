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
use sordino_sim::model::federated::context::{agreement, prior_factor};
use sordino_sim::scenario::method::Kind;
use sordino_sim::scenario::{Method, Scenario};

use crate::authority::{self, Authority, AuthorityError};

/// Published terms are read up to this length: 2²⁴ candidates would be more, and no device holds them.
pub const TERMS_BYTES_MAX: u64 = 64 << 20;
/// The most numbers in the feature rows of all candidates: 1 GiB in double precision.
const ROWS_MAX: usize = 1 << 27;

/// Why terms were refused.
#[derive(Debug, thiserror::Error)]
pub enum TermsError {
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

    /// Bytes of the longest request that an agent has a reason to send: an upload, or a token.
    pub fn upload_bytes_max(&self) -> usize {
        let numbers = self.agreement.config.parameters().feature_count as usize;
        frame_len_max(self.agreement.scalar, numbers).max(64)
    }

    /// The terms as they are published and stored.
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

    /// Reads them back. Compares the candidates with the agreement, and the digest of all with `expected` if it is given.
    ///
    /// **Errors**: [`TermsError`].
    pub fn from_bytes(bytes: &[u8], expected: Option<&Digest>) -> Result<Self, TermsError> {
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
        let numbers = (terms.candidates.len() / dim.max(1)).saturating_mul(count);
        if numbers > ROWS_MAX {
            return Err(TermsError::Rows { numbers, max: ROWS_MAX });
        }
        let points: Vec<T> = terms.candidates.iter().map(|x| T::from_f64(*x)).collect();
        Candidates::list(&points, dim)?;
        let mut features = vec![T::ZERO; random_fourier::storage_len(dim, count)];
        let map = public.draw(dim, count, &mut features)?;
        let mut feature_rows = vec![T::ZERO; points.len() / dim * count];
        for (row, point) in feature_rows.chunks_exact_mut(count).zip(points.chunks_exact(dim)) {
            map.features(point, row);
        }
        let region_of = points.chunks_exact(dim).map(|point| p.regions.region_of(point)).collect();
        let mut prior_rows = Vec::new();
        if p.own_draw == OwnDraw::Joint {
            let kernel = StationaryKernel::with_shape(public.kernel, public.lengthscale, public.signal_variance)
                .map_err(TermsError::Kernel)?;
            let (factor, _) = prior_factor(&kernel, &terms.candidates, dim, public.prior_tolerance);
            prior_rows = factor.into_iter().map(T::from_f64).collect();
        }
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
