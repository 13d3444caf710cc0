//! The list of hypotheses: kernels, trust, and how much of the function is the newcomer's own.

use super::reading::ln_trust;
use super::rough::add;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::optimizer::Point;

/// Lengthscales of isotropic kernels, in √D.
const ISOTROPIC: [f64; 7] = [0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0];
/// Lengthscales up to this are for one dimension only.
const SHORT: f64 = 0.08;
/// Short and long lengthscale of the patterns by axis, in √D.
const PATTERNS: [(f64, f64); 2] = [(0.15, 0.6), (0.3, 1.2)];
/// More axes have no patterns.
const PATTERN_DIM_MAX: usize = 4;
/// ρ of the hypotheses with τ = 1.
const OWN: [f64; 2] = [0.1, 1.0];

/// exp(Σ scaleᵢ(xᵢ − x'ᵢ)²), a squared exponential kernel of variance 1 with a lengthscale for each
/// axis.
#[derive(Clone, Debug)]
pub(super) struct OwnKernel<T> {
    /// −1/2ℓ² of each axis.
    pub(super) scales: Point<T>,
}

impl<T: Scalar> OwnKernel<T> {
    /// `variance` times the kernel between x and candidates, whose points lie in a row-major list:
    /// as many as `out` holds.
    ///
    /// Small dimensions by name: a device spends much of a search here. Sums in the order of the
    /// axes.
    pub(super) fn covariances(
        &self,
        variance: T,
        x: &[T],
        points: &[T],
        candidates: &[T],
        out: &mut [T],
    ) {
        match (x, &self.scales[..]) {
            ([x], [s]) => each(variance, points, candidates, out, |[p]| {
                (*x - *p) * (*x - *p) * *s
            }),
            ([x0, x1], [s0, s1]) => each(variance, points, candidates, out, |[p0, p1]| {
                let d0 = *x0 - *p0;
                let d1 = *x1 - *p1;
                d0 * d0 * *s0 + d1 * d1 * *s1
            }),
            ([x0, x1, x2], [s0, s1, s2]) => {
                // By value: they are read once, and not again after every number that is written.
                let (x0, x1, x2) = (*x0, *x1, *x2);
                let (s0, s1, s2) = (*s0, *s1, *s2);
                each(variance, points, candidates, out, |[p0, p1, p2]| {
                    let d0 = x0 - *p0;
                    let d1 = x1 - *p1;
                    let d2 = x2 - *p2;
                    d0 * d0 * s0 + d1 * d1 * s1 + d2 * d2 * s2
                })
            }
            (x, scales) => {
                for (candidate, out) in candidates.iter().zip(out) {
                    let point = slice::part(points, candidate.to_u32() as usize * x.len(), x.len());
                    *out = variance * exponent(x, point, scales).exp_nonpositive();
                }
            }
        }
    }

    /// Sums of aᵢk and bᵢk over a row-major list of points, to four digits.
    pub(super) fn sums(&self, x: &[T], points: &[T], weights: &[[T; 3]]) -> (T, T) {
        let base = T::from_f64(core::f64::consts::LOG2_E);
        match (x, &self.scales[..]) {
            ([x0, x1, x2], [s0, s1, s2]) => {
                let (x0, x1, x2) = (*x0, *x1, *x2);
                let (s0, s1, s2) = (*s0 * base, *s1 * base, *s2 * base);
                add(
                    points.as_chunks().0.iter(),
                    weights,
                    |[p0, p1, p2]: &[T; 3], _| {
                        let d0 = x0 - *p0;
                        let d1 = x1 - *p1;
                        let d2 = x2 - *p2;
                        d0 * d0 * s0 + d1 * d1 * s1 + d2 * d2 * s2
                    },
                )
            }
            (x, scales) => add(slice::rows(points, x.len()), weights, |point: &[T], _| {
                base * exponent(x, point, scales)
            }),
        }
    }
}

/// Σ scaleᵢ(xᵢ − pᵢ)².
#[inline]
fn exponent<T: Scalar>(x: &[T], point: &[T], scales: &[T]) -> T {
    let mut sum = T::ZERO;
    for ((x, p), scale) in x.iter().zip(point).zip(scales) {
        let d = *x - *p;
        sum += d * d * *scale;
    }
    sum
}

/// `variance`·exp(exponent) of each candidate's point, of D coordinates.
#[inline(always)]
fn each<T: Scalar, const D: usize>(
    variance: T,
    points: &[T],
    candidates: &[T],
    out: &mut [T],
    exponent: impl Fn(&[T; D]) -> T,
) {
    let (points, _) = points.as_chunks::<D>();
    for (candidate, out) in candidates.iter().zip(out) {
        if let Some(point) = points.get(candidate.to_u32() as usize) {
            *out = variance * exponent(point).exp_nonpositive();
        }
    }
}

/// One hypothesis.
#[derive(Clone, Debug)]
pub(super) struct Hypothesis<T> {
    /// Number of its kernel, which it shares with its neighbours in the list.
    pub(super) family: usize,
    pub(super) kernel: OwnKernel<T>,
    /// The part of the prior that is the kernel's.
    ln_lengths: T,
    /// τ: the file's mean and covariance count.
    pub(super) trusts: bool,
    /// ρ, the variance of the newcomer's own kernel.
    pub(super) own: T,
    pub(super) ln_prior: T,
}

/// The list for a number of axes, with a file or without.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hypotheses<T> {
    dim: usize,
    /// ln(1 − p) and ln(p/2); nothing where no file is read.
    trust: Option<(T, T)>,
}

impl<T: Scalar> Hypotheses<T> {
    /// `self_test` of the file that is read, nothing where none is.
    pub(super) fn new(dim: usize, self_test: Option<T>) -> Self {
        Hypotheses {
            dim,
            trust: self_test.map(ln_trust),
        }
    }

    /// Isotropic kernels.
    fn isotropic(&self) -> impl Iterator<Item = T> {
        let dim = self.dim;
        let root = T::from_u32(self.dim as u32).sqrt();
        let scaled = ISOTROPIC
            .into_iter()
            .map(move |fraction| T::from_f64(fraction) * root);
        scaled.filter(move |lengthscale| dim == 1 || *lengthscale > T::from_f64(SHORT))
    }

    /// Patterns of each pair: neither all axes short nor all long.
    fn patterns(&self) -> usize {
        if self.dim > 1 && self.dim <= PATTERN_DIM_MAX {
            (1 << self.dim) - 2
        } else {
            0
        }
    }

    /// Hypotheses of one kernel.
    fn per_kernel(&self) -> usize {
        if self.trust.is_some() {
            1 + OWN.len()
        } else {
            1
        }
    }

    /// How many there are: at most 34·3 = 102, at D = 4.
    pub(super) fn count(&self) -> usize {
        (self.isotropic().count() + PATTERNS.len() * self.patterns()) * self.per_kernel()
    }

    /// Number `index`: kernel by kernel, τ = 0 first.
    pub(super) fn get(&self, index: usize) -> Hypothesis<T> {
        let family = index / self.per_kernel().max(1);
        let (kernel, ln_lengths) = self.kernel(family);
        let mut hypothesis = Hypothesis {
            family,
            kernel,
            ln_lengths,
            trusts: false,
            own: T::ONE,
            ln_prior: ln_lengths,
        };
        self.turn_to(&mut hypothesis, index);
        hypothesis
    }

    /// Makes number `index` of one before it: what its kernel takes to compute, logarithms and a
    /// square root, is computed only where the kernel is another one.
    pub(super) fn turn_to(&self, hypothesis: &mut Hypothesis<T>, index: usize) {
        let per_kernel = self.per_kernel().max(1);
        if hypothesis.family != index / per_kernel {
            *hypothesis = self.get(index);
            return;
        }
        let (trusts, own, ln_trust) = match (index % per_kernel, self.trust) {
            (0, None) => (false, 1.0, T::ZERO),
            (0, Some((not, _))) => (false, 1.0, not),
            (which, trust) => (
                true,
                OWN.get(which - 1).copied().unwrap_or(1.0),
                trust.map_or(T::ZERO, |(_, each)| each),
            ),
        };
        hypothesis.trusts = trusts;
        hypothesis.own = T::from_f64(own);
        hypothesis.ln_prior = hypothesis.ln_lengths + ln_trust;
    }

    /// τ of number `index`.
    pub(super) fn trusts(&self, index: usize) -> bool {
        !index.is_multiple_of(self.per_kernel().max(1))
    }

    /// Kernel `index` and the logarithm of its prior.
    fn kernel(&self, index: usize) -> (OwnKernel<T>, T) {
        let isotropic = self.isotropic().count();
        let (short, long, mask) = match self.isotropic().nth(index) {
            Some(lengthscale) => (lengthscale, lengthscale, 0),
            None => {
                let pair = (index - isotropic) / self.patterns().max(1);
                let pattern = (index - isotropic) % self.patterns().max(1);
                let (short, long) = PATTERNS.get(pair).copied().unwrap_or((1.0, 1.0));
                let root = T::from_u32(self.dim as u32).sqrt();
                (
                    T::from_f64(short) * root,
                    T::from_f64(long) * root,
                    pattern + 1,
                )
            }
        };
        let is_long = |axis: usize| mask >> axis & 1 == 1;
        let scale = |lengthscale: T| T::from_f64(-0.5) / (lengthscale * lengthscale);
        let of_short = scale(short);
        let of_long = scale(long);
        let scales = (0..self.dim).map(|axis| if is_long(axis) { of_long } else { of_short });
        let kernel = OwnKernel {
            scales: crate::domain::collected(scales),
        };
        let longs = T::from_u32((0..self.dim).filter(|axis| is_long(*axis)).count() as u32);
        let dim = T::from_u32(self.dim as u32);
        let penalty = |lengthscale| squared_deviation(lengthscale, dim);
        let mean = if mask == 0 {
            penalty(short)
        } else {
            (longs * penalty(long) + (dim - longs) * penalty(short)) / dim
        };
        (kernel, T::from_f64(-0.5) * mean)
    }
}

/// ((ln ℓ − √2 − ½ ln D)/√3)².
fn squared_deviation<T: Scalar>(lengthscale: T, dim: T) -> T {
    let location = T::from_f64(core::f64::consts::SQRT_2) + T::from_f64(0.5) * dim.ln();
    let distance = lengthscale.ln() - location;
    distance * distance / T::from_f64(3.0)
}
