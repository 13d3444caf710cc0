//! # sordino-cluster
//!
//! One simulated federation on many machines: a head that keeps the books, workers that hold the agents. The bits are
//! those of `sordino run`, whoever joins, leaves or is killed.
//!
//! | module | what it holds |
//! |---|---|
//! | [`message`] | what a head asks and a worker answers |
//! | [`plan`] | who holds what and what must be asked next: no clock, no network |
//! | [`keeper`] | a worker without a network: lots that it holds, orders that it takes them through |
//! | [`link`] | zenoh: one router in the head, TCP, explicit endpoints |
//! | [`head`] | the plan over the link, as a hub of the simulator |
//! | [`worker`] | the keeper over the link |
//! | [`cli`] | arguments in, exit code out |
//!
//! Head and workers are inside one trust boundary: what they exchange carries samples and unnoised sums of a simulation.
//! Run them where nobody else reaches the port, inside WireGuard or ssh (`docs/clusters.md`).

pub mod cli;
pub mod head;
pub mod keeper;
pub mod link;
pub mod message;
pub mod plan;
pub mod worker;
