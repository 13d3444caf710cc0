//! Which key belongs to which agent: slots, unused invitations, and agents that were shut out.
//!
//! Three text files in the server's folder. Commands write `invitations.jsonl` and `revoked.jsonl`
//! while a server runs, and the server reads them again whenever they have changed;
//! `enrolled.jsonl` is written by the server. Revocations are read first: a broken line never keeps
//! a revocation from taking effect.
//!
//! Shutting an agent out changes no weight: its slot stays and counts as zero.
//!
//! Where an authority signs for agents ([`crate::authority`]) no keys of connections are enrolled:
//! `invitations.jsonl` only records which of the server's keys an invitation named, and
//! `revoked.jsonl` works as usual. Where there are two servers as well, `enrolled.jsonl` has the
//! key of each agent's masks, which its certificate brought first and which stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sordino_core::federated::shares::Trust;
use sordino_host::files::{FileError, if_there, read_text, sync_folder};
use sordino_host::text::chain;

use crate::identity::io_at;
use crate::invitation::Token;
use crate::shares::MaskKey;
use sordino_host::hex::hex;
use sordino_host::signature::Fingerprint;

const INVITATIONS: &str = "invitations.jsonl";
const ENROLLED: &str = "enrolled.jsonl";
const REVOKED: &str = "revoked.jsonl";
/// Each of the files is read up to this length.
const BYTES_MAX: u64 = 1 << 30;
/// The end of a file is looked for in blocks of this length, longer than a line.
const BLOCK: u64 = 512;

/// Why a list could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum EnrolmentError {
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line that cannot be read.
    #[error("{}: line {line}: {error}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Invited {
    slot: u32,
    /// SHA-256 of the token: a reader of the file cannot join with it. None where an authority
    /// signs for agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The key that the server will have after a rotation, as the invitation names it; none in
    /// older lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Fingerprint>,
    /// Seconds since 1970 after which the token is good for nobody new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    /// Whether the slot may leave the key that it has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Enrolled {
    slot: u32,
    /// None where a certificate says who the agent is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Fingerprint>,
    /// What its masks are made with, where there are two servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    masks: Option<MaskKey>,
    /// SHA-256 of the token, if it could take the slot from another key: it does so once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// What an invitation is good for, beside its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The key that the server will have after a rotation, as the invitation names it.
    pub next: Option<Fingerprint>,
    /// Seconds since 1970 after which nobody new may come with it; for ever if none.
    pub until: Option<u64>,
    /// Whether a new key takes the slot from the one it has: for a site that lost its folder.
    pub again: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revoked {
    slot: u32,
}

/// Why an agent was not enrolled; the sender is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No such invitation: the slot or the token is wrong.
    NotInvited,
    /// The token is known, but another key has the slot, or this key has another slot.
    Taken,
    /// The slot was shut out.
    Revoked,
    /// The key of its masks is missing, not asked for, another than before, or another agent's.
    Masks,
    /// The invitation was good until a moment that is over.
    Over,
    /// The server cannot read its lists, or not write it down; not the sender's fault.
    Unavailable,
}

#[derive(Default)]
struct Lists {
    invited: BTreeMap<u32, BTreeMap<String, Offer>>,
    /// Tokens that took a slot from another key, or could have.
    used: BTreeSet<String>,
    slots: BTreeMap<Fingerprint, u32>,
    keys: BTreeMap<u32, Fingerprint>,
    masks: BTreeMap<u32, MaskKey>,
    revoked: BTreeSet<u32>,
    /// Agents that came with a certificate since the start, of those that have no key.
    certified: BTreeSet<u32>,
    /// The files that others write, as they were when they were read: invitations, revocations.
    read: [Mark; 2],
    /// Why the last agent that came could not be written down.
    unwritten: Option<String>,
    /// What was told of files that are broken: those of others, its own.
    told: [Option<String>; 2],
}

impl Lists {
    /// The slot has this key and no other.
    fn bind(&mut self, slot: u32, key: Fingerprint) {
        if let Some(before) = self.keys.insert(slot, key) {
            self.slots.remove(&before);
        }
        self.slots.insert(key, slot);
        self.certified.remove(&slot);
    }

    /// The slot came with a certificate.
    fn certify(&mut self, slot: u32) {
        if !self.keys.contains_key(&slot) {
            self.certified.insert(slot);
        }
    }

    /// Whether the slot has a key, or came with a certificate.
    fn has_joined(&self, slot: u32) -> bool {
        self.keys.contains_key(&slot) || self.certified.contains(&slot)
    }

    /// Whether these may be the masks of this slot: its own since before, and no other slot's.
    fn admits_masks(&self, slot: u32, masks: MaskKey) -> Result<(), Refusal> {
        let is_taken = self
            .masks
            .iter()
            .any(|(other, known)| *other != slot && *known == masks);
        let is_other = self.masks.get(&slot).is_some_and(|known| *known != masks);
        if is_taken || is_other {
            Err(Refusal::Masks)
        } else {
            Ok(())
        }
    }
}

/// What tells that a file has changed: its number, its length, and when the system last changed it.
type Mark = Option<(u64, u64, i64, i64)>;

fn mark(path: &Path) -> Mark {
    let found = std::fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
}

/// Which key belongs to which agent.
pub struct Enrolment {
    folder: Option<PathBuf>,
    lists: Mutex<Lists>,
    trust: Trust,
}

impl Enrolment {
    /// Without a folder: for rehearsals.
    pub fn in_memory() -> Self {
        Enrolment {
            folder: None,
            lists: Mutex::default(),
            trust: Trust::OneServer,
        }
    }

    /// As the folder has it.
    ///
    /// **Errors**: [`EnrolmentError`].
    pub fn open(folder: &Path) -> Result<Self, EnrolmentError> {
        let mut lists = Lists::default();
        for Enrolled {
            slot,
            key,
            masks,
            token,
        } in lines(&folder.join(ENROLLED))?
        {
            key.into_iter().for_each(|key| lists.bind(slot, key));
            lists.masks.extend(masks.map(|masks| (slot, masks)));
            lists.used.extend(token);
        }
        let folder = Some(folder.to_owned());
        let lists = Mutex::new(lists);
        let trust = Trust::OneServer;
        let enrolment = Enrolment {
            folder,
            lists,
            trust,
        };
        enrolment.refresh()?;
        Ok(enrolment)
    }

    /// Reads again what commands write, if it has changed, and says what is wrong: a list that
    /// cannot be read, an agent that could not be written down. Each text is said once, until it is
    /// over.
    pub fn trouble(&self) -> Vec<String> {
        let unread = self.refresh().err().map(|error| chain(&error));
        let mut lists = self.lists();
        let now = [unread, lists.unwritten.clone()];
        let told = std::mem::replace(&mut lists.told, now.clone());
        let new = now.into_iter().zip(told).filter(|(now, told)| now != told);
        new.filter_map(|(now, _)| now).collect()
    }

    /// Where there are two servers nobody is enrolled without the key of its masks; where there is
    /// one, nobody with it.
    pub fn trusting(self, trust: Trust) -> Self {
        Enrolment { trust, ..self }
    }

    /// The keys of these agents' masks, of those that have one.
    pub fn masks(&self, slots: &[u32]) -> Vec<(u32, MaskKey)> {
        let lists = self.lists();
        slots
            .iter()
            .filter_map(|slot| Some((*slot, *lists.masks.get(slot)?)))
            .collect()
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        // Every change is one insertion: a thread that panicked left whole lists.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads again what commands write, if it has changed.
    ///
    /// **Errors**: [`EnrolmentError`]; invitations then stay as they were, and every readable
    /// revocation holds.
    pub fn refresh(&self) -> Result<(), EnrolmentError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let [invitations, revoked] = [INVITATIONS, REVOKED].map(|name| folder.join(name));
        // Before they are read: what is written meanwhile is seen the next time.
        let [invitations_now, revoked_now] = [&invitations, &revoked].map(|path| mark(path));
        let mut lists = self.lists();
        if lists.read[1] != revoked_now {
            let (shut, broken) = readable::<Revoked>(&revoked)?;
            let shut = shut.into_iter().map(|revoked| revoked.slot);
            if let Some(broken) = broken {
                lists.revoked.extend(shut);
                return Err(broken);
            }
            lists.revoked = shut.collect();
            lists.read[1] = revoked_now;
        }
        if lists.read[0] != invitations_now {
            let found: Vec<Invited> = lines(&invitations)?;
            lists.invited.clear();
            for Invited {
                slot,
                token,
                next,
                until,
                again,
            } in found
            {
                let offer = Offer { next, until, again };
                lists
                    .invited
                    .entry(slot)
                    .or_default()
                    .extend(token.map(|token| (token, offer)));
            }
            lists.read[0] = invitations_now;
        }
        Ok(())
    }

    /// Which agent has this key; none if the key is unknown or its agent was shut out.
    pub fn slot(&self, key: &Fingerprint) -> Option<u32> {
        let lists = self.lists();
        lists
            .slots
            .get(key)
            .copied()
            .filter(|slot| !lists.revoked.contains(slot))
    }

    /// An agent that came with a certificate and may take part: it counts as having joined.
    ///
    /// **Errors**: [`Refusal::Revoked`]; [`Refusal::Masks`] where there are two servers and the key
    /// of its masks is not known.
    pub fn certified(&self, slot: u32) -> Result<(), Refusal> {
        let mut lists = self.lists();
        if lists.revoked.contains(&slot) {
            return Err(Refusal::Revoked);
        }
        if self.trust == Trust::TwoServers && !lists.masks.contains_key(&slot) {
            return Err(Refusal::Masks);
        }
        lists.certify(slot);
        Ok(())
    }

    /// The same for one that shows its certificate for the first time, with the key of its masks
    /// where there are two servers. That key is kept, and stays.
    ///
    /// **Errors**: [`Refusal`].
    pub(crate) fn enrol_certified(&self, slot: u32, masks: Option<MaskKey>) -> Result<(), Refusal> {
        if masks.is_some() != (self.trust == Trust::TwoServers) {
            return Err(Refusal::Masks);
        }
        if let Some(masks) = masks {
            let mut lists = self.lists();
            if lists.revoked.contains(&slot) {
                return Err(Refusal::Revoked);
            }
            lists.admits_masks(slot, masks)?;
            if !lists.masks.contains_key(&slot) {
                let line = Enrolled {
                    slot,
                    key: None,
                    masks: Some(masks),
                    token: None,
                };
                self.write(&mut lists, &line)?;
                lists.masks.insert(slot, masks);
            }
        }
        self.certified(slot)
    }

    /// Slots that have a key, or came with a certificate, and were not shut out.
    pub fn count(&self) -> usize {
        let lists = self.lists();
        let shut_out = lists.revoked.iter().filter(|slot| lists.has_joined(**slot));
        lists.keys.len() + lists.certified.len() - shut_out.count()
    }

    /// Which slots these are.
    pub fn slots(&self) -> BTreeSet<u32> {
        let lists = self.lists();
        let known = lists.keys.keys().chain(&lists.certified).copied();
        known.filter(|slot| !lists.revoked.contains(slot)).collect()
    }

    /// How many slots were shut out.
    pub fn shut_out(&self) -> usize {
        self.lists().revoked.len()
    }

    /// Which slots these are, as far as the list could be read.
    pub(crate) fn revoked(&self) -> BTreeSet<u32> {
        self.lists().revoked.clone()
    }

    /// Makes a slot's invitation known, without a file.
    pub fn admit(&self, slot: u32, token: &Token) {
        self.lists()
            .invited
            .entry(slot)
            .or_default()
            .insert(digest(token), Offer::default());
    }

    /// Binds a slot to a key that shows its token. The same key may come again; another one is
    /// refused, unless the invitation was made for it.
    ///
    /// **Errors**: [`Refusal`].
    pub fn enrol(&self, slot: u32, token: &Token, key: Fingerprint) -> Result<(), Refusal> {
        self.enrol_with(slot, token, key, None)
    }

    /// The same with the key of the agent's masks, which stays as it is.
    ///
    /// **Errors**: [`Refusal`]; [`Refusal::Masks`] for a key that is missing, not asked for, or
    /// another agent's.
    pub fn enrol_with(
        &self,
        slot: u32,
        token: &Token,
        key: Fingerprint,
        masks: Option<MaskKey>,
    ) -> Result<(), Refusal> {
        let since_1970 = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        self.enrol_at(slot, token, key, masks, since_1970.as_secs())
    }

    fn enrol_at(
        &self,
        slot: u32,
        token: &Token,
        key: Fingerprint,
        masks: Option<MaskKey>,
        now: u64,
    ) -> Result<(), Refusal> {
        if masks.is_some() != (self.trust == Trust::TwoServers) {
            return Err(Refusal::Masks);
        }
        // Said by `trouble`, which whoever serves asks.
        self.refresh().map_err(|_| Refusal::Unavailable)?;
        let mut lists = self.lists();
        if lists.revoked.contains(&slot) {
            return Err(Refusal::Revoked);
        }
        let token = digest(token);
        let offer = lists
            .invited
            .get(&slot)
            .and_then(|offers| offers.get(&token))
            .copied();
        let other_slot = lists.slots.get(&key).is_some_and(|taken| *taken != slot);
        // Only who shows the token learns more than that it is not invited.
        let offer = offer.ok_or(Refusal::NotInvited)?;
        if other_slot {
            return Err(Refusal::Taken);
        }
        masks.map_or(Ok(()), |masks| lists.admits_masks(slot, masks))?;
        match lists.keys.get(&slot) {
            Some(known) if *known == key => return Ok(()),
            Some(_) if !offer.again || lists.used.contains(&token) => return Err(Refusal::Taken),
            _ => {}
        }
        if offer.until.is_some_and(|until| now > until) {
            return Err(Refusal::Over);
        }
        let token = offer.again.then_some(token);
        let line = Enrolled {
            slot,
            key: Some(key),
            masks,
            token: token.clone(),
        };
        self.write(&mut lists, &line)?;
        lists.bind(slot, key);
        lists.masks.extend(masks.map(|masks| (slot, masks)));
        lists.used.extend(token);
        Ok(())
    }

    /// Writes down who came, before anybody acts upon it.
    fn write(&self, lists: &mut Lists, line: &Enrolled) -> Result<(), Refusal> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let written = append(folder, ENROLLED, std::slice::from_ref(line));
        lists.unwritten = written.err().map(|error| chain(&error));
        match lists.unwritten {
            None => Ok(()),
            Some(_) => Err(Refusal::Unavailable),
        }
    }
}

fn digest(token: &Token) -> String {
    hex(&Sha256::digest(token))
}

/// Writes invitations down beside a server that may be running: of each its slot and its token, if
/// it has one, and what they are good for.
///
/// **Errors**: [`FileError`].
pub fn invite(
    folder: &Path,
    invited: &[(u32, Option<Token>)],
    offer: Offer,
) -> Result<(), FileError> {
    let Offer { next, until, again } = offer;
    let lines: Vec<Invited> = invited
        .iter()
        .map(|(slot, token)| Invited {
            slot: *slot,
            token: token.as_ref().map(digest),
            next,
            until,
            again,
        })
        .collect();
    append(folder, INVITATIONS, &lines)
}

/// Slots that were invited, not shut out, and given no invitation that names this key as the
/// server's next one.
///
/// **Errors**: [`EnrolmentError`].
pub(crate) fn without_key(
    folder: &Path,
    next: Fingerprint,
) -> Result<BTreeSet<u32>, EnrolmentError> {
    let invited: Vec<Invited> = lines(&folder.join(INVITATIONS))?;
    let revoked: BTreeSet<u32> = lines::<Revoked>(&folder.join(REVOKED))?
        .into_iter()
        .map(|line| line.slot)
        .collect();
    let mut without: BTreeSet<u32> = invited
        .iter()
        .map(|line| line.slot)
        .filter(|slot| !revoked.contains(slot))
        .collect();
    let with: BTreeSet<u32> = invited
        .iter()
        .filter(|line| line.next == Some(next))
        .map(|line| line.slot)
        .collect();
    without.retain(|slot| !with.contains(slot));
    Ok(without)
}

/// Shuts a slot out permanently.
///
/// **Errors**: [`FileError`].
pub fn revoke(folder: &Path, slot: u32) -> Result<(), FileError> {
    append(folder, REVOKED, &[Revoked { slot }])
}

/// Slots that are shut out, as far as the list can be read.
///
/// **Errors**: [`EnrolmentError`] if there is a list and it cannot be read at all.
pub fn revoked(folder: &Path) -> Result<BTreeSet<u32>, EnrolmentError> {
    Ok(readable::<Revoked>(&folder.join(REVOKED))?
        .0
        .into_iter()
        .map(|line| line.slot)
        .collect())
}

/// The same, whole or not at all.
///
/// **Errors**: [`EnrolmentError`], for a line that cannot be read too.
pub(crate) fn all_revoked(folder: &Path) -> Result<BTreeSet<u32>, EnrolmentError> {
    Ok(lines::<Revoked>(&folder.join(REVOKED))?
        .into_iter()
        .map(|line| line.slot)
        .collect())
}

/// Appends lines to a file and makes its content durable, but not its name.
fn append_to(path: &Path, lines: &[impl Serialize]) -> std::io::Result<()> {
    let mut text = String::new();
    for line in lines {
        text += &serde_json::to_string(line)?;
        text.push('\n');
    }
    let mut file = OpenOptions::new()
        .append(true)
        .read(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    // Of two who write at one time, neither takes the other's line for one that was cut off.
    // The lock ends with the file.
    file.lock()?;
    let len = file.seek(SeekFrom::End(0))?;
    // A line that was cut off must not swallow the first of these.
    let whole = whole_lines(&file, len)?;
    if whole < len {
        file.set_len(whole)?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// How much of a file of this length is whole lines: its end is read, whatever comes before.
fn whole_lines(file: &File, len: u64) -> std::io::Result<u64> {
    let mut block = [0; BLOCK as usize];
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let block = &mut block[..(end - start) as usize];
        file.read_exact_at(block, start)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn append(folder: &Path, name: &str, lines: &[impl Serialize]) -> Result<(), FileError> {
    let path = folder.join(name);
    append_to(&path, lines).map_err(io_at(&path))?;
    sync_folder(&path)
}

/// All whole lines; what follows the last line feed was cut off while it was written, and was never
/// acted upon.
fn lines<V: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<V>, EnrolmentError> {
    let (found, broken) = readable(path)?;
    broken.map_or(Ok(found), Err)
}

/// All whole lines that can be read, and what is wrong with the first that cannot.
fn readable<V: for<'de> Deserialize<'de>>(
    path: &Path,
) -> Result<(Vec<V>, Option<EnrolmentError>), EnrolmentError> {
    let Some(text) = if_there(read_text(path, BYTES_MAX))? else {
        return Ok((Vec::new(), None));
    };
    let whole = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
    let mut found = Vec::new();
    let mut broken = None;
    for (i, line) in whole.lines().enumerate() {
        match serde_json::from_str(line) {
            Ok(value) => found.push(value),
            Err(error) => {
                broken.get_or_insert(EnrolmentError::Line {
                    path: path.to_owned(),
                    line: i + 1,
                    error,
                });
            }
        }
    }
    Ok((found, broken))
}

#[cfg(test)]
mod tests;
