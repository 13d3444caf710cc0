//! A bridge over an MQTT 5 broker, for sites that have one: connections to the server, carried as
//! messages.
//!
//! ```text
//! agent ── TLS ──> near end ── messages ──> broker ── messages ──> far end ── TLS ──> door
//! ```
//!
//! The bridge carries bytes and knows nothing of what they say: it is **TLS between the agent and
//! the server**, with the keys that both pin, so a frame's sender is identified just as without a
//! broker. The broker, and anyone else who can publish, may drop, delay, double and make up
//! messages: that breaks connections, which are made again, and costs rounds. They see times and
//! lengths, and no content.
//!
//! Messages have quality of service 0 and sessions are clean: what is lost is sent again by
//! [`segments`], so nothing depends on what a broker stores, on its queues or on its
//! acknowledgements, which say nothing about the server.
//!
//! | topic | what |
//! |---|---|
//! | `sordino/NAME/up/END/CONNECTION` | segments of a connection towards the server; END and CONNECTION are 16 hexadecimal digits |
//! | `sordino/NAME/down/END/CONNECTION` | segments towards the agent; a near end reads those of its own END alone |

pub(crate) mod segments;

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rumqttc::{
    AsyncClient, Event, EventLoop, MqttOptions, Packet, PublishOptions, QoS, SessionMode,
};
use sordino_core::federated::exchange::Millis;
use sordino_host::entropy::{NoEntropy, deployment};
use sordino_host::text::chain;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::progress::note;
use segments::{DATA_MAX, Gone, Segments};

/// The most connections of an end at one time.
const CONNECTIONS_MAX: usize = 4096;
/// Segments that wait for one connection; further ones are lost, and sent again.
const WAITING_MAX: usize = 64;
/// The pause between two attempts to reach the broker.
const PAUSE: Duration = Duration::from_millis(300);
/// What goes wrong again is told again after this long at the earliest.
const TOLD_AGAIN: Duration = Duration::from_secs(60);
/// Messages that wait for the broker.
const REQUESTS_MAX: usize = 256;

/// Where the broker is, and the user to log in as.
#[derive(Clone, Debug)]
pub struct Broker {
    /// Name or address.
    pub host: String,
    /// Port, usually 1883.
    pub port: u16,
    /// User and password, if it asks for them.
    pub credentials: Option<(String, String)>,
    /// Distinguishes this bridge from others on the broker: NAME in its topics, of letters, digits
    /// and `-`.
    pub name: String,
}

/// Connections of one end: where segments that come go to.
#[derive(Clone, Default)]
struct Connections(Arc<Mutex<HashMap<String, mpsc::Sender<Bytes>>>>);

impl Connections {
    fn all(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Bytes>>> {
        // Every change is one insertion or removal: a thread that panicked left a whole map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a segment to its connection; false if there is none of this name.
    fn hand(&self, name: &str, segment: &Bytes) -> bool {
        // A full queue loses it, and it is sent again.
        self.all()
            .get(name)
            .map(|sender| drop(sender.try_send(segment.clone())))
            .is_some()
    }
}

/// What goes wrong on one way, told once until it is over.
#[derive(Clone, Default)]
struct Trouble(Arc<Mutex<Told>>);

/// Whether it was told, and when the last time.
#[derive(Default)]
struct Told {
    is_told: bool,
    at: Option<Instant>,
}

impl Trouble {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this is to be told: a way that breaks again and again is told of once a minute.
    fn is_new(&self) -> bool {
        let mut told = self.told();
        let is_due = told.at.is_none_or(|at| at.elapsed() >= TOLD_AGAIN);
        if told.is_told || !is_due {
            return false;
        }
        *told = Told {
            is_told: true,
            at: Some(Instant::now()),
        };
        true
    }

    /// Tells what is wrong with a way.
    fn tell(&self, what: &str, error: &(dyn Error + 'static)) {
        if self.is_new() {
            note(&format!("{what}, tried again: {}", chain(error)));
        }
    }

    /// The way is open.
    fn is_over(&self) {
        self.told().is_told = false;
    }
}

/// One end's line to the broker.
#[derive(Clone)]
struct Line {
    client: AsyncClient,
    base: String,
    /// Where the broker is, for messages.
    address: String,
}

impl Line {
    fn open(broker: &Broker, id: &str) -> (Line, EventLoop) {
        let mut options =
            MqttOptions::new(format!("sordino-{id}"), (broker.host.clone(), broker.port));
        options.set_keep_alive(10);
        options.set_session_mode(SessionMode::Clean);
        // Without it a client reserves room for 65,536 messages: 16 MiB.
        options.set_outgoing_inflight_upper_limit(16);
        options.set_max_packet_size(Some(16 << 10));
        if let Some((user, password)) = &broker.credentials {
            options.set_credentials(user.clone(), password.clone());
        }
        let (client, events) = AsyncClient::builder(options).capacity(REQUESTS_MAX).build();
        (
            Line {
                client,
                base: format!("sordino/{}", broker.name),
                address: format!("{}:{}", broker.host, broker.port),
            },
            events,
        )
    }

    /// Sends a segment; while the broker is away it waits, and at most [`REQUESTS_MAX`] do.
    async fn send(&self, way: &str, name: &str, segment: Bytes) {
        let topic = format!("{}/{way}/{name}", self.base);
        // The client ends with the process: what cannot be sent then has no reader.
        drop(
            self.client
                .publish(topic, segment, PublishOptions::new(QoS::AtMostOnce))
                .await,
        );
    }

    /// Reads messages for ever, again and again connected; `hear` gets the END/CONNECTION of each.
    async fn read(
        &self,
        mut events: EventLoop,
        way: &str,
        of: &str,
        mut hear: impl FnMut(&str, Bytes),
    ) {
        let filter = format!("{}/{way}/{of}", self.base);
        let prefix = format!("{}/{way}/", self.base);
        let trouble = Trouble::default();
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(_))) => {
                    trouble.is_over();
                    // The queue has room right after connecting, or the next connection tries
                    // again.
                    drop(self.client.try_subscribe(filter.clone(), QoS::AtMostOnce));
                }
                Ok(Event::Incoming(Packet::Publish(message))) => {
                    let topic = std::str::from_utf8(&message.topic).ok();
                    if let Some(name) = topic
                        .and_then(|topic| topic.strip_prefix(&prefix))
                        .filter(|name| is_name(name))
                    {
                        hear(name, message.payload);
                    }
                }
                Ok(_) => {}
                // A refused login as well as a broker that is away.
                Err(error) => {
                    trouble.tell(
                        &format!("waiting for the broker at {}", self.address),
                        &error,
                    );
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Whether a part of a name is 16 hexadecimal digits.
fn is_id(part: &str) -> bool {
    part.len() == 16
        && part
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether this is END/CONNECTION: others never become part of a topic that is written.
fn is_name(name: &str) -> bool {
    name.split_once('/')
        .is_some_and(|(end, connection)| is_id(end) && is_id(connection))
}

/// The agents' end: carries every connection that comes to this listener, up to 4096 at one time.
///
/// **Errors**: [`NoEntropy`]; else it never ends.
pub async fn near(listener: TcpListener, broker: Broker) -> Result<(), NoEntropy> {
    near_within(listener, broker, CONNECTIONS_MAX).await
}

/// The same with so many connections at most.
async fn near_within(
    listener: TcpListener,
    broker: Broker,
    connections_max: usize,
) -> Result<(), NoEntropy> {
    let id = format!("{:016x}", deployment()?);
    let (line, events) = Line::open(&broker, &id);
    let connections = Connections::default();
    let reading = line.clone();
    let known = connections.clone();
    let of = format!("{id}/+");
    let reader = tokio::spawn(async move {
        let heard = reading.read(events, "down", &of, |name, segment| {
            // Of a connection that is over: nobody waits for it.
            let _known = known.hand(name, &segment);
        });
        heard.await;
    });
    let _reader = AbortOnDrop(reader);
    let trouble = Trouble::default();
    loop {
        let tcp = match listener.accept().await {
            Ok((tcp, _)) => tcp,
            Err(error) => {
                trouble.tell("waiting for agents", &error);
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        trouble.is_over();
        if connections.all().len() >= connections_max {
            // It is closed, and its agent tries again.
            continue;
        }
        let name = format!("{id}/{:016x}", deployment()?);
        let (sender, segments) = mpsc::channel(WAITING_MAX);
        connections.all().insert(name.clone(), sender);
        let line = line.clone();
        let connections = connections.clone();
        tokio::spawn(async move {
            carry(tcp, segments, &line, "up", &name).await;
            connections.all().remove(&name);
        });
    }
}

/// The server's end: makes a connection to this address for every one that a near end carries. It
/// never ends.
///
/// **Errors**: [`NoEntropy`].
pub async fn far(to: String, broker: Broker) -> Result<(), NoEntropy> {
    let (line, events) = Line::open(&broker, &format!("{:016x}", deployment()?));
    let connections = Connections::default();
    let writing = line.clone();
    let trouble = Trouble::default();
    line.read(events, "up", "+/+", |name, segment| {
        if connections.hand(name, &segment) {
            return;
        }
        let line = writing.clone();
        let connections = connections.clone();
        let name = name.to_owned();
        let to = to.clone();
        if !Segments::is_first(&segment) || connections.all().len() >= CONNECTIONS_MAX {
            // A stream that this end knows nothing of: it was started again, or there are too many.
            tokio::spawn(async move { line.send("down", &name, Segments::reset()).await });
            return;
        }
        let (sender, segments) = mpsc::channel(WAITING_MAX);
        drop(sender.try_send(segment));
        connections.all().insert(name.clone(), sender);
        let trouble = trouble.clone();
        tokio::spawn(async move {
            match TcpStream::connect(&to).await {
                Ok(tcp) => {
                    trouble.is_over();
                    carry(tcp, segments, &line, "down", &name).await;
                }
                Err(error) => {
                    trouble.tell(&format!("waiting for the server at {to}"), &error);
                    line.send("down", &name, Segments::reset()).await;
                }
            }
            connections.all().remove(&name);
        });
    })
    .await;
    Ok(())
}

/// A task that ends with its owner.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One connection, until either side ends it.
async fn carry(
    mut tcp: TcpStream,
    mut segments: mpsc::Receiver<Bytes>,
    line: &Line,
    way: &str,
    name: &str,
) {
    // Without it small messages wait for each other.
    drop(tcp.set_nodelay(true));
    let start = Instant::now();
    let now = || Millis(start.elapsed().as_millis() as u64);
    let mut stream = Segments::new(now());
    let mut buffer = vec![0; DATA_MAX];
    let mut ended = false;
    while !(ended && stream.is_settled()) {
        let wake = stream
            .wake()
            .map_or(start + Duration::from_secs(1 << 30), |at| {
                start + Duration::from_millis(at.0)
            });
        tokio::select! {
            read = tcp.read(&mut buffer), if !ended && stream.has_room() => {
                let read = read.unwrap_or(0);
                ended = read == 0;
                let data = (!ended).then(|| Bytes::copy_from_slice(&buffer[..read]));
                line.send(way, name, stream.push(data, now())).await;
            }
            segment = segments.recv() => {
                let Some(segment) = segment else { return };
                let Ok(heard) = stream.heard(&segment, now()) else { return };
                if let Some(reply) = heard.reply {
                    line.send(way, name, reply).await;
                }
                if let Some(data) = heard.data && tcp.write_all(&data).await.is_err() {
                    line.send(way, name, Segments::reset()).await;
                    return;
                }
                if heard.end {
                    return;
                }
            }
            () = tokio::time::sleep_until(wake) => match stream.due(now()) {
                Ok(again) => for segment in again {
                    line.send(way, name, segment).await;
                },
                Err(Gone) => return,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A listener for agents, and a broker that is not there.
    async fn absent() -> (TcpListener, Broker) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let broker = Broker {
            host: "127.0.0.1".to_owned(),
            port: 1,
            credentials: None,
            name: "test".to_owned(),
        };
        (listener, broker)
    }

    /// The agents' end took as many connections as came.
    #[tokio::test]
    async fn the_agents_end_closes_what_is_beyond_its_bound() {
        let (listener, broker) = absent().await;
        let address = listener.local_addr().unwrap();
        let near = tokio::spawn(near_within(listener, broker, 2));
        let mut kept = Vec::new();
        for _ in 0..2 {
            kept.push(TcpStream::connect(address).await.unwrap());
        }
        let mut byte = [0];
        let mut third = TcpStream::connect(address).await.unwrap();
        assert_eq!(third.read(&mut byte).await.unwrap(), 0, "it is closed");
        for first in &mut kept {
            let waits = Duration::from_millis(100);
            let read = tokio::time::timeout(waits, first.read(&mut byte)).await;
            assert!(read.is_err(), "negative control: it stays");
        }
        near.abort();
    }

    /// A login that is refused again and again said nothing at all; a way that breaks after each
    /// opening must not fill a log.
    #[tokio::test(start_paused = true)]
    async fn trouble_is_told_once_until_it_is_over() {
        let trouble = Trouble::default();
        assert!(trouble.is_new() && !trouble.is_new());
        trouble.is_over();
        assert!(!trouble.is_new(), "within the same minute");
        tokio::time::advance(TOLD_AGAIN).await;
        assert!(trouble.is_new() && !trouble.is_new());
        tokio::time::advance(TOLD_AGAIN).await;
        assert!(!trouble.is_new(), "the same trouble");
        trouble.is_over();
        assert!(trouble.is_new());
    }
}
