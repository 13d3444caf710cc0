//! Leader and helper of two servers die at every step, and start again from what is on disk.
//!
//! Secret noise, a finite budget for each, atomic files. Nothing survives but files, what agents
//! hold and what was announced. Whenever a party dies, what is announced of a release is one thing,
//! and each ledger has exactly one charge for it.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use sordino_core::digest::Digest;
use sordino_core::federated::prior::{Mechanism, Plan, PriorError, Public};
use sordino_core::federated::shares::{Attempts, HelperKey, Modulus, SecretKey};
use sordino_core::federated::{PartialError, ServerError, ServerPhase, ServerState};
use sordino_core::privacy::Event;
use sordino_host::files::{FileError, write_atomically};
use sordino_host::ledger::{
    Accounting, CounterPlace, Deferred, Ledger, LedgerError, Options, Planned, Terms,
};
use sordino_host::server::{
    HostError, Population, ServerHost, StoredPosterior, StoredServer, WithPublic,
};
use sordino_host::shares::{Asked, Collection, Helper, HelperError, HelperPlan, Keep, Question};
use sordino_tests::prior::{M, N, World};
use sordino_tests::secret::{Generator, secret_of};

use super::release_kills::{Clock, Killed, secret};
use super::shares::{Kept, shared};

const ROUNDS: [u32; 3] = [0, 0, 4];
const MULTIPLIERS: [f64; 3] = [1.5, 1.5, 0.8];
const PLAN: Plan<'static> = Plan {
    rounds: &ROUNDS,
    noise_multipliers: &MULTIPLIERS,
};
const RELEASES: u32 = ROUNDS.len() as u32;
const GRID_EXPONENT: u32 = 20;
const RUN: Digest = Digest([9; 32]);

struct Held<'w>(&'w World<f64>);

impl WithPublic<f64> for Held<'_> {
    fn public(&self) -> Result<Public<'_, f64>, PriorError> {
        Ok(self.0.public(true))
    }
}

/// A party's folder; and the parties' common memory, which is what agents hold and what was
/// announced.
struct Place {
    folder: PathBuf,
    epsilon_max: f64,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("sordino-shares-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Place {
            folder,
            epsilon_max: 60.0,
        }
    }

    fn ledger(&self, next: Vec<Event>) -> Ledger {
        let terms = Terms {
            data: "the agents of this test".into(),
            unit: "agent".into(),
            records: Some(u64::from(N)),
            accounting: Accounting::Gaussian,
            epsilon_max: Some(self.epsilon_max),
            delta: 1e-5,
        };
        let counter = CounterPlace::Folder(self.folder.join("counter"));
        let options = Options {
            counter,
            another: false,
            next,
        };
        Ledger::open_secret(&self.folder.join("ledger.jsonl"), &terms, &options).unwrap()
    }

    fn charges(&self) -> Vec<u64> {
        self.ledger(plan().events().take(1).collect())
            .entries()
            .iter()
            .map(|entry| entry.release)
            .collect()
    }

    fn stored(&self) -> Option<Vec<u8>> {
        fs::read(self.folder.join("state")).ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn plan() -> HelperPlan {
    HelperPlan::new(RUN, N, M + 1, GRID_EXPONENT, &MULTIPLIERS).unwrap()
}

fn agent_key(agent: u32) -> SecretKey {
    SecretKey::new([agent as u8 + 10; 32])
}

fn helper_key() -> SecretKey {
    SecretKey::new([1; 32])
}

fn keys() -> Vec<Option<HelperKey>> {
    (0..N)
        .map(|agent| {
            Some(
                helper_key()
                    .with_agent(&agent_key(agent).public_key())
                    .unwrap(),
            )
        })
        .collect()
}

/// A file of the helper, before and after whose writing it may die.
struct Mortal {
    path: PathBuf,
    clock: Clock,
}

impl Keep for Mortal {
    fn keep(&mut self, stored: &[u8]) -> Result<(), FileError> {
        let path = self.path.clone();
        let dead = |_: Killed| FileError::Io {
            path,
            error: std::io::Error::other("dead"),
        };
        self.clock.tick().map_err(dead.clone())?;
        write_atomically(&self.path, stored)?;
        self.clock.tick().map_err(dead)
    }
}

type Opened = Helper<sordino_core::privacy::Secret<Generator>, Mortal>;

fn helper(place: &Place, clock: &Clock, seed: u64) -> Result<Opened, HelperError> {
    let ledger = place.ledger(plan().events().take(1).collect());
    let keep = Mortal {
        path: place.folder.join("state"),
        clock: clock.clone(),
    };
    Helper::open(
        plan(),
        keys(),
        secret_of(seed),
        ledger,
        keep,
        place.stored().as_deref(),
    )
}

/// What a leader stores in one step: itself, the planned charge, the question that is open, the
/// last release.
type Stored<S> = (S, Option<Planned>, Option<Asked>, Vec<f64>);

/// What no death takes back: the agents' attempts, and what was announced.
struct Parties {
    leader: Place,
    helper: Place,
    attempts: Vec<Attempts>,
    announced: Vec<(u32, Vec<u64>)>,
    lives: Cell<u64>,
}

impl Parties {
    fn new(name: &str) -> Self {
        let leader = Place::new(&format!("{name}-leader"));
        let helper = Place::new(&format!("{name}-helper"));
        let attempts = (0..N).map(|_| Attempts::new(RUN)).collect();
        Parties {
            leader,
            helper,
            attempts,
            announced: Vec::new(),
            lives: Cell::new(0),
        }
    }

    /// The share of an agent: with a new mask whenever it is asked, as an agent does that kept no
    /// share.
    fn share(
        &mut self,
        agent: u32,
        epoch: u32,
        modulus: Modulus,
        integers: &mut [i64],
    ) -> (u32, Vec<u8>) {
        let mut share = vec![0; modulus.share_len(integers.len())];
        let key = agent_key(agent)
            .with_helper(&helper_key().public_key())
            .unwrap();
        let attempt = self.attempts[agent as usize]
            .reserve(epoch, &mut Kept)
            .unwrap();
        let attempt = key
            .mask(attempt, modulus)
            .split(integers, &mut share)
            .unwrap();
        (attempt, share)
    }
}

/// The helper answers, from its files, and may die before, while and after it does.
fn ask(world: &Parties, clock: &Clock, question: &Question) -> Result<Vec<u8>, Killed> {
    world.lives.set(world.lives.get() + 1);
    clock.tick()?;
    let mut helper = helper(&world.helper, clock, 1 << 40 | world.lives.get()).unwrap();
    let answer = match helper.answer(question) {
        Ok(answer) => answer,
        Err(HelperError::File(_)) => return Err(Killed),
        Err(error) => panic!("{error}"),
    };
    clock.tick()?;
    Ok(answer)
}

type Leader<'w> =
    ServerHost<f64, sordino_core::privacy::Secret<Generator>, Deferred, Population<f64, Held<'w>>>;

/// Every agent sends its share.
fn collect(
    world: &mut Parties,
    place: &World<f64>,
    host: &Leader<'_>,
    epoch: u32,
    clock: &Clock,
) -> Result<Asked, Killed> {
    let modulus = plan().modulus(epoch).unwrap();
    let (terms, z) = host.method().open_terms(epoch).unwrap();
    let encoder = Mechanism::new(&place.config, &terms, z)
        .unwrap()
        .encoder()
        .unwrap();
    let mut collection = Collection::new(RUN, epoch, N, M + 1, modulus);
    for agent in 0..N {
        let mut integers = vec![0; M + 1];
        encoder
            .add(&[f64::from(agent) - 2.0; M + 1], &[1.0], &mut integers)
            .unwrap();
        let (attempt, share) = world.share(agent, epoch, modulus, &mut integers);
        collection.add(agent, attempt, &share).unwrap();
        clock.tick()?;
    }
    Ok(collection.ask())
}

/// One life of the leader. The helper lives as long as a question; if it dies `alone`, the leader
/// asks again.
fn live(world: &mut Parties, place: &World<f64>, clock: &Clock, alone: bool) -> Result<(), Killed> {
    let path = world.leader.folder.join("state");
    let stored: Option<Stored<StoredServer<ServerState, StoredPosterior>>> = world
        .leader
        .stored()
        .map(|bytes| serde_json::from_slice(&bytes).unwrap());
    let next = plan().events().take(1).collect();
    let planned = stored.as_ref().and_then(|stored| stored.1.clone());
    let ledger = Deferred::new(world.leader.ledger(next), planned.as_ref()).unwrap();
    let population = Population::new(Held(place), PLAN)
        .unwrap()
        .that_sends_sums();
    let (server, _, mut asked, released) = stored.map_or(
        (None, None, None, Vec::new()),
        |(server, planned, asked, released)| (Some(server), planned, asked, released),
    );
    // What was committed and perhaps not announced.
    let announce = |world: &mut Parties, release: u32, released: &[f64]| {
        world
            .announced
            .push((release, released.iter().map(|x| x.to_bits()).collect()));
    };
    let sources = secret(&world.lives);
    let resumed = server.map(|server| (server, &released[..]));
    let mut host =
        ServerHost::<f64, _, Deferred, _>::new(population, sources, ledger, resumed).unwrap();
    if let Some((release, numbers)) = host
        .last_release()
        .map(|(release, numbers)| (release, numbers.to_vec()))
    {
        announce(world, release, &numbers);
    }
    while host.state().phase() != ServerPhase::Done {
        clock.tick()?;
        let epoch = host.state().broadcast();
        assert!(host.open().unwrap());
        if asked.is_none() {
            let question = collect(world, place, &host, epoch, clock)?;
            let state: Stored<_> = (host.stored(), None, Some(question.clone()), vec![]);
            let bytes = serde_json::to_vec(&state).unwrap();
            clock.tick()?;
            write_atomically(&path, &bytes).unwrap();
            clock.tick()?;
            asked = Some(question);
        }
        let question = asked.take().unwrap();
        let answer = match ask(world, clock, question.question()) {
            Err(Killed) if alone => ask(world, clock, question.question())?,
            answer => answer?,
        };
        let mut out = vec![0; M + 1];
        host.take(question.open(&answer, &mut out).unwrap())
            .unwrap();
        clock.tick()?;
        host.close().unwrap();
        clock.tick()?;
        let numbers = host.broadcast().unwrap().to_vec();
        let planned = host.ledger().planned().cloned();
        let state: Stored<_> = (host.stored(), planned, None, numbers.clone());
        let bytes = serde_json::to_vec(&state).unwrap();
        clock.tick()?;
        write_atomically(&path, &bytes).unwrap();
        clock.tick()?;
        host.sync().unwrap();
        clock.tick()?;
        announce(world, epoch, &numbers);
        clock.tick()?;
    }
    Ok(())
}

/// Both parties to the end, with one death.
fn with_death(name: &str, dies_at: u32, alone: bool) -> (Parties, u32) {
    let mut world = Parties::new(name);
    let place = shared();
    let clock = Clock::new(Some(dies_at));
    if live(&mut world, &place, &clock, alone).is_err() {
        live(&mut world, &place, &Clock::new(None), false).unwrap();
    }
    (world, clock.steps())
}

#[test]
fn each_release_is_charged_exactly_once_in_each_ledger_whenever_a_party_dies() {
    let (_, steps) = with_death("whole", u32::MAX, false);
    assert!(steps >= 60, "{steps} places to die");
    let mut again = 0;
    let everyone = (0..u64::from(RELEASES)).collect::<Vec<_>>();
    for alone in [false, true] {
        for dies_at in 1..=steps {
            let (mut world, _) = with_death(&format!("{alone}-{dies_at}"), dies_at, alone);
            assert_eq!(world.leader.charges(), everyone, "step {dies_at}, leader");
            assert_eq!(world.helper.charges(), everyone, "step {dies_at}, helper");
            let said = world.announced.len();
            world.announced.sort();
            world.announced.dedup();
            let announced: Vec<u32> = world
                .announced
                .iter()
                .map(|(release, _)| *release)
                .collect();
            assert_eq!(
                announced,
                [0, 1, 2],
                "step {dies_at}: each release is one thing, however often it is said"
            );
            again += usize::from(said > RELEASES as usize);
        }
    }
    assert!(
        again > 0,
        "the interesting deaths happened: something was announced again"
    );
}

/// A question of these agents, with these attempts.
fn question(epoch: u32, set: &[(u32, u32)]) -> Question {
    let set = set.iter().map(
        |(agent, attempt)| sordino_core::federated::shares::Contributor {
            agent: *agent,
            attempt: *attempt,
        },
    );
    Question {
        run: RUN,
        epoch,
        set: set.collect(),
    }
}

#[test]
fn a_helper_answers_once_and_repeats_itself_after_a_restart() {
    let place = Place::new("once");
    let clock = Clock::new(None);
    let asked = question(0, &[(0, 0), (3, 1), (4, 0)]);
    let mut first = helper(&place, &clock, 1).unwrap();
    let answer = first.answer(&asked).unwrap();
    assert_eq!(first.answer(&asked).unwrap(), answer);
    drop(first);
    let mut second = helper(&place, &clock, 2).unwrap();
    assert_eq!(
        second.answer(&asked).unwrap(),
        answer,
        "other noise would be another release"
    );
    for other in [
        &[(0, 0), (3, 1)][..],
        &[(0, 0), (3, 0), (4, 0)],
        &[],
        &[(3, 1)],
    ] {
        assert!(matches!(
            second.answer(&question(0, other)),
            Err(HelperError::OtherSet { epoch: 0 })
        ));
    }
    assert!(matches!(
        second.answer(&question(2, &[])),
        Err(HelperError::OutOfOrder { epoch: 2, next: 1 })
    ));
    assert!(matches!(
        second.answer(&question(3, &[])),
        Err(HelperError::OtherRun { epoch: 3 })
    ));
    let other = Question {
        run: Digest([8; 32]),
        ..question(1, &[])
    };
    assert!(matches!(
        second.answer(&other),
        Err(HelperError::OtherRun { epoch: 1 })
    ));
    // An agent twice would count twice, and one without a key not at all.
    assert!(matches!(
        second.answer(&question(1, &[(3, 0), (3, 1)])),
        Err(HelperError::Share(_))
    ));
    assert!(matches!(
        second.answer(&question(1, &[(N, 0)])),
        Err(HelperError::Unknown { .. })
    ));
    assert_eq!(
        (second.ledger().len(), second.answered()),
        (1, 1),
        "a refusal costs nothing"
    );
    drop(second);
    // A helper that forgot what it answered, or was set back to it, answers nothing.
    let state = place.stored().unwrap();
    let mut third = helper(&place, &clock, 3).unwrap();
    let last = third.answer(&question(1, &[(3, 0)])).unwrap();
    // A leader that goes on never asks for what was before its last question; an older copy would.
    assert!(matches!(
        third.answer(&asked),
        Err(HelperError::OutOfOrder { epoch: 0, next: 2 })
    ));
    assert_eq!(third.answer(&question(1, &[(3, 0)])).unwrap(), last);
    drop(third);
    fs::write(place.folder.join("state"), state).unwrap();
    assert!(matches!(
        helper(&place, &clock, 4),
        Err(HelperError::OtherLedger {
            answers: 1,
            charges: 2
        })
    ));
    fs::remove_file(place.folder.join("state")).unwrap();
    assert!(matches!(
        helper(&place, &clock, 5),
        Err(HelperError::OtherLedger {
            answers: 0,
            charges: 2
        })
    ));
}

#[test]
fn a_helper_has_a_budget_of_its_own() {
    let mut place = Place::new("budget");
    place.epsilon_max = 3.0;
    let mut helper = helper(&place, &Clock::new(None), 1).unwrap();
    let mut answered = 0;
    for epoch in 0..RELEASES {
        match helper.answer(&question(epoch, &[(0, 0)])) {
            Ok(_) => answered += 1,
            Err(HelperError::Ledger(LedgerError::OverBudget { .. })) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(answered > 0 && answered < RELEASES, "{answered}");
    assert!(helper.ledger().spent().unwrap().epsilon <= 3.0);
}

/// Refused is what the numbers of a helper that lies add up to, with the leader's noise in it: the
/// charge of that noise is planned, and stays when it is synced.
#[test]
fn a_release_that_is_refused_is_charged() {
    let mut world = Parties::new("refused");
    let place = shared();
    let clock = Clock::new(None);
    let next = plan().events().take(1).collect();
    let ledger = Deferred::new(world.leader.ledger(next), None).unwrap();
    let population = Population::new(Held(&place), PLAN)
        .unwrap()
        .that_sends_sums();
    let sources = secret(&world.lives);
    let mut host =
        ServerHost::<f64, _, Deferred, _>::new(population, sources, ledger, None).unwrap();
    assert!(host.open().unwrap());
    let Ok(asked) = collect(&mut world, &place, &host, 0, &clock) else {
        panic!("nobody dies here");
    };
    let Ok(mut answer) = ask(&world, &clock, asked.question()) else {
        panic!("nobody dies here");
    };
    let bytes = plan().modulus(0).unwrap().word_len();
    for number in answer.chunks_exact_mut(bytes) {
        number[bytes - 1] ^= 0x40;
    }
    let mut out = vec![0; M + 1];
    host.take(asked.open(&answer, &mut out).unwrap()).unwrap();
    let error = host.close().unwrap_err();
    let refused = ServerError::Partial(PartialError::Bound);
    assert!(
        matches!(&error, HostError::Server(found) if *found == refused),
        "{error}"
    );
    assert_eq!(host.state().releases(), 0);
    assert_eq!(host.state().phase(), ServerPhase::Idle);
    assert_eq!(host.ledger().ledger().len(), 0);
    assert!(host.ledger().planned().is_some());
    host.sync().unwrap();
    assert_eq!(host.ledger().ledger().len(), 1);
}
