//! Randomness: named streams and samplers.
//!
//! Two worlds that never mix. *Simulation and public features* draw from [`stream`]: a 64-bit seed, xoshiro256++,
//! reproducible, and worthless as a secret. *Private releases* draw from a cryptographic source that the caller hands
//! in, through exact integer samplers.

pub mod exact;
pub mod laplace;
pub mod normal;
pub mod source;
pub mod stream;

pub use source::{NoiseError, NoiseSource, Nonce, Private, Provenance, Secret, Simulated, Simulation, SourceKind};
pub use stream::{Party, Purpose, RunSeed, Stream};
