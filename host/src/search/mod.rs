//! Questions and answers over a named [`Space`]: what `sordino optimize` and Python's `Optimizer`
//! are made of.
//!
//! A search is the list of what happened, [`Event`]s: asked, told, failed. What is asked next is a
//! function of that list and of the [`Head`], so a search that is read back from its file goes on
//! as if nothing had happened. With several questions at a time, the list has them in the order in
//! which they were asked and answered; the same order gives the same questions.
//!
//! Questions under way count: the surrogate is told for them what it expects (the "kriging
//! believer" of Ginsbourger, Le Riche and Carraro, 2010), so the next question is elsewhere. A
//! question that failed counts as the worst value so far, by core's
//! [`Optimizer::fail`](sordino_core::optimizer::Optimizer::fail), and is never part of the history.
//! Neither speaks against a prior file: what is expected with one is what file and values say
//! together, and only values that were told put it away.
//!
//! ```
//! use serde_json::json;
//! use sordino_host::search::{Head, Search};
//! use sordino_host::space::{Goal, SpaceFile};
//!
//! let file = SpaceFile::parse("s", "[parameters.x]\nlow = 0\nhigh = 1\n[parameters.n]\nlow = 1\nhigh = 5\ninteger = true")?;
//! let mut search = Search::new(Head::new(file.space, Goal::Minimize, 0))?;
//! for _ in 0..25 {
//!     let point = search.ask(&json!({}))?;
//!     let (x, n) = (point["x"].as_f64().unwrap_or(0.0), point["n"].as_f64().unwrap_or(0.0));
//!     search.tell(&point.into(), (x - 0.3) * (x - 0.3) + (n - 4.0).abs())?;
//! }
//! let (point, value) = search.best().ok_or("nothing told")?;
//! assert!(value < 0.01 && point["n"] == 4, "{point:?}");
//! let again = Search::parse(&search.to_text())?;
//! assert_eq!(again.events(), search.events());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sordino_core::optimizer::CANDIDATES_MAX;

use crate::prior::PriorFile;
use crate::prior::guide::Guide;
use crate::space::{Goal, Point, Space};

mod engine;
mod error;
mod listed;

use engine::Engine;
pub use engine::{Estimate, scramble};
pub use error::{CAPACITY_MAX, SearchError, VALUE_MAX};
pub use listed::{Asked, Listed};

/// Columns of a history beside its parameters.
const COLUMNS: [&str; 3] = ["value", "best", "evaluation"];
/// Of the form of a stored search.
const FORM: &str = "sordino search 1";

/// What a search is made of, before anything was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    form: String,
    /// What is searched.
    pub space: Space,
    /// Which values are better.
    pub goal: Goal,
    /// Seed of the first questions.
    pub seed: u64,
    /// If only these points may be asked.
    #[serde(default)]
    pub candidates: Option<Vec<Point>>,
    /// Digest of the prior file that it begins with, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<String>,
}

impl Head {
    /// A search of all of `space`.
    pub fn new(space: Space, goal: Goal, seed: u64) -> Self {
        Head {
            form: FORM.into(),
            space,
            goal,
            seed,
            candidates: None,
            prior: None,
        }
    }

    /// The same over these points alone.
    #[must_use]
    pub fn among(self, candidates: Option<Vec<Point>>) -> Self {
        Head { candidates, ..self }
    }

    /// What differs from another one, as the name of a field.
    pub fn differs(&self, other: &Head) -> Option<&'static str> {
        let same = [
            ("space", self.space == other.space),
            ("goal", self.goal == other.goal),
            ("seed", self.seed == other.seed),
            ("candidates", self.candidates == other.candidates),
            ("prior", self.prior == other.prior),
        ];
        same.into_iter()
            .find(|(_, same)| !same)
            .map(|(name, _)| name)
    }
}

/// What happened, one entry a line of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Event {
    /// A point was asked for.
    Asked(Point),
    /// The value of a point is known; a question under way is answered by it.
    Told {
        /// The point that was evaluated.
        point: Point,
        /// Its value, as the user counts.
        value: f64,
    },
    /// A question under way has no value and will not have one.
    Failed(Point),
}

/// A search: asks, is told, knows what it believes.
#[derive(Clone)]
pub struct Search {
    head: Head,
    events: Vec<Event>,
    /// Questions under way, oldest first, in numbers.
    pending: Vec<Vec<f64>>,
    failed: Vec<Vec<f64>>,
    engine: Engine,
    reads_file: Option<bool>,
}

impl Search {
    /// Nothing asked yet.
    ///
    /// **Errors**: [`SearchError`]: a space that core cannot search, a candidate that is none of
    /// its points.
    pub fn new(head: Head) -> Result<Self, SearchError> {
        Self::begin(head, None)
    }

    /// Nothing asked yet, and a prior file that says where to begin.
    ///
    /// **Errors**: as [`Search::new`]; [`SearchError::Guide`] for a file of another search.
    pub fn guided(head: Head, file: &PriorFile) -> Result<Self, SearchError> {
        let guide = Guide::new(file, &head.space, head.goal)?;
        Self::begin(
            Head {
                prior: Some(guide.digest().to_owned()),
                ..head
            },
            Some(Arc::new(guide)),
        )
    }

    fn begin(head: Head, guide: Option<Arc<Guide>>) -> Result<Self, SearchError> {
        if let (Some(digest), None) = (&head.prior, &guide) {
            return Err(SearchError::NoPrior {
                digest: digest.clone(),
            });
        }
        let core = head.space.core()?;
        if let Some(taken) = head
            .space
            .parameters()
            .iter()
            .find(|parameter| COLUMNS.contains(&&*parameter.name))
        {
            return Err(SearchError::Column {
                name: taken.name.clone(),
            });
        }
        let candidates = match &head.candidates {
            None => None,
            Some(_) if core.axes().iter().any(|axis| axis.context) => {
                return Err(SearchError::ContextAmongCandidates);
            }
            Some(list) if list.is_empty() || list.len() > CANDIDATES_MAX => {
                return Err(SearchError::Candidates { count: list.len() });
            }
            Some(list) => {
                let numbers = list.iter().enumerate().map(|(place, point)| {
                    let point = Value::Object(point.clone());
                    head.space
                        .numbers(&point)
                        .map_err(|source| SearchError::Candidate { place, source })
                });
                Some(numbers.collect::<Result<Arc<[_]>, _>>()?)
            }
        };
        let engine = Engine::new(core, candidates, (head.seed, 0), guide)?;
        Ok(Search {
            head,
            events: Vec::new(),
            pending: Vec::new(),
            failed: Vec::new(),
            engine,
            reads_file: None,
        })
    }

    /// What it was made of.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// What happened, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The next question. A search begins with D + 1 points that fill the space, D the parameters,
    /// three at least; values that were told before the first question count as such points. Every
    /// fifth later question fills the space too, until 2D + 2 do. `context` has the values of the
    /// parameters that are given, and no others. It is under way until it is told or has failed.
    ///
    /// **Errors**: [`SearchError`]; nothing was asked then.
    pub fn ask(&mut self, context: &Value) -> Result<Point, SearchError> {
        let given = self.head.space.context(context)?;
        self.first_question()?;
        let proposal = self.engine.propose(&given, &self.pending, &self.failed)?;
        self.reads_file = self.head.prior.as_ref().map(|_| proposal.is_borne_out);
        let numbers = proposal.numbers;
        let point = self.head.space.point(&numbers);
        self.pending.push(numbers);
        self.events.push(Event::Asked(point.clone()));
        Ok(point)
    }

    /// Whether the last question of [`Search::ask`] was that of a search that reads its file: not
    /// once the values told speak against it. `None` without a file, and before a question.
    pub fn reads_file(&self) -> Option<bool> {
        self.reads_file
    }

    /// Tells the value of a point, as the user counts; a question under way, or any other of the
    /// space.
    ///
    /// **Errors**: [`SearchError`]; nothing was changed then.
    pub fn tell(&mut self, point: &Value, value: f64) -> Result<(), SearchError> {
        let numbers = self.head.space.numbers(point)?;
        if !(value.abs() <= VALUE_MAX) {
            return Err(SearchError::Value { value });
        }
        if self.len() >= CAPACITY_MAX {
            return Err(SearchError::Full { told: self.len() });
        }
        self.engine
            .observe(&numbers, self.head.goal.sign() * value)?;
        let _was_under_way = self.answered(&numbers);
        // Measured again, it has a value.
        self.failed.retain(|failed| *failed != numbers);
        self.events.push(Event::Told {
            point: self.head.space.point(&numbers),
            value,
        });
        Ok(())
    }

    /// A question under way has no value and will not have one.
    ///
    /// **Errors**: [`SearchError::NotAsked`]; a point that is none.
    pub fn fail(&mut self, point: &Value) -> Result<(), SearchError> {
        let numbers = self.head.space.numbers(point)?;
        if !self.answered(&numbers) {
            return Err(SearchError::NotAsked {
                point: point.to_string(),
            });
        }
        self.events
            .push(Event::Failed(self.head.space.point(&numbers)));
        self.failed.push(numbers);
        Ok(())
    }

    /// Before the first question: what was told until now was known before it.
    fn first_question(&mut self) -> Result<(), SearchError> {
        let is_asked = |event: &Event| matches!(event, Event::Asked(_));
        if !self.events.iter().any(is_asked) {
            self.engine.begin()?;
        }
        Ok(())
    }

    fn answered(&mut self, numbers: &[f64]) -> bool {
        let place = self.pending.iter().position(|pending| pending == numbers);
        place.map(|place| self.pending.remove(place)).is_some()
    }

    /// Questions under way, oldest first.
    pub fn pending(&self) -> Vec<Point> {
        self.pending
            .iter()
            .map(|numbers| self.head.space.point(numbers))
            .collect()
    }

    /// Number of questions that failed, and of whose points no value was told since.
    pub fn failed(&self) -> usize {
        self.failed.len()
    }

    /// Number of values told.
    pub fn len(&self) -> usize {
        self.engine.told().len()
    }

    /// Whether no value was told yet.
    pub fn is_empty(&self) -> bool {
        self.engine.told().is_empty()
    }

    /// Points with their values as the user counts, in the order in which they were told.
    pub fn history(&self) -> impl Iterator<Item = (Point, f64)> {
        self.told()
            .map(|(numbers, value)| (self.head.space.point(numbers), value))
    }

    /// What was told, in numbers and as the user counts, oldest first.
    fn told(&self) -> impl Iterator<Item = (&[f64], f64)> {
        let sign = self.head.goal.sign();
        let told = self.engine.told().iter();
        told.map(move |(numbers, value)| (numbers.as_slice(), sign * value))
    }

    /// The best value told, and where: the first of equal ones. Of parameters that are given it is
    /// the best of all that were: [`Search::best_given`].
    pub fn best(&self) -> Option<(Point, f64)> {
        self.best_of(&[])
    }

    /// The best value told where the parameters that are given had these values.
    ///
    /// **Errors**: [`SearchError::Space`] for values of other parameters, or of too few.
    pub fn best_given(&self, context: &Value) -> Result<Option<(Point, f64)>, SearchError> {
        Ok(self.best_of(&self.head.space.context(context)?))
    }

    fn best_of(&self, given: &[Option<f64>]) -> Option<(Point, f64)> {
        let mut best: Option<(&[f64], f64)> = None;
        let told = self.told().filter(|(numbers, _)| is_at(numbers, given));
        for (numbers, value) in told {
            if best.is_none_or(|(_, known)| self.head.goal.prefers(value, known)) {
                best = Some((numbers, value));
            }
        }
        best.map(|(numbers, value)| (self.head.space.point(numbers), value))
    }

    /// The point to use: of the best posterior mean among those that were told, with mean and
    /// standard deviation of the function there, as the user counts. Noise moves it less than
    /// [`Search::best`]. Both are of the values told, also where a file chooses what is asked. Of
    /// parameters that are given it may have any value that was: [`Search::recommend_given`].
    ///
    /// **Errors**: [`SearchError::Surrogate`]. **Cost**: as [`Search::predict`].
    pub fn recommend(&self) -> Result<Option<(Point, Estimate)>, SearchError> {
        self.recommend_of(&[])
    }

    /// The same where the parameters that are given have these values: of all points that were
    /// told, whatever was given with them, with these values in place of those.
    ///
    /// **Errors**: as [`Search::best_given`]; [`SearchError::Surrogate`]. **Cost**: as
    /// [`Search::predict`].
    pub fn recommend_given(
        &self,
        context: &Value,
    ) -> Result<Option<(Point, Estimate)>, SearchError> {
        self.recommend_of(&self.head.space.context(context)?)
    }

    fn recommend_of(
        &self,
        given: &[Option<f64>],
    ) -> Result<Option<(Point, Estimate)>, SearchError> {
        let mut points: Vec<Vec<f64>> = self.told().map(|(numbers, _)| numbers.to_vec()).collect();
        for (place, given) in points
            .iter_mut()
            .flat_map(|point| point.iter_mut().zip(given))
        {
            *place = given.unwrap_or(*place);
        }
        let estimates = self.estimates(&points)?;
        let mut best: Option<(usize, Estimate)> = None;
        for (place, estimate) in estimates.into_iter().enumerate() {
            if best.is_none_or(|(_, known)| self.head.goal.prefers(estimate.mean, known.mean)) {
                best = Some((place, estimate));
            }
        }
        Ok(best.map(|(place, estimate)| (self.head.space.point(&points[place]), estimate)))
    }

    /// Mean and standard deviation of the function at these points, as the user counts: of the
    /// values told, also where a file chooses what is asked.
    ///
    /// **Errors**: a point that is none; [`SearchError::Surrogate`]. **Cost**: n² flops a point,
    /// and a fit where one is due, which is not kept: ask for many points at once.
    pub fn predict(&self, points: &[Value]) -> Result<Vec<Estimate>, SearchError> {
        let numbers = points
            .iter()
            .map(|point| self.head.space.numbers(point))
            .collect::<Result<Vec<_>, _>>()?;
        self.estimates(&numbers)
    }

    fn estimates(&self, points: &[Vec<f64>]) -> Result<Vec<Estimate>, SearchError> {
        let sign = self.head.goal.sign();
        let mut found = self.engine.predict(points)?;
        // Not -0 where nothing was told.
        found
            .iter_mut()
            .for_each(|estimate| estimate.mean = 0.0 + sign * estimate.mean);
        Ok(found)
    }

    /// The first line of a stored search.
    pub fn head_line(head: &Head) -> String {
        serde_json::to_string(head).unwrap_or_default() + "\n"
    }

    /// The line of an event.
    pub fn line(event: &Event) -> String {
        serde_json::to_string(event).unwrap_or_default() + "\n"
    }

    /// The whole search as text: its head and a line of JSON for every event.
    pub fn to_text(&self) -> String {
        Self::head_line(&self.head) + &self.events.iter().map(Self::line).collect::<String>()
    }

    /// A stored search up to its last whole line: half a line at the end is of a process that was
    /// killed while it wrote.
    pub fn whole_lines(text: &str) -> &str {
        &text[..text.rfind('\n').map_or(0, |last| last + 1)]
    }

    /// The search of such a text, up to its last whole line. What happened is taken as it stands;
    /// nothing is asked again.
    ///
    /// **Errors**: [`SearchError::Stored`] with the line; a head that makes no search.
    pub fn parse(text: &str) -> Result<Self, SearchError> {
        Self::read(text, None)
    }

    /// The same of a search that began with this prior file.
    ///
    /// **Errors**: as [`Search::parse`]; [`SearchError::OtherPrior`] for a search that began with
    /// another one, or without.
    pub fn parse_guided(text: &str, file: &PriorFile) -> Result<Self, SearchError> {
        Self::read(text, Some(file))
    }

    fn read(text: &str, file: Option<&PriorFile>) -> Result<Self, SearchError> {
        let mut lines = Self::whole_lines(text).lines().enumerate();
        let (_, first) = lines
            .next()
            .ok_or_else(|| SearchError::stored(0, "it has no whole line"))?;
        let head: Head = serde_json::from_str(first)
            .map_err(|error| SearchError::stored(0, error.to_string()))?;
        if head.form != FORM {
            return Err(SearchError::stored(
                0,
                format!("form is {:?}; admissible: {FORM:?}", head.form),
            ));
        }
        // A space that is read is checked as one that is made.
        let head = Head {
            space: Space::new(head.space.parameters().to_vec())?,
            ..head
        };
        let mut search = match file {
            None => Search::new(head)?,
            Some(file) => {
                let stored = head.prior.clone();
                let search = Search::guided(head, file)?;
                if stored != search.head.prior {
                    return Err(SearchError::OtherPrior {
                        stored,
                        given: file.digest(),
                    });
                }
                search
            }
        };
        for (place, line) in lines {
            let event: Event = serde_json::from_str(line)
                .map_err(|error| SearchError::stored(place, error.to_string()))?;
            search
                .replay(event)
                .map_err(|error| SearchError::stored(place, crate::text::chain(&error)))?;
        }
        Ok(search)
    }

    fn replay(&mut self, event: Event) -> Result<(), SearchError> {
        match event {
            Event::Asked(point) => {
                let numbers = self.head.space.numbers(&Value::Object(point.clone()))?;
                self.first_question()?;
                self.pending.push(numbers);
                self.events.push(Event::Asked(point));
                Ok(())
            }
            Event::Told { point, value } => self.tell(&Value::Object(point), value),
            Event::Failed(point) => self.fail(&Value::Object(point)),
        }
    }
}

/// Whether a point has the values of what is given.
fn is_at(numbers: &[f64], given: &[Option<f64>]) -> bool {
    let mut pairs = numbers.iter().zip(given);
    pairs.all(|(number, given)| given.is_none_or(|given| given == *number))
}

#[cfg(test)]
mod tests;
