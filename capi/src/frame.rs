//! Frames of a federation: what an agent sends to its server, and what it receives. The bytes are
//! those of `wire`, `federated::small` and `wire::fragments` of core, so that a server cannot tell
//! which language wrote them.

use core::ffi::c_void;
use core::task::Poll;

use sordino_core::digest::Digest;
use sordino_core::federated::exchange::after;
use sordino_core::federated::small;
use sordino_core::wire::fragments::{self, Reassembly as CoreReassembly};
use sordino_core::wire::{self, HEADER_MAX, Header, Kind, ScalarTag, VERSION};

use crate::agreement::{self, AgentSettings, SORDINO_DIGEST_BYTES};
use crate::memory::{Arena, Handle, Object, Plain, Word, build, with};
use crate::status::{Refusal, Refused, Status};

/// Bytes beside the numbers of a frame, at most.
pub const SORDINO_FRAME_OVERHEAD: usize = 57;
/// Bytes beside the numbers of an upload in 16 bits a number.
pub const SORDINO_SMALL_OVERHEAD: usize = 21;
/// Bytes beside the piece in a fragment.
pub const SORDINO_FRAGMENT_OVERHEAD: usize = 9;
/// Bytes of a reassembly before its frame.
pub const SORDINO_REASSEMBLY_HEAD: usize = 96;

const _: () =
    assert!(SORDINO_FRAME_OVERHEAD == HEADER_MAX + 4 && SORDINO_SMALL_OVERHEAD == small::OVERHEAD);
const _: () = assert!(SORDINO_FRAGMENT_OVERHEAD == fragments::OVERHEAD);
const _: () = assert!(size_of::<Handle<CoreReassembly<'_>>>() + 8 <= SORDINO_REASSEMBLY_HEAD);

/// An agent's weights, or no numbers if it has nothing to give in this round.
pub const SORDINO_FRAME_UPLOAD: u32 = 0;
/// The server's vectors, one number for each region and feature.
pub const SORDINO_FRAME_BROADCAST: u32 = 1;
/// The server says that there is no broadcast in this round; no numbers.
pub const SORDINO_FRAME_NO_BROADCAST: u32 = 2;

/// What precedes the numbers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FrameHeader {
    /// Random public number of the federation, from its server; never a seed.
    pub deployment: u64,
    /// sordino_prefix of the digest of the agreement, which `sordino export --lang c` writes into a
    /// header.
    pub config: u64,
    /// sordino_prefix of the history: of an upload that of all broadcasts its agent knows
    /// (sordino_frame_chain).
    pub chain: u64,
    /// SORDINO_FRAME_UPLOAD, SORDINO_FRAME_BROADCAST or SORDINO_FRAME_NO_BROADCAST.
    pub kind: u32,
    /// The agent that sends it; of a server's frame 0.
    pub agent: u32,
    /// The round it belongs to.
    pub round: u32,
    /// How often the round was begun before, at most 65535: an answer carries that of the frame it
    /// answers.
    pub attempt: u32,
    /// How many numbers there are; writing sets it.
    pub len: u32,
}

// SAFETY: integers.
unsafe impl Plain for FrameHeader {}

fn kind_of(number: u32) -> Result<Kind, Refused> {
    match number {
        SORDINO_FRAME_UPLOAD => Ok(Kind::Upload),
        SORDINO_FRAME_BROADCAST => Ok(Kind::Broadcast),
        SORDINO_FRAME_NO_BROADCAST => Ok(Kind::NoBroadcast),
        _ => Err(Refused::range("kind", f64::from(number), "0, 1 or 2")),
    }
}

impl FrameHeader {
    pub(crate) fn to_core(self) -> Result<Header, Refused> {
        let FrameHeader {
            deployment,
            config,
            chain,
            agent,
            round,
            len,
            ..
        } = self;
        let attempt = u16::try_from(self.attempt);
        let attempt =
            attempt.map_err(|_| Refused::range("attempt", f64::from(self.attempt), "0..=65535"))?;
        let version = VERSION;
        let kind = kind_of(self.kind)?;
        let scalar = ScalarTag::F32;
        Ok(Header {
            version,
            kind,
            scalar,
            deployment,
            config,
            chain,
            agent,
            round,
            attempt,
            len,
        })
    }

    fn of_core(header: &Header) -> Result<Self, Refused> {
        let kind = match header.kind {
            Kind::Upload => SORDINO_FRAME_UPLOAD,
            Kind::Broadcast => SORDINO_FRAME_BROADCAST,
            Kind::NoBroadcast => SORDINO_FRAME_NO_BROADCAST,
            // An opening is read by the site that it is for, in double precision.
            Kind::Report | Kind::Query | Kind::Opening | Kind::Prior => {
                return Err(Status::Foreign.into());
            }
        };
        let Header {
            deployment,
            config,
            chain,
            agent,
            round,
            len,
            ..
        } = *header;
        Ok(FrameHeader {
            deployment,
            config,
            chain,
            kind,
            agent,
            round,
            attempt: u32::from(header.attempt),
            len,
        })
    }
}

fn status(result: Result<(), Refused>) -> Status {
    match result {
        Ok(()) => Status::Ok,
        Err(refused) => refused.status,
    }
}

fn digest(word: Word, at: *const u8) -> Result<Digest, Refused> {
    let bytes = word.list(at, SORDINO_DIGEST_BYTES)?;
    Ok(Digest(*bytes.first_chunk().ok_or(Status::TooShort)?))
}

/// First 64 bits of the SORDINO_DIGEST_BYTES bytes at `digest`, as headers carry them, to `prefix`.
///
/// # Safety
///
/// `digest` is NULL or good for SORDINO_DIGEST_BYTES bytes, `prefix` NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_prefix(digest: *const u8, prefix: *mut u64) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    status(
        self::digest(word, digest)
            .and_then(|digest| Ok(word.write(prefix, wire::prefix(&digest))?)),
    )
}

/// Writes a frame of `len` numbers into the `room` bytes at `bytes`, and how many it took to
/// `written`. Frames take SORDINO_FRAME_OVERHEAD bytes and four for each number, or fewer.
///
/// # Safety
///
/// `header` and `written` are NULL or good for one value, `numbers` NULL or good for `len` numbers,
/// `bytes` NULL or good for `room` bytes.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_frame_write(
    header: *const FrameHeader,
    numbers: *const f32,
    len: usize,
    bytes: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    status(word.read(header).map_err(Refused::from).and_then(|header| {
        let header = header.to_core()?;
        word.admit(written, 1)?;
        let (numbers, out) = word.apart(numbers, len, bytes, room)?;
        let used = wire::encode(header, numbers, out)?;
        Ok(word.write(written, used)?)
    }))
}

/// Writes an upload in 16 bits a number, SORDINO_SMALL_OVERHEAD bytes and two for each number,
/// which the agent clips as the server would; docs/frames.md says what that costs. `len` is the
/// number of features of the settings.
///
/// # Safety
///
/// `settings`, `header` and `written` are NULL or good for one value, `numbers` NULL or good for
/// `len` numbers, `bytes` NULL or good for `room` bytes.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_frame_write_small(
    settings: *const AgentSettings,
    header: *const FrameHeader,
    numbers: *const f32,
    len: usize,
    bytes: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    status(
        word.read(settings)
            .map_err(Refused::from)
            .and_then(|settings| {
                let config = agreement::config(&settings)?;
                let header = word.read(header)?.to_core()?;
                word.admit(written, 1)?;
                let (numbers, out) = word.apart(numbers, len, bytes, room)?;
                let used = small::encode(&config, header, numbers, out)?;
                Ok(word.write(written, used)?)
            }),
    )
}

/// Reads the frame of `len` bytes at `bytes`: what precedes its numbers to `header`, and
/// `header->len` numbers, at most `room`, to `numbers`. Whether it is of this federation and of
/// which round is for the caller to compare.
///
/// # Safety
///
/// `bytes` is NULL or good for `len` bytes, `header` NULL or good for one value, `numbers` NULL or
/// good for `room` numbers.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_frame_read(
    bytes: *const u8,
    len: usize,
    header: *mut FrameHeader,
    numbers: *mut f32,
    room: usize,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    let read = || -> Result<(), Refused> {
        word.admit(header, 1)?;
        let (bytes, out) = word.apart(bytes, len, numbers, room)?;
        let (found, payload) = wire::decode(bytes, u32::try_from(room).unwrap_or(u32::MAX))?;
        let described = FrameHeader::of_core(&found)?;
        payload.read(out.get_mut(..found.len as usize).ok_or(Status::TooShort)?)?;
        Ok(word.write(header, described)?)
    };
    status(read())
}

/// Reads what precedes the numbers of the frame of `len` bytes at `bytes`, in whatever format they
/// are, to `header`. A site of a campaign needs no more of a release: what it says comes with the
/// opening and with the file.
///
/// # Safety
///
/// `bytes` is NULL or good for `len` bytes, `header` NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_frame_marks(
    bytes: *const u8,
    len: usize,
    header: *mut FrameHeader,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    let read = || -> Result<(), Refused> {
        let (found, _) = wire::decode(word.list(bytes, len)?, u32::MAX)?;
        Ok(word.write(header, FrameHeader::of_core(&found)?)?)
    };
    status(read())
}

/// The history after one more frame of the server: `before` are the SORDINO_DIGEST_BYTES bytes of
/// the history so far, at the beginning the digest of the agreement; the history with the frame
/// goes to `next`, which may be `before`.
///
/// SORDINO_STATUS_FOREIGN: the frame does not continue this history, or is no frame of a server.
/// Nothing more should be sent to a server that tells two histories.
///
/// # Safety
///
/// `before` and `next` are NULL or good for SORDINO_DIGEST_BYTES bytes, `bytes` NULL or good for
/// `len` bytes.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_frame_chain(
    before: *const u8,
    bytes: *const u8,
    len: usize,
    next: *mut u8,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    let told = || -> Result<(), Refused> {
        let before = digest(word, before)?;
        let (header, payload) = wire::decode(word.list(bytes, len)?, u32::MAX)?;
        let chain = after(&before, &header, &payload);
        if !matches!(header.kind, Kind::Broadcast | Kind::NoBroadcast)
            || wire::prefix(&chain) != header.chain
        {
            return Err(Status::Foreign.into());
        }
        Ok(word.copy(&chain.0, next, SORDINO_DIGEST_BYTES)?)
    };
    status(told())
}

/// How many packets of `packet` bytes a frame of `frame` bytes takes; 0 if they are too many or too
/// small.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_fragment_count(frame: usize, packet: usize) -> usize {
    fragments::count(frame, packet).unwrap_or(0)
}

/// Writes piece `index`, from 0 on, of the frame of `len` bytes at `bytes` into the packet of
/// `room` bytes at `packet`, and how many it took to `written`. All pieces of a frame are cut for
/// the same `room`.
///
/// # Safety
///
/// `bytes` is NULL or good for `len` bytes, `packet` NULL or good for `room` bytes, `written` NULL
/// or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_fragment_write(
    bytes: *const u8,
    len: usize,
    index: usize,
    packet: *mut u8,
    room: usize,
    written: *mut usize,
) -> Status {
    // SAFETY: our caller gives its word.
    let word = unsafe { Word::alone() };
    let wrote = || -> Result<(), Refused> {
        word.admit(written, 1)?;
        let (frame, out) = word.apart(bytes, len, packet, room)?;
        Ok(word.write(written, fragments::piece(frame, index, out)?)?)
    };
    status(wrote())
}

/// A frame that comes in pieces, from one sender.
pub struct Reassembly {
    _handle: Handle<CoreReassembly<'static>>,
}

impl Object for Reassembly {
    type Body = CoreReassembly<'static>;
    const TAG: u32 = 0x5eed_0005;
}

fn reassembly(arena: &mut Arena, len: usize) -> Result<CoreReassembly<'static>, Refused> {
    let frame = len
        .checked_sub(SORDINO_REASSEMBLY_HEAD)
        .filter(|frame| *frame > 0)
        .ok_or(Status::TooShort)?;
    Ok(CoreReassembly::new(arena.bytes(frame)?))
}

/// Builds a reassembly in `memory` of `len` bytes, and writes its address to `reassembly`. It holds
/// frames of up to `len` - SORDINO_REASSEMBLY_HEAD bytes.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used;
/// `reassembly` is NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_reassembly_new(
    memory: *mut c_void,
    len: usize,
    reassembly: *mut *mut Reassembly,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(
            memory,
            len,
            reassembly,
            core::ptr::null_mut::<Refusal>(),
            |arena, _| self::reassembly(arena, len),
        )
    }
}

/// Takes a piece. SORDINO_STATUS_PENDING: others lack. SORDINO_STATUS_OK: the whole frame is
/// `frame_len` bytes at `frame`, in the memory of the object, until its next call.
/// SORDINO_STATUS_FOREIGN: a piece of another frame than the one under way, which is kept.
/// SORDINO_STATUS_FRAME: no piece, or the whole was changed on its way and is given up.
///
/// # Safety
///
/// `reassembly` is NULL or what sordino_reassembly_new wrote; `packet` is NULL or good for `len`
/// bytes, `frame` and `frame_len` NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_reassembly_push(
    reassembly: *mut Reassembly,
    packet: *const u8,
    len: usize,
    frame: *mut *const u8,
    frame_len: *mut usize,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(reassembly, |body, word| {
            word.admit(frame, 1)?;
            word.admit(frame_len, 1)?;
            match body.push(word.list(packet, len)?)? {
                Poll::Pending => Ok(Status::Pending),
                Poll::Ready(whole) => {
                    word.write(frame, whole.as_ptr())?;
                    word.write(frame_len, whole.len())?;
                    Ok(Status::Ok)
                }
            }
        })
    }
}

/// Gives up the frame under way: its sender went on to another, or is silent.
///
/// # Safety
///
/// `reassembly` is NULL or what sordino_reassembly_new wrote.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_reassembly_clear(reassembly: *mut Reassembly) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(reassembly, |body, _| {
            body.clear();
            Ok(Status::Ok)
        })
    }
}
