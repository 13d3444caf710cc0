//! One operation alone in an image: `cargo xtask firmware` looks whether the linker kept a way to panic.
//!
//! `SORDINO_ONLY` names the operation. Inputs are hidden from the optimiser, so that what it can prove it proves for all
//! inputs. The statement holds for this profile and this compiler, and for the operations listed.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {}

#[cfg(target_os = "none")]
mod device {
    use core::hint::black_box;
    use core::panic::PanicInfo;

    use cortex_m as _;
    use cortex_m_rt::entry;
    use sordino_core::acquisition::thompson;
    use sordino_core::digest::Frame;
    use sordino_core::domain::{Candidates, Regions};
    use sordino_core::features::RandomFourier;
    use sordino_core::linalg::{dot, lower, root};
    use sordino_core::privacy::encode::Encoder;
    use sordino_core::random::exact::Bits;
    use sordino_core::random::{Simulated, Stream, normal};

    #[panic_handler]
    fn panic(_: &PanicInfo<'_>) -> ! {
        loop {
            core::hint::spin_loop();
        }
    }

    struct Memory {
        a: [f32; 4096],
        b: [f32; 512],
        c: [f32; 512],
        sums: [i64; 128],
    }

    #[entry]
    fn main() -> ! {
        static mut MEMORY: Memory = Memory { a: [0.0; 4096], b: [0.0; 512], c: [0.0; 512], sums: [0; 128] };
        run(MEMORY);
        loop {
            core::hint::spin_loop();
        }
    }

    const fn is(name: &str) -> bool {
        let (Some(only), name) = (option_env!("SORDINO_ONLY"), name.as_bytes()) else { return false };
        let only = only.as_bytes();
        let mut i = 0;
        while i < only.len() && i < name.len() && only[i] == name[i] {
            i += 1;
        }
        i == only.len() && i == name.len()
    }

    /// A slice of a length that the optimiser does not know.
    fn some(all: &mut [f32]) -> &mut [f32] {
        let n = black_box(all.len());
        all.get_mut(..n).unwrap_or(&mut [])
    }

    fn run(memory: &mut Memory) {
        let Memory { a, b, c, sums } = memory;
        let (a, b, c) = (some(a), some(b), some(c));
        let n = black_box(7usize);
        if is("control: an index that nobody checked") {
            black_box(a[n]);
        }
        if is("linalg::dot") {
            black_box(dot(a, b));
        }
        if is("linalg::lower::append_row") {
            let _ = black_box(lower::append_row(a, n, 0.0));
        }
        if is("linalg::lower::solve") {
            lower::solve(a, b);
            lower::solve_transposed(a, b);
        }
        if is("linalg::root::rotate_in") {
            root::rotate_in(a, b, c, 0.5);
        }
        if is("linalg::root::solve") {
            root::solve(a, b);
            root::solve_transposed(a, b);
        }
        if is("random::normal::fill") {
            normal::fill(&mut Stream::from_seed(black_box(1)), b);
        }
        if is("random::exact::normal_floor") {
            let mut source = Simulated::new(Stream::from_seed(black_box(1)));
            let _ = black_box(Bits::new(&mut source).normal_floor(black_box(16)));
        }
        if is("digest") {
            let mut frame = Frame::leaf();
            frame.scalars(b);
            black_box(frame.end());
        }
        if is("privacy::encode")
            && let Ok(encoder) = Encoder::new(black_box(65536), black_box(1.0), black_box(1.0))
        {
            let _ = black_box(encoder.add(b, black_box(&[0.5, 0.5]), sums));
        }
        if is("features::random_fourier")
            && let Ok(map) = RandomFourier::new(black_box(2), black_box(64), 1.0, true, &*a)
        {
            map.features(b, c);
        }
        if is("acquisition::thompson") {
            let map = RandomFourier::new(black_box(2), black_box(64), 1.0, true, &*a);
            if let (Ok(map), Ok(grid), Ok(whole)) = (map, Candidates::grid(black_box(8), 2), Regions::whole(2)) {
                black_box(thompson::maximize_streamed(&grid, &map, &whole, b, c));
            }
        }
    }
}
