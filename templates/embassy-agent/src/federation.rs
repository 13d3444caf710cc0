//! What the numbers of [`config`](crate::config) mean to core: the agreement, and the memory that it takes.

use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::{Aggregation, Config, Parameters, Public, Sizes};
use sordino_core::kernel::Stationary;

use crate::config::*;

/// Memory of the agent, known when the program is compiled.
pub const SIZES: Sizes = Sizes::new(DIM, FEATURES, (INITIAL + ROUNDS) as usize);
/// Numbers of the features, drawn once a boot from the public seed.
pub const FEATURES_LEN: usize = random_fourier::storage_len(DIM, FEATURES);

/// The configuration; it is checked here, and its digest is what the flash and the frames carry. What is not in
/// [`config`](crate::config) has the constants of the paper, [`Parameters::usual`].
pub fn config() -> Config {
    let private = Aggregation::private(CLIPPING_NORM, SAMPLING_PROBABILITY, NOISE_MULTIPLIER).expect("in range");
    let usual = Parameters::usual(AGENTS, Regions::new(&SPLITS).expect("regions"), ROUNDS, FEATURES as u32, private);
    Config::new(Parameters { initial_points: INITIAL, ..usual }).expect("constants in range")
}

/// The public context over numbers that were drawn from the public seed.
pub fn public<'a>(config: &'a Config, numbers: &'a mut [f32; FEATURES_LEN]) -> Public<'a, f32> {
    let kernel = Stationary::SquaredExponential;
    random_fourier::draw(FEATURE_SEED, 0, kernel, &[LENGTHSCALE], DIM, FEATURES, &mut numbers[..]).expect("in range");
    let features = RandomFourier::new(DIM, FEATURES, 1.0, true, &numbers[..]).expect("as many as were drawn");
    let candidates = Candidates::grid(POINTS_PER_AXIS, DIM).expect("a grid");
    Public::streamed(config, candidates, features).expect("what fits the configuration")
}
