//! What a member keeps in its flash, and in which order.
//!
//! | slots | what | written |
//! |---|---|---|
//! | 0, 1 | its state | before every answer |
//! | 2, 3 | under two servers: which masks were used | before anything else, and before every mask |
//! | 4 and up | the releases, [`PIECE`] numbers a slot | before one is learned |
//! | behind them | an observation each | before it counts |

use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::Entry;
use sordino_core::federated::prior::{MemberState, PriorProtocol, Released};
use sordino_core::federated::shares::{Attempts, Store};
use sordino_core::snapshot::{Stored, max_bytes};

use crate::callback::Flash;
use crate::status::{Refused, Status};

/// Bytes of each slot of a member; SORDINO_MEMBER_SLOTS says how many it has.
pub const SORDINO_MEMBER_SLOT: usize = 88;
/// Numbers of a release that one slot holds.
pub const SORDINO_MEMBER_PIECE: usize = 16;

/// The first slot of the attempts.
const MASKS: u32 = 2;
/// That of the releases.
const RELEASES: u32 = 4;

/// A part of a release.
type Piece = Released<f32, SORDINO_MEMBER_PIECE>;

const _: () = assert!(max_bytes::<Piece>() == SORDINO_MEMBER_SLOT);
const _: () = assert!(max_bytes::<Kept>() <= SORDINO_MEMBER_SLOT);
const _: () = assert!(max_bytes::<Attempts>() <= SORDINO_MEMBER_SLOT);
const _: () = assert!(max_bytes::<Entry<f32>>() <= SORDINO_MEMBER_SLOT);

/// The state of a member, and whether the epoch of its last frame was over when that came.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) state: MemberState<f32>,
    pub(super) is_missed: bool,
}

impl Stored for Kept {
    const KIND: u8 = 0xf7;
    const BODY_MAX: usize = MemberState::<f32>::BODY_MAX + 1;
}

/// The flash of a member, divided.
pub(super) struct Slots {
    flash: Flash,
    digest: Digest,
    /// How often the state was written.
    number: u32,
    /// Slots of one release.
    pieces: u32,
    /// The first slot of the log, and the one behind its last.
    log: (u32, u32),
}

impl Slots {
    /// The slots of a member of this protocol. `digest` is of all that must not change under what
    /// is stored.
    pub(super) fn new(
        flash: Flash,
        digest: Digest,
        protocol: &PriorProtocol,
    ) -> Result<Self, Refused> {
        let pieces = protocol
            .config
            .contribution_len()
            .div_ceil(SORDINO_MEMBER_PIECE) as u32;
        let first = RELEASES.saturating_add(pieces.saturating_mul(protocol.releases()));
        let observations = protocol
            .config
            .parameters()
            .initial_points
            .saturating_add(protocol.rounds);
        let log = (first, first.saturating_add(observations));
        Ok(Slots {
            flash,
            digest,
            number: 0,
            pieces,
            log,
        })
    }

    /// Whether all slots from `from` on are erased.
    fn is_blank(&self, from: u32) -> Result<bool, Status> {
        for slot in from..self.log.1 {
            if !self.flash.is_blank(slot, SORDINO_MEMBER_SLOT)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Which masks were used; begun if nothing at all was stored before.
    ///
    /// **Errors**: [`Status::Masks`] where the device has a past and does not know which masks it
    /// used.
    pub(super) fn attempts(&self, run: Digest) -> Result<(u32, Attempts), Refused> {
        if let Some((number, attempts)) = self.flash.find_at::<Attempts>(MASKS, &self.digest)? {
            if *attempts.run() != run {
                return Err(Status::StoredForeign.into());
            }
            return Ok((number, attempts));
        }
        // Attempts are the first that is written, so whatever else there is was written after them.
        let is_new = self.flash.is_blank(0, SORDINO_MEMBER_SLOT)?
            && self.flash.is_blank(1, SORDINO_MEMBER_SLOT)?;
        if !(is_new && self.is_blank(RELEASES)?) {
            return Err(Status::Masks.into());
        }
        self.flash.load_at(MASKS, Attempts::new(run), &self.digest)
    }

    /// The state, or `first`, which is then written.
    ///
    /// **Errors**: [`Status::StoredDamaged`] for a state that is lost while what followed from it
    /// is not.
    pub(super) fn state(&mut self, first: Kept) -> Result<Kept, Refused> {
        let (number, kept) = match self.flash.find_at(0, &self.digest)? {
            Some(found) => found,
            None if !self.is_blank(RELEASES)? => return Err(Status::StoredDamaged.into()),
            None => self.flash.load(first, &self.digest)?,
        };
        self.number = number;
        Ok(kept)
    }

    pub(super) fn save(&mut self, kept: &Kept) -> Result<(), Refused> {
        self.flash.save(kept, &mut self.number, &self.digest)
    }

    fn piece(&self, index: u32, piece: usize) -> (u32, u32) {
        let number = index
            .saturating_mul(self.pieces)
            .saturating_add(piece as u32);
        (RELEASES.saturating_add(number), number)
    }

    /// Writes the numbers of release `index`; none if there was no release.
    pub(super) fn write_release(&self, index: u32, numbers: &[f32]) -> Result<(), Refused> {
        let pieces = numbers.chunks(SORDINO_MEMBER_PIECE).chain([&[][..]]);
        for (i, part) in pieces.take(self.pieces as usize).enumerate() {
            let (slot, number) = self.piece(index, i);
            let part = Piece::new(part).ok_or(Status::Length)?;
            self.flash.store(slot, &part, number, &self.digest)?;
        }
        Ok(())
    }

    /// Reads the numbers of release `index`, and says whether there was one.
    pub(super) fn read_release(&self, index: u32, numbers: &mut [f32]) -> Result<bool, Refused> {
        for (i, part) in numbers.chunks_mut(SORDINO_MEMBER_PIECE).enumerate() {
            let (slot, number) = self.piece(index, i);
            let found: Piece = self
                .flash
                .entry(slot, number, &self.digest)?
                .ok_or(Status::StoredDamaged)?;
            match found.numbers() {
                [] if i == 0 => return Ok(false),
                stored if stored.len() == part.len() => {
                    part.iter_mut()
                        .zip(stored)
                        .for_each(|(to, from)| *to = *from);
                }
                _ => return Err(Status::StoredDamaged.into()),
            }
        }
        Ok(true)
    }

    /// Puts what was observed into the log.
    pub(super) fn read_log(
        &self,
        observations: u32,
        offset: f64,
        log: &mut [f32],
    ) -> Result<(), Refused> {
        for i in 0..observations {
            let entry: Option<Entry<f32>> =
                self.flash
                    .entry(self.log.0.saturating_add(i), i, &self.digest)?;
            entry
                .ok_or(Status::StoredDamaged)?
                .put(i, offset, log)
                .map_err(|_| Status::StoredInadmissible)?;
        }
        Ok(())
    }

    /// Writes observation `number`, once; what is stored for it already counts in place of `y`.
    pub(super) fn observation(&self, number: u32, candidate: u32, y: f32) -> Result<f32, Refused> {
        let slot = self.log.0.saturating_add(number);
        let stored: Option<Entry<f32>> = self.flash.entry(slot, number, &self.digest)?;
        if let Some(entry) = stored.filter(|entry| entry.candidate == candidate) {
            return Ok(entry.value);
        }
        self.flash.store(
            slot,
            &Entry {
                candidate,
                value: y,
            },
            number,
            &self.digest,
        )?;
        Ok(y)
    }

    /// Where attempts are stored, the `number`th time.
    pub(super) fn masks<'s>(&'s self, number: &'s mut u32) -> MaskSlots<'s> {
        MaskSlots {
            slots: self,
            number,
        }
    }
}

/// Where attempts are kept.
pub(super) struct MaskSlots<'s> {
    slots: &'s Slots,
    number: &'s mut u32,
}

impl Store for MaskSlots<'_> {
    type Error = Refused;

    fn store(&mut self, attempts: &Attempts) -> Result<(), Refused> {
        let Slots { flash, digest, .. } = self.slots;
        // Another object on the same flash has used masks that this one does not know.
        for slot in [MASKS, MASKS + 1] {
            let found: Option<(u32, Attempts)> = flash.numbered(slot, digest)?;
            if found.is_some_and(|(number, _)| number > *self.number) {
                return Err(Status::Masks.into());
            }
        }
        flash.save_at(MASKS, attempts, self.number, digest)
    }
}
