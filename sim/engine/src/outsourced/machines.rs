//! One run of an outsourced optimisation: curator and modeler as machines; for comparison, a search
//! without protection and random rows.

use sordino_core::digest::Digest;
use sordino_core::digest::link;
use sordino_core::kernel::{Stationary, StationaryKernel};
use sordino_core::math::Scalar;
use sordino_core::outsourced::preprocess::{LARGEST_NORM, Origin};
use sordino_core::outsourced::{
    Config, Curator, CuratorInput, CuratorOutput, CuratorState, Modeler, ModelerInput,
    ModelerOutput, ModelerState, PaperProjection, Parameters, Protection, log_len, random_row,
    workspace_len,
};
use sordino_core::privacy::Simulated;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::privacy::mechanism::projection::GaussianProjection;
use sordino_core::random::{Party, Purpose, RunSeed, normal};

use crate::contract::ModelError;

/// Private rows lie on a grid of 2^this units.
const GRID_EXPONENT: u32 = 20;

/// A prepared table and what the modeler believes about the function on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// n·d numbers, centred and scaled.
    pub table: Vec<f64>,
    /// Number of columns d.
    pub dim: usize,
    /// Where centre and scale came from, and how long a prepared unit is in the owner's units.
    pub origin: Origin,
    /// Shape of the modeler's kernel.
    pub kernel: Stationary,
    /// Lengthscale of that kernel, in units of the prepared table.
    pub lengthscale: f64,
    /// Signal variance, unit y².
    pub signal_variance: f64,
    /// The modeler's noise variance, unit y².
    pub noise_variance: f64,
    /// Constant mean of y.
    pub prior_mean: f64,
    /// Probability with which the modeler's confidence bound may fail.
    pub failure_probability: f64,
    /// Variance of the noise of an observation.
    pub observation_variance: f64,
    /// Whether a row may be queried again.
    pub repeats: bool,
}

/// Which method, and with it who sees what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// GP-UCB on the table itself: protects nothing.
    Plain,
    /// The paper's projection to `out_dim` numbers: not differentially private.
    Paper {
        /// ε that the paper claims.
        epsilon: f64,
        /// δ that the paper claims.
        delta: f64,
        /// Number of projected columns r.
        out_dim: usize,
    },
    /// Gaussian noise on every row: (ε, δ)-private for a shift of one row by at most 1.
    Private {
        /// The ε of the guarantee.
        epsilon: f64,
        /// The δ of the guarantee.
        delta: f64,
        /// Noise variance of the modeler, which must cover what noisy rows do to y.
        noise_variance: f64,
    },
    /// Rows drawn uniformly.
    Random,
}

/// What one method did in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Rows in the order of the queries, the initial one first.
    pub queries: Vec<u32>,
    /// The last link of the chain over the released rows (if any left the curator), queries and
    /// values.
    pub digest: Digest,
    /// Whether the paper's transformation raised the singular values.
    pub raised: Option<bool>,
}

impl Problem {
    /// Number of rows n.
    pub fn rows(&self) -> usize {
        self.table.len() / self.dim
    }

    /// Best-so-far noise-free regret after the initial row and after each of `rounds` queries.
    ///
    /// **Errors**: [`ModelError`]: what a machine refuses.
    pub fn regrets(
        &self,
        values: &[f64],
        method: Method,
        rounds: u32,
        run: RunSeed,
    ) -> Result<Vec<f64>, ModelError> {
        Ok(regrets(
            values,
            &self.play(values, method, rounds, run)?.queries,
        ))
    }

    /// Curator and modeler from beginning to end.
    ///
    /// **Errors**: [`ModelError`]: what a machine refuses.
    pub fn play(
        &self,
        values: &[f64],
        method: Method,
        rounds: u32,
        run: RunSeed,
    ) -> Result<Played, ModelError> {
        match method {
            Method::Random => {
                let mut stream = run.stream(Party::Server, Purpose::RandomPolicy, 0);
                let queries: Vec<u32> = (0..=rounds)
                    .map(|_| stream.below(values.len() as u32))
                    .collect();
                let mut digest = Digest::default();
                // Nobody is asked for a value.
                (0u32..)
                    .zip(&queries)
                    .for_each(|(t, row)| digest = link(&digest, t, *row, 0.0));
                Ok(Played {
                    queries,
                    digest,
                    raised: None,
                })
            }
            Method::Plain => {
                let start = Digest::default();
                self.model(
                    &self.table,
                    self.dim,
                    self.noise_variance,
                    values,
                    rounds,
                    run,
                    start,
                )
            }
            Method::Paper {
                epsilon,
                delta,
                out_dim,
            } => {
                let mut matrix = vec![0.0; self.dim * out_dim];
                normal::fill(
                    &mut run.stream(Party::Server, Purpose::Projection, 0),
                    &mut matrix,
                );
                let projection =
                    PaperProjection::new(&self.table, self.dim, epsilon, delta, &mut matrix)
                        .map_err(ModelError::input)?;
                let raised = Some(projection.raised());
                let rows = self.release(Protection::Paper(projection), out_dim, 0, run)?;
                let played = self.model(
                    &rows,
                    out_dim,
                    self.noise_variance,
                    values,
                    rounds,
                    run,
                    released(&rows),
                )?;
                Ok(Played { raised, ..played })
            }
            Method::Private {
                epsilon,
                delta,
                noise_variance,
            } => {
                let mechanism = mechanism(self.dim, epsilon, delta)?;
                let rows = self.release(
                    Protection::Gaussian(mechanism),
                    self.dim,
                    self.table.len(),
                    run,
                )?;
                self.model(
                    &rows,
                    self.dim,
                    noise_variance,
                    values,
                    rounds,
                    run,
                    released(&rows),
                )
            }
        }
    }

    /// The curator's part.
    pub fn release(
        &self,
        protection: Protection<'_>,
        out_dim: usize,
        pool: usize,
        run: RunSeed,
    ) -> Result<Vec<f64>, ModelError> {
        let mut source = Simulated::new(run.stream(Party::Server, Purpose::Release, 0));
        let mut state = CuratorState::new();
        let mut pool = vec![0; pool];
        let mut out = vec![0.0; self.rows() * out_dim];
        let mut curator = Curator::attach(
            protection,
            &self.table,
            self.origin,
            &mut state,
            &mut pool,
            &mut out,
        )
        .map_err(ModelError::input)?;
        let receipt = match curator
            .handle(CuratorInput::Open, &mut source)
            .map_err(ModelError::input)?
        {
            CuratorOutput::Charge(charge) => Some(Unwritten::receipt(charge)),
            _ => None,
        };
        if let Some(receipt) = receipt {
            curator
                .handle(CuratorInput::Charged(receipt), &mut source)
                .map_err(ModelError::input)?;
        }
        Ok(out)
    }

    /// The modeler's part: rows in the order of the queries.
    fn model(
        &self,
        rows: &[f64],
        out_dim: usize,
        noise_variance: f64,
        values: &[f64],
        rounds: u32,
        run: RunSeed,
        start: Digest,
    ) -> Result<Played, ModelError> {
        let config = Config::new(Parameters {
            rows: self.rows() as u32,
            out_dim: out_dim as u32,
            rounds,
            initial_rows: 1,
            failure_probability: self.failure_probability,
            noise_variance,
            prior_mean: self.prior_mean,
            repeats: self.repeats,
        })
        .map_err(ModelError::input)?;
        let kernel =
            StationaryKernel::with_shape(self.kernel, self.lengthscale, self.signal_variance)
                .map_err(ModelError::input)?;
        let first = [random_row(&config, run, 0)];
        let mut state = ModelerState::new();
        let mut log = vec![0.0; log_len(&config)];
        let mut workspace = vec![0.0; workspace_len(&config)];
        let mut modeler = Modeler::attach(
            &config,
            kernel,
            rows,
            &first,
            &mut state,
            &mut log,
            &mut workspace,
        )
        .map_err(ModelError::input)?;
        let mut queries = Vec::new();
        let mut step = ModelerInput::Start;
        let mut digest = start;
        let std = Scalar::sqrt(self.observation_variance);
        while let ModelerOutput::Query { row } = modeler.handle(step).map_err(ModelError::input)? {
            let number = queries.len() as u32;
            let mut stream = run.stream(Party::World, Purpose::ObservationNoise, number);
            let value = values[row as usize] + std * normal::draw::<f64>(&mut stream);
            digest = link(&digest, number, row, value);
            step = ModelerInput::Observed(value);
            queries.push(row);
        }
        Ok(Played {
            queries,
            digest,
            raised: None,
        })
    }
}

/// Best-so-far noise-free regret after each query.
pub fn regrets(values: &[f64], queries: &[u32]) -> Vec<f64> {
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut regret = f64::INFINITY;
    let smallest = queries.iter().map(|row| {
        regret = regret.min(best - values[*row as usize]);
        regret
    });
    smallest.collect()
}

/// The chain begins with what left the curator.
fn released(rows: &[f64]) -> Digest {
    let mut frame = Digest::default().frame();
    frame.scalars(rows);
    frame.end()
}

/// The private release: every row of this many inputs as it is, plus noise.
///
/// **Errors**: [`ModelError`]: no noise reaches this (ε, δ).
pub fn mechanism(
    dim: usize,
    epsilon: f64,
    delta: f64,
) -> Result<GaussianProjection<'static>, ModelError> {
    // Rounding may lift a row of the largest norm a little above it.
    let norm = LARGEST_NORM * (1.0 + 1e-9);
    GaussianProjection::identity(dim, epsilon, delta, norm, GRID_EXPONENT)
        .map_err(ModelError::input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::privacy::ShiftUnit;

    #[test]
    fn every_method_runs_and_knowing_more_helps() {
        let table: Vec<f64> = (0..400)
            .flat_map(|i| {
                [
                    f64::from(i / 20) * 1.86 - 17.67,
                    f64::from(i % 20) * 1.86 - 17.67,
                ]
            })
            .collect();
        let values: Vec<f64> = table
            .chunks(2)
            .map(|x| (x[0] / 9.0).sin() + (x[1] / 8.0).cos())
            .collect();
        let mut problem = Problem {
            table,
            dim: 2,
            origin: Origin::Public {
                unit: ShiftUnit::ONE,
            },
            kernel: Stationary::SquaredExponential,
            lengthscale: 6.25,
            signal_variance: 1.0,
            noise_variance: 1e-5,
            prior_mean: 0.0,
            failure_probability: 0.05,
            observation_variance: 1e-5,
            repeats: true,
        };
        let run = RunSeed::new(0, 0);
        let last = |method| {
            *problem
                .regrets(&values, method, 60, run)
                .unwrap()
                .last()
                .unwrap()
        };
        let paper = Method::Paper {
            epsilon: 3.0,
            delta: 1e-5,
            out_dim: 10,
        };
        let private = Method::Private {
            epsilon: 3.0,
            delta: 1e-5,
            noise_variance: 0.1,
        };
        for method in [Method::Plain, paper, private, Method::Random] {
            let curve = problem.regrets(&values, method, 15, run).unwrap();
            assert_eq!(curve.len(), 16);
            assert!(curve.windows(2).all(|pair| pair[1] <= pair[0]) && curve[15] >= 0.0);
        }
        assert!(last(Method::Plain) < 0.05 && last(paper) < 0.2);
        // Constants of the data: the private release is refused, the paper's is not.
        problem.origin = Origin::Data;
        assert!(problem.regrets(&values, private, 2, run).is_err());
        assert!(problem.regrets(&values, paper, 2, run).is_ok());
    }
}
