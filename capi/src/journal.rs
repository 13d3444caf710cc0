//! What an optimizer keeps in its flash: a log that grows to its end, or a ring of the newest
//! observations.
//!
//! | layout | slots | what a slot holds |
//! |---|---|---|
//! | log (`drop_oldest` = 0) | capacity + fits | entry 0, 1, 2, … in slot 0, 1, 2, …: points that were told or failed, and fits |
//! | ring (`drop_oldest` = 1) | capacity + 3 | observation k in slot k mod (capacity + 1); the fits by turns in the last two |
//!
//! A write never touches what the optimizer still needs: a log writes behind its end, a ring into
//! the one slot whose observation the window has left, and into the one of two slots that does not
//! hold the newest fit. So a cut leaves the state before or the state after. What a cut cannot have
//! left is refused when the flash is opened.

use core::num::NonZeroU32;

use sordino_core::digest::Digest;
use sordino_core::optimizer::{LogEntry, Optimizer as CoreOptimizer, Parameters};
use sordino_core::snapshot::{SnapshotError, Stored, max_bytes, read};

use crate::callback::{Flash, SLOT_MAX};
use crate::status::{Refused, Status};

/// Slots of a ring beside its capacity: one to write into, and two for fits.
pub const SORDINO_OPTIMIZER_RING: usize = 3;

/// An optimizer's flash, and how much of it is in use.
pub(crate) struct Journal {
    flash: Flash,
    agreement: Digest,
    layout: Layout,
    /// Slots there are.
    slots: u32,
    /// Entries of the log.
    entries: u32,
    /// Observations and failures told since the beginning.
    told: u32,
    /// Fits since the beginning; of a ring.
    fits: u32,
    /// Observations told before the last fit.
    fitted_at: Option<u32>,
}

/// How slots are used.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Layout {
    /// Entries one behind the other, up to its end.
    Log,
    /// The newest observations, as many as the window holds.
    Ring {
        /// Slots of observations: one more than the window holds.
        places: NonZeroU32,
    },
}

impl Layout {
    /// A ring for a window of so many observations.
    pub(crate) const fn ring(capacity: u32) -> Self {
        Layout::Ring {
            places: NonZeroU32::MIN.saturating_add(capacity),
        }
    }
}

/// The newest fit of a ring.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct RingFit(Parameters<f32>);

impl Stored for RingFit {
    const KIND: u8 = 0xf5;
    // Lengthscales, noise, how much was told.
    const BODY_MAX: usize = max_bytes::<LogEntry<f32>>() - (max_bytes::<Nothing>() + 1);
}

/// To know what a slot holds beside its body.
#[derive(serde::Serialize, serde::Deserialize)]
struct Nothing;

impl Stored for Nothing {
    const KIND: u8 = 0xf6;
    const BODY_MAX: usize = 0;
}

/// What a slot holds that belongs to nobody else.
enum Found<S> {
    Erased,
    /// A write that was cut off, or bytes that changed.
    Torn,
    /// The callback failed.
    Unreadable,
    Whole(u32, S),
}

impl Journal {
    /// Looks at every slot.
    ///
    /// Refused: what belongs to another kind, version or configuration; what no cut can have left;
    /// a slot that cannot be read with an entry behind it. Slots at the end that cannot be read are
    /// none.
    pub(crate) fn open(
        flash: Flash,
        agreement: Digest,
        layout: Layout,
        slots: u32,
    ) -> Result<Self, Refused> {
        let mut journal = Journal {
            flash,
            agreement,
            layout,
            slots,
            entries: 0,
            told: 0,
            fits: 0,
            fitted_at: None,
        };
        match layout {
            Layout::Log => journal.open_log()?,
            Layout::Ring { places } => journal.open_ring(places)?,
        }
        Ok(journal)
    }

    fn open_log(&mut self) -> Result<(), Refused> {
        let mut ended = false;
        let mut unreadable = None;
        for slot in 0..self.slots {
            match self.look::<LogEntry<f32>>(slot)? {
                Found::Whole(number, entry) if number == slot && !ended => {
                    self.entries += 1;
                    match entry {
                        LogEntry::Told { .. } | LogEntry::Failed { .. } => self.told += 1,
                        LogEntry::Fitted(parameters) => self.fitted_at = Some(parameters.told),
                        LogEntry::Forgotten { .. } => return Err(Status::StoredDamaged.into()),
                    }
                }
                Found::Erased => ended = true,
                // The last write was cut off: it is made again.
                Found::Torn if !ended => ended = true,
                Found::Unreadable => {
                    ended = true;
                    unreadable.get_or_insert(slot);
                }
                // Something lies behind the end.
                Found::Whole(..) | Found::Torn if unreadable.is_some() => {
                    return Err(Status::Flash.into());
                }
                Found::Whole(..) | Found::Torn => return Err(Status::StoredDamaged.into()),
            }
        }
        self.slots = unreadable.unwrap_or(self.slots);
        if self.slots == 0 {
            Err(Status::Flash.into())
        } else {
            Ok(())
        }
    }

    fn open_ring(&mut self, places: NonZeroU32) -> Result<(), Refused> {
        for slot in 0..places.get() {
            match self.look::<LogEntry<f32>>(slot)? {
                Found::Whole(number, LogEntry::Told { .. } | LogEntry::Failed { .. })
                    if number % places == slot =>
                {
                    self.told = self.told.max(number.saturating_add(1));
                }
                Found::Whole(..) => return Err(Status::StoredDamaged.into()),
                Found::Unreadable => return Err(Status::Flash.into()),
                Found::Erased | Found::Torn => {}
            }
        }
        // Everything in the window is there, and nothing where nothing was written yet. What the
        // next observation is written into may be anything.
        let turn = self.told - self.told % places;
        for slot in (0..places.get()).filter(|slot| turn + slot != self.told) {
            let newest = turn + slot;
            let expected = if newest < self.told {
                Some(newest)
            } else {
                newest.checked_sub(places.get())
            };
            let found = match self.look::<LogEntry<f32>>(slot)? {
                Found::Whole(number, _) => Some(number),
                Found::Erased => None,
                Found::Unreadable => return Err(Status::Flash.into()),
                Found::Torn => return Err(Status::StoredDamaged.into()),
            };
            if found != expected {
                return Err(Status::StoredDamaged.into());
            }
        }
        let fit = self.newest_fit(places)?;
        // The newest observation may have rotted, which looks like a cut; no more than that one.
        if fit
            .as_ref()
            .is_some_and(|(_, fit)| fit.0.told > self.told.saturating_add(1))
        {
            return Err(Status::StoredDamaged.into());
        }
        (self.fits, self.fitted_at) = fit.map_or((0, None), |(number, fit)| {
            (number.saturating_add(1), Some(fit.0.told))
        });
        Ok(())
    }

    /// The newest fit of a ring, and its number. The first one was written twice, so that one whole
    /// slot is the least.
    fn newest_fit(&self, places: NonZeroU32) -> Result<Option<(u32, RingFit)>, Refused> {
        let slot = places.get();
        let whole = |found: &Found<RingFit>, turn: u32| match found {
            Found::Whole(number, fit) if number % 2 == turn => Some((*number, fit.clone())),
            _ => None,
        };
        let first = self.look::<RingFit>(slot)?;
        let second = self.look::<RingFit>(slot + 1)?;
        match (whole(&first, 0), whole(&second, 1)) {
            (Some(one), Some(other)) => Ok(Some(if other.0 > one.0 { other } else { one })),
            (Some(one), None) | (None, Some(one)) => Ok(Some(one)),
            (None, None) => match (first, second) {
                (Found::Unreadable, _) | (_, Found::Unreadable) => Err(Status::Flash.into()),
                // Nothing yet, or the very first write was cut off.
                (Found::Erased | Found::Torn, Found::Erased) => Ok(None),
                _ => Err(Status::StoredDamaged.into()),
            },
        }
    }

    /// What a slot holds. Refused if it is whole and somebody else's, or cannot be.
    fn look<S: Stored>(&self, slot: u32) -> Result<Found<S>, Refused> {
        const { assert!(max_bytes::<S>() <= SLOT_MAX) };
        let mut bytes = [0xff; SLOT_MAX];
        let (bytes, _) = bytes
            .split_at_mut_checked(max_bytes::<S>())
            .ok_or(Status::TooShort)?;
        if self.flash.get(slot, bytes).is_err() {
            return Ok(Found::Unreadable);
        }
        match read(bytes, &self.agreement) {
            Ok(Some((number, item))) => Ok(Found::Whole(number, item)),
            Ok(None) => Ok(Found::Erased),
            Err(SnapshotError::Checksum | SnapshotError::Slot { .. }) => Ok(Found::Torn),
            Err(error) => Err(error.into()),
        }
    }

    /// An entry that was whole when the flash was opened.
    fn entry<S: Stored>(&self, slot: u32, expected: u32) -> Result<S, Refused> {
        match self.look(slot)? {
            Found::Whole(number, item) if number == expected => Ok(item),
            Found::Unreadable => Err(Status::Flash.into()),
            _ => Err(Status::StoredDamaged.into()),
        }
    }

    /// Makes the optimizer what the flash says.
    pub(crate) fn replay(
        &self,
        optimizer: &mut CoreOptimizer<f32, &'static mut [f32]>,
    ) -> Result<(), Refused> {
        let mut failed = None;
        let whole = |entry: Result<LogEntry<f32>, Refused>| match entry {
            Ok(entry) => Some(entry),
            Err(refused) => {
                failed = Some(refused);
                None
            }
        };
        let replayed = match self.layout {
            Layout::Log => optimizer.replay(
                (0..self.entries)
                    .map(|slot| self.entry(slot, slot))
                    .map_while(whole),
            ),
            Layout::Ring { places } => {
                let first = self.told.saturating_sub(places.get() - 1);
                let forgotten = LogEntry::Forgotten {
                    observations: first,
                };
                let fitted = match self.fits {
                    0 => None,
                    _ => self
                        .newest_fit(places)?
                        .map(|(_, fit)| LogEntry::Fitted(fit.0)),
                };
                let window = (first..self.told).map(|number| self.entry(number % places, number));
                optimizer.replay(
                    [forgotten]
                        .into_iter()
                        .chain(fitted)
                        .chain(window.map_while(whole)),
                )
            }
        };
        match (failed, replayed) {
            (Some(refused), _) => Err(refused),
            (None, Ok(())) => Ok(()),
            (None, Err(_)) => Err(Status::StoredInadmissible.into()),
        }
    }

    /// Whether there is a slot for another entry.
    pub(crate) fn has_room(&self) -> bool {
        match self.layout {
            Layout::Log => self.entries < self.slots,
            Layout::Ring { .. } => self.told < u32::MAX && self.fits < u32::MAX - 1,
        }
    }

    /// Whether a fit may be stored: no slot of an observation is used for it.
    pub(crate) fn has_room_for_fit(&self, capacity: u32) -> bool {
        match self.layout {
            Layout::Log => {
                self.has_room() && self.entries - self.told < self.slots.saturating_sub(capacity)
            }
            Layout::Ring { .. } => self.has_room(),
        }
    }

    /// Entries in use.
    pub(crate) fn stored(&self) -> u32 {
        match self.layout {
            Layout::Log => self.entries,
            Layout::Ring { places } => self.told.min(places.get() - 1) + u32::from(self.fits > 0),
        }
    }

    /// Writes down an observation. Whether the optimizer in memory is another one from now on: a
    /// ring forgot something.
    pub(crate) fn tell(&mut self, entry: &LogEntry<f32>) -> Result<bool, Refused> {
        match self.layout {
            Layout::Log => {
                self.flash
                    .store(self.entries, entry, self.entries, &self.agreement)?;
                (self.entries, self.told) = (self.entries + 1, self.told + 1);
                Ok(false)
            }
            Layout::Ring { places } => {
                self.flash
                    .store(self.told % places, entry, self.told, &self.agreement)?;
                self.told += 1;
                Ok(self.told >= places.get())
            }
        }
    }

    /// Writes down a fit. Whether the optimizer in memory is another one from now on: a ring holds
    /// for all of its observations.
    pub(crate) fn fit(&mut self, parameters: Parameters<f32>) -> Result<bool, Refused> {
        match self.layout {
            Layout::Log => {
                let told = parameters.told;
                let entry = LogEntry::Fitted(parameters);
                self.flash
                    .store(self.entries, &entry, self.entries, &self.agreement)?;
                (self.entries, self.fitted_at) = (self.entries + 1, Some(told));
                Ok(false)
            }
            Layout::Ring { places } => {
                let told = parameters.told;
                let fit = RingFit(parameters);
                let again = if self.fits == 0 { 2 } else { 1 };
                for _ in 0..again {
                    self.flash.store(
                        places.get() + self.fits % 2,
                        &fit,
                        self.fits,
                        &self.agreement,
                    )?;
                    (self.fits, self.fitted_at) = (self.fits + 1, Some(told));
                }
                Ok(true)
            }
        }
    }
}

/// Erases slots from the first on: a cut in between leaves what is refused, not what is taken for
/// less. Of a log, slots at the end that cannot be read are none.
pub(crate) fn erase(flash: &Flash, layout: Layout, slots: u32) -> Result<(), Refused> {
    let erased = [0xff; max_bytes::<LogEntry<f32>>()];
    for slot in 0..slots {
        let readable = flash
            .get(slot, &mut [0; max_bytes::<LogEntry<f32>>()])
            .is_ok();
        if !readable && layout == Layout::Log && slot > 0 {
            return Ok(());
        }
        flash.put(slot, &erased)?;
    }
    Ok(())
}
