//! The leader's line to its helper: three requests, tried again until there is an answer.
//!
//! **Keys of agents are told once.** The line remembers whose it told, and a question names agents by index alone. A helper that does
//! not know one of them refuses with 428, charges nothing, and is told all of them again. What the line remembers ends with the leader's process:
//! keys never change, and a helper takes the same ones any number of times.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use serde::Serialize;
use sordino_host::hex::hex;
use sordino_host::shares::Question;
use sordino_host::signature::Fingerprint;
use sordino_sim::text::chain;

use super::desk::Enrolling;
use super::door::TOKEN;
use super::told::Told;
use crate::identity::{Identity, IdentityError};
use crate::invitation::Token;
use crate::link::{Link, LinkError, status};
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

/// A connection of a leader to its helper.
pub struct Line {
    link: Link,
    run: String,
    address: String,
    told: Told,
}

impl Line {
    /// A line that is not connected yet: the leader is known by `identity`, the helper by `key`.
    ///
    /// **Errors**: [`IdentityError::Tls`].
    pub fn new(address: &str, key: Fingerprint, deployment: u64, identity: &Identity) -> Result<Self, IdentityError> {
        let link = Link::new(address, deployment, identity.client(&[key])?, WAIT);
        Ok(Line { link, run: format!("{deployment:016x}"), address: address.to_owned(), told: Told::default() })
    }

    async fn post(&mut self, what: &str, headers: HeaderMap, body: Bytes) -> Result<Bytes, LinkError> {
        let path = format!("/v1/{}/helper/{what}", self.run);
        let answered = self.link.request(Method::POST, &path, headers, body, ANSWER_MAX).await?;
        if answered.status == StatusCode::OK { Ok(answered.body) } else { Err(status(&answered)) }
    }

    /// Hands the terms over, with the token that makes this server the leader, unless its certificate does; returns the key of the
    /// helper's masks.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn begin(&mut self, token: Option<&Token>, terms: Bytes) -> Result<MaskKey, LinkError> {
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let token = HeaderValue::from_str(&hex(token)).map_err(|_| LinkError::Answer { what: "a header" })?;
            headers.insert(TOKEN, token);
        }
        let key = self.post("terms", headers, terms).await?;
        key[..].try_into().map(MaskKey).map_err(|_| LinkError::Answer { what: "a key of another length" })
    }

    /// The same, until there is an answer.
    ///
    /// **Errors**: [`LinkError::Status`], [`LinkError::Answer`].
    pub async fn begun(&mut self, token: Option<&Token>, terms: &Bytes) -> Result<MaskKey, LinkError> {
        let mut waits = Waits::new(&self.address);
        loop {
            match self.begin(token, terms.clone()).await {
                Ok(key) => return Ok(key),
                Err(error) => waits.again(error).await?,
            }
        }
    }

    /// Asks until there is an answer: the helper says the same whenever it is asked the same. Before it, the helper is told
    /// the keys that it was not told yet.
    ///
    /// **Parameters**: `keys`, those of these agents.
    ///
    /// **Errors**: [`LinkError::Status`], [`LinkError::Answer`].
    pub async fn answered(
        &mut self,
        question: &Question,
        keys: impl Fn(&[u32]) -> Vec<(u32, MaskKey)>,
    ) -> Result<Bytes, LinkError> {
        let (asked, mut waits, mut again) = (json(question)?, Waits::new(&self.address), false);
        loop {
            match self.told_and_asked(question, &asked, &keys).await {
                Ok(answer) => return Ok(answer),
                // A helper that lost keys. Told all of them and still without one, it would be without it for ever.
                Err(LinkError::Status { status, .. }) if status == UNKNOWN && !again => {
                    self.told.forget();
                    again = true;
                }
                Err(error) => waits.again(error).await?,
            }
        }
    }

    async fn told_and_asked(
        &mut self,
        question: &Question,
        asked: &Bytes,
        keys: &impl Fn(&[u32]) -> Vec<(u32, MaskKey)>,
    ) -> Result<Bytes, LinkError> {
        let untold = self.told.untold(&question.set);
        for part in untold.chunks(KEYS_MAX) {
            let known = keys(part).into_iter();
            let agents: Vec<_> = known.map(|(agent, key)| Enrolling { agent, key }).collect();
            self.post("agents", HeaderMap::new(), json(&agents)?).await?;
            // Remembered once the helper has stored them.
            self.told.add(&agents);
        }
        self.post("answer", HeaderMap::new(), asked.clone()).await
    }
}

fn json(value: &impl Serialize) -> Result<Bytes, LinkError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|_| LinkError::Answer { what: "a question without a form" })
}

/// Pauses between attempts, told once.
struct Waits {
    address: String,
    pause: Duration,
    said: bool,
}

impl Waits {
    fn new(address: &str) -> Self {
        Waits { address: address.to_owned(), pause: RETRY, said: false }
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
            note(&format!("waiting for the helper at {address}, tried again at least every 5 s: {}", chain(&error)));
        }
        tokio::time::sleep(error.pause(self.pause)).await;
        self.pause = (2 * self.pause).min(RETRY_MAX);
        Ok(())
    }
}
