//! How far a computation of the tight accountant goes.

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Relative accuracy of ε asked for.
    pub tolerance: f64,
    /// Largest number of cells of a window; memory is about 60 bytes each.
    pub cells_max: usize,
}

impl Default for Options {
    /// 1e-4 and a million cells.
    fn default() -> Self {
        Options { tolerance: 1e-4, cells_max: 1 << 20 }
    }
}
