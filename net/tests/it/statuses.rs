//! Every refusal has a status, and none of them ends anything.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{AgentExchange, Agreement, Want};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Header, ScalarTag};
use sordino_host::hex::hex;
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::link::Link;
use sordino_net::rounds::Asked;
use sordino_net::terms::Terms;
use tokio::net::TcpStream;

use super::util::{Federation, PATIENCE, Process, bounded, runtime, said};

/// How often a request is made until its status is read.
const ATTEMPTS: u32 = 50;

/// A caller who says whatever he likes, with a key of his own.
pub struct Hostile {
    pub identity: Identity,
    pub invitation: Invitation,
}

impl Hostile {
    pub fn new(invitation: &Invitation) -> Hostile {
        Hostile {
            identity: Identity::generate().unwrap(),
            invitation: invitation.clone(),
        }
    }

    pub fn run(&self) -> String {
        format!("{:016x}", self.invitation.deployment)
    }

    /// A connection, if the server lets it live.
    pub async fn try_connect(&self) -> Option<SendRequest<Full<Bytes>>> {
        let tls = self.identity.client(&self.invitation.pins).unwrap();
        let tcp = TcpStream::connect(&self.invitation.address).await.unwrap();
        let name = ServerName::try_from("sordino").unwrap();
        let io = tokio_rustls::TlsConnector::from(tls)
            .connect(name, tcp)
            .await
            .ok()?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(io))
            .await
            .ok()?;
        tokio::spawn(async move { drop(connection.await) });
        Some(sender)
    }

    pub async fn connect(&self) -> SendRequest<Full<Bytes>> {
        self.try_connect().await.unwrap()
    }

    pub async fn says(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        body: Vec<u8>,
    ) -> u16 {
        // A body that is refused while it is being sent ends the connection, sometimes before the
        // status was read.
        for _ in 0..ATTEMPTS {
            let mut request = Request::builder()
                .method(method.clone())
                .uri(path)
                .header("host", "x");
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            let request = request.body(Full::new(Bytes::from(body.clone()))).unwrap();
            let mut sender = self.connect().await;
            if let Ok(answer) = tokio::time::timeout(PATIENCE, sender.send_request(request))
                .await
                .unwrap()
            {
                return answer.status().as_u16();
            }
        }
        panic!("{path}: no status in {ATTEMPTS} attempts");
    }

    pub async fn puts(&self, slot: u32, frame: Vec<u8>) -> u16 {
        let path = format!("/v1/{}/rounds/0/agents/{slot}", self.run());
        self.says(Method::PUT, &path, &[], frame).await
    }

    async fn gets(&self, path: &str, headers: &[(&str, String)]) -> u16 {
        self.says(Method::GET, path, headers, Vec::new()).await
    }

    async fn shows(&self, slot: u32, token: Vec<u8>) -> u16 {
        self.says(
            Method::POST,
            &format!("/v1/{}/enrol/{slot}", self.run()),
            &[],
            token,
        )
        .await
    }
}

/// A frame of these numbers.
pub fn frame<T: Scalar>(header: Header, numbers: &[T]) -> Vec<u8> {
    let mut frame = vec![0; wire::frame_len_max(ScalarTag::F64, numbers.len())];
    let used = wire::encode(header, numbers, &mut frame).unwrap();
    frame.truncate(used);
    frame
}

/// The header of an honest upload for round 0, and the agreement.
pub async fn honest(hostile: &Hostile) -> (Header, Agreement) {
    let invitation = &hostile.invitation;
    let tls = hostile.identity.client(&invitation.pins).unwrap();
    let mut link = Link::new(
        &invitation.address,
        invitation.deployment,
        tls,
        Duration::from_secs(2),
    );
    link.enrol(invitation.slot, invitation.token.as_ref())
        .await
        .unwrap();
    let agreement = Terms::from_bytes(&link.terms().await.unwrap(), Some(&invitation.terms))
        .unwrap()
        .agreement;
    let mut exchange = AgentExchange::new(&agreement, invitation.slot);
    let Asked::Frame {
        bytes,
        current,
        seal,
    } = link.ask(exchange.have()).await.unwrap()
    else {
        panic!("no frame")
    };
    let (header, payload) = wire::decode(&bytes, 1 << 20).unwrap();
    exchange.frame(&header, &payload, current, seal).unwrap();
    exchange.made();
    match exchange.want(Default::default()) {
        Want::Give(header) => (header, agreement),
        other => panic!("{other:?}"),
    }
}

/// A server in round 0 with three slots, of which the first is a hostile caller's.
struct Besieged {
    federation: Federation,
    server: Process,
    hostile: Hostile,
    /// A key that was never enrolled, with the invitation of the second slot.
    stranger: Hostile,
}

impl Besieged {
    fn new(name: &str) -> Besieged {
        let federation = Federation::new(name, 3, 2, &["--deadline", "170s", "--close-early"]);
        let server = federation.serve();
        let invitations = federation.invite();
        let hostile = Hostile::new(&invitations[0]);
        let stranger = Hostile::new(&invitations[1]);
        Besieged {
            federation,
            server,
            hostile,
            stranger,
        }
    }

    /// Nothing of what was said ended anything.
    fn lives(mut self) {
        assert!(!self.server.is_over(), "{}", self.federation.heard());
    }
}

#[test]
fn another_sender_is_403_whatever_its_frame_says() {
    bounded(|| {
        let besieged = Besieged::new("senders");
        let hostile = &besieged.hostile;
        let stranger = &besieged.stranger;
        runtime().block_on(async {
            let (header, agreement) = honest(hostile).await;
            let numbers = vec![0.5f32; agreement.protocol.upload_len()];
            // No key, another's slot, another's name in the frame, another run's or another
            // agreement's frame.
            assert_eq!(stranger.puts(1, frame(header, &numbers)).await, 403);
            assert_eq!(hostile.puts(1, frame(header, &numbers)).await, 403);
            assert_eq!(
                hostile
                    .puts(0, frame(Header { agent: 1, ..header }, &numbers))
                    .await,
                403
            );
            assert_eq!(
                hostile
                    .puts(
                        0,
                        frame(
                            Header {
                                deployment: 1,
                                ..header
                            },
                            &numbers
                        )
                    )
                    .await,
                403
            );
            assert_eq!(
                hostile
                    .puts(
                        0,
                        frame(
                            Header {
                                config: 1,
                                ..header
                            },
                            &numbers
                        )
                    )
                    .await,
                403
            );
            // Somebody else's token, and a slot that is taken.
            assert_eq!(stranger.shows(0, vec![0; 16]).await, 403);
            assert_eq!(
                stranger
                    .shows(0, hostile.invitation.token.unwrap().to_vec())
                    .await,
                403
            );
            assert_eq!(
                stranger
                    .shows(9, stranger.invitation.token.unwrap().to_vec())
                    .await,
                403
            );
            // A revoked key: at once, with its token as well.
            let folder = besieged.federation.place.server().display().to_string();
            assert!(said(&["revoke", &folder, "0"]).status.success());
            tokio::time::sleep(Duration::from_millis(1500)).await;
            assert_eq!(hostile.puts(0, frame(header, &numbers)).await, 403);
            assert_eq!(
                hostile
                    .shows(0, hostile.invitation.token.unwrap().to_vec())
                    .await,
                403
            );
        });
        besieged.lives();
    });
}

#[test]
fn what_comes_at_another_time_is_410_and_what_comes_twice_409() {
    bounded(|| {
        let besieged = Besieged::new("moments");
        let hostile = &besieged.hostile;
        runtime().block_on(async {
            let (header, agreement) = honest(hostile).await;
            let m = agreement.protocol.upload_len();
            let numbers = vec![0.5f32; m];
            for other in [
                Header { round: 1, ..header },
                Header {
                    attempt: 9,
                    ..header
                },
                Header { chain: 1, ..header },
            ] {
                assert_eq!(hostile.puts(0, frame(other, &numbers)).await, 410);
            }
            // NaN is taken like every other vector: what it counts for nobody is told. Then it is
            // there.
            assert_eq!(
                hostile.puts(0, frame(header, &vec![f32::NAN; m])).await,
                200
            );
            assert_eq!(hostile.puts(0, frame(header, &numbers)).await, 409);
        });
        besieged.lives();
    });
}

#[test]
fn what_is_no_frame_is_422_and_what_is_too_long_413() {
    bounded(|| {
        let besieged = Besieged::new("frames");
        let hostile = &besieged.hostile;
        runtime().block_on(async {
            let (header, agreement) = honest(hostile).await;
            let m = agreement.protocol.upload_len();
            let whole = frame(header, &vec![0.5f32; m]);
            // Garbage, nothing, cut off, f64 for f32, too few numbers.
            assert_eq!(hostile.puts(0, vec![7; 40]).await, 422);
            assert_eq!(hostile.puts(0, Vec::new()).await, 422);
            assert_eq!(
                hostile.puts(0, whole[..whole.len() - 1].to_vec()).await,
                422
            );
            assert_eq!(
                hostile.puts(0, frame(header, &vec![0.5f64; m / 2])).await,
                422
            );
            assert_eq!(
                hostile.puts(0, frame(header, &vec![0.5f32; m - 1])).await,
                422
            );
            assert_eq!(hostile.shows(0, vec![0; 15]).await, 422);
            // As many numbers as agreed, in the other format: longer than any upload.
            assert_eq!(hostile.puts(0, frame(header, &vec![0.5f64; m])).await, 413);
            assert_eq!(hostile.puts(0, vec![0; 5 << 20]).await, 413);
            assert_eq!(hostile.shows(0, vec![0; 5 << 20]).await, 413);
            // And what was taken is still what is right.
            assert_eq!(hostile.puts(0, whole).await, 200);
        });
        besieged.lives();
    });
}

#[test]
fn another_run_is_404_another_history_409_and_one_that_was_never_made_422() {
    bounded(|| {
        let besieged = Besieged::new("histories");
        let hostile = &besieged.hostile;
        let stranger = &besieged.stranger;
        runtime().block_on(async {
            let (_, agreement) = honest(hostile).await;
            let run = hostile.run();
            let ask = |run: &str, frames: u32| format!("/v1/{run}/rounds/{frames}");
            let have =
                |chain: String, seal: String| [("sordino-chain", chain), ("sordino-seal", seal)];
            let start = || have(agreement.digest().to_string(), hex(&[0; 16]));
            assert_eq!(
                hostile.gets(&ask("0123456789abcdef", 0), &start()).await,
                404
            );
            assert_eq!(
                hostile.gets("/v1/0123456789abcdef/agreement", &[]).await,
                404
            );
            assert_eq!(hostile.gets("/else", &[]).await, 404);
            assert_eq!(hostile.gets(&ask(&run, 0), &[]).await, 400);
            assert_eq!(stranger.gets(&ask(&run, 0), &start()).await, 403);
            let fork = have(Digest([3; 32]).to_string(), hex(&[0; 16]));
            assert_eq!(hostile.gets(&ask(&run, 0), &fork).await, 409);
            // "I have a million rounds": nobody stops a server with a seal that it did not make.
            assert_eq!(hostile.gets(&ask(&run, 1_000_000), &fork).await, 422);
            assert_eq!(hostile.gets(&ask(&run, 2), &start()).await, 422);
            assert_eq!(hostile.gets(&ask(&run, 0), &start()).await, 200);
        });
        besieged.lives();
    });
}

#[test]
fn an_agent_talks_to_the_pinned_key_and_no_other() {
    bounded(|| {
        let besieged = Besieged::new("pins");
        let mut invitation = besieged.hostile.invitation.clone();
        let right = invitation.pins.clone();
        runtime().block_on(async {
            let tls = |pins: &[_]| Identity::generate().unwrap().client(pins).unwrap();
            invitation.pins = vec![Identity::generate().unwrap().fingerprint().unwrap()];
            let link = |pins: &[_]| {
                Link::new(
                    &invitation.address,
                    invitation.deployment,
                    tls(pins),
                    Duration::from_secs(1),
                )
            };
            let refused = link(&invitation.pins).terms().await.unwrap_err();
            assert!(
                refused.to_string().starts_with("no connection"),
                "{refused}"
            );
            // Two pins: the old key and the one that is to follow.
            link(&[invitation.pins[0], right[0]]).terms().await.unwrap();
        });
        besieged.lives();
    });
}
