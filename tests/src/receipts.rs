//! A ledger for tests: it writes nothing down, whatever is charged, secret noise included.

use std::convert::Infallible;

use sordino_core::federated::{ServerInput, ServerOutput};
use sordino_core::local::{ReporterInput, ReporterOutput};
use sordino_core::output::worst_case::{PublisherInput, PublisherOutput};
use sordino_core::outsourced::{CuratorInput, CuratorOutput};
use sordino_core::privacy::{Charge, Event, Ledger, NoiseSource, Provenance, Receipt};

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
pub fn reporter_paid<T, S: NoiseSource>(output: ReporterOutput<T, S>) -> ReporterInput<T, S::Provenance> {
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
