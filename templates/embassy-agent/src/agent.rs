//! What an agent of any method does: ask, measure, write, tell, write, send. docs/reset.md says why
//! in this order, and `federated::exchange` of core what is said to the server.

use core::fmt::Debug;

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::CacheImpl;
use sordino_core::federated::exchange::{
    AgentExchange, Agreement, FrameError, Have, Heard, Reply, Want,
};
use sordino_core::federated::prior::Released;
use sordino_core::federated::{Entry, Frame, Member, Next};
use sordino_core::snapshot::Stored;
use sordino_core::wire::{self, Header, Kind};

use crate::board::{self, Answer, Link, Request};
use crate::config::{AGENT, FRAME, NUMBERS};
use crate::federation::DIM;
use crate::store::{LOG, PAST, RELEASES, STATE, Store};

/// Milliseconds after which a frame that says nothing is asked for again.
const AGAIN: u64 = 1000;

/// What is asked of an agent of either method, beside what core's [`Member`] does.
pub trait Machine: Member<f32, Error: Debug> {
    /// What it keeps beside its log and its releases.
    type State: Clone;
    /// Whether its numbers are a function of the releases, which are therefore kept.
    const KEEPS_RELEASES: bool;

    /// The state that it works on.
    fn state(&self) -> &Self::State;

    /// Where a candidate lies in the unit box.
    fn point(&self, candidate: u32) -> [f32; DIM];

    /// Whether a contribution to this release fits the budget that was announced.
    fn affords(&self, agreement: &Agreement, release: u32) -> bool;

    /// How its contribution becomes integers, which are what is hidden.
    #[cfg(two_servers)]
    fn encoding(&mut self) -> sordino_core::federated::prior::JointVectors;
}

/// An agent, its exchange with the server, and where both are kept.
pub struct Party<'p, M, F: NorFlash, C: CacheImpl<u16>> {
    pub agreement: &'p Agreement,
    pub machine: M,
    pub exchange: AgentExchange,
    /// How often the state was written.
    pub written: u32,
    pub store: Store<F, C>,
    pub link: &'static Link,
    #[cfg(two_servers)]
    pub masks: crate::masks::Masks,
}

/// How often the state was written, the state and the exchange: as flash has them, or an agent that
/// begins.
pub async fn found<S, F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
    store: &mut Store<F, C>,
    agreement: &Agreement,
    first: impl FnOnce() -> S,
) -> (u32, S, AgentExchange)
where
    (S, AgentExchange): Stored,
{
    if let Some((written, (state, exchange))) = store.load(STATE).await.expect("flash") {
        return (written, state, exchange);
    }
    // The state is written before all that follows from it.
    let is_lost = store.holds(PAST).await.expect("flash");
    assert!(
        !is_lost,
        "the state is lost, and what followed from it is not: take a new invitation and an erased flash"
    );
    (0, first(), AgentExchange::new(agreement, AGENT))
}

/// Puts the observations that were made before a reset into the agent's log.
pub async fn read_log<F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
    store: &mut Store<F, C>,
    observations: u32,
    offset: f64,
    log: &mut [f32],
) {
    for number in 0..observations {
        let (_, entry): (u32, Entry<f32>) = store
            .load(LOG + number as u16)
            .await
            .expect("flash")
            .expect("an entry");
        entry
            .put(number, offset, log)
            .expect("a log of a whole run");
    }
}

impl<M: Machine, F: NorFlash<Error: Debug>, C: CacheImpl<u16>> Party<'_, M, F, C>
where
    (M::State, AgentExchange): Stored,
{
    /// From the boot to the end of the run.
    pub async fn take_part(&mut self) {
        loop {
            let is_changed = match self.exchange.want(board::now()) {
                Want::Done => return,
                Want::Refused => panic!("the server does not know this device, or no longer"),
                Want::Wait(until) => {
                    board::sleep_until(until).await;
                    false
                }
                Want::Ask(have) => self.ask(&have).await,
                Want::Work => {
                    self.work().await;
                    true
                }
                Want::Give(header) => self.give(header).await,
            };
            // What comes of waiting is no wear of the flash.
            if !is_changed {
                continue;
            }
            self.written += 1;
            let kept = (self.machine.state().clone(), self.exchange.clone());
            self.store
                .save(STATE, &kept, self.written)
                .await
                .expect("flash");
        }
    }

    /// Asks again after this time: nothing is to store.
    fn later(&mut self, after_ms: u64) -> bool {
        self.exchange.later(after_ms, board::now());
        false
    }

    /// What comes after what it has? The answer is handed to the agent. Whether there is something
    /// to store.
    async fn ask(&mut self, have: &Have) -> bool {
        let (frame, current, seal) = match board::ask(self.link, Request::Next(*have)).await {
            Answer::Next {
                frame,
                current,
                seal,
            } => (frame, current, seal),
            Answer::Later { after_ms } => return self.later(after_ms),
            Answer::Reply(_) => {
                self.exchange.not_you();
                return true;
            }
        };
        let mut numbers = [0.0; NUMBERS];
        let (bytes, len) = frame;
        let Ok((header, payload)) = wire::decode(&bytes[..len], self.agreement.frame_numbers_max())
        else {
            return self.later(AGAIN);
        };
        let numbers = &mut numbers[..header.len as usize];
        if payload.read(numbers).is_err() {
            return self.later(AGAIN);
        }
        let before = self.exchange.clone();
        let released = (header.kind == Kind::Broadcast).then_some(&*numbers);
        let frame = match (
            self.exchange.frame(&header, &payload, current, seal),
            released,
        ) {
            (Err(FrameError::Fork { round }), _) => {
                panic!("two histories in round {round}: nothing more is sent")
            }
            // Of another federation, or late.
            (Err(_), _) => return self.later(AGAIN),
            (Ok(Heard::Again), _) => return true,
            (Ok(Heard::Missed), numbers) => Frame::Missed(numbers),
            (Ok(Heard::Enter), _) if header.round == 0 => Frame::Start,
            (Ok(Heard::Enter), Some(numbers)) => Frame::Released(numbers),
            (Ok(Heard::Enter), None) => Frame::Nothing,
        };
        // What is no release is refused before it is stored: a server that sends it again wears no
        // flash.
        let numbers = frame.numbers().unwrap_or_default();
        let is_whole = !M::KEEPS_RELEASES || numbers.is_empty() || numbers.len() == NUMBERS;
        if !is_whole || !numbers.iter().all(|x: &f32| x.is_finite()) {
            self.exchange = before;
            return self.later(AGAIN);
        }
        // In flash before it is learned, also that there was none.
        if let (true, Some(release)) = (M::KEEPS_RELEASES, header.round.checked_sub(1)) {
            let kept = Released::<f32, NUMBERS>::new(numbers).expect("its numbers");
            self.store
                .save(RELEASES + release as u16, &kept, release)
                .await
                .expect("flash");
        }
        if self.machine.enter(frame).is_err() {
            self.exchange = before;
            return self.later(AGAIN);
        }
        true
    }

    /// The next observation of this epoch, if there is one.
    async fn work(&mut self) {
        let Next::Query { candidate, number } = self.machine.next().expect("as before the reset")
        else {
            return self.exchange.made();
        };
        let value = self.measured(candidate, number).await;
        self.machine.observed(value).expect("a finite number");
    }

    /// The value of an observation: that of the log, if it was written before a reset.
    async fn measured(&mut self, candidate: u32, number: u32) -> f32 {
        let key = LOG + number as u16;
        match self.store.load::<Entry<f32>>(key).await.expect("flash") {
            Some((found, entry)) if found == number && entry.candidate == candidate => entry.value,
            _ => {
                let value = board::measure(self.machine.point(candidate)).await;
                // Before it is in flash: what the agent refuses would be told it at every boot.
                assert!(value.is_finite(), "its sensor says no number");
                self.store
                    .save(key, &Entry { candidate, value }, number)
                    .await
                    .expect("flash");
                value
            }
        }
    }

    /// Sends the answer of this epoch. The state that it follows from is in flash: it was written
    /// after [`Want::Work`]. Whether there is something to store.
    async fn give(&mut self, header: Header) -> bool {
        let mut message = [0; FRAME];
        let len = self.answer(header, &mut message).await;
        let Answer::Reply(reply) = board::ask(self.link, Request::Give((message, len))).await
        else {
            return self.later(AGAIN);
        };
        self.exchange.told(header.round, reply, board::now());
        !matches!(reply, Reply::Later { .. })
    }

    /// The numbers of this epoch's answer: none if there is nothing to give, or nothing that the
    /// budget admits.
    fn numbers(&mut self, release: u32) -> &[f32] {
        let is_afforded = self.machine.affords(self.agreement, release);
        match self.machine.next().expect("as before") {
            Next::Give(numbers) if is_afforded => numbers,
            _ => &[],
        }
    }

    /// Writes this epoch's answer into `message` and returns its length.
    #[cfg(not(two_servers))]
    async fn answer(&mut self, header: Header, message: &mut [u8; FRAME]) -> usize {
        wire::encode(header, self.numbers(header.round), message)
            .expect("the buffer holds any frame")
    }

    /// Writes this epoch's answer into `message` and returns its length: a frame without numbers,
    /// and behind it the attempt and the share. No number of a contribution leaves this function in
    /// the clear.
    #[cfg(two_servers)]
    async fn answer(&mut self, header: Header, message: &mut [u8; FRAME]) -> usize {
        let len = wire::encode::<f32>(header, &[], message).expect("the buffer holds any frame");
        let mut numbers = [0.0; NUMBERS];
        match self.numbers(header.round) {
            [] => return len,
            given => numbers.copy_from_slice(given),
        }
        let encoding = self.machine.encoding();
        len + self
            .masks
            .hide(
                (header.round, &encoding),
                &numbers,
                &mut self.store,
                &mut message[len..],
            )
            .await
    }
}
