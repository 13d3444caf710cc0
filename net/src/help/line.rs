//! The leader's line to its helper: three requests, tried again until there is an answer.

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

/// A connection of a leader to its helper.
pub struct Line {
    link: Link,
    run: String,
    address: String,
}

impl Line {
    /// A line that is not connected yet: the leader is known by `identity`, the helper by `key`.
    ///
    /// **Errors**: [`IdentityError::Tls`].
    pub fn new(address: &str, key: Fingerprint, deployment: u64, identity: &Identity) -> Result<Self, IdentityError> {
        let link = Link::new(address, deployment, identity.client(&[key])?, WAIT);
        Ok(Line { link, run: format!("{deployment:016x}"), address: address.to_owned() })
    }

    async fn post(&mut self, what: &str, headers: HeaderMap, body: Bytes) -> Result<Bytes, LinkError> {
        let path = format!("/v1/{}/helper/{what}", self.run);
        let answered = self.link.request(Method::POST, &path, headers, body, ANSWER_MAX).await?;
        if answered.status == StatusCode::OK { Ok(answered.body) } else { Err(status(&answered)) }
    }

    /// Hands the terms over, with the token that makes this server the leader; returns the key of the helper's masks.
    ///
    /// **Errors**: [`LinkError`].
    pub async fn begin(&mut self, token: &Token, terms: Bytes) -> Result<MaskKey, LinkError> {
        let mut headers = HeaderMap::new();
        let token = HeaderValue::from_str(&hex(token)).map_err(|_| LinkError::Answer { what: "a header" })?;
        headers.insert(TOKEN, token);
        let key = self.post("terms", headers, terms).await?;
        key[..].try_into().map(MaskKey).map_err(|_| LinkError::Answer { what: "a key of another length" })
    }

    /// The same, until there is an answer.
    ///
    /// **Errors**: [`LinkError::Status`], [`LinkError::Answer`].
    pub async fn begun(&mut self, token: &Token, terms: &Bytes) -> Result<MaskKey, LinkError> {
        let mut waits = Waits::new(&self.address);
        loop {
            match self.begin(token, terms.clone()).await {
                Ok(key) => return Ok(key),
                Err(error) => waits.again(error).await?,
            }
        }
    }

    /// Tells the keys of agents, then asks, until there is an answer: the helper says the same whenever it is asked the same.
    ///
    /// **Errors**: [`LinkError::Status`], [`LinkError::Answer`].
    pub async fn answered(&mut self, agents: &[Enrolling], question: &Question) -> Result<Bytes, LinkError> {
        let (agents, question) = (json(&agents)?, json(question)?);
        let mut waits = Waits::new(&self.address);
        loop {
            let asked = match self.post("agents", HeaderMap::new(), agents.clone()).await {
                Ok(_told) => self.post("answer", HeaderMap::new(), question.clone()).await,
                Err(error) => Err(error),
            };
            match asked {
                Ok(answer) => return Ok(answer),
                Err(error) => waits.again(error).await?,
            }
        }
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
