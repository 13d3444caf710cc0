//! The one collective of a federation: broadcast an order to all members, gather their integer
//! partial sums.
//!
//! A federation adds up only integers, so members may hold any ranges of agents, answer in any
//! order, and run anywhere: threads of this process ([`super::driver`]), and behind the same trait
//! a cluster (`super::remote`). What an engine must ensure: every member gets every order once and
//! in sequence; an answer names its range; a member that is lost can be rebuilt from a [`Snapshot`]
//! and replays its orders with the same bits.
//!
//! Orders and partials are inside the trust boundary: they carry the secret sample and unnoised
//! sums, so a link between members must be authenticated and encrypted, and an engine that leaves
//! the process hands each member only the share of its own agents. **Devices never sit behind this
//! trait**: they receive broadcasts and send frames, and learn nothing about the sample.

use std::ops::Range;
use std::sync::Arc;

use sordino_core::federated::{self, Share, Wiped};
use sordino_core::privacy::SourceKind;
use sordino_experiment::progress::{Stage, Step};
use sordino_experiment::record::Observed;
use sordino_experiment::world::fault::FaultCounts;
use sordino_host::shares::Asked;

use super::blocks::Piece;
use super::error::DriverError;
pub use super::lent::Snapshot;
use super::lent::{Lent, Snapshots};
use super::message::Message;
use super::regret_counts::RegretCounts;

/// The part of an order, at the beginning of a round, that is the same for all members.
/// (Neither orders nor partials can be printed: both hold secrets.)
#[derive(Clone)]
pub struct Order<T> {
    /// Round t = 0..=T; the first queries are round 0.
    pub round: u32,
    /// The vectors of the previous round; `None` if there was no broadcast.
    pub broadcast: Option<Arc<[T]>>,
    /// Their argmax, found once for all.
    pub maximum: Option<u32>,
    /// The secret sample if uploads are collected in this round; a member takes the share of its
    /// own agents.
    pub share: Option<Arc<Share<Wiped<u8>>>>,
    /// How the sample was drawn and how the noise will be. An order of secret sources never leaves
    /// its process.
    pub source: SourceKind,
}

/// Where one of `parts` nearly equal parts of `all` begins.
pub(super) fn edge(all: u32, part: u32, parts: u32) -> u32 {
    (u64::from(all) * u64::from(part) / u64::from(parts)) as u32
}

/// What a member answers.
pub struct Partial {
    /// Agents that the answer is about.
    pub agents: Range<u32>,
    /// What its collector took; `None` if nothing was collected.
    pub collected: Option<federated::Partial<Wiped<u8>, Wiped<i64>>>,
    /// Its agents' part of the transcript and of the summed regret, in blocks.
    pub pieces: Vec<Piece>,
    /// How often its agents' best-so-far noise-free regrets occur, at report rounds only:
    /// simulation only.
    pub regrets: RegretCounts,
    /// What happened on its links.
    pub faults: FaultCounts,
    /// What its agents observed, in their order, if the scenario asks for it: simulation only.
    pub observations: Vec<Observed>,
    /// What its agents sent to a server that takes no sums.
    pub messages: Vec<Message>,
    /// The shares of a release with the answer of a helper that is not simulated: a rehearsal's.
    /// `None` everywhere else.
    pub answered: Option<(Asked, Vec<u8>)>,
}

/// Consecutive agents of one federation, whatever its method: what a member holds.
pub trait AgentGroup: Sized + Send + 'static {
    /// What all its agents borrow.
    type Context: Send + Sync;
    /// The part of an order that it receives.
    type Order: Clone + Send + 'static;
    /// The state of one agent.
    type State: Send;

    /// Enrolled agents of the federation.
    fn enrolled(context: &Self::Context) -> u32;

    /// These agents before their first point, or as they were when the snapshot of all agents was
    /// taken.
    ///
    /// **Errors**: a context or a snapshot that does not fit.
    fn build(
        context: &Arc<Self::Context>,
        agents: Range<u32>,
        snapshot: Option<&mut Snapshot<Self::State>>,
    ) -> Result<Self, DriverError>;

    /// Agents of this group.
    fn range(&self) -> Range<u32>;

    /// Takes every agent through one order.
    ///
    /// **Errors**: an agent or a collector that refuses what it must not refuse.
    fn advance(&mut self, order: &Self::Order) -> Result<Partial, DriverError>;

    /// The state of its agents, lent.
    fn lent(&self) -> Lent<'_, Self::State>;

    /// An order in a stage, as progress reports name it.
    fn step(context: &Self::Context, order: &Self::Order, stage: Stage) -> Step;
}

/// Members that hold all agents of one federation.
pub trait Collective<C: AgentGroup> {
    /// Why a round or a snapshot fails.
    type Error;

    /// Takes all members through an order and waits for all answers, which come in any order.
    fn round(&mut self, order: C::Order)
    -> impl Future<Output = Result<Vec<Partial>, Self::Error>>;

    /// The state of all members, between orders.
    fn snapshot(&mut self) -> impl Future<Output = Result<Snapshots<'_, C::State>, Self::Error>>;
}

/// What an order asks for, as far as every method has it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Round t: agents are present or away as in this round.
    pub round: u32,
    /// The "round" whose coins the links draw: that of the order, unless several are given in one
    /// round.
    pub coins: u32,
    /// Whether agents query: at report rounds regrets are counted then.
    pub queries: bool,
    /// Numbers of one upload.
    pub upload_len: usize,
}
