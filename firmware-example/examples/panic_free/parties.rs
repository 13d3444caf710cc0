//! Whole parties, which must link without a way to panic at three levels of optimisation on M4F and
//! M0. Of those that begin with `single` it is proved too that no `f64` arithmetic is left; the
//! reporter's mechanism counts in `f64`.

use core::fmt;
use core::hint::black_box;

use sordino_core::domain::{BoxDomain, Candidates};
use sordino_core::features::RandomFourier;
use sordino_core::federated::{Agent, AgentState, AgentStorage, Config, Input, Public, Workspace};
use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::optimizer::{LogEntry, Optimizer, Settings};
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Charge, Epsilon, Ledger, Private};
use sordino_core::rand_core;
use sordino_core::random::{RunSeed, Secret};

use super::device::{Memory, is, some};

fn optimizer(storage: &mut [f32]) -> Option<Optimizer<f32, &mut [f32]>> {
    let domain = BoxDomain::new(&black_box([(0.0, 20.0), (1.0, 50.0)])).ok()?;
    Optimizer::new(
        domain,
        black_box(Settings::default()),
        black_box(32),
        storage,
    )
    .ok()
}

/// An agent and its numbers; its configuration was read and its features were drawn when the device
/// was set up.
fn agent(memory: &mut Memory, act: impl FnOnce(&mut Agent<'_, f32>, &[f32])) {
    let config: Option<Config> = black_box(None);
    let Memory { a, b, c, d, .. } = memory;
    let workspace = some(a);
    let log = some(b);
    let numbers = some(c);
    let broadcast = some(d);
    let Some(config) = config else { return };
    let Ok(features) = RandomFourier::new(black_box(2), black_box(64), 1.0, true, &*numbers) else {
        return;
    };
    let Ok(candidates) = Candidates::grid(black_box(8), 2) else {
        return;
    };
    let Ok(public) = Public::streamed(&config, candidates, features) else {
        return;
    };
    let mut state = AgentState::new(black_box(3), RunSeed::new(black_box(1), 0));
    let storage = AgentStorage {
        log,
        workspace: Workspace::Owned(workspace),
    };
    if let Ok(mut agent) = Agent::attach(&public, &mut state, storage) {
        act(&mut agent, broadcast);
    }
}

/// Words of a generator on the chip, which may fail.
struct Words;

impl rand_core::TryRng for Words {
    type Error = fmt::Error;

    fn try_next_u32(&mut self) -> Result<u32, fmt::Error> {
        black_box(Ok(1))
    }

    fn try_next_u64(&mut self) -> Result<u64, fmt::Error> {
        black_box(Ok(1))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), fmt::Error> {
        bytes.fill(black_box(1));
        black_box(Ok(()))
    }
}

impl rand_core::TryCryptoRng for Words {}

/// A device's own ledger, which may fail to write.
struct Flash;

impl Ledger<Private> for Flash {
    type Error = ();

    fn write(&mut self, _: &Charge<Private>) -> Result<(), ()> {
        black_box(Ok(()))
    }
}

/// One report, from the query to the noised reward.
fn reporter() {
    let Ok(epsilon) = Epsilon::new(black_box(1.0)) else {
        return;
    };
    let Ok(mechanism) = ClampedLaplace::new(black_box(1.5), black_box(20), epsilon) else {
        return;
    };
    let mut state = ReporterState::new(black_box(7), epsilon);
    let mut reporter = Reporter::attach(&mechanism, &mut state);
    let source = &mut Secret::new(Words);
    let mut input = ReporterInput::Query {
        candidate: black_box(3),
    };
    while let Ok(output) = reporter.handle::<f32, _>(input, source) {
        input = match output {
            ReporterOutput::Charge(charge) => match Flash.append(charge) {
                Ok(receipt) => ReporterInput::Charged(receipt),
                Err(()) => return,
            },
            ReporterOutput::Evaluate { .. } => ReporterInput::Reward(black_box(0.5)),
            ReporterOutput::Report(report) => {
                black_box(report.value());
                return;
            }
        };
    }
}

pub(super) fn run(memory: &mut Memory) {
    if const { is("single: Agent::handle") } {
        agent(memory, |agent, vectors| {
            let input = match black_box(0) {
                0 => Input::Start,
                1 => Input::Observed(black_box(0.5)),
                2 => Input::Broadcast {
                    vectors,
                    maximum: black_box(None),
                },
                3 => Input::NoBroadcast,
                _ => Input::Missed,
            };
            let _ = black_box(agent.handle(input).is_ok());
        });
        return;
    }
    if const { is("single: Agent::repeat") } {
        agent(memory, |agent, _| {
            let _ = black_box(agent.repeat().is_ok());
        });
        return;
    }
    if const { is("party: Reporter::handle") } {
        reporter();
        return;
    }
    let a = some(&mut memory.a);
    let b = some(&mut memory.b);
    if const { is("single: Optimizer::suggest") }
        && let Some(mut optimizer) = optimizer(a)
    {
        let _ = black_box(optimizer.suggest());
    }
    if const { is("single: Optimizer::observe") }
        && let Some(mut optimizer) = optimizer(a)
    {
        let _ = black_box(optimizer.observe(b, black_box(0.5)));
        black_box(optimizer.recommend());
    }
    if const { is("single: Optimizer::fit") }
        && let Some(mut optimizer) = optimizer(a)
    {
        let _ = black_box(optimizer.fit());
    }
    if const { is("single: Optimizer::resume") } {
        let Ok(domain) = BoxDomain::new(&black_box([(0.0, 20.0), (1.0, 50.0)])) else {
            return;
        };
        let log = black_box([None::<LogEntry<f32>>, None])
            .into_iter()
            .flatten();
        let _ = black_box(Optimizer::resume(
            domain,
            Settings::default(),
            black_box(32),
            &mut *a,
            log,
        ));
    }
}
