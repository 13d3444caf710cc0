//! One execution by many independent processes: parts, and the whole put together from them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mark`] | the file that says which part of which execution a folder holds, and whether it is complete |
//! | `single`, `many` | a part of a run; of a sweep |
//! | [`merge`] | all parts checked against each other, and the folder of the undivided execution |
//!
//! A part is a folder of its own: `part.json`, and a journal as in every execution (in a sweep, one
//! for each run), with the results of the part's jobs. The whole is made by the ordinary execution
//! with a journal that holds the results of all parts: it finds every job done, and leaves the same
//! folder as an undivided execution, byte for byte.

pub(crate) mod error;
pub(crate) mod many;
pub mod mark;
pub mod merge;
pub(crate) mod single;

pub use error::PartError;
pub use mark::{Kind, Mark};
