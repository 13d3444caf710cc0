//! Randomness: named streams and samplers.
//!
//! Two worlds that never mix. *Simulation and public features* draw from [`stream`]: a 64-bit seed,
//! xoshiro256++, reproducible, and worthless as a secret. *Private releases* draw from a
//! cryptographic source that the caller hands in, through exact integer samplers.
//!
//! **Example**: that of [`stream`].

#[cfg(any(feature = "rand_core-06", feature = "rand_core-09"))]
mod adapt;
pub mod exact;
pub mod laplace;
pub mod normal;
pub mod source;
pub mod stream;

#[cfg(any(feature = "rand_core-06", feature = "rand_core-09"))]
pub use adapt::EntropyError;
#[cfg(feature = "rand_core-06")]
pub use adapt::RandCore06;
#[cfg(feature = "rand_core-09")]
pub use adapt::RandCore09;
pub use source::{
    NoiseError, NoiseSource, Nonce, Private, Provenance, Secret, Simulated, Simulation, SourceKind,
};
pub use stream::{Party, Purpose, RunSeed, Stream};
