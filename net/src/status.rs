//! How a federation stands, for the person who operates it: on a terminal, as JSON, on one page of
//! the admin port.
//!
//! A running server writes `status.json` into its folder whenever something changes, so nobody has
//! to reach it. Who has joined and how many have answered is for the operator alone: where rounds
//! do not close early, no agent learns it.

use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use sordino_core::federated::exchange::Agreement;
use sordino_experiment::text::{chain, significant_up};
use sordino_host::files::{FileError, if_there, read_text, write_privately};
use sordino_host::ledger::{Contents, LedgerError};
use thiserror::Error;
use tokio::sync::watch;

use crate::enrolment::{self, Enrolment, EnrolmentError};
use crate::folder::{self, Folder, FolderError, LEDGER};
use crate::identity::{io_at, is_locked};
use crate::progress::{Books, RELATION, Spent, fetched_since, note, spoken};
use crate::rounds::Status;

/// The file in a server's folder.
pub const FILE: &str = "status.json";
/// It is read up to this length: a million agents' numbers.
const BYTES_MAX: u64 = 16 << 20;
/// A server that has written nothing for so long is not running, or stands still.
const SILENT_AFTER: Duration = Duration::from_secs(90);
/// It is written again after so many seconds, if nothing changes.
const WRITTEN_AGAIN: u64 = 30;
/// or if the end of the round has moved by more seconds than rounding moves it.
const MOVES_MAX: u64 = 2;
/// The most slots that are named.
const NAMED_MAX: usize = 20;

/// How a federation stands at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// When this was written, in seconds since 1970.
    pub written_at: u64,
    /// The round that is open; the number of rounds when all are over.
    pub round: u32,
    /// Rounds of the federation, of a campaign its releases.
    pub rounds: u32,
    /// Whether no round is open, because somebody is waited for.
    pub is_waiting: bool,
    /// When the open round closes, in seconds since 1970.
    pub closes_at: u64,
    /// Agents that are enrolled, N.
    pub agents: u32,
    /// Agents that have answered the open round.
    pub answered: u32,
    /// All rounds were over when the server started, so that agents that had the last release
    /// before do not count among those that have answered.
    #[serde(default)]
    pub was_over: bool,
    /// The round is closed, and waits for the answer of the server's helper.
    #[serde(default)]
    pub awaits_helper: bool,
    /// Slots that have joined.
    pub joined: BTreeSet<u32>,
    /// Slots that were shut out.
    pub revoked: BTreeSet<u32>,
    /// ε of all releases so far at δ, which compares what an agent sent with nothing.
    pub epsilon_spent: f64,
    /// The same between any two things that it may have sent, where that is known.
    #[serde(default)]
    pub replace_epsilon_spent: Option<f64>,
    /// The most ε of all releases.
    pub epsilon_max: Option<f64>,
    /// The δ at which both are counted.
    pub delta: f64,
    /// Releases that were charged.
    pub charges: usize,
    /// Whether a process has the folder, where somebody has looked; not written.
    #[serde(skip)]
    pub runs: Option<bool>,
    /// Why nothing more may be released from the folder, where somebody has looked; not written.
    #[serde(skip)]
    pub stopped: Option<String>,
}

/// Why nobody can say how a folder stands.
#[derive(Debug, Error)]
pub enum LookError {
    /// A file that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A folder that cannot be read, or holds something else: nobody knows what it plans.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A list of those shut out that cannot be read whole: it may name anybody.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    /// A ledger that is none.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Whether there is a ledger with anything in it.
fn is_begun(ledger: &Path) -> Result<bool, FileError> {
    match ledger.metadata() {
        Ok(found) => Ok(found.len() > 0),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_at(ledger)(error)),
    }
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

impl Standing {
    /// The standing of now.
    pub fn now(
        status: &Status,
        agreement: &Agreement,
        books: &Books,
        enrolment: &Enrolment,
    ) -> Self {
        let now = SystemTime::now();
        Standing {
            written_at: seconds(now),
            round: status.round,
            rounds: agreement.protocol.epochs(),
            is_waiting: status.is_waiting,
            closes_at: seconds(now + status.closes_in()),
            agents: agreement.protocol.agents(),
            answered: status.answered,
            was_over: status.was_over,
            awaits_helper: status.awaits_helper,
            joined: enrolment.slots(),
            // What the server goes by; a list that cannot be read is told by its lines.
            revoked: enrolment.revoked(),
            epsilon_spent: books.epsilon,
            replace_epsilon_spent: books.replace_epsilon,
            epsilon_max: books.epsilon_max,
            delta: agreement.announced.delta,
            charges: books.charges,
            runs: None,
            stopped: None,
        }
    }

    /// Writes it into a server's folder.
    ///
    /// **Errors**: [`FileError`].
    pub fn write(&self, folder: &Path) -> Result<(), FileError> {
        let text = serde_json::to_string(self).unwrap_or_default();
        write_privately(&folder.join(FILE), format!("{text}\n").as_bytes())
    }

    /// What a server wrote last; nothing if it has written nothing yet.
    ///
    /// **Errors**: [`FileError`], or what is wrong with the file.
    pub fn read(folder: &Path) -> Result<Option<Self>, String> {
        let text = if_there(read_text(&folder.join(FILE), BYTES_MAX));
        let Some(text) = text.map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("{FILE}: {error}"))
    }

    /// Looks whether a process has the folder that this was read from, which no clock tells, and
    /// whether it stopped for good. Where none has it, the open round, what was charged and who is
    /// shut out are what `round.bin`, the ledger and the list say: a server that was killed may
    /// have made a release after it wrote this.
    ///
    /// **Errors**: [`LookError`]; [`LookError::Folder`] where no process has the folder and it is
    /// damaged.
    pub fn looked(mut self, folder: &Path) -> Result<Self, LookError> {
        let runs = is_locked(folder)?;
        self.stopped = folder::why_stopped(folder)?;
        let ledger = folder.join(LEDGER);
        if !runs {
            self.revoked = enrolment::all_revoked(folder)?;
            self.joined.retain(|slot| !self.revoked.contains(slot));
        }
        if !runs && is_begun(&ledger)? {
            // What `round.bin` plans is charged, whether its server came to the ledger or not.
            let found = Folder::open(folder)?.found::<IgnoredAny>()?;
            if let Some(open) = found.as_ref().map(|found| found.open.round)
                && open > self.round
            {
                (self.round, self.answered) = (open, 0);
            }
            let contents = match found.and_then(|found| found.open.planned) {
                Some(planned) => Contents::read(&ledger, Some(&planned))?,
                None => Contents::counted(&ledger)?,
            };
            let events: Vec<_> = contents.events().copied().collect();
            let between = contents.between(&events)?;
            let spent = contents.spent;
            self.epsilon_spent = self.epsilon_spent.max(spent.epsilon);
            self.replace_epsilon_spent = match (self.replace_epsilon_spent, between) {
                (Some(written), Some(counted)) => Some(written.max(counted)),
                (written, counted) => written.or(counted),
            };
            self.charges = self.charges.max(spent.charges as usize);
        }
        self.runs = Some(runs);
        Ok(self)
    }

    /// How long ago this was written.
    fn age(&self) -> Duration {
        Duration::from_secs(seconds(SystemTime::now()).saturating_sub(self.written_at))
    }

    /// For how long nothing was written, if that is too long for a server that runs.
    pub fn silent(&self) -> Option<Duration> {
        Some(self.age()).filter(|age| *age > SILENT_AFTER)
    }

    /// How far this is in the future, if that is too far for two clocks: one of them was set.
    fn ahead(&self) -> Option<Duration> {
        let ahead = self.written_at.saturating_sub(seconds(SystemTime::now()));
        Some(Duration::from_secs(ahead)).filter(|ahead| *ahead > SILENT_AFTER)
    }

    /// Whether this is to be written, because it differs from what was `written`, or that is old.
    /// The end of a round moves where the clock was set, and where the round is held.
    fn is_due(&self, written: &Standing) -> bool {
        let same = Standing {
            written_at: written.written_at,
            closes_at: written.closes_at,
            ..self.clone()
        };
        let is_open = self.closes_at > self.written_at;
        let moved = self.closes_at.abs_diff(written.closes_at) > MOVES_MAX;
        let passed = self.written_at.abs_diff(written.written_at);
        same != *written || (is_open && moved) || passed >= WRITTEN_AGAIN
    }

    /// What is said of the server; nothing of one that seems to run.
    fn server(&self) -> Option<String> {
        let ago = time(self.age());
        let word = match self.ahead() {
            Some(ahead) => format!("written {} ahead of this clock", time(ahead)),
            None => format!("written {ago} ago"),
        };
        let is_odd = self.silent().or(self.ahead()).is_some();
        match self.runs {
            Some(false) if self.round == self.rounds => Some(format!("has ended: this was {word}")),
            Some(false) => Some(format!("no server runs in this folder: this was {word}")),
            Some(true) if is_odd => Some(format!(
                "{word}, and a process has this folder: does the server stand still?"
            )),
            None if is_odd && self.round == self.rounds => {
                Some(format!("has ended: this was {word}"))
            }
            None if is_odd => Some(format!("{word}: does the server run?")),
            _ => None,
        }
    }

    /// As programs read it: with how old it is, and whether that is too old for a server that runs.
    ///
    /// **Errors**: none for numbers that JSON can hold.
    pub fn to_json(&self) -> serde_json::Result<serde_json::Value> {
        let mut told = serde_json::to_value(self)?;
        told["written_seconds_ago"] = self.age().as_secs().into();
        let is_odd = self.silent().or(self.ahead()).is_some();
        told["is_silent"] = (is_odd || self.runs == Some(false)).into();
        told["is_running"] = self.runs.into();
        told["stopped"] = self.stopped.as_deref().into();
        Ok(told)
    }

    /// One page for a browser, which asks again by itself.
    pub fn page(&self) -> String {
        let text = self.to_string().replace('&', "&amp;").replace('<', "&lt;");
        format!(
            "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"5\"><title>sordino</title>\
             <body style=\"font:16px/1.5 monospace;margin:2em\"><pre>{text}</pre>"
        )
    }
}

/// What a standing is made of, while a server runs.
#[derive(Clone)]
pub struct Watched {
    /// The open round.
    pub status: watch::Receiver<Status>,
    /// What was agreed.
    pub agreement: Agreement,
    /// What was spent.
    pub spent: Spent,
    /// Who has joined.
    pub enrolment: Arc<Enrolment>,
    /// The server's folder.
    pub folder: PathBuf,
}

impl Watched {
    /// The standing of now.
    pub fn standing(&self) -> Standing {
        let status = *self.status.borrow();
        Standing::now(
            &status,
            &self.agreement,
            &self.spent.read(),
            &self.enrolment,
        )
    }

    /// Writes the standing into the folder whenever it has changed, and now and then: whoever reads
    /// it sees that the server runs.
    pub async fn keep(self) {
        let mut written: Option<Standing> = None;
        let mut told: bool = false;
        loop {
            let now = self.standing();
            if written.as_ref().is_none_or(|written| now.is_due(written)) {
                let folder = self.folder.clone();
                let standing = now.clone();
                let done = tokio::task::spawn_blocking(move || standing.write(&folder)).await;
                // A full disk must not end a server over this.
                if let (Ok(Err(error)), false) = (done, told) {
                    told = true;
                    note(&chain(&error));
                }
                written = Some(now);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// A length of time in words.
fn time(time: Duration) -> String {
    spoken(time.as_millis() as u64)
}

/// Slots in order as ranges, both ends included.
fn ranges(slots: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for slot in slots {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(slot) => *last = slot,
            _ => ranges.push((slot, slot)),
        }
    }
    ranges
}

/// The slots below `agents` that are not among these, as ranges: as much work as there are known
/// slots, however many agents are said to be.
fn missing(known: &BTreeSet<u32>, agents: u32) -> Vec<(u32, u32)> {
    let mut missing = Vec::new();
    let mut next = 0;
    for (first, last) in ranges(known.range(..agents).copied()) {
        if next < first {
            missing.push((next, first - 1));
        }
        // Below `agents`.
        next = last + 1;
    }
    if next < agents {
        missing.push((next, agents - 1));
    }
    missing
}

/// Slots for people, not too many ranges of them.
fn shown(ranges: &[(u32, u32)]) -> String {
    let more = ranges.len().saturating_sub(NAMED_MAX);
    let named = ranges.iter().take(NAMED_MAX).map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first} to {last}")
        }
    });
    named.collect::<Vec<String>>().join(", ")
        + &if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        }
}

/// For people, line by line.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standing {
            round,
            rounds,
            agents,
            answered,
            ..
        } = self;
        let left = self.closes_at.saturating_sub(seconds(SystemTime::now()));
        let left = spoken(left.saturating_mul(1000));
        let is_gone = self.runs == Some(false);
        let open = round.saturating_add(1);
        if let Some(why) = &self.stopped {
            let last = open.min(*rounds);
            writeln!(f, "round     {last} of {rounds}: stopped for good: {why}")?;
        } else if is_gone && self.is_waiting {
            writeln!(f, "round     none is open")?;
        } else if is_gone && round < rounds {
            writeln!(
                f,
                "round     {open} of {rounds}: {answered} of {agents} had answered; it begins again with a server"
            )?;
        } else if self.is_waiting {
            writeln!(f, "round     none is open: agents are waited for")?;
        } else if round == rounds {
            writeln!(
                f,
                "round     all {rounds} are over; {answered} of {agents} have fetched the last release {}",
                fetched_since(self.was_over)
            )?;
        } else if self.awaits_helper {
            writeln!(
                f,
                "round     {open} of {rounds}: {answered} of {agents} have answered, and it is closed; its helper's answer is awaited"
            )?;
        } else {
            writeln!(
                f,
                "round     {open} of {rounds}: {answered} of {agents} have answered, closes in {left}"
            )?;
        }
        writeln!(
            f,
            "joined    {} of {agents}: {}",
            self.joined.len(),
            shown(&ranges(self.joined.iter().copied()))
        )?;
        let known = self.joined.union(&self.revoked).copied().collect();
        let missing = shown(&missing(&known, *agents));
        if !missing.is_empty() {
            writeln!(f, "missing   {missing}")?;
        }
        if !self.revoked.is_empty() {
            let revoked = ranges(self.revoked.iter().copied());
            writeln!(f, "shut out  {}", shown(&revoked))?;
        }
        let most = self
            .epsilon_max
            .map_or(String::new(), |most| format!(" of {most}"));
        let spent = significant_up(self.epsilon_spent, 3);
        let between = self.replace_epsilon_spent.map_or(String::new(), |between| {
            let between = significant_up(between, 3);
            format!("; between two things that one may have given ε = {between}")
        });
        writeln!(
            f,
            "spent     ε = {spent}{most} at δ = {}, in {} release{}",
            self.delta,
            self.charges,
            if self.charges == 1 { "" } else { "s" }
        )?;
        writeln!(f, "          {RELATION}{between}")?;
        match self.server() {
            Some(said) => writeln!(f, "server    {said}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing() -> Standing {
        Standing {
            written_at: seconds(SystemTime::now()),
            round: 1,
            rounds: 2,
            is_waiting: false,
            closes_at: seconds(SystemTime::now()) + 3600,
            agents: 50,
            answered: 31,
            was_over: false,
            awaits_helper: false,
            joined: (0..31).chain([40]).collect(),
            revoked: [45].into(),
            epsilon_spent: 0.7124,
            replace_epsilon_spent: Some(1.4641),
            epsilon_max: Some(1.0),
            delta: 1e-5,
            charges: 1,
            runs: None,
            stopped: None,
        }
    }

    /// The page said for 90 s that a round of a server that was gone closes, and for ever if the
    /// last word was from the future.
    #[test]
    fn a_server_that_is_gone_and_one_of_another_clock_are_told() {
        let dead = Standing {
            runs: Some(false),
            ..standing()
        };
        let said = dead.to_string();
        assert!(said.contains("server    no server runs in this folder: this was written "));
        assert!(
            said.contains("31 of 50 had answered") && !said.contains("closes in"),
            "{said}"
        );
        let stopped = Standing {
            stopped: Some("a release was refused".into()),
            ..dead.clone()
        };
        let told = stopped.to_string();
        assert!(
            told.contains("2 of 2: stopped for good: a release was refused")
                && !told.contains("begins again"),
            "{told}"
        );
        assert_eq!(
            stopped.to_json().unwrap()["stopped"],
            "a release was refused"
        );
        assert_eq!(dead.to_json().unwrap()["is_running"], false);
        assert_eq!(dead.to_json().unwrap()["is_silent"], true);
        let waited = Standing {
            is_waiting: true,
            ..dead
        };
        assert!(waited.to_string().contains("round     none is open\n"));
        let closed = Standing {
            runs: Some(true),
            awaits_helper: true,
            ..standing()
        };
        let said = closed.to_string();
        assert!(
            said.contains("and it is closed; its helper's answer is awaited")
                && !said.contains("closes in"),
            "{said}"
        );
        let ahead = Standing {
            written_at: standing().written_at + 3600,
            ..standing()
        };
        let said = ahead.to_string();
        assert!(
            said.contains("written 60 min ahead of this clock: does the server run?"),
            "{said}"
        );
        assert_eq!(ahead.to_json().unwrap()["is_silent"], true);
        let runs = Standing {
            runs: Some(true),
            ..standing()
        };
        assert!(!runs.to_string().contains("server "), "negative control");
    }

    /// A clock that was put back by an hour: the end of the round was an hour too late until the
    /// next thing happened, and nothing was written for that hour.
    #[test]
    fn what_was_written_by_another_clock_is_written_again() {
        let before = standing();
        let back = Standing {
            written_at: before.written_at - 3600,
            closes_at: before.closes_at - 3600,
            ..before.clone()
        };
        assert!(back.is_due(&before) && before.is_due(&back));
        let held = Standing {
            closes_at: before.closes_at + 60,
            ..before.clone()
        };
        assert!(held.is_due(&before));
        let later = Standing {
            written_at: before.written_at + 5,
            closes_at: before.closes_at + 1,
            ..before.clone()
        };
        assert!(!later.is_due(&before), "negative control");
    }

    #[test]
    fn an_operator_reads_who_is_missing_and_what_is_spent() {
        let said = standing().to_string();
        for part in [
            "round     2 of 2: 31 of 50 have answered, closes in 60 min",
            "joined    32 of 50: 0 to 30, 40",
            "missing   31 to 39, 41 to 44, 46 to 49",
            "shut out  45",
            "spent     ε = 0.713 of 1 at δ = 0.00001, in 1 release\n",
            "  zero-out: an agent's contributions are used, or count as nothing; between two things that one may have given ε = 1.47\n",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
        assert!(!said.contains("does the server run"));
        let told = standing().to_json().unwrap();
        assert_eq!(told["is_silent"], false);
        let old = Standing {
            written_at: standing().written_at - 200,
            ..standing()
        };
        assert!(
            old.to_string()
                .contains("written 3 min ago: does the server run?")
        );
        let told = old.to_json().unwrap();
        assert_eq!(told["is_silent"], true);
        assert!(told["written_seconds_ago"].as_u64() >= Some(200), "{told}");
        assert_eq!(told["round"], 1, "programs count from 0");
        let over = Standing {
            round: 2,
            written_at: 0,
            ..standing()
        };
        assert!(
            over.to_string()
                .contains("all 2 are over; 31 of 50 have fetched the last release so far")
        );
        assert!(over.to_string().contains("has ended: this was written"));
        let again = Standing {
            answered: 0,
            was_over: true,
            ..over
        };
        assert!(
            again
                .to_string()
                .contains("0 of 50 have fetched the last release since this server started")
        );
        let nobody = Standing {
            is_waiting: true,
            joined: BTreeSet::new(),
            ..standing()
        };
        assert!(nobody.to_string().contains("none is open"));
        let scattered = Standing {
            joined: (0..50).filter(|slot| slot % 2 == 0).collect(),
            ..standing()
        };
        assert!(scattered.to_string().contains(" and 5 more"), "{scattered}");
        assert!(standing().page().contains("http-equiv=\"refresh\""));
    }

    /// What an address answers is a stranger's: 2³² agents took minutes, and a late end overflowed.
    #[test]
    fn a_standing_of_any_numbers_is_shown_at_once() {
        let absurd = Standing {
            round: u32::MAX,
            closes_at: u64::MAX,
            agents: u32::MAX,
            joined: [0, 1, u32::MAX].into(),
            revoked: [7].into(),
            ..standing()
        };
        let said = absurd.to_string();
        assert!(said.contains("round     4294967295 of 2: "), "{said}");
        assert!(
            said.contains("missing   2 to 6, 8 to 4294967294\n"),
            "{said}"
        );
        assert_eq!(missing(&BTreeSet::new(), 0), []);
        assert_eq!(missing(&(0..4).collect(), 4), []);
        assert_eq!(missing(&[2].into(), 4), [(0, 1), (3, 3)]);
    }

    #[test]
    fn what_was_written_comes_back_and_what_is_none_is_refused() {
        let folder =
            std::env::temp_dir().join(format!("sordino-net-status-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(Standing::read(&folder), Ok(None));
        standing().write(&folder).unwrap();
        assert_eq!(
            Standing::read(&folder).unwrap().map(|read| read.joined),
            Some(standing().joined)
        );
        std::fs::write(folder.join(FILE), "{}").unwrap();
        assert!(
            Standing::read(&folder)
                .unwrap_err()
                .starts_with("status.json: ")
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
