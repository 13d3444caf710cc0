//! A secret noise source seeded by the system.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use sordino_core::random::Secret;
use zeroize::{Zeroize, Zeroizing};

/// Noise from ChaCha20; the state is wiped when it is dropped.
pub type SystemNoise = Secret<ChaCha20Rng>;

/// The system gave no randomness. Nothing may be released then.
#[derive(Debug, thiserror::Error)]
#[error("no entropy from the system: {0}")]
pub struct NoEntropy(#[source] getrandom::Error);

impl NoEntropy {
    /// What is said where there is no source of randomness at all.
    pub const UNSUPPORTED: Self = NoEntropy(getrandom::Error::UNSUPPORTED);
}

/// A new generator with a seed of 256 bits from the system; the seed itself is wiped.
///
/// **Errors**: [`NoEntropy`].
pub fn system() -> Result<SystemNoise, NoEntropy> {
    let mut seed = [0u8; 32];
    getrandom::fill(&mut seed).map_err(NoEntropy)?;
    let generator = ChaCha20Rng::from_seed(seed);
    seed.zeroize();
    Ok(Secret::new(generator))
}

/// A secret of 256 bits; wiped when it is dropped.
///
/// **Errors**: [`NoEntropy`].
pub fn secret() -> Result<Zeroizing<[u8; 32]>, NoEntropy> {
    let mut bytes = Zeroizing::new([0u8; 32]);
    getrandom::fill(&mut *bytes).map_err(NoEntropy)?;
    Ok(bytes)
}

/// A random name of 128 bits, in 32 hexadecimal digits.
///
/// **Errors**: [`NoEntropy`].
pub fn name() -> Result<String, NoEntropy> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(NoEntropy)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A random number for a new deployment, which its frames carry
/// ([`sordino_core::wire::Header::deployment`]).
///
/// **Errors**: [`NoEntropy`].
pub fn deployment() -> Result<u64, NoEntropy> {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).map_err(NoEntropy)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::random::{NoiseSource, SourceKind};

    /// Hygiene 17: the generator's state does not stay in memory. `ZeroizeOnDrop` is there only
    /// with chacha20's feature.
    #[test]
    fn the_generator_wipes_itself() {
        fn wiped<T: zeroize::ZeroizeOnDrop>() {}
        wiped::<ChaCha20Rng>();
    }

    #[test]
    fn two_sources_are_different_and_secret() {
        let mut a = system().unwrap();
        let mut b = system().unwrap();
        assert_ne!(a.word().unwrap(), b.word().unwrap());
        assert_eq!(a.kind(), SourceKind::Secret);
        assert_ne!(name().unwrap(), name().unwrap());
        assert_eq!(name().unwrap().len(), 32);
        assert_ne!(deployment().unwrap(), deployment().unwrap());
    }
}
