//! δ of a sum of losses from the Fourier coefficients of its tilted masses: an inversion that errs
//! upwards.
//!
//! **Equation**: p̃ the tilted masses of one release, φ(ω) = Σ p̃_j e^(−iωj), Φ = Π φ^T over the
//! kinds of rounds, K = Σ T·ln M(λ). With a = λh, w(d) = e^(−ad)(1 − e^(−hd)) and any period n,
//! ω_k = 2πk/n,
//!
//! δ(eh)·e^(λeh − K) = Σ_{d≥1} P̃(e + d)·w(d) ≤ Σ_{d≥1} Σ_m P̃(e + d + mn)·w(d) = (1/n)·Σ_k
//! Φ(ω_k)·e^(iω_k e)·ψ(ω_k),
//!
//! ψ(ω) = Σ_{d≥1} w(d)·e^(iωd) = r(1 − e^(−h))/((1 − r)(1 − re^(−h))), r = e^(−a + iω). The
//! inequality holds for *every* n, because all terms are non-negative and m = 0 gives the left
//! side: a window too small costs accuracy, never the guarantee.
//!
//! | way | when | Φ at | cost |
//! |---|---|---|---|
//! | few frequencies | the rest is provably negligible (many rounds) | k ≤ m, directly | cells·m |
//! | transform | otherwise | all k, [`super::fourier`] | n log n |
//!
//! # Rounding, a bound (u = 2⁻⁵³)
//! *Masses*: those used are the exact ones times 1 + ρ, |ρ| ≤ [`Pmf::rounding`]; all being
//! non-negative, δ changes by at most (1 + ρ)^T: a factor, taken by the reader
//! ([`Spectrum::factor`]). *Coefficients*: |φ̂_k − φ_k| ≤ e. Directly: an angle 2πj/n has two
//! roundings (j·1/n in integers reduced below n, then a division and a product) of at most 2π, sine
//! and cosine one unit each: below 15u; a power z^k by products of error √5u each (Brent, Percival,
//! Zimmermann 2007) has error below k(15 + √5)u ≤ 18ku; the sum of N terms adds Nu and the product
//! with p̃ u, all times Σp̃. By the transform: its bound in the 2-norm, √n·‖p̃‖₂·[`Plan::error`],
//! which bounds each entry too. *Powers*: |φ̂^T − φ^T| ≤ T·e·(|φ̂| + e)^(T−1), and T products add
//! T√5u relative. *Sum*: phases as angles above, powers of one as above, at most 18mu (read from a
//! table of one entry: 0); ψ from 1 − r = −expm1(−a) + e^(−a)(2 sin²(ω/2) − i sin ω) without
//! cancellation, below 40u; m additions, (m + 1)u. Together, with M = Π(|φ̂| + e)^T,
//!
//! |error| ≤ (1/n)·Σ_k |ψ_k|·M_k·(Σ T(e + 3u)/(|φ̂| + e) + (60 + 19m)u),
//!
//! the sum over T·e/(|φ̂| + e) by Cauchy and Schwarz where e is a 2-norm; the inverse transform
//! adds its own bound.
//!
//! *ψ in pairs of numbers* (v = 2⁻¹⁰⁰), since 40u of ψ alone would be more than a δ of 10⁻¹²:
//! w(d) = ρᵈ − σᵈ with one number ρ not below e^(−a) and one σ not above e^(−a−h), so that no w(d)
//! falls below the exact one (and by a part of about d·u/h above it at most): then ψ = x/(1 − x) −
//! y/(1 − y) = (x − y)/((1 − x)(1 − y)), x = ρe^(iω), y = σe^(iω), with ρ − σ, 1 − ρ, 1 − σ taken
//! in pairs. The root e^(iω) is off by t ([`Plan::root_error`]) and rounding, and so are x and y,
//! by at most t + 3v: 1 − x by t + 5v absolute, hence by (t + 5v)/|1 − x| relative, 1 − y alike,
//! the numerator (ρ − σ)e^(iω) by t + 4v relative; three products and a reciprocal add 16v.
//! Together (t + 5v)(1 + 1/|1 − x| + 1/|1 − y|) + 16v, with the moduli as computed, a part of 10⁻⁹
//! off at most.
//!
//! *Frequencies left out* (|ω| in [ω₁, ω₂]), two bounds of |φ|, the smaller to the power T:
//! summation by parts,
//! |φ| ≤ Σ|p̃_{j+1} − p̃_j|/(2 sin(ω₁/2)); and for an interval I of at most π/ω₂ steps, because
//! 1 − |φ|² = ΣΣ p̃_i p̃_j (1 − cos ω(i − j)) and 1 − cos x ≥ 2x²/π² on [−π, π]: |φ|² ≤ 1 −
//! (4ω₁²/π²)·P(I)²·Var(·|I).
//!
//! **Source**: the bounds above are derived here; Fourier accounting: Koskela, Jälkö, Honkela 2020.

#![cfg(feature = "alloc")]

use alloc::vec;
use alloc::vec::Vec;
use core::f64::consts::PI;

use crate::math::{self, Scalar};

use super::double::{Double, Real};
use super::fourier::{Complex, Plan};
use super::masses::{Pmf, UNIT_ROUNDOFF};

/// Losses of one kind of round, tilted and normalised, and how often it comes.
pub(super) struct Tilted {
    cells: Vec<(i64, f64)>,
    count: u32,
    /// ln M of one release, as used.
    pub(super) shift: f64,
    /// Relative error of the masses.
    rounding: f64,
}

impl Tilted {
    pub(super) fn new(pmf: &Pmf, count: u32, step: f64, tilt: f64, shift: f64) -> Self {
        let mut cells = Vec::with_capacity(pmf.cells.len());
        pmf.tilted(step, tilt, shift, |index, p| {
            // Dropping a mass would lower δ; a subnormal one is kept as it is.
            if p > 0.0 {
                cells.push((index, p));
            }
        });
        Tilted {
            cells,
            count,
            shift,
            rounding: pmf.rounding(step, tilt, shift),
        }
    }

    fn sum(&self) -> f64 {
        self.cells.iter().fold(0.0, |sum, cell| sum + cell.1)
    }
}

/// Coefficients of δ on the grid, of period n.
pub(super) struct Spectrum {
    n: usize,
    way: Way,
    /// Bound on the absolute error of [`Spectrum::at`]: rounding, and frequencies left out.
    pub(super) allowance: f64,
    /// By how much masses that were rounded down may have lowered δ.
    pub(super) factor: f64,
}

enum Way {
    /// Φ_k·ψ_k, k ≤ m.
    Few(Vec<Complex>),
    /// All values over one period.
    All(Vec<f64>),
}

/// ψ at one frequency.
struct Weights {
    a: f64,
    step: f64,
    /// w(d) = e^(−ad) alone: P(L > ε).
    tail_only: bool,
}

impl Weights {
    /// 1 − e^(−x + iω).
    fn gap(x: f64, omega: f64) -> Complex {
        let shrink = Scalar::exp(-x);
        let half = Scalar::sin(0.5 * omega);
        Complex::new(
            -math::exp_m1(-x) + shrink * 2.0 * half * half,
            -shrink * Scalar::sin(omega),
        )
    }

    fn at(&self, omega: f64) -> Complex {
        let mut shrink = Scalar::exp(-self.a);
        let mut below = Self::gap(self.a, omega);
        if !self.tail_only {
            shrink *= -math::exp_m1(-self.step);
            below = below.times(Self::gap(self.a + self.step, omega));
        }
        let norm = below.re * below.re + below.im * below.im;
        let up = Complex::new(shrink * Scalar::cos(omega), shrink * Scalar::sin(omega));
        up.times(Complex::new(below.re / norm, -below.im / norm))
    }

    /// ψ at 2πk/n and a bound on its relative error, with that of one product.
    fn in_format<F: Real>(&self, plan: &Plan<F>, k: usize) -> (Complex<F>, f64) {
        if F::UNIT >= UNIT_ROUNDOFF {
            return (
                Complex::from_f64(self.at(angle(k, plan.len()))),
                50.0 * UNIT_ROUNDOFF,
            );
        }
        // ρ is rounded up and σ down. If ρ is no longer below 1, the bound is infinite or no
        // number, and nothing is read.
        let rho = F::from_f64(Scalar::exp(-self.a) * (1.0 + 4.0 * f64::EPSILON));
        let sigma = if self.tail_only {
            0.0
        } else {
            Scalar::exp(-(self.a + self.step)) * (1.0 - 4.0 * f64::EPSILON)
        };
        let sigma = F::from_f64(sigma);
        let root = plan.root(k);
        let gap = |x: F| Complex::one().sub(Complex::new(x * root.re, x * root.im));
        let first = gap(rho);
        let second = gap(sigma);
        let up = Complex::new((rho - sigma) * root.re, (rho - sigma) * root.im);
        let off =
            (plan.root_error() + 5.0 * F::UNIT) * (1.0 + 1.0 / first.norm() + 1.0 / second.norm());
        (
            up.times(first.times(second).inverse()),
            off * (1.0 + 1e-9) + 20.0 * F::UNIT,
        )
    }
}

impl Spectrum {
    /// Coefficients of period `n` (more, if a transform is needed); `enough` an error that does no
    /// harm, nothing if only pairs of numbers will do.
    pub(super) fn new(
        kinds: &[Tilted],
        n: usize,
        step: f64,
        tilt: f64,
        tail_only: bool,
        enough: Option<f64>,
    ) -> Self {
        let weights = Weights {
            a: tilt * step,
            step,
            tail_only,
        };
        let cells: usize = kinds.iter().map(|kind| kind.cells.len()).sum();
        let mut factor = 1e-12;
        for kind in kinds {
            factor += f64::from(kind.count) * kind.rounding;
        }
        let factor = Scalar::exp(factor);
        let transform = n.next_power_of_two() as f64 * f64::from(n.ilog2() + 8);
        let affordable = (transform / (1.0 + cells as f64)) as usize;
        let Some(enough) = enough else {
            return Self::all::<Double>(kinds, n, &weights, factor);
        };
        match Self::cut(kinds, n, &weights, enough, affordable.min(n / 2)) {
            Some((m, left_out)) => Self::few(kinds, n, m, left_out, &weights, factor),
            None => Self::all::<f64>(kinds, n, &weights, factor),
        }
    }

    /// The smallest m whose neglected frequencies sum to less than `enough`, and a bound on that
    /// sum.
    fn cut(
        kinds: &[Tilted],
        n: usize,
        weights: &Weights,
        enough: f64,
        most: usize,
    ) -> Option<(usize, f64)> {
        let bounds: Vec<Decay> = kinds.iter().map(Decay::new).collect();
        let mut high = n / 2;
        let mut sum = 0.0;
        let mut best = None;
        while high > 1 {
            let low = (high * 4 / 5).min(high - 1);
            // Frequencies low + 1 ..= high, both signs.
            let omega = 2.0 * PI * (low + 1) as f64 / n as f64 * (1.0 - 1e-15);
            let ln: f64 = bounds
                .iter()
                .map(|b| b.ln(omega, 2.0 * PI * high as f64 / n as f64 * (1.0 + 1e-15)))
                .sum();
            let psi = weights.at(omega);
            sum +=
                2.0 * (high - low) as f64 / n as f64 * psi.norm() * Scalar::exp(ln) * (1.0 + 1e-12);
            if !(sum <= enough) {
                break;
            }
            best = Some((low, sum));
            high = low;
        }
        best.filter(|(m, _)| *m <= most)
    }

    fn few(
        kinds: &[Tilted],
        n: usize,
        m: usize,
        left_out: f64,
        weights: &Weights,
        factor: f64,
    ) -> Self {
        let mut product = vec![(Complex::new(1.0, 0.0), 1.0, 0.0); m + 1];
        for kind in kinds {
            let mut phi = vec![Complex::default(); m + 1];
            for &(index, p) in &kind.cells {
                let turn = angle(index.rem_euclid(n as i64) as usize, n);
                let root = Complex::new(Scalar::cos(turn), -Scalar::sin(turn));
                let mut z = Complex::new(p, 0.0);
                for slot in phi.iter_mut() {
                    *slot = slot.add(z);
                    z = z.times(root);
                }
            }
            let sum = kind.sum();
            let terms = kind.cells.len() as f64;
            for (k, (phi, (product, size, error))) in phi.iter().zip(&mut product).enumerate() {
                let e = (18.0 * k as f64 + terms + 2.0) * UNIT_ROUNDOFF * sum * (1.0 + 1e-9);
                let most = phi.norm() + e;
                *product = product.times(phi.power(kind.count));
                *size *= power(most, kind.count);
                *error += f64::from(kind.count) * (e + 3.0 * UNIT_ROUNDOFF) / most;
            }
        }
        let mut allowance = 0.0;
        let values = product
            .iter()
            .enumerate()
            .map(|(k, (product, size, error))| {
                let psi = weights.at(angle(k, n));
                let twice = if k == 0 { 1.0 } else { 2.0 };
                allowance +=
                    twice * psi.norm() * size * (error + (60.0 + 19.0 * m as f64) * UNIT_ROUNDOFF);
                let value = product.times(psi);
                Complex::new(twice * value.re, twice * value.im)
            });
        let values: Vec<Complex> = values.collect();
        let allowance = allowance / n as f64 * (1.0 + 1e-9) + left_out;
        Spectrum {
            n,
            way: Way::Few(values),
            allowance,
            factor,
        }
    }

    fn all<F: Real>(kinds: &[Tilted], n: usize, weights: &Weights, mut factor: f64) -> Self {
        let mut plan = Plan::<F>::new(n);
        let n = plan.len();
        let count = n / 2 + 1;
        let mut product = vec![(Complex::<F>::one(), 1.0); count];
        let mut buffer = vec![0.0; n];
        // Of each kind: T·‖e‖₂ and 1/(|φ̂_k| + e), for Cauchy and Schwarz.
        let mut errors: Vec<(f64, Vec<f64>)> = Vec::new();
        for kind in kinds {
            buffer.fill(0.0);
            for &(index, p) in &kind.cells {
                buffer[index.rem_euclid(n as i64) as usize] += p;
            }
            // Additions into one place, of non-negative masses: a relative error like that of the
            // masses.
            let span = kind.cells.last().map_or(0, |last| last.0 - kind.cells[0].0) as f64;
            factor *= Scalar::exp(f64::from(kind.count) * (span / n as f64 + 1.0) * UNIT_ROUNDOFF);
            let squares: f64 = buffer.iter().map(|p| p * p).sum();
            let e = Scalar::sqrt(n as f64 * squares) * plan.error() * (1.0 + 1e-9);
            let phi = plan.forward(&buffer);
            let mut inverse = Vec::with_capacity(count);
            for (phi, (product, size)) in phi.iter().zip(&mut product) {
                let most = phi.norm() + e;
                *product = product.times(phi.power(kind.count));
                *size *= power(most, kind.count);
                inverse.push(1.0 / most);
            }
            errors.push((f64::from(kind.count) * e, inverse));
        }
        let mut relative = 0.0;
        kinds
            .iter()
            .for_each(|kind| relative += 3.0 * F::UNIT * f64::from(kind.count));
        let mut plain = 0.0;
        let mut squares = 0.0;
        let mut sums = vec![0.0; kinds.len()];
        let mut values = Vec::with_capacity(count);
        for (k, (product, size)) in product.iter().enumerate() {
            let (psi, off) = weights.in_format(&plan, k);
            let value = product.times(psi);
            let size_of = value.norm();
            let twice = if k == 0 || 2 * k == n { 1.0 } else { 2.0 };
            let weight = psi.norm() * size;
            plain += twice * weight * (relative + off);
            squares += twice * size_of * size_of;
            for (sum, (_, inverse)) in sums.iter_mut().zip(&errors) {
                let x = weight * inverse[k];
                *sum += twice * x * x;
            }
            values.push(value);
        }
        let n_f = n as f64;
        // The last rounding of each value to one number is its own.
        let mut allowance = plain / n_f + plan.error() * Scalar::sqrt(squares / n_f);
        for (sum, (error, _)) in sums.iter().zip(&errors) {
            allowance += error * Scalar::sqrt(*sum) / n_f;
        }
        let values = plan.inverse(&values);
        Spectrum {
            n,
            way: Way::All(values),
            allowance: allowance * (1.0 + 1e-9),
            factor,
        }
    }

    /// Cells of one period.
    pub(super) fn period(&self) -> usize {
        self.n
    }

    /// δ(eh)·e^(λeh − K), to within [`Spectrum::allowance`].
    pub(super) fn at(&self, e: i64) -> f64 {
        let start = e.rem_euclid(self.n as i64) as usize;
        match &self.way {
            Way::All(values) => values[start],
            Way::Few(values) => {
                let turn = angle(start, self.n);
                let root = Complex::new(Scalar::cos(turn), Scalar::sin(turn));
                let mut sum = 0.0;
                let mut z = Complex::new(1.0, 0.0);
                for value in values {
                    sum += value.re * z.re - value.im * z.im;
                    z = z.times(root);
                }
                sum / self.n as f64
            }
        }
    }
}

/// Angle 2πj/n of a root of unity, radians.
fn angle(j: usize, n: usize) -> f64 {
    2.0 * PI * (j as f64 / n as f64)
}

/// xᵏ for x ≥ 0, rounded up.
fn power(x: f64, k: u32) -> f64 {
    let out = Complex::new(x, 0.0).power(k).re;
    out * (1.0 + 4.0 * UNIT_ROUNDOFF * f64::from(k))
}

/// Bounds on |φ| over bands of frequencies.
struct Decay {
    count: f64,
    /// ln Σp̃, zero up to rounding.
    mass: f64,
    variation: f64,
    /// Index from the first, and sums of p, p·j, p·j² before it.
    sums: Vec<(f64, [f64; 3])>,
    mean: f64,
}

impl Decay {
    fn new(kind: &Tilted) -> Self {
        let first = kind.cells.first().map_or(0, |cell| cell.0);
        let mut sums = Vec::with_capacity(kind.cells.len() + 1);
        let mut total = [0.0f64; 3];
        let mut variation = 0.0;
        let mut before: Option<(i64, f64)> = None;
        for &(index, p) in &kind.cells {
            let j = (index - first) as f64;
            sums.push((j, total));
            total = [total[0] + p, total[1] + p * j, total[2] + p * j * j];
            variation += match before {
                Some((at, mass)) if at + 1 == index => (p - mass).abs(),
                Some((_, mass)) => p + mass,
                None => p,
            };
            before = Some((index, p));
        }
        variation += before.map_or(0.0, |cell| cell.1);
        sums.push((f64::INFINITY, total));
        let sum = kind.sum();
        Decay {
            count: f64::from(kind.count),
            mass: Scalar::ln(sum).abs() + 1e-15 * kind.cells.len() as f64,
            // Relative to Σp̃, which is 1 up to rounding; sums of N terms.
            variation: variation / sum * (1.0 + 1e-9),
            mean: total[1] / sum,
            sums,
        }
    }

    /// T·ln of a bound on |φ| for frequencies in [low, high].
    fn ln(&self, low: f64, high: f64) -> f64 {
        let parts = Scalar::ln(self.variation / (2.0 * Scalar::sin(0.5 * low)));
        let width = PI / high * (1.0 - 1e-15);
        let spread = Scalar::max(
            self.spread(0.0, width),
            self.spread(self.mean - 0.5 * width, width),
        );
        let squared = 4.0 * low * low / (PI * PI) * spread * (1.0 - 1e-9);
        let bunched = if squared < 1.0 {
            0.5 * math::ln_1p(-squared)
        } else {
            f64::NEG_INFINITY
        };
        self.count * (Scalar::min(Scalar::min(parts, bunched), 0.0) + self.mass)
    }

    /// P(I)²·Var(·|I) for the cells of [start, start + width], rounded down.
    fn spread(&self, start: f64, width: f64) -> f64 {
        let from = self.sums.partition_point(|entry| entry.0 < start);
        let to = self.sums.partition_point(|entry| entry.0 <= start + width);
        let (Some((_, a)), Some((_, b))) = (self.sums.get(from), self.sums.get(to)) else {
            return 0.0;
        };
        let [p, first, second] = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
        // P·Σpj² − (Σpj)² loses at most what rounding made of sums of N terms.
        let loss = 8.0 * (self.sums.len() + 4) as f64 * UNIT_ROUNDOFF * (b[0] * b[2] + b[1] * b[1]);
        Scalar::max(p * second - first * first - loss, 0.0)
    }
}
