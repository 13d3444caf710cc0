//! Paired differences of a sweep: at each combination of its keys, every method minus the
//! reference, run by run.
//!
//! The error bar of a mean says how much runs differ from one another. The methods of a run meet
//! the same functions, initial points and coins, so what separates two methods is the spread of
//! their differences, which is mostly smaller: bars may overlap where the interval of the
//! difference excludes zero.

use sordino_report::chart::{Chart, Picture, Point, Scale};
use sordino_report::differences::{self, Difference};
use sordino_report::grid::Grid;
use sordino_report::parts;
use sordino_report::rows::csv;
use sordino_report::tables::{self, Table, TableError};

use super::compared::PairedCell;
use super::grid::Axis;
use super::index::{Index, Status};
use super::panels::{PANELS_MAX, Panels, capital, curves, main_axis, more, titled};

/// Name of the picture.
const PAIRED: &str = "paired";
/// Heading of section and table.
const TITLE: &str = "Paired differences";

/// The table of the wanted methods, or of all, in all its forms.
///
/// **Errors**: [`TableError`].
pub fn table(index: Index, wanted: &[String]) -> Result<Table, TableError> {
    let index = index.only(wanted).map_err(TableError::NoMethod)?;
    let found = index.differences(wanted);
    let csv = exact(&index, &found);
    Ok(Table {
        grid: grid(&index, &found),
        remarks: remarks(&index, &found),
        csv,
        json: tables::json(&found)?,
    })
}

/// Differences to the last bit, with the value of every key: `paired.csv`.
pub fn exact(index: &Index, found: &[PairedCell]) -> String {
    let keys = index.axes.iter().map(|axis| axis.key.as_str());
    let rows = found
        .iter()
        .map(|cell| [cell.values.clone(), cell.difference.fields()].concat());
    csv(keys.chain(differences::COLUMNS), rows)
}

fn grid(index: &Index, found: &[PairedCell]) -> Grid {
    let keys = index.axes.iter().map(Axis::short);
    let mut rows = vec![
        keys.chain(differences::HEAD)
            .map(str::to_owned)
            .collect::<Vec<_>>(),
    ];
    rows.extend(
        found
            .iter()
            .map(|cell| [cell.values.clone(), cell.difference.cells()].concat()),
    );
    (TITLE, rows)
}

fn remarks(index: &Index, found: &[PairedCell]) -> Vec<String> {
    let Some(first) = found.first() else {
        return vec![format!(
            "{}: no run has two methods to compare.",
            index.scenario
        )];
    };
    let mut said = vec![format!(
        "Paired differences of {} to {} over all runs{}: below zero the method is better. p (Holm) is that of the t test, \
         corrected for {} differences.",
        first.compared_by,
        first.difference.second,
        if index.seeds.len() == 1 {
            ""
        } else {
            " of all seeds"
        },
        differences::tested(found.iter().map(|cell| &cell.difference))
    )];
    said.extend(
        found
            .iter()
            .map(|cell| cell.difference.pairs)
            .min()
            .and_then(differences::few),
    );
    said.extend(unread(index));
    said
}

/// The sentence about runs whose numbers cannot be read.
fn unread(index: &Index) -> Option<String> {
    let count = index
        .entries
        .iter()
        .filter(|entry| entry.status == Status::Done && entry.compared.is_none())
        .count();
    (count > 0).then(|| format!("Left out: {count} runs whose rounds.csv cannot be read."))
}

/// The section of the page; absent where no two runs can be paired.
pub(super) fn section(out: &mut String, index: &Index) {
    let found = &index.paired;
    if found.iter().all(|cell| cell.difference.pairs < 2) {
        return;
    }
    let keys: Vec<&str> = index.axes.iter().map(Axis::short).collect();
    let rows: Vec<_> = found
        .iter()
        .map(|cell| (cell.values.clone(), &cell.difference))
        .collect();
    let text = remarks(index, found).join(" ") + " In colour where Holm's is below .05.";
    parts::paired(out, &text, &keys, &rows);
}

/// The differences along the main axis, with their 95 % intervals; the reference is the line at
/// zero. `None` where no cell has an interval.
pub(super) fn picture(index: &Index) -> Option<Picture> {
    let cells = index.cells();
    let Panels {
        axis,
        positions,
        panels,
    } = Panels::new(index, &cells, main_axis(index)?);
    let first = index
        .paired
        .iter()
        .find(|cell| cell.difference.half_width.is_some())?;
    let by = &first.compared_by;
    let reference = &first.difference.second;
    let y_label = format!("{by} minus that of {reference}");
    let mut charts: Vec<Chart> = Vec::new();
    for (fixed, panel) in panels.iter().take(PANELS_MAX) {
        let curves = curves(index, &cells, panel, |name, place, cell| {
            let x = positions.places[place];
            if name == reference {
                return Some(Point::bare(x, 0.0));
            }
            let found = difference(index, &cell.values, name)?;
            let half = found.half_width.unwrap_or(0.0);
            Some(Point {
                x,
                y: found.mean,
                low: found.mean - half,
                high: found.mean + half,
            })
        });
        let x_label = positions.name(axis);
        charts.push(parts::around_zero(
            titled(fixed),
            &x_label,
            &y_label,
            curves,
        ));
    }
    share(&mut charts);
    Some(Picture {
        name: PAIRED.to_owned(),
        title: capital(&format!(
            "paired differences to {reference} against {}",
            axis.short()
        )),
        text: format!(
            "{} of a method minus that of {reference} in the same run; means over all runs of all seeds, bars are 95 % \
             intervals. Below zero the method is better.{}",
            capital(by),
            more(panels.len())
        ),
        charts,
        ruler: Some(positions.ruler),
    })
}

/// The difference of a method to the reference in the cell with these values.
fn difference<'i>(index: &'i Index, values: &[String], method: &str) -> Option<&'i Difference> {
    index
        .paired
        .iter()
        .find(|cell| cell.values == values && cell.difference.first == method)
        .map(|cell| &cell.difference)
}

/// Gives all panels the same vertical axis.
fn share(charts: &mut [Chart]) {
    let least = charts
        .iter()
        .map(|chart| match chart.scale {
            Scale::Linear { from } | Scale::Log { floor: from } => from,
        })
        .fold(0.0, f64::min);
    let most = charts.iter().map(|chart| chart.y_max).fold(0.0, f64::max);
    for chart in charts {
        (chart.scale, chart.y_max) = (Scale::Linear { from: least }, most);
    }
}
