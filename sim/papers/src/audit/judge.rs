//! The statistics of an audit: scores of two neighbours in, lower bounds on δ(ε) out.

use sordino_core::math::{self, Scalar};

use super::outcome::{EPSILONS, Line, Report};

/// Tests both directions at every ε: thresholds come from the first half of the runs, bounds from
/// the second.
pub(super) fn judge(present: &[f64], absent: &[f64], claimed: &[f64], error: f64) -> Report {
    let (choose_1, measure_1) = halves(present);
    let (choose_0, measure_0) = halves(absent);
    let each = error / (4.0 * EPSILONS.len() as f64);
    let mut lines = Vec::new();
    for (epsilon, delta_claimed) in EPSILONS.iter().zip(claimed) {
        let factor = Scalar::exp(*epsilon);
        let mut delta_measured = 0.0f64;
        for upper in [true, false] {
            let (first, second) = if upper {
                (&choose_1, &choose_0)
            } else {
                (&choose_0, &choose_1)
            };
            let n1 = first.len() as f64;
            let n0 = second.len() as f64;
            // Candidates: the claim's own optimum is score > ε; a few hundred quantiles around find
            // the best.
            let mut best = (f64::NEG_INFINITY, 0.0);
            for i in 1..400 {
                let t = choose_1[i * (choose_1.len() - 1) / 400];
                let value = beyond(first, t, upper) as f64 / n1
                    - factor * beyond(second, t, upper) as f64 / n0;
                if value > best.0 {
                    best = (value, t);
                }
            }
            let (first, second) = if upper {
                (&measure_1, &measure_0)
            } else {
                (&measure_0, &measure_1)
            };
            let low = clopper_pearson(beyond(first, best.1, upper), first.len(), each, false);
            let high = clopper_pearson(beyond(second, best.1, upper), second.len(), each, true);
            delta_measured = delta_measured.max(low - factor * high);
        }
        lines.push(Line {
            epsilon: *epsilon,
            delta_claimed: *delta_claimed,
            delta_measured,
        });
    }
    Report {
        lines,
        runs: present.len() as u32,
        error,
    }
}

/// Both halves of the scores, each sorted.
fn halves(scores: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (a, b) = scores.split_at(scores.len() / 2);
    let mut a = a.to_vec();
    let mut b = b.to_vec();
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    (a, b)
}

/// How many of the sorted scores are above a threshold, or below it unless `upper`.
fn beyond(sorted: &[f64], t: f64, upper: bool) -> usize {
    if upper {
        sorted.len() - sorted.partition_point(|x| *x <= t)
    } else {
        sorted.partition_point(|x| *x < t)
    }
}

/// Clopper and Pearson's bound on a probability from k hits of n, wrong with probability at most
/// `error`; computed from the binomial tail itself. The outer end of the last bracket is returned.
fn clopper_pearson(k: usize, n: usize, error: f64, upper: bool) -> f64 {
    if (upper && k >= n) || (!upper && k == 0) {
        return if upper { 1.0 } else { 0.0 };
    }
    let hits = k as f64;
    let all = n as f64;
    // P(X ≤ k) = 1 − I_p(k+1, n−k) = I_{1−p}(n−k, k+1); P(X ≥ k) = I_p(k, n−k+1). A little less
    // than the error, for the rounding of the logarithms of factorials.
    let limit = Scalar::ln(error) - 1e-6;
    let mut inside = hits / all;
    let mut outside = if upper { 1.0 } else { 0.0 };
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        let ln_tail = if upper {
            ln_beta_share(1.0 - middle, all - hits, hits + 1.0)
        } else {
            ln_beta_share(middle, hits, all - hits + 1.0)
        };
        if ln_tail > limit {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}

/// A denominator of a continued fraction, kept away from zero.
fn away(y: f64) -> f64 {
    const TINY: f64 = 1e-300;
    if y.abs() < TINY { TINY } else { y }
}

/// ln I_x(a, b) of the regularised incomplete beta function, by Lentz's continued fraction.
fn ln_beta_share(x: f64, a: f64, b: f64) -> f64 {
    if !(x > 0.0) {
        return f64::NEG_INFINITY;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        // The other tail; near one, where its logarithm is the smaller.
        return math::ln_1p(-Scalar::exp(ln_beta_share(1.0 - x, b, a)));
    }
    let ln_front = math::ln_gamma(a + b) - math::ln_gamma(a) - math::ln_gamma(b)
        + a * Scalar::ln(x)
        + b * math::ln_1p(-x)
        - Scalar::ln(a);
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        for factor in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + factor * d);
            c = away(1.0 + factor / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    ln_front + Scalar::ln(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_contain_the_truth() {
        // Printed tables: 5 of 10 at 2.5 % a side; 0 of n is 1 − error^(1/n).
        assert!((clopper_pearson(5, 10, 0.025, false) - 0.1871).abs() < 1e-4);
        assert!((clopper_pearson(5, 10, 0.025, true) - 0.8129).abs() < 1e-4);
        assert!((clopper_pearson(0, 1000, 1e-6, true) - (1.0 - 1e-6f64.powf(1e-3))).abs() < 1e-8);
        assert_eq!(
            (
                clopper_pearson(0, 7, 0.1, false),
                clopper_pearson(7, 7, 0.1, true)
            ),
            (0.0, 1.0)
        );
        // Against the sum of the binomial probabilities.
        for (k, n) in [(3usize, 40usize), (17, 40), (39, 40)] {
            let p = clopper_pearson(k, n, 1e-3, true);
            let mut term = (1.0 - p).powi(n as i32);
            let mut sum = term;
            for i in 0..k {
                term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
                sum += term;
            }
            assert!(sum <= 1e-3 && sum > 0.999e-3, "{k} of {n}: {sum}");
        }
        assert!(
            clopper_pearson(500, 1000, 1e-6, false) < 0.45
                && clopper_pearson(500, 1000, 1e-6, true) > 0.55
        );
        assert!(
            clopper_pearson(0, 1000, 1e-6, false) < 1e-12
                && clopper_pearson(0, 1000, 1e-6, true) < 0.02
        );
    }
}
