//! The agent of a federation: points to evaluate, weights to upload, broadcasts to follow.

use core::ffi::c_void;
use core::ptr;
use core::task::Poll;

use sordino_core::digest::Digest;
use sordino_core::federated::{
    Agent as CoreAgent, AgentState, AgentStorage, Entry, Input, Output, Phase, Public, Sizes,
    Workspace,
};
use sordino_core::random::RunSeed;
use sordino_core::snapshot::max_bytes;

use crate::agreement::{self, AgentSettings};
use crate::callback::Flash;
use crate::memory::{Arena, Handle, Object, Plain, Word, build, look, with};
use crate::settings::bytes;
use crate::status::{Refusal, Refused, Status};

/// Bytes before the numbers of an agent.
pub const SORDINO_AGENT_HEAD: usize = 1536;
/// Bytes of each of its slots: 0 and 1 for its state, one more for every observation.
pub const SORDINO_AGENT_SLOT: usize = 52;
/// The slot of the first observation.
const FIRST: u32 = 2;

/// An agent, and the flash that keeps its state and its log.
pub(crate) struct Body {
    agent: CoreAgent<'static, f32>,
    flash: Option<Flash>,
    agreement: Digest,
    /// How often the state was written.
    number: u32,
}

/// An agent of a federation.
pub struct Agent {
    _handle: Handle<Body>,
}

impl Object for Agent {
    type Body = Body;
    const TAG: u32 = 0x5eed_0004;
}

const HEAD: usize =
    size_of::<Agent>() + size_of::<Public<'_, f32>>() + size_of::<AgentState>() + 3 * 8;
const _: () =
    assert!(HEAD + size_of::<sordino_core::federated::Config>() + 8 <= SORDINO_AGENT_HEAD);
const _: () = assert!(max_bytes::<AgentState>() == SORDINO_AGENT_SLOT);
const _: () = assert!(max_bytes::<Entry<f32>>() <= SORDINO_AGENT_SLOT);

/// What an agent wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum AnswerKind {
    /// Wait for the next round.
    Wait = 0,
    /// Evaluate the function at `numbers` and call sordino_agent_observed.
    Evaluate = 1,
    /// Send `numbers` to the server, then wait for its broadcast.
    Upload = 2,
    /// The run is over.
    Done = 3,
    /// Of a member under two servers: send what sordino_member_hide writes, then wait for the next
    /// frame.
    Hide = 4,
}

/// What an agent wants next, in numbers that lie in its memory and are good until its next call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Answer {
    /// What is to be done.
    pub kind: AnswerKind,
    /// Of SORDINO_ANSWER_KIND_EVALUATE: index of the candidate.
    pub candidate: u32,
    /// Of SORDINO_ANSWER_KIND_EVALUATE: how many observations were made before this one.
    pub number: u32,
    /// How many numbers there are.
    pub len: u32,
    /// A point of the unit box, or weights; NULL where there is neither.
    pub numbers: *const f32,
}

// SAFETY: it is written to C and never read from there; its enum is an integer that we choose.
unsafe impl Plain for Answer {}

impl Answer {
    /// An answer without numbers.
    pub(crate) fn bare(kind: AnswerKind) -> Self {
        Answer::new(kind, (0, 0), &[])
    }

    /// An answer with these numbers, which stay where they are.
    pub(crate) fn new(kind: AnswerKind, (candidate, number): (u32, u32), numbers: &[f32]) -> Self {
        let at = if numbers.is_empty() {
            ptr::null()
        } else {
            numbers.as_ptr()
        };
        Answer {
            kind,
            candidate,
            number,
            len: numbers.len() as u32,
            numbers: at,
        }
    }
}

impl From<Output<'_, f32>> for Answer {
    fn from(output: Output<'_, f32>) -> Self {
        let (kind, candidate, number, numbers) = match output {
            Output::Evaluate {
                candidate,
                point,
                number,
            } => (AnswerKind::Evaluate, candidate, number, point),
            Output::Upload(weights) => (AnswerKind::Upload, 0, 0, weights),
            Output::Wait => (AnswerKind::Wait, 0, 0, &[][..]),
            Output::Done => (AnswerKind::Done, 0, 0, &[][..]),
        };
        Answer::new(kind, (candidate, number), numbers)
    }
}

fn sizes(dim: u32, features: u32, observations: u32) -> Result<Sizes, Refused> {
    agreement::extent(dim, features, observations)?;
    Ok(Sizes::new(
        dim as usize,
        features as usize,
        observations as usize,
    ))
}

fn size(dim: u32, features: u32, observations: u32) -> Result<usize, Refused> {
    let sizes = sizes(dim, features, observations)?;
    Ok(bytes(
        SORDINO_AGENT_HEAD,
        sizes.storage() + agreement::features_len(sizes.dim, sizes.features),
    )?)
}

/// Bytes of memory an agent takes, as SORDINO_AGENT_SIZE; `observations` is initial points +
/// rounds. 0 if one of them is out of range.
// SAFETY: the name begins with that of the library; it takes numbers and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_agent_size(dim: u32, features: u32, observations: u32) -> usize {
    size(dim, features, observations).unwrap_or(0)
}

/// Puts what the flash holds into the log and joins it with the numbers.
fn open(
    arena: &mut Arena,
    settings: &AgentSettings,
    points: &'static [f32],
    flash: Option<Flash>,
) -> Result<Body, Refused> {
    let observations = agreement::observations(settings)?;
    arena.require(size(settings.dim, settings.features, observations)?)?;
    let sizes = sizes(settings.dim, settings.features, observations)?;
    let config: &'static _ = arena.place(agreement::config(settings)?)?;
    let features = arena.numbers(agreement::features_len(sizes.dim, sizes.features))?;
    let public: &'static _ = arena.place(agreement::public(config, settings, points, features)?)?;
    let agreement = Digest::of(&(
        "sordino-c agent",
        config.digest(),
        agreement::digest(settings),
        settings.agent,
    ));
    let first = AgentState::new(settings.agent, RunSeed::new(settings.seed, 0));
    let (number, state) = match flash {
        Some(flash) => flash.load(first, &agreement)?,
        None => (0, first),
    };
    let state = arena.place(state)?;
    let log = arena.numbers(sizes.log())?;
    let workspace = arena.numbers(sizes.workspace())?;
    let offset = config.parameters().offset;
    if let Some(flash) = flash {
        for i in 0..state.observations() {
            let entry: Option<Entry<f32>> = flash.entry(FIRST.saturating_add(i), i, &agreement)?;
            entry
                .ok_or(Status::StoredDamaged)?
                .put(i, offset, log)
                .map_err(|_| Status::StoredInadmissible)?;
        }
    }
    let storage = AgentStorage {
        log,
        workspace: Workspace::Owned(workspace),
    };
    let agent = CoreAgent::attach(public, state, storage)?;
    Ok(Body {
        agent,
        flash,
        agreement,
        number,
    })
}

/// Builds an agent in `memory` of `len` bytes, as its flash left it, and writes its address to
/// `agent`. `flash` and `refusal` may be NULL.
///
/// With a flash an observation is in its slot before it counts, and the state in both slots before
/// the answer is given; after a reset sordino_agent_repeat says what the agent wanted. Without one
/// a reset forgets everything.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used; the
/// other pointers are NULL or good for one value; the callbacks do what their docs say. The list
/// `points` of the settings is NULL or good for `count` points of `dim` numbers that nobody changes
/// while the object is used.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_open(
    memory: *mut c_void,
    len: usize,
    settings: *const AgentSettings,
    flash: *const Flash,
    agent: *mut *mut Agent,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(memory, len, agent, refusal, |arena, word| {
            let flash = if flash.is_null() {
                None
            } else {
                word.read(flash)?.admit(false)?
            };
            let settings = word.read(settings)?;
            let points = word.list(settings.points, agreement::points_len(&settings))?;
            open(arena, &settings, points, flash)
        })
    }
}

impl Body {
    /// One input, or a slice of it; the state is durable before the answer is given.
    fn handle(
        &mut self,
        input: Input<'_, f32>,
        candidates: u32,
    ) -> Result<Option<Answer>, Refused> {
        let handled = match candidates {
            0 => self.agent.handle(input).map(Poll::Ready),
            _ => self.agent.handle_slice(input, candidates),
        };
        match handled
            .map(|poll| poll.map(Answer::from))
            .map_err(Refused::from)
        {
            Ok(Poll::Pending) => Ok(None),
            Ok(Poll::Ready(answer)) => self.save().map(|()| Some(answer)),
            // Weights that are not finite end the round.
            Err(refused) if refused.status == Status::Upload => self.save().and(Err(refused)),
            Err(refused) => Err(refused),
        }
    }

    fn save(&mut self) -> Result<(), Refused> {
        match self.flash {
            Some(flash) => flash.save(self.agent.state(), &mut self.number, &self.agreement),
            None => Ok(()),
        }
    }

    /// Writes the observation that is awaited, once; what a flash holds for it already counts in
    /// place of `y`.
    fn enter(&mut self, y: f32) -> Result<f32, Refused> {
        let state = self.agent.state();
        let number = state.observations();
        let candidate = state.pending();
        let awaited = matches!(state.phase(), Phase::Initial | Phase::Evaluating);
        let (Some(flash), true) = (self.flash, awaited && y.is_finite()) else {
            return Ok(y);
        };
        let slot = FIRST.saturating_add(number);
        let stored: Option<Entry<f32>> = flash.entry(slot, number, &self.agreement)?;
        if let Some(entry) = stored.filter(|entry| entry.candidate == candidate) {
            return Ok(entry.value);
        }
        flash.store(
            slot,
            &Entry {
                candidate,
                value: y,
            },
            number,
            &self.agreement,
        )?;
        Ok(y)
    }
}

/// Gives an input to the agent and its answer to C.
///
/// # Safety
///
/// As [`with`]; `answer` is NULL or good for one value.
// SAFETY: asked for above.
unsafe fn answered(
    agent: *mut Agent,
    answer: *mut Answer,
    act: impl FnOnce(&mut Body, Word) -> Result<Option<Answer>, Refused>,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(agent, |body, word| {
            // Before anything happens: an answer that can go nowhere is not made.
            word.admit(answer, 1)?;
            match act(body, word)? {
                None => Ok(Status::Pending),
                Some(found) => {
                    word.write(answer, found)?;
                    Ok(Status::Ok)
                }
            }
        })
    }
}

/// Begins with the first initial point.
///
/// `candidates`: 0 does all of the work; any other number does about what maximising over so many
/// candidates costs and returns SORDINO_STATUS_PENDING until the work is done, for a program that
/// feeds a watchdog. After SORDINO_STATUS_FLASH call sordino_agent_repeat.
///
/// # Safety
///
/// `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or good for what
/// is named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_start(
    agent: *mut Agent,
    candidates: u32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        answered(agent, answer, |body, _| {
            body.handle(Input::Start, candidates)
        })
    }
}

/// Tells the value of the point last asked for. A value that the flash already holds for it,
/// written before a reset, counts in place of `y`.
///
/// `candidates` as in sordino_agent_start.
///
/// # Safety
///
/// `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or good for what
/// is named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_observed(
    agent: *mut Agent,
    y: f32,
    candidates: u32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        answered(agent, answer, |body, _| {
            let y = body.enter(y)?;
            body.handle(Input::Observed(y), candidates)
        })
    }
}

/// The server's vectors of the round before: `len` numbers, one for each region and feature, at
/// `vectors`.
///
/// `candidates` as in sordino_agent_start.
///
/// # Safety
///
/// `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or good for what
/// is named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_broadcast(
    agent: *mut Agent,
    vectors: *const f32,
    len: usize,
    candidates: u32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        answered(agent, answer, |body, word| {
            let vectors = word.list(vectors, len)?;
            body.handle(
                Input::Broadcast {
                    vectors,
                    maximum: None,
                },
                candidates,
            )
        })
    }
}

/// There is no broadcast: the budget is spent, or a message was lost for good.
///
/// `candidates` as in sordino_agent_start.
///
/// # Safety
///
/// `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or good for what
/// is named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_no_broadcast(
    agent: *mut Agent,
    candidates: u32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        answered(agent, answer, |body, _| {
            body.handle(Input::NoBroadcast, candidates)
        })
    }
}

/// The agent was away for a round: nothing is asked and nothing sent.
///
/// # Safety
///
/// `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or good for what
/// is named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_missed(agent: *mut Agent, answer: *mut Answer) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe { answered(agent, answer, |body, _| body.handle(Input::Missed, 0)) }
}

/// Says the last answer again, the same bits: after a reset, for a server that lacks the upload, or
/// after SORDINO_STATUS_FLASH. Before the beginning it is SORDINO_ANSWER_KIND_WAIT.
///
/// # Safety
///
/// `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or good for what
/// is named beside them.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_repeat(agent: *mut Agent, answer: *mut Answer) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        answered(agent, answer, |body, _| {
            body.save()?;
            Ok(Some(Answer::from(body.agent.repeat()?)))
        })
    }
}

/// Round (0 during the initial points), observations so far, and whether the run is over (0 or 1);
/// each may be NULL.
///
/// # Safety
///
/// `agent` is NULL or what sordino_agent_open wrote; the other pointers are NULL or good for one
/// value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_agent_describe(
    agent: *const Agent,
    round: *mut u32,
    observations: *mut u32,
    over: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(agent, |body, word| {
            let state = body.agent.state();
            word.offer(round, state.round())?;
            word.offer(observations, state.observations())?;
            word.offer(over, u32::from(state.phase() == Phase::Done))?;
            Ok(Status::Ok)
        })
    }
}
