//! A prior file and a search with it, which must link without a way to panic at three levels of
//! optimisation on M4F and M0.

use core::hint::black_box;

use sordino_core::prior::{Newcomer, NewcomerSettings, PriorNumbers, PublicPrior};

use super::device::{Memory, is, some};

/// A file whose numbers and lengths nobody knows, attached.
fn attached<'a>(numbers: &'a [f32], storage: &'a mut [f32]) -> Option<PublicPrior<'a, f32>> {
    let landmarks = black_box(numbers);
    let weights = black_box(numbers);
    let covariance = black_box(numbers);
    let lengthscale = black_box(0.2);
    let self_test = black_box(5.0);
    let numbers = PriorNumbers {
        dim: black_box(2),
        landmarks,
        lengthscale,
        weights,
        covariance,
        self_test,
    };
    PublicPrior::attach(numbers, storage).ok()
}

/// A search with a file or without one, after observations of a log.
fn search<'a>(
    prior: Option<&'a PublicPrior<'a, f32>>,
    candidates: &'a [f32],
    storage: &'a mut [f32],
) -> Option<Newcomer<'a, f32, &'a mut [f32]>> {
    let settings = black_box(NewcomerSettings::default());
    let capacity = black_box(8);
    let log = black_box([(1usize, 0.5f32), (3, 0.7)]);
    let search = Newcomer::resume(
        candidates,
        black_box(2),
        black_box(prior),
        settings,
        capacity,
        storage,
        log,
    );
    search.ok()?.with_moments(black_box(&candidates[..0])).ok()
}

pub(super) fn run(memory: &mut Memory) {
    let Memory { a, b, c, d, .. } = memory;
    let storage = some(a);
    let numbers = some(b);
    let candidates = some(c);
    let factor = some(d);
    if const { is("party: prior file, with a factor in flash") }
        && let Some(prior) = attached(numbers, storage)
    {
        let _ = black_box(PublicPrior::attach_with_factor(
            *prior.numbers(),
            numbers,
            factor,
        ));
        let _ = black_box(prior.moments(candidates, factor, &mut []));
    }
    if const { is("party: newcomer, suggest") }
        && let Some(prior) = attached(numbers, factor)
        && let Some(mut search) = search(Some(&prior), candidates, storage)
    {
        let _ = black_box(search.suggest_step(black_box(7)));
    }
    if const { is("party: newcomer, observe and best") }
        && let Some(prior) = attached(numbers, factor)
        && let Some(mut search) = search(Some(&prior), candidates, storage)
    {
        let _ = black_box(search.observe(black_box(3), black_box(0.5)));
        let _ = black_box(search.fail(black_box(4)));
        let _ = black_box(search.best());
        search.log().for_each(|entry| {
            black_box(entry);
        });
    }
}
