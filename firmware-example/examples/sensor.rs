//! A device finds the settings of its sensor: 24 measurements, no privacy, no heap.
#![cfg_attr(target_os = "none", no_std, no_main)]

use firmware_example::program::Say;
use sordino_core::domain::BoxDomain;
use sordino_core::optimizer::{Optimizer, OptimizerError, Settings, storage_len};

const ROUNDS: usize = 24;

/// Signal-to-noise ratio of a sensor that is best at 6.5 dB and 18 ms.
fn measure(gain: f32, ms: f32) -> f32 {
    let a = (gain - 6.5) / 4.0;
    let b = (ms - 18.0) / 12.0;
    40.0 - 10.0 * (a * a + b * b)
}

fn run(say: Say<'_>) -> Result<(), OptimizerError> {
    let domain = BoxDomain::new(&[(0.0, 20.0), (1.0, 50.0)])?;
    let mut storage = [0.0f32; storage_len(2, ROUNDS)];
    let mut optimizer = Optimizer::new(domain, Settings::default(), ROUNDS, &mut storage[..])?;
    for _ in 0..ROUNDS {
        let x = optimizer.suggest()?;
        let y = measure(x[0], x[1]);
        optimizer.observe(&x, y)?;
        say(format_args!("{:.2} dB {:.2} ms: {y:.3}", x[0], x[1]));
    }
    if let Some((x, y)) = optimizer.best() {
        say(format_args!(
            "best at {:.2} dB {:.2} ms: {y:.3}",
            x[0], x[1]
        ));
    }
    Ok(())
}

firmware_example::program!(run);
