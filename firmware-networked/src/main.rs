//! Firmware that takes part in a real federation: an agent of sordino-core behind Ethernet and TLS
//! 1.3, with its log and its state in flash by the rules of `docs/reset.md`. It runs on
//! `mps2-an386`, a Cortex-M4F, in QEMU.
//!
//! | module | what it holds |
//! |---|---|
//! | [`hardware`] | clock, flash, registers, stack paint: everything unsafe |
//! | [`lan9118`] | the Ethernet controller |
//! | [`tcp`] | one connection as a stream of bytes |
//! | [`der`] | as much of certificates as a pinned key needs |
//! | [`tls`] | this device's key, and the server's, which is pinned |
//! | [`http`] | one request, one answer |
//! | [`provision`] | what the device was given before its first boot |
//! | [`grid`] | candidates that the device computes itself |
//! | [`draws`] | what an agent that shares draws computes with |
//! | [`prior`] | what a member of a federated prior computes with |
//! | [`campaign`] | what a site is given beside real sites, and in a rehearsal |
//! | [`site`] | a site of a campaign |
//! | [`search`] | how it goes on with the file |
//! | [`points`] | which points it measures |
//! | [`plant`] | what an emulated board has for a sensor |
//! | [`machine`] | what a party asks of either |
//! | [`fatal`] | why the device gives up |
//! | [`party`] | the agent and its exchange, in flash |
//! | [`takes`] | a party as its link sees it |
//! | [`leaves`] | what a rehearsal is told besides an answer |
//! | [`masks`] | what hides its contributions where there are two servers |
//! | [`boot`] | from reset to the end of the federation |
#![no_std]
// What a rehearsal alone makes use of.
#![cfg_attr(not(feature = "rehearsal"), allow(dead_code))]
#![no_main]

mod boot;
mod campaign;
mod der;
mod draws;
mod fatal;
mod grid;
mod hardware;
mod http;
mod lan9118;
mod leaves;
mod machine;
mod masks;
mod party;
mod plant;
mod points;
mod prior;
mod provision;
mod search;
mod site;
mod takes;
mod tcp;
mod tls;

// Named although unused: the linker needs its symbols.
use panic_semihosting as _;

use cortex_m_rt::entry;
use cortex_m_semihosting::hprintln;

use boot::Memory;

#[entry]
fn main() -> ! {
    // The entry macro turns this into a unique `&'static mut`: the numbers are never on the stack.
    static mut MEMORY: Memory = Memory::new();
    hardware::paint();
    hardware::exit(run(MEMORY))
}

/// Boots, and says at the end what it took.
fn run(memory: &mut Memory) -> bool {
    let Some(board) = hardware::board() else {
        return false;
    };
    let ended = boot::run(board, memory);
    match &ended {
        Ok(end) => hprintln!("{}", end),
        Err(error) => hprintln!("ended early: {}", error),
    }
    let statics = hardware::statics();
    let stack = hardware::deepest();
    hprintln!(
        "{} bytes of RAM: {} static, {} stack; {} ms",
        statics + stack,
        statics,
        stack,
        hardware::now().0
    );
    ended.is_ok()
}
