//! What hides contributions where there are two servers: which mask is used is in flash before the
//! mask exists, so that none serves twice. Two contributions behind one mask would show their
//! difference.
//!
//! **Power cuts, not rot.** The map gives the item before where it cannot read the newest, and
//! nothing where a whole page is lost. If a page may rot, keep the secret in the item of the
//! attempts, so that they are lost together, or a second copy in pages of its own: docs/reset.md.

use core::fmt::Debug;

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::CacheImpl;
use sordino_core::digest::Digest;
use sordino_core::federated::prior::JointVectors;
use sordino_core::federated::shares::{self, AgentKey, Attempts, Contribution, SecretKey};

use crate::board;
use crate::config::NUMBERS;
use crate::store::{MASKS, PAST, STATE, Store};

/// The key that is shared with the helper, and the attempts as flash has them.
pub struct Masks {
    key: AgentKey,
    attempts: Attempts,
    /// How often they were written.
    written: u32,
}

/// What was read back from flash. **It says yes to that alone**: this is the one function that a
/// reviewer of masks reads first.
struct InFlash(Attempts);

/// Other attempts than those in flash.
#[derive(Debug)]
struct NotInFlash;

impl shares::Store for InFlash {
    type Error = NotInFlash;

    fn store(&mut self, attempts: &Attempts) -> Result<(), NotInFlash> {
        if *attempts == self.0 {
            Ok(())
        } else {
            Err(NotInFlash)
        }
    }
}

/// Says yes to everything: for finding out what the next attempts are, never for a mask.
struct Looking;

impl shares::Store for Looking {
    type Error = core::convert::Infallible;

    fn store(&mut self, _: &Attempts) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl Masks {
    /// Those in flash; begun if nothing at all was stored before.
    pub async fn load<F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
        store: &mut Store<F, C>,
        run: Digest,
    ) -> Self {
        let (written, attempts) = match store.load::<Attempts>(MASKS).await.expect("flash") {
            Some(found) => found,
            None => {
                // They are the first that is written, so whatever else there is was written after
                // them.
                let has_past = store.holds(STATE..STATE + 1).await.expect("flash")
                    || store.holds(PAST).await.expect("flash");
                assert!(
                    !has_past,
                    "which masks were used is lost: take a new secret, a new invitation and an erased flash"
                );
                let first = Attempts::new(run);
                store.save(MASKS, &first, 0).await.expect("flash");
                (0, first)
            }
        };
        assert_eq!(*attempts.run(), run, "masks of another run");
        let key = SecretKey::new(board::secret())
            .with_helper(&board::helper())
            .expect("the helper's key");
        Masks {
            key,
            attempts,
            written,
        }
    }

    /// Writes attempt and share of a contribution into `out`, and returns how many bytes. That the
    /// attempt is used is in flash then; a reset before they are sent costs a mask, and asked again
    /// it takes another one.
    pub async fn hide<F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
        &mut self,
        (epoch, encoding): (u32, &JointVectors),
        numbers: &[f32; NUMBERS],
        store: &mut Store<F, C>,
        out: &mut [u8],
    ) -> usize {
        // The store of core cannot wait, and flash is waited for: it is written and read back here,
        // and judged there.
        let mut next = self.attempts.again();
        drop(
            next.reserve(epoch, &mut Looking)
                .expect("an attempt is left"),
        );
        self.written += 1;
        store.save(MASKS, &next, self.written).await.expect("flash");
        let (_, kept) = store
            .load(MASKS)
            .await
            .expect("flash")
            .expect("what was written");
        let contribution = Contribution {
            epoch,
            encoding,
            numbers: &numbers[..],
        };
        let mut integers = [0; NUMBERS];
        self.key
            .hide(
                contribution,
                &mut self.attempts,
                &mut InFlash(kept),
                &mut integers,
                out,
            )
            .expect("a contribution")
    }
}
