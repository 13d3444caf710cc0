//! A method as it is stored between two rounds.

use serde::{Deserialize, Serialize};
use sordino_core::federated::{AgentState, ServerState};
use sordino_core::math::Scalar;
use sordino_host::server::StoredServer;

use super::fabric::Snapshot;
use super::lent::Snapshots;
use crate::record::MethodRun;

/// A method between two rounds. It is written from borrowed state, without a copy, and read into owned state.
#[derive(Serialize, Deserialize)]
pub struct Saved<S = ServerState, B = MethodRun, A = Snapshot> {
    /// The server, and how far its ledger was written.
    pub server: StoredServer<S>,
    broadcast: Vec<u8>,
    /// Books of the method so far.
    pub books: B,
    /// States of all agents.
    pub agents: A,
}

impl<'s> Saved<&'s ServerState, &'s MethodRun, Snapshots<'s, AgentState>> {
    /// A method as it is between two rounds; `vectors` are those of the last broadcast, empty if it did not take place.
    pub fn new<T: Scalar>(
        server: StoredServer<&'s ServerState>,
        vectors: &[T],
        books: &'s MethodRun,
        agents: Snapshots<'s, AgentState>,
    ) -> Self {
        let mut broadcast = vec![0; vectors.len() * T::BYTES];
        broadcast.chunks_exact_mut(T::BYTES).zip(vectors).for_each(|(bytes, x)| x.write_le(bytes));
        Saved { server, broadcast, books, agents }
    }
}

impl Saved {
    /// The vectors of the last broadcast.
    pub fn broadcast<T: Scalar>(&self) -> Vec<T> {
        self.broadcast.chunks_exact(T::BYTES).map(T::read_le).collect()
    }
}
