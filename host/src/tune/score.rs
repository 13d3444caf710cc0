//! What a command prints on its last line, read as a score under rules that are public before
//! anything runs.
//!
//! **Rounding.** A promised mean moves by at most s = range/records. Printed with d decimals it
//! moves by up to s + 10⁻ᵈ. So every score must be printed with at least [`decimals_needed`]
//! decimals, the fewest with 10⁻ᵈ ≤ s, and the sensitivity that noise is scaled to includes the
//! step ([`records_covered`]), and that of a double where scores are so far from 0 that it is not
//! negligible. Trailing zeros count, because nothing distinguishes 0.871 rounded from 0.871 exact.
//! A format with a fixed number of decimals passes for all data; one that drops zeros fails
//! depending on the data, and then the candidate has failed as in a crash: nothing is released, and
//! the failure is visible and not accounted for.

use super::command::Failure;

/// How the last line is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A finite number.
    Number,
    /// A finite number with at least this many decimals.
    Decimals(u32),
    /// `COUNT/RECORDS`, two whole numbers, of which the second must be this one.
    Fraction(u32),
}

/// A score as it was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A finite number.
    Number(f64),
    /// The count of a fraction, at most its records.
    Count(u32),
}

/// The fewest decimals whose last place is at most range/records.
pub fn decimals_needed(range: f64, records: u32) -> u32 {
    let step = range / f64::from(records);
    (0..=300)
        .find(|decimals| last_place(*decimals) <= step)
        .unwrap_or(300)
}

/// 10⁻ᵈ, correctly rounded; infinite, so that no promise holds, where it cannot be computed.
fn last_place(decimals: u32) -> f64 {
    format!("1e-{decimals}").parse().unwrap_or(f64::INFINITY)
}

/// The largest number of records whose promise covers range/records + 10⁻ᵈ, the step of the last
/// decimal included, for scores in [low, high]. A decimal number that is read as a double moves by
/// up to half a unit in its last place; where that unit is above 2⁻¹³ of the rest it is added.
/// (Below it is within the level that the scale itself adds.)
pub fn records_covered((low, high): (f64, f64), records: u32, decimals: u32) -> u32 {
    let range = high - low;
    let largest = low.abs().max(high.abs());
    let moved = range / f64::from(records) + last_place(decimals);
    let unit = largest.next_up() - largest;
    let moved = if unit > moved / 8192.0 {
        moved + unit
    } else {
        moved
    };
    let mut covered = ((range / moved).floor() as u32).clamp(1, records);
    while covered > 1 && range / f64::from(covered) < moved {
        covered -= 1;
    }
    covered
}

/// The whole number that a text is, if it is one.
fn whole(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

impl Reading {
    /// Reads a last line.
    ///
    /// **Errors**: [`Failure::NoNumber`], [`Failure::NotFinite`], [`Failure::Decimals`],
    /// [`Failure::NoFraction`].
    pub fn read(self, line: &str) -> Result<Value, Failure> {
        match self {
            Reading::Number => number(line).map(Value::Number),
            Reading::Decimals(needed) => {
                let value = number(line)?;
                let found = decimals(line).ok_or(Failure::NoNumber)?;
                if found < i64::from(needed) {
                    return Err(Failure::Decimals { found, needed });
                }
                Ok(Value::Number(value))
            }
            Reading::Fraction(records) => {
                let pair = line
                    .split_once('/')
                    .and_then(|(count, of)| whole(count).zip(whole(of)));
                match pair {
                    Some((count, of)) if of == records && count <= of => Ok(Value::Count(count)),
                    _ => Err(Failure::NoFraction { records }),
                }
            }
        }
    }
}

/// Reads a last line as a finite number.
///
/// **Errors**: [`Failure::NoNumber`], [`Failure::NotFinite`].
pub fn number(line: &str) -> Result<f64, Failure> {
    match line.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        Ok(_) => Err(Failure::NotFinite),
        Err(_) => Err(Failure::NoNumber),
    }
}

/// Decimals of a number as it is written: 2 of `0.50`, 5 of `1.5e-4`, −2 of `3e2`.
fn decimals(text: &str) -> Option<i64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let places = mantissa
        .split_once('.')
        .map_or(0, |(_, places)| places.len() as i64);
    places.checked_sub(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_counted_as_written() {
        for (text, expected) in [
            ("0.50", 2),
            ("1", 0),
            ("1.", 0),
            (".125", 3),
            ("-0.8714", 4),
            ("1.5e-4", 5),
            ("3e2", -2),
            ("8.714E-1", 4),
            ("1e-05", 5),
        ] {
            assert_eq!(decimals(text), Some(expected), "{text}");
        }
        assert_eq!(decimals_needed(1.0, 5000), 4);
        assert_eq!(decimals_needed(1.0, 10_000), 4);
        assert_eq!(decimals_needed(1.0, 10_001), 5);
        assert_eq!(decimals_needed(2.0, 1), 0);
        assert_eq!(decimals_needed(1e12, u32::MAX), 0);
        let reading = Reading::Decimals(4);
        assert_eq!(reading.read("0.8714"), Ok(Value::Number(0.8714)));
        assert_eq!(
            reading.read("0.87140000000000000"),
            Ok(Value::Number(0.8714))
        );
        assert_eq!(
            reading.read("0.871"),
            Err(Failure::Decimals {
                found: 3,
                needed: 4
            })
        );
        assert_eq!(
            reading.read("1"),
            Err(Failure::Decimals {
                found: 0,
                needed: 4
            })
        );
        assert_eq!(reading.read("nan"), Err(Failure::NotFinite));
        assert_eq!(reading.read("infinity"), Err(Failure::NotFinite));
        assert_eq!(
            reading.read("1e99999999999999999999"),
            Err(Failure::NotFinite)
        );
        assert_eq!(reading.read("done"), Err(Failure::NoNumber));
        assert_eq!(Reading::Number.read("0.9"), Ok(Value::Number(0.9)));
    }

    /// The printed score of a mean of right/wrong records never moves further than the sensitivity
    /// it is noised for. Control: with the promise alone it does, at 3,000 and at 30,000 records.
    #[test]
    fn the_sensitivity_covers_the_last_decimal() {
        let mut beyond_the_promise = Vec::new();
        for records in [7, 999, 3000, 5000, 30_000] {
            let needed = decimals_needed(1.0, records);
            for decimals in [needed, needed + 1, needed + 3] {
                let covered = records_covered((0.0, 1.0), records, decimals);
                assert!(covered <= records && covered >= 1);
                let printed = |count: u32| -> f64 {
                    let text = format!(
                        "{:.*}",
                        decimals as usize,
                        f64::from(count) / f64::from(records)
                    );
                    text.parse().unwrap()
                };
                let moves = (0..records).map(|count| (printed(count + 1) - printed(count)).abs());
                let most = moves.fold(0.0, f64::max);
                assert!(
                    most <= 1.0 / f64::from(covered) * (1.0 + 1e-9),
                    "{records} {decimals} {most}"
                );
                if most > 1.0 / f64::from(records) * 1.1 {
                    beyond_the_promise.push((records, decimals));
                }
            }
        }
        assert!(
            beyond_the_promise.contains(&(3000, 4)),
            "{beyond_the_promise:?}"
        );
        assert_eq!(records_covered((0.0, 1.0), 5000, 4), 3333);
        assert!(records_covered((0.0, 1.0), 5000, 9) > 4990);
        assert_eq!(records_covered((0.0, 1.0), 1, 0), 1);
    }

    /// Scores of a range far from 0: before the mend the double nearest to a printed score moved by
    /// sixty times of what the noise was scaled to. Control: the sensitivity without a double's
    /// step is exceeded.
    #[test]
    fn the_sensitivity_covers_what_a_double_can_say() {
        let records = 1_000_000;
        for (low, high) in [
            (999_999_999_999.0, 1e12),
            (-1e12, -999_999_999_999.0),
            (0.0, 1.0),
            (-1e6, -999_999.0),
        ] {
            let decimals = decimals_needed(high - low, records) + 1;
            let covered = records_covered((low, high), records, decimals);
            let printed = |count: u32| -> f64 {
                let whole = low as i64;
                let part = f64::from(count) / f64::from(records);
                let exact = if whole < 0 { 1.0 - part } else { part };
                let digits = format!("{exact:.*}", decimals as usize);
                // low + part, digit by digit: no sum in floating point.
                let base = if whole < 0 { whole + 1 } else { whole }.abs();
                let sign = if whole < 0 { "-" } else { "" };
                format!("{sign}{base}{}", &digits[1..]).parse().unwrap()
            };
            let moves = (1..20_000).map(|count| (printed(count + 1) - printed(count)).abs());
            let most = moves.fold(0.0, f64::max);
            let sensitivity = (high - low) / f64::from(covered) * (1.0 + 1.0 / 4096.0);
            assert!(most <= sensitivity, "{low} {most:e} {sensitivity:e}");
            let without = (high - low) / f64::from(records) + last_place(decimals);
            assert_eq!(
                most > without * 2.0,
                low.abs() > 1e11,
                "{low} {most:e} {without:e}"
            );
        }
    }

    #[test]
    fn a_fraction_names_its_records() {
        let reading = Reading::Fraction(5000);
        assert_eq!(reading.read("4357/5000"), Ok(Value::Count(4357)));
        assert_eq!(reading.read("5000 / 5000"), Ok(Value::Count(5000)));
        for bad in [
            "4357/5001",
            "5001/5000",
            "-1/5000",
            "0.5/5000",
            "4357",
            "4357/",
            "/5000",
            "1/2/5000",
            "nan/5000",
        ] {
            assert_eq!(
                reading.read(bad),
                Err(Failure::NoFraction { records: 5000 }),
                "{bad}"
            );
        }
    }
}
