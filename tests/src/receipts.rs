//! A ledger for tests: it writes nothing down, whatever is charged, secret noise included.

use std::convert::Infallible;

use sordino_core::federated::{ServerInput, ServerOutput};
use sordino_core::local::{ReporterInput, ReporterOutput};
use sordino_core::output::publisher::{PublisherInput, PublisherOutput, Score};
use sordino_core::output::{Publisher, PublisherState, WorstCase};
use sordino_core::outsourced::{CuratorInput, CuratorOutput};
use sordino_core::privacy::{
    Charge, Event, Ledger, NoiseSource, Provenance, Receipt, Simulated, Simulation,
};
use sordino_core::random::Stream;

/// What was charged, in memory.
#[derive(Default)]
pub struct InMemory(pub Vec<Event>);

impl<P: Provenance> Ledger<P> for InMemory {
    type Error = Infallible;
    fn write(&mut self, charge: &Charge<P>) -> Result<(), Infallible> {
        self.0.extend_from_slice(charge.events());
        Ok(())
    }
}

/// The receipt for a charge.
pub fn receipt<P: Provenance>(charge: Charge<P>) -> Receipt<P> {
    match InMemory::default().append(charge) {
        Ok(receipt) => receipt,
        Err(never) => match never {},
    }
}

/// What a server is told after its charge was written down.
pub fn server_paid<'i, T, P: Provenance>(output: ServerOutput<'_, T, P>) -> ServerInput<'i, T, P> {
    match output {
        ServerOutput::Charge(charge) => ServerInput::Charged(receipt(charge)),
        _ => panic!("a private server charges"),
    }
}

/// What a reporter is told after its charge was written down.
pub fn reporter_paid<T, S: NoiseSource>(
    output: ReporterOutput<T, S>,
) -> ReporterInput<T, S::Provenance> {
    match output {
        ReporterOutput::Charge(charge) => ReporterInput::Charged(receipt(charge)),
        _ => panic!("a query is charged"),
    }
}

/// What a curator is told after its charge was written down; nothing if it was not charged.
pub fn curator_paid<P: Provenance>(output: CuratorOutput<'_, P>) -> Option<CuratorInput<P>> {
    match output {
        CuratorOutput::Charge(charge) => Some(CuratorInput::Charged(receipt(charge))),
        _ => None,
    }
}

/// What a publisher is told after its charge was written down.
pub fn publisher_paid<P: Provenance>(output: PublisherOutput<P>) -> PublisherInput<P> {
    match output {
        PublisherOutput::Charge(charge) => PublisherInput::Charged(receipt(charge)),
        _ => panic!("a result is charged"),
    }
}

/// A receipt for the charge of another publisher, whose candidates all scored one half.
pub fn publisher_elsewhere(mechanism: &WorstCase) -> PublisherInput<Simulation> {
    let count = mechanism.candidates() as usize;
    let mut state = PublisherState::new();
    let mut levels = vec![0; count];
    let mut order = vec![0; count];
    let mut publisher =
        Publisher::attach(mechanism, &mut state, &mut levels, &mut order).expect("lengths fit");
    let mut source = Simulated::new(Stream::from_seed(99));
    for candidate in 0..count as u32 {
        let scored = PublisherInput::Scored {
            candidate,
            score: Score::Number(0.5),
        };
        publisher
            .handle(scored, &mut source)
            .expect("a first score");
    }
    publisher_paid(
        publisher
            .handle(PublisherInput::Close, &mut source)
            .expect("all are scored"),
    )
}
