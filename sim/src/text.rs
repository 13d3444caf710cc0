//! What users wrote, as it is quoted in messages: on one line, not endless.

use std::fmt::{self, Display, Write};

/// The longest quotation, in characters.
const LENGTH_MAX: usize = 120;

/// Displays a text with control characters written as escapes, cut after `LENGTH_MAX` characters.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, c) in self.0.chars().enumerate() {
            if i == LENGTH_MAX {
                return f.write_char('…');
            }
            // Line and paragraph separators end a line, too.
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_bounded_length() {
        assert_eq!(Quoted("a\n\u{0}ä").to_string(), "a\\n\\u{0}ä");
        assert_eq!(Quoted(&"x".repeat(500)).to_string().chars().count(), LENGTH_MAX + 1);
    }
}
