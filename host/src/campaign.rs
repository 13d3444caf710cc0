//! A campaign: sites that search the same space, each in a unit of its own, make a prior file together and go on with it.
//!
//! A [`Campaign`] is what is public: what is searched, N, ε, and everything that follows from it. A [`Site`] is an agent of
//! it as a link sees it ([`Member`]).
//!
//! | frame | then |
//! |---|---|
//! | 0 | [`DESIGN_POINTS`] first evaluations, as a search alone asks them; contribution to release 0 |
//! | e, with the sums of release e − 1 | contribution of the same values to release e |
//! | J, the last | the site goes on: a search that begins with the file of all releases and knows its own values |
//!
//! The file is a function of the releases, so a site computes it and nobody has to believe the server's. Its own values are
//! in it and in its search: of N contributors one, clipped. A release that was missed is learned, and a site that has no
//! release searches alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, DomainError};
use sordino_core::federated::exchange::candidates_digest;
use sordino_core::federated::prior::{CampaignProtocol, JointVectors};
use sordino_core::federated::shares::Trust;
use sordino_core::federated::{Frame, Member, Next};
use sordino_core::random::{Party, Purpose, RunSeed};

#[cfg(doc)]
use crate::prior::context::DESIGN_POINTS;
use crate::prior::context::{Context, ContextError};
use crate::prior::guide::VALUES_MAX;
use crate::prior::publish::{Publication, PublishError, check_publication, noise_multipliers};
use crate::prior::{PriorFile, PriorFileError, refuse};
use crate::search::{SearchError, VALUE_MAX};

mod releases;

pub use releases::Releases;

/// The most evaluations of a site.
pub const EVALUATIONS_MAX: u32 = VALUES_MAX as u32;
/// Evaluations of a site, unless it says another number.
pub const EVALUATIONS: u32 = 30;
/// The longest text that says what is published, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Why a campaign is none, or a site refuses something; it is then as before.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// What is to be published is not admissible.
    #[error(transparent)]
    Refused(#[from] PriorFileError),
    /// What is to be published does not decode.
    #[error("what is searched and published does not decode: {0}")]
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
    #[error("the value {value}; admissible: a number from -{VALUE_MAX} to {VALUE_MAX}")]
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
}

impl Campaign {
    /// A campaign of so many agents.
    ///
    /// **Errors**: [`SiteError`] for a number or a text that is not admissible, parameters that are given with each question
    /// among them: nothing of a campaign knows their values.
    pub fn new(publication: Publication, agents: u32) -> Result<Self, SiteError> {
        Self::trusting(publication, agents, Trust::OneServer)
    }

    /// The same where sites trust one server, or one of two ([`crate::shares`]).
    ///
    /// **Errors**: as [`Campaign::new`].
    pub fn trusting(publication: Publication, agents: u32, trust: Trust) -> Result<Self, SiteError> {
        check_publication(&publication, agents as usize)?;
        let given = publication.space.parameters().iter().find(|parameter| parameter.context);
        if let Some(parameter) = given {
            let admissible = "parameters that are searched; in a campaign none is given with each question";
            return Err(refuse("a parameter with context = true", &parameter.name, admissible).into());
        }
        let text = serde_json::to_string(&publication).map_err(SiteError::Text)?;
        let multipliers = noise_multipliers(&publication)?;
        let context = Context::trusting(&publication.space, publication.features, agents, trust)?;
        let dim = context.encoding().dim();
        let design = context.config().parameters().initial_points;
        let protocol = CampaignProtocol {
            config: *context.config(),
            rounds: EVALUATIONS_MAX - design,
            noise_multipliers: multipliers.iter().copied().collect(),
            lengthscale: context.lengthscale(),
            landmarks: digest_of(context.landmarks(), dim)?,
            publication: Digest(Sha256::digest(text.as_bytes()).into()),
        };
        let points = context.candidates().into();
        let releases = Releases::new(publication, Arc::new(context), multipliers);
        Ok(Campaign { releases, protocol, text, points })
    }

    /// The campaign that a text of [`Campaign::text`] says, held against numbers that were agreed on.
    ///
    /// **Errors**: [`SiteError::Other`] naming the first numbers that do not follow from the text.
    pub fn parse(text: &str, agreed: &CampaignProtocol) -> Result<Self, SiteError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(refuse("what is published", format!("{} bytes", text.len()), "at most 1 MiB").into());
        }
        let publication: Publication = serde_json::from_str(text).map_err(SiteError::Text)?;
        let agreed_on = agreed.config.parameters();
        let campaign = Campaign::trusting(publication, agreed_on.agents, agreed_on.trust)?;
        let ours = &campaign.protocol;
        let differs = [
            ("the text", campaign.text != text || ours.publication != agreed.publication),
            ("agents, features or designs", ours.config != agreed.config),
            ("noise multipliers", ours.noise_multipliers != agreed.noise_multipliers),
            ("lengthscale or landmarks", ours.lengthscale != agreed.lengthscale || ours.landmarks != agreed.landmarks),
            ("evaluations", ours.rounds != agreed.rounds),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            Some((what, _)) => Err(SiteError::Other { what }),
            None => Ok(campaign),
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

    /// Candidates, landmarks, virtual designs.
    pub fn context(&self) -> &Arc<Context> {
        self.releases.context()
    }

    /// The file of the first releases; nothing before the first.
    ///
    /// **Parameters**: `released` M + 1 numbers of each release; `simulated` whether their noise can be predicted.
    ///
    /// **Errors**: [`SiteError::Context`] for numbers that no release can be.
    pub fn file(&self, released: &[f64], simulated: bool) -> Result<Option<PriorFile>, SiteError> {
        self.releases.file(released, simulated)
    }
}

fn digest_of(points: &[f64], dim: usize) -> Result<Digest, DomainError> {
    Ok(candidates_digest(&Candidates::list(points, dim)?, &mut vec![0.0; dim]))
}

/// What a site keeps, apart from its log. Two are equal that know the same, however many evaluations they want.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteState {
    agent: u32,
    seed: RunSeed,
    evaluations: u32,
    frames: u32,
    observations: u32,
    pending: Option<u32>,
    released: Vec<f64>,
}

impl PartialEq for SiteState {
    fn eq(&self, other: &Self) -> bool {
        let known = |state: &Self| (state.agent, state.seed, state.frames, state.observations, state.pending);
        known(self) == known(other) && self.released == other.released
    }
}

impl SiteState {
    /// Site `agent` before its first frame; `seed` is its own source of draws, secret in a real campaign.
    pub fn new(agent: u32, seed: RunSeed) -> Self {
        let (evaluations, released) = (EVALUATIONS, Vec::new());
        SiteState { agent, seed, evaluations, frames: 0, observations: 0, pending: None, released }
    }

    /// Index of the agent.
    pub fn agent(&self) -> u32 {
        self.agent
    }

    /// Evaluations so far.
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// How many evaluations it makes in all, at most [`EVALUATIONS_MAX`]; never fewer than its first points.
    pub fn set_evaluations(&mut self, evaluations: u32) {
        self.evaluations = evaluations.min(EVALUATIONS_MAX);
    }

    /// The sums of all releases that it has learned.
    pub fn released(&self) -> &[f64] {
        &self.released
    }

    /// Whether it has the last frame and all its values.
    pub fn is_done(&self, campaign: &Campaign) -> bool {
        self.frames > campaign.protocol.releases() && self.observations >= self.wanted(campaign)
    }

    /// Evaluations that it makes in all.
    fn wanted(&self, campaign: &Campaign) -> u32 {
        self.evaluations.max(campaign.protocol.config.parameters().initial_points)
    }
}

/// Numbers of a site's log.
pub const LOG_LEN: usize = 2 * EVALUATIONS_MAX as usize;

/// A site at work: what is public, its state and its log, all borrowed.
///
/// **Example**: that of [`Campaign`] in this module's tests, and `sordino join`.
pub struct Site<'a> {
    campaign: &'a Campaign,
    state: &'a mut SiteState,
    /// Pairs of candidate and value; larger is better.
    log: &'a mut [f64],
    upload: &'a mut [f64],
}

impl<'a> Site<'a> {
    /// Joins a state with its log of [`LOG_LEN`] numbers and M + 1 numbers for what it contributes.
    ///
    /// **Errors**: [`SiteError::Length`], for a stored state that no site can have too.
    pub fn attach(
        campaign: &'a Campaign,
        state: &'a mut SiteState,
        log: &'a mut [f64],
        upload: &'a mut [f64],
    ) -> Result<Self, SiteError> {
        let exactly = |what, found, expected| match found == expected {
            true => Ok(()),
            false => Err(SiteError::Length { what, found, expected }),
        };
        let (len, releases) = (campaign.context().config().contribution_len(), campaign.protocol.releases());
        exactly("log", log.len(), LOG_LEN)?;
        exactly("contribution", upload.len(), len)?;
        let made = (state.released.len() / len).min(state.frames.saturating_sub(1).min(releases) as usize);
        exactly("releases", state.released.len(), made * len)?;
        let most = EVALUATIONS_MAX.min(state.observations);
        exactly("observations", state.observations as usize, most as usize)?;
        let count = campaign.points.len() as f64;
        let named = log.chunks_exact(2).take(most as usize).map(|entry| entry[0]);
        let named = named.chain(state.pending.map(f64::from));
        for candidate in named {
            if !(candidate >= 0.0 && candidate < count && candidate.fract() == 0.0) {
                return Err(SiteError::Length {
                    what: "candidates",
                    found: candidate as usize,
                    expected: count as usize,
                });
            }
        }
        Ok(Site { campaign, state, log, upload })
    }

    /// How its contribution to the release of its epoch becomes integers: what it hides by a mask where there are two servers.
    /// Nothing before the first frame and after the last.
    ///
    /// **Errors**: [`SiteError::Context`].
    pub fn encoding(&self) -> Result<Option<JointVectors>, SiteError> {
        match (1..=self.campaign.protocol.releases()).contains(&self.state.frames) {
            true => self.campaign.releases.encoding(&self.state.released),
            false => Ok(None),
        }
    }

    /// Candidates and values so far, larger is better.
    fn values(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let entries = self.log.chunks_exact(2).take(self.state.observations as usize);
        entries.map(|entry| (entry[0] as u32, entry[1]))
    }

    /// What its search asks next: with the file if there is one, else alone, also for its first points.
    fn choose(&self) -> Result<u32, SiteError> {
        let seed = self.state.seed.stream(Party::Agent(self.state.agent), Purpose::InitialPoints, 0).word();
        let Campaign { releases, points, .. } = self.campaign;
        let mut search = releases.search(points.clone(), seed, &self.state.released)?;
        for (candidate, value) in self.values() {
            search.observe(candidate as usize, value)?;
        }
        Ok(search.ask()? as u32)
    }

    /// What it contributes to the release of its epoch; nothing if it has too few values.
    fn contribution(&mut self) -> Result<bool, SiteError> {
        let Campaign { releases, points, .. } = self.campaign;
        let named = |(candidate, value): (u32, f64)| points.get(candidate as usize).map(|point| (&point[..], value));
        let values: Vec<(&[f64], f64)> = self.values().filter_map(named).collect();
        let vector = releases.contribution(&self.state.released, &values)?;
        if let Some(vector) = &vector {
            self.upload.copy_from_slice(vector);
        }
        Ok(vector.is_some())
    }
}

impl Member<f64> for Site<'_> {
    type Error = SiteError;

    fn enter(&mut self, frame: Frame<'_, f64>) -> Result<(), SiteError> {
        let (taken, frames) = (self.state.frames, self.campaign.protocol.releases() + 1);
        if taken >= frames || (taken == 0) != (frame == Frame::Start) {
            return Err(SiteError::Frame { taken, frames });
        }
        if let Some(sums) = frame.numbers() {
            let expected = self.campaign.context().config().contribution_len();
            if sums.len() != expected {
                return Err(SiteError::Length { what: "release", found: sums.len(), expected });
            }
            let released = [&self.state.released, sums].concat();
            // What cannot be learned is refused here, and nothing of it kept.
            self.campaign.releases.check(&released)?;
            self.state.released = released;
        }
        self.state.frames = taken + 1;
        Ok(())
    }

    fn next(&mut self) -> Result<Next<'_, f64>, SiteError> {
        let (number, first) = (self.state.observations, self.campaign.protocol.config.parameters().initial_points);
        let is_last = self.state.frames > self.campaign.protocol.releases();
        let wanted = if is_last { self.state.wanted(self.campaign) } else { first };
        if self.state.frames > 0 && number < wanted {
            let candidate = match self.state.pending {
                Some(candidate) => candidate,
                None => self.choose()?,
            };
            self.state.pending = Some(candidate);
            return Ok(Next::Query { candidate, number });
        }
        match !is_last && self.contribution()? {
            true => Ok(Next::Give(self.upload)),
            false => Ok(Next::Give(&[])),
        }
    }

    fn observed(&mut self, value: f64) -> Result<(), SiteError> {
        let Some(candidate) = self.state.pending else { return Err(SiteError::NotAsked) };
        if !(value.abs() <= VALUE_MAX) {
            return Err(SiteError::Value { value });
        }
        let at = 2 * self.state.observations as usize;
        let value = self.campaign.publication().goal.sign() * value;
        if let Some(entry) = self.log.get_mut(at..at + 2) {
            entry.copy_from_slice(&[f64::from(candidate), value]);
        }
        self.state.observations += 1;
        self.state.pending = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
