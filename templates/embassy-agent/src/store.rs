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

/// Bytes of the largest item.
#[cfg(not(any(member, site)))]
const LARGEST: usize = max_bytes::<(sordino_core::federated::AgentState, AgentExchange)>();
/// Bytes of the largest item.
#[cfg(member)]
const LARGEST: usize = {
    use sordino_core::federated::prior::{MemberState, Released};
    let state = max_bytes::<(MemberState<f32>, AgentExchange)>();
    let release = max_bytes::<Released<f32, { crate::config::NUMBERS }>>();
    if state > release { state } else { release }
};
/// Bytes of the largest item.
#[cfg(site)]
const LARGEST: usize = {
    let state = max_bytes::<crate::site::Kept>();
    let row = max_bytes::<crate::site::Row>();
    if state > row { state } else { row }
};
/// Bytes of the buffer that the map works in.
const BUFFER: usize = (LARGEST + 16).next_multiple_of(32);

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
