//! What people and monitoring are told while a server runs. Never who was selected, clipped or
//! zeroed: none of it is releasable.
//!
//! A person gets a line when a round begins, when all have joined, when all have answered, and
//! every ten seconds between if something changed. `--log json` writes an object for every change,
//! at most one a second, with `event` "round", and "over" once all rounds are, beside the
//! simulator's "note", "done" and "error"; "stopped" where somebody stopped it.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use sordino_core::federated::exchange::{Agreement, Protocol};
use sordino_experiment::progress::log::{Log, elapsed};
use sordino_experiment::text::significant_up;
use sordino_host::ledger::Ledger;
use sordino_host::signature::Fingerprint;
use tokio::sync::watch;

use crate::enrolment::Enrolment;
use crate::identity::IdentityError;
use crate::rounds::Status;

/// What ε compares: the relation of everything that agents give to a federation.
pub const RELATION: &str = "zero-out: an agent's contributions are used, or count as nothing";

/// Within a round, a person is told changes this often.
const TOLD_AGAIN: Duration = Duration::from_secs(10);

/// What was spent, and how long the last commit took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Books {
    /// ε of all charges so far, at the ledger's δ; infinite if it has no bound there.
    pub epsilon: f64,
    /// The same between any two things that an agent may have sent, where that is known.
    pub replace_epsilon: Option<f64>,
    /// The most ε, if there is a budget.
    pub epsilon_max: Option<f64>,
    /// The δ at which all of them are counted.
    pub delta: f64,
    /// Charges so far.
    pub charges: usize,
    /// How long it took to make state, charge and frame of the last round durable.
    pub commit: Duration,
}

/// What was spent, as the ledger says, for other tasks to read.
#[derive(Clone, Default)]
pub struct Spent(Arc<Mutex<Books>>);

impl Spent {
    /// Reads the ledger after a commit that took this long.
    pub fn tell(&self, ledger: &Ledger, commit: Duration) {
        // A ledger whose loss has no finite bound at its δ has spent more than can be said.
        let epsilon = if ledger.is_empty() {
            0.0
        } else {
            ledger.spent().map_or(f64::INFINITY, |spent| spent.epsilon)
        };
        let replace_epsilon = ledger.between().unwrap_or(Some(f64::INFINITY));
        let epsilon_max = ledger.terms().epsilon_max;
        let delta = ledger.terms().delta;
        let charges = ledger.len();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Books {
            epsilon,
            replace_epsilon,
            epsilon_max,
            delta,
            charges,
            commit,
        };
    }

    /// What was told last.
    pub fn read(&self) -> Books {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a person is told of a rotation.
pub fn told_of_key(changed: Result<Fingerprint, &IdentityError>) {
    note(&match changed {
        Ok(now) => format!("connections are shown the key {now} from now on"),
        Err(error) => format!("the key is as before: {error}"),
    });
}

/// What a person is told of a release of a campaign, once it is charged: of how many answers it is
/// made, and what is spent. A round that nobody answers is charged like any other.
pub fn told_of_release(release: u32, protocol: &Protocol, answers: u32, books: &Books) {
    let Protocol::Campaign(_) = protocol else {
        return;
    };
    let agents = protocol.agents();
    event(
        "release",
        &of_release((release, protocol.epochs()), (answers, agents), books),
        [
            ("release", release.into()),
            ("contributed", answers.into()),
            ("agents", agents.into()),
            ("epsilon_spent", books.epsilon.into()),
            ("replace_epsilon_spent", books.replace_epsilon.into()),
            ("delta", books.delta.into()),
            ("relation", RELATION.into()),
        ],
    );
}

fn of_release((release, of): (u32, u32), (answers, agents): (u32, u32), books: &Books) -> String {
    let spent = significant_up(books.epsilon, 3);
    let delta = books.delta;
    let made = format!(
        "release {release} of {of} is made of the contributions of {answers} of {agents} agents; ε {spent} is spent, at δ = {delta}"
    );
    if 2 * u64::from(answers) >= u64::from(agents) {
        return made;
    }
    format!(
        "{made}; warning: so few make a file of little but noise, and cost as much as all: a longer --deadline gives agents \
         time for their evaluations, and --min-agents holds a release until so many have contributed; an agent whose own limit \
         admits no more answers without contributing"
    )
}

/// A line on standard error. A server does not end because nobody reads it, or because the log is
/// on a full disk.
fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// A note for people, in the format that was chosen.
pub fn note(text: &str) {
    event("note", text, []);
}

/// Something that happened: a line for people, or an object with its name, that line and these
/// fields.
pub fn event<const N: usize>(name: &str, text: &str, fields: [(&str, serde_json::Value); N]) {
    if Log::chosen() == Log::Text {
        return say(text);
    }
    let seconds = elapsed().as_secs_f64();
    let mut told = serde_json::json!({"event": name, "seconds": seconds, "message": text});
    for (field, value) in fields {
        told[field] = value;
    }
    say(&told.to_string());
}

/// The end of a server's work: nothing for people, who read it among the results.
pub fn done(text: &str, folder: &Path) {
    if Log::chosen() == Log::Json {
        let out = folder.display().to_string();
        event("done", text.trim_end(), [("out", out.into())]);
    }
}

/// The round that is open, for machines.
#[derive(Serialize)]
struct Told<'a> {
    event: &'a str,
    seconds: f64,
    round: u32,
    rounds: u32,
    answered: u32,
    agents: u32,
    enrolled: usize,
    closes_in_seconds: f64,
    epsilon_spent: f64,
    replace_epsilon_spent: Option<f64>,
    epsilon_max: Option<f64>,
    delta: f64,
    relation: &'a str,
    charges: usize,
}

/// A time as a person says it, to the nearest unit.
pub(crate) fn spoken(ms: u64) -> String {
    match ms.saturating_add(500) / 1000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h", (seconds + 1800) / 3600),
    }
}

/// Since when agents that have fetched the last broadcast are counted, in words.
pub(crate) fn fetched_since(was_over: bool) -> &'static str {
    if was_over {
        "since this server started, after the end; whoever had it before does not come again"
    } else {
        "so far"
    }
}

/// The line of one moment.
pub fn line(status: &Status, agents: u32, rounds: u32, books: &Books, enrolled: usize) -> String {
    let round = status.round;
    let answered = status.answered;
    let closes = spoken(status.closes_in_ms);
    // Never less than was spent.
    let epsilon = significant_up(books.epsilon, 3);
    let of = books
        .epsilon_max
        .map_or(String::new(), |most| format!(" of {most}"));
    if round == rounds {
        return format!(
            "all {rounds} rounds are over, ε {epsilon}{of}; {answered} of {agents} have fetched the last broadcast {}",
            fetched_since(status.was_over)
        );
    }
    let joined = if enrolled < agents as usize {
        format!(" ({enrolled} have joined)")
    } else {
        String::new()
    };
    // People count from 1.
    let round = round + 1;
    let next = if status.awaits_helper {
        "its helper's answer is awaited".to_owned()
    } else {
        format!("closes in {closes}")
    };
    format!(
        "round {round}/{rounds}: {answered} of {agents} answered{joined}, {next}, ε {epsilon}{of}"
    )
}

/// What was told, and how long ago.
#[derive(Clone, Copy)]
struct Last {
    round: u32,
    answered: u32,
    enrolled: usize,
    at: Instant,
}

/// Whether a person wants a line about this moment. The rest is told to machines, which read every
/// change.
fn is_worth_a_line(
    status: &Status,
    agents: u32,
    rounds: u32,
    enrolled: usize,
    last: &Last,
) -> bool {
    let all_there = agents as usize;
    let all_answered = agents;
    status.round != last.round
        || (enrolled == all_there && last.enrolled != all_there)
        || (status.answered == all_answered && last.answered != all_answered)
        // In the last round agents only fetch the last broadcast.
        || (status.round < rounds && last.at.elapsed() >= TOLD_AGAIN)
}

/// Tells standard error what has changed ([`self`]); looks every second, also at what other
/// commands wrote.
pub async fn tell(
    mut status: watch::Receiver<Status>,
    agreement: Agreement,
    spent: Spent,
    enrolment: Arc<Enrolment>,
) {
    let agents = agreement.protocol.agents();
    let rounds = agreement.protocol.epochs();
    let mut told: Option<Last> = None;
    let mut held: u64 = 0;
    // Before the first announcement there is no round to tell of.
    if status.wait_for(|now| !now.is_waiting).await.is_err() {
        return;
    }
    loop {
        enrolment.trouble().iter().for_each(|told| note(told));
        let now = *status.borrow_and_update();
        let enrolled = enrolment.count();
        if std::mem::replace(&mut held, now.held) < now.held {
            note(&format!(
                "round {} is held: {} of at least {} agents have contributed; nothing is released or charged, and the round stays open for \
                 another deadline",
                now.round + 1,
                now.held_with,
                now.needed
            ));
        }
        let tells = told.is_none_or(|last| {
            let same =
                (now.round, now.answered, enrolled) == (last.round, last.answered, last.enrolled);
            !same
                && (Log::chosen() == Log::Json
                    || is_worth_a_line(&now, agents, rounds, enrolled, &last))
        });
        if tells {
            tell_once(&now, agents, rounds, &spent.read(), enrolled);
            told = Some(Last {
                round: now.round,
                answered: now.answered,
                enrolled,
                at: Instant::now(),
            });
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn tell_once(status: &Status, agents: u32, rounds: u32, books: &Books, enrolled: usize) {
    if Log::chosen() == Log::Text {
        return say(&line(status, agents, rounds, books, enrolled));
    }
    let told = Told {
        event: if status.round == rounds {
            "over"
        } else {
            "round"
        },
        seconds: elapsed().as_secs_f64(),
        round: status.round,
        rounds,
        answered: status.answered,
        agents,
        enrolled,
        closes_in_seconds: status.closes_in_ms as f64 / 1e3,
        epsilon_spent: books.epsilon,
        replace_epsilon_spent: books.replace_epsilon,
        epsilon_max: books.epsilon_max,
        delta: books.delta,
        relation: RELATION,
        charges: books.charges,
    };
    match serde_json::to_string(&told) {
        Ok(line) => say(&line),
        Err(error) => note(&format!("a line that cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_awaited() {
        let status = Status {
            round: 17,
            answered: 183,
            closes_in_ms: 2_460_000,
            ..Status::default()
        };
        let said = line(
            &status,
            200,
            40,
            &Books {
                epsilon: 4.1,
                epsilon_max: Some(8.0),
                ..Books::default()
            },
            200,
        );
        assert_eq!(
            said,
            "round 18/40: 183 of 200 answered, closes in 41 min, ε 4.10 of 8"
        );
        let said = line(&Status::default(), 2, 3, &Books::default(), 1);
        assert_eq!(
            said,
            "round 1/3: 0 of 2 answered (1 have joined), closes in 0 s, ε 0"
        );
        assert_eq!(
            (spoken(119_000), spoken(7_200_000)),
            ("119 s".into(), "2 h".into())
        );
        assert_eq!(
            (spoken(599_600), spoken(119_400)),
            ("10 min".into(), "119 s".into())
        );
        let over = Status {
            round: 3,
            answered: 1,
            closes_in_ms: 5000,
            ..Status::default()
        };
        let said = line(
            &over,
            2,
            3,
            &Books {
                epsilon: 1.0,
                epsilon_max: Some(4.0),
                ..Books::default()
            },
            2,
        );
        assert_eq!(
            said,
            "all 3 rounds are over, ε 1.00 of 4; 1 of 2 have fetched the last broadcast so far"
        );
        // A server that starts after the end does not know who has it: 0 of 2 looked like nobody.
        let again = Status {
            answered: 0,
            was_over: true,
            ..over
        };
        let said = line(&again, 2, 3, &Books::default(), 2);
        assert!(
            said.ends_with("0 of 2 have fetched the last broadcast since this server started, after the end; whoever had it before does not come again"),
            "{said}"
        );
    }

    /// A campaign of which no site was in time spent all its ε and said "done".
    #[test]
    fn a_release_says_of_how_many_answers_it_is_made() {
        let books = Books {
            epsilon: 0.6842,
            delta: 1e-5,
            ..Books::default()
        };
        assert_eq!(
            of_release((1, 2), (3, 5), &books),
            "release 1 of 2 is made of the contributions of 3 of 5 agents; ε 0.685 is spent, at δ = 0.00001"
        );
        let of_none = of_release((2, 2), (0, 3), &books);
        assert!(
            of_none.contains("0 of 3 agents") && of_none.contains("warning: so few make a file"),
            "{of_none}"
        );
    }

    /// The ledger said 2.041 and the last line "ε 2.04".
    #[test]
    fn epsilon_that_was_spent_is_never_told_smaller_than_it_is() {
        let books = Books {
            epsilon: 2.041,
            epsilon_max: Some(4.0),
            ..Books::default()
        };
        let over = Status {
            round: 3,
            ..Status::default()
        };
        assert!(line(&over, 2, 3, &books, 2).contains("ε 2.05 of 4"));
    }

    #[test]
    fn a_person_gets_few_lines_and_all_that_matter() {
        let ago = |seconds| {
            Instant::now()
                .checked_sub(Duration::from_secs(seconds))
                .unwrap()
        };
        let last = |round, answered, enrolled| Last {
            round,
            answered,
            enrolled,
            at: ago(2),
        };
        let now = |round, answered| Status {
            round,
            answered,
            ..Status::default()
        };
        let worth = |status, enrolled, last| is_worth_a_line(&status, 9, 40, enrolled, &last);
        assert!(worth(now(1, 0), 9, last(0, 9, 9)), "a round begins");
        assert!(worth(now(0, 2), 9, last(0, 2, 8)), "all have joined");
        assert!(worth(now(0, 9), 9, last(0, 8, 9)), "all have answered");
        assert!(
            worth(now(40, 9), 9, last(40, 8, 9)),
            "all have the last broadcast"
        );
        assert!(!worth(now(0, 3), 7, last(0, 2, 6)), "one more of many");
        assert!(
            worth(
                now(0, 3),
                7,
                Last {
                    at: ago(10),
                    ..last(0, 2, 6)
                }
            ),
            "after a while"
        );
        assert!(
            !worth(
                now(40, 3),
                9,
                Last {
                    at: ago(10),
                    ..last(40, 2, 9)
                }
            ),
            "some more have the last broadcast"
        );
    }
}
