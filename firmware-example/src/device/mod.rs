//! The firmware.
//!
//! | module | what it holds |
//! |---|---|
//! | [`hardware`] | entry, exit, instruction counter, stack paint: everything unsafe |
//! | [`memory`] | the numbers, in one static |
//! | [`costs`] | what each operation costs, and the bounds it must keep |

use core::fmt::Write as _;

// Named although unused: the linker needs their symbols.
use cortex_m as _;
use panic_semihosting as _;

use cortex_m_semihosting::hio::{self, HostStream};
use firmware_example::operations;

mod costs;
mod hardware;
mod memory;

/// Runs everything and returns whether all bounds held.
fn run(out: &mut HostStream, memory: &mut memory::Memory) -> bool {
    // The stream accepts everything; a host that stopped listening is no reason to stop.
    let _ = writeln!(out, "--- digests");
    let all = operations::table(|row| {
        let _ = hio::hstdout().map(|mut out| writeln!(out, "{row}"));
    });
    let _ = writeln!(out, "{all}\n---");
    let exceeded = costs::print(out, memory);
    let _ = writeln!(out, "{} operations measured, {exceeded} beyond a bound", costs::TABLE.len());
    exceeded == 0
}
