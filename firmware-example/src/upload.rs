//! One upload to a server, with the sender in the secret sample and outside it: what both must cost
//! alike.
//!
//! The count is the caller's: the device reads a timer that ticks with instructions, the host runs
//! under callgrind (`tests/tests/it/upload_work.rs`).

use core::hint::black_box;

use sordino_core::domain::Regions;
use sordino_core::federated::{
    Aggregation, Config, InitialRegion, OwnDraw, Parameters, Server, ServerInput, ServerState,
    ServerStorage, Signal,
};
use sordino_core::math::Scalar;
use sordino_core::privacy::{ClippingNorm, NoiseMultiplier, SamplingProbability};
use sordino_core::random::{Simulated, Stream};
use sordino_core::schedule::{Mixing, WeightConcentration};

/// Regions P: blocks of the sum.
pub const REGIONS: usize = 2;

/// The agent whose upload is measured; another one is enrolled beside it.
const AGENT: u32 = 0;
/// Bound on the norm of an upload times √P.
const CLIPPING_NORM: f64 = 6.0;
/// Sampling probability.
const HALF: f64 = 0.5;
/// Seeds that are tried for a coin of probability one half; all may fail once in 2⁶⁴ runs of the
/// tests.
const SEEDS: u64 = 64;

/// What is special about the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Shorter than the clipping radius.
    Short,
    /// Longer: it is clipped.
    Long,
    /// One entry is NaN: the vector counts as zero.
    NotANumber,
    /// One entry is infinite: the vector counts as zero.
    Infinite,
}

/// All kinds, in the order of the table.
pub const KINDS: [Kind; 4] = [Kind::Short, Kind::Long, Kind::NotANumber, Kind::Infinite];

/// What takes the upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The server of core.
    Server,
    /// **Negative control**: a server before which agents outside the sample are sent away.
    Leaky,
}

/// Why there was nothing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadError {
    /// The configuration, the storage or the upload was refused.
    Refused,
    /// No seed gave the coin that was asked for.
    Coin,
}

/// Numbers of the server and of the upload, all borrowed.
#[derive(Debug)]
pub struct Storage<'a, T> {
    /// Integer sums, [`REGIONS`] times the features.
    pub sums: &'a mut [i64],
    /// Integer noise, as long as the sums.
    pub noise: &'a mut [i64],
    /// The broadcast, as long as the sums.
    pub broadcast: &'a mut [T],
    /// The upload: as many numbers as features.
    pub vector: &'a mut [T],
}

/// Equal to within a thousandth of the larger: what the counts of selected and other uploads must
/// be.
pub fn alike(a: u32, b: u32) -> bool {
    u64::from(a.abs_diff(b)) * 1000 <= u64::from(a.max(b))
}

/// Opens a server with agent 0 in the secret sample or outside it and hands `measure` the one call
/// in which it takes agent 0's upload; `seed` goes on to the next coin, so that calls differ.
///
/// **Errors**: [`UploadError`].
pub fn once<T: Scalar>(
    way: Way,
    kind: Kind,
    selected: bool,
    seed: &mut u64,
    storage: &mut Storage<'_, T>,
    measure: impl FnOnce(&mut dyn FnMut()),
) -> Result<(), UploadError> {
    fill(kind, storage.vector);
    let config = config(storage.vector.len()).ok_or(UploadError::Refused)?;
    for _ in 0..SEEDS {
        *seed += 1;
        let mut source = Simulated::new(Stream::from_seed(*seed));
        let mut state = ServerState::new();
        let mut flags = [0; 2];
        let numbers = ServerStorage {
            sums: &mut *storage.sums,
            noise: &mut *storage.noise,
            flags: &mut flags,
            vectors: &mut *storage.broadcast,
        };
        let mut server =
            Server::attach(&config, &mut state, numbers).map_err(|_| UploadError::Refused)?;
        server
            .handle(ServerInput::Open, &mut source)
            .map_err(|_| UploadError::Refused)?;
        // A simulated sample can be foretold: agent 0's coin is the first word of the stream.
        let half = SamplingProbability::new(HALF).map_err(|_| UploadError::Refused)?;
        let coin = half
            .coin(&mut Simulated::new(Stream::from_seed(*seed)))
            .map_err(|_| UploadError::Refused)?;
        if coin != selected {
            continue;
        }
        let mut taken = false;
        measure(&mut || {
            if way == Way::Leaky && !coin {
                taken = true;
                return;
            }
            let upload = ServerInput::Upload {
                agent: AGENT,
                broadcast: 0,
                vector: black_box(&*storage.vector),
            };
            taken = server.handle(upload, &mut source).is_ok();
        });
        return if taken {
            Ok(())
        } else {
            Err(UploadError::Refused)
        };
    }
    Err(UploadError::Coin)
}

/// A wave of half the clipping radius, or of twice that; entry 1 is what makes the vector special.
fn fill<T: Scalar>(kind: Kind, vector: &mut [T]) {
    let radius = CLIPPING_NORM / Scalar::sqrt((REGIONS * vector.len()) as f64);
    let size = if kind == Kind::Long { 2.0 } else { 0.5 };
    for (i, x) in vector.iter_mut().enumerate() {
        *x = T::from_f64(Scalar::cos(i as f64 + 0.3) * size * core::f64::consts::SQRT_2 * radius);
    }
    let special = match kind {
        Kind::Short | Kind::Long => return,
        Kind::NotANumber => f64::NAN,
        Kind::Infinite => f64::INFINITY,
    };
    vector
        .iter_mut()
        .skip(1)
        .take(1)
        .for_each(|x| *x = T::from_f64(special));
}

fn config(features: usize) -> Option<Config> {
    let parameters = Parameters {
        agents: 2,
        regions: Regions::new(&[REGIONS as u32]).ok()?,
        rounds: 1,
        initial_points: 1,
        initial_region: InitialRegion::Own,
        feature_count: features as u32,
        regularization: 0.01,
        noise_variance: 0.01,
        offset: 0.0,
        mixing: Mixing::InverseSqrt,
        own_draw: OwnDraw::Features,
        concentration: WeightConcentration {
            start: 1.0,
            hold: 1,
            decay: 0,
        },
        aggregation: Aggregation::Private {
            clipping_norm: ClippingNorm::new(CLIPPING_NORM).ok()?,
            sampling_probability: HALF,
            noise_multiplier: NoiseMultiplier::new(1.0).ok()?,
            grid_exponent: 16,
            signal: Signal::Vectors,
        },
    };
    Config::new(parameters).ok()
}
