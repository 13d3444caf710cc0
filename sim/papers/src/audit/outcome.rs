//! What an audit found.

/// The ε at which the claim is tested.
pub const EPSILONS: [f64; 8] = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];

/// The report's result at one ε.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The ε to which both δ belong.
    pub epsilon: f64,
    /// δ claimed at this ε.
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
    /// Probability that a correct mechanism is rejected, over all tests together.
    pub error: f64,
}

impl Report {
    /// Whether more leaked than was claimed.
    pub fn rejected(&self) -> bool {
        !(self.margin() <= 0.0)
    }

    /// Largest difference measured − claimed; NaN if one of them is not a number.
    pub fn margin(&self) -> f64 {
        self.lines
            .iter()
            .map(|line| line.delta_measured - line.delta_claimed)
            .fold(f64::NEG_INFINITY, |worst, margin| {
                if worst >= margin || worst.is_nan() {
                    worst
                } else {
                    margin
                }
            })
    }
}
