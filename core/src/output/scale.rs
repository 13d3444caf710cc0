//! Scores as integers: what a score is given as, its range, its levels, how far one record moves
//! it.

use crate::math;
use crate::parameter::{ConfigError, check};

/// Levels of an opaque score.
const LEVELS: u64 = 1 << 20;
/// Levels for each record of a promised mean.
const LEVELS_PER_RECORD: u64 = 1 << 12;

/// What a score is: what it is given as, its range, its integer levels, how far one record moves
/// it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreScale {
    pub(super) given: Given,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) levels: u64,
    pub(super) sensitivity: u64,
}

/// What the scores of a scale are given as. A mean computed in floating point and brought to the
/// levels of a sum could move by one level more than the sum's Δ, so a scale takes one or the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Sum,
    Number,
}

impl ScoreScale {
    /// Sums over m records of integers in 0..=G; as numbers they are means in [0, G].
    ///
    /// **Errors**: [`ConfigError`] unless 1 ≤ G ≤ 65536 and m ≥ 1.
    pub fn per_record(score_max: u32, records: u32) -> Result<Self, ConfigError> {
        check(
            "score_max",
            f64::from(score_max),
            (1..=1 << 16).contains(&score_max),
            "1..=65536",
        )?;
        check("records", f64::from(records), records >= 1, "1..")?;
        let levels = u64::from(score_max) * u64::from(records);
        let low = 0.0;
        let high = f64::from(score_max);
        Ok(ScoreScale {
            given: Given::Sum,
            low,
            high,
            levels,
            sensitivity: u64::from(score_max),
        })
    }

    /// Numbers in [low, high] that the owner promises to be means over m records of values in [low,
    /// high], so that one record moves them by at most (high − low)/m, *as given*, rounding
    /// included.
    ///
    /// **Errors**: [`ConfigError`] unless low < high are finite and m ≥ 1.
    pub fn promised_mean(low: f64, high: f64, records: u32) -> Result<Self, ConfigError> {
        check("records", f64::from(records), records >= 1, "1..")?;
        let levels = LEVELS_PER_RECORD * u64::from(records);
        // One level more for the rounding of a mean in floating point.
        Self::range(low, high, levels, levels.min(LEVELS_PER_RECORD + 1))
    }

    /// Numbers in [low, high] of which nothing is known: one record may move them through the whole
    /// range.
    ///
    /// **Errors**: [`ConfigError`] unless low < high are finite.
    pub fn opaque(low: f64, high: f64) -> Result<Self, ConfigError> {
        Self::range(low, high, LEVELS, LEVELS)
    }

    fn range(low: f64, high: f64, levels: u64, sensitivity: u64) -> Result<Self, ConfigError> {
        let width = high - low;
        check(
            "high - low",
            width,
            low < high && width.is_finite() && width > 1e-300,
            "(0, inf)",
        )?;
        Ok(ScoreScale {
            given: Given::Number,
            low,
            high,
            levels,
            sensitivity,
        })
    }

    /// Level of a number: clamped, then rounded down; `None` for NaN.
    pub(super) fn level(&self, score: f64) -> Option<i64> {
        if score.is_nan() {
            return None;
        }
        let unit = (score.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        Some((math::floor(unit * self.levels as f64) as i64).clamp(0, self.levels as i64))
    }

    /// The number of a noised level, back in the range: post-processing.
    pub(super) fn number(&self, level: i64) -> f64 {
        let unit = level.clamp(0, self.levels as i64) as f64 / self.levels as f64;
        self.low + unit * (self.high - self.low)
    }

    /// How far one record moves a score, in units of the score.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity as f64 / self.levels as f64 * (self.high - self.low)
    }

    /// Whether one record may move a score through the whole range.
    pub const fn is_opaque(&self) -> bool {
        self.sensitivity >= self.levels
    }
}
