//! An agent as a link sees it, whatever its method.

use super::agent::Agent;
use super::errors::AgentError;
use super::messages::{Input, Output};
use crate::math::Scalar;

/// What a member is told: the next frame of its server ([`exchange`](super::exchange)).
///
/// **Example**: that of [`Member`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frame<'f, T> {
    /// The first one: it holds no numbers.
    Start,
    /// What the release of the epoch before made known.
    Released(&'f [T]),
    /// There was no release: the budget was spent, or nothing is ever released.
    Nothing,
    /// The frame of an epoch that is over already, with its numbers, if it has any. There is
    /// nothing to contribute to.
    Missed(Option<&'f [T]>),
}

impl<'f, T> Frame<'f, T> {
    /// The numbers of the release, if there are any.
    pub const fn numbers(&self) -> Option<&'f [T]> {
        match self {
            Frame::Released(numbers) => Some(numbers),
            Frame::Missed(numbers) => *numbers,
            Frame::Start | Frame::Nothing => None,
        }
    }
}

/// What a member does next.
///
/// **Example**: that of [`Member`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next<'o, T> {
    /// Evaluate the function at this candidate, then say [`Member::observed`].
    Query {
        /// Index of the candidate.
        candidate: u32,
        /// How many observations the agent made before this one.
        number: u32,
    },
    /// Its queries of this epoch are made: send these numbers, none if there is nothing to give.
    /// The same again if asked again.
    Give(&'o [T]),
}

/// An agent of any method on a link: it takes one frame after the other, and between two of them
/// says what it does.
///
/// [`Agent`] is the member that shares draws, [`prior::Member`](super::prior::Member) that of a
/// federated prior.
///
/// ```
/// use sordino_core::federated::{Frame, Member, Next};
/// # use sordino_core::domain::{Candidates, Regions};
/// # use sordino_core::features::{RandomFourier, random_fourier};
/// # use sordino_core::federated::{Agent, AgentState, AgentStorage, Aggregation, Config, Parameters, Public, storage_len};
/// # use sordino_core::{kernel::Stationary, random::RunSeed};
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 2, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let mut frequencies = [0.0; random_fourier::storage_len(1, 16)];
/// # random_fourier::draw(7, 0, Stationary::SquaredExponential, &[0.2], 1, 16, &mut frequencies)?;
/// # let features = RandomFourier::new(1, 16, 1.0, true, &frequencies[..])?;
/// # let public = Public::streamed(&config, Candidates::grid(50, 1)?, features)?;
/// # let (mut state, mut numbers) = (AgentState::new(0, RunSeed::new(1, 0)), vec![0.0; storage_len(&public)]);
/// # let mut agent = Agent::attach(&public, &mut state, AgentStorage::split(&public, &mut numbers)?)?;
///
/// /// Takes a frame and makes the queries of its epoch; the length of what it then sends.
/// fn epoch<M: Member<f64>>(member: &mut M, frame: Frame<'_, f64>) -> Result<usize, M::Error> {
///     member.enter(frame)?;
///     loop {
///         match member.next()? {
///             Next::Query { candidate, .. } => member.observed(f64::from(candidate) / 50.0)?,
///             Next::Give(numbers) => return Ok(numbers.len()),
///         }
///     }
/// }
/// // `agent` of the example of `Agent`: M = 16.
/// assert_eq!(epoch(&mut agent, Frame::Start)?, 16);
/// assert_eq!(epoch(&mut agent, Frame::Released(&[0.1; 16]))?, 16);
/// assert_eq!(agent.observations().count(), 11); // ten initial points and one query
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub trait Member<T: Scalar> {
    /// Why it refuses something; it is then as before.
    type Error;

    /// Takes the next frame.
    ///
    /// **Errors**: a frame that does not fit its state, or numbers that no release can be.
    fn enter(&mut self, frame: Frame<'_, T>) -> Result<(), Self::Error>;

    /// What it does next in the epoch of the last frame.
    ///
    /// **Errors**: numbers that came out NaN or infinite.
    fn next(&mut self) -> Result<Next<'_, T>, Self::Error>;

    /// The value at the candidate that it asked for.
    ///
    /// **Errors**: a value that is not finite, or that was not asked for.
    fn observed(&mut self, value: T) -> Result<(), Self::Error>;
}

impl<T: Scalar> Member<T> for Agent<'_, T> {
    type Error = AgentError;

    fn enter(&mut self, frame: Frame<'_, T>) -> Result<(), AgentError> {
        let input = match frame {
            Frame::Start => Input::Start,
            Frame::Released(vectors) => Input::Broadcast {
                vectors,
                maximum: None,
            },
            Frame::Nothing => Input::NoBroadcast,
            Frame::Missed(_) => Input::Missed,
        };
        self.handle(input).map(|_| ())
    }

    fn next(&mut self) -> Result<Next<'_, T>, AgentError> {
        match self.repeat() {
            Ok(Output::Evaluate {
                candidate, number, ..
            }) => Ok(Next::Query { candidate, number }),
            Ok(Output::Upload(numbers)) => Ok(Next::Give(numbers)),
            Ok(Output::Wait | Output::Done) | Err(AgentError::UploadNotFinite { .. }) => {
                Ok(Next::Give(&[]))
            }
            Err(error) => Err(error),
        }
    }

    fn observed(&mut self, value: T) -> Result<(), AgentError> {
        match self.handle(Input::Observed(value)) {
            // The value is taken, and there is nothing to give.
            Ok(_) | Err(AgentError::UploadNotFinite { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
