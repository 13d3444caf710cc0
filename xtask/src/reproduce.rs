//! The reproductions of the papers' results: all of them to their ends, in `cargo xtask test` with
//! one or two runs, whose bands say nothing, and in `cargo xtask reproduce` at full size, whose
//! bands must hold.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Report, cargo};

/// What an entry of the catalogue says if it reads a file that is not ours to hand on.
const NEEDS_DATA: &str = "needs --data";
/// What an experiment says that has no ratio from a single run.
const TWO: &str = "at least 2 runs";
/// How the program's last line ends if the experiment came to its end and some bands do not hold.
const NOT_ALL: &str = "bands do not hold";

/// Every reproduction that needs no data file, with the fewest runs that it takes. Bands are not
/// judged.
pub fn short(report: &mut Report) {
    report.step("reproductions, one or two runs each", || {
        let binary = program()?;
        let names = names(&binary)?;
        for name in &names {
            ended(&binary, name, &["--runs", "1"]).or_else(|error| {
                if error.contains(TWO) {
                    ended(&binary, name, &["--runs", "2"])
                } else {
                    Err(error)
                }
            })?;
        }
        Ok(format!("{} reproductions ran to their ends", names.len()))
    });
}

/// The same at full size, a step each, whose note says how many bands hold.
pub fn full(report: &mut Report) {
    let mut found = Err("not built".to_owned());
    report.step("catalogue", || {
        let binary = program()?;
        let names = names(&binary)?;
        let said = format!("{} reproductions that need no data file", names.len());
        found = Ok((binary, names));
        Ok(said)
    });
    for (binary, name) in found
        .iter()
        .flat_map(|(binary, names)| names.iter().map(move |name| (binary, name)))
    {
        report.step(&format!("reproduce {name}"), || {
            let (bands, holding) = count(&ended(binary, name, &[])?);
            let said = format!("{holding} of {bands} bands hold");
            if holding == bands {
                Ok(said)
            } else {
                Err(said)
            }
        });
    }
}

fn program() -> Result<PathBuf, String> {
    process::run(&mut cargo(&[
        "build",
        "-q",
        "--release",
        "-p",
        "sordino-sim",
    ]))?;
    Ok(process::target_folder()
        .join("release")
        .join(format!("sordino{}", std::env::consts::EXE_SUFFIX)))
}

fn names(binary: &Path) -> Result<Vec<String>, String> {
    let names = without_data(&process::run(Command::new(binary).arg("reproduce"))?);
    if names.is_empty() {
        Err("the catalogue is empty".to_owned())
    } else {
        Ok(names)
    }
}

/// The names in a catalogue, a line each, without those that need a data file.
fn without_data(catalogue: &str) -> Vec<String> {
    let lines = catalogue.lines().filter(|line| !line.contains(NEEDS_DATA));
    lines
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// What an experiment printed that came to its end, whether or not its bands hold; both end with
/// code 1, but only the one that came to its end says how many bands do not hold.
fn ended(binary: &Path, name: &str, options: &[&str]) -> Result<String, String> {
    let path = process::target_folder().join("reproduce.txt");
    let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut command = Command::new(binary);
    command
        .args(["reproduce", name])
        .args(options)
        .args(["--log", "json"])
        .stderr(file);
    let (said, result) = process::run_keeping(&mut command);
    let told = process::text(&path)?;
    let last = told.lines().last().unwrap_or_default();
    let came_to_its_end = result.is_ok() || last.contains(NOT_ALL);
    match (count(&said), result) {
        ((1.., _), _) if came_to_its_end => Ok(said),
        (_, Ok(())) => Err(format!("sordino reproduce {name}: a table without bands")),
        (_, Err(error)) => Err(format!("sordino reproduce {name}: {error}: {last}")),
    }
}

/// How many rows of a printed table end with this word.
fn ending(table: &str, word: &str) -> usize {
    table
        .lines()
        .filter(|line| line.trim_end_matches([' ', '|', '│']).ends_with(word))
        .count()
}

/// How many bands a printed table has, and how many of them hold: the last column says `yes` or
/// `NO`.
fn count(table: &str) -> (usize, usize) {
    let holding = ending(table, " yes");
    (holding + ending(table, " NO"), holding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogue_and_tables_are_read_as_the_program_prints_them() {
        let catalogue = "a/one    figure 1 (20 runs)\na/two    tables; needs --data x.csv (10 runs)\nb/three  more\n";
        assert_eq!(without_data(catalogue), ["a/one", "b/three"]);
        let table = "b/three\n band  expected  measured  holds \n----\n x      < 1       0.5     yes   \n y      < 1       2.0     NO    \n\
                     Nobody says yes or no here.\n";
        assert_eq!(count(table), (2, 1));
        assert_eq!(count("error"), (0, 0));
    }

    /// An experiment that dies is a failure, one whose bands do not hold has come to its end.
    #[test]
    #[cfg(unix)]
    fn an_experiment_that_dies_is_told_from_one_whose_bands_do_not_hold() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("sordino-reproduce-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let written = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let band = "echo ' x  < 1  2.0  NO '";
        let bands = written(
            "bands",
            &format!("#!/bin/sh\n{band}\necho '1 of 1 bands do not hold' >&2\nexit 1\n"),
        );
        let dies = written(
            "dies",
            "#!/bin/sh\necho 'epoch_len = 0 is outside 1..=1048576' >&2\nexit 2\n",
        );
        let panics = written(
            "panics",
            &format!("#!/bin/sh\n{band}\necho 'panicked' >&2\nexit 101\n"),
        );
        assert!(ended(&bands, "a/b", &[]).unwrap().contains(" NO"));
        for dead in [&dies, &panics] {
            assert!(
                ended(dead, "a/b", &[])
                    .unwrap_err()
                    .contains("sordino reproduce a/b")
            );
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
