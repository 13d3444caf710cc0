//! A search that passes over what cannot win asks what one that looks at everything asks.

use core::task::Poll;

use super::*;
use crate::prior::evidence::{Moments, fit};
use crate::prior::screen::Begun;
use crate::prior::work::{Bound, Work};

/// A file in a format, and what it says of candidates.
struct World<T> {
    dim: usize,
    candidates: Vec<T>,
    landmarks: Vec<T>,
    weights: Vec<T>,
    covariance: Vec<T>,
    lengthscale: T,
    self_test: T,
}

impl<T: Scalar> World<T> {
    /// Of any size: some on a grid, some with landmarks that lie close together.
    fn draw(stream: &mut Stream) -> Self {
        let dim = 1 + below(stream, 4);
        let count = 2 + below(stream, 70);
        let landmarks = 1 + below(stream, 12);
        let grid = below(stream, 3) == 0;
        let coordinate = |stream: &mut Stream| {
            let x = stream.unit::<f64>();
            T::from_f64(if grid { (6.0 * x).floor() / 6.0 } else { x })
        };
        let scale = [0.1, 1.0, 5.0][below(stream, 3)];
        // Of the largest no kernel matrix holds in single precision.
        let variance = [0.001, 0.05, 1.0, 0.05, 1.0, 1e6][below(stream, 6)];
        let mut covariance = Vec::new();
        for row in 0..landmarks {
            covariance
                .extend((0..=row).map(|j| T::from_f64(variance / (1 + 4 * (row - j)) as f64)));
        }
        World {
            dim,
            candidates: (0..count * dim).map(|_| coordinate(stream)).collect(),
            landmarks: (0..landmarks * dim).map(|_| stream.unit()).collect(),
            weights: (0..landmarks)
                .map(|_| T::from_f64(scale * standard::<f64>(stream)))
                .collect(),
            covariance,
            lengthscale: T::from_f64([0.08, 0.2, 0.4, 0.2, 2.0, 2e-5][below(stream, 6)]),
            self_test: T::from_f64([5.0, 5.0, 2.0, 0.3][below(stream, 4)]),
        }
    }

    fn numbers(&self) -> PriorNumbers<'_, T> {
        PriorNumbers {
            dim: self.dim,
            landmarks: &self.landmarks,
            lengthscale: self.lengthscale,
            weights: &self.weights,
            covariance: &self.covariance,
            self_test: self.self_test,
        }
    }

    /// Some candidates with their values, some twice, some that failed.
    fn log(&self, moments: &[T], stream: &mut Stream) -> Vec<LogEntry<T>> {
        let count = self.candidates.len() / self.dim;
        let follows = [0.0, 1.0, 1.0, -1.0][below(stream, 4)];
        let own = [0.0, 0.1, 2.0][below(stream, 3)];
        let unit = [1e-9, 1.0, 300.0][below(stream, 3)];
        let fails = below(stream, 4) == 0;
        let mut told = |_| {
            let candidate = below(stream, count);
            if fails && below(stream, 4) == 0 {
                return LogEntry::Failed { candidate };
            }
            let said = moments[2 * candidate].to_f64();
            let value = unit * (follows * said + own * standard::<f64>(stream)) + 3.0 * unit;
            let value = T::from_f64(value);
            LogEntry::Told { candidate, value }
        };
        (0..2 + count % 23).map(&mut told).collect()
    }
}

fn below(stream: &mut Stream, count: usize) -> usize {
    (stream.unit::<f64>() * count as f64) as usize
}

/// What is asked after `log` with room for so many more, and whether some were passed over by a
/// bound.
fn asked<T: Scalar>(
    world: &World<T>,
    (prior, moments): (&PublicPrior<'_, T>, &[T]),
    log: &[LogEntry<T>],
    (more, width, noise): (usize, usize, f64),
) -> (usize, bool) {
    let capacity = log.len() + more;
    let storage = vec![T::from_f64(7e9); storage_len(prior.count(), capacity, width)];
    let settings = NewcomerSettings {
        noise_fraction: noise,
        seed: 3,
    };
    let log = log.iter().copied();
    let (candidates, dim) = (&world.candidates, world.dim);
    let search = Newcomer::resume(
        candidates,
        dim,
        Some(prior),
        settings,
        capacity,
        storage,
        log,
    );
    let mut search = search.unwrap().with_moments(moments).unwrap();
    let mut screened = false;
    loop {
        let slice = if width == 3 { 2 } else { 1 };
        if let Poll::Ready(candidate) = search.suggest_step(slice) {
            return (candidate, screened);
        }
        screened |=
            matches!(&search.work, Work::Look(looking) if matches!(looking.bound, Bound::Ended(_)));
    }
}

fn bounds_change_no_question<T: Scalar>(seed: u64) {
    let mut stream = Stream::from_seed(seed);
    let mut compared = 0;
    for _ in 0..400 {
        let world = World::<T>::draw(&mut stream);
        let mut storage = vec![T::ZERO; attach_len(world.weights.len())];
        // Landmarks may lie at one place.
        let Ok(prior) = PublicPrior::attach(world.numbers(), &mut storage) else {
            continue;
        };
        let count = world.candidates.len() / world.dim;
        let mut moments = vec![T::ZERO; 2 * count];
        let scratch = &mut vec![T::ZERO; prior.count()];
        prior
            .moments(&world.candidates, &mut moments, scratch)
            .unwrap();
        let log = world.log(&moments, &mut stream);
        let noise = [1e-3, 1e-3, 1e-2, 1e-6][below(&mut stream, 4)];
        let known = (&prior, &moments[..]);
        // Without room nothing is passed over, and no kernel is kept for two hypotheses.
        let (exhaustive, screened) = asked(&world, known, &log, (0, 1, noise));
        assert!(!screened);
        for width in [1, 3] {
            let (bounded, screened) = asked(&world, known, &log, (60, width, noise));
            assert_eq!(bounded, exhaustive, "{} {}", T::NAME, world.dim);
            compared += usize::from(screened);
        }
    }
    assert!(compared > 100, "{compared} searches had a bound");
}

#[test]
fn what_cannot_win_is_not_asked_for_in_single_precision() {
    bounds_change_no_question::<f32>(5);
}

#[test]
fn what_cannot_win_is_not_asked_for_in_double_precision() {
    bounds_change_no_question::<f64>(6);
}

/// The bound of every candidate's moments under every hypothesis; how many are close.
fn moments_are_bounded<T: Scalar>(seed: u64) -> (usize, usize) {
    let mut stream = Stream::from_seed(seed);
    let mut close = 0;
    let mut all = 0;
    for _ in 0..60 {
        let world = World::<T>::draw(&mut stream);
        let mut storage = vec![T::ZERO; attach_len(world.weights.len())];
        let Ok(prior) = PublicPrior::attach(world.numbers(), &mut storage) else {
            continue;
        };
        let count = world.candidates.len() / world.dim;
        let mut moments = vec![T::ZERO; 2 * count];
        let scratch = &mut vec![T::ZERO; prior.count()];
        prior
            .moments(&world.candidates, &mut moments, scratch)
            .unwrap();
        let log = world.log(&moments, &mut stream);
        let capacity = log.len() + 60;
        let storage = vec![T::ZERO; storage_len(prior.count(), capacity, 1)];
        let settings = NewcomerSettings::default();
        let (candidates, dim) = (&world.candidates, world.dim);
        let search = Newcomer::resume(
            candidates,
            dim,
            Some(&prior),
            settings,
            capacity,
            storage,
            log,
        );
        let mut search = search.unwrap().with_moments(&moments).unwrap();
        let hypotheses = search.hypotheses;
        let (rows, mut parts, mut block, file) = search.parts();
        for index in 0..hypotheses.count() {
            let hypothesis = hypotheses.get(index);
            let fitted = fit(&rows, &hypothesis, &mut None, &mut parts);
            let begun = Begun::new(&fitted, &hypothesis, &rows, &file, &mut parts);
            let Some(mut begun) = begun else { continue };
            while begun.add(&rows, &file, &mut parts) {}
            let Some(screen) = begun.end(&fitted, &hypothesis, &rows, &mut parts) else {
                continue;
            };
            for candidate in 0..count {
                let x = rows.candidate(candidate);
                let said = Moments {
                    mean: moments[2 * candidate],
                    variance: moments[2 * candidate + 1],
                };
                let known = (x, said);
                let most = screen.moments(&fitted, &hypothesis, &rows, &file, known, parts.spare);
                file.load(candidate, x, rows.len(), &mut parts, &mut block, 0);
                let shared = file.shared(&block, 0, rows.len());
                let found = fitted.moments(&hypothesis, &rows, x, shared, said, &mut parts);
                assert!(
                    most.mean >= found.mean && most.variance >= found.variance,
                    "{} {index} {candidate}: {most:?} {found:?}",
                    T::NAME
                );
                let std = found.variance.sqrt();
                close += usize::from(most.mean - found.mean < T::from_f64(0.1) * std);
                all += 1;
            }
        }
    }
    (close, all)
}

#[test]
fn no_moment_is_above_its_bound_and_many_means_are_close_to_it() {
    for (close, all) in [moments_are_bounded::<f32>(8), moments_are_bounded::<f64>(9)] {
        assert!(all > 10_000 && 5 * close > all, "{close} of {all}");
    }
}
