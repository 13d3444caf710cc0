//! The numbers of an agent: a log that is the agent, and a workspace that can be rebuilt from it.

use super::super::config::{Config, OwnDraw};
use super::super::errors::AgentError;
use super::super::public::Public;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::surrogate::weights;

/// What decides how much memory an agent takes; all of it known when a program is compiled.
///
/// ```
/// use sordino_core::federated::Sizes;
/// use sordino_core::wire::{ScalarTag, frame_len_max};
/// const SIZES: Sizes = Sizes::new(2, 64, 1 + 40); // two axes, M = 64, one initial point and 40 rounds
/// static ARENA: [f32; SIZES.storage()] = [0.0; SIZES.storage()];
/// static UPLOAD: [u8; frame_len_max(ScalarTag::F32, 64)] = [0; frame_len_max(ScalarTag::F32, 64)];
/// assert_eq!((ARENA.len() * 4, UPLOAD.len()), (11_664, 313));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// D, axes of the domain.
    pub dim: usize,
    /// M, shared features.
    pub features: usize,
    /// N_init + T, observations of a whole run.
    pub observations: usize,
    /// Columns of the prior's factor for joint own draws; 0 where own draws are made of the
    /// features, as on a device.
    pub prior_rank: usize,
}

impl Sizes {
    /// Of an agent whose own draws are made of the features: `dim` axes, M = `features`, N_init +
    /// T = `observations`.
    pub const fn new(dim: usize, features: usize, observations: usize) -> Self {
        Sizes {
            dim,
            features,
            observations,
            prior_rank: 0,
        }
    }

    fn of<T: Scalar>(public: &Public<'_, T>) -> Self {
        let p = public.config().parameters();
        Sizes {
            prior_rank: if p.own_draw == OwnDraw::Joint {
                public.prior().1
            } else {
                0
            },
            ..Sizes::new(
                p.regions.splits().len(),
                p.feature_count as usize,
                public.config().observations_max(),
            )
        }
    }

    /// Numbers in the log: candidate and value of every observation.
    pub const fn log(self) -> usize {
        2 * self.observations
    }

    /// Numbers in the workspace: posteriors, the vector to upload, an own draw, one point with its
    /// features.
    pub const fn workspace(self) -> usize {
        let m = self.features;
        let own = if self.prior_rank > 0 {
            weights::storage_len(self.prior_rank)
        } else {
            0
        };
        weights::storage_len(m) + own + m + self.draw() + self.dim + self.draw()
    }

    /// Numbers an agent that keeps its workspace takes in all.
    pub const fn storage(self) -> usize {
        self.log() + self.workspace()
    }

    /// Numbers of an own draw: one for every feature, or for every column of the prior's factor if
    /// there are more.
    const fn draw(self) -> usize {
        if self.features > self.prior_rank {
            self.features
        } else {
            self.prior_rank
        }
    }
}

/// [`Sizes::log`] of this configuration.
pub fn log_len(config: &Config) -> usize {
    2 * config.observations_max()
}

/// [`Sizes::workspace`] of this public context.
pub fn workspace_len<T: Scalar>(public: &Public<'_, T>) -> usize {
    Sizes::of(public).workspace()
}

/// [`Sizes::storage`] of this public context.
pub fn storage_len<T: Scalar>(public: &Public<'_, T>) -> usize {
    Sizes::of(public).storage()
}

/// Whose workspace it is: of [`workspace_len`] numbers, whatever they are.
///
/// **Example**: that of [`AgentStorage`].
pub enum Workspace<'a, T> {
    /// The agent's own: nobody else wrote to it since this very state was last joined with it.
    /// Posteriors go on where they were; a state that is new, restored or copied rebuilds them.
    Owned(&'a mut [T]),
    /// Anybody's, such as one that all agents of a thread use in turn: posteriors are rebuilt from
    /// the log when they are needed, with the same bits.
    Borrowed(&'a mut [T]),
}

impl<T> Workspace<'_, T> {
    /// The same for a shorter time.
    pub(crate) fn lend(&mut self) -> Workspace<'_, T> {
        match self {
            Workspace::Owned(numbers) => Workspace::Owned(numbers),
            Workspace::Borrowed(numbers) => Workspace::Borrowed(numbers),
        }
    }
}

/// Numbers of an agent, borrowed.
///
/// ```
/// use sordino_core::federated::{Agent, AgentState, AgentStorage, Input, Workspace, log_len, workspace_len};
/// # use sordino_core::domain::{Candidates, Regions};
/// # use sordino_core::features::{RandomFourier, random_fourier};
/// # use sordino_core::federated::{Aggregation, Config, Parameters, Public};
/// # use sordino_core::{kernel::Stationary, random::RunSeed};
/// # let config = Config::new(Parameters::usual(2, Regions::whole(1)?, 2, 16, Aggregation::private(6.0, 0.5, 1.0)?))?;
/// # let mut frequencies = [0.0; random_fourier::storage_len(1, 16)];
/// # random_fourier::draw(7, 0, Stationary::SquaredExponential, &[0.2], 1, 16, &mut frequencies)?;
/// # let features = RandomFourier::new(1, 16, 1.0, true, &frequencies[..])?;
/// # let public = Public::streamed(&config, Candidates::grid(50, 1)?, features)?;
///
/// // A fleet: each agent has a log, all share one workspace. (`config` and `public` are made as in their examples.)
/// let mut workspace = vec![0.0; workspace_len(&public)];
/// let mut logs = vec![vec![0.0; log_len(&config)]; 2];
/// for (number, log) in (0..).zip(&mut logs) {
///     let mut state = AgentState::new(number, RunSeed::new(1, 0));
///     let storage = AgentStorage { log, workspace: Workspace::Borrowed(&mut workspace) };
///     let mut agent = Agent::attach(&public, &mut state, storage)?;
///     agent.handle(Input::Start)?;
///     assert_eq!(agent.state().agent(), number);
/// }
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct AgentStorage<'a, T> {
    /// Candidate and value − offset of every observation, one pair after the other, of at least
    /// [`log_len`] numbers. Only the pairs of observations that were made are read; a device stores
    /// them and puts them back.
    pub log: &'a mut [T],
    /// What can be rebuilt.
    pub workspace: Workspace<'a, T>,
}

impl<'a, T: Scalar> AgentStorage<'a, T> {
    /// Cuts one slice of at least [`storage_len`] numbers into the log, at its beginning, and a
    /// workspace that is kept.
    ///
    /// **Errors**: [`AgentError::Storage`].
    pub fn split(public: &Public<'_, T>, storage: &'a mut [T]) -> Result<Self, AgentError> {
        let len = storage.len();
        let expected = storage_len(public);
        if len < expected {
            return Err(AgentError::Storage {
                what: "storage",
                len,
                expected,
            });
        }
        let (log, workspace) = slice::split(storage, log_len(public.config()));
        Ok(AgentStorage {
            log,
            workspace: Workspace::Owned(workspace),
        })
    }
}

/// The parts of a workspace.
pub(super) struct Parts<'a, T> {
    pub(super) shared: &'a mut [T],
    pub(super) own: &'a mut [T],
    pub(super) upload: &'a mut [T],
    pub(super) draw: &'a mut [T],
    pub(super) scratch: &'a mut [T],
}

/// Cuts a workspace whose length was checked.
pub(super) fn parts<'a, T: Scalar>(workspace: &'a mut [T], public: &Public<'_, T>) -> Parts<'a, T> {
    let sizes = Sizes::of(public);
    let own = if sizes.prior_rank > 0 {
        weights::storage_len(sizes.prior_rank)
    } else {
        0
    };
    let (shared, rest) = slice::split(workspace, weights::storage_len(sizes.features));
    let (own, rest) = slice::split(rest, own);
    let (upload, rest) = slice::split(rest, sizes.features);
    let (draw, scratch) = slice::split(rest, sizes.draw());
    Parts {
        shared,
        own,
        upload,
        draw,
        scratch,
    }
}
