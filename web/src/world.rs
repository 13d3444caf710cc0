//! Who answers queries: a common function, drawn from a seed, and a small difference for each
//! agent.

use sordino_core::features::random_fourier::{self, RandomFourier};
use sordino_core::kernel::Stationary;
use sordino_core::random::{Party, Purpose, RunSeed, normal};

use crate::WebError;

/// Candidates, from 0 to 1.
pub const CANDIDATES: u32 = 101;
/// Variance of an observation's noise.
pub const NOISE_VARIANCE: f64 = 0.01;
/// An agent's function differs by at most this much at every candidate.
const DIFFERENCE: f64 = 0.02;
/// Features of which the common function is a draw: the kernel of the federation, more of them.
const FEATURES: usize = 128;

/// Values of all agents at all candidates.
pub struct World {
    points: Vec<f64>,
    values: Vec<f64>,
}

impl World {
    /// The functions of `agents` agents under this seed. More agents leave the others' functions as
    /// they are.
    ///
    /// **Errors**: none for agents from 1; core's for a kernel that is none.
    pub fn new(seed: u64, agents: u32, lengthscale: f64) -> Result<Self, WebError> {
        let run = RunSeed::new(seed, 0);
        let points: Vec<f64> = (0..CANDIDATES)
            .map(|i| f64::from(i) / f64::from(CANDIDATES - 1))
            .collect();
        let mut storage = vec![0.0; random_fourier::storage_len(1, FEATURES)];
        random_fourier::draw(
            seed,
            0,
            Stationary::SquaredExponential,
            &[lengthscale],
            1,
            FEATURES,
            &mut storage,
        )?;
        let map = RandomFourier::new(1, FEATURES, 1.0, false, &storage[..])?;
        let mut weights = [0.0; FEATURES];
        let stream = &mut run.stream(Party::World, Purpose::Objective, 0);
        weights
            .iter_mut()
            .for_each(|weight| *weight = normal::draw::<f64>(stream));
        let mut row = [0.0; FEATURES];
        let common: Vec<f64> = points
            .iter()
            .map(|x| {
                map.features(&[*x], &mut row);
                row.iter()
                    .zip(&weights)
                    .map(|(feature, weight)| feature * weight)
                    .sum()
            })
            .collect();
        let mut values = Vec::with_capacity(common.len() * agents as usize);
        for agent in 0..agents {
            let mut stream = run.stream(Party::Agent(agent), Purpose::Perturbation, 0);
            values.extend(
                common
                    .iter()
                    .map(|value| value + DIFFERENCE * (2.0 * stream.unit::<f64>() - 1.0)),
            );
        }
        Ok(World { points, values })
    }

    /// The candidates.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// The noise-free values of an agent.
    pub fn of(&self, agent: u32) -> &[f64] {
        let count = self.points.len();
        self.values
            .chunks_exact(count)
            .nth(agent as usize)
            .unwrap_or(&[])
    }

    /// What an agent sees in its observation number `number`.
    pub fn observe(&self, run: RunSeed, agent: u32, candidate: u32, number: u32) -> f64 {
        let mut stream = run.stream(Party::Agent(agent), Purpose::ObservationNoise, number);
        self.of(agent)[candidate as usize]
            + NOISE_VARIANCE.sqrt() * normal::draw::<f64>(&mut stream)
    }
}
