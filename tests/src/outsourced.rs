//! Curator and modeler joined by hand: what the tests of the outsourced trust model share.

use sordino_core::kernel::SquaredExponential;
use sordino_core::outsourced::preprocess::Origin;
use sordino_core::outsourced::{
    Config, Curator, CuratorInput, CuratorState, Modeler, ModelerInput, ModelerOutput,
    ModelerState, Parameters, Protection, log_len, workspace_len,
};
use sordino_core::privacy::NoiseSource;
use sordino_core::privacy::ShiftUnit;

use crate::receipts::curator_paid;

/// A table of `rows` rows in general position, entries in [−10, 10], centred by nothing.
pub fn table(rows: usize, dim: usize, seed: u64) -> Vec<f64> {
    let mut stream = sordino_core::random::Stream::from_seed(seed);
    (0..rows * dim)
        .map(|_| 20.0 * stream.unit::<f64>() - 10.0)
        .collect()
}

/// d×r standard normal numbers.
pub fn gaussian(dim: usize, out_dim: usize, seed: u64) -> Vec<f64> {
    let mut matrix = vec![0.0; dim * out_dim];
    sordino_core::random::normal::fill(
        &mut sordino_core::random::Stream::from_seed(seed),
        &mut matrix,
    );
    matrix
}

/// Squared-exponential kernel.
pub fn kernel(lengthscale: f64, signal_variance: f64) -> SquaredExponential<f64> {
    SquaredExponential::new(lengthscale, signal_variance).expect("positive constants")
}

/// A configuration with one number of initial rows.
pub fn config(
    rows: usize,
    out_dim: usize,
    rounds: u32,
    initial_rows: u32,
    noise_variance: f64,
) -> Config {
    Config::new(Parameters {
        rows: rows as u32,
        out_dim: out_dim as u32,
        rounds,
        initial_rows,
        failure_probability: 0.05,
        noise_variance,
        prior_mean: 0.0,
        repeats: true,
    })
    .expect("constants in range")
}

/// The released rows of a table.
pub fn release<S: NoiseSource>(
    protection: Protection<'_>,
    table: &[f64],
    rows: usize,
    source: &mut S,
) -> Vec<f64> {
    let (out_dim, pooled) = match &protection {
        Protection::Gaussian(mechanism) => (mechanism.out_dim(), true),
        Protection::Paper(projection) => (projection.out_dim(), false),
    };
    let mut state = CuratorState::new();
    let mut pool = vec![0; if pooled { rows * out_dim } else { 0 }];
    let mut out = vec![0.0; rows * out_dim];
    let mut curator = Curator::attach(
        protection,
        table,
        Origin::Public {
            unit: ShiftUnit::ONE,
        },
        &mut state,
        &mut pool,
        &mut out,
    )
    .expect("lengths fit");
    let paid = curator_paid(
        curator
            .handle(CuratorInput::Open, source)
            .expect("a fresh curator opens"),
    );
    if let Some(input) = paid {
        curator
            .handle(input, source)
            .expect("a charged curator releases");
    }
    out
}

/// What a run of both machines asked for, and the posterior it ended with.
pub struct Outcome {
    /// Rows in the order of the queries, initial ones included.
    pub queries: Vec<u32>,
    /// Posterior means of all rows.
    pub mean: Vec<f64>,
    /// Posterior variances of all rows.
    pub variance: Vec<f64>,
}

/// The modeler against a table of values.
pub fn model(
    config: &Config,
    kernel: SquaredExponential<f64>,
    rows: &[f64],
    initial: &[u32],
    values: &[f64],
) -> Outcome {
    let mut state = ModelerState::new();
    let mut log = vec![0.0; log_len(config)];
    let mut workspace = vec![0.0; workspace_len(config)];
    let mut modeler = Modeler::attach(
        config,
        kernel,
        rows,
        initial,
        &mut state,
        &mut log,
        &mut workspace,
    )
    .expect("lengths fit");
    let mut queries = Vec::new();
    let mut input = ModelerInput::Start;
    while let ModelerOutput::Query { row } = modeler.handle(input).expect("finite values") {
        queries.push(row);
        input = ModelerInput::Observed(values[row as usize]);
    }
    Outcome {
        queries,
        mean: modeler.mean().to_vec(),
        variance: modeler.variance().to_vec(),
    }
}
