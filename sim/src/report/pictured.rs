//! What an execution leaves in a trust model that shows one table and one picture.

use std::path::Path;

use super::curves::Curves;
use super::figure::compose;
use super::html::section;
use super::page::{Page, Shown, side_by_side};
use super::parts::differences;
use super::readme::readme;
use super::svg::{Chart, Ruler, escape};
use crate::record::{Explanation, Record, Summary};
use crate::scenario::Head;

/// All that is shown and written.
pub struct Pictured<'a> {
    /// Name, seed and runs of the scenario.
    pub head: &'a Head,
    /// The scenario with every key written out.
    pub resolved: String,
    /// Who is protected from whom.
    pub explanation: Explanation,
    /// Numbers beside the title.
    pub facts: Vec<(&'static str, String)>,
    /// Table that is shown beside the picture.
    pub shown: Shown,
    /// Line below the title of the picture.
    pub line: String,
    /// The pictures, side by side.
    pub charts: Vec<Chart>,
    /// Their horizontal axis, if it is not rounds from 0.
    pub ruler: Option<Ruler>,
    /// Content of `rounds.csv`.
    pub rounds: String,
    /// The columns of `rounds.csv` and what they mean.
    pub columns: &'static [(&'static str, &'static str)],
    /// The summary for programs.
    pub summary: Summary,
}

impl Pictured<'_> {
    /// The complete record, with picture, page and README.
    pub fn record(self) -> Record {
        let (head, ruler) = (self.head, self.ruler.as_ref());
        let picture = compose(&head.name, &[&head.description, &self.line], &self.charts, ruler);
        let mut sections = String::new();
        section(&mut sections, "Picture", &escape(&self.line), &side_by_side(&self.charts, ruler, 216.0));
        if let Ok(curves) = Curves::parse(Path::new("rounds.csv"), &self.rounds) {
            let last = |name: &str| curves.of(name).iter().filter_map(|run| run.last().copied()).collect();
            let worth: Vec<_> = curves.names().into_iter().map(|name| (name.to_owned(), last(name))).collect();
            differences(&mut sections, &worth, "final regret");
        }
        let page = Page {
            head,
            version: env!("CARGO_PKG_VERSION"),
            resolved: self.resolved,
            explanation: self.explanation,
            facts: self.facts,
            shown: &self.shown,
            below: String::new(),
            sections,
            summary: &self.summary,
        };
        let (page, table) = (page.html(), self.shown.text(&self.summary.digest));
        let names = ["rounds.csv", "regret.svg", "report.html"];
        let files = vec![
            ("README.md", readme(&head.trust, &names, self.columns, "")),
            ("rounds.csv", self.rounds),
            ("regret.svg", picture),
            ("report.html", page),
        ];
        Record { summary: self.summary, table, files }
    }
}
