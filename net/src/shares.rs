//! Two servers on a network: what an agent sends in place of numbers, and what everybody computes
//! from the terms.
//!
//! | who | here |
//! |---|---|
//! | agent | one message to the leader: a frame without numbers, and behind it a [`Shared`] |
//! | leader | [`sordino_host::shares::Collection`], and the requests of [`crate::help`] |
//! | helper | [`crate::help`] |
//!
//! **Format**: frame ‖ attempt (4 bytes, little-endian) ‖ share, the last two as
//! [`AgentKey::hide`](sordino_core::federated::shares::AgentKey::hide) writes them. An agent that
//! has nothing to give sends the frame alone. The attempt is that of the mask, not that of the
//! round.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sordino_core::federated::exchange::{Agreement, Protocol};
use sordino_core::federated::shares::{ATTEMPT_LEN, Modulus, PublicKey, Trust};
use sordino_core::privacy::mechanism::gaussian::GaussianError;
use sordino_core::wire::{Header, ScalarTag, WireError, frame_len_max};
use sordino_host::hex::{from_hex, hex};
use sordino_host::shares::HelperPlan;

/// Bytes of a frame's checksum.
const CHECKSUM: usize = 4;

/// Who is trusted with contributions, by these numbers.
pub fn trust(protocol: &Protocol) -> Trust {
    match protocol {
        Protocol::Draws(_) | Protocol::Vote(_) | Protocol::Own(_) => Trust::OneServer,
        Protocol::Prior(prior) => prior.config.parameters().trust,
        Protocol::Campaign(campaign) => campaign.config.parameters().trust,
    }
}

/// The releases as a helper sees them; nothing where there is one server.
///
/// **Errors**: [`GaussianError`] for multipliers that no mechanism has.
pub fn plan(agreement: &Agreement) -> Result<Option<HelperPlan>, GaussianError> {
    let (grid_exponent, multipliers) = match &agreement.protocol {
        protocol if trust(protocol) == Trust::OneServer => return Ok(None),
        Protocol::Draws(_) | Protocol::Vote(_) | Protocol::Own(_) => return Ok(None),
        Protocol::Prior(prior) => (
            prior.config.parameters().grid_exponent,
            &prior.noise_multipliers,
        ),
        Protocol::Campaign(campaign) => (
            campaign.config.parameters().grid_exponent,
            &campaign.noise_multipliers,
        ),
    };
    let agents = agreement.protocol.agents();
    let numbers = agreement.protocol.upload_len();
    HelperPlan::new(
        agreement.digest(),
        agents,
        numbers,
        grid_exponent,
        multipliers,
    )
    .map(Some)
}

/// The public half of an X25519 key of an agent or a helper, as text: 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MaskKey(pub [u8; 32]);

impl MaskKey {
    /// As cryptography takes it.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0)
    }
}

impl From<PublicKey> for MaskKey {
    fn from(PublicKey(bytes): PublicKey) -> Self {
        MaskKey(bytes)
    }
}

impl fmt::Display for MaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for MaskKey {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text)
            .map(MaskKey)
            .ok_or("a key of masks is 64 hexadecimal digits")
    }
}

impl From<MaskKey> for String {
    fn from(key: MaskKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for MaskKey {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Bytes of the longest message of an agent of two servers that contributes so many numbers.
pub(crate) fn message_len_max(numbers: usize) -> usize {
    frame_len_max(ScalarTag::F64, 0) + Modulus::Bits64.hidden_len(numbers)
}

/// A share with the attempt of its mask, as it follows a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared<'b> {
    /// The attempt of the mask.
    pub attempt: u32,
    /// x − r, little-endian.
    pub share: &'b [u8],
}

impl<'b> Shared<'b> {
    /// What follows a frame; nothing if there is nothing, or less than an attempt.
    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        let (attempt, share) = bytes.split_first_chunk::<ATTEMPT_LEN>()?;
        Some(Shared {
            attempt: u32::from_le_bytes(*attempt),
            share,
        })
    }
}

/// A message cut behind its frame, whose header says how long it is.
///
/// **Errors**: [`WireError::Header`], [`WireError::Truncated`]. Nothing else of the frame is
/// judged.
pub fn split(message: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    let (header, rest) =
        postcard::take_from_bytes::<Header>(message).map_err(|_| WireError::Header)?;
    let numbers = (header.len as usize).saturating_mul(header.scalar.bytes());
    let needed = (message.len() - rest.len())
        .saturating_add(numbers)
        .saturating_add(CHECKSUM);
    message
        .split_at_checked(needed)
        .ok_or(WireError::Truncated {
            len: message.len(),
            needed,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_core::wire::{Kind, VERSION, decode, encode};

    #[test]
    fn a_message_is_cut_behind_its_frame_and_no_shorter() {
        let kind = Kind::Upload;
        let scalar = ScalarTag::F64;
        let header = Header {
            version: VERSION,
            kind,
            scalar,
            deployment: 1,
            config: 2,
            chain: 3,
            agent: 4,
            round: 5,
            attempt: 0,
            len: 0,
        };
        let mut frame = vec![0; frame_len_max(scalar, 0)];
        let used = encode::<f64>(header, &[], &mut frame).unwrap();
        frame.truncate(used);
        let mut message = frame.clone();
        let share = [7; 204];
        message.extend_from_slice(&9u32.to_le_bytes());
        message.extend_from_slice(&share);
        assert!(
            message.len() <= 300 && message.len() <= message_len_max(51),
            "{} bytes",
            message.len()
        );
        let (front, behind) = split(&message).unwrap();
        assert_eq!(
            (front, Shared::read(behind)),
            (
                &frame[..],
                Some(Shared {
                    attempt: 9,
                    share: &share
                })
            )
        );
        assert_eq!(decode(front, 0).unwrap().0, header);
        assert_eq!(split(&frame), Ok((&frame[..], &[][..])), "nothing to give");
        assert_eq!(Shared::read(&[1, 2, 3]), None);
        for len in 0..frame.len() {
            assert!(split(&frame[..len]).is_err(), "{len}");
        }
    }
}
