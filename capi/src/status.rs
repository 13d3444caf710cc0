//! What a call comes to: a number, its sentence, and of a setting that was refused its name and
//! admissible range.

use core::ffi::{CStr, c_char};

use sordino_core::domain::DomainError;
use sordino_core::features::FeatureError;
use sordino_core::federated::prior::{self, ContextError, MemberError, PriorError};
use sordino_core::federated::small::SmallError;
use sordino_core::federated::{AgentError, PublicError, ServerError};
use sordino_core::kernel::KernelError;
use sordino_core::local::ReporterError;
use sordino_core::optimizer::OptimizerError;
use sordino_core::parameter::ConfigError;
use sordino_core::prior::{NewcomerError, PublicPriorError};
use sordino_core::privacy::NoiseError;
use sordino_core::snapshot::SnapshotError;
use sordino_core::space::{Kind, SpaceError};
use sordino_core::surrogate::SurrogateError;
use sordino_core::wire::WireError;
use sordino_core::wire::fragments::FragmentError;

/// What a call came to. A refusal is negative and has changed nothing, unless its sentence says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// What was asked for is done.
    Ok = 0,
    /// Not finished: call again with the same arguments.
    Pending = 1,
    /// A pointer is NULL that must not be.
    Null = -1,
    /// A pointer is not aligned to what it points to; memory of an object to SORDINO_ALIGN.
    Misaligned = -2,
    /// The memory or a buffer is shorter than what is needed: ask the _size function or _SIZE macro
    /// of the object; sordino_refusal names the length, where a function has one.
    TooShort = -3,
    /// A buffer lies in the memory of the object, or shares bytes with another.
    Overlap = -4,
    /// There is no object of this kind at the pointer.
    NotBuilt = -5,
    /// The object is at work: one of its callbacks called it.
    Busy = -6,
    /// A setting is outside its range; sordino_refusal says which.
    Range = -7,
    /// A point or vector has the wrong number of numbers.
    Length = -8,
    /// A number is NaN, infinite, or so large that squares overflow.
    NotFinite = -9,
    /// All rows are in use, or all slots of an optimizer's flash: a larger capacity, more slots, or
    /// drop_oldest.
    Full = -10,
    /// The point, or a landmark of a prior file, is determined by the others at working precision.
    Singular = -11,
    /// The index or candidate that was given is beyond the last one.
    Index = -12,
    /// The call does not belong to the phase the object is in.
    Unexpected = -13,
    /// The budget does not hold another report: nothing was charged.
    Budget = -14,
    /// The entropy callback failed: nothing leaves; what was charged stays charged.
    Entropy = -15,
    /// The flash callback failed: what was to be done on its ground was not done.
    Flash = -16,
    /// The weights to upload are not finite: nothing is sent, and the round is over.
    Upload = -17,
    /// The agent's own draw is not finite: it goes on waiting.
    Draw = -18,
    /// Nothing could be fitted: lengthscale, noise and model are as they were.
    Fit = -19,
    /// What is stored was changed, or its writing was cut off.
    StoredDamaged = -20,
    /// What is stored belongs to another kind, version, user or configuration.
    StoredForeign = -21,
    /// What is stored is whole and cannot be: too many reports, another phase, no observation.
    StoredInadmissible = -22,
    /// No frame of this version in single precision, or one that was cut off or changed on its way.
    Frame = -23,
    /// A frame of another federation, history or sender.
    Foreign = -24,
    /// A coordinate is outside the box of the settings.
    Outside = -25,
    /// The bytes are no agreement on a federated prior that a member in single precision takes part
    /// in, or not those of the digest.
    Agreement = -26,
    /// The agreement is on two servers and a key is missing, or on one and a key was given.
    Trust = -27,
    /// Which masks were used is not known any more: the device needs a new secret.
    Masks = -28,
    /// The contribution cannot be hidden: nothing of it may be sent.
    Hidden = -29,
    /// There is no best one: nothing was told yet, or all that was told failed.
    Empty = -30,
}

/// A setting or length that was refused: of SORDINO_STATUS_RANGE, and of SORDINO_STATUS_TOO_SHORT
/// where the memory of an object is too short. Of every other refusal it is written as zeros, with
/// SORDINO_STATUS_OK it is left as it was. The texts are static and not ended by a zero: print them
/// with "%.*s".
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Refusal {
    /// Name of the setting.
    pub field: *const c_char,
    /// Bytes of the name.
    pub field_len: usize,
    /// The value given.
    pub value: f64,
    /// The range it must lie in.
    pub admissible: *const c_char,
    /// Bytes of the range.
    pub admissible_len: usize,
}

/// A status, and of [`Status::Range`] the setting, of [`Status::TooShort`] a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Refused {
    pub(crate) status: Status,
    setting: Option<ConfigError>,
}

impl Refused {
    pub(crate) fn range(field: &'static str, value: f64, admissible: &'static str) -> Self {
        ConfigError {
            field,
            value,
            admissible,
        }
        .into()
    }

    /// Memory or a buffer of `given` units, which is too little.
    pub(crate) fn short(field: &'static str, given: usize, admissible: &'static str) -> Self {
        Refused {
            status: Status::TooShort,
            ..Refused::range(field, given as f64, admissible)
        }
    }

    /// The setting as C sees it; zeros where no setting was refused.
    pub(crate) fn refusal(&self) -> Refusal {
        match self.setting {
            Some(ConfigError {
                field,
                value,
                admissible,
            }) => Refusal {
                field: field.as_ptr().cast(),
                field_len: field.len(),
                value,
                admissible: admissible.as_ptr().cast(),
                admissible_len: admissible.len(),
            },
            None => Refusal {
                field: core::ptr::null(),
                field_len: 0,
                value: 0.0,
                admissible: core::ptr::null(),
                admissible_len: 0,
            },
        }
    }
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Refused {
            status,
            setting: None,
        }
    }
}

impl From<ConfigError> for Refused {
    fn from(error: ConfigError) -> Self {
        Refused {
            status: Status::Range,
            setting: Some(error),
        }
    }
}

impl From<KernelError> for Refused {
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Lengthscale { value, .. } => {
                Refused::range("lengthscale", value, "(0, inf), with its square")
            }
            KernelError::SignalVariance { value } => {
                Refused::range("signal_variance", value, "(0, inf)")
            }
            _ => Status::NotFinite.into(),
        }
    }
}

impl From<DomainError> for Refused {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Dimension { dim } => Refused::range("dim", dim as f64, "1..=16"),
            DomainError::Bounds { low, .. } | DomainError::Format { low, .. } => Refused::range(
                "low",
                low,
                "finite, below high, and different from it in f32",
            ),
            DomainError::Regions { count } => {
                Refused::range("splits", count as f64, "a product in 1..=64")
            }
            DomainError::Length { len, .. } => Refused::range("per_axis", len as f64, "2.."),
            DomainError::TooManyCandidates { count } => {
                Refused::range("per_axis", count as f64, "to dim: 2^24 at most")
            }
            DomainError::Coordinate { .. } => Status::NotFinite.into(),
            DomainError::Outside { .. } => Status::Outside.into(),
        }
    }
}

impl From<FeatureError> for Refused {
    fn from(error: FeatureError) -> Self {
        match error {
            FeatureError::Lengthscale { value, .. } => {
                Refused::range("lengthscale", value, "(0, inf)")
            }
            FeatureError::SignalVariance { value } => {
                Refused::range("signal_variance", value, "(0, inf)")
            }
            FeatureError::Empty { count, .. } => {
                Refused::range("features", count as f64, "1..=16384")
            }
            _ => Status::NotFinite.into(),
        }
    }
}

impl From<SurrogateError> for Refused {
    fn from(error: SurrogateError) -> Self {
        match error {
            SurrogateError::Dimension { .. } => Status::Length.into(),
            SurrogateError::Storage { .. } => Status::TooShort.into(),
            SurrogateError::NoiseVariance { value } => Refused::range("noise", value, "[0, inf)"),
            SurrogateError::Unresolved { noise_variance, .. } => {
                Refused::range("noise", noise_variance, "at least what the format resolves")
            }
            SurrogateError::NonFinite { .. } => Status::NotFinite.into(),
            SurrogateError::Full { .. } => Status::Full.into(),
            SurrogateError::Index { .. } => Status::Index.into(),
            _ => Status::Singular.into(),
        }
    }
}

impl From<OptimizerError> for Refused {
    fn from(error: OptimizerError) -> Self {
        match error {
            OptimizerError::Domain(error) => error.into(),
            OptimizerError::Space(SpaceError::Value { value, .. }) if !value.is_finite() => {
                Status::NotFinite.into()
            }
            OptimizerError::Space(SpaceError::Value { .. }) => Status::Outside.into(),
            OptimizerError::Space(SpaceError::Format {
                kind: Kind::Real { low, .. },
                ..
            }) => Refused::range(
                "low",
                low,
                "finite, below high, and different from it in f32",
            ),
            OptimizerError::Value { value, .. } => Refused::range("y", value, "[-1e14, 1e14]"),
            OptimizerError::Kernel(error) => error.into(),
            OptimizerError::Surrogate(error) => error.into(),
            OptimizerError::Width { width } => Refused::range("width", width, "(-inf, inf)"),
            _ => Status::Fit.into(),
        }
    }
}

impl From<PublicPriorError> for Refused {
    fn from(error: PublicPriorError) -> Self {
        match error {
            PublicPriorError::Dimension { dim } => Refused::range("dim", dim as f64, "1..=16"),
            PublicPriorError::Landmarks { len, .. } => {
                Refused::range("landmarks_len", len as f64, "dim times 1..=4096")
            }
            PublicPriorError::Length { .. } | PublicPriorError::Numbers { .. } => {
                Status::Length.into()
            }
            PublicPriorError::Number {
                what,
                value,
                admissible,
                ..
            } => Refused::range(what, value, admissible),
            PublicPriorError::Covariance(error) => {
                Refused::range("covariance", error.pivot, "without a negative eigenvalue")
            }
            _ => Status::Singular.into(),
        }
    }
}

impl From<NewcomerError> for Refused {
    fn from(error: NewcomerError) -> Self {
        match error {
            NewcomerError::Dimension { dim, prior: None } => {
                Refused::range("dim", dim as f64, "1..=16")
            }
            NewcomerError::Dimension { dim, .. } => {
                Refused::range("dim", dim as f64, "that of the file")
            }
            NewcomerError::Candidates { len, .. } => {
                Refused::range("candidates_len", len as f64, "dim times 1..=10000")
            }
            NewcomerError::Coordinate { value, .. } => {
                Refused::range("candidates", value, "[0, 1]")
            }
            NewcomerError::NoiseFraction { value } => {
                Refused::range("noise_fraction", value, "[1e-6, 1]")
            }
            NewcomerError::Capacity { capacity } => {
                Refused::range("capacity", capacity as f64, "1..=4096")
            }
            NewcomerError::Storage { .. } => Status::TooShort.into(),
            NewcomerError::Moments { candidate, .. } => Refused::range(
                "moments",
                candidate as f64,
                "two finite numbers a candidate",
            ),
            NewcomerError::MomentsOfAnother { candidate } => Refused::range(
                "moments",
                candidate as f64,
                "those of this file and this list: this candidate's are of another",
            ),
            NewcomerError::Candidate { .. } => Status::Index.into(),
            NewcomerError::Full { .. } => Status::Full.into(),
            _ => Status::NotFinite.into(),
        }
    }
}

impl From<NoiseError> for Refused {
    fn from(_: NoiseError) -> Self {
        Status::Entropy.into()
    }
}

impl From<ReporterError> for Refused {
    fn from(error: ReporterError) -> Self {
        match error {
            ReporterError::Budget(_) => Status::Budget.into(),
            ReporterError::Noise(error) => error.into(),
            _ => Status::Unexpected.into(),
        }
    }
}

impl From<PublicError> for Refused {
    /// Of what C gives, lengths alone: regions and widths are not among it.
    fn from(_: PublicError) -> Self {
        Status::Length.into()
    }
}

impl From<AgentError> for Refused {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::UnexpectedInput { .. } => Status::Unexpected.into(),
            AgentError::ObservationNotFinite { .. } | AgentError::BroadcastNotFinite { .. } => {
                Status::NotFinite.into()
            }
            AgentError::BroadcastLength { .. } => Status::Length.into(),
            AgentError::UploadNotFinite { .. } => Status::Upload.into(),
            AgentError::DrawNotFinite { .. } => Status::Draw.into(),
            AgentError::Storage { .. } => Status::TooShort.into(),
            AgentError::NotEnrolled { agent, .. } => {
                Refused::range("agent", f64::from(agent), "0..agents")
            }
            AgentError::Number {
                field,
                value,
                admissible,
                ..
            } => Refused::range(field, value, admissible),
            AgentError::Domain(error) => error.into(),
            _ => Status::StoredInadmissible.into(),
        }
    }
}

impl From<PriorError> for Refused {
    fn from(error: PriorError) -> Self {
        match error {
            PriorError::Length { .. } => Status::Length.into(),
            PriorError::Number { value, .. } | PriorError::Norm { value, .. }
                if !value.is_finite() =>
            {
                Status::NotFinite.into()
            }
            PriorError::Number {
                what,
                value,
                admissible,
            } => Refused::range(what, value, admissible),
            PriorError::Norm { what, value, .. } => Refused::range(
                what,
                value,
                "a norm that all contributions and their noise can have",
            ),
            PriorError::Candidate { .. } => Status::Index.into(),
            PriorError::Singular(_) => Status::Singular.into(),
            PriorError::OtherLandmarks => Status::Agreement.into(),
            PriorError::TwoServers => Status::Trust.into(),
            _ => Status::Unexpected.into(),
        }
    }
}

impl From<MemberError> for Refused {
    fn from(error: MemberError) -> Self {
        match error {
            MemberError::Agent(prior::agent::AgentError::Prior(error)) => error.into(),
            MemberError::Agent(prior::agent::AgentError::NotEnrolled { agent, .. }) => {
                Refused::range("agent", f64::from(agent), "0..agents")
            }
            MemberError::Agent(prior::agent::AgentError::State { .. })
            | MemberError::Releases { .. } => Status::StoredInadmissible.into(),
            MemberError::Learn(ServerError::Prior(error)) => error.into(),
            MemberError::Learn(_) => Status::NotFinite.into(),
            MemberError::Agent(_) | MemberError::Frame { .. } => Status::Unexpected.into(),
        }
    }
}

impl From<ContextError> for Refused {
    fn from(error: ContextError) -> Self {
        match error {
            ContextError::Kernel(error) => error.into(),
            ContextError::Features(error) => error.into(),
            // Lengths are the caller's to get right, and were looked at before.
            ContextError::Prior(PriorError::Length { .. }) => Status::TooShort.into(),
            ContextError::Prior(error) => error.into(),
            _ => Status::Agreement.into(),
        }
    }
}

impl From<WireError> for Refused {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Buffer { .. } | WireError::TooLong { .. } => Status::TooShort.into(),
            _ => Status::Frame.into(),
        }
    }
}

impl From<SmallError> for Refused {
    fn from(error: SmallError) -> Self {
        match error {
            SmallError::Unclipped => {
                Refused::range("aggregation", 1.0, "SORDINO_AGGREGATION_PRIVATE")
            }
            SmallError::NotFinite => Status::NotFinite.into(),
            SmallError::Features { .. } => Status::Length.into(),
            SmallError::Buffer { .. } => Status::TooShort.into(),
            SmallError::Tag { .. } => Status::Foreign.into(),
            SmallError::Wire(error) => error.into(),
            _ => Status::Frame.into(),
        }
    }
}

impl From<FragmentError> for Refused {
    fn from(error: FragmentError) -> Self {
        match error {
            FragmentError::Piece { .. } => Status::Index.into(),
            FragmentError::Buffer { .. } => Status::TooShort.into(),
            FragmentError::Foreign { .. } => Status::Foreign.into(),
            FragmentError::Format | FragmentError::Checksum => Status::Frame.into(),
        }
    }
}

impl From<SnapshotError> for Refused {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Slot { .. } | SnapshotError::Checksum | SnapshotError::FirstWrite => {
                Status::StoredDamaged.into()
            }
            SnapshotError::Body => Status::StoredInadmissible.into(),
            _ => Status::StoredForeign.into(),
        }
    }
}

const fn sentence(status: i32) -> &'static CStr {
    match status {
        0 => c"done",
        1 => c"not finished: call again with the same arguments",
        -1 => c"a pointer is NULL that must not be",
        -2 => c"a pointer is not aligned to what it points to (memory of an object: to SORDINO_ALIGN)",
        -3 => c"the memory or a buffer is shorter than what is needed: its _size function or _SIZE macro says how long",
        -4 => c"a buffer lies in the memory of the object, or shares bytes with another",
        -5 => c"there is no object of this kind at the pointer",
        -6 => c"the object is at work: one of its callbacks called it",
        -7 => c"a setting is outside its range",
        -8 => c"a point or vector has the wrong number of numbers",
        -9 => c"a number is NaN, infinite, or so large that squares overflow",
        -10 => c"all rows, or all slots of the flash, are in use: a larger capacity, more slots, or drop_oldest",
        -11 => c"the point, or a landmark, is determined by the others at working precision",
        -12 => c"the index or candidate that was given is beyond the last one",
        -13 => c"the call does not belong to the phase the object is in",
        -14 => c"the budget does not hold another report: nothing was charged",
        -15 => c"the entropy callback failed: nothing leaves; what was charged stays charged",
        -16 => c"the flash callback failed: what was to be done on its ground was not done",
        -17 => c"the weights to upload are not finite: nothing is sent, and the round is over",
        -18 => c"the agent's own draw is not finite: it goes on waiting",
        -19 => c"nothing could be fitted: lengthscale, noise and model are as they were",
        -20 => c"what is stored was changed, or its writing was cut off",
        -21 => c"what is stored belongs to another kind, version, user or configuration",
        -22 => c"what is stored is whole and cannot be",
        -23 => c"no frame of this version in single precision, or one that was cut off or changed on its way",
        -24 => c"a frame of another federation, history or sender",
        -25 => c"a coordinate is outside the box of the settings: nothing was told",
        -26 => c"the bytes are no agreement that this member takes part in, or not those of the digest",
        -27 => c"two servers and a key is missing, or one server and a key was given",
        -28 => c"which masks were used is not known any more: the device needs a new secret",
        -29 => c"the contribution cannot be hidden: nothing of it may be sent",
        -30 => c"there is no best one: nothing was told yet, or all that was told failed",
        _ => c"no status of this library",
    }
}

/// What a status says, in English; a static text, for any number at all.
// SAFETY: the name begins with that of the library; it takes a number and reads nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_message(status: i32) -> *const c_char {
    sentence(status).as_ptr()
}
