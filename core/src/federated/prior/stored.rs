//! What a device stores of a member, and how the member goes on after a reset: its state, its
//! releases and its log are in flash, its posterior is made of the releases again.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::agent::Workspace;
use super::agent::AgentState;
use super::context::MemberSizes;
use super::error::{PriorError, at_least};
use super::filter::Filter;
use super::member::{MemberError, MemberState, MemberStorage, learn_release, posterior_len};
use super::protocol::PriorProtocol;
use super::public::Public;
use super::state::{PublicState, scratch_len};
use crate::linalg::slice;
use crate::math::Scalar;
use crate::snapshot::{Stored, varint_max};

impl<T: Scalar + Serialize + DeserializeOwned> Stored for MemberState<T> {
    const KIND: u8 = if T::BYTES == 4 { 0xa4 } else { 0xa8 };
    // Its agent; frames and releases; heterogeneity and clip factor.
    const BODY_MAX: usize = AgentState::BODY_MAX + 2 * varint_max(32) + 2 * T::BYTES;
}

/// The numbers of a release, N of them at most, or a part of them: written before a member learns
/// them. None where an epoch ended without a release, so that a slot which lost its numbers is not
/// taken for one.
///
/// ```
/// use sordino_core::federated::prior::Released;
/// use sordino_core::{digest::Digest, snapshot::{max_bytes, read, write}};
///
/// const LEN: usize = max_bytes::<Released<f32, 13>>(); // M = 12
/// let (agreement, mut slot) = (Digest::of(&"agreed"), [0xff; LEN]);
/// write(&Released::<f32, 13>::new(&[0.5; 13]).ok_or("too many")?, 0, &agreement, &mut slot)?;
/// let stored = read::<Released<f32, 13>>(&slot, &agreement)?;
/// assert_eq!((LEN, stored.map(|(index, released)| (index, released.numbers().len()))), (76, Some((0, 13))));
/// assert!(Released::<f32, 13>::new(&[0.5; 14]).is_none());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Released<T, const N: usize>(heapless::Vec<T, N>);

impl<T: Scalar, const N: usize> Released<T, N> {
    /// These numbers; none if there is no room for them.
    pub fn new(numbers: &[T]) -> Option<Self> {
        heapless::Vec::from_slice(numbers).ok().map(Released)
    }

    /// The numbers, empty where nothing was released.
    pub fn numbers(&self) -> &[T] {
        &self.0
    }
}

impl<T: Scalar + Serialize + DeserializeOwned, const N: usize> Stored for Released<T, N> {
    const KIND: u8 = if T::BYTES == 4 { 0xd4 } else { 0xd8 };
    // How many, and each.
    const BODY_MAX: usize = varint_max(16) + N * T::BYTES;
}

impl<'a, T: Scalar> MemberStorage<'a, T> {
    /// Divides the numbers of a member that keeps its workspace, [`MemberSizes::storage`] or more.
    ///
    /// **Errors**: [`PriorError::Length`].
    pub fn split(
        protocol: &PriorProtocol,
        public: &Public<'_, T>,
        numbers: &'a mut [T],
    ) -> Result<Self, PriorError> {
        let sizes = MemberSizes::of(protocol, public);
        at_least("numbers of the member", numbers.len(), sizes.storage())?;
        let (log, rest) = slice::split(numbers, sizes.log());
        let (workspace, rest) = slice::split(rest, sizes.workspace());
        let (posterior, rest) = slice::split(rest, sizes.posterior());
        let scratch = slice::head_mut(rest, sizes.scratch());
        Ok(MemberStorage {
            log,
            workspace: Workspace::Owned(workspace),
            posterior,
            scratch,
        })
    }

    /// Makes the posterior of a stored state again, of the releases that it had learned, in their
    /// order and with the code of the first time: the same bits. To be called before
    /// [`Member::attach`](super::Member::attach).
    ///
    /// **Parameters**: `read` puts the numbers of release j into a slice of that length and says
    /// whether there was one. It is asked for the releases of all frames that the state has taken.
    ///
    /// **Errors**: those of `read`; [`MemberError::Learn`], [`MemberError::Agent`] for what does
    /// not fit; [`MemberError::Releases`] if these are not the releases that the state had learned.
    ///
    /// **Cost**: that of each release the first time.
    ///
    /// ```
    /// # use sordino_core::digest::Digest;
    /// # use sordino_core::federated::prior::{
    /// #     Behaviour, Config, Member, MemberError, MemberSizes, MemberState, MemberStorage, Parameters, PriorProtocol, Public,
    /// #     Tables, draw_designs, gram,
    /// # };
    /// # use sordino_core::federated::{Frame, Member as _, OwnDraw};
    /// # use sordino_core::{kernel::Stationary, random::RunSeed};
    /// # let config = Config::new(Parameters { designs: 8, ..Parameters::usual(2, 2, 3, 0.1) })?;
    /// # let feature_rows = [1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 0.0, 1.0];
    /// # let (mut mean, mut designs) = ([0.0; 4], [0; 8 * 3]);
    /// # gram(&config, &feature_rows, &mut mean)?;
    /// # draw_designs(&config, RunSeed::new(7, 0), 4, &mut designs)?;
    /// # let public = Public::new(&config, &feature_rows, Tables { gram: &mean, designs: &designs, ..Tables::NONE })?;
    /// # let protocol = PriorProtocol {
    /// #     config,
    /// #     rounds: 5,
    /// #     offset: 0.0,
    /// #     release_rounds: [0, 2].into_iter().collect(),
    /// #     noise_multipliers: [3.0, 3.0].into_iter().collect(),
    /// #     kernel: Stationary::SquaredExponential,
    /// #     lengthscale: 0.2,
    /// #     signal_variance: 1.0,
    /// #     own_draw: OwnDraw::Features,
    /// #     prior_tolerance: 0.0,
    /// #     landmarks: Digest::default(),
    /// #     design_seed: RunSeed::new(7, 0),
    /// #     draw_seed: RunSeed::new(8, 0),
    /// #     behaviour: Behaviour::USUAL,
    /// # };
    /// // `protocol` and `public` of the example of `Member`. It has learned one release, and is reset.
    /// let (models, released) = (protocol.models(), [0.3, 0.1, 1.8]);
    /// let mut numbers = vec![0.0; MemberSizes::of(&protocol, &public).storage()];
    /// let (mut state, storage) = (MemberState::new(0, RunSeed::new(1, 0)), MemberStorage::split(&protocol, &public, &mut numbers)?);
    /// let mut member = Member::attach(&protocol, public, &models, &mut state, storage)?;
    /// member.enter(Frame::Start)?;
    /// member.enter(Frame::Released(&released))?;
    /// let before = numbers.clone();
    ///
    /// numbers.fill(0.0);
    /// let mut storage = MemberStorage::split(&protocol, &public, &mut numbers)?;
    /// storage.learn_again(&state, &protocol, public, |index, numbers| {
    ///     assert_eq!(index, 0); // of a flash, say
    ///     numbers.copy_from_slice(&released);
    ///     Ok::<_, MemberError>(true)
    /// })?;
    /// let posterior = storage.posterior.to_vec();
    /// assert_eq!(posterior[..2 + 4], before[before.len() - posterior.len() - storage.scratch.len()..][..2 + 4]); // w and Σ
    /// let none = storage.learn_again(&state, &protocol, public, |_, _| Ok::<_, MemberError>(false));
    /// assert_eq!(none, Err(MemberError::Releases { found: 0, learned: 1 }));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn learn_again<E: From<MemberError>>(
        &mut self,
        state: &MemberState<T>,
        protocol: &PriorProtocol,
        public: Public<'_, T>,
        mut read: impl FnMut(u32, &mut [T]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let config = protocol.config;
        let m = config.features();
        let len = config.contribution_len();
        let scratch_len = scratch_len(m, config.design_len());
        let fits = at_least("posterior", self.posterior.len(), posterior_len(m))
            .and_then(|()| at_least("scratch", self.scratch.len(), scratch_len));
        fits.map_err(MemberError::from)?;
        // The workspace holds nothing yet, and is longer than a release.
        let (Workspace::Owned(front) | Workspace::Borrowed(front)) = &mut self.workspace;
        at_least("workspace", front.len(), len).map_err(MemberError::from)?;
        let released = slice::head_mut(front, len);
        let posterior = PublicState::new(config, &mut *self.posterior);
        let mut posterior = posterior.map_err(MemberError::from)?;
        let scratch = slice::head_mut(self.scratch, scratch_len);
        let filter = Filter::new(protocol.plan(), public, &mut posterior, scratch);
        let mut filter = filter.map_err(MemberError::from)?;
        let mut found = 0;
        for index in 0..state.frames().saturating_sub(1).min(protocol.releases()) {
            if read(index, released)? {
                learn_release(&mut filter, index, released)?;
                found += 1;
            }
        }
        let learned = state.releases();
        if found != learned || !state.has_learned(&posterior) {
            return Err(MemberError::Releases { found, learned }.into());
        }
        Ok(())
    }
}
