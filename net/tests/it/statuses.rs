//! Every refusal has a status, and none of them ends anything.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{AgentExchange, Agreement, Want};
use sordino_core::random::Stream;
use sordino_core::wire::{self, Header, ScalarTag};
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::link::Link;
use sordino_net::rounds::Asked;
use sordino_net::terms::Terms;
use sordino_net::text::hex;
use tokio::net::TcpStream;

use super::util::{Federation, PATIENCE, runtime, take_part};

/// Bodies of random bytes; a million of them take minutes and are not for every day.
const BODIES: u32 = 3_000;

/// How often a request is made until its status is read.
const ATTEMPTS: u32 = 50;

/// A caller who says whatever he likes, with a key of his own.
struct Hostile {
    identity: Identity,
    invitation: Invitation,
}

impl Hostile {
    async fn connect(&self) -> hyper::client::conn::http1::SendRequest<Full<Bytes>> {
        let tls = self.identity.client(&self.invitation.pins).unwrap();
        let tcp = TcpStream::connect(&self.invitation.address).await.unwrap();
        let name = ServerName::try_from("sordino").unwrap();
        let io = tokio_rustls::TlsConnector::from(tls).connect(name, tcp).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(io)).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        sender
    }

    async fn says(&self, method: Method, path: &str, headers: &[(&str, String)], body: Vec<u8>) -> StatusCode {
        // A body that is refused while it is being sent ends the connection, sometimes before the status was read.
        for _ in 0..ATTEMPTS {
            let mut request = Request::builder().method(method.clone()).uri(path).header("host", "x");
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            let request = request.body(Full::new(Bytes::from(body.clone()))).unwrap();
            let mut sender = self.connect().await;
            if let Ok(answer) = tokio::time::timeout(PATIENCE, sender.send_request(request)).await.unwrap() {
                return answer.status();
            }
        }
        panic!("{path}: no status in {ATTEMPTS} attempts");
    }

    async fn puts(&self, slot: u32, frame: Vec<u8>) -> StatusCode {
        let path = format!("/v1/{:016x}/rounds/0/agents/{slot}", self.invitation.deployment);
        self.says(Method::PUT, &path, &[], frame).await
    }
}

/// A frame of these numbers.
fn frame<T: sordino_core::math::Scalar>(header: Header, numbers: &[T]) -> Vec<u8> {
    let mut frame = vec![0; wire::frame_len_max(ScalarTag::F64, numbers.len())];
    let used = wire::encode(header, numbers, &mut frame).unwrap();
    frame.truncate(used);
    frame
}

/// The header of an honest upload for round 0, and the agreement.
async fn honest(hostile: &Hostile) -> (Header, Agreement) {
    let invitation = &hostile.invitation;
    let tls = hostile.identity.client(&invitation.pins).unwrap();
    let mut link = Link::new(&invitation.address, invitation.deployment, tls, Duration::from_secs(2));
    link.enrol(invitation.slot, &invitation.token).await.unwrap();
    let agreement = Terms::from_bytes(&link.terms().await.unwrap(), Some(&invitation.terms)).unwrap().agreement;
    let mut exchange = AgentExchange::new(&agreement, invitation.slot);
    let Asked::Frame { bytes, current, seal } = link.ask(exchange.have()).await.unwrap() else { panic!("no frame") };
    let (header, payload) = wire::decode(&bytes, 1 << 20).unwrap();
    exchange.frame(&header, &payload, current, seal).unwrap();
    exchange.made();
    match exchange.want(Default::default()) {
        Want::Give(header) => (header, agreement),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_refusal_has_its_status_and_the_server_lives() {
    let federation = Federation::new("statuses", 3, 2, &["--deadline", "100s", "--close-early"]);
    let mut server = federation.serve();
    let invitations = federation.invite();
    runtime().block_on(async {
        let hostile = Hostile { identity: Identity::generate().unwrap(), invitation: invitations[0].clone() };
        let stranger = Hostile { identity: Identity::generate().unwrap(), invitation: invitations[1].clone() };
        let (header, agreement) = honest(&hostile).await;
        let m = agreement.config.parameters().feature_count as usize;
        let numbers = vec![0.5f32; m];
        let run = format!("{:016x}", agreement.deployment);
        let status = |code: u16| StatusCode::from_u16(code).unwrap();

        // Not the sender: no key, another's slot, another's name in the frame, another run's frame.
        assert_eq!(stranger.puts(1, frame(header, &numbers)).await, status(403));
        assert_eq!(hostile.puts(1, frame(header, &numbers)).await, status(403));
        assert_eq!(hostile.puts(0, frame(Header { agent: 1, ..header }, &numbers)).await, status(403));
        assert_eq!(hostile.puts(0, frame(Header { deployment: 1, ..header }, &numbers)).await, status(403));
        assert_eq!(hostile.puts(0, frame(Header { config: 1, ..header }, &numbers)).await, status(403));
        // Not now: other rounds, attempts, histories.
        for other in [Header { round: 1, ..header }, Header { attempt: 9, ..header }, Header { chain: 1, ..header }] {
            assert_eq!(hostile.puts(0, frame(other, &numbers)).await, status(410));
        }
        // No frame: garbage, f64 for f32, too few numbers, cut off.
        let whole = frame(header, &numbers);
        assert_eq!(hostile.puts(0, vec![7; 40]).await, status(422));
        assert_eq!(hostile.puts(0, Vec::new()).await, status(422));
        assert_eq!(hostile.puts(0, whole[..whole.len() - 1].to_vec()).await, status(422));
        assert_eq!(hostile.puts(0, frame(header, &vec![0.5f64; m / 2])).await, status(422));
        assert_eq!(hostile.puts(0, frame(header, &vec![0.5f32; m - 1])).await, status(422));
        // Too long, wherever it goes.
        assert_eq!(hostile.puts(0, vec![0; 5 << 20]).await, status(413));
        let token = format!("/v1/{run}/enrol/0");
        assert_eq!(hostile.says(Method::POST, &token, &[], vec![0; 5 << 20]).await, status(413));
        // Another run, no such path, no such history.
        let ask = |run: &str, frames: u32| format!("/v1/{run}/rounds/{frames}");
        let have = |chain: String, seal: String| [("sordino-chain", chain), ("sordino-seal", seal)];
        let start = || have(agreement.digest().to_string(), hex(&[0; 16]));
        assert_eq!(hostile.says(Method::GET, &ask("0123456789abcdef", 0), &start(), vec![]).await, status(404));
        assert_eq!(hostile.says(Method::GET, "/else", &[], vec![]).await, status(404));
        assert_eq!(hostile.says(Method::GET, &ask(&run, 0), &[], vec![]).await, status(400));
        assert_eq!(stranger.says(Method::GET, &ask(&run, 0), &start(), vec![]).await, status(403));
        let fork = have(Digest([3; 32]).to_string(), hex(&[0; 16]));
        assert_eq!(hostile.says(Method::GET, &ask(&run, 0), &fork, vec![]).await, status(409));
        // "I have a million rounds": nobody stops a server with a seal that it did not make.
        assert_eq!(hostile.says(Method::GET, &ask(&run, 1_000_000), &fork, vec![]).await, status(422));
        assert_eq!(hostile.says(Method::GET, &ask(&run, 2), &start(), vec![]).await, status(422));
        // Somebody else's token, and a slot that is taken.
        assert_eq!(stranger.says(Method::POST, &token, &[], vec![0; 16]).await, status(403));
        assert_eq!(stranger.says(Method::POST, &token, &[], hostile.invitation.token.to_vec()).await, status(403));
        assert_eq!(hostile.says(Method::POST, &token, &[], vec![0; 15]).await, status(422));
        // NaN is taken like every other vector: what it counts for nobody is told. Then it is there.
        assert_eq!(hostile.puts(0, frame(header, &vec![f32::NAN; m])).await, status(200));
        assert_eq!(hostile.puts(0, frame(header, &numbers)).await, status(409));

        random_bodies(&hostile, &run).await;

        // The others finish; the hostile one is a zero from here on.
        drop(stranger);
        let rest = invitations[1..].iter().map(|invitation| tokio::spawn(take_part(federation.joining(invitation))));
        let rest: Vec<_> = rest.collect();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(rest.iter().all(|agent| !agent.is_finished()), "the server is gone");
        rest.iter().for_each(|agent| agent.abort());
    });
    assert!(server.try_wait().unwrap().is_none(), "the server ended");
    server.kill().unwrap();
    server.wait().unwrap();
}

/// On one connection as long as it holds.
async fn random_bodies(hostile: &Hostile, run: &str) {
    let mut stream = Stream::from_seed(11);
    let mut sender = hostile.connect().await;
    for _ in 0..BODIES {
        let body: Vec<u8> = (0..stream.below(120)).map(|_| stream.word() as u8).collect();
        let request = Request::builder().method(Method::PUT).uri(format!("/v1/{run}/rounds/0/agents/0"));
        let request = request.header("host", "x").body(Full::new(Bytes::from(body))).unwrap();
        if sender.ready().await.is_err() {
            sender = hostile.connect().await;
        }
        let answer = sender.send_request(request).await.unwrap();
        assert!(matches!(answer.status().as_u16(), 422 | 413), "{}", answer.status());
        answer.into_body().collect().await.unwrap();
    }
}

#[test]
fn an_agent_talks_to_the_pinned_key_and_no_other() {
    let federation = Federation::new("pins", 2, 2, &["--deadline", "100s"]);
    let mut server = federation.serve();
    let mut invitation = federation.invite().remove(0);
    let right = invitation.pins.clone();
    runtime().block_on(async {
        let tls = |pins: &[_]| Identity::generate().unwrap().client(pins).unwrap();
        invitation.pins = vec![Identity::generate().unwrap().fingerprint().unwrap()];
        let mut link =
            Link::new(&invitation.address, invitation.deployment, tls(&invitation.pins), Duration::from_secs(1));
        assert!(link.terms().await.unwrap_err().to_string().starts_with("no connection"));
        // Two pins: the old key and the one that is to follow.
        let pins = [invitation.pins[0], right[0]];
        let mut link = Link::new(&invitation.address, invitation.deployment, tls(&pins), Duration::from_secs(1));
        link.terms().await.unwrap();
    });
    server.kill().unwrap();
    server.wait().unwrap();
}
