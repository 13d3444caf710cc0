//! One operation alone in an image: `cargo xtask firmware` looks whether the linker kept a way to
//! panic.
//!
//! `SORDINO_ONLY` names the operation; the names in `is("…")` are the list that is proved. Inputs,
//! lengths included, are hidden from the optimiser, so that what it can prove it proves for all
//! inputs. The statement holds for this profile and this compiler, and for the operations listed.
//!
//! | module | operations |
//! |---|---|
//! | `controls` | what must be found to panic |
//! | `basics` | linalg, random, digest, encoding, frames, features, kernels, maxima |
//! | `posteriors` | the four engines and draws |
//! | `parties` | optimizer and agent in single precision, without `f64` arithmetic |
//! | `newcomer` | a prior file and a search with it |
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod basics;
#[cfg(target_os = "none")]
mod controls;
#[cfg(target_os = "none")]
mod newcomer;
#[cfg(target_os = "none")]
mod parties;
#[cfg(target_os = "none")]
mod posteriors;

#[cfg(not(target_os = "none"))]
fn main() {}

#[cfg(target_os = "none")]
mod device {
    use core::hint::black_box;
    use core::panic::PanicInfo;

    use cortex_m as _;
    use cortex_m_rt::entry;

    use super::{basics, controls, newcomer, parties, posteriors};

    #[panic_handler]
    fn panic(_: &PanicInfo<'_>) -> ! {
        loop {
            core::hint::spin_loop();
        }
    }

    pub(super) struct Memory {
        pub(super) a: [f32; 4096],
        pub(super) b: [f32; 512],
        pub(super) c: [f32; 512],
        pub(super) d: [f32; 512],
        pub(super) sums: [i64; 128],
    }

    #[entry]
    fn main() -> ! {
        static mut MEMORY: Memory = Memory {
            a: [0.0; 4096],
            b: [0.0; 512],
            c: [0.0; 512],
            d: [0.0; 512],
            sums: [0; 128],
        };
        controls::run(MEMORY);
        basics::run(MEMORY);
        posteriors::run(MEMORY);
        parties::run(MEMORY);
        newcomer::run(MEMORY);
        loop {
            core::hint::spin_loop();
        }
    }

    /// Whether this is the operation of this image.
    pub(super) const fn is(name: &str) -> bool {
        let (Some(only), name) = (option_env!("SORDINO_ONLY"), name.as_bytes()) else {
            return false;
        };
        let only = only.as_bytes();
        let mut i = 0;
        while i < only.len() && i < name.len() && only[i] == name[i] {
            i += 1;
        }
        i == only.len() && i == name.len()
    }

    /// A slice of a length that the optimiser does not know.
    pub(super) fn some(all: &mut [f32]) -> &mut [f32] {
        let n = black_box(all.len());
        all.get_mut(..n).unwrap_or(&mut [])
    }
}
