//! Noise that devices draw and round each for itself: laws convolved, against the Gaussian
//! accounting of their sum.
//!
//! docs/secure-aggregation.md argues in three steps, and each is a test here. *(1)* A sum of t
//! shares ⌊sG⌋ has as its law, up to t·e^(−π²s²), the samples of the density f of N(0, ts²) and t
//! uniforms. *(2)* These are within a factor e^(±(B²−1)/24σ²) of the law of a rounded variable of
//! density f, σ² = ts². *(3)* So δ(ε) ≤ e^η·δ_Gauss(ε − 2η) + tail. The laws are convolved exactly,
//! mass by mass; f comes from its characteristic function.

use std::f64::consts::PI;

use sordino_core::math::erfc;
use sordino_core::privacy::accountant::RdpAccountant;
use sordino_core::privacy::accountant::analytic::delta;
use sordino_core::privacy::{Event, NeighboringRelation};

/// Standard deviations that are kept on either side; beyond them lies less than 1e-17.
const WIDTH: f64 = 9.0;

/// A law on the integers: masses from `first` on.
#[derive(Clone)]
struct Law {
    first: i64,
    masses: Vec<f64>,
}

impl Law {
    fn of(first: i64, last: i64, mass: impl Fn(i64) -> f64) -> Self {
        Law {
            first,
            masses: (first..=last).map(mass).collect(),
        }
    }

    fn at(&self, k: i64) -> f64 {
        usize::try_from(k - self.first)
            .ok()
            .and_then(|at| self.masses.get(at))
            .copied()
            .unwrap_or(0.0)
    }

    /// That of ⌊sG⌋. Both tails are differences of small numbers, so that nothing cancels.
    fn share(s: f64) -> Self {
        let above = |k: i64| 0.5 * erfc(k as f64 / (s * 2f64.sqrt()));
        let mass = |k: i64| {
            if k >= 0 {
                above(k) - above(k + 1)
            } else {
                above(-1 - k) - above(-k)
            }
        };
        let end = (WIDTH * s).ceil() as i64;
        Law::of(-1 - end, end, mass)
    }

    /// That of the sum of two that are independent.
    fn plus(&self, other: &Law) -> Law {
        let mut masses = vec![0.0; self.masses.len() + other.masses.len() - 1];
        for (i, p) in self.masses.iter().enumerate() {
            for (j, q) in other.masses.iter().enumerate() {
                masses[i + j] += p * q;
            }
        }
        Law {
            first: self.first + other.first,
            masses,
        }
    }

    /// That of t shares of standard deviation s.
    fn of_devices(t: u32, s: f64) -> Self {
        let share = Law::share(s);
        let mut sum = Law {
            first: 0,
            masses: vec![1.0],
        };
        for devices in 1..=t {
            sum = sum.plus(&share);
            // What is beyond is less than the rounding of the sums, and is counted as missing by
            // whoever needs it.
            let reach = (WIDTH * s * f64::from(devices).sqrt()).ceil() as i64 + 1;
            let middle = -i64::from(devices) / 2;
            let first = middle - reach;
            let last = middle + reach;
            let from = (first - sum.first).clamp(0, sum.masses.len() as i64) as usize;
            let to = (last + 1 - sum.first).clamp(0, sum.masses.len() as i64) as usize;
            sum = Law {
                first: sum.first + from as i64,
                masses: sum.masses[from..to].to_vec(),
            };
        }
        sum
    }

    /// Mass farther than this from the middle −t/2.
    fn beyond(&self, t: u32, distance: f64) -> f64 {
        let far = |k: &i64| (*k as f64 + f64::from(t) / 2.0).abs() > distance;
        let last = self.first + self.masses.len() as i64;
        let kept: f64 = self.masses.iter().sum();
        (self.first..last)
            .filter(far)
            .map(|k| self.at(k))
            .sum::<f64>()
            + (1.0 - kept).max(0.0)
    }
}

/// The density at j of N(0, ts²) and `uniforms` uniforms on (0, 1), less t of their means: its
/// characteristic function inverted by the trapezoid rule, which converges faster than any power
/// for a function like that.
fn density(t: u32, s: f64, uniforms: u32, j: i64) -> f64 {
    let variance = f64::from(t) * s * s;
    let x = j as f64 + f64::from(t) / 2.0;
    let reach = 9.0 / variance.sqrt();
    // The steps' aliases lie 2π/step away from x.
    let step = 2.0 * PI / (2.0 * x.abs() + 40.0 * (variance + f64::from(t)).sqrt());
    let value = |theta: f64| {
        let half = theta / 2.0;
        let sinc = if half == 0.0 { 1.0 } else { half.sin() / half };
        (theta * x).cos() * (-variance * theta * theta / 2.0).exp() * sinc.powi(uniforms as i32)
    };
    let tail: f64 = (1..(reach / step).ceil() as u32)
        .map(|i| value(f64::from(i) * step))
        .sum();
    step / PI * (0.5 + tail)
}

/// δ(ε) between the noise and the noise moved by `shift`, one coordinate or release after the
/// other, in both directions: the hockey-stick divergence, summed over all outcomes.
fn hockey_stick(law: &Law, shift: &[i64], epsilon: f64) -> f64 {
    fn sum(law: &Law, shift: &[i64], p: f64, q: f64) -> f64 {
        let Some((first, rest)) = shift.split_first() else {
            return (p - q).max(0.0);
        };
        let low = law.first + (*first).min(0);
        let high = law.first + law.masses.len() as i64 + (*first).max(0);
        (low..high)
            .map(|k| sum(law, rest, p * law.at(k - first), q * law.at(k)))
            .sum()
    }
    let back: Vec<i64> = shift.iter().map(|x| -x).collect();
    [shift, &back]
        .map(|shift| sum(law, shift, 1.0, epsilon.exp()))
        .into_iter()
        .fold(0.0, f64::max)
}

/// What the page says of t shares of standard deviation s: e^η·δ_Gauss(ε − 2η) and both tails, at
/// the B that is best.
fn bound(law: &Law, t: u32, s: f64, shift: &[i64], epsilon: f64) -> f64 {
    let sigma = f64::from(t).sqrt() * s;
    let norm = shift.iter().map(|x| (x * x) as f64).sum::<f64>().sqrt();
    let numbers = shift.len() as f64;
    let at = |b: f64| {
        let eta = numbers * b * b / (24.0 * sigma * sigma);
        // The noise of either neighbour is within Bσ, so that of one is within Bσ less the shift.
        let tail = numbers * law.beyond(t, b * sigma - norm);
        let excess = epsilon - 2.0 * eta;
        let gauss = if excess >= 0.0 {
            delta(sigma / norm, excess)
        } else {
            1.0
        };
        eta.exp() * gauss + tail
    };
    (20..=80)
        .map(|tenths| at(f64::from(tenths) / 10.0))
        .fold(1.0, f64::min)
}

#[test]
fn a_sum_of_rounded_shares_samples_the_density_up_to_its_aliases() {
    let mut worst: f64 = 0.0;
    for (t, s) in [
        (2, 0.5),
        (3, 0.5),
        (2, 0.7),
        (5, 0.8),
        (4, 1.0),
        (10, 1.5),
        (7, 4.0),
    ] {
        let law = Law::of_devices(t, s);
        let aliases = f64::from(t) * (-PI * PI * s * s).exp();
        let reach = (5.0 * f64::from(t).sqrt() * s).ceil() as i64;
        let far = (-reach..=reach)
            .map(|j| (law.at(j) - density(t, s, t, j)).abs())
            .fold(0.0, f64::max);
        assert!(
            far <= aliases + 1e-14,
            "t = {t}, s = {s}: {far:e} above {aliases:e}"
        );
        worst = worst.max(far / aliases);
    }
    // The aliases are there, and the bound on them is no order of magnitude too large where they
    // can be seen.
    assert!(worst > 0.1, "{worst}");
}

#[test]
fn samples_of_the_density_are_within_the_factor_of_a_rounded_variable() {
    for (t, s) in [(1, 4.0), (4, 2.0), (10, 2.0), (16, 8.0)] {
        let variance = f64::from(t) * s * s;
        let mut worst = 0.0f64;
        for b in [2.0f64, 3.0, 5.0] {
            let limit = (b * b - 1.0) / (24.0 * variance);
            let reach = b * variance.sqrt();
            let near = |j: &i64| (*j as f64 + f64::from(t) / 2.0).abs() <= reach;
            let all = -(reach as i64) - i64::from(t)..=reach as i64 + 1;
            for j in all.filter(near) {
                // One uniform more: the mass that falls to j.
                let ratio = (density(t, s, t, j) / density(t, s, t + 1, j)).ln().abs();
                assert!(
                    ratio <= limit,
                    "t = {t}, s = {s}, B = {b}, j = {j}: {ratio:e} above {limit:e}"
                );
                worst = worst.max(ratio / limit);
            }
        }
        assert!(
            worst > 0.8,
            "t = {t}, s = {s}: the factor is never used, {worst}"
        );
    }
}

/// Devices, std of a share, and what a neighbour moves: coordinates and releases.
const CASES: [(u32, f64, &[i64]); 7] = [
    (4, 4.0, &[4]),
    (16, 8.0, &[32]),
    (16, 16.0, &[32]),
    (9, 16.0, &[96]),
    (40, 4.0, &[12]),
    (4, 8.0, &[6, 8]),
    (4, 4.0, &[4, 4, 4]),
];

#[test]
fn the_convolved_noise_of_devices_loses_no_more_than_its_gaussian_accounting_says() {
    for (t, s, shift) in CASES {
        let law = Law::of_devices(t, s);
        let norm = shift.iter().map(|x| (x * x) as f64).sum::<f64>().sqrt();
        let z = f64::from(t).sqrt() * s / norm;
        for epsilon in [0.1, 0.5, 1.0, 2.0] {
            let lost = hockey_stick(&law, shift, epsilon);
            let claimed = bound(&law, t, s, shift, epsilon);
            let gauss = delta(z, epsilon);
            println!(
                "t = {t}, s = {s}, {shift:?}, ε = {epsilon}: {lost:.4e} ≤ {claimed:.4e}, Gaussian {gauss:.4e}"
            );
            assert!(
                lost <= claimed,
                "t = {t}, s = {s}, {shift:?}, ε = {epsilon}: {lost:e} above {claimed:e}"
            );
            assert!(
                lost <= gauss,
                "t = {t}, s = {s}, {shift:?}, ε = {epsilon}: {lost:e} above the Gaussian's {gauss:e}"
            );
            // The Gaussian's own δ, and no other: what rounding adds is variance t/12, which is not
            // charged for.
            let rounded = delta((f64::from(t) * (s * s + 1.0 / 12.0)).sqrt() / norm, epsilon);
            assert!(
                (lost / rounded - 1.0).abs() < 0.02 || rounded < 1e-12,
                "{lost:e} is not near {rounded:e}"
            );
        }
        // Rényi divergences, by which the simulation of devices charges.
        let mut accountant = RdpAccountant::new();
        let relation = NeighboringRelation::ReplaceSpecial;
        accountant
            .compose(
                &Event::Gaussian {
                    noise_multiplier: z,
                    relation,
                },
                1,
            )
            .unwrap();
        let epsilon = accountant.epsilon(1e-5).unwrap().epsilon;
        let lost = hockey_stick(&law, shift, epsilon);
        assert!(
            lost <= 1e-5,
            "t = {t}, s = {s}, {shift:?}: {lost:e} at ε = {epsilon}"
        );
    }
}

#[test]
fn a_missing_share_and_a_shift_that_is_not_charged_are_rejected() {
    // Against the claim of 16 shares, where what the bound adds is small.
    let t = 16;
    let s = 16.0;
    let shift = [32];
    let claimed = |epsilon: f64| bound(&Law::of_devices(t, s), t, s, &shift, epsilon);
    assert!(
        (claimed(1.0) / delta(f64::from(t).sqrt() * s / 32.0, 1.0) - 1.0).abs() < 0.02,
        "{}",
        claimed(1.0)
    );
    for epsilon in [0.1, 0.5, 1.0] {
        let fewer = hockey_stick(&Law::of_devices(t - 1, s), &shift, epsilon);
        assert!(
            fewer > claimed(epsilon),
            "a share is missing at ε = {epsilon}: {fewer:e}"
        );
        let farther = hockey_stick(&Law::of_devices(t, s), &[33], epsilon);
        assert!(
            farther > claimed(epsilon),
            "a norm of 33 at ε = {epsilon}: {farther:e}"
        );
        assert!(hockey_stick(&Law::of_devices(t, s), &shift, epsilon) <= claimed(epsilon));
    }
}
