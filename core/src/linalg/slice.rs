//! Parts of slices that cannot panic.
//!
//! Lengths are checked once, where an object is made; these make the code after that free of
//! panics, also to the linker (`cargo xtask firmware`). A part that is not there is empty, a number
//! that is not there is 0.

use crate::math::Scalar;

/// The first `n` elements.
#[inline]
pub(crate) fn head<T>(all: &[T], n: usize) -> &[T] {
    all.get(..n).unwrap_or(&[])
}

/// The first `n` elements.
#[inline]
pub(crate) fn head_mut<T>(all: &mut [T], n: usize) -> &mut [T] {
    all.get_mut(..n).unwrap_or(&mut [])
}

/// All from `start` on.
#[inline]
pub(crate) fn tail<T>(all: &[T], start: usize) -> &[T] {
    all.get(start..).unwrap_or(&[])
}

/// All from `start` on.
#[inline]
pub(crate) fn tail_mut<T>(all: &mut [T], start: usize) -> &mut [T] {
    all.get_mut(start..).unwrap_or(&mut [])
}

/// `len` elements from `start` on.
#[inline]
pub(crate) fn part<T>(all: &[T], start: usize, len: usize) -> &[T] {
    head(tail(all, start), len)
}

/// `len` elements from `start` on.
#[inline]
pub(crate) fn part_mut<T>(all: &mut [T], start: usize, len: usize) -> &mut [T] {
    head_mut(tail_mut(all, start), len)
}

/// The first `n` elements, or as many as there are, and the rest.
#[inline]
pub(crate) fn split<T>(all: &mut [T], n: usize) -> (&mut [T], &mut [T]) {
    let n = n.min(all.len());
    // There are always as many. `split_at_mut` is a call with a panic at opt-level "z", whatever is
    // known of `n`.
    all.split_at_mut_checked(n).unwrap_or_default()
}

/// Four times `width` elements.
#[inline(always)]
pub(crate) fn quarters<T>(all: &[T], width: usize) -> Option<[&[T]; 4]> {
    let (r0, rest) = all.split_at_checked(width)?;
    let (r1, rest) = rest.split_at_checked(width)?;
    let (r2, rest) = rest.split_at_checked(width)?;
    Some([r0, r1, r2, rest.get(..width)?])
}

/// All but the last N elements, and these. The function of this name of the standard library holds
/// a `split_at`.
#[inline(always)]
pub(crate) fn split_last_chunk<T, const N: usize>(all: &[T]) -> Option<(&[T], &[T; N])> {
    let (front, last) = all.split_at_checked(all.len().checked_sub(N)?)?;
    Some((front, last.first_chunk()?))
}

/// The whole rows of `width` numbers, in order; of one number where `width` is 0.
///
/// `chunks_exact` beside another iterator counts its rows first, by a division of which opt-level
/// "z" does not see that it is by no zero.
#[inline(always)]
pub(crate) fn rows<T>(all: &[T], width: usize) -> impl Iterator<Item = &[T]> {
    let width = width.max(1);
    let mut rest = all;
    core::iter::from_fn(move || {
        let (row, others) = rest.split_at_checked(width)?;
        rest = others;
        Some(row)
    })
}

/// Element `index`.
#[inline]
pub(crate) fn at<T: Scalar>(all: &[T], index: usize) -> T {
    all.get(index).copied().unwrap_or(T::ZERO)
}

/// Writes element `index`.
#[inline]
pub(crate) fn set<T>(all: &mut [T], index: usize, value: T) {
    if let Some(place) = all.get_mut(index) {
        *place = value;
    }
}

/// Copies as many as both hold.
#[inline]
pub(crate) fn copy<T: Copy>(from: &[T], to: &mut [T]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// Moves `len` elements from `from` to `to` ≤ `from`.
#[inline]
pub(crate) fn move_back<T: Copy>(all: &mut [T], from: usize, to: usize, len: usize) {
    let shift = from.saturating_sub(to);
    let all = tail_mut(all, to);
    if shift.checked_add(len).is_some_and(|end| end <= all.len()) {
        all.copy_within(shift..shift + len, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_slicing_gives_or_empty() {
        let mut x = [1.0, 2.0, 3.0, 4.0, 5.0f64];
        assert_eq!(
            (head(&x, 2), tail(&x, 3), part(&x, 1, 3)),
            (&x[..2], &x[3..], &x[1..4])
        );
        assert_eq!(
            (head(&x, 6), tail(&x, 6), part(&x, 3, 3)),
            (&[][..], &[][..], &[][..])
        );
        assert_eq!((at(&x, 4), at(&x, 5)), (5.0, 0.0));
        set(&mut x, 0, 7.0);
        set(&mut x, 5, 7.0);
        move_back(&mut x, 3, 1, 2);
        assert_eq!(x, [7.0, 4.0, 5.0, 4.0, 5.0]);
        move_back(&mut x, 3, 1, 3);
        copy(&[1.0, 1.0], &mut x[4..]);
        assert_eq!(x, [7.0, 4.0, 5.0, 4.0, 1.0]);
        assert_eq!(
            (quarters(&x, 1), quarters(&x, 2)),
            (Some([&x[..1], &x[1..2], &x[2..3], &x[3..4]]), None)
        );
        assert_eq!(split(&mut x, 9).0.len(), 5);
        assert_eq!(
            (
                head_mut(&mut x, 2).len(),
                part_mut(&mut x, 4, 1).len(),
                part_mut(&mut x, 4, 2).len()
            ),
            (2, 1, 0)
        );
    }
}
