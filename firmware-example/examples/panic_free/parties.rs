//! Whole parties in single precision. Of those that begin with `single` it is proved that no `f64` arithmetic is left.

use core::hint::black_box;

use sordino_core::domain::{BoxDomain, Candidates};
use sordino_core::features::RandomFourier;
use sordino_core::federated::{Agent, AgentState, AgentStorage, Config, Input, Public, Workspace};
use sordino_core::optimizer::{LogEntry, Optimizer, Settings};
use sordino_core::random::RunSeed;

use super::device::{Memory, is, some};

fn optimizer(storage: &mut [f32]) -> Option<Optimizer<f32, &mut [f32]>> {
    let domain = BoxDomain::new(&black_box([(0.0, 20.0), (1.0, 50.0)])).ok()?;
    Optimizer::new(domain, black_box(Settings::default()), black_box(32), storage).ok()
}

/// An agent and its numbers; its configuration was read and its features were drawn when the device was set up.
fn agent(memory: &mut Memory, act: impl FnOnce(&mut Agent<'_, f32>, &[f32])) {
    let config: Option<Config> = black_box(None);
    let Memory { a, b, c, d, .. } = memory;
    let (workspace, log, numbers, broadcast) = (some(a), some(b), some(c), some(d));
    let Some(config) = config else { return };
    let Ok(features) = RandomFourier::new(black_box(2), black_box(64), 1.0, true, &*numbers) else { return };
    let Ok(candidates) = Candidates::grid(black_box(8), 2) else { return };
    let (feature_rows, region_of, prior_rows, confidence_widths): (&[f32], &[u32], &[f32], &[f32]) =
        (&[], &[], &[], &[]);
    let public = Public { candidates, features, feature_rows, region_of, prior_rows, confidence_widths };
    let mut state = AgentState::new(black_box(3), RunSeed::new(black_box(1), 0));
    let storage = AgentStorage { log, workspace: Workspace::Kept(workspace) };
    if let Ok(mut agent) = Agent::attach(&config, &public, &mut state, storage) {
        act(&mut agent, broadcast);
    }
}

pub(super) fn run(memory: &mut Memory) {
    if is("single: Agent::handle") {
        agent(memory, |agent, vectors| {
            let input = match black_box(0) {
                0 => Input::Start,
                1 => Input::Observed(black_box(0.5)),
                2 => Input::Broadcast { vectors, maximum: black_box(None) },
                3 => Input::NoBroadcast,
                _ => Input::Missed,
            };
            let _ = black_box(agent.handle(input).is_ok());
        });
        return;
    }
    let (a, b) = (some(&mut memory.a), some(&mut memory.b));
    if is("single: Optimizer::suggest")
        && let Some(mut optimizer) = optimizer(a)
    {
        let _ = black_box(optimizer.suggest());
    }
    if is("single: Optimizer::observe")
        && let Some(mut optimizer) = optimizer(a)
    {
        let _ = black_box(optimizer.observe(b, black_box(0.5)));
        black_box(optimizer.best());
    }
    if is("single: Optimizer::fit")
        && let Some(mut optimizer) = optimizer(a)
    {
        let _ = black_box(optimizer.fit(b));
    }
    if is("single: Optimizer::resume") {
        let Ok(domain) = BoxDomain::new(&black_box([(0.0, 20.0), (1.0, 50.0)])) else { return };
        let log = black_box([None::<LogEntry<f32>>, None]).into_iter().flatten();
        let _ = black_box(Optimizer::resume(domain, Settings::default(), black_box(32), &mut *a, log));
    }
}
