//! Where noise comes from, and where a report goes. **Not private**: the emulator has no entropy,
//! and the type of every report says so.

use sordino_core::privacy::{NoiseSource, Release, Simulated};
use sordino_core::random::Stream;

/// On a device `Secret<RandCore09<Rng>>`: docs/entropy.md.
pub type Noise = Simulated;

/// The source of noise.
pub fn noise() -> Noise {
    Simulated::new(Stream::from_seed(super::seed()))
}

/// Sends a report. On a device, ask for `Release<f32, Private>` here: simulated noise then does not
/// compile.
pub async fn report(report: Release<f32, <Noise as NoiseSource>::Provenance>) {
    let _sent = report.value();
}
