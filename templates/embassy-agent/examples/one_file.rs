//! The agent and its server in one file, for reading: frames over channels, state and log in
//! sequential-storage.
#![no_std]
#![no_main]

use cortex_m as _;
use cortex_m_semihosting::{debug, hprintln};
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use panic_semihosting as _;
use sequential_storage::cache::{Cache, CacheImpl};
use sequential_storage::map::{MapConfig, MapStorage};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::*;
use sordino_core::federated::*;
use sordino_core::random::RunSeed;
use sordino_core::snapshot::{self, Stored};
use sordino_core::wire;
use static_cell::StaticCell;

#[cfg(member)]
compile_error!(
    "this file is of an agent that shares draws, and src/federation.rs of a member of a federated prior"
);

/// What `sordino export` wrote.
#[allow(dead_code)]
#[path = "../src/federation.rs"]
mod federation;
/// A flash in memory.
#[path = "../src/board/nor.rs"]
mod nor;
use federation::{BROADCAST_BYTES as FRAME, DIM, FEATURES, FEATURES_LEN, REGIONS, SIZES};
use nor::Nor;

const AGENT: u32 = 3;
const NOW: Millis = Millis(0);

/// A frame and its length, empty for a request; a request carries nothing else, as one agent alone
/// is never behind.
type Link = Channel<NoopRawMutex, ([u8; FRAME], usize), 1>;

type Map<C> = MapStorage<u16, Nor<2>, C>;

async fn load<S: Stored>(
    map: &mut Map<impl CacheImpl<u16>>,
    key: u16,
    whose: &Digest,
) -> Option<(u32, S)> {
    let mut buffer = [0; 256];
    snapshot::read(
        map.fetch_item(&mut buffer, &key).await.expect("flash")?,
        whose,
    )
    .expect("what was written")
}

async fn save<S: Stored>(
    map: &mut Map<impl CacheImpl<u16>>,
    key: u16,
    item: &S,
    number: u32,
    whose: &Digest,
) {
    let mut buffer = [0; 256];
    let mut bytes = [0; 256];
    let len = snapshot::write(item, number, whose, &mut bytes).expect("room for any item");
    map.store_item(&mut buffer, &key, &&bytes[..len])
        .await
        .expect("flash");
}

#[embassy_executor::task]
async fn server(up: &'static Link, down: &'static Link) {
    let agreement = federation::agreement().expect("as exported");
    let mut exchange = ServerExchange::new(
        &agreement,
        Pace {
            ask_again_ms: 1,
            spread_ms: 0,
        },
        [0; 20],
    );
    let mut chain = agreement.digest();
    let mut frame = [0; FRAME];
    for round in 0..=agreement.protocol.epochs() {
        let broadcast = (round > 0).then_some(&[0.1f32; FEATURES * REGIONS][..]);
        let (len, after) = exchange
            .frame(round, 0, &chain, broadcast, &mut frame)
            .expect("FRAME");
        exchange.begin(
            round,
            0,
            after,
            Period {
                opened: NOW,
                deadline: Millis(1),
                may_close_early: true,
            },
        );
        chain = after;
        up.receive().await;
        down.send((frame, len)).await;
        let (bytes, len) = up.receive().await;
        let (header, _) = wire::decode(&bytes[..len], FEATURES as u32).expect("an answer");
        assert_eq!(
            exchange.given(AGENT, &header, NOW),
            None,
            "taken, not refused"
        );
        down.send((frame, 0)).await;
    }
}

#[embassy_executor::task]
async fn agent(up: &'static Link, down: &'static Link) {
    let mut numbers = [0.0; FEATURES_LEN];
    let mut memory = [0.0; SIZES.storage()];
    let agreement = federation::agreement().expect("as exported");
    let draws = agreement.protocol.draws().expect("as exported");
    let features = draws
        .features
        .draw(DIM, FEATURES, &mut numbers[..])
        .expect("as exported");
    let points = federation::candidates().expect("a grid");
    let public = Public::streamed(&draws.config, points, features).expect("fits");
    let range = const { MapConfig::new(0..Nor::<2>::LEN) };
    let mut map = Map::new(Nor::new(), range, Cache::new_uncached());
    let whose = agreement.digest();
    let storage = AgentStorage::split(&public, &mut memory).expect("SIZES");
    let first = (
        0,
        (
            AgentState::new(AGENT, RunSeed::new(1, 0)),
            AgentExchange::new(&agreement, AGENT),
        ),
    );
    let (mut number, (mut state, mut exchange)) = load(&mut map, 0, &whose).await.unwrap_or(first);
    for i in 0..state.observations() {
        let (_, entry): (u32, Entry<f32>) = load(&mut map, 1 + i as u16, &whose)
            .await
            .expect("an entry");
        entry
            .put(i, 0.0, storage.log)
            .expect("a log of a whole run");
    }
    let mut agent = Agent::attach(&public, &mut state, storage).expect("a state that can be");
    let mut frame = [0; FRAME];
    let mut vectors = [0.0; FEATURES * REGIONS];
    loop {
        match exchange.want(NOW) {
            Want::Ask(_) => {
                up.send((frame, 0)).await;
                let (bytes, len) = down.receive().await;
                let (header, payload) =
                    wire::decode(&bytes[..len], agreement.frame_numbers_max()).expect("a frame");
                exchange
                    .frame(&header, &payload, header.round, Seal::default())
                    .expect("of this federation");
                let vectors = &mut vectors[..header.len as usize];
                payload.read(vectors).expect("P vectors, or none");
                let broadcast = Input::Broadcast {
                    vectors,
                    maximum: None,
                };
                agent
                    .handle(if header.round == 0 {
                        Input::Start
                    } else {
                        broadcast
                    })
                    .expect("finite numbers");
            }
            Want::Work => match agent.repeat().expect("as before") {
                Output::Evaluate {
                    candidate,
                    number: i,
                    point,
                } => {
                    let value = 1.0 - point[0] * point[1];
                    // Before it is in flash, where it would be read at every boot.
                    assert!(value.is_finite(), "its sensor says no number");
                    save(
                        &mut map,
                        1 + i as u16,
                        &Entry { candidate, value },
                        i,
                        &whose,
                    )
                    .await;
                    agent
                        .handle(Input::Observed(value))
                        .expect("a finite number");
                }
                _ => exchange.made(),
            },
            Want::Give(header) => {
                // Nothing is to give at the end.
                let weights = if let Ok(Output::Upload(weights)) = agent.repeat() {
                    weights
                } else {
                    &[]
                };
                let len = wire::encode(header, weights, &mut frame).expect("FRAME");
                up.send((frame, len)).await;
                down.receive().await;
                exchange.told(header.round, Reply::Taken, NOW);
            }
            _ => break,
        }
        number += 1;
        save(
            &mut map,
            0,
            &(agent.state().clone(), exchange.clone()),
            number,
            &whose,
        )
        .await;
    }
    assert_eq!(exchange.want(NOW), Want::Done);
    hprintln!("one file: {}", agent.state().observations());
    debug::exit(debug::EXIT_SUCCESS);
}

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    static LINKS: StaticCell<[Link; 2]> = StaticCell::new();
    let [up, down] = LINKS.init([const { Channel::new() }; 2]);
    spawner.spawn(server(up, down).expect("room for a task"));
    spawner.spawn(agent(up, down).expect("room for a task"));
}
