//! The progress of an execution, and how it is reported.
//!
//! | module | what it holds |
//! |---|---|
//! | [`Progress`], [`Step`], [`Stage`] | what receives progress: rounds of a federation, jobs |
//! | [`writer`] | a bar, or lines, on standard error |
//! | [`log`] | the same as JSON, for programs |

use crate::scenario::Method;

pub mod log;
pub mod writer;

/// How far one method of one run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Index of the run, 0-based.
    pub run: u32,
    /// The method that advanced.
    pub method: Method,
    /// The round it is in; 0 is the initial one.
    pub round: u32,
    /// T, the last round.
    pub rounds: u32,
    /// What the round waits for, or that it is over.
    pub stage: Stage,
}

/// What a round waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// The agents' steps. Says how many agents have done theirs, not which were selected or
    /// answered.
    Agents {
        /// Agents that have done their step.
        done: u32,
        /// All enrolled agents.
        of: u32,
    },
    /// The charge to be written down and the noise to be drawn.
    Release,
    /// The checkpoint to be written and synced.
    Checkpoint,
    /// The round is over; reported once for each round.
    Done {
        /// The tight ε of all releases so far at the scenario's δ; nothing if nothing private was
        /// released.
        epsilon: Option<f64>,
        /// What is left to spend, if the scenario names a budget.
        budget: Option<BudgetLeft>,
    },
}

/// A budget as the ledger's filter counts, by Rényi divergences, which leaves less than the tight ε
/// would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetLeft {
    /// The ε left to spend.
    pub left: f64,
    /// The ε allowed in all.
    pub most: f64,
}

/// Receives the progress of an execution. Called from any thread.
pub trait Progress: Sync {
    /// A method of a federation entered a stage of a round.
    fn advance(&self, _step: &Step) {}

    /// A round of a federation waits for members elsewhere; `_who` names them.
    fn awaits(&self, _step: &Step, _who: &str) {}

    /// So many steps or jobs were done by an earlier execution, which this one goes on with.
    fn found(&self, _steps: u64) {}

    /// A named job of another trust model is done.
    fn job(&self, _name: &str) {}
}

/// Reports to nobody: for runs that are not watched.
impl Progress for () {}
