//! Run folders compared: the differences between their scenarios, paired differences, one picture.
//!
//! Two folders can be compared if they have the same trust model and met the same functions: equal
//! `[objective]`, seed, number of rounds and, in a federation, number of agents. Run i of one is
//! then paired with run i of the other, as methods within a folder are. If their numbers of runs
//! differ, the first runs of both are paired, because ten runs are a prefix of thirty.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sordino_experiment::metrics::Estimate;
use sordino_experiment::record::distinct;
use sordino_experiment::scenario::{FEDERATED, Scenario, ScenarioError};
use sordino_experiment::text::{Quoted, significant_up};
use sordino_report::chart::{Chart, Picture};
use sordino_report::differences::{self, Difference, few, p};
use sordino_report::grid::Grid;
use sordino_report::palette::other;
use sordino_report::parts::{scaled, share_axis};
use sordino_report::read::{self, ReadError, RunFiles};
use sordino_report::results::{Results, belonging, epsilon};
use sordino_report::svg::{Curve, Point};
use sordino_report::table::{DASH, or_dash, with_error};
use sordino_report::{federation, figure};

/// Keys besides `[objective]` and the seed by which runs are paired, for each trust model.
const PAIRED_BY: [(&str, &[&str]); 4] = [
    (FEDERATED, &["federation.agents", "federation.rounds"]),
    ("outsourced", &["modeler.rounds"]),
    ("local", &["learning.rounds"]),
    ("output", &["prior.rounds"]),
];

/// Why folders cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A folder that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Folders of two trust models, or of an unknown one.
    #[error(
        "{} is of the trust model `{first}` and {} of `{second}`: what they measure cannot be subtracted; admissible: run \
         folders of one of federated, outsourced, local, output",
        .a.display(), .b.display(), first = Quoted(.first), second = Quoted(.second)
    )]
    Trust {
        /// Path of one of them.
        a: PathBuf,
        /// Path of the other one.
        b: PathBuf,
        /// The trust model of `a`.
        first: String,
        /// The trust model of `b`.
        second: String,
    },
    /// A folder whose scenario was changed.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Folders that met different functions.
    #[error(
        "{} and {} cannot be compared: {key} is {first} in {} and {second} in {}, so that their runs are not paired; \
         admissible: equal [objective], seed and {by}",
        .a.display(), .b.display(), .a.display(), .b.display()
    )]
    Unpaired {
        /// Path of one of them.
        a: PathBuf,
        /// Path of the other one.
        b: PathBuf,
        /// The key that differs.
        key: String,
        /// Its value in folder `a`.
        first: Box<str>,
        /// Its value in folder `b`.
        second: Box<str>,
        /// The other keys that must be equal in this trust model.
        by: Box<str>,
    },
    /// A scenario that reads a file and does not say which one.
    #[error(
        "{path}: its runs cannot be paired with others, because its scenario has no `{key}` and nobody can tell which file it \
         was made from; run it again"
    )]
    UnknownFile {
        /// Path of the folder.
        path: PathBuf,
        /// The key that would say it.
        key: &'static str,
    },
    /// No method is in more than one folder.
    #[error("no method is in more than one of the folders; they have {0}")]
    NoMethod(String),
    /// A method that was asked for and is in no folder.
    #[error("--methods {name}: is in no folder; there are {there}")]
    UnknownMethod {
        /// The name that was asked for.
        name: String,
        /// The methods that the folders have.
        there: String,
    },
}

/// One folder, read and checked.
#[derive(Debug)]
pub struct Side {
    /// Path of the folder.
    pub path: PathBuf,
    /// Its results in the terms that all trust models share.
    pub results: Results,
    /// Methods with the digests of their runs, where the folder has one for each run.
    digests: Vec<(String, Vec<String>)>,
}

impl Side {
    /// Reads a run folder and checks that its parts belong together.
    ///
    /// **Errors**: [`CompareError::Read`], [`CompareError::Scenario`].
    pub fn open(path: &Path) -> Result<Self, CompareError> {
        let results = Results::open(path)?;
        let mut digests: Vec<(String, Vec<String>)> = Vec::new();
        if results.summary.trust == FEDERATED {
            let (file, text) = read::text(path, "scenario.toml")?;
            let scenario = Scenario::parse(&file.display().to_string(), &text, &[])?;
            let mut runs = federation::read(RunFiles::Folder(path), &scenario)?.results;
            runs.sort_by_key(|run| run.run);
            for run in runs {
                let name = run.method.to_string();
                let digest = run.digest.to_string();
                match digests.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) => known.push(digest),
                    None => digests.push((name, vec![digest])),
                }
            }
        }
        Ok(Side {
            path: path.to_owned(),
            results,
            digests,
        })
    }

    /// Digests of the first `runs` runs of a method, or the one digest of all its runs together.
    fn digests(&self, method: &str, runs: usize) -> Vec<String> {
        match self.digests.iter().find(|(name, _)| name == method) {
            Some((_, digests)) => digests.iter().take(runs).cloned().collect(),
            None if self.results.summary.runs as usize == runs => self
                .results
                .summary
                .method(method)
                .and_then(|found| found.digest.clone())
                .into_iter()
                .collect(),
            None => Vec::new(),
        }
    }
}

/// Folders that were found comparable.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Letters of the folders with their paths.
    pub folders: Vec<(String, String)>,
    /// Number of runs that are paired.
    pub runs: u32,
    /// The name of regret in these folders.
    pub regret: String,
    /// The quantity of a run that is compared, in words.
    pub compared_by: String,
    /// Keys in which the resolved scenarios differ, with a value for each folder.
    pub differences: Vec<(String, Vec<String>)>,
    /// Methods of folders.
    pub entries: Vec<Entry>,
    /// Paired differences.
    pub pairs: Vec<Pair>,
    /// Methods left out because only one folder has them, with that folder's letter; empty if
    /// methods were asked for.
    pub left_out: Vec<(String, String)>,
}

/// One method of one folder over the paired runs.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Letter of the folder.
    pub folder: String,
    /// The name of the method.
    pub method: String,
    /// Tight ε at its scenario's δ; `None` if nothing is claimed or the ε is infinite.
    pub epsilon: Option<f64>,
    /// δ and neighbouring relation of that ε, as `ε at δ = 0.0001, zero-out`.
    pub epsilon_is: Option<String>,
    /// The quantity that folders are compared by (in a federation, summed regret): mean and
    /// standard error.
    pub summed_regret: (f64, Option<f64>),
    /// Final regret: mean and standard error.
    pub final_regret: (f64, Option<f64>),
    /// Digests of its paired runs, which say whether two are the same execution.
    pub digests: Vec<String>,
    #[serde(skip)]
    worth: Vec<f64>,
    #[serde(skip)]
    curve: Vec<Point>,
}

/// One method in two folders, run by run.
#[derive(Debug, Serialize)]
pub struct Pair {
    /// The method that both have.
    pub method: String,
    /// Letters of the folders: first − second.
    pub folders: (String, String),
    /// The difference in the compared quantity, with its interval and tests.
    #[serde(flatten)]
    pub difference: Difference,
    /// Whether both are the same execution, bit by bit.
    pub same: bool,
}

/// Compares folders in the methods that more than one of them has, or in the `wanted` ones.
///
/// **Errors**: [`CompareError`].
pub fn compare(sides: &[Side], wanted: &[String]) -> Result<Comparison, CompareError> {
    for other in sides.iter().skip(1) {
        pairable(&sides[0], other)?;
    }
    let runs = sides
        .iter()
        .map(|side| side.results.summary.runs)
        .min()
        .unwrap_or(0);
    let all: Vec<&str> = sides
        .iter()
        .flat_map(|side| &side.results.summary.methods)
        .map(|found| found.name.as_str())
        .collect();
    let mut names: Vec<&str> = distinct(all.iter().copied());
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(CompareError::UnknownMethod {
            name: unknown.clone(),
            there: names.join(", "),
        });
    }
    let often = |name: &str| all.iter().filter(|other| **other == name).count() > 1;
    let there = names.join(", ");
    let left_out = names
        .iter()
        .filter(|name| wanted.is_empty() && !often(name))
        .map(|name| ((*name).to_owned(), first_with(sides, name)))
        .collect();
    names.retain(|name| {
        if wanted.is_empty() {
            often(name)
        } else {
            wanted.iter().any(|other| other == name)
        }
    });
    if names.is_empty() {
        return Err(CompareError::NoMethod(there));
    }
    let mut entries: Vec<Entry> = Vec::new();
    for name in &names {
        let places = sides.iter().enumerate();
        entries.extend(places.filter_map(|(i, side)| entry(side, i, name, runs as usize)));
    }
    let pairs = pairs(&entries);
    if pairs.is_empty() {
        return Err(CompareError::NoMethod(there));
    }
    Ok(Comparison {
        folders: sides
            .iter()
            .enumerate()
            .map(|(i, side)| (letter(i), side.path.display().to_string()))
            .collect(),
        runs,
        regret: sides
            .first()
            .map_or(String::new(), |side| side.results.regret()),
        compared_by: sides
            .first()
            .map_or(String::new(), |side| side.results.compared_by()),
        differences: differences(sides),
        entries,
        pairs,
        left_out,
    })
}

/// The letter of a folder: A, B, C, …
fn letter(place: usize) -> String {
    char::from(b'A' + (place % 26) as u8).to_string()
}

/// The letter of the first folder that has this method.
fn first_with(sides: &[Side], method: &str) -> String {
    sides
        .iter()
        .position(|side| side.results.summary.method(method).is_some())
        .map_or(String::new(), letter)
}

fn pairable(a: &Side, b: &Side) -> Result<(), CompareError> {
    let one = &a.results.summary.trust;
    let two = &b.results.summary.trust;
    let Some((_, by)) = PAIRED_BY
        .iter()
        .find(|(trust, _)| one == two && trust == one)
    else {
        let first = one.clone();
        let second = two.clone();
        return Err(CompareError::Trust {
            a: a.path.clone(),
            b: b.path.clone(),
            first,
            second,
        });
    };
    for side in [a, b] {
        if let Some(key) = undigested(&side.results.scenario) {
            let path = side.path.clone();
            return Err(CompareError::UnknownFile { path, key });
        }
    }
    match unpaired(&a.results.scenario, &b.results.scenario, by) {
        Some((key, [first, second])) => Err(CompareError::Unpaired {
            a: a.path.clone(),
            b: b.path.clone(),
            key,
            first: first.into(),
            second: second.into(),
            by: by.join(", ").into(),
        }),
        None => Ok(()),
    }
}

/// The key in which a scenario would say of which file it was made, if it reads one and does not.
fn undigested(scenario: &toml::Table) -> Option<&'static str> {
    let keys = keys(scenario);
    let kind = value(&keys, "objective.kind");
    let reads = ["\"csv\"", "\"landmine\"", "\"light-sensor\"", "\"stocks\""];
    let wanted = if value(&keys, "objective.design") == "\"list\"" {
        "objective.list_digest"
    } else if reads.contains(&&*kind) {
        "objective.digest"
    } else {
        return None;
    };
    (value(&keys, wanted) == MISSING).then_some(wanted)
}

/// The first key by which runs of two scenarios are not paired, with its value in each.
fn unpaired(a: &toml::Table, b: &toml::Table, by: &[&str]) -> Option<(String, [String; 2])> {
    let both = [keys(a), keys(b)];
    let names = both
        .iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .filter(|name| name.starts_with("objective."));
    // Of two kinds of objectives every key differs: the kind says why.
    distinct(["objective.kind"].into_iter().chain(names))
        .into_iter()
        .chain(["seed"])
        .chain(by.iter().copied())
        .map(|name| (name.to_owned(), [0, 1].map(|i| value(&both[i], name))))
        .find(|(_, [first, second])| first != second)
}

/// Text in place of the value of a missing key.
const MISSING: &str = "missing";

/// Dotted keys of a scenario with their values, sections first to last.
fn keys(scenario: &toml::Table) -> Vec<(String, String)> {
    fn walk(path: &str, value: &toml::Value, out: &mut Vec<(String, String)>) {
        match value {
            toml::Value::Table(table) => {
                for (name, value) in table {
                    walk(
                        &if path.is_empty() {
                            name.clone()
                        } else {
                            format!("{path}.{name}")
                        },
                        value,
                        out,
                    );
                }
            }
            value => out.push((path.to_owned(), value.to_string())),
        }
    }
    let mut out = Vec::new();
    walk("", &toml::Value::Table(scenario.clone()), &mut out);
    out
}

fn value(keys: &[(String, String)], name: &str) -> String {
    keys.iter()
        .find(|(other, _)| other == name)
        .map_or(MISSING.to_owned(), |(_, value)| value.clone())
}

/// Keys in which the scenarios differ, apart from name and description.
fn differences(sides: &[Side]) -> Vec<(String, Vec<String>)> {
    let all: Vec<_> = sides
        .iter()
        .map(|side| keys(&side.results.scenario))
        .collect();
    let names = distinct(all.iter().flatten().map(|(name, _)| name.as_str()));
    names
        .into_iter()
        .filter(|name| !["name", "description"].contains(name))
        .map(|name| {
            let values = all.iter().map(|keys| value(keys, name));
            (name.to_owned(), values.collect::<Vec<_>>())
        })
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .collect()
}

fn entry(side: &Side, place: usize, name: &str, runs: usize) -> Option<Entry> {
    let summary = side.results.summary.method(name)?;
    let first = side.results.curves.clone().first(runs);
    let mean = first
        .means()
        .into_iter()
        .find(|found| found.method == name)?;
    let worth = side
        .results
        .worth()
        .into_iter()
        .find(|(other, _)| other == name)?
        .1;
    let worth: Vec<f64> = worth.into_iter().take(runs).collect();
    let last: Vec<f64> = first
        .of(name)
        .iter()
        .filter_map(|run| run.last().copied())
        .collect();
    Some(Entry {
        folder: letter(place),
        method: name.to_owned(),
        epsilon: epsilon(summary),
        epsilon_is: belonging(summary),
        summed_regret: mean_and_error(&worth),
        final_regret: mean_and_error(&last),
        digests: side.digests(name, runs),
        worth,
        curve: mean.points(),
    })
}

/// The mean of some values and, of two or more, its standard error.
fn mean_and_error(values: &[f64]) -> (f64, Option<f64>) {
    let estimate = Estimate::of(values);
    (estimate.mean, estimate.standard_error)
}

/// Pairs every two folders that have the same method.
fn pairs(entries: &[Entry]) -> Vec<Pair> {
    let named: Vec<(String, Vec<f64>)> = entries
        .iter()
        .map(|entry| (entry.folder.clone(), entry.worth.clone()))
        .collect();
    let places: Vec<(usize, usize)> = (0..entries.len())
        .flat_map(|i| (i + 1..entries.len()).map(move |j| (i, j)))
        .filter(|(i, j)| entries[*i].method == entries[*j].method)
        .collect();
    let found = differences::of(places.iter().map(|(i, j)| (&named[*i], &named[*j])));
    places
        .iter()
        .zip(found)
        .map(|((i, j), difference)| Pair {
            method: entries[*i].method.clone(),
            folders: (difference.first.clone(), difference.second.clone()),
            difference,
            same: !entries[*i].digests.is_empty() && entries[*i].digests == entries[*j].digests,
        })
        .collect()
}

impl Comparison {
    /// The comparison as tables: folders, keys that differ, methods, paired differences.
    pub fn tables(&self) -> Vec<Grid> {
        let folders = self
            .folders
            .iter()
            .map(|(letter, path)| row(&[letter, path]));
        let letters = self.folders.iter().map(|(letter, _)| letter.clone());
        let head = ["key".to_owned()].into_iter().chain(letters).collect();
        let keys = self.differences.iter().map(|(key, values)| {
            [key.clone()]
                .into_iter()
                .chain(values.iter().cloned())
                .collect::<Vec<_>>()
        });
        let entries = self.entries.iter().map(|entry| {
            let told = |(mean, error)| with_error(mean, error);
            let [summed, last] = [entry.summed_regret, entry.final_regret].map(told);
            let epsilon = or_dash(entry.epsilon, |epsilon| significant_up(epsilon, 3));
            let is = or_dash(entry.epsilon_is.as_ref(), String::clone);
            row(&[&entry.method, &entry.folder, &epsilon, &is, &summed, &last])
        });
        let pairs = self.pairs.iter().map(|pair| {
            let found = &pair.difference;
            let interval = if pair.same {
                "the same bits".to_owned()
            } else {
                found.interval()
            };
            let of = if pair.same {
                DASH.to_owned()
            } else {
                format!("{} of {}", found.smaller, self.runs)
            };
            row(&[
                &pair.method,
                &found.name(),
                &interval,
                &of,
                &p(found.t_test),
                &p(found.holm),
                &p(found.wilcoxon),
            ])
        });
        let first_smaller = row(&[
            "method",
            "folders",
            "difference, 95 %",
            "first smaller",
            "p (t)",
            "p (Holm)",
            "p (Wilcoxon)",
        ]);
        let regret = row(&[
            "method",
            "folder",
            "ε",
            "which is",
            &self.compared_by,
            "at the end",
        ]);
        vec![
            (
                "Folders",
                [vec![row(&["", "folder"])], folders.collect()].concat(),
            ),
            ("Keys that differ", [vec![head], keys.collect()].concat()),
            (
                "Methods, mean ± standard error",
                [vec![regret], entries.collect()].concat(),
            ),
            (
                "Paired differences",
                [vec![first_smaller], pairs.collect()].concat(),
            ),
        ]
    }

    /// Remarks that must stand beside the tables.
    pub fn remarks(&self) -> Vec<String> {
        let mut said = vec![format!(
            "{} paired runs; differences of {}, lower is better. p (Holm) is that of the t test, corrected for {} \
             differences.",
            self.runs,
            self.compared_by,
            differences::tested(self.pairs.iter().map(|pair| &pair.difference))
        )];
        if !self.left_out.is_empty() {
            let shown: Vec<String> = self
                .left_out
                .iter()
                .map(|(name, folder)| format!("{name} ({folder})"))
                .collect();
            said.push(format!(
                "Left out, because they are in one folder alone: {}.",
                shown.join(", ")
            ));
        }
        said.extend(few(self.runs as usize));
        said
    }

    /// What the ε of all methods are, each δ and relation once.
    fn epsilons_are(&self) -> Vec<&str> {
        let each = self.entries.iter();
        distinct(each.filter_map(|entry| entry.epsilon_is.as_deref()))
    }

    /// All curves in one picture, a panel for each method.
    pub fn picture(&self) -> Picture {
        let names = distinct(self.entries.iter().map(|entry| entry.method.as_str()));
        let mut charts: Vec<Chart> = Vec::new();
        for name in names {
            let entries = self.entries.iter().filter(|entry| entry.method == name);
            let is_one = self.epsilons_are().len() == 1;
            let curves = entries.map(|entry| curve(entry, is_one));
            charts.push(scaled(name, "round", "", curves.collect()));
        }
        share_axis(&mut charts, &self.regret);
        charts
            .iter_mut()
            .for_each(|chart| chart.y_label.push_str("; lower is better"));
        let folders = self
            .folders
            .iter()
            .map(|(letter, path)| format!("{letter}: {path}."))
            .collect::<Vec<_>>()
            .join(" ");
        let mut band = format!(
            "Mean of {} paired runs, band ± one standard error.",
            self.runs
        );
        if let [is] = self.epsilons_are()[..] {
            band.push_str(&format!(" {is}."));
        }
        Picture {
            name: "comparison".to_owned(),
            title: "Comparison".to_owned(),
            text: format!("{folders} {band}"),
            charts,
            ruler: None,
        }
    }
}

/// One row of a table, of these cells.
fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// The curve of a method of a folder, beside whose name ε stands, and what it is unless all are the
/// same.
fn curve(entry: &Entry, is_one: bool) -> Curve {
    let place = usize::from(entry.folder.bytes().next().unwrap_or(b'A') - b'A');
    Curve {
        // The second class is the first that is not grey.
        class: other(place + 2),
        label: entry.folder.clone(),
        note: match (entry.epsilon, &entry.epsilon_is) {
            (None, _) => String::new(),
            (loss, Some(is)) if !is_one => {
                format!("{}{}", figure::epsilon(loss), is.trim_start_matches('ε'))
            }
            (loss, _) => figure::epsilon(loss),
        },
        points: entry.curve.clone(),
    }
}
