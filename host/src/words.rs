//! The last words of a user's command that failed, and lines of bounded length.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A longer line is no answer.
pub(crate) const LINE_MAX: u64 = 1 << 16;
/// The most characters of a line that are quoted.
pub(crate) const WORDS_MAX: usize = 300;

/// How a command ended, in words: the code, or that a signal ended it.
pub(crate) fn how(code: &Option<i32>) -> String {
    code.map_or("was ended by a signal".to_owned(), |code| {
        format!("ended with exit code {code}")
    })
}

/// The end of a message that quotes the last line.
pub(crate) fn said(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!("; its last words: {words}")
    }
}

/// The last line of a command's standard error that is not empty; all of it is read, so that no
/// command waits for a reader.
#[derive(Debug)]
pub(crate) struct Words(Arc<Mutex<String>>);

impl Words {
    /// Begins to read.
    pub fn of(stderr: impl Read + Send + 'static) -> Self {
        let words = Arc::new(Mutex::new(String::new()));
        let kept = words.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stderr);
            while let Some(line) = next_line(&mut reader) {
                let line = line.trim();
                if !line.is_empty() {
                    *kept.lock().unwrap_or_else(PoisonError::into_inner) = line
                        .chars()
                        .filter(|c| !c.is_control())
                        .take(WORDS_MAX)
                        .collect();
                }
            }
        });
        Words(words)
    }

    /// The last line so far.
    pub fn last(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The last line of a command that has ended, which may be on its way for so long.
    pub fn last_after(&self, pause: Duration) -> String {
        std::thread::sleep(pause);
        self.last()
    }
}

/// The next line without its end, at most [`LINE_MAX`] bytes of it; nothing at the end of the
/// output.
pub(crate) fn next_line(reader: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        match reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) => return Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
