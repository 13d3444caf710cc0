//! `sordino privacy table`: the losses of many parameters, beside them.
//!
//! The columns q, z, steps and delta are found by name, in any order and among others; the rows
//! come back unchanged and in their order, with four columns appended. A loss without a finite ε is
//! written `inf`. Nothing is written unless every row is admissible.

use std::path::{Path, PathBuf};

use clap::Args;
use csv::StringRecord;
use rayon::prelude::*;
use sordino_core::privacy::accountant::AccountantError;
use sordino_experiment::text::Lines;

use super::super::report::kept;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print::print;
use sordino_lab::privacy::asked::{Choice, sampled};
use sordino_report::rows::csv;

/// `sordino privacy table`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// CSV file with columns q, z, steps, delta, and any others
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The columns read.
const READ: [&str; 4] = ["q", "z", "steps", "delta"];
/// The columns appended.
const APPENDED: [&str; 4] = ["epsilon_rdp", "epsilon_pld", "epsilon_moments", "quality"];
/// Files are read up to this length.
const BYTES_MAX: u64 = 64 << 20;

/// Why a table has no answer: the line, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
enum TableError {
    #[error("1: no line with names of columns")]
    Empty,
    #[error("1: no column `{name}`; needed are {}", READ.join(", "))]
    MissingColumn { name: &'static str },
    #[error("1: column {column}: the name `{name}` is taken twice or is to be appended")]
    Repeated { name: String, column: usize },
    #[error("{line}: column {}: {found} fields where the header has {expected}", found.min(expected) + 1)]
    Fields {
        line: u64,
        found: u64,
        expected: u64,
    },
    /// Not UTF-8, or not CSV.
    #[error("{line}: {what}")]
    Text { line: u64, what: String },
    #[error("{line}: column {column} (`{name}`): `{value}` is not admissible: {admissible}")]
    Field {
        line: u64,
        column: usize,
        name: &'static str,
        value: String,
        admissible: &'static str,
    },
    #[error("{line}: {error}")]
    Accountant { line: u64, error: AccountantError },
}

impl From<csv::Error> for TableError {
    fn from(error: csv::Error) -> Self {
        TableError::at(error.position().map_or(1, csv::Position::line), &error)
    }
}

impl TableError {
    fn at(line: u64, error: &csv::Error) -> Self {
        match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => TableError::Fields {
                line,
                found: *len,
                expected: *expected_len,
            },
            csv::ErrorKind::Utf8 { err, .. } => TableError::Text {
                line,
                what: format!("column {}: not UTF-8", err.field() + 1),
            },
            _ => TableError::Text {
                line,
                what: error.to_string(),
            },
        }
    }
}

/// One row's question.
struct Row {
    line: u64,
    q: f64,
    z: f64,
    steps: u32,
    delta: f64,
}

impl Row {
    /// Its ε by an accountant, and how good a bound that is.
    fn epsilon(&self, accountant: Choice) -> Result<(String, &'static str), TableError> {
        match accountant.epsilon(&sampled(self.q, self.z), self.steps, self.delta) {
            Ok(loss) => Ok((loss.epsilon.to_string(), loss.quality.name())),
            Err(AccountantError::NoFiniteEpsilon { .. }) => Ok(("inf".to_owned(), "none")),
            Err(error) => Err(TableError::Accountant {
                line: self.line,
                error,
            }),
        }
    }
}

/// Reads, answers, writes.
pub fn execute(arguments: &Arguments) -> Result<(), CliError> {
    let name = arguments.file.display().to_string();
    let text = read(&arguments.file)
        .map_err(|error| CliError::input(format!("{name}: cannot be read: {error}")))?;
    let answer = answer(&text).map_err(|error| CliError::input(format!("{name}:{error}")))?;
    match &arguments.out {
        None => print(&answer),
        Some(path) => kept::write(path, answer.as_bytes()),
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    sordino_experiment::files::read_bounded(path, BYTES_MAX)
}

fn answer(text: &[u8]) -> Result<String, TableError> {
    let mut reader = csv::Reader::from_reader(text);
    let header = reader.headers()?.clone();
    if header.is_empty() {
        return Err(TableError::Empty);
    }
    let places = places(&header)?;
    let mut records = Vec::new();
    let mut rows = Vec::new();
    let mut lines = Lines::new(text);
    for record in reader.records() {
        let record =
            record.map_err(|error| TableError::at(line(&mut lines, error.position()), &error))?;
        rows.push(row(&record, line(&mut lines, record.position()), places)?);
        records.push(record);
    }
    let losses = rows.par_iter().map(losses).collect::<Result<Vec<_>, _>>()?;
    // The reader refused rows that are not as long as the header.
    let rows = records.iter().zip(losses).map(|(record, losses)| {
        let kept = record.iter().map(str::to_owned);
        kept.chain(losses)
    });
    Ok(csv(header.iter().chain(APPENDED), rows))
}

/// Line of a position, 1-based.
fn line(lines: &mut Lines<'_>, position: Option<&csv::Position>) -> u64 {
    position.map_or(1, |position| lines.of(position.byte()))
}

/// Where the columns of [`READ`] are.
fn places(header: &StringRecord) -> Result<[usize; 4], TableError> {
    for (column, name) in header.iter().map(str::trim).enumerate() {
        let twice = READ.contains(&name)
            && header
                .iter()
                .take(column)
                .any(|before| before.trim() == name);
        if twice || APPENDED.contains(&name) {
            return Err(TableError::Repeated {
                name: name.to_owned(),
                column: column + 1,
            });
        }
    }
    let mut places = [0; 4];
    for (place, name) in places.iter_mut().zip(READ) {
        *place = header
            .iter()
            .position(|found| found.trim() == name)
            .ok_or(TableError::MissingColumn { name })?;
    }
    Ok(places)
}

fn row(record: &StringRecord, line: u64, places: [usize; 4]) -> Result<Row, TableError> {
    let number = |i: usize, admissible: &'static str, inside: fn(f64) -> bool| {
        let value = record.get(places[i]).unwrap_or_default();
        match value.trim().parse::<f64>() {
            Ok(x) if inside(x) => Ok(x),
            _ => Err(TableError::Field {
                line,
                column: places[i] + 1,
                name: READ[i],
                value: value.to_owned(),
                admissible,
            }),
        }
    };
    Ok(Row {
        line,
        q: number(0, "a probability in [0, 1]", |x| (0.0..=1.0).contains(&x))?,
        z: number(1, "a number from 0.001 to 1e6", |x| {
            (1e-3..=1e6).contains(&x)
        })?,
        steps: number(2, "a whole number from 1 to 1e9", |x| {
            (1.0..=1e9).contains(&x) && x.fract() == 0.0
        })? as u32,
        delta: number(3, "a number in (0, 1)", |x| {
            (f64::MIN_POSITIVE..1.0).contains(&x)
        })?,
    })
}

/// The fields of [`APPENDED`].
fn losses(row: &Row) -> Result<[String; 4], TableError> {
    let (tight, quality) = row.epsilon(Choice::Pld)?;
    Ok([
        row.epsilon(Choice::Rdp)?.0,
        tight,
        row.epsilon(Choice::Moments)?.0,
        quality.to_owned(),
    ])
}
