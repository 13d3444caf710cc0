//! What a [`Search`](super::Search) believes, and where it would look next.
//!
//! Core's optimizer works on a box, whose coordinates an [`Encoding`] makes of a point. Where all
//! axes are real and searched, the question is the optimizer's. Otherwise it is the best of a list
//! of points that can be asked: of the candidates, or of [`POOL`] points that fill the space and of
//! those around the best of them. Parameters that are given keep their value in all of them. Of the
//! questions that promise next to nothing the optimizer asks half elsewhere, in a pool by
//! [`Optimizer::elsewhere_among`], also of those that a file chose.

use std::sync::Arc;

use sordino_core::domain::sobol::coordinate;
use sordino_core::optimizer::{self, CANDIDATES_MAX, Optimizer, OptimizerError, Settings};
use sordino_core::prior::own_model_from;
use sordino_core::random::{Party, Purpose, RunSeed, Stream};
use sordino_core::space::{Axis, Space};

use super::error::SearchError;
use crate::prior::guide::Guide;
use crate::space::Encoding;

/// Room at the beginning; it doubles.
const ROOM: usize = 64;
/// Points that fill the space, among which a question is looked for first.
const POOL: u32 = 1024;
/// Points around the best one, in each of some rounds at shorter and shorter distances.
const AROUND: u32 = 128;
/// The distances, as a share of each side.
const DISTANCES: [f64; 5] = [0.2, 0.06, 0.02, 0.006, 0.002];

/// The optimizer of a search.
type Inner = Optimizer<f64, Vec<f64>>;
/// A point and its value, larger is better.
type Known<'a> = (&'a [f64], f64);

/// What is believed of the function at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation, that of the function and not of another value with noise. It
    /// takes the fitted noise and lengthscales for the true ones, so where values are noisy and few
    /// it is far too small: ±2 of it held a noisy function in 26 of 40 searches of 25 values.
    pub std: f64,
}

/// The seed of a search as [`sordino_core`] takes it: both halves count.
pub fn scramble(seed: u64) -> u32 {
    (seed ^ (seed >> 32)) as u32
}

/// The point that `choose` names of those that are not known, from their moments if there are any;
/// nothing if all are known. A list that has no room beside what is known is looked at in shares,
/// and the best of the shares are compared.
fn fresh_of(
    points: &[Vec<f64>],
    moments: Option<&[f64]>,
    known: &[Known],
    mut choose: impl FnMut(&[Vec<f64>], Option<&[f64]>) -> Result<usize, SearchError>,
) -> Result<Option<Vec<f64>>, SearchError> {
    let mut places: Vec<usize> = (0..points.len())
        .filter(|place| !known.iter().any(|(known, _)| *known == points[*place]))
        .collect();
    let room = CANDIDATES_MAX.saturating_sub(known.len()).max(2);
    let mut best_of = |places: &[usize]| {
        let fresh: Vec<Vec<f64>> = places.iter().map(|place| points[*place].clone()).collect();
        let moments: Option<Vec<f64>> = moments.map(|moments| {
            places
                .iter()
                .flat_map(|p| [moments[2 * p], moments[2 * p + 1]])
                .collect()
        });
        Ok::<_, SearchError>(places[choose(&fresh, moments.as_deref())?])
    };
    while places.len() > room {
        places = places
            .chunks(room)
            .map(&mut best_of)
            .collect::<Result<_, _>>()?;
    }
    if places.is_empty() {
        return Ok(None);
    }
    Ok(Some(points[best_of(&places)?].clone()))
}

/// Those of the optimizer, where so many values are known when the first question is asked.
fn settings(space: &Space, seed: u64, known: u32) -> Settings {
    Settings {
        seed: scramble(seed),
        ..Settings::of_parameters(space.searched().count(), known)
    }
}

/// The optimizer before the first value, over the coordinates of a space: those of what is given
/// are given.
fn empty(
    space: &Space,
    encoding: &Encoding,
    settings: Settings,
    room: usize,
) -> Result<Inner, OptimizerError> {
    let dim = encoding.dim();
    let axes = space.axes().iter().enumerate().flat_map(|(place, axis)| {
        let coordinate = Axis {
            context: axis.context,
            ..Axis::real(0.0, 1.0)
        };
        std::iter::repeat_n(coordinate, encoding.width(place))
    });
    Optimizer::new(
        Space::new(&axes.collect::<Vec<_>>())?,
        settings,
        room,
        vec![0.0; optimizer::storage_len(dim, room)],
    )
}

/// This room, doubled until it holds so many values.
fn roomy(mut room: usize, values: usize) -> usize {
    while room < values {
        room *= 2;
    }
    room
}

/// What is asked next.
pub(super) struct Proposal {
    /// The point, in the space's numbers.
    pub(super) numbers: Vec<f64>,
    /// Whether it was chosen with the file.
    pub(super) is_guided: bool,
    /// Whether the file is read with so many values, and they speak for it.
    pub(super) is_borne_out: bool,
}

#[derive(Clone)]
pub(super) struct Engine {
    space: Space,
    encoding: Encoding,
    candidates: Option<Arc<[Vec<f64>]>>,
    seed: u64,
    settings: Settings,
    /// Points in the user's numbers, and values of which larger are better.
    told: Vec<(Vec<f64>, f64)>,
    /// Values that the optimizer has room for.
    room: usize,
    optimizer: Inner,
    /// What others learned, if the search begins with it.
    guide: Option<Arc<Guide>>,
}

impl Engine {
    /// Before the first value. `known` values are told, or points fill the space, before a model is
    /// asked, where those are more than of a search for itself.
    pub(super) fn new(
        space: Space,
        candidates: Option<Arc<[Vec<f64>]>>,
        (seed, known): (u64, u32),
        guide: Option<Arc<Guide>>,
    ) -> Result<Self, OptimizerError> {
        let encoding = Encoding::new(&space);
        let settings = settings(&space, seed, known);
        let optimizer = empty(&space, &encoding, settings, ROOM)?;
        Ok(Engine {
            space,
            encoding,
            candidates,
            seed,
            settings,
            told: Vec::new(),
            room: ROOM,
            optimizer,
            guide,
        })
    }

    /// Points in the user's numbers, and values of which larger are better, oldest first.
    pub(super) fn told(&self) -> &[(Vec<f64>, f64)] {
        &self.told
    }

    /// Coordinates in the box.
    fn unit(&self, numbers: &[f64]) -> Vec<f64> {
        self.encoding.coordinates(numbers)
    }

    /// Coordinates of many points, row-major.
    fn units(&self, points: &[Vec<f64>]) -> Vec<f64> {
        points
            .iter()
            .flat_map(|numbers| self.unit(numbers))
            .collect()
    }

    /// The optimizer before the first value.
    fn empty(&self, settings: Settings, room: usize) -> Result<Inner, OptimizerError> {
        empty(&self.space, &self.encoding, settings, room)
    }

    /// The same optimizer with room for more values, and that room; fits are made again where they
    /// were made.
    fn with_room(&self, more: usize) -> Result<(Inner, usize), OptimizerError> {
        let room = roomy(self.room, self.told.len() + more);
        if room == self.room {
            return Ok((self.optimizer.clone(), room));
        }
        Ok((self.again(self.settings, room)?, room))
    }

    /// An optimizer with other settings or room that was told the same.
    fn again(&self, settings: Settings, room: usize) -> Result<Inner, OptimizerError> {
        let mut again = self.empty(settings, room)?;
        for (numbers, value) in &self.told {
            again.observe(&self.unit(numbers), *value)?;
        }
        Ok(again)
    }

    /// What was told so far was known before the first question: it counts as its first points.
    pub(super) fn begin(&mut self) -> Result<(), OptimizerError> {
        let settings = settings(&self.space, self.seed, self.told.len() as u32);
        if settings != self.settings {
            self.optimizer = self.again(settings, self.room)?;
            self.settings = settings;
        }
        Ok(())
    }

    /// Takes a value; larger is better.
    pub(super) fn observe(&mut self, numbers: &[f64], value: f64) -> Result<(), OptimizerError> {
        let (mut optimizer, room) = self.with_room(1)?;
        optimizer.observe(&self.unit(numbers), value)?;
        (self.optimizer, self.room) = (optimizer, room);
        self.told.push((numbers.to_vec(), value));
        Ok(())
    }

    /// What is believed at these points; of no value nothing is, with an infinite standard
    /// deviation.
    pub(super) fn predict(&self, points: &[Vec<f64>]) -> Result<Vec<Estimate>, OptimizerError> {
        if self.told.is_empty() {
            return Ok(vec![
                Estimate {
                    mean: 0.0,
                    std: f64::INFINITY
                };
                points.len()
            ]);
        }
        let mut optimizer = self.optimizer.clone();
        // The next question begins with it. One that fails leaves the parameters.
        if optimizer.fit_is_due() {
            let _ = optimizer.fit();
        }
        self.moments(&mut optimizer, points)
    }

    /// What a model believes at these points.
    fn moments(
        &self,
        believer: &mut Inner,
        points: &[Vec<f64>],
    ) -> Result<Vec<Estimate>, OptimizerError> {
        let units = self.units(points);
        let mut found = vec![(0.0, 0.0); points.len()];
        believer.predict_all(&units, &mut found)?;
        Ok(found
            .into_iter()
            .map(|(mean, std)| Estimate { mean, std })
            .collect())
    }

    /// The next question, with these values of the parameters that are given.
    pub(super) fn propose(
        &self,
        given: &[Option<f64>],
        pending: &[Vec<f64>],
        failed: &[Vec<f64>],
    ) -> Result<Proposal, SearchError> {
        let told: Vec<Known> = self
            .told
            .iter()
            .map(|(numbers, value)| (numbers.as_slice(), *value))
            .collect();
        // Only values that were told speak for the file or against it.
        let count = told.len() + failed.len() + pending.len();
        if let Some(guide) = self.guide.as_ref().filter(|guide| guide.is_read(count))
            && guide.is_borne_out(&told)?
        {
            let known = self.guided(guide, told, (pending, failed))?;
            let seed = scramble(self.seed);
            let is_own = self.told.len() >= own_model_from(self.space.searched().count());
            let mut own = is_own.then(|| guide.own_model(&known, seed)).transpose()?;
            let asked = (&known[..], failed);
            let numbers = self.best_fresh(asked, given, guide, |points, moments| {
                Ok(guide.choose(&known, points, moments, seed, own.as_mut())?)
            })?;
            let elsewhere = self.beside_file(&numbers, given, (pending, failed))?;
            return Ok(Proposal {
                is_guided: elsewhere.is_none() && guide.is_asked(known.len()),
                numbers: elsewhere.unwrap_or(numbers),
                is_borne_out: true,
            });
        }
        let believer = self.believer(pending, failed)?;
        Ok(Proposal {
            numbers: self.alone(believer, given, (pending, failed))?,
            is_guided: false,
            is_borne_out: false,
        })
    }

    /// The worst value told.
    fn worst(&self) -> Option<f64> {
        let values = self.told.iter().map(|(_, value)| *value);
        values.reduce(f64::min)
    }

    /// What a search with a file goes on with: what was told; of questions that failed the worst of
    /// it, or what was expected of them if that is less; of those under way what is expected from
    /// all that.
    fn guided<'a>(
        &self,
        guide: &Guide,
        mut known: Vec<Known<'a>>,
        (pending, failed): (&'a [Vec<f64>], &'a [Vec<f64>]),
    ) -> Result<Vec<Known<'a>>, SearchError> {
        if !failed.is_empty() {
            let worst = self.worst().unwrap_or(f64::INFINITY);
            let expected = guide.expected(&known, failed)?;
            let values = expected.into_iter().map(|expected| expected.min(worst));
            known.extend(failed.iter().map(Vec::as_slice).zip(values));
        }
        if !pending.is_empty() {
            let expected = guide.expected(&known, pending)?;
            known.extend(pending.iter().map(Vec::as_slice).zip(expected));
        }
        Ok(known)
    }

    /// The optimizer of a search without a file, told the worst value of what failed and what it
    /// expects of what is under way.
    fn believer(&self, pending: &[Vec<f64>], failed: &[Vec<f64>]) -> Result<Inner, OptimizerError> {
        let (mut believer, _) = self.with_room(pending.len() + failed.len())?;
        for numbers in failed {
            believer.fail(&self.unit(numbers))?;
        }
        for numbers in pending {
            let unit = self.unit(numbers);
            let expected = if believer.failed() == believer.len() {
                0.0
            } else {
                believer.predict(&unit)?.0
            };
            believer.observe(&unit, expected)?;
        }
        Ok(believer)
    }

    /// The next question of a search without a file, by what it believes of its values.
    fn alone(
        &self,
        mut believer: Inner,
        given: &[Option<f64>],
        (pending, failed): (&[Vec<f64>], &[Vec<f64>]),
    ) -> Result<Vec<f64>, SearchError> {
        let number = believer.told();
        believer.given(&self.given_units(given))?;
        if let Some(list) = &self.candidates {
            return Ok(self.best_among(&mut believer, list)?);
        }
        if believer.fills_next() {
            let first = (number..)
                .take(1000)
                .map(|index| self.filling(index, given))
                .find(|numbers| self.is_new(numbers, pending, failed));
            return Ok(first.unwrap_or_else(|| self.filling(number, given)));
        }
        let is_box = self
            .space
            .axes()
            .iter()
            .all(|axis| axis.count().is_none() && !axis.context);
        if is_box {
            let unit = believer.suggest()?;
            let numbers = unit.iter().enumerate();
            return Ok(numbers
                .map(|(axis, u)| self.space.from_unit(axis, *u).unwrap_or(0.0))
                .collect());
        }
        let mut pool = self.pool(number, given);
        let best = self.best_among(&mut believer, &pool)?;
        let best = self.refined(best, number, |points| {
            Ok(self.best_among(&mut believer, points)?)
        })?;
        let elsewhere = believer.elsewhere_among(&self.unit(&best), &self.units(&pool))?;
        Ok(elsewhere.map_or(best, |place| pool.swap_remove(place)))
    }

    /// What is asked in the place of a question that a file chose, where that promises next to
    /// nothing to the model of a search without a file, for half of such questions
    /// ([`Optimizer::elsewhere_among`]): a file that is wrong of this searcher would hold it beside
    /// a point that it knows. In a list no candidate is asked twice, which does the same.
    fn beside_file(
        &self,
        best: &[f64],
        given: &[Option<f64>],
        (pending, failed): (&[Vec<f64>], &[Vec<f64>]),
    ) -> Result<Option<Vec<f64>>, OptimizerError> {
        if self.candidates.is_some() || self.told.is_empty() {
            return Ok(None);
        }
        let mut believer = self.believer(pending, failed)?;
        believer.given(&self.given_units(given))?;
        if believer.fit_is_due() {
            // One that fails leaves the parameters.
            let _ = believer.fit();
        }
        let mut pool = self.pool(believer.told(), given);
        let elsewhere = believer.elsewhere_among(&self.unit(best), &self.units(&pool))?;
        Ok(elsewhere.map(|place| pool.swap_remove(place)))
    }

    /// The coordinates of the context.
    fn given_units(&self, given: &[Option<f64>]) -> Vec<f64> {
        let numbers: Vec<f64> = given.iter().map(|given| given.unwrap_or(0.0)).collect();
        let axes = self.space.axes().iter().enumerate();
        let is_given = axes.flat_map(|(place, axis)| {
            std::iter::repeat_n(axis.context, self.encoding.width(place))
        });
        let coordinates = self.unit(&numbers).into_iter().zip(is_given);
        coordinates
            .filter_map(|(coordinate, is_given)| is_given.then_some(coordinate))
            .collect()
    }

    /// Points that fill the space, from this one on, with the values that are given.
    fn pool(&self, from: u32, given: &[Option<f64>]) -> Vec<Vec<f64>> {
        (from..from.saturating_add(POOL))
            .map(|index| self.filling(index, given))
            .collect()
    }

    /// Whether a point is neither told nor under way, and did not fail.
    fn is_new(&self, point: &[f64], pending: &[Vec<f64>], failed: &[Vec<f64>]) -> bool {
        let told = self.told.iter().map(|(told, _)| told);
        !told
            .chain(pending)
            .chain(failed)
            .any(|known| known == point)
    }

    /// The best of the candidates that were not asked, or of a pool, which is the same at every
    /// question, and of points around that: `choose` says which of a list. If all were asked, the
    /// best of those that did not fail again.
    fn best_fresh(
        &self,
        (known, failed): (&[Known], &[Vec<f64>]),
        given: &[Option<f64>],
        guide: &Guide,
        mut choose: impl FnMut(&[Vec<f64>], Option<&[f64]>) -> Result<usize, SearchError>,
    ) -> Result<Vec<f64>, SearchError> {
        if let Some(list) = &self.candidates {
            let moments = guide.moments_of(list)?;
            let best = fresh_of(list, Some(&moments), known, &mut choose)?;
            return Ok(best.unwrap_or_else(|| self.best_told(list, failed)));
        }
        let pool = self.pool(0, given);
        let Some(best) = fresh_of(&pool, None, known, &mut choose)? else {
            return Ok(self.filling(0, given));
        };
        let number = known.len() as u32;
        self.refined(best, number, |points| {
            let best = fresh_of(points, None, known, &mut choose)?;
            Ok(best.unwrap_or_else(|| points[0].clone()))
        })
    }

    /// Of a list of which everything was asked the candidate of the largest value told that never
    /// failed; any that did not fail where none has a value, and the first where all failed.
    fn best_told(&self, list: &[Vec<f64>], failed: &[Vec<f64>]) -> Vec<f64> {
        let sound = list.iter().filter(|point| !failed.contains(point));
        let value = |point: &&Vec<f64>| {
            let told = self.told.iter().filter(|(told, _)| told == *point);
            told.map(|(_, value)| *value)
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let best = sound.max_by(|a, b| value(a).total_cmp(&value(b)));
        best.unwrap_or(&list[0]).clone()
    }

    /// The best of the points around one, at shorter and shorter distances.
    fn refined(
        &self,
        mut best: Vec<f64>,
        number: u32,
        mut choose: impl FnMut(&[Vec<f64>]) -> Result<Vec<f64>, SearchError>,
    ) -> Result<Vec<f64>, SearchError> {
        let mut stream = self.stream(number, Purpose::Restarts);
        for distance in DISTANCES {
            let mut around: Vec<Vec<f64>> = (0..AROUND)
                .map(|_| self.beside(&best, distance, &mut stream))
                .collect();
            around.push(best);
            best = choose(&around)?;
        }
        Ok(best)
    }

    fn stream(&self, number: u32, purpose: Purpose) -> Stream {
        RunSeed::new(self.seed, 0).stream(Party::World, purpose, number)
    }

    /// The point of the list that the optimizer would ask.
    fn best_among(
        &self,
        believer: &mut Inner,
        points: &[Vec<f64>],
    ) -> Result<Vec<f64>, OptimizerError> {
        let place = believer.suggest_among(&self.units(points))?;
        Ok(points.get(place).cloned().unwrap_or_default())
    }

    /// Point `index` of a Sobol' sequence, scrambled by the seed.
    pub(super) fn filling(&self, index: u32, given: &[Option<f64>]) -> Vec<f64> {
        (0..self.space.dim())
            .map(|axis| {
                let u: f64 = coordinate(index, axis, scramble(self.seed));
                given[axis]
                    .or_else(|| self.space.from_unit(axis, u))
                    .unwrap_or(0.0)
            })
            .collect()
    }

    /// A point beside another one: numbers move by up to `distance` of their side, at least to
    /// their neighbour half of the time, and a choice changes with the probability `distance`.
    fn beside(&self, numbers: &[f64], distance: f64, stream: &mut Stream) -> Vec<f64> {
        let mut point = numbers.to_vec();
        for axis in self.space.searched() {
            let coin: f64 = stream.unit();
            let step: f64 = stream.unit();
            let Some(unit) = self.space.to_unit(axis, numbers[axis]) else {
                continue;
            };
            let moved = if self.space.is_category(axis) {
                if coin < distance { step } else { unit }
            } else if self.space.axes()[axis].count().is_some() && coin < 0.25 {
                let next: Vec<f64> = self.space.neighbours(axis, unit).collect();
                next.get((step * next.len() as f64) as usize)
                    .copied()
                    .unwrap_or(unit)
            } else if coin < 0.75 {
                unit + distance * (2.0 * step - 1.0)
            } else {
                unit
            };
            point[axis] = self.space.from_unit(axis, moved).unwrap_or(numbers[axis]);
        }
        point
    }
}
