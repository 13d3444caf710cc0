//! What a prior file is worth to newcomers on a table of real settings, beside newcomers who have no file.
//!
//! | module | what it holds |
//! |---|---|
//! | `files` | the file of a repetition, and its twins |
//! | `votes` | the rival: contributors vote for the best of their points |
//!
//! A repetition draws newcomers and contributors from the table's parties, publishes a file of the contributors' studies,
//! and lets every newcomer search twice on the same candidates: alone, and with the file. What is compared is the regret
//! summed over the first evaluations, newcomer by newcomer the same in both, so a repetition is one pair. Nothing is chosen
//! but what [`Conditions`] name; the axes are ordered levels, which is what the columns of a table are.
//!
//! **Twins** ([`Origin`]) are files of the same shape: of permuted studies, of noise alone, of nothing, of votes. The noise
//! is simulated, so no file of these protects anybody.

mod files;
mod votes;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::{Value, json};
use sordino_core::federated::prior::PriorError;
use sordino_core::linalg::NotPositiveDefinite;
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::random::{Party, Purpose, RunSeed, Stream};
use sordino_host::ledger::LedgerError;
use sordino_host::prior::PriorFileError;
use sordino_host::prior::publish::PublishError;
use sordino_host::search::{Head, Search, SearchError};
use sordino_host::space::{Goal, Parameter, Point, Space, SpaceError, Values};

use crate::benchmark::Measured;

pub use files::Origin;

/// Newcomers of a repetition.
pub const NEWCOMERS: usize = 24;
/// Evaluations of a newcomer over which regret is summed.
pub const EVALUATIONS: usize = 20;
/// Random points that a contributor knows.
pub const POINTS: usize = 10;

/// Why a repetition has no result.
#[derive(Debug, thiserror::Error)]
pub enum NewcomersError {
    /// The table is none.
    #[error("{what}; admissible: {admissible}")]
    Table {
        /// What is wrong with it.
        what: String,
        /// What is admissible.
        admissible: String,
    },
    /// Its axes are no space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The file was not published.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// A twin is no file.
    #[error(transparent)]
    File(#[from] PriorFileError),
    /// Features of a vote.
    #[error(transparent)]
    Prior(#[from] PriorError),
    /// No noise for a vote.
    #[error(transparent)]
    Budget(#[from] AccountantError),
    /// A posterior of a vote is none.
    #[error(transparent)]
    Posterior(#[from] NotPositiveDefinite),
    /// A search refused.
    #[error(transparent)]
    Search(#[from] Box<SearchError>),
}

impl From<SearchError> for NewcomersError {
    fn from(error: SearchError) -> Self {
        NewcomersError::Search(Box::new(error))
    }
}

/// Settings in the space's numbers, and for each party its value at each; more is better.
pub struct Parties {
    space: Space,
    settings: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
}

impl Parties {
    /// A table that is compiled in.
    ///
    /// **Errors**: none for the tables there are.
    pub fn measured(table: Measured) -> Result<Self, NewcomersError> {
        Parties::new(table.settings(), &table.values())
    }

    /// A table: a header and a line of numbers for each setting; then the values of each party at all settings.
    ///
    /// **Errors**: [`NewcomersError::Table`], [`NewcomersError::Space`].
    pub fn new(settings: &str, values: &[f64]) -> Result<Self, NewcomersError> {
        let wrong = |what: String, admissible: &str| NewcomersError::Table { what, admissible: admissible.into() };
        let mut lines = settings.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let number = |cell: &str| cell.parse::<f64>().map_err(|_| wrong(format!("the setting {cell:?}"), "a number"));
        let row = |line: &str| line.split(',').map(number).collect::<Result<Vec<f64>, _>>();
        let rows = lines.map(row).collect::<Result<Vec<_>, _>>()?;
        if let Some(row) = rows.iter().find(|row| row.len() != names.len()) {
            return Err(wrong(format!("a setting of {} numbers", row.len()), "one for each name of the header"));
        }
        if rows.is_empty() || values.is_empty() || !values.len().is_multiple_of(rows.len()) {
            return Err(wrong(format!("{} values of {} settings", values.len(), rows.len()), "as many for each party"));
        }
        let levels = |axis: usize| {
            let mut levels: Vec<f64> = rows.iter().map(|row| row[axis]).collect();
            levels.sort_by(f64::total_cmp);
            levels.dedup();
            levels
        };
        let levels: Vec<Vec<f64>> = (0..names.len()).map(levels).collect();
        let parameter = |(name, levels): (&&str, &Vec<f64>)| {
            let choices = levels.iter().copied().map(Value::from).collect();
            Parameter { name: (*name).to_owned(), values: Values::Choices { choices, ordered: true }, context: false }
        };
        let space = Space::new(names.iter().zip(&levels).map(parameter).collect())?;
        let place = |(x, levels): (&f64, &Vec<f64>)| levels.partition_point(|level| level < x) as f64;
        let settings: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().zip(&levels).map(place).collect()).collect();
        Ok(Parties { space, values: values.chunks_exact(settings.len()).map(<[f64]>::to_vec).collect(), settings })
    }

    /// Number of parties.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Regret of one newcomer after each of its evaluations, in a unit of its own.
    fn regrets(&self, party: usize, mut search: Search) -> Result<[f64; EVALUATIONS], NewcomersError> {
        let values = &self.values[party];
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut best = f64::NEG_INFINITY;
        let mut regrets = [0.0; EVALUATIONS];
        for regret in &mut regrets {
            let point = Value::Object(search.ask(&json!({}))?);
            let numbers = self.space.numbers(&point).map_err(SearchError::from)?;
            let at = self.settings.iter().position(|setting| *setting == numbers);
            let at = at.ok_or_else(|| NewcomersError::Table {
                what: format!("{point} was asked"),
                admissible: "a setting of the table".into(),
            })?;
            search.tell(&point, 5.0 + 3.0 * values[at])?;
            best = best.max(values[at]);
            *regret = most - best;
        }
        Ok(regrets)
    }
}

/// Who contributes, and with which budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Number of contributors.
    pub contributors: usize,
    /// ε of the file, at δ = min(.001, N^−1.1).
    pub epsilon: f64,
    /// Whether every contributor counts in a unit e^{1.5 N(0,1)} and with an offset 30 N(0,1); in one unit otherwise.
    pub own_units: bool,
}

/// Newcomers with one file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guided {
    /// What the file is made of.
    pub origin: Origin,
    /// Its self-test B.
    pub self_test: f64,
    /// Mean regret after each evaluation.
    pub regrets: [f64; EVALUATIONS],
}

/// What newcomers reached in one repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// Mean regret after each evaluation without a file.
    pub alone: [f64; EVALUATIONS],
    /// With each of the files.
    pub guided: Vec<Guided>,
}

impl Repetition {
    /// Summed regret without a file.
    pub fn summed_alone(&self) -> f64 {
        self.alone.iter().sum()
    }

    /// Summed regret with the file of this origin; NaN if there was none.
    pub fn summed(&self, origin: Origin) -> f64 {
        let guided = self.guided.iter().find(|guided| guided.origin == origin);
        guided.map_or(f64::NAN, |guided| guided.regrets.iter().sum())
    }
}

/// Numbers below `count` in an order of the stream.
fn shuffled(stream: &mut Stream, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, stream.below(last as u32 + 1) as usize);
    }
    order
}

/// One repetition: newcomers with each of these files, and without.
///
/// **Errors**: [`NewcomersError`].
///
/// **Cost**: [`NEWCOMERS`] searches of [`EVALUATIONS`] questions for each file and once more; seconds.
pub fn repetition(
    table: &Parties,
    conditions: &Conditions,
    origins: &[Origin],
    number: u32,
) -> Result<Repetition, NewcomersError> {
    let mut stream = RunSeed::new(0, number).stream(Party::World, Purpose::InitialPoints, 0);
    let order = shuffled(&mut stream, table.count());
    if order.len() < NEWCOMERS + conditions.contributors.max(2) {
        let admissible = format!("at least {}", NEWCOMERS + conditions.contributors.max(2));
        return Err(NewcomersError::Table { what: format!("{} parties", order.len()), admissible });
    }
    let (newcomers, others) = order.split_at(NEWCOMERS);
    let contributors = &others[..conditions.contributors];
    let candidates: Vec<Point> = table.settings.iter().map(|setting| table.space.point(setting)).collect();
    let head =
        |seed: usize| Head::new(table.space.clone(), Goal::Maximize, seed as u64).among(Some(candidates.clone()));
    let mean = |search: &dyn Fn(Head) -> Result<Search, SearchError>| {
        let mut sums = [0.0; EVALUATIONS];
        for (seed, party) in newcomers.iter().enumerate() {
            let regrets = table.regrets(*party, search(head(seed))?)?;
            sums.iter_mut().zip(regrets).for_each(|(sum, regret)| *sum += regret / NEWCOMERS as f64);
        }
        Ok::<_, NewcomersError>(sums)
    };
    let alone = mean(&Search::new)?;
    let mut guided = Vec::new();
    for origin in origins {
        let file = files::file(table, contributors, conditions, *origin, number)?;
        let regrets = mean(&|head| Search::guided(head, &file))?;
        guided.push(Guided { origin: *origin, self_test: file.label.self_test, regrets });
    }
    Ok(Repetition { alone, guided })
}

/// Repetitions 0 to `count` on so many threads, which change no number; `told` is called after each.
///
/// **Errors**: that of the first repetition that has none.
pub fn repetitions(
    table: &Parties,
    conditions: &Conditions,
    origins: &[Origin],
    count: u32,
    threads: usize,
    told: &(impl Fn() + Sync),
) -> Result<Vec<Repetition>, NewcomersError> {
    let next = AtomicU32::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, repetition(table, conditions, origins, number)));
            told();
        }
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, 1024)).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
