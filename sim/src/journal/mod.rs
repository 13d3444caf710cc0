//! What survives a kill: bytes under names.
//!
//! | module | what it holds |
//! |---|---|
//! | [`checkpoint`] | checkpoints and finished methods of a federation |
//! | [`jobs`] | finished jobs of the other trust models |

pub mod checkpoint;
pub mod jobs;
