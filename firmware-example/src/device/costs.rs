//! What an operation costs on this core, in single precision: instructions, stack, storage. Bounds are asserted.

use core::fmt::Write;
use core::hint::black_box;

use firmware_example::federation;
use sordino_core::acquisition::thompson;
use sordino_core::digest::Frame;
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::Input;
use sordino_core::kernel::{Kernel, KernelError, Matern52, SquaredExponential, Stationary};
use sordino_core::linalg::root;
use sordino_core::privacy::SamplingProbability;
use sordino_core::privacy::mechanism::gaussian::GridGaussian;
use sordino_core::random::exact::Bits;
use sordino_core::random::{Simulated, Stream, normal};
use sordino_core::surrogate::exact::{self, ExactGp};
use sordino_core::surrogate::weights::{self, WeightPosterior};

use super::hardware;
use super::memory::Memory;

/// Input dimension and feature count of all measurements.
const DIM: usize = 2;
const M: usize = 64;
/// Numbers of the scripted agent, its features and a broadcast.
const AGENT: usize = 4096;
/// Most observations of the exact posterior.
const CAPACITY: usize = 64;

/// What is being measured.
enum Mode {
    Instructions,
    Stack,
}

/// Measures the one call that an operation hands it, after the operation has prepared everything else.
pub struct Probe {
    mode: Mode,
    result: u32,
}

impl Probe {
    fn measure(&mut self, mut work: impl FnMut()) {
        self.result = match self.mode {
            Mode::Instructions => hardware::instructions(&mut work),
            Mode::Stack => hardware::stack(&mut work),
        };
    }
}

/// One operation and its bounds.
pub struct Entry {
    name: &'static str,
    /// Instructions on a Cortex-M4F; other cores are measured without a bound.
    instructions_max: u32,
    /// Bytes of stack, on every core.
    stack_max: u32,
    /// Bytes of storage that the operation's object takes from the caller.
    storage: usize,
    run: fn(&mut Memory, &mut Probe),
}

/// The image may be built with one operation alone, or with none: the difference is what it takes of flash.
pub const ONLY: Option<&str> = option_env!("SORDINO_ONLY");

const fn entry(
    name: &'static str,
    instructions_max: u32,
    stack_max: u32,
    numbers: usize,
    run: fn(&mut Memory, &mut Probe),
) -> Entry {
    let chosen = match ONLY {
        None => true,
        Some(only) => equal(only.as_bytes(), name.as_bytes()),
    };
    Entry { name, instructions_max, stack_max, storage: 4 * numbers, run: if chosen { run } else { |_, _| {} } }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Everything that is measured, from the bottom up.
pub const TABLE: &[Entry] = &[
    entry("digest of 64 numbers", 16_000, 1024, 0, digest),
    entry("64 normal draws", 13_000, 1024, 0, normals),
    entry("one exact normal draw (Karney, m = 16)", 1_500, 1024, 0, karney),
    entry("64 features, D = 2", 10_000, 1024, random_fourier::storage_len(DIM, M), features),
    entry("Thompson maximum over 64 candidates, M = 64", 600_000, 1024, DIM + M, maximum),
    entry("exact SE: observation 16", 4_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        observe(memory, probe, smooth(), 16);
    }),
    entry("exact SE: prediction at 16", 4_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        predict(memory, probe, smooth(), 16);
    }),
    entry("exact SE: observation 32", 8_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        observe(memory, probe, smooth(), 32);
    }),
    entry("exact SE: prediction at 32", 8_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        predict(memory, probe, smooth(), 32);
    }),
    entry("exact SE: observation 64", 20_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        observe(memory, probe, smooth(), 64);
    }),
    entry("exact SE: prediction at 64", 20_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        predict(memory, probe, smooth(), 64);
    }),
    entry("exact Matérn 5/2: observation 16", 5_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        observe(memory, probe, rough(), 16);
    }),
    entry("exact Matérn 5/2: prediction at 16", 5_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        predict(memory, probe, rough(), 16);
    }),
    entry("exact Matérn 5/2: observation 32", 10_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        observe(memory, probe, rough(), 32);
    }),
    entry("exact Matérn 5/2: prediction at 32", 10_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        predict(memory, probe, rough(), 32);
    }),
    entry("exact Matérn 5/2: observation 64", 24_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        observe(memory, probe, rough(), 64);
    }),
    entry("exact Matérn 5/2: prediction at 64", 24_000, 1024, exact::storage_len(DIM, CAPACITY), |memory, probe| {
        predict(memory, probe, rough(), 64);
    }),
    entry("weights M = 64: observation 16, dual", 17_000, 1024, weights::storage_len(M), dual_update),
    entry("weights M = 64: draw at 16, dual", 33_000, 1024, weights::storage_len(M), dual_draw),
    entry("weights M = 64: rotation alone", 33_000, 1024, weights::storage_len(M), rotation),
    entry("weights M = 64: observation 40, primal", 60_000, 1024, weights::storage_len(M), primal_update),
    entry("weights M = 64: draw at 40, primal", 60_000, 1024, weights::storage_len(M), primal_draw),
    entry("federated agent, M = 64: broadcast to query", 600_000, 1024, AGENT, agent_query),
    entry("federated agent, M = 64: observation 34 to upload", 80_000, 1024, AGENT, agent_upload),
    entry("the whole scripted federation, 7 rounds", 7_500_000, 3072, AGENT, federation),
    entry("clip and encode 64 numbers into 2 blocks", 140_000, 1024, 4 * M, encode),
];

/// Prints the table and returns how many bounds were exceeded.
pub fn print(out: &mut impl Write, memory: &mut Memory) -> u32 {
    let bounded = cfg!(target_abi = "eabihf");
    let mut exceeded = 0;
    let _ = writeln!(out, "--- costs\n| operation | instructions | at most | stack B | at most | storage B |");
    for entry in TABLE {
        let mut measure = |mode| {
            let mut probe = Probe { mode, result: u32::MAX };
            (entry.run)(memory, &mut probe);
            probe.result
        };
        let (instructions, stack) = (measure(Mode::Instructions), measure(Mode::Stack));
        let Entry { name, instructions_max, stack_max, storage, .. } = *entry;
        let _ = write!(out, "| {name} | {instructions} | ");
        let _ = if bounded { write!(out, "{instructions_max}") } else { write!(out, "–") };
        let over = (bounded && instructions > instructions_max) || stack > stack_max;
        let _ = writeln!(out, " | {stack} | {stack_max} | {storage} |{}", if over { " EXCEEDED" } else { "" });
        exceeded += u32::from(over);
    }
    let _ = writeln!(out, "---");
    exceeded
}

fn digest(memory: &mut Memory, probe: &mut Probe) {
    let values = &memory.vectors[..64];
    probe.measure(|| {
        let mut frame = Frame::leaf();
        frame.scalars(black_box(values));
        black_box(frame.end());
    });
}

fn normals(memory: &mut Memory, probe: &mut Probe) {
    let mut stream = Stream::from_seed(1);
    probe.measure(|| normal::fill(&mut stream, black_box(&mut memory.vectors[..64])));
}

fn karney(_: &mut Memory, probe: &mut Probe) {
    // The cost varies from draw to draw: the mean of 64.
    let mut source = Simulated::new(Stream::from_seed(2));
    let mut bits = Bits::new(&mut source);
    probe.measure(|| {
        for _ in 0..64 {
            let _ = black_box(bits.normal_floor(16));
        }
    });
    if matches!(probe.mode, Mode::Instructions) {
        probe.result /= 64;
    }
}

/// The shared features in `storage`.
fn map(storage: &mut [f32]) -> Option<RandomFourier<f32, &[f32]>> {
    let storage = &mut storage[..random_fourier::storage_len(DIM, M)];
    random_fourier::draw(1, 0, Stationary::SquaredExponential, &[0.2], DIM, M, storage).ok()?;
    RandomFourier::new(DIM, M, 1.0, true, &*storage).ok()
}

fn features(memory: &mut Memory, probe: &mut Probe) {
    let Some(map) = map(&mut memory.features) else { return };
    probe.measure(|| map.features(black_box(&[0.3, 0.6]), black_box(&mut memory.vectors[..M])));
}

fn maximum(memory: &mut Memory, probe: &mut Probe) {
    let Some(map) = map(&mut memory.features) else { return };
    let (Ok(candidates), Ok(whole)) = (Candidates::grid(8, DIM), Regions::whole(DIM)) else { return };
    let (weights, scratch) = memory.vectors.split_at_mut(M);
    normal::fill(&mut Stream::from_seed(3), weights);
    probe.measure(|| {
        let scratch = &mut scratch[..DIM + M];
        black_box(thompson::maximize_streamed(&candidates, &map, &whole, black_box(weights), scratch));
    });
}

fn smooth() -> Result<SquaredExponential<f32>, KernelError> {
    SquaredExponential::new(0.2, 1.0)
}

fn rough() -> Result<Matern52<f32>, KernelError> {
    Matern52::new(0.2, 1.0)
}

/// Point i of a fixed sequence that fills the square.
fn point(i: usize) -> [f32; DIM] {
    let i = i as f32;
    [i * 0.137 % 1.0, i * 0.291 % 1.0]
}

/// An exact posterior over `count` points, then `measured` with it.
fn exact_at<K: Kernel<f32>>(
    memory: &mut Memory,
    kernel: Result<K, KernelError>,
    count: usize,
    measured: impl FnOnce(&mut ExactGp<f32, K, &mut [f32]>),
) {
    let Ok(kernel) = kernel else { return };
    let Ok(mut gp) = ExactGp::new(kernel, 0.01, DIM, CAPACITY, &mut memory.numbers[..]) else { return };
    if (0..count).all(|i| gp.observe(&point(i), 0.5).is_ok()) && gp.len() == count {
        measured(&mut gp);
    }
}

/// The `n`th observation.
fn observe<K: Kernel<f32>>(memory: &mut Memory, probe: &mut Probe, kernel: Result<K, KernelError>, n: usize) {
    exact_at(memory, kernel, n - 1, |gp| {
        probe.measure(|| {
            let _ = black_box(gp.observe(black_box(&point(n - 1)), 0.3));
        });
    });
}

/// A prediction with `n` observations.
fn predict<K: Kernel<f32>>(memory: &mut Memory, probe: &mut Probe, kernel: Result<K, KernelError>, n: usize) {
    exact_at(memory, kernel, n, |gp| {
        probe.measure(|| {
            let _ = black_box(gp.posterior(black_box(&[0.31, 0.62])));
        });
    });
}

/// Observation i of a fixed log: its features and its value.
fn observation(map: &RandomFourier<f32, &[f32]>, i: usize, phi: &mut [f32]) -> f32 {
    map.features(&point(i), phi);
    i as f32 * 0.071 % 1.0 - 0.5
}

/// A posterior with `count` observations; then one more is measured, or a draw.
fn weights_at(memory: &mut Memory, probe: &mut Probe, count: usize, update: bool) {
    let Some(map) = map(&mut memory.features) else { return };
    let storage = &mut memory.numbers[..weights::storage_len(M)];
    let Ok(mut posterior) = WeightPosterior::new(M, 0.01, storage) else { return };
    posterior.extend(count - usize::from(update), |i, phi| observation(&map, i, phi));
    let mut stream = Stream::from_seed(4);
    probe.measure(|| {
        if update {
            posterior.extend(black_box(count), |i, phi| observation(&map, i, phi));
        } else {
            posterior.draw(&mut stream, black_box(&mut memory.vectors[..M]));
        }
    });
}

fn dual_update(memory: &mut Memory, probe: &mut Probe) {
    weights_at(memory, probe, 16, true);
}

fn dual_draw(memory: &mut Memory, probe: &mut Probe) {
    weights_at(memory, probe, 16, false);
}

fn primal_update(memory: &mut Memory, probe: &mut Probe) {
    weights_at(memory, probe, 40, true);
}

fn primal_draw(memory: &mut Memory, probe: &mut Probe) {
    weights_at(memory, probe, 40, false);
}

fn rotation(memory: &mut Memory, probe: &mut Probe) {
    let (factor, rest) = memory.numbers.split_at_mut(M * (M + 1) / 2);
    let (c, phi) = (&mut rest[..M], &mut memory.vectors[..M]);
    root::reset(factor, c, 0.01);
    normal::fill(&mut Stream::from_seed(5), phi);
    probe.measure(|| {
        black_box(root::rotate_in(factor, c, black_box(phi), 0.3));
    });
}

/// Round 4: the maximum over 64 candidates, of the broadcast or of an own draw.
fn agent_query(memory: &mut Memory, probe: &mut Probe) {
    let _ = federation::play_until(federation::SCRIPT, &mut memory.numbers, 3, |agent, broadcast, _| {
        probe.measure(|| {
            let _ = black_box(agent.handle(Input::Broadcast(black_box(broadcast))));
        });
    });
}

/// Round 4: the posterior takes one observation, and a draw becomes the upload.
fn agent_upload(memory: &mut Memory, probe: &mut Probe) {
    let _ = federation::play_until(federation::SCRIPT, &mut memory.numbers, 3, |agent, broadcast, value| {
        let _ = agent.handle(Input::Broadcast(broadcast));
        probe.measure(|| {
            let _ = black_box(agent.handle(Input::Observed(black_box(value))));
        });
    });
}

fn federation(memory: &mut Memory, probe: &mut Probe) {
    probe.measure(|| {
        let _ = black_box(federation::play(black_box(federation::SCRIPT), &mut memory.numbers, |_| {}));
    });
}

fn encode(memory: &mut Memory, probe: &mut Probe) {
    let Some(encoder) = SamplingProbability::new(0.25)
        .ok()
        .and_then(|q| GridGaussian::new(16, 1.0, q, 200).ok())
        .and_then(|mechanism| mechanism.encoder(1.0, 1.0).ok())
    else {
        return;
    };
    let vector = &mut memory.vectors[..M];
    normal::fill(&mut Stream::from_seed(6), vector);
    probe.measure(|| {
        let _ = black_box(encoder.add(black_box(vector), &[0.6, 0.4], &mut memory.integers[..2 * M]));
    });
}
