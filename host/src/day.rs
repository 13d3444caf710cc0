//! Days, as labels have them.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// What a day is, in words.
const ADMISSIBLE: &str = "a day that there is, as in 2026-11-23";
/// How far the clocks of the earth are ahead of UTC.
const AHEAD: Duration = Duration::from_secs(14 * 3600);

/// A day of the Gregorian calendar, written YYYY-MM-DD.
///
/// ```
/// use sordino_host::day::Day;
///
/// assert_eq!("2024-02-29".parse::<Day>()?.to_string(), "2024-02-29");
/// for wrong in ["2023-02-29", "2026-13-01", "2026-1-1", "1 May", "2026-11-31"] {
///     assert!(wrong.parse::<Day>().is_err(), "{wrong}");
/// }
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    year: u32,
    month: u32,
    day: u32,
}

/// Days of a month.
fn length(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Day {
    /// The day that it is now, where the clock is furthest ahead; a clock before 1970 says 1970.
    pub fn latest() -> Self {
        Self::of_now(AHEAD)
    }

    fn of_now(ahead: Duration) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self::after_epoch((now.unwrap_or_default() + ahead).as_secs() / 86_400)
    }

    /// The day that it is now in UTC.
    pub fn today() -> Self {
        Self::of_now(Duration::ZERO)
    }

    /// The day that is so many days after the first of 1970.
    fn after_epoch(days: u64) -> Self {
        let mut left = days;
        let mut first = Day {
            year: 1970,
            month: 1,
            day: 1,
        };
        loop {
            let length = length(first.year, first.month);
            if left < u64::from(length) {
                first.day += left as u32;
                return first;
            }
            left -= u64::from(length);
            first.month += 1;
            if first.month > 12 {
                first.year += 1;
                first.month = 1;
            }
        }
    }
}

impl FromStr for Day {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.as_bytes();
        let is_written = bytes.len() == 10
            && bytes.iter().enumerate().all(|(i, byte)| match i {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !is_written {
            return Err(ADMISSIBLE);
        }
        let [year, month, day] = [0..4, 5..7, 8..10].map(|place| text[place].parse().unwrap_or(0));
        if year > 0 && (1..=12).contains(&month) && (1..=length(year, month)).contains(&day) {
            Ok(Day { year, month, day })
        } else {
            Err(ADMISSIBLE)
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_calendars_do() {
        for (days, day) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_784, "2026-11-27"),
        ] {
            assert_eq!(Day::after_epoch(days).to_string(), day);
            assert_eq!(day.parse(), Ok(Day::after_epoch(days)));
        }
        assert!(Day::latest() > "2026-01-01".parse().unwrap());
    }
}
