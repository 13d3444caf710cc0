//! What the firmware, the host and WebAssembly run alike.
//!
//! | module | what it holds |
//! |---|---|
//! | [`operations`] | the digest table: core's operations on fixed inputs, one digest each |
//! | [`federation`] | one agent through a scripted federation |
//! | [`upload`] | one upload, its sender in the secret sample and outside |
#![no_std]

pub mod federation;
pub mod operations;
pub mod upload;
