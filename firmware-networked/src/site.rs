//! A site of a campaign: it measures its first points, contributes what they say to every release,
//! and keeps no posterior. What a release is made with it asks the server for. In a rehearsal it
//! searches on with the file before its last answer, which says what it measured, in the numbers of
//! a host.

use bytemuck::Pod;
use cortex_m_semihosting::hprintln;
use firmware_example::reset::{Flash, SLOT, Stop};
use sordino_core::digest::{Digest, Frame};
use sordino_core::federated::Entry;
use sordino_core::federated::exchange::{AgentExchange, Agreement, FrameError, Seal};
use sordino_core::federated::prior::{
    CampaignProtocol, Opening, OwnPoints, PriorError, Site, opening_len, own_points_len,
    own_points_scratch_len,
};
use sordino_core::math::Scalar;
use sordino_core::prior::{Newcomer, NewcomerSettings, storage_len};
use sordino_core::wire::{self, Header, Kind, ScalarTag, prefix};

use crate::fatal::Fatal;
use crate::leaves;
use crate::machine::{LOG, SiteState};
use crate::party::{ANSWER_MAX, Found, Lent, Standing, UNCOUNTED};
use crate::points::{First, Sensor, known, measured};
use crate::provision::Given;
use crate::search::{self, Log};
use crate::takes::{Lack, TakesPart, Taking, Told};

/// Bytes of what a release is made with, of 100 features at most.
const OPENING_MAX: usize = wire::frame_len_max(ScalarTag::F64, opening_len(100));
/// Bytes of the file that are written in one step.
const PAGE: usize = 256;
const TOO_LONG: Fatal = Fatal::Given("a frame that is longer than its place");
const SHORT: Fatal = Fatal::Given("more features or points than this device has memory for");

/// What a site works with beside its agreement.
pub struct Own<'o, 'p, T> {
    /// What it was given.
    pub given: &'o Given<'p, T>,
    /// Which point it measures first, and how.
    pub first: First,
    /// What shows it values.
    pub sensor: Sensor<'p>,
    /// Where the file is kept.
    pub file: &'o mut [u8],
}

/// Puts the site together and takes part.
///
/// **Errors**: [`Fatal`].
pub fn with<T: Scalar + Pod>(
    (agreement, protocol): (&Agreement, &CampaignProtocol),
    slot: u32,
    own: Own<'_, '_, T>,
    lent: Lent<'_, '_>,
    taking: &mut Taking<'_>,
) -> Result<(), Fatal> {
    let Lent {
        flash,
        numbers,
        rehearses,
        ..
    } = lent;
    let Own {
        given,
        first: order,
        sensor,
        file,
    } = own;
    let dim = agreement.dim as usize;
    let first = agreement.protocol.initial_points() as usize;
    // In a rehearsal it says what it measured with the file, and a rehearsal says how often.
    let after = if rehearses {
        protocol.rounds
    } else {
        search::QUESTIONS
    };
    let values = first.saturating_add(after as usize);
    if LOG.saturating_add(values) > flash.bytes.len() / SLOT {
        return Err(Fatal::Given("more points than this device has flash for"));
    }
    if given.points.len() < first * dim || !given.points.len().is_multiple_of(dim) {
        return Err(Fatal::Given("fewer points than it measures first"));
    }
    let site = Site::new(protocol, given.landmarks, dim)?;
    if !search::fits::<T>((site.features(), dim, values), numbers, file) {
        return Err(Fatal::Given(
            "more landmarks, dimensions or values than this device has memory for",
        ));
    }
    let answer = wire::frame_len_max(ScalarTag::F64, agreement.protocol.upload_len());
    if rehearses && answer + leaves::trailer_len(&agreement.protocol) > ANSWER_MAX {
        return Err(Fatal::Given("answers that are too long for this device"));
    }
    // Points that cannot be searched are found out before anything is contributed.
    let least = [T::ZERO; storage_len(0, 1, 1)];
    Newcomer::new(
        given.points,
        dim,
        None,
        NewcomerSettings::default(),
        1,
        least,
    )?;
    let Found { state, standing } = Found::load(
        flash,
        agreement,
        SiteState {
            agent: slot,
            observations: 0,
            answered: None,
        },
    )?;
    let total = if rehearses { values } else { first };
    if state.agent != slot || state.observations as usize > total {
        return Err(Fatal::Given("its state is that of another site"));
    }
    let shape = (first, dim, site.features());
    Numbers::split(shape, numbers).ok_or(SHORT)?;
    let digest = agreement.digest();
    let has_file = search::stored(file, flash, &digest).is_some();
    let mut party = SiteParty {
        agreement,
        digest,
        protocol,
        site,
        given,
        order,
        sensor,
        total: total as u32,
        rehearses,
        state,
        standing,
        flash,
        file,
        frame: [0; OPENING_MAX],
        memory: numbers,
        shape,
        made: None,
        is_computed: false,
        has_file,
    };
    for number in 0..party.state.observations.min(first as u32) {
        party.learn(number, known(party.flash, &party.digest, number)?)?;
    }
    taking(&mut party)
}

/// All numbers of a site until the last release, in double precision as hosts have them. Then the
/// search has the memory.
struct Numbers<'a> {
    points: &'a mut [f64],
    values: &'a mut [f64],
    own: &'a mut [f64],
    opening: &'a mut [f64],
    upload: &'a mut [f64],
    scratch: &'a mut [f64],
}

impl<'a> Numbers<'a> {
    /// Divides memory among n points in `dim` dimensions and M features; nothing where it is too
    /// small.
    fn split((n, dim, m): (usize, usize, usize), memory: &'a mut [f64]) -> Option<Self> {
        let (points, rest) = memory.split_at_mut_checked(n * dim)?;
        let (values, rest) = rest.split_at_mut_checked(n)?;
        let (own, rest) = rest.split_at_mut_checked(own_points_len(n, m))?;
        let (opening, rest) = rest.split_at_mut_checked(opening_len(m))?;
        let (upload, rest) = rest.split_at_mut_checked(m + 1)?;
        let scratch = rest.get_mut(..own_points_scratch_len(n, m))?;
        Some(Numbers {
            points,
            values,
            own,
            opening,
            upload,
            scratch,
        })
    }
}

/// The site at work.
struct SiteParty<'a, 'f, T> {
    agreement: &'a Agreement,
    digest: Digest,
    protocol: &'a CampaignProtocol,
    site: Site<'a, f64>,
    given: &'a Given<'a, T>,
    order: First,
    sensor: Sensor<'a>,
    /// Points that it measures before it is done with its server.
    total: u32,
    /// Whether leaves of the transcript follow each answer.
    rehearses: bool,
    state: SiteState,
    standing: Standing,
    flash: &'a mut Flash<'f>,
    /// Where the file is kept.
    file: &'a mut [u8],
    /// What a release is made with, as it came.
    frame: [u8; OPENING_MAX],
    memory: &'a mut [f64],
    /// Numbers of first points, of dimensions and of features.
    shape: (usize, usize, usize),
    /// The last release that was made up its mind about in this boot, and whether there is
    /// something to give to it.
    made: Option<(u32, bool)>,
    /// Whether features and factor of its points are there.
    is_computed: bool,
    /// Whether the file is in flash, or it is known that there is none.
    has_file: bool,
}

impl<T: Scalar + Pod> SiteParty<'_, '_, T> {
    /// Points that it measures.
    fn first(&self) -> u32 {
        self.agreement.protocol.initial_points()
    }

    /// The round that it has the frame of; before the first none that there is.
    fn round(&self) -> Option<u32> {
        self.standing.exchange.have().frames.checked_sub(1)
    }

    /// Keeps one of its first values with its point.
    fn learn(&mut self, number: u32, entry: Entry<f64>) -> Result<(), Fatal> {
        let given = self.given;
        let index = number as usize;
        let numbers = Numbers::split(self.shape, self.memory).ok_or(SHORT)?;
        let point = given.point(entry.candidate)?;
        let places = numbers
            .points
            .get_mut(index * given.dim..(index + 1) * given.dim)
            .ok_or(SHORT)?;
        let value = numbers.values.get_mut(index).ok_or(SHORT)?;
        places
            .iter_mut()
            .zip(point)
            .for_each(|(place, u)| *place = u.to_f64());
        *value = given.worth(entry.value);
        Ok(())
    }

    /// Whether it goes on to search although its server waits for its last answer.
    fn searches_on(&self) -> bool {
        self.state.observations < self.total
            && self
                .round()
                .is_some_and(|round| round >= self.protocol.releases())
    }

    /// Which point it measures as this number, beyond its first ones.
    fn chosen(&mut self, number: u32) -> Result<u32, Fatal> {
        let mut log = Log::new();
        for number in 0..number {
            let entry = known(self.flash, &self.digest, number)?;
            let told = (
                entry.candidate as usize,
                T::from_f64(self.given.worth(entry.value)),
            );
            log.push(told).map_err(|_| SHORT)?;
        }
        let file = search::stored(self.file, self.flash, &self.digest).flatten();
        let (place, asked) = search::next(self.given, file, (self.first(), &log), self.memory)?;
        hprintln!("asked {}", asked);
        Ok(place)
    }

    /// Whether a contribution to this release fits the budget that was announced, with all releases
    /// before it.
    fn affords(&self, release: u32) -> Result<bool, Fatal> {
        let announced = self.agreement.announced;
        let Some(epsilon_max) = announced.epsilon_max else {
            return Ok(true);
        };
        self.protocol
            .plan()
            .affords(release, epsilon_max, announced.delta)
            .map_err(|_| UNCOUNTED)
    }

    /// Computes what it gives to the release that is made with this; false where its values say
    /// nothing.
    fn contribute(&mut self, len: usize, release: u32) -> Result<bool, Fatal> {
        let Numbers {
            points,
            values,
            own,
            opening,
            upload,
            scratch,
        } = Numbers::split(self.shape, self.memory).ok_or(SHORT)?;
        let bytes = self.frame.get(..len).ok_or(TOO_LONG)?;
        let (header, payload) = wire::decode(bytes, opening.len() as u32)?;
        let have = self.standing.exchange.have();
        let known = (
            self.agreement.deployment,
            prefix(&self.digest),
            prefix(&have.chain),
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
            return Err(Fatal::Frame(FrameError::Foreign));
        }
        payload.read(opening)?;
        let opening = Opening::read(opening)?;
        let computed = if self.is_computed {
            OwnPoints::stored(&self.protocol.config, values.len(), own)
        } else {
            OwnPoints::compute(self.site, points, values, own, scratch)
        };
        match computed.and_then(|own| own.contribution(&opening, scratch, upload)) {
            Ok(_) => self.is_computed = true,
            // Its points say nothing that could be given, or not to this release.
            Err(PriorError::Singular(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }
}

impl<T: Scalar + Pod> TakesPart for SiteParty<'_, '_, T> {
    fn exchange(&mut self) -> &mut AgentExchange {
        &mut self.standing.exchange
    }

    fn told(&self) -> Told {
        let given = self.standing.given;
        let chain = self.standing.exchange.have().chain;
        Told {
            given,
            observations: self.state.observations,
            masks: 0,
            chain,
        }
    }

    fn save(&mut self) -> Result<(), Fatal> {
        self.standing.save(&self.state, self.flash, &self.digest)
    }

    fn heard(&mut self, bytes: &[u8], current: u32, seal: Seal) -> Result<bool, Fatal> {
        let (header, payload) = wire::decode(bytes, self.agreement.frame_numbers_max())?;
        // What was released is in what the next release is made with, and in the file; that there
        // was a release is remembered.
        let heard = self.standing.hear(&header, &payload, current, seal)?;
        if heard.is_some() && header.kind == Kind::Broadcast {
            self.standing.learned = 1;
        }
        Ok(heard.is_some())
    }

    fn lacks(&self) -> Option<Lack> {
        let round = self.round()?;
        if round >= self.protocol.releases() {
            return (!self.has_file).then_some(Lack::File);
        }
        let is_made = self.made.is_some_and(|(made, _)| made == round);
        (self.state.observations >= self.first() && !is_made).then_some(Lack::Opening(round))
    }

    fn is_over(&self) -> bool {
        let is_last = self
            .round()
            .is_some_and(|round| round >= self.protocol.releases());
        // The last answer of a rehearsal says what was measured, and its server waits for it.
        !self.rehearses && is_last && self.has_file
    }

    fn piece(&mut self, from: usize, bytes: &[u8]) -> Result<(), Fatal> {
        if self.lacks() != Some(Lack::File) {
            self.frame
                .get_mut(from..from + bytes.len())
                .ok_or(TOO_LONG)?
                .copy_from_slice(bytes);
            return Ok(());
        }
        let place = self
            .file
            .get_mut(from..from + bytes.len())
            .ok_or(TOO_LONG)?;
        for (place, part) in place.chunks_mut(PAGE).zip(bytes.chunks(PAGE)) {
            self.flash.step().map_err(Stop::from)?;
            place.copy_from_slice(part);
        }
        Ok(())
    }

    fn came(&mut self, len: Option<usize>) -> Result<bool, Fatal> {
        match self.lacks() {
            Some(Lack::Opening(release)) => {
                let gives = match len {
                    Some(len) if self.affords(release)? => self.contribute(len, release)?,
                    _ => false,
                };
                self.made = Some((release, gives));
            }
            Some(Lack::File) => {
                // Of releases there is a file, whatever a server says.
                if len.is_none() && self.standing.learned > 0 {
                    return Ok(false);
                }
                let file = self.file.get(..len.unwrap_or(0)).ok_or(TOO_LONG)?;
                let history = self.standing.exchange.have().chain;
                self.has_file = search::keep(file, self.flash, self.agreement, &history)?;
                if !self.has_file {
                    return Ok(false);
                }
            }
            None => {}
        }
        if !self.searches_on() {
            self.standing.exchange.made();
        }
        Ok(true)
    }

    fn work(&mut self) -> Result<(), Fatal> {
        let number = self.state.observations;
        let first = self.first();
        if number >= first && !self.searches_on() {
            self.standing.exchange.made();
            return Ok(());
        }
        let place = match number < first {
            true => self.order.place(number, self.given.count()),
            false => self.chosen(number)?,
        };
        let entry = measured(
            self.flash,
            &self.digest,
            (self.given, &self.sensor),
            (number, place),
        )?;
        if number < first {
            self.learn(number, entry)?;
        }
        self.state.observations = number + 1;
        Ok(())
    }

    fn answer(&mut self, header: Header, out: &mut [u8]) -> Result<usize, Fatal> {
        let gives = self.made == Some((header.round, true));
        let upload: &[f64] = match gives {
            true => Numbers::split(self.shape, self.memory).ok_or(SHORT)?.upload,
            false => &[],
        };
        let mut digest = Frame::leaf();
        digest.scalars(upload);
        let digest = prefix(&digest.end());
        let answered = self
            .state
            .answered
            .filter(|(round, _)| *round == header.round);
        // After a reset a server may say something else of how the release is made. What was
        // answered is never contradicted.
        let upload = if answered.is_some_and(|(_, before)| before != digest) {
            &[]
        } else {
            upload
        };
        let mut len = wire::encode(header, upload, out)?;
        if self.rehearses {
            let of = (&self.agreement.protocol, &self.digest, self.state.agent);
            let counts = (&*self.flash, |value| self.given.worth(value));
            len = leaves::append(of, counts, (header.round, upload), (len, out))?;
        }
        let is_empty = upload.is_empty();
        if answered.is_none() {
            if !is_empty {
                self.standing.count(header.round);
            }
            self.state.answered = Some((header.round, digest));
            self.save()?;
        }
        Ok(len)
    }
}
