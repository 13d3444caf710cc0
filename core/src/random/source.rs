//! Where the noise of a release comes from: a secret source, or a simulation that says so in its
//! type.
//!
//! One code path serves both. [`Secret`] wraps any cryptographic generator and passes its failures
//! on as a typed error; [`Simulated`] wraps a named [`Stream`], so that a run can be repeated and
//! is *not private*: anyone who knows the seed knows the noise. The kind is a type ([`Private`],
//! [`Simulation`]) that a release carries along, so that code which publishes can ask for
//! `Release<_, Private>` and a simulated one does not compile there.
//!
//! ```
//! use sordino_core::random::{NoiseSource, Simulated, SourceKind, Stream};
//!
//! let mut source = Simulated::new(Stream::from_seed(1));
//! assert_eq!(source.kind().to_string(), "simulation: not private");
//! assert_eq!(source.nonce()?, source.nonce()?); // nothing was drawn between the two
//! assert_eq!(SourceKind::Secret.to_string(), "secret noise"); // what a `Secret` around a cryptographic generator says
//! # Ok::<(), sordino_core::random::NoiseError>(())
//! ```

use core::fmt;

use rand_core::TryCryptoRng;
use serde::{Deserialize, Serialize};

use super::Stream;

/// Why no noise could be made. Nothing has left when this is returned.
///
/// **Privacy**: Gaussian and Laplace mechanisms draw before they look at the data, so that neither
/// this error nor its moment depends on it. Selection does not: how many words it draws depends on
/// the utilities, and with a source that fails after a number of words, so does failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NoiseError {
    /// The entropy source failed.
    Entropy,
    /// A bounded rejection loop ran out (probability below 2⁻¹⁰⁰ with a working source): the source
    /// is broken.
    Exhausted,
}

impl fmt::Display for NoiseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoiseError::Entropy => "the entropy source failed: no noise, nothing released",
            NoiseError::Exhausted => {
                "a sampler's bounded loop ran out: the entropy source is not uniform"
            }
        })
    }
}

impl core::error::Error for NoiseError {}

/// Secret or simulated, as a value; prints as the label every report must carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SourceKind {
    /// Cryptographic randomness that nobody else knows.
    Secret,
    /// A reproducible stream.
    Simulation,
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceKind::Secret => "secret noise",
            SourceKind::Simulation => "simulation: not private",
        })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Secret or simulated, as a type. Sealed: [`Private`] and [`Simulation`] are all there is.
pub trait Provenance: sealed::Sealed + Copy + fmt::Debug {
    /// The same as a value.
    const KIND: SourceKind;
}

/// Marks what was made with [`Secret`] randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Private;
/// Marks what was made with a [`Simulated`] source: not private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulation;

impl sealed::Sealed for Private {}
impl sealed::Sealed for Simulation {}
impl Provenance for Private {
    const KIND: SourceKind = SourceKind::Secret;
}
impl Provenance for Simulation {
    const KIND: SourceKind = SourceKind::Simulation;
}

/// A source of independent uniform 64-bit words for coins and noise. Sealed: its makers are
/// [`Secret`] and [`Simulated`].
pub trait NoiseSource: sealed::Sealed {
    /// What a release made with this source is.
    type Provenance: Provenance;

    /// One uniform word, or [`NoiseError::Entropy`].
    fn word(&mut self) -> Result<u64, NoiseError>;

    /// A name for one opening of a release, which no other opening has: 128 bits.
    ///
    /// A secret source draws two words for it. A simulated one reads it off its position and draws
    /// nothing, so that naming an opening changes no bit of what follows; the same opening then has
    /// the same name when it is repeated.
    ///
    /// **Errors**: [`NoiseError::Entropy`].
    fn nonce(&mut self) -> Result<Nonce, NoiseError>;

    /// The kind as a value.
    fn kind(&self) -> SourceKind {
        Self::Provenance::KIND
    }
}

/// The name of one opening of a release ([`NoiseSource::nonce`]). It is never restored from a
/// stored state, so what was made for an opening before a restart fits none after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nonce([u64; 2]);

/// Noise from a cryptographic generator: ChaCha or AES-CTR seeded by the system or a tested
/// hardware generator.
///
/// **Privacy**: the guarantee is computational, that of the generator. Its seed must never be
/// stored beside results, derived from a public seed, or used twice.
///
/// Any generator of rand_core 0.10 will do. On a host: `SysRng` of getrandom 0.4 (feature
/// `sys_rng`), which asks the system for every word, or `ChaCha20Rng` of chacha20 0.10 (feature
/// `rng`) with a seed from there, which is what `sordino_host::entropy::system` does. On a device:
/// `docs/entropy.md`. One of your own, here the system's file of random bytes:
///
/// ```
/// use std::fs::File;
/// use std::io::{Error, Read};
/// use sordino_core::rand_core::{TryCryptoRng, TryRng};
/// use sordino_core::random::{NoiseSource, Secret, SourceKind};
///
/// struct System(File);
/// impl TryRng for System {
///     type Error = Error;
///     fn try_next_u32(&mut self) -> Result<u32, Error> {
///         Ok(self.try_next_u64()? as u32)
///     }
///     fn try_next_u64(&mut self) -> Result<u64, Error> {
///         let mut word = [0; 8];
///         self.try_fill_bytes(&mut word)?;
///         Ok(u64::from_le_bytes(word))
///     }
///     fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
///         self.0.read_exact(bytes) // a failure is passed on, never filled up
///     }
/// }
/// impl TryCryptoRng for System {} // the promise: nobody else knows these bytes
///
/// let mut source = Secret::new(System(File::open("/dev/urandom")?));
/// assert_eq!(source.kind(), SourceKind::Secret);
/// assert_ne!(source.nonce()?, source.nonce()?); // two words each
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Secret<R>(R);

impl<R: TryCryptoRng> Secret<R> {
    /// Takes the generator; nothing is drawn.
    pub const fn new(generator: R) -> Self {
        Secret(generator)
    }
}

impl<R> fmt::Debug for Secret<R> {
    /// Never prints the generator's state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<R> sealed::Sealed for Secret<R> {}
impl<R: TryCryptoRng> NoiseSource for Secret<R> {
    type Provenance = Private;
    fn word(&mut self) -> Result<u64, NoiseError> {
        self.0.try_next_u64().map_err(|_| NoiseError::Entropy)
    }
    fn nonce(&mut self) -> Result<Nonce, NoiseError> {
        Ok(Nonce([self.word()?, self.word()?]))
    }
}

/// Noise from a named stream. Whatever is made with it is labelled "simulation: not private".
#[derive(Clone, Debug)]
pub struct Simulated(Stream);

impl Simulated {
    /// Takes the stream; nothing is drawn.
    pub const fn new(stream: Stream) -> Self {
        Simulated(stream)
    }
}

impl sealed::Sealed for Simulated {}
impl NoiseSource for Simulated {
    type Provenance = Simulation;
    fn word(&mut self) -> Result<u64, NoiseError> {
        Ok(self.0.word())
    }
    fn nonce(&mut self) -> Result<Nonce, NoiseError> {
        let mut ahead = self.0.clone();
        Ok(Nonce([ahead.word(), ahead.word()]))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    extern crate std;
    use super::*;
    use rand_core::TryRng;
    use std::string::ToString;

    /// A cryptographic generator, as far as its type goes, that fails after `left` words.
    pub(crate) struct Failing {
        pub(crate) left: u32,
        pub(crate) inner: Stream,
    }
    #[derive(Debug)]
    pub(crate) struct Broken;
    impl fmt::Display for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("broken")
        }
    }
    impl core::error::Error for Broken {}
    impl TryRng for Failing {
        type Error = Broken;
        fn try_next_u32(&mut self) -> Result<u32, Broken> {
            self.try_next_u64().map(|word| word as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Broken> {
            self.left = self.left.checked_sub(1).ok_or(Broken)?;
            Ok(self.inner.word())
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Broken> {
            Err(Broken)
        }
    }
    impl TryCryptoRng for Failing {}

    #[test]
    fn failure_is_an_error_and_the_kind_is_printed() {
        let mut source = Secret::new(Failing {
            left: 1,
            inner: Stream::from_seed(1),
        });
        assert!(source.word().is_ok());
        assert_eq!(source.word(), Err(NoiseError::Entropy));
        assert_eq!(source.kind().to_string(), "secret noise");
        assert_eq!(
            Simulated::new(Stream::from_seed(1)).kind().to_string(),
            "simulation: not private"
        );
        assert_eq!(std::format!("{source:?}"), "Secret(..)");
    }
}
