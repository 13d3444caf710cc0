//! A campaign: sites that search the same space, each in a unit of its own, make a prior file
//! together and go on with it.
//!
//! A [`Campaign`] is what is public: what is searched, N, ε, and everything that follows from it. A
//! [`Site`] is an agent of it as a link sees it ([`Member`](sordino_core::federated::Member)).
//!
//! | frame | then |
//! |---|---|
//! | 0 | [`DESIGN_POINTS`](crate::prior::context::DESIGN_POINTS) first evaluations, of which [`design`](crate::prior::context::design) fill the space and others are those of a search alone; contribution to release 0 |
//! | e, with the sums of release e − 1 | contribution of the same values to release e |
//! | J, the last | the site goes on: a search that begins with the file of all releases and knows its own values |
//!
//! The file is a function of the releases, so a site computes it and nobody has to believe the
//! server's. Its own values are in it and in its search: of N contributors one, clipped. A release
//! that was missed is learned, and a site that has no release searches alone.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, DomainError};
use sordino_core::federated::exchange::candidates_digest;
use sordino_core::federated::prior::{CAMPAIGN_RULES, CampaignProtocol};
use sordino_core::federated::shares::Trust;

use crate::prior::context::{CANDIDATES, Context, ContextError};
use crate::prior::publish::{Publication, PublishError, check_publication, noise_multipliers};
use crate::prior::{PriorFile, PriorFileError, refuse};
use crate::search::{SearchError, VALUE_MAX};
use crate::text::cut;
use sordino_core::prior::VALUES_MAX;
use sordino_core::privacy::SourceKind;

mod rehearsal;
mod releases;
mod site;

pub use rehearsal::{Rehearsal, initial_point};
pub use releases::Releases;
pub use site::{EVALUATIONS, Site, SiteState, search_seed};

/// The most evaluations of a site.
pub const EVALUATIONS_MAX: u32 = VALUES_MAX as u32;
/// The longest text that says what is published, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Why a campaign is none, or a site refuses something; it is then as before.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// What is to be published is not admissible.
    #[error(transparent)]
    Refused(#[from] PriorFileError),
    /// What is to be published does not decode.
    #[error("what is searched and published does not decode: {}", cut(&.0.to_string(), 300))]
    Text(#[source] serde_json::Error),
    /// Its numbers are not those that follow from what is to be published.
    #[error("{what} of the terms do not follow from what is to be published")]
    Other {
        /// Which numbers it is.
        what: &'static str,
    },
    /// Public numbers, contribution or posterior.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The file of the releases.
    #[error(transparent)]
    File(#[from] PublishError),
    /// The candidates or landmarks.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// The site's own search.
    #[error(transparent)]
    Search(#[from] Box<SearchError>),
    /// A stored candidate that the campaign does not have.
    #[error("the log names candidate {found}; the candidates are 0 to {}", .count.saturating_sub(1))]
    Candidate {
        /// What is stored as its index.
        found: f64,
        /// How many there are.
        count: usize,
    },
    /// A frame before the first or after the last.
    #[error("a frame that does not come after {taken} of {frames} frames")]
    Frame {
        /// Frames taken before.
        taken: u32,
        /// Frames of the whole campaign.
        frames: u32,
    },
    /// A value that was not asked for.
    #[error("a value that was not asked for")]
    NotAsked,
    /// A value that is no number, or too large.
    #[error("the value {value:e}; admissible: a number from -{VALUE_MAX:e} to {VALUE_MAX:e}")]
    Value {
        /// The value that was told.
        value: f64,
    },
    /// Numbers of another length.
    #[error("{what}: {found} numbers, {expected} are expected")]
    Length {
        /// Which numbers it is.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
}

impl From<SearchError> for SiteError {
    fn from(error: SearchError) -> Self {
        SiteError::Search(Box::new(error))
    }
}

/// What is public of a campaign: both sides compute the same from the same text.
pub struct Campaign {
    releases: Releases,
    protocol: CampaignProtocol,
    text: String,
    /// What may be asked, in the space's numbers.
    points: Arc<[Vec<f64>]>,
    /// The same as coordinates, row by row.
    coordinates: Vec<f64>,
    rehearses: bool,
}

/// So many of a list, evenly spread over it, or all.
fn at_most<P: Clone>(count: usize, list: &[P]) -> Vec<P> {
    if list.len() <= count {
        return list.to_vec();
    }
    let places = (0..count).map(|i| i * list.len() / count);
    places.map(|place| list[place].clone()).collect()
}

impl Campaign {
    /// A campaign of so many agents.
    ///
    /// **Errors**: [`SiteError`] for a number or a text that is not admissible, parameters that are
    /// given with each question among them: nothing of a campaign knows their values.
    pub fn new(publication: Publication, agents: u32) -> Result<Self, SiteError> {
        Self::trusting(publication, agents, Trust::OneServer)
    }

    /// The same where sites trust one server, or one of two ([`crate::shares`]).
    ///
    /// **Errors**: as [`Campaign::new`].
    pub fn trusting(
        publication: Publication,
        agents: u32,
        trust: Trust,
    ) -> Result<Self, SiteError> {
        check_publication(&publication, agents as usize)?;
        let text = serde_json::to_string(&publication).map_err(SiteError::Text)?;
        Self::made(publication, None, text, agents, trust)
    }

    /// The campaign of a publication that was checked, whose sites do what this rehearsal says, if
    /// there is one.
    fn made(
        publication: Publication,
        rehearsal: Option<Rehearsal>,
        text: String,
        agents: u32,
        trust: Trust,
    ) -> Result<Self, SiteError> {
        let given = publication
            .space
            .parameters()
            .iter()
            .find(|parameter| parameter.context);
        if let Some(parameter) = given {
            let admissible =
                "parameters that are searched; in a campaign none is given with each question";
            return Err(refuse(
                "a parameter with context = true",
                &parameter.name,
                admissible,
            )
            .into());
        }
        let multipliers = noise_multipliers(&publication, agents as usize)?;
        let Publication {
            space, features, ..
        } = &publication;
        let context = match &rehearsal {
            None => Context::trusting(space, *features, agents, trust)?,
            Some(Rehearsal {
                points,
                first_points,
                ..
            }) => {
                let candidates = at_most(CANDIDATES as usize, points);
                Context::among(space, *features, agents, trust, candidates, *first_points)?
            }
        };
        let encoding = context.encoding();
        let design = context.config().parameters().initial_points;
        let protocol = CampaignProtocol {
            rules: CAMPAIGN_RULES,
            config: *context.config(),
            rounds: rehearsal
                .as_ref()
                .map_or(EVALUATIONS_MAX - design, |rehearsal| rehearsal.rounds),
            noise_multipliers: multipliers.iter().copied().collect(),
            lengthscale: context.lengthscale(),
            landmarks: points_digest(context.landmarks(), encoding.dim())?,
            publication: Digest(Sha256::digest(text.as_bytes()).into()),
        };
        let rehearses = rehearsal.is_some();
        let (points, coordinates) = match rehearsal {
            Some(Rehearsal { points, .. }) => {
                let coordinates = points
                    .iter()
                    .flat_map(|numbers| encoding.coordinates(numbers))
                    .collect();
                (points.into(), coordinates)
            }
            None => (context.candidates().into(), context.coordinates().to_vec()),
        };
        let releases = Releases::new(publication, Arc::new(context), multipliers);
        Ok(Campaign {
            releases,
            protocol,
            text,
            points,
            coordinates,
            rehearses,
        })
    }

    /// The campaign that a text of [`Campaign::text`] says, held against numbers that were agreed
    /// on. The text of a rehearsal does not decode here.
    ///
    /// **Errors**: [`SiteError::Other`] naming the first numbers that do not follow from the text.
    pub fn parse(text: &str, agreed: &CampaignProtocol) -> Result<Self, SiteError> {
        let publication: Publication = decoded(text, TEXT_BYTES_MAX)?;
        let agreed_on = agreed.config.parameters();
        Campaign::trusting(publication, agreed_on.agents, agreed_on.trust)?.agreed(text, agreed)
    }

    /// This campaign, if it has the text and the numbers that were agreed on.
    fn agreed(self, text: &str, agreed: &CampaignProtocol) -> Result<Self, SiteError> {
        let ours = &self.protocol;
        let differs = [
            ("the version of the rules", ours.rules != agreed.rules),
            (
                "the text",
                self.text != text || ours.publication != agreed.publication,
            ),
            ("agents, features or designs", ours.config != agreed.config),
            (
                "noise multipliers",
                ours.noise_multipliers != agreed.noise_multipliers,
            ),
            (
                "lengthscale or landmarks",
                ours.lengthscale != agreed.lengthscale || ours.landmarks != agreed.landmarks,
            ),
            ("evaluations", ours.rounds != agreed.rounds),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            Some((what, _)) => Err(SiteError::Other { what }),
            None => Ok(self),
        }
    }

    /// What is searched and published.
    pub fn publication(&self) -> &Publication {
        self.releases.publication()
    }

    /// The numbers that are agreed on.
    pub fn protocol(&self) -> &CampaignProtocol {
        &self.protocol
    }

    /// What is published beside these numbers: the text whose SHA-256 they hold.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Public points, landmarks, virtual designs.
    pub fn context(&self) -> &Arc<Context> {
        self.releases.context()
    }

    /// What follows from releases.
    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    /// What sites may ask, in the space's numbers, one a parameter.
    pub fn points(&self) -> &Arc<[Vec<f64>]> {
        &self.points
    }

    /// The same as coordinates, row by row.
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates
    }

    /// Numbers of a site's log.
    pub fn log_len(&self) -> usize {
        2 * self.evaluations_max() as usize
    }

    /// The most evaluations of a site: [`EVALUATIONS_MAX`], but in a rehearsal.
    fn evaluations_max(&self) -> u32 {
        self.protocol.config.parameters().initial_points + self.protocol.rounds
    }

    /// The file of the first releases; nothing before the first.
    ///
    /// **Parameters**: `released` M + 1 numbers of each release; `source` of their noise. In a
    /// rehearsal it is simulated, whatever the caller says.
    ///
    /// **Errors**: [`SiteError::Context`] for numbers that no release can be.
    pub fn file(
        &self,
        released: &[f64],
        source: SourceKind,
    ) -> Result<Option<PriorFile>, SiteError> {
        let source = if self.rehearses {
            SourceKind::Simulation
        } else {
            source
        };
        self.releases.file(released, source)
    }
}

/// What a text of at most so many bytes says.
fn decoded<T: serde::de::DeserializeOwned>(text: &str, bytes_max: usize) -> Result<T, SiteError> {
    if text.len() > bytes_max {
        let admissible = format!("at most {bytes_max} bytes");
        return Err(refuse(
            "what is published",
            format!("{} bytes", text.len()),
            &admissible,
        )
        .into());
    }
    serde_json::from_str(text).map_err(SiteError::Text)
}

/// The digest of points, row after row, by which all parties know that they mean the same.
///
/// **Errors**: [`DomainError`] unless they are a list of candidates of this dimension.
pub fn points_digest(points: &[f64], dim: usize) -> Result<Digest, DomainError> {
    Ok(candidates_digest(
        &Candidates::list(points, dim)?,
        &mut vec![0.0; dim],
    ))
}
