//! How often each regret occurs, to three significant digits: what members answer at report rounds.
//!
//! Quantiles over agents are taken by nearest rank, and a run folder keeps three digits of them.
//! Rounding never reverses the order of two numbers, so rounding the number at a rank gives the
//! number at that rank among the rounded ones: counts of rounded regrets give the same quantiles,
//! to the bit, as all regrets in one place. A decade holds at most 900 rounded regrets, however
//! many agents there are, and members add up their counts before they answer.

use serde::{Deserialize, Serialize};

/// Significant decimal digits that are kept.
const DIGITS: usize = 3;
/// Numbers of three digits within a decade: 100 to 999.
const IN_A_DECADE: u32 = 900;
/// The exponent of the smallest number that is not 0: 4.94·10⁻³²⁴.
const EXPONENT_MIN: i32 = -324;
/// Place of infinity among magnitudes: after that of 9.99·10³⁰⁸.
const INFINITE: u32 = 1 + (308 - EXPONENT_MIN as i64 + 1) as u32 * IN_A_DECADE;
/// Place of NaN, after all others.
const NOT_A_NUMBER: u32 = INFINITE + 1;
/// Place of +0 among all numbers; −0 is the one before.
const CENTRE: u32 = NOT_A_NUMBER + 1;

/// Regrets to three significant digits with their counts.
///
/// **Cost**: a number printed for each regret, about 0.2 µs; on the wire two to four bytes for each
/// number that occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<(u32, u32)>", try_from = "Vec<(u32, u32)>")]
pub struct RegretCounts {
    /// Places of numbers, ascending, with how many regrets are there: at least one.
    counts: Vec<(u32, u32)>,
}

impl RegretCounts {
    /// Counts regrets.
    pub fn of(regrets: &[f64]) -> Self {
        let mut places: Vec<u32> = regrets.iter().map(|regret| place(*regret)).collect();
        places.sort_unstable();
        let counts = places
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], same.len() as u32))
            .collect();
        RegretCounts { counts }
    }

    /// Adds the counts of other agents.
    pub fn add(&mut self, other: &RegretCounts) {
        if other.counts.is_empty() {
            return;
        }
        self.counts.extend(&other.counts);
        // Two ascending runs: the sort finds them and merges.
        self.counts.sort_by_key(|(place, _)| *place);
        self.counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                // More than there are agents: refused by whoever counts them.
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
    }

    /// Number of regrets.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// The regret of this rank, 0-based from the smallest, in the order of [`f64::total_cmp`]; none
    /// if there are not that many.
    pub(crate) fn of_rank(&self, rank: u64) -> Option<f64> {
        let mut below = 0;
        let found = self.counts.iter().find(|(_, count)| {
            below += u64::from(*count);
            rank < below
        });
        found.map(|(place, _)| number(*place))
    }
}

/// Steps from one place to the next, with the counts: small numbers, which take few bytes.
impl From<RegretCounts> for Vec<(u32, u32)> {
    fn from(regret_counts: RegretCounts) -> Self {
        let mut last = 0;
        let counts = regret_counts.counts.into_iter();
        counts
            .map(|(place, count)| (place - std::mem::replace(&mut last, place), count))
            .collect()
    }
}

/// Counts that no list of regrets can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegretCountsError {
    /// A place after the last, or before the one before it.
    #[error("entry {entry} is no number of three digits larger than the one before")]
    Place {
        /// Index of the entry, 0-based.
        entry: usize,
    },
    /// A count of zero, or counts that add up to more than 2³² − 1.
    #[error("entry {entry} counts {count}; admissible: at least 1, and all together below 2³²")]
    Count {
        /// Index of the entry, 0-based.
        entry: usize,
        /// How often it is said to occur.
        count: u32,
    },
}

impl TryFrom<Vec<(u32, u32)>> for RegretCounts {
    type Error = RegretCountsError;

    fn try_from(steps: Vec<(u32, u32)>) -> Result<Self, RegretCountsError> {
        let mut counts = steps;
        let mut last = 0u32;
        let mut all = 0u32;
        for (entry, (place, count)) in counts.iter_mut().enumerate() {
            let next = last
                .checked_add(*place)
                .filter(|next| *next <= CENTRE + NOT_A_NUMBER);
            *place = next
                .filter(|next| entry == 0 || *next > last)
                .ok_or(RegretCountsError::Place { entry })?;
            let more = all.checked_add(*count).filter(|_| *count > 0);
            all = more.ok_or(RegretCountsError::Count {
                entry,
                count: *count,
            })?;
            last = *place;
        }
        Ok(RegretCounts { counts })
    }
}

/// The place of a number among those of three digits: larger numbers, in the order of
/// [`f64::total_cmp`], never have smaller places.
fn place(x: f64) -> u32 {
    let magnitude = match x.abs() {
        0.0 => 0,
        f64::INFINITY => INFINITE,
        finite if finite.is_finite() => {
            magnitude(&format!("{finite:.*e}", DIGITS - 1)).unwrap_or(NOT_A_NUMBER)
        }
        _ => NOT_A_NUMBER,
    };
    if x.is_sign_negative() {
        CENTRE - 1 - magnitude
    } else {
        CENTRE + magnitude
    }
}

/// The place of a number that is printed as `d.ddeE`.
fn magnitude(printed: &str) -> Option<u32> {
    let (digits, exponent) = printed.split_once('e')?;
    let (first, others) = digits.split_once('.')?;
    let digits: u32 = [first, others].concat().parse().ok()?;
    let decade = exponent.parse::<i32>().ok()?.checked_sub(EXPONENT_MIN)?;
    Some(1 + u32::try_from(decade).ok()? * IN_A_DECADE + digits.checked_sub(IN_A_DECADE / 9)?)
}

/// The number at a place.
fn number(place: u32) -> f64 {
    let (sign, magnitude) = if place < CENTRE {
        (-1.0, CENTRE - 1 - place)
    } else {
        (1.0, place - CENTRE)
    };
    match magnitude {
        0 => 0.0 * sign,
        INFINITE => f64::INFINITY * sign,
        NOT_A_NUMBER => f64::NAN,
        finite => {
            let decade = (finite - 1) / IN_A_DECADE;
            let digits = (finite - 1) % IN_A_DECADE + IN_A_DECADE / 9;
            let exponent = decade as i32 + EXPONENT_MIN - (DIGITS as i32 - 1);
            format!("{digits}e{exponent}")
                .parse()
                .map_or(f64::NAN, |x: f64| x * sign)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::random::Stream;

    /// As the recorder had it when all regrets were in one place: the rank among all bits, then
    /// three digits.
    fn printed(x: f64) -> f64 {
        format!("{x:.2e}").parse().unwrap()
    }

    fn extremes() -> Vec<f64> {
        let mut all = vec![
            f64::INFINITY,
            f64::MAX,
            1.797e308,
            999.4999999999999,
            999.5,
            0.9995,
            0.09995,
            1.005,
            1.015,
            f64::MIN_POSITIVE,
            f64::MIN_POSITIVE / 3.0,
            5e-324,
            1.5e-323,
            0.0,
            f64::NAN,
        ];
        all.extend(all.clone().iter().map(|x| -x));
        all
    }

    /// Numbers of all sizes, near ones among them.
    fn spread(seed: u64, count: usize) -> Vec<f64> {
        let mut stream = Stream::from_seed(seed);
        (0..count)
            .map(|i| {
                let unit: f64 = stream.unit();
                match i % 4 {
                    0 => unit,
                    1 => 0.123 + 1e-5 * unit,
                    2 => f64::from_bits((unit * 9e18) as u64),
                    _ => -unit * unit,
                }
            })
            .collect()
    }

    /// Every rank of every list: the number at its place is the rounded one of the raw list, bit by
    /// bit.
    #[test]
    fn a_rank_among_counts_is_the_rounded_rank_among_all() {
        for (seed, count) in [(1, 1), (2, 2), (3, 17), (4, 1000), (5, 4096)] {
            let mut regrets = spread(seed, count);
            regrets.extend(extremes());
            let parts: Vec<RegretCounts> = regrets.chunks(100).map(RegretCounts::of).collect();
            let mut regret_counts = RegretCounts::default();
            // In another order than that of agents.
            parts.iter().rev().for_each(|part| regret_counts.add(part));
            assert_eq!(regret_counts, RegretCounts::of(&regrets));
            regrets.sort_by(f64::total_cmp);
            for (rank, raw) in regrets.iter().enumerate() {
                let found = regret_counts.of_rank(rank as u64).unwrap();
                assert_eq!(
                    found.to_bits(),
                    printed(*raw).to_bits(),
                    "{raw:e} of rank {rank}"
                );
            }
            assert_eq!(
                (
                    regret_counts.count(),
                    regret_counts.of_rank(regrets.len() as u64)
                ),
                (regrets.len() as u64, None)
            );
        }
    }

    #[test]
    fn a_regret_that_is_missing_is_seen() {
        let regrets = spread(6, 999);
        let all = RegretCounts::of(&regrets);
        let fewer = RegretCounts::of(&regrets[..998]);
        assert_ne!(all, fewer);
        assert_eq!((all.count(), fewer.count()), (999, 998));
    }

    /// A hundred thousand regrets between 0.001 and 1 are no more bytes than there are numbers of
    /// three digits.
    #[test]
    fn bytes_are_bounded_by_digits_and_not_by_agents() {
        let mut stream = Stream::from_seed(7);
        let regrets: Vec<f64> = (0..100_000)
            .map(|_| (10f64).powf(-3.0 * stream.unit::<f64>()))
            .collect();
        let regret_counts = RegretCounts::of(&regrets);
        let bytes = postcard::to_allocvec(&regret_counts).unwrap();
        assert!(
            regret_counts.counts.len() <= 2701 && bytes.len() <= 4 * 2701,
            "{} bytes",
            bytes.len()
        );
        assert_eq!(
            postcard::from_bytes::<RegretCounts>(&bytes).unwrap(),
            regret_counts
        );
        assert!(postcard::to_allocvec(&regrets).unwrap().len() > 60 * bytes.len());
    }

    #[test]
    fn counts_that_no_regrets_have_are_refused() {
        let read = |steps: &[(u32, u32)]| RegretCounts::try_from(steps.to_vec());
        assert!(read(&[(0, 1), (CENTRE + NOT_A_NUMBER, u32::MAX - 1)]).is_ok());
        assert_eq!(
            read(&[(5, 1), (0, 1)]),
            Err(RegretCountsError::Place { entry: 1 })
        );
        assert_eq!(
            read(&[(CENTRE + NOT_A_NUMBER + 1, 1)]),
            Err(RegretCountsError::Place { entry: 0 })
        );
        assert_eq!(
            read(&[(1, 1), (u32::MAX, 1)]),
            Err(RegretCountsError::Place { entry: 1 })
        );
        assert_eq!(
            read(&[(1, 1), (1, 0)]),
            Err(RegretCountsError::Count { entry: 1, count: 0 })
        );
        assert_eq!(
            read(&[(1, 1), (1, u32::MAX)]),
            Err(RegretCountsError::Count {
                entry: 1,
                count: u32::MAX
            })
        );
    }
}
