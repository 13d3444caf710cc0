//! The numbers of an agent: a log that is the agent, and a workspace that can be rebuilt from it.

use super::super::config::{Config, OwnDraw};
use super::super::errors::AgentError;
use super::super::public::Public;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::surrogate::weights;

/// Numbers in an agent's log: candidate and value of every observation of a whole run.
pub fn log_len(config: &Config) -> usize {
    2 * config.observations_max()
}

/// Numbers in the workspace: posteriors, the vector to upload, an own draw, one point with its features.
pub fn workspace_len<T: Scalar>(config: &Config, public: &Public<'_, T>) -> usize {
    let p = config.parameters();
    let m = p.feature_count as usize;
    let (dim, rank) = (p.regions.splits().len(), public.prior_rank());
    weights::storage_len(m) + own_len(config, public) + m + m.max(rank) + dim + m.max(rank)
}

/// Numbers an agent that keeps its workspace takes in all.
pub fn storage_len<T: Scalar>(config: &Config, public: &Public<'_, T>) -> usize {
    log_len(config) + workspace_len(config, public)
}

/// Numbers of the posterior that joint draws are made from.
fn own_len<T: Scalar>(config: &Config, public: &Public<'_, T>) -> usize {
    if config.parameters().own_draw == OwnDraw::Joint { weights::storage_len(public.prior_rank()) } else { 0 }
}

/// Whose workspace it is: of [`workspace_len`] numbers, whatever they are.
pub enum Workspace<'a, T> {
    /// The agent's own: nobody else wrote to it since this very state was last joined with it. Posteriors go on where
    /// they were; a state that is new, restored or copied rebuilds them.
    Kept(&'a mut [T]),
    /// Anybody's, such as one that all agents of a thread use in turn: posteriors are rebuilt from the log when they are
    /// needed, with the same bits.
    Lent(&'a mut [T]),
}

/// Numbers of an agent, borrowed.
pub struct AgentStorage<'a, T> {
    /// Candidate and value − offset of every observation, one pair after the other, of at least [`log_len`] numbers.
    /// Only the pairs of observations that were made are read; a device stores them and puts them back.
    pub log: &'a mut [T],
    /// What can be rebuilt.
    pub workspace: Workspace<'a, T>,
}

impl<'a, T: Scalar> AgentStorage<'a, T> {
    /// Cuts one slice of at least [`storage_len`] numbers into the log, at its beginning, and a workspace that is kept.
    ///
    /// **Errors**: [`AgentError::Storage`].
    pub fn split(config: &Config, public: &Public<'_, T>, storage: &'a mut [T]) -> Result<Self, AgentError> {
        let (len, expected) = (storage.len(), storage_len(config, public));
        if len < expected {
            return Err(AgentError::Storage { what: "storage", len, expected });
        }
        let (log, workspace) = slice::split(storage, log_len(config));
        Ok(AgentStorage { log, workspace: Workspace::Kept(workspace) })
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
pub(super) fn parts<'a, T: Scalar>(workspace: &'a mut [T], config: &Config, public: &Public<'_, T>) -> Parts<'a, T> {
    let (m, rank) = (config.parameters().feature_count as usize, public.prior_rank());
    let (shared, rest) = slice::split(workspace, weights::storage_len(m));
    let (own, rest) = slice::split(rest, own_len(config, public));
    let (upload, rest) = slice::split(rest, m);
    let (draw, scratch) = slice::split(rest, m.max(rank));
    Parts { shared, own, upload, draw, scratch }
}
