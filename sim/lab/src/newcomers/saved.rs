//! What a file's label says that it saves, beside what it saves newcomers of a table.

use sordino_host::prior::guide::GuideError;
use sordino_host::prior::worth::{Quartiles, WITH, needed, worth};
use sordino_host::search::Search;

use super::files::{self, Origin};
use super::parties::{Conditions, EVALUATIONS, NewcomersError, Parties};
use super::{drawn, head};

/// Evaluations that are counted at most: a newcomer of a table makes fewer than a simulated one.
pub const COUNTED: usize = EVALUATIONS - WITH;

/// What a file says that it saves, and what it saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    /// Whether the label says that the file is worth nothing.
    pub is_nothing: bool,
    /// What it says that the middle half of newcomers save.
    pub said: Quartiles,
    /// Evaluations that each newcomer of the table saved, at most [`COUNTED`].
    pub each: Vec<usize>,
    /// Evaluations saved by the newcomers' mean regret.
    pub by_mean: usize,
}

impl Saved {
    /// Shares of the table's newcomers below what was said, within and above it.
    pub fn shares(&self) -> [f64; 3] {
        let (lower, upper) = (self.said.lower.min(COUNTED), self.said.upper.min(COUNTED));
        let share = |is: &dyn Fn(usize) -> bool| {
            self.each.iter().filter(|saved| is(**saved)).count() as f64 / self.each.len() as f64
        };
        [
            share(&|saved| saved < lower),
            share(&|saved| (lower..=upper).contains(&saved)),
            share(&|saved| saved > upper),
        ]
    }
}

/// What the file of repetition `number` says that it saves, and what it saves the newcomers of that
/// repetition.
///
/// **Errors**: [`NewcomersError`].
///
/// **Cost**: that of a [`repetition`](super::repetition) with one file.
pub fn saved(
    table: &Parties,
    conditions: &Conditions,
    number: u32,
) -> Result<Saved, NewcomersError> {
    let (newcomers, contributors) = drawn(table, conditions, number)?;
    let file = files::file(table, &contributors, conditions, Origin::Studies, number)?;
    let believed = worth(&file).map_err(|error| match error {
        GuideError::File(error) => NewcomersError::File(error),
        other => NewcomersError::table(other.to_string(), "a posterior"),
    })?;
    let mut each = Vec::with_capacity(newcomers.len());
    let mut means = [[0.0; EVALUATIONS]; 2];
    for (seed, party) in newcomers.iter().enumerate() {
        let with = table.regrets(*party, Search::guided(head(table, seed), &file)?)?;
        let without = table.regrets(*party, Search::new(head(table, seed))?)?;
        each.push(needed(&with[..WITH], &without).min(COUNTED));
        for (mean, regrets) in means.iter_mut().zip([with, without]) {
            mean.iter_mut()
                .zip(regrets)
                .for_each(|(mean, regret)| *mean += regret);
        }
    }
    Ok(Saved {
        is_nothing: believed.saved() == 0,
        said: believed.quartiles(),
        each,
        by_mean: needed(&means[0][..WITH], &means[1]).min(COUNTED),
    })
}
