//! The host of a federated prior's server (a [`Population`]) with secret sources, a finite budget,
//! and a death at every step; and sources that take a new seed at every opening.
//!
//! What `release_kills.rs` shows of the other server: nothing survives but files and what was sent.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::rc::Rc;
use std::sync::Arc;

use sordino_core::federated::prior::{Plan, PriorError, Public, event};
use sordino_core::federated::{Config, OwnDraw, Parameters, ServerState};
use sordino_core::privacy::accountant::{Accountant, GaussianAccountant};
use sordino_core::privacy::{NoiseSource, Provenance, Secret, SourceKind};
use sordino_core::random::{RunSeed, Stream};
use sordino_host::entropy::NoEntropy;
use sordino_host::files::write_atomically;
use sordino_host::ledger::LedgerError;
use sordino_host::server::{
    HostError, Population, ServerHost, SimulatedSources, Sources, StoredPosterior, StoredServer,
    SystemSources, WithPublic,
};
use sordino_tests::federation;
use sordino_tests::prior::{M, N, World as Small, small};

use super::release_kills::{Clock, Killed, Liar, World, releases_that_left, secret};

const ROUNDS: [u32; 3] = [0, 0, 4];
const MULTIPLIERS: [f64; 3] = [1.5, 1.5, 0.8];
const PLAN: Plan<'static> = Plan {
    rounds: &ROUNDS,
    noise_multipliers: &MULTIPLIERS,
};
const RELEASES: usize = ROUNDS.len();
/// A budget that admits all releases and more than one again.
const ENOUGH: f64 = 60.0;

/// The public numbers of a small world, as a host holds them.
struct Held<'w>(&'w Small<f64>);

impl WithPublic<f64> for Held<'_> {
    fn public(&self) -> Result<Public<'_, f64>, PriorError> {
        Ok(self.0.public(true))
    }
}

fn population(place: &Small<f64>) -> Population<f64, Held<'_>> {
    Population::new(Held(place), PLAN).unwrap()
}

fn world(name: &str, epsilon_max: f64) -> World {
    World::of(
        &format!("prior-{name}"),
        epsilon_max,
        vec![event(MULTIPLIERS[0])],
    )
}

/// One life of the program, from its files to its end or to its death; as in `release_kills.rs`.
fn live<S: Sources>(
    world: &mut World,
    place: &Small<f64>,
    clock: &Clock,
    stores: bool,
    sources: S,
) -> Result<(), Killed> {
    let ledger = world.mortal(<S::Source as NoiseSource>::Provenance::KIND, clock);
    let saved = fs::read(world.folder.join("checkpoint")).ok();
    let stored: Option<StoredServer<ServerState, StoredPosterior>> =
        saved.map(|bytes| postcard::from_bytes(&bytes).unwrap());
    let stored = stored.map(|stored| (stored, &[][..]));
    let mut host =
        ServerHost::<f64, S, _, _>::new(population(place), sources, ledger, stored).unwrap();
    while (host.state().broadcast() as usize) < RELEASES {
        clock.tick()?;
        let release = host.state().broadcast();
        let opened = host.open().unwrap();
        clock.tick()?;
        if opened {
            for agent in 0..N {
                host.upload(agent, release, &[f64::from(agent) - 2.0; M + 1])
                    .unwrap();
                clock.tick()?;
            }
            let bits: Vec<u64> = match host.close() {
                Ok(_) => host
                    .broadcast()
                    .unwrap()
                    .iter()
                    .map(|x| x.to_bits())
                    .collect(),
                Err(HostError::Ledger(LedgerError::Broken)) => return Err(Killed),
                Err(error) => panic!("{error}"),
            };
            clock.tick()?;
            // Half of the agents have it: sent is sent.
            world.sent.push((release, bits));
            clock.tick()?;
        }
        if stores {
            let bytes = postcard::to_allocvec(&host.store().unwrap()).unwrap();
            write_atomically(&world.folder.join("checkpoint"), &bytes).unwrap();
        }
        clock.tick()?;
    }
    Ok(())
}

/// Runs to the end with one death; `machine`: what was not synced is lost, too, or torn.
fn with_death(
    world: &mut World,
    place: &Small<f64>,
    dies_at: u32,
    machine: bool,
    kind: SourceKind,
) -> u32 {
    let lives = Cell::new(u64::from(dies_at) << 8);
    let once = |world: &mut World, clock: &Clock| match kind {
        SourceKind::Simulation => live(
            world,
            place,
            clock,
            true,
            SimulatedSources::new(RunSeed::new(3, 1)),
        ),
        SourceKind::Secret => live(world, place, clock, true, secret(&lives)),
    };
    let clock = Clock::new(Some(dies_at));
    if once(world, &clock).is_err() {
        if machine {
            world.forget(!dies_at.is_multiple_of(2));
        }
        once(world, &Clock::new(None)).unwrap();
    }
    clock.steps()
}

#[test]
fn a_prior_of_simulated_noise_is_charged_exactly_once_and_releases_the_same() {
    let kind = SourceKind::Simulation;
    let place = small(N);
    let mut whole = world("whole", ENOUGH);
    let steps = with_death(&mut whole, &place, u32::MAX, false, kind);
    assert_eq!(
        (whole.charges(kind).len(), whole.sent.len()),
        (RELEASES, RELEASES)
    );
    let expected: BTreeMap<u32, Vec<u64>> = whole.sent.iter().cloned().collect();
    for machine in [false, true] {
        for dies_at in 1..=steps {
            let mut world = world(&format!("simulated-{machine}-{dies_at}"), ENOUGH);
            with_death(&mut world, &place, dies_at, machine, kind);
            assert_eq!(
                world.charges(kind),
                whole.charges(kind),
                "step {dies_at}, machine {machine}"
            );
            assert_eq!(
                world.sent.iter().map(|(release, _)| *release).max(),
                Some(RELEASES as u32 - 1)
            );
            for (release, bits) in &world.sent {
                assert_eq!(
                    bits, &expected[release],
                    "step {dies_at}: the same release again, or none"
                );
            }
        }
    }
}

#[test]
fn a_prior_of_secret_noise_is_never_charged_too_little() {
    let kind = SourceKind::Secret;
    let place = small(N);
    let steps = with_death(&mut world("steps", ENOUGH), &place, u32::MAX, false, kind);
    let mut again = 0;
    let mut twice = 0;
    for machine in [false, true] {
        for dies_at in 1..=steps {
            let mut world = world(&format!("secret-{machine}-{dies_at}"), ENOUGH);
            with_death(&mut world, &place, dies_at, machine, kind);
            let charged = world.charges(kind).len();
            let left = releases_that_left(&world);
            assert!(
                charged >= left && left >= RELEASES,
                "step {dies_at}: {left} left, {charged} charged"
            );
            assert!(
                charged <= RELEASES + 1,
                "step {dies_at}: a death costs one charge at most"
            );
            again += usize::from(charged > RELEASES);
            twice += usize::from(left > RELEASES);
        }
    }
    // The interesting deaths happened: charged again without need, and a second release of the same
    // data.
    assert!(again > 0 && twice > 0, "{again} {twice}");
}

/// A finite budget holds however often the program dies before it stored anything, and refuses all
/// that follow.
#[test]
fn the_budget_of_a_prior_is_what_its_ledger_says() {
    let kind = SourceKind::Secret;
    let place = small(N);
    let most = 8.0;
    let mut world = world("budget", most);
    let lives = Cell::new(1 << 40);
    for _ in 0..20 {
        // Right after a release was sent, at the latest.
        let _ = live(
            &mut world,
            &place,
            &Clock::new(Some(N + 6)),
            false,
            secret(&lives),
        );
    }
    let ledger = world.ledger(kind);
    let left = releases_that_left(&world);
    let spent = ledger.spent().unwrap();
    assert!(
        left >= 1 && ledger.len() >= left,
        "{left} left, {} charged",
        ledger.len()
    );
    assert!(spent.epsilon <= most, "{spent:?}");
    // And not because nothing was charged: what left costs, exactly, more than a part of it.
    let mut exact = GaussianAccountant::new();
    exact.compose(&event(MULTIPLIERS[0]), left as u32).unwrap();
    assert!(exact.epsilon(1e-5).unwrap().epsilon > 0.5 * most);
    drop(ledger);
    // A life without deaths on what is left makes no release at all, and ends.
    let sent = world.sent.len();
    live(&mut world, &place, &Clock::new(None), false, secret(&lives)).unwrap();
    assert_eq!(world.sent.len(), sent);
}

/// Negative control: a ledger that says "written" before it has written is caught.
#[test]
fn a_ledger_that_lies_to_a_prior_is_caught() {
    let world = world("liar", ENOUGH);
    let place = small(N);
    let liar = Liar::new(world.mortal(SourceKind::Secret, &Clock::new(None)));
    let sources = secret(&Cell::new(1 << 50));
    let mut host =
        ServerHost::<f64, _, Liar, _>::new(population(&place), sources, liar, None).unwrap();
    assert!(host.open().unwrap());
    host.close().unwrap();
    let left = usize::from(host.broadcast().is_some());
    drop(host); // dies here
    assert!(
        world.charges(SourceKind::Secret).len() < left,
        "what left is more than what was charged: caught"
    );
}

/// Sources of a program that was copied while it ran: the copy has the same generator. They count,
/// and may fail.
struct Copied {
    source: Secret<Watched>,
    words: Rc<Cell<u32>>,
    renews: Rc<Cell<u32>>,
    /// The seed that the system would give next; none if it gives nothing, or if this source does
    /// not ask.
    next: Option<u64>,
    fails: bool,
}

/// A generator that counts what is drawn from it.
struct Watched {
    stream: Stream,
    words: Rc<Cell<u32>>,
}

impl Watched {
    fn source(seed: u64, words: &Rc<Cell<u32>>) -> Secret<Watched> {
        Secret::new(Watched {
            stream: Stream::from_seed(seed),
            words: words.clone(),
        })
    }
}

impl rand_core::TryRng for Watched {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.words.set(self.words.get() + 1);
        Ok(self.stream.word())
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes
            .iter_mut()
            .try_for_each(|byte| self.try_next_u64().map(|word| *byte = word as u8))
    }
}

impl rand_core::TryCryptoRng for Watched {}

impl Copied {
    fn new(next: Option<u64>) -> Self {
        let words = Rc::default();
        Copied {
            source: Watched::source(77, &words),
            words,
            renews: Rc::default(),
            next,
            fails: false,
        }
    }
}

impl Sources for Copied {
    type Source = Secret<Watched>;
    fn of_broadcast(&mut self, _: u32) -> &mut Secret<Watched> {
        &mut self.source
    }
    fn renew(&mut self) -> Result<(), NoEntropy> {
        self.renews.set(self.renews.get() + 1);
        if self.fails {
            return Err(NoEntropy::UNSUPPORTED);
        }
        if let Some(next) = &mut self.next {
            self.source = Watched::source(*next, &self.words);
            *next += 1000;
        }
        Ok(())
    }
}

fn config() -> Arc<Config> {
    let parameters = Parameters {
        rounds: 3,
        ..federation::parameters(OwnDraw::Features)
    };
    Arc::new(Config::new(parameters).unwrap())
}

/// The samples of two rounds of a program, as collectors see them.
fn samples(next: Option<u64>, name: &str) -> Vec<Vec<u8>> {
    let event = sordino_core::federated::Server::<f64>::event_of(&config())
        .unwrap()
        .unwrap();
    let world = World::of(name, ENOUGH, vec![event]);
    let ledger = world.ledger(SourceKind::Secret);
    let sources = Copied::new(next);
    let renews = sources.renews.clone();
    let mut host = ServerHost::<f64, Copied>::new(config(), sources, ledger, None).unwrap();
    let mut found = Vec::new();
    for round in 0..2 {
        assert!(host.open().unwrap());
        assert_eq!(renews.get(), round + 1, "once for each opening");
        found.push(postcard::to_allocvec(&*host.share().unwrap()).unwrap());
        host.close().unwrap();
    }
    found
}

#[test]
fn two_copies_of_a_running_server_draw_different_coins() {
    let one = samples(Some(1), "copy-1");
    let other = samples(Some(2), "copy-2");
    assert!(one[0] != other[0] && one[1] != other[1]);
    // Negative control: without a new seed the copy draws the same coins under the same name.
    assert_eq!(samples(None, "copy-3"), samples(None, "copy-4"));
}

#[test]
fn without_a_new_seed_nothing_is_opened() {
    let event = sordino_core::federated::Server::<f64>::event_of(&config())
        .unwrap()
        .unwrap();
    let world = World::of("no-seed", ENOUGH, vec![event]);
    let mut sources = Copied::new(Some(1));
    sources.fails = true;
    let words = sources.words.clone();
    let mut host =
        ServerHost::<f64, Copied>::new(config(), sources, world.ledger(SourceKind::Secret), None)
            .unwrap();
    assert!(matches!(host.open(), Err(HostError::Entropy(_))));
    assert_eq!(
        (words.get(), host.state().broadcast()),
        (0, 0),
        "nothing was drawn"
    );
    assert!(host.share().is_err(), "nothing is open");
    // What a real server uses takes its seeds from the system.
    let mut real = SystemSources::new().unwrap();
    let before = real.of_broadcast(0).word().unwrap();
    real.renew().unwrap();
    assert_ne!(before, real.of_broadcast(0).word().unwrap());
    assert_eq!(real.of_broadcast(0).kind(), SourceKind::Secret);
}
