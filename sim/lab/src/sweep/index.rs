//! The index of a sweep: one entry for each run, and the tables made from them.

use serde::{Deserialize, Serialize};
use sordino_core::digest::Frame;
use sordino_experiment::record::{Measure, MethodSummary, distinct, noise};
use sordino_experiment::text::first_three;
use sordino_report::rows::csv;
use sordino_report::tables::MethodColumns;

use super::compared::{Compared, PairedCell, differences};
use super::grid::{Axis, Plan, Point, Setting};

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Not yet begun, or interrupted.
    Waiting,
    /// Its folder is complete.
    Done,
    /// It ended with an error; `--resume` tries it again.
    Failed,
}

impl Status {
    /// Its name in the index.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Done => "done",
            Status::Failed => "failed",
        }
    }
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// 0-based place in the sweep.
    pub number: usize,
    /// Name of its folder under `runs/`.
    pub folder: String,
    /// One value for each axis.
    pub values: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
    /// Number of paired runs within it.
    pub runs: u32,
    /// What became of it.
    pub status: Status,
    /// Why the run failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Digest over all its runs and methods, once it is done.
    pub digest: Option<String>,
    /// What its reader is warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// Results, method by method.
    pub methods: Vec<MethodSummary>,
    /// What its methods are compared by, run by run, once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
}

impl Entry {
    /// A run that is still to come.
    pub fn waiting(plan: &Plan, point: &Point, runs: u32) -> Self {
        Entry {
            number: point.number,
            folder: plan.folder(point),
            values: plan.told(&point.values),
            seed: point.seed,
            runs,
            status: Status::Waiting,
            error: None,
            digest: None,
            cautions: Vec::new(),
            methods: Vec::new(),
            compared: None,
        }
    }
}

/// This program's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Version of the format of [`Index`]. Version 1 had methods without their guarantees; in version 2
/// keys with one value were axes, and texts had quotation marks.
pub const FORMAT: u32 = 3;
/// The oldest version that is read.
pub(crate) const FORMAT_READ: u32 = 2;

/// Content of `index.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// Version of the format, [`FORMAT`].
    pub format: u32,
    /// Version that wrote it.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// One line for people.
    pub description: String,
    /// Its trust model.
    pub trust: String,
    /// What the losses of its entries are worth: "simulation: not private", assumed where an index
    /// does not say so.
    #[serde(default = "noise")]
    pub noise: String,
    /// Keys that are swept, each with more than one value.
    pub axes: Vec<Axis>,
    /// Keys that were set to one value, the same in all runs.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// Seeds of the sweep.
    pub seeds: Vec<u64>,
    /// Which methods do not follow which of the axes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
    /// Digest over the digests of all runs, once all are done.
    pub digest: Option<String>,
    /// All runs in order.
    pub entries: Vec<Entry>,
    /// Every method minus the first, run by run, in every combination; made of the entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paired: Vec<PairedCell>,
}

/// A key of a sweep that one of the scenario's own methods sets itself: sweeping it changes only
/// the other methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Name of the method.
    pub method: String,
    /// Dotted name of the key.
    pub key: String,
    /// Its value; `None` if the value changes with another key of the sweep.
    pub value: Option<String>,
}

/// One method in one cell of the grid, over all seeds and runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pooled {
    /// Number of runs included, over all seeds.
    pub runs: u32,
    /// Means over all of them.
    pub summary: MethodSummary,
}

/// One cell of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// One value for each axis.
    pub values: Vec<String>,
    /// Number of seeds that are done.
    pub seeds: usize,
    /// Results by methods.
    pub methods: Vec<Pooled>,
}

impl Cell {
    /// A method of this cell by its name.
    pub(super) fn method(&self, name: &str) -> Option<&Pooled> {
        self.methods
            .iter()
            .find(|method| method.summary.name == name)
    }
}

/// The runs of these that are done.
fn done(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.status == Status::Done)
}

impl Index {
    /// The folders of runs with a status, as one line for people.
    pub fn named(&self, status: Status) -> String {
        let names: Vec<&str> = self
            .entries
            .iter()
            .filter(|entry| entry.status == status)
            .map(|entry| entry.folder.as_str())
            .collect();
        first_three(&names, ", ")
    }

    /// Number of runs with a status.
    pub fn count(&self, status: Status) -> usize {
        self.entries
            .iter()
            .filter(|entry| entry.status == status)
            .count()
    }

    /// What a reader of any of the runs is warned of, each once.
    pub fn cautions(&self) -> Vec<String> {
        let all = self.entries.iter().flat_map(|entry| &entry.cautions);
        distinct(all.map(String::as_str))
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// Sets what is made of the entries: the digest if all runs are done, and the paired
    /// differences.
    pub fn seal(&mut self) {
        self.paired = self.differences(&[]);
        let mut frame = Frame::leaf();
        let all = self
            .entries
            .iter()
            .all(|entry| match (&entry.digest, entry.status) {
                (Some(digest), Status::Done) => {
                    frame.bytes(digest.as_bytes());
                    true
                }
                _ => false,
            });
        self.digest = all.then(|| frame.end().to_string());
    }

    /// Cells with at least one finished run, in the order of the grid.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        // The runs of a cell stand together.
        for entries in self.entries.chunk_by(|a, b| a.values == b.values) {
            let done: Vec<&Entry> = done(entries).collect();
            if let Some(first) = done.first() {
                let methods = (0..first.methods.len()).map(|i| pooled(&done, i)).collect();
                cells.push(Cell {
                    values: first.values.clone(),
                    seeds: done.len(),
                    methods,
                });
            }
        }
        cells
    }

    /// Every method minus the reference in every cell, run by run over all seeds. The reference is
    /// the first of the `wanted` methods, or else the first of the sweep; a cell without it has no
    /// difference.
    pub fn differences(&self, wanted: &[String]) -> Vec<PairedCell> {
        let first = self.methods().next().map(|method| &method.name);
        let Some(reference) = wanted.first().or(first) else {
            return Vec::new();
        };
        let cells = self
            .entries
            .chunk_by(|a, b| a.values == b.values)
            .filter_map(|entries| {
                let names = done(entries)
                    .next()?
                    .methods
                    .iter()
                    .map(|method| method.name.as_str())
                    .collect();
                Some((
                    entries[0].values.as_slice(),
                    names,
                    done(entries)
                        .filter_map(|entry| entry.compared.as_ref())
                        .collect(),
                ))
            });
        differences(cells, reference)
    }

    fn methods(&self) -> impl Iterator<Item = &MethodSummary> {
        self.entries.iter().flat_map(|entry| &entry.methods)
    }

    /// Names of all measures.
    pub fn measures(&self) -> Vec<&str> {
        distinct(
            self.methods()
                .flat_map(|method| &method.measures)
                .map(|measure| measure.name.as_str()),
        )
    }

    /// Names of all losses.
    pub fn losses(&self) -> Vec<&str> {
        distinct(
            self.methods()
                .flat_map(|method| &method.losses)
                .map(|loss| loss.name.as_str()),
        )
    }

    /// `index.csv`: one line for each run and method; a run that is not done has one line.
    pub fn csv(&self) -> String {
        let columns = self.columns();
        // Every run says its number of paired runs, whether that is swept or not.
        let shown: Vec<usize> = (0..self.axes.len())
            .filter(|i| self.axes[*i].key != "runs")
            .collect();
        let keys = shown.iter().map(|i| self.axes[*i].key.as_str());
        let head = ["number", "folder"].into_iter().chain(keys);
        let head = head
            .chain(["seed", "runs", "status", "error", "method", "digest"])
            .chain(columns.names());
        let head = head.chain(self.keeps());
        let mut rows = Vec::new();
        for entry in &self.entries {
            let mut run = vec![entry.number.to_string(), entry.folder.clone()];
            run.extend(shown.iter().map(|i| entry.values[*i].clone()));
            run.extend([
                entry.seed.to_string(),
                entry.runs.to_string(),
                entry.status.name().to_owned(),
            ]);
            run.push(entry.error.clone().unwrap_or_default());
            let methods = match entry.methods.as_slice() {
                [] => vec![None],
                methods => methods.iter().map(Some).collect(),
            };
            for method in methods {
                let name = method.map_or(String::new(), |method| method.name.clone());
                let digest = method
                    .and_then(|method| method.digest.clone())
                    .unwrap_or_default();
                let kept = self.keeps().iter().map(|_| self.kept_by(&name)).collect();
                let own = vec![name, digest];
                rows.push([run.clone(), own, columns.fields(method), kept].concat());
            }
        }
        csv(head, rows)
    }

    /// `summary.csv`: one line for each cell and method, over all seeds and runs.
    pub(crate) fn summary_csv(&self) -> String {
        let columns = self.columns();
        let keys = self.axes.iter().map(|axis| axis.key.as_str());
        let cells = self.cells();
        let rows = cells.iter().flat_map(|cell| {
            cell.methods.iter().map(|method| {
                let own = vec![
                    method.summary.name.clone(),
                    cell.seeds.to_string(),
                    method.runs.to_string(),
                ];
                let kept = self
                    .keeps()
                    .iter()
                    .map(|_| self.kept_by(&method.summary.name))
                    .collect();
                [
                    cell.values.clone(),
                    own,
                    columns.fields(Some(&method.summary)),
                    kept,
                ]
                .concat()
            })
        });
        csv(
            keys.chain(["method", "seeds", "runs_in_all"])
                .chain(columns.names())
                .chain(self.keeps()),
            rows,
        )
    }

    /// The head of the last column, where a method does not follow the sweep.
    fn keeps(&self) -> Option<&'static str> {
        (!self.kept.is_empty()).then_some("kept")
    }

    /// The index with only these methods, or with all if none is named.
    ///
    /// **Errors**: a method that is not there.
    pub fn only(mut self, wanted: &[String]) -> Result<Index, String> {
        if let Some(unknown) = wanted
            .iter()
            .find(|name| self.methods().all(|method| method.name != **name))
        {
            return Err(unknown.clone());
        }
        for entry in &mut self.entries {
            entry
                .methods
                .retain(|method| wanted.is_empty() || wanted.contains(&method.name));
        }
        Ok(self)
    }

    /// The value that one of the scenario's own methods keeps along an axis, in words; `None` if it
    /// follows the sweep.
    pub fn kept(&self, method: &str, axis: usize) -> Option<String> {
        let key = &self.axes[axis].key;
        let found = self
            .kept
            .iter()
            .find(|kept| kept.method == method && kept.key == *key)?;
        Some(found.value.clone().unwrap_or("its own".to_owned()))
    }

    /// Everything that a method keeps, as in `noise_multiplier = 2.0`; empty if it follows the
    /// whole sweep.
    pub(crate) fn kept_by(&self, method: &str) -> String {
        let mut said = Vec::new();
        for axis in 0..self.axes.len() {
            if let Some(value) = self.kept(method, axis) {
                said.push(format!("{} = {value}", self.axes[axis].short()));
            }
        }
        said.join(", ")
    }

    /// A sentence for each method that does not follow the sweep.
    pub(crate) fn keepers(&self) -> Vec<String> {
        let names = distinct(self.methods().map(|method| method.name.as_str()));
        let told = names
            .into_iter()
            .map(|name| (name, self.kept_by(name)))
            .filter(|(_, kept)| !kept.is_empty());
        told.map(|(name, kept)| {
            format!(
                "{name} sets {kept} for itself and does not follow the sweep over it: along that key it is the same everywhere."
            )
        })
        .collect()
    }

    fn columns(&self) -> MethodColumns<'_> {
        MethodColumns::of(self.entries.iter().flat_map(|entry| &entry.methods))
    }
}

/// Method `i` of the finished runs of a cell: means and standard errors as if all runs stood in one
/// list, computed exactly from the means and errors of the parts; the largest loss.
fn pooled(done: &[&Entry], i: usize) -> Pooled {
    let parts: Vec<(u32, &MethodSummary)> = done
        .iter()
        .filter_map(|entry| Some((entry.runs, entry.methods.get(i)?)))
        .collect();
    let mut summary = parts[0].1.clone();
    for measure in &mut summary.measures {
        let of: Vec<(f64, &Measure)> = parts
            .iter()
            .filter_map(|(runs, method)| Some((f64::from(*runs), method.measure(&measure.name)?)))
            .collect();
        let count: f64 = of.iter().map(|(n, _)| n).sum();
        let mean = of.iter().map(|(n, part)| n * part.mean).sum::<f64>() / count;
        // Sum of squared deviations: within a part (n−1)·n·s², between parts n·(mean of the part −
        // mean)².
        let squares: f64 = of
            .iter()
            .map(|(n, part)| {
                let error = part.standard_error.unwrap_or(0.0);
                let off = part.mean - mean;
                (n - 1.0) * n * error * error + n * off * off
            })
            .sum();
        measure.mean = mean;
        measure.standard_error = (count > 1.0).then(|| (squares / (count - 1.0) / count).sqrt());
    }
    for loss in &mut summary.losses {
        let values = parts
            .iter()
            .filter_map(|(_, method)| method.loss(&loss.name));
        loss.value = values
            .map(|loss| loss.value)
            .try_fold(0.0, |most: f64, value| Some(most.max(value?)));
    }
    Pooled {
        runs: parts.iter().map(|(runs, _)| runs).sum(),
        summary,
    }
}

#[cfg(test)]
mod tests {
    use sordino_experiment::metrics::Estimate;

    use super::*;

    #[test]
    fn pooling_is_the_estimate_of_the_joined_list() {
        let a = [1.0, 4.0, 2.0];
        let b = [7.0, 9.0, 8.5];
        let entry = |values: &[f64], epsilon| {
            let estimate = Estimate::of(values);
            let measure = estimate.measure("m");
            let losses = vec![sordino_experiment::record::Loss::new("epsilon", epsilon)];
            let method = MethodSummary {
                name: "x".into(),
                measures: vec![measure],
                losses,
                ..MethodSummary::default()
            };
            Entry {
                number: 0,
                folder: String::new(),
                values: vec![],
                seed: 0,
                runs: values.len() as u32,
                status: Status::Done,
                error: None,
                digest: None,
                cautions: vec![],
                methods: vec![method],
                compared: None,
            }
        };
        let first = entry(&a, Some(1.0));
        let second = entry(&b, Some(2.0));
        let joined = Estimate::of(&[a, b].concat());
        let pooled = pooled(&[&first, &second], 0);
        let measure = pooled.summary.measure("m").unwrap();
        assert!((measure.mean - joined.mean).abs() < 1e-12);
        assert!((measure.standard_error.unwrap() - joined.standard_error.unwrap()).abs() < 1e-12);
        assert_eq!(
            (pooled.runs, pooled.summary.loss("epsilon").unwrap().value),
            (6, Some(2.0))
        );
        // No finite bound in one run is no finite bound.
        let infinite = entry(&b, None);
        assert_eq!(
            super::pooled(&[&first, &infinite], 0).summary.losses[0].value,
            None
        );
        // Single runs under several seeds have a standard error, too.
        let singles: Vec<Entry> = a.iter().map(|x| entry(&[*x], None)).collect();
        let singles: Vec<&Entry> = singles.iter().collect();
        let of_singles = super::pooled(&singles, 0).summary.measures[0]
            .standard_error
            .unwrap();
        assert!((of_singles - Estimate::of(&a).standard_error.unwrap()).abs() < 1e-12);
    }
}
