//! Chi-square of every exact sampler at small grids, with the negative controls that show what the
//! test can see.
//!
//! Level 1e-6 for each test (Wilson and Hilferty's approximation at 4.75 standard deviations); the
//! seeds are fixed, so a failure is a change of law, not bad luck. The full size of 1e7 draws runs
//! with `--ignored`.

use sordino_core::math;
use sordino_core::random::exact::Bits;
use sordino_core::random::{Simulated, Stream};

/// Statistic and degrees of freedom; cells that expect fewer than ten are pooled.
fn chi2(count: &[u64], probability: &[f64]) -> (f64, f64) {
    let n = count.iter().sum::<u64>() as f64;
    let mut statistic = 0.0;
    let mut cells = 0.0;
    let mut rest = 0.0;
    let mut rest_p = 0.0;
    for (c, p) in count.iter().zip(probability) {
        if n * p >= 10.0 {
            statistic += (*c as f64 - n * p).powi(2) / (n * p);
            cells += 1.0;
        } else {
            rest += *c as f64;
            rest_p += p;
        }
    }
    if n * rest_p > 0.5 {
        statistic += (rest - n * rest_p).powi(2) / (n * rest_p);
        cells += 1.0;
    }
    (statistic, cells - 1.0)
}

fn rejected((statistic, freedom): (f64, f64)) -> bool {
    let a = 2.0 / (9.0 * freedom);
    statistic > freedom * (1.0 - a + 4.75 * a.sqrt()).powi(3)
}

fn histogram(n: u64, half: i64, mut draw: impl FnMut() -> i64) -> Vec<u64> {
    let mut count = vec![0; 2 * half as usize + 1];
    (0..n).for_each(|_| count[(draw().clamp(-half, half) + half) as usize] += 1);
    count
}

/// Probability of each cell [i, i+1) of 2^m·std·G; the ends take the tails.
fn normal_cells(m: u32, half: i64, std: f64) -> Vec<f64> {
    let upper = |x: f64| 0.5 * math::erfc(x / (f64::from(1 << m) * std) / std::f64::consts::SQRT_2);
    (-half..=half)
        .map(|i| {
            let low = i as f64;
            let high = i as f64 + 1.0;
            if i == -half {
                upper(-high)
            } else if i == half {
                upper(low)
            } else if i >= 0 {
                upper(low) - upper(high)
            } else {
                upper(-high) - upper(-low)
            }
        })
        .collect()
}

fn normal(n: u64) {
    for m in 3..=6 {
        let half = 6 << m;
        let mut source = Simulated::new(Stream::from_seed(u64::from(m)));
        let mut bits = Bits::new(&mut source);
        let count = histogram(n, half, || bits.normal_floor(m).unwrap());
        assert!(
            !rejected(chi2(&count, &normal_cells(m, half, 1.0))),
            "m {m}"
        );
        let wide = 1.0 + 16.0 / (n as f64).sqrt();
        assert!(
            rejected(chi2(&count, &normal_cells(m, half, wide))),
            "a width off by {wide} must be seen, m {m}"
        );
        // Beyond four standard deviations, both sides: Poisson with mean n·6.3e-5.
        let far = 4 << m;
        let tail: u64 = count
            .iter()
            .enumerate()
            .filter(|(i, _)| (*i as i64 - half) >= far)
            .map(|(_, c)| c)
            .sum();
        let low: u64 = count
            .iter()
            .enumerate()
            .filter(|(i, _)| (*i as i64 - half) < -far)
            .map(|(_, c)| c)
            .sum();
        let expected = n as f64 * math::erfc(4.0 / std::f64::consts::SQRT_2);
        assert!(
            ((tail + low) as f64 - expected).abs() < 5.0 * expected.sqrt() + 1.0,
            "{tail} {low} {expected}"
        );
        // Truncation of sign and magnitude in place of the floor.
        let truncated = histogram(n / 4, half, || {
            bits.normal_floor(m).map(|x| x + i64::from(x < 0)).unwrap()
        });
        assert!(rejected(chi2(&truncated, &normal_cells(m, half, 1.0))));
    }
}

fn laplace(n: u64) {
    for (s, t) in [(1, 8), (1, 64), (5, 16), (3, 1)] {
        let ratio = (-(s as f64) / t as f64).exp();
        let half = (20 * t / s + 4) as i64;
        let cells = |ratio: f64| -> Vec<f64> {
            (-half..=half)
                .map(|i| {
                    let p = ratio.powi(i.unsigned_abs() as i32) / (1.0 + ratio);
                    if i.abs() == half {
                        p
                    } else {
                        p * (1.0 - ratio)
                    }
                })
                .collect()
        };
        let mut source = Simulated::new(Stream::from_seed(s * 1000 + t));
        let mut bits = Bits::new(&mut source);
        let count = histogram(n, half, || bits.discrete_laplace(s, t).unwrap());
        assert!(!rejected(chi2(&count, &cells(ratio))), "scale {t}/{s}");
        let off = 1.0 + 20.0 / (n as f64).sqrt();
        assert!(
            rejected(chi2(&count, &cells(ratio.powf(off)))),
            "a scale off by {off} must be seen, {t}/{s}"
        );
        // Zero counted for both signs, as if the restart were left out.
        let doubled = histogram(n, half, || {
            let x = bits.discrete_laplace(s, t).unwrap();
            if x != 0 && x.abs() <= 1 && bits.coin().unwrap() {
                0
            } else {
                x
            }
        });
        assert!(rejected(chi2(&doubled, &cells(ratio))));
    }
}

fn coins(n: u64) {
    for (numerator, denominator) in [(1u64, 7u64), (1, 2), (1, 1), (9, 8), (5, 2), (6, 1)] {
        let mut source = Simulated::new(Stream::from_seed(numerator * 100 + denominator));
        let mut bits = Bits::new(&mut source);
        let count = histogram(n, 1, || {
            i64::from(bits.bernoulli_exp(numerator, denominator).unwrap())
        });
        let p = (-(numerator as f64) / denominator as f64).exp();
        let count = [count[1], count[2]];
        assert!(
            !rejected(chi2(&count, &[1.0 - p, p])),
            "{numerator}/{denominator}"
        );
        let off = p + 8.0 * (p * (1.0 - p) / n as f64).sqrt();
        assert!(rejected(chi2(&count, &[1.0 - off, off])));
    }
    let mut source = Simulated::new(Stream::from_seed(77));
    let mut bits = Bits::new(&mut source);
    let count = histogram(n, 3, || bits.below(7).unwrap() as i64 - 3);
    assert!(!rejected(chi2(&count, &[1.0 / 7.0; 7])));
    let modulo = histogram(n, 3, || (bits.below(64).unwrap() % 7) as i64 - 3);
    assert!(
        rejected(chi2(&modulo, &[1.0 / 7.0; 7])),
        "a modulo in place of rejection must be seen"
    );
}

#[test]
fn samplers_have_their_laws() {
    normal(200_000);
    laplace(100_000);
    coins(200_000);
}

#[test]
#[ignore = "1e7 draws for each grid: a minute"]
fn samplers_have_their_laws_at_full_size() {
    normal(10_000_000);
    laplace(10_000_000);
    coins(10_000_000);
}
