//! The program dies at every step of a release, and starts again from what is on disk.
//!
//! The host of every server ([`sordino_host::server`]) with its own ledger and atomic files, and a
//! finite budget. Every step is a place to die; a machine that dies also forgets what was appended
//! and not synced. Nothing survives but files and what was sent. Simulated noise: every release is
//! charged exactly once, and what is sent is what would have been sent without the death. Secret
//! noise: what was sent never exceeds what was charged, and what was charged never exceeds the
//! budget, however often the program dies before it stored anything. A host that sends before it
//! charges is caught.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use sordino_core::federated::*;
use sordino_core::privacy::{Charge, Event, NoiseSource, Private, Provenance, Secret, SourceKind};
use sordino_host::files::write_atomically;
use sordino_host::ledger::{
    Accounting, Budgeted, CounterPlace, Ledger, LedgerError, Mark, Options, Terms,
};
use sordino_host::server::{HostError, ServerHost, SimulatedSources, Sources, StoredServer};
use sordino_tests::federation::*;
use sordino_tests::secret::{Generator, secret_of};

/// Broadcasts of a run.
const ROUNDS: u32 = 3;

/// The program is dead.
#[derive(Debug)]
pub(super) struct Killed;

/// Dies at the step with this number; shared by the host and its ledger.
#[derive(Clone)]
pub(super) struct Clock {
    step: Rc<Cell<u32>>,
    dies_at: Option<u32>,
}

impl Clock {
    pub(super) fn new(dies_at: Option<u32>) -> Clock {
        Clock {
            step: Rc::default(),
            dies_at,
        }
    }

    pub(super) fn tick(&self) -> Result<(), Killed> {
        self.step.set(self.step.get() + 1);
        if self.dies_at == Some(self.step.get()) {
            Err(Killed)
        } else {
            Ok(())
        }
    }

    /// Number of steps that were taken so far.
    pub(super) fn steps(&self) -> u32 {
        self.step.get()
    }
}

/// The shipped ledger, with a place to die before and after it writes.
pub(super) struct Mortal {
    ledger: Ledger,
    clock: Clock,
    /// Bytes that a dead machine still has.
    durable: Rc<Cell<u64>>,
    path: PathBuf,
}

impl<P: Provenance> sordino_core::privacy::Ledger<P> for Mortal {
    type Error = LedgerError;
    fn write(&mut self, charge: &Charge<P>) -> Result<(), LedgerError> {
        self.clock.tick().map_err(|_| LedgerError::Broken)?;
        sordino_core::privacy::Ledger::<P>::write(&mut self.ledger, charge)?;
        if P::KIND == SourceKind::Secret {
            self.durable
                .set(fs::metadata(&self.path).map_or(0, |file| file.len()));
        }
        self.clock.tick().map_err(|_| LedgerError::Broken)
    }
}

impl Budgeted for Mortal {
    fn admits_release(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError> {
        self.ledger.admits_release(release, events)
    }
    fn mark(&self) -> Mark {
        self.ledger.mark()
    }
    fn holds(&self, mark: &Mark) -> Result<bool, LedgerError> {
        self.ledger.holds(mark)
    }
    fn sync(&mut self) -> Result<(), LedgerError> {
        self.ledger.sync()?;
        self.durable
            .set(fs::metadata(&self.path).map_or(0, |file| file.len()));
        Ok(())
    }
}

/// What survives: a folder, and what agents received (broadcast, bits of its vectors), which cannot
/// be taken back.
pub(super) struct World {
    pub(super) folder: PathBuf,
    pub(super) sent: Vec<(u32, Vec<u64>)>,
    /// Bytes of the ledger that a dead machine still has.
    durable: Rc<Cell<u64>>,
    epsilon_max: f64,
    /// What the next release costs, as the second count of a ledger of secret noise asks.
    next: Vec<Event>,
}

impl World {
    fn new(name: &str, epsilon_max: f64) -> Self {
        Self::of(
            name,
            epsilon_max,
            vec![Server::<f64>::event_of(&config()).unwrap().unwrap()],
        )
    }

    pub(super) fn of(name: &str, epsilon_max: f64, next: Vec<Event>) -> Self {
        let folder =
            std::env::temp_dir().join(format!("sordino-kills-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        World {
            folder,
            sent: Vec::new(),
            durable: Rc::default(),
            epsilon_max,
            next,
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("ledger.jsonl")
    }

    pub(super) fn ledger(&self, kind: SourceKind) -> Ledger {
        let terms = Terms {
            data: "the agents of this test".into(),
            unit: "agent".into(),
            records: Some(u64::from(N)),
            accounting: Accounting::Renyi,
            epsilon_max: Some(self.epsilon_max),
            delta: 1e-5,
        };
        match kind {
            SourceKind::Simulation => Ledger::open_simulated(&self.path(), &terms).unwrap(),
            SourceKind::Secret => {
                let counter = CounterPlace::Folder(self.folder.join("counter"));
                Ledger::open_secret(
                    &self.path(),
                    &terms,
                    &Options {
                        counter,
                        another: false,
                        next: self.next.clone(),
                    },
                )
                .unwrap()
            }
        }
    }

    /// The ledger, which dies with its program.
    pub(super) fn mortal(&self, kind: SourceKind, clock: &Clock) -> Mortal {
        let ledger = self.ledger(kind);
        if kind == SourceKind::Secret {
            // What a ledger of secret noise says when it is opened is durable.
            self.durable
                .set(fs::metadata(self.path()).map_or(0, |file| file.len()));
        }
        Mortal {
            ledger,
            clock: clock.clone(),
            durable: self.durable.clone(),
            path: self.path(),
        }
    }

    /// The machine died: all that was not synced is gone, or, if `torn`, all but half of it.
    pub(super) fn forget(&self, torn: bool) {
        if let Ok(file) = fs::metadata(self.path()) {
            let durable = self.durable.get().min(file.len());
            let left = durable + if torn { (file.len() - durable) / 2 } else { 0 };
            fs::OpenOptions::new()
                .write(true)
                .open(self.path())
                .unwrap()
                .set_len(left)
                .unwrap();
        }
    }

    /// Releases that are charged, in order.
    pub(super) fn charges(&self, kind: SourceKind) -> Vec<u64> {
        self.ledger(kind)
            .entries()
            .iter()
            .map(|entry| entry.release)
            .collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn config() -> Config {
    Config::new(Parameters {
        rounds: ROUNDS,
        ..parameters(OwnDraw::Features)
    })
    .unwrap()
}

/// One life of the program, from its files to its end or to its death. `stores`: whether it stores
/// itself after each broadcast; a program that never does starts from nothing but its ledger.
fn live<S: Sources>(
    world: &mut World,
    clock: &Clock,
    stores: bool,
    sources: S,
) -> Result<(), Killed> {
    let config = Arc::new(config());
    let kind = <S::Source as NoiseSource>::Provenance::KIND;
    let ledger = world.mortal(kind, clock);
    let saved = fs::read(world.folder.join("checkpoint")).ok();
    let stored: Option<(StoredServer, Vec<f64>)> =
        saved.map(|bytes| postcard::from_bytes(&bytes).unwrap());
    let stored = stored
        .as_ref()
        .map(|(_, vectors)| vectors.clone())
        .zip(stored.map(|(server, _)| server));
    let (vectors, server) = stored.map_or((Vec::new(), None), |(vectors, server)| {
        (vectors, Some(server))
    });
    let stored = server.map(|server| (server, &vectors[..]));
    let mut host = ServerHost::<f64, S, Mortal>::new(config, sources, ledger, stored).unwrap();
    while host.state().phase() != ServerPhase::Done {
        clock.tick()?;
        let broadcast = host.state().broadcast();
        let opened = host.open().unwrap();
        clock.tick()?;
        if opened {
            for agent in 0..N {
                host.upload(agent, broadcast, &[f64::from(agent) - 2.0; M])
                    .unwrap();
                clock.tick()?;
            }
            match host.close() {
                Ok(_) => {}
                Err(HostError::Ledger(LedgerError::Broken)) => return Err(Killed),
                Err(error) => panic!("{error}"),
            }
            clock.tick()?;
            let bits: Vec<u64> = host
                .broadcast()
                .unwrap()
                .iter()
                .map(|x| x.to_bits())
                .collect();
            // Half of the agents have it: sent is sent.
            world.sent.push((broadcast, bits.clone()));
            clock.tick()?;
            let text: String = bits.iter().map(|bits| format!("{bits:016x}\n")).collect();
            write_atomically(
                &world.folder.join(format!("broadcast-{broadcast}")),
                text.as_bytes(),
            )
            .unwrap();
            clock.tick()?;
        }
        if stores {
            let vectors = host.broadcast().unwrap_or_default().to_vec();
            let bytes = postcard::to_allocvec(&(host.store().unwrap(), vectors)).unwrap();
            write_atomically(&world.folder.join("checkpoint"), &bytes).unwrap();
        }
        clock.tick()?;
    }
    Ok(())
}

/// A secret generator, never the same twice.
pub(super) fn secret(lives: &Cell<u64>) -> Secret<Generator> {
    lives.set(lives.get() + 1);
    secret_of(lives.get())
}

/// Runs to the end with one death; `machine`: what was not synced is lost, too, or torn.
fn with_death(world: &mut World, dies_at: u32, machine: bool, kind: SourceKind) -> u32 {
    let lives = Cell::new(u64::from(dies_at) << 8);
    let once = |world: &mut World, clock: &Clock| match kind {
        SourceKind::Simulation => live(world, clock, true, SimulatedSources::new(run_seed())),
        SourceKind::Secret => live(world, clock, true, secret(&lives)),
    };
    let clock = Clock::new(Some(dies_at));
    if once(world, &clock).is_err() {
        if machine {
            world.forget(!dies_at.is_multiple_of(2));
        }
        once(world, &Clock::new(None)).unwrap();
    }
    clock.step.get()
}

/// A budget that admits a few releases more than a run makes.
const ENOUGH: f64 = 30.0;

/// The whole run without a death, and how many steps it has.
fn undisturbed(kind: SourceKind, name: &str) -> (World, u32) {
    let mut world = World::new(&format!("whole-{name}"), ENOUGH);
    let steps = with_death(&mut world, u32::MAX, false, kind);
    (world, steps)
}

#[test]
fn simulated_noise_is_charged_exactly_once_and_the_outputs_are_the_same() {
    let kind = SourceKind::Simulation;
    let (whole, steps) = undisturbed(kind, "simulated");
    assert_eq!(
        (whole.charges(kind).len(), whole.sent.len()),
        (ROUNDS as usize, ROUNDS as usize)
    );
    let expected: BTreeMap<u32, Vec<u64>> = whole.sent.iter().cloned().collect();
    for machine in [false, true] {
        for dies_at in 1..=steps {
            let mut world = World::new(&format!("simulated-{machine}-{dies_at}"), ENOUGH);
            with_death(&mut world, dies_at, machine, kind);
            assert_eq!(
                world.charges(kind),
                whole.charges(kind),
                "step {dies_at}, machine {machine}"
            );
            for (broadcast, bits) in &world.sent {
                assert_eq!(
                    bits, &expected[broadcast],
                    "step {dies_at}: the same release again, or none"
                );
            }
            for broadcast in 0..ROUNDS {
                let name = format!("broadcast-{broadcast}");
                let read = |world: &World| fs::read(world.folder.join(&name)).unwrap();
                assert_eq!(read(&world), read(&whole), "step {dies_at}");
            }
        }
    }
}

/// Different releases that left: each is a draw of its own, and needs a charge of its own.
pub(super) fn releases_that_left(world: &World) -> usize {
    let mut sent = world.sent.clone();
    sent.sort();
    sent.dedup();
    sent.len()
}

#[test]
fn secret_noise_is_never_charged_too_little() {
    let kind = SourceKind::Secret;
    let (_, steps) = undisturbed(kind, "secret");
    let mut again = 0;
    let mut twice = 0;
    for machine in [false, true] {
        for dies_at in 1..=steps {
            let mut world = World::new(&format!("secret-{machine}-{dies_at}"), ENOUGH);
            with_death(&mut world, dies_at, machine, kind);
            let charged = world.charges(kind).len();
            let left = releases_that_left(&world);
            assert!(
                charged >= left && left >= ROUNDS as usize,
                "step {dies_at}: {left} left, {charged} charged"
            );
            assert!(
                charged <= ROUNDS as usize + 1,
                "step {dies_at}: a death costs one charge at most"
            );
            again += usize::from(charged > ROUNDS as usize);
            twice += usize::from(left > ROUNDS as usize);
        }
    }
    // The interesting deaths happened: charged again without need, and a second release of the same
    // data.
    assert!(again > 0 && twice > 0, "{again} {twice}");
}

/// A program that dies again and again before it stores anything has nothing but its ledger. Before
/// the mend the budget came from the checkpoint: 14 releases of epsilon 7.8 left on a budget of 4.
#[test]
fn the_budget_is_what_the_ledger_says_however_often_the_program_dies() {
    let kind = SourceKind::Secret;
    let mut world = World::new("budget", 8.0);
    let lives = Cell::new(1 << 40);
    for life in 0..40 {
        // Right after a broadcast was sent, at the latest.
        let clock = Clock::new(Some(N + 7));
        let died = live(&mut world, &clock, false, secret(&lives)).is_err();
        assert!(died || life > 0);
    }
    let ledger = world.ledger(kind);
    let left = releases_that_left(&world);
    let spent = ledger.spent().unwrap();
    assert!(
        left >= 1 && ledger.len() >= left,
        "{left} left, {} charged",
        ledger.len()
    );
    assert!(spent.epsilon <= 8.0, "{spent:?}");
    // And not because nothing was charged: one more does not fit.
    let event = Server::<f64>::event_of(&config()).unwrap().unwrap();
    drop(ledger);
    assert!(matches!(
        world.ledger(kind).admits(&[event]),
        Err(LedgerError::OverBudget { .. })
    ));
}

/// A stored server knows its ledger again: another one, an edited one or a shorter one stops it.
#[test]
fn a_ledger_that_was_exchanged_stops_the_server() {
    let kind = SourceKind::Simulation;
    let mut world = World::new("exchanged", ENOUGH);
    // Dies in the last broadcast: a checkpoint, a ledger of two charges or more.
    let steps = undisturbed(kind, "steps").1;
    assert!(
        live(
            &mut world,
            &Clock::new(Some(steps - 2)),
            true,
            SimulatedSources::new(run_seed())
        )
        .is_err()
    );
    let good = fs::read_to_string(world.path()).unwrap();
    let stored = || -> (StoredServer, Vec<f64>) {
        postcard::from_bytes(&fs::read(world.folder.join("checkpoint")).unwrap()).unwrap()
    };
    let resume = || {
        let (server, vectors) = stored();
        let sources = SimulatedSources::new(run_seed());
        ServerHost::<f64, _>::new(
            Arc::new(config()),
            sources,
            world.ledger(kind),
            Some((server, &vectors)),
        )
        .map(|_| ())
    };
    resume().unwrap();
    // Cut to its first charge; and a whole other ledger whose chain is in order, with a cheaper
    // event.
    let two: String = good.split_inclusive('\n').take(2).collect();
    fs::write(world.path(), &two).unwrap();
    assert!(matches!(resume(), Err(HostError::OtherLedger { .. })));
    fs::remove_file(world.path()).unwrap();
    let mut cheap = world.ledger(kind);
    let event = Event::PoissonSampledGaussian {
        sampling_probability: Q,
        noise_multiplier: 9.0,
        relation: sordino_core::privacy::NeighboringRelation::ReplaceSpecial,
    };
    (0..u64::from(ROUNDS)).for_each(|release| cheap.charge(release, &[event]).unwrap());
    cheap.sync().unwrap();
    drop(cheap);
    assert!(matches!(resume(), Err(HostError::OtherLedger { .. })));
    fs::write(world.path(), &good).unwrap();
    resume().unwrap();
}

/// A ledger that says "written" before it has written.
pub(super) struct Liar {
    truth: Mortal,
    later: Vec<(u64, Vec<Event>)>,
}

impl Liar {
    pub(super) fn new(truth: Mortal) -> Self {
        Liar {
            truth,
            later: Vec::new(),
        }
    }
}

impl sordino_core::privacy::Ledger<Private> for Liar {
    type Error = LedgerError;
    fn write(&mut self, charge: &Charge<Private>) -> Result<(), LedgerError> {
        self.later
            .push((charge.release(), charge.events().to_vec()));
        Ok(())
    }
}

impl Budgeted for Liar {
    fn admits_release(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError> {
        self.truth.admits_release(release, events)
    }
    fn mark(&self) -> Mark {
        self.truth.mark()
    }
    fn holds(&self, mark: &Mark) -> Result<bool, LedgerError> {
        self.truth.holds(mark)
    }
    fn sync(&mut self) -> Result<(), LedgerError> {
        self.later
            .drain(..)
            .try_for_each(|(release, events)| self.truth.ledger.charge(release, &events))
    }
}

/// Negative control: a ledger that says "written" before it has written is caught, at some step.
#[test]
fn a_ledger_that_lies_is_caught() {
    let lives = Cell::new(1 << 50);
    let world = World::new("liar", ENOUGH);
    let liar = Liar::new(world.mortal(SourceKind::Secret, &Clock::new(None)));
    let mut host =
        ServerHost::<f64, _, Liar>::new(Arc::new(config()), secret(&lives), liar, None).unwrap();
    host.open().unwrap();
    host.close().unwrap();
    let left = usize::from(host.broadcast().is_some());
    drop(host); // dies here
    assert!(
        world.charges(SourceKind::Secret).len() < left,
        "what left is more than what was charged: caught"
    );
}
