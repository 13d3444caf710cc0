//! Dictionaries as Python prints them, which benchmark tables keep in a field.
//!
//! It reads numbers (`nan` and `inf` too), lists, tuples, dictionaries with texts as keys, texts,
//! and `True`, `False`, `None`; JSON is read as well. A call such as
//! `datetime.timedelta(seconds=5)` is skipped: nothing is ever executed.

/// The deepest nesting that is read.
const DEPTH_MAX: u32 = 8;

/// A value of such a dictionary.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A number, NaN and infinities included.
    Number(f64),
    /// A list or tuple.
    List(Vec<Literal>),
    /// A dictionary, in the order of its entries.
    Dictionary(Vec<(String, Literal)>),
    /// Anything else: a text, a truth value, a call.
    Other,
}

impl Literal {
    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Literal::Number(x) => Some(*x),
            _ => None,
        }
    }
}

/// Why a text is not such a dictionary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at its byte {at}, {expected} is expected")]
pub struct LiteralError {
    /// Position of the byte, from 1.
    pub at: usize,
    /// What would have been accepted.
    pub expected: &'static str,
}

/// Reads one value that is the whole text.
///
/// **Errors**: the first place where the text is something else.
pub fn read(text: &str) -> Result<Literal, LiteralError> {
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        depth: 0,
    };
    let value = reader.value()?;
    if reader.peek().is_some() {
        Err(reader.expected("the end of the text"))
    } else {
        Ok(value)
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn expected(&self, expected: &'static str) -> LiteralError {
        LiteralError {
            at: self.at + 1,
            expected,
        }
    }

    /// The next byte that is not a space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn value(&mut self) -> Result<Literal, LiteralError> {
        if self.depth == DEPTH_MAX {
            return Err(self.expected("a value that is nested less deeply"));
        }
        self.depth += 1;
        let value = match self.peek() {
            Some(b'[') => self.many(b']', Self::value).map(Literal::List),
            Some(b'(') => self.many(b')', Self::value).map(Literal::List),
            Some(b'{') => self.many(b'}', Self::entry).map(Literal::Dictionary),
            Some(b'\'' | b'"') => self.quoted().map(|_| Literal::Other),
            _ => self.word(),
        };
        self.depth -= 1;
        value
    }

    /// The values between an opening bracket and `close`, separated by commas; one comma may stand
    /// before `close`.
    fn many<V>(
        &mut self,
        close: u8,
        one: fn(&mut Self) -> Result<V, LiteralError>,
    ) -> Result<Vec<V>, LiteralError> {
        self.at += 1;
        let mut found = Vec::new();
        loop {
            if self.peek() == Some(close) {
                break;
            }
            found.push(one(self)?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(other) if other == close => break,
                _ => return Err(self.expected("a comma or a closing bracket")),
            }
        }
        self.at += 1;
        Ok(found)
    }

    fn entry(&mut self) -> Result<(String, Literal), LiteralError> {
        let key = match self.peek() {
            Some(b'\'' | b'"') => self.quoted()?,
            _ => return Err(self.expected("a name in quotes")),
        };
        match self.peek() {
            Some(b':') => self.at += 1,
            _ => return Err(self.expected("a colon")),
        }
        Ok((key, self.value()?))
    }

    /// A text in quotes; a backslash keeps the next character from ending it.
    fn quoted(&mut self) -> Result<String, LiteralError> {
        let quote = self.text[self.at];
        let from = self.at + 1;
        let mut end = from;
        while self.text.get(end).is_some_and(|byte| *byte != quote) {
            end += if self.text[end] == b'\\' { 2 } else { 1 };
        }
        if end >= self.text.len() {
            return Err(self.expected("a quote that is closed"));
        }
        self.at = end + 1;
        Ok(String::from_utf8_lossy(&self.text[from..end]).into_owned())
    }

    /// A number, a name, or a call.
    fn word(&mut self) -> Result<Literal, LiteralError> {
        let from = self.at;
        while self
            .text
            .get(self.at)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(byte))
        {
            self.at += 1;
        }
        let word = String::from_utf8_lossy(&self.text[from..self.at]).into_owned();
        if self.peek() == Some(b'(') && word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.pass_over_call()?;
            return Ok(Literal::Other);
        }
        // Rust reads `nan`, `inf` and `Infinity` in any case.
        match (word.parse::<f64>(), word.as_str()) {
            (Ok(number), _) => Ok(Literal::Number(number)),
            (_, "True" | "False" | "None" | "true" | "false" | "null") => Ok(Literal::Other),
            _ => {
                self.at = from;
                Err(self.expected("a number, a list or a dictionary"))
            }
        }
    }

    /// Everything up to the bracket that closes the one here.
    fn pass_over_call(&mut self) -> Result<(), LiteralError> {
        let mut open = 0;
        loop {
            match self.peek() {
                Some(b'(') => open += 1,
                Some(b')') => open -= 1,
                Some(b'\'' | b'"') => {
                    self.quoted()?;
                    continue;
                }
                Some(_) => {}
                None => return Err(self.expected("a closing bracket")),
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_and_json_print_is_read() {
        let number = Literal::Number;
        let text = "{'a': [1, -2.5e-1, nan], \"b\": ((1,), []), 'c': datetime.timedelta(days=1, x=')'), 'd': None, 'e\\'f': 'x,'}";
        let Literal::Dictionary(entries) = read(text).unwrap() else {
            panic!("a dictionary")
        };
        let Literal::List(first) = &entries[0].1 else {
            panic!("a list")
        };
        assert_eq!(first[..2], [number(1.0), number(-0.25)]);
        assert!(matches!(first[2], Literal::Number(x) if x.is_nan()));
        let nested = Literal::List(vec![
            Literal::List(vec![number(1.0)]),
            Literal::List(vec![]),
        ]);
        assert_eq!(entries[1], ("b".to_owned(), nested));
        assert_eq!(
            entries[2..]
                .iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["c", "d", "e\\'f"]
        );
        assert!(
            entries[2..]
                .iter()
                .all(|(_, value)| *value == Literal::Other)
        );
        assert_eq!(
            read("[null, -Infinity]").unwrap(),
            Literal::List(vec![Literal::Other, number(f64::NEG_INFINITY)])
        );
    }

    #[test]
    fn anything_else_is_refused_with_its_place() {
        for (text, at, expected) in [
            ("", 1, "a number"),
            ("{'a': 1", 8, "a comma or a closing bracket"),
            ("{1: 2}", 2, "a name in quotes"),
            ("{'a' 2}", 6, "a colon"),
            ("[1] 2", 5, "the end"),
            ("[1 2]", 4, "a comma"),
            ("[x]", 2, "a number"),
            ("'a", 1, "a quote that is closed"),
            ("f(1", 4, "a closing bracket"),
            ("'a\\", 1, "a quote that is closed"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
        let deep = format!("{}1{}", "[".repeat(9), "]".repeat(9));
        assert!(read(&deep).unwrap_err().to_string().contains("less deeply"));
        assert!(read(&deep[2..deep.len() - 2]).is_ok(), "negative control");
    }
}
