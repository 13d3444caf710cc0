//! Methods that share draws, or nothing.

use std::sync::Arc;

use sordino_core::domain::Candidates;
use sordino_core::features::random_fourier;
use sordino_core::federated::exchange::{Agreement, DrawsProtocol};
use sordino_core::federated::{
    Agent, AgentError, AgentState, AgentStorage, CandidateRows, Config, Phase, Public, Tables,
    Workspace, log_len, workspace_len,
};
use sordino_core::random::RunSeed;
use sordino_host::server::HostError;

use super::{Number, Party, PartyError, Served, Standing};
use crate::terms::{Terms, TermsError};

/// What agents that share draws compute with, built from the terms alone.
pub struct Draws<T> {
    agreement: Agreement,
    protocol: DrawsProtocol,
    points: Vec<T>,
    features: Vec<T>,
    feature_rows: Vec<T>,
    region_of: Vec<u32>,
    prior_rows: Vec<T>,
}

impl<T: Number> Draws<T> {
    /// The public context of the agents.
    ///
    /// **Errors**: none for terms that [`Served::new`] admitted.
    pub fn public(&self) -> Result<Public<'_, T>, TermsError> {
        let DrawsProtocol { config, features } = &self.protocol;
        let dim = self.agreement.dim as usize;
        let count = config.parameters().feature_count as usize;
        let features = features.map(dim, count, &self.features)?;
        let rows = Some(CandidateRows {
            features: &self.feature_rows,
            region_of: &self.region_of,
        });
        let tables = Tables {
            rows,
            prior_rows: &self.prior_rows,
            ..Tables::NONE
        };
        Ok(Public::new(
            config,
            Candidates::List {
                points: &self.points,
                dim,
            },
            features,
            tables,
        )?)
    }
}

impl<T: Number> Party<T> for Draws<T> {
    type State = AgentState;
    type Refusal = AgentError;
    type Member<'m> = Agent<'m, T>;

    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn points(&self) -> &[T] {
        &self.points
    }

    fn fresh(&self, agent: u32, seed: RunSeed) -> AgentState {
        AgentState::new(agent, seed)
    }

    fn standing(state: &AgentState) -> Standing {
        let agent = state.agent();
        let observations = state.observations();
        Standing {
            agent,
            observations,
            is_done: state.phase() == Phase::Done,
        }
    }

    fn lengths(&self) -> Result<[usize; 2], TermsError> {
        Ok([
            log_len(&self.protocol.config),
            workspace_len(&self.public()?),
        ])
    }

    fn with<R>(
        &self,
        state: &mut AgentState,
        [log, workspace]: [&mut [T]; 2],
        act: impl FnOnce(&mut Agent<'_, T>) -> Result<R, AgentError>,
    ) -> Result<R, PartyError> {
        let public = self.public()?;
        let storage = AgentStorage {
            log,
            workspace: Workspace::Owned(workspace),
        };
        let mut agent = Agent::attach(&public, state, storage)?;
        Ok(act(&mut agent)?)
    }
}

impl<T: Number> Served<T> for Draws<T> {
    type Hosted = Arc<Config>;

    /// Draws the features, evaluates them at every candidate, and factors the prior if agents draw
    /// from it jointly.
    fn new(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        let agreement = terms.agreement.clone();
        let protocol = agreement
            .protocol
            .draws()
            .ok_or(TermsError::Method)?
            .clone();
        let p = protocol.config.parameters();
        let dim = agreement.dim as usize;
        let count = p.feature_count as usize;
        terms.bounded()?;
        let points: Vec<T> = terms.candidates.iter().map(|x| T::from_f64(*x)).collect();
        Candidates::list(&points, dim)?;
        let mut features = vec![T::ZERO; random_fourier::storage_len(dim, count)];
        let map = protocol.features.draw(dim, count, &mut features)?;
        let mut feature_rows = vec![T::ZERO; points.len() / dim * count];
        for (row, point) in feature_rows
            .chunks_exact_mut(count)
            .zip(points.chunks_exact(dim))
        {
            map.features(point, row);
        }
        let region_of = points
            .chunks_exact(dim)
            .map(|point| p.regions.region_of(point))
            .collect();
        let prior_rows = terms.factor()?.into_iter().map(T::from_f64).collect();
        let made = Draws {
            agreement,
            protocol,
            points,
            features,
            feature_rows,
            region_of,
            prior_rows,
        };
        made.public()?;
        Ok(Arc::new(made))
    }

    fn hosted(self: &Arc<Self>) -> Result<Arc<Config>, HostError> {
        Ok(Arc::new(self.protocol.config.clone()))
    }
}
