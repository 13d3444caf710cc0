//! How much an agent does at a call, and what it has begun.

use crate::acquisition::thompson::Streaming;

/// What was begun and is not finished. It is given up, without a trace, when the agent is dropped
/// or told something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work<T> {
    None,
    /// Candidates of the agent's region before `next` were counted.
    Counting {
        next: u32,
        eligible: u32,
    },
    /// The initial point is the `left`th eligible candidate from `next` on, 0-based.
    Choosing {
        next: u32,
        left: u32,
    },
    /// A draw is there, and being maximised.
    Maximizing {
        own: bool,
        streaming: Streaming<T>,
    },
}

/// What the agent will say.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Evaluate,
    Upload,
    Wait,
    Done,
}

/// How much may still be done in this call, in tests of a candidate's region.
pub(super) struct Effort {
    left: u64,
    /// Nothing was done yet: one piece of work always is.
    fresh: bool,
}

/// What a candidate's features and their product with a weight vector cost, in tests of a region.
pub(super) const CANDIDATE: u64 = 32;

impl Effort {
    /// All that there is.
    pub(super) const fn unlimited() -> Self {
        Effort {
            left: u64::MAX,
            fresh: true,
        }
    }

    /// Nothing was asked to be divided, and nothing was done yet.
    pub(super) const fn is_unlimited(&self) -> bool {
        self.left == u64::MAX
    }

    /// As much as this many candidates cost.
    pub(super) fn candidates(count: u32) -> Self {
        Effort {
            left: CANDIDATE * count as u64,
            fresh: true,
        }
    }

    /// Pieces of work of this cost that may be done, at most `count`; they count as done.
    pub(super) fn take(&mut self, cost: u64, count: u32) -> u32 {
        let most = (self.left / cost.max(1))
            .max(u64::from(self.fresh))
            .min(u64::from(count));
        self.left = self.left.saturating_sub(most * cost);
        self.fresh &= most == 0;
        most as u32
    }
}
