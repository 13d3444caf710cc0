//! A value for each agent, made only for agents that are asked for: a process that holds part of a
//! federation pays only for its part.

use std::sync::OnceLock;

/// Number of agents whose values are made together.
const BLOCK: u32 = 1024;

/// One value for each agent, made in blocks of consecutive agents when the first of a block is
/// asked for.
///
/// **Cost**: 24 bytes for each block that was never asked for.
#[derive(Debug)]
pub struct PerAgent<V> {
    agents: u32,
    blocks: Vec<OnceLock<Box<[V]>>>,
}

impl<V> PerAgent<V> {
    /// For this number of agents; nothing is made yet.
    pub fn new(agents: u32) -> Self {
        PerAgent {
            agents,
            blocks: (0..agents.div_ceil(BLOCK))
                .map(|_| OnceLock::new())
                .collect(),
        }
    }

    /// The value of an agent; `make` must give the same for an agent whenever it is called.
    ///
    /// **Panics**: if there is no such agent.
    pub fn get(&self, agent: u32, make: impl Fn(u32) -> V) -> &V {
        let block = agent / BLOCK;
        let values = self.blocks[block as usize].get_or_init(|| {
            let end = block.saturating_add(1).saturating_mul(BLOCK);
            (block * BLOCK..self.agents.min(end)).map(make).collect()
        });
        &values[(agent % BLOCK) as usize]
    }

    /// Number of agents whose values were made.
    pub fn made(&self) -> usize {
        self.blocks
            .iter()
            .filter_map(OnceLock::get)
            .map(|block| block.len())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_that_are_asked_for_are_made() {
        let squares = PerAgent::new(2500);
        let square = |agent: u32| *squares.get(agent, |agent| u64::from(agent) * u64::from(agent));
        assert_eq!(
            (squares.made(), square(2499), squares.made()),
            (0, 2499 * 2499, 452)
        );
        assert_eq!(
            (square(1023), square(0), squares.made()),
            (1023 * 1023, 0, 1476)
        );
        let nobody = std::panic::catch_unwind(|| *PerAgent::new(3).get(3, |agent| agent));
        assert!(nobody.is_err());
    }
}
