//! A vote that is served: killed at any moment, charged once, and refused where its terms are no
//! vote; and that nothing serves or joins a method of somebody's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sordino_core::digest::Digest;
use sordino_core::domain::Regions;
use sordino_core::federated::exchange::{OwnProtocol, Protocol, PublicFeatures, VoteProtocol};
use sordino_core::federated::{Aggregation, Config, Parameters, Signal};
use sordino_core::kernel::Stationary;
use sordino_core::privacy::accountant::{Accountant, GaussianAccountant};
use sordino_core::privacy::{Event, NeighboringRelation};
use sordino_core::random::Stream;
use sordino_host::ledger::CounterPlace;
use sordino_net::admission::{Inadmissible, admit};
use sordino_net::agent::Query;
use sordino_net::agent::replay::replay;
use sordino_net::door;
use sordino_net::enrolment::Enrolment;
use sordino_net::folder::Folder;
use sordino_net::identity::Identity;
use sordino_net::join::{JoinError, Joined, Joining, join};
use sordino_net::keys;
use sordino_net::party::{Served, Voting};
use sordino_net::serve::{Begin, ServeError, Serving, serve};
use sordino_net::terms::{Terms, TermsError};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::bodies;
use super::consents::{OWNED, door_of, offered};
use super::util::{Federation, PATIENCE, Place, bounded, copy, runtime, said, take_part};

const AGENTS: u32 = 4;
const ROUNDS: u32 = 12;
/// ε that the one release may cost.
const EPSILON: f64 = 0.9;
/// What one agent accepts: less.
const LESS: f64 = 0.5;

#[test]
fn a_vote_that_is_killed_is_charged_once_and_agents_make_all_queries() {
    bounded(|| {
        let epsilon = format!("prior.epsilon={EPSILON}");
        let budget = format!("privacy.max_epsilon={EPSILON}");
        let mut more = vec![
            "--close-early",
            "--deadline",
            "60s",
            "--linger",
            "2s",
            "--delay",
            "500ms",
        ];
        for setting in ["federation.methods=[\"vote\"]", &epsilon, &budget] {
            more.extend(["--set", setting]);
        }
        let federation = Federation::new("vote-kills", AGENTS, ROUNDS, &more);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        // Nobody measures before the third death, however slow servers begin.
        let deaths = Arc::new(AtomicU32::new(0));
        let agents: Vec<_> = (0..)
            .zip(&invitations)
            .map(|(index, invitation)| {
                let mut joining = federation.joining(invitation);
                joining.epsilon_max = Some(if index == 0 { LESS } else { EPSILON });
                let deaths = deaths.clone();
                runtime.spawn(async move {
                    let measured = async |query: Query| {
                        while deaths.load(Ordering::Relaxed) < 3 {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                        Ok(1.0 - (query.point[0] - 0.3).powi(2))
                    };
                    join(&joining, measured).await
                })
            })
            .collect();
        // There is one frame after the first, so deaths come at any moment; a little later each
        // time, until the shares are whole.
        let mut stream = Stream::from_seed(3);
        let mut kills = 0;
        while !federation.lives(
            1,
            false,
            Duration::from_millis(u64::from(20 * kills + stream.below(60))),
        ) {
            server.kill();
            kills += 1;
            server = federation.serve();
            deaths.store(kills, Ordering::Relaxed);
        }
        let mut chains = Vec::new();
        for (index, agent) in agents.into_iter().enumerate() {
            let joined = runtime.block_on(async { tokio::time::timeout(PATIENCE, agent).await });
            let joined = joined.unwrap().unwrap().unwrap();
            assert_eq!(joined.observations, 2 + ROUNDS, "agent {index}");
            // One that accepts less than a vote costs does not vote, and searches with what the
            // others released.
            assert_eq!(
                joined.given,
                if index == 0 { vec![] } else { vec![0] },
                "agent {index}"
            );
            chains.push(joined.chain.to_string());
        }
        assert!(chains.iter().all(|chain| *chain == chains[0]), "{chains:?}");
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(kills >= 3, "only {kills} kills");
        let replayed = federation.replay();
        assert!(
            replayed.contains("frames 2, broadcasts 1, charges 1"),
            "{replayed} after {kills} kills"
        );
        assert!(replayed.contains(&chains[0]), "{replayed}");
        for invitation in &invitations {
            let folder = federation.joining(invitation).folder.display().to_string();
            let output = said(&["replay", &folder]);
            let told = String::from_utf8(output.stdout).unwrap();
            assert!(
                output.status.success() && told.contains(&chains[0]),
                "{told}"
            );
        }
        promises_what_it_costs(&federation);
    });
}

/// The last frame tells an agent of a vote everything, and nearly all of its queries are left.
#[test]
fn an_agent_that_dies_with_queries_left_makes_them_without_its_server() {
    bounded(|| {
        let epsilon = format!("prior.epsilon={EPSILON}");
        let budget = format!("privacy.max_epsilon={EPSILON}");
        let mut more = vec![
            "--close-early",
            "--deadline",
            "60s",
            "--linger",
            "1s",
            "--delay",
            "10ms",
        ];
        for setting in ["federation.methods=[\"vote\"]", &epsilon, &budget] {
            more.extend(["--set", setting]);
        }
        let federation = Federation::new("vote-alone", 2, ROUNDS, &more);
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let joining = |index: usize| {
            let mut joining = federation.joining(&invitations[index]);
            joining.epsilon_max = Some(EPSILON);
            joining
        };
        let other = runtime.spawn(take_part(joining(1)));
        let dying = joining(0);
        // It never ends its fourth query, the second of those behind the last frame.
        let hanging = runtime.spawn(async move {
            join(&dying, async |query| {
                if query.number < 3 {
                    Ok(query.point[0])
                } else {
                    std::future::pending().await
                }
            })
            .await
        });
        assert!(server.ended().success(), "{}", federation.heard());
        hanging.abort();
        assert!(runtime.block_on(hanging).unwrap_err().is_cancelled());
        for deployment in [0, invitations[0].deployment] {
            let refused = refused_from_now_on(&federation, joining(0), deployment);
            let joined = runtime.block_on(refused).unwrap();
            assert_eq!((joined.observations, joined.given), (2 + ROUNDS, vec![0]));
        }
        let joined =
            runtime.block_on(async { tokio::time::timeout(PATIENCE, take_part(joining(0))).await });
        let joined = joined.expect("it waits for its server").unwrap();
        assert_eq!((joined.observations, joined.given), (2 + ROUNDS, vec![0]));
        assert_eq!(
            runtime.block_on(other).unwrap().unwrap().chain,
            joined.chain
        );
    });
}

/// Takes part from a copy of the agent's folder, where its server knows this deployment alone, and
/// no agent of it: what it says is 404 or 403. Either was a failure, at every start.
async fn refused_from_now_on(
    federation: &Federation,
    mut joining: Joining,
    deployment: u64,
) -> Result<Joined, JoinError> {
    let copied = joining.folder.with_extension(deployment.to_string());
    copy(&joining.folder, &copied);
    let identity = Identity::open(&federation.place.server().join("server.key")).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    joining.invitation.address = listener.local_addr().unwrap().to_string();
    joining.folder = copied;
    let (requests, _kept) = mpsc::channel(1);
    let terms = federation.terms(&joining.invitation);
    let mut door = door_of(&terms, &Arc::new(Enrolment::in_memory()), requests);
    door.deployment = deployment;
    let serving = door::serve(listener, keys::always(&identity).unwrap(), door);
    let serving = tokio::spawn(serving);
    let joined = take_part(joining).await;
    serving.abort();
    joined
}

/// The promise, by an accountant of the test.
fn promises_what_it_costs(federation: &Federation) {
    let promise = federation.command("promise");
    let line = promise.stdout.split(|byte| *byte == b'\n').next().unwrap();
    let promise: serde_json::Value = serde_json::from_slice(line).unwrap();
    assert_eq!(
        (&promise["method"], &promise["releases"]),
        (&"vote".into(), &1.into())
    );
    assert_eq!(
        (&promise["sampling_probability"], &promise["clipping_norm"]),
        (&1.0.into(), &1.0.into())
    );
    let mut accountant = GaussianAccountant::new();
    let event = Event::PoissonSampledGaussian {
        sampling_probability: 1.0,
        noise_multiplier: promise["noise_multiplier"].as_f64().unwrap(),
        relation: NeighboringRelation::ReplaceSpecial,
    };
    accountant.compose(&event, 1).unwrap();
    let epsilon = accountant
        .epsilon(promise["delta"].as_f64().unwrap())
        .unwrap()
        .epsilon;
    assert_eq!(promise["epsilon_of_all_rounds"], epsilon);
    // Negative control: more than the first agent accepts, and no more than was promised.
    assert!(epsilon > LESS && epsilon <= EPSILON, "{epsilon}");
}

/// Terms with this method over the candidates of other terms.
fn terms_of(protocol: Protocol) -> Terms {
    let mut terms = bodies::terms();
    terms.agreement.protocol = protocol;
    terms
}

/// A vote, with a ballot that was changed, and then changed itself.
fn vote(ballot: impl FnOnce(&mut Parameters), change: impl FnOnce(&mut VoteProtocol)) -> Terms {
    let candidates = bodies::terms().points() as u32;
    let noised = Aggregation::private(1.0, 1.0, 3.0).unwrap();
    let dim = bodies::terms().agreement.dim as usize;
    let mut parameters =
        Parameters::usual(AGENTS, Regions::whole(dim).unwrap(), 1, candidates, noised);
    ballot(&mut parameters);
    let features = PublicFeatures::new(7, Stationary::SquaredExponential, 0.2, 1.0);
    let mut vote = VoteProtocol {
        ballot: Config::new(parameters).unwrap(),
        rounds: ROUNDS,
        feature_count: 16,
        features,
    };
    change(&mut vote);
    terms_of(Protocol::Vote(vote))
}

#[test]
fn a_vote_with_other_numbers_is_neither_served_nor_joined() {
    let as_it_is = |_: &mut VoteProtocol| {};
    let silent = |p: &mut Parameters| {
        if let Aggregation::Private { signal, .. } = &mut p.aggregation {
            *signal = Signal::Nothing;
        }
    };
    for (expected, terms) in [
        (
            "protect nobody",
            vote(|p| p.aggregation = Aggregation::Mean, as_it_is),
        ),
        (
            "sampling_probability",
            vote(
                |p| p.aggregation = Aggregation::private(1.0, 0.5, 3.0).unwrap(),
                as_it_is,
            ),
        ),
        (
            "clipping_norm",
            vote(
                |p| p.aggregation = Aggregation::private(2.0, 1.0, 3.0).unwrap(),
                as_it_is,
            ),
        ),
        ("aggregation", vote(silent, as_it_is)),
        ("rounds of the ballot", vote(|p| p.rounds = 2, as_it_is)),
        (
            "the number of candidates",
            vote(|p| p.feature_count += 1, as_it_is),
        ),
        ("rounds = 0", vote(|_| {}, |vote| vote.rounds = 0)),
        (
            "prior_tolerance",
            vote(|_| {}, |vote| vote.features.prior_tolerance = f64::NAN),
        ),
        (
            "multiply-adds",
            vote(
                |_| {},
                |vote| (vote.rounds, vote.feature_count) = (1 << 20, 1 << 14),
            ),
        ),
        // Each query is little work, and there are a million of them.
        ("multiply-adds", vote(|_| {}, |vote| vote.rounds = 1 << 20)),
    ] {
        let refused = admit(&terms).unwrap_err().to_string();
        assert!(refused.contains(expected), "{expected}: {refused}");
        assert!(
            expected == "protect nobody" || Voting::<f64>::new(&terms).is_err(),
            "{expected}"
        );
    }
    // Negative control: as it is, it is admitted, over one release.
    let admitted = admit(&vote(|_| {}, as_it_is)).unwrap();
    assert_eq!((admitted.releases, admitted.agents), (1, AGENTS));
}

/// Nothing is claimed for such a method, so that no agent of a real federation may send what it
/// says.
#[test]
fn a_method_of_somebody_s_own_is_neither_served_nor_joined() {
    bounded(|| {
        let place = Place::new("own-served");
        let digest = Digest::of(&"rumour, version 1");
        let own = OwnProtocol {
            agents: AGENTS,
            rounds: ROUNDS,
            initial_points: 2,
            offset: 0.0,
            message_len: 2,
            released_max: 64,
            digest,
        };
        let terms = terms_of(Protocol::Own(own));
        assert!(matches!(admit(&terms), Err(Inadmissible::Unprotected)));
        assert!(matches!(terms.bounded(), Err(TermsError::Method)));
        let enrolment = Arc::new(Enrolment::in_memory());
        let (joined, measured) =
            runtime().block_on(offered(&terms, &enrolment, place.0.join("agent"), OWNED));
        let refused = joined.unwrap_err();
        assert!(matches!(&refused, JoinError::Inadmissible(_)), "{refused}");
        assert_eq!(
            (measured, enrolment.count()),
            (0, 0),
            "it joined or measured"
        );
        let folder = Folder::begin(&place.server(), terms).unwrap();
        let served = runtime().block_on(serve(&folder, serving()));
        assert!(
            matches!(
                served,
                Err(ServeError::Inadmissible(Inadmissible::Unprotected))
            ),
            "{served:?}"
        );
        assert!(
            !place.server().join("ledger.jsonl").exists(),
            "a ledger was begun"
        );
        let replayed = replay(&place.server()).unwrap_err();
        assert!(
            replayed.to_string().contains("another method"),
            "{replayed}"
        );
        let output = said(&["promise", &place.server().display().to_string()]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && output.stdout.is_empty() && told.contains("protect nobody"),
            "{told}"
        );
    });
}

fn serving() -> Serving {
    Serving {
        certified: None,
        listen: "127.0.0.1:0".into(),
        admin: None,
        data: "own".into(),
        counter: CounterPlace::Nowhere,
        delay: Duration::from_millis(1),
        pace: sordino_core::federated::exchange::Pace {
            ask_again_ms: 200,
            spread_ms: 10,
        },
        begin: Begin::default(),
        helper: None,
        linger: Duration::from_secs(1),
        welcome: Vec::new(),
    }
}
