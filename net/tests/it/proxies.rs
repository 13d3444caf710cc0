//! A site whose network lets nobody out but through a proxy.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::util::{Federation, bounded, program};

/// A proxy that leads everybody to this place, whatever is asked for, until the test ends; what was
/// asked for is counted.
fn proxy(to: String, asked: &Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let asked = asked.clone();
    std::thread::spawn(move || {
        for mut site in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                site.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            assert!(
                head.starts_with(b"CONNECT federation.example:8443 HTTP/1.1\r\n"),
                "{head:?}"
            );
            asked.fetch_add(1, Ordering::Relaxed);
            let mut server = TcpStream::connect(&to).unwrap();
            site.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let mut from_site = site.try_clone().unwrap();
            let mut to_server = server.try_clone().unwrap();
            std::thread::spawn(move || std::io::copy(&mut from_site, &mut to_server));
            std::thread::spawn(move || std::io::copy(&mut server, &mut site));
        }
    });
    place
}

#[test]
fn a_site_behind_a_proxy_reaches_its_server_and_believes_no_other() {
    bounded(|| {
        let more = [
            "--address",
            "federation.example:8443",
            "--deadline",
            "60s",
            "--linger",
            "1s",
        ];
        let federation = Federation::new("proxy", 2, 1, &more);
        let _server = federation.serve();
        let invitations = federation.invite();
        let asked = Arc::new(AtomicUsize::new(0));
        let place = proxy(federation.listens(), &asked);
        let terms = |line: &str| {
            let mut command = program(&["terms", line]);
            command
                .env("HTTPS_PROXY", format!("http://{place}"))
                .env_remove("NO_PROXY")
                .env_remove("no_proxy");
            command.output().unwrap()
        };
        let line = invitations[1].to_string();
        let output = terms(&line);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(String::from_utf8_lossy(&output.stdout).contains("you would be agent 1 of 2"));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        // A proxy that answers for the server has another key.
        let mut other = invitations[1].clone();
        other
            .pins
            .iter_mut()
            .for_each(|pin| *pin = "ab".repeat(32).parse().unwrap());
        assert!(!terms(&other.to_string()).status.success());
    });
}
