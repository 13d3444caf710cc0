//! The network between a head and its workers: zenoh over TCP, with one router, in the head.
//!
//! There is no discovery: multicast and gossip are off, and a worker is told where the head is.
//! What cannot be sent at once waits and is never dropped (`CongestionControl::Block`, and a router
//! that does not close a slow link for a minute). A worker keeps a liveliness token: if its process
//! ends, the head learns of it within milliseconds; if its machine fails, after zenoh's lease of
//! ten seconds.
//!
//! | key | what |
//! |---|---|
//! | `sordino/2/alive/NAME` | the token of a worker |
//! | `sordino/2/ask/NAME` | questions to that worker, each with one answer |

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::CongestionControl;
use zenoh::query::{ConsolidationMode, Query, QueryTarget, Queryable};
use zenoh::sample::SampleKind;

use crate::message::VERSION;

/// Computing an answer may take a day.
const ANSWER_WITHIN: Duration = Duration::from_secs(86_400);
/// How long a worker tries to reach a head before it says so and tries again.
const CONNECT_MS: &str = "1000";
/// How long a full link is kept before it is closed, in microseconds.
const BLOCK_US: &str = "60000000";

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The endpoint is malformed, or cannot be used.
    #[error("{endpoint}: {why}; admissible: tcp/ADDRESS:PORT, as in tcp/0.0.0.0:7447")]
    Endpoint {
        /// What was given.
        endpoint: String,
        /// What zenoh says.
        why: String,
    },
    /// Nobody answers there.
    #[error("{0}")]
    Unreached(String),
    /// The session is over.
    #[error("the network is gone: {0}")]
    Gone(String),
}

fn gone(error: impl std::fmt::Display) -> LinkError {
    LinkError::Gone(error.to_string())
}

fn refused(endpoint: &str, why: impl std::fmt::Display) -> LinkError {
    LinkError::Endpoint {
        endpoint: endpoint.to_owned(),
        why: why.to_string(),
    }
}

fn key(kind: &str, name: &str) -> String {
    format!("sordino/{VERSION}/{kind}/{name}")
}

/// Opens a session: a router that listens, or a client that connects.
fn open(endpoint: &str, head: bool) -> Result<zenoh::Session, LinkError> {
    let place = endpoint
        .strip_prefix("tcp/")
        .and_then(|place| place.rsplit_once(':'));
    let has_port =
        place.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if !has_port || endpoint.contains(['"', '\\', ',']) {
        return Err(refused(endpoint, "no TCP endpoint"));
    }
    let mut config = zenoh::Config::default();
    let endpoints = format!("[\"{endpoint}\"]");
    let common = [
        ("scouting/multicast/enabled", "false"),
        ("scouting/gossip/enabled", "false"),
        (
            "transport/link/tx/queue/congestion_control/block/wait_before_close",
            BLOCK_US,
        ),
    ];
    let own = if head {
        [
            ("mode", "\"router\""),
            ("listen/endpoints", endpoints.as_str()),
            ("listen/exit_on_failure", "true"),
        ]
    } else {
        [
            ("mode", "\"client\""),
            ("connect/endpoints", endpoints.as_str()),
            ("connect/timeout_ms", CONNECT_MS),
        ]
    };
    for (key, value) in common.into_iter().chain(own) {
        config
            .insert_json5(key, value)
            .map_err(|error| refused(endpoint, error))?;
    }
    zenoh::open(config).wait().map_err(|error| {
        // A head that cannot listen has an address that is not its own, or is taken.
        if head {
            refused(endpoint, error)
        } else {
            LinkError::Unreached(error.to_string())
        }
    })
}

/// What a head hears.
#[derive(Debug)]
pub enum Event {
    /// A worker is there.
    Joined(String),
    /// A worker has gone.
    Lost(String),
    /// A worker answered the question of this number.
    Answered(String, u64, Vec<u8>),
    /// A question is over; if there was no answer before, there is none.
    Over(String, u64),
}

/// Says that a question is over when zenoh forgets it.
struct Question {
    name: String,
    number: u64,
    events: Sender<Event>,
}

impl Drop for Question {
    fn drop(&mut self) {
        // A head that is gone needs no answer.
        let _ = self
            .events
            .send(Event::Over(std::mem::take(&mut self.name), self.number));
    }
}

/// The head's end.
pub struct HeadLink {
    session: zenoh::Session,
    events: Sender<Event>,
    heard: Receiver<Event>,
}

impl HeadLink {
    /// Listens at an endpoint, such as `tcp/0.0.0.0:7447`.
    ///
    /// **Errors**: [`LinkError`].
    pub fn listen(endpoint: &str) -> Result<Self, LinkError> {
        let session = open(endpoint, true)?;
        let (events, heard) = channel();
        let told = events.clone();
        let alive = key("alive", "");
        let tokens = session
            .liveliness()
            .declare_subscriber(key("alive", "*"))
            .history(true);
        let watched = tokens.callback(move |sample| {
            let Some(name) = sample
                .key_expr()
                .as_str()
                .strip_prefix(&alive)
                .map(str::to_owned)
            else {
                return;
            };
            let event = if sample.kind() == SampleKind::Put {
                Event::Joined(name)
            } else {
                Event::Lost(name)
            };
            let _ = told.send(event);
        });
        watched.background().wait().map_err(gone)?;
        Ok(HeadLink {
            session,
            events,
            heard,
        })
    }

    /// Asks a worker; the outcome arrives as events.
    ///
    /// **Errors**: [`LinkError::Gone`].
    pub fn ask(&self, name: &str, number: u64, question: Vec<u8>) -> Result<(), LinkError> {
        let open = Question {
            name: name.to_owned(),
            number,
            events: self.events.clone(),
        };
        let query = self
            .session
            .get(key("ask", name))
            .payload(question)
            .timeout(ANSWER_WITHIN);
        let query = query
            .target(QueryTarget::All)
            .consolidation(ConsolidationMode::None);
        query
            .congestion_control(CongestionControl::Block)
            .callback(move |reply| {
                if let Ok(sample) = reply.result() {
                    let bytes = sample.payload().to_bytes().into_owned();
                    let _ =
                        open.events
                            .send(Event::Answered(open.name.clone(), open.number, bytes));
                }
            })
            .wait()
            .map_err(gone)
    }

    /// The next event, or none within this time.
    pub fn hear(&self, patience: Duration) -> Option<Event> {
        self.heard.recv_timeout(patience).ok()
    }
}

/// A worker's end. Dropping it takes the worker off the network.
pub struct WorkerLink {
    session: zenoh::Session,
    questions: Receiver<Query>,
    _alive: LivelinessToken,
    _answers: Queryable<()>,
}

/// A question, and the way to answer it.
pub struct Asked(Query);

impl WorkerLink {
    /// Connects to the head at an endpoint, such as `tcp/head:7447`.
    ///
    /// **Errors**: [`LinkError`], also if the head is not there yet.
    pub fn connect(endpoint: &str) -> Result<Self, LinkError> {
        let session = open(endpoint, false)?;
        let name = session.zid().to_string();
        let (sender, questions) = channel();
        let answers = session
            .declare_queryable(key("ask", &name))
            .callback(move |query| {
                let _ = sender.send(query);
            })
            .wait()
            .map_err(gone)?;
        // The last: whoever sees it may ask.
        let alive = session
            .liveliness()
            .declare_token(key("alive", &name))
            .wait()
            .map_err(gone)?;
        Ok(WorkerLink {
            session,
            questions,
            _alive: alive,
            _answers: answers,
        })
    }

    /// The next question, or none within this time.
    pub fn hear(&self, patience: Duration) -> Option<Asked> {
        self.questions.recv_timeout(patience).ok().map(Asked)
    }

    /// Whether there is a head at the other end.
    pub fn is_up(&self) -> bool {
        self.session.info().routers_zid().wait().next().is_some()
    }
}

impl Asked {
    /// The question's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        self.0
            .payload()
            .map(|payload| payload.to_bytes().into_owned())
            .unwrap_or_default()
    }

    /// Answers it.
    ///
    /// **Errors**: [`LinkError::Gone`].
    pub fn answer(self, bytes: Vec<u8>) -> Result<(), LinkError> {
        let key = self.0.key_expr().clone();
        self.0.reply(key, bytes).wait().map_err(gone)
    }
}
