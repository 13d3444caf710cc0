//! In which forms figures and tables come.

use clap::ValueEnum;

/// Formats of figures and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A figure as a text file, for browsers and Inkscape
    Svg,
    /// A figure for papers; needs sordino-figures
    Pdf,
    /// A figure for slides, 300 pixels to an inch; needs sordino-figures
    Png,
    /// A table for people
    Text,
    /// A table for Markdown
    Markdown,
    /// `tabular` with the rules of `booktabs`
    Latex,
    /// A table for programs, to the last bit
    Csv,
    /// A table for programs, to the last bit
    Json,
}
