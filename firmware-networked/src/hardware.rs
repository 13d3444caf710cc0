//! The only file with `unsafe`: clock, flash, registers, reset, stack paint.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{Peripherals, SCB};
use cortex_m_rt::{ExceptionFrame, exception};
use cortex_m_semihosting::debug;
use firmware_example::reset::SLOT;
use sordino_core::federated::exchange::Millis;

/// Ticks of a millisecond at 25 MHz.
const TICKS: u32 = 25_000;
/// Where the Ethernet controller is.
const ETHERNET: usize = 0x4020_0000;
/// What was written before the first boot, and how much of it is read. An emulator loads it here.
const PROVISION: usize = 0x0038_0000;
const PROVISION_BYTES: usize = 0x1_0000;
/// Pages that the program writes: memory of the machine that is nobody else's, and that an emulator
/// may keep in a file.
const FLASH: usize = 0x2100_0000;
/// All flash that is written.
pub const FLASH_BYTES: usize = 50 * SLOT;
/// Behind them: the file of a campaign.
const FILE: usize = FLASH + 0x8000;
/// Bytes of the largest file that it takes: of 50 landmarks in at most 14 dimensions.
pub const FILE_BYTES: usize = 1 << 13;
/// Behind it: the agreement, if it is no longer than this.
const AGREEMENT: usize = FILE + FILE_BYTES;
const AGREEMENT_BYTES: usize = 1 << 10;
/// A word of the emulator: the device resets itself again and again, after fewer steps than this; 0
/// is never.
const CUTS: usize = 0x003f_0000;

/// Milliseconds since the boot, modulo 2³², and how often they turned over.
static MILLIS: AtomicU32 = AtomicU32::new(0);
static TURNS: AtomicU32 = AtomicU32::new(0);

/// What the machine lends to the program.
pub struct Board {
    /// What was written before the first boot.
    pub provision: &'static [u8],
    /// What the device writes: [`FLASH_BYTES`].
    pub flash: &'static mut [u8],
    /// Where it keeps the file of a campaign: [`FILE_BYTES`].
    pub file: &'static mut [u8],
    /// Where it keeps the agreement.
    pub agreement: &'static mut [u8],
    /// Of tests: the device resets itself after fewer steps than this; 0 is never.
    pub cuts: u32,
}

/// Starts the clock and lends the board; nothing at a second call.
pub fn board() -> Option<Board> {
    let mut core = Peripherals::take()?;
    core.SYST.set_clock_source(SystClkSource::Core);
    core.SYST.set_reload(TICKS - 1);
    core.SYST.clear_current();
    core.SYST.enable_counter();
    core.SYST.enable_interrupt();
    // SAFETY: the five ranges are memory of this machine behind the image and beside its RAM, which
    // `memory.x` ends before them; they do not overlap, and this place, which `Peripherals::take`
    // lets be reached once in a boot, is the only one that makes references to them.
    let (provision, flash, file, agreement, cuts) = unsafe {
        (
            core::slice::from_raw_parts(PROVISION as *const u8, PROVISION_BYTES),
            core::slice::from_raw_parts_mut(FLASH as *mut u8, FLASH_BYTES),
            core::slice::from_raw_parts_mut(FILE as *mut u8, FILE_BYTES),
            core::slice::from_raw_parts_mut(AGREEMENT as *mut u8, AGREEMENT_BYTES),
            (CUTS as *const u32).read_volatile(),
        )
    };
    Some(Board {
        provision,
        flash,
        file,
        agreement,
        cuts,
    })
}

/// Ends the emulator.
pub fn exit(passed: bool) -> ! {
    loop {
        debug::exit(if passed {
            debug::EXIT_SUCCESS
        } else {
            debug::EXIT_FAILURE
        });
    }
}

#[exception]
fn SysTick() {
    let millis = MILLIS.load(Ordering::Relaxed).wrapping_add(1);
    MILLIS.store(millis, Ordering::Relaxed);
    if millis == 0 {
        let turns = TURNS.load(Ordering::Relaxed).wrapping_add(1);
        TURNS.store(turns, Ordering::Relaxed);
    }
}

// SAFETY: the handler reads nothing but its argument and never returns; without it a fault would
// loop for ever.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("hard fault at {:#010x}", frame.pc());
}

/// Milliseconds since the boot, which do not begin again after 49.7 days.
pub fn now() -> Millis {
    loop {
        let turns = TURNS.load(Ordering::Relaxed);
        let millis = MILLIS.load(Ordering::Relaxed);
        // A tick between the two may have turned the counter over.
        if TURNS.load(Ordering::Relaxed) == turns {
            return Millis((u64::from(turns) << 32) | u64::from(millis));
        }
    }
}

/// Until the next tick.
pub fn rest() {
    cortex_m::asm::wfi();
}

/// As if the power were cut.
pub fn reset() -> ! {
    SCB::sys_reset()
}

/// The registers of the Ethernet controller.
pub struct Registers(());

impl Registers {
    /// The only ones: a second call would give a second owner, so it is for the boot alone.
    pub fn take() -> Self {
        Registers(())
    }

    /// The word at this offset, below 256 and a multiple of 4.
    pub fn read(&self, offset: usize) -> u32 {
        // SAFETY: a register of the controller, 32 bits wide and aligned; `offset & 0xfc` stays in
        // its window.
        unsafe { ((ETHERNET + (offset & 0xfc)) as *const u32).read_volatile() }
    }

    /// Writes the word at this offset, below 256 and a multiple of 4.
    pub fn write(&mut self, offset: usize, word: u32) {
        // SAFETY: as in `read`.
        unsafe { ((ETHERNET + (offset & 0xfc)) as *mut u32).write_volatile(word) }
    }
}

// SAFETY: both are symbols of the linker's script of cortex-m-rt; only their addresses are used, by
// `bounds`.
unsafe extern "C" {
    /// The end of the statics, by the linker's script of cortex-m-rt.
    static mut __sheap: u32;
    /// The end of RAM.
    static _stack_start: u32;
}

const RAM: usize = 0x2000_0000;
const PAINT: u32 = 0x5a5a_a5a5;
/// Below the stack pointer, what `paint` itself may use.
const OWN: usize = 256;

fn bounds() -> (usize, usize) {
    (
        &raw const __sheap as usize,
        &raw const _stack_start as usize,
    )
}

/// Bytes of statics.
pub fn statics() -> usize {
    bounds().0 - RAM
}

/// Paints what lies between the statics and the stack.
#[inline(never)]
pub fn paint() {
    let top = cortex_m::register::msp::read() as usize - OWN;
    for at in (bounds().0..top).step_by(4) {
        // SAFETY: RAM above all statics and below everything that is live on the stack; interrupts
        // are not enabled yet.
        unsafe { (at as *mut u32).write_volatile(PAINT) };
    }
}

/// Bytes of stack that were ever used: down to the lowest word that changed.
pub fn deepest() -> usize {
    let (low, high) = bounds();
    // SAFETY: RAM, read.
    let changed = (low..high)
        .step_by(4)
        .find(|at| unsafe { (*at as *const u32).read_volatile() } != PAINT);
    high - changed.unwrap_or(high)
}
