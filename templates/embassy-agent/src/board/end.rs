//! What happens when a party is done: the emulator says so and ends; a device sleeps.

#[cfg(target_arch = "arm")]
use panic_semihosting as _;

#[cfg(target_arch = "riscv32")]
use panic_halt as _;

// Named although unused: the linker needs their symbols.
#[cfg(target_arch = "arm")]
use cortex_m as _;
#[cfg(target_arch = "riscv32")]
use riscv as _;

/// Parties in this image.
#[cfg(target_arch = "arm")]
const PARTIES: u32 = cfg!(feature = "agent") as u32 + cfg!(feature = "reporter") as u32;

/// A party is done; the emulator ends after the last.
#[cfg(target_arch = "arm")]
pub fn done(party: &str, count: u32) {
    use core::cell::Cell;
    use cortex_m::interrupt::Mutex;
    use cortex_m_semihosting::{debug, hprintln};
    static LEFT: Mutex<Cell<u32>> = Mutex::new(Cell::new(PARTIES));
    hprintln!("{party}: {count}");
    let left = cortex_m::interrupt::free(|token| {
        let left = LEFT.borrow(token);
        left.set(left.get() - 1);
        left.get()
    });
    if left == 0 {
        debug::exit(debug::EXIT_SUCCESS);
    }
}

/// One party is done.
#[cfg(target_arch = "riscv32")]
pub fn done(_party: &str, _count: u32) {}

/// What a member or a site ended with. The emulator says it, to be compared with what a host ends
/// with.
#[cfg(all(feature = "agent", any(member, site), target_arch = "arm"))]
pub fn learned(end: sordino_core::digest::Digest) {
    let who = if cfg!(site) { "site" } else { "member" };
    cortex_m_semihosting::hprintln!("{who}: {end}");
}

/// What a member or a site ended with.
#[cfg(all(feature = "agent", any(member, site), target_arch = "riscv32"))]
pub fn learned(_end: sordino_core::digest::Digest) {}
