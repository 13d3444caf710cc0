//! States and logs in a flash: one key each, replaced as a whole or not at all.
//!
//! | key of an agent | what | written |
//! |---|---|---|
//! | [`STATE`] | its state with its exchange | after every step, and before anything of the step is sent |
//! | [`MASKS`] | which masks were used, where there are two servers | before anything else, and before every mask |
//! | [`RELEASES`] and up | the releases, of which a member makes its posterior again | before one is learned |
//! | [`LOG`] and up | an observation each | before it counts |
//! | behind them | of a site of a campaign the numbers of the file, row by row | before the last frame is answered |
#![cfg_attr(
    not(feature = "agent"),
    allow(dead_code, reason = "a reporter has one item")
)]

use core::ops::Range;

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::CacheImpl;
use sequential_storage::map::MapStorage;
use sordino_core::digest::Digest;
#[cfg(not(site))]
use sordino_core::federated::exchange::AgentExchange;
use sordino_core::snapshot::{self, SnapshotError, Stored, max_bytes};

#[cfg(not(site))]
use crate::federation::OBSERVATIONS;

/// The state of an agent with its exchange.
pub const STATE: u16 = 0;
/// Which masks were used.
#[cfg_attr(
    not(two_servers),
    allow(dead_code, reason = "one server sees contributions: nothing is masked")
)]
pub const MASKS: u16 = 1;
/// The first release.
pub const RELEASES: u16 = 2;
/// The first observation, behind as many releases as an agreement can have.
pub const LOG: u16 = RELEASES + sordino_core::federated::prior::RELEASES_MAX as u16;
/// Observations of a whole run.
#[cfg(site)]
const OBSERVATIONS: usize = crate::federation::FIRST_POINTS + crate::config::QUESTIONS;
/// The first row of the numbers of a campaign's file.
#[cfg(site)]
pub const FILE: u16 = LOG + OBSERVATIONS as u16;
/// What an agent wrote after its first state.
pub const PAST: Range<u16> = RELEASES..LOG + OBSERVATIONS as u16;

/// Bytes of the state.
#[cfg(not(any(member, site)))]
const STATE_BYTES: usize = max_bytes::<(sordino_core::federated::AgentState, AgentExchange)>();
/// Bytes of the state.
#[cfg(member)]
const STATE_BYTES: usize = {
    use sordino_core::federated::prior::MemberState;
    max_bytes::<(MemberState<f32>, AgentExchange)>()
};
/// Bytes of the state.
#[cfg(site)]
const STATE_BYTES: usize = max_bytes::<crate::site::Kept>();

/// What is kept beside state, attempts and observations: how many items, and bytes of each.
#[cfg(not(any(member, site)))]
const BESIDE: (usize, usize) = (0, 0);
/// What is kept beside state, attempts and observations: releases, and bytes of each.
#[cfg(member)]
const BESIDE: (usize, usize) = {
    use sordino_core::federated::prior::Released;
    let bytes = max_bytes::<Released<f32, { crate::config::NUMBERS }>>();
    (crate::federation::RELEASES, bytes)
};
/// What is kept beside state, attempts and observations: rows of the file, and bytes of each.
#[cfg(site)]
const BESIDE: (usize, usize) = (
    crate::config::FILE_NUMBERS.div_ceil(crate::site::ROW),
    max_bytes::<crate::site::Row>(),
);

/// Bytes of the largest item.
const LARGEST: usize = if STATE_BYTES > BESIDE.1 {
    STATE_BYTES
} else {
    BESIDE.1
};
/// Bytes of the buffer that the map works in.
const BUFFER: usize = (LARGEST + 16).next_multiple_of(32);

/// Bytes of a page, the least that is erased at once.
const PAGE: usize = 4096;
/// Pages that hold all that an agent keeps in a whole run. **Give its range of the flash as many**,
/// or as many bytes in pages that are larger: without room it stops in the middle of the run, and
/// at every boot again. Counted for flash that is written in words of up to 8 bytes: give more
/// where yours are longer.
pub const PAGES: usize = {
    /// What an item takes: a header, its key, and the rest of a word.
    const fn taken(bytes: usize) -> usize {
        (8 + 2 + bytes).next_multiple_of(8)
    }
    let attempts = max_bytes::<sordino_core::federated::shares::Attempts>();
    // The state twice: the old one is there until the new one is.
    let kept = 2 * (taken(STATE_BYTES) + taken(attempts))
        + OBSERVATIONS * taken(max_bytes::<sordino_core::federated::Entry<f32>>())
        + BESIDE.0 * taken(BESIDE.1);
    // An item lies in one page; the map marks both ends of a page and keeps one page erased.
    1 + kept.div_ceil(PAGE - 16 - taken(LARGEST))
};

/// Why something was not stored or read. A device that cannot store must not go on: it would say
/// what it cannot remember.
#[derive(Debug)]
#[expect(dead_code, reason = "the fields are there to be printed")]
pub enum StoreError<E> {
    /// The flash, or the map in it.
    Flash(sequential_storage::Error<E>),
    /// What lies there is refused: damaged, or of another agreement.
    Snapshot(SnapshotError),
}

/// A map in flash.
pub struct Store<F: NorFlash, C: CacheImpl<u16>> {
    map: MapStorage<u16, F, C>,
    buffer: [u8; BUFFER],
    agreement: Digest,
}

impl<F: NorFlash, C: CacheImpl<u16>> Store<F, C> {
    /// A map whose items all belong to one agreement.
    pub const fn new(map: MapStorage<u16, F, C>, agreement: Digest) -> Self {
        Store {
            map,
            buffer: [0; BUFFER],
            agreement,
        }
    }

    /// Stores an item; when this returns, a reset finds it.
    pub async fn save<S: Stored>(
        &mut self,
        key: u16,
        item: &S,
        number: u32,
    ) -> Result<(), StoreError<F::Error>> {
        let mut bytes = [0; BUFFER];
        let len = snapshot::write(item, number, &self.agreement, &mut bytes)
            .map_err(StoreError::Snapshot)?;
        let item: &[u8] = &bytes[..len];
        self.map
            .store_item(&mut self.buffer, &key, &item)
            .await
            .map_err(StoreError::Flash)
    }

    /// Reads an item with its number; nothing if none was stored.
    pub async fn load<S: Stored>(
        &mut self,
        key: u16,
    ) -> Result<Option<(u32, S)>, StoreError<F::Error>> {
        let found = self
            .map
            .fetch_item::<&[u8]>(&mut self.buffer, &key)
            .await
            .map_err(StoreError::Flash)?;
        match found {
            Some(bytes) => snapshot::read(bytes, &self.agreement).map_err(StoreError::Snapshot),
            None => Ok(None),
        }
    }

    /// Whether the map gives an item under one of these keys. What it cannot read at all it does
    /// not give: docs/reset.md.
    pub async fn holds(&mut self, keys: Range<u16>) -> Result<bool, StoreError<F::Error>> {
        for key in keys {
            let found = self
                .map
                .fetch_item::<&[u8]>(&mut self.buffer, &key)
                .await
                .map_err(StoreError::Flash)?;
            if found.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
