//! What a campaign is worth to those who make it: contributors who go on with the file of their own
//! first evaluations.
//!
//! A site of a campaign ([`sordino_host::campaign`]) asks its first points, of which most fill the
//! space, contributes their values, and goes on with the file and with what it knows; others have
//! points that were chosen for other reasons ([`FirstPoints`]). Both arms have the same first
//! points, and what is compared is the regret summed over the evaluations after them, contributor
//! by contributor.

use sordino_core::random::{Party, Purpose, RunSeed};
use sordino_host::search::Search;

use super::files::{self, Origin};
use super::parties::{Conditions, NewcomersError, Parties, shuffled};
use super::{NEWCOMERS, head};

/// Evaluations of a contributor after those that it contributes.
pub const ROUNDS: usize = 40;

/// How the evaluations that a contributor contributes were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPoints {
    /// By a search for itself alone, as a site of a campaign does it.
    Searched,
    /// At random, as whoever had other reasons may have: as contributors to newcomers' files do.
    Random,
}

/// What contributors reached in one repetition, as means over those that were looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Continued {
    /// Self-test B of the file.
    pub self_test: f64,
    /// Regret after each of [`ROUNDS`] evaluations without the file.
    pub alone: Vec<f64>,
    /// The same with the file.
    pub guided: Vec<f64>,
}

impl Continued {
    /// Summed regret with the file over that without it.
    pub fn ratio(&self) -> f64 {
        self.guided.iter().sum::<f64>() / self.alone.iter().sum::<f64>()
    }
}

/// Repetition `number`: contributors drawn from the table's parties, of whom the first
/// [`NEWCOMERS`] are looked at. Both arms go on from the same ten evaluations.
///
/// **Errors**: [`NewcomersError`], for a table of fewer parties than contributors too.
///
/// **Cost**: two searches of [`ROUNDS`] questions for each that is looked at; some seconds.
pub fn continued(
    table: &Parties,
    conditions: &Conditions,
    first: FirstPoints,
    number: u32,
) -> Result<Continued, NewcomersError> {
    let count = conditions.contributors.max(2);
    if table.count() < count {
        return Err(NewcomersError::table(
            format!("{} parties", table.count()),
            format!("at least {count}"),
        ));
    }
    let mut stream = RunSeed::new(4, number).stream(Party::World, Purpose::InitialPoints, 0);
    let contributors = &shuffled(&mut stream, table.count())[..count];
    let mut logs = Vec::with_capacity(count);
    for (seed, party) in contributors.iter().enumerate() {
        let seen = match first {
            FirstPoints::Searched => table.first(*party, seed as u64)?,
            FirstPoints::Random => table.random(&mut stream),
        };
        logs.push((*party, seen));
    }
    let studies = files::seen(table, &logs, conditions, number);
    let file = files::file_of(table, &studies, conditions, Origin::Studies, number)?;
    let looked_at = &logs[..NEWCOMERS.min(logs.len())];
    let mut means = [vec![0.0; ROUNDS], vec![0.0; ROUNDS]];
    for (seed, (party, seen)) in looked_at.iter().enumerate() {
        let alone = go_on(table, *party, seen, Search::new(head(table, seed))?)?;
        let guided = go_on(
            table,
            *party,
            seen,
            Search::guided(head(table, seed), &file)?,
        )?;
        for (sums, regrets) in means.iter_mut().zip([alone, guided]) {
            sums.iter_mut()
                .zip(regrets)
                .for_each(|(sum, regret)| *sum += regret / looked_at.len() as f64);
        }
    }
    let [alone, guided] = means;
    Ok(Continued {
        self_test: file.label.self_test,
        alone,
        guided,
    })
}

/// Regret after each further evaluation of a party that has seen these settings.
fn go_on(
    table: &Parties,
    party: usize,
    seen: &[usize],
    mut search: Search,
) -> Result<Vec<f64>, NewcomersError> {
    for at in seen {
        table.tell(party, *at, &mut search)?;
    }
    let mut best = table.regret_after(party, seen);
    let mut regrets = Vec::new();
    for _ in 0..ROUNDS {
        best = best.min(table.regret_after(party, &[table.ask(party, &mut search)?]));
        regrets.push(best);
    }
    Ok(regrets)
}
