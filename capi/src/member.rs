//! A member of a federated prior: points to evaluate, contributions in the clear or behind a mask,
//! releases to learn.

mod kept;
mod terms;

use core::ffi::c_void;

use sordino_core::digest::Digest;
use sordino_core::domain::{Candidates, DIM_MAX};
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::{
    ContextStorage, Member as CoreMember, MemberState, MemberStorage, Model, PriorProtocol, context,
};
use sordino_core::federated::shares::{
    AgentKey, Attempts, Contribution, HideError, Modulus, ReserveError,
};
use sordino_core::federated::{Encoding, Frame, Member as _, Next, Phase};
use sordino_core::random::RunSeed;

use crate::agent::{Answer, AnswerKind};
use crate::callback::Flash;
use crate::memory::{Arena, Handle, Object, Word, build, look, with};
use crate::settings::yes;
use crate::status::{Refusal, Refused, Status};

use kept::{Kept, Slots};
pub use kept::{SORDINO_MEMBER_PIECE, SORDINO_MEMBER_SLOT};
pub use terms::{
    MemberSettings, SORDINO_KEY_BYTES, SORDINO_MEMBER_COUNT_MAX, SORDINO_MEMBER_FEATURES_MAX,
    SORDINO_MEMBER_HEAD, sordino_member_public_key,
};

/// What hides contributions where there are two servers.
struct Masks {
    key: AgentKey,
    attempts: Attempts,
    /// How often the attempts were written.
    number: u32,
    /// The epoch of the last contribution that was hidden since the object was opened, and bytes of
    /// what is sent: the same again, if a line broke.
    hidden: Option<(u32, usize)>,
    upload: &'static mut [f32],
    integers: &'static mut [i64],
    bytes: &'static mut [u8],
}

/// A member with all that it keeps.
pub(crate) struct Body {
    member: CoreMember<'static, f32>,
    agreement: &'static Agreement,
    protocol: &'static PriorProtocol,
    candidates: Candidates<'static, f32>,
    point: [f32; DIM_MAX],
    /// The epoch of its last frame was over when that came.
    is_missed: bool,
    /// Whether flash holds the state as it is.
    is_durable: bool,
    slots: Option<Slots>,
    masks: Option<Masks>,
}

/// A member of a federated prior.
pub struct Member {
    _handle: Handle<Body>,
}

impl Object for Member {
    type Body = Body;
    const TAG: u32 = 0x5eed_0009;
}

/// Eight pieces of numbers follow, each up to seven bytes longer than it says.
const HEAD: usize =
    size_of::<Member>() + size_of::<(Agreement, MemberState<f32>, [Model<f32>; 6])>() + 11 * 8;
const _: () = assert!(HEAD <= SORDINO_MEMBER_HEAD);

/// Bytes of memory a member takes, as SORDINO_MEMBER_SIZE; 0 if one of the numbers is out of range.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_member_size(
    candidates: u32,
    features: u32,
    initial_points: u32,
    rounds: u32,
    designs: u32,
) -> usize {
    terms::sizes([candidates, features, initial_points, rounds, designs])
        .map_or(0, |(_, bytes)| bytes)
}

/// Puts a member together: its context, then what its flash holds.
fn open(
    arena: &mut Arena,
    settings: &MemberSettings,
    flash: Option<Flash>,
    doubles: (*mut f64, usize),
    word: Word,
) -> Result<Body, Refused> {
    let agreement: &'static Agreement = arena.place(terms::agreement(settings, word)?)?;
    let protocol = agreement.protocol.prior().ok_or(Status::Agreement)?;
    let agents = protocol.config.parameters().agents;
    if settings.agent >= agents {
        return Err(Refused::range(
            "agent",
            f64::from(settings.agent),
            "below the agents of the agreement",
        ));
    }
    let key = terms::shared_key(settings, protocol.config.parameters().trust, word)?;
    let grids = terms::grids(settings, agreement.dim as usize)?;
    let [candidates, landmarks] = &grids;
    let (sizes, bytes) = terms::of_protocol(protocol, candidates.count())?;
    arena.require(bytes)?;
    let storage = ContextStorage {
        numbers: arena.numbers(sizes.context() + sizes.storage())?,
        designs: arena.zeros(sizes.designs_len())?,
    };
    // Nothing that C gave is read any more.
    let doubles = word.scratch(doubles.0, doubles.1)?;
    let made = context(agreement, [candidates, landmarks], storage, doubles);
    let (public, numbers) = made.map_err(|error| terms::unlike(settings, error))?;
    let mut storage = MemberStorage::split(protocol, &public, numbers)?;

    let digest = Digest::of(&("sordino-c member", agreement.digest(), settings.agent));
    let mut slots = flash
        .map(|flash| Slots::new(flash, digest, protocol))
        .transpose()?;
    // Before anything else is stored: a device with a past that knows no attempts has lost them.
    let masks = match key {
        Some(key) => {
            let slots = slots.as_ref().ok_or(Status::Null)?;
            Some(masks(
                arena,
                key,
                slots.attempts(agreement.digest())?,
                protocol.config.contribution_len(),
            )?)
        }
        None => None,
    };
    let first = MemberState::new(settings.agent, RunSeed::new(settings.seed, 0));
    let first = Kept {
        state: first,
        is_missed: false,
    };
    let Kept { state, is_missed } = match &mut slots {
        Some(slots) => slots.state(first)?,
        None => first,
    };
    if let Some(slots) = &slots {
        slots.read_log(state.agent().observations(), protocol.offset, storage.log)?;
        storage.learn_again(&state, protocol, public, |index, numbers| {
            slots.read_release(index, numbers)
        })?;
    }
    let models: &'static [Model<f32>; 6] = arena.place(protocol.models())?;
    let member = CoreMember::attach(protocol, public, models, arena.place(state)?, storage)?;
    let candidates = Candidates::grid(settings.per_axis, agreement.dim as usize)?;
    Ok(Body {
        member,
        agreement,
        protocol,
        candidates,
        point: [0.0; DIM_MAX],
        is_missed,
        is_durable: true,
        slots,
        masks,
    })
}

fn masks(
    arena: &mut Arena,
    key: AgentKey,
    (number, attempts): (u32, Attempts),
    len: usize,
) -> Result<Masks, Refused> {
    let upload = arena.numbers(len)?;
    let integers = arena.zeros(len)?;
    let bytes = arena.bytes(Modulus::Bits64.hidden_len(len))?;
    Ok(Masks {
        key,
        attempts,
        number,
        hidden: None,
        upload,
        integers,
        bytes,
    })
}

/// Builds a member in `memory` of `len` bytes, as its flash left it, and writes its address to
/// `member`. `refusal` may be NULL, and with one server `flash` too: a reset then forgets
/// everything. Two servers need both keys and a flash.
///
/// `doubles` holds SORDINO_MEMBER_DOUBLES numbers or more, which are free afterwards. The
/// agreement, the digest and the keys of the settings are read and not kept.
///
/// SORDINO_STATUS_MASKS is a flash with a past that does not say which masks were used: with the
/// same secret a mask could serve twice, which shows the difference of two contributions. Such a
/// device needs a new secret and a new invitation.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used;
/// `doubles` is NULL or good for `doubles_len` numbers; the other pointers are NULL or good for one
/// value; the pointers of the settings are NULL or good for as many bytes as are named beside them;
/// the callbacks do what their docs say.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_member_open(
    memory: *mut c_void,
    len: usize,
    settings: *const MemberSettings,
    flash: *const Flash,
    doubles: *mut f64,
    doubles_len: usize,
    member: *mut *mut Member,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(memory, len, member, refusal, |arena, word| {
            let flash = if flash.is_null() {
                None
            } else {
                word.read(flash)?.admit(false)?
            };
            let settings = word.read(settings)?;
            open(arena, &settings, flash, (doubles, doubles_len), word)
        })
    }
}

impl Body {
    fn save(&mut self) -> Result<(), Refused> {
        let Body {
            member,
            is_missed,
            slots,
            is_durable,
            ..
        } = self;
        *is_durable = false;
        if let Some(slots) = slots {
            slots.save(&Kept {
                state: member.state().clone(),
                is_missed: *is_missed,
            })?;
        }
        *is_durable = true;
        Ok(())
    }

    /// What it wants next. Under two servers no contribution is in the answer.
    fn next(&mut self) -> Result<Answer, Refused> {
        let frames = self.member.state().frames();
        let Some(epoch) = frames.checked_sub(1).filter(|_| !self.is_missed) else {
            return Ok(Answer::bare(AnswerKind::Wait));
        };
        let is_last = epoch >= self.protocol.releases();
        let Body {
            member,
            agreement,
            protocol,
            candidates,
            point,
            masks,
            ..
        } = self;
        match member.next()? {
            Next::Query { candidate, number } => {
                let point = point.get_mut(..candidates.dim()).unwrap_or_default();
                candidates.point(candidate, point);
                Ok(Answer::new(
                    AnswerKind::Evaluate,
                    (candidate, number),
                    point,
                ))
            }
            Next::Give(_) if is_last => Ok(Answer::bare(AnswerKind::Done)),
            Next::Give([]) => Ok(Answer::bare(AnswerKind::Wait)),
            Next::Give(_) if !affords(agreement, protocol, epoch)? => {
                Ok(Answer::bare(AnswerKind::Wait))
            }
            Next::Give(_) if masks.is_some() => Ok(Answer::bare(AnswerKind::Hide)),
            Next::Give(numbers) => Ok(Answer::new(AnswerKind::Upload, (0, 0), numbers)),
        }
    }

    /// What it wants next; its state is durable before that is said.
    fn answer(&mut self) -> Result<Answer, Refused> {
        let answer = self.next();
        self.save()?;
        answer
    }

    /// Whether a value is awaited.
    fn awaits(&self) -> bool {
        matches!(
            self.member.state().agent().phase(),
            Phase::Initial | Phase::Evaluating
        )
    }

    /// Takes the frame of a round, once.
    fn frame(&mut self, round: u32, numbers: &[f32], is_over: bool) -> Result<Answer, Refused> {
        let frames = self.member.state().frames();
        if round.checked_add(1) == Some(frames) {
            return self.answer();
        }
        if round != frames || self.awaits() {
            return Err(Status::Unexpected.into());
        }
        let frame = match (round.checked_sub(1), numbers) {
            (None, []) => Frame::Start,
            (Some(_), []) => Frame::Nothing,
            (None, _) => return Err(Status::Length.into()),
            (Some(_), _) if numbers.len() != self.protocol.config.contribution_len() => {
                return Err(Status::Length.into());
            }
            (Some(_), _) if !numbers.iter().all(|x| x.is_finite()) => {
                return Err(Status::NotFinite.into());
            }
            (Some(_), _) => Frame::Released(numbers),
        };
        if round > self.protocol.releases() {
            return Err(Status::Unexpected.into());
        }
        // In flash before it is learned: the posterior is a function of what is stored.
        if let (Some(slots), Some(index)) = (&self.slots, round.checked_sub(1)) {
            slots.write_release(index, numbers)?;
        }
        self.member.enter(frame)?;
        // The first epoch is never left out, and nothing is missed in the last.
        self.is_missed = is_over && (1..self.protocol.releases()).contains(&round);
        self.answer()
    }

    fn observed(&mut self, y: f32) -> Result<Answer, Refused> {
        if !y.is_finite() {
            return Err(Status::NotFinite.into());
        }
        if !self.awaits() {
            return Err(Status::Unexpected.into());
        }
        let state = self.member.state().agent();
        let number = state.observations();
        let candidate = state.pending();
        let y = match &self.slots {
            Some(slots) => slots.observation(number, candidate, y)?,
            None => y,
        };
        self.member.observed(y)?;
        self.answer()
    }

    /// Hides the contribution of an epoch: how many bytes lie in the buffer of the masks.
    fn hide(&mut self, epoch: u32) -> Result<usize, Refused> {
        let is_now = self.member.state().frames().checked_sub(1) == Some(epoch) && !self.is_missed;
        if !is_now || epoch >= self.protocol.releases() {
            return Err(Status::Unexpected.into());
        }
        if !affords(self.agreement, self.protocol, epoch)? {
            return Err(Status::Budget.into());
        }
        // Nothing leaves of a state that is not in flash.
        if !self.is_durable {
            self.save()?;
        }
        let (Some(masks), Some(slots)) = (&mut self.masks, &self.slots) else {
            return Err(Status::Unexpected.into());
        };
        let encoding = self.member.encoding()?.ok_or(Status::Unexpected)?;
        let Next::Give(numbers) = self.member.next()? else {
            return Err(Status::Unexpected.into());
        };
        if let Some((_, len)) = masks.hidden.filter(|(of, _)| *of == epoch) {
            return Ok(len);
        }
        if numbers.len() != masks.upload.len() {
            return Err(Status::Unexpected.into());
        }
        masks
            .upload
            .iter_mut()
            .zip(numbers)
            .for_each(|(to, from)| *to = *from);
        let Masks {
            key,
            attempts,
            number,
            hidden,
            upload,
            integers,
            bytes,
        } = masks;
        let contribution = Contribution {
            epoch,
            encoding: &encoding,
            numbers: upload,
        };
        let len = key
            .hide(
                contribution,
                attempts,
                &mut slots.masks(number),
                integers,
                bytes,
            )
            .map_err(refused);
        // In the clear only as long as it takes; the member makes it again.
        upload.fill(0.0);
        integers.fill(0);
        let len = len?;
        *hidden = Some((epoch, len));
        Ok(len)
    }

    /// Bytes of a hidden contribution of this epoch.
    fn hidden_len(&mut self) -> Result<usize, Refused> {
        let encoding = self.member.encoding()?.ok_or(Status::Unexpected)?;
        let modulus = Modulus::of(&encoding).ok_or(Status::Hidden)?;
        Ok(modulus.hidden_len(encoding.sums_len()))
    }
}

/// Whether a contribution to the release of an epoch fits the budget that was announced.
fn affords(agreement: &Agreement, protocol: &PriorProtocol, epoch: u32) -> Result<bool, Refused> {
    let announced = agreement.announced;
    let Some(epsilon_max) = announced.epsilon_max else {
        return Ok(true);
    };
    protocol
        .plan()
        .affords(epoch, epsilon_max, announced.delta)
        .map_err(|_| Status::Agreement.into())
}

fn refused(error: HideError<Refused>) -> Refused {
    match error {
        HideError::Reserve(ReserveError::Store(refused)) => refused,
        _ => Status::Hidden.into(),
    }
}

/// Gives an input to the member and its answer to C.
///
/// # Safety
///
/// As [`with`]; `answer` is NULL or good for one value.
// SAFETY: asked for above.
unsafe fn answered(
    member: *mut Member,
    answer: *mut Answer,
    act: impl FnOnce(&mut Body, Word) -> Result<Answer, Refused>,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(member, |body, word| {
            // Before anything happens: an answer that can go nowhere is not made.
            word.admit(answer, 1)?;
            let found = act(body, word)?;
            word.write(answer, found)?;
            Ok(Status::Ok)
        })
    }
}

/// The frame of round `round`: none of its numbers in round 0, later the `len` numbers that were
/// released, or none where nothing was. `is_over` is 1 if the server is in a later round already:
/// then nothing is asked, and the next frame may come.
///
/// Frames are taken in order, each once; the last one again, whose answer was lost say, repeats the
/// answer. The answer is SORDINO_ANSWER_KIND_EVALUATE, or what is to be contributed if the round
/// has no queries. It takes as long as learning the release and a query: see docs/device-table.md.
///
/// # Safety
///
/// `member` is NULL or what sordino_member_open wrote; the other pointers are NULL or good for what
/// is named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_member_frame(
    member: *mut Member,
    round: u32,
    numbers: *const f32,
    len: usize,
    is_over: u32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        answered(member, answer, |body, word| {
            let is_over = yes("is_over", is_over)?;
            body.frame(round, word.list(numbers, len)?, is_over)
        })
    }
}

/// Tells the value of the point last asked for. A value that the flash already holds for it,
/// written before a reset, counts in place of `y`.
///
/// # Safety
///
/// `member` is NULL or what sordino_member_open wrote; `answer` is NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_member_observed(
    member: *mut Member,
    y: f32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe { answered(member, answer, |body, _| body.observed(y)) }
}

/// Says the last answer again, the same bits: after a reset, or after SORDINO_STATUS_FLASH. Before
/// the first frame it is SORDINO_ANSWER_KIND_WAIT.
///
/// # Safety
///
/// `member` is NULL or what sordino_member_open wrote; `answer` is NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_member_repeat(member: *mut Member, answer: *mut Answer) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe { answered(member, answer, |body, _| body.answer()) }
}

/// Under two servers: writes the contribution to the release of round `round` behind a mask to
/// `bytes`, the attempt of the mask and the share, and how many bytes these are to `used`. They go
/// to the leader behind a frame without numbers. `len` of SORDINO_HIDDEN_SIZE is always enough.
///
/// That the mask is used is in flash before it exists. Asked again, it writes the same bytes; after
/// a reset those of another mask, over the same numbers. SORDINO_STATUS_UNEXPECTED: the answer was
/// not SORDINO_ANSWER_KIND_HIDE, or one server is trusted.
///
/// # Safety
///
/// `member` is NULL or what sordino_member_open wrote; `bytes` is NULL or good for `len` bytes,
/// `used` NULL or good for one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_member_hide(
    member: *mut Member,
    round: u32,
    bytes: *mut u8,
    len: usize,
    used: *mut usize,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(member, |body, word| {
            // Before a mask is used: a share that can go nowhere is not made.
            word.admit(bytes, len)?;
            word.admit(used, 1)?;
            if body.masks.is_none() || body.member.state().frames() == 0 {
                return Err(Status::Unexpected.into());
            }
            if len < body.hidden_len()? {
                return Err(Status::TooShort.into());
            }
            let hidden = body.hide(round)?;
            let masks = body.masks.as_ref().ok_or(Status::Unexpected)?;
            word.copy(masks.bytes.get(..hidden).unwrap_or_default(), bytes, len)?;
            word.write(used, hidden)?;
            Ok(Status::Ok)
        })
    }
}

/// Frames taken, observations so far, masks used, and whether the run is over (0 or 1); each may be
/// NULL.
///
/// # Safety
///
/// `member` is NULL or what sordino_member_open wrote; the other pointers are NULL or good for one
/// value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_member_describe(
    member: *const Member,
    frames: *mut u32,
    observations: *mut u32,
    masks: *mut u32,
    over: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(member, |body, word| {
            let state = body.member.state();
            word.offer(frames, state.frames())?;
            word.offer(observations, state.agent().observations())?;
            // The attempts were written once before the first mask.
            word.offer(
                masks,
                body.masks
                    .as_ref()
                    .map_or(0, |masks| masks.number.saturating_sub(1)),
            )?;
            word.offer(over, u32::from(state.agent().phase() == Phase::Done))?;
            Ok(Status::Ok)
        })
    }
}
