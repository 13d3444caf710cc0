//! Nothing leaves a party without a receipt: a release names its cost, a ledger writes it down, and
//! only then is noise drawn. (A mechanism used by itself releases value and event together;
//! charging is then its caller's word.)
//!
//! | step | who | what |
//! |---|---|---|
//! | close | a party | hands out a [`Charge`]: what its release costs, bound to one opening |
//! | append | a [`Ledger`] of the host | makes it durable and turns it into a [`Receipt`] |
//! | charged | the party | takes the receipt, and only then draws noise and releases |
//!
//! Neither a charge nor a receipt can be copied, stored or made outside this crate, and a receipt
//! fits the opening it was made for and no other. Both carry how the release will be made: what
//! pays for a simulation ([`Unwritten`]) pays for nothing private, and does not compile there. What
//! a host can still do is implement [`Ledger`]`<`[`Private`](crate::privacy::Private)`>` as a lie:
//! that one function is where a reviewer looks.
//!
//! **Example**: a ledger, [`Ledger`]; a release with all three steps, [`crate::federated::Server`].

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use super::event::Event;
use crate::random::{Nonce, Provenance, Simulation};

/// The most events one charge holds: the selection of a candidate and its score.
const EVENTS_MAX: usize = 2;

/// What a release that is about to be made costs. Not `Clone`, not serialisable; dropped, it paid
/// for nothing.
///
/// ```compile_fail,E0599
/// # fn twice(charge: sordino_core::privacy::Charge<sordino_core::privacy::Private>) {
/// let second = charge.clone();
/// # }
/// ```
///
/// **Example**: a ledger that reads one, [`Ledger`]; who makes one, [`crate::federated::Server`].
#[must_use = "a charge that no ledger takes releases nothing"]
pub struct Charge<P: Provenance> {
    opening: Nonce,
    release: u64,
    events: heapless::Vec<Event, EVENTS_MAX>,
    provenance: PhantomData<P>,
}

impl<P: Provenance> Charge<P> {
    /// The charge of one event, release number `release` of its party (counted from 0).
    pub(crate) fn one(opening: Nonce, release: u64, event: Event) -> Self {
        Self::all(opening, release, &[event])
    }

    /// The charge of events that leave together; more than [`EVENTS_MAX`] do not compile.
    pub(crate) fn all<const N: usize>(opening: Nonce, release: u64, events: &[Event; N]) -> Self {
        const { assert!(N <= EVENTS_MAX) };
        Charge {
            opening,
            release,
            events: events.iter().copied().collect(),
            provenance: PhantomData,
        }
    }

    /// Number of the release among those of its party, from 0: what a ledger calls its sequence.
    pub const fn release(&self) -> u64 {
        self.release
    }

    /// Every event that this release costs; they add up.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

impl<P: Provenance> fmt::Debug for Charge<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charge")
            .field("release", &self.release)
            .field("events", &self.events())
            .finish()
    }
}

/// Two charges are equal if they cost the same for the same release of the same opening.
impl<P: Provenance> PartialEq for Charge<P> {
    fn eq(&self, other: &Self) -> bool {
        self.opening == other.opening
            && self.release == other.release
            && self.events == other.events
    }
}

/// Proof that a charge was written down. It is spent by the release it pays for.
///
/// ```compile_fail,E0599
/// # fn twice(receipt: sordino_core::privacy::Receipt<sordino_core::privacy::Private>) {
/// let second = receipt.clone();
/// # }
/// ```
///
/// **Example**: that of [`crate::federated::Server`].
#[must_use = "a receipt that no party takes paid for nothing"]
pub struct Receipt<P: Provenance> {
    charge: Charge<P>,
}

impl<P: Provenance> Receipt<P> {
    /// Whether it was made for this opening and pays exactly this.
    pub(crate) fn pays(&self, opening: Nonce, events: &[Event]) -> bool {
        self.charge.opening == opening && self.charge.events() == events
    }
}

impl<P: Provenance> fmt::Debug for Receipt<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt of {:?}", self.charge)
    }
}

impl<P: Provenance> PartialEq for Receipt<P> {
    fn eq(&self, other: &Self) -> bool {
        self.charge == other.charge
    }
}

/// Where a host writes charges down: `Ledger<Private>` for releases with secret coins and noise,
/// `Ledger<Simulation>` for simulated ones.
///
/// ```
/// use sordino_core::privacy::{Charge, Ledger, Private};
///
/// /// A log in flash memory.
/// struct Log(Vec<u8>);
///
/// impl Ledger<Private> for Log {
///     type Error = &'static str;
///     fn write(&mut self, charge: &Charge<Private>) -> Result<(), Self::Error> {
///         for event in charge.events() {
///             let mut buffer = [0; 64];
///             let entry = postcard::to_slice(&(charge.release(), event), &mut buffer).map_err(|_| "too long an event")?;
///             self.0.extend_from_slice(entry); // and wait until it is durable
///         }
///         Ok(())
///     }
/// }
/// # assert!(Log(vec![]).0.is_empty());
/// ```
pub trait Ledger<P: Provenance> {
    /// Why a charge could not be written down.
    type Error;

    /// Writes down every event of the charge. An `Ok` is a promise: whatever happens to this
    /// machine from now on, these events will be found and counted. A ledger that keeps a budget
    /// refuses here, before it writes, even if the event was offered to the budget before the round
    /// opened ([`crate::privacy::budget`] has the order).
    ///
    /// **Errors**: the ledger's own; it may then hold the charge or not, and a party that asks
    /// again is charged again.
    fn write(&mut self, charge: &Charge<P>) -> Result<(), Self::Error>;

    /// Writes a charge down and gives the receipt for it, which no other function can make.
    ///
    /// **Errors**: those of [`Ledger::write`]. The charge is gone then; its party names it again
    /// when it is asked to close again.
    fn append(&mut self, charge: Charge<P>) -> Result<Receipt<P>, Self::Error> {
        self.write(&charge)?;
        Ok(Receipt { charge })
    }
}

/// The ledger of a simulation that nobody resumes: it writes nothing down, and pays for nothing
/// private.
///
/// ```compile_fail,E0277
/// # fn pay(charge: sordino_core::privacy::Charge<sordino_core::privacy::Private>) {
/// use sordino_core::privacy::{Ledger, charge::Unwritten};
/// let receipt = Unwritten.append(charge);
/// # }
/// ```
///
/// **Example**: that of [`crate::federated::Server`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwritten;

impl Unwritten {
    /// The receipt for a simulated charge, which is always given.
    pub fn receipt(charge: Charge<Simulation>) -> Receipt<Simulation> {
        match Unwritten.append(charge) {
            Ok(receipt) => receipt,
            Err(never) => match never {},
        }
    }
}

impl Ledger<Simulation> for Unwritten {
    type Error = Infallible;
    fn write(&mut self, _: &Charge<Simulation>) -> Result<(), Infallible> {
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    extern crate std;
    use super::*;
    use crate::privacy::event::NeighboringRelation;
    use crate::random::{NoiseSource, Private, Simulated, Stream};

    /// A ledger in memory, for tests of either kind.
    #[derive(Default)]
    pub(crate) struct InMemory {
        pub(crate) events: std::vec::Vec<Event>,
    }

    impl<P: Provenance> Ledger<P> for InMemory {
        type Error = Infallible;
        fn write(&mut self, charge: &Charge<P>) -> Result<(), Self::Error> {
            self.events.extend_from_slice(charge.events());
            Ok(())
        }
    }

    /// A ledger whose disk is full.
    struct Full;

    impl Ledger<Private> for Full {
        type Error = &'static str;
        fn write(&mut self, _: &Charge<Private>) -> Result<(), Self::Error> {
            Err("no space left")
        }
    }

    const EVENT: Event = Event::PureEpsilon {
        epsilon: 0.5,
        relation: NeighboringRelation::ReplaceOne,
    };

    #[test]
    fn a_receipt_pays_what_was_written_for_its_opening_and_nothing_else() {
        let mut source = Simulated::new(Stream::from_seed(1));
        let here = source.nonce().unwrap();
        assert_eq!(
            source.nonce().unwrap(),
            here,
            "a simulated name moves no stream"
        );
        source.word().unwrap();
        let there = source.nonce().unwrap();
        assert_ne!(here, there);
        let mut ledger = InMemory::default();
        let receipt = ledger
            .append(Charge::<Simulation>::all(here, 4, &[EVENT, EVENT]))
            .unwrap();
        assert_eq!(ledger.events, [EVENT, EVENT]);
        assert!(receipt.pays(here, &[EVENT, EVENT]));
        assert!(
            !receipt.pays(there, &[EVENT, EVENT])
                && !receipt.pays(here, &[EVENT])
                && !receipt.pays(here, &[])
        );
        assert_eq!(
            Full.append(Charge::one(here, 0, EVENT)).unwrap_err(),
            "no space left"
        );
    }
}
