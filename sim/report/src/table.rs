//! How tables look on the terminal, and the remark below all of them.

use comfy_table::{LineStyle, TableStyle};

/// The remark on every simulated execution: its noise can be computed from the seed.
pub const NOT_PRIVATE: &str = "simulation: not private (noise and coins come from the seed; real releases take them from secret entropy)";

/// A rule above, below the header, and at the end.
pub const LINES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));
