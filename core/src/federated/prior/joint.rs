//! How joint vectors (u·d, γCu) become integers: the encoding of a federated prior's releases.

use super::super::encoding::{Encoding, sealed};
use super::super::errors::ServerError;
use super::config::Config;
use super::contribution::Mechanism;
use super::state::Terms;
use crate::digest::Digest;
use crate::math::Scalar;
use crate::privacy::encode::{EncodeError, Encoder, Outcome};
use crate::privacy::mechanism::gaussian::GridGaussian;

/// The encoding of one release: one block of weight 1, clipped as a whole to Δ = C√(1 + γ²).
/// Everybody is in the sample.
///
/// **Example**: that of [`Filter`](super::Filter).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointVectors {
    config: Config,
    /// κ, C and z, on which the integers depend.
    numbers: [f64; 3],
    mechanism: Mechanism,
    encoder: Encoder,
}

impl JointVectors {
    /// The encoding of a release with these terms at multiplier z.
    ///
    /// **Errors**: [`ServerError::Mechanism`] as of [`Mechanism::new`].
    pub fn new<T: Scalar>(
        config: &Config,
        terms: &Terms<T>,
        noise_multiplier: f64,
    ) -> Result<Self, ServerError> {
        let mechanism = Mechanism::new(config, terms, noise_multiplier)?;
        let numbers = [
            terms.ridge.to_f64(),
            terms.clip_radius.to_f64(),
            noise_multiplier,
        ];
        Ok(JointVectors {
            config: *config,
            numbers,
            mechanism,
            encoder: mechanism.encoder()?,
        })
    }
}

impl sealed::Sealed for JointVectors {}

impl Encoding for JointVectors {
    fn agents(&self) -> u32 {
        self.config.parameters().agents
    }

    fn upload_len(&self) -> usize {
        self.config.contribution_len()
    }

    fn sums_len(&self) -> usize {
        self.config.contribution_len()
    }

    fn configuration(&self) -> Digest {
        Digest::of(&(&self.config, self.numbers.map(f64::to_bits)))
    }

    fn mechanism(&self) -> Option<&GridGaussian> {
        Some(self.mechanism.grid())
    }

    fn l2_sensitivity(&self) -> f64 {
        self.mechanism.l2_sensitivity()
    }

    fn noises(&self) -> u32 {
        self.config.parameters().trust.noises()
    }

    fn add_if<T: Scalar>(
        &self,
        selected: bool,
        _: u32,
        vector: &[T],
        sums: &mut [i64],
    ) -> Result<Outcome, EncodeError> {
        self.encoder.add_if(selected, vector, &[1.0], sums)
    }
}
