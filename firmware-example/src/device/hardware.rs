//! The only file with `unsafe`: entry, exit, timer, stack paint.

use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::{debug, hio};

#[entry]
fn main() -> ! {
    let passed = hio::hstdout().is_ok_and(|mut out| super::run(&mut out));
    loop {
        debug::exit(if passed { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    }
}

// SAFETY: the handler reads nothing but its argument and never returns; without it a fault would loop for ever.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("hard fault at {:#010x}", frame.pc());
}
