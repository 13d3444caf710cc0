//! What a person, and whoever watches machines, is told while a server runs. Never who was selected, clipped or zeroed:
//! none of it is releasable.
//!
//! A person gets a line whenever something changed, at most once in a second; `--log json` makes an object of it, with
//! `event` "round", beside the simulator's "note", "done" and "error".

use std::fmt::Write;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde::Serialize;
use sordino_core::federated::exchange::Agreement;
use sordino_host::ledger::Ledger;
use sordino_sim::progress::log::{Log, elapsed};
use sordino_sim::text::chain;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::door::Counts;
use crate::enrolment::Enrolment;
use crate::rounds::Status;

/// What was spent, and how long the last commit took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Books {
    /// ε of all charges so far, at the ledger's δ; infinite if it has no bound there.
    pub epsilon: f64,
    /// The most ε, if there is a budget.
    pub epsilon_max: Option<f64>,
    /// Charges so far.
    pub charges: usize,
    /// Until state, charge and frame of the last round were durable.
    pub commit: Duration,
}

/// What was spent, as the ledger says, for other tasks to read.
#[derive(Clone, Default)]
pub struct Spent(Arc<Mutex<Books>>);

impl Spent {
    /// Reads the ledger after a commit that took so long.
    pub fn tell(&self, ledger: &Ledger, commit: Duration) {
        // A ledger whose loss has no finite bound at its δ has spent more than can be said.
        let epsilon = if ledger.is_empty() { 0.0 } else { ledger.spent().map_or(f64::INFINITY, |spent| spent.epsilon) };
        let (epsilon_max, charges) = (ledger.terms().epsilon_max, ledger.len());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Books { epsilon, epsilon_max, charges, commit };
    }

    /// As it was told last.
    pub fn read(&self) -> Books {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line on standard error. A server does not end because nobody reads it, or because the log is on a full disk.
fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Something that a person wants to know, in the form that was chosen.
pub fn note(text: &str) {
    match Log::chosen() {
        Log::Text => say(text),
        Log::Json => {
            say(&serde_json::json!({"event": "note", "seconds": elapsed().as_secs_f64(), "message": text}).to_string())
        }
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
    epsilon_max: Option<f64>,
    charges: usize,
}

/// A time as a person says it.
fn spoken(ms: u64) -> String {
    match ms / 1000 {
        0..120 => format!("{} s", ms / 1000),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// The line of one moment.
pub fn line(status: &Status, agents: u32, rounds: u32, books: &Books, enrolled: usize) -> String {
    let (round, answered, closes) = (status.round, status.answered, spoken(status.closes_in_ms));
    let (epsilon, of) = (books.epsilon, books.epsilon_max);
    let of = of.map_or(String::new(), |most| format!(" of {most}"));
    let joined = if enrolled < agents as usize { format!(" ({enrolled} have joined)") } else { String::new() };
    format!("round {round}/{rounds}: {answered} of {agents} answered{joined}, closes in {closes}, ε {epsilon:.2}{of}")
}

/// Tells standard error whenever something changed, at most once in a second; looks at what other commands wrote.
pub async fn tell(status: watch::Receiver<Status>, agreement: Agreement, spent: Spent, enrolment: Arc<Enrolment>) {
    let p = agreement.config.parameters();
    let mut told = (u32::MAX, u32::MAX, usize::MAX);
    loop {
        if let Err(error) = enrolment.refresh() {
            note(&chain(&error));
        }
        let (now, enrolled) = (*status.borrow(), enrolment.count());
        let key = (now.round, now.answered, enrolled);
        if key != told {
            tell_once(&now, p.agents, p.rounds, &spent.read(), enrolled);
            told = key;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn tell_once(status: &Status, agents: u32, rounds: u32, books: &Books, enrolled: usize) {
    if Log::chosen() == Log::Text {
        return say(&line(status, agents, rounds, books, enrolled));
    }
    let told = Told {
        event: "round",
        seconds: elapsed().as_secs_f64(),
        round: status.round,
        rounds,
        answered: status.answered,
        agents,
        enrolled,
        closes_in_seconds: status.closes_in_ms as f64 / 1e3,
        epsilon_spent: books.epsilon,
        epsilon_max: books.epsilon_max,
        charges: books.charges,
    };
    match serde_json::to_string(&told) {
        Ok(line) => say(&line),
        Err(error) => note(&format!("a line that cannot be written: {error}")),
    }
}

#[derive(Clone)]
struct Admin {
    status: watch::Receiver<Status>,
    spent: Spent,
    counts: Arc<Counts>,
}

/// Prometheus' text format.
async fn metrics(State(admin): State<Admin>) -> String {
    let (status, books) = (*admin.status.borrow(), admin.spent.read());
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
    let [fine, refused, later] = &admin.counts.requests;
    let mut out = String::new();
    for (name, kind, value) in [
        ("sordino_round", "gauge", f64::from(status.round)),
        ("sordino_answered", "gauge", f64::from(status.answered)),
        ("sordino_round_closes_in_seconds", "gauge", status.closes_in_ms as f64 / 1e3),
        ("sordino_round_seconds", "gauge", status.open_for_ms as f64 / 1e3),
        ("sordino_waiting", "gauge", f64::from(status.waiting)),
        ("sordino_commit_seconds", "gauge", books.commit.as_secs_f64()),
        ("sordino_epsilon_spent", "gauge", books.epsilon),
        ("sordino_epsilon_max", "gauge", books.epsilon_max.unwrap_or(f64::INFINITY)),
        ("sordino_charges_total", "counter", books.charges as f64),
        ("sordino_tls_failures_total", "counter", load(&admin.counts.tls_failures)),
    ] {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "# TYPE {name} {kind}\n{name} {value}");
    }
    let _ = writeln!(out, "# TYPE sordino_uploads_total counter");
    for (result, value) in [("taken", status.taken), ("repeated", status.repeated), ("refused", status.refused)] {
        let _ = writeln!(out, "sordino_uploads_total{{result=\"{result}\"}} {value}");
    }
    let _ = writeln!(out, "# TYPE sordino_requests_total counter");
    for (class, count) in [("2xx", fine), ("4xx", refused), ("5xx", later)] {
        let _ = writeln!(out, "sordino_requests_total{{status=\"{class}\"}} {}", load(count));
    }
    out
}

/// Serves metrics and "alive" in plain HTTP; for a listener that agents do not reach.
pub async fn admin(listener: TcpListener, status: watch::Receiver<Status>, spent: Spent, counts: Arc<Counts>) {
    let app = Router::new().route("/metrics", get(metrics)).route("/healthz", get(async || "ok\n")).with_state(Admin {
        status,
        spent,
        counts,
    });
    if let Err(error) = axum::serve(listener, app).await {
        note(&format!("metrics: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_awaited() {
        let status = Status { round: 17, answered: 183, closes_in_ms: 2_460_000, ..Status::default() };
        let said = line(&status, 200, 40, &Books { epsilon: 4.1, epsilon_max: Some(8.0), ..Books::default() }, 200);
        assert_eq!(said, "round 17/40: 183 of 200 answered, closes in 41 min, ε 4.10 of 8");
        let said = line(&Status::default(), 2, 3, &Books::default(), 1);
        assert_eq!(said, "round 0/3: 0 of 2 answered (1 have joined), closes in 0 s, ε 0.00");
        assert_eq!((spoken(119_000), spoken(7_200_000)), ("119 s".into(), "2 h".into()));
    }
}
