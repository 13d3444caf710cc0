//! The tables of a run folder of any trust model, for a terminal, Markdown, LaTeX and programs.

use clap::ValueEnum;
use serde::Serialize;
use sordino_experiment::record::{Loss, Measure, MethodSummary, distinct};
use sordino_experiment::text::{significant, significant_up};

use super::differences::{self, Difference, few};
use super::grid::Grid;
use super::parts::words;
use super::results::{Results, is_epsilon};
use super::rows::{csv, number};
use super::table::{or_dash, with_error};

/// A table of a run folder; a sweep has the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// What every method reached and what its releases cost
    Summary,
    /// Differences between every two methods, run by run: t test, Holm, Wilcoxon; of a sweep, of
    /// every method to the first of --methods, in each combination
    Paired,
}

/// A table in all its forms.
#[derive(Clone, Debug)]
pub struct Table {
    /// Words for people, under a heading.
    pub grid: Grid,
    /// Remarks that must stand beside it.
    pub remarks: Vec<String>,
    /// Its numbers to the last bit.
    pub csv: String,
    /// The table as one JSON value.
    pub json: serde_json::Value,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A wanted method that is not there.
    #[error("there is no method {0}")]
    NoMethod(String),
    /// Numbers that JSON cannot hold.
    #[error("the table has no JSON form: {0}")]
    Json(#[from] serde_json::Error),
}

/// Makes a table of the wanted methods of a folder, or of all if none is named.
///
/// **Errors**: [`TableError`].
pub fn table(results: &Results, kind: Kind, wanted: &[String]) -> Result<Table, TableError> {
    let names: Vec<&str> = results
        .summary
        .methods
        .iter()
        .map(|method| method.name.as_str())
        .collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(TableError::NoMethod(unknown.clone()));
    }
    match kind {
        Kind::Summary => summary(results, wanted),
        Kind::Paired => paired(results, wanted),
    }
}

/// Whether a method is among the wanted ones; all are if none is named.
fn keeps(wanted: &[String], name: &str) -> bool {
    wanted.is_empty() || wanted.iter().any(|other| other == name)
}

/// The JSON of a table.
///
/// **Errors**: what cannot be written as JSON.
pub fn json(of: &impl Serialize) -> Result<serde_json::Value, TableError> {
    Ok(serde_json::to_value(of)?)
}

fn summary(results: &Results, wanted: &[String]) -> Result<Table, TableError> {
    let methods: Vec<_> = results
        .summary
        .methods
        .iter()
        .filter(|method| keeps(wanted, &method.name))
        .collect();
    let rows: Vec<(Vec<String>, &MethodSummary)> = methods
        .iter()
        .map(|method| (vec![method.name.clone(), method.guarantee.clone()], *method))
        .collect();
    let columns = MethodColumns::of(methods.iter().copied());
    let exact = rows
        .iter()
        .map(|(lead, method)| [lead.clone(), columns.fields(Some(method))].concat());
    let mut said = remarks(results);
    said.extend(results.twins().sentence());
    Ok(Table {
        grid: (
            "What every method reached, mean ± standard error",
            reached(&["method", "protection"], &rows),
        ),
        remarks: said,
        csv: csv(
            ["method", "guarantee"].into_iter().chain(columns.names()),
            exact,
        ),
        json: json(&methods)?,
    })
}

/// Numeric columns about methods, for programs.
pub struct MethodColumns<'m> {
    measures: Vec<&'m str>,
    errors: Vec<String>,
    losses: Vec<&'m str>,
}

impl<'m> MethodColumns<'m> {
    /// All measures and losses that any of the methods has.
    pub fn of(methods: impl Iterator<Item = &'m MethodSummary> + Clone) -> Self {
        let measures = distinct(
            methods
                .clone()
                .flat_map(|method| &method.measures)
                .map(|found| found.name.as_str()),
        );
        let errors = measures
            .iter()
            .map(|measure| format!("{measure}_standard_error"))
            .collect();
        let losses = distinct(
            methods
                .flat_map(|method| &method.losses)
                .map(|loss| loss.name.as_str()),
        );
        MethodColumns {
            measures,
            errors,
            losses,
        }
    }

    /// Heads of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let measures = self
            .measures
            .iter()
            .zip(&self.errors)
            .flat_map(|(measure, error)| [*measure, error.as_str()]);
        measures.chain(self.losses.iter().copied())
    }

    /// Their fields for a method, empty where it has no such number.
    pub fn fields(&self, method: Option<&MethodSummary>) -> Vec<String> {
        let measures = self.measures.iter().flat_map(|name| {
            let measure = method.and_then(|method| method.measure(name));
            [
                number(measure.map(|at| at.mean)),
                number(measure.and_then(|at| at.standard_error)),
            ]
        });
        let losses = self.losses.iter().map(|name| {
            // No finite bound is infinite; no claim is empty.
            match method.and_then(|method| method.loss(name)) {
                Some(loss) => loss
                    .value
                    .map_or("inf".to_owned(), |value| number(Some(value))),
                None => String::new(),
            }
        });
        measures.chain(losses).collect()
    }
}

/// A mean with its standard error, where it has one; a dash without a mean.
fn mean(found: Option<&Measure>) -> String {
    or_dash(found, |at| with_error(at.mean, at.standard_error))
}

/// A loss, which may have no finite bound; a dash without a claim. An ε is rounded up: it stays a
/// bound. δ is the parameter of a claim.
fn bound(found: Option<&Loss>) -> String {
    or_dash(found, |loss| {
        let told = match is_epsilon(&loss.name) {
            true => significant_up,
            false => significant,
        };
        loss.value.map_or("∞".to_owned(), |x| told(x, 3))
    })
}

/// A head, and a row for each method: its own cells, what it reached with standard errors, what its
/// releases cost.
pub fn reached(lead: &[&str], rows: &[(Vec<String>, &MethodSummary)]) -> Vec<Vec<String>> {
    let MethodColumns {
        measures, losses, ..
    } = MethodColumns::of(rows.iter().map(|(_, method)| *method));
    let head = lead.iter().map(|name| (*name).to_owned());
    let mut table = vec![
        head.chain(measures.iter().chain(&losses).map(|name| words(name)))
            .collect::<Vec<_>>(),
    ];
    table.extend(rows.iter().map(|(cells, method)| {
        let measured = measures.iter().map(|name| mean(method.measure(name)));
        let paid = losses.iter().map(|name| bound(method.loss(name)));
        cells.iter().cloned().chain(measured).chain(paid).collect()
    }));
    table
}

fn paired(results: &Results, wanted: &[String]) -> Result<Table, TableError> {
    let worth: Vec<_> = results
        .worth()
        .into_iter()
        .filter(|(name, _)| keeps(wanted, name))
        .collect();
    let found = differences::all(&worth);
    let mut rows = vec![differences::HEAD.map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(Difference::cells));
    let mut said = vec![format!(
        "Paired differences of {}: below zero the first is better. p (Holm) is that of the t test, corrected for {} \
         differences.",
        results.compared_by(),
        differences::tested(&found)
    )];
    said.extend(remarks(results));
    Ok(Table {
        grid: ("Paired differences", rows),
        remarks: said,
        csv: csv(differences::COLUMNS, found.iter().map(Difference::fields)),
        json: json(&found)?,
    })
}

fn remarks(results: &Results) -> Vec<String> {
    let summary = &results.summary;
    let mut said = vec![format!(
        "{}, {} paired runs, seed {}.",
        summary.scenario, summary.runs, summary.seed
    )];
    said.extend(few(summary.runs as usize));
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn what_json_cannot_hold_is_an_error_and_no_text() {
        // A map whose keys are pairs has no JSON.
        let error = json(&BTreeMap::from([((1, 2), 3.0)])).unwrap_err();
        assert!(
            matches!(error, TableError::Json(_))
                && error.to_string().contains("key must be a string"),
            "{error}"
        );
        assert_eq!(json(&["a", "b"]).unwrap(), serde_json::json!(["a", "b"]));
    }
}
