//! The federated prior.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sordino_core::domain::Candidates;
use sordino_core::federated::exchange::{Agreement, Protocol};
use sordino_core::federated::prior::{
    JointVectors, Member, MemberError, MemberSizes, MemberState, MemberStorage, Model, PriorError,
    PriorProtocol, Public,
};
use sordino_core::federated::{Phase, ServerError, Workspace};
use sordino_core::random::RunSeed;
use sordino_engine::federated::prior::context::PriorNumbers;
use sordino_host::server::{HostError, Population, WithPublic};

use super::{Number, Party, PartyError, Served, Standing};
use crate::terms::{Terms, TermsError};

/// What the agents of a federated prior compute with, built from the terms alone.
pub struct Prior<T> {
    agreement: Agreement,
    protocol: PriorProtocol,
    points: Vec<T>,
    numbers: Arc<PriorNumbers<T>>,
    prior_rows: Vec<T>,
    models: [Model<T>; 6],
}

/// A member as it is stored: its words, and the posterior that it has computed, w and Σ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptMember<T> {
    member: MemberState<T>,
    posterior: Vec<T>,
}

impl<T: Number> Prior<T> {
    /// M, and numbers of w and Σ.
    fn sizes(&self) -> (usize, usize) {
        let m = self.protocol.config.features();
        (m, m + m * m)
    }

    /// How much memory a machine takes.
    fn memory(&self) -> Result<MemberSizes, TermsError> {
        Ok(MemberSizes::of(&self.protocol, &WithPublic::public(self)?))
    }
}

impl<T: Number> WithPublic<T> for Prior<T> {
    fn public(&self) -> Result<Public<'_, T>, PriorError> {
        self.numbers.public(&self.prior_rows)
    }
}

impl<T: Number> Party<T> for Prior<T> {
    type State = KeptMember<T>;
    type Refusal = MemberError;
    type Member<'m> = Member<'m, T>;

    fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    fn points(&self) -> &[T] {
        &self.points
    }

    fn fresh(&self, agent: u32, seed: RunSeed) -> KeptMember<T> {
        KeptMember {
            member: MemberState::new(agent, seed),
            posterior: vec![T::ZERO; self.sizes().1],
        }
    }

    fn standing(state: &KeptMember<T>) -> Standing {
        let agent = state.member.agent();
        let index = agent.agent();
        let observations = agent.observations();
        Standing {
            agent: index,
            observations,
            is_done: agent.phase() == Phase::Done,
        }
    }

    fn lengths(&self) -> Result<[usize; 2], TermsError> {
        let sizes = self.memory()?;
        Ok([sizes.log(), sizes.storage() - sizes.log()])
    }

    fn with<R>(
        &self,
        state: &mut KeptMember<T>,
        [log, workspace]: [&mut [T]; 2],
        act: impl FnOnce(&mut Member<'_, T>) -> Result<R, MemberError>,
    ) -> Result<R, PartyError> {
        let public = WithPublic::public(self).map_err(TermsError::from)?;
        let kept = self.sizes().1;
        let sizes = MemberSizes::of(&self.protocol, &public);
        if state.posterior.len() != kept || workspace.len() != sizes.storage() - sizes.log() {
            return Err(PartyError::Length);
        }
        let (workspace, rest) = workspace.split_at_mut(sizes.workspace());
        let (posterior, scratch) = rest.split_at_mut(sizes.posterior());
        posterior[..kept].copy_from_slice(&state.posterior);
        let numbers = MemberStorage {
            log,
            workspace: Workspace::Owned(workspace),
            posterior: &mut *posterior,
            scratch,
        };
        let mut member = Member::attach(
            &self.protocol,
            public,
            &self.models,
            &mut state.member,
            numbers,
        )?;
        let done = act(&mut member);
        state.posterior.copy_from_slice(&posterior[..kept]);
        Ok(done?)
    }

    fn encoding(
        &self,
        state: &mut KeptMember<T>,
        numbers: [&mut [T]; 2],
    ) -> Result<Option<JointVectors>, PartyError> {
        self.with(state, numbers, |member| member.encoding())
    }
}

impl<T: Number> Served<T> for Prior<T> {
    type Hosted = Population<T, Arc<Self>>;

    fn new(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        let agreement = terms.agreement.clone();
        let dim = terms.agreement.dim as usize;
        let Protocol::Prior(protocol) = agreement.protocol.clone() else {
            return Err(TermsError::Method);
        };
        terms.bounded()?;
        let points: Vec<T> = terms.candidates.iter().map(|x| T::from_f64(*x)).collect();
        Candidates::list(&points, dim)?;
        let numbers = PriorNumbers::new(&protocol, &terms.landmarks, &terms.candidates, dim)?;
        let prior_rows = terms.factor()?.into_iter().map(T::from_f64).collect();
        let models = protocol.models();
        let made = Prior {
            agreement,
            protocol,
            points,
            numbers,
            prior_rows,
            models,
        };
        made.memory()?;
        Ok(Arc::new(made))
    }

    fn hosted(self: &Arc<Self>) -> Result<Population<T, Arc<Self>>, HostError> {
        let made =
            Population::new(self.clone(), self.protocol.plan()).map_err(ServerError::from)?;
        Ok(made.that_sends_sums())
    }
}
