//! Two servers that do not collude, on disk: what a leader asks and what a helper answers, once.
//!
//! The protocol and its argument are in [`sordino_core::federated::shares`]. Each server has
//! sources, ledger and budget of its own:
//!
//! | party | before | durable in one step | then |
//! |---|---|---|---|
//! | leader | shares are added up ([`Collection`]) | the question with its sum ([`Asked`]) | it asks, again and again |
//! | helper | set, epoch and budget are checked, noise is drawn ([`Helper`]) | answer and planned charge ([`Keep`]) | its ledger is synced, it answers |
//! | leader | shares and answer are opened, its noise is drawn ([`ServerHost`](crate::server::ServerHost)) | state, release and planned charge | its ledger is synced, it announces |
//!
//! A party that dies before its durable step has charged nothing, and nothing left it. One that
//! dies after it goes on with the same set, the same answer, the same release. So each release is
//! charged exactly once in each ledger.

mod collection;
mod helper;
mod key;

pub use collection::{Asked, Collection, Question, QuestionError};
pub use helper::{Answered, Helper, HelperError, HelperPlan, Keep, Kept};
pub use key::open_key;
