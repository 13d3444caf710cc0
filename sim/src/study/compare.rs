//! Run folders beside each other: what differs between their scenarios, paired differences, one picture.
//!
//! Two folders can be compared if the same functions were met: equal `[objective]`, seed, agents and rounds. Then run i of
//! one is paired with run i of the other, as methods within a folder are; with unequal numbers of runs the first runs of
//! both, because ten runs are a prefix of thirty.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::metrics::{Estimate, Paired};
use crate::paired::{PAIRS_FEW, holm, t_test, wilcoxon};
use crate::record::MethodRun;
use crate::report::chart::Chart;
use crate::report::figure;
use crate::report::grid::Grid;
use crate::report::palette::DISTINCT;
use crate::report::read::{self, ReadError, RunRecord};
use crate::report::svg::{Curve, Point};
use crate::scenario::{Scenario, ScenarioError};
use crate::text::{Quoted, significant};

/// Why folders are not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A folder that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A folder of another trust model.
    #[error(
        "{}: is of the trust model `{}`; admissible: run folders of `federated`, whose regret is written down by run, \
         method and round",
        .path.display(), Quoted(.trust)
    )]
    Trust {
        /// The path of the folder.
        path: PathBuf,
        /// As its scenario says.
        trust: String,
    },
    /// A folder whose scenario was changed.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Folders that met different functions.
    #[error(
        "{} and {} cannot be compared: {key} is {first} there and {second} here, so that their runs are not paired; \
         admissible: equal [objective], seed, federation.agents and federation.rounds",
        .a.display(), .b.display()
    )]
    Unpaired {
        /// Path of one of them.
        a: PathBuf,
        /// Path of the other one.
        b: PathBuf,
        /// The key that differs.
        key: String,
        /// Its value in the one.
        first: String,
        /// Its value in the other one.
        second: String,
    },
    /// Methods that no folder has, or a method that only one of them has.
    #[error("no method is in more than one of the folders; they have {0}")]
    NoMethod(String),
    /// A method that was asked for and is in no folder.
    #[error("--methods {name}: is in no folder; there are {there}")]
    UnknownMethod {
        /// As it was asked for.
        name: String,
        /// What there is in their place.
        there: String,
    },
}

/// One folder, read and checked.
#[derive(Debug)]
pub struct Side {
    /// Path of the folder.
    pub path: PathBuf,
    /// What it holds, read and checked.
    pub record: RunRecord,
}

impl Side {
    /// Reads a run folder of the trust model `federated` and checks that its parts belong together.
    ///
    /// **Errors**: [`CompareError::Read`], [`CompareError::Scenario`].
    pub fn open(path: &Path) -> Result<Self, CompareError> {
        let (file, text) = read::text(path, "scenario.toml")?;
        let parsed: toml::Table = text.parse().unwrap_or_default();
        match parsed.get("trust").and_then(toml::Value::as_str) {
            Some(trust) if trust != "federated" => {
                return Err(CompareError::Trust { path: path.to_owned(), trust: trust.to_owned() });
            }
            _ => {}
        }
        let scenario = Scenario::parse(&file.display().to_string(), &text, &[])?;
        Ok(Side { path: path.to_owned(), record: read::run_folder(path, &scenario)? })
    }
}

/// Folders that were found comparable.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Letters of the folders with their paths.
    pub folders: Vec<(String, String)>,
    /// Runs that are paired.
    pub runs: u32,
    /// What regret is called.
    pub regret: String,
    /// Keys of the resolved scenarios that differ, with a value for each folder; empty where it has none.
    pub differences: Vec<(String, Vec<String>)>,
    /// Methods of folders.
    pub entries: Vec<Entry>,
    /// Paired differences.
    pub pairs: Vec<Pair>,
}

/// One method of one folder over the paired runs.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Letter of the folder.
    pub folder: String,
    /// The name of the method.
    pub method: String,
    /// Tight ε at its scenario's δ; nothing if nothing is claimed, infinite ones are missing too.
    pub epsilon: Option<f64>,
    /// Summed regret: mean and standard error.
    pub summed_regret: (f64, Option<f64>),
    /// Final regret: mean and standard error.
    pub final_regret: (f64, Option<f64>),
    /// Digests of its paired runs, which say whether two are the same execution.
    pub digests: Vec<String>,
    #[serde(skip)]
    sums: Vec<f64>,
    #[serde(skip)]
    curve: Vec<Estimate>,
}

/// The summed regret of one method in two folders, run by run.
#[derive(Debug, Serialize)]
pub struct Pair {
    /// The method that both have.
    pub method: String,
    /// Letters of the folders: first − second.
    pub folders: (String, String),
    /// Mean difference.
    pub mean: f64,
    /// Half width of its 95 % confidence interval (Student).
    pub half_width: Option<f64>,
    /// Runs in which the first is smaller.
    pub smaller: usize,
    /// Two-sided p value of the paired t test.
    pub t_test: Option<f64>,
    /// Of Wilcoxon's signed-rank test.
    pub wilcoxon: Option<f64>,
    /// The t test's after Holm's correction for the number of pairs.
    pub holm: Option<f64>,
    /// Both are the same execution, bit by bit.
    pub same: bool,
}

/// Compares folders, those methods of them that are in more than one, or the `wanted` ones.
///
/// **Errors**: [`CompareError`].
pub fn compare(sides: &[Side], wanted: &[String]) -> Result<Comparison, CompareError> {
    for other in sides.iter().skip(1) {
        pairable(&sides[0], other)?;
    }
    let runs = sides.iter().map(|side| side.record.scenario.runs).min().unwrap_or(0);
    let all: Vec<(usize, &str)> = sides
        .iter()
        .enumerate()
        .flat_map(|(place, side)| side.record.summary.methods.iter().map(move |found| (place, found.method.name())))
        .collect();
    let mut names: Vec<&str> = crate::record::distinct(all.iter().map(|(_, name)| *name));
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(CompareError::UnknownMethod { name: unknown.clone(), there: names.join(", ") });
    }
    let often = |name: &str| all.iter().filter(|(_, other)| *other == name).count() > 1;
    let there = names.join(", ");
    names.retain(|name| if wanted.is_empty() { often(name) } else { wanted.iter().any(|other| other == name) });
    if names.is_empty() {
        return Err(CompareError::NoMethod(there));
    }
    let entries: Vec<Entry> = names
        .iter()
        .flat_map(|name| sides.iter().enumerate().filter_map(|(place, side)| entry(side, place, name, runs)))
        .collect();
    let pairs = pairs(&entries);
    if pairs.is_empty() {
        return Err(CompareError::NoMethod(there));
    }
    Ok(Comparison {
        folders: sides.iter().enumerate().map(|(i, side)| (letter(i), side.path.display().to_string())).collect(),
        runs,
        regret: sides.first().map_or("regret", |side| side.record.scenario.objective.regret_name()).to_owned(),
        differences: differences(sides),
        entries,
        pairs,
    })
}

/// The letter of a folder: A, B, C, …
fn letter(place: usize) -> String {
    char::from(b'A' + (place % 26) as u8).to_string()
}

fn pairable(a: &Side, b: &Side) -> Result<(), CompareError> {
    let (one, two) = (&a.record.scenario, &b.record.scenario);
    let refuse = |key: &str, first: String, second: String| {
        Err(CompareError::Unpaired { a: a.path.clone(), b: b.path.clone(), key: key.to_owned(), first, second })
    };
    let both = [keys(&one.resolved()), keys(&two.resolved())];
    // A list of candidates is read from a file, of which the scenario does not say which one it was.
    if value(&both[0], "objective.design") == "\"list\"" {
        let unknown = || "a list that the folder does not hold".to_owned();
        return refuse("objective.design", unknown(), unknown());
    }
    let names = both.iter().flatten().map(|(name, _)| name.as_str()).filter(|name| name.starts_with("objective."));
    for name in crate::record::distinct(names).into_iter().chain(["seed", "federation.agents", "federation.rounds"]) {
        let [first, second] = [0, 1].map(|i| value(&both[i], name));
        if first != second {
            return refuse(name, first, second);
        }
    }
    Ok(())
}

/// Dotted keys of a TOML text with their values, sections first to last.
fn keys(text: &str) -> Vec<(String, String)> {
    fn walk(path: &str, value: &toml::Value, out: &mut Vec<(String, String)>) {
        match value {
            toml::Value::Table(table) => {
                for (name, value) in table {
                    walk(&if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, value, out);
                }
            }
            value => out.push((path.to_owned(), value.to_string())),
        }
    }
    let mut out = Vec::new();
    walk("", &toml::Value::Table(text.parse().unwrap_or_default()), &mut out);
    out
}

fn value(keys: &[(String, String)], name: &str) -> String {
    keys.iter().find(|(other, _)| other == name).map_or("missing".to_owned(), |(_, value)| value.clone())
}

/// Keys in which the scenarios differ, but for what they are called.
fn differences(sides: &[Side]) -> Vec<(String, Vec<String>)> {
    let all: Vec<_> = sides.iter().map(|side| keys(&side.record.scenario.resolved())).collect();
    let names = crate::record::distinct(all.iter().flatten().map(|(name, _)| name.as_str()));
    let of = |name: &str| all.iter().map(|keys| value(keys, name)).collect::<Vec<_>>();
    names
        .into_iter()
        .filter(|name| !["name", "description"].contains(name))
        .map(|name| (name.to_owned(), of(name)))
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .collect()
}

fn entry(side: &Side, place: usize, name: &str, runs: u32) -> Option<Entry> {
    let statistics = side.record.summary.methods.iter().find(|found| found.method.name() == name)?;
    let of = |result: &&MethodRun| result.method.name() == name && result.run < runs;
    let mut results: Vec<&MethodRun> = side.record.results.iter().filter(of).collect();
    results.sort_by_key(|result| result.run);
    let sums: Vec<f64> = results.iter().map(|result| result.regret.iter().sum()).collect();
    let rounds = results.iter().map(|result| result.regret.len()).min().unwrap_or(0);
    let at = |t: usize| Estimate::of(&results.iter().map(|result| result.regret[t]).collect::<Vec<_>>());
    let curve: Vec<Estimate> = (0..rounds).map(at).collect();
    let both = |estimate: &Estimate| (estimate.mean, estimate.standard_error);
    Some(Entry {
        folder: letter(place),
        method: name.to_owned(),
        epsilon: statistics.losses.and_then(|[loss, _]| loss.tight),
        summed_regret: both(&Estimate::of(&sums)),
        final_regret: both(curve.last()?),
        digests: results.iter().map(|result| result.digest.to_string()).collect(),
        sums,
        curve,
    })
}

/// Every two folders that have a method.
fn pairs(entries: &[Entry]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (i, first) in entries.iter().enumerate() {
        for second in entries[i + 1..].iter().filter(|second| second.method == first.method) {
            let paired = Paired::of(&first.sums, &second.sums);
            let differences: Vec<f64> = first.sums.iter().zip(&second.sums).map(|(a, b)| a - b).collect();
            pairs.push(Pair {
                method: first.method.clone(),
                folders: (first.folder.clone(), second.folder.clone()),
                mean: paired.mean,
                half_width: paired.half_width,
                smaller: paired.smaller,
                t_test: t_test(&differences),
                wilcoxon: wilcoxon(&differences),
                holm: None,
                same: first.digests == second.digests,
            });
        }
    }
    let corrected = holm(&pairs.iter().map(|pair| pair.t_test).collect::<Vec<_>>());
    pairs.iter_mut().zip(corrected).for_each(|(pair, corrected)| pair.holm = corrected);
    pairs
}

impl Comparison {
    /// What it says, as tables: folders, keys that differ, methods, paired differences.
    pub fn tables(&self) -> Vec<Grid> {
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<_>>();
        let folders = self.folders.iter().map(|(letter, path)| row(&[letter, path]));
        let letters = self.folders.iter().map(|(letter, _)| letter.clone());
        let head = ["key".to_owned()].into_iter().chain(letters).collect();
        let keys = self
            .differences
            .iter()
            .map(|(key, values)| [key.clone()].into_iter().chain(values.iter().cloned()).collect::<Vec<_>>());
        let entries = self.entries.iter().map(|entry| {
            let epsilon = entry.epsilon.map_or("–".to_owned(), |epsilon| significant(epsilon, 3));
            row(&[
                &entry.method,
                &entry.folder,
                &epsilon,
                &with_error(entry.summed_regret),
                &with_error(entry.final_regret),
            ])
        });
        let pairs = self.pairs.iter().map(|pair| {
            let interval = match (pair.same, pair.half_width) {
                (true, _) => "the same bits".to_owned(),
                (_, Some(half)) => format!("{} ± {}", significant(pair.mean, 3), significant(half, 2)),
                (_, None) => significant(pair.mean, 3),
            };
            let names = format!("{} − {}", pair.folders.0, pair.folders.1);
            let of = format!("{} of {}", pair.smaller, self.runs);
            row(&[&pair.method, &names, &interval, &of, &p(pair.t_test), &p(pair.holm), &p(pair.wilcoxon)])
        });
        let first_smaller =
            row(&["method", "folders", "difference, 95 %", "first smaller", "p (t)", "p (Holm)", "p (Wilcoxon)"]);
        let regret = row(&["method", "folder", "ε (tight)", "summed regret", "final regret"]);
        vec![
            ("Folders", [vec![row(&["", "folder"])], folders.collect()].concat()),
            ("Keys that differ", [vec![head], keys.collect()].concat()),
            ("Methods, mean ± standard error", [vec![regret], entries.collect()].concat()),
            ("Paired differences of summed regret", [vec![first_smaller], pairs.collect()].concat()),
        ]
    }

    /// What must be said beside the tables.
    pub fn remarks(&self) -> Vec<String> {
        let mut said = vec![format!(
            "{} paired runs; {}: lower is better. p (Holm) is that of the t test, corrected for {} differences.",
            self.runs,
            self.regret,
            self.pairs.len()
        )];
        if (self.runs as usize) < PAIRS_FEW {
            said.push(format!(
                "Fewer than {PAIRS_FEW} runs: no p value, interval or order of methods here is to be believed."
            ));
        }
        said
    }

    /// All curves in one picture, a panel for each method.
    pub fn figure(&self) -> String {
        let names = crate::record::distinct(self.entries.iter().map(|entry| entry.method.as_str()));
        let means = || self.entries.iter().flat_map(|entry| &entry.curve);
        let top = means().map(|at| at.mean + at.standard_error.unwrap_or(0.0)).fold(f64::MIN_POSITIVE, f64::max);
        let (scale, y_max, scale_name) = figure::scale(means().map(|at| at.mean).filter(|mean| *mean > 0.0), top);
        let panels: Vec<Chart> = names
            .iter()
            .map(|name| Chart {
                title: (*name).to_owned(),
                x_label: "round".into(),
                y_label: format!("{}, mean over agents{scale_name}; lower is better", self.regret),
                curves: self.entries.iter().filter(|entry| entry.method == *name).map(curve).collect(),
                scale,
                y_max,
            })
            .collect();
        let folders =
            self.folders.iter().map(|(letter, path)| format!("{letter}: {path}")).collect::<Vec<_>>().join(", ");
        let band =
            format!("Mean of {} paired runs, band ± one standard error; ε is the tight accountant's.", self.runs);
        figure::compose("Comparison", &[&folders, &band], &panels)
    }
}

fn curve(entry: &Entry) -> Curve {
    let place = usize::from(entry.folder.bytes().next().unwrap_or(b'A') - b'A');
    let point = |(round, at): (usize, &Estimate)| {
        let error = at.standard_error.unwrap_or(0.0);
        Point { x: round as f64, y: at.mean, low: at.mean - error, high: at.mean + error }
    };
    Curve {
        // The second class is the first that is not grey.
        class: DISTINCT[(place + 2) % DISTINCT.len()],
        label: entry.folder.clone(),
        note: entry.epsilon.map_or(String::new(), |epsilon| figure::epsilon(Some(epsilon))),
        points: entry.curve.iter().enumerate().map(point).collect(),
    }
}

fn with_error((mean, error): (f64, Option<f64>)) -> String {
    error.map_or(significant(mean, 4), |error| format!("{} ± {}", significant(mean, 4), significant(error, 2)))
}

fn p(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(p) if p < 1e-6 => "< 1e-6".to_owned(),
        Some(p) => significant(p, 2),
    }
}
