//! A family of functions, one for each agent.

use sordino_core::random::RunSeed;

/// A family of functions, one for each agent, over a shared finite candidate list in the unit box. We maximise.
pub trait Objective: Send + Sync {
    /// Number of agents, hence of functions.
    fn agents(&self) -> u32;
    /// Dimension D of a candidate.
    fn dim(&self) -> usize;
    /// The candidates, row-major, n·D numbers in [0, 1].
    fn candidates(&self) -> &[f64];
    /// The number of candidates n.
    fn candidate_count(&self) -> u32;
    /// Noise-free value. Kept once it is known where it is expensive.
    ///
    /// **Panics**: if there is no such candidate or agent.
    fn value(&self, agent: u32, candidate: u32) -> f64;
    /// What the agent sees in its observation number `observation`. The noise is keyed by (run seed, agent,
    /// observation), so that methods are paired.
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64;
    /// The value regret is measured against: the largest of the agent's own noise-free values over the candidates, or
    /// where that is not known the largest possible value. **Cost**: may be O(n); ask once for each agent.
    fn optimum(&self, agent: u32) -> f64;
    /// What the regret is called in tables.
    fn regret_name(&self) -> &'static str;
}

/// What all runs of a scenario share: data sets, tables of known values, the factor of a prior. Built once.
pub trait Family: Send + Sync {
    /// The functions of one run.
    fn realize(&self, run: RunSeed) -> Box<dyn Objective>;
}
