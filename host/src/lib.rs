//! # sordino-host
//!
//! What a *real* party on a computer needs, and what the simulator therefore uses as well.
//! [`sordino_core`] names no file, clock or process; this package does.
//!
//! | module | what it holds |
//! |---|---|
//! | `words` | the last words of a command that failed |
//! | [`entropy`] | a secret noise source seeded by the system |
//! | [`program`] | a user's program, started once and asked many times |
//! | [`width`] | which vector instructions are used; no result depends on them |
//! | [`text`] | what messages share: causes, numbers, which name was probably meant |
//! | [`day`] | days, as labels have them |
//! | [`hex`] | bytes as hexadecimal text |
//! | [`files`] | writing so that a crash leaves the old file or the new one; reading with a bound |
//! | [`signature`] | who wrote it: keys that sign, and what names them |
//! | [`space`] | what is searched, with names: `space.toml`, points as JSON, as numbers, as environment variables |
//! | [`ledger`] | every charge, durable, locked, chained, with the budget it is held against |
//! | [`server`] | the server of a federation with its storage, sources and ledger |
//! | [`shares`] | two servers that do not collude: what a leader asks, what a helper answers once |
//! | [`prior`] | files of what others learned: made of studies, read by a search |
//! | [`search`] | questions and answers over such a space, kept so that a search that was killed goes on |
//! | [`campaign`] | sites that make a prior file together and go on with it |
//! | [`tune`] | a user's training command: candidates in, scores out |
//!
//! Meant for others are [`space`], [`search`], [`prior`], [`campaign`], [`tune`], [`ledger`],
//! [`server`], [`shares`], [`entropy`] and [`signature`]. The other modules are tools that the
//! packages of this house share; their names change as it does.

pub mod campaign;
pub mod day;
pub mod entropy;
pub mod files;
pub mod hex;
pub mod ledger;
pub mod prior;
pub mod program;
pub mod search;
pub mod server;
pub mod shares;
pub mod signature;
pub mod space;
pub mod text;
pub mod tune;
mod watch;
pub mod width;
mod words;
