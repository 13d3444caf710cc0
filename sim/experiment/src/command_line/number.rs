//! Numbers on the command line: read, or refused with what is admissible.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

/// The most threads that may be asked for.
pub const THREADS_MAX: u32 = 1024;

/// A number from `low` to `high`, or what is admissible.
pub fn in_range(text: &str, low: f64, high: f64, admissible: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if (low..=high).contains(&x) => Ok(x),
        _ => Err(format!("admissible: {admissible}")),
    }
}

/// Reads a whole number from `low` to `high`, or says that these are admissible.
pub fn whole<N: TryFrom<u64>>(low: u64, high: u64) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let found = text
            .parse()
            .ok()
            .filter(|number| (low..=high).contains(number));
        let fits = found.and_then(|number: u64| N::try_from(number).ok());
        fits.ok_or_else(|| format!("admissible: a whole number from {low} to {high}"))
    }
}

/// A number of paired runs.
pub fn runs(text: &str) -> Result<u32, String> {
    whole(1, 100_000)(text)
}

/// A number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let count: u32 = whole(1, u64::from(THREADS_MAX))(text)?;
    NonZeroUsize::try_from(count as usize).map_err(|error| error.to_string())
}

/// A number of seconds up to a day.
pub fn seconds(text: &str) -> Result<f64, String> {
    in_range(text, 0.0, 86_400.0, "a number of seconds from 0 to 86400")
}

/// The longest time that may be asked for, in milliseconds.
const YEAR_MS: u64 = 365 * 86_400_000;

/// `90`, `90s`, `15m`, `6h`, `250ms`: a time above 0.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let milliseconds = digits
        .parse::<u64>()
        .ok()
        .zip(unit)
        .and_then(|(count, unit)| count.checked_mul(unit));
    match milliseconds.filter(|time| (1..=YEAR_MS).contains(time)) {
        Some(time) => Ok(Duration::from_millis(time)),
        None => Err("admissible: a whole number with its unit, between 1ms and 365d, as in 200ms, 90s, 15m, 2h".to_owned()),
    }
}

/// The arguments with every negative number joined to the option before it, `--epsilon -1` as
/// `--epsilon=-1`: by itself it would be an option that nobody knows, and what is admissible would
/// not be said.
pub fn joined(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut found: Vec<OsString> = Vec::new();
    for argument in arguments {
        let ended = found.iter().any(|before| before == "--");
        match found
            .last_mut()
            .filter(|before| !ended && is_option(before) && is_negative(&argument))
        {
            Some(option) => {
                option.push("=");
                option.push(&argument);
            }
            None => found.push(argument),
        }
    }
    found
}

fn is_option(argument: &OsString) -> bool {
    argument
        .to_str()
        .is_some_and(|text| text.len() > 2 && text.starts_with("--") && !text.contains('='))
}

fn is_negative(argument: &OsString) -> bool {
    let digits = argument.to_str().and_then(|text| text.strip_prefix('-'));
    digits.is_some_and(|text| {
        !text.starts_with('-')
            && (text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
                || text.parse::<f64>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_negative_number_joins_the_option_before_it() {
        let line = |text: &str| {
            joined(text.split(' ').map(OsString::from)).join(OsString::from(" ").as_os_str())
        };
        for (given, expected) in [
            ("s run --seed -1 --runs 2", "s run --seed=-1 --runs 2"),
            (
                "s sweep --seeds -1..3 --epsilon -inf -.5",
                "s sweep --seeds=-1..3 --epsilon=-inf -.5",
            ),
            (
                "s run --resume --out -x -h -1",
                "s run --resume --out -x -h -1",
            ),
            (
                "s run --seed=4 -1 -- --seed -1",
                "s run --seed=4 -1 -- --seed -1",
            ),
        ] {
            assert_eq!(line(given), expected);
        }
    }

    #[test]
    fn whole_numbers_outside_their_range_are_told_it() {
        let byte = whole::<u8>(1, 300);
        assert_eq!((byte("1"), byte("255")), (Ok(1), Ok(255)));
        for wrong in ["0", "301", "-1", "1.0", "", "x", "99999999999999999999"] {
            assert_eq!(
                byte(wrong).unwrap_err(),
                "admissible: a whole number from 1 to 300",
                "{wrong}"
            );
        }
        // What the range admits and the type does not hold is no number either.
        assert!(byte("256").is_err() && threads("1025").is_err() && threads("0").is_err());
        assert_eq!(threads("2").unwrap().get(), 2);
    }
}
