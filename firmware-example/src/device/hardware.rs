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
        debug::exit(if passed {
            debug::EXIT_SUCCESS
        } else {
            debug::EXIT_FAILURE
        });
    }
}

// SAFETY: the handler reads nothing but its argument and never returns; without it a fault would
// loop for ever.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("hard fault at {:#010x}", frame.pc());
}

/// Where the timers of this machine lie: mps2-an385 and mps2-an386, or the secure side of
/// mps2-an505.
const TIMERS: usize = if cfg!(armv8m) {
    0x5000_0000
} else {
    0x4000_0000
};
/// Ticks of the timers in so many instructions: QEMU's `-icount shift=10` gives 1024 ns to each,
/// and the timers run at 25 MHz, on mps2-an505 at 20 MHz.
const RATE: (u64, u64) = if cfg!(armv8m) { (512, 25) } else { (256, 10) };

/// Timer 0 of the CMSDK, a 32-bit down counter of every tick. Alone it lasts 167 million
/// instructions.
const FINE: *mut u32 = TIMERS as *mut u32;
const CONTROL: usize = 0;
const VALUE: usize = 1;
const RELOAD: usize = 2;

/// The first of the dual timers, which counts every 256th tick: it says how often the other one
/// began again, and lasts 42 billion instructions.
const COARSE: *mut u32 = (TIMERS + 0x2000) as *mut u32;
const COARSE_RELOAD: usize = 0;
const COARSE_VALUE: usize = 1;
const COARSE_CONTROL: usize = 2;
/// On, 32 bits, a prescaler of 256, beginning again by itself.
const COARSE_ON: u32 = 0x8a;

/// Starts both counters at their top.
fn start_timers() {
    // SAFETY: the addresses are timers of this machine, nobody else uses them, and their registers
    // are 32 bits wide.
    unsafe {
        COARSE.add(COARSE_CONTROL).write_volatile(0);
        COARSE.add(COARSE_RELOAD).write_volatile(u32::MAX);
        COARSE.add(COARSE_CONTROL).write_volatile(COARSE_ON);
        FINE.add(RELOAD).write_volatile(u32::MAX);
        FINE.add(VALUE).write_volatile(u32::MAX);
        FINE.add(CONTROL).write_volatile(1);
    }
}

/// Ticks since the start: those of the fine counter, which begins again at 2³² of them, and of the
/// coarse one.
fn ticks() -> (u32, u32) {
    // SAFETY: as in `start_timers`; reading has no side effect.
    let (fine, coarse) = unsafe {
        (
            FINE.add(VALUE).read_volatile(),
            COARSE.add(COARSE_VALUE).read_volatile(),
        )
    };
    (u32::MAX - fine, u32::MAX - coarse)
}

#[inline(never)]
fn counted(work: &mut dyn FnMut()) -> u64 {
    start_timers();
    let before = ticks();
    work();
    let after = ticks();
    let fine = after.0.wrapping_sub(before.0);
    let coarse = after.1.wrapping_sub(before.1);
    // Every 2²⁴ coarse ticks the fine counter began again; the two are read a few ticks apart.
    let rounds = (coarse.wrapping_sub(fine >> 8).wrapping_add(1 << 23)) >> 24;
    (u64::from(rounds) << 32) | u64::from(fine)
}

/// Instructions that `work` takes, 4 billion at most.
pub fn instructions(work: &mut dyn FnMut()) -> u32 {
    let ticks = counted(work).saturating_sub(counted(&mut || {}));
    u32::try_from(ticks * RATE.1 / RATE.0).unwrap_or(u32::MAX)
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

/// Bytes of stack that `work` takes, including its return address: the stack below is painted, and
/// the deepest word that changed counts.
#[inline(never)]
pub fn stack(work: &mut dyn FnMut()) -> u32 {
    let top = stack_pointer() & !3;
    let words = PAINTED / 4;
    let bottom = (top - PAINTED) as *mut u32;
    // SAFETY: the stack is the end of 4 MB of RAM of which statics take less than 1 MB, so the
    // painted range is RAM that belongs to nobody; nothing below the stack pointer is live, and
    // there are no interrupts.
    (0..words).for_each(|i| unsafe { bottom.add(i).write_volatile(PAINT) });
    black_box(&mut *work)();
    // SAFETY: the same range, read.
    let untouched = (0..words)
        .take_while(|i| unsafe { bottom.add(*i).read_volatile() } == PAINT)
        .count();
    ((words - untouched) * 4) as u32
}

/// Instructions of the longer loop of [`self_check`]: more than the fine counter holds.
pub const LONG: u32 = 400_000_000;

/// Measures calls whose cost is known: a thousand instructions, [`LONG`] of them, and four
/// kilobytes of stack.
pub fn self_check() -> (u32, u32, u32) {
    let nops = instructions(&mut || {
        // SAFETY: does nothing, a thousand times.
        unsafe {
            asm!(
                ".rept 1000",
                "nop",
                ".endr",
                options(nomem, nostack, preserves_flags)
            )
        };
    });
    let long = instructions(&mut || {
        // SAFETY: counts a register down to 0, two instructions each time.
        unsafe {
            asm!("2:", "subs {0}, #1", "bne 2b", inout(reg) LONG / 2 => _, options(nomem, nostack))
        };
    });
    let array = stack(&mut || {
        black_box(&mut [0u8; 4096]);
    });
    (nops, long, array)
}
