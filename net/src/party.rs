//! What a method is to a program on a network: what its agents compute with, built from the terms
//! alone, and what its server keeps.
//!
//! | method | agents | server |
//! |---|---|---|
//! | draws | [`Draws`]: features of every candidate, the factor of joint draws | a configuration |
//! | federated prior | [`Prior`]: features, Gram matrix, virtual designs, the posterior that each recomputes | the posterior |
//! | campaign | [`CampaignParty`]: the same of a space with names, a unit of each agent's own, and a search with the file | the posterior |
//! | vote | [`Voting`]: a ballot, the winner of the shares, own draws | the ballot |
//! | a method of one's own | [`OwnParty`]: what the program does that brings it | none: it is rehearsed and never served |
//!
//! Everything else (frames, links, journals, restarts, budgets, doors) is written once, over
//! [`Party`], and over [`Served`] where a server or an agent of a real federation is meant.

mod campaign;
mod chosen;
mod draws;
mod prior;
mod vote;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::{JointVectors, MemberError};
use sordino_core::federated::{AgentError, Member};
use sordino_core::math::Scalar;
use sordino_core::optimizer;
use sordino_core::random::RunSeed;
use sordino_engine::federated::custom::Custom;
use sordino_host::campaign::SiteError;
use sordino_host::prior::PriorFile;
use sordino_host::search::VALUE_MAX;
use sordino_host::server::{HostError, Hosted};
use sordino_host::space::Point;

pub use self::campaign::{CampaignParty, KeptSite};
pub use self::chosen::{Choosing, Chosen, ChosenError, KeptChoices};
pub use self::draws::Draws;
pub use self::prior::{KeptMember, Prior};
pub use self::vote::{Votes, Voting};

use crate::terms::{Terms, TermsError};

/// Why an agent's machine did not do what it was asked; it is as before.
#[derive(Debug, thiserror::Error)]
pub enum PartyError {
    /// The machine of an agent that shares draws refused.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// That of a member of a federated prior refused.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// That of an agent of a vote, or of a method of somebody's own, refused.
    #[error(transparent)]
    Chosen(#[from] ChosenError),
    /// A site of a campaign refused.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The public numbers do not fit.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// What was stored has numbers of another length.
    #[error("stored numbers of another length")]
    Length,
}

/// A number that is stored.
pub trait Number: Scalar + Serialize + DeserializeOwned {}

impl Number for f32 {}
impl Number for f64 {}

/// The largest size of a value that an agent with these numbers takes: that of core's optimizer,
/// 1e14 in `f32`, and 1e135 in `f64` as in searches.
///
/// **Numerics**: a larger value may be infinite where it is rounded, or in the sums of squares of a
/// model, and what is in an agent's log stays there.
pub(crate) fn value_max<T: Number>() -> f64 {
    VALUE_MAX.min(optimizer::value_max::<T>().to_f64())
}

/// Where an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Index of the agent.
    pub agent: u32,
    /// Observations in its log.
    pub observations: u32,
    /// Whether all its queries are made.
    pub is_done: bool,
}

/// A method's numbers on a computer, for the agents of one federation.
pub trait Party<T: Number>: Send + Sync + Sized + 'static {
    /// What an agent keeps besides its log.
    type State: Clone + PartialEq + Serialize + DeserializeOwned + Send;
    /// Why an agent's machine refuses something.
    type Refusal: Into<PartyError>;
    /// An agent's machine, joined with its numbers for one call.
    type Member<'m>: Member<T, Error = Self::Refusal>;
    /// What was agreed.
    fn agreement(&self) -> &Agreement;

    /// Coordinates of all candidates, count × D.
    fn points(&self) -> &[T];

    /// An agent before its first frame.
    fn fresh(&self, agent: u32, seed: RunSeed) -> Self::State;

    /// Where an agent stands.
    fn standing(state: &Self::State) -> Standing;

    /// Numbers of an agent: of its log, and of its workspace.
    ///
    /// **Errors**: none for terms that were admitted.
    fn lengths(&self) -> Result<[usize; 2], TermsError>;

    /// Lets an agent's machine do something. The workspace is the agent's own, as the last call
    /// left it.
    ///
    /// **Errors**: the machine's, and for a state that no agent of these terms can have.
    fn with<R>(
        &self,
        state: &mut Self::State,
        numbers: [&mut [T]; 2],
        act: impl FnOnce(&mut Self::Member<'_>) -> Result<R, Self::Refusal>,
    ) -> Result<R, PartyError>;

    /// How an agent's contribution to the release of its epoch becomes integers, where two servers
    /// are trusted; nothing where its method sums nothing.
    ///
    /// **Errors**: the machine's.
    fn encoding(
        &self,
        _state: &mut Self::State,
        _numbers: [&mut [T]; 2],
    ) -> Result<Option<JointVectors>, PartyError> {
        Ok(None)
    }

    /// The value of an entry in an agent's log, as it was measured.
    fn measured(&self, logged: T) -> f64 {
        logged.to_f64() + self.agreement().protocol.offset()
    }

    /// What an agent is told of a value that a simulation measured, where larger is better.
    fn in_units(&self, simulated: f64) -> f64 {
        simulated
    }

    /// How many evaluations an agent makes in all, if it misses no round.
    fn evaluations(&self, _state: &Self::State) -> u32 {
        let protocol = &self.agreement().protocol;
        protocol.initial_points().saturating_add(protocol.rounds())
    }

    /// The fewest evaluations that an agent may make in all.
    fn evaluations_min(&self) -> u32 {
        0
    }

    /// Sets how many evaluations an agent makes in all; false where the terms say how many.
    fn evaluate(_state: &mut Self::State, _evaluations: u32) -> bool {
        false
    }

    /// The file that the sums of these releases make, M + 1 numbers each; nothing where there is
    /// none.
    ///
    /// **Errors**: [`PartyError`] for numbers that no release can be.
    fn file(&self, _released: &[T]) -> Result<Option<PriorFile>, PartyError> {
        Ok(None)
    }

    /// What the release after these is made with, for agents that do not compute it; nothing where
    /// there is none.
    ///
    /// **Errors**: as [`Party::file`].
    fn opening(&self, _released: &[T]) -> Result<Option<Vec<T>>, PartyError> {
        Ok(None)
    }

    /// The file of the releases that an agent has learned; nothing where there is none.
    ///
    /// **Errors**: as [`Party::file`].
    fn learned(&self, _state: &Self::State) -> Result<Option<PriorFile>, PartyError> {
        Ok(None)
    }

    /// The point of a candidate: in \[0, 1\]^D, or of a campaign in the numbers of its space, one a
    /// parameter.
    fn point(&self, candidate: u32) -> Vec<f64> {
        let dim = self.agreement().dim as usize;
        self.points()
            .iter()
            .skip(candidate as usize * dim)
            .take(dim)
            .map(|x| x.to_f64())
            .collect()
    }

    /// The same by the names and in the units of a campaign's space; none of the unit box.
    fn named(&self, _candidate: u32) -> Option<Point> {
        None
    }
}

/// A method that real federations have: agents follow from the terms alone, releases are charged,
/// and there is a server.
///
/// ```
/// use sordino_net::party::{Served, Voting};
///
/// fn is_served<P: Served<f64>>() {}
/// is_served::<Voting<f64>>();
/// ```
///
/// **Privacy**: a method of somebody's own has none of this, so no program serves or joins it.
///
/// ```compile_fail,E0277
/// use sordino_net::party::{OwnParty, Served};
///
/// fn is_served<P: Served<f64>>() {}
/// is_served::<OwnParty<f64>>();
/// ```
pub trait Served<T: Number>: Party<T> {
    /// What the server keeps between two calls.
    type Hosted: Hosted<T>;

    /// Everything that can be computed from the terms.
    ///
    /// **Errors**: [`TermsError`], for another method too.
    fn new(terms: &Terms) -> Result<Arc<Self>, TermsError>;

    /// Its server before the first release.
    ///
    /// **Errors**: none for terms that [`Served::new`] admitted.
    fn hosted(self: &Arc<Self>) -> Result<Self::Hosted, HostError>;
}

/// A method of somebody's own on a computer: its agents, in a rehearsal.
pub type OwnParty<T> = Chosen<T, Custom>;

/// Calls a function for the method and the number format of an agreement:
/// `dispatch!(terms.agreement, f<X>(arguments))` is `f::<T, P, X>(arguments)`. Methods that nobody
/// serves are `TermsError::Method`.
macro_rules! dispatch {
    ($agreement:expr, $function:ident$(<$more:ty>)?($($argument:expr),* $(,)?)$(.$wait:tt)?) => {{
        use sordino_core::federated::exchange::Protocol;
        use sordino_core::wire::ScalarTag;
        use $crate::party::{CampaignParty, Draws, Prior, Voting};
        match (&$agreement.protocol, $agreement.scalar) {
            (Protocol::Draws(_), ScalarTag::F32) => $function::<f32, Draws<f32>$(, $more)?>($($argument),*)$(.$wait)?,
            (Protocol::Draws(_), _) => $function::<f64, Draws<f64>$(, $more)?>($($argument),*)$(.$wait)?,
            (Protocol::Prior(_), ScalarTag::F32) => $function::<f32, Prior<f32>$(, $more)?>($($argument),*)$(.$wait)?,
            (Protocol::Prior(_), _) => $function::<f64, Prior<f64>$(, $more)?>($($argument),*)$(.$wait)?,
            (Protocol::Campaign(_), _) => $function::<f64, CampaignParty$(, $more)?>($($argument),*)$(.$wait)?,
            (Protocol::Vote(_), ScalarTag::F32) => $function::<f32, Voting<f32>$(, $more)?>($($argument),*)$(.$wait)?,
            (Protocol::Vote(_), _) => $function::<f64, Voting<f64>$(, $more)?>($($argument),*)$(.$wait)?,
            (Protocol::Own(_), _) => Err($crate::terms::TermsError::Method.into()),
        }
    }};
}

pub(crate) use dispatch;
