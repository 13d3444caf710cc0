//! The program dies at every step of a release, and starts again from what is on disk.
//!
//! A host as a deployment would write it: core's server, the simulator's ledger and atomic files. Every step is a place
//! to die; a machine that dies also forgets what was appended and not synced. Nothing survives but files and what was
//! sent. Simulated noise: every release is charged exactly once, and what is sent is what would have been sent without
//! the death. Secret noise: what was sent never exceeds what was charged. A host that sends before it syncs is caught.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sordino_core::federated::*;
use sordino_core::privacy::accountant::RdpAccountant;
use sordino_core::privacy::budget::Filter;
use sordino_core::privacy::ledger::{LedgerEntry, Replay};
use sordino_core::random::{NoiseSource, Party, Purpose, Simulated, SourceKind};
use sordino_sim::checkpoint::write_atomically;
use sordino_sim::ledger::Ledger;
use sordino_tests::federation::*;
use sordino_tests::secret::secret_of;

/// Broadcasts of a run.
const ROUNDS: u32 = 3;

/// The program is dead.
#[derive(Debug)]
struct Killed;

/// Dies at the step with this number.
struct Clock {
    step: u32,
    dies_at: Option<u32>,
}

impl Clock {
    fn tick(&mut self) -> Result<(), Killed> {
        self.step += 1;
        if self.dies_at == Some(self.step) { Err(Killed) } else { Ok(()) }
    }
}

/// In which order a host works.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Charge, sync, release, send.
    Shipped,
    /// Release, send, then charge: the control.
    SendsFirst,
}

/// What survives: a folder, and what agents received (broadcast, bits of its vectors), which cannot be taken back.
struct World {
    folder: PathBuf,
    sent: Vec<(u32, Vec<u64>)>,
    /// Bytes of the ledger that a dead machine still has.
    durable: u64,
}

impl World {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sordino-kills-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        World { folder, sent: Vec::new(), durable: 0 }
    }

    fn ledger(&self) -> PathBuf {
        self.folder.join("ledger.jsonl")
    }

    fn charges(&self) -> Vec<LedgerEntry> {
        let text = fs::read_to_string(self.ledger()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A ledger for either kind of noise: the simulator's own, or one that charges again.
enum Book {
    Simulated(Box<Ledger>),
    Secret { path: PathBuf, next: u64, unsynced: String },
}

impl Book {
    fn open(kind: SourceKind, path: &Path) -> Self {
        match kind {
            SourceKind::Simulation => Book::Simulated(Box::new(Ledger::open(path.to_owned()).unwrap())),
            SourceKind::Secret => {
                let mut replay = Replay::new(SourceKind::Secret);
                let text = fs::read_to_string(path).unwrap_or_default();
                for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
                    replay.read(&serde_json::from_str(line).unwrap()).unwrap();
                }
                Book::Secret { path: path.to_owned(), next: replay.next(), unsynced: String::new() }
            }
        }
    }

    fn append(&mut self, release: u32, event: sordino_core::privacy::Event) {
        match self {
            Book::Simulated(ledger) => ledger.append(u64::from(release), event).unwrap(),
            // Whatever was charged before: this is another draw, and another charge.
            Book::Secret { next, unsynced, .. } => {
                *unsynced += &(serde_json::to_string(&LedgerEntry::new(*next, event)).unwrap() + "\n");
                *next += 1;
            }
        }
    }

    fn sync(&mut self) {
        match self {
            Book::Simulated(ledger) => ledger.sync().unwrap(),
            Book::Secret { path, unsynced, .. } => {
                let text = fs::read_to_string(&*path).unwrap_or_default() + unsynced;
                write_atomically(path, text.as_bytes()).unwrap();
                unsynced.clear();
            }
        }
    }
}

/// One life of the program, from its files to its end or to its death.
fn live<S: NoiseSource>(
    world: &mut World,
    clock: &mut Clock,
    order: Order,
    kind: SourceKind,
    source: impl Fn(u32) -> S,
) -> Result<(), Killed> {
    let config = Config::new(Parameters { rounds: ROUNDS, ..parameters(OwnDraw::Features) }).unwrap();
    let mut book = Book::open(kind, &world.ledger());
    let saved = fs::read(world.folder.join("checkpoint")).ok();
    let (mut state, spent): (ServerState, RdpAccountant) = match saved {
        Some(bytes) => postcard::from_bytes(&bytes).unwrap(),
        None => (ServerState::new(), RdpAccountant::new()),
    };
    let mut filter = Filter::new(f64::INFINITY, 1e-5).unwrap().resume(spent);
    let (sums, noise, flags, vectors) = storage_lens(&config);
    let (mut sums, mut noise, mut flags, mut vectors) =
        (vec![0; sums], vec![0; noise], vec![0; flags], vec![0.0f64; vectors]);
    loop {
        clock.tick()?;
        let storage = ServerStorage { sums: &mut sums, noise: &mut noise, flags: &mut flags, vectors: &mut vectors };
        let mut server = Server::attach(&config, &mut state, storage).unwrap();
        if server.state().phase() == ServerPhase::Done {
            return Ok(());
        }
        let broadcast = server.state().broadcast();
        let mut source = source(broadcast);
        server.handle(ServerInput::Open, &mut source).unwrap();
        clock.tick()?;
        for agent in 0..N {
            let vector = [f64::from(agent) - 2.0; M];
            server.handle(ServerInput::Upload { agent, broadcast, vector: &vector }, &mut source).unwrap();
            clock.tick()?;
        }
        let ServerOutput::Charge(event) = server.handle(ServerInput::Close, &mut source).unwrap() else {
            panic!("a private server charges")
        };
        clock.tick()?;
        let release = server.state().releases();
        let mut charge = |clock: &mut Clock, world: &mut World| {
            filter.charge(&event).unwrap();
            clock.tick()?;
            book.append(release, event);
            clock.tick()?;
            book.sync();
            world.durable = fs::metadata(world.ledger()).map_or(0, |file| file.len());
            clock.tick()
        };
        if order == Order::Shipped {
            charge(clock, world)?;
        }
        let ServerOutput::Broadcast { vectors: released, kind: made, .. } =
            server.handle(ServerInput::Charged, &mut source).unwrap()
        else {
            panic!("a charged release is broadcast")
        };
        assert_eq!(made, Some(kind));
        let bits: Vec<u64> = released.iter().map(|x| x.to_bits()).collect();
        clock.tick()?;
        // Half of the agents have it: sent is sent.
        world.sent.push((broadcast, bits.clone()));
        clock.tick()?;
        let text: String = bits.iter().map(|bits| format!("{bits:016x}\n")).collect();
        write_atomically(&world.folder.join(format!("broadcast-{broadcast}")), text.as_bytes()).unwrap();
        clock.tick()?;
        if order == Order::SendsFirst {
            charge(clock, world)?;
        }
        write_atomically(
            &world.folder.join("checkpoint"),
            &postcard::to_allocvec(&(&state, filter.accountant())).unwrap(),
        )
        .unwrap();
        clock.tick()?;
    }
}

fn simulated(broadcast: u32) -> Simulated {
    Simulated::new(run_seed().stream(Party::Server, Purpose::Release, broadcast))
}

/// Runs to the end with one death; `machine`: what was not synced is lost, too, or torn.
fn with_death(world: &mut World, dies_at: u32, machine: bool, order: Order, kind: SourceKind) -> u32 {
    // A secret generator is never the same twice.
    let lives = std::cell::Cell::new(u64::from(dies_at) << 8);
    let secret = |_: u32| {
        lives.set(lives.get() + 1);
        secret_of(lives.get())
    };
    let mut clock = Clock { step: 0, dies_at: Some(dies_at) };
    let once = |world: &mut World, clock: &mut Clock| match kind {
        SourceKind::Simulation => live(world, clock, order, kind, simulated),
        SourceKind::Secret => live(world, clock, order, kind, secret),
    };
    if once(world, &mut clock).is_err() {
        let path = world.ledger();
        if machine && path.exists() {
            // All that was not synced is gone, or all but half a line of it.
            let length = fs::metadata(&path).unwrap().len();
            let left = world.durable + if dies_at.is_multiple_of(2) { 0 } else { (length - world.durable) / 2 };
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap();
        }
        once(world, &mut Clock { step: 0, dies_at: None }).unwrap();
    }
    clock.step
}

/// The whole run without a death, and how many steps it has.
fn undisturbed(kind: SourceKind, name: &str) -> (World, u32) {
    let mut world = World::new(&format!("whole-{name}"));
    let steps = with_death(&mut world, u32::MAX, false, Order::Shipped, kind);
    (world, steps)
}

#[test]
fn simulated_noise_is_charged_exactly_once_and_the_outputs_are_the_same() {
    let (whole, steps) = undisturbed(SourceKind::Simulation, "simulated");
    assert_eq!((whole.charges().len(), whole.sent.len()), (ROUNDS as usize, ROUNDS as usize));
    let expected: BTreeMap<u32, Vec<u64>> = whole.sent.iter().cloned().collect();
    for machine in [false, true] {
        for dies_at in 1..=steps {
            let mut world = World::new(&format!("simulated-{machine}-{dies_at}"));
            with_death(&mut world, dies_at, machine, Order::Shipped, SourceKind::Simulation);
            assert_eq!(world.charges(), whole.charges(), "step {dies_at}, machine {machine}");
            for (broadcast, bits) in &world.sent {
                assert_eq!(bits, &expected[broadcast], "step {dies_at}: the same release again, or none");
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
fn releases_that_left(world: &World) -> usize {
    let mut sent = world.sent.clone();
    sent.sort();
    sent.dedup();
    sent.len()
}

#[test]
fn secret_noise_is_never_charged_too_little() {
    let (_, steps) = undisturbed(SourceKind::Secret, "secret");
    let (mut again, mut twice) = (0, 0);
    for machine in [false, true] {
        for dies_at in 1..=steps {
            let mut world = World::new(&format!("secret-{machine}-{dies_at}"));
            with_death(&mut world, dies_at, machine, Order::Shipped, SourceKind::Secret);
            let (charged, left) = (world.charges().len(), releases_that_left(&world));
            assert!(charged >= left && left >= ROUNDS as usize, "step {dies_at}: {left} left, {charged} charged");
            assert!(charged <= ROUNDS as usize + 1, "step {dies_at}: a death costs one charge at most");
            again += usize::from(charged > ROUNDS as usize);
            twice += usize::from(left > ROUNDS as usize);
        }
    }
    // The interesting deaths happened: charged again without need, and a second release of the same data.
    assert!(again > 0 && twice > 0, "{again} {twice}");
}

/// Negative control: whoever sends before the charge is durable is caught, at some step.
#[test]
fn sending_before_the_charge_is_durable_is_caught() {
    let (_, steps) = undisturbed(SourceKind::Secret, "control");
    let mut caught = 0;
    for dies_at in 1..=steps {
        let mut world = World::new(&format!("control-{dies_at}"));
        with_death(&mut world, dies_at, true, Order::SendsFirst, SourceKind::Secret);
        caught += usize::from(world.charges().len() < releases_that_left(&world));
    }
    assert!(caught > 0, "{caught} of {steps}");
}
