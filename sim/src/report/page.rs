//! What every experiment shows: one table for terminal and page, the report, the README of its folder.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Table};
use sordino_core::digest::Digest;

use super::charts::{element, element_over};
use super::figure::compose_over;
use super::html::{document, section};
use super::svg::{Chart, Ruler, escape};
use super::table::NOT_PRIVATE;
use crate::record::Explanation;
use crate::scenario::Head;

/// A table: the first column and those in `words` hold words, the others numbers.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// Columns of words, besides the first.
    pub words: Vec<usize>,
    /// What must be said with it, a paragraph each.
    pub notes: Vec<String>,
    /// Whether noise was simulated, which must be said too.
    pub noise: bool,
}

impl Shown {
    fn is_numeric(&self, column: usize) -> bool {
        column > 0 && !self.words.contains(&column)
    }

    /// The text on the terminal.
    pub fn text(&self, digest: &Digest) -> String {
        let mut table = Table::new();
        table.load_style(crate::report::table::LINES).set_header(&self.columns);
        for row in &self.rows {
            table.add_row(row.iter().enumerate().map(|(column, text)| {
                let alignment = if self.is_numeric(column) { CellAlignment::Right } else { CellAlignment::Left };
                Cell::new(text).set_alignment(alignment)
            }));
        }
        let mut text = format!("{table}\n");
        self.notes.iter().for_each(|note| {
            let _ = writeln!(text, "{note}");
        });
        if self.noise {
            let _ = writeln!(text, "{NOT_PRIVATE}");
        }
        let _ = writeln!(text, "\ndigest {digest}");
        text
    }

    fn html(&self) -> String {
        let mut out = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
        let left = |column: usize| if self.is_numeric(column) { "" } else { " style=\"text-align:left\"" };
        for (column, head) in self.columns.iter().enumerate() {
            let _ = write!(out, "<th{}>{}</th>", left(column), escape(head));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (column, text) in row.iter().enumerate() {
                let _ = match column {
                    0 => write!(out, "<th scope=\"row\">{}</th>", escape(text)),
                    _ => write!(out, "<td{}>{}</td>", left(column), escape(text)),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        self.notes.iter().for_each(|note| {
            let _ = writeln!(out, "<p class=\"fine\">{}</p>", escape(note));
        });
        out
    }
}

/// What a run folder of an experiment holds besides tables for programs.
pub struct Page<'a> {
    /// Name, seed and runs of the scenario.
    pub head: &'a Head,
    /// The scenario with every key written out.
    pub resolved: String,
    /// Who is protected from whom.
    pub explanation: Explanation,
    /// Numbers beside the title.
    pub facts: Vec<(&'static str, String)>,
    /// The table.
    pub shown: &'a Shown,
    /// Below the title of the picture.
    pub line: String,
    /// The pictures, side by side.
    pub charts: Vec<Chart>,
    /// Their horizontal axis, if it is not rounds from 0.
    pub ruler: Option<Ruler>,
    /// Columns of `rounds.csv` and what they mean.
    pub columns: &'static [(&'static str, &'static str)],
    /// Digest of everything.
    pub digest: &'a Digest,
}

impl Page<'_> {
    /// `regret.svg`, `report.html`, `README.md`.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let head = self.head;
        vec![
            (
                "regret.svg",
                compose_over(&head.name, &[&head.description, &self.line], &self.charts, self.ruler.as_ref()),
            ),
            ("report.html", self.html()),
            ("README.md", self.readme()),
        ]
    }

    fn html(&self) -> String {
        let head = self.head;
        let version = env!("CARGO_PKG_VERSION");
        let mut out = format!(
            "<header>\n<p class=\"eyebrow\">sordino {version}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<dl class=\"facts\">",
            escape(&head.name),
            escape(&head.description)
        );
        let common = [
            ("trust model", head.trust.name().to_owned()),
            ("runs", head.runs.to_string()),
            ("seed", head.seed.to_string()),
        ];
        for (name, value) in common.iter().chain(&self.facts) {
            let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
        }
        out.push_str("</dl>\n");
        if self.shown.noise {
            let _ = writeln!(out, "<p class=\"warning\"><strong>{}</strong></p>", escape(NOT_PRIVATE));
        }
        out.push_str("</header>\n");
        section(&mut out, "Result", "", &self.shown.html());
        let figures: String = self
            .charts
            .iter()
            .map(|chart| {
                let (plot, labels) = ((270.0, 260.0), 216.0);
                let drawn = match &self.ruler {
                    Some(ruler) => element_over(chart, ruler, plot, labels),
                    None => element(chart, plot, labels),
                };
                format!("<figure>{drawn}</figure>\n")
            })
            .collect();
        section(&mut out, "Picture", &escape(&self.line), &format!("<div class=\"pair\">\n{figures}</div>\n"));
        section(&mut out, "Who is protected from whom", "", &self.explained());
        let provenance = format!(
            "<p>Digest of all runs and methods:</p>\n<p class=\"digest\">{}</p>\n<details><summary>Resolved scenario</summary>\
             <pre>{}</pre></details>\n",
            self.digest,
            escape(&self.resolved)
        );
        section(
            &mut out,
            "Provenance",
            "Equal digests mean equal queries and equal observations, bit by bit.",
            &provenance,
        );
        document(&head.name, &out)
    }

    fn explained(&self) -> String {
        let said = &self.explanation;
        let mut out = String::new();
        for (title, sentences) in [
            ("Protected", &said.protected),
            ("Which inputs are compared", &said.relation),
            ("Not protected", &said.not_protected),
            ("Cost", &said.cost),
        ] {
            let _ = write!(out, "<h3>{title}</h3>\n<ul>\n");
            sentences.iter().for_each(|sentence| {
                let _ = writeln!(out, "<li>{}</li>", escape(sentence));
            });
            out.push_str("</ul>\n");
        }
        out
    }

    fn readme(&self) -> String {
        let mut out = format!(
            "# A run of sordino, trust model {}\n\nEqual scenarios (and equal data) leave equal folders: nothing here depends \
             on the machine, the time or the number of threads.\n**Simulation: not private.** Noise comes from the seed. \
             Real releases take it from secret entropy.\n\n\
             | file | what it is |\n|---|---|\n\
             | `scenario.toml` | the scenario with every key written out; `sordino run scenario.toml` repeats the run |\n\
             | `table.txt` | the table |\n| `summary.json` | the same for programs, in one form for all trust models (`version` 2); its `noise` says what these losses are worth, \
             \"simulation: not private\" |\n\
             | `rounds.csv` | all numbers behind the picture |\n| `regret.svg` | the picture |\n\
             | `report.html` | all of it on one page that needs no network, with who is protected from whom |\n\n\
             Columns of `rounds.csv`:\n\n| column | meaning |\n|---|---|\n",
            self.head.trust.name()
        );
        self.columns.iter().for_each(|(name, meaning)| {
            let _ = writeln!(out, "| `{name}` | {meaning} |");
        });
        out
    }
}
