//! # sordino-net
//!
//! Real federations: a server that speaks HTTPS itself, agents that fetch broadcasts and send
//! uploads, and rehearsals of both that agree with the simulator to the bit.
//!
//! | module | what it holds |
//! |---|---|
//! | [`identity`] | keys, pins, seals; TLS 1.3 with a key on both sides |
//! | [`shares`] | two servers in the place of one: what an agent sends, what both know |
//! | `beside` | work that waits for the disk |
//! | [`keys`] | a server's keys, and how they change |
//! | [`authority`] | agents by certificates that a site's own authority signs |
//! | [`stored`] | the version in every stored file |
//! | [`invitation`] | one line that brings an agent to its server |
//! | [`terms`] | the agreement with its candidates, and everything that both sides compute from them |
//! | [`party`] | what a method is to agents and servers: the one place that knows which methods there are |
//! | `cost` | what releases cost |
//! | [`provision`] | what a device of its own is given before its first boot |
//! | [`admission`] | what may be served and joined, one check for both |
//! | [`enrolment`] | which key belongs to which agent |
//! | [`data`] | the data of a site: its name, and what it gave to all federations |
//! | [`rounds`] | the one task that keeps track of the round |
//! | [`folder`] | what a server must not lose; no data of any one agent |
//! | [`door`] | HTTP over TLS, a status for every answer |
//! | `progress` | progress lines for people, metrics for machines |
//! | `status` | how a federation stands, for its operator |
//! | `asked` | what an invitation asks of a site, before it agrees |
//! | `admin` | the admin port: metrics, health, standing |
//! | [`link`] | an agent's connection to its server |
//! | [`journal`] | what an agent did, line by line |
//! | [`help`] | the second of two servers, and the leader's line to it |
//! | [`serve`] | a server with secret noise |
//! | [`agent`] | an agent that can be killed at any moment |
//! | [`mod@join`] | taking part with an invitation |
//! | `chaos` | a bad network |
//! | [`bridge`](https://mqtt.org) | feature `mqtt`: connections carried by a broker that need not be trusted |
//! | [`rehearsal`] | a federation of the simulator over a real network |
//! | [`cli`] | arguments in, exit code out |
//!
//! Meant for others are [`mod@join`], [`invitation`], [`serve`], [`rehearsal`] and [`cli`]. All
//! other modules are the rooms of these programs, public for their tests; their names change as the
//! programs do.
//!
//! ```no_run
//! # async fn take_part(line: &str) -> Result<(), Box<dyn std::error::Error>> {
//! use sordino_net::join::{Joining, join};
//!
//! let joining = Joining {
//!     invitation: line.parse()?,
//!     folder: "agent".into(),
//!     certified: None,
//!     epsilon_max: Some(4.0),
//!     asked: None,
//!     delta_max: None,
//!     evaluations: None,
//!     data: None,
//!     wait: std::time::Duration::from_secs(30),
//!     give_up: None,
//! };
//! let joined = join(&joining, |query| async move { Ok(-(query.point[0] - 0.3).powi(2)) }).await?;
//! println!("{} rounds", joined.given.len());
//! # Ok(())
//! # }
//! ```

mod admin;
pub mod admission;
pub mod agent;
mod asked;
pub mod authority;
mod beside;
#[cfg(feature = "mqtt")]
pub mod bridge;
mod chaos;
pub mod cli;
mod cost;
pub mod data;
pub mod door;
pub mod enrolment;
pub mod folder;
pub mod help;
pub mod identity;
pub mod invitation;
pub mod join;
pub mod journal;
pub mod keys;
pub mod link;
pub mod party;
mod progress;
pub mod provision;
pub mod rehearsal;
pub mod rounds;
pub mod serve;
pub mod shares;
mod status;
pub mod stored;
pub mod terms;
mod tunnel;
