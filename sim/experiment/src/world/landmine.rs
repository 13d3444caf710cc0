//! The mine fields of Xue, Liao, Carin, Krishnapuram 2007: 29 tasks, 14,820 rows, 9 features, mine
//! or clutter.
//!
//! Read from a CSV file with a header that names at least `task` (0..=28), `split` (`train` or
//! `test`), `label` (0 or 1) and `f1` to `f9`. Columns may stand in any order; others are not read.

use std::io::ErrorKind;
use std::path::Path;

use sordino_core::digest::Digest;

use super::ObjectiveError;
use super::rows::Rows;
use super::tuning::Task;
use crate::files::{digest_of, read_bounded};

/// The name under which the file is distributed.
pub use crate::scenario::objective::LANDMINE_FILE as FILE;
/// Number of tasks, one agent each.
pub const TASKS: usize = 29;
/// Features of a row.
pub const FEATURES: usize = 9;
/// Files are read up to this length; the reference file has 3 MB.
const BYTES_MAX: u64 = 64 << 20;
/// The most rows of a task: the kernel matrix of a larger one would not fit beside the others.
const ROWS_MAX: usize = 5_000;

/// Reads the file.
///
/// **Errors**: every way in which the file can be wrong, with line and column; another digest than
/// the scenario's, if it has one.
pub fn read(path: &Path, digest: Option<&str>) -> Result<Vec<Task>, ObjectiveError> {
    let rows = Rows::parse(path, &bytes(path)?)?;
    rows.check_digest("objective.digest", rows.digest(), digest)?;
    tasks(path, &rows)
}

/// SHA-256 of the file.
///
/// **Errors**: a file that cannot be read.
pub fn digest(path: &Path) -> Result<Digest, ObjectiveError> {
    Ok(digest_of(&bytes(path)?))
}

fn bytes(path: &Path) -> Result<Vec<u8>, ObjectiveError> {
    read_bounded(path, BYTES_MAX).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory => ObjectiveError::Folder {
            path: path.to_owned(),
            file: FILE,
        },
        ErrorKind::FileTooLarge => ObjectiveError::TooLong {
            path: path.to_owned(),
            bytes_max: BYTES_MAX,
        },
        _ => ObjectiveError::unreadable(path, error),
    })
}

/// The same from bytes; `path` is for messages.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Task>, ObjectiveError> {
    tasks(path, &Rows::parse(path, bytes)?)
}

fn tasks(path: &Path, rows: &Rows) -> Result<Vec<Task>, ObjectiveError> {
    let [task_column, split_column, label_column] = [
        rows.column("task")?,
        rows.column("split")?,
        rows.column("label")?,
    ];
    let features = (1..=FEATURES)
        .map(|i| rows.column(&format!("f{i}")))
        .collect::<Result<Vec<_>, _>>()?;
    let mut tasks = vec![
        Task {
            width: FEATURES,
            ..Task::default()
        };
        TASKS
    ];
    for row in rows.iter() {
        let task = row
            .text(task_column)
            .parse()
            .ok()
            .filter(|task: &usize| *task < TASKS);
        let task = task.ok_or_else(|| row.refuse(task_column, "a whole number from 0 to 28"))?;
        let half = match row.text(split_column) {
            "train" => &mut tasks[task].train,
            "test" => &mut tasks[task].test,
            _ => return Err(row.refuse(split_column, "train, test")),
        };
        let positive = match row.text(label_column) {
            "1" => true,
            "0" => false,
            _ => return Err(row.refuse(label_column, "0, 1")),
        };
        if half.positive.len() == ROWS_MAX {
            return Err(row.refuse(task_column, "a task with at most 5,000 rows in each half"));
        }
        half.positive.push(positive);
        for column in &features {
            half.features.push(row.number(
                *column,
                |x| x.abs() <= 1e6,
                "a number from -1e6 to 1e6",
            )?);
        }
    }
    for (task, data) in tasks.iter().enumerate() {
        for (split, rows) in [("train", &data.train), ("test", &data.test)] {
            if !rows.has_both_labels() {
                return Err(ObjectiveError::OneClass {
                    path: path.to_owned(),
                    task,
                    split,
                });
            }
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A valid file: two rows of each label in each half of each task.
    fn lines() -> Vec<String> {
        let mut lines = vec!["task,split,label,f1,f2,f3,f4,f5,f6,f7,f8,f9".to_owned()];
        for task in 0..TASKS {
            for split in ["train", "test"] {
                for label in [0, 1] {
                    lines.push(format!("{task},{split},{label},1,2,3,4,5,6,7,8,{label}.5"));
                }
            }
        }
        lines
    }

    fn refusal(change: impl FnOnce(&mut Vec<String>)) -> String {
        let mut lines = lines();
        change(&mut lines);
        parse(Path::new("x.csv"), lines.join("\n").as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn reads_a_valid_file() {
        let tasks = parse(Path::new("x.csv"), lines().join("\n").as_bytes()).unwrap();
        assert_eq!(tasks.len(), TASKS);
        assert_eq!(tasks[28].test.positive, [false, true]);
        assert_eq!(tasks[28].test.features[17], 1.5);
    }

    #[test]
    fn every_refusal_names_line_column_and_range() {
        assert_eq!(
            refusal(|l| l[3] = l[3].replacen('0', "29", 1)),
            "x.csv:4: `task` is `29`; admissible: a whole number from 0 to 28"
        );
        assert_eq!(
            refusal(|l| l[2] = l[2].replace("train", "valid")),
            "x.csv:3: `split` is `valid`; admissible: train, test"
        );
        assert_eq!(
            refusal(|l| l[5] = "1,train,2,1,2,3,4,5,6,7,8,9".into()),
            "x.csv:6: `label` is `2`; admissible: 0, 1"
        );
        assert_eq!(
            refusal(|l| l[1] = l[1].replace(",4,", ",NaN,")),
            "x.csv:2: `f4` is `NaN`; admissible: a number from -1e6 to 1e6"
        );
        assert_eq!(
            refusal(|l| l[1] = l[1].replace(",4,", ",")),
            "x.csv:2: 11 fields; the header has 12"
        );
        assert_eq!(
            refusal(|l| l[0] = l[0].replace("f9", "f10")),
            "x.csv:1: there is no column `f9`; there are task, split, label, f1, f2, f3, f4, f5, f6, f7, f8, f10"
        );
        assert_eq!(
            refusal(|l| l.truncate(l.len() - 1)),
            "x.csv: task 28 has only one label among its test rows; both are needed"
        );
        assert!(
            read(Path::new("/nowhere/x.csv"), None)
                .unwrap_err()
                .to_string()
                .contains("cannot be read")
        );
    }
}
