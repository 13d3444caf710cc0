//! Which rows can be the maximum, in single precision: a host that asks the same rows for many
//! maxima reads them once in a form that takes half of the memory, and only the few that are near
//! the maximum in full.
//!
//! **Equation**: with F̂ and ω̂ the rows and the weights rounded to single precision, |F̂ω̂ − Fω| ≤
//! (M + 4)·ε·‖F‖·‖ω‖ whatever the order of the sum, ε = 2⁻²³, twice what M roundings need; a row
//! whose rounded product is below the largest by more than twice that is no maximum. The others are
//! multiplied as [`maximize_rows`] does it.
//!
//! **Numerics**: the result has the bits of [`maximize_rows`]. Where a norm is so large or small
//! that single precision could overflow or vanish (outside [1e-10, 1e15]), every row is multiplied.
//!
//! **Example**: that of [`Outline`].

use super::Maximum;
use super::thompson::maximize_rows;
use crate::dispatch;
use crate::linalg::{dot, slice};
use crate::math::Scalar;

/// Rows that lie together: the numbers of one column of theirs after the other, so that sums need
/// no order within a vector.
const PANEL: usize = 64;
/// Panels whose maxima are remembered at a time.
const PANELS: usize = 64;
/// Norms in this range neither overflow nor vanish in single precision, for at most [`COLUMNS_MAX`]
/// columns.
const NORMS: core::ops::RangeInclusive<f64> = 1e-10..=1e15;
/// More columns than this are multiplied in full.
const COLUMNS_MAX: usize = 1 << 16;

/// Numbers that an [`Outline`] of `count` rows of `width` numbers needs.
pub const fn storage_len(count: usize, width: usize) -> usize {
    count.next_multiple_of(PANEL) * width
}

/// Rows in single precision, and the largest of their norms.
///
/// ```
/// use sordino_core::acquisition::{outline, thompson, Outline};
/// let rows = [1.0, 0.0, 0.0, 1.0, 0.6, 0.8f64];
/// let outline = Outline::new(&rows, 2, vec![0.0; outline::storage_len(3, 2)]).ok_or("too short")?;
/// let best = outline.borrow().maximize(&rows, &[1.0, 2.0]);
/// assert_eq!(best, thompson::maximize_rows(&rows, 2, &[], &[1.0, 2.0]));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Outline<S> {
    panels: S,
    count: usize,
    width: usize,
    largest: f64,
}

impl<S: AsRef<[f32]>> Outline<S> {
    /// The outline of rows of `width` numbers each. Nothing if the storage is shorter than
    /// [`storage_len`], or the rows are not whole.
    pub fn new<T: Scalar>(rows: &[T], width: usize, mut panels: S) -> Option<Self>
    where
        S: AsMut<[f32]>,
    {
        let count = rows.len().checked_div(width)?;
        if rows.len() != count * width || panels.as_ref().len() < storage_len(count, width) {
            return None;
        }
        let all = slice::head_mut(panels.as_mut(), storage_len(count, width));
        let mut largest: f64 = 0.0;
        // The last panel is filled up with its last row, which changes no maximum.
        for i in 0..count.next_multiple_of(PANEL) {
            let row = slice::part(rows, i.min(count - 1) * width, width);
            let panel = slice::tail_mut(all, i / PANEL * PANEL * width);
            for (column, value) in panel.chunks_mut(PANEL).zip(row) {
                slice::set(column, i % PANEL, value.to_f64() as f32);
            }
            let norm = norm(row);
            largest = if norm.is_finite() {
                largest.max(norm)
            } else {
                f64::INFINITY
            };
        }
        Some(Outline {
            panels,
            count,
            width,
            largest,
        })
    }

    /// The same outline, borrowed.
    pub fn borrow(&self) -> Outline<&[f32]> {
        Outline {
            panels: self.panels.as_ref(),
            count: self.count,
            width: self.width,
            largest: self.largest,
        }
    }

    /// Number of rows, and numbers of each.
    pub fn shape(&self) -> (usize, usize) {
        (self.count, self.width)
    }

    /// argmax of rowᵢ·ω over the rows that the outline is of, with the bits of [`maximize_rows`].
    ///
    /// **Cost**: count·M multiply-adds in single precision, and M for each row that is near the
    /// maximum.
    pub fn maximize<T: Scalar>(&self, rows: &[T], weights: &[T]) -> Maximum<T> {
        let size = norm(weights);
        let usable =
            NORMS.contains(&size) && NORMS.contains(&self.largest) && self.width <= COLUMNS_MAX;
        if !usable || rows.len() != self.count * self.width || weights.len() != self.width {
            return maximize_rows(rows, weights.len(), &[], weights);
        }
        let roundings = f64::from(f32::EPSILON) + T::EPSILON.to_f64();
        // A thousandth more for the roundings of the norms and of this line.
        let off = 1.001 * (self.width + 4) as f64 * roundings * self.largest * size;
        let mut best = Maximum::none();
        let panels = slice::head(self.panels.as_ref(), storage_len(self.count, self.width));
        let some = PANELS * PANEL * self.width;
        for (part, (rows, panels)) in rows
            .chunks(some.max(1))
            .zip(panels.chunks(some.max(1)))
            .enumerate()
        {
            dispatch::run(
                #[inline(always)]
                |_| look(&mut best, part * PANELS * PANEL, rows, panels, weights, off),
            );
        }
        best
    }
}

/// The norm of a row, in double precision.
fn norm<T: Scalar>(row: &[T]) -> f64 {
    Scalar::sqrt(row.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>())
}

/// The maximum of `best` and at most [`PANELS`] panels, whose first row is `start`.
#[inline(always)]
fn look<T: Scalar>(
    best: &mut Maximum<T>,
    start: usize,
    rows: &[T],
    panels: &[f32],
    weights: &[T],
    off: f64,
) {
    let width = weights.len();
    let mut maxima = [f32::NEG_INFINITY; PANELS];
    for (maximum, panel) in maxima.iter_mut().zip(slice::rows(panels, PANEL * width)) {
        *maximum = products(panel, weights)
            .iter()
            .copied()
            .fold(f32::NEG_INFINITY, f32::max);
    }
    let reached = f64::from(maxima.iter().copied().fold(f32::NEG_INFINITY, f32::max)) - off;
    for (panel, maximum) in maxima.iter().enumerate() {
        let needed = reached.max(best.value.to_f64()) - off;
        if f64::from(*maximum) < needed {
            continue;
        }
        let products = products(
            slice::part(panels, panel * PANEL * width, PANEL * width),
            weights,
        );
        let rows = slice::rows(slice::tail(rows, panel * PANEL * width), width);
        for ((i, product), row) in products.iter().enumerate().zip(rows) {
            if f64::from(*product) >= needed {
                let value = dot(row, weights);
                if value > best.value {
                    *best = Maximum {
                        candidate: (start + panel * PANEL + i) as u32,
                        value,
                    };
                }
            }
        }
    }
}

/// The products of a panel's rows with the weights.
#[inline(always)]
fn products<T: Scalar>(panel: &[f32], weights: &[T]) -> [f32; PANEL] {
    let mut sums = [0.0; PANEL];
    for (column, weight) in panel.as_chunks::<PANEL>().0.iter().zip(weights) {
        sums = accumulate(sums, weight.to_f64() as f32, column);
    }
    sums
}

/// sum + w·column. By value: sums that are updated in place are kept in memory.
#[inline(always)]
fn accumulate(mut sums: [f32; PANEL], weight: f32, column: &[f32; PANEL]) -> [f32; PANEL] {
    for i in 0..PANEL {
        sums[i] += weight * column[i];
    }
    sums
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::kernel::{Kernel, SquaredExponential};
    use crate::linalg::pivoted_cholesky;
    use crate::random::{Stream, normal};
    use std::vec;
    use std::vec::Vec;

    fn outlined<T: Scalar>(rows: &[T], width: usize) -> Outline<Vec<f32>> {
        let count = rows.len() / width;
        Outline::new(rows, width, vec![f32::NAN; storage_len(count, width)]).unwrap()
    }

    /// Both ways, bit by bit.
    fn same<T: Scalar>(rows: &[T], outline: &Outline<Vec<f32>>, weights: &[T], what: &str) {
        let fast = outline.borrow().maximize(rows, weights);
        let slow = maximize_rows(rows, weights.len(), &[], weights);
        assert_eq!(fast.candidate, slow.candidate, "{what}");
        assert_eq!(
            fast.value.to_f64().to_bits(),
            slow.value.to_f64().to_bits(),
            "{what}"
        );
    }

    fn random_rows<T: Scalar>() {
        let mut stream = Stream::from_seed(51);
        for count in [1, 2, 63, 64, 65, 200, 4095, 4097, 9000] {
            for width in [1, 3, 4, 50, 73] {
                let mut rows = vec![T::ZERO; count * width];
                normal::fill(&mut stream, &mut rows);
                if count > 70 {
                    // Equal rows: ties go to the lowest index. And a whole panel of near ones, by
                    // single precision equal.
                    rows.copy_within(5 * width..6 * width, 69 * width);
                    let near: Vec<T> = rows[..width].to_vec();
                    for i in 1..60 {
                        let by = T::ONE + T::from_u32(i * 7 % 60) * T::EPSILON;
                        rows[i as usize * width..][..width]
                            .iter_mut()
                            .zip(&near)
                            .for_each(|(x, near)| *x = *near * by);
                    }
                }
                let outline = outlined(&rows, width);
                assert_eq!(outline.shape(), (count, width));
                for _ in 0..4 {
                    let mut weights = vec![T::ZERO; width];
                    normal::fill(&mut stream, &mut weights);
                    same(&rows, &outline, &weights, "random");
                    // The first row's direction: the near ones are the maximum. And its opposite:
                    // all products negative.
                    same(&rows, &outline, &rows[..width], "near");
                    let turned: Vec<T> = rows[..width].iter().map(|x| -*x).collect();
                    same(&rows, &outline, &turned, "turned");
                }
            }
        }
    }

    #[test]
    fn an_outline_finds_what_the_rows_have() {
        random_rows::<f64>();
        random_rows::<f32>();
    }

    #[test]
    fn draws_of_a_smooth_function_on_a_grid() {
        let kernel = SquaredExponential::new(0.03, 1.0).unwrap();
        let at = |i: usize| [i as f64 / 299.0];
        let mut wide = vec![0.0; 300 * 100];
        let mut diagonal = vec![0.0; 300];
        let covariance = |i: usize, j: usize| kernel.covariance(&at(i), &at(j));
        let rank = pivoted_cholesky(300, 100, &mut wide, &mut diagonal, 1e-8, covariance).rank;
        let rows: Vec<f64> = wide
            .chunks(100)
            .flat_map(|row| row[..rank].to_vec())
            .collect();
        let outline = outlined(&rows, rank);
        let mut stream = Stream::from_seed(52);
        for scale in [1e-12, 1e-9, 1e-3, 1.0, 1e3, 1e14, 1e16, 1e150, 0.0] {
            for _ in 0..50 {
                let mut weights = vec![0.0; rank];
                normal::fill(&mut stream, &mut weights);
                weights.iter_mut().for_each(|w| *w *= scale);
                same(&rows, &outline, &weights, "smooth");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_no_outline_or_multiplied_in_full() {
        let rows = [1.0, 0.0, 0.0, 1.0f64];
        assert!(Outline::new(&rows, 2, vec![0.0; storage_len(2, 2) - 1]).is_none());
        assert!(
            Outline::new(&rows, 3, vec![0.0; 999]).is_none()
                && Outline::new(&rows, 0, vec![0.0; 9]).is_none()
        );
        let outline = outlined(&rows, 2);
        assert_eq!(outline.maximize(&rows[..2], &[1.0, 2.0]).candidate, 0);
        assert_eq!(
            outline.maximize(&rows, &[3.0]),
            maximize_rows(&rows, 1, &[], &[3.0])
        );
        // Numbers that single precision does not hold, and none at all: the rows decide.
        for odd in [1e300, 1e-300, f64::INFINITY, f64::NAN] {
            let rows = [1.0, 0.0, odd, 1.0, 0.5, 0.5];
            same(&rows, &outlined(&rows, 2), &[1.0, 2.0], "odd rows");
            same(&[1.0, 0.0, 0.0, 1.0], &outline, &[odd, 1.0], "odd weights");
        }
    }
}
