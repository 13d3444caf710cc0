//! States and logs in a flash: one key each, replaced as a whole or not at all.

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::CacheImpl;
use sequential_storage::map::MapStorage;
use sordino_core::digest::Digest;
use sordino_core::federated::AgentState;
use sordino_core::federated::exchange::AgentExchange;
use sordino_core::snapshot::{self, SnapshotError, Stored, max_bytes};

/// Bytes of the largest item, an agent with its exchange, and of the buffer that the map works in.
const BUFFER: usize = (max_bytes::<(AgentState, AgentExchange)>() + 16).next_multiple_of(32);

/// Why something was not stored or read. A device that cannot store must not go on: it would say what it cannot remember.
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
        Store { map, buffer: [0; BUFFER], agreement }
    }

    /// Stores an item; when this returns, a reset finds it.
    pub async fn save<S: Stored>(&mut self, key: u16, item: &S, number: u32) -> Result<(), StoreError<F::Error>> {
        let mut bytes = [0; BUFFER];
        let len = snapshot::write(item, number, &self.agreement, &mut bytes).map_err(StoreError::Snapshot)?;
        let item: &[u8] = &bytes[..len];
        self.map.store_item(&mut self.buffer, &key, &item).await.map_err(StoreError::Flash)
    }

    /// Reads an item with its number; nothing if none was stored.
    pub async fn load<S: Stored>(&mut self, key: u16) -> Result<Option<(u32, S)>, StoreError<F::Error>> {
        let found = self.map.fetch_item::<&[u8]>(&mut self.buffer, &key).await.map_err(StoreError::Flash)?;
        match found {
            Some(bytes) => snapshot::read(bytes, &self.agreement).map_err(StoreError::Snapshot),
            None => Ok(None),
        }
    }
}
