//! Firmware that takes part in a real federation: an agent of sordino-core behind Ethernet and TLS 1.3, with its log and its
//! state in flash by the rules of `docs/reset.md`. It runs on `mps2-an386`, a Cortex-M4F, in QEMU.
//!
//! | module | what it holds |
//! |---|---|
//! | [`hardware`] | entry, clock, flash, registers, stack paint: everything unsafe |
//! | [`lan9118`] | the Ethernet controller |
//! | [`tcp`] | one connection as a stream of bytes |
//! | [`der`] | as much of certificates as a pinned key needs |
//! | [`tls`] | this device's key, and the server's, which is pinned |
//! | [`http`] | one request, one answer |
//! | [`provision`] | what the device was given before its first boot |
//! | [`party`] | the agent and its exchange, in flash |
//! | [`boot`] | from reset to the end of the federation |
#![no_std]
#![no_main]

mod boot;
mod der;
mod hardware;
mod http;
mod lan9118;
mod party;
mod provision;
mod tcp;
mod tls;

// Named although unused: the linker needs its symbols.
use panic_semihosting as _;
