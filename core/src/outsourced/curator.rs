//! The curator: releases transformed rows once, then answers queries by row number.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::paper::PaperProjection;
use super::preprocess::Origin;
use crate::parameter::{StateError, stored};
use crate::privacy::charge::{Charge, Receipt};
use crate::privacy::mechanism::projection::{GaussianProjection, ProjectionError};
use crate::privacy::{Event, NoiseError, NoiseSource, Nonce, Provenance, Release};

/// What stands between the inputs and the modeler.
#[derive(Clone, Copy, Debug)]
pub enum Protection<'p> {
    /// Public projection plus Gaussian noise: (ε, δ)-private for a shift of one row by at most 1,
    /// [`Origin::Public`] says of what. The default.
    Gaussian(GaussianProjection<'p>),
    /// The paper's: **not differentially private**.
    Paper(PaperProjection<'p>),
}

/// Where a curator stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CuratorPhase {
    /// Nothing has left the curator.
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

/// What a curator is, apart from its numbers. Not `Clone`: two curators that go on from one state
/// would release twice from one charge.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct CuratorState {
    #[serde(deserialize_with = "charge_again")]
    phase: CuratorPhase,
    pending: u32,
    answered: u32,
    /// The release that is open, and what it was charged; another mechanism releases nothing for
    /// it. Never stored.
    #[serde(skip)]
    opened: Option<(Nonce, Event)>,
}

/// A stored state may be older than a release made from it: a curator that resumes between charge
/// and release is charged again.
fn charge_again<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<CuratorPhase, D::Error> {
    Ok(match CuratorPhase::deserialize(deserializer)? {
        CuratorPhase::Charging => CuratorPhase::Fresh,
        other => other,
    })
}

impl CuratorState {
    /// Before anything has left.
    pub const fn new() -> Self {
        CuratorState {
            phase: CuratorPhase::Fresh,
            pending: 0,
            answered: 0,
            opened: None,
        }
    }

    /// The phase it is in.
    pub const fn phase(&self) -> CuratorPhase {
        self.phase
    }

    /// Before the rows are out nothing is asked; afterwards only rows that exist.
    fn judge(&self, rows: u32) -> Result<(), StateError> {
        let (phase, open) = match self.phase {
            CuratorPhase::Fresh => ("Fresh", false),
            CuratorPhase::Charging => ("Charging", false),
            CuratorPhase::Closed => ("Closed", false),
            CuratorPhase::Serving => ("Serving", true),
            CuratorPhase::Evaluating => ("Evaluating", true),
        };
        let (row_max, answered_max) = if open {
            (rows.saturating_sub(1), u32::MAX)
        } else {
            (0, 0)
        };
        stored(
            phase,
            "row",
            u64::from(self.pending),
            0..=u64::from(row_max),
        )?;
        stored(
            phase,
            "number of answers",
            u64::from(self.answered),
            0..=u64::from(answered_max),
        )
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
#[derive(Debug, PartialEq)]
pub enum CuratorInput<P: Provenance> {
    /// Release the rows. Said again while the charge is being written down, it names the charge
    /// again, for a ledger that failed.
    Open,
    /// The charge is durable, and here is the ledger's receipt: release.
    Charged(Receipt<P>),
    /// The budget refuses: nothing is drawn and nothing leaves.
    Skip,
    /// The modeler asks for the value of a row.
    Query {
        /// Index of the row, 0-based.
        row: u32,
    },
    /// The value that was evaluated.
    Observed(f64),
}

/// What a curator answers. `P` says how the noise was made.
#[derive(Debug, PartialEq)]
pub enum CuratorOutput<'o, P: Provenance> {
    /// Let a ledger write this down ([`crate::privacy::Ledger::append`]) and answer
    /// [`CuratorInput::Charged`] with its receipt.
    Charge(Charge<P>),
    /// Send these n·r numbers, row by row, to the modeler.
    Rows(Release<&'o [f64], P>),
    /// Send these n·r numbers, row by row, to the modeler. They are the paper's transformation,
    /// which is **not differentially private**.
    Unprotected(&'o [f64]),
    /// Nothing will be released.
    Closed,
    /// Evaluate the function at this row of the original table and answer
    /// [`CuratorInput::Observed`].
    Evaluate {
        /// Index of the row, 0-based.
        row: u32,
    },
    /// Send this value to the modeler.
    Reply {
        /// Index of the row that was evaluated.
        row: u32,
        /// y, unprotected.
        value: f64,
    },
}

/// Why a curator refused. Its state is as before, and nothing left.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CuratorError {
    /// The input does not belong to the phase.
    UnexpectedInput {
        /// Where the curator stands.
        phase: CuratorPhase,
        /// Name of the input.
        input: &'static str,
    },
    /// A private release of a table whose centre or scale was measured on it: every row moves with
    /// each.
    ConstantsOfData,
    /// A row that does not exist.
    UnknownRow {
        /// Index of the row as given.
        row: u32,
        /// Number of rows n.
        rows: u32,
    },
    /// A value that is NaN or infinite.
    ObservationNotFinite {
        /// Index of the row.
        row: u32,
    },
    /// A slice of the wrong length.
    Storage {
        /// Name of the slice.
        what: &'static str,
        /// Length of the slice given.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// The mechanism costs something else than what was charged.
    OtherMechanism,
    /// A receipt for something else. It is spent; open again to name the charge again.
    OtherReceipt,
    /// The entropy source failed.
    Noise(NoiseError),
    /// A stored state that no curator of this table can be in.
    State(StateError),
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
            CuratorError::OtherReceipt => f.write_str("a receipt for something else than this release"),
            CuratorError::Noise(ref error) => error.fmt(f),
            CuratorError::State(ref error) => error.fmt(f),
            CuratorError::Projection(ref error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CuratorError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            CuratorError::Noise(error) => error.source(),
            CuratorError::State(error) => error.source(),
            CuratorError::Projection(error) => error.source(),
            _ => None,
        }
    }
}

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
    /// **Parameters**: `table` n·d numbers, prepared with constants of `origin`
    /// ([`super::preprocess`]); `pool` n·r integers for noise (empty under the paper's
    /// transformation); `out` n·r numbers.
    ///
    /// **Errors**: [`CuratorError::ConstantsOfData`], [`CuratorError::Storage`],
    /// [`CuratorError::State`].
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
            // The event says what is protected in the owner's units, not in those of the prepared
            // table.
            let Origin::Public { unit } = origin else {
                return Err(CuratorError::ConstantsOfData);
            };
            *mechanism = mechanism.in_units_of(unit);
        }
        let rows = table.len() / dim;
        for (what, found, expected) in [
            ("table", table.len(), rows.max(1) * dim),
            ("pool", pool.len(), if pooled { rows * out_dim } else { 0 }),
            ("out", out.len(), rows * out_dim),
        ] {
            if found != expected {
                return Err(CuratorError::Storage {
                    what,
                    found,
                    expected,
                });
            }
        }
        state.judge(rows as u32).map_err(CuratorError::State)?;
        // What is refused for its numbers is refused before anything is charged.
        if let Some(i) = table.iter().position(|x| !x.is_finite()).filter(|_| pooled) {
            return Err(ProjectionError::NotFinite { row: i / dim }.into());
        }
        Ok(Curator {
            protection,
            table,
            rows: rows as u32,
            state,
            pool,
            out,
        })
    }

    /// The state it works on: its phase and counts.
    pub fn state(&self) -> &CuratorState {
        self.state
    }

    /// What the release costs; nothing is charged for the paper's transformation, because no ε
    /// describes it.
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
        input: CuratorInput<S::Provenance>,
        source: &mut S,
    ) -> Result<CuratorOutput<'_, S::Provenance>, CuratorError> {
        match (self.state.phase, input) {
            (CuratorPhase::Fresh | CuratorPhase::Charging, CuratorInput::Open) => self.open(source),
            (CuratorPhase::Charging, CuratorInput::Charged(receipt)) => {
                self.release(&receipt, source)
            }
            (CuratorPhase::Fresh | CuratorPhase::Charging, CuratorInput::Skip) => {
                self.state.phase = CuratorPhase::Closed;
                Ok(CuratorOutput::Closed)
            }
            (CuratorPhase::Serving, CuratorInput::Query { row }) => {
                if row >= self.rows {
                    return Err(CuratorError::UnknownRow {
                        row,
                        rows: self.rows,
                    });
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
                    CuratorInput::Charged(_) => "Charged",
                    CuratorInput::Skip => "Skip",
                    CuratorInput::Query { .. } => "Query",
                    CuratorInput::Observed(_) => "Observed",
                },
            }),
        }
    }

    fn open<S: NoiseSource>(
        &mut self,
        source: &mut S,
    ) -> Result<CuratorOutput<'_, S::Provenance>, CuratorError> {
        match &self.protection {
            Protection::Gaussian(mechanism) => {
                let nonce = match self.state.opened {
                    Some((nonce, charged)) if charged == mechanism.event() => nonce,
                    _ => source.nonce().map_err(CuratorError::Noise)?,
                };
                self.state.phase = CuratorPhase::Charging;
                self.state.opened = Some((nonce, mechanism.event()));
                Ok(CuratorOutput::Charge(Charge::one(
                    nonce,
                    0,
                    mechanism.event(),
                )))
            }
            Protection::Paper(projection) => {
                projection.apply(self.table, self.out);
                self.state.phase = CuratorPhase::Serving;
                Ok(CuratorOutput::Unprotected(self.out))
            }
        }
    }

    fn release<S: NoiseSource>(
        &mut self,
        receipt: &Receipt<S::Provenance>,
        source: &mut S,
    ) -> Result<CuratorOutput<'_, S::Provenance>, CuratorError> {
        let (Protection::Gaussian(mechanism), Some((nonce, charged))) =
            (&self.protection, self.state.opened)
        else {
            return Err(CuratorError::OtherMechanism);
        };
        if charged != mechanism.event() {
            return Err(CuratorError::OtherMechanism);
        }
        if !receipt.pays(nonce, &[charged]) {
            return Err(CuratorError::OtherReceipt);
        }
        let release = mechanism.release(self.table, source, self.pool, self.out)?;
        self.state.phase = CuratorPhase::Serving;
        self.state.opened = None;
        Ok(CuratorOutput::Rows(release))
    }
}

#[cfg(test)]
mod tests {
    use super::super::preprocess::Constants;
    use super::*;
    use crate::privacy::accountant::{AccountantError, RdpAccountant};
    use crate::privacy::charge::Ledger;
    use crate::privacy::charge::tests::InMemory;
    use crate::privacy::{NeighboringRelation, ShiftUnit};
    use crate::random::{Simulated, Stream};

    const ONE: Origin = Origin::Public {
        unit: ShiftUnit::ONE,
    };

    #[test]
    fn charges_before_it_draws_and_answers_after_it_released() {
        let mechanism = GaussianProjection::identity(2, 1.0, 1e-5, 25.0, 20).unwrap();
        let table = [1.0, 2.0, 3.0, 4.0];
        let mut state = CuratorState::new();
        let mut pool = [0; 4];
        let mut out = [0.0; 4];
        let protection = Protection::Gaussian(mechanism);
        let mut source = Simulated::new(Stream::from_seed(1));
        assert_eq!(
            Curator::attach(
                protection,
                &table,
                Origin::Data,
                &mut state,
                &mut pool,
                &mut out
            )
            .err(),
            Some(CuratorError::ConstantsOfData)
        );
        assert!(
            Curator::attach(
                protection,
                &table[..3],
                ONE,
                &mut state,
                &mut pool,
                &mut out
            )
            .is_err()
        );
        assert!(Curator::attach(protection, &table, ONE, &mut state, &mut [], &mut out).is_err());
        let mut curator =
            Curator::attach(protection, &table, ONE, &mut state, &mut pool, &mut out).unwrap();
        assert!(
            curator
                .handle(CuratorInput::Query { row: 0 }, &mut source)
                .is_err()
        );
        let event = curator.event().unwrap();
        let Ok(CuratorOutput::Charge(charge)) = curator.handle(CuratorInput::Open, &mut source)
        else {
            panic!("a private release is charged")
        };
        assert_eq!(charge.events(), [event]);
        // A receipt of another opening pays nothing here, and the charge is named again.
        let elsewhere = Charge::one(
            Simulated::new(Stream::from_seed(9)).nonce().unwrap(),
            0,
            event,
        );
        let elsewhere = InMemory::default().append(elsewhere).unwrap();
        let refused = curator.handle(CuratorInput::Charged(elsewhere), &mut source);
        assert_eq!(refused, Err(CuratorError::OtherReceipt));
        assert_eq!(
            curator.handle(CuratorInput::Open, &mut source),
            Ok(CuratorOutput::Charge(charge))
        );
        let Ok(CuratorOutput::Charge(charge)) = curator.handle(CuratorInput::Open, &mut source)
        else {
            panic!()
        };
        let receipt = InMemory::default().append(charge).unwrap();
        match curator
            .handle(CuratorInput::Charged(receipt), &mut source)
            .unwrap()
        {
            CuratorOutput::Rows(release) => {
                assert!(*release.value() != table && release.event() == event)
            }
            other => panic!("{other:?}"),
        }
        let unknown = Err(CuratorError::UnknownRow { row: 2, rows: 2 });
        assert_eq!(
            curator.handle(CuratorInput::Query { row: 2 }, &mut source),
            unknown
        );
        let evaluate = Ok(CuratorOutput::Evaluate { row: 1 });
        assert_eq!(
            curator.handle(CuratorInput::Query { row: 1 }, &mut source),
            evaluate
        );
        assert!(
            curator
                .handle(CuratorInput::Observed(f64::NAN), &mut source)
                .is_err()
        );
        let reply = Ok(CuratorOutput::Reply { row: 1, value: 0.5 });
        assert_eq!(
            curator.handle(CuratorInput::Observed(0.5), &mut source),
            reply
        );
        assert_eq!(curator.state().answered(), 1);
        assert!(curator.handle(CuratorInput::Skip, &mut source).is_err());
    }

    #[test]
    fn a_refused_budget_closes_for_good() {
        let mechanism = GaussianProjection::identity(1, 1.0, 1e-5, 25.0, 20).unwrap();
        let mut state = CuratorState::new();
        let mut pool = [0; 2];
        let mut out = [0.0; 2];
        let mut curator = Curator::attach(
            Protection::Gaussian(mechanism),
            &[1.0, 2.0],
            ONE,
            &mut state,
            &mut pool,
            &mut out,
        )
        .unwrap();
        let mut source = Simulated::new(Stream::from_seed(1));
        curator.handle(CuratorInput::Open, &mut source).unwrap();
        assert_eq!(
            curator.handle(CuratorInput::Skip, &mut source),
            Ok(CuratorOutput::Closed)
        );
        assert!(curator.handle(CuratorInput::Open, &mut source).is_err());
        assert!(
            curator
                .handle(CuratorInput::Query { row: 0 }, &mut source)
                .is_err()
        );
    }

    #[test]
    fn releases_at_two_scales_do_not_add() {
        let mechanism = GaussianProjection::identity(1, 1.0, 1e-5, 25.0, 20).unwrap();
        let event = |constants: Constants<'_>| {
            let mut table = [1.0, 2.0];
            let mut state = CuratorState::new();
            let mut pool = [0; 2];
            let mut out = [0.0; 2];
            constants.apply(&mut table).unwrap();
            let protection = Protection::Gaussian(mechanism);
            let curator = Curator::attach(
                protection,
                &table,
                constants.origin(),
                &mut state,
                &mut pool,
                &mut out,
            );
            curator.unwrap().event().unwrap()
        };
        let scaled = |factor| event(Constants::public(&[0.0], factor).unwrap());
        let one = scaled(1.0);
        let ten = scaled(10.0);
        let mut accountant = RdpAccountant::new();
        accountant.compose(&one, 1).unwrap();
        accountant.compose(&scaled(1.0), 1).unwrap();
        let refused = accountant.compose(&ten, 1).unwrap_err();
        assert_eq!(
            refused,
            AccountantError::MixedRelations {
                before: one.relation(),
                now: ten.relation()
            }
        );
        extern crate std;
        let said = std::format!("{refused}");
        assert!(
            said.contains("by at most 1\"") && said.contains("by at most 0.1\""),
            "{said}"
        );
        // A column divided by its lengthscale of 10 and multiplied by 10 moves as far as one left
        // alone.
        let alike = Constants::public(&[0.0], 10.0)
            .unwrap()
            .of_columns(&[10.0], &[false])
            .unwrap();
        assert_eq!(event(alike), one);
        assert!(
            matches!(event(alike).relation(), NeighboringRelation::ShiftOne { unit } if unit == ShiftUnit::ONE)
        );
        let logarithm = Constants::public(&[0.0], 1.0)
            .unwrap()
            .of_columns(&[1.0], &[true])
            .unwrap();
        assert!(
            accountant.compose(&event(logarithm), 1).is_err(),
            "one e-fold is not one unit"
        );
    }
}
