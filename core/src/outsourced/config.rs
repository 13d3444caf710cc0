//! What curator and modeler agree on. Everything here is public, and none of it is fitted on the
//! curator's rows.

use serde::{Deserialize, Serialize};

use crate::domain::CANDIDATES_MAX;
use crate::parameter::{ConfigError, check, checked, whole};

/// The numbers an outsourced optimisation is described by, before they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// n, rows of the table.
    pub rows: u32,
    /// r, numbers in a released row.
    pub out_dim: u32,
    /// T, queries after the initial rows.
    pub rounds: u32,
    /// Rows queried before the first proposal, at least 1; the paper's number is 1.
    pub initial_rows: u32,
    /// δ_ucb: probability with which the confidence bound may fail; the paper's is 0.05.
    pub failure_probability: f64,
    /// Noise variance of the modeler's surrogate, unit y². With noisy rows it must cover what their
    /// noise does to y.
    pub noise_variance: f64,
    /// Constant subtracted from every y, public.
    pub prior_mean: f64,
    /// Whether a row may be queried again, as the paper's text has it. The authors' code never
    /// does, and without that the Branin experiment stays at one row for ever: its model is too
    /// smooth for the peak.
    pub repeats: bool,
}

/// Checked [`Parameters`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Config(Parameters);

checked!(Config);

impl Config {
    /// Checks every range.
    ///
    /// **Errors**: [`ConfigError`] naming the first field outside its range.
    pub fn new(parameters: Parameters) -> Result<Self, ConfigError> {
        let p = &parameters;
        whole("rows", p.rows, 1..=CANDIDATES_MAX, "1..=16777216")?;
        whole("out_dim", p.out_dim, 1..=1 << 10, "1..=1024")?;
        whole("rounds", p.rounds, 1..=1 << 20, "1..=1048576")?;
        whole("initial_rows", p.initial_rows, 1..=1 << 20, "1..=1048576")?;
        let delta = p.failure_probability;
        check(
            "failure_probability",
            delta,
            delta > 0.0 && delta < 1.0,
            "(0, 1)",
        )?;
        let noise = p.noise_variance;
        check(
            "noise_variance",
            noise,
            noise > 0.0 && noise.is_finite(),
            "(0, inf)",
        )?;
        let queries = p.initial_rows.saturating_add(p.rounds);
        check(
            "rounds",
            f64::from(p.rounds),
            p.repeats || queries <= p.rows,
            "1 to the number of rows without those that are known first: no row is asked twice",
        )?;
        check(
            "prior_mean",
            p.prior_mean,
            p.prior_mean.is_finite(),
            "(-inf, inf)",
        )?;
        Ok(Config(parameters))
    }

    /// Queries in a whole run: initial rows and T.
    pub const fn queries_max(&self) -> usize {
        self.0.initial_rows as usize + self.0.rounds as usize
    }
}
