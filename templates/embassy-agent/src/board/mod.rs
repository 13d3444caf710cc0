//! The board: what you replace. Here: a flash in memory, a sensor that is a function, a server that is a task.
//!
//! | here | on your board |
//! |---|---|
//! | [`Nor`] | the HAL's flash, which implements the same traits |
//! | [`measure`] | what the device is there for |
//! | [`noise`] | `Secret::new(RandCore09(rng))` with the chip's generator: docs/entropy.md |
//! | [`seed`] | eight bytes of the same generator, once in the life of the device |
//! | [`server`], [`Link`] | radio, UART, TCP: frames in, frames out |

mod end;
mod nor;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use sequential_storage::cache::{Cache, CacheImpl};
use sequential_storage::map::{MapConfig, MapStorage};
use sordino_core::digest::Digest;
use sordino_core::privacy::{NoiseSource, Release, Simulated};
use sordino_core::random::Stream;
use sordino_core::wire::{self, Header, Kind};
use static_cell::StaticCell;

pub use end::done;
use nor::Nor;

use crate::federation::{FEATURES, FRAME, REGIONS};
use crate::store::Store;

/// A frame and its length.
pub type Frame = ([u8; FRAME], usize);

/// Both directions of a link.
pub struct Link {
    /// To the server.
    pub up: Channel<NoopRawMutex, Frame, 1>,
    /// From the server.
    pub down: Channel<NoopRawMutex, Frame, 1>,
}

/// The link to the server.
pub fn link() -> &'static Link {
    static LINK: StaticCell<Link> = StaticCell::new();
    LINK.init(Link { up: Channel::new(), down: Channel::new() })
}

/// The agent's part of the flash.
pub fn store(agreement: Digest) -> Store<Nor, impl CacheImpl<u16>> {
    const RANGE: MapConfig<Nor> = MapConfig::new(0..nor::LEN);
    Store::new(MapStorage::new(Nor::new(), RANGE, Cache::new_uncached()), agreement)
}

/// The reporter's part: a flash of its own here. On one chip, give it **another range** than the agent's.
pub fn store_of_reporter(agreement: Digest) -> Store<Nor, impl CacheImpl<u16>> {
    store(agreement)
}

/// One measurement at a point of the unit square.
pub async fn measure(point: [f32; 2]) -> f32 {
    1.0 - point[0] * point[1]
}

/// Where noise comes from. **Not private**: the emulator has no entropy, and the type of every report says so. On a device
/// `Secret<RandCore09<Rng>>`.
pub type Noise = Simulated;

/// The source of noise.
pub fn noise() -> Noise {
    Simulated::new(Stream::from_seed(seed()))
}

/// The seed of the agent's own draws.
pub fn seed() -> u64 {
    1
}

/// Sends a report. On a device, ask for `Release<f32, Private>` here: simulated noise then does not compile.
pub async fn report(report: Release<f32, <Noise as NoiseSource>::Provenance>) {
    let _sent = report.value();
}

/// The server, as far as one agent sees it: a broadcast for every upload.
#[embassy_executor::task]
pub async fn server(link: &'static Link) {
    loop {
        let (bytes, len) = link.up.receive().await;
        let (header, _) = wire::decode(&bytes[..len], FEATURES as u32).expect("an upload");
        let (mut out, mut vectors) = ([0; FRAME], [0.0f32; FEATURES * REGIONS]);
        vectors[header.round as usize] = 1.0;
        let header = Header { kind: Kind::Broadcast, agent: 0, ..header };
        let len = wire::encode(header, &vectors, &mut out).expect("the buffer holds any frame");
        link.down.send((out, len)).await;
    }
}
