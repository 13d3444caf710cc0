//! Why the device gives up.

use core::fmt;

use firmware_example::reset::Stop;
use sordino_core::federated::AgentError;
use sordino_core::federated::exchange::FrameError;
use sordino_core::federated::prior::{ContextError, MemberError, PriorError};
use sordino_core::federated::shares::HideError;
use sordino_core::optimizer::OptimizerError;
use sordino_core::prior::{NewcomerError, PublicPriorError};
use sordino_core::wire::WireError;

/// Why the device gives up.
#[derive(Clone, Copy, Debug)]
pub enum Fatal {
    /// What it was given, or agreed to, does not fit: which part.
    Given(&'static str),
    /// What it finds in flash is refused, or its power was cut.
    Flash(Stop),
    /// The machine of an agent that shares draws refused.
    Agent(AgentError),
    /// That of a member of a federated prior refused.
    Member(MemberError),
    /// What a site of a campaign computes was refused.
    Prior(PriorError),
    /// The numbers of a prior file were refused.
    File(PublicPriorError),
    /// The search with it.
    Search(NewcomerError),
    /// The search without it, or the model beside it.
    Alone(OptimizerError),
    /// No public context can be made of the agreement.
    Context(ContextError),
    /// Its contribution cannot be hidden.
    Hide(HideError<Stop>),
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
            Fatal::Member(error) => write!(f, "member: {error}"),
            Fatal::Prior(error) => write!(f, "contribution: {error}"),
            Fatal::File(error) => write!(f, "{error}"),
            Fatal::Search(error) => write!(f, "search: {error}"),
            Fatal::Alone(error) => write!(f, "search: {error}"),
            Fatal::Context(error) => write!(f, "what it agreed to: {error}"),
            Fatal::Hide(error) => {
                write!(f, "its contribution is not hidden, and not sent: {error:?}")
            }
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
            Fatal::Member(error) => Some(error),
            Fatal::Prior(error) => Some(error),
            Fatal::File(error) => Some(error),
            Fatal::Search(error) => Some(error),
            Fatal::Alone(error) => Some(error),
            Fatal::Context(error) => Some(error),
            Fatal::Frame(error) => Some(error),
            Fatal::Wire(error) => Some(error),
            Fatal::Given(_) | Fatal::Flash(_) | Fatal::Hide(_) | Fatal::Refused(_) => None,
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

impl From<MemberError> for Fatal {
    fn from(error: MemberError) -> Self {
        Fatal::Member(error)
    }
}

impl From<ContextError> for Fatal {
    fn from(error: ContextError) -> Self {
        Fatal::Context(error)
    }
}

impl From<PriorError> for Fatal {
    fn from(error: PriorError) -> Self {
        Fatal::Prior(error)
    }
}

impl From<PublicPriorError> for Fatal {
    fn from(error: PublicPriorError) -> Self {
        Fatal::File(error)
    }
}

impl From<NewcomerError> for Fatal {
    fn from(error: NewcomerError) -> Self {
        Fatal::Search(error)
    }
}

impl From<OptimizerError> for Fatal {
    fn from(error: OptimizerError) -> Self {
        Fatal::Alone(error)
    }
}

impl From<WireError> for Fatal {
    fn from(error: WireError) -> Self {
        Fatal::Wire(error)
    }
}
