//! The lines of a ledger: what a first line and a charge say, and the chain that runs through them.
//!
//! A line is one JSON object whose last key is `chain`: SHA-256 of the previous line's 32 chain
//! bytes (zeros before the first line) followed by the line itself without that key. The bytes are
//! hashed as they stand, so that two readings of a number cannot disagree.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sordino_core::privacy::Event;

/// Version of the format; a reader refuses every other.
pub const LEDGER_VERSION: u16 = 2;
/// Between a line's own text and its chain.
const MARK: &str = ",\"chain\":\"";
/// What follows the chain.
const END: &str = "\"}";

/// How the losses of a ledger add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// ε and δ are summed: pure and approximate events only.
    Sum,
    /// Rényi divergences are summed and converted at the ledger's δ.
    Renyi,
    /// Σ1/z² of Gaussians on everybody, converted exactly at the ledger's δ; no other event.
    Gaussian,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub sordino_ledger: u16,
    pub noise: String,
    pub id: Option<String>,
    pub data: String,
    pub unit: String,
    pub records: Option<u64>,
    pub accountant: Accounting,
    pub epsilon_max: Option<f64>,
    pub delta: f64,
}

/// One charge as a line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Number of the charge in its ledger, from 0.
    pub sequence: u64,
    /// Number of the release within its party, from 0. Under secret noise one release may be
    /// charged more than once.
    pub release: u64,
    /// Events that the charge costs.
    pub events: Vec<Event>,
    /// Secret noise or a simulation, in words.
    pub noise: String,
    /// What is unusual about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The day on which it was made, YYYY-MM-DD in UTC, where the program that made it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
}

/// Where the chain stands after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain([u8; 32]);

impl Chain {
    /// Before the first line.
    pub(super) const START: Chain = Chain([0; 32]);

    fn after(self, body: &str) -> Chain {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(body.as_bytes());
        Chain(hash.finalize().into())
    }

    pub(super) fn hex(self) -> String {
        crate::hex::hex(&self.0)
    }
}

/// A line ready to be written, without its line feed, and where the chain stands after it.
pub(super) fn seal(
    before: Chain,
    value: &impl Serialize,
) -> Result<(String, Chain), serde_json::Error> {
    let body = serde_json::to_string(value)?;
    let chain = before.after(&body);
    let open = body.strip_suffix('}').unwrap_or(&body);
    Ok((format!("{open}{MARK}{}{END}", chain.hex()), chain))
}

/// Reads a line back, without its line feed.
pub(super) fn unseal<V: for<'de> Deserialize<'de>>(
    before: Chain,
    line: &str,
) -> Result<(V, Chain), String> {
    let (body, chain) = line
        .rsplit_once(MARK)
        .and_then(|(body, chain)| Some((body, chain.strip_suffix(END)?)))
        .ok_or("is not a line of a ledger of this version")?;
    let body = format!("{body}}}");
    let expected = before.after(&body);
    if expected.hex() != chain {
        return Err(
            "was changed, or does not follow the line before it: its chain is wrong".to_owned(),
        );
    }
    Ok((
        serde_json::from_str(&body).map_err(|error| error.to_string())?,
        expected,
    ))
}

/// The events of a charge that was cut off, if it got that far.
pub(super) fn events_of_torn(line: &[u8]) -> Option<Vec<Event>> {
    let text = String::from_utf8_lossy(line);
    let (_, rest) = text.split_once("\"events\":")?;
    serde_json::Deserializer::from_str(rest)
        .into_iter::<Vec<Event>>()
        .next()?
        .ok()
        .filter(|events| !events.is_empty())
}
