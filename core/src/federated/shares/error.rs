//! Why shares, sums and answers are refused.

use core::fmt;

use crate::privacy::mechanism::gaussian::GaussianError;
use crate::random::NoiseError;

/// Why a share, a sum or an answer is refused; nothing changed, but where it says so.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ShareError {
    /// A slice of the wrong length.
    Length {
        /// Name of the slice.
        what: &'static str,
        /// Length of the slice given.
        len: usize,
        /// The length needed.
        expected: usize,
    },
    /// A public key of low order: whatever the secret, the common key would be known to everybody.
    WeakKey,
    /// Agents that do not increase: one of them would be counted twice.
    Order {
        /// The agent before it.
        before: u32,
        /// Agent that does not come after it.
        agent: u32,
    },
    /// A mechanism that samples: who is in the sample must be known to one server alone.
    Sampled,
    /// Integers of a magnitude that the modulus cannot hold.
    TooLarge,
    /// A receipt for another opening.
    OtherReceipt,
    /// The entropy source failed: an error of the epoch, whatever the data.
    Noise(NoiseError),
    /// The mechanism refused; never depends on a share.
    Mechanism(GaussianError),
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShareError::Length {
                what,
                len,
                expected,
            } => write!(f, "{what}: {len} entries, {expected} needed"),
            ShareError::WeakKey => f.write_str("a public key of low order: it agrees on no secret"),
            ShareError::Order { before, agent } => {
                write!(
                    f,
                    "agent {agent} after agent {before}: each agent is in a set once, in increasing order"
                )
            }
            ShareError::Sampled => {
                f.write_str("a release of a secret sample cannot be shared by two servers")
            }
            ShareError::TooLarge => f.write_str("an integer is beyond what the modulus holds"),
            ShareError::OtherReceipt => {
                f.write_str("a receipt for something else than this opening")
            }
            ShareError::Noise(error) => error.fmt(f),
            ShareError::Mechanism(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ShareError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ShareError::Noise(error) => error.source(),
            ShareError::Mechanism(error) => error.source(),
            _ => None,
        }
    }
}

impl From<GaussianError> for ShareError {
    fn from(error: GaussianError) -> Self {
        match error {
            GaussianError::Noise(error) => ShareError::Noise(error),
            other => ShareError::Mechanism(other),
        }
    }
}

impl From<NoiseError> for ShareError {
    fn from(error: NoiseError) -> Self {
        ShareError::Noise(error)
    }
}
