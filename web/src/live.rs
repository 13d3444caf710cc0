//! What the page asks for: paired runs of two methods, some agents at a time, and what the private
//! one costs.

use sordino_core::digest::{Digest, combine};
use sordino_core::math::Scalar;
use sordino_core::privacy::accountant::{Accountant, PldAccountant};
use sordino_core::privacy::{Event, NeighboringRelation};

use crate::WebError;
use crate::federation::{Dials, Federation, LENGTHSCALE};
use crate::world::World;

/// `ts` and `dp-fts-de`.
pub const METHODS: usize = 2;

/// Sums over runs, by method and round.
struct Curve {
    /// Sum of the mean regrets, and how many runs came there.
    rounds: Vec<(f64, u32)>,
    digests: Vec<Digest>,
}

/// Simulations under one setting of the dials.
pub struct Live {
    dials: Dials,
    runs: u32,
    world: World,
    curves: [Curve; METHODS],
    /// The one under way, with its run and method.
    current: Option<(Federation, usize)>,
    /// Those that are done, over runs and then methods.
    done: u32,
    epsilons: Vec<f64>,
}

impl Live {
    /// Nothing simulated yet.
    ///
    /// **Errors**: dials out of range.
    pub fn new(dials: Dials, runs: u32) -> Result<Self, WebError> {
        let world = World::new(dials.seed, dials.agents, LENGTHSCALE)?;
        // What is out of range is refused now.
        Federation::new(&dials, 0, true, &world)?;
        let curve = || Curve {
            rounds: vec![(0.0, 0); dials.rounds as usize + 1],
            digests: Vec::new(),
        };
        Ok(Live {
            dials,
            runs,
            world,
            curves: [curve(), curve()],
            current: None,
            done: 0,
            epsilons: Vec::new(),
        })
    }

    /// The functions of all agents.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// A slice of a round of one federation, or one number of the accountant; false if nothing is
    /// left.
    ///
    /// **Errors**: a party's or the accountant's.
    pub fn step(&mut self) -> Result<bool, WebError> {
        if (self.epsilons.len() as u32) < self.dials.rounds {
            self.epsilons
                .push(self.epsilon_after(self.epsilons.len() as u32 + 1)?);
            return Ok(true);
        }
        if self.done == self.runs * METHODS as u32 {
            return Ok(false);
        }
        let run = self.done / METHODS as u32;
        let method = self.done as usize % METHODS;
        let (mut federation, round) = match self.current.take() {
            Some(current) => current,
            None => (
                Federation::new(&self.dials, run, method == 1, &self.world)?,
                0,
            ),
        };
        let Some(regret) = federation.step(&self.world)? else {
            self.current = Some((federation, round));
            return Ok(true);
        };
        let (sum, count) = &mut self.curves[method].rounds[round];
        (*sum, *count) = (*sum + regret, *count + 1);
        if federation.is_over() {
            self.curves[method].digests.push(federation.digest());
            self.done += 1;
        } else {
            self.current = Some((federation, round + 1));
        }
        Ok(true)
    }

    /// Mean regret of a method after a round, over the runs that came there; NaN if none did.
    pub fn regret(&self, method: usize, round: usize) -> f64 {
        let place = self
            .curves
            .get(method)
            .and_then(|curve| curve.rounds.get(round));
        place.map_or(f64::NAN, |(sum, count)| sum / f64::from(*count))
    }

    /// Finished runs of both methods.
    pub fn runs_done(&self) -> u32 {
        self.done / METHODS as u32
    }

    /// Digest of a method over its finished runs, as `sordino run` says it.
    pub fn digest(&self, method: usize) -> Digest {
        combine(
            self.curves
                .get(method)
                .map_or(&[][..], |curve| &curve.digests)
                .iter(),
        )
    }

    /// δ = N^−1.1, at most one half.
    pub fn delta(&self) -> f64 {
        // Not the inherent function, which is the system's.
        Scalar::pow(f64::from(self.dials.agents), -1.1).min(0.5)
    }

    /// How often the best guess whether one agent's contributions were used is right at most, after
    /// all rounds.
    ///
    /// **Errors**: the accountant's; none for dials that were accepted.
    pub fn best_guess(&self) -> Result<f64, WebError> {
        Ok(self.accountant(self.dials.rounds)?.best_guess()?)
    }

    /// ε of the first `releases` releases at δ, by privacy-loss distributions; NaN if it is not
    /// known yet.
    pub fn epsilon(&self, releases: usize) -> f64 {
        match releases {
            0 => 0.0,
            releases => self.epsilons.get(releases - 1).copied().unwrap_or(f64::NAN),
        }
    }

    fn epsilon_after(&self, releases: u32) -> Result<f64, WebError> {
        Ok(self.accountant(releases)?.epsilon(self.delta())?.epsilon)
    }

    fn accountant(&self, releases: u32) -> Result<PldAccountant, WebError> {
        let mut accountant = PldAccountant::new();
        let event = Event::PoissonSampledGaussian {
            sampling_probability: self.dials.sampling_probability,
            noise_multiplier: self.dials.noise_multiplier,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        accountant.compose(&event, releases)?;
        Ok(accountant)
    }
}
