//! The modeler: GP-UCB over the rows it was given.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::config::Config;
use crate::acquisition::upper_confidence_bound;
use crate::kernel::Kernel;
use crate::math::Scalar;
use crate::parameter::{StateError, stored};
use crate::random::{Party, Purpose, RunSeed};
use crate::schedule::confidence::finite_width;
use crate::surrogate::{CandidateGp, SurrogateError, candidates};

/// Where a modeler stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ModelerPhase {
    /// Nothing happened yet.
    Fresh,
    /// A row's value is awaited.
    Waiting,
    /// All T rounds are over.
    Done,
}

/// What a modeler is, apart from its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelerState {
    phase: ModelerPhase,
    observations: u32,
    pending: u32,
}

impl ModelerState {
    /// Before the first query.
    pub const fn new() -> Self {
        ModelerState {
            phase: ModelerPhase::Fresh,
            observations: 0,
            pending: 0,
        }
    }

    /// The phase it is in.
    pub const fn phase(&self) -> ModelerPhase {
        self.phase
    }

    /// Values received so far.
    pub const fn observations(&self) -> u32 {
        self.observations
    }

    /// The row whose value is awaited.
    pub const fn pending(&self) -> u32 {
        self.pending
    }
}

impl Default for ModelerState {
    fn default() -> Self {
        Self::new()
    }
}

/// One thing that happens to a modeler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ModelerInput<T> {
    /// Begin with the first initial row.
    Start,
    /// The value of the row last asked for.
    Observed(T),
}

/// What a modeler wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelerOutput {
    /// Ask the curator for the value of this row.
    Query {
        /// Index of the row, 0-based.
        row: u32,
    },
    /// The run is over.
    Done,
}

/// Why a modeler refused. Its state is as before.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ModelerError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the modeler stands.
        phase: ModelerPhase,
        /// Name of the input.
        input: &'static str,
    },
    /// A value that is NaN or infinite.
    ObservationNotFinite {
        /// The row it belongs to.
        row: u32,
    },
    /// A slice of the wrong length, or an initial row that does not exist.
    Storage {
        /// Name of the slice.
        what: &'static str,
        /// Length of the slice, or the number, given.
        found: usize,
        /// The length needed, or the bound.
        expected: usize,
    },
    /// A stored state that no modeler of this configuration can be in.
    State(StateError),
    /// The surrogate refused.
    Surrogate(SurrogateError),
}

impl fmt::Display for ModelerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ModelerError::UnexpectedInput { phase, input } => {
                write!(f, "{input} does not belong to phase {phase:?}")
            }
            ModelerError::ObservationNotFinite { row } => {
                write!(f, "the value of row {row} is not finite")
            }
            ModelerError::Storage {
                what,
                found,
                expected,
            } => write!(f, "{what}: {found}, {expected} expected"),
            ModelerError::State(ref error) => error.fmt(f),
            ModelerError::Surrogate(ref error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ModelerError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ModelerError::State(error) => error.source(),
            ModelerError::Surrogate(error) => error.source(),
            _ => None,
        }
    }
}

impl From<SurrogateError> for ModelerError {
    fn from(error: SurrogateError) -> Self {
        ModelerError::Surrogate(error)
    }
}

/// Whether a stored state can occur in a run of `queries` queries over `rows` rows.
fn judge(state: &ModelerState, rows: u32, queries: u64) -> Result<(), StateError> {
    let (name, observations, row_max) = match state.phase {
        ModelerPhase::Fresh => ("Fresh", 0..=0, 0),
        ModelerPhase::Waiting => (
            "Waiting",
            0..=queries.saturating_sub(1),
            rows.saturating_sub(1),
        ),
        ModelerPhase::Done => ("Done", queries..=queries, rows.saturating_sub(1)),
    };
    stored(
        name,
        "number of observations",
        u64::from(state.observations),
        observations,
    )?;
    stored(
        name,
        "row",
        u64::from(state.pending),
        0..=u64::from(row_max),
    )
}

/// Numbers in the log: row and value of every query of a whole run.
pub const fn log_len(config: &Config) -> usize {
    2 * config.queries_max()
}

/// Numbers in the workspace: the posterior over all rows.
pub const fn workspace_len(config: &Config) -> usize {
    candidates::storage_len(config.parameters().rows as usize, config.queries_max())
}

/// A row drawn uniformly: line 2, one word of the stream (learner, initial points, `number`).
pub fn random_row(config: &Config, seed: RunSeed, number: u32) -> u32 {
    seed.stream(Party::Server, Purpose::InitialPoints, number)
        .below(config.parameters().rows)
}

/// A modeler at work: configuration, rows, state and numbers, all borrowed.
pub struct Modeler<'a, T, K> {
    config: &'a Config,
    initial: &'a [u32],
    state: &'a mut ModelerState,
    log: &'a mut [T],
    posterior: CandidateGp<T, K, &'a [T], &'a mut [T]>,
}

impl<'a, T: Scalar, K: Kernel<T>> Modeler<'a, T, K> {
    /// Joins a state with its log and a workspace that anybody may have used before: the posterior
    /// is rebuilt from the log, to the same bits.
    ///
    /// **Parameters**: `rows` n·r numbers as released; `kernel` over them, with the
    /// hyper-parameters of the x-domain; `initial` the rows queried first.
    ///
    /// **Errors**: [`ModelerError::Storage`], [`ModelerError::Surrogate`] (a number of `rows` is
    /// not finite).
    ///
    /// **Cost**: 2n flops for every pair of observations in the log.
    pub fn attach(
        config: &'a Config,
        kernel: K,
        rows: &'a [T],
        initial: &'a [u32],
        state: &'a mut ModelerState,
        log: &'a mut [T],
        workspace: &'a mut [T],
    ) -> Result<Self, ModelerError> {
        let p = config.parameters();
        for (what, found, expected) in [
            ("rows", rows.len(), p.rows as usize * p.out_dim as usize),
            ("initial rows", initial.len(), p.initial_rows as usize),
            ("log", log.len(), log_len(config)),
            ("workspace", workspace.len(), workspace_len(config)),
        ] {
            if found != expected {
                return Err(ModelerError::Storage {
                    what,
                    found,
                    expected,
                });
            }
        }
        if let Some(row) = initial.iter().find(|row| **row >= p.rows) {
            return Err(ModelerError::Storage {
                what: "initial row",
                found: *row as usize,
                expected: p.rows as usize - 1,
            });
        }
        judge(state, p.rows, config.queries_max() as u64).map_err(ModelerError::State)?;
        let noise_variance = T::from_f64(p.noise_variance);
        let dim = p.out_dim as usize;
        let mut posterior = CandidateGp::new(
            kernel,
            noise_variance,
            dim,
            rows,
            config.queries_max(),
            workspace,
        )?;
        for entry in log.chunks_exact(2).take(state.observations as usize) {
            posterior.observe(entry[0].to_u32() as usize, entry[1])?;
        }
        Ok(Modeler {
            config,
            initial,
            state,
            log,
            posterior,
        })
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &ModelerState {
        self.state
    }

    /// The queries so far, (row, value) in order.
    pub fn observations(&self) -> impl Iterator<Item = (u32, T)> + '_ {
        let mean = T::from_f64(self.config.parameters().prior_mean);
        let entries = self
            .log
            .chunks_exact(2)
            .take(self.state.observations as usize);
        entries.map(move |entry| (entry[0].to_u32(), entry[1] + mean))
    }

    /// Posterior means of all rows, without the prior mean.
    pub fn mean(&self) -> &[T] {
        self.posterior.mean()
    }

    /// Posterior variances of all rows.
    pub fn variance(&self) -> &[T] {
        self.posterior.variance()
    }

    /// One step of the machine: one input in, one output out.
    ///
    /// **Errors**: [`ModelerError`]; nothing changed then. **Cost**: 2n flops for every earlier
    /// observation.
    pub fn handle(&mut self, input: ModelerInput<T>) -> Result<ModelerOutput, ModelerError> {
        match (self.state.phase, input) {
            (ModelerPhase::Fresh, ModelerInput::Start) => Ok(self.query()),
            (ModelerPhase::Waiting, ModelerInput::Observed(y)) => {
                self.record(y)?;
                Ok(self.query())
            }
            (phase, input) => Err(ModelerError::UnexpectedInput {
                phase,
                input: match input {
                    ModelerInput::Start => "Start",
                    ModelerInput::Observed(_) => "Observed",
                },
            }),
        }
    }

    /// Line "update the posterior with (z, y)".
    fn record(&mut self, y: T) -> Result<(), ModelerError> {
        let row = self.state.pending;
        let y = y - T::from_f64(self.config.parameters().prior_mean);
        if !y.is_finite() {
            return Err(ModelerError::ObservationNotFinite { row });
        }
        self.posterior.observe(row as usize, y)?;
        let start = 2 * self.state.observations as usize;
        if let Some(entry) = self.log.get_mut(start..start + 2) {
            entry[0] = T::from_u32(row);
            entry[1] = y;
        }
        self.state.observations += 1;
        Ok(())
    }

    /// The same over the rows not queried yet; ties go to the lowest index.
    fn best_unseen(&self, width: T) -> u32 {
        let mut best = 0;
        let mut largest = -T::INFINITY;
        let bounds = self.posterior.mean().iter().zip(self.posterior.variance());
        for (row, (mean, variance)) in (0u32..).zip(bounds) {
            let bound = upper_confidence_bound::bound(*mean, *variance, width);
            let seen = || {
                self.log
                    .chunks_exact(2)
                    .take(self.state.observations as usize)
                    .any(|e| e[0].to_u32() == row)
            };
            if bound > largest && !seen() {
                (best, largest) = (row, bound);
            }
        }
        best
    }

    /// Line "argmax of μ̃ + √βₜ·σ̃", t counted from 1 after the initial rows.
    fn query(&mut self) -> ModelerOutput {
        let p = self.config.parameters();
        let done = self.state.observations;
        self.state.phase = ModelerPhase::Waiting;
        if let Some(row) = self.initial.get(done as usize) {
            self.state.pending = *row;
        } else if done as usize == self.config.queries_max() {
            self.state.phase = ModelerPhase::Done;
            return ModelerOutput::Done;
        } else {
            let t = u64::from(done - p.initial_rows) + 1;
            let width = T::from_f64(finite_width(
                u64::from(p.rows),
                t,
                0.5 * p.failure_probability,
            ));
            self.state.pending = if p.repeats {
                upper_confidence_bound::maximize(
                    self.posterior.mean(),
                    self.posterior.variance(),
                    width,
                )
                .candidate
            } else {
                self.best_unseen(width)
            };
        }
        ModelerOutput::Query {
            row: self.state.pending,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::Parameters;
    use super::*;
    use crate::kernel::SquaredExponential;
    use std::vec;
    use std::vec::Vec;

    fn config(rounds: u32) -> Config {
        Config::new(Parameters {
            rows: 40,
            out_dim: 1,
            rounds,
            initial_rows: 1,
            failure_probability: 0.05,
            noise_variance: 1e-5,
            prior_mean: 3.0,
            repeats: true,
        })
        .unwrap()
    }

    fn value(row: u32) -> f64 {
        3.0 + (f64::from(row) * 0.2).sin()
    }

    /// Runs to the end; with `crash`, state and log are attached again after every step.
    fn queries(crash: bool) -> Vec<u32> {
        let config = config(12);
        let rows: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.1).collect();
        let mut state = ModelerState::new();
        let mut log = vec![0.0; log_len(&config)];
        let mut workspace = vec![f64::NAN; workspace_len(&config)];
        let mut input = ModelerInput::Start;
        let mut asked = Vec::new();
        loop {
            let kernel = SquaredExponential::new(0.7, 1.0).unwrap();
            let mut modeler = Modeler::attach(
                &config,
                kernel,
                &rows,
                &[7],
                &mut state,
                &mut log,
                &mut workspace,
            )
            .unwrap();
            loop {
                match modeler.handle(input).unwrap() {
                    ModelerOutput::Done => return asked,
                    ModelerOutput::Query { row } => {
                        asked.push(row);
                        input = ModelerInput::Observed(value(row));
                    }
                }
                if crash {
                    break;
                }
            }
        }
    }

    #[test]
    fn finds_the_maximum_and_survives_restarts() {
        let asked = queries(false);
        assert_eq!((asked.len(), asked[0]), (13, 7));
        assert!(
            asked.contains(&8),
            "the largest value, sin 1.6, is at row 8: {asked:?}"
        );
        assert_eq!(queries(true), asked);
    }

    #[test]
    fn without_repeats_every_row_is_asked_for_once() {
        let with = Parameters {
            repeats: false,
            rounds: 39,
            ..*config(12).parameters()
        };
        assert!(Config::new(Parameters { rounds: 40, ..with }).is_err());
        let config = Config::new(with).unwrap();
        let rows: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.1).collect();
        let mut state = ModelerState::new();
        let mut log = vec![0.0; log_len(&config)];
        let mut workspace = vec![0.0; workspace_len(&config)];
        let kernel = SquaredExponential::new(0.7, 1.0).unwrap();
        let mut modeler = Modeler::attach(
            &config,
            kernel,
            &rows,
            &[7],
            &mut state,
            &mut log,
            &mut workspace,
        )
        .unwrap();
        let mut input = ModelerInput::Start;
        let mut asked = Vec::new();
        while let ModelerOutput::Query { row } = modeler.handle(input).unwrap() {
            asked.push(row);
            input = ModelerInput::Observed(value(row));
        }
        asked.sort_unstable();
        assert_eq!(asked, (0..40).collect::<Vec<u32>>());
    }

    #[test]
    fn refuses_and_stays_as_it_was() {
        let config = config(1);
        let rows: Vec<f64> = (0..40).map(f64::from).collect();
        let kernel = || SquaredExponential::new(0.7, 1.0).unwrap();
        let mut state = ModelerState::new();
        let mut log = vec![0.0; log_len(&config)];
        let mut workspace = vec![0.0; workspace_len(&config)];
        assert!(
            Modeler::attach(
                &config,
                kernel(),
                &rows,
                &[40],
                &mut state,
                &mut log,
                &mut workspace
            )
            .is_err()
        );
        assert!(
            Modeler::attach(
                &config,
                kernel(),
                &rows[1..],
                &[0],
                &mut state,
                &mut log,
                &mut workspace
            )
            .is_err()
        );
        assert!(
            Modeler::attach(
                &config,
                kernel(),
                &rows,
                &[],
                &mut state,
                &mut log,
                &mut workspace
            )
            .is_err()
        );
        let mut modeler = Modeler::attach(
            &config,
            kernel(),
            &rows,
            &[3],
            &mut state,
            &mut log,
            &mut workspace,
        )
        .unwrap();
        assert!(modeler.handle(ModelerInput::Observed(1.0)).is_err());
        assert_eq!(
            modeler.handle(ModelerInput::Start),
            Ok(ModelerOutput::Query { row: 3 })
        );
        let before = modeler.state().clone();
        let refused = modeler.handle(ModelerInput::Observed(f64::NAN));
        assert_eq!(refused, Err(ModelerError::ObservationNotFinite { row: 3 }));
        assert!(modeler.handle(ModelerInput::Start).is_err());
        assert_eq!(*modeler.state(), before);
        assert!(modeler.handle(ModelerInput::Observed(1.0)).is_ok());
        assert_eq!(
            modeler.handle(ModelerInput::Observed(1.0)),
            Ok(ModelerOutput::Done)
        );
    }
}
