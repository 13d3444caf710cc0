//! One source for a hot loop, compiled for several vector widths; the widest that the machine has
//! is chosen at run time.
//!
//! With the feature `dispatch`, which hosts switch on and devices do not, `run` executes a closure
//! whose code was compiled three times on x86-64: for the baseline of the target, for AVX2 and for
//! AVX-512. Without the feature, and on other processors, whose baseline has their vectors already,
//! it is a plain call.
//!
//! **Numerics**: every width gives the same bits. Rust neither reorders floating-point sums nor
//! fuses a product and a sum into one rounding, whatever the processor offers; so wider code can
//! only compute more independent numbers at once. Sums within one number keep the four lanes of
//! [`dot`](crate::linalg::dot) at every width.
//!
//! Only what is inlined into the closure is compiled for its width: kernels, and what they call,
//! are `#[inline(always)]`.
//!
//! ```
//! use sordino_core::dispatch::Width;
//!
//! let used = Width::used();
//! assert_eq!(Width::named(used.name()), Some(used));
//! ```

/// What the code of the kernels may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// What every processor of the target has: 128 bits of SSE2 on x86-64.
    Baseline,
    /// 256 bits of AVX2, x86-64-v3.
    Avx2,
    /// 512 bits of AVX-512 as of Ice Lake.
    Avx512,
}

impl Width {
    /// All, narrowest first.
    pub const ALL: [Width; 3] = [Width::Baseline, Width::Avx2, Width::Avx512];

    /// Its name in tables and in the variable `SORDINO_WIDTH`, which hosts read.
    pub const fn name(self) -> &'static str {
        match self {
            Width::Baseline => "baseline",
            Width::Avx2 => "avx2",
            Width::Avx512 => "avx512",
        }
    }

    /// The width of this name.
    pub fn named(name: &str) -> Option<Self> {
        Width::ALL.into_iter().find(|width| width.name() == name)
    }

    /// The widest this build and this machine have: [`Width::Baseline`] without the feature
    /// `dispatch`.
    pub fn widest() -> Self {
        imp::widest()
    }

    /// The width in use.
    pub fn used() -> Self {
        imp::used()
    }

    /// What the compiler was told that every machine has.
    const fn of_build() -> Self {
        if cfg!(target_feature = "avx512f") {
            Width::Avx512
        } else if cfg!(target_feature = "avx2") {
            Width::Avx2
        } else {
            Width::Baseline
        }
    }

    /// Uses nothing wider from now on, in the whole process: for comparisons and tests, since no
    /// result changes. Returns the width that is then in use, which is narrower where the machine
    /// does not have this one.
    pub fn limit(self) -> Self {
        imp::limit(self)
    }
}

pub(crate) use imp::{run, run_short};

#[cfg(all(feature = "dispatch", target_arch = "x86_64"))]
mod imp {
    use core::sync::atomic::{AtomicU8, Ordering};

    use fearless_simd::{Level, Simd};

    use crate::dispatch::Width;

    /// The index in [`Width::ALL`] of the widest that may be used. Read without order: no result
    /// depends on it.
    static LIMIT: AtomicU8 = AtomicU8::new(2);

    pub fn widest() -> Width {
        let level = Level::new();
        match (level.as_avx512(), level.as_avx2()) {
            (Some(_), _) => Width::Avx512,
            (None, Some(_)) => Width::Avx2,
            (None, None) => Width::Baseline,
        }
    }

    pub fn used() -> Width {
        let limit = Width::ALL
            .get(usize::from(LIMIT.load(Ordering::Relaxed)))
            .copied();
        widest().min(limit.unwrap_or(Width::Avx512))
    }

    pub fn limit(width: Width) -> Width {
        LIMIT.store(width as u8, Ordering::Relaxed);
        used()
    }

    /// Executes a kernel, compiled for the widest vectors that may be used, and tells it which
    /// these are.
    #[inline(always)]
    pub(crate) fn run<R>(kernel: impl FnOnce(Width) -> R) -> R {
        let level = Level::new();
        let limit = LIMIT.load(Ordering::Relaxed);
        if limit == Width::Avx512 as u8
            && let Some(token) = level.as_avx512()
        {
            return token.vectorize(
                #[inline(always)]
                || kernel(Width::Avx512),
            );
        }
        run_short(kernel)
    }

    /// [`run`] with 256 bits at most: for sums of four lanes and for short rows, which 512 bits
    /// make slower (measured: `docs/performance.md`).
    #[inline(always)]
    pub(crate) fn run_short<R>(kernel: impl FnOnce(Width) -> R) -> R {
        if LIMIT.load(Ordering::Relaxed) >= Width::Avx2 as u8
            && let Some(token) = Level::new().as_avx2()
        {
            return token.vectorize(
                #[inline(always)]
                || kernel(Width::Avx2),
            );
        }
        kernel(Width::of_build())
    }
}

#[cfg(not(all(feature = "dispatch", target_arch = "x86_64")))]
mod imp {
    use crate::dispatch::Width;

    pub fn widest() -> Width {
        Width::of_build()
    }

    pub fn used() -> Width {
        Width::of_build()
    }

    pub fn limit(_: Width) -> Width {
        Width::of_build()
    }

    /// Executes a kernel, in a frame of its own: a device's stack holds one of them at a time.
    #[inline(always)]
    pub(crate) fn run<R>(kernel: impl FnOnce(Width) -> R) -> R {
        kernel(Width::of_build())
    }

    /// Executes a kernel.
    #[inline(always)]
    pub(crate) fn run_short<R>(kernel: impl FnOnce(Width) -> R) -> R {
        kernel(Width::of_build())
    }
}
