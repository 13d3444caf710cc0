//! The admin port: metrics for Prometheus, a health check, and how the federation stands, in plain
//! HTTP. Never open it to agents.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::uri::Authority;
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::door::Counts;
use crate::status::Watched;

/// Connections to the metrics at one time, so that they never take the file handles of a release,
const CONNECTIONS: usize = 16;
/// and how long each may last.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why nothing listens there.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Others than this machine would reach it.
    #[error(
        "--admin {address}: {found} is no address of this machine only; admissible: 127.0.0.1:PORT, [::1]:PORT, localhost:PORT, because \
         anybody who reaches it reads how the federation stands, in plain HTTP"
    )]
    Open {
        /// The address that was given.
        address: String,
        /// What it stands for.
        found: IpAddr,
    },
    /// It is no address, or cannot be listened on.
    #[error("--admin {address}: cannot listen: {error}")]
    Listen {
        /// The address that was given.
        address: String,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
}

/// What an address of the admin port stands for: addresses of this machine only.
///
/// **Errors**: [`AdminError`].
pub fn of_this_machine(address: &str) -> Result<Vec<SocketAddr>, AdminError> {
    let found = address
        .to_socket_addrs()
        .map_err(|error| AdminError::Listen {
            address: address.to_owned(),
            error,
        })?
        .collect::<Vec<_>>();
    let is_here = |found: &SocketAddr| found.ip().to_canonical().is_loopback();
    match found.iter().find(|found| !is_here(found)) {
        Some(open) => Err(AdminError::Open {
            address: address.to_owned(),
            found: open.ip(),
        }),
        None => Ok(found),
    }
}

/// Listens there.
///
/// **Errors**: [`AdminError`].
pub(crate) async fn listening(address: &str) -> Result<TcpListener, AdminError> {
    let found = of_this_machine(address)?;
    let listener = TcpListener::bind(&found[..]).await;
    listener.map_err(|error| AdminError::Listen {
        address: address.to_owned(),
        error,
    })
}

#[derive(Clone)]
struct Admin {
    counts: Arc<Counts>,
    watched: Watched,
}

/// A count as the value of a line.
fn load(count: &AtomicU64) -> f64 {
    count.load(Ordering::Relaxed) as f64
}

/// The label of a line, in its braces.
fn label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{value}\"}}")
}

/// Prometheus' text format.
async fn metrics(State(admin): State<Admin>) -> String {
    let watched = &admin.watched;
    let status = *watched.status.borrow();
    let books = watched.spent.read();
    let [fine, refused, later] = &admin.counts.requests;
    let protocol = &watched.agreement.protocol;
    let enrolled = watched.enrolment.count() as f64;
    let mut out = String::new();
    let mut head = |name: &str, kind: &str, help: &str, lines: &[(String, f64)]| {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in lines {
            let _ = writeln!(out, "{name}{labels} {value}");
        }
    };
    let version = vec![(label("version", env!("CARGO_PKG_VERSION")), 1.0)];
    head(
        "sordino_build_info",
        "gauge",
        "The program that serves; always 1",
        &version,
    );
    for (name, kind, value, help) in [
        (
            "sordino_agents",
            "gauge",
            f64::from(protocol.agents()),
            "Agents of the federation, N",
        ),
        (
            "sordino_enrolled",
            "gauge",
            enrolled,
            "Agents that have joined and were not shut out",
        ),
        (
            "sordino_rounds",
            "gauge",
            f64::from(protocol.epochs()),
            "Releases of the federation; rounds of an exchange",
        ),
        (
            "sordino_round",
            "gauge",
            f64::from(status.round),
            "The round that is open; T when all are over",
        ),
        (
            "sordino_answered",
            "gauge",
            f64::from(status.answered),
            "Agents that have answered the open round",
        ),
        (
            "sordino_round_closes_in_seconds",
            "gauge",
            status.closes_in_ms as f64 / 1e3,
            "Until the open round closes",
        ),
        (
            "sordino_round_seconds",
            "gauge",
            status.open_for_ms as f64 / 1e3,
            "Since the open round was announced",
        ),
        (
            "sordino_waiting",
            "gauge",
            f64::from(status.waiting),
            "Questions that wait for the next frame",
        ),
        (
            "sordino_commit_seconds",
            "gauge",
            books.commit.as_secs_f64(),
            "To make the last round durable",
        ),
        (
            "sordino_epsilon_spent",
            "gauge",
            books.epsilon,
            "Epsilon of all charges at the delta of the terms",
        ),
        (
            "sordino_epsilon_max",
            "gauge",
            books.epsilon_max.unwrap_or(f64::INFINITY),
            "The budget",
        ),
        (
            "sordino_delta",
            "gauge",
            watched.agreement.announced.delta,
            "The delta of the terms",
        ),
        (
            "sordino_charges_total",
            "counter",
            books.charges as f64,
            "Releases that were charged",
        ),
        (
            "sordino_tls_failures_total",
            "counter",
            load(&admin.counts.tls_failures),
            "Handshakes that failed",
        ),
    ] {
        head(name, kind, help, &[(String::new(), value)]);
    }
    let uploads = [
        ("taken", status.taken),
        ("repeated", status.repeated),
        ("refused", status.refused),
    ];
    let uploads = uploads.map(|(result, value)| (label("result", result), value as f64));
    head(
        "sordino_uploads_total",
        "counter",
        "Answers of agents, and requests of theirs that were refused",
        &uploads,
    );
    let requests = [("2xx", fine), ("4xx", refused), ("5xx", later)];
    let requests = requests.map(|(class, count)| (label("status", class), load(count)));
    head(
        "sordino_requests_total",
        "counter",
        "Requests by the first digit of their status",
        &requests,
    );
    out
}

/// Refuses a request that was meant for another name: a page that a browser of this machine shows
/// may have a name of its own stand for 127.0.0.1, and would read the answers. Without a Host
/// header no browser asks.
async fn for_this_machine(State(name): State<Arc<str>>, request: Request, next: Next) -> Response {
    match request.headers().get(HOST).map(|host| host.to_str()) {
        None => return next.run(request).await,
        Some(Ok(host)) if names_this_machine(host, &name) => return next.run(request).await,
        Some(_) => {}
    }
    let told = "this port answers to 127.0.0.1, [::1] and localhost as the Host of a request\n";
    (StatusCode::MISDIRECTED_REQUEST, told).into_response()
}

/// The name in an address, NAME:PORT.
fn name_of(address: &str) -> &str {
    address
        .rsplit_once(':')
        .map_or(address, |(name, _port)| name)
}

/// Whether a Host header, NAME or NAME:PORT, is localhost, an address of this machine only, or the
/// name that the operator gave.
fn names_this_machine(host: &str, given: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    [given, "localhost"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
        || (address.parse::<IpAddr>()).is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Serves metrics, a health check and how the federation stands, for browsers and programs, in
/// plain HTTP; for a listener that agents cannot reach.
///
/// **Parameters**: `address` as it was given: the name in it may be asked, too.
pub async fn serve(listener: TcpListener, address: &str, counts: Arc<Counts>, watched: Watched) {
    let name: Arc<str> = name_of(address).into();
    let app = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || "ok\n"))
        .route(
            "/",
            get(async |State(admin): State<Admin>| Html(admin.watched.standing().page())),
        )
        .route(
            "/status",
            get(async |State(admin): State<Admin>| {
                let standing = admin.watched.standing();
                let json = serde_json::to_string(&standing).unwrap_or_default();
                ([(CONTENT_TYPE, "application/json")], json)
            }),
        )
        .layer(middleware::from_fn_with_state(name, for_this_machine))
        .with_state(Admin { counts, watched });
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Nobody closes the semaphore.
        let Ok(permit) = free.clone().acquire_owned().await else {
            return;
        };
        let Ok((tcp, _from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(16 << 10);
            // Whoever looks at numbers asks again.
            drop(
                tokio::time::timeout(PATIENCE, http.serve_connection(TokioIo::new(tcp), service))
                    .await,
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_another_name_is_no_host_of_this_machine() {
        for here in [
            "127.0.0.1:9464",
            "127.0.0.1",
            "localhost:9464",
            "LOCALHOST",
            "[::1]:9464",
            "workshop:9464",
        ] {
            assert!(names_this_machine(here, name_of("workshop:9464")), "{here}");
        }
        for other in [
            "page.example:9464",
            "localhost.page.example",
            "127.0.0.1.page.example:9464",
            "192.0.2.7",
            "workshop:9464",
            "127.0.0.1:9464/x",
            "user@",
            "",
        ] {
            assert!(!names_this_machine(other, "127.0.0.1"), "{other}");
        }
    }

    /// `--admin 0.0.0.0:9999` showed everybody how many had joined and what was spent.
    #[test]
    fn the_admin_port_is_of_this_machine_only() {
        for here in [
            "127.0.0.1:9464",
            "127.8.0.1:1",
            "[::1]:9464",
            "localhost:9464",
        ] {
            assert!(!of_this_machine(here).unwrap().is_empty(), "{here}");
        }
        for open in [
            "0.0.0.0:9999",
            "[::]:9999",
            "192.0.2.7:1",
            "[::ffff:192.0.2.7]:1",
        ] {
            let refused = of_this_machine(open).unwrap_err();
            assert!(matches!(refused, AdminError::Open { .. }), "{refused}");
            let told = refused.to_string();
            assert!(
                told.contains(open) && told.contains("admissible: 127.0.0.1:PORT"),
                "{told}"
            );
        }
        let refused = of_this_machine("127.0.0.1").unwrap_err();
        assert!(matches!(refused, AdminError::Listen { .. }), "{refused}");
    }
}
