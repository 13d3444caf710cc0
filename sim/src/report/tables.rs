//! The tables of a run folder of any trust model, for a terminal, Markdown, LaTeX and programs.

use serde::Serialize;

use super::differences::{self, Difference, few};
use super::grid::Grid;
use super::parts::words;
use super::results::Results;
use super::rows::{csv, number};
use crate::record::distinct;
use crate::text::significant;

/// A table that a folder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What every method reached and what its releases cost.
    Summary,
    /// Every two methods, run by run.
    Paired,
}

/// A table in all its forms.
#[derive(Clone, Debug)]
pub struct Table {
    /// Words for people, under a heading.
    pub grid: Grid,
    /// What must be stated beside it.
    pub remarks: Vec<String>,
    /// Its numbers to the last bit.
    pub csv: String,
    /// The same as one value.
    pub json: serde_json::Value,
}

/// Makes a table of those methods of a folder that are wanted, or of all.
///
/// **Errors**: the wanted method that is not there.
pub fn table(results: &Results, kind: Kind, wanted: &[String]) -> Result<Table, String> {
    let names: Vec<&str> = results.summary.methods.iter().map(|method| method.name.as_str()).collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(unknown.clone());
    }
    let keeps = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    Ok(match kind {
        Kind::Summary => summary(results, &keeps),
        Kind::Paired => paired(results, &keeps),
    })
}

fn value(of: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(of).unwrap_or_else(|error| error.to_string().into())
}

fn summary(results: &Results, keeps: &dyn Fn(&str) -> bool) -> Table {
    let methods: Vec<_> = results.summary.methods.iter().filter(|method| keeps(&method.name)).collect();
    let measures = distinct(methods.iter().flat_map(|method| &method.measures).map(|measure| measure.name.as_str()));
    let losses = distinct(methods.iter().flat_map(|method| &method.losses).map(|loss| loss.name.as_str()));
    let mut head = vec!["method".to_owned(), "protection".to_owned()];
    head.extend(measures.iter().chain(&losses).map(|name| words(name)));
    let mut rows = vec![head];
    let mut numbers = Vec::new();
    for method in &methods {
        let measured = measures.iter().map(|name| method.measure(name));
        let spent = losses.iter().map(|name| method.loss(name));
        let mut row = vec![method.name.clone(), method.guarantee.clone()];
        row.extend(measured.clone().map(|found| {
            let error = |x| format!(" ± {}", significant(x, 2));
            found.map_or("–".to_owned(), |at| {
                significant(at.mean, 4) + &at.standard_error.map_or(String::new(), error)
            })
        }));
        let told = |value: Option<f64>| value.map_or("∞".to_owned(), |x| significant(x, 3));
        row.extend(spent.clone().map(|found| found.map_or("–".to_owned(), |loss| told(loss.value))));
        rows.push(row);
        let mut exact = vec![method.name.clone(), method.guarantee.clone()];
        exact.extend(
            measured
                .flat_map(|found| [number(found.map(|at| at.mean)), number(found.and_then(|at| at.standard_error))]),
        );
        exact.extend(
            spent.map(|found| found.map_or(String::new(), |loss| loss.value.map_or("inf".into(), |x| number(Some(x))))),
        );
        numbers.push(exact);
    }
    let errors: Vec<String> = measures.iter().map(|name| format!("{name}_standard_error")).collect();
    let pairs = measures.iter().zip(&errors).flat_map(|(name, error)| [*name, error.as_str()]);
    let columns = ["method", "guarantee"].into_iter().chain(pairs).chain(losses.iter().copied());
    Table {
        grid: ("What every method reached, mean ± standard error", rows),
        remarks: remarks(results),
        csv: csv(columns, numbers),
        json: value(&methods),
    }
}

fn paired(results: &Results, keeps: &dyn Fn(&str) -> bool) -> Table {
    let worth: Vec<_> = results.worth().into_iter().filter(|(name, _)| keeps(name)).collect();
    let found = differences::all(&worth);
    let mut rows = vec![differences::HEAD.map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(Difference::cells));
    let columns = ["first", "second", "mean", "half_width", "smaller", "pairs", "p_t", "p_holm", "p_wilcoxon"];
    let exact = |found: &Difference| {
        let numbers = [Some(found.mean), found.half_width].map(number);
        let counts = [found.smaller.to_string(), found.pairs.to_string()];
        let tests = [found.t_test, found.holm, found.wilcoxon].map(number);
        [found.first.clone(), found.second.clone()].into_iter().chain(numbers).chain(counts).chain(tests)
    };
    let mut said = vec![format!(
        "Paired differences of {}: below zero the first is better. p (Holm) is that of the t test, corrected for {} \
         differences.",
        results.compared_by(),
        found.len()
    )];
    said.extend(remarks(results));
    Table {
        grid: ("Paired differences", rows),
        remarks: said,
        csv: csv(columns, found.iter().map(exact)),
        json: value(&found),
    }
}

fn remarks(results: &Results) -> Vec<String> {
    let summary = &results.summary;
    let mut said = vec![format!("{}, {} paired runs, seed {}.", summary.scenario, summary.runs, summary.seed)];
    said.extend(few(summary.runs as usize));
    said
}
