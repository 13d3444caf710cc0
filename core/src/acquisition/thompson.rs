//! Thompson sampling over candidates: maximise x ↦ φ(x)·ω, piecewise by region.
//!
//! Two ways to the same bits: a host caches the rows φ(x) once and multiplies, a device computes
//! one row at a time and never stores more.
//!
//! ```
//! use sordino_core::acquisition::thompson::maximize_rows;
//!
//! // Three candidates with two features each; the drawn function has the weights (1, 2).
//! let best = maximize_rows(&[1.0, 0.0, 0.0, 1.0, 0.6, 0.8], 2, &[], &[1.0, 2.0]);
//! assert_eq!((best.candidate, best.value), (2, 0.6 * 1.0 + 0.8 * 2.0));
//! ```

use core::task::Poll;

use super::Maximum;
use crate::domain::{Candidates, Regions};
use crate::features::RandomFourier;
use crate::linalg::{matvec, slice};
use crate::math::Scalar;

/// argmax over rows i of rowᵢ·ω^(region of i).
///
/// **Parameters**: `rows` count × M; `weights` P × M; `region_of` one index a row, or empty for one
/// region. **Cost**: count·M multiply-adds. Without a row the result is candidate 0 at −∞.
pub fn maximize_rows<T: Scalar>(
    rows: &[T],
    width: usize,
    region_of: &[u32],
    weights: &[T],
) -> Maximum<T> {
    /// Values computed before they are compared.
    const BLOCK: usize = 64;
    let mut best = Maximum::none();
    let mut values = [T::ZERO; BLOCK];
    let count = rows.len() / width.max(1);
    let mut start = 0;
    while start < count {
        let region = region_of.get(start).copied().unwrap_or(0);
        let mut end = (start + BLOCK).min(count);
        if let Some(block) = region_of.get(start..end) {
            end = start + block.iter().take_while(|r| **r == region).count();
        }
        let (Some(block), Some(weights)) = (
            rows.get(start * width..end * width),
            weights.get(region as usize * width..(region as usize + 1) * width),
        ) else {
            return best;
        };
        let values = slice::head_mut(&mut values, end - start);
        matvec(block, weights, values);
        best.look(start as u32, values);
        start = end;
    }
    best
}

/// The same argmax with every row computed when it is needed: `scratch` holds D + M numbers.
///
/// **Cost**: count·M·(D multiply-adds + one cosine), M + D numbers of memory whatever the count.
/// [`Streaming`] takes them a few at a time.
pub fn maximize_streamed<T: Scalar>(
    candidates: &Candidates<'_, T>,
    features: &RandomFourier<T, &[T]>,
    regions: &Regions,
    weights: &[T],
    scratch: &mut [T],
) -> Maximum<T> {
    let mut streaming = Streaming::begin();
    loop {
        if let Poll::Ready(best) =
            streaming.step(u32::MAX, candidates, features, regions, weights, scratch)
        {
            return best;
        }
    }
}

/// [`maximize_streamed`] under way, in slices of a number of candidates, with the same bits: the
/// best of those looked at.
///
/// Everything but the scratch must be the same at every step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Streaming<T> {
    next: u32,
    best: Maximum<T>,
}

impl<T: Scalar> Streaming<T> {
    /// No candidate looked at yet.
    pub fn begin() -> Self {
        Streaming {
            next: 0,
            best: Maximum::none(),
        }
    }

    /// At most `count` candidates more (at least one); the maximum after the last, and again if
    /// asked again.
    ///
    /// **Parameters**: as [`maximize_streamed`]. Weights that lack a region's end the search.
    pub fn step(
        &mut self,
        count: u32,
        candidates: &Candidates<'_, T>,
        features: &RandomFourier<T, &[T]>,
        regions: &Regions,
        weights: &[T],
        scratch: &mut [T],
    ) -> Poll<Maximum<T>> {
        let width = features.count();
        let Some((point, phi)) = scratch.split_at_mut_checked(candidates.dim()) else {
            return Poll::Ready(self.best);
        };
        let all = candidates.count();
        let end = all.min(self.next.saturating_add(count.max(1)));
        for candidate in self.next..end {
            candidates.point(candidate, point);
            let region = regions.region_of(point) as usize;
            let Some(weights) = weights.get(region * width..(region + 1) * width) else {
                return Poll::Ready(self.best);
            };
            let value = features.value(point, weights, phi);
            if value > self.best.value {
                self.best = Maximum { candidate, value };
            }
        }
        self.next = end;
        if end == all {
            Poll::Ready(self.best)
        } else {
            Poll::Pending
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::features::random_fourier;
    use crate::random::{Stream, normal};
    use std::vec;

    #[test]
    fn cached_and_streamed_find_the_same_bits() {
        const M: usize = 13;
        let candidates = Candidates::<f32>::grid(17, 2).unwrap();
        let regions = Regions::new(&[2, 2]).unwrap();
        let mut storage = vec![0.0; random_fourier::storage_len(2, M)];
        random_fourier::draw(
            5,
            0,
            crate::kernel::Stationary::Matern52,
            &[0.2],
            2,
            M,
            &mut storage,
        )
        .unwrap();
        let features = RandomFourier::new(2, M, 1.0, true, &storage[..]).unwrap();
        let mut rows = vec![0.0; 289 * M];
        let mut region_of = vec![0; 289];
        let mut point = [0.0; 2];
        for (i, row) in rows.chunks_mut(M).enumerate() {
            candidates.point(i as u32, &mut point);
            features.features(&point, row);
            region_of[i] = regions.region_of(&point);
        }
        let mut weights = vec![0.0; 4 * M];
        let mut stream = Stream::from_seed(6);
        for _ in 0..20 {
            normal::fill(&mut stream, &mut weights);
            let cached = maximize_rows(&rows, M, &region_of, &weights);
            let streamed = maximize_streamed(
                &candidates,
                &features,
                &regions,
                &weights,
                &mut [0.0; M + 2],
            );
            assert_eq!(
                (cached.candidate, cached.value.to_bits()),
                (streamed.candidate, streamed.value.to_bits())
            );
            for slice in [0, 1, 7, 288, 289, 1000] {
                let mut streaming = Streaming::begin();
                let mut steps = 1;
                let found = loop {
                    let scratch = &mut [f32::NAN; M + 2];
                    match streaming.step(slice, &candidates, &features, &regions, &weights, scratch)
                    {
                        Poll::Ready(found) => break found,
                        Poll::Pending => steps += 1,
                    }
                };
                assert_eq!((found, steps), (streamed, 289u32.div_ceil(slice.max(1))));
            }
        }
    }

    #[test]
    fn ties_go_to_the_lowest_index() {
        assert_eq!(
            maximize_rows(&[1.0, 2.0, 2.0], 1, &[], &[1.0f64]).candidate,
            1
        );
    }
}
