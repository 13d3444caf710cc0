//! Which candidates cannot be the best: a number that their expected improvement is not above, for
//! a fraction of what they take.
//!
//! With α = L⁻ᵀ(a_y − Aa_m − βa₁), e = L⁻ᵀa₁/(a₁·a₁), rr = |a_y − Aa_m − βa₁|², and q = ρk + τs of
//! a candidate, its mean is β + Aτm + α·q, and its variance at most
//!
//! A²(ρ + τφᵀΣφ + 1/(a₁·a₁) − 2e·q − (α·q)²/rr),
//!
//! because a₁ and the residual are orthogonal and |L⁻¹q|² ≥ (a₁·L⁻¹q)²/(a₁·a₁) + (α·q)²/rr. The
//! file's part of α·q is γ·k(P, x) with γ = Σ αᵢgᵢ: two products of M numbers in place of n, and no
//! solve.
//!
//! **Numerics**: both ways to the same moments round. The margins are those of triangular solves
//! (backward error, ‖L⁻¹‖² ≤ 4/3ν while the trace of K rounds to less than ν) and of sums of
//! products (Higham 2002, theorems 8.5 and 10.3, and equation 3.5), with [`Scalar::EPSILON`] for
//! the unit roundoff, twice what it is. Where K rounds to more, no candidate is passed over.

use super::consulted::Consulted;
use super::evidence::{Fitted, Moments, Rows};
use super::hypothesis::Hypothesis;
use super::rough::ROUGHNESS;
use super::storage::FitParts;
use crate::acquisition::log_expected_improvement;
use crate::linalg::slice::{self, at, head, head_mut, set};
use crate::linalg::{dot, lower, sum_of_squares};
use crate::math::Scalar;

/// What a bound of a gain is above it for the logarithms of both, relative to 1 + its magnitude.
const LOGARITHMS: f64 = 1e-5;

/// A hypothesis' numbers, beside α, e, γ and δ = Σ eᵢgᵢ, which stand in the spare storage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen<T> {
    landmarks: usize,
    /// 1/(a₁·a₁), the variance of β at A = 1.
    level_variance: T,
    /// 1/rr; 0 where rr is.
    explained: T,
    /// Margin of the mean: of a candidate of variance Q, `mean.0 + mean.1`·Q.
    mean: (T, T),
    /// Margin of the variance in units of A².
    variance: (T, T),
}

/// The spare storage: α and e of each observation, the observations' points, and γ, δ and what
/// [`Consulted::squares`] says of each landmark. Side by side, so that few addresses move along.
struct Spare<'a, T> {
    own: &'a mut [[T; 3]],
    points: &'a mut [T],
    file: &'a mut [[T; 3]],
}

impl<'a, T> Spare<'a, T> {
    fn of(spare: &'a mut [T], (n, dim): (usize, usize), landmarks: usize) -> Self {
        let (own, rest) = slice::split(spare, 3 * n);
        let (points, rest) = slice::split(rest, n * dim);
        let (own, _) = own.as_chunks_mut();
        let (file, _) = head_mut(rest, 3 * landmarks).as_chunks_mut();
        Spare { own, points, file }
    }
}

/// A [`Screen`] whose γ and δ have the links of the first observations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun<T> {
    landmarks: usize,
    /// Links that γ and δ have.
    next: usize,
    /// Σ|αᵢ||gᵢⱼ| and Σ|eᵢ||gᵢⱼ| of these.
    magnitudes: [T; 2],
    /// ‖V̂ − V‖ is at most `solve`·‖V‖.
    solve: T,
    /// The largest diagonal entry of K.
    largest: T,
    /// What [`Consulted::squares`] says.
    cancelled: T,
}

/// Links that one evaluation adds: with four of them it takes no longer than a candidate.
const LINKS: usize = 4;

impl<T: Scalar> Begun<T> {
    /// α and e of the hypothesis whose numbers are in `parts`, if the spare storage has room and
    /// rounding allows.
    ///
    /// **Cost**: n² multiply-adds.
    #[inline(never)]
    pub(super) fn new(
        fitted: &Fitted<T>,
        hypothesis: &Hypothesis<T>,
        rows: &Rows<'_, T>,
        file: &Consulted<'_, T>,
        parts: &mut FitParts<'_, T>,
    ) -> Option<Self> {
        let n = rows.len();
        let landmarks = if hypothesis.trusts {
            file.links.len() / n.max(1)
        } else {
            0
        };
        if parts.spare.len() < (3 + rows.dim) * n + 3 * landmarks {
            return None;
        }
        let (trace, largest) = diagonal(hypothesis, rows);
        let two = T::ONE + T::ONE;
        let unit = T::EPSILON * T::from_u32(n as u32 + 4);
        if !(two * unit * trace <= rows.noise) {
            return None;
        }
        let spare = Spare::of(parts.spare, (n, rows.dim), landmarks);
        for i in 0..n {
            let place = slice::part_mut(spare.points, i * rows.dim, rows.dim);
            slice::copy(rows.point(i), place);
        }
        let ones = head(parts.ones, n);
        let residual = head(parts.residual, n);
        for (which, direction) in [residual, ones].into_iter().enumerate() {
            let solved = head_mut(parts.scratch, n);
            let divisor = if which == 0 { T::ONE } else { fitted.precision };
            let scaled = |(to, from): (&mut T, &T)| *to = *from / divisor;
            solved.iter_mut().zip(direction).for_each(scaled);
            lower::solve_transposed(parts.factor, solved);
            for (own, solved) in spare.own.iter_mut().zip(&*solved) {
                set(own, which, *solved);
            }
        }
        let cancelled = file.squares(spare.file);
        // An exponent that rounds to more than 0 is ¼ at most, of which 2ᵗ − 1 is below t.
        if !(T::from_f64(64.0) * T::EPSILON * cancelled <= T::ONE) {
            return None;
        }
        Some(Begun {
            landmarks,
            next: 0,
            magnitudes: [T::ZERO; 2],
            solve: two * unit * (trace / rows.noise).sqrt(),
            largest,
            cancelled,
        })
    }

    /// Adds the links of the next observations to γ and δ; whether any is left.
    ///
    /// **Cost**: 12M multiply-adds.
    pub(super) fn add(
        &mut self,
        rows: &Rows<'_, T>,
        file: &Consulted<'_, T>,
        parts: &mut FitParts<'_, T>,
    ) -> bool {
        let n = rows.len();
        if self.landmarks == 0 {
            return false;
        }
        let spare = Spare::of(parts.spare, (n, rows.dim), self.landmarks);
        let links = slice::rows(file.links, self.landmarks).zip(&*spare.own);
        for (link, [alpha, e, _]) in links.skip(self.next).take(LINKS) {
            let mut sum = T::ZERO;
            for (g, [gamma, delta, _]) in link.iter().zip(&mut *spare.file) {
                *gamma += *alpha * *g;
                *delta += *e * *g;
                sum += g.abs();
            }
            self.magnitudes[0] += alpha.abs() * sum;
            self.magnitudes[1] += e.abs() * sum;
        }
        self.next += LINKS;
        self.next < n
    }

    /// The margins, once γ and δ have all links.
    #[inline(never)]
    pub(super) fn end(
        &self,
        fitted: &Fitted<T>,
        hypothesis: &Hypothesis<T>,
        rows: &Rows<'_, T>,
        parts: &mut FitParts<'_, T>,
    ) -> Option<Screen<T>> {
        let n = rows.len();
        let Begun {
            landmarks,
            solve,
            largest,
            ..
        } = *self;
        let spare = Spare::of(parts.spare, (n, rows.dim), landmarks);
        let ones = head(parts.ones, n);
        let residual = head(parts.residual, n);
        let squares = sum_of_squares(residual);
        let precision = fitted.precision;
        let half = T::from_f64(0.5);
        let two = T::ONE + T::ONE;
        let root_n = T::from_u32(n as u32).sqrt();
        let sums = two * T::EPSILON * T::from_u32((n + landmarks) as u32 + 8);
        let roughness = T::from_f64(ROUGHNESS) + T::from_f64(16.0) * T::EPSILON * self.cancelled;
        let mut size_of = [(T::ZERO, T::ZERO); 2];
        for (which, (size_of, magnitude)) in size_of.iter_mut().zip(self.magnitudes).enumerate() {
            let squares = spare.own.iter().map(|own| at(own, which) * at(own, which));
            let norm = squares.fold(T::ZERO, T::add).sqrt();
            let weights = root_n * norm * hypothesis.own;
            // Of k ≤ 1 each.
            let file = spare.file.iter().map(|weights| at(weights, which).abs());
            let rough = file.fold(weights, T::add);
            *size_of = (norm, sums * (weights + magnitude) + roughness * rough);
        }
        let [(alpha, alpha_sum), (e, e_sum)] = size_of;
        // |q| ≤ √(nQ·largest) ≤ ½√n(Q + largest), √Q ≤ ½(1 + Q).
        let q = half * root_n;
        let of_residual = T::from_f64(1.5) * squares.sqrt();
        let mean = (
            solve * (of_residual + q * alpha * largest) + alpha_sum,
            solve * (of_residual + q * alpha),
        );
        let level_variance = T::ONE / precision;
        let root = level_variance.sqrt();
        let eight = T::from_f64(8.0);
        let mut variance = (
            solve * (eight * root + two * q * e * largest)
                + two * e_sum
                + eight * T::EPSILON * (T::ONE + level_variance),
            solve * (eight * (T::ONE + root) + two * q * e) + two * sums,
        );
        let mut explained = T::ZERO;
        if squares > T::ZERO {
            let cosine = dot(residual, ones).abs() / (squares * precision).sqrt() + sums;
            // (V·b − εV·a)² ≥ (V·b)² − 2ε|V|² of unit vectors a and b with a·b = ε.
            variance.1 += two * cosine;
            explained = T::ONE / squares;
        }
        let bounded = [mean.0, mean.1, variance.0, variance.1, explained];
        bounded.into_iter().all(T::is_finite).then_some(Screen {
            landmarks,
            level_variance,
            explained,
            mean,
            variance,
        })
    }
}

impl<T: Scalar> Screen<T> {
    /// Moments of which the expected improvement is at least that of the candidate at x, of which
    /// the file says `said`.
    pub(super) fn moments(
        &self,
        fitted: &Fitted<T>,
        hypothesis: &Hypothesis<T>,
        rows: &Rows<'_, T>,
        file: &Consulted<'_, T>,
        (x, said): (&[T], Moments<T>),
        spare: &mut [T],
    ) -> Moments<T> {
        let sizes = (rows.len(), rows.dim);
        let spare = Spare::of(spare, sizes, self.landmarks);
        let own = hypothesis.own;
        let mut base = fitted.level;
        let mut size = fitted.level.abs();
        let mut prior = own;
        let kernel = &hypothesis.kernel;
        let (along, level) = kernel.sums(x, spare.points, spare.own);
        let mut along = own * along;
        let mut level = own * level;
        if self.landmarks > 0 {
            base += fitted.scale * said.mean;
            size += (fitted.scale * said.mean).abs();
            prior += said.variance;
            let (of_mean, of_level) = file.sums(x, spare.file);
            along += of_mean;
            level += of_level;
        }
        let margin = self.mean.0 + self.mean.1 * prior + T::from_f64(8.0) * T::EPSILON * size;
        let explained = (along.abs() - margin).max(T::ZERO);
        let rest =
            prior + self.level_variance - (level + level) - explained * explained * self.explained
                + (self.variance.0 + self.variance.1 * prior);
        Moments {
            mean: base + along + margin,
            variance: fitted.scale * fitted.scale * rest.max(T::from_f64(1e-9)),
        }
    }
}

/// Sum and maximum of the diagonal of K.
fn diagonal<T: Scalar>(hypothesis: &Hypothesis<T>, rows: &Rows<'_, T>) -> (T, T) {
    let mut trace = T::ZERO;
    let mut largest = T::ZERO;
    for i in 0..rows.len() {
        let mut diagonal = hypothesis.own + rows.noise;
        if hypothesis.trusts {
            let shared = lower::row(rows.shared, i).last();
            diagonal += shared.copied().unwrap_or(T::ZERO);
        }
        trace += diagonal;
        largest = largest.max(diagonal);
    }
    (trace, largest)
}

/// A number that the gain of these moments, or of any smaller ones, is not above.
pub(super) fn gain_at_most<T: Scalar>(log_share: T, moments: Moments<T>, incumbent: T) -> T {
    let value = log_expected_improvement::value(moments.mean, moments.variance, incumbent);
    let gain = log_share + value;
    gain + T::from_f64(LOGARITHMS) * (T::ONE + log_share.abs() + value.abs())
}

/// Moments of which none that is smaller in both has the gain of `best`, by more than what
/// [`log_expected_improvement::value`] rounds: those of `best`, and a smaller mean with twice the
/// variance.
///
/// ln σh(u) is concave in the mean, and its slope Φ(u)/(σh(u)) at least 1/(σ(.8 + 2u)) for u > 0,
/// max(1.25, −u)/σ else.
pub(super) fn leaders<T: Scalar>(
    best: Moments<T>,
    value: T,
    incumbent: T,
) -> [Option<Moments<T>>; 2] {
    let two = T::ONE + T::ONE;
    [T::ONE, two].map(|times| {
        let variance = times * best.variance;
        let excess = log_expected_improvement::value(best.mean, variance, incumbent) - value;
        let std = variance.sqrt();
        let u = (best.mean - incumbent) / std;
        let slope = if u > T::ZERO {
            T::ONE / (T::from_f64(0.8) + two * u)
        } else {
            T::from_f64(1.25).max(-u)
        };
        let margin = T::from_f64(1e-4) * (T::ONE + u * u);
        let mean = best.mean - std * (excess.max(T::ZERO) / slope + margin);
        (std > T::ZERO && mean.is_finite()).then_some(Moments { mean, variance })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn what_is_below_a_leader_has_less_gain() {
        let mut stream = Stream::from_seed(4);
        let mut passed = [0; 2];
        for _ in 0..20_000 {
            let mut point = || Moments {
                mean: stream.unit::<f32>() * 6.0 - 4.5,
                variance: stream.unit::<f32>() * 0.5 + 1e-4,
            };
            let (best, other) = (point(), point());
            let value =
                |of: Moments<f32>| log_expected_improvement::value(of.mean, of.variance, 0.25);
            let leaders = leaders(best, value(best), 0.25);
            for (leader, passed) in leaders.into_iter().zip(&mut passed) {
                let leader = leader.unwrap();
                // The leader itself is the tightest case.
                assert!(value(leader) < value(best), "{best:?} {leader:?}");
                if other.mean <= leader.mean && other.variance <= leader.variance {
                    assert!(value(other) < value(best), "{best:?} {other:?}");
                    *passed += 1;
                }
            }
        }
        assert!(passed.iter().all(|passed| *passed > 2_000), "{passed:?}");
    }
}
