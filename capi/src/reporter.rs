//! The reporter: one reward at a time, perturbed before anything leaves. Its stored state is its
//! ledger.

use core::ffi::c_void;

use sordino_core::digest::Digest;
use sordino_core::local::{Reporter as CoreReporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::mechanism::laplace::{ClampedLaplace, LaplaceError};
use sordino_core::privacy::{Charge, Epsilon, Ledger, Private};
use sordino_core::random::Secret;
use sordino_core::snapshot::max_bytes;

use crate::callback::{Entropy, Flash, Source};
use crate::memory::{Handle, Object, Plain, build, look, with};
use crate::status::{Refusal, Refused, Status};

/// Bytes of memory a reporter takes.
pub const SORDINO_REPORTER_SIZE: usize = 320;
/// Bytes of each of its two slots.
pub const SORDINO_REPORTER_SLOT: usize = 56;

/// A reporter, its flash and its generator.
pub(crate) struct Body {
    mechanism: ClampedLaplace,
    state: ReporterState,
    flash: Flash,
    entropy: Secret<Source>,
    /// How often the state was written.
    number: u32,
    agreement: Digest,
}

/// A reporter: the device of one user, and this user's budget.
pub struct Reporter {
    _handle: Handle<Body>,
}

impl Object for Reporter {
    type Body = Body;
    const TAG: u32 = 0x5eed_0003;
}

const _: () = assert!(size_of::<Reporter>() <= SORDINO_REPORTER_SIZE);
const _: () = assert!(max_bytes::<ReporterState>() == SORDINO_REPORTER_SLOT);

/// What a reporter is told beforehand; all of it public.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReporterSettings {
    /// Bound b of a reward: what lies outside of -b to b is clamped.
    pub bound: f64,
    /// Epsilon of one report, from 2^-20 to 256.
    pub epsilon: f64,
    /// Epsilon of all reports this device will ever make, to any learner.
    pub budget: f64,
    /// The reward is rounded to 2^m steps of the range, m from 4 to 24.
    pub grid_exponent: u32,
    /// Identifier of the user.
    pub user: u32,
}

// SAFETY: integers and floats.
unsafe impl Plain for ReporterSettings {}

/// The ledger that the stored state is: the query is charged in it already.
struct Stored<'a> {
    flash: Flash,
    state: &'a ReporterState,
    number: &'a mut u32,
    agreement: &'a Digest,
}

impl Ledger<Private> for Stored<'_> {
    type Error = Refused;

    fn write(&mut self, _: &Charge<Private>) -> Result<(), Refused> {
        // Whatever fails in between: the number goes on, and the slots are written again when the
        // query is repeated.
        self.flash.save(self.state, self.number, self.agreement)
    }
}

fn epsilon(field: &'static str, value: f64) -> Result<Epsilon, Refused> {
    Epsilon::new(value).map_err(|_| Refused::range(field, value, "[2^-20, 256]"))
}

fn mechanism(s: &ReporterSettings) -> Result<ClampedLaplace, Refused> {
    let grid = || Refused::range("grid_exponent", f64::from(s.grid_exponent), "4..=24");
    ClampedLaplace::new(s.bound, s.grid_exponent, epsilon("epsilon", s.epsilon)?).map_err(|error| {
        match error {
            LaplaceError::Bound(value) => Refused::range("bound", value, "[1e-100, 1e100]"),
            LaplaceError::Range { .. } => {
                Refused::range("epsilon", s.epsilon, "small enough for the grid")
            }
            LaplaceError::GridExponent(_) | LaplaceError::Sensitivity(_) => grid(),
        }
    })
}

/// Builds a reporter in `memory` of `len` bytes, with what its two slots of flash say was spent,
/// and writes its address to `reporter`. `refusal` may be NULL; the flash may not: a budget that is
/// forgotten is none.
///
/// Erased slots are the beginning of a device's life. Slots that are damaged, or of another user or
/// budget, are refused.
///
/// # Safety
///
/// `memory` is NULL or good for `len` bytes that nobody else uses while the object is used; the
/// other pointers are NULL or good for one value; the callbacks do what their docs say.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_reporter_open(
    memory: *mut c_void,
    len: usize,
    settings: *const ReporterSettings,
    flash: *const Flash,
    entropy: *const Entropy,
    reporter: *mut *mut Reporter,
    refusal: *mut Refusal,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        build(memory, len, reporter, refusal, |arena, word| {
            arena.require(SORDINO_REPORTER_SIZE)?;
            let s = word.read(settings)?;
            let mechanism = mechanism(&s)?;
            let budget = epsilon("budget", s.budget)?;
            let flash = word.read(flash)?.admit(true)?.ok_or(Status::Null)?;
            let entropy = Secret::new(Source::new(word, entropy)?);
            let agreement = Digest::of(&("sordino-c reporter", s.user, budget.numerator()));
            let (number, state) = flash.load(ReporterState::new(s.user, budget), &agreement)?;
            Ok(Body {
                mechanism,
                state,
                flash,
                entropy,
                number,
                agreement,
            })
        })
    }
}

/// The learner asks for the reward of `candidate`: the budget is charged, and SORDINO_STATUS_OK
/// says that the charge is in both slots: observe the reward now, and call sordino_reporter_reward.
///
/// After SORDINO_STATUS_FLASH ask again for the same candidate: the charge is written again and
/// taken only once.
///
/// # Safety
///
/// `reporter` is NULL or what sordino_reporter_open wrote.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_reporter_query(reporter: *mut Reporter, candidate: u32) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(reporter, |body, _| {
            let Body {
                mechanism,
                state,
                flash,
                entropy,
                number,
                agreement,
            } = body;
            let query = ReporterInput::Query { candidate };
            let charge =
                match CoreReporter::attach(mechanism, state).handle::<f32, _>(query, entropy)? {
                    ReporterOutput::Charge(charge) => charge,
                    _ => return Err(Status::Unexpected.into()),
                };
            let receipt = Stored {
                flash: *flash,
                state,
                number,
                agreement,
            }
            .append(charge)?;
            CoreReporter::attach(mechanism, state)
                .handle::<f32, _>(ReporterInput::Charged(receipt), entropy)?;
            Ok(Status::Ok)
        })
    }
}

/// The reward that was observed: NaN counts as 0, anything else is clamped. `report` gets what may
/// leave the device.
///
/// # Safety
///
/// `reporter` is NULL or what sordino_reporter_open wrote; `report` is NULL or good for one number.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_reporter_reward(
    reporter: *mut Reporter,
    reward: f32,
    report: *mut f32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        with(reporter, |body, word| {
            // Before noise is drawn: a report that can go nowhere is not made.
            word.admit(report, 1)?;
            let Body {
                mechanism,
                state,
                entropy,
                ..
            } = body;
            match CoreReporter::attach(mechanism, state)
                .handle(ReporterInput::Reward(reward), entropy)?
            {
                ReporterOutput::Report(release) => word.write(report, *release.value())?,
                _ => return Err(Status::Unexpected.into()),
            }
            Ok(Status::Ok)
        })
    }
}

/// Epsilon that is spent and left, and reports that left this device by what the flash holds; each
/// may be NULL.
///
/// # Safety
///
/// `reporter` is NULL or what sordino_reporter_open wrote; the other pointers are NULL or good for
/// one value.
// SAFETY: the name begins with that of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sordino_reporter_describe(
    reporter: *const Reporter,
    spent: *mut f64,
    left: *mut f64,
    reports: *mut u32,
) -> Status {
    // SAFETY: what our caller promises is what is asked for.
    unsafe {
        look(reporter, |body, word| {
            word.offer(spent, body.state.budget().spent())?;
            word.offer(left, body.state.budget().left())?;
            word.offer(reports, body.state.reports())?;
            Ok(Status::Ok)
        })
    }
}
