//! The way out of a network that lets nobody out but through a proxy: `CONNECT` of HTTP/1.1. TLS
//! goes through it from end to end, so a proxy that puts a key of its own in between is refused
//! like any stranger.
//!
//! As other programs do, it reads `HTTPS_PROXY` (or `https_proxy`), `http://HOST:PORT`, and leaves
//! out what `NO_PROXY` (or `no_proxy`) names: hosts, domains with all below them, or `*`. This
//! machine is never asked for through a proxy. A proxy that wants a name and a password is refused
//! by name.

use std::io::{Error, Result};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The answer of a proxy is read up to this length.
const HEAD_MAX: usize = 8192;

/// Host and port of an address `HOST:PORT`; nothing if it is none.
pub(crate) fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse().ok()?;
    (!host.is_empty()).then_some((host, port))
}

/// The value of the first of two environment variables that is set.
fn variable(names: [&str; 2]) -> String {
    names
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .unwrap_or_default()
}

/// Connects to `HOST:PORT`, through the proxy of the environment if there is one.
///
/// **Errors**: the system's, and what the proxy says.
pub(crate) async fn connect(address: &str) -> Result<TcpStream> {
    match proxy(
        &variable(["HTTPS_PROXY", "https_proxy"]),
        &variable(["NO_PROXY", "no_proxy"]),
        address,
    )? {
        None => TcpStream::connect(address).await,
        Some(proxy) => through(&proxy, address).await,
    }
}

/// `HOST:PORT` of the proxy that is in the way of this address.
fn proxy(https_proxy: &str, no_proxy: &str, address: &str) -> Result<Option<String>> {
    let host = address
        .rsplit_once(':')
        .map_or(address, |(host, _)| host)
        .trim_matches(['[', ']'])
        .to_lowercase();
    let is_here = host == "localhost"
        || host
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    let names = no_proxy
        .split(',')
        .map(|name| name.trim().trim_start_matches('.').to_lowercase());
    let is_left_out = names.into_iter().any(|name| {
        let below = host
            .strip_suffix(&name)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        name == "*" || (!name.is_empty() && below)
    });
    if https_proxy.is_empty() || is_here || is_left_out {
        return Ok(None);
    }
    let place = https_proxy
        .strip_prefix("http://")
        .unwrap_or(https_proxy)
        .trim_end_matches('/');
    if place.contains(['/', '@']) || host_and_port(place).is_none() {
        // It may hold a password.
        return Err(Error::other(
            "HTTPS_PROXY: http://HOST:PORT is expected, without a name and a password",
        ));
    }
    Ok(Some(place.to_owned()))
}

/// What goes wrong at a proxy, by its name.
fn refused(proxy: &str, what: &str) -> Error {
    Error::other(format!("the proxy {proxy}: {what}"))
}

async fn through(proxy: &str, address: &str) -> Result<TcpStream> {
    let mut tcp = TcpStream::connect(proxy)
        .await
        .map_err(|error| refused(proxy, &error.to_string()))?;
    let asked = format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    tcp.write_all(asked.as_bytes()).await?;
    let mut head = Vec::new();
    // Not a byte more: what follows is TLS.
    while !head.ends_with(b"\r\n\r\n") {
        match tcp.read_u8().await {
            Ok(byte) if head.len() < HEAD_MAX => head.push(byte),
            Ok(_) => return Err(refused(proxy, "an answer that is too long")),
            Err(error) => return Err(refused(proxy, &error.to_string())),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let status = head.lines().next().unwrap_or_default();
    match status.split_once(' ') {
        Some((version, rest)) if version.starts_with("HTTP/1.") && rest.starts_with("200") => {
            Ok(tcp)
        }
        _ => {
            let status: String = status.chars().take(80).collect();
            Err(refused(proxy, &format!("says {status:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_used_for_other_machines_unless_it_is_left_out() {
        let of = |https: &str, no: &str, address: &str| proxy(https, no, address).unwrap();
        let some = Some("proxy.example:3128".to_owned());
        for https in [
            "http://proxy.example:3128",
            "http://proxy.example:3128/",
            "proxy.example:3128",
        ] {
            assert_eq!(of(https, "", "federation.example:8443"), some, "{https}");
        }
        let https = "http://proxy.example:3128";
        for no in ["federation.example", ".example", "a, EXAMPLE", "*"] {
            assert_eq!(of(https, no, "federation.example:8443"), None, "{no}");
        }
        for no in ["", ",", "ample", "other.example", "federation.example.org"] {
            assert_eq!(of(https, no, "federation.example:8443"), some, "{no}");
        }
        for here in ["localhost:1", "127.0.0.1:1", "[::1]:1"] {
            assert_eq!(of(https, "", here), None, "{here}");
        }
        assert_eq!(of("", "", "federation.example:8443"), None);
        for bad in [
            "https://proxy.example:1",
            "http://me:secret@proxy.example:1",
            "http://proxy.example",
            "socks5://a:1",
        ] {
            let told = proxy(bad, "", "federation.example:8443")
                .unwrap_err()
                .to_string();
            assert!(
                told.contains("http://HOST:PORT") && !told.contains("secret"),
                "{told}"
            );
        }
    }

    #[tokio::test]
    async fn what_a_proxy_says_is_told_and_what_follows_is_left_alone() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(HEAD_MAX));
        let answers = [
            "HTTP/1.1 200 Connection established\r\n\r\nTLS",
            "HTTP/1.1 407 Who?\r\n\r\n",
            "SSH-2.0\r\n\r\n",
            "",
            &long,
        ];
        let answers = answers.map(str::to_owned);
        let proxying = tokio::spawn(async move {
            let mut asked = Vec::new();
            for answer in answers {
                let mut tcp = listener.accept().await.unwrap().0;
                let mut buffer = [0; 512];
                let read = tcp.read(&mut buffer).await.unwrap();
                asked.push(String::from_utf8_lossy(&buffer[..read]).into_owned());
                // The other side may have hung up.
                drop(tcp.write_all(answer.as_bytes()).await);
            }
            asked
        });
        let mut tcp = through(&place, "federation.example:8443").await.unwrap();
        let mut rest = String::new();
        tcp.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "TLS");
        for part in [
            "says \"HTTP/1.1 407 Who?\"",
            "says \"SSH-2.0\"",
            "the proxy",
            "too long",
        ] {
            let told = through(&place, "federation.example:8443")
                .await
                .unwrap_err()
                .to_string();
            assert!(told.contains(part), "{part}: {told}");
        }
        let asked = proxying.await.unwrap();
        assert!(
            asked
                .iter()
                .all(|asked| asked.starts_with("CONNECT federation.example:8443 HTTP/1.1\r\n")),
            "{asked:?}"
        );
    }
}
