//! The one task that keeps track of the round: it answers every request of every agent.
//!
//! Requests come through a bounded queue; a door that finds it full says "later". Questions without
//! an answer yet are parked here until the next frame or until they time out, so a door needs no
//! state of its own.

mod told;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{
    Agreement, Answer, Due, Have, Millis, Pace, Period, Reply, ServerExchange,
};
use sordino_core::federated::shares::Trust;
use sordino_core::math::Scalar;
use sordino_core::wire::{self, ScalarTag, WireError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::identity::Sealer;
use crate::shares;

pub use told::{Asked, Given, Status, Stop, Taken, Upload};

/// The most requests that wait at one time; a door that finds this many says "later".
pub const QUEUE: usize = 16_384;

/// How often a server without an open round looks whether one may begin.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// How long an agent that asks while no round is open is told to stay away.
const COME_BACK_MS: u64 = 5000;

/// What a door hands over; the door has already identified the sender.
pub enum Request {
    /// An agent asks for the frame after those that it has.
    Ask {
        /// Index of the agent.
        who: u32,
        /// The history it has.
        have: Have,
        /// How long it will wait for an answer.
        wait: Duration,
        /// Where the answer goes.
        reply: oneshot::Sender<Asked>,
    },
    /// An agent sends its answer to a round.
    Give {
        /// Index of the agent.
        who: u32,
        /// The bytes of the frame.
        frame: Bytes,
        /// Where the answer goes.
        reply: oneshot::Sender<Given>,
    },
}

struct Parked {
    who: u32,
    have: Have,
    until: Instant,
    reply: oneshot::Sender<Asked>,
}

/// The rounds of one federation, as agents see them.
pub struct Rounds {
    exchange: ServerExchange<Vec<u8>>,
    numbers_max: u32,
    scalar: ScalarTag,
    trailer: usize,
    /// Whether agents send shares behind frames without numbers.
    is_shared: bool,
    history: Vec<Digest>,
    frames: Vec<Bytes>,
    sealer: Sealer,
    requests: mpsc::Receiver<Request>,
    /// At most one question of each agent, so that nobody can fill this.
    parked: BTreeMap<u32, Parked>,
    expiry: Option<Instant>,
    start: Instant,
    opened: Millis,
    deadline: Millis,
    /// No round was announced since this server started: whoever asks is told to come back.
    is_waiting: bool,
    /// All rounds were over when this server started.
    was_over: bool,
    /// Contributions that a round needs to be released.
    needed: u32,
    /// Agents that have answered the open round: without those that nobody waits for.
    answered: u32,
    /// Those of them that had something to give.
    contributed: u32,
    status: watch::Sender<Status>,
}

impl Rounds {
    /// Before the first round. `trailer` bytes follow every upload: 0 except in a rehearsal.
    pub fn new(
        agreement: &Agreement,
        pace: Pace,
        sealer: Sealer,
        trailer: usize,
        requests: mpsc::Receiver<Request>,
    ) -> Self {
        let protocol = &agreement.protocol;
        Rounds {
            exchange: ServerExchange::new(agreement, pace, vec![0; protocol.agents() as usize]),
            numbers_max: protocol.upload_len() as u32,
            scalar: agreement.scalar,
            trailer,
            is_shared: shares::trust(protocol) == Trust::TwoServers,
            history: vec![agreement.digest()],
            frames: Vec::new(),
            sealer,
            requests,
            parked: BTreeMap::new(),
            expiry: None,
            start: Instant::now(),
            opened: Millis(0),
            deadline: Millis(0),
            is_waiting: false,
            was_over: false,
            needed: 0,
            answered: 0,
            contributed: 0,
            status: watch::Sender::new(Status {
                is_waiting: true,
                ..Status::default()
            }),
        }
    }

    /// The progress of the round, for people and metrics.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// The digests after 0, 1, … frames.
    pub fn history(&self) -> &[Digest] {
        &self.history
    }

    /// Puts the frames of earlier rounds back, before the first announcement.
    pub fn restore(&mut self, history: Vec<Digest>, frames: Vec<Bytes>) {
        (self.history, self.frames) = (history, frames);
    }

    /// From now on a round is released only when this many agents have contributed to it: a public
    /// number; an answer without numbers is none. Until then it is held: it stays open for another
    /// deadline, no noise is added, and nothing is charged.
    pub fn need(&mut self, contributions: u32) {
        self.needed = contributions;
    }

    fn now(&self) -> Millis {
        Millis(self.start.elapsed().as_millis() as u64)
    }

    /// The frame of the next round, and the history after it; nothing is announced. `vectors` are
    /// the broadcast of the round before, if there was one.
    ///
    /// **Errors**: [`Stop::Frame`]; [`Stop::History`].
    pub fn frame<T: Scalar>(
        &self,
        round: u32,
        attempt: u16,
        vectors: Option<&[T]>,
    ) -> Result<(Bytes, Digest), Stop> {
        let before = *self.history_before(round)?;
        let numbers = vectors.map_or(0, <[T]>::len);
        let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), numbers)];
        let (used, chain) = self
            .exchange
            .frame(round, attempt, &before, vectors, &mut frame)
            .map_err(Stop::Frame)?;
        frame.truncate(used);
        Ok((frame.into(), chain))
    }

    /// The digest after all frames before those of this round.
    fn history_before(&self, round: u32) -> Result<&Digest, Stop> {
        let known = self.history.len().min(self.frames.len() + 1);
        let before = self.history.get(round as usize);
        before
            .filter(|_| (round as usize) < known)
            .ok_or(Stop::History {
                round,
                frames: self.frames.len() as u32,
            })
    }

    /// Opens a round with its frame: agents that wait for it are answered now.
    ///
    /// **Errors**: [`Stop::History`]; of an agent that waited [`Stop::OlderDisk`],
    /// [`Stop::Forked`].
    pub fn announce(
        &mut self,
        round: u32,
        attempt: u16,
        frame: Bytes,
        chain: Digest,
        length_ms: u64,
        early: bool,
    ) -> Result<(), Stop> {
        self.history_before(round)?;
        let at = round as usize;
        self.frames.truncate(at);
        self.frames.push(frame);
        self.history.truncate(at + 1);
        self.history.push(chain);
        let opened = self.now();
        self.opened = opened;
        self.deadline = opened.after(length_ms);
        let period = Period {
            opened,
            deadline: self.deadline,
            may_close_early: early,
        };
        self.exchange.begin(round, attempt, chain, period);
        (self.is_waiting, self.answered, self.contributed) = (false, 0, 0);
        // All at once: nobody sees a round that is open and is not this one.
        self.tell_with(|status| (status.is_waiting, status.awaits_helper) = (false, false));
        std::mem::take(&mut self.parked)
            .into_values()
            .try_for_each(|parked| self.ask(parked))
    }

    /// All rounds were over when this server started, which is said with the announcement.
    pub fn was_over(&mut self) {
        self.was_over = true;
    }

    /// Stops waiting for agents that were shut out, where a round may close early. They count as
    /// zeros, as before, and nobody is told that they have answered.
    pub fn excuse(&mut self, slots: impl IntoIterator<Item = u32>) {
        slots.into_iter().for_each(|slot| self.exchange.took(slot));
        self.tell();
    }

    /// Sends everybody away for a while who asks, until `is_time` says that the first round may be
    /// announced.
    ///
    /// **Errors**: [`Stop`].
    pub async fn wait(&mut self, mut is_time: impl FnMut() -> bool) -> Result<(), Stop> {
        self.is_waiting = true;
        let mut look_again = Instant::now();
        loop {
            if Instant::now() >= look_again {
                if is_time() {
                    return Ok(());
                }
                look_again = Instant::now() + LOOK_AGAIN;
            }
            let until = self
                .expiry
                .map_or(look_again, |expiry| expiry.min(look_again));
            match tokio::time::timeout_at(until, self.requests.recv()).await {
                Ok(None) => return Err(Stop::NoDoor),
                Ok(Some(request)) => {
                    self.handle(request, &mut |_| Err("no round is open".into()))?
                }
                Err(_elapsed) => self.expire()?,
            }
        }
    }

    /// Whether the round stays open although its deadline has passed: fewer agents than it needs
    /// have contributed.
    fn holds(&mut self, length_ms: u64) -> bool {
        if self.contributed >= self.needed {
            return false;
        }
        let now = self.now();
        let contributed = self.contributed;
        let needed = self.needed;
        self.status.send_modify(|status| {
            status.held += 1;
            (status.held_with, status.needed) = (contributed, needed);
        });
        self.deadline = now.after(length_ms);
        self.exchange.postpone(self.deadline);
        true
    }

    /// When the round ends. That all have answered who were not shut out does not end one that is
    /// to be held.
    fn due(&self) -> Due {
        let now = self.now();
        match self.exchange.due(now) {
            Due::CloseEarly if self.contributed < self.needed && now < self.deadline => {
                Due::At(self.deadline)
            }
            Due::CloseEarly if self.contributed < self.needed => Due::Close,
            due => due,
        }
    }

    /// Answers requests until the round ends: at its deadline, or, if that was announced, when all
    /// have answered. A round that fewer agents than [needed](Rounds::need) have contributed to
    /// stays open for another `length_ms`, again and again. `take` gets uploads; what it refuses is
    /// said to the sender.
    ///
    /// **Returns** whether it closed early, because all have answered.
    ///
    /// **Errors**: [`Stop`].
    pub async fn collect(
        &mut self,
        length_ms: u64,
        mut take: impl FnMut(&Upload<'_>) -> Taken,
    ) -> Result<bool, Stop> {
        loop {
            let now = self.now();
            let due = self.due();
            let Due::At(deadline) = due else {
                if due == Due::Close && self.holds(length_ms) {
                    continue;
                }
                self.exchange.close();
                return Ok(due == Due::CloseEarly);
            };
            let deadline = Instant::now() + Duration::from_millis(deadline.since(now));
            let until = self.expiry.map_or(deadline, |expiry| expiry.min(deadline));
            match tokio::time::timeout_at(until, self.requests.recv()).await {
                Ok(None) => return Err(Stop::NoDoor),
                Ok(Some(request)) => {
                    self.handle(request, &mut take)?;
                    // Whatever else is there already.
                    while self.due() == due
                        && let Ok(request) = self.requests.try_recv()
                    {
                        self.handle(request, &mut take)?;
                    }
                }
                Err(_) => self.expire()?,
            }
            self.tell();
        }
    }

    /// Goes on answering after the last round, until it is dropped: the last acknowledgement of
    /// some may have been lost.
    ///
    /// **Returns** only when something goes wrong.
    pub async fn linger(&mut self) -> Stop {
        self.exchange.close();
        loop {
            let Some(request) = self.requests.recv().await else {
                return Stop::NoDoor;
            };
            if let Err(stop) = self.handle(request, &mut |_| Err("the federation is over".into())) {
                return stop;
            }
        }
    }

    /// Tells that the round is closed and waits for the answer of the server's helper.
    pub fn awaits_helper(&mut self) {
        self.tell_with(|status| status.awaits_helper = true);
    }

    /// Goes on answering while something else is awaited after a round: who uploads is told that
    /// the round is over.
    ///
    /// **Errors**: [`Stop`].
    pub async fn meanwhile<R>(&mut self, work: impl Future<Output = R>) -> Result<R, Stop> {
        self.exchange.close();
        let mut work = std::pin::pin!(work);
        loop {
            let expires = self.expiry.is_some();
            let until = self.expiry.unwrap_or_else(Instant::now);
            tokio::select! {
                done = &mut work => return Ok(done),
                request = self.requests.recv() => {
                    let request = request.ok_or(Stop::NoDoor)?;
                    self.handle(request, &mut |_| Err("the round is over".into()))?;
                }
                () = tokio::time::sleep_until(until), if expires => self.expire()?,
            }
            self.tell();
        }
    }

    fn handle(
        &mut self,
        request: Request,
        take: &mut impl FnMut(&Upload<'_>) -> Taken,
    ) -> Result<(), Stop> {
        match request {
            Request::Ask {
                who,
                have,
                wait,
                reply,
            } => self.ask(Parked {
                who,
                have,
                until: Instant::now() + wait,
                reply,
            }),
            Request::Give { who, frame, reply } => {
                let said = self.give(who, &frame, take);
                self.count(|status| match said {
                    Given::Reply(Reply::Taken) => &mut status.taken,
                    Given::Reply(Reply::Already) => &mut status.repeated,
                    _ => &mut status.refused,
                });
                // Whoever hung up asks again.
                drop(reply.send(said));
                Ok(())
            }
        }
    }

    /// Answers, or parks the question until there is an answer or it times out.
    fn ask(&mut self, asked: Parked) -> Result<(), Stop> {
        let answer = match self
            .exchange
            .asked(asked.who, &asked.have, &self.history, self.now())
        {
            Answer::Frame { .. } if self.is_waiting => {
                // A frame of an attempt that is over would be answered for nothing.
                let after_ms = LOOK_AGAIN.as_millis() as u64;
                if asked.until > Instant::now() {
                    self.park(asked, after_ms);
                    return Ok(());
                }
                Asked::Later {
                    after_ms: COME_BACK_MS,
                }
            }
            Answer::Frame { round } => self.sealed(round),
            Answer::Later { after_ms } if asked.until > Instant::now() => {
                self.park(asked, after_ms);
                return Ok(());
            }
            Answer::Later { after_ms } => Asked::Later { after_ms },
            Answer::NotYou => Asked::NotYou,
            Answer::Fork { frames }
                if self
                    .sealer
                    .made(frames, &asked.have.chain, &asked.have.seal) =>
            {
                return Err(Stop::Forked { frames });
            }
            Answer::Fork { .. } => Asked::Fork,
            Answer::Ahead { frames }
                if self
                    .sealer
                    .made(frames, &asked.have.chain, &asked.have.seal) =>
            {
                return Err(Stop::OlderDisk {
                    theirs: frames,
                    ours: self.frames.len() as u32,
                });
            }
            Answer::Ahead { .. } => Asked::Unsealed,
        };
        if matches!(answer, Asked::NotYou | Asked::Fork | Asked::Unsealed) {
            self.count(|status| &mut status.refused);
        }
        drop(asked.reply.send(answer));
        Ok(())
    }

    /// Keeps a question until there is an answer, or its time is over.
    fn park(&mut self, asked: Parked, after_ms: u64) {
        self.expiry = Some(
            self.expiry
                .map_or(asked.until, |expiry| expiry.min(asked.until)),
        );
        if let Some(before) = self.parked.insert(asked.who, asked) {
            // It asks again: whoever waited for the answer to its first question has hung up.
            drop(before.reply.send(Asked::Later { after_ms }));
        }
    }

    fn sealed(&self, round: u32) -> Asked {
        let (Some(bytes), Some(chain)) = (
            self.frames.get(round as usize),
            self.history.get(round as usize + 1),
        ) else {
            return Asked::Later { after_ms: 1 };
        };
        Asked::Frame {
            bytes: bytes.clone(),
            current: self.exchange.round(),
            seal: self.sealer.seal(round + 1, chain),
        }
    }

    fn give(
        &mut self,
        who: u32,
        bytes: &[u8],
        take: &mut impl FnMut(&Upload<'_>) -> Taken,
    ) -> Given {
        let Some((message, trailer)) = bytes
            .len()
            .checked_sub(self.trailer)
            .and_then(|at| bytes.split_at_checked(at))
        else {
            return Given::Refused("shorter than what follows a frame".into());
        };
        let cut = if self.is_shared {
            shares::split(message)
        } else {
            Ok((message, &[][..]))
        };
        let (frame, share) = match cut {
            Ok(cut) => cut,
            Err(error) => return Given::Refused(error.to_string()),
        };
        let (header, payload) = match wire::decode(frame, self.numbers_max) {
            Ok(decoded) => decoded,
            Err(error) => return Given::Refused(error.to_string()),
        };
        if let Some(reply) = self.exchange.given(who, &header, self.now()) {
            return Given::Reply(reply);
        }
        // An answer without numbers: an agent that has nothing to give counts as absent.
        if (header.len > 0 && header.scalar != self.scalar)
            || (header.len != 0 && header.len != self.numbers_max)
        {
            let len = header.len;
            let scalar = header.scalar;
            return Given::Refused(WireError::Payload { scalar, len }.to_string());
        }
        if self.is_shared && header.len > 0 {
            return Given::Refused(
                "numbers that are no share: there are two servers, and none of them may see these"
                    .into(),
            );
        }
        match take(&Upload {
            who,
            header: &header,
            payload: &payload,
            share,
            trailer,
        }) {
            Ok(()) => {
                self.exchange.took(who);
                self.answered += 1;
                // An answer without numbers is an answer, and nothing in a release.
                if header.len > 0 || !share.is_empty() {
                    self.contributed += 1;
                }
                Given::Reply(Reply::Taken)
            }
            Err(reason) => Given::Refused(reason),
        }
    }

    /// Answers the questions that have timed out.
    fn expire(&mut self) -> Result<(), Stop> {
        let now = Instant::now();
        let (over, parked): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.parked)
            .into_iter()
            .partition(|(_, parked)| parked.until <= now);
        self.expiry = parked.values().map(|parked| parked.until).min();
        self.parked = parked;
        over.into_values().try_for_each(|parked| self.ask(parked))
    }

    fn count(&mut self, of: impl FnOnce(&mut Status) -> &mut u64) {
        self.status.send_modify(|status| *of(status) += 1);
    }

    fn tell(&mut self) {
        self.tell_with(|_| {});
    }

    /// Tells how the round stands, with this change.
    fn tell_with(&mut self, change: impl FnOnce(&mut Status)) {
        let round = self.exchange.round();
        // Without those that were shut out, whom the exchange does not wait for.
        let answered = self.answered;
        let now = self.now();
        let closes_in_ms = match self.exchange.due(now) {
            Due::At(deadline) => deadline.since(now),
            _ => 0,
        };
        let open_for_ms = now.since(self.opened);
        let waiting = self.parked.len() as u32;
        let was_over = self.was_over;
        self.status.send_modify(|status| {
            status.was_over = was_over;
            status.told_at = Some(Instant::now());
            change(status);
            (status.round, status.answered, status.closes_in_ms) = (round, answered, closes_in_ms);
            (status.open_for_ms, status.waiting) = (open_for_ms, waiting);
        });
    }
}
