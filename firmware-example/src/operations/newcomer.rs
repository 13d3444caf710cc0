//! Rows of a newcomer with a prior file: what the file says of candidates, and whole searches as it
//! is trusted, doubted, and without one.

use core::array;

use sordino_core::domain::sobol::coordinate;
use sordino_core::linalg::packed_len;
use sordino_core::math::Scalar;
use sordino_core::optimizer;
use sordino_core::prior::{
    Newcomer, NewcomerSettings, OwnModel, PriorNumbers, PublicPrior, attach_len, own_model_from,
    storage_len,
};

use super::{Emit, Fold};

const DIM: usize = 2;
const M: usize = 10;
const CANDIDATES: usize = 24;
/// Observations of a search, and candidates that are looked at together.
const CAPACITY: usize = 9;
const WIDTH: usize = 3;
/// Observations of one that comes to have a model of its own.
const OWN_CAPACITY: usize = 17;

pub(super) fn rows(emit: Emit<'_>) {
    emit("prior::public f64", &files::<f64>);
    emit("prior::public f32", &files::<f32>);
    emit("prior::newcomer f64", &searches::<f64>);
    emit("prior::newcomer f32", &searches::<f32>);
    emit("prior::own_model f64", &own_models::<f64>);
    emit("prior::own_model f32", &own_models::<f32>);
}

/// A file's numbers, but for its self-test.
struct File<T> {
    landmarks: [T; M * DIM],
    weights: [T; M],
    covariance: [T; packed_len(M)],
}

impl<T: Scalar> File<T> {
    fn new() -> Self {
        let mut covariance = [T::ZERO; packed_len(M)];
        for row in 0..M {
            for column in 0..=row {
                let fall = T::from_u32(10 + 40 * (row - column) as u32);
                covariance
                    .iter_mut()
                    .skip(packed_len(row) + column)
                    .take(1)
                    .for_each(|entry| *entry = T::ONE / fall);
            }
        }
        let weights =
            array::from_fn(|i| T::from_f64(0.4) * T::from_u32(i as u32 * 7 % M as u32) - T::ONE);
        File {
            landmarks: points(3),
            weights,
            covariance,
        }
    }

    fn numbers(&self, self_test: f64) -> PriorNumbers<'_, T> {
        let File {
            landmarks,
            weights,
            covariance,
        } = self;
        let lengthscale = T::from_f64(0.3);
        let self_test = T::from_f64(self_test);
        PriorNumbers {
            dim: DIM,
            landmarks,
            lengthscale,
            weights,
            covariance,
            self_test,
        }
    }
}

/// Points that cover the box.
fn points<T: Scalar, const N: usize>(seed: u32) -> [T; N] {
    array::from_fn(|i| coordinate((i / DIM) as u32, i % DIM, seed))
}

/// L, and mean and variance of every candidate.
fn files<T: Scalar>(fold: &mut Fold) {
    let (file, candidates) = (File::<T>::new(), points::<T, { CANDIDATES * DIM }>(5));
    let mut storage = [T::ZERO; attach_len(M)];
    let mut moments = [T::ZERO; 2 * CANDIDATES];
    let Ok(prior) = PublicPrior::attach(file.numbers(5.0), &mut storage) else {
        return;
    };
    fold.all(prior.factor());
    if prior
        .moments(&candidates, &mut moments, &mut [T::ZERO; M])
        .is_ok()
    {
        fold.all(&moments);
    }
}

/// Questions, answers in a unit of the newcomer's own, and what is best: beside files that are
/// trusted, one of which covers the box with its second question, one that is doubted, and none.
fn searches<T: Scalar>(fold: &mut Fold) {
    let (file, candidates) = (File::<T>::new(), points::<T, { CANDIDATES * DIM }>(5));
    for (reads, self_test) in [(true, 5.0), (true, 2.0), (true, 0.3), (false, 0.0)] {
        let mut storage = [T::ZERO; attach_len(M)];
        let mut moments = [T::ZERO; 2 * CANDIDATES];
        let Ok(prior) = PublicPrior::attach(file.numbers(self_test), &mut storage) else {
            return;
        };
        if prior
            .moments(&candidates, &mut moments, &mut [T::ZERO; M])
            .is_err()
        {
            return;
        }
        let settings = NewcomerSettings::noisy();
        let room = [T::ZERO; storage_len(M, CAPACITY, WIDTH)];
        let read = reads.then_some(&prior);
        // With the table, and room for observations that are still to come, a bound passes over
        // candidates.
        let Ok(mut search) = Newcomer::new(&candidates, DIM, read, settings, CAPACITY, room)
            .and_then(|search| search.with_moments(&moments))
        else {
            return;
        };
        for i in 0..CAPACITY {
            let candidate = search.suggest();
            let said = prior.mean(
                candidates.chunks_exact(DIM).nth(candidate).unwrap_or(&[]),
                &mut [T::ZERO; M],
            );
            let own = T::from_u32(i as u32 * 5 % 7);
            let value = T::from_f64(700.0) + T::from_f64(40.0) * said.unwrap_or(T::ZERO) + own;
            fold.word(candidate as u64);
            fold.add(value);
            if search.observe(candidate, value).is_err() {
                return;
            }
        }
        let Some((best, mean)) = search.best() else {
            return;
        };
        fold.word(best as u64);
        fold.add(mean);
    }
}

/// What a search of fifteen values and more asks, with a model of its own beside the file.
fn own_models<T: Scalar>(fold: &mut Fold) {
    let (file, candidates) = (File::<T>::new(), points::<T, { CANDIDATES * DIM }>(5));
    let mut storage = [T::ZERO; attach_len(M)];
    let Ok(prior) = PublicPrior::attach(file.numbers(5.0), &mut storage) else {
        return;
    };
    let settings = NewcomerSettings::default();
    let room = [T::ZERO; storage_len(M, OWN_CAPACITY, WIDTH)];
    let Ok(mut search) =
        Newcomer::new(&candidates, DIM, Some(&prior), settings, OWN_CAPACITY, room)
    else {
        return;
    };
    for i in 0..OWN_CAPACITY {
        let asked = match i < own_model_from(DIM) {
            true => Ok(i * 7 % CANDIDATES),
            false => OwnModel::fit(
                &search,
                [T::ZERO; optimizer::storage_len(DIM, OWN_CAPACITY)],
            )
            .and_then(|mut own| own.suggest(&mut search)),
        };
        let Ok(candidate) = asked else { return };
        fold.word(candidate as u64);
        fold.word(u64::from(search.is_borne_out()));
        let x = candidates.chunks_exact(DIM).nth(candidate).unwrap_or(&[]);
        let said = prior.mean(x, &mut [T::ZERO; M]).unwrap_or(T::ZERO);
        let own = x.iter().fold(T::ZERO, |sum, u| sum + *u * *u);
        let value = T::from_f64(3.0) * said - own;
        fold.add(value);
        if search.observe(candidate, value).is_err() {
            return;
        }
    }
}
