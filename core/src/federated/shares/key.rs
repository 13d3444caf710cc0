//! Keys: one agreement of X25519 for an agent in a whole run, and a key for each mask by
//! HKDF-SHA-256.
//!
//! **Equation**: PRK = HKDF-Extract(salt = "sordino shares 1", X25519(a, B) ‖ A ‖ B) for the
//! agent's key pair (a, A) and the helper's (b, B); key of a mask = HKDF-Expand(PRK, run ‖ epoch ‖
//! attempt ‖ bits, 32), numbers little-endian, four bytes each, the last one byte.
//!
//! **Source**: RFC 7748 (X25519, and its check for an all-zero result), RFC 5869 (HKDF).

use core::fmt;

use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};
use zeroize::Zeroizing;

use super::attempts::Attempt;
use super::error::ShareError;
use super::mask::Mask;
use super::sum::Modulus;
use crate::digest::Digest;

/// Names the protocol and its version.
const SALT: &[u8] = b"sordino shares 1";

/// The public half of a key of an agent or of a helper: 32 bytes, any 32 bytes.
///
/// **Example**: that of [the module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

/// The secret half. Prints nothing of it, and is wiped when it is dropped.
///
/// **Example**: that of [the module](super).
pub struct SecretKey(Zeroizing<[u8; 32]>);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

impl SecretKey {
    /// A key of 32 bytes from a cryptographic generator, or as it was stored.
    pub fn new(bytes: [u8; 32]) -> Self {
        SecretKey(Zeroizing::new(bytes))
    }

    /// The bytes, to be stored where only its owner reads.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        self.0.clone()
    }

    /// The public half, for an invitation.
    ///
    /// **Cost**: one multiplication on Curve25519.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(x25519(*self.0, X25519_BASEPOINT_BYTES))
    }

    /// What an agent, whose key this is, has in common with a helper.
    ///
    /// **Cost**: two multiplications on Curve25519.
    ///
    /// **Errors**: [`ShareError::WeakKey`].
    pub fn with_helper(&self, helper: &PublicKey) -> Result<AgentKey, ShareError> {
        self.agree(helper, &self.public_key(), helper).map(AgentKey)
    }

    /// What a helper, whose key this is, has in common with an agent.
    ///
    /// **Cost, Errors**: as [`SecretKey::with_helper`].
    pub fn with_agent(&self, agent: &PublicKey) -> Result<HelperKey, ShareError> {
        self.agree(agent, agent, &self.public_key()).map(HelperKey)
    }

    fn agree(
        &self,
        other: &PublicKey,
        agent: &PublicKey,
        helper: &PublicKey,
    ) -> Result<Common, ShareError> {
        let shared = Zeroizing::new(x25519(*self.0, other.0));
        // All bits are looked at, so that time tells nothing of the others.
        if shared.iter().fold(0, |any, byte| any | byte) == 0 {
            return Err(ShareError::WeakKey);
        }
        let mut input = Zeroizing::new([0; 96]);
        let parts = shared.iter().chain(&agent.0).chain(&helper.0);
        input
            .iter_mut()
            .zip(parts)
            .for_each(|(to, from)| *to = *from);
        Ok(Common(Zeroizing::new(
            Hkdf::<Sha256>::extract(Some(SALT), &*input).0.into(),
        )))
    }
}

/// What agent and helper have in common. Wiped when it is dropped.
struct Common(Zeroizing<[u8; 32]>);

impl Common {
    fn mask(&self, run: &Digest, epoch: u32, attempt: u32, modulus: Modulus) -> Mask {
        let mut key = Zeroizing::new([0; 32]);
        let epoch = epoch.to_le_bytes();
        let attempt_bytes = attempt.to_le_bytes();
        let info: [&[u8]; 4] = [&run.0, &epoch, &attempt_bytes, &[modulus.bits() as u8]];
        // invariant: 32 bytes are a length of both functions, whatever the inputs.
        let expanded =
            Hkdf::<Sha256>::from_prk(&*self.0).map(|prk| prk.expand_multi_info(&info, &mut *key));
        debug_assert!(matches!(expanded, Ok(Ok(()))));
        Mask::new(&key, attempt, modulus)
    }
}

/// What an agent has in common with the helper: masks for attempts that were stored. Prints nothing
/// of it.
///
/// **Example**: that of [the module](super).
pub struct AgentKey(Common);

impl fmt::Debug for AgentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentKey")
    }
}

impl AgentKey {
    /// The mask of an attempt, which is spent.
    pub fn mask(&self, attempt: Attempt, modulus: Modulus) -> Mask {
        let Attempt { run, epoch, number } = attempt;
        self.0.mask(&run, epoch, number, modulus)
    }
}

/// What a helper has in common with one agent. It makes no masks to hide anything with:
/// [`super::HelperRelease`] adds them up. Prints nothing of it.
///
/// **Example**: that of [the module](super).
pub struct HelperKey(Common);

impl fmt::Debug for HelperKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HelperKey")
    }
}

impl HelperKey {
    pub(super) fn mask(&self, run: &Digest, epoch: u32, attempt: u32, modulus: Modulus) -> Mask {
        self.0.mask(run, epoch, attempt, modulus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_agree_and_nobody_agrees_with_a_key_of_low_order() {
        let agent = SecretKey::new([3; 32]);
        let helper = SecretKey::new([4; 32]);
        let one = agent.with_helper(&helper.public_key());
        let other = helper.with_agent(&agent.public_key());
        assert_eq!(one.unwrap().0.0, other.unwrap().0.0);
        // The other way round it is another key: who is agent and who is helper is part of it.
        assert_ne!(
            agent.with_agent(&helper.public_key()).unwrap().0.0,
            agent.with_helper(&helper.public_key()).unwrap().0.0
        );
        let mut one = [0; 32];
        one[0] = 1;
        for weak in [[0; 32], one] {
            assert_eq!(
                agent.with_helper(&PublicKey(weak)).unwrap_err(),
                ShareError::WeakKey
            );
        }
    }
}
