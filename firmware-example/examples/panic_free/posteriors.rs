//! The five engines and draws.

use core::hint::black_box;

use sordino_core::features::RandomFourier;
use sordino_core::kernel::{Kernel, SquaredExponential, Stationary, StationaryKernel};
use sordino_core::random::Stream;
use sordino_core::surrogate::exact::WhenFull;
use sordino_core::surrogate::grid::Side;
use sordino_core::surrogate::pathwise::PathwiseDraw;
use sordino_core::surrogate::weights::Regularization;
use sordino_core::surrogate::{
    CandidateGp, ExactGp, FiniteGp, GridGp, WeightPosterior, fit, joint,
};

use super::device::{Memory, is, some};

/// A posterior of rows that another one left.
fn exact<'a>(
    storage: &'a mut [f32],
) -> Option<ExactGp<f32, impl Kernel<f32> + use<>, &'a mut [f32]>> {
    let kernel = SquaredExponential::new(black_box(0.2), 1.0).ok()?;
    let dim = black_box(2);
    let capacity = black_box(32);
    let len = black_box(7);
    ExactGp::resume(kernel, black_box(0.01), dim, capacity, len, storage).ok()
}

fn candidates<'a>(
    points: &'a [f32],
    storage: &'a mut [f32],
) -> Option<CandidateGp<f32, impl Kernel<f32> + use<>, &'a [f32], &'a mut [f32]>> {
    let kernel = SquaredExponential::new(black_box(0.2), 1.0).ok()?;
    CandidateGp::new(
        kernel,
        black_box(0.01),
        black_box(2),
        points,
        black_box(32),
        storage,
    )
    .ok()
}

fn grid<'a>(
    points: &'a [f32],
    storage: &'a mut [f32],
) -> Option<
    GridGp<
        f32,
        impl Kernel<f32> + use<>,
        &'a [f32],
        impl Kernel<f32> + use<>,
        &'a [f32],
        &'a mut [f32],
    >,
> {
    let first = SquaredExponential::new(black_box(0.2), 1.0);
    let second = SquaredExponential::new(black_box(0.3), 1.0);
    let first = Side {
        kernel: first.ok()?,
        dim: black_box(2),
        points,
    };
    let second = Side {
        kernel: second.ok()?,
        dim: black_box(1),
        points,
    };
    GridGp::new(first, second, black_box(0.01), black_box(32), storage).ok()
}

fn finite<'a>(points: &[f32], storage: &'a mut [f32]) -> Option<FiniteGp<f32, &'a mut [f32]>> {
    let kernel = SquaredExponential::new(black_box(0.2), 1.0).ok()?;
    FiniteGp::new(&kernel, black_box(0.01), black_box(2), points, storage).ok()
}

fn weights(storage: &mut [f32]) -> Option<WeightPosterior<f32, &mut [f32]>> {
    let lambda = Regularization::new(black_box(0.01)).ok()?;
    WeightPosterior::resume(black_box(64), lambda, black_box(7), storage).ok()
}

pub(super) fn run(memory: &mut Memory) {
    of_points(memory);
    of_candidates(memory);
    of_weights(memory);
    draws(memory);
}

fn of_points(memory: &mut Memory) {
    let Memory { a, b, c, d, .. } = memory;
    let a = some(a);
    let b = some(b);
    let c = some(c);
    let d = some(d);
    let n = black_box(7usize);
    if const { is("surrogate::exact: observe") }
        && let Some(gp) = exact(a)
    {
        let _ = black_box(
            gp.when_full(WhenFull::DropOldest)
                .observe(b, black_box(0.5)),
        );
    }
    if const { is("surrogate::exact: posterior") }
        && let Some(mut gp) = exact(a)
    {
        let _ = black_box(gp.posterior(b));
    }
    if const { is("surrogate::exact: posteriors") }
        && let Some(mut gp) = exact(a)
    {
        let (mean, variance) = d.split_at_mut_checked(n).unwrap_or_default();
        let _ = black_box(gp.posteriors(b, mean, variance, c));
    }
    if const { is("surrogate::exact: remove") }
        && let Some(mut gp) = exact(a)
    {
        let _ = black_box(gp.remove(n));
    }
    if const { is("surrogate::exact: log_marginal_likelihood") }
        && let Some(gp) = exact(a)
    {
        black_box(gp.log_marginal_likelihood());
    }
    if const { is("surrogate::fit: log_marginal_likelihood") } {
        let kernel =
            StationaryKernel::with_shape(black_box(Stationary::Matern52), black_box(0.2), 1.0f32);
        let Ok(kernel) = kernel else { return };
        let data = fit::Observations::single(b, c);
        let _ = black_box(fit::log_marginal_likelihood(
            &kernel,
            black_box(0.1),
            &data,
            d,
            a,
        ));
    }
}

fn of_candidates(memory: &mut Memory) {
    let Memory { a, b, c, d, .. } = memory;
    let a = some(a);
    let b = some(b);
    let c = some(c);
    let d = some(d);
    let n = black_box(7usize);
    if const { is("surrogate::candidates: observe") }
        && let Some(mut gp) = candidates(b, a)
    {
        let _ = black_box(gp.observe(n, black_box(0.5)));
    }
    if const { is("surrogate::candidates: posterior") }
        && let Some(gp) = candidates(b, a)
    {
        let _ = black_box(gp.posterior(n));
        let _ = black_box(gp.posteriors(c, d));
    }
    if const { is("surrogate::candidates: covariances") }
        && let Some(gp) = candidates(b, a)
    {
        let _ = black_box(gp.covariances(n, c));
    }
    if const { is("surrogate::grid: observe") }
        && let Some(mut gp) = grid(b, a)
    {
        let _ = black_box(gp.observe(n, black_box(0.5)));
    }
    if const { is("surrogate::grid: posterior") }
        && let Some(mut gp) = grid(b, a)
    {
        let _ = black_box(gp.posterior(n));
        let _ = black_box(gp.point(n));
        let _ = black_box(gp.posteriors(c, d));
        let _ = black_box(gp.covariances(n, c));
    }
    if const { is("surrogate::finite: observe") }
        && let Some(mut gp) = finite(b, a)
    {
        let _ = black_box(gp.observe(n, black_box(0.5)));
    }
    if const { is("surrogate::finite: posterior") }
        && let Some(gp) = finite(b, a)
    {
        let _ = black_box(gp.posterior(n));
        let _ = black_box(gp.posteriors(c, d));
    }
}

fn of_weights(memory: &mut Memory) {
    let Memory { a, b, c, d, .. } = memory;
    let a = some(a);
    let b = some(b);
    let c = some(c);
    let d = some(d);
    let n = black_box(7usize);
    let mut stream = Stream::from_seed(black_box(1));
    if const { is("surrogate::weights: extend") }
        && let Some(mut posterior) = weights(a)
    {
        posterior.extend(black_box(40), |i, phi| {
            phi.fill(i as f32);
            0.5
        });
    }
    if const { is("surrogate::weights: forget_oldest") }
        && let Some(mut posterior) = weights(a)
    {
        black_box(posterior.forget_oldest(b, black_box(0.5), |i, phi| {
            phi.fill(i as f32);
            0.5
        }));
    }
    if const { is("surrogate::weights: mean") }
        && let Some(mut posterior) = weights(a)
    {
        posterior.mean(b);
    }
    if const { is("surrogate::weights: draw") }
        && let Some(mut posterior) = weights(a)
    {
        posterior.draw(&mut stream, b);
    }
    if const { is("surrogate::weights: variance") }
        && let Some(mut posterior) = weights(a)
    {
        black_box(posterior.variance(b));
    }
    if const { is("surrogate::weights: posterior") }
        && let Some(mut posterior) = weights(a)
    {
        let _ = black_box(posterior.posterior(b, c));
    }
    if const { is("surrogate::weights: posteriors") }
        && let Some(mut posterior) = weights(a)
    {
        let (mean, variance) = d.split_at_mut_checked(n).unwrap_or_default();
        let _ = black_box(posterior.posteriors(b, mean, variance, c));
    }
}

fn draws(memory: &mut Memory) {
    let Memory { a, b, c, d, .. } = memory;
    let a = some(a);
    let b = some(b);
    let c = some(c);
    let d = some(d);
    let n = black_box(7usize);
    let mut stream = Stream::from_seed(black_box(1));
    if const { is("surrogate::joint: draw_exact") }
        && let Some(gp) = exact(a)
    {
        let (factor, out) = d.split_at_mut_checked(black_box(100)).unwrap_or_default();
        let _ = black_box(joint::draw_exact(&gp, b, &mut stream, factor, c, out));
    }
    if const { is("surrogate::joint: draw_finite") }
        && let Some(gp) = finite(b, a)
    {
        let _ = black_box(joint::draw_finite(&gp, &mut stream, c, d));
    }
    if const { is("surrogate::pathwise: a draw and its values") }
        && let Some(gp) = exact(a)
    {
        let (frequencies, rest) = b.split_at_mut_checked(black_box(192)).unwrap_or_default();
        let (weights, update) = rest.split_at_mut_checked(black_box(64)).unwrap_or_default();
        let (points, out) = d.split_at_mut_checked(n).unwrap_or_default();
        let Ok(map) = RandomFourier::new(black_box(2), black_box(64), 1.0, true, &*frequencies)
        else {
            return;
        };
        if let Ok(draw) = PathwiseDraw::new(&gp, &map, &mut stream, weights, update, c) {
            let _ = black_box(draw.value(&gp, &map, points, c));
            let _ = black_box(draw.values(&gp, &map, points, out, c));
        }
    }
}
