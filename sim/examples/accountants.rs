//! What the accountants cost and how close they are:
//! `cargo run --release -p sordino-sim --example accountants`.
//!
//! CPU time of one thread, the shortest of many repetitions. Accuracy of the tight accountant is
//! measured against a run at a fiftieth of the tolerance, which is itself never below the truth.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sordino_core::privacy::accountant::RdpAccountant;
use sordino_core::privacy::accountant::pld::{self, Options};
use sordino_core::privacy::{Event, NeighboringRelation};

/// Number of repetitions, of which the shortest counts.
const REPETITIONS: usize = 200;

/// CPU time of this thread: wall clock on a shared machine is off by a factor.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Milliseconds of the fastest of many calls, and what it answered.
fn fastest<R>(mut call: impl FnMut() -> R) -> (f64, R) {
    let mut best = Duration::MAX;
    let mut answer = call();
    for _ in 0..REPETITIONS {
        let start = now();
        answer = call();
        best = best.min(now().saturating_sub(start));
    }
    (best.as_secs_f64() * 1e3, answer)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:<10} {:>5} {:>3} {:>6} {:>8} {:>9} {:>10} {:>9}",
        "", "q", "z", "T", "delta", "ms", "epsilon", "accuracy"
    );
    for (q, z, rounds, delta) in [
        (0.25, 1.0, 40, 2.9435e-3),
        (0.25, 1.0, 40, 1e-5),
        (0.01, 1.0, 10_000, 1e-5),
        (0.001, 0.7, 100_000, 1e-6),
    ] {
        let event = Event::PoissonSampledGaussian {
            sampling_probability: q,
            noise_multiplier: z,
            relation: NeighboringRelation::ReplaceSpecial,
        };
        let (time, loss) = fastest(|| pld::epsilon(&[(event, rounds)], delta, &Options::default()));
        let fine = Options {
            tolerance: 2e-6,
            cells_max: 1 << 24,
        };
        let loss = loss?.epsilon;
        let truth = pld::epsilon(&[(event, rounds)], delta, &fine)?.epsilon;
        let line = |name: &str, time: f64, loss: f64| {
            let accuracy = loss / truth - 1.0;
            println!(
                "{name:<10} {q:>5} {z:>3} {rounds:>6} {delta:>8.1e} {time:>9.3} {loss:>10.5} {accuracy:>9.1e}"
            );
        };
        line("tight", time, loss);
        let (time, loss) = fastest(|| {
            let mut accountant = RdpAccountant::new();
            accountant.compose(&event, rounds)?;
            accountant.epsilon(delta)
        });
        line("Rényi", time, loss?.epsilon);
    }
    Ok(())
}
