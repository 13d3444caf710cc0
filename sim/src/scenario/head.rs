//! What every scenario has.

use serde::Serialize;

use super::reader::{Problem, Section};
use super::trust::Trust;

/// What every scenario has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Head {
    /// The trust model.
    pub trust: Trust,
    /// Name in tables and folders.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Seed of everything that is simulated.
    pub seed: u64,
    /// Number of runs, at least 1.
    pub runs: u32,
}

impl Head {
    /// Takes the keys that every scenario has.
    pub(super) fn read(trust: Trust, root: &mut Section) -> Result<Head, Problem> {
        root.text("trust")?;
        Ok(Head {
            trust,
            name: root.text("name")?,
            description: root.text("description")?,
            seed: root.integer("seed", 0..=i64::MAX as u64, Some(0))?,
            runs: root.integer("runs", 1..=100_000, Some(10))? as u32,
        })
    }
}
