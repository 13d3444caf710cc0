//! `vote`: one private vote for the best candidate, then every agent for itself.
//!
//! After its initial points each agent votes for the candidate among them that was best: a vector
//! with a single 1. The server releases the sum with Gaussian noise, once; everybody smooths the
//! released shares with the kernel and plays the winner first. Then each follows its own posterior,
//! as `ts` does. It is what the hyper-parameter vote of DP-Hype (arXiv 2510.04902) is to a
//! federation that has a kernel: a baseline that shares.
//!
//! | name | what it is |
//! |---|---|
//! | [`context`] | what its parties borrow; what they agree on, with the configuration of the ballot |
//! | [`voter`] | an agent, here and on a network: its ballot, the winner, its own draws |
//! | `shard` | agents in an arena: initial points, a ballot, the winner, their own draws |
//! | `server` | what is asked of agents, and the one release of their ballots |
//!
//! **Privacy**: a vote has norm 1, and zero-out removes one vote, so the l2 sensitivity of the sum
//! is 1. The ballot is a release of [`Draws`](sordino_core::federated::Draws) with clipping norm 1,
//! one region and everybody in the sample: its integer encoding, norm check, charge before the
//! noise, and ledger are theirs. It costs as much as all releases of the federated prior together:
//! one Gaussian of the same ε at the same δ.

pub mod context;
pub(crate) mod server;
pub(crate) mod shard;
pub mod voter;
