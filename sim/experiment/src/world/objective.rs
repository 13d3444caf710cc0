//! A family of functions, one for each agent.

use sordino_core::digest::{Digest, Frame};
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};

use super::ObjectiveError;

/// The answer to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// What the agent sees.
    pub y: f64,
    /// The noise-free value, from which regret is computed.
    pub value: f64,
}

/// A family of functions, one for each agent, over a shared finite candidate list in the unit box.
/// We maximise.
pub trait Objective: Send + Sync {
    /// Number of agents, hence of functions.
    fn agents(&self) -> u32;
    /// Dimension D of a candidate.
    fn dim(&self) -> usize;
    /// The candidates, row-major, n·D numbers in [0, 1].
    fn candidates(&self) -> &[f64];
    /// The number of candidates n.
    fn candidate_count(&self) -> u32 {
        (self.candidates().len() / self.dim().max(1)) as u32
    }
    /// Noise-free value. Where it is expensive, it is kept once known.
    ///
    /// **Panics**: if there is no such candidate or agent.
    fn value(&self, agent: u32, candidate: u32) -> f64;
    /// Noise-free values of one agent at all candidates, in order.
    ///
    /// **Panics**: if there is no such agent.
    fn values(&self, agent: u32) -> Vec<f64> {
        (0..self.candidate_count())
            .map(|candidate| self.value(agent, candidate))
            .collect()
    }
    /// What the agent sees in its observation number `observation`. The noise is keyed by (run
    /// seed, agent, observation), so that methods are paired.
    fn observe(&self, agent: u32, candidate: u32, observation: u32) -> f64;
    /// Both at once, as agents ask: for functions that may fail, such as a program of the user's.
    ///
    /// **Errors**: the function's; functions computed in this crate have none.
    fn query(
        &self,
        agent: u32,
        candidate: u32,
        observation: u32,
    ) -> Result<Answer, ObjectiveError> {
        Ok(Answer {
            y: self.observe(agent, candidate, observation),
            value: self.value(agent, candidate),
        })
    }
    /// The value regret is measured against: the largest of the agent's own noise-free values over
    /// the candidates, or, where that is not known, the largest possible value. **Cost**: may be
    /// O(n); ask once for each agent.
    fn optimum(&self, agent: u32) -> f64 {
        self.values(agent)
            .into_iter()
            .fold(f64::NEG_INFINITY, f64::max)
    }
    /// What the data call each agent, in order; nothing where agents have no names.
    fn agent_names(&self) -> &[String] {
        &[]
    }
}

/// The normal noise of an agent's observation: the same with every method, so that methods are
/// paired.
pub(super) fn noise(run: RunSeed, agent: u32, observation: u32, std: f64) -> f64 {
    std * normal::draw::<f64>(&mut run.stream(
        Party::Agent(agent),
        Purpose::ObservationNoise,
        observation,
    ))
}

/// The coins that tell an agent's function from those of others, at one place of their list.
pub(super) fn coins(run: RunSeed, agent: u32, place: u32) -> Stream {
    run.stream(Party::Agent(agent), Purpose::Objective, place)
}

/// What all runs of a scenario share: data sets, tables of known values, the factor of a prior.
/// Built once.
pub trait Family: Send + Sync {
    /// The functions of one run.
    fn realize(&self, run: RunSeed) -> Box<dyn Objective>;

    /// What tells these functions from others in a run folder. By default over agents, dimension
    /// and candidates; a family whose functions differ by more should say so.
    fn digest(&self) -> Digest {
        let functions = self.realize(RunSeed::new(0, 0));
        let mut frame = Frame::leaf();
        frame.u32(functions.agents());
        frame.u32(functions.dim() as u32);
        frame.scalars(functions.candidates());
        frame.end()
    }
}
