//! A campaign: sites that search the same space, each in a unit of its own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::federated::ServerError;
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::JointVectors;
use sordino_core::federated::shares::Trust;
use sordino_core::privacy::SourceKind;
use sordino_core::random::RunSeed;
use sordino_host::campaign::{Campaign, Site, SiteError, SiteState};
use sordino_host::prior::PriorFile;
use sordino_host::prior::context::Context;
use sordino_host::server::{HostError, Population};
use sordino_host::space::Point;

use super::{Party, PartyError, Served, Standing};
use crate::terms::{Terms, TermsError};

/// What the sites of a campaign compute with, built from the terms alone.
pub struct CampaignParty {
    agreement: Agreement,
    campaign: Campaign,
    points: Vec<f64>,
}

/// A site as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptSite {
    site: SiteState,
    /// Whether it has all values it wants; as it was after the last step.
    is_done: bool,
}

impl PartialEq for KeptSite {
    fn eq(&self, other: &Self) -> bool {
        self.site == other.site
    }
}

impl CampaignParty {
    /// The same of a campaign that is rehearsed.
    ///
    /// **Errors**: as [`Served::new`]; terms of a campaign of real sites.
    pub(crate) fn rehearsed(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        terms.bounded()?;
        Ok(Self::of(terms, terms.rehearsed()?))
    }

    fn of(terms: &Terms, campaign: Campaign) -> Arc<Self> {
        let agreement = terms.agreement.clone();
        let points = terms.candidates.clone();
        Arc::new(CampaignParty {
            agreement,
            campaign,
            points,
        })
    }
}

impl Party<f64> for CampaignParty {
    type State = KeptSite;
    type Refusal = SiteError;
    type Member<'m> = Site<'m>;

    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn points(&self) -> &[f64] {
        &self.points
    }

    fn point(&self, candidate: u32) -> Vec<f64> {
        self.campaign
            .points()
            .get(candidate as usize)
            .cloned()
            .unwrap_or_default()
    }

    fn named(&self, candidate: u32) -> Option<Point> {
        let numbers = self.campaign.points().get(candidate as usize)?;
        Some(self.campaign.publication().space.point(numbers))
    }

    fn fresh(&self, agent: u32, seed: RunSeed) -> KeptSite {
        KeptSite {
            site: SiteState::new(agent, seed),
            is_done: false,
        }
    }

    fn standing(KeptSite { site, is_done }: &KeptSite) -> Standing {
        Standing {
            agent: site.agent(),
            observations: site.observations(),
            is_done: *is_done,
        }
    }

    fn lengths(&self) -> Result<[usize; 2], TermsError> {
        Ok([
            self.campaign.log_len(),
            self.campaign.context().config().contribution_len(),
        ])
    }

    fn with<R>(
        &self,
        state: &mut KeptSite,
        [log, upload]: [&mut [f64]; 2],
        act: impl FnOnce(&mut Site<'_>) -> Result<R, SiteError>,
    ) -> Result<R, PartyError> {
        let done = act(&mut Site::attach(
            &self.campaign,
            &mut state.site,
            log,
            upload,
        )?);
        state.is_done = state.site.is_done(&self.campaign);
        Ok(done?)
    }

    fn encoding(
        &self,
        state: &mut KeptSite,
        numbers: [&mut [f64]; 2],
    ) -> Result<Option<JointVectors>, PartyError> {
        self.with(state, numbers, |site| site.encoding())
    }

    fn measured(&self, logged: f64) -> f64 {
        self.campaign.publication().goal.sign() * logged
    }

    fn in_units(&self, simulated: f64) -> f64 {
        self.campaign.publication().goal.sign() * simulated
    }

    fn evaluations(&self, state: &KeptSite) -> u32 {
        state.site.wanted(&self.campaign)
    }

    fn evaluations_min(&self) -> u32 {
        self.campaign.protocol().config.parameters().initial_points
    }

    fn evaluate(state: &mut KeptSite, evaluations: u32) -> bool {
        state.site.set_evaluations(evaluations);
        true
    }

    fn file(&self, released: &[f64]) -> Result<Option<PriorFile>, PartyError> {
        Ok(self.campaign.file(released, SourceKind::Secret)?)
    }

    fn opening(&self, released: &[f64]) -> Result<Option<Vec<f64>>, PartyError> {
        // Where there are two servers no device takes part, whose contribution one of them would
        // see.
        match self.campaign.protocol().config.parameters().trust {
            Trust::OneServer => Ok(self.campaign.releases().opening(released)?),
            Trust::TwoServers => Ok(None),
        }
    }

    fn learned(&self, state: &KeptSite) -> Result<Option<PriorFile>, PartyError> {
        self.file(state.site.released())
    }
}

impl Served<f64> for CampaignParty {
    type Hosted = Population<f64, Arc<Context>>;

    fn new(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        terms.bounded()?;
        Ok(Self::of(terms, terms.campaign()?))
    }

    fn hosted(self: &Arc<Self>) -> Result<Self::Hosted, HostError> {
        let context = self.campaign.context().clone();
        let plan = self.campaign.protocol().plan();
        Ok(Population::new(context, plan)
            .map_err(ServerError::from)?
            .that_sends_sums())
    }
}
