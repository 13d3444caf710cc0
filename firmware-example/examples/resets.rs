//! An agent, an agent of a federated prior, a reporter and an optimizer, each reset at every one of
//! its steps. On a device the reset is the processor's.
//!
//! One line for each: its digest without a reset, how many steps it takes, how many measurements.
//! They are the same on every target; a device then adds how often it was reset. The exit code says
//! whether all runs came to the same end.
#![cfg_attr(target_os = "none", no_std, no_main)]

use firmware_example::reset::{Flash, SLOT, SLOTS, Stop, World, agent, optimizer, prior, reporter};

/// Bytes that a device writes between two chances to be cut off.
const GRAIN: usize = 16;
const NAMES: [&str; 4] = ["agent", "prior", "reporter", "optimizer"];

/// One of the four from its boot to its end.
fn boot(
    which: usize,
    flash: &mut Flash<'_>,
    world: &mut World,
    memory: &mut Memory,
) -> Result<(), Stop> {
    match which {
        0 => agent::boot(flash, world, &mut memory.agent),
        1 => prior::boot(flash, world, &mut memory.prior),
        2 => reporter::boot(flash, world),
        _ => optimizer::boot(flash, world, &mut memory.optimizer),
    }
}

struct Memory {
    agent: [f32; agent::STORAGE],
    prior: [f32; prior::STORAGE],
    optimizer: [f32; optimizer::STORAGE],
}

impl Memory {
    const fn new() -> Self {
        Memory {
            agent: [0.0; agent::STORAGE],
            prior: [0.0; prior::STORAGE],
            optimizer: [0.0; optimizer::STORAGE],
        }
    }
}

type Bytes = [u8; SLOTS * SLOT];

#[cfg(not(target_os = "none"))]
fn main() {
    let mut memory = Memory::new();
    for (which, name) in NAMES.iter().enumerate() {
        let mut bytes: Bytes = [0xff; SLOTS * SLOT];
        let mut world = World::new(false);
        let mut steps = 0;
        let mut power = || {
            steps += 1;
            Ok(())
        };
        let mut flash = Flash {
            bytes: &mut bytes[..],
            grain: GRAIN,
            power: &mut power,
        };
        match boot(which, &mut flash, &mut world, &mut memory) {
            Ok(()) => println!(
                "{name} {} {steps} steps {} measurements",
                world.digest(),
                world.measured
            ),
            Err(stop) => println!("{name} {stop:?}"),
        }
    }
}

#[cfg(target_os = "none")]
mod device {
    use core::fmt::Write as _;
    use core::mem::MaybeUninit;

    // Named although unused: the linker needs its symbols.
    use panic_semihosting as _;

    use cortex_m::peripheral::SCB;
    use cortex_m_rt::entry;
    use cortex_m_semihosting::{debug, hio};
    use sordino_core::digest::Digest;

    use super::*;

    /// What a reset leaves alone: flash, the world outside, and where the test stands.
    struct Kept {
        magic: [u32; 4],
        bytes: Bytes,
        world: World,
        /// Which of the four, and after how many steps its power ends; none in the first run.
        which: usize,
        cut: Option<u32>,
        /// It was reset in this run, and is to finish now.
        cut_off: bool,
        resets: u32,
        /// Of the run without a reset.
        digest: Digest,
        steps: u32,
        measured: u32,
        failed: bool,
    }

    const MAGIC: [u32; 4] = [0x5ee1_0de5, 0x0bad_cafe, 0x7357_ab1e, 0x0d15_ea5e];

    // SAFETY: the section exists for this and is not initialised at boot: memory that keeps its
    // content over a reset stands for flash and for the world.
    #[unsafe(link_section = ".uninit.kept")]
    static mut KEPT: MaybeUninit<Kept> = MaybeUninit::uninit();

    impl Kept {
        fn begin(&mut self, cut: Option<u32>) {
            (self.bytes, self.world, self.cut, self.cut_off) =
                ([0xff; SLOTS * SLOT], World::new(false), cut, false);
        }
    }

    #[entry]
    fn main() -> ! {
        static mut MEMORY: Memory = Memory::new();
        // SAFETY: this is the only place that names `KEPT`, and `main` runs once a boot. Nothing
        // but the magic words, integers, is read before they are right, and where they are right
        // this program wrote the rest: no reset happens inside `write`.
        let kept = unsafe {
            let place = (&raw mut KEPT).cast::<Kept>();
            if (&raw const (*place).magic).read_volatile() != MAGIC {
                place.write(Kept {
                    magic: MAGIC,
                    bytes: [0xff; SLOTS * SLOT],
                    world: World::new(false),
                    which: 0,
                    cut: None,
                    cut_off: false,
                    resets: 0,
                    digest: Digest::default(),
                    steps: 0,
                    measured: 0,
                    failed: false,
                });
            }
            &mut *place
        };
        while kept.which < NAMES.len() {
            run(kept, MEMORY);
        }
        let passed = !kept.failed;
        loop {
            debug::exit(if passed {
                debug::EXIT_SUCCESS
            } else {
                debug::EXIT_FAILURE
            });
        }
    }

    /// One boot of one device, and what the next one is to be.
    fn run(kept: &mut Kept, memory: &mut Memory) {
        let Kept {
            bytes,
            world,
            cut,
            cut_off,
            resets,
            which,
            ..
        } = kept;
        let mut steps = 0;
        let limit = if *cut_off {
            u32::MAX
        } else {
            cut.unwrap_or(u32::MAX)
        };
        let mut power = || {
            if steps == limit {
                (*cut_off, *resets) = (true, *resets + 1);
                SCB::sys_reset();
            }
            steps += 1;
            Ok(())
        };
        let end = boot(
            *which,
            &mut Flash {
                bytes,
                grain: GRAIN,
                power: &mut power,
            },
            world,
            memory,
        );
        if let Err(stop) = end {
            say(format_args!(
                "{} cut after {:?}: {stop:?}",
                NAMES[kept.which], kept.cut
            ));
            kept.failed = true;
        }
        let Some(cut) = kept.cut else {
            (kept.digest, kept.steps, kept.measured) =
                (kept.world.digest(), steps, kept.world.measured);
            let name = NAMES[kept.which];
            let digest = kept.digest;
            let measured = kept.measured;
            say(format_args!(
                "{name} {digest} {steps} steps {measured} measurements"
            ));
            return kept.begin(Some(0));
        };
        // A reporter that had paid and was cut off says the same in the end: its noise is the
        // simulation's.
        let again = kept.world.measured - kept.measured.min(kept.world.measured);
        if kept.world.digest() != kept.digest || again > 1 || !kept.cut_off {
            say(format_args!(
                "{} cut after {cut}: another end, {again} measured again",
                NAMES[kept.which]
            ));
            kept.failed = true;
        }
        if cut + 1 < kept.steps {
            return kept.begin(Some(cut + 1));
        }
        say(format_args!(
            "{} resets of {}: the same end",
            kept.resets, NAMES[kept.which]
        ));
        (kept.which, kept.resets) = (kept.which + 1, 0);
        kept.begin(None);
    }

    fn say(line: core::fmt::Arguments<'_>) {
        // A host that stopped listening is no reason to stop.
        let _ = hio::hstdout().map(|mut out| writeln!(out, "{line}"));
    }
}
