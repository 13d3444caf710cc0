//! A source that is secret as far as its type goes: what a release would take from the system's
//! entropy.

use sordino_core::random::{Secret, Stream};

/// A seeded generator in the place of a cryptographic one.
pub struct Generator(Stream);

/// The secret source of a life of a program that drew `seed`; no two lives draw the same.
pub fn secret_of(seed: u64) -> Secret<Generator> {
    Secret::new(Generator(Stream::from_seed(seed)))
}

impl rand_core::TryRng for Generator {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.0.word() as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.word())
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes
            .iter_mut()
            .for_each(|byte| *byte = self.0.word() as u8);
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Generator {}
