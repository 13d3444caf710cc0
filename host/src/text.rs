//! What messages share: the chain of causes, numbers and lists as people read them, and which name
//! was probably meant.

/// An error and its causes in one line, separated by colons. A cause that the line already ends
/// with is not repeated.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}

/// Whether a character may change how other text is shown: a control, a mark of direction, a
/// separator of lines, or one that is not seen.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text of others as it may stand on a terminal: what is not seen is written as its number.
///
/// ```
/// assert_eq!(sordino_host::text::plain("a\u{1b}[31m"), "a\\u{1b}[31m");
/// ```
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) {
            out.extend(c.escape_unicode())
        } else {
            out.push(c)
        }
    }
    out
}

/// A line of others as it may stand in a comment of Rust or of C: what is not printable ASCII is
/// written as its number, and nothing begins, ends or continues a comment.
///
/// ```
/// assert_eq!(sordino_host::text::commented("a */ int x; \\"), "a \\u{2a}/ int x; \\u{5c}");
/// ```
pub fn commented(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            ' '..='~' if !matches!(c, '*' | '\\' | '?') => out.push(c),
            _ => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// A number with about `digits` significant digits, without an exponent where it is readable
/// without one.
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        return format!("{x:.*e}", digits.saturating_sub(1));
    }
    format!(
        "{x:.*}",
        (digits as f64 - 1.0 - magnitude).max(0.0) as usize
    )
}

/// A number with all digits that tell it from others, and an exponent where it is beyond the
/// decimals that people read.
///
/// ```
/// use sordino_host::text::exact;
/// assert_eq!((exact(0.25), exact(-1e300), exact(0.0)), ("0.25".into(), "-1e300".into(), "0".into()));
/// ```
pub fn exact(x: f64) -> String {
    if x == 0.0 || (1e-5..1e16).contains(&x.abs()) {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// A text of others on one line: what is not seen is written as its number, and what is longer than
/// so many characters ends in an ellipsis.
///
/// ```
/// use sordino_host::text::cut;
/// assert_eq!((cut("a\u{1b}b", 5), cut("0123456789", 5)), ("a\\u{1b}b".into(), "01234…".into()));
/// ```
pub fn cut(text: &str, most: usize) -> String {
    let head: String = text.chars().take(most).collect();
    let is_whole = head.len() == text.len();
    plain(&head) + if is_whole { "" } else { "…" }
}

/// [`significant`], never below x > 0: for bounds that are told as bounds.
pub fn significant_up(x: f64, digits: usize) -> String {
    let nearest = significant(x, digits);
    match nearest.parse::<f64>() {
        // One unit of the last digit is more than what rounding took away.
        Ok(told) if told < x => significant(
            x + 10f64.powf(x.abs().log10().floor() + 1.0 - digits as f64),
            digits,
        ),
        _ => nearest,
    }
}

/// The same, never above x > 0: for what is left of a bound.
pub fn significant_down(x: f64, digits: usize) -> String {
    let nearest = significant(x, digits);
    match nearest.parse::<f64>() {
        Ok(told) if told > x => significant(
            x - 10f64.powf(x.abs().log10().floor() + 1.0 - digits as f64),
            digits,
        ),
        _ => nearest,
    }
}

/// The first three of a list, and how many more there are.
pub fn first_three(names: &[&str], separator: &str) -> String {
    let shown = names[..names.len().min(3)].join(separator);
    match names.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The least number of characters to insert, remove or replace that makes one text the other.
fn distance(one: &str, other: &str) -> usize {
    let a: Vec<char> = one.chars().collect();
    let b: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut diagonal = std::mem::replace(&mut row[0], i);
        for j in 1..=b.len() {
            let substitute = diagonal + usize::from(a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = substitute.min(row[j] + 1).min(row[j - 1] + 1);
        }
    }
    row[b.len()]
}

/// The admissible name nearest to a misspelt one, if one is near.
pub fn nearest<'a>(name: &str, admissible: &[&'a str]) -> Option<&'a str> {
    let near = admissible
        .iter()
        .map(|other| (distance(name, other), *other))
        .min()?;
    (near.0 <= 2.max(name.len() / 4)).then_some(near.1)
}

/// The end of a refusal that names what was probably meant; empty if no name is near.
pub fn did_you_mean(name: &str, admissible: &[&str]) -> String {
    nearest(name, admissible).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_told_below_itself_nor_what_is_left_above() {
        let mut below = 0;
        for step in 1..4000 {
            let x = 0.003 * f64::from(step) * 1.0007f64.powi(step);
            let told: f64 = significant_up(x, 3).parse().unwrap();
            assert!(told >= x && told <= x * 1.0101, "{x}: {told}");
            let left: f64 = significant_down(x, 3).parse().unwrap();
            assert!(left <= x && left >= x * 0.989, "{x}: {left}");
            // Negative control: the nearest number is below every second time.
            below += usize::from(significant(x, 3).parse::<f64>().unwrap() < x);
        }
        assert!(below > 1000, "{below}");
        assert_eq!(
            (significant_up(7.054, 3), significant_up(7.05, 3)),
            ("7.06".to_owned(), "7.05".to_owned())
        );
        assert_eq!(significant_up(f64::INFINITY, 3), "inf");
    }

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug, thiserror::Error)]
        enum Layer {
            #[error("outer")]
            Outer(#[source] Box<Layer>),
            #[error("said: {0}")]
            Said(#[source] std::fmt::Error),
        }
        let error = Layer::Outer(Box::new(Layer::Said(std::fmt::Error)));
        assert_eq!(chain(&error), format!("outer: said: {}", std::fmt::Error));
    }

    #[test]
    fn digits() {
        assert_eq!(significant(9.9085, 3), "9.91");
        assert_eq!(significant(0.002_943_5, 3), "0.00294");
        assert_eq!(significant(1e-5, 1), "1e-5");
        assert_eq!(significant(123.4, 3), "123");
        assert_eq!(significant(f64::INFINITY, 3), "inf");
    }
}
