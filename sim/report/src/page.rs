//! The page of a run folder, whatever its trust model: head, table, what it adds, who is protected
//! from whom, provenance.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Table};
use sordino_experiment::record::{Explanation, Summary};
use sordino_experiment::scenario::Head;

use super::charts::element;
use super::columns::Columns;
use super::grid;
use super::html::{document, section};
use super::parts::{header, line};
use super::svg::{Chart, Ruler, escape};
use super::table::{LINES, NOT_PRIVATE};

/// A table, and what stands beside it.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// Classes of the rows' curves, if the page shows a piece of each.
    pub looks: Vec<&'static str>,
    /// Places of the columns that hold words; the others hold numbers.
    pub words: Vec<usize>,
    /// Notes that must go with it, a paragraph each.
    pub notes: Vec<String>,
    /// Warnings to read before believing it, a paragraph each.
    pub cautions: Vec<String>,
    /// Whether noise was simulated, which must be stated too.
    pub noise: bool,
}

impl Shown {
    /// These columns of these rows, with nothing beside them yet.
    pub fn of<R>(columns: &Columns<'_, R>, rows: &[R]) -> Self {
        Shown {
            columns: columns.heads().map(str::to_owned).collect(),
            rows: rows.iter().map(|row| columns.cells(row)).collect(),
            words: columns.words(),
            ..Shown::default()
        }
    }

    fn is_numeric(&self, column: usize) -> bool {
        !self.words.contains(&column)
    }

    /// A row for the terminal: numbers flush right, words flush left.
    fn cells(&self, row: &[String]) -> Vec<Cell> {
        row.iter()
            .enumerate()
            .map(|(column, text)| {
                let alignment = if self.is_numeric(column) {
                    CellAlignment::Right
                } else {
                    CellAlignment::Left
                };
                Cell::new(text).set_alignment(alignment)
            })
            .collect()
    }

    /// The attribute of a cell on the page: words are flush left.
    fn style(&self, column: usize) -> &'static str {
        if self.is_numeric(column) {
            ""
        } else {
            " style=\"text-align:left\""
        }
    }

    /// The table as text for the terminal.
    pub fn text(&self, digest: &str) -> String {
        let mut table = Table::new();
        table
            .load_style(LINES)
            .set_header(self.cells(&self.columns));
        table.add_rows(self.rows.iter().map(|row| self.cells(row)));
        let mut text = format!("{table}\n");
        self.cautions.iter().for_each(|caution| {
            let _ = writeln!(text, "{}", warning(caution));
        });
        let warning = self.noise.then_some(NOT_PRIVATE);
        self.notes
            .iter()
            .map(String::as_str)
            .chain(warning)
            .for_each(|note| {
                let _ = writeln!(text, "{note}");
            });
        let _ = writeln!(text, "\ndigest {digest}");
        text
    }

    /// The table in forms to be copied into a paper.
    pub fn for_papers(&self) -> String {
        let head = self
            .columns
            .iter()
            .map(|head| head.replace('\n', " "))
            .collect();
        let tables = [("", [vec![head], self.rows.clone()].concat())];
        folded("LaTeX", &grid::latex(&tables, &[]))
            + &folded("Markdown", &grid::markdown(&tables, &[]))
    }

    /// The table as HTML.
    pub fn html(&self) -> String {
        let named = self
            .columns
            .iter()
            .position(|head| head == "method")
            .unwrap_or(0);
        let mut out = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
        for (column, head) in self.columns.iter().enumerate() {
            let _ = write!(
                out,
                "<th{}>{}</th>",
                self.style(column),
                escape(&head.replace('\n', " "))
            );
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for (place, row) in self.rows.iter().enumerate() {
            out.push_str("<tr>");
            let swatch = self
                .looks
                .get(place)
                .map_or(String::new(), |class| line(class));
            for (column, text) in row.iter().enumerate() {
                let _ = match column == named {
                    true => write!(out, "<th scope=\"row\">{swatch}{}</th>", escape(text)),
                    false => write!(out, "<td{}>{}</td>", self.style(column), escape(text)),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        self.cautions.iter().for_each(|caution| {
            let _ = writeln!(
                out,
                "<p class=\"warning\">{}</p>",
                escape(&warning(caution))
            );
        });
        self.notes.iter().for_each(|note| {
            let _ = writeln!(out, "<p class=\"fine\">{}</p>", escape(note));
        });
        out
    }
}

/// A table in another notation, folded on the page.
fn folded(name: &str, text: &str) -> String {
    format!(
        "<details><summary>The table in {name}</summary><pre>{}</pre></details>\n",
        escape(text.trim())
    )
}

/// A caution as people read it, on the terminal and on pages.
pub fn warning(caution: &str) -> String {
    format!("Warning: {caution}.")
}

/// What the page of a run folder shows.
pub struct Page<'a> {
    /// Name, seed and runs of the scenario.
    pub head: &'a Head,
    /// Version that computed what is shown.
    pub version: &'a str,
    /// The scenario with every key written out.
    pub resolved: String,
    /// Who is protected from whom.
    pub explanation: Explanation,
    /// Numbers beside the title, in addition to those on every page.
    pub facts: Vec<(&'static str, String)>,
    /// The table and the notes below it.
    pub shown: &'a Shown,
    /// Markup below the table.
    pub below: String,
    /// Markup of further sections, including the pictures.
    pub sections: String,
    /// Digests of everything and of each method.
    pub summary: &'a Summary,
}

/// Charts side by side; `ruler` is their horizontal axis, if it is not rounds from 0.
pub fn side_by_side(charts: &[Chart], ruler: Option<&Ruler>, labels: f64) -> String {
    in_pairs(charts, ruler, (270.0, 260.0), labels)
}

/// The same with plots of this size.
pub fn in_pairs(charts: &[Chart], ruler: Option<&Ruler>, plot: (f64, f64), labels: f64) -> String {
    let mut out = String::from("<div class=\"pair\">\n");
    for chart in charts {
        let drawn = element(chart, ruler, plot, labels);
        let _ = writeln!(out, "<figure>{drawn}</figure>");
    }
    out + "</div>\n"
}

impl Page<'_> {
    /// The page as a file of its own.
    pub fn html(&self) -> String {
        let head = self.head;
        let common = [
            ("trust model", head.trust.clone()),
            ("paired runs", head.runs.to_string()),
            ("seed", head.seed.to_string()),
        ];
        let facts: Vec<_> = common
            .into_iter()
            .chain(self.facts.iter().cloned())
            .collect();
        let mut out = String::new();
        let eyebrow = format!("sordino {}", self.version);
        header(
            &mut out,
            &eyebrow,
            &head.name,
            &head.description,
            &facts,
            self.shown.noise,
        );
        section(&mut out, "Result", "", &(self.shown.html() + &self.below));
        out.push_str(&self.sections);
        section(&mut out, "Privacy", "", &self.explained());
        section(&mut out, "Numbers and figures", "", &self.downloads());
        section(
            &mut out,
            "Provenance",
            "Equal digests mean equal queries and equal observations, uploads and releases, bit by bit.",
            &self.provenance(),
        );
        document(&head.name, &out)
    }

    fn explained(&self) -> String {
        let mut out = String::new();
        for (title, sentences) in self.explanation.questions() {
            let _ = write!(out, "<h3>{title}</h3>\n<ul>\n");
            sentences.iter().for_each(|sentence| {
                let _ = writeln!(out, "<li>{}</li>", escape(sentence));
            });
            out.push_str("</ul>\n");
        }
        out
    }

    /// Files beside the page, its table for papers, and how to get the rest.
    fn downloads(&self) -> String {
        let links = ["rounds.csv", "summary.json", "table.txt", "regret.svg"]
            .map(|name| format!("<a href=\"{name}\" download>{name}</a>"));
        format!(
            "<p>Beside this page: {}. Every picture at the width of a column, every table for papers:</p>\n\
             <pre>sordino report DIR --figure regret --width 84mm --no-title --out regret.pdf\n\
             sordino report DIR --table paired --format latex</pre>\n\
             {}",
            links.join(", "),
            self.shown.for_papers()
        )
    }

    fn provenance(&self) -> String {
        let mut out = format!(
            "<p>Written by sordino {}. Digest of all runs and methods:</p>\n<p class=\"digest\">{}</p>\n",
            escape(self.version),
            self.summary.digest
        );
        let digests = self
            .summary
            .methods
            .iter()
            .filter_map(|method| Some((&method.name, method.digest.as_ref()?)));
        let rows: String = digests
            .map(|(name, digest)| {
                format!(
                    "<tr><th scope=\"row\">{}</th><td class=\"digest\">{digest}</td></tr>\n",
                    escape(name)
                )
            })
            .collect();
        if !rows.is_empty() {
            let _ = write!(
                out,
                "<div class=\"scroll\"><table>\n<thead><tr><th>method</th><th class=\"name\">digest over runs</th></tr>\
                 </thead>\n<tbody>\n{rows}</tbody></table></div>\n"
            );
        }
        let _ = writeln!(
            out,
            "<details><summary>Resolved scenario</summary><pre>{}</pre></details>",
            escape(&self.resolved)
        );
        out
    }
}
