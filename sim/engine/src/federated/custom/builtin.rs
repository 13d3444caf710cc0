//! The two extremes between which every way of sharing lies, nothing is used or everything is
//! shared; and what an agent can do without anybody.
//!
//! **`alone`**: every agent asks core's plain [`Optimizer`], over the scenario's candidates. It
//! knows what its inputs are and its own values: scale, lengthscales and noise are fitted to these,
//! and no constant of the scenario is used. What sharing is worth is told against it, so it asks
//! what a site of a `campaign` asks that has no file: the same coordinates, the same seed, the same
//! number of points before the model is asked.
//!
//! **`random`**: every agent draws its queries uniformly from the candidates. Nothing leaves it.
//!
//! **`pooled`**: every observation of every agent goes to one place, which keeps one posterior of
//! one function; every agent follows its own draw from that posterior. Nobody is protected. If all
//! agents have the same function, this is Thompson sampling with N observations a round, and no
//! method that shares less can know more. If their functions differ, the method assumes that they
//! do not, and may lose to agents that share nothing.
//!
//! **Equation**: f = φ·w, w ~ N(0, I), y − c₀ = f(x) + N(0, σ²), over the rows φ of [`Ground`]. Σ =
//! σ²I + Σᵢφᵢφᵢᵀ = RᵀR and Rᵀc = Σᵢφᵢ(yᵢ − c₀) are carried by rotations; a draw is w = R⁻¹(c + σz).
//! With joint draws the rows are the factor of the prior, and this is the exact posterior up to
//! `surrogate.prior_tolerance`; elsewhere, the public features' posterior.
//!
//! **Cost**: with K numbers in a row, 3K² flops per observation at the server; a draw takes K²,
//! plus K per candidate. An exact posterior of n observations would take n³, and one over all
//! candidates their number squared per observation.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sordino_core::domain::BoxDomain;
use sordino_core::linalg::{dot, packed_len, root};
use sordino_core::math::Scalar;
use sordino_core::optimizer::{self, CANDIDATES_MAX, Optimizer, OptimizerError, Settings};
use sordino_core::random::{RunSeed, Stream, normal};
use sordino_experiment::scenario::method::{Kind, Method};
use sordino_host::campaign::search_seed;
use sordino_host::search::scramble;

use super::{Aggregator, Chooser, Custom, Ground, Message, Searched, Sight};

/// The parties of a shipped method of this form; `None` for all others.
pub fn of(method: Method) -> Option<Custom> {
    match method.parts().kind {
        Kind::Random => Some(Custom::alone("random, version 1", Uniform)),
        Kind::Pooled => Some(Custom::with_server("pooled, version 1", Follower, Pool)),
        Kind::Optimizer => Some(Custom::alone("alone, version 2", Solo::default())),
        Kind::Alone | Kind::Draws | Kind::Prior | Kind::Vote | Kind::Campaign | Kind::Custom => {
            None
        }
    }
}

/// The optimizer of one agent.
type Searcher = Optimizer<f64, Vec<f64>>;

/// Kept optimizers have at most this many numbers together; the others are made again from their
/// logs, with the same bits.
const KEPT_MAX: usize = 1 << 24;

/// Rows that a searcher has room for: all of a run.
fn room(ground: &Ground) -> usize {
    (ground.initial_points + ground.rounds).max(1) as usize
}

/// Whether the searchers of all agents are kept.
fn all_fit(dim: usize, ground: &Ground) -> bool {
    let numbers = optimizer::storage_len(dim, room(ground)).saturating_mul(ground.agents as usize);
    numbers <= KEPT_MAX
}

/// How many observations an optimizer was told, with those that it refused.
fn known(searcher: &Searcher) -> usize {
    (searcher.told() + searcher.refused()) as usize
}

/// Asks core's optimizer.
#[derive(Default)]
struct Solo {
    kept: Mutex<BTreeMap<u32, Searcher>>,
}

impl Solo {
    /// The optimizer of an agent that was told its log: the one that was kept, and what came since,
    /// or a new one.
    fn searcher(&self, sight: &Sight<'_>, searched: &Searched) -> Result<Searcher, OptimizerError> {
        let Sight {
            ground, agent, log, ..
        } = *sight;
        let kept = self
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&agent);
        let mut searcher = match kept.filter(|searcher| known(searcher) <= log.len()) {
            Some(searcher) => searcher,
            None => {
                let Searched {
                    inputs, dim, seed, ..
                } = *searched;
                let room = room(ground);
                let settings = Settings {
                    seed: scramble(search_seed(seed, agent)),
                    ..Settings::of_parameters(inputs, ground.initial_points)
                };
                let storage = vec![0.0; optimizer::storage_len(dim, room)];
                Optimizer::new(
                    BoxDomain::new(&vec![(0.0, 1.0); dim])?,
                    settings,
                    room,
                    storage,
                )?
            }
        };
        for (candidate, y) in &log[known(&searcher)..] {
            // One that is refused (its square overflows, say) is counted and left out.
            let _refused = searcher.observe(searched.point(*candidate), *y).is_err();
        }
        Ok(searcher)
    }

    /// The best candidate, of lists as long as the optimizer takes them, then of the best of each.
    fn best(searcher: &mut Searcher, searched: &Searched) -> Result<u32, OptimizerError> {
        let mut finalists = Vec::new();
        for (list, first) in searched
            .coordinates
            .chunks(CANDIDATES_MAX * searched.dim)
            .zip((0..).step_by(CANDIDATES_MAX))
        {
            finalists.push(first + searcher.suggest_among(list)? as u32);
        }
        if let [only] = finalists[..] {
            return Ok(only);
        }
        let points: Vec<f64> = finalists
            .iter()
            .flat_map(|candidate| searched.point(*candidate))
            .copied()
            .collect();
        Ok(finalists[searcher.suggest_among(&points)?])
    }
}

impl Chooser for Solo {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        let ground = sight.ground;
        let boxed;
        let searched = match &ground.searched {
            Some(searched) => searched,
            None => {
                let seed = RunSeed::new(0, 0);
                boxed = Searched::boxed(&ground.candidates, ground.dim, seed);
                &boxed
            }
        };
        let chosen = self.searcher(sight, searched).and_then(|mut searcher| {
            let chosen = Solo::best(&mut searcher, searched)?;
            if all_fit(searched.dim, ground) {
                self.kept
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(sight.agent, searcher);
            }
            Ok(chosen)
        });
        // A model that cannot be computed knows nothing: the agent goes on by chance.
        chosen.unwrap_or_else(|_| coins.below(ground.count()))
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
    root::rotate_in(
        factor,
        rhs,
        &mut ground.row(candidate).to_vec(),
        y - ground.constant,
    );
}

/// The best candidate of a draw from the posterior of the agent's own data, as `ts` draws it.
pub fn own_draw(sight: &Sight<'_>, coins: &mut Stream) -> u32 {
    let mut own = fresh(sight.ground);
    sight
        .log
        .iter()
        .for_each(|(candidate, y)| observe(sight.ground, &mut own, *candidate, *y));
    drawn(sight.ground, &own, coins)
}

/// The best candidate of a draw from a posterior.
fn drawn(ground: &Ground, posterior: &[f64], coins: &mut Stream) -> u32 {
    let (factor, rhs) = posterior.split_at(packed_len(ground.columns));
    let noise_std = Scalar::sqrt(ground.noise_variance);
    let mut weights = vec![0.0; ground.columns];
    normal::fill(coins, &mut weights);
    weights
        .iter_mut()
        .zip(rhs)
        .for_each(|(z, c)| *z = c + noise_std * *z);
    root::solve(factor, &mut weights);
    largest(ground, &weights)
}

/// The candidate of the largest φ·w, the first of equals.
pub fn largest(ground: &Ground, weights: &[f64]) -> u32 {
    let values = ground
        .rows
        .chunks_exact(ground.columns)
        .map(|row| dot(row, weights));
    let mut best = (0, f64::NEG_INFINITY);
    for (i, value) in (0..).zip(values) {
        if value > best.1 {
            best = (i, value);
        }
    }
    best.0
}

/// Follows a draw from the pooled posterior, or from the posterior of its own data if no pooled one
/// arrived.
struct Follower;

impl Chooser for Follower {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        match sight.broadcast {
            Some(posterior) => drawn(sight.ground, posterior, coins),
            None => own_draw(sight, coins),
        }
    }

    /// The number of new observations, then the observations themselves: those of this round.
    fn message(&self, sight: &Sight<'_>, _coins: &mut Stream) -> Vec<f64> {
        let count = if sight.round == 0 {
            sight.ground.initial_points as usize
        } else {
            1
        };
        let new = &sight.log[sight.log.len().saturating_sub(count)..];
        let mut message = vec![new.len() as f64];
        message.extend(
            new.iter()
                .flat_map(|(candidate, y)| [f64::from(*candidate), *y]),
        );
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

    fn combine(
        &self,
        ground: &Ground,
        messages: &[Message],
        kept: &mut Vec<f64>,
        _coins: &mut Stream,
    ) -> Vec<f64> {
        if kept.is_empty() {
            *kept = fresh(ground);
        }
        for message in messages {
            let Some((count, pairs)) = message.numbers.split_first() else {
                continue;
            };
            let new = pairs.chunks_exact(2).take(*count as usize);
            new.for_each(|pair| observe(ground, kept, pair[0] as u32, pair[1]));
        }
        kept.clone()
    }
}

#[cfg(test)]
mod tests {
    use sordino_experiment::scenario::Shipped;

    use super::*;

    /// Two candidates whose values are independent: what the pool knows of one is the textbook's
    /// posterior, and a draw of many is centred there.
    #[test]
    fn the_pool_is_the_posterior_of_all_observations() {
        let kernel = Shipped::find("default")
            .unwrap()
            .parse(&[])
            .unwrap()
            .surrogate
            .kernel;
        let rows = vec![2.0, 0.0, 0.0, 1.0];
        let candidates = vec![0.0, 1.0];
        let ground = Ground {
            agents: 3,
            rounds: 4,
            initial_points: 1,
            dim: 1,
            searched: Some(Searched::boxed(&candidates, 1, RunSeed::new(0, 0))),
            candidates,
            kernel,
            noise_variance: 0.25,
            constant: 1.0,
            rows,
            columns: 2,
        };
        let said = |agent, y: f64| Message {
            agent,
            round: 0,
            numbers: vec![1.0, 0.0, y],
        };
        let mut kept = Vec::new();
        let coins = &mut Stream::from_seed(0);
        let sent = Pool.combine(
            &ground,
            &[said(0, 2.0), said(1, 2.5), said(2, 3.0)],
            &mut kept,
            coins,
        );
        // Prior variance 4, three observations of mean 1.5 above the constant, noise variance 1/4.
        let precision = 1.0 / 4.0 + 3.0 / 0.25;
        let mean = 1.5 * (3.0 / 0.25) / (1.0 / 4.0 + 3.0 / 0.25);
        let (factor, rhs) = sent.split_at(3);
        let mut weights = rhs.to_vec();
        root::solve(factor, &mut weights);
        assert!(
            (2.0 * weights[0] - mean).abs() < 1e-12 && weights[1] == 0.0,
            "{weights:?}"
        );
        let mut row = [2.0, 0.0];
        root::solve_transposed(factor, &mut row);
        assert!((0.25 * (row[0] * row[0] + row[1] * row[1]) - 1.0 / precision).abs() < 1e-12);
        // An agent whose broadcast was lost has its own data alone, and nobody else's.
        let share = |broadcast: Option<&[f64]>| {
            let coins = &mut Stream::from_seed(7);
            let sight = Sight {
                ground: &ground,
                agent: 0,
                round: 1,
                log: &[(1, 9.0)],
                broadcast,
            };
            (0..400)
                .filter(|_| Follower.next(&sight, coins) == 1)
                .count()
        };
        let with = share(Some(&sent));
        let without = share(None);
        assert!(with < 200 && without > 380, "{with} {without}");
    }

    /// What an agent alone asks depends on its log, not on whether its optimizer was kept; and it
    /// finds the best of a wave that it knows nothing of beforehand.
    #[test]
    fn alone_is_a_function_of_the_log_and_finds_the_best() {
        let kernel = Shipped::find("default")
            .unwrap()
            .parse(&[])
            .unwrap()
            .surrogate
            .kernel;
        let candidates: Vec<f64> = (0..101).map(|i| f64::from(i) / 100.0).collect();
        let rounds = 16;
        // Constants that are wrong by far: they are not used.
        let ground = Ground {
            agents: 2,
            rounds,
            initial_points: 2,
            dim: 1,
            searched: Some(Searched::boxed(&candidates, 1, RunSeed::new(0, 0))),
            candidates,
            kernel,
            noise_variance: 1e6,
            constant: -1e9,
            rows: vec![0.0; 101],
            columns: 1,
        };
        let value = |candidate: u32| {
            let x = f64::from(candidate) / 100.0;
            500.0 + 70.0 * (Scalar::sin(7.0 * x) + 0.6 * x)
        };
        let best = (0..101).map(value).fold(f64::NEG_INFINITY, f64::max);
        let kept = Solo::default();
        let mut log = vec![(3, value(3)), (97, value(97))];
        for round in 1..=rounds {
            let sight = Sight {
                ground: &ground,
                agent: 1,
                round,
                log: &log,
                broadcast: None,
            };
            let asked = kept.next(&sight, &mut Stream::from_seed(u64::from(round)));
            assert_eq!(
                asked,
                Solo::default().next(&sight, &mut Stream::from_seed(0)),
                "round {round}"
            );
            log.push((asked, value(asked)));
        }
        let found = log
            .iter()
            .map(|(_, y)| *y)
            .fold(f64::NEG_INFINITY, f64::max);
        assert!(best - found < 0.5, "{found} {best}");
        assert!(
            log.iter().all(|(candidate, _)| log
                .iter()
                .filter(|(other, _)| other == candidate)
                .count()
                == 1)
        );
    }
}
