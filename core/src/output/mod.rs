//! Trust model **output**: one party tunes on its own data and publishes the result; readers of the
//! result shall not learn one record of the validation set. What is protected depends on the file:
//! [`worst_case`], the default, is private for *every* data set, under replacing one of m
//! public-many records, provided candidates and training data do not depend on the scored records
//! and, except for opaque scores, that the owner's promise about them is true.
//! [`prior_conditional`] (Kusner, Gardner, Garnett, Weinberger 2015, Algorithms 1 and 2) is private
//! **only under the GP prior**: for a given data set it promises nothing. Neither hides that a
//! tuning took place, its candidates, or its time.
//!
//! | the paper's line | here |
//! |---|---|
//! | Algorithm 1, lines 2–6: GP-UCB, βₜ = 2 ln(\|Λ\|t²π²/(3δ)) | [`Tuner`] |
//! | line 7: λ̃ by the exponential mechanism on μ_T | [`Checked<NoisyTuning>`](Checked)`::release_candidate` |
//! | line 8: ṽ = max v + Laplace | `release_value` of the same |
//! | Algorithm 2: noise-free maximum + Laplace | [`Checked<NoiseFreeTuning>`](Checked)`::release_value` |
//! | Algorithm 3: Lipschitz loss + Laplace, pure ε | [`Checked<LipschitzTuning>`](Checked)`::release_value` |
//! | (default) permute-and-flip and discrete Laplace on integer scores | [`Publisher`] |
//!
//! Deviations: noise and utilities live on integer grids; Algorithm 3's sensitivity is capped by
//! the clamp g*.
//!
//! **Example**: that of [`worst_case`].

mod checked;
pub mod lipschitz;
pub mod prior_conditional;
pub mod publisher;
mod scale;
mod tuner;
pub mod worst_case;

pub use crate::parameter::ConfigError;
pub use checked::Checked;
pub use lipschitz::LipschitzTuning;
pub use prior_conditional::{NoiseFreeTuning, NoisyTuning, PriorConditional};
pub use publisher::{Publisher, PublisherState, Score};
pub use scale::ScoreScale;
pub use tuner::{
    Tuner, TunerError, TunerInput, TunerOutput, TunerPhase, TunerState, log_len, workspace_len,
};
pub use worst_case::{FailureRule, WorstCase};
