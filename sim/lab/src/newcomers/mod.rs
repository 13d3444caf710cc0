//! What a prior file is worth to newcomers on a table of real settings, beside newcomers who have
//! no file.
//!
//! | module | what it holds |
//! |---|---|
//! | `parties` | a table's settings and parties, who contributes |
//! | `files` | the file of a repetition, and its twins |
//! | `votes` | the rival: contributors vote for the best of their points |
//! | `saved` | what the file's label says that it saves, beside what it saves |
//! | `contributors` | those who made a file go on with it, as the sites of a campaign do |
//!
//! A repetition draws newcomers and contributors from the table's parties, publishes a file of the
//! contributors' studies, and lets every newcomer search twice on the same candidates: alone, and
//! with the file. What is compared is the regret summed over the first evaluations, newcomer by
//! newcomer the same in both, so a repetition is one pair. Nothing is chosen but what
//! [`Conditions`] name; the axes are ordered levels, which is what the columns of a table are.
//!
//! **Twins** ([`Origin`]) are files of the same shape: of permuted studies, of noise alone, of
//! nothing, of votes. The noise is simulated, so no file of these protects anybody.

mod contributors;
mod files;
mod parties;
mod saved;
mod votes;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::search::{Head, Search, SearchError};
use sordino_host::space::{Goal, Point};

pub use contributors::{Continued, FirstPoints, ROUNDS, continued};
pub use files::Origin;
use parties::shuffled;
pub use parties::{Conditions, EVALUATIONS, NewcomersError, POINTS, Parties};
pub use saved::{COUNTED, Saved, saved};

/// Newcomers of a repetition.
pub const NEWCOMERS: usize = 24;
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

/// One repetition: newcomers with each of these files, and without.
///
/// **Errors**: [`NewcomersError`].
///
/// **Cost**: [`NEWCOMERS`] searches of [`EVALUATIONS`] questions for each file and once more;
/// seconds.
pub fn repetition(
    table: &Parties,
    conditions: &Conditions,
    origins: &[Origin],
    number: u32,
) -> Result<Repetition, NewcomersError> {
    let (newcomers, contributors) = drawn(table, conditions, number)?;
    let alone = mean(table, &newcomers, Search::new)?;
    let mut guided = Vec::new();
    for origin in origins {
        let file = files::file(table, &contributors, conditions, *origin, number)?;
        let regrets = mean(table, &newcomers, |head| Search::guided(head, &file))?;
        guided.push(Guided {
            origin: *origin,
            self_test: file.label.self_test,
            regrets,
        });
    }
    Ok(Repetition { alone, guided })
}

/// Newcomers and contributors of a repetition, drawn from the parties.
///
/// **Errors**: [`NewcomersError::Table`] for too few parties.
fn drawn(
    table: &Parties,
    conditions: &Conditions,
    number: u32,
) -> Result<(Vec<usize>, Vec<usize>), NewcomersError> {
    let mut stream = RunSeed::new(0, number).stream(Party::World, Purpose::InitialPoints, 0);
    let order = shuffled(&mut stream, table.count());
    if order.len() < NEWCOMERS + conditions.contributors.max(2) {
        return Err(NewcomersError::table(
            format!("{} parties", order.len()),
            format!("at least {}", NEWCOMERS + conditions.contributors.max(2)),
        ));
    }
    let (newcomers, others) = order.split_at(NEWCOMERS);
    let contributors = others[..conditions.contributors].to_vec();
    Ok((newcomers.to_vec(), contributors))
}

/// Mean regret of all newcomers after each of their evaluations, each with a search of its own.
fn mean(
    table: &Parties,
    newcomers: &[usize],
    search: impl Fn(Head) -> Result<Search, SearchError>,
) -> Result<[f64; EVALUATIONS], NewcomersError> {
    let mut sums = [0.0; EVALUATIONS];
    for (seed, party) in newcomers.iter().enumerate() {
        let regrets = table.regrets(*party, search(head(table, seed))?)?;
        sums.iter_mut()
            .zip(regrets)
            .for_each(|(sum, regret)| *sum += regret / NEWCOMERS as f64);
    }
    Ok(sums)
}

/// The search of a party, among the settings of the table.
fn head(table: &Parties, seed: usize) -> Head {
    let candidates: Vec<Point> = table
        .settings
        .iter()
        .map(|setting| table.space.point(setting))
        .collect();
    Head::new(table.space.clone(), Goal::Maximize, seed as u64).among(Some(candidates))
}

/// Repetitions 0 to `count` on so many threads, which change no number; `told` is called after
/// each.
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
    each(count, threads, told, &|number| {
        repetition(table, conditions, origins, number)
    })
}

/// What `of` says of 0 to `count`, in this order, on so many threads; `told` is called after each.
///
/// **Errors**: the first that `of` has.
pub fn each<R: Send>(
    count: u32,
    threads: usize,
    told: &(impl Fn() + Sync),
    of: &(impl Fn(u32) -> Result<R, NewcomersError> + Sync),
) -> Result<Vec<R>, NewcomersError> {
    let next = AtomicU32::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, of(number)));
            told();
        }
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, 1024))
            .map(|_| scope.spawn(work))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
