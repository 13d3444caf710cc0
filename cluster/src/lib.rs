//! # sordino-cluster
//!
//! One simulated federation on many machines: a head that plays the server, workers that hold the
//! agents. The bits are those of `sordino run`, no matter which workers join, leave or are killed.
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
//! Head and workers are inside one trust boundary: their messages carry samples and unnoised sums
//! of a simulation. Run them where nobody else can reach the port, inside WireGuard or ssh
//! (`docs/clusters.md`).

pub mod cli;
pub mod head;
pub mod keeper;
pub mod link;
pub mod message;
pub mod plan;
pub mod worker;
