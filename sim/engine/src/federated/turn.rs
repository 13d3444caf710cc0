//! One order on its way through the agents of a shard: what reaches each of them, what it sends,
//! and what is written down of it.

use sordino_core::digest::Digest;
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{
    Collector, CollectorStorage, Counters, Encoding, Partial as Sums, Share, Wiped,
};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Kind, ScalarTag};
use sordino_experiment::record::{Observed, Source};
use sordino_experiment::world::fault::FaultCounts;

use super::collective::Call;
use super::context::MethodContext;
use super::error::DriverError;
use super::link::{Collects, Door, Faulty, Frames, Link, Reach};
use super::message::Message;

/// The numbers of a collector, which it borrows.
#[derive(Default)]
pub struct Numbers {
    sums: Vec<i64>,
    flags: Vec<u8>,
    counters: Counters,
}

/// What was collected.
#[derive(Default)]
pub struct Collected {
    /// Integer sums, for a server that takes sums.
    pub sums: Option<Sums<Wiped<u8>, Wiped<i64>>>,
    /// Messages, for a server that takes them one by one.
    pub messages: Vec<Message>,
}

/// One evaluation of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Index of the candidate.
    pub candidate: u32,
    /// How many observations it made before.
    pub number: u32,
    /// Whose choice it was.
    pub source: Source,
}

/// The leaf of the transcript that one agent's turn becomes.
pub struct Leaf {
    agent: u32,
    written: AgentLeaf,
}

/// One order on its way through the agents of a shard: their links, and what is written down.
pub struct Turn<'m, T, C> {
    base: &'m MethodContext<T>,
    round: u32,
    link: Faulty<'m, T, Door<'m, T, C>>,
    frame: Vec<u8>,
    leaves: Vec<Digest>,
    observations: Vec<Observed>,
}

/// What is written down of an order when all agents are done with it.
pub struct Written<C> {
    /// What took the uploads.
    pub collector: Option<C>,
    /// What went wrong on links.
    pub faults: FaultCounts,
    /// Frames that missed the deadline, with their senders.
    pub late: Frames,
    /// A leaf of the transcript for each agent, in order.
    pub leaves: Vec<Digest>,
    /// What agents observed, if the scenario asks for it.
    pub observations: Vec<Observed>,
}

impl<'m, T: Scalar, C: Collects> Turn<'m, T, C> {
    /// An order before its first agent; the frames in `late` missed the last deadline.
    ///
    /// **Errors**: as [`Faulty::new`].
    pub fn new(
        base: &'m MethodContext<T>,
        call: Call,
        collector: Option<C>,
        late: Frames,
    ) -> Result<Self, DriverError> {
        let door = Door::new(base, collector, call.upload_len);
        let longest = wire::frame_len_max(ScalarTag::of::<T>(), call.upload_len);
        Ok(Turn {
            base,
            round: call.round,
            link: Faulty::new(door, base, call, late)?,
            frame: vec![0; longest],
            leaves: Vec::new(),
            observations: Vec::new(),
        })
    }

    /// The order after its last agent.
    ///
    /// **Errors**: a link that cannot be closed.
    pub fn ended(self) -> Result<Written<C>, DriverError> {
        let (collector, faults, late) = self.link.collected()?;
        Ok(Written {
            collector,
            faults,
            late,
            leaves: self.leaves,
            observations: self.observations,
        })
    }

    /// What reaches an agent, with or without a broadcast. Asked once for each agent.
    pub fn reaches(&mut self, agent: u32, broadcast: bool) -> Reach {
        self.link.reaches(agent, broadcast)
    }

    /// The agent's leaf of the transcript, for `queries` observations.
    pub fn leaf(&self, agent: u32, queries: u32) -> Leaf {
        let written = AgentLeaf::new(agent, self.round, queries);
        Leaf { agent, written }
    }

    /// The agent of a leaf evaluates its function at a candidate. Returns what it observes.
    ///
    /// **Errors**: a function that cannot be evaluated there.
    pub fn evaluate(
        &mut self,
        leaf: &mut Leaf,
        best: &mut f64,
        query: Query,
    ) -> Result<T, DriverError> {
        let Query {
            candidate,
            number,
            source,
        } = query;
        let agent = leaf.agent;
        let answer = self.base.run.objective.query(agent, candidate, number)?;
        let y = T::from_f64(answer.y);
        *best = best.max(answer.value);
        leaf.written.observation(candidate, y);
        if self.base.observed {
            let round = self.round;
            self.observations.push(Observed {
                agent,
                round,
                candidate,
                y: answer.y,
                value: answer.value,
                source,
            });
        }
        Ok(y)
    }

    /// The agent of a leaf sends `vector` for broadcast number `broadcast` and is done with the
    /// order.
    ///
    /// **Errors**: a frame that must not be refused and is.
    pub fn upload(&mut self, leaf: Leaf, broadcast: u32, vector: &[T]) -> Result<(), DriverError> {
        let Leaf { agent, written } = leaf;
        let header = self.base.frame_header(Kind::Upload, agent, broadcast);
        let used = wire::encode(header, vector, &mut self.frame)?;
        self.leaves.push(written.end(vector));
        self.link.send(agent, &mut self.frame[..used])
    }

    /// The agent sends nothing and is done with the order.
    pub fn silent(&mut self, leaf: Leaf) {
        self.leaves.push(leaf.written.end::<T>(&[]));
    }
}

/// A collector over numbers of a shard's own, for the agents of `share`.
///
/// **Errors**: a share of another release, or of other agents.
pub fn collector<'c, E: Encoding, F: AsRef<[u8]>>(
    encoding: E,
    share: &Share<F>,
    numbers: &'c mut Numbers,
) -> Result<Collector<'c, E>, DriverError> {
    numbers.sums = vec![0; encoding.sums_len()];
    numbers.flags = vec![0; share.agents().len()];
    let Numbers {
        sums,
        flags,
        counters,
    } = numbers;
    Ok(Collector::new(
        encoding,
        share,
        CollectorStorage {
            sums,
            flags,
            counters,
        },
    )?)
}

/// The sums that a collector took.
pub fn sums<E: Encoding>(collector: Collector<'_, E>) -> Collected {
    Collected {
        sums: Some(collector.finish().to_owned()),
        messages: Vec::new(),
    }
}
