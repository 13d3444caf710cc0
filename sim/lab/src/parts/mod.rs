//! One execution by many independent processes: parts, and the whole put together from them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mark`] | the file that says which part of which execution a folder holds, and whether it is complete |
//! | [`merge`] | all parts checked against each other, and the folder of the undivided execution |
//!
//! A part is executed by [`driver::part`](crate::driver::part). It is a folder of its own:
//! `part.json`, and a journal as in every execution (in a sweep, one for each run), with the
//! results of the part's jobs. The whole is made by the ordinary execution with a journal that
//! holds the results of all parts: it finds every job done, and leaves the same folder as an
//! undivided execution, byte for byte.

pub(crate) mod error;
pub mod mark;
pub mod merge;

pub use error::PartError;
pub use mark::{Kind, Mark};
