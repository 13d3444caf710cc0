//! What both sides of a federation must have in common before a vector means the same to both.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::protocol::Protocol;
use crate::digest::{Digest, Frame};
use crate::domain::Candidates;
use crate::math::Scalar;
use crate::wire::{Header, Kind, ScalarTag, VERSION, prefix};

/// What the server promises about privacy, beside the numbers of the mechanism, which are in the
/// configuration.
///
/// **Example**: that of [`Agreement`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    /// The most ε, beyond which nothing is released; none without a budget.
    pub epsilon_max: Option<f64>,
    /// δ of the budget, in (0, 1).
    pub delta: f64,
    /// How long a round is open at most, in milliseconds.
    pub deadline_ms: u64,
    /// Whether a round may end before, when all have answered: that presence is then visible is
    /// part of the terms.
    pub may_close_early: bool,
}

/// Everything public that both sides compute with. Two parties with the same [`Agreement::digest`]
/// compute the same features, regions and weights, to the bit.
///
/// ```
/// use sordino_core::domain::{Candidates, Regions};
/// use sordino_core::federated::exchange::{
///     Agreement, AgreementError, Announced, DrawsProtocol, Protocol, PublicFeatures, candidates_digest,
/// };
/// use sordino_core::federated::{Aggregation, Config, Parameters};
/// use sordino_core::{kernel::Stationary, wire::ScalarTag};
///
/// let agreement = Agreement {
///     protocol: Protocol::Draws(DrawsProtocol {
///         config: Config::new(Parameters::usual(2, Regions::whole(1)?, 5, 16, Aggregation::private(6.0, 0.5, 1.0)?))?,
///         features: PublicFeatures::new(7, Stationary::SquaredExponential, 0.2, 1.0),
///     }),
///     candidates: candidates_digest(&Candidates::<f64>::grid(50, 1)?, &mut [0.0]),
///     dim: 1,
///     scalar: ScalarTag::F32,
///     deployment: 0x5eed_1e55, // drawn once, at random
///     announced: Announced { epsilon_max: Some(4.0), delta: 1e-5, deadline_ms: 60_000, may_close_early: false },
/// };
/// let mut bytes = [0; 256];
/// let stored = postcard::to_slice(&agreement, &mut bytes).unwrap();
/// assert_eq!(Agreement::from_bytes(stored)?.digest(), agreement.digest());
/// assert_eq!(Agreement::from_bytes(&[0xff; 8]), Err(AgreementError));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The method, with its public numbers.
    pub protocol: Protocol,
    /// [`candidates_digest`] of the list that may be queried.
    pub candidates: Digest,
    /// D, coordinates of a candidate.
    pub dim: u32,
    /// The format that agents compute with and frames carry.
    pub scalar: ScalarTag,
    /// The run: a random public number, drawn once. **Never a seed.**
    pub deployment: u64,
    /// The privacy that is promised.
    pub announced: Announced,
}

/// Bytes that are not an admissible agreement.
///
/// **Example**: that of [`Agreement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AgreementError;

impl fmt::Display for AgreementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are no admissible agreement of a federation")
    }
}

impl core::error::Error for AgreementError {}

impl Agreement {
    /// Reads the postcard form, as `sordino export` writes it into a program. The configuration is
    /// checked as it is read.
    ///
    /// **Errors**: [`AgreementError`], also for bytes behind the end.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AgreementError> {
        match postcard::take_from_bytes(bytes) {
            Ok((agreement, [])) => Ok(agreement),
            _ => Err(AgreementError),
        }
    }

    /// 256 bits that are compared when an agent joins; frames carry the first 64.
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }

    /// Numbers of a frame from the server at most: those of one release.
    pub fn frame_numbers_max(&self) -> u32 {
        self.protocol.released_len() as u32
    }
}

/// The header of a frame under an agreement with this digest; the payload decides format and
/// length.
pub(super) fn header(
    deployment: u64,
    agreement: &Digest,
    kind: Kind,
    agent: u32,
    round: u32,
) -> Header {
    let config = prefix(agreement);
    let version = VERSION;
    let scalar = ScalarTag::F64;
    Header {
        version,
        kind,
        scalar,
        deployment,
        config,
        chain: 0,
        agent,
        round,
        attempt: 0,
        len: 0,
    }
}

/// SHA-256 of D (u32) and all coordinates in the order of the candidates, in the format of the
/// list: a 64-bit list on hosts, whatever format they compute with.
pub fn candidates_digest<T: Scalar>(candidates: &Candidates<'_, T>, point: &mut [T]) -> Digest {
    let mut frame = Frame::leaf();
    frame.u32(candidates.dim() as u32);
    for index in 0..candidates.count() {
        candidates.point(index, point);
        frame.scalars(point);
    }
    frame.end()
}
