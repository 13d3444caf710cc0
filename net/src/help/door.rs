//! The door of a helper: HTTP over TLS, for its leader alone.
//!
//! | request | answers |
//! |---|---|
//! | `POST /v1/RUN/helper/terms`, the terms; the header `sordino-token` until there is a leader, unless its certificate says who it is | 200 the key of the masks; 403 not the leader; 409 other terms; 422 terms that are not agreed to |
//! | `POST /v1/RUN/helper/agents`, keys in JSON | 200; 409 another key than before, or another agent's |
//! | `POST /v1/RUN/helper/answer`, a question in JSON | 200 the answer; 409 another set, or not the next epoch; 410 agents that were shut out here, in JSON; 428 an agent without a key here |
//! | any of them | 403 not the leader; 404 another path; 413 too long; 503 the helper is about to end |
//!
//! Who is no leader, and may not become it, is sent away before a byte of its request's body is
//! read. An answer leaves at a fixed time after its question, so that the time of the noise does
//! not show.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Extension, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::UnixTime;
use sordino_host::hex::from_hex;
use sordino_host::shares::HelperError;
use sordino_host::signature::Fingerprint;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::desk::{Help, Refused};
use super::gate::{Gate, LedBy};
use crate::keys::Shown;
use crate::shares::MaskKey;
use crate::terms::TERMS_BYTES_MAX;

/// The token that makes a server the leader.
pub const TOKEN: HeaderName = HeaderName::from_static("sordino-token");
/// The keys by which the caller recognises the helper, with commas between.
pub const PINS: HeaderName = HeaderName::from_static("sordino-pins");
/// Connections at one time: one leader, and strangers that are sent away.
const CONNECTIONS: usize = 64;
/// and of these, behind a handshake, so many by others than the leader, once there is one,
const STRANGERS: usize = 16;
/// and are sent away after this.
const STRANGER: Duration = Duration::from_secs(60);
/// A handshake or a header: no longer than this.
const PATIENCE: Duration = Duration::from_secs(20);
/// A connection is over after this, whatever happens on it.
const SESSION: Duration = Duration::from_secs(600);

/// Where it is kept who the leader is.
pub type Bind = Box<dyn Fn(LedBy) -> Result<(), Refused> + Send>;

/// What the door of a helper hands requests to.
#[derive(Clone)]
pub struct HelpDoor {
    /// Who may ask: the leader, once there is one.
    pub gate: Arc<Gate>,
    /// Keeps who the leader is, before it is one.
    pub bind: Arc<Mutex<Bind>>,
    /// What answers its questions.
    pub help: Arc<Mutex<dyn Help>>,
    /// From a question to its answer: longer than an answer takes.
    pub delay: Duration,
    /// Told of what ends the helper, and of each answer (none).
    pub ends: mpsc::Sender<Option<Refused>>,
}

/// Who is at the other end of a connection, or why its certificate makes it nobody.
#[derive(Clone)]
struct Caller(Result<LedBy, String>);

fn said(refused: &Refused) -> Response {
    let status = match refused {
        // What is wrong here, and where, is its owner's.
        refused if refused.is_fatal() => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Refused::OtherTerms { .. } | Refused::NoTerms | Refused::Led => StatusCode::CONFLICT,
        Refused::OtherKey { .. } | Refused::OneKey { .. } => StatusCode::CONFLICT,
        Refused::Helper(
            HelperError::OtherSet { .. } | HelperError::OutOfOrder { .. } | HelperError::Ledger(_),
        ) => StatusCode::CONFLICT,
        Refused::Helper(HelperError::Unknown { .. }) => StatusCode::PRECONDITION_REQUIRED,
        // The leader asks again without them.
        Refused::ShutOut { agents } => {
            // Numbers always have a form in JSON.
            return (
                StatusCode::GONE,
                serde_json::to_vec(agents).unwrap_or_default(),
            )
                .into_response();
        }
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    (status, refused.to_string()).into_response()
}

impl HelpDoor {
    /// Lets the helper do something on a thread that may wait for the disk.
    async fn done<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut dyn Help) -> Result<R, Refused> + Send + 'static,
    ) -> Result<R, Response> {
        let help = self.help.clone();
        let done = tokio::task::spawn_blocking(move || {
            act(&mut *help.lock().unwrap_or_else(PoisonError::into_inner))
        });
        match done.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(refused)) => {
                let response = said(&refused);
                if refused.is_fatal() {
                    drop(self.ends.send(Some(refused)).await);
                }
                Err(response)
            }
            Err(_lost) => {
                drop(
                    self.ends
                        .send(Some(Refused::Unusable("an answer was lost".into())))
                        .await,
                );
                Err(StatusCode::SERVICE_UNAVAILABLE.into_response())
            }
        }
    }
}

async fn terms(
    State(door): State<HelpDoor>,
    Extension(Caller(caller)): Extension<Caller>,
    body: Bytes,
) -> Response {
    let gate = door.gate.clone();
    let bind = door.bind.clone();
    let caller = match caller {
        Ok(caller) => caller,
        Err(reason) => return (StatusCode::FORBIDDEN, reason).into_response(),
    };
    let begun = door.done(move |help| {
        let key = help.begin(&body, &caller)?;
        let mut leader = gate.leader();
        match *leader {
            Some(known) if known == caller => {}
            // Another one was faster.
            Some(_) => return Err(Refused::Led),
            None => bind.lock().unwrap_or_else(PoisonError::into_inner)(caller)?,
        }
        *leader = Some(caller);
        Ok(key)
    });
    match begun.await {
        Ok(MaskKey(key)) => key.to_vec().into_response(),
        Err(response) => response,
    }
}

async fn agents(State(door): State<HelpDoor>, body: Bytes) -> Response {
    let Ok(agents) = serde_json::from_slice::<Vec<_>>(&body) else {
        return (StatusCode::BAD_REQUEST, "no list of agents").into_response();
    };
    match door.done(move |help| help.enrol(&agents)).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(response) => response,
    }
}

async fn answer(State(door): State<HelpDoor>, body: Bytes) -> Response {
    let leaves = Instant::now() + door.delay;
    let Ok(question) = serde_json::from_slice(&body) else {
        return (StatusCode::BAD_REQUEST, "no question").into_response();
    };
    match door.done(move |help| help.answer(&question)).await {
        Ok(bytes) => {
            tokio::time::sleep_until(leaves).await;
            drop(door.ends.send(None).await);
            bytes.into_response()
        }
        Err(response) => response,
    }
}

/// One or two fingerprints, with a comma between.
fn pins(text: &str) -> Option<Vec<Fingerprint>> {
    let pins: Option<Vec<Fingerprint>> = text.split(',').map(|pin| pin.parse().ok()).collect();
    pins.filter(|pins| pins.len() <= 2)
}

/// Sends everybody away who is not the leader, before the body is read.
async fn admitted(
    State(door): State<HelpDoor>,
    Extension(Caller(caller)): Extension<Caller>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    let shown = request
        .headers()
        .get(&TOKEN)
        .and_then(|value: &HeaderValue| value.to_str().ok())
        .and_then(from_hex);
    let pins = request
        .headers()
        .get(&PINS)
        .and_then(|value| value.to_str().ok())
        .and_then(pins);
    let why = match caller {
        Ok(caller) if door.gate.admits(&caller, shown) => {
            let response = next.run(request).await;
            // What a leader says that was taken for one.
            return match pins.filter(|_| response.status() == StatusCode::OK) {
                Some(pins) => door
                    .done(move |help| help.knows(&pins))
                    .await
                    .map_or_else(|why| why, |()| response),
                None => response,
            };
        }
        Ok(LedBy::Key(_)) => "not the leader of this helper, and not its token".to_owned(),
        Ok(LedBy::Certificate(run)) => {
            format!("this helper has a leader, which is not that of run {run:016x}")
        }
        Err(reason) => reason,
    };
    (StatusCode::FORBIDDEN, why).into_response()
}

/// Opens the door of a helper on a listener and serves until the task is dropped.
pub async fn serve(listener: TcpListener, shown: Shown, door: HelpDoor) {
    let gate = door.gate.clone();
    let app = Router::new()
        .route("/v1/{run}/helper/terms", post(terms))
        .route("/v1/{run}/helper/agents", post(agents))
        .route("/v1/{run}/helper/answer", post(answer))
        .layer(axum::middleware::from_fn_with_state(door.clone(), admitted))
        .layer(DefaultBodyLimit::max(TERMS_BYTES_MAX as usize))
        .with_state(door);
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let strangers = Arc::new(Semaphore::new(STRANGERS));
    loop {
        // Nobody closes the semaphore.
        let Ok(permit) = free.clone().acquire_owned().await else {
            return;
        };
        let Ok((tcp, _from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let acceptor = TlsAcceptor::from(shown.borrow().clone());
        let app = app.clone();
        let gate = gate.clone();
        let strangers = strangers.clone();
        tokio::spawn(async move {
            let _permit = permit;
            // Who is no party of TLS is told nothing.
            let _over = connection(tcp, acceptor, app, &gate, strangers).await;
        });
    }
}

/// One connection to its end; none if it never became one.
async fn connection(
    tcp: TcpStream,
    acceptor: TlsAcceptor,
    app: Router,
    gate: &Gate,
    strangers: Arc<Semaphore>,
) -> Option<()> {
    tcp.set_nodelay(true).ok()?;
    let tls = tokio::time::timeout(PATIENCE, acceptor.accept(tcp))
        .await
        .ok()?
        .ok()?;
    // As at a server's door: dates are judged once, when a connection is made.
    let caller = gate.caller(tls.get_ref().1.peer_certificates()?, UnixTime::now())?;
    let (_stranger, longest) = match gate.may_lead(&caller) {
        true => (None, SESSION),
        false => (Some(strangers.try_acquire_owned().ok()?), STRANGER),
    };
    let service = TowerToHyperService::new(app.layer(Extension(Caller(caller))));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(16 << 10);
    drop(tokio::time::timeout(longest, http.serve_connection(TokioIo::new(tls), service)).await);
    Some(())
}
