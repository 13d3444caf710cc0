//! Tests of paired differences: is the mean of n differences zero?
//!
//! | function | what it assumes |
//! |---|---|
//! | [`t_test`] | differences are nearly normal |
//! | [`wilcoxon`] | differences are symmetric about their median |
//! | [`holm`] | nothing: many p values, corrected for their number |

use sordino_experiment::metrics::Estimate;
use sordino_experiment::student;

/// With fewer pairs than this, no test says much.
pub(crate) const PAIRS_FEW: usize = 5;
/// Up to this many differences the distribution of Wilcoxon's sum is computed exactly.
const EXACT_MAX: usize = 200;

/// Two-sided p value of Student's t test of n differences; `None` for fewer than two, or if all are
/// equal.
///
/// **Equation**: t = mean/(s/√n) with n − 1 degrees of freedom. **Numerics**: absolute error about
/// 1e-15, so a p value far below 1e-12 is mere rounding.
pub fn t_test(differences: &[f64]) -> Option<f64> {
    let Estimate {
        mean,
        standard_error,
    } = Estimate::of(differences);
    let error = standard_error.filter(|error| *error > 0.0)?;
    let within = student::within((mean / error).abs(), differences.len() - 1);
    Some((1.0 - within).clamp(0.0, 1.0))
}

/// Two-sided p value of Wilcoxon's signed-rank test; zeros are dropped, ties share their mean rank.
/// Nothing if no difference is left.
///
/// **Equation**: W is the sum of the ranks of positive differences; p = min(1, 2·min(P(W ≤ w), P(W
/// ≥ w))), exact up to 200 differences, with ties too; for more, the normal approximation with the
/// variance of the ranks that occur, which is off by 7 % where p is about .001 and by a third where
/// it is 5e-6. **Cost**: n³ additions.
pub fn wilcoxon(differences: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|x| *x != 0.0).collect();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    // Twice the rank, so that mean ranks are whole.
    let mut ranks = vec![0usize; n];
    let mut start = 0;
    while start < n {
        let end = (start..n)
            .find(|i| sorted[*i].abs() != sorted[start].abs())
            .unwrap_or(n);
        ranks[start..end].fill(start + 1 + end);
        start = end;
    }
    let observed: usize = sorted
        .iter()
        .zip(&ranks)
        .filter(|(x, _)| **x > 0.0)
        .map(|(_, rank)| rank)
        .sum();
    Some(if n > EXACT_MAX {
        near(&ranks, observed)
    } else {
        exact(&ranks, observed)
    })
}

/// p value of a sum of signed ranks by the normal approximation; ranks and sum are doubled.
fn near(ranks: &[usize], observed: usize) -> f64 {
    let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
    let variance = ranks
        .iter()
        .map(|rank| (*rank as f64 / 2.0) * (*rank as f64 / 2.0))
        .sum::<f64>();
    two_tails((observed as f64 - mean).abs() / variance.sqrt())
}

/// The same p value from the exact distribution.
fn exact(ranks: &[usize], observed: usize) -> f64 {
    // Probability of every sum: each rank counts with probability one half.
    let mut of = vec![0.0; ranks.iter().sum::<usize>() + 1];
    of[0] = 1.0;
    for rank in ranks {
        for sum in (0..of.len()).rev() {
            let without = 0.5 * of[sum];
            of[sum] = without
                + if sum >= *rank {
                    0.5 * of[sum - rank]
                } else {
                    0.0
                };
        }
    }
    let below: f64 = of[..=observed].iter().sum();
    let above: f64 = of[observed..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

/// P(|Z| ≥ z) of the normal distribution, to 1e-7: Abramowitz and Stegun 26.2.17.
fn two_tails(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = ((((1.330_274_429 * t - 1.821_255_978) * t + 1.781_477_937) * t - 0.356_563_782)
        * t
        + 0.319_381_530)
        * t;
    (2.0 * series * (-0.5 * z * z).exp() / (2.0 * core::f64::consts::PI).sqrt()).clamp(0.0, 1.0)
}

/// p values after Holm's correction for their number, in the order given: the probability of any
/// wrong rejection stays below the level that each is compared with. Missing p values do not count.
pub fn holm(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..values.len()).filter(|i| values[*i].is_some()).collect();
    order.sort_by(|a, b| {
        values[*a]
            .unwrap_or(1.0)
            .total_cmp(&values[*b].unwrap_or(1.0))
    });
    let mut corrected = vec![None; values.len()];
    let mut most = 0.0f64;
    for (done, place) in order.iter().enumerate() {
        most = most
            .max((order.len() - done) as f64 * values[*place].unwrap_or(1.0))
            .min(1.0);
        corrected[*place] = Some(most);
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) {
        assert!(
            (found.unwrap() - expected).abs() < 1e-3 * expected,
            "{found:?} {expected}"
        );
    }

    /// R's `sleep`: t.test(paired) says .002833. R's example of wilcox.test: two-sided .03906.
    #[test]
    #[allow(
        clippy::approx_constant,
        reason = "a depression of 3.14 is not meant to be π"
    )]
    fn p_values_are_those_of_r() {
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        close(t_test(&sleep), 0.002833);
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = before.iter().zip(after).map(|(a, b)| a - b).collect();
        close(wilcoxon(&differences), 0.0390625);
        assert!((two_tails(1.959964) - 0.05).abs() < 1e-6);
    }

    #[test]
    fn ties_zeros_and_few_pairs() {
        // Signs alone: five of five in one direction is 2/32, with or without ties.
        close(wilcoxon(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.0625);
        close(wilcoxon(&[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), 0.0625);
        assert_eq!(
            (wilcoxon(&[0.0, 0.0]), t_test(&[1.0]), t_test(&[2.0, 2.0])),
            (None, None, None)
        );
        assert_eq!(wilcoxon(&[1.0, -1.0]), Some(1.0));
        // The approximation meets the exact one where it begins; at 60 pairs it would have been off
        // by a quarter.
        let spread = |n: i32, least: i32| {
            let signed: Vec<f64> = (1..=n)
                .map(|i| f64::from(i - least))
                .filter(|x| *x != 0.0)
                .collect();
            let mut sizes: Vec<f64> = signed.iter().map(|x| x.abs()).collect();
            sizes.sort_by(f64::total_cmp);
            // Doubled mean ranks of sizes that occur once or twice.
            let rank = |x: f64| {
                let first = sizes.iter().position(|size| *size == x.abs()).unwrap();
                2 * first + 1 + sizes.iter().filter(|size| **size == x.abs()).count()
            };
            let ranks: Vec<usize> = sizes.iter().map(|size| rank(*size)).collect();
            let observed = signed.iter().filter(|x| **x > 0.0).map(|x| rank(*x)).sum();
            assert_eq!(wilcoxon(&signed), Some(exact(&ranks, observed)));
            near(&ranks, observed) / exact(&ranks, observed)
        };
        let few = spread(60, 22);
        let many = spread(200, 86);
        assert!(
            (1.2..1.4).contains(&few) && (1.0..1.1).contains(&many),
            "{few} {many}"
        );
    }

    #[test]
    fn holm_corrects_for_the_number() {
        let corrected = holm(&[Some(0.01), Some(0.04), None, Some(0.03), Some(0.005)]);
        let expected = [Some(0.03), Some(0.06), None, Some(0.06), Some(0.02)];
        for (found, expected) in corrected.iter().zip(expected) {
            assert!(
                found
                    .zip(expected)
                    .is_none_or(|(a, b)| (a - b).abs() < 1e-12)
                    && found.is_some() == expected.is_some()
            );
        }
        assert_eq!(holm(&[Some(0.7), Some(0.9)]), [Some(1.0), Some(1.0)]);
    }
}
