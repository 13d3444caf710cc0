//! Methods whose agents and server are handed in: those of a program that uses the library, random
//! search, pooled data, agents alone.
//!
//! | name | what it is |
//! |---|---|
//! | [`Chooser`], [`Aggregator`] | what a method must say: where an agent looks next and what it sends; what the server makes of that |
//! | [`Custom`] | both with a digest, as [`Own`](super::Own) takes it |
//! | `builtin` | `random`, `pooled` and `alone`, of the same form |
//! | [`context`], [`shard`], `server` | what the parties borrow; agents in an arena; what is asked of them, and what the server makes of the answers |
//!
//! Everything else is as for every federated method: functions, initial points, faults of links,
//! drivers, checkpoints, transcript, run folder. **Nothing is claimed for such a method**: no noise
//! of its own is charged or checked here.

use std::sync::Arc;

use sordino_core::digest::{Digest, Frame};
use sordino_core::random::{RunSeed, Stream};

pub use super::message::Message;
use sordino_experiment::scenario::method::CUSTOM;
use sordino_experiment::scenario::{KernelConfig, Scenario};

pub(crate) mod builtin;
pub mod context;
pub(crate) mod server;
pub mod shard;

/// What all parties of a method know: public, and the same in all rounds of a run.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Enrolled agents N.
    pub agents: u32,
    /// Queries T after the initial points.
    pub rounds: u32,
    /// Points that every agent observes before its first query.
    pub initial_points: u32,
    /// Dimension D of a candidate.
    pub dim: usize,
    /// All candidates in the unit box, count × D.
    pub candidates: Vec<f64>,
    /// Kernel of the agents' beliefs.
    pub kernel: KernelConfig,
    /// Noise variance in an agent's own posterior, unit y².
    pub noise_variance: f64,
    /// c₀, the public constant that agents subtract from what they observe.
    pub constant: f64,
    /// A row φ(x) for each candidate, with k(x, x′) ≈ φ(x)·φ(x′): the factor of the prior where the
    /// scenario draws jointly, its public features elsewhere.
    pub rows: Vec<f64>,
    /// The number of columns of `rows`.
    pub columns: usize,
    /// The candidates as a simulated site searches them that knows what its inputs are; nothing in
    /// a real federation, whose sites have searches of their own.
    pub searched: Option<Searched>,
}

/// The candidates in the coordinates of `sordino optimize`: logarithms, whole numbers and names as
/// its space has them. For a function on a box these are the box's.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Number of inputs that are searched.
    pub inputs: usize,
    /// Number of coordinates of a candidate: one an input, but one for each of three names or more.
    pub dim: usize,
    /// All candidates, count × `dim`.
    pub coordinates: Vec<f64>,
    /// The seed of the run, from which every agent's search has its own.
    pub seed: RunSeed,
}

impl Searched {
    /// The candidates of a box, in its own coordinates.
    pub fn boxed(candidates: &[f64], dim: usize, seed: RunSeed) -> Self {
        Searched {
            inputs: dim,
            dim,
            coordinates: candidates.to_vec(),
            seed,
        }
    }

    /// The coordinates of a candidate.
    pub fn point(&self, candidate: u32) -> &[f64] {
        &self.coordinates[candidate as usize * self.dim..][..self.dim]
    }
}

impl Ground {
    /// The number of candidates.
    pub fn count(&self) -> u32 {
        (self.candidates.len() / self.dim.max(1)) as u32
    }

    /// The point of a candidate.
    pub fn point(&self, candidate: u32) -> &[f64] {
        &self.candidates[candidate as usize * self.dim..][..self.dim]
    }

    /// The row φ of a candidate.
    pub fn row(&self, candidate: u32) -> &[f64] {
        &self.rows[candidate as usize * self.columns..][..self.columns]
    }
}

/// What one agent sees when it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'s> {
    /// What all parties know.
    pub ground: &'s Ground,
    /// The index of the agent.
    pub agent: u32,
    /// The round t it is in; round 0 is the initial points.
    pub round: u32,
    /// What it has observed so far: candidates and values.
    pub log: &'s [(u32, f64)],
    /// What the server sent after the previous round; `None` if it sent nothing or the message was
    /// lost.
    pub broadcast: Option<&'s [f64]>,
}

/// The agents of a method. One object for all of them, asked from many threads: what an agent
/// remembers is its log.
pub trait Chooser: Send + Sync {
    /// The candidate that the agent queries next. `coins` are the agent's own for this round, the
    /// same with every driver.
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32;

    /// What it sends at the end of a round that the server listens to: as many numbers as
    /// [`Aggregator::message_len`] says.
    fn message(&self, _sight: &Sight<'_>, _coins: &mut Stream) -> Vec<f64> {
        Vec::new()
    }
}

/// The server of a method: a function of what it keeps and of what arrived.
pub trait Aggregator: Send + Sync {
    /// The length of every message.
    fn message_len(&self, ground: &Ground) -> usize;

    /// What goes out to every agent after a round; if it is empty, nothing does. `messages` arrived
    /// at the end of the round and are in the order of their senders. `kept` is empty before the
    /// first round; a checkpoint stores it.
    fn combine(
        &self,
        ground: &Ground,
        messages: &[Message],
        kept: &mut Vec<f64>,
        coins: &mut Stream,
    ) -> Vec<f64>;
}

/// A method whose parties are handed in.
#[derive(Clone)]
pub struct Custom {
    digest: Digest,
    agents: Arc<dyn Chooser>,
    server: Option<Arc<dyn Aggregator>>,
}

impl std::fmt::Debug for Custom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Custom")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl Custom {
    /// Agents without a server. `version` names the method and its version: change it whenever the
    /// method's behaviour changes, so that a run folder of one version is never resumed with
    /// another.
    pub fn alone(version: &str, agents: impl Chooser + 'static) -> Self {
        Custom {
            digest: digest(version),
            agents: Arc::new(agents),
            server: None,
        }
    }

    /// The same with a server, which gets a message from every agent after every round but the
    /// last.
    pub fn with_server(
        version: &str,
        agents: impl Chooser + 'static,
        server: impl Aggregator + 'static,
    ) -> Self {
        Custom {
            server: Some(Arc::new(server)),
            ..Custom::alone(version, agents)
        }
    }

    /// What the run folder records beside the method's name.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// The agents of the method.
impl Chooser for Custom {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        self.agents.next(sight, coins)
    }

    fn message(&self, sight: &Sight<'_>, coins: &mut Stream) -> Vec<f64> {
        self.agents.message(sight, coins)
    }
}

fn digest(version: &str) -> Digest {
    let mut frame = Frame::leaf();
    frame.bytes(b"sordino custom method");
    frame.bytes(version.as_bytes());
    frame.end()
}

/// Why methods and a scenario do not belong together, or what a method did that it must not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CustomError {
    /// A method that belongs to another program.
    #[error(
        "the method `{0}` is of a program that uses the library, and only that program runs it"
    )]
    Missing(String),
    /// A handed-in method that no table of the scenario names.
    #[error(
        "the method `{name}` was handed in; admissible: those with a table [[method]] of base `custom`: {there}"
    )]
    Unknown {
        /// Name under which it came.
        name: String,
        /// The names of such tables.
        there: String,
    },
    /// A method of another version than the scenario's.
    #[error("the method `{name}` has the digest {found}; the scenario was made for {expected}")]
    Other {
        /// Name of the method.
        name: String,
        /// Digest of what was handed in.
        found: String,
        /// Digest in the scenario.
        expected: String,
    },
    /// A query that is not a candidate.
    #[error(
        "method `{method}`, agent {agent}, round {round}: queries candidate {candidate}; admissible: below {count}"
    )]
    Candidate {
        /// Name of the method.
        method: String,
        /// The index of the agent.
        agent: u32,
        /// The round it is in.
        round: u32,
        /// What it asked for.
        candidate: u32,
        /// The number of candidates.
        count: u32,
    },
    /// Numbers that cannot be sent.
    #[error(
        "method `{method}`, round {round}: {who} sends {len} numbers, {bad} of them not finite; admissible: {admissible}"
    )]
    Numbers {
        /// Name of the method.
        method: String,
        /// The round at whose end they were sent.
        round: u32,
        /// The agent or the server.
        who: String,
        /// How many there are.
        len: usize,
        /// How many are not finite.
        bad: usize,
        /// What would have been sent.
        admissible: String,
    },
}

/// Gives every own method of base `custom` in the scenario its digest, or compares it; none may be
/// missing or left over.
///
/// **Errors**: [`CustomError::Unknown`], [`CustomError::Missing`], [`CustomError::Other`].
pub fn join(scenario: &mut Scenario, methods: &[(String, Custom)]) -> Result<(), CustomError> {
    let mut open = scenario
        .own
        .iter_mut()
        .filter(|own| own.keys.base.name() == CUSTOM)
        .collect::<Vec<_>>();
    if let Some((name, _)) = methods
        .iter()
        .find(|(name, _)| open.iter().all(|own| own.keys.name != *name))
    {
        let there: Vec<&str> = open.iter().map(|own| own.keys.name.as_str()).collect();
        return Err(CustomError::Unknown {
            name: name.clone(),
            there: there.join(", "),
        });
    }
    for own in &mut open {
        let name = own.keys.name.clone();
        let Some((_, custom)) = methods.iter().find(|(known, _)| *known == name) else {
            return Err(CustomError::Missing(name));
        };
        let found = custom.digest.to_string();
        let expected = own.keys.digest.get_or_insert_with(|| found.clone()).clone();
        if expected != found {
            return Err(CustomError::Other {
                name,
                found,
                expected,
            });
        }
    }
    Ok(())
}
