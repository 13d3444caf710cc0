//! Points as coordinates of a box, for models that know distances and nothing else.

use sordino_core::domain::DIM_MAX;
use sordino_core::space::Space;

/// How the axes of a space become coordinates of the unit box.
///
/// An axis of numbers, an order or a choice of two is one coordinate. A category of three choices
/// or more is one coordinate a choice, 0 or 1, as long as all of them fit in [`DIM_MAX`], so that
/// no two choices are nearer to each other than others.
///
/// ```
/// use sordino_core::space::{Axis, Space};
/// use sordino_host::space::Encoding;
///
/// let encoding = Encoding::new(&Space::new(&[Axis::real(0.0, 10.0), Axis::category(3)])?);
/// assert_eq!(encoding.dim(), 4);
/// assert_eq!(encoding.coordinates(&[5.0, 2.0]), [0.5, 0.0, 0.0, 1.0]);
/// # Ok::<(), sordino_core::space::SpaceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoding {
    space: Space,
    /// Coordinates of each axis.
    widths: Vec<usize>,
}

impl Encoding {
    /// The coordinates of a space.
    pub fn new(space: &Space) -> Self {
        let mut widths: Vec<usize> = space
            .axes()
            .iter()
            .map(|axis| match axis.count() {
                Some(count) if axis.is_category() && count > 2 => count as usize,
                _ => 1,
            })
            .collect();
        if widths.iter().sum::<usize>() > DIM_MAX {
            widths.fill(1);
        }
        Encoding {
            space: space.clone(),
            widths,
        }
    }

    /// Number of coordinates, 1 to [`DIM_MAX`].
    pub fn dim(&self) -> usize {
        self.widths.iter().sum()
    }

    /// Coordinates of one axis: 1, or the number of its choices. 0 beyond the last axis.
    pub fn width(&self, axis: usize) -> usize {
        self.widths.get(axis).copied().unwrap_or(0)
    }

    /// The coordinates of a point in the user's numbers, one an axis; each from 0 to 1.
    pub fn coordinates(&self, numbers: &[f64]) -> Vec<f64> {
        let mut unit = Vec::with_capacity(DIM_MAX);
        for (axis, (x, width)) in numbers.iter().zip(&self.widths).enumerate() {
            match width {
                1 => unit.push(self.space.to_unit(axis, *x).unwrap_or(0.0)),
                _ => unit
                    .extend((0..*width).map(|choice| if choice as f64 == *x { 1.0 } else { 0.0 })),
            }
        }
        unit
    }
}
