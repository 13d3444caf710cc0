//! What the firmware, the host and WebAssembly run alike.
//!
//! | module | what it holds |
//! |---|---|
//! | [`operations`] | the digest table: core's operations on fixed inputs, one digest each |
//! | [`mod@program`] | `main` of the examples that run on a device and on a host |
//! | [`federation`] | one agent through a scripted federation |
//! | [`reset`] | devices whose power is cut at every step |
//! | [`upload`] | one upload, its sender in the secret sample and outside |
#![no_std]

pub mod federation;
pub mod operations;
pub mod program;
pub mod reset;
pub mod upload;
