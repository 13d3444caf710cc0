//! An agent that shares draws: its features, its numbers, and its task.

use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::{Agent, AgentState, AgentStorage, Public, Workspace};
use sordino_core::random::RunSeed;
use static_cell::ConstStaticCell;

use crate::agent::{Machine, Party, found, read_log};
use crate::board::{self, Link};
use crate::config::AGENT;
use crate::federation::{DIM, FEATURES, FEATURES_LEN, SIZES, agreement, candidates};

impl Machine for Agent<'_, f32> {
    type State = AgentState;
    const KEEPS_RELEASES: bool = false;

    fn state(&self) -> &AgentState {
        Agent::state(self)
    }

    fn point(&self, candidate: u32) -> [f32; DIM] {
        let mut point = [0.0; DIM];
        candidates()
            .expect("its points")
            .point(candidate, &mut point);
        point
    }

    /// What a release costs an agent that is not in the sample, its server knows alone: it counts.
    fn affords(&self, _: &Agreement, _: u32) -> bool {
        true
    }
}

/// From the boot to the end of the run.
#[embassy_executor::task]
pub async fn agent(link: &'static Link) {
    static NUMBERS: ConstStaticCell<[f32; FEATURES_LEN]> = ConstStaticCell::new([0.0; _]);
    static LOG: ConstStaticCell<[f32; SIZES.log()]> = ConstStaticCell::new([0.0; _]);
    static WORKSPACE: ConstStaticCell<[f32; SIZES.workspace()]> = ConstStaticCell::new([0.0; _]);
    let agreement = agreement().expect("what `sordino export` wrote");
    let draws = agreement.protocol.draws().expect("what build.rs read");
    let features = draws
        .features
        .draw(DIM, FEATURES, &mut NUMBERS.take()[..])
        .expect("its features");
    let public = Public::streamed(&draws.config, candidates().expect("its points"), features)
        .expect("that fit");
    let log = LOG.take();
    let workspace = WORKSPACE.take();
    let mut store = board::store(agreement.digest());

    // Its own draws: secret, from entropy, drawn once in the life of the device.
    let first = || AgentState::new(AGENT, RunSeed::new(board::seed(), 0));
    let (written, mut state, exchange) = found(&mut store, &agreement, first).await;
    read_log(
        &mut store,
        state.observations(),
        agreement.protocol.offset(),
        log,
    )
    .await;
    let storage = AgentStorage {
        log,
        workspace: Workspace::Owned(workspace),
    };
    let machine =
        Agent::attach(&public, &mut state, storage).expect("what was stored is judged here");
    let mut party = Party {
        agreement: &agreement,
        machine,
        exchange,
        written,
        store,
        link,
    };
    party.take_part().await;
    board::done("agent", party.machine.state().observations());
}
