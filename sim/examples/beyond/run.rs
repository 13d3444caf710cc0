//! One run of a case: the parties of core, one after the other, in one loop.

use sordino_core::federated::prior::{
    Draw, Factors, Mechanism, Model, Observations, PublicState, contribution,
    contribution_scratch_len, factors_len, levels, models, mu_spent, query, query_scratch_len,
    repeats, scratch_len, shares,
};
use sordino_core::kernel::{Kernel, SquaredExponential};
use sordino_core::linalg::{lower, packed_len, sum_of_squares};
use sordino_core::privacy::accountant::analytic;
use sordino_core::random::{Party, Purpose, RunSeed, Simulated, normal};

use super::sums;
use super::world::{Case, NOISE, Outcome, POINTS, ROUNDS, World};

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Found {
    /// Regret of the best so far, mean over agents, summed over rounds 0 to T.
    pub sum: f64,
    /// The same for the agents of each of [`Case::sizes`].
    pub by_size: Vec<f64>,
    /// ε that was spent, by the exact composition of Gaussians.
    pub epsilon: f64,
}

/// One agent: what it saw, what it keeps.
struct Agent {
    function: Vec<f64>,
    optimum: f64,
    best: f64,
    log: Vec<f64>,
    /// For each kernel: rows and numbers of its factors.
    factors: Vec<(u32, Vec<f64>)>,
}

impl Agent {
    fn observe(&mut self, seed: RunSeed, n: u32, candidate: u32) {
        let mut stream = seed.stream(
            Party::Agent(n),
            Purpose::ObservationNoise,
            self.log.len() as u32 / 2,
        );
        let value = self.function[candidate as usize];
        self.log.extend([
            f64::from(candidate),
            value + NOISE.sqrt() * normal::draw::<f64>(&mut stream),
        ]);
        self.best = self.best.max(value);
    }
}

/// Numbers of observations that an agent may have.
fn capacity(case: &Case) -> usize {
    (case.sizes.iter().max().copied().unwrap_or(0) + ROUNDS) as usize
}

fn agents(world: &World, seed: RunSeed, models: &[Model<f64>]) -> Vec<Agent> {
    let case = &world.case;
    let common = world.truth.draw(seed, Party::World);
    let numbers = factors_len(capacity(case), levels(models));
    (0..case.agents)
        .map(|n| {
            let mut stream = seed.stream(Party::Agent(n), Purpose::Perturbation, 0);
            let mut function: Vec<f64> = common
                .iter()
                .map(|f| f + 0.02 * (2.0 * stream.unit::<f64>() - 1.0))
                .collect();
            if case.own > 0.0 {
                let own = world.truth.draw(seed, Party::Agent(n));
                function
                    .iter_mut()
                    .zip(own)
                    .for_each(|(f, g)| *f += case.own.sqrt() * g);
            }
            let optimum = function.iter().copied().fold(f64::MIN, f64::max);
            let factors = vec![(0, vec![0.0; numbers]); world.assumed.len()];
            let mut agent = Agent {
                function,
                optimum,
                best: f64::MIN,
                log: Vec::new(),
                factors,
            };
            let mut stream = seed.stream(Party::Agent(n), Purpose::InitialPoints, 0);
            for _ in 0..case.sizes[n as usize % case.sizes.len()] {
                agent.observe(seed, n, stream.below(POINTS as u32));
            }
            agent
        })
        .collect()
}

/// The multipliers of a plan, or what is left of 1/z² where they are chosen on the way.
struct Budget {
    planned: Vec<f64>,
    made: Vec<f64>,
    left: f64,
}

impl Budget {
    fn new(case: &Case) -> Outcome<Self> {
        let mut planned = vec![0.0; case.releases.len()];
        let Some(epsilon) = case.epsilon else {
            return Ok(Budget {
                planned,
                made: Vec::new(),
                left: 0.0,
            });
        };
        let mu = sums::mu(case, epsilon)?;
        let even = vec![1.0; planned.len()];
        shares(
            mu,
            if case.shares.is_empty() {
                &even
            } else {
                case.shares
            },
            &mut planned,
        )?;
        Ok(Budget {
            planned,
            made: Vec::new(),
            left: mu * mu,
        })
    }

    /// z of release j, at whose noise the sum of variances of sampling, `sampling`, is in the
    /// proportion asked for; nothing if nothing is left. `unit` is the noise variance of the mean
    /// at z = 1.
    fn next(&mut self, case: &Case, j: usize, sampling: f64, unit: f64) -> Option<f64> {
        let z = match case.adaptive {
            None => self.planned[j],
            Some(proportion) => (proportion * sampling / unit)
                .sqrt()
                .max(1.0 / self.left.max(1e-9).sqrt()),
        };
        if case.adaptive.is_some() && self.left < 1e-6 {
            return None;
        }
        self.left -= 1.0 / (z * z);
        self.made.push(z);
        Some(z)
    }
}

/// Runs `case` on the functions of `seed`.
pub fn run(world: &World, seed: RunSeed) -> Outcome<Found> {
    let case = &world.case;
    let config = &world.config;
    let m = config.features();
    let sharing = case.epsilon.is_some();
    let models: Vec<Model<f64>> = models(0)[..if sharing { 6 } else { 1 }].to_vec();
    let mut agents = agents(world, seed, &models);
    let mut state = world.posterior()?;
    let mut scratch = vec![0.0; scratch_len(m, config.design_len())];
    let mut budget = Budget::new(case)?;
    let rank = world
        .assumed
        .iter()
        .map(|factor| factor.rank)
        .max()
        .unwrap_or(0)
        .max(m);
    let mut work = vec![0.0; query_scratch_len(capacity(case), rank)];
    let mut weights = vec![0.0; m];
    let mut values = vec![0.0; POINTS];
    let mut found = Found {
        sum: 0.0,
        by_size: vec![0.0; case.sizes.len()],
        epsilon: 0.0,
    };
    tally(&agents, &mut found);
    for round in 0..ROUNDS {
        for (j, _) in case
            .releases
            .iter()
            .enumerate()
            .filter(|(_, at)| sharing && **at == round)
        {
            release(
                world,
                &mut state,
                &agents,
                (&mut budget, j),
                seed,
                &mut scratch,
            )?;
        }
        let public = world.public(&world.config, 0)?;
        if sharing {
            let mut stream = seed.stream(Party::World, Purpose::WeightDraw, round + 1);
            match case.mean {
                true => weights.copy_from_slice(state.weights()),
                false => state.draw(&mut stream, &mut scratch[..packed_len(m)], &mut weights)?,
            }
            Draw::values_of(&public, &weights, &mut values)?;
        }
        let draw = sharing.then_some(Draw {
            weights: &weights,
            values: &values,
        });
        for (agent, n) in agents.iter_mut().zip(0..) {
            let mut stream = seed.stream(Party::Agent(n), Purpose::OwnDraw, round + 1);
            let common = sharing.then_some(&values[..]);
            let (kernel, noise) = believed(world, &models, agent, common, stream.unit());
            let config = sums::with_noise(config, noise)?;
            let observations = Observations::new(&agent.log, POINTS)?;
            let (rows, numbers) = &mut agent.factors[kernel];
            if !case.noises.is_empty() {
                *rows = 0;
            }
            let factors = &mut Factors::new(capacity(case), rows, numbers);
            let public = world.public(&config, kernel)?;
            let next = query(
                &public,
                &models,
                draw.as_ref(),
                &observations,
                &mut stream,
                factors,
                &mut work,
            )?;
            agent.observe(seed, n, next.candidate);
        }
        tally(&agents, &mut found);
    }
    if !budget.made.is_empty() {
        let delta = f64::from(case.agents).powf(-1.1);
        found.epsilon = analytic::epsilon(1.0 / mu_spent(&budget.made), delta)?;
    }
    Ok(found)
}

/// Adds the regret of a round.
fn tally(agents: &[Agent], found: &mut Found) {
    let sizes = found.by_size.len();
    for (n, agent) in agents.iter().enumerate() {
        let regret = (agent.optimum - agent.best) / agents.len() as f64;
        found.sum += regret;
        found.by_size[n % sizes] += regret * sizes as f64;
    }
}

/// Kernel and noise variance that an agent's own data speak for, drawn by evidence summed over the
/// models.
fn believed(
    world: &World,
    models: &[Model<f64>],
    agent: &Agent,
    common: Option<&[f64]>,
    unit: f64,
) -> (usize, f64) {
    let noises = if world.case.noises.is_empty() {
        &[NOISE][..]
    } else {
        world.case.noises
    };
    let pairs: Vec<(usize, f64)> = (0..world.assumed.len())
        .flat_map(|k| noises.iter().map(move |noise| (k, *noise)))
        .collect();
    if pairs.len() == 1 {
        return pairs[0];
    }
    let seen: Vec<(usize, f64)> = agent
        .log
        .chunks(2)
        .map(|entry| (entry[0] as usize, entry[1]))
        .collect();
    let dim = world.case.dim;
    let point = |i: usize| &world.points[i * dim..(i + 1) * dim];
    let mut logs = Vec::new();
    let mut factor = vec![0.0; packed_len(seen.len())];
    for (k, noise) in &pairs {
        let kernel = SquaredExponential::new(world.assumed[*k].lengthscale, 1.0)
            .expect("a lengthscale in range");
        for Model {
            trust, variance, ..
        } in models
        {
            for (i, (x, _)) in seen.iter().enumerate() {
                for (to, (other, _)) in lower::row_mut(&mut factor, i).iter_mut().zip(&seen) {
                    *to = variance * kernel.covariance(point(*x), point(*other));
                }
                *lower::row_mut(&mut factor, i)
                    .last_mut()
                    .expect("a diagonal") += noise;
            }
            lower::factor(&mut factor, seen.len(), 0.0).expect("positive definite");
            let mean = |x: usize| common.map_or(0.0, |common| trust * common[x]);
            let mut r: Vec<f64> = seen.iter().map(|(x, y)| y - mean(*x)).collect();
            lower::solve(&factor, &mut r);
            logs.push(-0.5 * (sum_of_squares(&r) + lower::ln_det(&factor, seen.len())));
        }
    }
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let each: Vec<f64> = logs
        .chunks(models.len())
        .map(|of| of.iter().map(|x| (x - largest).exp()).sum::<f64>())
        .collect();
    let total = each.iter().sum::<f64>();
    let mut sum = 0.0;
    let chosen = each.iter().position(|weight| {
        sum += weight;
        sum > unit * total
    });
    pairs[chosen.unwrap_or(pairs.len() - 1)]
}

/// One release: terms, joint vectors, integers, noise, posterior.
fn release(
    world: &World,
    state: &mut PublicState<f64, Vec<f64>>,
    agents: &[Agent],
    (budget, j): (&mut Budget, usize),
    seed: RunSeed,
    scratch: &mut [f64],
) -> Outcome<()> {
    let case = &world.case;
    let public = world.public(&world.config, 0)?;
    let config = world.config;
    let terms = state.prepare(&public, scratch)?;
    let m = config.features();
    let n = f64::from(case.agents);
    let sampling = (0..m).map(|i| state.scatter()[i * m + i]).sum::<f64>() / (m as f64 * n);
    let sensitivity = Mechanism::new(&config, &terms, 1.0)?.l2_sensitivity();
    let Some(z) = budget.next(case, j, sampling, (sensitivity / n).powi(2)) else {
        return Ok(());
    };
    let mechanism = Mechanism::new(&config, &terms, z)?;
    let encoder = mechanism.encoder()?;
    let len = config.contribution_len();
    let mut total = vec![0i64; len];
    let mut out = vec![0.0; len];
    let stream = seed.stream(Party::Server, Purpose::Release, j as u32);
    let mut shares = sums::Shares::new(case, mechanism.grid(), stream);
    for agent in agents {
        let observations = Observations::new(&agent.log, POINTS)?;
        let mut work = vec![0.0; contribution_scratch_len(observations.len())];
        contribution(
            &public,
            &terms,
            state.weights(),
            &observations,
            &mut work,
            &mut out,
        )?;
        let mut own = vec![0i64; len];
        encoder.add(&out, &[1.0], &mut own)?;
        match case.dropouts {
            Some(_) => shares.send(&own, &mut total)?,
            None => total.iter_mut().zip(&own).for_each(|(sum, x)| *sum += x),
        }
    }
    let c = repeats(case.releases, j);
    if case.dropouts.is_some() {
        let unit = mechanism.grid().decode_unit(mechanism.l2_sensitivity())?;
        let value: Vec<f64> = shares
            .open(&total)
            .iter()
            .map(|x| *x as f64 * unit)
            .collect();
        let noise_std = mechanism.noise_std() * shares.inflation();
        return Ok(state.update(&value, noise_std, c, scratch)?);
    }
    let source = &mut Simulated::new(seed.stream(Party::Server, Purpose::Release, j as u32));
    let mut noise = vec![0i64; len];
    let pool = mechanism.grid().fill_noise(source, &mut noise)?;
    let everybody = mechanism.grid().everybody()?;
    let released = mechanism.grid().release(
        &mut total,
        everybody,
        pool,
        mechanism.l2_sensitivity(),
        &mut out,
    )?;
    Ok(state.update(released.value(), mechanism.noise_std(), c, scratch)?)
}
