//! The Gaussian mechanism on an integer grid.
//!
//! **Equation** ([`GridGaussian`]): release = (C/(K·q))·(Σ u + ⌊2^m·G⌋), u integer vectors of norm
//! ≤ K ([`crate::privacy::encode`]), G independent standard normals, K = ⌊2^m/z⌋.
//!
#![doc = include_str!("../../../equations/grid_gaussian.html")]
//!
//! **Theorem.** With Poisson sampling of probability q the release is exactly a (q, z′)-sampled
//! Gaussian mechanism under zero-out neighbours, z′ = 2^m/K ≥ z, with no extra δ for
//! discretisation. Where everybody contributes ([`GridGaussian::unsampled`]) it is the Gaussian
//! mechanism of that multiplier, and its event says so.
//!
//! **Proof.** Let X = Σu, an integer vector. ⌊X + 2^m·G⌋ = X + ⌊2^m·G⌋ coordinate by coordinate,
//! because X is whole; so the released integers are a deterministic function of X + 2^m·G, the
//! *continuous* Gaussian mechanism of std 2^m. Zero-out neighbours differ in one u, and ‖u‖₂ ≤ K by
//! the integer check, so its L2 sensitivity is K and its noise multiplier 2^m/K. Selection is
//! independent of the data. Decoding is post-processing. ∎ (Truncating sign and magnitude in place
//! of the floor breaks the first equality.)
//!
//! **Assumed**: uniform secret words (the guarantee is then that of the generator), coins by exact
//! thresholds, bounds that cannot abort depending on data, only the decoded value leaves. **Not
//! closed**: timing of the sampler, see [`crate::random::exact`]; draw into the pool ahead of the
//! data.
//!
//! **Example**: that of [`GridGaussian`].

use core::fmt;
use core::marker::PhantomData;

use zeroize::Zeroize;

use crate::math::Scalar;
use crate::privacy::encode::{EncodeError, Encoder};
use crate::privacy::event::{Event, NeighboringRelation, Release};
use crate::privacy::sampling::SamplingProbability;
use crate::random::exact::Bits;
use crate::random::{NoiseError, NoiseSource, Provenance, SourceKind};

/// Why a Gaussian release cannot be configured or made. No variant depends on a protected value.
///
/// **Example**: that of [`GridGaussian`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum GaussianError {
    /// The grid exponent is outside 10..=24.
    GridExponent(u32),
    /// The noise multiplier is not positive and finite, or leaves no integer radius in 1..2³¹.
    NoiseMultiplier(f64),
    /// Contributors times radius reach 2⁶²: the sums could overflow.
    Contributors(u32),
    /// The sampling probability is zero: nothing can be decoded.
    NobodySampled,
    /// A constant of the release is not a positive finite number.
    Constant(f64),
    /// Sums, noise and output differ in length.
    Length {
        /// Entries of the sums.
        sums: usize,
        /// Entries of the other slice.
        other: usize,
    },
    /// Noise that was drawn on another grid.
    OtherNoise {
        /// Grid exponent of the noise.
        drawn: u32,
        /// The one of the mechanism.
        expected: u32,
    },
    /// A sample that was drawn with another probability.
    OtherSample {
        /// Sampling probability of the sample.
        drawn: f64,
        /// The one of the mechanism.
        expected: f64,
    },
    /// Everybody, for a mechanism that samples with this probability.
    Sampled(f64),
    /// The source of noise failed; nothing leaves.
    Noise(NoiseError),
    /// A contribution does not fit.
    Encode(EncodeError),
}

impl fmt::Display for GaussianError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GaussianError::GridExponent(m) => write!(f, "grid_exponent {m} is not in 10..=24"),
            GaussianError::NoiseMultiplier(z) => {
                write!(
                    f,
                    "noise_multiplier {z} is not positive and finite, or too far from 1 for the grid"
                )
            }
            GaussianError::Contributors(n) => write!(f, "{n} contributors could overflow the sums"),
            GaussianError::NobodySampled => {
                f.write_str("no party, or sampling_probability 0: nothing to release")
            }
            GaussianError::Constant(x) => write!(f, "{x} is not a positive finite number"),
            GaussianError::Length { sums, other } => {
                write!(f, "{sums} sums against {other} entries")
            }
            GaussianError::OtherNoise { drawn, expected } => {
                write!(
                    f,
                    "noise of grid exponent {drawn} for a release on grid {expected}"
                )
            }
            GaussianError::OtherSample { drawn, expected } => {
                write!(
                    f,
                    "a sample of probability {drawn} for a release charged at {expected}"
                )
            }
            GaussianError::Sampled(q) => write!(
                f,
                "everybody, for a release charged as a sample of probability {q}"
            ),
            GaussianError::Noise(e) => e.fmt(f),
            GaussianError::Encode(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for GaussianError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            GaussianError::Noise(error) => error.source(),
            GaussianError::Encode(error) => error.source(),
            _ => None,
        }
    }
}

impl From<NoiseError> for GaussianError {
    fn from(e: NoiseError) -> Self {
        GaussianError::Noise(e)
    }
}

impl From<EncodeError> for GaussianError {
    fn from(e: EncodeError) -> Self {
        GaussianError::Encode(e)
    }
}

/// The Poisson-sampled Gaussian mechanism on the grid: public constants, sampler, event.
///
/// ```
/// use sordino_core::privacy::mechanism::gaussian::{GaussianError, GridGaussian, NoisePool, Sample};
/// use sordino_core::privacy::{SamplingProbability, Simulated};
/// use sordino_core::random::Stream;
///
/// let mechanism = GridGaussian::new(20, 1.0, SamplingProbability::new(0.5)?, 3)?; // m, z, q, at most 3 parties
/// assert_eq!(mechanism.radius(), 1 << 20); // K = ⌊2^m/z⌋
/// let encoder = mechanism.encoder(1.0, 1.0)?; // sensitivity and clipping norm
/// let source = &mut Simulated::new(Stream::from_seed(1)); // a deployment takes a `Secret`
/// let (mut coins, mut sums, mut numbers, mut out) = ([0; 3], [0; 2], [0; 2], [0.0; 2]);
/// let sample: Sample<_> = mechanism.sample(source, &mut coins)?;
/// let noise: NoisePool<'_, _> = mechanism.fill_noise(source, &mut numbers)?; // before the data is touched
/// for (coin, vector) in coins.into_iter().zip([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]) {
///     encoder.add_if(coin == 1, &vector, &[1.0], &mut sums)?;
/// }
/// let release = mechanism.release(&mut sums, sample, noise, 1.0, &mut out)?;
/// assert_eq!(release.value()[0], sums[0] as f64 / (0.5 * 1_048_576.0)); // noised integers times C/(K·q)
/// assert_eq!(GridGaussian::unsampled(9, 1.0, 3), Err(GaussianError::GridExponent(9)));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridGaussian {
    grid_exponent: u32,
    noise_multiplier: f64,
    radius: u64,
    /// Nothing: everybody contributes, and nobody flips a coin.
    sampling: Option<SamplingProbability>,
}

/// Noise that was drawn and not yet used. It is consumed by the release, so that it cannot serve
/// twice, and remembers its grid, so that it cannot serve another. Prints its length, never what it
/// holds.
///
/// **Example**: that of [`GridGaussian`].
#[must_use]
pub struct NoisePool<'a, P: Provenance> {
    pub(crate) noise: &'a mut [i64],
    pub(crate) grid_exponent: u32,
    pub(crate) provenance: PhantomData<P>,
}

impl<P: Provenance> fmt::Debug for NoisePool<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NoisePool {{ coordinates: {} }}", self.noise.len())
    }
}

impl<P: Provenance> NoisePool<'_, P> {
    /// Number of coordinates.
    pub const fn len(&self) -> usize {
        self.noise.len()
    }

    /// Whether it has no coordinates.
    pub const fn is_empty(&self) -> bool {
        self.noise.is_empty()
    }
}

impl<P: Provenance> Drop for NoisePool<'_, P> {
    /// Whatever became of the release, its noise is wiped: anyone who knows it knows the sum.
    fn drop(&mut self) {
        self.noise.zeroize();
    }
}

/// Coins that were flipped for one release, one for each party. The release consumes it, so that
/// coins and noise are of one kind of source.
///
/// **Privacy**: that the sums hold exactly the parties whose byte is 1 is the caller's word here,
/// as at every mechanism alone. [`crate::federated::Server`] keeps it: it flips the coins, adds by
/// them, and releases.
///
/// **Example**: that of [`GridGaussian`].
#[derive(Debug, PartialEq)]
#[must_use]
pub struct Sample<P: Provenance> {
    probability: SamplingProbability,
    provenance: PhantomData<P>,
}

impl<P: Provenance> Sample<P> {
    /// A sample that a party drew before, from a source of this kind; nothing if its kind is not
    /// `P`.
    pub(crate) fn drawn_before(
        probability: SamplingProbability,
        coins: SourceKind,
    ) -> Option<Self> {
        (coins == P::KIND).then_some(Sample {
            probability,
            provenance: PhantomData,
        })
    }
}

impl GridGaussian {
    /// A mechanism over a Poisson sample.
    ///
    /// **Parameters**: `grid_exponent` m in 10..=24: the noise has std 2^m grid units;
    /// `noise_multiplier` z > 0; `sampling_probability` > 0; `contributors_max` the largest number
    /// of vectors in one sum, N·K < 2⁶².
    pub fn new(
        grid_exponent: u32,
        noise_multiplier: f64,
        sampling_probability: SamplingProbability,
        contributors_max: u32,
    ) -> Result<Self, GaussianError> {
        if sampling_probability == SamplingProbability::ZERO {
            return Err(GaussianError::NobodySampled);
        }
        let unsampled = Self::unsampled(grid_exponent, noise_multiplier, contributors_max)?;
        Ok(GridGaussian {
            sampling: Some(sampling_probability),
            ..unsampled
        })
    }

    /// A mechanism over everybody: no coins, q = 1 in decoding, and the event is a Gaussian without
    /// sampling.
    ///
    /// **Parameters**: as [`GridGaussian::new`].
    pub fn unsampled(
        grid_exponent: u32,
        noise_multiplier: f64,
        contributors_max: u32,
    ) -> Result<Self, GaussianError> {
        if !(10..=24).contains(&grid_exponent) {
            return Err(GaussianError::GridExponent(grid_exponent));
        }
        let radius = radius(grid_exponent, noise_multiplier)
            .ok_or(GaussianError::NoiseMultiplier(noise_multiplier))?;
        if u128::from(contributors_max) * u128::from(radius) >= 1 << 62 {
            return Err(GaussianError::Contributors(contributors_max));
        }
        Ok(GridGaussian {
            grid_exponent,
            noise_multiplier,
            radius,
            sampling: None,
        })
    }

    /// m: the noise has std 2^m grid units.
    pub const fn grid_exponent(&self) -> u32 {
        self.grid_exponent
    }

    /// K = ⌊2^m/z⌋: the largest norm of an encoded contribution, in grid units.
    pub const fn radius(&self) -> u64 {
        self.radius
    }

    /// z as asked for and as charged; never above [`GridGaussian::effective_noise_multiplier`].
    pub const fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// 2^m/K, the multiplier truly in force.
    pub fn effective_noise_multiplier(&self) -> f64 {
        (1u64 << self.grid_exponent) as f64 / self.radius as f64
    }

    /// Whether a sample is drawn, be it with probability 1; without one everybody contributes.
    pub const fn flips_coins(&self) -> bool {
        self.sampling.is_some()
    }

    /// Standard deviation of the noise on every released number: C·2ᵐ/(K·q) for sensitivity C.
    pub fn noise_std(&self, l2_sensitivity: f64) -> f64 {
        l2_sensitivity * self.effective_noise_multiplier() / self.sampling_probability().value()
    }

    /// q, for coins and decoding: 1 where everybody contributes.
    pub const fn sampling_probability(&self) -> SamplingProbability {
        match self.sampling {
            Some(probability) => probability,
            None => SamplingProbability::ONE,
        }
    }

    /// What one release costs.
    pub fn event(&self) -> Event {
        match self.sampling {
            Some(probability) => Event::sampled(probability.value(), self.noise_multiplier),
            None => Event::Gaussian {
                noise_multiplier: self.noise_multiplier,
                relation: NeighboringRelation::ReplaceSpecial,
            },
        }
    }

    /// The sample of a mechanism without sampling: everybody, without a coin, so that it goes with
    /// noise of any kind.
    ///
    /// **Errors**: [`GaussianError::Sampled`] for a mechanism that samples, be it with
    /// probability 1.
    pub fn everybody<P: Provenance>(&self) -> Result<Sample<P>, GaussianError> {
        match self.sampling {
            None => Ok(Sample {
                probability: SamplingProbability::ONE,
                provenance: PhantomData,
            }),
            Some(probability) => Err(GaussianError::Sampled(probability.value())),
        }
    }

    /// The encoder whose integer check this mechanism's sensitivity rests on; see [`Encoder::new`].
    pub fn encoder(&self, l2_sensitivity: f64, clipping_norm: f64) -> Result<Encoder, EncodeError> {
        Encoder::new(self.radius, l2_sensitivity, clipping_norm)
    }

    /// Flips the coin of every party: 1 in its byte if it is in the sample, else 0. Independently,
    /// one word of `source` for each, in the order of the bytes.
    ///
    /// **Errors**: [`GaussianError::NobodySampled`] without parties: no coin was flipped for
    /// anybody; [`GaussianError::Noise`], all bytes are 0 then.
    pub fn sample<S: NoiseSource>(
        &self,
        source: &mut S,
        selected: &mut [u8],
    ) -> Result<Sample<S::Provenance>, GaussianError> {
        if selected.is_empty() {
            return Err(GaussianError::NobodySampled);
        }
        for i in 0..selected.len() {
            match self.sampling_probability().coin(source) {
                Ok(heads) => selected[i] = u8::from(heads),
                Err(error) => {
                    selected.zeroize();
                    return Err(error.into());
                }
            }
        }
        Ok(Sample {
            probability: self.sampling_probability(),
            provenance: PhantomData,
        })
    }

    /// Fills `pool` with ⌊2^m·G⌋, before any data is touched.
    ///
    /// **Errors**: [`NoiseError`]; the pool is then not usable and is zeroed.
    pub fn fill_noise<'a, S: NoiseSource>(
        &self,
        source: &mut S,
        pool: &'a mut [i64],
    ) -> Result<NoisePool<'a, S::Provenance>, NoiseError> {
        let mut bits = Bits::new(source);
        for i in 0..pool.len() {
            match bits.normal_floor(self.grid_exponent) {
                Ok(noise) => pool[i] = noise,
                Err(error) => {
                    pool.zeroize();
                    return Err(error);
                }
            }
        }
        Ok(NoisePool {
            noise: pool,
            grid_exponent: self.grid_exponent,
            provenance: PhantomData,
        })
    }

    /// Adds the noise to the integer sums and decodes by C/(K·q) into `out`.
    ///
    /// The sums then hold the noised integers. Sample and pool are spent, also by a refusal; the
    /// pool holds zeros.
    ///
    /// **Parameters**: `sums` of the parties that `sample` selected, and of no other;
    /// `l2_sensitivity` C, the one the encoder was made with; sums, noise and `out` of one length.
    ///
    /// **Errors**: [`GaussianError::Length`], [`GaussianError::OtherNoise`],
    /// [`GaussianError::OtherSample`], [`GaussianError::Constant`]; sums and `out` are as before.
    pub fn release<'o, P: Provenance, T: Scalar>(
        &self,
        sums: &mut [i64],
        sample: Sample<P>,
        noise: NoisePool<'_, P>,
        l2_sensitivity: f64,
        out: &'o mut [T],
    ) -> Result<Release<&'o [T], P>, GaussianError> {
        // |Σu| ≤ N·K < 2⁶² and |noise| < 2³¹: a failure is a caller's own sum, and independent of selection.
        if sums
            .iter()
            .zip(noise.noise.iter())
            .any(|(sum, noise)| sum.checked_add(*noise).is_none())
        {
            return Err(EncodeError::SumOverflow.into());
        }
        self.release_centred(sums, sample, noise, l2_sensitivity, |sum| sum, out)
    }

    /// As [`GridGaussian::release`] of sums modulo 2⁶⁴, or modulo less: `centred` is the
    /// representative of a noised sum that is decoded. Nothing overflows.
    ///
    /// **Privacy**: what wraps around is the noised sum. Who chose a part of the sum learns by it
    /// what a release says, and nothing else.
    ///
    /// **Errors**: as [`GridGaussian::release`]; sums and `out` are as before.
    pub fn release_centred<'o, P: Provenance, T: Scalar>(
        &self,
        sums: &mut [i64],
        sample: Sample<P>,
        noise: NoisePool<'_, P>,
        l2_sensitivity: f64,
        centred: impl Fn(i64) -> i64,
        out: &'o mut [T],
    ) -> Result<Release<&'o [T], P>, GaussianError> {
        for other in [noise.len(), out.len()] {
            if sums.len() != other {
                return Err(GaussianError::Length {
                    sums: sums.len(),
                    other,
                });
            }
        }
        if noise.grid_exponent != self.grid_exponent {
            return Err(GaussianError::OtherNoise {
                drawn: noise.grid_exponent,
                expected: self.grid_exponent,
            });
        }
        if sample.probability != self.sampling_probability() {
            let drawn = sample.probability.value();
            let expected = self.sampling_probability().value();
            return Err(GaussianError::OtherSample { drawn, expected });
        }
        let unit = self.decode_unit(l2_sensitivity)?;
        for ((sum, noise), out) in sums.iter_mut().zip(noise.noise.iter()).zip(out.iter_mut()) {
            *sum = centred(sum.wrapping_add(*noise));
            *out = T::from_f64(*sum as f64 * unit);
        }
        Ok(Release::new(out, self.event()))
    }

    /// Adds the noise to sums modulo 2⁶⁴, of which a lower power of two may be all that is meant.
    /// The pool is spent and holds zeros.
    ///
    /// **Privacy**: residues are a function of the noised integers, so what holds for those holds
    /// here. The sums may be shares of the parties' sums: see [`crate::federated::shares`].
    ///
    /// **Errors**: [`GaussianError::Length`], [`GaussianError::OtherNoise`]; the sums are as
    /// before.
    pub fn release_modulo<P: Provenance>(
        &self,
        sums: &mut [u64],
        noise: NoisePool<'_, P>,
    ) -> Result<(), GaussianError> {
        if sums.len() != noise.len() {
            return Err(GaussianError::Length {
                sums: sums.len(),
                other: noise.len(),
            });
        }
        if noise.grid_exponent != self.grid_exponent {
            return Err(GaussianError::OtherNoise {
                drawn: noise.grid_exponent,
                expected: self.grid_exponent,
            });
        }
        sums.iter_mut()
            .zip(noise.noise.iter())
            .for_each(|(sum, noise)| *sum = sum.wrapping_add(*noise as u64));
        Ok(())
    }

    /// C/(K·q): what one grid unit is worth in the released vector.
    pub fn decode_unit(&self, l2_sensitivity: f64) -> Result<f64, GaussianError> {
        let unit = l2_sensitivity / (self.radius as f64 * self.sampling_probability().value());
        if unit > 0.0 && unit.is_finite() {
            Ok(unit)
        } else {
            Err(GaussianError::Constant(l2_sensitivity))
        }
    }
}

/// The largest K with K·z ≤ 2^m, decided in integers; nothing if it is not in 1..2³¹.
fn radius(m: u32, z: f64) -> Option<u64> {
    if !(z > 0.0 && z.is_finite()) {
        return None;
    }
    let quotient = (1u64 << m) as f64 / z;
    if !(1.0..2_147_483_648.0).contains(&quotient) {
        return None;
    }
    let mut k = quotient as u64;
    // z = mantissa · 2^exponent, exactly.
    let bits = z.to_bits();
    let raw = (bits >> 52 & 0x7ff) as i32;
    let mantissa = (bits & ((1 << 52) - 1)) | if raw > 0 { 1 << 52 } else { 0 };
    let exponent = raw.max(1) - 1075;
    // K·z ≤ 2^m ⇔ K·mantissa ≤ 2^(m − exponent); K·mantissa < 2⁸⁴.
    let shift = m as i32 - exponent;
    let fits =
        |k: u64| shift >= 127 || (shift >= 0 && u128::from(k) * u128::from(mantissa) <= 1 << shift);
    while k > 0 && !fits(k) {
        k -= 1;
    }
    (k > 0).then_some(k)
}

#[cfg(test)]
mod tests;
