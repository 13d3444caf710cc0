//! Noise that is drawn ahead: the end of a round draws nothing, no pool serves twice, and a death
//! loses it for nothing.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use sordino_core::federated::{Config, Pool, Server, ServerError, ServerInput, ServerOutput};
use sordino_core::federated::{ServerNumbers, ServerState};
use sordino_core::privacy::{Charge, Ledger as _, Private, Provenance, Secret, Simulated};
use sordino_core::rand_core::{TryCryptoRng, TryRng};
use sordino_core::random::{Party, Purpose, RunSeed, Stream};
use sordino_host::ledger::{Accounting, CounterPlace, Ledger, Options, Terms};
use sordino_host::server::{HostError, ServerHost};

use super::bodies::terms;
use super::util::Place;

/// A generator, cryptographic as far as its type goes, that counts the words it gave.
struct Counting {
    stream: Stream,
    words: Rc<Cell<u64>>,
}

impl TryRng for Counting {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.try_next_u64().map(|word| word as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.words.set(self.words.get() + 1);
        Ok(self.stream.word())
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("noise and coins are drawn by words")
    }
}

impl TryCryptoRng for Counting {}

/// A secret source of this seed, and how many words it gave.
fn counting(seed: u64) -> (Secret<Counting>, Rc<Cell<u64>>) {
    let words = Rc::new(Cell::new(0));
    (
        Secret::new(Counting {
            stream: Stream::from_seed(seed),
            words: words.clone(),
        }),
        words,
    )
}

/// A host with a new ledger in this place, and how many words its coins took.
fn served(
    place: &Place,
    config: &Arc<Config>,
    seed: u64,
) -> (ServerHost<f64, Secret<Counting>>, Rc<Cell<u64>>) {
    let terms = Terms {
        data: "the agents of this test".into(),
        unit: "agent".into(),
        records: Some(u64::from(config.parameters().agents)),
        accounting: Accounting::Renyi,
        epsilon_max: Some(1000.0),
        delta: 1e-5,
    };
    let next = vec![Server::<f64>::event_of(config).unwrap().unwrap()];
    let options = Options {
        counter: CounterPlace::Folder(place.0.join("counter")),
        another: false,
        next,
    };
    let ledger = Ledger::open_secret(&place.0.join("ledger.jsonl"), &terms, &options).unwrap();
    let (source, words) = counting(seed);
    (
        ServerHost::new(config.clone(), source, ledger, None).unwrap(),
        words,
    )
}

fn config() -> Arc<Config> {
    Arc::new(terms().agreement.protocol.draws().unwrap().config.clone())
}

/// Everybody gives zeros, so that a release is its noise and nothing else.
fn zeros(host: &mut ServerHost<f64, Secret<Counting>>, config: &Config) {
    let p = config.parameters();
    for agent in 0..p.agents {
        let broadcast = host.state().broadcast();
        host.upload(agent, broadcast, &vec![0.0; p.feature_count as usize])
            .unwrap();
    }
}

#[test]
fn the_end_of_a_round_draws_nothing_and_no_pool_serves_twice() {
    let place = Place::new("noise-counted");
    let config = config();
    let (mut host, coins) = served(&place, &config, 1);
    let (mut ahead, drawn) = counting(2);
    let mut released = Vec::<Vec<u64>>::new();
    let mut pools = 0;
    let rounds = config.parameters().rounds;
    for round in 0..rounds {
        assert!(host.open().unwrap());
        let before = drawn.get();
        let pool = host.recipe().unwrap().unwrap().draw(&mut ahead).unwrap();
        // At least a word for each number, of a generator that has nothing to do with the coins.
        assert!(drawn.get() - before >= config.broadcast_len() as u64);
        pools += 1;
        host.fill(pool).unwrap();
        zeros(&mut host, &config);
        let of_coins = coins.get();
        let of_noise = drawn.get();
        host.close().unwrap();
        assert_eq!(
            (coins.get(), drawn.get()),
            (of_coins, of_noise),
            "round {round} drew at its end"
        );
        released.push(
            host.broadcast()
                .unwrap()
                .iter()
                .map(|x| x.to_bits())
                .collect(),
        );
        // There is nothing left to close with.
        host.close().unwrap();
        assert_eq!(host.ledger().len(), round as usize + 1);
    }
    assert_eq!((pools, host.state().releases()), (rounds, rounds));
    // No number of two rounds' noise stands at the same place, and none is zero throughout.
    for (i, one) in released.iter().enumerate() {
        assert!(
            one.iter().any(|bits| f64::from_bits(*bits) != 0.0),
            "round {i} has no noise"
        );
        for other in &released[..i] {
            let same = one.iter().zip(other).filter(|(a, b)| a == b).count();
            assert!(same <= 1, "{same} numbers of two rounds are the same");
        }
    }
    // Negative control: without a pool the end of a round does draw.
    let place = Place::new("noise-control");
    let (mut host, coins) = served(&place, &config, 1);
    host.open().unwrap();
    zeros(&mut host, &config);
    let before = coins.get();
    host.close().unwrap();
    assert!(coins.get() - before >= config.broadcast_len() as u64);
}

#[test]
fn a_pool_of_another_opening_is_refused_and_a_death_costs_nothing() {
    let place = Place::new("noise-openings");
    let config = config();
    let (mut host, _) = served(&place, &config, 3);
    let (mut ahead, _) = counting(4);
    assert!(host.recipe().is_err(), "nothing is open");
    host.open().unwrap();
    let mut draw = |host: &mut ServerHost<f64, Secret<Counting>>| -> Pool<Private> {
        host.recipe().unwrap().unwrap().draw(&mut ahead).unwrap()
    };
    let first = draw(&mut host);
    let second = draw(&mut host);
    assert_eq!(
        format!("{first:?}"),
        format!(
            "Pool {{ broadcast: 0, coordinates: {} }}",
            config.broadcast_len()
        )
    );
    host.fill(first).unwrap();
    zeros(&mut host, &config);
    host.close().unwrap();
    // Of the same opening, which is over.
    let refused = host.fill(second);
    assert!(
        matches!(
            refused,
            Err(HostError::Server(ServerError::OtherPool { broadcast: 1 }))
        ),
        "{refused:?}"
    );
    host.open().unwrap();
    let late = draw(&mut host);
    let ready = draw(&mut host);
    host.fill(ready).unwrap();
    assert_eq!(host.ledger().len(), 1);
    // It dies with the pool; what begins again opens the same broadcast under another name, and
    // nothing was charged.
    drop(host);
    std::fs::remove_dir_all(&place.0).unwrap();
    std::fs::create_dir_all(&place.0).unwrap();
    let (mut host, _) = served(&place, &config, 5);
    host.open().unwrap();
    let refused = host.fill(late);
    assert!(
        matches!(
            refused,
            Err(HostError::Server(ServerError::OtherPool { broadcast: 0 }))
        ),
        "{refused:?}"
    );
    assert_eq!(host.ledger().len(), 0);
}

/// The receipt for a charge that is written nowhere.
fn receipt<P: Provenance>(charge: Charge<P>) -> sordino_core::privacy::Receipt<P> {
    struct Nowhere;
    impl<P: Provenance> sordino_core::privacy::Ledger<P> for Nowhere {
        type Error = std::convert::Infallible;
        fn write(&mut self, _: &Charge<P>) -> Result<(), Self::Error> {
            Ok(())
        }
    }
    match Nowhere.append(charge) {
        Ok(receipt) => receipt,
        Err(never) => match never {},
    }
}

/// The same words give the same release, whoever draws them: the mechanism is one.
#[test]
fn noise_drawn_ahead_is_the_noise_of_the_end() {
    let config = config();
    let released = |is_ahead: bool| -> Vec<u64> {
        let mut numbers = ServerNumbers::<f64>::new(&config);
        let mut state = ServerState::new();
        let mut server = Server::attach(&*config, &mut state, numbers.lend()).unwrap();
        let mut source =
            Simulated::new(RunSeed::new(77, 3).stream(Party::Server, Purpose::Release, 0));
        server.handle(ServerInput::Open, &mut source).unwrap();
        let pool = is_ahead.then(|| server.recipe().unwrap().unwrap().draw(&mut source).unwrap());
        for agent in 0..config.parameters().agents {
            let vector =
                &vec![f64::from(agent) - 2.5; config.parameters().feature_count as usize][..];
            server
                .handle(
                    ServerInput::Upload {
                        agent,
                        broadcast: 0,
                        vector,
                    },
                    &mut source,
                )
                .unwrap();
        }
        let ServerOutput::Charge(charge) = server.handle(ServerInput::Close, &mut source).unwrap()
        else {
            panic!("a private server charges");
        };
        let output = match pool {
            Some(pool) => server.release_with(receipt(charge), pool),
            None => server.handle(ServerInput::Charged(receipt(charge)), &mut source),
        };
        let Ok(ServerOutput::Broadcast { release, .. }) = output else {
            panic!("it releases")
        };
        release.value().iter().map(|x| x.to_bits()).collect()
    };
    assert_eq!(released(true), released(false));
}
