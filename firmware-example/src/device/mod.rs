//! The firmware.

use core::fmt::Write as _;

// Named although unused: the linker needs their symbols.
use cortex_m as _;
use panic_semihosting as _;

use cortex_m_semihosting::hio::{self, HostStream};
use firmware_example::operations;

mod hardware;

/// Runs everything and returns whether all bounds held.
fn run(out: &mut HostStream) -> bool {
    // The semihosting stream accepts everything; a host that stopped listening is no reason to stop.
    let _ = writeln!(out, "--- digests");
    let all = operations::table(|row| {
        let _ = hio::hstdout().map(|mut out| writeln!(out, "{row}"));
    });
    let _ = writeln!(out, "{all}\n---");
    true
}
