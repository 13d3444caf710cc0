//! The agent alone, in one file, for reading: frames over channels, state and log in sequential-storage.
#![no_std]
#![no_main]

use cortex_m as _;
use cortex_m_semihosting::{debug, hprintln};
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use panic_semihosting as _;
use sequential_storage::cache::{Cache, CacheImpl};
use sequential_storage::map::{MapConfig, MapStorage};
use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, Regions};
use sordino_core::features::{RandomFourier, random_fourier};
use sordino_core::federated::*;
use sordino_core::kernel::Stationary;
use sordino_core::random::RunSeed;
use sordino_core::snapshot::{self, Stored};
use sordino_core::wire::{self, Header, Kind, ScalarTag};
use static_cell::StaticCell;

const M: usize = 64;
const P: usize = 4;
const SIZES: Sizes = Sizes::new(2, M, 4 + 6);
const FRAME: usize = wire::frame_len_max(ScalarTag::F32, M * P);
const FLASH: usize = 4 * 4096;

type Link = Channel<NoopRawMutex, ([u8; FRAME], usize), 1>;

/// A NOR flash of four pages in memory.
struct Nor([u8; FLASH]);

impl ErrorType for Nor {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Nor {
    const READ_SIZE: usize = 1;
    async fn read(&mut self, at: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        bytes.copy_from_slice(&self.0[at as usize..][..bytes.len()]);
        Ok(())
    }
    fn capacity(&self) -> usize {
        FLASH
    }
}

impl NorFlash for Nor {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 4096;
    async fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.0[from as usize..to as usize].fill(0xff);
        Ok(())
    }
    async fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        self.0[at as usize..].iter_mut().zip(bytes).for_each(|(to, from)| *to &= from);
        Ok(())
    }
}

type Map<C> = MapStorage<u16, Nor, C>;

async fn load<S: Stored>(map: &mut Map<impl CacheImpl<u16>>, key: u16, whose: &Digest) -> Option<(u32, S)> {
    let mut buffer = [0; 128];
    snapshot::read(map.fetch_item(&mut buffer, &key).await.expect("flash")?, whose).expect("what was written")
}

async fn save<S: Stored>(map: &mut Map<impl CacheImpl<u16>>, key: u16, item: &S, number: u32, whose: &Digest) {
    let (mut buffer, mut bytes) = ([0; 128], [0; 64]);
    let len = snapshot::write(item, number, whose, &mut bytes).expect("room for any item");
    map.store_item(&mut buffer, &key, &&bytes[..len]).await.expect("flash");
}

#[embassy_executor::task]
async fn server(up: &'static Link, down: &'static Link) {
    loop {
        let (mut bytes, len) = up.receive().await;
        let (header, _) = wire::decode(&bytes[..len], M as u32).expect("upload");
        let vectors = [0.1 * header.round as f32; M * P];
        let len = wire::encode(Header { kind: Kind::Broadcast, ..header }, &vectors, &mut bytes).expect("broadcast");
        down.send((bytes, len)).await;
    }
}

#[embassy_executor::task]
async fn agent(up: &'static Link, down: &'static Link) {
    let (mut numbers, mut memory) = ([0.0; random_fourier::storage_len(2, M)], [0.0; SIZES.storage()]);
    let private = Aggregation::private(17.6, 0.25, 1.0).expect("in range");
    let usual = Parameters::usual(20, Regions::new(&[2, 2]).expect("four"), 6, M as u32, private);
    let config = Config::new(Parameters { initial_points: 4, ..usual }).expect("in range");
    random_fourier::draw(7, 0, Stationary::SquaredExponential, &[0.2], 2, M, &mut numbers).expect("in range");
    let features = RandomFourier::new(2, M, 1.0, true, &numbers[..]).expect("as drawn");
    let public = Public::streamed(&config, Candidates::grid(16, 2).expect("a grid"), features).expect("fits");
    let range = const { MapConfig::new(0..FLASH as u32) };
    let (mut map, whose) = (Map::new(Nor([0xff; FLASH]), range, Cache::new_uncached()), config.digest());
    let storage = AgentStorage::split(&public, &mut memory).expect("SIZES");
    let (mut number, mut state) =
        load(&mut map, 0, &whose).await.unwrap_or((0, AgentState::new(3, RunSeed::new(1, 0))));
    for i in 0..state.observations() {
        let (_, entry): (u32, Entry<f32>) = load(&mut map, 1 + i as u16, &whose).await.expect("an entry");
        entry.put(i, 0.0, storage.log).expect("a log of a whole run");
    }
    let mut agent = Agent::attach(&public, &mut state, storage).expect("a state that can be");
    let (mut frame, mut vectors, mut point) = ([0; FRAME], [0.0; M * P], [0.0f32; 2]);
    let (version, kind, scalar, config) = (wire::VERSION, Kind::Upload, ScalarTag::F32, wire::prefix(&whose));
    let own = Header { version, kind, scalar, deployment: 1, config, chain: 0, agent: 3, round: 0, attempt: 0, len: 0 };
    loop {
        let (round, i, candidate) = (agent.state().round(), agent.state().observations(), agent.state().pending());
        let input = match agent.state().phase() {
            Phase::Fresh => Input::Start,
            Phase::Waiting => {
                let (bytes, len) = down.receive().await;
                let (_, payload) = wire::decode(&bytes[..len], (M * P) as u32).expect("broadcast");
                payload.read(&mut vectors).expect("P vectors");
                Input::Broadcast { vectors: &vectors, maximum: None }
            }
            Phase::Initial | Phase::Evaluating => {
                public.candidates().point(candidate, &mut point);
                let value = 1.0 - point[0] * point[1];
                save(&mut map, 1 + i as u16, &Entry { candidate, value }, i, &whose).await;
                Input::Observed(value)
            }
            Phase::Done => break,
        };
        let len = match agent.handle(input).expect("finite numbers") {
            Output::Upload(weights) => wire::encode(Header { round, ..own }, weights, &mut frame).expect("FRAME"),
            _ => 0,
        };
        number += 1;
        save(&mut map, 0, agent.state(), number, &whose).await;
        if len > 0 {
            up.send((frame, len)).await;
        }
    }
    hprintln!("one file: {}", state.observations());
    debug::exit(debug::EXIT_SUCCESS);
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    static LINKS: StaticCell<[Link; 2]> = StaticCell::new();
    let [up, down] = LINKS.init([const { Channel::new() }; 2]);
    spawner.spawn(server(up, down).expect("room for a task"));
    spawner.spawn(agent(up, down).expect("room for a task"));
}
