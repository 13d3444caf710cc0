//! Writes the script that the firmware plays: the scenario `firmware`, executed here, with one
//! agent taken out.

use std::sync::Arc;

use firmware_example::federation::Header;
use sordino_core::digest::Digest;
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{Agent, AgentState, AgentStorage, Input, Output, storage_len};
use sordino_engine::Options;
use sordino_engine::federated;
use sordino_engine::federated::blocks::Piece;
use sordino_engine::federated::collective::{AgentGroup, Order};
use sordino_engine::federated::context::{MethodContext, RunContext, ScenarioContext};
use sordino_engine::federated::run::Federated;
use sordino_engine::federated::shard::Shard;
use sordino_experiment::record::MethodRun;
use sordino_experiment::scenario::{ObjectiveConfig, Scenario, Shipped};
use sordino_experiment::world;

/// The agent that is taken out.
pub const AGENT: u32 = 0;

/// The scenario that the firmware takes part in.
///
/// **Panics**: if it is not shipped or does not parse.
pub fn scenario() -> Scenario {
    Shipped::find("firmware")
        .expect("a shipped scenario")
        .parse(&[])
        .expect("a valid scenario")
}

/// What `sordino run firmware` computes: its only run of its only method.
///
/// **Panics**: if the execution fails.
pub fn host_run() -> MethodRun {
    let mut runs = federated::run(&scenario(), &Options::default(), &()).expect("a run");
    assert_eq!(runs.len(), 1, "the scenario has one method and one run");
    runs.remove(0)
}

/// Executes the scenario beside the driver, round by round, and writes down what the firmware's
/// agent is told.
///
/// **Panics**: if anything is refused, or the agent taken out does not do what it does among the
/// others.
pub fn script() -> Vec<u8> {
    let scenario = scenario();
    let ObjectiveConfig::GpSample(grid) = &scenario.objective else {
        panic!("the firmware's candidates are a grid")
    };
    let family = world::load(&scenario, None).expect("an objective");
    let seed = scenario.run_seed(0);
    let functions = family.realize(seed);
    let shared = ScenarioContext::<f32>::new(&scenario, functions.candidates(), functions.dim())
        .expect("a context");
    let run = RunContext::new(&scenario, Arc::new(shared), 0, functions).expect("a run");
    let method = scenario.methods().next().expect("a scenario has a method");
    let method =
        Arc::new(MethodContext::new(&scenario, method, Arc::new(run), None).expect("a method"));
    let parameters = method.config.parameters();

    let kernel = scenario.surrogate.kernel;
    let header = Header {
        agent: AGENT,
        seed,
        config: method.config.clone(),
        points_per_axis: grid.points_per_axis,
        feature_seed: scenario.surrogate.feature_seed,
        run_index: 0,
        kernel: kernel.kernel,
        lengthscale: kernel.lengthscale,
        signal_variance: kernel.signal_variance,
        unit_norm: scenario.surrogate.normalize_features,
    };
    let mut script = postcard::to_allocvec(&header).expect("a header");

    let public = method.public().expect("a public context");
    let mut storage = vec![0.0f32; storage_len(&public)];
    let mut state = AgentState::new(AGENT, seed);
    let storage = AgentStorage::split(&public, &mut storage).expect("storage");
    let mut agent = Agent::attach(&public, &mut state, storage).expect("an agent");
    // Agents one by one, each a member: a member that held a whole block would not tell its agents'
    // leaves.
    let shards = (0..parameters.agents)
        .map(|agent| Shard::build(&method, agent..agent + 1, None))
        .collect::<Result<Vec<_>, _>>();
    let mut shards = shards.expect("agents");
    let mut server = method.server(None, None).expect("a server");
    for round in 0..=parameters.rounds {
        let vectors = server.broadcast().unwrap_or_default().to_vec();
        let input = if round == 0 {
            Input::Start
        } else {
            Input::Broadcast {
                vectors: &vectors,
                maximum: None,
            }
        };
        let collecting = round < parameters.rounds && server.open().expect("an opening");
        let share = collecting.then(|| server.share().expect("a sample"));
        let broadcast = (round > 0).then(|| Arc::from(&vectors[..]));
        let leaf = record(&mut agent, input, round, &method, &mut script);
        let order = Order {
            round,
            broadcast,
            maximum: None,
            share,
            source: server.kind(),
        };
        for shard in &mut shards {
            let partial = shard.advance(&order).expect("a round");
            let [Piece::Part { leaves, .. }] = &partial.pieces[..] else {
                panic!("one agent is a part of its block")
            };
            if partial.agents.start == AGENT {
                assert_eq!(
                    leaves[..],
                    [leaf],
                    "round {round}: alone and among the others"
                );
            } else {
                script.extend(leaves[0].0);
            }
            if collecting {
                server
                    .merge(partial.collected.as_ref().expect("uploads"))
                    .expect("uploads of this opening");
            }
        }
        if round < parameters.rounds {
            server.close().expect("a release");
            let vectors = server.broadcast().expect("a budget that suffices");
            vectors.iter().for_each(|x| script.extend(x.to_le_bytes()));
        }
    }
    script
}

/// One round of the agent; its observed values go into the script.
fn record(
    agent: &mut Agent<'_, f32>,
    mut input: Input<'_, f32>,
    round: u32,
    method: &MethodContext<f32>,
    script: &mut Vec<u8>,
) -> Digest {
    let observations = if round == 0 {
        method.config.parameters().initial_points
    } else {
        1
    };
    let mut leaf = AgentLeaf::new(AGENT, round, observations);
    loop {
        match agent.handle(input).expect("an answer") {
            Output::Evaluate {
                candidate, number, ..
            } => {
                let value = method.run.objective.observe(AGENT, candidate, number) as f32;
                script.extend(value.to_le_bytes());
                leaf.observation(candidate, value);
                input = Input::Observed(value);
            }
            Output::Upload(weights) => return leaf.end(weights),
            Output::Wait | Output::Done => return leaf.end::<f32>(&[]),
        }
    }
}
