//! The federated prior in the simulator: it has its own parties, and shares collective, links,
//! ledger, recorder and checkpoints with every federated method.
//!
//! | name | what it is |
//! |---|---|
//! | [`context`] | what its parties borrow: features, designs, plan, models |
//! | [`shard`] | agents in an arena; the two orders they get |
//! | `server` | what is asked of agents, and what the server makes of the answers |
//! | `helper` | the second server: noise and ledger of its own |
//! | `described`, `file` | what the axes are, in words; the prior file that the first run leaves |
//!
//! A round: the common draw goes out; agents query; where the plan says so, releases follow one
//! after the other, each with terms that depend on the previous one: terms out, joint vectors in,
//! charge, noise, posterior.

pub mod context;
mod described;
mod file;
mod helper;
pub(crate) mod server;
pub mod shard;
