//! The table of a sweep: every method of every combination, for a terminal, a page, papers and
//! programs.

use sordino_experiment::record::{MethodSummary, Twins};
use sordino_report::differences::few;
use sordino_report::page::Shown;
use sordino_report::tables::{self, Table, TableError, reached};

use super::grid::Axis;
use super::index::{Cell, Index, Pooled};
use super::panels::looks;

/// Heading of the table.
const TITLE: &str = "All combinations, mean ± standard error";

/// The table of the wanted methods, or of all, in all its forms.
///
/// **Errors**: [`TableError`].
pub fn table(index: Index, wanted: &[String]) -> Result<Table, TableError> {
    let index = index.only(wanted).map_err(TableError::NoMethod)?;
    let cells = index.cells();
    let json = tables::json(&cells)?;
    Ok(Table {
        grid: (TITLE, rows(&index, &cells)),
        remarks: remarks(&index, &cells),
        csv: index.summary_csv(),
        json,
    })
}

/// The table for a terminal and a page.
pub fn shown(index: &Index) -> Shown {
    let cells = index.cells();
    let mut rows = rows(index, &cells).into_iter();
    let words = (0..=index.axes.len() + 1).collect();
    let looks = looks(index, &cells);
    let each = cells
        .iter()
        .flat_map(|cell| &cell.methods)
        .map(|method| looks.class(&method.summary.name));
    Shown {
        columns: rows.next().unwrap_or_default(),
        rows: rows.collect(),
        looks: each.collect(),
        words,
        notes: remarks(index, &cells),
        cautions: index.cautions(),
        noise: true,
    }
}

fn rows(index: &Index, cells: &[Cell]) -> Vec<Vec<String>> {
    let keys = index.axes.iter().map(Axis::short);
    let head: Vec<&str> = keys
        .chain(["method", "protection", "runs in all"])
        .collect();
    let mut rows: Vec<(Vec<String>, &MethodSummary)> = Vec::new();
    for cell in cells {
        for method in &cell.methods {
            rows.push((lead(index, cell, method), &method.summary));
        }
    }
    reached(&head, &rows)
}

/// What a row says before its numbers: values of the keys, method, protection and runs.
fn lead(index: &Index, cell: &Cell, method: &Pooled) -> Vec<String> {
    let name = &method.summary.name;
    let told = cell.values.iter().enumerate();
    let values = told.map(|(axis, value)| match index.kept(name, axis) {
        Some(kept) => format!("{kept} (kept)"),
        None => value.clone(),
    });
    let own = [
        name.clone(),
        method.summary.guarantee.clone(),
        method.runs.to_string(),
    ];
    values.chain(own).collect()
}

fn remarks(index: &Index, cells: &[Cell]) -> Vec<String> {
    let seeds = if index.seeds.len() == 1 {
        ""
    } else {
        " of all seeds"
    };
    let mut said = vec![format!("{}: means over all runs{seeds}.", index.scenario)];
    let runs = cells
        .iter()
        .flat_map(|cell| &cell.methods)
        .map(|method| method.runs)
        .min();
    said.extend(runs.and_then(|runs| few(runs as usize)));
    said.extend(index.keepers());
    for cell in cells {
        // Of one seed: the digests of others say nothing about this one's.
        let Some(twins) =
            Twins::of(cell.methods.iter().map(|method| method.summary.named())).sentence()
        else {
            continue;
        };
        let keys = index
            .axes
            .iter()
            .zip(&cell.values)
            .map(|(axis, value)| format!("{} = {value}", axis.short()));
        let place = keys.collect::<Vec<_>>().join(", ");
        said.push(if place.is_empty() {
            twins
        } else {
            format!("With {place}: {twins}")
        });
    }
    said
}
