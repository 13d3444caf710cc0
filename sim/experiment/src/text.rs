//! User input as it is quoted in messages: on one line, of bounded length; and what ε means, in the
//! words of all texts.

use std::fmt::{self, Display, Write};

use sordino_host::text::is_unseen;

pub use sordino_host::hex::from_hex;
pub use sordino_host::text::{chain, first_three, significant, significant_down, significant_up};

/// What ε means where agents are the unit, a sentence each. README, the book, `explain`, `promise`
/// and the page say it in these words; a test compares them, and `docs/epsilon.md` names the proof
/// of each.
pub const MEANING: [&str; 5] = [
    "ε compares two worlds: an enrolled agent's contributions are used, or they count as nothing.",
    "Whatever an observer looks for is at most e^ε times as likely in one world as in the other, plus δ.",
    "Between two different things that the agent may have sent, the bound is 2ε at a δ that is 1 + e^ε times as large; at the \
     same δ, ε of that comparison is larger and is shown beside the first.",
    "δ is not the probability that the bound fails: a loss above ε is at least as likely as δ, and often many times as likely.",
    "If both worlds are equally likely beforehand, nobody who guesses \"used\" or \"not used\" is right more often than \
     (1 + δ(0))/2, where δ(0) is δ at ε = 0.",
];

/// What δ is, in help texts and tables.
pub const DELTA: &str = "added to every bound by e^ε; not the probability that the bound fails";

/// A share in per cent with one decimal, rounded up; with two above 99.9 %.
pub fn percent_at_most(share: f64) -> String {
    if share > 0.999 {
        format!("{:.2}", (share * 1e4).ceil() / 1e2)
    } else {
        format!("{:.1}", (share * 1e3).ceil() / 10.0)
    }
}

/// The longest quotation, in characters.
const LENGTH_MAX: usize = 120;

/// Displays a text with what is not seen written as escapes (controls, line ends, directions), cut
/// after `LENGTH_MAX` characters.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, c) in self.0.chars().enumerate() {
            if i == LENGTH_MAX {
                return f.write_char('…');
            }
            if is_unseen(c) {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// The first few lines in which two texts differ, quoted, those of TOML with their section; `None`
/// if the texts are the same.
pub fn difference(there: &str, here: &str) -> Option<String> {
    if there == here {
        return None;
    }
    let (old, new) = (with_sections(there), with_sections(here));
    let gone = old.iter().filter(|line| !new.contains(line));
    let come = new.iter().filter(|line| !old.contains(line));
    let marked = gone
        .map(|line| format!("- {}", Quoted(line)))
        .chain(come.map(|line| format!("+ {}", Quoted(line))));
    let shown: Vec<String> = marked.take(6).collect();
    Some(if shown.is_empty() {
        "the order of keys or lines".to_owned()
    } else {
        shown.join("; ")
    })
}

/// The lines of a text, a key of TOML with the section that it is of: several have a key of the
/// same name.
fn with_sections(text: &str) -> Vec<String> {
    let mut section = "";
    let lines = text.lines().map(|line| {
        let header = line.trim().trim_matches(['[', ']']);
        if line.starts_with('[') {
            section = header;
        }
        match line.split_once(" = ") {
            Some(_) if !section.is_empty() => format!("{section}.{line}"),
            _ => line.to_owned(),
        }
    });
    lines.collect()
}

/// Lines of places in a text of records, as editors count them: CSV readers count CRLF one too low
/// and empty lines not at all. **Cost**: each byte is looked at once, if places come in order.
pub struct Lines<'t> {
    text: &'t [u8],
    at: usize,
    line: u64,
}

impl<'t> Lines<'t> {
    /// The lines of this text.
    pub fn new(text: &'t [u8]) -> Self {
        Lines {
            text,
            at: 0,
            line: 1,
        }
    }

    /// The 1-based line of the record that begins at this byte or behind the line ends that stand
    /// there.
    pub fn of(&mut self, byte: u64) -> u64 {
        let byte = usize::try_from(byte)
            .unwrap_or(usize::MAX)
            .min(self.text.len());
        let ends = self.text[byte..]
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        if byte + ends < self.at {
            (self.at, self.line) = (0, 1);
        }
        for place in self.at..byte + ends {
            let lone = self.text[place] == b'\r' && self.text.get(place + 1) != Some(&b'\n');
            self.line += u64::from(lone || self.text[place] == b'\n');
        }
        self.at = byte + ends;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_says_in_which_section_and_is_never_empty() {
        let swapped = |a, b| format!("[objective]\nnoise = {a}\n[surrogate]\nnoise = {b}\n");
        let (there, here) = (swapped(1, 2), swapped(2, 1));
        assert_eq!(
            difference(&there, &here).as_deref(),
            Some(
                "- objective.noise = 1; - surrogate.noise = 2; + objective.noise = 2; \
                 + surrogate.noise = 1"
            )
        );
        assert_eq!(difference(&there, &there), None);
        let moved = difference("a = 1\nb = 2", "b = 2\na = 1");
        assert_eq!(moved.as_deref(), Some("the order of keys or lines"));
    }

    #[test]
    fn one_line_of_bounded_length() {
        assert_eq!(Quoted("a\n\u{0}ä").to_string(), "a\\n\\u{0}ä");
        // What turns the direction of a terminal's text would hide what stands behind it.
        assert_eq!(Quoted("a\u{202e}b").to_string(), "a\\u{202e}b");
        assert_eq!(
            Quoted(&"x".repeat(500)).to_string().chars().count(),
            LENGTH_MAX + 1
        );
    }

    /// A reader of records begins a record at the second half of CRLF, or at the empty lines above
    /// it.
    #[test]
    fn lines_are_those_of_an_editor_whatever_ends_them() {
        for text in [
            "h\na\n\nb\nc\n",
            "h\r\na\r\n\r\nb\r\nc\r\n",
            "h\ra\r\rb\rc\r",
        ] {
            let mut lines = Lines::new(text.as_bytes());
            let mut found = Vec::new();
            for record in csv::ReaderBuilder::new()
                .has_headers(false)
                .from_reader(text.as_bytes())
                .records()
            {
                found.push(lines.of(record.unwrap().position().unwrap().byte()));
            }
            assert_eq!(found, [1, 2, 4, 5], "{text:?}");
            assert_eq!(
                (lines.of(0), lines.of(u64::MAX)),
                (1, 6),
                "backwards, and behind the end"
            );
        }
    }
}
