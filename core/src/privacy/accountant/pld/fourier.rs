//! The discrete Fourier transform of real sequences whose length is a power of two.
//!
//! Our own for three reasons. A guarantee needs a *proven* bound on rounding, and the one below is
//! derived for these butterflies and these roots; libraries state none. Where `f64` cannot tell a
//! loss from its rounding the transform runs on pairs ([`super::double`]), roots included;
//! libraries that are generic make their roots in `f64`. And rustfft needs `std` and switches on
//! num-traits' `std` in its tree, for nalgebra as well and thus for everything that computes. (That
//! libraries choose vector instructions at run time would be no reason: rustfft's scalar planner
//! does not.)
//!
//! **Method**: Stockham's self-sorting radix 4, then radix 2 where a factor is left; a real
//! sequence of n numbers is one complex sequence of n/2.
//!
//! **Numerics**: a bound on the relative error in the 2-norm, after Higham 2002, Theorem 24.2, u
//! the error of one operation. A root is a product of two from tables, its square and cube products
//! of it, each with √5u of its own (Brent, Percival, Zimmermann 2007): with tables good to t, below
//! 3(2t + √5u) + 2√5u = 6t + 12u. A pass of radix 4 is orthogonal but for a factor, so the errors
//! of passes add: 2u for two layers of additions, roots, and √5u for the products. Splitting the
//! two halves, roots and three additions on both parts: at most √2(2t + 8u) of the norm.
//! [`Plan::error`] is their sum.
//!
//! **Example**: that of [`Plan`].

#![cfg(feature = "alloc")]

use super::double::Real;
use alloc::vec;
use alloc::vec::Vec;

/// A complex number.
///
/// ```
/// use sordino_core::privacy::accountant::pld::fourier::Complex;
///
/// let i = Complex { re: 0.0, im: 1.0 };
/// assert_eq!(i.times(i), Complex { re: -1.0, im: 0.0 });
/// assert_eq!(i.power(4), Complex { re: 1.0, im: 0.0 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex<F = f64> {
    /// Real part of the number.
    pub re: F,
    /// Imaginary part.
    pub im: F,
}

impl<F: Real> Complex<F> {
    pub(super) const fn new(re: F, im: F) -> Self {
        Complex { re, im }
    }
    pub(super) fn one() -> Self {
        Complex::new(F::from_f64(1.0), F::default())
    }
    /// Widens both parts; exact.
    #[inline(always)]
    pub(super) fn from_f64(z: Complex) -> Self {
        Complex::new(F::from_f64(z.re), F::from_f64(z.im))
    }
    /// The nearest parts in f64.
    #[inline(always)]
    pub(super) fn to_f64(self) -> Complex {
        Complex::new(self.re.to_f64(), self.im.to_f64())
    }
    #[inline(always)]
    pub(super) fn add(self, o: Self) -> Self {
        Complex::new(self.re + o.re, self.im + o.im)
    }
    #[inline(always)]
    pub(super) fn sub(self, o: Self) -> Self {
        Complex::new(self.re - o.re, self.im - o.im)
    }
    /// Product of two numbers.
    #[inline(always)]
    pub fn times(self, o: Self) -> Self {
        Complex::new(
            self.re * o.re - self.im * o.im,
            self.re * o.im + self.im * o.re,
        )
    }
    #[inline(always)]
    fn conjugate(self) -> Self {
        Complex::new(self.re, -self.im)
    }
    /// Inverse 1/z for z ≠ 0.
    #[inline(always)]
    pub(super) fn inverse(self) -> Self {
        let scale = (self.re * self.re + self.im * self.im).inverse();
        Complex::new(self.re * scale, -self.im * scale)
    }
    /// Modulus |z| in f64.
    #[inline(always)]
    pub(super) fn norm(self) -> f64 {
        let z = self.to_f64();
        crate::math::Scalar::sqrt(z.re * z.re + z.im * z.im)
    }
    /// selfᵏ by repeated squaring.
    #[inline]
    pub fn power(self, mut k: u32) -> Self {
        let mut base = self;
        let mut out = Self::one();
        while k > 0 {
            if k & 1 == 1 {
                out = out.times(base);
            }
            k >>= 1;
            if k > 0 {
                base = base.times(base);
            }
        }
        out
    }
}

/// A plan for real sequences of one length n = 2^k ≥ 4.
///
/// ```
/// use sordino_core::privacy::accountant::pld::fourier::Plan;
///
/// let mut plan = Plan::<f64>::new(8);
/// let coefficients = plan.forward(&[1.0; 8]); // of a constant: the sum, and nothing else
/// assert_eq!((plan.len(), coefficients.len()), (8, 5));
/// assert!((coefficients[0].re - 8.0).abs() < 1e-14);
/// assert!(coefficients[1..].iter().all(|c| c.re.abs() < 1e-14 && c.im.abs() < 1e-14));
/// ```
pub struct Plan<F = f64> {
    half: usize,
    /// e^(−2πi·j/n), j < n/2.
    roots: Vec<Complex<F>>,
    scratch: Vec<Complex<F>>,
    error: f64,
    root_error: f64,
}

impl<F: Real> Plan<F> {
    /// A plan for the smallest power of two that is at least `len` and at least 4.
    pub fn new(len: usize) -> Self {
        let n = len.next_power_of_two().max(4);
        // Two short tables and one product each: 2√n sines instead of n.
        let bits = n.trailing_zeros();
        let low_bits = (n.trailing_zeros() / 2).max(1);
        let (low, error_low) = F::roots(bits, 1 << low_bits);
        let (high, error_high) = F::roots(bits - low_bits, ((n / 2) >> low_bits).max(1));
        let mask = (1 << low_bits) - 1;
        let root = |[re, im]: [F; 2]| Complex::new(re, im);
        let roots = (0..n / 2)
            .map(|j| root(high[j >> low_bits]).times(root(low[j & mask])))
            .collect();
        let table = if error_low > error_high {
            error_low
        } else {
            error_high
        };
        let passes = f64::from((n / 2).trailing_zeros().div_ceil(2));
        let error = passes * (6.0 * table + 17.0 * F::UNIT) + 3.0 * table + 12.0 * F::UNIT;
        let root_error = (2.0 * table + 3.0 * F::UNIT) * (1.0 + 1e-9);
        Plan {
            half: n / 2,
            roots,
            scratch: vec![Complex::default(); n / 2],
            error: error * (1.0 + 1e-9),
            root_error,
        }
    }

    /// Length n of the transform, a power of two.
    pub fn len(&self) -> usize {
        2 * self.half
    }

    /// Largest relative error of a transform, in the 2-norm.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// e^(2πi·k/n) for k ≤ n/2.
    pub(super) fn root(&self, k: usize) -> Complex<F> {
        let last = Complex::new(F::from_f64(-1.0), F::default());
        self.roots.get(k).map_or(last, |root| root.conjugate())
    }

    /// Bound on the absolute error of [`Plan::root`].
    pub(super) fn root_error(&self) -> f64 {
        self.root_error
    }

    /// Never: a transform has at least one number.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The n/2 + 1 coefficients of a real sequence of n numbers.
    pub fn forward(&mut self, values: &[f64]) -> Vec<Complex<F>> {
        let m = self.half;
        let pair = |pair: &[f64]| Complex::from_f64(Complex::new(pair[0], pair[1]));
        let mut z: Vec<Complex<F>> = values.chunks_exact(2).map(pair).collect();
        z.resize(m, Complex::default());
        self.transform(&mut z);
        let mut out = Vec::with_capacity(m + 1);
        let half = F::from_f64(0.5);
        for k in 0..=m {
            let a = z[k % m];
            let b = z[(m - k) % m].conjugate();
            let even = a.add(b);
            let odd = a.sub(b);
            let root = if k == m {
                Complex::new(F::from_f64(-1.0), F::default())
            } else {
                self.roots[k]
            };
            let turned = root.times(Complex::new(odd.im, -odd.re)); // −i·odd
            out.push(Complex::new(
                half * (even.re + turned.re),
                half * (even.im + turned.im),
            ));
        }
        out
    }

    /// The real sequence with these n/2 + 1 coefficients.
    pub fn inverse(&mut self, coefficients: &[Complex<F>]) -> Vec<f64> {
        let m = self.half;
        let mut z = Vec::with_capacity(m);
        for k in 0..m {
            let a = coefficients[k];
            let b = coefficients[m - k].conjugate();
            let even = a.add(b);
            let odd = a.sub(b).times(self.roots[k].conjugate());
            // Conjugated, so that the forward transform inverts.
            z.push(Complex::new(even.re - odd.im, even.im + odd.re).conjugate());
        }
        self.transform(&mut z);
        let scale = 0.5 / m as f64;
        z.iter()
            .map(|x| x.to_f64())
            .flat_map(|x| [x.re * scale, -x.im * scale])
            .collect()
    }

    /// Σ x_j e^(−2πi·jk/m), in place.
    fn transform(&mut self, x: &mut [Complex<F>]) {
        let m = self.half;
        let mut n = m;
        let mut s = 1;
        let mut in_x = true;
        while n > 1 {
            let (from, to): (&[Complex<F>], &mut [Complex<F>]) = if in_x {
                (&*x, &mut self.scratch[..])
            } else {
                (&self.scratch[..], &mut *x)
            };
            if n.is_multiple_of(4) {
                radix_4(from, to, &self.roots, n, s);
                n /= 4;
                s *= 4;
            } else {
                let (a, b) = from.split_at(s);
                let (p, q) = to.split_at_mut(s);
                for j in 0..s {
                    (p[j], q[j]) = (a[j].add(b[j]), a[j].sub(b[j]));
                }
                n /= 2;
                s *= 2;
            }
            in_x = !in_x;
        }
        if !in_x {
            x.copy_from_slice(&self.scratch);
        }
    }
}

/// One pass: n points in steps of s, four quarters combined. `roots` are those of twice the whole
/// length.
fn radix_4<F: Real>(
    from: &[Complex<F>],
    to: &mut [Complex<F>],
    roots: &[Complex<F>],
    n: usize,
    s: usize,
) {
    let quarter = n / 4;
    for p in 0..quarter {
        let w1 = roots[2 * p * s];
        let w2 = w1.times(w1);
        let w3 = w1.times(w2);
        let part = |i: usize| &from[s * (p + i * quarter)..][..s];
        let a = part(0);
        let b = part(1);
        let c = part(2);
        let d = part(3);
        let out = &mut to[4 * p * s..][..4 * s];
        let (y0, rest) = out.split_at_mut(s);
        let (y1, rest) = rest.split_at_mut(s);
        let (y2, y3) = rest.split_at_mut(s);
        for q in 0..s {
            let sum = a[q].add(c[q]);
            let difference = a[q].sub(c[q]);
            let other = b[q].add(d[q]);
            let across = b[q].sub(d[q]);
            let turned = Complex::new(-across.im, across.re); // i·(b − d)
            y0[q] = sum.add(other);
            y1[q] = w1.times(difference.sub(turned));
            y2[q] = w2.times(sum.sub(other));
            y3[q] = w3.times(difference.add(turned));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::double::Double;
    use super::*;

    #[test]
    fn agrees_with_the_definition_and_inverts() {
        for n in [4usize, 8, 16, 32, 128, 512] {
            let values: Vec<f64> = (0..n)
                .map(|i| ((i * i + 3 * i) % 17) as f64 - 5.0)
                .collect();
            let mut plan = Plan::<f64>::new(n);
            assert_eq!(plan.len(), n);
            let coefficients = plan.forward(&values);
            for (k, c) in coefficients.iter().enumerate() {
                let mut re = 0.0;
                let mut im = 0.0;
                for (j, v) in values.iter().enumerate() {
                    let angle = -2.0 * core::f64::consts::PI * (j * k % n) as f64 / n as f64;
                    re += v * angle.cos();
                    im += v * angle.sin();
                }
                assert!(
                    (re - c.re).abs() < 1e-11 * n as f64 && (im - c.im).abs() < 1e-11 * n as f64,
                    "{n} {k}"
                );
            }
            let back = plan.inverse(&coefficients);
            assert!(values.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn rounding_stays_below_its_bound() {
        for n in [64usize, 1024, 8192] {
            let values: Vec<f64> = (0..n)
                .map(|i| ((i * i + 3 * i) % 1013) as f64 / 1013.0 - 0.3)
                .collect();
            let mut short = Plan::<f64>::new(n);
            let mut long = Plan::<Double>::new(n);
            let a = short.forward(&values);
            let b = long.forward(&values);
            let mut error = 0.0;
            let mut norm = 0.0;
            for (a, b) in a.iter().zip(&b) {
                let b = b.to_f64();
                error += (a.re - b.re).powi(2) + (a.im - b.im).powi(2);
                norm += b.re * b.re + b.im * b.im;
            }
            let relative = (error / norm).sqrt();
            assert!(
                relative <= short.error() && short.error() < 1e-13 && long.error() < 1e-24,
                "{n}: {relative:e}"
            );
            let back = long.inverse(&b);
            assert!(values.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-15));
        }
    }

    #[test]
    fn powers() {
        let z = Complex::new(0.6, 0.8);
        let mut slow = Complex::new(1.0, 0.0);
        let fast = z.power(13);
        (0..13).for_each(|_| slow = slow.times(z));
        assert!((slow.re - fast.re).abs() < 1e-14 && (slow.im - fast.im).abs() < 1e-14);
        assert_eq!(z.power(0), Complex::new(1.0, 0.0));
    }
}
