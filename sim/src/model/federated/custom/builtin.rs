//! The two extremes between which every way of sharing lies: nothing is used, or everything is shared.
//!
//! **`random`**: every agent draws its queries uniformly from the candidates. Nothing leaves it.
//!
//! **`pooled`**: every observation of every agent goes to one place, which keeps one posterior of one function; every agent
//! follows its own draw from that posterior. Nobody is protected. If all agents have the same function, this is
//! Thompson sampling with N observations a round, and no method that shares less can know more. If their functions
//! differ, the method assumes that they do not, and may lose to agents that share nothing.
//!
//! **Equation**: f = φ·w, w ~ N(0, I), y − c₀ = f(x) + N(0, σ²), over the rows φ of [`Ground`]. Σ = σ²I + Σᵢφᵢφᵢᵀ = RᵀR and
//! Rᵀc = Σᵢφᵢ(yᵢ − c₀) are carried by rotations; a draw is w = R⁻¹(c + σz). With joint draws the rows are the factor of
//! the prior, and this is the exact posterior up to `surrogate.prior_tolerance`; elsewhere, the public features'
//! posterior.
//!
//! **Cost**: with K numbers in a row, 3K² flops per observation at the server; a draw takes K², plus K per candidate.
//! An exact posterior of n observations would take n³, and one over all candidates their number squared per
//! observation.

use sordino_core::linalg::{dot, packed_len, root};
use sordino_core::math::Scalar;
use sordino_core::random::{Stream, normal};

use super::{Aggregator, Chooser, Custom, Ground, Message, Sight};
use crate::scenario::method::{Kind, Method};

/// The parties of a shipped method of this form; `None` for all others.
pub fn of(method: Method) -> Option<Custom> {
    match method.parts().kind {
        Kind::Random => Some(Custom::alone("random, version 1", Uniform)),
        Kind::Pooled => Some(Custom::with_server("pooled, version 1", Follower, Pool)),
        Kind::Alone | Kind::Draws | Kind::Prior | Kind::Custom => None,
    }
}

/// Draws candidates uniformly, with replacement.
struct Uniform;

impl Chooser for Uniform {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        coins.below(sight.ground.count())
    }
}

/// The posterior [R | c] of weights, packed; without data before the first observation.
fn fresh(ground: &Ground) -> Vec<f64> {
    let mut numbers = vec![0.0; packed_len(ground.columns) + ground.columns];
    let (factor, rhs) = numbers.split_at_mut(packed_len(ground.columns));
    root::reset(factor, rhs, ground.noise_variance);
    numbers
}

/// Rotates an observation into the posterior.
fn observe(ground: &Ground, posterior: &mut [f64], candidate: u32, y: f64) {
    let (factor, rhs) = posterior.split_at_mut(packed_len(ground.columns));
    root::rotate_in(factor, rhs, &mut ground.row(candidate).to_vec(), y - ground.constant);
}

/// Follows a draw from the pooled posterior, or from the posterior of its own data if no pooled one arrived.
struct Follower;

impl Chooser for Follower {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        let ground = sight.ground;
        let alone = || {
            let mut own = fresh(ground);
            sight.log.iter().for_each(|(candidate, y)| observe(ground, &mut own, *candidate, *y));
            own
        };
        let posterior = sight.broadcast.map_or_else(alone, <[f64]>::to_vec);
        let (factor, rhs) = posterior.split_at(packed_len(ground.columns));
        let noise_std = Scalar::sqrt(ground.noise_variance);
        let mut weights = vec![0.0; ground.columns];
        normal::fill(coins, &mut weights);
        weights.iter_mut().zip(rhs).for_each(|(z, c)| *z = c + noise_std * *z);
        root::solve(factor, &mut weights);
        // The first of equals.
        let values = ground.rows.chunks_exact(ground.columns).map(|row| dot(row, &weights));
        (0..)
            .zip(values)
            .fold((0, f64::NEG_INFINITY), |best, (i, value)| if value > best.1 { (i, value) } else { best })
            .0
    }

    /// The number of new observations, then the observations themselves: those of this round.
    fn message(&self, sight: &Sight<'_>, _coins: &mut Stream) -> Vec<f64> {
        let count = if sight.round == 0 { sight.ground.initial_points as usize } else { 1 };
        let new = &sight.log[sight.log.len().saturating_sub(count)..];
        let mut message = vec![new.len() as f64];
        message.extend(new.iter().flat_map(|(candidate, y)| [f64::from(*candidate), *y]));
        message.resize(Pool.message_len(sight.ground), 0.0);
        message
    }
}

/// Keeps the posterior of all observations, and sends it.
struct Pool;

impl Aggregator for Pool {
    fn message_len(&self, ground: &Ground) -> usize {
        1 + 2 * ground.initial_points.max(1) as usize
    }

    fn combine(&self, ground: &Ground, messages: &[Message], kept: &mut Vec<f64>, _coins: &mut Stream) -> Vec<f64> {
        if kept.is_empty() {
            *kept = fresh(ground);
        }
        for message in messages {
            let Some((count, pairs)) = message.numbers.split_first() else { continue };
            let new = pairs.chunks_exact(2).take(*count as usize);
            new.for_each(|pair| observe(ground, kept, pair[0] as u32, pair[1]));
        }
        kept.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Shipped;

    /// Two candidates whose values are independent: what the pool knows of one is the textbook's posterior, and a draw of
    /// many is centred there.
    #[test]
    fn the_pool_is_the_posterior_of_all_observations() {
        let kernel = Shipped::find("default").unwrap().parse(&[]).unwrap().surrogate.kernel;
        let (rows, candidates) = (vec![2.0, 0.0, 0.0, 1.0], vec![0.0, 1.0]);
        let ground = Ground {
            agents: 3,
            rounds: 4,
            initial_points: 1,
            dim: 1,
            candidates,
            kernel,
            noise_variance: 0.25,
            constant: 1.0,
            rows,
            columns: 2,
        };
        let said = |agent, y: f64| Message { agent, round: 0, numbers: vec![1.0, 0.0, y] };
        let mut kept = Vec::new();
        let coins = &mut Stream::from_seed(0);
        let sent = Pool.combine(&ground, &[said(0, 2.0), said(1, 2.5), said(2, 3.0)], &mut kept, coins);
        // Prior variance 4, three observations of mean 1.5 above the constant, noise variance 1/4.
        let (precision, mean) = (1.0 / 4.0 + 3.0 / 0.25, 1.5 * (3.0 / 0.25) / (1.0 / 4.0 + 3.0 / 0.25));
        let (factor, rhs) = sent.split_at(3);
        let mut weights = rhs.to_vec();
        root::solve(factor, &mut weights);
        assert!((2.0 * weights[0] - mean).abs() < 1e-12 && weights[1] == 0.0, "{weights:?}");
        let mut row = [2.0, 0.0];
        root::solve_transposed(factor, &mut row);
        assert!((0.25 * (row[0] * row[0] + row[1] * row[1]) - 1.0 / precision).abs() < 1e-12);
        // An agent whose broadcast was lost has its own data alone, and nobody else's.
        let share = |broadcast: Option<&[f64]>| {
            let coins = &mut Stream::from_seed(7);
            let sight = Sight { ground: &ground, agent: 0, round: 1, log: &[(1, 9.0)], broadcast };
            (0..400).filter(|_| Follower.next(&sight, coins) == 1).count()
        };
        let (with, without) = (share(Some(&sent)), share(None));
        assert!(with < 200 && without > 380, "{with} {without}");
    }
}
