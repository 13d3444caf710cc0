//! What an audit found.

/// The ε at which the claim is tested.
pub const EPSILONS: [f64; 8] = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];

/// One ε of the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The ε at which both δ stand.
    pub epsilon: f64,
    /// δ claimed there.
    pub delta_claimed: f64,
    /// Lower bound measured, the larger of both directions.
    pub delta_measured: f64,
}

/// Outcome of one audit.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// One line for each ε.
    pub lines: Vec<Line>,
    /// Runs for each neighbour.
    pub runs: u32,
    /// Error of the whole.
    pub error: f64,
}

impl Report {
    /// More leaked than claimed.
    pub fn rejected(&self) -> bool {
        !(self.margin() <= 0.0)
    }

    /// Largest measured − claimed; NaN if one of them is no number.
    pub fn margin(&self) -> f64 {
        let worse = |worst: f64, margin: f64| if worst >= margin || worst.is_nan() { worst } else { margin };
        self.lines.iter().map(|line| line.delta_measured - line.delta_claimed).fold(f64::NEG_INFINITY, worse)
    }
}
