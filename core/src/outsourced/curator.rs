//! The curator: releases transformed rows once, then answers queries by row number.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::paper::PaperProjection;
use super::preprocess::Origin;
use crate::privacy::mechanism::projection::{GaussianProjection, ProjectionError};
use crate::privacy::{Event, NoiseSource, SourceKind};

/// What stands between the inputs and the modeler.
#[derive(Clone, Copy, Debug)]
pub enum Protection<'p> {
    /// Public projection plus Gaussian noise: (ε, δ)-private for a shift of one row by at most 1, [`Origin::Public`] says of what. The
    /// default.
    Gaussian(GaussianProjection<'p>),
    /// The paper's: **not differentially private**.
    Paper(PaperProjection<'p>),
}

/// Where a curator stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CuratorPhase {
    /// Nothing has left.
    Fresh,
    /// The charge of the release is being made durable.
    Charging,
    /// The rows are out; queries are answered.
    Serving,
    /// A row is being evaluated.
    Evaluating,
    /// The budget refused: nothing left, nothing will.
    Closed,
}

/// What a curator is, apart from its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CuratorState {
    #[serde(deserialize_with = "charge_again")]
    phase: CuratorPhase,
    pending: u32,
    answered: u32,
    /// What was charged; another mechanism releases nothing for it.
    #[serde(skip)]
    charged: Option<Event>,
}

/// A stored state may be older than a release made from it: whoever resumes between charge and release is charged again.
fn charge_again<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<CuratorPhase, D::Error> {
    Ok(match CuratorPhase::deserialize(deserializer)? {
        CuratorPhase::Charging => CuratorPhase::Fresh,
        other => other,
    })
}

impl CuratorState {
    /// Before anything has left.
    pub const fn new() -> Self {
        CuratorState { phase: CuratorPhase::Fresh, pending: 0, answered: 0, charged: None }
    }

    /// Where it stands.
    pub const fn phase(&self) -> CuratorPhase {
        self.phase
    }

    /// Values told to the modeler. **Not protected**: each is y as it was observed.
    pub const fn answered(&self) -> u32 {
        self.answered
    }
}

impl Default for CuratorState {
    fn default() -> Self {
        Self::new()
    }
}

/// One thing that happens to a curator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CuratorInput {
    /// Release the rows.
    Open,
    /// The charge is durable: release.
    Charged,
    /// The budget refuses: nothing is drawn and nothing leaves.
    Skip,
    /// The modeler asks for the value of a row.
    Query {
        /// Its number.
        row: u32,
    },
    /// The value that was evaluated.
    Observed(f64),
}

/// What a curator answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CuratorOutput<'o> {
    /// Write this down durably, then say [`CuratorInput::Charged`].
    Charge(Event),
    /// Send these n·r numbers to the modeler.
    Rows {
        /// Row by row.
        rows: &'o [f64],
        /// What the noise was made of; nothing under the paper's transformation, which has none.
        kind: Option<SourceKind>,
    },
    /// Nothing will be released.
    Closed,
    /// Evaluate the function at this row of the original table and answer [`CuratorInput::Observed`].
    Evaluate {
        /// Its number.
        row: u32,
    },
    /// Send this value to the modeler.
    Reply {
        /// The row.
        row: u32,
        /// y, unprotected.
        value: f64,
    },
}

/// Why a curator refused. Its state is as before, and nothing left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CuratorError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the curator stands.
        phase: CuratorPhase,
        /// What it was given.
        input: &'static str,
    },
    /// A private release of a table whose centre or scale was measured on it: every row moves with each.
    ConstantsOfData,
    /// A row that does not exist.
    UnknownRow {
        /// Its number.
        row: u32,
        /// n.
        rows: u32,
    },
    /// A value that is NaN or infinite.
    ObservationNotFinite {
        /// Its row.
        row: u32,
    },
    /// A slice of the wrong length.
    Storage {
        /// Which.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// The mechanism costs something else than what was charged.
    OtherMechanism,
    /// The mechanism refused.
    Projection(ProjectionError),
}

impl fmt::Display for CuratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CuratorError::UnexpectedInput { phase, input } => write!(f, "{input} does not belong to phase {phase:?}"),
            CuratorError::ConstantsOfData => {
                f.write_str("a private release needs centring and scaling constants that are public, not of the data")
            }
            CuratorError::UnknownRow { row, rows } => write!(f, "there is no row {row}; there are {rows}"),
            CuratorError::ObservationNotFinite { row } => write!(f, "the value of row {row} is not finite"),
            CuratorError::Storage { what, found, expected } => write!(f, "{what}: {found} numbers, {expected} needed"),
            CuratorError::OtherMechanism => f.write_str("the mechanism costs something else than what was charged"),
            CuratorError::Projection(ref error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CuratorError {}

impl From<ProjectionError> for CuratorError {
    fn from(error: ProjectionError) -> Self {
        CuratorError::Projection(error)
    }
}

/// A curator at work: prepared table, protection, state and numbers, all borrowed.
pub struct Curator<'a> {
    protection: Protection<'a>,
    table: &'a [f64],
    rows: u32,
    state: &'a mut CuratorState,
    pool: &'a mut [i64],
    out: &'a mut [f64],
}

impl<'a> Curator<'a> {
    /// Joins a state with its table.
    ///
    /// **Parameters**: `table` n·d numbers, prepared with constants of `origin` ([`super::preprocess`]); `pool` n·r
    /// integers for noise (empty under the paper's transformation); `out` n·r numbers.
    ///
    /// **Errors**: [`CuratorError::ConstantsOfData`], [`CuratorError::Storage`].
    pub fn attach(
        mut protection: Protection<'a>,
        table: &'a [f64],
        origin: Origin,
        state: &'a mut CuratorState,
        pool: &'a mut [i64],
        out: &'a mut [f64],
    ) -> Result<Self, CuratorError> {
        let (dim, out_dim, pooled) = match &protection {
            Protection::Gaussian(mechanism) => (mechanism.dim(), mechanism.out_dim(), true),
            Protection::Paper(projection) => (projection.dim(), projection.out_dim(), false),
        };
        if let Protection::Gaussian(mechanism) = &mut protection {
            // The event says what is protected in the owner's units, not in those of the prepared table.
            let Origin::Public { unit } = origin else { return Err(CuratorError::ConstantsOfData) };
            *mechanism = mechanism.in_units_of(unit);
        }
        let rows = table.len() / dim;
        for (what, found, expected) in [
            ("table", table.len(), rows.max(1) * dim),
            ("pool", pool.len(), if pooled { rows * out_dim } else { 0 }),
            ("out", out.len(), rows * out_dim),
        ] {
            if found != expected {
                return Err(CuratorError::Storage { what, found, expected });
            }
        }
        Ok(Curator { protection, table, rows: rows as u32, state, pool, out })
    }

    /// Where it stands.
    pub fn state(&self) -> &CuratorState {
        self.state
    }

    /// What the release costs; nothing is charged for the paper's transformation, because no ε describes it.
    pub fn event(&self) -> Option<Event> {
        match &self.protection {
            Protection::Gaussian(mechanism) => Some(mechanism.event()),
            Protection::Paper(_) => None,
        }
    }

    /// One step of the machine: one input in, one borrowed output out. `source` makes the noise.
    ///
    /// **Errors**: [`CuratorError`]; nothing changed then, and nothing left.
    pub fn handle<S: NoiseSource>(
        &mut self,
        input: CuratorInput,
        source: &mut S,
    ) -> Result<CuratorOutput<'_>, CuratorError> {
        match (self.state.phase, input) {
            (CuratorPhase::Fresh, CuratorInput::Open) => self.open(),
            (CuratorPhase::Charging, CuratorInput::Charged) => self.release(source),
            (CuratorPhase::Fresh | CuratorPhase::Charging, CuratorInput::Skip) => {
                self.state.phase = CuratorPhase::Closed;
                Ok(CuratorOutput::Closed)
            }
            (CuratorPhase::Serving, CuratorInput::Query { row }) => {
                if row >= self.rows {
                    return Err(CuratorError::UnknownRow { row, rows: self.rows });
                }
                self.state.pending = row;
                self.state.phase = CuratorPhase::Evaluating;
                Ok(CuratorOutput::Evaluate { row })
            }
            (CuratorPhase::Evaluating, CuratorInput::Observed(value)) => {
                let row = self.state.pending;
                if !value.is_finite() {
                    return Err(CuratorError::ObservationNotFinite { row });
                }
                self.state.answered += 1;
                self.state.phase = CuratorPhase::Serving;
                Ok(CuratorOutput::Reply { row, value })
            }
            (phase, input) => Err(CuratorError::UnexpectedInput {
                phase,
                input: match input {
                    CuratorInput::Open => "Open",
                    CuratorInput::Charged => "Charged",
                    CuratorInput::Skip => "Skip",
                    CuratorInput::Query { .. } => "Query",
                    CuratorInput::Observed(_) => "Observed",
                },
            }),
        }
    }

    fn open(&mut self) -> Result<CuratorOutput<'_>, CuratorError> {
        match &self.protection {
            Protection::Gaussian(mechanism) => {
                self.state.phase = CuratorPhase::Charging;
                self.state.charged = Some(mechanism.event());
                Ok(CuratorOutput::Charge(mechanism.event()))
            }
            Protection::Paper(projection) => {
                projection.apply(self.table, self.out);
                self.state.phase = CuratorPhase::Serving;
                Ok(CuratorOutput::Rows { rows: self.out, kind: None })
            }
        }
    }

    fn release<S: NoiseSource>(&mut self, source: &mut S) -> Result<CuratorOutput<'_>, CuratorError> {
        if self.event() != self.state.charged {
            return Err(CuratorError::OtherMechanism);
        }
        if let Protection::Gaussian(mechanism) = &self.protection {
            let _charged = mechanism.release(self.table, source, self.pool, self.out)?;
        }
        self.state.phase = CuratorPhase::Serving;
        Ok(CuratorOutput::Rows { rows: self.out, kind: Some(source.kind()) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::preprocess::Constants;
    use super::*;
    use crate::privacy::accountant::{AccountantError, RdpAccountant};
    use crate::privacy::{NeighboringRelation, ShiftUnit};
    use crate::random::{Simulated, Stream};

    const ONE: Origin = Origin::Public { unit: ShiftUnit::ONE };

    #[test]
    fn charges_before_it_draws_and_answers_after_it_released() {
        let mechanism = GaussianProjection::identity(2, 1.0, 1e-5, 25.0, 20).unwrap();
        let table = [1.0, 2.0, 3.0, 4.0];
        let (mut state, mut pool, mut out) = (CuratorState::new(), [0; 4], [0.0; 4]);
        let protection = Protection::Gaussian(mechanism);
        let mut source = Simulated::new(Stream::from_seed(1));
        assert_eq!(
            Curator::attach(protection, &table, Origin::Data, &mut state, &mut pool, &mut out).err(),
            Some(CuratorError::ConstantsOfData)
        );
        assert!(Curator::attach(protection, &table[..3], ONE, &mut state, &mut pool, &mut out).is_err());
        assert!(Curator::attach(protection, &table, ONE, &mut state, &mut [], &mut out).is_err());
        let mut curator = Curator::attach(protection, &table, ONE, &mut state, &mut pool, &mut out).unwrap();
        assert!(curator.handle(CuratorInput::Query { row: 0 }, &mut source).is_err());
        assert!(curator.handle(CuratorInput::Charged, &mut source).is_err());
        let event = curator.event().unwrap();
        assert_eq!(curator.handle(CuratorInput::Open, &mut source), Ok(CuratorOutput::Charge(event)));
        match curator.handle(CuratorInput::Charged, &mut source).unwrap() {
            CuratorOutput::Rows { rows, kind } => {
                assert!(rows != table && kind == Some(SourceKind::Simulation));
            }
            other => panic!("{other:?}"),
        }
        let unknown = Err(CuratorError::UnknownRow { row: 2, rows: 2 });
        assert_eq!(curator.handle(CuratorInput::Query { row: 2 }, &mut source), unknown);
        let evaluate = Ok(CuratorOutput::Evaluate { row: 1 });
        assert_eq!(curator.handle(CuratorInput::Query { row: 1 }, &mut source), evaluate);
        assert!(curator.handle(CuratorInput::Observed(f64::NAN), &mut source).is_err());
        let reply = Ok(CuratorOutput::Reply { row: 1, value: 0.5 });
        assert_eq!(curator.handle(CuratorInput::Observed(0.5), &mut source), reply);
        assert_eq!(curator.state().answered(), 1);
        assert!(curator.handle(CuratorInput::Skip, &mut source).is_err());
    }

    #[test]
    fn a_refused_budget_closes_for_good() {
        let mechanism = GaussianProjection::identity(1, 1.0, 1e-5, 25.0, 20).unwrap();
        let (mut state, mut pool, mut out) = (CuratorState::new(), [0; 2], [0.0; 2]);
        let mut curator =
            Curator::attach(Protection::Gaussian(mechanism), &[1.0, 2.0], ONE, &mut state, &mut pool, &mut out)
                .unwrap();
        let mut source = Simulated::new(Stream::from_seed(1));
        curator.handle(CuratorInput::Open, &mut source).unwrap();
        assert_eq!(curator.handle(CuratorInput::Skip, &mut source), Ok(CuratorOutput::Closed));
        assert!(curator.handle(CuratorInput::Open, &mut source).is_err());
        assert!(curator.handle(CuratorInput::Query { row: 0 }, &mut source).is_err());
    }

    #[test]
    fn mended_releases_at_two_scales_do_not_add() {
        let mechanism = GaussianProjection::identity(1, 1.0, 1e-5, 25.0, 20).unwrap();
        let event = |constants: Constants<'_>| {
            let (mut table, mut state, mut pool, mut out) = ([1.0, 2.0], CuratorState::new(), [0; 2], [0.0; 2]);
            constants.apply(&mut table).unwrap();
            let protection = Protection::Gaussian(mechanism);
            let curator = Curator::attach(protection, &table, constants.origin(), &mut state, &mut pool, &mut out);
            curator.unwrap().event().unwrap()
        };
        let scaled = |factor| event(Constants::public(&[0.0], factor).unwrap());
        let (one, ten) = (scaled(1.0), scaled(10.0));
        let mut accountant = RdpAccountant::new();
        accountant.compose(&one, 1).unwrap();
        accountant.compose(&scaled(1.0), 1).unwrap();
        let refused = accountant.compose(&ten, 1).unwrap_err();
        assert_eq!(refused, AccountantError::MixedRelations { before: one.relation(), now: ten.relation() });
        extern crate std;
        let said = std::format!("{refused}");
        assert!(said.contains("by at most 1\"") && said.contains("by at most 0.1\""), "{said}");
        // A column divided by its lengthscale of 10 and multiplied by 10 moves as far as one left alone.
        let alike = Constants::public(&[0.0], 10.0).unwrap().of_columns(&[10.0], &[false]).unwrap();
        assert_eq!(event(alike), one);
        assert!(matches!(event(alike).relation(), NeighboringRelation::ShiftOne { unit } if unit == ShiftUnit::ONE));
        let logarithm = Constants::public(&[0.0], 1.0).unwrap().of_columns(&[1.0], &[true]).unwrap();
        assert!(accountant.compose(&event(logarithm), 1).is_err(), "one e-fold is not one unit");
    }
}
