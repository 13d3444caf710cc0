//! A search over a list of candidates, with a public prior or without one.

use serde::{Deserialize, Serialize};

use super::consulted::{Consulted, moments_of};
use super::error::NewcomerError;
use super::evidence::{Fitted, Moments, Rows, Unit, fit};
use super::hypothesis::{Hypotheses, Hypothesis};
use super::log::LogEntry;
use super::public::PublicPrior;
use super::reading::Reading;
use super::storage::{BlockParts, FitParts, Parts, split, storage_len};
use super::work::Work;
use crate::domain::DIM_MAX;
use crate::linalg::slice::{self, at, head, part, set};
use crate::linalg::{lower, matvec};
use crate::math::Scalar;
use crate::optimizer::CANDIDATES_MAX;

/// Settings; there is nothing to choose but whether evaluations are noisy.
///
/// ```
/// use sordino_core::prior::{Newcomer, NewcomerError, NewcomerSettings, storage_len};
/// let storage = || vec![0.0; storage_len(0, 5, 1)];
/// let mut noisy = Newcomer::new(&[0.0, 0.5, 1.0], 1, None, NewcomerSettings::noisy(), 5, storage())?;
/// assert_eq!(noisy.observe(3, 1.0), Err(NewcomerError::Candidate { index: 3, candidates: 3 }));
/// let wrong = NewcomerSettings { noise_fraction: 0.0, ..NewcomerSettings::default() };
/// let refused = Newcomer::new(&[0.0, 0.5, 1.0], 1, None, wrong, 5, storage()).err();
/// assert_eq!(refused, Some(NewcomerError::NoiseFraction { value: 0.0 }));
/// # Ok::<(), NewcomerError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewcomerSettings {
    /// ν, the noise variance of an evaluation as a fraction of the squared scale of the function,
    /// in \[10⁻⁶, 1].
    pub noise_fraction: f64,
    /// Of the questions that cover the box; any number.
    pub seed: u32,
}

impl Default for NewcomerSettings {
    fn default() -> Self {
        NewcomerSettings {
            noise_fraction: 1e-3,
            seed: 0,
        }
    }
}

impl NewcomerSettings {
    /// For evaluations that would give another value the next time: ν = 10⁻².
    pub fn noisy() -> Self {
        NewcomerSettings {
            noise_fraction: 1e-2,
            ..NewcomerSettings::default()
        }
    }
}

/// A search over a list of candidates that begins with what others learned, if there is a file. It
/// maximises.
///
/// The state is the log: the same observations in the same order give the same questions, also
/// after a restart ([`Newcomer::resume`]). Candidates are points of the unit box and have their
/// index for a name.
///
/// ```
/// use sordino_core::prior::{Newcomer, NewcomerSettings, PriorNumbers, PublicPrior, attach_len, storage_len};
/// // A file that says: high around .3.
/// let numbers = PriorNumbers {
///     dim: 1,
///     landmarks: &[0.1, 0.3, 0.5, 0.7, 0.9],
///     lengthscale: 0.15,
///     weights: &[0.0, 2.0, 0.0, 0.0, 0.0],
///     covariance: &[0.1, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.1],
///     self_test: 9.0,
/// };
/// let mut flash = [0f32; attach_len(5)];
/// let prior = PublicPrior::attach(numbers, &mut flash)?;
/// let candidates: Vec<f32> = (0..100).map(|i| i as f32 / 99.0).collect();
/// let storage = vec![0.0; storage_len(5, 12, 16)];
/// let mut search = Newcomer::new(&candidates, 1, Some(&prior), NewcomerSettings::default(), 12, storage)?;
/// // This newcomer's best is at .35, in a unit of its own.
/// let value = |x: f32| 700.0 - 4000.0 * (x - 0.35) * (x - 0.35);
/// for _ in 0..6 {
///     let candidate = search.suggest();
///     search.observe(candidate, value(candidates[candidate]))?;
/// }
/// let (best, _) = search.best().ok_or("nothing observed")?;
/// assert!((candidates[best] - 0.35).abs() < 0.03);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Newcomer<'a, T, S> {
    candidates: &'a [T],
    dim: usize,
    /// The file; nothing if it is not read.
    prior: Option<&'a PublicPrior<'a, T>>,
    /// m and φᵀΣφ of each candidate, if they were lent.
    moments: Option<&'a [T]>,
    pub(super) reading: Reading,
    pub(super) hypotheses: Hypotheses<T>,
    settings: NewcomerSettings,
    capacity: usize,
    /// Candidates that are looked at together.
    pub(super) width: usize,
    /// Rows in use: values told, and candidates that failed.
    pub(super) rows: usize,
    /// Those that failed.
    failed: usize,
    pub(super) work: Work<T>,
    storage: S,
}

impl<'a, T: Scalar, S: AsRef<[T]> + AsMut<[T]>> Newcomer<'a, T, S> {
    /// Nothing observed yet. `candidates` are 1 to [`CANDIDATES_MAX`] points of the unit box with
    /// `dim` coordinates each, row-major; `storage` holds [`storage_len`] numbers for at most
    /// `capacity` observations and failures. What is lent beyond the least is used for a greater
    /// width.
    ///
    /// **Errors**: [`NewcomerError`].
    pub fn new(
        candidates: &'a [T],
        dim: usize,
        prior: Option<&'a PublicPrior<'a, T>>,
        settings: NewcomerSettings,
        capacity: usize,
        storage: S,
    ) -> Result<Self, NewcomerError> {
        check_candidates(candidates, dim, prior.map(PublicPrior::dim))?;
        let fraction = settings.noise_fraction;
        if !(1e-6..=1.0).contains(&fraction) {
            return Err(NewcomerError::NoiseFraction { value: fraction });
        }
        if capacity == 0 {
            return Err(NewcomerError::Capacity { capacity });
        }
        let reading = Reading::of(prior.map(PublicPrior::self_test));
        let prior = prior.filter(|_| reading.uses_file());
        let landmarks = prior.map_or(0, PublicPrior::count);
        let needed = storage_len(landmarks, capacity, 1);
        let given = storage.as_ref().len();
        if given < needed {
            return Err(NewcomerError::Storage { needed, given });
        }
        let width = 1 + (given - needed) / (storage_len(landmarks, capacity, 2) - needed).max(1);
        Ok(Newcomer {
            candidates,
            dim,
            prior,
            moments: None,
            reading,
            hypotheses: Hypotheses::new(dim, prior.map(PublicPrior::self_test)),
            settings,
            capacity,
            width: width.min(candidates.len() / dim.max(1)),
            rows: 0,
            failed: 0,
            work: Work::None,
            storage,
        })
    }

    /// The search that was told what `log` says, oldest first: a [`LogEntry`], or candidate and
    /// value. Its questions are, bit for bit, those of the search that wrote the log. A value that
    /// was told by mistake is taken back by leaving its entry out.
    ///
    /// **Errors**: as [`Newcomer::new`], [`Newcomer::observe`] and [`Newcomer::fail`].
    ///
    /// ```
    /// use sordino_core::prior::{LogEntry, Newcomer, NewcomerSettings, storage_len};
    /// let candidates: Vec<f64> = (0..40).map(|i| f64::from(i) / 39.0).collect();
    /// let (settings, storage) = (NewcomerSettings::default(), || vec![0.0; storage_len(0, 9, 8)]);
    /// let mut search = Newcomer::new(&candidates, 1, None, settings, 9, storage())?;
    /// for _ in 0..7 {
    ///     let candidate = search.suggest();
    ///     search.observe(candidate, (9.0 * candidates[candidate]).sin())?;
    /// }
    /// let candidate = search.suggest();
    /// search.fail(candidate)?;
    /// let log: Vec<LogEntry<f64>> = search.log().collect();
    /// let mut resumed = Newcomer::resume(&candidates, 1, None, settings, 9, storage(), log)?;
    /// assert_eq!(resumed.suggest(), search.suggest());
    /// # Ok::<(), sordino_core::prior::NewcomerError>(())
    /// ```
    pub fn resume(
        candidates: &'a [T],
        dim: usize,
        prior: Option<&'a PublicPrior<'a, T>>,
        settings: NewcomerSettings,
        capacity: usize,
        storage: S,
        log: impl IntoIterator<Item: Into<LogEntry<T>>>,
    ) -> Result<Self, NewcomerError> {
        let mut search = Self::new(candidates, dim, prior, settings, capacity, storage)?;
        for entry in log {
            match entry.into() {
                LogEntry::Told { candidate, value } => search.observe(candidate, value)?,
                LogEntry::Failed { candidate } => search.fail(candidate)?,
            }
        }
        Ok(search)
    }

    /// Reads m and φᵀΣφ of candidates from a table of [`PublicPrior::moments`] in place of
    /// computing them: the same bits, M² multiply-adds less for a candidate. It may lie in flash.
    /// Where the file is not read, the table is not either.
    ///
    /// **Errors**: [`NewcomerError::Moments`] if it is not two numbers for each candidate, or not
    /// finite; [`NewcomerError::MomentsOfAnother`] if it says something else about the first or the
    /// last candidate than this prior.
    pub fn with_moments(mut self, moments: &'a [T]) -> Result<Self, NewcomerError> {
        let candidates = self.count();
        let rows = moments.len() / 2;
        let refused = |candidate| NewcomerError::Moments {
            candidate,
            rows,
            candidates,
        };
        if moments.len() != 2 * candidates {
            return Err(refused(rows.min(candidates)));
        }
        let (pairs, _) = moments.as_chunks::<2>();
        let valid = |[mean, variance]: &[T; 2]| {
            mean.is_finite() && *variance >= T::ZERO && variance.is_finite()
        };
        if let Some(candidate) = pairs.iter().position(|pair| !valid(pair)) {
            return Err(refused(candidate));
        }
        self.moments = None;
        for candidate in [0, candidates - 1] {
            let (mean, variance) = self.file_at(candidate);
            let near = |a: T, b: T| (a - b).abs() <= T::EPSILON.sqrt() * (T::ONE + b.abs());
            let [listed_mean, listed_variance] = pairs.get(candidate).copied().unwrap_or_default();
            if self.prior.is_some() && !(near(listed_mean, mean) && near(listed_variance, variance))
            {
                return Err(NewcomerError::MomentsOfAnother { candidate });
            }
        }
        self.moments = Some(moments);
        Ok(self)
    }

    /// Whether [`Newcomer::observe`] would take this observation.
    ///
    /// **Errors**: as there.
    pub fn check(&self, candidate: usize, value: T) -> Result<(), NewcomerError> {
        self.check_candidate(candidate)?;
        let mut told = self.values().iter().filter(|told| told.is_finite());
        let first = told.next().copied().unwrap_or(value);
        if !value.is_finite() || !(value - first).is_finite() {
            return Err(NewcomerError::Value {
                value: value.to_f64(),
            });
        }
        self.check_room()
    }

    fn check_candidate(&self, index: usize) -> Result<(), NewcomerError> {
        let candidates = self.count();
        if index < candidates {
            Ok(())
        } else {
            Err(NewcomerError::Candidate { index, candidates })
        }
    }

    fn check_room(&self) -> Result<(), NewcomerError> {
        let capacity = self.capacity;
        if self.rows < capacity {
            Ok(())
        } else {
            Err(NewcomerError::Full { capacity })
        }
    }

    /// Tells the value of a candidate, asked for or not, for the first time or again: a repetition
    /// is one more observation. Larger is better: tell the negative of what is to be small. An
    /// exported file has this sign as its constant `SIGN`.
    ///
    /// Whether a finite value can be right only you know. Check the range of your sensor first, and
    /// tell no sentinel such as 9999: it could be the best value of all. What has no value is
    /// [failed](Newcomer::fail).
    ///
    /// **Errors**: [`NewcomerError::Candidate`], [`NewcomerError::Value`], [`NewcomerError::Full`];
    /// nothing changes then. **Cost**: 2M² + nM multiply-adds and M exponentials where a file is
    /// read.
    pub fn observe(&mut self, candidate: usize, value: T) -> Result<(), NewcomerError> {
        self.check(candidate, value)?;
        self.take(candidate, value);
        Ok(())
    }

    /// Tells that a candidate, asked for or not, has no value: it cannot work here, or could not be
    /// measured. It counts as asked, takes a row of the capacity, and is not asked again while one
    /// is left that did not fail; nor is it ever the [best](Newcomer::best), even if it was told as
    /// well. The model has the worst value told so far in its place, so that a search leaves a
    /// region that fails.
    ///
    /// Where only the measurement went wrong, measure again and tell that: a failure speaks against
    /// the candidates around it.
    ///
    /// **Errors**: [`NewcomerError::Candidate`], [`NewcomerError::Full`]; nothing changes then.
    /// **Cost**: that of [`Newcomer::observe`].
    ///
    /// ```
    /// use sordino_core::prior::{LogEntry, Newcomer, NewcomerSettings, storage_len};
    /// let candidates = [0.0, 0.25, 0.5, 0.75, 1.0];
    /// let storage = vec![0.0; storage_len(0, 4, 1)];
    /// let mut search = Newcomer::new(&candidates, 1, None, NewcomerSettings::default(), 4, storage)?;
    /// let first = search.suggest();
    /// search.fail(first)?; // the motor stalled
    /// assert_eq!((search.len(), search.failed(), search.best()), (0, 1, None));
    /// let second = search.suggest();
    /// assert_ne!(second, first);
    /// search.observe(second, 3.5)?;
    /// let log = [LogEntry::Failed { candidate: first }, LogEntry::Told { candidate: second, value: 3.5 }];
    /// assert!(search.log().eq(log));
    /// # Ok::<(), sordino_core::prior::NewcomerError>(())
    /// ```
    pub fn fail(&mut self, candidate: usize) -> Result<(), NewcomerError> {
        self.check_candidate(candidate)?;
        self.check_room()?;
        self.take(candidate, T::INFINITY);
        self.failed += 1;
        Ok(())
    }

    /// One row more, which was checked; infinite for one that failed.
    fn take(&mut self, candidate: usize, value: T) {
        let n = self.rows;
        let prior = self.prior;
        let point = part(self.candidates, candidate * self.dim, self.dim);
        let landmarks = self.landmarks();
        let sizes = (n + 1, self.capacity);
        let parts = split(self.storage.as_mut(), landmarks, sizes, self.width);
        set(parts.asked, n, T::from_u32(candidate as u32));
        set(parts.values, n, value);
        // Nothing that was in the storage before.
        set(parts.means, n, T::ZERO);
        if let Some(prior) = prior {
            let row = slice::head_mut(parts.fit.scratch, landmarks);
            let (done, rest) = slice::split(parts.links, n * landmarks);
            prior.kernel_row(point, row);
            if let Some((diagonal, before)) = lower::row_mut(parts.shared, n).split_last_mut() {
                matvec(done, row, before);
                prior.whiten(row);
                *diagonal = prior.variance_at(row);
            }
            set(parts.means, n, prior.mean_at(row));
            prior.link(row, slice::head_mut(rest, landmarks));
        }
        self.rows += 1;
        self.work = Work::None;
    }

    /// Values told; candidates that failed are not among them.
    pub fn len(&self) -> usize {
        self.rows - self.failed
    }

    /// Whether no value was told yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of times that a candidate [failed](Newcomer::fail).
    pub fn failed(&self) -> usize {
        self.failed
    }

    /// Values and failures there is room for, in all.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of candidates C.
    pub fn count(&self) -> usize {
        self.candidates.len() / self.dim.max(1)
    }

    /// How the file is read.
    pub fn reading(&self) -> Reading {
        self.reading
    }

    /// What was told, values and failures, oldest first.
    pub fn log(&self) -> impl Iterator<Item = LogEntry<T>> {
        let asked = head(self.storage.as_ref(), self.rows);
        asked.iter().zip(self.values()).map(|(asked, value)| {
            let candidate = asked.to_u32() as usize;
            let value = *value;
            if value.is_finite() {
                LogEntry::Told { candidate, value }
            } else {
                LogEntry::Failed { candidate }
            }
        })
    }

    /// The candidate to use, and its posterior mean in the user's unit: of those that were told and
    /// never failed the one of largest mean, under the hypothesis of largest weight. Nothing if
    /// there is none. Where all values told are equal, the mean is that value. A suggestion that
    /// was begun in slices begins again.
    ///
    /// After the last evaluation use this one. The last [`Newcomer::suggest`] is a question, and
    /// may be a poor candidate.
    ///
    /// **Cost**: that of weighing all hypotheses, n³/6 multiply-adds each.
    pub fn best(&mut self) -> Option<(usize, T)> {
        if self.all_failed() {
            return None;
        }
        if !matches!(self.work, Work::Done(_)) {
            self.work = Work::None;
        }
        let hypotheses = self.hypotheses;
        let (rows, mut parts, ..) = self.parts();
        let (_, fitted) = likeliest(&hypotheses, &rows, &mut parts);
        let (row, mean) = fitted.best_visited(&rows, &mut parts);
        let unit = rows.unit;
        Some((
            at(rows.asked, row).to_u32() as usize,
            unit.first + unit.range * mean,
        ))
    }

    /// What is expected of a row of candidates, from `first` on as many as `means` holds, in the
    /// user's unit: posterior means under the hypothesis of largest weight. Before the first
    /// observation or failure they are the file's, 0 without one. As values of questions that are
    /// under way they speak neither for the file nor against it. A suggestion that was begun in
    /// slices begins again.
    ///
    /// **Errors**: [`NewcomerError::Candidate`].
    ///
    /// **Cost**: that of weighing all hypotheses, n³/6 multiply-adds each; for each candidate as in
    /// [`Newcomer::suggest`].
    ///
    /// ```
    /// use sordino_core::prior::{Newcomer, NewcomerError, NewcomerSettings, storage_len};
    /// let storage = vec![0.0f64; storage_len(0, 5, 1)];
    /// let mut search = Newcomer::new(&[0.0, 0.5, 1.0], 1, None, NewcomerSettings::default(), 5, storage)?;
    /// search.observe(0, 100.0)?;
    /// search.observe(2, 300.0)?;
    /// let mut means = [0.0; 3];
    /// search.predict(0, &mut means)?;
    /// assert!(means.iter().zip([100.0, 200.0, 300.0]).all(|(mean, value)| (mean - value).abs() < 1.0));
    /// let refused = search.predict(1, &mut means);
    /// assert_eq!(refused, Err(NewcomerError::Candidate { index: 3, candidates: 3 }));
    /// # Ok::<(), NewcomerError>(())
    /// ```
    pub fn predict(&mut self, first: usize, means: &mut [T]) -> Result<(), NewcomerError> {
        let candidates = self.count();
        let end = first.saturating_add(means.len());
        if end > candidates {
            return Err(NewcomerError::Candidate {
                index: first.max(candidates),
                candidates,
            });
        }
        if self.rows == 0 {
            for (candidate, mean) in (first..end).zip(means) {
                (*mean, _) = self.file_at(candidate);
            }
            return Ok(());
        }
        if !matches!(self.work, Work::Done(_)) {
            self.work = Work::None;
        }
        let hypotheses = self.hypotheses;
        let (rows, mut parts, mut block, file) = self.parts();
        let (hypothesis, fitted) = likeliest(&hypotheses, &rows, &mut parts);
        let unit = rows.unit;
        // Where all values are equal, A is 1: what is under way then looks as the file says, and
        // speaks neither for the file nor against it.
        let range = if unit.range > T::ZERO {
            unit.range
        } else {
            T::ONE
        };
        for (candidate, mean) in (first..end).zip(means) {
            let point = rows.candidate(candidate);
            file.load(candidate, point, rows.len(), &mut parts, &mut block, 0);
            let said = Moments {
                mean: at(block.means, 0),
                variance: at(block.variances, 0),
            };
            let shared = file.shared(&block, 0, rows.len());
            let found = fitted.moments(&hypothesis, &rows, point, shared, said, &mut parts);
            *mean = unit.first + range * found.mean;
        }
        Ok(())
    }

    /// What the model knows, oldest first: candidate, value, and the file's mean there. One that
    /// failed has the worst value.
    pub(super) fn told(&self) -> impl Iterator<Item = (usize, T, T)> {
        let means = part(self.storage.as_ref(), 2 * self.capacity, self.rows);
        let told = self.log().filter_map(LogEntry::value);
        let worst = told.reduce(|worst, value| worst.min(value));
        self.log().zip(means).map(move |(entry, mean)| {
            let value = entry.value().or(worst).unwrap_or(T::ZERO);
            (entry.candidate(), value, *mean)
        })
    }

    /// Whether no candidate is left among those asked that did not fail.
    pub(super) fn all_failed(&self) -> bool {
        self.log().all(|entry| self.has_failed(entry.candidate()))
    }

    /// Whether a candidate failed, once or always.
    pub(super) fn has_failed(&self, candidate: usize) -> bool {
        self.failed > 0
            && self
                .log()
                .any(|entry| entry.value().is_none() && entry.candidate() == candidate)
    }

    /// Value of each row; infinite of one that failed.
    fn values(&self) -> &[T] {
        part(self.storage.as_ref(), self.capacity, self.rows)
    }

    /// Coordinates of all candidates.
    pub(super) fn candidates(&self) -> &'a [T] {
        self.candidates
    }

    /// Whether a candidate was told, or failed.
    pub(super) fn is_visited(&self, candidate: usize) -> bool {
        let candidate = T::from_u32(candidate as u32);
        head(self.storage.as_ref(), self.rows).contains(&candidate)
    }

    /// Coordinates of a candidate.
    pub(super) fn point(&self, candidate: usize) -> &'a [T] {
        part(self.candidates, candidate * self.dim, self.dim)
    }

    /// B of the file that is read.
    pub(super) fn self_test(&self) -> Option<T> {
        self.prior.map(PublicPrior::self_test)
    }

    pub(super) fn settings(&self) -> NewcomerSettings {
        self.settings
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// m(x) and φᵀΣφ at a candidate, by the table or anew; (0, 0) without a file.
    pub(super) fn file_at(&mut self, candidate: usize) -> (T, T) {
        let Some(prior) = self.prior else {
            return (T::ZERO, T::ZERO);
        };
        let point = self.point(candidate);
        let landmarks = prior.count();
        let sizes = (self.rows, self.capacity);
        let parts = split(self.storage.as_mut(), landmarks, sizes, self.width);
        let row = slice::head_mut(parts.fit.scratch, landmarks);
        if self.moments.is_none() {
            prior.kernel_row(point, row);
        }
        moments_of(prior, self.moments, candidate, row)
    }

    /// The observations, where a hypothesis and candidates are computed, and what the file says
    /// about a candidate.
    pub(super) fn parts(
        &mut self,
    ) -> (
        Rows<'_, T>,
        FitParts<'_, T>,
        BlockParts<'_, T>,
        Consulted<'_, T>,
    ) {
        let n = self.rows;
        let landmarks = self.landmarks();
        let Parts {
            asked,
            values,
            means,
            links,
            shared,
            fit,
            block,
        } = split(
            self.storage.as_mut(),
            landmarks,
            (n, self.capacity),
            self.width,
        );
        let rows = Rows {
            dim: self.dim,
            points: self.candidates,
            asked: head(asked, n),
            values: head(values, n),
            means: head(means, n),
            shared,
            unit: Unit::of(head(values, n)),
            noise: T::from_f64(self.settings.noise_fraction),
        };
        (
            rows,
            fit,
            block,
            Consulted {
                prior: self.prior,
                moments: self.moments,
                links: &*links,
                capacity: self.capacity,
            },
        )
    }

    fn landmarks(&self) -> usize {
        self.prior.map_or(0, PublicPrior::count)
    }
}

/// The hypothesis of largest weight, its numbers in the storage; ties: the first.
fn likeliest<T: Scalar>(
    all: &Hypotheses<T>,
    rows: &Rows<'_, T>,
    parts: &mut FitParts<'_, T>,
) -> (Hypothesis<T>, Fitted<T>) {
    let mut likeliest = (0, -T::INFINITY);
    let mut hypothesis = all.get(0);
    let mut correlated = None;
    for index in 0..all.count() {
        all.turn_to(&mut hypothesis, index);
        let weight = fit(rows, &hypothesis, &mut correlated, parts).log_weight;
        if index == 0 || weight > likeliest.1 {
            likeliest = (index, weight);
        }
    }
    all.turn_to(&mut hypothesis, likeliest.0);
    let fitted = fit(rows, &hypothesis, &mut correlated, parts);
    (hypothesis, fitted)
}

fn check_candidates<T: Scalar>(
    candidates: &[T],
    dim: usize,
    prior: Option<usize>,
) -> Result<(), NewcomerError> {
    if dim == 0 || dim > DIM_MAX || prior.is_some_and(|prior| prior != dim) {
        return Err(NewcomerError::Dimension { dim, prior });
    }
    let len = candidates.len();
    let count = candidates.len() / dim;
    if count == 0 || count > CANDIDATES_MAX || !len.is_multiple_of(dim) {
        return Err(NewcomerError::Candidates { len, dim });
    }
    match candidates
        .iter()
        .enumerate()
        .find(|(_, x)| !(**x >= T::ZERO && **x <= T::ONE))
    {
        Some((place, x)) => Err(NewcomerError::Coordinate {
            candidate: place / dim,
            axis: place % dim,
            value: x.to_f64(),
        }),
        None => Ok(()),
    }
}
