//! What an execution of a federation decided, as a chain of digests.
//!
//! **Layout**, version [`VERSION`] (little-endian, frozen by vectors): an agent's leaf is agent,
//! round, number of observations (u32 each), then (candidate u32, value) each, then the length of
//! the upload (u32, 0 if none) and its numbers. [`BLOCK`] consecutive agents (fewer in the last
//! block) are a block; its leaf is its number (u32), its agents (u32) and their leaves in order.
//! The frame of round t is d_{t−1}, t (u32), the leaves of the blocks in order, the length of the
//! broadcast (u32) and its numbers.
//!
//! **Cost** of putting a round together: 32 bytes from each block, not from each agent; a block is
//! hashed where its agents are.
//!
//! **Example**: that of [`AgentLeaf`].

use super::exchange::Protocol;
use crate::digest::{Digest, Frame};
use crate::math::Scalar;

/// Version of the layout. Version 1 had no blocks: every agent's leaf stood in the frame.
pub const VERSION: u32 = 2;

/// Agents in a block: block b is the agents 1024·b to 1024·(b + 1) − 1, as far as there are any.
pub const BLOCK: u32 = 1024;

/// One agent's part of a round.
///
/// ```
/// use sordino_core::federated::transcript::{AgentLeaf, BlockLeaf, block_leaf};
///
/// let mut leaf = AgentLeaf::new(0, 1, 1); // agent 0, round 1, one observation
/// leaf.observation(17, 0.25f32);
/// let agent = leaf.end(&[1.0f32, 2.0]); // what it uploaded
/// let mut block = BlockLeaf::new(0, 1);
/// block.agent(&agent);
/// assert_eq!(block.end(), block_leaf(0, &[agent]));
/// ```
#[derive(Clone)]
pub struct AgentLeaf(Frame);

impl AgentLeaf {
    /// Begins the leaf of `agent` in `round`, which made `observations` observations.
    pub fn new(agent: u32, round: u32, observations: u32) -> Self {
        let mut frame = Frame::leaf();
        frame.u32(agent);
        frame.u32(round);
        frame.u32(observations);
        AgentLeaf(frame)
    }

    /// Appends an observation: where, and the value as the agent was told it.
    pub fn observation<T: Scalar>(&mut self, candidate: u32, value: T) {
        self.0.u32(candidate);
        self.0.scalars(&[value]);
    }

    /// Ends the leaf with the uploaded weights; empty if nothing was uploaded.
    pub fn end<T: Scalar>(mut self, upload: &[T]) -> Digest {
        self.0.u32(upload.len() as u32);
        self.0.scalars(upload);
        self.0.end()
    }
}

/// One step of the transcript that an agent takes part in: the queries of a round, or a
/// contribution to a release.
///
/// **Example**: that of [`steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The round of the step's leaf.
    pub round: u32,
    /// The first observation that is in it, and the first that is not any more.
    pub observations: (u32, u32),
    /// Whether the upload of the epoch belongs to it.
    pub gives: bool,
}

/// The steps of an epoch, in the order of the transcript.
///
/// What agents of a federated prior or a campaign contribute has a step of its own; everywhere else
/// it is given with the queries of its round.
///
/// ```
/// use sordino_core::federated::exchange::Protocol;
/// use sordino_core::federated::transcript::{Step, steps};
/// # use sordino_core::domain::Regions;
/// # use sordino_core::federated::exchange::{DrawsProtocol, PublicFeatures};
/// # use sordino_core::federated::{Aggregation, Config, Parameters};
/// # use sordino_core::kernel::Stationary;
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 6, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let features = PublicFeatures::new(7, Stationary::SquaredExponential, 0.2, 1.0);
/// # let protocol = Protocol::Draws(DrawsProtocol { config, features });
///
/// // `protocol` shares draws, after ten initial points.
/// assert!(steps(&protocol, 0).eq([Step { round: 0, observations: (0, 10), gives: true }]));
/// assert!(steps(&protocol, 3).eq([Step { round: 3, observations: (12, 13), gives: true }]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub fn steps(protocol: &Protocol, epoch: u32) -> impl Iterator<Item = Step> + use<> {
    let initial = protocol.initial_points();
    let first = epoch
        .checked_sub(1)
        .map_or(0, |before| protocol.last_round(before) + 1);
    let last = protocol.last_round(epoch);
    let gives = matches!(
        protocol,
        Protocol::Draws(_) | Protocol::Vote(_) | Protocol::Own(_)
    );
    let end = initial + last;
    let release = Step {
        round: last,
        observations: (end, end),
        gives: true,
    };
    let release = (!gives && epoch < protocol.epochs()).then_some(release);
    let queries = (first..=last).map(move |round| {
        let from = round.checked_sub(1).map_or(0, |before| initial + before);
        Step {
            round,
            observations: (from, initial + round),
            gives,
        }
    });
    queries.chain(release)
}

/// The most steps that an epoch has.
pub fn steps_max(protocol: &Protocol) -> usize {
    (0..=protocol.epochs())
        .map(|epoch| steps(protocol, epoch).count())
        .max()
        .unwrap_or(1)
}

/// One block's part of a round.
///
/// **Example**: that of [`AgentLeaf`].
#[derive(Clone)]
pub struct BlockLeaf(Frame);

impl BlockLeaf {
    /// Begins the leaf of block number `block`, which holds `agents` agents.
    pub fn new(block: u32, agents: u32) -> Self {
        let mut frame = Frame::leaf();
        frame.u32(block);
        frame.u32(agents);
        BlockLeaf(frame)
    }

    /// Appends the leaf of its next agent.
    pub fn agent(&mut self, leaf: &Digest) {
        self.0.digest(leaf);
    }

    /// Ends the leaf after its last agent.
    pub fn end(self) -> Digest {
        self.0.end()
    }
}

/// The leaf of block number `block` from the leaves of all its agents, in order.
pub fn block_leaf(block: u32, agents: &[Digest]) -> Digest {
    let mut leaf = BlockLeaf::new(block, agents.len() as u32);
    agents.iter().for_each(|agent| leaf.agent(agent));
    leaf.end()
}

/// The leaves of all blocks from the leaves of all agents, in order.
pub fn block_leaves(agents: &[Digest]) -> impl Iterator<Item = Digest> + '_ {
    agents
        .chunks(BLOCK as usize)
        .enumerate()
        .map(|(block, agents)| block_leaf(block as u32, agents))
}

/// The next element of the chain: round t after `previous`, with every block's leaf and the
/// broadcast (empty if none).
pub fn link<T: Scalar>(
    previous: &Digest,
    round: u32,
    blocks: impl Iterator<Item = Digest>,
    broadcast: &[T],
) -> Digest {
    let mut frame = previous.frame();
    frame.u32(round);
    blocks.for_each(|leaf| frame.digest(&leaf));
    frame.u32(broadcast.len() as u32);
    frame.scalars(broadcast);
    frame.end()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// A campaign contributes twice before its first round, and goes on alone after the last
    /// release.
    #[test]
    fn releases_without_rounds_between_them_are_steps_of_their_own() {
        use crate::federated::prior::{CAMPAIGN_RULES, CampaignProtocol, Config, Parameters};
        let protocol = Protocol::Campaign(CampaignProtocol {
            rules: CAMPAIGN_RULES,
            config: Config::new(Parameters::own_units(50, 100, 10)).unwrap(),
            rounds: 3,
            noise_multipliers: [9.0, 9.0].into_iter().collect(),
            lengthscale: 0.5,
            landmarks: Digest::default(),
            publication: Digest::default(),
        });
        let step = |round, observations, gives| Step {
            round,
            observations,
            gives,
        };
        let of = |epoch| steps(&protocol, epoch).collect::<Vec<_>>();
        let release = step(0, (10, 10), true);
        assert_eq!(of(0), [step(0, (0, 10), false), release]);
        assert_eq!(of(1), [release]);
        assert_eq!(
            of(2),
            [
                step(1, (10, 11), false),
                step(2, (11, 12), false),
                step(3, (12, 13), false)
            ]
        );
        assert_eq!(steps_max(&protocol), 3);
    }

    /// The layout of the module's head, written out byte by byte for 1,025 agents: a whole block
    /// and one of one agent.
    #[test]
    fn a_round_is_hashed_block_by_block() {
        let agents: Vec<Digest> = (0..BLOCK + 1)
            .map(|agent| AgentLeaf::new(agent, 7, 0).end::<f64>(&[]))
            .collect();
        let sha = |bytes: &[u8]| {
            let mut frame = Frame::leaf();
            frame.bytes(bytes);
            frame.end().0
        };
        let bytes_of =
            |agent: u32| [agent.to_le_bytes(), 7u32.to_le_bytes(), [0; 4], [0; 4]].concat();
        let first: Vec<u8> = (0..1024).flat_map(|agent| sha(&bytes_of(agent))).collect();
        let blocks = [
            sha(&[&[0; 4][..], &1024u32.to_le_bytes(), &first].concat()),
            sha(&[
                &1u32.to_le_bytes()[..],
                &1u32.to_le_bytes(),
                &sha(&bytes_of(1024)),
            ]
            .concat()),
        ];
        let round = [
            &[9; 32][..],
            &7u32.to_le_bytes(),
            &blocks.concat(),
            &1u32.to_le_bytes(),
            &0.5f64.to_le_bytes(),
        ];
        let linked = link(&Digest([9; 32]), 7, block_leaves(&agents), &[0.5]);
        assert_eq!(linked.0, sha(&round.concat()));
        // Negative control: an agent in another place is another round.
        let mut swapped = agents.clone();
        swapped.swap(1023, 1024);
        assert_ne!(
            linked,
            link(&Digest([9; 32]), 7, block_leaves(&swapped), &[0.5])
        );
    }
}
