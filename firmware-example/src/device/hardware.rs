//! The only file with `unsafe`: entry, exit, timer, stack paint.

use core::arch::asm;
use core::hint::black_box;

use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::{debug, hio};

use super::memory::Memory;

#[entry]
fn main() -> ! {
    // The entry macro turns this into a unique `&'static mut`: the numbers are never on the stack.
    static mut MEMORY: Memory = Memory::new();
    let passed = hio::hstdout().is_ok_and(|mut out| super::run(&mut out, MEMORY));
    loop {
        debug::exit(if passed { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    }
}

// SAFETY: the handler reads nothing but its argument and never returns; without it a fault would loop for ever.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("hard fault at {:#010x}", frame.pc());
}

/// Timer 0 of the CMSDK, a 32-bit down counter at 25 MHz.
const TIMER: *mut u32 = 0x4000_0000 as *mut u32;
const CONTROL: usize = 0;
const VALUE: usize = 1;
const RELOAD: usize = 2;

/// Starts the counter at its top. It lasts 167 million instructions.
fn start_timer() {
    // SAFETY: the address is the timer of this machine, nobody else uses it, and its registers are 32 bits wide.
    unsafe {
        TIMER.add(RELOAD).write_volatile(u32::MAX);
        TIMER.add(VALUE).write_volatile(u32::MAX);
        TIMER.add(CONTROL).write_volatile(1);
    }
}

fn ticks() -> u32 {
    // SAFETY: as in `start_timer`; reading has no side effect.
    u32::MAX - unsafe { TIMER.add(VALUE).read_volatile() }
}

#[inline(never)]
fn counted(work: &mut dyn FnMut()) -> u32 {
    start_timer();
    let before = ticks();
    work();
    ticks() - before
}

/// Instructions that `work` takes. QEMU's `-icount shift=10` gives 1024 ns to each, which is 25.6 ticks.
pub fn instructions(work: &mut dyn FnMut()) -> u32 {
    let ticks = counted(work).saturating_sub(counted(&mut || {}));
    (u64::from(ticks) * 10 / 256) as u32
}

/// Bytes painted below the stack pointer.
const PAINTED: usize = 64 * 1024;
const PAINT: u32 = 0x5a5a_a5a5;

fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: copies a register and touches neither memory nor flags.
    unsafe { asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Bytes of stack that `work` takes, including its return address: the stack below is painted, and the deepest word
/// that changed counts.
#[inline(never)]
pub fn stack(work: &mut dyn FnMut()) -> u32 {
    let top = stack_pointer() & !3;
    let words = PAINTED / 4;
    let bottom = (top - PAINTED) as *mut u32;
    // SAFETY: the stack is the end of 4 MB of RAM of which statics take less than 1 MB, so the painted range is RAM
    // that belongs to nobody; nothing below the stack pointer is live, and there are no interrupts.
    (0..words).for_each(|i| unsafe { bottom.add(i).write_volatile(PAINT) });
    black_box(&mut *work)();
    // SAFETY: the same range, read.
    let untouched = (0..words).take_while(|i| unsafe { bottom.add(*i).read_volatile() } == PAINT).count();
    ((words - untouched) * 4) as u32
}

/// Measures two calls whose cost is known, a thousand instructions and four kilobytes of stack: (instructions, bytes).
pub fn self_check() -> (u32, u32) {
    let nops = instructions(&mut || {
        // SAFETY: does nothing, a thousand times.
        unsafe { asm!(".rept 1000", "nop", ".endr", options(nomem, nostack, preserves_flags)) };
    });
    let array = stack(&mut || {
        black_box(&mut [0u8; 4096]);
    });
    (nops, array)
}
