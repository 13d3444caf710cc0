//! The leader's line to its helper: three requests, tried again until there is an answer.
//!
//! **Keys of agents are told once.** The line remembers whose it told, and a question names agents
//! by index alone. A helper that does not know one of them refuses with 428, charges nothing, and
//! is told all of them again. What the line remembers ends with the leader's process: keys never
//! change, and a helper takes the same ones any number of times.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use serde::Serialize;
use sordino_experiment::text::chain;
use sordino_host::hex::hex;
use sordino_host::shares::Question;
use sordino_host::signature::Fingerprint;

use super::desk::Enrolling;
use super::door::{PINS, TOKEN};
use super::told::Told;
use crate::identity::{Identity, IdentityError};
use crate::invitation::Token;
use crate::link::{Answered, Link, LinkError, status};
use crate::progress::note;
use crate::shares::MaskKey;

/// After a failed request: this long at first, twice as long each time, up to [`RETRY_MAX`].
const RETRY: Duration = Duration::from_millis(50);
/// The longest pause between two attempts.
const RETRY_MAX: Duration = Duration::from_secs(5);
/// How long an answer may take beyond a link's patience: a helper answers after a delay of its own.
const WAIT: Duration = Duration::from_secs(60);
/// The longest answer, in bytes: 2¹⁴ numbers.
const ANSWER_MAX: usize = 8 << 14;

/// The status of a helper that has no key of an agent.
const UNKNOWN: u16 = StatusCode::PRECONDITION_REQUIRED.as_u16();
/// Keys in one request, far below what a door reads.
const KEYS_MAX: usize = 1 << 16;

/// Why there is no answer of a helper.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The connection, or a refusal.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Its owner shut agents of the set out. It answered nothing for this epoch, and charged
    /// nothing.
    #[error("its owner shut out agents {agents:?}")]
    ShutOut {
        /// Indices of these agents.
        agents: Vec<u32>,
    },
}

/// A connection of a leader to its helper.
pub struct Line {
    link: Link,
    run: String,
    address: String,
    /// Keys by which it recognises the helper, as the helper is told.
    pins: String,
    told: Told,
}

impl Line {
    /// A line that is not connected yet: the leader is known by `identity`, the helper by one of
    /// `pins`.
    ///
    /// **Errors**: [`IdentityError::Tls`].
    pub fn new(
        address: &str,
        pins: &[Fingerprint],
        deployment: u64,
        identity: &Identity,
    ) -> Result<Self, IdentityError> {
        let link = Link::new(address, deployment, identity.client(pins)?, WAIT);
        let known: Vec<String> = pins.iter().map(Fingerprint::to_string).collect();
        let run = format!("{deployment:016x}");
        let address = address.to_owned();
        let told = Told::default();
        Ok(Line {
            link,
            run,
            address,
            pins: known.join(","),
            told,
        })
    }

    async fn post(
        &mut self,
        what: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Bytes, LinkError> {
        let answered = self.posted(what, headers, body).await?;
        if answered.status == StatusCode::OK {
            Ok(answered.body)
        } else {
            Err(status(&answered))
        }
    }

    async fn posted(
        &mut self,
        what: &str,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answered, LinkError> {
        let path = format!("/v1/{}/helper/{what}", self.run);
        // So that its owner is told before a rotation that would leave this leader behind.
        let pins = HeaderValue::from_str(&self.pins)
            .map_err(|_| LinkError::Answer { what: "a header" })?;
        headers.insert(PINS, pins);
        self.link
            .request(Method::POST, &path, headers, body, ANSWER_MAX)
            .await
    }

    /// Hands the terms over, with the token that makes this server the leader, unless its
    /// certificate does; returns the key of the helper's masks.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn begin(
        &mut self,
        token: Option<&Token>,
        terms: Bytes,
    ) -> Result<MaskKey, LinkError> {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let token = HeaderValue::from_str(&hex(token))
                .map_err(|_| LinkError::Answer { what: "a header" })?;
            headers.insert(TOKEN, token);
        }
        let key = self.post("terms", headers, terms).await?;
        key[..]
            .try_into()
            .map(MaskKey)
            .map_err(|_| LinkError::Answer {
                what: "a key of another length",
            })
    }

    /// The same, until there is an answer.
    ///
    /// **Errors**: [`LinkError::Status`], [`LinkError::Answer`].
    pub async fn begun(
        &mut self,
        token: Option<&Token>,
        terms: &Bytes,
    ) -> Result<MaskKey, LinkError> {
        let mut waits = Waits::new(&self.address);
        loop {
            match self.begin(token, terms.clone()).await {
                Ok(key) => return Ok(key),
                Err(error) => waits.again(error).await?,
            }
        }
    }

    /// The key of the masks of a helper that has the terms already, as soon as it can be reached.
    /// One that has none is another helper, and is given none.
    ///
    /// **Errors**: [`LinkError::Status`], [`LinkError::Answer`].
    pub async fn known(&mut self, terms: &Bytes) -> Result<MaskKey, LinkError> {
        let mut waits = Waits::new(&self.address);
        // Nobody is enrolled by it: only a helper with terms says yes.
        while let Err(error) = self
            .post("agents", HeaderMap::new(), Bytes::from_static(b"[]"))
            .await
        {
            waits.again(error).await?;
        }
        self.begun(None, terms).await
    }

    /// Asks until there is an answer: the helper says the same whenever it is asked its last
    /// question. Before it, the helper is told the keys that it was not told yet.
    ///
    /// **Parameters**: `keys`, those of these agents.
    ///
    /// **Errors**: [`LineError::ShutOut`]; [`LinkError::Status`], [`LinkError::Answer`].
    pub async fn answered(
        &mut self,
        question: &Question,
        keys: impl Fn(&[u32]) -> Vec<(u32, MaskKey)>,
    ) -> Result<Bytes, LineError> {
        let asked = json(question)?;
        let mut waits = Waits::new(&self.address);
        let mut again = false;
        loop {
            match self.told_and_asked(question, &asked, &keys).await {
                Ok(answer) => return Ok(answer),
                // A helper that lost keys. Told all of them and still without one, it would be
                // without it for ever.
                Err(LineError::Link(LinkError::Status { status, .. }))
                    if status == UNKNOWN && !again =>
                {
                    self.told.forget();
                    again = true;
                }
                Err(LineError::Link(error)) => waits.again(error).await?,
                Err(refused) => return Err(refused),
            }
        }
    }

    async fn told_and_asked(
        &mut self,
        question: &Question,
        asked: &Bytes,
        keys: &impl Fn(&[u32]) -> Vec<(u32, MaskKey)>,
    ) -> Result<Bytes, LineError> {
        let untold = self.told.untold(&question.set);
        for part in untold.chunks(KEYS_MAX) {
            let known = keys(part).into_iter();
            let agents: Vec<_> = known.map(|(agent, key)| Enrolling { agent, key }).collect();
            self.post("agents", HeaderMap::new(), json(&agents)?)
                .await?;
            // Remembered once the helper has stored them.
            self.told.add(&agents);
        }
        let answered = self
            .posted("answer", HeaderMap::new(), asked.clone())
            .await?;
        match answered.status {
            StatusCode::OK => Ok(answered.body),
            StatusCode::GONE => Err(shut_out(question, &answered.body)?),
            _ => Err(status(&answered).into()),
        }
    }
}

/// Agents of the set that the helper's owner shut out, as it names them.
fn shut_out(question: &Question, body: &[u8]) -> Result<LineError, LinkError> {
    let agents: Vec<u32> = serde_json::from_slice(body).unwrap_or_default();
    let are_asked = agents.iter().all(|agent| {
        question
            .set
            .binary_search_by_key(agent, |contributor| contributor.agent)
            .is_ok()
    });
    if agents.is_empty() || !are_asked {
        return Err(LinkError::Answer {
            what: "a refusal that names no agents of the question",
        });
    }
    Ok(LineError::ShutOut { agents })
}

fn json(value: &impl Serialize) -> Result<Bytes, LinkError> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|_| LinkError::Answer {
            what: "a question without a form",
        })
}

/// Pauses between attempts, told once.
struct Waits {
    address: String,
    pause: Duration,
    said: bool,
}

impl Waits {
    fn new(address: &str) -> Self {
        Waits {
            address: address.to_owned(),
            pause: RETRY,
            said: false,
        }
    }

    /// Waits before the next attempt.
    ///
    /// **Errors**: what trying again will not change.
    async fn again(&mut self, error: LinkError) -> Result<(), LinkError> {
        if matches!(error, LinkError::Status { .. } | LinkError::Answer { .. }) {
            return Err(error);
        }
        // One that is restarted at once is not told of.
        if self.pause > 4 * RETRY && !std::mem::replace(&mut self.said, true) {
            let address = &self.address;
            note(&format!(
                "waiting for the helper at {address}, tried again at least every 5 s: {}",
                chain(&error)
            ));
        }
        tokio::time::sleep(error.pause(self.pause)).await;
        self.pause = (2 * self.pause).min(RETRY_MAX);
        Ok(())
    }
}
