//! A site of a campaign, as a link sees it: what it asks, what it contributes, what it keeps.

use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::JointVectors;
use sordino_core::federated::{Frame, Member, Next};
use sordino_core::random::{Party, Purpose, RunSeed};

use super::rehearsal::initial_point;
use super::{Campaign, SiteError, VALUE_MAX};
use crate::prior::context::design;

/// Evaluations of a site, unless it says another number.
pub const EVALUATIONS: u32 = 30;

/// The seed of a simulated site's search, which the seed of its run decides.
pub fn search_seed(seed: RunSeed, agent: u32) -> u64 {
    seed.stream(Party::Agent(agent), Purpose::RandomPolicy, 0)
        .word()
}

/// What a site keeps, apart from its log. Two are equal that know the same, however many
/// evaluations they want.
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
        self.agent == other.agent
            && self.seed == other.seed
            && self.frames == other.frames
            && self.observations == other.observations
            && self.pending == other.pending
            && self.released == other.released
    }
}

impl SiteState {
    /// Site `agent` before its first frame; `seed` is its own source of draws, secret in a real
    /// campaign.
    pub fn new(agent: u32, seed: RunSeed) -> Self {
        let evaluations = EVALUATIONS;
        let released = Vec::new();
        SiteState {
            agent,
            seed,
            evaluations,
            frames: 0,
            observations: 0,
            pending: None,
            released,
        }
    }

    /// Index of the agent.
    pub fn agent(&self) -> u32 {
        self.agent
    }

    /// Evaluations so far.
    pub fn observations(&self) -> u32 {
        self.observations
    }

    /// How many evaluations it makes in all, at most [`EVALUATIONS_MAX`](super::EVALUATIONS_MAX);
    /// never fewer than its first points. A rehearsal says it itself.
    pub fn set_evaluations(&mut self, evaluations: u32) {
        self.evaluations = evaluations;
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
    pub fn wanted(&self, campaign: &Campaign) -> u32 {
        let least = campaign.protocol.config.parameters().initial_points;
        let most = campaign.evaluations_max();
        if campaign.rehearses {
            most
        } else {
            self.evaluations.clamp(least, most)
        }
    }
}

/// A site at work: what is public, its state and its log, all borrowed.
///
/// `sordino join` is a program around it.
pub struct Site<'a> {
    campaign: &'a Campaign,
    state: &'a mut SiteState,
    /// Pairs of candidate and value; larger is better.
    log: &'a mut [f64],
    upload: &'a mut [f64],
}

/// Refuses another number than the one that is expected.
fn exactly(what: &'static str, found: usize, expected: usize) -> Result<(), SiteError> {
    if found == expected {
        Ok(())
    } else {
        Err(SiteError::Length {
            what,
            found,
            expected,
        })
    }
}

impl<'a> Site<'a> {
    /// Joins a state with its log of [`Campaign::log_len`] numbers and M + 1 numbers for what it
    /// contributes.
    ///
    /// **Errors**: [`SiteError::Length`] and [`SiteError::Candidate`], for a stored state that no
    /// site can have too.
    pub fn attach(
        campaign: &'a Campaign,
        state: &'a mut SiteState,
        log: &'a mut [f64],
        upload: &'a mut [f64],
    ) -> Result<Self, SiteError> {
        let len = campaign.context().config().contribution_len();
        let releases = campaign.protocol.releases();
        exactly("log", log.len(), campaign.log_len())?;
        exactly("contribution", upload.len(), len)?;
        let made =
            (state.released.len() / len).min(state.frames.saturating_sub(1).min(releases) as usize);
        exactly("releases", state.released.len(), made * len)?;
        let most = campaign.evaluations_max().min(state.observations);
        exactly("observations", state.observations as usize, most as usize)?;
        let count = campaign.points.len() as f64;
        let named = log
            .chunks_exact(2)
            .take(most as usize)
            .map(|entry| entry[0]);
        let named = named.chain(state.pending.map(f64::from));
        for candidate in named {
            if !(candidate >= 0.0 && candidate < count && candidate.fract() == 0.0) {
                return Err(SiteError::Candidate {
                    found: candidate,
                    count: campaign.points.len(),
                });
            }
        }
        Ok(Site {
            campaign,
            state,
            log,
            upload,
        })
    }

    /// How its contribution to the release of its epoch becomes integers: what it hides by a mask
    /// where there are two servers. Nothing before the first frame and after the last.
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
        let entries = self
            .log
            .chunks_exact(2)
            .take(self.state.observations as usize);
        entries.map(|entry| (entry[0] as u32, entry[1]))
    }

    /// What its search asks next: with the file if there is one, else alone, also for its first
    /// points. Those of a rehearsal are drawn.
    fn choose(&self) -> Result<u32, SiteError> {
        let Campaign {
            releases,
            points,
            protocol,
            rehearses,
            ..
        } = self.campaign;
        let SiteState {
            agent,
            seed,
            observations,
            ..
        } = *self.state;
        let first = protocol.config.parameters().initial_points;
        if *rehearses && observations < first {
            return Ok(initial_point(
                seed,
                agent,
                observations,
                points.len() as u32,
            ));
        }
        // A rehearsal's first points are the scenario's and were no questions.
        let of_search = match *rehearses {
            true => (search_seed(seed, agent), first),
            false => {
                let mut stream = seed.stream(Party::Agent(agent), Purpose::InitialPoints, 0);
                let parameters = self.campaign.publication().space.parameters().len();
                (stream.word(), design(parameters, first))
            }
        };
        let mut search = releases.search(points.clone(), of_search, &self.state.released)?;
        for (candidate, value) in self.values() {
            search.observe(candidate as usize, value)?;
        }
        Ok(search.ask()?.place as u32)
    }

    /// What it contributes to the release of its epoch; nothing if it has too few values.
    fn contribution(&mut self) -> Result<bool, SiteError> {
        let Campaign {
            releases, points, ..
        } = self.campaign;
        let values: Vec<(&[f64], f64)> = self
            .values()
            .filter_map(|(candidate, value)| Some((&points.get(candidate as usize)?[..], value)))
            .collect();
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
        let taken = self.state.frames;
        let frames = self.campaign.protocol.releases() + 1;
        if taken >= frames || (taken == 0) != (frame == Frame::Start) {
            return Err(SiteError::Frame { taken, frames });
        }
        if let Some(sums) = frame.numbers() {
            let expected = self.campaign.context().config().contribution_len();
            if sums.len() != expected {
                return Err(SiteError::Length {
                    what: "release",
                    found: sums.len(),
                    expected,
                });
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
        let number = self.state.observations;
        let first = self.campaign.protocol.config.parameters().initial_points;
        let is_last = self.state.frames > self.campaign.protocol.releases();
        let wanted = if is_last {
            self.state.wanted(self.campaign)
        } else {
            first
        };
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
        let Some(candidate) = self.state.pending else {
            return Err(SiteError::NotAsked);
        };
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
