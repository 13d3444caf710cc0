//! How far an execution has come, and how that is said.
//!
//! | module | what it holds |
//! |---|---|
//! | [`teller`] | a bar, or lines, on standard error |
//! | [`log`] | the same as JSON, for programs |

pub mod log;
pub mod teller;
