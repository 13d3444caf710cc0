//! The firmware.
//!
//! | module | what it holds |
//! |---|---|
//! | [`hardware`] | entry, exit, instruction counter, stack paint: everything unsafe |
//! | [`memory`] | the numbers, in one static |
//! | [`costs`] | what each operation costs at which size, and the bounds it must keep |
//! | [`uploads`] | what an upload costs with its sender in the secret sample and outside it |

use core::fmt::Write as _;

// Named although unused: the linker needs their symbols.
use cortex_m as _;
use panic_semihosting as _;

use cortex_m_semihosting::hio::{self, HostStream};
use firmware_example::{federation, operations};

mod costs;
mod hardware;
mod memory;
mod uploads;

/// Runs everything and returns whether all bounds held.
fn run(out: &mut HostStream, memory: &mut memory::Memory) -> bool {
    let mut played = true;
    if costs::ONLY.is_none() {
        print_digests(out);
        played = print_federation(out, memory);
    }
    let (nops, long, array) = hardware::self_check();
    let all = hardware::LONG..hardware::LONG + 100;
    let trusted =
        (1000..1100).contains(&nops) && all.contains(&long) && (4096..4352).contains(&array);
    let _ = writeln!(
        out,
        "1000 instructions measured as {nops}, {} as {long}, 4096 bytes of stack as {array}",
        all.start
    );
    // Left out, with all it links, where an image is built to weigh one operation.
    let told = if costs::ONLY.is_none() {
        uploads::print(out, memory)
    } else {
        0
    };
    let (rows, exceeded) = costs::print(out, memory);
    let _ = writeln!(
        out,
        "{rows} rows measured, {exceeded} beyond a bound; {told} counts of uploads tell the sample"
    );
    trusted && played && exceeded == 0 && told == 0
}

fn print_digests(out: &mut HostStream) {
    // The stream accepts everything; a host that stopped listening is no reason to stop.
    let _ = writeln!(out, "--- digests");
    let all = operations::table(|row| {
        let _ = hio::hstdout().map(|mut out| writeln!(out, "{row}"));
    });
    let _ = writeln!(out, "{all}\n---");
}

/// Plays the scripted federation and returns whether it came to its end.
fn print_federation(out: &mut HostStream, memory: &mut memory::Memory) -> bool {
    let _ = writeln!(out, "--- federation");
    let end = federation::play(federation::SCRIPT, &mut memory.numbers, |round| {
        let _ = hio::hstdout().map(|mut out| writeln!(out, "{round}"));
    });
    let _ = match end {
        Ok(chain) => writeln!(out, "{}\n---", federation::execution_digest(&chain)),
        Err(error) => writeln!(out, "{error:?}\n---"),
    };
    end.is_ok()
}
