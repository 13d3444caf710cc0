//! The way to the server: two channels, and behind them the emulator's server.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use sordino_core::wire::{self, Header, Kind};
use static_cell::StaticCell;

use crate::config::{FEATURES, FRAME, REGIONS};

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
