//! A site of a campaign of ordinary sites: it measures its first points, contributes what they say
//! to each release, keeps the numbers of the file in flash, and measures on with it.
//!
//! | what | in flash |
//! |---|---|
//! | a value | before it counts |
//! | [`Kept`]: how it stands with its server, and what it gave to | after every step, and before a contribution leaves |
//! | the numbers of the file | before the last frame is answered: a server may end when everybody has |

use core::fmt::Debug;

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::CacheImpl;
use serde::{Deserialize, Serialize};
use sordino_core::digest::{Digest, Frame};
use sordino_core::federated::exchange::{AgentExchange, Agreement, FrameError, Have, Reply, Want};
use sordino_core::federated::prior::{
    CampaignProtocol, Opening, OwnPoints, PriorError, Released, Site, own_points_len,
    own_points_scratch_len,
};
use sordino_core::federated::{AgentState, Entry};
use sordino_core::prior::{
    Newcomer, NewcomerSettings, PriorNumbers, PublicPrior, attach_len, storage_len,
};
use sordino_core::snapshot::Stored;
use sordino_core::wire::{self, Header, Kind, prefix};
use static_cell::ConstStaticCell;

use crate::board::{self, Answer, Link, Request};
use crate::config::{AGENT, FILE_BYTES, FILE_NUMBERS, FRAME, NUMBERS, OPENING, QUESTIONS};
use crate::federation::{DIM, FEATURES, FIRST_POINTS, LANDMARKS, MINIMISES, POINTS, agreement};
use crate::store::{FILE, LOG, PAST, STATE, Store};

/// Milliseconds after which a frame that says nothing is asked for again.
const AGAIN: u64 = 1000;
/// Numbers of the file in one item of the flash.
pub const ROW: usize = 32;
/// Such an item.
pub type Row = Released<f32, ROW>;
const OWN: usize = own_points_len(FIRST_POINTS, FEATURES);
const SCRATCH: usize = own_points_scratch_len(FIRST_POINTS, FEATURES);
/// Points in all.
const CAPACITY: usize = FIRST_POINTS + QUESTIONS;

/// What a site keeps beside its values and the file.
#[derive(Clone, Serialize, Deserialize)]
pub struct Kept {
    exchange: AgentExchange,
    observations: u32,
    /// The last release that was answered, and the first 64 bits of a digest of the answer: another
    /// is never given.
    answered: Option<(u32, u64)>,
    /// Whether a release was heard of: then there is a file, whatever a server says.
    released: bool,
    /// Whether the file is there; where the campaign ended without one, that is known.
    file: Option<bool>,
}

impl Stored for Kept {
    const KIND: u8 = 0x54;
    // Beside the exchange: a count, the answer with its mark, a mark, the file's two marks.
    const BODY_MAX: usize = <(AgentState, AgentExchange)>::BODY_MAX
        - <AgentState as Stored>::BODY_MAX
        + 5
        + (1 + 5 + 10)
        + 1
        + 2;
}

/// All numbers of its points, in double precision as hosts have them, and what is given to the open
/// release.
struct Numbers {
    points: [f64; FIRST_POINTS * DIM],
    values: [f64; FIRST_POINTS],
    own: [f64; OWN],
    scratch: [f64; SCRATCH],
    upload: [f64; NUMBERS],
}

impl Numbers {
    const fn new() -> Self {
        Numbers {
            points: [0.0; _],
            values: [0.0; _],
            own: [0.0; _],
            scratch: [0.0; _],
            upload: [0.0; _],
        }
    }
}

/// A site, its exchange with the server, and where both are kept.
struct Party<'p, F: NorFlash, C: CacheImpl<u16>> {
    agreement: &'p Agreement,
    protocol: &'p CampaignProtocol,
    kept: Kept,
    /// How often the state was written.
    written: u32,
    numbers: &'static mut Numbers,
    /// The release that `numbers.upload` is for in this boot, and whether there is something to
    /// give.
    made: Option<(u32, bool)>,
    /// The file as it comes.
    frame: Option<&'static mut [u8]>,
    /// Of everything that was given: what a host compares.
    told: Frame,
    store: Store<F, C>,
    link: &'static Link,
}

/// From the boot to the end of the search.
#[embassy_executor::task]
pub async fn agent(link: &'static Link) {
    static NUMBERS: ConstStaticCell<Numbers> = ConstStaticCell::new(Numbers::new());
    static FRAMES: ConstStaticCell<[u8; FILE_BYTES]> = ConstStaticCell::new([0; _]);
    let agreement = agreement().expect("what `sordino terms` wrote");
    let protocol = agreement.protocol.campaign().expect("what build.rs read");
    let mut store = board::store(agreement.digest());
    let (written, kept) = match store.load(STATE).await.expect("flash") {
        Some(found) => found,
        // The state is written before all that follows from it.
        None => {
            let is_lost = store.holds(PAST).await.expect("flash");
            assert!(
                !is_lost,
                "the state is lost, and its values are not: take a new invitation and an erased flash"
            );
            (
                0,
                Kept {
                    exchange: AgentExchange::new(&agreement, AGENT),
                    observations: 0,
                    answered: None,
                    released: false,
                    file: None,
                },
            )
        }
    };
    let made = None;
    let frame = Some(&mut FRAMES.take()[..]);
    let told = Frame::leaf();
    let mut party = Party {
        agreement: &agreement,
        protocol,
        kept,
        written,
        numbers: NUMBERS.take(),
        made,
        frame,
        told,
        store,
        link,
    };
    for number in 0..party.kept.observations {
        let (_, entry) = party
            .store
            .load(LOG + number as u16)
            .await
            .expect("flash")
            .expect("an entry");
        party.learn(number, entry);
    }
    party.take_part().await;
    let (end, observations) = search(&mut party).await;
    board::learned(end);
    board::done("agent", observations);
}

/// Which point of the list is measured as this number: sites begin at different places.
fn first_place(number: u32) -> u32 {
    let count = (POINTS.len() / DIM) as u64;
    ((u64::from(AGENT) * FIRST_POINTS as u64 + u64::from(number)) % count) as u32
}

fn point(place: u32) -> [f32; DIM] {
    let from = place as usize * DIM;
    POINTS[from..from + DIM].try_into().expect("D coordinates")
}

/// What a value counts as: larger is better.
fn worth(value: f32) -> f32 {
    if MINIMISES { -value } else { value }
}

impl<F: NorFlash<Error: Debug>, C: CacheImpl<u16>> Party<'_, F, C> {
    /// From the boot to the file.
    async fn take_part(&mut self) {
        loop {
            let is_changed = match self.kept.exchange.want(board::now()) {
                Want::Done => return,
                Want::Refused => panic!("the server does not know this device, or no longer"),
                Want::Wait(until) => {
                    board::sleep_until(until).await;
                    false
                }
                Want::Ask(have) => self.ask(&have).await,
                Want::Work if (self.kept.observations as usize) < FIRST_POINTS => {
                    self.measure().await;
                    true
                }
                Want::Work | Want::Give(_) if self.lacks_opening() => self.open().await,
                Want::Work
                    if self.round() >= self.protocol.releases() && self.kept.file.is_none() =>
                {
                    self.fetch().await
                }
                Want::Work => {
                    self.kept.exchange.made();
                    true
                }
                Want::Give(header) => self.give(header).await,
            };
            // What comes of waiting is no wear of the flash.
            if is_changed {
                self.save().await;
            }
        }
    }

    async fn save(&mut self) {
        self.written += 1;
        self.store
            .save(STATE, &self.kept, self.written)
            .await
            .expect("flash");
    }

    /// The round that it has the frame of.
    fn round(&self) -> u32 {
        self.kept.exchange.have().frames.saturating_sub(1)
    }

    fn lacks_opening(&self) -> bool {
        let round = self.round();
        round < self.protocol.releases() && self.made.is_none_or(|(made, _)| made != round)
    }

    /// Asks again after this time: nothing is to store.
    fn later(&mut self, after_ms: u64) -> bool {
        self.kept.exchange.later(after_ms, board::now());
        false
    }

    /// What comes after what it has? The numbers of a release are in what the next is made with,
    /// and in the file. Whether there is something to store, as all that follow.
    async fn ask(&mut self, have: &Have) -> bool {
        let ((bytes, len), current, seal) = match board::ask(self.link, Request::Next(*have)).await
        {
            Answer::Next {
                frame,
                current,
                seal,
            } => (frame, current, seal),
            Answer::Later { after_ms } => return self.later(after_ms),
            _ => return self.not_you(),
        };
        let Ok((header, payload)) = wire::decode(&bytes[..len], self.agreement.frame_numbers_max())
        else {
            return self.later(AGAIN);
        };
        let heard = self.kept.exchange.frame(&header, &payload, current, seal);
        match heard {
            Ok(_) => {
                self.kept.released |= header.kind == Kind::Broadcast;
                true
            }
            Err(FrameError::Fork { round }) => {
                panic!("two histories in round {round}: nothing more is sent")
            }
            // Of another federation, or late.
            Err(_) => self.later(AGAIN),
        }
    }

    fn not_you(&mut self) -> bool {
        self.kept.exchange.not_you();
        true
    }

    /// Keeps a value with its point.
    fn learn(&mut self, number: u32, entry: Entry<f32>) {
        let number = number as usize;
        let place = point(entry.candidate);
        let places = &mut self.numbers.points[number * DIM..(number + 1) * DIM];
        places
            .iter_mut()
            .zip(place)
            .for_each(|(place, u)| *place = f64::from(u));
        self.numbers.values[number] = f64::from(worth(entry.value));
    }

    async fn measure(&mut self) {
        let number = self.kept.observations;
        let entry = measured(&mut self.store, number, first_place(number)).await;
        self.learn(number, entry);
        self.kept.observations = number + 1;
    }

    /// Asks what the open release is made with, and computes what it gives.
    async fn open(&mut self) -> bool {
        let round = self.round();
        // What an exchange has in the making it asks for at once, whatever was said of later.
        let gives = match board::ask(self.link, Request::Opening(round)).await {
            Answer::Frame((bytes, len)) => match self.contribute(&bytes[..len], round) {
                Ok(gives) => gives,
                // Another frame than was asked for: later, perhaps.
                Err(Foreign) => {
                    board::sleep_until(board::now().after(AGAIN)).await;
                    return false;
                }
            },
            Answer::Later { after_ms } => {
                board::sleep_until(board::now().after(after_ms)).await;
                return false;
            }
            // It is over.
            _ => false,
        };
        self.made = Some((round, gives));
        self.kept.exchange.made();
        true
    }

    /// What it gives to the release that is made with this, into `numbers.upload`; false where its
    /// values say nothing, or where the announced budget does not hold it.
    fn contribute(&mut self, frame: &[u8], release: u32) -> Result<bool, Foreign> {
        let announced = self.agreement.announced;
        let plan = self.protocol.plan();
        let affords = |most| {
            plan.affords(release, most, announced.delta)
                .expect("a budget that can be counted")
        };
        if !announced.epsilon_max.is_none_or(affords) {
            return Ok(false);
        }
        let (header, payload) = wire::decode(frame, OPENING as u32).map_err(|_| Foreign)?;
        let chain = prefix(&self.kept.exchange.have().chain);
        let known = (
            self.agreement.deployment,
            prefix(&self.agreement.digest()),
            chain,
            release,
            Kind::Opening,
        );
        if (
            header.deployment,
            header.config,
            header.chain,
            header.round,
            header.kind,
        ) != known
        {
            return Err(Foreign);
        }
        let mut opening = [0.0; OPENING];
        payload.read(&mut opening).map_err(|_| Foreign)?;
        let opening = Opening::read(&opening).map_err(|_| Foreign)?;
        let Numbers {
            points,
            values,
            own,
            scratch,
            upload,
        } = &mut *self.numbers;
        let site =
            Site::new(self.protocol, &LANDMARKS, DIM).expect("the landmarks of the agreement");
        let given = OwnPoints::compute(site, points, values, own, scratch)
            .and_then(|own| own.contribution(&opening, scratch, upload));
        match given {
            Ok(_) => Ok(true),
            Err(PriorError::Singular(_)) => Ok(false),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends the answer of this round; what it contributes to is in flash before.
    async fn give(&mut self, header: Header) -> bool {
        let gives = self.made == Some((header.round, true));
        let upload: &[f64] = if gives { &self.numbers.upload } else { &[] };
        let mut digest = Frame::leaf();
        digest.scalars(upload);
        let digest = prefix(&digest.end());
        let answered = self
            .kept
            .answered
            .filter(|(round, _)| *round == header.round);
        // After a reset a server may say something else of how the release is made. What was
        // answered is never contradicted.
        let is_same = answered.is_none_or(|(_, before)| before == digest);
        if answered.is_none() {
            self.kept.answered = Some((header.round, digest));
            self.told.scalars(upload);
            self.save().await;
        }
        let upload: &[f64] = if gives && is_same {
            &self.numbers.upload
        } else {
            &[]
        };
        let mut message = [0; FRAME];
        let len = wire::encode(header, upload, &mut message).expect("the buffer holds any frame");
        let Answer::Reply(reply) = board::ask(self.link, Request::Give((message, len))).await
        else {
            return self.later(AGAIN);
        };
        self.kept.exchange.told(header.round, reply, board::now());
        !matches!(reply, Reply::Later { .. })
    }

    /// Takes the numbers of the file into flash, row by row, then that they are there.
    async fn fetch(&mut self) -> bool {
        let buffer = self.frame.take().expect("it comes back with every answer");
        match board::ask(self.link, Request::File(buffer)).await {
            Answer::File(buffer, Some(len)) => {
                let mut numbers = [0.0; FILE_NUMBERS];
                if file(
                    &buffer[..len],
                    self.agreement,
                    &self.kept.exchange.have().chain,
                    &mut numbers,
                ) {
                    for (row, numbers) in (0..).zip(numbers.chunks(ROW)) {
                        let row_of = Row::new(numbers).expect("a row");
                        self.store
                            .save(FILE + row, &row_of, row.into())
                            .await
                            .expect("flash");
                    }
                    self.kept.file = Some(true);
                }
                self.frame = Some(buffer);
            }
            Answer::File(buffer, None) => {
                self.frame = Some(buffer);
                if !self.kept.released {
                    self.kept.file = Some(false);
                }
            }
            _ => return self.not_you(),
        }
        if self.kept.file.is_none() {
            // Another frame than was asked for, or a part of it: later, perhaps.
            board::sleep_until(board::now().after(AGAIN)).await;
        }
        self.kept.file.is_some()
    }
}

/// A frame that is not the one asked for.
struct Foreign;

/// The numbers of the file after this history; false for another frame.
fn file(bytes: &[u8], agreement: &Agreement, history: &Digest, numbers: &mut [f32]) -> bool {
    let Ok((header, payload)) = wire::decode(bytes, FILE_NUMBERS as u32) else {
        return false;
    };
    let known = (
        agreement.deployment,
        prefix(&agreement.digest()),
        prefix(history),
        Kind::Prior,
    );
    (header.deployment, header.config, header.chain, header.kind) == known
        && payload.read(numbers).is_ok()
}

/// The value of an observation: that of the log, if it was written before a reset.
async fn measured<F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
    store: &mut Store<F, C>,
    number: u32,
    place: u32,
) -> Entry<f32> {
    let key = LOG + number as u16;
    match store.load::<Entry<f32>>(key).await.expect("flash") {
        Some((found, entry)) if found == number && entry.candidate == place => entry,
        _ => {
            let entry = Entry {
                candidate: place,
                value: board::measure(point(place)).await,
            };
            assert!(entry.value.is_finite(), "its sensor says no number");
            store.save(key, &entry, number).await.expect("flash");
            entry
        }
    }
}

/// Measures on with the file, or alone where there is none: a digest of what was given and of all
/// values, and how many there are.
async fn search<F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
    party: &mut Party<'_, F, C>,
) -> (Digest, u32) {
    static FILE_ROW: ConstStaticCell<[f32; FILE_NUMBERS]> = ConstStaticCell::new([0.0; _]);
    static FACTOR: ConstStaticCell<[f32; attach_len(FEATURES)]> = ConstStaticCell::new([0.0; _]);
    static STORAGE: ConstStaticCell<[f32; storage_len(FEATURES, CAPACITY, 1)]> =
        ConstStaticCell::new([0.0; _]);
    let numbers = FILE_ROW.take();
    let mut prior = None;
    if party.kept.file == Some(true) {
        for (row, numbers) in (0..).zip(numbers.chunks_mut(ROW)) {
            let (_, found): (u32, Row) = party
                .store
                .load(FILE + row)
                .await
                .expect("flash")
                .expect("a row");
            numbers.copy_from_slice(found.numbers());
        }
        let read = PriorNumbers::read(DIM, numbers).ok();
        // What is no file helps nobody.
        prior = read.and_then(|read| PublicPrior::attach(read, FACTOR.take()).ok());
    }
    let settings = NewcomerSettings::default();
    let mut search = Newcomer::new(
        &POINTS,
        DIM,
        prior.as_ref(),
        settings,
        CAPACITY,
        &mut STORAGE.take()[..],
    )
    .expect("points of the unit box");
    for number in 0..CAPACITY as u32 {
        let place = match (number as usize) < FIRST_POINTS {
            true => first_place(number),
            false => search.suggest() as u32,
        };
        let entry = measured(&mut party.store, number, place).await;
        search
            .observe(place as usize, worth(entry.value))
            .expect("a finite value");
        party.told.u32(place);
        party.told.scalars(&[entry.value]);
    }
    (
        core::mem::replace(&mut party.told, Frame::leaf()).end(),
        CAPACITY as u32,
    )
}
