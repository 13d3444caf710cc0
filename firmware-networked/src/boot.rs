//! From reset to the end of the federation: what is in flash, a connection, one request after the
//! other.

use core::cell::Cell;
use core::fmt;

use cortex_m_semihosting::hprintln;
use embedded_io::{Read, Write};
use firmware_example::reset::{Cut, Flash, SLOT};
use heapless::Vec;
use rand_core::RngCore;
use serde::{Deserialize, Serialize};
use smoltcp::iface::{SocketSet, SocketStorage};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::{Agreement, Have, Millis, Protocol, Reply, Want};
use sordino_core::federated::shares::SecretKey;
use sordino_core::snapshot::Stored;
use sordino_core::wire::Header;

use crate::fatal::Fatal;
use crate::hardware::{Board, FLASH_BYTES, Registers, now, reset, rest};
use crate::http::{Answer, Broken, fetch, request};
use crate::lan9118::Lan9118;
use crate::party::{ANSWER_MAX, Lent};
use crate::provision::{Invitation, Provision};
use crate::takes::{Lack, TakesPart, Told};
use crate::tcp::Tcp;
use crate::tls::{Entropy, Keys, READ_BYTES, WRITE_BYTES};
use crate::{campaign, der, draws, masks, prior, tls};

/// Slots of the party's flash, and of the count of boots behind it.
const SLOTS: usize = FLASH_BYTES / SLOT - BOOT_SLOTS;
const BOOT_SLOTS: usize = 2;
/// Bytes that are written in one step.
const GRAIN: usize = 16;
/// How long a question may wait at the server, in milliseconds.
const WAIT: u64 = 5000;
/// Before an older file is asked for again, in milliseconds.
const PAUSE_OLDER: u64 = 2000;
/// Between two attempts to connect, in milliseconds.
const PAUSE: u64 = 200;

/// Numbers of the device, in double precision: all that a site has of 50 landmarks, ten points and
/// four dimensions, and a search with the file in single precision, or without it in either.
const NUMBERS: usize = 2800;

/// The numbers and buffers of the device, in one static.
pub struct Memory {
    numbers: [f64; NUMBERS],
    received: [u8; 1536],
    sent: [u8; 1024],
    read: [u8; READ_BYTES],
    write: [u8; WRITE_BYTES],
    buffer: [u8; 1536],
}

impl Memory {
    /// All zero, so that it costs no flash.
    pub const fn new() -> Self {
        Memory {
            numbers: [0.0; NUMBERS],
            received: [0; 1536],
            sent: [0; 1024],
            read: [0; READ_BYTES],
            write: [0; WRITE_BYTES],
            buffer: [0; 1536],
        }
    }
}

/// How a federation ended for the device.
pub struct End {
    agent: u32,
    boots: u32,
    told: Told,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let End {
            agent,
            boots,
            told:
                Told {
                    given,
                    observations,
                    masks,
                    chain,
                },
        } = self;
        write!(
            f,
            "agent {agent}: {observations} observations, {given} rounds, "
        )?;
        write!(f, "{masks} masks, {boots} boots, chain {chain}")
    }
}

/// How often the device was started.
#[derive(Serialize, Deserialize)]
struct Boots(u32);

impl Stored for Boots {
    const KIND: u8 = 0x4f;
    const BODY_MAX: usize = 5;
}

/// Counts this boot, durably, before anything random is drawn.
fn count_boot(flash: &mut [u8]) -> Result<u32, Fatal> {
    let mut flash = Flash {
        bytes: flash,
        grain: GRAIN,
        power: &mut || Ok(()),
    };
    let (mut number, Boots(before)) = flash.load(Boots(0), &Digest::default())?;
    let boots = before
        .checked_add(1)
        .ok_or(Fatal::Given("no boots are left: it needs a new secret"))?;
    flash.save(&Boots(boots), &mut number, &Digest::default())?;
    Ok(boots)
}

/// What does not change while the device runs.
struct Own<'o> {
    invitation: &'o Invitation,
    keys: Keys<'o>,
    masks: SecretKey,
}

/// One line to the server, made again when it breaks.
struct Line<'l, 's> {
    tcp: &'l mut Tcp<'s>,
    entropy: &'l mut Entropy,
    buffers: (&'l mut [u8], &'l mut [u8]),
    buffer: &'l mut [u8],
}

/// Takes part to the end.
///
/// **Errors**: [`Fatal`]. A connection that fails is none.
pub fn run(board: Board, memory: &mut Memory) -> Result<End, Fatal> {
    let Memory {
        numbers,
        received,
        sent,
        read,
        write,
        buffer,
    } = memory;
    let (flash, count) = board.flash.split_at_mut(SLOTS * SLOT);
    let boots = count_boot(count)?;
    let (given, rest) = postcard::take_from_bytes::<Provision<'_>>(board.provision)
        .map_err(|_| Fatal::Given("nothing was written before its first boot"))?;
    let invitation = Invitation::parse(given.invitation).ok_or(Fatal::Given("the invitation"))?;
    let key = tls::key(&given.secret).ok_or(Fatal::Given("its secret"))?;
    let certificate = der::certificate(&key).ok_or(Fatal::Given("its key"))?;
    let keys = Keys {
        own: &key,
        certificate: &certificate,
        pins: &invitation.pins,
    };
    let own = Own {
        invitation: &invitation,
        keys,
        masks: masks::key(&given.secret),
    };
    let mut entropy = Entropy::new(given.secret, boots);
    let nic = Lan9118::new(Registers::take()).ok_or(Fatal::Given("no Ethernet controller"))?;
    let socket = Socket::new(
        SocketBuffer::new(&mut received[..]),
        SocketBuffer::new(&mut sent[..]),
    );
    let mut places = [SocketStorage::EMPTY; 1];
    let mut tcp = Tcp::new(
        nic,
        socket,
        SocketSet::new(&mut places[..]),
        boots,
        entropy.next_u64(),
    );
    let buffers = (&mut read[..], &mut write[..]);
    let mut line = Line {
        tcp: &mut tcp,
        entropy: &mut entropy,
        buffers,
        buffer,
    };
    let agreement = match kept(board.agreement, &own) {
        Some(agreement) => agreement,
        None => line.until_done(&own, &mut |own, tls, buffer| {
            agreement_of(own, tls, buffer, board.agreement)
        })?,
    };
    // Cut at another step in every boot, so that each of them comes further in some.
    let mut steps = 0;
    let cut = boots.wrapping_mul(0x9e37_79b9).checked_rem(board.cuts);
    let mut power = || {
        steps += 1;
        if cut.is_some_and(|cut| steps > cut + STEPS_MIN) {
            reset()
        } else {
            Ok::<(), Cut>(())
        }
    };
    let mut flash = Flash {
        bytes: flash,
        grain: GRAIN,
        power: &mut power,
    };
    let lent = Lent {
        flash: &mut flash,
        numbers: &mut numbers[..],
        sensor: given.sensor,
        rehearses: given.rehearses,
    };
    let mut told = Told::default();
    let mut taking = |party: &mut dyn TakesPart| {
        let mut enrolled = false;
        // A server that has nothing more to say may be gone.
        if party.want(now()) != Want::Done || party.lacks().is_some() {
            let rest = Cell::new(Rest::of(party));
            let taken = line.until(&own, &rest, &mut |own, tls, buffer| {
                take_part(own, tls, buffer, party, &mut enrolled, &rest)
            })?;
            if taken.is_none() && given.rehearses {
                return Err(Fatal::Given("a rehearsal whose server is gone"));
            }
        }
        told = party.told();
        Ok(())
    };
    masks::agreed(&agreement.protocol, invitation.helper.as_ref())?;
    match &agreement.protocol {
        Protocol::Draws(draws) => draws::with(
            &agreement,
            draws,
            (invitation.slot, given.seed),
            lent,
            &mut taking,
        )?,
        Protocol::Prior(prior) => {
            let helper = invitation
                .helper
                .as_ref()
                .map(|helper| (&own.masks, helper));
            prior::with(
                (&agreement, prior),
                (invitation.slot, given.seed),
                helper,
                lent,
                &mut taking,
            )?;
        }
        Protocol::Campaign(protocol) => {
            let region = (board.provision, board.provision.len() - rest.len());
            let whose = (&agreement, protocol, invitation.slot);
            match given.rehearses {
                #[cfg(feature = "rehearsal")]
                true => {
                    campaign::rehearsed(whose, &given, region, (lent, board.file), &mut taking)?
                }
                #[cfg(not(feature = "rehearsal"))]
                true => return Err(Fatal::Given("a rehearsal, of an image without its numbers")),
                false => {
                    told.observations =
                        campaign::served(whose, &given, region, (lent, board.file), &mut taking)?;
                }
            }
        }
        _ => {
            return Err(Fatal::Given(
                "a method that this device does not take part in",
            ));
        }
    }
    Ok(End {
        agent: invitation.slot,
        boots,
        told,
    })
}

/// A life has this many steps at least.
const STEPS_MIN: u32 = 8;

/// Why a session ended before its end.
enum Ended {
    Broken(Broken),
    Fatal(Fatal),
}

impl From<Broken> for Ended {
    fn from(broken: Broken) -> Self {
        Ended::Broken(broken)
    }
}

impl From<Fatal> for Ended {
    fn from(fatal: Fatal) -> Self {
        Ended::Fatal(fatal)
    }
}

/// What a party still wants of its server, and how long it tries to reach one that does not answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Everything: for ever.
    All,
    /// The file after the last release.
    File,
    /// To say that it has everything.
    LastWord,
}

impl Rest {
    fn of(party: &dyn TakesPart) -> Self {
        match (party.is_over(), party.lacks()) {
            (true, _) => Rest::LastWord,
            (false, Some(Lack::File)) => Rest::File,
            (false, _) => Rest::All,
        }
    }

    /// In milliseconds.
    fn patience(self) -> u64 {
        match self {
            Rest::All => u64::MAX,
            Rest::File => 600_000,
            Rest::LastWord => 5_000,
        }
    }
}

impl Line<'_, '_> {
    /// Connects and acts until that comes to its end; what breaks is made again.
    fn until_done<R>(&mut self, own: &Own<'_>, act: &mut Act<'_, R>) -> Result<R, Fatal> {
        loop {
            if let Some(result) = self.until(own, &Cell::new(Rest::All), act)? {
                return Ok(result);
            }
        }
    }

    /// The same as long as there is patience for what is left to do; then nothing.
    fn until<R>(
        &mut self,
        own: &Own<'_>,
        rest: &Cell<Rest>,
        act: &mut Act<'_, R>,
    ) -> Result<Option<R>, Fatal> {
        let mut since = now();
        let mut left = rest.get();
        loop {
            if left != rest.get() {
                (since, left) = (now(), rest.get());
            }
            if now().0 - since.0 > left.patience() {
                hprintln!("[{} ms] the server is gone", now().0);
                return Ok(None);
            }
            let Line {
                tcp,
                entropy,
                buffers: (read, write),
                buffer,
            } = self;
            match session(tcp, (read, write), buffer, own, entropy, act) {
                Ok(result) => return Ok(Some(result)),
                Err(Ended::Fatal(fatal)) => return Err(fatal),
                Err(Ended::Broken(Broken(what))) => hprintln!("[{} ms] {}: again", now().0, what),
            }
            self.tcp.hang_up();
            self.tcp.sleep_until(now().after(PAUSE));
        }
    }
}

/// What is done on a connection, until its result or the connection's end.
type Act<'a, R> = dyn FnMut(&Own<'_>, &mut Stream<'_, '_, '_>, &mut [u8]) -> Result<R, Ended> + 'a;

/// A connection while it lasts.
type Stream<'t, 's, 'b> = tls::Tls<'b, &'t mut Tcp<'s>>;

fn session<R>(
    tcp: &mut Tcp<'_>,
    buffers: (&mut [u8], &mut [u8]),
    buffer: &mut [u8],
    own: &Own<'_>,
    entropy: &mut Entropy,
    act: &mut Act<'_, R>,
) -> Result<R, Ended> {
    tcp.connect(own.invitation.server)
        .map_err(|_| Broken("nobody answers"))?;
    let mut tls = tls::open(tcp, buffers, &own.keys, entropy).map_err(|error| {
        hprintln!("TLS: {:?}", error);
        Broken("no handshake")
    })?;
    act(own, &mut tls, buffer)
}

/// The agreement of an earlier boot. Its digest is in the invitation: whatever else lies there is
/// not taken for it.
fn kept(flash: &[u8], own: &Own<'_>) -> Option<Agreement> {
    let (agreement, _) = postcard::take_from_bytes::<Agreement>(flash).ok()?;
    (agreement.digest() == own.invitation.terms
        && agreement.deployment == own.invitation.deployment)
        .then_some(agreement)
}

/// The agreement that the invitation names, which is then kept in flash if there is room.
fn agreement_of<S: Read + Write>(
    own: &Own<'_>,
    tls: &mut S,
    buffer: &mut [u8],
    flash: &mut [u8],
) -> Result<Agreement, Ended> {
    let run = own.invitation.deployment;
    let answer = request(
        tls,
        "GET",
        format_args!("/v1/{run:016x}/agreement"),
        format_args!(""),
        &[],
        &mut *buffer,
    )?;
    if answer.status != 200 {
        return Err(refusal(&answer));
    }
    let agreement = postcard::take_from_bytes::<Agreement>(&buffer[..answer.kept]);
    let (agreement, rest) = agreement.map_err(|_| Fatal::Given("the agreement does not decode"))?;
    if agreement.digest() != own.invitation.terms || agreement.deployment != run {
        return Err(Fatal::Given("the agreement is not that of the invitation").into());
    }
    let used = answer.kept - rest.len();
    if let Some(place) = flash.get_mut(..used) {
        place.copy_from_slice(&buffer[..used]);
    }
    Ok(agreement)
}

/// A status that is no answer: to be tried again, or the end.
fn refusal(answer: &Answer) -> Ended {
    match answer.status {
        408 | 429 | 500.. => Broken("the server is busy").into(),
        status => Fatal::Refused(status).into(),
    }
}

/// Asks, works and gives until the federation is over.
fn take_part<S: Read + Write>(
    own: &Own<'_>,
    tls: &mut S,
    buffer: &mut [u8],
    party: &mut dyn TakesPart,
    enrolled: &mut bool,
    rest: &Cell<Rest>,
) -> Result<(), Ended> {
    loop {
        rest.set(Rest::of(party));
        let want = party.want(now());
        if let (Want::Work | Want::Give(_) | Want::Done, Some(lack)) = (&want, party.lacks()) {
            if supply(own, tls, buffer, party, lack)? {
                party.save()?;
            }
            continue;
        }
        let is_changed = match want {
            Want::Done => return Ok(()),
            Want::Refused => return Err(Fatal::Refused(403).into()),
            // Before the connection is made again there is a pause anyway; one that is kept costs
            // the server a place.
            Want::Wait(until) => {
                pause(until);
                false
            }
            Want::Work => {
                party.work()?;
                true
            }
            Want::Ask(have) => ask(own, tls, buffer, party, &have, enrolled)?,
            Want::Give(header) => give(own, tls, buffer, party, header)?,
        };
        // What comes of waiting is no wear of the flash.
        if is_changed {
            party.save()?;
        }
    }
}

fn pause(until: Millis) {
    while now() < until {
        rest();
    }
}

/// Asks for the next frame: whether there is something to store.
fn ask<S: Read + Write>(
    own: &Own<'_>,
    tls: &mut S,
    buffer: &mut [u8],
    party: &mut dyn TakesPart,
    have: &Have,
    enrolled: &mut bool,
) -> Result<bool, Ended> {
    let run = own.invitation.deployment;
    let frames = have.frames;
    let chain = have.chain;
    let path = format_args!("/v1/{run:016x}/rounds/{frames}");
    let headers = format_args!(
        "sordino-chain: {chain}\r\nsordino-seal: {}\r\nsordino-wait-ms: {WAIT}\r\n",
        Hex(&have.seal)
    );
    let answer = request(tls, "GET", path, headers, &[], &mut *buffer)?;
    match (answer.status, answer.round, answer.seal) {
        (200, Some(current), Some(seal)) if answer.kept == answer.whole => {
            return Ok(party.heard(&buffer[..answer.kept], current, seal)?);
        }
        (204 | 503, _, _) => {
            party.exchange().later(answer.later_ms, now());
            return Ok(false);
        }
        // A key that the server has not seen: shown once in a boot with the token that makes it
        // known.
        (403, _, _) if !*enrolled => {
            enrol(own, tls, buffer)?;
            *enrolled = true;
            return Err(Broken("enrolled").into());
        }
        (403, _, _) => party.exchange().not_you(),
        _ => return Err(refusal(&answer)),
    }
    Ok(true)
}

/// Asks for what the party lacks: whether there is something to store.
fn supply<S: Read + Write>(
    own: &Own<'_>,
    tls: &mut S,
    buffer: &mut [u8],
    party: &mut dyn TakesPart,
    lack: Lack,
) -> Result<bool, Ended> {
    let run = own.invitation.deployment;
    let mut put = |from: usize, piece: &[u8]| party.piece(from, piece).map_err(Ended::from);
    let answer = match lack {
        Lack::Opening(round) => fetch(
            tls,
            format_args!("/v1/{run:016x}/rounds/{round}/opening"),
            buffer,
            &mut put,
        ),
        Lack::File => fetch(
            tls,
            format_args!("/v1/{run:016x}/prior.frame"),
            buffer,
            &mut put,
        ),
    }?;
    let came = match answer.status {
        200 if answer.whole == 0 => return Err(Broken("an answer without content").into()),
        200 => Some(answer.whole),
        404 => None,
        // A server that is beginning says when to come back.
        503 => {
            pause(now().after(answer.later_ms));
            return Ok(false);
        }
        _ => return Err(refusal(&answer)),
    };
    if !party.came(came)? {
        // Not what follows from the history that it knows, of a cache perhaps.
        pause(now().after(PAUSE_OLDER));
        return Ok(false);
    }
    Ok(true)
}

fn enrol<S: Read + Write>(own: &Own<'_>, tls: &mut S, buffer: &mut [u8]) -> Result<(), Ended> {
    let Invitation {
        deployment,
        slot,
        token,
        helper,
        ..
    } = own.invitation;
    let path = format_args!("/v1/{deployment:016x}/enrol/{slot}");
    let mut shown: Vec<u8, 48> = Vec::new();
    // The key of its masks follows where there are two servers: one of them tells the other. Both
    // fit.
    let masks = helper.map(|_| own.masks.public_key().0);
    let fits = shown
        .extend_from_slice(token)
        .and_then(|()| shown.extend_from_slice(masks.as_ref().map_or(&[], |key| key)));
    fits.map_err(|_| Fatal::Given("a token too long"))?;
    let answer = request(tls, "POST", path, format_args!(""), &shown, buffer)?;
    if answer.status == 200 {
        Ok(())
    } else {
        Err(refusal(&answer))
    }
}

/// Gives its answer: whether there is something to store.
fn give<S: Read + Write>(
    own: &Own<'_>,
    tls: &mut S,
    buffer: &mut [u8],
    party: &mut dyn TakesPart,
    header: Header,
) -> Result<bool, Ended> {
    let mut frame = [0; ANSWER_MAX];
    let used = party.answer(header, &mut frame)?;
    let run = own.invitation.deployment;
    let round = header.round;
    let agent = header.agent;
    let path = format_args!("/v1/{run:016x}/rounds/{round}/agents/{agent}");
    let answer = request(tls, "PUT", path, format_args!(""), &frame[..used], buffer)?;
    let reply = match answer.status {
        200 => Reply::Taken,
        409 => Reply::Already,
        410 => Reply::Over,
        403 => Reply::NotYou,
        503 => Reply::Later {
            after_ms: answer.later_ms,
        },
        _ => return Err(refusal(&answer)),
    };
    hprintln!("[{} ms] round {}: {}", now().0, round, answer.status);
    let is_settled = !matches!(reply, Reply::Later { .. });
    party.replied(round, reply, now());
    Ok(is_settled)
}

/// Bytes as hexadecimal digits.
struct Hex<'h>(&'h [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
