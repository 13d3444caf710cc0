//! How tables look to people: lines on the terminal, cells of numbers that may be missing, and the
//! remark below all of them.

use comfy_table::{LineStyle, TableStyle};
use sordino_experiment::text::significant;

/// The remark on every simulated execution: its noise can be computed from the seed.
pub const NOT_PRIVATE: &str = "simulation: not private (noise and coins come from the seed; real releases take them from secret entropy)";

/// A rule above, below the header, and at the end.
pub const LINES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// The cell of something that is missing.
pub const DASH: &str = "–";

/// A value as `shown`; a dash where there is none.
pub fn or_dash<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| DASH.to_owned(), shown)
}

/// A standard error to two digits; a dash where there is none.
pub fn standard_error(error: Option<f64>) -> String {
    or_dash(error, |error| significant(error, 2))
}

/// A mean to four digits and its standard error to two, where it has one.
pub fn with_error(mean: f64, standard_error: Option<f64>) -> String {
    let mean = significant(mean, 4);
    match standard_error {
        Some(error) => format!("{mean} ± {}", significant(error, 2)),
        None => mean,
    }
}
