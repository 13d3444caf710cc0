//! The part of a round that members answer in blocks of agents: leaves of the transcript, and the
//! sum of regrets.
//!
//! A member that holds a whole block answers with 40 bytes; one that holds part of a block answers
//! with 40 bytes for each agent of the part, because neither a hash nor a serial sum can be
//! assembled from halves. The result is the same, bit for bit, wherever the cuts between members
//! lie: a cluster cuts between blocks, and threads may cut anywhere.

use std::mem::take;

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::transcript::{BLOCK, block_leaf};

use super::error::DriverError;

/// What a member says about consecutive agents of one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Piece {
    /// All agents of the block are here.
    Whole {
        /// The block's leaf of the transcript.
        leaf: Digest,
        /// Sum over its agents of the best-so-far noise-free regret, in agent order: simulation
        /// only.
        regret: f64,
    },
    /// Some agents of the block are here.
    Part {
        /// Their leaves of the transcript.
        leaves: Vec<Digest>,
        /// Their best-so-far noise-free regrets: simulation only.
        regrets: Vec<f64>,
    },
}

/// Cuts consecutive agents at the borders of blocks. The first of them is `first`; the federation
/// has `agents` in all.
pub fn cut(first: u32, agents: u32, leaves: &[Digest], regrets: &[f64]) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(leaves.len() / BLOCK as usize + 2);
    let mut agent = first;
    let mut leaves = leaves;
    let mut regrets = regrets;
    while !leaves.is_empty() {
        let block = agent / BLOCK;
        let of = length(agent / BLOCK, agents);
        let here = leaves.len().min((block * BLOCK + of - agent) as usize);
        let own = &leaves[..here];
        let own_regrets = &regrets[..here];
        pieces.push(if here == of as usize {
            Piece::Whole {
                leaf: block_leaf(block, own),
                regret: own_regrets.iter().sum(),
            }
        } else {
            Piece::Part {
                leaves: own.to_vec(),
                regrets: own_regrets.to_vec(),
            }
        });
        agent += here as u32;
        (leaves, regrets) = (&leaves[here..], &regrets[here..]);
    }
    pieces
}

/// Joins the pieces of all `agents`, which come in the order of agents, into the leaves of the
/// blocks and the sum of the blocks' regrets, added in that order.
///
/// **Errors**: [`DriverError::Check`] if they are not every block exactly once.
pub fn join<'p>(
    agents: u32,
    pieces: impl Iterator<Item = &'p Piece>,
) -> Result<(Vec<Digest>, f64), DriverError> {
    let wrong = DriverError::Check("members whose agents are not all agents, each once");
    let blocks = agents.div_ceil(BLOCK) as usize;
    let mut joined = Vec::with_capacity(blocks);
    let mut sum = 0.0;
    let mut begun: Vec<Digest> = Vec::new();
    let mut begun_regrets: Vec<f64> = Vec::new();
    for piece in pieces {
        let block = joined.len() as u32;
        match piece {
            _ if joined.len() == blocks => return Err(wrong),
            Piece::Whole { leaf, regret } if begun.is_empty() => {
                joined.push(*leaf);
                sum += regret;
            }
            Piece::Whole { .. } => return Err(wrong),
            Piece::Part { leaves, regrets } => {
                begun.extend(leaves);
                begun_regrets.extend(regrets);
                if begun.len() == length(block, agents) as usize {
                    joined.push(block_leaf(block, &take(&mut begun)));
                    sum += take(&mut begun_regrets).iter().sum::<f64>();
                }
            }
        }
    }
    if joined.len() == blocks {
        Ok((joined, sum))
    } else {
        Err(wrong)
    }
}

/// Agents in a block.
fn length(block: u32, agents: u32) -> u32 {
    BLOCK.min(agents - block * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::federated::transcript::{AgentLeaf, block_leaves};

    /// 2,500 agents, cut in every way that matters: the same leaves, and the same bits of the sum.
    #[test]
    fn pieces_join_to_the_same_bits_wherever_they_were_cut() {
        let agents = 2500;
        let leaves: Vec<Digest> = (0..agents)
            .map(|n| AgentLeaf::new(n, 0, 0).end::<f64>(&[]))
            .collect();
        let regrets: Vec<f64> = (0..agents).map(|n| 1.0 / f64::from(n * n + 3)).collect();
        let expected: f64 = regrets
            .chunks(BLOCK as usize)
            .map(|block| block.iter().sum::<f64>())
            .sum();
        let cut_at = |edges: &[u32]| -> Vec<Piece> {
            let place = |edge: u32| edge as usize;
            edges
                .windows(2)
                .map(|pair| (pair[0], place(pair[0])..place(pair[1])))
                .flat_map(|(first, range)| {
                    cut(first, agents, &leaves[range.clone()], &regrets[range])
                })
                .collect()
        };
        for edges in [
            &[0, 2500][..],
            &[0, 1024, 2048, 2500],
            &[0, 1023, 1024, 2500],
            &[0, 1025, 2499, 2500],
            &[0, 300, 900, 1500, 2500],
            &(0..=2500).collect::<Vec<_>>(),
        ] {
            let (joined, sum) = join(agents, cut_at(edges).iter()).unwrap();
            assert_eq!(
                (joined, sum.to_bits()),
                (block_leaves(&leaves).collect(), expected.to_bits()),
                "{edges:?}"
            );
        }
        // One serial sum over all agents is another number: the blocks matter.
        assert_ne!(expected.to_bits(), regrets.iter().sum::<f64>().to_bits());
        // Whole blocks cost 40 bytes, wherever members are cut between them.
        assert!(
            cut_at(&[0, 1024, 2500])
                .iter()
                .all(|piece| matches!(piece, Piece::Whole { .. }))
        );
        // Negative controls: an agent that is missing, twice, or too much.
        for edges in [&[0, 1024, 2499][..], &[1, 1024, 2500]] {
            assert!(
                matches!(
                    join(agents, cut_at(edges).iter()),
                    Err(DriverError::Check(_))
                ),
                "{edges:?}"
            );
        }
        let mut twice = cut_at(&[0, 100, 2500]);
        twice.insert(0, twice[0].clone());
        assert!(join(agents, twice.iter()).is_err());
        let more = [cut_at(&[0, 2500]), cut_at(&[0, 1024])].concat();
        assert!(join(agents, more.iter()).is_err());
    }
}
