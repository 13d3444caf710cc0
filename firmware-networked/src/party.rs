//! An agent of either method with its exchange, in flash: what comes of an input is stored before
//! it is acted upon, by the rules of `docs/reset.md`.
//!
//! | slots | what |
//! |---|---|
//! | 0, 1 | [`Kept`]: agent, exchange and what was contributed to, in one piece |
//! | 2, 3 | which masks were used, where there are two servers; in 2 how long the file of a campaign is, of which a site keeps no releases |
//! | 4 to 11 | a release each, of which a member makes its posterior again |
//! | 12 and up | an observation each |

use firmware_example::reset::{Flash, SLOT, Stop};
use heapless::Vec;
use serde::{Deserialize, Serialize};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{
    AgentExchange, Agreement, FrameError, Heard, Protocol, Seal,
};
use sordino_core::federated::{AgentState, Entry, Frame, Next};
use sordino_core::privacy::Event;
use sordino_core::privacy::budget::{BudgetError, Filter};
use sordino_core::snapshot::Stored;
use sordino_core::wire::{self, Header, Kind, Payload, ScalarTag};

use crate::fatal::Fatal;
use crate::leaves;
use crate::machine::{LOG, Machine, State, WORD};
use crate::masks::{self, HIDDEN_MAX, Masks, NUMBERS_MAX, hidden_max};
use crate::takes::{TakesPart, Told};

/// The first slot of the releases, and how many there are.
const RELEASES: usize = 4;
const RELEASES_MAX: u32 = 8;
const _: () = assert!(RELEASES + RELEASES_MAX as usize == LOG);

/// Everything but log, masks and releases.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "S: State")]
struct Kept<S> {
    state: S,
    exchange: AgentExchange,
    /// How many rounds were contributed to, and the last of them.
    given: u32,
    last: Option<u32>,
    /// Which releases were learned and are kept, by bits.
    learned: u8,
}

impl<S: State> Stored for Kept<S> {
    const KIND: u8 = S::KIND;
    // Beside agent and exchange: how many rounds, whether there is a last one, and which; which
    // releases.
    const BODY_MAX: usize = S::BODY_MAX + <(AgentState, AgentExchange)>::BODY_MAX
        - <AgentState as Stored>::BODY_MAX
        + 2 * WORD
        + 2;
}

/// The numbers of a release.
type Released = sordino_core::federated::prior::Released<f32, NUMBERS_MAX>;

/// The state of a party, which its machine borrows: read before it is put together.
pub struct Found<S> {
    /// The agent's state.
    pub state: S,
    /// What is kept beside it.
    pub standing: Standing,
}

/// Where a party stands with its server.
#[derive(Clone)]
pub struct Standing {
    /// What was exchanged.
    pub exchange: AgentExchange,
    /// How often it was stored.
    number: u32,
    /// How many rounds were contributed to, and the last of them.
    pub given: u32,
    last: Option<u32>,
    /// Which releases were learned; of a site, whether it heard of one.
    pub learned: u8,
}

impl<S: State> Found<S> {
    /// What flash holds under this agreement, or a party before its beginning, which is then
    /// stored.
    ///
    /// **Errors**: [`Fatal::Flash`].
    pub fn load(flash: &mut Flash<'_>, agreement: &Agreement, first: S) -> Result<Self, Fatal> {
        let exchange = AgentExchange::new(agreement, first.agent());
        let kept = Kept {
            state: first,
            exchange,
            given: 0,
            last: None,
            learned: 0,
        };
        // The state is written before anything that follows from it.
        let is_new = flash.is_blank(0) && flash.is_blank(1);
        if is_new && (RELEASES..flash.bytes.len() / SLOT).any(|slot| !flash.is_blank(slot)) {
            return Err(Fatal::Given(
                "its state is lost, and what it observed is not: it needs a new secret and invitation",
            ));
        }
        let (number, kept) = flash.load(kept, &agreement.digest())?;
        let Kept {
            state,
            exchange,
            given,
            last,
            learned,
        } = kept;
        Ok(Found {
            state,
            standing: Standing {
                exchange,
                number,
                given,
                last,
                learned,
            },
        })
    }

    /// Reads the log of observations back.
    ///
    /// **Errors**: [`Fatal::Given`] for one that is missing or has no place.
    pub fn read_log(
        &self,
        flash: &Flash<'_>,
        agreement: &Agreement,
        log: &mut [f32],
    ) -> Result<(), Fatal> {
        let protocol = &agreement.protocol;
        let digest = agreement.digest();
        let observations = protocol.initial_points().saturating_add(protocol.rounds()) as usize;
        if observations.saturating_add(LOG) > flash.bytes.len() / SLOT {
            return Err(Fatal::Given(
                "more observations than this device has flash for",
            ));
        }
        for i in 0..self.state.observations() {
            let entry: Option<Entry<f32>> = flash.entry(LOG + i as usize, i, &digest);
            let entry = entry.ok_or(Fatal::Given("an observation is missing in its log"))?;
            let put = entry.put(i, protocol.offset(), log);
            put.map_err(|_| Fatal::Given("more observations than this device has memory for"))?;
        }
        Ok(())
    }
}

impl Standing {
    /// Makes it durable, in one piece with a state.
    ///
    /// **Errors**: [`Fatal::Flash`].
    pub fn save<S: State>(
        &mut self,
        state: &S,
        flash: &mut Flash<'_>,
        agreement: &Digest,
    ) -> Result<(), Fatal> {
        let Standing {
            exchange,
            number,
            given,
            last,
            learned,
        } = self;
        let kept = Kept {
            state: state.clone(),
            exchange: exchange.clone(),
            given: *given,
            last: *last,
            learned: *learned,
        };
        Ok(flash.save(&kept, number, agreement)?)
    }

    /// A frame of the server; nothing of an older one that came late.
    ///
    /// **Errors**: [`Fatal::Frame`].
    pub fn hear(
        &mut self,
        header: &Header,
        payload: &Payload<'_>,
        current: u32,
        seal: Seal,
    ) -> Result<Option<Heard>, Fatal> {
        match self.exchange.frame(header, payload, current, seal) {
            Err(FrameError::Round { .. }) => Ok(None),
            heard => heard.map(Some).map_err(Fatal::Frame),
        }
    }

    /// Whether nothing was contributed to this round yet.
    pub fn is_new(&self, round: u32) -> bool {
        self.last != Some(round)
    }

    /// Counts a contribution to this round, once: to be stored before it leaves.
    pub fn count(&mut self, round: u32) {
        if self.is_new(round) {
            (self.given, self.last) = (self.given + 1, Some(round));
        }
    }

    /// Puts the numbers of a release into `numbers`, if it was learned.
    ///
    /// **Errors**: [`Fatal::Given`] for one that was learned and is missing.
    pub fn read_release(
        &self,
        flash: &Flash<'_>,
        agreement: &Agreement,
        index: u32,
        numbers: &mut [f32],
    ) -> Result<bool, Fatal> {
        // One that is in flash and was not learned is of a boot that ended in between.
        if index >= RELEASES_MAX || self.learned >> index & 1 == 0 {
            return Ok(false);
        }
        let found: Option<Released> =
            flash.entry(RELEASES + index as usize, index, &agreement.digest());
        let found = found.filter(|released| released.numbers().len() == numbers.len());
        let released = found.ok_or(Fatal::Given("a release that it learned is missing"))?;
        numbers.copy_from_slice(released.numbers());
        Ok(true)
    }
}

/// What a party borrows beside its agreement and its machine.
pub struct Parts<'a, 'f> {
    /// Where it is stored.
    pub flash: &'a mut Flash<'f>,
    /// The numbers of one broadcast.
    pub broadcast: &'a mut [f32],
    /// The values of its sensor, and of how many candidates.
    pub sensor: (&'a [u8], u32),
    /// What hides its contributions, where there are two servers.
    pub masks: Option<Masks>,
    /// Whether digests of what was observed follow each answer: in a rehearsal alone.
    pub rehearses: bool,
}

/// The party at work.
pub struct Party<'a, 'f, M: Machine> {
    agreement: &'a Agreement,
    digest: Digest,
    machine: M,
    standing: Standing,
    /// The epoch of the last contribution that this boot hid, and what is sent: the same again, if
    /// a line broke.
    hidden: Option<(u32, Vec<u8, HIDDEN_MAX>)>,
    parts: Parts<'a, 'f>,
}

/// What the machine of a method is made of: flash, memory, and a sensor.
pub struct Lent<'l, 'f> {
    /// Where the party is stored.
    pub flash: &'l mut Flash<'f>,
    /// All its numbers, of whatever format.
    pub numbers: &'l mut [f64],
    /// The values of its sensor.
    pub sensor: &'l [u8],
    /// As [`Parts::rehearses`].
    pub rehearses: bool,
}

impl<'a, 'f, M: Machine> Party<'a, 'f, M>
where
    Fatal: From<M::Error>,
{
    /// Joins a machine with how it was found and with its exchange.
    ///
    /// **Errors**: [`Fatal::Given`] for more releases than this device keeps, answers that are too
    /// long for it, and masks where there is one server or none where there are two.
    pub fn new(
        agreement: &'a Agreement,
        machine: M,
        standing: Standing,
        parts: Parts<'a, 'f>,
    ) -> Result<Self, Fatal> {
        let protocol = &agreement.protocol;
        let fits = protocol.epochs() <= RELEASES_MAX && protocol.released_len() <= NUMBERS_MAX;
        if M::KEEPS_RELEASES && !fits {
            return Err(Fatal::Given(
                "more releases, or longer ones, than this device keeps",
            ));
        }
        masks::agreed(protocol, parts.masks.as_ref())?;
        let hidden = parts
            .masks
            .as_ref()
            .map_or(0, |_| hidden_max(protocol.upload_len()));
        let trailer = if parts.rehearses {
            leaves::trailer_len(protocol)
        } else {
            0
        };
        if wire::frame_len_max(ScalarTag::F32, protocol.upload_len()) + hidden + trailer
            > ANSWER_MAX
        {
            return Err(Fatal::Given("answers that are too long for this device"));
        }
        Ok(Party {
            agreement,
            digest: agreement.digest(),
            machine,
            standing,
            hidden: None,
            parts,
        })
    }

    /// What the sensor shows.
    fn measure(&self, candidate: u32, number: u32) -> Result<f32, Fatal> {
        let (values, candidates) = self.parts.sensor;
        let place = 4 * (number as usize * candidates as usize + candidate as usize);
        let shown = values.get(place..).and_then(|rest| rest.first_chunk());
        shown
            .map(|bytes| f32::from_le_bytes(*bytes))
            .ok_or(Fatal::Given("its sensor has no such value"))
    }

    /// What a release of draws costs.
    fn event(&self) -> Result<Event, Fatal> {
        self.agreement
            .protocol
            .event(0)
            .map_err(|_| UNCOUNTED)?
            .ok_or(UNCOUNTED)
    }

    /// Whether a contribution to this release fits the budget that was announced. Of a plan all
    /// releases before it count, whether this device gave to them or not.
    fn affords(&self, release: u32) -> Result<bool, Fatal> {
        let announced = self.agreement.announced;
        let Some(epsilon_max) = announced.epsilon_max else {
            return Ok(true);
        };
        match &self.agreement.protocol {
            Protocol::Prior(prior) => prior
                .plan()
                .affords(release, epsilon_max, announced.delta)
                .map_err(|_| UNCOUNTED),
            Protocol::Draws(_) => {
                let mut filter =
                    Filter::new(epsilon_max, announced.delta).map_err(|_| UNCOUNTED)?;
                for _ in 0..self.standing.given {
                    filter.charge(&self.event()?).map_err(|_| UNCOUNTED)?;
                }
                match filter.admits(&self.event()?) {
                    Ok(()) => Ok(true),
                    Err(BudgetError::Exhausted { .. }) => Ok(false),
                    Err(_) => Err(UNCOUNTED),
                }
            }
            _ => Err(UNCOUNTED),
        }
    }
}

impl<M: Machine> TakesPart for Party<'_, '_, M>
where
    Fatal: From<M::Error>,
{
    fn exchange(&mut self) -> &mut AgentExchange {
        &mut self.standing.exchange
    }

    fn told(&self) -> Told {
        Told {
            given: self.standing.given,
            observations: self.machine.state().observations(),
            masks: self.parts.masks.as_ref().map_or(0, Masks::used),
            chain: self.standing.exchange.have().chain,
        }
    }

    fn save(&mut self) -> Result<(), Fatal> {
        self.standing
            .save(self.machine.state(), self.parts.flash, &self.digest)
    }

    fn heard(&mut self, bytes: &[u8], current: u32, seal: Seal) -> Result<bool, Fatal> {
        let (header, payload) = wire::decode(bytes, self.agreement.frame_numbers_max())?;
        let Some(heard) = self.standing.hear(&header, &payload, current, seal)? else {
            return Ok(false);
        };
        let broadcast = &mut *self.parts.broadcast;
        let vectors = broadcast
            .get_mut(..header.len as usize)
            .ok_or(Fatal::Given("a frame too long"))?;
        payload.read(vectors)?;
        let numbers = (header.kind == Kind::Broadcast).then_some(&*vectors);
        let frame = match (heard, numbers) {
            (Heard::Again, _) => return Ok(true),
            (Heard::Missed, numbers) => Frame::Missed(numbers),
            (Heard::Enter, _) if header.round == 0 => Frame::Start,
            (Heard::Enter, Some(numbers)) => Frame::Released(numbers),
            (Heard::Enter, None) => Frame::Nothing,
        };
        if let (true, Some(numbers), Some(index)) = (
            M::KEEPS_RELEASES,
            frame.numbers(),
            header.round.checked_sub(1),
        ) {
            let kept = Released::new(numbers).ok_or(Fatal::Given("a release too long"))?;
            self.parts
                .flash
                .write(RELEASES + index as usize, &kept, index, &self.digest)?;
            self.standing.learned |= 1 << index;
        }
        self.machine.enter(frame)?;
        Ok(true)
    }

    fn work(&mut self) -> Result<(), Fatal> {
        let Next::Query { candidate, number } = self.machine.next()? else {
            self.standing.exchange.made();
            return Ok(());
        };
        let slot = LOG + number as usize;
        let value = match self
            .parts
            .flash
            .entry::<Entry<f32>>(slot, number, &self.digest)
        {
            Some(entry) if entry.candidate == candidate => entry.value,
            _ => {
                self.parts.flash.step().map_err(Stop::from)?;
                let value = self.measure(candidate, number)?;
                if !value.is_finite() {
                    return Err(Fatal::Given("its sensor says no number"));
                }
                self.parts
                    .flash
                    .write(slot, &Entry { candidate, value }, number, &self.digest)?;
                value
            }
        };
        Ok(self.machine.observed(value)?)
    }

    fn answer(&mut self, header: Header, out: &mut [u8]) -> Result<usize, Fatal> {
        let epoch = header.round;
        let new = self.standing.is_new(header.round);
        let mut upload = [0.0; UPLOAD_MAX];
        let wanted = match self.machine.next()? {
            Next::Give(numbers) => {
                let place = upload
                    .get_mut(..numbers.len())
                    .ok_or(Fatal::Given("a contribution too long"))?;
                place.copy_from_slice(numbers);
                numbers.len()
            }
            _ => 0,
        };
        // Behind the last release there is nothing to give, and nothing to count.
        let len = if wanted == 0 || !new || self.affords(epoch)? {
            wanted
        } else {
            0
        };
        let upload = &upload[..len];
        if len > 0 && new {
            self.standing.count(epoch);
            self.save()?;
        }
        let Parts { flash, masks, .. } = &mut self.parts;
        let used = match masks {
            None => wire::encode(header, upload, out)?,
            Some(masks) => {
                let used = wire::encode::<f32>(header, &[], out)?;
                let behind = out.get_mut(used..).unwrap_or_default();
                match self.machine.encoding()? {
                    Some(encoding) if len > 0 => {
                        let hidden = match self.hidden.take_if(|(of, _)| *of == epoch) {
                            Some((_, hidden)) => hidden,
                            None => masks.hide(epoch, &encoding, upload, flash)?,
                        };
                        let long = Fatal::Given("an answer too long");
                        behind
                            .get_mut(..hidden.len())
                            .ok_or(long)?
                            .copy_from_slice(&hidden);
                        let end = used + hidden.len();
                        self.hidden = Some((epoch, hidden));
                        // Of tests: a place to die between store and send.
                        flash.step().map_err(Stop::from)?;
                        end
                    }
                    None if len > 0 => {
                        return Err(Fatal::Given(
                            "nothing that its contribution could be added to",
                        ));
                    }
                    _ => used,
                }
            }
        };
        if !self.parts.rehearses {
            return Ok(used);
        }
        let of = (
            &self.agreement.protocol,
            &self.digest,
            self.machine.state().agent(),
        );
        leaves::append(
            of,
            (&*self.parts.flash, |value| value),
            (epoch, upload),
            (used, out),
        )
    }
}

/// The longest answer.
pub const ANSWER_MAX: usize = 1024;
/// What a device whose budget cannot be counted says.
pub const UNCOUNTED: Fatal = Fatal::Given("a budget that cannot be counted");
/// Numbers of a contribution at most.
const UPLOAD_MAX: usize = 112;
