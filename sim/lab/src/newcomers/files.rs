//! The file of a repetition, and its twins.

use std::fmt;

use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose, RunSeed, Stream, normal};
use sordino_host::ledger::{Accounting, Ledger, Terms};
use sordino_host::prior::PriorFile;
use sordino_host::prior::publish::{Prepared, Publication, Study};
use sordino_host::server::SimulatedSources;
use sordino_host::space::Goal;

use super::parties::{Conditions, NewcomersError, Parties, shuffled};
use super::votes;

/// Features of a file, at most.
const FEATURES: u32 = 100;
/// Self-test that the file of nothing claims: the least that is trusted.
const TRUSTED: f64 = 1.0;
/// Name of the data.
const DATA: &str = "table";

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The contributors' studies, as they are published.
    Studies,
    /// Studies whose points are paired with their values in another order: worth nothing, and noise
    /// at the same ε.
    Permuted,
    /// Nobody: noise at the same ε alone.
    Noise,
    /// Nothing at all: mean 0 and variance 1, and a self-test that claims to be trusted.
    Flat,
    /// Votes of the contributors for the best of their points, noised at the same ε and smoothed.
    Votes,
}

impl Origin {
    /// All of them, in the order of reports.
    pub const ALL: [Origin; 5] = [
        Origin::Studies,
        Origin::Votes,
        Origin::Noise,
        Origin::Flat,
        Origin::Permuted,
    ];

    /// Its name in bands.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Studies => "file",
            Origin::Permuted => "permuted file",
            Origin::Noise => "noise file",
            Origin::Flat => "flat file",
            Origin::Votes => "vote file",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the contributors of a repetition know: random points, in units of their own unless the
/// conditions say otherwise.
pub(super) fn studies(
    table: &Parties,
    parties: &[usize],
    conditions: &Conditions,
    permuted: bool,
    number: u32,
) -> Vec<Study> {
    let mut stream = RunSeed::new(1, number).stream(Party::World, Purpose::InitialPoints, 1);
    let mut studies = Vec::new();
    for party in parties {
        let unit = unit(conditions, &mut stream);
        let seen = table.random(&mut stream);
        let order = if permuted {
            shuffled(&mut stream, seen.len())
        } else {
            (0..seen.len()).collect()
        };
        let paired: Vec<usize> = order.into_iter().map(|place| seen[place]).collect();
        studies.push(study(table, *party, unit, &seen, &paired));
    }
    studies
}

/// The same of contributors who have evaluated these settings.
pub(super) fn seen(
    table: &Parties,
    logs: &[(usize, Vec<usize>)],
    conditions: &Conditions,
    number: u32,
) -> Vec<Study> {
    let mut stream = RunSeed::new(1, number).stream(Party::World, Purpose::InitialPoints, 1);
    logs.iter()
        .map(|(party, seen)| study(table, *party, unit(conditions, &mut stream), seen, seen))
        .collect()
}

/// Scale and offset of a contributor.
fn unit(conditions: &Conditions, stream: &mut Stream) -> (f64, f64) {
    let scale = Scalar::exp(1.5 * normal::draw::<f64>(stream));
    let unit = (scale, 30.0 * normal::draw::<f64>(stream));
    if conditions.own_units {
        unit
    } else {
        (1.0, 0.0)
    }
}

/// A study of these settings with the party's values at the paired ones.
fn study(
    table: &Parties,
    party: usize,
    (scale, offset): (f64, f64),
    seen: &[usize],
    paired: &[usize],
) -> Study {
    let values = seen.iter().zip(paired).map(|(at, paired)| {
        let value = offset + scale * table.values[party][*paired];
        (table.settings[*at].clone(), value)
    });
    Study {
        name: party.to_string(),
        values: values.collect(),
    }
}

/// The file of this origin that contributors make in repetition `number`.
pub(super) fn file(
    table: &Parties,
    contributors: &[usize],
    conditions: &Conditions,
    origin: Origin,
    number: u32,
) -> Result<PriorFile, NewcomersError> {
    let studies = studies(
        table,
        contributors,
        conditions,
        origin == Origin::Permuted,
        number,
    );
    file_of(table, &studies, conditions, origin, number)
}

/// The file of this origin that these studies make.
pub(super) fn file_of(
    table: &Parties,
    studies: &[Study],
    conditions: &Conditions,
    origin: Origin,
    number: u32,
) -> Result<PriorFile, NewcomersError> {
    // At most what `publish` admits.
    let delta = (0.1 / studies.len() as f64).min(1e-3);
    let publication = Publication {
        space: table.space.clone(),
        goal: Goal::Maximize,
        value: None,
        epsilon: conditions.epsilon,
        delta,
        releases: 2,
        features: FEATURES,
        dataset: DATA.into(),
        by: None,
        note: None,
        published: None,
    };
    let prepared = Prepared::new(&publication, studies.len())?;
    let says = !matches!(origin, Origin::Noise | Origin::Flat | Origin::Votes);
    let enrolled: Vec<Option<&Study>> = studies.iter().map(|study| says.then_some(study)).collect();
    let terms = Terms {
        data: DATA.into(),
        unit: "study".into(),
        records: None,
        accounting: Accounting::Gaussian,
        epsilon_max: None,
        delta,
    };
    let sources = SimulatedSources::new(RunSeed::new(2, number));
    let file = prepared
        .publish(&enrolled, sources, Ledger::in_memory(&terms)?, |_| {})?
        .file;
    match origin {
        Origin::Flat => flat(file),
        Origin::Votes => votes::file(file, prepared.context(), studies, number),
        _ => Ok(file),
    }
}

/// The file that says nothing, in the place of another one.
fn flat(file: PriorFile) -> Result<PriorFile, NewcomersError> {
    let features = file.features();
    let mut label = file.label;
    label.self_test = TRUSTED;
    let covariance = (0..features)
        .flat_map(|i| (0..=i).map(move |j| if i == j { 1.0 } else { 0.0 }))
        .collect();
    Ok(PriorFile::new(
        label,
        file.landmarks,
        vec![0.0; features],
        covariance,
    )?)
}
