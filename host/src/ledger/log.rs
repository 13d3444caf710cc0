//! A ledger as it is read back: every line checked, or refused with its number.

use std::path::{Path, PathBuf};

use sordino_core::privacy::SourceKind;

use super::line::{Chain, Entry, Head, LEDGER_VERSION, unseal};
use super::{LedgerError, Terms};

/// What a ledger's file holds.
pub(super) struct Log {
    pub path: PathBuf,
    /// None of a simulated ledger that was never begun.
    pub head: Option<Head>,
    pub entries: Vec<Entry>,
    /// All whole lines, the first line included.
    pub lines: Vec<String>,
    pub chain: Chain,
    /// Bytes of the whole lines.
    pub valid: usize,
    /// What follows the last line feed: a line that was being written when the machine died.
    pub torn: Vec<u8>,
}

/// A term of a ledger in words; `none` where there is no bound.
fn told<T: ToString>(term: Option<T>, none: &str) -> String {
    term.map_or_else(|| none.to_owned(), |term| term.to_string())
}

impl Log {
    /// Reads all lines.
    ///
    /// **Errors**: [`LedgerError::Damaged`] with the first line that is wrong.
    pub fn parse(path: &Path, bytes: &[u8], kind: SourceKind) -> Result<Log, LedgerError> {
        let valid = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let mut log = Log {
            path: path.to_owned(),
            head: None,
            entries: Vec::new(),
            lines: Vec::new(),
            chain: Chain::START,
            valid,
            torn: bytes[valid..].to_vec(),
        };
        for line in bytes[..valid].split_inclusive(|byte| *byte == b'\n') {
            let number = log.lines.len() + 1;
            let text = std::str::from_utf8(&line[..line.len() - 1])
                .map_err(|_| LedgerError::damaged(path, number, "is not text"))?;
            log.line(text, kind)
                .map_err(|problem| LedgerError::damaged(path, number, problem))?;
        }
        Ok(log)
    }

    fn line(&mut self, text: &str, kind: SourceKind) -> Result<(), String> {
        if self.head.is_none() {
            let (head, chain) = unseal::<Head>(self.chain, text)?;
            if head.sordino_ledger != LEDGER_VERSION {
                return Err(format!(
                    "version {}, this program reads {LEDGER_VERSION}",
                    head.sordino_ledger
                ));
            }
            // The id becomes a file name.
            let is_name =
                |id: &String| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            if kind == SourceKind::Secret && !head.id.as_ref().is_some_and(is_name) {
                return Err("a ledger of secret noise needs an id of 32 hexadecimal digits".into());
            }
            (self.head, self.chain) = (Some(head), chain);
        } else {
            let (entry, chain) = unseal::<Entry>(self.chain, text)?;
            self.check(&entry, kind)?;
            self.entries.push(entry);
            self.chain = chain;
        }
        self.lines.push(text.to_owned());
        Ok(())
    }

    fn check(&self, entry: &Entry, kind: SourceKind) -> Result<(), String> {
        let expected = self.entries.len() as u64;
        if entry.sequence != expected {
            return Err(format!(
                "holds charge {} where {expected} was expected",
                entry.sequence
            ));
        }
        if entry.release > expected || (kind == SourceKind::Simulation && entry.release != expected)
        {
            return Err(format!(
                "holds release {} as charge {expected}",
                entry.release
            ));
        }
        let noise = kind.to_string();
        if entry.noise == noise {
            Ok(())
        } else {
            Err(format!(
                "holds a charge of {:?}, not {noise:?}",
                entry.noise
            ))
        }
    }

    /// What the first line says that it is for.
    ///
    /// **Errors**: [`LedgerError::Damaged`] if there is none, or it is of another kind.
    pub fn terms(&self, kind: SourceKind) -> Result<Terms, LedgerError> {
        let noise = kind.to_string();
        let head = self.begun()?.clone();
        if head.noise != noise {
            let problem = format!("is of {:?}, not {noise:?}", head.noise);
            return Err(LedgerError::damaged(&self.path, 1, problem));
        }
        let Head {
            data,
            unit,
            records,
            accountant: accounting,
            epsilon_max,
            delta,
            ..
        } = head;
        Ok(Terms {
            data,
            unit,
            records,
            accounting,
            epsilon_max,
            delta,
        })
    }

    /// The first line.
    ///
    /// **Errors**: [`LedgerError::Damaged`] if there is none.
    fn begun(&self) -> Result<&Head, LedgerError> {
        self.head.as_ref().ok_or_else(|| {
            LedgerError::damaged(&self.path, 1, "is cut off or missing; this is no ledger")
        })
    }

    /// The refusal of a ledger of which one term is not what is asked.
    fn mismatch<T>(
        &self,
        key: &'static str,
        ledger: String,
        asked: String,
    ) -> Result<T, LedgerError> {
        Err(LedgerError::Mismatch {
            path: self.path.clone(),
            key,
            ledger,
            asked,
        })
    }

    /// What it counts, if no charge of these terms can be made in it.
    pub fn counts_else(&self, terms: &Terms) -> Option<String> {
        let Head {
            unit, accountant, ..
        } = self.head.as_ref()?;
        let is_same = *unit == terms.unit && *accountant == terms.accounting;
        (!is_same).then(|| format!("by {unit:?} with the accountant {accountant:?}"))
    }

    /// Refuses a ledger that is for something else than what is asked.
    pub fn check_head(&self, terms: &Terms, kind: SourceKind) -> Result<Terms, LedgerError> {
        let head = self.begun()?;
        let noise = kind.to_string();
        if head.noise != noise {
            return self.mismatch("noise", head.noise.clone(), noise);
        }
        if head.data != terms.data {
            return self.mismatch(
                "data set",
                format!("{:?}", head.data),
                format!("{:?}", terms.data),
            );
        }
        if head.unit != terms.unit {
            return self.mismatch(
                "unit",
                format!("{:?}", head.unit),
                format!("{:?}", terms.unit),
            );
        }
        if terms.records.is_some() && head.records != terms.records {
            return self.mismatch(
                "records",
                told(head.records, "none"),
                told(terms.records, "none"),
            );
        }
        if head.accountant != terms.accounting {
            return self.mismatch(
                "accountant",
                format!("{:?}", head.accountant),
                format!("{:?}", terms.accounting),
            );
        }
        if terms.epsilon_max.is_some() && head.epsilon_max != terms.epsilon_max {
            return self.mismatch(
                "max_epsilon",
                told(head.epsilon_max, "without end"),
                told(terms.epsilon_max, "without end"),
            );
        }
        if head.delta != terms.delta {
            return self.mismatch("delta", head.delta.to_string(), terms.delta.to_string());
        }
        Ok(Terms {
            records: head.records,
            epsilon_max: head.epsilon_max,
            ..terms.clone()
        })
    }
}
