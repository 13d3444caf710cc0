//! The door: HTTP over TLS, a status for every answer, a bound on everything.
//!
//! | request | answers |
//! |---|---|
//! | `GET /v1/RUN/agreement` | 200 the terms |
//! | `GET /v1/RUN/prior.safetensors` | 200 the file of a campaign's releases so far; 404 before the first, and of other methods |
//! | `GET /v1/RUN/prior.frame` | 200 the numbers of that file in one frame, for devices; 404 as the file |
//! | `POST /v1/RUN/enrol/SLOT`, the token, or nothing for a certificate; behind it the key of the masks, where there are two servers | 200; 403 not invited, slot taken, shut out, no such certificate; 422 another length |
//! | `GET /v1/RUN/rounds/T`: "I have T frames" | 200 a frame; 204 later; 400 no chain or no seal; 403 not you; 409 a fork; 422 a history that was never made |
//! | `GET /v1/RUN/rounds/T/opening` | 200 what release T of a campaign is made with, while it is open; 404 of another round, and of other methods; 503 before the first round is announced |
//! | `PUT /v1/RUN/rounds/T/agents/N`: "here is mine" | 200 taken; 409 already; 410 over; 403 not you; 422 no such frame |
//! | any of them | 404 another run; 408 it never ended; 413 too long; 503 the queue is full, or the server is beginning |
//!
//! The caller is identified by the key of its connection, or by its certificate where the terms
//! name an authority. The header `server` of every answer names this program and its version. The
//! path of an upload names the agent for people who read logs; a frame or a path that says
//! otherwise is 403.
//!
//! Where the terms let rounds close early, 204 and the 200 of an upload say how many agents have
//! joined (`sordino-joined`).

mod limits;
mod offered;
mod places;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Extension, Path, State};
use axum::http::header::{CONNECTION, SERVER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::UnixTime;
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{Have, Reply, Seal};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_rustls::TlsAcceptor;

pub use self::limits::{Limits, TooFewHandles};
pub(crate) use self::offered::Offering;
pub use self::offered::{Counts, OfferError, Offered};
use self::places::Places;
use crate::authority::{Authority, Refused};
use crate::beside::beside;
use crate::enrolment::{Enrolment, Refusal};
use crate::keys::Shown;
use crate::rounds::{Asked, Given, Request};
use crate::shares::MaskKey;
use sordino_host::hex::{from_hex, hex};
use sordino_host::signature::Fingerprint;

/// The digest of what the sender has.
pub(crate) const CHAIN: HeaderName = HeaderName::from_static("sordino-chain");
/// The seal that came with the last frame.
pub(crate) const SEAL: HeaderName = HeaderName::from_static("sordino-seal");
/// For how many milliseconds the sender waits for an answer.
pub const WAIT: HeaderName = HeaderName::from_static("sordino-wait-ms");
/// The round that is open.
pub const ROUND: HeaderName = HeaderName::from_static("sordino-round");
/// In how many milliseconds to come back.
pub const LATER: HeaderName = HeaderName::from_static("sordino-later-ms");
/// How many agents have joined.
pub(crate) const JOINED: HeaderName = HeaderName::from_static("sordino-joined");

/// Every answer names the program and its version, in the header `server`.
const PROGRAM: HeaderValue =
    HeaderValue::from_static(concat!("sordino-net/", env!("CARGO_PKG_VERSION")));

/// In how many milliseconds to come back to a server that is beginning.
const RESTART_MS: u64 = 1000;

/// A door of one federation.
pub struct Door {
    /// The public number of the run.
    pub deployment: u64,
    /// What is published.
    pub terms: Bytes,
    /// What anybody may fetch of a campaign; nothing as long as a server that began again has not
    /// found its round.
    pub offered: watch::Receiver<Option<Offered>>,
    /// The longest body, in bytes.
    pub body_max: usize,
    /// Which key belongs to which agent.
    pub enrolment: Arc<Enrolment>,
    /// The authority that signs agents' certificates; none where a token binds a key to a slot.
    pub authority: Option<Arc<Authority>>,
    /// Whether agents that wait are told how many have joined: only where the terms make presence
    /// public.
    pub tells_joined: bool,
    /// Where requests go.
    pub requests: mpsc::Sender<Request>,
    /// Bounds of everything.
    pub limits: Limits,
    /// What is counted here.
    pub counts: Arc<Counts>,
}

/// Who is at the other end of a connection, as its handshake showed.
#[derive(Clone)]
struct Caller {
    key: Fingerprint,
    /// What its certificate makes it, if there is an authority.
    certified: Option<Result<u32, Refused>>,
}

type Shared = Arc<Door>;

impl Door {
    fn is_run(&self, run: &str) -> bool {
        from_hex(run).map(u64::from_be_bytes) == Some(self.deployment)
    }

    /// Which agent is asking.
    ///
    /// **Errors**: the reason, as the caller is told it; empty for an unknown key.
    fn who(&self, caller: &Caller) -> Result<u32, String> {
        match &caller.certified {
            None => self.enrolment.slot(&caller.key).ok_or_else(String::new),
            Some(Ok(slot)) => match self.enrolment.certified(*slot) {
                Ok(()) => Ok(*slot),
                Err(Refusal::Masks) => Err(format!(
                    "agent {slot} has not enrolled with the key of its masks"
                )),
                Err(_shut_out) => Err(format!("agent {slot} was shut out")),
            },
            Some(Err(refused)) => Err(refused.to_string()),
        }
    }

    /// What an agent is told that did not come in.
    fn refused(&self, refusal: Refusal) -> Response {
        let why = match refusal {
            Refusal::NotInvited => "not invited: no such slot, or another token",
            Refusal::Taken => {
                "another folder has joined with this slot, or this folder with another one: an invitation is for one folder \
                 (where one server is trusted and that folder is lost: `sordino invite --again`)"
            }
            Refusal::Over => "the invitation has ended",
            Refusal::Revoked => "shut out",
            Refusal::Masks => {
                "the key of its masks is missing, not asked for, another than before, or another agent's"
            }
            Refusal::Unavailable => return self.later(StatusCode::SERVICE_UNAVAILABLE, 1000),
        };
        (StatusCode::FORBIDDEN, why).into_response()
    }

    /// An answer to an agent that has to wait for others now.
    fn awaiting(&self, mut response: Response) -> Response {
        if self.tells_joined {
            response
                .headers_mut()
                .insert(JOINED, HeaderValue::from(self.enrolment.count()));
        }
        response
    }

    fn later(&self, status: StatusCode, after_ms: u64) -> Response {
        let seconds = HeaderValue::from(after_ms.div_ceil(1000));
        (
            status,
            [
                (LATER, HeaderValue::from(after_ms)),
                (axum::http::header::RETRY_AFTER, seconds),
            ],
        )
            .into_response()
    }
}

async fn agreement(State(door): State<Shared>, Path(run): Path<String>) -> Response {
    if !door.is_run(&run) {
        return StatusCode::NOT_FOUND.into_response();
    }
    door.terms.clone().into_response()
}

async fn file(State(door): State<Shared>, Path(run): Path<String>) -> Response {
    public(&door, &run, |offered| &offered.file)
}

async fn numbers(State(door): State<Shared>, Path(run): Path<String>) -> Response {
    public(&door, &run, |offered| &offered.numbers)
}

/// Anybody's, and to be asked again.
fn public(door: &Door, run: &str, which: fn(&Offered) -> &Bytes) -> Response {
    if !door.is_run(run) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let Some(bytes) = door
        .offered
        .borrow()
        .as_ref()
        .map(|offered| which(offered).clone())
    else {
        return door.later(StatusCode::SERVICE_UNAVAILABLE, RESTART_MS);
    };
    if bytes.is_empty() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let kept = (
        axum::http::header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=60"),
    );
    ([kept], bytes).into_response()
}

/// Anybody's. A round has one answer for ever, so caches may keep it.
async fn opening(State(door): State<Shared>, Path((run, round)): Path<(String, u32)>) -> Response {
    if !door.is_run(&run) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let offered = door.offered.borrow().clone();
    let Some(offered) = offered.filter(|offered| !offered.is_waiting) else {
        return door.later(StatusCode::SERVICE_UNAVAILABLE, RESTART_MS);
    };
    match offered.opening {
        Some((open, frame)) if open == round => {
            let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
            ([(axum::http::header::CACHE_CONTROL, kept)], frame).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn enrol(
    State(door): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((run, slot)): Path<(String, u32)>,
    body: Bytes,
) -> Response {
    if !door.is_run(&run) {
        return StatusCode::NOT_FOUND.into_response();
    }
    if let Some(certified) = &caller.certified {
        return match certified {
            Ok(named) if *named == slot => enrol_certified(&door, slot, &body),
            Ok(named) => (
                StatusCode::FORBIDDEN,
                format!("the certificate is agent {named}'s"),
            )
                .into_response(),
            Err(refused) => (StatusCode::FORBIDDEN, refused.to_string()).into_response(),
        };
    }
    let token = body.split_first_chunk::<16>();
    let shown = match token {
        Some((token, [])) => Some((token, None)),
        Some((token, masks)) => masks
            .try_into()
            .ok()
            .map(|masks| (token, Some(MaskKey(masks)))),
        None => None,
    };
    let Some((token, masks)) = shown else {
        let why = "a token is 16 bytes; where there are two servers the key of the masks follows, 32 bytes";
        return (StatusCode::UNPROCESSABLE_ENTITY, why).into_response();
    };
    let enrolled = beside(|| door.enrolment.enrol_with(slot, token, caller.key, masks));
    match enrolled {
        // It comes back as one that is known.
        Ok(()) => (
            StatusCode::OK,
            [(CONNECTION, HeaderValue::from_static("close"))],
        )
            .into_response(),
        Err(refusal) => door.refused(refusal),
    }
}

/// An agent whose certificate says who it is, with the key of its masks where there are two
/// servers.
fn enrol_certified(door: &Door, slot: u32, body: &[u8]) -> Response {
    let masks = match (body.is_empty(), body.try_into()) {
        (true, _) => None,
        (false, Ok(key)) => Some(MaskKey(key)),
        (false, Err(_length)) => {
            let why = "with a certificate comes no token; where there are two servers the key of the masks, 32 bytes";
            return (StatusCode::UNPROCESSABLE_ENTITY, why).into_response();
        }
    };
    match beside(|| door.enrolment.enrol_certified(slot, masks)) {
        Ok(()) => StatusCode::OK.into_response(),
        Err(Refusal::Revoked) => {
            (StatusCode::FORBIDDEN, format!("agent {slot} was shut out")).into_response()
        }
        Err(refusal) => door.refused(refusal),
    }
}

fn header<const N: usize>(headers: &HeaderMap, name: &HeaderName) -> Option<[u8; N]> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .and_then(from_hex)
}

async fn ask(
    State(door): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((run, frames)): Path<(String, u32)>,
    headers: HeaderMap,
) -> Response {
    if !door.is_run(&run) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let who = match door.who(&caller) {
        Ok(who) => who,
        Err(reason) => return (StatusCode::FORBIDDEN, reason).into_response(),
    };
    let (Some(chain), Some(seal)) = (header(&headers, &CHAIN), header::<16>(&headers, &SEAL))
    else {
        return (
            StatusCode::BAD_REQUEST,
            "the headers sordino-chain and sordino-seal are needed",
        )
            .into_response();
    };
    let have = Have {
        frames,
        chain: Digest(chain),
        seal: seal as Seal,
    };
    let wait = headers
        .get(&WAIT)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok());
    let wait = Duration::from_millis(wait.unwrap_or(0)).min(door.limits.wait_max);
    let (reply, answer) = oneshot::channel();
    if door
        .requests
        .try_send(Request::Ask {
            who,
            have,
            wait,
            reply,
        })
        .is_err()
    {
        return door.later(StatusCode::SERVICE_UNAVAILABLE, 1000);
    }
    match answer.await {
        Ok(Asked::Frame {
            bytes,
            current,
            seal,
        }) => {
            let seal = HeaderValue::from_str(&hex(&seal)).unwrap_or(HeaderValue::from_static(""));
            ([(ROUND, HeaderValue::from(current)), (SEAL, seal)], bytes).into_response()
        }
        Ok(Asked::Later { after_ms }) => {
            door.awaiting(door.later(StatusCode::NO_CONTENT, after_ms))
        }
        Ok(Asked::NotYou) => StatusCode::FORBIDDEN.into_response(),
        Ok(Asked::Fork) => {
            (StatusCode::CONFLICT, "another history than this server's").into_response()
        }
        Ok(Asked::Unsealed) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "a history that was never sent",
        )
            .into_response(),
        // The server is about to end.
        Err(_) => door.later(StatusCode::SERVICE_UNAVAILABLE, 1000),
    }
}

async fn give(
    State(door): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((run, _round, agent)): Path<(String, u32, u32)>,
    frame: Bytes,
) -> Response {
    if !door.is_run(&run) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let who = match door.who(&caller) {
        Ok(who) if who == agent => who,
        Ok(_other) => return StatusCode::FORBIDDEN.into_response(),
        Err(reason) => return (StatusCode::FORBIDDEN, reason).into_response(),
    };
    let (reply, answer) = oneshot::channel();
    if door
        .requests
        .try_send(Request::Give { who, frame, reply })
        .is_err()
    {
        return door.later(StatusCode::SERVICE_UNAVAILABLE, 1000);
    }
    match answer.await {
        Ok(Given::Reply(Reply::Taken)) => door.awaiting(StatusCode::OK.into_response()),
        Ok(Given::Reply(Reply::Already)) => StatusCode::CONFLICT.into_response(),
        Ok(Given::Reply(Reply::Over)) => StatusCode::GONE.into_response(),
        Ok(Given::Reply(Reply::NotYou)) => StatusCode::FORBIDDEN.into_response(),
        Ok(Given::Reply(Reply::Later { after_ms })) => {
            door.later(StatusCode::SERVICE_UNAVAILABLE, after_ms)
        }
        Ok(Given::Refused(reason)) => (StatusCode::UNPROCESSABLE_ENTITY, reason).into_response(),
        Err(_) => door.later(StatusCode::SERVICE_UNAVAILABLE, 1000),
    }
}

/// Counts every answer by its status; a request that does not finish ends after the longest wait
/// plus the patience.
async fn counted(
    State(door): State<Shared>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    let counts = &door.counts;
    let longest = door.limits.wait_max + door.limits.patience;
    let response = tokio::time::timeout(longest, next.run(request)).await;
    let mut response =
        response.unwrap_or_else(|_elapsed| StatusCode::REQUEST_TIMEOUT.into_response());
    response.headers_mut().insert(SERVER, PROGRAM);
    let class = match response.status().as_u16() {
        ..400 => 0,
        400..500 => 1,
        500.. => 2,
    };
    counts.requests[class].fetch_add(1, Ordering::Relaxed);
    response
}

/// Opens a door on a listener and serves until the task is dropped; `shown` is the key of the
/// moment. An error of one connection ends that connection.
pub async fn serve(listener: TcpListener, shown: Shown, door: Door) {
    let limits = door.limits;
    let counts = door.counts.clone();
    let body_max = door.body_max;
    let door = Arc::new(door);
    let app = Router::new()
        .route("/v1/{run}/agreement", get(agreement))
        .route("/v1/{run}/prior.safetensors", get(file))
        .route("/v1/{run}/prior.frame", get(numbers))
        .route("/v1/{run}/enrol/{slot}", post(enrol))
        .route("/v1/{run}/rounds/{frames}", get(ask))
        .route("/v1/{run}/rounds/{round}/opening", get(opening))
        .route("/v1/{run}/rounds/{round}/agents/{agent}", put(give))
        .layer(axum::middleware::from_fn_with_state(door.clone(), counted))
        .layer(DefaultBodyLimit::max(body_max))
        .with_state(door.clone());
    let free = Semaphore::new(limits.connections);
    let strangers = Semaphore::new(limits.strangers);
    let free = Arc::new(free);
    let strangers = Arc::new(strangers);
    let places = Places::default();
    let inside = Inside {
        places,
        strangers,
        enrolment: door.enrolment.clone(),
        authority: door.authority.clone(),
    };
    loop {
        // Nobody closes the semaphore; a listener that fails for want of file handles works again
        // soon.
        let Ok(permit) = free.clone().acquire_owned().await else {
            return;
        };
        let Ok((tcp, _from)): Result<(TcpStream, SocketAddr), _> = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let acceptor = TlsAcceptor::from(shown.borrow().clone());
        let app = app.clone();
        let counts = counts.clone();
        let inside = inside.clone();
        tokio::spawn(async move {
            let _permit = permit;
            if connection(tcp, acceptor, app, limits, inside)
                .await
                .is_none()
            {
                counts.tls_failures.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

/// Who is inside, and how many may be.
#[derive(Clone)]
struct Inside {
    places: Places,
    strangers: Arc<Semaphore>,
    enrolment: Arc<Enrolment>,
    authority: Option<Arc<Authority>>,
}

/// One connection to its end; none if it never became one.
async fn connection(
    tcp: TcpStream,
    acceptor: TlsAcceptor,
    app: Router,
    limits: Limits,
    inside: Inside,
) -> Option<()> {
    tcp.set_nodelay(true).ok()?;
    let tls = tokio::time::timeout(limits.patience, acceptor.accept(tcp))
        .await
        .ok()?
        .ok()?;
    let chain = tls.get_ref().1.peer_certificates()?;
    let key = crate::identity::fingerprint_of(chain.first()?).ok()?;
    let certified = inside
        .authority
        .as_ref()
        .map(|authority| authority.slot(chain, UnixTime::now()));
    let known = match &certified {
        Some(certified) => certified.is_ok(),
        None => inside.enrolment.slot(&key).is_some(),
    };
    let (_stranger, longest) = match known {
        true => (None, limits.session),
        false => (
            Some(inside.strangers.try_acquire_owned().ok()?),
            3 * limits.patience,
        ),
    };
    let mut place = inside.places.take(key, limits.per_key);
    let service = TowerToHyperService::new(app.layer(Extension(Caller { key, certified })));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.patience)
        .max_buf_size(16 << 10);
    // A peer that hangs up in the middle is an everyday thing; one that asks slowly or never reads
    // keeps no place for ever.
    let served = tokio::time::timeout(longest, http.serve_connection(TokioIo::new(tls), service));
    tokio::select! {
        biased;
        () = place.lost() => {}
        _over = served => {}
    }
    Some(())
}
