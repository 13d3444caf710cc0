//! The agent with its exchange, in flash: what comes of an input is stored before it is acted upon, by the rules of
//! `docs/reset.md`.
//!
//! | slots | what |
//! |---|---|
//! | 0, 1 | [`Kept`]: agent, exchange and what was contributed to, in one piece |
//! | 2 and up | an observation each |

use core::fmt;

use firmware_example::reset::{Flash, Stop};
use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{AgentExchange, Agreement, FrameError, Heard, Millis, Reply, Seal, Want};
use sordino_core::federated::transcript::AgentLeaf;
use sordino_core::federated::{
    Agent, AgentError, AgentState, AgentStorage, Entry, Input, Output, Phase, Public, storage_len,
};
use sordino_core::privacy::budget::{BudgetError, Filter};
use sordino_core::random::RunSeed;
use sordino_core::snapshot::Stored;
use sordino_core::wire::{self, Header, Kind, WireError};

/// The first slot of the log.
const LOG: usize = 2;
/// What follows an upload in a rehearsal: the agent's leaf of the transcript and its best value.
const TRAILER: usize = 40;

/// Why the device gives up.
#[derive(Clone, Copy, Debug)]
pub enum Fatal {
    /// What it was given, or agreed to, does not fit: which part.
    Given(&'static str),
    /// What it finds in flash is refused, or its power was cut.
    Flash(Stop),
    /// The machine refused.
    Agent(AgentError),
    /// A frame of the server that must not be believed.
    Frame(FrameError),
    /// A frame that does not decode, or cannot be written.
    Wire(WireError),
    /// The server does not know this device's key, or has shut it out, or tells another history.
    Refused(u16),
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fatal::Given(what) => write!(f, "what this device was given does not fit: {what}"),
            Fatal::Flash(stop) => write!(f, "flash: {stop:?}"),
            Fatal::Agent(error) => write!(f, "agent: {error}"),
            Fatal::Frame(error) => write!(f, "the server sent {error}"),
            Fatal::Wire(error) => write!(f, "frame: {error}"),
            Fatal::Refused(status) => write!(f, "the server says {status}"),
        }
    }
}

impl core::error::Error for Fatal {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Fatal::Agent(error) => Some(error),
            Fatal::Frame(error) => Some(error),
            Fatal::Wire(error) => Some(error),
            Fatal::Given(_) | Fatal::Flash(_) | Fatal::Refused(_) => None,
        }
    }
}

impl From<Stop> for Fatal {
    fn from(stop: Stop) -> Self {
        Fatal::Flash(stop)
    }
}

impl From<AgentError> for Fatal {
    fn from(error: AgentError) -> Self {
        Fatal::Agent(error)
    }
}

impl From<WireError> for Fatal {
    fn from(error: WireError) -> Self {
        Fatal::Wire(error)
    }
}

/// Everything but the log.
#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    state: AgentState,
    exchange: AgentExchange,
    /// How many rounds were contributed to, and the last of them.
    given: u32,
    last: Option<u32>,
}

/// Bytes that postcard takes for a u32 at most.
const WORD: usize = 5;

impl Stored for Kept {
    const KIND: u8 = 0x4e;
    // Beside agent and exchange: how many rounds, whether there is a last one, and which.
    const BODY_MAX: usize = <(AgentState, AgentExchange)>::BODY_MAX + 2 * WORD + 1;
}

/// The party at work.
pub struct Party<'a, 'f> {
    agreement: &'a Agreement,
    digest: Digest,
    agent: Agent<'a, f32>,
    exchange: AgentExchange,
    flash: &'a mut Flash<'f>,
    number: u32,
    given: u32,
    last: Option<u32>,
    sensor: &'a [u8],
    candidates: u32,
    broadcast: &'a mut [f32],
}

/// What a party borrows beside its agreement.
pub struct Parts<'a, 'f> {
    /// Where it is stored.
    pub flash: &'a mut Flash<'f>,
    /// The numbers of the agent and of one broadcast.
    pub numbers: &'a mut [f32],
    /// The values of its sensor.
    pub sensor: &'a [u8],
}

/// The state of a party, which its agent borrows: read before it is put together.
pub struct Found {
    state: AgentState,
    exchange: AgentExchange,
    number: u32,
    given: u32,
    last: Option<u32>,
}

impl Found {
    /// What flash holds under this agreement, or a party before its beginning, which is then stored.
    ///
    /// **Errors**: [`Fatal::Flash`].
    pub fn load(flash: &mut Flash<'_>, agreement: &Agreement, agent: u32, seed: RunSeed) -> Result<Self, Fatal> {
        let (state, exchange) = (AgentState::new(agent, seed), AgentExchange::new(agreement, agent));
        let (number, kept) = flash.load(Kept { state, exchange, given: 0, last: None }, &agreement.digest())?;
        let Kept { state, exchange, given, last } = kept;
        Ok(Found { state, exchange, number, given, last })
    }
}

impl<'a, 'f> Party<'a, 'f> {
    /// Joins what was found with its log and its numbers.
    ///
    /// **Errors**: [`Fatal`].
    pub fn attach(
        agreement: &'a Agreement,
        public: &'a Public<'a, f32>,
        found: &'a mut Found,
        parts: Parts<'a, 'f>,
    ) -> Result<Self, Fatal> {
        let Parts { flash, numbers, sensor } = parts;
        let (protocol, digest) = (&agreement.protocol, agreement.digest());
        let short = Fatal::Given("more numbers than this device has memory for");
        let (broadcast, rest) = numbers.split_at_mut_checked(protocol.released_len()).ok_or(short)?;
        let rest = rest.get_mut(..storage_len(public)).ok_or(short)?;
        let storage = AgentStorage::split(public, rest).map_err(|_| short)?;
        for i in 0..found.state.observations() {
            let entry: Option<Entry<f32>> = flash.entry(LOG + i as usize, i, &digest);
            let entry = entry.ok_or(Fatal::Given("an observation is missing in its log"))?;
            entry.put(i, protocol.offset(), storage.log).map_err(|_| short)?;
        }
        let agent = Agent::attach(public, &mut found.state, storage)?;
        let (exchange, number, candidates) = (found.exchange.clone(), found.number, public.candidates().count());
        let (given, last) = (found.given, found.last);
        Ok(Party { agreement, digest, agent, exchange, flash, number, given, last, sensor, candidates, broadcast })
    }

    /// How it stands with its server.
    pub fn exchange(&mut self) -> &mut AgentExchange {
        &mut self.exchange
    }

    /// What to do at this moment.
    pub fn want(&self, now: Millis) -> Want {
        self.exchange.want(now)
    }

    /// Rounds that were contributed to, points that were measured, and the history.
    pub fn told(&self) -> (u32, u32, Digest) {
        (self.given, self.agent.state().observations(), self.exchange.have().chain)
    }

    /// Makes everything durable that a reset needs.
    ///
    /// **Errors**: [`Fatal::Flash`].
    pub fn save(&mut self) -> Result<(), Fatal> {
        let (state, exchange) = (self.agent.state().clone(), self.exchange.clone());
        let kept = Kept { state, exchange, given: self.given, last: self.last };
        Ok(self.flash.save(&kept, &mut self.number, &self.digest)?)
    }

    /// What the server said to an answer.
    pub fn replied(&mut self, round: u32, reply: Reply, now: Millis) {
        self.exchange.told(round, reply, now);
    }

    /// A frame of the server, not stored yet.
    ///
    /// **Errors**: [`Fatal`].
    pub fn heard(&mut self, bytes: &[u8], current: u32, seal: Seal) -> Result<(), Fatal> {
        let (header, payload) = wire::decode(bytes, self.agreement.frame_numbers_max())?;
        let heard = match self.exchange.frame(&header, &payload, current, seal) {
            // An older frame that came late says nothing.
            Err(FrameError::Round { .. }) => return Ok(()),
            heard => heard.map_err(Fatal::Frame)?,
        };
        let vectors = self.broadcast.get_mut(..header.len as usize).ok_or(Fatal::Given("a frame too long"))?;
        payload.read(vectors)?;
        let input = match (heard, header.kind) {
            (Heard::Again, _) => return Ok(()),
            (Heard::Missed, _) => Input::Missed,
            (Heard::Enter, _) if header.round == 0 => Input::Start,
            (Heard::Enter, Kind::Broadcast) => Input::Broadcast { vectors, maximum: None },
            (Heard::Enter, _) => Input::NoBroadcast,
        };
        self.agent.handle(input)?;
        Ok(())
    }

    /// One observation, or the end of the round; not stored yet, but for the observation itself.
    ///
    /// **Errors**: [`Fatal`].
    pub fn work(&mut self) -> Result<(), Fatal> {
        if !matches!(self.agent.state().phase(), Phase::Initial | Phase::Evaluating) {
            self.exchange.made();
            return Ok(());
        }
        let Output::Evaluate { candidate, number, .. } = self.agent.repeat()? else {
            return Ok(());
        };
        let slot = LOG + number as usize;
        let value = match self.flash.entry::<Entry<f32>>(slot, number, &self.digest) {
            Some(entry) if entry.candidate == candidate => entry.value,
            _ => {
                self.flash.step().map_err(Stop::from)?;
                let value = self.measure(candidate, number)?;
                self.flash.write(slot, &Entry { candidate, value }, number, &self.digest)?;
                value
            }
        };
        match self.agent.handle(Input::Observed(value)).map(|_| ()) {
            // The round is over, and there is nothing to give.
            Ok(()) | Err(AgentError::UploadNotFinite { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// What the sensor shows.
    fn measure(&self, candidate: u32, number: u32) -> Result<f32, Fatal> {
        let place = 4 * (number as usize * self.candidates as usize + candidate as usize);
        let shown = self.sensor.get(place..).and_then(|rest| rest.first_chunk());
        shown.map(|bytes| f32::from_le_bytes(*bytes)).ok_or(Fatal::Given("its sensor has no such value"))
    }

    /// Writes this round's answer: how many bytes. What it contributes to is stored before it can leave.
    ///
    /// **Errors**: [`Fatal`].
    pub fn answer(&mut self, header: Header, out: &mut [u8]) -> Result<usize, Fatal> {
        let new = self.last != Some(header.round);
        let affords = !new || self.affords()?;
        let leaf = self.leaf(header.round)?;
        let upload: &[f32] = match self.agent.repeat() {
            Ok(Output::Upload(vector)) if affords => vector,
            Ok(_) | Err(AgentError::UploadNotFinite { .. }) => &[],
            Err(error) => return Err(error.into()),
        };
        let (used, contributes) = (wire::encode(header, upload, out)?, !upload.is_empty());
        let leaf = leaf.end(upload);
        let trailer = out.get_mut(used..used + TRAILER).ok_or(Fatal::Given("an answer too long"))?;
        trailer[..32].copy_from_slice(&leaf.0);
        // The best value without noise, which no device knows: it is in no digest.
        trailer[32..].fill(0);
        if contributes && new {
            (self.given, self.last) = (self.given + 1, Some(header.round));
            self.save()?;
        }
        Ok(used + TRAILER)
    }

    /// The leaf of the transcript of this round, up to what was uploaded: the observations that it made.
    fn leaf(&self, round: u32) -> Result<AgentLeaf, Fatal> {
        let first = self.agreement.protocol.initial_points();
        let (from, count) = if round == 0 { (0, first) } else { (first + round - 1, 1) };
        let mut leaf = AgentLeaf::new(self.agent.state().agent(), round, count);
        for number in from..from + count {
            let entry: Option<Entry<f32>> = self.flash.entry(LOG + number as usize, number, &self.digest);
            let entry = entry.ok_or(Fatal::Given("an observation is missing in its log"))?;
            leaf.observation(entry.candidate, entry.value);
        }
        Ok(leaf)
    }

    /// Whether one more contribution fits the budget that was announced.
    fn affords(&self) -> Result<bool, Fatal> {
        let announced = self.agreement.announced;
        let Some(epsilon_max) = announced.epsilon_max else { return Ok(true) };
        let unfit = Fatal::Given("a budget that cannot be counted");
        let event = self.agreement.protocol.event(0).map_err(|_| unfit)?.ok_or(unfit)?;
        let mut filter = Filter::new(epsilon_max, announced.delta).map_err(|_| unfit)?;
        for _ in 0..self.given {
            filter.charge(&event).map_err(|_| unfit)?;
        }
        match filter.admits(&event) {
            Ok(()) => Ok(true),
            Err(BudgetError::Exhausted { .. }) => Ok(false),
            Err(_) => Err(unfit),
        }
    }
}
