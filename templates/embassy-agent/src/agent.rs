//! The agent's task: measure, write, tell, write, send. docs/reset.md says why in this order.

use sordino_core::federated::{Agent, AgentState, AgentStorage, Entry, Input, Output, Phase, Workspace};
use sordino_core::random::RunSeed;
use sordino_core::wire::{self, Header, Kind, ScalarTag};
use static_cell::StaticCell;

use crate::board::{self, Link};
use crate::config::{AGENT, DEPLOYMENT, DIM, FEATURES, FRAME, REGIONS};
use crate::federation::{FEATURES_LEN, SIZES, config, public};

/// Keys of the map: its state, and from here on its observations.
const STATE: u16 = 0;
const LOG: u16 = 1;

/// What is to be done when the state that says so is stored.
enum Act {
    Evaluate { candidate: u32, number: u32, point: [f32; DIM] },
    Send(usize),
    Wait,
    Done,
}

/// A frame of the upload in `out`, or what else there is to do.
fn act(output: Output<'_, f32>, header: Header, out: &mut [u8]) -> Act {
    match output {
        Output::Evaluate { candidate, point, number } => {
            Act::Evaluate { candidate, number, point: point.try_into().expect("a number for each axis") }
        }
        Output::Upload(weights) => Act::Send(wire::encode(header, weights, out).expect("the buffer holds any frame")),
        Output::Wait => Act::Wait,
        Output::Done => Act::Done,
    }
}

/// From the boot to the end of the run.
#[embassy_executor::task]
pub async fn agent(link: &'static Link) {
    static NUMBERS: StaticCell<[f32; FEATURES_LEN]> = StaticCell::new();
    static LOG_NUMBERS: StaticCell<[f32; SIZES.log()]> = StaticCell::new();
    static WORKSPACE: StaticCell<[f32; SIZES.workspace()]> = StaticCell::new();
    let config = config();
    let public = public(&config, NUMBERS.init([0.0; _]));
    let (log, workspace) = (LOG_NUMBERS.init([0.0; _]), WORKSPACE.init([0.0; _]));
    let mut store = board::store(config.digest());

    // Its own draws: secret, from entropy, drawn once in the life of the device.
    let first = || AgentState::new(AGENT, RunSeed::new(board::seed(), 0));
    let (mut written, mut state) = store.load(STATE).await.expect("flash").unwrap_or_else(|| (0, first()));
    for number in 0..state.observations() {
        let (_, entry): (u32, Entry<f32>) = store.load(LOG + number as u16).await.expect("flash").expect("an entry");
        entry.put(number, config.parameters().offset, log).expect("a log of a whole run");
    }
    let (mut frame, mut vectors) = ([0; FRAME], [0.0; FEATURES * REGIONS]);
    let header = |round| Header {
        version: wire::VERSION,
        kind: Kind::Upload,
        scalar: ScalarTag::F32,
        deployment: DEPLOYMENT,
        config: wire::prefix(&config.digest()),
        chain: 0,
        agent: AGENT,
        round,
        attempt: 0,
        len: 0,
    };
    let storage = AgentStorage { log, workspace: Workspace::Kept(workspace) };
    let mut agent = Agent::attach(&public, &mut state, storage).expect("what was stored is judged here");
    let round = agent.state().round();
    let mut next = act(agent.repeat().expect("as before the reset"), header(round), &mut frame);
    loop {
        let output = match next {
            Act::Evaluate { candidate, number, point } => {
                let key = LOG + number as u16;
                let value = match store.load::<Entry<f32>>(key).await.expect("flash") {
                    Some((found, entry)) if found == number && entry.candidate == candidate => entry.value,
                    _ => {
                        let value = board::measure(point).await;
                        store.save(key, &Entry { candidate, value }, number).await.expect("flash");
                        value
                    }
                };
                let round = agent.state().round();
                act(agent.handle(Input::Observed(value)).expect("a finite number"), header(round), &mut frame)
            }
            Act::Send(len) => {
                link.up.send((frame, len)).await;
                next = Act::Wait;
                continue;
            }
            Act::Wait if agent.state().phase() == Phase::Fresh => {
                act(agent.handle(Input::Start).expect("a beginning"), header(0), &mut frame)
            }
            Act::Wait => {
                let (bytes, len) = link.down.receive().await;
                let round = agent.state().round();
                // A frame that is damaged, of another federation or of another round is none.
                let Ok((found, payload)) = wire::decode(&bytes[..len], vectors.len() as u32) else { continue };
                let Header { deployment, config, .. } = header(round);
                let meant = (found.kind, found.deployment, found.config, found.round);
                if meant != (Kind::Broadcast, deployment, config, round) || payload.read(&mut vectors).is_err() {
                    continue;
                }
                let input = Input::Broadcast { vectors: &vectors, maximum: None };
                act(agent.handle(input).expect("finite numbers"), header(round), &mut frame)
            }
            Act::Done => break,
        };
        written += 1;
        store.save(STATE, agent.state(), written).await.expect("flash");
        next = output;
    }
    board::done("agent", agent.state().observations());
}
