//! What an operation costs on this core: instructions, stack, storage. Bounds are asserted.
//!
//! | module | operations |
//! |---|---|
//! | [`basics`] | digest, draws, features, maximum |
//! | [`posteriors`] | the four engines at n, N and M of 16, 32, 64, 100 |
//! | [`optimizer`] | ask and tell |
//! | [`private`] | encoding, accounting, an agent of a federation |
//! | [`agent`] | slices of an agent's work |
//! | [`radio`] | boot, a private report, frames |
//! | [`prior`] | an agent of a federated prior |
//! | [`member`] | a member of one, which keeps the posterior |
//! | [`newcomer`] | a search with a prior file |
//! | [`shares`] | an agent of two servers |
//! | [`site`] | a site of a campaign |

use core::fmt::Write;

use super::hardware;
use super::memory::Memory;

mod agent;
mod basics;
mod member;
mod newcomer;
mod optimizer;
mod posteriors;
mod prior;
mod private;
mod radio;
mod shares;
mod site;

/// Input dimension of all measurements.
const DIM: usize = 2;

/// What is being measured.
enum Mode {
    Instructions,
    Stack,
}

/// Measures the one call that an operation hands it, after the operation has prepared everything
/// else.
pub struct Probe {
    mode: Mode,
    result: u32,
}

impl Probe {
    fn measure(&mut self, mut work: impl FnMut()) {
        self.result = match self.mode {
            Mode::Instructions => hardware::instructions(&mut work),
            Mode::Stack => hardware::stack(&mut work),
        };
    }

    /// The dearest slice of a work that goes on until `slice` says that it is done; of stack, among
    /// the first few, because painting takes longer than a slice.
    fn dearest(&mut self, mut slice: impl FnMut() -> bool) {
        const PAINTED: u32 = 64;
        let mut done = false;
        let mut most = 0;
        let mut slices = 0;
        while !done {
            if slices < PAINTED || matches!(self.mode, Mode::Instructions) {
                self.measure(|| done = slice());
                most = self.result.max(most);
            } else {
                done = slice();
            }
            slices += 1;
        }
        self.result = most;
    }
}

/// One operation at several sizes, and its bounds.
pub struct Operation {
    name: &'static str,
    /// Sizes (n, N or M; 0 where nothing grows), and the most instructions at each: with a
    /// floating-point unit (M4F and M33) and without (M0), at `opt-level = 3`.
    sizes: &'static [(usize, u32, u32)],
    /// Bytes of stack, on every core and at every size, at `opt-level = 3`.
    stack_max: u32,
    /// Bytes that the operation's object takes from the caller.
    storage: fn(usize) -> usize,
    run: fn(&mut Memory, &mut Probe, usize),
}

/// Whether bounds are asserted: they are those of `opt-level = 3`, an image for size is measured
/// without them.
const BOUNDED: bool = option_env!("SORDINO_UNBOUNDED").is_none();

/// The image may be built with one operation alone, or with none: the difference is what it takes
/// of flash.
pub const ONLY: Option<&str> = option_env!("SORDINO_ONLY");

impl Operation {
    const fn new(
        name: &'static str,
        sizes: &'static [(usize, u32, u32)],
        storage: fn(usize) -> usize,
        run: fn(&mut Memory, &mut Probe, usize),
    ) -> Self {
        let chosen = match ONLY {
            None => true,
            Some(only) => equal(only.as_bytes(), name.as_bytes()),
        };
        Operation {
            name,
            sizes,
            stack_max: 1024,
            storage,
            run: if chosen { run } else { |_, _, _| {} },
        }
    }

    const fn with_stack_max(mut self, stack_max: u32) -> Self {
        self.stack_max = stack_max;
        self
    }

    /// One line for each size; returns how many bounds were exceeded.
    fn print(&self, out: &mut impl Write, memory: &mut Memory) -> u32 {
        let mut exceeded = 0;
        for (size, hard, soft) in self.sizes {
            let instructions_max = if cfg!(target_abi = "eabihf") {
                hard
            } else {
                soft
            };
            let mut measure = |mode| {
                let mut probe = Probe {
                    mode,
                    result: u32::MAX,
                };
                (self.run)(memory, &mut probe, *size);
                probe.result
            };
            let instructions = measure(Mode::Instructions);
            let stack = measure(Mode::Stack);
            let Operation {
                name,
                stack_max,
                storage,
                ..
            } = self;
            let _ = write!(
                out,
                "| {name} | {size} | {instructions} | {instructions_max} | "
            );
            let over = BOUNDED && (instructions > *instructions_max || stack > *stack_max);
            let mark = if over { " EXCEEDED" } else { "" };
            let _ = writeln!(out, "{stack} | {stack_max} | {} |{mark}", storage(*size));
            exceeded += u32::from(over);
        }
        exceeded
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Everything that is measured, under headings, from the bottom up.
const TABLE: &[(&str, &[Operation])] = &[
    ("Basics", basics::TABLE),
    (
        "Posteriors: n observations, N points, M features",
        posteriors::TABLE,
    ),
    (
        "Ask and tell over a box of two axes, room for 64 observations",
        optimizer::TABLE,
    ),
    ("Private releases and a federation", private::TABLE),
    ("Boot, reports and frames", radio::TABLE),
    ("An agent in slices", agent::TABLE),
    (
        "Federated prior: n observations, M features, 256 candidates",
        prior::TABLE,
    ),
    (
        "A member of a federated prior: M features, 256 candidates, 256 designs",
        member::TABLE,
    ),
    ("A newcomer with a prior file", newcomer::TABLE),
    ("An agent of two servers", shares::TABLE),
    ("A site of a campaign", site::TABLE),
];

/// Prints the table and returns how many rows it has and how many bounds were exceeded.
pub fn print(out: &mut impl Write, memory: &mut Memory) -> (usize, u32) {
    let mut rows = 0;
    let mut exceeded = 0;
    let _ = writeln!(
        out,
        "--- costs\n| operation | size | instructions | at most | stack B | at most | storage B |"
    );
    for (heading, operations) in TABLE {
        let _ = writeln!(out, "# {heading}");
        for operation in *operations {
            exceeded += operation.print(out, memory);
            rows += operation.sizes.len();
        }
    }
    let _ = writeln!(out, "---");
    (rows, exceeded)
}
