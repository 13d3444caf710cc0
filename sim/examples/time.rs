//! Where the time of one run of `dp-fts-de` in the default scenario goes, on one thread:
//! `cargo xtask bench`.
//!
//! The total is the reference driver's. The agents' share is measured by taking the same agents
//! through the same rounds once more, with a clock around every call; what a broadcast says does
//! not change what it costs, so an upload stands in for it. What remains is the server: checking
//! frames, clipping, integer sums, noise, digests.

use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{Agent, AgentState, AgentStorage, Input, Output, storage_len};
use sordino_core::random::{Party, Purpose};
use sordino_engine::federated::context::{MethodContext, RunContext, ScenarioContext};
use sordino_engine::federated::driver;
use sordino_experiment::scenario::{Scenario, Shipped, method};
use sordino_experiment::world;

/// Number of repetitions, of which the shortest counts.
const REPETITIONS: usize = 5;

/// Parts of a run, in the order of the table.
const PARTS: [&str; 8] = [
    "once a scenario: functions, candidates, prior factor",
    "once a run: functions, features of every candidate",
    "own draw and its maximum",
    "maximum of the broadcast",
    "initial points",
    "observation, posterior update, draw of the upload",
    "objective values",
    "digest of observations and uploads",
];

/// CPU time of this thread: wall clock on a shared machine is off by a factor.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Shipped::find("default")
        .ok_or("no default scenario")?
        .parse(&[])?;
    let mut best = [Duration::MAX; PARTS.len() + 1];
    for _ in 0..REPETITIONS {
        for (best, time) in best.iter_mut().zip(measure(&scenario)?) {
            *best = time.min(*best);
        }
    }
    let agents: Duration = best[2..PARTS.len()].iter().sum();
    let total = best[PARTS.len()];
    println!(
        "One run of dp-fts-de, default scenario, CPU time of one thread, best of {REPETITIONS}, milliseconds:"
    );
    let line = |what: &str, time: Duration| println!("{:>9.1}  {what}", time.as_secs_f64() * 1e3);
    PARTS
        .iter()
        .zip(best)
        .for_each(|(what, time)| line(what, time));
    line(
        "the rest: frames, clipping, sums, noise, regret",
        total.saturating_sub(agents),
    );
    line("total of the run, without the first two lines", total);
    Ok(())
}

/// The parts in order, then the whole run by the reference driver.
fn measure(scenario: &Scenario) -> Result<[Duration; PARTS.len() + 1], Box<dyn std::error::Error>> {
    let mut times = [Duration::ZERO; PARTS.len() + 1];
    let start = now();
    let seed = scenario.run_seed(0);
    let family = world::load(scenario, None)?;
    let first = family.realize(seed);
    let shared = Arc::new(ScenarioContext::<f64>::new(
        scenario,
        first.candidates(),
        first.dim(),
    )?);
    times[0] = now() - start;
    let start = now();
    let run = Arc::new(RunContext::new(scenario, shared, 0, family.realize(seed))?);
    let method = Arc::new(MethodContext::new(scenario, method::DP_FTS_DE, run, None)?);
    times[1] = now() - start;
    let start = now();
    driver::run_method(&method, &())?;
    times[PARTS.len()] = now() - start;
    for agent in 0..method.config.parameters().agents {
        one_agent(&method, agent, &mut times)?;
    }
    Ok(times)
}

/// Takes one agent through all rounds and adds up what its calls take.
fn one_agent(
    method: &MethodContext<f64>,
    index: u32,
    times: &mut [Duration],
) -> Result<(), Box<dyn std::error::Error>> {
    let public = method.public()?;
    let parameters = method.config.parameters();
    let mut storage = vec![0.0; storage_len(&public)];
    let mut broadcast = vec![0.0; method.config.broadcast_len()];
    let mut state = AgentState::new(index, method.run.seed);
    let storage = AgentStorage::split(&public, &mut storage)?;
    let mut agent = Agent::attach(&public, &mut state, storage)?;
    for round in 0..=parameters.rounds {
        let coin: f64 = method
            .run
            .seed
            .stream(Party::Agent(index), Purpose::Mixing, round)
            .unit();
        let own = coin < parameters.mixing.own_draw_probability(round);
        let observations = if round == 0 {
            parameters.initial_points
        } else {
            1
        };
        let mut leaf = AgentLeaf::new(index, round, observations);
        let (mut input, mut part) = match round {
            0 => (Input::Start, 4),
            _ => (
                Input::Broadcast {
                    vectors: &broadcast,
                    maximum: None,
                },
                if own { 2 } else { 3 },
            ),
        };
        let upload = loop {
            let start = now();
            let output = agent.handle(input)?;
            // Initial observations but the last are followed by the next initial point: nearly
            // nothing.
            times[part] += now() - start;
            match output {
                Output::Evaluate {
                    candidate, number, ..
                } => {
                    let start = now();
                    let y = method.run.objective.observe(index, candidate, number);
                    times[6] += now() - start;
                    leaf.observation(candidate, y);
                    (input, part) = (Input::Observed(y), 5);
                }
                Output::Upload(weights) => break weights,
                Output::Wait | Output::Done => break &[],
            }
        };
        let start = now();
        std::hint::black_box(leaf.end(upload));
        times[7] += now() - start;
        if !upload.is_empty() {
            broadcast
                .chunks_exact_mut(upload.len())
                .for_each(|block| block.copy_from_slice(upload));
        }
    }
    Ok(())
}
