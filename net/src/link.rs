//! An agent's connection to its server, made again when it breaks, and the four requests.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sordino_core::federated::exchange::{Have, Reply, Seal};
use sordino_core::federated::shares::PublicKey;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::door::{CHAIN, JOINED, LATER, ROUND, SEAL, WAIT};
use crate::folder::PRIOR;
use crate::invitation::Token;
use crate::rounds::Asked;
use crate::terms::TERMS_BYTES_MAX;
use crate::tunnel;
use sordino_host::hex::{from_hex, hex};
use sordino_host::prior::BYTES_MAX as FILE_BYTES_MAX;
use sordino_host::text::plain;

/// For how long a connection, a handshake or an answer beyond the agreed wait is awaited.
const PATIENCE: Duration = Duration::from_secs(20);
/// Admissible times to come back, in milliseconds: nobody is asked at the speed of the network, or
/// left alone for longer than an hour.
const LATER_MS: RangeInclusive<u64> = 50..=3_600_000;
/// The most bytes of a peer's reason that are repeated.
const REASON_MAX: usize = 200;

/// Why a request has no answer. All but [`LinkError::Status`] are worth trying again; an agent that
/// is still joining also gives up at [`LinkError::Answer`].
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The connection could not be made: address, network, or a key that is not the pinned one.
    #[error("no connection: {0}")]
    Connect(#[source] std::io::Error),
    /// It broke, or what came was not HTTP.
    #[error("the connection broke: {0}")]
    Http(#[source] hyper::Error),
    /// No answer in time.
    #[error("no answer in time")]
    Silence,
    /// An answer that is too long or was cut off.
    #[error("an answer that is too long or was cut off")]
    Body,
    /// An answer that no server of this version gives.
    #[error("an answer that no server of this version gives: {what}")]
    Answer {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The server, or something in front of it, cannot answer now.
    #[error("the server says {status}: later")]
    Busy {
        /// The status: 408, 429, 500 or more.
        status: u16,
        /// In how many milliseconds to come back.
        after_ms: u64,
    },
    /// A status that trying again will not change.
    #[error("the server says {status}: {reason}")]
    Status {
        /// The status: below 500, neither 408 nor 429.
        status: u16,
        /// What the server says, as it may stand on a terminal.
        reason: String,
    },
}

impl LinkError {
    /// Whether the server has answered, and trying again soon will not change it.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, LinkError::Status { .. } | LinkError::Answer { .. })
    }

    /// How long to wait before the next attempt, if the pause would be this one otherwise.
    pub fn pause(&self, pause: Duration) -> Duration {
        match self {
            LinkError::Busy { after_ms, .. } => pause.max(Duration::from_millis(*after_ms)),
            _ => pause,
        }
    }
}

/// What a server answered.
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A connection to one server.
pub struct Link {
    address: String,
    run: String,
    tls: Arc<ClientConfig>,
    frame_max: usize,
    wait: Duration,
    joined: Option<u32>,
    sender: Option<SendRequest<Full<Bytes>>>,
    /// When the answer to the last request was due.
    due: Instant,
}

impl Link {
    /// A link that is not connected yet. `wait` is how long a question may be kept waiting.
    pub fn new(address: &str, deployment: u64, tls: Arc<ClientConfig>, wait: Duration) -> Self {
        let address = address.to_owned();
        let run = format!("{deployment:016x}");
        Link {
            address,
            run,
            tls,
            frame_max: 1 << 16,
            wait,
            joined: None,
            sender: None,
            due: Instant::now(),
        }
    }

    /// The longest frame that is read from now on, in bytes.
    pub fn admit(&mut self, frame_max: usize) {
        self.frame_max = frame_max;
    }

    /// Where the server is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// When the server should have answered the last request, if that failed: a connection is due
    /// at once, and an answer at the end of the wait.
    pub(crate) fn due(&self) -> Instant {
        self.due.min(Instant::now())
    }

    /// How many agents have joined, as the server said last; it says so only where the terms make
    /// presence public.
    pub fn joined(&self) -> Option<u32> {
        self.joined
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, LinkError> {
        let connecting = async {
            let tcp = tunnel::connect(&self.address).await?;
            tcp.set_nodelay(true)?;
            // Pins say who the server is; the name tells routers which federation is meant, so that
            // several share a port.
            let name = ServerName::try_from(format!("{}.sordino", self.run))
                .map_err(std::io::Error::other)?;
            TlsConnector::from(self.tls.clone())
                .connect(name, tcp)
                .await
        };
        let io = tokio::time::timeout(PATIENCE, connecting)
            .await
            .map_err(|_| LinkError::Silence)?;
        let (sender, connection) = handshake(TokioIo::new(io.map_err(LinkError::Connect)?))
            .await
            .map_err(LinkError::Http)?;
        // Its end shows in the next request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    /// One request, on the connection that there is or on a new one.
    ///
    /// **Errors**: all but [`LinkError::Status`] and [`LinkError::Busy`].
    pub(crate) async fn request(
        &mut self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
        body_max: usize,
    ) -> Result<Answered, LinkError> {
        self.due = Instant::now();
        let mut sender = match self.sender.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = path
            .parse()
            .map_err(|_| LinkError::Answer { what: "a path" })?;
        *request.headers_mut() = headers;
        let host = self
            .address
            .parse()
            .map_err(|_| LinkError::Answer { what: "an address" })?;
        request.headers_mut().insert(HOST, host);
        let answering = async {
            sender.ready().await.map_err(LinkError::Http)?;
            let (parts, body) = sender
                .send_request(request)
                .await
                .map_err(LinkError::Http)?
                .into_parts();
            let body = Limited::new(body, body_max)
                .collect()
                .await
                .map_err(|_| LinkError::Body)?
                .to_bytes();
            Ok(Answered {
                status: parts.status,
                headers: parts.headers,
                body,
            })
        };
        self.due = Instant::now() + self.wait;
        let answered = tokio::time::timeout(self.wait + PATIENCE, answering)
            .await
            .map_err(|_| LinkError::Silence)??;
        self.sender = Some(sender);
        let joined = number(&answered, &JOINED).and_then(|joined| u32::try_from(joined).ok());
        self.joined = joined.or(self.joined);
        Ok(answered)
    }

    /// What lies at this place of the federation, at most so many bytes of it.
    async fn fetched(&mut self, place: &str, body_max: usize) -> Result<Bytes, LinkError> {
        let path = format!("/v1/{}/{place}", self.run);
        let answered = self
            .request(Method::GET, &path, HeaderMap::new(), Bytes::new(), body_max)
            .await?;
        if answered.status == StatusCode::OK {
            Ok(answered.body)
        } else {
            Err(status(&answered))
        }
    }

    /// The terms, as they are published.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn terms(&mut self) -> Result<Bytes, LinkError> {
        self.fetched("agreement", TERMS_BYTES_MAX as usize).await
    }

    /// The file of a campaign's releases so far, which anybody may have.
    ///
    /// **Errors**: [`LinkError`]; 404 before the first release.
    pub async fn file(&mut self) -> Result<Bytes, LinkError> {
        self.fetched(PRIOR, FILE_BYTES_MAX as usize).await
    }

    /// The numbers of that file in a frame of the kind `Prior`, for devices; anybody may have them.
    ///
    /// **Errors**: [`LinkError`]; 404 before the first release.
    pub async fn numbers(&mut self) -> Result<Bytes, LinkError> {
        self.fetched("prior.frame", FILE_BYTES_MAX as usize).await
    }

    /// What the release of this round of a campaign is made with, a frame, while it is open;
    /// anybody may have it.
    ///
    /// **Errors**: [`LinkError`]; 404 of another round.
    pub async fn opening(&mut self, round: u32, frame_max: usize) -> Result<Bytes, LinkError> {
        self.fetched(&format!("rounds/{round}/opening"), frame_max)
            .await
    }

    /// Shows the token of an invitation. An agent with a certificate shows none; it learns whether
    /// it is admitted.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn enrol(&mut self, slot: u32, token: Option<&Token>) -> Result<(), LinkError> {
        self.enrol_with(slot, token, None).await
    }

    /// The same with the key of the agent's masks, where there are two servers.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn enrol_with(
        &mut self,
        slot: u32,
        token: Option<&Token>,
        masks: Option<&PublicKey>,
    ) -> Result<(), LinkError> {
        let path = format!("/v1/{}/enrol/{slot}", self.run);
        let token = token.map_or(&[][..], |token| token);
        let masks = masks.map_or(&[][..], |masks| &masks.0);
        let body = Bytes::from([token, masks].concat());
        let answered = self
            .request(Method::POST, &path, HeaderMap::new(), body, 1 << 10)
            .await?;
        // The server hangs up: this connection was a stranger's.
        self.sender = None;
        if answered.status == StatusCode::OK {
            Ok(())
        } else {
            Err(status(&answered))
        }
    }

    /// Asks for the frame after those that the agent has.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn ask(&mut self, have: &Have) -> Result<Asked, LinkError> {
        self.ask_for(have, self.wait).await
    }

    /// The same, kept waiting for no longer than this.
    ///
    /// **Errors**: as [`Link::ask`].
    pub(crate) async fn ask_for(
        &mut self,
        have: &Have,
        wait: Duration,
    ) -> Result<Asked, LinkError> {
        let wait = wait.min(self.wait);
        let path = format!("/v1/{}/rounds/{}", self.run, have.frames);
        let mut headers = HeaderMap::new();
        for (name, value) in [(CHAIN, have.chain.to_string()), (SEAL, hex(&have.seal))] {
            headers.insert(
                name,
                value
                    .parse()
                    .map_err(|_| LinkError::Answer { what: "a header" })?,
            );
        }
        headers.insert(WAIT, (wait.as_millis() as u64).into());
        let answered = self
            .request(Method::GET, &path, headers, Bytes::new(), self.frame_max)
            .await?;
        match answered.status {
            StatusCode::OK => {
                let current = number(&answered, &ROUND).and_then(|round| u32::try_from(round).ok());
                let seal = answered
                    .headers
                    .get(&SEAL)
                    .and_then(|seal| seal.to_str().ok())
                    .and_then(from_hex);
                let (Some(current), Some(seal)) = (current, seal) else {
                    return Err(LinkError::Answer {
                        what: "a frame without round or seal",
                    });
                };
                Ok(Asked::Frame {
                    bytes: answered.body,
                    current,
                    seal: seal as Seal,
                })
            }
            StatusCode::NO_CONTENT => Ok(Asked::Later {
                after_ms: later(&answered),
            }),
            // Without a reason it is a key that is not known; a certificate is refused with one.
            StatusCode::FORBIDDEN if answered.body.is_empty() => Ok(Asked::NotYou),
            StatusCode::CONFLICT => Ok(Asked::Fork),
            _ => Err(status(&answered)),
        }
    }

    /// Sends the answer to a round.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn give(&mut self, round: u32, agent: u32, frame: Bytes) -> Result<Reply, LinkError> {
        let path = format!("/v1/{}/rounds/{round}/agents/{agent}", self.run);
        let answered = self
            .request(Method::PUT, &path, HeaderMap::new(), frame, 1 << 10)
            .await?;
        match answered.status {
            StatusCode::OK => Ok(Reply::Taken),
            StatusCode::CONFLICT => Ok(Reply::Already),
            StatusCode::GONE => Ok(Reply::Over),
            StatusCode::FORBIDDEN if answered.body.is_empty() => Ok(Reply::NotYou),
            _ => Err(status(&answered)),
        }
    }
}

fn number(answered: &Answered, name: &hyper::header::HeaderName) -> Option<u64> {
    answered.headers.get(name)?.to_str().ok()?.parse().ok()
}

/// In how many milliseconds to come back; a second if the server does not say.
fn later(answered: &Answered) -> u64 {
    number(answered, &LATER)
        .unwrap_or(1000)
        .clamp(*LATER_MS.start(), *LATER_MS.end())
}

/// What a status says that is none of those which were hoped for.
pub(crate) fn status(answered: &Answered) -> LinkError {
    let status = answered.status.as_u16();
    if matches!(status, 408 | 429 | 500..) {
        return LinkError::Busy {
            status,
            after_ms: later(answered),
        };
    }
    // The words of a stranger, for a terminal.
    let begin = &answered.body[..answered.body.len().min(REASON_MAX)];
    let reason = plain(&String::from_utf8_lossy(begin));
    LinkError::Status { status, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Later" ended an agent for good.
    #[test]
    fn later_is_a_matter_of_trying_again() {
        let said = |code: u16| {
            let headers = HeaderMap::from_iter([(LATER, 2500.into())]);
            status(&Answered {
                status: StatusCode::from_u16(code).unwrap(),
                headers,
                body: Bytes::new(),
            })
        };
        for code in [408, 429, 500, 502, 503, 504] {
            let error = said(code);
            assert!(
                matches!(error, LinkError::Busy { status, after_ms: 2500 } if status == code),
                "{error}"
            );
            assert_eq!(
                error.pause(Duration::from_secs(1)),
                Duration::from_millis(2500)
            );
            assert_eq!(error.pause(Duration::from_secs(9)), Duration::from_secs(9));
        }
        for code in [400, 403, 404, 409, 410, 413, 422] {
            assert!(matches!(said(code), LinkError::Status { status, .. } if status == code));
        }
    }

    fn answered(later_ms: &'static str, body: &'static [u8]) -> Answered {
        let headers = [(LATER, hyper::header::HeaderValue::from_static(later_ms))];
        Answered {
            status: StatusCode::BAD_REQUEST,
            headers: HeaderMap::from_iter(headers),
            body: Bytes::from_static(body),
        }
    }

    /// A server could clear a site's screen, or write over the line before.
    #[test]
    fn the_words_of_a_server_do_nothing_to_a_terminal() {
        let said = status(&answered(
            "1",
            b"no\r\x1b[2J\x1b]0;x\x07\xc2\x9b1m\xe2\x80\xae\xff",
        ))
        .to_string();
        assert_eq!(
            said,
            "the server says 400: no\\u{d}\\u{1b}[2J\\u{1b}]0;x\\u{7}\\u{9b}1m\\u{202e}\u{fffd}"
        );
    }

    /// 0 had an agent ask again, and write its file, at the speed of the network.
    #[test]
    fn a_time_to_come_back_is_neither_none_nor_for_ever() {
        let cases = [
            ("0", 50),
            ("50", 50),
            ("200", 200),
            ("18446744073709551615", 3_600_000),
            ("x", 1000),
        ];
        for (said, taken) in cases {
            assert_eq!(later(&answered(said, b"")), taken, "{said}");
        }
    }
}
