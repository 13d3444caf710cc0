//! What a head asks of a worker, and what a worker answers. Every question has one answer.
//!
//! Inside the trust boundary: an order carries the sample of a simulated run. Nothing here is meant
//! for agents of a real federation, and no secret source is ever written
//! ([`sordino_engine::federated::wired`] refuses it).

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sordino_engine::hub::Task;

/// Version of the format of these messages, part of the names under which head and workers meet.
pub const VERSION: u32 = 2;

/// A lot that is to be held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lot {
    /// Its agents, consecutive ones.
    pub agents: Range<u32>,
    /// Their snapshot; empty if they have just begun.
    pub snapshot: Option<Vec<u8>>,
}

/// An order for the lots of one worker: what is the same for all, and the part of each lot by its
/// first agent.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// What all members are told.
    pub common: Vec<u8>,
    /// First agents of the lots, and what the holder of each is told.
    pub parts: Vec<(u32, Vec<u8>)>,
}

/// A question, with the mark of the head that asks it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Drawn by a head when it begins: a worker that was held by another one starts afresh.
    pub head: u64,
    /// What the worker is to do.
    pub ask: Ask,
}

/// What a worker is asked to do.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Take up a scenario: everything that was held is dropped.
    Scenario {
        /// The scenario with every key written out.
        text: String,
        /// Digest of program version, scenario and data, as the head has them.
        identity: [u8; 32],
    },
    /// Take up a task of the scenario: everything that was held is dropped.
    Task(Task),
    /// Hold lots, and take them through orders that they have missed, without answering those.
    Hold {
        /// The lots, each with its snapshot.
        lots: Vec<Lot>,
        /// What they have missed, in sequence.
        orders: Vec<Told>,
    },
    /// Take lots through an order.
    Order(Told),
    /// Say what lots are; each is held as before.
    Snapshot(Vec<u32>),
    /// Say what lots are, and hold them no more.
    Give(Vec<u32>),
    /// The run is complete.
    Done,
}

/// What a worker says about itself with every answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Machine and process, for people.
    pub name: String,
    /// Threads that it computes with.
    pub threads: u32,
    /// Number of agents that it holds.
    pub agents: u32,
    /// Steps of agents that it has done, each one agent in one order.
    pub steps: u64,
    /// Seconds it has computed for them.
    pub busy: f64,
    /// Memory in use, and the most there was; nothing where the system does not say.
    pub memory: Option<(u64, u64)>,
}

/// What a worker answers.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It was done as asked.
    Yes,
    /// The partials of an order.
    Partials(Vec<u8>),
    /// The snapshots of lots, in the order they were asked for.
    Snapshots(Vec<Vec<u8>>),
    /// It does not hold what it is asked about: it has started over.
    Afresh,
    /// It cannot, and no other worker could either.
    Cannot(String),
    /// It does not have the same data or program.
    Other(String),
}

/// An answer with what the worker says of itself.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What the worker is.
    pub state: State,
    /// What it answers.
    pub answer: Answer,
}

/// The bytes are not a message of this version.
#[derive(Debug, thiserror::Error)]
#[error("a message that does not decode: {0}")]
pub struct MessageError(#[from] postcard::Error);

/// A message as bytes.
///
/// **Errors**: none, for messages of these types.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, MessageError> {
    Ok(postcard::to_allocvec(message)?)
}

/// A message from bytes.
///
/// **Errors**: [`MessageError`].
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, MessageError> {
    Ok(postcard::from_bytes(bytes)?)
}
