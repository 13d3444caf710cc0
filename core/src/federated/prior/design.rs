//! The moments of one virtual design: what an agent that looks there would contribute, on average
//! and in scatter.

use super::constant::{Constant, ones_solved, project_solve};
use super::error::PriorError;
use super::public::Public;
use crate::linalg::slice::{self, head_mut, part};
use crate::linalg::{axpy, dot, lower, matvec, packed_len, sum_of_squares};
use crate::math::Scalar;

/// Numbers that [`Design::split`] takes for M features and n points.
pub(super) const fn design_len(m: usize, n: usize) -> usize {
    3 * n * m + packed_len(n) + n * n + n + m
}

/// The moments of one virtual design of n points.
pub(super) struct Design<'a, T> {
    /// Features Φ_v of the design, n × M.
    phi: &'a mut [T],
    /// Product Φ_vΣ with the covariance, n × M.
    spread: &'a mut [T],
    /// Gain B_v of the design, M × n.
    gain: &'a mut [T],
    /// Lower factor L of K_v + κI, packed.
    factor: &'a mut [T],
    /// Φ_v(Σ + hI)Φ_vᵀ + λI, n × n.
    inner: &'a mut [T],
    column: &'a mut [T],
    row: &'a mut [T],
    m: usize,
    n: usize,
}

impl<'a, T: Scalar> Design<'a, T> {
    pub(super) fn split(scratch: &'a mut [T], m: usize, n: usize) -> Self {
        let (phi, rest) = slice::split(scratch, n * m);
        let (spread, rest) = slice::split(rest, n * m);
        let (gain, rest) = slice::split(rest, n * m);
        let (factor, rest) = slice::split(rest, packed_len(n));
        let (inner, rest) = slice::split(rest, n * n);
        let (column, rest) = slice::split(rest, n);
        Design {
            phi,
            spread,
            gain,
            factor,
            inner,
            column,
            row: head_mut(rest, m),
            m,
            n,
        }
    }

    /// Φ_v and B_v = Φ_vᵀ(K_v + κI)⁻¹, or Φ_vᵀP(K_v + κI) where the constant is projected out.
    pub(super) fn gather(
        &mut self,
        public: &Public<'_, T>,
        design: &[u32],
        ridge: T,
    ) -> Result<(), PriorError> {
        let constant = public.config().parameters().constant;
        let m = self.m;
        let n = self.n;
        let (rows, width) = public.prior();
        let prior = |candidate: u32| part(rows, candidate as usize * width, width);
        for (i, (candidate, phi)) in design.iter().zip(self.phi.chunks_exact_mut(m)).enumerate() {
            slice::copy(public.feature_row(m, *candidate), phi);
            for (k, other) in lower::row_mut(self.factor, i).iter_mut().zip(design) {
                *k = dot(prior(*candidate), prior(*other));
            }
            if let Some(diagonal) = lower::row_mut(self.factor, i).last_mut() {
                *diagonal += ridge;
            }
        }
        lower::factor(self.factor, n, T::ZERO)?;
        let total = match constant {
            Constant::Known => T::ONE,
            Constant::Projected => ones_solved(self.factor, self.column),
        };
        for (f, b) in self.gain.chunks_exact_mut(n).enumerate() {
            for (x, phi) in b.iter_mut().zip(self.phi.chunks_exact(m)) {
                *x = slice::at(phi, f);
            }
            match constant {
                Constant::Known => {
                    lower::solve(self.factor, b);
                    lower::solve_transposed(self.factor, b);
                }
                Constant::Projected => project_solve(self.factor, self.column, total, b),
            }
        }
        Ok(())
    }

    /// Φ_v(Σ + hI)Φ_vᵀ + λI.
    pub(super) fn innovation_covariance(&mut self, covariance: &[T], h: T, noise_variance: T) {
        let m = self.m;
        let n = self.n;
        for (phi, spread) in self
            .phi
            .chunks_exact(m)
            .zip(self.spread.chunks_exact_mut(m))
        {
            matvec(covariance, phi, spread);
        }
        for (i, (phi, spread)) in self
            .phi
            .chunks_exact(m)
            .zip(self.spread.chunks_exact(m))
            .enumerate()
        {
            for (j, other) in self.phi.chunks_exact(m).enumerate().take(i + 1) {
                let mut value = dot(spread, other) + h * dot(phi, other);
                if i == j {
                    value += noise_variance;
                }
                slice::set(self.inner, i * n + j, value);
                slice::set(self.inner, j * n + i, value);
            }
        }
    }

    /// Φ_vΦ_vᵀ + λI: what agents scatter by that have nothing in common.
    pub(super) fn unrelated_covariance(&mut self, noise_variance: T) {
        let m = self.m;
        let n = self.n;
        for (i, phi) in self.phi.chunks_exact(m).enumerate() {
            for (j, other) in self.phi.chunks_exact(m).enumerate().take(i + 1) {
                let value = if i == j {
                    dot(phi, other) + noise_variance
                } else {
                    dot(phi, other)
                };
                slice::set(self.inner, i * n + j, value);
                slice::set(self.inner, j * n + i, value);
            }
        }
    }

    /// Adds A_v = B_vΦ_v and the lower triangle of B_v·inner·B_vᵀ; returns tr A_vA_vᵀ.
    pub(super) fn accumulate(&mut self, response: &mut [T], scatter: &mut [T]) -> T {
        let m = self.m;
        let n = self.n;
        let mut squares = T::ZERO;
        for (i, b) in self.gain.chunks_exact(n).enumerate() {
            self.row.fill(T::ZERO);
            for (x, phi) in b.iter().zip(self.phi.chunks_exact(m)) {
                axpy(*x, phi, self.row);
            }
            squares += sum_of_squares(self.row);
            axpy(T::ONE, self.row, slice::part_mut(response, i * m, m));
            matvec(self.inner, b, self.column);
            let scatter = slice::part_mut(scatter, i * m, i + 1);
            for (sum, other) in scatter.iter_mut().zip(self.gain.chunks_exact(n)) {
                *sum += dot(self.column, other);
            }
        }
        squares
    }
}
