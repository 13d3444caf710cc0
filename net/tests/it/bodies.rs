//! A flood of bodies and of connections: refused by name, in bounded time and memory.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use sordino_core::federated::exchange::{Announced, Pace, Reply};
use sordino_core::random::Stream;
use sordino_core::wire::{self, Header, ScalarTag};
use sordino_experiment::scenario::Shipped;
use sordino_net::door::{self, Counts, Door, Limits};
use sordino_net::enrolment::Enrolment;
use sordino_net::identity::{Identity, Sealer};
use sordino_net::invitation::Invitation;
use sordino_net::keys;
use sordino_net::rounds::{Given, QUEUE, Request as Asking, Rounds};
use sordino_net::terms::Terms;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use super::statuses::{Hostile, honest};
use super::util::{Federation, bounded, runtime};

/// Bodies that reach the round itself.
const INSIDE: u32 = 1_000_000;
/// Bodies over TLS in at most [`TIME`]; `SORDINO_BODIES` names another number, without a limit of
/// time.
const OUTSIDE: u32 = 100_000;
/// Of them in any case: a machine that is busy may do no more.
const OUTSIDE_LEAST: u32 = 10_000;
/// How long bodies are sent over TLS.
const TIME: Duration = Duration::from_secs(25);
/// What a server may grow by, in KiB: buffers of connections and the allocator's own.
const GROWTH_KIB: u64 = 8 << 10;

/// An honest frame with one to three of its bits changed, or nothing but random bytes.
fn body(stream: &mut Stream, honest: &[u8]) -> Vec<u8> {
    if stream.below(2) == 0 {
        return (0..stream.below(honest.len() as u32))
            .map(|_| stream.word() as u8)
            .collect();
    }
    let mut bytes = honest.to_vec();
    for _ in 0..=stream.below(3) {
        let at = stream.below(bytes.len() as u32) as usize;
        bytes[at] ^= 1 << stream.below(8);
    }
    if bytes == honest {
        bytes[0] ^= 1;
    }
    bytes
}

fn upload(header: Header, m: usize) -> Vec<u8> {
    let mut frame = vec![0; wire::frame_len_max(ScalarTag::F32, m)];
    let used = wire::encode(header, &vec![0.5f32; m], &mut frame).unwrap();
    frame.truncate(used);
    frame
}

/// Terms of a small federation in single precision.
pub fn terms() -> Terms {
    let settings = [
        "federation.agents=3".to_owned(),
        "surrogate.features=16".to_owned(),
    ];
    let scenario = Shipped::find("firmware").unwrap().parse(&settings).unwrap();
    let functions = sordino_experiment::world::load(&scenario, None)
        .unwrap()
        .realize(scenario.run_seed(0));
    let announced = Announced {
        epsilon_max: Some(8.0),
        delta: 1e-5,
        deadline_ms: 170_000,
        may_close_early: true,
    };
    Terms::new(
        &scenario,
        sordino_experiment::scenario::method::DP_FTS_DE,
        functions.candidates(),
        functions.dim(),
        77,
        announced,
    )
    .unwrap()
}

#[test]
fn a_million_random_bodies_reach_the_round_and_none_is_taken() {
    bounded(|| {
        let terms = terms();
        let m = terms.agreement.protocol.upload_len();
        let (sender, requests) = mpsc::channel(QUEUE);
        let pace = Pace {
            ask_again_ms: 1000,
            spread_ms: 100,
        };
        let sealer = Sealer::new(&[7; 32]);
        let mut rounds = Rounds::new(&terms.agreement, pace, sealer, 0, requests);
        let (frame, chain) = rounds.frame::<f32>(0, 0, None).unwrap();
        let marks = wire::decode(&frame, 0).unwrap().0;
        rounds.announce(0, 0, frame, chain, 170_000, true).unwrap();
        // The door stays open until the end.
        let _door = sender.clone();
        let flood = async move {
            let mut stream = Stream::from_seed(12);
            let honest = upload(
                Header {
                    kind: wire::Kind::Upload,
                    agent: 1,
                    ..marks
                },
                m,
            );
            let mut refused = 0;
            for _ in 0..INSIDE {
                let (reply, answer) = oneshot::channel();
                let frame = body(&mut stream, &honest).into();
                sender
                    .send(Asking::Give {
                        who: 1,
                        frame,
                        reply,
                    })
                    .await
                    .ok()
                    .unwrap();
                refused += u32::from(matches!(answer.await.unwrap(), Given::Refused(_)));
            }
            // Negative control: the honest one is taken.
            let (reply, answer) = oneshot::channel();
            sender
                .send(Asking::Give {
                    who: 1,
                    frame: honest.into(),
                    reply,
                })
                .await
                .ok()
                .unwrap();
            (refused, answer.await.unwrap())
        };
        let mut taken = Vec::new();
        let (refused, last) = runtime().block_on(async {
            let collect = rounds.collect(60_000, |upload| {
                taken.push(upload.who);
                Ok(())
            });
            let flood = tokio::spawn(flood);
            tokio::select! {
                ended = collect => panic!("{ended:?}"),
                flood = flood => flood.unwrap(),
            }
        });
        // A checksum of 32 bits finds every change of three bits.
        assert_eq!(refused, INSIDE);
        assert_eq!(last, Given::Reply(Reply::Taken));
        assert_eq!(taken, [1]);
    });
}

/// Resident memory of a process, in KiB.
fn resident_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn random_requests_over_tls_leave_the_server_alive_and_its_memory_flat() {
    bounded(|| {
        let federation = Federation::new("bodies", 3, 2, &["--deadline", "1h", "--close-early"]);
        let mut server = federation.serve();
        let hostile = Hostile::new(&federation.invite()[0]);
        let asked = std::env::var("SORDINO_BODIES")
            .ok()
            .map(|count| count.parse::<u32>().unwrap());
        let most = asked.unwrap_or(OUTSIDE);
        let time = asked.map_or(TIME, |_| Duration::MAX);
        let (sent, before, after) = runtime().block_on(async {
            let (header, agreement) = honest(&hostile).await;
            let honest = upload(header, agreement.protocol.upload_len());
            // What the first requests allocate stays.
            let mut stream = Stream::from_seed(11);
            random_requests(&hostile, &mut stream, &honest, 2_000, Duration::MAX).await;
            let before = resident_kib(server.id());
            let sent = random_requests(&hostile, &mut stream, &honest, most, time).await;
            (sent, before, resident_kib(server.id()))
        });
        println!("{sent} requests, resident {before} KiB before, {after} KiB after");
        assert!(sent >= OUTSIDE_LEAST.min(most), "only {sent} requests");
        assert!(
            after <= before + GROWTH_KIB,
            "{before} KiB before, {after} KiB after {sent} requests"
        );
        assert!(!server.is_over(), "{}", federation.heard());
    });
}

/// On one connection as long as it holds. **Returns** how many were answered.
async fn random_requests(
    hostile: &Hostile,
    stream: &mut Stream,
    honest: &[u8],
    most: u32,
    time: Duration,
) -> u32 {
    let run = hostile.run();
    let start = Instant::now();
    let mut sender = hostile.connect().await;
    for sent in 0..most {
        if start.elapsed() > time {
            return sent;
        }
        let word = stream.word();
        let (method, path, expected): (_, _, &[u16]) = match stream.below(8) {
            0 => (
                Method::GET,
                format!("/v1/{run}/rounds/{}", word as u32),
                &[400],
            ),
            1 => (
                Method::PUT,
                format!("/v1/{word:016x}/rounds/0/agents/0"),
                &[404],
            ),
            2 => (
                Method::POST,
                format!("/v1/{run}/enrol/{}", word as u32),
                &[403, 422],
            ),
            3 => (
                Method::PUT,
                format!("/v1/{run}/rounds/{}/agents/x{word}", word as u32),
                &[400],
            ),
            _ => (
                Method::PUT,
                format!("/v1/{run}/rounds/0/agents/0"),
                &[422, 413],
            ),
        };
        let body = Full::new(Bytes::from(body(stream, honest)));
        let request = Request::builder()
            .method(method)
            .uri(&path)
            .header("host", "x")
            .body(body)
            .unwrap();
        if sender.ready().await.is_err() {
            sender = hostile.connect().await;
        }
        let answer = sender.send_request(request).await.unwrap();
        assert!(
            expected.contains(&answer.status().as_u16()),
            "{path}: {}",
            answer.status()
        );
        answer.into_body().collect().await.unwrap();
    }
    most
}

/// A door of its own, with these bounds, before a queue of one place that nobody reads.
async fn stuck_door(limits: Limits) -> (Hostile, mpsc::Receiver<Asking>, Arc<Counts>) {
    let terms = terms();
    let identity = Identity::generate().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let enrolment = Arc::new(Enrolment::in_memory());
    let counts = Arc::new(Counts::default());
    let token = [3; 16];
    enrolment.admit(0, &token);
    let (requests, queue) = mpsc::channel(1);
    let door = Door {
        deployment: 77,
        offered: tokio::sync::watch::channel(Some(sordino_net::door::Offered::default())).1,
        terms: terms.to_bytes().unwrap().into(),
        body_max: terms.upload_bytes_max(),
        enrolment,
        authority: None,
        tells_joined: false,
        requests,
        limits,
        counts: counts.clone(),
    };
    tokio::spawn(door::serve(
        listener,
        keys::always(&identity).unwrap(),
        door,
    ));
    let pins = vec![identity.fingerprint().unwrap()];
    let invitation = Invitation {
        address,
        deployment: 77,
        slot: 0,
        terms: terms.digest(),
        pins,
        token: Some(token),
        helper: None,
    };
    (Hostile::new(&invitation), queue, counts)
}

#[test]
fn a_full_queue_is_503_with_a_time_to_come_back() {
    bounded(|| {
        runtime().block_on(async {
            let (hostile, _queue, _) = stuck_door(Limits::default()).await;
            let enrol = format!("/v1/{}/enrol/0", hostile.run());
            assert_eq!(
                hostile
                    .says(
                        Method::POST,
                        &enrol,
                        &[],
                        hostile.invitation.token.unwrap().to_vec()
                    )
                    .await,
                200
            );
            let put = || {
                let uri = format!("/v1/{}/rounds/0/agents/0", hostile.run());
                Request::builder()
                    .method(Method::PUT)
                    .uri(uri)
                    .header("host", "x")
                    .body(Full::default())
                    .unwrap()
            };
            // The first one takes the only place, and waits.
            let mut first = hostile.connect().await;
            let waiting = tokio::spawn(first.send_request(put()));
            tokio::time::sleep(Duration::from_millis(300)).await;
            let answer = hostile.connect().await.send_request(put()).await.unwrap();
            assert_eq!(answer.status().as_u16(), 503);
            assert_eq!(answer.headers()["retry-after"], "1");
            assert!(!waiting.is_finished());
        });
    });
}

#[test]
fn connections_have_bounds_for_a_key_for_all_and_in_time() {
    bounded(|| {
        runtime().block_on(async {
            let limits = Limits {
                connections: 4,
                per_key: 2,
                patience: Duration::from_millis(700),
                ..Limits::default()
            };
            let (one, _queue, counts) = stuck_door(limits).await;
            let agreement = || {
                let uri = format!("/v1/{}/agreement", one.run());
                Request::builder()
                    .uri(uri)
                    .header("host", "x")
                    .body(Full::<Bytes>::default())
                    .unwrap()
            };
            let mut first = one.connect().await;
            let mut second = one.connect().await;
            assert!(
                first.send_request(agreement()).await.is_ok()
                    && second.send_request(agreement()).await.is_ok()
            );
            // The third connection of one key ends its oldest, and no other key's.
            let other = Hostile::new(&one.invitation);
            let mut unlike = other.connect().await;
            assert!(unlike.send_request(agreement()).await.is_ok());
            let mut third = one.connect().await;
            assert!(third.send_request(agreement()).await.is_ok());
            assert!(first.send_request(agreement()).await.is_err());
            assert!(
                second.send_request(agreement()).await.is_ok()
                    && unlike.send_request(agreement()).await.is_ok()
            );
            drop((third, unlike));
            // Silence is closed: connections that never say anything free their places, or nobody
            // else came in.
            let silent = silent(&one, 4).await;
            let start = Instant::now();
            let another = Hostile::new(&one.invitation);
            assert!(
                another
                    .connect()
                    .await
                    .send_request(agreement())
                    .await
                    .is_ok()
            );
            assert!(start.elapsed() < Duration::from_secs(20));
            assert_eq!(silent.len(), 4);
            assert!(
                counts
                    .tls_failures
                    .load(std::sync::atomic::Ordering::Relaxed)
                    >= 1
            );
        });
    });
}

#[test]
fn strangers_leave_room_for_those_who_are_enrolled() {
    bounded(|| {
        runtime().block_on(async {
            let (known, _queue, _) = stuck_door(Limits {
                strangers: 2,
                ..Limits::default()
            })
            .await;
            let enrol = format!("/v1/{}/enrol/0", known.run());
            assert_eq!(
                known
                    .says(
                        Method::POST,
                        &enrol,
                        &[],
                        known.invitation.token.unwrap().to_vec()
                    )
                    .await,
                200
            );
            let agreement = || {
                let uri = format!("/v1/{}/agreement", known.run());
                Request::builder()
                    .uri(uri)
                    .header("host", "x")
                    .body(Full::<Bytes>::default())
                    .unwrap()
            };
            let mut held = Vec::new();
            for _ in 0..2 {
                let mut stranger = Hostile::new(&known.invitation).connect().await;
                stranger.send_request(agreement()).await.unwrap();
                held.push(stranger);
            }
            if let Some(mut third) = Hostile::new(&known.invitation).try_connect().await {
                assert!(third.send_request(agreement()).await.is_err());
            }
            assert!(
                known
                    .connect()
                    .await
                    .send_request(agreement())
                    .await
                    .is_ok()
            );
        });
    });
}

/// Connections were counted, the files that a process may open were not: with `ulimit -n 1024` a
/// thousand silent connections ended the server at its next release.
#[test]
fn silent_connections_take_no_file_that_a_release_needs() {
    bounded(|| {
        let federation =
            Federation::new("handles", 2, 3, &["--deadline", "2s", "--linger", "200ms"]);
        let with = |handles: &str| {
            let mut limited = Command::new("sh");
            let script = format!("ulimit -n {handles}; exec \"$0\" \"$@\"");
            limited.args(["-c", &script, env!("CARGO_BIN_EXE_sordino-net")]);
            federation.serve_as(limited)
        };
        assert_eq!(with("511").ended().code(), Some(1));
        assert!(
            federation
                .heard()
                .contains("may open 511 files, 512 are needed"),
            "{}",
            federation.heard()
        );
        let server = with("512");
        let invitation = federation.invite().remove(0);
        // As many as the system lets wait; the server's own limit leaves the rest outside.
        let runtime = runtime();
        let connections: Vec<_> = (0..600)
            .map(|_| runtime.spawn(tokio::net::TcpStream::connect(invitation.address.clone())))
            .collect();
        assert!(server.ended().success(), "{}", federation.heard());
        let inside = connections
            .into_iter()
            .filter(|connection| connection.is_finished());
        let inside = inside
            .filter_map(|connection| runtime.block_on(connection).unwrap().ok())
            .count();
        assert!(inside > 256, "only {inside} came in");
        assert!(federation.replay().contains("broadcasts 3, charges 3"));
        // A limit that suffices changes nothing.
        let usual = Limits::default();
        let limits = usual.within(1 << 20).unwrap();
        assert_eq!(
            (limits.connections, limits.strangers),
            (usual.connections, usual.strangers)
        );
        let few = usual.within(1024).unwrap();
        assert_eq!((few.connections, few.strangers), (768, 192));
    });
}

/// A request every now and then kept a stranger's place for ever.
#[test]
fn a_stranger_who_goes_on_asking_gives_its_place_back() {
    bounded(|| {
        runtime().block_on(async {
            let patience = Duration::from_millis(400);
            let (stranger, _queue, _) = stuck_door(Limits {
                patience,
                ..Limits::default()
            })
            .await;
            let mut connection = stranger.connect().await;
            let start = Instant::now();
            loop {
                let uri = format!("/v1/{}/agreement", stranger.run());
                let request = Request::builder()
                    .uri(uri)
                    .header("host", "x")
                    .body(Full::<Bytes>::default())
                    .unwrap();
                if connection.ready().await.is_err()
                    || connection.send_request(request).await.is_err()
                {
                    break;
                }
                assert!(start.elapsed() < 50 * patience, "it is still there");
                tokio::time::sleep(patience / 4).await;
            }
            assert!(
                start.elapsed() >= 2 * patience,
                "it had its time: {:?}",
                start.elapsed()
            );
        });
    });
}

#[test]
fn a_request_that_never_ends_is_408() {
    bounded(|| {
        runtime().block_on(async {
            let short = Duration::from_millis(300);
            let (hostile, _queue, _) = stuck_door(Limits {
                patience: short,
                wait_max: short,
                ..Limits::default()
            })
            .await;
            // The only place of the queue is taken by the first, which nobody answers.
            let enrol = format!("/v1/{}/enrol/0", hostile.run());
            assert_eq!(
                hostile
                    .says(
                        Method::POST,
                        &enrol,
                        &[],
                        hostile.invitation.token.unwrap().to_vec()
                    )
                    .await,
                200
            );
            let put = format!("/v1/{}/rounds/0/agents/0", hostile.run());
            assert_eq!(hostile.says(Method::PUT, &put, &[], Vec::new()).await, 408);
            // A body of which one byte never comes.
            let tls = hostile.identity.client(&hostile.invitation.pins).unwrap();
            let tcp = tokio::net::TcpStream::connect(&hostile.invitation.address)
                .await
                .unwrap();
            let name = rustls::pki_types::ServerName::try_from("sordino").unwrap();
            let mut io = tokio_rustls::TlsConnector::from(tls)
                .connect(name, tcp)
                .await
                .unwrap();
            let head = format!("PUT {put} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nx");
            io.write_all(head.as_bytes()).await.unwrap();
            let mut answer = [0; 12];
            io.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 408");
        });
    });
}

/// Connections that say nothing.
async fn silent(hostile: &Hostile, count: usize) -> Vec<tokio::net::TcpStream> {
    let mut silent = Vec::new();
    for _ in 0..count {
        silent.push(
            tokio::net::TcpStream::connect(&hostile.invitation.address)
                .await
                .unwrap(),
        );
    }
    silent
}
