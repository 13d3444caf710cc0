//! The digest table: core's operations on fixed inputs, each folded into one digest.
//!
//! Every target prints the same table (`tests/vectors/digests.txt`); where a bit differs, the first
//! row that differs says which layer to look at, because the rows follow the layers. Rows are
//! independent of each other.
//!
//! | module | layers |
//! |---|---|
//! | `arithmetic` | math, linalg, random |
//! | `learning` | kernel, features, domain, surrogate, acquisition, schedule |
//! | `models` | the other kernels and features, fits and draws, the optimiser |
//! | `release` | exact samplers, privacy |
//! | `local` | the trust model of that name |
//! | `frames` | what goes over a link |
//! | `prior` | the federated prior: a whole federation |
//! | `newcomer` | a prior file, and searches with it and without |
//! | `shares` | two servers: a release from keys to what the leader opens |

use core::fmt;

use sordino_core::digest::{Digest, Frame};
use sordino_core::math::Scalar;

mod arithmetic;
mod frames;
mod learning;
mod local;
mod models;
mod newcomer;
mod prior;
mod release;
mod shares;

/// One line of the table.
pub struct Row {
    /// What was computed, by its path in core and its format.
    pub name: &'static str,
    /// How many numbers were folded.
    pub values: u32,
    /// The last of them, for a reader.
    pub last: f64,
    /// SHA-256 of their little-endian bytes.
    pub digest: Digest,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<28} {:>6}  ", self.name, self.values)?;
        self.digest
            .0
            .iter()
            .take(8)
            .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "  {:e}", self.last)
    }
}

/// Numbers on their way into a [`Row`].
struct Fold {
    frame: Frame,
    values: u32,
    last: f64,
}

impl Fold {
    fn new() -> Self {
        Fold {
            frame: Frame::leaf(),
            values: 0,
            last: 0.0,
        }
    }

    fn add<T: Scalar>(&mut self, x: T) {
        self.all(&[x]);
    }

    fn all<T: Scalar>(&mut self, values: &[T]) {
        self.frame.scalars(values);
        self.values += values.len() as u32;
        if let Some(x) = values.last() {
            self.last = x.to_f64();
        }
    }

    fn word(&mut self, word: u64) {
        self.frame.u64(word);
        self.values += 1;
        self.last = f64::unit(word);
    }

    fn end(self, name: &'static str) -> Row {
        Row {
            name,
            values: self.values,
            last: self.last,
            digest: self.frame.end(),
        }
    }
}

/// Takes a name and what fills its fold.
type Emit<'e> = &'e mut dyn FnMut(&'static str, &dyn Fn(&mut Fold));

/// Calls `each` with every row in order and returns the digest of all.
pub fn table(mut each: impl FnMut(&Row)) -> Digest {
    let mut all = Frame::leaf();
    let mut emit = |name: &'static str, fill: &dyn Fn(&mut Fold)| {
        let mut fold = Fold::new();
        fill(&mut fold);
        let row = fold.end(name);
        all.digest(&row.digest);
        each(&row);
    };
    arithmetic::rows(&mut emit);
    learning::rows(&mut emit);
    release::rows(&mut emit);
    local::rows(&mut emit);
    models::rows(&mut emit);
    frames::rows(&mut emit);
    prior::rows(&mut emit);
    newcomer::rows(&mut emit);
    shares::rows(&mut emit);
    all.end()
}
