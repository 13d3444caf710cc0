//! What all parties of the federation agree on. Yours comes from those who run the server.

use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::{Aggregation, Config, InitialRegion, OwnDraw, Parameters, Public, Signal, Sizes};
use sordino_core::kernel::Stationary;
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier};
use sordino_core::schedule::{Mixing, WeightConcentration};
use sordino_core::wire::{ScalarTag, frame_len_max};

/// M, shared features.
pub const FEATURES: usize = 32;
/// P, sub-regions.
pub const REGIONS: usize = 2;
const INITIAL: u32 = 3;
const ROUNDS: u32 = 6;

/// Memory of the agent, known when the program is compiled.
pub const SIZES: Sizes = Sizes::new(2, FEATURES, (INITIAL + ROUNDS) as usize);
/// Numbers of the features, drawn once a boot from the public seed.
pub const FEATURES_LEN: usize = random_fourier::storage_len(2, FEATURES);
/// Bytes of the longest frame in either direction.
pub const FRAME: usize = frame_len_max(ScalarTag::F32, FEATURES * REGIONS);

/// The configuration; it is checked here, and its digest is what the flash and the frames carry.
pub fn config() -> Config {
    let parameters = Parameters {
        agents: 20,
        regions: Regions::new(&[2, 1]).expect("two regions"),
        rounds: ROUNDS,
        initial_points: INITIAL,
        initial_region: InitialRegion::Own,
        feature_count: FEATURES as u32,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        concentration: WeightConcentration::PAPER,
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(8.8).expect("1.1 sqrt(M P)"),
            sampling_probability: 0.25,
            noise_multiplier: NoiseMultiplier::new(1.0).expect("positive"),
            grid_exponent: 20,
            signal: Signal::Vectors,
        },
    };
    Config::new(parameters).expect("constants in range")
}

/// The public context over numbers that were drawn from the public seed.
pub fn public<'a>(config: &'a Config, numbers: &'a mut [f32; FEATURES_LEN]) -> Public<'a, f32> {
    let kernel = Stationary::SquaredExponential;
    random_fourier::draw(7, 0, kernel, &[0.2], 2, FEATURES, &mut numbers[..]).expect("constants in range");
    let features = RandomFourier::new(2, FEATURES, 1.0, true, &numbers[..]).expect("as many as were drawn");
    Public::streamed(config, Candidates::grid(16, 2).expect("a grid"), features).expect("what fits the configuration")
}
