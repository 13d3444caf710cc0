//! Generators written for older versions of rand_core, as most chips' libraries still have them.
//!
//! A type of another version of a crate is another type: embassy-stm32 and embassy-rp speak
//! rand_core 0.6 and 0.9, this crate 0.10. Features `rand_core-09` and `rand_core-06` bring the
//! adapters; both pass words on as they come.
//!
//! **Privacy**: whether a generator is cryptographic is its maker's promise ([`TryCryptoRng`]); the
//! adapters ask for the promise of the older version and add none. See `docs/entropy.md` for what
//! to ask of a chip.

use core::fmt;

use rand_core::{TryCryptoRng, TryRng};

/// A generator failed. Its own error, which need not be an `Error`, is dropped: nothing is drawn
/// either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EntropyError;

impl fmt::Display for EntropyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the generator failed")
    }
}

impl core::error::Error for EntropyError {}

/// A generator of rand_core 0.9: `Secret::new(RandCore09(generator))`.
#[cfg(feature = "rand_core-09")]
pub struct RandCore09<R>(pub R);

#[cfg(feature = "rand_core-09")]
impl<R: rand_core_09::TryRngCore> TryRng for RandCore09<R> {
    type Error = EntropyError;
    fn try_next_u32(&mut self) -> Result<u32, EntropyError> {
        self.0.try_next_u32().map_err(|_| EntropyError)
    }
    fn try_next_u64(&mut self) -> Result<u64, EntropyError> {
        self.0.try_next_u64().map_err(|_| EntropyError)
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), EntropyError> {
        self.0.try_fill_bytes(out).map_err(|_| EntropyError)
    }
}

#[cfg(feature = "rand_core-09")]
impl<R: rand_core_09::TryCryptoRng> TryCryptoRng for RandCore09<R> {}

/// A generator of rand_core 0.6: `Secret::new(RandCore06(generator))`. Words are read through
/// `try_fill_bytes`, the only call of that version that can say that it failed.
#[cfg(feature = "rand_core-06")]
pub struct RandCore06<R>(pub R);

#[cfg(feature = "rand_core-06")]
impl<R: rand_core_06::RngCore> TryRng for RandCore06<R> {
    type Error = EntropyError;
    fn try_next_u32(&mut self) -> Result<u32, EntropyError> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
    fn try_next_u64(&mut self) -> Result<u64, EntropyError> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), EntropyError> {
        self.0.try_fill_bytes(out).map_err(|_| EntropyError)
    }
}

#[cfg(feature = "rand_core-06")]
impl<R: rand_core_06::RngCore + rand_core_06::CryptoRng> TryCryptoRng for RandCore06<R> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{NoiseError, NoiseSource, Secret};

    /// A generator that counts, and fails after so many bytes.
    struct Counting {
        next: u8,
        left: usize,
    }

    impl Counting {
        fn fill(&mut self, out: &mut [u8]) -> Result<(), ()> {
            self.left = self.left.checked_sub(out.len()).ok_or(())?;
            for byte in out {
                *byte = self.next;
                self.next = self.next.wrapping_add(1);
            }
            Ok(())
        }
        fn word<const N: usize>(&mut self) -> Result<[u8; N], ()> {
            let mut bytes = [0; N];
            self.fill(&mut bytes).map(|()| bytes)
        }
    }

    fn words_and_then_an_error<R: TryCryptoRng>(generator: R) {
        let mut source = Secret::new(generator);
        assert_eq!(source.word(), Ok(0x0706_0504_0302_0100));
        assert_eq!(source.word(), Ok(0x0f0e_0d0c_0b0a_0908));
        assert_eq!(source.word(), Err(NoiseError::Entropy));
    }

    #[cfg(feature = "rand_core-09")]
    mod nine {
        use super::*;
        use core::fmt;
        #[derive(Debug)]
        pub struct Broken;
        impl fmt::Display for Broken {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("broken")
            }
        }
        impl rand_core_09::TryRngCore for Counting {
            type Error = Broken;
            fn try_next_u32(&mut self) -> Result<u32, Broken> {
                self.word().map(u32::from_le_bytes).map_err(|()| Broken)
            }
            fn try_next_u64(&mut self) -> Result<u64, Broken> {
                self.word().map(u64::from_le_bytes).map_err(|()| Broken)
            }
            fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Broken> {
                self.fill(out).map_err(|()| Broken)
            }
        }
        impl rand_core_09::TryCryptoRng for Counting {}

        #[test]
        fn a_generator_of_rand_core_0_9_is_a_secret_source() {
            words_and_then_an_error(RandCore09(Counting { next: 0, left: 20 }));
        }
    }

    #[cfg(feature = "rand_core-06")]
    mod six {
        use super::*;
        use core::num::NonZeroU32;
        impl rand_core_06::RngCore for Counting {
            fn next_u32(&mut self) -> u32 {
                self.word().map_or(0, u32::from_le_bytes)
            }
            fn next_u64(&mut self) -> u64 {
                self.word().map_or(0, u64::from_le_bytes)
            }
            fn fill_bytes(&mut self, out: &mut [u8]) {
                let _ = self.fill(out);
            }
            fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rand_core_06::Error> {
                let code = NonZeroU32::MIN.saturating_add(rand_core_06::Error::CUSTOM_START);
                self.fill(out).map_err(|()| rand_core_06::Error::from(code))
            }
        }
        impl rand_core_06::CryptoRng for Counting {}

        #[test]
        fn a_generator_of_rand_core_0_6_is_a_secret_source() {
            words_and_then_an_error(RandCore06(Counting { next: 0, left: 20 }));
        }
    }
}
