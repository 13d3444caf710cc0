//! Exact integer samplers: no floating point, so nothing of Mironov's attack applies.
//!
//! | sampler | law | source |
//! |---|---|---|
//! | [`Bits::below`] | uniform on 0..n | masked rejection |
//! | [`Bits::bernoulli`] | numerator/denominator | |
//! | [`Bits::bernoulli_exp`] | e^(−numerator/denominator) | Canonne, Kamath, Steinke 2020, Algorithm 1 |
//! | [`Bits::discrete_laplace`] | ∝ e^(−\|x\|·s/t) on the integers | the same, Algorithm 2 |
//! | [`Bits::normal_floor`] | ⌊2^m·G⌋, G standard normal | Karney 2016, Algorithm N |
//!
//! Every loop is bounded. A bound that can be hit is hit with probability below 2⁻¹⁰⁰ and is the
//! error [`NoiseError::Exhausted`]. Noise is drawn before data is touched, so that neither the time
//! nor a failure depends on data.
//!
//! **Side channel**: none of these takes constant time, and the time is correlated with the
//! magnitude drawn (discrete Laplace: 0.77, normal: 0.13). Draw into a pool, unobserved, ahead of
//! time.
//!
//! ```
//! use sordino_core::privacy::Simulated;
//! use sordino_core::random::{Stream, exact::Bits};
//!
//! let mut source = Simulated::new(Stream::from_seed(1)); // a release takes a `Secret`
//! let mut bits = Bits::new(&mut source);
//! let mut heads = 0;
//! for _ in 0..2_000 {
//!     heads += i32::from(bits.bernoulli(1, 4)?);
//! }
//! assert!((heads - 500).abs() < 97); // five standard deviations √(2000·¼·¾)
//! # Ok::<(), sordino_core::random::NoiseError>(())
//! ```

use super::source::{NoiseError, NoiseSource};

/// Attempts of a rejection loop whose attempts succeed with probability above 0.31 (Laplace noise
/// far narrower than its grid: half of all zeros are drawn again; all others above 0.43): failure
/// below 2⁻¹³⁶.
const ATTEMPTS: u32 = 256;
/// Length of a von Neumann run: exceeded with probability below 1/64! < 2⁻²⁹⁵.
const RUN: u32 = 64;

/// Whole scales at which the discrete Laplace draw stops: the magnitude then is at least
/// `LAPLACE_SCALES_MAX` scales and the draw is *saturated*. A mechanism that clamps its output well
/// inside keeps its law exactly.
pub const LAPLACE_SCALES_MAX: u64 = 1024;

/// A buffer of random bits over a source; what is left over is dropped with it.
pub struct Bits<'a, S: NoiseSource> {
    source: &'a mut S,
    buffer: u64,
    left: u32,
}

impl<'a, S: NoiseSource> Bits<'a, S> {
    /// Starts with an empty buffer; nothing is drawn.
    pub fn new(source: &'a mut S) -> Self {
        Bits {
            source,
            buffer: 0,
            left: 0,
        }
    }

    /// `count` uniform bits as an integer, 1 ≤ count ≤ 64 (0 gives 0, more gives 64).
    #[inline]
    pub fn bits(&mut self, count: u32) -> Result<u64, NoiseError> {
        if count > 32 {
            let high = self.source.word()?;
            return Ok(high >> (64 - count.min(64)));
        }
        if count > self.left {
            self.buffer = self.source.word()?;
            self.left = 64;
        }
        let out = self.buffer & ((1 << count) - 1);
        self.buffer >>= count;
        self.left -= count;
        Ok(out)
    }

    /// A fair coin from one random bit.
    #[inline]
    pub fn coin(&mut self) -> Result<bool, NoiseError> {
        Ok(self.bits(1)? == 1)
    }

    /// Uniform on 0..n; n ≤ 1 gives 0 and draws nothing.
    pub fn below(&mut self, n: u64) -> Result<u64, NoiseError> {
        if n <= 1 {
            return Ok(0);
        }
        let count = 64 - (n - 1).leading_zeros();
        for _ in 0..ATTEMPTS {
            let x = self.bits(count)?;
            if x < n {
                return Ok(x);
            }
        }
        Err(NoiseError::Exhausted)
    }

    /// True with probability numerator/denominator (1 if above, denominator ≥ 1).
    #[inline]
    pub fn bernoulli(&mut self, numerator: u64, denominator: u64) -> Result<bool, NoiseError> {
        Ok(self.below(denominator)? < numerator)
    }

    /// True with probability e^(−numerator/denominator), denominator ≥ 1 (0 is read as 1).
    ///
    /// **Equation**: e^(−γ) for γ ≤ 1 is the probability that the first failure of Bernoulli(γ/1),
    /// Bernoulli(γ/2), … comes at an odd place; above 1, ⌊γ⌋ independent trials of e^(−1) and one
    /// of the rest.
    ///
    /// **Cost**: about 2.5 coins for γ ≤ 1; above, the loop ends at the first failure, after 1.6
    /// trials on average.
    ///
    /// **Source**: Canonne, Kamath, Steinke 2020, Algorithm 1. Bernoulli(γ/k) is drawn as
    /// Bernoulli(γ) ∧ Bernoulli(1/k), which needs no wide product.
    pub fn bernoulli_exp(&mut self, numerator: u64, denominator: u64) -> Result<bool, NoiseError> {
        let denominator = denominator.max(1);
        for _ in 0..numerator / denominator {
            if !self.bernoulli_exp_small(1, 1)? {
                return Ok(false);
            }
        }
        self.bernoulli_exp_small(numerator % denominator, denominator)
    }

    fn bernoulli_exp_small(
        &mut self,
        numerator: u64,
        denominator: u64,
    ) -> Result<bool, NoiseError> {
        for k in 1..=RUN {
            if !(self.bernoulli(numerator, denominator)? && self.bernoulli(1, u64::from(k))?) {
                return Ok(k % 2 == 1);
            }
        }
        Err(NoiseError::Exhausted)
    }

    /// An integer with probability (e^(s/t)−1)/(e^(s/t)+1)·e^(−|x|s/t), that is discrete Laplace of
    /// scale t/s; s, t ≥ 1 (0 is read as 1), t ≤ 2⁵².
    ///
    /// A magnitude of [`LAPLACE_SCALES_MAX`] scales or more (probability e^(−1024)) is returned as
    /// exactly ±⌊1024·t/s⌋: the caller clamps its *output* inside, so that the saturation is not
    /// seen. Every other bound only restarts an independent attempt, so it does not change the law.
    ///
    /// **Cost**: 8.4 words on average. **Source**: Canonne, Kamath, Steinke 2020, Algorithm 2.
    pub fn discrete_laplace(&mut self, s: u64, t: u64) -> Result<i64, NoiseError> {
        let s = s.max(1);
        let t = t.clamp(1, 1 << 52);
        for _ in 0..ATTEMPTS {
            let u = self.below(t)?;
            if !self.bernoulli_exp(u, t)? {
                continue;
            }
            let mut v = 0;
            while v < LAPLACE_SCALES_MAX && self.bernoulli_exp_small(1, 1)? {
                v += 1;
            }
            // v = 1024 stands for everything above: the rest u is dropped.
            let x = if v == LAPLACE_SCALES_MAX {
                v * t
            } else {
                u + v * t
            };
            let magnitude = (x / s) as i64;
            let negative = self.coin()?;
            if negative && magnitude == 0 {
                continue;
            }
            return Ok(if negative { -magnitude } else { magnitude });
        }
        Err(NoiseError::Exhausted)
    }

    /// ⌊2^m·G⌋ for a standard normal G, m ≤ 32 (above is read as 32).
    ///
    /// The floor is the floor of the *signed* number: for G < 0 it is −⌊2^m|G|⌋−1 (the chance that
    /// 2^m|G| is an integer is 0). Truncation toward zero would give 0 twice its share, and adding
    /// an integer would no longer commute with it, on which the mechanism's proof rests.
    ///
    /// **Equation**: |G| = k + x; k with probability ∝ e^(−k²/2), x uniform accepted with
    /// probability e^(−x(2k+x)/2); all by comparisons of digits that are drawn as needed.
    ///
    /// **Numerics**: exact up to |G| < 64 (e^(−2048)) and 128 digits of a comparison (2⁻¹²⁸ each:
    /// then [`NoiseError::Exhausted`]).
    ///
    /// **Cost**: about 7 words of 64 bits. **Source**: Karney 2016, Algorithm N.
    pub fn normal_floor(&mut self, m: u32) -> Result<i64, NoiseError> {
        let m = m.min(32);
        'attempt: for _ in 0..ATTEMPTS {
            // N1: k with probability e^(−k/2)(1 − e^(−1/2)).
            let mut k = 0u32;
            while k < RUN && self.inverse_root_e()? {
                k += 1;
            }
            if k == RUN {
                continue;
            }
            // N2: accept with probability e^(−k(k−1)/2).
            for _ in 0..k * k.saturating_sub(1) {
                if !self.inverse_root_e()? {
                    continue 'attempt;
                }
            }
            // N3, N4: x uniform, accepted with probability e^(−x(2k+x)/2) =
            // (e^(−x(2k+x)/(2k+2)))^(k+1).
            let mut x = Uniform::default();
            for _ in 0..=k {
                if !self.accept_fraction(k, &mut x)? {
                    continue 'attempt;
                }
            }
            let magnitude = i64::from(k) << m | x.leading(m, self)? as i64;
            return Ok(if self.coin()? {
                -magnitude - 1
            } else {
                magnitude
            });
        }
        Err(NoiseError::Exhausted)
    }

    /// Algorithm H: true with probability e^(−1/2), by the parity of the run ½ > u₁ > u₂ > ….
    fn inverse_root_e(&mut self) -> Result<bool, NoiseError> {
        let mut y = Uniform::default();
        if y.digit(0, self)? >= 128 {
            return Ok(true);
        }
        for length in 1..RUN {
            let mut z = Uniform::default();
            if !z.less(&mut y, self)? {
                return Ok(length % 2 == 0);
            }
            y = z;
        }
        Err(NoiseError::Exhausted)
    }

    /// Algorithm B: true with probability e^(−x(2k+x)/(2k+2)), by the parity of the run x > z₁ >
    /// z₂ > … in which each step also passes a coin of probability (2k+x)/(2k+2).
    fn accept_fraction(&mut self, k: u32, x: &mut Uniform) -> Result<bool, NoiseError> {
        let m = u64::from(2 * k + 2);
        let mut y: Option<Uniform> = None;
        for length in 0..RUN {
            let mut z = Uniform::default();
            let smaller = match &mut y {
                Some(y) => z.less(y, self)?,
                None => z.less(x, self)?,
            };
            if !smaller || !self.below_fraction(m, x)? {
                return Ok(length % 2 == 0);
            }
            y = Some(z);
        }
        Err(NoiseError::Exhausted)
    }

    /// True with probability (m−2+x)/m: one of m equal parts; the last but one is decided by a
    /// comparison with x.
    fn below_fraction(&mut self, m: u64, x: &mut Uniform) -> Result<bool, NoiseError> {
        let part = self.below(m)?;
        if part + 2 < m {
            Ok(true)
        } else if part + 2 == m {
            Uniform::default().less(x, self)
        } else {
            Ok(false)
        }
    }
}

/// A uniform number in (0, 1) of which only as many base-256 digits are known as were asked for.
#[derive(Default)]
struct Uniform {
    digits: [u8; 16],
    known: u8,
}

impl Uniform {
    #[inline]
    fn digit<S: NoiseSource>(&mut self, i: u8, bits: &mut Bits<'_, S>) -> Result<u8, NoiseError> {
        while self.known <= i {
            let Some(digit) = self.digits.get_mut(usize::from(self.known)) else {
                return Err(NoiseError::Exhausted);
            };
            *digit = bits.bits(8)? as u8;
            self.known += 1;
        }
        self.digits
            .get(usize::from(i))
            .copied()
            .ok_or(NoiseError::Exhausted)
    }

    fn less<S: NoiseSource>(
        &mut self,
        other: &mut Self,
        bits: &mut Bits<'_, S>,
    ) -> Result<bool, NoiseError> {
        for i in 0..self.digits.len() as u8 {
            let mine = self.digit(i, bits)?;
            let theirs = other.digit(i, bits)?;
            if mine != theirs {
                return Ok(mine < theirs);
            }
        }
        Err(NoiseError::Exhausted)
    }

    /// The first m bits after the binary point, m ≤ 32.
    fn leading<S: NoiseSource>(
        &mut self,
        m: u32,
        bits: &mut Bits<'_, S>,
    ) -> Result<u64, NoiseError> {
        let mut out = 0u64;
        let count = m.div_ceil(8);
        for i in 0..count as u8 {
            out = out << 8 | u64::from(self.digit(i, bits)?);
        }
        Ok(out >> (count * 8 - m))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::source::{Secret, Simulated, tests::Failing};
    use super::*;
    use crate::math;
    use crate::random::Stream;
    use std::vec;
    use std::vec::Vec;

    fn simulated(seed: u64) -> Simulated {
        Simulated::new(Stream::from_seed(seed))
    }

    /// Chi-square statistic and degrees of freedom over the cells with at least ten expected, the
    /// rest in one.
    fn chi2(count: &[u32], probability: &[f64]) -> (f64, f64) {
        let n: f64 = count.iter().map(|c| f64::from(*c)).sum();
        let mut statistic = 0.0;
        let mut cells = 0.0;
        let mut rest = 0.0;
        let mut rest_p = 0.0;
        for (c, p) in count.iter().zip(probability) {
            if n * p >= 10.0 {
                statistic += (f64::from(*c) - n * p).powi(2) / (n * p);
                cells += 1.0;
            } else {
                rest += f64::from(*c);
                rest_p += p;
            }
        }
        if n * rest_p > 1.0 {
            statistic += (rest - n * rest_p).powi(2) / (n * rest_p);
            cells += 1.0;
        }
        (statistic, cells - 1.0)
    }

    /// Level 1e-4: the normal approximation of Wilson and Hilferty at 3.72 standard deviations.
    fn rejected((statistic, freedom): (f64, f64)) -> bool {
        let a = 2.0 / (9.0 * freedom);
        statistic > freedom * (1.0 - a + 3.72 * a.sqrt()).powi(3)
    }

    fn histogram(n: u32, half: i64, mut draw: impl FnMut() -> i64) -> Vec<u32> {
        let mut count = vec![0u32; 2 * half as usize + 1];
        (0..n).for_each(|_| count[(draw().clamp(-half, half) + half) as usize] += 1);
        count
    }

    fn normal_cells(m: u32, half: i64, std: f64) -> Vec<f64> {
        let below =
            |x: f64| 0.5 * math::erfc(-x / (f64::from(1 << m) * std) / core::f64::consts::SQRT_2);
        let mut cells: Vec<f64> = (-half..=half)
            .map(|i| below(i as f64 + 1.0) - below(i as f64))
            .collect();
        cells[0] = below(-half as f64 + 1.0);
        *cells.last_mut().unwrap() = 1.0 - below(half as f64);
        cells
    }

    #[test]
    fn normal_floor_has_its_cells_and_the_test_can_fail() {
        let m = 3;
        let half = 40;
        let mut source = simulated(3);
        let mut bits = Bits::new(&mut source);
        let count = histogram(300_000, half, || bits.normal_floor(m).unwrap());
        assert!(!rejected(chi2(&count, &normal_cells(m, half, 1.0))));
        // Negative controls: 2 % too narrow, and truncation toward zero instead of floor.
        assert!(rejected(chi2(&count, &normal_cells(m, half, 1.02))));
        let truncated = histogram(300_000, half, || {
            bits.normal_floor(m)
                .map(|x| if x < 0 { x + 1 } else { x })
                .unwrap()
        });
        assert!(rejected(chi2(&truncated, &normal_cells(m, half, 1.0))));
    }

    fn laplace_cells(s: f64, t: f64, half: i64) -> Vec<f64> {
        let r = (-s / t).exp();
        let mut cells: Vec<f64> = (-half..=half)
            .map(|i| (1.0 - r) / (1.0 + r) * r.powi(i.unsigned_abs() as i32))
            .collect();
        let tail = r.powi(half as i32) / (1.0 + r);
        cells[0] = tail;
        *cells.last_mut().unwrap() = tail;
        cells
    }

    #[test]
    fn discrete_laplace_has_its_cells_and_the_test_can_fail() {
        for (s, t) in [(3, 2), (1, 5)] {
            let mut source = simulated(s);
            let mut bits = Bits::new(&mut source);
            let count = histogram(200_000, 60, || bits.discrete_laplace(s, t).unwrap());
            assert!(!rejected(chi2(
                &count,
                &laplace_cells(s as f64, t as f64, 60)
            )));
            assert!(
                rejected(chi2(&count, &laplace_cells(s as f64 * 1.02, t as f64, 60))),
                "2 % off must be seen"
            );
        }
    }

    #[test]
    fn coins_have_their_probability_and_the_test_can_fail() {
        let n = 200_000u32;
        for (a, b) in [(0, 1), (1, 3), (1, 1), (7, 2)] {
            let mut source = simulated(17 + a);
            let mut bits = Bits::new(&mut source);
            let hits = (0..n).filter(|_| bits.bernoulli_exp(a, b).unwrap()).count() as f64;
            let z = |p: f64| {
                (hits - p * f64::from(n)).abs() / (f64::from(n) * p * (1.0 - p)).sqrt().max(1.0)
            };
            let p = (-(a as f64) / b as f64).exp();
            assert!(z(p) < 4.0, "{a}/{b}: {hits}");
            assert!(a == 0 || z(p * 1.06) > 4.0, "6 % off must be seen");
        }
        let mut source = simulated(23);
        let mut bits = Bits::new(&mut source);
        let count = histogram(100_000, 5, || bits.below(11).unwrap() as i64 - 5);
        assert!(!rejected(chi2(&count, &[1.0 / 11.0; 11])));
        assert_eq!((bits.below(0), bits.below(1)), (Ok(0), Ok(0)));
    }

    #[test]
    fn a_stuck_source_ends_in_an_error() {
        // All words zero: the normal draw compares equal digits for ever.
        struct Stuck;
        impl rand_core::TryRng for Stuck {
            type Error = rand_core::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(0)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(0)
            }
            fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Self::Error> {
                dst.fill(0);
                Ok(())
            }
        }
        impl rand_core::TryCryptoRng for Stuck {}
        let mut source = Secret::new(Stuck);
        assert_eq!(
            Bits::new(&mut source).normal_floor(20),
            Err(NoiseError::Exhausted)
        );
        let mut dry = Secret::new(Failing {
            left: 0,
            inner: Stream::from_seed(0),
        });
        assert_eq!(
            Bits::new(&mut dry).discrete_laplace(1, 4),
            Err(NoiseError::Entropy)
        );
    }

    #[test]
    fn values_are_stable() {
        let mut source = simulated(1);
        let mut bits = Bits::new(&mut source);
        let normal: [i64; 4] = core::array::from_fn(|_| bits.normal_floor(20).unwrap());
        let laplace: [i64; 4] =
            core::array::from_fn(|_| bits.discrete_laplace(3, 1 << 20).unwrap());
        assert_eq!((normal, laplace), FROZEN);
    }
    const FROZEN: ([i64; 4], [i64; 4]) = (
        [109245, -972985, -456403, -693731],
        [-913100, 917717, 68726, -394228],
    );
}
