//! A table as parties with values of their own at the same settings, and who of them contributes.

use serde_json::{Value, json};
use sordino_core::federated::prior::PriorError;
use sordino_core::linalg::NotPositiveDefinite;
use sordino_core::privacy::accountant::AccountantError;
use sordino_core::random::Stream;
use sordino_experiment::benchmark::Measured;
use sordino_host::ledger::LedgerError;
use sordino_host::prior::PriorFileError;
use sordino_host::prior::context::{DESIGN_POINTS, design};
use sordino_host::prior::publish::PublishError;
use sordino_host::search::{Listed, Search, SearchError};
use sordino_host::space::{Parameter, Space, SpaceError, Values};

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

impl NewcomersError {
    /// What is wrong with a table, and what is admissible.
    pub(super) fn table(what: impl Into<String>, admissible: impl Into<String>) -> Self {
        NewcomersError::Table {
            what: what.into(),
            admissible: admissible.into(),
        }
    }
}

impl From<SearchError> for NewcomersError {
    fn from(error: SearchError) -> Self {
        NewcomersError::Search(Box::new(error))
    }
}

/// Settings in the space's numbers, and for each party its value at each; more is better.
pub struct Parties {
    pub(super) space: Space,
    pub(super) settings: Vec<Vec<f64>>,
    pub(super) values: Vec<Vec<f64>>,
}

impl Parties {
    /// A table that is compiled in.
    ///
    /// **Errors**: none for the tables there are.
    pub fn measured(table: Measured) -> Result<Self, NewcomersError> {
        Parties::new(table.settings(), &table.values())
    }

    /// A table: a header and a line of numbers for each setting; then the values of each party at
    /// all settings.
    ///
    /// **Errors**: [`NewcomersError::Table`], [`NewcomersError::Space`].
    pub fn new(settings: &str, values: &[f64]) -> Result<Self, NewcomersError> {
        let mut lines = settings.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let rows = lines.map(numbers).collect::<Result<Vec<_>, _>>()?;
        if let Some(row) = rows.iter().find(|row| row.len() != names.len()) {
            return Err(NewcomersError::table(
                format!("a setting of {} numbers", row.len()),
                "one for each name of the header",
            ));
        }
        let mut levels: Vec<Vec<f64>> = Vec::new();
        for axis in 0..names.len() {
            let mut column: Vec<f64> = rows.iter().map(|row| row[axis]).collect();
            column.sort_by(f64::total_cmp);
            column.dedup();
            levels.push(column);
        }
        let parameters = names.iter().zip(&levels);
        let space = Space::new(
            parameters
                .map(|(name, levels)| ordered(name, levels))
                .collect(),
        )?;
        let place =
            |(x, levels): (&f64, &Vec<f64>)| levels.partition_point(|level| level < x) as f64;
        let settings: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| row.iter().zip(&levels).map(place).collect())
            .collect();
        Parties::searching(space, settings, values)
    }

    /// Parties that search this space, of which these are settings, in its numbers; then the values
    /// of each party at all of them, larger is better.
    ///
    /// **Errors**: [`NewcomersError::Table`] for values that are not as many for each party.
    pub fn searching(
        space: Space,
        settings: Vec<Vec<f64>>,
        values: &[f64],
    ) -> Result<Self, NewcomersError> {
        if settings.is_empty() || values.is_empty() || !values.len().is_multiple_of(settings.len())
        {
            return Err(NewcomersError::table(
                format!("{} values of {} settings", values.len(), settings.len()),
                "as many for each party",
            ));
        }
        Ok(Parties {
            space,
            values: values
                .chunks_exact(settings.len())
                .map(<[f64]>::to_vec)
                .collect(),
            settings,
        })
    }

    /// Number of parties.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Regret of one newcomer after each of its evaluations, in a unit of its own.
    pub(super) fn regrets(
        &self,
        party: usize,
        mut search: Search,
    ) -> Result<[f64; EVALUATIONS], NewcomersError> {
        let mut regrets = [0.0; EVALUATIONS];
        let mut so_far = self.regret_after(party, &[]);
        for regret in &mut regrets {
            let at = self.ask(party, &mut search)?;
            so_far = so_far.min(self.regret_after(party, &[at]));
            *regret = so_far;
        }
        Ok(regrets)
    }

    /// The first settings of a party that contributes their values, as a site of a campaign asks
    /// them.
    pub(super) fn first(&self, party: usize, seed: u64) -> Result<Vec<usize>, NewcomersError> {
        let design = design(self.space.parameters().len(), DESIGN_POINTS);
        let points = self.settings.clone().into();
        let mut search = Listed::new(&self.space, points, (seed, design), None)?;
        let mut first = Vec::new();
        for _ in 0..DESIGN_POINTS {
            let at = search.ask()?.place;
            search.observe(at, unit(self.values[party][at]))?;
            first.push(at);
        }
        Ok(first)
    }

    /// As many settings as a contributor evaluates, at random.
    pub(super) fn random(&self, stream: &mut Stream) -> Vec<usize> {
        let mut seen = shuffled(stream, self.settings.len());
        seen.truncate(POINTS);
        seen
    }

    /// The setting that a party's search asks for, whose value it is told.
    pub(super) fn ask(&self, party: usize, search: &mut Search) -> Result<usize, NewcomersError> {
        let point = Value::Object(search.ask(&json!({}))?);
        let numbers = self.space.numbers(&point).map_err(SearchError::from)?;
        let at = self.settings.iter().position(|setting| *setting == numbers);
        let at = at.ok_or_else(|| {
            NewcomersError::table(format!("{point} was asked"), "a setting of the table")
        })?;
        self.tell(party, at, search)?;
        Ok(at)
    }

    /// Tells a search the value of a party at a setting.
    pub(super) fn tell(
        &self,
        party: usize,
        at: usize,
        search: &mut Search,
    ) -> Result<(), NewcomersError> {
        let point = Value::Object(self.space.point(&self.settings[at]));
        Ok(search.tell(&point, unit(self.values[party][at]))?)
    }

    /// How far the best of these settings is from the best of all; infinite for none.
    pub(super) fn regret_after(&self, party: usize, seen: &[usize]) -> f64 {
        let values = &self.values[party];
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = seen
            .iter()
            .map(|at| values[*at])
            .fold(f64::NEG_INFINITY, f64::max);
        most - best
    }
}

/// The numbers of a line of a table.
fn numbers(line: &str) -> Result<Vec<f64>, NewcomersError> {
    line.split(',')
        .map(|cell| {
            cell.parse::<f64>()
                .map_err(|_| NewcomersError::table(format!("the setting {cell:?}"), "a number"))
        })
        .collect()
}

/// An axis of the space: levels in their order.
fn ordered(name: &str, levels: &[f64]) -> Parameter {
    let choices = levels.iter().copied().map(Value::from).collect();
    Parameter {
        name: name.to_owned(),
        values: Values::Choices {
            choices,
            ordered: true,
        },
        context: false,
    }
}

/// Who contributes, and with which budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Number of contributors.
    pub contributors: usize,
    /// ε of the file, at δ = min(.001, 1/10N).
    pub epsilon: f64,
    /// Whether every contributor counts in a unit e^{1.5 N(0,1)} and with an offset 30 N(0,1); in
    /// one unit otherwise.
    pub own_units: bool,
}

/// Numbers below `count` in an order of the stream.
pub(super) fn shuffled(stream: &mut Stream, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, stream.below(last as u32 + 1) as usize);
    }
    order
}

/// A value in the one unit that searches are told: one that sees the values alone does the same in
/// any.
fn unit(value: f64) -> f64 {
    5.0 + 3.0 * value
}
