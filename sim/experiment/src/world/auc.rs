//! Area under the ROC curve.

/// Probability that a positive scores higher than a negative, ties counting one half.
///
/// **Equation**: (R − n₊(n₊+1)/2) / (n₊n₋), R the sum of the midranks of the positives (Mann and
/// Whitney 1947). Returns 1/2 if one of the two kinds is missing. **Parameters**: no score is NaN.
/// **Cost**: O(n log n).
pub fn auc(scores: &[f64], positive: &[bool]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len().min(positive.len())).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let mut positives = 0.0;
    let mut ranks = 0.0;
    let mut start = 0;
    while start < order.len() {
        let tied = order[start..]
            .iter()
            .take_while(|i| scores[**i] == scores[order[start]])
            .count()
            .max(1);
        let inside = order[start..start + tied]
            .iter()
            .filter(|i| positive[**i])
            .count() as f64;
        // Ranks start+1 ..= start+tied, their mean counted once for each positive.
        ranks += inside * (start as f64 + 0.5 * (tied as f64 + 1.0));
        positives += inside;
        start += tied;
    }
    let negatives = order.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return 0.5;
    }
    (ranks - 0.5 * positives * (positives + 1.0)) / (positives * negatives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_pairs_and_halves_ties() {
        assert_eq!(auc(&[1.0, 2.0, 3.0, 4.0], &[false, false, true, true]), 1.0);
        assert_eq!(auc(&[1.0, 2.0, 3.0, 4.0], &[true, true, false, false]), 0.0);
        assert_eq!(auc(&[0.0, -0.0, 0.0], &[true, false, true]), 0.5);
        assert_eq!(auc(&[1.0, 2.0], &[true, true]), 0.5);
        // Pairs (2 > 1), (2 = 2), (0 < 1), (0 < 2): 1.5 of 4.
        assert_eq!(
            auc(&[2.0, 1.0, 0.0, 2.0], &[true, false, true, false]),
            0.375
        );
    }
}
