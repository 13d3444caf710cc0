//! Points that the device computes itself: a grid whose digest is the one that was agreed.

use sordino_core::digest::Digest;
use sordino_core::domain::Candidates;
use sordino_core::federated::exchange::candidates_digest;

/// Coordinates of a point at most.
pub const DIM_MAX: usize = 4;
/// Points of an axis at most.
const POINTS_MAX: u32 = 128;

/// Points of an axis of the grid with this digest; none if there is no such grid.
pub fn points_per_axis(dim: usize, digest: &Digest) -> Option<u32> {
    let mut point = [0.0; DIM_MAX];
    let point = point.get_mut(..dim)?;
    // The smallest grid that fits: whatever is compared is small.
    (2..=POINTS_MAX).find(|points| {
        let grid = Candidates::<f64>::grid(*points, dim);
        grid.is_ok_and(|grid| candidates_digest(&grid, point) == *digest)
    })
}
