//! What hides the contributions of this device where there are two servers: which masks were used
//! is in flash before one is made.

use firmware_example::reset::{Flash, SLOT, Stop};
use heapless::Vec;
use sordino_core::digest::Digest;
use sordino_core::federated::prior::JointVectors;
use sordino_core::federated::shares::{
    AgentKey, Attempts, Contribution, HideError, Modulus, PublicKey, ReserveError, SecretKey,
    Store, Trust,
};
use sordino_core::federated::{Encoding, exchange::Protocol};
use sordino_core::snapshot;

use crate::fatal::Fatal;
use crate::tls::sha256;

/// The first of the two slots of the attempts.
const MASKS: usize = 2;
/// Numbers of a contribution that is hidden, and of a release that is kept, at most.
pub const NUMBERS_MAX: usize = 40;

/// Bytes of so many numbers behind a mask, at most.
pub const fn hidden_max(numbers: usize) -> usize {
    Modulus::Bits64.hidden_len(numbers)
}
/// Bytes of a hidden contribution at most.
pub const HIDDEN_MAX: usize = hidden_max(NUMBERS_MAX);

/// The secret half of the key of this device's masks. A board draws it once, and anew whenever its
/// pages are erased: with the same secret and without the attempts a mask would serve twice. Here
/// it is what the device was given.
pub fn key(secret: &[u8; 32]) -> SecretKey {
    SecretKey::new(sha256(&[b"sordino masks of a device", secret]))
}

/// What the terms say about servers must be what the invitation says.
///
/// **Errors**: [`Fatal::Given`].
pub fn agreed<H>(protocol: &Protocol, helper: Option<&H>) -> Result<(), Fatal> {
    let trust = match protocol {
        Protocol::Prior(prior) => prior.config.parameters().trust,
        Protocol::Campaign(campaign) => campaign.config.parameters().trust,
        Protocol::Draws(_) | Protocol::Vote(_) | Protocol::Own(_) => Trust::OneServer,
    };
    match (trust, helper) {
        (Trust::OneServer, None) | (Trust::TwoServers, Some(_)) => Ok(()),
        (Trust::OneServer, Some(_)) => Err(Fatal::Given(
            "a helper is named, and one server would see everything",
        )),
        (Trust::TwoServers, None) => Err(Fatal::Given("two servers, and no key of the second")),
    }
}

/// The key that is shared with the helper, and the attempts as flash has them.
pub struct Masks {
    key: AgentKey,
    attempts: Attempts,
    number: u32,
}

/// Where attempts are kept.
struct Slots<'s, 'f> {
    flash: &'s mut Flash<'f>,
    number: &'s mut u32,
}

impl Store for Slots<'_, '_> {
    type Error = Stop;

    fn store(&mut self, attempts: &Attempts) -> Result<(), Stop> {
        self.flash
            .save_at(MASKS, attempts, self.number, attempts.run())
    }
}

impl Masks {
    /// Those in flash; begun if nothing at all was stored before.
    ///
    /// **Errors**: [`Fatal`]; [`Fatal::Given`] where the device has a past and does not know which
    /// masks it used.
    pub fn load(
        flash: &mut Flash<'_>,
        run: Digest,
        own: &SecretKey,
        helper: &PublicKey,
    ) -> Result<Self, Fatal> {
        let known =
            snapshot::newest_or_first::<Attempts>([flash.slot(MASKS), flash.slot(MASKS + 1)], &run);
        // Attempts are the first that is written, so whatever else there is was written after them.
        let mut others =
            (0..flash.bytes.len() / SLOT).filter(|slot| !(MASKS..MASKS + 2).contains(slot));
        if matches!(known, Ok(None)) && others.any(|slot| !flash.is_blank(slot)) {
            return Err(Fatal::Given(
                "which masks were used is not known any more: it needs a new secret",
            ));
        }
        let (number, attempts) = flash.load_at(MASKS, Attempts::new(run), &run)?;
        if *attempts.run() != run {
            return Err(Fatal::Given("masks of another run"));
        }
        let key = own
            .with_helper(helper)
            .map_err(|_| Fatal::Given("the key of the helper"))?;
        Ok(Masks {
            key,
            attempts,
            number,
        })
    }

    /// How many masks were used: each was stored once, and before the first that there is none.
    pub fn used(&self) -> u32 {
        self.number.saturating_sub(1)
    }

    /// Attempt and share of a contribution. That the attempt is used is in flash then.
    ///
    /// **Errors**: [`Fatal`]; nothing may be sent.
    pub fn hide(
        &mut self,
        epoch: u32,
        encoding: &JointVectors,
        upload: &[f32],
        flash: &mut Flash<'_>,
    ) -> Result<Vec<u8, HIDDEN_MAX>, Fatal> {
        let mut integers = [0; NUMBERS_MAX];
        let integers = integers
            .get_mut(..encoding.sums_len())
            .ok_or(Fatal::Given("a contribution too long"))?;
        let Masks {
            key,
            attempts,
            number,
        } = self;
        let contribution = Contribution {
            epoch,
            encoding,
            numbers: upload,
        };
        let mut out = Vec::new();
        // It has room for the longest.
        let _ = out.resize_default(HIDDEN_MAX);
        let hidden = key.hide(
            contribution,
            attempts,
            &mut Slots { flash, number },
            integers,
            &mut out,
        );
        let len = hidden.map_err(|error| match error {
            HideError::Reserve(ReserveError::Store(stop)) => Fatal::Flash(stop),
            other => Fatal::Hide(other),
        })?;
        out.truncate(len);
        Ok(out)
    }
}
