//! What people see of a run: table, picture and page, made of the files that programs read and of
//! nothing else.

use sordino_experiment::record::{Explanation, TABLE};
use sordino_experiment::scenario::Head;

use super::figure::compose;
use super::html::section;
use super::page::{Page, Shown, side_by_side};
use super::parts::differences;
use super::results::Results;
use super::svg::{Chart, Ruler, escape};

/// The picture within a folder.
pub const PICTURE: &str = "regret.svg";
/// The page within a folder.
pub const PAGE: &str = "report.html";

/// What a trust model shows of its results; the rest of a page is the same for all.
pub struct View {
    /// Numbers beside the title.
    pub facts: Vec<(&'static str, String)>,
    /// The table, which is also the text on the terminal.
    pub shown: Shown,
    /// Markup below the table.
    pub below: String,
    /// Its pictures, in a file and on the page.
    pub panels: Panels,
    /// The quantity of the paired differences, in words.
    pub compared: String,
    /// Markup of sections between the paired differences and the statement of privacy.
    pub sections: String,
}

/// Pictures side by side: in the file, and on the page.
pub struct Panels {
    /// Heading on the page.
    pub heading: &'static str,
    /// Text below the heading.
    pub text: String,
    /// Line below the title of the file.
    pub line: String,
    /// From left to right.
    pub charts: Vec<Chart>,
    /// Their horizontal axis, if it is not rounds from 0.
    pub ruler: Option<Ruler>,
    /// Room for the names of curves on the page, in pixels.
    pub labels: f64,
}

impl Panels {
    /// Pictures with the same text in the file and on the page.
    pub fn new(line: String, charts: Vec<Chart>) -> Self {
        Panels {
            heading: "Picture",
            text: line.clone(),
            line,
            charts,
            ruler: None,
            labels: 216.0,
        }
    }
}

impl View {
    /// Table, picture and page as files; `resolved` is the scenario with every key written out.
    pub fn files(
        self,
        head: &Head,
        resolved: String,
        explanation: Explanation,
        results: &Results,
    ) -> Vec<(&'static str, String)> {
        let View {
            facts,
            shown,
            below,
            panels,
            compared,
            sections: further,
        } = self;
        let ruler = panels.ruler.as_ref();
        let summary = &results.summary;
        let picture = compose(
            &head.name,
            &[&head.description, &panels.line],
            &panels.charts,
            ruler,
        );
        let mut sections = String::new();
        let drawn = side_by_side(&panels.charts, ruler, panels.labels);
        section(&mut sections, panels.heading, &escape(&panels.text), &drawn);
        differences(&mut sections, &results.worth(), &compared);
        sections.push_str(&further);
        let version = &results.version;
        let page = Page {
            head,
            version,
            resolved,
            explanation,
            facts,
            shown: &shown,
            below,
            sections,
            summary,
        };
        vec![
            (TABLE, shown.text(&summary.digest)),
            (PICTURE, picture),
            (PAGE, page.html()),
        ]
    }
}
