//! A broker between agents and server: the same digest, whatever it loses. Needs mosquitto, a
//! package of Debian.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use sordino_experiment::scenario::{Scenario, Shipped, method};
use sordino_net::bridge::Broker;
use sordino_net::rehearsal::{Options, Outcome, rehearse};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rehearsals::{scenario, simulated};
use super::util::{PATIENCE, Place, Process, bounded, free_port, runtime};

/// A mosquitto of this test.
pub struct Mosquitto {
    place: Place,
    pub port: u16,
}

impl Mosquitto {
    /// With these further lines of its configuration.
    pub fn new(name: &str, lines: &str) -> Mosquitto {
        let place = Place::new(name);
        let port = free_port();
        let database = place.0.display();
        let configuration = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {database}/\n\
             user root\nautosave_interval 1\n{lines}\n"
        );
        std::fs::write(place.0.join("mosquitto.conf"), configuration).unwrap();
        Mosquitto { place, port }
    }

    pub fn start(&self) -> Process {
        let program = [
            PathBuf::from("/usr/sbin/mosquitto"),
            PathBuf::from("mosquitto"),
        ];
        let program = program
            .iter()
            .find(|path| path.is_file())
            .unwrap_or(&program[1]);
        let mut command = Command::new(program);
        command.arg("-c").arg(self.place.0.join("mosquitto.conf"));
        let log = std::fs::File::create(self.place.0.join("log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let process = Process::start(command);
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                start.elapsed() < PATIENCE,
                "mosquitto does not listen; is it installed?"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        process
    }

    fn broker(&self) -> Broker {
        let host = "127.0.0.1".to_owned();
        let name = "test".to_owned();
        Broker {
            host,
            port: self.port,
            credentials: None,
            name,
        }
    }
}

async fn over(scenario: &Scenario, broker: Broker) -> Outcome {
    let options = Options {
        deadline: Duration::from_secs(150),
        broker: Some(broker),
        ..Options::default()
    };
    rehearse(scenario, method::DP_FTS_DE, options)
        .await
        .unwrap()
}

#[test]
fn firmware_and_default_over_a_broker_are_the_simulator_s() {
    bounded(|| {
        let mosquitto = Mosquitto::new("broker", "");
        let _running = mosquitto.start();
        // The second run has the names of the first on the same broker.
        let default = Shipped::find("default")
            .unwrap()
            .parse(&["runs=2".into(), "federation.rounds=10".into()])
            .unwrap();
        for scenario in [scenario("firmware", &[]), default] {
            let start = Instant::now();
            let outcome = runtime().block_on(over(&scenario, mosquitto.broker()));
            assert_eq!(
                outcome.digest,
                simulated(&scenario, method::DP_FTS_DE),
                "{}",
                scenario.name
            );
            println!(
                "{}: {} agents, {:.1} s",
                scenario.name,
                outcome.agents,
                start.elapsed().as_secs_f64()
            );
        }
    });
}

#[test]
fn a_broker_with_a_queue_of_ten_changes_nothing() {
    bounded(|| {
        let lines = "max_queued_messages 10\nmax_inflight_messages 1\nmax_queued_bytes 10000";
        let mosquitto = Mosquitto::new("queue", lines);
        let _running = mosquitto.start();
        let scenario = scenario("firmware", &[]);
        let outcome = runtime().block_on(over(&scenario, mosquitto.broker()));
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
    });
}

#[test]
fn a_broker_that_is_killed_and_loses_its_database_changes_nothing() {
    bounded(|| {
        let mosquitto = Mosquitto::new("killed", "");
        let mut running = mosquitto.start();
        let scenario = scenario("firmware", &["federation.rounds=60"]);
        let runtime = runtime();
        let rehearsed = scenario.clone();
        let broker = mosquitto.broker();
        let rehearsing = runtime.spawn(async move { over(&rehearsed, broker).await });
        let mut kills = 0;
        while !rehearsing.is_finished() {
            std::thread::sleep(Duration::from_millis(100));
            if kills < 5 {
                running.kill();
                let _ = std::fs::remove_file(mosquitto.place.0.join("mosquitto.db"));
                running = mosquitto.start();
                kills += 1;
            }
        }
        let outcome = runtime.block_on(rehearsing).unwrap();
        assert_eq!(outcome.digest, simulated(&scenario, method::DP_FTS_DE));
        println!("{kills} kills");
        assert!(kills >= 3, "only {kills} kills");
    });
}

/// A broker that ends the connections which it carries, with a key of its own: agents say nothing
/// to it.
#[test]
fn a_broker_that_plays_the_server_hears_nothing() {
    bounded(|| {
        let runtime = runtime();
        runtime.block_on(async {
            let identity = sordino_net::identity::Identity::generate().unwrap();
            let front = tokio::net::TcpListener::bind(("127.0.0.1", 0))
                .await
                .unwrap();
            let address = front.local_addr().unwrap().to_string();
            let other = sordino_net::identity::Identity::generate()
                .unwrap()
                .server()
                .unwrap();
            tokio::spawn(async move {
                loop {
                    let (tcp, _) = front.accept().await.unwrap();
                    let acceptor = tokio_rustls::TlsAcceptor::from(other.clone());
                    tokio::spawn(async move {
                        if let Ok(mut tls) = acceptor.accept(tcp).await {
                            let mut bytes = [0; 64];
                            let read = tls.read(&mut bytes).await.unwrap_or(0);
                            assert_eq!(
                                read, 0,
                                "something was said to a server that is not pinned"
                            );
                            drop(
                                tls.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                                    .await,
                            );
                        }
                    });
                }
            });
            let own = sordino_net::identity::Identity::generate().unwrap();
            let tls = own.client(&[identity.fingerprint().unwrap()]).unwrap();
            let mut link = sordino_net::link::Link::new(&address, 1, tls, Duration::from_secs(1));
            let refused = link.enrol(0, Some(&[7; 16])).await;
            assert!(
                matches!(refused, Err(sordino_net::link::LinkError::Connect(_))),
                "{refused:?}"
            );
        });
    });
}
