//! The agent's task: ask, measure, write, tell, write, send. docs/reset.md says why in this order, and
//! `federated::exchange` of core what is said to the server.

use core::fmt::Debug;

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::CacheImpl;
use sordino_core::federated::exchange::{AgentExchange, Agreement, FrameError, Have, Heard, Want};
use sordino_core::federated::{Agent, AgentError, AgentState, AgentStorage, Entry, Input, Output, Public, Workspace};
use sordino_core::random::RunSeed;
use sordino_core::wire::{self, Header, Kind};
use static_cell::StaticCell;

use crate::board::{self, Answer, Link, Request};
use crate::config::{AGENT, FRAME};
use crate::federation::{DIM, FEATURES, FEATURES_LEN, REGIONS, SIZES, agreement, candidates};
use crate::store::Store;

/// Keys of the map: its state with its exchange, and from here on its observations.
const STATE: u16 = 0;
const LOG: u16 = 1;
/// Milliseconds after which a frame that says nothing is asked for again.
const AGAIN: u64 = 1000;

/// From the boot to the end of the run.
#[embassy_executor::task]
pub async fn agent(link: &'static Link) {
    static NUMBERS: StaticCell<[f32; FEATURES_LEN]> = StaticCell::new();
    static LOG_NUMBERS: StaticCell<[f32; SIZES.log()]> = StaticCell::new();
    static WORKSPACE: StaticCell<[f32; SIZES.workspace()]> = StaticCell::new();
    let agreement = agreement().expect("what `sordino export` wrote");
    let draws = agreement.protocol.draws().expect("a federation that shares draws");
    let features = draws.features.draw(DIM, FEATURES, &mut NUMBERS.init([0.0; _])[..]).expect("its features");
    let public = Public::streamed(&draws.config, candidates().expect("its points"), features).expect("that fit");
    let (log, workspace) = (LOG_NUMBERS.init([0.0; _]), WORKSPACE.init([0.0; _]));
    let mut store = board::store(agreement.digest());

    // Its own draws: secret, from entropy, drawn once in the life of the device.
    let own = || AgentState::new(AGENT, RunSeed::new(board::seed(), 0));
    let first = || (0, (own(), AgentExchange::new(&agreement, AGENT)));
    let (mut written, (mut state, mut exchange)) = store.load(STATE).await.expect("flash").unwrap_or_else(first);
    for number in 0..state.observations() {
        let (_, entry): (u32, Entry<f32>) = store.load(LOG + number as u16).await.expect("flash").expect("an entry");
        entry.put(number, agreement.protocol.offset(), log).expect("a log of a whole run");
    }
    let storage = AgentStorage { log, workspace: Workspace::Kept(workspace) };
    let mut agent = Agent::attach(&public, &mut state, storage).expect("what was stored is judged here");
    let mut frame = [0; FRAME];
    loop {
        match exchange.want(board::now()) {
            Want::Done => break,
            Want::Refused => panic!("the server does not know this device, or no longer"),
            Want::Wait(until) => {
                board::sleep_until(until).await;
                continue;
            }
            Want::Ask(have) => ask(link, &have, &agreement, &mut exchange, &mut agent).await,
            Want::Work => match agent.repeat().expect("as before the reset") {
                Output::Evaluate { candidate, number, point } => {
                    let point = point.try_into().expect("a number for each axis");
                    let value = measured(&mut store, candidate, number, point).await;
                    match agent.handle(Input::Observed(value)) {
                        // The round is over, and there is nothing to give.
                        Ok(_) | Err(AgentError::UploadNotFinite { .. }) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
                _ => exchange.made(),
            },
            Want::Give(header) => {
                let len = answer(&mut agent, header, &mut frame);
                if let Answer::Reply(reply) = board::ask(link, Request::Give((frame, len))).await {
                    exchange.told(header.round, reply, board::now());
                }
            }
        }
        written += 1;
        store.save(STATE, &(agent.state().clone(), exchange.clone()), written).await.expect("flash");
    }
    board::done("agent", agent.state().observations());
}

/// What comes after what it has? The answer is handed to the agent.
async fn ask(
    link: &Link,
    have: &Have,
    agreement: &Agreement,
    exchange: &mut AgentExchange,
    agent: &mut Agent<'_, f32>,
) {
    let (frame, current, seal) = match board::ask(link, Request::Next(*have)).await {
        Answer::Next { frame, current, seal } => (frame, current, seal),
        Answer::Later { after_ms } => return exchange.later(after_ms, board::now()),
        Answer::Reply(_) => return exchange.not_you(),
    };
    let (mut vectors, (bytes, len)) = ([0.0; FEATURES * REGIONS], frame);
    let Ok((header, payload)) = wire::decode(&bytes[..len], agreement.frame_numbers_max()) else {
        return exchange.later(AGAIN, board::now());
    };
    let vectors = &mut vectors[..header.len as usize];
    if payload.read(vectors).is_err() {
        return exchange.later(AGAIN, board::now());
    }
    let input = match (exchange.frame(&header, &payload, current, seal), header.kind) {
        (Err(FrameError::Fork { round }), _) => panic!("two histories in round {round}: nothing more is sent"),
        // Of another federation, or late.
        (Err(_), _) => return exchange.later(AGAIN, board::now()),
        (Ok(Heard::Again), _) => return,
        (Ok(Heard::Missed), _) => Input::Missed,
        (Ok(Heard::Enter), _) if header.round == 0 => Input::Start,
        (Ok(Heard::Enter), Kind::Broadcast) => Input::Broadcast { vectors, maximum: None },
        (Ok(Heard::Enter), _) => Input::NoBroadcast,
    };
    agent.handle(input).expect("finite numbers");
}

/// The value of an observation: that of the log, if it was written before a reset.
async fn measured<F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
    store: &mut Store<F, C>,
    candidate: u32,
    number: u32,
    point: [f32; DIM],
) -> f32 {
    let key = LOG + number as u16;
    match store.load::<Entry<f32>>(key).await.expect("flash") {
        Some((found, entry)) if found == number && entry.candidate == candidate => entry.value,
        _ => {
            let value = board::measure(point).await;
            store.save(key, &Entry { candidate, value }, number).await.expect("flash");
            value
        }
    }
}

/// Writes this round's answer, which may hold nothing, into `frame`, and returns its length.
fn answer(agent: &mut Agent<'_, f32>, header: Header, frame: &mut [u8; FRAME]) -> usize {
    let upload = match agent.repeat() {
        Ok(Output::Upload(weights)) => weights,
        Ok(_) | Err(AgentError::UploadNotFinite { .. }) => &[],
        Err(error) => panic!("{error:?}"),
    };
    wire::encode(header, upload, frame).expect("the buffer holds any frame")
}
