//! What goes wrong in a federation: probabilities and a trace.

use std::path::PathBuf;

use serde::Serialize;

use super::reader::{Problem, Section};

/// Probabilities of faults; all 0 by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FaultConfig {
    /// An agent is away for one round.
    pub dropout: f64,
    /// All agents of a region are away for one round.
    pub outage: f64,
    /// An agent crashes and is away for `crash_rounds` rounds.
    pub crash: f64,
    /// How long a crash lasts.
    pub crash_rounds: u32,
    /// An upload misses the deadline of its round.
    pub straggler: f64,
    /// An upload is lost.
    pub loss: f64,
    /// A broadcast does not reach an agent.
    pub broadcast_loss: f64,
    /// An upload arrives twice.
    pub duplicate: f64,
    /// One bit of an upload flips.
    pub corrupt: f64,
    /// An upload promises more numbers than admitted.
    pub oversize: f64,
    /// An upload arrives late within its round.
    pub reorder: f64,
    /// File of availability intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
}

impl FaultConfig {
    /// Nothing ever goes wrong.
    pub fn is_none(&self) -> bool {
        *self == FaultConfig { crash_rounds: self.crash_rounds, ..FaultConfig::default() }
    }
}

pub(super) fn faults(mut section: Section) -> Result<FaultConfig, Problem> {
    section.only(&[
        "dropout",
        "outage",
        "crash",
        "crash_rounds",
        "straggler",
        "loss",
        "broadcast_loss",
        "duplicate",
        "corrupt",
        "oversize",
        "reorder",
        "trace",
    ])?;
    let mut probability = |key| section.number(key, 0.0..=1.0, "a probability from 0 to 1", Some(0.0));
    let mut config = FaultConfig {
        dropout: probability("dropout")?,
        outage: probability("outage")?,
        crash: probability("crash")?,
        straggler: probability("straggler")?,
        loss: probability("loss")?,
        broadcast_loss: probability("broadcast_loss")?,
        duplicate: probability("duplicate")?,
        corrupt: probability("corrupt")?,
        oversize: probability("oversize")?,
        reorder: probability("reorder")?,
        crash_rounds: 0,
        trace: None,
    };
    config.crash_rounds = section.integer("crash_rounds", 1..=64, Some(3))? as u32;
    config.trace = section.optional_text("trace")?.map(PathBuf::from);
    section.finish()?;
    Ok(config)
}
