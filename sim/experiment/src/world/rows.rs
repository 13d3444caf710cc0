//! A CSV file with a header, its fields checked one by one.

use std::path::{Path, PathBuf};

use sordino_core::digest::Digest;

use super::ObjectiveError;
use crate::files::{digest_of, other_file, read_bounded};
use crate::text::Lines;

/// Files are read up to this length.
const BYTES_MAX: u64 = 256 << 20;
/// The first bytes of every file that gzip writes.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A CSV file in memory.
#[derive(Debug)]
pub struct Rows {
    path: PathBuf,
    header: Vec<String>,
    records: Vec<(u64, csv::StringRecord)>,
    digest: Digest,
}

/// One line of it.
#[derive(Clone, Copy)]
pub struct Row<'r> {
    rows: &'r Rows,
    line: u64,
    record: &'r csv::StringRecord,
}

impl Rows {
    /// Reads the file.
    ///
    /// **Errors**: a file that cannot be read, is longer than 256 MiB, or has rows of another
    /// length than its header.
    pub fn read(path: &Path) -> Result<Self, ObjectiveError> {
        let bytes = read_bounded(path, BYTES_MAX)
            .map_err(|error| ObjectiveError::unreadable(path, error))?;
        Self::parse(path, &bytes)
    }

    /// Reads its text.
    ///
    /// **Errors**: a header that names a column twice, rows of another length than the header.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ObjectiveError> {
        let malformed = |line, error: csv::Error| ObjectiveError::Row {
            path: path.to_owned(),
            line: error
                .position()
                .map_or(line, |position| Lines::new(bytes).of(position.byte())),
            message: one_line(&error),
        };
        if bytes.starts_with(&GZIP) {
            return Err(ObjectiveError::Compressed {
                path: path.to_owned(),
            });
        }
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let header = reader.headers().map_err(|error| malformed(1, error))?;
        let header: Vec<String> = header
            .iter()
            .map(|name| name.trim_start_matches('\u{feff}').to_owned())
            .collect();
        if let Some(twice) = header
            .iter()
            .enumerate()
            .find(|(i, name)| header[..*i].contains(name))
        {
            let message = format!("column `{}` is there twice", twice.1);
            return Err(ObjectiveError::Row {
                path: path.to_owned(),
                line: 1,
                message,
            });
        }
        let mut records = Vec::new();
        let mut lines = Lines::new(bytes);
        for record in reader.records() {
            let record = record.map_err(|error| malformed(0, error))?;
            records.push((
                record
                    .position()
                    .map_or(0, |position| lines.of(position.byte())),
                record,
            ));
        }
        Ok(Rows {
            path: path.to_owned(),
            header,
            records,
            digest: digest_of(bytes),
        })
    }

    /// Path of the file that was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// SHA-256 of its bytes.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Refuses a file that the scenario was not made for: `wanted` is the digest under the
    /// scenario's `key`, if it has one.
    ///
    /// **Errors**: [`ObjectiveError::Table`].
    pub fn check_digest(
        &self,
        key: &str,
        found: &Digest,
        wanted: Option<&str>,
    ) -> Result<(), ObjectiveError> {
        match other_file(key, found, wanted) {
            None => Ok(()),
            Some(why) => Err(self.error(why)),
        }
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.header.iter().any(|other| other == name)
    }

    /// The index of a column.
    ///
    /// **Errors**: [`ObjectiveError::NoColumn`].
    pub fn column(&self, name: &str) -> Result<usize, ObjectiveError> {
        self.header
            .iter()
            .position(|other| other == name)
            .ok_or_else(|| ObjectiveError::NoColumn {
                path: self.path.clone(),
                column: name.to_owned(),
                there: self.header.join(", "),
            })
    }

    /// Its lines in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|(line, record)| Row {
            rows: self,
            line: *line,
            record,
        })
    }

    /// The error of a file with too few or too many lines.
    pub(crate) fn count_error(&self, found: usize, admissible: &'static str) -> ObjectiveError {
        ObjectiveError::Count {
            path: self.path.clone(),
            found,
            admissible,
        }
    }

    /// An error of the whole file.
    pub fn error(&self, message: String) -> ObjectiveError {
        ObjectiveError::Table {
            path: self.path.clone(),
            message,
        }
    }
}

impl<'r> Row<'r> {
    /// 1-based line in the file.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The field of a column as text.
    pub fn text(&self, column: usize) -> &'r str {
        self.record.get(column).unwrap_or_default()
    }

    /// The field of a column as a finite number that is admitted.
    ///
    /// **Errors**: [`ObjectiveError::Field`].
    pub fn number(
        &self,
        column: usize,
        admits: impl Fn(f64) -> bool,
        admissible: &str,
    ) -> Result<f64, ObjectiveError> {
        let number = self
            .text(column)
            .parse::<f64>()
            .ok()
            .filter(|x| x.is_finite() && admits(*x));
        number.ok_or_else(|| self.refuse(column, admissible))
    }

    /// Refuses the field of a column.
    pub fn refuse(&self, column: usize, admissible: &str) -> ObjectiveError {
        ObjectiveError::Field {
            path: self.rows.path.clone(),
            line: self.line,
            column: self.rows.header.get(column).cloned().unwrap_or_default(),
            value: self.text(column).to_owned(),
            admissible: admissible.to_owned(),
        }
    }
}

/// One line of a CSV file with its line ending, its fields quoted where they must be.
pub fn line(fields: &[impl AsRef<[u8]>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Into memory: nothing fails.
    let _ = writer.write_record(fields);
    String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
}

fn one_line(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("{len} fields; the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "not UTF-8 text".to_owned(),
        _ => error.to_string().replace('\n', " "),
    }
}
