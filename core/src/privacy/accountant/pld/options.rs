//! How far a computation of the tight accountant goes.

/// How far to go.
///
/// ```
/// use sordino_core::privacy::accountant::{Accountant, PldAccountant, pld::Options};
/// use sordino_core::privacy::Event;
///
/// let event = Event::sampled(0.25, 1.0);
/// let mut rough = PldAccountant::with(Options { tolerance: 1e-2, ..Options::default() });
/// let mut fine = PldAccountant::new();
/// rough.compose(&event, 40)?;
/// fine.compose(&event, 40)?;
/// let (rough, fine) = (rough.epsilon(1e-5)?.epsilon, fine.epsilon(1e-5)?.epsilon);
/// assert!((rough / fine - 1.0).abs() < 1e-2);
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
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
        Options {
            tolerance: 1e-4,
            cells_max: 1 << 20,
        }
    }
}
