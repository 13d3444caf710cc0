//! What a person, and whoever watches machines, is told while a server runs. Never who was selected, clipped or zeroed:
//! none of it is releasable.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use sordino_core::federated::exchange::Agreement;
use sordino_host::ledger::Ledger;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::door::Counts;
use crate::enrolment::Enrolment;
use crate::rounds::Status;

/// What was spent, as the ledger says, for other tasks to read.
#[derive(Clone)]
pub struct Spent(Arc<Mutex<(f64, Option<f64>, usize)>>);

impl Spent {
    /// As this ledger has it.
    pub fn new(ledger: &Ledger) -> Self {
        let spent = Spent(Arc::new(Mutex::new((0.0, ledger.terms().epsilon_max, 0))));
        spent.tell(ledger);
        spent
    }

    /// Reads the ledger again.
    pub fn tell(&self, ledger: &Ledger) {
        // A ledger whose loss has no finite bound at its δ has spent more than can be said.
        let epsilon = if ledger.is_empty() { 0.0 } else { ledger.spent().map_or(f64::INFINITY, |spent| spent.epsilon) };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (epsilon, ledger.terms().epsilon_max, ledger.len());
    }

    /// (ε spent, ε at most, charges).
    pub fn read(&self) -> (f64, Option<f64>, usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
pub fn line(status: &Status, agents: u32, rounds: u32, spent: (f64, Option<f64>, usize), enrolled: usize) -> String {
    let (round, answered, closes) = (status.round, status.answered, spoken(status.closes_in_ms));
    let (epsilon, most, _) = spent;
    let of = most.map_or(String::new(), |most| format!(" of {most}"));
    let joined = if enrolled < agents as usize { format!(" ({enrolled} have joined)") } else { String::new() };
    format!("round {round}/{rounds}: {answered} of {agents} answered{joined}, closes in {closes}, ε {epsilon:.2}{of}")
}

/// Tells standard error whenever something changed, at most once in a second; looks at what other commands wrote.
pub async fn tell(status: watch::Receiver<Status>, agreement: Agreement, spent: Spent, enrolment: Arc<Enrolment>) {
    let p = agreement.config.parameters();
    let mut told = (u32::MAX, u32::MAX, usize::MAX);
    loop {
        if let Err(error) = enrolment.refresh() {
            eprintln!("sordino-net: {error}");
        }
        let (now, enrolled) = (*status.borrow(), enrolment.count());
        let key = (now.round, now.answered, enrolled);
        if key != told {
            eprintln!("{}", line(&now, p.agents, p.rounds, spent.read(), enrolled));
            told = key;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
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
    let (status, (epsilon, most, charges)) = (*admin.status.borrow(), admin.spent.read());
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
    let [fine, refused, later] = &admin.counts.requests;
    let mut out = String::new();
    for (name, kind, value) in [
        ("sordino_round", "gauge", f64::from(status.round)),
        ("sordino_answered", "gauge", f64::from(status.answered)),
        ("sordino_round_closes_in_seconds", "gauge", status.closes_in_ms as f64 / 1e3),
        ("sordino_epsilon_spent", "gauge", epsilon),
        ("sordino_epsilon_max", "gauge", most.unwrap_or(f64::INFINITY)),
        ("sordino_charges_total", "counter", charges as f64),
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
        eprintln!("sordino-net: metrics: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_awaited() {
        let status = Status { round: 17, answered: 183, closes_in_ms: 2_460_000, ..Status::default() };
        let said = line(&status, 200, 40, (4.1, Some(8.0), 17), 200);
        assert_eq!(said, "round 17/40: 183 of 200 answered, closes in 41 min, ε 4.10 of 8");
        let said = line(&Status::default(), 2, 3, (0.0, None, 0), 1);
        assert_eq!(said, "round 0/3: 0 of 2 answered (1 have joined), closes in 0 s, ε 0.00");
        assert_eq!((spoken(119_000), spoken(7_200_000)), ("119 s".into(), "2 h".into()));
    }
}
