//! The way to the server: two channels, and behind them the emulator's server.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{
    Agreement, Have, Pace, Period, Reply, Seal, ServerExchange,
};
use sordino_core::wire::{self, Header, WireError};
use static_cell::StaticCell;

use super::served::Served;
use crate::config::{AGENT, FRAME, NUMBERS, ROUNDS, Scalar};
use crate::federation::agreement;

/// A frame, with what is hidden behind it, and its length.
pub type Frame = ([u8; FRAME], usize);

/// What the agent says to its server.
pub enum Request {
    /// "What comes after what I have?"
    Next(Have),
    /// "Here is mine."
    Give(Frame),
    /// "What is this release made with?"
    #[cfg(site)]
    Opening(u32),
    /// "What did all learn?", and where to put it.
    #[cfg(site)]
    File(&'static mut [u8]),
}

/// What the server says to that.
pub enum Answer {
    /// A frame, the round that the server is in, and what came with the frame.
    Next {
        frame: Frame,
        current: u32,
        seal: Seal,
    },
    /// Nothing new; come back after this time.
    Later { after_ms: u64 },
    /// What was asked for, a frame.
    #[cfg(site)]
    Frame(Frame),
    /// The place that came with the question, and how many bytes are in it: none where there is no
    /// file, 0 where the way was lost.
    #[cfg(site)]
    File(&'static mut [u8], Option<usize>),
    /// What became of a frame that was given; `NotYou` also where a frame was asked for.
    Reply(Reply),
}

/// Both directions of a link.
pub struct Link {
    up: Channel<NoopRawMutex, Request, 1>,
    down: Channel<NoopRawMutex, Answer, 1>,
}

/// The link to the server.
pub fn link() -> &'static Link {
    static LINK: StaticCell<Link> = StaticCell::new();
    LINK.init(Link {
        up: Channel::new(),
        down: Channel::new(),
    })
}

/// One request, one answer. On a board, where the way is lost: `Answer::Later`, and for
/// [`Request::File`] `Answer::File` with its place and `Some(0)`: the place comes back in any case.
pub async fn ask(link: &Link, request: Request) -> Answer {
    link.up.send(request).await;
    link.down.receive().await
}

/// A server by the rules of sordino-net, which judges messages with the same code; the other agents
/// are silent, so that a round ends with this one's answer.
struct Server<'a> {
    exchange: ServerExchange<&'a mut [u8]>,
    /// Digests after 0, 1, … frames.
    history: [Digest; ROUNDS + 2],
    frame: Frame,
    numbers: [Scalar; NUMBERS],
}

impl Server<'_> {
    /// Begins a round with the frame that makes the numbers of the round before known.
    fn begin(&mut self, round: u32) {
        let released = (round > 0).then_some(&self.numbers[..]);
        let now = super::now();
        let before = self.history[round as usize];
        let made = self
            .exchange
            .frame(round, 0, &before, released, &mut self.frame.0);
        let (len, chain) = made.expect("the buffer holds any frame");
        (self.frame.1, self.history[round as usize + 1]) = (len, chain);
        let period = Period {
            opened: now,
            deadline: now.after(60_000),
            may_close_early: true,
        };
        self.exchange.begin(round, 0, chain, period);
    }

    /// Judges an answer, and the same answer under another agreement, which must be refused.
    fn given(
        &mut self,
        agreement: &Agreement,
        served: &mut Served<'_>,
        (bytes, len): Frame,
    ) -> Reply {
        let Ok((frame, behind)) = split(&bytes[..len]) else {
            return Reply::NotYou;
        };
        let Ok((header, payload)) = wire::decode(frame, NUMBERS as u32) else {
            return Reply::NotYou;
        };
        let other = Agreement {
            deployment: !agreement.deployment,
            ..agreement.clone()
        };
        let foreign = Header {
            config: wire::prefix(&other.digest()),
            ..header
        };
        assert_eq!(
            self.exchange.given(AGENT, &foreign, super::now()),
            Some(Reply::NotYou)
        );
        if let Some(reply) = self.exchange.given(AGENT, &header, super::now()) {
            return reply;
        }
        self.exchange.took(AGENT);
        if header.round < agreement.protocol.epochs() {
            let given = &mut [0.0; NUMBERS][..header.len as usize];
            payload.read(given).expect("finite numbers");
            self.numbers = served.release(header.round, given, behind);
            self.begin(header.round + 1);
        }
        Reply::Taken
    }
}

/// A message cut behind its frame: what follows is hidden.
fn split(message: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    match wire::decode(message, NUMBERS as u32) {
        Err(WireError::TrailingBytes { extra }) => Ok(message.split_at(message.len() - extra)),
        judged => judged.map(|_| (message, &[][..])),
    }
}

/// The server as a task. It is busy when it is asked for the first time.
#[embassy_executor::task]
pub async fn server(link: &'static Link) {
    let agreement = agreement().expect("what `sordino export` wrote");
    let mut served = Served::new(&agreement);
    let mut flags = [0; 256];
    let pace = Pace {
        ask_again_ms: 5_000,
        spread_ms: 100,
    };
    let flags = &mut flags[..agreement.protocol.agents() as usize];
    let exchange = ServerExchange::new(&agreement, pace, flags);
    let history = [agreement.digest(); _];
    let mut server = Server {
        exchange,
        history,
        frame: ([0; FRAME], 0),
        numbers: [0.0; NUMBERS],
    };
    server.begin(0);
    for asked in 0.. {
        let answer = match link.up.receive().await {
            Request::Next(_) if asked == 0 => Answer::Later { after_ms: 50 },
            Request::Next(have) => {
                // One agent alone is never behind: the round that is open is the next it lacks.
                assert_eq!(have.chain, server.history[server.exchange.round() as usize]);
                Answer::Next {
                    frame: server.frame,
                    current: server.exchange.round(),
                    seal: Seal::default(),
                }
            }
            Request::Give(message) => Answer::Reply(server.given(&agreement, &mut served, message)),
            #[cfg(site)]
            Request::Opening(release) => {
                assert_eq!(release, server.exchange.round(), "the release that is open");
                let chain = server.history[release as usize + 1];
                Answer::Frame(served.opening((&agreement, chain), release))
            }
            #[cfg(site)]
            Request::File(place) => {
                let round = server.exchange.round();
                let len = served.file(
                    (&agreement, server.history[round as usize + 1]),
                    round,
                    place,
                );
                Answer::File(place, Some(len))
            }
        };
        link.down.send(answer).await;
    }
}
